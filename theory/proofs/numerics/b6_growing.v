(** * B6 grows with the height and the rescalings.

    Main result
    - [b6_growing]   a larger height and more rescalings give a larger bound

    Source: b6_entropy.v. *)

From softcheck.numerics Require Import row tilted_row tree_heights reduction b1_sum moments b5_logsumexp constants.
From softcheck.numerics Require Import b6_entropy.
Local Open Scope R_scope.

Section Growing.
  Context (M : arithmetic) (good : sound M) (kappa m : R) (logits : list R) (h h' j j' : nat) (r : R)
    (max : is_maximum m logits) (hkappa : 0 <= kappa) (higher : (h <= h')%nat) (more : (j <= j')%nat).
  Notation t := (slope M).

  Lemma argument_floor_growing : 0 <= argument_floor M kappa j <= argument_floor M kappa j'.
  Proof using good hkappa more.
    unfold argument_floor. pose proof (slope_nonneg M good). assert (0 <= argument_step M) by apply good.
    assert (0 <= (1 + t) * kappa) by monotone. pose proof (pos_INR j). pose proof (le_INR _ _ more).
    assert (0 <= (INR j + 1) * argument_step M) by monotone.
    assert ((INR j + 1) * argument_step M <= (INR j' + 1) * argument_step M) by monotone. lra.
  Qed.

  Lemma sigma_0_growing : 0 <= sigma_0 M kappa m logits h j <= sigma_0 M kappa m logits h' j'.
  Proof using good max hkappa higher more.
    pose proof (slope_nonneg M good). pose proof (sum_log_nonneg M good (INR h) j (pos_INR h)).
    pose proof (sum_log_growing M good (INR h) (INR h') j j' (le_INR _ _ higher) more).
    pose proof (shift_above M m logits max ltac:(lra)). pose proof (mean_deviation_nonneg m logits max).
    assert (0 <= (1 + t) * kappa) by monotone. assert (0 <= t * mean_deviation m logits) by monotone. unfold sigma_0.
    rewrite <- !(sum_log_direct M kappa). lra.
  Qed.

  Lemma lost_growing : lost M j <= lost M j' /\ lost_moment M j <= lost_moment M j' /\ 0 <= lost_moment M j.
  Proof using good more.
    clear higher. unfold lost, lost_moment. unfold sound in good. assert (0 <= exp_floor M * exp_cutoff M) by monotone.
    destruct j, j'; try lia; lra.
  Qed.

  Lemma lost_sum_growing : lost_sum M kappa m logits h j <= lost_sum M kappa m logits h' j'.
  Proof using good max hkappa higher more.
    unfold lost_sum. pose proof sigma_0_growing. pose proof lost_growing as [lost_le _].
    pose proof (lost_nonneg M good j). pose proof (size_nonneg logits). monotone.
  Qed.

  Hypothesis some : lost_sum M kappa m logits h' j' < 1.

  Lemma sigma_growing : 0 <= sigma M kappa m logits h j <= sigma M kappa m logits h' j'.
  Proof using good max hkappa higher more some.
    pose proof sigma_0_growing. pose proof lost_sum_growing. unfold sigma. assert (0 <= lost_sum M kappa m logits h j).
    { unfold lost_sum. pose proof (lost_nonneg M good j). pose proof (size_nonneg logits). monotone. }
    assert (ln (1 - lost_sum M kappa m logits h' j') <= ln (1 - lost_sum M kappa m logits h j)) by (apply ln_le; lra).
    assert (ln (1 - lost_sum M kappa m logits h j) <= 0) by (rewrite <- ln_1; apply ln_le; lra). lra.
  Qed.

  Theorem b6_growing : entropy_rounding M kappa m logits h j r <= entropy_rounding M kappa m logits h' j' r.
  Proof using good max hkappa higher more some.
    pose proof (slope_nonneg M good) as ht. assert (ht4 : t <= / 4) by apply good. pose proof sigma_growing as sg.
    pose proof argument_floor_growing as fg. pose proof lost_growing as [lg [mg m0]].
    pose proof (moment_log_growing M good (INR h) (INR h') j j' (le_INR _ _ higher) more) as mlg.
    assert (logs : log_sum_error M kappa m logits h j <= log_sum_error M kappa m logits h' j').
    { unfold log_sum_error. assert (0 <= log_error M) by apply good.
      assert (log_error M * (ln (weight_sum m logits) + sigma M kappa m logits h j)
        <= log_error M * (ln (weight_sum m logits) + sigma M kappa m logits h' j')) by monotone.
      lra. }
    assert (quotients : quotient_log M kappa m logits h j r <= quotient_log M kappa m logits h' j' r)
      by (unfold quotient_log, moment_total; lra).
    assert (beside0 : 0 <= beside_mean M kappa m logits j <= beside_mean M kappa m logits j').
    { unfold beside_mean. pose proof (size_nonneg logits). pose proof (lost_nonneg M good j).
      pose proof (exp_pos (shift m logits t)).
      assert (0 <= size logits * lost M j <= size logits * lost M j') by monotone.
      assert (0 <= size logits * lost_moment M j <= size logits * lost_moment M j') by monotone.
      assert (0 <= argument_floor M kappa j * (exp (shift m logits t) + size logits * lost M j)
        <= argument_floor M kappa j' * (exp (shift m logits t) + size logits * lost M j')) by monotone.
      lra. }
    assert (excess0 : 0 <= first_excess m logits t).
    { unfold first_excess. pose proof (pow2_ge_0 t). pose proof (mean_square_deviation_nonneg m logits max).
      assert (0 <= third logits t).
      { unfold third. apply pow_le. apply Rmult_le_pos; [|monotone]. pose proof (exp_at_least_one 2).
        pose proof (size_nonneg logits). rewrite <- ln_1. apply ln_le; lra. }
      assert (0 <= t * mean_square_deviation m logits) by monotone. pose proof (exp_pos (shift m logits t)).
      assert (0 <= t ^ 2 / 2 * exp (shift m logits t) * third logits t); [|lra]. monotone. }
    assert (means : mean_error M kappa m logits h j r <= mean_error M kappa m logits h' j' r).
    { unfold mean_error. pose proof (exp_le _ _ quotients). pose proof (mean_deviation_nonneg m logits max). monotone. }
    unfold entropy_rounding, entropy_parts. assert (0 <= roundoff M) by apply good.
    set (a := log_sum_error M kappa m logits h j + mean_error M kappa m logits h j r).
    set (b := log_sum_error M kappa m logits h' j' + mean_error M kappa m logits h' j' r).
    assert (roundoff M * (entropy logits + a) <= roundoff M * (entropy logits + b))
      by (apply Rmult_le_compat_l; [easy|unfold a, b; lra]).
    unfold a, b in *. lra.
  Qed.
End Growing.
