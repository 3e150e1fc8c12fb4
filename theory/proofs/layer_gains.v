(** * Bounds of the layers of a Transformer, and how a BERT stack carries a difference from layer to layer.

    Each layer has bounds that hold on all its activations: dispersion >= e^(delta/theta), ||V||, diameter of the
    values for a head, a Lipschitz constant G for a feedforward map, all in the maximum norm.

    Main result
    - [pure_sequence]      the activations of [b, ..., b] do not depend on its length

    Source: remark_b_2.v, which puts the parts together. *)

From Coq Require Import FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax vectors lemma_2_1 small_transformer coordinate_box lipschitz_layers theorem_2_2.
Local Open Scope R_scope.

(** ** Bounds of a layer *)

Record head_gain : Set := { dispersion : R; value_gain : R; diameter : R }.

Inductive layer_gain : Set :=
  | AttentionGain (heads : list head_gain)
  | FeedforwardGain (lipschitz : R).

Section Network.
  Context (theta : R) (heated : 0 < theta).

  (** What the bounds of a head mean for inputs in P. *)
  Definition head_bounded (P : vector -> Prop) (d : nat) (h : head) (g : head_gain) : Prop :=
    (exists delta, exp (delta / theta) <= dispersion g /\
       forall x items, P x -> (forall y, In y items -> P y) -> spread_at_most delta (logits h x items)) /\
    lipschitz_on P d d (value_gain g) (value h) /\
    0 <= dispersion g /\
    forall x y, P x -> P y -> within d (diameter g) (value h x) (value h y).

  Definition layer_bounded (P : vector -> Prop) (d : nat) (l : layer) (g : layer_gain) : Prop :=
    match l, g with
    | Attention _ heads, AttentionGain gains => Forall2 (head_bounded P d) heads gains
    | Feedforward width f, FeedforwardGain G => lipschitz_on P d width G f
    | _, _ => False
    end.

  (** P' holds what the layer makes of inputs in P, at every length. *)
  Definition maps_into (mask : attention_mask) (P P' : vector -> Prop) (l : layer) : Prop :=
    forall tokens, (forall x, In x tokens -> P x) -> forall x, In x (apply_layer theta mask l tokens) -> P' x.

  Fixpoint bounded_by (mask : attention_mask) (P : vector -> Prop) (d : nat) (layers : list layer)
    (gains : list layer_gain) : Prop :=
    match layers, gains with
    | [], [] => True
    | l :: rest, g :: gains =>
        layer_bounded P d l g /\
        exists P', maps_into mask P P' l /\ bounded_by mask P' (width_behind d l) rest gains
    | _, _ => False
    end.

  (** ** Attention over equal tokens *)

  (** The coefficients add up to 1. *)
  Lemma attend_difference h x items y c :
    items <> [] ->
    attend theta h x items c - value h y c
    = sum (map (fun z => item_coefficient theta h x items z * (value h z c - value h y c)) items).
  Proof.
    intros some. unfold attend.
    rewrite (sum_map_ext (fun z => item_coefficient theta h x items z * (value h z c - value h y c))
               (fun z => item_coefficient theta h x items z * value h z c
                         - item_coefficient theta h x items z * value h y c))
      by (intros; ring).
    rewrite sum_map_minus, sum_map_mult_r, sum_item_coefficients by easy. ring.
  Qed.

  Lemma attend_equal_items h x items y c :
    items <> [] -> (forall z, In z items -> z = y) -> attend theta h x items c = value h y c.
  Proof.
    intros some equal. apply Rminus_diag_uniq. rewrite attend_difference by easy.
    rewrite (sum_map_ext _ (fun _ => 0)); [rewrite sum_map_const; ring|]. intros z inz. rewrite (equal z inz). ring.
  Qed.

  Lemma attention_equal_items residual heads x items y :
    items <> [] -> (forall z, In z items -> z = y) ->
    attention theta residual heads x items = attention theta residual heads x [y].
  Proof.
    intros some equal. apply functional_extensionality. intros c. unfold attention. f_equal.
    apply sum_map_ext. intros h _. rewrite !attend_equal_items with (y := y); try easy. now intros z [<- | []].
  Qed.

  (** What a layer makes of one token alone. *)
  Definition alone_layer (l : layer) (y : vector) : vector :=
    match l with Attention residual heads => attention theta residual heads y [y] | Feedforward _ f => f y end.

  Fixpoint alone (layers : list layer) (y : vector) : vector :=
    match layers with [] => y | l :: rest => alone rest (alone_layer l y) end.

  Lemma map_const {A B} (f : A -> B) v xs : (forall x, In x xs -> f x = v) -> map f xs = repeat v (length xs).
  Proof.
    induction xs as [|x xs IH]; intros const; [easy|]. cbn. rewrite (const x) by now left. f_equal.
    apply IH. intros. apply const. now right.
  Qed.

  Lemma token_repeat y n i : (i < n)%nat -> token (repeat y n) i = y.
  Proof. intros less. apply (repeat_spec n). apply nth_In. now rewrite repeat_length. Qed.

  (** [b, ..., b]: every token stays what it is alone, whatever n and the mask. *)
  Theorem pure_sequence mask layers y n : forward theta mask layers (repeat y n) = repeat (alone layers y) n.
  Proof.
    revert y. induction layers as [|l rest IH]; intros y; [easy|]. cbn [forward alone]. rewrite <- IH. f_equal.
    destruct l as [residual heads | width f]; cbn [apply_layer alone_layer].
    - rewrite map_const with (v := attention theta residual heads y [y]);
        rewrite repeat_length; [now rewrite seq_length|].
      intros i ini. apply in_seq in ini. rewrite token_repeat by lia. apply attention_equal_items.
      + apply visible_not_nil. rewrite repeat_length. lia.
      + intros z inz. apply in_visible in inz. now apply repeat_spec in inz.
    - apply map_repeat.
  Qed.

  Lemma alone_layer_inside mask P P' l y : maps_into mask P P' l -> P y -> P' (alone_layer l y).
  Proof.
    intros into iny. apply (into [y]); [now intros z [<- | []]|].
    destruct l as [residual heads | width f]; cbn; [|now left]. left. unfold token. cbn. now destruct mask.
  Qed.

  (** Lemma 2.1 for the spread of the head. *)
  Lemma coefficient_dispersed P d h g x items y :
    head_bounded P d h g -> P x -> (forall z, In z items -> P z) -> In y items ->
    0 <= item_coefficient theta h x items y <= dispersion g / size items.
  Proof.
    intros [[delta [below spread]] _] inx all iny. assert (some := in_not_nil _ _ iny). split.
    { now apply Rlt_le, item_coefficient_pos. } apply Rle_trans with (exp (delta / theta) / size items).
    - replace (size items) with (size (logits h x items)) by apply size_map.
      apply upper; [easy | now apply spread | now apply item_coefficient_in].
    - apply Rmult_le_compat_r; [|easy]. apply Rlt_le, Rinv_0_lt_compat. now apply size_pos.
  Qed.

  (** ** BERT *)

  Definition keep (residual : bool) : R := if residual then 1 else 0.

  (** C' = (r + sum ||V||) C + sum e^(delta/theta) diameter, and C' = G C. *)
  Definition bert_step (l : layer) (g : layer_gain) (C : R) : R :=
    match l, g with
    | Attention residual _, AttentionGain gains =>
        (keep residual + sum (map value_gain gains)) * C + sum (map (fun g => dispersion g * diameter g) gains)
    | _, FeedforwardGain G => G * C
    | _, _ => 0
    end.

  Fixpoint bert_constant (layers : list layer) (gains : list layer_gain) (C : R) : R :=
    match layers, gains with
    | l :: rest, g :: gains => bert_constant rest gains (bert_step l g C)
    | _, _ => C
    end.

  (** z = v_b + alpha_a (v_a - v_b) with alpha_a <= e^(delta/theta) / n. *)
  Lemma bert_head_difference P d h g u x y m r :
    head_bounded P d h g -> P u -> P x -> P y -> within d r x y ->
    let n := INR (S m) in
    within d (value_gain g * r + dispersion g * diameter g / n)
      (attend theta h x (u :: repeat x m)) (value h y).
  Proof.
    intros bounded inu inx iny close n. destruct (bounded) as [_ [[nonneg steep] [nonneg' narrow]]].
    assert (0 < n) by (apply lt_0_INR; lia).
    assert (long : size (u :: repeat x m) = n) by (unfold size, n; cbn [length]; now rewrite repeat_length).
    destruct (narrow u x inu inx) as [nonneg'' far]. destruct (steep x y r inx iny close) as [nonneg''' near]. split.
    { apply Rplus_le_le_0_compat; [easy|].
      apply Rmult_le_pos; [now apply Rmult_le_pos | now apply Rlt_le, Rinv_0_lt_compat]. }
    intros c less. specialize (near c less). specialize (far c less).
    replace (attend theta h x (u :: repeat x m) c - value h y c)
      with ((value h x c - value h y c) + (attend theta h x (u :: repeat x m) c - value h x c)) by ring.
    triangle. apply Rplus_le_compat; [easy|]. rewrite attend_difference by easy.
    set (alpha := item_coefficient theta h x (u :: repeat x m)). cbn [map]. unfold sum. cbn [fold_right].
    fold (sum (map (fun z => alpha z * (value h z c - value h x c)) (repeat x m))).
    rewrite (sum_map_ext _ (fun _ => 0) (repeat x m)). 2:{ intros z inz. apply repeat_spec in inz. rewrite inz. ring. }
    rewrite sum_map_const, Rmult_0_r, Rplus_0_r, Rabs_mult.
    destruct (coefficient_dispersed P d h g x (u :: repeat x m) u) as [low high]; try easy; [|now left|].
    { intros z [<- | inz]; [easy|]. apply repeat_spec in inz. now rewrite inz. } fold alpha in low, high.
    rewrite long in high. rewrite (Rabs_right (alpha u)) by lra.
    replace (dispersion g * diameter g / n) with (dispersion g / n * diameter g) by (field; lra).
    apply Rmult_le_compat; [easy | apply Rabs_pos | easy | easy].
  Qed.

  (** The differences of the heads add up. *)
  Lemma bert_heads_difference P d heads gains u x y m r :
    Forall2 (head_bounded P d) heads gains -> P u -> P x -> P y -> within d r x y ->
    let n := INR (S m) in
    within d (sum (map value_gain gains) * r + sum (map (fun g => dispersion g * diameter g) gains) / n)
      (fun c => sum (map (fun h => attend theta h x (u :: repeat x m) c) heads))
      (fun c => sum (map (fun h => attend theta h y [y] c) heads)).
  Proof.
    intros bounded inu inx iny close n. assert (0 < n) by (apply lt_0_INR; lia).
    induction bounded as [|h g heads gains one all IH].
    - apply within_weaken with 0; [|apply within_refl]. apply Req_le. unfold sum, Rdiv. cbn [map fold_right]. ring.
    - pose proof (bert_head_difference P d h g u x y m r one inu inx iny close) as first. fold n in first.
      apply (within_weaken d (value_gain g * r + dispersion g * diameter g / n
        + (sum (map value_gain gains) * r + sum (map (fun g => dispersion g * diameter g) gains) / n))).
      + apply Req_le. unfold sum. cbn [map fold_right]. field. lra.
      + pose proof (within_add _ _ _ _ _ _ _ first IH) as both.
        replace (fun c => sum (map (fun h => attend theta h y [y] c) (h :: heads)))
          with (add (value h y) (fun c => sum (map (fun h => attend theta h y [y] c) heads))).
        * exact both.
        * apply functional_extensionality. intros c. unfold add. cbn [map]. unfold sum at 2. cbn [fold_right].
          rewrite (attend_equal_items h y [y] y); [easy | easy |]. now intros z [<- | []].
  Qed.

  (** The tokens b stay equal to each other. *)
  Lemma bert_layer_shape l u x m :
    exists u', apply_layer theta bert_mask l (u :: repeat x m)
               = u' :: repeat (match l with
                               | Attention residual heads => attention theta residual heads x (u :: repeat x m)
                               | Feedforward _ f => f x
                               end) m.
  Proof.
    destruct l as [residual heads | width f].
    - exists (attention theta residual heads u (u :: repeat x m)). cbn [apply_layer length]. rewrite repeat_length.
      cbn [seq map]. f_equal. rewrite <- seq_shift, map_map.
      rewrite map_const with (v := attention theta residual heads x (u :: repeat x m)); [now rewrite seq_length|].
      intros i ini. apply in_seq in ini. cbn [visible]. f_equal.
      change (token (u :: repeat x m) (S i)) with (token (repeat x m) i). apply token_repeat. lia.
    - exists (f u). cbn. f_equal. apply map_repeat.
  Qed.

  (** Layer by layer, with one recurrence step for each. *)
  Lemma bert_from layers gains (P : vector -> Prop) d u x y m C :
    bounded_by bert_mask P d layers gains -> P u -> P x -> P y -> (1 <= m)%nat ->
    within d (C / INR (S m)) x y ->
    exists u' x', forward theta bert_mask layers (u :: repeat x m) = u' :: repeat x' m /\
      within (output_width d layers) (bert_constant layers gains C / INR (S m)) x' (alone layers y).
  Proof.
    revert gains P d u x y C.
    induction layers as [|l rest IH];
    intros [|g gains] P d u x y C bounded inu inx iny some close;
    try easy; [now exists u, x|].
    cbn [bounded_by forward output_width bert_constant alone] in *. destruct bounded as [here [P' [into there]]].
    destruct (bert_layer_shape l u x m) as [u' shape]. assert (all : forall z, In z (u :: repeat x m) -> P z).
    { intros z [<- | inz]; [easy|]. apply repeat_spec in inz. now rewrite inz. }
    assert (inside : forall z, In z (apply_layer theta bert_mask l (u :: repeat x m)) -> P' z) by now apply into.
    rewrite shape in *. assert (0 < INR (S m)) by (apply lt_0_INR; lia). apply (IH gains P'); try easy.
    - apply inside. now left.
    - apply inside. right. destruct m as [|m]; [lia | now left].
    - now apply (alone_layer_inside bert_mask P P').
    - destruct l as [residual heads | width f], g as [head_gains | G]; try easy;
        cbn [layer_bounded bert_step width_behind alone_layer] in *.
      + pose proof (bert_heads_difference P d heads head_gains u x y m _ here inu inx iny close) as difference.
        cbv zeta in difference.
        apply (within_weaken d (keep residual * (C / INR (S m)) + (sum (map value_gain head_gains) * (C / INR (S m))
          + sum (map (fun g => dispersion g * diameter g) head_gains) / INR (S m)))); [apply Req_le; field; lra|].
        assert (kept : within d (keep residual * (C / INR (S m))) (fun c => if residual then x c else 0)
                                (fun c => if residual then y c else 0)).
        { destruct residual; unfold keep; [now rewrite Rmult_1_l|]. rewrite Rmult_0_l. apply within_refl. }
        exact (within_add _ _ _ _ _ _ _ kept difference).
      + replace (G * C / INR (S m)) with (G * (C / INR (S m))) by (field; lra). now apply here.
  Qed.

End Network.
