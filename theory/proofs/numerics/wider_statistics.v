(** * B5, B6, B6d and B7 at upper bounds of a row's statistics.

    Main results
    - [wider_logsumexp]   the right-hand side of [b5_logsumexp] is at most the formulas' values at them
    - [wider_entropy]     that of [b6_entropy], with the sum of the two in the place of H
    - [wider_sum_is_some]   the premise of both: the sum of the row itself does not lose everything either
    - [wider_entropy_uncentred]         the right-hand side of [b7_entropy] is at most its formulas' values at them
    - [wider_entropy_of_coefficients]   that of [b6d_of_lost_coefficients] behind the output's rounding, at any eps
    - [wider_entropy_of_logarithms]     that of [b6d_of_computed_softmax], likewise, at any tau
    - [wider_sum_of_logarithms_is_some]   the premise of that theorem: the sum of the logarithms does not lose everything either
    - [wider_log_softmax], [wider_log_softmax_uncentred]   B5 of its logarithms: b and s of numerics/ are no less than the row's

    The row's statistics are at most those of [statistics]. numerics/ evaluates these formulas for rows that it does not have: of scores that err, of a beta that errs. It puts
    upper bounds in the statistics' place. What comes of that is no less than what the theorems say of the row itself.

    Source: formula.upper_bounds_give_an_upper_bound; AttentionThreshold::logsumexp, entropy in
    numerics/rounding/rounding_attention.cpp; contracted_entropy_error in numerics/rounding/rounding_entropy.cpp. *)

From softcheck.numerics Require Import constants formula row score_error tilted_row reduction b1_sum b2_element b5_logsumexp
  b6_entropy theorem_formulas output_formulas b7_uncentred b6d_coefficients b6d_underflow b6d_log_softmax
  b6d_computed_softmax uncentred_formulas.
From softcheck.numerics Require coefficient_formulas log_softmax_formulas.
Module Direct := coefficient_formulas.
Module Logs := log_softmax_formulas.
Local Open Scope R_scope.

Record statistics := {
  wide_log_sum : R; wide_mean : R; wide_square : R; wide_maximum : R; wide_logsumexp : R
}.

(** Is every statistic of the row at most its own? *)
Definition covers (w : statistics) (m : R) (logits : list R) : Prop :=
  ln (weight_sum m logits) <= wide_log_sum w /\ row.mean_deviation m logits <= wide_mean w /\
  row.mean_square_deviation m logits <= wide_square w /\ Rabs m <= wide_maximum w /\
  Rabs (ln (partition_function logits)) <= wide_logsumexp w.

(** What the formulas speak of, with [w] in the place of a row of n items. *)
Definition at_statistics (M : arithmetic) (out : output_format) (kappa n : R) (h j : nat) (u_out g r : R) (w : statistics)
    (q : quantity) : R :=
  match q with
  | log_sum => wide_log_sum w
  | mean_deviation => wide_mean w
  | mean_square_deviation => wide_square w
  | maximum_magnitude => wide_maximum w
  | logsumexp_magnitude => wide_logsumexp w
  | entropy_magnitude => wide_log_sum w + wide_mean w
  | visible => n
  | conversion => kappa
  | scaling => g
  | output_roundoff => u_out
  | height => INR h
  | rescalings => INR j
  | _ => is M out 0 0 nil 0 j u_out g 1 0 r nil 0 0 0 0 q
  end.

Definition wide_value M out kappa n h j u_out g r w (f : formula quantity) : R :=
  value (at_statistics M out kappa n h j u_out g r w) (match j with 0%nat => false | S _ => true end) f.

(** A result behind the output's rounding grows with what stood before it. *)
Lemma wider_output u_out floor_out size size' rounding rounding' lost lost' :
  0 <= u_out -> size <= size' -> rounding <= rounding' -> lost <= lost' ->
  rounding + u_out * (size + rounding) + (lost * (1 + u_out) + floor_out)
  <= rounding' + u_out * (size' + rounding') + (lost' * (1 + u_out) + floor_out).
Proof.
  intros writes le1 le2 le3. assert (u_out * (size + rounding) <= u_out * (size' + rounding')) by (apply Rmult_le_compat_l; lra).
  assert (lost * (1 + u_out) <= lost' * (1 + u_out)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Section Wider.
  Context (M : arithmetic) (out : output_format) (good : sound M) (good_out : sound_output out) (kappa m : R)
    (logits : list R) (h j : nat) (u_out g r : R) (w : statistics) (max : is_maximum m logits)
    (conversions : 0 <= kappa) (writes : 0 <= u_out) (scales : 0 <= g) (loses : 0 <= r)
    (leaves : standard_model.roundoff M + r < 1) (covered : covers w m logits).
  Notation rescales := (match j with 0%nat => false | S _ => true end).
  Notation own := (is M out kappa m logits h j u_out g 1 0 r nil 0 0 0 0).
  Notation wide := (at_statistics M out kappa (size logits) h j u_out g r w).
  Notation widened := (wide_value M out kappa (size logits) h j u_out g r w).
  (** The sum does not lose everything, with these statistics. *)
  Hypothesis some : widened (Times sum_loss_f (Exp (Times (Number 2) sigma_0_f))) < 1.

  Lemma statistics_ordered q : 0 <= own q <= wide q.
  Proof using good good_out max conversions writes scales loses covered.
    destruct covered as [c1 [c2 [c3 [c4 c5]]]]. destruct good_out as [o1 o2]. pose proof (size_nonneg logits).
    pose proof (S_at_least_one m logits max). assert (lnS : 0 <= ln (weight_sum m logits)) by (rewrite <- ln_1; apply ln_le; lra).
    pose proof (mean_deviation_nonneg m logits max) as hd. pose proof (mean_square_deviation_nonneg m logits max) as hs.
    pose proof (entropy_of_statistics m logits max) as hH. pose proof (exp_unit_nonneg M good). pose proof (Rabs_pos m).
    pose proof (Rabs_pos (ln (partition_function logits))). pose proof (pos_INR h). pose proof (pos_INR j).
    assert (l2048 : 0 <= ln (2048 / 1)) by (rewrite <- ln_1; apply ln_le; lra).
    unfold sound in good. destruct q; cbn [is at_statistics]; rewrite ?Rabs_R0; try lra;
      unfold size, magnitude, division_roundings, division_losses; cbn; try lra.
    all: rewrite ?hH; lra.
  Qed.

  Let grows_with f : grows f = true -> within own wide rescales f ->
    0 <= valued M out kappa m logits h j u_out g 1 0 r nil 0 0 0 0 f <= widened f.
  Proof using good good_out max conversions writes scales loses covered.
    intros growing inside. exact (upper_bounds_give_an_upper_bound own wide rescales f growing statistics_ordered inside).
  Qed.

  Let units : value wide rescales (Of roundoff) < 1 /\ value wide rescales (Of exp_error) < 1 /\
    value wide rescales slope_f < 1 /\ value wide rescales (Of reciprocal_error) < 1.
  Proof using good leaves. unfold sound, standard_model.slope in good. cbn. lra. Qed.

  Let logarithms : forall k, 1 <= value own rescales (Plus (Of visible) (Exp (Number k))) \/ (k < 0)%Z.
  Proof using.
    intros k. destruct (Z_lt_le_dec k 0) as [|le]; [now right|left]. apply IZR_le in le. cbn.
    pose proof (exp_at_least_one (IZR k) le). pose proof (size_nonneg logits). lra.
  Qed.

  Local Ltac inside :=
    destruct units as [u1 [u2 [u3 u4]]]; unfold wide_value in some;
    assert (e1 : 1 <= value own rescales (Plus (Of visible) (Exp (Number 1)))) by (destruct (logarithms 1); [easy|discriminate]);
    assert (e2 : 1 <= value own rescales (Plus (Of visible) (Exp (Number 2)))) by (destruct (logarithms 2); [easy|discriminate]);
    repeat split; assumption.

  Lemma logsumexp_within : within own wide rescales logsumexp_output_f /\ within own wide rescales logsumexp_lost_f.
  Proof using good leaves some. split; inside. Qed.

  Lemma entropy_within : within own wide rescales entropy_output_f /\ within own wide rescales entropy_lost_f.
  Proof using good leaves some. split; inside. Qed.

  Theorem wider_logsumexp :
    let rounding := logsumexp_rounding M kappa m logits h j g in
    rounding + u_out * (Rabs (ln (partition_function logits)) + rounding) + (logsumexp_floor M * (1 + u_out) + b2_element.output_floor out)
    <= widened logsumexp_output_f + widened logsumexp_lost_f.
  Proof using good good_out max conversions writes scales loses leaves covered some grows_with.
    cbv zeta. destruct (logsumexp_output_is M out kappa m logits h j u_out g 1 0 r nil 0 0 0 0) as [e1 e2].
    rewrite <- e1, <- e2. destruct logsumexp_within as [w1 w2].
    destruct (grows_with logsumexp_output_f eq_refl w1) as [_ b1]. destruct (grows_with logsumexp_lost_f eq_refl w2) as [_ b2]. lra.
  Qed.

  Theorem wider_entropy :
    let rounding := entropy_rounding M kappa m logits h j r in
    rounding + u_out * (entropy logits + rounding) + (entropy_floor M * (1 + u_out) + b2_element.output_floor out)
    <= widened entropy_output_f + widened entropy_lost_f.
  Proof using good good_out max conversions writes scales loses leaves covered some grows_with.
    cbv zeta. destruct (entropy_output_is M out kappa m logits h j u_out g 1 0 r nil 0 0 0 0) as [e1 e2].
    rewrite <- e1, <- e2. destruct entropy_within as [w1 w2].
    destruct (grows_with entropy_output_f eq_refl w1) as [_ b1]. destruct (grows_with entropy_lost_f eq_refl w2) as [_ b2]. lra.
  Qed.

  (** The sum of the row itself does not lose everything either. *)
  Theorem wider_sum_is_some : lost_sum M kappa m logits h j < 1.
  Proof using good good_out max conversions writes scales loses leaves covered some.
    assert (inside : within own wide rescales (Times sum_loss_f (Exp (Times (Number 2) sigma_0_f)))) by inside.
    pose proof (upper_bounds_give_an_upper_bound own wide rescales (Times sum_loss_f (Exp (Times (Number 2) sigma_0_f))) eq_refl
                  statistics_ordered inside) as [_ below].
    unfold wide_value in some. apply Rle_lt_trans with (2 := some). eapply Rle_trans; [|exact below].
    right. unfold lost_sum. rewrite <- (lost_is M out kappa m logits h j u_out g 1 0 r nil 0 0 0 0).
    rewrite <- (sigma_0_is M out kappa m logits h j u_out g 1 0 r nil 0 0 0 0). reflexivity.
  Qed.

  (** ** From logits *)

  Theorem wider_entropy_uncentred (row : list logit_item) :
    logits = map logit row -> g < 1 ->
    let rounding := uncentred_rounding M kappa m (log_unit g) (argument_floor M kappa j) row h j h j r g in
    rounding + u_out * (entropy logits + rounding) + (uncentred_loss M * (1 + u_out) + b2_element.output_floor out)
    <= widened entropy_uncentred_output_f + widened entropy_uncentred_lost_f.
  Proof using good good_out max conversions writes scales loses leaves covered some grows_with units logarithms.
    intros same small. cbv zeta. destruct (uncentred_entropy_is M out kappa m row h j u_out g 1 0 r nil 0 0 0 0) as [e1 e2].
    rewrite <- same in e1, e2. rewrite <- e1, <- e2. clear e1 e2.
    assert (less : value wide rescales (Of scaling) < 1) by exact small.
    destruct (grows_with entropy_uncentred_output_f eq_refl ltac:(inside)) as [_ b1].
    destruct (grows_with entropy_uncentred_lost_f eq_refl ltac:(inside)) as [_ b2]. lra.
  Qed.

  (** ** The logarithms of a log-softmax, d in the place of m - x: none of the three has d in it *)

  Theorem wider_log_softmax d :
    0 <= d ->
    let first := log_softmax_constant M kappa m logits h j + standard_model.slope M * d in
    let second := first + standard_model.roundoff M * (d + ln (weight_sum m logits) + first) in
    second + u_out * (d + ln (weight_sum m logits) + second)
    + ((standard_model.product_floor M * (1 + standard_model.roundoff M) + standard_model.sum_floor M) * (1 + u_out) + b2_element.output_floor out)
    <= widened centred_constant_f + widened centred_lost_f + widened centred_slope_f * d.
  Proof using good good_out max conversions writes scales loses leaves covered some grows_with units logarithms.
    intros hd. cbv zeta. destruct (log_softmax_threshold_is M out kappa m logits h j u_out g 1 d r nil 0 0 0 0) as [eq1 eq2]. rewrite eq1, eq2.
    change (valued M out kappa m logits h j u_out g 1 d r nil 0 0 0 0 centred_constant_f)
      with (valued M out kappa m logits h j u_out g 1 0 r nil 0 0 0 0 centred_constant_f).
    change (valued M out kappa m logits h j u_out g 1 d r nil 0 0 0 0 centred_slope_f)
      with (valued M out kappa m logits h j u_out g 1 0 r nil 0 0 0 0 centred_slope_f).
    change (valued M out kappa m logits h j u_out g 1 d r nil 0 0 0 0 centred_lost_f)
      with (valued M out kappa m logits h j u_out g 1 0 r nil 0 0 0 0 centred_lost_f).
    destruct (grows_with centred_constant_f eq_refl ltac:(inside)) as [_ b1]. destruct (grows_with centred_slope_f eq_refl ltac:(inside)) as [_ b2].
    destruct (grows_with centred_lost_f eq_refl ltac:(inside)) as [_ b3]. pose proof (Rmult_le_compat_r d _ _ hd b2) as b4.
    lra.
  Qed.

  Theorem wider_log_softmax_uncentred d :
    0 <= d ->
    uncentred_second M kappa m logits h j g d + u_out * (d + ln (weight_sum m logits) + uncentred_second M kappa m logits h j g d)
    + (uncentred_floor M * (1 + u_out) + b2_element.output_floor out)
    <= widened uncentred_constant_f + widened uncentred_lost_f + widened uncentred_slope_f * d.
  Proof using good good_out max conversions writes scales loses leaves covered some grows_with units logarithms.
    intros hd. destruct (uncentred_threshold_is M out kappa m logits h j u_out g 1 d r nil 0 0 0 0) as [eq1 eq2]. rewrite eq1, eq2.
    change (valued M out kappa m logits h j u_out g 1 d r nil 0 0 0 0 uncentred_constant_f)
      with (valued M out kappa m logits h j u_out g 1 0 r nil 0 0 0 0 uncentred_constant_f).
    change (valued M out kappa m logits h j u_out g 1 d r nil 0 0 0 0 uncentred_slope_f)
      with (valued M out kappa m logits h j u_out g 1 0 r nil 0 0 0 0 uncentred_slope_f).
    change (valued M out kappa m logits h j u_out g 1 d r nil 0 0 0 0 uncentred_lost_f)
      with (valued M out kappa m logits h j u_out g 1 0 r nil 0 0 0 0 uncentred_lost_f).
    destruct (grows_with uncentred_constant_f eq_refl ltac:(inside)) as [_ b1]. destruct (grows_with uncentred_slope_f eq_refl ltac:(inside)) as [_ b2].
    destruct (grows_with uncentred_lost_f eq_refl ltac:(inside)) as [_ b3]. pose proof (Rmult_le_compat_r d _ _ hd b2) as b4.
    lra.
  Qed.

  (** ** From coefficients *)

  Context (eps X : R) (height : nat) (small : 0 <= eps) (sizes : 0 <= X).

  Definition coefficients_at (q : Direct.quantity) : R :=
    match q with
    | Direct.sum_log => widened sum_log_f
    | Direct.shift => widened shift_f
    | Direct.first_excess => widened first_excess_f
    | Direct.mean_deviation => wide_mean w
    | Direct.log_sum => wide_log_sum w
    | Direct.entropy => wide_log_sum w + wide_mean w
    | _ => Direct.is M kappa m logits h j eps X height q
    end.
  Notation C := (element_log M kept_format kappa m logits h j).
  Notation f := (element_floor M kept_format kappa m logits h j).

  Let parts_of_sum :
    0 <= sigma M kappa m logits h j <= widened sum_log_f /\
    0 <= shift m logits (standard_model.slope M) <= widened shift_f /\
    0 <= first_excess m logits (standard_model.slope M) <= widened first_excess_f /\ 0 <= numerator_log M kappa j /\
    0 <= numerator_loss M j.
  Proof using good good_out max conversions writes scales loses leaves covered some grows_with units logarithms.
    destruct (grows_with sum_log_f eq_refl ltac:(inside)) as [a1 a2]. destruct (grows_with shift_f eq_refl ltac:(inside)) as [b1 b2].
    destruct (grows_with first_excess_f eq_refl ltac:(inside)) as [c1 c2]. destruct (grows_with numerator_log_f eq_refl ltac:(inside)) as [d1 _].
    rewrite sum_log_is in a1, a2. rewrite numerator_log_is in d1. repeat split; try assumption.
    unfold sound in good. unfold numerator_loss, when_rescaled. destruct j; lra.
  Qed.

  Let own_statistics :
    0 <= row.mean_deviation m logits <= wide_mean w /\ 0 <= ln (weight_sum m logits) <= wide_log_sum w /\
    0 <= entropy logits <= wide_log_sum w + wide_mean w.
  Proof using max covered.
    destruct covered as [c1 [c2 _]]. pose proof (S_at_least_one m logits max) as S1.
    assert (0 <= ln (weight_sum m logits)) by (rewrite <- ln_1; apply ln_le; lra).
    pose proof (mean_deviation_nonneg m logits max). rewrite (entropy_of_statistics m logits max). lra.
  Qed.

  Theorem wider_entropy_of_coefficients :
    let rounding := coefficients_rounding M m logits C 0 height in
    let widest := value coefficients_at false Direct.coefficients_rounding_f in
    rounding + u_out * (entropy logits + rounding)
    + (coefficients_lost M logits C f X 0 height * (1 + u_out) + b2_element.output_floor out)
    <= widest + u_out * (wide_log_sum w + wide_mean w + widest)
       + (value coefficients_at false Direct.coefficients_lost_f * (1 + u_out) + b2_element.output_floor out).
  Proof using good good_out max conversions writes scales loses leaves covered some grows_with units logarithms small sizes parts_of_sum own_statistics.
    cbv zeta. destruct parts_of_sum as [s1 [s2 [s3 [s4 s5]]]]. destruct own_statistics as [o1 [o2 o3]].
    pose proof (unit_nonneg M good) as hl. pose proof (slope_nonneg M good). pose proof (size_nonneg logits).
    assert (hh : 0 <= INR height * standard_model.unit M) by (apply Rmult_le_pos; [apply pos_INR|easy]).
    assert (order : forall q, 0 <= Direct.is M kappa m logits h j 0 X height q <= coefficients_at q).
    { unfold sound in good. destruct q; cbn [Direct.is coefficients_at]; unfold division_roundings, division_losses; try lra; easy. }
    rewrite <- (Direct.coefficients_rounding_is M kappa m logits h j 0 X height), <- (Direct.coefficients_lost_is M kappa m logits h j 0 X height).
    apply wider_output; [easy|easy| |].
    - apply (upper_bounds_give_an_upper_bound _ coefficients_at false Direct.coefficients_rounding_f eq_refl order). cbn. tauto.
    - apply (upper_bounds_give_an_upper_bound _ coefficients_at false Direct.coefficients_lost_f eq_refl order). cbn. tauto.
  Qed.
End Wider.

(** ** From the logarithms of a log-softmax *)

Section Logarithms.
  Context (M : arithmetic) (good : sound M) (row : list (R * R)) (m b s tau kappa K : R) (h j height : nat)
    (u_out floor_out : R) (w : statistics).
  Notation logits := (map fst row).
  Context (max : is_maximum m logits) (errs : 0 <= b /\ 0 <= s) (tilts : 0 <= tau < 1) (conversions : 0 <= kappa)
    (reaches : 0 <= K) (writes : 0 <= u_out) (covered : covers w m logits).

  Definition wide_shift : R := tau * wide_mean w + tau ^ 2 / 2 * second logits tau.
  Definition logarithms_at (q : Logs.quantity) : R :=
    match q with
    | Logs.sigma_0 => direct_log M kappa h j + wide_shift
    | Logs.shift => wide_shift
    | Logs.first_excess => tau * wide_square w + tau ^ 2 / 2 * exp wide_shift * third logits tau
    | Logs.mean_deviation => wide_mean w
    | Logs.log_sum => wide_log_sum w
    | Logs.entropy => wide_log_sum w + wide_mean w
    | _ => Logs.is M row m b s tau kappa K h j height q
    end.
  Notation C := (moved_log M row m b tau kappa h j).
  Notation f := (moved_floor M row m b tau kappa h j).
  (** The sum does not lose everything, with these statistics. *)
  Hypothesis some : value logarithms_at false (Times (Of Logs.sum_loss) (Exp (Times (Number 2) Logs.moved_sigma_0_f))) < 1.

  Let order q : 0 <= Logs.is M row m b s tau kappa K h j height q <= logarithms_at q.
  Proof using good max errs tilts conversions reaches covered.
    destruct covered as [c1 [c2 [c3 _]]]. pose proof (S_at_least_one m logits max) as S1.
    assert (lnS : 0 <= ln (weight_sum m logits)) by (rewrite <- ln_1; apply ln_le; lra).
    pose proof (mean_deviation_nonneg m logits max) as hD. pose proof (mean_square_deviation_nonneg m logits max) as hV.
    pose proof (entropy_of_statistics m logits max) as hH. pose proof (unit_nonneg M good) as hl. pose proof (exp_unit_nonneg M good).
    pose proof (slope_nonneg M good) as ht. pose proof (size_nonneg logits). pose proof (lost_nonneg M good j).
    assert (0 <= size row) by apply size_nonneg. assert (0 <= size row * lost M j) by (now apply Rmult_le_pos).
    assert (hh : 0 <= INR height * standard_model.unit M) by (apply Rmult_le_pos; [apply pos_INR|easy]).
    assert (h0 : 0 <= INR h * standard_model.unit M) by (apply Rmult_le_pos; [apply pos_INR|easy]).
    assert (j0 : 0 <= INR j * (standard_model.exp_unit M + standard_model.unit M)) by (apply Rmult_le_pos; [apply pos_INR|lra]).
    assert (c0 : 0 <= argument_floor M kappa j).
    { unfold argument_floor. assert (0 <= (INR j + 1) * standard_model.argument_step M).
      { apply Rmult_le_pos; [pose proof (pos_INR j); lra|apply good]. } assert (0 <= (1 + standard_model.slope M) * kappa) by (apply Rmult_le_pos; lra). lra. }
    assert (d0 : 0 <= direct_log M kappa h j) by (unfold direct_log, rescale_unit; lra).
    pose proof (second_nonneg logits tau) as hs. pose proof (pow2_ge_0 tau) as t2.
    assert (t3 : 0 <= third logits tau).
    { unfold third. apply pow_le, Rmult_le_pos; [|left; apply Rinv_0_lt_compat; lra].
      pose proof (exp_at_least_one 2 ltac:(lra)). rewrite <- ln_1. apply ln_le; lra. }
    assert (below : 0 <= shift m logits tau <= wide_shift).
    { unfold shift, wide_shift. assert (0 <= tau * row.mean_deviation m logits <= tau * wide_mean w)
        by (split; [apply Rmult_le_pos|apply Rmult_le_compat_l]; lra). assert (0 <= tau ^ 2 / 2 * second logits tau) by (apply Rmult_le_pos; lra). lra. }
    assert (excess : 0 <= first_excess m logits tau <= tau * wide_square w + tau ^ 2 / 2 * exp wide_shift * third logits tau).
    { unfold first_excess. pose proof (exp_pos (shift m logits tau)). pose proof (exp_le _ _ (proj2 below)).
      assert (0 <= tau * row.mean_square_deviation m logits <= tau * wide_square w)
        by (split; [apply Rmult_le_pos|apply Rmult_le_compat_l]; lra).
      assert (0 <= tau ^ 2 / 2 * exp (shift m logits tau) * third logits tau <= tau ^ 2 / 2 * exp wide_shift * third logits tau).
      { split; [apply Rmult_le_pos; [apply Rmult_le_pos; lra|easy]|]. apply Rmult_le_compat_r; [easy|]. apply Rmult_le_compat_l; lra. } lra. }
    assert (0 <= standard_model.exp_floor M /\ 0 <= standard_model.product_floor M /\ 0 <= standard_model.sum_floor M) by (unfold sound in good; lra).
    destruct q; cbn [Logs.is logarithms_at]; unfold division_roundings, division_losses, numerator_log, numerator_loss, when_rescaled;
      try lra; destruct j; lra.
  Qed.

  Let inner : within (Logs.is M row m b s tau kappa K h j height) logarithms_at false Logs.coefficient_log_f.
  Proof using some. cbn in *. tauto. Qed.

  (** The premise of [b6d_of_computed_softmax] is one of these statistics. *)
  Theorem wider_sum_of_logarithms_is_some : moved_lost M row m b tau kappa h j < 1.
  Proof using good max errs tilts conversions reaches covered some order.
    pose proof (upper_bounds_give_an_upper_bound _ logarithms_at false
      (Times (Of Logs.sum_loss) (Exp (Times (Number 2) Logs.moved_sigma_0_f))) eq_refl order ltac:(cbn; tauto)) as [_ below].
    apply Rle_lt_trans with (2 := some). eapply Rle_trans; [|exact below]. right. unfold moved_lost, moved_sigma_0, logarithm_log. cbn.
    f_equal. f_equal. ring.
  Qed.

  Theorem wider_entropy_of_logarithms :
    let rounding := logarithms_rounding M m logits C tau b s height in
    let widest := value logarithms_at false Logs.logarithms_rounding_f in
    rounding + u_out * (entropy logits + rounding) + (logarithms_lost M m logits f K b s height * (1 + u_out) + floor_out)
    <= widest + u_out * (wide_log_sum w + wide_mean w + widest)
       + (value logarithms_at false Logs.logarithms_lost_f * (1 + u_out) + floor_out).
  Proof using good max errs tilts conversions reaches writes covered some order inner.
    cbv zeta. rewrite <- (Logs.logarithms_rounding_is M row m b s tau kappa K h j height), <- (Logs.logarithms_lost_is M row m b s tau kappa K h j height).
    apply wider_output; [easy|exact (proj2 (order Logs.entropy))| |].
    - apply (upper_bounds_give_an_upper_bound _ logarithms_at false Logs.logarithms_rounding_f eq_refl order). cbn in *. tauto.
    - apply (upper_bounds_give_an_upper_bound _ logarithms_at false Logs.logarithms_lost_f eq_refl order). cbn in *. tauto.
  Qed.
End Logarithms.
