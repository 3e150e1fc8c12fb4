(** * A double's exponent by its bits.

    Main result
    - [exponent_by_bits]   the word of x >= 1, less k 2^52, is that of m = x / 2^k in [0.7071, 1.41422], where k is what
                           lies above bit 52 of the word's distance from that of sqrt (1/2)

    Source: kernels/block/logarithm.hpp; Flocq's Bits. *)

From Coq Require Import Reals ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From Flocq Require Binary Bits.
From softcheck.strict_kernels Require Import machine_numbers.
Local Open Scope R_scope.

Definition word_of_half_root : Z := 0x3fe6a09e667f3bcd.
Definition exponent_of (x : f64) : Z := ((word_of_f64 x - word_of_half_root) / 2 ^ 52)%Z.
Definition mantissa_of (x : f64) : f64 := f64_of_word (word_of_f64 x - exponent_of x * 2 ^ 52).

Lemma f64_of_its_word x : f64_of_word (word_of_f64 x) = x.
Proof.
  unfold f64_of_word, word_of_f64, Bits.b64_of_bits, Bits.bits_of_b64.
  rewrite Bits.binary_float_of_bits_of_binary_float. apply Binary.B2BSN_BSN2B.
Qed.

(** Of a normal number. *)
Lemma word_of_normal m e bounded :
  (2 ^ 52 <= Zpos m)%Z ->
  word_of_f64 (B754_finite false m e bounded) = ((e + 1075) * 2 ^ 52 + (Zpos m - 2 ^ 52))%Z.
Proof.
  intros normal. unfold word_of_f64, Bits.bits_of_b64. cbn [Binary.BSN2B Bits.bits_of_binary_float].
  change (Z.pow_pos 2 52) with (2 ^ 52)%Z. rewrite Zle_bool_true by lia.
  unfold Bits.join_bits. rewrite Z.shiftl_mul_pow2 by lia. f_equal. f_equal. cbn. lia.
Qed.

Lemma normal_bounded m e :
  (2 ^ 52 <= Zpos m < 2 ^ 53)%Z -> (-1074 <= e <= 971)%Z -> SpecFloat.bounded 53 1024 m e = true.
Proof.
  intros digits range. unfold SpecFloat.bounded, SpecFloat.canonical_mantissa. apply andb_true_intro. split.
  - apply Zeq_bool_true. change (SpecFloat.digits2_pos m) with (Digits.digits2_pos m).
    assert (size : Zpos (Digits.digits2_pos m) = 53%Z).
    { rewrite Digits.Zpos_digits2_pos. apply (Digits.Zdigits_unique radix2). rewrite Z.abs_eq by lia. exact digits. }
    rewrite size. unfold SpecFloat.fexp, SpecFloat.emin. lia.
  - apply Zle_bool_true. cbn. lia.
Qed.

Theorem exponent_by_bits x a :
  is_finite x = true -> B2R x = a -> 1 <= a <= bpow radix2 61 ->
  exists m, is_finite (mantissa_of x) = true /\ B2R (mantissa_of x) = m /\ a = m * bpow radix2 (exponent_of x) /\
    (0 <= exponent_of x <= 62)%Z /\ 7071 / 10000 <= m <= 141422 / 100000.
Proof.
  intros finite value range. destruct x as [s| | |s m e bounded]; try discriminate; [cbn in value; lra|].
  destruct s.
  { exfalso. assert (B2R (B754_finite true m e bounded : f64) < 0) by (apply F2R_lt_0; reflexivity). lra. }
  pose proof bounded as kept. unfold SpecFloat.bounded, SpecFloat.canonical_mantissa in kept. apply andb_prop in kept as [canonical high].
  apply Zeq_bool_eq in canonical. apply Zle_bool_imp_le in high. change (SpecFloat.digits2_pos m) with (Digits.digits2_pos m) in canonical.
  rewrite Digits.Zpos_digits2_pos in canonical. unfold SpecFloat.fexp, SpecFloat.emin in canonical.
  set (d := Digits.Zdigits radix2 (Zpos m)) in *.
  assert (size : (2 ^ (d - 1) <= Zpos m < 2 ^ d)%Z).
  { pose proof (Digits.Zdigits_correct radix2 (Zpos m)) as bounds. rewrite Z.abs_eq in bounds by lia. exact bounds. }
  assert (d_pos : (1 <= d)%Z) by (pose proof (Digits.Zdigits_gt_0 radix2 (Zpos m) ltac:(lia)); lia).
  cbn [B2R cond_Zopp] in value. unfold F2R in value. cbn [Fnum Fexp] in value.
  assert (below : a < bpow radix2 (d + e)).
  { rewrite <- value, bpow_plus. apply Rmult_lt_compat_r; [apply bpow_gt_0|]. rewrite <- (IZR_Zpower radix2) by lia.
    apply IZR_lt. apply size. }
  assert (above : bpow radix2 (d - 1 + e) <= a).
  { rewrite <- value, bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|]. rewrite <- (IZR_Zpower radix2) by lia.
    apply IZR_le. apply size. }
  assert (low : (0 < d + e)%Z) by (apply (lt_bpow radix2); change (bpow radix2 0) with 1; lra).
  assert (top : (d - 1 + e <= 61)%Z) by (apply (le_bpow radix2); lra).
  assert (d_full : d = 53%Z) by lia. rewrite d_full in *. clear canonical d_full d d_pos.
  change (2 ^ (53 - 1))%Z with (2 ^ 52)%Z in size.
  unfold mantissa_of. set (k := exponent_of _).
  assert (word : word_of_f64 (B754_finite false m e bounded) = ((e + 1075) * 2 ^ 52 + (Zpos m - 2 ^ 52))%Z)
    by (apply word_of_normal; lia).
  assert (parts : (0 <= word_of_f64 (B754_finite false m e bounded) - word_of_half_root - k * 2 ^ 52 < 2 ^ 52)%Z).
  { unfold k, exponent_of. set (W := (word_of_f64 _ - word_of_half_root)%Z).
    pose proof (Z.div_mod W (2 ^ 52) ltac:(lia)) as divided. pose proof (Z.mod_pos_bound W (2 ^ 52) ltac:(lia)). lia. }
  rewrite word in *. unfold word_of_half_root in parts.
  change (2 ^ 52)%Z with 4503599627370496%Z in *. change (2 ^ 53)%Z with 9007199254740992%Z in *.
  assert (exponents : (e - k = -53 /\ 6369051672525773 <= Zpos m \/ e - k = -52 /\ Zpos m < 6369051672525773)%Z) by lia.
  assert (kept : SpecFloat.bounded 53 1024 m (e - k) = true).
  { apply normal_bounded; [|lia]. change (2 ^ 52)%Z with 4503599627370496%Z. change (2 ^ 53)%Z with 9007199254740992%Z. lia. }
  assert (itself : f64_of_word ((e + 1075) * 4503599627370496 + (Zpos m - 4503599627370496) - k * 4503599627370496)
                   = B754_finite false m (e - k) kept).
  { rewrite <- (f64_of_its_word (B754_finite false m (e - k) kept)). f_equal.
    rewrite word_of_normal by (change (2 ^ 52)%Z with 4503599627370496%Z; lia).
    change (2 ^ 52)%Z with 4503599627370496%Z. ring. }
  rewrite itself. exists (IZR (Zpos m) * bpow radix2 (e - k)). split; [easy|]. split; [easy|]. split.
  { rewrite Rmult_assoc, <- bpow_plus, <- value. do 2 f_equal. ring. }
  split; [lia|].
  destruct exponents as [[-> large]|[-> small]].
  - change (bpow radix2 (-53)) with (/ 9007199254740992).
    assert (6369051672525773 <= IZR (Zpos m) <= 9007199254740991) by (split; apply IZR_le; lia). lra.
  - change (bpow radix2 (-52)) with (/ 4503599627370496).
    assert (4503599627370496 <= IZR (Zpos m) <= 6369051672525772) by (split; apply IZR_le; lia). lra.
Qed.
