(** * Transformers as stacks of layers: the networks of Theorem 2.2 and of Remarks B.2 and C.1.

    Main definitions
    - [layer], [forward]      softmax attention of several heads, residual or not, and pointwise feedforward layers
    - [visible]               BERT (eq. (4)): every item; GPT (eq. (5)): the item itself and those before it
    - [coefficients]          softmax_theta of the logits e_j = q . k_j, eqs (1)-(2)
    - [well_formed]           every map of the stack is continuous at the width it works on
    Main results
    - [well_formed_mlp], [well_formed_linear]   MLPs with a continuous activation and heads of matrices are well formed
    - [concrete_well_formed]   the networks of theory/small_transformer.hpp: ReLU, tanh or GELU

    Source: paper, Section 2 and Appendix A. A layer of theory/small_transformer.hpp is two layers here: attention, then
    a feedforward map (the MLP with its own residual). *)

From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax vectors.
Local Open Scope R_scope.

Inductive attention_mask : Set := bert_mask | gpt_mask.

(** Queries, keys and values may be any maps; the output projection is folded into the values. *)
Record head : Set := {
  head_width : nat;
  query : vector -> vector;
  key : vector -> vector;
  value : vector -> vector
}.

Inductive layer : Set :=
  | Attention (residual : bool) (heads : list head)
  | Feedforward (width : nat) (f : vector -> vector).

(** ** One layer *)

Definition visible (mask : attention_mask) (i : nat) (tokens : list vector) : list vector :=
  match mask with bert_mask => tokens | gpt_mask => firstn (S i) tokens end.

Definition token (tokens : list vector) (i : nat) : vector := nth i tokens zero.

(** e_j = q . k_j, for the query of x and the keys of the items it sees. *)
Definition logit (h : head) (x y : vector) : R := dot (head_width h) (query h x) (key h y).
Definition logits (h : head) (x : vector) (items : list vector) : list R := map (logit h x) items.

Section Network.
  Variables (theta : R) (mask : attention_mask).

  Definition item_coefficient (h : head) (x : vector) (items : list vector) (y : vector) : R :=
    coefficient (tempered theta (logits h x items)) (logit h x y / theta).

  Definition coefficients (h : head) (x : vector) (items : list vector) : list R :=
    softmax (tempered theta (logits h x items)).

  (** z = sum_j alpha_j v_j, eq. (3). *)
  Definition attend (h : head) (x : vector) (items : list vector) : vector :=
    fun c => sum (map (fun y => item_coefficient h x items y * value h y c) items).

  Definition attention (residual : bool) (heads : list head) (x : vector) (items : list vector) : vector :=
    fun c => (if residual then x c else 0) + sum (map (fun h => attend h x items c) heads).

  Definition apply_layer (l : layer) (tokens : list vector) : list vector :=
    match l with
    | Attention residual heads =>
        map (fun i => attention residual heads (token tokens i) (visible mask i tokens)) (seq 0 (length tokens))
    | Feedforward _ f => map f tokens
    end.

  Fixpoint forward (layers : list layer) (tokens : list vector) : list vector :=
    match layers with
    | [] => tokens
    | l :: rest => forward rest (apply_layer l tokens)
    end.
End Network.

(** ** Widths *)

Definition width_behind (d : nat) (l : layer) : nat :=
  match l with Attention _ _ => d | Feedforward width _ => width end.

Fixpoint output_width (d : nat) (layers : list layer) : nat :=
  match layers with [] => d | l :: rest => output_width (width_behind d l) rest end.

Definition well_formed_head (d : nat) (h : head) : Prop :=
  continuous d (head_width h) (query h) /\ continuous d (head_width h) (key h) /\ continuous d d (value h).

Definition well_formed_layer (d : nat) (l : layer) : Prop :=
  match l with
  | Attention _ heads => forall h, In h heads -> well_formed_head d h
  | Feedforward width f => continuous d width f
  end.

Fixpoint well_formed (d : nat) (layers : list layer) : Prop :=
  match layers with
  | [] => True
  | l :: rest => well_formed_layer d l /\ well_formed (width_behind d l) rest
  end.

(** ** Lengths and members *)

Lemma length_apply_layer theta mask l tokens : length (apply_layer theta mask l tokens) = length tokens.
Proof. destruct l; cbn; rewrite map_length; [apply seq_length | easy]. Qed.

Lemma length_forward theta mask layers tokens : length (forward theta mask layers tokens) = length tokens.
Proof.
  revert tokens. induction layers as [|l rest IH]; intros tokens; [easy|]. cbn. rewrite IH. apply length_apply_layer.
Qed.

Lemma in_visible mask i tokens x : In x (visible mask i tokens) -> In x tokens.
Proof. destruct mask; [easy|]. cbn. intros inx. rewrite <- (firstn_skipn (S i) tokens). apply in_or_app. now left. Qed.

Lemma token_in tokens i : (i < length tokens)%nat -> In (token tokens i) tokens.
Proof. apply nth_In. Qed.

Lemma visible_not_nil mask i tokens : (i < length tokens)%nat -> visible mask i tokens <> [].
Proof. destruct tokens; [cbn; lia|]. now destruct mask. Qed.

(** The i-th element of a mapped list. *)
Lemma token_apply_attention theta mask residual heads tokens i :
  (i < length tokens)%nat ->
  token (apply_layer theta mask (Attention residual heads) tokens) i
  = attention theta residual heads (token tokens i) (visible mask i tokens).
Proof.
  intros less. unfold token at 1. cbn.
  rewrite (nth_indep _ zero (attention theta residual heads (token tokens 0) (visible mask 0 tokens)))
    by now rewrite map_length, seq_length.
  rewrite map_nth with (f := fun i => attention theta residual heads (token tokens i) (visible mask i tokens)).
  now rewrite seq_nth.
Qed.

Lemma token_apply_feedforward theta mask width f tokens i :
  (i < length tokens)%nat -> token (apply_layer theta mask (Feedforward width f) tokens) i = f (token tokens i).
Proof.
  intros less. unfold token. cbn. rewrite (nth_indep _ zero (f zero)) by now rewrite map_length. apply map_nth.
Qed.

Lemma visible_length_gpt i tokens : (i < length tokens)%nat -> length (visible gpt_mask i tokens) = S i.
Proof. intros. cbn [visible]. rewrite firstn_length. lia. Qed.

(** The coefficients of one query add up to 1, and are those of the row. *)
Lemma sum_item_coefficients theta h x items : items <> [] -> sum (map (item_coefficient theta h x items) items) = 1.
Proof.
  intros some. rewrite <- (sum_coefficients (tempered theta (logits h x items))).
  - unfold tempered at 2, logits at 2. now rewrite !map_map.
  - now apply map_not_nil, map_not_nil.
Qed.

Lemma item_coefficient_in theta h x items y :
  In y items -> In (item_coefficient theta h x items y) (coefficients theta h x items).
Proof.
  intros iny. unfold coefficients, softmax, item_coefficient. apply in_map.
  unfold tempered. apply (in_map (fun e => e / theta)). unfold logits. now apply in_map.
Qed.

Lemma item_coefficient_pos theta h x items y : items <> [] -> 0 < item_coefficient theta h x items y.
Proof. intros some. apply coefficient_pos. now apply map_not_nil, map_not_nil. Qed.

(** ** The concrete networks of theory/small_transformer.hpp *)

(** x -> outer activation(inner x + inner_bias) + outer_bias, with or without x added. *)
Definition mlp (width hidden : nat) (residual : bool) (inner outer : matrix) (inner_bias outer_bias : vector)
           (activation : R -> R) (x : vector) : vector :=
  let result := add (multiply hidden outer (fun i => activation (add (multiply width inner x) inner_bias i)))
    outer_bias in
  if residual then add result x else result.

(** A composition of affine maps and the activation, entry by entry. *)
Lemma well_formed_mlp width hidden residual inner outer inner_bias outer_bias activation :
  continuity activation ->
  well_formed_layer width (Feedforward width (mlp width hidden residual inner outer inner_bias outer_bias activation)).
Proof.
  intros cont. cbn.
  assert (plain : continuous width width (fun x =>
    add (multiply hidden outer (fun i => activation (add (multiply width inner x) inner_bias i))) outer_bias)).
  { apply continuous_add; [|apply continuous_const].
    apply (continuous_compose width hidden width); [|apply continuous_multiply].
    apply (continuous_compose width hidden hidden (fun x => add (multiply width inner x) inner_bias)
             (fun x i => activation (x i))); [|now apply continuous_pointwise].
    apply continuous_add; [apply continuous_multiply | apply continuous_const]. }
  destruct residual; [|exact plain]. apply continuous_add; [exact plain | apply continuous_identity].
Qed.

(** Heads of matrices, with biases (none is needed for the values: it is one of the MLP's). *)
Definition linear_head (width inner : nat) (Q K V : matrix) (b_Q b_K : vector) : head :=
  {| head_width := inner;
     query := fun x => add (multiply width Q x) b_Q;
     key := fun x => add (multiply width K x) b_K;
     value := multiply width V |}.

Lemma well_formed_linear width inner Q K V b_Q b_K : well_formed_head width (linear_head width inner Q K V b_Q b_K).
Proof.
  split; [|split]; cbn; try apply continuous_multiply;
    (apply continuous_add; [apply continuous_multiply | apply continuous_const]).
Qed.

Definition relu (x : R) : R := Rmax x 0.

(** The tanh form of GELU, Appendix A. *)
Definition gelu (x : R) : R := x / 2 * (1 + tanh (sqrt (2 / PI) * (x + 44715 / 1000000 * x ^ 3))).

Lemma relu_continuous : continuity relu.
Proof.
  intros x eps pos. exists eps. split; [easy|]. intros y [_ close]. unfold dist in *; cbn in *. unfold R_dist in *.
  unfold relu. revert close. unfold Rmax, Rabs. repeat destruct Rle_dec; repeat destruct Rcase_abs; lra.
Qed.

(** A quotient of continuous functions, and cosh is positive. *)
Lemma tanh_continuous : continuity tanh.
Proof.
  intros x. unfold tanh. apply continuity_pt_div.
  - apply derivable_continuous_pt, derivable_pt_sinh.
  - apply derivable_continuous_pt, derivable_pt_cosh.
  - unfold cosh. pose proof (exp_pos x). pose proof (exp_pos (- x)). lra.
Qed.

(** A product with a composition of continuous functions. *)
Lemma gelu_continuous : continuity gelu.
Proof.
  unfold gelu. apply continuity_mult; [intros x; reg|]. apply (continuity_plus (fun _ => 1)); [intros x; reg|].
  apply (continuity_comp (fun x => sqrt (2 / PI) * (x + 44715 / 1000000 * x ^ 3)) tanh); [|apply tanh_continuous].
  intros x. reg.
Qed.

(** A layer of theory/small_transformer.hpp at one width: heads of matrices, MLPs with one of its activations. *)
Definition concrete_layer (d : nat) (l : layer) : Prop :=
  match l with
  | Attention _ heads =>
      forall h, In h heads -> exists inner Q K V b_Q b_K, h = linear_head d inner Q K V b_Q b_K
  | Feedforward width f =>
      width = d /\ exists hidden residual inner outer inner_bias outer_bias activation,
        f = mlp d hidden residual inner outer inner_bias outer_bias activation /\
        (activation = relu \/ activation = tanh \/ activation = gelu)
  end.

(** Affine maps and the three activations are continuous. *)
Theorem concrete_well_formed d layers : (forall l, In l layers -> concrete_layer d l) -> well_formed d layers.
Proof.
  induction layers as [|l rest IH]; intros concrete; [easy|].
  assert (here : well_formed_layer d l /\ width_behind d l = d).
  { specialize (concrete l (or_introl eq_refl)). destruct l as [residual heads | width f]; cbn in concrete.
    - split; [|easy]. intros h inh. destruct (concrete h inh) as [inner [Q [K [V [b_Q [b_K ->]]]]]].
      apply well_formed_linear.
    - destruct concrete as [-> [hidden [residual [inner [outer [b [b' [activation [-> smooth]]]]]]]]].
      split; [|easy]. apply well_formed_mlp.
      destruct smooth as [-> | [-> | ->]]; [apply relu_continuous | apply tanh_continuous | apply gelu_continuous]. }
  destruct here as [here same]. split; [easy|]. rewrite same. apply IH. intros. apply concrete. now right.
Qed.
