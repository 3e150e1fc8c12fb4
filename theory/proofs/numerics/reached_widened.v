(** * The premises of B9 with the exact row's statistics hold of something.

    Examples
    - [b9_widened_is_inhabited]   two scores of which one errs by 1/8, computed as the row 0, 0, of which [b5_is_reached] and
                                  [b6_is_reached] say the rest
    - [b9_sharpened_row_is_inhabited]   the same scores at a beta of 5/4 in the place of 1

    - [b9_logarithms_is_inhabited]      the same scores as computed, in the arithmetic of [b6d_computed_softmax_is_inhabited]

    Source: wider_statistics.v, wider_entropies.v, b9_widened.v, b9_sharpened_row.v, b9_widened_entropies.v. *)

From softcheck.numerics Require Import formula row b2_element b9_attention perturbed_scores reached_bounds reached_forms theorem_formulas
  wider_statistics wider_entropies b9_widened b9_sharpened_row b9_widened_entropies reached_coefficients.
From softcheck.numerics Require log_softmax_formulas.
Local Open Scope R_scope.

Example b9_widened_is_inhabited :
  let w := score_statistics moved_keys 0 (/ 8) in
  is_maximum 0 (map score moved_keys) /\ is_maximum 0 (map computed_score moved_keys) /\
    (forall a, In a moved_keys -> Rabs (computed_score a - score a) <= moved_by a /\ moved_by a <= / 8) /\
    sound single /\ sound_output half /\ standard_model.roundoff single + 0 < 1 /\ covers w 0 (map computed_score moved_keys) /\
    wide_value single half 0 (size moved_keys) 1 1 0 0 0 w (Times sum_loss_f (Exp (Times (Number 2) sigma_0_f))) < 1.
Proof.
  cbv zeta. destruct b9_moved_is_inhabited as [max [max' [errs _]]]. split; [exact max|]. split; [exact max'|]. split; [exact errs|].
  split; [apply single_sound|]. split; [apply half_sound|]. split; [cbn; lra|].
  split; [exact (score_statistics_cover moved_keys 0 0 max max' moved_by (/ 8) errs)|].
  set (v := wide_value single half 0 (size moved_keys) 1 1 0 0 0 (score_statistics moved_keys 0 (/ 8))).
  change (v sum_loss_f * v (Exp (Times (Number 2) sigma_0_f)) < 1).
  assert (v sum_loss_f = 0) as -> by (unfold v, wide_value; cbn; ring). lra.
Qed.

Example b9_sharpened_row_is_inhabited :
  let w := sharpened_statistics moved_keys 0 (/ 8) (/ 2) 0 in let s := 5 / 4 in
  is_maximum 0 (map score moved_keys) /\ is_maximum 0 (map computed_score moved_keys) /\
    (forall a, In a moved_keys -> Rabs (computed_score a - score a) <= moved_by a /\ moved_by a <= / 8) /\
    1 <= 1 /\ 1 <= s /\ 0 <= / 2 < 1 /\ 0 < s /\ Rabs (s - 1) <= / 2 /\ Rabs (s - 1) <= / 2 * s /\ Rabs (s - 1) * Rabs 0 <= / 2 * 0 /\
    sound single /\ sound_output half /\ standard_model.roundoff single + 0 < 1 /\
    covers w (s * 0) (scaled s (map computed_score moved_keys)) /\
    wide_value single half 0 (size moved_keys) 1 1 0 0 0 w (Times sum_loss_f (Exp (Times (Number 2) sigma_0_f))) < 1.
Proof.
  cbv zeta. destruct b9_moved_is_inhabited as [max [max' [errs _]]]. split; [exact max|]. split; [exact max'|]. split; [exact errs|].
  assert (apart : Rabs (5 / 4 - 1) = / 4) by (rewrite Rabs_right; lra). rewrite apart, Rabs_R0. repeat (split; [lra|]).
  split; [apply single_sound|]. split; [apply half_sound|]. split; [cbn; lra|]. split.
  - apply (sharpened_statistics_cover moved_keys 0 0 max max' moved_by (/ 8) errs); rewrite ?apart, ?Rabs_R0; lra.
  - set (v := wide_value single half 0 (size moved_keys) 1 1 0 0 0 (sharpened_statistics moved_keys 0 (/ 8) (/ 2) 0)).
    change (v sum_loss_f * v (Exp (Times (Number 2) sigma_0_f)) < 1).
    assert (v sum_loss_f = 0) as -> by (unfold v, wide_value; cbn; ring). lra.
Qed.

Example b9_logarithms_is_inhabited :
  let w := score_statistics moved_keys 0 (/ 8) in
  let at_w := formula.value (logarithms_at coarse off_row 0 (/ 8) 0 0 0 16 1 0 1 w) false in
  covers w 0 (List.map fst off_row) /\ 0 <= / 8 /\ 0 <= 0 < 1 /\
    Rabs (entropy (List.map fst off_row) - entropy (map score moved_keys)) <= entropy_moved moved_keys 0 moved_by (/ 8) /\
    at_w (Times (Of Logs.sum_loss) (Exp (Times (Number 2) Logs.moved_sigma_0_f))) < 1.
Proof.
  cbv zeta. destruct b9_moved_is_inhabited as [max [max' [errs _]]].
  destruct (scores_apart moved_keys 0 0 max max' moved_by (/ 8) errs) as [covered apart].
  split; [exact covered|]. split; [lra|]. split; [lra|]. split; [exact apart|].
  set (v := formula.value (logarithms_at coarse off_row 0 (/ 8) 0 0 0 16 1 0 1 (score_statistics moved_keys 0 (/ 8))) false).
  change (v (Of Logs.sum_loss) * v (Exp (Times (Number 2) Logs.moved_sigma_0_f)) < 1).
  assert (v (Of Logs.sum_loss) = 0) as -> by (unfold v; cbn; unfold reduction.lost; cbn; ring). lra.
Qed.
