(** * ln S of the strict kernels' log-sum-exp and entropy, in double, from a compensated sum.

    Main result
    - [logarithm_of_held_sum]   ln S in double errs by 6 units of ln s, where s is as near to 1 and the sum as
                              [held_sums] asks

    Source: kernels/block/entropy.hpp, logarithm_of_sum. *)

From Coq Require Import Reals ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error formats.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_row strict_operations strict_exponential strict_weights.
From softcheck.strict_kernels Require Import double_operations double_logarithm strict_theta.
Local Open Scope R_scope.

(** ln S of a state: 1 + w is as near to 1 and the compensated sum as [held_sums] asks. *)
Theorem logarithm_of_held_sum all v e :
  is_value (sum_value (weights all)) v -> is_value (sum_rest (weights all)) e ->
  0 <= v <= 4194304 -> Rabs e <= v / 40 + two_to (-120) ->
  exists s y, is_double (logarithm_of_sum all) y /\ 1 <= s <= 16777216 /\ Rabs (y - ln s) <= 6 * u64 * ln s /\
    Rabs (s - (1 + (v + e))) <= / 2 * u32 * (1 + v) /\ (v + e = 0 -> s = 1).
Proof.
  intros hv he v_range e_small. pose proof u64_range as u0. pose proof u32_range as v0.
  assert (tiny : 0 < two_to (-120) <= / 1000 * u32).
  { split; [apply bpow_gt_0|]. apply Rle_trans with (two_to (-10) * u32); [rewrite <- bpow_plus; apply bpow_le; lia|].
    apply Rmult_le_compat_r; [apply bpow_ge_0|cbn; lra]. }
  apply Rabs_le_inv in e_small as e_range. pose proof (value_number _ _ hv) as vn. pose proof (value_number _ _ he) as en.
  assert (hw : is_double (in_double (weights all)) (fl64 (v + e))).
  { apply add_double; [now apply widened_value|now apply widened_value|].
    apply Rle_trans with (two_to 24); [apply Rabs_le; change (two_to 24) with 16777216; lra|apply bpow_le; lia]. }
  pose proof (double_sum_error v e (binary32_in_binary64 _ vn) (binary32_in_binary64 _ en)) as w_close.
  set (w := fl64 (v + e)) in *. assert (zero : is_double (dyadic_64 0 0) 0) by (apply integer_double; lia).
  assert (sum_size : Rabs (v + e) <= 2 * v + two_to (-120)) by (apply Rabs_le; lra).
  assert (u64 * Rabs (v + e) <= / 1000000 * u32 * (2 * v + two_to (-120))).
  { apply Rmult_le_compat; [lra|apply Rabs_pos| |easy]. change u64 with (/ 9007199254740992). change u32 with (/ 16777216). lra. }
  assert (uv : 0 <= u32 * v <= / 16777216 * v) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
  assert (shift : u32 * two_to (-120) <= u32 * 1) by (apply Rmult_le_compat_l; lra).
  unfold logarithm_of_sum. destruct (less_64 (dyadic_64 0 0) (in_double (weights all))) eqn:positive.
  - apply (less_double _ _ _ _ zero hw) in positive.
    assert (w_large : two_to (-149) <= w).
    { assert (sum_pos : two_to (-149) <= v + e).
      { destruct (number_grid v vn) as [n1 g1]. destruct (number_grid e en) as [n2 g2].
        rewrite g1, g2, <- Rmult_plus_distr_r, <- plus_IZR. rewrite <- (Rmult_1_l (two_to (-149))) at 1.
        apply Rmult_le_compat_r; [apply bpow_ge_0|]. apply (IZR_le 1).
        assert (0 < v + e).
        { apply Rnot_le_lt. intros le. apply (fl_monotone binary64 positive_precision_64) in le. rewrite fl_0 in le. fold w in le. lra. }
        rewrite g1, g2, <- Rmult_plus_distr_r, <- plus_IZR in *. pose proof (bpow_gt_0 radix2 (-149)).
        assert (0 < IZR (n1 + n2)) as some by (apply Rmult_lt_reg_r with (two_to (-149)); [easy|lra]).
        apply lt_IZR in some. lia. }
      rewrite <- (fl_number binary64 (two_to (-149))); [now apply fl_monotone|].
      apply generic_format_bpow. unfold FLT_exp. cbn [prec emin binary64]. lia. }
    assert (w_top : w <= 2 * v + 1).
    { apply Rabs_le_inv in w_close. apply Rabs_le_inv in sum_size. lra. }
    destruct (logarithm_computed _ w hw) as [y [hy y_close]].
    + split; [lra|]. apply Rle_trans with (two_to 24); [change (two_to 24) with 16777216; lra|apply bpow_le; lia].
    + right. eapply Rle_trans; [|exact w_large]. apply bpow_le. lia.
    + exists (1 + w), y. split; [exact hy|]. split; [lra|]. split; [exact y_close|]. split.
      * replace (1 + w - (1 + (v + e))) with (w - (v + e)) by ring. lra.
      * intros nothing. unfold w in positive. rewrite nothing, fl_0 in positive. lra.
  - apply (not_less_double _ _ _ _ zero hw) in positive.
    destruct (logarithm_computed _ 0 zero) as [y [hy y_close]]; [split; [lra|apply bpow_ge_0]|now left|].
    rewrite Rplus_0_r in y_close. exists 1, y. split; [exact hy|]. split; [lra|]. split; [exact y_close|]. split; [|easy].
    replace (1 - (1 + (v + e))) with (- (v + e)) by ring. rewrite Rabs_Ropp. apply Rabs_le_inv in w_close.
    assert (Rabs (v + e) <= 2 * two_to (-120)).
    { destruct (Rle_dec 0 (v + e)) as [pos|neg]; [|apply Rabs_le; lra].
      rewrite Rabs_right in * by lra. assert (u64 * (v + e) <= / 2 * (v + e)) by (apply Rmult_le_compat_r; lra). lra. }
    lra.
Qed.
