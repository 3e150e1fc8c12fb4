(** * The temperature of the strict kernels' log-sum-exp: the scale 1 / theta, and the maximum over theta.

    Main results, for a double theta from 2^-126 to 2^119
    - [scale_computed]    the scale is within two roundings of 1 / theta
    - [scaled_maximum]    the maximum over theta errs by 1.001 units of double, and the quotient of its remainder is at most
                          1.1 units
    - [logarithm_of_held_sum]   ln S in double errs by 6 units of ln s, where s is as near to 1 and the sum as
                              [held_sums] asks
    - [mean_of_held_sums]   the quotient errs by 0.6 u of binary32 of T / s, where T is value and rest of its sum and s is as
                            near to 1 and the weights' sum as [held_sums] asks

    Source: kernels/block/log_softmax.hpp. *)

From Coq Require Import Reals ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error formats.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_row strict_operations strict_exponential
  strict_weights double_operations double_atanh double_logarithm.
Local Open Scope R_scope.

(** ** Roundings of what is 0 or far from underflow *)

Lemma near_double a : a = 0 \/ two_to (-300) <= Rabs a -> Rabs (fl64 a - a) <= 1001 / 1000 * u64 * Rabs a.
Proof.
  intros [->|large]; [rewrite fl_0, Rminus_0_r, Rabs_R0; lra|].
  destruct (lost_64_small _ large) as [_ tiny]. pose proof (double_error a) as err. pose proof (Rabs_pos a).
  assert (/ 1000000000000000000000000000000000000 * Rabs a <= / 1000 * u64 * Rabs a)
    by (apply Rmult_le_compat_r; [easy|change u64 with (/ 9007199254740992); lra]). lra.
Qed.

Lemma log_unit_doubled : log_unit (3 / 2 * u32) <= INR 2 * log_unit u32.
Proof.
  pose proof u32_range as u0. unfold log_unit. cbn [INR].
  assert (square : ln ((1 - u32) * (1 - u32)) <= ln (1 - 3 / 2 * u32)) by (apply ln_le; nra).
  rewrite ln_mult in square by lra. lra.
Qed.

Section Theta.
  Context (theta : f64) (T : R) (theta_value : is_double theta T) (theta_range : two_to (-126) <= T <= two_to 119).

  Lemma inverse_range : 0 < T /\ two_to (-119) <= / T <= two_to 126.
  Proof using theta_range.
    pose proof (bpow_gt_0 radix2 (-126)). split; [lra|]. split.
    - change (-119)%Z with (- (119))%Z. rewrite bpow_opp. monotone.
    - change 126%Z with (- (-126))%Z. rewrite bpow_opp. monotone.
  Qed.

  Theorem scale_computed :
    exists unit t, is_value (scale_of theta) unit /\ two_to (-119) <= unit /\ Rabs t <= INR 2 * log_unit u32 /\ exp t * unit = / T.
  Proof using theta_value theta_range.
    destruct inverse_range as [T_pos [low high]]. pose proof (bpow_gt_0 radix2 (-119)) as low_pos. pose proof u64_range as u0.
    pose proof u32_range as v0. set (x := / T) in *. assert (same : 1 / T = x) by (unfold x, Rdiv; ring).
    assert (numbers : forall e, (-126 <= e <= 126)%Z -> number binary32 (two_to e) /\ number binary64 (two_to e)).
    { intros e range.
      assert (single : number binary32 (two_to e))
        by (apply generic_format_bpow; unfold FLT_exp; cbn [prec emin binary32]; lia).
      split; [exact single|now apply binary32_in_binary64]. }
    destruct (numbers (-119)%Z ltac:(lia)) as [n1 n2]. destruct (numbers 126%Z ltac:(lia)) as [n3 n4].
    assert (hd : is_double (quotient_64 one_64 theta) (fl64 x)).
    { rewrite <- same. apply quotient_double; [apply one_double|easy|lra|]. rewrite same, Rabs_right by lra.
      eapply Rle_trans; [exact high|apply bpow_le; lia]. }
    assert (d_range : two_to (-119) <= fl64 x <= two_to 126).
    { split; [rewrite <- (fl_number binary64 _ n2)|rewrite <- (fl_number binary64 _ n4)]; now apply fl_monotone. }
    pose proof (near_double x) as d_close. rewrite (Rabs_right x) in d_close by lra.
    specialize (d_close ltac:(right; eapply Rle_trans; [|exact low]; apply bpow_le; lia)). set (d := fl64 x) in *.
    assert (hu : is_value (scale_of theta) (fl32 d)).
    { apply narrowed_value; [exact hd|]. rewrite Rabs_right by lra.
      apply Rle_trans with (two_to 126); [easy|apply bpow_le; lia]. }
    assert (u_range : two_to (-119) <= fl32 d) by (rewrite <- (fl_number binary32 _ n1); now apply fl_monotone).
    pose proof (fl_error d) as u_close. rewrite (Rabs_right d) in u_close by lra. set (unit := fl32 d) in *.
    assert (quantum : half_quantum <= / 100 * u32 * x).
    { apply Rle_trans with (two_to (-7) * u32 * two_to (-119)); [rewrite <- !bpow_plus; apply bpow_le; lia|].
      apply Rmult_le_compat; [apply Rmult_le_pos; apply bpow_ge_0|apply bpow_ge_0| |easy].
      apply Rmult_le_compat_r; [apply bpow_ge_0|cbn; lra]. }
    assert (ux : 0 <= u64 * x <= / 1000 * (u32 * x)).
    { split; [monotone|]. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|]. change u64 with (/ 9007199254740992).
      change u32 with (/ 16777216). lra. }
    assert (vx : 0 <= u32 * x <= / 16777216 * x) by monotone. assert (moved : Rabs (unit - x) <= 3 / 2 * u32 * x).
    { apply Rabs_le_inv in d_close. assert (u32 * d <= u32 * (x + / 1000 * x)) by monotone.
      replace (unit - x) with ((unit - d) + (d - x)) by ring. triangle.
      assert (Rabs (d - x) <= 1001 / 1000 * (u64 * x)) by (apply Rabs_le; lra). lra. }
    destruct (one_rounding (3 / 2 * u32) ((unit - x) / x) ltac:(lra)) as [t [bt factor]].
    { unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ x)) by (apply Rle_ge; left; apply Rinv_0_lt_compat; lra).
      apply Rmult_le_reg_r with x; [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. exact moved. }
    exists unit, (- t). split; [exact hu|]. split; [exact u_range|]. split.
    - rewrite Rabs_Ropp. eapply Rle_trans; [exact bt|apply log_unit_doubled].
    - rewrite exp_Ropp, <- factor. field. split; [lra|]. intros zero. lra.
  Qed.

  (** m / theta as it is added: the quotient, and what its remainder gives. *)
  Theorem scaled_maximum x m :
    is_value x m ->
    let q := quotient_64 (widened x) theta in
    exists a c, is_double q a /\ is_double (quotient_64 (fused_64 (neg_64 q) theta (widened x)) theta) c /\
      Rabs (a - m / T) <= 1001 / 1000 * u64 * Rabs (m / T) /\ Rabs c <= 11 / 10 * u64 * Rabs (m / T).
  Proof using theta_value theta_range.
    intros hx q. destruct inverse_range as [T_pos [low high]]. pose proof u64_range as u0.
    pose proof (bpow_gt_0 radix2 (-119)) as low_pos. pose proof (widened_value x m hx) as hm.
    assert (m_range : Rabs m <= two_to 128) by (left; destruct hx as [_ <-]; apply (abs_B2R_lt_emax 24 128)).
    set (y := m / T). assert (y_size : Rabs y = Rabs m * / T).
    { unfold y, Rdiv. rewrite Rabs_mult, (Rabs_right (/ T)); lra. } assert (y_small : Rabs y <= two_to 254).
    { rewrite y_size. change 254%Z with (128 + 126)%Z. rewrite bpow_plus.
      apply Rmult_le_compat; try easy; [monotone|lra]. }
    assert (y_large : y = 0 \/ two_to (-268) <= Rabs y).
    { destruct (number_grid m (value_number _ _ hx)) as [n grid]. destruct (Z.eq_dec n 0) as [->|some].
      - left. unfold y. rewrite grid. unfold Rdiv. ring.
      - right. rewrite y_size. change (-268)%Z with (-149 + -119)%Z. rewrite bpow_plus.
        apply Rmult_le_compat; try apply bpow_ge_0; [|easy].
        rewrite grid, Rabs_mult, (Rabs_right (two_to (-149))) by (apply Rle_ge, bpow_ge_0).
        rewrite <- (Rmult_1_l (two_to (-149))) at 1. apply Rmult_le_compat_r; [apply bpow_ge_0|]. rewrite <- abs_IZR.
        apply (IZR_le 1). lia. }
    assert (wide : forall v, Rabs v <= two_to 400 -> Rabs v <= two_to 1000)
      by (intros; eapply Rle_trans; [eassumption|apply bpow_le; lia]).
    assert (hq : is_double q (fl64 y)).
    { apply quotient_double; [easy|easy|lra|]. apply wide. eapply Rle_trans; [exact y_small|apply bpow_le; lia]. }
    pose proof (near_double y) as q_close.
    specialize (q_close ltac:(destruct y_large as [zero|large];
      [now left|right; eapply Rle_trans; [|exact large]; apply bpow_le; lia])).
    pose proof (Rabs_pos y) as ypos. set (a := fl64 y) in *.
    assert (uy : 0 <= u64 * Rabs y <= / 9000000000000000 * Rabs y) by monotone.
    assert (back : - a * T + m = - (a - y) * T) by (unfold y; field; lra).
    assert (r_size : Rabs (- a * T + m) <= 1001 / 1000 * (u64 * Rabs m)).
    { rewrite back, Rabs_mult, Rabs_Ropp, (Rabs_right T) by lra.
      replace (u64 * Rabs m) with (u64 * Rabs y * T) by (rewrite y_size; field; lra). rewrite <- Rmult_assoc.
      monotone. }
    assert (um : 0 <= u64 * Rabs m <= / 9000000000000000 * Rabs m) by monotone.
    assert (hr : is_double (fused_64 (neg_64 q) theta (widened x)) (fl64 (- a * T + m))).
    { apply fused_double; [now apply neg_double|easy|easy|]. apply wide. eapply Rle_trans; [exact r_size|].
      apply Rle_trans with (Rabs m); [lra|]. eapply Rle_trans; [exact m_range|apply bpow_le; lia]. }
    pose proof (double_error (- a * T + m)) as r_close. set (r := fl64 (- a * T + m)) in *. exists a.
    destruct y_large as [zero|large].
    - assert (a = 0) as a0 by (unfold a; rewrite zero; apply fl_0).
      assert (r = 0) as r0 by (unfold r; rewrite back, a0, zero, Rminus_0_r, Ropp_0, Rmult_0_l; apply fl_0).
      exists (fl64 (r / T)). split; [exact hq|]. rewrite r0 in *. split; [|split; [exact q_close|]].
      + apply quotient_double; try easy; [lra|]. unfold Rdiv. rewrite Rmult_0_l, Rabs_R0. apply bpow_ge_0.
      + unfold Rdiv. rewrite Rmult_0_l, fl_0, Rabs_R0. lra.
    - assert (inner : Rabs r <= 1002 / 1000 * (u64 * Rabs m) + lost_64).
      { replace r with ((r - (- a * T + m)) + (- a * T + m)) by ring. triangle.
        assert (u64 * Rabs (- a * T + m) <= / 9000000000000000 * (1001 / 1000 * (u64 * Rabs m))) by monotone. lra. }
      assert (lost_T : 0 < lost_64 /\ lost_64 * / T <= / 1000000 * (u64 * Rabs y) /\ lost_64
        <= / 1000000 * (u64 * Rabs y)).
      { split; [apply bpow_gt_0|]. assert (room : two_to (-900) <= / 1000000 * (u64 * Rabs y)).
        { apply Rle_trans with (two_to (-20) * (u64 * two_to (-268))); [rewrite <- !bpow_plus; apply bpow_le; lia|].
          apply Rmult_le_compat; [apply bpow_ge_0|apply Rmult_le_pos; apply bpow_ge_0|cbn; lra|monotone]. }
        split; eapply Rle_trans; try exact room.
        - apply Rle_trans with (two_to (-1075) * two_to 126); [apply Rmult_le_compat_l; [apply bpow_ge_0|easy]|].
          rewrite <- bpow_plus. apply bpow_le. lia.
        - apply bpow_le. lia. }
      destruct lost_T as [l0 [l1 l2]]. assert (c_size : Rabs (r / T) <= 1003 / 1000 * (u64 * Rabs y)).
      { unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ T)) by lra. apply (Rmult_le_compat_r (/ T)) in inner; [|lra].
        rewrite Rmult_plus_distr_r, Rmult_assoc, (Rmult_assoc u64), <- y_size in inner. lra. }
      exists (fl64 (r / T)). split; [exact hq|]. split; [|split; [exact q_close|]].
      + apply quotient_double; try easy; [lra|]. apply wide. eapply Rle_trans; [exact c_size|].
        apply Rle_trans with (Rabs y); [lra|]. eapply Rle_trans; [exact y_small|apply bpow_le; lia].
      + pose proof (double_error (r / T)) as c_close.
        replace (fl64 (r / T)) with ((fl64 (r / T) - r / T) + r / T) by ring. triangle.
        assert (u64 * Rabs (r / T) <= / 9000000000000000 * (1003 / 1000 * (u64 * Rabs y))) by monotone. lra.
  Qed.
End Theta.

(** ** ln S of the strict kernels' log-sum-exp and entropy, in double, from a compensated sum.

    Source: kernels/block/entropy.hpp, logarithm_of_sum. *)

(** ln S of a state: 1 + w is as near to 1 and the compensated sum as [held_sums] asks. *)
Theorem logarithm_of_held_sum all v e :
  is_value (sum_value (weights all)) v -> is_value (sum_rest (weights all)) e ->
  0 <= v <= 4194304 -> Rabs e <= v / 40 + two_to (-120) ->
  exists s y, is_double (logarithm_of_sum all) y /\ 1 <= s <= 16777216 /\ Rabs (y - ln s) <= 6 * u64 * ln s /\
    Rabs (s - (1 + (v + e))) <= / 2 * u32 * (1 + v) /\ (v + e = 0 -> s = 1).
Proof.
  intros hv he v_range e_small. pose proof u64_range as u0. pose proof u32_range as v0.
  assert (tiny : 0 < two_to (-120) <= / 1000 * u32).
  { split; [apply bpow_gt_0|]. apply Rle_trans with (two_to (-10) * u32); [rewrite <- bpow_plus; apply bpow_le; lia|].
    apply Rmult_le_compat_r; [apply bpow_ge_0|cbn; lra]. }
  apply Rabs_le_inv in e_small as e_range. pose proof (value_number _ _ hv) as vn.
  pose proof (value_number _ _ he) as en. assert (hw : is_double (in_double (weights all)) (fl64 (v + e))).
  { apply add_double; [now apply widened_value|now apply widened_value|].
    apply Rle_trans with (two_to 24); [apply Rabs_le; change (two_to 24) with 16777216; lra|apply bpow_le; lia]. }
  pose proof (double_sum_error v e (binary32_in_binary64 _ vn) (binary32_in_binary64 _ en)) as w_close.
  set (w := fl64 (v + e)) in *. assert (zero : is_double (dyadic_64 0 0) 0) by (apply integer_double; lia).
  assert (sum_size : Rabs (v + e) <= 2 * v + two_to (-120)) by (apply Rabs_le; lra).
  assert (u64 * Rabs (v + e) <= / 1000000 * u32 * (2 * v + two_to (-120))).
  { apply Rmult_le_compat; [lra|monotone| |easy]. change u64 with (/ 9007199254740992). change u32 with (/ 16777216).
    lra. }
  assert (uv : 0 <= u32 * v <= / 16777216 * v) by monotone. assert (shift : u32 * two_to (-120) <= u32 * 1) by monotone.
  unfold logarithm_of_sum. destruct (less_64 (dyadic_64 0 0) (in_double (weights all))) eqn:positive.
  - apply (less_double _ _ _ _ zero hw) in positive. assert (w_large : two_to (-149) <= w).
    { assert (sum_pos : two_to (-149) <= v + e).
      { destruct (number_grid v vn) as [n1 g1]. destruct (number_grid e en) as [n2 g2].
        rewrite g1, g2, <- Rmult_plus_distr_r, <- plus_IZR. rewrite <- (Rmult_1_l (two_to (-149))) at 1.
        apply Rmult_le_compat_r; [apply bpow_ge_0|]. apply (IZR_le 1). assert (0 < v + e).
        { apply Rnot_le_lt. intros le. apply (fl_monotone binary64 positive_precision_64) in le.
          rewrite fl_0 in le. fold w in le. lra. }
        rewrite g1, g2, <- Rmult_plus_distr_r, <- plus_IZR in *. pose proof (bpow_gt_0 radix2 (-149)).
        assert (0 < IZR (n1 + n2)) as some by (apply Rmult_lt_reg_r with (two_to (-149)); [easy|lra]).
        apply lt_IZR in some. lia. }
      rewrite <- (fl_number binary64 (two_to (-149))); [now apply fl_monotone|]. apply generic_format_bpow.
      unfold FLT_exp. cbn [prec emin binary64]. lia. }
    assert (w_top : w <= 2 * v + 1). { apply Rabs_le_inv in w_close. apply Rabs_le_inv in sum_size. lra. }
    destruct (logarithm_computed _ w hw) as [y [hy y_close]].
    + split; [lra|]. apply Rle_trans with (two_to 24); [change (two_to 24) with 16777216; lra|apply bpow_le; lia].
    + right. eapply Rle_trans; [|exact w_large]. apply bpow_le. lia.
    + exists (1 + w), y. split; [exact hy|]. split; [lra|]. split; [exact y_close|]. split.
      * replace (1 + w - (1 + (v + e))) with (w - (v + e)) by ring. lra.
      * intros nothing. unfold w in positive. rewrite nothing, fl_0 in positive. lra.
  - apply (not_less_double _ _ _ _ zero hw) in positive.
    destruct (logarithm_computed _ 0 zero) as [y [hy y_close]]; [split; [lra|apply bpow_ge_0]|now left|].
    rewrite Rplus_0_r in y_close. exists 1, y. split; [exact hy|]. split; [lra|]. split; [exact y_close|].
    split; [|easy]. replace (1 - (1 + (v + e))) with (- (v + e)) by ring. rewrite Rabs_Ropp.
    apply Rabs_le_inv in w_close. assert (Rabs (v + e) <= 2 * two_to (-120)).
    { destruct (Rle_dec 0 (v + e)) as [pos|neg]; [|apply Rabs_le; lra]. rewrite Rabs_right in * by lra.
      assert (u64 * (v + e) <= / 2 * (v + e)) by monotone. lra. }
    lra.
Qed.

(** ** T / S of the strict kernels' entropy, in double, from two compensated sums.

    Half a rounding of s is what the logarithm's s may differ by from the quotient's: in double both differ by much less.
    Source: kernels/block/entropy.hpp, entropy_of. *)

(** Value and rest of a sum, added in double. *)
Lemma in_double_value sum v e :
  is_value (sum_value sum) v -> is_value (sum_rest sum) e -> Rabs (v + e) <= two_to 1000 ->
  exists w, is_double (in_double sum) w /\ Rabs (w - (v + e)) <= u64 * Rabs (v + e).
Proof.
  intros hv he bound. exists (fl64 (v + e)). split.
  - apply add_double; [now apply widened_value|now apply widened_value|exact bound].
  - apply double_sum_error; apply binary32_in_binary64; [now apply (value_number (sum_value sum))|now apply (value_number (sum_rest sum))].
Qed.

(** n / d, of numbers a little off y and s. *)
Lemma ratio_moved y s n d :
  1 <= s -> Rabs (n - y) <= u64 * Rabs y -> Rabs (d - s) <= 52 / 100 * u32 * s ->
  Rabs (n / d - y / s) <= 55 / 100 * u32 * Rabs (y / s) /\ 99 / 100 * s <= d.
Proof.
  intros s_low n_close d_close. pose proof u64_range as u0. pose proof u32_range as v0. pose proof (Rabs_pos y) as y0.
  assert (us : 52 / 100 * u32 * s <= / 1000000 * s) by monotone. apply Rabs_le_inv in d_close as d_range.
  assert (d_low : 999999 / 1000000 * s <= d) by lra. split; [|lra].
  assert (same : n / d - y / s = ((n - y) * s + y * (s - d)) / (d * s)) by (field; lra). assert (ds : 0 < d * s) by monotone.
  assert (target : Rabs (y / s) = Rabs y / s)
    by (unfold Rdiv; rewrite Rabs_mult, (Rabs_right (/ s)); [easy|left; apply Rinv_0_lt_compat; lra]).
  rewrite same, target. unfold Rdiv at 1. rewrite Rabs_mult, (Rabs_right (/ (d * s))) by (left; now apply Rinv_0_lt_compat).
  apply Rmult_le_reg_r with (d * s); [easy|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  replace (55 / 100 * u32 * (Rabs y / s) * (d * s)) with (55 / 100 * (u32 * Rabs y * d)) by (field; lra). triangle.
  rewrite !Rabs_mult, (Rabs_right s), (Rabs_minus_sym s d) by lra. assert (Rabs (n - y) * s <= u64 * Rabs y * s) by monotone.
  assert (Rabs y * Rabs (d - s) <= Rabs y * (52 / 100 * u32 * s)) by monotone. assert (ys : 0 <= Rabs y * s) by monotone.
  assert (u64 * (Rabs y * s) <= / 1000 * u32 * (Rabs y * s)).
  { apply Rmult_le_compat_r; [easy|]. change u64 with (/ 9007199254740992). change u32 with (/ 16777216). lra. }
  assert (0 <= u32 * (Rabs y * s)) by monotone. assert (u32 * Rabs y * (999999 / 1000000 * s) <= u32 * Rabs y * d) by monotone.
  lra.
Qed.

(** What the quotient divides by is as near to s as half a rounding and what double rounds. *)
Lemma divisor_near v e w D s :
  0 <= v <= 4194304 -> Rabs e <= v / 40 + two_to (-120) -> Rabs (w - (v + e)) <= u64 * Rabs (v + e) ->
  Rabs (D - (1 + w)) <= u64 * Rabs (1 + w) -> 1 <= s -> Rabs (s - (1 + (v + e))) <= / 2 * u32 * (1 + v) ->
  Rabs (D - s) <= 52 / 100 * u32 * s.
Proof.
  intros v_range e_small w_close D_close s_low s_close. pose proof u32_range as v0.
  assert (tiny : 0 <= two_to (-120) <= / 1000000).
  { split; [apply bpow_ge_0|]. apply Rle_trans with (two_to (-20)); [apply bpow_le; lia|cbn; lra]. }
  assert (unit_small : 0 < u64 <= / 1000 * u32) by (change u64 with (/ 9007199254740992); change u32 with (/ 16777216); lra).
  apply Rabs_le_inv in e_small as e_range. assert (sum_size : Rabs (v + e) <= 2 * (1 + v)) by (apply Rabs_le; lra).
  assert (u64 * Rabs (v + e) <= / 1000 * u32 * (2 * (1 + v))) by monotone.
  assert (uv : 0 <= u32 * (1 + v) <= / 10000000 * (1 + v)) by monotone. apply Rabs_le_inv in w_close as w_range.
  assert (w_size : Rabs (1 + w) <= 3 * (1 + v)) by (apply Rabs_le_inv in sum_size; apply Rabs_le; lra).
  assert (u64 * Rabs (1 + w) <= / 1000 * u32 * (3 * (1 + v))) by monotone.
  assert (s_size : 974 / 1000 * (1 + v) <= s) by (apply Rabs_le_inv in s_close; lra).
  assert (u32 * (974 / 1000 * (1 + v)) <= u32 * s) by monotone.
  replace (D - s) with ((D - (1 + w)) + ((w - (v + e)) + - (s - (1 + (v + e))))) by ring. triangle.
  eapply Rle_trans; [apply Rplus_le_compat_l, Rabs_triang|]. rewrite Rabs_Ropp. lra.
Qed.

Theorem mean_of_held_sums all v e x d s :
  is_value (sum_value (weights all)) v -> is_value (sum_rest (weights all)) e ->
  is_value (sum_value (deviations all)) x -> is_value (sum_rest (deviations all)) d ->
  0 <= v <= 4194304 -> Rabs e <= v / 40 + two_to (-120) -> 0 <= x <= two_to 48 -> Rabs d <= x / 40 + two_to (-120) ->
  1 <= s -> Rabs (s - (1 + (v + e))) <= / 2 * u32 * (1 + v) ->
  exists q, is_double (quotient_64 (in_double (deviations all)) (add_64 one_64 (in_double (weights all)))) q /\
    Rabs (q - (x + d) / s) <= 6 / 10 * u32 * Rabs ((x + d) / s) + half_quantum /\ Rabs q <= two_to 50.
Proof.
  intros hv he hx hd v_range e_small x_range d_small s_low s_close. pose proof u64_range as u0.
  pose proof u32_range as v0. assert (tiny : 0 <= two_to (-120) <= / 1000).
  { split; [apply bpow_ge_0|]. apply Rle_trans with (two_to (-10)); [apply bpow_le; lia|cbn; lra]. }
  apply Rabs_le_inv in e_small as e_range. apply Rabs_le_inv in d_small as d_range.
  assert (big : 281474976710656 <= two_to 48 /\ two_to 49 = 2 * two_to 48 /\ two_to 50 = 4 * two_to 48) by (cbn; lra).
  assert (y_size : Rabs (x + d) <= two_to 49) by (apply Rabs_le; lra).
  assert (wide : forall a k, (k <= 1000)%Z -> Rabs a <= two_to k -> Rabs a <= two_to 1000)
    by (intros a k le bound; eapply Rle_trans; [exact bound|now apply bpow_le]).
  destruct (in_double_value (weights all) v e hv he) as [w [hw w_close]].
  { apply (wide _ 24%Z); [lia|]. apply Rabs_le. cbn. lra. }
  destruct (in_double_value (deviations all) x d hx hd) as [n [hn n_close]]; [now apply (wide _ 49%Z)|].
  assert (w_size : Rabs (1 + w) <= two_to 24).
  { assert (u64 * Rabs (v + e) <= / 2 * 8388608). { apply Rmult_le_compat; [lra|monotone|lra|]. apply Rabs_le. lra. }
    apply Rabs_le_inv in w_close. apply Rabs_le. cbn. lra. }
  assert (hD : is_double (add_64 one_64 (in_double (weights all))) (fl64 (1 + w))).
  { apply add_double; [apply one_double|exact hw|now apply (wide _ 24%Z)]. }
  pose proof (double_sum_error 1 w (double_number _ _ one_double) (double_number _ _ hw)) as D_close.
  set (D := fl64 (1 + w)) in *.
  pose proof (divisor_near v e w D s v_range e_small w_close D_close s_low s_close) as near.
  destruct (ratio_moved (x + d) s n D s_low n_close near) as [moved D_low]. set (Y := (x + d) / s) in *.
  assert (Y_size : Rabs Y <= two_to 49).
  { unfold Y, Rdiv. rewrite Rabs_mult, <- (Rmult_1_r (two_to 49)). apply Rmult_le_compat; try apply Rabs_pos; [easy|].
    rewrite Rabs_right by (left; apply Rinv_0_lt_compat; lra). rewrite <- Rinv_1. monotone. }
  pose proof (Rabs_pos Y) as Y0. assert (vY : 0 <= u32 * Rabs Y <= / 16777216 * Rabs Y) by monotone.
  assert (ratio_size : Rabs (n / D) <= 11 / 10 * Rabs Y).
  { replace (n / D) with ((n / D - Y) + Y) by ring. triangle. lra. } exists (fl64 (n / D)). split.
  - apply quotient_double; [exact hn|exact hD|lra|]. apply (wide _ 50%Z); [lia|]. lra.
  - pose proof (double_error (n / D)) as rounded. assert (u64 * Rabs (n / D) <= / 1000 * u32 * (11 / 10 * Rabs Y)).
    { apply Rmult_le_compat; [lra|monotone| |easy]. change u64 with (/ 9007199254740992).
      change u32 with (/ 16777216). lra. }
    assert (half_quantum_64 <= half_quantum) by (apply bpow_le; lia). pose proof half_quantum_range as h0.
    assert (close : Rabs (fl64 (n / D) - Y) <= 6 / 10 * u32 * Rabs Y + half_quantum).
    { replace (fl64 (n / D) - Y) with ((fl64 (n / D) - n / D) + (n / D - Y)) by ring. triangle. lra. }
    split; [exact close|]. replace (fl64 (n / D)) with ((fl64 (n / D) - Y) + Y) by ring. triangle. lra.
Qed.
