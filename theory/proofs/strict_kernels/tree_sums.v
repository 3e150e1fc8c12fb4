(** * The two sums of the tree kernels are those of the theorems, sum=tree.

    Of the executable functions of tree_row.v, for a row of finite or masked items, at most 2^22 of them, some of them finite, and a
    scale from 2^-119 on. Nothing is rescaled.

    Main results
    - [maximum_value]       the maximum is that of the logits
    - [tree_sums_compute]   S and T are computed sums of the model of arithmetic, by a tree as high as sum=tree grants

    Source: kernels/block/tree_order.hpp, tree_rows.hpp. *)

From Coq Require Import ZArith NArith.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row reduction moments b1_sum b6_entropy masked_row.
From softcheck.certified Require Import rounded_operations.
From softcheck.contract Require Import summation.
From softcheck.strict_kernels Require Import machine_numbers strict_operations strict_exponential strict_weights strict_argument
  tree_row tree_order tree_weights.
Import ListNotations.
Local Open Scope R_scope.

(** ** The row's items *)

Definition admissible (x : f32) : Prop := is_finite x = true \/ x = minus_infinity.
Definition logit_of (unit : R) (x : f32) : option R := if is_finite x then Some (val x * unit) else None.
Definition logits_of (unit : R) (row : list f32) : list R := visible_items (map (logit_of unit) row).

Lemma items_of_row row : forall N, (length row <= N)%nat ->
  map (item_of row) (map N.of_nat (seq 0 N)) = row ++ repeat minus_infinity (N - length row).
Proof.
  assert (same : forall i, item_of row (N.of_nat i) = nth i row minus_infinity) by (intros; unfold item_of; now rewrite Nat2N.id).
  intros N. rewrite map_map, (map_ext _ _ same). clear same. revert N.
  induction row as [|x row IH]; intros N le; cbn [length app] in *.
  - rewrite Nat.sub_0_r. generalize 0%nat. induction N as [|N IHN]; intros i; [easy|]. cbn [seq map repeat].
    rewrite (IHN ltac:(lia)). now destruct i.
  - destruct N as [|N]; [lia|]. cbn [seq map nth]. rewrite <- seq_shift, map_map. cbn [nth]. now rewrite (IH N ltac:(lia)).
Qed.

Lemma visible_in unit row x : In x row -> is_finite x = true -> In (val x * unit) (logits_of unit row).
Proof.
  intros inx finite. apply in_flat_map. exists (Some (val x * unit)). split; [|now left].
  apply in_map_iff. exists x. split; [unfold logit_of; now rewrite finite|easy].
Qed.

Lemma in_visible unit row l : In l (logits_of unit row) -> exists x, In x row /\ is_finite x = true /\ l = val x * unit.
Proof.
  intros inl. apply in_flat_map in inl as [[v|] [ino inv]]; [|easy]. destruct inv as [<-|[]].
  apply in_map_iff in ino as [x [same inx]]. exists x. unfold logit_of in same. destruct (is_finite x); [|easy].
  injection same as <-. easy.
Qed.

Lemma visible_length unit row : (length (logits_of unit row) <= length row)%nat.
Proof.
  unfold logits_of, visible_items. induction row as [|x rest IH]; [easy|]. cbn [map flat_map length].
  rewrite app_length. unfold logit_of at 1. destruct (is_finite x); cbn [length]; lia.
Qed.

(** ** The maximum *)

Lemma less_infinite x : is_finite x = true -> less minus_infinity x = true /\ less x minus_infinity = false /\ less x plus_infinity = true.
Proof. destruct x as [[]| | |[]]; easy. Qed.

Lemma larger_value x y a b : is_value x a -> is_value y b -> is_value (tree_larger x y) (Rmax a b).
Proof.
  intros hx hy. unfold tree_larger. replace (is_nan x) with false by (destruct hx as [fx _]; now destruct x). cbn [orb].
  destruct (less y x) eqn:below.
  - apply (less_value _ _ _ _ hy hx) in below. now rewrite Rmax_left by lra.
  - rewrite Rmax_right; [easy|]. apply Rnot_lt_le. intros above. apply (less_value _ _ _ _ hy hx) in above. congruence.
Qed.

Lemma largest_value l : forall so_far a, Forall admissible l -> is_value so_far a ->
  exists m, is_value (fold_left tree_larger l so_far) m /\ a <= m /\ (forall x, In x l -> is_finite x = true -> val x <= m) /\
    (m = a \/ exists x, In x l /\ is_finite x = true /\ val x = m).
Proof.
  induction l as [|x l IH]; intros so_far a adm ha; [exists a; cbn; split; [easy|split; [lra|split; [easy|now left]]]|].
  inversion adm as [|? ? first rest]; subst. cbn [fold_left]. destruct first as [finite|hidden].
  - assert (hx : is_value x (val x)) by easy.
    destruct (IH (tree_larger so_far x) (Rmax a (val x)) rest (larger_value _ _ _ _ ha hx)) as [m [hm [above [all one]]]].
    exists m. split; [easy|]. pose proof (Rmax_l a (val x)). pose proof (Rmax_r a (val x)). split; [lra|]. split.
    + intros y [<-|iny] fy; [lra|now apply all].
    + destruct one as [->|[y [iny same]]]; [|right; exists y; split; [now right|easy]].
      destruct (Rle_dec (val x) a); [left; now apply Rmax_left|right; exists x].
      split; [now left|]. split; [easy|]. rewrite Rmax_right; lra.
  - assert (tree_larger so_far x = so_far) as ->.
    { destruct ha as [fa _]. destruct (less_infinite so_far fa) as [below _]. unfold tree_larger. rewrite hidden, below.
      now rewrite Bool.orb_true_r. }
    destruct (IH so_far a rest ha) as [m [hm [above [all one]]]]. exists m. split; [easy|]. split; [easy|]. split.
    + intros y [<-|iny] fy; [rewrite hidden in fy; discriminate|now apply all].
    + destruct one as [->|[y [iny same]]]; [now left|right; exists y; split; [now right|easy]].
Qed.

Lemma add_zero x a : is_value x a -> is_value (add x zero) a.
Proof.
  intros [fx vx]. pose proof (@Bplus_correct 24 128 positive_24 below_128 mode_NE x zero fx eq_refl) as correct. cbv zeta in correct.
  change (val zero) with 0 in correct. rewrite Rplus_0_r in correct.
  change (round radix2 _ _ (val x)) with (fl32 (val x)) in correct.
  rewrite (fl_number binary32 (val x)) in correct by now apply (value_number x).
  rewrite Rlt_bool_true in correct by apply abs_B2R_lt_emax. destruct correct as [value [finite _]].
  split; [exact finite|]. unfold add. now rewrite value.
Qed.

Lemma few_additions (row : list f32) h :
  (Z.of_nat (length row) <= 2 ^ 22)%Z -> (N.of_nat h <= summation_height tree_of_pairs (N.of_nat (length row)))%N -> (Z.of_nat h <= 2 ^ 15)%Z.
Proof.
  intros few_items low. assert (few_levels : (summation_height tree_of_pairs (N.of_nat (length row)) <= 22)%N); [|lia].
  unfold summation_height. destruct (N.of_nat (length row) <=? 1)%N; [lia|]. transitivity (N.log2_up (2 ^ 22)).
  - apply N.log2_up_le_mono. lia.
  - rewrite N.log2_up_pow2; lia.
Qed.

(** The order's bits. *)
Lemma enough_bits (row : list f32) vector :
  (Z.of_nat (length row) <= 2 ^ 22)%Z -> (0 < length row)%nat -> (vector <= 3)%nat ->
  let k := (vector + 7 + (Nat.log2_up (length row) - (vector + 7)))%nat in (k <= 40)%nat /\ (length row <= 2 ^ k)%nat.
Proof.
  intros few_items one few k. assert (log : (Nat.log2_up (length row) <= 22)%nat).
  { apply Nat.log2_up_le_pow2; [easy|]. apply Nat2Z.inj_le. rewrite Nat2Z.inj_pow. exact few_items. }
  split; [unfold k; lia|]. apply Nat.log2_up_le_pow2; [easy|unfold k; lia].
Qed.

Section Sums.
  Context (scale : f32) (unit : R) (row : list f32) (scale_value : is_value scale unit) (large : two_to (-119) <= unit)
    (items : Forall admissible row) (few_items : (Z.of_nat (length row) <= 2 ^ 22)%Z)
    (some : exists x, In x row /\ is_finite x = true).
  Notation M := (strict_arithmetic 2 step_32).
  Notation logits := (logits_of unit row).

  Lemma maximum_value : exists m, is_value (tree_maximum row) m /\ is_maximum (m * unit) logits.
  Proof using large items some.
    assert (pos : 0 < unit) by (pose proof (bpow_gt_0 radix2 (-119)); lra).
    assert (found : exists m, is_value (fold_left tree_larger row minus_infinity) m /\
      (forall x, In x row -> is_finite x = true -> val x <= m) /\ exists x, In x row /\ is_finite x = true /\ val x = m).
    { clear - items some. induction row as [|x l IH]; [now destruct some as [? [[] _]]|].
      inversion items as [|? ? first rest]; subst. cbn [fold_left]. destruct first as [finite|hidden].
      - assert (tree_larger minus_infinity x = x) as ->.
        { unfold tree_larger. destruct (less_infinite x finite) as [_ [not _]]. now rewrite not. }
        destruct (largest_value l x (val x) rest ltac:(easy)) as [m [hm [above [all one]]]]. exists m. split; [easy|]. split.
        + intros y [<-|iny] fy; [easy|now apply all].
        + destruct one as [->|[y [iny same]]]; [exists x|exists y]; split; try easy; [now left|now right].
      - assert (tree_larger minus_infinity x = minus_infinity) as -> by (now rewrite hidden).
        destruct IH as [m [hm [all [y [iny same]]]]]; [easy| |].
        + destruct some as [y [[<-|iny] fy]]; [rewrite hidden in fy; discriminate|now exists y].
        + exists m. split; [easy|]. split; [|exists y; split; [now right|easy]].
          intros z [<-|inz] fz; [rewrite hidden in fz; discriminate|now apply all]. }
    destruct found as [m [hm [all [x [inx [fx <-]]]]]]. exists (val x). split.
    - unfold tree_maximum. destruct hm as [fm vm]. rewrite (proj2 (proj2 (less_infinite _ fm))). now apply add_zero.
    - split; [now apply visible_in|]. intros l inl. apply in_visible in inl as [y [iny [fy ->]]].
      apply Rmult_le_compat_r; [lra|now apply all].
  Qed.

  (** ** The sums, where two items or more lie in 16 bytes *)

  Lemma hidden_far m : is_value (tree_maximum row) m -> less exp_vanishing (mul (sub minus_infinity (tree_maximum row)) scale) = false.
  Proof using scale_value large.
    intros [fm _]. replace (sub minus_infinity (tree_maximum row)) with (B754_infinity true : f32);
      [now apply (infinite_product scale unit)|]. destruct (tree_maximum row); easy.
  Qed.

  Lemma weight_of_item x m :
    In x row \/ x = minus_infinity -> is_value (tree_maximum row) m -> is_maximum (m * unit) logits ->
    is_item 2 step_32 (m * unit) (logit_of unit x) (tree_weight (tree_argument scale (tree_maximum row) x))
      (tree_argument scale (tree_maximum row) x).
  Proof using scale_value large items.
    intros place hm max. unfold logit_of, tree_argument. set (z := mul (sub x (tree_maximum row)) scale).
    assert (kind : is_finite x = true /\ In x row \/ x = minus_infinity).
    { destruct place as [inx|hidden]; [|now right]. destruct (proj1 (Forall_forall admissible row) items x inx); [now left|now right]. }
    destruct kind as [[finite inx]|hidden].
    - rewrite finite. assert (below : val x * unit <= m * unit) by (apply max; now apply visible_in).
      assert (pos : 0 < unit) by (pose proof (bpow_gt_0 radix2 (-119)); lra).
      assert (le : val x <= m) by (now apply Rmult_le_reg_r with unit).
      destruct (strict_argument scale unit scale_value large x (tree_maximum row) (val x) m ltac:(easy) hm le)
        as [[a [hz [a0 arg]]]|[far [b [beyond arg]]]]; [fold z in hz|fold z in far].
      + destruct (tree_weight_is_computed 2 step_32 ltac:(lia) step_32_range z a hz a0) as [v [b [hv [rv [ex [hb [rb same]]]]]]].
        exists v, b. repeat (split; [assumption|]). exists (- a). easy.
      + apply (gone_item 2 step_32 ltac:(lia) step_32_range); [easy|]. split; [easy|]. now exists b.
    - replace (if is_finite x then _ else _) with (@None R) by now rewrite hidden. apply (gone_item 2 step_32 ltac:(lia) step_32_range); [|easy].
      unfold z. rewrite hidden. now apply (hidden_far m).
  Qed.

  Context (vector : nat) (pairs : (1 <= vector <= 3)%nat).

  Theorem tree_sums_compute :
    exists m s y h, is_value (tree_maximum row) m /\ is_value (tree_sum vector scale (tree_maximum row) row) (s * two_to 64) /\
      is_value (tree_products vector scale (tree_maximum row) row) (- y * two_to 64) /\ / 20 <= s <= two_to 27 /\
      sum_of_row M 0 (m * unit) logits s h 0 /\ moments_of_row M 0 (m * unit) logits s y h 0 /\ lost_sum M 0 (m * unit) logits h 0 < 1 /\
      (N.of_nat h <= summation_height tree_of_pairs (N.of_nat (length row)))%N.
  Proof using scale_value large items few_items some pairs.
    destruct maximum_value as [m [hm max]]. set (k := (vector + 7 + (Nat.log2_up (length row) - (vector + 7)))%nat).
    assert (one : (0 < length row)%nat) by (destruct some as [x [inx _]]; destruct row; [easy|cbn; lia]).
    destruct (enough_bits row vector few_items one ltac:(lia)) as [short enough]. fold k in short, enough.
    destruct vector as [|v]; [lia|]. destruct (neighbours_first v (Nat.log2_up (length row) - (S v + 7))) as [bits first].
    pose proof (canonical_order_covers (S v) (Nat.log2_up (length row) - (S v + 7))) as order. fold k in order. rewrite first in order.
    set (logit i := logit_of unit (item_of row i)).
    set (weight i := if N.ltb i (N.of_nat (length row)) then tree_weight (tree_argument scale (tree_maximum row) (item_of row i)) else zero).
    set (argument i := tree_argument scale (tree_maximum row) (item_of row i)).
    assert (inside : forall i, (N.of_nat (length row) <= i)%N -> logit i = None).
    { intros i far. unfold logit, item_of. rewrite nth_overflow by lia. easy. }
    assert (each : forall i, is_item 2 step_32 (m * unit) (logit i) (weight i) (argument i)).
    { intros i. replace (weight i) with (tree_weight (tree_argument scale (tree_maximum row) (item_of row i))).
      2: { unfold weight. destruct (N.ltb_spec i (N.of_nat (length row))); [easy|]. unfold item_of. rewrite nth_overflow by lia.
           now apply vanished, (hidden_far m). }
      unfold logit, argument. apply weight_of_item; [|easy|easy].
      unfold item_of. destruct (nth_in_or_default (N.to_nat i) row minus_infinity); [now left|now right]. }
    assert (same : Permutation (visible_by logit (bits ++ [0%N]) 0) logits).
    { eapply Permutation_trans; [apply Permutation_flat_map, Permutation_map, (order_covers _ k order)|]. unfold logit, logits_of.
      rewrite <- (map_map (item_of row) (logit_of unit)), (items_of_row row (2 ^ k) enough), map_app.
      assert (none : forall c, visible_items (map (logit_of unit) (repeat minus_infinity c)) = []) by (induction c; easy).
      unfold visible_items in *. rewrite flat_map_app, none, app_nil_r. apply Permutation_refl. }
    destruct (order_computes 2 step_32 ltac:(lia) step_32_range (m * unit) (N.of_nat (length row)) logit weight inside argument each
                bits k logits order ltac:(lia) same max) as [s [y [h [hs [hy [sum [moments low]]]]]]].
    exists m, s, y, h. split; [exact hm|]. split; [unfold tree_sum, order_of; now rewrite first|].
    split; [unfold tree_products, order_of; now rewrite first, removelast_last|].
    pose proof (few_additions row h few_items low).
    assert (visible_few : (Z.of_nat (length logits) <= 2 ^ 22)%Z) by (pose proof (visible_length unit row); lia).
    split; [now apply (sum_range 2 ltac:(lia) (m * unit) logits h 0)|]. split; [exact sum|].
    split; [exact moments|]. split; [now apply (lost_less_than_sum 2 ltac:(lia))|exact low].
  Qed.
End Sums.
