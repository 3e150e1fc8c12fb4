(** * The error of a score whose scale is split is reached.

    Example
    - [split_score_is_reached]   the scale 4, a query and a key of one number each; all that may round does so upwards, and the score is
                                 stored too large as well

    Source: numerics/b9_split_scale.v. *)

From softcheck.numerics Require Import score_error added_terms b17_split_scale b9_split_scale reached_bounds.
Local Open Scope R_scope.

Notation l := (unit single).
Definition far_factor : R := 1 * exp (1 * l) * (2 * exp (2 * l)) * exp (1 * l) * exp l.
Definition far_score : R := far_factor * far_factor * exp (1 * l).

Lemma far_score_is : far_score = 4 * exp (11 * l).
Proof.
  unfold far_score, far_factor. replace (11 * l) with (1 * l + 2 * l + 1 * l + l + (1 * l + 2 * l + 1 * l + l) + 1 * l) by ring.
  rewrite !exp_plus. ring.
Qed.

Example split_score_is_reached :
  let one := fun _ : Datatypes.unit => 1 in let error := split_score_error single 2 l l 0 1 [tt] one one in
  sound single /\ (0 <= l /\ 0 <= l /\ 0 <= 0 /\ 0 <= 1) /\ split_factor single 2 l l 0 1 1 far_factor /\
    (forall a : Datatypes.unit, In a [tt] -> split_term single 2 l l 0 1 one one a far_score) /\
    added single 0 0 (map (fun _ : Datatypes.unit => far_score) [tt]) far_score 0 /\ (0 <= length [tt] - 1)%nat /\ [tt] <> [] /\
    Rabs (far_score - 2 ^ 2 * sum (map (fun a => one a * one a) [tt])) = error /\
    approximates l 0 far_score (far_score * exp l) /\
    Rabs (far_score * exp l - 4) = error + (exp l - 1) * (Rabs 4 + error) + 0.
Proof.
  cbv zeta. pose proof units as [_ hl].
  assert (factor : split_factor single 2 l l 0 1 1 far_factor).
  { exists l, (2 * l), (1 * exp (1 * l) * (2 * exp (2 * l)) * exp (1 * l)). unfold root_log. rewrite !Rabs_right by lra.
    split; [lra|]. split; [lra|]. rewrite Rmult_1_l at 1. split.
    - rewrite Rmult_1_l. pose proof (product_off 1 (1 * exp l * (2 * exp (2 * l))) ltac:(lra)) as product. rewrite !Rmult_1_l in *. exact product.
    - exists l, 0. rewrite Rabs_R0, Rabs_right by lra. unfold far_factor. repeat split; lra. }
  pose proof far_score_is as value. pose proof (exp_at_least_one (11 * l) ltac:(lra)) as e1. pose proof (exp_at_least_one l hl) as e2.
  assert (error_is : split_score_error single 2 l l 0 1 [tt] (fun _ => 1) (fun _ => 1) = 4 * (exp (11 * l) - 1)).
  { unfold split_score_error, split_log, factor_floor, size, sum. cbn [map fold_right length product_floor sum_floor single]. simpl INR.
    replace (Rabs (1 * 1)) with 1 by (rewrite Rmult_1_l, Rabs_R1; easy). replace ((1 + 4 + 2 * 1) * l + 2 * l + 2 * l) with (11 * l) by ring. ring. }
  assert (sum_is : 2 ^ 2 * sum (map (fun a : Datatypes.unit => 1 * 1) [tt]) = 4) by (unfold sum; cbn; ring).
  split; [apply single_sound|]. split; [lra|]. split; [exact factor|]. split.
  { intros a _. exists far_factor, far_factor. split; [exact factor|]. split; [exact factor|]. apply product_off. lra. }
  split; [apply added_term; exists 0, 0; rewrite Rabs_R0, exp_0; repeat split; lra|]. split; [cbn; lia|]. split; [easy|].
  rewrite error_is, sum_is, value. split; [rewrite Rabs_right; lra|]. split.
  - exists l, 0. rewrite Rabs_R0, Rabs_right by lra. repeat split; lra.
  - assert (grown_twice : 1 <= exp (11 * l) * exp l) by (apply one_le_product; lra). rewrite (Rabs_right 4) by lra. rewrite Rabs_right; lra.
Qed.
