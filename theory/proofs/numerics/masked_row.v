(** * Rows with masked items: what is exact of them, and the trees over them, are those of the visible items.

    A masked item is [None]: a logit of -inf, of exponential 0. In a kernel's tree it, and whatever holds nothing else, is a 0
    without a reference of its own. What a tree adds to such a 0 stays as it is, as the sum of 0 and a number is in every format.

    Main results
    - [masked_partition], [masked_coefficient], [masked_entropy]   Z, the coefficients and H of a row with masked items are
                                      those of the visible ones
    - [masked_tree], [masked_streamed_tree]   a tree over items is one over the visible ones, or holds nothing visible
    - [masked_sum]                    a kernel's sum over such a row is one over the visible items, with as many rescalings on a
                                      path and no more additions, and fewer than these items
    - [masked_moments]                so are both sums of an entropy
    - [unmasked_tree]                 where nothing is masked, a tree is one of these
    - [zero_added]                    0 and a number, added in a format, are this number; a product with 0 is 0

    Source: docs/tolerances.md, "The model"; mask contracts of proptests/. *)

From Flocq Require Import Core.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row reduction moments b1_sum b6_entropy reached_bounds.
Local Open Scope R_scope.

Definition visible_items (items : list (option R)) : list R :=
  flat_map (fun x => match x with Some v => [v] | None => [] end) items.

(** ** What is exact: the exponential of -inf is 0, and so is 0 ln 0 *)

Definition masked_exp (x : option R) : R := match x with Some v => exp v | None => 0 end.
Definition masked_total (items : list (option R)) : R := sum (map masked_exp items).
Definition coefficient_of_item (items : list (option R)) (x : option R) : R := masked_exp x / masked_total items.
Definition entropy_of_items (items : list (option R)) : R :=
  - sum (map (fun x => let p := coefficient_of_item items x in p * ln p) items).

Lemma sum_of_visible (f : option R -> R) items :
  f None = 0 -> sum (map f items) = sum (map (fun v => f (Some v)) (visible_items items)).
Proof.
  intros nothing. induction items as [|[v|] items IH]; [easy| |]; unfold sum in *; cbn [map fold_right] in *; rewrite IH.
  - reflexivity.
  - rewrite nothing. apply Rplus_0_l.
Qed.

Theorem masked_partition items : masked_total items = partition_function (visible_items items).
Proof. unfold masked_total, partition_function. now rewrite sum_of_visible. Qed.

Theorem masked_coefficient items :
  coefficient_of_item items None = 0 /\ forall v, coefficient_of_item items (Some v) = coefficient (visible_items items) v.
Proof.
  unfold coefficient_of_item, coefficient. rewrite masked_partition. split; [|easy]. unfold Rdiv. cbn [masked_exp]. ring.
Qed.

Theorem masked_entropy items : entropy_of_items items = entropy (visible_items items).
Proof.
  destruct (masked_coefficient items) as [nothing some]. unfold entropy_of_items, entropy, softmax. f_equal.
  rewrite sum_of_visible by (cbv zeta; rewrite nothing; ring). rewrite map_map. apply sum_map_ext. intros v _. cbv zeta.
  now rewrite some.
Qed.

(** ** Trees *)

(** [summed] of reduction.v, over items that may be masked. *)
Inductive masked_summed (M : arithmetic) : list (option R) -> R -> R -> nat -> nat -> nat -> Prop :=
| masked_nothing items r : visible_items items = [] -> masked_summed M items r 0 0 0 0
| masked_item x r b s :
    x <= r -> computed_argument M (r - x) b -> computed_exp M b s -> masked_summed M [Some x] r s 0 0 0
| masked_addition l1 l2 r s1 s2 s h1 h2 j1 j2 K1 K2 :
    masked_summed M l1 r s1 h1 j1 K1 -> masked_summed M l2 r s2 h2 j2 K2 -> computed_sum M (s1 + s2) s ->
    (visible_items l1 = [] -> s = s2) -> (visible_items l2 = [] -> s = s1) ->
    masked_summed M (l1 ++ l2) r s (S (max h1 h2)) (max j1 j2) (K1 + K2)
| masked_rescaled l r r' s b f s' h j K :
    masked_summed M l r s h j K -> visible_items l <> [] -> r <= r' -> computed_argument M (r' - r) b -> computed_exp M b f ->
    computed_product M (s * f) s' -> masked_summed M l r' s' h (S j) (S K)
| masked_reordered l l' r s h j K :
    masked_summed M l r s h j K -> Permutation l l' -> masked_summed M l' r s h j K.

(** [streamed] of moments.v, likewise. *)
Inductive masked_streamed (M : arithmetic) : list (option R) -> R -> R -> R -> nat -> nat -> nat -> Prop :=
| streamed_nothing items r : visible_items items = [] -> masked_streamed M items r 0 0 0 0 0
| streamed_visible x r b s y :
    x <= r -> computed_argument M (r - x) b -> computed_exp M b s -> computed_product M (s * b) y ->
    masked_streamed M [Some x] r s y 0 0 0
| streamed_both l1 l2 r s1 s2 s y1 y2 y h1 h2 j1 j2 K1 K2 :
    masked_streamed M l1 r s1 y1 h1 j1 K1 -> masked_streamed M l2 r s2 y2 h2 j2 K2 ->
    computed_sum M (s1 + s2) s -> computed_sum M (y1 + y2) y ->
    (visible_items l1 = [] -> s = s2 /\ y = y2) -> (visible_items l2 = [] -> s = s1 /\ y = y1) ->
    masked_streamed M (l1 ++ l2) r s y (S (max h1 h2)) (max j1 j2) (K1 + K2)
| streamed_raised l r r' s y b f p q s' y' h j K :
    masked_streamed M l r s y h j K -> visible_items l <> [] -> r <= r' -> computed_argument M (r' - r) b -> computed_exp M b f ->
    computed_product M (s * f) s' ->
    computed_product M (b * s) p -> computed_sum M (y + p) q -> computed_product M (q * f) y' ->
    masked_streamed M l r' s' y' h (S j) (S K)
| streamed_permuted l l' r s y h j K :
    masked_streamed M l r s y h j K -> Permutation l l' -> masked_streamed M l' r s y h j K.

Lemma visible_app l1 l2 : visible_items (l1 ++ l2) = visible_items l1 ++ visible_items l2.
Proof. apply flat_map_app. Qed.

Lemma visible_permutation l l' : Permutation l l' -> Permutation (visible_items l) (visible_items l').
Proof. apply Permutation_flat_map. Qed.

(** A tree adds at most once for each item but one. *)
Lemma tree_below_size M l r s h j K : summed M l r s h j K -> (h < length l)%nat.
Proof.
  induction 1 as [| | |l l' r s h j K _ IH same]; rewrite ?app_length; cbn [length]; try lia. now rewrite <- (Permutation_length same).
Qed.

Lemma no_rescaling M l r s h j K : summed M l r s h j K -> j = 0%nat -> K = 0%nat.
Proof. induction 1; intros none; try easy; [|auto]. lia. Qed.

Theorem masked_tree M items r s h j K :
  masked_summed M items r s h j K ->
  (visible_items items = [] /\ s = 0 /\ j = 0%nat /\ K = 0%nat) \/
  exists h', (h' <= h)%nat /\ summed M (visible_items items) r s h' j K.
Proof.
  induction 1 as [items r none|x r b s le arg ex|l1 l2 r s1 s2 s h1 h2 j1 j2 K1 K2 _ IH1 _ IH2 added first second
                 |l r r' s b f s' h j K _ IH some le arg ex product|l l' r s h j K _ IH same].
  - left. now repeat split.
  - right. exists 0%nat. split; [lia|]. now apply summed_item with b.
  - rewrite visible_app. destruct IH1 as [[n1 [-> [-> ->]]]|[h1' [le1 t1]]].
    + rewrite n1 in *. rewrite (first eq_refl). cbn [app max plus].
      destruct IH2 as [[n2 [-> [-> ->]]]|[h2' [le2 t2]]]; [left; now rewrite n2|right].
      exists h2'. split; [lia|exact t2].
    + right. destruct IH2 as [[n2 [-> [-> ->]]]|[h2' [le2 t2]]].
      * rewrite n2, (second n2), app_nil_r, Nat.max_0_r, Nat.add_0_r. exists h1'. split; [lia|exact t1].
      * exists (S (max h1' h2')). split; [lia|]. now apply summed_addition with s1 s2.
  - destruct IH as [[none _]|[h' [lower tree]]]; [easy|]. right. exists h'. split; [easy|].
    now apply summed_rescaled with r s b f.
  - apply visible_permutation in same. destruct IH as [[none rest]|[h' [lower tree]]].
    + left. rewrite none in same. apply Permutation_nil in same. now rewrite same.
    + right. exists h'. split; [easy|]. now apply summed_reordered with (visible_items l).
Qed.

(** A row in which nothing is masked is one of these. *)
Theorem unmasked_tree M l r s h j K : summed M l r s h j K -> l <> [] /\ masked_summed M (map Some l) r s h j K.
Proof.
  assert (all : forall k, visible_items (map Some k) = k).
  { induction k as [|v k IH]; [easy|]. cbn [map visible_items flat_map app]. now f_equal. }
  induction 1 as [x r b s le arg ex|l1 l2 r s1 s2 s h1 h2 j1 j2 K1 K2 _ [n1 IH1] _ [n2 IH2] added
                 |l r r' s b f s' h j K _ [n IH] le arg ex product|l l' r s h j K _ [n IH] same].
  - split; [easy|]. now apply masked_item with b.
  - split; [now destruct l1|]. rewrite map_app. apply masked_addition with s1 s2; rewrite ?all; easy.
  - split; [easy|]. apply masked_rescaled with r s b f; rewrite ?all; easy.
  - split; [intros ->; now apply Permutation_sym, Permutation_nil in same|].
    apply masked_reordered with (map Some l); [exact IH|now apply Permutation_map].
Qed.

Theorem masked_streamed_tree M items r s y h j K :
  masked_streamed M items r s y h j K ->
  (visible_items items = [] /\ s = 0 /\ y = 0 /\ j = 0%nat /\ K = 0%nat) \/
  exists h', (h' <= h)%nat /\ streamed M (visible_items items) r s y h' j K.
Proof.
  induction 1 as [items r none|x r b s y le arg ex prod
                 |l1 l2 r s1 s2 s y1 y2 y h1 h2 j1 j2 K1 K2 _ IH1 _ IH2 added summed first second
                 |l r r' s y b f p q s' y' h j K _ IH some le arg ex product term total result|l l' r s y h j K _ IH same].
  - left. now repeat split.
  - right. exists 0%nat. split; [lia|]. now apply streamed_item with b.
  - rewrite visible_app. destruct IH1 as [[n1 [-> [-> [-> ->]]]]|[h1' [le1 t1]]].
    + rewrite n1 in *. destruct (first eq_refl) as [-> ->]. cbn [app max plus].
      destruct IH2 as [[n2 [-> [-> [-> ->]]]]|[h2' [le2 t2]]]; [left; now rewrite n2|right].
      exists h2'. split; [lia|exact t2].
    + right. destruct IH2 as [[n2 [-> [-> [-> ->]]]]|[h2' [le2 t2]]].
      * destruct (second n2) as [-> ->]. rewrite n2, app_nil_r, Nat.max_0_r, Nat.add_0_r. exists h1'. split; [lia|exact t1].
      * exists (S (max h1' h2')). split; [lia|]. now apply streamed_addition with s1 s2 y1 y2.
  - destruct IH as [[none _]|[h' [lower tree]]]; [easy|]. right. exists h'. split; [easy|].
    now apply streamed_rescaled with r s y b f p q.
  - apply visible_permutation in same. destruct IH as [[none rest]|[h' [lower tree]]].
    + left. rewrite none in same. apply Permutation_nil in same. now rewrite same.
    + right. exists h'. split; [easy|]. now apply streamed_reordered with (visible_items l).
Qed.

(** ** A row's sums *)

(** The same items masked, the others moved as [converted] says. *)
Definition masked_converted (kappa m : R) (items : list (option R)) (m' : R) (items' : list (option R)) : Prop :=
  Forall2 (fun x x' => match x, x' with
                       | Some v, Some v' => Rabs ((m' - v') - (m - v)) <= kappa
                       | None, None => True
                       | _, _ => False
                       end) items items'.

Lemma visible_converted kappa m items m' items' :
  masked_converted kappa m items m' items' -> converted kappa m (visible_items items) m' (visible_items items').
Proof.
  unfold masked_converted, converted. induction 1 as [|[v|] [v'|] l l' close _ IH]; try easy; [constructor|].
  cbn [visible_items flat_map app]. now constructor.
Qed.

Definition sum_of_masked_row (M : arithmetic) (kappa m : R) (items : list (option R)) (s : R) (h j : nat) : Prop :=
  is_maximum m (visible_items items) /\
  exists m' items' K, is_maximum m' (visible_items items') /\ masked_converted kappa m items m' items' /\
    masked_summed M items' m' s h j K /\ INR K <= 2 * size (visible_items items).

Definition moments_of_masked_row (M : arithmetic) (kappa m : R) (items : list (option R)) (s y : R) (h j : nat) : Prop :=
  is_maximum m (visible_items items) /\
  exists m' items' K, is_maximum m' (visible_items items') /\ masked_converted kappa m items m' items' /\
    masked_streamed M items' m' s y h j K /\ INR K <= size (visible_items items).

Lemma maximum_is_visible m l : is_maximum m l -> l <> [].
Proof. intros [inm _] nothing. now rewrite nothing in inm. Qed.

Theorem masked_sum M kappa m items s h j :
  sum_of_masked_row M kappa m items s h j ->
  exists h', (h' <= Nat.min h (length (visible_items items) - 1))%nat /\ sum_of_row M kappa m (visible_items items) s h' j.
Proof.
  intros [max [m' [items' [K [max' [conv [tree few]]]]]]].
  destruct (masked_tree M items' m' s h j K tree) as [[none _]|[h' [lower visible_tree]]];
    [now apply maximum_is_visible in max'|].
  pose proof (tree_below_size _ _ _ _ _ _ _ visible_tree) as below. pose proof (visible_converted _ _ _ _ _ conv) as same.
  pose proof (INR_eq _ _ (converted_size _ _ _ _ _ same)) as sized.
  exists h'. split; [lia|]. apply (sum_of_tree M kappa m (visible_items items) m' (visible_items items') s h' j K); try easy.
  now apply (no_rescaling M _ _ _ _ _ _ visible_tree).
Qed.

Theorem masked_moments M kappa m items s y h j :
  moments_of_masked_row M kappa m items s y h j ->
  exists h', (h' <= Nat.min h (length (visible_items items) - 1))%nat /\ moments_of_row M kappa m (visible_items items) s y h' j.
Proof.
  intros [max [m' [items' [K [max' [conv [tree few]]]]]]].
  destruct (masked_streamed_tree M items' m' s y h j K tree) as [[none _]|[h' [lower visible_tree]]];
    [now apply maximum_is_visible in max'|].
  pose proof (tree_below_size _ _ _ _ _ _ _ (streamed_summed _ _ _ _ _ _ _ _ visible_tree)) as below. pose proof (visible_converted _ _ _ _ _ conv) as same.
  pose proof (INR_eq _ _ (converted_size _ _ _ _ _ same)) as sized.
  exists h'. split; [lia|]. apply (moments_of_trees M kappa m (visible_items items) m' (visible_items items') s y h' j K); try easy.
  now apply (no_rescaling M _ _ _ _ _ _ (streamed_summed _ _ _ _ _ _ _ _ visible_tree)).
Qed.

(** ** That it is so in a format *)

Theorem zero_added F tie x :
  (0 < prec F)%Z -> number F x -> nearest F tie (0 + x) = x /\ nearest F tie (x + 0) = x /\ nearest F tie (0 * x) = 0.
Proof.
  intros positive is_number. assert (Prec_gt_0 (prec F)) by exact positive. rewrite Rplus_0_l, Rplus_0_r, Rmult_0_l. unfold nearest.
  split; [|split]; [apply round_generic|apply round_generic|apply round_0]; try exact is_number; typeclasses eauto.
Qed.

(** 0, a masked item and 0: both sums of a kernel of binary32's accuracy, and what is exact. *)
Example masked_row_is_inhabited :
  let items := [Some 0; None; Some 0] in
  sum_of_masked_row single 0 0 items 2 2 0 /\ moments_of_masked_row single 0 0 items 2 0 2 0 /\
  coefficient_of_item items (Some 0) = / 2 /\ (0 < prec binary32)%Z /\ number binary32 0.
Proof.
  assert (exact_sum : forall z, computed_sum single z z).
  { intros z. pose proof (sum_off 0 z ltac:(lra)) as exact. now rewrite Rmult_0_l, exp_0, Rmult_1_r in exact. }
  assert (exact_exp : computed_exp single 0 1).
  { pose proof (exp_of_0 0 ltac:(lra)) as exact. now rewrite Rmult_0_l, exp_0 in exact. }
  assert (no_product : computed_product single (1 * 0) 0).
  { pose proof (product_off 0 0 ltac:(lra)) as exact. now rewrite Rmult_1_l, Rmult_0_l in *. }
  assert (argument : computed_argument single (0 - 0) 0) by (rewrite Rminus_0_r; apply argument_of_0).
  assert (max : is_maximum 0 (visible_items [Some 0; None; Some 0])).
  { split; [now left|]. intros x [<-|[<-|[]]]; lra. }
  assert (same : masked_converted 0 0 [Some 0; None; Some 0] 0 [Some 0; None; Some 0]).
  { assert (Rabs (0 - 0 - (0 - 0)) <= 0) by (rewrite Rminus_diag_eq, Rabs_R0 by easy; lra).
    unfold masked_converted. repeat apply Forall2_cons; easy || apply Forall2_nil. }
  cbv zeta. split; [|split; [|split; [|split]]].
  - split; [exact max|]. exists 0, [Some 0; None; Some 0], 0%nat. split; [exact max|]. split; [exact same|]. split; [|cbn; lra].
    apply (masked_addition single ([Some 0] ++ [None]) [Some 0] 0 1 1 2 1 0 0 0 0 0); try easy.
    + apply (masked_addition single [Some 0] [None] 0 1 0 1 0 0 0 0 0 0); try easy.
      * apply masked_item with 0; easy || lra.
      * now apply masked_nothing.
      * rewrite Rplus_0_r. apply exact_sum.
    + apply masked_item with 0; easy || lra.
  - split; [exact max|]. exists 0, [Some 0; None; Some 0], 0%nat. split; [exact max|]. split; [exact same|]. split; [|cbn; lra].
    apply (streamed_both single ([Some 0] ++ [None]) [Some 0] 0 1 1 2 0 0 0 1 0 0 0 0 0); try easy.
    + apply (streamed_both single [Some 0] [None] 0 1 0 1 0 0 0 0 0 0 0 0 0); try easy.
      * apply streamed_visible with 0; easy || lra.
      * now apply streamed_nothing.
      * rewrite Rplus_0_r. apply exact_sum.
      * rewrite Rplus_0_r. apply exact_sum.
    + apply streamed_visible with 0; easy || lra.
    + rewrite Rplus_0_r. apply exact_sum.
  - unfold coefficient_of_item, masked_total, sum. cbn [map masked_exp fold_right]. rewrite exp_0. lra.
  - reflexivity.
  - apply generic_format_0.
Qed.
