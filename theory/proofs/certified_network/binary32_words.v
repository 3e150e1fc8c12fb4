(** * The numbers of a network's file: binary32 words in hexadecimal, eight digits each, as integers.

    Main results
    - [word_units]   what a finite word stands for: sign, 24-bit significand and exponent, in units of 2^-149, the smallest
                     binary32 number
    - [word_is_binary32]   Flocq's binary32 number of the same bits has this value

    A row of a matrix is one literal, so that Coq reads a network in seconds. *)

From Coq Require Import Reals List ZArith Lia Number Hexadecimal.
From Flocq Require Import Core IEEE754.Binary IEEE754.Bits.
From softcheck.certified_network Require Import fixed_point ball_layers.
Import ListNotations.
Local Open Scope Z_scope.

Definition digits (d : Number.uint) : Number.uint := d.
Declare Scope words_scope.
Delimit Scope words_scope with words.
Number Notation Number.uint digits digits : words_scope.

Fixpoint nibbles (d : Hexadecimal.uint) : list Z :=
  match d with
  | Nil => []
  | D0 d => 0 :: nibbles d | D1 d => 1 :: nibbles d | D2 d => 2 :: nibbles d | D3 d => 3 :: nibbles d
  | D4 d => 4 :: nibbles d | D5 d => 5 :: nibbles d | D6 d => 6 :: nibbles d | D7 d => 7 :: nibbles d
  | D8 d => 8 :: nibbles d | D9 d => 9 :: nibbles d | Da d => 10 :: nibbles d | Db d => 11 :: nibbles d
  | Dc d => 12 :: nibbles d | Dd d => 13 :: nibbles d | De d => 14 :: nibbles d | Df d => 15 :: nibbles d
  end.

Fixpoint words (n : list Z) : list Z :=
  match n with
  | a :: b :: c :: d :: e :: f :: g :: h :: n =>
      (((((((a * 16 + b) * 16 + c) * 16 + d) * 16 + e) * 16 + f) * 16 + g) * 16 + h) :: words n
  | _ => []
  end.

(** Sign, exponent field and fraction field. *)
Definition fraction_of (w : Z) : Z := w mod 2 ^ 23.
Definition exponent_of (w : Z) : Z := (w / 2 ^ 23) mod 2 ^ 8.
Definition finite_word (w : Z) : bool := (exponent_of w <? 255).

Definition word_units (w : Z) : Z :=
  let e := exponent_of w in
  let size := if e =? 0 then fraction_of w else (fraction_of w + 2 ^ 23) * 2 ^ (e - 1) in
  if 2 ^ 31 <=? w then - size else size.

Definition row_words (d : Number.uint) : list Z :=
  match d with UIntHexadecimal d => words (nibbles d) | UIntDecimal _ => [] end.
Definition row (d : Number.uint) : list Z := map word_units (row_words d).
Definition layer (rows : list Number.uint) (bias : Number.uint) : dense_layer :=
  {| weights := map row rows; biases := row bias |}.

(** Every word of every row is finite. *)
Definition finite_layer (rows : list Number.uint) (bias : Number.uint) : bool :=
  forallb (fun d => forallb finite_word (row_words d)) (bias :: rows).

Local Open Scope R_scope.

Theorem word_is_binary32 w :
  (0 <= w < 2 ^ 32)%Z -> finite_word w = true -> B2R 24 128 (b32_of_bits w) = place 149 (word_units w).
Proof.
  intros range finite. unfold finite_word in finite. apply Z.ltb_lt in finite. unfold b32_of_bits, binary_float_of_bits.
  rewrite B2R_FF2B. unfold binary_float_of_bits_aux, split_bits. change (w mod 2 ^ 23)%Z with (fraction_of w).
  change ((w / 2 ^ 23) mod 2 ^ 8)%Z with (exponent_of w). change (2 ^ 23 * 2 ^ 8 <=? w)%Z with (2 ^ 31 <=? w)%Z.
  unfold word_units. cbv zeta. assert (fraction : (0 <= fraction_of w < 2 ^ 23)%Z) by (apply Z.mod_pos_bound; lia).
  assert (exponent : (0 <= exponent_of w < 2 ^ 8)%Z) by (apply Z.mod_pos_bound; lia).
  assert (signed : forall s m e, (-149 <= e)%Z ->
    F2R (Defs.Float radix2 (cond_Zopp s (Zpos m)) e)
    = place 149 (if s then - (Zpos m * 2 ^ (e + 149)) else Zpos m * 2 ^ (e + 149))%Z).
  { intros s m e deep. unfold F2R, place. cbn [Defs.Fnum Defs.Fexp].
    replace (bpow radix2 e) with (IZR (2 ^ (e + 149)) / IZR (2 ^ 149)).
    2:{ rewrite !(IZR_Zpower radix2) by lia. rewrite bpow_plus. field. apply Rgt_not_eq, bpow_gt_0. }
    destruct s; cbn [cond_Zopp]; rewrite ?opp_IZR, mult_IZR, ?opp_IZR; unfold Rdiv; ring. }
  generalize dependent (fraction_of w). generalize dependent (exponent_of w). intros e small_e exponent m fraction.
  generalize (2 ^ 31 <=? w)%Z. intros s. change (SpecFloat.emin (23 + 1) (2 ^ (8 - 1))) with (-149)%Z.
  destruct (Zeq_bool e 0) eqn:field.
  - apply Zeq_bool_eq in field. subst e. cbn [Z.eqb]. destruct m as [|m|m]; [| |lia]; cbn [FF2R].
    + destruct s; now rewrite place_zero.
    + rewrite signed by lia. change (2 ^ (-149 + 149))%Z with 1%Z. now rewrite Z.mul_1_r.
  - apply Zeq_bool_neq in field. rewrite (proj2 (Z.eqb_neq e 0) field).
    destruct (Zeq_bool e (2 ^ 8 - 1)) eqn:last;
      [apply Zeq_bool_eq in last; change (2 ^ 8 - 1)%Z with 255%Z in last; lia|].
    destruct (m + 2 ^ 23)%Z as [|p|p] eqn:sum; [lia| |lia]. cbn [FF2R]. rewrite signed by lia.
    now replace (e + -149 - 1 + 149)%Z with (e - 1)%Z by lia.
Qed.
