(** * The premises of B7, B9 and B10 hold of something; B9's bound is reached.

    The kernel [single] of reached_bounds.v adds the values 1, 1 under the scores 0, 0 as far from their mean as it may.

    Examples
    - [score_is_reached], [b9_is_reached]   all premises of the theorem, and its right-hand side as an equality
    - [polynomial_of_b10], [b10_is_inhabited]   all premises; the polynomial's last coefficient and a temperature off by 1/8
    - [b9_sharpened_is_inhabited]   all premises, at a temperature off by 1/8
    - [b9_stored_is_inhabited]      the same sums beside values and a quotient that are stored
    - [b7_is_inhabited]        five logits of binary32

    Source: score_error.v, b7_uncentred_failure.v, b9_attention.v, b10_temperature.v. *)

From Coq Require Import ZArith.
From Flocq Require Import Core.
From softcheck Require Import softmax adaptive_temperature quartic.
From softcheck.numerics Require Import row tilted_row reduction constants b1_sum b2_element b5_logsumexp b6_entropy
  b7_uncentred_failure b9_attention b10_temperature b9_sharpened b9_stored_values added_terms score_error reached_bounds.
Local Open Scope R_scope.

Notation E := (exp_unit single).
Notation l := (unit single).

(** ** A score: two products of 1, one addition, the scale and its own rounding *)

Lemma far_product : dotted single ((1 + INR 0) * l) (product_floor single) [1] (exp l) 0.
Proof.
  pose proof units. apply dotted_product with l 0; [rewrite Rabs_right by lra; cbn -[unit]; lra|rewrite Rabs_R0; cbn; lra|].
  rewrite Rmult_1_l. ring.
Qed.

Example score_is_reached :
  exists t y score, dotted single ((1 + INR 0) * l) (product_floor single) [1; 1] y 1 /\ (1 <= length [1; 1] - 1)%nat /\
    Rabs t <= l /\ computed_product single (y * (1 * exp t)) score /\
    let k := (size [1; 1] + 2 + INR 0) * l in
    Rabs (score - 1 * sum [1; 1])
    = Rabs 1 * ((exp k - 1) * score_error.magnitude [1; 1]
                + exp k * (size [1; 1] * (product_floor single + sum_floor single))) + product_floor single.
Proof.
  set (y := (exp l + exp l) * exp (1 * l)). exists l, y, (y * (1 * exp l) * exp (1 * l)). pose proof units.
  split; [apply (dotted_addition single _ _ [1] [1] (exp l) (exp l) y 0 0); [apply far_product|apply far_product|];
          apply sum_off; lra|].
  split; [cbn; lia|]. split; [rewrite Rabs_right; lra|]. split; [apply product_off; lra|]. cbv zeta.
  unfold size, score_error.magnitude, sum; cbn -[unit]. replace ((1 + 1 + 2 + 0) * l) with (l + l + l + l) by ring.
  unfold y. rewrite !Rmult_1_l, !exp_plus. pose proof (exp_at_least_one l ltac:(lra)). rewrite (Rabs_right 1) by lra.
  set (x := exp l) in *. assert (1 <= x * x) by nra. assert (1 <= (x * x) * (x * x)) by nra. rewrite Rabs_right; nra.
Qed.

(** ** B9 *)

Definition one_value : key := {| score := 0; computed_score := 0; value := 1 |}.
Definition two_keys : list key := [one_value; one_value].
(** Weights that enter the sum rounded once more. *)
Definition stored_weights : weight_format := {| weight_unit := l; weight_floor := 0 |}.

Definition far_term : R := exp (1 * E) * exp l * 1 * exp (1 * l).
Definition far_values : R := (far_term + far_term) * exp (1 * l) * exp (1 * E) * exp (1 * l).

Lemma far_accumulated : accumulated single stored_weights (map (fun a => (computed_score a, value a)) two_keys) 0 far_values 1 1 1.
Proof.
  pose proof units. cbn [map two_keys one_value computed_score value].
  assert (item : accumulated single stored_weights [(0, 1)] 0 far_term 0 0 0).
  { apply accumulated_item with 0 (exp (1 * E)) l 0; try lra.
    - rewrite Rminus_0_r. apply argument_of_0.
    - apply exp_of_0. lra.
    - rewrite Rabs_right by lra. cbn -[unit]. lra.
    - rewrite Rabs_R0. cbn. lra.
    - unfold far_term. rewrite Rplus_0_r. apply product_off. lra. }
  apply accumulated_rescaled with 0 ((far_term + far_term) * exp (1 * l)) 0 (exp (1 * E)); try lra.
  - apply (accumulated_addition single stored_weights [(0, 1)] [(0, 1)] 0 far_term far_term _ 0 0 0 0 0 0); try easy.
    apply sum_off. lra.
  - rewrite Rminus_0_r. apply argument_of_0.
  - apply exp_of_0. lra.
  - apply product_off. lra.
Qed.

Example b9_is_reached :
  exists y s q O_hat,
    is_maximum 0 (map score two_keys) /\ is_maximum 0 (map computed_score two_keys) /\
    (forall a, In a two_keys -> Rabs (computed_score a - score a) <= 0 <= 0) /\
    accumulated single stored_weights (map (fun a => (computed_score a, value a)) two_keys) 0 y 1 1 1 /\
    sum_of_row single 0 0 (map computed_score two_keys) s 1 1 /\
    lost_sum single 0 0 (map computed_score two_keys) 1 1 < 1 /\
    quotient_by_sum single 0 y s q /\ rounded_output (/ 2048) 0 q O_hat /\
    let common := common_log single two_keys 0 0 (fun _ => 0) 0 1 1 0 in
    let rounding := (exp common - 1) * Rabs (attention_output two_keys 0)
                    + exp common * terms_error single stored_weights two_keys 0 (fun _ => 0) 0 1 1 in
    let lost := exp common * terms_lost single stored_weights two_keys 0 1 1 1 + product_floor single in
    Rabs (O_hat - attention_output two_keys 0)
    = rounding + / 2048 * (Rabs (attention_output two_keys 0) + rounding) + (lost * (1 + / 2048) + 0).
Proof.
  set (q := far_values * (1 / far_sum (-1) * exp (reciprocal_unit single 0)) * exp (1 * l)).
  exists far_values, (far_sum (-1)), q, (q * (1 + / 2048)). pose proof units.
  assert (same : reciprocal_unit single 0 = l) by (unfold reciprocal_unit, unit; rewrite Rplus_0_r; easy).
  split; [apply level_maximum|]. split; [apply level_maximum|].
  split; [intros a [<-|[<-|[]]]; cbn; rewrite Rminus_0_r, Rabs_R0; lra|]. split; [apply far_accumulated|].
  split; [apply far_sum_of_row; lra|].
  split; [change (map computed_score two_keys) with level; rewrite nothing_lost; lra|].
  split; [apply by_reciprocal with (reciprocal_unit single 0); [rewrite same, Rabs_right; lra|apply product_off; lra]|].
  split; [apply output_up|]. cbv zeta. assert (half_each : forall a, In a two_keys -> weight two_keys 0 a = / 2).
  { intros a ina. unfold weight. change (map score two_keys) with level. rewrite level_sum.
    assert (a = one_value) as -> by (destruct ina as [<-|[<-|[]]]; easy). cbn. rewrite Rminus_0_r, Ropp_0, exp_0. lra. }
  assert (w : weight two_keys 0 one_value = / 2) by (apply half_each; now left).
  assert (O : attention_output two_keys 0 = 1). { unfold attention_output, sum; cbn -[weight]. rewrite w. lra. }
  set (b := term_log single stored_weights 1 1).
  assert (hb : b = 2 * E + 4 * l) by (unfold b, term_log; cbn -[unit exp_unit]; ring).
  assert (terms : terms_error single stored_weights two_keys 0 (fun _ => 0) 0 1 1 = exp b - 1).
  { unfold terms_error, sum, key_log; cbn -[weight standard_model.slope term_log].
    rewrite w, no_slope, (Rabs_right 1) by lra. fold b. replace (0 + b + 0 * (0 - 0 + 2 * 0)) with b by ring. field. }
  assert (lost : terms_lost single stored_weights two_keys 0 1 1 1 = 0).
  { unfold terms_lost, lost_values; cbn -[term_log]. ring. }
  assert (common : common_log single two_keys 0 0 (fun _ => 0) 0 1 1 0 = 2 * E + 4 * l).
  { unfold common_log, normaliser_log, mean_score_error, quotient_unit. rewrite same.
    change (map computed_score two_keys) with level. rewrite sigma_is. unfold sum; cbn -[unit exp_unit weight]. ring. }
  rewrite O, terms, lost, common. assert (is : q = exp (2 * E + 4 * l) * exp b).
  { unfold q, far_values, far_term. rewrite far_sum_is, same, hb.
    replace (-1 * (2 * E + 2 * l)) with (- (2 * E + 2 * l)) by ring. rewrite exp_Ropp, !Rmult_1_l.
    replace (2 * E + 4 * l) with (E + E + l + l + l + l) by ring.
    replace (2 * E + 2 * l) with (E + E + l + l) by ring. rewrite !exp_plus. pose proof (exp_pos E).
    pose proof (exp_pos l). field. split; apply Rgt_not_eq; easy. }
  assert (above : 1 <= q). { rewrite is, hb, <- exp_plus. apply exp_at_least_one. lra. }
  rewrite (Rabs_right 1), (Rabs_right (q * (1 + / 2048) - 1)) by nra. rewrite is. cbn. field.
Qed.

(** ** B10 *)

Lemma stored_as_is a : stored single a a.
Proof. apply rel_widen with 0; [apply units|apply rel_refl] || (exists 0; rewrite Rabs_R0, exp_0; pose proof units; split; [lra|ring]). Qed.

Lemma exact_product z : computed_product single z z.
Proof. replace z with (z * exp (0 * l)) at 2 by (rewrite Rmult_0_l, exp_0; ring). apply product_off. lra. Qed.

Lemma exact_sum z : computed_sum single z z.
Proof. replace z with (z * exp (0 * l)) at 2 by (rewrite Rmult_0_l, exp_0; ring). apply sum_off. lra. Qed.

(** The polynomial at H = 3 without an error but one of the last addition. *)
Example polynomial_of_b10 :
  let s3 := -37 / 1000 * 3 + 481 / 1000 in
  let s2 := s3 * 3 + -2300 / 1000 in
  let s1 := s2 * 3 + 4917 / 1000 in
  exists s0, 0 <= 3 /\
    stored single (-37 / 1000) (-37 / 1000) /\ stored single (481 / 1000) (481 / 1000) /\
    stored single (-2300 / 1000) (-2300 / 1000) /\ stored single (4917 / 1000) (4917 / 1000) /\
    stored single (-1791 / 1000) (-1791 / 1000) /\
    computed_product single (-37 / 1000 * 3) (-37 / 1000 * 3) /\ computed_sum single s3 s3 /\
    computed_product single (s3 * 3) (s3 * 3) /\ computed_sum single s2 s2 /\
    computed_product single (s2 * 3) (s2 * 3) /\ computed_sum single s1 s1 /\
    computed_product single (s1 * 3) (s1 * 3) /\ computed_sum single (s1 * 3 + -1791 / 1000) s0 /\
    s0 = quartic 3 * exp l /\ 1 < quartic 3.
Proof.
  intros s3 s2 s1. exists ((s1 * 3 + -1791 / 1000) * exp (1 * l)). split; [lra|]. repeat (split; [apply stored_as_is|]).
  split; [apply exact_product|]. split; [apply exact_sum|]. split; [apply exact_product|]. split; [apply exact_sum|].
  split; [apply exact_product|]. split; [apply exact_sum|]. split; [apply exact_product|]. split; [apply sum_off; lra|].
  unfold s1, s2, s3, quartic. rewrite Rmult_1_l. split; [f_equal; field|lra].
Qed.

(** A temperature off by an eighth; equal logits stay what they are. *)
Example b10_is_inhabited :
  let s := 9 / 8 in
  exists S_hat p, is_maximum 0 level /\ 0 <= / 8 < 1 /\ Rabs (s - 1) <= / 8 /\ 0 < s /\
    sum_of_row single 0 (s * 0) (scaled s level) S_hat 1 1 /\ lost_sum single 0 (s * 0) (scaled s level) 1 1 < 1 /\
    standard_model.slope single * (1 + / 8) + / 8 < 1 /\ In 0 level /\ computed_element single half 0 (s * 0) 1 S_hat (s * 0) p.
Proof.
  intros s. exists (far_sum (-1)), far_element.
  assert (same : scaled s level = level) by (unfold scaled; cbn; now rewrite !Rmult_0_r). rewrite same, Rmult_0_r.
  split; [apply level_maximum|]. split; [lra|]. split; [unfold s; apply Rabs_le; lra|]. split; [unfold s; lra|].
  split; [apply far_sum_of_row; lra|]. split; [rewrite nothing_lost; lra|]. split; [rewrite no_slope; lra|].
  split; [now left|]. apply far_element_of_row. now left.
Qed.

(** ** B9 with B10 *)

Example b9_sharpened_is_inhabited :
  let s := 9 / 8 in
  exists y S_hat q O_hat,
    is_maximum 0 (map score two_keys) /\ is_maximum 0 (map computed_score two_keys) /\
    (forall a, In a two_keys -> Rabs (computed_score a - score a) <= 0 <= 0) /\
    0 <= / 8 < 1 /\ Rabs (s - 1) <= / 8 /\ 0 < s /\
    accumulated single stored_weights (map (fun a => (s * computed_score a, value a)) two_keys) (s * 0) y 1 1 1 /\
    sum_of_row single 0 (s * 0) (scaled s (map computed_score two_keys)) S_hat 1 1 /\
    lost_sum single 0 (s * 0) (scaled s (map computed_score two_keys)) 1 1 < 1 /\
    quotient_by_sum single 0 y S_hat q /\ rounded_output (/ 2048) 0 q O_hat /\
    INR 1 <= 2 * size two_keys /\ slope single * (1 + / 8) + / 8 < 1.
Proof.
  intros s. destruct b9_is_reached as (y & S_hat & q & O_hat & top & top' & errs & hy & hs & some & hq & hout & _).
  exists y, S_hat, q, O_hat. assert (row : scaled s (map computed_score two_keys) = map computed_score two_keys).
  { unfold scaled. cbn. now rewrite !Rmult_0_r. }
  assert (pairs : map (fun a => (s * computed_score a, value a)) two_keys
    = map (fun a => (computed_score a, value a)) two_keys).
  { cbn. now rewrite !Rmult_0_r. } rewrite row, pairs, Rmult_0_r. unfold s.
  repeat (split; [easy || lra || (apply Rabs_le; lra) || (unfold size; cbn; lra)|]). rewrite no_slope. lra.
Qed.

(** Each value is e^lambda as it is, 1 as it is held; the quotient goes up once more. *)
Definition stored_row : list (key * R) := [(one_value, exp l); (one_value, exp l)].

Example b9_stored_is_inhabited :
  let N := stored_arithmetic single l 0 in let s := 9 / 8 in
  exists y S_hat z q O_hat,
    0 <= weight_unit stored_weights /\ 0 <= weight_floor stored_weights <= / 2 /\ 0 <= l /\ product_floor single * exp l + 0 <= / 16 /\
    map fst stored_row = two_keys /\ (forall q, In q stored_row -> approximates (0 + l) 0 (snd q) (value (fst q))) /\
    accumulated N stored_weights (map (fun a => (s * computed_score a, value a)) (map fst stored_row)) (s * 0) y 1 1 1 /\
    sum_of_row single 0 (s * 0) (scaled s (map computed_score (map fst stored_row))) S_hat 1 1 /\
    quotient_by_sum single 0 y S_hat z /\ approximates l 0 z q /\ rounded_output (/ 2048) 0 q O_hat.
Proof.
  intros N s. destruct b9_sharpened_is_inhabited as (y & S_hat & z & O_hat & _ & _ & _ & _ & _ & _ & hy & hs & _ & hz & _). pose proof units.
  exists y, S_hat, z, (z * exp l), (z * exp l * (1 + / 2048)).
  repeat (split; [cbn -[unit]; lra|]). split; [easy|]. split; [|split; [|split; [exact hs|split; [exact hz|split]]]].
  - intros q inq. exists (- l), 0. rewrite Rabs_R0, Rabs_Ropp, Rabs_right by lra. split; [lra|]. split; [lra|].
    assert (q = (one_value, exp l)) as -> by (destruct inq as [<-|[<-|[]]]; easy). cbn -[unit]. rewrite <- exp_plus, Rplus_opp_r, exp_0. ring.
  - apply (stored_accumulated single single_sound l 0); [lra|exact hy].
  - exists l, 0. rewrite Rabs_R0, Rabs_right by lra. repeat split; try lra.
  - apply output_up.
Qed.

(** ** B7 *)

Example b7_is_inhabited :
  (4 <= 24)%Z /\ 0 <= 1 < bpow radix2 2 / 2 /\
  Rabs (logit 24 2) = 67108860 /\ unit_roundoff 24 * Rabs (logit 24 2) = 4 - / 4194304.
Proof.
  assert (x : logit 24 2 = 67108860) by (unfold logit; cbn; ring).
  split; [lia|]. split; [cbn; lra|]. rewrite x, Rabs_right by lra. split; [easy|]. unfold unit_roundoff. cbn. lra.
Qed.
