(** * The premises of B19 hold of something.

    As in reached_topk.v: the row of two equal logits.

    Examples
    - [mass_is_inhabited]    the mass of one of the two, by itself, less its own coefficient, and as what is left of 1
    - [level_is_inhabited]   a coefficient equal to the level: the premises of both comparisons hold

    Source: b19_mass.v, b19_level.v. *)

From softcheck.numerics Require Import row tilted_row reduction b1_sum b2_element score_error added_terms b18_topk_choice
  b19_mass b19_level reached_bounds reached_topk.
Local Open Scope R_scope.

Notation l := (unit single).

Lemma exactly_sum z : computed_sum single z z.
Proof. pose proof (sum_off 0 z ltac:(lra)) as s. now rewrite Rmult_0_l, exp_0, Rmult_1_r in s. Qed.

Lemma exactly_product z : computed_product single z z.
Proof. pose proof (product_off 0 z ltac:(lra)) as s. now rewrite Rmult_0_l, exp_0, Rmult_1_r in s. Qed.

Lemma first_of_two : computed_element single half 0 0 0 2 0 (element_off 2 0 1).
Proof. rewrite <- Ropp_0 at 3. apply element_off_computed; lra. Qed.

Example mass_is_inhabited :
  exists q, sound single /\ sound_output half /\ sum_of_row single 0 0 (pair_row 0) 2 1 0 /\
    lost_sum single 0 0 (pair_row 0) 1 0 < 1 /\ Permutation (pair_row 0) ([0] ++ [- 0]) /\
    Forall2 (computed_element single half 0 0 0 2) [0] [q] /\ added single 0 0 [q] q 0 /\ (0 <= 0)%nat /\ 0 <= / 2 <= 1 /\ Rabs 0 <= l /\
    [0] = [] ++ [0] /\ [q] = [] ++ [q] /\ Forall2 (computed_element single half 0 0 0 2) [] [] /\ computed_sum single (q - q) (q - q) /\
    computed_sum single (1 - / 2 * exp 0) (1 - / 2 * exp 0).
Proof.
  pose proof units as [_ l0]. exists (element_off 2 0 1). split; [apply single_sound|]. split; [apply half_sound|].
  split; [apply same_sum|]. split; [rewrite pair_loses_nothing; lra|]. split; [apply Permutation_refl|].
  split; [constructor; [apply first_of_two|constructor]|].
  split; [apply added_term; exists 0, 0; rewrite Rabs_R0, exp_0; repeat split; lra|]. split; [lia|]. split; [lra|].
  split; [rewrite Rabs_R0; lra|]. split; [easy|]. split; [easy|]. split; [constructor|]. split; apply exactly_sum.
Qed.

Example level_is_inhabited :
  exists x p_j p_max, sound single /\ sound_output half /\ sum_of_row single 0 0 (pair_row 0) 2 1 0 /\
    lost_sum single 0 0 (pair_row 0) 1 0 < 1 /\ In x (pair_row 0) /\ 0 < 1 <= 1 /\
    level_compared single half 0 0 2 0 1 x p_j p_max /\ p_j = p_max /\
    level_lost single half 0 0 (pair_row 0) 1 0 (0 - x) < 1 /\ level_lost single half 0 0 (pair_row 0) 1 0 (- ln 1) < 1.
Proof.
  pose proof units as [_ l0]. exists 0, (element_off 2 0 1), (element_off 2 0 1). split; [apply single_sound|].
  split; [apply half_sound|]. split; [apply same_sum|]. split; [rewrite pair_loses_nothing; lra|]. split; [now left|].
  split; [lra|]. split.
  { apply (level_of_coefficient single half 0 0 2 0 1 0 (element_off 2 0 1) 0); [apply first_of_two|apply first_of_two|rewrite Rabs_R0; lra|].
    pose proof (exactly_product (1 * exp 0 * element_off 2 0 1)) as all. rewrite exp_0, !Rmult_1_l in *. exact all. }
  split; [easy|]. unfold level_lost. rewrite pair_floor. cbn -[element_log own_constant slope unit]. split; lra.
Qed.
