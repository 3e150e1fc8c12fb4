(** * B1: the computed sum of exponentials.

    Main results
    - [b1_sum]   |ln (S_hat / S)| <= sigma = sigma_0 - ln (1 - n lost e^(2 sigma_0)),
                 sigma_0 = h lambda + lambda_E + R (lambda_E + lambda) + c + mu,
                 for any tree of height h and any number of rescalings, R on a path
    - [sum_of_tree]   a tree whose every addition may round makes such a sum
    - [b1_sum_relative]   |S_hat - S| / S <= e^sigma - 1, as sum_error returns it
    - [conversion_of_rounded]    logits rounded with relative error u and absolute e: every D moves by at most
                                 2 u max|x| + 2 e
    - [converted_pull], [converted_weights], [converted_drag], [converted_deviations]
                                 what such a move kappa does to the sums: factors e^(+-(1 + t) kappa), and kappa itself

    Source: docs/tolerances.md, B1; sum_error in numerics/rounding/rounding.cpp, RoundingModel::set_row. *)

From softcheck.numerics Require Import row tilted_row tree_heights reduction.
Local Open Scope R_scope.

(** ** A row whose logits were rounded on the way into the accumulator.

    The kernel reduces the converted logits exactly as if they were the row; only the last comparison, with the row as it
    was given, sees the conversion. Differences of converted logits telescope along every path: it counts once.

    Source: docs/tolerances.md, "Conversion"; RoundingModel::set_argument. kappa carries the factor 1 + t because the
    converted difference is what meets the argument's relative error. *)

(** Every deviation moves by at most kappa. *)
Definition converted (kappa m : R) (logits : list R) (m' : R) (logits' : list R) : Prop :=
  Forall2 (fun x x' => Rabs ((m' - x') - (m - x)) <= kappa) logits logits'.

Lemma converted_same m l : converted 0 m l m l.
Proof. unfold converted. induction l; constructor; [|easy]. rewrite Rminus_diag_eq, Rabs_R0 by easy. lra. Qed.

Theorem conversion_of_rounded u e X m m' l l' :
  Rabs m <= X -> Forall2 (fun x x' => Rabs (x' - x) <= u * Rabs x + e /\ Rabs x <= X) l l' ->
  Rabs (m' - m) <= u * Rabs m + e -> 0 <= u ->
  converted (2 * u * X + 2 * e) m l m' l'.
Proof.
  intros hm rounded hm' hu. unfold converted. induction rounded as [|x x' l l' [hx bx] _ IH]; constructor; [|easy].
  replace (m' - x' - (m - x)) with ((m' - m) + - (x' - x)) by ring. triangle. rewrite Rabs_Ropp.
  assert (u * Rabs m <= u * X) by monotone. assert (u * Rabs x <= u * X) by monotone. lra.
Qed.

Section Converted.
  Context (kappa m m' : R) (l l' : list R) (moved : converted kappa m l m' l').

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
    induction moved as [|x x' k k' close rest IH]; intros below; [unfold sum; simpl; lra|]. unfold sum in *.
    cbn [map fold_right]. assert (f (m' - x') <= g (m - x)).
    { apply below; [easy| |].
      - replace (m - (m - x)) with x by ring. now left.
      - replace (m' - (m' - x')) with x' by ring. now left. }
    assert (fold_right Rplus 0 (map (fun x => f (m' - x)) k') <= fold_right Rplus 0 (map (fun x => g (m - x)) k)).
    { apply IH; [easy|]. intros d d' cl i i'. apply below; [easy|now right|now right]. } lra.
  Qed.

  Lemma converted_sum_ge (f g : R -> R) :
    (forall d d', Rabs (d' - d) <= kappa -> In (m - d) l -> In (m' - d') l' -> g d <= f d') ->
    sum (map (fun x => g (m - x)) l) <= sum (map (fun x => f (m' - x)) l').
  Proof.
    intros below. assert (sum (map (fun x => - f (m' - x)) l') <= sum (map (fun x => - g (m - x)) l)) as le.
    { apply (converted_sum_le (fun d => - f d) (fun d => - g d)). intros d d' cl i i'.
      pose proof (below d d' cl i i'). lra. }
    rewrite !sum_map_opp in le. lra.
  Qed.

  Lemma kappa_nonneg : l <> [] -> 0 <= kappa.
  Proof.
    intros visible. unfold converted in moved. destruct moved as [|x x' k k' close _]; [easy|].
    pose proof (Rabs_pos (m' - x' - (m - x))). lra.
  Qed.

  Context (above : above_all m l) (above' : above_all m' l').

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
    deviation. rewrite !Rmult_1_l. assert (exp (- ((1 - t) * d')) <= exp kappa * exp (- ((1 - t) * d))).
    { rewrite <- exp_plus. apply exp_le. nra. } pose proof (exp_pos (- ((1 - t) * d'))).
    apply Rle_trans with ((d + kappa) * exp (- ((1 - t) * d'))); [monotone|].
    apply Rle_trans with ((d + kappa) * (exp kappa * exp (- ((1 - t) * d)))); [monotone|]. right. ring.
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
    2:{ intros x _. replace (- ((1 + t) * (m - x))) with (x - m + - (t * (m - x))) by ring. rewrite exp_plus. ring. }
    rewrite (sum_map_ext (fun x => exp (x - m') * (exp (- (t * (m' - x))) * (m' - x)))
               (fun x => exp (- ((1 + t) * (m' - x))) * (m' - x))).
    2:{ intros x _. replace (- ((1 + t) * (m' - x))) with (x - m' + - (t * (m' - x))) by ring. rewrite exp_plus. ring. }
    apply (converted_sum_ge (fun d => exp (- ((1 + t) * d)) * d)
             (fun d => exp (- ((1 + t) * kappa)) * (exp (- ((1 + t) * d)) * (d - kappa)))).
    deviation. pose proof (exp_pos (- ((1 + t) * d'))). pose proof (exp_pos (- ((1 + t) * d))).
    pose proof (exp_pos (- ((1 + t) * kappa))). destruct (Rle_dec d kappa) as [small|large].
    - apply Rle_trans with 0; [|monotone]. rewrite <- Rmult_assoc.
      assert (0 < exp (- ((1 + t) * kappa)) * exp (- ((1 + t) * d))) by monotone. nra.
    - rewrite <- Rmult_assoc, <- exp_plus. apply Rmult_le_compat; try lra; [monotone|]. apply exp_le. nra.
  Qed.
End Converted.

(** What a kernel's sum is measured against: the row as given, and what of it the kernel reduced. The tree may be h
    roundoffs high: additions of compensated sums count by what they err by. *)
Record sum_of_row (M : arithmetic) (kappa m : R) (logits : list R) (s : R) (h j : nat) : Prop := {
  row_maximum : is_maximum m logits;
  row_summed : exists m' logits' g K, is_maximum m' logits' /\ converted kappa m logits m' logits' /\
                 summed_at M logits' m' s g j K /\ g <= INR h /\ INR K <= 2 * size logits /\ (j = 0 -> K = 0)%nat
}.

(** A tree whose every addition may round. *)
Theorem sum_of_tree M kappa m logits m' logits' s h j K :
  is_maximum m logits -> is_maximum m' logits' -> converted kappa m logits m' logits' -> summed M logits' m' s h j K ->
  INR K <= 2 * size logits -> (j = 0 -> K = 0)%nat -> sum_of_row M kappa m logits s h j.
Proof.
  intros max max' conv tree few none. constructor; [exact max|]. exists m', logits', (INR h), K.
  repeat (split; [easy|]). split; [now apply height_of_tree|]. split; [lra|now split].
Qed.

(** What the two sides of a computed sum make of its log error: they err by d and, as sums of the row, by mu; y is lost. *)
Lemma rel_of_sides d mu least y total low high s :
  0 <= d -> 0 <= least <= mu -> 0 <= y -> 1 <= exp least * total ->
  exp (- mu) * total <= low -> high <= exp mu * total -> exp (- d) * low - exp d * y <= s <= exp d * (high + y) ->
  y * exp (2 * (d + mu)) < 1 -> rel (d + mu - ln (1 - y * exp (2 * (d + mu)))) s total.
Proof.
  intros hd hl hy one below above [from to] some. set (z := y * exp (2 * (d + mu))) in *.
  assert (pos : 0 < total) by (apply Rmult_lt_reg_l with (exp least); [monotone|lra]). assert (y <= z).
  { unfold z. rewrite <- (Rmult_1_r y) at 1. monotone. } assert (grown_one : 1 <= exp mu * total).
  { apply Rle_trans with (exp least * total); [easy|]. monotone. }
  assert (lost : exp d * y <= exp (d + mu) * y * total).
  { rewrite exp_plus. replace (exp d * exp mu * y * total) with (exp d * y * (exp mu * total)) by ring.
    rewrite <- (Rmult_1_r (exp d * y)) at 1. monotone. }
  pose proof (exp_pos (d + mu)) as E. apply rel_of_bounds; [lra|].
  assert (growth : exp (d + mu - ln (1 - z)) = exp (d + mu) * / (1 - z)).
  { unfold Rminus at 1. rewrite exp_plus, exp_Ropp, exp_ln by lra. easy. }
  assert (decay : exp (- (d + mu - ln (1 - z))) = exp (- (d + mu)) * (1 - z)).
  { replace (- (d + mu - ln (1 - z))) with (- (d + mu) + ln (1 - z)) by ring. rewrite exp_plus, exp_ln by lra. easy. }
  rewrite growth, decay. split.
  - eapply Rle_trans; [|exact from]. assert (exp (- (d + mu)) * total <= exp (- d) * low).
    { rewrite Ropp_plus_distr, exp_plus, Rmult_assoc. monotone. }
    assert (same : exp (d + mu) * y * total = exp (- (d + mu)) * z * total).
    { unfold z. clear - E. set (k := d + mu) in *. replace (2 * k) with (k + k) by ring. rewrite exp_plus, exp_Ropp.
      field. lra. }
    lra.
  - eapply Rle_trans; [exact to|]. assert (exp d * high <= exp (d + mu) * total).
    { rewrite exp_plus, Rmult_assoc. monotone. } apply Rle_trans with (exp (d + mu) * total * (1 + y)); [lra|].
    replace (total * (exp (d + mu) * / (1 - z))) with (exp (d + mu) * total * / (1 - z)) by ring.
    apply Rmult_le_compat_l; [monotone|]. apply Rmult_le_reg_r with (1 - z); [lra|]. rewrite Rinv_l by lra. nra.
Qed.

Section B1.
  Context (M : arithmetic) (good : sound M) (kappa m : R) (logits : list R).
  Notation t := (slope M).
  Notation lambda := (unit M).
  Notation lambdaE := (exp_unit M).
  Notation S := (weight_sum m logits).
  Notation n := (size logits).

  (** c: every difference on a path, and once the conversion. *)
  Definition argument_floor (j : nat) : R := (INR j + 1) * argument_step M + (1 + t) * kappa.
  Definition rescale_unit (j : nat) : R := INR j * (lambdaE + lambda).
  Definition direct_log (h j : nat) : R := INR h * lambda + lambdaE + rescale_unit j + argument_floor j.
  Definition sigma_0 (h j : nat) : R := direct_log h j + shift m logits t.
  Definition lost_sum (h j : nat) : R := n * lost M j * exp (2 * sigma_0 h j).
  Definition sigma (h j : nat) : R := sigma_0 h j - ln (1 - lost_sum h j).

  Lemma sum_log_direct h j : sum_log M (INR h) j + (1 + t) * kappa = direct_log h j.
  Proof. unfold sum_log, direct_log, argument_floor, rescale_unit. ring. Qed.

  Lemma shift_above : is_maximum m logits -> 0 <= t -> t * mean_deviation m logits <= shift m logits t.
  Proof. intros max ht. unfold shift. pose proof (second_nonneg logits t). pose proof (pow2_ge_0 t). nra. Qed.

  (** Both sides of the computed sum, in the row's own terms. *)
  Lemma sum_between s h j :
    sum_of_row M kappa m logits s h j ->
    exp (- direct_log h j) * weighted_sum m logits (fun d => exp (- (t * d))) - exp (direct_log h j) * (n * lost M j) <= s
    <= exp (direct_log h j) * (pull (1 - t) m (items logits) + n * lost M j) /\ 0 <= kappa /\ 0 <= direct_log h j.
  Proof.
    intros [max [m' [l' [g [K [max' [conv [red [low [few none]]]]]]]]]].
    destruct (summed_state M good _ _ _ _ _ _ red) as [b state].
    apply (higher_state M good _ _ _ _ (INR h)) in state; [|exact low].
    pose proof (converted_size _ _ _ _ _ conv) as same.
    pose proof (lost_total M good _ _ _ _ _ _ _ state ltac:(rewrite same; lra) none) as small. rewrite same in small.
    destruct state as [v ab p up down _ _].
    assert (hk : 0 <= kappa) by (apply (kappa_nonneg kappa m m' logits l' conv), in_not_nil with m; apply max).
    pose proof (slope_nonneg M good) as ht. assert (ht4 : t <= / 4) by apply good.
    pose proof (sum_log_nonneg M good (INR h) j (pos_INR h)) as ha. rewrite <- sum_log_direct.
    set (a := sum_log M (INR h) j) in *. pose proof (pull_below_mass (1 - t) m' b ltac:(lra) p) as faded.
    pose proof (pull_nonneg (1 - t) m' b p). assert (hc : 0 <= (1 + t) * kappa) by nra. split; [|split; [easy|lra]].
    split.
    - eapply Rle_trans; [|apply down]. unfold fade.
      pose proof (converted_weights _ _ _ _ _ conv (proj2 max) (proj2 max') t ltac:(lra)) as weights.
      rewrite Ropp_plus_distr, exp_plus.
      assert (exp (- a) * (exp (- ((1 + t) * kappa)) * weighted_sum m logits (fun d => exp (- (t * d))))
              <= exp (- a) * weighted_sum m' l' (fun d => exp (- (t * d)))).
      { monotone. } assert (exp a * pull (1 - t) m' b <= exp (a + (1 + t) * kappa) * (n * lost M j)) by monotone.
      rewrite exp_plus in *. lra.
    - eapply Rle_trans; [apply up|]. unfold fade. rewrite pull_app.
      pose proof (converted_pull _ _ _ _ _ conv (proj2 max) (proj2 max') t ltac:(lra)) as pulls.
      pose proof (pull_nonneg (1 - t) m _ (placed_items m logits (proj2 max))). rewrite exp_plus, Rmult_assoc.
      apply Rmult_le_compat_l; [monotone|]. assert (exp kappa <= exp ((1 + t) * kappa)) by (apply exp_le; nra).
      assert (1 <= exp ((1 + t) * kappa)) by monotone.
      assert (exp kappa * pull (1 - t) m (items logits) <= exp ((1 + t) * kappa) * pull (1 - t) m (items logits))
        by monotone.
      pose proof (mass_nonneg m' b p). nra.
  Qed.

  (** Above by (3), below by Jensen; underflow relative to S >= 1. *)
  Theorem b1_sum s h j : sum_of_row M kappa m logits s h j -> lost_sum h j < 1 -> rel (sigma h j) s S.
  Proof.
    intros computed some. pose proof (row_maximum _ _ _ _ _ _ _ computed) as max.
    destruct (sum_between s h j computed) as [sides [hk hd]]. pose proof (slope_nonneg M good) as ht.
    assert (ht4 : t <= / 4) by apply good. pose proof (S_at_least_one m logits max) as S1.
    pose proof (shift_above max ht) as hmu. pose proof (mean_deviation_nonneg m logits max).
    assert (mu0 : 0 <= shift m logits t) by nra. pose proof (tilted_mass m logits max t ltac:(lra)) as heavy.
    pose proof (tilted_mass_below m logits max t) as light. unfold tilted in heavy, light.
    rewrite (weighted_sum_ext _ _ (fun d => exp (t * d) * 1) (fun d => exp (t * d))) in heavy by (intros; ring).
    rewrite (weighted_sum_ext _ _ (fun d => exp (- t * d) * 1) (fun d => exp (- (t * d)))) in light
      by (intros; rewrite Rmult_1_r; f_equal; ring).
    rewrite pull_items in sides.
    apply (rel_of_sides (direct_log h j) (shift m logits t) 0 (n * lost M j) S
             (weighted_sum m logits (fun d => exp (- (t * d)))) (weighted_sum m logits (fun d => exp (t * d))));
      try easy; try lra.
    - apply Rmult_le_pos; [apply size_nonneg|now apply lost_nonneg].
    - rewrite exp_0. lra.
    - eapply Rle_trans; [|apply light]. monotone.
  Qed.

  Theorem b1_sum_relative s h j :
    sum_of_row M kappa m logits s h j -> lost_sum h j < 1 -> Rabs (s - S) / S <= exp (sigma h j) - 1.
  Proof.
    intros computed some. pose proof (b1_sum s h j computed some) as close.
    pose proof (S_at_least_one m logits (row_maximum _ _ _ _ _ _ _ computed)).
    apply rel_absolute in close. rewrite (Rabs_right S) in close by lra.
    apply Rmult_le_reg_r with S; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
  Qed.
End B1.
