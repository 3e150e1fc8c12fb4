(** * What the checker of a network's mistake computes of one set [a, b, ..., b], each step with what it encloses.

    Main results
    - [share_ends_hold]    the coefficient of a
    - [mixed_near]         what affine layers behind the attention give, for a cell of that coefficient
    - [class_wins_holds]   the score of a class lies above every other

    Idea: the length matters through alpha alone, the coefficient of a, which falls with it. So the checker goes through
    [0, alpha] in cells, each with its ten scores enclosed. Behind the values and up to GELU everything is affine: a cell
    mixes what a alone and b alone would give there.

    Source: paper, Corollary B.1; experiments/certificates/collapse.cpp does the same by balls of doubles. *)

From Coq Require Import ZArith Bool.
From Coquelicot Require Import Rcomplements.
From Interval Require Import Interval.Interval.
From softcheck Require Import softmax vectors.
From softcheck.oracle Require Import interval_oracle.
From softcheck.certified_network Require Import fixed_point gelu_values ball_layers max_retrieval point_layers
  network_answers.
Local Open Scope R_scope.

(** Priorities and the query in units of 2^-14. *)
Record mistake := {
  query_at : Z;
  odd_at : Z;
  odd_class : nat;
  other_at : Z;
  other_class : nat;
  wrong_from : Z;   (* items *)
  alpha_cells : nat
}.

Definition query_of (m : mistake) : R := place 14 (query_at m).
Definition odd_item (m : mistake) : item := (place 14 (odd_at m), odd_class m).
Definition other_item (m : mistake) : item := (place 14 (other_at m), other_class m).
Definition mistaken_set (m : mistake) (n : nat) : list item := odd_item m :: repeat (other_item m) (n - 1).

(** ** The branches *)

Definition exactly (z : Z) : Z * Z := (z * 2 ^ 26, 0)%Z.
Definition point_features (at_ : Z) (class : nat) : list (Z * Z) :=
  exactly at_ :: map (fun k => (if Nat.eqb k class then 2 ^ 40 else 0, 0)%Z) (seq 0 10).

Lemma exactly_near z : Rabs (place 14 z - place 40 (fst (exactly z))) <= place 40 (snd (exactly z)).
Proof.
  cbn [exactly fst snd]. change 40%Z with (14 + 26)%Z. rewrite place_shift, Rminus_diag_eq, Rabs_R0, place_zero by (easy || lia).
  apply Rle_refl.
Qed.

Lemma features_near at_ class : near 11 (point_features at_ class) (features (place 14 at_, class)).
Proof.
  split; [easy|]. intros [|i] less; [apply exactly_near|].
  assert (found : entry_at (point_features at_ class) (S i) = (if Nat.eqb i class then 2 ^ 40 else 0, 0)%Z).
  { do 10 (destruct i as [|i]; [reflexivity|]). lia. } rewrite found. cbn [fst snd features]. rewrite place_zero.
  apply Req_le. destruct (Nat.eqb i class).
  - replace (place 40 (2 ^ 40)) with 1; [now rewrite Rminus_diag_eq, Rabs_R0|]. unfold place, Rdiv.
    rewrite Rinv_r; [easy|]. apply Rgt_not_eq, two_pos. lia.
  - now rewrite place_zero, Rminus_diag_eq, Rabs_R0.
Qed.

Definition item_entries (constants : I.type * I.type) (N : network) (at_ : Z) (class : nat) : option (list (Z * Z)) :=
  match gelu_entries constants (dense_entries (item_1 N) (point_features at_ class)) with
  | Some hidden => gelu_entries constants (dense_entries (item_2 N) hidden)
  | None => None
  end.

Definition query_entries (constants : I.type * I.type) (N : network) (at_ : Z) : option (list (Z * Z)) :=
  match gelu_entries constants (dense_entries (query_1 N) [exactly at_]) with
  | Some hidden => Some (dense_entries (attention_query N) (dense_entries (query_2 N) hidden))
  | None => None
  end.

Definition hidden_entries (T : answer_layers) (h : list (Z * Z)) : list (Z * Z) :=
  dense_entries (head_1 T) (dense_entries (attention_output T) (dense_entries (attention_value T) h)).

Definition all_shaped (N : network) (T : answer_layers) : bool :=
  (shaped (item_1 N) 128 11 && shaped (item_2 N) 128 128 && shaped (query_1 N) 128 1 && shaped (query_2 N) 128 128
   && shaped (attention_query N) 128 128 && shaped (attention_key N) 128 128 && shaped (attention_value T) 128 128
   && shaped (attention_output T) 128 128 && shaped (head_1 T) 128 128 && shaped (head_2 T) 10 128)%bool.

(** ** The coefficient of a *)

Definition difference_entries (a b : list (Z * Z)) : list (Z * Z) :=
  map (fun p => (fst (fst p) - fst (snd p), snd (fst p) + snd (snd p))%Z) (combine a b).

Lemma difference_near n a b u v : near n a u -> near n b v -> near n (difference_entries a b) (subtract u v).
Proof.
  intros [many close] [many' close']. split; [unfold difference_entries; rewrite map_length, combine_length; lia|].
  intros i less. specialize (close i less). specialize (close' i less).
  assert (found : entry_at (difference_entries a b) i
    = (fst (entry_at a i) - fst (entry_at b i), snd (entry_at a i) + snd (entry_at b i))%Z).
  { unfold entry_at, difference_entries.
    set (f := fun p : Z * Z * (Z * Z) => (fst (fst p) - fst (snd p), snd (fst p) + snd (snd p))%Z).
    change (0, 0)%Z with (f ((0, 0), (0, 0))%Z) at 1. rewrite map_nth, combine_nth by lia. reflexivity. }
  rewrite found. cbn [fst snd]. rewrite place_minus, place_plus. unfold subtract.
  apply Rabs_le_between in close, close'. apply Rabs_le. lra.
Qed.

(** alpha among m others, where the scalar product of query and keys' difference is z units of 2^-80. *)
Definition share_interval (m z : Z) : I.type :=
  I.div sharp (whole 1)
    (I.add sharp (whole 1)
       (I.mul sharp (whole m) (I.exp sharp (I.neg (I.div sharp (point (z, (-80)%Z)) (I.sqrt sharp (whole 128))))))).

Definition share_ends (m z : Z) : option (Z * Z) :=
  match bounds (share_interval m z) with
  | Some (l, u) => Some (floor_at 40 l, ceiling_at 40 u)
  | None => None
  end.

Lemma share_ends_hold m z low high :
  share_ends (Z.of_nat m) z = Some (low, high) ->
  place 40 low <= share m (place (40 + 40) z / sqrt (INR 128)) <= place 40 high.
Proof.
  unfold share_ends.
  assert (inside : encloses (share_interval (Z.of_nat m) z) (share m (place (40 + 40) z / sqrt (INR 128)))).
  { unfold share, share_interval. pose proof (share_denominator m (place (40 + 40) z / sqrt (INR 128))) as positive.
    assert (root : encloses (I.sqrt sharp (whole 128)) (sqrt (INR 128))).
    { apply sqrt_encloses. rewrite INR_IZR_INZ. exact (whole_encloses 128). }
    apply div_encloses; [lra | apply (whole_encloses 1)|]. apply add_encloses; [apply (whole_encloses 1)|].
    apply mul_encloses; [rewrite INR_IZR_INZ; apply whole_encloses|]. apply exp_encloses, neg_encloses.
    apply div_encloses; [apply sqrt_lt_R0, lt_0_INR; lia | | exact root]. exact (point_encloses (z, (-80)%Z)). }
  revert inside. generalize (share_interval (Z.of_nat m) z). intros i inside.
  destruct (bounds i) as [[l u]|] eqn:ends; [|discriminate]. intros [= <- <-].
  destruct (bounds_hold _ _ _ _ inside ends) as [below above_it]. split.
  - eapply Rle_trans; [apply floor_at_holds; lia | exact below].
  - eapply Rle_trans; [exact above_it | apply ceiling_at_holds; lia].
Qed.

(** ** A cell of alpha *)

(** alpha within [half] of t, in units of 2^-40. *)
Definition mixed_entries (a b : list (Z * Z)) (t half : Z) : list (Z * Z) :=
  map (fun p =>
         let change := (fst (fst p) - fst (snd p))%Z in
         (nearest 40 (fst (snd p) * 2 ^ 40 + t * change),
          Z.max (snd (fst p)) (snd (snd p)) + above 40 (half * Z.abs change) + 1)%Z)
      (combine a b).

Lemma mixed_once alpha x y a b r s t half :
  0 <= alpha <= 1 -> Rabs (alpha - place 40 t) <= place 40 half ->
  Rabs (x - place 40 a) <= place 40 r -> Rabs (y - place 40 b) <= place 40 s ->
  Rabs (alpha * x + (1 - alpha) * y - place 40 (nearest 40 (b * 2 ^ 40 + t * (a - b))))
  <= place 40 (Z.max r s + above 40 (half * Z.abs (a - b)) + 1).
Proof.
  intros unit near_t close close'. rewrite !place_plus.
  pose proof (nearest_error 40 40 (b * 2 ^ 40 + t * (a - b)) ltac:(lia) ltac:(lia)) as rounded.
  rewrite place_plus, place_shift, place_mult, place_minus in rounded by lia.
  pose proof (above_le 40 40 (half * Z.abs (a - b)) ltac:(lia) ltac:(lia)) as up.
  rewrite place_mult, place_abs, place_minus in up by lia.
  assert (one : / 2 / IZR (2 ^ 40) <= place 40 1).
  { unfold place, Rdiv. apply Rmult_le_compat_r; [|lra]. apply Rlt_le, Rinv_0_lt_compat, two_pos. lia. }
  pose proof (place_le 40 r (Z.max r s) ltac:(lia) ltac:(lia)). pose proof (place_le 40 s (Z.max r s) ltac:(lia) ltac:(lia)).
  set (A := place 40 a) in *. set (B := place 40 b) in *. set (M := place 40 (Z.max r s)) in *.
  assert (moved : Rabs ((alpha - place 40 t) * (A - B)) <= place 40 half * Rabs (A - B)).
  { rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos | easy]. }
  assert (own : Rabs (alpha * (x - A) + (1 - alpha) * (y - B)) <= M).
  { apply Rabs_le_between in close, close'. apply Rabs_le. nra. }
  apply Rabs_le_between in rounded, moved, own. apply Rabs_le. nra.
Qed.

Lemma mixed_near n a b u v w alpha t half :
  near n a u -> near n b v -> 0 <= alpha <= 1 -> Rabs (alpha - place 40 t) <= place 40 half ->
  (forall i, w i = alpha * u i + (1 - alpha) * v i) -> near n (mixed_entries a b t half) w.
Proof.
  intros [many close] [many' close'] unit near_t mixed.
  split; [unfold mixed_entries; rewrite map_length, combine_length; lia|].
  intros i less. specialize (close i less). specialize (close' i less). unfold entry_at at 1 2, mixed_entries.
  match goal with |- context [map ?g _] => set (f := g) end.
  rewrite (nth_indep _ _ (f ((0, 0), (0, 0))%Z)) by (rewrite map_length, combine_length; lia).
  rewrite map_nth, combine_nth by lia. unfold f. cbv zeta. cbn [fst snd]. rewrite mixed. now apply mixed_once.
Qed.

(** The score of the class lies above every other. *)
Definition class_wins (class : nat) (e : list (Z * Z)) : bool :=
  let best := entry_at e class in
  let low := (fst best - snd best)%Z in
  forallb (fun c => (Nat.eqb c class || (fst (entry_at e c) + snd (entry_at e c) <? low)%Z)%bool) (seq 0 10).

Lemma class_wins_holds class e v c :
  (class < 10)%nat -> near 10 e v -> class_wins class e = true -> (c < 10)%nat -> c <> class -> v c < v class.
Proof.
  intros less [_ close] won less' other. unfold class_wins in won. cbv zeta in won. rewrite forallb_forall in won.
  specialize (won c ltac:(apply in_seq; lia)). apply orb_prop in won as [same | beaten].
  { now apply Nat.eqb_eq in same. }
  apply Z.ltb_lt in beaten. pose proof (close c less') as at_c. pose proof (close class less) as at_class.
  assert (apart : place 40 (fst (entry_at e c) + snd (entry_at e c))
                  < place 40 (fst (entry_at e class) - snd (entry_at e class))).
  { unfold place. apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat, two_pos; lia | now apply IZR_lt]. }
  rewrite place_plus, place_minus in apart. apply Rabs_le_between in at_c, at_class. lra.
Qed.

Definition cell_wins (constants : I.type * I.type) (T : answer_layers) (class : nat) (a b : list (Z * Z)) (t half : Z)
  : bool :=
  match gelu_entries constants (mixed_entries a b t half) with
  | Some g => class_wins class (dense_entries (head_2 T) g)
  | None => false
  end.

(** Cells side by side, from [from] to beyond [to]. *)
Fixpoint cells_win (constants : I.type * I.type) (T : answer_layers) (class : nat) (a b : list (Z * Z)) (half to : Z)
    (count : nat) (from : Z) : bool :=
  ((to <? from)%Z
   || match count with
      | O => false
      | S count => cell_wins constants T class a b (from + half) half
                   && cells_win constants T class a b half to count (from + 2 * half)
      end)%bool.
