(** * Rows of the strict kernels' models that are written out, and rows without a softmax.

    Main results
    - [nothing_visible]   where every item is masked, softmax is NaN at each and the entropy is NaN
    - [undefined_row]   softmax at every item, log-sum-exp and entropy

    The Examples meet the premises of strict_softmax.v and show the words that the models compute.
    Source: kernels/block/softmax.hpp, entropy.hpp. *)

From Coq Require Import Reals List ZArith Permutation Lra Lia Bool Arith.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import formats.
From softcheck.strict_kernels Require Import machine_numbers block_row strict_operations strict_carried strict_state
  strict_row strict_argument.
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

Local Close Scope R_scope.

(** ** A NaN or +inf anywhere in a row of the strict kernels' models makes every result NaN.

    Source: kernels/block/row_statistics.hpp, undefined_items. *)

Definition undefined (s : state) : Prop := maximum s = B754_nan.
Definition undefined_item (x : f32) : Prop := less x plus_infinity = false.
Definition undefined_group (g : group) : Prop := all_defined g = false.

Lemma undefined_not_defined s : undefined s -> defined s = false.
Proof. intros nan. unfold defined. now rewrite nan. Qed.

Lemma group_keeps_undefined scale s g : undefined s \/ undefined_group g -> undefined (add_group scale s g).
Proof.
  intros either. unfold add_group. assert (negb (defined s) || negb (all_defined g) = true) as ->; [|reflexivity].
  destruct either as [nan|bad]; [now rewrite undefined_not_defined|rewrite bad; apply orb_true_r].
Qed.

Lemma merge_keeps_undefined scale s t : undefined s \/ undefined t -> undefined (merged scale s t).
Proof.
  intros either. unfold merged. assert (negb (defined s) || negb (defined t) = true) as ->; [|reflexivity].
  destruct either as [nan|nan]; rewrite (undefined_not_defined _ nan); [reflexivity|apply orb_true_r].
Qed.

Lemma dealt_undefined scale groups : forall had waiting,
  length had + length waiting = threads ->
  Exists undefined had \/ Exists undefined waiting \/ Exists undefined_group groups ->
  let (had', waiting') := fold_left (dealt scale) groups (had, waiting) in
  Exists undefined (rev had' ++ waiting') /\ length (rev had' ++ waiting') = threads.
Proof.
  induction groups as [|g groups IH]; intros had waiting count some; cbn [fold_left].
  - rewrite app_length, rev_length. split; [|easy]. apply Exists_app.
    destruct some as [some|[some|some]]; [left; now apply Exists_rev|now right|inversion some].
  - assert (next : forall s others had',
      length had' + S (length others) = threads -> Exists undefined had' \/ Exists undefined (s :: others) \/
      Exists undefined_group (g :: groups) ->
      let (had'', waiting'') := fold_left (dealt scale) groups (add_group scale s g :: had', others) in
      Exists undefined (rev had'' ++ waiting'') /\ length (rev had'' ++ waiting'') = threads).
    { intros s others had' count' some'. apply IH; [cbn [length]; lia|]. destruct some' as [some'|[some'|some']].
      - left. now apply Exists_cons_tl.
      - inversion some'; subst; [left; apply Exists_cons_hd, group_keeps_undefined; now left|right; now left].
      - inversion some'; subst; [left; apply Exists_cons_hd, group_keeps_undefined; now right|right; now right]. }
    destruct waiting as [|s others]; cbn [dealt].
    + pose proof (rev_length had) as size. destruct (rev had) as [|s others] eqn:turned.
      { cbn in size, count. unfold threads in count. lia. } cbn [length] in size, count.
      apply next; [cbn [length]; lia|]. destruct some as [some|[some|some]]; [|inversion some|right; now right]. right.
      left. rewrite <- turned. now apply Exists_rev.
    + apply next; [cbn [length] in count; lia|easy].
Qed.

Lemma pairs_undefined scale states :
  (Exists undefined states -> Exists undefined (pairs_merged scale states)) /\
  length (pairs_merged scale states) = Nat.div2 (S (length states)).
Proof.
  assert (all : forall n l, length l <= n ->
    (Exists undefined l -> Exists undefined (pairs_merged scale l)) /\
    length (pairs_merged scale l) = Nat.div2 (S (length l))); [|now apply (all (length states))].
  induction n as [|n IH]; intros [|a [|b rest]] short; try (split; [easy|reflexivity]); cbn in short; try lia.
  destruct (IH rest) as [keeps size]; [lia|]. cbn [pairs_merged length]. rewrite size. split; [|reflexivity].
  intros some. inversion some as [? ? nan|? ? some']; subst.
  - apply Exists_cons_hd, merge_keeps_undefined. now left.
  - inversion some' as [? ? nan|? ? some'']; subst.
    + apply Exists_cons_hd, merge_keeps_undefined. now right.
    + apply Exists_cons_tl. now apply keeps.
Qed.

(** How many states a tree of so many levels leaves. *)
Fixpoint left_after (levels n : nat) : nat :=
  match levels with O => n | S fewer => left_after fewer (Nat.div2 (S n)) end.

Lemma tree_undefined scale levels : forall states,
  Exists undefined states ->
  Exists undefined (tree_merged scale levels states) /\
  length (tree_merged scale levels states) = left_after levels (length states).
Proof.
  induction levels as [|levels IH]; intros states some; [now split|]. cbn [tree_merged].
  destruct (pairs_undefined scale states) as [keeps size]. destruct (IH _ (keeps some)) as [some' size'].
  split; [easy|]. now rewrite size', size.
Qed.

Lemma groups_undefined row : Exists undefined_item row -> Exists undefined_group (groups_of row).
Proof.
  assert (all : forall n l, length l <= n -> Exists undefined_item l -> Exists undefined_group (groups_of l));
    [|now apply (all (length row))].
  assert (one : forall a b c d, undefined_item a \/ undefined_item b \/ undefined_item c \/ undefined_item d ->
    undefined_group {| item_0 := a; item_1 := b; item_2 := c; item_3 := d |}).
  { intros a b c d some. unfold undefined_group, all_defined. cbn [item_0 item_1 item_2 item_3].
    unfold undefined_item in some. destruct some as [-> |[-> |[-> | ->]]]; rewrite ?andb_false_r; reflexivity. }
  induction n as [|n IH]; intros [|a [|b [|c [|d rest]]]] short some; try (cbn in short; lia); try (inversion some; fail);
    rewrite ?Exists_cons, ?Exists_nil in some; cbn [groups_of].
  - apply Exists_cons_hd, one. tauto.
  - apply Exists_cons_hd, one. tauto.
  - apply Exists_cons_hd, one. tauto.
  - apply Exists_cons. destruct some as [some|[some|[some|[some|some]]]]; [left; apply one; tauto..|right].
    apply IH; [cbn in short; lia|easy].
Qed.

Theorem undefined_row scale theta row :
  Exists undefined_item row ->
  strict_softmax scale row = map (fun _ => B754_nan) row /\ strict_logsumexp theta row = B754_nan /\
  strict_entropy scale row = B754_nan.
Proof.
  intros some. assert (nan : forall any, undefined (statistics any row)).
  { intros any. unfold statistics.
    pose proof (dealt_undefined any (groups_of row) [] (repeat no_items threads) ltac:(now rewrite repeat_length)
                  (or_intror (or_intror (groups_undefined row some)))) as held.
    destruct (fold_left (dealt any) (groups_of row) ([], repeat no_items threads)) as [had waiting].
    destruct held as [some_state size]. destruct (tree_undefined any 7 _ some_state) as [result one].
    rewrite size in one. destruct (tree_merged any 7 (rev had ++ waiting)) as [|s [|t others]]; try discriminate one.
    cbn [hd]. inversion result as [? ? nan|? ? none]; subst; [easy|inversion none]. }
  unfold strict_softmax, strict_logsumexp, strict_entropy. rewrite !(undefined_not_defined _ (nan _)).
  unfold undefined in nan. rewrite nan. now split.
Qed.

Example a_row_with_nan : Exists undefined_item [zero; B754_nan].
Proof. apply Exists_cons_tl, Exists_cons_hd. reflexivity. Qed.
