(** * The checker of a network's mistake: one set [a, b, ..., b] that it answers wrongly, at a length and at every longer one.

    Main results
    - [wrong_on_many]     from so many items on the network answers the class of b, though a has the largest priority
    - [right_on_two]      of [a, b] it answers the class of a
    - [right_of_set], [set_admissible]   the class of a is the right one at every length, and all items lie in the domain
    - [never_answered]    so its answer to the longer sets is not the right class

    Source: paper, Corollary B.1. *)

From Coq Require Import ZArith Bool.
From Coquelicot Require Import Rcomplements.
From Interval Require Import Interval.Interval.
From softcheck Require Import softmax vectors.
From softcheck.oracle Require Import interval_oracle.
From softcheck.certified_network Require Import fixed_point gelu_values ball_layers max_retrieval point_layers network_answers
  answer_check.
Local Open Scope R_scope.

Definition proper (m : mistake) : bool :=
  ((0 <=? query_at m) && (query_at m <=? 16384) && (0 <=? other_at m) && (other_at m <? odd_at m) && (odd_at m <=? 16384)
   && (2 <=? wrong_from m))%Z%bool
  && (Nat.ltb (odd_class m) 10 && Nat.ltb (other_class m) 10 && negb (Nat.eqb (odd_class m) (other_class m)))%bool.

(** The differences of the two logits that cannot be told apart, times sqrt 128, in units of 2^-80. *)
Definition difference_ends (N : network) (q a b : list (Z * Z)) : Z * Z :=
  let d := dot_entries q (difference_entries (dense_entries (attention_key N) a) (dense_entries (attention_key N) b)) in
  (fst d - snd d, fst d + snd d)%Z.

Definition mistake_check (N : network) (T : answer_layers) (m : mistake) : bool :=
  let constants := gelu_constants tt in
  if (all_shaped N T && proper m)%bool
  then match query_entries constants N (query_at m), item_entries constants N (odd_at m) (odd_class m),
             item_entries constants N (other_at m) (other_class m) with
       | Some q, Some a, Some b =>
           let d := difference_ends N q a b in
           match share_ends 1 (fst d), share_ends 1 (snd d), share_ends (wrong_from m - 1) (snd d) with
           | Some (low, _), Some (_, high), Some (_, reach) =>
               let behind_a := hidden_entries T a in
               let behind_b := hidden_entries T b in
               (cells_win constants T (odd_class m) behind_a behind_b ((high - low) / 2 + 1) high 1 low
                && cells_win constants T (other_class m) behind_a behind_b (reach / (2 * Z.of_nat (alpha_cells m)) + 1) reach
                     (alpha_cells m) 0)%bool
           | _, _, _ => false
           end
       | _, _, _ => false
       end
  else false.

(** ** Soundness *)

Section Sound.
  Context (N : network) (T : answer_layers) (shapes : all_shaped N T = true).

  Let shape_of l rows columns : Prop := shaped l rows columns = true.
  Let each_shape :
    (shape_of (item_1 N) 128 11 /\ shape_of (item_2 N) 128 128 /\ shape_of (query_1 N) 128 1 /\ shape_of (query_2 N) 128 128
     /\ shape_of (attention_query N) 128 128)%nat /\
    (shape_of (attention_key N) 128 128 /\ shape_of (attention_value T) 128 128 /\ shape_of (attention_output T) 128 128
     /\ shape_of (head_1 T) 128 128 /\ shape_of (head_2 T) 10 128)%nat.
  Proof. unfold all_shaped in shapes. rewrite !andb_true_iff in shapes. unfold shape_of. tauto. Qed.

  Lemma item_near at_ class e :
    item_entries (gelu_constants tt) N at_ class = Some e -> near 128 e (encode_item N (place 14 at_, class)).
  Proof.
    destruct each_shape as [(first & second & _) _]. unfold item_entries.
    destruct (gelu_entries _ _) as [hidden|] eqn:one; [|discriminate]. intros two.
    eapply gelu_near; [|exact two]. apply dense_near; [exact second|]. eapply gelu_near; [|exact one].
    apply dense_near; [exact first | apply features_near].
  Qed.

  Lemma query_near at_ e :
    query_entries (gelu_constants tt) N at_ = Some e ->
    near 128 e (apply_layer (attention_query N) 128 (encode_query N (place 14 at_))).
  Proof.
    destruct each_shape as [(_ & _ & first & second & third) _]. unfold query_entries.
    destruct (gelu_entries _ _) as [hidden|] eqn:one; [|discriminate]. intros [= <-].
    apply dense_near; [exact third|]. apply dense_near; [exact second|]. eapply gelu_near; [|exact one].
    apply dense_near; [exact first|]. split; [easy|]. intros i less. replace i with 0%nat by lia. apply exactly_near.
  Qed.

  Definition behind (x : item) : vector :=
    apply_layer (head_1 T) 128 (apply_layer (attention_output T) 128 (value_of N T x)).

  Lemma hidden_near e x : near 128 e (encode_item N x) -> near 128 (hidden_entries T e) (behind x).
  Proof. destruct each_shape as [_ (_ & value & output & first & _)]. intros close. now repeat apply dense_near. Qed.

  Lemma difference_ends_hold q a b y u v :
    near 128 q (apply_layer (attention_query N) 128 (encode_query N y)) ->
    near 128 a (encode_item N u) -> near 128 b (encode_item N v) ->
    place (40 + 40) (fst (difference_ends N q a b)) / sqrt (INR 128) <= logit_of N y u - logit_of N y v
    <= place (40 + 40) (snd (difference_ends N q a b)) / sqrt (INR 128).
  Proof.
    destruct each_shape as [_ (key & _)]. intros close_q close_a close_b. unfold difference_ends. cbv zeta. cbn [fst snd].
    pose proof (dot_entries_near 128 _ _ _ _ close_q (difference_near 128 _ _ _ _
      (dense_near (attention_key N) 128 128 _ _ key close_a) (dense_near (attention_key N) 128 128 _ _ key close_b))) as close.
    rewrite dot_subtract_r in close. apply Rabs_le_between in close. rewrite place_minus, place_plus.
    assert (root : 0 < / sqrt (INR 128)) by (apply Rinv_0_lt_compat, sqrt_lt_R0, lt_0_INR; lia).
    unfold logit_of, Rdiv. rewrite <- Rmult_minus_distr_r.
    split; (apply Rmult_le_compat_r; [now apply Rlt_le|]); unfold apply_layer in close; lra.
  Qed.

  (** Every alpha of the cells makes the class win. *)
  Lemma cells_hold class a b u v half to count : forall from alpha c z,
    (class < 10)%nat -> near 128 a (behind u) -> near 128 b (behind v) ->
    cells_win (gelu_constants tt) T class a b half to count from = true ->
    0 <= alpha <= 1 -> place 40 from <= alpha <= place 40 to ->
    (forall j, z j = alpha * value_of N T u j + (1 - alpha) * value_of N T v j) ->
    (c < 10)%nat -> c <> class -> head_of T z c < head_of T z class.
  Proof.
    destruct each_shape as [_ (_ & _ & _ & _ & last)].
    induction count as [|count IH]; cbn [cells_win]; intros from alpha c z less close_a close_b won unit inside mixed less_c other;
      apply orb_prop in won as [beyond | won]; try discriminate.
    1, 2: apply Z.ltb_lt in beyond; exfalso; enough (place 40 to < place 40 from) by lra; unfold place;
      (apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat, two_pos; lia | now apply IZR_lt]).
    apply andb_prop in won as [here rest]. destruct (Rle_dec alpha (place 40 (from + 2 * half))) as [within | further].
    - unfold cell_wins in here. destruct (gelu_entries _ _) as [g|] eqn:found; [|discriminate].
      apply (class_wins_holds class (dense_entries (head_2 T) g)); try easy. apply dense_near; [exact last|].
      eapply gelu_near; [|exact found]. apply (mixed_near 128 a b (behind u) (behind v)) with (alpha := alpha); try easy.
      + replace (from + 2 * half)%Z with (from + half + half)%Z in within by ring.
        rewrite !place_plus in *. apply Rabs_le. lra.
      + intros i. unfold behind. apply (mixture_behind T alpha (value_of N T u) (value_of N T v) z i mixed).
    - apply (IH (from + 2 * half)%Z alpha); try easy. lra.
  Qed.
End Sound.

Section Mistake.
  Context (N : network) (T : answer_layers) (m : mistake) (checked : mistake_check N T m = true).

  Let y := query_of m.

  (** What alpha is between for two items, and what it is at most for many. *)
  Lemma mistake_parts :
    all_shaped N T = true /\ proper m = true /\
    forall k, let alpha := share k (logit_of N y (odd_item m) - logit_of N y (other_item m)) in
    let wins class := forall z, (forall j, z j = alpha * value_of N T (odd_item m) j + (1 - alpha) * value_of N T (other_item m) j) ->
      forall c, (c < 10)%nat -> c <> class -> head_of T z c < head_of T z class in
    (k = 1%nat -> wins (odd_class m)) /\ ((wrong_from m <= Z.of_nat k + 1)%Z -> wins (other_class m)).
  Proof.
    pose proof checked as all. unfold mistake_check in all. cbv zeta in all.
    destruct (all_shaped N T) eqn:shapes; [|discriminate]. destruct (proper m) eqn:good; [|discriminate]. cbn [andb] in all.
    split; [easy|]. split; [easy|]. pose proof good as ranges. unfold proper in ranges.
    rewrite !andb_true_iff, !Z.leb_le, !Nat.ltb_lt in ranges. destruct ranges as [[_ many] [[odd_less other_less] _]].
    destruct (query_entries _ _ _) as [q|] eqn:of_q; [|discriminate].
    destruct (item_entries _ _ (odd_at m) _) as [a|] eqn:of_a; [|discriminate].
    destruct (item_entries _ _ (other_at m) _) as [b|] eqn:of_b; [|discriminate].
    destruct (share_ends 1 (fst _)) as [[low low_rest]|] eqn:at_low; [|discriminate].
    destruct (share_ends 1 (snd _)) as [[high_rest high]|] eqn:at_high; [|discriminate].
    destruct (share_ends (_ - 1) _) as [[reach_rest reach]|] eqn:at_reach; [|discriminate].
    apply andb_prop in all as [two longer].
    apply (query_near N T shapes) in of_q. apply (item_near N T shapes) in of_a, of_b.
    pose proof (difference_ends_hold N T shapes q a b _ _ _ of_q of_a of_b) as ends.
    intros k alpha wins. pose proof (share_unit k (logit_of N y (odd_item m) - logit_of N y (other_item m))) as unit.
    fold alpha in unit. split.
    - intros ->. intros z mixed c less other.
      refine (cells_hold N T shapes _ _ _ (odd_item m) (other_item m) _ _ _ _ alpha c z odd_less
        (hidden_near N T shapes _ _ of_a) (hidden_near N T shapes _ _ of_b) two _ _ mixed less other); [lra|].
      apply (share_ends_hold 1) in at_low, at_high. destruct ends as [low_end high_end].
      pose proof (share_between 1 1 _ _ _ (le_n 1) (conj low_end (Rle_refl _))) as below.
      pose proof (share_between 1 1 _ _ _ (le_n 1) (conj (Rle_refl _) high_end)) as above_it.
      unfold alpha, y, query_of, odd_item, other_item in *. lra.
    - intros long z mixed c less other.
      refine (cells_hold N T shapes _ _ _ (odd_item m) (other_item m) _ _ _ _ alpha c z other_less
        (hidden_near N T shapes _ _ of_a) (hidden_near N T shapes _ _ of_b) longer _ _ mixed less other); [lra|].
      rewrite place_zero. split; [lra|].
      replace (wrong_from m - 1)%Z with (Z.of_nat (Z.to_nat (wrong_from m - 1))) in at_reach by lia.
      apply share_ends_hold in at_reach. destruct ends as [_ high_end].
      pose proof (share_between (Z.to_nat (wrong_from m - 1)) k _ _ _ ltac:(lia) (conj (Rle_refl _) high_end)) as above_it.
      unfold alpha, y, query_of, odd_item, other_item in *. lra.
  Qed.

  Let ranges :
    (0 <= query_at m <= 16384 /\ 0 <= other_at m < odd_at m /\ odd_at m <= 16384 /\ 2 <= wrong_from m)%Z /\
    (odd_class m < 10)%nat /\ (other_class m < 10)%nat /\ odd_class m <> other_class m.
  Proof.
    destruct mistake_parts as (_ & good & _). unfold proper in good.
    rewrite !andb_true_iff, !Z.leb_le, !Z.ltb_lt, !Nat.ltb_lt, negb_true_iff, Nat.eqb_neq in good. lia.
  Qed.

  Lemma answers_of_set k class :
    (class < 10)%nat ->
    (let alpha := share k (logit_of N y (odd_item m) - logit_of N y (other_item m)) in
     forall z, (forall j, z j = alpha * value_of N T (odd_item m) j + (1 - alpha) * value_of N T (other_item m) j) ->
       forall c, (c < 10)%nat -> c <> class -> head_of T z c < head_of T z class) ->
    answers N T y (odd_item m :: repeat (other_item m) k) class.
  Proof. intros less wins. split; [easy|]. apply wins. intros j. apply two_valued_attention. Qed.

  Theorem right_on_two : answers N T (query_of m) (mistaken_set m 2) (odd_class m).
  Proof.
    destruct mistake_parts as (_ & _ & parts). apply (answers_of_set 1); [apply ranges|]. now apply (parts 1%nat).
  Qed.

  Theorem wrong_on_many n : (wrong_from m <= Z.of_nat n)%Z ->
    answers N T (query_of m) (mistaken_set m n) (other_class m).
  Proof.
    intros long. destruct mistake_parts as (_ & _ & parts). apply answers_of_set; [apply ranges|].
    apply (parts (n - 1)%nat). pose proof ranges. lia.
  Qed.

  (** The class of a is the right one, for every length, and all of it lies in the network's domain. *)
  Theorem right_of_set n : right_class (mistaken_set m n) (odd_class m).
  Proof.
    exists (odd_item m). split; [now left|]. split; [easy|]. intros z [<- | inz] other; [easy|].
    apply repeat_spec in inz as ->. cbn [fst odd_item other_item]. unfold place.
    apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat, two_pos; lia|]. apply IZR_lt. apply ranges.
  Qed.

  Theorem set_admissible n : 0 <= query_of m <= 1 /\ forall x, In x (mistaken_set m n) -> admissible x.
  Proof.
    assert (unit : forall z, (0 <= z <= 16384)%Z -> 0 <= place 14 z <= 1).
    { intros z [low high]. split; [apply place_nonneg; lia|].
      eapply Rle_trans; [apply place_le; [lia | exact high]|]. unfold place. change (IZR (2 ^ 14)) with 16384. lra. }
    destruct ranges as [[query [other_priority [priority _]]] [less [less' _]]].
    split; [now apply unit|]. intros x [<- | inx]; [|apply repeat_spec in inx as ->]; (split; [apply unit; cbn; lia | easy]).
  Qed.

  Theorem never_answered n class : (wrong_from m <= Z.of_nat n)%Z ->
    right_class (mistaken_set m n) class -> ~ answers N T (query_of m) (mistaken_set m n) class.
  Proof.
    intros long right told. pose proof (one_right_class _ _ _ right (right_of_set n)).
    pose proof (one_answer _ _ _ _ _ _ told (wrong_on_many n long)). destruct ranges as [_ [_ [_ differ]]]. congruence.
  Qed.
End Mistake.
