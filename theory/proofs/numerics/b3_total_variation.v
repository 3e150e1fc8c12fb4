(** * B3: total variation, and B4: the row sum, of a computed softmax.

    Main results
    - [b3_total_variation]   sum |p_hat_j - p_j| <= k_0 + k_1 Dbar + n f
    - [b4_row_sum]           |sum p_hat_j - 1| <= e^(nu + mu + sigma + 2 lambda + lambda_out) - 1 + n f, nu the log error of
                             a numerator: exponentials recomputed, or shared, or both

    Source: docs/tolerances.md, B3 and B4; total_variation_error, row_sum_error in numerics/rounding/rounding.cpp. *)

From softcheck.numerics Require Import row tilted_row atoms reduction converted_row b1_sum element_threshold
  b2_element.
Local Open Scope R_scope.

(** What is true of every computed element adds up. *)
Lemma sum_of_differences (l ps : list R) (P : R -> R -> Prop) (c g : R -> R) :
  Forall2 P l ps -> (forall x p, In x l -> P x p -> Rabs (p - c x) <= g x) ->
  sum (map (fun xp => Rabs (snd xp - c (fst xp))) (combine l ps)) <= sum (map g l).
Proof.
  intros all each. revert each.
  induction all as [|x p l ps hp _ IH]; intros each; [unfold sum; simpl; lra|].
  unfold sum in *. simpl.
  assert (Rabs (p - c x) <= g x) by (apply each; [now left|easy]).
  assert (fold_right Rplus 0 (map (fun xp => Rabs (snd xp - c (fst xp))) (combine l ps)) <= fold_right Rplus 0 (map g l)).
  { apply IH. intros x' p' inx. apply each. now right. }
  lra.
Qed.

Lemma difference_of_sums (l ps : list R) (P : R -> R -> Prop) (c g : R -> R) :
  Forall2 P l ps -> (forall x p, In x l -> P x p -> Rabs (p - c x) <= g x) ->
  Rabs (sum ps - sum (map c l)) <= sum (map g l).
Proof.
  intros all each. revert each.
  induction all as [|x p l ps hp _ IH]; intros each.
  - unfold sum. simpl. rewrite Rminus_diag_eq, Rabs_R0 by easy. lra.
  - unfold sum in *. simpl.
    assert (Rabs (p - c x) <= g x) by (apply each; [now left|easy]).
    assert (Rabs (fold_right Rplus 0 ps - fold_right Rplus 0 (map c l)) <= fold_right Rplus 0 (map g l)).
    { apply IH. intros x' p' inx. apply each. now right. }
    match goal with |- Rabs (p + ?a - (c x + ?b)) <= _ => replace (p + a - (c x + b)) with ((p - c x) + (a - b)) by ring end.
    eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Section B3.
  Context (M : arithmetic) (out : output_format).
  Hypothesis good : sound M.
  Hypothesis good_out : sound_output out.
  Context (kappa m : R) (logits outputs : list R) (s : R) (h j : nat).
  Hypothesis hs : sum_of_row M kappa m logits s h j.
  Hypothesis some : lost_sum M kappa m logits h j < 1.
  Hypothesis computed : Forall2 (computed_element M out kappa m j s) logits outputs.
  Notation t := (slope M).
  Notation n := (size logits).
  Notation C := (element_log M out kappa m logits h j).
  Notation floor := (element_floor M out kappa m logits h j).

  Let max : is_maximum m logits := row_maximum _ _ _ _ _ _ _ hs.
  Let visible : logits <> [] := in_not_nil m logits (proj1 max).

  Theorem b3_total_variation quantum :
    0 < quantum <= 1 ->
    sum (map (fun xp => Rabs (snd xp - coefficient logits (fst xp))) (combine logits outputs))
    <= threshold_constant C + threshold_slope quantum C t * mean_deviation m logits
       + n * (floor + threshold_floor quantum).
  Proof using good good_out hs some computed.
    intros hq. eapply Rle_trans.
    - eapply sum_of_differences; [apply computed|]. intros x p inx elem.
      eapply (b2_element M out good good_out kappa m logits s h j hs some quantum x p hq inx elem).
    - rewrite sum_map_plus, sum_map_const.
      apply Rplus_le_compat_r. right.
      pose proof (expectation_from_weights m logits max (fun d => threshold_constant C + threshold_slope quantum C t * d)) as mean.
      unfold expectation in mean.
      rewrite (sum_map_ext _ (fun x => coefficient logits x *
                 (threshold_constant C + threshold_slope quantum C t * (m - x)))) by (intros; ring).
      rewrite mean, weighted_sum_plus, (weighted_sum_mult _ _ _ (fun d => d)).
      fold (deviation_sum m logits). rewrite (deviation_sum_mean m logits max).
      pose proof (S_at_least_one m logits max).
      replace (weighted_sum m logits (fun _ => threshold_constant C)) with (threshold_constant C * weight_sum m logits)
        by (unfold weight_sum; rewrite <- weighted_sum_mult; apply weighted_sum_ext; intros; ring).
      field. lra.
  Qed.

  (** sum p (e^(C + t D) - 1) = e^C M(t) - 1. *)
  Theorem b4_row_sum :
    Rabs (sum outputs - 1) <= exp (numerator_log M kappa j + shift m logits t + sigma M kappa m logits h j
                                   + ratio_log M out) - 1 + n * floor.
  Proof using good good_out hs some computed.
    rewrite <- (sum_coefficients logits visible).
    eapply Rle_trans.
    - eapply difference_of_sums; [apply computed|]. intros x p inx elem.
      apply (element_absolute M out good good_out kappa m logits s h j hs some x p inx elem).
    - rewrite sum_map_plus, sum_map_const, (sum_coefficients logits visible). apply Rplus_le_compat_r.
      pose proof (expectation_from_weights m logits max (fun d => exp (C + t * d) - 1)) as mean.
      unfold expectation in mean. rewrite mean.
      pose proof (slope_nonneg M good). assert (t <= / 4) by apply good.
      pose proof (tilted_mass m logits max t ltac:(lra)) as heavy.
      pose proof (S_at_least_one m logits max). unfold tilted in heavy.
      rewrite (weighted_sum_ext _ _ (fun d => exp (C + t * d) - 1) (fun d => exp C * (exp (t * d) * 1) + -1 * 1))
        by (intros; rewrite exp_plus; ring).
      rewrite weighted_sum_plus, !weighted_sum_mult. fold (weight_sum m logits).
      replace (numerator_log M kappa j + shift m logits t + sigma M kappa m logits h j + ratio_log M out)
        with (C + shift m logits t) by (unfold element_log; ring).
      rewrite exp_plus. apply Rmult_le_reg_r with (weight_sum m logits); [lra|].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. pose proof (exp_pos C).
      apply Rle_trans with (exp C * (exp (shift m logits t) * weight_sum m logits) + -1 * weight_sum m logits); [|lra].
      rewrite Rmult_1_r. apply Rplus_le_compat_r, Rmult_le_compat_l; lra.
  Qed.
End B3.
