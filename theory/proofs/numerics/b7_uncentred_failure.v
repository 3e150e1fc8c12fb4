(** * B7: the uncentred entropy m + ln S - T / S, T = sum w x, fails as its bound says it may.

    Main results, in every binary format of p >= 4 bits, round to nearest with any rule for ties
    - [uncentred_entropy_of_five]   five equal logits x = (2^p - 1) 2^e, S and its logarithm computed without any error
                                    that matters, T added from left to right: the result is 2^e, whatever e
    - [b7_failure]                  its error is at least u |x| - ln 5: half a unit in the last place of the logits, where
                                    B7 promises a small multiple of u |x| and B6, for the centred form, nothing of x at all
    - [b7_exceeds_any]              for every bound b there is a row of five logits on which the error exceeds b

    Source: docs/tolerances.md, B7. The true entropy is ln 5 on each of these rows. *)

From Coq Require Import ZArith.
From Flocq Require Import Core.
From softcheck Require Import softmax.
Local Open Scope R_scope.

Notation two_to e := (bpow radix2 e).

Section Failure.
  Context (p : Z) (tie : Z -> bool) (bits : (4 <= p)%Z).

  Local Instance p_positive : Prec_gt_0 p.
  Proof. unfold Prec_gt_0. lia. Qed.

  Definition nearest (x : R) : R := round radix2 (FLX_exp p) (Znearest tie) x.

  (** A value within half a spacing of a multiple of it. *)
  Lemma nearest_multiple z k n :
    two_to (k - 1) <= z < two_to k -> Rabs (z - IZR n * two_to (k - p)) < / 2 * two_to (k - p) ->
    nearest z = IZR n * two_to (k - p).
  Proof.
    intros binade close. unfold nearest, round, F2R, scaled_mantissa, cexp. cbn [Fnum Fexp].
    assert (magnitude : mag radix2 z = k :> Z).
    { apply mag_unique. rewrite Rabs_right; [easy|]. pose proof (bpow_ge_0 radix2 (k - 1)). lra. }
    rewrite magnitude. unfold FLX_exp. f_equal. f_equal. apply Znearest_imp.
    pose proof (bpow_gt_0 radix2 (k - p)). 
    apply Rmult_lt_reg_r with (two_to (k - p)); [easy|].
    rewrite <- (Rabs_right (two_to (k - p))) at 1 by lra. rewrite <- Rabs_mult.
    replace ((z * two_to (- (k - p)) - IZR n) * two_to (k - p)) with (z - IZR n * two_to (k - p)); [easy|].
    rewrite Rmult_minus_distr_r, Rmult_assoc, <- bpow_plus. replace (- (k - p) + (k - p))%Z with 0%Z by ring. simpl. ring.
  Qed.

  Context (e : Z).
  Notation X := (two_to e).
  Notation P := (two_to p).

  Definition logit : R := (P - 1) * X.

  Lemma P_at_least_16 : 16 <= P.
  Proof. change 16 with (two_to 4). now apply bpow_le. Qed.

  (** In units of X: z = a X lies in [2^(i-1) P, 2^i P), whose spacing is 2^i X. *)
  Lemma nearest_in_units a n i s :
    (0 <= i)%Z -> s = two_to i -> s / 2 * P <= a -> a < s * P -> Rabs (a - IZR n * s) < s / 2 ->
    nearest (a * X) = IZR n * s * X.
  Proof.
    intros hi -> low high close. pose proof (bpow_gt_0 radix2 e) as hX.
    assert (spacing : two_to (i + p + e - p) = two_to i * X). { rewrite <- bpow_plus. f_equal. ring. }
    rewrite (nearest_multiple (a * X) (i + p + e) n); rewrite ?spacing.
    - ring.
    - assert (top : two_to (i + p + e) = two_to i * P * X) by now rewrite !bpow_plus.
      assert (bottom : two_to (i + p + e - 1) = two_to i / 2 * P * X).
      { replace (i + p + e - 1)%Z with (i + p + e + -1)%Z by ring. rewrite (bpow_plus radix2 (i + p + e) (-1)), top.
        change (two_to (-1)) with (/ 2). field. }
      rewrite top, bottom. split; [apply Rmult_le_compat_r; lra|apply Rmult_lt_compat_r; lra].
    - replace (a * X - IZR n * (two_to i * X)) with ((a - IZR n * two_to i) * X) by ring.
      rewrite Rabs_mult, (Rabs_right X) by lra. replace (/ 2 * (two_to i * X)) with (two_to i / 2 * X) by field.
      now apply Rmult_lt_compat_r.
  Qed.

  Lemma integer_power (q : Z) : (0 <= q)%Z -> IZR (2 ^ q) = two_to q.
  Proof. intros. now rewrite (IZR_Zpower radix2). Qed.

  Local Ltac in_units := pose proof P_at_least_16; try (apply Rabs_def1); lra.

  Lemma second_sum : nearest (logit + logit) = (2 * P - 2) * X.
  Proof.
    replace (logit + logit) with ((2 * P - 2) * X) by (unfold logit; ring).
    rewrite (nearest_in_units _ (2 ^ p - 1) 1 2); try lia; try easy; rewrite ?minus_IZR, ?integer_power by lia;
      [ring|in_units|in_units|in_units].
  Qed.

  Lemma third_sum : nearest ((2 * P - 2) * X + logit) = (3 * P - 4) * X.
  Proof.
    replace ((2 * P - 2) * X + logit) with ((3 * P - 3) * X) by (unfold logit; ring).
    assert (quarter : two_to (p - 2) = P / 4).
    { unfold Zminus. rewrite bpow_plus. change (two_to (-2)) with (/ 4). easy. }
    rewrite (nearest_in_units _ (3 * 2 ^ (p - 2) - 1) 2 4); try lia; try easy;
      rewrite ?minus_IZR, ?mult_IZR, ?integer_power, ?quarter by lia; [field|in_units|in_units|in_units].
  Qed.

  Lemma fourth_sum : nearest ((3 * P - 4) * X + logit) = (4 * P - 4) * X.
  Proof.
    replace ((3 * P - 4) * X + logit) with ((4 * P - 5) * X) by (unfold logit; ring).
    rewrite (nearest_in_units _ (2 ^ p - 1) 2 4); try lia; try easy; rewrite ?minus_IZR, ?integer_power by lia;
      [ring|in_units|in_units|in_units].
  Qed.

  Lemma fifth_sum : nearest ((4 * P - 4) * X + logit) = (5 * P - 8) * X.
  Proof.
    replace ((4 * P - 4) * X + logit) with ((5 * P - 5) * X) by (unfold logit; ring).
    assert (eighth : two_to (p - 3) = P / 8).
    { unfold Zminus. rewrite bpow_plus. change (two_to (-3)) with (/ 8). easy. }
    rewrite (nearest_in_units _ (5 * 2 ^ (p - 3) - 1) 3 8); try lia; try easy;
      rewrite ?minus_IZR, ?mult_IZR, ?integer_power, ?eighth by lia; [field|in_units|in_units|in_units].
  Qed.

  Lemma quotient : nearest ((5 * P - 8) * X / 5) = (P - 2) * X.
  Proof.
    replace ((5 * P - 8) * X / 5) with ((P - 8 / 5) * X) by field.
    rewrite (nearest_in_units _ (2 ^ p - 2) 0 1); try lia; try easy; rewrite ?minus_IZR, ?integer_power by lia;
      [ring|in_units|in_units|in_units].
  Qed.

  Lemma sum_with_logarithm l : 0 <= l < X / 2 -> nearest (logit + l) = logit.
  Proof.
    intros small. pose proof (bpow_gt_0 radix2 e).
    replace (logit + l) with ((P - 1 + l / X) * X) by (unfold logit; field; lra). assert (0 <= l / X < / 2).
    { split; [apply Rmult_le_pos; [lra|left; now apply Rinv_0_lt_compat]|]. apply Rmult_lt_reg_r with X; [easy|].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    rewrite (nearest_in_units _ (2 ^ p - 1) 0 1); try lia; try easy; rewrite ?minus_IZR, ?integer_power by lia;
      [unfold logit; ring|in_units|in_units|in_units].
  Qed.

  Lemma last_difference : nearest (logit - (P - 2) * X) = X.
  Proof.
    replace (logit - (P - 2) * X) with X by (unfold logit; ring).
    apply round_generic; [apply valid_rnd_N|]. apply generic_format_bpow. unfold FLX_exp. lia.
  Qed.

  (** T: the products w x = x are exact, the additions from left to right. *)
  Definition weighted_logits : R := nearest (nearest (nearest (nearest (logit + logit) + logit) + logit) + logit).

  (** m + ln S - T / S with ln S computed as l. *)
  Definition uncentred_entropy (l : R) : R := nearest (nearest (logit + l) - nearest (weighted_logits / 5)).

  (** Four additions and one division are off by one unit in the last place of the logits together. *)
  Theorem uncentred_entropy_of_five l : 0 <= l < X / 2 -> uncentred_entropy l = X.
  Proof.
    intros small. unfold uncentred_entropy, weighted_logits.
    now rewrite second_sum, third_sum, fourth_sum, fifth_sum, quotient, (sum_with_logarithm l small), last_difference.
  Qed.

  Definition five : list R := [logit; logit; logit; logit; logit].

  Lemma entropy_of_five : entropy five = ln 5.
  Proof.
    rewrite entropy_log_partition by easy.
    assert (Z5 : partition_function five = exp logit * 5) by (unfold partition_function, sum, five; simpl; ring).
    assert (mean five = logit) as ->.
    { unfold mean, expectation, coefficient. rewrite Z5. unfold sum, five. simpl.
      pose proof (exp_pos logit). field. lra. }
    rewrite Z5, ln_mult, ln_exp; [ring|apply exp_pos|lra].
  Qed.

  Definition unit_roundoff : R := two_to (- p).

  (** 2^e > u (2^p - 1) 2^e. *)
  Theorem b7_failure l :
    0 <= l < X / 2 -> unit_roundoff * Rabs logit - ln 5 <= Rabs (uncentred_entropy l - entropy five).
  Proof.
    intros small. rewrite (uncentred_entropy_of_five l small), entropy_of_five. pose proof (bpow_gt_0 radix2 e).
    pose proof P_at_least_16. assert (unit_roundoff * Rabs logit <= X).
    { unfold logit. rewrite Rabs_right by (apply Rle_ge, Rmult_le_pos; lra). unfold unit_roundoff.
      rewrite <- Rmult_assoc. rewrite <- (Rmult_1_l X) at 2. apply Rmult_le_compat_r; [lra|].
      rewrite Rmult_minus_distr_l, <- bpow_plus. replace (- p + p)%Z with 0%Z by ring.
      pose proof (bpow_ge_0 radix2 (- p)). simpl. lra. }
    pose proof (Rle_abs (X - ln 5)). lra.
  Qed.
End Failure.

(** ln 5 <= 2, and so is every computed value of it that is not far off. *)
Theorem b7_exceeds_any p tie bound :
  (4 <= p)%Z -> exists e, forall l, 0 <= l <= 2 -> bound < Rabs (uncentred_entropy p tie e l - entropy (five p e)).
Proof.
  intros bits. exists (Z.max 3 (mag radix2 (Rabs bound + 2) + 1)). intros l hl.
  set (e := Z.max 3 (mag radix2 (Rabs bound + 2) + 1)).
  assert (big : 8 <= two_to e) by (change 8 with (two_to 3); apply bpow_le; unfold e; lia).
  assert (over : Rabs bound + 2 <= two_to e).
  { pose proof (bpow_mag_gt radix2 (Rabs bound + 2)) as gt.
    rewrite Rabs_right in gt by (pose proof (Rabs_pos bound); lra).
    apply Rle_trans with (two_to (mag radix2 (Rabs bound + 2))); [lra|]. apply bpow_le. unfold e. lia. }
  rewrite (uncentred_entropy_of_five p tie bits e l) by lra. rewrite entropy_of_five. assert (ln 5 < 2).
  { apply exp_lt_inv. rewrite exp_ln by lra. pose proof (exp_ineq1 (1 / 4) ltac:(lra)).
    replace 2 with (1 / 4 + 1 / 4 + (1 / 4 + 1 / 4) + (1 / 4 + 1 / 4 + (1 / 4 + 1 / 4))) by field. rewrite !exp_plus.
    set (x := exp (1 / 4)) in *. assert (25 / 16 < x * x) by nra. assert (244 / 100 < x * x * (x * x)) by nra. nra. }
  pose proof (Rle_abs (two_to e - ln 5)). pose proof (Rle_abs bound). lra.
Qed.
