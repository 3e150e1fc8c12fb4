(** * B18: the k largest coefficients of a softmax, divided by their sum.

    Main results
    - [chosen_sum]         |ln (P_hat / (g P))| <= sigma_P = sigma_0 - ln (1 - a e^(2 sigma_0)), g = S / S_hat,
                           sigma_0 = (k - 1) lambda + C' + mu_k, C' = C + t D_top, a = k (f + omega_a) e^s S e^(D_top)
    - [b18_renormalised]   r_j = p_j / P: |r_hat_j - r_j| <= (k_0 + k_1 D'_j) r_j + floor, D' from the largest chosen logit,
                           the chord of e^(C' + sigma_P + 2 lambda + lambda_out + t D'_j) - 1
    - [b18_softmax_of_chosen]   weights from exponentials of the k chosen logits and their sum keep to the threshold of
                                b18_renormalised: its numerators meet no division, and D' <= D

    Weights that are not renormalised are B2's, b2_element. P_hat is any sum of k coefficients as they are stored, in any
    order; 1 / P_hat does not underflow, since no such sum exceeds the inverse of the smallest normal number.

    Source: docs/tolerances/topk.md; TopkThreshold::renormalised in numerics/rounding/rounding_topk.cpp. *)

From softcheck.numerics Require Import row tilted_row reduction b1_sum b2_element element_threshold score_error
  added_terms constants b18_topk_choice.
Local Open Scope R_scope.

Section Renormalised.
  Context (M : arithmetic) (out : output_format) (good : sound M) (good_out : sound_output out) (kappa m : R)
    (logits : list R) (s : R) (h j : nat) (hs : sum_of_row M kappa m logits s h j)
    (some : lost_sum M kappa m logits h j < 1).
  Notation t := (slope M).
  Notation lambda := (unit M).
  Notation S := (weight_sum m logits).
  Notation f := (element_floor M out kappa m logits h j).
  Notation whole := (element_log M out kappa m logits h j).

  (** The chosen items, the largest of their logits, their coefficients as stored, and the sum of these. *)
  Context (chosen : list R) (top : R) (outputs : list R) (P_hat : R) (steps : nat) (top_chosen : is_maximum top chosen)
    (from_row : incl chosen logits) (stored : Forall2 (computed_element M out kappa m j s) chosen outputs)
    (tree : added M 0 0 outputs P_hat steps) (low : (steps <= length chosen - 1)%nat).
  Notation k := (size chosen).
  Notation D_top := (m - top).
  Notation P := (sum (map (coefficient logits) chosen)).

  Definition chosen_constant : R := own_constant M out kappa j + t * D_top.
  Definition chosen_direct : R := (k - 1) * lambda + chosen_constant + shift top chosen t.
  Definition over_chosen : R := exp whole * exp (ln S + D_top).
  Definition chosen_lost : R := k * (f + sum_floor M) * over_chosen.
  Definition chosen_sigma : R := chosen_direct - ln (1 - chosen_lost * exp (2 * chosen_direct)).

  Let max : is_maximum m logits := row_maximum _ _ _ _ _ _ _ hs.
  Let S1 : 1 <= S := S_at_least_one m logits max.
  Let T1 : 1 <= weight_sum top chosen := S_at_least_one top chosen top_chosen.

  Lemma chosen_total : P = exp (- D_top) * weight_sum top chosen / S.
  Proof using hs top_chosen.
    replace (- D_top) with (top - m) by ring. rewrite <- weight_sum_rescaled, weight_sum_sum.
    unfold Rdiv. rewrite <- sum_map_mult_r. apply sum_map_ext. intros x _. now rewrite (coefficient_from_weight m logits max).
  Qed.

  Lemma renormalised_coefficient x : coefficient logits x / P = coefficient chosen x.
  Proof using hs top_chosen S1 T1.
    rewrite chosen_total, (coefficient_from_weight m logits max), (coefficient_from_weight top chosen top_chosen).
    replace (x - m) with ((x - top) + - D_top) by ring. rewrite exp_plus. pose proof (exp_pos (- D_top)). field. lra.
  Qed.
  Local Ltac facts :=
    sound_facts good;
    assert (fr : 0 <= rescale_unit M j) by (apply Rmult_le_pos; [apply pos_INR|lra]);
    pose proof (floor_above M out good good_out kappa m logits s h j hs some) as [_ [ff _]];
    pose proof (own_nonneg M out good good_out kappa m logits s h j hs some 0 (Rle_refl 0)) as [fo _];
    pose proof (shared_above M out good good_out kappa m logits s h j hs some) as [fs fg];
    assert (s0 : 0 < s) by (rewrite <- (Rinv_inv s); now apply Rinv_0_lt_compat);
    assert (pos : 0 < exp (- D_top) / s) by (apply Rmult_lt_0_compat; [apply exp_pos|easy]);
    assert (fk : 1 <= k) by (apply size_at_least_one, (in_not_nil top), top_chosen);
    pose proof (proj2 max top (from_row top (proj1 top_chosen))) as fd;
    assert (fC : 0 <= chosen_constant) by (unfold chosen_constant; assert (0 <= t * D_top) by (apply Rmult_le_pos; lra); lra);
    pose proof (shift_above M top chosen top_chosen (slope_nonneg M good)) as fh;
    assert (fb : 0 <= t * mean_deviation top chosen) by (apply Rmult_le_pos; [easy|now apply mean_deviation_nonneg]).

  Lemma direct_above : 0 <= chosen_direct /\ 0 <= chosen_constant /\ 0 <= chosen_lost.
  Proof using good good_out hs some top_chosen from_row S1 T1.
    facts. assert (0 <= (k - 1) * lambda) by monotone. unfold chosen_direct, chosen_lost, over_chosen. monotone.
  Qed.

  (** What a coefficient is but for its loss. *)
  Let kept x z : Prop :=
    exp (- D_top) / s * (exp (- chosen_constant) * (exp (x - top) * exp (- (t * (top - x))))) <= z
    <= exp (- D_top) / s * (exp chosen_constant * (exp (x - top) * exp (t * (top - x)))).

  Lemma stored_kept x p :
    In x logits -> computed_element M out kappa m j s x p ->
    exists w e, Rabs w <= chosen_constant + t * (top - x) /\ Rabs e <= f /\
      p = exp (- D_top) / s * exp (x - top) * exp w + e.
  Proof using good good_out hs some top_chosen from_row S1 T1.
    intros inx elem. facts.
    destruct (shared_error M out good good_out kappa m logits s h j hs some x p inx elem) as [w [e [bw [be ->]]]].
    exists w, e. split; [|split; [easy|]].
    - unfold chosen_constant, own_constant. lra.
    - replace (- (m - x)) with (- D_top + (x - top)) by ring. rewrite exp_plus. unfold Rdiv. ring.
  Qed.

  Let terms : exists zs, Forall2 (fun z p => Rabs (p - z) <= f) zs outputs /\ Forall2 kept chosen zs.
  Proof using good good_out hs some top_chosen from_row stored S1 T1.
    facts.
    assert (inside : Forall2 (fun x p => In x logits /\ computed_element M out kappa m j s x p) chosen outputs).
    { clear - stored from_row. revert from_row. induction stored as [|x p xs ps one rest IH]; intros from_row; constructor.
      - split; [apply from_row; now left|easy].
      - apply IH; try easy. intros y iny. apply from_row. now right. }
    assert (each : forall x p, In x logits /\ computed_element M out kappa m j s x p -> exists z, Rabs (p - z) <= f /\ kept x z).
    { intros x p [inx elem]. destruct (stored_kept x p inx elem) as [w [e [bw [be ->]]]].
      exists (exp (- D_top) / s * exp (x - top) * exp w). split.
      - match goal with |- Rabs ?y <= _ => replace y with e by ring end. easy.
      - apply abs_between in bw. unfold kept. rewrite <- !exp_plus.
        set (g := exp (- D_top) / s) in *. rewrite Rmult_assoc, <- exp_plus.
        split; apply Rmult_le_compat_l; try lra; apply exp_le; lra. }
    clear - inside each. induction inside as [|x p xs ps both _ [zs [near all]]].
    - exists []. split; constructor.
    - destruct (each x p both) as [z [close one]]. exists (z :: zs). split; constructor; easy.
  Qed.

  Let chosen_between zs :
    Forall2 kept chosen zs ->
    let A := exp (- D_top) / s * weight_sum top chosen in
    A * exp (- (chosen_constant + shift top chosen t)) <= sum zs <= A * exp (chosen_constant + shift top chosen t).
  Proof using good good_out hs some top_chosen from_row S1 T1.
    intros all A. facts.
    assert (sums : exp (- D_top) / s * (exp (- chosen_constant) * weighted_sum top chosen (fun d => exp (- (t * d)))) <= sum zs
                   <= exp (- D_top) / s * (exp chosen_constant * weighted_sum top chosen (fun d => exp (t * d)))).
    { unfold weighted_sum. rewrite <- !sum_map_mult_l. clear - all.
      induction all as [|x z xs zs [l u] _ IH]; unfold sum in *; simpl; lra. }
    pose proof (tilted_mass top chosen top_chosen t ltac:(lra)) as heavy.
    pose proof (tilted_mass_below top chosen top_chosen t) as light. unfold tilted in heavy, light.
    rewrite (weighted_sum_ext _ _ (fun d => exp (t * d) * 1) (fun d => exp (t * d))) in heavy by (intros; ring).
    rewrite (weighted_sum_ext _ _ (fun d => exp (- t * d) * 1) (fun d => exp (- (t * d)))) in light
      by (intros; rewrite Rmult_1_r; f_equal; ring).
    unfold A. rewrite Ropp_plus_distr, !exp_plus, !Rmult_assoc. pose proof (exp_pos chosen_constant).
    pose proof (exp_pos (- chosen_constant)). split.
    - eapply Rle_trans; [|apply sums]. apply Rmult_le_compat_l; [lra|].
      replace (weight_sum top chosen * (exp (- chosen_constant) * exp (- shift top chosen t)))
        with (exp (- chosen_constant) * (exp (- shift top chosen t) * weight_sum top chosen)) by ring.
      apply Rmult_le_compat_l; [lra|]. eapply Rle_trans; [|apply light]. apply Rmult_le_compat_r; [lra|]. apply exp_le.
      lra.
    - eapply Rle_trans; [apply sums|]. apply Rmult_le_compat_l; [lra|].
      replace (weight_sum top chosen * (exp chosen_constant * exp (shift top chosen t)))
        with (exp chosen_constant * (exp (shift top chosen t) * weight_sum top chosen)) by ring.
      apply Rmult_le_compat_l; lra.
  Qed.

  Lemma total_as_stored : S / s * P = exp (- D_top) / s * weight_sum top chosen.
  Proof using good good_out hs some top_chosen from_row S1 T1.
    facts. rewrite chosen_total. unfold Rdiv. field. lra.
  Qed.

  (** P is at least the largest chosen coefficient. *)
  Lemma over_above : 1 <= exp (- D_top) / s * weight_sum top chosen * over_chosen.
  Proof using good good_out hs some top_chosen from_row S1 T1.
    facts. unfold over_chosen. rewrite exp_plus, exp_ln by lra.
    replace (exp (- D_top) / s * weight_sum top chosen * (exp whole * (S * exp D_top)))
      with (exp (- D_top) * exp D_top * (S * exp whole * / s) * weight_sum top chosen) by (unfold Rdiv; ring).
    rewrite <- exp_plus, Rplus_opp_l, exp_0, Rmult_1_l. apply one_le_product; [|easy].
    apply Rmult_le_reg_r with s; [easy|]. rewrite Rmult_1_l, Rmult_assoc, Rinv_l, Rmult_1_r; [easy|lra].
  Qed.

  Theorem chosen_sum : chosen_lost * exp (2 * chosen_direct) < 1 -> rel chosen_sigma P_hat (S / s * P).
  Proof using good good_out hs some top_chosen from_row stored tree low.
    intros small. facts. destruct terms as [zs [near all]]. pose proof (chosen_between zs all) as [down up].
    rewrite total_as_stored. set (A := exp (- D_top) / s * weight_sum top chosen) in *.
    assert (hA : 0 < A) by (apply Rmult_lt_0_compat; lra). assert (same : size zs = k).
    { clear - all. unfold size. induction all; [easy|]. simpl length. rewrite !S_INR. lra. }
    assert (nonneg : Forall (fun z => 0 <= z) zs).
    { clear - all pos. induction all as [|x z xs zs [l _] _ IH]; constructor; [|easy]. eapply Rle_trans; [|apply l].
      monotone. }
    pose proof (added_of_computed M f zs outputs P_hat steps near tree) as computed.
    pose proof (added_positive M good 0 f zs P_hat steps (Rle_refl 0) ff nonneg computed) as [below above].
    unfold added_loss in *. rewrite same, Rplus_0_l in *. assert (height : INR steps * lambda <= (k - 1) * lambda).
    { apply Rmult_le_compat_r; [easy|]. unfold size. pose proof (le_INR _ _ low) as le.
      rewrite minus_INR in le; [simpl in le; lra|]. apply INR_le. unfold size in fk. simpl. lra. }
    assert (hH : 0 <= INR steps * lambda) by monotone. set (C := chosen_constant + shift top chosen t) in *.
    set (H := (k - 1) * lambda) in *. assert (direct : chosen_direct = H + C) by (unfold chosen_direct, H, C; ring).
    pose proof over_above as over. fold A in over. set (y := chosen_lost) in *.
    pose proof direct_above as [fdir [_ hy]]. fold y in hy.
    assert (loss : exp (INR steps * lambda) * (k * f + (k - 1) * sum_floor M) <= A * (exp (H + C) * y)).
    { assert (kf : 0 <= k * (f + sum_floor M)) by monotone.
      apply Rle_trans with (exp (H + C) * (k * (f + sum_floor M))).
      - apply Rmult_le_compat; [monotone| | |lra].
        + assert (0 <= k * f) by monotone. assert (0 <= (k - 1) * sum_floor M) by monotone. lra.
        + apply exp_le. unfold C. lra.
      - unfold y, chosen_lost.
        replace (A * (exp (H + C) * (k * (f + sum_floor M) * over_chosen)))
          with (exp (H + C) * (k * (f + sum_floor M)) * (A * over_chosen)) by ring.
        apply grown; [apply Rmult_le_pos; [monotone|easy]|easy]. }
    unfold chosen_sigma. rewrite direct in small |- *. fold y in small |- *. apply rel_of_lossy; try easy.
    - now rewrite <- direct.
    - assert (z0 : 0 <= sum zs) by (clear - nonneg; induction nonneg; unfold sum in *; simpl; lra). split.
      + eapply Rle_trans; [|apply below]. rewrite Rmult_minus_distr_l.
        assert (A * exp (- (H + C)) <= exp (- (INR steps * lambda)) * sum zs).
        { replace (- (H + C)) with (- H + - C) by ring. rewrite exp_plus.
          replace (A * (exp (- H) * exp (- C))) with (exp (- H) * (A * exp (- C))) by ring. monotone. }
        lra.
      + eapply Rle_trans; [apply above|].
        replace (A * (exp (H + C) * (1 + y))) with (A * exp (H + C) + A * (exp (H + C) * y)) by ring.
        apply Rplus_le_compat; [|easy]. rewrite exp_plus.
        replace (A * (exp H * exp C)) with (exp H * (A * exp C)) by ring. monotone.
  Qed.
  (** ** One weight *)

  Inductive chosen_ratio (v total : R) : R -> Prop :=
  | chosen_division q : computed_product M (v / total) q -> chosen_ratio v total q
  | chosen_reciprocal b q :
      Rabs b <= lambda -> computed_product M (v * (/ total * exp b)) q -> chosen_ratio v total q.

  Definition renormalised (x r : R) : Prop :=
    exists p q, computed_element M out kappa m j s x p /\ chosen_ratio p P_hat q /\ computed_output out q r.

  Definition renormalised_log : R := chosen_constant + chosen_sigma + ratio_log M out.
  Definition renormalised_floor : R :=
    (f * over_chosen + IZR division_losses * product_floor M) * exp renormalised_log + output_floor out.

  Hypothesis enough : chosen_lost * exp (2 * chosen_direct) < 1.

  Lemma chosen_sigma_nonneg : 0 <= chosen_sigma.
  Proof using good good_out hs some top_chosen from_row S1 T1 enough.
    facts. pose proof direct_above. unfold chosen_sigma.
    assert (0 <= chosen_lost * exp (2 * chosen_direct)) by monotone.
    pose proof (ln_below_tangent (1 - chosen_lost * exp (2 * chosen_direct)) ltac:(lra)). lra.
  Qed.

  Lemma chosen_quotient v q :
    chosen_ratio v P_hat q ->
    exists b e, Rabs b <= IZR division_roundings * lambda /\ Rabs e <= product_floor M /\ q = v / P_hat * exp b + e.
  Proof using good.
    pose proof (unit_nonneg M good). unfold division_roundings.
    intros [q' [b [e [bb [be ->]]]]|b0 q' bb0 [b [e [bb [be ->]]]]]; apply abs_between in bb.
    - exists b, e. repeat split; [apply Rabs_le; lra|easy].
    - exists (b0 + b), e. apply abs_between in bb0. repeat split; [apply Rabs_le; lra|easy|].
      rewrite exp_plus. unfold Rdiv. ring.
  Qed.

  Lemma renormalised_absolute x r :
    In x chosen -> renormalised x r ->
    Rabs (r - coefficient logits x / P)
    <= coefficient logits x / P * (exp (renormalised_log + t * (top - x)) - 1) + renormalised_floor.
  Proof using good good_out hs some top_chosen from_row stored tree low enough.
    intros inx [p [q [elem [ratio [b3 [e3 [bb3 [be3 ->]]]]]]]]. facts. destruct good_out as [go1 go2].
    destruct (stored_kept x p (from_row x inx) elem) as [w [e [bw [be ->]]]].
    destruct (chosen_quotient _ q ratio) as [b [e1 [bb [be1 ->]]]].
    destruct (rel_inv _ _ _ (chosen_sum enough)) as [ts [bts inverse]]. pose proof chosen_sigma_nonneg as fsg.
    rewrite total_as_stored in inverse. pose proof over_above as over. set (a := exp (- D_top) / s) in *.
    set (T := weight_sum top chosen) in *. assert (aT : 0 < a * T) by (apply Rmult_lt_0_compat; lra).
    rewrite renormalised_coefficient, (coefficient_from_weight top chosen top_chosen). fold T.
    set (c := exp (x - top) / T). assert (c0 : 0 < c) by (apply Rdiv_lt_0_compat; [apply exp_pos|lra]).
    apply abs_between in bw. apply abs_between in bb. apply abs_between in bb3. apply abs_between in bts.
    replace (((a * exp (x - top) * exp w + e) / P_hat * exp b + e1) * exp b3 + e3 - c)
      with (c * (exp (w + ts + b + b3) - 1) + (e * / (a * T) * exp (ts + b + b3) + e1 * exp b3 + e3)).
    2:{ unfold Rdiv. rewrite inverse, !exp_plus. unfold c. field. lra. } unfold ratio_log, division_roundings in *.
    set (L := renormalised_log).
    assert (hL : L = chosen_constant + chosen_sigma + (2 * lambda + output_unit out)) by reflexivity. triangle.
    apply Rplus_le_compat.
    - rewrite Rabs_mult, (Rabs_right c) by lra. apply Rmult_le_compat_l; [lra|]. apply expm1_abs. apply Rabs_le. lra.
    - unfold renormalised_floor, division_losses. fold L. triangle. apply Rplus_le_compat; [|easy]. triangle.
      rewrite Rmult_plus_distr_r, !Rabs_mult.
      rewrite (Rabs_right (exp (ts + b + b3))), (Rabs_right (exp b3)) by (left; apply exp_pos).
      assert (inv : 0 < / (a * T) <= over_chosen).
      { split; [now apply Rinv_0_lt_compat|]. apply Rmult_le_reg_l with (a * T); [easy|]. rewrite Rinv_r; lra. }
      rewrite (Rabs_right (/ (a * T))) by lra. apply Rplus_le_compat.
      + apply Rmult_le_compat; [apply Rmult_le_pos; [apply Rabs_pos|lra]|left; apply exp_pos| |apply exp_le; lra].
        apply Rmult_le_compat; [apply Rabs_pos|lra|easy|easy].
      + apply Rmult_le_compat; [apply Rabs_pos|left; apply exp_pos|lra|apply exp_le; lra].
  Qed.

  Theorem b18_renormalised quantum x r :
    0 < quantum <= 1 -> In x chosen -> renormalised x r ->
    Rabs (r - coefficient logits x / P)
    <= (threshold_constant renormalised_log + threshold_slope quantum renormalised_log t * (top - x)) * (coefficient logits x / P)
       + (renormalised_floor + threshold_floor quantum).
  Proof using good good_out hs some top_chosen from_row stored tree low enough.
    intros hq inx form. eapply Rle_trans; [now apply renormalised_absolute|]. facts. destruct good_out as [go1 go2].
    assert (L0 : 0 <= renormalised_log).
    { pose proof chosen_sigma_nonneg. unfold renormalised_log, ratio_log, division_roundings. lra. }
    pose proof (coefficient_threshold quantum renormalised_log t top chosen x hq L0 ltac:(lra) top_chosen inx).
    rewrite renormalised_coefficient. lra.
  Qed.
End Renormalised.

(** ** B18: a softmax of the chosen logits alone errs by no more than coefficients divided by their sum.

    Where the running maximum over the chosen items rises no more often than in the row, and an item's underflow in a sum is no more
    than a coefficient's (so without rescalings, or where an exponential loses no more than a product).

    Source: docs/tolerances/topk.md; TopkThreshold::renormalised in numerics/rounding/rounding_topk.cpp. *)

Section ChosenAlone.
  Context (M : arithmetic) (out : output_format) (good : sound M) (good_out : sound_output out) (kappa m : R)
    (logits : list R) (s : R) (h j : nat) (hs : sum_of_row M kappa m logits s h j)
    (some : lost_sum M kappa m logits h j < 1).
  Notation t := (slope M).
  Notation lambda := (unit M).
  Notation f := (element_floor M out kappa m logits h j).
  Context (chosen : list R) (top : R) (top_chosen : is_maximum top chosen) (from_row : incl chosen logits).
  Notation direct := (chosen_direct M out kappa m j chosen top).
  Notation lost_by_chosen := (chosen_lost M out kappa m logits h j chosen top).
  Notation whole := (renormalised_log M out kappa m logits h j chosen top).
  Hypothesis enough : lost_by_chosen * exp (2 * direct) < 1.

  (** The sum of the chosen exponentials. *)
  Context (s' : R) (h' : nat) (hs' : sum_of_row M kappa top chosen s' h' j) (low : (h' <= length chosen - 1)%nat)
    (underflow : lost M j <= f + sum_floor M).

  Let below :
    lost_sum M kappa top chosen h' j < 1 /\ element_log M out kappa top chosen h' j <= whole /\
    element_floor M out kappa top chosen h' j <= renormalised_floor M out kappa m logits h j chosen top.
  Proof using good good_out hs some top_chosen from_row enough hs' low underflow.
    pose proof (slope_nonneg M good) as ft. pose proof (unit_nonneg M good) as fl.
    pose proof (exp_unit_nonneg M good) as fe. pose proof (lost_nonneg M good j) as fz.
    assert (fa : 0 <= sum_floor M) by (unfold sound in good; lra).
    assert (fm : 0 <= product_floor M) by (unfold sound in good; lra).
    assert (fx : 0 <= exp_floor M) by (unfold sound in good; lra). pose proof (row_maximum _ _ _ _ _ _ _ hs) as max.
    pose proof (proj2 max top (from_row top (proj1 top_chosen))) as fd. assert (ftD : 0 <= t * (m - top)) by monotone.
    assert (many : 1 <= size chosen) by (apply size_at_least_one, (in_not_nil top), top_chosen).
    pose proof (S_at_least_one m logits max) as S1.
    pose proof (element_log_nonneg M out good good_out kappa m logits s h j hs some) as e0.
    pose proof (floor_above M out good good_out kappa m logits s h j hs some) as [above [f0 _]].
    destruct (sum_between M good kappa top chosen s' h' j hs') as [_ [hk hd]].
    assert (height : INR h' * lambda <= (size chosen - 1) * lambda).
    { apply Rmult_le_compat_r; [easy|]. unfold size. pose proof (le_INR _ _ low) as le.
      rewrite minus_INR in le; [simpl in le; lra|]. apply INR_le. unfold size in many. simpl. lra. }
    assert (fr : 0 <= ratio_log M out) by (destruct good_out; unfold ratio_log, division_roundings; lra).
    assert (extra : 0 <= when_rescaled j (exp_unit M + lambda)) by (unfold when_rescaled; destruct j; lra).
    set (s0 := sigma_0 M kappa top chosen h' j). assert (first : s0 <= direct).
    { unfold s0, sigma_0, chosen_direct, chosen_constant, own_constant, direct_log, numerator_log. lra. }
    assert (s00 : 0 <= s0).
    { unfold s0, sigma_0. pose proof (shift_above M top chosen top_chosen ft).
      assert (0 <= t * mean_deviation top chosen) by (apply Rmult_le_pos; [easy|now apply mean_deviation_nonneg]).
      lra. }
    assert (over : 1 <= over_chosen M out kappa m logits h j top).
    { unfold over_chosen. apply one_le_product; [monotone|]. rewrite exp_plus, exp_ln by lra.
      apply one_le_product; [easy|]. monotone. }
    assert (losses : lost_sum M kappa top chosen h' j <= lost_by_chosen * exp (2 * direct)).
    { unfold lost_sum, chosen_lost. fold s0. apply Rmult_le_compat; [monotone|monotone| |monotone].
      apply Rle_trans with (size chosen * (f + sum_floor M)); [monotone|]. apply grown; [monotone|easy]. }
    assert (logs : ln (1 - lost_by_chosen * exp (2 * direct)) <= ln (1 - lost_sum M kappa top chosen h' j))
      by (apply ln_le; lra).
    assert (log : element_log M out kappa top chosen h' j <= whole).
    { unfold element_log, renormalised_log, chosen_sigma, chosen_constant, own_constant, b1_sum.sigma. fold s0.
      assert (0 <= rescale_unit M j) by (apply Rmult_le_pos; [apply pos_INR|lra]). lra. }
    split; [lra|]. split; [easy|]. unfold element_floor at 1. unfold renormalised_floor, division_losses.
    apply Rplus_le_compat_r. apply Rmult_le_compat.
    - assert (0 <= numerator_loss M j) by (unfold numerator_loss, when_rescaled; destruct j; lra). lra.
    - left. monotone.
    - apply Rplus_le_compat_r. assert (numerator_loss M j <= f).
      { eapply Rle_trans; [|apply above]. rewrite <- (Rmult_1_l (numerator_loss M j)) at 1.
        apply Rmult_le_compat_r; [unfold numerator_loss, when_rescaled; destruct j; lra|]. apply exp_at_least_one.
        pose proof (argument_floor_above M good kappa top chosen s' h' j hs').
        assert (0 <= argument_step M) by (unfold sound in good; lra). assert (0 <= t * kappa) by monotone.
        unfold numerator_log. lra. }
      assert (f <= f * over_chosen M out kappa m logits h j top) by now apply grown. lra.
    - monotone.
  Qed.

  Theorem b18_softmax_of_chosen quantum x r :
    0 < quantum <= 1 -> In x chosen -> computed_element M out kappa top j s' x r ->
    Rabs (r - coefficient chosen x)
    <= (threshold_constant whole + threshold_slope quantum whole t * (top - x)) * coefficient chosen x
       + (renormalised_floor M out kappa m logits h j chosen top + threshold_floor quantum).
  Proof using good good_out hs some top_chosen from_row enough hs' low underflow.
    intros hq inx form. destruct below as [some' [log floor]]. pose proof (slope_nonneg M good) as ft.
    assert (ft4 : t <= / 4) by apply good.
    pose proof (element_absolute M out good good_out kappa top chosen s' h' j hs' some' x r inx form) as close.
    pose proof (element_log_nonneg M out good good_out kappa top chosen s' h' j hs' some') as e0.
    pose proof (coefficient_threshold quantum whole t top chosen x hq ltac:(lra) ltac:(lra) top_chosen inx) as chord.
    assert (p0 : 0 <= coefficient chosen x) by (left; apply coefficient_pos; now apply (in_not_nil x)).
    assert (coefficient chosen x * (exp (element_log M out kappa top chosen h' j + t * (top - x)) - 1)
            <= coefficient chosen x * (exp (whole + t * (top - x)) - 1)).
    { apply Rmult_le_compat_l; [easy|]. apply Rplus_le_compat_r, exp_le. lra. } lra.
  Qed.
End ChosenAlone.
