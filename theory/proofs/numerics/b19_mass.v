(** * B19: the mass of some of a softmax's coefficients, as a kernel of top-p adds it up and compares it.

    Main results, p_hat as B2 has it, M the mass of any of a row's items, n items in all, s = sigma + C + mu + (H + 2) lambda
    - [mass_of_chosen]     coefficients as they are stored, added by any tree of height at most H:
                           |M_hat - M| <= e^(s - 2 lambda) - 1 + e^(H lambda) (k f + (k - 1) omega_a)
    - [mass_before_last]   the sum up to and including an item, less its coefficient as it was added: the same for k + 1 items
    - [b19_mass], [b19_mass_before], [b19_mass_behind]   what a kernel concludes from comparing
                           a mass, such a difference, or 1 - top_p and the rest with the
                           level top_p holds within [mass_bound] = e^s - 1 + (n + 1) (f + omega_a) e^s

    Source: docs/tolerances/top_p.md; TopPThreshold::mass in numerics/rounding/rounding_top_p.cpp, which adds e^s - 1 of the last item.
    A coefficient that is computed again to be subtracted is not covered. *)

From softcheck.numerics Require Import row score_error added_terms projected_row tilted_row reduction b1_sum b2_element
  constants b18_topk_choice.
Local Open Scope R_scope.

Lemma two_steps G L :
  1 <= G -> 1 <= L -> G <= G * L * L /\ G + L <= G * L * L + 1 /\ G * L + L <= G * L * L + 1 /\ G + L * L <= G * L * L + 1.
Proof.
  intros hG hL. assert (a : 0 <= (G - 1) * (L - 1)) by monotone. assert (b : 1 <= L * L) by now apply one_le_product.
  assert (d : 0 <= (G - 1) * (L * L - 1)) by monotone. assert (gl : 1 <= G * L) by monotone.
  assert (g : 0 <= (G * L - 1) * (L - 1)) by monotone.
  assert (i : L <= L * L) by (rewrite <- (Rmult_1_r L) at 1; apply Rmult_le_compat_l; lra). repeat split; lra.
Qed.

Section Mass.
  Context (M : arithmetic) (out : output_format) (good : sound M) (good_out : sound_output out) (kappa m : R)
    (logits : list R) (s : R) (h j : nat) (H : nat) (hs : sum_of_row M kappa m logits s h j)
    (some : lost_sum M kappa m logits h j < 1).
  Notation t := (slope M).
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation n := (size logits).
  Notation p := (coefficient logits).
  Notation f := (element_floor M out kappa m logits h j).
  Notation c := (element_log M out kappa m logits h j).
  Notation computed := (computed_element M out kappa m j s).

  Definition mass_log : R := sigma M kappa m logits h j + own_constant M out kappa j + shift m logits t + (INR H + 2) * lambda.
  Definition mass_bound : R := exp mass_log - 1 + (n + 1) * (f + wa) * exp mass_log.

  Let max : is_maximum m logits := row_maximum _ _ _ _ _ _ _ hs.

  Local Ltac row_facts :=
    sound_facts good; assert (fr : 0 <= rescale_unit M j) by (apply Rmult_le_pos; [apply pos_INR|lra]);
    pose proof (floor_above M out good good_out kappa m logits s h j hs some) as [_ [ff _]];
    pose proof (element_log_nonneg M out good good_out kappa m logits s h j hs some) as fC;
    pose proof (S_at_least_one m logits max) as fS; pose proof (shift_above M m logits max (slope_nonneg M good)) as fh;
    assert (fd : 0 <= t * mean_deviation m logits) by (apply Rmult_le_pos; [easy|now apply mean_deviation_nonneg]).
  Local Ltac facts :=
    row_facts; assert (fH : 0 <= INR H * lambda) by (apply Rmult_le_pos; [apply pos_INR|easy]).

  (** What a coefficient may be at most, but for its loss. *)
  Definition at_most (x : R) : R := p x * exp (c + t * (m - x)).

  Lemma coefficient_pos x : 0 < p x.
  Proof using max.
    rewrite (coefficient_from_weight m logits max). pose proof (S_at_least_one m logits max). monotone.
  Qed.

  Lemma at_most_above x : In x logits -> p x <= at_most x.
  Proof using good good_out hs some max.
    intros inx. row_facts. unfold at_most. pose proof (coefficient_pos x). rewrite <- (Rmult_1_r (p x)) at 1.
    apply Rmult_le_compat_l; [lra|]. apply exp_at_least_one.
    assert (0 <= t * (m - x)) by (apply Rmult_le_pos; [easy|pose proof (proj2 max x inx); lra]). lra.
  Qed.

  Lemma each_within x q : In x logits -> computed x q -> Rabs (q - p x) <= at_most x - p x + f.
  Proof using good good_out hs some max.
    intros inx elem.
    destruct (element_error M out good good_out kappa m logits s h j hs some x q inx elem) as [w [e [bw [be ->]]]].
    rewrite (coefficient_from_weight m logits max). replace (- (m - x)) with (x - m) by ring.
    rewrite <- (coefficient_from_weight m logits max). replace (p x * exp w + e - p x) with (p x * (exp w - 1) + e) by ring.
    triangle. apply Rplus_le_compat; [|easy]. pose proof (coefficient_pos x). rewrite Rabs_mult, (Rabs_right (p x)) by lra.
    unfold at_most. rewrite <- (Rmult_1_r (p x)) at 3. rewrite <- Rmult_minus_distr_l. apply Rmult_le_compat_l; [lra|].
    now apply expm1_abs.
  Qed.

  Lemma computed_near xs qs :
    Forall2 computed xs qs -> (forall x, In x xs -> In x logits) ->
    perturbed qs (map p xs) (map (fun x => at_most x - p x + f) xs).
  Proof using good good_out hs some max.
    induction 1 as [|x q xs qs one rest IH]; intros inside; [constructor|]. cbn [map]. constructor.
    - apply each_within; [apply inside; now left|easy].
    - apply IH. intros y iny. apply inside. now right.
  Qed.

  (** All that a set of items may err by is no more than what all items may. *)
  Lemma excess_of_all E chosen others :
    1 <= E -> Permutation logits (chosen ++ others) ->
    0 <= sum (map (fun x => E * at_most x - p x) chosen) <= E * exp (c + shift m logits t) - 1.
  Proof using good good_out hs some max.
    intros hE split. row_facts. assert (pos : forall x, In x logits -> 0 <= E * at_most x - p x).
    { intros x inx. pose proof (at_most_above x inx). pose proof (coefficient_pos x).
      assert (1 * at_most x <= E * at_most x) by monotone. lra. }
    assert (inside : forall x, In x (chosen ++ others) -> In x logits)
      by (intros x inx; now apply (Permutation_in _ (Permutation_sym split))).
    split; [apply sum_map_nonneg; intros x inx; apply pos, inside, in_or_app; now left|].
    apply Rle_trans with (sum (map (fun x => E * at_most x - p x) logits)).
    - rewrite (sum_map_permutation _ _ _ split), map_app, sum_app.
      assert (0 <= sum (map (fun x => E * at_most x - p x) others)).
      { apply sum_map_nonneg. intros x inx. apply pos, inside, in_or_app. now right. } lra.
    - rewrite sum_map_minus, sum_map_mult_l, sum_coefficients by (apply (in_not_nil m), max).
      assert (all : sum (map at_most logits) <= exp (c + shift m logits t));
        [|assert (E * sum (map at_most logits) <= E * exp (c + shift m logits t)) by monotone; lra].
      pose proof (tilted_mass m logits max t ltac:(lra)) as heavy. unfold tilted in heavy.
      assert (is : sum (map at_most logits) = exp c * (weighted_sum m logits (fun d => exp (t * d) * 1) / weight_sum m logits)).
      { unfold weighted_sum, Rdiv. rewrite <- sum_map_mult_r, <- sum_map_mult_l. apply sum_map_ext. intros x _.
        unfold at_most. rewrite (coefficient_from_weight m logits max), exp_plus. unfold Rdiv. ring. }
      rewrite is, exp_plus. apply Rmult_le_compat_l; [monotone|]. apply Rmult_le_reg_r with (weight_sum m logits); [lra|].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
  Qed.

  Context (chosen others outputs : list R) (M_hat : R) (steps : nat) (split : Permutation logits (chosen ++ others))
    (stored : Forall2 computed chosen outputs) (tree : added M 0 0 outputs M_hat steps) (low : (steps <= H)%nat).
  Notation k := (size chosen).
  Notation mass := (sum (map p chosen)).

  Lemma chosen_in x : In x chosen -> In x logits.
  Proof using split. intros inx. apply (Permutation_in _ (Permutation_sym split)), in_or_app. now left. Qed.

  Lemma outputs_near : perturbed outputs (map p chosen) (map (fun x => at_most x - p x + f) chosen).
  Proof using good good_out hs some max stored split. apply computed_near; [easy|apply chosen_in]. Qed.

  Lemma added_some a l xs y i : added M a l xs y i -> xs <> [].
  Proof using.
    induction 1 as [x y one|l1 l2 y1 y2 y h1 h2 _ IH1 _ IH2 _|l1 l2 y h0 _ IH perm]; [easy|now destruct l1|].
    intros ->. apply IH. now apply Permutation_nil, Permutation_sym.
  Qed.

  Lemma chosen_some : chosen <> [].
  Proof using stored tree.
    pose proof (added_some _ _ _ _ _ tree) as filled. pose proof stored as st. clear - st filled. now destruct st.
  Qed.

  Lemma chosen_magnitude : magnitude (map p chosen) = mass.
  Proof using max.
    unfold magnitude. rewrite map_map. apply sum_map_ext. intros x _. apply Rabs_right, Rle_ge. left. apply coefficient_pos.
  Qed.

  Local Ltac chosen_facts :=
    apply le_INR in low; assert (hl : INR steps * lambda <= INR H * lambda) by (now apply Rmult_le_compat_r);
    assert (grow : exp (INR steps * lambda) <= exp (INR H * lambda)) by (now apply exp_le);
    pose proof (exp_at_least_one _ (Rmult_le_pos _ _ (pos_INR H) (unit_nonneg M good))) as E1;
    pose proof (excess_of_all _ chosen others E1 split) as [_ over];
    rewrite sum_map_minus, sum_map_mult_l in over; set (E := exp (INR H * lambda)) in *;
    assert (X0 : 0 <= sum (map at_most chosen)) by
      (apply sum_map_nonneg; intros x _; unfold at_most; apply Rmult_le_pos; left; [apply coefficient_pos|apply exp_pos]);
    assert (kf : 0 <= k * f) by (apply Rmult_le_pos; [apply size_nonneg|easy]);
    assert (k1 : 0 <= (k - 1) * wa) by
      (apply Rmult_le_pos; [pose proof (size_at_least_one chosen chosen_some); lra|easy]).

  Theorem mass_of_chosen :
    Rabs (M_hat - mass) <= exp (c + shift m logits t + INR H * lambda) - 1 + exp (INR H * lambda) * (k * f + (k - 1) * wa).
  Proof using good good_out hs some max stored split tree low.
    facts. pose proof (perturbed_sum M good 0 0 _ _ _ M_hat steps (Rle_refl 0) (Rle_refl 0) outputs_near tree) as close.
    unfold perturbed_rounding, added_loss in close. rewrite Rplus_0_l, Rmult_0_r, Rplus_0_l, size_map in close.
    rewrite chosen_magnitude in close.
    assert (off : sum (map (fun x => at_most x - p x + f) chosen) = sum (map at_most chosen) - mass + k * f)
      by (now rewrite sum_map_plus, sum_map_minus, sum_map_const).
    rewrite off in close. chosen_facts. rewrite (exp_plus (c + shift m logits t)). fold E.
    assert (p1 : exp (INR steps * lambda) * (sum (map at_most chosen) + k * f)
      <= E * (sum (map at_most chosen) + k * f)) by monotone.
    assert (p2 : exp (INR steps * lambda) * ((k - 1) * wa) <= E * ((k - 1) * wa)) by monotone. lra.
  Qed.

  (** The same in the letters of the code, for at most all items. *)
  Lemma mass_floors : exp (INR H * lambda) * (k * f + (k - 1) * wa) <= (n + 1) * (f + wa) * exp (mass_log - 2 * lambda) - (f + wa).
  Proof using good good_out hs some max split.
    facts. assert (k0 : 0 <= k) by apply size_nonneg. assert (kn : k <= n).
    { unfold size. rewrite (Permutation_length split), app_length, plus_INR. pose proof (pos_INR (length others)). lra. }
    assert (log : INR H * lambda <= mass_log - 2 * lambda).
    { unfold mass_log, element_log, own_constant in *. pose proof (sigma_above M good kappa m logits s h j hs some) as [sr _].
      pose proof (own_nonneg M out good good_out kappa m logits s h j hs some 0 (Rle_refl 0)) as [fo _].
      unfold own_constant in fo. lra. }
    pose proof (exp_le _ _ log) as grow. pose proof (exp_at_least_one (mass_log - 2 * lambda) ltac:(lra)) as one.
    set (E := exp (INR H * lambda)) in *. set (G := exp (mass_log - 2 * lambda)) in *. pose proof (exp_pos (INR H * lambda)).
    assert (x0 : 0 <= k * f) by monotone. assert (x1 : 0 <= k * wa) by monotone.
    assert (p1 : E * (k * f + (k - 1) * wa) <= E * (k * (f + wa))). { apply Rmult_le_compat_l; [left; apply exp_pos|lra]. }
    assert (p2 : E * (k * (f + wa)) <= G * (n * (f + wa))).
    { apply Rmult_le_compat; [left; apply exp_pos|apply Rmult_le_pos; lra|easy|apply Rmult_le_compat_r; lra]. }
    assert (p3 : 1 * (f + wa) <= G * (f + wa)) by monotone. lra.
  Qed.

  Lemma mass_close : Rabs (M_hat - mass) <= exp (mass_log - 2 * lambda) - 1 + ((n + 1) * (f + wa) * exp (mass_log - 2 * lambda) - (f + wa)).
  Proof using good good_out hs some max stored split tree low.
    facts. eapply Rle_trans; [apply mass_of_chosen|]. apply Rplus_le_compat; [|apply mass_floors].
    apply Rplus_le_compat_r, exp_le. unfold mass_log, element_log, own_constant. lra.
  Qed.
  Lemma mass_at_most_one : 0 <= mass <= 1.
  Proof using max split.
    split; [apply sum_map_nonneg; intros; left; apply coefficient_pos|].
    rewrite <- (sum_coefficients logits (in_not_nil m logits (proj1 max))), (sum_map_permutation _ _ _ split), map_app, sum_app.
    assert (0 <= sum (map p others)) by (apply sum_map_nonneg; intros; left; apply coefficient_pos). lra.
  Qed.

  (** The sum up to and including the last item, less its coefficient as it was added. *)
  Theorem mass_before_last before last qs q :
    chosen = before ++ [last] -> outputs = qs ++ [q] -> Forall2 computed before qs ->
    Rabs (M_hat - q - sum (map p before))
    <= exp (c + shift m logits t + INR H * lambda) - 1 + exp (INR H * lambda) * (k * f + (k - 1) * wa).
  Proof using good good_out hs some max stored split tree low.
    intros eq eq_q stored_before. facts.
    assert (others_near : Rabs (sum outputs - q - sum (map p before)) <= sum (map (fun x => at_most x - p x + f) before)).
    { destruct (perturbed_bounds _ _ _ (computed_near before qs stored_before
                  ltac:(intros x inx; apply chosen_in; rewrite eq; apply in_or_app; now left))) as [near _].
      rewrite eq_q, sum_app. replace (sum [q]) with q by (unfold sum; simpl; ring).
      replace (sum qs + q - q) with (sum qs) by ring. exact near. }
    pose proof (added_error M good 0 0 _ M_hat steps (Rle_refl 0) (Rle_refl 0) tree) as close.
    unfold added_rounding, added_loss in close. rewrite Rplus_0_l, Rmult_0_r, Rplus_0_l in close.
    destruct (perturbed_bounds _ _ _ outputs_near) as [_ [wide many]]. rewrite size_map in many. rewrite many in close.
    rewrite chosen_magnitude in wide.
    assert (off : forall l, sum (map (fun x => at_most x - p x + f) l) = sum (map at_most l) - sum (map p l) + size l * f)
      by (intros; now rewrite sum_map_plus, sum_map_minus, sum_map_const).
    rewrite off in wide. rewrite off in others_near. chosen_facts. assert (s1 : 1 <= exp (INR steps * lambda)) by monotone.
    assert (parts : sum (map at_most chosen) = sum (map at_most before) + at_most last /\ mass
      = sum (map p before) + p last /\ k = size before + 1).
    { rewrite eq, !map_app, !sum_app, size_app. unfold sum, size; simpl. repeat split; ring. } destruct parts as [p1 [p2 p3]].
    pose proof (at_most_above last ltac:(apply chosen_in; rewrite eq; apply in_or_app; right; now left)) as lastly.
    pose proof (coefficient_pos last) as last0.
    assert (e1 : (exp (INR steps * lambda) - 1) * magnitude outputs <= (E - 1) * (sum (map at_most chosen) + k * f)).
    { apply Rmult_le_compat; [lra| |lra|lra]. apply sum_map_nonneg. intros. monotone. }
    assert (e2 : exp (INR steps * lambda) * ((k - 1) * wa) <= E * ((k - 1) * wa)) by monotone.
    replace (M_hat - q - sum (map p before)) with ((M_hat - sum outputs) + (sum outputs - q - sum (map p before))) by ring.
    triangle. rewrite (exp_plus (c + shift m logits t)). fold E.
    assert ((E - 1) * p last <= (E - 1) * at_most last) by monotone. rewrite p1, p2 in over. rewrite p1 in e1. rewrite p3 in *.
    lra.
  Qed.
  (** ** What a kernel concludes: the level is top_p as a number of the accumulator *)

  Definition concludes (exact top_p value level : R) : Prop :=
    (level <= value -> top_p - mass_bound <= exact) /\ (value <= level -> exact <= top_p + mass_bound).

  Lemma concluded exact top_p value level A B :
    Rabs (value - exact) <= A -> Rabs (level - top_p) <= B -> A + B <= mass_bound -> concludes exact top_p value level.
  Proof using. intros va vb le. apply abs_between in va. apply abs_between in vb. split; intros; lra. Qed.

  Context (top_p v : R) (share : 0 <= top_p <= 1) (reads : Rabs v <= lambda).

  Lemma level_close : Rabs (top_p * exp v - top_p) <= exp lambda - 1.
  Proof using share reads.
    replace (top_p * exp v - top_p) with (top_p * (exp v - 1)) by ring. pose proof (expm1_abs v lambda reads).
    rewrite Rabs_mult, (Rabs_right top_p) by lra. pose proof (Rabs_pos (exp v - 1)). nra.
  Qed.

  (** A rounding of what errs by A + (F - w), of something up to 1 in size. *)
  Lemma once_more value exact A F w t0 e :
    Rabs (value - exact) <= A - 1 + (F - w) -> Rabs exact <= 1 -> 1 <= A -> 0 <= F -> wa <= w -> Rabs t0 <= lambda -> Rabs e <= wa ->
    Rabs (value * exp t0 + e - exact) <= A * exp lambda - 1 + F * exp lambda.
  Proof using good.
    intros close small hA hF hw bt be. pose proof (unit_nonneg M good) as fl. pose proof (exp_at_least_one lambda fl) as L1.
    replace (value * exp t0 + e - exact) with ((value - exact) * exp t0 + exact * (exp t0 - 1) + e) by ring.
    pose proof (expm1_abs t0 lambda bt) as g.
    assert (up : exp t0 <= exp lambda) by (apply exp_le; apply abs_between in bt; lra). pose proof (exp_pos t0).
    pose proof (Rabs_pos (value - exact)). pose proof (Rabs_pos exact). pose proof (Rabs_pos e).
    assert (p1 : Rabs ((value - exact) * exp t0) <= (A - 1 + (F - w)) * exp lambda).
    { rewrite Rabs_mult, (Rabs_right (exp t0)) by lra. monotone. }
    assert (p2 : Rabs (exact * (exp t0 - 1)) <= 1 * (exp lambda - 1)) by monotone.
    assert (p3 : 1 * w <= exp lambda * w) by monotone.
    pose proof (Rabs_triang ((value - exact) * exp t0 + exact * (exp t0 - 1)) e).
    pose proof (Rabs_triang ((value - exact) * exp t0) (exact * (exp t0 - 1))). lra.
  Qed.

  Local Ltac roundings :=
    pose proof (exp_at_least_one lambda (unit_nonneg M good)) as L1;
    assert (G1 : 1 <= exp (mass_log - 2 * lambda)) by
      (apply exp_at_least_one; unfold mass_log, element_log, own_constant in *;
       pose proof (sigma_above M good kappa m logits s h j hs some) as [sr _];
       pose proof (own_nonneg M out good good_out kappa m logits s h j hs some 0 (Rle_refl 0)) as [fo _]; unfold own_constant in fo; lra);
    assert (step : exp mass_log = exp (mass_log - 2 * lambda) * exp lambda * exp lambda)
      by (rewrite <- !exp_plus; f_equal; ring);
    assert (n0 : 0 <= (n + 1) * (f + wa)) by (apply Rmult_le_pos; [pose proof (size_nonneg logits); lra|lra]).

  (** The items before one, by themselves. *)
  Theorem b19_mass : concludes mass top_p M_hat (top_p * exp v).
  Proof using good good_out hs some max stored split tree low share reads.
    facts. roundings. apply (concluded _ _ _ _ _ _ mass_close level_close). unfold mass_bound. rewrite step.
    set (G := exp (mass_log - 2 * lambda)) in *. set (L := exp lambda) in *. set (F := (n + 1) * (f + wa)) in *.
    destruct (two_steps G L G1 L1) as [w1 [w2 _]]. assert (F * G <= F * (G * L * L)) by monotone. lra.
  Qed.

  (** Their sum with it less its own coefficient. *)
  Theorem b19_mass_before before last qs q value :
    chosen = before ++ [last] -> outputs = qs ++ [q] -> Forall2 computed before qs -> computed_sum M (M_hat - q) value ->
    concludes (sum (map p before)) top_p value (top_p * exp v).
  Proof using good good_out hs some max stored split tree low share reads.
    intros eq eq_q stored_before [t0 [e [bt [be ->]]]]. facts. roundings. pose proof mass_floors as floors.
    pose proof (mass_before_last before last qs q eq eq_q stored_before) as close.
    assert (same : exp (c + shift m logits t + INR H * lambda) <= exp (mass_log - 2 * lambda)).
    { apply exp_le. unfold mass_log, element_log, own_constant. lra. } set (G := exp (mass_log - 2 * lambda)) in *.
    set (L := exp lambda) in *. set (F := (n + 1) * (f + wa)) in *. assert (small : Rabs (sum (map p before)) <= 1).
    { pose proof mass_at_most_one as [_ one]. rewrite eq, map_app, sum_app in one. unfold sum at 2 in one.
      simpl in one. pose proof (coefficient_pos last). rewrite Rabs_right; [lra|]. apply Rle_ge, sum_map_nonneg.
      intros; left; apply coefficient_pos. }
    assert (FG : 0 <= F * G) by monotone.
    assert (wider : Rabs (M_hat - q - sum (map p before)) <= G - 1 + (F * G - (f + wa))) by lra.
    assert (lossy : wa <= f + wa) by lra.
    pose proof (once_more (M_hat - q) _ G (F * G) (f + wa) t0 e wider small G1 FG lossy bt be) as rounded.
    fold L in rounded. apply (concluded _ _ _ _ _ _ rounded level_close). unfold mass_bound. rewrite step. fold L G F.
    assert (F * G * L <= F * G * L * L)
      by (rewrite <- (Rmult_1_r (F * G * L)) at 1; apply Rmult_le_compat_l; [apply Rmult_le_pos|]; lra).
    destruct (two_steps G L G1 L1) as [_ [_ [w3 _]]]. lra.
  Qed.

  (** The mass of all the others, against 1 - top_p: chosen are the items that the exact mass leaves out. *)
  Theorem b19_mass_behind level :
    computed_sum M (1 - top_p * exp v) level -> 
    (M_hat <= level -> top_p - mass_bound <= sum (map p others)) /\ (level <= M_hat -> sum (map p others) <= top_p + mass_bound).
  Proof using good good_out hs some max stored split tree low share reads.
    intros [t0 [e [bt [be ->]]]]. facts. roundings. pose proof mass_close as close. pose proof level_close as near.
    assert (whole : mass + sum (map p others) = 1).
    { rewrite <- (sum_coefficients logits (in_not_nil m logits (proj1 max))), (sum_map_permutation _ _ _ split),
        map_app, sum_app.
      easy. }
    set (G := exp (mass_log - 2 * lambda)) in *. set (L := exp lambda) in *. set (F := (n + 1) * (f + wa)) in *.
    assert (rounded : Rabs ((1 - top_p * exp v) * exp t0 + e - (1 - top_p)) <= L * L - 1 + wa).
    { replace ((1 - top_p * exp v) * exp t0 + e - (1 - top_p))
        with ((1 - top_p * exp v) * (exp t0 - 1) + - (top_p * exp v - top_p) + e) by ring.
      pose proof (expm1_abs t0 lambda bt) as g. fold L in g. pose proof (Rabs_pos (exp t0 - 1)).
      pose proof (expm1_abs v lambda reads) as gv. fold L in gv.
      assert (lev : Rabs (top_p * exp v - top_p) <= (L - 1) * top_p).
      { replace (top_p * exp v - top_p) with (top_p * (exp v - 1)) by ring.
        rewrite Rabs_mult, (Rabs_right top_p), Rmult_comm by lra. monotone. }
      assert (big : Rabs (1 - top_p * exp v) <= (1 - top_p) + (L - 1) * top_p).
      { replace (1 - top_p * exp v) with ((1 - top_p) + - (top_p * exp v - top_p)) by ring. triangle.
        rewrite Rabs_Ropp, (Rabs_right (1 - top_p)) by lra. lra. }
      assert (Rabs ((1 - top_p * exp v) * (exp t0 - 1)) <= ((1 - top_p) + (L - 1) * top_p) * (L - 1)) by monotone.
      pose proof (Rabs_triang ((1 - top_p * exp v) * (exp t0 - 1) + - (top_p * exp v - top_p)) e).
      pose proof (Rabs_triang ((1 - top_p * exp v) * (exp t0 - 1)) (- (top_p * exp v - top_p))).
      rewrite Rabs_Ropp in *. assert (part : (L - 1) * top_p <= (L - 1) * 1) by monotone.
      assert ((L - 1) * (1 + (L - 1) * top_p) <= (L - 1) * (1 + (L - 1))) by monotone. lra. }
    apply abs_between in close. apply abs_between in rounded. unfold mass_bound. rewrite step. fold L G F.
    assert (FG : 0 <= F * G) by monotone. destruct (two_steps G L G1 L1) as [w1 [_ [_ w4]]].
    assert (F * G <= F * (G * L * L)) by monotone. split; intros; lra.
  Qed.
End Mass.
