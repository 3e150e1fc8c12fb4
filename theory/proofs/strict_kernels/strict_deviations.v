(** * The strict kernels' sum of w D: an item's term, and what a raised maximum adds, in the model of arithmetic.

    The weights, times the rise b of the maximum, join the sum T: b times the total is rounded twice, where the model of
    b6_entropy.v has one product. The sum that it joins is compensated and needs little of its own roundoff: it takes the
    second rounding.

    Main results
    - [item_streamed]               w and w D of an item, whose argument may have overflowed
    - [deviations_raised_real]      the twice rounded term and the addition are one product and one sum of the model, and the
                                    rest stays small
    - [deviations_rescaled_real]    so are these and the product by the factor and its rest: the step of [streamed] for T

    Source: kernels/block/row_statistics.hpp, add_items and raise_maximum; numerics/moments.v. *)

From Coq Require Import Reals List ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_exponential.
From softcheck.strict_kernels Require Import strict_operations strict_exponential strict_weights strict_sums strict_counted.
Local Open Scope R_scope.

Section Item.
  Context (A : nat) (step : R).
  Hypothesis few : (A <= 12)%nat.
  Hypothesis small_step : 0 <= step <= / 2.
  Notation M := (strict_arithmetic A step).

  (** w D of an item, from z = -D as computed: weight_of of block_row.v. *)
  Definition deviation_of (z : f32) : f32 :=
    mul (exponential z) (if less zero (exponential z) then neg z else zero).

  Lemma no_weight z b :
    is_value (exponential z) 0 -> is_value (deviation_of z) 0 /\ computed_product M (0 * b) 0.
  Proof using few small_step.
    intros hw. unfold deviation_of.
    assert (less zero (exponential z) = false) as ->.
    { destruct (less zero (exponential z)) eqn:counts; [|easy]. apply (less_value _ _ _ _ zero_value hw) in counts. lra. }
    split.
    - apply (value_at _ (fl32 (0 * 0))); [|now rewrite Rmult_0_l, fl_0].
      apply mul_value; [exact hw|apply zero_value|]. rewrite Rmult_0_l, Rabs_R0. apply bpow_ge_0.
    - apply (product_within A step few small_step). rewrite Rmult_0_l, Rminus_0_r, Rabs_R0. pose proof half_quantum_positive. lra.
  Qed.

  Theorem item_streamed z D :
    argued A step z D ->
    exists b w y, computed_argument M D b /\ computed_exp M b w /\ computed_product M (w * b) y /\
      is_value (exponential z) w /\ is_value (deviation_of z) y /\ 0 <= w <= 1 /\ 0 <= y <= 110.
  Proof using few small_step.
    intros [[a [hz [le arg]]]|[far [b [beyond arg]]]].
    - destruct (weight_is_computed A step few small_step z a hz le) as [w [hw [range exps]]]. exists (- a), w.
      destruct (Req_dec w 0) as [none|some].
      + rewrite none in *. destruct (no_weight z (- a) hw) as [hy product]. exists 0. repeat (split; [assumption|]). split; lra.
      + assert (near : -110 < a).
        { apply Rnot_le_lt. intros far. apply some. destruct hw as [_ <-]. apply (far_exponential z).
          destruct (less exp_lowest z) eqn:counts; [|easy]. apply (less_value _ _ _ _ lowest_value hz) in counts. lra. }
        assert (counts : less zero (exponential z) = true) by (apply (less_value _ _ _ _ zero_value hw); lra).
        assert (product : 0 <= w * - a <= 110) by (split; [apply Rmult_le_pos; lra|apply Rle_trans with (1 * 110); [apply Rmult_le_compat; lra|lra]]).
        assert (hy : is_value (deviation_of z) (fl32 (w * - a))).
        { unfold deviation_of. rewrite counts. apply mul_value; [exact hw|now apply neg_value|].
          apply Rle_trans with (two_to 7); [rewrite Rabs_right; cbn; lra|apply bpow_le; lia]. }
        exists (fl32 (w * - a)). split; [easy|]. split; [easy|]. split; [|split; [easy|split; [easy|split; [easy|]]]].
        * apply (product_within A step few small_step). pose proof (fl_error (w * - a)). pose proof half_quantum_positive. lra.
        * split; [apply fl_nonneg; lra|]. rewrite <- (fl_number binary32 110) by (apply (integer_number 110); lia).
          apply fl_monotone; [easy|lra].
    - pose proof (far_exponential z far) as hw. destruct (no_weight z b hw) as [hy product]. exists b, 0, 0.
      split; [easy|]. split; [now apply nothing_is_computed|]. repeat (split; [assumption|]). repeat split; lra.
  Qed.
End Item.

(** What a rounding to nearest errs by, relative to what is rounded: a little less than u. *)
Definition nearest_unit : R := u32 / (1 + u32).

Section Deviations.
  Context (A : nat) (step : R).
  Hypothesis few : (A <= 12)%nat.
  Hypothesis small_step : 0 <= step <= / 2.
  Notation M := (strict_arithmetic A step).
  Context (N K : nat).
  Hypothesis N_few : (Z.of_nat N <= 2 ^ 15)%Z.
  Hypothesis K_few : (Z.of_nat K <= 2 ^ 22)%Z.

  (** s the weights, total their rounded sum; b the rise; v + e the sum so far, value and rest. *)
  Context (s total b p v e value d rest : R).
  Hypothesis s_pos : 0 <= s.
  Hypothesis b_pos : 0 <= b.
  Hypothesis v_pos : 0 <= v.
  Hypothesis p_pos : 0 <= p.
  Hypothesis small : small_rest v e N K.
  Hypothesis total_rounded : Rabs (total - s) <= nearest_unit * s.
  Hypothesis term_rounded : Rabs (p - b * total) <= nearest_unit * (b * total) + half_quantum.
  Hypothesis exact : value + d = v + p.
  Hypothesis d_small : Rabs d <= u32 * (v + p).
  Hypothesis rest_rounded : Rabs (rest - (e + d)) <= u32 * Rabs (e + d).

  Theorem deviations_raised_real :
    exists p', computed_product M (b * s) p' /\ computed_sum M (v + e + p') (value + rest) /\ small_rest value rest (S N) K.
  Proof using few small_step N_few K_few s_pos b_pos v_pos p_pos small total_rounded term_rounded exact d_small rest_rounded.
    destruct (limits N K N_few K_few) as [slope [_ [floor0 [tiny _]]]]. pose proof half_quantum_positive as h0.
    assert (near : nearest_unit = / 16777217) by (unfold nearest_unit; change u32 with (/ 16777216); field).
    rewrite near in *. change u32 with (/ 16777216) in *.
    set (Q := b * s) in *. set (P := b * total) in *. assert (Q0 : 0 <= Q) by (now apply Rmult_le_pos).
    assert (P_near : Rabs (P - Q) <= / 16777217 * Q).
    { unfold P, Q. rewrite <- Rmult_minus_distr_l, Rabs_mult, (Rabs_right b) by lra.
      replace (/ 16777217 * (b * s)) with (b * (/ 16777217 * s)) by ring. now apply Rmult_le_compat_l. }
    apply Rabs_le_inv in P_near as P_range.
    destruct (split_error (p - P) (/ 16777217 * P) half_quantum ltac:(lra) ltac:(lra) term_rounded) as [r [r_small r_rest]].
    set (p' := P + / 2 * / 16777216 * r).
    apply Rabs_le_inv in r_small as r_range. apply Rabs_le_inv in r_rest as rest_range.
    exists p'. split; [|split].
    - apply (product_within A step few small_step). rewrite (Rabs_right Q) by lra. change u32 with (/ 16777216).
      replace (p' - Q) with ((P - Q) + / 2 * / 16777216 * r) by (unfold p'; ring).
      apply Rabs_le. lra.
    - apply (near_is_summed A step few small_step). change u32 with (/ 16777216).
      unfold small_rest in small. set (a := rest_slope N) in *. set (B := rest_floor N K) in *.
      assert (av : 0 <= a * v <= / 40 * v) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
      pose proof (Rabs_triang e d) as ed. pose proof (Rle_abs (v + e + p')) as size. apply Rabs_le_inv in small as e_range.
      replace (value + rest - (v + e + p')) with ((p - p') + (rest - (e + d))) by lra.
      eapply Rle_trans; [apply Rabs_triang|].
      assert (moved : Rabs (p - p') <= / 16777217 * P - / 2 * / 16777216 * (/ 16777217 * P) + half_quantum).
      { replace (p - p') with ((p - P - r) + (1 - / 2 * / 16777216) * r) by (unfold p'; ring).
        eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_right (1 - / 2 * / 16777216)) by lra. lra. }
      assert (p'_is : p' = P + / 2 * / 16777216 * r) by easy. clearbody p'. lra.
    - destruct (sums_added_real A step few small_step N K K 0 N_few K_few ltac:(lia)
                  v e p 0 value d rest rest) as [_ smaller]; try easy; try lra.
      + unfold small_rest. rewrite Rabs_R0. destruct (limits N 0 N_few ltac:(easy)) as [slope' [_ [floor' _]]].
        assert (0 <= rest_slope N * p) by (apply Rmult_le_pos; lra). lra.
      + rewrite Rplus_0_r, Rminus_diag_eq, Rabs_R0 by easy. apply Rmult_le_pos; [apply bpow_ge_0|apply Rabs_pos].
  Qed.

  Hypothesis N_next : (Z.of_nat (S N) <= 2 ^ 15)%Z.
  Hypothesis value_pos : 0 <= value.

  Theorem deviations_rescaled_real f g value' q m rest' :
    0 <= f <= 1 -> Rabs g <= 9 * u32 * f -> 0 <= value' ->
    Rabs (value' - value * f) <= u32 * Rabs (value * f) + half_quantum ->
    Rabs (q - (value * f - value')) <= u32 * Rabs (value * f - value') + half_quantum ->
    Rabs (m - (value * g + q)) <= u32 * Rabs (value * g + q) + half_quantum ->
    Rabs (rest' - (rest * f + m)) <= u32 * Rabs (rest * f + m) + half_quantum ->
    exists p' q', computed_product M (b * s) p' /\ computed_sum M (v + e + p') q' /\
      computed_product M (q' * (f + g)) (value' + rest') /\ small_rest value' rest' (S (S N)) (S K).
  Proof using few small_step N_few K_few s_pos b_pos v_pos p_pos small total_rounded term_rounded exact d_small rest_rounded
      N_next value_pos.
    intros f_range g_small v_range err_v err_q err_m err_e.
    destruct deviations_raised_real as [p' [product [sum still_small]]].
    destruct (sum_rescaled_real A step few small_step (S N) K N_next K_few value rest f g value' q m rest'
                value_pos still_small f_range g_small v_range err_v err_q err_m err_e) as [scaled smaller].
    exists p', (value + rest). repeat (split; [assumption|]). exact smaller.
  Qed.
End Deviations.

(** A first maximum: every number is 0. *)
Example deviations_of_nothing :
  (2 <= 12)%nat /\ 0 <= 0 <= / 2 /\ (Z.of_nat 1 <= 2 ^ 15)%Z /\ (Z.of_nat 0 <= 2 ^ 22)%Z /\
  small_rest 0 0 0 0 /\ Rabs (1 - 1) <= nearest_unit * 1 /\ Rabs (1 - 1 * 1) <= nearest_unit * (1 * 1) + half_quantum /\
  1 + 0 = 0 + 1 /\ Rabs 0 <= u32 * (0 + 1) /\ Rabs (0 - (0 + 0)) <= u32 * Rabs (0 + 0).
Proof.
  pose proof half_quantum_positive. assert (0 <= nearest_unit) by (unfold nearest_unit; change u32 with (/ 16777216); lra).
  split; [lia|]. split; [lra|]. split; [lia|]. split; [lia|]. split.
  - unfold small_rest, rest_floor. rewrite Rabs_R0, Rmult_0_r. cbn [INR]. lra.
  - replace (1 - 1 * 1) with 0 by ring. replace (1 - 1) with 0 by ring. replace (0 - (0 + 0)) with 0 by ring.
    rewrite Rabs_R0. pose proof (Rabs_pos (0 + 0)). change u32 with (/ 16777216). repeat split; lra.
Qed.
