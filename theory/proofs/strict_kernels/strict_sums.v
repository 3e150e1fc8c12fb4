(** * A compensated sum in binary32 errs as a part of an addition or as one product of the model does.

    [kept s v e N K]: v and e are value and rest of s, v is at least 0 and far from overflow, and e is as small as N operations
    on a path and K rescalings leave it.

    Main results
    - [plus_item_value]    value and rest after an addition, from Knuth's two-sum: only the rest is rounded
    - [sums_added_real]    value and rest of two sums added are together a sum that errs by a twelfth of a roundoff, and
                           the rest stays small
    - [sum_rescaled_real]  value and rest times a factor and its rest are together a computed product, likewise
    - [item_kept], [sums_kept], [product_kept]   so they are of the operations bit by bit: a number added, two sums added, a
                           factor and its rest

    For at most 2^22 rescalings and 2^15 operations on a path. Source: kernels/block/compensated_sum.hpp. *)

From Coq Require Import Reals ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import tree_heights.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers strict_operations strict_exponential strict_weights.
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

Definition small_rest (v e : R) (N K : nat) : Prop := Rabs e <= rest_slope N * v + rest_floor N K.

Section Sums.
  Context (A : nat) (step : R).
  Notation M := (strict_arithmetic A step).

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

  (** ** Two sums, of numbers *)

  Context (N K K1 K2 : nat) (N_few : (Z.of_nat N <= 2 ^ 15)%Z) (K_few : (Z.of_nat K <= 2 ^ 22)%Z)
    (both : K = (K1 + K2)%nat).

  Lemma floor_of_both : rest_floor N K = rest_floor N K1 + rest_floor N K2 /\ 0 <= rest_floor N K1 /\ 0 <= rest_floor N K2.
  Proof using N_few K_few both.
    destruct (limits N K1 N_few ltac:(lia)) as [_ [_ [pos1 _]]]. destruct (limits N K2 N_few ltac:(lia)) as [_ [_ [pos2 _]]].
    split; [|split; assumption]. unfold rest_floor. rewrite both, plus_INR. ring.
  Qed.

  Theorem sums_added_real v1 e1 v2 e2 v d e' e :
    0 <= v1 -> 0 <= v2 -> small_rest v1 e1 N K1 -> small_rest v2 e2 N K2 ->
    v + d = v1 + v2 -> Rabs d <= u32 * (v1 + v2) ->
    Rabs (e' - (e1 + d)) <= u32 * Rabs (e1 + d) -> Rabs (e - (e' + e2)) <= u32 * Rabs (e' + e2) ->
    sum_within M (/ 12) (v1 + e1 + (v2 + e2)) (v + e) /\ small_rest v e (S N) K.
  Proof using N_few K_few both.
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

  Context (few : (A <= 12)%nat) (small_step : 0 <= step <= / 2).

  Theorem sum_rescaled_real v1 e1 f g v q m e :
    0 <= v1 -> small_rest v1 e1 N K -> 0 <= f <= 1 -> Rabs g <= 9 * u32 * f -> 0 <= v ->
    Rabs (v - v1 * f) <= u32 * Rabs (v1 * f) + half_quantum ->
    Rabs (q - (v1 * f - v)) <= u32 * Rabs (v1 * f - v) + half_quantum ->
    Rabs (m - (v1 * g + q)) <= u32 * Rabs (v1 * g + q) + half_quantum ->
    Rabs (e - (e1 * f + m)) <= u32 * Rabs (e1 * f + m) + half_quantum ->
    computed_product M ((v1 + e1) * (f + g)) (v + e) /\ small_rest v e (S N) (S K).
  Proof using few small_step N_few K_few.
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
    - apply (product_within A step few small_step). change u32 with (/ 16777216). fold h.
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
  Context (A : nat) (step : R).
  Notation M := (strict_arithmetic A step).

  Context (N K : nat) (N_few : (Z.of_nat N <= 2 ^ 15)%Z) (K_few : (Z.of_nat K <= 2 ^ 22)%Z).

  Theorem item_kept s x v e a :
    kept s v e N K -> is_value x a -> 0 <= a <= two_to 48 ->
    exists e', is_value (sum_value (plus_item s x)) (fl32 (v + a)) /\ is_value (sum_rest (plus_item s x)) e' /\
      sum_within M (/ 12) (v + e + a) (fl32 (v + a) + e') /\ small_rest (fl32 (v + a)) e' (S N) K.
  Proof using N_few K_few.
    intros held hx range. destruct (kept_within N K N_few K_few s v e held) as [v_in [e_in _]]. destruct held as [hv he v_range small].
    assert (up : two_to 48 <= two_to 50) by (apply bpow_le; lia).
    destruct (plus_item_value s x v e a hv he hx ltac:(lra) ltac:(lra) ltac:(rewrite Rabs_right; lra))
      as [d [h_value [h_rest [d_number [exact d_small]]]]].
    rewrite (Rabs_right (v + a)) in d_small by lra.
    pose proof (fl_sum_error e d (value_number _ _ he) d_number) as err.
    exists (fl32 (e + d)). split; [exact h_value|]. split; [exact h_rest|]. rewrite <- (Rplus_0_r a) at 1.
    apply (sums_added_real A step N K K 0 N_few K_few ltac:(lia) v e a 0 _ d (fl32 (e + d))); try easy; try lra.
    - unfold small_rest. rewrite Rabs_R0. destruct (limits N 0 N_few ltac:(easy)) as [slope [_ [floor _]]].
      assert (0 <= rest_slope N * a) by (apply Rmult_le_pos; lra). lra.
    - rewrite Rplus_0_r, Rminus_diag_eq, Rabs_R0 by easy. apply Rmult_le_pos; [apply bpow_ge_0|apply Rabs_pos].
  Qed.

  Context (few : (A <= 12)%nat) (small_step : 0 <= step <= / 2).

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
    destruct (sum_rescaled_real A step N K N_few K_few few small_step v e f g (fl32 (v * f)) q m (fl32 (e * f + m)))
      as [computed smaller]; try easy; apply fl_error.
  Qed.
End Compensated.

Section Two.
  Context (A : nat) (step : R).
  Notation M := (strict_arithmetic A step).

  Theorem sums_kept N K1 K2 s1 s2 v1 e1 v2 e2 :
    (Z.of_nat N <= 2 ^ 15)%Z -> (Z.of_nat (K1 + K2) <= 2 ^ 22)%Z -> kept s1 v1 e1 N K1 -> kept s2 v2 e2 N K2 ->
    exists e, is_value (sum_value (plus_sum s1 s2)) (fl32 (v1 + v2)) /\ is_value (sum_rest (plus_sum s1 s2)) e /\
      sum_within M (/ 12) (v1 + e1 + (v2 + e2)) (fl32 (v1 + v2) + e) /\ small_rest (fl32 (v1 + v2)) e (S N) (K1 + K2).
  Proof using.
    intros N_few K_few held1 held2.
    destruct (kept_within N K1 N_few ltac:(lia) s1 v1 e1 held1) as [v1_in [e1_in _]].
    destruct (kept_within N K2 N_few ltac:(lia) s2 v2 e2 held2) as [v2_in [e2_in _]].
    destruct held1 as [hv1 he1 range1 small1], held2 as [hv2 he2 range2 small2].
    assert (up : two_to 48 <= two_to 50) by (apply bpow_le; lia).
    destruct (plus_item_value s1 (sum_value s2) v1 e1 v2 hv1 he1 hv2 ltac:(lra) ltac:(lra) ltac:(lra))
      as [d [h_value [h_rest [d_number [exact d_small]]]]].
    assert (d_in : Rabs d <= two_to 49).
    { eapply Rle_trans; [exact d_small|]. change 49%Z with (1 + 48)%Z. rewrite bpow_plus. change (two_to 1) with 2.
      rewrite Rabs_right by lra. apply Rle_trans with (1 * (v1 + v2)); [apply Rmult_le_compat_r; [lra|]|lra].
      pose proof u32_range. lra. }
    rewrite (Rabs_right (v1 + v2)) in d_small by lra. set (e' := fl32 (e1 + d)) in *.
    assert (e'_in : Rabs e' <= two_to 50) by (apply (fl_sum_within _ _ 49); [lia|now apply wider with 48%Z; [lia|]|easy]).
    exists (fl32 (e' + e2)). split; [exact h_value|]. split.
    { unfold plus_sum. cbn [sum_rest]. apply near_add; [easy|easy|now apply wider with 50%Z; [lia|]|now apply wider with 48%Z; [lia|]]. }
    apply (sums_added_real A step N (K1 + K2) K1 K2 N_few K_few eq_refl v1 e1 v2 e2 _ d e'); try easy; try lra.
    - apply fl_sum_error; [exact (value_number _ _ he1)|exact d_number].
    - apply fl_sum_error; [exact (value_number _ _ h_rest)|exact (value_number _ _ he2)].
  Qed.
End Two.

(** 1, 2 and the factor e^0: the premises hold, and 3 is the sum. *)
Example one_and_two_are_kept :
  let sum x := {| sum_value := x; sum_rest := zero |} in
  kept (sum one) 1 0 0 0 /\ kept (sum (dyadic 2 0)) 2 0 0 0 /\ is_value zero 0 /\ 0 <= 0 /\
  is_value (value (exponential_parts zero)) 1 /\ is_value (rest (exponential_parts zero)) 0 /\ Rabs 0 <= 9 * u32 * 1 /\
  0 <= 2 <= two_to 48 /\ (12 <= 12)%nat /\ 0 <= 0 <= / 2 /\
  word_of_f32 (sum_value (plus_sum (sum one) (sum (dyadic 2 0)))) = 0x40400000%Z.
Proof.
  assert (h2 : is_value (dyadic 2 0) 2) by (eapply value_at; [apply dyadic_value; lia|cbn; lra]).
  assert (large : 2 <= two_to 48) by (apply (bpow_le radix2 1 48); lia).
  assert (none : forall v, 0 <= v -> small_rest v 0 0 0).
  { intros v pos. unfold small_rest, rest_slope, rest_floor. cbn [INR]. rewrite Rabs_R0. lra. }
  assert (at_zero : value (exponential_parts zero) = one /\ rest (exponential_parts zero) = zero)
    by (split; apply B2SF_inj; vm_compute; reflexivity).
  cbv zeta. rewrite (proj1 at_zero), (proj2 at_zero), Rabs_R0. clear at_zero. pose proof u32_range as u0.
  pose proof one_value as h1. pose proof zero_value as h0.
  split; [constructor; [exact h1|exact h0|lra|apply none; lra]|].
  split; [constructor; [exact h2|exact h0|lra|apply none; lra]|].
  split; [exact h0|]. split; [lra|]. split; [exact h1|]. split; [exact h0|]. split; [lra|]. split; [lra|]. split; [lia|].
  split; [lra|]. vm_compute. reflexivity.
Qed.
