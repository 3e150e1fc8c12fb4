(** * The premises of B6d hold of something.

    Examples
    - [b6d_is_inhabited]             two equal logits, whose sum errs as far as it may; each coefficient and each term is exact after it
    - [b6d_underflow_is_inhabited]   two equal logits, of whose coefficients a quotient takes 1/16
    - [b6d_log_softmax_is_inhabited]   the same, with the exact logarithms in the place of the coefficients'
    - [b6d_computed_softmax_is_inhabited]   their softmax, of logarithms that are 1/8 off
    - [compensated_tree]   two equal logits, added by an addition that errs by a twelfth of a roundoff, as far as it may: a
                           tree of that height, of S and of S and T, and a sum of the row for B1
    - [b9_widened_is_inhabited]   two scores of which one errs by 1/8, computed as the row 0, 0, of which [b5_is_reached] and
                                  [b6_is_reached] say the rest
    - [b9_sharpened_row_is_inhabited]   the same scores at a beta of 5/4 in the place of 1

    Source: numerics/b6d_coefficients.v, b6d_underflow.v, b6d_log_softmax.v, b6d_computed_softmax.v. *)

From softcheck.numerics Require Import row tilted_row reduction b1_sum b2_element b5_logsumexp added_terms
  reached_bounds b6d_coefficients b6d_underflow b6d_log_softmax b6d_computed_softmax tree_heights moments.
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

(** ** A product that may lose 1/16 *)

Definition coarse : arithmetic := {|
  roundoff := / 16777216; exp_error := 2 * / 16777216; log_error := 4 * / 16777216; argument_unit := 0; argument_step := 0;
  sum_floor := 0; product_floor := / 16; exp_floor := 0; exp_cutoff := 8 |}.

Lemma coarse_sound : sound coarse.
Proof. unfold sound, slope; cbn. rewrite exp_0. repeat split; lra. Qed.

Lemma coarse_exact :
  0 <= unit coarse /\ computed_argument coarse 0 0 /\ computed_exp coarse 0 1 /\ (forall z, computed_sum coarse z z) /\
  forall z e, Rabs e <= / 16 -> computed_product coarse z (z + e).
Proof.
  pose proof (unit_nonneg coarse coarse_sound) as hl. pose proof (exp_unit_nonneg coarse coarse_sound) as hE.
  split; [exact hl|]. split; [exists 0, 0; rewrite Rabs_R0; cbn; repeat split; lra|].
  split.
  { exists 0, 0. rewrite !Rabs_R0. replace (- 0 + 0) with 0 by ring. rewrite exp_0. cbn -[exp_unit]. repeat split; lra. }
  split; [intros z; exists 0, 0; rewrite Rabs_R0, exp_0; cbn -[unit]; repeat split; lra|].
  intros z e be. exists 0, e. rewrite Rabs_R0, exp_0; cbn -[unit]; repeat split; lra.
Qed.

Lemma coarse_sum : sum_of_row coarse 0 0 level (1 + 1) 1 0.
Proof.
  destruct coarse_exact as [_ [argument [exponential [addition _]]]].
  assert (item : summed coarse [0] 0 1 0 0 0) by (apply summed_item with 0; try lra; [rewrite Rminus_0_r|]; easy).
  apply (sum_of_tree coarse 0 0 level 0 level _ 1 0 0); try apply level_maximum; [apply converted_same| |unfold size; cbn; lra|easy].
  now apply (summed_addition coarse [0] [0] 0 1 1 _ 0 0 0 0 0 0).
Qed.

Lemma coarse_element : computed_element coarse kept_format 0 0 0 (1 + 1) 0 (7 / 16).
Proof.
  destruct coarse_exact as [_ [argument [exponential [_ product]]]].
  exists 0, 1, (7 / 16). split; [rewrite !Rminus_0_r, Rabs_R0; lra|]. split; [|split].
  - apply numerator_direct with 0; easy || lra.
  - apply ratio_division. replace (7 / 16) with (1 / (1 + 1) + - / 16) by field. apply product. rewrite Rabs_Ropp, Rabs_right; lra.
  - exists 0, 0. cbn. rewrite Rabs_R0, exp_0. repeat split; lra.
Qed.

Lemma coarse_lost : lost_sum coarse 0 0 level 1 0 < 1.
Proof. unfold lost_sum, lost; cbn; lra. Qed.

Example b6d_underflow_is_inhabited :
  let s := 1 + 1 in let X := ln 16 in
  exists z y, sound coarse /\ sum_of_row coarse 0 0 level s 1 0 /\ lost_sum coarse 0 0 level 1 0 < 1 /\ 0 <= X /\
    exp (- X) <= product_floor coarse + exp_floor coarse /\ computed_element coarse kept_format 0 0 0 s 0 (7 / 16) /\
    Forall2 (lost_element_term coarse 0 0 s 0 X 0) level [z; z] /\ added coarse 0 0 [z; z] y 1 /\
    Forall2 (lost_term coarse 0 level (element_log coarse kept_format 0 0 level 1 0)
               (element_floor coarse kept_format 0 0 level 1 0) X 0) level [z; z].
Proof.
  cbv zeta. destruct coarse_exact as [unit0 [argument [exponential [addition product]]]]. set (y := ln (7 / 16)). set (z := 7 / 16 * y).
  assert (X0 : 0 <= ln 16) by (rewrite <- ln_1; apply ln_le; lra).
  pose proof coarse_lost as lost. pose proof coarse_element as element.
  assert (tiny : exp (- ln 16) <= product_floor coarse + exp_floor coarse) by (rewrite exp_Ropp, exp_ln; cbn; lra).
  assert (term : lost_element_term coarse 0 0 (1 + 1) 0 (ln 16) 0 0 z).
  { exists (7 / 16). split; [exact element|]. right. exists 0, 0, (7 / 16), y. rewrite Rabs_R0, exp_0.
    repeat (split; [easy || lra|]). split; [|split].
    - unfold y. rewrite Rabs_left1; [|rewrite <- ln_1; apply ln_le; lra]. rewrite <- ln_Rinv by lra. apply ln_le; lra.
    - unfold computed_log, y. rewrite Rminus_diag_eq, Rabs_R0 by easy. pose proof (Rabs_pos (ln (7 / 16))). cbn. lra.
    - unfold z. rewrite <- (Rplus_0_r (7 / 16 * y)) at 2. apply product. rewrite Rabs_R0. lra. }
  exists z, (z + z). split; [apply coarse_sound|]. split; [apply coarse_sum|]. split; [exact lost|]. split; [exact X0|].
  split; [exact tiny|]. split; [exact element|]. split; [repeat constructor; exact term|]. split.
  - apply (added_addition coarse 0 0 [z] [z] z z (z + z) 0 0); [| |apply addition];
      apply added_term; exists 0, 0; rewrite Rabs_R0, exp_0; repeat split; lra.
  - assert (inside : In 0 level) by now left.
    pose proof (element_is_lost_term coarse coarse_sound 0 0 level (1 + 1) 1 0 (ln 16) 0 coarse_sum lost 0 z inside term) as moved.
    repeat constructor; exact moved.
Qed.

Example b6d_log_softmax_is_inhabited :
  let s := 1 + 1 in let y := ln (coefficient level 0) in
  exists z total, sound coarse /\ sum_of_row coarse 0 0 level s 1 0 /\ lost_sum coarse 0 0 level 1 0 < 1 /\
    1 <= (1 - slope coarse) * 16 /\ exp (- ((1 - slope coarse) * 16)) <= exp_floor coarse + product_floor coarse /\
    Forall2 (element_logarithm_term coarse 0 0 level s 0 16 0 0) level [z; z] /\ added coarse 0 0 [z; z] total 1 /\
    Forall2 (logarithm_term coarse 0 level (element_log coarse kept_format 0 0 level 1 0) (slope coarse)
               (element_floor coarse kept_format 0 0 level 1 0) 16 0 0) level [z; z] /\
    far_coefficient 0 level (0 + exp_unit coarse) 0 (exp_floor coarse) 0 0 (exp (y + 0) + 0) /\
    exists w, Rabs w <= 2 * 0 + shift 0 level 0 + 0 * (0 - 0) /\
      coefficient (map (fun x => ln (coefficient level x)) level) y = coefficient level 0 * exp w.
Proof.
  cbv zeta. destruct coarse_exact as [unit0 [_ [_ [addition product]]]]. set (y := ln (coefficient level 0)). set (z := 7 / 16 * y).
  pose proof coarse_lost as lost. assert (none : 0 <= 0 /\ 0 <= 0) by lra. assert (inside : In 0 level) by now left.
  assert (flat : slope coarse = 0) by (unfold slope; cbn; rewrite exp_0; ring).
  assert (far : 1 <= (1 - slope coarse) * 16) by (rewrite flat; lra).
  assert (tiny : exp (- ((1 - slope coarse) * 16)) <= exp_floor coarse + product_floor coarse).
  { rewrite flat. replace (- ((1 - 0) * 16)) with (- (16)) by ring. rewrite exp_Ropp. pose proof (exp_above_tangent 16). cbn.
    rewrite Rplus_0_l. apply Rinv_le_contravar; lra. }
  assert (exact : forall x, In x level -> Rabs (ln (coefficient level x) - ln (coefficient level x)) <= 0 + 0 * (0 - x)).
  { intros x _. rewrite Rminus_diag_eq, Rabs_R0 by easy. lra. }
  assert (term : element_logarithm_term coarse 0 0 level (1 + 1) 0 16 0 0 0 z).
  { exists (7 / 16), y. split; [apply coarse_element|]. split; [lra|]. split; [now apply exact|].
    unfold z. rewrite <- (Rplus_0_r (7 / 16 * y)) at 2. apply product. rewrite Rabs_R0. lra. }
  exists z, (z + z). split; [apply coarse_sound|]. split; [apply coarse_sum|]. split; [exact lost|]. split; [exact far|].
  split; [exact tiny|]. split; [repeat constructor; exact term|]. split; [|split; [|split]].
  - apply (added_addition coarse 0 0 [z] [z] z z (z + z) 0 0); [| |apply addition];
      apply added_term; exists 0, 0; rewrite Rabs_R0, exp_0; repeat split; lra.
  - pose proof (element_is_logarithm_term coarse coarse_sound 0 0 level (1 + 1) 1 0 16 0 0 coarse_sum lost none far tiny 0 z inside term) as moved.
    repeat constructor; exact moved.
  - apply (b6d_of_powers 0 level 0 0 level_maximum coarse 0 y 0 0); [now apply exact| | |];
      rewrite Rabs_R0; [apply exp_unit_nonneg, coarse_sound|cbn; lra|cbn; lra].
  - apply (softmax_of_logarithms 0 level 0 0 level_maximum ltac:(lra) (fun x => ln (coefficient level x)) 0 inside exact).
Qed.

(** ** Logarithms that are off by 1/8, and their softmax *)

Definition off_logarithm : R := ln (coefficient level 0) + / 8.
Definition off_row : list (R * R) := [(0, off_logarithm); (0, off_logarithm)].

Example b6d_computed_softmax_is_inhabited :
  let y := off_logarithm in
  exists z, is_maximum 0 (map fst off_row) /\
    (forall q, In q off_row -> Rabs (snd q - ln (coefficient (map fst off_row) (fst q))) <= / 8 + 0 * (0 - fst q)) /\
    0 + slope coarse * (1 + 0) <= 0 < 1 /\ sum_of_row coarse 0 y (map snd off_row) (1 + 1) 1 0 /\
    moved_lost coarse off_row 0 (/ 8) 0 0 1 0 < 1 /\ 1 <= (1 - 0) * 16 /\
    exp (- ((1 - 0) * 16)) <= exp_floor coarse + product_floor coarse /\
    Forall2 (computed_softmax_term coarse 0 0 y (1 + 1) 0 16) off_row [z; z] /\ added coarse 0 0 [z; z] (z + z) 1.
Proof.
  cbv zeta. destruct coarse_exact as [unit0 [argument [exponential [addition product]]]]. set (y := off_logarithm). set (z := 7 / 16 * y).
  assert (flat : slope coarse = 0) by (unfold slope; cbn; rewrite exp_0; ring).
  exists z. split; [apply level_maximum|]. split; [|split; [rewrite flat; lra|split; [|split; [|split; [lra|split; [|split]]]]]].
  - intros q inq. change (map fst off_row) with level.
    assert (q = (0, y)) as -> by (destruct inq as [<-|[<-|[]]]; easy). cbn [fst snd]. unfold y, off_logarithm.
    replace (ln (coefficient level 0) + / 8 - ln (coefficient level 0)) with (/ 8) by ring. rewrite Rabs_right; lra.
  - assert (item : summed coarse [y] y 1 0 0 0) by (apply summed_item with 0; try lra; [replace (y - y) with 0 by ring|]; easy).
    assert (top : is_maximum y [y; y]) by (split; [now left|intros x [<-|[<-|[]]]; lra]).
    apply (sum_of_tree coarse 0 y [y; y] y [y; y] _ 1 0 0 top top (converted_same y _)); [|unfold size; cbn; lra|easy].
    now apply (summed_addition coarse [y] [y] y 1 1 _ 0 0 0 0 0 0).
  - unfold moved_lost, lost; cbn; lra.
  - replace (- ((1 - 0) * 16)) with (- (16)) by ring. rewrite exp_Ropp. pose proof (exp_above_tangent 16). cbn.
    rewrite Rplus_0_l. apply Rinv_le_contravar; lra.
  - assert (term : computed_softmax_term coarse 0 0 y (1 + 1) 0 16 (0, y) z).
    { exists (7 / 16). cbn [fst snd]. split; [|split; [lra|]].
      - exists 0, 1, (7 / 16). split; [replace (0 - (y - y)) with 0 by ring; rewrite Rabs_R0; lra|]. split; [|split].
        + apply numerator_direct with 0; easy || lra.
        + apply ratio_division. replace (7 / 16) with (1 / (1 + 1) + - / 16) by field. apply product. rewrite Rabs_Ropp, Rabs_right; lra.
        + exists 0, 0. cbn. rewrite Rabs_R0, exp_0. repeat split; lra.
      - unfold z. rewrite <- (Rplus_0_r (7 / 16 * y)) at 2. apply product. rewrite Rabs_R0. lra. }
    repeat constructor; exact term.
  - apply (added_addition coarse 0 0 [z] [z] z z (z + z) 0 0); [| |apply addition];
      apply added_term; exists 0, 0; rewrite Rabs_R0, exp_0; repeat split; lra.
Qed.

(** ** Trees of less than a roundoff hold of something.

    Source: numerics/tree_heights.v. *)

Definition light_sum : R := (1 + 1) * exp (/ 12 * l).

Lemma light_item : streamed_at single [0] 0 1 0 0 0 0.
Proof.
  apply streamed_at_item with 0; [lra|rewrite Rminus_0_r; apply argument_of_0| |].
  - pose proof (exp_of_0 0 ltac:(lra)) as exact. now rewrite Rmult_0_l, exp_0 in exact.
  - apply product_0.
Qed.

Lemma light_both : streamed_at single level 0 light_sum 0 (/ 12) 0 0.
Proof.
  pose proof units as [_ hl]. pose proof (Rabs_R0) as zero. assert (part : sum_within single (/ 12) (1 + 1) light_sum).
  { exists (/ 12 * l), 0. rewrite zero, Rabs_right by lra. cbn -[unit]. unfold light_sum. repeat split; lra. }
  assert (nothing : sum_within single (/ 12) (0 + 0) 0). { exists 0, 0. rewrite zero. cbn -[unit]. repeat split; lra. }
  pose proof (streamed_at_addition single [0] [0] 0 1 1 light_sum 0 0 0 (/ 12) 0 0 0 0 0 0 light_item light_item
    ltac:(lra) part nothing) as tree.
  rewrite Rmax_left, Rplus_0_r in tree by lra. exact tree.
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

(** ** The premises of B9 with the exact row's statistics hold of something.

    Source: wider_statistics.v, b9_widened.v, b9_widened_entropies.v. *)

From softcheck.numerics Require Import formula row b2_element b9_attention perturbed_scores reached_bounds reached_forms
  theorem_formulas wider_statistics b9_widened b9_widened_entropies.
From softcheck.numerics Require log_softmax_formulas.

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
