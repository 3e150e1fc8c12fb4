(** * ln ((1 + z) / (1 - z)) = 2 atanh z near 0, and the series that the strict kernels cut off.

    Main results, for |z| <= 172 / 1000
    - [log_ratio_between]   its slope lies between 2 and 2.062
    - [series_error]        2 z (1 + z^2 (1/3 + ... + z^20 / 23)) errs by at most 10^-18 |z|

    Source: kernels/block/logarithm.hpp, atanh_series. *)

From Coq Require Import Reals ZArith Lra Lia.
From Coquelicot Require Import Coquelicot.
Local Open Scope R_scope.

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
  - split; [lra|]. split; [|easy]. apply Rdiv_lt_0_compat; lra.
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
  intros ha hb.
  destruct (MVT_gen log_ratio a b (fun z => 2 / (1 - z * z))) as [c [range ->]].
  - intros z range. apply log_ratio_derives. apply (inside_range a b); try easy. lra.
  - intros z range. apply continuity_pt_filterlim, (ex_derive_continuous log_ratio). exists (2 / (1 - z * z)).
    apply log_ratio_derives. now apply (inside_range a b).
  - pose proof (inside_range a b c ha hb range) as small. apply Rabs_le_between in small.
    assert (square : 0 <= c * c <= 29584 / 1000000) by nra.
    assert (slope : 2 <= 2 / (1 - c * c) <= 2062 / 1000).
    { split.
      - apply Rmult_le_reg_r with (1 - c * c); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
      - apply Rmult_le_reg_r with (1 - c * c); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    rewrite Rabs_mult, (Rabs_right (2 / (1 - c * c))) by lra. pose proof (Rabs_pos (b - a)).
    split; apply Rmult_le_compat_r; lra.
Qed.

Lemma log_ratio_size z : Rabs z <= 172 / 1000 -> 2 * Rabs z <= Rabs (log_ratio z) <= 2062 / 1000 * Rabs z.
Proof.
  intros small. pose proof (log_ratio_between 0 z ltac:(rewrite Rabs_R0; lra) small) as range.
  now rewrite log_ratio_0, !Rminus_0_r in range.
Qed.

Theorem series_error z : Rabs z <= 172 / 1000 -> Rabs (cut_ratio z - log_ratio z) <= / 1000000000000000000 * Rabs z.
Proof.
  intros small.
  pose (f := fun z => cut_ratio z - log_ratio z). pose (df := fun z => - (2 * z ^ 24 / (1 - z * z))).
  assert (derives : forall c, Rabs c <= 172 / 1000 -> is_derive f c (df c)).
  { intros c range. unfold f.
    replace (df c) with (minus (2 * (1 - c ^ 24) / (1 - c * c)) (2 / (1 - c * c))).
    - apply @is_derive_minus; [|now apply log_ratio_derives].
      apply Rabs_le_between in range. assert (0 <= c * c <= 29584 / 1000000) by nra.
      unfold cut_ratio. cbn [exact_series Z.of_nat Z.mul Z.add Pos.mul Pos.add Pos.of_succ_nat Pos.succ].
      auto_derive; [easy|]. field. lra.
    - apply Rabs_le_between in range. assert (0 <= c * c <= 29584 / 1000000) by nra.
      unfold df, minus, plus, opp. cbn -[pow]. field. lra. }
  destruct (MVT_gen f 0 z df) as [c [range eq]].
  - intros c range. apply derives. apply (inside_range 0 z); try easy; [rewrite Rabs_R0; lra|lra].
  - intros c range. apply continuity_pt_filterlim, (ex_derive_continuous f). exists (df c). apply derives.
    apply (inside_range 0 z); try easy. rewrite Rabs_R0; lra.
  - assert (zero : f 0 = 0) by (unfold f, cut_ratio; rewrite log_ratio_0; ring).
    rewrite zero, !Rminus_0_r in eq. change (f z) with (cut_ratio z - log_ratio z) in eq. rewrite eq, Rabs_mult.
    apply Rmult_le_compat_r; [apply Rabs_pos|].
    pose proof (inside_range 0 z c ltac:(rewrite Rabs_R0; lra) small range) as within. clear - within.
    apply Rabs_le_between in within. unfold df. rewrite Rabs_Ropp.
    assert (square : 0 <= c * c <= 29584 / 1000000) by nra. set (t := c * c) in *.
    replace (c ^ 24) with (t ^ 12) by (unfold t; ring).
    rewrite Rabs_right; [|apply Rle_ge, Rmult_le_pos; [apply Rmult_le_pos; [lra|apply pow_le; lra]|left; apply Rinv_0_lt_compat; lra]].
    assert (power : t ^ 12 <= (29584 / 1000000) ^ 12) by (apply pow_incr; lra).
    apply Rmult_le_reg_r with (1 - t); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.
