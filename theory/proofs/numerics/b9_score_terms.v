(** * B9 behind softcap, ALiBi and bias: terms that err by themselves, added to a score in any order; a sink.

    Main results
    - [stored_term]        a number within e of x, |x| <= size, read, stored or brought to another base: e + (e^a - 1) (size + e) + l
    - [slope_term]         slope |p - j| or slope j from a rounded slope and distance: (e^a - 1) reach + e^a l, reach no less
    - [added_to_score]     k + 1 terms within e_i of their values, added in any order, no exact partial sum beyond size:
                           E -> E + (e^lambda - 1) (size + E) + omega_a, k times from the sum of e_i
    - [b9_attributed]      a score behind a softcap, ALiBi and a bias, and in another base: the three terms, two additions of no
                           more than |capped| + reach + |bias|, the base
    - [b9_biased]          a score and a bias alone: one addition, of x itself
    - [tanh_scaled]   tanh (a e^t) = tanh a e^w, w between 0 and t: a log error of the argument is at most that of the result
    - [b9_softcap]    |x_hat - x| <= e + (e^(lambda_tanh + k) - 1) (|x| + e) + e^(lambda_tanh + k) 3 l (1 + c), s within e,
                      k the log errors of the argument, of c as it is held and of the product; each of the three loses l

    Masks, causality and windows round nothing. Source: docs/tolerances/attention_attributes.md; attributed_score_error and
    sink_error in numerics/rounding/rounding_score_terms.cpp. *)

From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax attention_variants.
From softcheck.numerics Require Import score_error added_terms element_threshold.
Local Open Scope R_scope.

(** ** B9 behind a softcap: x = c tanh (s / c) of a score s that errs.

    Source: docs/tolerances/attention_attributes.md, "Softcap"; capped_error in numerics/rounding/rounding_score_terms.cpp, where
    k = 3 lambda (a reciprocal of c and its product, the product with c), 4 lambda where c is rounded, 2 lambda more in another
    base. *)

(** ** tanh on a logarithmic scale *)

Lemma sinh_above x : 0 <= x -> 2 * x <= exp x - exp (- x).
Proof.
  intros hx. enough (0 - 0 <= (exp x - exp (- x)) - 2 * x) by lra.
  replace (0 - 0) with ((exp 0 - exp (- 0)) - 2 * 0) by (rewrite Ropp_0, exp_0; ring).
  apply (growing (fun y => exp y - exp (- y) - 2 * y) (fun y => exp y + exp (- y) - 2)); [easy| |].
  - intros y _. auto_derive; [easy|]. ring.
  - intros y _. pose proof (exp_down_up y). lra.
Qed.

(** tanh is concave where its argument is positive. *)
Lemma tanh_multiple a r : 0 <= a -> 1 <= r -> tanh a <= tanh (r * a) <= r * tanh a.
Proof.
  intros ha hr. split; [apply tanh_le; nra|].
  enough (1 * tanh a - tanh (1 * a) <= r * tanh a - tanh (r * a)) by (rewrite !Rmult_1_l in *; lra). set (c := tanh a).
  assert (base : forall x, tanh (x * a) = 1 - 2 / (exp (2 * (x * a)) + 1)) by (intros; apply tanh_ratio). rewrite !base.
  apply (growing (fun x => x * c - (1 - 2 / (exp (2 * (x * a)) + 1)))
           (fun x => c - a * (4 * exp (2 * (x * a)) / (exp (2 * (x * a)) + 1) ^ 2))); [easy| |].
  - intros x _. pose proof (exp_pos (2 * (x * a))). auto_derive; [lra|]. field. lra.
  - intros x hx. unfold c. rewrite tanh_ratio. set (E0 := exp (2 * a)). set (E := exp (2 * (x * a))).
    assert (E1 : 1 <= E0) by (apply exp_at_least_one; lra). assert (EE : E0 <= E) by (apply exp_le; nra).
    pose proof (sinh_above (2 * a) ltac:(lra)) as steep. rewrite exp_Ropp in steep. fold E0 in steep.
    assert (slope : a * (4 * E0) <= (E0 - 1) * (E0 + 1)).
    { assert (E0 * (2 * (2 * a)) <= E0 * (E0 - / E0)) by monotone.
      replace (E0 * (E0 - / E0)) with ((E0 - 1) * (E0 + 1)) in * by (field; lra). lra. }
    assert (falls : 4 * E / (E + 1) ^ 2 <= 4 * E0 / (E0 + 1) ^ 2).
    { assert (p0 : 0 < (E0 + 1) ^ 2) by (apply pow_lt; lra). assert (p1 : 0 < (E + 1) ^ 2) by (apply pow_lt; lra).
      apply Rmult_le_reg_r with ((E + 1) ^ 2); [easy|].
      replace (4 * E / (E + 1) ^ 2 * (E + 1) ^ 2) with (4 * E) by (field; lra).
      apply Rmult_le_reg_r with ((E0 + 1) ^ 2); [easy|].
      replace (4 * E0 / (E0 + 1) ^ 2 * (E + 1) ^ 2 * (E0 + 1) ^ 2) with (4 * E0 * (E + 1) ^ 2) by (field; lra).
      assert (0 <= (E - E0) * (E * E0 - 1)) by (apply Rmult_le_pos; nra). lra. }
    assert (tangent : a * (4 * E0 / (E0 + 1) ^ 2) <= 1 - 2 / (E0 + 1)).
    { assert (p0 : 0 < (E0 + 1) ^ 2) by (apply pow_lt; lra). apply Rmult_le_reg_r with ((E0 + 1) ^ 2); [easy|].
      replace (a * (4 * E0 / (E0 + 1) ^ 2) * (E0 + 1) ^ 2) with (a * (4 * E0)) by (field; lra).
      replace ((1 - 2 / (E0 + 1)) * (E0 + 1) ^ 2) with ((E0 - 1) * (E0 + 1)) by (field; lra). easy. }
    assert (a * (4 * E / (E + 1) ^ 2) <= a * (4 * E0 / (E0 + 1) ^ 2)) by monotone. lra.
Qed.

Lemma tanh_pos a : 0 < a -> 0 < tanh a.
Proof.
  intros pos. rewrite tanh_ratio. assert (1 < exp (2 * a)) by (rewrite <- exp_0; apply exp_increasing; lra).
  assert (2 / (exp (2 * a) + 1) < 1); [|lra]. apply Rmult_lt_reg_r with (exp (2 * a) + 1); [lra|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

Theorem tanh_scaled a t : exists w, (0 <= w <= t \/ t <= w <= 0) /\ tanh (a * exp t) = tanh a * exp w.
Proof.
  assert (up : forall a t, 0 < a -> 0 <= t -> exists w, 0 <= w <= t /\ tanh (a * exp t) = tanh a * exp w).
  { clear. intros a t pos ht. pose proof (exp_at_least_one t ht) as r1.
    pose proof (tanh_multiple a (exp t) ltac:(lra) r1) as [low high]. rewrite (Rmult_comm (exp t) a) in low, high.
    pose proof (tanh_pos a pos) as p. assert (q0 : 0 < tanh (a * exp t)) by monotone.
    exists (ln (tanh (a * exp t) / tanh a)). assert (d0 : 0 < tanh (a * exp t) / tanh a) by monotone. split.
    - assert (1 <= tanh (a * exp t) / tanh a <= exp t).
      { split; apply Rmult_le_reg_r with (tanh a); try lra; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. }
      pose proof (ln_le 1 (tanh (a * exp t) / tanh a) ltac:(lra) ltac:(lra)) as l1. rewrite ln_1 in l1.
      pose proof (ln_le (tanh (a * exp t) / tanh a) (exp t) ltac:(lra) ltac:(lra)) as l2. rewrite ln_exp in l2. lra.
    - rewrite exp_ln by easy. field. lra. }
  assert (positive : forall a t, 0 < a -> exists w, (0 <= w <= t \/ t <= w <= 0) /\ tanh (a * exp t) = tanh a * exp w).
  { clear a t. intros a t pos. destruct (Rle_dec 0 t) as [ht|ht].
    - destruct (up a t pos ht) as [w [range eq]]. exists w. split; [now left|easy].
    - destruct (up (a * exp t) (- t)) as [w [range eq]]; [apply Rmult_lt_0_compat; [easy|monotone]|lra|].
      rewrite Rmult_assoc, <- exp_plus, Rplus_opp_r, exp_0, Rmult_1_r in eq. exists (- w). split; [right; lra|].
      rewrite eq, Rmult_assoc, <- exp_plus, Rplus_opp_r, exp_0. ring. }
  destruct (Rtotal_order a 0) as [neg|[->|pos]].
  - destruct (positive (- a) t ltac:(lra)) as [w [range eq]]. exists w. split; [easy|].
    replace (- a * exp t) with (- (a * exp t)) in eq by ring. rewrite !tanh_opp in eq. lra.
  - exists 0. split; [lra|]. rewrite Rmult_0_l, tanh_zero. ring.
  - now apply positive.
Qed.

Lemma tanh_below_line x : 0 <= x -> tanh x <= x.
Proof.
  intros hx. rewrite tanh_ratio. pose proof (sinh_above x hx) as steep. rewrite exp_Ropp in steep. pose proof (exp_pos x).
  set (y := exp x) in *. replace (exp (2 * x)) with (y * y) by (unfold y; rewrite <- exp_plus; f_equal; ring).
  pose proof (exp_at_least_one x hx) as y1. fold y in y1.
  (* (y^2 - 1) / (y^2 + 1) <= (y - 1/y) / 2 is not above x: by growth instead *)
  enough (grown : 0 * (0 * 0 + 1) - (1 - 1) <= x * (y * y + 1) - (y * y - 1)).
  { apply Rmult_le_reg_r with (y * y + 1); [nra|].
    replace ((1 - 2 / (y * y + 1)) * (y * y + 1)) with (y * y - 1) by (field; nra). lra. }
  replace (0 * (0 * 0 + 1) - (1 - 1)) with (0 * (exp (2 * 0) + 1) - (exp (2 * 0) - 1)) by (rewrite Rmult_0_r, exp_0; ring).
  replace (y * y) with (exp (2 * x)) by (unfold y; rewrite <- exp_plus; f_equal; ring).
  apply (growing (fun z => z * (exp (2 * z) + 1) - (exp (2 * z) - 1)) (fun z => 1 + (2 * z - 1) * exp (2 * z))); [easy| |].
  - intros z _. auto_derive; [easy|]. ring.
  - intros z hz. pose proof (exp_above_tangent (- (2 * z))) as tangent. rewrite exp_Ropp in tangent.
    pose proof (exp_pos (2 * z)). assert ((1 - 2 * z) * exp (2 * z) <= / exp (2 * z) * exp (2 * z)) by monotone.
    rewrite Rinv_l in * by lra. lra.
Qed.

(** Slope at most 1. *)
Lemma softcap_contracts c x y : 0 < c -> Rabs (softcap c x - softcap c y) <= Rabs (x - y).
Proof.
  intros pos. eapply Rle_trans; [now apply softcap_spread|]. unfold softcap. pose proof (Rabs_pos (x - y)).
  assert (tanh (Rabs (x - y) / 2 / c) <= Rabs (x - y) / 2 / c). { apply tanh_below_line. unfold Rdiv. monotone. }
  assert (c * tanh (Rabs (x - y) / 2 / c) <= c * (Rabs (x - y) / 2 / c)) by monotone.
  replace (c * (Rabs (x - y) / 2 / c)) with (Rabs (x - y) / 2) in * by (field; lra). lra.
Qed.

Section Softcap.
  Context (c e alpha gamma lambda_tanh beta l : R) (positive : 0 < c)
    (errors : 0 <= alpha /\ 0 <= gamma /\ 0 <= lambda_tanh /\ 0 <= beta /\ 0 <= l).

  (** alpha: s / c as a quotient, or a reciprocal and a product; gamma: c as it is held; beta: the product, and the base. *)
  Inductive computed_softcap (s' : R) : R -> Prop :=
  | softcap_computed t0 t1 e1 a T y :
      Rabs t0 <= gamma -> Rabs t1 <= alpha -> Rabs e1 <= l -> a = s' / (c * exp t0) * exp t1 + e1 ->
      approximates lambda_tanh l (tanh a) T -> approximates beta l (T * (c * exp t0)) y -> computed_softcap s' y.

  Definition softcap_log : R := lambda_tanh + (alpha + gamma + beta).
  Definition softcap_error (capped : R) : R :=
    e + (exp softcap_log - 1) * (capped + e) + exp softcap_log * (3 * l) * (1 + c).

  Theorem b9_softcap s s' y :
    Rabs (s' - s) <= e -> computed_softcap s' y -> Rabs (y - softcap c s) <= softcap_error (Rabs (softcap c s)).
  Proof using positive errors.
    intros close [t0 t1 e1 a T y' b0 b1 c1 -> [t2 [e2 [b2 [c2 ->]]]] [t3 [e3 [b3 [c3 ->]]]]].
    destruct errors as [ha [hg [ht [hb hl]]]]. set (a0 := s' / (c * exp t0) * exp t1). pose proof (exp_pos t0).
    assert (argument : a0 = s' / c * exp (t1 + - t0)). { unfold a0. rewrite exp_plus, exp_Ropp. field. lra. }
    destruct (tanh_scaled (s' / c) (t1 + - t0)) as [w [between eqw]]. rewrite <- argument in eqw.
    apply abs_between in b0. apply abs_between in b1. apply abs_between in b2. apply abs_between in b3.
    set (d := tanh (a0 + e1) - tanh a0). assert (moved : Rabs d <= l).
    { unfold d. pose proof (softcap_contracts 1 (a0 + e1) a0 ltac:(lra)) as near. unfold softcap in near.
      rewrite !Rmult_1_l, !Rdiv_1 in near. replace (a0 + e1 - a0) with e1 in near by ring. lra. }
    set (X := softcap c s'). assert (hX : Rabs (X - softcap c s) <= e).
    { eapply Rle_trans; [now apply softcap_contracts|easy]. } assert (size : Rabs X <= Rabs (softcap c s) + e).
    { replace X with (softcap c s + (X - softcap c s)) by ring. triangle. lra. } set (K := softcap_log).
    assert (hK : K = lambda_tanh + (alpha + gamma + beta)) by reflexivity.
    replace ((tanh (a0 + e1) * exp t2 + e2) * (c * exp t0) * exp t3 + e3 - softcap c s)
      with ((X - softcap c s) + X * (exp (w + t0 + t2 + t3) - 1)
            + (c * (d * exp (t0 + t2 + t3)) + c * (e2 * exp (t0 + t3)) + e3)).
    2:{ replace (tanh (a0 + e1)) with (tanh (s' / c) * exp w + d) by (unfold d; rewrite eqw; ring). unfold X, softcap.
        rewrite !exp_plus. ring. }
    triangle. unfold softcap_error. fold K. apply Rplus_le_compat.
    - triangle. apply Rplus_le_compat; [easy|]. rewrite Rabs_mult, Rmult_comm.
      pose proof (expm1_abs (w + t0 + t2 + t3) K ltac:(apply Rabs_le; lra)).
      apply Rmult_le_compat; try apply Rabs_pos; easy.
    - pose proof (exp_at_least_one K ltac:(lra)) as K1.
      assert (up : forall v x, Rabs v <= l -> x <= K -> Rabs (c * (v * exp x)) <= exp K * l * c).
      { intros v x hv hx.
        rewrite !Rabs_mult, (Rabs_right c), (Rabs_right (exp x)) by (try (left; apply exp_pos); lra).
        replace (exp K * l * c) with (c * (l * exp K)) by ring. monotone. }
      pose proof (up d (t0 + t2 + t3) moved ltac:(lra)). pose proof (up e2 (t0 + t3) c2 ltac:(lra)). triangle.
      eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|]. assert (0 <= exp K * l) by monotone.
      assert (0 <= exp K * l * c) by monotone. assert (1 * l <= exp K * l) by monotone. lra.
  Qed.
End Softcap.

(** With e = 0 of a number that is given: a bias, a sink. *)
Theorem stored_term a l e size x y z :
  0 <= a -> Rabs x <= size -> Rabs (y - x) <= e -> approximates a l y z ->
  Rabs (z - x) <= e + (exp a - 1) * (size + e) + l.
Proof.
  intros ha hx close [t [d [bt [bd ->]]]].
  replace (y * exp t + d - x) with ((y - x) + (x + (y - x)) * (exp t - 1) + d) by ring. triangle.
  apply Rplus_le_compat; [|easy]. triangle. apply Rplus_le_compat; [easy|]. rewrite Rabs_mult, Rmult_comm.
  apply Rmult_le_compat; try apply Rabs_pos; [now apply expm1_abs|]. triangle. lra.
Qed.

Theorem slope_term a l reach slope distance y :
  0 <= a -> Rabs (slope * distance) <= reach -> approximates a (exp a * l) (slope * distance) y ->
  Rabs (y - slope * distance) <= (exp a - 1) * reach + exp a * l.
Proof.
  intros ha hx rounded.
  pose proof (stored_term a (exp a * l) 0 reach _ _ _ ha hx ltac:(rewrite Rminus_diag_eq, Rabs_R0 by easy; lra) rounded). lra.
Qed.

(** A term and what it errs by. *)
Definition totals (l : list (R * R)) : R := sum (map fst l).
Definition errors (l : list (R * R)) : R := sum (map snd l).

Inductive combined (M : arithmetic) (size : R) : list (R * R) -> R -> Prop :=
| combined_term x e y : Rabs (y - x) <= e -> combined M size [(x, e)] y
| combined_addition l1 l2 y1 y2 y :
    combined M size l1 y1 -> combined M size l2 y2 -> Rabs (totals (l1 ++ l2)) <= size -> computed_sum M (y1 + y2) y ->
    combined M size (l1 ++ l2) y
| combined_reordered l1 l2 y : combined M size l1 y -> Permutation l1 l2 -> combined M size l2 y.

Section Combined.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).

  (** One addition of no more than size. *)
  Definition after_addition (size E : R) : R := E + (exp lambda - 1) * (size + E) + wa.
  Fixpoint after_additions (size : R) (k : nat) (E : R) : R :=
    match k with 0%nat => E | S k => after_addition size (after_additions size k E) end.

  Local Ltac facts :=
    pose proof (unit_nonneg M good) as fl; assert (fa : 0 <= wa) by (unfold sound in good; lra);
    pose proof (exp_at_least_one (unit M) ltac:(apply unit_nonneg; exact good)) as f1.

  Lemma after_grows size k E F : 0 <= size -> 0 <= E -> E <= F -> 0 <= after_additions size k E <= after_additions size k F.
  Proof using good.
    intros hs hE le. facts. induction k as [|k IH]; simpl; [lra|]. unfold after_addition.
    assert (0 <= (exp lambda - 1) * (size + after_additions size k E)) by monotone.
    assert ((exp lambda - 1) * (size + after_additions size k E)
      <= (exp lambda - 1) * (size + after_additions size k F)) by monotone.
    lra.
  Qed.

  Lemma after_shift size k E F : 0 <= size -> 0 <= E -> 0 <= F -> after_additions size k E + F <= after_additions size k (E + F).
  Proof using good.
    intros hs hE hF. facts. induction k as [|k IH]; simpl; [lra|]. unfold after_addition.
    pose proof (after_grows size k E E hs hE (Rle_refl E)).
    assert ((exp lambda - 1) * (size + after_additions size k E)
      <= (exp lambda - 1) * (size + after_additions size k (E + F))) by monotone.
    lra.
  Qed.

  Lemma after_both size k1 k2 E1 E2 :
    0 <= size -> 0 <= E1 -> 0 <= E2 ->
    after_additions size k1 E1 + after_additions size k2 E2 <= after_additions size (k1 + k2) (E1 + E2).
  Proof using good.
    intros hs h1 h2. facts. revert E2 h2. induction k1 as [|k1 IH]; intros E2 h2; simpl.
    - rewrite (Rplus_comm E1), (Rplus_comm E1). now apply after_shift.
    - unfold after_addition. pose proof (after_grows size k1 E1 E1 hs h1 (Rle_refl E1)).
      pose proof (after_grows size k2 E2 E2 hs h2 (Rle_refl E2)). specialize (IH E2 h2).
      assert ((exp lambda - 1) * (size + after_additions size k1 E1)
        <= (exp lambda - 1) * (size + after_additions size (k1 + k2) (E1 + E2))) by monotone.
      lra.
  Qed.

  Theorem added_to_score size l y :
    0 <= size -> combined M size l y ->
    0 <= errors l /\ (1 <= length l)%nat /\ Rabs (y - totals l) <= after_additions size (length l - 1) (errors l).
  Proof using good.
    intros hs. facts. unfold totals, errors.
    induction 1 as [x e y close|l1 l2 y1 y2 y _ [p1 [n1 IH1]] _ [p2 [n2 IH2]]
      within [t [d [bt [bd ->]]]]|l1 l2 y _ [p [n IH]] same].
    - pose proof (Rabs_pos (y - x)). unfold sum; simpl. rewrite !Rplus_0_r. repeat split; [lra|lia|easy].
    - unfold totals in within. rewrite !map_app, !sum_app, app_length in *. split; [lra|]. split; [lia|].
      set (X := sum (map fst l1) + sum (map fst l2)) in *.
      pose proof (after_both size (length l1 - 1) (length l2 - 1) _ _ hs p1 p2) as both.
      replace (length l1 + length l2 - 1)%nat with (S (length l1 - 1 + (length l2 - 1))) by lia. simpl.
      set (B := after_additions size (length l1 - 1 + (length l2 - 1)) (sum (map snd l1) + sum (map snd l2))) in *.
      unfold after_addition. apply (stored_term lambda wa B size X (y1 + y2)); [easy|easy| |now exists t, d]. unfold X.
      replace (y1 + y2 - (sum (map fst l1) + sum (map fst l2)))
      with ((y1 - sum (map fst l1)) + (y2 - sum (map fst l2))) by ring.
      triangle. lra.
    - rewrite <- (Permutation_length same), <- !(sum_map_permutation _ l1 l2 same). easy.
  Qed.

  (** ** Softcap, ALiBi and bias; another base *)

  Context (c e alpha gamma lambda_tanh beta l : R) (positive : 0 < c)
    (softcap_errors : 0 <= alpha /\ 0 <= gamma /\ 0 <= lambda_tanh /\ 0 <= beta /\ 0 <= l)
    (a_slope a_bias l_slope l_bias a_base l_base : R) (term_errors : 0 <= a_slope /\ 0 <= a_bias /\ 0 <= a_base).

  Definition alibi_error (reach : R) : R := (exp a_slope - 1) * reach + exp a_slope * l_slope.
  Definition bias_error (bias : R) : R := (exp a_bias - 1) * Rabs bias + l_bias.
  Definition in_base (size E : R) : R := E + (exp a_base - 1) * (size + E) + l_base.
  Definition attributed_error (capped reach bias : R) : R :=
    let size := capped + reach + Rabs bias in
    in_base size (after_additions size 2
      (softcap_error c e alpha gamma lambda_tanh beta l capped + alibi_error reach + bias_error bias)).

  Theorem b9_attributed s s' slope distance reach bias y1 y2 y3 z x :
    Rabs (s' - s) <= e -> computed_softcap c alpha gamma lambda_tanh beta l s' y1 ->
    Rabs (slope * distance) <= reach -> approximates a_slope (exp a_slope * l_slope) (slope * distance) y2 ->
    approximates a_bias l_bias bias y3 ->
    let capped := softcap c s in
    let size := Rabs capped + reach + Rabs bias in
    combined M size [(capped, Rabs (y1 - capped)); (slope * distance, Rabs (y2 - slope * distance)); (bias, Rabs (y3 - bias))] z ->
    approximates a_base l_base z x ->
    Rabs (x - (capped + slope * distance + bias)) <= attributed_error (Rabs capped) reach bias.
  Proof using good positive softcap_errors term_errors.
    intros close cap hreach hy2 hy3 capped size sums based. facts. destruct term_errors as [h1 [h2 h3]].
    pose proof (b9_softcap c e alpha gamma lambda_tanh beta l positive softcap_errors s s' y1 close cap) as E1.
    fold capped in E1. pose proof (slope_term a_slope l_slope reach slope distance y2 h1 hreach hy2) as E2.
    pose proof (stored_term a_bias l_bias 0 (Rabs bias) bias bias y3 h2 (Rle_refl _) ltac:(rewrite Rminus_diag_eq, Rabs_R0
      by easy; lra) hy3) as E3.
    assert (size0 : 0 <= size).
    { unfold size. pose proof (Rabs_pos capped). pose proof (Rabs_pos (slope * distance)). pose proof (Rabs_pos bias). lra. }
    destruct (added_to_score size _ z size0 sums) as [err0 [_ bound]]. unfold totals, errors, sum in *. simpl length in bound.
    cbn [map fst snd fold_right] in *.
    assert (grown : after_additions size (3 - 1) (Rabs (y1 - capped) + (Rabs (y2 - slope * distance) + (Rabs (y3 - bias) + 0)))
      <= after_additions size 2
      (softcap_error c e alpha gamma lambda_tanh beta l (Rabs capped) + alibi_error reach + bias_error bias)).
    { apply after_grows; [easy|easy|]. unfold alibi_error, bias_error. lra. } unfold attributed_error, in_base. fold size.
    replace (capped + slope * distance + bias) with (capped + (slope * distance + (bias + 0))) by ring.
    set (B := after_additions size 2
      (softcap_error c e alpha gamma lambda_tanh beta l (Rabs capped) + alibi_error reach + bias_error bias)) in *.
    apply (stored_term a_base l_base B size _ z x h3); [|lra|easy]. triangle.
    pose proof (Rabs_triang (slope * distance) (bias + 0)). rewrite Rplus_0_r in *. unfold size. lra.
  Qed.

  (** The size of the one addition is x itself. *)
  Theorem b9_biased s s' bias y3 z x :
    Rabs (s' - s) <= e -> approximates a_bias l_bias bias y3 -> computed_sum M (s' + y3) z -> approximates a_base l_base z x ->
    Rabs (x - (s + bias)) <= in_base (Rabs (s + bias)) (after_addition (Rabs (s + bias)) (e + bias_error bias)).
  Proof using good term_errors.
    intros close hy3 total based. destruct term_errors as [h1 [h2 h3]]. facts.
    pose proof (stored_term a_bias l_bias 0 (Rabs bias) bias bias y3 h2 (Rle_refl _)
      ltac:(rewrite Rminus_diag_eq, Rabs_R0 by easy; lra) hy3) as E3.
    apply (stored_term a_base l_base _ _ _ z x h3 (Rle_refl _)); [|easy].
    apply (stored_term lambda wa _ _ _ (s' + y3) z fl (Rle_refl _)); [|exact total].
    replace (s' + y3 - (s + bias)) with ((s' - s) + (y3 - bias)) by ring. triangle. unfold bias_error. lra.
  Qed.
End Combined.
