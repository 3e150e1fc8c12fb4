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

    Without a vocabulary: heads whose q and k are affine maps of what LayerNorm or RMSNorm returns, whatever the layers
    below compute from whatever real inputs
    - [normalised]         one n0 for all inputs, beyond which every coefficient is below eps
    - [normalised_sharp]   it is Lemma 2.1's sharp length at the spread of norm_ellipsoid.v, 2 s sqrt(d_k lambda)
    - [normalised_rotary]  the same where queries and keys are turned by their positions

    Source: paper, Theorem 2.2; the forms without a vocabulary are this project's. *)

From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax vectors lemma_2_1 small_transformer coordinate_box normalised_vectors.
From softcheck Require norm_ellipsoid rotary_positions.
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
      destruct (IH _ B' wf') as [boxes inside]. exists (fun l => match l with O => B | S l => boxes l end).
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
    destruct (bounded_on_box d w g contg B) as [M' below']. exists (INR w * (Rabs M * Rabs M')). split.
    { apply Rmult_le_pos; [apply pos_INR | apply Rmult_le_pos; apply Rabs_pos]. } intros x y inx iny. unfold dot.
    eapply Rle_trans; [apply sum_map_abs|].
    replace (INR w) with (size (seq 0 w)) by (unfold size; now rewrite seq_length). rewrite <- sum_map_const.
    apply sum_map_le. intros c inc. apply in_seq in inc. rewrite Rabs_mult.
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
    intros [contq [contk _]]. destruct (logits_bounded d _ _ _ B contq contk) as [r [nonneg below]]. exists (2 * r).
    split; [lra|]. intros x items inx all e e' ine ine'. apply in_map_iff in ine as [y [<- iny]].
    apply in_map_iff in ine' as [y' [<- iny']]. pose proof (below x y inx (all y iny)) as one.
    pose proof (below x y' inx (all y' iny')) as two. apply Rabs_le_between in one, two. unfold logit. lra.
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
    destruct first as [delta' [nonneg' bound']]. exists (Rmax delta delta').
    split; [eapply Rle_trans; [exact nonneg | apply Rmax_l]|].
    intros before h tokens i place inputs less activations e e' ine ine'. destruct before as [|layer' before].
    - eapply Rle_trans; [apply (bound' h tokens i); assumption | apply Rmax_r].
    - destruct place as [residual [heads [after [split inh]]]]. injection split as <- split.
      eapply Rle_trans; [|apply Rmax_l]. apply (bound before h (apply_layer theta mask layer tokens) i); try assumption.
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
  exists (Z.to_nat (up (Rabs r))). destruct (archimed (Rabs r)) as [above _]. assert (0 <= up (Rabs r))%Z.
  { apply le_IZR, Rlt_le. eapply Rle_lt_trans; [apply Rabs_pos | exact above]. } rewrite INR_IZR_INZ, Z2Nat.id by easy.
  eapply Rle_lt_trans; [apply Rle_abs | exact above].
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
  apply (small eps pos before h tokens i place known less); [|exact inp]. eapply Rlt_trans; [exact above|]. unfold size.
  rewrite visible_length_gpt by now rewrite length_forward. apply lt_INR. lia.
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
  intros heated wf wf' out out' pos. destruct (boxed theta mask d phi vocabulary wf) as [boxes inside].
  destruct (boxed theta mask d kappa vocabulary wf') as [boxes' inside']. set (B := boxes (length phi)).
  set (B' := boxes' (length kappa)). destruct (bounded_on_box w w (fun x => x) (continuous_identity w) B) as [M below].
  destruct (bounded_on_box w w (fun x => x) (continuous_identity w) B') as [M' below'].
  set (r := INR w * (Rabs M * Rabs M')). destruct (above_natural (paper_length theta (2 * r) eps)) as [n0 above].
  exists n0. intros tokens known long i less q keys p inp.
  assert (spread : spread_at_most (2 * r) (map (dot w q) keys)).
  { assert (bounded : forall k, In k keys -> Rabs (dot w q k) <= r).
    { intros k ink. unfold r, dot. eapply Rle_trans; [apply sum_map_abs|].
      replace (INR w) with (size (seq 0 w)) by (unfold size; now rewrite seq_length). rewrite <- sum_map_const.
      apply sum_map_le. intros c inc. apply in_seq in inc. rewrite Rabs_mult.
      apply Rmult_le_compat; try apply Rabs_pos; (eapply Rle_trans; [|apply Rle_abs]).
      - apply below; [|lia]. rewrite <- out. rewrite <- (firstn_all phi). apply (inside tokens known).
        rewrite firstn_all. apply token_in. now rewrite length_forward.
      - apply below'; [|lia]. rewrite <- out'. rewrite <- (firstn_all kappa). apply (inside' tokens known).
        now rewrite firstn_all. }
    intros e e' ine ine'. apply in_map_iff in ine as [k [<- ink]]. apply in_map_iff in ine' as [k' [<- ink']].
    pose proof (bounded k ink) as one. pose proof (bounded k' ink') as two. apply Rabs_le_between in one, two. lra. }
  eapply Rle_lt_trans; [apply (upper _ _ _ _ heated spread inp)|]. rewrite size_map. unfold size, keys.
  rewrite length_forward. assert (paper_length theta (2 * r) eps < size tokens).
  { eapply Rlt_trans; [exact above|]. now apply lt_INR. }
  assert (0 < paper_length theta (2 * r) eps) by (apply Rdiv_lt_0_compat; [apply exp_pos | easy]).
  apply Rmult_lt_reg_r with (size tokens); [lra|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  replace (exp (2 * r / theta)) with (paper_length theta (2 * r) eps * eps) by (unfold paper_length; field; lra).
  rewrite Rmult_comm. now apply Rmult_lt_compat_l.
Qed.

(** ** Without a vocabulary *)

(** f returns what a norm of width d makes of some vector: of an activation, or of anything computed from it. *)
Definition normalises (d : nat) (f : vector -> vector) : Prop :=
  (0 < d)%nat /\ forall x, exists eps h, 0 < eps /\ (f x = layer_normalised d eps h \/ f x = rms_normalised d eps h).

(** |z|^2 < d, whatever was normalised. *)
Lemma normalised_in_ball d f x : normalises d f -> in_ball d (INR d) (f x).
Proof.
  intros [some norms]. destruct (norms x) as [eps [h [pos [-> | ->]]]]; unfold in_ball.
  - destruct (norm_ellipsoid.layer_norm d eps h some pos) as [_ [_ below]]. now apply Rlt_le.
  - destruct (norm_ellipsoid.rms_norm d eps h some pos) as [_ below]. now apply Rlt_le.
Qed.

Example a_norm_normalises d eps : (0 < d)%nat -> 0 < eps -> normalises d (layer_normalised d eps).
Proof. intros some pos. split; [easy|]. intros x. exists eps, x. tauto. Qed.

Section Normalised.
  (** Queries are A f(x) + a, keys are B g(y) + b; values may be anything. *)
  Variables (theta : R) (width d_q d_k : nat) (A B : matrix) (a b : vector) (s : R) (f g : vector -> vector).
  Hypotheses (heated : 0 < theta) (scaled_up : 0 <= s) (norm_q : normalises d_q f) (norm_k : normalises d_k g).

  Definition normalised_head (value : vector -> vector) : head :=
    {| head_width := width; query := fun x => scale s (affine d_q A a (f x)); key := fun y => affine d_k B b (g y);
       value := value |}.

  Let normalised_logits value x items :
    logits (normalised_head value) x items = norm_ellipsoid.head_logits width d_q d_k A B a b s (f x) (map g items).
  Proof. unfold norm_ellipsoid.head_logits. rewrite map_map. apply map_ext. intros y. apply dot_scale_l. Qed.

  (** Beyond the sharp length of their spread. *)
  Let small_beyond delta eps row p :
    spread_at_most delta row -> 0 < eps -> lemma_2_1.sharp_length delta theta eps < size row ->
    In p (softmax (tempered theta row)) -> p < eps.
  Proof.
    intros within pos long inp. eapply Rle_lt_trans; [apply (sharp_upper _ delta theta p heated within inp)|].
    apply sharp_upper_below_iff; [|easy|exact long]. apply size_at_least_one. intros ->. easy.
  Qed.

  Theorem normalised_sharp inner N t lambda value eps x items p :
    (forall u, norm d_k (multiply width (transpose B) u) <= norm inner (multiply width (transpose N) u)) -> 0 < t ->
    admissible inner d_q (norm_ellipsoid.factor_matrix width A N) (norm_ellipsoid.factor_bias width a N)
      (INR d_q) t lambda ->
    0 < eps -> lemma_2_1.sharp_length (norm_ellipsoid.spread_form s (INR d_k) lambda) theta eps < size items ->
    In p (coefficients theta (normalised_head value) x items) -> p < eps.
  Proof.
    intros above positive bound pos long. unfold coefficients. rewrite normalised_logits.
    apply (small_beyond (norm_ellipsoid.spread_form s (INR d_k) lambda)); [|easy|].
    - apply norm_ellipsoid.spread with (r_q := INR d_q) (inner := inner) (N := N) (t := t); try easy.
      + now apply normalised_in_ball.
      + intros z' inz. apply in_map_iff in inz as [y [<- _]]. now apply normalised_in_ball.
    - unfold norm_ellipsoid.head_logits. now rewrite !size_map.
  Qed.

  (** The spread 2 s (sigma(A) sqrt(d_q) + |a|) sigma(B) sqrt(d_k) knows nothing of the layers below. *)
  Theorem normalised eps :
    0 < eps ->
    exists n0 : nat, forall value mask below tokens i, (i < length tokens)%nat ->
      let inputs := forward theta mask below tokens in
      (length (visible mask i inputs) > n0)%nat ->
      forall p, In p (coefficients theta (normalised_head value) (token inputs i) (visible mask i inputs)) -> p < eps.
  Proof.
    intros pos. set (delta := norm_ellipsoid.folded_form width a s (INR d_q) (INR d_k)
                                (sigma width d_q A) (sigma width d_k B)).
    destruct (above_natural (lemma_2_1.sharp_length delta theta eps)) as [n0 above]. exists n0.
    intros value mask below tokens i less inputs long p. unfold coefficients. rewrite normalised_logits.
    apply (small_beyond delta); [|easy|].
    - apply norm_ellipsoid.folded; try easy; try apply sigma_bounds.
      + now apply normalised_in_ball.
      + intros z' inz. apply in_map_iff in inz as [y [<- _]]. now apply normalised_in_ball.
    - unfold norm_ellipsoid.head_logits. rewrite !size_map. eapply Rlt_trans; [exact above | now apply lt_INR].
  Qed.

  (** |R q . R' k| <= |q| |k|: rotations keep lengths. An item is a position and a vector. *)
  Theorem normalised_rotary l frequency eps :
    rotary_positions.covers width l -> 0 < eps ->
    exists n0 : nat, forall i x items, (length items > n0)%nat ->
      forall p, In p (softmax (tempered theta (map (fun item =>
        rotary_positions.rotary_logit width l d_q d_k A B a b s frequency i (fst item) (f x) (g (snd item))) items))) ->
      p < eps.
  Proof.
    intros whole pos.
    assert (long_at_most : forall d C c z, in_ball d (INR d) z ->
              norm width (affine d C c z) <= sigma width d C * sqrt (INR d) + norm width c).
    { intros d C c z inside. destruct (sigma_bounds width d C) as [nonneg bound].
      eapply Rle_trans; [apply norm_add|]. apply Rplus_le_compat_r. eapply Rle_trans; [apply bound|].
      apply Rmult_le_compat_l; [easy | now apply norm_in_ball]. }
    assert (turned : forall m u, norm width (rotary_positions.rotate_to l frequency m u) = norm width u).
    { intros m u. destruct (rotary_positions.isometry width l whole (fun _ => 1) ltac:(easy)
                              (fun p => m * frequency p) u) as [_ same].
      rewrite (norm_ext width u (rotary_positions.weighted (fun _ => 1) u)) by (intros; symmetry; apply Rmult_1_l).
      rewrite <- same. apply norm_ext. intros. symmetry. apply Rmult_1_l. }
    set (r := s * ((sigma width d_q A * sqrt (INR d_q) + norm width a)
                   * (sigma width d_k B * sqrt (INR d_k) + norm width b))).
    destruct (above_natural (lemma_2_1.sharp_length (2 * r) theta eps)) as [n0 above]. exists n0.
    intros i x items long p. set (row := map _ items). apply (small_beyond (2 * r)); [|easy|].
    - enough (below : forall e, In e row -> Rabs e <= r).
      { intros e e' ine ine'. apply below, Rabs_le_between in ine, ine'. lra. }
      intros e ine. apply in_map_iff in ine as [[j y] [<- _]]. unfold rotary_positions.rotary_logit.
      rewrite Rabs_mult, (Rabs_pos_eq s) by easy. apply Rmult_le_compat_l; [easy|].
      eapply Rle_trans; [apply cauchy_schwarz|]. rewrite !turned.
      apply Rmult_le_compat; try apply norm_nonneg; now apply long_at_most, normalised_in_ball.
    - unfold row. rewrite size_map. eapply Rlt_trans; [exact above | now apply lt_INR].
  Qed.
End Normalised.
