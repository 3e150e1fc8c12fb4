(** * A thread's state of the strict kernels holds the statistics of its items.

    [holds s l H J]: s is the state of a thread whose items are l, in units of the exponent: its maximum is theirs, its sum
    is that of the others by a tree of the model, of at most H additions and J rescalings on a path.

    Main results
    - [sum_rescaled]    a compensated sum about a larger reference
    - [maximum_raised]  a state about a larger maximum
    - [states_merged]   the state of two threads

    Source: kernels/block/row_statistics.hpp. *)

From Coq Require Import Reals List ZArith Permutation Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row atoms reduction.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_exponential block_row.
From softcheck.strict_kernels Require Import strict_operations strict_exponential strict_weights strict_sums strict_carried.
Import ListNotations.
Local Open Scope R_scope.

Section State.
  Context (A : nat) (step : R).
  Hypothesis few : (A <= 12)%nat.
  Hypothesis small_step : 0 <= step <= / 2.
  Notation M := (strict_arithmetic A step).
  Let good : sound M := strict_arithmetic_sound A step few small_step.
  Notation carried := (carried A step).
  Notation argued := (argued A step).

  Lemma limited_less l l' H H' J J' K K' :
    (length l <= length l')%nat -> (H + J <= H' + J')%nat -> (K <= K')%nat -> limited l' H' J' K' -> limited l H J K.
  Proof. intros hl hHJ hK [short [steps scalings]]. unfold limited, strict_carried.short in *. repeat split; lia. Qed.

  Theorem sum_rescaled s z l r r' H J K :
    limited l H J K -> l <> [] -> r <= r' -> argued z (r' - r) -> carried s l r H J K ->
    carried (if less zero (value (exponential_parts z)) then times_parts s (exponential_parts z) else no_sum)
      l r' H (S J) (S K).
  Proof using few small_step.
    intros [few_items [few_steps few_scalings]] some le arg [v [e [hv [he [range small none tree]]]]].
    destruct (argued_factor A step few small_step z _ arg) as [b [f [ha [hf [h_value [f_range parts]]]]]].
    destruct tree as [[nothing _]|[h [j [k [hh [hj [hk tree]]]]]]]; [easy|].
    destruct (counted_number A few _ few_items) as [_ bound].
    pose proof (rest_within v e (H + J) K few_steps few_scalings ltac:(lra) small) as e_within.
    destruct (less zero (value (exponential_parts z))) eqn:counts.
    - apply (less_value _ _ _ _ zero_value h_value) in counts.
      destruct (parts counts) as [g [h_rest [exps g_small]]]. set (factor := exponential_parts z) in *.
      assert (g_within : Rabs g <= 1) by (change u32 with (/ 16777216) in g_small; lra).
      assert (vf : 0 <= v * f <= v) by (split; [apply Rmult_le_pos; lra|rewrite <- (Rmult_1_r v) at 2; apply Rmult_le_compat_l; lra]).
      assert (v_number : number binary32 v) by now apply (value_number (sum_value s)).
      assert (product_range : 0 <= fl32 (v * f) <= v).
      { split; [now apply fl_nonneg|]. rewrite <- (fl_number binary32 v v_number) at 2. now apply fl_monotone. }
      assert (power : two_to 22 = 4194304 /\ two_to 30 = 1073741824) by easy.
      assert (far : forall x, Rabs x <= two_to 60 -> Rabs x <= two_to 127) by (intros; now apply wider with 60%Z; [lia|]).
      assert (h_product : is_value (mul (sum_value s) (value factor)) (fl32 (v * f))).
      { apply mul_value; try easy. apply wider with 22%Z; [lia|]. apply within_22. lra. }
      assert (difference : Rabs (v * f + - fl32 (v * f)) <= two_to 22).
      { apply Rabs_le. lra. }
      assert (h_rounded : is_value (fused (sum_value s) (value factor) (neg (mul (sum_value s) (value factor))))
                            (fl32 (v * f + - fl32 (v * f)))).
      { apply fused_value; try easy; [now apply neg_value|]. now apply wider with 22%Z; [lia|]. }
      set (q := fl32 (v * f + - fl32 (v * f))) in *.
      assert (q_within : Rabs q <= two_to 22) by (apply fl_within; [lia|easy]).
      assert (vg : Rabs (v * g) <= two_to 22).
      { rewrite Rabs_mult, (Rabs_right v) by lra. replace (two_to 22) with (4194304 * 1) by lra.
        apply Rmult_le_compat; try lra. apply Rabs_pos. }
      assert (vgq : Rabs (v * g + q) <= two_to 23).
      { change 23%Z with (22 + 1)%Z. rewrite bpow_plus. change (two_to 1) with 2. pose proof (Rabs_triang (v * g) q). lra. }
      assert (h_m : is_value (fused (sum_value s) (rest factor)
                        (fused (sum_value s) (value factor) (neg (mul (sum_value s) (value factor))))) (fl32 (v * g + q))).
      { apply fused_value; try easy. now apply wider with 23%Z; [lia|]. }
      set (m := fl32 (v * g + q)) in *.
      assert (m_within : Rabs m <= two_to 23) by (apply fl_within; [lia|easy]).
      assert (ef : Rabs (e * f) <= two_to 30).
      { rewrite Rabs_mult, (Rabs_right f) by lra. replace (two_to 30) with (two_to 30 * 1) by ring.
        apply Rmult_le_compat; try lra. apply Rabs_pos. }
      assert (efm : Rabs (e * f + m) <= two_to 31).
      { change 31%Z with (30 + 1)%Z. rewrite bpow_plus. change (two_to 1) with 2. pose proof (Rabs_triang (e * f) m).
        assert (two_to 23 <= two_to 30) by (apply bpow_le; lia). lra. }
      exists (fl32 (v * f)), (fl32 (e * f + m)). split; [exact h_product|]. split.
      { unfold times_parts. cbn [sum_rest]. apply fused_value; try easy. now apply wider with 31%Z; [lia|]. }
      destruct (sum_rescaled_real A step few small_step (H + J) K few_steps few_scalings v e f g (fl32 (v * f)) q m
                  (fl32 (e * f + m))) as [product smaller]; try easy; try apply fl_error.
      constructor; try easy.
      + lra.
      + now replace (H + S J)%nat with (S (H + J)) by lia.
      + right. exists h, (S j), (S k). repeat split; try lia. now apply summed_rescaled with r (v + e) b (f + g).
    - assert (f = 0) as ->.
      { destruct (Req_dec f 0) as [yes|no]; [easy|]. rewrite (proj2 (less_value _ _ _ _ zero_value h_value)) in counts; [easy|lra]. }
      exists 0, 0. split; [easy|]. split; [easy|]. constructor; [lra| |easy|].
      + unfold small_rest. rewrite Rabs_R0, Rmult_0_r, Rplus_0_l. unfold rest_floor.
        pose proof (pos_INR (S K)). pose proof (pos_INR (H + S J)). pose proof half_quantum_positive.
        change u32 with (/ 16777216). apply Rmult_le_pos; [apply Rmult_le_pos; lra|lra].
      + right. exists h, (S j), (S k). repeat split; try lia. apply summed_rescaled with r (v + e) b 0; try easy.
        apply (product_within A step few small_step). rewrite Rmult_0_r, Rplus_0_r, Rminus_diag_eq, Rabs_R0 by easy.
        pose proof half_quantum_positive. lra.
  Qed.

  (** ** The scale, and what is visible *)

  Context (scale : f32) (unit : R).
  Hypothesis scale_value : is_value scale unit.
  Hypothesis unit_positive : 0 < unit.
  (** The argument of an item at a maximum, whether or not it overflows. *)
  Hypothesis argument : forall x y a b,
    is_value x a -> is_value y b -> a <= b -> argued (mul (sub x y) scale) (b * unit - a * unit).

  Definition admissible (x : f32) : Prop := is_finite x = true \/ x = minus_infinity.
  Definition visible (x : f32) : list R := if is_finite x then [val x * unit] else [].

  Inductive holds (s : state) (l : list R) (H J : nat) : Prop :=
  | holds_nothing : l = [] -> maximum s = minus_infinity -> weights s = no_sum -> holds s l H J
  | holds_items m l' K :
      is_value (maximum s) m -> Permutation l (m * unit :: l') -> above_all (m * unit) l' -> (K <= length l')%nat ->
      carried (weights s) l' (m * unit) H J K -> holds s l H J.

  Lemma holds_reordered s l l' H J : Permutation l l' -> holds s l H J -> holds s l' H J.
  Proof.
    intros same [-> hm hw|m l0 K hm perm above hK sums].
    - apply Permutation_nil in same as ->. now apply holds_nothing.
    - apply holds_items with m l0 K; try easy. now apply Permutation_trans with l; [apply Permutation_sym|].
  Qed.

  Lemma holds_wider s l H J H' J' : (H <= H')%nat -> (J <= J')%nat -> holds s l H J -> holds s l H' J'.
  Proof.
    intros hH hJ [-> hm hw|m l0 K hm perm above hK sums]; [now apply holds_nothing|].
    apply holds_items with m l0 K; try easy. now apply (carried_wider A step few) with H J K.
  Qed.

  Lemma finite_not_empty s m : is_value (maximum s) m -> empty s = false /\ defined s = true.
  Proof.
    intros [finite _]. unfold empty, defined. destruct (maximum s); try discriminate; split; reflexivity.
  Qed.

  Lemma item_itself r : plain A step one [r] r 0.
  Proof using few small_step.
    exists 1. split; [apply one_value|]. split; [cbn; lra|]. right. exists 0%nat, 0%nat, 0%nat. repeat split; try lia.
    assert (arg : 0 <= argument_unit M /\ 0 <= argument_step M /\ 0 <= exp_floor M /\ 0 <= exp_cutoff M)
      by (unfold sound in good; lra).
    apply summed_item with 0; [lra| |].
    - exists 0, 0. rewrite !Rabs_R0. repeat split; try apply arg. ring.
    - exists 0, 0. rewrite !Rabs_R0, !Ropp_0, !Rplus_0_r, exp_0, Rmult_0_r. pose proof (exp_unit_nonneg M good).
      repeat split; try easy; try apply arg; try lra. apply Rmult_le_pos; apply arg.
  Qed.

  Lemma ordered x y : x * unit <= y * unit -> x <= y.
  Proof using unit_positive. intros le. now apply Rmult_le_reg_r with unit. Qed.

  Theorem maximum_raised s l H J m' top :
    limited l (S H) (S J) (length l) -> is_value m' top -> above_all (top * unit) l -> holds s l H J ->
    exists K, (K <= length l)%nat /\ carried (weights (raise_maximum s m' scale)) l (top * unit) (S H) (S J) K.
  Proof using few small_step unit_positive argument.
    intros lim hm' above [-> hm hw|m l' K hm perm above' hK sums].
    - exists 0%nat. split; [lia|]. unfold raise_maximum, empty. rewrite hm. cbn [weights]. rewrite hw.
      apply carried_nothing.
    - pose proof (Permutation_length perm) as count. cbn in count.
      exists (S K). split; [lia|]. destruct (finite_not_empty s m hm) as [visible_one _].
      unfold raise_maximum. rewrite visible_one.
      set (z := mul (sub (maximum s) m') scale).
      assert (le : m * unit <= top * unit).
      { apply above. apply Permutation_in with (m * unit :: l'); [now apply Permutation_sym|now left]. }
      assert (arg : argued z (top * unit - m * unit)) by (apply argument; [easy|easy|now apply ordered]).
      assert (added : carried (plus_item (weights s) one) l (m * unit) (S H) J K).
      { apply carried_reordered with (l' ++ [m * unit]).
        - apply Permutation_trans with (m * unit :: l'); [apply Permutation_app_comm with (l' := [m * unit])|now apply Permutation_sym].
        - replace (S H) with (S (max H 0)) by lia. apply (item_added A step few small_step); try easy; [|apply item_itself].
          apply limited_less with l (S H) (S J) (length l); try easy; rewrite ?app_length; cbn; lia. }
      assert (result : carried (if less zero (value (exponential_parts z))
                                then times_parts (plus_item (weights s) one) (exponential_parts z) else no_sum)
                         l (top * unit) (S H) (S J) (S K)).
      { apply sum_rescaled with (m * unit); try easy.
        - apply limited_less with l (S H) (S J) (length l); try easy; lia.
        - intros nothing. rewrite nothing in count. cbn in count. lia. }
      cbv zeta. now destruct (less zero (value (exponential_parts z))).
  Qed.

  Theorem states_merged s1 s2 l1 l2 H J :
    limited (l1 ++ l2) (S (S H)) (S J) (length (l1 ++ l2)) -> holds s1 l1 H J -> holds s2 l2 H J ->
    holds (merged scale s1 s2) (l1 ++ l2) (S (S H)) (S J).
  Proof using few small_step unit_positive argument.
    intros lim held1 held2. pose proof held1 as case1. pose proof held2 as case2.
    unfold merged. destruct case1 as [-> hm1 hw1|m1 l1' K1 hm1 perm1 above1 hK1 sums1].
    - assert (d1 : defined s1 = true) by (unfold defined; now rewrite hm1).
      destruct case2 as [-> hm2 hw2|m2 l2' K2 hm2 perm2 above2 hK2 sums2].
      + assert (d2 : defined s2 = true) by (unfold defined; now rewrite hm2).
        assert (e2 : empty s2 = true) by (unfold empty; now rewrite hm2).
        rewrite d1, d2, e2. cbn [negb orb]. now apply holds_nothing.
      + destruct (finite_not_empty s2 m2 hm2) as [e2 d2].
        assert (e1 : empty s1 = true) by (unfold empty; now rewrite hm1).
        assert (lower : less (maximum s1) (maximum s2) = true).
        { rewrite hm1. destruct hm2 as [finite _]. destruct (maximum s2) as [| | |[]]; easy. }
        rewrite d1, d2, e2, lower. cbn [negb orb]. rewrite e1. cbn [app]. now apply holds_wider with H J; [lia|lia|].
    - destruct (finite_not_empty s1 m1 hm1) as [e1 d1].
      destruct case2 as [-> hm2 hw2|m2 l2' K2 hm2 perm2 above2 hK2 sums2].
      + assert (d2 : defined s2 = true) by (unfold defined; now rewrite hm2).
        assert (e2 : empty s2 = true) by (unfold empty; now rewrite hm2).
        rewrite d1, d2, e2. cbn [negb orb]. rewrite app_nil_r. now apply holds_wider with H J; [lia|lia|].
      + destruct (finite_not_empty s2 m2 hm2) as [e2 d2]. rewrite d1, d2, e2. cbn [negb orb].
        pose proof (Permutation_length perm1) as n1. pose proof (Permutation_length perm2) as n2. cbn in n1, n2.
        assert (general : forall high low mh lh Kh ll,
          holds low ll H J -> is_value (maximum high) mh -> above_all (mh * unit) lh -> above_all (mh * unit) ll ->
          (Kh <= length lh)%nat -> carried (weights high) lh (mh * unit) H J Kh -> empty low = false ->
          Permutation (l1 ++ l2) (mh * unit :: lh ++ ll) ->
          holds (if empty low then high
                 else {| maximum := maximum high;
                         weights := plus_sum (weights high) (weights (raise_maximum low (maximum high) scale));
                         deviations := plus_sum (deviations high) (deviations (raise_maximum low (maximum high) scale)) |})
            (l1 ++ l2) (S (S H)) (S J)).
        { intros high low mh lh Kh ll held hmh above_h above_l hKh sums_h not_empty perm. rewrite not_empty.
          pose proof (Permutation_length perm) as count. cbn in count. rewrite !app_length in count.
          destruct (maximum_raised low ll H J (maximum high) mh) as [Kl [hKl raised]]; try easy.
          { apply limited_less with (l1 ++ l2) (S (S H)) (S J) (length (l1 ++ l2)); try easy; rewrite ?app_length; lia. }
          apply holds_items with mh (lh ++ ll) (Kh + Kl)%nat; try easy.
          - now apply app_above_all.
          - rewrite app_length. lia.
          - cbn [weights]. replace (S (S H)) with (S (max H (S H))) by lia. replace (S J) with (max J (S J)) by lia.
            apply (sums_added A step few small_step); try easy.
            apply limited_less with (l1 ++ l2) (S (S H)) (S J) (length (l1 ++ l2)); try easy; rewrite ?app_length in *; cbn; lia. }
        destruct (less (maximum s1) (maximum s2)) eqn:lower.
        * apply (less_value _ _ _ _ hm1 hm2) in lower.
          assert (le : m1 * unit <= m2 * unit) by (apply Rmult_le_compat_r; lra).
          apply (general s2 s1 m2 l2' K2 l1); try easy.
          { intros x inx. apply (Permutation_in x perm1) in inx as [<-|inx]; [easy|]. specialize (above1 x inx). lra. }
          apply Permutation_trans with (l1 ++ (m2 * unit :: l2')); [now apply Permutation_app_head|].
          apply Permutation_trans with ((m2 * unit :: l2') ++ l1); [apply Permutation_app_comm|easy].
        * assert (le : m2 * unit <= m1 * unit).
          { apply Rmult_le_compat_r; [lra|]. apply Rnot_lt_le. intros lt.
            rewrite (proj2 (less_value _ _ _ _ hm1 hm2)) in lower; [easy|lra]. }
          apply (general s1 s2 m1 l1' K1 l2); try easy.
          { intros x inx. apply (Permutation_in x perm2) in inx as [<-|inx]; [easy|]. specialize (above2 x inx). lra. }
          apply Permutation_trans with ((m1 * unit :: l1') ++ l2); [now apply Permutation_app_tail|easy].
  Qed.
End State.
