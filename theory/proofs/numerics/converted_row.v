(** * A row whose logits were rounded on the way into the accumulator.

    The kernel reduces the converted logits exactly as if they were the row; only the last comparison, with the row as it
    was given, sees the conversion. Differences of converted logits telescope along every path: it counts once.

    Main results
    - [conversion_of_rounded]    logits rounded with relative error u and absolute e: every D moves by at most
                                 2 u max|x| + 2 e
    - [converted_pull], [converted_weights], [converted_drag], [converted_deviations]
                                 what such a move kappa does to the sums: factors e^(+-(1 + t) kappa), and kappa itself

    Source: docs/tolerances.md, "Conversion"; RoundingModel::set_argument. kappa carries the factor 1 + t because the
    converted difference is what meets the argument's relative error. *)

From softcheck.numerics Require Import row atoms.
Local Open Scope R_scope.

(** Every deviation moves by at most kappa. *)
Definition converted (kappa m : R) (logits : list R) (m' : R) (logits' : list R) : Prop :=
  Forall2 (fun x x' => Rabs ((m' - x') - (m - x)) <= kappa) logits logits'.

Lemma converted_same m l : converted 0 m l m l.
Proof.
  unfold converted. induction l; constructor; [|easy]. rewrite Rminus_diag_eq, Rabs_R0 by easy. lra.
Qed.

Theorem conversion_of_rounded u e X m m' l l' :
  Rabs m <= X -> Forall2 (fun x x' => Rabs (x' - x) <= u * Rabs x + e /\ Rabs x <= X) l l' ->
  Rabs (m' - m) <= u * Rabs m + e -> 0 <= u ->
  converted (2 * u * X + 2 * e) m l m' l'.
Proof.
  intros hm rounded hm' hu. unfold converted. induction rounded as [|x x' l l' [hx bx] _ IH]; constructor; [|easy].
  replace (m' - x' - (m - x)) with ((m' - m) + - (x' - x)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp.
  assert (u * Rabs m <= u * X) by now apply Rmult_le_compat_l.
  assert (u * Rabs x <= u * X) by now apply Rmult_le_compat_l. lra.
Qed.

Section Converted.
  Context (kappa m m' : R) (l l' : list R).
  Hypothesis moved : converted kappa m l m' l'.

  Lemma converted_size : size l' = size l.
  Proof.
    unfold size. f_equal. revert moved. unfold converted. generalize l l'. intros k k' same.
    induction same; simpl; auto.
  Qed.

  Lemma converted_sum_le (f g : R -> R) :
    (forall d d', Rabs (d' - d) <= kappa -> In (m - d) l -> In (m' - d') l' -> f d' <= g d) ->
    sum (map (fun x => f (m' - x)) l') <= sum (map (fun x => g (m - x)) l).
  Proof.
    intros below. revert below. unfold converted in moved.
    induction moved as [|x x' k k' close rest IH]; intros below; [unfold sum; simpl; lra|].
    unfold sum in *. cbn [map fold_right].
    assert (f (m' - x') <= g (m - x)).
    { apply below; [easy| |].
      - replace (m - (m - x)) with x by ring. now left.
      - replace (m' - (m' - x')) with x' by ring. now left. }
    assert (fold_right Rplus 0 (map (fun x => f (m' - x)) k') <= fold_right Rplus 0 (map (fun x => g (m - x)) k)).
    { apply IH; [easy|]. intros d d' cl i i'. apply below; [easy|now right|now right]. }
    lra.
  Qed.

  Lemma converted_sum_ge (f g : R -> R) :
    (forall d d', Rabs (d' - d) <= kappa -> In (m - d) l -> In (m' - d') l' -> g d <= f d') ->
    sum (map (fun x => g (m - x)) l) <= sum (map (fun x => f (m' - x)) l').
  Proof.
    intros below.
    assert (sum (map (fun x => - f (m' - x)) l') <= sum (map (fun x => - g (m - x)) l)) as le.
    { apply (converted_sum_le (fun d => - f d) (fun d => - g d)). intros d d' cl i i'.
      pose proof (below d d' cl i i'). lra. }
    rewrite !sum_map_opp in le. lra.
  Qed.

  Lemma kappa_nonneg : l <> [] -> 0 <= kappa.
  Proof.
    intros visible. unfold converted in moved. destruct moved as [|x x' k k' close _]; [easy|].
    pose proof (Rabs_pos (m' - x' - (m - x))). lra.
  Qed.

  Hypothesis above : above_all m l.
  Hypothesis above' : above_all m' l'.

  Local Ltac deviation :=
    intros d d' close inx inx'; pose proof (above _ inx) as hd; pose proof (above' _ inx') as hd';
    pose proof (Rabs_pos (d' - d)) as hk; apply abs_between in close.

  Lemma converted_pull t : 0 <= t <= 1 -> pull (1 - t) m' (items l') <= exp kappa * pull (1 - t) m (items l).
  Proof using moved above above'.
    intros ht. unfold pull, items. rewrite !map_map, <- sum_map_mult_l. cbn [fst snd].
    apply (converted_sum_le (fun d => 1 * exp (- ((1 - t) * d))) (fun d => exp kappa * (1 * exp (- ((1 - t) * d))))).
    deviation. rewrite !Rmult_1_l, <- exp_plus. apply exp_le. nra.
  Qed.

  Lemma converted_drag t :
    0 <= t <= 1 ->
    drag (1 - t) m' (items l') <= exp kappa * (drag (1 - t) m (items l) + kappa * pull (1 - t) m (items l)).
  Proof using moved above above'.
    intros ht. unfold drag, pull, items. rewrite !map_map, <- sum_map_mult_l, <- sum_map_plus, <- sum_map_mult_l.
    cbn [fst snd].
    apply (converted_sum_le (fun d => d * (1 * exp (- ((1 - t) * d))))
             (fun d => exp kappa * (d * (1 * exp (- ((1 - t) * d))) + kappa * (1 * exp (- ((1 - t) * d)))))).
    deviation. rewrite !Rmult_1_l.
    assert (exp (- ((1 - t) * d')) <= exp kappa * exp (- ((1 - t) * d))).
    { rewrite <- exp_plus. apply exp_le. nra. }
    pose proof (exp_pos (- ((1 - t) * d'))).
    apply Rle_trans with ((d + kappa) * exp (- ((1 - t) * d'))); [apply Rmult_le_compat_r; lra|].
    apply Rle_trans with ((d + kappa) * (exp kappa * exp (- ((1 - t) * d)))); [apply Rmult_le_compat_l; lra|].
    right. ring.
  Qed.

  Lemma converted_weights t :
    0 <= t ->
    exp (- ((1 + t) * kappa)) * weighted_sum m l (fun d => exp (- (t * d)))
    <= weighted_sum m' l' (fun d => exp (- (t * d))).
  Proof using moved above above'.
    intros ht. unfold weighted_sum. rewrite <- sum_map_mult_l.
    rewrite (sum_map_ext (fun x => exp (- ((1 + t) * kappa)) * (exp (x - m) * exp (- (t * (m - x)))))
               (fun x => exp (- ((1 + t) * kappa)) * exp (- ((1 + t) * (m - x)))))
      by (intros; rewrite <- exp_plus; f_equal; f_equal; ring).
    rewrite (sum_map_ext (fun x => exp (x - m') * exp (- (t * (m' - x)))) (fun x => exp (- ((1 + t) * (m' - x)))))
      by (intros; rewrite <- exp_plus; f_equal; ring).
    apply (converted_sum_ge (fun d => exp (- ((1 + t) * d))) (fun d => exp (- ((1 + t) * kappa)) * exp (- ((1 + t) * d)))).
    deviation. rewrite <- exp_plus. apply exp_le. nra.
  Qed.

  Lemma converted_deviations t :
    0 <= t ->
    exp (- ((1 + t) * kappa)) *
      (weighted_sum m l (fun d => exp (- (t * d)) * d) - kappa * weighted_sum m l (fun d => exp (- (t * d))))
    <= weighted_sum m' l' (fun d => exp (- (t * d)) * d).
  Proof using moved above above'.
    intros ht. unfold weighted_sum. rewrite <- sum_map_mult_l, <- sum_map_minus, <- sum_map_mult_l.
    rewrite (sum_map_ext _ (fun x => exp (- ((1 + t) * kappa)) * (exp (- ((1 + t) * (m - x))) * ((m - x) - kappa)))).
    2: { intros x _. replace (- ((1 + t) * (m - x))) with (x - m + - (t * (m - x))) by ring. rewrite exp_plus. ring. }
    rewrite (sum_map_ext (fun x => exp (x - m') * (exp (- (t * (m' - x))) * (m' - x)))
               (fun x => exp (- ((1 + t) * (m' - x))) * (m' - x))).
    2: { intros x _. replace (- ((1 + t) * (m' - x))) with (x - m' + - (t * (m' - x))) by ring. rewrite exp_plus. ring. }
    apply (converted_sum_ge (fun d => exp (- ((1 + t) * d)) * d)
             (fun d => exp (- ((1 + t) * kappa)) * (exp (- ((1 + t) * d)) * (d - kappa)))).
    deviation.
    pose proof (exp_pos (- ((1 + t) * d'))). pose proof (exp_pos (- ((1 + t) * d))). pose proof (exp_pos (- ((1 + t) * kappa))).
    destruct (Rle_dec d kappa) as [small|large].
    - apply Rle_trans with 0; [|apply Rmult_le_pos; lra].
      rewrite <- Rmult_assoc. assert (0 < exp (- ((1 + t) * kappa)) * exp (- ((1 + t) * d))) by now apply Rmult_lt_0_compat.
      nra.
    - rewrite <- Rmult_assoc, <- exp_plus. apply Rmult_le_compat; try lra; [left; apply exp_pos|].
      apply exp_le. nra.
  Qed.
End Converted.
