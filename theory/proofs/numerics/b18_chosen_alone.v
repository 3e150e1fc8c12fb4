(** * B18: a softmax of the chosen logits alone errs by no more than coefficients divided by their sum.

    Main result
    - [b18_softmax_of_chosen]   weights from exponentials of the k chosen logits and their sum keep to the threshold of
                                b18_renormalised: its numerators meet no division, and D' <= D

    Where the running maximum over the chosen items rises no more often than in the row, and an item's underflow in a sum is no more
    than a coefficient's (so without rescalings, or where an exponential loses no more than a product).

    Source: docs/tolerances/topk.md; TopkThreshold::renormalised in numerics/rounding/rounding_topk.cpp. *)

From softcheck.numerics Require Import row tilted_row reduction b1_sum b2_element element_threshold constants b18_topk_choice
  b18_topk_weights.
Local Open Scope R_scope.

Section ChosenAlone.
  Context (M : arithmetic) (out : output_format).
  Hypothesis good : sound M.
  Hypothesis good_out : sound_output out.
  Context (kappa m : R) (logits : list R) (s : R) (h j : nat).
  Hypothesis hs : sum_of_row M kappa m logits s h j.
  Hypothesis some : lost_sum M kappa m logits h j < 1.
  Notation t := (slope M).
  Notation lambda := (unit M).
  Notation f := (element_floor M out kappa m logits h j).
  Context (chosen : list R) (top : R).
  Hypothesis top_chosen : is_maximum top chosen.
  Hypothesis from_row : incl chosen logits.
  Notation direct := (chosen_direct M out kappa m j chosen top).
  Notation lost_by_chosen := (chosen_lost M out kappa m logits h j chosen top).
  Notation whole := (renormalised_log M out kappa m logits h j chosen top).
  Hypothesis enough : lost_by_chosen * exp (2 * direct) < 1.

  (** The sum of the chosen exponentials. *)
  Context (s' : R) (h' : nat).
  Hypothesis hs' : sum_of_row M kappa top chosen s' h' j.
  Hypothesis low : (h' <= length chosen - 1)%nat.
  Hypothesis underflow : lost M j <= f + sum_floor M.

  Let below :
    lost_sum M kappa top chosen h' j < 1 /\ element_log M out kappa top chosen h' j <= whole /\
    element_floor M out kappa top chosen h' j <= renormalised_floor M out kappa m logits h j chosen top.
  Proof using good good_out hs some top_chosen from_row enough hs' low underflow.
    pose proof (slope_nonneg M good) as ft. pose proof (unit_nonneg M good) as fl. pose proof (exp_unit_nonneg M good) as fe.
    pose proof (lost_nonneg M good j) as fz. assert (fa : 0 <= sum_floor M) by (unfold sound in good; lra).
    assert (fm : 0 <= product_floor M) by (unfold sound in good; lra).
    assert (fx : 0 <= exp_floor M) by (unfold sound in good; lra).
    pose proof (row_maximum _ _ _ _ _ _ _ hs) as max. pose proof (proj2 max top (from_row top (proj1 top_chosen))) as fd.
    assert (ftD : 0 <= t * (m - top)) by (apply Rmult_le_pos; lra).
    assert (many : 1 <= size chosen) by (apply size_at_least_one, (in_not_nil top), top_chosen).
    pose proof (S_at_least_one m logits max) as S1.
    pose proof (element_log_nonneg M out good good_out kappa m logits s h j hs some) as e0.
    pose proof (floor_above M out good good_out kappa m logits s h j hs some) as [above [f0 _]].
    destruct (sum_between M good kappa top chosen s' h' j hs') as [_ [hk hd]].
    assert (height : INR h' * lambda <= (size chosen - 1) * lambda).
    { apply Rmult_le_compat_r; [easy|]. unfold size. pose proof (le_INR _ _ low) as le.
      rewrite minus_INR in le; [simpl in le; lra|]. apply INR_le. unfold size in many. simpl. lra. }
    assert (fr : 0 <= ratio_log M out) by (destruct good_out; unfold ratio_log, division_roundings; lra).
    assert (extra : 0 <= when_rescaled j (exp_unit M + lambda)) by (unfold when_rescaled; destruct j; lra).
    set (s0 := sigma_0 M kappa top chosen h' j).
    assert (first : s0 <= direct).
    { unfold s0, sigma_0, chosen_direct, chosen_constant, own_constant, direct_log, numerator_log. lra. }
    assert (s00 : 0 <= s0).
    { unfold s0, sigma_0. pose proof (shift_above M top chosen top_chosen ft).
      assert (0 <= t * mean_deviation top chosen) by (apply Rmult_le_pos; [easy|now apply mean_deviation_nonneg]). lra. }
    assert (over : 1 <= over_chosen M out kappa m logits h j top).
    { unfold over_chosen. apply one_le_product; [now apply exp_at_least_one|]. rewrite exp_plus, exp_ln by lra.
      apply one_le_product; [easy|]. apply exp_at_least_one. lra. }
    assert (losses : lost_sum M kappa top chosen h' j <= lost_by_chosen * exp (2 * direct)).
    { unfold lost_sum, chosen_lost. fold s0.
      apply Rmult_le_compat; [apply Rmult_le_pos; lra|left; apply exp_pos| |apply exp_le; lra].
      apply Rle_trans with (size chosen * (f + sum_floor M)); [apply Rmult_le_compat_l; lra|].
      apply grown; [apply Rmult_le_pos; lra|easy]. }
    assert (logs : ln (1 - lost_by_chosen * exp (2 * direct)) <= ln (1 - lost_sum M kappa top chosen h' j)) by (apply ln_le; lra).
    assert (log : element_log M out kappa top chosen h' j <= whole).
    { unfold element_log, renormalised_log, chosen_sigma, chosen_constant, own_constant, sigma. fold s0.
      assert (0 <= rescale_unit M j) by (apply Rmult_le_pos; [apply pos_INR|lra]). lra. }
    split; [lra|]. split; [easy|]. unfold element_floor at 1. unfold renormalised_floor, division_losses.
    apply Rplus_le_compat_r. apply Rmult_le_compat.
    - assert (0 <= numerator_loss M j) by (unfold numerator_loss, when_rescaled; destruct j; lra). lra.
    - left. apply exp_pos.
    - apply Rplus_le_compat_r.
      assert (numerator_loss M j <= f).
      { eapply Rle_trans; [|apply above]. rewrite <- (Rmult_1_l (numerator_loss M j)) at 1.
        apply Rmult_le_compat_r; [unfold numerator_loss, when_rescaled; destruct j; lra|]. apply exp_at_least_one.
        pose proof (argument_floor_above M good kappa top chosen s' h' j hs').
        assert (0 <= argument_step M) by (unfold sound in good; lra).
        assert (0 <= t * kappa) by (apply Rmult_le_pos; lra). unfold numerator_log. lra. }
      assert (f <= f * over_chosen M out kappa m logits h j top) by now apply grown. lra.
    - now apply exp_le.
  Qed.

  Theorem b18_softmax_of_chosen quantum x r :
    0 < quantum <= 1 -> In x chosen -> computed_element M out kappa top j s' x r ->
    Rabs (r - coefficient chosen x)
    <= (threshold_constant whole + threshold_slope quantum whole t * (top - x)) * coefficient chosen x
       + (renormalised_floor M out kappa m logits h j chosen top + threshold_floor quantum).
  Proof using good good_out hs some top_chosen from_row enough hs' low underflow.
    intros hq inx form. destruct below as [some' [log floor]]. pose proof (slope_nonneg M good) as ft.
    assert (ft4 : t <= / 4) by apply good.
    pose proof (element_absolute M out good good_out kappa top chosen s' h' j hs' some' x r inx form) as close.
    pose proof (element_log_nonneg M out good good_out kappa top chosen s' h' j hs' some') as e0.
    pose proof (coefficient_threshold quantum whole t top chosen x hq ltac:(lra) ltac:(lra) top_chosen inx) as chord.
    assert (p0 : 0 <= coefficient chosen x) by (left; apply coefficient_pos; now apply (in_not_nil x)).
    assert (coefficient chosen x * (exp (element_log M out kappa top chosen h' j + t * (top - x)) - 1)
            <= coefficient chosen x * (exp (whole + t * (top - x)) - 1)).
    { apply Rmult_le_compat_l; [easy|]. apply Rplus_le_compat_r, exp_le. lra. }
    lra.
  Qed.
End ChosenAlone.
