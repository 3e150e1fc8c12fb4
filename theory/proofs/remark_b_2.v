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

From Coq Require Import FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax vectors lemma_2_1 small_transformer coordinate_box lipschitz_layers theorem_2_2
  layer_gains gpt_recurrence.
Local Open Scope R_scope.

Section Network.
  Context (theta : R) (heated : 0 < theta).
  Local Notation head_bounded := (layer_gains.head_bounded theta).
  Local Notation layer_bounded := (layer_gains.layer_bounded theta).
  Local Notation bounded_by := (layer_gains.bounded_by theta).
  Local Notation alone := (layer_gains.alone theta).

  (** ** BERT *)

  (** [a, b, ..., b] of n = m + 1 tokens: every token behind the first is within C/n of what b is alone. *)
  Theorem bert layers gains (P : vector -> Prop) d a b m :
    bounded_by bert_mask P d layers gains -> P a -> P b -> (1 <= m)%nat ->
    forall i, (1 <= i <= m)%nat ->
    within (output_width d layers) (bert_constant layers gains 0 / INR (S m))
      (token (forward theta bert_mask layers (a :: repeat b m)) i) (alone layers b).
  Proof.
    intros bounded ina inb some i [low high].
    destruct (bert_from theta heated layers gains P d a b b m 0 bounded ina inb inb some) as [u' [x' [shape close]]].
    { unfold Rdiv. rewrite Rmult_0_l. apply within_refl. } rewrite shape. destruct i as [|i]; [lia|].
    change (token (u' :: repeat x' m) (S i)) with (token (repeat x' m) i). now rewrite token_repeat by lia.
  Qed.

  (** ** GPT *)

  (** The recurrence from D_0, since all tokens but the first are equal to b. *)
  Theorem gpt layers gains (P : vector -> Prop) d a b m r :
    bounded_by gpt_mask P d layers gains -> P a -> P b -> within d r a b ->
    forall i, (i <= m)%nat ->
    within (output_width d layers) (gpt_distance layers gains (first_token_only r) i)
      (token (forward theta gpt_mask layers (a :: repeat b m)) i) (alone layers b).
  Proof.
    intros bounded ina inb close i less.
    assert (long : length (a :: repeat b m) = S m) by (cbn; now rewrite repeat_length).
    apply (gpt_from theta heated layers gains P d); [easy | easy | | | lia].
    - intros z [<- | inz]; [easy|]. apply repeat_spec in inz. now rewrite inz.
    - intros [|j] lessj; [exact close|]. rewrite long in lessj.
      change (token (a :: repeat b m) (S j)) with (token (repeat b m) j). rewrite token_repeat by lia.
      apply within_refl.
  Qed.

  (** At position i + 1. *)
  Theorem gpt_closed_form layers gains (P : vector -> Prop) d r i :
    bounded_by gpt_mask P d layers gains -> 0 <= r ->
    gpt_distance layers gains (first_token_only r) i
    <= closed_form (gpt_constant layers gains r) (attention_layers layers) (INR (S i)).
  Proof.
    intros bounded nonneg. rewrite <- (Nat.add_0_r (attention_layers layers)).
    apply (gpt_closed_form_from theta layers gains P d); [easy | easy |].
    intros j. unfold closed_form. pose proof (position_ge_1 j). cbn [pow]. rewrite Rmult_1_r. destruct j as [|j].
    - cbn [INR first_token_only]. lra.
    - cbn [first_token_only]. apply Rmult_le_pos; [easy | apply Rlt_le, Rinv_0_lt_compat; lra].
  Qed.

  (** ** Forgetting *)

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
      apply Rmult_lt_reg_r with (INR (S m)); [easy|]. apply (Rmult_lt_compat_r tolerance) in long; [|easy].
      replace (bert_constant layers gains 0 / tolerance * tolerance) with (bert_constant layers gains 0) in long
        by (field; lra).
      replace (bert_constant layers gains 0 / INR (S m) * INR (S m)) with (bert_constant layers gains 0)
        by (field; lra).
      lra.
    - intros bounded s above far small m i c long place less.
      destruct (gpt layers gains P d a b m r bounded ina inb close i place) as [_ near].
      eapply Rle_lt_trans; [now apply near|]. destruct close as [nonneg _].
      eapply Rle_lt_trans; [now apply (gpt_closed_form layers gains P d)|]. eapply Rle_lt_trans; [|exact small].
      apply closed_form_falls; try easy.
      apply (gpt_closed_form_from theta layers gains P d (fun _ => 0) r 0); [easy | easy |]. intros j.
      unfold closed_form. pose proof (position_ge_1 j). cbn [pow]. rewrite Rmult_1_r.
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
    intros nonneg pos. set (k := INR (S l)). assert (1 <= k) by apply position_ge_1. set (K := c * exp 1 * k ^ S l).
    assert (0 <= K).
    { unfold K. apply Rmult_le_pos; [apply Rmult_le_pos; [easy | apply Rlt_le, exp_pos] | apply pow_le; lra]. }
    assert (0 <= K / tolerance) by (apply Rmult_le_pos; [easy | now apply Rlt_le, Rinv_0_lt_compat]).
    set (y := k + K / tolerance + 1). exists (exp (y - 1)). assert (INR l <= k) by (unfold k; rewrite S_INR; lra).
    split; [apply exp_nonneg_ge_1; unfold y; lra|]. unfold closed_form. rewrite ln_exp.
    replace (1 + (y - 1)) with y by ring. split; [unfold y; lra|]. assert (power : (y / k) ^ S l <= exp y).
    { replace (exp y) with (exp (y / k) ^ S l).
      - apply pow_incr. split; [apply Rmult_le_pos; [unfold y; lra | apply Rlt_le, Rinv_0_lt_compat; lra]|].
        pose proof (exp_ineq1_le (y / k)). lra.
      - rewrite exp_power. fold k. f_equal. field. lra. }
    assert (0 < y) by (unfold y; lra). assert (tall : y * y ^ l <= k ^ S l * exp y).
    { change (y * y ^ l) with (y ^ S l). replace (y ^ S l) with (k ^ S l * (y / k) ^ S l).
      - apply Rmult_le_compat_l; [apply pow_le; lra | easy].
      - rewrite <- Rpow_mult_distr. f_equal. field. lra. }
    replace (exp (y - 1)) with (exp y / exp 1). 2:{ unfold Rminus. rewrite exp_plus, exp_Ropp. reflexivity. }
    pose proof (exp_pos y). pose proof (exp_pos 1). apply Rle_lt_trans with (K / y).
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
    destruct wf as [wf wf'], steep as [steep steep']. destruct (layer_boxed theta mask d l B wf) as [B' next].
    destruct (IH _ B' wf' steep') as [gains bounded]. assert (here : exists g, layer_bounded (in_box d B) d l g).
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
  Proof. destruct (bound_over_indices (fun c => Rabs (x c - y c)) d) as [r [nonneg below]]. now exists r. Qed.

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
    { apply (gpt_closed_form_from theta layers gains (in_box d B) d (fun _ => 0) r 0); [easy | apply close |].
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
