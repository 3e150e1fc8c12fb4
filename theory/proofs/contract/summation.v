(** * The word sum= of a contract: which trees add so, and how high these may be.

    A tree says which sums a kernel adds. [follows w items t]: a kernel that declares the word w may add the row items by the
    tree t. sequential adds one item after the other to one sum, in any order of the items, as atomic additions do. Lanes and
    blocks may add their own items in any order and by any tree, so that lanes 1 is any tree; what they come to is combined in
    levels, each of which adds the sums in pairs (neighbours, halves of the list or any others) and leaves one alone at most,
    or by halves of halves.

    Main results
    - [height_of_word]     no tree that follows a word is higher than [summation_height] says of it
    - [word_of_sum]        so the sum of a kernel that follows its word, masked items among its own, is one of the theorems'
                           [sum_of_row], of that height at most and of fewer additions on a path than visible items
    - [word_of_moments]    likewise both sums of an entropy
    - [rescaled_by_one]    a factor of exp(0), which is 1 under every contract, leaves a sum as it was: a kernel that multiplies
                           by it at every step rescales no more often than its maximum rises

    Source: summation_height in numerics/rounding/contract.cpp; docs/kernels/judging.md, "From a contract to thresholds". *)

From Coq Require Import NArith.
From softcheck.numerics Require Import row reduction moments b1_sum b6_entropy masked_row reached_bounds.
Local Open Scope N_scope.

Inductive summation := sequential | tree_of_pairs | lanes (K : N) | blocks (K : N).

Definition ceil_divide (n K : N) : N := n / K + (if n mod K =? 0 then 0 else 1).

Definition summation_height (w : summation) (n : N) : N :=
  if n <=? 1 then 0 else
  match w with
  | sequential => n - 1
  | tree_of_pairs => N.log2_up n
  | lanes K => N.min (n - 1) (ceil_divide n K - 1 + N.log2_up K)
  | blocks K => N.min (n - 1) (K - 1 + N.log2_up (ceil_divide n K))
  end.

(** ** Trees *)

Section Trees.
  Context {item : Type}.

  Inductive tree := leaf (x : item) | added (a b : tree).

  Fixpoint leaves (t : tree) : list item :=
    match t with leaf x => [x] | added a b => leaves a ++ leaves b end.

  Fixpoint height (t : tree) : nat :=
    match t with leaf _ => 0%nat | added a b => S (Nat.max (height a) (height b)) end.

  Lemma leaves_not_empty t : (1 <= length (leaves t))%nat.
  Proof. induction t; cbn [leaves]; rewrite ?app_length; cbn [length]; lia. Qed.

  Lemma height_below_size t : (height t <= length (leaves t) - 1)%nat.
  Proof.
    induction t as [x|a IHa b IHb]; cbn [leaves height]; rewrite ?app_length; [cbn; lia|].
    pose proof (leaves_not_empty a). pose proof (leaves_not_empty b). lia.
  Qed.

  (** One level: sums in pairs, whichever belong together, and one that is left over at most. *)
  Inductive level : list tree -> list tree -> Prop :=
  | level_end : level [] []
  | level_alone a : level [a] [a]
  | level_pair a b rest next : level rest next -> level (a :: b :: rest) (added a b :: next).

  (** Parts, combined: level by level, or by halves of halves. *)
  Inductive combined : list tree -> tree -> Prop :=
  | combined_one a : combined [a] a
  | combined_levels parts ordered next t :
      (2 <= length parts)%nat -> Permutation parts ordered -> level ordered next -> combined next t -> combined parts t
  | combined_halves left right a b :
      (length left <= S (length right))%nat -> (length right <= S (length left))%nat ->
      combined left a -> combined right b -> combined (left ++ right) (added a b).

  Lemma level_leaves parts next :
    level parts next -> Permutation (concat (map leaves parts)) (concat (map leaves next)) /\
    (1 <= length parts -> 1 <= length next)%nat.
  Proof.
    induction 1 as [|a|a b rest next _ [same some]]; cbn [map concat leaves length]; [easy|easy|].
    split; [|lia]. rewrite app_assoc. now apply Permutation_app_head.
  Qed.

  Lemma combined_leaves parts t :
    combined parts t -> Permutation (concat (map leaves parts)) (leaves t) /\ (1 <= length parts)%nat.
  Proof.
    induction 1 as [a|parts ordered next t two order pairs _ [same _]|left right a b _ _ _ [same some] _ [same' _]].
    - cbn. rewrite app_nil_r. split; [easy|lia].
    - split; [|lia]. destruct (level_leaves _ _ pairs) as [kept _]. rewrite <- same, <- kept.
      rewrite <- !flat_map_concat_map. now apply Permutation_flat_map.
    - rewrite map_app, concat_app, app_length. cbn [leaves]. split; [now apply Permutation_app|lia].
  Qed.

  Lemma level_height (k : nat) parts next :
    level parts next -> Forall (fun a => (height a <= k)%nat) parts ->
    Forall (fun a => (height a <= S k)%nat) next /\ (2 * length next <= S (length parts))%nat.
  Proof.
    induction 1 as [|a|a b rest next _ IH]; intros low.
    - split; [constructor|cbn; lia].
    - inversion low. split; [repeat constructor; lia|cbn; lia].
    - inversion low as [|? ? la low']; inversion low' as [|? ? lb low'']. subst. destruct (IH low'') as [high short].
      split; [constructor; [cbn [height]; lia|easy]|cbn [length]; lia].
  Qed.

  Lemma combined_height parts t :
    combined parts t -> forall k d, Forall (fun a => (height a <= k)%nat) parts -> (length parts <= 2 ^ d)%nat ->
    (height t <= k + d)%nat.
  Proof.
    induction 1 as [a|parts ordered next t two same pairs _ IH|left right a b fewer more whole IHl whole' IHr];
      intros k d low short.
    - inversion low. lia.
    - destruct d as [|d]; [cbn in short; lia|].
      apply (Permutation_Forall same) in low. destruct (level_height k _ _ pairs low) as [high half].
      apply Permutation_length in same. rewrite Nat.pow_succ_r' in short. specialize (IH (S k) d high ltac:(lia)). lia.
    - apply Forall_app in low as [ll lr]. rewrite app_length in short.
      assert (some : (1 <= length left)%nat) by now apply combined_leaves in whole.
      assert (some' : (1 <= length right)%nat) by now apply combined_leaves in whole'.
      destruct d as [|d]; [cbn in short; lia|]. rewrite Nat.pow_succ_r' in short.
      specialize (IHl k d ll ltac:(lia)). specialize (IHr k d lr ltac:(lia)). cbn [height]. lia.
  Qed.

  (** ** What a word says *)

  Definition sized (least : N) (parts : list tree) : Prop := Forall (fun a => N.of_nat (length (leaves a)) <= least) parts.
  Definition parts_of (items : list item) (parts : list tree) : Prop := Permutation items (concat (map leaves parts)).

  (** One item after the other to one sum. *)
  Definition in_turn (first : item) (rest : list item) : tree := fold_left (fun t x => added t (leaf x)) rest (leaf first).

  Lemma in_turn_leaves first rest : leaves (in_turn first rest) = first :: rest.
  Proof.
    assert (all : forall rest t, leaves (fold_left (fun t x => added t (leaf x)) rest t) = leaves t ++ rest).
    { induction rest0 as [|x rest0 IH]; intros t; cbn [fold_left]; [now rewrite app_nil_r|]. rewrite IH. cbn [leaves].
      now rewrite <- app_assoc. }
    unfold in_turn. now rewrite all.
  Qed.

  Inductive follows : summation -> list item -> tree -> Prop :=
  | follows_sequential items first rest : Permutation items (first :: rest) -> follows sequential items (in_turn first rest)
  | follows_pairs items ordered t :
      Permutation items ordered -> combined (map leaf ordered) t -> follows tree_of_pairs items t
  | follows_lanes K items parts t :
      1 <= K -> N.of_nat (length parts) <= K -> sized (ceil_divide (N.of_nat (length items)) K) parts ->
      parts_of items parts -> combined parts t -> follows (lanes K) items t
  | follows_blocks K items parts t :
      1 <= K -> N.of_nat (length parts) <= ceil_divide (N.of_nat (length items)) K -> sized K parts ->
      parts_of items parts -> combined parts t -> follows (blocks K) items t.

  Lemma follows_leaves w items t : follows w items t -> Permutation items (leaves t).
  Proof.
    destruct 1 as [items first rest same|items ordered t same whole|K items parts t _ _ _ same whole|K items parts t _ _ _ same whole];
      [now rewrite in_turn_leaves| | |]; destruct (combined_leaves _ _ whole) as [kept _]; rewrite same, <- kept; [|easy|easy].
    clear. induction ordered as [|x rest IH]; [easy|]. cbn. now constructor.
  Qed.

  Lemma combined_within (k n : N) parts t :
    combined parts t -> sized k parts -> N.of_nat (length parts) <= n -> N.of_nat (height t) <= k - 1 + N.log2_up n.
  Proof.
    intros whole small few. assert (enough : (length parts <= 2 ^ N.to_nat (N.log2_up n))%nat).
    { assert (n <= 2 ^ N.log2_up n) as above.
      { destruct (N.lt_trichotomy n 1) as [none|[->|more]]; [lia|easy|now apply N.log2_up_spec]. }
      assert (N.of_nat (length parts) <= N.of_nat (2 ^ N.to_nat (N.log2_up n))) by (rewrite Nat2N.inj_pow, N2Nat.id; change (N.of_nat 2) with 2; lia). lia. }
    pose proof (combined_height parts t whole (N.to_nat (k - 1)) (N.to_nat (N.log2_up n))) as bound.
    assert (low : Forall (fun a => (height a <= N.to_nat (k - 1))%nat) parts).
    { eapply Forall_impl; [|exact small]. intros a below. cbv beta in below. pose proof (height_below_size a). lia. }
    specialize (bound low enough). lia.
  Qed.

  Theorem height_of_word w items t :
    follows w items t -> N.of_nat (height t) <= summation_height w (N.of_nat (length items)).
  Proof.
    intros tree_of_word. pose proof (Permutation_length (follows_leaves _ _ _ tree_of_word)) as all.
    pose proof (height_below_size t) as most. unfold summation_height.
    set (n := N.of_nat (length items)) in *. destruct (n <=? 1) eqn:short; [apply N.leb_le in short; lia|].
    destruct tree_of_word as [items first rest same|items ordered t same whole|K items parts t _ few small _ whole
                             |K items parts t _ few small _ whole].
    - lia.
    - pose proof (combined_within 1 n _ _ whole) as bound. rewrite map_length, <- (Permutation_length same) in bound.
      apply bound; [|lia]. apply Forall_forall. intros a ina. apply in_map_iff in ina as [x [<- _]]. cbn. lia.
    - apply N.min_glb; [lia|]. now apply combined_within with parts.
    - apply N.min_glb; [lia|]. now apply combined_within with parts.
  Qed.
End Trees.
Arguments tree : clear implicits.

(** Any tree follows lanes 1. *)
Lemma any_tree_follows {item : Type} (items : list item) t : Permutation items (leaves t) -> follows (lanes 1) items t.
Proof.
  intros same. apply follows_lanes with [t]; [lia|cbn; lia| | |constructor].
  - constructor; [|constructor]. rewrite <- (Permutation_length same). unfold ceil_divide. rewrite N.div_1_r, N.mod_1_r. cbn. lia.
  - unfold parts_of. cbn. now rewrite app_nil_r.
Qed.

(** ** A kernel that adds by a tree *)

(** s may be what a kernel computes along the tree, as [masked_summed] has it. *)
Inductive summed_along (M : arithmetic) : tree (option R) -> R -> R -> nat -> nat -> Prop :=
| along_nothing t r : visible_items (leaves t) = [] -> summed_along M t r 0 0 0
| along_item x r b s :
    (x <= r)%R -> computed_argument M (r - x) b -> computed_exp M b s -> summed_along M (leaf (Some x)) r s 0 0
| along_addition t1 t2 r s1 s2 s j1 j2 K1 K2 :
    summed_along M t1 r s1 j1 K1 -> summed_along M t2 r s2 j2 K2 -> computed_sum M (s1 + s2) s ->
    (visible_items (leaves t1) = [] -> s = s2) -> (visible_items (leaves t2) = [] -> s = s1) ->
    summed_along M (added t1 t2) r s (Nat.max j1 j2) (K1 + K2)
| along_rescaled t r r' s b f s' j K :
    summed_along M t r s j K -> visible_items (leaves t) <> [] -> (r <= r')%R -> computed_argument M (r' - r) b ->
    computed_exp M b f -> computed_product M (s * f) s' -> summed_along M t r' s' (S j) (S K).

(** Both sums of an entropy, as [masked_streamed] has them. *)
Inductive streamed_along (M : arithmetic) : tree (option R) -> R -> R -> R -> nat -> nat -> Prop :=
| streaming_nothing t r : visible_items (leaves t) = [] -> streamed_along M t r 0 0 0 0
| streaming_item x r b s y :
    (x <= r)%R -> computed_argument M (r - x) b -> computed_exp M b s -> computed_product M (s * b) y ->
    streamed_along M (leaf (Some x)) r s y 0 0
| streaming_addition t1 t2 r s1 s2 s y1 y2 y j1 j2 K1 K2 :
    streamed_along M t1 r s1 y1 j1 K1 -> streamed_along M t2 r s2 y2 j2 K2 ->
    computed_sum M (s1 + s2) s -> computed_sum M (y1 + y2) y ->
    (visible_items (leaves t1) = [] -> s = s2 /\ y = y2) -> (visible_items (leaves t2) = [] -> s = s1 /\ y = y1) ->
    streamed_along M (added t1 t2) r s y (Nat.max j1 j2) (K1 + K2)
| streaming_rescaled t r r' s y b f p q s' y' j K :
    streamed_along M t r s y j K -> visible_items (leaves t) <> [] -> (r <= r')%R -> computed_argument M (r' - r) b ->
    computed_exp M b f -> computed_product M (s * f) s' -> computed_product M (b * s) p -> computed_sum M (y + p) q ->
    computed_product M (q * f) y' -> streamed_along M t r' s' y' (S j) (S K).

(** exp(0) = 1, and a product with 1 is exact: such a step is none of the rescalings that [summed_along] counts. *)
Theorem rescaled_by_one M t r s s' j K :
  summed_along M t r s j K -> s' = (s * exp (r - r))%R -> summed_along M t r s' j K.
Proof. intros along ->. now rewrite Rminus_diag_eq, exp_0, Rmult_1_r by easy. Qed.

Lemma along_masked M t r s j K :
  summed_along M t r s j K -> exists h, (h <= height t)%nat /\ masked_summed M (leaves t) r s h j K.
Proof.
  induction 1 as [t r none|x r b s le arg ex|t1 t2 r s1 s2 s j1 j2 K1 K2 _ [h1 [l1 m1]] _ [h2 [l2 m2]] sum first second
                 |t r r' s b f s' j K _ [h [low m]] some le arg ex prod].
  - exists 0%nat. split; [lia|]. now apply masked_nothing.
  - exists 0%nat. split; [lia|]. now apply masked_item with b.
  - exists (S (Nat.max h1 h2)). cbn [height leaves]. split; [lia|]. now apply masked_addition with s1 s2.
  - exists h. split; [easy|]. now apply masked_rescaled with r s b f.
Qed.

Lemma streaming_masked M t r s y j K :
  streamed_along M t r s y j K -> exists h, (h <= height t)%nat /\ masked_streamed M (leaves t) r s y h j K.
Proof.
  induction 1 as [t r none|x r b s y le arg ex prod
                 |t1 t2 r s1 s2 s y1 y2 y j1 j2 K1 K2 _ [h1 [l1 m1]] _ [h2 [l2 m2]] sum sum' first second
                 |t r r' s y b f p q s' y' j K _ [h [low m]] some le arg ex prod term total result].
  - exists 0%nat. split; [lia|]. now apply streamed_nothing.
  - exists 0%nat. split; [lia|]. now apply streamed_visible with b.
  - exists (S (Nat.max h1 h2)). cbn [height leaves]. split; [lia|]. now apply streamed_both with s1 s2 y1 y2.
  - exists h. split; [easy|]. now apply streamed_raised with r s y b f p q.
Qed.

Lemma converted_length kappa m items m' items' : masked_converted kappa m items m' items' -> length items' = length items.
Proof. unfold masked_converted. induction 1 as [|x x' l l' _ _ IH]; [easy|]. cbn [length]. now rewrite IH. Qed.

(** ** A row's sums, by a kernel of the word w *)

Section OfAWord.
  Context (M : arithmetic) (kappa m : R) (w : summation) (items : list (option R)).
  Let visible : list R := visible_items items.
  Let most : N := N.min (summation_height w (N.of_nat (length items))) (N.of_nat (length visible) - 1).

  (** As [sum_of_masked_row] and [moments_of_masked_row], along a tree that follows the word. *)
  Definition sum_by_word (s : R) (j : nat) : Prop :=
    is_maximum m visible /\
    exists m' items' t K, is_maximum m' (visible_items items') /\ masked_converted kappa m items m' items' /\
      follows w items' t /\ summed_along M t m' s j K /\ (INR K <= 2 * size visible)%R.

  Definition moments_by_word (s y : R) (j : nat) : Prop :=
    is_maximum m visible /\
    exists m' items' t K, is_maximum m' (visible_items items') /\ masked_converted kappa m items m' items' /\
      follows w items' t /\ streamed_along M t m' s y j K /\ (INR K <= size visible)%R.

  Lemma granted_height (items' : list (option R)) t h :
    length items' = length items -> follows w items' t -> (h <= height t)%nat ->
    forall h', (h' <= Nat.min h (length visible - 1))%nat -> N.of_nat h' <= most.
  Proof.
    intros same tree_of_word low h' lower. pose proof (height_of_word _ _ _ tree_of_word) as bound. rewrite same in bound.
    unfold most. lia.
  Qed.

  Theorem word_of_sum s j : sum_by_word s j -> exists h, N.of_nat h <= most /\ sum_of_row M kappa m visible s h j.
  Proof.
    intros [max [m' [items' [t [K [max' [conv [tree_of_word [along few]]]]]]]]].
    destruct (along_masked _ _ _ _ _ _ along) as [h [low tree']].
    assert (whole : sum_of_masked_row M kappa m items s h j).
    { split; [easy|]. exists m', items', K. split; [easy|]. split; [easy|]. split; [|easy].
      apply masked_reordered with (leaves t); [easy|]. symmetry. now apply follows_leaves with w. }
    destruct (masked_sum M kappa m items s h j whole) as [h' [lower row_sum]]. exists h'. split; [|easy].
    apply (granted_height items' t h); [|easy|easy|easy]. now apply converted_length with kappa m m'.
  Qed.

  Theorem word_of_moments s y j :
    moments_by_word s y j -> exists h, N.of_nat h <= most /\ moments_of_row M kappa m visible s y h j.
  Proof.
    intros [max [m' [items' [t [K [max' [conv [tree_of_word [along few]]]]]]]]].
    destruct (streaming_masked _ _ _ _ _ _ _ along) as [h [low tree']].
    assert (whole : moments_of_masked_row M kappa m items s y h j).
    { split; [easy|]. exists m', items', K. split; [easy|]. split; [easy|]. split; [|easy].
      apply streamed_permuted with (leaves t); [easy|]. symmetry. now apply follows_leaves with w. }
    destruct (masked_moments M kappa m items s y h j whole) as [h' [lower row_moments]]. exists h'. split; [|easy].
    apply (granted_height items' t h); [|easy|easy|easy]. now apply converted_length with kappa m m'.
  Qed.
End OfAWord.

(** ** Trees of five items that are as high as their word allows *)

Lemma alone {item : Type} (x : item) : combined [leaf x] (leaf x).
Proof. constructor. Qed.

Example heights_are_reached :
  let l := @leaf N in
  let pairs := [added (l 1) (l 2); added (l 3) (l 4); l 5] in
  let in_pairs := added (added (added (l 1) (l 2)) (added (l 3) (l 4))) (l 5) in
  let in_lanes := added (added (added (l 1) (l 3)) (l 5)) (added (l 2) (l 4)) in
  let in_turn := added (added (added (added (l 1) (l 2)) (l 3)) (l 4)) (l 5) in
  let row := [1; 2; 3; 4; 5] in
  (follows sequential row in_turn /\ N.of_nat (height in_turn) = summation_height sequential 5) /\
  (follows tree_of_pairs row in_pairs /\ N.of_nat (height in_pairs) = summation_height tree_of_pairs 5) /\
  (follows (lanes 2) row in_lanes /\ N.of_nat (height in_lanes) = summation_height (lanes 2) 5) /\
  (follows (blocks 2) row in_pairs /\ N.of_nat (height in_pairs) = summation_height (blocks 2) 5).
Proof.
  assert (whole : combined [added (leaf 1) (leaf 2); added (leaf 3) (leaf 4); leaf 5]
                           (added (added (added (leaf 1) (leaf 2)) (added (leaf 3) (leaf 4))) (leaf 5))).
  { eapply combined_levels; [cbn; lia|reflexivity|apply level_pair, level_alone|].
    eapply combined_levels; [cbn; lia|reflexivity|apply level_pair, level_end|]. constructor. }
  repeat split.
  - exact (follows_sequential [1; 2; 3; 4; 5] 1 [2; 3; 4; 5] (Permutation_refl _)).
  - apply follows_pairs with [1; 2; 3; 4; 5]; [reflexivity|].
    eapply combined_levels; [cbn; lia|reflexivity|apply level_pair, level_pair, level_alone|exact whole].
  - apply follows_lanes with [added (added (leaf 1) (leaf 3)) (leaf 5); added (leaf 2) (leaf 4)]; try (cbn; lia).
    + repeat constructor; cbn; lia.
    + constructor. rewrite <- (Permutation_middle [3; 5] [4] 2). constructor. constructor. apply perm_swap.
    + apply (combined_halves [added (added (leaf 1) (leaf 3)) (leaf 5)] [added (leaf 2) (leaf 4)]); cbn; try lia; constructor.
  - apply follows_blocks with [added (leaf 1) (leaf 2); added (leaf 3) (leaf 4); leaf 5]; try (cbn; lia);
      [|unfold parts_of; reflexivity|exact whole].
    repeat constructor; cbn; lia.
Qed.

(** 0, a masked item and 0, added one after the other by a kernel of binary32's accuracy. *)
Example a_word_is_kept :
  let items := [Some 0%R; None; Some 0%R] in
  sum_by_word single 0 0 sequential items 2 0 /\ moments_by_word single 0 0 sequential items 2 0 0.
Proof.
  assert (exact_sum : forall z, computed_sum single z z).
  { intros z. pose proof (sum_off 0 z ltac:(lra)) as exact. now rewrite Rmult_0_l, exp_0, Rmult_1_r in exact. }
  assert (exact_exp : computed_exp single 0 1).
  { pose proof (exp_of_0 0 ltac:(lra)) as exact. now rewrite Rmult_0_l, exp_0 in exact. }
  assert (no_product : computed_product single (1 * 0) 0).
  { pose proof (product_off 0 0 ltac:(lra)) as exact. now rewrite Rmult_1_l, Rmult_0_l in *. }
  assert (argument : computed_argument single (0 - 0) 0) by (rewrite Rminus_0_r; apply argument_of_0).
  set (items := [Some 0%R; None; Some 0%R]).
  assert (max : is_maximum 0 (visible_items items)) by (split; [now left|]; intros x [<-|[<-|[]]]; lra).
  assert (same : masked_converted 0 0 items 0 items).
  { assert (Rabs (0 - 0 - (0 - 0)) <= 0)%R by (rewrite Rminus_diag_eq, Rabs_R0 by easy; lra).
    unfold masked_converted. repeat apply Forall2_cons; easy || apply Forall2_nil. }
  split; (split; [exact max|]).
  - exists 0%R, items, (added (added (leaf (Some 0%R)) (leaf None)) (leaf (Some 0%R))), 0%nat.
    split; [exact max|]. split; [exact same|]. split; [exact (follows_sequential items (Some 0%R) [None; Some 0%R] (Permutation_refl _))|]. split; [|cbn; lra].
    apply (along_addition single _ _ 0 1 1 2 0 0 0 0); try easy.
    + apply (along_addition single _ _ 0 1 0 1 0 0 0 0); try easy.
      * apply along_item with 0%R; easy || lra.
      * now apply along_nothing.
      * rewrite Rplus_0_r. apply exact_sum.
    + apply along_item with 0%R; easy || lra.
  - exists 0%R, items, (added (added (leaf (Some 0%R)) (leaf None)) (leaf (Some 0%R))), 0%nat.
    split; [exact max|]. split; [exact same|]. split; [exact (follows_sequential items (Some 0%R) [None; Some 0%R] (Permutation_refl _))|]. split; [|cbn; lra].
    apply (streaming_addition single _ _ 0 1 1 2 0 0 0 0 0 0 0); try easy.
    + apply (streaming_addition single _ _ 0 1 0 1 0 0 0 0 0 0 0); try easy.
      * apply streaming_item with 0%R; easy || lra.
      * now apply streaming_nothing.
      * rewrite Rplus_0_r. apply exact_sum.
      * rewrite Rplus_0_r. apply exact_sum.
    + apply streaming_item with 0%R; easy || lra.
    + rewrite Rplus_0_r. apply exact_sum.
Qed.
