(** * B6d of the softmax of a computed log-softmax: -sum p_hat y with p_hat the softmax of the row y, as a kernel computes both.

    y errs by b + s D, so that a kernel's exponentials of y are those of the exact row, off by b + s D more. The maximum of y and S are
    one shift of all of them, which their quotient does not see: b counts once for the exponential and once for the sum. The kernel's own
    argument errs by t of a difference of y's, at most (1 + s) D + 2 b.

    Main results, tau = s + t (1 + s), b' = b (1 + 2 t)
    - [sum_of_logarithms]        |ln (S_hat / (S e^-A))| <= sigma_0 + b' - ln (1 - n lost e^(2 (sigma_0 + b'))), sigma_0 of the
                                 exact row at tau; |A| <= b
    - [element_of_logarithms]    p_hat = p e^(+-(C + tau D)) + e: C is B2's, with b' beside the sum's log error and beside the numerator's
    - [b6d_of_computed_softmax]  B6d from a log-softmax with such coefficients
    - [tilt_of_log_softmax]      tau is at most e^((2 A' + 1) lambda) - 1 where the log-softmax is B5's, in either form

    Source: docs/tolerances.md, B6d; entropy_of_log_softmax_error in numerics/rounding/rounding_entropy.cpp. *)

From softcheck.numerics Require Import constants row tilted_row score_error reduction b1_sum b2_element b5_logsumexp
  b6_entropy added_terms b6d_coefficients b6d_log_softmax.
Local Open Scope R_scope.

Section ComputedSoftmax.
  Context (M : arithmetic) (good : sound M).
  (* each logit beside its logarithm as computed *)
  Context (row : list (R * R)) (m b s tau : R).
  Notation logits := (map fst row).
  Notation ys := (map snd row).
  Context (max : is_maximum m logits) (logarithms : 0 <= b /\ 0 <= s <= 1).
  Notation p x := (coefficient logits x).
  Hypothesis near : forall q, In q row -> Rabs (snd q - ln (p (fst q))) <= b + s * (m - fst q).
  Notation t := (slope M).
  Context (tilts : s + t * (1 + s) <= tau < 1) (kappa m_y total : R) (h j : nat)
    (hs : sum_of_row M kappa m_y ys total h j).
  Notation S := (weight_sum m logits).
  Notation n := (size row).
  Notation nl := (numerator_log M kappa j).

  (** b and what the kernel's own argument makes of it. *)
  Definition logarithm_log : R := b + 2 * t * b.
  Definition moved_sigma_0 : R := direct_log M kappa h j + (logarithm_log + shift m logits tau).
  Definition moved_lost : R := n * lost M j * exp (2 * moved_sigma_0).
  Definition moved_sigma : R := moved_sigma_0 - ln (1 - moved_lost).
  Definition moved_log : R := nl + logarithm_log + moved_sigma + ratio_log M kept_format.
  Definition moved_floor : R := (numerator_loss M j + IZR division_losses * product_floor M) * exp moved_log.
  Hypothesis some : moved_lost < 1.

  (** e^-A S is what the sum is of. *)
  Definition common_shift : R := m_y + ln S.

  Local Ltac facts :=
    pose proof (slope_nonneg M good) as ht; assert (ht4 : t <= / 4) by apply good; destruct logarithms as [hb [hs0 hs1]];
    pose proof (S_at_least_one m logits max) as S1; assert (lnS : 0 <= ln S) by (rewrite <- ln_1; apply ln_le; lra);
    assert (tb : 0 <= t * b) by (now apply Rmult_le_pos); assert (ts : 0 <= t * s) by (now apply Rmult_le_pos).

  Lemma logarithm_is (q : R * R) : ln (p (fst q)) = - (m - fst q) - ln S.
  Proof using max. rewrite (ln_of_coefficient m logits max). unfold own_size. ring. Qed.

  Lemma common_shift_small : - b <= common_shift <= b.
  Proof using good max logarithms near hs.
    facts. unfold common_shift. pose proof (row_maximum _ _ _ _ _ _ _ hs) as [iny above]. split.
    - destruct (proj1 (in_map_iff _ _ _) (proj1 max)) as [q [eq inq]]. pose proof (near q inq) as close.
      rewrite logarithm_is, eq in close. replace (m - m) with 0 in close by ring. rewrite Rmult_0_r in close.
      apply abs_between in close. pose proof (above (snd q) (in_map snd _ _ inq)). lra.
    - destruct (proj1 (in_map_iff _ _ _) iny) as [q [eq inq]]. pose proof (near q inq) as close.
      rewrite logarithm_is, eq in close. pose proof (proj2 max (fst q) (in_map fst _ _ inq)) as hd.
      apply abs_between in close. assert (s * (m - fst q) <= 1 * (m - fst q)) by monotone. lra.
  Qed.

  (** D of the computed row: D, the common shift, and what this logarithm errs by. *)
  Lemma deviation_of_logarithm q :
    In q row ->
    exists delta, Rabs delta <= b + s * (m - fst q) /\ m_y - snd q = m - fst q + common_shift - delta /\
      0 <= m_y - snd q <= (1 + s) * (m - fst q) + 2 * b.
  Proof using good max logarithms near hs.
    intros inq. exists (snd q - ln (p (fst q))). pose proof (near q inq) as close. split; [exact close|]. rewrite logarithm_is in *.
    pose proof common_shift_small as shift_small. pose proof (proj2 (row_maximum _ _ _ _ _ _ _ hs) (snd q) (in_map snd _ _ inq)) as below.
    assert (same : m_y - snd q = m - fst q + common_shift - (snd q - (- (m - fst q) - ln S))) by (unfold common_shift; ring).
    split; [exact same|]. apply abs_between in close. lra.
  Qed.

  Lemma shift_nonneg : 0 <= shift m logits tau /\ tau * mean_deviation m logits <= shift m logits tau.
  Proof using good max logarithms tilts.
    facts. pose proof (mean_deviation_nonneg m logits max). pose proof (second_nonneg logits tau).
    pose proof (pow2_ge_0 tau). assert (0 <= tau * mean_deviation m logits) by monotone. unfold shift. nra.
  Qed.

  (** The two sides of the sum of the computed row, in units of e^-A. *)
  Lemma sides_of_logarithms :
    exp (- (logarithm_log + shift m logits tau)) * (S * exp (- common_shift)) <= weighted_sum m_y ys (fun d => exp (- (t * d))) /\
    pull (1 - t) m_y (items ys) <= exp (logarithm_log + shift m logits tau) * (S * exp (- common_shift)).
  Proof using good max logarithms near tilts hs.
    facts. pose proof (tilted_mass m logits max tau ltac:(lra)) as heavy.
    pose proof (tilted_mass_below m logits max tau) as light. unfold tilted, weighted_sum in heavy, light.
    rewrite map_map in heavy, light. destruct shift_nonneg as [_ mean]. rewrite pull_items. unfold weighted_sum.
    rewrite !map_map. pose proof (exp_pos (- common_shift)) as E. split.
    - apply Rle_trans with (sum (map (fun q => exp (- logarithm_log) * exp (- common_shift)
        * (exp (fst q - m) * (exp (- tau * (m - fst q)) * 1))) row)).
      + rewrite sum_map_mult_l. rewrite Ropp_plus_distr, exp_plus.
        assert (exp (- shift m logits tau) * S <= exp (- (tau * mean_deviation m logits)) * S) by monotone.
        replace (exp (- logarithm_log) * exp (- shift m logits tau) * (S * exp (- common_shift)))
          with (exp (- logarithm_log) * exp (- common_shift) * (exp (- shift m logits tau) * S)) by ring.
        monotone.
      + apply sum_map_le. intros q inq. destruct (deviation_of_logarithm q inq) as [delta [close [same range]]].
        pose proof (proj2 max (fst q) (in_map fst _ _ inq)) as hd. apply abs_between in close.
        replace (snd q - m_y) with (- (m_y - snd q)) by ring. rewrite Rmult_1_r, <- !exp_plus. apply exp_le.
        assert (t * (m_y - snd q) <= t * ((1 + s) * (m - fst q) + 2 * b)) by monotone.
        assert ((s + t * (1 + s)) * (m - fst q) <= tau * (m - fst q)) by monotone. unfold logarithm_log. lra.
    - apply Rle_trans with (sum (map (fun q => exp logarithm_log * exp (- common_shift)
        * (exp (fst q - m) * (exp (tau * (m - fst q)) * 1))) row)).
      + apply sum_map_le. intros q inq. destruct (deviation_of_logarithm q inq) as [delta [close [same range]]].
        pose proof (proj2 max (fst q) (in_map fst _ _ inq)) as hd. apply abs_between in close.
        replace (snd q - m_y) with (- (m_y - snd q)) by ring. rewrite Rmult_1_r, <- !exp_plus. apply exp_le.
        assert (t * (m_y - snd q) <= t * ((1 + s) * (m - fst q) + 2 * b)) by monotone.
        assert ((s + t * (1 + s)) * (m - fst q) <= tau * (m - fst q)) by monotone. unfold logarithm_log. lra.
      + rewrite sum_map_mult_l, exp_plus.
        replace (exp logarithm_log * exp (shift m logits tau) * (S * exp (- common_shift)))
          with (exp logarithm_log * exp (- common_shift) * (exp (shift m logits tau) * S)) by ring.
        apply Rmult_le_compat_l; [monotone|exact heavy].
  Qed.

  Theorem sum_of_logarithms : rel moved_sigma total (S * exp (- common_shift)).
  Proof using good max logarithms near tilts hs some.
    facts. destruct (sum_between M good kappa m_y ys total h j hs) as [sides [hk hd]].
    destruct sides_of_logarithms as [below above]. destruct shift_nonneg as [mu0 _].
    pose proof common_shift_small as small. pose proof (lost_nonneg M good j).
    assert (same : size ys = n) by (unfold size; now rewrite map_length). rewrite same in sides.
    apply (rel_of_sides (direct_log M kappa h j) (logarithm_log + shift m logits tau) b (n * lost M j)
      (S * exp (- common_shift)) (weighted_sum m_y ys (fun d => exp (- (t * d)))) (pull (1 - t) m_y (items ys)) total
      hd); try easy.
    - unfold logarithm_log. lra.
    - apply Rmult_le_pos; [apply size_nonneg|easy].
    - replace (exp b * (S * exp (- common_shift))) with (S * (exp b * exp (- common_shift))) by ring.
      rewrite <- exp_plus. apply one_le_product; [easy|]. monotone.
  Qed.

  (** ** A coefficient of the computed row *)

  Lemma moved_sigma_large : moved_sigma_0 <= moved_sigma /\ 0 <= moved_sigma_0 /\ 1 + numerator_loss M j <= exp moved_sigma.
  Proof using good max logarithms near tilts hs some.
    facts. destruct (sum_between M good kappa m_y ys total h j hs) as [_ [hk hd]]. destruct shift_nonneg as [mu0 _].
    pose proof (lost_nonneg M good j) as hl. assert (s0 : 0 <= moved_sigma_0) by (unfold moved_sigma_0, logarithm_log; lra).
    assert (n1 : 1 <= n). { apply size_at_least_one. intros empty. destruct max as [inm _]. rewrite empty in inm. easy. }
    pose proof (exp_at_least_one (2 * moved_sigma_0) ltac:(lra)) as E. assert (small : numerator_loss M j <= lost M j).
    { assert (0 <= sum_floor M) by (unfold sound in good; lra). assert (0 <= exp_floor M) by (unfold sound in good; lra).
      assert (0 <= product_floor M) by (unfold sound in good; lra). unfold numerator_loss, when_rescaled, lost.
      destruct j; lra. }
    assert (big : lost M j <= moved_lost).
    { unfold moved_lost.
      assert (one : lost M j <= n * lost M j) by (rewrite <- (Rmult_1_l (lost M j)) at 1; apply Rmult_le_compat_r; lra).
      apply Rle_trans with (n * lost M j * 1); [lra|]. monotone. }
    pose proof (ln_below_tangent (1 - moved_lost) ltac:(lra)). unfold moved_sigma.
    pose proof (exp_above_tangent (moved_sigma_0 - ln (1 - moved_lost))). lra.
  Qed.

  Theorem element_of_logarithms q p_hat :
    In q row -> computed_element M kept_format kappa m_y j total (snd q) p_hat ->
    exists w e, Rabs w <= moved_log + tau * (m - fst q) /\ Rabs e <= moved_floor /\ p_hat = p (fst q) * exp w + e.
  Proof using good max logarithms near tilts hs some.
    intros inq [D [v [ratio_value [close [num [quotient [t3 [e3 [bt3 [be3 ->]]]]]]]]]]. facts.
    cbn [output_unit output_floor kept_format] in bt3, be3. assert (t3 = 0) as -> by (apply abs_between in bt3; lra).
    assert (e3 = 0) as -> by (apply abs_between in be3; lra). rewrite exp_0, Rmult_1_r, Rplus_0_r.
    destruct (numerator_error M good kappa m_y ys total h j hs D (snd q) v close num) as [w [e [bw [be ev]]]].
    destruct (deviation_of_logarithm q inq) as [delta [bdelta [same range]]]. pose proof (proj2 max (fst q) (in_map fst _ _ inq)) as hd.
    destruct (rel_inv _ _ _ sum_of_logarithms) as [theta [btheta inverse]]. destruct moved_sigma_large as [sr [s0 large]].
    pose proof common_shift_small as small. destruct (sum_between M good kappa m_y ys total h j hs) as [_ [hk hdirect]].
    pose proof (numerator_log_nonneg M good kappa m_y ys total h j hs) as hnl. pose proof (numerator_loss_nonneg M good kappa m_y ys total h j hs) as hnloss.
    apply abs_between in bw. apply abs_between in btheta. apply abs_between in bdelta.
    assert (inv : / (S * exp (- common_shift)) = / S * exp common_shift).
    { rewrite Rinv_mult by (try lra; apply Rgt_not_eq, exp_pos). now rewrite exp_Ropp, Rinv_inv. }
    assert (S_inv : 0 < / S <= 1).
    { split; [apply Rinv_0_lt_compat; lra|]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
    rewrite inv in inverse. set (d' := m_y - snd q) in *. assert (td : t * d' <= / 4 * d') by (apply Rmult_le_compat_r; lra).
    destruct (ratio_within M good nl (moved_sigma + b) (numerator_loss M j) (exp (- d') * exp w) e v total ratio_value)
      as [w' [e' [bw' [be' ->]]]]; try easy.
    - rewrite exp_plus. pose proof (exp_at_least_one b hb). apply Rle_trans with (exp moved_sigma * 1); [lra|].
      apply Rmult_le_compat_l; [left; apply exp_pos|easy].
    - rewrite inverse. split; [repeat apply Rmult_lt_0_compat; try apply exp_pos; lra|].
      replace (exp (moved_sigma + b)) with (1 * exp b * exp moved_sigma) by (rewrite exp_plus; ring).
      repeat (apply Rmult_le_compat; try apply exp_le; try lra; try (left; apply exp_pos)).
      apply Rmult_le_pos; [lra|left; apply exp_pos].
    - split; [left; apply Rmult_lt_0_compat; apply exp_pos|]. rewrite <- exp_plus. apply exp_le. lra.
    - apply abs_between in bw'. exists (delta + theta + w + w'), e'. unfold moved_log, ratio_log. cbn [output_unit kept_format].
      assert (t * d' <= t * ((1 + s) * (m - fst q) + 2 * b)) by (apply Rmult_le_compat_l; lra).
      assert ((s + t * (1 + s)) * (m - fst q) <= tau * (m - fst q)) by (apply Rmult_le_compat_r; lra). split; [|split].
      + apply Rabs_le. unfold logarithm_log. lra.
      + eapply Rle_trans; [exact be'|]. unfold moved_floor. rewrite Rmult_comm. apply Rmult_le_compat_l.
        * assert (0 <= product_floor M) by (unfold sound in good; lra). unfold division_losses. lra.
        * apply exp_le. unfold moved_log, ratio_log, logarithm_log. cbn [output_unit kept_format]. lra.
      + rewrite (coefficient_from_weight m logits max). unfold Rdiv. rewrite inverse, same.
        replace (- (m - fst q + common_shift - delta)) with (fst q - m + - common_shift + delta) by ring.
        rewrite !exp_plus, (exp_Ropp common_shift). field. split; [lra|apply Rgt_not_eq, exp_pos].
  Qed.

  (** ** The entropy *)

  Context (K : R) (far : 1 <= (1 - tau) * K) (smallest : exp (- ((1 - tau) * K)) <= exp_floor M + product_floor M).

  (** The coefficients beyond K are 0, as in [b6d_of_log_softmax]. *)
  Definition computed_softmax_term (q : R * R) (z : R) : Prop :=
    exists p_hat, computed_element M kept_format kappa m_y j total (snd q) p_hat /\ (K < m - fst q -> p_hat = 0) /\
      computed_product M (p_hat * snd q) z.

  Lemma moved_floor_reaches : 0 <= moved_floor /\ exp (moved_log - (1 - tau) * K) <= moved_floor.
  Proof using good smallest.
    clear some hs. assert (hm : 0 <= product_floor M) by (unfold sound in good; lra).
    assert (hx : 0 <= exp_floor M) by (unfold sound in good; lra).
    unfold moved_floor, numerator_loss, when_rescaled, division_losses. pose proof (exp_pos moved_log).
    set (l := exp_floor M + match j with 0%nat => 0 | Datatypes.S _ => exp_floor M + product_floor M end + 2 * product_floor M).
    assert (low : exp_floor M + product_floor M <= l) by (unfold l; destruct j; lra). split; [monotone|]. unfold Rminus at 1.
    rewrite exp_plus, Rmult_comm. monotone.
  Qed.

  Lemma moved_log_nonneg : 0 <= moved_log.
  Proof using good max logarithms near tilts hs some.
    facts. destruct moved_sigma_large as [sr [s0 _]]. pose proof (numerator_log_nonneg M good kappa m_y ys total h j hs).
    pose proof (unit_nonneg M good). unfold moved_log, ratio_log, logarithm_log, division_roundings. cbn [output_unit kept_format]. lra.
  Qed.

  Theorem b6d_of_computed_softmax zs y height :
    Forall2 computed_softmax_term row zs -> added M 0 0 zs y height ->
    Rabs (- y - entropy logits)
    <= logarithms_rounding M m logits moved_log tau b s height + logarithms_lost M m logits moved_floor K b s height.
  Proof using good max logarithms near tilts hs some far smallest.
    intros terms tree. facts. destruct moved_floor_reaches as [loses enough].
    assert (reaches : 0 <= K) by (apply Rlt_le, Rmult_lt_reg_l with (1 - tau); [|rewrite Rmult_0_r]; lra).
    apply (b6d_log_softmax M good m logits moved_log tau moved_floor K b s max moved_log_nonneg ltac:(lra) loses ltac:(lra) zs); [|exact tree].
    assert (all : forall l, Forall (fun q => In q row) l -> forall ws, Forall2 computed_softmax_term l ws ->
                    Forall2 (logarithm_term M m logits moved_log tau moved_floor K b s) (map fst l) ws).
    { intros l inside ws each. induction each as [|q z l ws [p_hat [element [zero product]]] _ IH]; [constructor|]. inversion inside as [|? ? inq rest]; subst.
      cbn [map]. constructor; [|now apply IH]. exists p_hat, (snd q). split; [|split; [now apply near|exact product]].
      destruct (element_of_logarithms q p_hat inq element) as [w [e [bw [be eq]]]].
      now apply (lost_by_zero m logits moved_log tau moved_floor K max ltac:(lra) loses reaches (fst q) w p_hat e (in_map fst _ _ inq)). }
    apply all; [apply Forall_forall; easy|exact terms].
  Qed.
End ComputedSoftmax.

(** ** The slope of B5 *)

(** x - max - ln S errs by t of the argument and one rounding of the result; x - L by g of the logit, no more than t. *)
Theorem tilt_of_log_softmax M g :
  sound M -> 0 <= g <= slope M ->
  let s := g + roundoff M * (1 + g) in s + slope M * (1 + s) <= exp (2 * argument_unit M + unit M) - 1.
Proof.
  intros good range s. assert (u : 0 <= roundoff M < 1) by apply good. set (t := slope M) in *.
  assert (grows : exp (argument_unit M) = 1 + t) by (unfold t, slope; ring).
  assert (one : exp (unit M) = / (1 - roundoff M)) by (unfold unit, log_unit; rewrite exp_Ropp, exp_ln by lra; easy).
  replace (2 * argument_unit M) with (argument_unit M + argument_unit M) by ring. rewrite !exp_plus, grows, one.
  assert (above : 1 + roundoff M <= / (1 - roundoff M)).
  { apply Rmult_le_reg_r with (1 - roundoff M); [lra|]. rewrite Rinv_l by lra. nra. }
  assert (1 + s <= (1 + t) * (1 + roundoff M)) by (unfold s; nra).
  assert ((1 + s) * (1 + t) <= (1 + t) * (1 + roundoff M) * (1 + t)) by monotone.
  assert ((1 + t) * (1 + t) * (1 + roundoff M) <= (1 + t) * (1 + t) * / (1 - roundoff M)) by monotone. lra.
Qed.
