(** * B9 as a judge has it: a number for each key, linear in its deviation, which is then met by the values of each column.

    Scores err, and so may their inverse temperature ([b9_sharpened]; without one, tau = 0 and s = 1). The quotient by S, whose
    roundings [b9_sharpened] has in the common factor, is here one of each term, as it may come first.

    Main results, rate = t (1 + tau) + tau
    - [threshold_slope_grows]   the chord's slope grows with its log error
    - [b9_threshold]   |O_hat - O| <= (e^k - 1) |O| + e^k sum |v_j| T_j + e^k (e^w (V f + n g) + V q / 2^11) + omega_m, then the output, with
                       T_j = (e^(o + e_j) - 1 + k_1 D_j) p_j, o = b + 2 rate e_max + 2 lambda, w = o + e_max, k_1 the chord's slope of w,
                       V = sum |v|, f = omega_x + omega_P [+ 2 omega_x], g = omega_m + omega_a [+ 2 omega_m]

    Source: docs/tolerances.md, B9; AttentionThreshold in numerics/rounding/rounding_attention.cpp. *)

From softcheck.numerics Require Import row reduction element_threshold b1_sum b5_logsumexp b6_entropy b9_attention
  b10_temperature b9_sharpened.
Local Open Scope R_scope.

Theorem threshold_slope_grows quantum rate C C' :
  0 < quantum <= 1 -> 0 <= rate < 1 -> 0 <= C <= C' -> threshold_slope quantum C rate <= threshold_slope quantum C' rate.
Proof.
  intros small range le. unfold threshold_slope, last_deviation. assert (bits : 0 <= ln (2048 / quantum)).
  { rewrite <- ln_1. apply ln_le; [lra|]. apply Rmult_le_reg_r with quantum; [lra|]. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l; lra. }
  assert (inv : 0 < / (1 - rate)) by monotone. assert (low : 0 <= (C + ln (2048 / quantum)) / (1 - rate)) by monotone.
  assert (more : (C + ln (2048 / quantum)) / (1 - rate) <= (C' + ln (2048 / quantum)) / (1 - rate))
    by (apply Rmult_le_compat_r; lra).
  set (D := (C + ln (2048 / quantum)) / (1 - rate)) in *. set (D' := (C' + ln (2048 / quantum)) / (1 - rate)) in *.
  assert (0 <= rate * D) by monotone. assert (rate * D <= rate * D') by monotone.
  assert ((rate * D) ^ 2 <= (rate * D') ^ 2) by (apply pow_incr; lra). monotone.
Qed.

Section Threshold.
  Context (M : arithmetic) (P : weight_format) (good : sound M)
    (good_weights : 0 <= weight_unit P /\ 0 <= weight_floor P) (keys : list key) (m m' : R).
  Notation computed_scores := (map computed_score keys).
  Context (max : is_maximum m (map score keys)) (max' : is_maximum m' computed_scores) (error : key -> R) (largest : R)
    (errs : forall a, In a keys -> Rabs (computed_score a - score a) <= error a /\ error a <= largest) (tau s : R)
    (tau_range : 0 <= tau < 1) (near_one : Rabs (s - 1) <= tau) (positive : 0 < s) (y S_hat : R) (h j K h' j' : nat)
    (r quantum : R) (loses : 0 <= r) (leaves : roundoff M + r < 1).
  Notation pairs := (map (fun a => (s * computed_score a, value a)) keys).
  Context (hy : accumulated M P pairs (s * m') y h j K) (few : INR K <= 2 * size keys) (none : (j = 0 -> K = 0)%nat)
    (hs : sum_of_row M 0 (s * m') (scaled s computed_scores) S_hat h' j')
    (some : lost_sum M 0 (s * m') (scaled s computed_scores) h' j' < 1).
  Notation t := (slope M).
  Notation p := (weight keys m).
  Notation O := (attention_output keys m).
  Notation b := (term_log M P h j).
  Definition rate : R := t * (1 + tau) + tau.
  Context (below_one : rate < 1) (quantum_range : 0 < quantum <= 1).

  Definition common : R := sigma M 0 (s * m') (scaled s computed_scores) h' j' + sharpened_log keys m m' error largest tau.
  Definition own_log : R := b + 2 * rate * largest + quotient_unit M r.
  Definition widest_log : R := own_log + largest.
  Definition key_threshold (a : key) : R :=
    (exp (own_log + error a) - 1 + threshold_slope quantum widest_log rate * (m - score a)) * p a.
  Definition values_magnitude : R := sum (map (fun a => Rabs (value a)) keys).
  Definition lost_weight : R := exp_floor M + weight_floor P + match j with 0%nat => 0 | S _ => 2 * exp_floor M end.
  Definition lost_addend : R := product_floor M + sum_floor M + match j with 0%nat => 0 | S _ => 2 * product_floor M end.
  Definition threshold_rounding : R :=
    (exp common - 1) * Rabs O + exp common * sum (map (fun a => Rabs (value a) * key_threshold a) keys).
  Definition threshold_lost : R :=
    exp common * (exp widest_log * (values_magnitude * lost_weight + size keys * lost_addend)
                  + values_magnitude * (quantum / 2048)) + product_floor M.

  Local Ltac facts :=
    sound_facts good; pose proof (term_log_nonneg M P good good_weights h j) as hb;
    assert (hr : 0 <= rate) by (unfold rate; assert (0 <= t * (1 + tau)) by (apply Rmult_le_pos; lra); lra).

  Lemma largest_nonneg : 0 <= largest.
  Proof using max errs.
    destruct max as [inm _]. apply in_map_iff in inm as [a [_ ina]]. destruct (errs a ina).
    pose proof (Rabs_pos (computed_score a - score a)). lra.
  Qed.

  Lemma quotient_unit_nonneg : 0 <= quotient_unit M r.
  Proof using good loses leaves.
    unfold quotient_unit, reciprocal_unit. pose proof (unit_nonneg M good). assert (0 <= roundoff M) by apply good.
    pose proof (log_unit_nonneg (roundoff M + r) ltac:(lra)). lra.
  Qed.

  (** One key: below the chord of the widest. *)
  Lemma key_below a :
    In a keys -> p a * (exp (own_log + error a + rate * (m - score a)) - 1) <= key_threshold a + quantum / 2048.
  Proof using good good_weights max max' errs tau_range loses leaves below_one quantum_range.
    intros ina. facts. pose proof largest_nonneg as e0. pose proof quotient_unit_nonneg as q0.
    destruct (errs a ina) as [close le]. pose proof (Rabs_pos (computed_score a - score a)).
    pose proof (proj2 max (score a) (in_map score keys a ina)) as above. assert (re : 0 <= 2 * rate * largest) by monotone.
    assert (C0 : 0 <= own_log + error a) by (unfold own_log; lra).
    assert (S1 : 1 <= weight_sum m (map score keys)) by (apply weight_sum_at_least_one, max).
    assert (small : 0 <= p a <= exp (- (m - score a))).
    { split; [left; apply (weight_pos keys m m' max max')|]. unfold weight. pose proof (exp_pos (- (m - score a))).
      rewrite <- (Rmult_1_r (exp (- (m - score a)))) at 2. apply Rmult_le_compat_l; [lra|]. rewrite <- Rinv_1. monotone. }
    pose proof (element_threshold quantum (own_log + error a) rate quantum_range C0 ltac:(lra) (m - score a) (p a) ltac:(lra)
      small) as chord.
    pose proof (threshold_slope_grows quantum rate (own_log + error a) widest_log quantum_range ltac:(lra)
      ltac:(unfold widest_log; lra)) as steeper.
    unfold threshold_constant, threshold_floor in chord. unfold key_threshold.
    assert (threshold_slope quantum (own_log + error a) rate * (m - score a)
      <= threshold_slope quantum widest_log rate * (m - score a)) by monotone.
    assert ((exp (own_log + error a) - 1 + threshold_slope quantum (own_log + error a) rate * (m - score a)) * p a
      <= (exp (own_log + error a) - 1 + threshold_slope quantum widest_log rate * (m - score a)) * p a) by monotone.
    lra.
  Qed.

  (** The terms with the quotient as one rounding more of each. *)
  Lemma terms_below :
    exp (quotient_unit M r) * sharpened_terms M P keys m error largest tau h j
    + (exp (quotient_unit M r) - 1) * sum (map (fun a => p a * Rabs (value a)) keys)
    <= sum (map (fun a => Rabs (value a) * key_threshold a) keys) + values_magnitude * (quantum / 2048).
  Proof using good good_weights max max' errs tau_range loses leaves below_one quantum_range.
    unfold sharpened_terms, values_magnitude. rewrite <- !sum_map_mult_l, <- sum_map_mult_r, <- !sum_map_plus.
    apply sum_map_le. intros a ina. pose proof (key_below a ina) as below. pose proof (Rabs_pos (value a)) as v0.
    assert (same : exp (quotient_unit M r) *
      (p a * Rabs (value a) * (exp (sharpened_key_log M P m error largest tau h j a) - 1))
      + (exp (quotient_unit M r) - 1) * (p a * Rabs (value a))
      = Rabs (value a) * (p a * (exp (own_log + error a + rate * (m - score a)) - 1))).
    { replace (own_log + error a + rate * (m - score a))
        with (quotient_unit M r + sharpened_key_log M P m error largest tau h j a)
        by (unfold own_log, sharpened_key_log, rate; ring).
      rewrite exp_plus. ring. }
    rewrite same.
    replace (Rabs (value a) * key_threshold a + Rabs (value a) * (quantum / 2048))
    with (Rabs (value a) * (key_threshold a + quantum / 2048)) by ring.
    monotone.
  Qed.

  Lemma lost_below :
    exp (quotient_unit M r) * sharpened_lost M P keys largest s h j K
    <= exp widest_log * (values_magnitude * lost_weight + size keys * lost_addend).
  Proof using good good_weights max errs tau_range loses leaves few none.
    facts. pose proof largest_nonneg as e0. unfold sharpened_lost. rewrite <- Rmult_assoc, <- exp_plus.
    assert (visible : keys <> []) by (intros empty; destruct max as [inm _]; rewrite empty in inm; easy).
    pose proof (size_at_least_one keys visible) as n1.
    assert (sizes : values_size pairs = values_magnitude) by (unfold values_size, values_magnitude; now rewrite map_map).
    assert (same : size pairs = size keys) by (unfold size; now rewrite map_length).
    assert (V0 : 0 <= values_magnitude) by (apply sum_map_nonneg; intros; apply Rabs_pos).
    apply Rmult_le_compat; [monotone| | |].
    - apply lost_values_nonneg; try easy. intros empty. now apply map_eq_nil in empty.
    - apply exp_le. unfold widest_log, own_log. assert (0 <= 2 * rate * largest) by monotone. lra.
    - unfold lost_values. rewrite sizes, same. unfold lost_weight, lost_addend. clear - few none n1 fa fm V0.
      destruct j as [|j0].
      + rewrite (none eq_refl). simpl INR. lra.
      + assert (INR K * product_floor M <= 2 * size keys * product_floor M) by monotone. lra.
  Qed.

  Theorem b9_threshold q u_out floor_out O_hat :
    quotient_by_sum M r y S_hat q -> rounded_output u_out floor_out q O_hat ->
    Rabs (O_hat - O)
    <= threshold_rounding + u_out * (Rabs O + threshold_rounding) + (threshold_lost * (1 + u_out) + floor_out).
  Proof using good good_weights max max' errs tau_range near_one positive hy few none hs some loses leaves below_one quantum_range.
    intros hq hout. assert (u0 : 0 <= u_out) by (destruct hout as [d [e [bd _]]]; pose proof (Rabs_pos d); lra).
    pose proof (b9_sharpened M P good good_weights keys m m' max max' error largest errs tau s tau_range near_one positive
                  y S_hat h j K h' j' r loses leaves hy hs some q u_out floor_out O_hat hq hout) as near.
    cbv zeta in near. eapply Rle_trans; [exact near|]. clear near.
    set (before := (exp (sharpened_common_log M keys m m' error largest tau s h' j' r) - 1) * Rabs O
      + exp (sharpened_common_log M keys m m' error largest tau s h' j' r) * sharpened_terms M P keys m error largest tau h j).
    set (taken := exp (sharpened_common_log M keys m m' error largest tau s h' j' r) * sharpened_lost M P keys largest s h j K
      + product_floor M).
    enough (le : before + taken <= threshold_rounding + threshold_lost).
    { assert ((1 + u_out) * (before + taken) <= (1 + u_out) * (threshold_rounding + threshold_lost)) by monotone. lra. }
    assert (no_more : Rabs O <= sum (map (fun a => p a * Rabs (value a)) keys)).
    { unfold attention_output. eapply Rle_trans; [apply sum_map_abs|]. right. apply sum_map_ext. intros a _.
      rewrite Rabs_mult, (Rabs_right (p a)); [easy|]. left. apply (weight_pos keys m m' max max'). }
    pose proof terms_below as terms. pose proof lost_below as lost. pose proof quotient_unit_nonneg as q0.
    unfold before, taken, threshold_rounding, threshold_lost.
    assert (whole : exp (sharpened_common_log M keys m m' error largest tau s h' j' r) = exp common * exp (quotient_unit M r))
      by (unfold sharpened_common_log, common; now rewrite <- exp_plus).
    rewrite whole. set (A := exp common). assert (A0 : 0 < A) by apply exp_pos. set (Q := exp (quotient_unit M r)) in *.
    assert (Q1 : 1 <= Q) by now apply exp_at_least_one. set (T := sharpened_terms M P keys m error largest tau h j) in *.
    set (L := sharpened_lost M P keys largest s h j K) in *.
    set (U := sum (map (fun a => Rabs (value a) * key_threshold a) keys)) in *.
    set (V := values_magnitude * (quantum / 2048)) in *.
    set (W := exp widest_log * (values_magnitude * lost_weight + size keys * lost_addend)) in *.
    set (X := sum (map (fun a => p a * Rabs (value a)) keys)) in *. assert ((Q - 1) * Rabs O <= (Q - 1) * X) by monotone.
    assert (A * (Q * T + (Q - 1) * X) <= A * (U + V)) by monotone.
    assert (A * ((Q - 1) * Rabs O) <= A * ((Q - 1) * X)) by monotone. assert (A * (Q * L) <= A * W) by monotone. lra.
  Qed.
End Threshold.
