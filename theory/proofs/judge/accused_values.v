(** * Values that the judge accuses, and one that a kernel returns: neither the judge nor what it speaks of is empty.

    Examples
    - [accuses_a_coefficient], [accuses_a_logsumexp], [accuses_an_entropy]   one per cent beside the exact value
    - [is_silent_of_a_coefficient]   of the nearest number of binary32 it says nothing
    - [one_is_returned]              the row of one item and its coefficient 1: a kernel that keeps the contract *)

From Coq Require Import ZArith NArith.
From softcheck.oracle Require Import interval_oracle.
From softcheck.numerics Require Import row reduction converted_row b1_sum b2_element.
From softcheck.judge Require Import enclosed_row kept_contract enclosed_bounds judge.
Local Open Scope R_scope.

(** acc=f32 exp=1ulp, of a row of two items. *)
Definition of_binary32 : contract := {|
  accumulator_roundoff := (1, -24)%Z; exponential_error := (1, -23)%Z; logarithm_error := (1, -23)%Z;
  argument_roundings := one; argument_extra := zero; difference_loss := zero;
  sum_loss := zero; product_loss := (1, -150)%Z; exponential_loss := (1, -149)%Z; last_argument := (207, 0)%Z;
  conversion_error := zero; scaling_error := zero; reciprocal_loss := zero;
  result_roundoff := zero; result_loss := zero; smallest_number := (1, -149)%Z;
  most_additions := 1; most_rescalings := 1
|}.

Definition bits : F.precision := F.PtoP 60.
Definition two_logits : list dyadic := [zero; (-1, 0)%Z].

(** 1 / (1 + e^-1) = 0.7310..., ln (1 + e^-1) = 0.3132..., the entropy 0.5822...; each times 2^10, rounded, and 7 more. *)
Example accuses_a_coefficient : judge_coefficient bits of_binary32 one two_logits zero (756, -10)%Z = violated.
Proof. vm_compute. reflexivity. Qed.
Example accuses_a_logsumexp : judge_logsumexp bits of_binary32 one two_logits (328, -10)%Z = violated.
Proof. vm_compute. reflexivity. Qed.
Example accuses_an_entropy : judge_entropy bits of_binary32 one two_logits (603, -10)%Z = violated.
Proof. vm_compute. reflexivity. Qed.
Example is_silent_of_a_coefficient :
  judge_coefficient bits of_binary32 one two_logits zero (12265119, -24)%Z = not_violated.
Proof. vm_compute. reflexivity. Qed.

Lemma binary32_is_sound : sound_contract of_binary32.
Proof. apply (soundness_is_checked bits _ (share bits of_binary32)); [apply shared_holds|vm_compute; reflexivity]. Qed.

Lemma binary32_floors :
  let M := arithmetic_of of_binary32 in
  0 <= argument_unit M /\ 0 <= argument_step M /\ 0 <= product_floor M /\ 0 <= exp_floor M /\ 0 <= exp_cutoff M /\ 0 <= sum_floor M.
Proof. pose proof binary32_is_sound as [good _]. unfold sound in good. cbv zeta. lra. Qed.

Lemma maximum_is_computed :
  computed_argument (arithmetic_of of_binary32) 0 0 /\ computed_exp (arithmetic_of of_binary32) 0 1.
Proof.
  pose proof binary32_is_sound as [good _]. pose proof (unit_nonneg _ good) as hu. pose proof (exp_unit_nonneg _ good) as he.
  pose proof binary32_floors as floors. cbv zeta in floors. split.
  - exists 0, 0. rewrite Rabs_R0. repeat split; try easy; lra.
  - exists 0, 0. replace (- 0 + 0) with 0 by ring. rewrite Rabs_R0, exp_0. split; [easy|]. split; [easy|].
    split; [rewrite Rmult_0_l; now apply Rmult_le_pos|]. split; [|ring]. intros other. exfalso. now apply other.
Qed.

(** The parts of a kernel that returns 1 of a row of one item. *)
Lemma one_is_computed x :
  summed (arithmetic_of of_binary32) [x] x 1 0 0 0 /\ (forall z, computed_sum (arithmetic_of of_binary32) z z) /\
  computed_element (arithmetic_of of_binary32) (output_of of_binary32) (value (conversion_error of_binary32)) x 0 1 x 1.
Proof.
  pose proof binary32_is_sound as [good _]. pose proof (unit_nonneg _ good) as hu. pose proof binary32_floors as floors.
  cbv zeta in floors. destruct maximum_is_computed as [argument weight]. assert (nothing : value zero = 0) by apply value_of_integer.
  assert (product : computed_product (arithmetic_of of_binary32) (1 / 1) 1).
  { replace (1 / 1) with 1 by field. apply computed_product_exact; [exact good|apply floors]. }
  split; [|split].
  - apply summed_item with 0; [apply Rle_refl| |easy]. now replace (x - x) with 0 by ring.
  - intros z. exists 0, 0. rewrite Rabs_R0, exp_0. split; [easy|]. split; [apply floors|ring].
  - exists 0, 1, 1. split; [|split; [|split]].
    + replace (0 - (x - x)) with 0 by ring. rewrite Rabs_R0. cbn. rewrite nothing. apply Rle_refl.
    + now apply numerator_direct with 0; [apply Rle_refl| |].
    + now apply ratio_division.
    + exists 0, 0. rewrite Rabs_R0, exp_0. cbn. rewrite nothing. unfold log_unit. rewrite Rminus_0_r, ln_1. repeat split; lra.
Qed.

Example one_is_returned : keeps_coefficient of_binary32 (row_at_temperature one [zero]) (at_temperature one zero) 1.
Proof.
  set (x := at_temperature one zero). destruct (one_is_computed x) as [tree [_ element]].
  assert (nothing : value zero = 0) by apply value_of_integer.
  exists x, 1, 0%nat, 0%nat. split; [split; cbn; lia|]. split; [|exact element].
  assert (max : is_maximum x [x]) by (split; [now left|intros y [<-|[]]; apply Rle_refl]).
  apply sum_of_tree with x [x] 0%nat; [exact max|exact max| |exact tree| |easy].
  - cbn. rewrite nothing. apply converted_same.
  - unfold size. cbn. lra.
Qed.
