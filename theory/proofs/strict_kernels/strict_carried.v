(** * The strict kernels' sums over items, as trees of the model of arithmetic.

    [carried s l r H J K]: value and rest of the compensated sum s are together what a tree of at most H additions and J
    rescalings on a path, K rescalings in all, may make of the exponentials of l about r; the rest is small.

    Main results
    - [plain_added]      two numbers added
    - [item_added]       a number added to a compensated sum
    - [sums_added]       two compensated sums added

    For at most 2^22 items and 2^15 operations on a path. Source: kernels/block/compensated_sum.hpp. *)

From Coq Require Import Reals List ZArith Permutation Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row atoms reduction.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_exponential block_row.
From softcheck.strict_kernels Require Import strict_operations strict_exponential strict_weights strict_sums.
Import ListNotations.
Local Open Scope R_scope.

Section Carried.
  Context (A : nat) (step : R).
  Hypothesis few : (A <= 12)%nat.
  Hypothesis small_step : 0 <= step <= / 2.
  Notation M := (strict_arithmetic A step).
  Let good : sound M := strict_arithmetic_sound A step few small_step.

  (** ** An argument, maybe one that has overflowed *)

  Definition argued (z : f32) (D : R) : Prop :=
    (exists a, is_value z a /\ a <= 0 /\ computed_argument M D (- a)) \/
    (less exp_lowest z = false /\ exists b, 110 <= b /\ computed_argument M D b).

  Lemma argued_weight z D :
    argued z D -> exists b w, computed_argument M D b /\ computed_exp M b w /\ is_value (exponential z) w /\ 0 <= w <= 1.
  Proof using few small_step.
    intros [[a [hz [le arg]]]|[far [b [beyond arg]]]].
    - destruct (weight_is_computed A step few small_step z a hz le) as [w [hw [range exps]]]. exists (- a), w.
      repeat (split; [assumption|]). exact range.
    - exists b, 0. split; [easy|]. split; [now apply nothing_is_computed|]. split; [now apply far_exponential|lra].
  Qed.

  Lemma argued_factor z D :
    argued z D ->
    exists b f, computed_argument M D b /\ computed_exp M b f /\ is_value (value (exponential_parts z)) f /\ 0 <= f <= 1 /\
      (0 < f -> exists g, is_value (rest (exponential_parts z)) g /\ computed_exp M b (f + g) /\ Rabs g <= 9 * u32 * f).
  Proof using few small_step.
    intros [[a [hz [le arg]]]|[far [b [beyond arg]]]].
    - destruct (factor_is_computed A step few small_step z a hz le) as [f [hf [range [exps parts]]]].
      exists (- a), f. repeat (split; [assumption|]). exact parts.
    - exists b, 0. split; [easy|]. split; [now apply nothing_is_computed|]. split; [now apply far_exponential|].
      split; [lra|]. intros pos. lra.
  Qed.

  (** ** What a number may be of some items *)

  Definition partial (l : list R) (r s : R) (H J K : nat) : Prop :=
    (l = [] /\ s = 0) \/ exists h j k, (h <= H)%nat /\ (j <= J)%nat /\ (k <= K)%nat /\ summed M l r s h j k.

  Lemma partial_wider l r s H J K H' J' K' :
    (H <= H')%nat -> (J <= J')%nat -> (K <= K')%nat -> partial l r s H J K -> partial l r s H' J' K'.
  Proof.
    intros hH hJ hK [nothing|[h [j [k [a [b [c tree]]]]]]]; [now left|]. right. exists h, j, k. repeat split; try lia. easy.
  Qed.

  Lemma partial_reordered l l' r s H J K : Permutation l l' -> partial l r s H J K -> partial l' r s H J K.
  Proof.
    intros same [[-> none]|[h [j [k [a [b [c tree]]]]]]].
    - apply Permutation_nil in same. now left.
    - right. exists h, j, k. repeat split; try easy. now apply summed_reordered with l.
  Qed.

  Lemma partial_added l1 l2 r s1 s2 s H1 H2 J1 J2 K1 K2 :
    partial l1 r s1 H1 J1 K1 -> partial l2 r s2 H2 J2 K2 -> computed_sum M (s1 + s2) s ->
    (l1 = [] \/ l2 = [] -> s = s1 + s2) ->
    partial (l1 ++ l2) r s (S (max H1 H2)) (max J1 J2) (K1 + K2).
  Proof.
    intros p1 p2 added exact. destruct p1 as [[-> ->]|[h1 [j1 [k1 [a1 [b1 [c1 tree1]]]]]]].
    - rewrite exact, Rplus_0_l by now left. cbn [app]. eapply partial_wider; [| | |apply p2]; lia.
    - destruct p2 as [[-> ->]|[h2 [j2 [k2 [a2 [b2 [c2 tree2]]]]]]].
      + rewrite exact, Rplus_0_r, app_nil_r by now right. right. exists h1, j1, k1. repeat split; try lia. easy.
      + right. exists (S (max h1 h2)), (max j1 j2), (k1 + k2)%nat. repeat split; try lia.
        now apply summed_addition with s1 s2.
  Qed.

  (** ** Plain numbers *)

  Definition short (l : list R) : Prop := (Z.of_nat (length l) <= 2 ^ 22)%Z.
  Definition counted_items (l : list R) : R := INR (length l).

  Lemma counted_app l1 l2 : counted_items (l1 ++ l2) = counted_items l1 + counted_items l2.
  Proof. unfold counted_items. now rewrite app_length, plus_INR. Qed.

  Lemma counted_number l : short l -> number binary32 (counted_items l) /\ 0 <= counted_items l <= 4194304.
  Proof.
    intros few_items. unfold counted_items. rewrite INR_IZR_INZ. unfold short in few_items. split.
    - apply integer_number. rewrite Z.abs_eq by lia. eapply Z.le_lt_trans; [exact few_items|reflexivity].
    - split; [apply IZR_le; lia|]. apply (IZR_le _ 4194304). exact few_items.
  Qed.

  (** Sums of numbers stay below their count: counts are numbers, and rounding is monotone. *)
  Lemma sum_counted l1 l2 v1 v2 :
    short (l1 ++ l2) -> 0 <= v1 <= counted_items l1 -> 0 <= v2 <= counted_items l2 ->
    0 <= fl32 (v1 + v2) <= counted_items (l1 ++ l2).
  Proof.
    intros few_items r1 r2. split; [apply fl_nonneg; lra|].
    rewrite <- (fl_number binary32 (counted_items (l1 ++ l2))) by now apply counted_number.
    apply fl_monotone; [easy|]. rewrite counted_app. lra.
  Qed.

  Definition plain (w : f32) (l : list R) (r : R) (H : nat) : Prop :=
    exists x, is_value w x /\ 0 <= x <= counted_items l /\ partial l r x H 0 0.

  Lemma plain_nothing w r H : is_value w 0 -> plain w [] r H.
  Proof. intros hw. exists 0. split; [easy|]. split; [cbn; lra|now left]. Qed.

  Lemma plain_item z x r D H : argued z D -> x <= r -> r - x = D -> plain (exponential z) [x] r H.
  Proof using few small_step.
    intros arg le same. destruct (argued_weight z D arg) as [b [w [ha [he [hw range]]]]].
    exists w. split; [easy|]. split; [cbn; lra|]. right. exists 0%nat, 0%nat, 0%nat. repeat split; try lia.
    apply summed_item with b; [easy| |easy]. now rewrite same.
  Qed.

  Lemma within_22 x : 0 <= x <= 4194304 -> Rabs x <= two_to 22.
  Proof. intros range. change (two_to 22) with 4194304. rewrite Rabs_right; lra. Qed.

  Theorem plain_added w1 w2 l1 l2 r H1 H2 :
    short (l1 ++ l2) -> plain w1 l1 r H1 -> plain w2 l2 r H2 -> plain (add w1 w2) (l1 ++ l2) r (S (max H1 H2)).
  Proof using few small_step.
    intros few_items [x1 [h1 [r1 p1]]] [x2 [h2 [r2 p2]]].
    destruct (counted_number (l1 ++ l2) few_items) as [_ bound]. rewrite counted_app in bound.
    pose proof (pos_INR (length l1)) as n1. pose proof (pos_INR (length l2)) as n2.
    fold (counted_items l1) in n1. fold (counted_items l2) in n2.
    exists (fl32 (x1 + x2)). split; [|split; [now apply sum_counted|]].
    - apply near_add; try easy; apply wider with 22%Z; try lia; apply within_22; lra.
    - pose proof (value_number _ _ h1) as v1. pose proof (value_number _ _ h2) as v2.
      apply (partial_added l1 l2 r x1 x2 _ H1 H2 0 0 0 0); try easy.
      + apply (sum_within A step few small_step). pose proof (fl_sum_error x1 x2 v1 v2). pose proof half_quantum_positive. lra.
      + intros [-> | ->].
        * assert (x1 = 0) as -> by (cbn in r1; lra). rewrite Rplus_0_l. now apply fl_number.
        * assert (x2 = 0) as -> by (cbn in r2; lra). rewrite Rplus_0_r. now apply fl_number.
  Qed.

  (** ** Compensated sums *)

  Record carries (l : list R) (r v e : R) (H J K : nat) : Prop := {
    value_range : 0 <= v <= counted_items l;
    rest_small : small_rest v e (H + J) K;
    rest_of_nothing : l = [] -> e = 0;
    tree_of_items : partial l r (v + e) H J K
  }.

  Definition carried (s : compensated) (l : list R) (r : R) (H J K : nat) : Prop :=
    exists v e, is_value (sum_value s) v /\ is_value (sum_rest s) e /\ carries l r v e H J K.

  Lemma carried_wider s l r H J K H' J' K' :
    (H <= H')%nat -> (J <= J')%nat -> (K <= K')%nat -> carried s l r H J K -> carried s l r H' J' K'.
  Proof.
    intros hH hJ hK [v [e [hv [he [range small none tree]]]]]. exists v, e. split; [easy|]. split; [easy|].
    constructor; try easy; [|now apply partial_wider with H J K].
    apply small_rest_wider with (H + J)%nat K; try easy; lia.
  Qed.

  Lemma carried_reordered s l l' r H J K : Permutation l l' -> carried s l r H J K -> carried s l' r H J K.
  Proof.
    intros same [v [e [hv [he [range small none tree]]]]]. exists v, e. split; [easy|]. split; [easy|].
    constructor; try easy; [| |now apply partial_reordered with l].
    - unfold counted_items in *. now rewrite <- (Permutation_length same).
    - intros ->. apply none. now apply Permutation_nil, Permutation_sym.
  Qed.

  Lemma carried_nothing r H J K : carried no_sum [] r H J K.
  Proof.
    exists 0, 0. split; [easy|]. split; [easy|]. constructor; [cbn; lra| |easy|left; split; [easy|ring]].
    unfold small_rest. rewrite Rabs_R0, Rmult_0_r, Rplus_0_l. unfold rest_floor. pose proof (pos_INR K).
    pose proof (pos_INR (H + J)). pose proof half_quantum_positive. change u32 with (/ 16777216).
    apply Rmult_le_pos; [apply Rmult_le_pos; lra|lra].
  Qed.

  Definition limited (l : list R) (H J K : nat) : Prop :=
    short l /\ (Z.of_nat (H + J) <= 2 ^ 15)%Z /\ (Z.of_nat K <= 2 ^ 22)%Z.

  Lemma rest_within v e N K :
    (Z.of_nat N <= 2 ^ 15)%Z -> (Z.of_nat K <= 2 ^ 22)%Z -> 0 <= v <= 4194304 -> small_rest v e N K -> Rabs e <= two_to 30.
  Proof.
    intros few_steps few_items range small. destruct (limits N K few_steps few_items) as [slope [_ [floor [tiny _]]]].
    unfold small_rest in small. pose proof half_quantum_range. change u32 with (/ 16777216) in *.
    change (two_to 30) with 1073741824. assert (rest_slope N * v <= / 40 * 4194304) by (apply Rmult_le_compat; lra). lra.
  Qed.

  Theorem item_added s w l l2 r H H2 J K :
    limited (l ++ l2) H J K -> carried s l r H J K -> plain w l2 r H2 ->
    carried (plus_item s w) (l ++ l2) r (S (max H H2)) J K.
  Proof using few small_step.
    intros [few_items [few_steps few_scalings]] [v [e [hv [he [range small none tree]]]]] [x [hx [xr xt]]].
    destruct (counted_number _ few_items) as [_ bound]. rewrite counted_app in bound.
    pose proof (rest_within v e (H + J) K few_steps few_scalings ltac:(lra) small) as e_within.
    destruct (plus_item_value s w v e x hv he hx) as [d [h_value [h_rest [d_number [exact d_small]]]]];
      [apply wider with 22%Z; [lia|apply within_22; lra]|easy|apply wider with 22%Z; [lia|apply within_22; lra]|].
    pose proof (value_number _ _ he) as e_number.
    exists (fl32 (v + x)), (fl32 (e + d)). split; [easy|]. split; [easy|].
    rewrite (Rabs_right (v + x)) in d_small by lra.
    pose proof (fl_sum_error e d e_number d_number) as err.
    destruct (sums_added_real A step few small_step (H + J) K K 0 few_steps few_scalings ltac:(lia)
                v e x 0 (fl32 (v + x)) d (fl32 (e + d)) (fl32 (e + d))) as [added smaller]; try easy; try lra.
    { unfold small_rest. rewrite Rabs_R0. destruct (limits (H + J) 0 few_steps ltac:(easy)) as [slope [_ [floor _]]].
      assert (0 <= rest_slope (H + J) * x) by (apply Rmult_le_pos; lra). lra. }
    { rewrite Rplus_0_r, Rminus_diag_eq, Rabs_R0 by easy. apply Rmult_le_pos; [apply bpow_ge_0|apply Rabs_pos]. }
    rewrite Rplus_0_r in added. constructor.
    - now apply sum_counted.
    - apply small_rest_wider with (S (H + J)) K; [now apply (sum_counted l l2)|lia|lia|easy].
    - intros nothing. apply app_eq_nil in nothing as [-> ->]. rewrite none in * by easy.
      assert (v = 0) as -> by (cbn in range; lra). assert (x = 0) as -> by (cbn in xr; lra).
      rewrite !Rplus_0_r, Rmult_0_r in *. assert (d = 0) as -> by (apply Rabs_le_inv in d_small; lra).
      rewrite Rplus_0_l. apply fl_0.
    - replace J with (max J 0) at 1 by lia. replace K with (K + 0)%nat at 1 by lia.
      apply (partial_added l l2 r (v + e) x _ H H2 J 0 K 0); try easy.
      intros [-> | ->].
      + rewrite none in * by easy. assert (v = 0) as -> by (cbn in range; lra). rewrite !Rplus_0_l in *.
        assert (same : fl32 x = x) by (apply fl_number; now apply (value_number w)). rewrite same in *.
        assert (d = 0) as -> by lra. rewrite fl_0. ring.
      + assert (x = 0) as -> by (cbn in xr; lra). rewrite !Rplus_0_r in *.
        assert (same : fl32 v = v) by (apply fl_number; now apply (value_number (sum_value s))). rewrite same in *.
        assert (d = 0) as -> by lra. rewrite Rplus_0_r. now rewrite fl_number.
  Qed.

  Theorem sums_added s1 s2 l1 l2 r H1 H2 J1 J2 K1 K2 :
    limited (l1 ++ l2) (max H1 H2) (max J1 J2) (K1 + K2) ->
    carried s1 l1 r H1 J1 K1 -> carried s2 l2 r H2 J2 K2 ->
    carried (plus_sum s1 s2) (l1 ++ l2) r (S (max H1 H2)) (max J1 J2) (K1 + K2).
  Proof using few small_step.
    intros [few_items [few_steps few_scalings]] [v1 [e1 [hv1 [he1 [range1 small1 none1 tree1]]]]]
      [v2 [e2 [hv2 [he2 [range2 small2 none2 tree2]]]]].
    destruct (counted_number _ few_items) as [_ bound]. rewrite counted_app in bound. set (N := (max H1 H2 + max J1 J2)%nat) in *.
    pose proof (small_rest_wider v1 e1 (H1 + J1) N K1 K1 ltac:(lra) ltac:(lia) ltac:(lia) small1) as w1.
    pose proof (small_rest_wider v2 e2 (H2 + J2) N K2 K2 ltac:(lra) ltac:(lia) ltac:(lia) small2) as w2.
    pose proof (rest_within v1 e1 N K1 few_steps ltac:(lia) ltac:(lra) w1) as e1_within.
    pose proof (rest_within v2 e2 N K2 few_steps ltac:(lia) ltac:(lra) w2) as e2_within.
    destruct (plus_item_value s1 (sum_value s2) v1 e1 v2 hv1 he1 hv2) as [d [h_value [h_rest [d_number [exact d_small]]]]];
      [apply wider with 22%Z; [lia|apply within_22; lra]|easy|apply wider with 22%Z; [lia|apply within_22; lra]|].
    rewrite (Rabs_right (v1 + v2)) in d_small by lra.
    assert (d_within : Rabs d <= two_to 30).
    { change (two_to 30) with 1073741824. change u32 with (/ 16777216) in d_small. lra. }
    exists (fl32 (v1 + v2)), (fl32 (fl32 (e1 + d) + e2)). split; [easy|]. split.
    { unfold plus_sum. cbn [sum_rest]. apply near_add; [easy|easy| |now apply wider with 30%Z; [lia|]].
      apply wider with 31%Z; [lia|]. now apply (fl_sum_within _ _ 30). }
    assert (e1_number : number binary32 e1) by now apply (value_number (sum_rest s1)).
    assert (e2_number : number binary32 e2) by now apply (value_number (sum_rest s2)).
    assert (first_number : number binary32 (fl32 (e1 + d))) by apply number_fl, positive_precision_32.
    destruct (sums_added_real A step few small_step N (K1 + K2) K1 K2 few_steps few_scalings eq_refl
                v1 e1 v2 e2 (fl32 (v1 + v2)) d (fl32 (e1 + d)) (fl32 (fl32 (e1 + d) + e2))) as [added smaller];
      try easy; try lra; try (now apply fl_sum_error).
    constructor.
    - now apply sum_counted.
    - apply small_rest_wider with (S N) (K1 + K2)%nat; [now apply (sum_counted l1 l2)|unfold N; lia|lia|easy].
    - intros nothing. apply app_eq_nil in nothing as [-> ->]. rewrite none1, none2 in * by easy.
      assert (v1 = 0) as -> by (cbn in range1; lra). assert (v2 = 0) as -> by (cbn in range2; lra).
      rewrite !Rplus_0_r, Rmult_0_r in *. assert (d = 0) as -> by (apply Rabs_le_inv in d_small; lra).
      now rewrite Rplus_0_l, !fl_0.
    - apply partial_added with (v1 + e1) (v2 + e2); try easy. intros [-> | ->].
      + rewrite none1 in * by easy. assert (v1 = 0) as -> by (cbn in range1; lra). rewrite !Rplus_0_l in *.
        assert (same : fl32 v2 = v2) by (apply fl_number; now apply (value_number (sum_value s2))). rewrite same in *.
        assert (d = 0) as -> by lra. now rewrite fl_0, Rplus_0_l, (fl_number binary32 e2).
      + rewrite none2 in * by easy. assert (v2 = 0) as -> by (cbn in range2; lra). rewrite !Rplus_0_r in *.
        assert (same : fl32 v1 = v1) by (apply fl_number; now apply (value_number (sum_value s1))). rewrite same in *.
        assert (d = 0) as -> by lra. rewrite Rplus_0_r. now rewrite !(fl_number binary32 e1).
  Qed.
End Carried.
