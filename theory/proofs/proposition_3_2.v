(** * Proposition 3.2: entropy falls as the logits are multiplied by a larger beta.

    Main results (p_i = e^(beta e_i) / Z(beta); mean and variance of the logits e under p)
    - [log_partition_derivative]   d ln Z / d beta = E[e]
    - [log_partition_curvature]    d^2 ln Z / d beta^2 = Var(e)
    - [entropy_derivative]         dH / d beta = -beta Var(e)
    - [monotone]                   H falls as |beta| grows, for each sign of beta
    - [strict]                     strictly, unless all logits are equal; then it is constant
    - [not_monotone_across_signs]  [0, 0, 1] at beta = 10 and -11: for |beta| across signs it is false

    Differences in place of derivatives: beta_differences.v.

    Source: paper, Proposition 3.2 (for beta >= 0); the case beta <= 0 and the counterexample are this project's. *)

From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax.
Local Open Scope R_scope.

(** ** The moments of the logits at beta *)

(** sum_i e_i^k e^(beta e_i). *)
Definition moment (k : nat) (logits : list R) (beta : R) : R := sum (map (fun x => x ^ k * exp (beta * x)) logits).

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
Proof. unfold partition_function, scaled, moment. rewrite map_map. apply sum_map_ext. intros. simpl. ring. Qed.

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
  intros visible. pose proof (moment_0_pos logits beta visible) as pos. set (m := mean_at logits beta).
  assert (total : variance_at logits beta
    = / moment 0 logits beta * (moment 2 logits beta - 2 * m * moment 1 logits beta + m ^ 2 * moment 0 logits beta)).
  { unfold variance_at, coefficient. rewrite partition_moment. fold m. set (w := / moment 0 logits beta). unfold Rdiv.
    fold w. unfold moment. rewrite <- !sum_map_mult_l, <- sum_map_minus, <- sum_map_plus, <- sum_map_mult_l.
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
  intros. unfold entropy_at. rewrite entropy_log_partition, mean_scaled by now apply scaled_visible. reflexivity.
Qed.

Lemma variance_at_nonneg logits beta : 0 <= variance_at logits beta.
Proof.
  apply sum_map_nonneg. intros x inx. apply Rmult_le_pos; [|apply pow2_ge_0].
  apply Rlt_le, coefficient_pos, scaled_visible. now apply in_not_nil with x.
Qed.

(** A row of two different logits has a positive variance: one of them is not the mean. *)
Lemma variance_at_pos logits beta x y : In x logits -> In y logits -> x <> y -> 0 < variance_at logits beta.
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
    - intros z inz. apply Rmult_le_pos; [|apply pow2_ge_0]. now apply Rlt_le, coefficient_pos, scaled_visible. }
  apply different. now rewrite (at_mean x inx), (at_mean y iny).
Qed.

(** ** The derivatives *)

(** Term by term: d/dbeta x^k e^(beta x) = x^(k+1) e^(beta x). *)
Lemma moment_derivative k logits beta : is_derive (moment k logits) beta (moment (S k) logits beta).
Proof.
  unfold moment, sum. induction logits as [|x xs IH]; cbn [map fold_right].
  - apply (is_derive_const (V := R_NormedModule)).
  - apply (is_derive_plus (V := R_NormedModule)); [|exact IH]. auto_derive; [easy|]. simpl. ring.
Qed.

(** (ln M0)' = M1 / M0. *)
Theorem log_partition_derivative logits beta :
  logits <> [] -> is_derive (log_partition logits) beta (mean_at logits beta).
Proof.
  intros visible. pose proof (moment_0_pos logits beta visible) as pos.
  apply is_derive_ext with (f := fun b => ln (moment 0 logits b)).
  { intros. unfold log_partition. now rewrite partition_moment. }
  pose proof (moment_derivative 0 logits beta) as derivative. evar_last.
  - apply (is_derive_comp ln (moment 0 logits)); [|exact derivative]. apply is_derive_Reals, derivable_pt_lim_ln, pos.
  - rewrite mean_at_moments. unfold scal. simpl. unfold mult. simpl. reflexivity.
Qed.

(** (M1 / M0)' = M2 / M0 - (M1 / M0)^2. *)
Lemma mean_derivative logits beta : logits <> [] -> is_derive (mean_at logits) beta (variance_at logits beta).
Proof.
  intros visible. pose proof (moment_0_pos logits beta visible) as pos.
  apply is_derive_ext with (f := fun b => moment 1 logits b / moment 0 logits b).
  { intros. now rewrite mean_at_moments. } evar_last.
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
  intros visible. apply is_derive_ext with (f := fun b => log_partition logits b - b * mean_at logits b).
  { intros. now rewrite entropy_at_log_partition. } evar_last.
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
  intros visible. apply (MVT_gen (entropy_at logits) beta_1 beta_2 (fun b => - b * variance_at logits b)).
  - intros. now apply entropy_derivative.
  - intros b _. apply derivable_continuous_pt. exists (- b * variance_at logits b).
    now apply is_derive_Reals, entropy_derivative.
Qed.

(** |beta_1| <= |beta_2| and both have one sign. *)
Definition same_sign_and_larger (beta_1 beta_2 : R) : Prop := 0 <= beta_1 <= beta_2 \/ beta_2 <= beta_1 <= 0.

(** b (beta_2 - beta_1) >= 0 on either side of 0. *)
Theorem monotone logits beta_1 beta_2 :
  logits <> [] -> same_sign_and_larger beta_1 beta_2 -> entropy_at logits beta_2 <= entropy_at logits beta_1.
Proof.
  intros visible larger. destruct (entropy_difference logits beta_1 beta_2 visible) as [b [[low high] difference]].
  pose proof (variance_at_nonneg logits b) as nonneg. assert (0 <= b * (beta_2 - beta_1)).
  { destruct larger as [larger | larger].
    - rewrite Rmin_left in low by lra. apply Rmult_le_pos; lra.
    - rewrite Rmax_left in high by lra. replace (b * (beta_2 - beta_1)) with (- b * (beta_1 - beta_2)) by ring.
      apply Rmult_le_pos; lra. }
  assert (0 <= b * (beta_2 - beta_1) * variance_at logits b) by now apply Rmult_le_pos. lra.
Qed.

(** Halfway between the two the variance counts: there b is not 0. *)
Lemma strict_between logits beta_1 beta_2 x y :
  In x logits -> In y logits -> x <> y -> beta_1 <> beta_2 -> beta_1 <> 0 ->
  same_sign_and_larger beta_1 beta_2 -> entropy_at logits beta_2 < entropy_at logits beta_1.
Proof.
  intros inx iny different moved away larger. assert (visible := in_not_nil _ _ inx).
  destruct (entropy_difference logits beta_1 beta_2 visible) as [b [[low high] difference]].
  pose proof (variance_at_pos logits b x y inx iny different) as pos. assert (0 < b * (beta_2 - beta_1)).
  { destruct larger as [larger | larger].
    - rewrite Rmin_left in low by lra. apply Rmult_lt_0_compat; lra.
    - rewrite Rmax_left in high by lra. replace (b * (beta_2 - beta_1)) with (- b * (beta_1 - beta_2)) by ring.
      apply Rmult_lt_0_compat; lra. }
  assert (0 < b * (beta_2 - beta_1) * variance_at logits b) by now apply Rmult_lt_0_compat. lra.
Qed.

(** Equal logits give the uniform coefficients at every beta. *)
Lemma entropy_at_equal_logits logits beta x :
  logits <> [] -> (forall y, In y logits -> y = x) -> entropy_at logits beta = ln (size logits).
Proof.
  intros visible equal. rewrite entropy_at_log_partition by easy. unfold log_partition.
  rewrite mean_at_moments, partition_moment. assert (moment0 : moment 0 logits beta = size logits * exp (beta * x)).
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
  - intros [x [y [inx [iny different]]]]. set (half := (beta_1 + beta_2) / 2).
    apply Rlt_le_trans with (entropy_at logits half).
    + apply strict_between with x y; unfold same_sign_and_larger, half in *; try easy; lra.
    + apply monotone; [easy|]. unfold same_sign_and_larger, half in *. lra.
  - intros x equal. now rewrite !(entropy_at_equal_logits logits _ x).
Qed.

(** ** Across signs it is false *)

(** At 10 the third item takes nearly all, at -11 the first two share: H is nearly 0 and nearly ln 2. *)
Theorem not_monotone_across_signs : Rabs 10 < Rabs (-11) /\ entropy_at [0; 0; 1] 10 < entropy_at [0; 0; 1] (-11).
Proof.
  split; [rewrite Rabs_right, Rabs_left; lra|].
  rewrite !entropy_at_log_partition by easy. unfold log_partition.
  rewrite !mean_at_moments, !partition_moment. unfold moment, sum. simpl.
  replace (-11 * 1) with (-11) by ring. rewrite !Rmult_0_r, !Rmult_0_l, !exp_0, !Rmult_1_r, !Rmult_1_l, !Rplus_0_l, !Rplus_0_r.
  (* The left one is at most 22 e^-10, the right one at least ln 2. *)
  assert (large : 144 < exp 10).
  { pose proof (exp_ineq1_le (5 / 2)). replace 10 with (5 / 2 + 5 / 2 + (5 / 2 + 5 / 2)) by lra. rewrite !exp_plus.
    assert (12 < exp (5 / 2) * exp (5 / 2)) by nra. nra. }
  pose proof (exp_pos (-11)) as small. set (v := exp (-11)) in *.
  assert (right : / 2 < ln (1 + (1 + v)) - -11 * (v / (1 + (1 + v)))).
  { assert (ln 2 <= ln (1 + (1 + v))) by (apply ln_le; lra). pose proof ln_lt_2.
    assert (0 <= v / (1 + (1 + v))) by (apply Rlt_le, Rdiv_lt_0_compat; lra). lra. }
  assert (logarithm : ln (1 + (1 + exp 10)) <= 10 + 2 * / exp 10).
  { rewrite <- (ln_exp (10 + 2 * / exp 10)). apply ln_le; [lra|]. rewrite exp_plus.
    assert (0 < / exp 10) by (apply Rinv_0_lt_compat; lra).
    pose proof (exp_ineq1_le (2 * / exp 10)). assert (exp 10 * / exp 10 = 1) by (apply Rinv_r; lra). nra. }
  set (u := exp 10) in *.
  assert (u * / u = 1) by (apply Rinv_r; lra). assert (0 < / u) by (apply Rinv_0_lt_compat; lra).
  assert (1 - 2 * / u <= u / (1 + (1 + u))) by (apply Rle_div_r; nra).
  assert (/ u < / 144) by (apply Rinv_lt_contravar; nra). lra.
Qed.
