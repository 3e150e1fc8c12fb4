(** * B9 of a kernel that keeps the sums of weighted values in a format of their own (values=).

    Scores, exponentials and their sum are of one arithmetic M. A product with a value, an addition, a rescaling of such sums and their
    quotient are M's, and stored in a format that errs by lambda_v and loses f_v: operations of a second arithmetic N. A value meets its
    weight as that format has it, off by lambda_r and f_v, lambda_r = lambda_v and what M makes of a value that it cannot hold.

    Main results, rate = t (1 + tau) + tau
    - [stored_sum], [stored_product], [stored_accumulated]   an operation of M that is stored is one of N, and one that is not
    - [few_rescalings]                 K rescalings in all are at most n j, j on a path
    - [b9_stored_values]   the bound of [b9_threshold] with o = b + 2 rate e_max + quotient_unit + reading + (h + R + 3) lambda_v, and
                           (4 + R) f_v more lost by each addend; the quotient loses omega_m e^lambda_v + f_v

    Nothing stored is lambda_v = f_v = 0, and then this is [b9_threshold], of values that the accumulator may not hold.

    Source: docs/tolerances.md, B9; AttentionThreshold in numerics/rounding/rounding_attention.cpp. *)

From softcheck.numerics Require Import row reduction element_threshold added_terms b1_sum b5_logsumexp b6_entropy
  b9_attention b10_temperature b9_sharpened b9_threshold.
Local Open Scope R_scope.

(** ** The second arithmetic *)

Definition stored_arithmetic (M : arithmetic) (lambda_v floor_v : R) : arithmetic := {|
  roundoff := 1 - exp (- (unit M + lambda_v)); exp_error := exp_error M; log_error := log_error M; argument_unit := argument_unit M;
  argument_step := argument_step M; sum_floor := sum_floor M * exp lambda_v + floor_v;
  product_floor := product_floor M * exp lambda_v + floor_v; exp_floor := exp_floor M; exp_cutoff := exp_cutoff M |}.

Section Arithmetic.
  Context (M : arithmetic) (good : sound M) (lambda_v floor_v : R) (stores : 0 <= lambda_v /\ 0 <= floor_v)
    (fits : product_floor M * exp lambda_v + floor_v <= / 16).
  Notation N := (stored_arithmetic M lambda_v floor_v).

  Lemma stored_unit : unit N = unit M + lambda_v.
  Proof using. unfold unit at 1, log_unit. cbn [stored_arithmetic roundoff]. replace (1 - (1 - exp (- (unit M + lambda_v)))) with (exp (- (unit M + lambda_v))) by ring. rewrite ln_exp. ring. Qed.

  Lemma stored_sound : sound N.
  Proof using good stores fits.
    pose proof (unit_nonneg M good) as hl. pose proof (exp_pos (- (unit M + lambda_v))).
    pose proof (exp_at_most_one (- (unit M + lambda_v)) ltac:(lra)).
    pose proof (exp_at_least_one lambda_v (proj1 stores)). unfold sound in *.
    cbn [stored_arithmetic roundoff exp_error log_error argument_unit argument_step sum_floor product_floor exp_floor
      exp_cutoff].
    change (slope N) with (slope M). assert (0 <= sum_floor M * exp lambda_v) by monotone.
    assert (sum_floor M * exp lambda_v <= product_floor M * exp lambda_v) by monotone. lra.
  Qed.

  Lemma stored_operation z y s floor :
    0 <= floor -> (exists t e, Rabs t <= unit M /\ Rabs e <= floor /\ y = z * exp t + e) -> approximates lambda_v floor_v y s ->
    exists t e, Rabs t <= unit N /\ Rabs e <= floor * exp lambda_v + floor_v /\ s = z * exp t + e.
  Proof using stores.
    intros hf [t1 [e1 [b1 [c1 ->]]]] [t2 [e2 [b2 [c2 ->]]]]. rewrite stored_unit. exists (t1 + t2), (e1 * exp t2 + e2).
    split; [eapply Rle_trans; [apply Rabs_triang|]; lra|]. split; [|rewrite exp_plus; ring]. triangle.
    rewrite Rabs_mult, (Rabs_right (exp t2)) by (left; apply exp_pos). apply abs_between in b2.
    apply Rplus_le_compat; [|exact c2]. monotone.
  Qed.

  Theorem stored_sum z y s : computed_sum M z y -> approximates lambda_v floor_v y s -> computed_sum N z s.
  Proof using good stores. intros hy. apply stored_operation with (2 := hy). unfold sound in good. lra. Qed.

  Theorem stored_product z y s : computed_product M z y -> approximates lambda_v floor_v y s -> computed_product N z s.
  Proof using good stores. intros hy. apply stored_operation with (2 := hy). unfold sound in good. lra. Qed.

  (** Sums that are not stored are sums of N, too. *)
  Theorem stored_accumulated P l r y h j K : accumulated M P l r y h j K -> accumulated N P l r y h j K.
  Proof using good stores.
    assert (same : forall z, approximates lambda_v floor_v z z) by (intros z; exists 0, 0; rewrite Rabs_R0, exp_0; repeat split; lra).
    induction 1 as [x v r b w t0 e y le arg ex bt be prod|l1 l2 r y1 y2 y h1 h2 j1 j2 K1 K2 _ s1 _ s2 add
                   |l r r' y b f y' h j K _ st le arg ex prod|l l' r y h j K _ st order].
    - apply accumulated_item with b w t0 e; try easy. now apply stored_product with y.
    - apply accumulated_addition with y1 y2; try easy. now apply stored_sum with y.
    - apply accumulated_rescaled with r y b f; try easy. now apply stored_product with y'.
    - now apply accumulated_reordered with l.
  Qed.
End Arithmetic.

(** Each rescaling is of an item at least. *)
Theorem few_rescalings M P l r y h j K : accumulated M P l r y h j K -> INR K <= INR j * size l.
Proof.
  induction 1 as [x v r b w t0 e y le arg ex bt be prod|l1 l2 r y1 y2 y h1 h2 j1 j2 K1 K2 first IH1 second IH2 add
                 |l r r' y b f y' h j K sums IH le arg ex prod|l l' r y h j K _ IH same].
  - unfold size. cbn. lra.
  - rewrite plus_INR. replace (size (l1 ++ l2)) with (size l1 + size l2) by (unfold size; now rewrite app_length, plus_INR).
    pose proof (size_nonneg l1). pose proof (size_nonneg l2). pose proof (le_INR _ _ (Nat.le_max_l j1 j2)).
    pose proof (le_INR _ _ (Nat.le_max_r j1 j2)). assert (INR j1 * size l1 <= INR (max j1 j2) * size l1) by monotone.
    assert (INR j2 * size l2 <= INR (max j1 j2) * size l2) by monotone. lra.
  - rewrite !S_INR. assert (some : l <> []).
    { clear - sums. induction sums as [| |? ? ? ? ? ? ? ? ? ? ? IH|? ? ? ? ? ? ? ? IH same]; try easy.
      - intros none. now apply app_eq_nil in none.
      - intros ->. now apply IH, Permutation_nil, Permutation_sym. }
    pose proof (size_at_least_one l some). lra.
  - assert (size l' = size l) as -> by (unfold size; now rewrite (Permutation_length same)). exact IH.
Qed.

(** ** The output *)

Section Stored.
  Context (M : arithmetic) (P : weight_format) (good : sound M)
    (good_weights : 0 <= weight_unit P /\ 0 <= weight_floor P <= / 2) (lambda_v floor_v reading : R)
    (stores : 0 <= lambda_v /\ 0 <= floor_v) (reads : 0 <= reading)
    (fits : product_floor M * exp lambda_v + floor_v <= / 16).
  Notation N := (stored_arithmetic M lambda_v floor_v).
  (* each key, whose value is the one that the kernel holds, beside its exact value *)
  Context (row : list (key * R)) (m m' : R).
  Notation keys := (map fst row).
  Notation computed_scores := (map computed_score keys).
  Context (max : is_maximum m (map score keys)) (max' : is_maximum m' computed_scores)
    (holds : forall q, In q row -> approximates (reading + lambda_v) floor_v (snd q) (value (fst q)))
    (error : key -> R) (largest : R)
    (errs : forall a, In a keys -> Rabs (computed_score a - score a) <= error a /\ error a <= largest) (tau s : R)
    (tau_range : 0 <= tau < 1) (near_one : Rabs (s - 1) <= tau) (positive : 0 < s) (y S_hat : R) (h j K h' j' : nat)
    (r quantum : R) (loses : 0 <= r) (leaves : roundoff M + r < 1).
  Notation pairs := (map (fun a => (s * computed_score a, value a)) keys).
  Context (hy : accumulated N P pairs (s * m') y h j K) (few : INR K <= 2 * size row) (none : (j = 0 -> K = 0)%nat)
    (hs : sum_of_row M 0 (s * m') (scaled s computed_scores) S_hat h' j')
    (some : lost_sum M 0 (s * m') (scaled s computed_scores) h' j' < 1).
  Notation t := (slope M).
  Notation p := (weight keys m).
  Notation rate := (rate M tau).
  Context (below_one : rate < 1) (quantum_range : 0 < quantum <= 1).

  Definition exact_output : R := sum (map (fun q => p (fst q) * snd q) row).
  Definition stored_own_log : R :=
    term_log M P h j + 2 * rate * largest + quotient_unit M r + reading + (INR h + INR j + 3) * lambda_v.
  Definition stored_widest_log : R := stored_own_log + largest.
  Definition stored_threshold (a : key) : R :=
    (exp (stored_own_log + error a) - 1 + threshold_slope quantum stored_widest_log rate * (m - score a)) * p a.
  Definition exact_magnitude : R := sum (map (fun q => Rabs (snd q)) row).
  Definition stored_lost_addend : R := lost_addend M j + (4 + INR j) * floor_v.
  Definition stored_quotient_loss : R := product_floor M * exp lambda_v + floor_v.
  Notation common := (common M keys m m' error largest tau s h' j').
  Definition stored_rounding : R :=
    (exp common - 1) * Rabs exact_output + exp common * sum (map (fun q => Rabs (snd q) * stored_threshold (fst q)) row).
  Definition stored_lost : R :=
    exp common * (exp stored_widest_log * (exact_magnitude * lost_weight M P j + size row * stored_lost_addend)
                  + exact_magnitude * (quantum / 2048)) + stored_quotient_loss.

  Notation Q := (quotient_unit M r + lambda_v).
  Notation lambda_r := (reading + lambda_v).
  Notation k a := (sharpened_key_log N P m error largest tau h j a).

  Local Ltac facts :=
    sound_facts good; destruct stores as [hv hf];
    pose proof (stored_sound M good lambda_v floor_v stores fits) as goodN;
    assert (goodP : 0 <= weight_unit P /\ 0 <= weight_floor P) by lra;
    pose proof (term_log_nonneg N P goodN goodP h j) as hb;
    assert (hr : 0 <= rate) by (unfold b9_threshold.rate; assert (0 <= t * (1 + tau)) by (apply Rmult_le_pos; lra); lra);
    pose proof (largest_nonneg keys m max error largest errs) as e0;
    pose proof (quotient_unit_nonneg M good r loses leaves) as q0.

  Lemma own_log_parts : term_log N P h j + 2 * rate * largest + Q + lambda_r = stored_own_log.
  Proof using.
    unfold term_log, stored_own_log, term_log. rewrite stored_unit. change (exp_unit N) with (exp_unit M). change (argument_step N) with (argument_step M). ring.
  Qed.

  (** One key: what the sum errs by and its value, below the chord of the widest. *)
  Lemma stored_key_below a : In a keys -> p a * (exp (k a + Q + lambda_r) - 1) <= stored_threshold a + quantum / 2048.
  Proof using good good_weights stores reads fits max max' errs tau_range loses leaves below_one quantum_range.
    intros ina. facts. destruct (errs a ina) as [close le]. pose proof (Rabs_pos (computed_score a - score a)).
    pose proof (proj2 max (score a) (in_map score keys a ina)) as above. assert (re : 0 <= 2 * rate * largest) by monotone.
    pose proof own_log_parts as parts. assert (S1 : 1 <= weight_sum m (map score keys)) by (apply weight_sum_at_least_one, max).
    assert (small : 0 <= p a <= exp (- (m - score a))).
    { split; [left; apply (weight_pos keys m m' max max')|]. unfold weight. pose proof (exp_pos (- (m - score a))).
      rewrite <- (Rmult_1_r (exp (- (m - score a)))) at 2. apply Rmult_le_compat_l; [lra|]. rewrite <- Rinv_1. monotone. }
    assert (same : k a + Q + lambda_r = stored_own_log + error a + rate * (m - score a))
      by (rewrite <- parts; unfold sharpened_key_log, b9_threshold.rate; change (slope N) with t; ring).
    rewrite same.
    pose proof (element_threshold quantum (stored_own_log + error a) rate quantum_range ltac:(lra) ltac:(lra) (m - score a)
      (p a) ltac:(lra) small) as chord.
    pose proof (threshold_slope_grows quantum rate (stored_own_log + error a) stored_widest_log quantum_range ltac:(lra)
      ltac:(unfold stored_widest_log; lra)) as steeper.
    unfold threshold_constant, threshold_floor in chord. unfold stored_threshold.
    pose proof (Rmult_le_compat_r _ _ _ (proj1 small) (Rmult_le_compat_r (m - score a) _ _ ltac:(lra) steeper)) as wider. lra.
  Qed.

  (** p e^k is at most e^widest where nothing else is rounded. *)
  Lemma weight_grown a : In a keys -> p a * exp (k a + Q) <= exp (stored_widest_log - lambda_r).
  Proof using good good_weights stores reads fits max max' errs tau_range loses leaves below_one.
    intros ina. facts. destruct (errs a ina) as [close le]. pose proof (proj2 max (score a) (in_map score keys a ina)) as above.
    assert (S1 : 1 <= weight_sum m (map score keys)) by (apply weight_sum_at_least_one, max).
    assert (small : p a <= exp (- (m - score a))).
    { unfold weight. pose proof (exp_pos (- (m - score a))). rewrite <- (Rmult_1_r (exp (- (m - score a)))) at 2.
      apply Rmult_le_compat_l; [lra|]. rewrite <- Rinv_1. monotone. }
    apply Rle_trans with (exp (- (m - score a)) * exp (k a + Q)); [apply Rmult_le_compat_r; [monotone|easy]|].
    rewrite <- exp_plus. apply exp_le. unfold stored_widest_log. rewrite <- own_log_parts. unfold sharpened_key_log.
    change (slope N) with t. fold (b9_threshold.rate M tau). assert (rate * (m - score a) <= 1 * (m - score a)) by monotone.
    lra.
  Qed.

  (** A value as it is held. *)
  Lemma held_value q : In q row ->
    Rabs (value (fst q)) <= Rabs (snd q) * exp lambda_r + floor_v /\
    Rabs (value (fst q) - snd q) <= Rabs (snd q) * (exp lambda_r - 1) + floor_v.
  Proof using holds.
    intros inq. destruct (holds q inq) as [theta [e [bt [be ->]]]]. pose proof (expm1_abs theta _ bt) as grows.
    pose proof (Rabs_pos (snd q)). split.
    - triangle. apply Rplus_le_compat; [|exact be]. rewrite Rabs_mult, (Rabs_right (exp theta)) by (left; apply exp_pos).
      apply Rmult_le_compat_l; [easy|]. apply exp_le. apply abs_between in bt. lra.
    - replace (snd q * exp theta + e - snd q) with (snd q * (exp theta - 1) + e) by ring. triangle. rewrite Rabs_mult.
      apply Rplus_le_compat; [|exact be]. monotone.
  Qed.

  Notation held_output := (attention_output keys m).
  Notation own_size := (sum (map (fun q => p (fst q) * Rabs (snd q)) row)).

  (** One key: its sum, its quotient and its value together. *)
  Lemma stored_key_terms q : In q row ->
    exp Q * (p (fst q) * Rabs (value (fst q)) * (exp (k (fst q)) - 1)) + (exp Q - 1) * (p (fst q) * Rabs (snd q))
      + exp Q * (p (fst q) * Rabs (value (fst q) - snd q))
    <= Rabs (snd q) * stored_threshold (fst q) + Rabs (snd q) * (quantum / 2048) + floor_v * exp (stored_widest_log - lambda_r).
  Proof using good good_weights stores reads fits max max' holds errs tau_range loses leaves below_one quantum_range.
    intros inq. facts. assert (ina : In (fst q) keys) by now apply in_map. destruct (held_value q inq) as [sized moved].
    pose proof (stored_key_below (fst q) ina) as below. pose proof (weight_grown (fst q) ina) as grown_weight.
    pose proof (weight_pos keys m m' max max' (fst q)) as pos. pose proof (Rabs_pos (snd q)) as v0.
    destruct (errs (fst q) ina) as [close le]. pose proof (proj2 max (score (fst q)) (in_map score keys _ ina)) as above.
    set (a := fst q) in *. set (X := exp (k a)). set (G := exp lambda_r) in *.
    set (W := exp (stored_widest_log - lambda_r)) in *. assert (k0 : 0 <= k a).
    { unfold sharpened_key_log. change (slope N) with t. fold (b9_threshold.rate M tau).
      pose proof (Rabs_pos (computed_score a - score a)). assert (0 <= rate * (m - score a + 2 * largest)) by monotone. lra. }
    assert (X1 : 1 <= X) by now apply exp_at_least_one. assert (G1 : 1 <= G) by (apply exp_at_least_one; lra).
    assert (Q1 : 1 <= exp Q) by monotone. set (E := exp Q) in *.
    assert (joined : exp (k a + Q) = X * E /\ exp (k a + Q + lambda_r) = X * E * G).
    { unfold X, E, G. rewrite <- !exp_plus. split; f_equal; ring. } destruct joined as [j1 j2]. rewrite j1 in grown_weight.
    rewrite j2 in below.
    assert (a1 : p a * Rabs (value a) * (X - 1) <= p a * (Rabs (snd q) * G + floor_v) * (X - 1)) by monotone.
    assert (a2 : p a * Rabs (value a - snd q) <= p a * (Rabs (snd q) * (G - 1) + floor_v)) by monotone.
    assert (a3 : floor_v * (p a * (X * E)) <= floor_v * W) by monotone.
    assert (a4 : Rabs (snd q) * (p a * (X * E * G - 1)) <= Rabs (snd q) * (stored_threshold a + quantum / 2048)) by monotone.
    assert (b1 : E * (p a * Rabs (value a) * (X - 1)) <= E * (p a * (Rabs (snd q) * G + floor_v) * (X - 1))) by monotone.
    assert (b2 : E * (p a * Rabs (value a - snd q)) <= E * (p a * (Rabs (snd q) * (G - 1) + floor_v))) by monotone. lra.
  Qed.

  Lemma stored_terms :
    exp Q * sharpened_terms N P keys m error largest tau h j + (exp Q - 1) * own_size + exp Q * Rabs (held_output - exact_output)
    <= sum (map (fun q => Rabs (snd q) * stored_threshold (fst q)) row) + exact_magnitude * (quantum / 2048)
       + size row * (floor_v * exp (stored_widest_log - lambda_r)).
  Proof using good good_weights stores reads fits max max' holds errs tau_range loses leaves below_one quantum_range.
    facts. assert (Q1 : 1 <= exp Q) by monotone.
    assert (apart : Rabs (held_output - exact_output) <= sum (map (fun q => p (fst q) * Rabs (value (fst q) - snd q)) row)).
    { unfold attention_output, exact_output. rewrite map_map, <- sum_map_minus. eapply Rle_trans; [apply sum_map_abs|]. right.
      apply sum_map_ext. intros q _. rewrite <- Rmult_minus_distr_l, Rabs_mult, (Rabs_right (p (fst q))); [easy|]. left.
      apply (weight_pos keys m m' max max'). }
    apply Rle_trans with (exp Q * sharpened_terms N P keys m error largest tau h j + (exp Q - 1) * own_size
      + exp Q * sum (map (fun q => p (fst q) * Rabs (value (fst q) - snd q)) row)).
    { monotone. } unfold sharpened_terms, exact_magnitude.
    rewrite map_map, <- !sum_map_mult_l, <- sum_map_mult_r, <- (sum_map_const (floor_v * _)), <- !sum_map_plus.
    apply sum_map_le. intros q inq. exact (stored_key_terms q inq).
  Qed.

  (** What underflows in the sums, and in the values. *)
  Lemma stored_values_lost :
    lost_values N P pairs j K + size row * floor_v <= exp lambda_r * (exact_magnitude * lost_weight M P j + size row * stored_lost_addend).
  Proof using good good_weights stores reads fits max holds errs hy few none.
    clear some hs max' leaves below_one near_one positive.
    assert (hwx : 0 <= exp_floor M <= / 16) by (unfold sound in good; lra). destruct stores as [hv hf].
    assert (hwm : 0 <= product_floor M) by (unfold sound in good; lra).
    assert (hwa : 0 <= sum_floor M) by (unfold sound in good; lra).
    assert (visible : row <> []) by (intros empty; destruct max as [inm _]; rewrite empty in inm; easy).
    pose proof (size_at_least_one row visible) as n1. set (n := size row) in *.
    assert (same : size pairs = n) by (unfold n, size; now rewrite !map_length).
    pose proof (few_rescalings N P pairs (s * m') y h j K hy) as fewer. rewrite same in fewer.
    assert (lw : 0 <= lost_weight M P j <= 1) by (unfold lost_weight; destruct j; lra). set (G := exp lambda_r).
    set (V := exact_magnitude). assert (G1 : 1 <= G) by (apply exp_at_least_one; lra).
    assert (sized : values_size pairs <= V * G + n * floor_v).
    { unfold values_size, V, exact_magnitude, n. rewrite !map_map, <- sum_map_const, <- sum_map_mult_r, <- sum_map_plus.
      apply sum_map_le. intros q inq. exact (proj1 (held_value q inq)). }
    assert (Ev : exp lambda_v <= G) by (unfold G; apply exp_le; lra).
    assert (parts : lost_values N P pairs j K
      = values_size pairs * lost_weight M P j
      + (n * product_floor M + (n - 1) * sum_floor M + INR K * product_floor M) * exp lambda_v + (2 * n - 1 + INR K) * floor_v).
    { unfold lost_values, lost_weight. rewrite same. cbn [stored_arithmetic exp_floor sum_floor product_floor].
      destruct j; ring. }
    rewrite parts. set (B := n * product_floor M + (n - 1) * sum_floor M + INR K * product_floor M).
    assert (hB : 0 <= B <= n * lost_addend M j).
    { unfold B, lost_addend. pose proof (pos_INR K). assert (0 <= n * product_floor M) by monotone.
      assert (0 <= (n - 1) * sum_floor M) by monotone. assert (0 <= INR K * product_floor M) by monotone. split; [lra|].
      destruct j as [|j0]; [rewrite (none eq_refl); simpl INR; lra|].
      assert (INR K * product_floor M <= 2 * n * product_floor M) by monotone. lra. }
    assert (values_size pairs * lost_weight M P j <= (V * G + n * floor_v) * lost_weight M P j) by monotone.
    assert (B * exp lambda_v <= n * lost_addend M j * G) by monotone. assert (nf : 0 <= n * floor_v) by monotone.
    assert (n * floor_v * lost_weight M P j <= n * floor_v * 1) by monotone.
    assert (INR K * floor_v <= INR j * n * floor_v) by monotone. assert (many : 0 <= n * ((4 + INR j) * floor_v)) by monotone.
    assert (1 * (n * ((4 + INR j) * floor_v)) <= G * (n * ((4 + INR j) * floor_v))) by monotone. unfold stored_lost_addend. lra.
  Qed.

  Lemma stored_sums_lost :
    exp Q * sharpened_lost N P keys largest s h j K + size row * (floor_v * exp (stored_widest_log - lambda_r))
    <= exp stored_widest_log * (exact_magnitude * lost_weight M P j + size row * stored_lost_addend).
  Proof using good good_weights stores reads fits max holds errs tau_range loses leaves hy few none.
    clear some hs max'. facts. unfold sharpened_lost. rewrite <- Rmult_assoc, <- exp_plus.
    set (L := stored_widest_log - lambda_r). assert (inside : Q + (term_log N P h j + largest) <= L).
    { unfold L, stored_widest_log. rewrite <- own_log_parts. assert (0 <= 2 * rate * largest) by monotone. lra. }
    assert (whole : exp stored_widest_log = exp L * exp lambda_r) by (unfold L; rewrite <- exp_plus; f_equal; ring).
    rewrite whole. assert (nonneg : 0 <= lost_values N P pairs j K).
    { apply lost_values_nonneg; try easy. intros empty. destruct max as [inm _]. destruct row; [easy|discriminate]. }
    pose proof stored_values_lost as step. pose proof (exp_pos L).
    assert (exp (Q + (term_log N P h j + largest)) * lost_values N P pairs j K <= exp L * lost_values N P pairs j K)
      by monotone.
    assert (exp L * (lost_values N P pairs j K + size row * floor_v)
      <= exp L * (exp lambda_r * (exact_magnitude * lost_weight M P j + size row * stored_lost_addend))) by monotone.
    lra.
  Qed.

  (** What the quotient and the sum of the exponentials share of all terms. *)
  Notation share := (sharpened_normaliser keys m m' s / weight_sum (s * m') (scaled s computed_scores)).
  Lemma stored_quotient z q :
    quotient_by_sum M r y S_hat z -> approximates lambda_v floor_v z q ->
    exists Theta e, Rabs Theta <= common + Q /\ Rabs e <= stored_quotient_loss /\ q = y * share * exp Theta + e.
  Proof using good max max' errs tau_range near_one positive hs some loses leaves.
    intros hq [t2 [e2 [bt2 [be2 ->]]]].
    destruct (quotient_factor M r y S_hat z good loses leaves hq) as [t1 [e1 [bt1 [be1 ->]]]].
    destruct (share_small keys m m' max max' error largest errs tau s tau_range near_one positive) as [hR _].
    destruct (sharpened_sums keys m m' max max' s positive) as [S1 S2].
    pose proof (sharpened_normaliser_near keys m m' max max' error largest errs tau s tau_range near_one positive) as relN.
    set (S_s := weight_sum (s * m') (scaled s computed_scores)) in *. set (R0 := sharpened_normaliser keys m m' s / S_s) in *.
    pose proof (b1_sum M good 0 (s * m') (scaled s computed_scores) S_hat h' j' hs some) as close. fold S_s in close.
    assert (spos : 0 < S_hat) by (eapply rel_pos; [|apply close]; lra). assert (all : rel common (S_hat * R0) 1).
    { replace (S_hat * R0) with (sharpened_normaliser keys m m' s * (S_hat / S_s)) by (unfold R0; field; lra).
      unfold b9_threshold.common. rewrite Rplus_comm. replace 1 with (1 * (S_s / S_s)) by (field; lra).
      apply rel_mult; [easy|]. rewrite <- (Rplus_0_r (sigma _ _ _ _ _ _)). apply rel_div; [easy|apply rel_refl]. }
    destruct (rel_inv _ _ _ all) as [theta [btheta eqtheta]]. rewrite Rinv_1, Rmult_1_l in eqtheta.
    assert (quotient : y / S_hat = y * R0 * exp theta) by (rewrite <- eqtheta; field; split; lra).
    exists (theta + (t1 + t2)), (e1 * exp t2 + e2). split; [|split].
    - triangle. apply Rplus_le_compat; [easy|]. triangle. lra.
    - triangle. rewrite Rabs_mult, (Rabs_right (exp t2)) by (left; apply exp_pos). apply abs_between in bt2.
      apply Rplus_le_compat; [|exact be2]. monotone.
    - rewrite quotient, !exp_plus. ring.
  Qed.

  Theorem b9_stored_values z q u_out floor_out O_hat :
    quotient_by_sum M r y S_hat z -> approximates lambda_v floor_v z q -> rounded_output u_out floor_out q O_hat ->
    Rabs (O_hat - exact_output)
    <= stored_rounding + u_out * (Rabs exact_output + stored_rounding) + (stored_lost * (1 + u_out) + floor_out).
  Proof using good good_weights stores reads fits max max' holds errs tau_range near_one positive hy few none hs some loses leaves below_one quantum_range.
    intros hq stored [d [e [bd [be ->]]]]. apply rounded_error; try easy. facts. clear d e bd be.
    pose proof (sharpened_numerator N P goodN goodP keys m m' max max' error largest errs tau s tau_range near_one
      positive y h j K hy) as numer.
    destruct (stored_quotient z q hq stored) as [Theta [e [bT [be ->]]]]. set (R0 := share) in *.
    pose proof stored_terms as terms. pose proof stored_sums_lost as lost.
    set (T := sharpened_terms N P keys m error largest tau h j) in *.
    set (L := sharpened_lost N P keys largest s h j K) in *.
    set (Z := size row * (floor_v * exp (stored_widest_log - lambda_r))) in *. set (A := exp common).
    set (E := exp Q) in *. set (O := exact_output) in *. set (H := held_output) in *.
    assert (no_more : Rabs O <= own_size).
    { unfold O, exact_output. eapply Rle_trans; [apply sum_map_abs|]. right. apply sum_map_ext. intros a _.
      rewrite Rabs_mult, (Rabs_right (p (fst a))); [easy|]. left. apply (weight_pos keys m m' max max'). }
    pose proof (expm1_abs Theta _ bT) as grows. rewrite exp_plus in grows. fold A E in grows.
    assert (eT : exp Theta <= A * E) by (unfold A, E; rewrite <- exp_plus; apply exp_le; apply abs_between in bT; lra).
    assert (A0 : 0 < A) by apply exp_pos. assert (E1 : 1 <= E) by (apply exp_at_least_one; lra).
    replace (y * R0 * exp Theta + e - O) with ((y * R0 - O) * exp Theta + O * (exp Theta - 1) + e) by ring. triangle.
    eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
    rewrite !Rabs_mult, (Rabs_right (exp Theta)) by (left; apply exp_pos).
    assert (near : Rabs (y * R0 - O) <= T + L + Rabs (H - O)).
    { replace (y * R0 - O) with ((y * R0 - H) + (H - O)) by ring. triangle. lra. }
    assert (c1 : Rabs (y * R0 - O) * exp Theta <= (T + L + Rabs (H - O)) * (A * E)) by monotone.
    assert (c2 : Rabs O * Rabs (exp Theta - 1) <= Rabs O * (A * E - 1)) by monotone.
    assert (c3 : A * (E - 1) * Rabs O <= A * (E - 1) * own_size) by monotone.
    assert (c4 : A * (E * T + (E - 1) * own_size + E * Rabs (H - O) + (E * L + Z))
      <= A * (sum (map (fun q => Rabs (snd q) * stored_threshold (fst q)) row) + exact_magnitude * (quantum / 2048) + Z
      + exp stored_widest_log * (exact_magnitude * lost_weight M P j + size row * stored_lost_addend))) by monotone.
    unfold stored_rounding, stored_lost. fold A O. lra.
  Qed.
End Stored.
