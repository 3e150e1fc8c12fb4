(** * The weights, factors and numerators of the strict kernels and of attention in the model of arithmetic.

    Main results, for a number z <= 0 of binary32, beyond the exponential's range, too
    - [strict_arithmetic_sound]  the kernels' arithmetic is one of the model
    - [weight_is_computed]     exponential(z) is a number in [0, 1], and a computed exponential of its argument
    - [factor_is_computed]     so is the sum of exponential_parts(z), whose rest is at most 9 u of its value
    - [numerator_is_computed]  scaled_exponential(z) is 2^64 times a computed exponential, or 0

    Source: kernels/block/exponential.hpp; floating_point/standard_model.v. *)

From Coq Require Import Reals List ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck Require Import standard_interval.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.certified Require Import rounded_operations computed_exp exponential_constants exponentials.
From softcheck.strict_kernels Require Import machine_numbers strict_operations strict_exponential.
Local Open Scope R_scope.

(** What the kernels' arithmetic loses: an exponential errs by 2 u and may lose four half quanta, a compensated sum or its
    product 32. *)
Definition strict_arithmetic (A : nat) (step : R) : arithmetic := {|
  roundoff := u32;
  exp_error := 2 * u32;
  log_error := 4 * u32;
  argument_unit := INR A * log_unit u32;
  argument_step := step;
  sum_floor := 32 * half_quantum;
  product_floor := 32 * half_quantum;
  exp_floor := 4 * half_quantum;
  exp_cutoff := 2 * 149 * ln 2
|}.

Lemma u32_range : 0 < u32 <= / 16777216.
Proof. split; [apply bpow_gt_0|now right]. Qed.

Lemma half_quantum_range : 0 < half_quantum <= / 1000000000000.
Proof. split; [apply half_quantum_positive|]. apply Rle_trans with (two_to (-40)); [apply bpow_le; lia|]. cbn. lra. Qed.

Theorem strict_arithmetic_sound A step : (A <= 12)%nat -> 0 <= step <= / 2 -> sound (strict_arithmetic A step).
Proof.
  intros few small. pose proof u32_range. pose proof half_quantum_range. pose proof ln_2_lower.
  pose proof (binary32_sound false 2 A 4 step ltac:(lra)) as of_format.
  change (unit_roundoff binary32) with u32 in of_format. specialize (of_format ltac:(lra) few ltac:(lra) small).
  destruct of_format as [_ [_ [_ [units [slopes _]]]]]. change (0 <= INR A * log_unit u32) in units.
  change (slope (strict_arithmetic A step) <= / 4) in slopes. unfold sound.
  cbn [roundoff exp_error log_error argument_unit argument_step sum_floor product_floor exp_floor exp_cutoff
       strict_arithmetic].
  repeat split; first [exact units|exact slopes|lra].
Qed.

Section Weights.
  Context (A : nat) (step : R) (few : (A <= 12)%nat) (small_step : 0 <= step <= / 2).
  Notation M := (strict_arithmetic A step).
  Let good : sound M := strict_arithmetic_sound A step few small_step.

  (** An error is as much of its one part as that may be, and the other has what is left. *)
  Lemma split_error d x y : 0 <= x -> 0 <= y -> Rabs d <= x + y -> exists e, Rabs e <= x /\ Rabs (d - e) <= y.
  Proof.
    intros hx hy bound. apply Rabs_le_inv in bound. destruct (Rle_dec d x) as [le|gt].
    - destruct (Rle_dec (- x) d) as [ge|lt].
      + exists d. split; apply Rabs_le; lra.
      + exists (- x). split; apply Rabs_le; lra.
    - exists x. split; apply Rabs_le; lra.
  Qed.

  Lemma quantum_far a : -8 <= a -> 4 * half_quantum <= / 100 * u32 * exp a.
  Proof.
    intros near. pose proof (exp_le (-8) a near). pose proof u32_range. assert (/ 4096 <= exp (-8)) by enclose.
    assert (/ 4096 * u32 <= exp a * u32) by (apply Rmult_le_compat_r; [apply bpow_ge_0|lra]).
    assert (4 * half_quantum <= / 1000000 * u32).
    { unfold half_quantum. replace 4 with (two_to 2) by easy. rewrite <- bpow_plus.
      apply Rle_trans with (two_to (-20) * u32).
      - rewrite <- bpow_plus. apply bpow_le. lia.
      - apply Rmult_le_compat_r; [apply bpow_ge_0|]. cbn. lra. }
    lra.
  Qed.

  Lemma close_is_computed a w :
    -110 <= a <= 0 -> Rabs (w - exp a) <= 19 / 10 * u32 * exp a + 3 * half_quantum -> computed_exp M (- a) w.
  Proof using good.
    intros range close. pose proof u32_range. pose proof half_quantum_range. pose proof (exp_pos a) as positive.
    destruct (Rle_dec (-8) a) as [near|far].
    - pose proof (quantum_far a near). apply (exponential_of_contract M good). left.
      exists ((w - exp a) / exp a). rewrite Ropp_involutive. split; [|field; lra]. cbn -[bpow half_quantum].
      unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ exp a)) by (left; now apply Rinv_0_lt_compat).
      apply Rmult_le_reg_r with (exp a); [easy|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      assert (0 <= u32 * exp a) by (apply Rmult_le_pos; lra). lra.
    - destruct (split_error (w - exp a) (19 / 10 * u32 * exp a) (3 * half_quantum)) as [e [be rest]];
        [repeat apply Rmult_le_pos; lra|lra|easy|].
      destruct (one_rounding (2 * u32) (e / exp a) ltac:(lra)) as [t [bt factor]].
      { unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ exp a)) by (left; now apply Rinv_0_lt_compat).
        apply Rmult_le_reg_r with (exp a); [easy|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
        assert (0 <= u32 * exp a) by (apply Rmult_le_pos; lra). lra. }
      exists t, (w - exp a - e). split; [exact bt|]. cbn -[bpow half_quantum ln].
      split; [lra|]. split; [|split; [intros; lra|]].
      + rewrite (Rabs_right (- a)) by lra. pose proof ln_2_lower. pose proof (Rabs_pos (w - exp a - e)).
        apply Rle_trans with (3 * half_quantum * 110); [apply Rmult_le_compat; lra|].
        assert (4 * half_quantum * 149 <= 4 * half_quantum * (2 * 149 * ln 2)) by (apply Rmult_le_compat_l; lra). lra.
      + rewrite Ropp_involutive, exp_plus, <- factor. field. lra.
  Qed.

  Lemma far_is_small b : 110 <= b -> exp (- b) <= 4 * half_quantum.
  Proof.
    intros far. apply Rle_trans with (exp (- (110))); [apply exp_le; lra|].
    unfold half_quantum. replace 4 with (two_to 2) by easy. rewrite <- bpow_plus, (bpow_exp radix2).
    apply exp_le. change (IZR radix2) with 2. assert (ln 2 <= 7 / 10) by enclose. cbn. lra.
  Qed.

  Lemma little_is_computed b v : 110 <= b -> 0 <= v <= 4 * half_quantum -> b <= 2 * 149 * ln 2 -> computed_exp M b v.
  Proof using good.
    intros far little within. apply (exponential_of_contract M good). right. left. cbn -[bpow half_quantum ln].
    pose proof (far_is_small b far). pose proof (exp_pos (- b)). split; [lra|apply Rabs_le; lra].
  Qed.

  Lemma nothing_is_computed b : 110 <= b -> computed_exp M b 0.
  Proof using good.
    intros far. pose proof half_quantum_range. destruct (Rle_dec b (2 * 149 * ln 2)) as [within|beyond].
    - apply little_is_computed; lra.
    - apply (exponential_of_contract M good). pose proof ln_2_lower. right. right. cbn -[bpow half_quantum ln].
      split; [lra|]. split; [easy|]. apply far_is_small. lra.
  Qed.

  (** ** What exponential_parts computes where it counts *)

  Record counted (a : R) (k : Z) (p b : R) : Prop := {
    count_within : (-160 <= k <= 0)%Z;
    significand_number : number binary32 p;
    significand_range : 7 / 10 <= p <= 142 / 100;
    significand_at_zero : k = 0%Z -> p <= 1;
    rounded_error : Rabs (p * two_to k - exp a) <= 175 / 100 * u32 * exp a;
    unrounded_error : Rabs ((p + b) * two_to k - exp a) <= 96 / 100 * u32 * exp a;
    away_small : Rabs b <= 101 / 100 * u32 * p
  }.

  Lemma scaled_parts_value z a :
    is_value z a -> -110 < a <= 0 ->
    exists k p b, counted a k p b /\ is_value (value (scaled_exponential_parts z)) (p * two_to (k + 64)) /\
      is_value (rest (scaled_exponential_parts z)) (fl32 (b * two_to (k + 64))).
  Proof.
    intros hz range. unfold scaled_exponential_parts. rewrite (proj2 (less_value _ _ _ _ lowest_value hz)) by lra.
    destruct (operations_are_certified z a hz ltac:(lra)) as
      [k [tail [kK [hr [ht [certified [t_size [t_sign unrounded]]]]]]]].
    pose proof (power_is_made_of_bits _ k ltac:(lia) hr) as power. pose proof (value_number _ _ ht) as t_number.
    assert (one_number : number binary32 1) by (apply (value_number one), one_value).
    destruct (exp_kernel_f32 a (IZR k) _ (value_number _ _ hz) ltac:(lra) certified) as [k' [same [_ [exact _]]]].
    apply eq_IZR in same as <-.
    destruct (exponential_error _ _ _ _ _ _ _ _ fits a (value_number _ _ hz) ltac:(cbn; lra) _ _ certified)
      as [k' [same [_ [p_number [p_range err]]]]].
    apply eq_IZR in same as <-. change (unit_roundoff (arithmetic_format exp_f32)) with u32 in err.
    set (p := fl32 (1 + tail)) in *. set (tail_f := tail_of (reduced z (rounded_count z))) in *.
    assert (within : forall x, Rabs x <= 4 -> Rabs x <= two_to 127).
    { intros x bound. apply Rle_trans with (two_to 2); [apply bound|apply bpow_le; lia]. } apply Rabs_le_inv in t_size.
    assert (hp : is_value (add one tail_f) p). { apply add_value; [apply one_value|easy|]. apply within, Rabs_le. lra. }
    assert (less_one : is_value (sub (add one tail_f) one) (fl32 (p - 1))).
    { apply sub_value; [easy|apply one_value|]. apply within, Rabs_le. lra. }
    assert (near_one : Rabs (fl32 (p - 1)) <= 1). { apply (fl_within _ 0); [lia|]. cbn. apply Rabs_le. lra. }
    apply Rabs_le_inv in near_one.
    assert (away : is_value (sub tail_f (sub (add one tail_f) one)) (fl32 (tail - fl32 (p - 1)))).
    { apply sub_value; [easy|easy|]. apply within, Rabs_le. lra. }
    pose proof (quick_two_sum 1 tail one_number t_number ltac:(rewrite Rabs_R1; apply Rabs_le; lra)) as whole.
    cbv zeta in whole. fold p in whole. set (b := fl32 (tail - fl32 (p - 1))) in *.
    assert (b_small : Rabs b <= 101 / 100 * u32 * p).
    { pose proof (fl_sum_error 1 tail one_number t_number) as rounding. fold p in rounding.
      rewrite <- whole in rounding. replace (p - (p + b)) with (- b) in rounding by ring.
      rewrite Rabs_Ropp in rounding. pose proof u32_range. pose proof (Rabs_triang p b) as sum.
      rewrite (Rabs_right p) in sum by lra.
      assert (u32 * Rabs (p + b) <= u32 * (p + Rabs b)) by (apply Rmult_le_compat_l; lra).
      assert (u32 * Rabs b <= / 1000 * Rabs b) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]).
      assert (0 <= u32 * p) by (apply Rmult_le_pos; lra). lra. }
    assert (power_range : 0 < two_to (k + 64) <= two_to 64) by (split; [apply bpow_gt_0|apply bpow_le; lia]).
    assert (scaled : forall x, Rabs x <= 2 -> Rabs (x * two_to (k + 64)) <= two_to 127).
    { intros x bound. rewrite Rabs_mult, (Rabs_right (two_to (k + 64))) by lra.
      apply Rle_trans with (two_to 1 * two_to 64); [|rewrite <- bpow_plus; apply bpow_le; lia].
      change (two_to 1) with 2. apply Rmult_le_compat; [apply Rabs_pos|lra|easy|lra]. }
    exists k, p, b. cbn [value rest]. split; [|split].
    - constructor; try easy; [|now rewrite whole]. intros at_zero. specialize (t_sign at_zero).
      rewrite <- (fl_number binary32 1 one_number). apply fl_monotone; [easy|lra].
    - rewrite <- exact. apply mul_value; [easy|easy|]. apply scaled, Rabs_le. lra.
    - apply mul_value; [easy|easy|]. apply scaled. pose proof u32_range. nra.
  Qed.

  (** The last product, by 2^-64: exact, or into the subnormal numbers. *)
  Lemma unscaled_value x k p :
    (-160 <= k <= 0)%Z -> number binary32 p -> 7 / 10 <= p <= 142 / 100 -> (k = 0%Z -> p <= 1) ->
    is_value x (p * two_to (k + 64)) ->
    exists f, is_value (mul x exp_unscale) f /\ 0 <= f <= 1 /\ Rabs (f - p * two_to k) <= half_quantum /\
      (0 < f -> p * two_to k <= 2 * f).
  Proof.
    intros kK p_number p_range at_zero hx.
    assert (power : two_to (k + 64) * two_to (-64) = two_to k) by (rewrite <- bpow_plus; f_equal; lia).
    assert (product : p * two_to (k + 64) * two_to (-64) = p * two_to k) by (rewrite Rmult_assoc, power; ring).
    assert (k_range : 0 < two_to k) by apply bpow_gt_0. assert (below : p * two_to k <= 1).
    { destruct (Z.eq_dec k 0) as [->|negative]; [change (two_to 0) with 1; specialize (at_zero eq_refl); lra|].
      assert (two_to k <= two_to (-1)) by (apply bpow_le; lia). change (two_to (-1)) with (/ 2) in *. nra. }
    assert (one_number : number binary32 1) by (apply (value_number one), one_value).
    assert (above : 0 <= p * two_to k) by (apply Rmult_le_pos; lra). exists (fl32 (p * two_to k)).
    assert (range : 0 <= fl32 (p * two_to k) <= 1).
    { split; [now apply fl_nonneg|]. rewrite <- (fl_number binary32 1 one_number). now apply fl_monotone. }
    assert (hf : is_value (mul x exp_unscale) (fl32 (p * two_to k))).
    { rewrite <- product. apply mul_value; [easy|apply unscale_value|]. rewrite product, Rabs_right by lra.
      apply Rle_trans with (two_to 0); [easy|apply bpow_le; lia]. }
    split; [easy|]. split; [easy|]. destruct (Z_le_dec (-125) k) as [normal|low].
    - rewrite (fl_number binary32 (p * two_to k)) by (apply number_times_power; cbn; try easy; lra).
      split; [rewrite Rminus_diag_eq, Rabs_R0 by easy; left; apply half_quantum_positive|lra].
    - assert (small : Rabs (p * two_to k) <= two_to (-125)).
      { rewrite Rabs_right by lra. apply Rle_trans with (2 * two_to (-126)).
        - apply Rmult_le_compat; [lra|lra|lra|apply bpow_le; lia].
        - change (-125)%Z with (1 + -126)%Z. rewrite (bpow_plus _ 1). right. easy. }
      pose proof (rounding_error binary32 positive_precision_32 _ (-125) ltac:(cbn; lia) small) as err.
      change (two_to (-125 - prec binary32 - 1)) with half_quantum in err. split; [easy|]. intros positive.
      apply Rabs_le_inv in err. assert (quantum : two_to (-149) <= fl32 (p * two_to k)).
      { destruct hf as [finite value]. rewrite <- (Rabs_right (fl32 (p * two_to k))) by lra. rewrite <- value.
        apply (abs_B2R_ge_emin 24 128). apply is_finite_strict_B2R. rewrite value. lra. }
      assert (two_to (-149) = 2 * half_quantum)
        by (unfold half_quantum; change (-149)%Z with (1 + -150)%Z; now rewrite bpow_plus).
      lra.
  Qed.

  Lemma far_parts z : less exp_lowest z = false -> is_value (value (scaled_exponential_parts z)) 0.
  Proof. intros far. unfold scaled_exponential_parts. now rewrite far. Qed.

  Lemma far_exponential z : less exp_lowest z = false -> is_value (exponential z) 0.
  Proof.
    intros far. unfold exponential, scaled_exponential.
    eapply value_at; [apply (mul_value _ _ _ _ (far_parts z far) unscale_value)|].
    - rewrite Rmult_0_l, Rabs_R0. apply bpow_ge_0.
    - now rewrite Rmult_0_l, fl_0.
  Qed.

  Theorem weight_is_computed z a :
    is_value z a -> a <= 0 -> exists w, is_value (exponential z) w /\ 0 <= w <= 1 /\ computed_exp M (- a) w.
  Proof using good.
    intros hz le. destruct (Rlt_dec (-110) a) as [counts|far].
    - destruct (scaled_parts_value z a hz ltac:(lra)) as [k [p [b [[kK pn pr at0 err _ _] [hv _]]]]].
      destruct (unscaled_value _ k p kK pn pr at0 hv) as [f [hf [range [close _]]]]. exists f. split; [easy|].
      split; [easy|]. apply close_is_computed; [lra|].
      replace (f - exp a) with ((f - p * two_to k) + (p * two_to k - exp a)) by ring. triangle.
      pose proof half_quantum_range. pose proof u32_range.
      assert (0 <= u32 * exp a) by (apply Rmult_le_pos; [lra|left; apply exp_pos]). lra.
    - exists 0. split; [|split; [lra|apply nothing_is_computed; lra]]. apply far_exponential.
      destruct (less exp_lowest z) eqn:counts; [|easy]. apply (less_value _ _ _ _ lowest_value hz) in counts. lra.
  Qed.

  Theorem factor_is_computed z a :
    is_value z a -> a <= 0 ->
    exists f, is_value (value (exponential_parts z)) f /\ 0 <= f <= 1 /\ computed_exp M (- a) f /\
      (0 < f -> exists g, is_value (rest (exponential_parts z)) g /\ computed_exp M (- a) (f + g) /\
                  Rabs g <= 9 * u32 * f).
  Proof using good.
    intros hz le. destruct (weight_is_computed z a hz le) as [w [hw [range exps]]]. exists w. split; [exact hw|].
    split; [easy|]. split; [easy|]. intros positive. destruct (Rlt_dec (-110) a) as [counts|far].
    2:{ destruct (far_exponential z) as [_ zero_value].
        - destruct (less exp_lowest z) eqn:counts; [|easy]. apply (less_value _ _ _ _ lowest_value hz) in counts. lra.
        - destruct hw as [_ hw]. lra. }
    destruct (scaled_parts_value z a hz ltac:(lra)) as [k [p [b [[kK pn pr at0 err unrounded b_small] [hv hr]]]]].
    destruct (unscaled_value _ k p kK pn pr at0 hv) as [f [hf [_ [close double]]]].
    assert (f = w) as -> by (destruct hf as [_ <-], hw as [_ <-]; easy). specialize (double positive).
    set (B := b * two_to (k + 64)) in *. set (g := fl32 (fl32 B * two_to (-64))).
    assert (power : two_to (k + 64) * two_to (-64) = two_to k) by (rewrite <- bpow_plus; f_equal; lia).
    assert (k_range : 0 < two_to k <= 1) by (split; [apply bpow_gt_0|apply (bpow_le radix2 k 0); lia]).
    pose proof u32_range as u0. pose proof half_quantum_range as h0.
    assert (B_down : Rabs B * two_to (-64) = Rabs b * two_to k).
    { unfold B. rewrite Rabs_mult, (Rabs_right (two_to (k + 64))) by (apply Rle_ge, bpow_ge_0). rewrite Rmult_assoc, power.
      ring. }
    set (P := p * two_to k) in *. assert (b_k : Rabs b * two_to k <= 101 / 100 * u32 * P).
    { unfold P. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; lra. } pose proof (fl_at_most_doubles B) as twice.
    pose proof (fl_error B) as first.
    assert (down : 0 < two_to (-64) <= / 1000)
      by (split; [apply bpow_gt_0|apply Rle_trans with (two_to (-10)); [apply bpow_le; lia|cbn; lra]]).
    assert (scaled : Rabs (fl32 B * two_to (-64)) <= 2 * (Rabs b * two_to k)).
    { rewrite Rabs_mult, (Rabs_right (two_to (-64))) by lra. rewrite <- B_down.
      apply (Rmult_le_compat_r (two_to (-64))) in twice; lra. }
    pose proof (fl_at_most_doubles (fl32 B * two_to (-64))) as twice'. pose proof (fl_error (fl32 B * two_to (-64))) as second.
    fold g in twice', second. pose proof (exp_pos a) as positive_exp.
    assert (uE : 0 <= u32 * exp a <= / 16777216 * exp a) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
    assert (P_range : 0 <= P <= 2 * exp a).
    { apply Rabs_le_inv in err. unfold P. split; [apply Rmult_le_pos; lra|]. fold P in err |- *. lra. }
    assert (uP : u32 * P <= 2 * (u32 * exp a)).
    { replace (2 * (u32 * exp a)) with (u32 * (2 * exp a)) by ring. apply Rmult_le_compat_l; lra. } exists g. split; [|split].
    - apply mul_value; [exact hr|apply unscale_value|]. eapply Rle_trans; [apply scaled|]. assert (u32 * P <= / 1000).
      { assert (P <= 2 * w) by easy. assert (u32 * P <= / 16777216 * 2) by (apply Rmult_le_compat; lra). lra. }
      apply Rle_trans with (two_to 0); [change (two_to 0) with 1; lra|apply bpow_le; lia].
    - apply close_is_computed; [lra|]. assert (gap : Rabs (g - b * two_to k) <= / 100 * u32 * exp a + 3 / 2 * half_quantum).
      { replace (g - b * two_to k) with ((g - fl32 B * two_to (-64)) + (fl32 B - B) * two_to (-64))
          by (unfold B; rewrite Rmult_minus_distr_r, (Rmult_assoc b), power; ring).
        triangle. rewrite (Rabs_mult (fl32 B - B)), (Rabs_right (two_to (-64))) by lra.
        apply (Rmult_le_compat_r (two_to (-64))) in first; [|lra]. rewrite Rmult_plus_distr_r, Rmult_assoc, B_down in first.
        assert (half_quantum * two_to (-64) <= / 1000 * half_quantum) by (rewrite Rmult_comm; apply Rmult_le_compat_r; lra).
        assert (small : u32 * (Rabs b * two_to k) <= / 1000 * (u32 * exp a)).
        { apply Rle_trans with (/ 16777216 * (Rabs b * two_to k));
            [apply Rmult_le_compat_r; [apply Rmult_le_pos; [apply Rabs_pos|lra]|lra]|].
          lra. }
        assert (u32 * Rabs (fl32 B * two_to (-64)) <= u32 * (2 * (Rabs b * two_to k))) by (apply Rmult_le_compat_l; lra). lra. }
      replace (w + g - exp a) with ((w - P) + ((g - b * two_to k) + ((p + b) * two_to k - exp a))) by (unfold P; ring).
      triangle. eapply Rle_trans; [apply Rplus_le_compat_l, Rabs_triang|]. lra.
    - assert (u32 * P <= u32 * (2 * w)) by (apply Rmult_le_compat_l; lra). assert (0 <= u32 * w) by (apply Rmult_le_pos; lra).
      lra.
  Qed.

  (** The numerator of a coefficient keeps the scale of 2^64. *)
  Theorem numerator_is_computed z a :
    is_value z a -> a <= 0 ->
    exists v, is_value (scaled_exponential z) (v * two_to 64) /\ computed_exp M (- a) v /\
      (v = 0 \/ two_to (-161) <= v <= 2).
  Proof using good.
    intros hz le. destruct (Rlt_dec (-110) a) as [counts|far].
    - destruct (scaled_parts_value z a hz ltac:(lra)) as [k [p [b [[kK pn pr at0 err _ _] [hv _]]]]].
      exists (p * two_to k). split; [|split].
      + eapply value_at; [exact hv|]. now rewrite bpow_plus, Rmult_assoc.
      + apply close_is_computed; [lra|]. pose proof half_quantum_range. pose proof u32_range.
        assert (0 <= u32 * exp a) by (apply Rmult_le_pos; [lra|left; apply exp_pos]). lra.
      + right. assert (two_to (-160) <= two_to k <= two_to 0) by (split; apply bpow_le; lia).
        change (two_to 0) with 1 in *. assert (0 < two_to (-160)) by apply bpow_gt_0. split; [|nra].
        change (-161)%Z with (-1 + -160)%Z. rewrite bpow_plus. change (two_to (-1)) with (/ 2). nra.
    - exists 0. split; [|split; [apply nothing_is_computed; lra|now left]]. rewrite Rmult_0_l. apply far_parts.
      destruct (less exp_lowest z) eqn:counts; [|easy]. apply (less_value _ _ _ _ lowest_value hz) in counts. lra.
  Qed.

  (** ** Sums and products that err by a roundoff and what the model loses *)

  Lemma relative_part u z s :
    0 <= u -> Rabs (s - z) <= u * Rabs z + 32 * half_quantum ->
    exists d e, Rabs d <= u /\ Rabs e <= 32 * half_quantum /\ s = z * (1 + d) + e.
  Proof.
    intros pos close. pose proof half_quantum_positive. pose proof (Rabs_pos z).
    destruct (split_error (s - z) (u * Rabs z) (32 * half_quantum)) as [e [be rest]];
      [apply Rmult_le_pos; lra|lra|easy|].
    destruct (Req_dec z 0) as [->|nonzero].
    - exists 0, (s - 0 - e). rewrite Rabs_R0, Rmult_0_r in *. apply Rabs_le_inv in be.
      assert (e = 0) as -> by lra. repeat split; [lra|easy|ring].
    - exists (e / z), (s - z - e). split; [|split; [easy|field; easy]].
      unfold Rdiv. rewrite Rabs_mult, Rabs_inv. apply Rmult_le_reg_r with (Rabs z); [now apply Rabs_pos_lt|].
      rewrite Rmult_assoc, Rinv_l, Rmult_1_r by now apply Rabs_no_R0. easy.
  Qed.

  Lemma near_is_summed z s : Rabs (s - z) <= u32 * Rabs z + 32 * half_quantum -> computed_sum M z s.
  Proof using good.
    intros close. destruct (relative_part u32 z s (bpow_ge_0 _ _) close) as [d [e [bd [be ->]]]]. now apply (sum_of_standard_model M good).
  Qed.

  Lemma product_within z s : Rabs (s - z) <= u32 * Rabs z + 32 * half_quantum -> computed_product M z s.
  Proof using good.
    intros close. destruct (relative_part u32 z s (bpow_ge_0 _ _) close) as [d [e [bd [be ->]]]]. now apply (product_of_standard_model M good).
  Qed.

  (** ** An argument, maybe one that has overflowed *)

  Definition argued (z : f32) (D : R) : Prop :=
    (exists a, is_value z a /\ a <= 0 /\ computed_argument M D (- a)) \/
    (less exp_vanishing z = false /\ exists b, 110 <= b /\ computed_argument M D b).
End Weights.
