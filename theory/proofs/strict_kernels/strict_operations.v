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
Proof. exact (rounding_within binary32 positive_precision_32 a e). Qed.

Lemma fl_nonneg a : 0 <= a -> 0 <= fl32 a.
Proof. intros. rewrite <- (fl_0 binary32). now apply fl_monotone. Qed.

Lemma no_overflow a : Rabs a <= two_to 127 -> Rlt_bool (Rabs (fl32 a)) (two_to 128) = true.
Proof.
  intros bound. apply Rlt_bool_true. apply Rle_lt_trans with (two_to 127); [now apply fl_within|]. apply bpow_lt. lia.
Qed.

(** Of Flocq's theorem about one operation, where [bounded] says that nothing overflows. *)
Ltac rounded_once correct bounded :=
  let h := fresh in let finite := fresh in intros bound; pose proof correct as h; cbv zeta in h;
  match type of h with if ?c then _ else _ => replace c with true in h by (symmetry; exact (bounded _ bound)) end;
  destruct h as [h [finite _]]; split; [|exact h]; refine (eq_trans finite _);
  repeat match goal with same : is_finite _ = true |- _ => rewrite same end; reflexivity.

Section Operations.
  Context (x y z : f32) (a b c : R) (hx : is_value x a) (hy : is_value y b) (hz : is_value z c).

  Theorem add_value : Rabs (a + b) <= two_to 127 -> is_value (add x y) (fl32 (a + b)).
  Proof using hx hy.
    destruct hx as [fx <-], hy as [fy <-].
    rounded_once (@Bplus_correct 24 128 positive_24 below_128 mode_NE x y fx fy) no_overflow.
  Qed.

  Theorem sub_value : Rabs (a - b) <= two_to 127 -> is_value (sub x y) (fl32 (a - b)).
  Proof using hx hy.
    destruct hx as [fx <-], hy as [fy <-].
    rounded_once (@Bminus_correct 24 128 positive_24 below_128 mode_NE x y fx fy) no_overflow.
  Qed.

  Theorem mul_value : Rabs (a * b) <= two_to 127 -> is_value (mul x y) (fl32 (a * b)).
  Proof using hx hy.
    destruct hx as [fx <-], hy as [fy <-].
    rounded_once (@Bmult_correct 24 128 positive_24 below_128 mode_NE x y) no_overflow.
  Qed.

  Theorem quotient_value : b <> 0 -> Rabs (a / b) <= two_to 127 -> is_value (quotient x y) (fl32 (a / b)).
  Proof using hx hy.
    destruct hx as [fx <-], hy as [fy <-]. intros nonzero.
    rounded_once (@Bdiv_correct 24 128 positive_24 below_128 mode_NE x y nonzero) no_overflow.
  Qed.

  Theorem fused_value : Rabs (a * b + c) <= two_to 127 -> is_value (fused x y z) (fl32 (a * b + c)).
  Proof using hx hy hz.
    destruct hx as [fx <-], hy as [fy <-], hz as [fz <-].
    rounded_once (@Bfma_correct 24 128 positive_24 below_128 mode_NE x y z fx fy fz) no_overflow.
  Qed.

  Lemma neg_value : is_value (neg x) (- a).
  Proof using hx. destruct hx as [fx <-]. split; [unfold neg; now rewrite is_finite_Bopp|apply B2R_Bopp]. Qed.

  Lemma less_value : less x y = true <-> a < b.
  Proof using hx hy.
    destruct hx as [fx <-], hy as [fy <-]. unfold less. rewrite Bltb_correct by easy.
    case Rlt_bool_spec; intuition (try discriminate; lra).
  Qed.
End Operations.

Lemma value_at x a b : is_value x a -> a = b -> is_value x b.
Proof. now intros h <-. Qed.

Theorem dyadic_value m e :
  (Z.abs m < 2 ^ 24 \/ Z.even m = true /\ Z.abs m < 2 ^ 25)%Z -> (-149 <= e <= 100)%Z ->
  is_value (dyadic m e) (IZR m * two_to e).
Proof.
  intros few range. assert (is_number : number binary32 (IZR m * two_to e)).
  { destruct few as [few|[even few]]; [apply (number_of_integer binary32 m e); [easy|cbn; lia]|].
    apply Z.even_spec in even as [half ->]. replace (IZR (2 * half) * two_to e) with (IZR half * two_to (e + 1)).
    - apply (number_of_integer binary32 half (e + 1)); cbn; lia.
    - rewrite bpow_plus, mult_IZR. change (two_to 1) with 2. ring. }
  assert (bound : Rabs (IZR m * two_to e) <= two_to 127).
  { rewrite Rabs_mult, <- abs_IZR, (Rabs_right (two_to e)) by (apply Rle_ge, bpow_ge_0).
    apply Rle_trans with (two_to 25 * two_to e).
    + apply Rmult_le_compat_r; [apply bpow_ge_0|]. change (two_to 25) with (IZR (2 ^ 25)). apply IZR_le. lia.
    + rewrite <- bpow_plus. apply bpow_le. lia. }
  rewrite <- (fl_number binary32 _ is_number). revert bound.
  rounded_once (@binary_normalize_correct 24 128 positive_24 below_128 mode_NE m e false) no_overflow.
Qed.

Lemma zero_value : is_value zero 0.
Proof. easy. Qed.

Lemma one_value : is_value one 1.
Proof. apply (value_at _ (IZR 1 * two_to 0)); [apply dyadic_value; lia|cbn; ring]. Qed.

(** Numbers are multiples of 2^-149. *)
Lemma number_grid x : number binary32 x -> exists n, x = IZR n * two_to (-149).
Proof.
  intros is_number. unfold number, generic_format, F2R in is_number. cbn [Fnum Fexp] in is_number.
  set (c := cexp _ _ x) in *. assert (low : (-149 <= c)%Z) by (unfold c, cexp, FLT_exp; cbn [prec emin binary32]; lia).
  exists (Ztrunc (scaled_mantissa radix2 (FLT_exp (emin binary32) (prec binary32)) x) * 2 ^ (c - -149))%Z.
  rewrite mult_IZR, (IZR_Zpower radix2) by lia. rewrite Rmult_assoc, <- bpow_plus.
  rewrite is_number at 1. do 2 f_equal. ring.
Qed.

(** ** The remainder of an addition *)

Lemma symmetric_ties n : negb (Z.even n) = negb (negb (Z.even (- (n + 1)))).
Proof. rewrite Bool.negb_involutive, Z.even_opp, Z.even_add. cbn. now destruct (Z.even n). Qed.

Theorem two_sum a b :
  number binary32 a -> number binary32 b ->
  let s := fl32 (a + b) in let taken := fl32 (s - a) in
  s + fl32 (fl32 (a - fl32 (s - taken)) + fl32 (b - taken)) = a + b.
Proof.
  intros ha hb. apply (TwoSum_correct (-149) 24 (fun n => negb (Z.even n))); try easy; try lia. apply symmetric_ties.
Qed.

Lemma fl_opp a : fl32 (- a) = - fl32 a.
Proof. apply round_NE_opp. Qed.

(** By fewer operations, where the first number is no smaller. *)
Lemma quick_sum F a b :
  (1 < prec F)%Z -> (emin F <= 0)%Z -> number F a -> number F b -> Rabs b <= Rabs a ->
  fl F (a + b) + fl F (b - fl F (fl F (a + b) - a)) = a + b.
Proof.
  intros p e ha hb le. rewrite <- (Fast2Sum_correct (emin F) (prec F) _ p e symmetric_ties a b ha hb le) at 3. unfold fl.
  f_equal. replace (b - nearest F _ _) with (b + - nearest F (fun n => negb (Z.even n)) (nearest F (fun n => negb (Z.even n)) (a + b) - a)) by ring.
  unfold nearest. rewrite <- round_NE_opp. do 3 f_equal. ring.
Qed.

Theorem quick_two_sum a b :
  number binary32 a -> number binary32 b -> Rabs b <= Rabs a ->
  let s := fl32 (a + b) in s + fl32 (b - fl32 (s - a)) = a + b.
Proof. now apply quick_sum. Qed.

(** ** Errors of one rounding *)

Definition half_quantum : R := two_to (-150).

Lemma half_quantum_positive : 0 < half_quantum.
Proof. apply bpow_gt_0. Qed.

Lemma fl_error a : Rabs (fl32 a - a) <= two_to (-24) * Rabs a + half_quantum.
Proof. exact (error_of_rounding binary32 positive_precision_32 a). Qed.

Lemma fl_sum_error a b :
  number binary32 a -> number binary32 b -> Rabs (fl32 (a + b) - (a + b)) <= two_to (-24) * Rabs (a + b).
Proof. exact (error_of_sum binary32 positive_precision_32 a b). Qed.

(** 0 is a number, so that rounding moves no number further than to it. *)
Lemma fl_at_most_doubles a : Rabs (fl32 a) <= 2 * Rabs a.
Proof.
  destruct (round_N_pt radix2 (FLT_exp (-149) 24) (fun n => negb (Z.even n)) a) as [_ nearest_one].
  specialize (nearest_one 0 (generic_format_0 _ _)). replace (0 - a) with (- a) in nearest_one by ring.
  rewrite Rabs_Ropp in nearest_one. pose proof (Rabs_triang (fl32 a - a) a) as sum.
  replace (fl32 a - a + a) with (fl32 a) in sum by ring. change (round radix2 _ _ a) with (fl32 a) in nearest_one. lra.
Qed.
