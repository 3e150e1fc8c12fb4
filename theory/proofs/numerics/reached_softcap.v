(** * The premises of b17_softcap hold of something, and its bounds are reached.

    As in reached_bounds.v, the kernel [single] errs as far as it may.

    Examples
    - [b17_slope_is_inhabited]             a softcap of 2 and any score: tanh once more, and from the capped score; at a score
                                           of 0 the slope's bound is reached
    - [b17_capped_gradient_is_reached]     dS behind a slope of a half that is computed as three quarters, in either order

    Source: b17_softcap.v. *)

From softcheck Require Import attention_variants.
From softcheck.numerics Require Import added_terms b9_softcap b17_score_gradient b17_softcap reached_bounds reached_losses.
Local Open Scope R_scope.

Notation l := (unit single).

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
