(** * Rows of the strict kernels' models that are written out, and rows without a softmax.

    Main result
    - [nothing_visible]   where every item is masked, softmax is NaN at each and the entropy is NaN

    The Examples meet the premises of strict_softmax.v and show the words that the models compute.
    Source: kernels/block/softmax.hpp, entropy.hpp. *)

From Coq Require Import Reals List ZArith Permutation Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import formats.
From softcheck.strict_kernels Require Import machine_numbers block_exponential block_row.
From softcheck.strict_kernels Require Import strict_operations strict_carried strict_state strict_row strict_argument.
Import ListNotations.
Local Open Scope R_scope.

Theorem nothing_visible scale unit row :
  is_value scale unit -> two_to (-119) <= unit -> (Z.of_nat (length row) <= 2 ^ 22)%Z ->
  (forall x, In x row -> x = minus_infinity) ->
  strict_softmax scale row = map (fun _ => B754_nan) row /\ strict_entropy scale row = B754_nan.
Proof.
  intros scale_value large few_items masked.
  assert (adm : Forall admissible row) by (apply Forall_forall; intros x inx; right; now apply masked).
  pose proof (statistics_hold 2 step_32 ltac:(lia) step_32_range scale unit scale_value (unit_is_positive unit large)
                (strict_argument scale unit scale_value large) row adm few_items) as held.
  assert (nothing : visible_row unit row = []).
  { unfold visible_row. clear - masked. induction row as [|x row IH]; [easy|]. cbn [flat_map].
    rewrite IH by (intros y iny; apply masked; now right). rewrite (masked x (or_introl eq_refl)). easy. }
  rewrite nothing in held. destruct held as [_ hm _|m l' K hm perm above hK sums].
  - unfold strict_softmax, strict_entropy, defined, empty. rewrite hm. now split.
  - apply Permutation_nil in perm. discriminate.
Qed.

(** 0, -1 and a masked item, at theta = 1. *)
Definition short_row : list f32 := map f32_of_word [0x00000000; 0xbf800000; 0xff800000]%Z.

Example short_row_is_admissible :
  is_value one 1 /\ two_to (-119) <= 1 /\ Forall admissible short_row /\ (Z.of_nat (length short_row) <= 2 ^ 22)%Z /\
  exists x, In x short_row /\ is_finite x = true.
Proof.
  split; [apply one_value|]. split; [apply (bpow_le radix2 (-119) 0); lia|]. split; [|split; [cbn; lia|]].
  - apply Forall_forall. intros x [<-|[<-|[<-|[]]]]; [now left|now left|now right].
  - exists (f32_of_word 0). split; [now left|reflexivity].
Qed.

Example words_of_the_short_row :
  map word_of_f32 (strict_softmax one short_row) = [0x3f3b26a8; 0x3e89b2b1; 0]%Z /\
  word_of_f32 (strict_entropy one short_row) = 0x3f150b44%Z /\
  word_of_f32 (strict_logsumexp (dyadic_64 1 0) short_row) = 0x3ea063d6%Z.
Proof. vm_compute. now repeat split. Qed.

Example masked_row_is_admissible :
  is_value one 1 /\ two_to (-119) <= 1 /\ (Z.of_nat (length [minus_infinity]) <= 2 ^ 22)%Z /\
  forall x, In x [minus_infinity] -> x = minus_infinity.
Proof.
  split; [apply one_value|]. split; [apply (bpow_le radix2 (-119) 0); lia|]. split; [cbn; lia|]. now intros x [<-|[]].
Qed.
