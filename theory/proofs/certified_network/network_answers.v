(** * What the project's max-retrieval network answers, in exact reals, and its attention over [a, b, ..., b].

    Main definitions
    - [scores], [answers]   ten scores behind attention and head (paper, Appendix A), and the class whose score is largest
    - [right_class]         the class of the item of the largest priority
    Main results
    - [two_valued_attention]   on one item a and m items b attention gives alpha f(a) + (1 - alpha) f(b)
    - [share_between]          alpha = 1 / (1 + m e^-(logit of a less that of b)) lies in (0, 1], and falls with m
    - [mixture_behind]         affine layers behind it mix likewise

    Source: paper, Corollary B.1 and Appendix A; experiments/max_retrieval_layout.hpp has the same layers. *)

From Coq Require Import ZArith.
From softcheck Require Import softmax vectors lemma_2_1 proposition_3_1.
From softcheck.certified_network Require Import fixed_point ball_layers max_retrieval.
Local Open Scope R_scope.

(** ** The rest of the network *)

Record answer_layers := {
  attention_value : dense_layer;
  attention_output : dense_layer;
  head_1 : dense_layer;
  head_2 : dense_layer
}.

Section Network.
  Variables (N : network) (T : answer_layers) (y : R).

  Definition value_of (x : item) : vector := apply_layer (attention_value T) 128 (encode_item N x).

  (** z = sum_j alpha_j v_j, eq. (3). *)
  Definition attended (items : list item) : vector :=
    fun c => sum (map (fun term => fst term * value_of (snd term) c) (combine (softmax (logits N y items)) items)).

  Definition head_of (z : vector) : vector :=
    apply_layer (head_2 T) 128 (pointwise_gelu (apply_layer (head_1 T) 128 (apply_layer (attention_output T) 128 z))).

  Definition scores (items : list item) : vector := head_of (attended items).

  Definition answers (items : list item) (class : nat) : Prop :=
    (class < 10)%nat /\ forall c, (c < 10)%nat -> c <> class -> scores items c < scores items class.

  Definition right_class (items : list item) (class : nat) : Prop :=
    exists x, In x items /\ snd x = class /\ forall z, In z items -> z <> x -> fst z < fst x.

  (** An answer, and a right class, is one at most. *)
  Lemma one_answer items c d : answers items c -> answers items d -> c = d.
  Proof.
    intros [less best] [less' best']. destruct (Nat.eq_dec c d) as [|other]; [easy|]. exfalso.
    specialize (best d less' ltac:(congruence)). specialize (best' c less other). lra.
  Qed.

  Lemma one_right_class items c d : right_class items c -> right_class items d -> c = d.
  Proof.
    intros [x [inx [<- best]]] [x' [inx' [<- best']]]. destruct (Req_dec (fst x) (fst x')) as [same | other].
    - destruct (Nat.eq_dec (snd x) (snd x')) as [|differ]; [easy|]. specialize (best x' inx' ltac:(intros ->; easy)).
      lra.
    - specialize (best x' inx' ltac:(intros ->; easy)). specialize (best' x inx ltac:(intros ->; easy)). lra.
  Qed.

  (** ** One item a, and m times b *)

  Definition logit_of (x : item) : R :=
    dot 128 (add (multiply 128 (weight_matrix (attention_query N)) (encode_query N y)) (bias_vector (attention_query N)))
      (add (multiply 128 (weight_matrix (attention_key N)) (encode_item N x)) (bias_vector (attention_key N)))
    / sqrt (INR 128).

  Lemma logits_are items : logits N y items = map logit_of items.
  Proof. unfold logits, biased_logits. now rewrite map_map. Qed.

  Definition share (m : nat) (difference : R) : R := 1 / (1 + INR m * exp (- difference)).

  Lemma share_denominator m difference : 1 <= 1 + INR m * exp (- difference).
  Proof. pose proof (pos_INR m). pose proof (exp_pos (- difference)). nra. Qed.

  Lemma share_unit m difference : 0 < share m difference <= 1.
  Proof.
    pose proof (share_denominator m difference). unfold share, Rdiv. rewrite Rmult_1_l. split.
    - apply Rinv_0_lt_compat. lra.
    - rewrite <- Rinv_1. apply Rinv_le_contravar; lra.
  Qed.

  Theorem share_between k m low high difference :
    (k <= m)%nat -> low <= difference <= high ->
    share m low <= share m difference <= share k high.
  Proof.
    intros more [above_low below_high]. unfold share, Rdiv. rewrite !Rmult_1_l.
    assert (exp (- difference) <= exp (- low)) by (apply exp_le; lra).
    assert (exp (- high) <= exp (- difference)) by (apply exp_le; lra). apply le_INR in more. pose proof (pos_INR k).
    pose proof (exp_pos (- high)). pose proof (share_denominator m difference). pose proof (share_denominator k high).
    split; apply Rinv_le_contravar; try lra; try nra.
  Qed.

  Lemma combined_copies (p : R) (b : item) m : combine (repeat p m) (repeat b m) = repeat (p, b) m.
  Proof. induction m as [|m IH]; [easy|]. cbn. now rewrite IH. Qed.

  Theorem two_valued_attention a b m c :
    let alpha := share m (logit_of a - logit_of b) in
    attended (a :: repeat b m) c = alpha * value_of a c + (1 - alpha) * value_of b c.
  Proof.
    intros alpha. unfold attended. rewrite logits_are. unfold softmax. set (row := map logit_of (a :: repeat b m)).
    assert (copies : row = logit_of a :: repeat (logit_of b) m) by (unfold row; cbn [map]; now rewrite map_repeat).
    assert (total : partition_function row = exp (logit_of a) + INR m * exp (logit_of b)).
    { rewrite copies. unfold partition_function. cbn [map]. now rewrite map_repeat, <- sum_repeat. }
    rewrite copies at 2. cbn [map combine]. rewrite map_repeat, combined_copies. cbn [map]. rewrite map_repeat.
    unfold sum. cbn [fold_right]. match goal with |- context [fold_right Rplus 0 ?rest] => fold (sum rest) end.
    rewrite sum_repeat. cbn [fst snd]. unfold coefficient. rewrite total. pose proof (exp_pos (logit_of a)).
    pose proof (exp_pos (logit_of b)). pose proof (pos_INR m). unfold alpha, share.
    replace (- (logit_of a - logit_of b)) with (logit_of b + - logit_of a) by ring. rewrite exp_plus, exp_Ropp. field.
    split; nra.
  Qed.
End Network.

(** Affine layers take mixtures to mixtures. *)
Lemma mixture_through l columns alpha u v z i :
  (forall j, z j = alpha * u j + (1 - alpha) * v j) ->
  apply_layer l columns z i = alpha * apply_layer l columns u i + (1 - alpha) * apply_layer l columns v i.
Proof.
  intros mixed. unfold apply_layer, add. unfold multiply.
  rewrite (dot_ext columns _ z (weight_matrix l i) (add (scale alpha u) (scale (1 - alpha) v)))
    by (intros; try rewrite mixed; easy).
  rewrite dot_add_r, !dot_scale_r. ring.
Qed.

Theorem mixture_behind T alpha u v z i :
  (forall j, z j = alpha * u j + (1 - alpha) * v j) ->
  let hidden w := apply_layer (head_1 T) 128 (apply_layer (attention_output T) 128 w) in
  hidden z i = alpha * hidden u i + (1 - alpha) * hidden v i.
Proof. intros mixed hidden. unfold hidden. apply mixture_through. intros j. now apply mixture_through. Qed.
