(** * B17: the gradient of one score, dS = p (g - delta).

    Main result
    - [b17_score_gradient]   p within e^(+-omega) and e^omega lost, g within gamma, delta within E: |dS_hat - dS| <=
                             p (e^W (|g - delta| + gamma + E) - |g - delta|) + what is lost, W = omega + 2 lambda + lambda_dS

    A difference and a product, and the format in which dS meets query and key. The bound is not relative to dS: where p is
    nearly one-hot, g - delta cancels.

    Source: docs/tolerances/attention_backward.md, "dS"; attention_backward_pairs in
    numerics/rounding/rounding_attention_backward.cpp. *)

From softcheck.numerics Require Import added_terms.
Local Open Scope R_scope.

Section ScoreGradient.
  Context (M : arithmetic).
  Hypothesis good : sound M.
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).
  Context (p omega lost g delta gamma E : R) (unit_dS floor_dS : R).
  Hypothesis coefficient : 0 <= p.
  Hypothesis logs : 0 <= omega /\ 0 <= lost /\ 0 <= unit_dS /\ 0 <= floor_dS.

  Definition score_gradient_log : R := omega + 2 * lambda + unit_dS.
  Definition score_gradient_error : R :=
    p * (exp score_gradient_log * (Rabs (g - delta) + (gamma + E)) - Rabs (g - delta)).
  Definition score_gradient_loss : R :=
    exp score_gradient_log * (lost * (Rabs (g - delta) + (gamma + E)) + (p + lost) * wa + wm) + floor_dS.

  Inductive computed_score_gradient : R -> Prop :=
  | score_gradient_computed p_hat g_hat delta_hat d z dS :
      approximates omega (exp omega * lost) p p_hat -> Rabs (g_hat - g) <= gamma -> Rabs (delta_hat - delta) <= E ->
      computed_sum M (g_hat - delta_hat) d -> computed_product M (p_hat * d) z -> approximates unit_dS floor_dS z dS ->
      computed_score_gradient dS.

  Theorem b17_score_gradient dS :
    computed_score_gradient dS -> Rabs (dS - p * (g - delta)) <= score_gradient_error + score_gradient_loss.
  Proof using good coefficient logs.
    intros [p_hat g_hat delta_hat d z dS' [t [e [bt [be ->]]]] close_g close_d [t1 [e1 [b1 [c1 ->]]]] [t2 [e2 [b2 [c2 ->]]]]
              [t3 [e3 [b3 [c3 ->]]]]].
    pose proof (unit_nonneg M good) as fl. assert (fa : 0 <= wa) by (unfold sound in good; lra).
    assert (fm : 0 <= wm) by (unfold sound in good; lra). destruct logs as [hw [hl [hu hf]]].
    apply abs_between in bt. apply abs_between in b1. apply abs_between in b2. apply abs_between in b3.
    unfold score_gradient_error, score_gradient_loss. set (W := score_gradient_log).
    assert (hW : W = omega + 2 * lambda + unit_dS) by reflexivity.
    set (X := g_hat - delta_hat). set (D := g - delta). set (off := gamma + E).
    assert (close : Rabs (X - D) <= off).
    { unfold X, D, off. replace (g_hat - delta_hat - (g - delta)) with ((g_hat - g) + - (delta_hat - delta)) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
    assert (size : Rabs X <= Rabs D + off).
    { replace X with (D + (X - D)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
    pose proof (Rabs_pos D) as D0. pose proof (Rabs_pos (X - D)) as off0.
    replace (((p * exp t + e) * (X * exp t1 + e1) * exp t2 + e2) * exp t3 + e3 - p * D)
      with (p * ((X - D) * exp (t + t1 + t2 + t3) + D * (exp (t + t1 + t2 + t3) - 1))
            + (e * X * exp (t1 + t2 + t3) + p * e1 * exp (t + t2 + t3) + e * e1 * exp (t2 + t3) + e2 * exp t3 + e3))
      by (rewrite !exp_plus; ring).
    eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat.
    - rewrite Rabs_mult, (Rabs_right p) by lra. apply Rmult_le_compat_l; [easy|].
      eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult, (Rabs_right (exp (t + t1 + t2 + t3))) by (left; apply exp_pos).
      pose proof (expm1_abs (t + t1 + t2 + t3) W ltac:(apply Rabs_le; lra)) as grows.
      assert (exp (t + t1 + t2 + t3) <= exp W) by (apply exp_le; lra).
      assert (Rabs (X - D) * exp (t + t1 + t2 + t3) <= off * exp W).
      { apply Rmult_le_compat; [easy|left; apply exp_pos|easy|easy]. }
      assert (Rabs D * Rabs (exp (t + t1 + t2 + t3) - 1) <= Rabs D * (exp W - 1)) by now apply Rmult_le_compat_l. lra.
    - assert (up : forall v V c k, 0 <= V -> Rabs v <= exp k * V -> k + c <= W -> Rabs (v * exp c) <= exp W * V).
      { intros v V c k hV hv hc. rewrite Rabs_mult, (Rabs_right (exp c)) by (left; apply exp_pos).
        apply Rle_trans with (exp k * V * exp c); [apply Rmult_le_compat_r; [left; apply exp_pos|easy]|].
        replace (exp k * V * exp c) with (exp (k + c) * V) by (rewrite exp_plus; ring).
        apply Rmult_le_compat_r; [easy|now apply exp_le]. }
      assert (lX : 0 <= lost * (Rabs D + off)) by (apply Rmult_le_pos; lra).
      assert (u1 : Rabs (e * X * exp (t1 + t2 + t3)) <= exp W * (lost * (Rabs D + off))).
      { apply (up _ _ _ omega); [easy| |lra]. rewrite Rabs_mult, <- Rmult_assoc.
        apply Rmult_le_compat; try apply Rabs_pos; easy. }
      assert (u2 : Rabs (p * e1 * exp (t + t2 + t3)) <= exp W * (p * wa)).
      { apply (up _ _ _ 0); [now apply Rmult_le_pos| |lra]. rewrite exp_0, Rmult_1_l, Rabs_mult, (Rabs_right p) by lra.
        now apply Rmult_le_compat_l. }
      assert (u3 : Rabs (e * e1 * exp (t2 + t3)) <= exp W * (lost * wa)).
      { apply (up _ _ _ omega); [now apply Rmult_le_pos| |lra]. rewrite Rabs_mult, <- Rmult_assoc.
        apply Rmult_le_compat; try apply Rabs_pos; easy. }
      assert (u4 : Rabs (e2 * exp t3) <= exp W * wm).
      { apply (up _ _ _ 0); [easy|rewrite exp_0; lra|lra]. }
      eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [|easy].
      eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
      eapply Rle_trans; [apply Rplus_le_compat_r, Rplus_le_compat_r, Rabs_triang|]. lra.
  Qed.
End ScoreGradient.
