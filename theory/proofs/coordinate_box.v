(** * Coordinate boxes in activation space: one interval for each coordinate.

    Main results
    - [continuous_image_boxed]   a continuous map takes a box into a box (compactness)
    - [convex_boxed]             convex combinations stay in a box, however many there are
    - [layer_boxed]              hence a whole layer takes a box into a box, whatever the length and the mask
    - [spread_over_box]          sum_c max |(K^T Q x)_c| width_c bounds the spread of a head of matrices over a box

    Source: this project; the paper's Theorem 2.2 takes the convex hull, which is not needed. *)

From Coq Require Import Classical.
From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax vectors small_transformer.
Local Open Scope R_scope.

Record box : Set := { low : vector; high : vector }.

Definition in_box (d : nat) (B : box) (x : vector) : Prop := forall c, (c < d)%nat -> low B c <= x c <= high B c.

Definition cube (r : R) : box := {| low := fun _ => - r; high := fun _ => r |}.

Lemma in_cube d r x : in_box d (cube r) x <-> forall c, (c < d)%nat -> Rabs (x c) <= r.
Proof.
  split; intros inside c less; specialize (inside c less); cbn in *; [now apply Rabs_le | now apply Rabs_le_between].
Qed.

(** ** A continuous map is bounded on a box *)

(** Vectors as the tuples of Coquelicot, whose boxes are compact. *)
Fixpoint tuple_of (d : nat) (x : vector) : Compactness.Tn d R :=
  match d with O => tt | S d => (x 0%nat, tuple_of d (fun i => x (S i))) end.

Fixpoint vector_of (d : nat) : Compactness.Tn d R -> vector :=
  match d with
  | O => fun _ _ => 0
  | S d => fun t i => match i with O => fst t | S i => vector_of d (snd t) i end
  end.

Lemma tuple_in_box d a b x :
  (forall c, (c < d)%nat -> a c <= x c <= b c) -> bounded_n d (tuple_of d a) (tuple_of d b) (tuple_of d x).
Proof.
  revert a b x. induction d as [|d IH]; intros a b x inside; cbn; [easy|].
  split; [apply inside; lia|]. apply IH. intros c less. apply inside. lia.
Qed.

Lemma tuple_close d delta x t :
  close_n d delta (tuple_of d x) t -> forall c, (c < d)%nat -> Rabs (x c - vector_of d t c) < delta.
Proof.
  revert x t. induction d as [|d IH]; intros x t; cbn; [lia|]. destruct t as [t1 t2]. intros [close rest] c less.
  destruct c as [|c]; [easy|]. cbn. apply (IH (fun i => x (S i)) t2 rest). lia.
Qed.

(** How near to t one must be for f to move by less than 1, without choosing: half of the supremum. *)
Section Bounded.
  Context (d m : nat) (f : vector -> vector) (cont : continuous d m f).

  Definition steady (t : vector) (r : R) : Prop :=
    0 <= r <= 1 /\
    forall y, (forall i, (i < d)%nat -> Rabs (y i - t i) < r) -> forall c, (c < m)%nat -> Rabs (f y c - f t c) < 1.

  (** Continuity at t gives some radius; below the supremum of all of them there is one that still works. *)
  Lemma steady_radius t : exists r, 0 < r /\ real (Lub_Rbar (steady t)) = r /\ steady t (r / 2).
  Proof.
    destruct (cont t 1) as [delta [pos near]]; [lra|]. assert (some : steady t (Rmin delta 1)).
    { split; [split; [apply Rmin_glb; lra | apply Rmin_r]|]. intros y close. apply near. intros i less.
      eapply Rlt_le_trans; [now apply close | apply Rmin_l]. }
    destruct (Lub_Rbar_correct (steady t)) as [upper least].
    assert (bounded : is_ub_Rbar (steady t) 1) by (intros r [[_ below] _]; exact below).
    specialize (least 1 bounded) as below. specialize (upper _ some) as above.
    destruct (Lub_Rbar (steady t)) as [l | |] eqn:value; try easy. cbn in above, below.
    assert (0 < l) by (pose proof (Rmin_glb_lt delta 1 0 pos Rlt_0_1); lra). exists l. split; [easy|]. split; [easy|].
    assert (beyond : exists r, steady t r /\ l / 2 < r).
    { apply NNPP. intros none. specialize (least (l / 2)). cbn in least. enough (l <= l / 2) by lra. apply least.
      intros r isr. cbn. apply Rnot_lt_le. intros less. apply none. now exists r. }
    destruct beyond as [r [[_ calm] less]]. split; [lra|]. intros y close. apply calm. intros i lessi.
    eapply Rlt_trans; [now apply close | easy].
  Qed.

  Lemma steady_radius_pos t : 0 < real (Lub_Rbar (steady t)) / 2.
  Proof. destruct (steady_radius t) as [r [pos [-> _]]]. lra. Qed.

  (** Finitely many steady neighbourhoods cover the box. *)
  Lemma bounded_on_box B : exists M, forall x, in_box d B x -> forall c, (c < m)%nat -> Rabs (f x c) <= M.
  Proof.
    pose (radius := fun t : Compactness.Tn d R => mkposreal _ (steady_radius_pos (vector_of d t))).
    destruct (NNPP _ (compactness_list d (tuple_of d (low B)) (tuple_of d (high B)) radius)) as [centres cover].
    assert (finite : exists M, forall t, In t centres -> forall c, (c < m)%nat -> Rabs (f (vector_of d t) c) <= M).
    { clear cover. induction centres as [|t ts [M below]]; [now exists 0|].
      destruct (bound_over_indices (fun c => Rabs (f (vector_of d t) c)) m) as [M' [_ below']]. exists (Rmax M M').
      intros s [<- | ins] c less.
      - eapply Rle_trans; [now apply below' | apply Rmax_r].
      - eapply Rle_trans; [now apply below | apply Rmax_l]. }
    destruct finite as [M below]. exists (M + 1). intros x inside c less.
    destruct (cover (tuple_of d x)) as [t [int [_ close]]]; [now apply tuple_in_box|].
    destruct (steady_radius (vector_of d t)) as [r [_ [value [_ calm]]]]. specialize (below t int c less).
    assert (near : Rabs (f x c - f (vector_of d t) c) < 1).
    { apply calm; [|easy]. intros i lessi. pose proof (tuple_close d _ x t close i lessi) as moved. cbn in moved.
      now rewrite value in moved. }
    pose proof (Rabs_triang_inv (f x c) (f (vector_of d t) c)). lra.
  Qed.
End Bounded.

Theorem continuous_image_boxed d m f B : continuous d m f -> exists B', forall x, in_box d B x -> in_box m B' (f x).
Proof.
  intros cont. destruct (bounded_on_box d m f cont B) as [M below]. exists (cube M).
  intros x inside. apply in_cube. now apply below.
Qed.

(** ** Convex combinations *)

(** Each term lies between weight times a and weight times b, and the weights add up to 1. *)
Lemma convex_between {A} (weight value : A -> R) (items : list A) a b :
  (forall y, In y items -> 0 <= weight y) -> sum (map weight items) = 1 ->
  (forall y, In y items -> a <= value y <= b) ->
  a <= sum (map (fun y => weight y * value y) items) <= b.
Proof.
  intros nonneg total between. assert (constant : forall t, t = sum (map (fun y => weight y * t) items)).
  { intros. rewrite sum_map_mult_r, total. ring. } rewrite (constant a) at 1. rewrite (constant b) at 1.
  split; apply sum_map_le; intros y iny; specialize (nonneg y iny); specialize (between y iny);
    apply Rmult_le_compat_l; lra.
Qed.

(** The coefficients of a row are positive and add up to 1. *)
Theorem convex_boxed theta d h B x items :
  items <> [] -> (forall y, In y items -> in_box d B (value h y)) -> in_box d B (attend theta h x items).
Proof.
  intros some inside c less. unfold attend. apply convex_between.
  - intros. now apply Rlt_le, item_coefficient_pos.
  - now apply sum_item_coefficients.
  - intros y iny. now apply inside.
Qed.

(** Head by head: the box of the sum is the sum of the boxes. *)
Lemma attention_boxed theta d residual heads B :
  (forall h, In h heads -> continuous d d (value h)) ->
  exists B', forall x items, items <> [] -> in_box d B x -> (forall y, In y items -> in_box d B y) ->
    in_box d B' (attention theta residual heads x items).
Proof.
  intros cont. induction heads as [|h hs IH].
  - exists (if residual then B else cube 0). intros x items some inside _ c less. unfold attention, sum. cbn.
    destruct residual; cbn; [specialize (inside c less); lra | lra].
  - destruct IH as [B1 boxed1]; [intros; apply cont; now right|].
    destruct (continuous_image_boxed d d (value h) B) as [B2 boxed2]; [apply cont; now left|].
    exists {| low := add (low B1) (low B2); high := add (high B1) (high B2) |}. intros x items some inside all c less.
    specialize (boxed1 x items some inside all c less). assert (in_box d B2 (attend theta h x items)) as one.
    { apply convex_boxed; [easy|]. intros y iny. now apply boxed2, all. } specialize (one c less).
    unfold attention, add in *. cbn [map low high] in *. unfold sum in *. cbn [fold_right] in *. lra.
Qed.

(** Whatever the length, the mask and the coefficients. *)
Theorem layer_boxed theta mask d l B :
  well_formed_layer d l ->
  exists B', forall tokens, (forall x, In x tokens -> in_box d B x) ->
    forall x, In x (apply_layer theta mask l tokens) -> in_box (width_behind d l) B' x.
Proof.
  destruct l as [residual heads | width f]; cbn [well_formed_layer apply_layer width_behind]; intros wf.
  - destruct (attention_boxed theta d residual heads B) as [B' boxed]; [intros h inh; now apply wf|]. exists B'.
    intros tokens all x inx. apply in_map_iff in inx as [i [<- ini]]. apply in_seq in ini. apply boxed.
    + apply visible_not_nil. lia.
    + apply all, token_in. lia.
    + intros y iny. eapply all, in_visible, iny.
  - destruct (continuous_image_boxed d width f B wf) as [B' boxed]. exists B'. intros tokens all x inx.
    apply in_map_iff in inx as [y [<- iny]]. now apply boxed, all.
Qed.

(** The largest entry of finitely many vectors. *)
Lemma finite_set_boxed d (vocabulary : list vector) : exists B, forall x, In x vocabulary -> in_box d B x.
Proof.
  enough (exists M, forall x, In x vocabulary -> forall c, (c < d)%nat -> Rabs (x c) <= M) as [M below].
  { exists (cube M). intros x inx. apply in_cube. now apply below. }
  induction vocabulary as [|x xs [M below]]; [now exists 0|].
  destruct (bound_over_indices (fun c => Rabs (x c)) d) as [M' [_ below']].
  exists (Rmax M M'). intros y [<- | iny] c less.
  - eapply Rle_trans; [now apply below' | apply Rmax_r].
  - eapply Rle_trans; [now apply below | apply Rmax_l].
Qed.

(** ** The spread of a head over a box *)

(** Coordinate by coordinate, two points of a box differ by at most its width. *)
Lemma dot_in_box n B x y :
  in_box n B x -> in_box n B y -> forall u bound, (forall c, (c < n)%nat -> Rabs (u c) <= bound c) ->
  dot n u (subtract x y) <= sum (map (fun c => bound c * (high B c - low B c)) (seq 0 n)).
Proof.
  intros inx iny u bound below. apply sum_map_le. intros c inc. apply in_seq in inc. specialize (inx c ltac:(lia)).
  specialize (iny c ltac:(lia)). specialize (below c ltac:(lia)). eapply Rle_trans; [apply Rle_abs|]. rewrite Rabs_mult.
  apply Rmult_le_compat; try apply Rabs_pos; [easy|]. unfold subtract. apply Rabs_le. lra.
Qed.

(** q . (k_j - k_k) = (K^T Q x) . (x_j - x_k); [reach c] bounds |(K^T Q x)_c| over the box. *)
Theorem spread_over_box width inner Q K V B reach :
  (forall x, in_box width B x -> forall c, (c < width)%nat ->
     Rabs (multiply inner (transpose K) (multiply width Q x) c) <= reach c) ->
  forall x items, in_box width B x -> (forall y, In y items -> in_box width B y) ->
  spread_at_most (sum (map (fun c => reach c * (high B c - low B c)) (seq 0 width)))
                 (logits (linear_head width inner Q K V zero zero) x items).
Proof.
  intros below x items inx all e e' ine ine'. apply in_map_iff in ine as [y [<- iny]].
  apply in_map_iff in ine' as [y' [<- iny']]. unfold logit. cbn [query key head_width linear_head].
  replace (dot inner (add (multiply width Q x) zero) (add (multiply width K y) zero)
           - dot inner (add (multiply width Q x) zero) (add (multiply width K y') zero))
    with (dot width (multiply inner (transpose K) (multiply width Q x)) (subtract y y')).
  - apply dot_in_box; [now apply all | now apply all | now apply below].
  - rewrite dot_subtract_r, !(dot_comm width (multiply inner _ _)), <- !dot_multiply.
    rewrite !(dot_comm inner _ (multiply width Q x)). f_equal; apply dot_ext; intros; unfold add, zero; ring.
Qed.
