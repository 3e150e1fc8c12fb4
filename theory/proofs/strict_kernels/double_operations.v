(** * What the strict kernels' operations in double compute, as real numbers.

    Main results
    - [add_double], [sub_double], [mul_double], [fused_double], [quotient_double]   each operation rounds the exact result
      once, to nearest, unless that is beyond 2^1000
    - [rounded_double]     such a rounding errs by u = 2^-53 of the exact result, and by 2^-1075
    - [dyadic_double]      m 2^e is itself where it has 53 bits
    - [widened_value]      a number of binary32 keeps its value in double
    - [narrowed_value]     a double is rounded to binary32 once
    - [exponent_by_bits]   the word of x >= 1, less k 2^52, is that of m = x / 2^k in [0.7071, 1.41422], where k is what
                           lies above bit 52 of the word's distance from that of sqrt (1/2)

    [is_double x a]: x is finite and its value is a.

    Source: Flocq's correctness theorems of its binary floats. *)

From Coq Require Import Reals ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From Flocq Require Binary Bits.
From softcheck.floating_point Require Import relative_error formats.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers strict_operations.
Local Open Scope R_scope.

(** ** A double's exponent by its bits.

    Source: kernels/block/logarithm.hpp; Flocq's Bits. *)

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
  intros finite value range. destruct x as [s| | |s m e bounded]; try discriminate; [cbn in value; lra|]. destruct s.
  { exfalso. assert (B2R (B754_finite true m e bounded : f64) < 0) by (apply F2R_lt_0; reflexivity). lra. }
  pose proof bounded as kept. unfold SpecFloat.bounded, SpecFloat.canonical_mantissa in kept.
  apply andb_prop in kept as [canonical high]. apply Zeq_bool_eq in canonical. apply Zle_bool_imp_le in high.
  change (SpecFloat.digits2_pos m) with (Digits.digits2_pos m) in canonical.
  rewrite Digits.Zpos_digits2_pos in canonical. unfold SpecFloat.fexp, SpecFloat.emin in canonical.
  set (d := Digits.Zdigits radix2 (Zpos m)) in *. assert (size : (2 ^ (d - 1) <= Zpos m < 2 ^ d)%Z).
  { pose proof (Digits.Zdigits_correct radix2 (Zpos m)) as bounds. rewrite Z.abs_eq in bounds by lia. exact bounds. }
  assert (d_pos : (1 <= d)%Z) by (pose proof (Digits.Zdigits_gt_0 radix2 (Zpos m) ltac:(lia)); lia).
  cbn [B2R cond_Zopp] in value. unfold F2R in value. cbn [Fnum Fexp] in value. assert (below : a < bpow radix2 (d + e)).
  { rewrite <- value, bpow_plus. apply Rmult_lt_compat_r; [apply bpow_gt_0|]. rewrite <- (IZR_Zpower radix2) by lia.
    apply IZR_lt. apply size. }
  assert (above : bpow radix2 (d - 1 + e) <= a).
  { rewrite <- value, bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|]. rewrite <- (IZR_Zpower radix2) by lia.
    apply IZR_le. apply size. }
  assert (low : (0 < d + e)%Z) by (apply (lt_bpow radix2); change (bpow radix2 0) with 1; lra).
  assert (top : (d - 1 + e <= 61)%Z) by (apply (le_bpow radix2); lra). assert (d_full : d = 53%Z) by lia.
  rewrite d_full in *. clear canonical d_full d d_pos. change (2 ^ (53 - 1))%Z with (2 ^ 52)%Z in size.
  unfold mantissa_of. set (k := exponent_of _).
  assert (word : word_of_f64 (B754_finite false m e bounded) = ((e + 1075) * 2 ^ 52 + (Zpos m - 2 ^ 52))%Z)
    by (apply word_of_normal; lia).
  assert (parts : (0 <= word_of_f64 (B754_finite false m e bounded) - word_of_half_root - k * 2 ^ 52 < 2 ^ 52)%Z).
  { unfold k, exponent_of. set (W := (word_of_f64 _ - word_of_half_root)%Z).
    pose proof (Z.div_mod W (2 ^ 52) ltac:(lia)) as divided. pose proof (Z.mod_pos_bound W (2 ^ 52) ltac:(lia)). lia. }
  rewrite word in *. unfold word_of_half_root in parts. change (2 ^ 52)%Z with 4503599627370496%Z in *.
  change (2 ^ 53)%Z with 9007199254740992%Z in *.
  assert (exponents : (e - k = -53 /\ 6369051672525773 <= Zpos m \/ e - k = -52 /\ Zpos m < 6369051672525773)%Z) by lia.
  assert (kept : SpecFloat.bounded 53 1024 m (e - k) = true).
  { apply normal_bounded; [|lia]. change (2 ^ 52)%Z with 4503599627370496%Z.
    change (2 ^ 53)%Z with 9007199254740992%Z. lia. }
  assert (itself : f64_of_word ((e + 1075) * 4503599627370496 + (Zpos m - 4503599627370496) - k * 4503599627370496)
                   = B754_finite false m (e - k) kept).
  { rewrite <- (f64_of_its_word (B754_finite false m (e - k) kept)). f_equal.
    rewrite word_of_normal by (change (2 ^ 52)%Z with 4503599627370496%Z; lia).
    change (2 ^ 52)%Z with 4503599627370496%Z. ring. }
  rewrite itself. exists (IZR (Zpos m) * bpow radix2 (e - k)). split; [easy|]. split; [easy|]. split.
  { rewrite Rmult_assoc, <- bpow_plus, <- value. do 2 f_equal. ring. } split; [lia|].
  destruct exponents as [[-> large]|[-> small]].
  - change (bpow radix2 (-53)) with (/ 9007199254740992).
    assert (6369051672525773 <= IZR (Zpos m) <= 9007199254740991) by (split; apply IZR_le; lia). lra.
  - change (bpow radix2 (-52)) with (/ 4503599627370496).
    assert (4503599627370496 <= IZR (Zpos m) <= 6369051672525772) by (split; apply IZR_le; lia). lra.
Qed.

Notation fl64 := (fl binary64).
Notation val64 := (@B2R 53 1024).
Notation u64 := (two_to (-53)).

Definition is_double (x : f64) (a : R) : Prop := is_finite x = true /\ val64 x = a.

(** Half the smallest subnormal double. *)
Definition half_quantum_64 : R := two_to (-1075).

Lemma u64_range : 0 < u64 <= / 9000000000000000.
Proof. split; [apply bpow_gt_0|]. change u64 with (/ 9007199254740992). lra. Qed.

Lemma half_quantum_64_range : 0 < half_quantum_64 <= two_to (-1000).
Proof. split; [apply bpow_gt_0|apply bpow_le; lia]. Qed.

Lemma positive_precision_64 : (0 < prec binary64)%Z.
Proof. reflexivity. Qed.
Global Instance precision_64 : Prec_gt_0 (prec binary64) := positive_precision_64.

Lemma double_number x a : is_double x a -> number binary64 a.
Proof. intros [_ <-]. apply (generic_format_B2R 53 1024 x). Qed.

Lemma double_at x a b : is_double x a -> a = b -> is_double x b.
Proof. now intros h <-. Qed.

Lemma rounded_within a e : (-1074 <= e)%Z -> Rabs a <= two_to e -> Rabs (fl64 a) <= two_to e.
Proof. exact (rounding_within binary64 positive_precision_64 a e). Qed.

Lemma double_no_overflow a : Rabs a <= two_to 1000 -> Rlt_bool (Rabs (fl64 a)) (two_to 1024) = true.
Proof.
  intros bound. apply Rlt_bool_true. apply Rle_lt_trans with (two_to 1000); [now apply rounded_within|].
  apply bpow_lt. lia.
Qed.

Theorem rounded_double a : exists d e,
  Rabs d <= u64 /\ Rabs e <= half_quantum_64 /\ d * e = 0 /\ fl64 a = a * (1 + d) + e.
Proof. exact (rounded_any binary64 positive_precision_64 a). Qed.

Lemma double_error a : Rabs (fl64 a - a) <= u64 * Rabs a + half_quantum_64.
Proof. exact (error_of_rounding binary64 positive_precision_64 a). Qed.

Lemma double_nonneg a : 0 <= a -> 0 <= fl64 a.
Proof. intros. rewrite <- (fl_0 binary64). now apply fl_monotone. Qed.

Section Operations.
  Context (x y z : f64) (a b c : R) (hx : is_double x a) (hy : is_double y b) (hz : is_double z c).

  Theorem add_double : Rabs (a + b) <= two_to 1000 -> is_double (add_64 x y) (fl64 (a + b)).
  Proof using hx hy.
    destruct hx as [fx <-], hy as [fy <-].
    rounded_once (@Bplus_correct 53 1024 positive_53 below_1024 mode_NE x y fx fy) double_no_overflow.
  Qed.

  Theorem sub_double : Rabs (a - b) <= two_to 1000 -> is_double (sub_64 x y) (fl64 (a - b)).
  Proof using hx hy.
    destruct hx as [fx <-], hy as [fy <-].
    rounded_once (@Bminus_correct 53 1024 positive_53 below_1024 mode_NE x y fx fy) double_no_overflow.
  Qed.

  Theorem mul_double : Rabs (a * b) <= two_to 1000 -> is_double (mul_64 x y) (fl64 (a * b)).
  Proof using hx hy.
    destruct hx as [fx <-], hy as [fy <-].
    rounded_once (@Bmult_correct 53 1024 positive_53 below_1024 mode_NE x y) double_no_overflow.
  Qed.

  Theorem quotient_double : b <> 0 -> Rabs (a / b) <= two_to 1000 -> is_double (quotient_64 x y) (fl64 (a / b)).
  Proof using hx hy.
    destruct hx as [fx <-], hy as [fy <-]. intros nonzero.
    rounded_once (@Bdiv_correct 53 1024 positive_53 below_1024 mode_NE x y nonzero) double_no_overflow.
  Qed.

  Theorem fused_double : Rabs (a * b + c) <= two_to 1000 -> is_double (fused_64 x y z) (fl64 (a * b + c)).
  Proof using hx hy hz.
    destruct hx as [fx <-], hy as [fy <-], hz as [fz <-].
    rounded_once (@Bfma_correct 53 1024 positive_53 below_1024 mode_NE x y z fx fy fz) double_no_overflow.
  Qed.

  Lemma neg_double : is_double (neg_64 x) (- a).
  Proof using hx. destruct hx as [fx <-]. split; [unfold neg_64; now rewrite is_finite_Bopp|apply B2R_Bopp]. Qed.

  Lemma less_double : less_64 x y = true <-> a < b.
  Proof using hx hy.
    destruct hx as [fx <-], hy as [fy <-]. unfold less_64. rewrite Bltb_correct by easy.
    case Rlt_bool_spec; intuition (try discriminate; lra).
  Qed.

  Lemma not_less_double : less_64 x y = false <-> b <= a.
  Proof using hx hy.
    destruct (less_64 x y) eqn:less; split; intros h; try easy.
    - apply less_double in less. lra.
    - apply Rnot_lt_le. intros lt. apply less_double in lt. rewrite lt in less. discriminate.
  Qed.
End Operations.

Lemma double_of_integer m e : (Z.abs m <= 2 ^ 53)%Z -> (-1074 <= e)%Z -> number binary64 (IZR m * two_to e).
Proof.
  intros few low. destruct (Z.eq_dec (Z.abs m) (2 ^ 53)) as [top|other].
  - apply generic_format_abs_inv. rewrite Rabs_mult, <- abs_IZR, top, (Rabs_right (two_to e)) by (apply Rle_ge, bpow_ge_0).
    change (IZR (2 ^ 53)) with (two_to 53). rewrite <- bpow_plus. apply generic_format_bpow. unfold FLT_exp. cbn [prec emin binary64]. lia.
  - apply (number_of_integer binary64 m e); cbn [prec emin binary64]; lia.
Qed.

Theorem dyadic_double m e :
  (Z.abs m <= 2 ^ 53)%Z -> (-1074 <= e <= 900)%Z -> is_double (dyadic_64 m e) (IZR m * two_to e).
Proof.
  intros few range. assert (bound : Rabs (IZR m * two_to e) <= two_to 1000).
  { rewrite Rabs_mult, <- abs_IZR, (Rabs_right (two_to e)) by (apply Rle_ge, bpow_ge_0).
    apply Rle_trans with (two_to 53 * two_to e).
    + apply Rmult_le_compat_r; [apply bpow_ge_0|]. change (two_to 53) with (IZR (2 ^ 53)). now apply IZR_le.
    + rewrite <- bpow_plus. apply bpow_le. lia. }
  rewrite <- (fl_number binary64 _ (double_of_integer m e few ltac:(lia))). revert bound.
  rounded_once (@binary_normalize_correct 53 1024 positive_53 below_1024 mode_NE m e false) double_no_overflow.
Qed.

Lemma one_double : is_double one_64 1.
Proof. apply (double_at _ (IZR 1 * two_to 0)); [apply dyadic_double; lia|cbn; ring]. Qed.

Lemma integer_double m : (Z.abs m <= 2 ^ 53)%Z -> is_double (dyadic_64 m 0) (IZR m).
Proof. intros few. apply (double_at _ (IZR m * two_to 0)); [apply dyadic_double; [easy|lia]|cbn; ring]. Qed.

(** ** Between the formats *)

Lemma binary32_in_binary64 x : number binary32 x -> number binary64 x.
Proof. apply generic_inclusion_mag. intros _. unfold FLT_exp. cbn. lia. Qed.

Theorem widened_value x a : is_value x a -> is_double (widened x) a.
Proof.
  intros [finite <-]. destruct x as [s| | |s m e bounded]; try discriminate; [easy|]. cbn [widened].
  pose proof bounded as kept. unfold SpecFloat.bounded in kept. apply andb_prop in kept as [canonical high].
  apply Zeq_bool_eq in canonical. apply Zle_bool_imp_le in high. change (SpecFloat.digits2_pos m) with (Digits.digits2_pos m) in canonical.
  rewrite Digits.Zpos_digits2_pos in canonical. unfold SpecFloat.fexp, SpecFloat.emin in canonical.
  pose proof (Digits.Zdigits_correct radix2 (Zpos m)) as size. rewrite Z.abs_eq in size by lia.
  set (d := Digits.Zdigits radix2 (Zpos m)) in *. change (Zpower radix2 d) with (2 ^ d)%Z in size.
  assert (digits : (2 ^ d <= 2 ^ 24)%Z) by (apply Z.pow_le_mono_r; lia). change (2 ^ 24)%Z with 16777216%Z in digits.
  assert (few : (Z.abs (cond_Zopp s (Zpos m)) <= 2 ^ 53)%Z).
  { rewrite abs_cond_Zopp. cbn [Z.abs]. lia. }
  eapply double_at; [apply dyadic_double; [exact few|lia]|reflexivity].
Qed.

Theorem narrowed_value x a : is_double x a -> Rabs a <= two_to 127 -> is_value (narrowed x) (fl32 a).
Proof.
  intros [finite <-] bound. destruct x as [s| | |s m e bounded]; try discriminate.
  - cbn. split; [easy|]. cbn. now rewrite fl_0.
  - cbn [narrowed]. unfold dyadic. revert bound.
    change (val64 (B754_finite s m e bounded)) with (F2R (Float radix2 (cond_Zopp s (Zpos m)) e)).
    rounded_once (@binary_normalize_correct 24 128 positive_24 below_128 mode_NE (cond_Zopp s (Zpos m)) e false)
      no_overflow.
Qed.
