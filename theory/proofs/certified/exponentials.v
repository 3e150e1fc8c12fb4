(** * The exps of the CPU kernels and of the judge's double filter err by 1.75 u, u = 2^-24 in f32, 2^-53 else.

    Main results
    - [exp_kernel_f32]   e^z to 1.75 u on [-110, 0], with and without FMA
    - [exp_kernel_f32_keeps_contract]   it is a computed exponential of a contract that says exp=1ulp (E = 2)
    - [exp_kernel_f64]   e^z to 1.75 u on [-760, 0], with and without FMA
    - [exp_kernel_f64_keeps_contract]   it is a computed exponential of a contract that says exp=1ulp (E = 2)
    - [exp_filter]   e^-D to 1.75 u for 0 <= D <= 700, with and without FMA

    Constants as in kernels/arithmetic/exp_constants.hpp, numerics/filter/row_stages.hpp, row_lanes.inl and filter_lanes.inl (a test
    compares them); the proof is in computed_exp.v, the polynomials' own errors in numerics/exponential_polynomials.v.
    Source: kernels/README.md, "Why the contract holds"; docs/tolerances/cascade.md, "The exponential of the filter". *)

From Coq Require Import Reals List ZArith Lra Lia.
From Flocq Require Import Core.
From softcheck Require Import standard_interval.
From softcheck.floating_point Require Import standard_model formats.
From softcheck.numerics Require Import exponential_polynomials.
From softcheck.certified Require Import rounded_operations computed_exp exponential_constants.
Import ListNotations.
Local Open Scope R_scope.

Section Kernel.
  Context (C : exponential) (rho : R) (M e K g h : Z) (steps : list step) (fits : suitable C rho M e K g h steps).
  Notation F := (arithmetic_format C).
  Context (z count p : R) (z_number : number F z) (range : lowest C <= z <= 0) (computed : computed_exponential C z count p).

  (** scaled_exps, and its product by 2^(k + s). *)
  Lemma scaled_kernel s :
    (emin F + prec F <= s - K)%Z ->
    exists k, count = IZR k /\ (- K <= k <= 0)%Z /\ fl F (p * two_to (k + s)) = p * two_to (k + s) /\
      Rabs (p * two_to (k + s) - exp z * two_to s) <= 175 / 100 * unit_roundoff F * (exp z * two_to s).
  Proof using fits z_number range computed.
    intros fine. destruct (exponential_error _ _ _ _ _ _ _ _ fits z z_number range count p computed)
      as [k [eq [kK [p_number [p_range err]]]]].
    exists k. repeat split; try easy.
    - apply power_is_exact; try easy; [pose proof (precise fits)|]; lia.
    - rewrite bpow_plus, <- Rmult_assoc. apply scaled_error; [apply err | apply bpow_ge_0].
  Qed.

  Lemma kernel_keeps_contract A E_l step :
    sound (kernel_arithmetic F false 2 A E_l step) -> 2 * unit_roundoff F < 1 ->
    exists k, count = IZR k /\ computed_exp (kernel_arithmetic F false 2 A E_l step) (- z) (p * two_to k).
  Proof using fits z_number range computed.
    intros good small. destruct (exponential_error _ _ _ _ _ _ _ _ fits z z_number range count p computed)
      as [k [eq [_ [_ [_ err]]]]].
    pose proof (bpow_gt_0 radix2 (- prec F)) as positive. fold (unit_roundoff F) in positive.
    exists k. split; [easy|]. apply meets_contract; [lra| |exact good].
    eapply Rle_trans; [apply err|]. apply Rmult_le_compat_r; [left; apply exp_pos|lra].
  Qed.
End Kernel.

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
  split; try (decide_constants; fail). intros r small. rewrite exp_f32_polynomial.
  eapply Rle_trans; [apply cpu_binary32_method_error; lra|]. numerals. lra.
Qed.

Theorem exp_kernel_f32 z count p :
  number binary32 z -> -110 <= z <= 0 -> computed_exponential exp_f32 z count p ->
  exists k, count = IZR k /\ (-160 <= k <= 0)%Z /\
    fl binary32 (p * two_to (k + 64)) = p * two_to (k + 64) /\
    Rabs (p * two_to (k + 64) - exp z * two_to 64) <= 175 / 100 * two_to (-24) * (exp z * two_to 64).
Proof. intros number range computed. exact (scaled_kernel _ _ _ _ _ _ _ _ exp_f32_suitable z count p number range computed 64 ltac:(cbn; lia)). Qed.

Theorem exp_kernel_f32_keeps_contract A E_l step z count p :
  (A <= 12)%nat -> 0 <= E_l -> 0 <= step <= / 2 ->
  number binary32 z -> -110 <= z <= 0 -> computed_exponential exp_f32 z count p ->
  exists k, count = IZR k /\ computed_exp (kernel_arithmetic binary32 false 2 A E_l step) (- z) (p * two_to k).
Proof.
  intros few log_error small_step number range computed. assert (small : 2 * two_to (-24) < 1) by (numerals; lra).
  apply (kernel_keeps_contract _ _ _ _ _ _ _ _ exp_f32_suitable z count p number range computed); [|exact small].
  apply binary32_sound; first [easy | lra | exact small].
Qed.

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
  split; try (decide_constants; fail). intros r small. rewrite exp_f64_polynomial.
  eapply Rle_trans; [apply cpu_binary64_method_error; lra|]. numerals. lra.
Qed.

Theorem exp_kernel_f64 z count p :
  number binary64 z -> -760 <= z <= 0 -> computed_exponential exp_f64 z count p ->
  exists k, count = IZR k /\ (-1098 <= k <= 0)%Z /\
    fl binary64 (p * two_to (k + 512)) = p * two_to (k + 512) /\
    Rabs (p * two_to (k + 512) - exp z * two_to 512) <= 175 / 100 * two_to (-53) * (exp z * two_to 512).
Proof. intros number range computed. exact (scaled_kernel _ _ _ _ _ _ _ _ exp_f64_suitable z count p number range computed 512 ltac:(cbn; lia)). Qed.

Theorem exp_kernel_f64_keeps_contract A E_l step z count p :
  (A <= 12)%nat -> 0 <= E_l -> 0 <= step <= / 2 ->
  number binary64 z -> -760 <= z <= 0 -> computed_exponential exp_f64 z count p ->
  exists k, count = IZR k /\ computed_exp (kernel_arithmetic binary64 false 2 A E_l step) (- z) (p * two_to k).
Proof.
  intros few log_error small_step number range computed. assert (small : 2 * two_to (-53) < 1) by (numerals; lra).
  apply (kernel_keeps_contract _ _ _ _ _ _ _ _ exp_f64_suitable z count p number range computed); [|exact small].
  apply binary64_sound; first [easy | lra | exact small].
Qed.

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

Lemma filter_constants_polynomial r : 1 + r * (1 + r * horner (coefficients filter_constants) r) = filter_polynomial r.
Proof. unfold filter_polynomial. numerals. field. Qed.

Lemma filter_constants_suitable :
  suitable filter_constants (34658 / 100000) 3048493539143 (-42) 1010 10 (-33) filter_steps.
Proof.
  split; try (decide_constants; fail). intros r small. rewrite filter_constants_polynomial.
  eapply Rle_trans; [apply filter_method_error; lra|]. numerals. lra.
Qed.

(** exponential(D): the result is p 2^k. The code computes with D where this computes with -D: neg_mul_add_opposite. *)
Theorem exp_filter D count p :
  number binary64 D -> 0 <= D <= 700 -> computed_exponential filter_constants (- D) count p ->
  exists k, count = IZR k /\ (-1010 <= k <= 0)%Z /\ number binary64 (p * two_to k) /\
    Rabs (p * two_to k - exp (- D)) <= 175 / 100 * two_to (-53) * exp (- D).
Proof.
  intros D_number range computed. assert (z_number : number binary64 (- D)) by now apply generic_format_opp.
  assert (z_range : -700 <= - D <= 0) by lra.
  destruct (exponential_error _ _ _ _ _ _ _ _ filter_constants_suitable (- D) z_number z_range count p computed)
    as [k [eq [kK [p_number [p_range err]]]]].
  exists k. repeat split; try easy. apply number_times_power; try easy. cbn. lia.
Qed.
