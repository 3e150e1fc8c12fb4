(** * The box form of Theorem 2.2: with boxes that are computed, every number of it is computed.

    theorem_2_2.v shows that boxes and a spread exist for continuous layers. Here the boxes are given, as
    theory/coordinate_box.cpp computes them by interval arithmetic, layer by layer: then they hold every activation, and
    the spread of each head and the length from which it disperses are sums over the box's coordinates.

    Main results
    - [chain_boxed]      boxes that carry layer by layer hold all activations, whatever the length and the mask
    - [matrix_boxed]     interval arithmetic, entry by entry, is such a box for a matrix
    - [spread_of_box]    sum_c max |(K^T Q B)_c| width_c bounds the spread of a head of matrices over the box B
    - [disperses]        beyond the sharp length of that spread every coefficient of the head is below eps

    Source: this project; the paper's Theorem 2.2. The embeddings need not be finitely many: they lie in a box. *)

From softcheck Require Import softmax vectors lemma_2_1 small_transformer coordinate_box.
Local Open Scope R_scope.

(** ** Boxes that carry *)

(** B' holds what the layer gives where B holds its inputs. Attention: of each head a box of its values; the boxes add up. *)
Definition carries (d : nat) (l : layer) (B B' : box) : Prop :=
  match l with
  | Attention residual heads =>
      exists values, Forall2 (fun h V => forall x, in_box d B x -> in_box d V (value h x)) heads values /\
        forall c, (c < d)%nat ->
          low B' c <= (if residual then low B c else 0) + sum (map (fun V => low V c) values) /\
          (if residual then high B c else 0) + sum (map (fun V => high V c) values) <= high B' c
  | Feedforward width f => forall x, in_box d B x -> in_box width B' (f x)
  end.

Fixpoint chain (d : nat) (layers : list layer) (boxes : nat -> box) : Prop :=
  match layers with
  | [] => True
  | l :: rest => carries d l (boxes 0%nat) (boxes 1%nat) /\ chain (width_behind d l) rest (fun k => boxes (S k))
  end.

(** Whatever the coefficients are, a head's output lies in the box of its values. *)
Lemma heads_sum_boxed theta d heads values B x items :
  Forall2 (fun h V => forall x, in_box d B x -> in_box d V (value h x)) heads values ->
  items <> [] -> (forall y, In y items -> in_box d B y) -> forall c, (c < d)%nat ->
  sum (map (fun V => low V c) values) <= sum (map (fun h => attend theta h x items c) heads)
  <= sum (map (fun V => high V c) values).
Proof.
  intros boxed some all c less. induction boxed as [|h V heads values here rest IH]; [cbn; lra|].
  assert (one : in_box d V (attend theta h x items)).
  { apply convex_boxed; [easy|]. intros y iny. now apply here, all. }
  specialize (one c less). unfold sum in *. cbn [map fold_right] in *. lra.
Qed.

Lemma layer_carried theta mask d l B B' tokens :
  carries d l B B' -> (forall x, In x tokens -> in_box d B x) ->
  forall x, In x (apply_layer theta mask l tokens) -> in_box (width_behind d l) B' x.
Proof.
  destruct l as [residual heads | width f]; cbn [carries apply_layer width_behind]; intros carried all x inx.
  - destruct carried as [values [boxed added]]. apply in_map_iff in inx as [i [<- ini]]. apply in_seq in ini.
    intros c less. specialize (added c less). unfold attention.
    pose proof (heads_sum_boxed theta d heads values B (token tokens i) (visible mask i tokens) boxed
      (visible_not_nil mask i tokens ltac:(lia)) ltac:(intros y iny; eapply all, in_visible, iny) c less) as heads_in.
    pose proof (all _ (token_in tokens i ltac:(lia)) c less). destruct residual; lra.
  - apply in_map_iff in inx as [y [<- iny]]. now apply carried, all.
Qed.

Theorem chain_boxed theta mask d layers boxes tokens :
  chain d layers boxes -> (forall x, In x tokens -> in_box d (boxes 0%nat) x) ->
  forall before after x, layers = before ++ after -> In x (forward theta mask before tokens) ->
                         in_box (output_width d before) (boxes (length before)) x.
Proof.
  revert d boxes tokens. induction layers as [|l rest IH]; intros d boxes tokens carried all before after x split inx.
  - symmetry in split. apply app_eq_nil in split as [-> _]. now apply all.
  - destruct before as [|l' before]; [now apply all|]. injection split as <- split. destruct carried as [here there].
    apply (IH _ (fun k => boxes (S k)) (apply_layer theta mask l tokens) there) with (after := after); try easy.
    now apply (layer_carried theta mask d l (boxes 0%nat)).
Qed.

(** ** Interval arithmetic of matrices *)

Definition matrix_box (columns : nat) (A : matrix) (B : box) : box :=
  {| low := fun i => sum (map (fun j => Rmin (A i j * low B j) (A i j * high B j)) (seq 0 columns));
     high := fun i => sum (map (fun j => Rmax (A i j * low B j) (A i j * high B j)) (seq 0 columns)) |}.

Lemma product_between a l h x : l <= x <= h -> Rmin (a * l) (a * h) <= a * x <= Rmax (a * l) (a * h).
Proof.
  intros between. destruct (Rle_dec 0 a) as [nonneg | negative].
  - assert (a * l <= a * x <= a * h) by nra. pose proof (Rmin_l (a * l) (a * h)). pose proof (Rmax_r (a * l) (a * h)). lra.
  - assert (a * h <= a * x <= a * l) by nra. pose proof (Rmin_r (a * l) (a * h)). pose proof (Rmax_l (a * l) (a * h)). lra.
Qed.

Theorem matrix_boxed rows columns A B x :
  in_box columns B x -> in_box rows (matrix_box columns A B) (multiply columns A x).
Proof.
  intros inside i _. cbn [low high matrix_box]. unfold multiply, dot.
  split; apply sum_map_le; intros j inj; apply in_seq in inj; apply product_between, inside; lia.
Qed.

(** ** Spread and dispersion *)

Definition magnitude (B : box) (c : nat) : R := Rmax (Rabs (low B c)) (Rabs (high B c)).

Lemma magnitude_above d B x c : in_box d B x -> (c < d)%nat -> Rabs (x c) <= magnitude B c.
Proof.
  intros inside less. specialize (inside c less). unfold magnitude.
  pose proof (Rmax_l (Rabs (low B c)) (Rabs (high B c))). pose proof (Rmax_r (Rabs (low B c)) (Rabs (high B c))).
  pose proof (Rle_abs (high B c)). pose proof (Rle_abs (- low B c)) as below. rewrite Rabs_Ropp in below.
  apply Rabs_le. lra.
Qed.

(** K^T Q first, then the box. *)
Definition spread_form (width inner : nat) (Q K : matrix) (B : box) : R :=
  sum (map (fun c => magnitude (matrix_box width (product inner (transpose K) Q) B) c * (high B c - low B c))
           (seq 0 width)).

Theorem spread_of_box width inner Q K V B x items :
  in_box width B x -> (forall y, In y items -> in_box width B y) ->
  spread_at_most (spread_form width inner Q K B) (logits (linear_head width inner Q K V zero zero) x items).
Proof.
  apply spread_over_box. intros u inside c less. rewrite <- multiply_product.
  exact (magnitude_above width _ _ c (matrix_boxed width width _ B u inside) less).
Qed.

Theorem disperses theta mask d layers boxes before residual heads after inner Q K V tokens i eps :
  0 < theta -> 0 < eps -> chain d layers boxes -> (forall x, In x tokens -> in_box d (boxes 0%nat) x) ->
  layers = before ++ Attention residual heads :: after ->
  let width := output_width d before in
  let h := linear_head width inner Q K V zero zero in
  let delta := spread_form width inner Q K (boxes (length before)) in
  In h heads -> (i < length tokens)%nat ->
  let inputs := forward theta mask before tokens in
  spread_at_most delta (logits h (token inputs i) (visible mask i inputs)) /\
  (sharp_length delta theta eps < size (visible mask i inputs) ->
   forall p, In p (coefficients theta h (token inputs i) (visible mask i inputs)) -> p < eps).
Proof.
  intros heated pos carried all split width h delta _ less inputs.
  assert (many : (i < length inputs)%nat) by (unfold inputs; now rewrite length_forward).
  assert (inside : forall x, In x inputs -> in_box width (boxes (length before)) x).
  { intros x inx.
    now apply (chain_boxed theta mask d layers boxes tokens carried all before (Attention residual heads :: after)). }
  assert (within : spread_at_most delta (logits h (token inputs i) (visible mask i inputs))).
  { apply spread_of_box; [now apply inside, token_in|]. intros y iny. eapply inside, in_visible, iny. }
  split; [exact within|]. intros long p inp.
  eapply Rle_lt_trans; [apply (sharp_upper _ delta theta p heated within inp)|]. unfold logits at 1. rewrite size_map.
  apply sharp_upper_below_iff; [|easy|exact long]. now apply size_at_least_one, visible_not_nil.
Qed.

(** ** Inhabited, and reached *)

(** One coordinate, [-1, 1], W_Q = W_K = 1: the logits of the query 1 and of the keys 1 and -1 are two apart. *)
Definition unit_box : box := {| low := fun _ => -1; high := fun _ => 1 |}.
Definition unit_matrix : matrix := fun _ _ => 1.

Example spread_of_box_is_reached :
  let h := linear_head 1 1 unit_matrix unit_matrix unit_matrix zero zero in
  let one : vector := fun _ => 1 in
  let less : vector := fun _ => -1 in
  in_box 1 unit_box one /\ in_box 1 unit_box less /\
  logit h one one - logit h one less = spread_form 1 1 unit_matrix unit_matrix unit_box.
Proof.
  unfold in_box, spread_form, magnitude, matrix_box, product, transpose, logit, dot, sum. cbn.
  unfold unit_matrix, multiply, dot, add, zero, sum. cbn. split; [intros; lra|]. split; [intros; lra|].
  unfold Rmin, Rmax. repeat destruct Rle_dec; try lra; unfold Rabs in *; repeat destruct Rcase_abs; lra.
Qed.

(** A layer of that head alone carries the box [-1, 1] to itself. *)
Example chain_is_inhabited :
  chain 1 [Attention false [linear_head 1 1 unit_matrix unit_matrix unit_matrix zero zero]] (fun _ => unit_box).
Proof.
  split; [|easy]. exists [unit_box]. split.
  - constructor; [|constructor]. intros x inside c less. specialize (inside 0%nat ltac:(lia)).
    cbn in *. unfold multiply, dot, unit_matrix, sum. cbn. lra.
  - intros c less. unfold sum. cbn. lra.
Qed.
