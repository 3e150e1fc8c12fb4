(** * B19: which items a kernel of min-p may keep or leave out, p_j >= min_p max p, that is D_j <= -ln(min_p).

    Main results, own = C + t D as in B18, level = -ln(min_p)
    - [b19_level]   an item that a kernel finds no larger than the level: level - D_j <= the bound level_bound, with what is
                    lost beside D_j; one that it finds no smaller: D_j - level is, with what is lost beside the level

    A kernel compares coefficients as they are stored, min_p times the largest one; exponentials with min_p; or a deviation
    with -ln(min_p).

    Source: docs/tolerances/top_p.md; TopPThreshold::level in numerics/rounding/rounding_top_p.cpp. *)

From softcheck.numerics Require Import row tilted_row reduction b1_sum b2_element constants b18_topk_choice.
Local Open Scope R_scope.

Section Level.
  Context (M : arithmetic) (out : output_format) (good : sound M) (good_out : sound_output out) (kappa m : R)
    (logits : list R) (s : R) (h j : nat) (hs : sum_of_row M kappa m logits s h j)
    (some : lost_sum M kappa m logits h j < 1).
  Notation t := (slope M).
  Notation lambda := (unit M).
  Notation S := (weight_sum m logits).
  Notation f := (element_floor M out kappa m logits h j).
  Notation whole := (element_log M out kappa m logits h j).
  Notation C := (own_constant M out kappa j).
  Notation own := (own M out kappa j).
  Context (min_p : R) (share : 0 < min_p <= 1).
  Notation level := (- ln min_p).

  (** The item's side and the level's; v is what min_p is off by as a number of the accumulator. *)
  Inductive level_compared (x : R) : R -> R -> Prop :=
  | level_of_coefficient p_max v p_j y :
      computed_element M out kappa m j s x p_j -> computed_element M out kappa m j s m p_max -> Rabs v <= lambda ->
      computed_product M (min_p * exp v * p_max) y -> level_compared x p_j y
  | level_of_exponential D v v_j :
      Rabs (D - (m - x)) <= kappa -> numerator M j D v_j -> Rabs v <= lambda -> level_compared x v_j (min_p * exp v)
  | level_of_deviation D v b :
      Rabs (D - (m - x)) <= kappa -> Rabs v <= lambda ->
      Rabs (b + ln (min_p * exp v)) <= log_error M * Rabs (ln (min_p * exp v)) -> level_compared x (- D) (- b).

  (** What may be lost beside an item at deviation D. *)
  Definition level_lost (D : R) : R := (2 * f + product_floor M) * exp whole * exp (ln S + D + (own D + 2 * lambda)).
  Definition level_bound (D lost : R) : R := C + own D + 2 * lambda + log_error M * (level + lambda) - ln (1 - lost).

  Let max : is_maximum m logits := row_maximum _ _ _ _ _ _ _ hs.
  Let S1 : 1 <= S := S_at_least_one m logits max.

  Local Ltac row_facts :=
    pose proof (slope_nonneg M good) as ft; pose proof (unit_nonneg M good) as fl; assert (ft4 : t <= / 4) by apply good;
    assert (fm : 0 <= product_floor M <= / 16) by (unfold sound in good; lra);
    assert (fe : 0 <= log_error M) by (unfold sound in good; lra);
    pose proof (floor_above M out good good_out kappa m logits s h j hs some) as [above [ff smaller]];
    pose proof (own_nonneg M out good good_out kappa m logits s h j hs some 0 (Rle_refl 0)) as [fo _];
    pose proof (shared_above M out good good_out kappa m logits s h j hs some) as [gs sS].
  Local Ltac facts :=
    row_facts; assert (lev : 0 <= level) by (pose proof (ln_below_tangent min_p ltac:(lra)); lra);
    assert (el : 0 <= log_error M * (level + lambda)) by (apply Rmult_le_pos; lra).

  Lemma level_is : exp (- level) = min_p.
  Proof using share. rewrite Ropp_involutive. apply exp_ln. lra. Qed.

  (** a = g e^-D, each within its log error and a loss, against g min_p. *)
  Lemma powers_of_level Da Db wa wb g b :
    0 < g -> / g <= S * exp whole -> 0 <= b -> 2 * b <= (2 * f + product_floor M) * exp (2 * lambda) -> 0 <= Da ->
    level_lost Da < 1 -> wa <= own Da ->
    g * exp (- (Da + wa)) - b <= g * exp (wb - Db) + b -> Db - Da <= wa + wb - ln (1 - level_lost Da).
  Proof using good good_out hs some S1 share.
    intros hg inverse hb small hD below narrow cmp. facts.
    apply (compared_powers Da Db wa wb g b (level_lost Da) hg hb); [|easy|easy]. unfold level_lost.
    rewrite (Rplus_assoc (ln S)), (exp_plus (ln S)), exp_ln by lra.
    replace ((2 * f + product_floor M) * exp whole * (S * exp (Da + (own Da + 2 * lambda))))
      with ((2 * f + product_floor M) * exp (2 * lambda) * (S * exp whole) * exp (Da + own Da)) by (rewrite !exp_plus; ring).
    apply Rmult_le_compat.
    - assert (0 <= b / g) by monotone. lra.
    - left. monotone.
    - unfold Rdiv. replace (2 * (b * / g)) with (2 * b * / g) by ring. monotone.
    - monotone.
  Qed.
  Lemma lost_nonneg D : 0 <= level_lost D.
  Proof using good good_out hs some. row_facts. unfold level_lost. monotone. Qed.

  (** What a stored coefficient, or an exponential, is. *)
  Let is_power (g D b v : R) : Prop := g * exp (- (D + own D)) - b <= v <= g * exp (own D - D) + b.

  Lemma coefficient_power x q : In x logits -> computed_element M out kappa m j s x q -> is_power (/ s) (m - x) f q.
  Proof using good good_out hs some S1.
    intros inx elem. row_facts.
    destruct (shared_error M out good good_out kappa m logits s h j hs some x q inx elem) as [w [e [bw [be ->]]]].
    assert (bw' : Rabs w <= own (m - x)).
    { assert (0 <= rescale_unit M j) by (apply Rmult_le_pos; [monotone|pose proof (exp_unit_nonneg M good); lra]).
      unfold b18_topk_choice.own, own_constant. lra. }
    apply abs_between in bw'. apply abs_between in be. unfold is_power, Rdiv.
    replace (- (m - x + own (m - x))) with (- (m - x) + - own (m - x)) by ring.
    replace (own (m - x) - (m - x)) with (- (m - x) + own (m - x)) by ring. rewrite !exp_plus.
    assert (a1 : exp (- (m - x)) * exp (- own (m - x)) <= exp (- (m - x)) * exp w) by monotone.
    assert (a2 : exp (- (m - x)) * exp w <= exp (- (m - x)) * exp (own (m - x))) by monotone.
    apply (Rmult_le_compat_l (/ s)) in a1; [|lra]. apply (Rmult_le_compat_l (/ s)) in a2; [|lra]. split; lra.
  Qed.

  Lemma exponential_power D x v :
    In x logits -> Rabs (D - (m - x)) <= kappa -> numerator M j D v -> is_power 1 (m - x) f v.
  Proof using good good_out hs some S1.
    intros inx close num. row_facts.
    destruct (numerator_error M good kappa m logits s h j hs D x v close num) as [w [e [bw [be ->]]]].
    assert (bw' : Rabs w <= own (m - x)).
    { assert (0 <= rescale_unit M j) by (apply Rmult_le_pos; [monotone|pose proof (exp_unit_nonneg M good); lra]).
      assert (0 <= ratio_log M out) by (destruct good_out; unfold ratio_log, division_roundings; lra).
      unfold b18_topk_choice.own, own_constant. lra. }
    apply abs_between in bw'. apply abs_between in be. unfold is_power.
    replace (- (m - x + own (m - x))) with (- (m - x) + - own (m - x)) by ring.
    replace (own (m - x) - (m - x)) with (- (m - x) + own (m - x)) by ring. rewrite !exp_plus.
    assert (a1 : exp (- (m - x)) * exp (- own (m - x)) <= exp (- (m - x)) * exp w) by monotone.
    assert (a2 : exp (- (m - x)) * exp w <= exp (- (m - x)) * exp (own (m - x))) by monotone. split; lra.
  Qed.

  (** The level g min_p of a largest one that errs itself, read and multiplied: both sides. *)
  Lemma level_sides g b v e q y :
    0 < g -> 0 <= b -> b <= f -> g * exp (- C) - b <= q <= g * exp C + b -> Rabs v <= 2 * lambda -> Rabs e <= product_floor M ->
    y = min_p * q * exp v + e ->
    y <= g * exp (C + 2 * lambda - level) + (b + product_floor M) * exp (2 * lambda) /\
    g * exp (- (level + C)) - b - product_floor M * exp (2 * lambda) <= y * exp (- v).
  Proof using good good_out hs some S1 share.
    intros hg hb bf [low up] bv be ->. facts. apply abs_between in bv. apply abs_between in be.
    assert (E1 : 1 <= exp (2 * lambda)) by monotone. assert (ev : exp v <= exp (2 * lambda)) by monotone.
    assert (ev' : exp (- v) <= exp (2 * lambda)) by monotone. pose proof (exp_pos v). pose proof (exp_pos (- v)).
    assert (inv : exp v * exp (- v) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    assert (gC : 0 <= g * exp C) by monotone. split.
    - replace (C + 2 * lambda - level) with (2 * lambda + C + - level) by ring. rewrite !exp_plus, level_is.
      assert (a1 : min_p * q <= min_p * (g * exp C + b)) by monotone.
      assert (a2 : min_p * q * exp v <= min_p * (g * exp C + b) * exp v) by monotone.
      assert (a3 : min_p * (g * exp C + b) * exp v <= min_p * (g * exp C + b) * exp (2 * lambda)) by monotone.
      assert (a4 : min_p * (b * exp (2 * lambda)) <= 1 * (b * exp (2 * lambda))) by monotone.
      assert (a5 : product_floor M * 1 <= product_floor M * exp (2 * lambda)) by monotone. lra.
    - replace (- (level + C)) with (- level + - C) by ring. rewrite exp_plus, level_is.
      replace ((min_p * q * exp v + e) * exp (- v)) with (min_p * q * (exp v * exp (- v)) + e * exp (- v)) by ring.
      rewrite inv, Rmult_1_r. assert (a1 : min_p * (g * exp (- C) - b) <= min_p * q) by monotone.
      assert (a2 : min_p * b <= 1 * b) by monotone.
      assert (a3 : - (product_floor M * exp (2 * lambda)) <= e * exp (- v)).
      { assert (product_floor M * exp (- v) <= product_floor M * exp (2 * lambda)) by monotone.
        assert (- product_floor M * exp (- v) <= e * exp (- v)) by monotone. lra. }
      lra.
  Qed.

  Lemma own_at D : 0 <= D -> C <= own D.
  Proof using good good_out hs some. intros hD. now apply (own_nonneg M out good good_out kappa m logits s h j hs some D hD). Qed.

  (** The level and an item, both as powers. *)
  Lemma compared_with_level g D b q v e y p :
    0 < g -> / g <= S * exp whole -> 0 <= b -> b <= f -> 0 <= D -> g * exp (- C) - b <= q <= g * exp C + b -> is_power g D b p ->
    Rabs v <= 2 * lambda -> Rabs e <= product_floor M -> y = min_p * q * exp v + e ->
    (p <= y -> level_lost D < 1 -> level - D <= C + own D + 2 * lambda - ln (1 - level_lost D)) /\
    (y <= p -> level_lost level < 1 -> D - level <= C + own D + 2 * lambda - ln (1 - level_lost level)).
  Proof using good good_out hs some S1 share.
    intros hg inverse hb bf hD top [low up] bv be eq. facts.
    destruct (level_sides g b v e q y hg hb bf top bv be eq) as [yu yl]. assert (E1 : 1 <= exp (2 * lambda)) by monotone.
    assert (two : 2 * ((b + (b + product_floor M) * exp (2 * lambda)) / 2) <= (2 * f + product_floor M) * exp (2 * lambda)).
    { assert (b * 1 <= b * exp (2 * lambda)) by monotone.
      assert ((2 * b) * exp (2 * lambda) <= (2 * f) * exp (2 * lambda)) by monotone. lra. }
    assert (pb : 0 <= (b + product_floor M) * exp (2 * lambda)) by monotone.
    set (B := (b + (b + product_floor M) * exp (2 * lambda)) / 2) in *. assert (B0 : 0 <= B) by (unfold B; lra).
    split; intros cmp below.
    - pose proof (powers_of_level D level (own D) (C + 2 * lambda) g B hg inverse B0 two hD below (Rle_refl _)) as bound.
      assert (cmp2 : g * exp (- (D + own D)) - B <= g * exp (C + 2 * lambda - level) + B) by (unfold B; lra).
      specialize (bound cmp2). lra.
    - pose proof (powers_of_level level D C (own D + 2 * lambda) g B hg inverse B0 two lev below (own_at level lev)) as bound.
      assert (py : y * exp (- v) <= (g * exp (own D - D) + b) * exp (2 * lambda)).
      { apply abs_between in bv. assert (ev : exp (- v) <= exp (2 * lambda)) by monotone. pose proof (exp_pos (- v)).
        assert (0 <= g * exp (own D - D) + b)
          by (assert (0 <= g * exp (own D - D)) by (apply Rmult_le_pos; [lra|monotone]); lra).
        apply Rle_trans with ((g * exp (own D - D) + b) * exp (- v)); [monotone|monotone]. }
      assert (cmp2 : g * exp (- (level + C)) - B <= g * exp (own D + 2 * lambda - D) + B).
      { replace (own D + 2 * lambda - D) with (own D - D + 2 * lambda) by ring. rewrite (exp_plus (own D - D)). unfold B. lra. }
      specialize (bound cmp2). lra.
  Qed.

  Theorem b19_level x item_side level_side :
    In x logits -> level_compared x item_side level_side ->
    (item_side <= level_side -> level_lost (m - x) < 1 -> level - (m - x) <= level_bound (m - x) (level_lost (m - x))) /\
    (level_side <= item_side -> level_lost level < 1 -> (m - x) - level <= level_bound (m - x) (level_lost level)).
  Proof using good good_out hs some S1 share.
    intros inx form. facts. pose proof (proj2 max x inx) as hx. assert (hD : 0 <= m - x) by lra. unfold level_bound.
    pose proof (own_at (m - x) hD) as ho.
    destruct form as [p_max v p_j y elem elem_max bv [t0 [e [bt [be eq]]]]|D v v_j close num bv|D v b close bv log].
    - pose proof (coefficient_power x p_j inx elem) as item.
      pose proof (coefficient_power m p_max (proj1 max) elem_max) as top.
      assert (own0 : own 0 = C) by (unfold b18_topk_choice.own; ring). assert (at0 : m - m = 0) by ring.
      unfold is_power in top. rewrite at0, own0, Rplus_0_l, Rminus_0_r in top. apply abs_between in bv.
      apply abs_between in bt.
      destruct (compared_with_level (/ s) (m - x) f p_max (v + t0) e y p_j gs ltac:(now rewrite Rinv_inv) ff
        (Rle_refl f) hD top item ltac:(apply Rabs_le; lra) be ltac:(rewrite eq, exp_plus; ring)) as [left_out kept].
      split; intros cmp below; [specialize (left_out cmp below)|specialize (kept cmp below)]; lra.
    - pose proof (exponential_power D x v_j inx close num) as item. assert (one : / 1 <= S * exp whole).
      { rewrite Rinv_1. apply one_le_product; [easy|]. apply exp_at_least_one.
        apply (element_log_nonneg M out good good_out kappa m logits s h j hs some). }
      assert (top : 1 * exp (- C) - f <= 1 <= 1 * exp C + f).
      { pose proof (exp_at_least_one C ltac:(lra)). pose proof (exp_at_most_one (- C) ltac:(lra)). lra. }
      apply abs_between in bv.
      destruct (compared_with_level 1 (m - x) f 1 v 0 (min_p * exp v) v_j ltac:(lra) one ff (Rle_refl f) hD top item
                  ltac:(apply Rabs_le; lra) ltac:(rewrite Rabs_R0; lra) ltac:(ring)) as [left_out kept].
      split; intros cmp below; [specialize (left_out cmp below)|specialize (kept cmp below)]; lra.
    - apply abs_between in close. apply abs_between in bv.
      assert (ln_is : ln (min_p * exp v) = ln min_p + v) by (rewrite ln_mult, ln_exp; [easy|lra|monotone]).
      rewrite ln_is in log. assert (size_ln : Rabs (ln min_p + v) <= level + lambda) by (apply Rabs_le; lra).
      assert (el2 : log_error M * Rabs (ln min_p + v) <= log_error M * (level + lambda)) by monotone.
      apply abs_between in log. assert (fk : 0 <= kappa <= C).
      { pose proof (argument_floor_above M good kappa m logits s h j hs) as fa.
        pose proof (proj1 (proj2 (sum_between M good kappa m logits s h j hs))) as k0.
        assert (0 <= argument_step M) by (unfold sound in good; lra). assert (0 <= t * kappa) by monotone.
        assert (0 <= ratio_log M out) by (destruct good_out; unfold ratio_log, division_roundings; lra).
        assert (0 <= rescale_unit M j) by (apply Rmult_le_pos; [monotone|pose proof (exp_unit_nonneg M good); lra]).
        pose proof (exp_unit_nonneg M good). unfold own_constant, numerator_log, when_rescaled. destruct j; lra. }
      split; intros cmp below.
      + pose proof (lost_nonneg (m - x)). pose proof (ln_below_tangent (1 - level_lost (m - x)) ltac:(lra)). lra.
      + pose proof (lost_nonneg level). pose proof (ln_below_tangent (1 - level_lost level) ltac:(lra)). lra.
  Qed.
End Level.
