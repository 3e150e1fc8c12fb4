(** * The temperature of the strict kernels' log-sum-exp: the scale 1 / theta, and the maximum over theta.

    Main results, for a double theta from 2^-126 to 2^119
    - [scale_computed]    the scale is within two roundings of 1 / theta
    - [scaled_maximum]    the maximum over theta errs by 1.001 units of double, and the quotient of its remainder is at most
                          1.1 units

    Source: kernels/block/log_softmax.hpp. *)

From Coq Require Import Reals ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error formats.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_row strict_operations strict_exponential strict_weights.
From softcheck.strict_kernels Require Import double_operations double_atanh.
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

(** Numbers of binary32 are multiples of 2^-149. *)
Lemma number_grid x : number binary32 x -> exists n, x = IZR n * two_to (-149).
Proof.
  intros is_number. unfold number, generic_format, F2R in is_number. cbn [Fnum Fexp] in is_number.
  set (c := cexp _ _ x) in *. assert (low : (-149 <= c)%Z) by (unfold c, cexp, FLT_exp; cbn [prec emin binary32]; lia).
  exists (Ztrunc (scaled_mantissa radix2 (FLT_exp (emin binary32) (prec binary32)) x) * 2 ^ (c - -149))%Z.
  rewrite mult_IZR, (IZR_Zpower radix2) by lia. rewrite Rmult_assoc, <- bpow_plus.
  rewrite is_number at 1. do 2 f_equal. ring.
Qed.

Section Theta.
  Context (theta : f64) (T : R).
  Hypothesis theta_value : is_double theta T.
  Hypothesis theta_range : two_to (-126) <= T <= two_to 119.

  Lemma inverse_range : 0 < T /\ two_to (-119) <= / T <= two_to 126.
  Proof using theta_range.
    pose proof (bpow_gt_0 radix2 (-126)). split; [lra|]. split.
    - change (-119)%Z with (- (119))%Z. rewrite bpow_opp. apply Rinv_le_contravar; lra.
    - change 126%Z with (- (-126))%Z. rewrite bpow_opp. apply Rinv_le_contravar; lra.
  Qed.

  Theorem scale_computed :
    exists unit t, is_value (scale_of theta) unit /\ two_to (-119) <= unit /\ Rabs t <= INR 2 * log_unit u32 /\ exp t * unit = / T.
  Proof using theta_value theta_range.
    destruct inverse_range as [T_pos [low high]]. pose proof (bpow_gt_0 radix2 (-119)) as low_pos.
    pose proof u64_range as u0. pose proof u32_range as v0. set (x := / T) in *.
    assert (same : 1 / T = x) by (unfold x, Rdiv; ring).
    assert (numbers : forall e, (-126 <= e <= 126)%Z -> number binary32 (two_to e) /\ number binary64 (two_to e)).
    { intros e range. assert (single : number binary32 (two_to e)) by (apply generic_format_bpow; unfold FLT_exp; cbn [prec emin binary32]; lia).
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
    { apply narrowed_value; [exact hd|]. rewrite Rabs_right by lra. apply Rle_trans with (two_to 126); [easy|apply bpow_le; lia]. }
    assert (u_range : two_to (-119) <= fl32 d) by (rewrite <- (fl_number binary32 _ n1); now apply fl_monotone).
    pose proof (fl_error d) as u_close. rewrite (Rabs_right d) in u_close by lra. set (unit := fl32 d) in *.
    assert (quantum : half_quantum <= / 100 * u32 * x).
    { apply Rle_trans with (two_to (-7) * u32 * two_to (-119)); [rewrite <- !bpow_plus; apply bpow_le; lia|].
      apply Rmult_le_compat; [apply Rmult_le_pos; apply bpow_ge_0|apply bpow_ge_0| |easy].
      apply Rmult_le_compat_r; [apply bpow_ge_0|cbn; lra]. }
    assert (ux : 0 <= u64 * x <= / 1000 * (u32 * x)).
    { split; [apply Rmult_le_pos; lra|]. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
      change u64 with (/ 9007199254740992). change u32 with (/ 16777216). lra. }
    assert (vx : 0 <= u32 * x <= / 16777216 * x) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
    assert (moved : Rabs (unit - x) <= 3 / 2 * u32 * x).
    { apply Rabs_le_inv in d_close. assert (u32 * d <= u32 * (x + / 1000 * x)) by (apply Rmult_le_compat_l; lra).
      replace (unit - x) with ((unit - d) + (d - x)) by ring. eapply Rle_trans; [apply Rabs_triang|].
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
    { unfold y, Rdiv. rewrite Rabs_mult, (Rabs_right (/ T)); lra. }
    assert (y_small : Rabs y <= two_to 254).
    { rewrite y_size. change 254%Z with (128 + 126)%Z. rewrite bpow_plus. apply Rmult_le_compat; try easy; [apply Rabs_pos|lra]. }
    assert (y_large : y = 0 \/ two_to (-268) <= Rabs y).
    { destruct (number_grid m (value_number _ _ hx)) as [n grid]. destruct (Z.eq_dec n 0) as [->|some].
      - left. unfold y. rewrite grid. unfold Rdiv. ring.
      - right. rewrite y_size. change (-268)%Z with (-149 + -119)%Z. rewrite bpow_plus.
        apply Rmult_le_compat; try apply bpow_ge_0; [|easy]. rewrite grid, Rabs_mult, (Rabs_right (two_to (-149))) by (apply Rle_ge, bpow_ge_0).
        rewrite <- (Rmult_1_l (two_to (-149))) at 1. apply Rmult_le_compat_r; [apply bpow_ge_0|].
        rewrite <- abs_IZR. apply (IZR_le 1). lia. }
    assert (wide : forall v, Rabs v <= two_to 400 -> Rabs v <= two_to 1000)
      by (intros; eapply Rle_trans; [eassumption|apply bpow_le; lia]).
    assert (hq : is_double q (fl64 y)).
    { apply quotient_double; [easy|easy|lra|]. apply wide. eapply Rle_trans; [exact y_small|apply bpow_le; lia]. }
    pose proof (near_double y) as q_close.
    specialize (q_close ltac:(destruct y_large as [zero|large]; [now left|right; eapply Rle_trans; [|exact large]; apply bpow_le; lia])).
    pose proof (Rabs_pos y) as ypos. set (a := fl64 y) in *.
    assert (uy : 0 <= u64 * Rabs y <= / 9000000000000000 * Rabs y) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
    assert (back : - a * T + m = - (a - y) * T) by (unfold y; field; lra).
    assert (r_size : Rabs (- a * T + m) <= 1001 / 1000 * (u64 * Rabs m)).
    { rewrite back, Rabs_mult, Rabs_Ropp, (Rabs_right T) by lra.
      replace (u64 * Rabs m) with (u64 * Rabs y * T) by (rewrite y_size; field; lra).
      rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|]. lra. }
    assert (um : 0 <= u64 * Rabs m <= / 9000000000000000 * Rabs m)
      by (split; [apply Rmult_le_pos; [lra|apply Rabs_pos]|apply Rmult_le_compat_r; [apply Rabs_pos|lra]]).
    assert (hr : is_double (fused_64 (neg_64 q) theta (widened x)) (fl64 (- a * T + m))).
    { apply fused_double; [now apply neg_double|easy|easy|]. apply wide. eapply Rle_trans; [exact r_size|].
      apply Rle_trans with (Rabs m); [lra|]. eapply Rle_trans; [exact m_range|apply bpow_le; lia]. }
    pose proof (double_error (- a * T + m)) as r_close. set (r := fl64 (- a * T + m)) in *.
    exists a. destruct y_large as [zero|large].
    - assert (a = 0) as a0 by (unfold a; rewrite zero; apply fl_0).
      assert (r = 0) as r0 by (unfold r; rewrite back, a0, zero, Rminus_0_r, Ropp_0, Rmult_0_l; apply fl_0).
      exists (fl64 (r / T)). split; [exact hq|]. rewrite r0 in *. split; [|split; [exact q_close|]].
      + apply quotient_double; try easy; [lra|]. unfold Rdiv. rewrite Rmult_0_l, Rabs_R0. apply bpow_ge_0.
      + unfold Rdiv. rewrite Rmult_0_l, fl_0, Rabs_R0. lra.
    - assert (inner : Rabs r <= 1002 / 1000 * (u64 * Rabs m) + lost_64).
      { replace r with ((r - (- a * T + m)) + (- a * T + m)) by ring. eapply Rle_trans; [apply Rabs_triang|].
        assert (u64 * Rabs (- a * T + m) <= / 9000000000000000 * (1001 / 1000 * (u64 * Rabs m)))
          by (apply Rmult_le_compat; try lra; apply Rabs_pos). lra. }
      assert (lost_T : 0 < lost_64 /\ lost_64 * / T <= / 1000000 * (u64 * Rabs y) /\ lost_64 <= / 1000000 * (u64 * Rabs y)).
      { split; [apply bpow_gt_0|].
        assert (room : two_to (-900) <= / 1000000 * (u64 * Rabs y)).
        { apply Rle_trans with (two_to (-20) * (u64 * two_to (-268))); [rewrite <- !bpow_plus; apply bpow_le; lia|].
          apply Rmult_le_compat; [apply bpow_ge_0|apply Rmult_le_pos; apply bpow_ge_0|cbn; lra|apply Rmult_le_compat_l; lra]. }
        split; eapply Rle_trans; try exact room.
        - apply Rle_trans with (two_to (-1075) * two_to 126); [apply Rmult_le_compat_l; [apply bpow_ge_0|easy]|].
          rewrite <- bpow_plus. apply bpow_le. lia.
        - apply bpow_le. lia. }
      destruct lost_T as [l0 [l1 l2]].
      assert (c_size : Rabs (r / T) <= 1003 / 1000 * (u64 * Rabs y)).
      { unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ T)) by lra. apply (Rmult_le_compat_r (/ T)) in inner; [|lra].
        rewrite Rmult_plus_distr_r, Rmult_assoc, (Rmult_assoc u64), <- y_size in inner. lra. }
      exists (fl64 (r / T)). split; [exact hq|]. split; [|split; [exact q_close|]].
      + apply quotient_double; try easy; [lra|]. apply wide. eapply Rle_trans; [exact c_size|].
        apply Rle_trans with (Rabs y); [lra|]. eapply Rle_trans; [exact y_small|apply bpow_le; lia].
      + pose proof (double_error (r / T)) as c_close. replace (fl64 (r / T)) with ((fl64 (r / T) - r / T) + r / T) by ring.
        eapply Rle_trans; [apply Rabs_triang|].
        assert (u64 * Rabs (r / T) <= / 9000000000000000 * (1003 / 1000 * (u64 * Rabs y)))
          by (apply Rmult_le_compat; try lra; apply Rabs_pos). lra.
  Qed.
End Theta.
