(** * Quotients of the tree kernels, by Newton's steps: of the logarithm, and T / S of the entropy.

    Main results
    - [newton_step]       a step squares the error of an inverse, but for 8 roundoffs
    - [quotient_near]     a quotient from an inverse that errs by 10^-12 errs by less than 2^-33
    - [inverse_by_bits]   a float taken from a constant, bits from bits, is its inverse within an eighth
    - [tree_mean_near]    T / S as computed errs by less than 2^-33 of it, far less than a roundoff of binary32

    Source: kernels/block/tree_rows.hpp, quotient_of and TreeStatistics::entropy. *)

From Coq Require Import Reals ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error formats.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers strict_operations double_operations tree_row.
Local Open Scope R_scope.

(** ** Steps, in a format of roundoff u that loses h *)

Notation u32 := (two_to (-24)).
Notation h64 := half_quantum_64.

Lemma newton_squares u h Y I D J e :
  0 < u <= / 1000000 -> 0 <= h <= / 100 * u -> 0 < Y -> h * Y <= / 100 * u -> 0 <= e <= / 8 -> Rabs (1 - Y * I) <= e ->
  Rabs (D - (1 - Y * I)) <= u * Rabs (1 - Y * I) + h -> Rabs (J - (D * I + I)) <= u * Rabs (D * I + I) + h ->
  Rabs (1 - Y * J) <= e * e + 8 * u.
Proof.
  intros u_range h_range Y_pos hY small close D_close J_close. set (d := 1 - Y * I) in *. pose proof (Rabs_pos d) as d0.
  assert (u * Rabs d <= u * / 8) by (apply Rmult_le_compat_l; lra).
  assert (D_near : Rabs (D - d) <= / 7 * u) by lra.
  assert (D_size : Rabs D <= e + / 7 * u) by (replace D with ((D - d) + d) by ring; triangle; lra).
  assert (YI : Rabs (Y * I) <= 9 / 8) by (replace (Y * I) with (1 + - d) by (unfold d; ring); triangle; rewrite Rabs_R1, Rabs_Ropp; lra).
  assert (size : Y * Rabs (D * I + I) <= 3 / 2).
  { replace (Y * Rabs (D * I + I)) with (Rabs ((1 + D) * (Y * I))).
    2: { replace ((1 + D) * (Y * I)) with (Y * (D * I + I)) by ring. rewrite Rabs_mult, (Rabs_right Y); lra. }
    rewrite Rabs_mult. apply Rle_trans with (5 / 4 * (9 / 8)); [apply Rmult_le_compat; try apply Rabs_pos; [|easy]|lra].
    triangle. rewrite Rabs_R1. lra. }
  replace (1 - Y * J) with ((d - D) + (d * D + - Y * (J - (D * I + I)))) by (unfold d; ring).
  triangle. eapply Rle_trans; [apply Rplus_le_compat_l, Rabs_triang|].
  rewrite (Rabs_minus_sym d D), !Rabs_mult, Rabs_Ropp, (Rabs_right Y) by lra.
  assert (Rabs d * Rabs D <= e * (e + / 7 * u)) by (apply Rmult_le_compat; easy || apply Rabs_pos).
  assert (e * (/ 7 * u) <= / 8 * (/ 7 * u)) by (apply Rmult_le_compat_r; lra).
  assert (Y * Rabs (J - (D * I + I)) <= Y * (u * Rabs (D * I + I) + h)) by (apply Rmult_le_compat_l; lra).
  assert (u * (Y * Rabs (D * I + I)) <= u * (3 / 2)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(** The sizes of what is inverted, and so of its inverse: far from the ends of both formats. *)
Lemma inverse_size Y I e : two_to e <= Y -> Rabs (1 - Y * I) <= / 8 -> Rabs I <= 2 * two_to (- e).
Proof.
  intros low close. pose proof (bpow_gt_0 radix2 e) as pos. apply Rmult_le_reg_l with Y; [lra|].
  rewrite <- (Rabs_right Y) at 1 by lra. rewrite <- Rabs_mult. apply Rle_trans with 2.
  - replace (Y * I) with (1 + - (1 - Y * I)) by ring. triangle. rewrite Rabs_R1, Rabs_Ropp. lra.
  - replace 2 with (2 * (two_to e * two_to (- e))) at 1 by (rewrite <- bpow_plus, Z.add_opp_diag_r; cbn; ring).
    replace (Y * (2 * two_to (- e))) with (2 * (Y * two_to (- e))) by ring.
    apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; [apply bpow_ge_0|easy].
Qed.

Lemma step_size Y I D : Rabs (1 - Y * I) <= / 8 -> Rabs (D - (1 - Y * I)) <= / 8 -> Rabs (D * I + I) <= 2 * Rabs I.
Proof.
  intros close near. replace (D * I + I) with ((1 + D) * I) by ring. rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|].
  replace (1 + D) with (1 + ((D - (1 - Y * I)) + (1 - Y * I))) by ring.
  triangle. rewrite Rabs_R1. pose proof (Rabs_triang (D - (1 - Y * I)) (1 - Y * I)). lra.
Qed.

Lemma newton_step y i Y I e :
  is_double y Y -> is_double i I -> two_to (-100) <= Y <= two_to 100 -> 0 <= e <= / 8 -> Rabs (1 - Y * I) <= e ->
  exists I', is_double (fused_64 (fused_64 (neg_64 y) i one_64) i i) I' /\ Rabs (1 - Y * I') <= e * e + 8 * u64.
Proof.
  intros hy hi range small close. pose proof u64_range as u0. pose proof (bpow_gt_0 radix2 (-100)) as low.
  assert (h0 : 0 <= h64 <= / 100 * u64).
  { split; [apply bpow_ge_0|]. apply Rle_trans with (two_to (-10) * u64); [rewrite <- bpow_plus; apply bpow_le; lia|].
    apply Rmult_le_compat_r; [lra|cbn; lra]. }
  assert (hY : h64 * Y <= / 100 * u64).
  { apply Rle_trans with (h64 * two_to 100); [apply Rmult_le_compat_l; lra|].
    apply Rle_trans with (two_to (-10) * u64); [unfold half_quantum_64; rewrite <- !bpow_plus; apply bpow_le; lia|].
    apply Rmult_le_compat_r; [lra|cbn; lra]. }
  set (d := 1 - Y * I) in *. assert (same : - Y * I + 1 = d) by (unfold d; ring).
  assert (hd : is_double (fused_64 (neg_64 y) i one_64) (fl64 d)).
  { rewrite <- same. apply fused_double; [now apply neg_double|easy|apply one_double|]. rewrite same.
    apply Rle_trans with (two_to 0); [cbn; lra|apply bpow_le; lia]. }
  pose proof (double_error d) as d_err. set (D := fl64 d) in *. pose proof (Rabs_pos d) as d0.
  assert (u64 * Rabs d <= u64 * / 8) by (apply Rmult_le_compat_l; lra).
  pose proof (inverse_size Y I (-100) ltac:(lra) ltac:(fold d; lra)) as I_size. change (- -100)%Z with 100%Z in I_size.
  pose proof (step_size Y I D ltac:(fold d; lra) ltac:(fold d; lra)) as step.
  exists (fl64 (D * I + I)). split.
  - apply fused_double; try easy. apply Rle_trans with (4 * two_to 100); [lra|].
    change 4 with (two_to 2). rewrite <- bpow_plus. apply bpow_le. lia.
  - apply (newton_squares u64 h64 Y I D _ e); try easy; try (fold d; lra). apply double_error.
Qed.

Lemma nearer_step y i Y I e :
  is_value y Y -> is_value i I -> two_to 20 <= Y <= two_to 100 -> 0 <= e <= / 8 -> Rabs (1 - Y * I) <= e ->
  exists I', is_value (nearer y i) I' /\ Rabs (1 - Y * I') <= e * e + 8 * u32.
Proof.
  intros hy hi range small close. pose proof (bpow_gt_0 radix2 20) as low. assert (u0 : 0 < u32 <= / 1000000) by (cbn; lra).
  assert (h0 : 0 <= half_quantum <= / 100 * u32).
  { split; [apply bpow_ge_0|]. apply Rle_trans with (two_to (-10) * u32); [unfold half_quantum; rewrite <- bpow_plus; apply bpow_le; lia|].
    apply Rmult_le_compat_r; [lra|cbn; lra]. }
  assert (hY : half_quantum * Y <= / 100 * u32).
  { apply Rle_trans with (half_quantum * two_to 100); [apply Rmult_le_compat_l; lra|].
    apply Rle_trans with (two_to (-10) * u32); [unfold half_quantum; rewrite <- !bpow_plus; apply bpow_le; lia|].
    apply Rmult_le_compat_r; [lra|cbn; lra]. }
  set (d := 1 - Y * I) in *. assert (same : - I * Y + 1 = d) by (unfold d; ring).
  assert (hd : is_value (fused (neg i) y one) (fl32 d)).
  { rewrite <- same. apply fused_value; [now apply neg_value|easy|apply one_value|]. rewrite same.
    apply Rle_trans with (two_to 0); [cbn; lra|apply bpow_le; lia]. }
  pose proof (fl_error d) as d_err. set (D := fl32 d) in *. pose proof (Rabs_pos d) as d0.
  assert (u32 * Rabs d <= u32 * / 8) by (apply Rmult_le_compat_l; lra).
  pose proof (inverse_size Y I 20 ltac:(lra) ltac:(fold d; lra)) as I_size.
  pose proof (step_size Y I D ltac:(fold d; lra) ltac:(fold d; lra)) as step.
  assert (two_to (- (20)) <= 1) by (apply (bpow_le radix2 _ 0); lia).
  exists (fl32 (D * I + I)). split.
  - apply fused_value; try easy. apply Rle_trans with (two_to 2); [cbn; lra|apply bpow_le; lia].
  - apply (newton_squares u32 half_quantum Y I D _ e); try easy; try (fold d; lra). apply fl_error.
Qed.

(** ** A quotient *)

Theorem quotient_near x y i X Y I :
  is_double x X -> is_double y Y -> is_double i I -> two_to (-100) <= Y <= two_to 100 -> Rabs (1 - Y * I) <= / 1000000000000 ->
  X = 0 \/ two_to (-200) <= Rabs X <= two_to 200 ->
  exists Z, is_double (let q := mul_64 x i in fused_64 (fused_64 (neg_64 y) q x) i q) Z /\
    Rabs (Z - X / Y) <= / 10000000000 * Rabs (X / Y) /\ (X = 0 -> Z = 0).
Proof.
  intros hx hy hi range close sizes. pose proof u64_range as u0. cbv zeta. pose proof (bpow_gt_0 radix2 (-100)) as low.
  assert (wide : forall a e, (e <= 1000)%Z -> Rabs a <= two_to e -> Rabs a <= two_to 1000)
    by (intros a e le bound; eapply Rle_trans; [exact bound|now apply bpow_le]).
  pose proof (inverse_size Y I (-100) ltac:(lra) ltac:(lra)) as I_size. change (- -100)%Z with 100%Z in I_size.
  destruct sizes as [->|sizes].
  { assert (hq : is_double (mul_64 x i) 0).
    { eapply double_at; [apply (mul_double _ _ _ _ hx hi)|]; rewrite Rmult_0_l; [rewrite Rabs_R0; apply bpow_ge_0|apply fl_0]. }
    exists 0. split; [|split; [|easy]].
    - assert (hr : is_double (fused_64 (neg_64 y) (mul_64 x i) x) 0).
      { eapply double_at; [apply (fused_double _ _ _ _ _ _ (neg_double _ _ hy) hq hx)|];
          rewrite Rmult_0_r, Rplus_0_l; [rewrite Rabs_R0; apply bpow_ge_0|apply fl_0]. }
      eapply double_at; [apply (fused_double _ _ _ _ _ _ hr hi hq)|];
        rewrite Rmult_0_l, Rplus_0_l; [rewrite Rabs_R0; apply bpow_ge_0|apply fl_0].
    - unfold Rdiv. rewrite Rmult_0_l, Rminus_0_r, Rabs_R0. lra. }
  set (D := X / Y) in *. assert (X_is : X = D * Y) by (unfold D; field; lra). set (W := Y * I) in *.
  assert (W_range : 999 / 1000 <= W <= 1001 / 1000) by (apply Rabs_le_inv in close; lra).
  assert (D_size : Rabs X = Rabs D * Y) by (rewrite X_is, Rabs_mult, (Rabs_right Y); lra). pose proof (Rabs_pos D) as D0.
  assert (D_range : two_to (-300) <= Rabs D <= two_to 300).
  { assert (inverse : two_to (-100) <= / Y <= two_to 100).
    { split.
      - replace (two_to (-100)) with (/ two_to 100) by (symmetry; apply (bpow_opp radix2 100)). apply Rinv_le_contravar; lra.
      - replace (two_to 100) with (/ two_to (-100)) by (symmetry; apply (bpow_opp radix2 (-100))). apply Rinv_le_contravar; lra. }
    replace (Rabs D) with (Rabs X * / Y) by (rewrite D_size; field; lra). pose proof (bpow_gt_0 radix2 (-200)).
    change (-300)%Z with (-200 + -100)%Z. change 300%Z with (200 + 100)%Z. rewrite !bpow_plus.
    split; apply Rmult_le_compat; try lra; apply Rabs_pos. }
  assert (h_small : forall z, Rabs z <= two_to 101 -> h64 * Rabs z <= / 1000000 * (u64 * Rabs D)).
  { intros z z_size. apply Rle_trans with (h64 * two_to 101); [apply Rmult_le_compat_l; [apply bpow_ge_0|easy]|].
    apply Rle_trans with (two_to (-20) * (u64 * two_to (-300))).
    - unfold half_quantum_64. rewrite <- !bpow_plus. apply bpow_le. lia.
    - apply Rmult_le_compat; [apply bpow_ge_0|apply Rmult_le_pos; apply bpow_ge_0|cbn; lra|apply Rmult_le_compat_l; lra]. }
  assert (h1 : h64 <= / 1000000 * (u64 * Rabs D)).
  { rewrite <- (Rmult_1_r h64), <- Rabs_R1. apply h_small. rewrite Rabs_R1. apply (bpow_le radix2 0). lia. }
  assert (hI : h64 * Rabs I <= / 1000000 * (u64 * Rabs D)).
  { apply h_small. eapply Rle_trans; [exact I_size|]. right. change 101%Z with (1 + 100)%Z. rewrite bpow_plus. reflexivity. }
  assert (uD : 0 <= u64 * Rabs D <= / 9000000000000000 * Rabs D) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
  assert (XI_is : X * I = D * W) by (rewrite X_is; unfold W; ring).
  assert (near : Rabs (X * I - D) <= / 1000000000000 * Rabs D).
  { rewrite XI_is. replace (D * W - D) with (- D * (1 - W)) by ring. rewrite Rabs_mult, Rabs_Ropp, Rmult_comm.
    apply Rmult_le_compat_r; easy. }
  assert (XI : Rabs (X * I) <= 2 * Rabs D) by (replace (X * I) with ((X * I - D) + D) by ring; triangle; lra).
  assert (twice : 2 * Rabs D <= two_to 301) by (change 301%Z with (1 + 300)%Z; rewrite bpow_plus; change (two_to 1) with 2; lra).
  assert (hq : is_double (mul_64 x i) (fl64 (X * I))) by (apply mul_double; try easy; apply (wide _ 301%Z); [lia|lra]).
  pose proof (double_error (X * I)) as q_err. set (Q := fl64 (X * I)) in *.
  assert (u64 * Rabs (X * I) <= u64 * (2 * Rabs D)) by (apply Rmult_le_compat_l; lra).
  assert (Q_near : Rabs (Q - D) <= / 500000000000 * Rabs D) by (replace (Q - D) with ((Q - X * I) + (X * I - D)) by ring; triangle; lra).
  assert (rest : Rabs (- Y * Q + X) <= Y * (/ 500000000000 * Rabs D)).
  { replace (- Y * Q + X) with (- Y * (Q - D)) by (rewrite X_is; ring). rewrite Rabs_mult, Rabs_Ropp, (Rabs_right Y) by lra.
    apply Rmult_le_compat_l; lra. }
  assert (hr : is_double (fused_64 (neg_64 y) (mul_64 x i) x) (fl64 (- Y * Q + X))).
  { apply fused_double; try easy; [now apply neg_double|]. apply (wide _ 400%Z); [lia|]. eapply Rle_trans; [exact rest|].
    change 400%Z with (100 + 300)%Z. rewrite bpow_plus. apply Rmult_le_compat; lra. }
  pose proof (double_error (- Y * Q + X)) as r_err. set (R := fl64 (- Y * Q + X)) in *. set (r := - Y * Q + X) in *.
  assert (R_size : Rabs R <= 2 * (Y * (/ 500000000000 * Rabs D)) + h64).
  { replace R with ((R - r) + r) by ring. triangle. assert (u64 * Rabs r <= 1 * Rabs r) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]). lra. }
  assert (YI : Y * Rabs I <= 1001 / 1000).
  { rewrite <- (Rabs_right Y) at 1 by lra. rewrite <- Rabs_mult. fold W. rewrite Rabs_right; lra. }
  assert (RI : Rabs (R * I) <= / 200000000000 * Rabs D).
  { rewrite Rabs_mult. apply Rle_trans with ((2 * (Y * (/ 500000000000 * Rabs D)) + h64) * Rabs I); [apply Rmult_le_compat_r; [apply Rabs_pos|easy]|].
    replace ((2 * (Y * (/ 500000000000 * Rabs D)) + h64) * Rabs I) with (2 / 500000000000 * Rabs D * (Y * Rabs I) + h64 * Rabs I) by (unfold Rdiv; ring).
    assert (2 / 500000000000 * Rabs D * (Y * Rabs I) <= 2 / 500000000000 * Rabs D * (1001 / 1000)) by (apply Rmult_le_compat_l; lra). lra. }
  assert (last : Rabs (R * I + Q - D) <= 3 / 100000000000 * Rabs D) by (replace (R * I + Q - D) with (R * I + (Q - D)) by ring; triangle; lra).
  assert (size : Rabs (R * I + Q) <= 2 * Rabs D) by (replace (R * I + Q) with ((R * I + Q - D) + D) by ring; triangle; lra).
  exists (fl64 (R * I + Q)). split; [apply fused_double; try easy; apply (wide _ 301%Z); [lia|lra]|]. split.
  - pose proof (double_error (R * I + Q)) as z_err. assert (u64 * Rabs (R * I + Q) <= u64 * (2 * Rabs D)) by (apply Rmult_le_compat_l; lra).
    replace (fl64 (R * I + Q) - D) with ((fl64 (R * I + Q) - (R * I + Q)) + (R * I + Q - D)) by ring. triangle. lra.
  - intros ->. rewrite Rabs_R0 in sizes. pose proof (bpow_gt_0 radix2 (-200)). lra.
Qed.

(** ** An inverse by its bits *)

Lemma word_of_normal_32 m e bounded :
  (2 ^ 23 <= Zpos m)%Z -> word_of_f32 (B754_finite false m e bounded) = ((e + 150) * 2 ^ 23 + (Zpos m - 2 ^ 23))%Z.
Proof.
  intros normal. unfold word_of_f32, Bits.bits_of_b32. cbn [Binary.BSN2B Bits.bits_of_binary_float].
  change (Z.pow_pos 2 23) with (2 ^ 23)%Z. rewrite Zle_bool_true by lia.
  unfold Bits.join_bits. rewrite Z.shiftl_mul_pow2 by lia. f_equal. f_equal. cbn. lia.
Qed.

Lemma f32_of_its_word x : f32_of_word (word_of_f32 x) = x.
Proof.
  unfold f32_of_word, word_of_f32, Bits.b32_of_bits, Bits.bits_of_b32.
  rewrite Bits.binary_float_of_bits_of_binary_float. apply Binary.B2BSN_BSN2B.
Qed.

Lemma normal_of_word m e :
  (2 ^ 23 <= Zpos m < 2 ^ 24)%Z -> (-149 <= e <= 104)%Z ->
  is_value (f32_of_word ((e + 150) * 2 ^ 23 + (Zpos m - 2 ^ 23))) (IZR (Zpos m) * two_to e).
Proof.
  intros digits range. assert (kept : SpecFloat.bounded 24 128 m e = true).
  { unfold SpecFloat.bounded, SpecFloat.canonical_mantissa. apply andb_true_intro. split.
    - apply Zeq_bool_true. change (SpecFloat.digits2_pos m) with (Digits.digits2_pos m).
      assert (size : Zpos (Digits.digits2_pos m) = 24%Z).
      { rewrite Digits.Zpos_digits2_pos. apply (Digits.Zdigits_unique radix2). rewrite Z.abs_eq by lia. exact digits. }
      rewrite size. unfold SpecFloat.fexp, SpecFloat.emin. lia.
    - apply Zle_bool_true. cbn. lia. }
  rewrite <- (word_of_normal_32 m e kept) by lia. rewrite f32_of_its_word. split; reflexivity.
Qed.

Theorem inverse_by_bits y Y :
  is_value y Y -> two_to 64 <= Y <= two_to 91 -> exists I, is_value (inverse_bits y) I /\ Rabs (1 - Y * I) <= / 8.
Proof.
  intros [finite value] range. destruct y as [s| | |s m e bounded]; try discriminate.
  { cbn in value. pose proof (bpow_gt_0 radix2 64). lra. }
  destruct s.
  { exfalso. assert (val (B754_finite true m e bounded) < 0) by (apply F2R_lt_0; reflexivity). pose proof (bpow_gt_0 radix2 64). lra. }
  pose proof bounded as kept. unfold SpecFloat.bounded, SpecFloat.canonical_mantissa in kept.
  apply andb_prop in kept as [canonical high]. apply Zeq_bool_eq in canonical. apply Zle_bool_imp_le in high.
  change (SpecFloat.digits2_pos m) with (Digits.digits2_pos m) in canonical.
  rewrite Digits.Zpos_digits2_pos in canonical. unfold SpecFloat.fexp, SpecFloat.emin in canonical.
  set (d := Digits.Zdigits radix2 (Zpos m)) in *. assert (size : (2 ^ (d - 1) <= Zpos m < 2 ^ d)%Z).
  { pose proof (Digits.Zdigits_correct radix2 (Zpos m)) as bounds. rewrite Z.abs_eq in bounds by lia. exact bounds. }
  assert (d_pos : (1 <= d)%Z) by (pose proof (Digits.Zdigits_gt_0 radix2 (Zpos m) ltac:(lia)); lia).
  cbn [B2R cond_Zopp] in value. unfold F2R in value. cbn [Fnum Fexp] in value. assert (below : Y < two_to (d + e)).
  { rewrite <- value, bpow_plus. apply Rmult_lt_compat_r; [apply bpow_gt_0|]. rewrite <- (IZR_Zpower radix2) by lia.
    apply IZR_lt. apply size. }
  assert (above : two_to (d - 1 + e) <= Y).
  { rewrite <- value, bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|]. rewrite <- (IZR_Zpower radix2) by lia.
    apply IZR_le. apply size. }
  assert (low : (64 < d + e)%Z) by (apply (lt_bpow radix2); lra).
  assert (top : (d - 1 + e <= 91)%Z) by (apply (le_bpow radix2); lra). assert (d_full : d = 24%Z) by lia.
  rewrite d_full in *. clear canonical d_full d d_pos. change (2 ^ (24 - 1))%Z with 8388608%Z in size. change (2 ^ 24)%Z with 16777216%Z in size.
  unfold inverse_bits. rewrite word_of_normal_32 by lia. change (2 ^ 23)%Z with 8388608%Z.
  (* m2 2^(-46 - e - j), j = 1 or 2 *)
  assert (inverse : exists m2 j, (j = 1 \/ j = 2)%Z /\ (Zpos m2 = 7541187 + 8388608 * (j + 1) - Zpos m)%Z /\ (8388608 <= Zpos m2 < 16777216)%Z).
  { destruct (Z_le_dec (Zpos m) 15929795) as [small|large].
    - exists (Z.to_pos (7541187 + 8388608 * (1 + 1) - Zpos m)), 1%Z. rewrite Z2Pos.id by lia. lia.
    - exists (Z.to_pos (7541187 + 8388608 * (2 + 1) - Zpos m)), 2%Z. rewrite Z2Pos.id by lia. lia. }
  destruct inverse as [m2 [j [which [is_m2 digits]]]].
  pose proof (normal_of_word m2 (-46 - e - j) ltac:(change (2 ^ 23)%Z with 8388608%Z; change (2 ^ 24)%Z with 16777216%Z; lia) ltac:(lia)) as word.
  change (2 ^ 23)%Z with 8388608%Z in word.
  replace ((2129859011 - ((e + 150) * 8388608 + (Zpos m - 8388608))) mod 2 ^ 32)%Z
    with ((-46 - e - j + 150) * 8388608 + (Zpos m2 - 8388608))%Z.
  2: { rewrite Z.mod_small; [lia|]. change (2 ^ 32)%Z with 4294967296%Z. lia. }
  exists (IZR (Zpos m2) * two_to (-46 - e - j)). split; [exact word|].
  assert (product : Y * (IZR (Zpos m2) * two_to (-46 - e - j)) = IZR (Zpos m) * IZR (Zpos m2) * two_to (-46 - j)).
  { rewrite <- value. replace (-46 - j)%Z with (e + (-46 - e - j))%Z by lia. rewrite bpow_plus. ring. }
  rewrite product, is_m2. assert (x_range : 8388608 <= IZR (Zpos m) <= 16777216) by (split; apply IZR_le; lia).
  assert (sizes : 8388608 <= IZR (7541187 + 8388608 * (j + 1) - Zpos m) <= 16777216) by (rewrite <- is_m2; split; apply IZR_le; lia).
  rewrite minus_IZR, plus_IZR, mult_IZR, plus_IZR in *. set (x := IZR (Zpos m)) in *.
  destruct which as [->| ->].
  - change (two_to (-46 - 1)) with (/ 140737488355328). pose proof (Rle_0_sqr (x - 24318403 / 2)) as most. unfold Rsqr in most.
    assert (0 <= (x - 8388608) * (15929795 - x)) by (apply Rmult_le_pos; lra). apply Rabs_le. split; lra.
  - change (two_to (-46 - 2)) with (/ 281474976710656). pose proof (Rle_0_sqr (x - 32707011 / 2)) as most. unfold Rsqr in most.
    assert (0 <= (x - 15929795) * (16777216 - x)) by (apply Rmult_le_pos; lra). apply Rabs_le. split; lra.
Qed.

(** ** T / S *)

Theorem tree_mean_near products sum y s :
  is_value products (- y * two_to 64) -> is_value sum (s * two_to 64) -> 1 <= s <= two_to 27 ->
  exists q, is_double (tree_mean products sum) q /\ Rabs (q - - (y / s)) <= / 10000000000 * Rabs (y / s) /\ Rabs q <= two_to 65.
Proof.
  intros hp hs range. pose proof u64_range as u0. assert (p64 : 0 < two_to 64) by apply bpow_gt_0.
  set (X := - y * two_to 64) in *. set (Y := s * two_to 64) in *.
  assert (Y_range : two_to 64 <= Y <= two_to 91).
  { unfold Y. change 91%Z with (27 + 64)%Z. rewrite bpow_plus. split; [rewrite <- (Rmult_1_l (two_to 64)) at 1|]; apply Rmult_le_compat_r; lra. }
  assert (lows : two_to 20 <= two_to 64 /\ two_to (-100) <= two_to 64 /\ two_to 91 <= two_to 100) by (repeat split; apply bpow_le; lia).
  destruct (inverse_by_bits sum Y hs Y_range) as [I0 [h0 c0]].
  destruct (nearer_step sum _ Y I0 (/ 8) hs h0 ltac:(lra) ltac:(lra) c0) as [I1 [h1 c1]]. change u32 with (/ 16777216) in c1.
  destruct (nearer_step sum _ Y I1 (/ 60) hs h1 ltac:(lra) ltac:(lra) ltac:(lra)) as [I2 [h2 c2]]. change u32 with (/ 16777216) in c2.
  pose proof (widened_value _ _ hs) as hsum. pose proof (widened_value _ _ h2) as w2.
  destruct (newton_step _ _ Y I2 (/ 3000) hsum w2 ltac:(lra) ltac:(lra) ltac:(lra)) as [I3 [h3 c3]].
  destruct (newton_step _ _ Y I3 (/ 8000000) hsum h3 ltac:(lra) ltac:(lra) ltac:(lra)) as [I4 [h4 c4]].
  assert (X_size : X = 0 \/ two_to (-200) <= Rabs X <= two_to 200).
  { destruct (number_grid X (value_number _ _ hp)) as [n grid]. destruct (Z.eq_dec n 0) as [->|nonzero]; [left; rewrite grid; ring|right].
    split.
    - apply Rle_trans with (two_to (-149)); [apply bpow_le; lia|].
      rewrite grid, Rabs_mult, (Rabs_right (two_to (-149))) by (apply Rle_ge, bpow_ge_0).
      rewrite <- (Rmult_1_l (two_to (-149))) at 1. apply Rmult_le_compat_r; [apply bpow_ge_0|]. rewrite <- abs_IZR. apply (IZR_le 1). lia.
    - destruct hp as [_ <-]. apply Rle_trans with (two_to 128); [left; apply (abs_B2R_lt_emax 24 128)|apply bpow_le; lia]. }
  destruct (quotient_near _ _ _ X Y I4 (widened_value _ _ hp) hsum h4 ltac:(lra) ltac:(lra) X_size) as [q [hq [close _]]].
  assert (ratio : X / Y = - (y / s)) by (unfold X, Y; field; lra). rewrite ratio, Rabs_Ropp in close.
  exists q. split; [exact hq|]. split; [exact close|].
  assert (bound : Rabs (y / s) <= two_to 64).
  { rewrite <- Rabs_Ropp, <- ratio. unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ Y)) by (apply Rle_ge; left; apply Rinv_0_lt_compat; lra).
    apply Rmult_le_reg_r with Y; [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    apply Rle_trans with (two_to 128); [destruct hp as [_ <-]; left; apply (abs_B2R_lt_emax 24 128)|].
    change 128%Z with (64 + 64)%Z. rewrite bpow_plus. apply Rmult_le_compat_l; lra. }
  change 65%Z with (1 + 64)%Z. rewrite bpow_plus. change (two_to 1) with 2.
  replace q with ((q - - (y / s)) + - (y / s)) by ring. triangle. rewrite Rabs_Ropp. lra.
Qed.

(** 1 / 2, and 1 / 2^64 by its bits: the premises hold. *)
Example quotients :
  is_double one_64 1 /\ is_double (dyadic_64 2 0) 2 /\ (1 = 0 \/ two_to (-200) <= Rabs 1 <= two_to 200) /\ is_double (dyadic_64 1 (-1)) (/ 2) /\
  two_to (-100) <= 2 <= two_to 100 /\ Rabs (1 - 2 * / 2) <= / 1000000000000 /\
  is_value (dyadic 1 64) (1 * two_to 64) /\ is_value zero (- 0 * two_to 64) /\ two_to 64 <= two_to 64 <= two_to 91 /\ 1 <= 1 <= two_to 27 /\
  B2SF (inverse_bits (dyadic 1 64)) = SpecFloat.S754_finite false 15929795 (-88).
Proof.
  split; [apply one_double|]. split; [apply integer_double; lia|].
  split; [right; rewrite Rabs_R1; split; [apply (bpow_le radix2 (-200) 0)|apply (bpow_le radix2 0 200)]; lia|].
  split; [apply (double_at _ (IZR 1 * two_to (-1))); [apply dyadic_double; lia|cbn; lra]|].
  split; [split; [apply Rle_trans with (two_to 0); [apply bpow_le; lia|cbn; lra]|apply (bpow_le radix2 1); lia]|].
  split; [replace (1 - 2 * / 2) with 0 by field; rewrite Rabs_R0; lra|].
  split; [apply dyadic_value; [left; reflexivity|lia]|]. split; [eapply value_at; [apply zero_value|ring]|].
  split; [split; [lra|apply bpow_le; lia]|]. split; [split; [lra|apply (bpow_le radix2 0); lia]|]. vm_compute. reflexivity.
Qed.
