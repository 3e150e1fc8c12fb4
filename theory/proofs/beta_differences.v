(** * Proposition 3.2 without derivatives: how far ln Z, the mean and the entropy move between two betas.

    Main results, as theory/ decides them between beta_1 and beta_2 = beta_1 + h, h >= 0, spread at most delta
    - [log_partition_difference]   h E_1 <= ln Z_2 - ln Z_1 <= h E_2
    - [mean_difference]            h Var_1 e^(-delta h) <= E_2 - E_1 <= h Var_1 e^(delta h)
    - [entropy_drop_between]       the same factors around (beta_2^2 - beta_1^2)/2 Var_1 for H_1 - H_2, beta_1 >= 0
    - [entropy_drop]               H_1 - H_2 = (beta_2^2 - beta_1^2)/2 Var_b at some b in between

    Source: this project; paper, Proposition 3.2, for the derivatives. *)

From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax proposition_3_2.
Local Open Scope R_scope.

(** ** The variance between two betas *)

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
  apply is_derive_ext with (1 := same). evar_last.
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
  pose proof (mean_at_between logits beta m (m + delta) visible between) as middle. unfold third_moment_at, variance_at.
  eapply Rle_trans; [apply sum_map_abs|]. rewrite <- sum_map_mult_l. apply sum_map_le. intros x inx.
  specialize (between x inx). pose proof (coefficient_pos _ (beta * x) (scaled_visible beta logits visible)) as pos.
  set (p := coefficient (scaled beta logits) (beta * x)) in *. set (t := x - mean_at logits beta).
  rewrite Rabs_mult, Rabs_right by lra. replace (t ^ 3) with (t * t ^ 2) by ring.
  rewrite Rabs_mult, (Rabs_right (t ^ 2)) by (apply Rle_ge, pow2_ge_0).
  replace (delta * (p * t ^ 2)) with (p * (delta * t ^ 2)) by ring. apply Rmult_le_compat_l; [lra|].
  apply Rmult_le_compat_r; [apply pow2_ge_0|]. apply Rabs_le. unfold t. lra.
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
  { intros. rewrite <- exp_plus, Rplus_opp_r. apply exp_0. } split.
  - pose proof (does_not_fall (fun b => variance_at logits b * exp (delta * (b - beta_1)))
      (fun b => (third_moment_at logits b + delta * variance_at logits b) * exp (delta * (b - beta_1)))
      beta_1 beta less) as rises.
    cbv beta in rises. rewrite Rminus_diag_eq, Rmult_0_r, exp_0, Rmult_1_r in rises by easy.
    apply Rmult_le_reg_r with (exp (delta * (beta - beta_1))); [apply exp_pos|].
    rewrite Rmult_assoc, (Rmult_comm (exp (- _))), factor, Rmult_1_r. apply rises.
    + intros b. pose proof (variance_derivative logits b visible) as derivative.
      assert (growth : is_derive (fun b => exp (delta * (b - beta_1))) b (delta * exp (delta * (b - beta_1)))).
      { auto_derive; [easy | unfold Rminus; ring]. } evar_last.
      * apply (is_derive_mult (variance_at logits) (fun b => exp (delta * (b - beta_1))));
          [exact derivative | exact growth | intros; apply Rmult_comm].
      * unfold plus, mult. simpl. unfold mult. simpl. unfold Rminus. ring.
    + intros b _. apply Rmult_le_pos; [|apply Rlt_le, exp_pos]. specialize (third b). lra.
  - pose proof (does_not_fall (fun b => - variance_at logits b * exp (- (delta * (b - beta_1))))
      (fun b => (delta * variance_at logits b - third_moment_at logits b) * exp (- (delta * (b - beta_1))))
      beta_1 beta less) as rises.
    cbv beta in rises. rewrite Rminus_diag_eq, Rmult_0_r, Ropp_0, exp_0, Rmult_1_r in rises by easy.
    apply Rmult_le_reg_r with (exp (- (delta * (beta - beta_1)))); [apply exp_pos|].
    rewrite Rmult_assoc, factor, Rmult_1_r.
    enough (- variance_at logits beta_1 <= - variance_at logits beta * exp (- (delta * (beta - beta_1)))) by lra.
    apply rises.
    + intros b. pose proof (variance_derivative logits b visible) as derivative.
      assert (decay : is_derive (fun b => exp (- (delta * (b - beta_1)))) b (- delta * exp (- (delta * (b - beta_1))))).
      { auto_derive; [easy | unfold Rminus; ring]. } evar_last.
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
  intros visible [nonneg less]. set (H1 := entropy_at logits beta_1). set (H2 := entropy_at logits beta_2).
  set (w := beta_2 ^ 2 - beta_1 ^ 2). set (f := fun b => entropy_at logits b * w - b ^ 2 * (H2 - H1)).
  destruct (MVT_cor2 f (fun b => - b * variance_at logits b * w - 2 * b * (H2 - H1)) beta_1 beta_2 less)
    as [b [difference [low high]]].
  - intros b _. apply is_derive_Reals. unfold f. apply (is_derive_minus (V := R_NormedModule)).
    + evar_last; [apply (is_derive_scal_l (V := R_NormedModule)), entropy_derivative, visible|]. unfold scal. simpl.
      unfold mult. simpl. reflexivity.
    + auto_derive; [easy|]. ring.
  - exists b. split; [easy|]. assert (flat : - b * variance_at logits b * w - 2 * b * (H2 - H1) = 0).
    { assert (same : f beta_2 - f beta_1 = 0) by (unfold f; fold H1 H2; unfold w; ring). rewrite same in difference.
      symmetry in difference. apply Rmult_integral in difference as [|zero]; [easy | lra]. }
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
  rewrite !Rmult_assoc. assert (0 <= (beta_2 ^ 2 - beta_1 ^ 2) / 2) by nra. split; apply Rmult_le_compat_l; lra.
Qed.
