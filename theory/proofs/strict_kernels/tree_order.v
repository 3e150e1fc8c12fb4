(** * The canonical order of the tree kernels, and what its sums are in the model of arithmetic.

    Sums of items whose indices differ in the last bit alone are added first, those that differ in
    the first bit last; zeros stand for masked items and for indices behind the row's end.

    Main results, for any order of the bits
    - [order_covers], [canonical_order_covers]   each index below 2^k is added exactly once
    - [height_of_order]    an item of a row of n passes at most ceil(log2 n) additions that may round, the height of sum=tree
    - [order_computes]     so the two sums of computed weights are those of a row of the theorems (B2, B5, B6), without a rescaling,
                           if neighbours are added first

    Source: kernels/block/tree_order.hpp; summation_height in numerics/rounding/contract.cpp. *)

From Coq Require Import Reals List ZArith NArith Permutation Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.certified Require Import rounded_operations.
From softcheck.numerics Require Import row tree_heights reduction moments b1_sum b6_entropy masked_row.
From softcheck.contract Require Import summation.
From softcheck.strict_kernels Require Import machine_numbers strict_operations strict_exponential strict_weights tree_row.
Import ListNotations.
Local Open Scope R_scope.

(** ** Orders *)

Section Orders.
  Local Open Scope N_scope.

  Definition indices (bits : list N) (i : N) : list N := added_by (@app N) bits (fun j => [j]) i.

  Lemma indices_permuted bits bits' : Permutation bits bits' -> forall i, Permutation (indices bits i) (indices bits' i).
  Proof.
    induction 1 as [|b l l' _ IH|b c l|l l' l'' _ IH _ IH']; intros i; unfold indices in *; cbn [added_by].
    - easy.
    - now apply Permutation_app.
    - rewrite <- !app_assoc. apply Permutation_app_head. rewrite !app_assoc.
      replace (i + 2 ^ c + 2 ^ b) with (i + 2 ^ b + 2 ^ c) by ring. apply Permutation_app_tail, Permutation_app_comm.
    - now transitivity (added_by (@app N) l' (fun j => [j]) i).
  Qed.

  Lemma indices_ordered k : forall i, indices (bits_below k) i = map N.of_nat (seq (N.to_nat i) (2 ^ k)).
  Proof.
    induction k as [|k IH]; intros i; unfold indices in *; cbn [bits_below added_by].
    - cbn. now rewrite N2Nat.id.
    - rewrite !IH, Nat.pow_succ_r'. replace (2 * 2 ^ k)%nat with (2 ^ k + 2 ^ k)%nat by lia. rewrite seq_app, map_app.
      do 3 f_equal. rewrite N2Nat.inj_add, N2Nat.inj_pow, Nat2N.id. reflexivity.
  Qed.

  Theorem order_covers bits k :
    Permutation bits (bits_below k) -> Permutation (indices bits 0) (map N.of_nat (seq 0 (2 ^ k))).
  Proof. intros order. rewrite (indices_permuted _ _ order). now rewrite indices_ordered. Qed.

  Lemma bits_split first count : bits_below (first + count) = bits_from first count ++ bits_below first.
  Proof.
    unfold bits_from. induction count as [|count IH]; [now rewrite Nat.add_0_r|].
    rewrite Nat.add_succ_r. cbn [bits_below map app]. rewrite IH, Nat2N.inj_add. reflexivity.
  Qed.

  Theorem canonical_order_covers vector tiles :
    Permutation (canonical_order vector tiles) (bits_below (vector + 7 + tiles)).
  Proof.
    unfold canonical_order. rewrite bits_split. apply Permutation_app_head.
    replace (vector + 7)%nat with (vector + 5 + 2)%nat by lia. rewrite !bits_split, !app_assoc.
    replace (bits_from 0 vector) with (bits_below vector).
    - apply Permutation_app_tail, Permutation_app_comm.
    - rewrite <- (app_nil_r (bits_from 0 vector)). exact (bits_split 0 vector).
  Qed.

  Lemma neighbours_first vector tiles : exists bits, canonical_order (S vector) tiles = bits ++ [0].
  Proof.
    exists (bits_from (S vector + 7) tiles ++ bits_from (S vector) 5 ++ bits_from (S vector + 5) 2 ++ bits_from 1 vector).
    unfold canonical_order. rewrite <- !app_assoc. do 3 f_equal. rewrite <- (app_nil_r (bits_from 0 (S vector))).
    transitivity (bits_below (S vector)); [symmetry; exact (bits_split 0 (S vector))|exact (bits_split 1 vector)].
  Qed.

  (** Additions of two sums that both have items of a row of n. *)
  Definition rounding_levels (n : N) (bits : list N) : nat := length (filter (fun b => 2 ^ b <? n) bits).

  Lemma levels_permuted n bits bits' : Permutation bits bits' -> rounding_levels n bits = rounding_levels n bits'.
  Proof.
    unfold rounding_levels. induction 1 as [|b l l' _ IH|b c l|l l' l'' _ IH _ IH']; cbn [filter]; [easy| | |congruence].
    - destruct (2 ^ b <? n); cbn [length]; congruence.
    - destruct (2 ^ b <? n), (2 ^ c <? n); reflexivity.
  Qed.

  Theorem height_of_order n bits k :
    Permutation bits (bits_below k) -> N.of_nat (rounding_levels n bits) <= summation_height tree_of_pairs n.
  Proof.
    intros order. rewrite (levels_permuted n _ _ order). clear order. unfold summation_height.
    assert (all : N.of_nat (rounding_levels n (bits_below k)) <= N.log2_up n /\ (rounding_levels n (bits_below k) <= k)%nat).
    { unfold rounding_levels. induction k as [|k [IH few]]; [cbn; lia|]. cbn [bits_below filter].
      destruct (2 ^ N.of_nat k <? n) eqn:below; [|lia]. cbn [length]. split; [|lia].
      apply N.ltb_lt in below. assert (N.of_nat k < N.log2_up n); [|lia].
      apply N.log2_up_lt_pow2; [|exact below]. assert (2 ^ N.of_nat k <> 0) by now apply N.pow_nonzero. lia. }
    destruct (n <=? 1) eqn:one; [|apply all]. apply N.leb_le in one. destruct all as [bound _].
    rewrite N.log2_up_eqn0 in bound; lia.
  Qed.

  Lemma indices_above bits : forall i j, In j (indices bits i) -> i <= j.
  Proof.
    unfold indices. induction bits as [|b rest IH]; intros i j inj; cbn [added_by] in inj.
    - destruct inj as [->|[]]. lia.
    - apply in_app_or in inj as [inj|inj]; apply IH in inj; lia.
  Qed.
End Orders.

(** ** Sums *)

Section Sums.
  Context (A : nat) (step : R) (few : (A <= 12)%nat) (small_step : 0 <= step <= / 2).
  Notation M := (strict_arithmetic A step).

  (** A row of n logits and masked items, and their weights. *)
  Context (m : R) (n : N) (logit : N -> option R) (weight : N -> f32).
  Context (inside : forall i, (n <= i)%N -> logit i = None).

  Definition visible_by (bits : list N) (i : N) : list R := visible_items (map logit (indices bits i)).

  Lemma visible_both b rest i :
    visible_by (b :: rest) i = visible_by rest i ++ visible_by rest (i + 2 ^ b)%N.
  Proof.
    unfold visible_by, indices. cbn [added_by]. rewrite map_app. unfold visible_items. apply flat_map_app.
  Qed.

  Lemma nothing_behind bits i : (n <= i)%N -> visible_by bits i = [].
  Proof using few inside.
    intros behind. unfold visible_by, visible_items. pose proof (indices_above bits i) as above.
    induction (indices bits i) as [|j l IH]; [easy|]. cbn [map flat_map].
    assert (i <= j)%N by (apply above; now left). rewrite (inside j) by lia. apply IH. intros j' inj. apply above. now right.
  Qed.

  (** T = sum w z. *)
  Context (argument : N -> f32).
  Notation paired := (tree_row.paired weight argument).

  (** The argument -a of a weight; a weight of 0 may have any in range. *)
  Definition is_item (x : option R) (w z : f32) : Prop :=
    exists v a, 0 <= v <= 2 /\ 0 <= a <= 256 /\ is_value w (v * two_to 64) /\ is_value z (- a) /\
    match x with
    | Some x => x <= m /\ exists b, computed_argument M (m - x) b /\ computed_exp M b v /\ v * a = v * b
    | None => v = 0
    end.
  Context (items : forall i, is_item (logit i) (weight i) (argument i)).

  Lemma scaled_near x y : Rabs (y - x * two_to 64) <= u32 * Rabs (x * two_to 64) + half_quantum ->
    Rabs (y * two_to (-64) - x) <= u32 * Rabs x + 32 * half_quantum /\ y * two_to (-64) * two_to 64 = y.
  Proof using few.
    intros close. assert (back : two_to 64 * two_to (-64) = 1) by (rewrite <- bpow_plus; reflexivity).
    assert (0 < two_to 64) by apply bpow_gt_0.
    assert (down : 0 < two_to (-64) <= 1) by (split; [apply bpow_gt_0|apply (bpow_le radix2 (-64) 0); lia]).
    pose proof half_quantum_positive. split; [|rewrite Rmult_assoc, (Rmult_comm (two_to (-64))), back; ring].
    replace (y * two_to (-64) - x) with ((y - x * two_to 64) * two_to (-64)).
    - rewrite Rabs_mult, (Rabs_right (two_to (-64))) by lra. apply (Rmult_le_compat_r (two_to (-64))) in close; [|lra].
      rewrite (Rabs_mult x), (Rabs_right (two_to 64)) in close by lra.
      replace ((u32 * (Rabs x * two_to 64) + half_quantum) * two_to (-64)) with
        (u32 * Rabs x * (two_to 64 * two_to (-64)) + half_quantum * two_to (-64)) in close by ring.
      rewrite back in close. assert (half_quantum * two_to (-64) <= half_quantum * 1) by (apply Rmult_le_compat_l; lra). lra.
    - rewrite Rmult_minus_distr_r, Rmult_assoc, back. ring.
  Qed.

  (** A rounded number of the scale of 2^64. *)
  Lemma rounded_near x e :
    (0 <= e <= 60)%Z -> Rabs x <= two_to e ->
    exists y, fl32 (x * two_to 64) = y * two_to 64 /\ Rabs y <= two_to e /\ Rabs (x * two_to 64) <= two_to 127 /\
      Rabs (y - x) <= u32 * Rabs x + 32 * half_quantum.
  Proof using few.
    intros room bound. assert (p64 : 0 < two_to 64) by apply bpow_gt_0.
    assert (size : Rabs (x * two_to 64) <= two_to (e + 64)).
    { rewrite Rabs_mult, (Rabs_right (two_to 64)), bpow_plus by lra. apply Rmult_le_compat_r; lra. }
    destruct (scaled_near x (fl32 (x * two_to 64)) (fl_error _)) as [near scaled].
    exists (fl32 (x * two_to 64) * two_to (-64)). rewrite scaled. split; [easy|]. split; [|split; [|easy]].
    - apply Rmult_le_reg_r with (two_to 64); [easy|]. apply Rle_trans with (Rabs (fl32 (x * two_to 64))).
      + rewrite <- scaled at 2. rewrite (Rabs_mult _ (two_to 64)), (Rabs_right (two_to 64)) by lra. now right.
      + rewrite <- bpow_plus. apply fl_within; [lia|easy].
    - eapply Rle_trans; [exact size|apply bpow_le; lia].
  Qed.

  (** Two sums added. *)
  Lemma terms_added x y a b e :
    (0 <= e <= 59)%Z -> is_value x (a * two_to 64) -> is_value y (b * two_to 64) ->
    Rabs a <= two_to e -> Rabs b <= two_to e ->
    exists s, is_value (add x y) (s * two_to 64) /\ Rabs s <= two_to (Z.succ e) /\
      Rabs (s - (a + b)) <= u32 * Rabs (a + b) + 32 * half_quantum /\ (a = 0 -> s = b) /\ (b = 0 -> s = a).
  Proof using few.
    intros room hx hy ha hb. assert (p64 : 0 < two_to 64) by apply bpow_gt_0.
    assert (twice : two_to (Z.succ e) = 2 * two_to e) by (unfold Z.succ; rewrite bpow_plus; change (two_to 1) with 2; ring).
    assert (bound : Rabs (a + b) <= two_to (Z.succ e)) by (rewrite twice; triangle; lra).
    destruct (rounded_near (a + b) (Z.succ e) ltac:(lia) bound) as [s [value [small [fits near]]]]. exists s.
    assert (both : a * two_to 64 + b * two_to 64 = (a + b) * two_to 64) by ring.
    split; [rewrite <- value, <- both; apply add_value; [easy|easy|now rewrite both]|]. split; [easy|]. split; [easy|].
    split; intros ->; apply Rmult_eq_reg_r with (two_to 64); try lra; rewrite <- value.
    - rewrite Rplus_0_l. apply fl_number, (value_number y), hy.
    - rewrite Rplus_0_r. apply fl_number, (value_number x), hx.
  Qed.

  Lemma pair_computes i :
    exists s y, is_value (add (weight i) (weight (i + 1)%N)) (s * two_to 64) /\ is_value (paired i) (- y * two_to 64) /\
      Rabs s <= two_to 2 /\ Rabs y <= two_to 11 /\
      (visible_by [0%N] i = [] /\ s = 0 /\ y = 0 \/
       exists h, streamed M (visible_by [0%N] i) m s y h 0 0 /\ (h <= rounding_levels n [0%N])%nat).
  Proof using few small_step inside items.
    assert (p64 : 0 < two_to 64) by apply bpow_gt_0. pose proof half_quantum_positive as hq. pose proof u32_range as u0.
    destruct (items i) as [v0 [a0 [rv0 [ra0 [w0 [z0 first]]]]]].
    destruct (items (i + 1)%N) as [v1 [a1 [rv1 [ra1 [w1 [z1 second]]]]]].
    destruct (terms_added _ _ v0 v1 1 ltac:(lia) w0 w1) as [s [hs [rs [sum [s0 s1]]]]];
      [rewrite Rabs_right by lra; change (two_to 1) with 2; lra..|].
    assert (p0 : 0 <= v0 * a0 <= 512) by (split; nra). assert (p1 : 0 <= v1 * a1 <= 512) by (split; nra).
    destruct (rounded_near (- (v0 * a0)) 9 ltac:(lia)) as [q [q_value [q_small [q_fits q_near]]]];
      [rewrite Rabs_Ropp, Rabs_right by lra; change (two_to 9) with 512; lra|].
    assert (hq0 : is_value (mul (weight i) (argument i)) (q * two_to 64)).
    { rewrite <- q_value. replace (- (v0 * a0) * two_to 64) with (v0 * two_to 64 * - a0) in * by ring.
      now apply mul_value. }
    change (two_to 9) with 512 in q_small. apply Rabs_le_inv in q_small as q_range.
    destruct (rounded_near (- (v1 * a1) + q) 11 ltac:(lia)) as [t [t_value [t_small [t_fits t_near]]]];
      [change (two_to 11) with 2048; apply Rabs_le; lra|].
    assert (ht : is_value (paired i) (t * two_to 64)).
    { unfold tree_row.paired. rewrite <- t_value.
      replace ((- (v1 * a1) + q) * two_to 64) with (v1 * two_to 64 * - a1 + q * two_to 64) in * by ring.
      now apply fused_value. }
    exists s, (- t). rewrite Ropp_involutive. split; [exact hs|]. split; [exact ht|]. split; [exact rs|].
    split; [now rewrite Rabs_Ropp|].
    assert (visible : visible_by [0%N] i = visible_items [logit i; logit (i + 1)%N]) by easy. rewrite visible.
    unfold visible_items. destruct (logit i) as [x0|] eqn:l0, (logit (i + 1)%N) as [x1|] eqn:l1; cbn [flat_map app] in *.
    - right. destruct first as [below0 [b0 [arg0 [ex0 same0]]]], second as [below1 [b1 [arg1 [ex1 same1]]]].
      exists 1%nat. split.
      + apply (streamed_addition M [x0] [x1] m v0 v1 s (- q) (v1 * a1) (- t) 0 0 0 0 0 0).
        * apply streamed_item with b0; try easy. rewrite <- same0. apply (product_within A step few small_step).
          replace (- q - v0 * a0) with (- (q - - (v0 * a0))) by ring. now rewrite Rabs_Ropp, <- (Rabs_Ropp (v0 * a0)).
        * apply streamed_item with b1; try easy. rewrite <- same1. apply (product_within A step few small_step).
          rewrite Rminus_diag_eq, Rabs_R0 by easy. pose proof (Rabs_pos (v1 * a1)). nra.
        * now apply (near_is_summed A step few small_step).
        * apply (near_is_summed A step few small_step).
          replace (- t - (- q + v1 * a1)) with (- (t - (- (v1 * a1) + q))) by ring.
          replace (- q + v1 * a1) with (- (- (v1 * a1) + q)) by ring. now rewrite !Rabs_Ropp.
      + unfold rounding_levels. cbn [filter]. destruct (2 ^ 0 <? n)%N eqn:one; [cbn; lia|exfalso].
        apply N.ltb_ge in one. rewrite inside in l1 by (change (2 ^ 0)%N with 1%N in one; lia). discriminate.
    - right. destruct first as [below0 [b0 [arg0 [ex0 same0]]]]. exists 0%nat. split; [|lia].
      assert (t = q) as ->.
      { apply Rmult_eq_reg_r with (two_to 64); [|lra]. rewrite <- t_value, second, Rmult_0_l, Ropp_0, Rplus_0_l.
        apply fl_number, (value_number _ _ hq0). }
      rewrite (s1 second). apply streamed_item with b0; try easy. rewrite <- same0.
      apply (product_within A step few small_step).
      replace (- q - v0 * a0) with (- (q - - (v0 * a0))) by ring. now rewrite Rabs_Ropp, <- (Rabs_Ropp (v0 * a0)).
    - right. destruct second as [below1 [b1 [arg1 [ex1 same1]]]]. exists 0%nat. split; [|lia].
      assert (q = 0) as ->.
      { apply Rmult_eq_reg_r with (two_to 64); [|lra]. rewrite <- q_value, first, Rmult_0_l, Ropp_0, Rmult_0_l. apply fl_0. }
      rewrite (s0 first). apply streamed_item with b1; try easy. rewrite <- same1.
      apply (product_within A step few small_step). rewrite Rplus_0_r in t_near.
      replace (- t - v1 * a1) with (- (t - - (v1 * a1))) by ring. now rewrite Rabs_Ropp, <- (Rabs_Ropp (v1 * a1)).
    - left. split; [easy|]. split; [now rewrite (s0 first)|]. subst v0 v1.
      assert (q = 0) as ->.
      { apply Rmult_eq_reg_r with (two_to 64); [|lra]. rewrite <- q_value, !Rmult_0_l, Ropp_0, Rmult_0_l. apply fl_0. }
      apply Rmult_eq_reg_r with (two_to 64); [|lra].
      rewrite <- Ropp_mult_distr_l, <- t_value, !Rmult_0_l, Ropp_0, Rplus_0_l, Rmult_0_l, fl_0. ring.
  Qed.

  Lemma both_sums_compute bits :
    (Z.of_nat (length bits) <= 40)%Z -> forall i,
    exists s y, is_value (added_by add (bits ++ [0%N]) weight i) (s * two_to 64) /\
      is_value (added_by add bits paired i) (- y * two_to 64) /\
      Rabs s <= two_to (2 + Z.of_nat (length bits)) /\ Rabs y <= two_to (11 + Z.of_nat (length bits)) /\
      (visible_by (bits ++ [0%N]) i = [] /\ s = 0 /\ y = 0 \/
       exists h, streamed M (visible_by (bits ++ [0%N]) i) m s y h 0 0 /\ (h <= rounding_levels n (bits ++ [0%N]))%nat).
  Proof using few small_step inside items.
    induction bits as [|b rest IH]; intros short i; [exact (pair_computes i)|].
    cbn [length app added_by] in *. rewrite Nat2Z.inj_succ in *.
    destruct (IH ltac:(lia) i) as [s1 [y1 [hs1 [hy1 [rs1 [ry1 one]]]]]].
    destruct (IH ltac:(lia) (i + 2 ^ b)%N) as [s2 [y2 [hs2 [hy2 [rs2 [ry2 two]]]]]].
    destruct (terms_added _ _ s1 s2 (2 + Z.of_nat (length rest))%Z ltac:(lia) hs1 hs2 rs1 rs2) as [s [hs [rs [sum [first second]]]]].
    destruct (terms_added _ _ (- y1) (- y2) (11 + Z.of_nat (length rest))%Z ltac:(lia) hy1 hy2) as
      [t [ht [rt [total [first' second']]]]]; [now rewrite Rabs_Ropp..|].
    exists s, (- t). rewrite Ropp_involutive, Rabs_Ropp, !Z.add_succ_r. repeat (split; [assumption|]). rewrite visible_both.
    assert (more : (rounding_levels n (rest ++ [0%N]) <= rounding_levels n (b :: rest ++ [0%N]))%nat).
    { unfold rounding_levels. cbn [filter]. destruct (2 ^ b <? n)%N; cbn [length]; lia. }
    destruct one as [[-> [-> ->]]|[h [tree low]]], two as [[nothing [-> ->]]|[h' [tree' low']]].
    - left. rewrite nothing. split; [easy|]. split; [now apply first|]. rewrite first' by lra. lra.
    - right. exists h'. cbn [app]. rewrite first, first', Ropp_involutive by lra. split; [easy|lia].
    - right. exists h. rewrite nothing, app_nil_r, second, second', Ropp_involutive by lra. split; [easy|lia].
    - right. exists (S (max h h')). split.
      + apply (streamed_addition M _ _ m s1 s2 s y1 y2 (- t) h h' 0 0 0 0); try easy;
          [now apply (near_is_summed A step few small_step)|]. apply (near_is_summed A step few small_step).
        replace (- t - (y1 + y2)) with (- (t - (- y1 + - y2))) by ring.
        replace (y1 + y2) with (- (- y1 + - y2)) by ring. now rewrite !Rabs_Ropp.
      + unfold rounding_levels in *. cbn [filter]. destruct (2 ^ b <? n)%N eqn:both; [cbn [length]; lia|exfalso].
        apply N.ltb_ge in both. pose proof (nothing_behind (rest ++ [0%N]) (i + 2 ^ b) ltac:(lia)) as none.
        rewrite none in tree'. apply streamed_summed, height_of_tree, tree_heights.height_below_size in tree' as [_ some].
        easy.
  Qed.

  (** Both sums of a row, where neighbours are added first. *)
  Theorem order_computes bits k row :
    Permutation (bits ++ [0%N]) (bits_below k) -> (k <= 40)%nat -> Permutation (visible_by (bits ++ [0%N]) 0) row ->
    is_maximum m row ->
    exists s y h, is_value (added_by add (bits ++ [0%N]) weight 0) (s * two_to 64) /\
      is_value (added_by add bits paired 0) (- y * two_to 64) /\ sum_of_row M 0 m row s h 0 /\
      moments_of_row M 0 m row s y h 0 /\ (N.of_nat h <= summation_height tree_of_pairs n)%N.
  Proof using few small_step inside items.
    intros order short same max. pose proof (Permutation_length order) as count.
    assert (length_below : forall k, length (bits_below k) = k) by (induction k0; cbn; congruence).
    rewrite length_below, app_length in count.
    destruct (both_sums_compute bits ltac:(lia) 0) as [s [y [hs [hy [_ [_ tree]]]]]]. exists s, y.
    destruct tree as [[none _]|[h [tree low]]].
    { exfalso. rewrite none in same. apply Permutation_nil in same. rewrite same in max. now destruct max. }
    exists h. split; [exact hs|]. split; [exact hy|]. apply (streamed_reordered M _ row) in tree; [|easy]. split; [|split].
    - apply (sum_of_tree M 0 m row m row s h 0 0); try easy; [apply converted_same|now apply streamed_summed with y|].
      cbn. unfold size. pose proof (pos_INR (length row)). lra.
    - apply (moments_of_trees M 0 m row m row s y h 0 0); try easy; [apply converted_same|]. cbn. apply pos_INR.
    - pose proof (height_of_order n _ k order). lia.
  Qed.
End Sums.

(** ** Two vectors and one item of a third, of four items each: 9 of them in a tile of 512, and as high as the word allows *)

Example height_is_reached :
  Permutation (canonical_order 2 0) (bits_below 9) /\
  rounding_levels 9 (canonical_order 2 0) = 4%nat /\ summation_height tree_of_pairs 9 = 4%N.
Proof. split; [apply canonical_order_covers|split; reflexivity]. Qed.

(** Two logits and a masked item. *)
Example short_row_is_added :
  let logit i := (if i =? 1 then None else if i <? 3 then Some 0%R else None)%N in
  let weight i := (if i =? 1 then zero else if i <? 3 then dyadic 1 64 else zero)%N in
  (forall i, is_item 0 0 0 (logit i) (weight i) zero) /\ (forall i, (3 <= i)%N -> logit i = None) /\
  visible_by logit (bits_below 2) 0 = [0; 0] /\ is_maximum 0 [0; 0] /\
  added_by add (bits_below 2) weight 0 = dyadic 1 65.
Proof.
  cbv zeta. split; [|split; [|split; [|split]]].
  - pose proof (strict_arithmetic_sound 0 0 ltac:(lia) ltac:(lra)) as good.
    assert (none : is_value zero 0) by apply zero_value.
    assert (argument : is_value zero (- 0)) by (eapply value_at; [exact none|ring]).
    assert (hidden : is_item 0 0 0 None zero zero).
    { exists 0, 0. rewrite Rmult_0_l. repeat split; try lra; apply none || apply argument. }
    intros i. destruct (N.eqb_spec i 1); [exact hidden|]. destruct (N.ltb_spec i 3); [|exact hidden].
    exists 1, 0. split; [lra|]. split; [lra|]. split; [|split; [exact argument|split; [lra|]]].
    + eapply value_at; [apply dyadic_value; [left; reflexivity|lia]|]. ring.
    + exists 0. split; [|split; [|ring]].
      * exists 0, 0. rewrite Rabs_R0, exp_0. unfold sound in good. repeat split; try apply good. ring.
      * apply (exponential_of_contract _ good). left. exists 0. rewrite Rabs_R0, Ropp_0, exp_0. unfold sound in good.
        split; [apply good|ring].
  - intros i far. destruct (N.eqb_spec i 1); [easy|]. destruct (N.ltb_spec i 3); [lia|easy].
  - reflexivity.
  - split; [now left|]. intros x [<-|[<-|[]]]; lra.
  - apply B2SF_inj. vm_compute. reflexivity.
Qed.
