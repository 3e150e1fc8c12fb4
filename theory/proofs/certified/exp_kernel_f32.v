(** * The exp of the f32 CPU kernels errs by less than 1 ulp: 1.75 u, u = 2^-24.

    Main results
    - [exp_kernel_f32]   e^z to 1.75 u on [-110, 0], with and without FMA
    - [exp_kernel_f32_keeps_contract]   it is a computed exponential of a contract that says exp=1ulp (E = 2)

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

Definition exp_f32 : exponential := {|
  arithmetic_format := binary32;
  log2_e := 0x1.715476p+0;
  rounder := 12582912 + (64 + 127)   (* 0x1.8p+23 + (64 + 127) *);
  ln2_high := 0x1.62e4p-1;
  ln2_low := 0x1.7f7d1cp-20;
  coefficients :=
    [0x1.fffffcp-2; 0x1.555492p-3; 0x1.5558f2p-5; 0x1.1239e4p-7; 0x1.6a2432p-10];
  lowest := -110
|}.

(** The binades of r q and of c + r q. *)
Definition steps_f32 : list step :=
  [term 0x1.fffffcp-2 (-3) 0; term 0x1.555492p-3 (-6) (-2); term 0x1.5558f2p-5 (-8) (-4);
   term 0x1.1239e4p-7 (-11) (-6); term 0x1.6a2432p-10 0 0].

Lemma exp_f32_polynomial r : 1 + r * (1 + r * horner (coefficients exp_f32) r) = cpu_binary32_polynomial r.
Proof. unfold cpu_binary32_polynomial. numerals. field. Qed.

Lemma exp_f32_suitable : suitable exp_f32 (34660 / 100000) 22713 (-15) 160 8 (-12) steps_f32.
Proof.
  split; try (decide_constants; fail).
  intros r small. rewrite exp_f32_polynomial. eapply Rle_trans; [apply cpu_binary32_method_error; lra|].
  numerals. lra.
Qed.

(** scaled_exps, and its product by 2^(k + 64): e^z 2^64 to 1.75 u. *)
Theorem exp_kernel_f32 z count p :
  number binary32 z -> -110 <= z <= 0 -> computed_exponential exp_f32 z count p ->
  exists k, count = IZR k /\ (-160 <= k <= 0)%Z /\
    fl binary32 (p * two_to (k + 64)) = p * two_to (k + 64) /\
    Rabs (p * two_to (k + 64) - exp z * two_to 64) <= 175 / 100 * two_to (-24) * (exp z * two_to 64).
Proof.
  intros z_number range computed.
  destruct (exponential_error _ _ _ _ _ _ _ _ exp_f32_suitable z z_number range count p computed)
    as [k [eq [kK [p_number [p_range err]]]]].
  exists k. repeat split; try easy.
  - apply power_is_exact; try easy. cbn. lia.
  - rewrite bpow_plus, <- Rmult_assoc. apply scaled_error; [apply err | apply bpow_ge_0].
Qed.

Theorem exp_kernel_f32_keeps_contract A E_l step z count p :
  (A <= 12)%nat -> 0 <= E_l -> 0 <= step <= / 2 ->
  number binary32 z -> -110 <= z <= 0 -> computed_exponential exp_f32 z count p ->
  exists k, count = IZR k /\ computed_exp (kernel_arithmetic binary32 false 2 A E_l step) (- z) (p * two_to k).
Proof.
  intros A_range E_l_range step_range z_number range computed.
  destruct (exponential_error _ _ _ _ _ _ _ _ exp_f32_suitable z z_number range count p computed)
    as [k [eq [_ [_ [_ err]]]]].
  pose proof (bpow_gt_0 radix2 (-24)) as positive.
  assert (small : 2 * two_to (-24) < 1) by (numerals; lra).
  exists k. split; [easy|]. apply meets_contract.
  - change (unit_roundoff binary32) with (two_to (-24)). lra.
  - eapply Rle_trans; [apply err|]. apply Rmult_le_compat_r; [left; apply exp_pos|].
    change (unit_roundoff _) with (two_to (-24)). lra.
  - apply binary32_sound; first [easy | lra | apply small].
Qed.
