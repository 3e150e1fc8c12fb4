(** * The strict kernels' exponential is the certified one, its power of two included.

    Main results
    - [operations_are_certified]   its operations on binary32 numbers are those of certified/exponentials.v, step by step
    - [power_is_made_of_bits]      the bits of the count, shifted, are those of 2^(k + 64)

    Source: kernels/block/exponential.hpp; certified/computed_exp.v. *)

From Coq Require Import Reals List ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN Sterbenz.
From softcheck Require Import standard_interval.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.certified Require Import rounded_operations computed_exp exponential_constants exponentials.
From softcheck.strict_kernels Require Import machine_numbers strict_operations.
Import ListNotations.
Local Open Scope R_scope.

(** ** The constants *)

Ltac known := apply dyadic_value; [first [left; reflexivity|right; split; reflexivity]|lia].
Ltac constant := eapply value_at; [known|numerals; lra].

Lemma log2_e_value : is_value exp_log2_e (log2_e exp_f32). Proof. constant. Qed.
Lemma rounder_value : is_value exp_rounder (IZR (rounder exp_f32)).
Proof. eapply value_at; [known|cbn; lra]. Qed.
Lemma ln2_high_value : is_value exp_ln2_high (ln2_high exp_f32). Proof. constant. Qed.
Lemma ln2_low_value : is_value exp_ln2_low (ln2_low exp_f32). Proof. constant. Qed.
Lemma unscale_value : is_value exp_unscale (two_to (-64)).
Proof. eapply value_at; [known|ring]. Qed.
Lemma lowest_value : is_value exp_lowest (-110). Proof. constant. Qed.
Lemma vanishing_value : is_value exp_vanishing (-8676966 / 65536). Proof. constant. Qed.

(** ** Operations that stay far from overflow *)

Lemma fused_far x y z a b c i j l :
  is_value x a -> is_value y b -> is_value z c ->
  Rabs a <= two_to i -> Rabs b <= two_to j -> Rabs c <= two_to l -> (l <= i + j)%Z -> (-149 <= i + j + 1 <= 127)%Z ->
  is_value (fused x y z) (fl32 (a * b + c)) /\ Rabs (fl32 (a * b + c)) <= two_to (i + j + 1).
Proof.
  intros hx hy hz ba bb bc le range. assert (bound : Rabs (a * b + c) <= two_to (i + j + 1)).
  { triangle. rewrite Rabs_mult.
    assert (Rabs a * Rabs b <= two_to i * two_to j) by (apply Rmult_le_compat; auto using Rabs_pos).
    rewrite <- bpow_plus in *. pose proof (bpow_le radix2 l (i + j) le). rewrite (bpow_plus _ (i + j) 1).
    change (two_to 1) with 2. lra. }
  split; [|apply fl_within; [lia|easy]]. apply fused_value; try easy.
  eapply Rle_trans; [apply bound|apply bpow_le; lia].
Qed.

Lemma horner_step c c' rest r y :
  computed_horner binary32 (c' :: rest) r y -> computed_horner binary32 (c :: c' :: rest) r (fl32 (y * r + c)).
Proof. intros computed. exists y. split; [easy|now left]. Qed.

(** Horner's rule on |r| <= 2^9: every value is the certified one's, below 2^40. *)
Lemma horner_far r a :
  is_value r a -> Rabs a <= two_to 9 ->
  exists q, is_value (fused_horner exp_coefficients r) q /\ computed_horner binary32 (coefficients exp_f32) a q /\
    Rabs q <= two_to 40.
Proof.
  intros hr small. assert (c0 : is_value (dyadic 0x1fffffc (-26)) 0x1.fffffcp-2) by constant.
  assert (c1 : is_value (dyadic 0x1555492 (-27)) 0x1.555492p-3) by constant.
  assert (c2 : is_value (dyadic 0x15558f2 (-29)) 0x1.5558f2p-5) by constant.
  assert (c3 : is_value (dyadic 0x11239e4 (-31)) 0x1.1239e4p-7) by constant.
  assert (c4 : is_value (dyadic 0x16a2432 (-34)) 0x1.6a2432p-10) by constant.
  assert (below_one : Rabs 0x1.fffffcp-2 <= two_to 0 /\ Rabs 0x1.555492p-3 <= two_to 0 /\
    Rabs 0x1.5558f2p-5 <= two_to 0 /\ Rabs 0x1.1239e4p-7 <= two_to 0 /\ Rabs 0x1.6a2432p-10 <= two_to 0).
  { repeat split; numerals; apply Rabs_le; lra. } destruct below_one as [s0 [s1 [s2 [s3 s4]]]].
  destruct (fused_far _ _ _ _ _ _ 0 9 0 c4 hr c3 s4 small s3) as [v3 b3]; [lia..|].
  destruct (fused_far _ _ _ _ _ _ _ 9 0 v3 hr c2 b3 small s2) as [v2 b2]; [lia..|].
  destruct (fused_far _ _ _ _ _ _ _ 9 0 v2 hr c1 b2 small s1) as [v1 b1]; [lia..|].
  destruct (fused_far _ _ _ _ _ _ _ 9 0 v1 hr c0 b1 small s0) as [v0 b0]; [lia..|]. eexists. split; [exact v0|].
  split; [|exact b0]. cbn [coefficients exp_f32]. now repeat apply horner_step.
Qed.

(** ** The power of two *)

Definition power_at (i : nat) : bool :=
  match B2SF (power_by_bits (dyadic (rounder exp_f32 - Z.of_nat i) 0)) with
  | SpecFloat.S754_finite false m e => (Zpos m =? 2 ^ 23)%Z && (e =? 64 - 23 - Z.of_nat i)%Z
  | _ => false
  end.

Lemma every_power : forallb power_at (seq 0 191) = true.
Proof. vm_compute. reflexivity. Qed.

(** What the rounder leaves is one number. *)
Lemma rounded_is_dyadic x k : (-191 <= k <= 0)%Z -> is_value x (IZR (rounder exp_f32 + k)) -> x = dyadic (rounder exp_f32 + k) 0.
Proof.
  intros range [finite value]. assert (known : is_value (dyadic (rounder exp_f32 + k) 0) (IZR (rounder exp_f32 + k))).
  { eapply value_at; [apply dyadic_value; [left|lia]|rewrite Rmult_1_r; reflexivity].
    change (rounder exp_f32) with 12583103%Z. lia. }
  destruct known as [known_finite known_value].
  assert (nonzero : IZR (rounder exp_f32 + k) <> 0)
    by (apply not_0_IZR; change (rounder exp_f32) with 12583103%Z; lia).
  apply B2R_inj; [apply is_finite_strict_B2R; now rewrite value|apply is_finite_strict_B2R; now rewrite known_value|].
  now rewrite value, known_value.
Qed.

Lemma no_power x : is_value x (IZR (rounder exp_f32 - 191)) -> power_by_bits x = zero.
Proof. intros hx. rewrite (rounded_is_dyadic x (-191) ltac:(lia) hx). apply B2SF_inj. vm_compute. reflexivity. Qed.

Theorem power_is_made_of_bits x k :
  (-190 <= k <= 0)%Z -> is_value x (IZR (rounder exp_f32 + k)) -> is_value (power_by_bits x) (two_to (k + 64)).
Proof.
  intros range hx. pose proof (rounded_is_dyadic x k ltac:(lia) hx) as same.
  pose proof (proj1 (forallb_forall power_at (seq 0 191)) every_power (Z.to_nat (- k))) as checked.
  specialize (checked ltac:(apply in_seq; lia)). unfold power_at in checked.
  replace (rounder exp_f32 - Z.of_nat (Z.to_nat (- k)))%Z with (rounder exp_f32 + k)%Z in checked by lia.
  rewrite <- same in checked. destruct (power_by_bits x) as [| | |s m e bounded]; try discriminate checked.
  cbv beta iota delta [B2SF] in checked. destruct s; [discriminate|].
  apply Bool.andb_true_iff in checked as [mantissa exponent]. apply Z.eqb_eq in mantissa, exponent. split; [easy|].
  cbn [B2R cond_Zopp F2R Fnum Fexp]. unfold F2R. cbn [Fnum Fexp]. rewrite mantissa, exponent.
  change (IZR (2 ^ 23)) with (two_to 23). rewrite <- bpow_plus. f_equal. lia.
Qed.

(** ** One argument: -132.4 <= z <= 0, what the tree kernels compute with *)

Notation u32 := (two_to (-24)).
Notation fits := exp_f32_suitable.

Definition exp_far : exponential_constants.exponential := {|
  arithmetic_format := binary32;
  log2_e := log2_e exp_f32;
  rounder := rounder exp_f32;
  ln2_high := ln2_high exp_f32;
  ln2_low := ln2_low exp_f32;
  coefficients := coefficients exp_f32;
  lowest := -1324 / 10
|}.

Lemma far_fits : suitable exp_far (34660 / 100000) 22713 (-15) 191 8 (-11) steps_f32.
Proof. split; try (decide_constants; fail). exact (truncation exp_f32_suitable). Qed.

Section Argument.
  Context (z : f32) (a : R) (hz : is_value z a) (range : -1324 / 10 <= a <= 0).

  Let product_range : -199 <= a * log2_e exp_f32 <= 0.
  Proof using range. pose proof (log2_range fits). nra. Qed.

  Definition shifted_value : R := fl32 (a * log2_e exp_f32 + IZR (rounder exp_f32)).

  Lemma rounded_count_value : is_value (rounded_count z) shifted_value.
  Proof using hz range.
    apply fused_value; [easy|apply log2_e_value|apply rounder_value|].
    apply Rle_trans with (two_to 24); [|apply bpow_le; lia].
    change (two_to 24) with 16777216. change (rounder exp_f32) with 12583103%Z. apply Rabs_le. lra.
  Qed.

  Lemma integer_number n : (Z.abs n < 2 ^ 24)%Z -> number binary32 (IZR n).
  Proof.
    intros few. replace (IZR n) with (IZR n * two_to 0) by (cbn; ring). apply number_of_integer; [easy|cbn; lia].
  Qed.

  Lemma shifted_range : IZR (rounder exp_f32) - 199 <= shifted_value <= IZR (rounder exp_f32).
  Proof using range.
    assert (low : fl32 12582904 = 12582904) by (apply fl_number, (integer_number 12582904); lia).
    assert (high : fl32 12583103 = 12583103) by (apply fl_number, (integer_number 12583103); lia).
    unfold shifted_value. change (rounder exp_f32) with 12583103%Z. split.
    - replace (12583103 - 199) with 12582904 by ring. rewrite <- low. apply fl_monotone; [easy|lra].
    - rewrite <- high at 2. apply fl_monotone; [easy|lra].
  Qed.

  Lemma shifted_exact : fl32 (shifted_value - IZR (rounder exp_f32)) = shifted_value - IZR (rounder exp_f32).
  Proof using range.
    pose proof shifted_range as bounds. apply fl_number. change (rounder exp_f32) with 12583103%Z in *.
    assert (number binary32 shifted_value) by apply number_fl, positive_precision_32.
    assert (number binary32 12583103) by (apply (integer_number 12583103); lia).
    apply (@sterbenz radix2 (FLT_exp (-149) 24)); try typeclasses eauto; try easy. lra.
  Qed.

  Section Count.
    Context (k : Z) (counted : fl32 (shifted_value - IZR (rounder exp_f32)) = IZR k)
      (close : Rabs (IZR k - a * log2_e exp_f32) <= 1 / 2 + two_to (8 - 24 - 1)).

    Lemma k_range : (-191 <= k <= 0)%Z.
    Proof using range close. now apply (count_range exp_far _ _ _ _ _ _ _ far_fits a). Qed.

    Lemma k_small : Rabs (- IZR k) <= two_to 9.
    Proof using range close.
      rewrite Rabs_Ropp, <- abs_IZR. change (two_to 9) with (IZR 512). apply IZR_le. pose proof k_range. lia.
    Qed.

    Lemma reduced_value :
      exists r, is_value (reduced z (rounded_count z)) r /\
        mul_add binary32 (- IZR k) (ln2_low exp_f32) (a - IZR k * ln2_high exp_f32) r /\
        mul_add binary32 (- IZR k) (ln2_high exp_f32) a (a - IZR k * ln2_high exp_f32).
    Proof using hz range counted close.
      assert (hk : is_value (neg (sub (rounded_count z) exp_rounder)) (- IZR k)).
      { apply neg_value. rewrite <- counted. apply sub_value; [apply rounded_count_value|apply rounder_value|].
        pose proof shifted_range. apply Rle_trans with (two_to 24); [|apply bpow_le; lia].
        change (two_to 24) with 16777216. apply Rabs_le. lra. }
      assert (ln2 : Rabs (ln2_high exp_f32) <= two_to 0 /\ Rabs (ln2_low exp_f32) <= two_to 0 /\ Rabs a <= two_to 9).
      { repeat split; [numerals; apply Rabs_le; lra|numerals; apply Rabs_le; lra|]. change (two_to 9) with 512.
        apply Rabs_le. lra. }
      destruct ln2 as [high_small [low_small a_small]].
      destruct (fused_far _ _ _ _ _ _ 9 0 9 hk ln2_high_value hz k_small high_small a_small) as [high bound]; [lia..|].
      assert (exact : fl32 (- IZR k * ln2_high exp_f32 + a) = a - IZR k * ln2_high exp_f32).
      { apply (rest_is_exact exp_far _ _ _ _ _ _ _ far_fits a (value_number _ _ hz) range k close). now left. }
      rewrite exact in high, bound.
      assert (k_small' : Rabs (- IZR k) <= two_to 10) by (eapply Rle_trans; [apply k_small|apply bpow_le; lia]).
      destruct (fused_far _ _ _ _ _ _ 10 0 _ hk ln2_low_value high k_small' low_small bound) as [low _]; [lia..|].
      eexists. split; [exact low|]. split; [now left|]. left. now symmetry.
    Qed.

    Lemma evaluated_steps :
      exists tail, is_value (tail_of (reduced z (rounded_count z))) tail /\
        computed_exponential exp_f32 a (IZR k) (fl32 (1 + tail)) /\ Rabs tail <= 1 /\ (k = 0%Z -> tail <= 0) /\
        Rabs ((1 + tail) * two_to k - exp a) <= 96 / 100 * u32 * exp a.
    Proof using hz range counted close.
      destruct reduced_value as [r [hr [low high]]]. pose proof (value_number _ _ hr) as r_number.
      destruct (reduced_error exp_far _ _ _ _ _ _ _ far_fits a range k close r low) as [moved [r_within t_within]].
      change (unit_roundoff (arithmetic_format exp_far)) with u32 in *.
      assert (far : Rabs r <= two_to 9) by (eapply Rle_trans; [apply r_within|cbn; lra]).
      destruct (horner_far _ _ hr far) as [q [hq [q_computed q_small]]]. assert (square : Rabs (r * r) <= two_to 18).
      { change 18%Z with (9 + 9)%Z. rewrite bpow_plus, Rabs_mult. apply Rmult_le_compat; auto using Rabs_pos. }
      assert (hs : is_value (mul (reduced z (rounded_count z)) (reduced z (rounded_count z))) (fl32 (r * r))).
      { apply mul_value; try easy. eapply Rle_trans; [apply square|apply bpow_le; lia]. }
      destruct (fused_far _ _ _ _ _ _ 18 40 9 hs hq hr) as [ht _]; [apply fl_within; [lia|easy]|easy|easy|lia|lia|].
      exists (fl32 (fl32 (r * r) * q + r)). split; [exact ht|].
      assert (tail_computed : mul_add binary32 (fl32 (r * r)) q r (fl32 (fl32 (r * r) * q + r))) by now left.
      destruct (tail_bounds exp_far _ _ _ _ _ _ _ far_fits r q _ r_number r_within q_computed tail_computed)
        as [t_err [t_size t_sign]].
      change (unit_roundoff (arithmetic_format exp_far)) with u32 in t_err. change (coefficients exp_far) with (coefficients exp_f32) in t_err.
      set (tail := fl32 (fl32 (r * r) * q + r)) in *. split; [|split; [easy|split]].
      - exists shifted_value, (a - IZR k * ln2_high exp_f32), r, q, tail. split; [now left|]. split; [now symmetry|].
        split; [now apply neg_mul_add_opposite|]. split; [now apply neg_mul_add_opposite|]. now repeat split.
      - intros zero_count. apply t_sign. rewrite zero_count in low. replace r with (fl32 a).
        + rewrite <- (fl_0 binary32). apply fl_monotone; [easy|lra].
        + destruct low as [-> | ->]; f_equal; rewrite ?Ropp_0, ?Rmult_0_l, ?fl_0; ring.
      - pose proof (truncation far_fits r r_within) as method.
        change (unit_roundoff (arithmetic_format exp_far)) with u32 in method. change (coefficients exp_far) with (coefficients exp_f32) in method.
        set (Q := horner (coefficients exp_f32) r) in *. pose proof (exp_pos r) as positive.
        set (P := 1 + r * (1 + r * Q)) in *. assert (method' : Rabs (P - exp r) <= 65 / 1000 * u32 * exp r).
        { replace (P - exp r) with ((P * exp (- r) - 1) * exp r).
          - rewrite Rabs_mult, (Rabs_right (exp r)) by lra. apply Rmult_le_compat_r; lra.
          - rewrite exp_Ropp. field. lra. }
        assert (ahead : Rabs (1 + tail - P) <= 4251 / 10000 * u32).
        { replace (1 + tail - P) with (tail - (r + r * r * Q)) by (unfold P; ring). easy. }
        assert (u0 : 0 < u32 <= / 16777216) by (split; [apply bpow_gt_0|now right]).
        pose proof (near_exponents r (exact_rest a k) _ moved ltac:(lra)) as near. set (X := exp (exact_rest a k)) in *.
        assert (X_range : 707 / 1000 <= X <= 1415 / 1000).
        { unfold X. assert (inside : Rabs (exact_rest a k) <= 3466 / 10000) by lra. apply Rabs_le_inv in inside.
          split; enclose. }
        assert (uX : 0 <= u32 * X <= / 16777216 * X) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
        assert (fine : exp r * u32 <= X * u32 + / 1000000 * (u32 * X)).
        { apply Rabs_le_inv in near. assert (step : exp r - X <= / 1000000 * X) by lra.
          apply (Rmult_le_compat_r u32) in step; lra. }
        assert (distance : Rabs (1 + tail - X) <= 96 / 100 * u32 * X).
        { replace (1 + tail - X) with ((1 + tail - P) + ((P - exp r) + (exp r - X))) by ring. triangle.
          eapply Rle_trans; [apply Rplus_le_compat_l, Rabs_triang|].
          assert (707 / 1000 * u32 <= X * u32) by (apply Rmult_le_compat_r; lra). lra. }
        assert (scale : exp a = X * two_to k).
        { unfold X, exact_rest. rewrite (bpow_exp radix2). change (IZR radix2) with 2. rewrite <- exp_plus. f_equal.
          ring. }
        rewrite scale. replace ((1 + tail) * two_to k - X * two_to k) with ((1 + tail - X) * two_to k) by ring.
        rewrite Rabs_mult, (Rabs_right (two_to k)) by (apply Rle_ge, bpow_ge_0). rewrite <- Rmult_assoc.
        apply Rmult_le_compat_r; [apply bpow_ge_0|easy].
    Qed.
  End Count.

  (** The steps at any argument; from -110 on the count is at least -160. *)
  Theorem operations_are_certified_far :
    exists k tail,
      (-191 <= k <= 0)%Z /\ (-110 <= a -> (-160 <= k)%Z) /\ is_value (rounded_count z) (IZR (rounder exp_f32 + k)) /\
      is_value (tail_of (reduced z (rounded_count z))) tail /\
      computed_exponential exp_f32 a (IZR k) (fl32 (1 + tail)) /\ Rabs tail <= 1 /\ (k = 0%Z -> tail <= 0) /\
      Rabs ((1 + tail) * two_to k - exp a) <= 96 / 100 * u32 * exp a.
  Proof using hz range.
    destruct (count_is_integer exp_far _ _ _ _ _ _ _ far_fits a range shifted_value) as [k [counted close]]; [now left|].
    destruct (evaluated_steps k counted close) as [tail [ht rest]]. exists k, tail. split; [now apply k_range|].
    split; [intros near; apply (count_range exp_f32 _ _ _ _ _ _ _ fits a (conj near (proj2 range)) k close)|].
    split; [|now split]. eapply value_at; [apply rounded_count_value|]. rewrite plus_IZR.
    pose proof shifted_exact as exact. change (fl (arithmetic_format exp_far)) with fl32 in counted. change (rounder exp_far) with (rounder exp_f32) in counted. lra.
  Qed.
End Argument.

Theorem operations_are_certified z a :
  is_value z a -> -110 <= a <= 0 ->
  exists k tail,
    (-160 <= k <= 0)%Z /\ is_value (rounded_count z) (IZR (rounder exp_f32 + k)) /\
    is_value (tail_of (reduced z (rounded_count z))) tail /\
    computed_exponential exp_f32 a (IZR k) (fl32 (1 + tail)) /\ Rabs tail <= 1 /\ (k = 0%Z -> tail <= 0) /\
    Rabs ((1 + tail) * two_to k - exp a) <= 96 / 100 * u32 * exp a.
Proof.
  intros hz [near le]. destruct (operations_are_certified_far z a hz ltac:(lra)) as [k [tail [range [few rest]]]].
  exists k, tail. specialize (few near). split; [lia|exact rest].
Qed.
