(** * ln (1 + s) as the strict kernels compute it in double errs by 6 units at most.

    Main results, u = 2^-53
    - [quick_two_sum_64]         sum and remainder of an addition are its exact result
    - [small_logarithm]          below 1/4 the logarithm errs by 3.14 u
    - [large_logarithm]          from 1/4 on it errs by 6 u
    - [logarithm_computed]       ln (1 + s) as computed errs by 6 u of it, for s = 0 and from 2^-280 to 2^60

    Where x = 1 + s is at least 2^(1/2), the worst is at its low end, where ln x is small against the roundings of k ln 2
    and of ln m. Counted by half ulps instead of by relative errors, the same steps give about 4.1 u.
    Source: kernels/block/logarithm.hpp. *)

From Coq Require Import Reals ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN Sterbenz Pff2Flocq.
From softcheck Require Import standard_interval.
From softcheck.floating_point Require Import relative_error formats.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers strict_operations double_operations double_atanh.
Local Open Scope R_scope.

Lemma double_sum_error a b :
  number binary64 a -> number binary64 b -> Rabs (fl64 (a + b) - (a + b)) <= u64 * Rabs (a + b).
Proof. exact (error_of_sum binary64 positive_precision_64 a b). Qed.

Theorem quick_two_sum_64 a b :
  number binary64 a -> number binary64 b -> Rabs b <= Rabs a ->
  let s := fl64 (a + b) in s + fl64 (b - fl64 (s - a)) = a + b.
Proof. now apply quick_sum. Qed.

Lemma log_ratio_of_sum a : 0 <= a -> log_ratio (a / (2 + a)) = ln (1 + a).
Proof. intros pos. unfold log_ratio. f_equal. field. lra. Qed.

Lemma log_ratio_of_mantissa m : 0 < m -> log_ratio ((m - 1) / (m + 1)) = ln m.
Proof. intros pos. unfold log_ratio. f_equal. field. lra. Qed.

Lemma ln_near_one p : Rabs p <= / 2 -> Rabs (ln (1 + p) - p) <= 2 * (p * p).
Proof.
  intros small. apply Rabs_le_inv in small. pose proof (ln_below_tangent (1 + p) ltac:(lra)) as up.
  pose proof (ln_below_tangent (/ (1 + p)) ltac:(apply Rinv_0_lt_compat; lra)) as down. rewrite ln_Rinv in down by lra.
  apply Rabs_le. assert (quotient : / (1 + p) - 1 = - p + p * p * / (1 + p)) by (field; lra).
  assert (/ (1 + p) <= 2) by (replace 2 with (/ / 2) by lra; apply Rinv_le_contravar; lra). assert (0 <= p * p) by nra.
  assert (p * p * / (1 + p) <= p * p * 2) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Section Logarithm.
  Context (s : f64) (a : R) (hs : is_double s a) (range : 0 <= a <= two_to 60).

  Theorem small_logarithm :
    a < / 4 -> a = 0 \/ two_to (-280) <= a ->
    exists y, is_double (twice_atanh (quotient_64 s (add_64 (dyadic_64 2 0) s))) y /\
      Rabs (y - ln (1 + a)) <= 314 / 100 * u64 * ln (1 + a).
  Proof using hs range.
    intros small large. assert (two : is_double (dyadic_64 2 0) 2) by (apply integer_double; lia).
    assert (hp : is_double (add_64 (dyadic_64 2 0) s) (fl64 (2 + a))).
    { apply add_double; try easy. apply far_from_overflow. rewrite Rabs_right; lra. }
    pose proof (double_sum_error 2 a (double_number _ _ two) (double_number _ _ hs)) as close.
    rewrite (Rabs_right (2 + a)) in close by lra.
    destruct (atanh_of_ratio s _ a (2 + a) hs hp close ltac:(lra)) as [y [hy y_close]].
    - unfold Rdiv. rewrite Rabs_right by (apply Rle_ge, Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
      apply Rmult_le_reg_r with (2 + a); [lra|]. rewrite Rmult_assoc, Rinv_l by lra. lra.
    - destruct large as [zero|large]; [now left|right]. rewrite Rabs_right by lra.
      eapply Rle_trans; [|exact large]. apply bpow_le. lia.
    - exists y. split; [easy|]. rewrite log_ratio_of_sum in y_close by lra.
      rewrite (Rabs_right (ln (1 + a))) in y_close; [easy|]. apply Rle_ge. rewrite <- ln_1. apply ln_le; lra.
  Qed.

  Hypothesis large : / 4 <= a.
  Let high : R := if less_64 one_64 s then a else 1.
  Let low : R := if less_64 one_64 s then 1 else a.

  Let sum_range : 1 <= fl64 (1 + a) <= two_to 61.
  Proof using range large.
    split.
    - replace 1 with (fl64 1) at 1 by (apply fl_number, (double_number one_64), one_double). apply fl_monotone; [easy|lra].
    - rewrite <- (Rabs_right (fl64 (1 + a))) by (apply Rle_ge, double_nonneg; lra). apply rounded_within; [lia|].
      rewrite Rabs_right by lra. change 61%Z with (60 + 1)%Z. rewrite bpow_plus. change (two_to 1) with 2.
      assert (1 <= two_to 60) by (apply (bpow_le radix2 0); lia). lra.
  Qed.

  (** x and what 1 + s rounds away. *)
  Lemma split_sum :
    let x := add_64 one_64 s in
    is_double x (fl64 (1 + a)) /\
    is_double (sub_64 (if less_64 one_64 s then one_64 else s) (sub_64 x (if less_64 one_64 s then s else one_64)))
      (1 + a - fl64 (1 + a)) /\ Rabs (1 + a - fl64 (1 + a)) <= u64 * (1 + a).
  Proof using hs range large.
    cbv zeta. pose proof (double_number _ _ one_double) as n1. pose proof (double_number _ _ hs) as na.
    assert (wide : forall v, Rabs v <= two_to 62 -> Rabs v <= two_to 1000)
      by (intros; eapply Rle_trans; [eassumption|apply bpow_le; lia]).
    assert (top : two_to 62 = 2 * two_to 61 /\ two_to 61 = 2 * two_to 60 /\ 1 <= two_to 60).
    { change 62%Z with (61 + 1)%Z. rewrite bpow_plus. change 61%Z with (60 + 1)%Z. rewrite bpow_plus. change (two_to 1) with 2.
      split; [ring|]. split; [ring|]. apply (bpow_le radix2 0). lia. }
    assert (hx : is_double (add_64 one_64 s) (fl64 (1 + a))).
    { apply add_double; [apply one_double|easy|]. apply wide. rewrite Rabs_right; lra. }
    assert (close : Rabs (1 + a - fl64 (1 + a)) <= u64 * (1 + a)).
    { rewrite Rabs_minus_sym. pose proof (double_sum_error 1 a n1 na) as close. now rewrite (Rabs_right (1 + a)) in close by lra. }
    split; [exact hx|]. split; [|exact close]. set (x := fl64 (1 + a)) in *.
    assert (general : forall l h lv hv, is_double l lv -> is_double h hv -> lv + hv = 1 + a -> 0 <= lv <= hv ->
      is_double (sub_64 l (sub_64 (add_64 one_64 s) h)) (1 + a - x)).
    { intros l h lv hv hl hh sum order.
      pose proof (quick_two_sum_64 hv lv (double_number _ _ hh) (double_number _ _ hl)) as exact.
      rewrite !Rabs_right in exact by lra. specialize (exact ltac:(lra)). cbv zeta in exact.
      rewrite (Rplus_comm hv lv), sum in exact. fold x in exact.
      assert (d : is_double (sub_64 (add_64 one_64 s) h) (fl64 (x - hv))).
      { apply sub_double; try easy. apply wide. apply Rabs_le. lra. }
      assert (d_range : Rabs (fl64 (x - hv)) <= two_to 61).
      { apply rounded_within; [lia|]. apply Rabs_le. lra. }
      apply (double_at _ (fl64 (lv - fl64 (x - hv)))); [|lra].
      apply sub_double; try easy. apply wide. apply Rabs_le_inv in d_range. apply Rabs_le. lra. }
    destruct (less_64 one_64 s) eqn:order.
    - apply (less_double _ _ _ _ one_double hs) in order. apply (general one_64 s 1 a); try easy; try lra. apply one_double.
    - apply (not_less_double _ _ _ _ one_double hs) in order. apply (general s one_64 a 1); try easy; try lra. apply one_double.
  Qed.

  Lemma mantissa_logarithm m v :
    is_double m v -> 7071 / 10000 <= v <= 141422 / 100000 ->
    exists y, is_double (twice_atanh (quotient_64 (sub_64 m one_64) (add_64 m one_64))) y /\
      Rabs (y - ln v) <= 314 / 100 * u64 * Rabs (ln v).
  Proof using.
    intros hm v_range. pose proof (double_number _ _ one_double) as n1. pose proof (double_number _ _ hm) as nv.
    assert (hn : is_double (sub_64 m one_64) (v - 1)).
    { apply (double_at _ (fl64 (v - 1))).
      - apply sub_double; [easy|apply one_double|]. apply far_from_overflow. apply Rabs_le. lra.
      - apply fl_number. apply (@sterbenz radix2 (FLT_exp (-1074) 53)); try typeclasses eauto; try easy. lra. }
    assert (hp : is_double (add_64 m one_64) (fl64 (v + 1))).
    { apply add_double; [easy|apply one_double|]. apply far_from_overflow. apply Rabs_le. lra. }
    pose proof (double_sum_error v 1 nv n1) as close. rewrite (Rabs_right (v + 1)) in close by lra.
    destruct (atanh_of_ratio _ _ (v - 1) (v + 1) hn hp close ltac:(lra)) as [y [hy y_close]].
    - apply Rabs_le. split; apply Rmult_le_reg_r with (v + 1); try lra; unfold Rdiv; rewrite (Rmult_assoc (v - 1)), Rinv_l by lra; lra.
    - destruct (on_grid binary64 v (-1) nv) as [k grid]; [rewrite Rabs_right by lra; change (two_to (-1)) with (/ 2); lra|].
      change (-1 - prec binary64 + 1)%Z with (-53)%Z in grid.
      assert (steps : v - 1 = IZR (k - 2 ^ 53) * u64).
      { rewrite minus_IZR, Rmult_minus_distr_r, <- grid. f_equal. change (IZR (2 ^ 53)) with (two_to 53). now rewrite <- bpow_plus. }
      destruct (Z.eq_dec (k - 2 ^ 53) 0) as [none|some]; [left; rewrite steps, none; ring|right].
      rewrite steps, Rabs_mult, (Rabs_right u64) by (apply Rle_ge, bpow_ge_0).
      apply Rle_trans with (1 * u64); [rewrite Rmult_1_l; apply bpow_le; lia|]. apply Rmult_le_compat_r; [apply bpow_ge_0|].
      rewrite <- abs_IZR. apply (IZR_le 1). lia.
    - exists y. split; [easy|]. now rewrite log_ratio_of_mantissa in y_close by lra.
  Qed.

  Lemma ln_2_double : is_double (dyadic_64 0x162e42fefa39ef (-53)) (6243314768165359 * u64) /\
    Rabs (6243314768165359 * u64 - ln 2) <= 22 / 100 * u64 /\ 6931 / 10000 <= ln 2 <= 6932 / 10000.
  Proof using.
    split; [apply dyadic_double; lia|]. change u64 with (/ 9007199254740992). split; [|split].
    - interval with (Tactic.i_prec 120%positive).
    - enclose.
    - enclose.
  Qed.

  Theorem large_logarithm :
    less_64 s (dyadic_64 1 (-2)) = false ->
    exists y, is_double (logarithm_of_one_plus s) y /\ Rabs (y - ln (1 + a)) <= 6 * u64 * ln (1 + a).
  Proof using hs range large.
    intros branch. unfold logarithm_of_one_plus. rewrite branch. cbv zeta. destruct split_sum as [hx [hr r_small]].
    cbv zeta in hr. pose proof sum_range as x_range. set (x := add_64 one_64 s) in *. set (rest := sub_64 _ _) in *.
    set (X := fl64 (1 + a)) in *.
    destruct (exponent_by_bits x X (proj1 hx) (proj2 hx) x_range) as [m [fm [vm [split [k_range m_range]]]]].
    change ((word_of_f64 x - 4604544271217802189) / 2 ^ 52)%Z with (exponent_of x). set (k := exponent_of x) in *.
    change (f64_of_word (word_of_f64 x - k * 2 ^ 52)) with (mantissa_of x).
    destruct (mantissa_logarithm (mantissa_of x) m (conj fm vm) m_range) as [l [hl l_close]]. set (of_m := twice_atanh _) in *.
    destruct ln_2_double as [h2 [c_close ln2_range]]. set (c := 6243314768165359 * u64) in *. pose proof u64_range as u0.
    assert (lost : 0 < lost_64 <= / 1000 * (u64 * u64)).
    { split; [apply bpow_gt_0|].
      apply Rle_trans with (two_to (-10) * (u64 * u64)); [rewrite <- !bpow_plus; apply bpow_le; lia|].
      apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|]. cbn. lra. }
    assert (uu : 0 < u64 * u64 <= / 9000000000000000 * u64)
      by (split; [apply Rmult_lt_0_compat; lra|apply Rmult_le_compat_r; lra]).
    (* the remainder's slope *)
    set (p := (1 + a - X) / X).
    assert (ua : 0 <= u64 * (1 + a) <= / 9000000000000000 * (1 + a))
      by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
    assert (X_near : 1 + a - / 9000000000000000 * (1 + a) <= X) by (apply Rabs_le_inv in r_small; lra).
    assert (p_small : Rabs p <= 1001 / 1000 * u64).
    { unfold p, Rdiv. rewrite Rabs_mult, (Rabs_right (/ X)) by (apply Rle_ge; left; apply Rinv_0_lt_compat; lra).
      apply Rmult_le_reg_r with X; [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      assert (1001 / 1000 * u64 * (1 + a - / 9000000000000000 * (1 + a)) <= 1001 / 1000 * u64 * X)
        by (apply Rmult_le_compat_l; lra).
      lra. }
    assert (ln_p : Rabs (ln (1 + p) - p) <= 3 * (u64 * u64)).
    { eapply Rle_trans; [apply ln_near_one; lra|].
      assert (p * p = Rabs p * Rabs p) as -> by (rewrite <- Rabs_mult, Rabs_right; [ring|apply Rle_ge; nra]).
      assert (Rabs p * Rabs p <= 1001 / 1000 * u64 * (1001 / 1000 * u64)) by (apply Rmult_le_compat; auto using Rabs_pos).
      lra. }
    assert (total : ln (1 + a) = IZR k * ln 2 + ln m + ln (1 + p)).
    { assert (pos_p : 0 < 1 + p) by (apply Rabs_le_inv in p_small; lra).
      replace (1 + a) with (m * two_to k * (1 + p)) by (rewrite <- split; unfold p; field; lra).
      rewrite ln_mult; [|apply Rmult_lt_0_compat; [lra|apply bpow_gt_0]|exact pos_p]. rewrite ln_mult; [|lra|apply bpow_gt_0].
      replace (ln (two_to k)) with (IZR k * ln 2); [ring|]. rewrite (bpow_exp radix2), ln_exp. reflexivity. }
    assert (ln_m : Rabs (ln m) <= 3466 / 10000) by (apply Rabs_le; split; enclose).
    (* its rounded quotient *)
    assert (hq : is_double (quotient_64 rest x) (fl64 p)).
    { apply quotient_double; [exact hr|exact hx|lra|]. apply far_from_overflow. fold p. lra. }
    pose proof (double_error p) as q_close. set (q := fl64 p) in *.
    assert (u64 * Rabs p <= u64 * (1001 / 1000 * u64)) by (apply Rmult_le_compat_l; lra).
    (* the sum of both *)
    assert (lm : 0 <= u64 * Rabs (ln m) <= u64 * (3466 / 10000))
      by (split; [apply Rmult_le_pos; [lra|apply Rabs_pos]|apply Rmult_le_compat_l; lra]).
    assert (inner : Rabs (l + q - (ln m + p)) <= 314 / 100 * (u64 * Rabs (ln m)) + 101 / 100 * (u64 * u64)).
    { replace (l + q - (ln m + p)) with ((l - ln m) + (q - p)) by ring. triangle. lra. }
    assert (inner_size : Rabs (l + q) <= Rabs (ln m) + 3 * u64).
    { replace (l + q) with ((l + q - (ln m + p)) + (ln m + p)) by ring. triangle. pose proof (Rabs_triang (ln m) p). lra. }
    assert (hb : is_double (add_64 of_m (quotient_64 rest x)) (fl64 (l + q))).
    { apply add_double; [exact hl|exact hq|]. apply far_from_overflow. lra. } pose proof (double_error (l + q)) as b_close.
    set (b := fl64 (l + q)) in *.
    assert (u64 * Rabs (l + q) <= u64 * (Rabs (ln m) + 3 * u64)) by (apply Rmult_le_compat_l; lra).
    assert (b_near : Rabs (b - (ln m + ln (1 + p))) <= 414 / 100 * (u64 * Rabs (ln m)) + 8 * (u64 * u64)).
    { replace (b - (ln m + ln (1 + p))) with ((b - (l + q)) + ((l + q - (ln m + p)) + - (ln (1 + p) - p))) by ring. triangle.
      eapply Rle_trans; [apply Rplus_le_compat_l, Rabs_triang|]. rewrite Rabs_Ropp. lra. }
    assert (hk : is_double (dyadic_64 k 0) (IZR k)) by (apply integer_double; lia).
    assert (ln_p_size : Rabs (ln (1 + p)) <= 11 / 10 * u64).
    { replace (ln (1 + p)) with ((ln (1 + p) - p) + p) by ring. triangle. lra. }
    assert (k_real : 0 <= IZR k <= 62) by (split; apply IZR_le; lia). assert (b_size : Rabs b <= 1).
    { replace b with ((b - (ln m + ln (1 + p))) + (ln m + ln (1 + p))) by ring. triangle.
      pose proof (Rabs_triang (ln m) (ln (1 + p))). lra. }
    set (L := ln (1 + a)) in *. exists (fl64 (IZR k * c + b)). split.
    { apply fused_double; [exact hk|exact h2|exact hb|]. apply far_from_overflow. triangle.
      rewrite Rabs_mult, (Rabs_right (IZR k)) by lra. assert (Rabs c <= 1).
      { replace c with ((c - ln 2) + ln 2) by ring. triangle. rewrite (Rabs_right (ln 2)); lra. }
      assert (IZR k * Rabs c <= 62 * 1) by (apply Rmult_le_compat; try lra; apply Rabs_pos). lra. }
    destruct (Z.eq_dec k 0) as [none|some].
    - rewrite none in *. rewrite !Rmult_0_l, !Rplus_0_l in *. rewrite fl_number by (apply (double_number _ _ hb)).
      assert (L_low : 22 / 100 <= L). { unfold L. apply Rle_trans with (ln (1 + / 4)); [enclose|apply ln_le; lra]. }
      rewrite total. rewrite total in L_low. assert (Rabs (ln m) <= ln m + ln (1 + p) + 22 / 10 * u64).
      { apply Rabs_le_inv in ln_p_size. apply Rabs_le. lra. }
      assert (u64 * Rabs (ln m) <= u64 * (ln m + ln (1 + p) + 22 / 10 * u64)) by (apply Rmult_le_compat_l; lra).
      assert (u64 * (22 / 100) <= u64 * (ln m + ln (1 + p))) by (apply Rmult_le_compat_l; lra). lra.
    - assert (one : 1 <= IZR k) by (apply (IZR_le 1); lia). apply Rabs_le_inv in ln_p_size. apply Rabs_le_inv in ln_m as ln_m'.
      assert (k2 : IZR k * (6931 / 10000) <= IZR k * ln 2) by (apply Rmult_le_compat_l; lra).
      assert (L_low : 6931 / 10000 * IZR k - 3467 / 10000 <= L) by lra.
      assert (uL : u64 * (6931 / 10000 * IZR k - 3467 / 10000) <= u64 * L) by (apply Rmult_le_compat_l; lra).
      assert (uk : u64 * 1 <= u64 * IZR k) by (apply Rmult_le_compat_l; lra).
      assert (kc : Rabs (IZR k * c - IZR k * ln 2) <= 22 / 100 * (u64 * IZR k)).
      { rewrite <- Rmult_minus_distr_l, Rabs_mult, (Rabs_right (IZR k)) by lra.
        replace (22 / 100 * (u64 * IZR k)) with (IZR k * (22 / 100 * u64)) by ring. apply Rmult_le_compat_l; lra. }
      assert (near : Rabs (IZR k * c + b - L) <= 22 / 100 * (u64 * IZR k) + 1436 / 1000 * u64).
      { rewrite total.
        replace (IZR k * c + b - (IZR k * ln 2 + ln m + ln (1 + p))) with
        ((IZR k * c - IZR k * ln 2) + (b - (ln m + ln (1 + p)))) by ring.
        triangle. lra. }
      pose proof (double_error (IZR k * c + b)) as last.
      assert (size : Rabs (IZR k * c + b) <= L + (22 / 100 * (u64 * IZR k) + 1436 / 1000 * u64)).
      { replace (IZR k * c + b) with ((IZR k * c + b - L) + L) by ring. triangle. rewrite (Rabs_right L); lra. }
      assert (u64 * Rabs (IZR k * c + b)
        <= u64 * (L + (22 / 100 * (/ 9000000000000000 * 62) + 1436 / 1000 * / 9000000000000000))).
      { apply Rmult_le_compat_l; [lra|]. eapply Rle_trans; [exact size|]. apply Rplus_le_compat_l.
        assert (u64 * IZR k <= / 9000000000000000 * 62) by (apply Rmult_le_compat; lra). lra. }
      replace (fl64 (IZR k * c + b) - L) with ((fl64 (IZR k * c + b) - (IZR k * c + b)) + (IZR k * c + b - L)) by ring.
      triangle. lra.
  Qed.
End Logarithm.

Theorem logarithm_computed s a :
  is_double s a -> 0 <= a <= two_to 60 -> a = 0 \/ two_to (-280) <= a ->
  exists y, is_double (logarithm_of_one_plus s) y /\ Rabs (y - ln (1 + a)) <= 6 * u64 * ln (1 + a).
Proof.
  intros hs range large. assert (quarter : is_double (dyadic_64 1 (-2)) (/ 4)).
  { apply (double_at _ (IZR 1 * two_to (-2))); [apply dyadic_double; lia|]. change (two_to (-2)) with (/ 4). ring. }
  destruct (less_64 s (dyadic_64 1 (-2))) eqn:branch.
  - unfold logarithm_of_one_plus. rewrite branch. apply (less_double _ _ _ _ hs quarter) in branch.
    destruct (small_logarithm s a hs range branch large) as [y [hy close]]. exists y. split; [easy|].
    eapply Rle_trans; [exact close|]. apply Rmult_le_compat_r; [rewrite <- ln_1; apply ln_le; lra|].
    pose proof u64_range. lra.
  - pose proof branch as above. apply (not_less_double _ _ _ _ hs quarter) in above. now apply large_logarithm.
Qed.

(** 1 + 3 = 4: the word that the double ln 4 has, and the bound is met. *)
Example logarithm_of_three :
  is_double (dyadic_64 3 0) 3 /\ 0 <= 3 <= two_to 60 /\ (3 = 0 \/ two_to (-280) <= 3) /\
  word_of_f64 (logarithm_of_one_plus (dyadic_64 3 0)) = 0x3ff62e42fefa39ef%Z.
Proof.
  split; [apply integer_double; lia|]. split.
  - split; [lra|]. apply Rle_trans with (two_to 2); [cbn; lra|apply bpow_le; lia].
  - split; [right; apply Rle_trans with (two_to 1); [apply bpow_le; lia|cbn; lra]|]. vm_compute. reflexivity.
Qed.
