(** * A compensated sum of the strict kernels errs as a part of an addition or as one product of the model does.

    Main results
    - [plus_item_value]    value and rest after an addition, from Knuth's two-sum: only the rest is rounded
    - [sums_added_real]    value and rest of two sums added are together a sum that errs by a twelfth of a roundoff, and
                           the rest stays small
    - [sum_rescaled_real]  value and rest times a factor and its rest are together a computed product, likewise
    - [argued_weight]   such an argument's exponential is a computed one of the model
    - [argued_factor]   so is that of exponential_parts, value and rest together; where it counts, z is -b for a rise b < 110
    - [sum_counted]     a rounded sum of numbers below their counts is below the count of both

    For at most 2^22 rescalings and 2^15 operations on a path. Source: kernels/block/compensated_sum.hpp. *)

From Coq Require Import ZArith Reals List Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row tree_heights reduction.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_row strict_operations strict_exponential
  strict_weights.
Import ListNotations.
Local Open Scope R_scope.

(** ** The operations *)

Lemma near_add x y a b : is_value x a -> is_value y b -> Rabs a <= two_to 60 -> Rabs b <= two_to 60 ->
  is_value (add x y) (fl32 (a + b)).
Proof.
  intros hx hy ba bb. apply add_value; try easy. apply Rle_trans with (two_to 61); [|apply bpow_le; lia].
  change 61%Z with (60 + 1)%Z. rewrite bpow_plus. change (two_to 1) with 2. pose proof (Rabs_triang a b). lra.
Qed.

Lemma near_sub x y a b : is_value x a -> is_value y b -> Rabs a <= two_to 60 -> Rabs b <= two_to 60 ->
  is_value (sub x y) (fl32 (a - b)).
Proof.
  intros hx hy ba bb. apply sub_value; try easy. apply Rle_trans with (two_to 61); [|apply bpow_le; lia].
  change 61%Z with (60 + 1)%Z. rewrite bpow_plus. change (two_to 1) with 2.
  pose proof (Rabs_triang a (- b)) as sum. rewrite Rabs_Ropp in sum. unfold Rminus. lra.
Qed.

Lemma fl_sum_within a b e : (-149 <= e)%Z -> Rabs a <= two_to e -> Rabs b <= two_to e -> Rabs (fl32 (a + b)) <= two_to (e + 1).
Proof.
  intros low ba bb. apply fl_within; [lia|]. rewrite bpow_plus. change (two_to 1) with 2.
  pose proof (Rabs_triang a b). lra.
Qed.

Lemma fl_difference_within a b e :
  (-149 <= e)%Z -> Rabs a <= two_to e -> Rabs b <= two_to e -> Rabs (fl32 (a - b)) <= two_to (e + 1).
Proof. intros. unfold Rminus. apply fl_sum_within; [easy|easy|now rewrite Rabs_Ropp]. Qed.

Lemma wider a e e' : (e <= e')%Z -> Rabs a <= two_to e -> Rabs a <= two_to e'.
Proof. intros. eapply Rle_trans; [eassumption|now apply bpow_le]. Qed.

Theorem plus_item_value s x v e a :
  is_value (sum_value s) v -> is_value (sum_rest s) e -> is_value x a ->
  Rabs v <= two_to 50 -> Rabs e <= two_to 50 -> Rabs a <= two_to 50 ->
  exists d, is_value (sum_value (plus_item s x)) (fl32 (v + a)) /\ is_value (sum_rest (plus_item s x)) (fl32 (e + d)) /\
    number binary32 d /\ fl32 (v + a) + d = v + a /\ Rabs d <= u32 * Rabs (v + a).
Proof.
  intros hv he ha bv be ba. pose proof (value_number _ _ hv) as vn. pose proof (value_number _ _ ha) as an.
  pose proof (two_sum v a vn an) as exact. cbv zeta in exact.
  set (sum := fl32 (v + a)) in *. set (taken := fl32 (sum - v)) in *.
  set (d := fl32 (fl32 (v - fl32 (sum - taken)) + fl32 (a - taken))) in *.
  assert (b_sum : Rabs sum <= two_to 51) by (apply (fl_sum_within _ _ 50); [lia|easy|easy]).
  assert (b_taken : Rabs taken <= two_to 52)
    by (apply (fl_difference_within _ _ 51); [lia|easy|now apply wider with 50%Z; [lia|]]).
  assert (b_1 : Rabs (fl32 (sum - taken)) <= two_to 53)
    by (apply (fl_difference_within _ _ 52); [lia|now apply wider with 51%Z; [lia|]|easy]).
  assert (b_2 : Rabs (fl32 (v - fl32 (sum - taken))) <= two_to 54)
    by (apply (fl_difference_within _ _ 53); [lia|now apply wider with 50%Z; [lia|]|easy]).
  assert (b_3 : Rabs (fl32 (a - taken)) <= two_to 54).
  { apply wider with 53%Z; [lia|]. apply (fl_difference_within _ _ 52); [lia|now apply wider with 50%Z; [lia|]|easy]. }
  assert (b_d : Rabs d <= two_to 55) by (apply (fl_sum_within _ _ 54); [lia|easy|easy]).
  assert (h_sum : is_value (add (sum_value s) x) sum)
    by (apply near_add; [easy|easy|now apply wider with 50%Z; [lia|]|now apply wider with 50%Z; [lia|]]).
  assert (h_taken : is_value (sub (add (sum_value s) x) (sum_value s)) taken)
    by (apply near_sub; [easy|easy|now apply wider with 51%Z; [lia|]|now apply wider with 50%Z; [lia|]]).
  exists d. split; [exact h_sum|]. split; [|split; [apply number_fl, positive_precision_32|split; [exact exact|]]].
  - unfold plus_item. cbn [sum_rest sum_value]. apply near_add; [easy| |now apply wider with 50%Z; [lia|]|now apply wider with 55%Z; [lia|]].
    apply near_add; [| |now apply wider with 54%Z; [lia|]|now apply wider with 54%Z; [lia|]].
    + apply near_sub; [easy| |now apply wider with 50%Z; [lia|]|now apply wider with 53%Z; [lia|]].
      apply near_sub; [easy|easy|now apply wider with 51%Z; [lia|]|now apply wider with 52%Z; [lia|]].
    + apply near_sub; [easy|easy|now apply wider with 50%Z; [lia|]|now apply wider with 52%Z; [lia|]].
  - replace d with (- (sum - (v + a))) by lra. rewrite Rabs_Ropp. now apply fl_sum_error.
Qed.

(** ** The size of a rest *)

Definition rest_slope (N : nat) : R := 12 * u32 * INR N.
Definition rest_floor (N K : nat) : R := INR K * (8 * half_quantum) * (1 + 4 * u32 * INR N).

Lemma limits N K :
  (Z.of_nat N <= 2 ^ 15)%Z -> (Z.of_nat K <= 2 ^ 22)%Z ->
  0 <= rest_slope N <= / 40 /\ rest_slope (S N) = rest_slope N + 12 * u32 /\
  0 <= rest_floor N K /\ u32 * rest_floor N K <= 21 / 10 * half_quantum /\
  rest_floor N K * (1 + 3 * u32) <= rest_floor (S N) K /\
  rest_floor N K * (1 + 3 * u32) + 7 * half_quantum <= rest_floor (S N) (S K).
Proof.
  intros few less. apply IZR_le in few, less. rewrite <- INR_IZR_INZ in few, less.
  assert (N_range : 0 <= INR N <= 32768) by (split; [apply pos_INR|eapply Rle_trans; [apply few|now right]]).
  assert (K_range : 0 <= INR K <= 4194304) by (split; [apply pos_INR|eapply Rle_trans; [apply less|now right]]).
  pose proof half_quantum_positive as h0. unfold rest_slope, rest_floor. rewrite !S_INR. change u32 with (/ 16777216).
  set (n := INR N) in *. set (k := INR K) in *. set (h := half_quantum) in *.
  assert (kh : 0 <= k * h) by (apply Rmult_le_pos; lra).
  assert (kh4 : k * h <= 4194304 * h) by (apply Rmult_le_compat_r; lra).
  assert (nkh : 0 <= n * (k * h)) by (apply Rmult_le_pos; lra).
  assert (nkh' : n * (k * h) <= 32768 * (k * h)) by (apply Rmult_le_compat_r; lra).
  assert (nh : 0 <= n * h) by (apply Rmult_le_pos; lra). repeat split; try lra.
Qed.

Lemma rest_grows N N' K K' :
  (N <= N')%nat -> (K <= K')%nat -> rest_slope N <= rest_slope N' /\ rest_floor N K <= rest_floor N' K'.
Proof.
  intros hN hK. apply le_INR in hN, hK. pose proof half_quantum_positive as h0. pose proof (pos_INR N). pose proof (pos_INR K).
  unfold rest_slope, rest_floor. change u32 with (/ 16777216). split; [lra|].
  apply Rmult_le_compat; [apply Rmult_le_pos; lra|lra|apply Rmult_le_compat_r; lra|lra].
Qed.

Definition small_rest (v e : R) (N K : nat) : Prop := Rabs e <= rest_slope N * v + rest_floor N K.

Lemma small_rest_wider v e N N' K K' :
  0 <= v -> (N <= N')%nat -> (K <= K')%nat -> small_rest v e N K -> small_rest v e N' K'.
Proof.
  intros pos hN hK small. destruct (rest_grows N N' K K' hN hK) as [slope floor]. unfold small_rest in *.
  assert (rest_slope N * v <= rest_slope N' * v) by now apply Rmult_le_compat_r. lra.
Qed.

Section Sums.
  Context (A : nat) (step : R) (few : (A <= 12)%nat) (small_step : 0 <= step <= / 2).
  Notation M := (strict_arithmetic A step).
  Let good : sound M := strict_arithmetic_sound A step few small_step.

  Lemma relative_part u z s :
    0 <= u -> Rabs (s - z) <= u * Rabs z + 32 * half_quantum ->
    exists d e, Rabs d <= u /\ Rabs e <= 32 * half_quantum /\ s = z * (1 + d) + e.
  Proof.
    intros pos close. pose proof half_quantum_positive. pose proof (Rabs_pos z).
    destruct (split_error (s - z) (u * Rabs z) (32 * half_quantum)) as [e [be rest]];
      [apply Rmult_le_pos; lra|lra|easy|].
    destruct (Req_dec z 0) as [->|nonzero].
    - exists 0, (s - 0 - e). rewrite Rabs_R0, Rmult_0_r in *. apply Rabs_le_inv in be.
      assert (e = 0) as -> by lra. repeat split; [lra|easy|ring].
    - exists (e / z), (s - z - e). split; [|split; [easy|field; easy]].
      unfold Rdiv. rewrite Rabs_mult, Rabs_inv. apply Rmult_le_reg_r with (Rabs z); [now apply Rabs_pos_lt|].
      rewrite Rmult_assoc, Rinv_l, Rmult_1_r by now apply Rabs_no_R0. easy.
  Qed.

  Lemma near_is_summed z s : Rabs (s - z) <= u32 * Rabs z + 32 * half_quantum -> computed_sum M z s.
  Proof using good.
    intros close. destruct (relative_part u32 z s (bpow_ge_0 _ _) close) as [d [e [bd [be ->]]]]. now apply (sum_of_standard_model M good).
  Qed.

  Lemma product_within z s : Rabs (s - z) <= u32 * Rabs z + 32 * half_quantum -> computed_product M z s.
  Proof using good.
    intros close. destruct (relative_part u32 z s (bpow_ge_0 _ _) close) as [d [e [bd [be ->]]]]. now apply (product_of_standard_model M good).
  Qed.

  (** A sixteenth of u, as a part of a roundoff. *)
  Lemma near_is_part_summed z s : Rabs (s - z) <= / 16 * u32 * Rabs z + 32 * half_quantum -> sum_within M (/ 12) z s.
  Proof using.
    intros close. pose proof u32_range as u0. destruct (relative_part (/ 16 * u32) z s ltac:(lra) close) as [d [e [bd [be ->]]]].
    destruct (one_rounding (/ 16 * u32) d ltac:(lra) bd) as [t [bt ->]]. exists t, e. split; [|split; [exact be|ring]].
    eapply Rle_trans; [exact bt|]. change (standard_model.unit M) with (log_unit u32). unfold log_unit.
    pose proof (ln_below_tangent (/ (1 - / 16 * u32)) ltac:(apply Rinv_0_lt_compat; lra)) as above. rewrite ln_Rinv in above by lra.
    pose proof (ln_below_tangent (1 - u32) ltac:(lra)) as below.
    assert (/ (1 - / 16 * u32) <= 1 + / 15 * u32); [|lra].
    apply Rmult_le_reg_r with (1 - / 16 * u32); [lra|]. rewrite Rinv_l by lra.
    assert (u32 * u32 <= / 16777216 * u32) by (apply Rmult_le_compat_r; lra). lra.
  Qed.

  Lemma exactly_summed z : sum_within M (/ 12) z z.
  Proof using.
    apply near_is_part_summed. rewrite Rminus_diag_eq, Rabs_R0 by easy. pose proof (Rabs_pos z). pose proof u32_range.
    pose proof half_quantum_positive. assert (0 <= / 16 * u32 * Rabs z) by (apply Rmult_le_pos; lra). lra.
  Qed.

  (** ** Two sums, of numbers *)

  Context (N K K1 K2 : nat) (N_few : (Z.of_nat N <= 2 ^ 15)%Z) (K_few : (Z.of_nat K <= 2 ^ 22)%Z)
    (both : K = (K1 + K2)%nat).

  Lemma floor_of_both : rest_floor N K = rest_floor N K1 + rest_floor N K2 /\ 0 <= rest_floor N K1 /\ 0 <= rest_floor N K2.
  Proof using few N_few K_few both.
    destruct (limits N K1 N_few ltac:(lia)) as [_ [_ [pos1 _]]]. destruct (limits N K2 N_few ltac:(lia)) as [_ [_ [pos2 _]]].
    split; [|split; assumption]. unfold rest_floor. rewrite both, plus_INR. ring.
  Qed.

  Theorem sums_added_real v1 e1 v2 e2 v d e' e :
    0 <= v1 -> 0 <= v2 -> small_rest v1 e1 N K1 -> small_rest v2 e2 N K2 ->
    v + d = v1 + v2 -> Rabs d <= u32 * (v1 + v2) ->
    Rabs (e' - (e1 + d)) <= u32 * Rabs (e1 + d) -> Rabs (e - (e' + e2)) <= u32 * Rabs (e' + e2) ->
    sum_within M (/ 12) (v1 + e1 + (v2 + e2)) (v + e) /\ small_rest v e (S N) K.
  Proof using good N_few K_few both.
    intros p1 p2 s1 s2 exact small_d first second. unfold small_rest in *.
    destruct (limits N K N_few K_few) as [slope [next [floor0 [tiny [grows _]]]]].
    destruct floor_of_both as [parts [floor1 floor2]]. pose proof half_quantum_positive as h0. rewrite next.
    set (a := rest_slope N) in *. set (h := half_quantum) in *. set (B := rest_floor N K) in *.
    set (B1 := rest_floor N K1) in *. set (B2 := rest_floor N K2) in *. change u32 with (/ 16777216) in *.
    assert (a1 : 0 <= a * v1 <= / 40 * v1) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
    assert (a2 : 0 <= a * v2 <= / 40 * v2) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
    pose proof (Rabs_triang e1 d) as t1. pose proof (Rabs_triang (e' - (e1 + d)) (e1 + d)) as t2.
    replace (e' - (e1 + d) + (e1 + d)) with e' in t2 by ring. pose proof (Rabs_triang e' e2) as t3.
    pose proof (Rabs_triang (e - (e' + e2)) (e' + e2)) as t4. replace (e - (e' + e2) + (e' + e2)) with e in t4 by ring.
    split.
    - apply near_is_part_summed. change u32 with (/ 16777216). fold h.
      replace (v + e - (v1 + e1 + (v2 + e2))) with ((e' - (e1 + d)) + (e - (e' + e2))) by lra. triangle.
      pose proof (Rle_abs (v1 + e1 + (v2 + e2))) as size. pose proof (Rle_abs (- e1)) as low1.
      pose proof (Rle_abs (- e2)) as low2. rewrite Rabs_Ropp in low1, low2. lra.
    - assert (v_range : v1 + v2 - / 16777216 * (v1 + v2) <= v) by (apply Rabs_le_inv in small_d; lra).
      assert (a * (v1 + v2 - / 16777216 * (v1 + v2)) <= a * v) by (apply Rmult_le_compat_l; lra). lra.
  Qed.

  (** ** A sum times a factor, of numbers *)

  Theorem sum_rescaled_real v1 e1 f g v q m e :
    0 <= v1 -> small_rest v1 e1 N K -> 0 <= f <= 1 -> Rabs g <= 9 * u32 * f -> 0 <= v ->
    Rabs (v - v1 * f) <= u32 * Rabs (v1 * f) + half_quantum ->
    Rabs (q - (v1 * f - v)) <= u32 * Rabs (v1 * f - v) + half_quantum ->
    Rabs (m - (v1 * g + q)) <= u32 * Rabs (v1 * g + q) + half_quantum ->
    Rabs (e - (e1 * f + m)) <= u32 * Rabs (e1 * f + m) + half_quantum ->
    computed_product M ((v1 + e1) * (f + g)) (v + e) /\ small_rest v e (S N) (S K).
  Proof using good N_few K_few.
    intros p1 s1 f_range g_small p err_v err_q err_m err_e. unfold small_rest in *.
    destruct (limits N K N_few K_few) as [slope [next [floor0 [tiny [_ grows]]]]].
    pose proof half_quantum_positive as h0. rewrite next. set (a := rest_slope N) in *. set (h := half_quantum) in *.
    set (B := rest_floor N K) in *. change u32 with (/ 16777216) in *. set (T := v1 * f) in *.
    assert (T0 : 0 <= T) by (apply Rmult_le_pos; lra). rewrite (Rabs_right T) in err_v by lra.
    assert (aT : 0 <= a * T <= / 40 * T) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
    assert (vg : Rabs (v1 * g) <= 9 * / 16777216 * T).
    { rewrite Rabs_mult, (Rabs_right v1) by lra. unfold T.
      replace (9 * / 16777216 * (v1 * f)) with (v1 * (9 * / 16777216 * f)) by ring. now apply Rmult_le_compat_l. }
    assert (ef : Rabs (e1 * f) <= a * T + B).
    { rewrite Rabs_mult, (Rabs_right f) by lra. unfold T.
      apply Rle_trans with ((a * v1 + B) * f); [apply Rmult_le_compat_r; lra|]. nra. }
    assert (eg : Rabs (e1 * g) <= 9 * / 16777216 * (a * T + B)).
    { rewrite Rabs_mult.
      apply Rle_trans with (Rabs e1 * (9 * / 16777216 * f)); [apply Rmult_le_compat_l; [apply Rabs_pos|easy]|].
      replace (Rabs e1 * (9 * / 16777216 * f)) with (9 * / 16777216 * (Rabs e1 * f)) by ring.
      apply Rmult_le_compat_l; [lra|]. rewrite Rabs_mult, (Rabs_right f) in ef by lra. easy. }
    rewrite (Rabs_minus_sym T v) in err_q. pose proof (Rabs_triang (q - (T - v)) (T - v)) as t1.
    replace (q - (T - v) + (T - v)) with q in t1 by ring. rewrite (Rabs_minus_sym T v) in t1.
    pose proof (Rabs_triang (v1 * g) q) as t2. pose proof (Rabs_triang (m - (v1 * g + q)) (v1 * g + q)) as t3.
    replace (m - (v1 * g + q) + (v1 * g + q)) with m in t3 by ring. pose proof (Rabs_triang (e1 * f) m) as t4.
    pose proof (Rabs_triang (e - (e1 * f + m)) (e1 * f + m)) as t5.
    replace (e - (e1 * f + m) + (e1 * f + m)) with e in t5 by ring. split.
    - apply product_within. change u32 with (/ 16777216). fold h.
      replace ((v1 + e1) * (f + g)) with (T + v1 * g + e1 * f + e1 * g) by (unfold T; ring).
      replace (v + e - (T + v1 * g + e1 * f + e1 * g)) with
        ((q - (T - v)) + ((m - (v1 * g + q)) + ((e - (e1 * f + m)) - e1 * g))) by ring.
      triangle. eapply Rle_trans; [apply Rplus_le_compat_l, Rabs_triang|].
      eapply Rle_trans; [do 2 apply Rplus_le_compat_l; unfold Rminus at 1; apply Rabs_triang|]. rewrite Rabs_Ropp.
      pose proof (Rle_abs (T + v1 * g + e1 * f + e1 * g)) as size. pose proof (Rle_abs (- (v1 * g))) as low1.
      pose proof (Rle_abs (- (e1 * f))) as low2. pose proof (Rle_abs (- (e1 * g))) as low3.
      rewrite Rabs_Ropp in low1, low2, low3. lra.
    - assert (v_range : T - (/ 16777216 * T + h) <= v) by (apply Rabs_le_inv in err_v; lra).
      assert (a * (T - (/ 16777216 * T + h)) <= a * v) by (apply Rmult_le_compat_l; lra).
      assert (a * h <= / 40 * h) by (apply Rmult_le_compat_r; lra). lra.
  Qed.
End Sums.

(** ** Arguments and counts of the strict kernels' sums.

    [argued z D]: the number z is the argument, as computed, of an item that lies D below a reference; it may have overflowed.

    For at most 2^22 items. Source: kernels/block/exponential.hpp. *)

(** ** Counts *)

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

Lemma within_22 x : 0 <= x <= 4194304 -> Rabs x <= two_to 22.
Proof. intros range. change (two_to 22) with 4194304. rewrite Rabs_right; lra. Qed.

Definition limited (l : list R) (H J K : nat) : Prop :=
  short l /\ (Z.of_nat (H + J) <= 2 ^ 15)%Z /\ (Z.of_nat K <= 2 ^ 22)%Z.

Lemma limited_less l l' H H' J J' K K' :
  (length l <= length l')%nat -> (H + J <= H' + J')%nat -> (K <= K')%nat -> limited l' H' J' K' -> limited l H J K.
Proof. intros hl hHJ hK [few_items [steps scalings]]. unfold limited, short in *. repeat split; lia. Qed.

Section Argued.
  Context (A : nat) (step : R) (few : (A <= 12)%nat) (small_step : 0 <= step <= / 2).
  Notation M := (strict_arithmetic A step).

  (** ** An argument, maybe one that has overflowed *)

  Definition argued (z : f32) (D : R) : Prop :=
    (exists a, is_value z a /\ a <= 0 /\ computed_argument M D (- a)) \/
    (less exp_vanishing z = false /\ exists b, 110 <= b /\ computed_argument M D b).

  Lemma argued_factor z D :
    argued z D ->
    exists b f, computed_argument M D b /\ computed_exp M b f /\ is_value (value (exponential_parts z)) f /\ 0 <= f <= 1 /\
      (0 < f -> is_value z (- b) /\ 0 <= b < 110 /\
        exists g, is_value (rest (exponential_parts z)) g /\ computed_exp M b (f + g) /\ Rabs g <= 9 * u32 * f).
  Proof using few small_step.
    intros [[a [hz [le arg]]]|[far [b [beyond arg]]]].
    - destruct (factor_is_computed A step few small_step z a hz le) as [f [hf [range [exps parts]]]]. exists (- a), f.
      repeat (split; [assumption|]). intros pos. split; [now rewrite Ropp_involutive|]. split; [|now apply parts].
      assert (-110 < a); [|lra]. apply Rnot_le_lt. intros beyond. destruct (far_exponential z) as [_ gone].
      + destruct (less exp_lowest z) eqn:counts; [|easy]. apply (less_value _ _ _ _ lowest_value hz) in counts. lra.
      + destruct hf as [_ value]. change (val (exponential z) = f) in value. lra.
    - exists b, 0. split; [easy|]. split; [now apply nothing_is_computed|]. split; [now apply far_exponential, lower_than_lowest|].
      split; [lra|]. intros pos. lra.
  Qed.
End Argued.
