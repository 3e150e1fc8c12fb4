(** * B17: a coefficient of attention over a recomputed sum of exponentials, of scores that err.

    Main results, S' = S e^(m - m') the sum relative to the maximum m' as computed
    - [recomputed_sum]         |ln (S_hat / S')| <= rho = ln (1 + sum p (e^(s_j + h lambda) - 1)) - ln (1 - n lost e^(2 direct)),
                               s_j = e_j + lambda_E + R (lambda_E + lambda) + (R + 1) c + t (D_j + 2 e_max)
    - [b17_quotient]           p_hat_j = p_j e^w + loss, |w| <= s_j + rho + the quotient: numerators rescaled R times at most
    - [recomputed_logsumexp]   L_hat = m' + ln S_hat errs by y + u (|L| + y) + omega_a,
                               y = rho + E_l u (ln S + e_max + rho) + omega_a: the computed maximum cancels

    Above by the weights' own mean, below by the harmonic mean: sum p e^-s >= 1 / sum p e^s.

    Source: docs/tolerances/attention_backward.md; CoefficientLogs in numerics/rounding/rounding_attention_backward.cpp. *)

From softcheck.numerics Require Import row tilted_row reduction b1_sum b5_logsumexp b6_entropy b9_attention added_terms
  carried_exponential.
Local Open Scope R_scope.

(** 1 / y lies above its tangent at the mean. *)
Lemma harmonic_mean {A : Type} (l : list A) (w z : A -> R) :
  (forall a, In a l -> 0 <= w a) -> sum (map w l) = 1 -> 0 < sum (map (fun a => w a * exp (z a)) l) ->
  / sum (map (fun a => w a * exp (z a)) l) <= sum (map (fun a => w a * exp (- z a)) l).
Proof.
  intros nonneg total pos. set (Q := sum (map (fun a => w a * exp (z a)) l)) in *.
  apply Rle_trans with (sum (map (fun a => 2 / Q * w a + - (/ Q * / Q) * (w a * exp (z a))) l)).
  - rewrite sum_map_plus, !sum_map_mult_l, total. fold Q. right. field. lra.
  - apply sum_map_le. intros a ina.
    replace (2 / Q * w a + - (/ Q * / Q) * (w a * exp (z a))) with (w a * (2 / Q - / Q * / Q * exp (z a))) by (unfold Rdiv; ring).
    apply Rmult_le_compat_l; [now apply nonneg|]. rewrite exp_Ropp. pose proof (exp_pos (z a)) as hy. set (y := exp (z a)) in *.
    assert (square : 0 <= / y * ((y * / Q - 1) * (y * / Q - 1))).
    { apply Rmult_le_pos; [left; now apply Rinv_0_lt_compat|apply Rle_0_sqr]. }
    replace (/ y * ((y * / Q - 1) * (y * / Q - 1))) with (/ y - (2 / Q - / Q * / Q * y)) in square by (field; lra). lra.
Qed.

Section Recomputed.
  Context (M : arithmetic) (good : sound M) (keys : list key) (m m' : R).
  Notation scores := (map score keys).
  Notation computed_scores := (map computed_score keys).
  Context (max : is_maximum m scores) (max' : is_maximum m' computed_scores) (error : key -> R) (largest : R)
    (errs : forall a, In a keys -> Rabs (computed_score a - score a) <= error a /\ error a <= largest) (s : R)
    (h j : nat) (hs : sum_of_row M 0 m' computed_scores s h j).
  Notation t := (slope M).
  Notation lambda := (unit M).
  Notation S := (weight_sum m scores).
  Notation p := (weight keys m).
  Notation n := (size keys).
  Notation L := (ln (partition_function scores)).

  Definition item_log (a : key) : R := error a + carried_log M j + t * ((m - score a) + 2 * largest).
  Definition direct : R := INR h * lambda + carried_log M j.
  Definition mean_growth : R := sum (map (fun a => p a * (exp (item_log a + INR h * lambda) - 1)) keys).
  Definition recomputed_lost : R := n * lost M j * exp (2 * direct).
  Definition rho : R := ln (1 + mean_growth) - ln (1 - recomputed_lost).
  Definition shared_sum : R := S * exp (m - m').

  Hypothesis enough : recomputed_lost < 1.

  Local Ltac facts :=
    sound_facts good; pose proof (carried_nonneg M good j) as [fC fcl];
    assert (fH : 0 <= INR h * lambda) by (apply Rmult_le_pos; [apply pos_INR|easy]);
    pose proof (proj1 (S_pos keys m m' max max')) as S1; pose proof (weights_add_up keys m m' max max') as total;
    pose proof (lost_nonneg M good j) as fz;
    assert (fn : 1 <= n) by (unfold size; rewrite <- (map_length score); apply (size_at_least_one scores), (in_not_nil m), max).

  Let is_direct : direct_log M 0 h j = direct.
  Proof using. unfold direct_log, direct, carried_log, argument_floor, rescale_unit. ring. Qed.

  Lemma weight_as_score a : shared_sum * p a = exp (score a - m').
  Proof using good max max' hs.
    facts. unfold shared_sum, weight. replace (score a - m') with (- (m - score a) + (m - m')) by ring. rewrite exp_plus.
    field. lra.
  Qed.

  Lemma error_nonneg a : In a keys -> 0 <= error a <= largest.
  Proof using errs. intros ina. destruct (errs a ina). pose proof (Rabs_pos (computed_score a - score a)). lra. Qed.

  Let grown_mean : 1 + mean_growth = sum (map (fun a => p a * exp (item_log a + INR h * lambda)) keys).
  Proof using max max'.
    rewrite <- (weights_add_up keys m m' max max'). unfold mean_growth. rewrite <- sum_map_plus. apply sum_map_ext. intros. ring.
  Qed.

  Lemma item_above a : In a keys -> carried_log M j <= item_log a.
  Proof using good max max' errs hs.
    intros ina. facts. pose proof (error_nonneg a ina). pose proof (proj2 max (score a) (in_map _ _ _ ina)).
    assert (0 <= t * (m - score a + 2 * largest)) by monotone. unfold item_log. lra.
  Qed.

  Lemma direct_below_mean : exp direct <= 1 + mean_growth.
  Proof using good max max' errs hs.
    facts. rewrite grown_mean, <- (Rmult_1_l (exp direct)), <- total, <- sum_map_mult_r. apply sum_map_le. intros a ina.
    apply Rmult_le_compat_l; [left; apply (weight_pos keys m m' max max')|]. apply exp_le.
    pose proof (item_above a ina). unfold direct. lra.
  Qed.
  Let inner_sums :
    exp direct * weighted_sum m' computed_scores (fun d => exp (t * d)) <= shared_sum * (1 + mean_growth) /\
    shared_sum * / (1 + mean_growth) <= exp (- direct) * weighted_sum m' computed_scores (fun d => exp (- (t * d))).
  Proof using good max max' errs hs.
    facts. assert (Q0 : 0 < 1 + mean_growth) by (eapply Rlt_le_trans; [apply exp_pos|apply direct_below_mean]).
    assert (near : forall a, In a keys -> forall x', x' = m' - computed_score a ->
              direct + (computed_score a - score a) + t * x' <= item_log a + INR h * lambda /\
              - (item_log a + INR h * lambda) <= - direct + (computed_score a - score a) - t * x').
    { intros a ina x' ->. destruct (errs a ina) as [close _]. apply abs_between in close.
      pose proof (deviation_moved keys m m' max max' error largest errs a ina) as [d0 d1].
      assert (t * (m' - computed_score a) <= t * (m - score a + 2 * largest)) by monotone. unfold item_log, direct. lra. }
    split.
    - rewrite grown_mean, <- sum_map_mult_l. unfold weighted_sum. rewrite map_map, <- sum_map_mult_l. apply sum_map_le.
      intros a ina. rewrite <- (Rmult_assoc shared_sum), weight_as_score, <- !exp_plus. apply exp_le.
      pose proof (near a ina _ eq_refl). lra.
    - apply Rle_trans with (shared_sum * sum (map (fun a => p a * exp (- (item_log a + INR h * lambda))) keys)).
      + apply Rmult_le_compat_l; [apply Rmult_le_pos; [lra|monotone]|]. rewrite grown_mean in *. apply harmonic_mean; try easy.
        intros a _. left. apply (weight_pos keys m m' max max').
      + unfold weighted_sum. rewrite map_map, <- !sum_map_mult_l. apply sum_map_le. intros a ina.
        rewrite <- (Rmult_assoc shared_sum), weight_as_score, <- !exp_plus. apply exp_le. pose proof (near a ina _ eq_refl).
        lra.
  Qed.

  Theorem recomputed_sum : rel rho s shared_sum /\ exp (- rho) <= s.
  Proof using good max max' errs hs enough.
    facts. destruct inner_sums as [above below]. pose proof direct_below_mean as mean.
    destruct (sum_between M good 0 m' computed_scores s h j hs) as [[low high] _]. rewrite is_direct, pull_items in *.
    replace (size computed_scores) with n in * by (unfold size; now rewrite map_length).
    unfold recomputed_lost in enough. set (y := n * lost M j) in *. assert (hy : 0 <= y) by (apply Rmult_le_pos; lra).
    set (up := weighted_sum m' computed_scores (fun d => exp (t * d))) in *.
    set (down := weighted_sum m' computed_scores (fun d => exp (- (t * d)))) in *.
    assert (one : forall f, (forall x, In x computed_scores -> 0 <= f (m' - x)) -> f 0 = 1 -> 1
      <= weighted_sum m' computed_scores f).
    { intros f pos f0. unfold weighted_sum. replace 1 with ((fun x => exp (x - m') * f (m' - x)) m').
      - apply (sum_map_at_least_one (fun x => exp (x - m') * f (m' - x))); [|apply max']. intros x inx.
        apply Rmult_le_pos; [monotone|now apply pos].
      - cbv beta. rewrite Rminus_diag_eq, exp_0, f0 by easy. ring. }
    assert (U1 : 1 <= up) by (apply one; [intros; left; apply exp_pos|rewrite Rmult_0_r; apply exp_0]).
    assert (D1 : 1 <= down) by (apply one; [intros; left; apply exp_pos|rewrite Rmult_0_r, Ropp_0; apply exp_0]).
    set (z := y * exp (2 * direct)) in *. assert (d0 : 0 <= direct) by (unfold direct; lra). assert (yz : y <= z).
    { unfold z. rewrite <- (Rmult_1_r y) at 1. monotone. } set (Q := 1 + mean_growth) in *.
    assert (Q0 : 0 < Q) by (eapply Rlt_le_trans; [apply exp_pos|apply mean]).
    assert (sh : 0 < shared_sum) by (apply Rmult_lt_0_compat; [lra|apply exp_pos]).
    assert (erho : exp rho = Q * / (1 - z)).
    { unfold rho, Rminus at 1. rewrite exp_plus, exp_Ropp. unfold recomputed_lost. fold y. fold z.
      rewrite !exp_ln; [easy|lra|easy]. }
    assert (erho' : exp (- rho) = / Q * (1 - z)) by (rewrite exp_Ropp, erho; field; lra).
    assert (lowest : exp (- direct) * down * (1 - z) <= s).
    { eapply Rle_trans; [|apply low]. unfold z.
      replace (exp direct * y) with (exp (- direct) * (y * exp (2 * direct))).
      - pose proof (exp_pos (- direct)). pose proof (exp_pos (2 * direct)).
        assert (0 <= exp (- direct) * (y * exp (2 * direct))) by monotone. nra.
      - replace (exp (- direct) * (y * exp (2 * direct))) with (y * (exp (- direct) * exp (2 * direct))) by ring.
        rewrite <- exp_plus. replace (- direct + 2 * direct) with direct by ring. ring. }
    split.
    - apply rel_of_bounds; [easy|]. rewrite erho, erho'. split.
      + eapply Rle_trans; [|apply lowest]. rewrite <- Rmult_assoc. monotone.
      + eapply Rle_trans; [apply high|]. rewrite <- Rmult_assoc. apply Rle_trans with (shared_sum * Q * (1 + y)).
        * apply Rle_trans with (exp direct * up * (1 + y)); [|monotone]. rewrite Rmult_assoc.
          apply Rmult_le_compat_l; [monotone|]. nra.
        * apply Rmult_le_compat_l; [monotone|]. apply Rmult_le_reg_r with (1 - z); [lra|]. rewrite Rinv_l by lra. nra.
    - rewrite erho'. eapply Rle_trans; [|apply lowest]. apply Rmult_le_compat_r; [lra|].
      apply Rle_trans with (exp (- direct) * 1); [|apply Rmult_le_compat_l; [monotone|easy]].
      rewrite Rmult_1_r, exp_Ropp. monotone.
  Qed.
  (** ** p from a numerator that may have been stored early *)

  Context (r : R) (loses : 0 <= r) (leaves : roundoff M + r < 1).

  Definition quotient_log (a : key) : R := item_log a + rho + quotient_unit M r.
  Definition coefficient_lost : R := carried_loss M j + product_floor M.

  Lemma rho_nonneg : 0 <= rho.
  Proof using good max max' errs hs enough.
    destruct recomputed_sum as [[t0 [b0 _]] _]. pose proof (Rabs_pos t0). lra.
  Qed.

  Theorem b17_quotient a k v q :
    In a keys -> (k <= j)%nat -> carried M k (m' - computed_score a) v -> quotient_by_sum M r v s q ->
    approximates (quotient_log a) (exp (quotient_log a) * coefficient_lost) (p a) q.
  Proof using good max max' errs hs enough loses leaves.
    intros ina early num ratio. facts. pose proof (item_above a ina) as above. pose proof rho_nonneg as r0.
    destruct recomputed_sum as [close least]. destruct (rel_inv _ _ _ close) as [ts [bts inverse]].
    destruct (quotient_factor M r v s q good loses leaves ratio) as [t1 [e1 [bt1 [be1 ->]]]].
    destruct (carried_error M good k _ v num) as [_ [w [e [bw [be ->]]]]].
    destruct (carried_growing M good k j early) as [mono mono'].
    pose proof (quotient_unit_nonneg M r good loses leaves) as q0. pose proof (carried_nonneg M good k) as [_ l0].
    destruct (errs a ina) as [eps _].
    pose proof (deviation_moved keys m m' max max' error largest errs a ina) as [d0 d1].
    assert (hd : t * (m' - computed_score a) <= t * (m - score a + 2 * largest)) by monotone.
    assert (s0 : 0 < s) by (eapply Rlt_le_trans; [apply exp_pos|apply least]).
    assert (sh : 0 < shared_sum) by (apply Rmult_lt_0_compat; [lra|apply exp_pos]). assert (small : 0 < / s <= exp rho).
    { split; [monotone|]. rewrite <- (Ropp_involutive rho), exp_Ropp. monotone. }
    exists (computed_score a - score a + w + ts + t1), (e * / s * exp t1 + e1). apply abs_between in bts.
    apply abs_between in bt1. apply abs_between in bw. apply abs_between in eps. repeat split.
    - unfold quotient_log, item_log. apply Rabs_le. lra.
    - unfold coefficient_lost. triangle. rewrite Rmult_plus_distr_l. apply Rplus_le_compat.
      + rewrite !Rabs_mult, (Rabs_right (/ s)), (Rabs_right (exp t1)) by (try (left; apply exp_pos); lra).
        apply Rle_trans with (exp (carried_log M k) * carried_loss M k * exp rho * exp (quotient_unit M r)).
        * apply Rmult_le_compat; [|monotone| |monotone].
          -- monotone.
          -- monotone.
        * replace (exp (carried_log M k) * carried_loss M k * exp rho * exp (quotient_unit M r))
            with (exp (carried_log M k + rho + quotient_unit M r) * carried_loss M k) by (rewrite !exp_plus; ring).
          apply Rmult_le_compat; [monotone|easy| |easy]. apply exp_le. unfold quotient_log. lra.
      + rewrite <- (Rmult_1_l (product_floor M)) in be1. eapply Rle_trans; [apply be1|].
        apply Rmult_le_compat_r; [easy|]. apply exp_at_least_one. unfold quotient_log. lra.
    - pose proof (weight_as_score a) as as_score.
      assert (exact : exp (- (m' - computed_score a)) * / shared_sum = p a * exp (computed_score a - score a)).
      { replace (- (m' - computed_score a)) with ((score a - m') + (computed_score a - score a)) by ring.
        rewrite exp_plus, <- as_score. field. lra. }
      unfold Rdiv. rewrite Rmult_plus_distr_r, inverse.
      replace (exp (- (m' - computed_score a)) * exp w * (/ shared_sum * exp ts))
        with (exp (- (m' - computed_score a)) * / shared_sum * (exp w * exp ts)) by ring.
      rewrite exact, !exp_plus, <- inverse. ring.
  Qed.

  (** ** L from the sum and from the maximum as computed *)

  Definition recomputed_log_error : R := rho + log_error M * (ln S + largest + rho) + sum_floor M.
  Definition recomputed_logsumexp_error : R :=
    recomputed_log_error + roundoff M * (Rabs L + recomputed_log_error) + sum_floor M.

  Theorem recomputed_logsumexp y z :
    Rabs (y - ln s) <= log_error M * Rabs (ln s) + sum_floor M -> rounded_sum M (m' + y) z ->
    Rabs (z - L) <= recomputed_logsumexp_error.
  Proof using good max max' errs hs enough.
    intros hy [d [e [bd [be ->]]]]. facts. destruct recomputed_sum as [close least].
    assert (sh : 0 < shared_sum) by (apply Rmult_lt_0_compat; [lra|apply exp_pos]).
    pose proof (rel_log _ _ _ sh close) as logs. unfold shared_sum in logs.
    rewrite ln_mult, ln_exp in logs by (try apply exp_pos; lra). pose proof (ln_le 1 S ltac:(lra) S1) as lnS.
    rewrite ln_1 in lnS. assert (maxima : Rabs (m - m') <= largest).
    { destruct (proj1 (in_map_iff _ _ _) (proj1 max')) as [b [eqb inb]].
      destruct (proj1 (in_map_iff _ _ _) (proj1 max)) as [a [eqa ina]]. destruct (errs a ina) as [ca la].
      destruct (errs b inb) as [cb lb]. apply abs_between in ca. apply abs_between in cb.
      pose proof (proj2 max (score b) (in_map _ _ _ inb)).
      pose proof (proj2 max' (computed_score a) (in_map _ _ _ ina)). apply Rabs_le. lra. }
    assert (el : 0 <= log_error M) by apply good. assert (size_log : Rabs (ln s) <= ln S + largest + rho).
    { apply abs_between in logs. apply abs_between in maxima. pose proof rho_nonneg. apply Rabs_le. lra. }
    assert (log_error M * Rabs (ln s) <= log_error M * (ln S + largest + rho)) by monotone.
    unfold recomputed_logsumexp_error. replace (sum_floor M) with (0 * (1 + roundoff M) + sum_floor M) at 1 by ring.
    apply (rounded_error (roundoff M) L (m' + y) d e recomputed_log_error 0 (sum_floor M) bd be).
    rewrite (logsumexp_from_statistics m scores max). unfold recomputed_log_error. rewrite Rplus_0_r.
    replace (m' + y - (m + ln S)) with ((y - ln s) + (ln s - (ln S + (m - m')))) by ring. triangle. lra.
  Qed.
End Recomputed.
