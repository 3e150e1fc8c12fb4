(** * B9's log-sum-exp and entropy with the exact row's statistics alone.

    Main results
    - [score_statistics_cover]      those statistics are upper bounds of the computed row's
    - [b9_widened_logsumexp], [b9_widened_entropy]   B9 with the formulas of B5 and B6 at them
    - [tempered_entropy]       |H(s x) - H(x)| <= tau V: dH/ds = - s Var(x), and s^2 Var(x) <= V
    - [tempered_logsumexp]     |L(s x) - L(x)| <= tau (mu + M) where |s - 1| |m| <= tau mu
    - [tempered_statistics_cover], [sharpened_statistics_cover]   statistics of x give upper bounds of those of s x, as numerics/ has them
    - [betas_near]             what these theorems ask of s, from betas that are both at least 1 and within tau
    - [b9_sharpened_logsumexp], [b9_sharpened_entropy]   a kernel's L and H: the formulas of B5 and B6 at these statistics, what beta
                               moves and what the scores do

    [b9_logsumexp] and [b9_entropy] speak of the row of the scores as computed. numerics/ has the exact scores and their errors: it
    evaluates B5 and B6 at the statistics of [perturbed_statistics].

    Source: docs/tolerances.md, B9; AttentionThreshold in numerics/rounding/rounding_attention.cpp. *)

From softcheck Require Import softmax proposition_3_2.
From softcheck.numerics Require Import formula row tilted_row b1_sum b2_element b5_logsumexp b6_entropy b9_attention
  b10_temperature perturbed_scores theorem_formulas output_formulas wider_statistics.
Local Open Scope R_scope.

Section Widened.
  Context (keys : list key) (m m' : R).
  Notation scores := (map score keys).
  Notation computed_scores := (map computed_score keys).
  Context (max : is_maximum m scores) (max' : is_maximum m' computed_scores) (error : key -> R) (largest : R)
    (errs : forall a, In a keys -> Rabs (computed_score a - score a) <= error a /\ error a <= largest).
  Notation L := (ln (partition_function scores)).

  Definition score_statistics : statistics := {|
    wide_log_sum := wider_log_sum keys m largest; wide_mean := wider_mean keys m largest; wide_square := wider_square keys m largest;
    wide_maximum := Rabs m + largest; wide_logsumexp := Rabs L + largest |}.

  Theorem score_statistics_cover : covers score_statistics m' computed_scores.
  Proof using max max' errs. exact (perturbed_statistics keys m m' max max' error largest errs). Qed.

  Context (M : arithmetic) (out : output_format) (good : sound M) (good_out : sound_output out) (s : R) (h j : nat)
    (u_out g r : R) (writes : 0 <= u_out) (scales : 0 <= g) (loses : 0 <= r)
    (leaves : standard_model.roundoff M + r < 1).
  Notation widened := (wide_value M out 0 (size keys) h j u_out g r score_statistics).
  Hypothesis some : widened (Times sum_loss_f (Exp (Times (Number 2) sigma_0_f))) < 1.

  Let items : size computed_scores = size keys.
  Proof using. unfold size. now rewrite map_length. Qed.

  Let enough : lost_sum M 0 m' computed_scores h j < 1.
  Proof using good good_out max max' errs writes scales loses leaves some items.
    apply (wider_sum_is_some M out good good_out 0 m' computed_scores h j u_out g r score_statistics max' (Rle_refl 0) writes scales loses leaves
             score_statistics_cover). rewrite items. exact some.
  Qed.

  Theorem b9_widened_logsumexp m_hat y z L_hat :
    sum_of_row M 0 m' computed_scores s h j ->
    computed_maximum M 0 m' j g m_hat -> computed_log M s y -> rounded_sum M (m_hat + y) z ->
    rounded_output u_out (b2_element.output_floor out) z L_hat ->
    Rabs (L_hat - L)
    <= widened logsumexp_output_f + widened logsumexp_lost_f + mean_score_error keys m error * exp largest.
  Proof using good good_out max max' errs writes scales loses leaves some items enough.
    intros hs h1 h2 h3 h4.
    pose proof (b9_logsumexp keys m m' max max' error largest errs M good s h j hs enough g m_hat y z u_out _ L_hat h1 h2 h3 h4) as own.
    pose proof (wider_logsumexp M out good good_out 0 m' computed_scores h j u_out g r score_statistics max' (Rle_refl 0) writes scales loses leaves
                  score_statistics_cover) as wide. rewrite items in wide. specialize (wide some). cbv zeta in *. lra.
  Qed.

  Theorem b9_widened_entropy y q x z H_hat :
    moments_of_row M 0 m' computed_scores s y h j -> INR j * standard_model.argument_step M <= 2 ->
    quotient_by_sum M r y s q -> computed_log M s x -> rounded_sum M (x + q) z ->
    rounded_output u_out (b2_element.output_floor out) z H_hat ->
    Rabs (H_hat - entropy scores)
    <= widened entropy_output_f + widened entropy_lost_f + entropy_moved keys m error largest.
  Proof using good good_out max max' errs writes scales loses leaves some items enough.
    intros moments few h1 h2 h3 h4.
    pose proof (b9_entropy keys m m' max error largest errs M good s h j enough y r moments few loses leaves q x z u_out _ H_hat h1 h2 h3 h4)
      as own.
    pose proof (wider_entropy M out good good_out 0 m' computed_scores h j u_out g r score_statistics max' (Rle_refl 0) writes scales loses leaves
                  score_statistics_cover) as wide. rewrite items in wide. specialize (wide some). cbv zeta in *. lra.
  Qed.
End Widened.

(** ** B9 with B10: the log-sum-exp and the entropy of adaptive attention.

    The exact scores are beta x_j, those of the kernel s (beta x'_j), s = beta_hat / beta, as in b9_sharpened.v. First the scores move, at
    the exact beta; then beta does, at the scores as computed. Both betas are at least 1, so that |s - 1| <= tau and |s - 1| <= tau s. V = ln^2(n + e), and
    M is B10's mean deviation of any beta between the two.

    Source: docs/tolerances.md, B9; temperature_error in numerics/rounding/rounding_temperature.cpp, of_sharpened in
    numerics/rounding/rounding_attention.cpp. *)

Definition widest_square (l : list R) : R := ln (size l + exp 1) ^ 2.

Lemma mean_square_below m l : is_maximum m l -> row.mean_square_deviation m l <= widest_square l.
Proof.
  intros max. pose proof (S_at_least_one m l max) as S1. pose proof (second_moment_bound m l max 0 ltac:(lra)) as bound.
  rewrite mass_at_0, Rminus_0_r, pow1, Rmult_1_l in bound. unfold row.mean_square_deviation, tilted in *.
  rewrite (weighted_sum_ext _ _ (fun d => exp (0 * d) * d ^ 2) (fun d => d ^ 2)) in bound by (intros; rewrite Rmult_0_l, exp_0; ring).
  apply Rmult_le_reg_r with (weight_sum m l); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. exact bound.
Qed.

(** b^2 Var_b(x) is the variance of the row b x, below its mean square deviation. *)
Lemma variance_below m l b : is_maximum m l -> 0 < b -> b ^ 2 * variance_at l b <= widest_square l.
Proof.
  intros max hb. assert (visible : l <> []) by (apply in_not_nil with m, max).
  assert (maxb : is_maximum (b * m) (scaled b l)) by now apply scaled_maximum.
  assert (size_b : widest_square (scaled b l) = widest_square l) by (unfold widest_square, size, scaled; now rewrite map_length).
  rewrite <- size_b. eapply Rle_trans; [|now apply mean_square_below, maxb].
  set (p := fun x => coefficient (scaled b l) (b * x)). set (mu := mean_at l b).
  assert (deviation : row.mean_square_deviation (b * m) (scaled b l) = b ^ 2 * sum (map (fun x => p x * (x - m) ^ 2) l)).
  { unfold row.mean_square_deviation, weighted_sum, scaled, Rdiv. rewrite map_map, Rmult_comm, <- !sum_map_mult_l. apply sum_map_ext. intros x _.
    unfold p. rewrite (coefficient_from_weight (b * m) (scaled b l) maxb). unfold Rdiv, scaled. ring. }
  rewrite deviation. apply Rmult_le_compat_l; [apply pow2_ge_0|].
  pose proof (sum_coefficients_at l b visible) as one. fold p in one. assert (mean_is : sum (map (fun x => p x * x) l) = mu) by easy.
  assert (apart : sum (map (fun x => p x * (x - m) ^ 2) l) - sum (map (fun x => p x * (x - mu) ^ 2) l) = (mu - m) ^ 2).
  { rewrite <- sum_map_minus.
    replace (sum (map (fun x => p x * (x - m) ^ 2 - p x * (x - mu) ^ 2) l))
      with (sum (map (fun x => 2 * (mu - m) * (p x * x) + (m ^ 2 - mu ^ 2) * p x) l)) by (apply sum_map_ext; intros; ring).
    rewrite sum_map_plus, !sum_map_mult_l, mean_is, one. ring. }
  change (variance_at l b) with (sum (map (fun x => p x * (x - mu) ^ 2) l)). pose proof (pow2_ge_0 (mu - m)). lra.
Qed.

Section Tempered.
  Context (m : R) (l : list R) (max : is_maximum m l) (tau s : R) (tau_range : 0 <= tau < 1)
    (near_one : Rabs (s - 1) <= tau) (near_too : Rabs (s - 1) <= tau * s) (positive : 0 < s).

  Theorem tempered_entropy : Rabs (entropy (scaled s l) - entropy l) <= tau * widest_square l.
  Proof using max tau_range near_one near_too positive.
    assert (visible : l <> []) by (apply in_not_nil with m, max).
    destruct (entropy_difference l 1 s visible) as [b [range eq]]. unfold entropy_at in eq.
    assert (same : scaled 1 l = l) by (unfold scaled; rewrite <- (map_id l) at 2; apply map_ext; intros; ring). rewrite same in eq.
    assert (hb : 0 < b) by (eapply Rlt_le_trans; [|apply range]; apply Rmin_pos; lra).
    assert (near : Rabs (s - 1) <= tau * b).
    { destruct range as [low _]. unfold Rmin in low. pose proof (Rabs_pos (s - 1)). destruct (Rle_dec 1 s).
      - apply Rle_trans with (tau * 1); [lra|]. apply Rmult_le_compat_l; lra.
      - apply Rle_trans with (tau * s); [lra|]. apply Rmult_le_compat_l; lra. }
    pose proof (variance_below m l b max hb) as small. pose proof (variance_at_nonneg l b) as v0.
    assert (moved : Rabs (entropy (scaled s l) - entropy l) = Rabs (s - 1) * (b * variance_at l b)).
    { rewrite eq. rewrite <- (Rabs_right (b * variance_at l b)) by (apply Rle_ge, Rmult_le_pos; lra).
      rewrite <- Rabs_mult, <- Rabs_Ropp. f_equal. ring. }
    rewrite moved. apply Rle_trans with (tau * b * (b * variance_at l b)).
    - apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|exact near].
    - replace (tau * b * (b * variance_at l b)) with (tau * (b ^ 2 * variance_at l b)) by ring. apply Rmult_le_compat_l; lra.
  Qed.

  Notation M := (b10_temperature.wider_mean m l tau).

  Lemma tempered_log_sum : Rabs (ln (weight_sum (s * m) (scaled s l)) - ln (weight_sum m l)) <= tau * M.
  Proof using max tau_range near_one positive.
    destruct (scaled_sum_between m l max tau s tau_range near_one positive) as [low high]. pose proof (S_at_least_one m l max) as S1.
    pose proof (S_at_least_one (s * m) (scaled s l) (scaled_maximum m l max s positive)) as S2. pose proof (exp_pos (- (tau * M))).
    pose proof (ln_le (exp (- (tau * M)) * weight_sum m l) _ ltac:(apply Rmult_lt_0_compat; lra) low) as l1.
    pose proof (ln_le (weight_sum (s * m) (scaled s l)) _ ltac:(lra) high) as l2.
    rewrite ln_mult, ln_exp in l1, l2 by (try apply exp_pos; lra). apply Rabs_le. lra.
  Qed.

  (** By how much beta moves the maximum, in units of tau. *)
  Context (mu : R) (maximum_moves : Rabs (s - 1) * Rabs m <= tau * mu).

  Theorem tempered_logsumexp :
    Rabs (ln (partition_function (scaled s l)) - ln (partition_function l)) <= tau * (mu + M).
  Proof using max tau_range near_one positive maximum_moves.
    rewrite (logsumexp_from_statistics (s * m) (scaled s l) (scaled_maximum m l max s positive)),
      (logsumexp_from_statistics m l max).
    pose proof tempered_log_sum as sums. rewrite <- Rabs_mult in maximum_moves.
    replace (s * m + ln (weight_sum (s * m) (scaled s l)) - (m + ln (weight_sum m l)))
      with ((s - 1) * m + (ln (weight_sum (s * m) (scaled s l)) - ln (weight_sum m l))) by ring.
    triangle. lra.
  Qed.

  (** What numerics/ puts in the statistics' place: [temperature_error]. *)
  Definition tempered_statistics (w : statistics) : statistics :=
    let mean := wide_mean w + tau * second l tau in {|
      wide_log_sum := wide_log_sum w + tau * mean; wide_mean := (1 + tau) * mean; wide_square := widest_square l;
      wide_maximum := wide_maximum w + tau * mu; wide_logsumexp := wide_logsumexp w + tau * (mu + mean) |}.

  Theorem tempered_statistics_cover w : covers w m l -> covers (tempered_statistics w) (s * m) (scaled s l).
  Proof using max tau_range near_one positive maximum_moves.
    intros [c1 [c2 [c3 [c4 c5]]]]. pose proof (scaled_maximum m l max s positive) as maxs.
    pose proof (mean_square_below (s * m) (scaled s l) maxs) as square. pose proof tempered_logsumexp as moved.
    pose proof tempered_log_sum as sums. pose proof (b10_moved_mean m l max tau s tau_range near_one positive) as mean.
    assert (below : tau * M <= tau * (wide_mean w + tau * second l tau))
      by (apply Rmult_le_compat_l; unfold b10_temperature.wider_mean; lra).
    assert (size_s : widest_square (scaled s l) = widest_square l)
      by (unfold widest_square, size, scaled; now rewrite map_length).
    unfold covers, tempered_statistics; cbn [wide_log_sum wide_mean wide_square wide_maximum wide_logsumexp].
    apply abs_between in sums. rewrite size_s in square. split; [lra|]. split; [|split; [exact square|split]].
    - eapply Rle_trans; [exact mean|]. apply Rmult_le_compat_l; unfold b10_temperature.wider_mean; lra.
    - replace (s * m) with (m + (s - 1) * m) by ring. triangle. rewrite Rabs_mult. lra.
    - set (L' := ln (partition_function (scaled s l))) in *. set (L := ln (partition_function l)) in *.
      replace L' with (L + (L' - L)) by ring. triangle. lra.
  Qed.
End Tempered.

(** ** A kernel's own L and H *)

Section Kernel.
  Context (keys : list key) (m m' : R).
  Notation scores := (map score keys).
  Notation computed_scores := (map computed_score keys).
  Context (max : is_maximum m scores) (max' : is_maximum m' computed_scores) (error : key -> R) (largest : R)
    (errs : forall a, In a keys -> Rabs (computed_score a - score a) <= error a /\ error a <= largest) (tau s mu : R)
    (tau_range : 0 <= tau < 1) (near_one : Rabs (s - 1) <= tau) (near_too : Rabs (s - 1) <= tau * s) (positive : 0 < s)
    (maximum_moves : Rabs (s - 1) * Rabs m' <= tau * mu).
  Notation moved := (scaled s computed_scores).

  Definition sharpened_statistics : statistics :=
    tempered_statistics computed_scores tau mu (score_statistics keys m largest).

  Theorem sharpened_statistics_cover : covers sharpened_statistics (s * m') moved.
  Proof using max max' errs tau_range near_one positive maximum_moves.
    apply (tempered_statistics_cover m' computed_scores max' tau s tau_range near_one positive mu maximum_moves).
    exact (score_statistics_cover keys m m' max max' error largest errs).
  Qed.

  Context (M : arithmetic) (out : output_format) (good : sound M) (good_out : sound_output out) (S_hat : R) (h j : nat)
    (u_out g r : R) (writes : 0 <= u_out) (scales : 0 <= g) (loses : 0 <= r)
    (leaves : standard_model.roundoff M + r < 1).
  Notation widened := (wide_value M out 0 (size keys) h j u_out g r sharpened_statistics).
  Hypothesis some : widened (Times sum_loss_f (Exp (Times (Number 2) sigma_0_f))) < 1.

  Let items : size moved = size keys.
  Proof using. unfold size, scaled. now rewrite !map_length. Qed.
  Let top : is_maximum (s * m') moved.
  Proof using max' positive. now apply scaled_maximum. Qed.
  Let some_here : wide_value M out 0 (size moved) h j u_out g r sharpened_statistics (Times sum_loss_f (Exp (Times (Number 2) sigma_0_f))) < 1.
  Proof using some items. rewrite items. exact some. Qed.
  Let enough : lost_sum M 0 (s * m') moved h j < 1.
  Proof using good good_out max max' errs tau_range near_one positive maximum_moves writes scales loses leaves some items top some_here.
    exact (wider_sum_is_some M out good good_out 0 (s * m') moved h j u_out g r sharpened_statistics top (Rle_refl 0) writes scales loses leaves
             sharpened_statistics_cover some_here).
  Qed.

  Definition sharpened_mean : R := wider_mean keys m largest + tau * second computed_scores tau.

  Theorem b9_sharpened_logsumexp m_hat y z L_hat :
    sum_of_row M 0 (s * m') moved S_hat h j ->
    computed_maximum M 0 (s * m') j g m_hat -> computed_log M S_hat y -> rounded_sum M (m_hat + y) z ->
    rounded_output u_out (b2_element.output_floor out) z L_hat ->
    Rabs (L_hat - ln (partition_function scores))
    <= widened logsumexp_output_f + widened logsumexp_lost_f
       + (mean_score_error keys m error * exp largest + tau * (mu + sharpened_mean)).
  Proof using good good_out max max' errs tau_range near_one positive maximum_moves writes scales loses leaves some items top some_here enough.
    intros hs h1 h2 h3 h4.
    pose proof (b5_logsumexp M good 0 (s * m') moved S_hat h j hs enough g m_hat y z u_out _ L_hat h1 h2 h3 h4) as own.
    pose proof (wider_logsumexp M out good good_out 0 (s * m') moved h j u_out g r sharpened_statistics top (Rle_refl 0) writes
      scales loses leaves sharpened_statistics_cover some_here) as wide.
    rewrite items in wide. pose proof (perturbed_logsumexp keys m m' max max' error largest errs) as first.
    pose proof (tempered_logsumexp m' computed_scores max' tau s tau_range near_one positive mu maximum_moves) as second_move.
    pose proof (perturbed_statistics keys m m' max max' error largest errs) as [_ [mean _]].
    assert (tau * (mu + b10_temperature.wider_mean m' computed_scores tau) <= tau * (mu + sharpened_mean))
      by (apply Rmult_le_compat_l; unfold b10_temperature.wider_mean, sharpened_mean; lra).
    cbv zeta in *. set (L1 := ln (partition_function computed_scores)) in *. set (L2 := ln (partition_function moved)) in *.
    replace (L_hat - ln (partition_function scores)) with ((L_hat - L2) + ((L2 - L1) + (L1 - ln (partition_function scores))))
      by ring.
    triangle. pose proof (Rabs_triang (L2 - L1) (L1 - ln (partition_function scores))). lra.
  Qed.

  Theorem b9_sharpened_entropy y q x z H_hat :
    moments_of_row M 0 (s * m') moved S_hat y h j -> INR j * standard_model.argument_step M <= 2 ->
    quotient_by_sum M r y S_hat q -> computed_log M S_hat x -> rounded_sum M (x + q) z ->
    rounded_output u_out (b2_element.output_floor out) z H_hat ->
    Rabs (H_hat - entropy scores)
    <= widened entropy_output_f + widened entropy_lost_f + (entropy_moved keys m error largest + tau * widest_square scores).
  Proof using good good_out max max' errs tau_range near_one near_too positive maximum_moves writes scales loses leaves some items top some_here enough.
    intros moments few h1 h2 h3 h4.
    pose proof (b6_entropy M good 0 (s * m') moved S_hat y h j r loses leaves moments enough few q x z u_out _ H_hat h1 h2 h3
      h4) as own.
    pose proof (wider_entropy M out good good_out 0 (s * m') moved h j u_out g r sharpened_statistics top (Rle_refl 0) writes
      scales loses leaves sharpened_statistics_cover some_here) as wide.
    rewrite items in wide. pose proof (perturbed_entropy keys m max error largest errs) as first.
    pose proof (tempered_entropy m' computed_scores max' tau s tau_range near_one near_too positive) as second_move.
    assert (same : widest_square computed_scores = widest_square scores)
      by (unfold widest_square, size; now rewrite !map_length).
    rewrite same in second_move. cbv zeta in *. set (H1 := entropy computed_scores) in *. set (H2 := entropy moved) in *.
    replace (H_hat - entropy scores) with ((H_hat - H2) + ((H2 - H1) + (H1 - entropy scores))) by ring. triangle.
    pose proof (Rabs_triang (H2 - H1) (H1 - entropy scores)). lra.
  Qed.
End Kernel.

(** ** From betas that are both at least 1 *)

Theorem betas_near beta beta_hat tau x :
  1 <= beta -> 1 <= beta_hat -> Rabs (beta_hat - beta) <= tau ->
  let s := beta_hat / beta in
  0 < s /\ Rabs (s - 1) <= tau /\ Rabs (s - 1) <= tau * s /\ Rabs (s - 1) * Rabs (beta * x) <= tau * Rabs x.
Proof.
  intros h1 h2 close s. assert (inv : 0 < / beta <= 1).
  { split; [apply Rinv_0_lt_compat; lra|]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
  pose proof (Rabs_pos (beta_hat - beta)) as t0. assert (apart : s - 1 = (beta_hat - beta) * / beta) by (unfold s; field; lra).
  assert (size_is : Rabs (s - 1) = Rabs (beta_hat - beta) * / beta) by (rewrite apart, Rabs_mult, (Rabs_right (/ beta)); lra).
  split; [unfold s; apply Rdiv_lt_0_compat; lra|]. rewrite size_is. split; [|split].
  - apply Rle_trans with (Rabs (beta_hat - beta) * 1); [apply Rmult_le_compat_l|]; lra.
  - unfold s, Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
    apply Rle_trans with (tau * 1); [lra|]. apply Rmult_le_compat_l; lra.
  - rewrite Rabs_mult, (Rabs_right beta) by lra.
    replace (Rabs (beta_hat - beta) * / beta * (beta * Rabs x)) with (Rabs (beta_hat - beta) * Rabs x) by (field; lra).
    apply Rmult_le_compat_r; [apply Rabs_pos|exact close].
Qed.
