(** * Keeping a contract on a row with masked items: the bounds, and the judge's accusations, are those of the visible items.

    Main results, with the height and the rescalings that are granted
    - [masked_keeps]          a kernel that keeps the contract on a row with masked items keeps it on the visible ones
    - [masked_b2]             so a visible item's result errs by at most B2 of its coefficient in the row with masked items
    - [masked_b5], [masked_b6]   and log-sum-exp and entropy by at most B5 and B6 of that row's

    Idea: parts of a tree that hold nothing visible are 0, and leave what they are added to as it is (masked_row.v). *)

From Coq Require Import ZArith NArith.
From softcheck.oracle Require Import interval_oracle.
From softcheck.numerics Require Import row converted_row b1_sum b2_element b5_logsumexp b6_entropy masked_row.
From softcheck.judge Require Import enclosed_row kept_contract enclosed_bounds accused_values.
Local Open Scope R_scope.

Section Masked.
  Context (c : contract) (items : list (option R)).
  Notation M := (arithmetic_of c).
  Notation kappa := (value (conversion_error c)).
  Notation visible := (visible_items items).
  Notation output := (rounded_output (value (result_roundoff c)) (value (result_loss c))).

  (** A path's additions count no more often than there are visible items to add: [declared_additions] grants that many. *)
  Notation counted h := (Nat.min h (length visible - 1)).

  (** [keeps_coefficient], [keeps_logsumexp] and [keeps_entropy], with trees over items that may be masked. *)
  Definition keeps_masked_coefficient (x p : R) : Prop :=
    exists m s h j, granted c (counted h) j /\ sum_of_masked_row M kappa m items s h j /\ computed_element M (output_of c) kappa m j s x p.

  Definition keeps_masked_logsumexp (l : R) : Prop :=
    exists m s h j m_hat y z,
      granted c (counted h) j /\ sum_of_masked_row M kappa m items s h j /\
      computed_maximum M kappa m j (value (scaling_error c)) m_hat /\ computed_log M s y /\ rounded_sum M (m_hat + y) z /\ output z l.

  Definition keeps_masked_entropy (e : R) : Prop :=
    exists m s y h j q x z,
      granted c (counted h) j /\ moments_of_masked_row M kappa m items s y h j /\ quotient_by_sum M (value (reciprocal_loss c)) y s q /\
      computed_log M s x /\ rounded_sum M (x + q) z /\ output z e.

  Lemma granted_fewer h h' j : (h' <= h)%nat -> granted c h j -> granted c h' j.
  Proof. intros lower [high few]. split; [lia|exact few]. Qed.

  Theorem masked_keeps :
    (forall x p, keeps_masked_coefficient x p -> keeps_coefficient c visible x p) /\
    (forall l, keeps_masked_logsumexp l -> keeps_logsumexp c visible l) /\
    (forall e, keeps_masked_entropy e -> keeps_entropy c visible e).
  Proof.
    split; [|split].
    - intros x p [m [s [h [j [grants [hs element]]]]]]. destruct (masked_sum _ _ _ _ _ _ _ hs) as [h' [lower sums]].
      exists m, s, h', j. split; [now apply granted_fewer with (counted h)|]. now split.
    - intros l [m [s [h [j [m_hat [y [z [grants [hs rest]]]]]]]]]. destruct (masked_sum _ _ _ _ _ _ _ hs) as [h' [lower sums]].
      exists m, s, h', j, m_hat, y, z. split; [now apply granted_fewer with (counted h)|]. now split.
    - intros e [m [s [y [h [j [q [x [z [grants [hs rest]]]]]]]]]]. destruct (masked_moments _ _ _ _ _ _ _ _ hs) as [h' [lower sums]].
      exists m, s, y, h', j, q, x, z. split; [now apply granted_fewer with (counted h)|]. now split.
  Qed.

  Hypothesis good : sound_contract c.
  Context (m : R).
  Hypothesis max : is_maximum m visible.
  Hypothesis some : lost_sum M kappa m visible (N.to_nat (most_additions c)) (N.to_nat (most_rescalings c)) < 1.

  Theorem masked_b2 x p :
    In (Some x) items -> keeps_masked_coefficient x p ->
    Rabs (p - coefficient_of_item items (Some x)) <= coefficient_allowed c m visible x.
  Proof using good max some.
    intros inx kept. rewrite (proj2 (masked_coefficient items)).
    apply (kept_coefficient c good m visible max some); [|now apply masked_keeps].
    apply in_flat_map. exists (Some x). split; [exact inx|now left].
  Qed.

  Theorem masked_b5 l :
    keeps_masked_logsumexp l -> Rabs (l - ln (masked_total items)) <= logsumexp_allowed c m visible.
  Proof using good max some.
    intros kept. rewrite masked_partition. apply (kept_logsumexp c good m visible max some). now apply masked_keeps.
  Qed.

  Theorem masked_b6 e :
    sound_quotients c -> keeps_masked_entropy e -> Rabs (e - entropy_of_items items) <= entropy_allowed c m visible.
  Proof using good max some.
    intros quotients kept. rewrite masked_entropy. apply (kept_entropy c good m visible max some); [easy|]. now apply masked_keeps.
  Qed.
End Masked.

(** 0 and a masked item: what a kernel of binary32 returns of the first is 1. *)
Example one_is_returned_beside_a_mask :
  let x := at_temperature one zero in
  sound_contract of_binary32 /\ is_maximum x (visible_items [Some x; None]) /\ In (Some x) [Some x; None] /\
  keeps_masked_coefficient of_binary32 [Some x; None] x 1.
Proof.
  set (x := at_temperature one zero). cbv zeta. destruct (one_is_computed x) as [tree [exact element]].
  assert (nothing : value zero = 0) by apply value_of_integer.
  assert (max : is_maximum x [x]) by (split; [now left|intros y [<-|[]]; apply Rle_refl]).
  split; [exact binary32_is_sound|]. split; [exact max|]. split; [now left|].
  exists x, 1, 1%nat, 0%nat. split; [split; cbn; lia|]. split; [|exact element]. split; [exact max|].
  exists x, [Some x; None], 0%nat. split; [exact max|]. split; [|split].
  - assert (same : Rabs ((x - x) - (x - x)) <= value (conversion_error of_binary32)).
    { rewrite Rminus_diag_eq, Rabs_R0 by easy. cbn. rewrite nothing. apply Rle_refl. }
    unfold masked_converted. repeat apply Forall2_cons; easy || apply Forall2_nil.
  - apply (masked_addition _ [Some x] [None] x 1 0 1 0 0 0 0 0 0); try easy; [apply (unmasked_tree _ _ _ _ _ _ _ tree)|now apply masked_nothing|].
    rewrite Rplus_0_r. apply exact.
  - unfold size. cbn. lra.
Qed.
