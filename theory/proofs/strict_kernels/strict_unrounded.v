(** * What the strict kernels' log-sum-exp and entropy start from: 1 and the compensated sum, before they are rounded to
    one number.

    Main results
    - [scaled_tree]   a tree over items is one over the items times e^t, where t counts as roundings of the argument
    - [held_sums]     1 and value and rest of a state's weights, with the error of half a rounding, are the sum S of a tree
                      of the model that is one roundoff higher, and no higher than its items less one; value and rest of the
                      deviations its T

    Source: kernels/block/entropy.hpp, in_double. *)

From Coq Require Import ZArith.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row atoms tree_heights reduction moments converted_row b6_entropy.
From softcheck.strict_kernels Require Import machine_numbers block_exponential block_row.
From softcheck.strict_kernels Require Import strict_operations strict_exponential strict_weights strict_sums strict_counted.
From softcheck.strict_kernels Require Import strict_pairs strict_carried strict_state.
Local Open Scope R_scope.

(** No path has more rescalings than the tree. *)
Lemma rescalings_of_path M l r s g j K : summed_at M l r s g j K -> (j <= K)%nat.
Proof. induction 1; lia. Qed.

Section Scaled.
  Context (A B : nat) (step t : R).
  Hypothesis within : Rabs t <= INR B * log_unit u32.

  Lemma scaled_argument d b :
    computed_argument (strict_arithmetic A step) d b -> computed_argument (strict_arithmetic (A + B) step) (exp t * d) b.
  Proof using within.
    intros [ta [c [bta [bc ->]]]]. cbn [argument_unit argument_step strict_arithmetic] in bta, bc.
    exists (ta - t), c. split; [|split; [exact bc|]].
    - cbn [argument_unit strict_arithmetic]. rewrite plus_INR. apply abs_between in bta.
      pose proof (abs_between _ _ within). apply Rabs_le. lra.
    - unfold Rminus. rewrite exp_plus, exp_Ropp. field. apply Rgt_not_eq, exp_pos.
  Qed.

  Theorem scaled_tree l r s y h j K :
    streamed_at (strict_arithmetic A step) l r s y h j K ->
    streamed_at (strict_arithmetic (A + B) step) (map (Rmult (exp t)) l) (exp t * r) s y h j K.
  Proof using within.
    pose proof (exp_pos t) as pos.
    induction 1 as [x r b s y le arg ex prod|l1 l2 r s1 s2 s y1 y2 y k h1 h2 j1 j2 K1 K2 _ IH1 _ IH2 part sums moments
                   |l r r' s y b f p q s' y' h j K _ IH le arg ex prod term sum product|l l' r s y h j K _ IH same].
    - cbn [map]. apply streamed_at_item with b; [apply Rmult_le_compat_l; lra| |exact ex|exact prod].
      rewrite <- Rmult_minus_distr_l. now apply scaled_argument.
    - rewrite map_app. now apply streamed_at_addition with s1 s2 y1 y2.
    - apply streamed_at_rescaled with (exp t * r) s y b f p q; try easy; [apply Rmult_le_compat_l; lra|].
      rewrite <- Rmult_minus_distr_l. now apply scaled_argument.
    - apply streamed_at_reordered with (map (Rmult (exp t)) l); [exact IH|now apply Permutation_map].
  Qed.
End Scaled.

Section Held.
  Context (A B : nat) (step t : R).
  Hypothesis few : (A <= 12)%nat.
  Hypothesis few_all : (A + B <= 12)%nat.
  Hypothesis small_step : 0 <= step <= / 2.
  Hypothesis within : Rabs t <= INR B * log_unit u32.
  Context (unit : R).
  Notation M := (strict_arithmetic (A + B) step).

  Lemma floor_small N K :
    (Z.of_nat N <= 2 ^ 15)%Z -> (Z.of_nat K <= 2 ^ 22)%Z -> 0 <= rest_floor N K <= two_to (-120).
  Proof.
    intros few_steps few_scalings. destruct (limits N K few_steps few_scalings) as [_ [_ [floor0 [tiny _]]]].
    split; [exact floor0|]. assert (back : two_to 24 * u32 = 1) by (rewrite <- bpow_plus; reflexivity).
    apply (Rmult_le_compat_l (two_to 24)) in tiny; [|apply bpow_ge_0].
    rewrite <- Rmult_assoc, back, Rmult_1_l in tiny. eapply Rle_trans; [exact tiny|].
    replace (two_to 24 * (21 / 10 * half_quantum)) with (21 / 10 * (two_to 24 * half_quantum)) by ring.
    unfold half_quantum. rewrite <- bpow_plus. change (24 + -150)%Z with (-126)%Z.
    replace (two_to (-120)) with (two_to 6 * two_to (-126)) by (rewrite <- bpow_plus; reflexivity).
    apply Rmult_le_compat_r; [apply bpow_ge_0|]. cbn. lra.
  Qed.

  Theorem held_sums st logits H J :
    holds A step unit st logits H J -> logits <> [] -> (Z.of_nat (length logits) <= 2 ^ 22)%Z ->
    (Z.of_nat (H + J) <= 2 ^ 15)%Z ->
    exists m v e x d,
      is_value (maximum st) m /\ is_value (sum_value (weights st)) v /\ is_value (sum_rest (weights st)) e /\
      is_value (sum_value (deviations st)) x /\ is_value (sum_rest (deviations st)) d /\
      0 <= v <= 4194304 /\ Rabs e <= v / 40 + two_to (-120) /\ 0 <= x <= two_to 48 /\ Rabs d <= x / 40 + two_to (-120) /\
      In (m * unit) logits /\
      forall s, Rabs (s - (1 + (v + e))) <= / 2 * u32 * (1 + v) -> (v + e = 0 -> s = 1) ->
        exists j, (j <= Nat.min J (length logits - 1))%nat /\ forall h, 1 + carried_height H <= INR h \/ size logits - 1 <= INR h ->
          moments_of_row M 0 (exp t * (m * unit)) (map (Rmult (exp t)) logits) s (x + d) h j.
  Proof using few few_all small_step within.
    intros held some few_items few_steps.
    destruct held as [nothing _ _|m l' K hm perm above hK [v [e [x [d [hv [he [hx [hd [range small m_range m_small none tree]]]]]]]]]]; [easy|].
    pose proof (Permutation_length perm) as count. cbn in count.
    destruct (limits (H + J) K few_steps ltac:(lia)) as [slope_range _].
    destruct (floor_small (H + J) K few_steps ltac:(lia)) as [floor0 floor].
    assert (few_l : short l') by (unfold short; lia). destruct (counted_number l' few_l) as [_ l_range].
    destruct (most_moment_within l' (H + J) few_l few_steps) as [m_within _].
    assert (rest_at : forall a b, 0 <= a -> small_rest a b (H + J) K -> Rabs b <= a / 40 + two_to (-120)).
    { intros a b pos. unfold small_rest. assert (rest_slope (H + J) * a <= / 40 * a) by (apply Rmult_le_compat_r; lra). lra. }
    pose proof (rest_at v e ltac:(lra) small) as e_small.
    exists m, v, e, x, d. repeat (split; [assumption|]). split; [lra|]. split; [exact e_small|]. split; [lra|].
    split; [apply rest_at; [lra|exact m_small]|].
    assert (inm : In (m * unit) logits) by (apply (Permutation_in _ (Permutation_sym perm)); now left).
    split; [easy|]. intros s close exactly. pose proof (exp_pos t) as pos.
    set (top := exp t * (m * unit)). set (scaled := map (Rmult (exp t)) logits).
    assert (is_max : is_maximum top scaled).
    { split; [now apply in_map|]. intros a ina. apply in_map_iff in ina as [a0 [<- ina]].
      apply Rmult_le_compat_l; [lra|]. apply (Permutation_in _ perm) in ina as [<-|ina]; [lra|now apply above]. }
    assert (perm' : Permutation (top :: map (Rmult (exp t)) l') scaled).
    { apply Permutation_sym. exact (Permutation_map (Rmult (exp t)) perm). }
    pose proof (reference_streamed (A + B) step few_all small_step top) as itself.
    assert (sized : size scaled = INR (S (length l'))) by (unfold size, scaled; now rewrite map_length, count).
    destruct tree as [[-> [zero_sum zero_moment]]|[h [j [k [hh [hj [hk tree]]]]]]].
    - exists 0%nat. split; [lia|]. intros h high. rewrite (exactly zero_sum), zero_moment. constructor; [easy|].
      exists top, scaled, 0, 0%nat. split; [easy|]. split; [apply converted_same|].
      split; [now apply streamed_at_reordered with [top]|]. split; [apply pos_INR|]. split; [|easy]. rewrite sized. cbn. lra.
    - apply (scaled_tree A B step t within) in tree. exists (max 0 j).
      pose proof (rescalings_of_path _ _ _ _ _ _ _ (sum_of_streamed _ _ _ _ _ _ _ _ tree)) as path. split; [lia|]. intros h' high.
      pose proof half_quantum_positive as h0. pose proof u32_range as u0.
      assert (whole : streamed_at M scaled top s (x + d) (1 + Rmax 0 h) (max 0 j) (0 + k)).
      { apply streamed_at_reordered with ([top] ++ map (Rmult (exp t)) l'); [|exact perm'].
        apply streamed_at_addition with 1 (v + e) 0 (x + d); [exact itself|exact tree|lra| |].
        * apply whole_sum, (near_is_summed (A + B) step few_all small_step). eapply Rle_trans; [exact close|].
          pose proof (Rle_abs (1 + (v + e))) as size_low. apply Rabs_le_inv in e_small.
          assert (two_to (-120) <= / 1000) by (apply Rle_trans with (two_to (-10)); [apply bpow_le; lia|cbn; lra]).
          assert (u32 * (/ 2 * (1 + v)) <= u32 * Rabs (1 + (v + e))) by (apply Rmult_le_compat_l; lra). lra.
        * rewrite Rplus_0_l. apply whole_sum, (near_is_summed (A + B) step few_all small_step). rewrite Rminus_diag_eq, Rabs_R0 by easy.
          assert (0 <= u32 * Rabs (x + d)) by (apply Rmult_le_pos; [lra|apply Rabs_pos]). lra. }
      pose proof (sum_of_streamed _ _ _ _ _ _ _ _ whole) as alone. destruct (height_below_size _ _ _ _ _ _ _ alone) as [[_ below] _].
      constructor; [easy|]. exists top, scaled, (1 + Rmax 0 h), (0 + k)%nat. split; [easy|]. split; [apply converted_same|].
      split; [exact whole|]. split; [|split].
      + destruct high as [high|high].
        * assert (Rmax 0 h <= carried_height H); [|lra]. apply Rmax_lub; [rewrite carried_height_is; pose proof (pos_INR H); lra|exact hh].
        * assert (size scaled = size logits) as same by (rewrite sized; unfold size; now rewrite count). lra.
      + rewrite sized. apply le_INR. lia.
      + intros no. now apply (no_rescaling_at _ _ _ _ _ _ _ alone).
  Qed.
End Held.
