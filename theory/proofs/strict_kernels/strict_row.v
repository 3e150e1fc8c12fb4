(** * A row's statistics, as 128 threads of the strict kernels compute them.

    Main results
    - [groups_dealt]       groups dealt to threads in turn leave states that hold all of the row's items
    - [tree_holds]         merging neighbours seven times leaves one state that holds them
    - [statistics_hold]    statistics() of a row of finite or masked items holds these: two additions, at most
                           2 ceil(n / 512) + 16 compensated ones and ceil(n / 512) + 7 rescalings on a path

    Source: kernels/block/row_statistics.hpp, merge.hpp. *)

From Coq Require Import Reals List ZArith Permutation Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import standard_model.
From softcheck.strict_kernels Require Import machine_numbers block_row.
From softcheck.strict_kernels Require Import strict_operations strict_weights strict_sums strict_carried strict_state
  strict_groups.
Import ListNotations.
Local Open Scope R_scope.

Section Row.
  Context (A : nat) (step : R) (few : (A <= 12)%nat) (small_step : 0 <= step <= / 2) (scale : f32) (unit : R)
    (scale_value : is_value scale unit) (unit_positive : 0 < unit)
    (argument : forall x y a b, is_value x a -> is_value y b -> a <= b -> argued A step (mul (sub x y) scale) (b * unit - a * unit)).
  Notation holds := (holds A step unit).
  Notation visible_group := (visible_group unit).

  Definition all_hold (states : list state) (lists : list (list R)) (H J : nat) : Prop :=
    Forall2 (fun s l => holds s l H J) states lists.

  Lemma all_hold_wider states lists H J H' J' :
    (H <= H')%nat -> (J <= J')%nat -> all_hold states lists H J -> all_hold states lists H' J'.
  Proof.
    intros hH hJ held. induction held as [|s l states lists one rest IH]; [constructor|].
    constructor; [|exact IH]. now apply (holds_wider A step unit s l H J).
  Qed.

  Lemma all_hold_length states lists H J : all_hold states lists H J -> length states = length lists.
  Proof. intros held. induction held as [|s l states lists one rest IH]; cbn; [easy|now rewrite IH]. Qed.

  Lemma all_hold_reversed states lists H J : all_hold states lists H J -> all_hold (rev states) (rev lists) H J.
  Proof.
    intros held. induction held as [|s l states lists one rest IH]; [constructor|].
    cbn [rev]. apply Forall2_app; [easy|]. constructor; [exact one|constructor].
  Qed.

  Lemma concat_reversed (lists : list (list R)) : Permutation (concat (rev lists)) (concat lists).
  Proof.
    induction lists as [|l lists IH]; [apply Permutation_refl|]. cbn [rev concat]. rewrite concat_app. cbn [concat].
    rewrite app_nil_r. apply Permutation_trans with (l ++ concat (rev lists)); [apply Permutation_app_comm|].
    now apply Permutation_app_head.
  Qed.

  Definition limited_row (l : list R) (G : nat) : Prop := limited l (2 + 2 * G + 14) (G + 7) (length l).

  Lemma part_limited l total H J G :
    (length l <= length total)%nat -> (H + J <= 2 + 2 * G + 14 + (G + 7))%nat -> limited_row total G ->
    limited l H J (length l).
  Proof. intros. now apply limited_less with total (2 + 2 * G + 14)%nat (G + 7)%nat (length total). Qed.

  (** Threads that have had [rounds] groups each, and one more those that come first in [had]. *)
  Theorem groups_dealt groups : forall had waiting lists_had lists_waiting rounds seen G,
    Forall admissible_group groups ->
    all_hold had lists_had (2 + 2 * S rounds) (S rounds) ->
    all_hold waiting lists_waiting (2 + 2 * rounds) rounds ->
    (length had + length waiting = threads)%nat ->
    Permutation (concat lists_had ++ concat lists_waiting) seen ->
    (threads * rounds + length had + length groups <= threads * G)%nat ->
    (had = [] \/ S rounds <= G)%nat ->
    limited_row (seen ++ flat_map visible_group groups) G ->
    exists lists, let (had', waiting') := fold_left (dealt scale) groups (had, waiting) in
      all_hold (rev had' ++ waiting') lists (2 + 2 * G) G /\ length (rev had' ++ waiting') = threads /\
      Permutation (concat lists) (seen ++ flat_map visible_group groups).
  Proof.
    induction groups as [|g groups IH];
      intros had waiting lists_had lists_waiting rounds seen G adm held_had held_waiting count perm enough begun lim.
    - cbn [fold_left flat_map]. rewrite app_nil_r. exists (rev lists_had ++ lists_waiting). split; [|split].
      + apply Forall2_app.
        * destruct begun as [->|begun]; [inversion held_had; constructor|].
          apply all_hold_wider with (2 + 2 * S rounds)%nat (S rounds); [lia|lia|]. now apply all_hold_reversed.
        * apply all_hold_wider with (2 + 2 * rounds)%nat rounds; [cbn in enough; nia|cbn in enough; nia|easy].
      + rewrite app_length, rev_length. lia.
      + rewrite concat_app. eapply Permutation_trans; [|exact perm]. apply Permutation_app_tail, concat_reversed.
    - inversion adm as [|? ? adm_g adm_rest]; subst. cbn [fold_left].
      assert (next : forall s l others lists_others had' lists_had' r,
        holds s l (2 + 2 * r) r -> all_hold others lists_others (2 + 2 * r) r ->
        all_hold had' lists_had' (2 + 2 * S r) (S r) -> (length had' + S (length others) = threads)%nat ->
        Permutation (concat lists_had' ++ l ++ concat lists_others) seen ->
        (threads * r + length had' + S (length groups) <= threads * G)%nat ->
        exists lists, let (had'', waiting'') := fold_left (dealt scale) groups (add_group scale s g :: had', others) in
          all_hold (rev had'' ++ waiting'') lists (2 + 2 * G) G /\ length (rev had'' ++ waiting'') = threads /\
          Permutation (concat lists) (seen ++ flat_map visible_group (g :: groups))).
      { intros s l others lists_others had' lists_had' r one rest held count' perm' enough'.
        assert (below : (S r <= G)%nat) by (unfold threads in *; nia).
        pose proof (Permutation_length perm') as size. rewrite !app_length in size.
        assert (added : holds (add_group scale s g) (l ++ visible_group g) (2 + 2 * S r) (S r)).
        { replace (2 + 2 * S r)%nat with (S (S (2 + 2 * r))) by lia.
          apply (group_added A step few small_step scale unit scale_value unit_positive argument); try easy; [lia|].
          apply part_limited with (seen ++ flat_map visible_group (g :: groups)) G; try easy; [|lia].
          cbn [flat_map]. rewrite !app_length. lia. }
        destruct (IH (add_group scale s g :: had') others ((l ++ visible_group g) :: lists_had') lists_others r
                    (seen ++ visible_group g) G) as [lists result]; try easy.
        - now constructor.
        - cbn [length]. lia.
        - cbn [concat]. rewrite <- !app_assoc.
          apply Permutation_trans with ((concat lists_had' ++ l ++ concat lists_others) ++ visible_group g);
            [|now apply Permutation_app_tail].
          apply Permutation_trans with ((l ++ concat lists_had' ++ concat lists_others) ++ visible_group g).
          + rewrite <- !app_assoc. apply Permutation_app_head.
            eapply Permutation_trans; [apply Permutation_app_comm|]. rewrite <- !app_assoc. apply Permutation_refl.
          + apply Permutation_app_tail. rewrite !app_assoc. apply Permutation_app_tail, Permutation_app_comm.
        - cbn [length]. lia.
        - now right.
        - cbn [flat_map] in lim. now rewrite <- app_assoc.
        - exists lists. destruct (fold_left (dealt scale) groups (add_group scale s g :: had', others)) as [had'' waiting''].
          cbn [flat_map]. rewrite app_assoc. exact result. }
      destruct held_waiting as [|s l others lists_others one rest].
      + pose proof (all_hold_reversed _ _ _ _ held_had) as reversed. pose proof (concat_reversed lists_had) as same.
        cbn [dealt]. cbn [length] in count. pose proof (rev_length had) as size.
        destruct reversed as [|s l others lists_others one rest]; [cbn in size; unfold threads in *; lia|].
        cbn [length] in size, enough.
        apply (next s l others lists_others [] [] (S rounds)); try easy; [constructor| | |].
        * cbn [length]. lia.
        * cbn [concat app] in *. rewrite app_nil_r in perm. now apply Permutation_trans with (concat lists_had).
        * cbn [length]. unfold threads in *. nia.
      + cbn [dealt length concat] in *. apply (next s l others lists_others had lists_had rounds); easy.
  Qed.

  (** ** Merging neighbours *)

  Fixpoint pairs_joined (lists : list (list R)) : list (list R) :=
    match lists with first :: second :: others => (first ++ second) :: pairs_joined others | _ => lists end.

  Lemma concat_joined lists : concat (pairs_joined lists) = concat lists /\ length (pairs_joined lists) = Nat.div2 (S (length lists)).
  Proof.
    assert (both : forall n lists, (length lists <= n)%nat ->
      concat (pairs_joined lists) = concat lists /\ length (pairs_joined lists) = Nat.div2 (S (length lists))); [|now apply (both (length lists))].
    induction n as [|n IH]; intros [|a [|b rest]] short; try (split; reflexivity); cbn in short; try lia.
    destruct (IH rest) as [c l]; [lia|]. cbn [pairs_joined concat length]. rewrite c, l. split; [symmetry; apply app_assoc|reflexivity].
  Qed.

  Lemma pairs_hold total G states lists H J :
    limited_row total G -> (length (concat lists) <= length total)%nat -> (S (S H) + S J <= 2 + 2 * G + 14 + (G + 7))%nat ->
    all_hold states lists H J -> all_hold (pairs_merged scale states) (pairs_joined lists) (S (S H)) (S J).
  Proof.
    intros lim.
    assert (all : forall n states lists, (length states <= n)%nat -> (length (concat lists) <= length total)%nat ->
      (S (S H) + S J <= 2 + 2 * G + 14 + (G + 7))%nat -> all_hold states lists H J ->
      all_hold (pairs_merged scale states) (pairs_joined lists) (S (S H)) (S J)); [|now apply (all (length states))].
    induction n as [|n IH]; intros states' lists' short within room held.
    - destruct held; [constructor|cbn in short; lia].
    - destruct held as [|s1 l1 states1 lists1 one rest]; [constructor|]. destruct rest as [|s2 l2 states2 lists2 two rest].
      + constructor; [|constructor]. apply (holds_wider A step unit s1 l1 H J); try lia. easy.
      + cbn [pairs_merged pairs_joined concat length] in *. rewrite !app_length in within. constructor.
        * apply (states_merged A step few small_step scale unit unit_positive argument); try easy.
          apply part_limited with total G; try easy. rewrite app_length. lia.
        * apply IH; try easy; lia.
  Qed.

  Theorem tree_holds total G levels : forall states lists H J,
    limited_row total G -> (length (concat lists) <= length total)%nat ->
    (H + 2 * levels + (J + levels) <= 2 + 2 * G + 14 + (G + 7))%nat -> (length lists <= 2 ^ levels)%nat ->
    all_hold states lists H J ->
    exists lists', all_hold (tree_merged scale levels states) lists' (H + 2 * levels) (J + levels) /\
      concat lists' = concat lists /\ (length lists' <= 1)%nat /\ (1 <= length lists -> 1 <= length lists')%nat.
  Proof.
    induction levels as [|levels IH]; intros states lists H J lim within room few_lists held.
    - exists lists. rewrite Nat.mul_0_r, !Nat.add_0_r. cbn in few_lists. now repeat split.
    - destruct (concat_joined lists) as [same halved]. cbn [tree_merged].
      destruct (IH (pairs_merged scale states) (pairs_joined lists) (S (S H)) (S J)) as
        [lists' [result [same' [one some]]]]; try easy.
      + now rewrite same.
      + lia.
      + rewrite halved. rewrite Nat.pow_succ_r' in few_lists.
        assert (bound : (2 * Nat.div2 (S (length lists)) <= S (length lists))%nat).
        { pose proof (Nat.div2_odd (S (length lists))). destruct (Nat.odd (S (length lists))); cbn in *; lia. } lia.
      + apply pairs_hold with total G; try easy. lia.
      + exists lists'. replace (H + 2 * S levels)%nat with (S (S H) + 2 * levels)%nat by lia.
        replace (J + S levels)%nat with (S J + levels)%nat by lia. rewrite same', same. repeat split; try easy.
        intros nonempty. apply some. rewrite halved. destruct lists as [|first [|second others]]; cbn in *; lia.
  Qed.

  (** ** The row *)

  Definition visible_row (row : list f32) : list R := flat_map (visible unit) row.
  Definition rounds_of (n : nat) : nat := (n + 511) / 512.

  Lemma groups_of_row row :
    Forall admissible row ->
    Forall admissible_group (groups_of row) /\ flat_map visible_group (groups_of row) = visible_row row /\
    (length (groups_of row) <= (length row + 3) / 4)%nat.
  Proof.
    assert (all : forall n row, (length row <= n)%nat -> Forall admissible row ->
      Forall admissible_group (groups_of row) /\ flat_map visible_group (groups_of row) = visible_row row /\
      (4 * length (groups_of row) <= length row + 3)%nat).
    { induction n as [|n IH]; intros [|a [|b [|c [|d rest]]]] short adm; try (cbn in short; lia);
        repeat match goal with H : Forall admissible (_ :: _) |- _ => inversion H; subst; clear H end;
        assert (hidden : admissible minus_infinity) by now right.
      - repeat split; [apply Forall_nil|cbn; lia].
      - repeat split; [apply Forall_nil|cbn; lia].
      - split; [cbn [groups_of]; apply Forall_cons; [now repeat split|apply Forall_nil]|]. split; [|cbn; lia].
        unfold strict_groups.visible_group, visible_row. cbn. now rewrite ?app_nil_r.
      - split; [cbn [groups_of]; apply Forall_cons; [now repeat split|apply Forall_nil]|]. split; [|cbn; lia].
        unfold strict_groups.visible_group, visible_row. cbn. now rewrite ?app_nil_r.
      - split; [cbn [groups_of]; apply Forall_cons; [now repeat split|apply Forall_nil]|]. split; [|cbn; lia].
        unfold strict_groups.visible_group, visible_row. cbn. now rewrite ?app_nil_r.
      - cbn [groups_of length] in *. destruct (IH rest) as [adm_rest [same count]]; [lia|easy|].
        split; [constructor; [repeat split; easy|easy]|]. split; [|cbn [length]; lia].
        cbn [flat_map]. rewrite same. unfold strict_groups.visible_group, visible_row. cbn [item_0 item_1 item_2 item_3 flat_map].
        now rewrite <- !app_assoc. }
    intros adm. destruct (all (length row) row (le_n _) adm) as [adm_groups [same count]]. split; [easy|]. split; [easy|].
    apply Nat.div_le_lower_bound; lia.
  Qed.

  Theorem statistics_hold row :
    Forall admissible row -> (Z.of_nat (length row) <= 2 ^ 22)%Z ->
    holds (statistics scale row) (visible_row row) (2 * rounds_of (length row) + 16) (rounds_of (length row) + 7).
  Proof.
    intros adm few_items. destruct (groups_of_row row adm) as [adm_groups [same count]].
    set (G := rounds_of (length row)). set (n := length row) in *.
    assert (rounds : (n + 511 = 512 * G + (n + 511) mod 512)%nat) by (apply Nat.div_mod_eq).
    assert (last : ((n + 511) mod 512 < 512)%nat) by (apply Nat.mod_upper_bound; lia).
    assert (visible_few : (length (visible_row row) <= n)%nat).
    { unfold n. clear. induction row as [|x row IH]; [easy|]. unfold visible_row in *. cbn [flat_map]. rewrite app_length.
      unfold strict_state.visible at 1. destruct (is_finite x); cbn; lia. }
    assert (lim : limited_row (visible_row row) G).
    { unfold limited_row, limited, short. repeat split; lia. }
    destruct (groups_dealt (groups_of row) [] (repeat no_items threads) [] (repeat [] threads) 0 [] G) as [lists dealt_lists].
    - easy.
    - constructor.
    - assert (all : forall k, all_hold (repeat no_items k) (repeat [] k) (2 + 2 * 0) 0).
      { induction k; constructor; [now apply (holds_nothing A step unit)|easy]. }
      apply all.
    - cbn [length]. now rewrite repeat_length.
    - cbn [concat app]. assert (none : forall k, concat (repeat (@nil R) k) = []) by (induction k; easy). now rewrite none.
    - cbn [length]. unfold threads. assert (4 * ((n + 3) / 4) <= n + 3)%nat by (apply Nat.mul_div_le; lia). lia.
    - now left.
    - now rewrite same.
    - unfold statistics. destruct (fold_left (dealt scale) (groups_of row) ([], repeat no_items threads)) as [had waiting].
      destruct dealt_lists as [held [size perm]]. cbn [app] in perm. rewrite same in perm.
      pose proof (Permutation_length perm) as total.
      assert (lists_size : length lists = threads) by (rewrite <- size; symmetry; now apply all_hold_length with (2 + 2 * G)%nat G).
      destruct (tree_holds (visible_row row) G 7 _ lists (2 + 2 * G) G lim ltac:(lia) ltac:(lia) ltac:(rewrite lists_size; exact (le_n 128)) held)
        as [lists' [tree [whole [one some]]]].
      destruct tree as [|s l states lists'' first rest].
      + exfalso. rewrite lists_size in some. cbn in some. unfold threads in some. lia.
      + cbn [length] in one. destruct rest as [|]; [|cbn in one; lia]. cbn [hd concat] in *. rewrite app_nil_r in whole.
        apply (holds_reordered A step unit) with l; [rewrite whole; easy|].
        apply (holds_wider A step unit _ _ (2 + 2 * G + 2 * 7) (G + 7)); [lia|lia|exact first].
  Qed.
End Row.
