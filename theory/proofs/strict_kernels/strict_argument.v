(** * The argument (x - m) scale of the strict kernels' exponential.

    Main result
    - [strict_argument]   of any two numbers x <= m: two roundings and half a quantum, or so far below 0 that every
                          exponential is 0, in particular where the difference or the product overflows

    For scales from 2^-119 on: below, a difference may overflow whose product counts. Source: kernels/block/softmax.hpp. *)

From Coq Require Import Reals ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_exponential.
From softcheck.strict_kernels Require Import strict_operations strict_exponential strict_weights strict_counted.
Local Open Scope R_scope.

Notation step_32 := half_quantum.

Lemma step_32_range : 0 <= step_32 <= / 2.
Proof. pose proof half_quantum_range. lra. Qed.

Section Argument.
  Context (scale : f32) (unit : R).
  Hypothesis scale_value : is_value scale unit.
  Hypothesis large : two_to (-119) <= unit.

  Lemma unit_is_positive : 0 < unit.
  Proof using large. pose proof (bpow_gt_0 radix2 (-119)). lra. Qed.

  Lemma scale_sign : Bsign scale = false.
  Proof using scale_value large.
    pose proof unit_is_positive as pos. destruct scale_value as [finite value].
    destruct scale as [s| | |s m e b]; try discriminate; [cbn in value; lra|]. destruct s; [exfalso|easy].
    assert (val (B754_finite true m e b) < 0) by (apply F2R_lt_0; reflexivity). lra.
  Qed.

  Lemma below_lowest z a : is_value z a -> a <= -110 -> less exp_lowest z = false.
  Proof.
    intros hz le. destruct (less exp_lowest z) eqn:above; [|easy]. apply (less_value _ _ _ _ lowest_value hz) in above. lra.
  Qed.

  Lemma infinite_product : less exp_lowest (mul (B754_infinity true) scale) = false.
  Proof using scale_value large.
    pose proof unit_is_positive as pos. pose proof scale_sign as sign. destruct scale_value as [finite value].
    destruct scale as [s| | |s m e b]; try discriminate; [cbn in value; lra|]. cbn in sign. now rewrite sign.
  Qed.

  Lemma far_product s d : is_value s d -> d * unit <= -256 -> less exp_lowest (mul s scale) = false.
  Proof using scale_value large.
    intros hs far. pose proof unit_is_positive as pos. pose proof scale_sign as sign. destruct hs as [fs vs].
    destruct scale_value as [fc vc].
    pose proof (@Bmult_correct 24 128 positive_24 below_128 mode_NE s scale) as correct.
    change (round radix2 _ _ (val s * val scale)) with (fl32 (val s * val scale)) in correct. rewrite vs, vc in correct.
    destruct (Rlt_bool (Rabs (fl32 (d * unit))) (two_to 128)).
    - destruct correct as [v [f _]]. apply below_lowest with (fl32 (d * unit)).
      + split; [unfold mul; now rewrite f, fs, fc|easy].
      + apply Rle_trans with (fl32 (IZR (-256))); [apply fl_monotone; [easy|lra]|].
        rewrite fl_number; [lra|]. apply (integer_number (-256)). lia.
    - assert (negative : Bsign s = true).
      { destruct s as [[]| | |[] m e b]; try easy; exfalso.
        - cbn in vs. subst d. lra.
        - assert (0 < val (B754_finite false m e b)) by (apply F2R_gt_0; reflexivity). rewrite vs in *. nra. }
      rewrite negative, sign in correct. cbn [xorb] in correct. unfold binary_overflow, overflow_to_inf in correct.
      assert (mul s scale = B754_infinity true) as ->; [|reflexivity].
      apply (B2SF_inj 24 128). exact correct.
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
    intros hx hy le. pose proof unit_is_positive as pos. pose proof u32_range as u0. pose proof half_quantum_range as h0.
    destruct (Rle_dec (Rabs (a - b)) (two_to 127)) as [near|far].
    - pose proof (sub_value x y a b hx hy near) as hd. set (d := fl32 (a - b)) in *.
      destruct (nearest_sum binary32 positive_precision_32 (fun n => negb (Z.even n)) a (- b) (value_number _ _ hx)
                  (generic_format_opp _ _ _ (value_number _ _ hy))) as [d1 [bd1 eq1]].
      change (nearest binary32 _ (a + - b)) with d in eq1. change (unit_roundoff binary32) with u32 in bd1.
      assert (d_nonpos : d <= 0).
      { unfold d. rewrite <- (fl_0 binary32). apply fl_monotone; [easy|lra]. }
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
          rewrite half in be2.
          destruct (one_rounding u32 d1 ltac:(lra) bd1) as [t1 [bt1 f1]].
          destruct (one_rounding u32 d2 ltac:(lra) bd2) as [t2 [bt2 f2]].
          exists (t1 + t2), (- e2). cbn [argument_unit argument_step strict_arithmetic]. rewrite Rabs_Ropp.
          apply abs_between in bt1. apply abs_between in bt2. split; [apply Rabs_le; cbn [INR]; lra|]. split; [easy|].
          rewrite eq2, eq1, f1, f2, exp_plus. ring.
      + right. split; [apply (far_product _ d hd)|exists (b * unit - a * unit); split; [|apply exact_argument]].
        * rewrite Rabs_left1 in product_far by nra. assert (256 <= two_to 127) by (apply (bpow_le radix2 8); lia). lra.
        * rewrite Rabs_left1 in product_far by nra. assert (256 <= two_to 127) by (apply (bpow_le radix2 8); lia).
          apply Rabs_le_inv in bd1. rewrite eq1 in product_far.
          assert (0 <= (b - a) * unit) by (apply Rmult_le_pos; lra). nra.
    - assert (apart : two_to 127 < b - a) by (rewrite Rabs_left1 in far; lra).
      assert (D_far : 256 <= (b - a) * unit).
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
      + destruct correct as [overflow signs].
        assert (negative : Bsign x = true).
        { destruct (Bsign x) eqn:sx; [easy|exfalso]. symmetry in signs. apply Bool.negb_false_iff in signs.
          assert (0 <= a).
          { rewrite <- vx. destruct x as [| | |[] m e bx]; try discriminate; [cbn; lra|]. apply F2R_ge_0. easy. }
          assert (b <= 0).
          { rewrite <- vy. destruct y as [| | |[] m e bx]; try discriminate; [cbn; lra|]. apply F2R_le_0. easy. }
          pose proof (bpow_gt_0 radix2 127). lra. }
        assert (sub x y = B754_infinity true) as ->; [|apply infinite_product].
        apply (B2SF_inj 24 128). rewrite negative in overflow. exact overflow.
  Qed.
End Argument.
