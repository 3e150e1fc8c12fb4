(** * The project's max-retrieval network up to its logits, in exact reals, and cells that cover its inputs.

    Main definitions
    - [network], [logits]     the six layers that the logits depend on (paper, Appendix A), and the logits of a set of items
    - [admissible]            an item of the domain: a priority in [0, 1], one of ten classes
    Main results
    - [item_covered]    every item behind its branch lies in one of the computed balls
    - [query_covered]   every query behind its branch lies in the computed ball

    Source: paper, Appendix A; experiments/max_retrieval_layout.hpp has the same layers. *)

From Coq Require Import ZArith Bool.
From Coquelicot Require Import Rcomplements.
From softcheck Require Import softmax vectors proposition_3_1.
From softcheck.certified_network Require Import fixed_point matrix_norms gelu_values ball_layers.
Local Open Scope R_scope.

(** ** The network *)

Record network := {
  item_1 : dense_layer;
  item_2 : dense_layer;
  query_1 : dense_layer;
  query_2 : dense_layer;
  attention_query : dense_layer;
  attention_key : dense_layer
}.

(** A priority and a class: the priority, then the one-hot of the class. *)
Definition item : Set := (R * nat)%type.
Definition admissible (x : item) : Prop := 0 <= fst x <= 1 /\ (snd x < 10)%nat.
Definition features (x : item) : vector := fun i => match i with O => fst x | S k => if Nat.eqb k (snd x) then 1 else 0 end.

Definition encode_item (N : network) (x : item) : vector :=
  pointwise_gelu (apply_layer (item_2 N) 128 (pointwise_gelu (apply_layer (item_1 N) 11 (features x)))).
Definition encode_query (N : network) (y : R) : vector :=
  apply_layer (query_2 N) 128 (pointwise_gelu (apply_layer (query_1 N) 1 (fun _ => y))).

(** (W_Q Q(y) + b_Q) . (W_K h(x) + b_K) / sqrt 128 *)
Definition logits (N : network) (y : R) (items : list item) : list R :=
  biased_logits 128 128 128 (weight_matrix (attention_query N)) (weight_matrix (attention_key N))
    (bias_vector (attention_query N)) (bias_vector (attention_key N)) (encode_query N y) (map (encode_item N) items).

(** ** Shapes *)

Definition sized (l : dense_layer) (columns : nat) : bool :=
  (Nat.eqb (length (weights l)) 128 && Nat.eqb (length (biases l)) 128 && Nat.leb columns 128
   && forallb (fun row => Nat.leb (length row) columns) (weights l))%bool.

Lemma sized_holds l columns : sized l columns = true -> length (weights l) = 128%nat /\ well_sized l columns.
Proof.
  unfold sized, well_sized, short. rewrite !andb_true_iff, !Nat.eqb_eq, Nat.leb_le, forallb_forall.
  intros [[[rows same] few] fits]. rewrite rows, same. repeat split; try lia. intros row inside.
  now apply Nat.leb_le, fits.
Qed.

(** sigma(W) from the Frobenius norm, in units of 2^-16; r is W rounded. *)
Definition simple_sigma (r : dense_layer) : Z := (frobenius_above (weights r) + rounding_share)%Z.

Lemma simple_sigma_nonneg r : (0 <= simple_sigma r)%Z.
Proof. apply Z.add_nonneg_nonneg; [apply Z.sqrt_up_nonneg | easy]. Qed.

(** The same from the Gram matrix: sharper, for as many products as the matrix has pairs of rows. *)
Definition sharp_sigma (r : dense_layer) : Z := (gram_above (weights r) + rounding_share)%Z.

Lemma sharp_sigma_nonneg r : (0 <= sharp_sigma r)%Z.
Proof. apply Z.add_nonneg_nonneg; [apply Z.sqrt_up_nonneg | easy]. Qed.

Lemma layer_holds l columns b v :
  sized l columns = true -> holds columns b v ->
  holds 128 (dense (round_layer l) (simple_sigma (round_layer l)) b) (apply_layer l columns v).
Proof.
  intros shape inside. destruct (sized_holds l columns shape) as [rows well]. rewrite <- rows.
  apply dense_holds; [easy | apply simple_sigma_nonneg | | easy].
  destruct well as (few & _ & few' & fits). now apply (rounded_bounds columns (weights l)).
Qed.

Lemma rounded_gram rows : length rows = 128%nat -> short 128 rows ->
  operator_bound 128 128 (real_matrix 16 (rounded rows)) (place 16 (gram_above (rounded rows))).
Proof.
  intros many fits. replace 128%nat with (length (rounded rows)) at 1 by (unfold rounded; now rewrite map_length).
  apply gram_bounds. intros row inside. unfold rounded in inside. apply in_map_iff in inside as [r [<- inr]].
  rewrite map_length. now apply fits.
Qed.

Lemma sharp_layer_holds l b v :
  sized l 128 = true -> holds 128 b v ->
  holds 128 (dense (round_layer l) (sharp_sigma (round_layer l)) b) (apply_layer l 128 v).
Proof.
  intros shape inside. destruct (sized_holds l 128 shape) as [rows well]. rewrite <- rows at 1.
  apply dense_holds; [easy | apply sharp_sigma_nonneg | | easy].
  destruct well as (few & _ & few' & fits). rewrite rows. apply with_rounding; [lia | lia|]. now apply rounded_gram.
Qed.

(** ** Cells *)

(** In units of 2^-14. *)
Record cell := { at_ : Z; half : Z }.
Definition cell_ball (c : cell) : ball := {| centre := [at_ c]; radius := half c |}.
Definition in_cell (t : R) (c : cell) : Prop := (0 <= half c)%Z /\ Rabs (t - place 14 (at_ c)) <= place 14 (half c).

Lemma cell_holds c t : in_cell t c -> holds 1 (cell_ball c) (fun _ => t).
Proof.
  intros [nonneg near]. split; [easy|]. split; [easy|]. cbn [radius centre cell_ball].
  unfold norm, dot, subtract, real_vector, entry. cbn [seq map nth]. unfold sum. cbn [fold_right].
  rewrite Rplus_0_r. fold (Rsqr (t - place 14 (at_ c))). now rewrite sqrt_Rsqr_abs.
Qed.

(** How far the cells reach without a gap, from just above [from] on. *)
Fixpoint covered_to (from : Z) (cells : list cell) : Z :=
  match cells with
  | [] => from
  | c :: cells =>
      if ((at_ c - half c <=? from) && (0 <=? half c))%Z then covered_to (Z.max from (at_ c + half c)) cells else from
  end.

Lemma covered cells : forall from t,
  place 14 from < t <= place 14 (covered_to from cells) -> exists c, In c cells /\ in_cell t c.
Proof.
  induction cells as [|c cells IH]; cbn [covered_to]; intros from t [low high]; [lra|].
  destruct (Z.leb_spec (at_ c - half c) from); destruct (Z.leb_spec 0 (half c)); cbn [andb] in high; try lra.
  destruct (Rle_dec t (place 14 (at_ c + half c))) as [inside | beyond].
  - exists c. split; [now left|]. split; [easy|]. apply Rabs_le. rewrite place_plus in inside.
    pose proof (place_le 14 (at_ c - half c) from ltac:(lia) ltac:(easy)) as below. rewrite place_minus in below. lra.
  - destruct (IH (Z.max from (at_ c + half c)) t) as [c' [inc' holds']]; [|exists c'; split; [now right | easy]].
    split; [|easy]. destruct (Z.max_spec from (at_ c + half c)) as [[_ ->] | [_ ->]]; lra.
Qed.

Definition unit_covered (cells : list cell) : bool := (16384 <=? covered_to (-1) cells)%Z.

Lemma unit_is_covered cells t : unit_covered cells = true -> 0 <= t <= 1 -> exists c, In c cells /\ in_cell t c.
Proof.
  unfold unit_covered. intros all [low high]. apply Z.leb_le in all. apply (covered cells (-1)).
  split; [unfold place; change (IZR (2 ^ 14)) with 16384; lra|]. eapply Rle_trans; [exact high|].
  eapply Rle_trans; [|now apply place_le, all]. unfold place. change (IZR (2 ^ 14)) with 16384. lra.
Qed.

(** ** The query's branch *)

Definition query_ball (source : gelu_source) (N : network) : option ball :=
  let first := round_layer (query_1 N) in
  let second := round_layer (query_2 N) in
  match gelu_ball source (dense first (simple_sigma first) (cell_ball {| at_ := 8192; half := 8192 |})) with
  | Some b => Some (dense second (simple_sigma second) b)
  | None => None
  end.

Theorem query_covered N y b :
  sized (query_1 N) 1 = true -> sized (query_2 N) 128 = true -> query_ball (make_source tt) N = Some b ->
  0 <= y <= 1 -> holds 128 b (encode_query N y).
Proof.
  intros shape shape' found inside. unfold query_ball in found. cbv zeta in found.
  destruct (gelu_ball _ _) as [g|] eqn:first; [|discriminate]. injection found as <-.
  apply layer_holds; [easy|]. eapply gelu_holds; [lia | | exact first]. apply layer_holds; [easy|]. apply cell_holds.
  split; [cbn; lia|]. cbn [at_ half]. unfold place. change (IZR (2 ^ 14)) with 16384. apply Rabs_le. lra.
Qed.

(** ** The items' branch *)

(** The first layer for one class: the priority's column, and the class's column beside the biases. *)
Definition class_layer (l : dense_layer) (c : nat) : dense_layer :=
  {| weights := map (fun row => [entry row 0]) (weights l);
     biases := map (fun row => (entry (fst row) (S c) + snd row)%Z) (combine (weights l) (biases l)) |}.

Lemma entry_class_bias l c i :
  length (biases l) = length (weights l) ->
  entry (biases (class_layer l c)) i = (entry (row_of (weights l) i) (S c) + entry (biases l) i)%Z.
Proof.
  intros same. cbn [biases class_layer]. unfold entry at 1.
  set (f := fun row : list Z * Z => (entry (fst row) (S c) + snd row)%Z).
  replace 0%Z with (f ([], 0%Z)) by (unfold f, entry; now destruct c).
  rewrite map_nth. unfold f. rewrite nth_combined by easy. reflexivity.
Qed.

Lemma class_layer_applies l rho c i :
  length (biases l) = length (weights l) -> (c < 10)%nat ->
  apply_layer l 11 (features (rho, c)) i = apply_layer (class_layer l c) 1 (fun _ => rho) i.
Proof.
  intros same less. unfold apply_layer, add, multiply, bias_vector, weight_matrix, real_matrix.
  unfold real_vector at 2 4. rewrite entry_class_bias, place_plus by easy.
  assert (column : dot 1 (real_vector 149 (row_of (weights (class_layer l c)) i)) (fun _ => rho)
                   = place 149 (entry (row_of (weights l) i) 0) * rho).
  { unfold dot, real_vector. cbn [seq map weights class_layer]. unfold sum. cbn [fold_right]. rewrite Rplus_0_r.
    f_equal. f_equal. unfold row_of. destruct (Nat.lt_ge_cases i (length (weights l))) as [inside | beyond].
    - rewrite (nth_indep _ [] ((fun row => [entry row 0]) [])) by now rewrite map_length.
      now rewrite (map_nth (fun row => [entry row 0])).
    - rewrite !nth_overflow by (rewrite ?map_length; lia). reflexivity. }
  rewrite column. generalize (row_of (weights l) i). intros row. unfold dot, sum, real_vector, features.
  cbn [seq map fold_right fst snd]. do 10 (destruct c as [|c]; [cbn [Nat.eqb]; ring|]). lia.
Qed.

Lemma class_layer_sized l c : sized l 11 = true -> sized (class_layer l c) 1 = true.
Proof.
  unfold sized. rewrite !andb_true_iff, !Nat.eqb_eq. intros [[[rows same] _] _]. cbn [weights biases class_layer].
  rewrite !map_length, combine_length, rows, same. repeat split. apply forallb_forall. intros row inside.
  apply in_map_iff in inside as [r [<- _]]. reflexivity.
Qed.

Definition item_ball (source : gelu_source) (first second : dense_layer) (sigma_1 sigma_2 : Z) (c : cell) : option ball :=
  match gelu_ball source (dense first sigma_1 (cell_ball c)) with
  | Some b => gelu_ball source (dense second sigma_2 b)
  | None => None
  end.

Fixpoint each {A B} (f : A -> option B) (xs : list A) : option (list B) :=
  match xs with
  | [] => Some []
  | x :: xs => match f x, each f xs with Some y, Some ys => Some (y :: ys) | _, _ => None end
  end.

Lemma each_holds {A B} (f : A -> option B) xs ys x : each f xs = Some ys -> In x xs -> exists y, f x = Some y /\ In y ys.
Proof.
  revert ys. induction xs as [|z xs IH]; cbn [each]; intros ys found inside; [easy|].
  destruct (f z) as [y|] eqn:at_z; [|discriminate]. destruct (each f xs) as [rest|]; [|discriminate].
  injection found as <-. destruct inside as [-> | inside]; [exists y; split; [easy | now left]|].
  destruct (IH rest eq_refl inside) as [y' [found iny]]. exists y'. split; [easy | now right].
Qed.

(** The balls of one class after the other. *)
Definition class_balls (source : gelu_source) (N : network) (second : dense_layer) (sigma_2 : Z) (class : nat * list cell)
  : option (list ball) :=
  let first := round_layer (class_layer (item_1 N) (fst class)) in
  let sigma_1 := simple_sigma first in
  if unit_covered (snd class) then each (item_ball source first second sigma_1 sigma_2) (snd class) else None.

Definition item_balls (source : gelu_source) (N : network) (cells : list (list cell)) : option (list ball) :=
  let second := round_layer (item_2 N) in
  let sigma_2 := sharp_sigma second in
  if Nat.eqb (length cells) 10
  then match each (class_balls source N second sigma_2) (combine (seq 0 10) cells) with
       | Some balls => Some (concat balls)
       | None => None
       end
  else None.

Theorem item_covered N cells balls x :
  sized (item_1 N) 11 = true -> sized (item_2 N) 128 = true -> item_balls (make_source tt) N cells = Some balls ->
  admissible x -> exists b, In b balls /\ holds 128 b (encode_item N x).
Proof.
  intros shape shape' found [inside class]. destruct x as [rho c]. cbn [fst snd] in *. unfold item_balls in found.
  cbv zeta in found. destruct (Nat.eqb_spec (length cells) 10) as [ten|]; [|discriminate].
  destruct (each _ (combine _ _)) as [all|] eqn:classes; [|discriminate]. injection found as <-.
  assert (listed : In (c, nth c cells []) (combine (seq 0 10) cells)).
  { replace (c, nth c cells []) with (nth c (combine (seq 0 10) cells) (0%nat, []))
      by (rewrite combine_nth by (rewrite seq_length; easy); now rewrite seq_nth).
    apply nth_In. rewrite combine_length, seq_length. lia. }
  destruct (each_holds _ _ _ _ classes listed) as [own [made inown]]. unfold class_balls in made. cbv zeta in made.
  cbn [fst snd] in made. destruct (unit_covered (nth c cells [])) eqn:all_covered; [|discriminate].
  destruct (unit_is_covered _ rho all_covered inside) as [k [ink near]].
  destruct (each_holds _ _ _ _ made ink) as [b [ball_of_cell inb]]. exists b. split; [apply in_concat; now exists own|].
  unfold item_ball in ball_of_cell. destruct (gelu_ball _ (dense _ _ (cell_ball k))) as [g|] eqn:first; [|discriminate].
  unfold encode_item. eapply gelu_holds; [lia | | exact ball_of_cell]. apply sharp_layer_holds; [easy|].
  eapply gelu_holds; [lia | | exact first]. destruct (sized_holds _ _ shape) as [rows (_ & same & _)].
  pose proof (layer_holds (class_layer (item_1 N) c) 1 (cell_ball k) (fun _ => rho)
                (class_layer_sized _ c shape) (cell_holds k rho near)) as (fits & nonneg & close).
  split; [easy|]. split; [easy|]. eapply Rle_trans; [|exact close]. apply Req_le, norm_ext. intros i _. unfold subtract.
  now rewrite class_layer_applies.
Qed.
