(** * Arguments and counts of the strict kernels' sums.

    [argued z D]: the number z is the argument, as computed, of an item that lies D below a reference; it may have overflowed.

    Main results
    - [argued_weight]   such an argument's exponential is a computed one of the model
    - [argued_factor]   so is that of exponential_parts, value and rest together; where it counts, z is -b for a rise b < 110
    - [sum_counted]     a rounded sum of numbers below their counts is below the count of both

    For at most 2^22 items. Source: kernels/block/exponential.hpp. *)

From Coq Require Import Reals List ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_exponential.
From softcheck.strict_kernels Require Import strict_operations strict_exponential strict_weights strict_sums.
Import ListNotations.
Local Open Scope R_scope.

(** ** Counts *)

Definition short (l : list R) : Prop := (Z.of_nat (length l) <= 2 ^ 22)%Z.
Definition counted_items (l : list R) : R := INR (length l).

Lemma counted_app l1 l2 : counted_items (l1 ++ l2) = counted_items l1 + counted_items l2.
Proof. unfold counted_items. now rewrite app_length, plus_INR. Qed.

Lemma counted_number l : short l -> number binary32 (counted_items l) /\ 0 <= counted_items l <= 4194304.
Proof.
  intros few_items. unfold counted_items. rewrite INR_IZR_INZ. unfold short in few_items. split.
  - apply integer_number. rewrite Z.abs_eq by lia. eapply Z.le_lt_trans; [exact few_items|reflexivity].
  - split; [apply IZR_le; lia|]. apply (IZR_le _ 4194304). exact few_items.
Qed.

(** Sums of numbers stay below their count: counts are numbers, and rounding is monotone. *)
Lemma sum_counted l1 l2 v1 v2 :
  short (l1 ++ l2) -> 0 <= v1 <= counted_items l1 -> 0 <= v2 <= counted_items l2 ->
  0 <= fl32 (v1 + v2) <= counted_items (l1 ++ l2).
Proof.
  intros few_items r1 r2. split; [apply fl_nonneg; lra|].
  rewrite <- (fl_number binary32 (counted_items (l1 ++ l2))) by now apply counted_number.
  apply fl_monotone; [easy|]. rewrite counted_app. lra.
Qed.

Lemma within_22 x : 0 <= x <= 4194304 -> Rabs x <= two_to 22.
Proof. intros range. change (two_to 22) with 4194304. rewrite Rabs_right; lra. Qed.

Definition limited (l : list R) (H J K : nat) : Prop :=
  short l /\ (Z.of_nat (H + J) <= 2 ^ 15)%Z /\ (Z.of_nat K <= 2 ^ 22)%Z.

Lemma limited_less l l' H H' J J' K K' :
  (length l <= length l')%nat -> (H + J <= H' + J')%nat -> (K <= K')%nat -> limited l' H' J' K' -> limited l H J K.
Proof. intros hl hHJ hK [few_items [steps scalings]]. unfold limited, short in *. repeat split; lia. Qed.

Section Argued.
  Context (A : nat) (step : R).
  Hypothesis few : (A <= 12)%nat.
  Hypothesis small_step : 0 <= step <= / 2.
  Notation M := (strict_arithmetic A step).

  (** ** An argument, maybe one that has overflowed *)

  Definition argued (z : f32) (D : R) : Prop :=
    (exists a, is_value z a /\ a <= 0 /\ computed_argument M D (- a)) \/
    (less exp_lowest z = false /\ exists b, 110 <= b /\ computed_argument M D b).

  Lemma argued_factor z D :
    argued z D ->
    exists b f, computed_argument M D b /\ computed_exp M b f /\ is_value (value (exponential_parts z)) f /\ 0 <= f <= 1 /\
      (0 < f -> is_value z (- b) /\ 0 <= b < 110 /\
        exists g, is_value (rest (exponential_parts z)) g /\ computed_exp M b (f + g) /\ Rabs g <= 9 * u32 * f).
  Proof using few small_step.
    intros [[a [hz [le arg]]]|[far [b [beyond arg]]]].
    - destruct (factor_is_computed A step few small_step z a hz le) as [f [hf [range [exps parts]]]].
      exists (- a), f. repeat (split; [assumption|]). intros pos. split; [now rewrite Ropp_involutive|].
      split; [|now apply parts]. assert (-110 < a); [|lra]. apply Rnot_le_lt. intros beyond.
      destruct (far_exponential z) as [_ gone].
      + destruct (less exp_lowest z) eqn:counts; [|easy]. apply (less_value _ _ _ _ lowest_value hz) in counts. lra.
      + destruct hf as [_ value]. change (val (exponential z) = f) in value. lra.
    - exists b, 0. split; [easy|]. split; [now apply nothing_is_computed|]. split; [now apply far_exponential|].
      split; [lra|]. intros pos. lra.
  Qed.
End Argued.
