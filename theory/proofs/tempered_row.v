(** * A row at an inverse temperature, seen from its largest logit: what theory/tempered_row.hpp computes.

    With M the largest logit, D_j = beta (M - x_j) >= 0, w_j = e^(-D_j), S = sum w_j and E[f] = sum w_j f / S:

    Main results
    - [coefficient_from_weights]   alpha_j = w_j / S
    - [entropy_of_deviations]      H = ln S + E[D]
    - [variance_from_deviations]   E[D^2] - E[D]^2 = beta^2 Var(x)
    - [variance_lower_bound]       K/S E[(M - x)^2] <= Var(x) <= E[(M - x)^2], K items at the maximum

    Source: this project. *)

From softcheck Require Import softmax proposition_3_2 streaming_entropy.
Local Open Scope R_scope.

Section Row.
  Context (logits : list R) (beta M : R) (visible : logits <> []).

  Definition deviation (x : R) : R := beta * (M - x).
  Definition weight (x : R) : R := exp (- deviation x).
  Definition weight_total : R := sum (map weight logits).
  Definition average (f : R -> R) : R := sum (map (fun x => weight x * f x) logits) / weight_total.

  Lemma weight_total_pos : 0 < weight_total.
  Proof. apply sum_map_pos; [easy|]. intros. apply exp_pos. Qed.

  (** e^(beta x) = e^(beta M) w. *)
  Theorem coefficient_from_weights x : coefficient (scaled beta logits) (beta * x) = weight x / weight_total.
  Proof.
    assert (restore : forall y, exp (beta * y) = exp (beta * M) * weight y).
    { intros y. unfold weight, deviation. rewrite <- exp_plus. f_equal. ring. }
    unfold coefficient, partition_function, scaled. rewrite map_map.
    rewrite (sum_map_ext _ _ logits (fun y _ => restore y)), sum_map_mult_l, restore. fold weight_total.
    pose proof weight_total_pos. pose proof (exp_pos (beta * M)). field. lra.
  Qed.

  Lemma average_expectation f :
    average f = sum (map (fun x => coefficient (scaled beta logits) (beta * x) * f x) logits).
  Proof.
    unfold average, Rdiv. rewrite <- sum_map_mult_r. apply sum_map_ext. intros x _.
    rewrite coefficient_from_weights. unfold Rdiv. ring.
  Qed.

  (** The reference point beta M. *)
  Theorem entropy_of_deviations : entropy (scaled beta logits) = ln weight_total + average deviation.
  Proof.
    rewrite <- (reference_point (scaled beta logits) (beta * M)) by now apply map_not_nil.
    cbv zeta. unfold scaled. rewrite !map_map.
    rewrite (sum_map_ext (fun x => exp (beta * x - beta * M)) weight)
      by (intros; unfold weight, deviation; f_equal; ring).
    rewrite (sum_map_ext (fun x => (beta * x - beta * M) * exp (beta * x - beta * M))
               (fun x => - (weight x * deviation x))).
    - rewrite sum_map_opp. unfold average. fold weight_total. unfold Rdiv. ring.
    - intros x _. unfold weight, deviation. replace (- (beta * (M - x))) with (beta * x - beta * M) by ring. ring.
  Qed.

  Lemma average_one : average (fun _ => 1) = 1.
  Proof.
    unfold average. rewrite (sum_map_ext _ weight) by (intros; ring). fold weight_total.
    field. apply Rgt_not_eq, weight_total_pos.
  Qed.

  Lemma average_plus f g : average (fun x => f x + g x) = average f + average g.
  Proof.
    unfold average, Rdiv. rewrite <- Rmult_plus_distr_r, <- sum_map_plus. f_equal. apply sum_map_ext. intros. ring.
  Qed.

  Lemma average_scale c f : average (fun x => c * f x) = c * average f.
  Proof. unfold average, Rdiv. rewrite <- Rmult_assoc, <- sum_map_mult_l. f_equal. apply sum_map_ext. intros. ring. Qed.

  Lemma average_ext f g : (forall x, In x logits -> f x = g x) -> average f = average g.
  Proof. intros same. unfold average. f_equal. apply sum_map_ext. intros x inx. now rewrite same. Qed.

  (** The variance about the mean from the distances to M. *)
  Lemma variance_from_distances :
    variance_at logits beta = average (fun x => (M - x) ^ 2) - average (fun x => M - x) ^ 2.
  Proof.
    unfold variance_at. rewrite <- (average_expectation (fun x => (x - mean_at logits beta) ^ 2)).
    assert (mean : mean_at logits beta = M - average (fun x => M - x)).
    { unfold mean_at. rewrite <- (average_expectation (fun x => x)).
      rewrite (average_ext (fun x => M - x) (fun x => M * 1 + -1 * x)) by (intros; ring).
      rewrite average_plus, !average_scale, average_one. ring. }
    set (m := average (fun x => M - x)) in *.
    rewrite (average_ext (fun x => (x - mean_at logits beta) ^ 2)
               (fun x => (M - x) ^ 2 + (-2 * m * (M - x) + m ^ 2 * 1))) by (intros; rewrite mean; ring).
    rewrite !average_plus, (average_scale (-2 * m) (fun x => M - x)), (average_scale (m ^ 2) (fun _ => 1)), average_one.
    fold m. ring.
  Qed.

  Theorem variance_from_deviations :
    average (fun x => deviation x ^ 2) - average deviation ^ 2 = beta ^ 2 * variance_at logits beta.
  Proof.
    rewrite variance_from_distances. unfold deviation.
    rewrite (average_ext (fun x => (beta * (M - x)) ^ 2) (fun x => beta ^ 2 * (M - x) ^ 2)) by (intros; ring).
    rewrite (average_scale (beta ^ 2) (fun x => (M - x) ^ 2)), (average_scale beta (fun x => M - x)). ring.
  Qed.

  (** Items at the maximum have weight 1 and distance 0, so the others weigh 1 - K/S, and E[D]^2 <= (1 - K/S) E[D^2]. *)
  Theorem variance_lower_bound K rest :
    (forall x, In x logits -> x <= M) -> Permutation.Permutation logits (repeat M K ++ rest) ->
    INR K / weight_total * average (fun x => (M - x) ^ 2) <= variance_at logits beta <= average (fun x => (M - x) ^ 2).
  Proof.
    intros below order. pose proof weight_total_pos as pos. rewrite variance_from_distances. split.
    2:{ pose proof (pow2_ge_0 (average (fun x => M - x))). lra. }
    set (A := sum (map weight rest)). set (B := sum (map (fun x => weight x * (M - x)) rest)).
    set (C := sum (map (fun x => weight x * (M - x) ^ 2) rest)).
    assert (one : weight M = 1).
    { unfold weight, deviation. replace (- (beta * (M - M))) with 0 by ring. apply exp_0. }
    assert (split : forall f, sum (map f logits) = INR K * f M + sum (map f rest)).
    { intros f. rewrite (sum_map_permutation f _ _ order), map_app, sum_app. f_equal.
      clear. induction K as [|K IH]; [unfold sum; cbn; lra|]. cbn [repeat map]. rewrite S_INR. unfold sum in *.
      cbn [fold_right].
      rewrite IH. ring. }
    assert (total : weight_total = INR K + A) by (unfold weight_total; rewrite split, one; fold A; ring).
    unfold average. rewrite (split (fun x => weight x * (M - x) ^ 2)), (split (fun x => weight x * (M - x))).
    fold B C. replace (M - M) with 0 by ring.
    assert (schwarz : B * B <= A * C).
    { (* sum w (A d - B)^2 >= 0 *)
      assert (square : 0 <= sum (map (fun x => weight x * (A * (M - x) - B) ^ 2) rest)).
      { apply sum_map_nonneg. intros x _. apply Rmult_le_pos; [apply Rlt_le, exp_pos | apply pow2_ge_0]. }
      replace (sum (map (fun x => weight x * (A * (M - x) - B) ^ 2) rest)) with (A * (A * C - B * B)) in square.
      - assert (0 <= A) as [apos | azero] by (apply sum_map_nonneg; intros; apply Rlt_le, exp_pos).
        + apply Rmult_le_reg_l with A; lra.
        + assert (B = 0) as ->; [|rewrite <- azero; lra]. unfold B.
          rewrite (sum_map_ext _ (fun _ => 0)); [rewrite sum_map_const; ring|]. intros x inx.
          symmetry in azero. rewrite (sum_map_zero weight rest (fun y _ => Rlt_le _ _ (exp_pos _)) azero x inx). ring.
      - rewrite (sum_map_ext (fun x => weight x * (A * (M - x) - B) ^ 2)
          (fun x => A ^ 2 * (weight x * (M - x) ^ 2) + (-2 * A * B * (weight x * (M - x)) + B ^ 2 * weight x)))
            by (intros; ring).
        rewrite !sum_map_plus, !sum_map_mult_l. fold A B C. ring. }
    set (S := weight_total) in *. assert (INR K = S - A) as -> by lra.
    replace ((S - A) * (weight M * 0 ^ 2) + C) with C by ring.
    replace ((S - A) * (weight M * 0) + B) with B by ring.
    apply Rmult_le_reg_r with (S * S); [now apply Rmult_lt_0_compat|].
    replace ((S - A) / S * (C / S) * (S * S)) with ((S - A) * C) by (field; lra).
    replace ((C / S - (B / S) ^ 2) * (S * S)) with (C * S - B * B) by (field; lra). lra.
  Qed.
End Row.
