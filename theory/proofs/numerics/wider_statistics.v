(** * B5 and B6 at upper bounds of a row's statistics.

    numerics/ evaluates the formulas of B5 and B6 for rows that it does not have: of scores that err, of a beta that errs. It puts
    upper bounds in the statistics' place. What comes of that is no less than what the theorems say of the row itself.

    Main results, for a row whose statistics are at most those of [statistics]
    - [wider_logsumexp]   the right-hand side of [b5_logsumexp] is at most the formulas' values at them
    - [wider_entropy]     that of [b6_entropy], with the sum of the two in the place of H
    - [wider_sum_is_some]   the premise of both: the sum of the row itself does not lose everything either

    Source: formula.upper_bounds_give_an_upper_bound; AttentionThreshold::logsumexp, entropy in numerics/rounding/rounding_attention.cpp. *)

From softcheck.numerics Require Import constants formula row tilted_row score_error b1_sum b2_element b5_logsumexp b6_entropy theorem_formulas output_formulas.
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

Section Wider.
  Context (M : arithmetic) (out : output_format).
  Hypothesis good : sound M.
  Hypothesis good_out : sound_output out.
  Context (kappa m : R) (logits : list R) (h j : nat) (u_out g r : R) (w : statistics).
  Hypothesis max : is_maximum m logits.
  Hypothesis conversions : 0 <= kappa.
  Hypothesis writes : 0 <= u_out.
  Hypothesis scales : 0 <= g.
  Hypothesis loses : 0 <= r.
  Hypothesis leaves : standard_model.roundoff M + r < 1.
  Hypothesis covered : covers w m logits.
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
    pose proof (entropy_from_statistics m logits max) as hH. pose proof (exp_unit_nonneg M good). pose proof (Rabs_pos m).
    pose proof (Rabs_pos (ln (partition_function logits))). pose proof (pos_INR h). pose proof (pos_INR j).
    assert (l2048 : 0 <= ln (2048 / 1)) by (rewrite <- ln_1; apply ln_le; lra).
    unfold sound in good. destruct q; cbn [is at_statistics]; rewrite ?Rabs_R0; try lra;
      unfold size, magnitude, division_roundings, division_losses; cbn; try lra.
    all: rewrite ?hH; lra.
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
  Proof using good good_out max conversions writes scales loses leaves covered some.
    cbv zeta. destruct (logsumexp_output_is M out kappa m logits h j u_out g 1 0 r nil 0 0 0 0) as [e1 e2].
    rewrite <- e1, <- e2. destruct logsumexp_within as [w1 w2].
    pose proof (upper_bounds_give_an_upper_bound own wide rescales logsumexp_output_f eq_refl statistics_ordered w1) as [_ b1].
    pose proof (upper_bounds_give_an_upper_bound own wide rescales logsumexp_lost_f eq_refl statistics_ordered w2) as [_ b2].
    unfold valued, wide_value. lra.
  Qed.

  Theorem wider_entropy :
    let rounding := entropy_rounding M kappa m logits h j r in
    rounding + u_out * (entropy logits + rounding) + (entropy_floor M * (1 + u_out) + b2_element.output_floor out)
    <= widened entropy_output_f + widened entropy_lost_f.
  Proof using good good_out max conversions writes scales loses leaves covered some.
    cbv zeta. destruct (entropy_output_is M out kappa m logits h j u_out g 1 0 r nil 0 0 0 0) as [e1 e2].
    rewrite <- e1, <- e2. destruct entropy_within as [w1 w2].
    pose proof (upper_bounds_give_an_upper_bound own wide rescales entropy_output_f eq_refl statistics_ordered w1) as [_ b1].
    pose proof (upper_bounds_give_an_upper_bound own wide rescales entropy_lost_f eq_refl statistics_ordered w2) as [_ b2].
    unfold valued, wide_value. lra.
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
End Wider.
