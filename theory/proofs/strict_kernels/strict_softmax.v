(** * The strict kernels' softmax keeps its contract: every result is as near to softmax as B2 says, and Lemma 2.1 holds.

    Of the executable function of block_row.v, whose bits a test compares with the kernel's. No premise about arithmetic
    is left: a row of finite or masked items, at most 2^22 of them, some of them finite, and a scale from 2^-119 on.

    Main results, with the height h that sum=lanes:512 grants, the smaller of ceil(n / 512) + 8 and the visible items less one
    ([granted_height]), and j rescalings on a path: at most ceil(n / 512) + 7 of items and no more than visible items less one
    ([most_rescalings]), and one for the rounded total
    - [height_is_granted]        the statistics' two additions and compensated ones, and one more, are within that height
    - [strict_sum_computes]      maximum and sum are those of a tree of the model
    - [strict_softmax_computes]  the results are coefficients that the model of arithmetic computes; masked items get 0
    - [strict_softmax_b2]        each errs by at most B2
    - [strict_softmax_bracket]   each lies in Lemma 2.1's bracket, up to its rounding

    Source: kernels/block/softmax.hpp; numerics/b2_element.v, bracket.v. *)

From Coq Require Import ZArith.
From Flocq Require Import Core BinarySingleNaN Mult_error.
From softcheck Require Import softmax entropy_bounds.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row tilted_row tree_heights reduction moments b1_sum element_threshold b2_element
  bracket.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_row.
From softcheck.strict_kernels Require Import strict_operations strict_exponential strict_weights strict_sums.
From softcheck.strict_kernels Require Import strict_deviations strict_carried strict_state strict_groups strict_row
  strict_argument.
Local Open Scope R_scope.

(** What the kernel's arithmetic is in the model, and its output: binary32, as the accumulator. *)
Definition strict_model : arithmetic := strict_arithmetic 2 step_32.
Definition strict_output : output_format := {| output_unit := 0; output_floor := 0 |}.

Lemma strict_model_sound : sound strict_model.
Proof. apply strict_arithmetic_sound; [lia|apply step_32_range]. Qed.

Lemma strict_output_sound : sound_output strict_output.
Proof. unfold sound_output. cbn. lra. Qed.

Definition row_of (unit : R) (row : list f32) : list R := flat_map (visible unit) row.

(** ** The height of sum=lanes:512: ceil(n / 512) - 1 + log2 512 additions, and never more than visible items less one *)

Definition granted_height (items visible : nat) : nat := Nat.min (rounds_of items + 8) (visible - 1).
Definition most_rescalings (items visible : nat) : nat := Nat.min (rounds_of items + 7) (visible - 1).

Theorem height_is_granted items (l : list R) :
  l <> [] ->
  1 + carried_height (2 * rounds_of items + 16) <= INR (granted_height items (length l)) \/
  size l - 1 <= INR (granted_height items (length l)).
Proof.
  intros some. unfold granted_height. assert (1 <= length l)%nat by (destruct l; [easy|cbn; lia]).
  destruct (Nat.min_spec (rounds_of items + 8) (length l - 1)) as [[_ ->]|[_ ->]]; [left|right].
  - rewrite carried_height_is,  !plus_INR, mult_INR. pose proof (pos_INR (rounds_of items)).
    change (INR 2) with 2. replace (INR 16) with 16 by (cbn; lra). replace (INR 8) with 8 by (cbn; lra). lra.
  - rewrite minus_INR by easy. unfold size. change (INR 1) with 1. lra.
Qed.

(** ** Rounding a product by 2^-64 *)

Lemma unscaled_error x : number binary32 x -> Rabs (fl32 (x * two_to (-64)) - x * two_to (-64)) <= half_quantum.
Proof.
  intros is_number. destruct (Rle_dec (Rabs (x * two_to (-64))) (two_to (-125))) as [small|large].
  - apply (rounding_error binary32 positive_precision_32 _ (-125)); [cbn; lia|easy].
  - rewrite fl_number; [rewrite Rminus_diag_eq, Rabs_R0 by easy; left; apply half_quantum_positive|].
    apply (mult_bpow_exact_FLT radix2 (-149) 24); [easy|].
    apply Rnot_le_lt in large. rewrite Rabs_mult, (Rabs_right (two_to (-64))) in large by (apply Rle_ge, bpow_ge_0).
    assert (big : two_to (-61) <= Rabs x).
    { apply Rmult_le_reg_r with (two_to (-64)); [apply bpow_gt_0|]. rewrite <- bpow_plus. left. exact large. }
    pose proof (mag_ge_bpow radix2 x (-60) big). lia.
Qed.

(** ** The row *)

Section Softmax.
  Context (scale : f32) (unit : R) (row : list f32) (scale_value : is_value scale unit) (large : two_to (-119) <= unit)
    (items : Forall admissible row) (few_items : (Z.of_nat (length row) <= 2 ^ 22)%Z)
    (some : exists x, In x row /\ is_finite x = true).
  Notation M := strict_model.
  Notation logits := (row_of unit row).

  Lemma visible_length : (length logits <= length row)%nat.
  Proof.
    clear. induction row as [|x rest IH]; [easy|]. unfold row_of in *. cbn [flat_map]. rewrite app_length.
    unfold visible at 1. destruct (is_finite x); cbn; lia.
  Qed.

  Lemma visible_in x : In x row -> is_finite x = true -> In (val x * unit) logits.
  Proof. intros inx finite. apply in_flat_map. exists x. split; [easy|]. unfold visible. rewrite finite. now left. Qed.

  Let unit_pos : 0 < unit := unit_is_positive unit large.

  Lemma exact_exponential : computed_exp M 0 1.
  Proof.
    apply (exponential_of_contract M strict_model_sound). left. exists 0. rewrite Rabs_R0, Ropp_0, exp_0.
    pose proof strict_model_sound as good. unfold sound in good. split; [apply good|ring].
  Qed.

  Let rounds := rounds_of (length row).

  Lemma rounds_few : (Z.of_nat rounds <= 8192)%Z.
  Proof using few_items.
    unfold rounds, rounds_of. rewrite Nat2Z.inj_div, Nat2Z.inj_add.
    change (Z.of_nat 512) with 512%Z. change (Z.of_nat 511) with 511%Z. change (2 ^ 22)%Z with 4194304%Z in few_items.
    apply Z.lt_succ_r, Z.div_lt_upper_bound; lia.
  Qed.

  Theorem strict_sum_computes :
    exists m s h j, is_value (maximum (statistics scale row)) m /\
      is_value (add one (total (weights (statistics scale row)))) s /\ / 2 <= s <= 8388608 /\
      sum_of_row M 0 (m * unit) logits s h j /\ (h <= granted_height (length row) (length logits))%nat /\ (j <= S (most_rescalings (length row) (length logits)))%nat.
  Proof using scale_value large items few_items some unit_pos.
    pose proof rounds_few as rounds_range. pose proof visible_length as visible_few.
    pose proof (statistics_hold 2 step_32 ltac:(lia) step_32_range scale unit scale_value unit_pos
                  (strict_argument scale unit scale_value large) row items few_items) as held.
    change (visible_row unit row) with logits in held. fold rounds in held.
    set (all := statistics scale row) in *.
    destruct held as [nothing _ _|m l' K hm perm above hK [v [e [y [d [hv [he [_ [_ [range small _ _ _ tree]]]]]]]]]].
    { exfalso. destruct some as [x [inx finite]]. pose proof (visible_in x inx finite) as inl. now rewrite nothing in inl. }
    pose proof (Permutation_length perm) as count. cbn in count.
    assert (few_steps : (Z.of_nat (2 * rounds + 16 + (rounds + 7)) <= 2 ^ 15)%Z) by lia.
    destruct (limits _ K few_steps ltac:(lia)) as [slope_range [_ [floor0 [tiny _]]]].
    destruct (counted_number l') as [_ l_range]; [unfold short; lia|].
    pose proof half_quantum_range as h0. pose proof half_quantum_positive. change u32 with (/ 16777216) in *.
    unfold small_rest in small. set (N := (2 * rounds + 16 + (rounds + 7))%nat) in *.
    assert (slope_v : 0 <= rest_slope N * v <= / 40 * v) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
    assert (e_range : - (/ 40 * v) - / 1000 <= e <= / 40 * v + / 1000) by (apply Rabs_le_inv in small; lra).
    assert (v_within : Rabs v <= two_to 60) by (apply wider with 22%Z; [lia|apply within_22; lra]).
    assert (e_within : Rabs e <= two_to 60).
    { apply wider with 22%Z; [lia|]. change (two_to 22) with 4194304. apply Rabs_le. lra. }
    pose proof (near_add _ _ v e hv he v_within e_within) as h_total. set (T := fl32 (v + e)) in *.
    pose proof (fl_sum_error v e (value_number _ _ hv) (value_number _ _ he)) as T_err. fold T in T_err.
    change u32 with (/ 16777216) in T_err.
    assert (ve_size : Rabs (v + e) <= 4299163) by (apply Rabs_le; lra).
    assert (T_range : - / 100 <= T <= 4299164).
    { apply Rabs_le_inv in T_err. assert (- / 500 <= v + e) by lra.
      assert (Rabs (v + e) <= v + e + / 250) by (apply Rabs_le; lra). lra. }
    assert (T_within : Rabs T <= two_to 60).
    { apply wider with 23%Z; [lia|]. change (two_to 23) with 8388608. apply Rabs_le. lra. }
    pose proof (near_add _ _ 1 T one_value h_total ltac:(apply wider with 0%Z; [lia|rewrite Rabs_R1; now right]) T_within) as hs.
    set (s := fl32 (1 + T)) in *.
    pose proof (fl_sum_error 1 T (value_number _ _ one_value) (value_number _ _ h_total)) as s_err. fold s in s_err.
    change u32 with (/ 16777216) in s_err. rewrite (Rabs_right (1 + T)) in s_err by lra.
    assert (s_range : / 2 <= s <= 8388608) by (apply Rabs_le_inv in s_err; lra).
    assert (is_max : is_maximum (m * unit) logits).
    { split; [apply (Permutation_in _ (Permutation_sym perm)); now left|]. intros x inx.
      apply (Permutation_in _ perm) in inx as [<-|inx]; [lra|now apply above]. }
    assert (itself : summed_at M [m * unit] (m * unit) 1 0 0 0).
    { apply summed_at_item with 0; [lra| |apply exact_exponential].
      replace (m * unit - m * unit) with 0 by ring. apply exact_argument. }
    assert (sized : size logits = INR (S (length l'))) by (unfold size; now rewrite count).
    destruct tree as [[-> [zero_sum _]]|[h [j [k [hh [hj [hk both]]]]]]].
    2: pose proof (sum_of_streamed _ _ _ _ _ _ _ _ both) as tree.
    - exists m, s, 0%nat, 0%nat. repeat (split; [assumption|]). split; [|split; lia].
      assert (s = 1) as ->.
      { unfold s, T. rewrite zero_sum, fl_0, Rplus_0_r. apply fl_number, (value_number one), one_value. }
      constructor; [easy|]. exists (m * unit), logits, 0, 0%nat. split; [easy|]. split; [apply converted_same|].
      split; [now apply summed_at_reordered with [m * unit]; [|apply Permutation_sym]|]. split; [apply pos_INR|]. split; [|easy].
      rewrite sized. cbn. lra.
    - exists m, s, (granted_height (length row) (length logits)), (max 0 (S j)).
      pose proof (rescalings_of_path _ _ _ _ _ _ _ tree) as path. repeat (split; [assumption|]).
      split; [|split; [lia|unfold most_rescalings; fold rounds; lia]].
      assert (whole : summed_at M logits (m * unit) s (1 + Rmax 0 h) (max 0 (S j)) (0 + S k)).
      { apply summed_at_reordered with ([m * unit] ++ l'); [|now apply Permutation_sym].
        apply summed_at_addition with 1 T; [easy| |lra|].
        * apply summed_at_rescaled with (m * unit) (v + e) 0 1; [easy|lra| |apply exact_exponential|].
          -- replace (m * unit - m * unit) with 0 by ring. apply exact_argument.
          -- apply (product_within 2 step_32 ltac:(lia) step_32_range). rewrite Rmult_1_r.
             change u32 with (/ 16777216). lra.
        * apply whole_sum, (near_is_summed 2 step_32 ltac:(lia) step_32_range). change u32 with (/ 16777216).
          rewrite (Rabs_right (1 + T)) by lra. lra. }
      destruct (height_below_size _ _ _ _ _ _ _ whole) as [[_ below] some_logits].
      constructor; [easy|]. exists (m * unit), logits, (1 + Rmax 0 h), (0 + S k)%nat. split; [easy|]. split; [apply converted_same|].
      split; [exact whole|]. split; [|split; [|lia]].
      + destruct (height_is_granted (length row) logits some_logits) as [high|high]; [|lra].
        fold rounds in high |- *. assert (Rmax 0 h <= carried_height (2 * rounds + 16)); [|lra].
        apply Rmax_lub; [rewrite carried_height_is; pose proof (pos_INR (2 * rounds + 16)); lra|exact hh].
      + rewrite sized. apply Rle_trans with (INR (S (length l'))); [apply le_INR; lia|]. pose proof (pos_INR (S (length l'))). lra.
  Qed.

  (** What a coefficient's operations compute of its numerator. *)
  Lemma coefficient_value z v s b D :
    computed_argument M D b -> computed_exp M b v -> is_value (scaled_exponential z) (v * two_to 64) -> 0 <= v <= 2 ->
    is_value (add one (total (weights (statistics scale row)))) s -> / 2 <= s <= 8388608 -> 0 <= D ->
    exists p, is_value (mul (mul (scaled_exponential z) (softmax_factor (statistics scale row))) exp_unscale) p /\
      (v = 0 -> p = 0) /\ forall j, exists w, numerator M j D w /\ ratio M w s p.
  Proof using.
    intros arg exps hv v_range hs s_range hD. pose proof half_quantum_range as h0. pose proof u32_range as u0.
    assert (inverse : / 8388608 <= 1 / s <= 2).
    { unfold Rdiv. rewrite Rmult_1_l. split; [apply Rinv_le_contravar; lra|]. replace 2 with (/ / 2) by lra.
      apply Rinv_le_contravar; lra. }
    assert (hi : is_value (softmax_factor (statistics scale row)) (fl32 (1 / s))).
    { apply quotient_value; [apply one_value|easy|lra|]. rewrite Rabs_right by lra.
      apply Rle_trans with (two_to 1); [cbn; lra|apply bpow_le; lia]. }
    pose proof (fl_error (1 / s)) as i_err. rewrite (Rabs_right (1 / s)) in i_err by lra. set (i := fl32 (1 / s)) in *.
    assert (i_range : 0 <= i <= 3) by (apply Rabs_le_inv in i_err; split; [unfold i; apply fl_nonneg; lra|]; nra).
    assert (p64 : 0 < two_to 64) by apply bpow_gt_0.
    assert (down : 0 < two_to (-64) <= 1) by (split; [apply bpow_gt_0|apply (bpow_le radix2 (-64) 0); lia]).
    assert (back : two_to 64 * two_to (-64) = 1) by (rewrite <- bpow_plus; reflexivity). assert (vi : 0 <= v * i <= 8) by nra.
    assert (X_size : Rabs (v * two_to 64 * i) <= two_to 67).
    { replace (v * two_to 64 * i) with (v * i * two_to 64) by ring. rewrite Rabs_right by (apply Rle_ge, Rmult_le_pos; lra).
      change 67%Z with (3 + 64)%Z. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|]. cbn. lra. }
    pose proof (mul_value _ _ _ _ hv hi ltac:(now apply wider with 67%Z; [lia|])) as hX.
    pose proof (fl_error (v * two_to 64 * i)) as X_err. set (X := fl32 (v * two_to 64 * i)) in *.
    assert (X_within : Rabs X <= two_to 67) by (apply fl_within; [lia|easy]).
    assert (hp : is_value (mul (mul (scaled_exponential z) (softmax_factor (statistics scale row))) exp_unscale)
      (fl32 (X * two_to (-64)))).
    { apply mul_value; [exact hX|apply unscale_value|]. rewrite Rabs_mult, (Rabs_right (two_to (-64))) by lra.
      apply Rle_trans with (two_to 67 * 1); [apply Rmult_le_compat; try lra; apply Rabs_pos|]. rewrite Rmult_1_r.
      apply bpow_le. lia. }
    pose proof (unscaled_error X (value_number _ _ hX)) as last. exists (fl32 (X * two_to (-64))). split; [exact hp|]. split.
    - intros ->. unfold X. now rewrite !Rmult_0_l, fl_0, Rmult_0_l, fl_0.
    - intros j. exists v. split; [now apply numerator_direct with b|]. apply ratio_reciprocal with i.
      + apply (product_within 2 step_32 ltac:(lia) step_32_range). rewrite (Rabs_right (1 / s)) by lra. lra.
      + apply (product_within 2 step_32 ltac:(lia) step_32_range).
        replace (fl32 (X * two_to (-64)) - v * i) with
          ((fl32 (X * two_to (-64)) - X * two_to (-64)) + (X - v * two_to 64 * i) * two_to (-64)).
        * triangle. rewrite (Rabs_mult (X - _)), (Rabs_right (two_to (-64))) by lra.
          apply (Rmult_le_compat_r (two_to (-64))) in X_err; [|lra].
          assert (same : Rabs (v * two_to 64 * i) * two_to (-64) = Rabs (v * i)).
          { replace (v * two_to 64 * i) with (v * i * two_to 64) by ring.
            rewrite Rabs_mult, (Rabs_right (two_to 64)), Rmult_assoc, back by lra. ring. }
          assert (u32 * Rabs (v * two_to 64 * i) * two_to (-64) = u32 * Rabs (v * i))
            by (rewrite Rmult_assoc; now rewrite same).
          assert (half_quantum * two_to (-64) <= half_quantum * 1) by (apply Rmult_le_compat_l; lra). lra.
        * rewrite Rmult_minus_distr_r.
          replace (v * two_to 64 * i * two_to (-64)) with (v * i * (two_to 64 * two_to (-64))) by ring. rewrite back. ring.
  Qed.

  (** Every result: of a visible item a computed coefficient, of a masked one 0. *)
  Theorem strict_softmax_computes :
    exists m s h j,
      sum_of_row M 0 m logits s h j /\ lost_sum M 0 m logits h j < 1 /\
      (h <= granted_height (length row) (length logits))%nat /\ (j <= S (most_rescalings (length row) (length logits)))%nat /\
      exists result, strict_softmax scale row = map result row /\
        forall x, In x row -> exists p, is_value (result x) p /\
          (is_finite x = true -> computed_element M strict_output 0 m j s (val x * unit) p) /\
          (x = minus_infinity -> p = 0).
  Proof using scale_value large items few_items some unit_pos.
    destruct strict_sum_computes as [m [s [h [j [hm [hs [s_range [sum [hh hj]]]]]]]]].
    pose proof rounds_few as rounds_range. unfold rounds in *. pose proof visible_length as visible_few.
    pose proof (row_maximum _ _ _ _ _ _ _ sum) as is_max.
    exists (m * unit), s, h, j. split; [easy|].
    split; [apply (lost_less_than_sum 2 ltac:(lia)); [easy|lia|unfold granted_height in hh; lia|unfold most_rescalings in hj; lia]|]. split; [easy|]. split; [easy|].
    set (all := statistics scale row) in *.
    exists (coefficient_of scale (maximum all) (softmax_factor all)). split.
    { unfold strict_softmax. fold all. destruct hm as [finite _]. now rewrite (proj1 (hidden_below _ finite)). }
    intros x inx. pose proof (proj1 (Forall_forall admissible row) items x inx) as adm. unfold coefficient_of.
    set (z := mul (sub x (maximum all)) scale). destruct adm as [finite|hidden].
    - assert (below : val x <= m).
      { apply Rmult_le_reg_r with unit; [easy|]. now apply is_max, visible_in. }
      assert (D0 : 0 <= m * unit - val x * unit) by nra.
      destruct (strict_argument scale unit scale_value large x (maximum all) (val x) m ltac:(easy) hm below)
        as [[a [hz [le arg]]]|[far [b [beyond arg]]]]; [fold z in hz|fold z in far; apply lower_than_lowest in far].
      + destruct (numerator_is_computed 2 step_32 ltac:(lia) step_32_range z a hz le) as [v [hv [exps range]]].
        assert (v_range : 0 <= v <= 2) by (destruct range as [->|range]; [lra|pose proof (bpow_gt_0 radix2 (-161)); lra]).
        destruct (coefficient_value z v s (- a) _ arg exps hv v_range hs s_range D0) as [p [hp [_ computed]]].
        exists p. split; [exact hp|]. split; [|intros ->; discriminate]. intros _. destruct (computed j) as [w [num rat]].
        exists (m * unit - val x * unit), w, p. split; [rewrite Rminus_diag_eq, Rabs_R0 by easy; lra|]. split; [easy|].
        split; [easy|]. exists 0, 0. cbn. rewrite Rabs_R0, exp_0. repeat split; lra.
      + assert (hv : is_value (scaled_exponential z) (0 * two_to 64)) by (rewrite Rmult_0_l; now apply far_parts).
        destruct (coefficient_value z 0 s b _ arg (nothing_is_computed 2 step_32 ltac:(lia) step_32_range b beyond) hv
                    ltac:(lra) hs s_range D0) as [p [hp [_ computed]]].
        exists p. split; [exact hp|]. split; [|intros ->; discriminate]. intros _. destruct (computed j) as [w [num rat]].
        exists (m * unit - val x * unit), w, p. split; [rewrite Rminus_diag_eq, Rabs_R0 by easy; lra|]. split; [easy|].
        split; [easy|]. exists 0, 0. cbn. rewrite Rabs_R0, exp_0. repeat split; lra.
    - assert (far : less exp_lowest z = false).
      { apply lower_than_lowest. unfold z. rewrite hidden. destruct hm as [fm _].
        replace (sub minus_infinity (maximum all)) with (B754_infinity true : f32);
          [now apply (infinite_product scale unit)|]. destruct (maximum all) as [| | |]; easy. }
      assert (hv : is_value (scaled_exponential z) (0 * two_to 64)) by (rewrite Rmult_0_l; now apply far_parts).
      destruct (coefficient_value z 0 s 110 110 (exact_argument 110)
                  (nothing_is_computed 2 step_32 ltac:(lia) step_32_range 110 ltac:(lra)) hv ltac:(lra) hs s_range ltac:(lra))
        as [p [hp [gone _]]].
      exists p. split; [exact hp|]. split; [intros finite; rewrite hidden in finite; discriminate|].
      intros _. now apply gone.
  Qed.

  Theorem strict_softmax_b2 :
    exists m h j, is_maximum m logits /\
      (h <= granted_height (length row) (length logits))%nat /\ (j <= S (most_rescalings (length row) (length logits)))%nat /\
      exists result, strict_softmax scale row = map result row /\
        forall x quantum, In x row -> is_finite x = true -> 0 < quantum <= 1 ->
          is_finite (result x) = true /\
          let C := element_log M strict_output 0 m logits h j in
          let value := coefficient logits (val x * unit) in
          Rabs (val (result x) - value)
          <= (threshold_constant C + threshold_slope quantum C (slope M) * (m - val x * unit)) * value
             + (element_floor M strict_output 0 m logits h j + threshold_floor quantum).
  Proof using scale_value large items few_items some unit_pos.
    destruct strict_softmax_computes as [m [s [h [j [sum [lost_some [hh [hj [result [same each]]]]]]]]]].
    exists m, h, j. split; [apply (row_maximum _ _ _ _ _ _ _ sum)|]. split; [easy|]. split; [easy|].
    exists result. split; [easy|]. intros x quantum inx finite hq.
    destruct (each x inx) as [p [[fp vp] [computed _]]]. split; [easy|]. cbv zeta. rewrite vp.
    apply (b2_element M strict_output strict_model_sound strict_output_sound 0 m logits s h j sum lost_some quantum _ p hq);
      [now apply visible_in|now apply computed].
  Qed.

  Theorem strict_softmax_bracket delta :
    spread_at_most delta logits ->
    exists m h j, is_maximum m logits /\
      (h <= granted_height (length row) (length logits))%nat /\ (j <= S (most_rescalings (length row) (length logits)))%nat /\
      exists result, strict_softmax scale row = map result row /\
        forall x, In x row -> is_finite x = true ->
          let C := element_log M strict_output 0 m logits h j in let f := element_floor M strict_output 0 m logits h j in
          exp (- (C + slope M * delta)) * (exp (- delta) / size logits) - f <= val (result x)
          <= exp (C + slope M * delta) * (exp delta / size logits) + f.
  Proof using scale_value large items few_items some unit_pos.
    intros within.
    destruct strict_softmax_computes as [m [s [h [j [sum [lost_some [hh [hj [result [same each]]]]]]]]]].
    exists m, h, j. split; [apply (row_maximum _ _ _ _ _ _ _ sum)|]. split; [easy|]. split; [easy|].
    exists result. split; [easy|]. intros x inx finite.
    destruct (each x inx) as [p [[fp vp] [computed _]]]. cbv zeta. rewrite vp. specialize (computed finite).
    pose proof (visible_in x inx finite) as inl. split.
    - now apply (bracket_lower M strict_output strict_model_sound strict_output_sound 0 m logits s h j delta sum lost_some within (val x * unit)).
    - now apply (bracket_upper M strict_output strict_model_sound strict_output_sound 0 m logits s h j delta sum lost_some within (val x * unit)).
  Qed.
End Softmax.
