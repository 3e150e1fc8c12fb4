(** * The code of theory/streaming_entropy.hpp in a format, operation by operation, and what is promised of it.

    Source: theory/streaming_entropy.hpp and .cpp; docs/tolerances.md, B6. *)

From Coq Require Import ZArith.
From Flocq Require Import Core.
From softcheck Require Import softmax merge_plan.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row tilted_row reduction b1_sum moments b5_logsumexp b6_entropy.
Local Open Scope R_scope.

(** E = 2 and E_l = 4 units of roundoff, one rounding of the argument, gradual underflow. *)
Definition streaming_arithmetic (F : format) : arithmetic := kernel_arithmetic F false 2 1 4 0.

(** B6 for a row of n items and R rescalings, at height n - 1. *)
Definition entropy_bound (F : format) (m : R) (row : list R) (R : nat) : Rdefinitions.R :=
  entropy_rounding (streaming_arithmetic F) 0 m row (length row - 1) R 0 + entropy_floor (streaming_arithmetic F).
Definition promised (F : format) (m : R) (row : list R) (R : nat) : Prop :=
  lost_sum (streaming_arithmetic F) 0 m row (length row - 1) R < 1.

(** The library in a format: exp within an ulp and 0 far below the smallest number, logarithms within 4 u. *)
Record library (F : format) (exp_hat log1p_hat log_hat : R -> R) : Prop := {
  exp_is_number b : number F b -> 0 <= b -> number F (exp_hat b);
  exp_within_ulp b : number F b -> 0 <= b ->
    Rabs (exp_hat b - exp (- b)) <= ulp radix2 (FLT_exp (emin F) (prec F)) (exp (- b));
  exp_underflows b : number F b -> 2 * IZR (- emin F) * ln 2 <= b -> exp_hat b = 0;
  log1p_is_number a : number F a -> -1 < a -> number F (log1p_hat a);
  log1p_close a : number F a -> -1 < a ->
    Rabs (log1p_hat a - ln (1 + a)) <= 4 * unit_roundoff F * Rabs (ln (1 + a)) + / 2 * smallest_subnormal F;
  log_is_number a : number F a -> 0 < a -> number F (log_hat a);
  log_close a : number F a -> 0 < a ->
    Rabs (log_hat a - ln a) <= 4 * unit_roundoff F * Rabs (ln a) + / 2 * smallest_subnormal F
}.

(** ** The code *)

Record held := { top : R; rest : R; moment : R; rescalings : nat }.

Definition item := option R.
Definition visible (items : list item) : list R :=
  flat_map (fun i => match i with Some x => [x] | None => [] end) items.

Section Code.
  Context (rnd exp_hat log1p_hat log_hat : R -> R).

  Definition leaf (x : R) : held := {| top := x; rest := 0; moment := 0; rescalings := 0 |}.

  Definition absorb (high low : held) : held :=
    let d := rnd (top high - top low) in
    let scale := exp_hat d in
    let low_sum := rnd (rest low + 1) in
    {| top := top high;
       rest := rnd (rest high + rnd (scale * low_sum));
       moment := rnd (moment high + rnd (scale * rnd (moment low + rnd (d * low_sum))));
       rescalings := Nat.max (rescalings high) (S (rescalings low)) |}.

  Definition join (a b : held) : held :=
    if Req_EM_T (top a) (top b) then
      {| top := top a; rest := rnd (rnd (rest a + rest b) + 1); moment := rnd (moment a + moment b);
         rescalings := Nat.max (rescalings a) (rescalings b) |}
    else if Rlt_dec (top b) (top a) then absorb a b else absorb b a.

  Definition merge_held (a b : option held) : option held :=
    match a, b with
    | None, _ => b
    | _, None => a
    | Some a, Some b => Some (join a b)
    end.

  (** An item that is no new maximum meets its own exponential only, which is no rescaling. *)
  Definition push_held (s : option held) (i : item) : option held :=
    match s, i with
    | _, None => s
    | None, Some x => Some (leaf x)
    | Some a, Some x =>
        let b := join a (leaf x) in
        Some {| top := top b; rest := rest b; moment := moment b;
                rescalings := if Rle_dec x (top a) then rescalings a else rescalings b |}
    end.

  Definition stream_held (chunk : list item) : option held := fold_left push_held chunk None.

  (** streamed_state: chunks are streamed into the slots and merged as the plan says. *)
  Definition planned (chunks : list (list item)) (steps : list (nat * nat)) : option held :=
    run_plan merge_held (fun i => stream_held (nth i chunks [])) steps 0%nat.

  Definition entropy_held (a : held) : R := rnd (log1p_hat (rest a) + rnd (moment a / rnd (1 + rest a))).

  (** entropy_two_pass, the maximum m found. *)
  Definition add_item (m : R) (sums : R * R) (x : R) : R * R :=
    let d := rnd (m - x) in
    (rnd (fst sums + exp_hat d), rnd (snd sums + rnd (exp_hat d * d))).
  Definition entropy_two_pass (m : R) (row : list R) : R :=
    let sums := fold_left (add_item m) row (0, 0) in rnd (log_hat (fst sums) + rnd (snd sums / fst sums)).
End Code.

(** ** Each operation of the streamed entropy is one that the standard model allows.

    Source: rounded_streaming.v, which follows the code. *)

Section Rounded.
  Context (F : format) (tie : Z -> bool) (exp_hat log1p_hat log_hat : R -> R) (good_format : usable F)
    (calls : library F exp_hat log1p_hat log_hat).
  Notation M := (streaming_arithmetic F).
  Notation rnd := (nearest F tie).

  Local Instance precision_positive : Prec_gt_0 (prec F).
  Proof. unfold Prec_gt_0. destruct good_format. lia. Qed.

  Lemma arithmetic_sound : sound M.
  Proof. apply format_sound; try easy; try lra; [|lia]. pose proof (unit_range F 0 good_format ltac:(lia)). lra. Qed.

  (** ** One operation *)

  Lemma number_0 : number F 0.
  Proof. apply generic_format_0. Qed.

  Lemma number_1 : number F 1.
  Proof. change 1 with (bpow radix2 0). apply generic_format_bpow. unfold FLT_exp. destruct good_format. lia. Qed.

  Lemma number_rnd z : number F (rnd z).
  Proof. apply generic_format_round; typeclasses eauto. Qed.

  Lemma rnd_number x : number F x -> rnd x = x.
  Proof. intros. apply round_generic; [typeclasses eauto|easy]. Qed.

  Lemma exact_sum z : computed_sum M z z.
  Proof.
    pose proof arithmetic_sound as good. exists 0, 0. rewrite Rabs_R0, exp_0. pose proof (unit_nonneg M good).
    unfold sound in good. repeat split; lra.
  Qed.

  Lemma one_roundoff : 0 <= roundoff M < 1.
  Proof. apply arithmetic_sound. Qed.

  Lemma one_roundoff' : roundoff M + 0 < 1.
  Proof. pose proof one_roundoff. lra. Qed.

  Lemma rounded_plus x y : number F x -> number F y -> rounded_sum M (x + y) (rnd (x + y)).
  Proof.
    intros hx hy. destruct (nearest_sum F precision_positive tie x y hx hy) as [d [bd eq]].
    exists d, 0. rewrite Rabs_R0. repeat split; [apply bd| |rewrite eq; ring].
    pose proof arithmetic_sound as good. unfold sound in good. lra.
  Qed.

  Lemma sum_rnd x y : number F x -> number F y -> computed_sum M (x + y) (rnd (x + y)).
  Proof.
    intros hx hy. destruct (rounded_plus x y hx hy) as [d [e [bd [be ->]]]].
    now apply (sum_of_standard_model M arithmetic_sound).
  Qed.

  Lemma nearest_loses_little z :
    exists d e, Rabs d <= roundoff M /\ Rabs e <= product_floor M /\ rnd z = z * (1 + d) + e.
  Proof. destruct (nearest_any F precision_positive tie z) as [d [e [bd [be [_ eq]]]]]. now exists d, e. Qed.

  Lemma product_rnd z : computed_product M z (rnd z).
  Proof.
    destruct (nearest_loses_little z) as [d [e [bd [be ->]]]]. now apply (product_of_standard_model M arithmetic_sound).
  Qed.

  Lemma difference_rnd x y :
    number F x -> number F y -> y <= x -> computed_argument M (x - y) (rnd (x - y)) /\ 0 <= rnd (x - y).
  Proof.
    intros hx hy le.
    destruct (nearest_sum F precision_positive tie x (- y) hx (generic_format_opp _ _ _ hy)) as [d [bd eq]].
    destruct (one_rounding (roundoff M) d one_roundoff bd) as [t [bt factor]].
    assert (form : rnd (x - y) = (x - y) * exp t) by (unfold Rminus; rewrite eq, factor; ring). split.
    - exists t, 0. rewrite form, Rabs_R0. cbn. rewrite Rmult_1_l. repeat split; [apply bt|lra|ring].
    - rewrite form. apply Rmult_le_pos; [lra|left; apply exp_pos].
  Qed.

  (** e^-8 is a normal number in every format. *)
  Lemma subnormal_far b : exp (- b) < smallest_normal F -> 8 <= b.
  Proof.
    intros small. destruct (Rle_dec 8 b) as [yes|no]; [easy|exfalso]. assert (N : smallest_normal F <= / 16384).
    { change (/ 16384) with (bpow radix2 (-14)). apply bpow_le. apply good_format. }
    pose proof (exp_le (- (8)) (- b) ltac:(lra)) as near. assert (far : / 16384 <= exp (- (8))); [|lra].
    rewrite exp_Ropp. apply Rinv_le_contravar; [apply exp_pos|].
    replace 8 with (1 + 1 + 1 + 1 + (1 + 1 + 1 + 1)) by ring. rewrite !exp_plus. pose proof exp_le_3 as three.
    pose proof (exp_pos 1). set (e := exp 1) in *. assert (e * e <= 9) by nra. assert (0 <= e * e) by nra.
    assert (e * e * e * e <= 81) by (replace (e * e * e * e) with ((e * e) * (e * e)) by ring; nra).
    assert (0 <= e * e * e * e) by nra. nra.
  Qed.

  (** An ulp is at most 2 u of a normal number and one quantum below. *)
  Lemma exp_computed b : number F b -> 0 <= b -> computed_exp M b (exp_hat b).
  Proof.
    intros hb pos. apply (exponential_of_contract M arithmetic_sound).
    pose proof (exp_within_ulp _ _ _ _ calls b hb pos) as close. pose proof (exp_pos (- b)) as value.
    destruct (Rle_dec (smallest_normal F) (exp (- b))) as [normal|below].
    - left. exists ((exp_hat b - exp (- b)) / exp (- b)). split; [|field; lra]. unfold Rdiv.
      rewrite Rabs_mult, (Rabs_right (/ exp (- b))) by (left; now apply Rinv_0_lt_compat).
      apply Rmult_le_reg_r with (exp (- b)); [easy|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      eapply Rle_trans; [apply close|]. eapply Rle_trans; [apply ulp_FLT_le; rewrite Rabs_right by lra; exact normal|].
      rewrite Rabs_right by lra. right. change (exp_error M) with (2 * unit_roundoff F). unfold unit_roundoff.
      replace (1 - prec F)%Z with (1 + - prec F)%Z by ring. rewrite bpow_plus. change (bpow radix2 1) with 2. ring.
    - right. pose proof (subnormal_far b ltac:(lra)) as far. assert (floor : exp_floor M = smallest_subnormal F).
      { cbn. unfold quantum_of_exp. rewrite Rmax_left by lra. field. }
      destruct (Rle_dec (exp_cutoff M) b) as [beyond|within].
      + right. split; [easy|]. split; [now apply (exp_underflows _ _ _ _ calls)|]. rewrite floor. cbn.
        unfold smallest_subnormal. rewrite bpow_exp. apply exp_le. change (IZR radix2) with 2. pose proof ln_2_lower.
        rewrite opp_IZR. assert (IZR (emin F) <= -24) by (apply (IZR_le _ (-24)); apply good_format). nra.
      + left. split; [lra|]. rewrite floor. eapply Rle_trans; [apply close|]. right.
        apply ulp_FLT_small; [typeclasses eauto|]. rewrite Rabs_right by lra.
        apply Rlt_le_trans with (smallest_normal F); [lra|]. unfold smallest_normal. apply bpow_le. lia.
  Qed.

End Rounded.
