(** * Theorem 2.2: over a finite vocabulary every attention coefficient of every head disperses.

    Main results (any stack of feedforward and multi-head softmax attention layers, BERT or GPT mask, with or without
    residual connections, continuous maps; theta > 0; delta does not depend on the length)
    - [boxed]            every activation stays in a box that no length widens
    - [spread_bounded]   hence one delta bounds the logit spread of every head at every length
    - [disperses]        an item that sees more than n0 = e^(delta/theta) / eps items has all coefficients below eps
    - [sharp_length]     1 + e^(delta/theta) (1 - eps)/eps <= e^(delta/theta) / eps; the shorter one also suffices
                         ([disperses_sharp])
    - [bert_disperses], [gpt_disperses]   with the paper's "for all n > n0", for the two masks
    - [paper_form]       with q = phi(x_1 ... x_n) and keys kappa(x_1 ... x_n) from two different stacks

    Source: paper, Theorem 2.2. *)

From Coq Require Import Reals List Lra Lia.
From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax vectors lemma_2_1 small_transformer coordinate_box.
Import ListNotations.
Local Open Scope R_scope.

Definition over (vocabulary tokens : list vector) : Prop := forall x, In x tokens -> In x vocabulary.

(** h is a head of the layer behind [before]. *)
Definition head_behind (layers before : list layer) (h : head) : Prop :=
  exists residual heads after, layers = before ++ Attention residual heads :: after /\ In h heads.

Section Network.
  Variables (theta : R) (mask : attention_mask).

  (** ** Boxes *)

  (** Layer by layer, from any box of inputs. *)
  Lemma boxed_from d layers B :
    well_formed d layers ->
    exists boxes : nat -> box, forall tokens, (forall x, In x tokens -> in_box d B x) ->
      forall l x, In x (forward theta mask (firstn l layers) tokens) ->
                  in_box (output_width d (firstn l layers)) (boxes l) x.
  Proof.
    revert d B. induction layers as [|layer rest IH]; intros d B wf.
    - exists (fun _ => B). intros tokens inputs l x. rewrite firstn_nil. apply inputs.
    - destruct wf as [wf wf']. destruct (layer_boxed theta mask d layer B wf) as [B' next].
      destruct (IH _ B' wf') as [boxes inside].
      exists (fun l => match l with O => B | S l => boxes l end).
      intros tokens inputs [|l] x; [apply inputs|]. cbn. apply inside. now apply next.
  Qed.

  Theorem boxed d layers vocabulary :
    well_formed d layers ->
    exists boxes : nat -> box, forall tokens, over vocabulary tokens ->
      forall l x, In x (forward theta mask (firstn l layers) tokens) ->
                  in_box (output_width d (firstn l layers)) (boxes l) x.
  Proof.
    intros wf. destruct (finite_set_boxed d vocabulary) as [B all].
    destruct (boxed_from d layers B wf) as [boxes inside]. exists boxes.
    intros tokens known. apply inside. intros x inx. now apply all, known.
  Qed.

  (** ** Spreads *)

  (** Queries and keys are bounded, so their scalar products are. *)
  Lemma logits_bounded d w f g B :
    continuous d w f -> continuous d w g ->
    exists r, 0 <= r /\ forall x y, in_box d B x -> in_box d B y -> Rabs (dot w (f x) (g y)) <= r.
  Proof.
    intros contf contg. destruct (bounded_on_box d w f contf B) as [M below].
    destruct (bounded_on_box d w g contg B) as [M' below'].
    exists (INR w * (Rabs M * Rabs M')). split.
    { apply Rmult_le_pos; [apply pos_INR | apply Rmult_le_pos; apply Rabs_pos]. }
    intros x y inx iny. unfold dot. eapply Rle_trans; [apply sum_map_abs|].
    replace (INR w) with (size (seq 0 w)) by (unfold size; now rewrite seq_length).
    rewrite <- sum_map_const. apply sum_map_le. intros c inc. apply in_seq in inc. rewrite Rabs_mult.
    apply Rmult_le_compat; try apply Rabs_pos; (eapply Rle_trans; [|apply Rle_abs]).
    - apply below; [easy | lia].
    - apply below'; [easy | lia].
  Qed.

  (** Two logits of size at most r differ by at most 2 r. *)
  Lemma head_spread_bounded d h B :
    well_formed_head d h ->
    exists delta, 0 <= delta /\ forall x items, in_box d B x -> (forall y, In y items -> in_box d B y) ->
                                spread_at_most delta (logits h x items).
  Proof.
    intros [contq [contk _]]. destruct (logits_bounded d _ _ _ B contq contk) as [r [nonneg below]].
    exists (2 * r). split; [lra|]. intros x items inx all e e' ine ine'.
    apply in_map_iff in ine as [y [<- iny]]. apply in_map_iff in ine' as [y' [<- iny']].
    pose proof (below x y inx (all y iny)) as one. pose proof (below x y' inx (all y' iny')) as two.
    apply Rabs_le_between in one, two. unfold logit. lra.
  Qed.

  (** The largest of finitely many bounds. *)
  Lemma heads_spread_bounded d heads B :
    (forall h, In h heads -> well_formed_head d h) ->
    exists delta, 0 <= delta /\ forall h x items, In h heads -> in_box d B x ->
      (forall y, In y items -> in_box d B y) -> spread_at_most delta (logits h x items).
  Proof.
    induction heads as [|h hs IH]; intros wf; [now exists 0; split; [lra|]|].
    destruct IH as [delta [nonneg bound]]; [intros; apply wf; now right|].
    destruct (head_spread_bounded d h B) as [delta' [nonneg' bound']]; [apply wf; now left|].
    exists (Rmax delta delta'). split; [eapply Rle_trans; [exact nonneg | apply Rmax_l]|].
    intros h' x items [<- | inh] inx all e e' ine ine'.
    - eapply Rle_trans; [apply (bound' x items); assumption | apply Rmax_r].
    - eapply Rle_trans; [apply (bound h' x items); assumption | apply Rmax_l].
  Qed.

  (** One delta for all heads of all layers. *)
  Lemma spread_bounded_from d layers B :
    well_formed d layers ->
    exists delta, 0 <= delta /\
      forall before h tokens i, head_behind layers before h -> (forall x, In x tokens -> in_box d B x) ->
        (i < length tokens)%nat ->
        let inputs := forward theta mask before tokens in
        spread_at_most delta (logits h (token inputs i) (visible mask i inputs)).
  Proof.
    revert d B. induction layers as [|layer rest IH]; intros d B wf.
    { exists 0. split; [lra|]. intros before h tokens i [residual [heads [after [split _]]]]. now destruct before. }
    destruct wf as [wf wf']. destruct (layer_boxed theta mask d layer B wf) as [B' next].
    destruct (IH _ B' wf') as [delta [nonneg bound]].
    assert (first : exists delta', 0 <= delta' /\ forall h tokens i, head_behind (layer :: rest) [] h ->
              (forall x, In x tokens -> in_box d B x) -> (i < length tokens)%nat ->
              spread_at_most delta' (logits h (token tokens i) (visible mask i tokens))).
    { destruct layer as [residual heads | width f].
      - destruct (heads_spread_bounded d heads B wf) as [delta' [nonneg' bound']]. exists delta'. split; [easy|].
        intros h tokens i [residual' [heads' [after [split inh]]]] inputs less. injection split as <- <- <-.
        apply bound'; [easy | now apply inputs, token_in|]. intros y iny. eapply inputs, in_visible, iny.
      - exists 0. split; [lra|]. intros h tokens i [residual' [heads' [after [split _]]]]. discriminate. }
    destruct first as [delta' [nonneg' bound']].
    exists (Rmax delta delta'). split; [eapply Rle_trans; [exact nonneg | apply Rmax_l]|].
    intros before h tokens i place inputs less activations e e' ine ine'. destruct before as [|layer' before].
    - eapply Rle_trans; [apply (bound' h tokens i); assumption | apply Rmax_r].
    - destruct place as [residual [heads [after [split inh]]]]. injection split as <- split.
      eapply Rle_trans; [|apply Rmax_l].
      apply (bound before h (apply_layer theta mask layer tokens) i); try assumption.
      + now exists residual, heads, after.
      + now apply next.
      + now rewrite length_apply_layer.
  Qed.

  Theorem spread_bounded d layers vocabulary :
    well_formed d layers ->
    exists delta, 0 <= delta /\
      forall before h tokens i, head_behind layers before h -> over vocabulary tokens -> (i < length tokens)%nat ->
        let inputs := forward theta mask before tokens in
        spread_at_most delta (logits h (token inputs i) (visible mask i inputs)).
  Proof.
    intros wf. destruct (finite_set_boxed d vocabulary) as [B all].
    destruct (spread_bounded_from d layers B wf) as [delta [nonneg bound]]. exists delta. split; [easy|].
    intros before h tokens i place known. apply bound; [easy|]. intros x inx. now apply all, known.
  Qed.

  (** ** Dispersion *)

  (** n0 = e^(delta/theta) / eps, from eq. (6). *)
  Definition paper_length (delta eps : R) : R := exp (delta / theta) / eps.

  Hypothesis heated : 0 < theta.

  (** They differ by e^(delta/theta) - 1. *)
  Theorem sharp_length delta eps :
    0 <= delta -> 0 < eps -> lemma_2_1.sharp_length delta theta eps <= paper_length delta eps.
  Proof.
    intros nonneg pos. unfold lemma_2_1.sharp_length, paper_length.
    assert (1 <= exp (delta / theta)).
    { apply exp_nonneg_ge_1. apply Rmult_le_pos; [easy|]. now apply Rlt_le, Rinv_0_lt_compat. }
    replace (exp (delta / theta) / eps) with (1 + exp (delta / theta) * (1 - eps) / eps + (exp (delta / theta) - 1))
      by (field; lra). lra.
  Qed.

  (** Lemma 2.1 with the delta of all heads and all lengths. *)
  Theorem disperses_sharp d layers vocabulary :
    well_formed d layers ->
    exists delta, 0 <= delta /\
      forall eps, 0 < eps ->
      forall before h tokens i, head_behind layers before h -> over vocabulary tokens -> (i < length tokens)%nat ->
        let inputs := forward theta mask before tokens in
        lemma_2_1.sharp_length delta theta eps < size (visible mask i inputs) ->
        forall p, In p (coefficients theta h (token inputs i) (visible mask i inputs)) -> p < eps.
  Proof.
    intros wf. destruct (spread_bounded d layers vocabulary wf) as [delta [nonneg bound]].
    exists delta. split; [easy|]. intros eps pos before h tokens i place known less inputs long p inp.
    specialize (bound before h tokens i place known less).
    eapply Rle_lt_trans; [apply (sharp_upper _ delta theta p heated bound inp)|].
    unfold logits at 1. rewrite size_map. apply sharp_upper_below_iff; [|easy|exact long].
    apply size_at_least_one, visible_not_nil. unfold inputs. now rewrite length_forward.
  Qed.

  (** The paper's length is beyond the sharp one. *)
  Theorem disperses d layers vocabulary :
    well_formed d layers ->
    exists delta, 0 <= delta /\
      forall eps, 0 < eps ->
      forall before h tokens i, head_behind layers before h -> over vocabulary tokens -> (i < length tokens)%nat ->
        let inputs := forward theta mask before tokens in
        paper_length delta eps < size (visible mask i inputs) ->
        forall p, In p (coefficients theta h (token inputs i) (visible mask i inputs)) -> p < eps.
  Proof.
    intros wf. destruct (disperses_sharp d layers vocabulary wf) as [delta [nonneg small]].
    exists delta. split; [easy|]. intros eps pos before h tokens i place known less inputs long.
    apply (small eps pos before h tokens i place known less).
    eapply Rle_lt_trans; [now apply sharp_length | exact long].
  Qed.
End Network.

(** ** In the paper's words *)

(** Archimedes. *)
Lemma above_natural r : exists n0 : nat, r < INR n0.
Proof.
  exists (Z.to_nat (up (Rabs r))). destruct (archimed (Rabs r)) as [above _].
  assert (0 <= up (Rabs r))%Z.
  { apply le_IZR, Rlt_le. eapply Rle_lt_trans; [apply Rabs_pos | exact above]. }
  rewrite INR_IZR_INZ, Z2Nat.id by easy. eapply Rle_lt_trans; [apply Rle_abs | exact above].
Qed.

(** For all n > n0, every coefficient of every head of every layer is below eps. *)
Theorem bert_disperses theta d layers vocabulary eps :
  0 < theta -> well_formed d layers -> 0 < eps ->
  exists n0 : nat, forall tokens, over vocabulary tokens -> (length tokens > n0)%nat ->
    forall before h i, head_behind layers before h -> (i < length tokens)%nat ->
    let inputs := forward theta bert_mask before tokens in
    forall p, In p (coefficients theta h (token inputs i) inputs) -> p < eps.
Proof.
  intros heated wf pos. destruct (disperses theta bert_mask heated d layers vocabulary wf) as [delta [nonneg small]].
  destruct (above_natural (paper_length theta delta eps)) as [n0 above]. exists n0.
  intros tokens known long before h i place less. cbn. intros p inp.
  apply (small eps pos before h tokens i place known less); [|exact inp].
  eapply Rlt_trans; [exact above|]. unfold size. cbn [visible]. rewrite length_forward. now apply lt_INR.
Qed.

(** With a causal mask: of every item behind the first n0, hence of the last item once n > n0. *)
Theorem gpt_disperses theta d layers vocabulary eps :
  0 < theta -> well_formed d layers -> 0 < eps ->
  exists n0 : nat, forall tokens, over vocabulary tokens ->
    forall before h i, head_behind layers before h -> (n0 <= i < length tokens)%nat ->
    let inputs := forward theta gpt_mask before tokens in
    forall p, In p (coefficients theta h (token inputs i) (firstn (S i) inputs)) -> p < eps.
Proof.
  intros heated wf pos. destruct (disperses theta gpt_mask heated d layers vocabulary wf) as [delta [nonneg small]].
  destruct (above_natural (paper_length theta delta eps)) as [n0 above]. exists n0.
  intros tokens known before h i place [far less]. cbn [visible]. intros p inp.
  apply (small eps pos before h tokens i place known less); [|exact inp].
  eapply Rlt_trans; [exact above|]. unfold size. rewrite visible_length_gpt by now rewrite length_forward.
  apply lt_INR. lia.
Qed.

(** Queries from one stack, keys from another, as the theorem is stated:
    e_j = phi(x_1 ... x_n)_i . kappa(x_1 ... x_n)_j. *)
Theorem paper_form theta mask d w phi kappa vocabulary eps :
  0 < theta -> well_formed d phi -> well_formed d kappa -> output_width d phi = w -> output_width d kappa = w ->
  0 < eps ->
  exists n0 : nat, forall tokens, over vocabulary tokens -> (length tokens > n0)%nat ->
    forall i, (i < length tokens)%nat ->
    let q := token (forward theta mask phi tokens) i in
    let keys := forward theta mask kappa tokens in
    forall p, In p (softmax (tempered theta (map (dot w q) keys))) -> p < eps.
Proof.
  intros heated wf wf' out out' pos.
  destruct (boxed theta mask d phi vocabulary wf) as [boxes inside].
  destruct (boxed theta mask d kappa vocabulary wf') as [boxes' inside'].
  set (B := boxes (length phi)). set (B' := boxes' (length kappa)).
  destruct (bounded_on_box w w (fun x => x) (continuous_identity w) B) as [M below].
  destruct (bounded_on_box w w (fun x => x) (continuous_identity w) B') as [M' below'].
  set (r := INR w * (Rabs M * Rabs M')).
  destruct (above_natural (paper_length theta (2 * r) eps)) as [n0 above]. exists n0.
  intros tokens known long i less q keys p inp.
  assert (spread : spread_at_most (2 * r) (map (dot w q) keys)).
  { assert (bounded : forall k, In k keys -> Rabs (dot w q k) <= r).
    { intros k ink. unfold r, dot. eapply Rle_trans; [apply sum_map_abs|].
      replace (INR w) with (size (seq 0 w)) by (unfold size; now rewrite seq_length).
      rewrite <- sum_map_const. apply sum_map_le. intros c inc. apply in_seq in inc. rewrite Rabs_mult.
      apply Rmult_le_compat; try apply Rabs_pos; (eapply Rle_trans; [|apply Rle_abs]).
      - apply below; [|lia]. rewrite <- out. rewrite <- (firstn_all phi). apply (inside tokens known).
        rewrite firstn_all. apply token_in. now rewrite length_forward.
      - apply below'; [|lia]. rewrite <- out'. rewrite <- (firstn_all kappa). apply (inside' tokens known).
        now rewrite firstn_all. }
    intros e e' ine ine'. apply in_map_iff in ine as [k [<- ink]]. apply in_map_iff in ine' as [k' [<- ink']].
    pose proof (bounded k ink) as one. pose proof (bounded k' ink') as two. apply Rabs_le_between in one, two. lra. }
  eapply Rle_lt_trans; [apply (upper _ _ _ _ heated spread inp)|].
  rewrite size_map. unfold size, keys. rewrite length_forward. fold (size tokens).
  assert (paper_length theta (2 * r) eps < size tokens).
  { eapply Rlt_trans; [exact above|]. now apply lt_INR. }
  assert (0 < paper_length theta (2 * r) eps) by (apply Rdiv_lt_0_compat; [apply exp_pos | easy]).
  apply Rmult_lt_reg_r with (size tokens); [lra|].
  unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  replace (exp (2 * r / theta)) with (paper_length theta (2 * r) eps * eps) by (unfold paper_length; field; lra).
  rewrite Rmult_comm. now apply Rmult_lt_compat_l.
Qed.
