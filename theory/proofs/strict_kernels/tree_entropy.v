(** * The tree kernels' entropy keeps its contract, sum=tree: B6 of the executable function of tree_row.v.

    A row of finite or masked items, at most 2^22 of them, some of them finite, and a scale from 2^-119 on, or a temperature from
    2^-126 to 2^119. No bound on the logits is asked. Nothing is rescaled.

    Main results
    - [tree_entropy_computes]    sums, logarithm, quotient and output are computed ones of the model
    - [tree_entropy_b6]          the result errs by at most B6 of the entropy of the logits times the scale, as the kernel has it
    - [tree_entropy_theta_b6]    and of that of x / theta, of the double theta itself: two more roundings of an argument
    - [tree_entropy_undefined]   it is NaN where the row has no softmax

    Source: kernels/block/tree_rows.hpp; numerics/b6_entropy.v. *)

From Coq Require Import ZArith NArith.
From Flocq Require Import Core BinarySingleNaN.
From softcheck Require Import softmax entropy_bounds.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row reduction moments b1_sum b5_logsumexp b6_entropy masked_row.
From softcheck.certified Require Import rounded_operations.
From softcheck.contract Require Import summation.
From softcheck.strict_kernels Require Import machine_numbers strict_operations strict_exponential strict_weights strict_argument
  double_operations double_logarithm scaled_rows tree_row tree_order tree_weights tree_quotient tree_logarithm tree_sums
  tree_softmax tree_logsumexp.
Import ListNotations.
Local Open Scope R_scope.

Section Entropy.
  Context (scale : f32) (unit : R) (row : list f32) (vector : nat) (scale_value : is_value scale unit) (large : two_to (-119) <= unit)
    (items : Forall admissible row) (few_items : (Z.of_nat (length row) <= 2 ^ 22)%Z)
    (some : exists x, In x row /\ is_finite x = true) (pairs : (1 <= vector <= 3)%nat).
  (** The logits are e^t times those by the scale: t counts as B roundings of an argument. *)
  Context (B : nat) (t : R) (few : (B <= 2)%nat) (within : Rabs t <= INR B * log_unit u32).
  Notation M := (strict_arithmetic (2 + B) step_32).
  Notation logits := (logits_of (exp t * unit) row).

  Theorem tree_entropy_computes :
    exists m h s y l q z, moments_of_row M 0 m logits s y h 0 /\ lost_sum M 0 m logits h 0 < 1 /\
      (N.of_nat h <= summation_height tree_of_pairs (N.of_nat (length row)))%N /\
      computed_log M s l /\ quotient_by_sum M 0 y s q /\ rounded_sum M (l + q) z /\
      is_finite (tree_entropy vector scale row) = true /\ rounded_output u32 half_quantum z (val (tree_entropy vector scale row)).
  Proof using scale_value large items few_items some pairs few within.
    assert (log_room : / 500000000 <= 4 * u32) by (change u32 with (/ 16777216); lra).
    assert (mean_room : / 10000000000 <= u32) by (change u32 with (/ 16777216); lra).
    pose proof half_quantum_positive as h0. destruct (tree_sums_compute scale unit row scale_value large items few_items some vector pairs)
      as [m [s [y [h [hm [hs [hy [s_range [sum [moments [_ hh]]]]]]]]]]].
    pose proof (row_maximum _ _ _ _ _ _ _ sum) as max.
    pose proof (tree_sum_is_large scale unit row vector m s scale_value large items few_items pairs hm max hs) as s_large.
    destruct (tree_logarithm_near _ s hs ltac:(lra)) as [l [hl l_close]].
    destruct (tree_mean_near _ _ y s hy hs ltac:(lra)) as [r [hr [r_close r_size]]].
    apply (scaled_moments 2 B step_32 t within) in moments. rewrite times_logits in moments.
    set (log := tree_logarithm _) in *. set (mean := tree_mean _ _) in *.
    assert (ln_s : 0 <= ln s <= 134217728).
    { split; [rewrite <- ln_1; apply ln_le; lra|]. change (two_to 27) with 134217728 in s_range. pose proof (ln_below_tangent s ltac:(lra)). lra. }
    assert (l_size : Rabs l <= two_to 65).
    { apply Rle_trans with 1000000000; [|apply Rle_trans with (two_to 40); [cbn; lra|apply bpow_le; lia]].
      replace l with ((l - ln s) + ln s) by ring. triangle. rewrite (Rabs_right (ln s)); lra. }
    assert (size : Rabs (l - r) <= two_to 66).
    { change 66%Z with (1 + 65)%Z. rewrite bpow_plus. change (two_to 1) with 2. unfold Rminus. triangle. rewrite Rabs_Ropp. lra. }
    assert (hd : is_double (sub_64 log mean) (fl64 (l - r))).
    { apply sub_double; [exact hl|exact hr|]. eapply Rle_trans; [exact size|apply bpow_le; lia]. }
    assert (hz : is_double (add_64 (sub_64 log mean) (widened (sub (tree_maximum row) (tree_maximum row)))) (fl64 (l - r))).
    { assert (none : is_value (sub (tree_maximum row) (tree_maximum row)) 0).
      { eapply value_at; [apply (sub_value _ _ _ _ hm hm)|]; rewrite Rminus_diag_eq by easy; [rewrite Rabs_R0; apply bpow_ge_0|apply fl_0]. }
      eapply double_at; [apply (add_double _ _ _ _ hd (widened_value _ _ none))|]; rewrite Rplus_0_r; [|apply fl_number, (double_number _ _ hd)].
      eapply Rle_trans; [apply rounded_within; [|exact size]; lia|apply bpow_le; lia]. }
    assert (z_size : Rabs (fl64 (l - r)) <= two_to 127).
    { eapply Rle_trans; [apply rounded_within; [|exact size]; lia|apply bpow_le; lia]. }
    destruct (output_is_rounded _ _ hz z_size) as [finite output].
    exists (exp t * (m * unit)), h, s, y, l, (- r), (fl64 (l - r)).
    pose proof (visible_length (exp t * unit) row). pose proof (few_additions row h few_items hh).
    split; [exact moments|]. split.
    { apply (lost_less_than_sum (2 + B) ltac:(lia)); [exact (moments_maximum _ _ _ _ _ _ _ _ moments)|lia|lia|lia]. }
    split; [exact hh|]. split; [|split; [|split; [|split; [exact finite|exact output]]]].
    - unfold computed_log. change (log_error M) with (4 * u32). change (product_floor M) with (32 * half_quantum).
      rewrite (Rabs_right (ln s)) by lra. assert (/ 500000000 * ln s <= 4 * u32 * ln s); [|lra].
      apply Rmult_le_compat_r; [apply ln_s|exact log_room].
    - apply by_division. apply (product_within (2 + B) step_32 ltac:(lia) step_32_range).
      replace (- r - y / s) with (- (r - - (y / s))) by ring. rewrite Rabs_Ropp.
      assert (/ 10000000000 * Rabs (y / s) <= u32 * Rabs (y / s)); [|lra].
      apply Rmult_le_compat_r; [apply Rabs_pos|exact mean_room].
    - destruct (nearest_sum binary64 positive_precision_64 (fun n => negb (Z.even n)) l (- r) (double_number _ _ hl)
                  (double_number _ _ (neg_double _ _ hr))) as [d [bd eq]].
      change (nearest binary64 _ (l + - r)) with (fl64 (l - r)) in eq. change (unit_roundoff binary64) with u64 in bd.
      exists d, 0. change (roundoff M) with u32. change (sum_floor M) with (32 * half_quantum).
      rewrite Rabs_R0. split; [eapply Rle_trans; [exact bd|apply bpow_le; lia]|]. split; [lra|]. rewrite eq. ring.
  Qed.

  Theorem tree_entropy_bounded :
    exists m h, is_maximum m logits /\ (N.of_nat h <= summation_height tree_of_pairs (N.of_nat (length row)))%N /\
      is_finite (tree_entropy vector scale row) = true /\
      let error := entropy_rounding M 0 m logits h 0 0 in
      Rabs (val (tree_entropy vector scale row) - entropy logits)
      <= error + u32 * (entropy logits + error) + (entropy_floor M * (1 + u32) + half_quantum).
  Proof using scale_value large items few_items some pairs few within.
    destruct tree_entropy_computes as [m [h [s [y [l [q [z [moments [lost [hh [hl [hq [hz [finite output]]]]]]]]]]]]]].
    pose proof u32_range as u0. exists m, h. split; [exact (moments_maximum _ _ _ _ _ _ _ _ moments)|].
    split; [exact hh|]. split; [exact finite|]. cbv zeta.
    apply (b6_entropy M (small_model_sound (2 + B) ltac:(lia)) 0 m logits s y h 0 0 (Rle_refl 0) ltac:(change (roundoff M) with u32; lra)
             moments lost ltac:(cbn [INR]; lra) q l z); easy.
  Qed.
End Entropy.

(** ** The two temperatures: the scale as the kernel has it, and theta itself *)

Theorem tree_entropy_b6 scale unit row vector :
  is_value scale unit -> two_to (-119) <= unit -> Forall admissible row -> (Z.of_nat (length row) <= 2 ^ 22)%Z ->
  (exists x, In x row /\ is_finite x = true) -> (1 <= vector <= 3)%nat ->
  let M := strict_arithmetic 2 step_32 in
  let logits := logits_of unit row in
  exists m h, is_maximum m logits /\ (N.of_nat h <= summation_height tree_of_pairs (N.of_nat (length row)))%N /\
    is_finite (tree_entropy vector scale row) = true /\
    let error := entropy_rounding M 0 m logits h 0 0 in
    Rabs (val (tree_entropy vector scale row) - entropy logits)
    <= error + u32 * (entropy logits + error) + (entropy_floor M * (1 + u32) + half_quantum).
Proof.
  intros scale_value large items few_items some pairs.
  pose proof (tree_entropy_bounded scale unit row vector scale_value large items few_items some pairs 0 0 ltac:(lia)) as bounded.
  rewrite exp_0, Rmult_1_l in bounded. apply bounded. rewrite Rabs_R0. cbn [INR]. lra.
Qed.

Theorem tree_entropy_theta_b6 theta T row vector :
  is_double theta T -> two_to (-126) <= T <= two_to 119 -> Forall admissible row -> (Z.of_nat (length row) <= 2 ^ 22)%Z ->
  (exists x, In x row /\ is_finite x = true) -> (1 <= vector <= 3)%nat ->
  let M := strict_arithmetic 4 step_32 in
  let logits := logits_of (/ T) row in
  exists m h, is_maximum m logits /\ (N.of_nat h <= summation_height tree_of_pairs (N.of_nat (length row)))%N /\
    is_finite (tree_entropy vector (scale_of theta) row) = true /\
    let error := entropy_rounding M 0 m logits h 0 0 in
    Rabs (val (tree_entropy vector (scale_of theta) row) - entropy logits)
    <= error + u32 * (entropy logits + error) + (entropy_floor M * (1 + u32) + half_quantum).
Proof.
  intros theta_value theta_range items few_items some pairs. cbv zeta.
  destruct (scale_computed theta T theta_value theta_range) as [unit [t [scale_value [large [within same]]]]].
  pose proof (tree_entropy_bounded (scale_of theta) unit row vector scale_value large items few_items some pairs 2 t ltac:(lia) within) as bounded.
  rewrite same in bounded. exact bounded.
Qed.

(** NaN - NaN and -inf - -inf are NaN. *)
Theorem tree_entropy_undefined vector scale row :
  less minus_infinity (tree_maximum row) = false -> tree_entropy vector scale row = B754_nan.
Proof.
  intros none. unfold tree_entropy. cbv zeta. replace (sub (tree_maximum row) (tree_maximum row)) with (B754_nan : f32).
  - cbn [widened]. now destruct (sub_64 _ _).
  - destruct (tree_maximum row) as [| [] | |[]]; try discriminate none; reflexivity.
Qed.

(** 0, -1 and a masked item: the premises hold, and the word is the kernel's. A masked row has no entropy. *)
Example tree_row_has_an_entropy :
  is_value one 1 /\ two_to (-119) <= 1 /\ is_double (dyadic_64 1 0) 1 /\ two_to (-126) <= 1 <= two_to 119 /\ Forall admissible tree_row /\
  (Z.of_nat (length tree_row) <= 2 ^ 22)%Z /\ (exists x, In x tree_row /\ is_finite x = true) /\ (1 <= 2 <= 3)%nat /\
  (0 <= 2)%nat /\ Rabs 0 <= INR 0 * log_unit u32 /\ is_value (dyadic 1 64) (1 * two_to 64) /\
  word_of_f32 (tree_entropy 2 one tree_row) = 0x3f150b43%Z /\
  word_of_f32 (tree_entropy 2 (scale_of (dyadic_64 1 0)) tree_row) = 0x3f150b43%Z /\
  less minus_infinity (tree_maximum [minus_infinity]) = false.
Proof.
  destruct tree_row_is_admissible as [one_is [large [theta [range [items [few [some [pairs _]]]]]]]].
  repeat (split; [assumption|]). split; [lia|]. split; [rewrite Rabs_R0; cbn [INR]; lra|].
  split; [apply dyadic_value; [left; reflexivity|lia]|]. vm_compute. auto.
Qed.
