(** * Differential attention: does a coefficient disperse?

    Main results (n items with two logits each, of spreads at most d1 and d2; the coefficient of an item is
    a = softmax(first)_i - lambda softmax(second)_i, lambda >= 0)
    - [bounds]     1/(1 + (n-1) e^d1) - lambda/(1 + (n-1) e^(-d2)) <= a <= 1/(1 + (n-1) e^(-d1)) - lambda/(1 + (n-1) e^d2):
                   every coefficient is of order 1/n
    - [share]      lambda <> 1: so is its share of the row's magnitude, abs(a) / sum abs(a_j) <=
                   (e^d1 + lambda e^d2) / (n abs(1 - lambda))
    - [half]       lambda = 1: an item that alone has a coefficient above 0 holds half of the magnitude, at every length

    Source: Ye et al., arXiv 2410.05258; the bounds are this project's. *)

From softcheck Require Import softmax lemma_2_1.
Local Open Scope R_scope.

(** Of an item with the logits (first, second). *)
Definition difference (lambda : R) (items : list (R * R)) (item : R * R) : R :=
  coefficient (map fst items) (fst item) - lambda * coefficient (map snd items) (snd item).

Definition magnitude (lambda : R) (items : list (R * R)) : R :=
  sum (map (fun item => Rabs (difference lambda items item)) items).

Lemma sum_of_differences lambda items : items <> [] -> sum (map (difference lambda items) items) = 1 - lambda.
Proof.
  intros visible. unfold difference. rewrite sum_map_minus, sum_map_mult_l.
  rewrite <- (map_map fst (coefficient (map fst items))), <- (map_map snd (coefficient (map snd items))).
  rewrite !sum_coefficients by (now destruct items). ring.
Qed.

Section Spreads.
  Context (lambda d1 d2 : R) (items : list (R * R)) (item : R * R) (nonneg : 0 <= lambda)
    (first : spread_at_most d1 (map fst items)) (second : spread_at_most d2 (map snd items)) (one : In item items).

  Let n := size items.

  Let sizes : size (map fst items) = n /\ size (map snd items) = n.
  Proof. unfold n, size. now rewrite !map_length. Qed.

  Let many : 1 <= n.
  Proof. apply size_at_least_one. now apply in_not_nil with item. Qed.

  Let p := coefficient (map fst items) (fst item).
  Let q := coefficient (map snd items) (snd item).

  Let p_bounds : 1 / (1 + (n - 1) * exp d1) <= p <= 1 / (1 + (n - 1) * exp (- d1)).
  Proof.
    rewrite <- (proj1 sizes). pose proof (in_map fst _ _ one) as there.
    split; [now apply coefficient_at_least | now apply coefficient_at_most].
  Qed.

  Let q_bounds : 1 / (1 + (n - 1) * exp d2) <= q <= 1 / (1 + (n - 1) * exp (- d2)).
  Proof.
    rewrite <- (proj2 sizes). pose proof (in_map snd _ _ one) as there.
    split; [now apply coefficient_at_least | now apply coefficient_at_most].
  Qed.

  Theorem bounds :
    1 / (1 + (size items - 1) * exp d1) - lambda * (1 / (1 + (size items - 1) * exp (- d2)))
      <= difference lambda items item
      <= 1 / (1 + (size items - 1) * exp (- d1)) - lambda * (1 / (1 + (size items - 1) * exp d2)).
  Proof.
    fold n. unfold difference. fold p q. destruct q_bounds as [low high].
    pose proof (Rmult_le_compat_l lambda _ _ nonneg low). pose proof (Rmult_le_compat_l lambda _ _ nonneg high).
    pose proof p_bounds. lra.
  Qed.

  Let spreads : 0 <= d1 /\ 0 <= d2.
  Proof.
    split; [apply (spread_nonneg _ (map fst items)) | apply (spread_nonneg _ (map snd items))]; try easy;
      intros none; apply map_eq_nil in none; now rewrite none in one.
  Qed.

  (** The magnitude is at least that of the sum, abs(1 - lambda). *)
  Theorem share :
    lambda <> 1 ->
    Rabs (difference lambda items item) / magnitude lambda items
      <= (exp d1 + lambda * exp d2) / (size items * Rabs (1 - lambda)).
  Proof.
    intros other. fold n. assert (positive : 0 < Rabs (1 - lambda)) by (apply Rabs_pos_lt; lra).
    assert (all : Rabs (1 - lambda) <= magnitude lambda items).
    { rewrite <- (sum_of_differences lambda items) by (now apply in_not_nil with item). apply sum_map_abs. }
    assert (of_one : Rabs (difference lambda items item) <= (exp d1 + lambda * exp d2) / n).
    { assert (above_p : p <= exp d1 / n)
        by (eapply Rle_trans; [apply p_bounds | now apply sharp_upper_below_upper]).
      assert (above_q : q <= exp d2 / n)
        by (eapply Rle_trans; [apply q_bounds | now apply sharp_upper_below_upper]).
      assert (0 < p /\ 0 < q) as [p_pos q_pos].
      { split; apply coefficient_pos; intros none; apply map_eq_nil in none; now rewrite none in one. }
      unfold difference. fold p q. pose proof (Rmult_le_compat_l lambda _ _ nonneg above_q).
      pose proof (Rmult_le_pos lambda q nonneg (Rlt_le _ _ q_pos)).
      replace ((exp d1 + lambda * exp d2) / n) with (exp d1 / n + lambda * (exp d2 / n)) by (field; lra).
      apply Rabs_le. lra. }
    replace ((exp d1 + lambda * exp d2) / (n * Rabs (1 - lambda)))
      with ((exp d1 + lambda * exp d2) / n * / Rabs (1 - lambda)) by (field; lra).
    apply Rmult_le_compat; [apply Rabs_pos | apply Rlt_le, Rinv_0_lt_compat; lra | easy | now apply Rinv_le_contravar].
  Qed.
End Spreads.

(** The coefficients add up to 0, so what the item has above 0 the others have below it. *)
Theorem half before item after :
  let items := before ++ item :: after in
  0 < difference 1 items item ->
  (forall other, In other (before ++ after) -> difference 1 items other <= 0) ->
  Rabs (difference 1 items item) / magnitude 1 items = 1 / 2.
Proof.
  intros items above below. pose proof (sum_of_differences 1 items) as zero. rewrite Rminus_diag_eq in zero by easy.
  specialize (zero ltac:(unfold items; now destruct before)). unfold magnitude.
  set (f := difference 1 items) in *.
  assert (parts : forall g : R * R -> R, sum (map g items) = g item + sum (map g (before ++ after))).
  { intros g. unfold items. rewrite !map_app, !sum_app. unfold sum at 2. cbn [map fold_right]. fold (sum (map g after)).
    ring. }
  rewrite (parts (fun one => Rabs (f one))). rewrite (parts f) in zero.
  rewrite (sum_map_ext (fun one => Rabs (f one)) (fun one => - f one))
    by (intros one inone; apply Rabs_left1; now apply below).
  rewrite sum_map_opp, Rabs_pos_eq by lra.
  replace (f item + - sum (map f (before ++ after))) with (2 * f item) by lra. field. lra.
Qed.

(** An item whose first logit is above the others', by however little, in a row of any length. *)
Example half_is_inhabited t k :
  0 < t ->
  let items := (t, 0) :: repeat (0, 0) (S k) in
  0 < difference 1 items (t, 0) /\ (forall other, In other (repeat (0, 0) (S k)) -> difference 1 items other <= 0).
Proof.
  intros above items. assert (large : 1 < exp t) by (rewrite <- exp_0; now apply exp_increasing).
  assert (positive : 0 < INR (S k)) by (apply lt_0_INR; lia).
  assert (sums : partition_function (map fst items) = exp t + INR (S k) /\
                 partition_function (map snd items) = 1 + INR (S k)).
  { unfold partition_function, items. rewrite !map_cons, !map_map, !map_repeat.
    unfold sum. cbn [fold_right fst snd]. fold (sum (repeat (exp 0) (S k))).
    rewrite sum_repeat, exp_0. split; ring. }
  assert (of : forall x y, difference 1 items (x, y) = exp x / (exp t + INR (S k)) - exp y / (1 + INR (S k))).
  { intros x y. unfold difference, coefficient. cbn [fst snd]. rewrite (proj1 sums), (proj2 sums). ring. }
  split.
  - rewrite of, exp_0. replace (exp t / (exp t + INR (S k)) - 1 / (1 + INR (S k)))
      with ((exp t - 1) * INR (S k) / ((exp t + INR (S k)) * (1 + INR (S k)))) by (field; lra).
    apply Rdiv_lt_0_compat; apply Rmult_lt_0_compat; lra.
  - intros other there. apply repeat_spec in there as ->. rewrite of, exp_0.
    apply Rle_minus. unfold Rdiv. rewrite !Rmult_1_l. apply Rinv_le_contravar; lra.
Qed.

(** Two items that reach both ends of [bounds]. *)
Example bounds_are_reached lambda :
  let items := [(1, 0); (0, 1)] in
  spread_at_most 1 (map fst items) /\ spread_at_most 1 (map snd items) /\
  difference lambda items (1, 0) = 1 / (1 + exp (- 1)) - lambda * (1 / (1 + exp 1)) /\
  difference lambda items (0, 1) = 1 / (1 + exp 1) - lambda * (1 / (1 + exp (- 1))).
Proof.
  assert (at_one : 1 / (1 + exp (- 1)) = exp 1 / (exp 1 + 1)).
  { replace (- 1) with (Ropp 1) by lra. rewrite exp_Ropp. pose proof (exp_pos 1). field. lra. }
  pose proof (exp_pos 1). intros items. repeat split.
  1, 2: intros x y inx iny; cbn in inx, iny; lra.
  all: unfold difference, coefficient, partition_function, items, sum; cbn [map fst snd fold_right];
    rewrite exp_0, at_one; field; lra.
Qed.
