(** * The premises hold of something, and the bounds are reached, of forms that not every kernel has.

    As in reached_bounds.v, the kernel [single] errs as far as it may, on the row 0, 0 or 1, 1.

    Examples
    - [b4_shared_is_reached]   quotients of the two exponentials that were added: the exponentials' own error is gone
    - [b7_mean_is_reached]     E[x] of the row 1, 1 from factors that err, over a sum that errs the other way; with it an
                               entropy that is added from the last number on
    - [b7_far_is_inhabited]    the factors of that mean
    - [b9_moved_is_inhabited]  two scores of which one errs by 1/8, computed as the row 0, 0, of which [b5_is_reached] and
                               [b6_is_reached] say the rest
    - [b9_scaled_first_is_reached]   a query that is scaled before its product with the key
    - [b8_is_inhabited]        the weight of the part that errs, from the L that both parts give; two exact parts

    Source: b3_total_variation.v, b7_uncentred.v, perturbed_scores.v, b9_split_scale.v, b8_merge.v. *)

From softcheck.numerics Require Import row added_terms b9_split_scale tilted_row reduction b1_sum constants b2_element
  b5_logsumexp b6_entropy b9_attention b3_total_variation b7_far_items b7_uncentred perturbed_scores b8_merge
  reached_bounds reached_losses.
Local Open Scope R_scope.

Notation E := (exp_unit single).
Notation l := (unit single).

Definition shared_w : R := exp (1 * E).
Definition shared_s : R := (shared_w + shared_w) * exp (-1 * l).
Definition shared_p : R := shared_w * (1 / shared_s * exp (1 * l)) * exp (1 * l) * exp (output_unit half).

Example b4_shared_is_reached :
  let ws := [shared_w; shared_w] in
  sound single /\ sound_output half /\ is_maximum 0 level /\ converted 0 0 level 0 level /\
    Forall2 (fun x w => 0 <= w /\ exists b, computed_argument single (0 - x) b /\ computed_exp single b w) level ws /\
    lost_sum single 0 0 level 1 0 < 1 /\ added single 0 0 ws shared_s 1 /\
    Forall2 (shared_element single half shared_s) ws [shared_p; shared_p] /\ shared_row_lost single 0 0 level 1 < 1 /\
    Rabs (sum [shared_p; shared_p] - 1)
    = exp (INR 1 * l - ln (1 - shared_row_lost single 0 0 level 1) + ratio_log single half) - 1
      + size level * element_floor single half 0 0 level 1 0 /\
    Forall (fun w => 0 <= w <= shared_w) ws /\ 0 < sum ws <= sum ws /\ shared_lost single ws (sum ws) 1 = 0.
Proof.
  cbv zeta. pose proof units as [hE hl]. pose proof (exp_pos (1 * E)) as wpos. fold shared_w in wpos.
  pose proof (proj1 half_sound) as hu.
  assert (row_lost : shared_row_lost single 0 0 level 1 = 0) by (unfold shared_row_lost; cbn -[unit exp INR sigma]; ring).
  assert (one_w : forall x, In x level -> 0 <= shared_w /\ exists b, computed_argument single (0 - x) b /\ computed_exp single b shared_w).
  { intros x inx. split; [lra|]. exists 0. assert (x = 0) as -> by (destruct inx as [<-|[<-|[]]]; easy).
    rewrite Rminus_0_r. split; [apply argument_of_0|apply exp_of_0; lra]. }
  assert (one_p : shared_element single half shared_s shared_w shared_p).
  { exists (shared_w * (1 / shared_s * exp (1 * l)) * exp (1 * l)). split.
    - apply ratio_reciprocal with (1 / shared_s * exp (1 * l)); apply product_off; lra.
    - exists (output_unit half), 0. rewrite Rabs_R0, Rabs_right by lra. cbn. repeat split; try lra. unfold shared_p. cbn. ring. }
  split; [apply single_sound|]. split; [apply half_sound|]. split; [apply level_maximum|]. split; [apply converted_same|].
  split; [repeat constructor; try lra; apply one_w; [now left|now right; left]|].
  split; [unfold lost_sum, lost; cbn -[sigma_0 exp INR]; lra|]. split.
  { apply (added_addition single 0 0 [shared_w] [shared_w] shared_w shared_w _ 0 0); [| |apply sum_off; lra];
      apply added_term; exists 0, 0; rewrite Rabs_R0, exp_0; lra. }
  split; [now repeat constructor|]. split; [lra|]. split.
  { rewrite row_lost, Rminus_0_r, ln_1, Rminus_0_r.
    assert (none : element_floor single half 0 0 level 1 0 = 0).
    { unfold element_floor, numerator_loss, when_rescaled. cbn -[element_log]. ring. }
    rewrite none, Rmult_0_r, Rplus_0_r. unfold ratio_log, division_roundings. simpl (INR 1).
    assert (value : sum [shared_p; shared_p] = exp (1 * l + (2 * l + output_unit half))).
    { unfold sum; cbn [fold_right]. unfold shared_p, shared_s. replace (-1 * l) with (- (1 * l)) by ring.
      replace (1 * l + (2 * l + output_unit half)) with (1 * l + 1 * l + 1 * l + output_unit half) by ring.
      rewrite exp_Ropp, !exp_plus. field. split; [apply Rgt_not_eq, exp_pos|lra]. }
    pose proof (exp_at_least_one (1 * l + (2 * l + output_unit half)) ltac:(lra)). rewrite value, Rabs_right; lra. }
  split; [repeat constructor; lra|]. split; [unfold sum; cbn; lra|].
  unfold shared_lost. cbn -[unit exp INR sum]. unfold Rdiv. ring.
Qed.

(** ** The row 1, 1: its uncentred mean is 1 *)

Definition one_item : logit_item := {| logit := 1; reduced := 1; factor := 1 * exp l |}.
Definition one_row : list logit_item := [one_item; one_item].
Definition one_weight (v : R) : R := exp (v * E).
Definition one_sum : R := (one_weight (-1) + one_weight (-1)) * exp (-1 * l).
Definition one_term : R := (one_weight 1 * exp 0 + 0) * (1 * exp l) * exp (1 * l).
Definition one_moment : R := (one_term + one_term) * exp (1 * l).
Definition one_mean : R := one_moment * (1 / one_sum * exp l) * exp (1 * l).

Lemma one_argument : computed_argument single (1 - 1) 0.
Proof. rewrite Rminus_diag_eq by easy. apply argument_of_0. Qed.

Lemma one_maximum : is_maximum 1 (map logit one_row) /\ is_maximum 1 (map reduced one_row).
Proof. split; (split; [now left|]); intros x [<-|[<-|[]]]; cbn; lra. Qed.

Lemma one_sum_of_row : sum_of_row single 0 1 (map logit one_row) one_sum 1 0.
Proof.
  apply (sum_of_tree single 0 1 (map logit one_row) 1 (map logit one_row) _ 1 0 0); try apply one_maximum;
    [apply converted_same| |unfold size; cbn; lra|easy].
  apply (summed_addition single [1] [1] 1 (one_weight (-1)) (one_weight (-1)) _ 0 0 0 0 0 0); [| |apply sum_off; lra];
    apply summed_item with 0; try (apply exp_of_0; lra); try lra; apply one_argument.
Qed.

Lemma one_moment_tree : accumulated single no_format (map (fun a => (reduced a, factor a)) one_row) 1 one_moment 1 0 0.
Proof.
  apply (accumulated_addition single no_format [(1, 1 * exp l)] [(1, 1 * exp l)] 1 one_term one_term _ 0 0 0 0 0 0);
    [| |apply sum_off; lra];
    apply accumulated_item with 0 (one_weight 1) 0 0; try lra; try apply one_argument; try (apply exp_of_0; lra);
      try (rewrite Rabs_R0; cbn; lra); apply product_off; lra.
Qed.

Lemma one_statistics : weight_sum 1 (map logit one_row) = 2 /\ mean_deviation 1 (map logit one_row) = 0 /\
  mean_square_deviation 1 (map logit one_row) = 0 /\ exact_moment 1 one_row = 2.
Proof.
  unfold mean_deviation, mean_square_deviation, deviation_sum, exact_moment, weight_sum, weighted_sum, sum; cbn.
  rewrite !Rminus_diag_eq, exp_0 by easy. repeat split; unfold Rdiv; ring.
Qed.

Example b7_mean_is_reached :
  let logits := map logit one_row in
  exists x z H_hat, sound single /\ is_maximum 1 logits /\ is_maximum 1 (map reduced one_row) /\ (0 <= 0 /\ 0 <= l /\ 0 <= 0) /\
    (forall a, In a one_row -> Rabs ((1 - reduced a) - (1 - logit a)) <= 0 /\ approximates l 0 (logit a) (factor a)) /\
    accumulated single no_format (map (fun a => (reduced a, factor a)) one_row) 1 one_moment 1 0 0 /\
    sum_of_row single 0 1 logits one_sum 1 0 /\ lost_sum single 0 1 logits 1 0 < 1 /\ 0 <= 0 /\ roundoff single + 0 < 1 /\
    quotient_by_sum single 0 one_moment one_sum one_mean /\
    Rabs (one_mean - exact_moment 1 one_row / weight_sum 1 logits)
    = uncentred_mean_error single 0 1 l 0 one_row 1 0 1 0 0 + product_floor single /\
    computed_maximum single 0 1 0 0 1 /\ computed_log single one_sum x /\ Permutation [1; x; - one_mean] [- one_mean; x; 1] /\
    rounded_sum single (- one_mean + x) z /\ rounded_sum single (z + 1) H_hat /\ rounded_output 0 0 H_hat H_hat /\
    INR 0 <= 2 * size logits /\ (0 = 0 -> 0 = 0)%nat.
Proof.
  cbv zeta. pose proof units as [hE hl]. destruct one_statistics as [S2 [D0 [V0 X2]]]. pose proof (exp_at_least_one l hl) as x1.
  exists (ln one_sum), (- one_mean + ln one_sum), (- one_mean + ln one_sum + 1).
  assert (factors : forall a, In a one_row -> logit a = 1 /\ reduced a = 1 /\ factor a = 1 * exp l) by (intros a [<-|[<-|[]]]; easy).
  split; [apply single_sound|]. split; [apply one_maximum|]. split; [apply one_maximum|]. split; [lra|]. split.
  { intros a ina. destruct (factors a ina) as [-> [-> ->]]. split; [rewrite Rminus_diag_eq, Rabs_R0; lra|now apply approximately]. }
  split; [apply one_moment_tree|]. split; [apply one_sum_of_row|]. split; [unfold lost_sum, lost; cbn -[sigma_0 exp INR]; lra|].
  split; [lra|]. split; [cbn; lra|]. split.
  { apply by_reciprocal with l; [|apply product_off; lra]. unfold reciprocal_unit. rewrite Rplus_0_r. fold l.
    change (log_unit (roundoff single)) with l. rewrite Rabs_right; lra. }
  split.
  { rewrite X2, S2. unfold uncentred_mean_error, mean_excess, mean_size, mean_log, factor_log, term_log, quotient_unit, reciprocal_unit.
    assert (recip : log_unit (roundoff single + 0) = l) by now rewrite Rplus_0_r.
    rewrite recip, D0, V0, no_slope, Rabs_R1.
    assert (sig : sigma single 0 1 (map logit one_row) 1 0 = l + E).
    { unfold sigma, sigma_0, direct_log, rescale_unit, argument_floor, shift.
      assert (none : lost_sum single 0 1 (map logit one_row) 1 0 = 0) by (unfold lost_sum, lost; cbn -[sigma_0 exp INR]; ring).
      rewrite none, no_slope, Rminus_0_r, ln_1. cbn -[exp_unit unit second]. field. }
    rewrite sig. unfold lost_logits, lost. cbn -[unit exp_unit size second third exp lost_logit]. change (S 0) with 1%nat.
    replace (one_mean) with (exp (INR 1 * l + E + INR 0 * (E + l) + 0 + l + (INR 0 + 1) * 0 + (1 + 0) * 0 + l + (l + E + (l + l)))).
    - pose proof (exp_at_least_one (INR 1 * l + E + INR 0 * (E + l) + 0 + l + (INR 0 + 1) * 0 + (1 + 0) * 0 + l + (l + E + (l + l)))
                    ltac:(simpl INR; lra)).
      simpl INR in *. rewrite Rabs_right by lra. unfold shift. field.
    - simpl INR. unfold one_mean, one_moment, one_sum, one_term, one_weight.
      replace (1 * l + E + 0 * (E + l) + 0 + l + (0 + 1) * 0 + (1 + 0) * 0 + l + (l + E + (l + l))) with (l + E + l + l + (l + E + (l + l))) by ring.
      replace (-1 * E) with (- E) by ring. replace (-1 * l) with (- l) by ring. rewrite !Rmult_1_l, !exp_Ropp, exp_0, !exp_plus.
      pose proof (exp_pos E). field. lra. }
  split; [unfold computed_maximum, argument_floor; rewrite Rminus_diag_eq, Rabs_R0, no_slope by easy; cbn; lra|].
  split; [unfold computed_log; rewrite Rminus_diag_eq, Rabs_R0 by easy; cbn -[ln one_sum]; pose proof (Rabs_pos (ln one_sum)); lra|].
  split; [apply (Permutation_rev [1; ln one_sum; - one_mean])|].
  split; [exists 0, 0; rewrite Rabs_R0; cbn -[ln one_sum one_mean]; repeat split; lra|].
  split; [exists 0, 0; rewrite Rabs_R0; cbn -[ln one_sum one_mean]; repeat split; lra|].
  split; [exists 0, 0; rewrite Rabs_R0; repeat split; lra|]. split; [unfold size; cbn; lra|easy].
Qed.

(** Its factors, which are no further from 0 than e^l. *)
Example b7_far_is_inhabited :
  let pairs := map (fun a => (reduced a, factor a)) one_row in
  sound single /\ (0 <= exp l /\ 0 <= 0) /\ accumulated single no_format pairs 1 one_moment 1 0 0 /\ reaches 1 (exp l) 0 pairs /\
    INR 0 <= 2 * size pairs /\ (0 = 0 -> 0 = 0)%nat /\
    computed_argument single (1 - 1) 0 /\ Rabs 0 <= exp_floor single /\ Rabs 0 * Rabs 0 <= exp_floor single * exp_cutoff single.
Proof.
  pose proof (exp_pos l). split; [apply single_sound|]. split; [lra|]. split; [apply one_moment_tree|]. split.
  { intros p [<-|[<-|[]]]; cbn -[l exp]; rewrite Rabs_right; lra. }
  split; [unfold size; cbn; lra|]. split; [easy|]. split; [apply one_argument|]. rewrite Rabs_R0. cbn. lra.
Qed.

(** ** Scores that err *)

Definition exact_key : key := {| score := 0; computed_score := 0; value := 1 |}.
Definition moved_key : key := {| score := - / 8; computed_score := 0; value := 1 |}.
Definition moved_keys : list key := [exact_key; moved_key].
Definition moved_by (a : key) : R := computed_score a - score a.

Example b9_moved_is_inhabited :
  is_maximum 0 (map score moved_keys) /\ is_maximum 0 (map computed_score moved_keys) /\
    (forall a, In a moved_keys -> Rabs (computed_score a - score a) <= moved_by a /\ moved_by a <= / 8) /\
    map computed_score moved_keys = level /\ moved_keys <> [] /\ 0 <= 1 <= 1 /\
    ln (partition_function (map score moved_keys)) < ln (partition_function (map computed_score moved_keys)).
Proof.
  split; [split; [now left|]; intros x [<-|[<-|[]]]; cbn; lra|]. split; [exact level_maximum|]. split.
  { intros a [<-|[<-|[]]]; unfold moved_by; cbn; rewrite Rabs_right; lra. }
  split; [easy|]. split; [easy|]. split; [lra|].
  assert (below : exp (- / 8) < 1) by (rewrite <- exp_0; apply exp_increasing; lra). pose proof (exp_pos (- / 8)).
  apply ln_increasing; unfold partition_function, sum; cbn [map fold_right moved_keys score computed_score exact_key moved_key];
    rewrite exp_0; lra.
Qed.

(** ** (q scale) k, of 2 times 3, scaled by 2, each as it is read too large *)

Definition scaled_factor : R := 2 * (2 * exp l) * exp l.
Definition scaled_score : R := scaled_factor * (3 * exp (2 * l)) * exp l.

Example b9_scaled_first_is_reached :
  sound single /\ 0 <= 2 /\
    (forall a : Datatypes.unit, In a [tt] -> b9_split_scale.scaled_term single (fun _ => 2) (fun _ => 3) 2 2 a scaled_score) /\
    added single 0 0 (map (fun _ : Datatypes.unit => scaled_score) [tt]) scaled_score 0 /\ (0 <= length [tt] - 1)%nat /\ [tt] <> [] /\
    Rabs (scaled_score - 2 * sum (map (fun _ => 2 * 3) [tt])) = scaled_first_error single [tt] (fun _ => 2) (fun _ => 3) 2 2.
Proof.
  pose proof units as [_ hl]. split; [apply single_sound|]. split; [lra|]. split.
  { intros a _. apply scaled_term_computed with (2 * l) l scaled_factor (scaled_factor * (3 * exp (2 * l))); try easy.
    - rewrite Rabs_right; lra.
    - rewrite Rabs_right; lra.
    - apply product_up.
    - apply product_up. }
  split; [apply added_term; exists 0, 0; rewrite Rabs_R0, exp_0; lra|]. split; [cbn; lia|]. split; [easy|].
  unfold scaled_first_error, size, sum. cbn [map fold_right length]. simpl INR. simpl product_floor. simpl sum_floor.
  assert (value : scaled_score = 12 * exp ((1 + 2 + 2) * l)).
  { unfold scaled_score, scaled_factor. replace ((1 + 2 + 2) * l) with (l + l + 2 * l + l) by ring. rewrite !exp_plus. ring. }
  pose proof (exp_at_least_one ((1 + 2 + 2) * l) ltac:(lra)).
  rewrite value, (Rabs_right 2), (Rabs_right (2 * 3)), (Rabs_right 3), Rabs_right; lra.
Qed.

(** ** A merge *)

Example b8_is_inhabited :
  let z := (0 + far_log) * (1 + roundoff single) in
  exists b p, sound single /\ is_maximum 0 (map score moved_keys) /\ is_maximum 0 (map computed_score moved_keys) /\
    (forall a, In a moved_keys -> Rabs (computed_score a - score a) <= / 8) /\
    sum_of_row single 0 0 (map computed_score moved_keys) (far_sum 1) 1 1 /\
    lost_sum single 0 0 (map computed_score moved_keys) 1 1 < 1 /\ computed_maximum single 0 0 1 0 0 /\
    computed_log single (far_sum 1) far_log /\ rounded_sum single (0 + far_log) z /\ In moved_key moved_keys /\
    rounded_sum single (computed_score moved_key - z) b /\ computed_exp single (- b) p /\
    (forall l : list (R * R), In l [[(0, 1); (0, 2)]; [(1, 3)]] -> l <> []).
Proof.
  cbv zeta. pose proof units as [hE _]. set (z := (0 + far_log) * (1 + roundoff single)).
  exists ((0 - z) * (1 + roundoff single)), (exp ((0 - z) * (1 + roundoff single) + E)).
  change (map computed_score moved_keys) with level. destruct b9_moved_is_inhabited as [m1 [_ [near _]]].
  split; [apply single_sound|]. split; [easy|]. split; [apply level_maximum|].
  split; [intros a ina; destruct (near a ina); lra|].
  split; [apply far_sum_of_row; lra|]. split; [rewrite nothing_lost; lra|].
  split; [unfold computed_maximum; rewrite no_argument_floor, Rminus_0_r, Rabs_R0; cbn; lra|].
  split; [apply far_log_of_sum|]. split; [apply sum_up|]. split; [right; now left|]. split; [apply sum_up|]. split.
  { exists E, 0. rewrite Rabs_R0, Ropp_involutive, (Rabs_right E) by lra. cbn -[exp_unit z]. repeat split; try lra; try easy. }
  intros l [<-|[<-|[]]]; easy.
Qed.
