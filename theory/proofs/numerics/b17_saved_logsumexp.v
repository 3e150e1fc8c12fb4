(** * B17: a coefficient of attention as the exponential of a score less a log-sum-exp.

    Main results, G(k) = e^(k lambda) - 1, A the roundings of an argument, of which A - 1 may be a change of base
    - [b17_argument]       |a_hat - (x - L)| <= e^(A lambda) (e + ell) + 2 e^lambda G(A - 1) |L| + t (L - x) + lost, t = G(A),
                           x within e and L within ell of what is exact; scaled before the difference or behind it
    - [b17_saved]          p_hat = p e^w + omega_x, |w| <= lambda_E + that, L - x = D + ln S
    - [saved_logsumexp]    ell of an L that was saved: (e^(lambda_L + r) - 1) |L| and what underflows

    The larger of two ways to p, by this and by the sum (b17_recomputed_sum), is omega_j.

    Source: docs/tolerances/attention_backward.md; CoefficientLogs::through_logsumexp in
    numerics/rounding/rounding_attention_backward.cpp. *)

From softcheck.numerics Require Import row tilted_row added_terms.
Local Open Scope R_scope.

Section Saved.
  Context (M : arithmetic).
  Hypothesis good : sound M.
  Context (A : R).
  Hypothesis roundings : 1 <= A.
  Notation lambda := (unit M).
  Notation lambdaE := (exp_unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).

  Definition growth (k : R) : R := exp (k * lambda) - 1.

  (** A score or a log-sum-exp as it is brought to another base. *)
  Definition scaled (z y : R) : Prop := approximates ((A - 1) * lambda) wm z y.

  Inductive difference_from (x L : R) : R -> Prop :=
  | scaled_first x1 L1 a : scaled x x1 -> scaled L L1 -> computed_sum M (x1 - L1) a -> difference_from x L a
  | scaled_behind d a : computed_sum M (x - L) d -> scaled d a -> difference_from x L a.

  (** e, ell: what the score and the log-sum-exp in use err by. *)
  Definition argument_error (e ell L gap : R) : R :=
    exp (A * lambda) * (e + ell) + 2 * exp lambda * growth (A - 1) * Rabs L + growth A * gap
    + exp (A * lambda) * (3 * wm + wa).

  Local Ltac facts :=
    sound_facts good;
    assert (fA : 0 <= (A - 1) * lambda) by (apply Rmult_le_pos; lra);
    assert (eA : A * lambda = (A - 1) * lambda + lambda) by ring.

  Theorem b17_argument x L x' L' e ell a :
    x <= L -> Rabs (x' - x) <= e -> Rabs (L' - L) <= ell -> difference_from x' L' a ->
    Rabs (a - (x - L)) <= argument_error e ell L (L - x).
  Proof using good roundings.
    intros below bx bL form. facts.
    set (K := exp (A * lambda)). assert (K1 : 1 <= K) by (apply exp_at_least_one; lra).
    set (B := exp lambda). assert (B1 : 1 <= B) by now apply exp_at_least_one.
    (* the common shape: x' e^s - L' e^r, and what is lost *)
    assert (main : forall s r r0, Rabs s <= A * lambda -> Rabs r <= A * lambda -> Rabs r0 <= lambda ->
      Rabs (exp s - exp r) <= 2 * growth (A - 1) * exp r0 ->
      Rabs (x' * exp s - L' * exp r - (x - L)) <= K * (e + ell) + 2 * B * growth (A - 1) * Rabs L + growth A * (L - x)).
    { intros s r r0 bs br br0 close.
      replace (x' * exp s - L' * exp r - (x - L))
        with ((x' - x) * exp s + - ((L' - L) * exp r) + L * (exp s - exp r) + (x - L) * (exp s - 1)) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
      eapply Rle_trans; [apply Rplus_le_compat_r, Rplus_le_compat_r, Rabs_triang|].
      rewrite Rabs_Ropp, !Rabs_mult, (Rabs_right (exp s)), (Rabs_right (exp r)) by (left; apply exp_pos).
      rewrite (Rabs_left1 (x - L)) by lra.
      assert (es : exp s <= K) by (apply exp_le; apply abs_between in bs; lra).
      assert (er : exp r <= K) by (apply exp_le; apply abs_between in br; lra).
      assert (e0 : exp r0 <= B) by (apply exp_le; apply abs_between in br0; lra).
      pose proof (exp_pos s). pose proof (exp_pos r). pose proof (Rabs_pos (x' - x)). pose proof (Rabs_pos (L' - L)).
      assert (Rabs (x' - x) * exp s <= e * K) by (apply Rmult_le_compat; lra).
      assert (Rabs (L' - L) * exp r <= ell * K) by (apply Rmult_le_compat; lra).
      assert (gA : 0 <= growth (A - 1)) by (unfold growth; pose proof (exp_at_least_one _ fA); lra).
      assert (Rabs L * Rabs (exp s - exp r) <= Rabs L * (2 * growth (A - 1) * B)).
      { apply Rmult_le_compat_l; [apply Rabs_pos|]. eapply Rle_trans; [apply close|]. apply Rmult_le_compat_l; lra. }
      assert (- (x - L) * Rabs (exp s - 1) <= (L - x) * growth A).
      { replace (- (x - L)) with (L - x) by ring. apply Rmult_le_compat_l; [lra|]. unfold growth. now apply expm1_abs. }
      lra. }
    unfold argument_error. fold K. fold B.
    destruct form as [x1 L1 a [t1 [e1 [b1 [c1 ->]]]] [t2 [e2 [b2 [c2 ->]]]] [t3 [e3 [b3 [c3 ->]]]]
                     |d a [t3 [e3 [b3 [c3 ->]]]] [t1 [e1 [b1 [c1 ->]]]]];
      apply abs_between in b1 as r1; apply abs_between in b3 as r3.
    - apply abs_between in b2 as r2.
      assert (apart : Rabs (exp (t1 + t3) - exp (t2 + t3)) <= 2 * growth (A - 1) * exp t3).
      { rewrite !exp_plus. replace (exp t1 * exp t3 - exp t2 * exp t3) with (((exp t1 - 1) - (exp t2 - 1)) * exp t3) by ring.
        rewrite Rabs_mult, (Rabs_right (exp t3)) by (left; apply exp_pos).
        apply Rmult_le_compat_r; [left; apply exp_pos|]. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|].
        rewrite Rabs_Ropp. pose proof (expm1_abs t1 _ b1). pose proof (expm1_abs t2 _ b2). unfold growth. lra. }
      pose proof (main (t1 + t3) (t2 + t3) t3 ltac:(apply Rabs_le; lra) ltac:(apply Rabs_le; lra) b3 apart) as close.
      replace ((x' * exp t1 + e1 - (L' * exp t2 + e2)) * exp t3 + e3 - (x - L))
        with (x' * exp (t1 + t3) - L' * exp (t2 + t3) - (x - L) + ((e1 - e2) * exp t3 + e3)) by (rewrite !exp_plus; ring).
      eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [easy|].
      eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_right (exp t3)) by (left; apply exp_pos).
      assert (Rabs (e1 - e2) * exp t3 <= 2 * wm * K).
      { apply Rmult_le_compat; [apply Rabs_pos|left; apply exp_pos| |apply exp_le; lra].
        unfold Rminus. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
      assert (1 * wa <= K * wa) by (apply Rmult_le_compat_r; lra). assert (0 <= K * wm) by (apply Rmult_le_pos; lra). lra.
    - assert (none : Rabs (exp (t3 + t1) - exp (t3 + t1)) <= 2 * growth (A - 1) * exp 0).
      { rewrite Rminus_diag_eq, Rabs_R0, exp_0 by easy. unfold growth. pose proof (exp_at_least_one _ fA). lra. }
      pose proof (main (t3 + t1) (t3 + t1) 0 ltac:(apply Rabs_le; lra) ltac:(apply Rabs_le; lra)
                    ltac:(rewrite Rabs_R0; lra) none) as close.
      replace (((x' - L') * exp t3 + e3) * exp t1 + e1 - (x - L))
        with (x' * exp (t3 + t1) - L' * exp (t3 + t1) - (x - L) + (e3 * exp t1 + e1)) by (rewrite !exp_plus; ring).
      eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [easy|].
      eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_right (exp t1)) by (left; apply exp_pos).
      assert (Rabs e3 * exp t1 <= wa * K).
      { apply Rmult_le_compat; [apply Rabs_pos|left; apply exp_pos|easy|apply exp_le; lra]. }
      assert (1 * wm <= K * wm) by (apply Rmult_le_compat_r; lra). lra.
  Qed.

  (** ** The exponential, of a score of the row *)

  Context (m : R) (logits : list R).
  Hypothesis max : is_maximum m logits.
  Notation L := (ln (partition_function logits)).

  Definition through_logsumexp (e ell D : R) : R :=
    argument_error e ell L (D + ln (weight_sum m logits)) + lambdaE.

  Theorem b17_saved x x' L' e ell a p :
    In x logits -> Rabs (x' - x) <= e -> Rabs (L' - L) <= ell -> difference_from x' L' a -> computed_exp M (- a) p ->
    approximates (through_logsumexp e ell (m - x)) (exp_floor M) (coefficient logits x) p.
  Proof using good roundings max.
    intros inx bx bL form [t [e0 [bt [be [_ [_ ->]]]]]].
    assert (visible : logits <> nil) by now apply (in_not_nil x).
    pose proof (logsumexp_from_statistics m logits max) as eL. pose proof (S_at_least_one m logits max) as S1.
    pose proof (ln_le 1 (weight_sum m logits) ltac:(lra) S1) as lnS. rewrite ln_1 in lnS. pose proof (proj2 max x inx) as hx.
    assert (gap : L - x = m - x + ln (weight_sum m logits)) by (rewrite eL; ring).
    pose proof (b17_argument x L x' L' e ell a ltac:(lra) bx bL form) as close. rewrite gap in close.
    exists (a - (x - L) + t), e0. repeat split; [|easy|].
    - unfold through_logsumexp. eapply Rle_trans; [apply Rabs_triang|]. lra.
    - rewrite (coefficient_from_weight m logits max), Ropp_involutive.
      replace (exp (x - m) / weight_sum m logits) with (exp (x - L)).
      + rewrite <- exp_plus. f_equal. f_equal. ring.
      + rewrite eL. replace (x - (m + ln (weight_sum m logits))) with (x - m + - ln (weight_sum m logits)) by ring.
        rewrite exp_plus, exp_Ropp, exp_ln by lra. easy.
  Qed.

  (** Saved in a format of log error lambda_L, and read with r: a_L is their sum. *)
  Theorem saved_logsumexp a_L lost L' :
    0 <= a_L -> approximates a_L lost L L' -> Rabs (L' - L) <= (exp a_L - 1) * Rabs L + lost.
  Proof using.
    intros ha [t [e [bt [be ->]]]]. replace (L * exp t + e - L) with (L * (exp t - 1) + e) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [|easy]. rewrite Rabs_mult, Rmult_comm.
    apply Rmult_le_compat_r; [apply Rabs_pos|now apply expm1_abs].
  Qed.
End Saved.
