(** * Remark B.2: Corollary B.1 through a whole Transformer.

    X = [a, b, ..., b] of n tokens is compared with [b, ..., b], whose activations do not depend on n ([pure_sequence]).
    Each layer has bounds that hold on all its activations: dispersion >= e^(delta/theta), ||V||, diameter of the
    values for a head, a Lipschitz constant G for a feedforward map, all in the maximum norm.

    Main results
    - [bert]               a token b of a BERT stack feels a by at most C_l / n, C_l by a recurrence without n
    - [gpt]                token i of a GPT stack feels a by at most D_l(i), by a recurrence
    - [gpt_closed_form]    D_l(i) <= c_l (1 + ln i)^l / i, l the number of attention layers
    - [forgets]            from a computed length on the difference is below every tolerance
    - [forgetting_length_exists]   such a length exists
    - [gains_exist], [concrete_gains_exist]   such bounds exist: for continuous maps that are Lipschitz on boxes,
                           hence for every network of theory/small_transformer.hpp
    - [bert_forgets_eventually], [gpt_forgets_eventually]   in the paper's words, without any bound in the statement

    Stated for the output of a stack; the input of an inner layer is the output of the layers before it.

    Source: paper, Remark B.2, which gives no rates; the recurrences are this project's. *)

From Coq Require Import Reals List FunctionalExtensionality Lra Lia.
From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax vectors lemma_2_1 small_transformer coordinate_box theorem_2_2.
Import ListNotations.
Local Open Scope R_scope.

(** ** Bounds of a layer *)

Record head_gain : Set := { dispersion : R; value_gain : R; diameter : R }.

Inductive layer_gain : Set :=
  | AttentionGain (heads : list head_gain)
  | FeedforwardGain (lipschitz : R).

Section Network.
  Variables (theta : R).
  Hypothesis heated : 0 < theta.

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
    rewrite (sum_map_ext _ (fun _ => 0)); [rewrite sum_map_const; ring|].
    intros z inz. rewrite (equal z inz). ring.
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
  Theorem pure_sequence mask layers y n :
    forward theta mask layers (repeat y n) = repeat (alone layers y) n.
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
    destruct l as [residual heads | width f]; cbn; [|now left]. left. unfold token. cbn.
    now destruct mask.
  Qed.

  (** Lemma 2.1 for the spread of the head. *)
  Lemma coefficient_dispersed P d h g x items y :
    head_bounded P d h g -> P x -> (forall z, In z items -> P z) -> In y items ->
    0 <= item_coefficient theta h x items y <= dispersion g / size items.
  Proof.
    intros [[delta [below spread]] _] inx all iny. assert (some := in_not_nil _ _ iny). split.
    { now apply Rlt_le, item_coefficient_pos. }
    apply Rle_trans with (exp (delta / theta) / size items).
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
    destruct (narrow u x inu inx) as [nonneg'' far]. destruct (steep x y r inx iny close) as [nonneg''' near].
    split.
    { apply Rplus_le_le_0_compat; [easy|]. apply Rmult_le_pos;
        [now apply Rmult_le_pos | now apply Rlt_le, Rinv_0_lt_compat]. }
    intros c less. specialize (near c less). specialize (far c less).
    replace (attend theta h x (u :: repeat x m) c - value h y c)
      with ((value h x c - value h y c) + (attend theta h x (u :: repeat x m) c - value h x c)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [easy|].
    rewrite attend_difference by easy. set (alpha := item_coefficient theta h x (u :: repeat x m)).
    cbn [map]. unfold sum. cbn [fold_right].
    fold (sum (map (fun z => alpha z * (value h z c - value h x c)) (repeat x m))).
    rewrite (sum_map_ext _ (fun _ => 0) (repeat x m)).
    2:{ intros z inz. apply repeat_spec in inz. rewrite inz. ring. }
    rewrite sum_map_const, Rmult_0_r, Rplus_0_r, Rabs_mult.
    destruct (coefficient_dispersed P d h g x (u :: repeat x m) u) as [low high]; try easy; [|now left|].
    { intros z [<- | inz]; [easy|]. apply repeat_spec in inz. now rewrite inz. }
    fold alpha in low, high. rewrite long in high. rewrite (Rabs_right (alpha u)) by lra.
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
    - exists (attention theta residual heads u (u :: repeat x m)). cbn [apply_layer length].
      rewrite repeat_length. cbn [seq map]. f_equal. rewrite <- seq_shift, map_map.
      rewrite map_const with (v := attention theta residual heads x (u :: repeat x m)); [now rewrite seq_length|].
      intros i ini. apply in_seq in ini. cbn [visible]. f_equal.
      change (token (u :: repeat x m) (S i)) with (token (repeat x m) i).
      apply token_repeat. lia.
    - exists (f u). cbn. f_equal. apply map_repeat.
  Qed.

  (** Layer by layer, with one recurrence step for each. *)
  Lemma bert_from layers gains (P : vector -> Prop) d u x y m C :
    bounded_by bert_mask P d layers gains -> P u -> P x -> P y -> (1 <= m)%nat ->
    within d (C / INR (S m)) x y ->
    exists u' x', forward theta bert_mask layers (u :: repeat x m) = u' :: repeat x' m /\
      within (output_width d layers) (bert_constant layers gains C / INR (S m)) x' (alone layers y).
  Proof.
    revert gains P d u x y C. induction layers as [|l rest IH];
      intros [|g gains] P d u x y C bounded inu inx iny some close;
      try easy; [now exists u, x|].
    cbn [bounded_by forward output_width bert_constant alone] in *. destruct bounded as [here [P' [into there]]].
    destruct (bert_layer_shape l u x m) as [u' shape].
    assert (all : forall z, In z (u :: repeat x m) -> P z).
    { intros z [<- | inz]; [easy|]. apply repeat_spec in inz. now rewrite inz. }
    assert (inside : forall z, In z (apply_layer theta bert_mask l (u :: repeat x m)) -> P' z) by now apply into.
    rewrite shape in *. assert (0 < INR (S m)) by (apply lt_0_INR; lia).
    apply (IH gains P'); try easy.
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

  (** [a, b, ..., b] of n = m + 1 tokens: every token behind the first is within C/n of what b is alone. *)
  Theorem bert layers gains (P : vector -> Prop) d a b m :
    bounded_by bert_mask P d layers gains -> P a -> P b -> (1 <= m)%nat ->
    forall i, (1 <= i <= m)%nat ->
    within (output_width d layers) (bert_constant layers gains 0 / INR (S m))
      (token (forward theta bert_mask layers (a :: repeat b m)) i) (alone layers b).
  Proof.
    intros bounded ina inb some i [low high].
    destruct (bert_from layers gains P d a b b m 0 bounded ina inb inb some) as [u' [x' [shape close]]].
    { unfold Rdiv. rewrite Rmult_0_l. apply within_refl. }
    rewrite shape. destruct i as [|i]; [lia|]. change (token (u' :: repeat x' m) (S i)) with (token (repeat x' m) i).
    now rewrite token_repeat by lia.
  Qed.

  (** ** GPT *)

  Definition prefix_sum (D : nat -> R) (i : nat) : R := sum (map D (seq 0 (S i))).
  Definition prefix_max (D : nat -> R) (i : nat) : R := fold_right Rmax 0 (map D (seq 0 (S i))).

  (** D'(i) = r D(i) + sum ||V|| min(max_(j<=i) D(j), e^(delta/theta)/i sum_(j<=i) D(j)), and D'(i) = G D(i); the index
      starts at 0, the position i is the index + 1. *)
  Definition gpt_step (l : layer) (g : layer_gain) (D : nat -> R) (i : nat) : R :=
    match l, g with
    | Attention residual _, AttentionGain gains =>
        keep residual * D i
        + sum (map (fun g => value_gain g * Rmin (prefix_max D i) (dispersion g * prefix_sum D i / INR (S i))) gains)
    | _, FeedforwardGain G => G * D i
    | _, _ => 0
    end.

  Fixpoint gpt_distance (layers : list layer) (gains : list layer_gain) (D : nat -> R) : nat -> R :=
    match layers, gains with
    | l :: rest, g :: gains => gpt_distance rest gains (gpt_step l g D)
    | _, _ => D
    end.

  (** The largest is above each of them. *)
  Lemma prefix_max_ge D i j : (j <= i)%nat -> D j <= prefix_max D i.
  Proof.
    intros less. unfold prefix_max. assert (inj : In j (seq 0 (S i))) by (apply in_seq; lia).
    induction (seq 0 (S i)) as [|k ks IH]; [easy|]. cbn. destruct inj as [-> | inj].
    - apply Rmax_l.
    - eapply Rle_trans; [now apply IH | apply Rmax_r].
  Qed.

  Lemma prefix_max_nonneg D i : 0 <= prefix_max D i.
  Proof.
    unfold prefix_max. induction (seq 0 (S i)) as [|k ks IH]; cbn; [lra|]. eapply Rle_trans; [exact IH | apply Rmax_r].
  Qed.

  Lemma firstn_tokens tokens i :
    (i < length tokens)%nat -> firstn (S i) tokens = map (token tokens) (seq 0 (S i)).
  Proof.
    revert i. induction tokens as [|x xs IH]; intros i less; [cbn in less; lia|].
    cbn [firstn seq map]. f_equal. destruct i as [|i]; [easy|]. rewrite IH by (cbn in less; lia).
    rewrite <- (seq_shift (S i)), map_map. now apply map_ext.
  Qed.

  (** A convex combination of values, each of which differs by ||V|| D(j). *)
  Lemma gpt_head_difference P d h g tokens y D i :
    head_bounded P d h g -> P y -> (forall z, In z tokens -> P z) -> (i < length tokens)%nat ->
    (forall j, (j < length tokens)%nat -> within d (D j) (token tokens j) y) ->
    within d (value_gain g * Rmin (prefix_max D i) (dispersion g * prefix_sum D i / INR (S i)))
      (attend theta h (token tokens i) (visible gpt_mask i tokens)) (value h y).
  Proof.
    intros bounded iny all less close. destruct (bounded) as [_ [[nonneg steep] [nonneg' _]]].
    assert (0 < INR (S i)) by (apply lt_0_INR; lia).
    assert (sums : 0 <= prefix_sum D i).
    { apply sum_map_nonneg. intros j inj. apply in_seq in inj. apply (close j). lia. }
    split.
    { apply Rmult_le_pos; [easy|]. apply Rmin_glb; [apply prefix_max_nonneg|].
      apply Rmult_le_pos; [now apply Rmult_le_pos | now apply Rlt_le, Rinv_0_lt_compat]. }
    intros c lessc. rewrite attend_difference by now apply visible_not_nil.
    set (alpha := item_coefficient theta h (token tokens i) (visible gpt_mask i tokens)).
    cbn [visible]. rewrite firstn_tokens by easy. rewrite map_map.
    assert (member : forall j, In j (seq 0 (S i)) -> In (token tokens j) (visible gpt_mask i tokens)).
    { intros j inj. cbn [visible]. rewrite firstn_tokens by easy. now apply in_map. }
    assert (alpha_bound : forall j, In j (seq 0 (S i)) -> 0 <= alpha (token tokens j) <= dispersion g / INR (S i)).
    { intros j inj. replace (INR (S i)) with (size (visible gpt_mask i tokens))
        by (unfold size; now rewrite visible_length_gpt).
      apply (coefficient_dispersed P d h g); [easy | now apply all, token_in | | now apply member].
      intros z inz. apply all. now apply in_visible in inz. }
    assert (total : sum (map (fun j => alpha (token tokens j)) (seq 0 (S i))) = 1).
    { rewrite <- (sum_item_coefficients theta h (token tokens i) (visible gpt_mask i tokens))
        by now apply visible_not_nil.
      fold alpha. cbn [visible]. rewrite firstn_tokens by easy. now rewrite map_map. }
    apply Rle_trans with (sum (map (fun j => alpha (token tokens j) * (value_gain g * D j)) (seq 0 (S i)))).
    { eapply Rle_trans; [apply sum_map_abs|]. apply sum_map_le. intros j inj.
      rewrite Rabs_mult, Rabs_right by (apply Rle_ge; now apply alpha_bound).
      apply Rmult_le_compat_l; [now apply alpha_bound|]. apply in_seq in inj.
      apply (steep (token tokens j) y (D j)); [apply all, token_in; lia | easy | apply close; lia | easy]. }
    apply Rle_trans with (value_gain g * sum (map (fun j => alpha (token tokens j) * D j) (seq 0 (S i)))).
    { rewrite <- sum_map_mult_l. apply Req_le, sum_map_ext. intros. ring. }
    apply Rmult_le_compat_l; [easy|]. apply Rmin_glb.
    - rewrite <- (Rmult_1_l (prefix_max D i)), <- total, <- sum_map_mult_r. apply sum_map_le. intros j inj.
      apply Rmult_le_compat_l; [now apply alpha_bound|]. apply prefix_max_ge. apply in_seq in inj. lia.
    - unfold prefix_sum. replace (dispersion g * sum (map D (seq 0 (S i))) / INR (S i))
        with (dispersion g / INR (S i) * sum (map D (seq 0 (S i)))) by (field; lra).
      rewrite <- sum_map_mult_l. apply sum_map_le. intros j inj.
      apply Rmult_le_compat_r; [apply in_seq in inj; apply (close j); lia | now apply alpha_bound].
  Qed.

  (** The differences of the heads add up. *)
  Lemma gpt_heads_difference P d heads gains tokens y D i :
    Forall2 (head_bounded P d) heads gains -> P y -> (forall z, In z tokens -> P z) -> (i < length tokens)%nat ->
    (forall j, (j < length tokens)%nat -> within d (D j) (token tokens j) y) ->
    within d
      (sum (map (fun g => value_gain g * Rmin (prefix_max D i) (dispersion g * prefix_sum D i / INR (S i))) gains))
      (fun c => sum (map (fun h => attend theta h (token tokens i) (visible gpt_mask i tokens) c) heads))
      (fun c => sum (map (fun h => attend theta h y [y] c) heads)).
  Proof.
    intros bounded iny all less close. induction bounded as [|h g heads gains one rest IH].
    - unfold sum. cbn. split; [lra|]. intros. rewrite Rminus_diag_eq, Rabs_R0 by easy. lra.
    - pose proof (gpt_head_difference P d h g tokens y D i one iny all less close) as first.
      pose proof (within_add _ _ _ _ _ _ _ first IH) as both.
      replace (fun c => sum (map (fun h => attend theta h y [y] c) (h :: heads)))
        with (add (value h y) (fun c => sum (map (fun h => attend theta h y [y] c) heads))).
      + exact both.
      + apply functional_extensionality. intros c. unfold add. cbn [map]. unfold sum at 2. cbn [fold_right].
        rewrite (attend_equal_items h y [y] y); [easy | easy |]. now intros z [<- | []].
  Qed.

  (** Layer by layer, with one recurrence step for each. *)
  Lemma gpt_from layers gains (P : vector -> Prop) d tokens y D :
    bounded_by gpt_mask P d layers gains -> P y -> (forall z, In z tokens -> P z) ->
    (forall i, (i < length tokens)%nat -> within d (D i) (token tokens i) y) ->
    forall i, (i < length tokens)%nat ->
    within (output_width d layers) (gpt_distance layers gains D i) (token (forward theta gpt_mask layers tokens) i)
      (alone layers y).
  Proof.
    revert gains P d tokens y D. induction layers as [|l rest IH];
      intros [|g gains] P d tokens y D bounded iny all close;
      try easy.
    cbn [bounded_by forward output_width gpt_distance alone] in *. destruct bounded as [here [P' [into there]]].
    rewrite <- (length_apply_layer theta gpt_mask l tokens). apply (IH gains P'); try easy.
    - now apply (alone_layer_inside gpt_mask P P').
    - now apply into.
    - intros i less. rewrite length_apply_layer in less.
      destruct l as [residual heads | width f], g as [head_gains | G]; try easy;
        cbn [layer_bounded gpt_step width_behind alone_layer] in *.
      + rewrite token_apply_attention by easy.
        pose proof (gpt_heads_difference P d heads head_gains tokens y D i here iny all less close) as difference.
        assert (kept : within d (keep residual * D i) (fun c => if residual then token tokens i c else 0)
                                (fun c => if residual then y c else 0)).
        { destruct residual; unfold keep; [rewrite Rmult_1_l; now apply close|]. rewrite Rmult_0_l. apply within_refl. }
        exact (within_add _ _ _ _ _ _ _ kept difference).
      + rewrite token_apply_feedforward by easy. apply here; [now apply all, token_in | easy | now apply close].
  Qed.

  (** D_0 = (|a - b|, 0, 0, ...). *)
  Definition first_token_only (r : R) (i : nat) : R := match i with O => r | S _ => 0 end.

  (** The recurrence from D_0, since all tokens but the first are equal to b. *)
  Theorem gpt layers gains (P : vector -> Prop) d a b m r :
    bounded_by gpt_mask P d layers gains -> P a -> P b -> within d r a b ->
    forall i, (i <= m)%nat ->
    within (output_width d layers) (gpt_distance layers gains (first_token_only r) i)
      (token (forward theta gpt_mask layers (a :: repeat b m)) i) (alone layers b).
  Proof.
    intros bounded ina inb close i less.
    assert (long : length (a :: repeat b m) = S m) by (cbn; now rewrite repeat_length).
    apply (gpt_from layers gains P d); [easy | easy | | | lia].
    - intros z [<- | inz]; [easy|]. apply repeat_spec in inz. now rewrite inz.
    - intros [|j] lessj; [exact close|]. rewrite long in lessj.
      change (token (a :: repeat b m) (S j)) with (token (repeat b m) j). rewrite token_repeat by lia.
      apply within_refl.
  Qed.

  (** *** The closed form *)

  (** c' = c (r + sum ||V|| e^(delta/theta)), and c' = G c. *)
  Definition gpt_constant_step (l : layer) (g : layer_gain) (c : R) : R :=
    match l, g with
    | Attention residual _, AttentionGain gains =>
        c * (keep residual + sum (map (fun g => value_gain g * dispersion g) gains))
    | _, FeedforwardGain G => G * c
    | _, _ => 0
    end.

  Fixpoint gpt_constant (layers : list layer) (gains : list layer_gain) (c : R) : R :=
    match layers, gains with
    | l :: rest, g :: gains => gpt_constant rest gains (gpt_constant_step l g c)
    | _, _ => c
    end.

  Fixpoint attention_layers (layers : list layer) : nat :=
    match layers with
    | [] => 0
    | Attention _ _ :: rest => S (attention_layers rest)
    | Feedforward _ _ :: rest => attention_layers rest
    end.

  (** c (1 + ln i)^l / i at the position i, a real number >= 1. *)
  Definition closed_form (c : R) (l : nat) (position : R) : R := c * (1 + ln position) ^ l / position.

  Lemma ln_nonneg x : 1 <= x -> 0 <= ln x.
  Proof. intros. rewrite <- ln_1. apply ln_le; lra. Qed.

  Lemma position_ge_1 i : 1 <= INR (S i).
  Proof. rewrite S_INR. pose proof (pos_INR i). lra. Qed.

  (** 1/(k+1) <= ln((k+1)/k), since ln x <= x - 1 at x = k/(k+1). *)
  Lemma harmonic_sum i : sum (map (fun j => / INR (S j)) (seq 0 (S i))) <= 1 + ln (INR (S i)).
  Proof.
    induction i as [|i IH].
    - unfold sum. cbn. rewrite ln_1. lra.
    - rewrite seq_S, map_app, sum_app. unfold sum at 2. cbn [map fold_right Nat.add].
      pose proof (position_ge_1 i). set (k := INR (S i)) in *. rewrite !(S_INR (S i)). fold k.
      assert (step : ln k <= ln (k + 1) - / (k + 1)).
      { replace (ln k) with (ln (k / (k + 1)) + ln (k + 1)).
        - enough (ln (k / (k + 1)) <= - / (k + 1)) by lra.
          replace (- / (k + 1)) with (k / (k + 1) - 1) by (field; lra).
          pose proof (exp_ineq1_le (ln (k / (k + 1)))) as above. rewrite exp_ln in above; [lra|].
          apply Rdiv_lt_0_compat; lra.
        - rewrite <- ln_mult; [f_equal; field; lra | apply Rdiv_lt_0_compat; lra | lra]. }
      lra.
  Qed.

  (** The powers of 1 + ln j are at most that of 1 + ln i, and the harmonic sum is at most 1 + ln i. *)
  Lemma prefix_sum_closed_form D c l i :
    0 <= c -> (forall j, D j <= closed_form c l (INR (S j))) ->
    prefix_sum D i <= c * (1 + ln (INR (S i))) ^ S l.
  Proof.
    intros nonneg below. pose proof (position_ge_1 i). pose proof (ln_nonneg _ H).
    apply Rle_trans with (c * (1 + ln (INR (S i))) ^ l * sum (map (fun j => / INR (S j)) (seq 0 (S i)))).
    - unfold prefix_sum. rewrite <- sum_map_mult_l. apply sum_map_le. intros j inj. apply in_seq in inj.
      eapply Rle_trans; [apply below|]. unfold closed_form, Rdiv. pose proof (position_ge_1 j).
      apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|]. apply Rmult_le_compat_l; [easy|].
      pose proof (ln_nonneg _ H1). apply pow_incr. split; [lra|]. apply Rplus_le_compat_l, ln_le; [lra|].
      apply le_INR. lia.
    - replace (c * (1 + ln (INR (S i))) ^ S l) with (c * (1 + ln (INR (S i))) ^ l * (1 + ln (INR (S i))))
        by (cbn; ring).
      apply Rmult_le_compat_l; [|apply harmonic_sum]. apply Rmult_le_pos; [easy | apply pow_le; lra].
  Qed.

  (** Layer by layer: attention raises the exponent by one, a feedforward map multiplies c by G. *)
  Lemma gpt_closed_form_from layers gains (P : vector -> Prop) d D c l :
    bounded_by gpt_mask P d layers gains -> 0 <= c ->
    (forall j, D j <= closed_form c l (INR (S j))) ->
    0 <= gpt_constant layers gains c /\
    forall i, gpt_distance layers gains D i
              <= closed_form (gpt_constant layers gains c) (attention_layers layers + l) (INR (S i)).
  Proof.
    revert gains P d D c l. induction layers as [|layer rest IH]; intros [|g gains] P d D c l bounded nonneg below;
      try easy.
    cbn [bounded_by gpt_distance gpt_constant] in *. destruct bounded as [here [P' [_ there]]].
    destruct layer as [residual heads | width f], g as [head_gains | G]; try easy;
      cbn [layer_bounded gpt_step gpt_constant_step attention_layers] in *.
    - replace (S (attention_layers rest) + l)%nat with (attention_layers rest + S l)%nat by lia.
      assert (positive : forall g, In g head_gains -> 0 <= value_gain g /\ 0 <= dispersion g).
      { intros g ing. clear - here ing. induction here as [|h g' heads gains one all IH]; [easy|].
        destruct ing as [<- | ing]; [destruct one as [_ [[? _] [? _]]]; now split | now apply IH]. }
      apply (IH gains P' d); [easy | |].
      + apply Rmult_le_pos; [easy|]. apply Rplus_le_le_0_compat; [destruct residual; unfold keep; lra|].
        apply sum_map_nonneg. intros g ing. destruct (positive g ing). now apply Rmult_le_pos.
      + intros i. unfold closed_form. pose proof (position_ge_1 i) as position. pose proof (ln_nonneg _ position).
        pose proof (prefix_sum_closed_form D c l i nonneg below) as sums.
        set (n := INR (S i)) in *. set (t := 1 + ln n) in *.
        replace (c * (keep residual + sum (map (fun g => value_gain g * dispersion g) head_gains)) * t ^ S l / n)
          with (keep residual * (c * t ^ S l / n)
                + sum (map (fun g => value_gain g * (dispersion g * (c * t ^ S l) / n)) head_gains)).
        2:{ rewrite (sum_map_ext (fun g => value_gain g * (dispersion g * (c * t ^ S l) / n))
                       (fun g => (value_gain g * dispersion g) * (c * t ^ S l / n))) by (intros; field; lra).
            rewrite sum_map_mult_r. field. lra. }
        apply Rplus_le_compat.
        * apply Rmult_le_compat_l; [destruct residual; unfold keep; lra|].
          eapply Rle_trans; [apply below|]. unfold closed_form. fold n t.
          unfold Rdiv. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|].
          apply Rmult_le_compat_l; [easy|]. cbn [pow]. rewrite <- (Rmult_1_l (t ^ l)) at 1.
          apply Rmult_le_compat_r; [apply pow_le|]; unfold t; lra.
        * apply sum_map_le. intros g ing. destruct (positive g ing). apply Rmult_le_compat_l; [easy|].
          eapply Rle_trans; [apply Rmin_r|]. unfold Rdiv.
          apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|].
          now apply Rmult_le_compat_l.
    - destruct here as [nonneg' _]. apply (IH gains P' width); [easy | now apply Rmult_le_pos |].
      intros j. apply Rle_trans with (G * closed_form c l (INR (S j))); [now apply Rmult_le_compat_l|].
      apply Req_le. unfold closed_form, Rdiv. ring.
  Qed.

  (** At position i + 1. *)
  Theorem gpt_closed_form layers gains (P : vector -> Prop) d r i :
    bounded_by gpt_mask P d layers gains -> 0 <= r ->
    gpt_distance layers gains (first_token_only r) i
    <= closed_form (gpt_constant layers gains r) (attention_layers layers) (INR (S i)).
  Proof.
    intros bounded nonneg. rewrite <- (Nat.add_0_r (attention_layers layers)).
    apply (gpt_closed_form_from layers gains P d); [easy | easy |].
    intros j. unfold closed_form. pose proof (position_ge_1 j). cbn [pow]. rewrite Rmult_1_r. destruct j as [|j].
    - cbn [INR first_token_only]. lra.
    - cbn [first_token_only]. apply Rmult_le_pos; [easy | apply Rlt_le, Rinv_0_lt_compat; lra].
  Qed.

  (** ** Forgetting *)

  (** (1 + ln t)^l / t falls once ln t >= l - 1: its derivative is (1 + ln t)^(l-1) (l - 1 - ln t) / t^2. *)
  Lemma closed_form_falls c l s t :
    0 <= c -> 1 <= s -> INR l <= 1 + ln s -> s <= t -> closed_form c l t <= closed_form c l s.
  Proof.
    intros nonneg above far less. unfold closed_form.
    set (f := fun t => c * (1 + ln t) ^ l / t).
    set (slope := fun t => c * (INR l * (1 + ln t) ^ pred l - (1 + ln t) ^ l) / (t * t)).
    assert (derivative : forall u, 0 < u -> is_derive f u (slope u)).
    { intros u pos. unfold f, slope. auto_derive; [repeat split; lra|]. field. lra. }
    destruct (MVT_gen f s t slope) as [u [between difference]].
    - intros u between. rewrite Rmin_left in between by easy. apply derivative. lra.
    - intros u between. rewrite Rmin_left in between by easy. apply derivable_continuous_pt.
      exists (slope u). apply is_derive_Reals, derivative. lra.
    - rewrite Rmin_left, Rmax_right in between by easy.
      assert (ln s <= ln u) by (apply ln_le; lra). pose proof (ln_nonneg s above).
      assert (slope u <= 0).
      { unfold slope. assert (0 < / (u * u)) by (apply Rinv_0_lt_compat; nra).
        unfold Rdiv. enough (0 <= c * ((1 + ln u) ^ l - INR l * (1 + ln u) ^ pred l)) as enough.
        { apply Rmult_le_compat_r with (r := / (u * u)) in enough; lra. }
        apply Rmult_le_pos; [easy|]. destruct l as [|l]; [cbn; lra|]. cbn [pred pow].
        assert (0 <= (1 + ln u) ^ l) by (apply pow_le; lra).
        assert (INR (S l) * (1 + ln u) ^ l <= (1 + ln u) * (1 + ln u) ^ l) by (apply Rmult_le_compat_r; lra). lra. }
      unfold f in difference. nra.
  Qed.

  (** BERT: from n > C / tolerance on. GPT: from any length s on at which the bound, already falling, is below the
      tolerance. In both cases for every longer input and for each of its later tokens. *)
  Theorem forgets layers gains (P : vector -> Prop) d a b r tolerance :
    P a -> P b -> within d r a b -> 0 < tolerance ->
    (bounded_by bert_mask P d layers gains ->
     forall m, bert_constant layers gains 0 / tolerance < INR (S m) -> (1 <= m)%nat ->
     forall i c, (1 <= i <= m)%nat -> (c < output_width d layers)%nat ->
     Rabs (token (forward theta bert_mask layers (a :: repeat b m)) i c - alone layers b c) < tolerance) /\
    (bounded_by gpt_mask P d layers gains ->
     forall s, 1 <= s -> INR (attention_layers layers) <= 1 + ln s ->
     closed_form (gpt_constant layers gains r) (attention_layers layers) s < tolerance ->
     forall m i c, s <= INR (S i) -> (i <= m)%nat -> (c < output_width d layers)%nat ->
     Rabs (token (forward theta gpt_mask layers (a :: repeat b m)) i c - alone layers b c) < tolerance).
  Proof.
    intros ina inb close pos. split.
    - intros bounded m long some i c place less.
      destruct (bert layers gains P d a b m bounded ina inb some i place) as [_ near].
      eapply Rle_lt_trans; [now apply near|]. assert (0 < INR (S m)) by (apply lt_0_INR; lia).
      apply Rmult_lt_reg_r with (INR (S m)); [easy|].
      apply (Rmult_lt_compat_r tolerance) in long; [|easy].
      replace (bert_constant layers gains 0 / tolerance * tolerance) with (bert_constant layers gains 0) in long
        by (field; lra).
      replace (bert_constant layers gains 0 / INR (S m) * INR (S m)) with (bert_constant layers gains 0)
        by (field; lra). lra.
    - intros bounded s above far small m i c long place less.
      destruct (gpt layers gains P d a b m r bounded ina inb close i place) as [_ near].
      eapply Rle_lt_trans; [now apply near|].
      destruct close as [nonneg _].
      eapply Rle_lt_trans; [now apply (gpt_closed_form layers gains P d)|].
      eapply Rle_lt_trans; [|exact small]. apply closed_form_falls; try easy.
      apply (gpt_closed_form_from layers gains P d (fun _ => 0) r 0); [easy | easy |].
      intros j. unfold closed_form. pose proof (position_ge_1 j). cbn [pow]. rewrite Rmult_1_r.
      apply Rmult_le_pos; [easy | apply Rlt_le, Rinv_0_lt_compat; lra].
  Qed.

  Lemma exp_power x n : exp x ^ n = exp (INR n * x).
  Proof.
    induction n as [|n IH]; [now rewrite Rmult_0_l, exp_0|].
    rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus, <- IH. cbn [pow]. ring.
  Qed.

  (** (1 + x)^l <= e ((l+1)^(l+1) / (1 + x)) e^x, since e^(y/(l+1)) >= y/(l+1): the bound does tend to 0. *)
  Theorem forgetting_length_exists c l tolerance :
    0 <= c -> 0 < tolerance -> exists s, 1 <= s /\ INR l <= 1 + ln s /\ closed_form c l s < tolerance.
  Proof.
    intros nonneg pos. set (k := INR (S l)). assert (1 <= k) by apply position_ge_1.
    set (K := c * exp 1 * k ^ S l). assert (0 <= K).
    { unfold K. apply Rmult_le_pos; [apply Rmult_le_pos; [easy | apply Rlt_le, exp_pos] | apply pow_le; lra]. }
    assert (0 <= K / tolerance) by (apply Rmult_le_pos; [easy | now apply Rlt_le, Rinv_0_lt_compat]).
    set (y := k + K / tolerance + 1). exists (exp (y - 1)).
    assert (INR l <= k) by (unfold k; rewrite S_INR; lra).
    split; [apply exp_nonneg_ge_1; unfold y; lra|]. unfold closed_form. rewrite ln_exp.
    replace (1 + (y - 1)) with y by ring. split; [unfold y; lra|].
    assert (power : (y / k) ^ S l <= exp y).
    { replace (exp y) with (exp (y / k) ^ S l).
      - apply pow_incr. split; [apply Rmult_le_pos; [unfold y; lra | apply Rlt_le, Rinv_0_lt_compat; lra]|].
        pose proof (exp_ineq1_le (y / k)). lra.
      - rewrite exp_power. fold k. f_equal. field. lra. }
    assert (0 < y) by (unfold y; lra).
    assert (tall : y * y ^ l <= k ^ S l * exp y).
    { change (y * y ^ l) with (y ^ S l). replace (y ^ S l) with (k ^ S l * (y / k) ^ S l).
      - apply Rmult_le_compat_l; [apply pow_le; lra | easy].
      - rewrite <- Rpow_mult_distr. f_equal. field. lra. }
    replace (exp (y - 1)) with (exp y / exp 1).
    2:{ unfold Rminus. rewrite exp_plus, exp_Ropp. reflexivity. }
    pose proof (exp_pos y). pose proof (exp_pos 1).
    apply Rle_lt_trans with (K / y).
    - apply Rmult_le_reg_r with (y * exp y); [now apply Rmult_lt_0_compat|].
      replace (c * y ^ l / (exp y / exp 1) * (y * exp y)) with (c * exp 1 * (y * y ^ l)) by (field; lra).
      replace (K / y * (y * exp y)) with (c * exp 1 * (k ^ S l * exp y)) by (unfold K; field; lra).
      apply Rmult_le_compat_l; [apply Rmult_le_pos; lra | easy].
    - apply Rmult_lt_reg_r with y; [easy|]. replace (K / y * y) with K by (field; lra).
      replace K with (K / tolerance * tolerance) by (field; lra). rewrite (Rmult_comm tolerance).
      apply Rmult_lt_compat_r; [easy|]. unfold y. lra.
  Qed.

  (** *** Bounds exist wherever the maps are Lipschitz on boxes *)

  (** Boxes bound the spread and the values of a head. *)
  Lemma head_gain_exists d h B :
    well_formed_head d h -> lipschitz_on_boxes d d (value h) -> exists g, head_bounded (in_box d B) d h g.
  Proof.
    intros wf steep. destruct (head_spread_bounded d h B wf) as [delta [_ spread]]. destruct (steep B) as [V gain].
    destruct wf as [_ [_ contv]]. destruct (bounded_on_box d d (value h) contv B) as [M below].
    exists {| dispersion := exp (delta / theta); value_gain := V; diameter := 2 * Rabs M |}.
    split; [|split; [easy | split]]; cbn.
    - exists delta. split; [lra | easy].
    - apply Rlt_le, exp_pos.
    - intros x y inx iny. split; [pose proof (Rabs_pos M); lra|]. intros c less.
      pose proof (below x inx c less) as one. pose proof (below y iny c less) as two. pose proof (Rle_abs M).
      apply Rabs_le_between in one, two. apply Rabs_le. lra.
  Qed.

  (** Layer by layer, each in the box that the one before it cannot leave. *)
  Theorem gains_exist mask d layers B :
    well_formed d layers -> lipschitz_layers d layers -> exists gains, bounded_by mask (in_box d B) d layers gains.
  Proof.
    revert d B. induction layers as [|l rest IH]; intros d B wf steep; [now exists []|].
    destruct wf as [wf wf'], steep as [steep steep'].
    destruct (layer_boxed theta mask d l B wf) as [B' next]. destruct (IH _ B' wf' steep') as [gains bounded].
    assert (here : exists g, layer_bounded (in_box d B) d l g).
    { destruct l as [residual heads | width f].
      - assert (all : exists hg, Forall2 (head_bounded (in_box d B) d) heads hg).
        { cbn in wf, steep. clear next bounded wf' steep'. induction heads as [|h hs IHh]; [now exists []|].
          destruct IHh as [hg some]; [intros; apply wf; now right | intros; apply steep; now right|].
          destruct (head_gain_exists d h B) as [g one]; [apply wf; now left | apply steep; now left|].
          exists (g :: hg). now constructor. }
        destruct all as [hg all]. now exists (AttentionGain hg).
      - destruct (steep B) as [G gain]. now exists (FeedforwardGain G). }
    destruct here as [g here]. exists (g :: gains). split; [easy|]. now exists (in_box (width_behind d l) B').
  Qed.

  (** In particular for every network of theory/small_transformer.hpp. *)
  Corollary concrete_gains_exist mask d layers B :
    (forall l, In l layers -> concrete_layer d l) -> exists gains, bounded_by mask (in_box d B) d layers gains.
  Proof. intros concrete. apply gains_exist; [now apply concrete_well_formed | now apply concrete_lipschitz]. Qed.

  (** *** In the paper's words *)

  Lemma two_tokens_boxed d (a b : vector) : exists B, in_box d B a /\ in_box d B b.
  Proof.
    destruct (finite_set_boxed d [a; b]) as [B inside]. exists B. split; apply inside; [now left | right; now left].
  Qed.

  Lemma within_some_distance d (x y : vector) : exists r, within d r x y.
  Proof.
    destruct (bound_over_indices (fun c => Rabs (x c - y c)) d) as [r [nonneg below]]. now exists r.
  Qed.

  (** Every token b of a long enough input ends as if a were not there. *)
  Theorem bert_forgets_eventually d layers a b tolerance :
    well_formed d layers -> lipschitz_layers d layers -> 0 < tolerance ->
    exists n0 : nat, forall m, (m > n0)%nat -> forall i c, (1 <= i <= m)%nat -> (c < output_width d layers)%nat ->
      Rabs (token (forward theta bert_mask layers (a :: repeat b m)) i c - alone layers b c) < tolerance.
  Proof.
    intros wf steep pos. destruct (two_tokens_boxed d a b) as [B [ina inb]], (within_some_distance d a b) as [r close].
    destruct (gains_exist bert_mask d layers B wf steep) as [gains bounded].
    destruct (above_natural (bert_constant layers gains 0 / tolerance)) as [n0 above]. exists n0.
    intros m long i c place less.
    apply (forgets layers gains (in_box d B) d a b r tolerance ina inb close pos); try easy; [|lia].
    eapply Rlt_trans; [exact above|]. apply lt_INR. lia.
  Qed.

  (** So does every late token under a causal mask, the last one among them. *)
  Theorem gpt_forgets_eventually d layers a b tolerance :
    well_formed d layers -> lipschitz_layers d layers -> 0 < tolerance ->
    exists n0 : nat, forall m i c, (n0 <= i <= m)%nat -> (c < output_width d layers)%nat ->
      Rabs (token (forward theta gpt_mask layers (a :: repeat b m)) i c - alone layers b c) < tolerance.
  Proof.
    intros wf steep pos. destruct (two_tokens_boxed d a b) as [B [ina inb]], (within_some_distance d a b) as [r close].
    destruct (gains_exist gpt_mask d layers B wf steep) as [gains bounded].
    assert (nonneg : 0 <= gpt_constant layers gains r).
    { apply (gpt_closed_form_from layers gains (in_box d B) d (fun _ => 0) r 0); [easy | apply close |].
      intros j. unfold closed_form. pose proof (position_ge_1 j). cbn [pow]. rewrite Rmult_1_r.
      apply Rmult_le_pos; [apply close | apply Rlt_le, Rinv_0_lt_compat; lra]. }
    destruct (forgetting_length_exists _ (attention_layers layers) tolerance nonneg pos) as [s [above [far small]]].
    destruct (above_natural s) as [n0 beyond]. exists n0. intros m i c [late place] less.
    apply (forgets layers gains (in_box d B) d a b r tolerance ina inb close pos) with (s := s); try easy.
    apply Rlt_le, (Rlt_trans _ _ _ beyond), lt_INR. lia.
  Qed.

  (** The bounds of a stack hold for the stack of its first layers: the theorems tell of the input of every layer. *)
  Lemma bounded_by_prefix mask P d before after gains :
    bounded_by mask P d (before ++ after) gains -> bounded_by mask P d before (firstn (length before) gains).
  Proof.
    revert P d gains. induction before as [|l before IH]; intros P d gains bounded; [easy|].
    destruct gains as [|g gains]; [easy|]. destruct bounded as [here [P' [into there]]].
    split; [easy|]. exists P'. split; [easy | now apply IH].
  Qed.
End Network.
