(** * B9: the output of attention, sum_j p_j v_j, for scores that err. The sum A = sum w v: accumulated_values.v.

    Main results
    - [score_normaliser]   Z = sum p e^eps of scores that err by |eps_j| <= e_j: |ln Z| <= ebar e^e_max, ebar = sum p e
    - [b9_attention]       |O_hat - O| <= (e^k - 1) |O| + e^k (sum p_j |v_j| (e^(s_j) - 1) + loss) + omega_m, then the
                           output, with s_j = e_j + b + t (D_j + 2 e_max), k = sigma' + ebar e^e_max + 2 lambda

    Source: docs/tolerances.md, B9; AttentionThreshold in numerics/rounding/rounding_attention.cpp, where e^(s_j) - 1 is replaced by
    its chord ([element_threshold]). *)

From softcheck.numerics Require Import row tilted_row reduction b1_sum b5_logsumexp b6_entropy constants.
From softcheck.numerics Require Export accumulated_values.
Local Open Scope R_scope.

(** ** Scores that err, the division, the output *)

(** One key: its exact score, the computed one, its value. *)
Record key := { score : R; computed_score : R; value : R }.

Section Attention.
  Context (M : arithmetic) (P : weight_format) (good : sound M)
    (good_weights : 0 <= weight_unit P /\ 0 <= weight_floor P) (keys : list key) (m m' : R).
  Notation scores := (map score keys).
  Notation computed_scores := (map computed_score keys).
  Notation pairs := (map (fun a => (computed_score a, value a)) keys).
  Context (max : is_maximum m scores) (max' : is_maximum m' computed_scores) (error : key -> R) (largest : R)
    (errs : forall a, In a keys -> Rabs (computed_score a - score a) <= error a /\ error a <= largest).
  Notation t := (slope M).
  Notation lambda := (unit M).
  Notation S := (weight_sum m scores).
  Notation S' := (weight_sum m' computed_scores).
  Notation k := (fade M).

  Definition weight (a : key) : R := exp (- (m - score a)) / S.   (* p_j *)
  Definition attention_output : R := sum (map (fun a => weight a * value a) keys).
  Definition mean_score_error : R := sum (map (fun a => weight a * error a) keys).
  Definition normaliser_log : R := mean_score_error * exp largest.
  (** Z = sum p e^eps *)
  Definition normaliser : R := sum (map (fun a => weight a * exp (computed_score a - score a)) keys).

  Lemma S_pos : 1 <= S /\ 1 <= S'.
  Proof using max max'. split; now apply weight_sum_at_least_one. Qed.

  Lemma weight_pos a : 0 < weight a.
  Proof using max max'. pose proof S_pos. apply Rdiv_lt_0_compat; [apply exp_pos|lra]. Qed.

  Lemma weights_add_up : sum (map weight keys) = 1.
  Proof using max max'.
    pose proof S_pos. unfold weight, Rdiv. rewrite sum_map_mult_r.
    replace (sum (map (fun a => exp (- (m - score a))) keys)) with S; [apply Rinv_r; lra|].
    rewrite weight_sum_sum, map_map. apply sum_map_ext. intros. f_equal. ring.
  Qed.

  (** Upwards e^eps <= 1 + e e^e_max; downwards the tangent at the mean. *)
  Theorem score_normaliser : rel normaliser_log normaliser 1 /\ normaliser <= exp largest.
  Proof using max max' errs.
    pose proof weights_add_up as total.
    assert (some : exists a, In a keys).
    { destruct max as [inm _]. apply in_map_iff in inm as [a [_ ina]]. now exists a. }
    destruct some as [a0 in0].
    assert (large : 0 <= largest).
    { destruct (errs a0 in0). pose proof (Rabs_pos (computed_score a0 - score a0)). lra. }
    assert (mean0 : 0 <= mean_score_error).
    { apply sum_map_nonneg. intros a ina. destruct (errs a ina). pose proof (weight_pos a).
      pose proof (Rabs_pos (computed_score a - score a)). apply Rmult_le_pos; lra. }
    pose proof (exp_at_least_one largest large) as E1.
    split.
    - apply rel_of_bounds; [lra|]. rewrite !Rmult_1_l. split.
      + apply Rle_trans with (sum (map (fun a => exp (- mean_score_error) * (1 + mean_score_error) * weight a
                                               + exp (- mean_score_error) * -1 * (weight a * error a)) keys)).
        * rewrite sum_map_plus, !sum_map_mult_l, total. fold mean_score_error.
          apply Rle_trans with (exp (- mean_score_error)).
          -- apply exp_le. unfold normaliser_log. apply Ropp_le_contravar. now apply grown.
          -- right. ring.
        * apply sum_map_le. intros a ina. destruct (errs a ina) as [close _]. apply abs_between in close.
          pose proof (weight_pos a).
          replace (exp (- mean_score_error) * (1 + mean_score_error) * weight a
                   + exp (- mean_score_error) * -1 * (weight a * error a))
            with (weight a * (exp (- mean_score_error) * (1 + (mean_score_error - error a)))) by ring.
          apply Rmult_le_compat_l; [lra|].
          apply Rle_trans with (exp (- mean_score_error) * exp (mean_score_error - error a)).
          -- apply Rmult_le_compat_l; [left; apply exp_pos|apply exp_above_tangent].
          -- rewrite <- exp_plus. apply exp_le. lra.
      + apply Rle_trans with (1 + normaliser_log); [|apply exp_above_tangent].
        unfold normaliser_log, mean_score_error. rewrite <- total at 1.
        rewrite <- sum_map_mult_r, <- sum_map_plus. apply sum_map_le. intros a ina.
        destruct (errs a ina) as [close le]. apply abs_between in close. pose proof (weight_pos a).
        replace (weight a + weight a * error a * exp largest) with (weight a * (1 + error a * exp largest)) by ring.
        apply Rmult_le_compat_l; [lra|].
        (* e^eps <= e^e = 1 + (1 - e^-e) e^e <= 1 + e e^e *)
        apply Rle_trans with (exp (error a)); [apply exp_le; lra|].
        pose proof (exp_above_tangent (- error a)) as tangent. rewrite exp_Ropp in tangent.
        pose proof (exp_pos (error a)).
        assert ((1 - error a) * exp (error a) <= 1).
        { apply Rle_trans with (/ exp (error a) * exp (error a)); [|rewrite Rinv_l; lra].
          apply Rmult_le_compat_r; lra. }
        assert (error a * exp (error a) <= error a * exp largest).
        { apply Rmult_le_compat_l; [lra|]. now apply exp_le. }
        lra.
    - unfold normaliser. rewrite <- (Rmult_1_l (exp largest)), <- total, <- sum_map_mult_r.
      apply sum_map_le. intros a ina. destruct (errs a ina) as [close le]. apply abs_between in close.
      pose proof (weight_pos a). apply Rmult_le_compat_l; [lra|]. apply exp_le. lra.
  Qed.

  (** e^(x' - m') / S' = p e^eps / Z. *)
  Lemma computed_weight a : exp (- (m' - computed_score a)) * (normaliser / S') = weight a * exp (computed_score a - score a).
  Proof using max max'.
    pose proof S_pos as [S1 S1']. assert (hZ : normaliser = S' * exp (m' - m) / S).
    { unfold normaliser, Rdiv. rewrite weight_sum_sum, map_map, Rmult_assoc, <- sum_map_mult_r. apply sum_map_ext.
      intros b _. unfold weight, Rdiv.
      replace (exp (- (m - score b)) * / S * exp (computed_score b - score b))
        with (exp (- (m - score b)) * exp (computed_score b - score b) * / S) by ring.
      rewrite <- exp_plus, <- Rmult_assoc, <- exp_plus. f_equal. f_equal. ring. }
    rewrite hZ. unfold weight.
    replace (exp (- (m' - computed_score a)) * (S' * exp (m' - m) / S / S'))
      with (exp (- (m' - computed_score a)) * exp (m' - m) / S) by (field; lra).
    unfold Rdiv. rewrite <- exp_plus, (Rmult_comm _ (exp (computed_score a - score a))), <- Rmult_assoc, <- exp_plus.
    f_equal. f_equal. ring.
  Qed.

  Lemma deviation_moved a : In a keys -> 0 <= m' - computed_score a <= (m - score a) + 2 * largest.
  Proof using max max' errs.
    intros ina. split.
    - pose proof (proj2 max' (computed_score a) (in_map _ _ _ ina)). lra.
    - destruct (proj1 (in_map_iff _ _ _) (proj1 max')) as [b [eq inb]]. destruct (errs b inb) as [cb lb].
      destruct (errs a ina) as [ca la]. apply abs_between in cb. apply abs_between in ca.
      pose proof (proj2 max (score b) (in_map _ _ _ inb)). lra.
  Qed.

  Context (y s : R) (h j K h' j' : nat) (r : R) (loses : 0 <= r) (leaves : roundoff M + r < 1)
    (hy : accumulated M P pairs m' y h j K) (hs : sum_of_row M 0 m' computed_scores s h' j')
    (some : lost_sum M 0 m' computed_scores h' j' < 1).
  Notation b := (term_log M P h j).

  (** s_j and k *)
  Definition key_log (a : key) : R := error a + b + t * ((m - score a) + 2 * largest).
  Definition common_log : R := sigma M 0 m' computed_scores h' j' + normaliser_log + quotient_unit M r.
  Definition terms_error : R := sum (map (fun a => weight a * Rabs (value a) * (exp (key_log a) - 1)) keys).
  Definition terms_lost : R := exp (b + largest) * lost_values M P pairs j K.

  (** The numerator in units of S' / Z. *)
  Lemma numerator_error : Rabs (y * (normaliser / S') - attention_output) <= terms_error + terms_lost.
  Proof using good good_weights max max' errs hy.
    pose proof S_pos as [S1 S1']. destruct score_normaliser as [relZ Zlarge].
    assert (Zpos : 0 < normaliser) by (apply (rel_pos normaliser_log normaliser 1); [lra|exact relZ]).
    set (R0 := normaliser / S'). assert (hR : 0 < R0) by (apply Rdiv_lt_0_compat; lra).
    destruct (accumulated_near M P good good_weights _ _ _ _ _ _ hy) as [v ab [_ [_ err]]].
    pose proof (slope_nonneg M good) as ht. pose proof (term_log_nonneg M P good good_weights h j) as hb.
    pose proof (lost_values_nonneg M P good good_weights pairs j K v) as hL. assert (RS : R0 <= exp largest).
    { unfold R0, Rdiv. rewrite <- (Rmult_1_r (exp largest)). apply Rmult_le_compat; try lra.
      - left. apply Rinv_0_lt_compat. lra.
      - rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
    assert (exactA : values_sum m' pairs * R0
      = sum (map (fun a => weight a * exp (computed_score a - score a) * value a) keys)).
    { unfold values_sum. rewrite map_map, <- sum_map_mult_r. apply sum_map_ext. intros a _. cbn [fst snd].
      rewrite <- computed_weight. fold R0. ring. }
    assert (pulled : forall q, values_pull q m' pairs * R0
      = sum (map (fun a => Rabs (value a) *
      (exp ((1 - q) * (m' - computed_score a)) * (weight a * exp (computed_score a - score a)))) keys)).
    { intros q. unfold values_pull. rewrite map_map, <- sum_map_mult_r. apply sum_map_ext. intros a _. cbn [fst snd].
      rewrite <- computed_weight. fold R0.
      replace (- (q * (m' - computed_score a))) with ((1 - q) * (m' - computed_score a) + - (m' - computed_score a)) by ring.
      rewrite exp_plus. ring. }
    replace (y * R0 - attention_output)
      with ((y - values_sum m' pairs) * R0 + (values_sum m' pairs * R0 - attention_output)) by ring.
    triangle.
    assert (part1 : Rabs ((y - values_sum m' pairs) * R0)
                    <= exp b * (values_pull k m' pairs * R0) - values_pull 1 m' pairs * R0 + terms_lost).
    { rewrite Rabs_mult, (Rabs_right R0) by lra.
      apply Rle_trans with
        ((exp b * values_pull k m' pairs - values_pull 1 m' pairs + exp b * lost_values M P pairs j K) * R0).
      - apply Rmult_le_compat_r; lra.
      - unfold terms_lost. rewrite exp_plus.
        assert (exp b * lost_values M P pairs j K * R0 <= exp b * lost_values M P pairs j K * exp largest).
        { apply Rmult_le_compat_l; [|easy]. apply Rmult_le_pos; [left; apply exp_pos|easy]. } lra. }
    assert (part2 : Rabs (values_sum m' pairs * R0 - attention_output)
                    <= sum (map (fun a => weight a * Rabs (value a) * Rabs (exp (computed_score a - score a) - 1)) keys)).
    { rewrite exactA. unfold attention_output. rewrite <- sum_map_minus. eapply Rle_trans; [apply sum_map_abs|].
      apply sum_map_le. intros a _. pose proof (weight_pos a).
      replace (weight a * exp (computed_score a - score a) * value a - weight a * value a)
        with (weight a * value a * (exp (computed_score a - score a) - 1)) by ring.
      rewrite !Rabs_mult, (Rabs_right (weight a)) by lra. lra. }
    assert (joined : exp b * (values_pull k m' pairs * R0) - values_pull 1 m' pairs * R0
                     + sum (map (fun a => weight a * Rabs (value a) * Rabs (exp (computed_score a - score a) - 1)) keys)
                     <= terms_error).
    { rewrite !pulled. unfold terms_error. rewrite <- sum_map_mult_l, <- sum_map_minus, <- sum_map_plus. apply sum_map_le.
      intros a ina. pose proof (weight_pos a) as wpos. pose proof (Rabs_pos (value a)) as vpos.
      destruct (errs a ina) as [close le]. pose proof (deviation_moved a ina) as [dev0 dev].
      set (eps := computed_score a - score a) in *. set (d' := m' - computed_score a) in *.
      replace ((1 - 1) * d') with 0 by ring. rewrite exp_0. replace ((1 - k) * d') with (t * d') by (unfold fade; ring).
      replace (exp b * (Rabs (value a) * (exp (t * d') * (weight a * exp eps))) - Rabs (value a) * (1 * (weight a * exp eps))
               + weight a * Rabs (value a) * Rabs (exp eps - 1))
        with (weight a * Rabs (value a) * (exp eps * (exp b * exp (t * d') - 1) + Rabs (exp eps - 1))) by ring.
      apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|]. assert (htd : 0 <= t * d') by now apply Rmult_le_pos.
      assert (ttd : t * d' <= t * (m - score a + 2 * largest)) by now apply Rmult_le_compat_l. set (c := b + t * d').
      replace (exp b * exp (t * d')) with (exp c) by (unfold c; now rewrite exp_plus).
      assert (hc : 0 <= c) by (unfold c; lra). pose proof (exp_at_least_one c hc) as C1.
      apply Rle_trans with (exp (error a + c) - 1); [|apply Rplus_le_compat_r, exp_le; unfold key_log, c; lra].
      pose proof (Rabs_pos eps) as hab. assert (he : 0 <= error a) by lra. pose proof (exp_at_least_one (error a) he) as E1.
      apply abs_between in close. rewrite exp_plus. pose proof (exp_pos eps).
      assert (exp eps <= exp (error a)) by (apply exp_le; lra). destruct (Rle_dec 0 eps) as [pos|neg].
      - pose proof (exp_at_least_one eps pos). rewrite Rabs_right by lra.
        assert (exp eps * exp c <= exp (error a) * exp c) by (apply Rmult_le_compat_r; lra). lra.
      - assert (exp eps <= 1) by (apply exp_at_most_one; lra). rewrite Rabs_left1 by lra.
        assert (1 - exp eps <= exp (error a) - 1).
        { pose proof (exp_down_up (error a)). pose proof (exp_le (- error a) eps ltac:(lra)). lra. }
        assert (exp eps * (exp c - 1) <= 1 * (exp c - 1)) by (apply Rmult_le_compat_r; lra).
        assert (0 <= (exp (error a) - 1) * (exp c - 1)) by (apply Rmult_le_pos; lra). lra. }
    lra.
  Qed.

  Theorem b9_attention q u_out floor_out O_hat :
    quotient_by_sum M r y s q -> rounded_output u_out floor_out q O_hat ->
    let rounding := (exp common_log - 1) * Rabs attention_output + exp common_log * terms_error in
    let lost := exp common_log * terms_lost + product_floor M in
    Rabs (O_hat - attention_output)
    <= rounding + u_out * (Rabs attention_output + rounding) + (lost * (1 + u_out) + floor_out).
  Proof using good good_weights max max' errs hy hs some loses leaves.
    intros hq [d [e [bd [be ->]]]] rounding lost. apply rounded_error; try easy. pose proof numerator_error as numer.
    destruct score_normaliser as [relZ _]. pose proof S_pos as [S1 S1'].
    assert (Zpos : 0 < normaliser) by (apply (rel_pos normaliser_log normaliser 1); [lra|exact relZ]).
    set (R0 := normaliser / S') in *. assert (hR : 0 < R0) by (apply Rdiv_lt_0_compat; lra).
    pose proof (b1_sum M good 0 m' computed_scores s h' j' hs some) as close.
    assert (spos : 0 < s) by (eapply rel_pos; [|apply close]; lra).
    (* y / s = (y R0) e^theta *)
    assert (scaled : rel (normaliser_log + sigma M 0 m' computed_scores h' j') (s * R0) 1).
    { replace (s * R0) with (normaliser * (s / S')) by (unfold R0; field; lra).
      replace 1 with (1 * (S' / S')) by (field; lra). apply rel_mult; [easy|].
      replace (sigma M 0 m' computed_scores h' j') with (sigma M 0 m' computed_scores h' j' + 0) by ring.
      apply rel_div; [easy|apply rel_refl]. }
    destruct (rel_inv _ _ _ scaled) as [theta [btheta eqtheta]]. rewrite Rinv_1, Rmult_1_l in eqtheta.
    assert (quotient : y / s = y * R0 * exp theta) by (rewrite <- eqtheta; field; split; lra).
    assert (whole : exists Theta e', Rabs Theta <= common_log /\ Rabs e' <= product_floor M /\ q
      = y * R0 * exp Theta + e').
    { destruct (quotient_factor M r y s q good loses leaves hq) as [t1 [e1 [bt1 [be1 ->]]]].
      apply abs_between in btheta. apply abs_between in bt1. unfold common_log. exists (theta + t1), e1.
      repeat split; [apply Rabs_le; lra|easy|]. rewrite quotient, exp_plus. ring. }
    destruct whole as [Theta [e' [bT [be' ->]]]].
    replace (y * R0 * exp Theta + e' - attention_output)
      with ((y * R0 - attention_output) * exp Theta + attention_output * (exp Theta - 1) + e') by ring.
    triangle. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
    rewrite !Rabs_mult, (Rabs_right (exp Theta)) by (left; apply exp_pos). pose proof (expm1_abs Theta _ bT) as grows.
    assert (exp Theta <= exp common_log) by (apply exp_le; apply abs_between in bT; lra).
    assert (Rabs (y * R0 - attention_output) * exp Theta <= (terms_error + terms_lost) * exp common_log) by monotone.
    assert (Rabs attention_output * Rabs (exp Theta - 1) <= Rabs attention_output * (exp common_log - 1)) by monotone.
    unfold rounding, lost. lra.
  Qed.
End Attention.
