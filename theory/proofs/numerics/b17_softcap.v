(** * B17 behind a softcap c: the slope 1 - tanh^2 (s / c), and dS = p (g - delta) (1 - tanh^2).

    Main results, tau = tanh (s / c), tau_hat within e^(+-b) and l of tanh (s' / c), s' within e of s
    - [tangent_again]         tanh of s' / c, computed again: b = lambda_tanh + alpha, l = (e^lambda_tanh + 1) l_1
    - [tangent_from_capped]   the capped score over c: the product and the quotient more, and l_1 / c + l_1
    - [softcap_slope]         |slope_hat - (1 - tau^2)| <= (e^lambda - 1) (1 - tau^2) + e^lambda [(e^a - 1) tau^2 +
                              e^a (2 |tau| e / c + (e / c)^2)] + what is lost, a = 2 b + lambda
    - [b17_capped_gradient]   |dS_hat - dS| <= p (e^W (|g - delta| + gamma + E) (slope + its error) - |g - delta| slope)
                              + what is lost, W = omega + 3 lambda + lambda_dS: the slope meets the difference or the product
    - [b17_score_gradient]   p within e^(+-omega) and e^omega lost, g within gamma, delta within E: |dS_hat - dS| <=
                             p (e^W (|g - delta| + gamma + E) - |g - delta|) + what is lost, W = omega + 2 lambda + lambda_dS

    Source: docs/tolerances/attention_backward.md, "A softcap"; cap_slope and attention_backward_pairs in
    numerics/rounding/rounding_attention_backward.cpp, where alpha = 2 lambda in front of tanh, 3 lambda behind it, and lambda more
    where the accumulator does not hold c. *)

From softcheck Require Import attention_variants.
From softcheck.numerics Require Import added_terms b9_score_terms.
Local Open Scope R_scope.

(** ** B17: the gradient of one score, dS = p (g - delta).

    A difference and a product, and the format in which dS meets query and key. The bound is not relative to dS: where p is
    nearly one-hot, g - delta cancels.

    Source: docs/tolerances/attention_backward.md, "dS"; attention_backward_pairs in
    numerics/rounding/rounding_attention_backward.cpp. *)

Section ScoreGradient.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).
  Context (p omega lost g delta gamma E : R) (unit_dS floor_dS : R) (coefficient : 0 <= p)
    (logs : 0 <= omega /\ 0 <= lost /\ 0 <= unit_dS /\ 0 <= floor_dS).

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
    assert (fm : 0 <= wm) by (unfold sound in good; lra). destruct logs as [hw [hl [hu hf]]]. apply abs_between in bt.
    apply abs_between in b1. apply abs_between in b2. apply abs_between in b3.
    unfold score_gradient_error, score_gradient_loss. set (W := score_gradient_log).
    assert (hW : W = omega + 2 * lambda + unit_dS) by reflexivity. set (X := g_hat - delta_hat). set (D := g - delta).
    set (off := gamma + E). assert (close : Rabs (X - D) <= off).
    { unfold X, D, off. replace (g_hat - delta_hat - (g - delta)) with ((g_hat - g) + - (delta_hat - delta)) by ring.
      triangle. rewrite Rabs_Ropp. lra. }
    assert (size : Rabs X <= Rabs D + off). { replace X with (D + (X - D)) by ring. triangle. lra. }
    pose proof (Rabs_pos D) as D0. pose proof (Rabs_pos (X - D)) as off0.
    replace (((p * exp t + e) * (X * exp t1 + e1) * exp t2 + e2) * exp t3 + e3 - p * D)
      with (p * ((X - D) * exp (t + t1 + t2 + t3) + D * (exp (t + t1 + t2 + t3) - 1))
            + (e * X * exp (t1 + t2 + t3) + p * e1 * exp (t + t2 + t3) + e * e1 * exp (t2 + t3) + e2 * exp t3 + e3))
      by (rewrite !exp_plus; ring).
    triangle. apply Rplus_le_compat.
    - rewrite Rabs_mult, (Rabs_right p) by lra. apply Rmult_le_compat_l; [easy|]. triangle.
      rewrite !Rabs_mult, (Rabs_right (exp (t + t1 + t2 + t3))) by (left; apply exp_pos).
      pose proof (expm1_abs (t + t1 + t2 + t3) W ltac:(apply Rabs_le; lra)) as grows.
      assert (exp (t + t1 + t2 + t3) <= exp W) by monotone.
      assert (Rabs (X - D) * exp (t + t1 + t2 + t3) <= off * exp W) by monotone.
      assert (Rabs D * Rabs (exp (t + t1 + t2 + t3) - 1) <= Rabs D * (exp W - 1)) by monotone. lra.
    - assert (up : forall v V c k, 0 <= V -> Rabs v <= exp k * V -> k + c <= W -> Rabs (v * exp c) <= exp W * V).
      { intros v V c k hV hv hc. rewrite Rabs_mult, (Rabs_right (exp c)) by (left; apply exp_pos).
        apply Rle_trans with (exp k * V * exp c); [apply Rmult_le_compat_r; [monotone|easy]|].
        replace (exp k * V * exp c) with (exp (k + c) * V) by (rewrite exp_plus; ring). monotone. }
      assert (lX : 0 <= lost * (Rabs D + off)) by monotone.
      assert (u1 : Rabs (e * X * exp (t1 + t2 + t3)) <= exp W * (lost * (Rabs D + off))).
      { apply (up _ _ _ omega); [easy| |lra]. rewrite Rabs_mult, <- Rmult_assoc.
        apply Rmult_le_compat; try apply Rabs_pos; easy. }
      assert (u2 : Rabs (p * e1 * exp (t + t2 + t3)) <= exp W * (p * wa)).
      { apply (up _ _ _ 0); [monotone| |lra]. rewrite exp_0, Rmult_1_l, Rabs_mult, (Rabs_right p) by lra. monotone. }
      assert (u3 : Rabs (e * e1 * exp (t2 + t3)) <= exp W * (lost * wa)).
      { apply (up _ _ _ omega); [monotone| |lra]. rewrite Rabs_mult, <- Rmult_assoc.
        apply Rmult_le_compat; try apply Rabs_pos; easy. }
      assert (u4 : Rabs (e2 * exp t3) <= exp W * wm). { apply (up _ _ _ 0); [easy|rewrite exp_0; lra|lra]. } triangle.
      apply Rplus_le_compat; [|easy]. triangle. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
      eapply Rle_trans; [apply Rplus_le_compat_r, Rplus_le_compat_r, Rabs_triang|]. lra.
  Qed.
End ScoreGradient.

Lemma tanh_below_one x : Rabs (tanh x) <= 1.
Proof.
  rewrite tanh_ratio. pose proof (exp_pos (2 * x)). assert (0 < 2 / (exp (2 * x) + 1) < 2).
  { split; [monotone|]. apply Rmult_lt_reg_r with (exp (2 * x) + 1); [lra|]. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l; lra. }
  apply Rabs_le. lra.
Qed.

Section Tangent.
  Context (c alpha beta lambda_tanh l : R) (positive : 0 < c)
    (losses : 0 <= alpha /\ 0 <= beta /\ 0 <= lambda_tanh /\ 0 <= l) (s' : R).
  Notation exact := (tanh (s' / c)).

  Theorem tangent_again t1 e1 T :
    Rabs t1 <= alpha -> Rabs e1 <= l -> approximates lambda_tanh l (tanh (s' / c * exp t1 + e1)) T ->
    approximates (lambda_tanh + alpha) ((exp lambda_tanh + 1) * l) exact T.
  Proof using losses.
    intros b1 c1 [t2 [e2 [b2 [c2 ->]]]]. destruct (tanh_scaled (s' / c) t1) as [w [between eqw]].
    set (a := s' / c * exp t1) in *. set (d := tanh (a + e1) - tanh a). assert (moved : Rabs d <= l).
    { unfold d. pose proof (softcap_contracts 1 (a + e1) a ltac:(lra)) as near. unfold softcap, Rdiv in near.
      rewrite Rinv_1, !Rmult_1_l, !Rmult_1_r in near. replace (a + e1 - a) with e1 in near by ring. lra. }
    apply abs_between in b1. apply abs_between in b2. exists (w + t2), (d * exp t2 + e2).
    repeat split; [apply Rabs_le; lra| |].
    - triangle. rewrite Rmult_plus_distr_r, Rmult_1_l. apply Rplus_le_compat; [|easy].
      rewrite Rabs_mult, (Rabs_right (exp t2)), Rmult_comm by (left; apply exp_pos). monotone.
    - rewrite exp_plus, <- Rmult_assoc, <- eqw. unfold d. ring.
  Qed.

  (** held: c as the accumulator has it, in the product and in the quotient the same. *)
  Theorem tangent_from_capped b k held T y T' :
    0 <= b -> 0 <= k -> held = c * exp k \/ held = c * exp (- k) ->
    approximates b l exact T -> approximates beta l (T * held) y -> approximates alpha l (y / held) T' ->
    approximates (b + beta + alpha) (exp (beta + alpha) * (l + exp k * (l / c)) + l) exact T'.
  Proof using positive losses.
    intros hb hk is_held [t1 [e1 [b1 [c1 ->]]]] [t2 [e2 [b2 [c2 ->]]]] [t3 [e3 [b3 [c3 ->]]]]. apply abs_between in b1.
    apply abs_between in b2. apply abs_between in b3. pose proof (exp_pos k). pose proof (exp_pos (- k)).
    assert (pos : 0 < held) by (destruct is_held as [-> | ->]; apply Rmult_lt_0_compat; lra).
    assert (over : / held <= exp k / c).
    { destruct is_held as [-> | ->]; rewrite Rinv_mult; unfold Rdiv; rewrite Rmult_comm; (apply Rmult_le_compat_r;
        [left; now apply Rinv_0_lt_compat|]); rewrite <- exp_Ropp, ?Ropp_involutive; apply exp_le; lra. }
    destruct losses as [ha [hbeta [hl0 hl]]]. exists (t1 + t2 + t3), (e1 * exp (t2 + t3) + e2 / held * exp t3 + e3).
    repeat split; [apply Rabs_le; lra| |].
    - triangle. apply Rplus_le_compat; [|easy]. triangle. rewrite Rmult_plus_distr_l.
      apply Rplus_le_compat; rewrite Rabs_mult, (Rabs_right (exp _)), Rmult_comm by (left; apply exp_pos).
      + monotone.
      + apply Rmult_le_compat; [monotone|monotone|monotone|]. unfold Rdiv.
        rewrite Rabs_mult, (Rabs_right (/ held)) by (left; now apply Rinv_0_lt_compat).
        replace (exp k * (l * / c)) with (l * (exp k / c)) by (unfold Rdiv; ring). monotone.
    - rewrite !exp_plus. field. lra.
  Qed.
End Tangent.

Section Slope.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).
  Context (c e b l : R) (positive : 0 < c) (losses : 0 <= b /\ 0 <= l).

  Definition slope_log : R := 2 * b + lambda.
  Definition square_error (tau : R) : R :=
    (exp slope_log - 1) * tau ^ 2 + exp slope_log * (2 * Rabs tau * (e / c) + (e / c) ^ 2).
  Definition square_loss : R := exp slope_log * (2 * l + l ^ 2) + wm.
  Definition slope_error (tau : R) : R := (exp lambda - 1) * (1 - tau ^ 2) + exp lambda * square_error tau.
  Definition slope_loss : R := exp lambda * square_loss + wa.

  Theorem softcap_slope s s' T square z :
    let tau := tanh (s / c) in
    Rabs (s' - s) <= e -> approximates b l (tanh (s' / c)) T -> computed_product M (T * T) square ->
    computed_sum M (1 - square) z -> Rabs (z - (1 - tau ^ 2)) <= slope_error tau + slope_loss.
  Proof using good positive losses.
    intros tau close [w [e1 [bw [c1 ->]]]] [t2 [e2 [b2 [c2 ->]]]] [t3 [e3 [b3 [c3 ->]]]].
    pose proof (unit_nonneg M good) as fl. destruct losses as [hb hl]. set (tau' := tanh (s' / c)).
    pose proof (tanh_below_one (s' / c)) as one'. fold tau' in one'. pose proof (tanh_below_one (s / c)) as one.
    fold tau in one. assert (eta : Rabs (tau' - tau) <= e / c).
    { pose proof (softcap_contracts c s' s positive) as near. unfold softcap in near. fold tau' tau in near.
      rewrite <- Rmult_minus_distr_l, Rabs_mult, (Rabs_right c) in near by lra. apply Rmult_le_reg_l with c; [easy|].
      replace (c * (e / c)) with e by (field; lra). lra. }
    set (n := e / c) in *. pose proof (Rabs_pos tau) as pt. pose proof (Rabs_pos (tau' - tau)). apply abs_between in bw.
    apply abs_between in b2. apply abs_between in b3 as r3. set (K := exp slope_log).
    assert (K1 : 1 <= K) by (apply exp_at_least_one; unfold slope_log; lra). set (q := w + w + t2).
    assert (bq : Rabs q <= slope_log) by (unfold q, slope_log; apply Rabs_le; lra).
    assert (up : forall v V x, Rabs v <= V -> x <= slope_log -> Rabs (v * exp x) <= K * V).
    { intros v V x hv hx. rewrite Rabs_mult, (Rabs_right (exp x)), Rmult_comm by (left; apply exp_pos).
      apply Rmult_le_compat; [left; apply exp_pos|apply Rabs_pos|now apply exp_le|easy]. }
    assert (apart : Rabs (tau' ^ 2 - tau ^ 2) <= 2 * Rabs tau * n + n ^ 2).
    { replace (tau' ^ 2 - tau ^ 2) with (2 * tau * (tau' - tau) + (tau' - tau) * (tau' - tau)) by ring. triangle.
      rewrite !Rabs_mult, (Rabs_right 2) by lra. assert (Rabs tau * Rabs (tau' - tau) <= Rabs tau * n) by monotone.
      assert (Rabs (tau' - tau) * Rabs (tau' - tau) <= n * n) by monotone. simpl. lra. }
    assert (sq : Rabs ((tau' * exp w + e1) * (tau' * exp w + e1) * exp t2 + e2 - tau ^ 2)
      <= square_error tau + square_loss).
    { replace ((tau' * exp w + e1) * (tau' * exp w + e1) * exp t2 + e2 - tau ^ 2)
        with ((tau ^ 2 * (exp q - 1) + (tau' ^ 2 - tau ^ 2) * exp q)
              + ((2 * (tau' * e1) * exp (w + t2) + e1 * e1 * exp t2) + e2)) by (unfold q; rewrite !exp_plus; ring).
      unfold square_error, square_loss. fold K n. triangle. apply Rplus_le_compat.
      - triangle. apply Rplus_le_compat.
        + rewrite Rabs_mult, (Rabs_right (tau ^ 2)), Rmult_comm by (apply Rle_ge, pow2_ge_0).
          apply Rmult_le_compat_r; [apply pow2_ge_0|now apply expm1_abs].
        + apply up; [easy|]. apply abs_between in bq. lra.
      - triangle. apply Rplus_le_compat; [|easy]. triangle. rewrite Rmult_plus_distr_l.
        apply Rplus_le_compat; (apply up; [|unfold slope_log; lra]).
        + rewrite !Rabs_mult, (Rabs_right 2) by lra. pose proof (Rabs_pos e1).
          assert (Rabs tau' * Rabs e1 <= 1 * l) by monotone. lra.
        + rewrite Rabs_mult. replace (l ^ 2) with (l * l) by ring. apply Rmult_le_compat; try apply Rabs_pos; easy. }
    set (square := (tau' * exp w + e1) * (tau' * exp w + e1) * exp t2 + e2) in *. assert (slope0 : 0 <= 1 - tau ^ 2).
    { apply abs_between in one. nra. }
    replace ((1 - square) * exp t3 + e3 - (1 - tau ^ 2))
      with ((1 - tau ^ 2) * (exp t3 - 1) + (- (square - tau ^ 2) * exp t3 + e3)) by ring.
    unfold slope_error, slope_loss. triangle. rewrite Rabs_mult, (Rabs_right (1 - tau ^ 2)) by lra.
    assert ((1 - tau ^ 2) * Rabs (exp t3 - 1) <= (1 - tau ^ 2) * (exp lambda - 1)).
    { apply Rmult_le_compat_l; [easy|now apply expm1_abs]. }
    assert (Rabs (- (square - tau ^ 2) * exp t3 + e3) <= exp lambda * (square_error tau + square_loss) + wa); [|lra].
    triangle. apply Rplus_le_compat; [|easy].
    rewrite Rabs_mult, Rabs_Ropp, (Rabs_right (exp t3)), Rmult_comm by (left; apply exp_pos). monotone.
  Qed.
End Slope.

(** |x + ... + z| against the sizes of its terms. *)
Local Ltac triangles :=
  let rec parts s := lazymatch s with ?x + ?y => pose proof (Rabs_triang x y); parts x | _ => idtac end in
  match goal with |- Rabs ?s <= _ => parts s end.

(** ** dS, a product more than in [b17_score_gradient] *)

Section Capped.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).
  Context (p omega lost g delta gamma E slope off_slope unit_dS floor_dS : R) (coefficient : 0 <= p)
    (logs : 0 <= omega /\ 0 <= lost /\ 0 <= slope /\ 0 <= unit_dS /\ 0 <= floor_dS).
  Notation reached := (slope + off_slope).
  Notation far := (Rabs (g - delta) + (gamma + E)).

  Definition capped_log : R := omega + 3 * lambda + unit_dS.
  Definition capped_error : R := p * (exp capped_log * (far * reached) - Rabs (g - delta) * slope).
  Definition capped_loss : R :=
    exp capped_log * (lost * (far * reached) + (p + lost) * (wa * reached) + (reached + p + lost + 1) * wm) + floor_dS.

  Inductive computed_capped_gradient : R -> Prop :=
  | slope_behind p_hat g_hat delta_hat s_hat d y z dS :
      approximates omega (exp omega * lost) p p_hat -> Rabs (g_hat - g) <= gamma -> Rabs (delta_hat - delta) <= E ->
      Rabs (s_hat - slope) <= off_slope -> computed_sum M (g_hat - delta_hat) d -> computed_product M (p_hat * d) y ->
      computed_product M (y * s_hat) z -> approximates unit_dS floor_dS z dS -> computed_capped_gradient dS
  | slope_first p_hat g_hat delta_hat s_hat d y z dS :
      approximates omega (exp omega * lost) p p_hat -> Rabs (g_hat - g) <= gamma -> Rabs (delta_hat - delta) <= E ->
      Rabs (s_hat - slope) <= off_slope -> computed_sum M (g_hat - delta_hat) d -> computed_product M (d * s_hat) y ->
      computed_product M (p_hat * y) z -> approximates unit_dS floor_dS z dS -> computed_capped_gradient dS.

  (** Both orders: p e^t (X e^t1) s e^t4 and what is lost. *)
  Let assembled t X s_hat q loss :
    Rabs (X - (g - delta)) <= gamma + E -> Rabs (s_hat - slope) <= off_slope -> Rabs (t + q) <= capped_log ->
    Rabs (p * exp t * X * s_hat * exp q + loss - p * ((g - delta) * slope)) <= capped_error + Rabs loss.
  Proof using coefficient logs.
    intros near close bound. set (D := g - delta) in *. destruct logs as [hw [hl [hs [hu hf]]]].
    replace (p * exp t * X * s_hat * exp q + loss - p * (D * slope))
      with (p * ((X * s_hat - D * slope) * exp (t + q) + D * slope * (exp (t + q) - 1)) + loss) by (rewrite exp_plus; ring).
    triangle. apply Rplus_le_compat_r. unfold capped_error. fold D. rewrite Rabs_mult, (Rabs_right p) by lra.
    apply Rmult_le_compat_l; [easy|]. pose proof (Rabs_pos D) as D0. pose proof (Rabs_pos (X - D)).
    pose proof (Rabs_pos (s_hat - slope)).
    assert (product : Rabs (X * s_hat - D * slope) <= (Rabs D + (gamma + E)) * reached - Rabs D * slope).
    { replace (X * s_hat - D * slope) with ((X - D) * slope + D * (s_hat - slope) + (X - D) * (s_hat - slope))
        by ring.
      triangle. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
      rewrite !Rabs_mult, (Rabs_right slope) by lra. assert (Rabs (X - D) * slope <= (gamma + E) * slope) by monotone.
      assert (Rabs D * Rabs (s_hat - slope) <= Rabs D * off_slope) by monotone.
      assert (Rabs (X - D) * Rabs (s_hat - slope) <= (gamma + E) * off_slope) by monotone. lra. }
    triangle. rewrite !Rabs_mult, (Rabs_right (exp (t + q))), (Rabs_right slope) by (try (left; apply exp_pos); lra).
    pose proof (expm1_abs (t + q) capped_log bound) as grows. apply abs_between in bound.
    assert (exp (t + q) <= exp capped_log) by monotone.
    assert (Rabs (X * s_hat - D * slope) * exp (t + q)
      <= ((Rabs D + (gamma + E)) * reached - Rabs D * slope) * exp capped_log) by monotone.
    assert (0 <= Rabs D * slope) by monotone.
    assert (Rabs D * slope * Rabs (exp (t + q) - 1) <= Rabs D * slope * (exp capped_log - 1)) by monotone. lra.
  Qed.

  Theorem b17_capped_gradient dS :
    computed_capped_gradient dS -> Rabs (dS - p * ((g - delta) * slope)) <= capped_error + capped_loss.
  Proof using good coefficient logs.
    pose proof (unit_nonneg M good) as fl. assert (fa : 0 <= wa) by (unfold sound in good; lra).
    assert (fm : 0 <= wm) by (unfold sound in good; lra). destruct logs as [hw [hl [hs [hu hf]]]].
    assert (up : forall v V x k, 0 <= V -> Rabs v <= exp k * V -> k + x <= capped_log -> Rabs (v * exp x)
      <= exp capped_log * V).
    { intros v V x k hV hv hx. rewrite Rabs_mult, (Rabs_right (exp x)) by (left; apply exp_pos).
      apply Rle_trans with (exp k * V * exp x); [apply Rmult_le_compat_r; [monotone|easy]|].
      replace (exp k * V * exp x) with (exp (k + x) * V) by (rewrite exp_plus; ring). monotone. }
    assert (sizes : forall g_hat delta_hat s_hat, Rabs (g_hat - g) <= gamma -> Rabs (delta_hat - delta) <= E ->
              Rabs (s_hat - slope) <= off_slope ->
              Rabs (g_hat - delta_hat - (g - delta)) <= gamma + E /\ Rabs (g_hat - delta_hat) <= far /\ Rabs s_hat <= reached).
    { intros gh dh sh hg hd hsl. assert (near : Rabs (gh - dh - (g - delta)) <= gamma + E).
      { replace (gh - dh - (g - delta)) with ((gh - g) + - (dh - delta)) by ring. triangle. rewrite Rabs_Ropp. lra. }
      split; [easy|]. split.
      - replace (gh - dh) with (g - delta + (gh - dh - (g - delta))) by ring. triangle. lra.
      - replace sh with (slope + (sh - slope)) by ring. triangle. rewrite (Rabs_right slope); lra. }
    assert (many : forall v V w W, Rabs v <= V -> Rabs w <= W -> Rabs (v * w) <= V * W).
    { intros v V w W hv hw'. monotone. }
    intros [p_hat g_hat delta_hat s_hat d y z dS' [t [e [bt [be ->]]]] close_g close_d close_s [t1 [e1 [b1 [c1 ->]]]]
      [t2 [e2 [b2 [c2 ->]]]] [t3 [e3 [b3 [c3 ->]]]] [t4 [e4 [b4 [c4 ->]]]]
      |p_hat g_hat delta_hat s_hat d y z dS' [t [e [bt [be ->]]]] close_g close_d close_s [t1 [e1 [b1 [c1 ->]]]]
      [t2 [e2 [b2 [c2 ->]]]] [t3 [e3 [b3 [c3 ->]]]] [t4 [e4 [b4 [c4 ->]]]]]; apply abs_between in bt;
      apply abs_between in b1; apply abs_between in b2; apply abs_between in b3; apply abs_between in b4;
      destruct (sizes g_hat delta_hat s_hat close_g close_d close_s) as [near [size reach]];
      set (X := g_hat - delta_hat) in *; pose proof (Rabs_pos X); pose proof (Rabs_pos s_hat);
      assert (W : Rabs (t + (t1 + t2 + t3 + t4)) <= capped_log)
      by (unfold capped_log; apply Rabs_le; lra); assert (hXs : 0 <= lost * (far * reached))
      by (apply Rmult_le_pos; [easy|monotone]);
      assert (u1 : Rabs (e * (X * s_hat) * exp (t1 + t2 + t3 + t4)) <= exp capped_log * (lost * (far * reached)))
      by (apply (up _ _ _ omega); [easy| |unfold capped_log; lra];
      apply Rle_trans with (exp omega * lost * (far * reached)); [apply many; [easy|now apply many]|right; ring]);
      assert (u2 : Rabs (p * (e1 * s_hat) * exp (t + t2 + t3 + t4)) <= exp capped_log * (p * (wa * reached)))
      by (apply (up _ _ _ 0); [repeat apply Rmult_le_pos; lra| |unfold capped_log; lra]; rewrite exp_0, Rmult_1_l;
      apply many; [rewrite Rabs_right; lra|now apply many]);
      assert (u3 : Rabs (e * (e1 * s_hat) * exp (t2 + t3 + t4)) <= exp capped_log * (lost * (wa * reached)))
      by (apply (up _ _ _ omega); [repeat apply Rmult_le_pos; lra| |unfold capped_log; lra];
      apply Rle_trans with (exp omega * lost * (wa * reached)); [apply many; [easy|now apply many]|right; ring]);
      assert (u6 : Rabs (e3 * exp t4) <= exp capped_log * wm)
      by (apply (up _ _ _ 0); [easy|rewrite exp_0; lra|unfold capped_log; lra]);
      assert (spare : forall v, 0 <= v -> 0 <= exp capped_log * (v * wm))
      by (intros v hv; apply Rmult_le_pos; [monotone|monotone]); pose proof (spare reached ltac:(lra));
      pose proof (spare p coefficient); pose proof (spare lost hl).
    - assert (u4 : Rabs (e2 * s_hat * exp (t3 + t4)) <= exp capped_log * (wm * reached)).
      { apply (up _ _ _ 0); [monotone| |unfold capped_log; lra]. rewrite exp_0, Rmult_1_l. now apply many. }
      replace ((((p * exp t + e) * (X * exp t1 + e1) * exp t2 + e2) * s_hat * exp t3 + e3) * exp t4 + e4)
        with (p * exp t * X * s_hat * exp (t1 + t2 + t3 + t4)
        + (e * (X * s_hat) * exp (t1 + t2 + t3 + t4) + p * (e1 * s_hat) * exp (t + t2 + t3 + t4)
        + e * (e1 * s_hat) * exp (t2 + t3 + t4) + e2 * s_hat * exp (t3 + t4) + e3 * exp t4 + e4))
        by (rewrite !exp_plus; ring).
      eapply Rle_trans; [now apply assembled|]. apply Rplus_le_compat_l. unfold capped_loss. triangles. lra.
    - assert (u4 : Rabs (p * e2 * exp (t + t3 + t4)) <= exp capped_log * (p * wm)).
      { apply (up _ _ _ 0); [monotone| |unfold capped_log; lra]. rewrite exp_0, Rmult_1_l.
        apply many; [rewrite Rabs_right; lra|easy]. }
      assert (u5 : Rabs (e * e2 * exp (t3 + t4)) <= exp capped_log * (lost * wm)).
      { apply (up _ _ _ omega); [monotone| |unfold capped_log; lra].
        apply Rle_trans with (exp omega * lost * wm); [now apply many|right; ring]. }
      replace (((p * exp t + e) * ((X * exp t1 + e1) * s_hat * exp t2 + e2) * exp t3 + e3) * exp t4 + e4)
        with (p * exp t * X * s_hat * exp (t1 + t2 + t3 + t4)
              + (e * (X * s_hat) * exp (t1 + t2 + t3 + t4) + p * (e1 * s_hat) * exp (t + t2 + t3 + t4)
                 + e * (e1 * s_hat) * exp (t2 + t3 + t4) + p * e2 * exp (t + t3 + t4) + e * e2 * exp (t3 + t4)
                 + e3 * exp t4 + e4)) by (rewrite !exp_plus; ring).
      eapply Rle_trans; [now apply assembled|]. apply Rplus_le_compat_l. unfold capped_loss. triangles. lra.
  Qed.
End Capped.
