(** * Proposition 3.2: entropy falls as the logits are multiplied by a larger beta.

    Main results (p_i = e^(beta e_i) / Z(beta); mean and variance of the logits e under p)
    - [log_partition_derivative]   d ln Z / d beta = E[e]
    - [log_partition_curvature]    d^2 ln Z / d beta^2 = Var(e)
    - [entropy_derivative]         dH / d beta = -beta Var(e)
    - [monotone]                   H falls as |beta| grows, for each sign of beta
    - [strict]                     strictly, unless all logits are equal; then it is constant
    - [not_monotone_across_signs]  [0, 0, 1] at beta = 10 and -11: for |beta| across signs it is false

    And without derivatives, as theory/ decides them between beta_1 and beta_2 = beta_1 + h, h >= 0,
    spread at most delta:
    - [log_partition_difference]   h E_1 <= ln Z_2 - ln Z_1 <= h E_2
    - [mean_difference]            h Var_1 e^(-delta h) <= E_2 - E_1 <= h Var_1 e^(delta h)
    - [entropy_drop_between]       the same factors around (beta_2^2 - beta_1^2)/2 Var_1 for H_1 - H_2, beta_1 >= 0
    - [entropy_drop]               H_1 - H_2 = (beta_2^2 - beta_1^2)/2 Var_b at some b in between

    Source: paper, Proposition 3.2 (for beta >= 0); the case beta <= 0 and the counterexample are this project's. *)

From Coq Require Import Reals List Lra Lia.
From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax standard_interval.
Import ListNotations.
Local Open Scope R_scope.

(** ** The moments of the logits at beta *)

(** sum_i e_i^k e^(beta e_i). *)
Definition moment (k : nat) (logits : list R) (beta : R) : R :=
  sum (map (fun x => x ^ k * exp (beta * x)) logits).

(** E[e], Var(e) under p: of the logits themselves, not of beta times the logits. *)
Definition mean_at (logits : list R) (beta : R) : R :=
  sum (map (fun x => coefficient (scaled beta logits) (beta * x) * x) logits).
Definition variance_at (logits : list R) (beta : R) : R :=
  sum (map (fun x => coefficient (scaled beta logits) (beta * x) * (x - mean_at logits beta) ^ 2) logits).

Definition log_partition (logits : list R) (beta : R) : R := ln (partition_function (scaled beta logits)).
Definition entropy_at (logits : list R) (beta : R) : R := entropy (scaled beta logits).

Lemma scaled_visible beta logits : logits <> [] -> scaled beta logits <> [].
Proof. apply map_not_nil. Qed.

Lemma partition_moment logits beta : partition_function (scaled beta logits) = moment 0 logits beta.
Proof.
  unfold partition_function, scaled, moment. rewrite map_map. apply sum_map_ext. intros. simpl. ring.
Qed.

Lemma moment_0_pos logits beta : logits <> [] -> 0 < moment 0 logits beta.
Proof. intros. rewrite <- partition_moment. now apply partition_pos, scaled_visible. Qed.

Lemma mean_at_moments logits beta : mean_at logits beta = moment 1 logits beta / moment 0 logits beta.
Proof.
  unfold mean_at, coefficient. rewrite partition_moment. unfold moment at 2, Rdiv.
  rewrite <- sum_map_mult_r. apply sum_map_ext. intros. ring.
Qed.

(** The square is multiplied out under the sum. *)
Lemma variance_at_moments logits beta :
  logits <> [] ->
  variance_at logits beta
  = moment 2 logits beta / moment 0 logits beta - (moment 1 logits beta / moment 0 logits beta) ^ 2.
Proof.
  intros visible. pose proof (moment_0_pos logits beta visible) as pos.
  set (m := mean_at logits beta).
  assert (total : variance_at logits beta
    = / moment 0 logits beta * (moment 2 logits beta - 2 * m * moment 1 logits beta + m ^ 2 * moment 0 logits beta)).
  { unfold variance_at, coefficient. rewrite partition_moment. fold m.
    set (w := / moment 0 logits beta). unfold Rdiv. fold w. unfold moment.
    rewrite <- !sum_map_mult_l, <- sum_map_minus, <- sum_map_plus, <- sum_map_mult_l.
    apply sum_map_ext. intros. ring. }
  rewrite total. unfold m. rewrite mean_at_moments. field. lra.
Qed.

Lemma sum_coefficients_at logits beta :
  logits <> [] -> sum (map (fun x => coefficient (scaled beta logits) (beta * x)) logits) = 1.
Proof.
  intros visible. rewrite <- (sum_coefficients (scaled beta logits)) by now apply scaled_visible.
  unfold scaled at 3. now rewrite map_map.
Qed.

Lemma mean_scaled logits beta : mean (scaled beta logits) = beta * mean_at logits beta.
Proof.
  unfold mean, expectation, mean_at. unfold scaled at 2. rewrite map_map, <- sum_map_mult_l.
  apply sum_map_ext. intros. ring.
Qed.

Lemma entropy_at_log_partition logits beta :
  logits <> [] -> entropy_at logits beta = log_partition logits beta - beta * mean_at logits beta.
Proof.
  intros. unfold entropy_at. rewrite entropy_log_partition, mean_scaled by now apply scaled_visible.
  reflexivity.
Qed.

Lemma variance_at_nonneg logits beta : 0 <= variance_at logits beta.
Proof.
  apply sum_map_nonneg. intros x inx. apply Rmult_le_pos; [|apply pow2_ge_0].
  apply Rlt_le, coefficient_pos, scaled_visible. now apply in_not_nil with x.
Qed.

(** A row of two different logits has a positive variance: one of them is not the mean. *)
Lemma variance_at_pos logits beta x y :
  In x logits -> In y logits -> x <> y -> 0 < variance_at logits beta.
Proof.
  intros inx iny different. assert (visible := in_not_nil _ _ inx).
  destruct (variance_at_nonneg logits beta) as [pos | zero]; [easy|]. exfalso.
  assert (at_mean : forall z, In z logits -> z = mean_at logits beta).
  { intros z inz. symmetry in zero. unfold variance_at in zero.
    apply sum_map_zero with (x := z) in zero; [|clear z inz|easy].
    - apply Rmult_integral in zero as [zero | zero].
      + pose proof (coefficient_pos _ (beta * z) (scaled_visible beta _ visible)). lra.
      + apply Rminus_diag_uniq. destruct (Req_dec (z - mean_at logits beta) 0) as [|nonzero]; [easy|].
        now apply (pow_nonzero _ 2) in nonzero.
    - intros z inz. apply Rmult_le_pos; [|apply pow2_ge_0].
      now apply Rlt_le, coefficient_pos, scaled_visible. }
  apply different. now rewrite (at_mean x inx), (at_mean y iny).
Qed.

(** ** The derivatives *)

(** Term by term: d/dbeta x^k e^(beta x) = x^(k+1) e^(beta x). *)
Lemma moment_derivative k logits beta :
  is_derive (moment k logits) beta (moment (S k) logits beta).
Proof.
  unfold moment, sum. induction logits as [|x xs IH]; cbn [map fold_right].
  - apply (is_derive_const (V := R_NormedModule)).
  - apply (is_derive_plus (V := R_NormedModule)); [|exact IH].
    auto_derive; [easy|]. simpl. ring.
Qed.

(** (ln M0)' = M1 / M0. *)
Theorem log_partition_derivative logits beta :
  logits <> [] -> is_derive (log_partition logits) beta (mean_at logits beta).
Proof.
  intros visible. pose proof (moment_0_pos logits beta visible) as pos.
  apply is_derive_ext with (f := fun b => ln (moment 0 logits b)).
  { intros. unfold log_partition. now rewrite partition_moment. }
  pose proof (moment_derivative 0 logits beta) as derivative.
  evar_last.
  - apply (is_derive_comp ln (moment 0 logits)); [|exact derivative].
    apply is_derive_Reals, derivable_pt_lim_ln, pos.
  - rewrite mean_at_moments. unfold scal. simpl. unfold mult. simpl. reflexivity.
Qed.

(** (M1 / M0)' = M2 / M0 - (M1 / M0)^2. *)
Lemma mean_derivative logits beta :
  logits <> [] -> is_derive (mean_at logits) beta (variance_at logits beta).
Proof.
  intros visible. pose proof (moment_0_pos logits beta visible) as pos.
  apply is_derive_ext with (f := fun b => moment 1 logits b / moment 0 logits b).
  { intros. now rewrite mean_at_moments. }
  evar_last.
  - apply is_derive_div; [apply moment_derivative | apply moment_derivative | lra].
  - rewrite variance_at_moments by easy. field. lra.
Qed.

Theorem log_partition_curvature logits beta :
  logits <> [] -> is_derive_n (log_partition logits) 2 beta (variance_at logits beta).
Proof.
  intros visible. simpl. apply is_derive_ext with (f := mean_at logits); [|now apply mean_derivative].
  intros. symmetry. now apply is_derive_unique, log_partition_derivative.
Qed.

(** H = ln Z - beta E, so H' = E - E - beta Var. *)
Theorem entropy_derivative logits beta :
  logits <> [] -> is_derive (entropy_at logits) beta (- beta * variance_at logits beta).
Proof.
  intros visible.
  apply is_derive_ext with (f := fun b => log_partition logits b - b * mean_at logits b).
  { intros. now rewrite entropy_at_log_partition. }
  evar_last.
  - apply (is_derive_minus (V := R_NormedModule)); [now apply log_partition_derivative|].
    apply (is_derive_mult (fun b : R => b) (mean_at logits)); [|now apply mean_derivative|].
    + apply (is_derive_id (K := R_AbsRing)).
    + intros; apply Rmult_comm.
  - unfold minus, plus, opp, mult, one. simpl. unfold mult, one. simpl. ring.
Qed.

(** ** Monotonicity *)

(** The mean value theorem between a < b, for a function with a derivative everywhere. *)
Lemma mean_value (f f' : R -> R) a b :
  (forall x, is_derive f x (f' x)) -> a < b -> exists c, a <= c <= b /\ f b - f a = f' c * (b - a).
Proof.
  intros derivative less. destruct (MVT_cor2 f f' a b less) as [c [difference [low high]]].
  - intros. now apply is_derive_Reals.
  - exists c. split; [lra | easy].
Qed.

(** The mean value theorem: H(b2) - H(b1) = -b Var_b (b2 - b1) at some b in between. *)
Lemma entropy_difference logits beta_1 beta_2 :
  logits <> [] ->
  exists b, Rmin beta_1 beta_2 <= b <= Rmax beta_1 beta_2 /\
            entropy_at logits beta_2 - entropy_at logits beta_1 = - b * variance_at logits b * (beta_2 - beta_1).
Proof.
  intros visible.
  apply (MVT_gen (entropy_at logits) beta_1 beta_2 (fun b => - b * variance_at logits b)).
  - intros. now apply entropy_derivative.
  - intros b _. apply derivable_continuous_pt. exists (- b * variance_at logits b).
    now apply is_derive_Reals, entropy_derivative.
Qed.

(** |beta_1| <= |beta_2| and both have one sign. *)
Definition same_sign_and_larger (beta_1 beta_2 : R) : Prop :=
  0 <= beta_1 <= beta_2 \/ beta_2 <= beta_1 <= 0.

(** b (beta_2 - beta_1) >= 0 on either side of 0. *)
Theorem monotone logits beta_1 beta_2 :
  logits <> [] -> same_sign_and_larger beta_1 beta_2 -> entropy_at logits beta_2 <= entropy_at logits beta_1.
Proof.
  intros visible larger.
  destruct (entropy_difference logits beta_1 beta_2 visible) as [b [[low high] difference]].
  pose proof (variance_at_nonneg logits b) as nonneg.
  assert (0 <= b * (beta_2 - beta_1)).
  { destruct larger as [larger | larger].
    - rewrite Rmin_left in low by lra. apply Rmult_le_pos; lra.
    - rewrite Rmax_left in high by lra. replace (b * (beta_2 - beta_1)) with (- b * (beta_1 - beta_2)) by ring.
      apply Rmult_le_pos; lra. }
  assert (0 <= b * (beta_2 - beta_1) * variance_at logits b) by now apply Rmult_le_pos.
  lra.
Qed.

(** Halfway between the two the variance counts: there b is not 0. *)
Lemma strict_between logits beta_1 beta_2 x y :
  In x logits -> In y logits -> x <> y -> beta_1 <> beta_2 -> beta_1 <> 0 ->
  same_sign_and_larger beta_1 beta_2 -> entropy_at logits beta_2 < entropy_at logits beta_1.
Proof.
  intros inx iny different moved away larger. assert (visible := in_not_nil _ _ inx).
  destruct (entropy_difference logits beta_1 beta_2 visible) as [b [[low high] difference]].
  pose proof (variance_at_pos logits b x y inx iny different) as pos.
  assert (0 < b * (beta_2 - beta_1)).
  { destruct larger as [larger | larger].
    - rewrite Rmin_left in low by lra. apply Rmult_lt_0_compat; lra.
    - rewrite Rmax_left in high by lra. replace (b * (beta_2 - beta_1)) with (- b * (beta_1 - beta_2)) by ring.
      apply Rmult_lt_0_compat; lra. }
  assert (0 < b * (beta_2 - beta_1) * variance_at logits b) by now apply Rmult_lt_0_compat.
  lra.
Qed.

(** Equal logits give the uniform coefficients at every beta. *)
Lemma entropy_at_equal_logits logits beta x :
  logits <> [] -> (forall y, In y logits -> y = x) -> entropy_at logits beta = ln (size logits).
Proof.
  intros visible equal. rewrite entropy_at_log_partition by easy. unfold log_partition.
  rewrite mean_at_moments, partition_moment.
  assert (moment0 : moment 0 logits beta = size logits * exp (beta * x)).
  { unfold moment. rewrite <- sum_map_const. apply sum_map_ext. intros y iny. rewrite (equal y iny). simpl. ring. }
  assert (moment1 : moment 1 logits beta = size logits * (x * exp (beta * x))).
  { unfold moment. rewrite <- sum_map_const. apply sum_map_ext. intros y iny. rewrite (equal y iny). simpl. ring. }
  pose proof (size_pos logits visible). pose proof (exp_pos (beta * x)).
  rewrite moment0, moment1, ln_mult, ln_exp by easy. field. split; lra.
Qed.

(** By way of the middle of both betas, which is not 0. *)
Theorem strict logits beta_1 beta_2 :
  logits <> [] -> beta_1 <> beta_2 -> same_sign_and_larger beta_1 beta_2 ->
  ((exists x y, In x logits /\ In y logits /\ x <> y) -> entropy_at logits beta_2 < entropy_at logits beta_1) /\
  (forall x, (forall y, In y logits -> y = x) -> entropy_at logits beta_2 = entropy_at logits beta_1).
Proof.
  intros visible moved larger. split.
  - intros [x [y [inx [iny different]]]].
    set (half := (beta_1 + beta_2) / 2).
    apply Rlt_le_trans with (entropy_at logits half).
    + apply strict_between with x y; unfold same_sign_and_larger, half in *; try easy; lra.
    + apply monotone; [easy|]. unfold same_sign_and_larger, half in *. lra.
  - intros x equal. now rewrite !(entropy_at_equal_logits logits _ x).
Qed.

(** ** Differences instead of derivatives *)

Definition third_moment_at (logits : list R) (beta : R) : R :=
  sum (map (fun x => coefficient (scaled beta logits) (beta * x) * (x - mean_at logits beta) ^ 3) logits).

(** The cube is multiplied out under the sum. *)
Lemma third_moment_at_moments logits beta :
  logits <> [] ->
  third_moment_at logits beta
  = moment 3 logits beta / moment 0 logits beta
    - 3 * (moment 1 logits beta * moment 2 logits beta) / moment 0 logits beta ^ 2
    + 2 * (moment 1 logits beta / moment 0 logits beta) ^ 3.
Proof.
  intros visible. pose proof (moment_0_pos logits beta visible) as pos. set (m := mean_at logits beta).
  assert (total : third_moment_at logits beta
    = / moment 0 logits beta * (moment 3 logits beta + (3 * m ^ 2 * moment 1 logits beta
        - (3 * m * moment 2 logits beta + m ^ 3 * moment 0 logits beta)))).
  { unfold third_moment_at, coefficient. rewrite partition_moment. fold m.
    set (w := / moment 0 logits beta). unfold Rdiv. fold w. unfold moment.
    rewrite <- !sum_map_mult_l, <- sum_map_plus, <- sum_map_minus, <- sum_map_plus, <- sum_map_mult_l.
    apply sum_map_ext. intros. ring. }
  rewrite total. unfold m. rewrite mean_at_moments. field. lra.
Qed.

(** dVar / d beta is the third central moment. *)
Lemma variance_derivative logits beta :
  logits <> [] -> is_derive (variance_at logits) beta (third_moment_at logits beta).
Proof.
  intros visible. pose proof (moment_0_pos logits beta visible) as pos.
  assert (same : forall b,
    moment 2 logits b / moment 0 logits b - mean_at logits b * mean_at logits b = variance_at logits b).
  { intros b. rewrite variance_at_moments by easy. rewrite mean_at_moments. ring. }
  apply is_derive_ext with (1 := same).
  evar_last.
  - apply (is_derive_minus (V := R_NormedModule)).
    + apply is_derive_div; [apply moment_derivative | apply moment_derivative | lra].
    + apply (is_derive_mult (mean_at logits) (mean_at logits));
        [now apply mean_derivative | now apply mean_derivative|].
      intros; apply Rmult_comm.
  - unfold minus, plus, opp, mult. simpl. unfold mult. simpl.
    rewrite third_moment_at_moments, variance_at_moments, mean_at_moments by easy. field. lra.
Qed.

(** The mean lies among the logits. *)
Lemma mean_at_between logits beta m M :
  logits <> [] -> (forall x, In x logits -> m <= x <= M) -> m <= mean_at logits beta <= M.
Proof.
  intros visible between.
  assert (constant : forall t, t = sum (map (fun x => coefficient (scaled beta logits) (beta * x) * t) logits)).
  { intros t. rewrite sum_map_mult_r, sum_coefficients_at by easy. ring. }
  unfold mean_at. rewrite (constant m) at 1. rewrite (constant M) at 1.
  split; apply sum_map_le; intros x inx; specialize (between x inx);
    (apply Rmult_le_compat_l; [now apply Rlt_le, coefficient_pos, scaled_visible | lra]).
Qed.

(** No logit is farther than delta from the mean. *)
Lemma third_moment_at_most delta logits beta :
  logits <> [] -> spread_at_most delta logits ->
  Rabs (third_moment_at logits beta) <= delta * variance_at logits beta.
Proof.
  intros visible within. destruct (spread_interval delta logits visible within) as [m [_ between]].
  pose proof (mean_at_between logits beta m (m + delta) visible between) as middle.
  unfold third_moment_at, variance_at. eapply Rle_trans; [apply sum_map_abs|]. rewrite <- sum_map_mult_l.
  apply sum_map_le. intros x inx. specialize (between x inx).
  pose proof (coefficient_pos _ (beta * x) (scaled_visible beta logits visible)) as pos.
  set (p := coefficient (scaled beta logits) (beta * x)) in *. set (t := x - mean_at logits beta).
  rewrite Rabs_mult, Rabs_right by lra. replace (t ^ 3) with (t * t ^ 2) by ring.
  rewrite Rabs_mult, (Rabs_right (t ^ 2)) by (apply Rle_ge, pow2_ge_0).
  replace (delta * (p * t ^ 2)) with (p * (delta * t ^ 2)) by ring.
  apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; [apply pow2_ge_0|].
  apply Rabs_le. unfold t. lra.
Qed.

(** A function whose derivative is not negative does not fall. *)
Lemma does_not_fall (f f' : R -> R) a b :
  a <= b -> (forall x, is_derive f x (f' x)) -> (forall x, a <= x <= b -> 0 <= f' x) -> f a <= f b.
Proof.
  intros [less | ->] derivative nonneg; [|lra].
  destruct (mean_value f f' a b derivative less) as [c [between difference]].
  assert (0 <= f' c * (b - a)) by (apply Rmult_le_pos; [apply nonneg; lra | lra]). lra.
Qed.

(** Var e^(delta b) rises and Var e^(-delta b) falls, as |dVar / d beta| <= delta Var. *)
Lemma variance_between delta logits beta_1 beta :
  logits <> [] -> spread_at_most delta logits -> beta_1 <= beta ->
  variance_at logits beta_1 * exp (- (delta * (beta - beta_1))) <= variance_at logits beta
  <= variance_at logits beta_1 * exp (delta * (beta - beta_1)).
Proof.
  intros visible within less.
  assert (third : forall b,
    - (delta * variance_at logits b) <= third_moment_at logits b <= delta * variance_at logits b).
  { intros b. apply Rabs_le_between. now apply third_moment_at_most. }
  assert (factor : forall s t, exp (s * t) * exp (- (s * t)) = 1).
  { intros. rewrite <- exp_plus, Rplus_opp_r. apply exp_0. }
  split.
  - pose proof (does_not_fall (fun b => variance_at logits b * exp (delta * (b - beta_1)))
      (fun b => (third_moment_at logits b + delta * variance_at logits b) * exp (delta * (b - beta_1)))
      beta_1 beta less) as rises. cbv beta in rises.
    rewrite Rminus_diag_eq, Rmult_0_r, exp_0, Rmult_1_r in rises by easy.
    apply Rmult_le_reg_r with (exp (delta * (beta - beta_1))); [apply exp_pos|].
    rewrite Rmult_assoc, (Rmult_comm (exp (- _))), factor, Rmult_1_r. apply rises.
    + intros b. pose proof (variance_derivative logits b visible) as derivative.
      assert (growth : is_derive (fun b => exp (delta * (b - beta_1))) b (delta * exp (delta * (b - beta_1)))).
      { auto_derive; [easy | unfold Rminus; ring]. }
      evar_last.
      * apply (is_derive_mult (variance_at logits) (fun b => exp (delta * (b - beta_1))));
          [exact derivative | exact growth | intros; apply Rmult_comm].
      * unfold plus, mult. simpl. unfold mult. simpl. unfold Rminus. ring.
    + intros b _. apply Rmult_le_pos; [|apply Rlt_le, exp_pos]. specialize (third b). lra.
  - pose proof (does_not_fall (fun b => - variance_at logits b * exp (- (delta * (b - beta_1))))
      (fun b => (delta * variance_at logits b - third_moment_at logits b) * exp (- (delta * (b - beta_1))))
      beta_1 beta less) as rises. cbv beta in rises.
    rewrite Rminus_diag_eq, Rmult_0_r, Ropp_0, exp_0, Rmult_1_r in rises by easy.
    apply Rmult_le_reg_r with (exp (- (delta * (beta - beta_1)))); [apply exp_pos|].
    rewrite Rmult_assoc, factor, Rmult_1_r.
    enough (- variance_at logits beta_1 <= - variance_at logits beta * exp (- (delta * (beta - beta_1)))) by lra.
    apply rises.
    + intros b. pose proof (variance_derivative logits b visible) as derivative.
      assert (decay : is_derive (fun b => exp (- (delta * (b - beta_1)))) b (- delta * exp (- (delta * (b - beta_1))))).
      { auto_derive; [easy | unfold Rminus; ring]. }
      evar_last.
      * apply (is_derive_mult (fun b => - variance_at logits b) (fun b => exp (- (delta * (b - beta_1)))));
          [apply (is_derive_opp (V := R_NormedModule)); exact derivative | exact decay | intros; apply Rmult_comm].
      * unfold plus, mult, opp. simpl. unfold mult. simpl. unfold Rminus. ring.
    + intros b _. apply Rmult_le_pos; [|apply Rlt_le, exp_pos]. specialize (third b). lra.
Qed.

(** E[e] rises with beta. *)
Lemma mean_at_rises logits beta_1 beta_2 :
  logits <> [] -> beta_1 <= beta_2 -> mean_at logits beta_1 <= mean_at logits beta_2.
Proof.
  intros visible less. apply (does_not_fall (mean_at logits) (variance_at logits)); [easy | |].
  - intros. now apply mean_derivative.
  - intros. apply variance_at_nonneg.
Qed.

(** The mean value theorem, and the mean rises. *)
Theorem log_partition_difference logits beta_1 beta_2 :
  logits <> [] -> beta_1 <= beta_2 ->
  (beta_2 - beta_1) * mean_at logits beta_1 <= log_partition logits beta_2 - log_partition logits beta_1
  <= (beta_2 - beta_1) * mean_at logits beta_2.
Proof.
  intros visible [less | ->]; [|lra].
  destruct (mean_value (log_partition logits) (mean_at logits) beta_1 beta_2) as [b [[low high] ->]]; [|easy|].
  { intros. now apply log_partition_derivative. }
  pose proof (mean_at_rises logits beta_1 b visible low). pose proof (mean_at_rises logits b beta_2 visible high).
  rewrite (Rmult_comm (mean_at logits b)). split; apply Rmult_le_compat_l; lra.
Qed.

(** Between beta_1 and beta_2 the variance stays within a factor e^(+-delta h) of Var_1. *)
Lemma variance_within delta logits beta_1 b beta_2 :
  logits <> [] -> spread_at_most delta logits -> beta_1 <= b <= beta_2 ->
  variance_at logits beta_1 * exp (- (delta * (beta_2 - beta_1))) <= variance_at logits b
  <= variance_at logits beta_1 * exp (delta * (beta_2 - beta_1)).
Proof.
  intros visible within [low high]. pose proof (variance_between delta logits beta_1 b visible within low)
    as [below above].
  pose proof (variance_at_nonneg logits beta_1). pose proof (spread_nonneg delta logits visible within).
  assert (delta * (b - beta_1) <= delta * (beta_2 - beta_1)) by (apply Rmult_le_compat_l; lra).
  split; [eapply Rle_trans; [|exact below] | eapply Rle_trans; [exact above|]];
    (apply Rmult_le_compat_l; [easy|]; apply exp_le; lra).
Qed.

(** The mean value theorem, with the variance within its factors. *)
Theorem mean_difference delta logits beta_1 beta_2 :
  logits <> [] -> spread_at_most delta logits -> beta_1 <= beta_2 ->
  let h := beta_2 - beta_1 in
  h * variance_at logits beta_1 * exp (- (delta * h)) <= mean_at logits beta_2 - mean_at logits beta_1
  <= h * variance_at logits beta_1 * exp (delta * h).
Proof.
  intros visible within less h. unfold h in *. destruct less as [less | ->]; [|lra].
  destruct (mean_value (mean_at logits) (variance_at logits) beta_1 beta_2) as [b [between ->]]; [|easy|].
  { intros. now apply mean_derivative. }
  pose proof (variance_within delta logits beta_1 b beta_2 visible within between) as [below above].
  rewrite !Rmult_assoc, (Rmult_comm (variance_at logits b)). split; apply Rmult_le_compat_l; lra.
Qed.

(** Cauchy's mean value theorem for H and b^2. *)
Theorem entropy_drop logits beta_1 beta_2 :
  logits <> [] -> 0 <= beta_1 < beta_2 ->
  exists b, beta_1 < b < beta_2 /\
            entropy_at logits beta_1 - entropy_at logits beta_2 = (beta_2 ^ 2 - beta_1 ^ 2) / 2 * variance_at logits b.
Proof.
  intros visible [nonneg less].
  set (H1 := entropy_at logits beta_1). set (H2 := entropy_at logits beta_2). set (w := beta_2 ^ 2 - beta_1 ^ 2).
  set (f := fun b => entropy_at logits b * w - b ^ 2 * (H2 - H1)).
  destruct (MVT_cor2 f (fun b => - b * variance_at logits b * w - 2 * b * (H2 - H1)) beta_1 beta_2 less)
    as [b [difference [low high]]].
  - intros b _. apply is_derive_Reals. unfold f. apply (is_derive_minus (V := R_NormedModule)).
    + evar_last; [apply (is_derive_scal_l (V := R_NormedModule)), entropy_derivative, visible|].
      unfold scal. simpl. unfold mult. simpl. reflexivity.
    + auto_derive; [easy|]. ring.
  - exists b. split; [easy|].
    assert (flat : - b * variance_at logits b * w - 2 * b * (H2 - H1) = 0).
    { assert (same : f beta_2 - f beta_1 = 0) by (unfold f; fold H1 H2; unfold w; ring).
      rewrite same in difference. symmetry in difference. apply Rmult_integral in difference as [|zero]; [easy | lra]. }
    apply Rmult_eq_reg_l with (2 * b); [|lra]. lra.
Qed.

(** The drop in mean-value form, with the variance within its factors. *)
Theorem entropy_drop_between delta logits beta_1 beta_2 :
  logits <> [] -> spread_at_most delta logits -> 0 <= beta_1 <= beta_2 ->
  let h := beta_2 - beta_1 in let weight := (beta_2 ^ 2 - beta_1 ^ 2) / 2 in
  weight * variance_at logits beta_1 * exp (- (delta * h)) <= entropy_at logits beta_1 - entropy_at logits beta_2
  <= weight * variance_at logits beta_1 * exp (delta * h).
Proof.
  intros visible within [nonneg less] h weight. unfold h, weight. destruct less as [less | ->]; [|lra].
  destruct (entropy_drop logits beta_1 beta_2 visible (conj nonneg less)) as [b [[low high] ->]].
  pose proof (variance_within delta logits beta_1 b beta_2 visible within (conj (Rlt_le _ _ low) (Rlt_le _ _ high)))
    as [below above].
  rewrite !Rmult_assoc. assert (0 <= (beta_2 ^ 2 - beta_1 ^ 2) / 2) by nra.
  split; apply Rmult_le_compat_l; lra.
Qed.

(** ** Across signs it is false *)

(** At 10 the third item takes nearly all, at -11 the first two share: H is nearly 0 and nearly ln 2. *)
Theorem not_monotone_across_signs :
  Rabs 10 < Rabs (-11) /\ entropy_at [0; 0; 1] 10 < entropy_at [0; 0; 1] (-11).
Proof.
  split; [rewrite Rabs_right, Rabs_left; lra|].
  rewrite !entropy_at_log_partition by easy. unfold log_partition.
  rewrite !mean_at_moments, !partition_moment. unfold moment, sum. simpl.
  apply Rminus_gt_0_lt. enclose.
Qed.
