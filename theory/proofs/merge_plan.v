(** * Merge plans: states in slots, merged in place until slot 0 holds all.

    Main result
    - [run_plan_gathers]   whatever merging two states keeps true of them holds, in the end, of slot 0 and all items

    Source: MergePlan in theory/streaming_entropy.hpp. Nothing is asked of merging: it may round. *)

From Coq Require Import List Permutation Lia.
Import ListNotations.

(** slots[into] = merge(slots[into], slots[from]). *)
Definition merge_step {A} (merge : A -> A -> A) (slots : nat -> A) (step : nat * nat) : nat -> A :=
  fun i => if PeanoNat.Nat.eq_dec i (fst step) then merge (slots (fst step)) (slots (snd step)) else slots i.

Definition run_plan {A} (merge : A -> A -> A) (slots : nat -> A) (steps : list (nat * nat)) : nat -> A :=
  fold_left (merge_step merge) steps slots.

(** Each step merges two different slots that are still unmerged, never slot 0 away, until slot 0 alone is left. *)
Fixpoint valid_plan (unmerged : list nat) (steps : list (nat * nat)) : Prop :=
  match steps with
  | [] => unmerged = [0]
  | (into, from) :: rest =>
      In into unmerged /\ In from unmerged /\ into <> from /\ from <> 0 /\
      valid_plan (remove PeanoNat.Nat.eq_dec from unmerged) rest
  end.

Lemma remove_permutation x places :
  NoDup places -> In x places -> Permutation places (x :: remove PeanoNat.Nat.eq_dec x places).
Proof.
  intros different inx. apply in_split in inx as [l1 [l2 ->]].
  apply NoDup_remove in different as [_ fresh]. rewrite in_app_iff in fresh.
  rewrite remove_app, remove_cons, !notin_remove by tauto. symmetry. apply Permutation_middle.
Qed.

Lemma remove_different x places : NoDup places -> NoDup (remove PeanoNat.Nat.eq_dec x places).
Proof.
  induction places as [|y ys IH]; intros different; [easy|]. inversion different as [|? ? fresh rest]. cbn.
  destruct (PeanoNat.Nat.eq_dec x y); [now apply IH|]. constructor; [|now apply IH].
  intros iny. apply fresh. now apply in_remove in iny.
Qed.

Section Gathering.
  Context {A X : Type} (merge : A -> A -> A) (holds : list X -> A -> Prop).
  Hypothesis reordered : forall l l' s, Permutation l l' -> holds l s -> holds l' s.
  Hypothesis merged : forall l l' s s', holds l s -> holds l' s' -> holds (l ++ l') (merge s s').

  (** Every unmerged slot owns its items; a merge gives those of one slot to the other. *)
  Lemma unmerged_slots_own_all places steps owned slots :
    NoDup places -> valid_plan places steps -> (forall i, In i places -> holds (owned i) (slots i)) ->
    holds (concat (map owned places)) (run_plan merge slots steps 0).
  Proof.
    revert places owned slots.
    induction steps as [|[into from] rest IH]; intros places owned slots different valid own.
    - cbn in valid. subst. cbn. rewrite app_nil_r. apply own. now left.
    - destruct valid as [ininto [infrom [other [_ valid]]]].
      set (left := remove PeanoNat.Nat.eq_dec from places) in *.
      set (owned' := fun i => if PeanoNat.Nat.eq_dec i into then owned into ++ owned from else owned i).
      pose proof (remove_different from places different) as different'. fold left in different'.
      assert (own' : forall i, In i left -> holds (owned' i) (merge_step merge slots (into, from) i)).
      { intros i ini. unfold owned', merge_step. cbn [fst snd].
        destruct (PeanoNat.Nat.eq_dec i into) as [->|]; [apply merged; now apply own|].
        apply own. now apply in_remove in ini. }
      refine (reordered _ _ _ _ (IH left owned' _ different' valid own')).
      pose proof (remove_permutation from places different infrom) as order. fold left in order.
      assert (ininto' : In into left) by now apply in_in_remove.
      pose proof (remove_permutation into left different' ininto') as order'.
      pose proof (remove_In PeanoNat.Nat.eq_dec left into) as fresh.
      set (others := remove PeanoNat.Nat.eq_dec into left) in *.
      assert (same : map owned' others = map owned others).
      { apply map_ext_in. intros i ini. unfold owned'. destruct (PeanoNat.Nat.eq_dec i into) as [->|]; easy. }
      transitivity (concat (map owned' (into :: others))).
      { rewrite <- !flat_map_concat_map. now apply Permutation_flat_map. }
      transitivity (concat (map owned (from :: into :: others))).
      2: { rewrite <- !flat_map_concat_map. apply Permutation_flat_map. symmetry.
           transitivity (from :: left); [easy|]. now apply perm_skip. }
      cbn [map concat]. rewrite same. unfold owned' at 1.
      destruct (PeanoNat.Nat.eq_dec into into) as [_|]; [|easy].
      rewrite !app_assoc. apply Permutation_app_tail, Permutation_app_comm.
  Qed.

  Theorem run_plan_gathers chunks steps slots :
    valid_plan (seq 0 (length chunks)) steps ->
    (forall i, i < length chunks -> holds (nth i chunks []) (slots i)) ->
    holds (concat chunks) (run_plan merge slots steps 0).
  Proof.
    intros valid own.
    replace chunks with (map (fun i => nth i chunks []) (seq 0 (length chunks))).
    - apply unmerged_slots_own_all; [apply seq_NoDup|easy|]. intros i ini. apply own. now apply in_seq in ini.
    - apply nth_ext with [] []; rewrite map_length, seq_length; [easy|]. intros n small.
      rewrite nth_indep with (d' := nth 0 chunks []) by now rewrite map_length, seq_length.
      rewrite map_nth with (f := fun i => nth i chunks []) (d := 0). now rewrite seq_nth.
  Qed.
End Gathering.
