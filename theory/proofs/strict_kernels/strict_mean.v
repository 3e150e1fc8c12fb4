(** * T / S of the strict kernels' entropy, in double, from two compensated sums.

    Main result
    - [mean_of_held_sums]   the quotient errs by 0.6 u of binary32 of T / s, where T is value and rest of its sum and s is as
                            near to 1 and the weights' sum as [held_sums] asks

    Half a rounding of s is what the logarithm's s may differ by from the quotient's: in double both differ by much less.
    Source: kernels/block/entropy.hpp, entropy_of. *)

From Coq Require Import Reals ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error formats.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_row strict_operations strict_exponential strict_weights.
From softcheck.strict_kernels Require Import double_operations double_logarithm.
Local Open Scope R_scope.

(** Value and rest of a sum, added in double. *)
Lemma in_double_value sum v e :
  is_value (sum_value sum) v -> is_value (sum_rest sum) e -> Rabs (v + e) <= two_to 1000 ->
  exists w, is_double (in_double sum) w /\ Rabs (w - (v + e)) <= u64 * Rabs (v + e).
Proof.
  intros hv he bound. exists (fl64 (v + e)). split.
  - apply add_double; [now apply widened_value|now apply widened_value|exact bound].
  - apply double_sum_error; apply binary32_in_binary64; [now apply (value_number (sum_value sum))|now apply (value_number (sum_rest sum))].
Qed.

(** n / d, of numbers a little off y and s. *)
Lemma ratio_moved y s n d :
  1 <= s -> Rabs (n - y) <= u64 * Rabs y -> Rabs (d - s) <= 52 / 100 * u32 * s ->
  Rabs (n / d - y / s) <= 55 / 100 * u32 * Rabs (y / s) /\ 99 / 100 * s <= d.
Proof.
  intros s_low n_close d_close. pose proof u64_range as u0. pose proof u32_range as v0. pose proof (Rabs_pos y) as y0.
  assert (us : 52 / 100 * u32 * s <= / 1000000 * s) by (apply Rmult_le_compat_r; lra).
  apply Rabs_le_inv in d_close as d_range. assert (d_low : 999999 / 1000000 * s <= d) by lra. split; [|lra].
  assert (same : n / d - y / s = ((n - y) * s + y * (s - d)) / (d * s)) by (field; lra).
  assert (ds : 0 < d * s) by (apply Rmult_lt_0_compat; lra).
  assert (target : Rabs (y / s) = Rabs y / s) by (unfold Rdiv; rewrite Rabs_mult, (Rabs_right (/ s)); [easy|left; apply Rinv_0_lt_compat; lra]).
  rewrite same, target. unfold Rdiv at 1. rewrite Rabs_mult, (Rabs_right (/ (d * s))) by (left; now apply Rinv_0_lt_compat).
  apply Rmult_le_reg_r with (d * s); [easy|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  replace (55 / 100 * u32 * (Rabs y / s) * (d * s)) with (55 / 100 * (u32 * Rabs y * d)) by (field; lra).
  eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult, (Rabs_right s), (Rabs_minus_sym s d) by lra.
  assert (Rabs (n - y) * s <= u64 * Rabs y * s) by (apply Rmult_le_compat_r; lra).
  assert (Rabs y * Rabs (d - s) <= Rabs y * (52 / 100 * u32 * s)) by (apply Rmult_le_compat_l; lra).
  assert (ys : 0 <= Rabs y * s) by (apply Rmult_le_pos; lra).
  assert (u64 * (Rabs y * s) <= / 1000 * u32 * (Rabs y * s)).
  { apply Rmult_le_compat_r; [easy|]. change u64 with (/ 9007199254740992). change u32 with (/ 16777216). lra. }
  assert (0 <= u32 * (Rabs y * s)) by (apply Rmult_le_pos; lra).
  assert (u32 * Rabs y * (999999 / 1000000 * s) <= u32 * Rabs y * d) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|easy]).
  lra.
Qed.

(** What the quotient divides by is as near to s as half a rounding and what double rounds. *)
Lemma divisor_near v e w D s :
  0 <= v <= 4194304 -> Rabs e <= v / 40 + two_to (-120) -> Rabs (w - (v + e)) <= u64 * Rabs (v + e) ->
  Rabs (D - (1 + w)) <= u64 * Rabs (1 + w) -> 1 <= s -> Rabs (s - (1 + (v + e))) <= / 2 * u32 * (1 + v) ->
  Rabs (D - s) <= 52 / 100 * u32 * s.
Proof.
  intros v_range e_small w_close D_close s_low s_close. pose proof u32_range as v0.
  assert (tiny : 0 <= two_to (-120) <= / 1000000).
  { split; [apply bpow_ge_0|]. apply Rle_trans with (two_to (-20)); [apply bpow_le; lia|cbn; lra]. }
  assert (unit_small : 0 < u64 <= / 1000 * u32) by (change u64 with (/ 9007199254740992); change u32 with (/ 16777216); lra).
  apply Rabs_le_inv in e_small as e_range.
  assert (sum_size : Rabs (v + e) <= 2 * (1 + v)) by (apply Rabs_le; lra).
  assert (u64 * Rabs (v + e) <= / 1000 * u32 * (2 * (1 + v))) by (apply Rmult_le_compat; try lra; apply Rabs_pos).
  assert (uv : 0 <= u32 * (1 + v) <= / 10000000 * (1 + v)) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
  apply Rabs_le_inv in w_close as w_range. assert (w_size : Rabs (1 + w) <= 3 * (1 + v)) by (apply Rabs_le_inv in sum_size; apply Rabs_le; lra).
  assert (u64 * Rabs (1 + w) <= / 1000 * u32 * (3 * (1 + v))) by (apply Rmult_le_compat; try lra; apply Rabs_pos).
  assert (s_size : 974 / 1000 * (1 + v) <= s) by (apply Rabs_le_inv in s_close; lra).
  assert (u32 * (974 / 1000 * (1 + v)) <= u32 * s) by (apply Rmult_le_compat_l; lra).
  replace (D - s) with ((D - (1 + w)) + ((w - (v + e)) + - (s - (1 + (v + e))))) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_l, Rabs_triang|]. rewrite Rabs_Ropp. lra.
Qed.

Theorem mean_of_held_sums all v e x d s :
  is_value (sum_value (weights all)) v -> is_value (sum_rest (weights all)) e ->
  is_value (sum_value (deviations all)) x -> is_value (sum_rest (deviations all)) d ->
  0 <= v <= 4194304 -> Rabs e <= v / 40 + two_to (-120) -> 0 <= x <= two_to 48 -> Rabs d <= x / 40 + two_to (-120) ->
  1 <= s -> Rabs (s - (1 + (v + e))) <= / 2 * u32 * (1 + v) ->
  exists q, is_double (quotient_64 (in_double (deviations all)) (add_64 one_64 (in_double (weights all)))) q /\
    Rabs (q - (x + d) / s) <= 6 / 10 * u32 * Rabs ((x + d) / s) + half_quantum /\ Rabs q <= two_to 50.
Proof.
  intros hv he hx hd v_range e_small x_range d_small s_low s_close. pose proof u64_range as u0. pose proof u32_range as v0.
  assert (tiny : 0 <= two_to (-120) <= / 1000).
  { split; [apply bpow_ge_0|]. apply Rle_trans with (two_to (-10)); [apply bpow_le; lia|cbn; lra]. }
  apply Rabs_le_inv in e_small as e_range. apply Rabs_le_inv in d_small as d_range.
  assert (big : 281474976710656 <= two_to 48 /\ two_to 49 = 2 * two_to 48 /\ two_to 50 = 4 * two_to 48) by (cbn; lra).
  assert (y_size : Rabs (x + d) <= two_to 49) by (apply Rabs_le; lra).
  assert (wide : forall a k, (k <= 1000)%Z -> Rabs a <= two_to k -> Rabs a <= two_to 1000)
    by (intros a k le bound; eapply Rle_trans; [exact bound|now apply bpow_le]).
  destruct (in_double_value (weights all) v e hv he) as [w [hw w_close]].
  { apply (wide _ 24%Z); [lia|]. apply Rabs_le. cbn. lra. }
  destruct (in_double_value (deviations all) x d hx hd) as [n [hn n_close]]; [now apply (wide _ 49%Z)|].
  assert (w_size : Rabs (1 + w) <= two_to 24).
  { assert (u64 * Rabs (v + e) <= / 2 * 8388608).
    { apply Rmult_le_compat; [lra|apply Rabs_pos|lra|]. apply Rabs_le. lra. }
    apply Rabs_le_inv in w_close. apply Rabs_le. cbn. lra. }
  assert (hD : is_double (add_64 one_64 (in_double (weights all))) (fl64 (1 + w))).
  { apply add_double; [apply one_double|exact hw|now apply (wide _ 24%Z)]. }
  pose proof (double_sum_error 1 w (double_number _ _ one_double) (double_number _ _ hw)) as D_close. set (D := fl64 (1 + w)) in *.
  pose proof (divisor_near v e w D s v_range e_small w_close D_close s_low s_close) as near.
  destruct (ratio_moved (x + d) s n D s_low n_close near) as [moved D_low].
  set (Y := (x + d) / s) in *.
  assert (Y_size : Rabs Y <= two_to 49).
  { unfold Y, Rdiv. rewrite Rabs_mult, <- (Rmult_1_r (two_to 49)). apply Rmult_le_compat; try apply Rabs_pos; [easy|].
    rewrite Rabs_right by (left; apply Rinv_0_lt_compat; lra). rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
  pose proof (Rabs_pos Y) as Y0. assert (vY : 0 <= u32 * Rabs Y <= / 16777216 * Rabs Y) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
  assert (ratio_size : Rabs (n / D) <= 11 / 10 * Rabs Y).
  { replace (n / D) with ((n / D - Y) + Y) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
  exists (fl64 (n / D)). split.
  - apply quotient_double; [exact hn|exact hD|lra|]. apply (wide _ 50%Z); [lia|]. lra.
  - pose proof (double_error (n / D)) as rounded.
    assert (u64 * Rabs (n / D) <= / 1000 * u32 * (11 / 10 * Rabs Y)).
    { apply Rmult_le_compat; [lra|apply Rabs_pos| |easy]. change u64 with (/ 9007199254740992). change u32 with (/ 16777216). lra. }
    assert (half_quantum_64 <= half_quantum) by (apply bpow_le; lia). pose proof half_quantum_range as h0.
    assert (close : Rabs (fl64 (n / D) - Y) <= 6 / 10 * u32 * Rabs Y + half_quantum).
    { replace (fl64 (n / D) - Y) with ((fl64 (n / D) - n / D) + (n / D - Y)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
    split; [exact close|]. replace (fl64 (n / D)) with ((fl64 (n / D) - Y) + Y) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.
