(** * B17: the gradients of one key, from the errors of the coefficients of every query that sees it to dk and dv.

    Main results, over the queries of all heads of a group that see the key, each with keys, weights and delta of its own
    - [b17_key]         dk = scale sum p (g - delta) q: b17_pair of each query behind b17_score_gradient_sum
    - [b17_key_split]   the same where the scale's root meets both factors, or a factor is stored: b17_split_gradient_sum
    - [b17_value]       dv = sum p dO: the coefficients as they meet dO, behind b17_value_gradient

    The sums over queries are trees of any shape and order within a height of their own: atomics and splits are such trees.

    Source: docs/tolerances/attention_backward.md, "Sums"; ScoreGradientSum and ValueGradientSum in
    numerics/rounding/rounding_attention_backward.cpp. *)

From softcheck.numerics Require Import b5_logsumexp added_terms b17_sums b17_delta b17_query.
Local Open Scope R_scope.

Section Key.
  Context (M : arithmetic).
  Hypothesis good : sound M.
  Notation lambda := (unit M).
  Context {I A B : Type} (queries : list I) (components : list B) (key : A).
  Hypothesis visible : components <> [].
  (** What query i sees, and how: of the group's keys, values and dO of its own head. *)
  Context (keys : I -> list A) (dO : I -> B -> R) (v : A -> B -> R).
  Hypothesis seen : forall i, In i queries -> In key (keys i).
  Context (p p_hat p_met omega g_hat : I -> A -> R) (lost delta_hat : I -> R) (keys_height : I -> nat).
  Context (r lt unit_P floor_P lambda_O unit_dS floor_dS : R) (d h : nat).
  Hypothesis losses : 0 <= r /\ 0 <= lt /\ 0 <= unit_P /\ 0 <= floor_P /\ 0 <= lambda_O /\ 0 <= unit_dS /\ 0 <= floor_dS.
  Hypothesis coefficients : forall i, In i queries -> 0 <= lost i /\ forall a, In a (keys i) ->
    0 <= p i a /\ 0 <= omega i a /\ approximates (omega i a) (exp (omega i a) * lost i) (p i a) (p_hat i a) /\
    approximates unit_P floor_P (p_hat i a) (p_met i a).

  Lemma each_loses i :
    In i queries -> 0 <= r /\ 0 <= lt /\ 0 <= lost i /\ 0 <= unit_P /\ 0 <= floor_P /\ 0 <= lambda_O /\ 0 <= unit_dS /\ 0 <= floor_dS.
  Proof using losses coefficients. intros ini. destruct (coefficients i ini) as [hl _]. repeat split; apply losses || easy. Qed.

  (** ** dv, of one component *)

  Section Value.
    Context (c : B) (y : R).
    Hypothesis total : added M (r + lambda) lt (map (fun i => p_met i key * dO i c) queries) y h.
    Definition key_weight (i : I) : R := p i key.
    Definition key_log (i : I) : R := met_log (omega i) unit_P key.
    Definition key_loss (i : I) : R := met_loss (omega i) (lost i) unit_P floor_P key.
    Definition value_rounding : R := weighted_rounding M queries r h key_weight key_log (fun i => dO i c).
    Definition value_loss : R := weighted_loss M queries r lt h key_loss (fun i => dO i c).

    Theorem b17_value u_out floor_out dv :
      rounded_output u_out floor_out y dv ->
      let exact := sum (map (fun i => key_weight i * dO i c) queries) in
      Rabs (dv - exact) <= value_rounding + u_out * (Rabs exact + value_rounding) + (value_loss * (1 + u_out) + floor_out).
    Proof using good seen losses coefficients total.
      intros out exact.
      apply (b17_value_gradient M good queries r lt h ltac:(apply losses) ltac:(apply losses) key_weight
               (fun i => p_met i key) key_log key_loss (fun i => dO i c) y); [|easy|easy].
      intros i ini. pose proof (each_loses i ini) as all.
      exact (met (keys i) (p i) (p_hat i) (p_met i) (omega i) (lost i) r lt unit_P floor_P lambda_O unit_dS floor_dS
               all (proj2 (coefficients i ini)) key (seen i ini)).
    Qed.
  End Value.

  (** ** dk, of one component: q is that of each query *)

  Context (q : I -> R) (dS_hat : I -> R) (z : R).
  Hypothesis products : forall i, In i queries -> forall a, In a (keys i) ->
    exists h', (h' <= d)%nat /\ added M (2 * r + lambda) lt (map (fun c => dO i c * v a c) components) (g_hat i a) h'.
  Hypothesis deltas : forall i, In i queries ->
    computed_delta M (keys i) components (dO i) v (p i) (p_met i) r lt lambda_O d (keys_height i) (g_hat i) (delta_hat i).
  Hypothesis gradients : forall i, In i queries ->
    computed_pair M (p_hat i) unit_dS floor_dS (g_hat i) (delta_hat i) key (dS_hat i).

  Definition key_gradient (i : I) : R := pair_gradient (keys i) components (dO i) v (p i) key.
  (** eps of the key in each query's row *)
  Definition key_error (i : I) : R :=
    pair_error M (keys i) components (dO i) v (p i) (omega i) (lost i) r lt unit_P floor_P lambda_O unit_dS floor_dS d
      (keys_height i) key.

  Lemma key_near i : In i queries -> Rabs (dS_hat i - key_gradient i) <= key_error i.
  Proof using good visible seen losses coefficients products deltas gradients.
    intros ini.
    apply (b17_pair M good (keys i) components visible (dO i) v (p i) (p_hat i) (p_met i) (omega i) (lost i) r lt unit_P floor_P
             lambda_O unit_dS floor_dS d (keys_height i) (each_loses i ini) (proj2 (coefficients i ini)) (g_hat i) (products i ini)
             (delta_hat i) (deltas i ini) key (dS_hat i) (seen i ini) (gradients i ini)).
  Qed.

  Section Whole.
    Context (scale : R).
    Hypothesis total : scaled_sum M queries r lt h dS_hat q scale z.
    Definition key_rounding : R := gradient_sum_rounding M queries r h key_gradient key_error q scale.
    Definition key_sum_loss : R := gradient_sum_loss M queries lt h q scale.

    Theorem b17_key u_out floor_out dk :
      rounded_output u_out floor_out z dk ->
      let exact := scale * sum (map (fun i => key_gradient i * q i) queries) in
      Rabs (dk - exact) <= key_rounding + u_out * (Rabs exact + key_rounding) + (key_sum_loss * (1 + u_out) + floor_out).
    Proof using good visible seen losses coefficients products deltas gradients total.
      intros out exact.
      now apply (b17_score_gradient_sum M good queries r lt h ltac:(apply losses) ltac:(apply losses) key_gradient dS_hat key_error
                   q scale z key_near).
    Qed.
  End Whole.

  Section SplitScale.
    Context (s1 s2 c1 c2 : R).
    Hypothesis factors : 0 <= c1 /\ 0 <= c2.
    Hypothesis total : split_sum M queries r lt h dS_hat q s1 s2 c1 c2 z.
    Definition key_split_rounding : R := split_sum_rounding M queries r h key_gradient key_error q s1 s2 c1 c2.
    Definition key_split_loss : R := split_sum_loss M queries lt h q s2 c2.

    Theorem b17_key_split u_out floor_out dk :
      rounded_output u_out floor_out z dk ->
      let exact := s1 * s2 * sum (map (fun i => key_gradient i * q i) queries) in
      Rabs (dk - exact)
      <= key_split_rounding + u_out * (Rabs exact + key_split_rounding) + (key_split_loss * (1 + u_out) + floor_out).
    Proof using good visible seen losses coefficients products deltas gradients factors total.
      intros out exact.
      now apply (b17_split_gradient_output M good queries r lt h ltac:(apply losses) ltac:(apply losses) key_gradient dS_hat key_error
                   q s1 s2 c1 c2 z key_near factors).
    Qed.
  End SplitScale.
End Key.
