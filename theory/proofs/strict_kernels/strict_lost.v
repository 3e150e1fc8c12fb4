(** * What underflow takes of a strict kernel's sum is less than the sum.

    Main results, for at most 4 roundings of an argument, 2^22 items, 2^15 additions and 2^14 rescalings on a path
    - [arithmetic_units]     the logarithms of one rounding of each kind
    - [lost_less_than_sum]   what underflow takes is less than 1, which the sum is at least

    Source: numerics/b1_sum.v. *)

From Coq Require Import ZArith.
From Flocq Require Import Core.
From softcheck Require Import standard_interval softmax entropy_bounds.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row tilted_row atoms reduction b1_sum.
From softcheck.strict_kernels Require Import strict_operations strict_exponential strict_weights strict_argument.
Local Open Scope R_scope.

Section Lost.
  Context (A : nat).
  Hypothesis few : (A <= 4)%nat.
  Notation M := (strict_arithmetic A step_32).

  Lemma small_model_sound : sound M.
  Proof using few. apply strict_arithmetic_sound; [lia|apply step_32_range]. Qed.

  Theorem arithmetic_units : 0 <= unit M <= 2 * u32 /\ 0 <= exp_unit M <= 4 * u32 /\ 0 <= slope M <= 5 * u32.
  Proof using few.
    pose proof u32_range as u0. pose proof small_model_sound as good.
    pose proof (unit_nonneg _ good). pose proof (exp_unit_nonneg _ good). pose proof (slope_nonneg _ good).
    assert (log : forall x, 0 <= x <= / 4 -> log_unit x <= 2 * x).
    { intros x range. unfold log_unit. pose proof (ln_below_tangent (/ (1 - x)) ltac:(apply Rinv_0_lt_compat; lra)) as tangent.
      rewrite ln_Rinv in tangent by lra. assert (/ (1 - x) <= 1 + 2 * x); [|lra].
      apply Rmult_le_reg_r with (1 - x); [lra|]. rewrite Rinv_l by lra. nra. }
    split; [split; [easy|apply (log u32); lra]|]. split; [split; [easy|]|split; [easy|]].
    - change (exp_unit M) with (log_unit (2 * u32)). specialize (log (2 * u32) ltac:(lra)). lra.
    - assert (A4 : 0 <= INR A <= 4) by (split; [apply pos_INR|rewrite INR_IZR_INZ; apply (IZR_le _ 4); lia]).
      assert (Au : 0 <= INR A * u32 <= 4 * u32) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
      unfold slope. change (argument_unit M) with (INR A * log_unit u32).
      eapply Rle_trans; [apply (expm1_lambda_gamma u32 A); lra|]. unfold gamma.
      apply Rmult_le_reg_r with (1 - INR A * u32); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra.
  Qed.

  Context (m : R) (logits : list R) (h j : nat).
  Hypothesis max : is_maximum m logits.
  Hypothesis few_items : (Z.of_nat (length logits) <= 2 ^ 22)%Z.
  Hypothesis few_additions : (Z.of_nat h <= 2 ^ 15)%Z.
  Hypothesis few_scalings : (Z.of_nat j <= 2 ^ 14)%Z.

  Let some_items : logits <> [].
  Proof using max. intros ->. destruct max as [[] _]. Qed.

  Let items : 1 <= size logits <= 4194304.
  Proof using max few_items some_items.
    split; [now apply size_at_least_one|]. unfold size. rewrite INR_IZR_INZ. now apply (IZR_le _ 4194304).
  Qed.

  Lemma deviation_below_size : 0 <= mean_deviation m logits <= 4194304.
  Proof using max few_items some_items items.
    split; [apply (mean_deviation_nonneg m logits max)|].
    pose proof (ceiling logits some_items) as top. rewrite (entropy_from_statistics m logits max) in top.
    assert (0 <= ln (weight_sum m logits)) by (rewrite <- ln_1; apply ln_le; [lra|now apply S_at_least_one]).
    pose proof (ln_below_tangent (size logits) ltac:(lra)). lra.
  Qed.

  Lemma small_sigma_0 : 0 <= sigma_0 M 0 m logits h j <= 21 / 10.
  Proof using few max few_items few_additions few_scalings some_items items.
    destruct arithmetic_units as [[l0 l1] [[e0 e1] [t0 t1]]]. pose proof half_quantum_range as h0.
    assert (hh : 0 <= INR h <= 32768) by (split; [apply pos_INR|rewrite INR_IZR_INZ; now apply (IZR_le _ 32768)]).
    assert (hj : 0 <= INR j <= 16384) by (split; [apply pos_INR|rewrite INR_IZR_INZ; now apply (IZR_le _ 16384)]).
    assert (step : argument_step M = half_quantum) by easy.
    change u32 with (/ 16777216) in *.
    set (l := unit M) in *. set (e := exp_unit M) in *. set (t := slope M) in *.
    assert (direct : 0 <= direct_log M 0 h j <= / 50).
    { unfold direct_log, rescale_unit, argument_floor. rewrite step. fold l e t.
      assert (0 <= INR h * l <= 32768 * (2 * / 16777216)) by (split; [apply Rmult_le_pos|apply Rmult_le_compat]; lra).
      assert (0 <= INR j * (e + l) <= 16384 * (6 * / 16777216)) by (split; [apply Rmult_le_pos|apply Rmult_le_compat]; lra).
      assert (0 <= (INR j + 1) * half_quantum <= 16385 * / 1000000000000) by (split; [apply Rmult_le_pos|apply Rmult_le_compat]; lra).
      lra. }
    destruct deviation_below_size as [d0 d1].
    assert (sec : 0 <= second logits t <= 4194308 * 4194308).
    { unfold second. pose proof (exp_at_least_one 1 ltac:(lra)). pose proof exp_le_3.
      assert (0 <= ln (size logits + exp 1)) by (rewrite <- ln_1; apply ln_le; lra).
      pose proof (ln_below_tangent (size logits + exp 1) ltac:(lra)).
      assert (ratio : 0 <= ln (size logits + exp 1) / (1 - t) <= 4194308).
      { split; [apply Rmult_le_pos; [easy|left; apply Rinv_0_lt_compat; lra]|].
        apply Rmult_le_reg_r with (1 - t); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
      simpl. rewrite Rmult_1_r. split; [apply Rmult_le_pos; lra|apply Rmult_le_compat; lra]. }
    unfold sigma_0, shift. fold t.
    assert (0 <= t * mean_deviation m logits <= 5 * / 16777216 * 4194304) by (split; [apply Rmult_le_pos|apply Rmult_le_compat]; lra).
    assert (tt : 0 <= t ^ 2 / 2 <= 25 * / 16777216 * / 16777216 / 2) by (simpl; nra).
    assert (0 <= t ^ 2 / 2 * second logits t <= 25 * / 16777216 * / 16777216 / 2 * (4194308 * 4194308))
      by (split; [apply Rmult_le_pos|apply Rmult_le_compat]; lra).
    lra.
  Qed.

  Theorem lost_less_than_sum : lost_sum M 0 m logits h j < 1.
  Proof using few max few_items few_additions few_scalings some_items items.
    pose proof small_sigma_0 as small. pose proof half_quantum_range as h0.
    assert (lost_range : 0 <= lost M j <= 108 * half_quantum) by (unfold lost; cbn -[half_quantum]; destruct j; lra).
    assert (power : exp (2 * sigma_0 M 0 m logits h j) <= 100).
    { apply Rle_trans with (exp (42 / 10)); [apply exp_le; lra|]. enclose. }
    pose proof (exp_pos (2 * sigma_0 M 0 m logits h j)). unfold lost_sum.
    assert (size logits * lost M j <= 4194304 * (108 * / 1000000000000)) by (apply Rmult_le_compat; lra).
    assert (0 <= size logits * lost M j) by (apply Rmult_le_pos; lra).
    apply Rle_lt_trans with (4194304 * (108 * / 1000000000000) * 100); [apply Rmult_le_compat; lra|lra].
  Qed.
End Lost.
