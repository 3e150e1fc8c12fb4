(** * Lemma 2.1: softmax coefficients of bounded logits are Theta(1/n).

    Main results (n items, spread of the logits at most delta, temperature theta > 0)
    - [lower], [upper]               e^(-delta/theta) / n <= alpha <= e^(delta/theta) / n       eqs (6)-(8)
    - [sharp_lower], [sharp_upper]   1/(1 + (n-1) e^(delta/theta)) <= alpha <= 1/(1 + (n-1) e^(-delta/theta))
    - [attained]                     [delta, 0, ..., 0] and its mirror reach the sharp bounds
    - [dispersion_length]            every coefficient is below eps for all such rows of n items exactly where
                                     n > 1 + e^(delta/theta) (1 - eps) / eps
    - [disperses]                    along rows of growing length every coefficient tends to 0
    - [sharp_upper_below_upper], [lower_below_sharp_lower]   the sharp bounds lie within the paper's

    Source: paper, Lemma 2.1; the sharp forms are this project's. *)

From softcheck Require Import softmax.
Local Open Scope R_scope.

Lemma exp_nonneg_ge_1 d : 0 <= d -> 1 <= exp d.
Proof. intros. rewrite <- exp_0. now apply exp_le. Qed.

Lemma exp_opp_le_1 d : 0 <= d -> exp (- d) <= 1.
Proof. intros. rewrite <- exp_0. apply exp_le. lra. Qed.

Lemma exp_opp_mult d : exp (- d) * exp d = 1.
Proof. rewrite <- exp_plus, Rplus_opp_l. apply exp_0. Qed.

(** ** The partition function of a row of spread d, seen from one of its items *)

(** All other items are at most e^d times as heavy as the item. *)
Lemma partition_at_most d logits x :
  spread_at_most d logits -> In x logits ->
  partition_function logits <= exp x * (1 + (size logits - 1) * exp d).
Proof.
  intros within inx. destruct (in_split _ _ inx) as [l1 [l2 ->]].
  unfold partition_function. rewrite map_app, sum_app. cbn [map]. unfold sum at 2. cbn [fold_right].
  fold (sum (map exp l2)).
  assert (heavy : forall l, (forall y, In y l -> In y (l1 ++ x :: l2)) ->
                            sum (map exp l) <= size l * (exp x * exp d)).
  { intros l part. rewrite <- sum_map_const. apply sum_map_le. intros y iny.
    rewrite <- exp_plus. apply exp_le. specialize (within y x (part y iny) inx). lra. }
  pose proof (heavy l1 ltac:(intros; apply in_or_app; now left)).
  pose proof (heavy l2 ltac:(intros; apply in_or_app; right; now right)).
  replace (size (l1 ++ x :: l2)) with (size l1 + size l2 + 1); [lra|].
  unfold size. rewrite app_length. cbn [length]. rewrite plus_INR, S_INR. ring.
Qed.

(** All other items are at least e^(-d) times as heavy. *)
Lemma partition_at_least d logits x :
  spread_at_most d logits -> In x logits ->
  exp x * (1 + (size logits - 1) * exp (- d)) <= partition_function logits.
Proof.
  intros within inx. destruct (in_split _ _ inx) as [l1 [l2 ->]].
  unfold partition_function. rewrite map_app, sum_app. cbn [map]. unfold sum at 2. cbn [fold_right].
  fold (sum (map exp l2)).
  assert (light : forall l, (forall y, In y l -> In y (l1 ++ x :: l2)) ->
                            size l * (exp x * exp (- d)) <= sum (map exp l)).
  { intros l part. rewrite <- sum_map_const. apply sum_map_le. intros y iny.
    rewrite <- exp_plus. apply exp_le. specialize (within x y inx (part y iny)). lra. }
  pose proof (light l1 ltac:(intros; apply in_or_app; now left)).
  pose proof (light l2 ltac:(intros; apply in_or_app; right; now right)).
  replace (size (l1 ++ x :: l2)) with (size l1 + size l2 + 1); [lra|].
  unfold size. rewrite app_length. cbn [length]. rewrite plus_INR, S_INR. ring.
Qed.

Lemma one_plus_others_pos n w : 1 <= n -> 0 < w -> 0 < 1 + (n - 1) * w.
Proof. intros. assert (0 <= (n - 1) * w) by (apply Rmult_le_pos; lra). lra. Qed.

(** e^x / Z with Z at its largest. *)
Lemma coefficient_at_least d logits x :
  spread_at_most d logits -> In x logits ->
  1 / (1 + (size logits - 1) * exp d) <= coefficient logits x.
Proof.
  intros within inx. assert (visible := in_not_nil _ _ inx).
  assert (pos : 0 < partition_function logits) by now apply partition_pos.
  assert (0 < 1 + (size logits - 1) * exp d).
  { apply one_plus_others_pos; [now apply size_at_least_one | apply exp_pos]. }
  pose proof (partition_at_most d logits x within inx).
  unfold coefficient. apply Rmult_le_reg_r with (partition_function logits); [easy|].
  replace (exp x / partition_function logits * partition_function logits) with (exp x) by (field; lra).
  apply Rmult_le_reg_r with (1 + (size logits - 1) * exp d); [easy|].
  replace (1 / (1 + (size logits - 1) * exp d) * partition_function logits * (1 + (size logits - 1) * exp d))
    with (partition_function logits) by (field; lra). easy.
Qed.

(** e^x / Z with Z at its smallest. *)
Lemma coefficient_at_most d logits x :
  spread_at_most d logits -> In x logits ->
  coefficient logits x <= 1 / (1 + (size logits - 1) * exp (- d)).
Proof.
  intros within inx. assert (visible := in_not_nil _ _ inx).
  assert (pos : 0 < partition_function logits) by now apply partition_pos.
  assert (0 < 1 + (size logits - 1) * exp (- d)).
  { apply one_plus_others_pos; [now apply size_at_least_one | apply exp_pos]. }
  pose proof (partition_at_least d logits x within inx).
  unfold coefficient. apply Rmult_le_reg_r with (partition_function logits); [easy|].
  replace (exp x / partition_function logits * partition_function logits) with (exp x) by (field; lra).
  apply Rmult_le_reg_r with (1 + (size logits - 1) * exp (- d)); [easy|].
  replace (1 / (1 + (size logits - 1) * exp (- d)) * partition_function logits
           * (1 + (size logits - 1) * exp (- d)))
    with (partition_function logits) by (field; lra). easy.
Qed.

(** ** The sharp bounds lie within those of the paper *)

(** 1 + (n-1) e^d <= n e^d since e^d >= 1. *)
Lemma lower_below_sharp_lower n d :
  1 <= n -> 0 <= d -> exp (- d) / n <= 1 / (1 + (n - 1) * exp d).
Proof.
  intros many nonneg. pose proof (exp_nonneg_ge_1 d nonneg). pose proof (exp_pos d).
  assert (0 < 1 + (n - 1) * exp d) by (apply one_plus_others_pos; [easy | apply exp_pos]).
  rewrite exp_Ropp. replace (/ exp d / n) with (1 / (n * exp d)) by (field; lra).
  unfold Rdiv. rewrite !Rmult_1_l. apply Rinv_le_contravar; [easy|]. lra.
Qed.

(** 1 + (n-1) e^(-d) >= n e^(-d) since e^(-d) <= 1. *)
Lemma sharp_upper_below_upper n d :
  1 <= n -> 0 <= d -> 1 / (1 + (n - 1) * exp (- d)) <= exp d / n.
Proof.
  intros many nonneg. pose proof (exp_opp_le_1 d nonneg). pose proof (exp_pos d). pose proof (exp_pos (- d)).
  replace (exp d / n) with (1 / (n * exp (- d))).
  - unfold Rdiv. rewrite !Rmult_1_l. apply Rinv_le_contravar; [|lra]. apply Rmult_lt_0_compat; lra.
  - rewrite exp_Ropp. field. lra.
Qed.

(** ** Lemma 2.1 *)

Section Bounds.
  Context (logits : list R) (delta theta p : R) (heated : 0 < theta) (within : spread_at_most delta logits)
    (inp : In p (softmax (tempered theta logits))).

  Let many : 1 <= size logits.
  Proof. apply size_at_least_one. intros ->. easy. Qed.

  Let nonneg : 0 <= delta / theta.
  Proof.
    apply (spread_nonneg _ (tempered theta logits)); [|now apply spread_tempered].
    intros none. now rewrite none in inp.
  Qed.

  Theorem sharp_lower : 1 / (1 + (size logits - 1) * exp (delta / theta)) <= p.
  Proof.
    destruct (in_softmax _ _ inp) as [x [inx ->]]. rewrite <- (size_tempered theta).
    apply coefficient_at_least; [now apply spread_tempered | easy].
  Qed.

  Theorem sharp_upper : p <= 1 / (1 + (size logits - 1) * exp (- (delta / theta))).
  Proof.
    destruct (in_softmax _ _ inp) as [x [inx ->]]. rewrite <- (size_tempered theta).
    apply coefficient_at_most; [now apply spread_tempered | easy].
  Qed.

  Theorem lower : exp (- (delta / theta)) / size logits <= p.
  Proof. eapply Rle_trans; [now apply lower_below_sharp_lower | apply sharp_lower]. Qed.

  Theorem upper : p <= exp (delta / theta) / size logits.
  Proof. eapply Rle_trans; [apply sharp_upper | now apply sharp_upper_below_upper]. Qed.
End Bounds.

(** ** The extremal rows *)

(** One item at [first], the others at [other]. *)
Definition two_valued_row (first other : R) (n : nat) : list R := first :: repeat other (n - 1).

Lemma sum_repeat x n : sum (repeat x n) = INR n * x.
Proof.
  induction n as [|n IH]; [unfold sum; simpl; lra|].
  cbn [repeat]. unfold sum in *. cbn [fold_right]. rewrite IH, S_INR. ring.
Qed.

Lemma map_repeat {A B} (f : A -> B) x n : map f (repeat x n) = repeat (f x) n.
Proof. induction n; simpl; congruence. Qed.

(** Dividing numerator and Z by the weight of the first item. *)
Lemma coefficient_two_valued_row first other n theta :
  (1 <= n)%nat ->
  coefficient (tempered theta (two_valued_row first other n)) (first / theta)
  = 1 / (1 + (INR n - 1) * exp ((other - first) / theta)).
Proof.
  intros many. unfold coefficient, partition_function, tempered, two_valued_row. cbn [map].
  unfold sum. cbn [fold_right]. fold (sum (map exp (map (fun x => x / theta) (repeat other (n - 1))))).
  rewrite !map_repeat, sum_repeat, minus_INR by easy. change (INR 1) with 1.
  replace (other / theta) with (first / theta + (other - first) / theta) by (unfold Rdiv; ring).
  rewrite exp_plus. pose proof (exp_pos (first / theta)).
  assert (1 <= INR n) by now apply (le_INR 1).
  assert (0 < 1 + (INR n - 1) * exp ((other - first) / theta)).
  { apply one_plus_others_pos; [easy | apply exp_pos]. }
  replace (exp (first / theta) + (INR n - 1) * (exp (first / theta) * exp ((other - first) / theta)))
    with (exp (first / theta) * (1 + (INR n - 1) * exp ((other - first) / theta))) by ring.
  field. split; lra.
Qed.

Lemma spread_two_valued_row delta n :
  0 <= delta ->
  spread_at_most delta (two_valued_row delta 0 n) /\ spread_at_most delta (two_valued_row 0 delta n).
Proof.
  intros nonneg. unfold spread_at_most, two_valued_row. cbn [In].
  split; intros x y [<- | inx] [<- | iny];
    repeat match goal with H : In _ (repeat _ _) |- _ => apply repeat_spec in H; subst end; lra.
Qed.

Lemma first_in_two_valued_row first other n theta :
  In (coefficient (tempered theta (two_valued_row first other n)) (first / theta))
     (softmax (tempered theta (two_valued_row first other n))).
Proof. unfold softmax, tempered, two_valued_row. cbn [map]. now left. Qed.

(** The first coefficient of [delta, 0, ..., 0] is the sharp upper bound, that of [0, delta, ..., delta] the lower. *)
Theorem attained n delta theta :
  (1 <= n)%nat -> 0 <= delta -> 0 < theta ->
  (spread_at_most delta (two_valued_row delta 0 n) /\
   In (1 / (1 + (INR n - 1) * exp (- (delta / theta)))) (softmax (tempered theta (two_valued_row delta 0 n)))) /\
  (spread_at_most delta (two_valued_row 0 delta n) /\
   In (1 / (1 + (INR n - 1) * exp (delta / theta))) (softmax (tempered theta (two_valued_row 0 delta n)))).
Proof.
  intros many nonneg heated. destruct (spread_two_valued_row delta n nonneg) as [spread spread'].
  split; (split; [easy|]).
  - replace (- (delta / theta)) with ((0 - delta) / theta) by (unfold Rdiv; ring).
    rewrite <- coefficient_two_valued_row by easy. apply first_in_two_valued_row.
  - replace (delta / theta) with ((delta - 0) / theta) by (unfold Rdiv; ring).
    rewrite <- coefficient_two_valued_row by easy. apply first_in_two_valued_row.
Qed.

(** ** How long a row must be *)

(** 1 + e^(delta/theta) (1 - eps) / eps: at this n the sharp upper bound equals eps. *)
Definition sharp_length (delta theta eps : R) : R := 1 + exp (delta / theta) * (1 - eps) / eps.

(** 1 < eps (1 + (n-1) e^(-d)) solved for n. *)
Lemma sharp_upper_below_iff n delta theta eps :
  1 <= n -> 0 < eps ->
  1 / (1 + (n - 1) * exp (- (delta / theta))) < eps <-> sharp_length delta theta eps < n.
Proof.
  intros many pos. set (d := delta / theta). unfold sharp_length. fold d.
  pose proof (exp_pos d). pose proof (exp_pos (- d)). pose proof (exp_opp_mult d) as inverse.
  set (denominator := 1 + (n - 1) * exp (- d)).
  assert (0 < denominator) by (apply one_plus_others_pos; [easy | apply exp_pos]).
  transitivity (1 < eps * denominator).
  - split; intros less.
    + apply (Rmult_lt_compat_r denominator) in less; [|easy].
      now replace (1 / denominator * denominator) with 1 in less by (field; lra).
    + apply Rmult_lt_reg_r with denominator; [easy|].
      now replace (1 / denominator * denominator) with 1 by (field; lra).
  - assert (key : eps * denominator - 1 = eps * exp (- d) * (n - (1 + exp d * (1 - eps) / eps))).
    { unfold denominator. transitivity (eps * exp (- d) * (n - 1) - (exp (- d) * exp d) * (1 - eps)).
      - rewrite inverse. ring.
      - field. lra. }
    assert (0 < eps * exp (- d)) by now apply Rmult_lt_0_compat.
    split; intros less.
    + apply Rmult_lt_reg_l with (eps * exp (- d)); [easy|]. lra.
    + apply (Rmult_lt_compat_l (eps * exp (- d))) in less; [lra | easy].
Qed.

(** The sharp upper bound falls with n and is attained. *)
Theorem dispersion_length n delta theta eps :
  (1 <= n)%nat -> 0 <= delta -> 0 < theta -> 0 < eps ->
  (forall logits, length logits = n -> spread_at_most delta logits ->
     forall p, In p (softmax (tempered theta logits)) -> p < eps)
  <-> sharp_length delta theta eps < INR n.
Proof.
  intros many nonneg heated pos. assert (1 <= INR n) by now apply (le_INR 1).
  rewrite <- sharp_upper_below_iff by easy. split.
  - intros small. destruct (attained n delta theta many nonneg heated) as [[spread inp] _].
    apply (small (two_valued_row delta 0 n)); [|easy|easy].
    unfold two_valued_row. cbn [length]. rewrite repeat_length. lia.
  - intros small logits long spread p inp. apply Rle_lt_trans with (2 := small).
    replace (INR n) with (size logits) by (unfold size; now rewrite long). now apply sharp_upper.
Qed.

(** In the paper's words: logits in [m, M] have coefficients in Theta(1/n), and all of them vanish as n grows. *)
Theorem disperses m M theta eps :
  0 < theta -> 0 < eps ->
  exists n0 : nat, forall logits, (length logits > n0)%nat -> (forall x, In x logits -> m <= x <= M) ->
    forall p, In p (softmax (tempered theta logits)) -> p < eps.
Proof.
  intros heated pos. set (bound := exp ((M - m) / theta) / eps).
  assert (0 < bound) by (apply Rdiv_lt_0_compat; [apply exp_pos | easy]).
  exists (Z.to_nat (up bound)). intros logits long within p inp.
  apply (upper logits (M - m) theta p heated (spread_within m M logits within)) in inp.
  apply Rle_lt_trans with (1 := inp).
  assert (bound < size logits).
  { apply Rlt_trans with (IZR (up bound)); [apply archimed|].
    assert (0 <= up bound)%Z.
    { apply le_IZR, Rlt_le. apply Rlt_trans with bound; [easy | apply archimed]. }
    unfold size. rewrite INR_IZR_INZ. apply IZR_lt. lia. }
  apply Rmult_lt_reg_r with (size logits); [lra|].
  unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  replace (exp ((M - m) / theta)) with (bound * eps) by (unfold bound; field; lra).
  rewrite Rmult_comm. now apply Rmult_lt_compat_l.
Qed.
