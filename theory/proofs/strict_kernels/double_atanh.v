(** * 2 atanh of a quotient as the strict kernels compute it in double.

    Main results, u = 2^-53
    - [series_computed]         the series errs by at most u
    - [twice_atanh_computed]    2 atanh z, |z| <= 172 / 1000, errs by 1.07 u of it
    - [atanh_of_ratio]          2 atanh (n / p), where p is rounded and so is the quotient, errs by 3.14 u
    - [log_ratio_between]   its slope lies between 2 and 2.062
    - [series_error]        2 z (1 + z^2 (1/3 + ... + z^20 / 23)) errs by at most 10^-18 |z|

    Source: kernels/block/logarithm.hpp. *)

From Coq Require Import Reals ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN Mult_error.
From Coquelicot Require Import Coquelicot.
From softcheck.floating_point Require Import relative_error formats.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers strict_operations double_operations.
Local Open Scope R_scope.

(** ** ln ((1 + z) / (1 - z)) = 2 atanh z for |z| <= 172 / 1000, and the series that the strict kernels cut off.

    Source: kernels/block/logarithm.hpp, atanh_series. *)

(** 2 atanh z. *)
Definition log_ratio (z : R) : R := ln ((1 + z) / (1 - z)).

(** 1/(2 i + 1) + t (1/(2 i + 3) + ... ), [terms] more of them. *)
Fixpoint exact_series (i terms : nat) (t : R) : R :=
  let coefficient := / IZR (2 * Z.of_nat i + 1) in
  match terms with
  | O => coefficient
  | S fewer => exact_series (S i) fewer t * t + coefficient
  end.

Definition cut_ratio (z : R) : R := 2 * z + 2 * z * (z * z) * exact_series 1 10 (z * z).

Lemma log_ratio_0 : log_ratio 0 = 0.
Proof. unfold log_ratio. replace ((1 + 0) / (1 - 0)) with 1 by field. apply ln_1. Qed.

Lemma log_ratio_derives z : Rabs z <= 172 / 1000 -> is_derive log_ratio z (2 / (1 - z * z)).
Proof.
  intros small. apply Rabs_le_between in small. unfold log_ratio. auto_derive.
  - split; [lra|]. split; [|easy]. monotone.
  - field. repeat split; try lra. nra.
Qed.

Lemma inside_range a b c : Rabs a <= 172 / 1000 -> Rabs b <= 172 / 1000 -> Rmin a b <= c <= Rmax a b -> Rabs c <= 172 / 1000.
Proof.
  intros ha hb range. apply Rabs_le_between in ha, hb. apply Rabs_le_between. split.
  - apply Rle_trans with (Rmin a b); [|easy]. apply Rmin_glb; lra.
  - apply Rle_trans with (Rmax a b); [easy|]. apply Rmax_lub; lra.
Qed.

Theorem log_ratio_between a b :
  Rabs a <= 172 / 1000 -> Rabs b <= 172 / 1000 ->
  2 * Rabs (b - a) <= Rabs (log_ratio b - log_ratio a) <= 2062 / 1000 * Rabs (b - a).
Proof.
  intros ha hb. destruct (MVT_gen log_ratio a b (fun z => 2 / (1 - z * z))) as [c [range ->]].
  - intros z range. apply log_ratio_derives. apply (inside_range a b); try easy. lra.
  - intros z range. apply continuity_pt_filterlim, (ex_derive_continuous log_ratio). exists (2 / (1 - z * z)).
    apply log_ratio_derives. now apply (inside_range a b).
  - pose proof (inside_range a b c ha hb range) as small. apply Rabs_le_between in small.
    assert (square : 0 <= c * c <= 29584 / 1000000) by nra. assert (slope : 2 <= 2 / (1 - c * c) <= 2062 / 1000).
    { split.
      - apply Rmult_le_reg_r with (1 - c * c); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
      - apply Rmult_le_reg_r with (1 - c * c); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    rewrite Rabs_mult, (Rabs_right (2 / (1 - c * c))) by lra. pose proof (Rabs_pos (b - a)). monotone.
Qed.

Lemma log_ratio_size z : Rabs z <= 172 / 1000 -> 2 * Rabs z <= Rabs (log_ratio z) <= 2062 / 1000 * Rabs z.
Proof.
  intros small. pose proof (log_ratio_between 0 z ltac:(rewrite Rabs_R0; lra) small) as range.
  now rewrite log_ratio_0, !Rminus_0_r in range.
Qed.

Theorem series_error z : Rabs z <= 172 / 1000 -> Rabs (cut_ratio z - log_ratio z) <= / 1000000000000000000 * Rabs z.
Proof.
  intros small. pose (f := fun z => cut_ratio z - log_ratio z). pose (df := fun z => - (2 * z ^ 24 / (1 - z * z))).
  assert (derives : forall c, Rabs c <= 172 / 1000 -> is_derive f c (df c)).
  { intros c range. unfold f. replace (df c) with (minus (2 * (1 - c ^ 24) / (1 - c * c)) (2 / (1 - c * c))).
    - apply @is_derive_minus; [|now apply log_ratio_derives]. apply Rabs_le_between in range.
      assert (0 <= c * c <= 29584 / 1000000) by nra. unfold cut_ratio.
      cbn [exact_series Z.of_nat Z.mul Z.add Pos.mul Pos.add Pos.of_succ_nat Pos.succ]. auto_derive; [easy|]. field.
      lra.
    - apply Rabs_le_between in range. assert (0 <= c * c <= 29584 / 1000000) by nra. unfold df, minus, plus, opp.
      cbn -[pow]. field. lra. }
  destruct (MVT_gen f 0 z df) as [c [range eq]].
  - intros c range. apply derives. apply (inside_range 0 z); try easy; [rewrite Rabs_R0; lra|lra].
  - intros c range. apply continuity_pt_filterlim, (ex_derive_continuous f). exists (df c). apply derives.
    apply (inside_range 0 z); try easy. rewrite Rabs_R0; lra.
  - assert (zero : f 0 = 0) by (unfold f, cut_ratio; rewrite log_ratio_0; ring). rewrite zero, !Rminus_0_r in eq.
    change (f z) with (cut_ratio z - log_ratio z) in eq. rewrite eq, Rabs_mult. apply Rmult_le_compat_r; [monotone|].
    pose proof (inside_range 0 z c ltac:(rewrite Rabs_R0; lra) small range) as within. clear - within.
    apply Rabs_le_between in within. unfold df. rewrite Rabs_Ropp.
    assert (square : 0 <= c * c <= 29584 / 1000000) by nra. set (t := c * c) in *.
    replace (c ^ 24) with (t ^ 12) by (unfold t; ring).
    rewrite Rabs_right; [|apply Rle_ge, Rmult_le_pos; [apply Rmult_le_pos; [lra|apply pow_le; lra]|monotone]].
    assert (power : t ^ 12 <= (29584 / 1000000) ^ 12) by (apply pow_incr; lra).
    apply Rmult_le_reg_r with (1 - t); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** An underflow takes nothing that counts. *)
Notation lost_64 := half_quantum_64.

Lemma lost_64_small x : two_to (-300) <= x -> 0 < lost_64 <= / 1000000000000000000000000000000000000 * x.
Proof.
  intros large. pose proof half_quantum_64_range as h0. split; [easy|].
  apply Rle_trans with (two_to (-122) * two_to (-300)).
  - rewrite <- bpow_plus. apply bpow_le. lia.
  - apply Rmult_le_compat; try apply bpow_ge_0; [|easy]. cbn. lra.
Qed.

Lemma u64_lost : 0 < lost_64 <= / 1000000000 * u64.
Proof.
  pose proof half_quantum_64_range as h0. split; [easy|].
  apply Rle_trans with (two_to (-30) * u64); [rewrite <- bpow_plus; apply bpow_le; lia|].
  apply Rmult_le_compat_r; [apply bpow_ge_0|]. cbn. lra.
Qed.

Lemma far_from_overflow x : Rabs x <= 1000 -> Rabs x <= two_to 1000.
Proof. intros small. apply Rle_trans with (two_to 10); [cbn; lra|apply bpow_le; lia]. Qed.

Lemma doubled_number a : number binary64 a -> two_to (-300) <= Rabs a -> fl64 (2 * a) = 2 * a.
Proof.
  intros is_number large. apply fl_number. replace (2 * a) with (a * two_to 1) by (change (two_to 1) with 2; ring).
  apply (mult_bpow_exact_FLT radix2 (-1074) 53); [easy|]. pose proof (mag_ge_bpow radix2 a (-299) large). lia.
Qed.

Lemma exact_series_range terms : forall i t,
  (1 <= i)%nat -> 0 <= t <= 29584 / 1000000 -> 0 < exact_series i terms t <= 35 / 100.
Proof.
  induction terms as [|fewer IH]; intros i t one range.
  - cbn [exact_series]. assert (3 <= IZR (2 * Z.of_nat i + 1)) by (apply (IZR_le 3); lia). split; [monotone|].
    apply Rle_trans with (/ 3); [monotone|lra].
  - cbn [exact_series]. assert (3 <= IZR (2 * Z.of_nat i + 1)) by (apply (IZR_le 3); lia).
    assert (0 < / IZR (2 * Z.of_nat i + 1) <= / 3) by monotone. destruct (IH (S i) t ltac:(lia) range) as [low high].
    assert (0 <= exact_series (S i) fewer t * t <= 35 / 100 * (29584 / 1000000)) by monotone. lra.
Qed.

Theorem series_computed terms : forall i t a t0,
  (1 <= i)%nat -> (i + terms <= 1000)%nat -> is_double t a -> 0 <= t0 <= 29584 / 1000000 -> Rabs (a - t0) <= / 30 * u64 ->
  exists p, is_double (atanh_series i terms t) p /\ Rabs (p - exact_series i terms t0) <= u64.
Proof.
  pose proof u64_range as u0. pose proof u64_lost as l0.
  induction terms as [|fewer IH]; intros i t a t0 one few ht range close.
  - cbn [atanh_series exact_series]. set (d := (2 * Z.of_nat i + 1)%Z).
    assert (3 <= IZR d) by (apply (IZR_le 3); unfold d; lia). assert (coefficient : 0 < / IZR d <= / 3) by monotone.
    exists (fl64 (1 / IZR d)). split.
    + apply quotient_double; [apply one_double|apply integer_double; unfold d; lia|lra|]. unfold Rdiv.
      rewrite Rmult_1_l. apply far_from_overflow. rewrite Rabs_right; lra.
    + pose proof (double_error (1 / IZR d)) as err. unfold Rdiv in err |- *. rewrite Rmult_1_l in *.
      rewrite (Rabs_right (/ IZR d)) in err by lra. assert (u64 * / IZR d <= u64 * / 3) by monotone. lra.
  - cbn [atanh_series exact_series]. set (d := (2 * Z.of_nat i + 1)%Z).
    assert (3 <= IZR d) by (apply (IZR_le 3); unfold d; lia). assert (coefficient : 0 < / IZR d <= / 3) by monotone.
    destruct (IH (S i) t a t0 ltac:(lia) ltac:(lia) ht range close) as [p [hp p_close]]. clear IH.
    destruct (exact_series_range fewer (S i) t0 ltac:(lia) range) as [q_low q_high].
    set (q := exact_series (S i) fewer t0) in *.
    assert (hc : is_double (quotient_64 one_64 (dyadic_64 d 0)) (fl64 (1 / IZR d))).
    { apply quotient_double; [apply one_double|apply integer_double; unfold d; lia|lra|]. unfold Rdiv.
      rewrite Rmult_1_l. apply far_from_overflow. rewrite Rabs_right; lra. }
    pose proof (double_error (1 / IZR d)) as c_close. unfold Rdiv in hc, c_close. rewrite Rmult_1_l in *.
    rewrite (Rabs_right (/ IZR d)) in c_close by lra. set (c := fl64 (/ IZR d)) in *.
    assert (uc : u64 * / IZR d <= u64 * / 3) by monotone. assert (product : Rabs (p * a - q * t0) <= 5 / 100 * u64).
    { replace (p * a - q * t0) with ((p - q) * (t0 + (a - t0)) + q * (a - t0)) by ring. triangle.
      rewrite !Rabs_mult, (Rabs_right q) by lra. assert (Rabs (t0 + (a - t0)) <= 3 / 100).
      { triangle. rewrite (Rabs_right t0); lra. }
      assert (Rabs (p - q) * Rabs (t0 + (a - t0)) <= u64 * (3 / 100)) by monotone.
      assert (q * Rabs (a - t0) <= 35 / 100 * (/ 30 * u64)) by monotone. lra. }
    assert (qt : 0 <= q * t0 <= 35 / 100 * (29584 / 1000000)) by monotone.
    assert (inside : Rabs (p * a + c - (q * t0 + / IZR d)) <= 5 / 100 * u64 + (/ 3 * u64 + lost_64)).
    { replace (p * a + c - (q * t0 + / IZR d)) with ((p * a - q * t0) + (c - / IZR d)) by ring. triangle. lra. }
    assert (size : Rabs (p * a + c) <= 345 / 1000).
    { replace (p * a + c) with ((p * a + c - (q * t0 + / IZR d)) + (q * t0 + / IZR d)) by ring. triangle.
      rewrite (Rabs_right (q * t0 + / IZR d)) by lra. lra. }
    exists (fl64 (p * a + c)). split; [apply fused_double; try easy; apply far_from_overflow; lra|].
    pose proof (double_error (p * a + c)) as last. assert (u64 * Rabs (p * a + c) <= u64 * (345 / 1000)) by monotone.
    replace (fl64 (p * a + c) - (q * t0 + / IZR d)) with
      ((fl64 (p * a + c) - (p * a + c)) + (p * a + c - (q * t0 + / IZR d))) by ring.
    triangle. lra.
Qed.

Theorem twice_atanh_computed z a :
  is_double z a -> Rabs a <= 172 / 1000 -> a = 0 \/ two_to (-300) <= Rabs a ->
  exists y, is_double (twice_atanh z) y /\ Rabs (y - log_ratio a) <= 107 / 100 * u64 * Rabs (log_ratio a).
Proof.
  intros hz small large. pose proof u64_range as u0. pose proof u64_lost as l0.
  destruct (log_ratio_size a small) as [low high]. pose proof (Rabs_pos a) as apos.
  assert (square : 0 <= a * a <= 29584 / 1000000) by (apply Rabs_le_inv in small; nra).
  assert (two : is_double (dyadic_64 2 0) 2) by (apply integer_double; lia).
  assert (ht : is_double (mul_64 z z) (fl64 (a * a))).
  { apply mul_double; try easy. apply far_from_overflow. rewrite Rabs_right; lra. }
  assert (hw : is_double (mul_64 (dyadic_64 2 0) z) (fl64 (2 * a))).
  { apply mul_double; try easy. apply far_from_overflow. rewrite Rabs_mult, (Rabs_right 2) by lra. lra. }
  pose proof (double_error (a * a)) as t_close. rewrite (Rabs_right (a * a)) in t_close by lra.
  set (t := fl64 (a * a)) in *. assert (ua : 0 <= u64 * (a * a) <= u64 * (29584 / 1000000)) by monotone.
  destruct (series_computed 10 1 _ _ (a * a) ltac:(lia) ltac:(lia) ht square ltac:(lra)) as [p [hp p_close]].
  destruct (exact_series_range 10 1 (a * a) ltac:(lia) square) as [q_low q_high].
  set (q := exact_series 1 10 (a * a)) in *. assert (p_range : Rabs p <= 36 / 100).
  { replace p with ((p - q) + q) by ring. triangle. rewrite (Rabs_right q); lra. }
  assert (twice : fl64 (2 * a) = 2 * a).
  { destruct large as [->|large]; [rewrite Rmult_0_r; apply fl_0|]. apply doubled_number; [|easy].
    now apply (double_number z). }
  rewrite twice in hw. set (b := 2 * a) in *.
  assert (b_size : Rabs b = 2 * Rabs a) by (unfold b; rewrite Rabs_mult, (Rabs_right 2); lra).
  assert (lost_small : lost_64 <= / 1000000000000000000000000000000000000 * Rabs a \/ a = 0).
  { destruct large as [zero|large]; [now right|left]. now apply lost_64_small. } assert (t_range : 0 <= t <= 3 / 100).
  { split; [apply double_nonneg; lra|]. apply Rabs_le_inv in t_close. lra. }
  assert (hv : is_double (mul_64 (mul_64 (dyadic_64 2 0) z) (mul_64 z z)) (fl64 (b * t))).
  { apply mul_double; try easy. apply far_from_overflow. rewrite Rabs_mult, b_size, (Rabs_right t) by lra. nra. }
  pose proof (double_error (b * t)) as w_close. set (w := fl64 (b * t)) in *. destruct lost_small as [lost_small|zero].
  2:{ assert (b = 0) as b0 by (unfold b; rewrite zero; ring).
      assert (w = 0) as w0 by (unfold w; rewrite b0, Rmult_0_l; apply fl_0).
      assert (log_ratio a = 0) as l00 by (rewrite zero; apply log_ratio_0). exists (fl64 (w * p + b)). split.
      - apply fused_double; try easy. rewrite b0, w0, Rmult_0_l, Rplus_0_l, Rabs_R0. apply bpow_ge_0.
      - rewrite b0, w0, Rmult_0_l, Rplus_0_l, fl_0, l00, Rminus_0_r, Rabs_R0. lra. }
  assert (bt : Rabs (b * t) <= 2 * Rabs a * (3 / 100)). { rewrite Rabs_mult, b_size, (Rabs_right t) by lra. monotone. }
  assert (w_near : Rabs (w - b * (a * a)) <= 2 * Rabs a * (61 / 1000 * u64)).
  { replace (w - b * (a * a)) with ((w - b * t) + b * (t - a * a)) by ring. triangle. rewrite (Rabs_mult b), b_size.
    assert (2 * Rabs a * Rabs (t - a * a) <= 2 * Rabs a * (u64 * (29584 / 1000000) + / 1000000000 * u64)) by monotone.
    assert (u64 * Rabs (b * t) <= u64 * (2 * Rabs a * (3 / 100))) by monotone.
    assert (lost_64 <= / 1000000000 * u64 * Rabs a).
    { eapply Rle_trans; [exact lost_small|]. apply Rmult_le_compat_r; [easy|]. change u64 with (/ 9007199254740992).
      lra. }
    assert (0 <= u64 * Rabs a) by monotone. lra. }
  assert (product : Rabs (w * p + b - cut_ratio a) <= 2 * Rabs a * (52 / 1000 * u64)).
  { unfold cut_ratio. fold q. fold b.
    replace (w * p + b - (b + b * (a * a) * q)) with ((w - b * (a * a)) * p + b * (a * a) * (p - q)) by ring.
    triangle. rewrite !Rabs_mult, b_size.
    assert (Rabs (w - b * (a * a)) * Rabs p <= 2 * Rabs a * (61 / 1000 * u64) * (36 / 100)) by monotone.
    assert (aa : Rabs a * Rabs a <= 29584 / 1000000) by (rewrite <- Rabs_mult, Rabs_right; lra).
    assert (Rabs a * Rabs a * Rabs (p - q) <= 29584 / 1000000 * u64) by monotone.
    assert (2 * Rabs a * (Rabs a * Rabs a * Rabs (p - q)) <= 2 * Rabs a * (29584 / 1000000 * u64)) by monotone.
    assert (0 <= u64 * Rabs a) by monotone. lra. }
  pose proof (series_error a small) as cut. set (A := log_ratio a) in *.
  assert (inside : Rabs (w * p + b - A) <= 58 / 1000 * u64 * Rabs A).
  { replace (w * p + b - A) with ((w * p + b - cut_ratio a) + (cut_ratio a - A)) by ring. triangle.
    assert (u64 * (2 * Rabs a) <= u64 * Rabs A) by monotone.
    assert (/ 1000000000000000000 * Rabs a <= 8 / 1000 * u64 * Rabs a * (5 / 4)).
    { replace (8 / 1000 * u64 * Rabs a * (5 / 4)) with (/ 100 * u64 * Rabs a) by field.
      apply Rmult_le_compat_r; [easy|]. change u64 with (/ 9007199254740992). lra. }
    assert (0 <= u64 * Rabs a) by monotone. lra. }
  assert (size : Rabs (w * p + b) <= Rabs A + 58 / 1000 * u64 * Rabs A).
  { replace (w * p + b) with ((w * p + b - A) + A) by ring. triangle. lra. } exists (fl64 (w * p + b)). split.
  { apply fused_double; try easy. apply far_from_overflow. pose proof (Rabs_pos A).
    assert (u64 * Rabs A <= / 9000000000000000 * Rabs A) by monotone. lra. }
  pose proof (double_error (w * p + b)) as last.
  replace (fl64 (w * p + b) - A) with ((fl64 (w * p + b) - (w * p + b)) + (w * p + b - A)) by ring. triangle.
  assert (0 <= u64 * Rabs A <= / 9000000000000000 * Rabs A) by monotone.
  assert (u64 * Rabs (w * p + b) <= u64 * (Rabs A + 58 / 1000 * (/ 9000000000000000 * Rabs A))) by monotone.
  assert (lost_64 <= / 1000000000 * u64 * Rabs a).
  { eapply Rle_trans; [exact lost_small|]. apply Rmult_le_compat_r; [easy|]. change u64 with (/ 9007199254740992).
    lra. }
  assert (u64 * (2 * Rabs a) <= u64 * Rabs A) by monotone. lra.
Qed.

(** n is exact, p >= 1 is rounded once, and so is their quotient. *)
Theorem atanh_of_ratio n p a b :
  is_double n a -> is_double p (fl64 b) -> Rabs (fl64 b - b) <= u64 * b -> 1 <= b <= 4 ->
  Rabs (a / b) <= 1719 / 10000 -> a = 0 \/ two_to (-290) <= Rabs a ->
  exists y, is_double (twice_atanh (quotient_64 n p)) y /\
    Rabs (y - log_ratio (a / b)) <= 314 / 100 * u64 * Rabs (log_ratio (a / b)).
Proof.
  intros hn hp p_close b_range small large. pose proof u64_range as u0. pose proof u64_lost as l0.
  set (P := fl64 b) in *. set (z := a / b) in *. pose proof (Rabs_pos z) as zpos.
  assert (ub : 0 <= u64 * b <= / 9000000000000000 * b) by monotone.
  assert (P_range : b - / 9000000000000000 * b <= P <= b + / 9000000000000000 * b)
    by (apply Rabs_le_inv in p_close; lra).
  assert (P_pos : / 2 <= P) by lra. assert (a_z : a = z * b) by (unfold z; field; lra).
  assert (first : Rabs (a / P - z) <= 1001 / 1000 * u64 * Rabs z).
  { replace (a / P - z) with (z * ((b - P) / P)) by (rewrite a_z; field; lra).
    rewrite Rabs_mult, (Rmult_comm (1001 / 1000 * u64)). apply Rmult_le_compat_l; [easy|]. unfold Rdiv.
    rewrite Rabs_mult, (Rabs_right (/ P)) by (apply Rle_ge; left; apply Rinv_0_lt_compat; lra).
    apply Rmult_le_reg_r with P; [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. rewrite Rabs_minus_sym.
    assert (1001 / 1000 * u64 * (b - / 9000000000000000 * b) <= 1001 / 1000 * u64 * P) by monotone. lra. }
  assert (uz : 0 <= u64 * Rabs z <= / 9000000000000000 * Rabs z) by monotone.
  assert (size : Rabs (a / P) <= 1001 / 1000 * Rabs z).
  { replace (a / P) with ((a / P - z) + z) by ring. triangle. lra. }
  assert (hz : is_double (quotient_64 n p) (fl64 (a / P))).
  { apply quotient_double; try easy; [lra|]. apply far_from_overflow. lra. }
  pose proof (double_error (a / P)) as second. set (q := fl64 (a / P)) in *.
  assert (nothing : a = 0 -> q = 0) by (intros ->; unfold q, Rdiv; rewrite Rmult_0_l; apply fl_0).
  assert (z_large : a = 0 \/ two_to (-292) <= Rabs z).
  { destruct large as [zero|large]; [now left|right]. unfold z, Rdiv.
    rewrite Rabs_mult, (Rabs_right (/ b)) by (apply Rle_ge; left; apply Rinv_0_lt_compat; lra).
    apply Rle_trans with (two_to (-290) * / 4).
    - replace (/ 4) with (two_to (-2)) by easy. rewrite <- bpow_plus. apply bpow_le. lia.
    - apply Rmult_le_compat; [apply bpow_ge_0|lra|easy|monotone]. }
  assert (q_close : Rabs (q - z) <= 20021 / 10000 * u64 * Rabs z).
  { destruct z_large as [zero|z_large].
    - rewrite (nothing zero). unfold z. rewrite zero. unfold Rdiv. rewrite Rmult_0_l, Rminus_0_r, Rabs_R0. lra.
    - assert (lost_64 <= / 1000000000 * u64 * Rabs z).
      { destruct (lost_64_small (Rabs z)) as [_ tiny]; [eapply Rle_trans; [|exact z_large]; apply bpow_le; lia|].
        eapply Rle_trans; [exact tiny|]. apply Rmult_le_compat_r; [easy|]. change u64 with (/ 9007199254740992).
        lra. }
      assert (u64 * Rabs (a / P) <= u64 * (1001 / 1000 * Rabs z)) by monotone.
      replace (q - z) with ((q - a / P) + (a / P - z)) by ring. triangle. lra. }
  assert (q_small : Rabs q <= 172 / 1000). { replace q with ((q - z) + z) by ring. triangle. lra. }
  assert (q_large : q = 0 \/ two_to (-300) <= Rabs q).
  { destruct z_large as [zero|z_large]; [left; now apply nothing|right]. assert (Rabs z <= Rabs q + Rabs (q - z)).
    { replace z with (q + - (q - z)) at 1 by ring. triangle. rewrite Rabs_Ropp. lra. }
    apply Rle_trans with (/ 2 * two_to (-292)); [|lra]. replace (/ 2) with (two_to (-1)) by easy.
    rewrite <- bpow_plus. apply bpow_le. lia. }
  destruct (twice_atanh_computed _ q hz q_small q_large) as [y [hy y_close]]. exists y. split; [easy|].
  destruct (log_ratio_between z q ltac:(lra) q_small) as [_ moved]. destruct (log_ratio_size z ltac:(lra)) as [z_low _].
  set (A := log_ratio z) in *. set (B := log_ratio q) in *.
  assert (B_close : Rabs (B - A) <= 20642 / 10000 * u64 * Rabs A).
  { eapply Rle_trans; [exact moved|].
    apply Rle_trans with (2062 / 1000 * (20021 / 10000 * u64 * Rabs z)); [monotone|].
    assert (u64 * (2 * Rabs z) <= u64 * Rabs A) by monotone. lra. }
  assert (uA : 0 <= u64 * Rabs A <= / 9000000000000000 * Rabs A) by monotone.
  assert (B_size : Rabs B <= Rabs A + 3 * (u64 * Rabs A)). { replace B with ((B - A) + A) by ring. triangle. lra. }
  assert (u64 * Rabs B <= u64 * (Rabs A + 3 * (/ 9000000000000000 * Rabs A))) by monotone.
  replace (y - A) with ((y - B) + (B - A)) by ring. triangle. lra.
Qed.
