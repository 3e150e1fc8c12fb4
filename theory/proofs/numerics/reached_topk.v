(** * The premises of B18 hold of something, and its bounds are reached.

    Examples
    - [exchange_is_reached]       two logits, as far apart as a kernel may exchange them, of equal coefficients
    - [exchange_falls]            the same two, of a row with a smaller logit left out
    - [renormalised_is_reached]   two equal logits: a coefficient as much too large as their sum is too small
    - [softmax_of_chosen_is_inhabited]   the same two alone
    - [mass_is_inhabited]    the mass of one of the two, by itself, less its own coefficient, and as what is left of 1
    - [level_is_inhabited]   a coefficient equal to the level: the premises of both comparisons hold

    As in reached_bounds.v: the kernel [single] errs as far as it may, by a division as a reciprocal and a product.

    Source: b18_topk_choice.v, b18_topk_weights.v, b18_topk_weights.v. *)

From softcheck.numerics Require Import score_error row tilted_row reduction b1_sum constants b2_element element_threshold
  added_terms b18_topk_choice b18_topk_weights reached_bounds b19_mass b19_level.
Local Open Scope R_scope.

Notation E := (exp_unit single).
Notation l := (unit single).
Notation O := (output_unit half).

Lemma argument_exact d : computed_argument single d d.
Proof. exists 0, 0. rewrite Rabs_R0, exp_0; cbn. repeat split; lra. Qed.

Lemma exp_off d v : -1 <= v <= 1 -> computed_exp single d (exp (- d) * exp (v * E)).
Proof.
  intros range. pose proof units. exists (v * E), 0. rewrite !Rabs_R0; cbn -[exp_unit].
  split; [now apply within|]. split; [lra|]. split; [lra|]. split; [easy|]. rewrite exp_plus. ring.
Qed.

(** The row 0, -d without errors. *)
Definition pair_row (d : R) : list R := [0; - d].

Lemma pair_maximum d : 0 <= d -> is_maximum 0 (pair_row d).
Proof. intros hd. split; [now left|]. intros x [<-|[<-|[]]]; lra. Qed.

Lemma exact_exp d : computed_exp single d (exp (- d)).
Proof. rewrite <- (Rmult_1_r (exp (- d))), <- exp_0. replace 0 with (0 * E) by ring. apply exp_off. lra. Qed.

Lemma pair_sum d : 0 <= d -> sum_of_row single 0 0 (pair_row d) (exp (- 0) + exp (- d)) 1 0.
Proof.
  intros hd. apply (sum_of_tree single 0 0 (pair_row d) 0 (pair_row d) _ 1 0 0); try (now apply pair_maximum);
    [apply converted_same| |unfold size; cbn; lra|easy].
  apply (summed_addition single [0] [- d] 0 (exp (- 0)) (exp (- d)) _ 0 0 0 0 0 0).
  - apply summed_item with 0; [lra|rewrite Rminus_0_r; apply argument_exact|apply exact_exp].
  - apply summed_item with d; [lra|replace (0 - - d) with d by ring; apply argument_exact|apply exact_exp].
  - rewrite <- (Rmult_1_r (exp (- 0) + exp (- d))) at 2. rewrite <- exp_0. replace 0 with (0 * l) by ring. apply sum_off. lra.
Qed.

Lemma pair_loses_nothing d : lost_sum single 0 0 (pair_row d) 1 0 = 0.
Proof. unfold lost_sum, lost; cbn. ring. Qed.

(** C: an exponential, a reciprocal and its product, the output. *)
Definition own_of_single : R := E + (2 * l + O).

Lemma own_is : own_constant single half 0 0 = own_of_single.
Proof.
  unfold own_constant, numerator_log, argument_floor, rescale_unit, ratio_log, when_rescaled, own_of_single.
  change (IZR division_roundings) with 2. cbn -[exp_unit unit slope O]. ring.
Qed.

Lemma own_above : 0 <= own_of_single.
Proof. unfold own_of_single. pose proof units. pose proof half_sound as [pos _]. lra. Qed.

Lemma pair_floor d : element_floor single half 0 0 (pair_row d) 1 0 = 0.
Proof. unfold element_floor, numerator_loss, when_rescaled; cbn -[element_log]. ring. Qed.

(** A coefficient that errs by v times all that it may. *)
Definition element_off (s d v : R) : R := exp (- d) * exp (v * E) * (1 / s * exp (v * l)) * exp (v * l) * exp (v * O).

Lemma element_off_is s d v : element_off s d v = exp (- d) / s * exp (v * own_of_single).
Proof.
  unfold element_off, own_of_single, Rdiv.
  replace (v * (E + (2 * l + O))) with (v * E + v * l + v * l + v * O) by ring. rewrite !exp_plus. ring.
Qed.

Lemma element_off_computed s d v : 0 <= d -> -1 <= v <= 1 -> computed_element single half 0 0 0 s (- d) (element_off s d v).
Proof.
  intros hd range. exists d, (exp (- d) * exp (v * E)), (exp (- d) * exp (v * E) * (1 / s * exp (v * l)) * exp (v * l)).
  split; [|split; [|split]].
  - replace (d - (0 - - d)) with 0 by ring. rewrite Rabs_R0. lra.
  - apply numerator_direct with d; [easy|apply argument_exact|now apply exp_off].
  - apply ratio_reciprocal with (1 / s * exp (v * l)); now apply product_off.
  - exists (v * O), 0. pose proof half_sound as [pos _]. rewrite Rabs_R0. split; [now apply within|].
    split; [cbn; lra|]. unfold element_off. ring.
Qed.

Definition furthest : R := own_of_single + own_of_single.

Lemma exchange_is d Di Dj : exchange single half 0 0 (pair_row d) 1 0 Di Dj = furthest.
Proof.
  unfold exchange, own, lost_beside. rewrite own_is, pair_floor, no_slope.
  rewrite Rmult_0_r, !Rmult_0_l, Rminus_0_r, ln_1. unfold furthest. ring.
Qed.

Lemma nothing_beside d D : lost_beside single half 0 0 (pair_row d) 1 0 D = 0.
Proof. unfold lost_beside. rewrite pair_floor. ring. Qed.

Example exchange_is_reached :
  exists xi xj s, sound single /\ sound_output half /\ sum_of_row single 0 0 (pair_row furthest) s 1 0 /\
    lost_sum single 0 0 (pair_row furthest) 1 0 < 1 /\ In xi (pair_row furthest) /\ In xj (pair_row furthest) /\
    preferred single half 0 0 s 0 xi xj /\ lost_beside single half 0 0 (pair_row furthest) 1 0 (0 - xi) < 1 /\
    xi - xj = exchange single half 0 0 (pair_row furthest) 1 0 (0 - xi) (0 - xj).
Proof.
  pose proof own_above as pos. assert (hd : 0 <= furthest) by (unfold furthest; lra).
  exists (- 0), (- furthest), (exp (- 0) + exp (- furthest)). set (s := exp (- 0) + exp (- furthest)).
  split; [apply single_sound|]. split; [apply half_sound|]. split; [now apply pair_sum|].
  split; [rewrite pair_loses_nothing; lra|]. split; [left; ring|]. split; [now right; left|]. split.
  - apply preferred_coefficient with (element_off s 0 (-1)) (element_off s furthest 1);
      [apply element_off_computed; lra|apply element_off_computed; lra|].
    rewrite !element_off_is. right. unfold Rdiv. rewrite !(Rmult_comm _ (/ s)), !Rmult_assoc, <- !exp_plus.
    do 2 f_equal. unfold furthest. ring.
  - split; [rewrite nothing_beside; lra|]. rewrite exchange_is. ring.
Qed.

(** The premise of [exchange_above], of the same two: an item left out that is one smaller, one chosen that is one larger. *)
Example exchange_falls :
  let row := pair_row furthest in
  0 <= 0 /\ 0 <= 1 /\ furthest - 1 <= furthest /\ lost_beside single half 0 0 row 1 0 1 < 1 /\
  furthest - 0 = exchange single half 0 0 row 1 0 0 furthest.
Proof. cbv zeta. rewrite nothing_beside, exchange_is. repeat split; lra. Qed.

(** ** Two equal logits *)

Notation same := (pair_row 0).
Definition small_total : R := (element_off 2 0 (-1) + element_off 2 0 (-1)) * exp ((-1) * l).
Definition large_weight : R := element_off 2 0 1 * (/ small_total * exp (1 * l)) * exp (1 * l) * exp (1 * O).

Lemma same_sum : sum_of_row single 0 0 same 2 1 0.
Proof. pose proof (pair_sum 0 (Rle_refl 0)) as all. rewrite Ropp_0, exp_0 in all. now replace 2 with (1 + 1) by ring. Qed.

Lemma small_total_is : small_total = exp (- (own_of_single + l)).
Proof.
  unfold small_total. rewrite element_off_is, Ropp_0, exp_0.
  replace (- (own_of_single + l)) with (-1 * own_of_single + -1 * l) by ring. rewrite exp_plus. field.
Qed.

Lemma same_direct : chosen_direct single half 0 0 0 same 0 = l + own_of_single.
Proof. unfold chosen_direct, chosen_constant, shift. rewrite own_is, no_slope. unfold size; cbn -[unit]. field. Qed.

Lemma same_loses_nothing : chosen_lost single half 0 0 same 1 0 same 0 = 0.
Proof. unfold chosen_lost. rewrite pair_floor. cbn. ring. Qed.

Lemma same_log : renormalised_log single half 0 0 same 1 0 same 0 = own_of_single + (l + own_of_single) + (2 * l + O).
Proof.
  unfold renormalised_log, chosen_sigma, chosen_constant, ratio_log.
  rewrite same_loses_nothing, Rmult_0_l, !Rminus_0_r, ln_1, same_direct, own_is, no_slope. change (IZR division_roundings) with 2. ring.
Qed.

Lemma large_weight_is : large_weight = / 2 * exp (renormalised_log single half 0 0 same 1 0 same 0).
Proof.
  unfold large_weight. rewrite small_total_is, element_off_is, same_log, Ropp_0, exp_0, <- exp_Ropp, Ropp_involutive.
  replace (own_of_single + (l + own_of_single) + (2 * l + O))
    with (1 * own_of_single + ((own_of_single + l) + 1 * l) + 1 * l + 1 * O) by ring. rewrite !exp_plus. field.
Qed.

(** Up to the threshold's own floor, as of B2. *)
Example renormalised_is_reached :
  exists outputs P_hat r, sound single /\ sound_output half /\ sum_of_row single 0 0 same 2 1 0 /\
    lost_sum single 0 0 same 1 0 < 1 /\ is_maximum 0 same /\ incl same same /\
    Forall2 (computed_element single half 0 0 0 2) same outputs /\ added single 0 0 outputs P_hat 1 /\
    (1 <= length same - 1)%nat /\
    chosen_lost single half 0 0 same 1 0 same 0 * exp (2 * chosen_direct single half 0 0 0 same 0) < 1 /\
    In 0 same /\ renormalised single half 0 0 2 0 P_hat 0 r /\
    let p := coefficient same 0 / sum (map (coefficient same) same) in
    let k0 := renormalised_log single half 0 0 same 1 0 same 0 in
    forall quantum, 0 < quantum <= 1 ->
    Rabs (r - p)
    = (threshold_constant k0 + threshold_slope quantum k0 (slope single) * (0 - 0)) * p
      + renormalised_floor single half 0 0 same 1 0 same 0.
Proof.
  assert (one : computed_element single half 0 0 0 2 (- 0) (element_off 2 0 (-1))) by (apply element_off_computed; lra).
  assert (first : computed_element single half 0 0 0 2 0 (element_off 2 0 (-1))) by (rewrite <- Ropp_0 at 3; exact one).
  assert (up : computed_element single half 0 0 0 2 0 (element_off 2 0 1)).
  { rewrite <- Ropp_0 at 3. apply element_off_computed; lra. }
  exists [element_off 2 0 (-1); element_off 2 0 (-1)], small_total, large_weight. split; [apply single_sound|].
  split; [apply half_sound|]. split; [apply same_sum|]. split; [rewrite pair_loses_nothing; lra|].
  split; [apply pair_maximum; lra|]. split; [now intros x|]. split; [repeat constructor; easy|]. split.
  { apply (added_addition single 0 0 [element_off 2 0 (-1)] [element_off 2 0 (-1)] (element_off 2 0 (-1))
      (element_off 2 0 (-1)) _ 0 0); [| |apply sum_off; lra]; apply added_term; exists 0, 0; rewrite Rabs_R0, exp_0;
      repeat split; lra. }
  split; [cbn; lia|]. split; [rewrite same_loses_nothing; lra|]. split; [now left|]. split.
  { exists (element_off 2 0 1), (element_off 2 0 1 * (/ small_total * exp (1 * l)) * exp (1 * l)). split; [easy|].
    split.
    - apply chosen_reciprocal with (1 * l); [apply within; [lra|apply units]|apply product_off; lra].
    - exists (1 * O), 0. pose proof half_sound as [pos _]. rewrite Rabs_R0. split; [apply within; lra|].
      split; [cbn; lra|]. unfold large_weight. ring. }
  cbv zeta. intros quantum _. assert (half_each : coefficient same 0 / sum (map (coefficient same) same) = / 2).
  { assert (each : forall x, x = 0 -> coefficient same x = / 2).
    { intros x ->. rewrite (coefficient_from_weight 0 same (pair_maximum 0 (Rle_refl 0))).
      unfold weight_sum, weighted_sum, sum; cbn. rewrite Ropp_0, Rminus_0_r, exp_0. field. }
    unfold sum; cbn -[coefficient]. rewrite !each by ring. field. }
  assert (no_floor : renormalised_floor single half 0 0 same 1 0 same 0 = 0).
  { unfold renormalised_floor. rewrite pair_floor. cbn -[renormalised_log]. ring. }
  rewrite half_each, no_floor, large_weight_is. unfold threshold_constant.
  assert (0 <= renormalised_log single half 0 0 same 1 0 same 0).
  { rewrite same_log. pose proof own_above. pose proof units. pose proof half_sound as [pos _]. lra. }
  pose proof (exp_at_least_one _ H). rewrite Rabs_right by lra. field.
Qed.

Example softmax_of_chosen_is_inhabited :
  exists r, sound single /\ sound_output half /\ sum_of_row single 0 0 same 2 1 0 /\ lost_sum single 0 0 same 1 0 < 1 /\
    is_maximum 0 same /\ incl same same /\
    chosen_lost single half 0 0 same 1 0 same 0 * exp (2 * chosen_direct single half 0 0 0 same 0) < 1 /\
    (1 <= length same - 1)%nat /\ lost single 0 <= element_floor single half 0 0 same 1 0 + sum_floor single /\
    In 0 same /\ computed_element single half 0 0 0 2 0 r /\ r = / 2 * exp own_of_single.
Proof.
  exists (element_off 2 0 1). split; [apply single_sound|]. split; [apply half_sound|]. split; [apply same_sum|].
  split; [rewrite pair_loses_nothing; lra|]. split; [apply pair_maximum; lra|]. split; [now intros x|].
  split; [rewrite same_loses_nothing; lra|]. split; [cbn; lia|]. split; [rewrite pair_floor; unfold lost; cbn; lra|].
  split; [now left|]. split; [rewrite <- Ropp_0 at 3; apply element_off_computed; lra|].
  rewrite element_off_is, Ropp_0, exp_0, Rmult_1_l. field.
Qed.

(** ** The premises of B19 hold of something.

    The row is that of two equal logits. Source: b19_mass.v, b19_level.v. *)

Lemma exactly_sum z : computed_sum single z z.
Proof. pose proof (sum_off 0 z ltac:(lra)) as s. now rewrite Rmult_0_l, exp_0, Rmult_1_r in s. Qed.

Lemma exactly_product z : computed_product single z z.
Proof. pose proof (product_off 0 z ltac:(lra)) as s. now rewrite Rmult_0_l, exp_0, Rmult_1_r in s. Qed.

Lemma first_of_two : computed_element single half 0 0 0 2 0 (element_off 2 0 1).
Proof. rewrite <- Ropp_0 at 3. apply element_off_computed; lra. Qed.

Example mass_is_inhabited :
  exists q, sound single /\ sound_output half /\ sum_of_row single 0 0 (pair_row 0) 2 1 0 /\
    lost_sum single 0 0 (pair_row 0) 1 0 < 1 /\ Permutation (pair_row 0) ([0] ++ [- 0]) /\
    Forall2 (computed_element single half 0 0 0 2) [0] [q] /\ added single 0 0 [q] q 0 /\ (0 <= 0)%nat /\ 0 <= / 2 <= 1 /\ Rabs 0 <= l /\
    [0] = [] ++ [0] /\ [q] = [] ++ [q] /\ Forall2 (computed_element single half 0 0 0 2) [] [] /\ computed_sum single (q - q) (q - q) /\
    computed_sum single (1 - / 2 * exp 0) (1 - / 2 * exp 0).
Proof.
  pose proof units as [_ l0]. exists (element_off 2 0 1). split; [apply single_sound|]. split; [apply half_sound|].
  split; [apply same_sum|]. split; [rewrite pair_loses_nothing; lra|]. split; [apply Permutation_refl|].
  split; [constructor; [apply first_of_two|constructor]|].
  split; [apply added_term; exists 0, 0; rewrite Rabs_R0, exp_0; repeat split; lra|]. split; [lia|]. split; [lra|].
  split; [rewrite Rabs_R0; lra|]. split; [easy|]. split; [easy|]. split; [constructor|]. split; apply exactly_sum.
Qed.

Example level_is_inhabited :
  exists x p_j p_max, sound single /\ sound_output half /\ sum_of_row single 0 0 (pair_row 0) 2 1 0 /\
    lost_sum single 0 0 (pair_row 0) 1 0 < 1 /\ In x (pair_row 0) /\ 0 < 1 <= 1 /\
    level_compared single half 0 0 2 0 1 x p_j p_max /\ p_j = p_max /\
    level_lost single half 0 0 (pair_row 0) 1 0 (0 - x) < 1 /\ level_lost single half 0 0 (pair_row 0) 1 0 (- ln 1) < 1.
Proof.
  pose proof units as [_ l0]. exists 0, (element_off 2 0 1), (element_off 2 0 1). split; [apply single_sound|].
  split; [apply half_sound|]. split; [apply same_sum|]. split; [rewrite pair_loses_nothing; lra|]. split; [now left|].
  split; [lra|]. split.
  { apply (level_of_coefficient single half 0 0 2 0 1 0 (element_off 2 0 1) 0); [apply first_of_two|apply first_of_two|rewrite Rabs_R0; lra|].
    pose proof (exactly_product (1 * exp 0 * element_off 2 0 1)) as all. rewrite exp_0, !Rmult_1_l in *. exact all. }
  split; [easy|]. unfold level_lost. rewrite pair_floor. cbn -[element_log own_constant slope unit]. split; lra.
Qed.
