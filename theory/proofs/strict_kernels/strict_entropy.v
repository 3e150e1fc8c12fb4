(** * The strict kernels' entropy keeps its contract: B6 of the executable function of block_row.v.

    No premise about arithmetic is left: a row of finite or masked items, at most 2^22 of them, some of them finite, and a
    scale from 2^-119 on, or a temperature from 2^-126 to 2^119. No bound on the logits is asked: the entropy is at most ln n.

    Main results, at the height that sum=lanes:512 grants and ceil(n / 512) + 7 rescalings on a path, or visible items less one
    - [entropy_computed]          sums, logarithm, quotient and output are computed ones of the model
    - [entropy_bounded]           the result errs by at most B6 of the entropy of e^t times the logits, where t counts as
                                  roundings of arguments
    - [strict_entropy_b6]         the result errs by at most B6 of the entropy of the logits times the scale, as the kernel has it
    - [strict_entropy_theta_b6]   and of that of x / theta, of the double theta itself: two more roundings of an argument

    Source: kernels/block/entropy.hpp, row_statistics.hpp, logarithm.hpp; numerics/b6_entropy.v. *)

From Coq Require Import ZArith.
From Flocq Require Import Core BinarySingleNaN.
From softcheck Require Import softmax entropy_bounds.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row tree_heights b1_sum b5_logsumexp b6_entropy b6_growing.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_row.
From softcheck.strict_kernels Require Import strict_operations strict_exponential strict_weights strict_sums.
From softcheck.strict_kernels Require Import strict_state strict_row strict_argument strict_softmax.
From softcheck.strict_kernels Require Import strict_special_rows strict_logsumexp.
From softcheck.strict_kernels Require Import double_operations double_logarithm strict_theta.
Local Open Scope R_scope.

(** ** The last operations, in double, and the output's rounding *)

Section Assembly.
  Context (B : nat) (few : (B <= 2)%nat).
  Notation M := (strict_arithmetic (2 + B) step_32).

  Lemma logarithm_is_computed l s : 1 <= s -> Rabs (l - ln s) <= 6 * u64 * ln s -> computed_log M s l.
  Proof.
    intros s_low close. assert (0 <= ln s) by (rewrite <- ln_1; apply ln_le; lra). unfold computed_log.
    change (log_error M) with (4 * u32). change (product_floor M) with (32 * half_quantum). rewrite (Rabs_right (ln s)) by lra.
    pose proof half_quantum_positive. assert (6 * u64 * ln s <= 4 * u32 * ln s); [|lra].
    apply Rmult_le_compat_r; [easy|]. change u64 with (/ 9007199254740992). change u32 with (/ 16777216). lra.
  Qed.

  Lemma quotient_is_computed y s q :
    Rabs (q - y / s) <= 6 / 10 * u32 * Rabs (y / s) + half_quantum -> quotient_by_sum M 0 y s q.
  Proof.
    intros close. apply by_division. apply (product_within (2 + B) step_32 ltac:(lia) step_32_range).
    pose proof half_quantum_positive. assert (0 <= u32 * Rabs (y / s)) by (apply Rmult_le_pos; [apply bpow_ge_0|apply Rabs_pos]). lra.
  Qed.

  Lemma sum_is_computed x q lv qv :
    is_double x lv -> is_double q qv -> Rabs lv <= two_to 50 -> Rabs qv <= two_to 50 ->
    exists z, is_double (add_64 x q) z /\ Rabs z <= two_to 127 /\ rounded_sum M (lv + qv) z.
  Proof.
    intros hx hq x_size q_size.
    assert (size : Rabs (lv + qv) <= two_to 51).
    { change 51%Z with (1 + 50)%Z. rewrite bpow_plus. change (two_to 1) with 2. pose proof (Rabs_triang lv qv). lra. }
    exists (fl64 (lv + qv)). split; [|split].
    - apply add_double; [easy|easy|]. eapply Rle_trans; [exact size|apply bpow_le; lia].
    - apply Rle_trans with (two_to 51); [apply rounded_within; [lia|exact size]|apply bpow_le; lia].
    - destruct (nearest_sum binary64 positive_precision_64 (fun n => negb (Z.even n)) lv qv (double_number _ _ hx) (double_number _ _ hq))
        as [d [bd eq]]. change (nearest binary64 _ (lv + qv)) with (fl64 (lv + qv)) in eq. change (unit_roundoff binary64) with u64 in bd.
      exists d, 0. change (roundoff M) with u32. change (sum_floor M) with (32 * half_quantum). pose proof half_quantum_positive.
      rewrite Rabs_R0. split; [eapply Rle_trans; [exact bd|apply bpow_le; lia]|]. split; [lra|]. rewrite eq. ring.
  Qed.
End Assembly.

Section Entropy.
  Context (scale : f32) (unit : R) (row : list f32) (scale_value : is_value scale unit) (large : two_to (-119) <= unit)
    (items : Forall admissible row) (few_items : (Z.of_nat (length row) <= 2 ^ 22)%Z)
    (some : exists x, In x row /\ is_finite x = true).
  (** The logits are e^t times those by the scale: t counts as B roundings of an argument. *)
  Context (B : nat) (t : R) (few : (B <= 2)%nat) (within : Rabs t <= INR B * log_unit u32).
  Notation M := (strict_arithmetic (2 + B) step_32).
  Notation logits := (row_of (exp t * unit) row).
  Notation additions := (granted_height (length row) (length logits)).
  Notation rescalings := (most_rescalings (length row) (length logits)).

  Theorem entropy_computed :
    exists m j s y l q z, moments_of_row M 0 m logits s y additions j /\ (j <= rescalings)%nat /\
      computed_log M s l /\ quotient_by_sum M 0 y s q /\ rounded_sum M (l + q) z /\
      is_finite (strict_entropy scale row) = true /\ rounded_output u32 half_quantum z (val (strict_entropy scale row)).
  Proof using scale_value large items few_items some few within.
    pose proof (statistics_hold 2 step_32 ltac:(lia) step_32_range scale unit scale_value (unit_is_positive unit large)
                  (strict_argument scale unit scale_value large) row items few_items) as held.
    change (visible_row unit row) with (row_of unit row) in held. pose proof (rounds_few row few_items) as rounds_range.
    assert (row_some : row_of unit row <> []).
    { destruct some as [a [ina finite]]. pose proof (visible_in unit row a ina finite) as inl. intros nothing. now rewrite nothing in inl. }
    pose proof (visible_length unit row) as visible_few. set (all := statistics scale row) in *.
    destruct (held_sums 2 B step_32 t ltac:(lia) ltac:(lia) step_32_range within unit all (row_of unit row) _ _ held row_some
                ltac:(lia) ltac:(lia)) as [m [v [e [x [d [hm [hv [he [hx [hd [v_range [e_small [x_range [d_small [_ sums]]]]]]]]]]]]]]].
    destruct (logarithm_of_held_sum all v e hv he v_range e_small) as [s [l [hl [s_range [l_close [s_close s_exact]]]]]].
    destruct (mean_of_held_sums all v e x d s hv he hx hd v_range e_small x_range d_small ltac:(lra) s_close)
      as [q [hq [q_close q_size]]].
    destruct (sums s s_close s_exact) as [j [hj at_height]].
    pose proof (at_height _ (height_is_granted (length row) _ row_some)) as moments. rewrite scaled_logits in moments.
    assert (same_length : length (row_of unit row) = length logits) by (rewrite <- scaled_logits; symmetry; apply map_length).
    rewrite same_length in moments.
    assert (l_size : Rabs l <= two_to 50).
    { assert (0 <= ln s <= 16777216).
      { split; [rewrite <- ln_1; apply ln_le; lra|]. pose proof (ln_below_tangent s ltac:(lra)). lra. }
      assert (u64 * ln s <= 1 * ln s) by (apply Rmult_le_compat_r; [lra|pose proof u64_range; lra]).
      apply Rabs_le_inv in l_close. apply Rle_trans with (two_to 40); [apply Rabs_le; cbn; lra|apply bpow_le; lia]. }
    destruct (sum_is_computed B few _ _ l q hl hq l_size q_size) as [z [hz [z_size rounded]]].
    destruct (output_is_rounded _ z hz z_size) as [finite output]. destruct (finite_not_empty all m hm) as [visible_one defined_one].
    assert (result : strict_entropy scale row = narrowed (add_64 (logarithm_of_sum all)
      (quotient_64 (in_double (deviations all)) (add_64 one_64 (in_double (weights all)))))).
    { unfold strict_entropy. fold all. cbv zeta. now rewrite visible_one, defined_one. }
    exists (exp t * (m * unit)), j, s, (x + d), l, q, z. split; [exact moments|]. split; [unfold most_rescalings; rewrite <- same_length; exact hj|].
    split; [apply logarithm_is_computed; easy || lra|]. split; [now apply quotient_is_computed|]. split; [exact rounded|].
    rewrite result. now split.
  Qed.

  Theorem entropy_bounded :
    exists m, is_maximum m logits /\ is_finite (strict_entropy scale row) = true /\
      let error := entropy_rounding M 0 m logits additions rescalings 0 in
      Rabs (val (strict_entropy scale row) - entropy logits)
      <= error + u32 * (entropy logits + error) + (entropy_floor M * (1 + u32) + half_quantum).
  Proof using scale_value large items few_items some few within.
    destruct entropy_computed as [m [j [s [y [l [q [z [moments [hj [hl [hq [hz [finite output]]]]]]]]]]]]].
    pose proof (moments_maximum _ _ _ _ _ _ _ _ moments) as max. pose proof (rounds_few row few_items) as rounds_range.
    pose proof (visible_length (exp t * unit) row) as visible_few.
    pose proof (small_model_sound (2 + B) ltac:(lia)) as good. pose proof u32_range as u0. pose proof half_quantum_range as h0.
    exists m. split; [exact max|]. split; [exact finite|]. cbv zeta.
    assert (low : (additions <= rounds_of (length row) + 8)%nat) by (unfold granted_height; lia).
    assert (fewer : (rescalings <= rounds_of (length row) + 7)%nat) by (unfold most_rescalings; lia).
    assert (j_few : INR j * argument_step M <= 2).
    { change (argument_step M) with half_quantum. assert (INR j <= 16384) by (rewrite INR_IZR_INZ; apply (IZR_le _ 16384); lia).
      pose proof (pos_INR j). assert (INR j * half_quantum <= 16384 * / 1000000000000) by (apply Rmult_le_compat; lra). lra. }
    pose proof (lost_less_than_sum (2 + B) ltac:(lia) m logits additions j max ltac:(lia) ltac:(lia) ltac:(lia)) as lost_here.
    pose proof (lost_less_than_sum (2 + B) ltac:(lia) m logits additions rescalings max ltac:(lia) ltac:(lia) ltac:(lia)) as lost_most.
    pose proof (b6_entropy M good 0 m logits s y additions j 0 (Rle_refl 0) ltac:(change (roundoff M) with u32; lra) moments lost_here j_few
                  q l z u32 half_quantum _ hq hl hz output) as bound.
    pose proof (b6_growing M good 0 m logits additions additions j rescalings 0 max (Rle_refl 0) (le_n _) hj lost_most) as grows.
    assert (u32 * entropy_rounding M 0 m logits additions j 0 <= u32 * entropy_rounding M 0 m logits additions rescalings 0)
      by (apply Rmult_le_compat_l; lra). lra.
  Qed.
End Entropy.

(** ** The two temperatures: the scale as the kernel has it, and theta itself *)

Theorem strict_entropy_b6 scale unit row :
  is_value scale unit -> two_to (-119) <= unit -> Forall admissible row -> (Z.of_nat (length row) <= 2 ^ 22)%Z ->
  (exists x, In x row /\ is_finite x = true) ->
  exists m, is_maximum m (row_of unit row) /\ is_finite (strict_entropy scale row) = true /\
    let error := entropy_rounding strict_model 0 m (row_of unit row)
                   (granted_height (length row) (length (row_of unit row)))
                   (most_rescalings (length row) (length (row_of unit row))) 0 in
    Rabs (val (strict_entropy scale row) - entropy (row_of unit row))
    <= error + u32 * (entropy (row_of unit row) + error) + (entropy_floor strict_model * (1 + u32) + half_quantum).
Proof.
  intros scale_value large items few_items some.
  pose proof (entropy_bounded scale unit row scale_value large items few_items some 0 0 ltac:(lia)) as bounded.
  rewrite exp_0, Rmult_1_l in bounded. apply bounded. rewrite Rabs_R0. cbn [INR]. lra.
Qed.

Theorem strict_entropy_theta_b6 theta T row :
  is_double theta T -> two_to (-126) <= T <= two_to 119 -> Forall admissible row -> (Z.of_nat (length row) <= 2 ^ 22)%Z ->
  (exists x, In x row /\ is_finite x = true) ->
  let logits := row_of (/ T) row in
  exists m, is_maximum m logits /\ is_finite (strict_entropy (scale_of theta) row) = true /\
    let error := entropy_rounding logsumexp_model 0 m logits
                   (granted_height (length row) (length logits)) (most_rescalings (length row) (length logits)) 0 in
    Rabs (val (strict_entropy (scale_of theta) row) - entropy logits)
    <= error + u32 * (entropy logits + error) + (entropy_floor logsumexp_model * (1 + u32) + half_quantum).
Proof.
  intros theta_value theta_range items few_items some. cbv zeta.
  destruct (scale_computed theta T theta_value theta_range) as [unit [t [scale_value [large [within same]]]]].
  pose proof (entropy_bounded (scale_of theta) unit row scale_value large items few_items some 2 t ltac:(lia) within) as bounded.
  rewrite same in bounded. exact bounded.
Qed.

(** 0, -1 and a masked item: the premises hold, and the word is the kernel's. *)
Example short_row_has_an_entropy :
  is_value one 1 /\ two_to (-119) <= 1 /\ is_double (dyadic_64 1 0) 1 /\ two_to (-126) <= 1 <= two_to 119 /\
  Forall admissible short_row /\ (Z.of_nat (length short_row) <= 2 ^ 22)%Z /\ (exists x, In x short_row /\ is_finite x = true) /\
  (0 <= 2)%nat /\ Rabs 0 <= INR 0 * log_unit u32 /\
  word_of_f32 (strict_entropy one short_row) = 0x3f150b44%Z /\
  word_of_f32 (strict_entropy (scale_of (dyadic_64 1 0)) short_row) = 0x3f150b44%Z.
Proof.
  destruct short_row_is_admissible as [one_is [large [items [few visible_one]]]].
  destruct short_row_has_a_logsumexp as [theta [range _]]. repeat (split; [assumption|]). split; [lia|].
  split; [rewrite Rabs_R0; cbn [INR]; lra|]. vm_compute. now split.
Qed.
