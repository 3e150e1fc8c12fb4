(** * Value and rest of a compensated sum through the strict kernels' operations, in the model of arithmetic.

    [kept s v e N K]: v and e are value and rest of s, v is at least 0 and far from overflow, and e is as small as N operations
    on a path and K rescalings leave it.

    Main results
    - [item_kept]      a number added: a sum that errs by a twelfth of a roundoff
    - [sums_kept]      two compensated sums added: likewise
    - [product_kept]   a factor and its rest: a product of the model
    - [term_kept]      a rise times the total of another sum, added: a product and a sum of the model

    Source: kernels/block/compensated_sum.hpp, row_statistics.hpp. *)

From Coq Require Import Reals List ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN Relative Plus_error.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import tree_heights.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_row.
From softcheck.strict_kernels Require Import strict_operations strict_exponential strict_weights strict_sums strict_deviations.
Local Open Scope R_scope.

(** ** Roundings by a little less than u *)

Lemma nearest_unit_of_32 : u_ro radix2 (prec binary32) / (1 + u_ro radix2 (prec binary32)) = nearest_unit.
Proof. now rewrite half_ulp. Qed.

Lemma fl_sum_nearest a b :
  number binary32 a -> number binary32 b -> Rabs (fl32 (a + b) - (a + b)) <= nearest_unit * Rabs (a + b).
Proof.
  intros ha hb.
  destruct (FLT_plus_error_N_ex radix2 (emin binary32) (prec binary32) (fun n => negb (Z.even n)) a b ha hb) as [d [bd eq]].
  rewrite nearest_unit_of_32 in bd. change (round radix2 _ _ (a + b)) with (fl32 (a + b)) in eq. rewrite eq.
  replace ((a + b) * (1 + d) - (a + b)) with (d * (a + b)) by ring. rewrite Rabs_mult.
  apply Rmult_le_compat_r; [apply Rabs_pos|easy].
Qed.

Lemma fl_nearest a : Rabs (fl32 a - a) <= nearest_unit * Rabs a + half_quantum.
Proof.
  destruct (relative_error_N_FLT'_ex radix2 (emin binary32) (prec binary32) positive_precision_32 (fun n => negb (Z.even n)) a)
    as [d [e [bd [be [_ eq]]]]].
  rewrite nearest_unit_of_32 in bd. change (round radix2 _ _ a) with (fl32 a) in eq. rewrite eq.
  replace (a * (1 + d) + e - a) with (d * a + e) by ring. triangle. rewrite Rabs_mult.
  apply Rplus_le_compat; [apply Rmult_le_compat_r; [apply Rabs_pos|easy]|]. eapply Rle_trans; [exact be|]. right.
  unfold half_quantum. cbn -[bpow]. change (-150)%Z with (-149 + -1)%Z. rewrite bpow_plus.
  change (two_to (-1)) with (/ 2). ring.
Qed.

Record kept (s : compensated) (v e : R) (N K : nat) : Prop := {
  value_kept : is_value (sum_value s) v;
  rest_kept : is_value (sum_rest s) e;
  within_48 : 0 <= v <= two_to 48;
  rest_stays_small : small_rest v e N K
}.

Section Kept.
  Context (N K : nat) (N_few : (Z.of_nat N <= 2 ^ 15)%Z) (K_few : (Z.of_nat K <= 2 ^ 22)%Z).

  Lemma rest_at_most v e : small_rest v e N K -> Rabs e <= / 40 * v + two_to (-120) \/ v < 0.
  Proof using N_few K_few.
    intros small. destruct (Rlt_dec v 0) as [no|pos]; [now right|left].
    destruct (limits N K N_few K_few) as [slope [_ [floor0 [tiny _]]]]. unfold small_rest in small.
    assert (rest_slope N * v <= / 40 * v) by (apply Rmult_le_compat_r; lra).
    assert (rest_floor N K <= two_to (-120)); [|lra].
    assert (back : two_to 24 * u32 = 1) by (rewrite <- bpow_plus; reflexivity).
    apply (Rmult_le_compat_l (two_to 24)) in tiny; [|apply bpow_ge_0].
    rewrite <- Rmult_assoc, back, Rmult_1_l in tiny. eapply Rle_trans; [exact tiny|].
    replace (two_to 24 * (21 / 10 * half_quantum)) with (21 / 10 * (two_to 24 * half_quantum)) by ring.
    unfold half_quantum. rewrite <- bpow_plus. change (24 + -150)%Z with (-126)%Z.
    replace (two_to (-120)) with (two_to 6 * two_to (-126)) by (rewrite <- bpow_plus; reflexivity).
    apply Rmult_le_compat_r; [apply bpow_ge_0|]. cbn. lra.
  Qed.

  Lemma kept_within s v e : kept s v e N K -> Rabs v <= two_to 48 /\ Rabs e <= two_to 48 /\ Rabs e <= / 40 * v + two_to (-120).
  Proof using N_few K_few.
    intros [_ _ range small]. destruct (rest_at_most v e small) as [e_small|no]; [|lra].
    split; [rewrite Rabs_right; lra|]. split; [|easy].
    assert (two_to (-120) <= / 2 * two_to 48).
    { replace (/ 2 * two_to 48) with (two_to 47) by (change 48%Z with (1 + 47)%Z; rewrite bpow_plus; change (two_to 1) with 2; field).
      apply bpow_le. lia. }
    lra.
  Qed.
End Kept.

Section Compensated.
  Context (A : nat) (step : R) (few : (A <= 12)%nat) (small_step : 0 <= step <= / 2).
  Notation M := (strict_arithmetic A step).

  Context (N K : nat) (N_few : (Z.of_nat N <= 2 ^ 15)%Z) (K_few : (Z.of_nat K <= 2 ^ 22)%Z).

  Theorem item_kept s x v e a :
    kept s v e N K -> is_value x a -> 0 <= a <= two_to 48 ->
    exists d e', is_value (sum_value (plus_item s x)) (fl32 (v + a)) /\ is_value (sum_rest (plus_item s x)) e' /\
      fl32 (v + a) + d = v + a /\ Rabs d <= u32 * (v + a) /\ e' = fl32 (e + d) /\ number binary32 d /\
      sum_within M (/ 12) (v + e + a) (fl32 (v + a) + e') /\ small_rest (fl32 (v + a)) e' (S N) K /\
      (v = 0 -> e = 0 -> fl32 (v + a) = a /\ e' = 0) /\ (a = 0 -> fl32 (v + a) = v /\ e' = e).
  Proof using few small_step N_few K_few.
    intros held hx range. destruct (kept_within N K N_few K_few s v e held) as [v_in [e_in _]]. destruct held as [hv he v_range small].
    assert (up : two_to 48 <= two_to 50) by (apply bpow_le; lia).
    destruct (plus_item_value s x v e a hv he hx ltac:(lra) ltac:(lra) ltac:(rewrite Rabs_right; lra))
      as [d [h_value [h_rest [d_number [exact d_small]]]]].
    rewrite (Rabs_right (v + a)) in d_small by lra.
    pose proof (fl_sum_error e d (value_number _ _ he) d_number) as err.
    destruct (sums_added_real A step few small_step N K K 0 N_few K_few ltac:(lia)
                v e a 0 (fl32 (v + a)) d (fl32 (e + d)) (fl32 (e + d))) as [added smaller]; try easy; try lra.
    { unfold small_rest. rewrite Rabs_R0. destruct (limits N 0 N_few ltac:(easy)) as [slope [_ [floor _]]].
      assert (0 <= rest_slope N * a) by (apply Rmult_le_pos; lra). lra. }
    { rewrite Rplus_0_r, Rminus_diag_eq, Rabs_R0 by easy. apply Rmult_le_pos; [apply bpow_ge_0|apply Rabs_pos]. }
    rewrite Rplus_0_r in added. exists d, (fl32 (e + d)). repeat (split; [easy|]).
    split.
    - intros -> ->. rewrite !Rplus_0_l in *. assert (same : fl32 a = a) by (apply fl_number; now apply (value_number x)).
      rewrite same in *. assert (d = 0) as -> by lra. split; [easy|apply fl_0].
    - intros ->. rewrite !Rplus_0_r in *. assert (same : fl32 v = v) by (apply fl_number; now apply (value_number (sum_value s))).
      rewrite same in *. assert (d = 0) as -> by lra. rewrite Rplus_0_r. split; [easy|].
      apply fl_number. now apply (value_number (sum_rest s)).
  Qed.

  Theorem product_kept s factor v e f g :
    kept s v e N K -> is_value (value factor) f -> is_value (rest factor) g -> 0 <= f <= 1 -> Rabs g <= 9 * u32 * f ->
    exists e', is_value (sum_value (times_parts s factor)) (fl32 (v * f)) /\ is_value (sum_rest (times_parts s factor)) e' /\
      0 <= fl32 (v * f) <= v /\ computed_product M ((v + e) * (f + g)) (fl32 (v * f) + e') /\
      small_rest (fl32 (v * f)) e' (S N) (S K).
  Proof using few small_step N_few K_few.
    intros held hf hg f_range g_small. destruct (kept_within N K N_few K_few s v e held) as [v_in [e_in _]].
    destruct held as [hv he v_range small].
    assert (g_within : Rabs g <= 1) by (change u32 with (/ 16777216) in g_small; lra).
    assert (vf : 0 <= v * f <= v)
      by (split; [apply Rmult_le_pos; lra|rewrite <- (Rmult_1_r v) at 2; apply Rmult_le_compat_l; lra]).
    pose proof (value_number _ _ hv) as v_number. assert (product_range : 0 <= fl32 (v * f) <= v).
    { split; [now apply fl_nonneg|]. rewrite <- (fl_number binary32 v v_number) at 2. now apply fl_monotone. }
    assert (far : forall x k, (k <= 60)%Z -> Rabs x <= two_to k -> Rabs x <= two_to 127)
      by (intros x k le bound; apply wider with k; [lia|exact bound]).
    assert (twice : forall x y k, Rabs x <= two_to k -> Rabs y <= two_to k -> Rabs (x + y) <= two_to (k + 1)).
    { intros x y k bx by_. rewrite bpow_plus. change (two_to 1) with 2. pose proof (Rabs_triang x y). lra. }
    assert (product : is_value (mul (sum_value s) (value factor)) (fl32 (v * f))).
    { apply mul_value; [easy|easy|]. apply (far _ 48%Z); [lia|]. rewrite Rabs_right; lra. }
    assert (difference : Rabs (v * f + - fl32 (v * f)) <= two_to 48) by (apply Rabs_le; lra).
    assert (rounded : is_value (fused (sum_value s) (value factor) (neg (mul (sum_value s) (value factor))))
                        (fl32 (v * f + - fl32 (v * f)))).
    { apply fused_value; [easy|easy|now apply neg_value|]. now apply (far _ 48%Z). }
    set (q := fl32 (v * f + - fl32 (v * f))) in *.
    assert (q_within : Rabs q <= two_to 48) by (apply fl_within; [lia|easy]). assert (vg : Rabs (v * g) <= two_to 48).
    { rewrite Rabs_mult, <- (Rmult_1_r (two_to 48)). apply Rmult_le_compat; try lra; apply Rabs_pos. }
    pose proof (twice _ _ _ vg q_within) as vgq.
    assert (hm : is_value (fused (sum_value s) (rest factor)
                   (fused (sum_value s) (value factor) (neg (mul (sum_value s) (value factor))))) (fl32 (v * g + q))).
    { apply fused_value; [easy|easy|easy|]. now apply (far _ 49%Z). } set (m := fl32 (v * g + q)) in *.
    assert (m_within : Rabs m <= two_to 49) by (apply fl_within; [lia|easy]). assert (ef : Rabs (e * f) <= two_to 49).
    { rewrite Rabs_mult, <- (Rmult_1_r (two_to 49)).
      apply Rmult_le_compat; try apply Rabs_pos; [|rewrite Rabs_right; lra]. now apply wider with 48%Z; [lia|]. }
    pose proof (twice _ _ _ ef m_within) as efm. exists (fl32 (e * f + m)). split; [exact product|]. split.
    { unfold times_parts. cbn [sum_rest]. apply fused_value; [easy|easy|easy|]. now apply (far _ 50%Z). }
    split; [easy|].
    destruct (sum_rescaled_real A step few small_step N K N_few K_few v e f g (fl32 (v * f)) q m (fl32 (e * f + m)))
      as [computed smaller]; try easy; apply fl_error.
  Qed.
End Compensated.

Section Two.
  Context (A : nat) (step : R) (few : (A <= 12)%nat) (small_step : 0 <= step <= / 2).
  Notation M := (strict_arithmetic A step).

  Theorem sums_kept N K1 K2 s1 s2 v1 e1 v2 e2 :
    (Z.of_nat N <= 2 ^ 15)%Z -> (Z.of_nat (K1 + K2) <= 2 ^ 22)%Z -> kept s1 v1 e1 N K1 -> kept s2 v2 e2 N K2 ->
    exists e, is_value (sum_value (plus_sum s1 s2)) (fl32 (v1 + v2)) /\ is_value (sum_rest (plus_sum s1 s2)) e /\
      sum_within M (/ 12) (v1 + e1 + (v2 + e2)) (fl32 (v1 + v2) + e) /\ small_rest (fl32 (v1 + v2)) e (S N) (K1 + K2) /\
      (v1 = 0 -> e1 = 0 -> fl32 (v1 + v2) = v2 /\ e = e2) /\ (v2 = 0 -> e2 = 0 -> fl32 (v1 + v2) = v1 /\ e = e1).
  Proof using few small_step.
    intros N_few K_few held1 held2.
    destruct (item_kept A step few small_step N K1 N_few ltac:(lia) s1 (sum_value s2) v1 e1 v2 held1 (value_kept _ _ _ _ _ held2)
                (within_48 _ _ _ _ _ held2)) as [d [e' [h_value [h_rest [exact [d_small [e'_is [d_number [_ [_ [first second]]]]]]]]]]].
    destruct (kept_within N K1 N_few ltac:(lia) s1 v1 e1 held1) as [v1_in [e1_in _]].
    destruct (kept_within N K2 N_few ltac:(lia) s2 v2 e2 held2) as [v2_in [e2_in _]].
    destruct held1 as [hv1 he1 range1 small1], held2 as [hv2 he2 range2 small2].
    assert (d_in : Rabs d <= two_to 49).
    { eapply Rle_trans; [exact d_small|]. change 49%Z with (1 + 48)%Z. rewrite bpow_plus. change (two_to 1) with 2.
      apply Rle_trans with (1 * (v1 + v2)); [apply Rmult_le_compat_r; [lra|]|lra]. pose proof u32_range. lra. }
    assert (e'_in : Rabs e' <= two_to 50).
    { rewrite e'_is. apply (fl_sum_within _ _ 49); [lia|now apply wider with 48%Z; [lia|]|easy]. }
    exists (fl32 (e' + e2)). split; [exact h_value|]. split.
    { unfold plus_sum. cbn [sum_rest]. apply near_add; [easy|easy|now apply wider with 50%Z; [lia|]|now apply wider with 48%Z; [lia|]]. }
    pose proof (value_number _ _ h_rest) as e'_number. pose proof (value_number _ _ he2) as e2_number.
    destruct (sums_added_real A step few small_step N (K1 + K2) K1 K2 N_few K_few eq_refl
                v1 e1 v2 e2 (fl32 (v1 + v2)) d e' (fl32 (e' + e2))) as [added smaller];
      try easy; try lra; try (now apply fl_sum_error).
    { rewrite e'_is. apply fl_sum_error; [now apply (value_number (sum_rest s1))|easy]. }
    split; [exact added|]. split; [exact smaller|]. split.
    - intros -> ->. destruct (first eq_refl eq_refl) as [-> ->]. rewrite Rplus_0_l. split; [easy|]. now apply fl_number.
    - intros -> ->. destruct (second eq_refl) as [-> ->]. rewrite Rplus_0_r. split; [easy|].
      apply fl_number. now apply (value_number (sum_rest s1)).
  Qed.

  (** T and b times the total of the weights: rounded twice, one product and one sum of the model. *)
  Theorem term_kept N K NW KW d x t w v e z b :
    (Z.of_nat N <= 2 ^ 15)%Z -> (Z.of_nat K <= 2 ^ 22)%Z -> (Z.of_nat NW <= 2 ^ 15)%Z -> (Z.of_nat KW <= 2 ^ 22)%Z ->
    kept d x t N K -> kept w v e NW KW -> 1 <= v <= 8388608 -> is_value z (- b) -> 0 <= b < 110 ->
    exists x' t' p, is_value (sum_value (plus_item d (mul (neg z) (total w)))) x' /\
      is_value (sum_rest (plus_item d (mul (neg z) (total w)))) t' /\
      computed_product M (b * (v + e)) p /\ computed_sum M (x + t + p) (x' + t') /\ small_rest x' t' (S N) K /\
      0 <= x' <= (x + 128 * v) * (1 + u32).
  Proof using few small_step.
    intros N_few K_few NW_few KW_few held held_w v_range hz b_range.
    destruct (kept_within NW KW NW_few KW_few w v e held_w) as [v_in [e_in e_small]]. destruct held_w as [hv he _ _].
    pose proof u32_range as u0. pose proof half_quantum_range as h0. assert (tiny : 0 <= two_to (-120) <= / 1000).
    { split; [apply bpow_ge_0|]. apply Rle_trans with (two_to (-10)); [apply bpow_le; lia|cbn; lra]. }
    apply Rabs_le_inv in e_small as e_range.
    assert (near : nearest_unit = / 16777217) by (unfold nearest_unit; change u32 with (/ 16777216); field).
    assert (s_range : 97 / 100 * v <= v + e <= 103 / 100 * v) by lra.
    assert (h_total : is_value (total w) (fl32 (v + e))).
    { apply near_add; [easy|easy|now apply wider with 48%Z; [lia|]|now apply wider with 48%Z; [lia|]]. }
    pose proof (fl_sum_nearest v e (value_number _ _ hv) (value_number _ _ he)) as total_close.
    rewrite (Rabs_right (v + e)) in total_close by lra. set (T := fl32 (v + e)) in *.
    assert (T_range : 96 / 100 * v <= T <= 104 / 100 * v)
      by (rewrite near in total_close; apply Rabs_le_inv in total_close; lra).
    assert (bT : 0 <= b * T <= 110 * (104 / 100 * v)) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat; lra]).
    assert (h_term : is_value (mul (neg z) (total w)) (fl32 (b * T))).
    { apply mul_value; [rewrite <- (Ropp_involutive b); now apply neg_value|easy|].
      apply Rle_trans with (two_to 40); [rewrite Rabs_right by lra; cbn; lra|apply bpow_le; lia]. }
    pose proof (fl_nearest (b * T)) as term_close. rewrite (Rabs_right (b * T)) in term_close by lra.
    assert (p_range : 0 <= fl32 (b * T) <= 128 * v).
    { split; [apply fl_nonneg; lra|]. rewrite near in term_close. apply Rabs_le_inv in term_close. lra. }
    destruct (item_kept A step few small_step N K N_few K_few d _ x t _ held h_term) as
      [r [t' [h_value [h_rest [exact [r_small [t'_is [r_number _]]]]]]]].
    { split; [lra|]. apply Rle_trans with (two_to 31); [cbn; lra|apply bpow_le; lia]. }
    destruct held as [hx ht x_range small].
    destruct (deviations_raised_real A step few small_step N K N_few K_few (v + e) T b (fl32 (b * T)) x t
                (fl32 (x + fl32 (b * T))) r t') as [p [product [sum smaller]]]; try easy; try lra.
    { rewrite t'_is. apply fl_sum_error; [now apply (value_number (sum_rest d))|easy]. }
    exists (fl32 (x + fl32 (b * T))), t', p. repeat (split; [assumption|]). split; [apply fl_nonneg; lra|].
    pose proof (fl_sum_error x (fl32 (b * T)) (value_number _ _ hx) (value_number _ _ h_term)) as sum_close.
    rewrite (Rabs_right (x + fl32 (b * T))) in sum_close by lra. apply Rabs_le_inv in sum_close.
    change (two_to (-24)) with u32 in sum_close.
    apply Rle_trans with ((x + fl32 (b * T)) * (1 + u32)); [lra|apply Rmult_le_compat_r; lra].
  Qed.
End Two.
