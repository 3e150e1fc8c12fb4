(** * An end of an interval, mantissa 2^exponent, in units of 2^-bits, rounded down and up. *)

From Coq Require Import Reals List ZArith Lra Lia.
From Flocq Require Import Core.
From softcheck.oracle Require Import interval_oracle.
From softcheck.certified_network Require Import fixed_point.
Local Open Scope R_scope.

Definition floor_at (bits : Z) (d : dyadic) : Z := Z.shiftl (fst d) (snd d + bits).
Definition ceiling_at (bits : Z) (d : dyadic) : Z := (- Z.shiftl (- fst d) (snd d + bits))%Z.

Lemma shift_at_most m s : IZR (Z.shiftl m s) <= IZR m * bpow radix2 s.
Proof.
  destruct (Z.le_gt_cases 0 s) as [up | down].
  - rewrite Z.shiftl_mul_pow2, mult_IZR, (IZR_Zpower radix2) by easy. lra.
  - rewrite Z.shiftl_div_pow2 by lia. apply Rmult_le_reg_r with (bpow radix2 (- s)); [apply bpow_gt_0|].
    rewrite Rmult_assoc, <- bpow_plus, Z.add_opp_diag_r, Rmult_1_r, <- (IZR_Zpower radix2), <- mult_IZR by lia.
    apply IZR_le. rewrite Z.mul_comm. apply Z.mul_div_le. apply Z.pow_pos_nonneg; cbn; lia.
Qed.

Lemma value_at bits d : (0 <= bits)%Z -> value d = IZR (fst d) * bpow radix2 (snd d + bits) / IZR (2 ^ bits).
Proof.
  intros. unfold value, F2R. cbn [Defs.Fnum Defs.Fexp]. rewrite bpow_plus, (IZR_Zpower radix2) by easy.
  pose proof (bpow_gt_0 radix2 bits). field. lra.
Qed.

Lemma floor_at_holds bits d : (0 <= bits)%Z -> place bits (floor_at bits d) <= value d.
Proof.
  intros. rewrite (value_at bits) by easy.
  apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat, two_pos | apply shift_at_most].
Qed.

Lemma ceiling_at_holds bits d : (0 <= bits)%Z -> value d <= place bits (ceiling_at bits d).
Proof.
  intros. rewrite (value_at bits) by easy. apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat, two_pos|].
  unfold ceiling_at. rewrite opp_IZR. pose proof (shift_at_most (- fst d) (snd d + bits)) as below.
  rewrite opp_IZR in below. lra.
Qed.
