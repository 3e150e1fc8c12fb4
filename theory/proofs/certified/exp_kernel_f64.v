(** * The exp of the f64 CPU kernels errs by less than 1 ulp: 1.75 u, u = 2^-53.

    Main results
    - [exp_kernel_f64]   e^z to 1.75 u on [-760, 0], with and without FMA
    - [exp_kernel_f64_keeps_contract]   it is a computed exponential of a contract that says exp=1ulp (E = 2)

    Constants as in kernels/arithmetic/exp_constants.hpp (a test compares them); the proof is in computed_exp.v, the
    polynomial's own error in numerics/exponential_polynomials.v.
    Source: kernels/README.md, "Why the contract holds". *)

From Coq Require Import Reals List ZArith Lra Lia.
From Flocq Require Import Core.
From softcheck Require Import standard_interval.
From softcheck.floating_point Require Import standard_model formats.
From softcheck.numerics Require Import exponential_polynomials.
From softcheck.certified Require Import rounded_operations computed_exp exponential_constants.
Import ListNotations.
Local Open Scope R_scope.

Definition exp_f64 : exponential := {|
  arithmetic_format := binary64;
  log2_e := 0x1.71547652b82fep+0;
  rounder := 6755399441055744 + (512 + 1023)   (* 0x1.8p+52 + (512 + 1023) *);
  ln2_high := 0x1.62e42fefa4p-1;
  ln2_low := -0x1.8432a1b0e2634p-43;
  coefficients :=
    [0x1p-1; 0x1.555555555555bp-3; 0x1.5555555555503p-5; 0x1.111111110ec63p-7; 0x1.6c16c16c3044ap-10;
     0x1.a01a01b37bc9dp-13; 0x1.a01a01369bfd9p-16; 0x1.71ddf02700d6cp-19; 0x1.27e5b43856402p-22;
     0x1.af6bdce23ee77p-26; 0x1.1e3d3231467cep-29];
  lowest := -760
|}.

(** The binades of r q and of c + r q. *)
Definition steps_f64 : list step :=
  [term 0x1p-1 (-3) 0; term 0x1.555555555555bp-3 (-6) (-2); term 0x1.5555555555503p-5 (-8) (-4);
   term 0x1.111111110ec63p-7 (-10) (-6); term 0x1.6c16c16c3044ap-10 (-13) (-9);
   term 0x1.a01a01b37bc9dp-13 (-16) (-12); term 0x1.a01a01369bfd9p-16 (-19) (-15);
   term 0x1.71ddf02700d6cp-19 (-23) (-18); term 0x1.27e5b43856402p-22 (-26) (-21);
   term 0x1.af6bdce23ee77p-26 (-30) (-25); term 0x1.1e3d3231467cep-29 0 0].

Lemma exp_f64_polynomial r : 1 + r * (1 + r * horner (coefficients exp_f64) r) = cpu_binary64_polynomial r.
Proof. unfold cpu_binary64_polynomial. numerals. field. Qed.

Lemma exp_f64_suitable : suitable exp_f64 (34660 / 100000) (381061692393) (-39) 1098 11 (-32) steps_f64.
Proof.
  split; try (decide_constants; fail).
  intros r small. rewrite exp_f64_polynomial. eapply Rle_trans; [apply cpu_binary64_method_error; lra|].
  numerals. lra.
Qed.

(** scaled_exps, and its product by 2^(k + 512): e^z 2^512 to 1.75 u. *)
Theorem exp_kernel_f64 z count p :
  number binary64 z -> -760 <= z <= 0 -> computed_exponential exp_f64 z count p ->
  exists k, count = IZR k /\ (-1098 <= k <= 0)%Z /\
    fl binary64 (p * two_to (k + 512)) = p * two_to (k + 512) /\
    Rabs (p * two_to (k + 512) - exp z * two_to 512) <= 175 / 100 * two_to (-53) * (exp z * two_to 512).
Proof.
  intros z_number range computed.
  destruct (exponential_error _ _ _ _ _ _ _ _ exp_f64_suitable z z_number range count p computed)
    as [k [eq [kK [p_number [p_range err]]]]].
  exists k. repeat split; try easy.
  - apply power_is_exact; try easy. cbn. lia.
  - rewrite bpow_plus, <- Rmult_assoc. apply scaled_error; [apply err | apply bpow_ge_0].
Qed.

Theorem exp_kernel_f64_keeps_contract A E_l step z count p :
  (A <= 12)%nat -> 0 <= E_l -> 0 <= step <= / 2 ->
  number binary64 z -> -760 <= z <= 0 -> computed_exponential exp_f64 z count p ->
  exists k, count = IZR k /\ computed_exp (kernel_arithmetic binary64 false 2 A E_l step) (- z) (p * two_to k).
Proof.
  intros A_range E_l_range step_range z_number range computed.
  destruct (exponential_error _ _ _ _ _ _ _ _ exp_f64_suitable z z_number range count p computed)
    as [k [eq [_ [_ [_ err]]]]].
  pose proof (bpow_gt_0 radix2 (-53)) as positive.
  assert (small : 2 * two_to (-53) < 1) by (numerals; lra).
  exists k. split; [easy|]. apply meets_contract.
  - change (unit_roundoff binary64) with (two_to (-53)). lra.
  - eapply Rle_trans; [apply err|]. apply Rmult_le_compat_r; [left; apply exp_pos|].
    change (unit_roundoff _) with (two_to (-53)). lra.
  - apply binary64_sound; first [easy | lra | apply small].
Qed.
