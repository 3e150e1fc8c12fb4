(** * The premises of B6d hold of something.

    Example
    - [b6d_is_inhabited]   two equal logits, whose sum errs as far as it may; each coefficient and each term is exact after it

    Source: numerics/b6d_coefficients.v. *)

From Coq Require Import Reals List Lra Lia.
From softcheck Require Import softmax.
From softcheck.floating_point Require Import relative_error standard_model.
From softcheck.numerics Require Import row tilted_row reduction b1_sum b2_element b5_logsumexp added_terms reached_bounds b6d_coefficients.
Import ListNotations.
Local Open Scope R_scope.

Lemma exact_product z : computed_product single z z.
Proof. pose proof (product_off 0 z ltac:(lra)) as exact. now rewrite Rmult_0_l, exp_0, Rmult_1_r in exact. Qed.

Lemma exact_sum_of z : computed_sum single z z.
Proof. pose proof (sum_off 0 z ltac:(lra)) as exact. now rewrite Rmult_0_l, exp_0, Rmult_1_r in exact. Qed.

Lemma element_of_level s : computed_element single kept_format 0 0 1 s 0 (1 / s).
Proof.
  exists 0, 1, (1 / s). split; [rewrite !Rminus_0_r, Rabs_R0; lra|]. split; [|split].
  - apply numerator_direct with 0; [lra|apply argument_of_0|].
    pose proof (exp_of_0 0 ltac:(lra)) as exact. now rewrite Rmult_0_l, exp_0 in exact.
  - apply ratio_division, exact_product.
  - exists 0, 0. cbn. rewrite Rabs_R0, exp_0. repeat split; lra.
Qed.

Example b6d_is_inhabited :
  let s := far_sum 1 in
  exists z y, sound single /\ (exp_floor single = 0 /\ sum_floor single = 0 /\ product_floor single = 0) /\
    sum_of_row single 0 0 level s 1 1 /\ lost_sum single 0 0 level 1 1 < 1 /\
    Forall2 (element_term single 0 0 s 1 0) level [z; z] /\ added single 0 0 [z; z] y 1 /\
    Forall2 (coefficient_term single 0 level (element_log single kept_format 0 0 level 1 1) 0) level [z; z].
Proof.
  cbv zeta. set (s := far_sum 1). set (z := 1 / s * ln (1 / s)). exists z, (z + z).
  assert (sum : sum_of_row single 0 0 level s 1 1) by (apply far_sum_of_row; lra).
  assert (lost : lost_sum single 0 0 level 1 1 < 1) by (rewrite nothing_lost; lra).
  assert (floors : exp_floor single = 0 /\ sum_floor single = 0 /\ product_floor single = 0) by easy.
  assert (term : element_term single 0 0 s 1 0 0 z).
  { exists (1 / s), 0, (1 / s), (ln (1 / s)). split; [apply element_of_level|].
    split; [rewrite Rabs_R0; apply units|]. split; [rewrite Rmult_0_l, Rplus_0_r; apply exact_sum_of|].
    split; [|apply exact_product]. unfold computed_log. rewrite Rminus_diag_eq, Rabs_R0 by easy.
    pose proof (Rabs_pos (ln (1 / s))). cbn. apply Rplus_le_le_0_compat; [apply Rmult_le_pos; lra|lra]. }
  split; [apply single_sound|]. split; [exact floors|]. split; [exact sum|]. split; [exact lost|].
  split; [repeat constructor; exact term|]. split.
  - apply (added_addition single 0 0 [z] [z] z z (z + z) 0 0); [| |apply exact_sum_of];
      apply added_term; exists 0, 0; rewrite Rabs_R0, exp_0; repeat split; lra.
  - assert (inside : In 0 level) by now left.
    pose proof (element_is_term single single_sound floors 0 0 level s 1 1 0 sum lost 0 z inside term) as moved.
    repeat constructor; exact moved.
Qed.
