(** * The strict kernels' sum of w D: an item's term, and what a raised maximum adds, in the model of arithmetic.

    Main results
    - [item_streamed]               w and w D of an item, whose argument may have overflowed
    - [deviations_raised_real]      the twice rounded term and the addition are one product and one sum of the model, and the
                                    rest stays small
    - [deviations_rescaled_real]    so are these and the product by the factor and its rest: the step of [streamed] for T
    - [pair_of_item]   an item's weight and its product by the deviation
    - [pair_added]     the sums of two such pairs

    The weights, times the rise b of the maximum, join the sum T: b times the total is rounded twice, where the model of
    b6_entropy.v has one product. The sum that it joins is compensated and needs little of its own roundoff: it takes the
    second rounding.

    Source: kernels/block/row_statistics.hpp, add_items and raise_maximum; numerics/moments.v. *)

From Coq Require Import Reals List ZArith Lra Lia Permutation.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import tree_heights moments.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers strict_operations strict_exponential strict_weights
  strict_sums.
Import ListNotations.
Local Open Scope R_scope.

Section Item.
  Context (A : nat) (step : R) (few : (A <= 12)%nat) (small_step : 0 <= step <= / 2).
  Notation M := (strict_arithmetic A step).

  (** w D of an item, from z = -D as computed: weight_of of block_row.v. *)
  Definition deviation_of (z : f32) : f32 := mul (exponential z) (if less zero (exponential z) then neg z else zero).

  Lemma no_weight z b : is_value (exponential z) 0 -> is_value (deviation_of z) 0 /\ computed_product M (0 * b) 0.
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
    - pose proof (far_exponential z (lower_than_lowest z far)) as hw. destruct (no_weight z b hw) as [hy product]. exists b, 0, 0.
      split; [easy|]. split; [now apply nothing_is_computed|]. repeat (split; [assumption|]). repeat split; lra.
  Qed.
End Item.

(** What a rounding to nearest errs by, relative to what is rounded: a little less than u. *)
Definition nearest_unit : R := u32 / (1 + u32).

Section Deviations.
  Context (A : nat) (step : R) (few : (A <= 12)%nat) (small_step : 0 <= step <= / 2).
  Notation M := (strict_arithmetic A step).
  Context (N K : nat) (N_few : (Z.of_nat N <= 2 ^ 15)%Z) (K_few : (Z.of_nat K <= 2 ^ 22)%Z).

  (** s the weights, total their rounded sum; b the rise; v + e the sum so far, value and rest. *)
  Context (s total b p v e value d rest : R) (s_pos : 0 <= s) (b_pos : 0 <= b) (v_pos : 0 <= v) (p_pos : 0 <= p)
    (small : small_rest v e N K) (total_rounded : Rabs (total - s) <= nearest_unit * s)
    (term_rounded : Rabs (p - b * total) <= nearest_unit * (b * total) + half_quantum) (exact : value + d = v + p)
    (d_small : Rabs d <= u32 * (v + p)) (rest_rounded : Rabs (rest - (e + d)) <= u32 * Rabs (e + d)).

  Theorem deviations_raised_real :
    exists p', computed_product M (b * s) p' /\ computed_sum M (v + e + p') (value + rest) /\ small_rest value rest (S N) K.
  Proof using few small_step N_few K_few s_pos b_pos v_pos p_pos small total_rounded term_rounded exact d_small rest_rounded.
    destruct (limits N K N_few K_few) as [slope [_ [floor0 [tiny _]]]]. pose proof half_quantum_positive as h0.
    assert (near : nearest_unit = / 16777217) by (unfold nearest_unit; change u32 with (/ 16777216); field).
    rewrite near in *. change u32 with (/ 16777216) in *. set (Q := b * s) in *. set (P := b * total) in *.
    assert (Q0 : 0 <= Q) by (now apply Rmult_le_pos). assert (P_near : Rabs (P - Q) <= / 16777217 * Q).
    { unfold P, Q. rewrite <- Rmult_minus_distr_l, Rabs_mult, (Rabs_right b) by lra.
      replace (/ 16777217 * (b * s)) with (b * (/ 16777217 * s)) by ring. now apply Rmult_le_compat_l. }
    apply Rabs_le_inv in P_near as P_range.
    destruct (split_error (p - P) (/ 16777217 * P) half_quantum ltac:(lra) ltac:(lra) term_rounded) as
      [r [r_small r_rest]].
    set (p' := P + / 2 * / 16777216 * r). apply Rabs_le_inv in r_small as r_range.
    apply Rabs_le_inv in r_rest as rest_range. exists p'. split; [|split].
    - apply (product_within A step few small_step). rewrite (Rabs_right Q) by lra. change u32 with (/ 16777216).
      replace (p' - Q) with ((P - Q) + / 2 * / 16777216 * r) by (unfold p'; ring). apply Rabs_le. lra.
    - apply (near_is_summed A step few small_step). change u32 with (/ 16777216). unfold small_rest in small.
      set (a := rest_slope N) in *. set (B := rest_floor N K) in *.
      assert (av : 0 <= a * v <= / 40 * v) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
      pose proof (Rabs_triang e d) as ed. pose proof (Rle_abs (v + e + p')) as size.
      apply Rabs_le_inv in small as e_range.
      replace (value + rest - (v + e + p')) with ((p - p') + (rest - (e + d))) by lra. triangle.
      assert (moved : Rabs (p - p') <= / 16777217 * P - / 2 * / 16777216 * (/ 16777217 * P) + half_quantum).
      { replace (p - p') with ((p - P - r) + (1 - / 2 * / 16777216) * r) by (unfold p'; ring). triangle.
        rewrite Rabs_mult, (Rabs_right (1 - / 2 * / 16777216)) by lra. lra. }
      assert (p'_is : p' = P + / 2 * / 16777216 * r) by easy. clearbody p'. lra.
    - destruct (sums_added_real A step few small_step N K K 0 N_few K_few ltac:(lia)
                  v e p 0 value d rest rest) as [_ smaller]; try easy; try lra.
      + unfold small_rest. rewrite Rabs_R0. destruct (limits N 0 N_few ltac:(easy)) as [slope' [_ [floor' _]]].
        assert (0 <= rest_slope N * p) by (apply Rmult_le_pos; lra). lra.
      + rewrite Rplus_0_r, Rminus_diag_eq, Rabs_R0 by easy. apply Rmult_le_pos; [apply bpow_ge_0|apply Rabs_pos].
  Qed.

  Context (N_next : (Z.of_nat (S N) <= 2 ^ 15)%Z) (value_pos : 0 <= value).

  Theorem deviations_rescaled_real f g value' q m rest' :
    0 <= f <= 1 -> Rabs g <= 9 * u32 * f -> 0 <= value' ->
    Rabs (value' - value * f) <= u32 * Rabs (value * f) + half_quantum ->
    Rabs (q - (value * f - value')) <= u32 * Rabs (value * f - value') + half_quantum ->
    Rabs (m - (value * g + q)) <= u32 * Rabs (value * g + q) + half_quantum ->
    Rabs (rest' - (rest * f + m)) <= u32 * Rabs (rest * f + m) + half_quantum ->
    exists p' q', computed_product M (b * s) p' /\ computed_sum M (v + e + p') q' /\
      computed_product M (q' * (f + g)) (value' + rest') /\ small_rest value' rest' (S (S N)) (S K).
  Proof using few small_step N_few K_few s_pos b_pos v_pos p_pos small total_rounded term_rounded exact d_small rest_rounded N_next value_pos.
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

(** ** w and w D of the strict kernels' items as numbers of one tree: what a group of four adds in halves.

    [partial l r s y H J K]: s and y are what a tree of a height of H roundoffs and J rescalings on a path, K in all, makes of the
    weights of l about r, and of these times their deviations; 0 where l is empty.
    [plain_pair w d l r H]: so are the numbers w and d, without rescalings.

    For at most 2^22 items. Source: kernels/block/row_statistics.hpp, add_items; numerics/moments.v. *)

Section Pairs.
  Context (A : nat) (step : R) (few : (A <= 12)%nat) (small_step : 0 <= step <= / 2).
  Notation M := (strict_arithmetic A step).

  (** ** What two numbers may be of some items *)

  Definition partial (l : list R) (r s y H : R) (J K : nat) : Prop :=
    (l = [] /\ s = 0 /\ y = 0) \/ exists h j k, h <= H /\ (j <= J)%nat /\ (k <= K)%nat /\ streamed_at M l r s y h j k.

  Lemma partial_wider l r s y H J K H' J' K' :
    H <= H' -> (J <= J')%nat -> (K <= K')%nat -> partial l r s y H J K -> partial l r s y H' J' K'.
  Proof using.
    clear few small_step. intros hH hJ hK [nothing|[h [j [k [a [b [c tree]]]]]]]; [now left|]. right. exists h, j, k.
    split; [lra|]. split; [lia|]. split; [lia|exact tree].
  Qed.

  Lemma partial_reordered l l' r s y H J K : Permutation l l' -> partial l r s y H J K -> partial l' r s y H J K.
  Proof using.
    clear few small_step. intros same [[-> none]|[h [j [k [a [b [c tree]]]]]]].
    - apply Permutation_nil in same. now left.
    - right. exists h, j, k. repeat (split; [easy|]). now apply streamed_at_reordered with l.
  Qed.

  Lemma partial_added part l1 l2 r s1 s2 s y1 y2 y H J1 J2 K1 K2 :
    0 <= part <= 1 -> partial l1 r s1 y1 H J1 K1 -> partial l2 r s2 y2 H J2 K2 ->
    sum_within M part (s1 + s2) s -> sum_within M part (y1 + y2) y ->
    (l1 = [] -> s = s2 /\ y = y2) -> (l2 = [] -> s = s1 /\ y = y1) ->
    partial (l1 ++ l2) r s y (part + H) (max J1 J2) (K1 + K2).
  Proof using few.
    clear small_step. intros range p1 p2 sums moments first second. destruct p1 as [[-> _]|[h1 [j1 [k1 [a1 [b1 [c1 tree1]]]]]]].
    - destruct (first eq_refl) as [-> ->]. cbn [app]. eapply partial_wider; [| | |apply p2]; lra || lia.
    - destruct p2 as [[-> _]|[h2 [j2 [k2 [a2 [b2 [c2 tree2]]]]]]].
      + destruct (second eq_refl) as [-> ->]. rewrite app_nil_r. right. exists h1, j1, k1.
        split; [lra|]. split; [lia|]. split; [lia|exact tree1].
      + right. exists (part + Rmax h1 h2), (max j1 j2), (k1 + k2)%nat.
        split; [apply Rplus_le_compat_l; now apply Rmax_lub|]. split; [lia|]. split; [lia|].
        now apply streamed_at_addition with s1 s2 y1 y2.
  Qed.

  (** ** Plain numbers *)

  Definition plain_pair (w d : f32) (l : list R) (r : R) (H : nat) : Prop :=
    exists x y, is_value w x /\ is_value d y /\ 0 <= x <= counted_items l /\ 0 <= y <= 128 * counted_items l /\
      partial l r x y (INR H) 0 0.

  Lemma plain_nothing w d r H : is_value w 0 -> is_value d 0 -> plain_pair w d [] r H.
  Proof using.
    clear few small_step. intros hw hd. exists 0, 0. split; [easy|]. split; [easy|]. cbn. repeat split; try lra. now left.
  Qed.

  Lemma counted_128 l : short l -> number binary32 (128 * counted_items l) /\ 128 * counted_items l <= 536870912.
  Proof.
    intros few_items. destruct (counted_number l few_items) as [_ [_ high]]. split; [|lra].
    replace (128 * counted_items l) with (IZR (Z.of_nat (length l)) * two_to 7).
    - apply number_of_integer; [|cbn; lia]. unfold short in few_items. cbn [prec binary32]. lia.
    - unfold counted_items. rewrite <- INR_IZR_INZ. change (two_to 7) with 128. ring.
  Qed.

  Theorem pair_added w1 w2 d1 d2 l1 l2 r H1 H2 :
    short (l1 ++ l2) -> plain_pair w1 d1 l1 r H1 -> plain_pair w2 d2 l2 r H2 ->
    plain_pair (add w1 w2) (add d1 d2) (l1 ++ l2) r (S (max H1 H2)).
  Proof using few small_step.
    intros few_items [x1 [y1 [hx1 [hy1 [rx1 [ry1 p1]]]]]] [x2 [y2 [hx2 [hy2 [rx2 [ry2 p2]]]]]].
    destruct (counted_number (l1 ++ l2) few_items) as [n_number [_ n_high]].
    destruct (counted_128 (l1 ++ l2) few_items) as [m_number m_high].
    rewrite counted_app in *. assert (0 <= counted_items l1 /\ 0 <= counted_items l2) as [c1 c2] by (split; apply pos_INR).
    assert (wide : forall x, 0 <= x <= 536870912 -> Rabs x <= two_to 60).
    { intros x range. apply Rle_trans with (two_to 29); [rewrite Rabs_right; cbn; lra|apply bpow_le; lia]. }
    pose proof half_quantum_positive as h0. pose proof (value_number _ _ hx1) as nx1. pose proof (value_number _ _ hx2) as nx2.
    pose proof (value_number _ _ hy1) as ny1. pose proof (value_number _ _ hy2) as ny2.
    exists (fl32 (x1 + x2)), (fl32 (y1 + y2)). rewrite counted_app.
    split; [apply near_add; try easy; apply wide; lra|]. split; [apply near_add; try easy; apply wide; lra|]. split; [|split].
    - split; [apply fl_nonneg; lra|]. rewrite <- (fl_number binary32 _ n_number). apply fl_monotone; [easy|lra].
    - split; [apply fl_nonneg; lra|]. rewrite <- (fl_number binary32 _ m_number). apply fl_monotone; [easy|lra].
    - rewrite height_of_both. apply (partial_added 1 l1 l2 r x1 x2 _ y1 y2 _ _ 0 0 0 0); [lra| | | | | |].
      + apply partial_wider with (INR H1) 0%nat 0%nat; [apply Rmax_l|easy|easy|exact p1].
      + apply partial_wider with (INR H2) 0%nat 0%nat; [apply Rmax_r|easy|easy|exact p2].
      + apply whole_sum, (near_is_summed A step few small_step). pose proof (fl_sum_error x1 x2 nx1 nx2). lra.
      + apply whole_sum, (near_is_summed A step few small_step). pose proof (fl_sum_error y1 y2 ny1 ny2). lra.
      + intros ->. assert (x1 = 0) as -> by (cbn in rx1; lra). assert (y1 = 0) as -> by (cbn in ry1; lra).
        rewrite !Rplus_0_l. split; now apply fl_number.
      + intros ->. assert (x2 = 0) as -> by (cbn in rx2; lra). assert (y2 = 0) as -> by (cbn in ry2; lra).
        rewrite !Rplus_0_r. split; now apply fl_number.
  Qed.

  Theorem pair_of_item z x r D H :
    argued A step z D -> x <= r -> r - x = D -> plain_pair (exponential z) (deviation_of z) [x] r H.
  Proof using few small_step.
    intros arg le same. destruct (item_streamed A step few small_step z D arg) as [b [w [y [ha [he [hp [hw [hy [w_range y_range]]]]]]]]].
    exists w, y. split; [easy|]. split; [easy|]. split; [cbn; lra|]. split; [cbn; lra|]. right. exists 0, 0%nat, 0%nat.
    split; [apply pos_INR|]. repeat (split; [lia|]). apply streamed_at_item with b; [easy|now rewrite same|easy|easy].
  Qed.
End Pairs.

(** 0 at a maximum of 0: its weight is 1, its deviation 0. *)
Example pair_of_the_maximum : plain_pair 2 0 (exponential zero) (deviation_of zero) [0] 0 0.
Proof.
  apply pair_of_item with 0; [lia|lra| |lra|ring]. left. exists 0. split; [apply zero_value|]. split; [lra|].
  exists 0, 0. cbn [argument_unit argument_step strict_arithmetic INR]. rewrite Rabs_R0, Ropp_0. pose proof u32_range.
  assert (0 <= log_unit u32) by (apply log_unit_nonneg; lra). split; [lra|]. split; [lra|]. ring.
Qed.
