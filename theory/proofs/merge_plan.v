(** * Merge plans: states in slots, merged in place until slot 0 holds all.

    Main result
    - [run_plan_gathers]   whatever merging two states keeps true of them holds, in the end, of slot 0 and all items

    Source: MergePlan in theory/streaming_entropy.hpp. Nothing is asked of merging: it may round. *)

From Coq Require Import List Permutation Lia.
From softcheck Require Import softmax.
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
    revert places owned slots. induction steps as [|[into from] rest IH]; intros places owned slots different valid own.
    - cbn in valid. subst. cbn. rewrite app_nil_r. apply own. now left.
    - destruct valid as [ininto [infrom [other [_ valid]]]]. set (left := remove PeanoNat.Nat.eq_dec from places) in *.
      set (owned' := fun i => if PeanoNat.Nat.eq_dec i into then owned into ++ owned from else owned i).
      pose proof (remove_different from places different) as different'. fold left in different'.
      assert (own' : forall i, In i left -> holds (owned' i) (merge_step merge slots (into, from) i)).
      { intros i ini. unfold owned', merge_step. cbn [fst snd].
        destruct (PeanoNat.Nat.eq_dec i into) as [->|]; [apply merged; now apply own|]. apply own.
        now apply in_remove in ini. }
      refine (reordered _ _ _ _ (IH left owned' _ different' valid own')).
      pose proof (remove_permutation from places different infrom) as order. fold left in order.
      assert (ininto' : In into left) by now apply in_in_remove.
      pose proof (remove_permutation into left different' ininto') as order'.
      pose proof (remove_In PeanoNat.Nat.eq_dec left into) as fresh.
      set (others := remove PeanoNat.Nat.eq_dec into left) in *. assert (same : map owned' others = map owned others).
      { apply map_ext_in. intros i ini. unfold owned'. destruct (PeanoNat.Nat.eq_dec i into) as [->|]; easy. }
      transitivity (concat (map owned' (into :: others))).
      { rewrite <- !flat_map_concat_map. now apply Permutation_flat_map. }
      transitivity (concat (map owned (from :: into :: others))).
      2:{ rewrite <- !flat_map_concat_map. apply Permutation_flat_map. symmetry. transitivity (from :: left); [easy|].
          now apply perm_skip. }
      cbn [map concat]. rewrite same. unfold owned' at 1. destruct (PeanoNat.Nat.eq_dec into into) as [_|]; [|easy].
      rewrite !app_assoc. apply Permutation_app_tail, Permutation_app_comm.
  Qed.

  Theorem run_plan_gathers chunks steps slots :
    valid_plan (seq 0 (length chunks)) steps ->
    (forall i, i < length chunks -> holds (nth i chunks []) (slots i)) ->
    holds (concat chunks) (run_plan merge slots steps 0).
  Proof.
    intros valid own. replace chunks with (map (fun i => nth i chunks []) (seq 0 (length chunks))).
    - apply unmerged_slots_own_all; [apply seq_NoDup|easy|]. intros i ini. apply own. now apply in_seq in ini.
    - apply nth_ext with [] []; rewrite map_length, seq_length; [easy|]. intros n small.
      rewrite nth_indep with (d' := nth 0 chunks []) by now rewrite map_length, seq_length.
      rewrite map_nth with (f := fun i => nth i chunks []) (d := 0). now rewrite seq_nth.
  Qed.
End Gathering.

Local Open Scope R_scope.

(** ** The states of streaming_entropy.v: what they are of, and what two passes over a row give.

    A state keeps the maximum m, S - 1, T and one coordinate of the weighted values.

    Source: paper, Appendix G. *)

Record state : Set := {
  maximum : R;   (* m *)
  others : R;    (* S - 1, S = sum e^(x - m): without one item at the maximum *)
  moment : R;    (* T = sum (m - x) e^(x - m) *)
  weighted : R   (* sum e^(x - m) v *)
}.

Definition weight_sum (s : state) : R := 1 + others s.

(** H = ln S + T / S, and one coordinate of the attention output. *)
Definition entropy_of (s : state) : R := ln (weight_sum s) + moment s / weight_sum s.
Definition output_of (s : state) : R := weighted s / weight_sum s.

Definition item : Set := option R * R.

(** The logits and values of the items that are not masked. *)
Fixpoint visible (items : list item) : list (R * R) :=
  match items with
  | [] => []
  | (Some x, v) :: rest => (x, v) :: visible rest
  | (None, _) :: rest => visible rest
  end.

Definition leaf (i : item) : option state :=
  match i with
  | (Some x, v) => Some {| maximum := x; others := 0; moment := 0; weighted := v |}
  | (None, _) => None
  end.

(** The state of both, about the larger maximum: with d = m_high - m_low and a = e^(-d),
    S - 1 = others_high + a S_low and T = T_high + a (T_low + d S_low). *)
Definition absorb (high low : state) : state :=
  let d := maximum high - maximum low in
  let a := exp (- d) in
  {| maximum := maximum high;
     others := others high + a * weight_sum low;
     moment := moment high + a * (moment low + d * weight_sum low);
     weighted := weighted high + a * weighted low |}.

Definition merge_states (s t : state) : state := if Rle_dec (maximum t) (maximum s) then absorb s t else absorb t s.

Definition merge (s t : option state) : option state :=
  match s, t with
  | None, _ => t
  | _, None => s
  | Some s, Some t => Some (merge_states s t)
  end.

Definition push (s : option state) (i : item) : option state := merge s (leaf i).

Definition stream (items : list item) : option state := fold_left push items None.

(** ** What a state is of: sums that do not depend on the maximum *)

(** sum e^x, sum x e^x and sum e^x v. *)
Definition mass (s : state) : R := exp (maximum s) * weight_sum s.
Definition energy (s : state) : R := exp (maximum s) * (maximum s * weight_sum s - moment s).
Definition value_mass (s : state) : R := exp (maximum s) * weighted s.

(** The maximum and the three sums determine the state. *)
Lemma state_determined s t :
  maximum s = maximum t -> mass s = mass t -> energy s = energy t -> value_mass s = value_mass t -> s = t.
Proof.
  destruct s as [m o k w], t as [m' o' k' w']. unfold mass, energy, value_mass, weight_sum. cbn.
  intros <- masses energies values. pose proof (exp_pos m). assert (o = o') by (apply Rmult_eq_reg_l in masses; lra).
  subst o'. assert (k = k') by (apply Rmult_eq_reg_l in energies; lra).
  assert (w = w') by (apply Rmult_eq_reg_l in values; lra). congruence.
Qed.

(** e^(m_low) = e^(m_high) e^(-d). *)
Lemma absorb_sums high low :
  mass (absorb high low) = mass high + mass low /\
  energy (absorb high low) = energy high + energy low /\
  value_mass (absorb high low) = value_mass high + value_mass low.
Proof.
  destruct high as [m o k w], low as [m' o' k' w']. unfold absorb, mass, energy, value_mass, weight_sum. cbn.
  replace (exp m') with (exp m * exp (- (m - m'))) by (rewrite <- exp_plus; f_equal; ring). repeat split; ring.
Qed.

(** Merging takes the larger maximum and adds the sums. *)
Lemma merge_states_sums s t :
  maximum (merge_states s t) = Rmax (maximum s) (maximum t) /\
  mass (merge_states s t) = mass s + mass t /\
  energy (merge_states s t) = energy s + energy t /\
  value_mass (merge_states s t) = value_mass s + value_mass t.
Proof.
  unfold merge_states. destruct (Rle_dec (maximum t) (maximum s)).
  - rewrite Rmax_left by easy. split; [easy|]. apply absorb_sums.
  - rewrite Rmax_right by lra. split; [easy|]. destruct (absorb_sums t s) as [-> [-> ->]]. repeat split; ring.
Qed.

(** ** A commutative monoid *)

Lemma merge_states_commutative s t : merge_states s t = merge_states t s.
Proof.
  destruct (merge_states_sums s t) as [m1 [p1 [e1 v1]]], (merge_states_sums t s) as [m2 [p2 [e2 v2]]].
  apply state_determined; [rewrite m1, m2; apply Rmax_comm | lra | lra | lra].
Qed.

(** Maxima and sums are associative. *)
Lemma merge_states_associative s t u : merge_states s (merge_states t u) = merge_states (merge_states s t) u.
Proof.
  destruct (merge_states_sums s (merge_states t u)) as [m1 [p1 [e1 v1]]].
  destruct (merge_states_sums (merge_states s t) u) as [m2 [p2 [e2 v2]]].
  destruct (merge_states_sums t u) as [m3 [p3 [e3 v3]]], (merge_states_sums s t) as [m4 [p4 [e4 v4]]].
  apply state_determined; [rewrite m1, m2, m3, m4; apply Rmax_assoc | lra | lra | lra].
Qed.

(** At equal maxima the branch of theory/streaming_entropy.hpp: the sums, one maximum counted on. *)
Lemma merge_states_at_equal_maxima s t :
  maximum s = maximum t ->
  merge_states s t = {| maximum := maximum s; others := others s + others t + 1; moment := moment s + moment t;
                        weighted := weighted s + weighted t |}.
Proof.
  intros equal. unfold merge_states, absorb, weight_sum. destruct (Rle_dec (maximum t) (maximum s)); [|lra].
  replace (- (maximum s - maximum t)) with 0 by lra. rewrite exp_0, equal. f_equal; ring.
Qed.

(** ** Two passes: the maximum first, then the sums about it *)

Definition largest (first : R) (rest : list R) : R := fold_right Rmax first rest.

Definition state_about (m : R) (items : list (R * R)) : state :=
  {| maximum := m;
     others := sum (map (fun i => exp (fst i - m)) items) - 1;
     moment := sum (map (fun i => (m - fst i) * exp (fst i - m)) items);
     weighted := sum (map (fun i => exp (fst i - m) * snd i) items) |}.

Definition two_pass (items : list (R * R)) : option state :=
  match items with
  | [] => None
  | first :: rest => Some (state_about (largest (fst first) (map fst rest)) items)
  end.

(** e^m e^(x - m) = e^x under each sum. *)
Lemma state_about_sums m items :
  mass (state_about m items) = sum (map (fun i => exp (fst i)) items) /\
  energy (state_about m items) = sum (map (fun i => fst i * exp (fst i)) items) /\
  value_mass (state_about m items) = sum (map (fun i => exp (fst i) * snd i) items).
Proof.
  unfold mass, energy, value_mass, weight_sum, state_about. cbn.
  assert (restore : forall x, exp m * exp (x - m) = exp x). { intros. rewrite <- exp_plus. f_equal. ring. }
  replace (1 + (sum (map (fun i => exp (fst i - m)) items) - 1)) with (sum (map (fun i => exp (fst i - m)) items))
    by ring.
  repeat split.
  - rewrite <- sum_map_mult_l. apply sum_map_ext. intros. apply restore.
  - rewrite <- sum_map_mult_l, <- sum_map_minus, <- sum_map_mult_l. apply sum_map_ext. intros i _.
    rewrite <- (restore (fst i)). ring.
  - rewrite <- sum_map_mult_l. apply sum_map_ext. intros i _. rewrite <- (restore (fst i)). ring.
Qed.

(** The first argument may be swapped with any other. *)
Lemma largest_cons x y ys : largest x (y :: ys) = Rmax x (largest y ys).
Proof.
  revert x y. induction ys as [|z zs IH]; intros; [apply Rmax_comm|].
  change (largest x (y :: z :: zs)) with (Rmax y (largest x (z :: zs))).
  change (largest y (z :: zs)) with (Rmax z (largest y zs)). rewrite IH, Rmax_assoc, (Rmax_comm y x), <- Rmax_assoc.
  f_equal. rewrite <- IH. reflexivity.
Qed.

Lemma largest_app x xs y ys : largest x (xs ++ y :: ys) = Rmax (largest x xs) (largest y ys).
Proof.
  induction xs as [|z zs IH]; [apply largest_cons|].
  change (Rmax z (largest x (zs ++ y :: ys)) = Rmax (Rmax z (largest x zs)) (largest y ys)). now rewrite IH, Rmax_assoc.
Qed.

(** The largest is above each of them. *)
Lemma largest_ge x xs y : y = x \/ In y xs -> y <= largest x xs.
Proof.
  unfold largest. induction xs as [|z zs IH]; simpl; intros isy.
  - destruct isy as [-> | []]. lra.
  - destruct isy as [isy | [-> | isy]].
    + eapply Rle_trans; [|apply Rmax_r]. apply IH. now left.
    + apply Rmax_l.
    + eapply Rle_trans; [|apply Rmax_r]. apply IH. now right.
Qed.

(** The largest is one of them. *)
Lemma largest_in x xs : largest x xs = x \/ In (largest x xs) xs.
Proof.
  induction xs as [|z zs IH]; [now left|]. change (largest x (z :: zs)) with (Rmax z (largest x zs)).
  destruct (Rle_dec (largest x zs) z).
  - rewrite Rmax_left by easy. right. now left.
  - rewrite Rmax_right by lra. destruct IH as [-> | inside]; [now left | right; now right].
Qed.
