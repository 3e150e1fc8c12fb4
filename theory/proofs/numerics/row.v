(** * A row of logits as the rounding bounds see it: S, Dbar, V2 relative to a reference.

    Main results
    - [entropy_from_statistics]     H = ln S + Dbar                                       (docs/tolerances.md, Notation)
    - [logsumexp_from_statistics]   L = m + ln S
    - [coefficient_from_weight]     p = e^(-D) / S

    Temperature is applied already: an item here is x / theta. Masked items are left out. *)

From softcheck Require Export softmax.
From softcheck.floating_point Require Export relative_error standard_model.
Local Open Scope R_scope.

(** sum_i e^(x_i - r) f(r - x_i). *)
Definition weighted_sum (r : R) (logits : list R) (f : R -> R) : R :=
  sum (map (fun x => exp (x - r) * f (r - x)) logits).

(** S, relative to the reference r. *)
Definition weight_sum (r : R) (logits : list R) : R := weighted_sum r logits (fun _ => 1).

(** T = sum w D. *)
Definition deviation_sum (r : R) (logits : list R) : R := weighted_sum r logits (fun d => d).

(** Dbar and V2 of the row statistics. *)
Definition mean_deviation (r : R) (logits : list R) : R := deviation_sum r logits / weight_sum r logits.
Definition mean_square_deviation (r : R) (logits : list R) : R :=
  weighted_sum r logits (fun d => d ^ 2) / weight_sum r logits.

Definition above_all (r : R) (logits : list R) : Prop := forall x, In x logits -> x <= r.
Definition is_maximum (m : R) (logits : list R) : Prop := In m logits /\ above_all m logits.

(** ** Sums *)

Lemma weighted_sum_app r l1 l2 f : weighted_sum r (l1 ++ l2) f = weighted_sum r l1 f + weighted_sum r l2 f.
Proof. unfold weighted_sum. now rewrite map_app, sum_app. Qed.

Lemma weighted_sum_single r x f : weighted_sum r [x] f = exp (x - r) * f (r - x).
Proof. unfold weighted_sum, sum. simpl. ring. Qed.

Lemma weighted_sum_permutation r l l' f :
  Permutation l l' -> weighted_sum r l f = weighted_sum r l' f.
Proof. apply sum_map_permutation. Qed.

Lemma weighted_sum_ext r l f g :
  (forall x, In x l -> f (r - x) = g (r - x)) -> weighted_sum r l f = weighted_sum r l g.
Proof. intros same. apply sum_map_ext. intros x inx. now rewrite same. Qed.

Lemma weighted_sum_le r l f g :
  (forall x, In x l -> f (r - x) <= g (r - x)) -> weighted_sum r l f <= weighted_sum r l g.
Proof.
  intros below. apply sum_map_le. intros x inx. apply Rmult_le_compat_l; [left; apply exp_pos | now apply below].
Qed.

Lemma weighted_sum_plus r l f g :
  weighted_sum r l (fun d => f d + g d) = weighted_sum r l f + weighted_sum r l g.
Proof. unfold weighted_sum. rewrite <- sum_map_plus. apply sum_map_ext. intros. ring. Qed.

Lemma weighted_sum_mult r l c f : weighted_sum r l (fun d => c * f d) = c * weighted_sum r l f.
Proof. unfold weighted_sum. rewrite <- sum_map_mult_l. apply sum_map_ext. intros. ring. Qed.

Lemma weighted_sum_nonneg r l f : (forall x, In x l -> 0 <= f (r - x)) -> 0 <= weighted_sum r l f.
Proof.
  intros nonneg. apply sum_map_nonneg. intros x inx.
  apply Rmult_le_pos; [left; apply exp_pos | now apply nonneg].
Qed.

Lemma weight_sum_sum r l : weight_sum r l = sum (map (fun x => exp (x - r)) l).
Proof. apply sum_map_ext. intros. ring. Qed.

Lemma app_above_all r l1 l2 : above_all r l1 -> above_all r l2 -> above_all r (l1 ++ l2).
Proof. intros a1 a2 x inx. apply in_app_or in inx as [inx|inx]; auto. Qed.

(** The weight of the maximum is 1. *)
Lemma weight_sum_at_least_one m l : is_maximum m l -> 1 <= weight_sum m l.
Proof.
  intros [inm _]. rewrite weight_sum_sum.
  replace 1 with (exp (m - m)) by (rewrite Rminus_diag_eq by easy; apply exp_0).
  apply (sum_map_at_least_one (fun x => exp (x - m))); [intros; left; apply exp_pos | easy].
Qed.

Lemma mean_deviation_nonneg m l : is_maximum m l -> 0 <= mean_deviation m l.
Proof.
  intros max. pose proof (weight_sum_at_least_one m l max). apply Rmult_le_pos.
  - apply weighted_sum_nonneg. intros x inx. pose proof (proj2 max x inx). lra.
  - left. apply Rinv_0_lt_compat. lra.
Qed.

Lemma mean_square_deviation_nonneg m l : is_maximum m l -> 0 <= mean_square_deviation m l.
Proof.
  intros max. pose proof (weight_sum_at_least_one m l max). apply Rmult_le_pos.
  - apply weighted_sum_nonneg. intros. apply pow2_ge_0.
  - left. apply Rinv_0_lt_compat. lra.
Qed.

(** ** Another reference: a factor, and for T a shift *)

Lemma weight_sum_rescaled r r' l : weight_sum r' l = exp (r - r') * weight_sum r l.
Proof.
  rewrite !weight_sum_sum, <- sum_map_mult_l. apply sum_map_ext. intros x _.
  rewrite <- exp_plus. f_equal. ring.
Qed.

(** ** The row's values from its statistics *)

Section Values.
  Context (m : R) (logits : list R).
  Hypothesis max : is_maximum m logits.
  Let visible : logits <> [] := in_not_nil m logits (proj1 max).

  Lemma partition_from_weights : partition_function logits = exp m * weight_sum m logits.
  Proof.
    rewrite weight_sum_sum. unfold partition_function. rewrite <- sum_map_mult_l.
    apply sum_map_ext. intros. rewrite <- exp_plus. f_equal. ring.
  Qed.

  Theorem coefficient_from_weight x : coefficient logits x = exp (x - m) / weight_sum m logits.
  Proof.
    unfold coefficient. rewrite partition_from_weights.
    pose proof (weight_sum_at_least_one m logits max). unfold Rminus. rewrite exp_plus, exp_Ropp.
    field. split; [apply Rgt_not_eq, exp_pos | lra].
  Qed.

  Theorem logsumexp_from_statistics : ln (partition_function logits) = m + ln (weight_sum m logits).
  Proof.
    rewrite partition_from_weights. pose proof (weight_sum_at_least_one m logits max).
    rewrite ln_mult, ln_exp; [easy | apply exp_pos | lra].
  Qed.

  Lemma expectation_from_weights f :
    expectation logits (fun x => f (m - x)) = weighted_sum m logits f / weight_sum m logits.
  Proof.
    unfold expectation, weighted_sum, Rdiv. rewrite <- sum_map_mult_r. apply sum_map_ext. intros x _.
    rewrite coefficient_from_weight. unfold Rdiv. ring.
  Qed.

  Theorem entropy_from_statistics : entropy logits = ln (weight_sum m logits) + mean_deviation m logits.
  Proof.
    rewrite entropy_log_partition, logsumexp_from_statistics by easy.
    unfold mean_deviation, deviation_sum. rewrite <- expectation_from_weights.
    rewrite (expectation_ext _ (fun x => m - x) (fun x => m + -1 * x)) by (intros; ring).
    rewrite expectation_plus, expectation_const, expectation_mult by easy. unfold mean. ring.
  Qed.

End Values.
