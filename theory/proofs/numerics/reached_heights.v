(** * Trees of less than a roundoff hold of something.

    Example
    - [compensated_tree]   two equal logits, added by an addition that errs by a twelfth of a roundoff, as far as it may: a
                           tree of that height, of S and of S and T, and a sum of the row for B1

    Source: numerics/tree_heights.v. *)

From softcheck.numerics Require Import row tree_heights reduction converted_row b1_sum moments reached_bounds.
Local Open Scope R_scope.

Definition light_sum : R := (1 + 1) * exp (/ 12 * l).

Lemma light_item : streamed_at single [0] 0 1 0 0 0 0.
Proof.
  apply streamed_at_item with 0; [lra|rewrite Rminus_0_r; apply argument_of_0| |].
  - pose proof (exp_of_0 0 ltac:(lra)) as exact. now rewrite Rmult_0_l, exp_0 in exact.
  - apply product_0.
Qed.

Lemma light_both : streamed_at single level 0 light_sum 0 (/ 12) 0 0.
Proof.
  pose proof units as [_ hl]. pose proof (Rabs_R0) as zero.
  assert (part : sum_within single (/ 12) (1 + 1) light_sum).
  { exists (/ 12 * l), 0. rewrite zero, Rabs_right by lra. cbn -[unit]. unfold light_sum. repeat split; lra. }
  assert (nothing : sum_within single (/ 12) (0 + 0) 0).
  { exists 0, 0. rewrite zero. cbn -[unit]. repeat split; lra. }
  pose proof (streamed_at_addition single [0] [0] 0 1 1 light_sum 0 0 0 (/ 12) 0 0 0 0 0 0 light_item light_item ltac:(lra) part nothing)
    as tree. rewrite Rmax_left, Rplus_0_r in tree by lra. exact tree.
Qed.

Example compensated_tree :
  streamed_at single level 0 light_sum 0 (/ 12) 0 0 /\ summed_at single level 0 light_sum (/ 12) 0 0 /\
  sum_of_row single 0 0 level light_sum 1 0 /\ 2 < light_sum.
Proof.
  pose proof light_both as both. pose proof (sum_of_streamed _ _ _ _ _ _ _ _ both) as alone.
  split; [exact both|]. split; [exact alone|]. split.
  - constructor; [apply level_maximum|]. exists 0, level, (/ 12), 0%nat. split; [apply level_maximum|].
    split; [apply converted_same|]. split; [exact alone|]. split; [change (INR 1) with 1; lra|]. split; [unfold size; cbn; lra|easy].
  - unfold light_sum. assert (0 < l).
    { unfold standard_model.unit, log_unit. cbn. pose proof (ln_below_tangent (1 - / 16777216) ltac:(lra)). lra. }
    pose proof (exp_above_tangent (/ 12 * l)). lra.
Qed.
