(** * The premises about a format, its library and its arithmetic hold of something.

    A theorem whose premises nothing meets says nothing. Here the results correctly rounded to a format meet them.

    Examples
    - [library_of_binary16], [library_of_bfloat16], [library_of_binary32], [library_of_binary64]   exp, log1p and log
                              correctly rounded are a library in the sense of [library]
    - [arithmetic_of_every_format]   each format's operations, rounded to nearest, are those of a sound arithmetic
    - [streamed_row_of_binary32], [row_of_binary32]   a row of binary32, a plan, a library: all premises of
                              [rounding_f32] and [two_pass_within], the promise included
    - [promise_of_binary32]   [promised] holds of the row 0, -1

    Source: floating_point/formats.v; numerics/rounded_streaming.v. *)

From Coq Require Import ZArith.
From Flocq Require Import Core.
From softcheck Require Import softmax merge_plan standard_interval.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row tilted_row reduction b1_sum b6_entropy b6_growing streaming_code
  rounded_streaming.
Local Open Scope R_scope.

(** ** Correctly rounded functions *)

Section Rounded.
  Context (F : format) (tie : Z -> bool) (good : usable F).

  Local Instance precision_positive : Prec_gt_0 (prec F).
  Proof. unfold Prec_gt_0. destruct good. lia. Qed.

  Definition rounded_exp (b : R) : R := nearest F tie (exp (- b)).
  Definition rounded_log1p (a : R) : R := nearest F tie (ln (1 + a)).
  Definition rounded_log (a : R) : R := nearest F tie (ln a).

  Lemma nearest_number z : number F (nearest F tie z).
  Proof. apply generic_format_round; typeclasses eauto. Qed.

  Lemma nearest_within_ulp z : Rabs (nearest F tie z - z) <= ulp radix2 (FLT_exp (emin F) (prec F)) z.
  Proof.
    eapply Rle_trans; [apply error_le_half_ulp; typeclasses eauto|].
    pose proof (ulp_ge_0 radix2 (FLT_exp (emin F) (prec F)) z). lra.
  Qed.

  (** Below half the smallest number the nearest number is 0. *)
  Lemma nearest_of_tiny z : 0 < z <= two_to (2 * emin F) -> nearest F tie z = 0.
  Proof.
    intros [pos tiny]. unfold nearest. apply (round_N_small radix2 (FLT_exp (emin F) (prec F)) tie z (mag radix2 z)).
    - apply bpow_mag_le || idtac. destruct (mag radix2 z) as [e he]. cbn. apply he. lra.
    - assert (e : (mag radix2 z <= 2 * emin F + 1)%Z).
      { apply mag_le_bpow; [lra|]. rewrite Rabs_right by lra. eapply Rle_lt_trans; [apply tiny|]. apply bpow_lt. lia. }
      unfold FLT_exp. destruct good as [_ [small _]]. lia.
  Qed.

  Lemma nearest_logarithm z : Rabs (nearest F tie z - z) <= 4 * unit_roundoff F * Rabs z + / 2 * smallest_subnormal F.
  Proof.
    destruct (nearest_any F precision_positive tie z) as [d [e [bd [be [_ ->]]]]].
    replace (z * (1 + d) + e - z) with (d * z + e) by ring. triangle. apply Rplus_le_compat; [|easy]. rewrite Rabs_mult.
    apply Rmult_le_compat_r; [apply Rabs_pos|]. pose proof (bpow_ge_0 radix2 (- prec F)). unfold unit_roundoff in *. lra.
  Qed.

  Lemma rounded_library : library F rounded_exp rounded_log1p rounded_log.
  Proof.
    constructor; unfold rounded_exp, rounded_log1p, rounded_log; intros; try apply nearest_number;
      try apply nearest_logarithm; [apply nearest_within_ulp|].
    apply nearest_of_tiny. split; [apply exp_pos|]. rewrite bpow_exp. apply exp_le. change (IZR radix2) with 2.
    rewrite mult_IZR. rewrite opp_IZR in *. lra.
  Qed.
End Rounded.

Example library_of_binary16 tie : library binary16 (rounded_exp binary16 tie) (rounded_log1p binary16 tie) (rounded_log binary16 tie).
Proof. apply rounded_library, binary16_usable. Qed.
Example library_of_bfloat16 tie : library bfloat16 (rounded_exp bfloat16 tie) (rounded_log1p bfloat16 tie) (rounded_log bfloat16 tie).
Proof. apply rounded_library, bfloat16_usable. Qed.
Example library_of_binary32 tie : library binary32 (rounded_exp binary32 tie) (rounded_log1p binary32 tie) (rounded_log binary32 tie).
Proof. apply rounded_library, binary32_usable. Qed.
Example library_of_binary64 tie : library binary64 (rounded_exp binary64 tie) (rounded_log1p binary64 tie) (rounded_log binary64 tie).
Proof. apply rounded_library, binary64_usable. Qed.

(** The same exponential is one of a sound arithmetic, and so are sums, products and quotients of numbers. *)
Example arithmetic_of_every_format F tie :
  In F [binary16; bfloat16; binary32; binary64] ->
  let M := kernel_arithmetic F false 2 1 4 0 in
  sound M /\
  (forall b, number F b -> 0 <= b -> computed_exp M b (rounded_exp F tie b)) /\
  (forall x y, number F x -> number F y ->
     computed_sum M (x + y) (nearest F tie (x + y)) /\ computed_product M (x * y) (nearest F tie (x * y)) /\
     computed_product M (x / y) (nearest F tie (x / y))) /\
  exists x y, number F x /\ number F y /\ x <> 0 /\ y <> 0.
Proof.
  intros member M. assert (good : usable F).
  { destruct member as [<-|[<-|[<-|[<-|[]]]]];
      [apply binary16_usable|apply bfloat16_usable|apply binary32_usable|apply binary64_usable]. }
  pose proof (arithmetic_sound F good) as sound_M. split; [exact sound_M|]. split; [|split].
  - intros b hb pos. exact (exp_computed F _ _ _ good (rounded_library F tie good) b hb pos).
  - intros x y hx hy. pose proof (unit_range F 0 good ltac:(lia)). apply nearest_is_computed; try easy; try lra; lia.
  - exists 1, 1. pose proof (number_1 F good). repeat split; try easy; lra.
Qed.

(** ** Rows of which the theorem of streaming speaks *)

Lemma small_integer k : (Z.abs k < 256)%Z -> number binary32 (IZR k).
Proof.
  intros small. apply generic_format_FLT. exists (Float radix2 k 0); cbn; [unfold F2R; cbn; ring| |lia].
  eapply Z.lt_trans; [exact small|reflexivity].
Qed.

Example promise_of_binary32 : promised binary32 0 [0; -1] 1.
Proof.
  assert (roundoff : unit_roundoff binary32 = / 16777216) by reflexivity.
  assert (subnormal : smallest_subnormal binary32 = bpow radix2 (-149)) by reflexivity.
  assert (q : 0 <= bpow radix2 (-149) <= / 16777216).
  { split; [apply bpow_ge_0|]. change (/ 16777216) with (bpow radix2 (-24)). apply bpow_le. lia. }
  unfold promised, lost_sum, sigma_0, direct_log, rescale_unit, argument_floor, shift, tilted_row.second, lost, size,
    mean_deviation, deviation_sum, weight_sum, weighted_sum, sum, unit, exp_unit, slope, log_unit.
  cbn -[unit_roundoff smallest_subnormal]. unfold quantum_of_exp. rewrite Rmax_left by lra. rewrite roundoff, subnormal.
  set (tiny := bpow radix2 (-149)) in *. clearbody tiny. interval with (Tactic.i_prec 64%positive).
Qed.

(** One chunk, two items, no merge: everything [rounding_f32] asks for. *)
Example streamed_row_of_binary32 tie :
  let chunks := [[Some 0; Some (-1)]] in
  let row := visible (concat chunks) in
  library binary32 (rounded_exp binary32 tie) (rounded_log1p binary32 tie) (rounded_log binary32 tie) /\
  valid_plan (seq 0 (length chunks)) [] /\ row <> [] /\ (forall x, In x row -> number binary32 x) /\
  exists a, planned (nearest binary32 tie) (rounded_exp binary32 tie) chunks [] = Some a /\
    promised binary32 (top a) row (rescalings a).
Proof.
  intros chunks row. split; [apply library_of_binary32|]. split; [easy|]. split; [easy|].
  assert (numbers : forall x, In x row -> number binary32 x).
  { intros x [<-|[<-|[]]]; apply (small_integer 0) || apply (small_integer (-1)); reflexivity. }
  split; [exact numbers|].
  destruct (streamed_within binary32 tie _ _ _ binary32_usable (library_of_binary32 tie) chunks [] eq_refl
    ltac:(discriminate) numbers) as [a [found [[top_in top_above] _]]].
  exists a. split; [exact found|]. assert (top a = 0) as ->.
  { assert (0 <= top a) by (apply top_above; now left). destruct top_in as [e|[e|[]]]; lra. }
  assert (few : (rescalings a <= 1)%nat).
  { cbn in found. unfold join in found. cbn in found. destruct (Rle_dec (-1) 0) as [_|no]; [|lra].
    injection found as <-. cbn. lia. }
  assert (max : is_maximum 0 [0; -1]) by (split; [now left|intros x [<-|[<-|[]]]; lra]).
  pose proof (lost_sum_growing _ (arithmetic_sound binary32 binary32_usable) 0 0 [0; -1] 1 1 (rescalings a) 1 max
                (Rle_refl 0) (le_n _) few) as less.
  pose proof promise_of_binary32 as promise. unfold promised in *. cbn in promise, less. cbn. lra.
Qed.

Example row_of_binary32 tie :
  is_maximum 0 [0; -1] /\ (forall x, In x [0; -1] -> number binary32 x) /\ promised binary32 0 [0; -1] 1 /\
  usable binary32 /\ library binary32 (rounded_exp binary32 tie) (rounded_log1p binary32 tie) (rounded_log binary32 tie).
Proof.
  split; [split; [now left|intros x [<-|[<-|[]]]; lra]|].
  split; [intros x [<-|[<-|[]]]; apply (small_integer 0) || apply (small_integer (-1)); reflexivity|].
  split; [apply promise_of_binary32|]. split; [apply binary32_usable|apply library_of_binary32].
Qed.
