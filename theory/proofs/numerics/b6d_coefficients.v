(** * B6d: the entropy from coefficients, -sum p ln (p + eps), the form of the paper's code.

    Main results, for coefficients within e^(+-(C + t D)) of theirs and where nothing underflows, a = C + (h + 1) lambda
    - [coefficient_term_near]  a term p_hat ln (p_hat + eps) as computed is within p (e^(C + lambda + tD) (l + b) - l) of its own,
                               l = |ln (p + eps)|, b = (C + tD + 2 lambda) (1 + E_l u) + E_l u l
    - [b6d_coefficients]       |H_hat - H_eps| <= (e^a - 1) (H + eps) + e^a (t V2 + t^2/2 e^mu l3 + (ln S + eps) (e^mu - 1)
                               + ((C + 2 lambda) e^mu + t (Dbar + ...)) (1 + E_l u) + E_l u (...)), for any tree of height h
    - [b6d_of_coefficients]    the same with B2's coefficients, C = element_log

    eps is 0, or the paper's 1e-9: by how much H_eps is less than H says adaptive_temperature.epsilon_gap.

    Source: docs/tolerances.md, B6d; entropy_of_coefficients_error in numerics/rounding/rounding_entropy.cpp. *)

From softcheck Require Import softmax adaptive_temperature quartic.
From softcheck.numerics Require Import row tilted_row score_error reduction b1_sum b2_element b5_logsumexp b6_entropy added_terms.
Local Open Scope R_scope.

Section B6d.
  Context (M : arithmetic) (good : sound M) (lossless : sum_floor M = 0 /\ product_floor M = 0) (m : R)
    (logits : list R) (C eps : R) (max : is_maximum m logits) (errs : 0 <= C) (small : 0 <= eps).
  Notation t := (slope M).
  Notation lambda := (unit M).
  Notation El := (log_error M).
  Notation S := (weight_sum m logits).
  Notation Dbar := (mean_deviation m logits).
  Notation mu := (shift m logits t).
  Notation excess := (first_excess m logits t).
  Notation p x := (coefficient logits x).

  (** A term as computed: the coefficient, eps as the format has it, their sum, its logarithm and the product. *)
  Definition coefficient_term (x z : R) : Prop :=
    exists w v q y, Rabs w <= C + t * (m - x) /\ Rabs v <= lambda /\ computed_sum M (p x * exp w + eps * exp v) q /\
      computed_log M q y /\ computed_product M (p x * exp w * y) z.

  Definition own_log (x : R) : R := Rabs (ln (p x + eps)).
  Definition log_error_of (d l : R) : R := (C + t * d + 2 * lambda) * (1 + El) + El * l.
  Definition term_bound (d l : R) : R := exp (C + lambda + t * d) * (l + log_error_of d l).

  Local Ltac facts :=
    pose proof (slope_nonneg M good) as ht; assert (ht4 : t <= / 4) by apply good; pose proof (unit_nonneg M good) as hl;
    assert (hE : 0 <= El) by apply good; pose proof (S_at_least_one m logits max) as S1.

  Lemma coefficient_positive x : 0 < p x.
  Proof using max.
    rewrite (coefficient_from_weight m logits max). pose proof (S_at_least_one m logits max). monotone.
  Qed.

  (** ln of a sum whose parts err by at most k, rounded once more. *)
  Lemma logarithm_moved x w v r k :
    0 <= k -> Rabs w <= k -> Rabs v <= k -> Rabs r <= lambda ->
    Rabs (ln ((p x * exp w + eps * exp v) * exp r) - ln (p x + eps)) <= k + lambda.
  Proof using max small.
    intros hk bw bv br. pose proof (coefficient_positive x) as pos. apply abs_between in bw, bv, br.
    assert (up : p x * exp w + eps * exp v <= (p x + eps) * exp k).
    { rewrite Rmult_plus_distr_r. apply Rplus_le_compat; apply Rmult_le_compat_l; try lra; apply exp_le; lra. }
    assert (down : (p x + eps) * exp (- k) <= p x * exp w + eps * exp v).
    { rewrite Rmult_plus_distr_r. apply Rplus_le_compat; apply Rmult_le_compat_l; try lra; apply exp_le; lra. }
    pose proof (exp_pos (- k)) as pk. assert (low : 0 < (p x + eps) * exp (- k)) by monotone.
    assert (mid : 0 < p x * exp w + eps * exp v) by lra. pose proof (ln_le _ _ low down) as ln_down.
    pose proof (ln_le _ _ mid up) as ln_up. rewrite ln_mult, ln_exp in ln_down, ln_up by (try apply exp_pos; lra).
    rewrite ln_mult, ln_exp by (try apply exp_pos; lra). apply Rabs_le. lra.
  Qed.

  Theorem coefficient_term_near x z :
    In x logits -> coefficient_term x z ->
    Rabs (z - p x * ln (p x + eps)) <= p x * (term_bound (m - x) (own_log x) - own_log x).
  Proof using good lossless max errs small.
    intros inx [w [v [q [y [bw [bv [[r [e1 [br [be1 hq]]]] [hy [s [e2 [bs [be2 hz]]]]]]]]]]]]. facts.
    destruct lossless as [no_sum no_product]. unfold computed_log in hy. rewrite no_product in *. rewrite no_sum in be1.
    assert (e1 = 0) as -> by (apply abs_between in be1; lra). assert (e2 = 0) as -> by (apply abs_between in be2; lra).
    rewrite Rplus_0_r in *. set (d := m - x) in *.
    assert (hd : 0 <= d) by (unfold d; now apply (deviation_nonneg m logits max)). assert (td : 0 <= t * d) by monotone.
    pose proof (coefficient_positive x) as pos. set (k := C + t * d) in *. assert (k0 : 0 <= k) by (unfold k; lra).
    pose proof (logarithm_moved x w v r (k + lambda) ltac:(lra) ltac:(lra) ltac:(lra) br) as moved. rewrite <- hq in moved.
    unfold term_bound, own_log. set (L := ln (p x + eps)) in *. pose proof (Rabs_pos L) as L0.
    assert (y_near : Rabs (y - L) <= log_error_of d (Rabs L)).
    { assert (size : Rabs (ln q) <= Rabs L + (k + lambda + lambda)).
      { replace (ln q) with (L + (ln q - L)) by ring. pose proof (Rabs_triang L (ln q - L)). lra. }
      replace (y - L) with ((y - ln q) + (ln q - L)) by ring. triangle.
      assert (El * Rabs (ln q) <= El * (Rabs L + (k + lambda + lambda))) by monotone. unfold log_error_of. fold k. lra. }
    set (b := log_error_of d (Rabs L)) in *. replace (C + lambda + t * d) with (k + lambda) by (unfold k; ring). rewrite hz.
    replace (p x * exp w * y * exp s - p x * L) with (p x * (exp (w + s) * (y - L) + (exp (w + s) - 1) * L))
    by (rewrite exp_plus; ring).
    rewrite Rabs_mult, (Rabs_right (p x)) by lra. apply Rmult_le_compat_l; [lra|].
    assert (ws : Rabs (w + s) <= k + lambda) by monotone. pose proof (expm1_abs _ _ ws) as grown. apply abs_between in ws.
    pose proof (exp_le (w + s) (k + lambda) ltac:(lra)) as le. triangle.
    rewrite !Rabs_mult, (Rabs_right (exp (w + s))) by (left; apply exp_pos). pose proof (exp_pos (w + s)).
    pose proof (Rabs_pos (y - L)). assert (exp (w + s) * Rabs (y - L) <= exp (k + lambda) * b) by monotone.
    assert (Rabs (exp (w + s) - 1) * Rabs L <= (exp (k + lambda) - 1) * Rabs L) by monotone. lra.
  Qed.

  (** |ln (p + eps)| is at most -ln p + eps. *)
  Lemma own_log_below x : In x logits -> own_log x <= m - x + ln S + eps.
  Proof using good max small.
    intros inx. facts. pose proof (coefficient_positive x) as pos. pose proof (deviation_nonneg m logits max x inx) as hd.
    assert (lnS : 0 <= ln S) by (rewrite <- ln_1; apply ln_le; lra).
    assert (of_p : ln (p x) = - (m - x) - ln S).
    { rewrite (coefficient_from_weight m logits max). unfold Rdiv. rewrite ln_mult, ln_exp, ln_Rinv by (try apply exp_pos; try apply Rinv_0_lt_compat; lra). ring. }
    assert (below_one : p x <= 1).
    { rewrite (coefficient_from_weight m logits max). apply Rmult_le_reg_r with S; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      pose proof (exp_at_most_one (x - m) ltac:(lra)). lra. }
    pose proof (ln_le (p x) (p x + eps) pos ltac:(lra)) as above. pose proof (ln_below_tangent (p x + eps) ltac:(lra)).
    unfold own_log. apply Rabs_le. lra.
  Qed.

  Definition total_log (h : nat) : R := C + INR h * lambda + lambda.
  Definition moment_excess : R := excess + ln S * (exp mu - 1).
  Definition log_part : R :=
    ((C + 2 * lambda) * exp mu + t * (Dbar + excess)) * (1 + El) + El * (entropy logits + moment_excess + eps * exp mu).
  Definition coefficients_rounding (h : nat) : R :=
    (exp (total_log h) - 1) * (entropy logits + eps)
    + exp (total_log h) * (moment_excess + eps * (exp mu - 1) + log_part).

  Notation exact_terms := (map (fun x => p x * ln (p x + eps)) logits).
  Notation bounds := (map (fun x => p x * (term_bound (m - x) (own_log x) - own_log x)) logits).

  Lemma terms_perturbed l zs :
    Forall (fun x => In x logits) l -> Forall2 coefficient_term l zs ->
    perturbed zs (map (fun x => p x * ln (p x + eps)) l) (map (fun x => p x * (term_bound (m - x) (own_log x) - own_log x)) l).
  Proof using good lossless max errs small.
    intros inside terms. induction terms as [|x z l zs term _ IH]; [constructor|]. inversion inside; subst. cbn [map].
    constructor; [now apply coefficient_term_near|now apply IH].
  Qed.

  (** Each item, with -ln p + eps in the place of its own logarithm. *)
  Lemma item_bound h x :
    In x logits ->
    exp (INR h * lambda) * (p x * own_log x + p x * (term_bound (m - x) (own_log x) - own_log x)) - p x * own_log x
    <= p x * (exp (total_log h) * (exp (t * (m - x)) * ((1 + El) * ((1 + t) * (m - x) + (ln S + eps + C + 2 * lambda))))
              - (m - x + ln S + eps)).
  Proof using good max errs small.
    intros inx. facts. pose proof (own_log_below x inx) as below. pose proof (coefficient_positive x) as pos.
    pose proof (deviation_nonneg m logits max x inx) as hd. set (l := own_log x) in *. set (d := m - x) in *.
    assert (l0 : 0 <= l) by apply Rabs_pos. assert (td : 0 <= t * d) by monotone. assert (hh : 0 <= INR h * lambda) by monotone.
    set (G := exp (INR h * lambda) * exp (C + lambda + t * d)).
    assert (G1 : 1 <= G) by (unfold G; rewrite <- exp_plus; apply exp_at_least_one; lra).
    assert (same : exp (total_log h) * exp (t * d) = G) by (unfold G, total_log; rewrite <- !exp_plus; f_equal; ring).
    replace (exp (INR h * lambda) * (p x * l + p x * (term_bound d l - l)) - p x * l)
      with (p x * (G * (l + log_error_of d l) - l)) by (unfold term_bound, G; ring).
    apply Rmult_le_compat_l; [lra|]. rewrite <- Rmult_assoc, same.
    replace ((1 + El) * ((1 + t) * d + (ln S + eps + C + 2 * lambda)))
      with ((1 + El) * (d + ln S + eps) + (1 + El) * (C + t * d + 2 * lambda)) by ring.
    replace (l + log_error_of d l) with ((1 + El) * l + (1 + El) * (C + t * d + 2 * lambda)) by (unfold log_error_of; ring).
    set (T := d + ln S + eps) in *. assert (GE : 1 <= G * (1 + El)) by (apply one_le_product; lra).
    assert ((G * (1 + El) - 1) * l <= (G * (1 + El) - 1) * T) by monotone. lra.
  Qed.

  Lemma sum_of_coefficients f : sum (map (fun x => p x * f (m - x)) logits) = weighted_sum m logits f / S.
  Proof using max.
    unfold weighted_sum, Rdiv. rewrite Rmult_comm, <- sum_map_mult_l. apply sum_map_ext. intros x _.
    rewrite (coefficient_from_weight m logits max). unfold Rdiv. ring.
  Qed.

  (** What the terms err by, and the roundings of the additions behind them. *)
  Lemma terms_within h :
    exp (INR h * lambda) * (magnitude exact_terms + sum bounds) - magnitude exact_terms <= coefficients_rounding h.
  Proof using good max errs small.
    facts. assert (sizes : magnitude exact_terms = sum (map (fun x => p x * own_log x) logits)).
    { unfold magnitude. rewrite map_map. apply sum_map_ext. intros x _. unfold own_log.
      rewrite Rabs_mult, (Rabs_right (p x)); [easy|]. left. apply coefficient_positive. }
    rewrite sizes, <- sum_map_plus, <- sum_map_mult_l, <- sum_map_minus.
    eapply Rle_trans; [apply sum_map_le; intros x inx; now apply item_bound|].
    rewrite (sum_of_coefficients
      (fun d => exp (total_log h) * (exp (t * d) * ((1 + El) * ((1 + t) * d + (ln S + eps + C + 2 * lambda))))
      - (d + ln S + eps))).
    set (K := ln S + eps + C + 2 * lambda). set (A := exp (total_log h)). set (Q := ln S + eps).
    assert (split : weighted_sum m logits (fun d => A * (exp (t * d) * ((1 + El) * ((1 + t) * d + K))) - (d + ln S + eps))
      = A * (1 + El) * ((1 + t) * tilted m logits t (fun d => d) + K * tilted m logits t (fun _ => 1)) - (Dbar + Q) * S).
    { rewrite (Rmult_plus_distr_r Dbar Q S), <- (deviation_sum_mean m logits max). unfold tilted, deviation_sum, Q.
      replace ((ln S + eps) * S) with (weighted_sum m logits (fun _ => ln S + eps))
        by (unfold weight_sum; rewrite <- weighted_sum_mult; apply weighted_sum_ext; intros; ring).
      rewrite <- weighted_sum_plus. unfold Rminus at 1.
      replace (weighted_sum m logits (fun d => A * (exp (t * d) * ((1 + El) * ((1 + t) * d + K))) + - (d + ln S + eps)))
        with (weighted_sum m logits
        (fun d => A * (1 + El) * ((1 + t) * (exp (t * d) * d) + K * (exp (t * d) * 1)) + -1 * (d + (ln S + eps))))
        by (apply weighted_sum_ext; intros; ring).
      rewrite weighted_sum_plus, !weighted_sum_mult, weighted_sum_plus, !weighted_sum_mult. ring. }
    rewrite split. pose proof (tilted_mean m logits max t ltac:(lra)) as mean.
    pose proof (tilted_mass m logits max t ltac:(lra)) as mass. assert (lnS : 0 <= ln S) by (rewrite <- ln_1; apply ln_le; lra).
    assert (A0 : 0 <= A * (1 + El)) by (apply Rmult_le_pos; [left; apply exp_pos|lra]).
    set (U := tilted m logits t (fun d => d)) in *. set (V := tilted m logits t (fun _ => 1)) in *.
    assert (pair : (1 + t) * U + K * V <= ((1 + t) * (Dbar + excess) + K * exp mu) * S).
    { replace (((1 + t) * (Dbar + excess) + K * exp mu) * S) with ((1 + t) * ((Dbar + excess) * S) + K * (exp mu * S))
        by ring.
      apply Rplus_le_compat; apply Rmult_le_compat_l; unfold K; lra. }
    apply Rmult_le_reg_r with S; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    apply Rle_trans with (A * (1 + El) * (((1 + t) * (Dbar + excess) + K * exp mu) * S) - (Dbar + Q) * S).
    - apply Rplus_le_compat_r. monotone.
    - right. unfold coefficients_rounding, log_part, moment_excess. fold A. rewrite (entropy_of_statistics m logits max).
      unfold K, Q. ring.
  Qed.

  Theorem b6d_coefficients zs y h :
    Forall2 coefficient_term logits zs -> added M 0 0 zs y h -> Rabs (- y - entropy_with eps logits) <= coefficients_rounding h.
  Proof using good lossless max errs small.
    intros terms tree. destruct lossless as [no_sum _].
    assert (inside : Forall (fun x => In x logits) logits) by (apply Forall_forall; easy).
    pose proof (perturbed_sum M good 0 0 zs exact_terms bounds y h (Rle_refl 0) (Rle_refl 0) (terms_perturbed logits zs inside terms) tree) as near.
    assert (nothing : added_loss M 0 h exact_terms = 0) by (unfold added_loss; rewrite no_sum; ring). rewrite nothing, Rplus_0_r in near.
    assert (same : - y - entropy_with eps logits = - (y - sum exact_terms)).
    { unfold entropy_with, softmax. rewrite map_map. ring. }
    rewrite same, Rabs_Ropp. eapply Rle_trans; [exact near|]. unfold perturbed_rounding. rewrite Rplus_0_l. apply terms_within.
  Qed.
End B6d.

(** ** With the coefficients of B2, not yet in an output's format *)

Definition kept_format : output_format := {| output_unit := 0; output_floor := 0 |}.

Section Elements.
  Context (M : arithmetic) (good : sound M) (lossless : exp_floor M = 0 /\ sum_floor M = 0 /\ product_floor M = 0)
    (kappa m : R) (logits : list R) (s : R) (h j : nat) (eps : R) (hs : sum_of_row M kappa m logits s h j)
    (some : lost_sum M kappa m logits h j < 1) (small : 0 <= eps).
  Notation C := (element_log M kept_format kappa m logits h j).

  Definition element_term (x z : R) : Prop :=
    exists p_hat v q y, computed_element M kept_format kappa m j s x p_hat /\ Rabs v <= unit M /\
      computed_sum M (p_hat + eps * exp v) q /\ computed_log M q y /\ computed_product M (p_hat * y) z.

  Lemma kept_format_sound : sound_output kept_format.
  Proof. split; cbn; lra. Qed.

  Lemma element_is_term x z : In x logits -> element_term x z -> coefficient_term M m logits C eps x z.
  Proof using good lossless hs some.
    intros inx [p_hat [v [q [y [element [bv [hq [hy hz]]]]]]]]. pose proof (row_maximum _ _ _ _ _ _ _ hs) as max.
    destruct (element_error M kept_format good kept_format_sound kappa m logits s h j hs some x p_hat inx element) as [w [e [bw [be eq]]]].
    destruct lossless as [no_exp [no_sum no_product]].
    assert (nothing : element_floor M kept_format kappa m logits h j = 0).
    { unfold element_floor, numerator_loss, when_rescaled. rewrite no_exp, no_product. cbn [output_floor kept_format]. destruct j; ring. }
    rewrite nothing in be. assert (e = 0) as -> by (apply abs_between in be; lra). rewrite Rplus_0_r in eq.
    assert (own : p_hat = coefficient logits x * exp w).
    { rewrite eq, (coefficient_from_weight m logits max). replace (- (m - x)) with (x - m) by ring. easy. }
    exists w, v, q, y. rewrite <- own. repeat (split; [assumption|]). exact hz.
  Qed.

  Theorem b6d_of_coefficients zs y height :
    Forall2 element_term logits zs -> added M 0 0 zs y height ->
    Rabs (- y - entropy_with eps logits) <= coefficients_rounding M m logits C eps height.
  Proof using good lossless hs some small.
    intros terms tree. pose proof (row_maximum _ _ _ _ _ _ _ hs) as max.
    apply (b6d_coefficients M good ltac:(easy) m logits C eps max
             (element_log_nonneg M kept_format good kept_format_sound kappa m logits s h j hs some) small zs y height); [|exact tree].
    assert (all : forall l, Forall (fun x => In x logits) l -> forall ws, Forall2 element_term l ws ->
                    Forall2 (coefficient_term M m logits C eps) l ws).
    { intros l inside ws each. induction each as [|x z l ws term _ IH]; [constructor|]. inversion inside; subst.
      constructor; [now apply element_is_term|now apply IH]. }
    apply all; [apply Forall_forall; easy|exact terms].
  Qed.
End Elements.
