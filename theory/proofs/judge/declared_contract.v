(** * The judge of a contract as it is declared: its word sum= and the row, from which height and rescalings follow.

    judge.v accuses kernels of no more additions and rescalings on a path than two numbers grant. Here the two numbers are
    computed from the word, from how many items the row has, masked ones among them, and from the order of its logits.

    Main results
    - [declared_counts]                    a kernel that adds by a tree of the word, and rescales no more often than the maximum
                                           rises along it, stays within the two numbers
    - [declared_coefficient_accusation]    so what the judge accuses no kernel of the word returns: softmax, one coefficient
    - [declared_logsumexp_accusation], [declared_entropy_accusation]   log-sum-exp, entropy

    Idea: logits are multiples of one power of two, so their order is that of integers, of which rescalings.v speaks. The
    different logits are counted as the runs that the judge makes anyway; equal numbers of two forms count twice, which grants
    more. *)

From Coq Require Import ZArith NArith Bool.
From Flocq Require Import Core.
From softcheck.oracle Require Import interval_oracle.
From softcheck.numerics Require Import row reduction b1_sum b2_element b5_logsumexp b6_entropy moments masked_row.
From softcheck.contract Require Import summation rescalings.
From softcheck.judge Require Import enclosed_row kept_contract enclosed_bounds judge.
Local Open Scope R_scope.

(** ** What the word grants *)

Definition number_of {A : Type} (l : list A) : N := fold_left (fun count _ => N.succ count) l 0%N.

Lemma number_is_length {A : Type} (l : list A) : number_of l = N.of_nat (length l).
Proof.
  assert (all : forall count, fold_left (fun count (_ : A) => N.succ count) l count = (count + N.of_nat (length l))%N).
  { induction l as [|x rest IH]; intros count; cbn [fold_left length]; [lia|]. rewrite IH. lia. }
  unfold number_of. now rewrite all.
Qed.

Fixpoint records_after (so_far : option Z) (found : N) (items : list (option Z)) : N :=
  match items with
  | [] => found
  | x :: rest =>
      let risen := match so_far, x with Some p, Some q => (p <? q)%Z | _, _ => false end in
      records_after (larger_of so_far x) (if risen then N.succ found else found) rest
  end.

Lemma records_are items : forall so_far found, records_after so_far found items = (found + N.of_nat (records so_far items))%N.
Proof.
  induction items as [|x rest IH]; intros so_far found; cbn [records_after records]; [lia|]. rewrite IH.
  destruct so_far as [p|], x as [q|]; cbn [below]; try lia. destruct (p <? q)%Z; lia.
Qed.

Section Declared.
  Context (c : contract) (w : summation) (theta : dyadic) (items : list (option dyadic)).

  Definition visible_dyadics : list dyadic := flat_map (fun x => match x with Some v => [v] | None => [] end) items.
  Definition real_row : list (option R) := map (option_map (at_temperature theta)) items.

  Definition least_exponent : Z := fold_left (fun e x => Z.min e (snd x)) visible_dyadics 0%Z.
  Definition integer_row : list (option Z) := let e := least_exponent in map (option_map (at_exponent e)) items.
  Definition at_integer (z : Z) : R := IZR z * bpow radix2 least_exponent / value theta.

  Definition declared_additions : N := N.min (summation_height w (number_of items)) (number_of visible_dyadics - 1).

  Definition declared_rescalings : N :=
    match w with
    | sequential => let row := integer_row in N.max (records_after None 0 row) (records_after None 0 (rev_append row []))
    | _ => N.min (summation_height w (number_of items)) (number_of (runs_of visible_dyadics) - 1)
    end.

  (** The contract's other numbers, with these. *)
  Definition granting : contract := {|
    accumulator_roundoff := accumulator_roundoff c; exponential_error := exponential_error c;
    logarithm_error := logarithm_error c; argument_roundings := argument_roundings c; argument_extra := argument_extra c;
    difference_loss := difference_loss c; sum_loss := sum_loss c; product_loss := product_loss c;
    exponential_loss := exponential_loss c; last_argument := last_argument c; conversion_error := conversion_error c;
    scaling_error := scaling_error c; reciprocal_loss := reciprocal_loss c; result_roundoff := result_roundoff c;
    result_loss := result_loss c; smallest_number := smallest_number c;
    most_additions := declared_additions; most_rescalings := declared_rescalings
  |}.

  Lemma visible_is_row : visible_items real_row = row_at_temperature theta visible_dyadics.
  Proof.
    unfold real_row, visible_dyadics, row_at_temperature. induction items as [|[x|] rest IH]; cbn; [easy| |exact IH].
    now f_equal.
  Qed.

  Lemma least_is_least x : In x visible_dyadics -> (least_exponent <= snd x)%Z.
  Proof.
    assert (all : forall l e, (fold_left (fun e (x : dyadic) => Z.min e (snd x)) l e <= e)%Z /\
                              forall x, In x l -> (fold_left (fun e (x : dyadic) => Z.min e (snd x)) l e <= snd x)%Z).
    { induction l as [|y rest IH]; intros e; cbn [fold_left In]; [split; [lia|easy]|].
      destruct (IH (Z.min e (snd y))) as [low each]. split; [lia|]. intros z [<-|inz]; [lia|now apply each]. }
    apply all.
  Qed.

  Lemma integers_are_the_row : map (option_map at_integer) integer_row = real_row.
  Proof.
    unfold integer_row, real_row. cbv zeta. rewrite map_map. apply map_ext_in. intros [x|] inx; [|easy]. cbn [option_map].
    f_equal. unfold at_integer, at_temperature. rewrite (value_at_exponent least_exponent x); [easy|].
    apply least_is_least, in_flat_map. exists (Some x). split; [exact inx|now left].
  Qed.

  Lemma integers_visible : visible_logits integer_row = map (at_exponent least_exponent) visible_dyadics.
  Proof.
    unfold integer_row, visible_dyadics, visible_logits. cbv zeta. generalize least_exponent as e. intros e.
    induction items as [|[x|] rest IH]; cbn; [easy| |exact IH]. now f_equal.
  Qed.

  Lemma rescalings_are_granted : (rescalings w integer_row <= declared_rescalings)%N.
  Proof.
    assert (runs : (different_logits integer_row <= length (runs_of visible_dyadics))%nat).
    { transitivity (length (map (at_exponent least_exponent) (map fst (runs_of visible_dyadics)))); [|now rewrite !map_length].
      apply NoDup_incl_length; [apply NoDup_nodup|]. intros v inv. apply nodup_In in inv. rewrite integers_visible in inv.
      apply in_map_iff in inv as [x [<- inx]]. apply in_map. now apply in_runs. }
    assert (short : number_of items = N.of_nat (length integer_row)).
    { unfold integer_row. cbv zeta. now rewrite map_length, number_is_length. }
    unfold rescalings, declared_rescalings. destruct w; cbv zeta;
      [rewrite !records_are, rev_append_rev, app_nil_r; lia| | |]; rewrite short, (number_is_length (runs_of _)); lia.
  Qed.

  (** ** A kernel of the word *)

  (** The trees of the word, each with how often its paths rescale: never, where the maximum is known before; else no more
      often than it rises. A factor of exp(0) = 1 does not count ([rescaled_by_one]). *)
  Inductive adds_by_word : tree (option Z) -> nat -> Prop :=
  | below_the_maximum t : follows w integer_row t -> adds_by_word t 0
  | with_its_rises fresh t j : streamed fresh w integer_row t -> (j <= rises fresh t)%nat -> adds_by_word t j.

  (** The same tree, of logits as the kernel reads them. *)
  Inductive read_as (kappa m m' : R) : tree (option Z) -> tree (option R) -> Prop :=
  | item_read x y : masked_converted kappa m [option_map at_integer x] m' [y] -> read_as kappa m m' (leaf x) (leaf y)
  | addition_read a b a' b' :
      read_as kappa m m' a a' -> read_as kappa m m' b b' -> read_as kappa m m' (added a b) (added a' b').

  Notation M := (arithmetic_of c).
  Notation kappa := (value (conversion_error c)).
  Notation visible := (visible_items real_row).
  Notation output := (rounded_output (value (result_roundoff c)) (value (result_loss c))).

  Definition declared_sum (m s : R) (j : nat) : Prop :=
    is_maximum m visible /\
    exists t m' t' K, adds_by_word t j /\ read_as kappa m m' t t' /\ is_maximum m' (visible_items (leaves t')) /\
      summed_along M t' m' s j K /\ INR K <= 2 * size visible.

  Definition declared_moments (m s y : R) (j : nat) : Prop :=
    is_maximum m visible /\
    exists t m' t' K, adds_by_word t j /\ read_as kappa m m' t t' /\ is_maximum m' (visible_items (leaves t')) /\
      streamed_along M t' m' s y j K /\ INR K <= size visible.

  (** [keeps_coefficient], [keeps_logsumexp] and [keeps_entropy], by the word. *)
  Definition keeps_declared_coefficient (x p : R) : Prop :=
    exists m s j, declared_sum m s j /\ computed_element M (output_of c) kappa m j s x p.

  Definition keeps_declared_logsumexp (l : R) : Prop :=
    exists m s j m_hat y z,
      declared_sum m s j /\ computed_maximum M kappa m j (value (scaling_error c)) m_hat /\ computed_log M s y /\
      rounded_sum M (m_hat + y) z /\ output z l.

  Definition keeps_declared_entropy (e : R) : Prop :=
    exists m s y j q x z,
      declared_moments m s y j /\ quotient_by_sum M (value (reciprocal_loss c)) y s q /\ computed_log M s x /\
      rounded_sum M (x + q) z /\ output z e.

  Lemma follows_the_word t j : adds_by_word t j -> follows w integer_row t /\ (j <= N.to_nat declared_rescalings)%nat.
  Proof.
    pose proof rescalings_are_granted as most.
    destruct 1 as [t tree_of_word|fresh t j tree_of_word few]; [split; [easy|lia]|].
    split; [now apply streamed_follows in tree_of_word|]. pose proof (rescalings_of_word _ _ _ _ tree_of_word). lia.
  Qed.

  Lemma read_leaves k m m' t t' :
    read_as k m m' t t' ->
    height t' = height t /\ masked_converted k m (map (option_map at_integer) (leaves t)) m' (leaves t').
  Proof.
    induction 1 as [x y read|a b a' b' _ [ha ca] _ [hb cb]]; [now split|]. cbn [height leaves]. rewrite ha, hb.
    split; [easy|]. rewrite map_app. now apply Forall2_app.
  Qed.

  (** The row in the kernel's reading, and a tree's additions on a path. *)
  Lemma read_row m m' t j t' :
    adds_by_word t j -> read_as kappa m m' t t' -> is_maximum m' (visible_items (leaves t')) ->
    exists items', is_maximum m' (visible_items items') /\ masked_converted kappa m real_row m' items' /\
      Permutation (leaves t') items' /\
      (Nat.min (height t') (length visible - 1) <= N.to_nat declared_additions)%nat.
  Proof.
    intros by_word read [inm above]. destruct (follows_the_word t j by_word) as [tree_of_word _].
    destruct (read_leaves _ _ _ _ _ read) as [high conv]. pose proof (follows_leaves _ _ _ tree_of_word) as same.
    pose proof (height_of_word _ _ _ tree_of_word) as bound. apply (Permutation_map (option_map at_integer)) in same.
    rewrite integers_are_the_row in same.
    destruct (Permutation_Forall2 (Permutation_sym same) conv) as [items' [same' conv']].
    pose proof (Permutation_flat_map (fun x : option R => match x with Some v => [v] | None => [] end) same') as shown.
    exists items'. split; [split; [now apply (Permutation_in _ shown)|]|split; [exact conv'|split; [exact same'|]]].
    { intros x inx. apply above. now apply (Permutation_in _ (Permutation_sym shown)). } unfold declared_additions.
    rewrite !number_is_length, high. unfold integer_row in bound. cbv zeta in bound. rewrite map_length in bound.
    rewrite visible_is_row. unfold row_at_temperature. rewrite map_length. lia.
  Qed.

  Theorem declared_counts :
    (forall m s j, declared_sum m s j -> exists h, granted granting h j /\ sum_of_row M kappa m visible s h j) /\
    (forall m s y j, declared_moments m s y j -> exists h, granted granting h j /\ moments_of_row M kappa m visible s y h j).
  Proof.
    split.
    - intros m s j [max [t [m' [t' [K [by_word [read [max' [along few]]]]]]]]].
      destruct (along_masked _ _ _ _ _ _ along) as [h [low tree']].
      destruct (read_row _ _ _ _ _ by_word read max') as [items' [top [conv [same high]]]].
      assert (whole : sum_of_masked_row M kappa m real_row s h j).
      { split; [exact max|]. exists m', items', K. split; [exact top|split; [exact conv|split; [|exact few]]].
        now apply masked_reordered with (leaves t'). }
      destruct (masked_sum _ _ _ _ _ _ _ whole) as [h' [lower row_sum]]. exists h'. split; [|exact row_sum].
      split; [cbn [most_additions granting]; lia|now apply follows_the_word in by_word].
    - intros m s y j [max [t [m' [t' [K [by_word [read [max' [along few]]]]]]]]].
      destruct (streaming_masked _ _ _ _ _ _ _ along) as [h [low tree']].
      destruct (read_row _ _ _ _ _ by_word read max') as [items' [top [conv [same high]]]].
      assert (whole : moments_of_masked_row M kappa m real_row s y h j).
      { split; [exact max|]. exists m', items', K. split; [exact top|split; [exact conv|split; [|exact few]]].
        now apply streamed_permuted with (leaves t'). }
      destruct (masked_moments _ _ _ _ _ _ _ _ whole) as [h' [lower row_moments]]. exists h'. split; [|exact row_moments].
      split; [cbn [most_additions granting]; lia|now apply follows_the_word in by_word].
  Qed.

  (** ** The judge, and its accusations *)

  Definition declared_coefficient (p : F.precision) : dyadic -> dyadic -> verdict :=
    judge_coefficient p granting theta visible_dyadics.
  Definition declared_logsumexp (p : F.precision) : dyadic -> verdict := judge_logsumexp p granting theta visible_dyadics.
  Definition declared_entropy (p : F.precision) : dyadic -> verdict := judge_entropy p granting theta visible_dyadics.

  Theorem declared_coefficient_accusation p item result :
    declared_coefficient p item result = violated ->
    ~ keeps_declared_coefficient (at_temperature theta item) (value result).
  Proof.
    intros accused [m [s [j [sums element]]]]. apply (coefficient_accusation p granting theta visible_dyadics item result accused).
    destruct (proj1 declared_counts m s j sums) as [h [grants row_sum]]. rewrite visible_is_row in row_sum.
    now exists m, s, h, j.
  Qed.

  Theorem declared_logsumexp_accusation p result :
    declared_logsumexp p result = violated -> ~ keeps_declared_logsumexp (value result).
  Proof.
    intros accused [m [s [j [m_hat [y [z [sums rest]]]]]]]. apply (logsumexp_accusation p granting theta visible_dyadics result accused).
    destruct (proj1 declared_counts m s j sums) as [h [grants row_sum]]. rewrite visible_is_row in row_sum.
    now exists m, s, h, j, m_hat, y, z.
  Qed.

  Theorem declared_entropy_accusation p result :
    declared_entropy p result = violated -> ~ keeps_declared_entropy (value result).
  Proof.
    intros accused [m [s [y [j [q [x [z [sums rest]]]]]]]]. apply (entropy_accusation p granting theta visible_dyadics result accused).
    destruct (proj2 declared_counts m s y j sums) as [h [grants row_moments]]. rewrite visible_is_row in row_moments.
    now exists m, s, y, h, j, q, x, z.
  Qed.
End Declared.

(** (4, 1, 2, 3) with a masked item: a tree of any form may rescale three times, one item after the other once. The integers of
    1/2 and 3 are multiples of 1/2. *)
Example counts_of_a_row :
  let row := [Some (1, 2); Some (1, 0); Some (1, 1); None; Some (3, 0)]%Z in
  declared_additions (lanes 1) row = 3%N /\ declared_rescalings (lanes 1) row = 3%N /\
  declared_additions sequential row = 3%N /\ declared_rescalings sequential row = 1%N /\
  declared_additions (lanes 4) row = 3%N /\ declared_additions tree_of_pairs (None :: None :: row) = 3%N /\
  integer_row [Some (1, -1); None; Some (3, 0)]%Z = [Some 1; None; Some 6]%Z.
Proof. vm_compute. repeat split. Qed.

(** One per cent beside the exact values of judge.v. *)
Example accuses_by_the_word :
  let row := [None; Some zero; Some (-1, 0)%Z] in
  declared_coefficient of_binary32 sequential one row bits zero (756, -10)%Z = violated /\
  declared_logsumexp of_binary32 tree_of_pairs one row bits (328, -10)%Z = violated /\
  declared_entropy of_binary32 (lanes 2) one row bits (603, -10)%Z = violated.
Proof. vm_compute. repeat split. Qed.

(** 0 and a masked item, added one after the other: a kernel of the word returns 1. *)
Example one_is_returned_by_the_word :
  keeps_declared_coefficient of_binary32 sequential one [Some zero; None] (at_temperature one zero) 1.
Proof.
  set (x := at_temperature one zero). destruct (one_is_computed x) as [_ [exact element]].
  destruct maximum_is_computed as [argument weight]. assert (nothing : value zero = 0) by apply value_of_integer.
  assert (top : x = 0) by (unfold x, at_temperature; rewrite nothing; apply Rmult_0_l).
  exists x, 1, 0%nat. split; [|exact element]. split; [split; [now left|intros y [<-|[]]; apply Rle_refl]|].
  exists (in_turn (Some 0%Z) [None]), x, (added (leaf (Some x)) (leaf None)), 0%nat. split; [|split; [|split; [|split]]].
  - apply below_the_maximum. now constructor.
  - apply addition_read; apply item_read, Forall2_cons; try apply Forall2_nil; [|easy]. cbn [option_map]. unfold at_integer, Rdiv.
    rewrite !Rmult_0_l, top, Rminus_diag_eq, Rabs_R0 by easy. cbn. rewrite nothing. apply Rle_refl.
  - split; [now left|intros y [<-|[]]; apply Rle_refl].
  - apply (along_addition _ (leaf (Some x)) (leaf None) x 1 0 1 0 0 0 0); try easy.
    + apply along_item with 0; [apply Rle_refl| |exact weight]. now replace (x - x) with 0 by ring.
    + now apply along_nothing.
    + rewrite Rplus_0_r. apply exact.
  - unfold size. cbn. lra.
Qed.
