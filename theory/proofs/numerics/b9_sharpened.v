(** * B9 with B10: the output of adaptive attention, whose scores err and whose inverse temperature errs.

    The exact scores are beta x_j, those of the kernel beta_hat x'_j = s (beta x'_j), with |beta x'_j - beta x_j| <= e_j <= e_max
    and |s - 1| <= tau. First the scores move, at the exact beta; then beta does, at the scores as computed.

    Main results
    - [sharpened_normaliser_near]   |ln N| <= ebar e^e_max + tau Dbar', what all coefficients share; Dbar' is B10's mean of the row as computed
    - [b9_sharpened]           B9 of the output with s_j = e_j + b + (t (1 + tau) + tau) (D_j + 2 e_max) and
                               k = sigma' + ebar e^e_max + tau Dbar' + 2 lambda, sigma' of the row at beta_hat
    - [b9_beta]                |beta_hat - beta| <= tau, and so |s - 1| <= tau, where the entropy is that of scores that err
    - [b9_adaptive]            the two together: an adaptive kernel's output, from its scores, entropy and polynomial on

    Source: docs/tolerances.md, B9; of_sharpened and AttentionThreshold in numerics/rounding/rounding_attention.cpp. *)

From softcheck Require Import softmax adaptive_temperature quartic.
From softcheck.numerics Require Import row tilted_row reduction b1_sum b5_logsumexp b6_entropy b9_attention
  b10_temperature perturbed_scores constants.
Local Open Scope R_scope.

Section Sharpened.
  Context (M : arithmetic) (P : weight_format) (good : sound M)
    (good_weights : 0 <= weight_unit P /\ 0 <= weight_floor P).
  (* scores at the exact beta: exact ones, and those as computed *)
  Context (keys : list key) (m m' : R).
  Notation scores := (map score keys).
  Notation computed_scores := (map computed_score keys).
  Context (max : is_maximum m scores) (max' : is_maximum m' computed_scores) (error : key -> R) (largest : R)
    (errs : forall a, In a keys -> Rabs (computed_score a - score a) <= error a /\ error a <= largest) (tau s : R)
    (tau_range : 0 <= tau < 1) (near_one : Rabs (s - 1) <= tau) (positive : 0 < s).
  Notation t := (slope M).
  Notation k := (fade M).
  Notation p := (weight keys m).
  Notation O := (attention_output keys m).
  Notation S' := (weight_sum m' computed_scores).
  Notation S_s := (weight_sum (s * m') (scaled s computed_scores)).
  Notation pairs := (map (fun a => (s * computed_score a, value a)) keys).
  Notation mean := (b10_temperature.wider_mean m' computed_scores tau).

  (** N = Z S_s / S': p e^(eps - (s - 1) D') / N is the coefficient at beta_hat. *)
  Definition sharpened_normaliser : R := normaliser keys m * (S_s / S').
  Definition sharpened_move (a : key) : R := computed_score a - score a - (s - 1) * (m' - computed_score a).
  Definition sharpened_log : R := normaliser_log keys m error largest + tau * mean.
  Definition sharpened_error (a : key) : R := error a + tau * (m - score a + 2 * largest).

  Lemma sharpened_sums : 1 <= S' /\ 1 <= S_s.
  Proof using max max' positive.
    split; [now apply (S_pos keys m m')|]. apply weight_sum_at_least_one. now apply scaled_maximum.
  Qed.

  Theorem sharpened_normaliser_near : rel sharpened_log sharpened_normaliser 1.
  Proof using max max' errs tau_range near_one positive.
    destruct sharpened_sums as [S1 S2]. destruct (score_normaliser keys m m' max max' error largest errs) as [relZ _].
    pose proof (scaled_sum_between m' computed_scores max' tau s tau_range near_one positive) as [low high].
    assert (moved : rel (tau * mean) (S_s / S') 1).
    { replace 1 with (S' / S') by (field; lra). replace (tau * mean) with (tau * mean + 0) by ring.
      apply rel_div; [apply rel_of_bounds; lra | apply rel_refl]. }
    unfold sharpened_normaliser, sharpened_log. replace 1 with (1 * 1) by ring. now apply rel_mult.
  Qed.

  Lemma sharpened_weight a :
    exp (- (s * m' - s * computed_score a)) * (sharpened_normaliser / S_s) = p a * exp (sharpened_move a).
  Proof using max max' positive.
    destruct sharpened_sums as [S1 S2]. unfold sharpened_normaliser, sharpened_move.
    pose proof (computed_weight keys m m' max max' a) as same.
    replace (- (s * m' - s * computed_score a))
      with (- (m' - computed_score a) + - ((s - 1) * (m' - computed_score a))) by ring.
    replace (computed_score a - score a - (s - 1) * (m' - computed_score a))
      with (computed_score a - score a + - ((s - 1) * (m' - computed_score a))) by ring.
    rewrite !exp_plus, <- Rmult_assoc, <- same. field. lra.
  Qed.

  Lemma sharpened_deviation a : In a keys -> 0 <= m' - computed_score a <= m - score a + 2 * largest.
  Proof using max max' errs. apply (deviation_moved keys m m' max max' error largest errs). Qed.

  Lemma sharpened_move_small a : In a keys -> Rabs (sharpened_move a) <= sharpened_error a.
  Proof using max max' errs tau_range near_one.
    intros ina. destruct (errs a ina) as [close _]. pose proof (sharpened_deviation a ina) as dev.
    unfold sharpened_move, sharpened_error. triangle. rewrite Rabs_Ropp, Rabs_mult.
    rewrite (Rabs_right (m' - computed_score a)) by lra. pose proof (Rabs_pos (s - 1)).
    assert (Rabs (s - 1) * (m' - computed_score a) <= tau * (m - score a + 2 * largest)) by monotone. lra.
  Qed.

  (** ** The output *)

  Context (y S_hat : R) (h j K h' j' : nat) (r : R) (loses : 0 <= r) (leaves : roundoff M + r < 1)
    (hy : accumulated M P pairs (s * m') y h j K) (hs : sum_of_row M 0 (s * m') (scaled s computed_scores) S_hat h' j')
    (some : lost_sum M 0 (s * m') (scaled s computed_scores) h' j' < 1).
  Notation b := (term_log M P h j).

  Definition sharpened_key_log (a : key) : R := error a + b + (t * (1 + tau) + tau) * (m - score a + 2 * largest).
  Definition sharpened_common_log : R :=
    sigma M 0 (s * m') (scaled s computed_scores) h' j' + sharpened_log + quotient_unit M r.
  Definition sharpened_terms : R := sum (map (fun a => p a * Rabs (value a) * (exp (sharpened_key_log a) - 1)) keys).
  Definition sharpened_lost : R := exp (b + largest) * lost_values M P pairs j K.

  (** e^b e^(t d) e^eps - e^eps + |e^eps - 1| <= e^(e + b + t d) - 1, for |eps| <= e *)
  Lemma moved_term eps e c : Rabs eps <= e -> 0 <= c -> exp eps * (exp c - 1) + Rabs (exp eps - 1) <= exp (e + c) - 1.
  Proof using.
    intros close hc. pose proof (Rabs_pos eps). assert (he : 0 <= e) by lra. pose proof (exp_at_least_one c hc) as C1.
    pose proof (exp_at_least_one e he) as E1. apply abs_between in close. rewrite exp_plus. pose proof (exp_pos eps).
    assert (exp eps <= exp e) by monotone. destruct (Rle_dec 0 eps) as [pos|neg].
    - pose proof (exp_at_least_one eps pos). rewrite Rabs_right by lra.
      assert (exp eps * exp c <= exp e * exp c) by monotone. lra.
    - assert (exp eps <= 1) by (apply exp_at_most_one; lra). rewrite Rabs_left1 by lra.
      assert (1 - exp eps <= exp e - 1). { pose proof (exp_down_up e). pose proof (exp_le (- e) eps ltac:(lra)). lra. }
      assert (exp eps * (exp c - 1) <= 1 * (exp c - 1)) by monotone.
      assert (0 <= (exp e - 1) * (exp c - 1)) by monotone. lra.
  Qed.

  Lemma share_small : 0 < sharpened_normaliser / S_s <= exp largest.
  Proof using max max' errs positive tau_range near_one.
    destruct sharpened_sums as [S1 S2]. destruct (score_normaliser keys m m' max max' error largest errs) as [relZ high].
    assert (Zpos : 0 < normaliser keys m) by (apply (rel_pos (normaliser_log keys m error largest) _ 1); [lra|exact relZ]).
    replace (sharpened_normaliser / S_s) with (normaliser keys m * / S') by (unfold sharpened_normaliser; field; lra).
    assert (0 < / S' <= 1). { split; [monotone|]. rewrite <- Rinv_1. monotone. } split; [monotone|].
    rewrite <- (Rmult_1_r (exp largest)). monotone.
  Qed.

  Lemma sharpened_numerator : Rabs (y * (sharpened_normaliser / S_s) - O) <= sharpened_terms + sharpened_lost.
  Proof using good good_weights max max' errs tau_range near_one positive hy.
    destruct share_small as [hR RS]. set (R0 := sharpened_normaliser / S_s) in *.
    destruct (accumulated_near M P good good_weights _ _ _ _ _ _ hy) as [v ab [_ [_ err]]].
    pose proof (slope_nonneg M good) as ht. pose proof (term_log_nonneg M P good good_weights h j) as hb.
    pose proof (lost_values_nonneg M P good good_weights pairs j K v) as hL.
    assert (pos_p : forall a, 0 < p a) by apply (weight_pos keys m m' max max').
    assert (exactA : values_sum (s * m') pairs * R0 = sum (map (fun a => p a * exp (sharpened_move a) * value a) keys)).
    { unfold values_sum. rewrite map_map, <- sum_map_mult_r. apply sum_map_ext. intros a _. cbn [fst snd].
      rewrite <- sharpened_weight. fold R0. ring. }
    assert (pulled : forall q, values_pull q (s * m') pairs * R0
      = sum (map (fun a => Rabs (value a) * (exp ((1 - q) * (s * m' - s * computed_score a)) * (p a * exp (sharpened_move a))))
      keys)).
    { intros q. unfold values_pull. rewrite map_map, <- sum_map_mult_r. apply sum_map_ext. intros a _. cbn [fst snd].
      rewrite <- sharpened_weight. fold R0. set (d := s * m' - s * computed_score a).
      replace (- (q * d)) with ((1 - q) * d + - d) by ring. rewrite exp_plus. ring. }
    replace (y * R0 - O) with ((y - values_sum (s * m') pairs) * R0 + (values_sum (s * m') pairs * R0 - O)) by ring. triangle.
    assert (part1 : Rabs ((y - values_sum (s * m') pairs) * R0)
      <= exp b * (values_pull k (s * m') pairs * R0) - values_pull 1 (s * m') pairs * R0 + sharpened_lost).
    { rewrite Rabs_mult, (Rabs_right R0) by lra.
      apply Rle_trans with
        ((exp b * values_pull k (s * m') pairs - values_pull 1 (s * m') pairs + exp b * lost_values M P pairs j K) * R0);
        [monotone|].
      unfold sharpened_lost. rewrite exp_plus.
      assert (exp b * lost_values M P pairs j K * R0 <= exp b * lost_values M P pairs j K * exp largest) by monotone. lra. }
    assert (part2 : Rabs (values_sum (s * m') pairs * R0 - O)
                    <= sum (map (fun a => p a * Rabs (value a) * Rabs (exp (sharpened_move a) - 1)) keys)).
    { rewrite exactA. unfold attention_output. rewrite <- sum_map_minus. eapply Rle_trans; [apply sum_map_abs|].
      apply sum_map_le. intros a _. specialize (pos_p a).
      replace (p a * exp (sharpened_move a) * value a - p a * value a) with (p a * value a * (exp (sharpened_move a) - 1))
        by ring.
      rewrite !Rabs_mult, (Rabs_right (p a)) by lra. lra. }
    enough (exp b * (values_pull k (s * m') pairs * R0) - values_pull 1 (s * m') pairs * R0
            + sum (map (fun a => p a * Rabs (value a) * Rabs (exp (sharpened_move a) - 1)) keys) <= sharpened_terms) by lra.
    rewrite !pulled. unfold sharpened_terms. rewrite <- sum_map_mult_l, <- sum_map_minus, <- sum_map_plus. apply sum_map_le.
    intros a ina. specialize (pos_p a). pose proof (Rabs_pos (value a)) as vpos.
    pose proof (sharpened_move_small a ina) as close. pose proof (sharpened_deviation a ina) as dev.
    replace (s * m' - s * computed_score a) with (s * (m' - computed_score a)) by ring. set (d := m' - computed_score a) in *.
    set (eps := sharpened_move a) in *. replace ((1 - 1) * (s * d)) with 0 by ring. rewrite exp_0.
    replace ((1 - k) * (s * d)) with (t * (s * d)) by (unfold fade; ring).
    assert (sd : 0 <= s * d <= (1 + tau) * (m - score a + 2 * largest)). { apply abs_between in near_one. monotone. }
    assert (htd : 0 <= t * (s * d)) by monotone.
    replace (exp b * (Rabs (value a) * (exp (t * (s * d)) * (p a * exp eps))) - Rabs (value a) * (1 * (p a * exp eps))
             + p a * Rabs (value a) * Rabs (exp eps - 1))
      with (p a * Rabs (value a) * (exp eps * (exp (b + t * (s * d)) - 1) + Rabs (exp eps - 1))) by (rewrite exp_plus; ring).
    apply Rmult_le_compat_l; [monotone|]. eapply Rle_trans; [apply (moved_term eps (sharpened_error a)); [exact close | lra]|].
    apply Rplus_le_compat_r, exp_le. unfold sharpened_error, sharpened_key_log.
    assert (t * (s * d) <= t * ((1 + tau) * (m - score a + 2 * largest))) by monotone. lra.
  Qed.

  Theorem b9_sharpened q u_out floor_out O_hat :
    quotient_by_sum M r y S_hat q -> rounded_output u_out floor_out q O_hat ->
    let rounding := (exp sharpened_common_log - 1) * Rabs O + exp sharpened_common_log * sharpened_terms in
    let lost := exp sharpened_common_log * sharpened_lost + product_floor M in
    Rabs (O_hat - O) <= rounding + u_out * (Rabs O + rounding) + (lost * (1 + u_out) + floor_out).
  Proof using good good_weights max max' errs tau_range near_one positive hy hs some loses leaves.
    intros hq [d [e [bd [be ->]]]] rounding lost. apply rounded_error; try easy.
    pose proof sharpened_numerator as numer. destruct share_small as [hR _]. destruct sharpened_sums as [S1 S2].
    pose proof sharpened_normaliser_near as relN. set (R0 := sharpened_normaliser / S_s) in *.
    pose proof (scaled_maximum m' computed_scores max' s positive) as maxs.
    pose proof (b1_sum M good 0 (s * m') (scaled s computed_scores) S_hat h' j' hs some) as close.
    assert (spos : 0 < S_hat) by (eapply rel_pos; [|apply close]; lra).
    assert (all : rel (sharpened_log + sigma M 0 (s * m') (scaled s computed_scores) h' j') (S_hat * R0) 1).
    { replace (S_hat * R0) with (sharpened_normaliser * (S_hat / S_s)) by (unfold R0; field; lra).
      replace 1 with (1 * (S_s / S_s)) by (field; lra). apply rel_mult; [easy|].
      replace (sigma M 0 (s * m') (scaled s computed_scores) h' j')
        with (sigma M 0 (s * m') (scaled s computed_scores) h' j' + 0) by ring.
      apply rel_div; [easy|apply rel_refl]. }
    destruct (rel_inv _ _ _ all) as [theta [btheta eqtheta]]. rewrite Rinv_1, Rmult_1_l in eqtheta.
    assert (quotient : y / S_hat = y * R0 * exp theta) by (rewrite <- eqtheta; field; split; lra).
    assert (whole : exists Theta e', Rabs Theta <= sharpened_common_log /\ Rabs e' <= product_floor M /\ q
      = y * R0 * exp Theta + e').
    { destruct (quotient_factor M r y S_hat q good loses leaves hq) as [t1 [e1 [bt1 [be1 ->]]]].
      apply abs_between in btheta. apply abs_between in bt1. unfold sharpened_common_log. exists (theta + t1), e1.
      repeat split; [apply Rabs_le; lra|easy|]. rewrite quotient, exp_plus. ring. }
    destruct whole as [Theta [e' [bT [be' ->]]]].
    replace (y * R0 * exp Theta + e' - O) with ((y * R0 - O) * exp Theta + O * (exp Theta - 1) + e') by ring. triangle.
    eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
    rewrite !Rabs_mult, (Rabs_right (exp Theta)) by (left; apply exp_pos). pose proof (expm1_abs Theta _ bT) as grows.
    assert (exp Theta <= exp sharpened_common_log) by (apply exp_le; apply abs_between in bT; lra).
    assert (Rabs (y * R0 - O) * exp Theta <= (sharpened_terms + sharpened_lost) * exp sharpened_common_log) by monotone.
    assert (Rabs O * Rabs (exp Theta - 1) <= Rabs O * (exp sharpened_common_log - 1)) by monotone.
    unfold rounding, lost. lra.
  Qed.
End Sharpened.

(** ** Beta, from the entropy of scores that err *)

Section Adaptive.
  Context (M : arithmetic) (good : sound M) (H h entropy_error p_hat : R) (visible_entropy : 0 <= h).
  (* [b9_entropy] of perturbed_scores.v gives such a bound, the scores' errors included *)
  Hypothesis close : Rabs (h - H) <= entropy_error.
  Notation grown_by_horner := (exp (IZR horner_roundings * unit M)).
  (* [horner_error] *)
  Hypothesis horner : Rabs (p_hat - quartic h) <= (grown_by_horner - 1) * magnitude h + grown_by_horner * polynomial_floor M h.

  Definition adaptive_tau : R :=
    lipschitz_constant * entropy_error + (grown_by_horner - 1) * magnitude (H + entropy_error)
    + grown_by_horner * polynomial_floor M (H + entropy_error).
  Notation beta := (inverse_temperature H).
  Notation beta_hat := (Rmax p_hat 1).

  (** beta is at least 1, so that its error bounds the relative one. *)
  Theorem b9_beta :
    Rabs (beta_hat - beta) <= adaptive_tau /\ Rabs (beta_hat / beta - 1) <= adaptive_tau /\ 0 < beta_hat / beta.
  Proof using good visible_entropy close horner.
    pose proof (b10_beta M good H h p_hat entropy_error visible_entropy close horner) as near_beta.
    fold adaptive_tau in near_beta. destruct (range H) as [one _]. pose proof (Rmax_r p_hat 1).
    split; [exact near_beta|]. split; [|monotone].
    replace (beta_hat / beta - 1) with ((beta_hat - beta) * / beta) by (field; lra). assert (0 < / beta <= 1).
    { split; [monotone|]. rewrite <- Rinv_1. monotone. } rewrite Rabs_mult, (Rabs_right (/ beta)) by lra.
    pose proof (Rabs_pos (beta_hat - beta)). apply Rle_trans with (Rabs (beta_hat - beta) * 1); [monotone|]; lra.
  Qed.

  Context (P : weight_format) (keys : list key) (x x' : R).   (* the scores before beta, and their maxima *)
  Definition sharp (a : key) : key :=
    {| score := beta * score a; computed_score := beta * computed_score a; value := value a |}.

  (** A kernel's own sums, of its scores times its own beta. *)
  Theorem b9_adaptive error largest y S_hat g j K g' j' r q u_out floor_out O_hat :
    0 <= weight_unit P /\ 0 <= weight_floor P ->
    is_maximum x (map score keys) -> is_maximum x' (map computed_score keys) -> adaptive_tau < 1 ->
    (forall a, In a (map sharp keys) -> Rabs (computed_score a - score a) <= error a /\ error a <= largest) ->
    0 <= r -> roundoff M + r < 1 ->
    accumulated M P (map (fun a => (beta_hat * computed_score a, value a)) keys) (beta_hat * x') y g j K ->
    sum_of_row M 0 (beta_hat * x') (scaled beta_hat (map computed_score keys)) S_hat g' j' ->
    lost_sum M 0 (beta_hat * x') (scaled beta_hat (map computed_score keys)) g' j' < 1 ->
    quotient_by_sum M r y S_hat q -> rounded_output u_out floor_out q O_hat ->
    let O := attention_output (map sharp keys) (beta * x) in
    let s := beta_hat / beta in
    let common := sharpened_common_log M (map sharp keys) (beta * x) (beta * x') error largest adaptive_tau s g' j' r in
    let terms := sharpened_terms M P (map sharp keys) (beta * x) error largest adaptive_tau g j in
    let lost := exp common * sharpened_lost M P (map sharp keys) largest s g j K + product_floor M in
    let rounding := (exp common - 1) * Rabs O + exp common * terms in
    Rabs (O_hat - O) <= rounding + u_out * (Rabs O + rounding) + (lost * (1 + u_out) + floor_out).
  Proof using good visible_entropy close horner.
    intros weights max max' below errs loses leaves hy hs some hq hout O s common terms lost rounding.
    destruct b9_beta as [first [near_one positive]]. destruct (range H) as [one _].
    pose proof (Rabs_pos (beta_hat - beta)). assert (undone : forall z, s * (beta * z) = beta_hat * z) by (intros; unfold s; field; lra).
    assert (of_scores : map score (map sharp keys) = scaled beta (map score keys)) by (unfold scaled; now rewrite !map_map).
    assert (of_computed : map computed_score (map sharp keys) = scaled beta (map computed_score keys))
      by (unfold scaled; now rewrite !map_map).
    assert (row : scaled s (map computed_score (map sharp keys)) = scaled beta_hat (map computed_score keys)).
    { unfold scaled. rewrite !map_map. apply map_ext. intros a. apply undone. }
    assert (pairs : map (fun a => (s * computed_score a, value a)) (map sharp keys)
                    = map (fun a => (beta_hat * computed_score a, value a)) keys).
    { rewrite map_map. apply map_ext. intros a. cbn [sharp computed_score value]. now rewrite undone. }
    apply (b9_sharpened M P good weights (map sharp keys) (beta * x) (beta * x')) with (y := y) (S_hat := S_hat) (q := q); try easy;
      rewrite ?of_scores, ?of_computed; try (apply scaled_maximum; [easy | lra]); try lra;
      rewrite ?undone, ?pairs, <- ?of_computed, ?row; easy.
  Qed.
End Adaptive.
