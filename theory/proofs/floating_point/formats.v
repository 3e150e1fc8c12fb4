(** * The standard model is that of binary64, binary32, binary16 and bfloat16.

    Main results, for round to nearest with any rule for ties
    - [nearest_sum], [nearest_product], [nearest_quotient]   with gradual underflow: sums lose nothing, products and
                          quotients at most half the smallest subnormal number, 2^(emin - 1)
    - [flushed_sum], [flushed_product]   where results below the smallest normal number N may be replaced by 0: at most N
    - [binary32_sound], [binary16_sound], [bfloat16_sound], [binary64_sound]   the arithmetic of each format satisfies
                          [sound], gradual or flushed, for every E < 1 / u and up to A' = 12 roundings of the argument

    Source: docs/tolerances.md, "The model"; set_operations in numerics/rounding/rounding_model.cpp. Flocq's FLT formats. *)

From Coq Require Import Reals ZArith Lra Lia Psatz.
From Flocq Require Import Core Relative Plus_error.
From softcheck.floating_point Require Import relative_error standard_model.
Local Open Scope R_scope.

Record format := { emin : Z; prec : Z }.

Definition binary64 : format := {| emin := -1074; prec := 53 |}.
Definition binary32 : format := {| emin := -149; prec := 24 |}.
Definition binary16 : format := {| emin := -24; prec := 11 |}.
Definition bfloat16 : format := {| emin := -133; prec := 8 |}.

Notation two_to e := (bpow radix2 e).

Section Format.
  Context (F : format) (positive : (0 < prec F)%Z) (tie : Z -> bool).

  Local Instance prec_positive : Prec_gt_0 (prec F) := positive.

  Definition number (x : R) : Prop := generic_format radix2 (FLT_exp (emin F) (prec F)) x.
  Definition nearest (x : R) : R := round radix2 (FLT_exp (emin F) (prec F)) (Znearest tie) x.

  Definition unit_roundoff : R := two_to (- prec F).
  Definition smallest_subnormal : R := two_to (emin F).
  Definition smallest_normal : R := two_to (emin F + prec F - 1).

  Lemma half_ulp : u_ro radix2 (prec F) = unit_roundoff.
  Proof. unfold u_ro, unit_roundoff. rewrite bpow_plus. change (two_to 1) with 2. field. Qed.

  Lemma relative_small eps : Rabs eps <= u_ro radix2 (prec F) / (1 + u_ro radix2 (prec F)) -> Rabs eps <= unit_roundoff.
  Proof. intros b. rewrite <- half_ulp. eapply Rle_trans; [apply b|]. now apply u_rod1pu_ro_le_u_ro. Qed.

  (** Sums of numbers are exact where they are subnormal. *)
  Theorem nearest_sum x y :
    number x -> number y -> exists d, Rabs d <= unit_roundoff /\ nearest (x + y) = (x + y) * (1 + d).
  Proof.
    intros hx hy. destruct (FLT_plus_error_N_ex radix2 (emin F) (prec F) tie x y hx hy) as [d [bd eq]].
    exists d. split; [now apply relative_small|easy].
  Qed.

  Theorem nearest_any z :
    exists d e, Rabs d <= unit_roundoff /\ Rabs e <= / 2 * smallest_subnormal /\ d * e = 0 /\
      nearest z = z * (1 + d) + e.
  Proof.
    destruct (relative_error_N_FLT'_ex radix2 (emin F) (prec F) positive tie z) as [d [e [bd [be [excl eq]]]]].
    exists d, e. repeat split; try easy. now apply relative_small.
  Qed.

  Theorem nearest_product x y :
    exists d e, Rabs d <= unit_roundoff /\ Rabs e <= / 2 * smallest_subnormal /\ d * e = 0 /\
      nearest (x * y) = x * y * (1 + d) + e.
  Proof. apply nearest_any. Qed.

  Theorem nearest_quotient x y :
    exists d e, Rabs d <= unit_roundoff /\ Rabs e <= / 2 * smallest_subnormal /\ d * e = 0 /\
      nearest (x / y) = x / y * (1 + d) + e.
  Proof. apply nearest_any. Qed.

  (** ** Flush to zero: a result below N may become 0 *)

  Definition flushes (r r' : R) : Prop := r' = r \/ (Rabs r < smallest_normal /\ r' = 0).

  Lemma normal_is_number : (1 < prec F)%Z -> number smallest_normal.
  Proof. intros two. apply generic_format_bpow. unfold FLT_exp. lia. Qed.

  (** |nearest z| < N only if |z| < N, as N is a number and rounding is monotone. *)
  Lemma below_normal z : (1 < prec F)%Z -> Rabs (nearest z) < smallest_normal -> Rabs z <= smallest_normal.
  Proof.
    intros two small. destruct (Rle_dec (Rabs z) smallest_normal) as [yes|no]; [easy|exfalso].
    apply (Rlt_irrefl smallest_normal). eapply Rle_lt_trans; [|apply small]. unfold nearest.
    apply abs_round_ge_generic; try typeclasses eauto; [now apply normal_is_number|lra].
  Qed.

  Theorem flushed_any z r :
    (1 < prec F)%Z -> flushes (nearest z) r ->
    exists d e, Rabs d <= unit_roundoff /\ Rabs e <= smallest_normal /\ r = z * (1 + d) + e.
  Proof.
    intros two [-> |[small ->]].
    - destruct (nearest_any z) as [d [e [bd [be [_ eq]]]]]. exists d, e. repeat split; try easy.
      eapply Rle_trans; [apply be|]. unfold smallest_subnormal, smallest_normal.
      pose proof (bpow_le radix2 (emin F) (emin F + prec F - 1) ltac:(lia)).
      pose proof (bpow_ge_0 radix2 (emin F)). lra.
    - exists 0, (- z). rewrite Rabs_R0, Rabs_Ropp. repeat split.
      + apply bpow_ge_0.
      + now apply below_normal.
      + ring.
  Qed.

  Theorem flushed_sum x y r :
    (1 < prec F)%Z -> flushes (nearest (x + y)) r ->
    exists d e, Rabs d <= unit_roundoff /\ Rabs e <= smallest_normal /\ r = (x + y) * (1 + d) + e.
  Proof. apply flushed_any. Qed.

  Theorem flushed_product x y r :
    (1 < prec F)%Z -> flushes (nearest (x * y)) r ->
    exists d e, Rabs d <= unit_roundoff /\ Rabs e <= smallest_normal /\ r = x * y * (1 + d) + e.
  Proof. apply flushed_any. Qed.
End Format.

(** ** The arithmetic of a contract *)

Definition quantum_of_exp (F : format) (E : R) : R := Rmax E 1 * (/ 2 * smallest_subnormal F).

(** set_operations: E, A' and E_l in units of u; step is the absolute error of one difference. *)
Definition kernel_arithmetic (F : format) (flushed : bool) (E : R) (A : nat) (E_l step : R) : arithmetic := {|
  roundoff := unit_roundoff F;
  exp_error := E * unit_roundoff F;
  log_error := E_l * unit_roundoff F;
  argument_unit := INR A * log_unit (unit_roundoff F);
  argument_step := step;
  sum_floor := if flushed then smallest_normal F else 0;
  product_floor := if flushed then smallest_normal F else / 2 * smallest_subnormal F;
  exp_floor := if flushed then Rmax (smallest_normal F) (quantum_of_exp F E) else quantum_of_exp F E;
  exp_cutoff := 2 * IZR (- emin F) * ln 2
|}.

(** What is asked of a format: all four have it. *)
Definition usable (F : format) : Prop := (8 <= prec F)%Z /\ (emin F <= -24)%Z /\ (emin F + prec F - 1 <= -14)%Z.

Lemma two_to_at_most (a b : Z) : (a <= b)%Z -> two_to a <= two_to b.
Proof. apply bpow_le. Qed.

Lemma ln_2_lower : 1 / 2 <= ln 2.
Proof.
  apply Rnot_lt_le. intros small. apply exp_increasing in small. rewrite exp_ln in small by lra.
  pose proof (exp_above_tangent (- (1 / 2))) as tangent. rewrite exp_Ropp in tangent. pose proof (exp_pos (1 / 2)).
  assert (/ exp (1 / 2) < / 2) by (eapply Rle_lt_trans; [apply Rle_refl|]; apply Rinv_lt_contravar; lra). lra.
Qed.

Section Sound.
  Context (F : format) (flushed : bool) (E : R) (A : nat) (E_l step : R) (good : usable F) (E_range : 0 <= E)
    (E_below_one : E * unit_roundoff F < 1) (A_range : (A <= 12)%nat) (E_l_range : 0 <= E_l)
    (step_range : 0 <= step <= / 2).

  Lemma unit_range : 0 < unit_roundoff F <= / 256.
  Proof.
    destruct good as [p _]. split; [apply bpow_gt_0|]. change (/ 256) with (two_to (-8)). apply two_to_at_most. lia.
  Qed.

  Theorem format_sound : sound (kernel_arithmetic F flushed E A E_l step).
  Proof.
    destruct unit_range as [u0 u8]. destruct good as [p [e n]]. assert (N : 0 < smallest_normal F <= / 16384).
    { split; [apply bpow_gt_0|]. change (/ 16384) with (two_to (-14)). now apply two_to_at_most. }
    assert (q : 0 < smallest_subnormal F <= / 16777216).
    { split; [apply bpow_gt_0|]. change (/ 16777216) with (two_to (-24)). now apply two_to_at_most. }
    assert (half : / 2 * smallest_subnormal F = unit_roundoff F * smallest_normal F).
    { unfold smallest_subnormal, unit_roundoff, smallest_normal. rewrite <- bpow_plus.
      replace (- prec F + (emin F + prec F - 1))%Z with (emin F + -1)%Z by ring. rewrite bpow_plus.
      change (two_to (-1)) with (/ 2). ring. }
    assert (eq : 0 <= quantum_of_exp F E <= / 16).
    { unfold quantum_of_exp. assert (1 <= Rmax E 1) by apply Rmax_r. split; [apply Rmult_le_pos; lra|].
      rewrite half, <- Rmult_assoc. apply Rle_trans with (1 * smallest_normal F); [|lra].
      apply Rmult_le_compat_r; [lra|]. unfold Rmax. destruct (Rle_dec E 1); lra. }
    assert (qN : / 2 * smallest_subnormal F <= smallest_normal F).
    { unfold smallest_subnormal, smallest_normal.
      pose proof (two_to_at_most (emin F) (emin F + prec F - 1) ltac:(lia)). pose proof (bpow_ge_0 radix2 (emin F)).
      lra. }
    assert (A12 : INR A <= 12) by (change 12 with (INR 12) || idtac; apply le_INR in A_range; simpl in A_range; lra).
    assert (slope : exp (INR A * log_unit (unit_roundoff F)) - 1 <= / 4).
    { assert (short : INR A * unit_roundoff F <= 12 / 256).
      { pose proof (pos_INR A). apply Rle_trans with (12 * / 256); [apply Rmult_le_compat; lra|lra]. }
      pose proof (expm1_lambda_gamma (unit_roundoff F) A ltac:(lra) ltac:(lra)) as bound.
      eapply Rle_trans; [apply bound|]. unfold gamma. apply Rmult_le_reg_r with (1 - INR A * unit_roundoff F); [lra|].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    assert (cutoff : 8 <= 2 * IZR (- emin F) * ln 2).
    { pose proof ln_2_lower. assert (24 <= IZR (- emin F)) by (apply (IZR_le 24); lia). nra. }
    assert (lam : 0 <= INR A * log_unit (unit_roundoff F)).
    { apply Rmult_le_pos; [apply pos_INR|]. apply log_unit_nonneg. lra. }
    unfold sound, standard_model.slope, kernel_arithmetic; cbn.
    assert (0 <= E * unit_roundoff F) by (apply Rmult_le_pos; lra).
    assert (0 <= E_l * unit_roundoff F) by (apply Rmult_le_pos; lra). destruct flushed; repeat split; try lra.
    - eapply Rle_trans; [|apply Rmax_l]. lra.
    - apply Rmax_lub; lra.
  Qed.

  (** Numbers of the format, added and multiplied to nearest, are what the arithmetic calls computed. *)
  Theorem nearest_is_computed tie x y :
    flushed = false -> number F x -> number F y ->
    let M := kernel_arithmetic F flushed E A E_l step in
    computed_sum M (x + y) (nearest F tie (x + y)) /\ computed_product M (x * y) (nearest F tie (x * y)) /\
    computed_product M (x / y) (nearest F tie (x / y)).
  Proof.
    intros kept hx hy M. pose proof format_sound as snd. fold M in snd.
    assert (pos : (0 < prec F)%Z) by (destruct good; lia).
    destruct (nearest_sum F pos tie x y hx hy) as [d [bd eq]].
    assert (wide : / 2 * smallest_subnormal F <= product_floor M) by (unfold M, kernel_arithmetic; rewrite kept; cbn; lra).
    repeat split.
    - rewrite eq. replace ((x + y) * (1 + d)) with ((x + y) * (1 + d) + 0) by ring.
      apply (sum_of_standard_model M snd); [easy|]. rewrite Rabs_R0. unfold sound in snd. lra.
    - destruct (nearest_product F pos tie x y) as [d' [e' [bd' [be' [_ ->]]]]].
      apply (product_of_standard_model M snd); [easy|lra].
    - destruct (nearest_quotient F pos tie x y) as [d' [e' [bd' [be' [_ ->]]]]].
      apply (product_of_standard_model M snd); [easy|lra].
  Qed.

  Theorem flushed_is_computed tie z r :
    flushed = true -> flushes F (nearest F tie z) r ->
    let M := kernel_arithmetic F flushed E A E_l step in computed_sum M z r /\ computed_product M z r.
  Proof.
    intros flush fl M. pose proof format_sound as snd. fold M in snd.
    assert (pos : (0 < prec F)%Z) by (destruct good; lia). assert (two : (1 < prec F)%Z) by (destruct good; lia).
    destruct (flushed_any F pos tie z r two fl) as [d [e [bd [be ->]]]].
    split; [apply (sum_of_standard_model M snd)|apply (product_of_standard_model M snd)]; try easy;
      unfold M, kernel_arithmetic; rewrite flush; cbn; lra.
  Qed.
End Sound.

Lemma binary64_usable : usable binary64. Proof. unfold usable; cbn; lia. Qed.
Lemma binary32_usable : usable binary32. Proof. unfold usable; cbn; lia. Qed.
Lemma binary16_usable : usable binary16. Proof. unfold usable; cbn; lia. Qed.
Lemma bfloat16_usable : usable bfloat16. Proof. unfold usable; cbn; lia. Qed.

Definition binary64_sound flushed E A E_l step := format_sound binary64 flushed E A E_l step binary64_usable.
Definition binary32_sound flushed E A E_l step := format_sound binary32 flushed E A E_l step binary32_usable.
Definition binary16_sound flushed E A E_l step := format_sound binary16 flushed E A E_l step binary16_usable.
Definition bfloat16_sound flushed E A E_l step := format_sound bfloat16 flushed E A E_l step bfloat16_usable.

(** Every number of bfloat16 is one of binary32. *)
Lemma bfloat16_in_binary32 x : number bfloat16 x -> number binary32 x.
Proof. apply generic_inclusion_mag. intros _. unfold FLT_exp. cbn. lia. Qed.
