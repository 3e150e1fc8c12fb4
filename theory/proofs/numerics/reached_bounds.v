(** * The premises of B1 to B6 hold of something, and their bounds are reached.

    A kernel of binary32's accuracy in which nothing underflows ([single]) adds the exponentials of the row 0, 0 and
    rescales once, each operation erring as far as it may. What it returns has the largest error that the theorem allows.

    Examples
    - [b1_is_reached] ... [b6_is_reached]   all premises of the theorem, and its right-hand side as an equality
    - [bracket_is_reached]                  the same of Lemma 2.1's bracket, from above

    A row of different logits, with arguments that err and with underflow, is in inhabited_library.v.

    Source: the theorems b1_sum ... b6_entropy. *)

From softcheck.numerics Require Import row tilted_row reduction b1_sum constants b2_element element_threshold
  b3_total_variation b5_logsumexp moments b6_entropy.
Local Open Scope R_scope.

(** u = 2^-24, exp=1ulp, a logarithm within 4 u; no loss, and an argument without error: so is that of equal logits. *)
Definition single : arithmetic := {|
  roundoff := / 16777216; exp_error := 2 * / 16777216; log_error := 4 * / 16777216; argument_unit := 0; argument_step := 0;
  sum_floor := 0; product_floor := 0; exp_floor := 0; exp_cutoff := 8 |}.
(** An output within 2^-11, as binary16's. *)
Definition half : output_format := {| output_unit := log_unit (/ 2048); output_floor := 0 |}.
Definition level : list R := [0; 0].

Notation E := (exp_unit single).
Notation l := (unit single).

Lemma single_sound : sound single.
Proof. unfold sound, slope; cbn. rewrite exp_0. repeat split; lra. Qed.

Lemma half_sound : sound_output half.
Proof. split; cbn; [apply log_unit_nonneg|]; lra. Qed.

Lemma units : 0 <= E /\ 0 <= l.
Proof. split; apply log_unit_nonneg; cbn; lra. Qed.

Lemma no_slope : slope single = 0.
Proof. unfold slope; cbn. rewrite exp_0. ring. Qed.

(** ** What may be computed *)

Lemma argument_of_0 : computed_argument single 0 0.
Proof. exists 0, 0. rewrite Rabs_R0; cbn. repeat split; lra. Qed.

Lemma within v k : -1 <= v <= 1 -> 0 <= k -> Rabs (v * k) <= k.
Proof. intros range hk. apply Rabs_le. nra. Qed.

Lemma exp_of_0 v : -1 <= v <= 1 -> computed_exp single 0 (exp (v * E)).
Proof.
  intros range. pose proof units. exists (v * E), 0. rewrite !Rabs_R0; cbn -[exp_unit].
  split; [now apply within|]. split; [lra|]. split; [lra|]. split; [easy|]. rewrite Rplus_0_r. f_equal. ring.
Qed.

Lemma product_off v z : -1 <= v <= 1 -> computed_product single z (z * exp (v * l)).
Proof.
  intros range. pose proof units. exists (v * l), 0. rewrite Rabs_R0; cbn -[unit].
  repeat split; try lra. now apply within.
Qed.

Lemma sum_off v z : -1 <= v <= 1 -> computed_sum single z (z * exp (v * l)).
Proof.
  intros range. pose proof units. exists (v * l), 0. rewrite Rabs_R0; cbn -[unit].
  repeat split; try lra. now apply within.
Qed.

(** S = 2, off by v times all that a tree of height 1 and one rescaling allow. *)
Definition far_sum (v : R) : R := (exp (v * E) + exp (v * E)) * exp (v * l) * exp (v * E) * exp (v * l).

Lemma far_sum_is v : far_sum v = 2 * exp (v * (2 * E + 2 * l)).
Proof. unfold far_sum. replace (v * (2 * E + 2 * l)) with (v * E + v * l + v * E + v * l) by ring. rewrite !exp_plus. ring. Qed.

Lemma far_summed v : -1 <= v <= 1 -> summed single level 0 (far_sum v) 1 1 1.
Proof.
  intros range. apply summed_rescaled with 0 ((exp (v * E) + exp (v * E)) * exp (v * l)) 0 (exp (v * E)); try lra.
  - apply (summed_addition single [0] [0] 0 (exp (v * E)) (exp (v * E)) _ 0 0 0 0 0 0); [| |now apply sum_off];
      apply summed_item with 0; try (apply exp_of_0; easy); try lra; rewrite Rminus_0_r; apply argument_of_0.
  - rewrite Rminus_0_r. apply argument_of_0.
  - now apply exp_of_0.
  - now apply product_off.
Qed.

Lemma level_maximum : is_maximum 0 level.
Proof. split; [now left|]. intros x [<-|[<-|[]]]; lra. Qed.

Lemma far_sum_of_row v : -1 <= v <= 1 -> sum_of_row single 0 0 level (far_sum v) 1 1.
Proof.
  intros range. apply (sum_of_tree single 0 0 level 0 level _ 1 1 1); try apply level_maximum;
    [apply converted_same|now apply far_summed|unfold size; cbn; lra|easy].
Qed.

(** ** What the bounds are *)

Lemma level_sum : weight_sum 0 level = 2.
Proof. unfold weight_sum, weighted_sum, sum; cbn. rewrite Rminus_0_r, exp_0. ring. Qed.

Lemma level_deviation : mean_deviation 0 level = 0.
Proof. unfold mean_deviation, deviation_sum, weighted_sum, sum; cbn. rewrite !Rminus_0_r. unfold Rdiv. ring. Qed.

Lemma level_coefficient x : In x level -> coefficient level x = / 2.
Proof.
  intros inx. rewrite (coefficient_from_weight 0 level level_maximum), level_sum.
  assert (x = 0) as -> by (destruct inx as [<-|[<-|[]]]; easy). rewrite Rminus_0_r, exp_0. lra.
Qed.

Lemma level_logsumexp : ln (partition_function level) = ln 2.
Proof. rewrite (logsumexp_from_statistics 0 level level_maximum), level_sum. ring. Qed.

Lemma ln_2_nonneg : 0 <= ln 2.
Proof. rewrite <- ln_1. apply ln_le; lra. Qed.

Lemma nothing_lost : lost_sum single 0 0 level 1 1 = 0.
Proof. unfold lost_sum, lost; cbn. ring. Qed.

Lemma no_shift : shift 0 level (slope single) = 0.
Proof. unfold shift. rewrite no_slope. field. Qed.

Lemma no_argument_floor : argument_floor single 0 1 = 0.
Proof. unfold argument_floor. cbn -[slope]. ring. Qed.

Lemma sigma_is : sigma single 0 0 level 1 1 = 2 * E + 2 * l.
Proof.
  unfold sigma. rewrite nothing_lost. unfold sigma_0, direct_log, rescale_unit. rewrite no_argument_floor, no_shift.
  rewrite Rminus_0_r, ln_1. cbn -[unit exp_unit]. ring.
Qed.

(** ** The examples *)

Example b1_is_reached :
  exists s, sound single /\ sum_of_row single 0 0 level s 1 1 /\ lost_sum single 0 0 level 1 1 < 1 /\
    Rabs (s - weight_sum 0 level) / weight_sum 0 level = exp (sigma single 0 0 level 1 1) - 1.
Proof.
  exists (far_sum 1). split; [apply single_sound|]. split; [apply far_sum_of_row; lra|].
  split; [rewrite nothing_lost; lra|]. rewrite level_sum, sigma_is, far_sum_is, Rmult_1_l. pose proof units.
  pose proof (exp_at_least_one (2 * E + 2 * l) ltac:(lra)). rewrite Rabs_right by lra. field.
Qed.

(** The numerator as much too large as the sum is too small; a reciprocal, and a late rescaling. *)
Definition far_numerator : R := exp (1 * E) * exp (1 * E) * exp (1 * l).
Definition far_element : R := far_numerator * (1 / far_sum (-1) * exp (1 * l)) * exp (1 * l) * exp (output_unit half).

Lemma far_element_of_row x : In x level -> computed_element single half 0 0 1 (far_sum (-1)) x far_element.
Proof.
  intros inx. assert (x = 0) as -> by (destruct inx as [<-|[<-|[]]]; easy).
  exists 0, far_numerator, (far_numerator * (1 / far_sum (-1) * exp (1 * l)) * exp (1 * l)). split; [|split; [|split]].
  - rewrite !Rminus_0_r, Rabs_R0. lra.
  - apply numerator_late with 0 0 0 (exp (1 * E)) 0 (exp (1 * E)); try lra; try lia;
      try apply argument_of_0; try (apply exp_of_0; lra). apply product_off. lra.
  - apply ratio_reciprocal with (1 / far_sum (-1) * exp (1 * l)); apply product_off; lra.
  - exists (output_unit half), 0. rewrite Rabs_R0. pose proof half_sound as [pos _].
    rewrite Rabs_right by lra. split; [lra|]. split; [cbn; lra|]. unfold far_element. ring.
Qed.

Lemma element_log_is :
  element_log single half 0 0 level 1 1 = (E + (E + l)) + (2 * E + 2 * l) + (2 * l + output_unit half).
Proof.
  unfold element_log, numerator_log, ratio_log, when_rescaled. rewrite no_argument_floor, sigma_is.
  change (IZR division_roundings) with 2. ring.
Qed.

Lemma far_element_is : far_element = / 2 * exp (element_log single half 0 0 level 1 1).
Proof.
  unfold far_element, far_numerator. rewrite far_sum_is, element_log_is.
  replace (-1 * (2 * E + 2 * l)) with (- (2 * E + 2 * l)) by ring. rewrite exp_Ropp, !exp_plus, !Rmult_1_l.
  replace (2 * l) with (l + l) by ring. replace (2 * E) with (E + E) by ring. rewrite !exp_plus.
  pose proof (exp_pos E). pose proof (exp_pos l). field. split; apply Rgt_not_eq; easy.
Qed.

Lemma element_log_above : 0 <= element_log single half 0 0 level 1 1.
Proof. rewrite element_log_is. pose proof units. pose proof half_sound as [pos _]. lra. Qed.

Lemma element_floor_is : element_floor single half 0 0 level 1 1 = 0.
Proof. unfold element_floor, numerator_loss, when_rescaled; cbn -[element_log]. ring. Qed.

Lemma far_element_error x :
  In x level ->
  Rabs (far_element - coefficient level x) = threshold_constant (element_log single half 0 0 level 1 1) * coefficient level x.
Proof.
  intros inx. rewrite (level_coefficient x inx), far_element_is. unfold threshold_constant.
  pose proof (exp_at_least_one _ element_log_above). rewrite Rabs_right by lra. field.
Qed.

(** Up to the threshold's own floor, which is what a subnormal number may add. *)
Example b2_is_reached :
  exists s p, sound single /\ sound_output half /\ sum_of_row single 0 0 level s 1 1 /\ lost_sum single 0 0 level 1 1 < 1 /\
    In 0 level /\ computed_element single half 0 0 1 s 0 p /\
    forall quantum, 0 < quantum <= 1 ->
    Rabs (p - coefficient level 0)
    = (threshold_constant (element_log single half 0 0 level 1 1)
       + threshold_slope quantum (element_log single half 0 0 level 1 1) (slope single) * (0 - 0)) * coefficient level 0
      + element_floor single half 0 0 level 1 1.
Proof.
  exists (far_sum (-1)), far_element. assert (inx : In 0 level) by now left. split; [apply single_sound|].
  split; [apply half_sound|]. split; [apply far_sum_of_row; lra|]. split; [rewrite nothing_lost; lra|]. split; [easy|].
  split; [now apply far_element_of_row|]. intros quantum _. rewrite element_floor_is, (far_element_error 0 inx). ring.
Qed.

(** Lemma 2.1's own bounds are reached where all logits are equal. *)
Example bracket_is_reached :
  exists s p, sound single /\ sound_output half /\ sum_of_row single 0 0 level s 1 1 /\ lost_sum single 0 0 level 1 1 < 1 /\
    spread_at_most 0 level /\ In 0 level /\ computed_element single half 0 0 1 s 0 p /\
    p = exp (element_log single half 0 0 level 1 1 + slope single * 0) * (exp 0 / size level)
        + element_floor single half 0 0 level 1 1.
Proof.
  exists (far_sum (-1)), far_element. assert (inx : In 0 level) by now left.
  split; [apply single_sound|]. split; [apply half_sound|]. split; [apply far_sum_of_row; lra|].
  split; [rewrite nothing_lost; lra|]. split; [|split; [easy|split; [now apply far_element_of_row|]]].
  - intros x y hx hy. destruct hx as [<-|[<-|[]]], hy as [<-|[<-|[]]]; lra.
  - rewrite far_element_is, element_floor_is, exp_0, Rmult_0_r, !Rplus_0_r.
    replace (size level) with 2 by (unfold size; cbn; lra). field.
Qed.

Example b3_is_reached :
  exists s outputs, sum_of_row single 0 0 level s 1 1 /\ lost_sum single 0 0 level 1 1 < 1 /\
    Forall2 (computed_element single half 0 0 1 s) level outputs /\
    forall quantum, 0 < quantum <= 1 ->
    sum (map (fun xp => Rabs (snd xp - coefficient level (fst xp))) (combine level outputs))
    = threshold_constant (element_log single half 0 0 level 1 1)
      + threshold_slope quantum (element_log single half 0 0 level 1 1) (slope single) * mean_deviation 0 level
      + size level * element_floor single half 0 0 level 1 1.
Proof.
  exists (far_sum (-1)), [far_element; far_element]. assert (inx : In 0 level) by now left.
  split; [apply far_sum_of_row; lra|]. split; [rewrite nothing_lost; lra|].
  split; [repeat constructor; now apply far_element_of_row|].
  intros quantum _. rewrite element_floor_is, level_deviation. unfold sum; cbn -[far_element coefficient threshold_constant].
  rewrite (far_element_error 0 inx), (level_coefficient 0 inx). field.
Qed.

Example b4_is_reached :
  exists s outputs, sum_of_row single 0 0 level s 1 1 /\ lost_sum single 0 0 level 1 1 < 1 /\
    Forall2 (computed_element single half 0 0 1 s) level outputs /\
    Rabs (sum outputs - 1)
    = exp (numerator_log single 0 1 + shift 0 level (slope single) + sigma single 0 0 level 1 1 + ratio_log single half) - 1
      + size level * element_floor single half 0 0 level 1 1.
Proof.
  exists (far_sum (-1)), [far_element; far_element]. assert (inx : In 0 level) by now left.
  split; [apply far_sum_of_row; lra|]. split; [rewrite nothing_lost; lra|].
  split; [repeat constructor; now apply far_element_of_row|].
  rewrite element_floor_is, no_shift, Rplus_0_r, Rmult_0_r, Rplus_0_r.
  change (numerator_log single 0 1 + sigma single 0 0 level 1 1 + ratio_log single half)
    with (element_log single half 0 0 level 1 1).
  pose proof (exp_at_least_one _ element_log_above). unfold sum; cbn -[far_element]. rewrite far_element_is.
  rewrite Rabs_right; lra.
Qed.

(** *** Logarithms, each as much too large as the sum and the operations behind it allow *)

Definition far_log : R := (1 + log_error single) * (ln 2 + (2 * E + 2 * l)).

Lemma far_log_of_sum : computed_log single (far_sum 1) far_log.
Proof.
  unfold computed_log, far_log. rewrite far_sum_is, Rmult_1_l, ln_mult, ln_exp by (try apply exp_pos; lra).
  pose proof units. pose proof ln_2_nonneg. set (y := ln 2 + (2 * E + 2 * l)). assert (0 <= y) by (unfold y; lra).
  replace ((1 + log_error single) * y - y) with (log_error single * y) by ring.
  rewrite Rabs_mult, (Rabs_right y), (Rabs_right (log_error single)) by (cbn; lra). cbn. lra.
Qed.

Lemma log_sum_error_is : log_sum_error single 0 0 level 1 1 = far_log - ln 2.
Proof. unfold log_sum_error, far_log. rewrite sigma_is, level_sum. ring. Qed.

Lemma far_log_above : ln 2 <= far_log.
Proof. unfold far_log. pose proof units. pose proof ln_2_nonneg. cbn -[unit exp_unit]. nra. Qed.

Lemma sum_up z : rounded_sum single z (z * (1 + roundoff single)).
Proof. exists (roundoff single), 0. rewrite Rabs_R0, Rabs_right; cbn; repeat split; lra. Qed.

Lemma output_up z : rounded_output (/ 2048) 0 z (z * (1 + / 2048)).
Proof. exists (/ 2048), 0. rewrite Rabs_R0, Rabs_right; repeat split; lra. Qed.

Lemma no_logsumexp_floor : logsumexp_floor single = 0.
Proof. unfold logsumexp_floor; cbn. ring. Qed.

Lemma logsumexp_rounding_is g : logsumexp_rounding single 0 0 level 1 1 g = far_log * (1 + roundoff single) - ln 2.
Proof.
  unfold logsumexp_rounding, logsumexp_parts. rewrite log_sum_error_is, no_argument_floor, level_logsumexp, Rabs_R0.
  rewrite (Rabs_right (ln 2)) by (pose proof ln_2_nonneg; lra). ring.
Qed.

Example b5_is_reached :
  exists s m_hat y z L_hat, sum_of_row single 0 0 level s 1 1 /\ lost_sum single 0 0 level 1 1 < 1 /\
    computed_maximum single 0 0 1 0 m_hat /\ computed_log single s y /\ rounded_sum single (m_hat + y) z /\
    rounded_output (/ 2048) 0 z L_hat /\
    Rabs (L_hat - ln (partition_function level))
    = logsumexp_rounding single 0 0 level 1 1 0
      + / 2048 * (Rabs (ln (partition_function level)) + logsumexp_rounding single 0 0 level 1 1 0)
      + (logsumexp_floor single * (1 + / 2048) + 0).
Proof.
  set (z := (0 + far_log) * (1 + roundoff single)). exists (far_sum 1), 0, far_log, z, (z * (1 + / 2048)).
  split; [apply far_sum_of_row; lra|]. split; [rewrite nothing_lost; lra|].
  split; [unfold computed_maximum; rewrite no_argument_floor, Rminus_0_r, Rabs_R0; cbn; lra|].
  split; [apply far_log_of_sum|]. split; [apply sum_up|]. split; [apply output_up|].
  rewrite logsumexp_rounding_is, no_logsumexp_floor, level_logsumexp. pose proof far_log_above. pose proof ln_2_nonneg.
  unfold z; cbn -[far_log]. rewrite !Rabs_right; lra.
Qed.

Lemma log_coefficient : ln (coefficient level 0) = - ln 2.
Proof. rewrite (level_coefficient 0) by now left. apply ln_Rinv. lra. Qed.

Example b5_log_softmax_is_reached :
  exists s y z r, sum_of_row single 0 0 level s 1 1 /\ lost_sum single 0 0 level 1 1 < 1 /\
    In 0 level /\ computed_argument single 0 0 /\ computed_log single s y /\ rounded_sum single (- 0 - y) z /\
    rounded_output (/ 2048) 0 z r /\
    let first := log_softmax_constant single 0 0 level 1 1 + slope single * (0 - 0) in
    let second := first + roundoff single * ((0 - 0) + ln (weight_sum 0 level) + first) in
    Rabs (r - ln (coefficient level 0))
    = second + / 2048 * ((0 - 0) + ln (weight_sum 0 level) + second)
      + ((product_floor single * (1 + roundoff single) + sum_floor single) * (1 + / 2048) + 0).
Proof.
  set (z := (- 0 - far_log) * (1 + roundoff single)). exists (far_sum 1), far_log, z, (z * (1 + / 2048)).
  split; [apply far_sum_of_row; lra|]. split; [rewrite nothing_lost; lra|]. split; [now left|].
  split; [apply argument_of_0|]. split; [apply far_log_of_sum|]. split; [apply sum_up|]. split; [apply output_up|].
  cbv zeta. unfold log_softmax_constant. rewrite log_sum_error_is, no_argument_floor, level_sum, log_coefficient.
  pose proof far_log_above. pose proof ln_2_nonneg. unfold z; cbn -[far_log slope]. rewrite Rabs_left1; lra.
Qed.

Example b5_log_softmax_uncentred_is_reached :
  exists s y z w r, sum_of_row single 0 0 level s 1 1 /\ lost_sum single 0 0 level 1 1 < 1 /\
    In 0 level /\ computed_maximum single 0 0 1 0 0 /\ computed_log single s y /\ rounded_sum single (0 + y) z /\
    rounded_sum single (0 - z) w /\ rounded_output (/ 2048) 0 w r /\
    Rabs (r - ln (coefficient level 0))
    = uncentred_second single 0 0 level 1 1 0 (0 - 0)
      + / 2048 * ((0 - 0) + ln (weight_sum 0 level) + uncentred_second single 0 0 level 1 1 0 (0 - 0))
      + (uncentred_floor single * (1 + / 2048) + 0).
Proof.
  set (z := (0 + far_log) * (1 + roundoff single)). set (w := (0 - z) * (1 + roundoff single)).
  exists (far_sum 1), far_log, z, w, (w * (1 + / 2048)).
  split; [apply far_sum_of_row; lra|]. split; [rewrite nothing_lost; lra|]. split; [now left|].
  split; [unfold computed_maximum; rewrite no_argument_floor, Rminus_0_r, Rabs_R0; cbn; lra|].
  split; [apply far_log_of_sum|]. split; [apply sum_up|]. split; [apply sum_up|]. split; [apply output_up|].
  unfold uncentred_second, uncentred_first, uncentred_floor.
  rewrite logsumexp_rounding_is, no_argument_floor, no_logsumexp_floor, level_sum, log_coefficient, Rabs_R0.
  pose proof far_log_above. pose proof ln_2_nonneg. unfold w, z; cbn -[far_log]. rewrite Rabs_left1; lra.
Qed.

(** *** B6: the moment of equal logits is 0, and is computed as 0 *)

Lemma product_0 x : computed_product single (x * 0) 0.
Proof. replace 0 with (x * 0 * exp (0 * l)) at 2 by ring. apply product_off. lra. Qed.

Lemma far_streamed : streamed single level 0 (far_sum 1) 0 1 1 1.
Proof.
  assert (zero : computed_sum single (0 + 0) 0).
  { replace 0 with ((0 + 0) * exp (0 * l)) at 3 by ring. apply sum_off. lra. }
  apply streamed_rescaled with 0 ((exp (1 * E) + exp (1 * E)) * exp (1 * l)) 0 0 (exp (1 * E)) 0 0; try lra.
  - apply (streamed_addition single [0] [0] 0 (exp (1 * E)) (exp (1 * E)) _ 0 0 _ 0 0 0 0 0 0);
      [| |apply sum_off; lra|easy]; apply streamed_item with 0; try (apply exp_of_0; lra); try apply product_0; try lra;
      rewrite Rminus_0_r; apply argument_of_0.
  - rewrite Rminus_0_r. apply argument_of_0.
  - apply exp_of_0. lra.
  - apply product_off. lra.
  - rewrite Rmult_comm. apply product_0.
  - easy.
  - rewrite Rmult_comm. apply product_0.
Qed.

Example b6_is_reached :
  exists s y q x z H_hat, 0 <= 0 /\ roundoff single + 0 < 1 /\ moments_of_row single 0 0 level s y 1 1 /\
    lost_sum single 0 0 level 1 1 < 1 /\ INR 1 * argument_step single <= 2 /\
    quotient_by_sum single 0 y s q /\ computed_log single s x /\ rounded_sum single (x + q) z /\
    rounded_output (/ 2048) 0 z H_hat /\
    Rabs (H_hat - entropy level)
    = entropy_rounding single 0 0 level 1 1 0 + / 2048 * (entropy level + entropy_rounding single 0 0 level 1 1 0)
      + (entropy_floor single * (1 + / 2048) + 0).
Proof.
  set (z := (far_log + 0) * (1 + roundoff single)). exists (far_sum 1), 0, 0, far_log, z, (z * (1 + / 2048)).
  split; [lra|]. split; [cbn; lra|].
  split; [apply (moments_of_trees single 0 0 level 0 level _ _ 1 1 1); try apply level_maximum;
          [apply converted_same|apply far_streamed|unfold size; cbn; lra|easy]|].
  split; [rewrite nothing_lost; lra|]. split; [cbn; lra|].
  split; [apply by_division; unfold Rdiv; rewrite Rmult_comm; apply product_0|]. split; [apply far_log_of_sum|].
  split; [apply sum_up|]. split; [apply output_up|]. assert (H : entropy level = ln 2).
  { rewrite (entropy_of_statistics 0 level level_maximum), level_sum, level_deviation. ring. }
  assert (mean : mean_error single 0 0 level 1 1 0 = 0).
  { unfold mean_error, beside_mean, first_excess. rewrite level_deviation, no_argument_floor, no_slope.
    unfold lost_moment; cbn -[quotient_log]. field. }
  unfold entropy_rounding, entropy_parts, entropy_floor. rewrite log_sum_error_is, mean, H. pose proof far_log_above.
  pose proof ln_2_nonneg. unfold z; cbn -[far_log]. rewrite Rabs_right; lra.
Qed.
