(** * B9's log-sum-exp and entropy with the exact row's statistics alone.

    [b9_logsumexp] and [b9_entropy] speak of the row of the scores as computed. numerics/ has the exact scores and their errors: it
    evaluates B5 and B6 at the statistics of [perturbed_statistics].

    Main results
    - [score_statistics_cover]      those statistics are upper bounds of the computed row's
    - [b9_widened_logsumexp], [b9_widened_entropy]   B9 with the formulas of B5 and B6 at them

    Source: docs/tolerances.md, B9; AttentionThreshold in numerics/rounding/rounding_attention.cpp. *)

From softcheck.numerics Require Import formula row tilted_row b1_sum b2_element b5_logsumexp b6_entropy b9_attention perturbed_scores
  theorem_formulas output_formulas wider_statistics.
Local Open Scope R_scope.

Section Widened.
  Context (keys : list key) (m m' : R).
  Notation scores := (map score keys).
  Notation computed_scores := (map computed_score keys).
  Hypothesis max : is_maximum m scores.
  Hypothesis max' : is_maximum m' computed_scores.
  Context (error : key -> R) (largest : R).
  Hypothesis errs : forall a, In a keys -> Rabs (computed_score a - score a) <= error a /\ error a <= largest.
  Notation L := (ln (partition_function scores)).

  Definition score_statistics : statistics := {|
    wide_log_sum := wider_log_sum keys m largest; wide_mean := wider_mean keys m largest; wide_square := wider_square keys m largest;
    wide_maximum := Rabs m + largest; wide_logsumexp := Rabs L + largest |}.

  Theorem score_statistics_cover : covers score_statistics m' computed_scores.
  Proof using max max' errs. exact (perturbed_statistics keys m m' max max' error largest errs). Qed.

  Context (M : arithmetic) (out : output_format).
  Hypothesis good : sound M.
  Hypothesis good_out : sound_output out.
  Context (s : R) (h j : nat) (u_out g r : R).
  Hypothesis writes : 0 <= u_out.
  Hypothesis scales : 0 <= g.
  Hypothesis loses : 0 <= r.
  Hypothesis leaves : standard_model.roundoff M + r < 1.
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
