(** * The tree kernels' softmax, log-sum-exp and entropy, bit by bit: every operation in its order, an executable function.

    An order is a list of bits of an item's index, the first that are added last. The kernels' order takes the bits of v, stripe,
    lane and tile in turn ([canonical_order]). A masked item is -inf.

    Source: kernels/block/tree_order.hpp, tree_rows.hpp. *)

From Coq Require Import ZArith NArith List Bool.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.strict_kernels Require Import machine_numbers.
Import ListNotations.

(** ** The order *)

Section Orders.
  Local Open Scope N_scope.

  (** The items i + (any sum of the bits' powers), added up. *)
  Fixpoint added_by {A} (plus : A -> A -> A) (bits : list N) (item : N -> A) (i : N) : A :=
    match bits with
    | [] => item i
    | b :: rest => plus (added_by plus rest item i) (added_by plus rest item (i + 2 ^ b))
    end.

  (** The bits 0 to k - 1, the highest first. *)
  Fixpoint bits_below (k : nat) : list N :=
    match k with O => [] | S fewer => N.of_nat fewer :: bits_below fewer end.

  (** Bits from one on, so many, the highest first; the order of a row of 2^(vector + 7 + tiles) items. *)
  Definition bits_from (first count : nat) : list N := map (fun b => N.of_nat first + b) (bits_below count).
  Definition canonical_order (vector tiles : nat) : list N :=
    bits_from (vector + 7) tiles ++ bits_from vector 5 ++ bits_from (vector + 5) 2 ++ bits_from 0 vector.
End Orders.

(** ** A row *)

Definition tree_larger (x y : f32) : f32 := if is_nan x || less y x then x else y.
Definition tree_maximum (row : list f32) : f32 :=
  let largest := fold_left tree_larger row minus_infinity in
  if less largest plus_infinity then add largest zero else B754_nan.
Definition item_of (row : list f32) (i : N) : f32 := nth (N.to_nat i) row minus_infinity.
Definition tree_argument (scale m x : f32) : f32 := with_weight (mul (sub x m) scale).
(** Of a row of so many items: 2^vector of them lie in 16 bytes. *)
Definition order_of (vector items : nat) : list N := canonical_order vector (Nat.log2_up items - (vector + 7)).

Definition tree_sum (vector : nat) (scale m : f32) (row : list f32) : f32 :=
  let items := N.of_nat (length row) in
  added_by add (order_of vector (length row))
    (fun i => if N.ltb i items then tree_weight (tree_argument scale m (item_of row i)) else zero) 0.

(** T = sum w z: two neighbours' terms in a product and an fma. *)
Definition paired (weight argument : N -> f32) (i : N) : f32 := fused (weight (i + 1)%N) (argument (i + 1)%N) (mul (weight i) (argument i)).
Definition tree_products (vector : nat) (scale m : f32) (row : list f32) : f32 :=
  let items := N.of_nat (length row) in
  let argument i := tree_argument scale m (item_of row i) in
  added_by add (removelast (order_of vector (length row)))
    (paired (fun i => if N.ltb i items then tree_weight (argument i) else zero) argument) 0.

Definition tree_softmax (vector : nat) (scale : f32) (row : list f32) : list f32 :=
  let m := tree_maximum row in
  if less minus_infinity m
  then let factor := quotient one (tree_sum vector scale m row) in map (fun x => mul (tree_weight (tree_argument scale m x)) factor) row
  else map (fun _ => B754_nan) row.

(** ** The logarithm of a sum, in double *)

(** x / y from an approximation of 1 / y, by steps of Newton's. *)
Fixpoint newton (steps : nat) (y inverse : f64) : f64 :=
  match steps with
  | O => inverse
  | S fewer => newton fewer y (fused_64 (fused_64 (neg_64 y) inverse one_64) inverse inverse)
  end.
Definition quotient_of (steps : nat) (x y inverse : f64) : f64 :=
  let i := newton steps y inverse in let q := mul_64 x i in fused_64 (fused_64 (neg_64 y) q x) i q.

(** The line nearest to 1 / (m + 1). *)
Definition line_of (p : f64) : f64 := fused_64 (dyadic_64 (-2152864737071173) (-53)) p (dyadic_64 8872649712273671 (-53)).

Definition tree_logarithm (sum : f32) : f64 :=
  let s := mul sum exp_unscale in
  let bits := word_of_f64 (widened (if less s one then one else s)) in
  let k := ((bits - 0x3fe6a09e667f3bcd) / 2 ^ 52)%Z in
  let m := f64_of_word (bits - k * 2 ^ 52)%Z in
  let p := add_64 m one_64 in
  fused_64 (dyadic_64 k 0) (dyadic_64 0x162e42fefa39ef (-53)) (twice_atanh (quotient_of 3 (sub_64 m one_64) p (line_of p))).

Definition tree_logsumexp (vector : nat) (theta : f64) (row : list f32) : f32 :=
  let m := tree_maximum row in
  let inverse := quotient_64 one_64 theta in
  let q := mul_64 (widened m) inverse in
  narrowed
    (if is_finite q
     then add_64 q (fused_64 (fused_64 (neg_64 q) theta (widened m)) inverse (tree_logarithm (tree_sum vector (scale_of theta) m row)))
     else q).

(** ** The entropy, ln S - T / S *)

(** 1 / sum by its bits, and nearer by a step of Newton's. *)
Definition inverse_bits (sum : f32) : f32 := f32_of_word ((0x7ef311c3 - word_of_f32 sum) mod 2 ^ 32).
Definition nearer (sum inverse : f32) : f32 := fused (fused (neg inverse) sum one) inverse inverse.
Definition tree_mean (products sum : f32) : f64 :=
  quotient_of 2 (widened products) (widened sum) (widened (nearer sum (nearer sum (inverse_bits sum)))).

Definition tree_entropy (vector : nat) (scale : f32) (row : list f32) : f32 :=
  let m := tree_maximum row in
  let sum := tree_sum vector scale m row in
  narrowed (add_64 (sub_64 (tree_logarithm sum) (tree_mean (tree_products vector scale m row) sum)) (widened (sub m m))).
