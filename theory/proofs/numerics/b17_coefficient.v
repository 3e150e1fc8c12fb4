(** * B17: the coefficient that a backward pass of attention works with, by any of the ways that are granted.

    Main results
    - [b17_logsumexp]     the L in use, saved or recomputed: within ell, the larger of the two errors
    - [b17_coefficient]   p_hat_j = p_j e^w + loss, |w| <= omega_j, |loss| <= e^omega_j lost: omega_j is the larger of the
                          errors by a log-sum-exp (b17_saved_logsumexp) and by a recomputed sum (b17_recomputed_sum)

    Source: docs/tolerances/attention_backward.md; CoefficientLogs::of in numerics/rounding/rounding_attention_backward.cpp. *)

From softcheck.numerics Require Import row tilted_row reduction b1_sum b5_logsumexp b6_entropy b9_attention added_terms
  carried_exponential b17_saved_logsumexp b17_recomputed_sum.
Local Open Scope R_scope.

Lemma approximates_weaken a a' l l' x y : a <= a' -> l <= l' -> approximates a l x y -> approximates a' l' x y.
Proof. intros ha hl [t [e [bt [be ->]]]]. exists t, e. repeat split; lra. Qed.

Section Coefficient.
  Context (M : arithmetic).
  Hypothesis good : sound M.
  Context (A : R).
  Hypothesis roundings : 1 <= A.
  Context (keys : list key) (m m' : R).
  Notation scores := (map score keys).
  Notation computed_scores := (map computed_score keys).
  Hypothesis max : is_maximum m scores.
  Hypothesis max' : is_maximum m' computed_scores.
  Context (error : key -> R) (largest : R).
  Hypothesis errs : forall a, In a keys -> Rabs (computed_score a - score a) <= error a /\ error a <= largest.
  Context (s : R) (h j : nat).
  Hypothesis hs : sum_of_row M 0 m' computed_scores s h j.
  Hypothesis enough : recomputed_lost M keys h j < 1.
  Context (r : R).
  Hypothesis loses : 0 <= r.
  Hypothesis leaves : roundoff M + r < 1.
  (** How L is saved and read: a log error, and what underflows. *)
  Context (a_L lost_L : R).
  Hypothesis a_L_nonneg : 0 <= a_L.
  Notation L := (ln (partition_function scores)).

  Inductive logsumexp_in_use : R -> Prop :=
  | logsumexp_saved L' : approximates a_L lost_L L L' -> logsumexp_in_use L'
  | logsumexp_recomputed y L' :
      Rabs (y - ln s) <= log_error M * Rabs (ln s) + sum_floor M -> rounded_sum M (m' + y) L' -> logsumexp_in_use L'.

  Definition logsumexp_error : R :=
    Rmax ((exp a_L - 1) * Rabs L + lost_L) (recomputed_logsumexp_error M keys m error largest h j).

  Theorem b17_logsumexp L' : logsumexp_in_use L' -> Rabs (L' - L) <= logsumexp_error.
  Proof using good max max' errs hs enough a_L_nonneg.
    intros [L1 saved|y L1 hy sum].
    - eapply Rle_trans; [now apply saved_logsumexp with (a_L := a_L) (lost := lost_L)|]. apply Rmax_l.
    - eapply Rle_trans; [|apply Rmax_r]. now apply (recomputed_logsumexp M good keys m m' max max' error largest errs s h j hs enough y).
  Qed.

  (** The score may be computed again, another way. *)
  Inductive computed_coefficient (a : key) : R -> Prop :=
  | by_logsumexp x' L' b p :
      Rabs (x' - score a) <= error a -> logsumexp_in_use L' -> difference_from M A x' L' b -> computed_exp M (- b) p ->
      computed_coefficient a p
  | by_sum k v p :
      (k <= j)%nat -> carried M k (m' - computed_score a) v -> quotient_by_sum M r v s p -> computed_coefficient a p.

  (** omega_j *)
  Definition coefficient_log (a : key) : R :=
    Rmax (through_logsumexp M A m scores (error a) logsumexp_error (m - score a))
         (quotient_log M keys m error largest h j r a).

  Lemma coefficient_log_nonneg a : In a keys -> 0 <= coefficient_log a.
  Proof using good max max' errs hs enough loses leaves.
    intros ina. eapply Rle_trans; [|apply Rmax_r]. unfold quotient_log.
    pose proof (item_above M good keys m m' max max' error largest errs s h j hs a ina) as i0.
    pose proof (carried_nonneg M good j) as [c0 _]. pose proof (exp_unit_nonneg M good).
    pose proof (rho_nonneg M good keys m m' max max' error largest errs s h j hs enough).
    pose proof (quotient_unit_nonneg M r good loses leaves). pose proof (unit_nonneg M good). lra.
  Qed.

  Theorem b17_coefficient a p :
    In a keys -> computed_coefficient a p ->
    approximates (coefficient_log a) (exp (coefficient_log a) * coefficient_lost M j) (weight keys m a) p.
  Proof using good roundings max max' errs hs enough loses leaves a_L_nonneg.
    intros ina form. pose proof (carried_nonneg M good j) as [_ l0].
    assert (fx : 0 <= exp_floor M) by (unfold sound in good; lra).
    assert (fm : 0 <= product_floor M) by (unfold sound in good; lra).
    assert (above : 0 <= coefficient_log a /\ exp_floor M <= coefficient_lost M j).
    { split; [now apply coefficient_log_nonneg|].
      unfold coefficient_lost, carried_loss. pose proof (pos_INR j).
      assert (0 <= INR j * exp_floor M) by (apply Rmult_le_pos; lra).
      assert (0 <= INR j * product_floor M) by (apply Rmult_le_pos; lra). lra. }
    destruct above as [w0 lost0].
    destruct form as [x' L' b p bx inuse arg ex|k v p early num ratio].
    - pose proof (b17_logsumexp L' inuse) as bL.
      pose proof (b17_saved M good A roundings m scores max (score a) x' L' (error a) logsumexp_error b p
                    (in_map _ _ _ ina) bx bL arg ex) as close.
      rewrite (coefficient_from_weight m scores max) in close.
      replace (score a - m) with (- (m - score a)) in close by ring.
      eapply approximates_weaken; [apply Rmax_l| |exact close].
      pose proof (exp_at_least_one _ w0). apply Rle_trans with (1 * coefficient_lost M j); [lra|].
      apply Rmult_le_compat_r; lra.
    - pose proof (b17_quotient M good keys m m' max max' error largest errs s h j hs enough r loses leaves a k v p ina early num ratio)
        as close.
      eapply approximates_weaken; [apply Rmax_r| |exact close].
      apply Rmult_le_compat_r; [lra|]. apply exp_le. apply Rmax_r.
  Qed.
End Coefficient.
