(** * The strict kernels' log-sum-exp keeps its contract: B5 of the executable function of block_row.v.

    No premise about arithmetic is left: a row of finite or masked items, at most 2^22 of them, some of them finite, a
    temperature from 2^-126 to 2^119 and logits up to 2^125 of it, so that binary32 holds the result. The logits are
    x / theta, of the double theta itself: the scale by which the kernel multiplies is 1 / theta, rounded twice.

    Main results, with the height that sum=lanes:512 grants and at most ceil(n / 512) + 7 rescalings on a path, no more than
    visible items less one
    - [strict_logsumexp_computes]  sum, maximum, logarithm and output are computed ones of the model
    - [strict_logsumexp_b5]        the result errs by at most B5

    Source: kernels/block/log_softmax.hpp, logarithm.hpp; numerics/b5_logsumexp.v. *)

From Coq Require Import ZArith.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row tree_heights b1_sum b5_logsumexp b6_entropy.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_row.
From softcheck.strict_kernels Require Import strict_operations strict_exponential strict_weights strict_sums.
From softcheck.strict_kernels Require Import strict_carried strict_state strict_row strict_argument strict_softmax.
From softcheck.strict_kernels Require Import strict_special_rows.
From softcheck.strict_kernels Require Import double_operations double_atanh double_logarithm strict_theta.
Local Open Scope R_scope.

(** Four roundings of an argument: 1 / theta to double and to binary32, the difference, the product. *)
Definition logsumexp_model : arithmetic := strict_arithmetic 4 step_32.

Lemma logsumexp_model_sound : sound logsumexp_model.
Proof. now apply small_model_sound. Qed.

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

Lemma scaled_logits t unit row : map (Rmult (exp t)) (row_of unit row) = row_of (exp t * unit) row.
Proof.
  unfold row_of. induction row as [|x rest IH]; [easy|]. cbn [flat_map]. rewrite map_app, IH. f_equal.
  unfold visible. destruct (is_finite x); [|easy]. cbn [map]. f_equal. ring.
Qed.

(** q + i of a log-sum-exp: i rounds c + l, l is near ln s, and a + c near the maximum x. *)
Lemma logsumexp_assembled x j s g q inner a c l i :
  is_double q a -> is_double inner i -> / 2 <= g <= 8 -> Rabs x <= two_to 125 -> 1 <= s <= two_to 27 ->
  Rabs (a - x) + Rabs c <= (g - / 2) * (u64 * Rabs x) -> Rabs (l - ln s) <= / 500000000 * ln s ->
  Rabs (i - (c + l)) <= u64 * Rabs (c + l) + half_quantum_64 ->
  exists m_hat y z, computed_maximum logsumexp_model 0 x j (g * u64) m_hat /\ computed_log logsumexp_model s y /\
    rounded_sum logsumexp_model (m_hat + y) z /\ is_finite (narrowed (add_64 q inner)) = true /\
    rounded_output u32 half_quantum z (val (narrowed (add_64 q inner))).
Proof.
  intros ha hi g_range x_range s_range near l_close i_close. pose proof u64_range as u0. pose proof u32_range as v0.
  pose proof (Rabs_pos x) as xpos. pose proof (Rabs_pos (a - x)). pose proof (Rabs_pos c).
  assert (ln_s : 0 <= ln s <= 134217728).
  { split; [rewrite <- ln_1; apply ln_le; lra|]. change (two_to 27) with 134217728 in s_range.
    pose proof (ln_below_tangent s ltac:(lra)). lra. }
  assert (ux : 0 <= u64 * Rabs x <= / 9000000000000000 * Rabs x) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
  assert (uln : 0 <= u64 * ln s <= / 9000000000000000 * ln s) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
  assert (gx : (g - / 2) * (u64 * Rabs x) <= 8 * (u64 * Rabs x)) by (apply Rmult_le_compat_r; lra).
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
  - unfold computed_maximum. change (product_floor logsumexp_model) with (32 * half_quantum).
    assert (0 <= argument_floor logsumexp_model 0 j).
    { unfold argument_floor. change (argument_step logsumexp_model) with half_quantum. pose proof (pos_INR j).
      rewrite Rmult_0_r, Rplus_0_r. apply Rmult_le_pos; lra. }
    replace (a + c + e' - x) with ((a - x) + (c + e')) by ring. triangle. pose proof (Rabs_triang c e').
    replace (g * u64 * Rabs x) with ((g - / 2) * (u64 * Rabs x) + / 2 * (u64 * Rabs x)) by ring. lra.
  - unfold computed_log. change (log_error logsumexp_model) with (4 * u32). change (product_floor logsumexp_model) with (32 * half_quantum).
    rewrite (Rabs_right (ln s)) by lra. replace (l + e - ln s) with ((l - ln s) + e) by ring. triangle.
    assert (/ 100000000 * ln s <= u32 * ln s) by (apply Rmult_le_compat_r; [lra|change u32 with (/ 16777216); lra]). lra.
  - exists dz, 0. change (roundoff logsumexp_model) with u32. change (sum_floor logsumexp_model) with (32 * half_quantum).
    rewrite Rabs_R0. split; [eapply Rle_trans; [exact bdz|apply bpow_le; lia]|]. split; [lra|].
    replace (a + c + e' + (l + e)) with (a + i) by (unfold e'; ring). rewrite eqz. ring.
Qed.

Section LogSumExp.
  Context (theta : f64) (T : R) (row : list f32) (theta_value : is_double theta T)
    (theta_range : two_to (-126) <= T <= two_to 119) (items : Forall admissible row)
    (few_items : (Z.of_nat (length row) <= 2 ^ 22)%Z) (some : exists x, In x row /\ is_finite x = true)
    (in_range : forall x, In x row -> is_finite x = true -> Rabs (val x / T) <= two_to 125).
  Notation M := logsumexp_model.
  Notation logits := (row_of (/ T) row).
  Notation L := (ln (partition_function logits)).

  Theorem strict_logsumexp_computes :
    exists m h j s m_hat y z, sum_of_row M 0 m logits s h j /\ lost_sum M 0 m logits h j < 1 /\
      (h <= granted_height (length row) (length logits))%nat /\ (j <= most_rescalings (length row) (length logits))%nat /\
      computed_maximum M 0 m j (3 * u64) m_hat /\ computed_log M s y /\ rounded_sum M (m_hat + y) z /\
      is_finite (strict_logsumexp theta row) = true /\
      rounded_output u32 half_quantum z (val (strict_logsumexp theta row)).
  Proof using theta_value theta_range items few_items some in_range.
    destruct (scale_computed theta T theta_value theta_range) as [unit [t [scale_value [large [within same]]]]].
    destruct (inverse_range T theta_range) as [T_pos _]. pose proof u64_range as u0. pose proof u32_range as v0.
    pose proof (statistics_hold 2 step_32 ltac:(lia) step_32_range (scale_of theta) unit scale_value
      (unit_is_positive unit large) (strict_argument (scale_of theta) unit scale_value large) row items few_items) as held.
    change (visible_row unit row) with (row_of unit row) in held. set (G := rounds_of (length row)) in *.
    pose proof (rounds_few row few_items) as rounds_range. fold G in rounds_range. assert (row_some : row_of unit row <> []).
    { destruct some as [x [inx finite]]. pose proof (visible_in unit row x inx finite) as inl. intros nothing.
      now rewrite nothing in inl. }
    pose proof (visible_length unit row) as visible_few. set (all := statistics (scale_of theta) row) in *.
    destruct (held_sums 2 2 step_32 t ltac:(lia) ltac:(lia) step_32_range within unit all (row_of unit row) _ _ held row_some
                ltac:(lia) ltac:(lia)) as [m [v [e [y [d0 [hm [hv [he [_ [_ [v_range [e_small [_ [_ [inm sums]]]]]]]]]]]]]]].
    destruct (logarithm_of_held_sum all v e hv he v_range e_small) as [s [l [hl [s_range [l_close [s_close s_exact]]]]]].
    destruct (sums s s_close s_exact) as [j [hj at_height]]. set (h := granted_height (length row) (length (row_of unit row))).
    pose proof (at_height h (height_is_granted (length row) _ row_some)) as moments.
    assert (same_length : length (row_of unit row) = length logits)
      by (rewrite <- same, <- scaled_logits; symmetry; apply map_length).
    assert (h_low : (h <= G + 8)%nat) by (unfold h, granted_height; fold G; lia).
    pose proof (sum_of_moments _ _ _ _ _ _ _ _ moments) as sum. change (strict_arithmetic (2 + 2) step_32) with M in sum.
    rewrite scaled_logits, same in sum. assert (top : exp t * (m * unit) = m / T) by (unfold Rdiv; rewrite <- same; ring).
    rewrite top in sum. destruct (scaled_maximum theta T theta_value theta_range _ m hm) as [a [c [ha [hc [a_close c_small]]]]].
    set (q := quotient_64 (widened (maximum all)) theta) in *. set (x := m / T) in *. assert (x_range : Rabs x <= two_to 125).
    { apply in_flat_map in inm as [x0 [inx inv]]. unfold visible in inv. destruct (is_finite x0) eqn:finite; [|easy].
      destruct inv as [eq|[]]. assert (m = val x0) as same_m.
      { symmetry. apply Rmult_eq_reg_r with unit; [exact eq|]. pose proof (unit_is_positive unit large). lra. } unfold x.
      rewrite same_m. now apply in_range. }
    assert (ln_s : 0 <= ln s <= 16777216).
    { split; [rewrite <- ln_1; apply ln_le; lra|]. pose proof (ln_below_tangent s ltac:(lra)). lra. }
    assert (uln : 0 <= u64 * ln s <= / 9000000000000000 * ln s) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
    assert (l_size : Rabs l <= 1001 / 1000 * ln s).
    { replace l with ((l - ln s) + ln s) by ring. triangle. rewrite (Rabs_right (ln s)); lra. } pose proof (Rabs_pos x) as xpos.
    assert (ux : 0 <= u64 * Rabs x <= / 9000000000000000 * Rabs x)
      by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
    assert (room : 1000 * 16777216 <= two_to 125 /\ 4 * two_to 125 = two_to 127).
    { split; [apply Rle_trans with (two_to 40); [cbn; lra|apply bpow_le; lia]|]. change 127%Z with (2 + 125)%Z.
      rewrite bpow_plus. reflexivity. }
    assert (wide : forall w, Rabs w <= two_to 127 -> Rabs w <= two_to 1000)
      by (intros; eapply Rle_trans; [eassumption|apply bpow_le; lia]).
    assert (hi : is_double
      (add_64 (logarithm_of_sum all) (quotient_64 (fused_64 (neg_64 q) theta (widened (maximum all))) theta)) (fl64 (l + c))).
    { apply add_double; [easy|easy|]. apply wide. triangle. lra. }
    pose proof (double_sum_error l c (double_number _ _ hl) (double_number _ _ hc)) as i_close. set (i := fl64 (l + c)) in *.
    assert (result : strict_logsumexp theta row
      = narrowed (add_64 q
      (add_64 (logarithm_of_sum all) (quotient_64 (fused_64 (neg_64 q) theta (widened (maximum all))) theta)))).
    { unfold strict_logsumexp. fold all. cbv zeta. fold q. rewrite (proj1 ha). cbn [negb].
      assert (defined all = true) as ->; [|easy]. destruct hm as [finite _]. unfold defined. now destruct (maximum all). }
    destruct (logsumexp_assembled x j s 3 q _ a c l i ha hi ltac:(lra) x_range) as [m_hat [y' [z assembled]]].
    { change (two_to 27) with 134217728. lra. } { lra. } { lra. } { rewrite (Rplus_comm c l). pose proof half_quantum_64_range. lra. }
    exists x, h, j, s, m_hat, y', z. rewrite result. split; [exact sum|].
    split; [apply (lost_less_than_sum 4 (le_n 4) x logits h j (row_maximum _ _ _ _ _ _ _ sum))|].
    { pose proof (visible_length (/ T) row). lia. } { lia. } { lia. } split; [unfold h; now rewrite same_length|].
    split; [unfold most_rescalings; fold G; rewrite <- same_length; exact hj|exact assembled].
  Qed.

  Theorem strict_logsumexp_b5 :
    exists m h j, is_maximum m logits /\
      (h <= granted_height (length row) (length logits))%nat /\ (j <= most_rescalings (length row) (length logits))%nat /\
      is_finite (strict_logsumexp theta row) = true /\
      let error := logsumexp_rounding M 0 m logits h j (3 * u64) in
      Rabs (val (strict_logsumexp theta row) - L)
      <= error + u32 * (Rabs L + error) + (logsumexp_floor M * (1 + u32) + half_quantum).
  Proof using theta_value theta_range items few_items some in_range.
    destruct strict_logsumexp_computes as [m [h [j [s [m_hat [y [z [sum [lost_some [hh [hj [hm [hy [hz [finite rounded]]]]]]]]]]]]]]].
    exists m, h, j. split; [apply (row_maximum _ _ _ _ _ _ _ sum)|]. split; [easy|]. split; [easy|]. split; [easy|]. cbv zeta.
    now apply (b5_logsumexp M logsumexp_model_sound 0 m logits s h j sum lost_some (3 * u64) m_hat y z).
  Qed.
End LogSumExp.

(** 0, -1 and a masked item at theta = 1: the premises hold, and the word is the kernel's. *)
Example short_row_has_a_logsumexp :
  is_double (dyadic_64 1 0) 1 /\ two_to (-126) <= 1 <= two_to 119 /\ Forall admissible short_row /\
  (Z.of_nat (length short_row) <= 2 ^ 22)%Z /\ (exists x, In x short_row /\ is_finite x = true) /\
  (forall x, In x short_row -> is_finite x = true -> Rabs (val x / 1) <= two_to 125) /\
  word_of_f32 (strict_logsumexp (dyadic_64 1 0) short_row) = 0x3ea063d6%Z.
Proof.
  destruct short_row_is_admissible as [_ [_ [items [few visible_one]]]]. split; [apply integer_double; lia|]. split.
  { split; [apply (bpow_le radix2 (-126) 0); lia|apply (bpow_le radix2 0 119); lia]. } split; [exact items|].
  split; [exact few|]. split; [exact visible_one|]. split; [|vm_compute; reflexivity].
  assert (low : is_value (dyadic (-2) 0) (-2)) by (eapply value_at; [apply dyadic_value; lia|cbn; lra]).
  assert (high : is_value (dyadic 2 0) 2) by (eapply value_at; [apply dyadic_value; lia|cbn; lra]). intros x inx finite.
  assert (between : less (dyadic (-2) 0) x = true /\ less x (dyadic 2 0) = true).
  { destruct inx as [<-|[<-|[<-|[]]]]; [vm_compute; now split|vm_compute; now split|discriminate finite]. }
  destruct between as [above below]. apply (less_value _ _ _ _ low (conj finite eq_refl)) in above.
  apply (less_value _ _ _ _ (conj finite eq_refl) high) in below. unfold Rdiv. rewrite Rinv_1, Rmult_1_r.
  apply Rle_trans with (two_to 1); [|apply bpow_le; lia]. change (two_to 1) with 2. apply Rabs_le. lra.
Qed.
