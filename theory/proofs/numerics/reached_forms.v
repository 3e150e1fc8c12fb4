(** * The premises hold of something, and the bounds are reached, of forms that not every kernel has.

    As in reached_bounds.v, the kernel [single] errs as far as it may on the row 0, 0.

    Examples
    - [b4_shared_is_reached]   quotients of the two exponentials that were added: the exponentials' own error is gone

    Source: b4_shared.v. *)

From Coq Require Import Reals List Lra.
From softcheck Require Import softmax.
From softcheck.floating_point Require Import relative_error standard_model.
From softcheck.numerics Require Import row tilted_row reduction converted_row constants b1_sum b2_element added_terms b4_shared
  reached_bounds reached_losses.
Import ListNotations.
Local Open Scope R_scope.

Notation E := (exp_unit single).
Notation l := (unit single).

Definition shared_w : R := exp (1 * E).
Definition shared_s : R := (shared_w + shared_w) * exp (-1 * l).
Definition shared_p : R := shared_w * (1 / shared_s * exp (1 * l)) * exp (1 * l) * exp (output_unit half).

Example b4_shared_is_reached :
  let ws := [shared_w; shared_w] in
  sound single /\ sound_output half /\ is_maximum 0 level /\ converted 0 0 level 0 level /\
    Forall2 (fun x w => 0 <= w /\ exists b, computed_argument single (0 - x) b /\ computed_exp single b w) level ws /\
    lost_sum single 0 0 level 1 0 < 1 /\ added single 0 0 ws shared_s 1 /\
    Forall2 (shared_element single half shared_s) ws [shared_p; shared_p] /\ shared_row_lost single 0 0 level 1 < 1 /\
    Rabs (sum [shared_p; shared_p] - 1)
    = exp (INR 1 * l - ln (1 - shared_row_lost single 0 0 level 1) + ratio_log single half) - 1
      + size level * element_floor single half 0 0 level 1 0 /\
    Forall (fun w => 0 <= w <= shared_w) ws /\ 0 < sum ws <= sum ws /\ shared_lost single ws (sum ws) 1 = 0.
Proof.
  cbv zeta. pose proof units as [hE hl]. pose proof (exp_pos (1 * E)) as wpos. fold shared_w in wpos.
  pose proof (proj1 half_sound) as hu.
  assert (row_lost : shared_row_lost single 0 0 level 1 = 0) by (unfold shared_row_lost; cbn -[unit exp INR sigma]; ring).
  assert (one_w : forall x, In x level -> 0 <= shared_w /\ exists b, computed_argument single (0 - x) b /\ computed_exp single b shared_w).
  { intros x inx. split; [lra|]. exists 0. assert (x = 0) as -> by (destruct inx as [<-|[<-|[]]]; easy).
    rewrite Rminus_0_r. split; [apply argument_of_0|apply exp_of_0; lra]. }
  assert (one_p : shared_element single half shared_s shared_w shared_p).
  { exists (shared_w * (1 / shared_s * exp (1 * l)) * exp (1 * l)). split.
    - apply ratio_reciprocal with (1 / shared_s * exp (1 * l)); apply product_off; lra.
    - exists (output_unit half), 0. rewrite Rabs_R0, Rabs_right by lra. cbn. repeat split; try lra. unfold shared_p. cbn. ring. }
  split; [apply single_sound|]. split; [apply half_sound|]. split; [apply level_maximum|]. split; [apply converted_same|].
  split; [repeat constructor; try lra; apply one_w; [now left|now right; left]|].
  split; [unfold lost_sum, lost; cbn -[sigma_0 exp INR]; lra|]. split.
  { apply (added_addition single 0 0 [shared_w] [shared_w] shared_w shared_w _ 0 0); [| |apply sum_off; lra];
      apply added_term; exists 0, 0; rewrite Rabs_R0, exp_0; lra. }
  split; [now repeat constructor|]. split; [lra|]. split.
  { rewrite row_lost, Rminus_0_r, ln_1, Rminus_0_r.
    assert (none : element_floor single half 0 0 level 1 0 = 0).
    { unfold element_floor, numerator_loss, when_rescaled. cbn -[element_log]. ring. }
    rewrite none, Rmult_0_r, Rplus_0_r. unfold ratio_log, division_roundings. simpl (INR 1).
    assert (value : sum [shared_p; shared_p] = exp (1 * l + (2 * l + output_unit half))).
    { unfold sum; cbn [fold_right]. unfold shared_p, shared_s. replace (-1 * l) with (- (1 * l)) by ring.
      replace (1 * l + (2 * l + output_unit half)) with (1 * l + 1 * l + 1 * l + output_unit half) by ring.
      rewrite exp_Ropp, !exp_plus. field. split; [apply Rgt_not_eq, exp_pos|lra]. }
    pose proof (exp_at_least_one (1 * l + (2 * l + output_unit half)) ltac:(lra)). rewrite value, Rabs_right; lra. }
  split; [repeat constructor; lra|]. split; [unfold sum; cbn; lra|].
  unfold shared_lost. cbn -[unit exp INR sum]. unfold Rdiv. ring.
Qed.
