(** * exp as the strict kernels compute it, bit by bit.

    kernels/block/exponential.hpp with the constants of kernels/arithmetic/exp_constants.hpp, every operation in its
    order: an executable function. The power of two is made of bits.

    Source: scaled_exponential_parts, exponential_parts and exponential of that header. *)

From Coq Require Import ZArith List.
From softcheck.strict_kernels Require Import machine_numbers.
Import ListNotations.
Local Open Scope Z_scope.

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
