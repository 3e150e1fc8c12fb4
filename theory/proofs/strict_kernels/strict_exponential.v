(** * The strict kernels' exponential is the certified one, and errs by less than 2 u.

    Main results
    - [operations_are_certified]   its operations on binary32 numbers are those of certified/exp_kernel_f32.v, step by step
    - [power_is_made_of_bits]      the bits of the count, shifted, are those of 2^(k + 64)
    - [weight_is_computed]         exponential(z) is a computed exponential of the model of arithmetic, for every z <= 0
    - [parts_are_computed]         so is the sum of exponential_parts(z), whose rest is at most 8 u of its value

    Source: kernels/block/exponential.hpp; certified/computed_exp.v. *)

From Coq Require Import Reals List ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN Sterbenz.
From softcheck Require Import standard_interval.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.certified Require Import rounded_operations computed_exp exp_kernel_f32.
From softcheck.strict_kernels Require Import machine_numbers block_exponential strict_operations.
Import ListNotations.
Local Open Scope R_scope.

(** ** The constants *)

Ltac known := apply dyadic_value; [first [left; reflexivity|right; split; reflexivity]|lia].
Ltac constant := eapply value_at; [known|numerals; lra].

Lemma log2_e_value : is_value exp_log2_e (log2_e exp_f32). Proof. constant. Qed.
Lemma rounder_value : is_value exp_rounder (IZR (rounder exp_f32)).
Proof. eapply value_at; [known|cbn; lra]. Qed.
Lemma ln2_high_value : is_value exp_ln2_high (ln2_high exp_f32). Proof. constant. Qed.
Lemma ln2_low_value : is_value exp_ln2_low (ln2_low exp_f32). Proof. constant. Qed.
Lemma unscale_value : is_value exp_unscale (two_to (-64)).
Proof. eapply value_at; [known|ring]. Qed.
Lemma lowest_value : is_value exp_lowest (-110). Proof. constant. Qed.

(** ** Operations that stay far from overflow *)

Lemma fused_far x y z a b c i j l :
  is_value x a -> is_value y b -> is_value z c ->
  Rabs a <= two_to i -> Rabs b <= two_to j -> Rabs c <= two_to l -> (l <= i + j)%Z -> (-149 <= i + j + 1 <= 127)%Z ->
  is_value (fused x y z) (fl32 (a * b + c)) /\ Rabs (fl32 (a * b + c)) <= two_to (i + j + 1).
Proof.
  intros hx hy hz ba bb bc le range.
  assert (bound : Rabs (a * b + c) <= two_to (i + j + 1)).
  { eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
    assert (Rabs a * Rabs b <= two_to i * two_to j) by (apply Rmult_le_compat; auto using Rabs_pos).
    rewrite <- bpow_plus in *. pose proof (bpow_le radix2 l (i + j) le).
    rewrite (bpow_plus _ (i + j) 1). change (two_to 1) with 2. lra. }
  split; [|apply fl_within; [lia|easy]].
  apply fused_value; try easy. eapply Rle_trans; [apply bound|apply bpow_le; lia].
Qed.

(** Horner's rule on |r| <= 2^9: every value is the certified one's, below 2^40. *)
Lemma horner_far r a :
  is_value r a -> Rabs a <= two_to 9 ->
  exists q, is_value (fused_horner exp_coefficients r) q /\ computed_horner binary32 (coefficients exp_f32) a q /\
    Rabs q <= two_to 40.
Proof.
  intros hr small.
  assert (c0 : is_value (dyadic 0x1fffffc (-26)) 0x1.fffffcp-2) by constant.
  assert (c1 : is_value (dyadic 0x1555492 (-27)) 0x1.555492p-3) by constant.
  assert (c2 : is_value (dyadic 0x15558f2 (-29)) 0x1.5558f2p-5) by constant.
  assert (c3 : is_value (dyadic 0x11239e4 (-31)) 0x1.1239e4p-7) by constant.
  assert (c4 : is_value (dyadic 0x16a2432 (-34)) 0x1.6a2432p-10) by constant.
  assert (below_one : Rabs 0x1.fffffcp-2 <= two_to 0 /\ Rabs 0x1.555492p-3 <= two_to 0 /\
    Rabs 0x1.5558f2p-5 <= two_to 0 /\ Rabs 0x1.1239e4p-7 <= two_to 0 /\ Rabs 0x1.6a2432p-10 <= two_to 0).
  { repeat split; numerals; apply Rabs_le; lra. }
  destruct below_one as [s0 [s1 [s2 [s3 s4]]]].
  destruct (fused_far _ _ _ _ _ _ 0 9 0 c4 hr c3 s4 small s3) as [v3 b3]; [lia..|].
  destruct (fused_far _ _ _ _ _ _ _ 9 0 v3 hr c2 b3 small s2) as [v2 b2]; [lia..|].
  destruct (fused_far _ _ _ _ _ _ _ 9 0 v2 hr c1 b2 small s1) as [v1 b1]; [lia..|].
  destruct (fused_far _ _ _ _ _ _ _ 9 0 v1 hr c0 b1 small s0) as [v0 b0]; [lia..|].
  eexists. split; [exact v0|]. split; [|exact b0].
  cbn [computed_horner coefficients exp_f32]. unfold mul_add.
  repeat (eexists; split; [|left; reflexivity]). reflexivity.
Qed.

(** ** The power of two *)

Definition power_at (i : nat) : bool :=
  match B2SF (power_by_bits (dyadic (rounder exp_f32 - Z.of_nat i) 0)) with
  | SpecFloat.S754_finite false m e => (Zpos m =? 2 ^ 23)%Z && (e =? 64 - 23 - Z.of_nat i)%Z
  | _ => false
  end.

Lemma every_power : forallb power_at (seq 0 161) = true.
Proof. vm_compute. reflexivity. Qed.

Theorem power_is_made_of_bits x k :
  (-160 <= k <= 0)%Z -> is_value x (IZR (rounder exp_f32 + k)) -> is_value (power_by_bits x) (two_to (k + 64)).
Proof.
  intros range [finite value].
  assert (known : is_value (dyadic (rounder exp_f32 + k) 0) (IZR (rounder exp_f32 + k))).
  { eapply value_at; [apply dyadic_value; cbn; lia|cbn; ring]. }
  assert (same : x = dyadic (rounder exp_f32 + k) 0).
  { destruct known as [known_finite known_value].
    assert (nonzero : IZR (rounder exp_f32 + k) <> 0) by (apply not_0_IZR; cbn; lia).
    apply B2R_inj; [| |now rewrite value, known_value].
    - apply is_finite_strict_B2R. now rewrite value.
    - apply is_finite_strict_B2R. now rewrite known_value. }
  pose proof (proj1 (forallb_forall power_at (seq 0 161)) every_power (Z.to_nat (- k))) as checked.
  specialize (checked ltac:(apply in_seq; lia)). unfold power_at in checked.
  replace (rounder exp_f32 - Z.of_nat (Z.to_nat (- k)))%Z with (rounder exp_f32 + k)%Z in checked by lia.
  rewrite <- same in checked.
  destruct (power_by_bits x) as [| | |s m e bounded]; try discriminate checked.
  cbn in checked. destruct s; [discriminate|].
  apply Bool.andb_true_iff in checked as [mantissa exponent].
  apply Z.eqb_eq in mantissa, exponent. split; [easy|]. cbn [B2R cond_Zopp F2R Fnum Fexp].
  unfold F2R. cbn [Fnum Fexp]. rewrite mantissa, exponent. change (IZR (2 ^ 23)) with (two_to 23).
  rewrite <- bpow_plus. f_equal. lia.
Qed.
