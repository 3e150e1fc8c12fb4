(** * What the strict kernels' operations compute, as real numbers.

    [is_value x a]: x is finite and its value is a.

    Main results
    - [add_value], [sub_value], [mul_value], [fused_value], [quotient_value]   each operation rounds the exact result
      once, to nearest, unless that is beyond 2^127
    - [dyadic_value]   m 2^e is itself where it has 24 bits
    - [two_sum]        sum and remainder of an addition of any two numbers are its exact result
    - [quick_two_sum]  so they are by fewer operations where the first number is no smaller

    Source: Flocq's correctness theorems of its binary floats, and TwoSum_correct. *)

From Coq Require Import Reals ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN Pff2Flocq.
From softcheck.floating_point Require Import formats.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers.
Local Open Scope R_scope.

Notation fl32 := (fl binary32).
Notation val := (@B2R 24 128).

Definition is_value (x : f32) (a : R) : Prop := is_finite x = true /\ val x = a.

Lemma positive_precision_32 : (0 < prec binary32)%Z.
Proof. reflexivity. Qed.
Global Instance precision_32 : Prec_gt_0 (prec binary32) := positive_precision_32.

Lemma value_number x a : is_value x a -> number binary32 a.
Proof. intros [_ <-]. apply (generic_format_B2R 24 128 x). Qed.

Lemma fl_within a e : (-149 <= e)%Z -> Rabs a <= two_to e -> Rabs (fl32 a) <= two_to e.
Proof.
  intros low bound. apply abs_round_le_generic; try typeclasses eauto; [|easy].
  apply generic_format_bpow. unfold FLT_exp. cbn. lia.
Qed.

Lemma fl_nonneg a : 0 <= a -> 0 <= fl32 a.
Proof. intros. rewrite <- (fl_0 binary32). now apply fl_monotone. Qed.

Lemma no_overflow a : Rabs a <= two_to 127 -> Rlt_bool (Rabs (fl32 a)) (two_to 128) = true.
Proof.
  intros bound. apply Rlt_bool_true. apply Rle_lt_trans with (two_to 127); [now apply fl_within|].
  apply bpow_lt. lia.
Qed.

Section Operations.
  Context (x y z : f32) (a b c : R) (hx : is_value x a) (hy : is_value y b) (hz : is_value z c).

  Theorem add_value : Rabs (a + b) <= two_to 127 -> is_value (add x y) (fl32 (a + b)).
  Proof using hx hy.
    destruct hx as [fx <-], hy as [fy <-]. intros bound.
    pose proof (@Bplus_correct 24 128 positive_24 below_128 mode_NE x y fx fy) as correct.
    change (round radix2 _ _ (val x + val y)) with (fl32 (val x + val y)) in correct.
    rewrite no_overflow in correct by easy. now destruct correct as [v [f _]].
  Qed.

  Theorem sub_value : Rabs (a - b) <= two_to 127 -> is_value (sub x y) (fl32 (a - b)).
  Proof using hx hy.
    destruct hx as [fx <-], hy as [fy <-]. intros bound.
    pose proof (@Bminus_correct 24 128 positive_24 below_128 mode_NE x y fx fy) as correct.
    change (round radix2 _ _ (val x - val y)) with (fl32 (val x - val y)) in correct.
    rewrite no_overflow in correct by easy. now destruct correct as [v [f _]].
  Qed.

  Theorem mul_value : Rabs (a * b) <= two_to 127 -> is_value (mul x y) (fl32 (a * b)).
  Proof using hx hy.
    destruct hx as [fx <-], hy as [fy <-]. intros bound.
    pose proof (@Bmult_correct 24 128 positive_24 below_128 mode_NE x y) as correct.
    change (round radix2 _ _ (val x * val y)) with (fl32 (val x * val y)) in correct.
    rewrite no_overflow in correct by easy. destruct correct as [v [f _]]. split; [|easy].
    unfold mul. now rewrite f, fx, fy.
  Qed.

  Theorem quotient_value : b <> 0 -> Rabs (a / b) <= two_to 127 -> is_value (quotient x y) (fl32 (a / b)).
  Proof using hx hy.
    destruct hx as [fx <-], hy as [fy <-]. intros nonzero bound.
    pose proof (@Bdiv_correct 24 128 positive_24 below_128 mode_NE x y nonzero) as correct.
    change (round radix2 _ _ (val x / val y)) with (fl32 (val x / val y)) in correct.
    rewrite no_overflow in correct by easy. destruct correct as [v [f _]]. split; [|easy].
    unfold quotient. now rewrite f.
  Qed.

  Theorem fused_value : Rabs (a * b + c) <= two_to 127 -> is_value (fused x y z) (fl32 (a * b + c)).
  Proof using hx hy hz.
    destruct hx as [fx <-], hy as [fy <-], hz as [fz <-]. intros bound.
    pose proof (@Bfma_correct 24 128 positive_24 below_128 mode_NE x y z fx fy fz) as correct. cbv zeta in correct.
    change (round radix2 _ _ (val x * val y + val z)) with (fl32 (val x * val y + val z)) in correct.
    rewrite no_overflow in correct by easy. now destruct correct as [v [f _]].
  Qed.

  Lemma neg_value : is_value (neg x) (- a).
  Proof using hx.
    destruct hx as [fx <-]. split; [unfold neg; now rewrite is_finite_Bopp|apply B2R_Bopp].
  Qed.

  Lemma less_value : less x y = true <-> a < b.
  Proof using hx hy.
    destruct hx as [fx <-], hy as [fy <-]. unfold less. rewrite Bltb_correct by easy.
    case Rlt_bool_spec; intuition (try discriminate; lra).
  Qed.

  Lemma same_value : same x y = true <-> a = b.
  Proof using hx hy.
    destruct hx as [fx <-], hy as [fy <-]. unfold same. rewrite Beqb_correct by easy.
    case Req_bool_spec; intuition (try discriminate; lra).
  Qed.
End Operations.

Lemma value_at x a b : is_value x a -> a = b -> is_value x b.
Proof. now intros h <-. Qed.

Theorem dyadic_value m e :
  (Z.abs m < 2 ^ 24 \/ Z.even m = true /\ Z.abs m < 2 ^ 25)%Z -> (-149 <= e <= 100)%Z ->
  is_value (dyadic m e) (IZR m * two_to e).
Proof.
  intros few range.
  assert (is_number : number binary32 (IZR m * two_to e)).
  { destruct few as [few|[even few]]; [apply (number_of_integer binary32 m e); [easy|cbn; lia]|].
    apply Z.even_spec in even as [half ->]. replace (IZR (2 * half) * two_to e) with (IZR half * two_to (e + 1)).
    - apply (number_of_integer binary32 half (e + 1)); cbn; lia.
    - rewrite bpow_plus, mult_IZR. change (two_to 1) with 2. ring. }
  pose proof (@binary_normalize_correct 24 128 positive_24 below_128 mode_NE m e false) as correct. cbv zeta in correct.
  change (F2R (Float radix2 m e)) with (IZR m * two_to e) in correct.
  change (round radix2 _ _ (IZR m * two_to e)) with (fl32 (IZR m * two_to e)) in correct.
  rewrite no_overflow in correct.
  - destruct correct as [v [f _]]. split; [easy|]. unfold dyadic. rewrite v. now apply fl_number.
  - rewrite Rabs_mult, <- abs_IZR, (Rabs_right (two_to e)) by (apply Rle_ge, bpow_ge_0).
    apply Rle_trans with (two_to 25 * two_to e).
    + apply Rmult_le_compat_r; [apply bpow_ge_0|]. change (two_to 25) with (IZR (2 ^ 25)). apply IZR_le. lia.
    + rewrite <- bpow_plus. apply bpow_le. lia.
Qed.

Lemma zero_value : is_value zero 0.
Proof. easy. Qed.

Lemma one_value : is_value one 1.
Proof.
  apply (value_at _ (IZR 1 * two_to 0)); [apply dyadic_value; lia|cbn; ring].
Qed.

(** ** The remainder of an addition *)

Lemma symmetric_ties n : negb (Z.even n) = negb (negb (Z.even (- (n + 1)))).
Proof.
  rewrite Bool.negb_involutive, Z.even_opp, Z.even_add. cbn. now destruct (Z.even n).
Qed.

Theorem two_sum a b :
  number binary32 a -> number binary32 b ->
  let s := fl32 (a + b) in let taken := fl32 (s - a) in
  s + fl32 (fl32 (a - fl32 (s - taken)) + fl32 (b - taken)) = a + b.
Proof.
  intros ha hb. apply (TwoSum_correct (-149) 24 (fun n => negb (Z.even n))); try easy; try lia. apply symmetric_ties.
Qed.

Lemma fl_opp a : fl32 (- a) = - fl32 a.
Proof. apply round_NE_opp. Qed.

Theorem quick_two_sum a b :
  number binary32 a -> number binary32 b -> Rabs b <= Rabs a ->
  let s := fl32 (a + b) in s + fl32 (b - fl32 (s - a)) = a + b.
Proof.
  intros ha hb le.
  pose proof (Fast2Sum_correct (-149) 24 (fun n => negb (Z.even n)) ltac:(lia) ltac:(lia) symmetric_ties a b ha hb le)
    as sum.
  cbv zeta in *. set (s := fl32 (a + b)) in *.
  assert (flipped : b - fl32 (s - a) = b + fl32 (a - s)).
  { replace (a - s) with (- (s - a)) by ring. rewrite fl_opp. ring. }
  rewrite flipped. exact sum.
Qed.

(** ** Errors of one rounding *)

Definition half_quantum : R := two_to (-150).

Lemma half_quantum_positive : 0 < half_quantum.
Proof. apply bpow_gt_0. Qed.

Lemma fl_error a : Rabs (fl32 a - a) <= two_to (-24) * Rabs a + half_quantum.
Proof.
  destruct (nearest_any binary32 positive_precision_32 (fun n => negb (Z.even n)) a) as [d [e [bd [be [_ eq]]]]].
  change (nearest binary32 _ a) with (fl32 a) in eq. rewrite eq.
  replace (a * (1 + d) + e - a) with (d * a + e) by ring. eapply Rle_trans; [apply Rabs_triang|].
  rewrite Rabs_mult. apply Rplus_le_compat.
  - apply Rmult_le_compat_r; [apply Rabs_pos|easy].
  - eapply Rle_trans; [apply be|]. right. unfold smallest_subnormal, half_quantum. cbn -[bpow].
    change (-150)%Z with (-149 + -1)%Z. rewrite bpow_plus. change (two_to (-1)) with (/ 2). ring.
Qed.

Lemma fl_sum_error a b :
  number binary32 a -> number binary32 b -> Rabs (fl32 (a + b) - (a + b)) <= two_to (-24) * Rabs (a + b).
Proof.
  intros ha hb.
  destruct (nearest_sum binary32 positive_precision_32 (fun n => negb (Z.even n)) a b ha hb) as [d [bd eq]].
  change (nearest binary32 _ (a + b)) with (fl32 (a + b)) in eq. rewrite eq.
  replace ((a + b) * (1 + d) - (a + b)) with (d * (a + b)) by ring. rewrite Rabs_mult.
  apply Rmult_le_compat_r; [apply Rabs_pos|easy].
Qed.

(** 0 is a number, so that rounding moves no number further than to it. *)
Lemma fl_at_most_doubles a : Rabs (fl32 a) <= 2 * Rabs a.
Proof.
  destruct (round_N_pt radix2 (FLT_exp (-149) 24) (fun n => negb (Z.even n)) a) as [_ nearest_one].
  specialize (nearest_one 0 (generic_format_0 _ _)).
  replace (0 - a) with (- a) in nearest_one by ring. rewrite Rabs_Ropp in nearest_one.
  pose proof (Rabs_triang (fl32 a - a) a) as sum. replace (fl32 a - a + a) with (fl32 a) in sum by ring.
  change (round radix2 _ _ a) with (fl32 a) in nearest_one. lra.
Qed.
