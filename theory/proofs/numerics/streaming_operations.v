(** * Each operation of the streamed entropy is one that the standard model allows.

    Source: rounded_streaming.v, which follows the code. *)

From Coq Require Import ZArith.
From Flocq Require Import Core.
From softcheck Require Import softmax merge_plan.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row tilted_row atoms reduction converted_row moments b1_sum b5_logsumexp b6_entropy.
Local Open Scope R_scope.
From softcheck.numerics Require Import streaming_code.

Section Rounded.
  Context (F : format) (tie : Z -> bool) (exp_hat log1p_hat log_hat : R -> R).
  Hypothesis good_format : usable F.
  Hypothesis calls : library F exp_hat log1p_hat log_hat.
  Notation M := (streaming_arithmetic F).
  Notation rnd := (nearest F tie).

  Local Instance precision_positive : Prec_gt_0 (prec F).
  Proof. unfold Prec_gt_0. destruct good_format. lia. Qed.

  Lemma arithmetic_sound : sound M.
  Proof.
    apply format_sound; try easy; try lra; [|lia].
    pose proof (unit_range F 0 good_format ltac:(lia)). lra.
  Qed.

  (** ** One operation *)

  Lemma number_0 : number F 0.
  Proof. apply generic_format_0. Qed.

  Lemma number_1 : number F 1.
  Proof.
    change 1 with (bpow radix2 0). apply generic_format_bpow. unfold FLT_exp. destruct good_format. lia.
  Qed.

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
  Proof.
    destruct (nearest_any F precision_positive tie z) as [d [e [bd [be [_ eq]]]]]. now exists d, e.
  Qed.

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
    assert (form : rnd (x - y) = (x - y) * exp t) by (unfold Rminus; rewrite eq, factor; ring).
    split.
    - exists t, 0. rewrite form, Rabs_R0. cbn. rewrite Rmult_1_l. repeat split; [apply bt|lra|ring].
    - rewrite form. apply Rmult_le_pos; [lra|left; apply exp_pos].
  Qed.

  (** e^-8 is a normal number in every format. *)
  Lemma subnormal_far b : exp (- b) < smallest_normal F -> 8 <= b.
  Proof.
    intros small. destruct (Rle_dec 8 b) as [yes|no]; [easy|exfalso].
    assert (N : smallest_normal F <= / 16384).
    { change (/ 16384) with (bpow radix2 (-14)). apply bpow_le. apply good_format. }
    pose proof (exp_le (- (8)) (- b) ltac:(lra)) as near.
    assert (far : / 16384 <= exp (- (8))); [|lra].
    rewrite exp_Ropp. apply Rinv_le_contravar; [apply exp_pos|].
    replace 8 with (1 + 1 + 1 + 1 + (1 + 1 + 1 + 1)) by ring. rewrite !exp_plus.
    pose proof exp_le_3 as three. pose proof (exp_pos 1). set (e := exp 1) in *.
    assert (e * e <= 9) by nra. assert (0 <= e * e) by nra.
    assert (e * e * e * e <= 81) by (replace (e * e * e * e) with ((e * e) * (e * e)) by ring; nra).
    assert (0 <= e * e * e * e) by nra. nra.
  Qed.

  (** An ulp is at most 2 u of a normal number and one quantum below. *)
  Lemma exp_computed b : number F b -> 0 <= b -> computed_exp M b (exp_hat b).
  Proof.
    intros hb pos. apply (exponential_of_contract M arithmetic_sound).
    pose proof (exp_within_ulp _ _ _ _ calls b hb pos) as close. pose proof (exp_pos (- b)) as value.
    destruct (Rle_dec (smallest_normal F) (exp (- b))) as [normal|below].
    - left. exists ((exp_hat b - exp (- b)) / exp (- b)). split; [|field; lra].
      unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ exp (- b))) by (left; now apply Rinv_0_lt_compat).
      apply Rmult_le_reg_r with (exp (- b)); [easy|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      eapply Rle_trans; [apply close|].
      eapply Rle_trans; [apply ulp_FLT_le; rewrite Rabs_right by lra; exact normal|].
      rewrite Rabs_right by lra. right. change (exp_error M) with (2 * unit_roundoff F). unfold unit_roundoff.
      replace (1 - prec F)%Z with (1 + - prec F)%Z by ring. rewrite bpow_plus. change (bpow radix2 1) with 2. ring.
    - right. pose proof (subnormal_far b ltac:(lra)) as far.
      assert (floor : exp_floor M = smallest_subnormal F).
      { cbn. unfold quantum_of_exp. rewrite Rmax_left by lra. field. }
      destruct (Rle_dec (exp_cutoff M) b) as [beyond|within].
      + right. split; [easy|]. split; [now apply (exp_underflows _ _ _ _ calls)|].
        rewrite floor. cbn. unfold smallest_subnormal.
        rewrite bpow_exp. apply exp_le. change (IZR radix2) with 2.
        pose proof ln_2_lower. rewrite opp_IZR.
        assert (IZR (emin F) <= -24) by (apply (IZR_le _ (-24)); apply good_format). nra.
      + left. split; [lra|]. rewrite floor. eapply Rle_trans; [apply close|]. right.
        apply ulp_FLT_small; [typeclasses eauto|]. rewrite Rabs_right by lra.
        apply Rlt_le_trans with (smallest_normal F); [lra|]. unfold smallest_normal. apply bpow_le. lia.
  Qed.

End Rounded.
