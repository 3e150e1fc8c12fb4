(** * The premises of B17 hold of something, and its bounds are reached.

    As in reached_bounds.v: the kernel [single] errs as far as it may; two equal scores, or sums of one term.

    Examples
    - [b17_saved_is_reached]            a score and a saved log-sum-exp that err apart
    - [b17_sum_is_reached]              the sum, the log-sum-exp and the quotient over it, recomputed
    - [b17_coefficient_is_inhabited]    all premises of omega_j, each way
    - [b17_products_are_reached], [b17_delta_is_inhabited]   g and delta; a recomputed delta but for a rounding that is granted
    - [b17_score_gradient_is_reached], [b17_sums_are_reached]   dS, and the sums of which the gradient consists

    Source: b17_coefficient.v ... b17_sums.v. *)

From softcheck.numerics Require Import row tilted_row reduction constants b1_sum b5_logsumexp b6_entropy b9_attention
  score_error added_terms carried_exponential b17_coefficient b17_recomputed_sum b17_sums b17_delta b17_softcap
  reached_bounds reached_losses.
Local Open Scope R_scope.

Notation E := (exp_unit single).
Notation l := (unit single).

(** ** p through a log-sum-exp: of the row 0, 0, the score l too small, L read with one rounding *)

Example b17_saved_is_reached :
  exists x' L' a p, sound single /\ 1 <= 1 /\ is_maximum 0 level /\ In 0 level /\ Rabs (x' - 0) <= l /\ 0 <= l /\
    approximates l 0 (ln (partition_function level)) L' /\ difference_from single 1 x' L' a /\ computed_exp single (- a) p /\
    let L := ln (partition_function level) in
    let ell := (exp l - 1) * Rabs L + 0 in
    0 <= L /\ Rabs (L' - L) = ell /\ Rabs (a - (0 - L)) = argument_error single 1 l ell L (L - 0) /\
    p = coefficient level 0 * exp (- through_logsumexp single 1 0 level l ell (0 - 0)).
Proof.
  pose proof units as [hE hl]. pose proof (exp_at_least_one l hl) as G1. pose proof ln_2_nonneg as L0.
  set (L' := ln 2 * exp l). set (a := (- l - L') * exp l). exists (- l), L', a, (exp (a - E)). rewrite level_logsumexp.
  cbv zeta. assert (ell : Rabs (L' - ln 2) = (exp l - 1) * Rabs (ln 2) + 0).
  { unfold L'. replace (ln 2 * exp l - ln 2) with (ln 2 * (exp l - 1)) by ring.
    rewrite Rabs_mult, !(Rabs_right (ln 2)), Rabs_right by lra. ring. }
  assert (below : a <= - ln 2).
  { unfold a, L'. assert (ln 2 <= ln 2 * exp l) by (apply grown; lra).
    assert (l + ln 2 * exp l <= (l + ln 2 * exp l) * exp l) by (apply grown; lra). lra. }
  assert (err : argument_error single 1 l ((exp l - 1) * Rabs (ln 2) + 0) (ln 2) (ln 2) = - a - ln 2).
  { unfold argument_error, growth. cbn -[unit ln]. rewrite (Rabs_right (ln 2)) by lra.
    replace ((1 - 1) * l) with 0 by ring. rewrite exp_0, Rmult_1_l. unfold a, L'. ring. }
  split; [apply single_sound|]. split; [lra|]. split; [apply level_maximum|]. split; [now left|].
  split; [rewrite Rminus_0_r, Rabs_Ropp, Rabs_right; lra|]. split; [lra|]. split; [now apply approximately|]. split.
  { apply scaled_behind with a; [apply sum_up_by|]. exists 0, 0. rewrite Rabs_R0, exp_0. cbn -[unit].
    repeat split; lra. }
  split.
  { exists (- E), 0. rewrite Rabs_R0, Rabs_Ropp, Ropp_involutive, (Rabs_right E) by lra. cbn -[exp_unit].
    repeat split; try lra. unfold Rminus. ring. }
  split; [easy|]. split; [easy|]. split.
  - rewrite Rminus_0_r, err, Rabs_left1; lra.
  - unfold through_logsumexp. rewrite level_logsumexp, level_sum, (level_coefficient 0) by now left.
    replace (0 - 0) with 0 by ring. rewrite Rplus_0_l, err. rewrite <- (exp_ln 2) at 1 by lra.
    rewrite <- exp_Ropp, <- exp_plus. f_equal. ring.
Qed.

(** ** A recomputed sum, of two keys whose scores are exact *)

Definition zero_key : key := {| score := 0; computed_score := 0; value := 1 |}.
Definition two_keys : list key := [zero_key; zero_key].
Definition exact_scores (a : key) : R := 0.

Lemma two_keys_exact : forall a, In a two_keys -> Rabs (computed_score a - score a) <= exact_scores a /\ exact_scores a <= 0.
Proof. intros a [<-|[<-|[]]]; unfold exact_scores; cbn; rewrite Rminus_0_r, Rabs_R0; lra. Qed.

Lemma keys_lose_nothing : recomputed_lost single two_keys 1 1 = 0.
Proof. unfold recomputed_lost, lost; cbn. ring. Qed.

Lemma zero_weight : weight two_keys 0 zero_key = / 2.
Proof.
  unfold weight. change (map score two_keys) with level. rewrite level_sum. cbn. rewrite Rminus_0_r, Ropp_0, exp_0. field.
Qed.

Lemma zero_item : item_log single 0 exact_scores 0 1 zero_key = 2 * E + l.
Proof. unfold item_log, carried_log, exact_scores. rewrite no_slope. cbn -[exp_unit unit]. ring. Qed.

Lemma rho_is : rho single two_keys 0 exact_scores 0 1 1 = 2 * E + 2 * l.
Proof.
  unfold rho. rewrite keys_lose_nothing, Rminus_0_r, ln_1, Rminus_0_r.
  assert (mean : 1 + mean_growth single two_keys 0 exact_scores 0 1 1 = exp (2 * E + 2 * l)).
  { unfold mean_growth. change (map ?f two_keys) with [f zero_key; f zero_key]. unfold sum; cbn [fold_right].
    rewrite zero_weight, zero_item. replace (2 * E + l + INR 1 * l) with (2 * E + 2 * l) by (simpl; ring). field. }
  now rewrite mean, ln_exp.
Qed.

Example b17_sum_is_reached :
  exists v q y z, sound single /\ is_maximum 0 (map score two_keys) /\ is_maximum 0 (map computed_score two_keys) /\
    (forall a, In a two_keys -> Rabs (computed_score a - score a) <= exact_scores a /\ exact_scores a <= 0) /\
    sum_of_row single 0 0 (map computed_score two_keys) (far_sum 1) 1 1 /\
    sum_of_row single 0 0 (map computed_score two_keys) (far_sum (-1)) 1 1 /\ recomputed_lost single two_keys 1 1 < 1 /\
    far_sum 1 = shared_sum two_keys 0 0 * exp (rho single two_keys 0 exact_scores 0 1 1) /\
    0 <= 0 /\ roundoff single + 0 < 1 /\ In zero_key two_keys /\ (1 <= 1)%nat /\ carried single 1 (0 - computed_score zero_key) v /\
    quotient_by_sum single 0 v (far_sum (-1)) q /\
    q = weight two_keys 0 zero_key * exp (quotient_log single two_keys 0 exact_scores 0 1 1 0 zero_key) /\
    Rabs (y - ln (far_sum 1)) <= log_error single * Rabs (ln (far_sum 1)) + sum_floor single /\ rounded_sum single (0 + y) z /\
    Rabs (z - ln (partition_function (map score two_keys))) = recomputed_logsumexp_error single two_keys 0 exact_scores 0 1 1.
Proof.
  pose proof units as [hE hl]. change (map score two_keys) with level. change (map computed_score two_keys) with level.
  set (v := exp (1 * E) * exp (1 * E) * exp (1 * l)).
  exists v, (v * (1 / far_sum (-1) * exp l) * exp (1 * l)), far_log, ((0 + far_log) * (1 + roundoff single)).
  split; [apply single_sound|]. split; [apply level_maximum|]. split; [apply level_maximum|]. split; [apply two_keys_exact|].
  split; [apply far_sum_of_row; lra|]. split; [apply far_sum_of_row; lra|]. split; [rewrite keys_lose_nothing; lra|].
  split.
  { rewrite rho_is, far_sum_is. unfold shared_sum. change (map score two_keys) with level.
    rewrite level_sum, Rminus_0_r, exp_0, Rmult_1_l. ring. }
  split; [lra|]. split; [cbn; lra|]. split; [now left|]. split; [lia|]. split.
  { cbn [computed_score zero_key]. replace (0 - 0) with (0 + 0) by ring.
    apply carried_rescaled with (exp (1 * E)) 0 (exp (1 * E)); [|lra|apply argument_of_0|apply exp_of_0; lra|apply product_off; lra].
    apply carried_item with 0; [lra|apply argument_of_0|apply exp_of_0; lra]. }
  split.
  { apply by_reciprocal with l; [|apply product_off; lra]. unfold reciprocal_unit. rewrite Rplus_0_r. fold l.
    change (log_unit (roundoff single)) with l. rewrite Rabs_right; lra. }
  split.
  { rewrite zero_weight, far_sum_is. unfold quotient_log. rewrite zero_item, rho_is. unfold quotient_unit, reciprocal_unit.
    rewrite Rplus_0_r. change (log_unit (roundoff single)) with l. unfold v.
    replace (-1 * (2 * E + 2 * l)) with (- (2 * E + 2 * l)) by ring. rewrite exp_Ropp, !Rmult_1_l.
    replace (2 * E + l + (2 * E + 2 * l) + (l + l)) with ((2 * E + 2 * l) + E + E + l + l + l) by ring.
    rewrite !exp_plus. pose proof (exp_pos (2 * E)). pose proof (exp_pos (2 * l)). field. split; lra. }
  split.
  { pose proof far_log_of_sum as far. unfold computed_log in far. cbn -[far_log far_sum ln] in far |- *. lra. }
  split; [apply sum_up|].
  unfold recomputed_logsumexp_error, recomputed_log_error. change (map score two_keys) with level.
  rewrite rho_is, level_sum, level_logsumexp, Rabs_right, (Rabs_right (ln 2)) by
    (pose proof ln_2_nonneg; pose proof far_log_above; cbn -[far_log ln]; nra).
  unfold far_log. cbn -[unit exp_unit ln]. ring.
Qed.

Example b17_coefficient_is_inhabited :
  exists L' L'' y a p q, sound single /\ 1 <= 1 /\ is_maximum 0 (map score two_keys) /\
    is_maximum 0 (map computed_score two_keys) /\
    (forall k, In k two_keys -> Rabs (computed_score k - score k) <= exact_scores k /\ exact_scores k <= 0) /\
    sum_of_row single 0 0 (map computed_score two_keys) (far_sum 1) 1 1 /\ recomputed_lost single two_keys 1 1 < 1 /\
    0 <= 0 /\ roundoff single + 0 < 1 /\ 0 <= l /\ In zero_key two_keys /\
    logsumexp_in_use single two_keys 0 (far_sum 1) l 0 L' /\ approximates l 0 (ln (partition_function (map score two_keys))) L' /\
    logsumexp_in_use single two_keys 0 (far_sum 1) l 0 L'' /\ rounded_sum single (0 + y) L'' /\
    difference_from single 1 0 L' a /\ computed_exp single (- a) p /\
    computed_coefficient single 1 two_keys 0 exact_scores (far_sum 1) 1 0 l 0 zero_key p /\
    computed_coefficient single 1 two_keys 0 exact_scores (far_sum 1) 1 0 l 0 zero_key q /\
    q = exp (1 * E) / far_sum 1 * exp (1 * l).
Proof.
  pose proof units as [hE hl]. change (map score two_keys) with level. change (map computed_score two_keys) with level.
  set (L' := ln (partition_function level) * exp l). set (a := (0 - L') * exp l).
  exists L', ((0 + far_log) * (1 + roundoff single)), far_log, a, (exp (a - E)), (exp (1 * E) / far_sum 1 * exp (1 * l)).
  assert (saved : approximates l 0 (ln (partition_function level)) L') by now apply approximately.
  assert (argument : difference_from single 1 0 L' a).
  { apply scaled_behind with a; [apply sum_up_by|]. exists 0, 0. rewrite Rabs_R0, exp_0. cbn -[unit]. repeat split; lra. }
  assert (power : computed_exp single (- a) (exp (a - E))).
  { exists (- E), 0. rewrite Rabs_R0, Rabs_Ropp, Ropp_involutive, (Rabs_right E) by lra. cbn -[exp_unit].
    repeat split; try lra. unfold Rminus. ring. }
  split; [apply single_sound|]. split; [lra|]. split; [apply level_maximum|]. split; [apply level_maximum|].
  split; [apply two_keys_exact|]. split; [apply far_sum_of_row; lra|]. split; [rewrite keys_lose_nothing; lra|].
  split; [lra|]. split; [cbn; lra|]. split; [easy|]. split; [now left|].
  split; [now apply logsumexp_saved|]. split; [easy|]. split.
  { apply logsumexp_recomputed with far_log; [|apply sum_up].
    pose proof far_log_of_sum as far. unfold computed_log in far. cbn -[far_log far_sum ln] in far |- *. lra. }
  split; [apply sum_up|]. split; [easy|]. split; [easy|].
  split; [|split; [|easy]].
  - apply by_logsumexp with 0 L' a; try easy; [|now apply logsumexp_saved].
    unfold exact_scores. cbn. rewrite Rminus_0_r, Rabs_R0. lra.
  - apply by_sum with 0%nat (exp (1 * E)); [lia| |apply by_division, product_off; lra].
    apply carried_item with 0; cbn [computed_score zero_key]; [lra| |apply exp_of_0; lra]. rewrite Rminus_0_r. apply argument_of_0.
Qed.

(** ** g, delta and dS: one component, one key of p = 1, dO = v = 1 *)

Notation one_unit := (fun _ : Datatypes.unit => 1).
Notation no_loss := (fun _ : Datatypes.unit => 0).

Lemma one_of (f : Datatypes.unit -> R) : sum (map f [tt]) = f tt.
Proof. unfold sum; cbn. ring. Qed.

Lemma lost_of (f : Datatypes.unit -> R) : added_loss single 0 0 (map f [tt]) = 0.
Proof. unfold added_loss, size; cbn. ring. Qed.

(** The dot product of one component, with log error a of its term. *)
Lemma one_added a x y : 0 <= a -> y = x * exp a -> added single a 0 [x] y 0.
Proof. intros ha ->. now apply added_one. Qed.

Example b17_products_are_reached :
  exists g_hat delta_hat, sound single /\ 0 <= l /\ 0 <= 0 /\ (0 <= 0)%nat /\
    added single (2 * l + l) 0 (map (fun c => one_unit c * 1) [tt]) g_hat 0 /\
    Rabs (g_hat - value_product [tt] one_unit (fun _ : Datatypes.unit => one_unit) tt)
    = (exp (products_log single l 0) - 1) * value_size [tt] one_unit (fun _ : Datatypes.unit => one_unit) tt
      + added_loss single 0 0 (map one_unit [tt]) /\
    added single (2 * l + l + l) 0 (map (fun c => one_unit c * output [tt] (fun _ : Datatypes.unit => one_unit) one_unit c) [tt]) delta_hat 0 /\
    Rabs (delta_hat - delta [tt] [tt] one_unit (fun _ : Datatypes.unit => one_unit) one_unit)
    = (exp (products_log single l 0 + l) - 1) * sum (map (fun c => Rabs (1 * output [tt] (fun _ : Datatypes.unit => one_unit) one_unit c)) [tt])
      + added_loss single 0 0 (map one_unit [tt]).
Proof.
  pose proof units as [_ hl]. pose proof (exp_at_least_one (2 * l + l) ltac:(lra)). pose proof (exp_at_least_one (2 * l + l + l) ltac:(lra)).
  assert (log : products_log single l 0 = 2 * l + l) by (unfold products_log; simpl INR; ring).
  exists (1 * 1 * exp (2 * l + l)), (1 * (1 * 1) * exp (2 * l + l + l)).
  split; [apply single_sound|]. split; [easy|]. split; [lra|]. split; [lia|].
  split; [exact (one_added (2 * l + l) (1 * 1) _ ltac:(lra) eq_refl)|].
  unfold value_product, value_size, delta, value_product, output. rewrite log, !lost_of, !one_of.
  split; [rewrite !Rmult_1_l, (Rabs_right 1), Rabs_right; lra|].
  split; [exact (one_added (2 * l + l + l) (1 * (1 * 1)) _ ltac:(lra) eq_refl)|].
  rewrite !Rmult_1_l, (Rabs_right 1), Rabs_right; lra.
Qed.

(** A recomputed delta, each way, but for the one rounding of an addition to nothing that the bound grants. *)
Example b17_delta_is_inhabited :
  let ones := fun _ : Datatypes.unit => one_unit in
  let rounding := recomputed_delta_rounding single [tt] [tt] one_unit ones one_unit (fun _ => l) l 0 0 0 in
  exists z z', sound single /\ 0 <= l /\ (forall a, In a [tt] -> 0 <= one_unit a /\ 0 <= l /\ 0 <= no_loss a) /\ 0 <= 0 /\
    (forall a, In a [tt] -> approximates l (no_loss a) (one_unit a) (exp l) /\
       Rabs (exp (2 * l + l) - value_product [tt] one_unit ones a)
       <= (exp (products_log single l 0) - 1) * value_size [tt] one_unit ones a + 0) /\
    added single l 0 (map (fun _ => exp l * exp (2 * l + l)) [tt]) z 0 /\ (0 <= 0)%nat /\
    (forall c, In c [tt] -> Rabs (exp (3 * l) - output [tt] ones one_unit c)
                            <= output_rounding single [tt] ones one_unit (fun _ => l) l 0 c + no_loss c) /\
    added single (l + 0 + l) 0 (map (fun c => one_unit c * exp (3 * l)) [tt]) z' 0 /\ z = z' /\
    1 + Rabs (z - delta [tt] [tt] one_unit ones one_unit) = (1 + rounding) * exp (- l).
Proof.
  cbv zeta. pose proof units as [_ hl]. set (z := exp l * exp (2 * l + l) * exp l).
  assert (same : z = 1 * exp (3 * l) * exp (l + l)).
  { unfold z. rewrite Rmult_1_l, <- !exp_plus. f_equal. ring. }
  assert (log : products_log single l 0 = 2 * l + l) by (unfold products_log; simpl INR; ring).
  exists z, (1 * exp (3 * l) * exp (l + l)). rewrite log. unfold value_product, value_size, output, delta, value_product.
  split; [apply single_sound|]. split; [easy|]. split; [intros a _; repeat split; lra|]. split; [lra|]. split.
  { intros a _. split; [rewrite <- (Rmult_1_l (exp l)); now apply approximately|]. rewrite !one_of, Rmult_1_l, (Rabs_right 1) by lra.
    pose proof (exp_at_least_one (2 * l + l) ltac:(lra)). rewrite Rabs_right; lra. }
  split; [exact (one_added l (exp l * exp (2 * l + l)) _ hl eq_refl)|]. split; [lia|]. split.
  { intros c _. unfold output_rounding. rewrite !one_of, Rmult_1_l, (Rabs_right 1) by lra. simpl INR.
    replace (l + (l + (0 + 1) * l)) with (3 * l) by ring. pose proof (exp_at_least_one (3 * l) ltac:(lra)). rewrite Rabs_right; lra. }
  split; [rewrite Rplus_0_r; exact (one_added (l + l) (1 * exp (3 * l)) _ ltac:(lra) eq_refl)|]. split; [easy|].
  unfold recomputed_delta_rounding, value_size. rewrite !one_of, !Rmult_1_l, (Rabs_right 1) by lra. simpl INR.
  replace (1 + 1 * (exp (l + ((0 + 0 + 3) * l + 2 * l + 0)) - 1)) with (exp (l + ((0 + 0 + 3) * l + 2 * l + 0))) by ring.
  rewrite <- exp_plus. replace (l + ((0 + 0 + 3) * l + 2 * l + 0) + - l) with (l + (2 * l + l) + l) by ring.
  assert (zz : z = exp (l + (2 * l + l) + l)) by (unfold z; now rewrite <- !exp_plus).
  pose proof (exp_at_least_one (l + (2 * l + l) + l) ltac:(lra)). rewrite zz, Rabs_right; lra.
Qed.

Example b17_score_gradient_is_reached :
  exists dS, sound single /\ 0 <= / 2 /\ (0 <= l /\ 0 <= 0 /\ 0 <= l /\ 0 <= 0) /\
    computed_score_gradient single (/ 2) l 0 1 (-1) (/ 4) (/ 4) l 0 dS /\
    Rabs (dS - / 2 * (1 - -1))
    = score_gradient_error single (/ 2) l 1 (-1) (/ 4) (/ 4) l + score_gradient_loss single (/ 2) l 0 1 (-1) (/ 4) (/ 4) l 0.
Proof.
  pose proof units as [_ hl]. set (d := (5 / 4 - - (5 / 4)) * exp l). set (z := / 2 * exp l * d * exp l).
  exists (z * exp l). split; [apply single_sound|]. split; [lra|]. split; [lra|]. split.
  - apply score_gradient_computed with (/ 2 * exp l) (5 / 4) (- (5 / 4)) d z.
    + rewrite Rmult_0_r. now apply approximately.
    + rewrite Rabs_right; lra.
    + rewrite Rabs_left1; lra.
    + apply sum_up_by.
    + apply product_up.
    + now apply approximately.
  - unfold score_gradient_error, score_gradient_loss, score_gradient_log; cbn -[unit]. replace (1 - -1) with 2 by ring.
    rewrite (Rabs_right 2) by lra. unfold z, d. replace (l + 2 * l + l) with (l + l + l + l) by ring. rewrite !exp_plus.
    pose proof (exp_at_least_one l hl) as x1. set (x := exp l) in *. assert (1 <= x * x) by nra.
    assert (1 <= x * x * (x * x)) by nra. rewrite Rabs_right; nra.
Qed.

Example b17_sums_are_reached :
  exists y dv z dq, sound single /\ 0 <= l /\ 0 <= 0 /\
    (forall a, In a [tt] -> 0 <= one_unit a /\ 0 <= l /\ 0 <= no_loss a /\ approximates l (no_loss a) (one_unit a) (exp l)) /\
    added single (l + l) 0 (map (fun a => exp l * one_unit a) [tt]) y 0 /\ rounded_output (/ 2048) 0 y dv /\
    (let rounding := weighted_rounding single [tt] l 0 one_unit (fun _ => l) one_unit in
     let loss := weighted_loss single [tt] l 0 0 no_loss one_unit in
     let exact := sum (map (fun a => one_unit a * one_unit a) [tt]) in
     Rabs (dv - exact) = rounding + / 2048 * (Rabs exact + rounding) + (loss * (1 + / 2048) + 0)) /\
    (forall a : Datatypes.unit, In a [tt] -> Rabs (3 / 2 - one_unit a) <= / 2) /\
    scaled_sum single [tt] l 0 0 (fun _ => 3 / 2) one_unit 2 z /\ rounded_output (/ 2048) 0 z dq /\
    (let rounding := gradient_sum_rounding single [tt] l 0 one_unit (fun _ => / 2) one_unit 2 in
     let loss := gradient_sum_loss single [tt] 0 0 one_unit 2 in
     let exact := 2 * sum (map (fun a => one_unit a * one_unit a) [tt]) in
     Rabs (dq - exact) = rounding + / 2048 * (Rabs exact + rounding) + (loss * (1 + / 2048) + 0)).
Proof.
  pose proof units as [_ hl]. pose proof (exp_at_least_one l hl) as x1.
  set (y := exp l * 1 * exp (l + l)). set (y0 := 3 / 2 * 1 * exp (l + l)). set (z := y0 * (2 * exp l) * exp l).
  assert (x2 : 1 <= exp l * exp l) by (now apply one_le_product).
  assert (x3 : 1 <= exp l * (exp l * exp l)) by (now apply one_le_product).
  assert (x4 : 1 <= exp l * exp l * (exp l * exp l)) by (now apply one_le_product).
  exists y, (y * (1 + / 2048)), z, (z * (1 + / 2048)). split; [apply single_sound|]. split; [easy|]. split; [lra|].
  split; [intros a _; repeat split; try lra; rewrite <- (Rmult_1_l (exp l)); now apply approximately|].
  split; [exact (one_added (l + l) (exp l * 1) _ ltac:(lra) eq_refl)|]. split; [apply output_up|]. cbv zeta. split.
  { unfold weighted_rounding, weighted_loss. rewrite lost_of, !one_of, !Rmult_1_l, (Rabs_right 1) by lra. simpl INR.
    unfold y. replace (l + (l + (0 + 1) * l)) with (l + (l + l)) by ring. rewrite !exp_plus. rewrite Rabs_right; lra. }
  split; [intros a _; rewrite Rabs_right; lra|]. split.
  { apply scaled_total with y0 l; [exact (one_added (l + l) (3 / 2 * 1) _ ltac:(lra) eq_refl)|rewrite Rabs_right; lra|apply product_up]. }
  split; [apply output_up|].
  unfold gradient_sum_rounding, gradient_sum_loss. rewrite lost_of, !one_of, !Rmult_1_l, (Rabs_right 1), (Rabs_right 2) by lra.
  cbn -[unit]. unfold z, y0. replace ((0 + 3) * l + l) with (l + l + (l + l)) by ring. rewrite !exp_plus.
  rewrite (Rabs_right (2 * 1)), Rabs_right; lra.
Qed.
