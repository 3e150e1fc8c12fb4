(** * The exp of the judge's double filter errs by less than 2 u: by 1.75 u, u = 2^-53.

    Main results
    - [exp_filter]   e^-D to 1.75 u for 0 <= D <= 700, with and without FMA

    Constants as in numerics/filter/row_stages.hpp, row_lanes.inl and filter_lanes.inl (a test compares them); the proof is in
    computed_exp.v, the polynomial's own error in numerics/exponential_polynomials.v.
    Source: docs/tolerances/cascade.md, "The exponential of the filter". *)

From Coq Require Import Reals List ZArith Lra Lia.
From Flocq Require Import Core.
From softcheck Require Import standard_interval.
From softcheck.floating_point Require Import formats.
From softcheck.numerics Require Import exponential_polynomials.
From softcheck.certified Require Import rounded_operations computed_exp exponential_constants.
Import ListNotations.
Local Open Scope R_scope.

Definition filter_constants : exponential := {|
  arithmetic_format := binary64;
  log2_e := 0x1.71547652b82fep+0;
  rounder := 6755399441055744;   (* 0x1.8p52 *)
  ln2_high := 0x1.62e42fefa3800p-1;
  ln2_low := 0x1.ef35793c76730p-45;
  coefficients :=
    [0x1.0000000000000p-1; 0x1.5555555555501p-3; 0x1.555555555320cp-5; 0x1.111111112897ep-7;
     0x1.6c16c17cc13f6p-10; 0x1.a01a011bc9864p-13; 0x1.a019ab342ffffp-16; 0x1.71df56123e609p-19;
     0x1.289f831c7d797p-22; 0x1.ad1eb955690abp-26];
  lowest := -700
|}.

(** The binades of r q and of c + r q. *)
Definition filter_steps : list step :=
  [term 0x1.0000000000000p-1 (-3) 0; term 0x1.5555555555501p-3 (-6) (-2);
   term 0x1.555555555320cp-5 (-8) (-4); term 0x1.111111112897ep-7 (-10) (-6);
   term 0x1.6c16c17cc13f6p-10 (-13) (-9); term 0x1.a01a011bc9864p-13 (-16) (-12);
   term 0x1.a019ab342ffffp-16 (-19) (-15); term 0x1.71df56123e609p-19 (-23) (-18);
   term 0x1.289f831c7d797p-22 (-26) (-21); term 0x1.ad1eb955690abp-26 0 0].

Lemma filter_constants_polynomial r :
  1 + r * (1 + r * horner (coefficients filter_constants) r) = filter_polynomial r.
Proof. unfold filter_polynomial. numerals. field. Qed.

Lemma filter_constants_suitable :
  suitable filter_constants (34658 / 100000) 3048493539143 (-42) 1010 10 (-33) filter_steps.
Proof.
  split; try (decide_constants; fail).
  intros r small. rewrite filter_constants_polynomial. eapply Rle_trans; [apply filter_method_error; lra|].
  numerals. lra.
Qed.

(** exponential(D): the result is p 2^k. The code computes with D where this computes with -D: neg_mul_add_opposite. *)
Theorem exp_filter D count p :
  number binary64 D -> 0 <= D <= 700 -> computed_exponential filter_constants (- D) count p ->
  exists k, count = IZR k /\ (-1010 <= k <= 0)%Z /\ number binary64 (p * two_to k) /\
    Rabs (p * two_to k - exp (- D)) <= 175 / 100 * two_to (-53) * exp (- D).
Proof.
  intros D_number range computed.
  assert (z_number : number binary64 (- D)) by now apply generic_format_opp.
  assert (z_range : -700 <= - D <= 0) by lra.
  destruct (exponential_error _ _ _ _ _ _ _ _ filter_constants_suitable (- D) z_number z_range count p computed)
    as [k [eq [kK [p_number [p_range err]]]]].
  exists k. repeat split; try easy. apply number_times_power; try easy. cbn. lia.
Qed.
