(** * Remark C.1: what a dispersed layer leaves to the layers behind it.

    Main results (rows that see i <= k items, spread at most delta, d = delta/theta, values of size at most B, r = i/k)
    - [outputs]           two outputs of a head differ by at most ((2 - r) e^d - r e^(-d)) B
    - [residual]          a residual connection adds the difference of the inputs
    - [next_spread]       logits of the next layer differ by at most ||K^T q||_1 G times all that
    - [fully_dispersed]   coefficients 1/n: equal outputs under BERT, at most 2 (1 - r) B apart under GPT
    - [no_spread_is_uniform]   which are the coefficients of equal logits
    - [later_spread]      behind a fully dispersed BERT layer without residual every later spread is 0
    - [later_coefficients]   and every later coefficient is 1/n

    Source: paper, Remark C.1 (the case d = 0 of a BERT stack without residual connections, the only one where
    "delta = 0 in all later layers" holds); the quantitative forms are this project's. *)

From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax vectors lemma_2_1 small_transformer coordinate_box lipschitz_layers.
Local Open Scope R_scope.

(** ** Two rows of coefficients *)

(** ((2 - i/k) e^d - i/k e^(-d)) *)
Definition row_disagreement (d i k : R) : R := (2 - i / k) * exp d - i / k * exp (- d).

Lemma row_disagreement_scaled d i k : 0 < k -> k * row_disagreement d i k = (2 * k - i) * exp d - i * exp (- d).
Proof. intros. unfold row_disagreement. field. lra. Qed.

Lemma row_disagreement_nonneg d i k : 0 <= d -> 0 < i <= k -> 0 <= row_disagreement d i k.
Proof.
  intros nonneg [pos less]. apply Rmult_le_reg_l with k; [lra|]. rewrite Rmult_0_r, row_disagreement_scaled by lra.
  pose proof (exp_nonneg_ge_1 d nonneg). pose proof (exp_opp_le_1 d nonneg). pose proof (exp_pos (- d)). nra.
Qed.

(** Over the i common items two coefficients differ by at most e^d/i - e^(-d)/k, and each of the k - i others weighs at
    most e^d/k. *)
Lemma rows_disagree {A} (common rest : list A) (a b value : A -> R) d B :
  let i := size common in let k := size (common ++ rest) in
  0 <= d -> common <> [] ->
  (forall y, In y common -> exp (- d) / i <= a y <= exp d / i) ->
  (forall y, In y (common ++ rest) -> exp (- d) / k <= b y <= exp d / k) ->
  (forall y, In y (common ++ rest) -> Rabs (value y) <= B) ->
  Rabs (sum (map (fun y => a y * value y) common) - sum (map (fun y => b y * value y) (common ++ rest)))
  <= row_disagreement d i k * B.
Proof.
  intros i k nonneg some ina inb small. assert (0 < i) by now apply size_pos.
  assert (k = i + size rest) as total by (unfold k, i, size; rewrite app_length, plus_INR; easy).
  pose proof (size_nonneg rest). pose proof (exp_pos d). pose proof (exp_pos (- d)).
  assert (less : / k <= / i) by (apply Rinv_le_contravar; lra). rewrite map_app, sum_app.
  replace (sum (map (fun y => a y * value y) common)
           - (sum (map (fun y => b y * value y) common) + sum (map (fun y => b y * value y) rest)))
    with (sum (map (fun y => (a y - b y) * value y) common) + - sum (map (fun y => b y * value y) rest)).
  2:{ rewrite (sum_map_ext (fun y => (a y - b y) * value y) (fun y => a y * value y - b y * value y))
        by (intros; ring).
      rewrite sum_map_minus. ring. }
  triangle. rewrite Rabs_Ropp.
  assert (shared : Rabs (sum (map (fun y => (a y - b y) * value y) common)) <= i * ((exp d / i - exp (- d) / k) * B)).
  { eapply Rle_trans; [apply sum_map_abs|]. unfold i. rewrite <- sum_map_const. apply sum_map_le. intros y iny.
    fold i. rewrite Rabs_mult. specialize (ina y iny). specialize (inb y (in_or_app _ _ _ (or_introl iny))).
    specialize (small y (in_or_app _ _ _ (or_introl iny))). apply Rmult_le_compat; try apply Rabs_pos; [|easy].
    unfold Rdiv in *. pose proof (Rmult_le_compat_l (exp d) _ _ ltac:(lra) less).
    pose proof (Rmult_le_compat_l (exp (- d)) _ _ ltac:(lra) less). apply Rabs_le. lra. }
  assert (others : Rabs (sum (map (fun y => b y * value y) rest)) <= size rest * (exp d / k * B)).
  { eapply Rle_trans; [apply sum_map_abs|]. rewrite <- sum_map_const. apply sum_map_le. intros y iny.
    rewrite Rabs_mult. specialize (inb y (in_or_app _ _ _ (or_intror iny))).
    specialize (small y (in_or_app _ _ _ (or_intror iny))). apply Rmult_le_compat; try apply Rabs_pos; [|easy].
    assert (0 < / k) by (apply Rinv_0_lt_compat; lra). unfold Rdiv in *.
    assert (0 <= exp (- d) * / k) by (apply Rmult_le_pos; lra). apply Rabs_le. lra. }
  eapply Rle_trans; [apply Rplus_le_compat; [exact shared | exact others]|]. apply Req_le.
  replace (size rest) with (k - i) by lra. unfold row_disagreement. field. lra.
Qed.

(** Under both masks the earlier row sees a prefix of what the later one sees. *)
Lemma visible_prefix mask i k (tokens : list vector) :
  (i <= k)%nat -> exists rest, visible mask k tokens = visible mask i tokens ++ rest.
Proof.
  intros less. destruct mask; cbn [visible]; [now exists []; rewrite app_nil_r|].
  exists (skipn (S i) (firstn (S k) tokens)).
  rewrite <- (firstn_skipn (S i) (firstn (S k) tokens)) at 1. f_equal. rewrite firstn_firstn. f_equal. lia.
Qed.

Section Layer.
  Context (theta : R) (mask : attention_mask) (tokens : list vector) (heated : 0 < theta).

  Definition seen (i : nat) : R := size (visible mask i tokens).

  Section Head.
    Context (h : head) (delta B : R) (i k : nat) (earlier : (i <= k)%nat) (known : (k < length tokens)%nat)
      (spread : forall j, (j < length tokens)%nat -> spread_at_most delta (logits h (token tokens j) (visible mask j tokens))).

    (** Lemma 2.1 for row j. *)
    Let in_row j y :
      (j < length tokens)%nat -> In y (visible mask j tokens) ->
      exp (- (delta / theta)) / seen j <= item_coefficient theta h (token tokens j) (visible mask j tokens) y
      <= exp (delta / theta) / seen j.
    Proof.
      intros less iny. unfold seen. rewrite <- (size_map (logit h (token tokens j))).
      change (map (logit h (token tokens j)) (visible mask j tokens))
        with (logits h (token tokens j) (visible mask j tokens)).
      split; [apply lower | apply upper]; try easy; try (now apply spread); now apply item_coefficient_in.
    Qed.

    Let nonneg : 0 <= delta / theta.
    Proof.
      apply Rmult_le_pos; [|now apply Rlt_le, Rinv_0_lt_compat].
      apply (spread_nonneg delta (logits h (token tokens k) (visible mask k tokens))).
      - now apply map_not_nil, visible_not_nil.
      - now apply spread.
    Qed.

    (** The coefficients of both rows obey Lemma 2.1. *)
    Theorem outputs c :
      (forall y, In y tokens -> Rabs (value h y c) <= B) ->
      Rabs (attend theta h (token tokens i) (visible mask i tokens) c
            - attend theta h (token tokens k) (visible mask k tokens) c)
      <= row_disagreement (delta / theta) (seen i) (seen k) * B.
    Proof.
      intros small. destruct (visible_prefix mask i k tokens earlier) as [rest split].
      unfold attend, seen. rewrite split.
      apply (rows_disagree (visible mask i tokens) rest
               (item_coefficient theta h (token tokens i) (visible mask i tokens))
               (item_coefficient theta h (token tokens k) (visible mask i tokens ++ rest))
               (fun y => value h y c)); [exact nonneg | | | |].
      - apply visible_not_nil. lia.
      - intros y iny. apply in_row; [lia | easy].
      - intros y iny. rewrite <- split in *. now apply in_row.
      - intros y iny. apply small. rewrite <- split in iny. now apply in_visible in iny.
    Qed.
  End Head.

  (** What the heads of a layer may add to the difference of two tokens: delta h and B h belong to the head. *)
  Definition heads_disagreement (heads : list head) (delta B : head -> R) (i k : nat) : R :=
    sum (map (fun h => row_disagreement (delta h / theta) (seen i) (seen k) * B h) heads).

  Section Heads.
    Context (with_residual : bool) (heads : list head) (delta B : head -> R) (i k : nat)
      (earlier : (i <= k)%nat) (known : (k < length tokens)%nat)
      (spread : forall h j, In h heads -> (j < length tokens)%nat -> spread_at_most (delta h) (logits h (token tokens j) (visible mask j tokens))).

    (** y_i - y_k = (x_i - x_k) + the differences of the heads. *)
    Theorem residual c :
      (forall h y, In h heads -> In y tokens -> Rabs (value h y c) <= B h) ->
      Rabs (attention theta with_residual heads (token tokens i) (visible mask i tokens) c
            - attention theta with_residual heads (token tokens k) (visible mask k tokens) c)
      <= (if with_residual then Rabs (token tokens i c - token tokens k c) else 0)
        + heads_disagreement heads delta B i k.
    Proof.
      intros small. unfold attention.
      match goal with
      | |- Rabs (?x + ?s - (?y + ?t)) <= _ => replace (x + s - (y + t)) with ((x - y) + (s - t)) by ring
      end.
      triangle. apply Rplus_le_compat.
      - destruct with_residual; [lra|]. rewrite Rminus_diag_eq, Rabs_R0 by easy. lra.
      - rewrite <- sum_map_minus. eapply Rle_trans; [apply sum_map_abs|]. unfold heads_disagreement. apply sum_map_le.
        intros h inh. apply outputs; try easy.
        + intros j less. now apply spread.
        + intros y iny. now apply small.
    Qed.

    (** The same in the maximum norm. *)
    Lemma attention_within d :
      (forall h y c, In h heads -> In y tokens -> (c < d)%nat -> Rabs (value h y c) <= B h) ->
      (forall h, In h heads -> 0 <= B h) ->
      forall r, (with_residual = true -> within d r (token tokens i) (token tokens k)) ->
                (with_residual = false -> r = 0) ->
      within d (r + heads_disagreement heads delta B i k)
        (attention theta with_residual heads (token tokens i) (visible mask i tokens))
        (attention theta with_residual heads (token tokens k) (visible mask k tokens)).
    Proof.
      intros small nonneg r close none.
      assert (some : forall j, (j < length tokens)%nat -> 0 < seen j) by (intros; now apply size_pos, visible_not_nil).
      assert (0 <= heads_disagreement heads delta B i k).
      { apply sum_map_nonneg. intros h inh. apply Rmult_le_pos; [|now apply nonneg]. apply row_disagreement_nonneg.
        - apply Rmult_le_pos; [|now apply Rlt_le, Rinv_0_lt_compat].
          apply (spread_nonneg (delta h) (logits h (token tokens k) (visible mask k tokens))).
          + now apply map_not_nil, visible_not_nil.
          + now apply spread.
        - split; [apply some; lia|]. destruct (visible_prefix mask i k tokens earlier) as [rest split]. unfold seen.
          rewrite split. unfold size. rewrite app_length. apply le_INR. lia. }
      split.
      - destruct with_residual; [destruct (close eq_refl); lra | rewrite none by easy; lra].
      - intros c less. eapply Rle_trans; [apply residual|].
        + intros h y inh iny. now apply small.
        + apply Rplus_le_compat_r. destruct with_residual; [now apply close | rewrite none by easy; lra].
    Qed.

    (** Behind the feedforward layer, of Lipschitz constant G: |q . K (z_i - z_k)| <= ||K^T q||_1 max |z_i - z_k|. *)
    Theorem next_spread d m w (P : vector -> Prop) G f K b_K q r :
      (forall h y c, In h heads -> In y tokens -> (c < d)%nat -> Rabs (value h y c) <= B h) ->
      (forall h, In h heads -> 0 <= B h) ->
      (with_residual = true -> within d r (token tokens i) (token tokens k)) ->
      (with_residual = false -> r = 0) ->
      lipschitz_on P d m G f ->
      let behind j := f (attention theta with_residual heads (token tokens j) (visible mask j tokens)) in
      (forall j, (j < length tokens)%nat ->
         P (attention theta with_residual heads (token tokens j) (visible mask j tokens))) ->
      Rabs (dot w q (add (multiply m K (behind i)) b_K) - dot w q (add (multiply m K (behind k)) b_K))
      <= sum (map (fun c => Rabs (multiply w (transpose K) q c)) (seq 0 m))
         * (G * (r + heads_disagreement heads delta B i k)).
    Proof.
      intros small nonneg close none [_ steep] behind inP.
      assert (near : within m (G * (r + heads_disagreement heads delta B i k)) (behind i) (behind k)).
      { apply steep; [apply inP; lia | now apply inP|]. now apply attention_within. } rewrite !dot_add_r.
      replace (dot w q (multiply m K (behind i)) + dot w q b_K - (dot w q (multiply m K (behind k)) + dot w q b_K))
        with (dot m (multiply w (transpose K) q) (subtract (behind i) (behind k))).
      - unfold dot. eapply Rle_trans; [apply sum_map_abs|]. rewrite <- sum_map_mult_r. apply sum_map_le. intros c inc.
        apply in_seq in inc. rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos|]. apply near. lia.
      - rewrite dot_subtract_r, !(dot_comm m (multiply w _ _)), <- !dot_multiply, !(dot_comm w _ q). ring.
    Qed.
  End Heads.
End Layer.

(** ** Fully dispersed layers *)

(** A head whose coefficients are all 1/n: the mean of the values. *)
Definition attend_uniformly (h : head) (items : list vector) : vector :=
  fun c => sum (map (fun y => / size items * value h y c) items).

(** What attention does where all logits are equal. *)
Theorem no_spread_is_uniform theta h x items :
  0 < theta -> items <> [] -> spread_at_most 0 (logits h x items) ->
  (forall p, In p (coefficients theta h x items) -> p = / size items) /\
  (forall c, attend theta h x items c = attend_uniformly h items c).
Proof.
  intros heated some flat. pose proof (size_pos items some).
  assert (uniform : forall p, In p (coefficients theta h x items) -> p = / size items).
  { intros p inp. pose proof (lower _ _ theta p heated flat inp) as below.
    pose proof (upper _ _ theta p heated flat inp) as above. unfold logits in below, above.
    rewrite size_map in below, above. replace (0 / theta) with 0 in * by (field; lra). rewrite Ropp_0, exp_0 in below.
    rewrite exp_0 in above. lra. }
  split; [easy|]. intros c. apply sum_map_ext. intros y iny. f_equal. now apply uniform, item_coefficient_in.
Qed.

(** BERT: the rows see the same items. GPT: d = 0 in the bound for two rows. *)
Theorem fully_dispersed h tokens i k B c :
  (i <= k)%nat -> (k < length tokens)%nat -> (forall y, In y tokens -> Rabs (value h y c) <= B) ->
  attend_uniformly h (visible bert_mask i tokens) = attend_uniformly h (visible bert_mask k tokens) /\
  Rabs (attend_uniformly h (visible gpt_mask i tokens) c - attend_uniformly h (visible gpt_mask k tokens) c)
  <= 2 * (1 - INR (S i) / INR (S k)) * B.
Proof.
  intros earlier known small. split; [easy|]. destruct (visible_prefix gpt_mask i k tokens earlier) as [rest split].
  pose proof (rows_disagree (visible gpt_mask i tokens) rest
    (fun _ => / size (visible gpt_mask i tokens)) (fun _ => / size (visible gpt_mask k tokens))
    (fun y => value h y c) 0 B) as bound.
  cbv beta zeta in bound. rewrite <- split, Ropp_0, exp_0 in bound. unfold attend_uniformly.
  assert (long : size (visible gpt_mask i tokens) = INR (S i))
    by (unfold size; rewrite visible_length_gpt; [easy | lia]).
  assert (long' : size (visible gpt_mask k tokens) = INR (S k)) by (unfold size; now rewrite visible_length_gpt).
  rewrite long, long' in *.
  replace (2 * (1 - INR (S i) / INR (S k)) * B) with (row_disagreement 0 (INR (S i)) (INR (S k)) * B).
  - apply bound; [lra | apply visible_not_nil; lia | intros; lra | intros; lra |]. intros y iny. apply small.
    now apply in_visible in iny.
  - unfold row_disagreement. rewrite Ropp_0, exp_0. field. apply not_0_INR. lia.
Qed.

(** GPT rows do differ: the means of [1] and [1, 0]. *)
Lemma gpt_rows_differ :
  let h := {| head_width := 0; query := fun x => x; key := fun x => x; value := fun x => x |} in
  let tokens := [(fun _ => 1); (fun _ => 0)] : list vector in
  attend_uniformly h (visible gpt_mask 0 tokens) 0%nat <> attend_uniformly h (visible gpt_mask 1 tokens) 0%nat.
Proof. unfold attend_uniformly, visible, size, sum. cbn. lra. Qed.

(** *** Every later layer *)

(** A fully dispersed attention layer without residual connection. *)
Definition uniform_layer (mask : attention_mask) (heads : list head) (tokens : list vector) : list vector :=
  map (fun i c => sum (map (fun h => attend_uniformly h (visible mask i tokens) c) heads)) (seq 0 (length tokens)).

Definition all_equal (tokens : list vector) : Prop := exists x, forall y, In y tokens -> y = x.

Lemma uniform_layer_equal heads tokens : all_equal (uniform_layer bert_mask heads tokens).
Proof.
  exists (fun c => sum (map (fun h => attend_uniformly h tokens c) heads)).
  intros y iny. apply in_map_iff in iny as [i [<- _]]. reflexivity.
Qed.

(** Equal tokens stay equal, residual or not: each is the same function of itself and of all. *)
Lemma apply_layer_equal theta l tokens : all_equal tokens -> all_equal (apply_layer theta bert_mask l tokens).
Proof.
  intros [x equal]. destruct l as [residual heads | width f].
  - exists (attention theta residual heads x tokens). intros y iny. apply in_map_iff in iny as [i [<- ini]].
    apply in_seq in ini. cbn [visible]. now rewrite (equal (token tokens i)) by (apply token_in; lia).
  - exists (f x). intros y iny. apply in_map_iff in iny as [z [<- inz]]. now rewrite (equal z).
Qed.

Lemma forward_equal theta layers tokens : all_equal tokens -> all_equal (forward theta bert_mask layers tokens).
Proof.
  revert tokens. induction layers as [|l rest IH]; intros tokens equal; [easy|]. now apply IH, apply_layer_equal.
Qed.

(** [before] is any stack of layers between the dispersed one and that of the head h. *)
Theorem later_spread theta heads before h tokens i :
  let inputs := forward theta bert_mask before (uniform_layer bert_mask heads tokens) in
  spread_at_most 0 (logits h (token inputs i) inputs).
Proof.
  intros inputs e e' ine ine'. destruct (forward_equal theta before _ (uniform_layer_equal heads tokens)) as [x equal].
  fold inputs in equal. apply in_map_iff in ine as [y [<- iny]]. apply in_map_iff in ine' as [y' [<- iny']].
  rewrite (equal y iny), (equal y' iny'). lra.
Qed.

(** At a spread of 0 both bounds of Lemma 2.1 are 1/n. *)
Theorem later_coefficients theta heads before h tokens i :
  0 < theta -> (i < length tokens)%nat ->
  let inputs := forward theta bert_mask before (uniform_layer bert_mask heads tokens) in
  forall p, In p (coefficients theta h (token inputs i) inputs) -> p = / size tokens.
Proof.
  intros heated less inputs p inp. assert (long : length inputs = length tokens).
  { unfold inputs, uniform_layer. now rewrite length_forward, map_length, seq_length. }
  replace (size tokens) with (size inputs) by (unfold size; now rewrite long).
  apply (no_spread_is_uniform theta h (token inputs i) inputs); [easy | | | easy].
  - intros none. rewrite none in long. cbn in long. lia.
  - apply (later_spread theta heads before h tokens i).
Qed.
