(** * An exponential that a rising maximum has rescaled, any number of times.

    Main result
    - [carried_error]   of R rescalings: v = e^-D e^w + loss, |w| <= t D + lambda_E + R (lambda_E + lambda) + (R + 1) c,
                        |loss| <= e^(that, D = 0) ((R + 1) omega_x + R omega_m)

    B2's numerators are those of at most one rescaling, [numerator]. The loss does not fade here, as it does in a sum.

    Source: docs/tolerances/attention_backward.md, "p as a quotient by a recomputed sum". *)

From Coq Require Import Reals Lra Psatz.
From softcheck.floating_point Require Import relative_error standard_model.
Local Open Scope R_scope.

(** An exponential that a rising maximum has rescaled k times. *)
Inductive carried (M : arithmetic) : nat -> R -> R -> Prop :=
| carried_item D b v : 0 <= D -> computed_argument M D b -> computed_exp M b v -> carried M 0 D v
| carried_rescaled k D D1 v b f v' :
    carried M k D v -> 0 <= D1 -> computed_argument M D1 b -> computed_exp M b f -> computed_product M (v * f) v' ->
    carried M (S k) (D + D1) v'.

Section Carried.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Notation lambdaE := (exp_unit M).
  Notation c0 := (argument_step M).
  Notation t := (slope M).

  Definition carried_log (k : nat) : R := lambdaE + INR k * (lambdaE + lambda) + (INR k + 1) * c0.
  Definition carried_loss (k : nat) : R := (INR k + 1) * exp_floor M + INR k * product_floor M.

  Local Ltac facts :=
    sound_facts good.

  Lemma carried_nonneg k : lambdaE <= carried_log k /\ 0 <= carried_loss k.
  Proof using good.
    facts. pose proof (pos_INR k). unfold carried_log, carried_loss.
    assert (0 <= INR k * (lambdaE + lambda)) by monotone. assert (0 <= (INR k + 1) * c0) by monotone.
    assert (0 <= (INR k + 1) * exp_floor M) by monotone. assert (0 <= INR k * product_floor M) by monotone. lra.
  Qed.

  Lemma carried_growing k k' : (k <= k')%nat -> carried_log k <= carried_log k' /\ carried_loss k <= carried_loss k'.
  Proof using good.
    intros le. facts. apply le_INR in le. unfold carried_log, carried_loss.
    split; repeat apply Rplus_le_compat; try lra; apply Rmult_le_compat_r; lra.
  Qed.

  Theorem carried_error k D v :
    carried M k D v ->
    0 <= D /\ exists w e, Rabs w <= t * D + carried_log k /\ Rabs e <= exp (carried_log k) * carried_loss k /\
      v = exp (- D) * exp w + e.
  Proof using good.
    induction 1 as [D b v hD arg [tx [e [btx [be [_ [_ ->]]]]]]
      |k D D1 v b f v' _ [hD [w [e [bw [be ->]]]]] h1 arg [t1 [e1 [bt1 [be1 [_ [far ->]]]]]] [t2 [e2 [bt2 [be2 ->]]]]];
      facts.
    - split; [easy|]. destruct (weight_bounds M D b tx hD arg btx) as [w [bw ->]]. exists w, e.
      unfold carried_log, carried_loss. simpl INR. repeat split; [lra|].
      pose proof (exp_at_least_one (lambdaE + 0 * (lambdaE + lambda) + (0 + 1) * c0) ltac:(lra)).
      replace ((0 + 1) * exp_floor M + 0 * product_floor M) with (exp_floor M) by ring.
      rewrite <- (Rmult_1_l (exp_floor M)) in be. eapply Rle_trans; [apply be|]. monotone.
    - split; [lra|]. destruct (weight_bounds M D1 b t1 h1 arg bt1) as [w1 [bw1 main]].
      pose proof (carried_nonneg k) as [ln0 ls0]. pose proof (pos_INR k) as pk.
      assert (next : carried_log (S k) = carried_log k + (lambdaE + c0 + lambda))
        by (unfold carried_log; rewrite S_INR; ring).
      assert (next' : carried_loss (S k) = carried_loss k + exp_floor M + product_floor M)
        by (unfold carried_loss; rewrite S_INR; ring).
      rewrite next, next'. set (a := carried_log k) in *. set (l := carried_loss k) in *.
      assert (factor : exp (- b + t1) + Rabs e1 <= exp (lambdaE + c0)).
      { destruct (Req_dec e1 0) as [->|lossy].
        - rewrite Rabs_R0, Rplus_0_r. destruct arg as [ta [c [bta [bc ->]]]]. apply exp_le. apply abs_between in bc.
          apply abs_between in bt1. assert (0 <= D1 * exp ta) by monotone. lra.
        - pose proof (far lossy). apply abs_between in bt1.
          assert (exp (- b + t1) <= exp lambdaE * exp (- (8))) by (rewrite <- exp_plus; apply exp_le; lra).
          assert (exp (- (8)) <= / 9). { rewrite exp_Ropp. pose proof (exp_above_tangent 8). monotone. }
          pose proof (exp_at_least_one lambdaE ltac:(lra)). pose proof (exp_le lambdaE (lambdaE + c0) ltac:(lra)).
          assert (exp lambdaE * exp (- (8)) <= exp lambdaE * / 9) by monotone. lra. }
      exists (w + w1 + t2), (exp (- D) * exp w * e1 * exp t2 + e * (exp (- b + t1) + e1) * exp t2 + e2).
      apply abs_between in bw. apply abs_between in bw1. apply abs_between in bt2. repeat split.
      + assert (t * (D + D1) = t * D + t * D1) by ring. apply Rabs_le. lra.
      + set (F := exp (lambdaE + c0)) in *. assert (F1 : 1 <= F) by (apply exp_at_least_one; lra).
        assert (E2 : exp t2 <= exp lambda) by monotone. pose proof (exp_pos t2).
        assert (W : 0 <= exp (- D) * exp w <= exp a).
        { rewrite <- exp_plus. split; [monotone|]. apply exp_le. assert (t * D <= / 4 * D) by monotone. lra. }
        pose proof (exp_at_least_one a ltac:(lra)) as A1. pose proof (exp_at_least_one lambda fl) as L1.
        rewrite (exp_plus a), (exp_plus (lambdaE + c0)). fold F. set (L := exp lambda) in *. set (Ea := exp a) in *.
        triangle. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
        rewrite !Rabs_mult, (Rabs_right (exp t2)), (Rabs_right (exp (- D))), (Rabs_right (exp w))
          by (left; apply exp_pos).
        assert (part1 : exp (- D) * exp w * Rabs e1 * exp t2 <= Ea * exp_floor M * L) by monotone.
        assert (part2 : Rabs e * Rabs (exp (- b + t1) + e1) * exp t2 <= Ea * l * F * L).
        { assert (Rabs (exp (- b + t1) + e1) <= F).
          { triangle. rewrite (Rabs_right (exp _)) by (left; apply exp_pos). easy. } pose proof (Rabs_pos e).
          pose proof (Rabs_pos (exp (- b + t1) + e1)). monotone. }
        assert (EL : 1 <= Ea * L) by now apply one_le_product. assert (EFL : 1 <= Ea * F * L) by nra.
        assert (Ea * L * exp_floor M <= Ea * F * L * exp_floor M).
        { apply Rmult_le_compat_r; [lra|]. replace (Ea * F * L) with (Ea * L * F) by ring. apply grown; lra. }
        assert (1 * product_floor M <= Ea * F * L * product_floor M) by monotone. lra.
      + replace (exp (- (D + D1)) * exp (w + w1 + t2)) with (exp (- D) * exp w * (exp (- D1) * exp w1) * exp t2).
        * rewrite <- main. ring.
        * rewrite <- !exp_plus. f_equal. ring.
  Qed.
End Carried.
