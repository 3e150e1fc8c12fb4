(** * What computed_exp.v asks of the constants of an exponential, and the tactics that decide it.

    Source: docs/tolerances/cascade.md, "The exponential of the filter". *)

From Coq Require Import Reals List ZArith Lra Lia.
From Flocq Require Import Core.
From softcheck Require Import standard_interval.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.certified Require Import rounded_operations.
Import ListNotations.
Local Open Scope R_scope.

(** What differs from place to place. *)
Record exponential := {
  arithmetic_format : format;
  log2_e : R;
  rounder : Z;
  ln2_high : R;
  ln2_low : R;
  coefficients : list R;   (** of q, from the constant one *)
  lowest : R               (** z lies in [lowest, 0] *)
}.

(** The significand p and the count k, as computed from z. *)
Definition computed_exponential (C : exponential) (z count p : R) : Prop :=
  let F := arithmetic_format C in
  exists shifted rest r q tail,
    mul_add F z (log2_e C) (IZR (rounder C)) shifted /\
    count = fl F (shifted - IZR (rounder C)) /\
    neg_mul_add F count (ln2_high C) z rest /\
    neg_mul_add F count (ln2_low C) rest r /\
    computed_horner F (coefficients C) r q /\
    mul_add F (fl F (r * r)) q r tail /\
    p = fl F (1 + tail).

(** What is asked of the constants; each is decided by computing. rho bounds |r|; C1 = M 2^e; K bounds |k|; z log2 e
    lies within 2^g, k C2 within 2^h. *)
Record suitable (C : exponential) (rho : R) (M e K g h : Z) (steps : list step) : Prop := {
  rho_small : rho <= 3466 / 10000;
  precise : (24 <= prec (arithmetic_format C))%Z;
  deep : (emin (arithmetic_format C) <= - prec (arithmetic_format C) - 40)%Z;
  binades : (-40 <= h <= -11 /\ 0 <= g <= 11)%Z;
  high_form : ln2_high C = IZR M * two_to e;
  high_bits : (Z.abs M * K < 2 ^ prec (arithmetic_format C))%Z;
  high_place : (- prec (arithmetic_format C) - 1 <= e)%Z;
  high_sign : 0 <= ln2_high C;
  log2_range : 1 <= log2_e C <= 3 / 2;
  product_binade : - lowest C * log2_e C <= two_to g;
  window : two_to (prec (arithmetic_format C) - 1) + two_to (g + 1) <= IZR (rounder C) <=
           two_to (prec (arithmetic_format C)) - 2;
  counts : - lowest C * log2_e C + 3 / 4 < IZR K + 1;
  near : - lowest C * Rabs (1 - log2_e C * ln2_high C) +
         ln2_high C * (1 / 2 + two_to (g - prec (arithmetic_format C) - 1)) + two_to (h + 1) <= 1 / 2;
  range : - lowest C * Rabs (1 - log2_e C * ln 2) + ln 2 * (1 / 2 + two_to (g - prec (arithmetic_format C) - 1)) +
          unit_roundoff (arithmetic_format C) <= rho;
  low_binade : IZR K * Rabs (ln2_low C) <= two_to h;
  ln2_close : IZR K * Rabs (ln 2 - ln2_high C - ln2_low C) <= unit_roundoff (arithmetic_format C) / 1024;
  coefficients_named : map (fun s => fst (fst s)) steps = coefficients C;
  steps_hold : binades_hold (arithmetic_format C) rho steps;
  largest_q : largest (arithmetic_format C) rho steps <= 3 / 5;
  error_q : error (arithmetic_format C) rho steps <= 5 / 8 * unit_roundoff (arithmetic_format C);
  truncation : forall r, Rabs r <= rho ->
    Rabs ((1 + r * (1 + r * horner (coefficients C) r)) * exp (- r) - 1) <=
      65 / 1000 * unit_roundoff (arithmetic_format C)
}.

Arguments rho_small {C rho M e K g h steps} _.
Arguments precise {C rho M e K g h steps} _.
Arguments deep {C rho M e K g h steps} _.
Arguments binades {C rho M e K g h steps} _.
Arguments high_form {C rho M e K g h steps} _.
Arguments high_bits {C rho M e K g h steps} _.
Arguments high_place {C rho M e K g h steps} _.
Arguments high_sign {C rho M e K g h steps} _.
Arguments log2_range {C rho M e K g h steps} _.
Arguments product_binade {C rho M e K g h steps} _.
Arguments window {C rho M e K g h steps} _.
Arguments counts {C rho M e K g h steps} _.
Arguments near {C rho M e K g h steps} _.
Arguments range {C rho M e K g h steps} _.
Arguments low_binade {C rho M e K g h steps} _.
Arguments ln2_close {C rho M e K g h steps} _.
Arguments coefficients_named {C rho M e K g h steps} _.
Arguments steps_hold {C rho M e K g h steps} _.
Arguments largest_q {C rho M e K g h steps} _.
Arguments error_q {C rho M e K g h steps} _.
Arguments truncation {C rho M e K g h steps} _ r _.

(** Literals and powers of two as quotients of integers, which interval arithmetic and lia read. *)
Ltac numerals :=
  cbn -[Q2R bpow IZR Z.mul Z.add Z.sub Z.opp Z.pow Z.pow_pos Rabs ln exp];
  unfold Q2R, unit_roundoff; cbn [QArith_base.Qnum QArith_base.Qden];
  repeat match goal with
  | |- context [bpow radix2 ?e] =>
      let v := eval vm_compute in e in
      match v with
      | Z0 => change (bpow radix2 e) with 1
      | Zpos ?n => let w := eval vm_compute in (Z.pow_pos 2 n) in change (bpow radix2 e) with (IZR w)
      | Zneg ?n => let w := eval vm_compute in (Z.pow_pos 2 n) in change (bpow radix2 e) with (/ IZR w)
      end
  | |- context [Z.pow_pos 2 ?n] => let w := eval vm_compute in (Z.pow_pos 2 n) in change (Z.pow_pos 2 n) with w
  end.

(** Everything that [suitable] asks but the polynomial's own error. *)
Ltac decide_constants :=
  numerals; repeat split; first [reflexivity | lia | lra | interval with (Tactic.i_prec 160%positive) | idtac].
