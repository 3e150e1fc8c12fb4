(** * The numbers of the strict kernels, as bits and as values, their operations, and what the kernels build of these: exp,
    compensated sums and ln (1 + s).

    Flocq's binary floats with one NaN: a payload depends on the machine, and the kernels return one. Every operation
    rounds to nearest, ties to even. A word is the number's bits in memory, read as an integer.

    Source: IEEE 754-2019; kernels/block/device.hpp for what the kernels ask of their machine. *)

From Coq Require Import ZArith Bool List.
From Flocq Require Import Core BinarySingleNaN.
From Flocq Require Binary Bits.
Import ListNotations.

Definition f32 : Type := binary_float 24 128.
Definition f64 : Type := binary_float 53 1024.

Definition positive_24 : Prec_gt_0 24 := eq_refl.
Definition positive_53 : Prec_gt_0 53 := eq_refl.
Definition below_128 : Prec_lt_emax 24 128 := eq_refl.
Definition below_1024 : Prec_lt_emax 53 1024 := eq_refl.

Definition add (x y : f32) : f32 := @Bplus 24 128 positive_24 below_128 mode_NE x y.
Definition sub (x y : f32) : f32 := @Bminus 24 128 positive_24 below_128 mode_NE x y.
Definition mul (x y : f32) : f32 := @Bmult 24 128 positive_24 below_128 mode_NE x y.
Definition quotient (x y : f32) : f32 := @Bdiv 24 128 positive_24 below_128 mode_NE x y.
(** x y + z, rounded once. *)
Definition fused (x y z : f32) : f32 := @Bfma 24 128 positive_24 below_128 mode_NE x y z.
Definition neg (x : f32) : f32 := Bopp x.

Definition add_64 (x y : f64) : f64 := @Bplus 53 1024 positive_53 below_1024 mode_NE x y.
Definition sub_64 (x y : f64) : f64 := @Bminus 53 1024 positive_53 below_1024 mode_NE x y.
Definition mul_64 (x y : f64) : f64 := @Bmult 53 1024 positive_53 below_1024 mode_NE x y.
Definition quotient_64 (x y : f64) : f64 := @Bdiv 53 1024 positive_53 below_1024 mode_NE x y.
Definition fused_64 (x y z : f64) : f64 := @Bfma 53 1024 positive_53 below_1024 mode_NE x y z.
Definition neg_64 (x : f64) : f64 := Bopp x.

(** m 2^e, rounded. *)
Definition dyadic (m e : Z) : f32 := binary_normalize 24 128 positive_24 below_128 mode_NE m e false.
Definition dyadic_64 (m e : Z) : f64 := binary_normalize 53 1024 positive_53 below_1024 mode_NE m e false.

Definition widened (x : f32) : f64 :=
  match x with
  | B754_zero s => B754_zero s
  | B754_infinity s => B754_infinity s
  | B754_nan => B754_nan
  | B754_finite s m e _ => dyadic_64 (cond_Zopp s (Zpos m)) e
  end.

Definition narrowed (x : f64) : f32 :=
  match x with
  | B754_zero s => B754_zero s
  | B754_infinity s => B754_infinity s
  | B754_nan => B754_nan
  | B754_finite s m e _ => dyadic (cond_Zopp s (Zpos m)) e
  end.

(** A number by its word and back; every NaN has the word of the quiet one without a payload. *)
Definition f32_of_word (w : Z) : f32 := Binary.B2BSN 24 128 (Bits.b32_of_bits w).
Definition word_of_f32 (x : f32) : Z := Bits.bits_of_b32 (Binary.BSN2B 24 128 Bits.default_nan_pl32 x).
Definition f64_of_word (w : Z) : f64 := Binary.B2BSN 53 1024 (Bits.b64_of_bits w).
Definition word_of_f64 (x : f64) : Z := Bits.bits_of_b64 (Binary.BSN2B 53 1024 Bits.default_nan_pl64 x).

Definition zero : f32 := B754_zero false.
Definition one : f32 := dyadic 1 0.
Definition minus_infinity : f32 := B754_infinity true.
Definition plus_infinity : f32 := B754_infinity false.
Definition one_64 : f64 := dyadic_64 1 0.

(** x < y as the machine compares: false of a NaN, and 0 = -0. *)
Definition less (x y : f32) : bool := Bltb x y.
Definition less_64 (x y : f64) : bool := Bltb x y.

Local Open Scope Z_scope.

(** ** exp as the strict kernels compute it, bit by bit.

    kernels/block/exponential.hpp with the constants of kernels/arithmetic/exp_constants.hpp, every operation in its
    order: an executable function. The power of two is made of bits.

    Source: scaled_exponential_parts, exponential_parts and exponential of that header. *)

Definition exp_log2_e : f32 := dyadic 0x1715476 (-24).
Definition exp_rounder : f32 := dyadic (12582912 + (64 + 127)) 0.
Definition exp_ln2_high : f32 := dyadic 0x162e4 (-17).
Definition exp_ln2_low : f32 := dyadic 0x17f7d1c (-44).
Definition exp_coefficients : list f32 :=
  [dyadic 0x1fffffc (-26); dyadic 0x1555492 (-27); dyadic 0x15558f2 (-29); dyadic 0x11239e4 (-31);
   dyadic 0x16a2432 (-34)].
Definition exp_unscale : f32 := dyadic 1 (-64).
Definition exp_lowest : f32 := dyadic (-110) 0.

Fixpoint fused_horner (coefficients : list f32) (r : f32) : f32 :=
  match coefficients with
  | [] => zero
  | [c] => c
  | c :: rest => fused (fused_horner rest r) r c
  end.

(** The bits below the biased exponent's place fall off at the top. *)
Definition power_by_bits (rounded : f32) : f32 := f32_of_word ((word_of_f32 rounded * 2 ^ 23) mod 2 ^ 32).

Record parts := { value : f32; rest : f32 }.

(** z log2 e, rounded to an integer, plus the rounder; z - k ln 2; exp(r) - 1. *)
Definition rounded_count (z : f32) : f32 := fused z exp_log2_e exp_rounder.
Definition reduced (z rounded : f32) : f32 :=
  let minus_k := neg (sub rounded exp_rounder) in fused minus_k exp_ln2_low (fused minus_k exp_ln2_high z).
Definition tail_of (r : f32) : f32 := fused (mul r r) (fused_horner exp_coefficients r) r.

(** exp(z) 2^64 for z <= 0, and what rounded away when it was put together. *)
Definition scaled_exponential_parts (z : f32) : parts :=
  if less exp_lowest z then
    let rounded := rounded_count z in
    let tail := tail_of (reduced z rounded) in
    let power := power_by_bits rounded in
    let significand := add one tail in
    {| value := mul significand power; rest := mul (sub tail (sub significand one)) power |}
  else {| value := zero; rest := zero |}.

Definition scaled_exponential (z : f32) : f32 := value (scaled_exponential_parts z).
Definition exponential (z : f32) : f32 := mul (scaled_exponential z) exp_unscale.
Definition exponential_parts (z : f32) : parts :=
  let scaled := scaled_exponential_parts z in
  {| value := mul (value scaled) exp_unscale; rest := mul (rest scaled) exp_unscale |}.

(** The tree kernels' exp(z) 2^64 (tree_order.hpp): their argument is at least where the power of two comes out as 0. *)
Definition exp_vanishing : f32 := dyadic (-8676966) (-16).
Definition with_weight (z : f32) : f32 := if less exp_vanishing z then z else exp_vanishing.
Definition tree_weight (z : f32) : f32 :=
  let rounded := rounded_count z in mul (add one (tail_of (reduced z rounded))) (power_by_bits rounded).

(** ** Compensated sums (compensated_sum.hpp) *)

Record compensated := { sum_value : f32; sum_rest : f32 }.
Definition no_sum : compensated := {| sum_value := zero; sum_rest := zero |}.

Definition plus_item (s : compensated) (x : f32) : compensated :=
  let sum := add (sum_value s) x in
  let taken := sub sum (sum_value s) in
  {| sum_value := sum;
     sum_rest := add (sum_rest s) (add (sub (sum_value s) (sub sum taken)) (sub x taken)) |}.

Definition plus_sum (s other : compensated) : compensated :=
  let both := plus_item s (sum_value other) in
  {| sum_value := sum_value both; sum_rest := add (sum_rest both) (sum_rest other) |}.

Definition times_parts (s : compensated) (factor : parts) : compensated :=
  let product := mul (sum_value s) (value factor) in
  let rounded := fused (sum_value s) (value factor) (neg product) in
  {| sum_value := product;
     sum_rest := fused (sum_rest s) (value factor) (fused (sum_value s) (rest factor) rounded) |}.

(** ** 1 / theta, rounded to f32 *)

Definition scale_of (theta : f64) : f32 := narrowed (quotient_64 one_64 theta).

(** ** ln (1 + s) in double (logarithm.hpp) *)

(** 1/(2 i + 1) + t (1/(2 i + 3) + ... ), i from this one to 11. *)
Fixpoint atanh_series (i terms : nat) (t : f64) : f64 :=
  let coefficient := quotient_64 one_64 (dyadic_64 (2 * Z.of_nat i + 1) 0) in
  match terms with
  | O => coefficient
  | S fewer => fused_64 (atanh_series (S i) fewer t) t coefficient
  end.

(** 2 atanh z: odd, its first term apart. *)
Definition twice_atanh (z : f64) : f64 :=
  let t := mul_64 z z in
  let twice := mul_64 (dyadic_64 2 0) z in
  fused_64 (mul_64 twice t) (atanh_series 1 10 t) twice.

Definition logarithm_of_one_plus (s : f64) : f64 :=
  if less_64 s (dyadic_64 1 (-2)) then twice_atanh (quotient_64 s (add_64 (dyadic_64 2 0) s))
  else
    let x := add_64 one_64 s in
    let high := if less_64 one_64 s then s else one_64 in
    let low := if less_64 one_64 s then one_64 else s in
    let rest := sub_64 low (sub_64 x high) in
    let bits := word_of_f64 x in
    let k := ((bits - 0x3fe6a09e667f3bcd) / 2 ^ 52)%Z in
    let m := f64_of_word (bits - k * 2 ^ 52)%Z in
    let of_m := twice_atanh (quotient_64 (sub_64 m one_64) (add_64 m one_64)) in
    fused_64 (dyadic_64 k 0) (dyadic_64 0x162e42fefa39ef (-53)) (add_64 of_m (quotient_64 rest x)).
