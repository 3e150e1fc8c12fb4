(** * The argument (x - m) scale of the strict kernels' exponential.

    Main results
    - [strict_argument]   of any two numbers x <= m: two roundings and half a quantum, or so far below 0 that every
                          exponential is 0, in particular where the difference or the product overflows
    - [arithmetic_units]     the logarithms of one rounding of each kind
    - [lost_less_than_sum]   what underflow takes is less than 1, which the sum is at least

    For scales from 2^-119 on: below, a difference may overflow whose product counts. Source: kernels/block/tree_order.hpp. *)

From Coq Require Import Reals ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck Require Import standard_interval softmax entropy_bounds.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row tilted_row reduction b1_sum.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers strict_operations strict_exponential strict_weights.
Local Open Scope R_scope.

Notation step_32 := half_quantum.

Lemma step_32_range : 0 <= step_32 <= / 2.
Proof. pose proof half_quantum_range. lra. Qed.

Section Argument.
  Context (scale : f32) (unit : R) (scale_value : is_value scale unit) (large : two_to (-119) <= unit).

  Lemma unit_is_positive : 0 < unit.
  Proof using large. pose proof (bpow_gt_0 radix2 (-119)). lra. Qed.

  Lemma scale_sign : Bsign scale = false.
  Proof using scale_value large.
    pose proof unit_is_positive as pos. destruct scale_value as [finite value].
    destruct scale as [s| | |s m e b]; try discriminate; [cbn in value; lra|]. destruct s; [exfalso|easy].
    assert (val (B754_finite true m e b) < 0) by (apply F2R_lt_0; reflexivity). lra.
  Qed.

  Lemma below_vanishing z a : is_value z a -> a <= -133 -> less exp_vanishing z = false.
  Proof.
    intros hz le. destruct (less exp_vanishing z) eqn:above; [|easy]. apply (less_value _ _ _ _ vanishing_value hz) in above. lra.
  Qed.

  Lemma infinite_product : less exp_vanishing (mul (B754_infinity true) scale) = false.
  Proof using scale_value large.
    pose proof unit_is_positive as pos. pose proof scale_sign as sign. destruct scale_value as [finite value].
    destruct scale as [s| | |s m e b]; try discriminate; [cbn in value; lra|]. cbn in sign. now rewrite sign.
  Qed.

  Lemma far_product s d : is_value s d -> d * unit <= -256 -> less exp_vanishing (mul s scale) = false.
  Proof using scale_value large.
    intros hs far. pose proof unit_is_positive as pos. pose proof scale_sign as sign. destruct hs as [fs vs].
    destruct scale_value as [fc vc].
    pose proof (@Bmult_correct 24 128 positive_24 below_128 mode_NE s scale) as correct.
    change (round radix2 _ _ (val s * val scale)) with (fl32 (val s * val scale)) in correct. rewrite vs, vc in correct.
    destruct (Rlt_bool (Rabs (fl32 (d * unit))) (two_to 128)).
    - destruct correct as [v [f _]]. apply below_vanishing with (fl32 (d * unit)).
      + split; [unfold mul; now rewrite f, fs, fc|easy].
      + apply Rle_trans with (fl32 (IZR (-256))); [apply fl_monotone; [easy|lra]|]. rewrite fl_number; [lra|].
        apply (integer_number (-256)). lia.
    - assert (negative : Bsign s = true).
      { destruct s as [[]| | |[] m e b]; try easy; exfalso.
        - cbn in vs. subst d. lra.
        - assert (0 < val (B754_finite false m e b)) by (apply F2R_gt_0; reflexivity). rewrite vs in *. nra. }
      rewrite negative, sign in correct. cbn [xorb] in correct. unfold binary_overflow, overflow_to_inf in correct.
      assert (mul s scale = B754_infinity true) as ->; [|reflexivity]. apply (B2SF_inj 24 128). exact correct.
  Qed.

  Notation M := (strict_arithmetic 2 step_32).

  Lemma exact_argument D : computed_argument M D D.
  Proof.
    pose proof (strict_arithmetic_sound 2 step_32 ltac:(lia) step_32_range) as good. unfold sound in good.
    exists 0, 0. rewrite Rabs_R0, exp_0. repeat split; try apply good. ring.
  Qed.

  Theorem strict_argument x y a b :
    is_value x a -> is_value y b -> a <= b -> argued 2 step_32 (mul (sub x y) scale) (b * unit - a * unit).
  Proof using scale_value large.
    intros hx hy le. pose proof unit_is_positive as pos. pose proof u32_range as u0.
    pose proof half_quantum_range as h0. destruct (Rle_dec (Rabs (a - b)) (two_to 127)) as [near|far].
    - pose proof (sub_value x y a b hx hy near) as hd. set (d := fl32 (a - b)) in *.
      destruct (nearest_sum binary32 positive_precision_32 (fun n => negb (Z.even n)) a (- b) (value_number _ _ hx)
                  (generic_format_opp _ _ _ (value_number _ _ hy))) as [d1 [bd1 eq1]].
      change (nearest binary32 _ (a + - b)) with d in eq1. change (unit_roundoff binary32) with u32 in bd1.
      assert (d_nonpos : d <= 0). { unfold d. rewrite <- (fl_0 binary32). apply fl_monotone; [easy|lra]. }
      destruct (Rle_dec (Rabs (d * unit)) (two_to 127)) as [product_near|product_far].
      + left. exists (fl32 (d * unit)). split; [now apply mul_value|]. split.
        * rewrite <- (fl_0 binary32). apply fl_monotone; [easy|nra].
        * destruct (nearest_any binary32 positive_precision_32 (fun n => negb (Z.even n)) (d * unit))
            as [d2 [e2 [bd2 [be2 [_ eq2]]]]].
          change (nearest binary32 _ (d * unit)) with (fl32 (d * unit)) in eq2.
          change (unit_roundoff binary32) with u32 in bd2.
          assert (half : / 2 * smallest_subnormal binary32 = half_quantum).
          { unfold smallest_subnormal, half_quantum. cbn -[bpow]. change (-150)%Z with (-149 + -1)%Z.
            rewrite bpow_plus. change (two_to (-1)) with (/ 2). ring. }
          rewrite half in be2. destruct (one_rounding u32 d1 ltac:(lra) bd1) as [t1 [bt1 f1]].
          destruct (one_rounding u32 d2 ltac:(lra) bd2) as [t2 [bt2 f2]]. exists (t1 + t2), (- e2).
          cbn [argument_unit argument_step strict_arithmetic]. rewrite Rabs_Ropp. apply abs_between in bt1.
          apply abs_between in bt2. split; [apply Rabs_le; cbn [INR]; lra|]. split; [easy|].
          rewrite eq2, eq1, f1, f2, exp_plus. ring.
      + right. split; [apply (far_product _ d hd)|exists (b * unit - a * unit); split; [|apply exact_argument]].
        * rewrite Rabs_left1 in product_far by nra. assert (256 <= two_to 127) by (apply (bpow_le radix2 8); lia). lra.
        * rewrite Rabs_left1 in product_far by nra. assert (256 <= two_to 127) by (apply (bpow_le radix2 8); lia).
          apply Rabs_le_inv in bd1. rewrite eq1 in product_far.
          assert (0 <= (b - a) * unit) by (apply Rmult_le_pos; lra). nra.
    - assert (apart : two_to 127 < b - a) by (rewrite Rabs_left1 in far; lra). assert (D_far : 256 <= (b - a) * unit).
      { replace 256 with (two_to 127 * two_to (-119)) by (rewrite <- bpow_plus; reflexivity).
        apply Rmult_le_compat; try lra; apply bpow_ge_0. }
      right. split; [|exists (b * unit - a * unit); split; [lra|apply exact_argument]].
      destruct hx as [fx vx], hy as [fy vy].
      pose proof (@Bminus_correct 24 128 positive_24 below_128 mode_NE x y fx fy) as correct.
      change (round radix2 _ _ (val x - val y)) with (fl32 (val x - val y)) in correct. rewrite vx, vy in correct.
      destruct (Rlt_bool (Rabs (fl32 (a - b))) (two_to 128)).
      + destruct correct as [v [f _]]. apply (far_product _ (fl32 (a - b))); [easy|].
        assert (below : fl32 (a - b) <= - two_to 127).
        { rewrite <- (fl_number binary32 (two_to 127)), <- fl_opp.
          - apply fl_monotone; [easy|lra].
          - apply generic_format_bpow. unfold FLT_exp. cbn. lia. }
        assert (two_to 127 * two_to (-119) <= two_to 127 * unit) by (apply Rmult_le_compat_l; [apply bpow_ge_0|easy]).
        rewrite <- bpow_plus in *. change (two_to (127 + -119)) with 256 in *. nra.
      + destruct correct as [overflow signs]. assert (negative : Bsign x = true).
        { destruct (Bsign x) eqn:sx; [easy|exfalso]. symmetry in signs. apply Bool.negb_false_iff in signs.
          assert (0 <= a).
          { rewrite <- vx. destruct x as [| | |[] m e bx]; try discriminate; [cbn; lra|]. apply F2R_ge_0. easy. }
          assert (b <= 0).
          { rewrite <- vy. destruct y as [| | |[] m e bx]; try discriminate; [cbn; lra|]. apply F2R_le_0. easy. }
          pose proof (bpow_gt_0 radix2 127). lra. }
        assert (sub x y = B754_infinity true) as ->; [|apply infinite_product]. apply (B2SF_inj 24 128).
        rewrite negative in overflow. exact overflow.
  Qed.
End Argument.

(** ** What underflow takes of a strict kernel's sum is less than the sum.

    For at most 4 roundings of an argument, 2^22 items, 2^15 additions and 2^14 rescalings on a path.

    Source: numerics/b1_sum.v. *)

Section Lost.
  Context (A : nat) (few : (A <= 4)%nat).
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

  Context (m : R) (logits : list R) (h j : nat) (max : is_maximum m logits)
    (few_items : (Z.of_nat (length logits) <= 2 ^ 22)%Z) (few_additions : (Z.of_nat h <= 2 ^ 15)%Z)
    (few_scalings : (Z.of_nat j <= 2 ^ 14)%Z).

  Let some_items : logits <> [].
  Proof using max. intros ->. destruct max as [[] _]. Qed.

  Let items : 1 <= size logits <= 4194304.
  Proof using max few_items some_items.
    split; [now apply size_at_least_one|]. unfold size. rewrite INR_IZR_INZ. now apply (IZR_le _ 4194304).
  Qed.

  Lemma deviation_below_size : 0 <= mean_deviation m logits <= 4194304.
  Proof using max few_items some_items items.
    split; [apply (mean_deviation_nonneg m logits max)|].
    pose proof (ceiling logits some_items) as top. rewrite (entropy_of_statistics m logits max) in top.
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

  Lemma little_is_lost : lost_sum M 0 m logits h j <= / 20.
  Proof using few max few_items few_additions few_scalings some_items items.
    pose proof small_sigma_0 as small. pose proof half_quantum_range as h0.
    assert (lost_range : 0 <= lost M j <= 108 * half_quantum) by (unfold lost; cbn -[half_quantum]; destruct j; lra).
    assert (power : exp (2 * sigma_0 M 0 m logits h j) <= 100).
    { apply Rle_trans with (exp (42 / 10)); [apply exp_le; lra|]. enclose. }
    pose proof (exp_pos (2 * sigma_0 M 0 m logits h j)). unfold lost_sum.
    assert (size logits * lost M j <= 4194304 * (108 * / 1000000000000)) by (apply Rmult_le_compat; lra).
    assert (0 <= size logits * lost M j) by (apply Rmult_le_pos; lra).
    apply Rle_trans with (4194304 * (108 * / 1000000000000) * 100); [apply Rmult_le_compat; lra|lra].
  Qed.

  Theorem lost_less_than_sum : lost_sum M 0 m logits h j < 1.
  Proof using few max few_items few_additions few_scalings some_items items. pose proof little_is_lost. lra. Qed.

  Lemma sum_range s : sum_of_row M 0 m logits s h j -> / 20 <= s <= two_to 27.
  Proof using few max few_items few_additions few_scalings some_items items.
    intros sum. pose proof little_is_lost as little. pose proof small_sigma_0 as small.
    destruct (b1_sum M small_model_sound 0 m logits s h j sum ltac:(lra)) as [t [bt ->]]. unfold sigma in bt.
    pose proof (S_at_least_one m logits max) as S1. assert (S2 : weight_sum m logits <= 4194304).
    { destruct deviation_below_size as [d0 _]. pose proof (ceiling logits some_items) as top.
      rewrite (entropy_of_statistics m logits max) in top. apply Rle_trans with (size logits); [|apply items].
      apply Rnot_lt_le. intros more. apply ln_increasing in more; lra. }
    assert (last : - ln (1 - lost_sum M 0 m logits h j) <= / 10).
    { apply Ropp_le_cancel. rewrite Ropp_involutive, <- (ln_exp (- / 10)).
      apply ln_le; [apply exp_pos|]. assert (exp (- / 10) <= 95 / 100) by enclose. lra. }
    apply Rabs_le_inv in bt. assert (/ 20 <= exp t) by (apply Rle_trans with (exp (- (22 / 10))); [enclose|apply exp_le; lra]).
    assert (exp t <= 32) by (apply Rle_trans with (exp (22 / 10)); [apply exp_le; lra|enclose]).
    change (two_to 27) with 134217728. split; nra.
  Qed.
End Lost.
