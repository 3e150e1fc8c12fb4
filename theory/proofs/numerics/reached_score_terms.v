(** * The premises of B9's bounds behind softcap, ALiBi and bias hold of something, and these are reached.

    Examples
    - [terms_are_reached]         a term that is stored, a slope, two terms and their addition
    - [biased_is_reached]         a score and a bias, one addition and another base
    - [attributed_is_inhabited]   all premises behind a softcap, ALiBi and a bias, each operation with its largest error;
                                  tanh passes on less than its argument's error, so that the bound is not reached
    - [b17_slope_is_inhabited]             a softcap of 2 and any score: tanh once more, and from the capped score; at a score
                                           of 0 the slope's bound is reached
    - [b17_capped_gradient_is_reached]     dS behind a slope of a half that is computed as three quarters, in either order
    - [split_score_is_reached]   the scale 4, a query and a key of one number each; all that may round does so upwards, and the score is
                                 stored too large as well

    As in reached_bounds.v: the kernel [single] errs as far as it may.

    Source: b9_score_terms.v, b9_score_terms.v. *)

From softcheck Require Import softmax attention_variants.
From softcheck.numerics Require Import added_terms b9_score_terms reached_bounds reached_losses b17_softcap score_error
  b17_sums b9_split_scale.
Local Open Scope R_scope.

Notation l := (unit single).

Example terms_are_reached :
  exists y z w v, sound single /\ 0 <= l /\ Rabs 1 <= 1 /\ Rabs (y - 1) <= / 2 /\ approximates l 0 y z /\
    Rabs (z - 1) = / 2 + (exp l - 1) * (1 + / 2) + 0 /\
    Rabs (2 * 3) <= 6 /\ approximates l (exp l * 0) (2 * 3) w /\ Rabs (w - 2 * 3) = (exp l - 1) * 6 + exp l * 0 /\
    0 <= 2 /\ combined single 2 [(1, / 2); (1, / 4)] v /\
    Rabs (v - totals [(1, / 2); (1, / 4)]) = after_additions single 2 (2 - 1) (errors [(1, / 2); (1, / 4)]).
Proof.
  pose proof units as [_ hl]. pose proof (exp_at_least_one l hl) as x1.
  exists (3 / 2), (3 / 2 * exp l), (2 * 3 * exp l), ((3 / 2 + 5 / 4) * exp l).
  split; [apply single_sound|]. split; [easy|]. split; [rewrite Rabs_right; lra|]. split; [rewrite Rabs_right; lra|].
  split; [now apply approximately|]. split; [rewrite Rabs_right; lra|]. split; [rewrite Rabs_right; lra|].
  split; [rewrite Rmult_0_r; now apply approximately|]. split; [rewrite Rabs_right; lra|]. split; [lra|].
  unfold totals, errors, sum; cbn [map fst snd fold_right]. split.
  - apply (combined_addition single 2 [(1, / 2)] [(1, / 4)] (3 / 2) (5 / 4)).
    + apply combined_term. rewrite Rabs_right; lra.
    + apply combined_term. rewrite Rabs_right; lra.
    + unfold totals, sum; cbn. rewrite Rabs_right; lra.
    + apply sum_up_by.
  - simpl after_additions. unfold after_addition; cbn -[unit]. rewrite Rabs_right; lra.
Qed.

Example biased_is_reached :
  exists y z x, sound single /\ (0 <= l /\ 0 <= l /\ 0 <= l) /\ Rabs (3 / 2 - 1) <= / 2 /\ approximates l 0 1 y /\
    computed_sum single (3 / 2 + y) z /\ approximates l 0 z x /\
    Rabs (x - (1 + 1)) = in_base l 0 (Rabs (1 + 1)) (after_addition single (Rabs (1 + 1)) (/ 2 + bias_error l 0 1)).
Proof.
  pose proof units as [_ hl]. pose proof (exp_at_least_one l hl) as x1. set (y := 1 * exp l). set (z := (3 / 2 + y) * exp l).
  exists y, z, (z * exp l). split; [apply single_sound|]. split; [easy|]. split; [rewrite Rabs_right; lra|].
  split; [now apply approximately|]. split; [apply sum_up_by|]. split; [now apply approximately|].
  unfold in_base, after_addition, bias_error; cbn -[unit]. rewrite (Rabs_right (1 + 1)), (Rabs_right 1) by lra.
  assert (z2 : 2 <= z) by (unfold z, y; nra). assert (z <= z * exp l) by (apply grown; lra).
  unfold z, y in *. rewrite Rabs_right; lra.
Qed.

Example attributed_is_inhabited :
  exists y1 y2 y3 z x, sound single /\ 0 < 1 /\ (0 <= 2 * l /\ 0 <= l /\ 0 <= l /\ 0 <= l /\ 0 <= 0) /\
    (0 <= l /\ 0 <= l /\ 0 <= l) /\ Rabs (3 / 2 - 1) <= / 2 /\ computed_softcap 1 (2 * l) l l l 0 (3 / 2) y1 /\
    Rabs (2 * 3) <= 6 /\ approximates l (exp l * 0) (2 * 3) y2 /\ approximates l 0 1 y3 /\
    combined single (Rabs (softcap 1 1) + 6 + Rabs 1)
      [(softcap 1 1, Rabs (y1 - softcap 1 1)); (2 * 3, Rabs (y2 - 2 * 3)); (1, Rabs (y3 - 1))] z /\
    approximates l 0 z x /\ x = (((tanh (3 / 2 / (1 * exp l) * exp (2 * l) + 0) * exp l * (1 * exp l) * exp l) + 2 * 3 * exp l) * exp l
                                 + 1 * exp l) * exp l * exp l.
Proof.
  pose proof units as [_ hl].
  set (y1 := tanh (3 / 2 / (1 * exp l) * exp (2 * l) + 0) * exp l * (1 * exp l) * exp l).
  set (y2 := 2 * 3 * exp l). set (y3 := 1 * exp l). set (z := ((y1 + y2) * exp l + y3) * exp l).
  exists y1, y2, y3, z, (z * exp l). split; [apply single_sound|]. split; [lra|]. split; [lra|]. split; [easy|].
  split; [rewrite Rabs_right; lra|]. split.
  { apply softcap_computed with l (2 * l) 0 (3 / 2 / (1 * exp l) * exp (2 * l) + 0)
      (tanh (3 / 2 / (1 * exp l) * exp (2 * l) + 0) * exp l);
      try (rewrite Rabs_right; lra); [easy|now apply approximately|now apply approximately]. }
  split; [rewrite Rabs_right; lra|]. split; [rewrite Rmult_0_r; now apply approximately|]. split; [now apply approximately|].
  split; [|split; [now apply approximately|easy]].
  pose proof (Rabs_pos (softcap 1 1)). rewrite (Rabs_right 1) by lra.
  apply (combined_addition single _ [(softcap 1 1, Rabs (y1 - softcap 1 1)); (2 * 3, Rabs (y2 - 2 * 3))] [(1, Rabs (y3 - 1))]
           ((y1 + y2) * exp l) y3); [|apply combined_term, Rle_refl| |apply sum_up_by].
  - apply (combined_addition single _ [(softcap 1 1, Rabs (y1 - softcap 1 1))] [(2 * 3, Rabs (y2 - 2 * 3))] y1 y2);
      [apply combined_term, Rle_refl|apply combined_term, Rle_refl| |apply sum_up_by].
    unfold totals, sum; cbn [map fst fold_right app]. eapply Rle_trans; [apply Rabs_triang|].
    rewrite (Rabs_right (2 * 3 + 0)); lra.
  - unfold totals, sum; cbn [map fst fold_right app]. eapply Rle_trans; [apply Rabs_triang|].
    rewrite (Rabs_right (2 * 3 + (1 + 0))); lra.
Qed.

(** ** The premises of b17_softcap hold of something, and its bounds are reached.

    Source: b17_softcap.v. *)

Example b17_slope_is_inhabited s :
  exists T y T' square z,
    sound single /\ 0 < 2 /\ (0 <= l /\ 0 <= l /\ 0 <= l /\ 0 <= 0) /\ Rabs l <= l /\ Rabs 0 <= 0 /\
    approximates l 0 (tanh (s / 2 * exp l + 0)) T /\ 0 <= l + l /\ 0 <= l /\ (2 * exp l = 2 * exp l \/ 2 * exp l = 2 * exp (- l)) /\
    approximates (l + l) 0 (tanh (s / 2)) T /\ approximates l 0 (T * (2 * exp l)) y /\ approximates l 0 (y / (2 * exp l)) T' /\
    (0 <= l + l + l + l /\ 0 <= 0) /\ Rabs (s - s) <= 0 /\ approximates (l + l + l + l) 0 (tanh (s / 2)) T' /\
    computed_product single (T' * T') square /\ computed_sum single (1 - square) z /\
    (s = 0 -> Rabs (z - (1 - tanh (s / 2) ^ 2)) = slope_error single 2 0 (l + l + l + l) (tanh (s / 2))
                                                   + slope_loss single (l + l + l + l) 0).
Proof.
  pose proof units as [_ hl]. pose proof (exp_at_least_one l hl) as x1.
  set (T := tanh (s / 2 * exp l + 0) * exp l). set (y := T * (2 * exp l) * exp l). set (T' := y / (2 * exp l) * exp l).
  set (square := T' * T' * exp l). exists T, y, T', square, ((1 - square) * exp l).
  assert (first : approximates l 0 (tanh (s / 2 * exp l + 0)) T) by now apply approximately.
  assert (again : approximates (l + l) ((exp l + 1) * 0) (tanh (s / 2)) T).
  { apply (tangent_again 2 l l l 0 ltac:(lra) s l 0); [rewrite Rabs_right; lra|rewrite Rabs_R0; lra|easy]. }
  rewrite Rmult_0_r in again.
  assert (product : approximates l 0 (T * (2 * exp l)) y) by now apply approximately.
  assert (quotient : approximates l 0 (y / (2 * exp l)) T') by now apply approximately.
  assert (behind : approximates (l + l + l + l) (exp (l + l) * (0 + exp l * (0 / 2)) + 0) (tanh (s / 2)) T').
  { apply (tangent_from_capped 2 l l l 0 ltac:(lra) ltac:(lra) s (l + l) l (2 * exp l) T y); try easy; [lra|now left]. }
  replace (exp (l + l) * (0 + exp l * (0 / 2)) + 0) with 0 in behind by field.
  split; [apply single_sound|]. split; [lra|]. split; [lra|]. split; [rewrite Rabs_right; lra|]. split; [rewrite Rabs_R0; lra|].
  split; [easy|]. split; [lra|]. split; [easy|]. split; [now left|]. split; [easy|]. split; [easy|]. split; [easy|].
  split; [lra|]. split; [rewrite Rminus_diag_eq, Rabs_R0; lra|]. split; [easy|]. split; [apply product_up|]. split; [apply sum_up_by|].
  intros ->. assert (zero : tanh (0 / 2) = 0) by (replace (0 / 2) with 0 by field; apply tanh_zero).
  assert (none : T = 0) by (unfold T; replace (0 / 2 * exp l + 0) with 0 by field; rewrite tanh_zero; ring).
  unfold slope_error, slope_loss, square_error, square_loss, square, T', y. rewrite none, zero, Rabs_R0. cbn -[unit].
  replace (0 * (2 * exp l) * exp l / (2 * exp l) * exp l) with 0 by (field; lra). rewrite Rabs_right; lra.
Qed.

Example b17_capped_gradient_is_reached :
  exists dS dS', sound single /\ 0 <= / 2 /\ (0 <= l /\ 0 <= 0 /\ 0 <= / 2 /\ 0 <= l /\ 0 <= 0) /\
    computed_capped_gradient single (/ 2) l 0 1 (-1) (/ 4) (/ 4) (/ 2) (/ 4) l 0 dS /\
    computed_capped_gradient single (/ 2) l 0 1 (-1) (/ 4) (/ 4) (/ 2) (/ 4) l 0 dS' /\
    Rabs (dS - / 2 * ((1 - -1) * / 2))
    = capped_error single (/ 2) l 1 (-1) (/ 4) (/ 4) (/ 2) (/ 4) l + capped_loss single (/ 2) l 0 1 (-1) (/ 4) (/ 4) (/ 2) (/ 4) l 0 /\
    dS' = dS.
Proof.
  pose proof units as [_ hl]. pose proof (exp_at_least_one l hl) as x1. set (d := (5 / 4 - - (5 / 4)) * exp l).
  set (y := / 2 * exp l * d * exp l). set (z := y * (3 / 4) * exp l). set (y' := d * (3 / 4) * exp l).
  exists (z * exp l), (/ 2 * exp l * y' * exp l * exp l).
  assert (near : approximates l (exp l * 0) (/ 2) (/ 2 * exp l)) by (rewrite Rmult_0_r; now apply approximately).
  assert (g_near : Rabs (5 / 4 - 1) <= / 4) by (rewrite Rabs_right; lra).
  assert (d_near : Rabs (- (5 / 4) - -1) <= / 4) by (rewrite Rabs_left1; lra).
  assert (s_near : Rabs (3 / 4 - / 2) <= / 4) by (rewrite Rabs_right; lra).
  split; [apply single_sound|]. split; [lra|]. split; [lra|]. split; [|split; [|split]].
  - apply slope_behind with (/ 2 * exp l) (5 / 4) (- (5 / 4)) (3 / 4) d y z;
      try easy; [apply sum_up_by|apply product_up|apply product_up|now apply approximately].
  - apply slope_first with (/ 2 * exp l) (5 / 4) (- (5 / 4)) (3 / 4) d y' (/ 2 * exp l * y' * exp l);
      try easy; [apply sum_up_by|apply product_up|apply product_up|now apply approximately].
  - unfold capped_error, capped_loss, capped_log; cbn -[unit]. replace (1 - -1) with 2 by ring. rewrite (Rabs_right 2) by lra.
    replace (l + 3 * l + l) with (l + l + l + l + l) by ring. unfold z, y, d.
    assert (value : / 2 * exp l * ((5 / 4 - - (5 / 4)) * exp l) * exp l * (3 / 4) * exp l * exp l = 15 / 16 * exp (l + l + l + l + l)).
    { rewrite !exp_plus. field. }
    pose proof (exp_at_least_one (l + l + l + l + l) ltac:(lra)). rewrite value, Rabs_right; lra.
  - unfold z, y, y'. ring.
Qed.

(** ** The error of a score whose scale is split is reached.

    Source: numerics/b9_split_scale.v. *)

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
