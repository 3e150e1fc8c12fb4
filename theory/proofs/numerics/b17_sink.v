(** * B17 from the scores to dq, of a row that may hold a sink.

    Main results, a sink being an item of the softmax that has no value: its g is 0 exactly
    - [b17_sink_delta]      delta over keys and sinks is delta over the keys, and so is O
    - [b17_sink_gradient]   what the sink's own score gets is - p delta
    - [b17_from_scores]     omega_j of b17_coefficient meets all that b17_query and b17_key ask of the coefficients
    - [b17_sink_query]      dq of the softmax over keys and sinks, by a kernel that sums over the keys alone

    Without sinks the last is b17_query from the scores on.

    Source: docs/tolerances/attention_backward.md, "A sink"; attention_backward_pairs in
    numerics/rounding/rounding_attention_backward.cpp, where a sink is a pair whose magnitude and sum are 0. *)

From softcheck.numerics Require Import row tilted_row reduction b1_sum b5_logsumexp b6_entropy b9_attention added_terms
  carried_exponential b17_saved_logsumexp b17_recomputed_sum b17_coefficient b17_sums b17_delta b17_query.
Local Open Scope R_scope.

Lemma sum_of_zeros {A : Type} (l : list A) (f : A -> R) : (forall a, In a l -> f a = 0) -> sum (map f l) = 0.
Proof.
  induction l as [|a l IH]; intros none; [easy|]. change (f a + sum (map f l) = 0).
  rewrite (none a), IH; [ring| |now left]. intros b inb. apply none. now right.
Qed.

Section Valueless.
  Context {A B : Type} (seen sinks : list A) (components : list B) (dO : B -> R) (v : A -> B -> R) (p : A -> R).
  Hypothesis valueless : forall a c, In a sinks -> v a c = 0.

  Lemma sink_product a : In a sinks -> value_product components dO v a = 0.
  Proof using valueless.
    intros ina. apply sum_of_zeros. intros c _. rewrite valueless by easy. ring.
  Qed.

  Let nothing (f : A -> R) : (forall a, In a sinks -> f a = 0) -> sum (map f (seen ++ sinks)) = sum (map f seen).
  Proof using.
    intros none. rewrite map_app, sum_app, (sum_of_zeros sinks f none). ring.
  Qed.

  Theorem b17_sink_delta :
    delta (seen ++ sinks) components dO v p = delta seen components dO v p /\
    forall c, output (seen ++ sinks) v p c = output seen v p c.
  Proof using valueless.
    split; [|intros c]; apply nothing; intros a ina; [rewrite sink_product by easy|rewrite valueless by easy]; ring.
  Qed.

  Theorem b17_sink_gradient a :
    In a sinks -> pair_gradient (seen ++ sinks) components dO v p a = - (p a * delta seen components dO v p).
  Proof using valueless.
    intros ina. unfold pair_gradient. rewrite sink_product, (proj1 b17_sink_delta) by easy. ring.
  Qed.
End Valueless.

Section FromScores.
  Context (M : arithmetic).
  Hypothesis good : sound M.
  Notation lambda := (unit M).
  Context (A : R).
  Hypothesis roundings : 1 <= A.
  (** Keys and sinks may agree in their scores: what tells them apart is their index. *)
  Context {I : Type} (seen sinks : list I) (row : I -> key) (m m' : R).
  Notation items := (map row (seen ++ sinks)).
  Notation scores := (map score items).
  Notation computed_scores := (map computed_score items).
  Hypothesis max : is_maximum m scores.
  Hypothesis max' : is_maximum m' computed_scores.
  Context (error : key -> R) (largest : R).
  Hypothesis errs : forall a, In a items -> Rabs (computed_score a - score a) <= error a /\ error a <= largest.
  Context (s : R) (h_sum j : nat).
  Hypothesis hs : sum_of_row M 0 m' computed_scores s h_sum j.
  Hypothesis enough : recomputed_lost M items h_sum j < 1.
  Context (r_div a_L lost_L : R).
  Hypothesis loses : 0 <= r_div.
  Hypothesis leaves : roundoff M + r_div < 1.
  Hypothesis a_L_nonneg : 0 <= a_L.

  (** omega_j, and what underflows *)
  Notation omega := (fun i => coefficient_log M A items m error largest h_sum j r_div a_L lost_L (row i)).
  Notation lost := (coefficient_lost M j).
  Notation p := (fun i => weight items m (row i)).
  Context (p_hat p_met : I -> R) (unit_P floor_P : R).
  Hypothesis computed : forall a, In a seen ->
    computed_coefficient M A items m' error s j r_div a_L lost_L (row a) (p_hat a) /\ approximates unit_P floor_P (p_hat a) (p_met a).

  Theorem b17_from_scores :
    0 <= lost /\ forall a, In a seen ->
    0 <= p a /\ 0 <= omega a /\ approximates (omega a) (exp (omega a) * lost) (p a) (p_hat a) /\
    approximates unit_P floor_P (p_hat a) (p_met a).
  Proof using good roundings max max' errs hs enough loses leaves a_L_nonneg computed.
    pose proof (carried_nonneg M good j) as [_ l0]. assert (fm : 0 <= product_floor M) by (unfold sound in good; lra).
    split; [unfold coefficient_lost; lra|]. intros a ina.
    assert (inr : In (row a) items) by (apply in_map, in_or_app; now left). destruct (computed a ina) as [form stored].
    split; [left; apply (weight_pos items m m' max max')|]. split; [|split; [|easy]].
    - now apply (coefficient_log_nonneg M good A items m m' max max' error largest errs s h_sum j hs enough r_div loses leaves a_L lost_L).
    - now apply (b17_coefficient M good A roundings items m m' max max' error largest errs s h_sum j hs enough r_div loses leaves a_L lost_L).
  Qed.

  (** ** dq: v, k, the products and delta as in b17_query, over the keys alone *)

  Context {B : Type} (components : list B).
  Hypothesis visible : components <> [].
  Context (dO : B -> R) (v : I -> B -> R) (k : I -> R) (scale : R).
  Hypothesis valueless : forall a c, In a sinks -> v a c = 0.
  Context (r lt lambda_O unit_dS floor_dS : R) (d h : nat).
  Hypothesis losses : 0 <= r /\ 0 <= lt /\ 0 <= unit_P /\ 0 <= floor_P /\ 0 <= lambda_O /\ 0 <= unit_dS /\ 0 <= floor_dS.
  Context (g_hat dS_hat : I -> R) (delta_hat z : R).
  Hypothesis products : forall a, In a seen ->
    exists h', (h' <= d)%nat /\ added M (2 * r + lambda) lt (map (fun c => dO c * v a c) components) (g_hat a) h'.
  Hypothesis common : computed_delta M seen components dO v p p_met r lt lambda_O d h g_hat delta_hat.
  Hypothesis gradients : forall a, In a seen -> computed_pair M p_hat unit_dS floor_dS g_hat delta_hat a (dS_hat a).
  Hypothesis total : scaled_sum M seen r lt h dS_hat k scale z.

  Definition sink_rounding : R :=
    query_rounding M seen components dO v k scale p omega lost r lt unit_P floor_P lambda_O unit_dS floor_dS d h.

  Theorem b17_sink_query u_out floor_out dq :
    rounded_output u_out floor_out z dq ->
    let exact := scale * sum (map (fun a => pair_gradient (seen ++ sinks) components dO v p a * k a) seen) in
    Rabs (dq - exact)
    <= sink_rounding + u_out * (Rabs exact + sink_rounding) + (query_loss M seen k scale lt h * (1 + u_out) + floor_out).
  Proof using All.
    intros out exact. destruct b17_from_scores as [hl all].
    assert (same : exact = scale * sum (map (fun a => pair_gradient seen components dO v p a * k a) seen)).
    { unfold exact, pair_gradient. now rewrite (proj1 (b17_sink_delta seen sinks components dO v p valueless)). }
    rewrite same.
    apply (b17_query M good seen components visible dO v k scale p p_hat p_met omega lost r lt unit_P floor_P lambda_O unit_dS
             floor_dS d h ltac:(tauto) all g_hat products delta_hat common dS_hat z gradients u_out floor_out dq total out).
  Qed.
End FromScores.
