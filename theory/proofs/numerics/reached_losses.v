(** * The premises of B12 to B15 hold of something, and their bounds are reached.

    As in reached_bounds.v: the kernel [single] errs as far as it may. Where a theorem bounds a sum whose terms err by
    themselves, one term carries the whole error.

    Examples
    - [b12_is_reached], [b13_is_reached]   a gradient of a row of one product
    - [b14_..._is_reached], [b15_..._is_reached]   each part of a cross-entropy and of its gradient

    Source: b12_softmax_gradient.v ... b15_cross_entropy_gradient.v. *)

From softcheck.numerics Require Import row tilted_row reduction constants b1_sum b2_element element_threshold
  b5_logsumexp score_error added_terms b12_softmax_gradient b15_cross_entropy_gradient reached_bounds.
Local Open Scope R_scope.

Notation E := (exp_unit single).
Notation l := (unit single).

(** Read and stored with one more rounding. *)
Definition rounded_storage : storage := {| reading_unit := l; reading_loss := 0; product_unit := l; product_loss := 0 |}.
Notation P := rounded_storage.

Lemma storage_sound : sound_storage P.
Proof. unfold sound_storage; cbn -[unit]. pose proof units. repeat split; lra. Qed.

Lemma approximately a x : 0 <= a -> approximates a 0 x (x * exp a).
Proof. intros ha. exists a, 0. rewrite Rabs_R0, Rabs_right by lra. repeat split; lra. Qed.

Lemma product_up z : computed_product single z (z * exp l).
Proof. rewrite <- (Rmult_1_l l) at 1. apply product_off. lra. Qed.

Lemma sum_up_by z : computed_sum single z (z * exp l).
Proof. rewrite <- (Rmult_1_l l) at 1. apply sum_off. lra. Qed.

Lemma added_one a x : 0 <= a -> added single a 0 [x] (x * exp a) 0.
Proof. intros ha. apply added_term. now apply approximately. Qed.

(** Two terms as far up as they may. *)
Lemma added_two a x x' : 0 <= a -> added single a 0 [x; x'] ((x * exp a + x' * exp a) * exp l) 1.
Proof.
  intros ha. apply (added_addition single a 0 [x] [x'] (x * exp a) (x' * exp a) _ 0 0); [| |apply sum_up_by]; now apply added_one.
Qed.

(** ** B12: y = 1/2, g = 1, the only product 1/2 * -2; y g and -y M have one sign *)

Definition one_product : list (R * R) := [(/ 2, -2)].

Example b12_is_reached :
  exists m_hat z dx, sound single /\ sound_storage P /\ 0 <= / 2 /\ 0 <= 2 /\
    added single (term_log single P) (term_loss single P (/ 2) 2) (products one_product) m_hat 0 /\
    Rabs (/ 2) <= / 2 /\ Rabs 1 <= 2 /\ computed_gradient single P m_hat (/ 2) 1 z /\ rounded_output (/ 2048) 0 z dx /\
    let exact := / 2 * (1 - sum (products one_product)) in
    let rounding := gradient_rounding single P one_product 0 (/ 2) 1 in
    Rabs (dx - exact)
    = rounding + / 2048 * (Rabs exact + rounding) + (gradient_loss single P (/ 2) 2 one_product 0 (/ 2) 1 * (1 + / 2048) + 0).
Proof.
  set (T := term_log single P). pose proof units as pos.
  assert (hT : T = 4 * l) by (unfold T, term_log; cbn -[unit]; ring).
  assert (loss : term_loss single P (/ 2) 2 = 0) by (unfold term_loss; cbn -[term_log]; ring).
  set (m_hat := (/ 2 * -2) * exp T).
  set (p := (/ 2 * exp l) * (1 * exp l) * exp l * exp l). set (q := (/ 2 * exp l) * m_hat * exp l). set (z := (p - q) * exp l).
  exists m_hat, z, (z * (1 + / 2048)).
  split; [apply single_sound|]. split; [apply storage_sound|]. split; [lra|]. split; [lra|].
  split; [rewrite loss; apply added_one; fold T; lra|].
  split; [rewrite Rabs_right; lra|]. split; [rewrite Rabs_right; lra|].
  split.
  { apply gradient_expanded with (/ 2 * exp l) p q; [apply approximately; cbn -[unit]; lra| |apply product_up|apply sum_up_by].
    exists (/ 2 * exp l), (1 * exp l), ((/ 2 * exp l) * (1 * exp l) * exp l).
    split; [apply approximately; cbn -[unit]; lra|]. split; [apply approximately; cbn -[unit]; lra|].
    split; [apply product_up|apply approximately; cbn -[unit]; lra]. }
  split; [apply output_up|]. cbv zeta.
  assert (mean : sum (products one_product) = -1) by (unfold sum; cbn; lra).
  assert (nothing : gradient_loss single P (/ 2) 2 one_product 0 (/ 2) 1 = 0).
  { unfold gradient_loss, mean_loss, added_loss. rewrite loss. unfold size; cbn -[difference_log]. ring. }
  assert (big : gradient_rounding single P one_product 0 (/ 2) 1 = z - 1).
  { unfold gradient_rounding, mean_rounding, added_rounding, difference_log. rewrite mean. fold T.
    unfold magnitude, sum; cbn -[unit]. rewrite (Rabs_left (-1)), (Rabs_left (/ 2 * -2)), (Rabs_right (/ 2)), (Rabs_right 1) by lra.
    unfold z, p, q, m_hat. rewrite hT.
    replace (4 * l + l) with (l + l + l + l + l) by ring. replace (4 * l + 0 * l) with (l + l + l + l) by ring.
    replace (2 * l + l) with (l + l + l) by ring. replace (4 * l) with (l + l + l + l) by ring. rewrite !exp_plus. field. }
  assert (above : 1 <= z).
  { unfold z, p, q, m_hat. pose proof (exp_at_least_one l ltac:(lra)) as x1.
    pose proof (exp_at_least_one T ltac:(lra)) as t1. set (x := exp l) in *. set (t := exp T) in *.
    assert (1 <= x * x) by nra. assert (1 <= x * x * (x * x)) by nra. assert (1 <= x * x * x * t) by nra.
    replace ((/ 2 * x * (1 * x) * x * x - / 2 * x * (/ 2 * -2 * t) * x) * x)
      with (/ 2 * (x * x * (x * x) * x) + / 2 * (x * x * x * t)) by field. nra. }
  rewrite nothing, big, mean. replace (/ 2 * (1 - -1)) with 1 by field.
  rewrite (Rabs_right 1), (Rabs_right (z * (1 + / 2048) - 1)) by nra. ring.
Qed.

(** ** B13: y = -1, g = 1, T = -1 *)

Example b13_is_reached :
  exists t_hat g' f p z dx, sound single /\ sound_storage P /\ 0 <= 0 /\
    added single (reading_unit P) (reading_loss P) [-1] t_hat 0 /\
    approximates (reading_unit P) (reading_loss P) 1 g' /\ computed_power single P 0 (-1) f /\
    computed_product single (f * t_hat) p /\ rounded_sum single (g' - p) z /\ rounded_output (/ 2048) 0 z dx /\
    let exact := 1 - exp (-1) * sum [-1] in
    let second := log_gradient_second single P 0 [-1] 0 (-1) 1 in
    Rabs (dx - exact)
    = second + / 2048 * (Rabs exact + second) + (log_gradient_loss single P 0 [-1] 0 (-1) * (1 + / 2048) + 0).
Proof.
  pose proof units as pos. set (t_hat := -1 * exp l). set (f := exp (- 1 + E)). set (p := f * t_hat * exp l).
  set (z := (1 * exp l - p) * (1 + roundoff single)). exists t_hat, (1 * exp l), f, p, z, (z * (1 + / 2048)).
  split; [apply single_sound|]. split; [apply storage_sound|]. split; [lra|].
  split; [apply added_one; cbn -[unit]; lra|]. split; [apply approximately; cbn -[unit]; lra|]. split.
  { exists 1. split; [exists 0, 0; rewrite Rabs_R0, exp_0; cbn; repeat split; lra|]. exists E, 0.
    rewrite Rabs_R0, Rabs_right by lra. cbn -[exp_unit]. split; [lra|]. split; [lra|]. split; [lra|]. split; [easy|].
    unfold f. now rewrite Rplus_0_r. }
  split; [apply product_up|]. split; [apply sum_up|]. split; [apply output_up|]. cbv zeta.
  assert (total : sum [-1] = -1) by (unfold sum; cbn; ring).
  assert (nothing : log_gradient_loss single P 0 [-1] 0 (-1) = 0).
  { unfold log_gradient_loss, product_lost, total_loss, added_loss. unfold size; cbn -[power_log]. ring. }
  assert (first : log_gradient_first single P 0 [-1] 0 (-1) 1 = exp l - p - (1 + exp (-1))).
  { unfold log_gradient_first, product_rounding, total_rounding, added_rounding, power_log. rewrite total.
    unfold magnitude, sum; cbn -[unit exp_unit]. rewrite (Rabs_left (-1)), (Rabs_right 1), exp_0 by lra.
    unfold p, f, t_hat. replace (l + 0 * l) with l by ring. replace ((1 - 1) * - -1 + 0 + E + l) with (E + l) by ring.
    rewrite !exp_plus. replace (- 1) with (-1) by ring. ring. }
  pose proof (exp_pos (-1)) as small. pose proof (exp_at_least_one l ltac:(lra)) as x1. assert (pp : p <= - exp (-1)).
  { unfold p, f, t_hat. rewrite exp_plus. replace (- 1) with (-1) by ring.
    pose proof (exp_at_least_one E ltac:(lra)) as e1. set (x := exp l) in *. set (e := exp E) in *.
    set (s := exp (-1)) in *. replace (s * e * (-1 * x) * x) with (- (s * (e * (x * x)))) by ring.
    assert (1 <= x * x) by nra. assert (1 <= e * (x * x)) by nra. nra. }
  unfold log_gradient_second. rewrite nothing, first, total. replace (1 - exp (-1) * -1) with (1 + exp (-1)) by ring.
  rewrite (Rabs_right (1 + exp (-1))) by lra. assert (zpos : 1 + exp (-1) <= z) by (unfold z; cbn; nra).
  rewrite Rabs_right by nra. unfold z. ring.
Qed.

(** ** B14 *)

Example b14_square_is_reached : Rabs (2 - 1) <= 1 /\ Rabs (2 ^ 2 - 1 ^ 2) = 1 * (2 * Rabs 1 + 1).
Proof. rewrite (Rabs_right 1), !Rabs_right by lra. lra. Qed.

(** The cross-entropy of a hard label is a log-probability: [b5_log_softmax_is_reached] holds its premises too. *)
Example b14_loss_is_reached :
  exists y, 0 <= l /\ Rabs (2 - 1) <= 1 /\ Rabs (0 - 0) <= 0 /\
    added single l 0 [1 * 2; 0 * 0; 0 * 0 ^ 2] y 2 /\
    let magnitude := 1 * Rabs 1 + 0 * Rabs 0 + 0 * 0 ^ 2 in
    let error := 1 * 1 + 0 * 0 + 0 * (0 * (2 * Rabs 0 + 0)) in
    Rabs (y - (1 * 1 + 0 * 0 + 0 * 0 ^ 2))
    = exp (l + INR 2 * l) * (magnitude + error) - magnitude + exp (INR 2 * l) * (3 * 0 + 2 * sum_floor single).
Proof.
  pose proof units as pos. exists (((1 * 2 * exp l + 0 * 0 * exp l) * exp l + 0 * 0 ^ 2 * exp l) * exp l).
  split; [lra|]. split; [rewrite Rabs_right; lra|]. split; [rewrite Rminus_0_r, Rabs_R0; lra|].
  split.
  { apply (added_addition single l 0 [1 * 2; 0 * 0] [0 * 0 ^ 2] ((1 * 2 * exp l + 0 * 0 * exp l) * exp l) (0 * 0 ^ 2 * exp l) _ 1 0);
      [apply added_two; lra|apply added_one; lra|apply sum_up_by]. }
  cbv zeta. rewrite Rabs_R0, (Rabs_right 1) by lra. replace (l + INR 2 * l) with (l + l + l) by (cbn -[unit]; ring).
  rewrite !exp_plus. pose proof (exp_at_least_one l ltac:(lra)) as x1. set (x := exp l) in *. cbn -[unit].
  assert (1 <= x * x) by nra. rewrite Rabs_right by nra. ring.
Qed.

Example b14_smoothing_of_logarithms_is_reached :
  let classes := [(1, (1, (2, 1)))] in
  exists y, 0 <= l /\
    (forall w ell ell' e, In (w, (ell, (ell', e))) classes -> 0 <= w /\ 0 <= ell /\ Rabs (ell' - ell) <= e) /\
    added single l 0 (map (fun c => fst c * fst (snd (snd c))) classes) y 0 /\
    let exact := sum (map (fun c => fst c * fst (snd c)) classes) in
    let error := sum (map (fun c => fst c * snd (snd (snd c))) classes) in
    Rabs (y - exact) = exp (l + INR 0 * l) * (exact + error) - exact + added_loss single 0 0 (map fst classes).
Proof.
  intros classes. pose proof units as pos. exists (1 * 2 * exp l). split; [lra|].
  split; [intros w ell ell' e [same|[]]; injection same as <- <- <- <-; rewrite Rabs_right; lra|].
  split; [apply added_one; lra|]. unfold added_loss, size, sum; cbn -[unit]. replace (l + 0 * l) with l by ring.
  pose proof (exp_at_least_one l ltac:(lra)). rewrite Rabs_right; lra.
Qed.

Example b14_smoothing_of_logits_is_reached :
  exists y, 0 <= l /\ Rabs (2 - 1) <= 1 /\ Rabs (-2 - -1) <= 1 /\ added single l 0 [1 * 2; - -2] y 1 /\
    let magnitude := 1 * Rabs 1 + Rabs (-1) in
    let error := 1 * 1 + 1 in
    Rabs (y - (1 * 1 - -1))
    = exp (l + unit single) * (magnitude + error) - magnitude + exp (unit single) * (2 * 0 + sum_floor single).
Proof.
  pose proof units as pos. exists ((1 * 2 * exp l + - -2 * exp l) * exp l). split; [lra|].
  split; [rewrite Rabs_right; lra|]. split; [rewrite Rabs_left; lra|]. split; [apply added_two; lra|].
  cbv zeta. rewrite (Rabs_right 1), (Rabs_left (-1)), exp_plus by lra. pose proof (exp_at_least_one l ltac:(lra)) as x1.
  set (x := exp l) in *. cbn. assert (1 <= x * x) by nra. rewrite Rabs_right; nra.
Qed.

Example b14_mean_is_reached :
  exists y z, 0 <= l /\ 0 < 1 /\ perturbed [2] [1] [1] /\ added single l 0 [2] y 0 /\ Rabs (- l) <= l /\
    computed_product single (y / (1 * exp (- l))) z /\
    Rabs (z - sum [1] / 1)
    = (exp (l + INR 0 * l + l + l) * (magnitude [1] + sum [1]) - magnitude [1] + exp (l + l) * added_loss single 0 0 [1]) / 1
      + product_floor single.
Proof.
  pose proof units as pos. exists (2 * exp l), (2 * exp l / (1 * exp (- l)) * exp l). split; [lra|]. split; [lra|].
  split; [constructor; [rewrite Rabs_right; lra|constructor]|]. split; [apply added_one; lra|].
  split; [rewrite Rabs_Ropp, Rabs_right; lra|]. split; [apply product_up|].
  unfold added_loss, size, magnitude, sum; cbn -[unit]. rewrite (Rabs_right 1), exp_Ropp by lra.
  replace (l + 0 * l + l + l) with (l + l + l) by ring. rewrite !exp_plus.
  pose proof (exp_at_least_one l ltac:(lra)) as x1. set (x := exp l) in *.
  replace (2 * x / (1 * / x) * x) with (2 * (x * x * x)) by (field; lra).
  assert (1 <= x * x) by nra. assert (1 <= x * x * x) by nra. rewrite Rabs_right; lra.
Qed.

(** ** B15 *)

Example b15_hard_label_is_reached :
  exists z, Rabs (1 - / 2) <= / 2 + 0 /\ rounded_sum single (1 - 0) z /\
    Rabs (z - (/ 2 - 0))
    = / 2 + roundoff single * (Rabs (/ 2 - 0) + / 2) + (0 * (1 + roundoff single) + sum_floor single).
Proof.
  exists ((1 - 0) * (1 + roundoff single)). split; [rewrite Rabs_right; lra|]. split; [apply sum_up|].
  rewrite (Rabs_right (/ 2 - 0)) by lra. cbn. rewrite Rabs_right; lra.
Qed.

Example b15_difference_is_reached :
  exists y, 0 <= l /\ 0 <= / 2 /\ Rabs (1 - / 2) <= / 2 /\ perturbed [2] [1] [1] /\
    added single l 0 (map (fun x => x * 1) [2] ++ map Ropp [-1]) y 1 /\
    let size_alpha := magnitude [1] in
    let error := (size_alpha + sum [1]) * / 2 + sum [1] * / 2 in
    Rabs (y - (sum [1] * / 2 - sum [-1]))
    = exp (l + INR 1 * l) * (size_alpha * / 2 + magnitude [-1] + error) - (size_alpha * / 2 + magnitude [-1])
      + added_loss single 0 1 ([1] ++ [-1]).
Proof.
  pose proof units as pos. exists ((2 * 1 * exp l + - -1 * exp l) * exp l). split; [lra|]. split; [lra|].
  split; [rewrite Rabs_right; lra|]. split; [constructor; [rewrite Rabs_right; lra|constructor]|].
  split; [apply added_two; lra|].
  unfold added_loss, size, magnitude, sum; cbn -[unit]. rewrite (Rabs_right 1), (Rabs_left (-1)), Rmult_1_l, exp_plus by lra.
  pose proof (exp_at_least_one l ltac:(lra)) as x1. set (x := exp l) in *. assert (1 <= x * x) by nra. rewrite Rabs_right; nra.
Qed.

Example b15_slope_is_reached :
  exists z, 0 <= 1 /\ Rabs (2 - 1) <= 1 /\ computed_product single (2 * 2) z /\
    Rabs (z - 1 * 1)
    = 1 * (1 + ((exp l - 1) * 1 + exp l * 1)) + Rabs 1 * ((exp l - 1) * 1 + exp l * 1) + product_floor single.
Proof.
  pose proof units as pos. exists (2 * 2 * exp l). split; [lra|]. split; [rewrite Rabs_right; lra|]. split; [apply product_up|].
  pose proof (exp_at_least_one l ltac:(lra)). rewrite (Rabs_right 1) by lra. cbn -[unit]. rewrite Rabs_right; lra.
Qed.

Example b15_gradient_is_reached :
  exists scale z dx, Rabs (2 - 1) <= 1 + 0 /\ computed_product single (1 / 1) scale /\ computed_product single (scale * 2) z /\
    rounded_output (/ 2048) 0 z dx /\
    let up := Rabs (1 / 1) in
    let rounding := up * (exp (2 * l) * (Rabs 1 + 1) - Rabs 1) in
    let floor := exp (2 * l) * (up * 0 + product_floor single * (Rabs 1 + 1 + 0)) + product_floor single in
    Rabs (dx - 1 / 1 * 1) = rounding + / 2048 * (Rabs (1 / 1 * 1) + rounding) + (floor * (1 + / 2048) + 0).
Proof.
  pose proof units as pos. exists (1 / 1 * exp l), (1 / 1 * exp l * 2 * exp l), (1 / 1 * exp l * 2 * exp l * (1 + / 2048)).
  split; [rewrite Rabs_right; lra|]. split; [apply product_up|]. split; [apply product_up|]. split; [apply output_up|].
  cbv zeta. replace (1 / 1) with 1 by field. rewrite Rmult_1_r, (Rabs_right 1) by lra.
  replace (2 * l) with (l + l) by ring. rewrite exp_plus.
  pose proof (exp_at_least_one l ltac:(lra)) as x1. set (x := exp l) in *. cbn. assert (1 <= x * x) by nra.
  rewrite Rabs_right; nra.
Qed.

(** As single, and each product loses 1/16. *)
Definition losing : arithmetic := {|
  roundoff := / 16777216; exp_error := 2 * / 16777216; log_error := 4 * / 16777216; argument_unit := 0; argument_step := 0;
  sum_floor := 0; product_floor := / 16; exp_floor := 0; exp_cutoff := 8 |}.

Lemma product_lost z : computed_product losing z (z * exp l + / 16).
Proof.
  pose proof units. exists l, (/ 16). rewrite !Rabs_right by lra. split; [apply Rle_refl|]. split; [|ring]. cbn. lra.
Qed.

(** The divisor 1/4 makes four times as much of what the product with upstream has lost. *)
Example b15_divisor_last_is_reached :
  exists y z dx, Rabs (2 - 1) <= 1 + 0 /\ computed_product losing (1 * 2) y /\ computed_product losing (y / (1 / 4)) z /\
    rounded_output (/ 2048) 0 z dx /\
    let up := Rabs (1 / (1 / 4)) in
    let rounding := up * (exp (2 * l) * (Rabs 1 + 1) - Rabs 1) in
    let floor := exp (2 * l) * (up * 0) + product_floor losing * (exp l / Rabs (1 / 4) + 1) in
    Rabs (dx - 1 / (1 / 4) * 1) = rounding + / 2048 * (Rabs (1 / (1 / 4) * 1) + rounding) + (floor * (1 + / 2048) + 0).
Proof.
  pose proof units as pos. set (y := 1 * 2 * exp l + / 16). set (z := y / (1 / 4) * exp l + / 16).
  exists y, z, (z * (1 + / 2048)). split; [rewrite Rabs_right; lra|]. split; [apply product_lost|]. split; [apply product_lost|].
  split; [apply output_up|]. cbv zeta. unfold z, y. replace (1 / (1 / 4)) with 4 by field. rewrite Rmult_1_r, (Rabs_right 4) by lra.
  rewrite (Rabs_right 1), (Rabs_right (1 / 4)) by lra. replace (2 * l) with (l + l) by ring. rewrite exp_plus.
  pose proof (exp_at_least_one l ltac:(lra)) as x1. set (x := exp l) in *. cbn. assert (1 <= x * x) by nra.
  replace (1 * 2 * x) with (2 * x) by ring.
  replace ((2 * x + / 16) / (1 / 4)) with (8 * x + / 4) by field. rewrite Rabs_right; [field|nra].
Qed.

(** A coefficient as large as B2 allows, 0 as the label's part, and the same two factors. *)
Definition far_quotient : R := far_numerator * (1 / far_sum (-1) * exp (1 * l)) * exp (1 * l).

Example b15_is_inhabited :
  exists s p z scale g dx, sum_of_row single 0 0 level s 1 1 /\ lost_sum single 0 0 level 1 1 < 1 /\
    In 0 level /\ computed_element single exact_output 0 0 1 s 0 p /\ rounded_sum single (p - 0) z /\
    computed_product single (1 / 1) scale /\ computed_product single (scale * z) g /\ rounded_output (/ 2048) 0 g dx.
Proof.
  set (z := (far_quotient - 0) * (1 + roundoff single)). set (g := 1 / 1 * exp l * z * exp l).
  exists (far_sum (-1)), far_quotient, z, (1 / 1 * exp l), g, (g * (1 + / 2048)).
  split; [apply far_sum_of_row; lra|]. split; [rewrite nothing_lost; lra|]. split; [now left|].
  split; [|split; [apply sum_up|split; [apply product_up|split; [apply product_up|apply output_up]]]].
  exists 0, far_numerator, far_quotient. split; [|split; [|split]].
  - rewrite !Rminus_0_r, Rabs_R0. lra.
  - apply numerator_late with 0 0 0 (exp (1 * E)) 0 (exp (1 * E)); try lra; try lia;
      try apply argument_of_0; try (apply exp_of_0; lra). apply product_off. lra.
  - apply ratio_reciprocal with (1 / far_sum (-1) * exp (1 * l)); apply product_off; lra.
  - exists 0, 0. rewrite Rabs_R0, exp_0. cbn. repeat split; lra.
Qed.
