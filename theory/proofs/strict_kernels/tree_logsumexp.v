(** * The tree kernels' log-sum-exp keeps its contract, sum=tree: B5 of the executable function of tree_row.v.

    A row of finite or masked items, at most 2^22 of them, some of them finite, a temperature from 2^-126 to 2^119 and logits up
    to 2^125 of it. The logits are x / theta, of the double theta itself.

    Main results
    - [tree_sum_is_large]      the sum is at least 1: additions of what is not negative take nothing away
    - [tree_logsumexp_b5]      the result errs by at most B5 of sum=tree, in f32

    Source: kernels/block/tree_rows.hpp; numerics/b5_logsumexp.v. *)

From Coq Require Import ZArith NArith.
From Flocq Require Import Core BinarySingleNaN.
From softcheck Require Import softmax.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row reduction moments b1_sum b5_logsumexp b6_entropy masked_row.
From softcheck.certified Require Import rounded_operations.
From softcheck.contract Require Import summation.
From softcheck.strict_kernels Require Import machine_numbers strict_operations strict_exponential strict_weights strict_argument
  double_operations double_atanh double_logarithm scaled_rows tree_row tree_order tree_weights tree_logarithm tree_sums
  tree_softmax.
Import ListNotations.
Local Open Scope R_scope.

(** ** The sum is at least the largest item's weight, which is 1 *)

Lemma additions_keep (weight : N -> f32) :
  (forall i, exists v, is_value (weight i) (v * two_to 64) /\ 0 <= v <= 2) ->
  forall bits, (Z.of_nat (length bits) <= 40)%Z -> forall i,
  exists s, is_value (added_by add bits weight i) (s * two_to 64) /\ 0 <= s <= two_to (1 + Z.of_nat (length bits)) /\
    forall j v, In j (indices bits i) -> is_value (weight j) (v * two_to 64) -> v <= s.
Proof.
  intros each. assert (p64 : 0 < two_to 64) by apply bpow_gt_0.
  induction bits as [|b rest IH]; intros short i.
  - destruct (each i) as [v [hv range]]. exists v. split; [exact hv|]. split; [change (two_to (1 + Z.of_nat (length []))) with 2; lra|].
    intros j v' [<-|[]] [_ same]. destruct hv as [_ hv]. right. apply Rmult_eq_reg_r with (two_to 64); [|lra]. now rewrite <- hv, <- same.
  - cbn [length] in short. rewrite Nat2Z.inj_succ in short.
    destruct (IH ltac:(lia) i) as [s1 [h1 [r1 above1]]]. destruct (IH ltac:(lia) (i + 2 ^ b)%N) as [s2 [h2 [r2 above2]]].
    set (e := (1 + Z.of_nat (length rest))%Z) in *. set (a1 := s1 * two_to 64) in *. set (a2 := s2 * two_to 64) in *.
    assert (next : (1 + Z.of_nat (length (b :: rest)) = e + 1)%Z) by (unfold e; cbn [length]; lia). rewrite next.
    assert (low : 0 <= a1 /\ 0 <= a2) by (split; apply Rmult_le_pos; lra).
    assert (bound : a1 + a2 <= two_to (e + 1 + 64)).
    { rewrite !bpow_plus. change (two_to 1) with 2. unfold a1, a2.
      replace (two_to e * 2 * two_to 64) with ((two_to e + two_to e) * two_to 64) by ring. rewrite <- Rmult_plus_distr_r.
      apply Rmult_le_compat_r; lra. }
    assert (hs : is_value (add (added_by add rest weight i) (added_by add rest weight (i + 2 ^ b))) (fl32 (a1 + a2))).
    { apply add_value; [exact h1|exact h2|]. rewrite Rabs_right by lra. eapply Rle_trans; [exact bound|apply bpow_le; lia]. }
    assert (back : fl32 (a1 + a2) * two_to (-64) * two_to 64 = fl32 (a1 + a2)) by (rewrite Rmult_assoc, <- bpow_plus; apply Rmult_1_r).
    assert (over : forall a, number binary32 a -> a <= a1 + a2 -> a <= fl32 (a1 + a2)).
    { intros a is_number le. rewrite <- (fl_number binary32 a is_number). now apply fl_monotone. }
    exists (fl32 (a1 + a2) * two_to (-64)). rewrite back. split; [exact hs|]. split.
    + split; [apply Rmult_le_pos; [apply fl_nonneg; lra|apply bpow_ge_0]|]. apply Rmult_le_reg_r with (two_to 64); [easy|].
      rewrite back, <- bpow_plus. rewrite <- (Rabs_right (fl32 (a1 + a2))) by (apply Rle_ge, fl_nonneg; lra).
      apply fl_within; [lia|]. rewrite Rabs_right; lra.
    + intros j v inj hv. apply Rmult_le_reg_r with (two_to 64); [easy|]. rewrite back.
      unfold indices in inj. cbn [added_by] in inj. apply in_app_or in inj as [inj|inj].
      * apply Rle_trans with a1; [apply Rmult_le_compat_r; [lra|now apply (above1 j)]|].
        apply over; [exact (value_number _ _ h1)|lra].
      * apply Rle_trans with a2; [apply Rmult_le_compat_r; [lra|now apply (above2 j)]|].
        apply over; [exact (value_number _ _ h2)|lra].
Qed.

Theorem tree_sum_is_large scale unit row vector m s :
  is_value scale unit -> two_to (-119) <= unit -> Forall admissible row -> (Z.of_nat (length row) <= 2 ^ 22)%Z -> (1 <= vector <= 3)%nat ->
  is_value (tree_maximum row) m -> is_maximum (m * unit) (logits_of unit row) ->
  is_value (tree_sum vector scale (tree_maximum row) row) (s * two_to 64) -> 1 <= s.
Proof.
  intros scale_value large items few_items pairs hm max hs. assert (p64 : 0 < two_to 64) by apply bpow_gt_0.
  assert (pos : 0 < unit) by (pose proof (bpow_gt_0 radix2 (-119)); lra).
  destruct (in_visible _ _ _ (proj1 max)) as [x [inx [finite same]]]. apply Rmult_eq_reg_r in same; [|lra].
  destruct (In_nth row x minus_infinity inx) as [n [within nth]].
  set (weight i := if N.ltb i (N.of_nat (length row)) then tree_weight (tree_argument scale (tree_maximum row) (item_of row i)) else zero).
  assert (each : forall i, exists v, is_value (weight i) (v * two_to 64) /\ 0 <= v <= 2).
  { intros i. unfold weight. destruct (N.ltb i (N.of_nat (length row))); [|exists 0; rewrite Rmult_0_l; split; [apply zero_value|lra]].
    destruct (weight_of_item scale unit row scale_value large items (item_of row i) m) as [v [_ [rv [_ [hv _]]]]]; [|easy|easy|now exists v].
    unfold item_of. destruct (nth_in_or_default (N.to_nat i) row minus_infinity); [now left|now right]. }
  destruct (enough_bits row vector few_items ltac:(lia) ltac:(lia)) as [short enough]. cbv zeta in short, enough.
  pose proof (canonical_order_covers vector (Nat.log2_up (length row) - (vector + 7))) as order. set (k := (vector + 7 + _)%nat) in *.
  assert (length_below : forall k, length (bits_below k) = k) by (induction k0; cbn; congruence).
  pose proof (Permutation_length order) as count. rewrite length_below in count. fold (order_of vector (length row)) in order, count.
  destruct (additions_keep weight each (order_of vector (length row)) ltac:(lia) 0%N) as [s' [hs' [_ above]]].
  assert (s' = s) as ->.
  { apply Rmult_eq_reg_r with (two_to 64); [|lra]. destruct hs as [_ <-]. destruct hs' as [_ <-]. reflexivity. }
  apply (above (N.of_nat n) 1).
  - apply (Permutation_in _ (Permutation_sym (order_covers _ k order))). apply in_map, in_seq. lia.
  - unfold weight. replace (N.ltb (N.of_nat n) (N.of_nat (length row))) with true by (symmetry; apply N.ltb_lt; lia).
    unfold item_of. rewrite Nat2N.id, nth. unfold tree_argument. rewrite weight_at_zero.
    + eapply value_at; [apply dyadic_value; [left; reflexivity|lia]|reflexivity].
    + assert (hd : is_value (sub x (tree_maximum row)) 0).
      { eapply value_at; [apply (sub_value x (tree_maximum row) (val x) m ltac:(easy) hm)|]; rewrite <- same, Rminus_diag_eq by easy;
          [rewrite Rabs_R0; apply bpow_ge_0|apply fl_0]. }
      eapply value_at; [apply (mul_value _ _ _ _ hd scale_value)|]; rewrite Rmult_0_l; [rewrite Rabs_R0; apply bpow_ge_0|apply fl_0].
Qed.

(** ** The result *)

Lemma output_is_rounded x z :
  is_double x z -> Rabs z <= two_to 127 -> is_finite (narrowed x) = true /\ rounded_output u32 half_quantum z (val (narrowed x)).
Proof.
  intros hx size. destruct (narrowed_value x z hx size) as [finite ->]. split; [exact finite|].
  destruct (nearest_any binary32 positive_precision_32 (fun n => negb (Z.even n)) z) as [d [e [bd [be [_ eq]]]]].
  change (nearest binary32 _ z) with (fl32 z) in eq. change (unit_roundoff binary32) with u32 in bd.
  exists d, e. split; [exact bd|]. split; [|exact eq]. eapply Rle_trans; [exact be|]. right.
  unfold smallest_subnormal, half_quantum. cbn -[bpow]. change (-150)%Z with (-149 + -1)%Z.
  rewrite bpow_plus. change (two_to (-1)) with (/ 2). ring.
Qed.

Notation M := (strict_arithmetic 4 step_32).

(** q + i of a log-sum-exp: i rounds c + l, l is near ln s, and a + c near the maximum x. *)
Lemma logsumexp_assembled x s q inner a c l i :
  is_double q a -> is_double inner i -> Rabs x <= two_to 125 -> 1 <= s <= two_to 27 ->
  Rabs (a - x) + Rabs c <= 15 / 2 * (u64 * Rabs x) -> Rabs (l - ln s) <= / 500000000 * ln s ->
  Rabs (i - (c + l)) <= u64 * Rabs (c + l) + half_quantum_64 ->
  exists m_hat y z, computed_maximum M 0 x 0 (8 * u64) m_hat /\ computed_log M s y /\
    rounded_sum M (m_hat + y) z /\ is_finite (narrowed (add_64 q inner)) = true /\
    rounded_output u32 half_quantum z (val (narrowed (add_64 q inner))).
Proof.
  intros ha hi x_range s_range near l_close i_close. pose proof u64_range as u0. pose proof u32_range as v0.
  pose proof (Rabs_pos x) as xpos. pose proof (Rabs_pos (a - x)). pose proof (Rabs_pos c).
  assert (ln_s : 0 <= ln s <= 134217728).
  { split; [rewrite <- ln_1; apply ln_le; lra|]. change (two_to 27) with 134217728 in s_range.
    pose proof (ln_below_tangent s ltac:(lra)). lra. }
  assert (ux : 0 <= u64 * Rabs x <= / 9000000000000000 * Rabs x) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
  assert (uln : 0 <= u64 * ln s <= / 9000000000000000 * ln s) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
  assert (l_size : Rabs l <= 2 * ln s) by (replace l with ((l - ln s) + ln s) by ring; triangle; rewrite (Rabs_right (ln s)); lra).
  assert (i_split : Rabs (i - (c + l)) <= (u64 * Rabs l + half_quantum_64) + u64 * Rabs c).
  { eapply Rle_trans; [exact i_close|]. pose proof (Rabs_triang c l).
    assert (u64 * Rabs (c + l) <= u64 * (Rabs c + Rabs l)) by (apply Rmult_le_compat_l; lra). lra. }
  pose proof u64_lost as h0. assert (lpos : 0 <= u64 * Rabs l) by (apply Rmult_le_pos; [lra|apply Rabs_pos]).
  assert (cpos : 0 <= u64 * Rabs c) by (apply Rmult_le_pos; [lra|apply Rabs_pos]).
  destruct (split_error (i - (c + l)) (u64 * Rabs l + half_quantum_64) (u64 * Rabs c) ltac:(lra) cpos i_split) as [e [e_small rest_small]].
  set (e' := i - (c + l) - e) in *. assert (u64 * Rabs l <= u64 * (2 * ln s)) by (apply Rmult_le_compat_l; lra).
  assert (u64 * Rabs c <= / 9000000000000000 * (8 * (u64 * Rabs x))) by (apply Rmult_le_compat; lra).
  assert (i_size : Rabs i <= 4 * ln s + / 1000 * Rabs x + 1).
  { replace i with ((i - (c + l)) + (c + l)) by ring. triangle. pose proof (Rabs_triang c l). lra. }
  assert (a_size : Rabs a <= 1001 / 1000 * Rabs x) by (replace a with ((a - x) + x) by ring; triangle; lra).
  assert (room : 1000 * 134217728 <= two_to 125 /\ 4 * two_to 125 = two_to 127).
  { split; [apply Rle_trans with (two_to 40); [cbn; lra|apply bpow_le; lia]|]. change 127%Z with (2 + 125)%Z.
    rewrite bpow_plus. reflexivity. }
  pose proof (Rabs_triang a i) as ai. assert (hz : is_double (add_64 q inner) (fl64 (a + i))).
  { apply add_double; [exact ha|exact hi|]. apply Rle_trans with (two_to 127); [lra|apply bpow_le; lia]. }
  pose proof (double_sum_error a i (double_number _ _ ha) (double_number _ _ hi)) as z_close.
  destruct (nearest_sum binary64 positive_precision_64 (fun n => negb (Z.even n)) a i (double_number _ _ ha)
    (double_number _ _ hi)) as [dz [bdz eqz]].
  change (nearest binary64 _ (a + i)) with (fl64 (a + i)) in eqz. change (unit_roundoff binary64) with u64 in bdz.
  set (z := fl64 (a + i)) in *. assert (z_range : Rabs z <= two_to 127).
  { replace z with ((z - (a + i)) + (a + i)) by ring. triangle.
    assert (u64 * Rabs (a + i) <= 1 * Rabs (a + i)) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]). lra. }
  pose proof half_quantum_positive as q0. assert (h_below : half_quantum_64 <= half_quantum) by (apply bpow_le; lia).
  exists (a + c + e'), (l + e), z. split; [|split; [|split; [|exact (output_is_rounded _ z hz z_range)]]].
  - unfold computed_maximum. change (product_floor M) with (32 * half_quantum).
    assert (0 <= argument_floor M 0 0).
    { unfold argument_floor. change (argument_step M) with half_quantum. pose proof (pos_INR 0).
      rewrite Rmult_0_r, Rplus_0_r. apply Rmult_le_pos; lra. }
    replace (a + c + e' - x) with ((a - x) + (c + e')) by ring. triangle. pose proof (Rabs_triang c e'). lra.
  - unfold computed_log. change (log_error M) with (4 * u32). change (product_floor M) with (32 * half_quantum).
    rewrite (Rabs_right (ln s)) by lra. replace (l + e - ln s) with ((l - ln s) + e) by ring. triangle.
    assert (/ 100000000 * ln s <= u32 * ln s) by (apply Rmult_le_compat_r; [lra|change u32 with (/ 16777216); lra]). lra.
  - exists dz, 0. change (roundoff M) with u32. change (sum_floor M) with (32 * half_quantum).
    rewrite Rabs_R0. split; [eapply Rle_trans; [exact bdz|apply bpow_le; lia]|]. split; [lra|].
    replace (a + c + e' + (l + e)) with (a + i) by (unfold e'; ring). rewrite eqz. ring.
Qed.

Section Maximum.
  Context (theta : f64) (T : R) (theta_value : is_double theta T) (theta_range : two_to (-126) <= T <= two_to 119).

  (** m / theta as it is added: the product with the inverse, and what its remainder gives. *)
  Lemma maximum_by_inverse x m :
    is_value x m -> Rabs (m / T) <= two_to 125 ->
    let inverse := quotient_64 one_64 theta in
    let q := mul_64 (widened x) inverse in
    exists a r d, is_double q a /\ is_double inverse d /\ is_double (fused_64 (neg_64 q) theta (widened x)) r /\
      Rabs (a - m / T) <= 3 * u64 * Rabs (m / T) /\ Rabs (r * d) <= 4 * u64 * Rabs (m / T).
  Proof using theta_value theta_range.
    intros hx y_small inverse q. destruct (inverse_range T theta_range) as [T_pos [low high]]. pose proof u64_range as u0.
    pose proof (widened_value x m hx) as hm. set (y := m / T) in *. set (i := / T) in *.
    assert (Ti : T * i = 1) by (unfold i; field; lra). assert (y_is : y = m * i) by reflexivity.
    pose proof (bpow_gt_0 radix2 (-119)) as low_pos.
    assert (m_size : Rabs m = Rabs y * T) by (rewrite y_is, Rabs_mult, (Rabs_right i), Rmult_assoc, (Rmult_comm i), Ti by lra; ring).
    assert (wide : forall v, Rabs v <= two_to 400 -> Rabs v <= two_to 1000)
      by (intros; eapply Rle_trans; [eassumption|apply bpow_le; lia]).
    assert (hd : is_double inverse (fl64 i)).
    { eapply double_at; [apply (quotient_double _ _ _ _ one_double theta_value); [lra|apply wide]|]; unfold Rdiv; fold i; rewrite Rmult_1_l; [|easy].
      rewrite Rabs_right by lra. eapply Rle_trans; [exact high|apply bpow_le; lia]. }
    pose proof (near_double i) as d_close. rewrite (Rabs_right i) in d_close by lra.
    specialize (d_close ltac:(right; eapply Rle_trans; [|exact low]; apply bpow_le; lia)). set (d := fl64 i) in *.
    assert (ui : 0 <= u64 * i <= / 9000000000000000 * i) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
    assert (d_range : 0 <= d <= 1001 / 1000 * i) by (apply Rabs_le_inv in d_close; lra).
    assert (md_near : Rabs (m * d - y) <= 1001 / 1000 * u64 * Rabs y).
    { replace (m * d - y) with (m * (d - i)) by (rewrite y_is; ring). rewrite Rabs_mult.
      replace (1001 / 1000 * u64 * Rabs y) with (Rabs m * (1001 / 1000 * u64 * i)).
      - apply Rmult_le_compat_l; [apply Rabs_pos|easy].
      - rewrite y_is, Rabs_mult, (Rabs_right i) by lra. ring. }
    pose proof (Rabs_pos y) as y0. assert (uy : 0 <= u64 * Rabs y <= / 9000000000000000 * Rabs y) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
    assert (md_size : Rabs (m * d) <= 2 * Rabs y) by (replace (m * d) with ((m * d - y) + y) by ring; triangle; lra).
    assert (y_wide : 2 * Rabs y <= two_to 400).
    { apply Rle_trans with (2 * two_to 125); [lra|]. change 2 with (two_to 1) at 1. rewrite <- bpow_plus. apply bpow_le. lia. }
    assert (hq : is_double q (fl64 (m * d))) by (apply mul_double; [exact hm|exact hd|apply wide; lra]).
    assert (y_large : y = 0 \/ two_to (-268) <= Rabs y).
    { destruct (number_grid m (value_number _ _ hx)) as [n grid]. destruct (Z.eq_dec n 0) as [->|nonzero].
      - left. rewrite y_is, grid. ring.
      - right. rewrite y_is, Rabs_mult, (Rabs_right i) by lra. change (-268)%Z with (-149 + -119)%Z. rewrite bpow_plus.
        apply Rmult_le_compat; try apply bpow_ge_0; [|easy].
        rewrite grid, Rabs_mult, (Rabs_right (two_to (-149))) by (apply Rle_ge, bpow_ge_0).
        rewrite <- (Rmult_1_l (two_to (-149))) at 1. apply Rmult_le_compat_r; [apply bpow_ge_0|]. rewrite <- abs_IZR.
        apply (IZR_le 1). lia. }
    destruct y_large as [zero|large].
    - assert (m = 0) as m0 by (replace m with (y * T) by (rewrite y_is, Rmult_assoc, (Rmult_comm i), Ti; ring); rewrite zero; ring).
      rewrite m0, Rmult_0_l, fl_0 in *. exists 0, 0, d. split; [exact hq|]. split; [exact hd|]. rewrite zero, Rabs_R0.
      split; [|split; [rewrite Rminus_0_r, Rabs_R0; lra|rewrite Rmult_0_l, Rabs_R0; lra]].
      eapply double_at; [apply (fused_double _ _ _ _ _ _ (neg_double _ _ hq) theta_value hm); apply wide|];
        rewrite Ropp_0, Rmult_0_l, Rplus_0_l; [rewrite Rabs_R0; apply bpow_ge_0|apply fl_0].
    - pose proof (double_error (m * d)) as a_err. set (a := fl64 (m * d)) in *.
      assert (h_small : 0 < h64 /\ h64 <= / 1000000 * (u64 * Rabs y) /\ h64 * i <= / 1000000 * (u64 * Rabs y)).
      { split; [apply bpow_gt_0|]. assert (room : two_to (-900) <= / 1000000 * (u64 * Rabs y)).
        { apply Rle_trans with (two_to (-20) * (u64 * two_to (-268))); [rewrite <- !bpow_plus; apply bpow_le; lia|].
          apply Rmult_le_compat; [apply bpow_ge_0|apply Rmult_le_pos; apply bpow_ge_0|cbn; lra|apply Rmult_le_compat_l; lra]. }
        split; eapply Rle_trans; try exact room; [apply bpow_le; lia|].
        apply Rle_trans with (two_to (-1075) * two_to 126); [apply Rmult_le_compat_l; [apply bpow_ge_0|easy]|].
        rewrite <- bpow_plus. apply bpow_le. lia. }
      destruct h_small as [h0 [h1 h2]]. assert (u64 * Rabs (m * d) <= u64 * (2 * Rabs y)) by (apply Rmult_le_compat_l; lra).
      assert (u64 * Rabs (m * d) <= u64 * (Rabs y + 1001 / 1000 * u64 * Rabs y)).
      { apply Rmult_le_compat_l; [lra|]. replace (m * d) with ((m * d - y) + y) by ring. triangle. lra. }
      assert (u64 * (1001 / 1000 * u64 * Rabs y) <= / 1000000 * (u64 * Rabs y)).
      { replace (u64 * (1001 / 1000 * u64 * Rabs y)) with (1001 / 1000 * u64 * (u64 * Rabs y)) by ring. apply Rmult_le_compat_r; lra. }
      assert (a_near : Rabs (a - y) <= 201 / 100 * (u64 * Rabs y)) by (replace (a - y) with ((a - m * d) + (m * d - y)) by ring; triangle; lra).
      assert (rest : Rabs (- a * T + m) <= 201 / 100 * (u64 * Rabs m)).
      { replace (- a * T + m) with (- (a - y) * T) by (rewrite y_is; replace (m * i) with (m * i) by ring; rewrite <- (Rmult_1_r m) at 2; rewrite <- Ti; ring).
        rewrite Rabs_mult, Rabs_Ropp, (Rabs_right T), m_size by lra.
        replace (201 / 100 * (u64 * (Rabs y * T))) with (201 / 100 * (u64 * Rabs y) * T) by ring. apply Rmult_le_compat_r; lra. }
      assert (um : 0 <= u64 * Rabs m <= / 9000000000000000 * Rabs m)
        by (split; [apply Rmult_le_pos; [lra|apply Rabs_pos]|apply Rmult_le_compat_r; [apply Rabs_pos|lra]]).
      assert (hr : is_double (fused_64 (neg_64 q) theta (widened x)) (fl64 (- a * T + m))).
      { apply fused_double; [now apply neg_double|easy|easy|]. apply wide. eapply Rle_trans; [exact rest|].
        apply Rle_trans with (Rabs m); [lra|]. destruct hx as [_ <-].
        apply Rle_trans with (two_to 128); [left; apply (abs_B2R_lt_emax 24 128)|apply bpow_le; lia]. }
      pose proof (double_error (- a * T + m)) as r_err. set (r := fl64 (- a * T + m)) in *. exists a, r, d.
      split; [exact hq|]. split; [exact hd|]. split; [exact hr|]. split; [lra|].
      assert (u64 * Rabs (- a * T + m) <= / 9000000000000000 * (201 / 100 * (u64 * Rabs m))) by (apply Rmult_le_compat; try lra; apply Rabs_pos).
      assert (r_size : Rabs r <= 202 / 100 * (u64 * Rabs m) + h64) by (replace r with ((r - (- a * T + m)) + (- a * T + m)) by ring; triangle; lra).
      rewrite Rabs_mult, (Rabs_right d) by lra.
      apply Rle_trans with ((202 / 100 * (u64 * Rabs m) + h64) * (1001 / 1000 * i)); [apply Rmult_le_compat; try lra; apply Rabs_pos|].
      assert (mi : Rabs m * i = Rabs y) by (rewrite m_size, Rmult_assoc, Ti; ring).
      replace ((202 / 100 * (u64 * Rabs m) + h64) * (1001 / 1000 * i)) with
        (1001 / 1000 * (202 / 100 * (u64 * (Rabs m * i)) + h64 * i)) by ring. rewrite mi. lra.
  Qed.
End Maximum.

Section LogSumExp.
  Context (theta : f64) (T : R) (row : list f32) (vector : nat) (theta_value : is_double theta T)
    (theta_range : two_to (-126) <= T <= two_to 119) (items : Forall admissible row)
    (few_items : (Z.of_nat (length row) <= 2 ^ 22)%Z) (some : exists x, In x row /\ is_finite x = true)
    (in_range : forall x, In x row -> is_finite x = true -> Rabs (val x / T) <= two_to 125) (pairs : (1 <= vector <= 3)%nat).
  Notation logits := (logits_of (/ T) row).
  Notation L := (ln (partition_function logits)).

  Theorem tree_logsumexp_computes :
    exists m h s m_hat y z, sum_of_row M 0 m logits s h 0 /\ lost_sum M 0 m logits h 0 < 1 /\
      (N.of_nat h <= summation_height tree_of_pairs (N.of_nat (length row)))%N /\
      computed_maximum M 0 m 0 (8 * u64) m_hat /\ computed_log M s y /\ rounded_sum M (m_hat + y) z /\
      is_finite (tree_logsumexp vector theta row) = true /\
      rounded_output u32 half_quantum z (val (tree_logsumexp vector theta row)).
  Proof using theta_value theta_range items few_items some in_range pairs.
    destruct (scale_computed theta T theta_value theta_range) as [unit [t [scale_value [large [within same]]]]].
    destruct (inverse_range T theta_range) as [T_pos _]. pose proof u64_range as u0. pose proof u32_range as v0.
    destruct (tree_sums_compute (scale_of theta) unit row scale_value large items few_items some vector pairs)
      as [m [s [_ [h [hm [hs [_ [s_range [sum [_ [_ hh]]]]]]]]]]].
    pose proof (row_maximum _ _ _ _ _ _ _ sum) as max.
    pose proof (tree_sum_is_large _ _ row vector m s scale_value large items few_items pairs hm max hs) as s_large.
    destruct (tree_logarithm_near _ s hs ltac:(lra)) as [l [hl l_close]].
    assert (unit_pos : 0 < unit) by (pose proof (bpow_gt_0 radix2 (-119)); lra).
    destruct (in_visible _ _ _ (proj1 max)) as [x0 [inx [finite same_m]]]. apply Rmult_eq_reg_r in same_m; [|lra].
    set (x := m / T). assert (x_range : Rabs x <= two_to 125) by (unfold x; rewrite same_m; now apply in_range).
    destruct (maximum_by_inverse theta T theta_value theta_range _ m hm x_range) as [a [r [d [ha [hd [hr [a_close c_small]]]]]]].
    cbv zeta in ha, hr. fold x in a_close, c_small. set (q := mul_64 (widened (tree_maximum row)) (quotient_64 one_64 theta)) in *.
    apply (scaled_sum 2 2 step_32 t within) in sum. rewrite times_logits, same in sum. change (strict_arithmetic (2 + 2) step_32) with M in sum.
    assert (top : exp t * (m * unit) = x) by (unfold x, Rdiv; rewrite <- same; ring). rewrite top in sum.
    assert (ln_s : 0 <= ln s <= 134217728).
    { split; [rewrite <- ln_1; apply ln_le; lra|]. change (two_to 27) with 134217728 in s_range.
      pose proof (ln_below_tangent s ltac:(lra)). lra. }
    assert (l_size : Rabs l <= 2 * ln s) by (replace l with ((l - ln s) + ln s) by ring; triangle; rewrite (Rabs_right (ln s)); lra).
    pose proof (Rabs_pos x) as xpos. set (c := r * d) in *.
    assert (ux : 0 <= u64 * Rabs x <= / 9000000000000000 * Rabs x) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
    assert (uln : 0 <= u64 * ln s <= / 9000000000000000 * ln s) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
    assert (room : 1000 * 134217728 <= two_to 125 /\ 4 * two_to 125 = two_to 127).
    { split; [apply Rle_trans with (two_to 40); [cbn; lra|apply bpow_le; lia]|]. change 127%Z with (2 + 125)%Z.
      rewrite bpow_plus. reflexivity. }
    assert (wide : forall w, Rabs w <= two_to 127 -> Rabs w <= two_to 1000)
      by (intros; eapply Rle_trans; [eassumption|apply bpow_le; lia]).
    set (log := tree_logarithm _) in *.
    assert (hi : is_double (fused_64 (fused_64 (neg_64 q) theta (widened (tree_maximum row))) (quotient_64 one_64 theta) log) (fl64 (c + l))).
    { apply fused_double; [exact hr|exact hd|exact hl|]. fold c. apply wide. triangle. lra. }
    set (inner := fused_64 _ _ log) in *.
    pose proof (double_error (c + l)) as i_close. set (i := fl64 (c + l)) in *.
    assert (result : tree_logsumexp vector theta row = narrowed (add_64 q inner)).
    { unfold tree_logsumexp. cbv zeta. fold q. now rewrite (proj1 ha). }
    destruct (logsumexp_assembled x s q inner a c l i ha hi x_range ltac:(lra) ltac:(lra) l_close i_close) as [m_hat [y [z assembled]]].
    exists x, h, s, m_hat, y, z. rewrite result. split; [exact sum|].
    pose proof (visible_length (/ T) row). pose proof (few_additions row h few_items hh).
    split; [apply (lost_less_than_sum 4 (le_n 4) x logits h 0 (row_maximum _ _ _ _ _ _ _ sum)); lia|]. split; [exact hh|exact assembled].
  Qed.

  Theorem tree_logsumexp_b5 :
    exists m h, is_maximum m logits /\ (N.of_nat h <= summation_height tree_of_pairs (N.of_nat (length row)))%N /\
      is_finite (tree_logsumexp vector theta row) = true /\
      let error := logsumexp_rounding M 0 m logits h 0 (8 * u64) in
      Rabs (val (tree_logsumexp vector theta row) - L)
      <= error + u32 * (Rabs L + error) + (logsumexp_floor M * (1 + u32) + half_quantum).
  Proof using theta_value theta_range items few_items some in_range pairs.
    destruct tree_logsumexp_computes as [m [h [s [m_hat [y [z [sum [lost_some [hh [hm [hy [hz [finite rounded]]]]]]]]]]]]].
    exists m, h. split; [apply (row_maximum _ _ _ _ _ _ _ sum)|]. split; [easy|]. split; [easy|]. cbv zeta.
    now apply (b5_logsumexp M (small_model_sound 4 (le_n 4)) 0 m logits s h 0 sum lost_some (8 * u64) m_hat y z).
  Qed.
End LogSumExp.

(** 0, -1 and a masked item at theta = 1: the premises hold, and the word is the kernel's. *)
Example tree_row_has_a_logsumexp :
  is_double (dyadic_64 1 0) 1 /\ two_to (-126) <= 1 <= two_to 119 /\ Forall admissible tree_row /\
  (Z.of_nat (length tree_row) <= 2 ^ 22)%Z /\ (exists x, In x tree_row /\ is_finite x = true) /\
  (forall x, In x tree_row -> is_finite x = true -> Rabs (val x / 1) <= two_to 125) /\ (1 <= 2 <= 3)%nat /\
  word_of_f32 (tree_logsumexp 2 (dyadic_64 1 0) tree_row) = 0x3ea063d5%Z.
Proof.
  destruct tree_row_is_admissible as [_ [_ [one_is [range [items [few [some _]]]]]]]. repeat (split; [assumption|]).
  split; [|split; [lia|vm_compute; reflexivity]].
  intros x inx finite. apply Rle_trans with (two_to 1); [|apply bpow_le; lia]. change (two_to 1) with 2. unfold Rdiv. rewrite Rinv_1, Rmult_1_r.
  destruct inx as [<-|[<-|[<-|[]]]]; [| |discriminate finite]; cbn; unfold F2R; cbn; apply Rabs_le; lra.
Qed.
