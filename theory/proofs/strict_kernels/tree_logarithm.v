(** * A logarithm of the tree kernels, in double, whose quotient is one by Newton's steps.

    Main results
    - [newton_from_line]       three steps from a line give the inverse of m + 1
    - [tree_logarithm_near]    ln S as computed errs by less than 2^-28 of it, far less than a roundoff of binary32

    Source: kernels/block/tree_rows.hpp, quotient_of and TreeStatistics::logarithm. *)

From Coq Require Import Reals ZArith List Lra Lia.
From Flocq Require Import Core BinarySingleNaN Sterbenz Mult_error.
From softcheck Require Import standard_interval.
From softcheck.floating_point Require Import relative_error formats.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers strict_operations strict_exponential double_operations double_atanh
  double_logarithm tree_row tree_quotient.
Local Open Scope R_scope.

Notation h64 := half_quantum_64.

Lemma h64_tiny : 0 < h64 <= / 1000000000 * u64.
Proof. exact u64_lost. Qed.

(** ** A quotient by Newton's steps *)

(** From the line nearest to 1 / y three steps are enough. *)
Lemma newton_from_line y Y :
  is_double y Y -> 1707 / 1000 <= Y <= 24143 / 10000 ->
  exists I, is_double (newton 3 y (line_of y)) I /\ Rabs (1 - Y * I) <= / 1000000000000.
Proof.
  intros hy range. pose proof u64_range as u0. pose proof h64_tiny as h0.
  set (a := 2152864737071173 * u64). set (b := 8872649712273671 * u64).
  assert (ha : is_double (dyadic_64 (-2152864737071173) (-53)) (- a)) by (eapply double_at; [apply dyadic_double; lia|unfold a; ring]).
  assert (hb : is_double (dyadic_64 8872649712273671 (-53)) b) by (eapply double_at; [apply dyadic_double; lia|reflexivity]).
  assert (a_range : 239015 / 1000000 <= a <= 239017 / 1000000) by (unfold a; change u64 with (/ 9007199254740992); lra).
  assert (b_range : 985061 / 1000000 <= b <= 985063 / 1000000) by (unfold b; change u64 with (/ 9007199254740992); lra).
  set (l := - a * Y + b). assert (l_range : 0 <= l <= 1) by (unfold l; split; nra).
  assert (line : Rabs (1 - Y * l) <= / 65).
  { assert (0 <= (Y - 1707 / 1000) * (24143 / 10000 - Y)) by (apply Rmult_le_pos; lra). pose proof (Rle_0_sqr (Y - 206 / 100)) as square.
    unfold Rsqr in square. assert (239015 / 1000000 * (Y * Y) <= a * (Y * Y) <= 239017 / 1000000 * (Y * Y))
      by (split; apply Rmult_le_compat_r; try lra; apply Rmult_le_pos; lra).
    assert (985061 / 1000000 * Y <= b * Y <= 985063 / 1000000 * Y) by (split; apply Rmult_le_compat_r; lra).
    replace (1 - Y * l) with (1 - b * Y + a * (Y * Y)) by (unfold l; ring). apply Rabs_le. split; lra. }
  assert (h0' : is_double (line_of y) (fl64 l)) by (apply fused_double; try easy; apply far_from_overflow; fold l; rewrite Rabs_right; lra).
  pose proof (double_error l) as l_err. rewrite (Rabs_right l) in l_err by lra.
  assert (first : Rabs (1 - Y * fl64 l) <= / 64).
  { replace (1 - Y * fl64 l) with ((1 - Y * l) + - Y * (fl64 l - l)) by ring. triangle. rewrite (Rabs_mult (- Y)), Rabs_Ropp, (Rabs_right Y) by lra.
    assert (Y * Rabs (fl64 l - l) <= 3 * (2 * u64)) by (apply Rmult_le_compat; try lra; [apply Rabs_pos|]; nra). lra. }
  assert (sizes : two_to (-100) <= Y <= two_to 100).
  { split; [apply Rle_trans with (two_to 0)|apply Rle_trans with (two_to 2)]; try (apply bpow_le; lia); cbn; lra. }
  destruct (newton_step y _ Y _ (/ 64) hy h0' sizes ltac:(lra) first) as [I1 [h1 c1]].
  destruct (newton_step y _ Y _ (/ 4000) hy h1 sizes ltac:(lra) ltac:(lra)) as [I2 [h2 c2]].
  destruct (newton_step y _ Y _ (/ 15000000) hy h2 sizes ltac:(lra) ltac:(lra)) as [I3 [h3 c3]].
  exists I3. split; [exact h3|]. lra.
Qed.

(** ** The logarithm *)

Lemma mantissa_logarithm_near m v :
  is_double m v -> 7071 / 10000 <= v <= 141422 / 100000 ->
  exists y, is_double (let p := add_64 m one_64 in twice_atanh (quotient_of 3 (sub_64 m one_64) p (line_of p))) y /\
    Rabs (y - ln v) <= / 2000000000 * Rabs (ln v).
Proof.
  intros hm range. pose proof u64_range as u0. pose proof (double_number _ _ one_double) as n1. pose proof (double_number _ _ hm) as nv.
  assert (hx : is_double (sub_64 m one_64) (v - 1)).
  { apply (double_at _ (fl64 (v - 1))); [apply sub_double; [easy|apply one_double|apply far_from_overflow, Rabs_le; lra]|].
    apply fl_number. apply (@sterbenz radix2 (FLT_exp (-1074) 53)); try typeclasses eauto; try easy. lra. }
  assert (hp : is_double (add_64 m one_64) (fl64 (v + 1))).
  { apply add_double; [easy|apply one_double|]. apply far_from_overflow. apply Rabs_le. lra. }
  pose proof (double_sum_error v 1 nv n1) as p_err. rewrite (Rabs_right (v + 1)) in p_err by lra.
  set (p := add_64 m one_64) in *. set (P := fl64 (v + 1)) in *.
  assert (P_near : Rabs (P - (v + 1)) <= 3 * u64) by (eapply Rle_trans; [exact p_err|]; nra).
  assert (P_range : 1707 / 1000 <= P <= 24143 / 10000) by (apply Rabs_le_inv in P_near; lra).
  destruct (newton_from_line p P hp P_range) as [I [hi I_close]].
  assert (sizes : v - 1 = 0 \/ two_to (-60) <= Rabs (v - 1) <= 1).
  { destruct (on_grid binary64 v (-1) nv) as [k grid]; [rewrite Rabs_right by lra; change (two_to (-1)) with (/ 2); lra|].
    change (-1 - prec binary64 + 1)%Z with (-53)%Z in grid.
    assert (steps : v - 1 = IZR (k - 2 ^ 53) * u64).
    { rewrite minus_IZR, Rmult_minus_distr_r, <- grid. f_equal. change (IZR (2 ^ 53)) with (two_to 53). now rewrite <- bpow_plus. }
    destruct (Z.eq_dec (k - 2 ^ 53) 0) as [none|some]; [left; rewrite steps, none; ring|right].
    split; [|apply Rabs_le; lra]. rewrite steps, Rabs_mult, (Rabs_right u64) by lra.
    apply Rle_trans with (1 * u64); [rewrite Rmult_1_l; apply bpow_le; lia|]. apply Rmult_le_compat_r; [lra|].
    rewrite <- abs_IZR. apply (IZR_le 1). lia. }
  assert (P_sizes : two_to (-100) <= P <= two_to 100).
  { split; [apply Rle_trans with (two_to 0)|apply Rle_trans with (two_to 2)]; try (apply bpow_le; lia); cbn; lra. }
  destruct (quotient_near _ p _ (v - 1) P I hx hp hi P_sizes I_close) as [Z [hz [Z_close Z_zero]]].
  { destruct sizes as [zero|[some small]]; [now left|right]. pose proof (bpow_le radix2 (-200) (-60) ltac:(lia)).
    pose proof (bpow_le radix2 0 200 ltac:(lia)). cbn [bpow] in *. lra. }
  cbv zeta in hz. set (w := (v - 1) / (v + 1)). assert (w_small : Rabs w <= 1716 / 10000).
  { unfold w. apply Rabs_le. split; apply Rmult_le_reg_r with (v + 1); try lra; unfold Rdiv; rewrite (Rmult_assoc (v - 1)), Rinv_l by lra; lra. }
  pose proof (Rabs_pos w) as w0. assert (turned : (v - 1) / P - w = w * ((v + 1 - P) * / P)) by (unfold w; field; lra).
  assert (ratio : Rabs ((v + 1 - P) * / P) <= / 1000000000000).
  { rewrite Rabs_mult, (Rabs_right (/ P)) by (apply Rle_ge; left; apply Rinv_0_lt_compat; lra). rewrite Rabs_minus_sym.
    assert (/ P <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra). pose proof (Rinv_0_lt_compat P ltac:(lra)).
    apply Rle_trans with (3 * u64 * 1); [apply Rmult_le_compat; try lra; apply Rabs_pos|lra]. }
  assert (moved : Rabs ((v - 1) / P - w) <= / 1000000000000 * Rabs w).
  { rewrite turned, Rabs_mult, Rmult_comm. apply Rmult_le_compat_r; easy. }
  assert (size : Rabs ((v - 1) / P) <= 2 * Rabs w) by (replace ((v - 1) / P) with (((v - 1) / P - w) + w) by ring; triangle; lra).
  assert (near : Rabs (Z - w) <= / 4900000000 * Rabs w).
  { replace (Z - w) with ((Z - (v - 1) / P) + ((v - 1) / P - w)) by ring. triangle. lra. }
  assert (Z_small : Rabs Z <= 172 / 1000) by (replace Z with ((Z - w) + w) by ring; triangle; lra).
  destruct (twice_atanh_computed _ Z hz Z_small) as [y [hy y_close]].
  { destruct sizes as [zero|[large _]]; [left; now apply Z_zero|right]. apply Rle_trans with (two_to (-62)); [apply bpow_le; lia|].
    apply Rle_trans with (two_to (-60) * / 4); [right; change (/ 4) with (two_to (-2)); now rewrite <- bpow_plus|].
    assert (v1 : Rabs (v - 1) <= 5 / 2 * Rabs w).
    { replace (v - 1) with (w * (v + 1)) by (unfold w; field; lra). rewrite Rabs_mult, (Rabs_right (v + 1)), Rmult_comm by lra.
      apply Rmult_le_compat_r; lra. }
    assert (Rabs w <= Rabs Z + / 4900000000 * Rabs w) by (replace w with (Z + - (Z - w)) at 1 by ring; triangle; rewrite Rabs_Ropp; lra).
    pose proof (bpow_gt_0 radix2 (-60)). lra. }
  exists y. split; [exact hy|]. assert (ln_is : log_ratio w = ln v) by (apply log_ratio_of_mantissa; lra).
  destruct (log_ratio_size w ltac:(lra)) as [ln_low _]. rewrite ln_is in ln_low.
  destruct (log_ratio_between w Z ltac:(lra) Z_small) as [_ between]. rewrite ln_is in between.
  assert (Rabs (log_ratio Z) <= 2 * Rabs (ln v)) by (replace (log_ratio Z) with ((log_ratio Z - ln v) + ln v) by ring; triangle; lra).
  assert (u64 * Rabs (log_ratio Z) <= / 9000000000000000 * (2 * Rabs (ln v))) by (apply Rmult_le_compat; try lra; apply Rabs_pos).
  replace (y - ln v) with ((y - log_ratio Z) + (log_ratio Z - ln v)) by ring. triangle. lra.
Qed.

Theorem tree_logarithm_near total s :
  is_value total (s * two_to 64) -> 1 <= s <= two_to 27 ->
  exists y, is_double (tree_logarithm total) y /\ Rabs (y - ln s) <= / 500000000 * ln s.
Proof.
  intros ht range. pose proof u64_range as u0. pose proof h64_tiny as h0.
  assert (back : s * two_to 64 * two_to (-64) = s) by (rewrite Rmult_assoc, <- bpow_plus; apply Rmult_1_r).
  assert (s_number : number binary32 s).
  { rewrite <- back. apply (mult_bpow_exact_FLT radix2 (-149) 24); [exact (value_number _ _ ht)|].
    assert (big : two_to 64 <= Rabs (s * two_to 64)).
    { rewrite Rabs_right by (apply Rle_ge, Rmult_le_pos; [lra|apply bpow_ge_0]). rewrite <- (Rmult_1_l (two_to 64)) at 1.
      apply Rmult_le_compat_r; [apply bpow_ge_0|lra]. }
    pose proof (mag_ge_bpow radix2 (s * two_to 64) 65 big). lia. }
  assert (hs : is_value (mul total exp_unscale) s).
  { eapply value_at; [apply (mul_value _ _ _ _ ht unscale_value)|]; rewrite back; [|now apply fl_number].
    rewrite Rabs_right by lra. apply Rle_trans with (two_to 27); [easy|apply bpow_le; lia]. }
  unfold tree_logarithm. cbv zeta.
  assert (less (mul total exp_unscale) one = false) as ->.
  { destruct (less (mul total exp_unscale) one) eqn:below; [|easy]. apply (less_value _ _ _ _ hs one_value) in below. lra. }
  pose proof (widened_value _ _ hs) as hx. set (x := widened (mul total exp_unscale)) in *.
  destruct (exponent_by_bits x s (proj1 hx) (proj2 hx)) as [v [fm [vm [split_s [k_range v_range]]]]].
  { split; [easy|]. apply Rle_trans with (two_to 27); [easy|apply bpow_le; lia]. }
  change ((word_of_f64 x - 4604544271217802189) / 2 ^ 52)%Z with (exponent_of x). set (k := exponent_of x) in *.
  change (f64_of_word (word_of_f64 x - k * 2 ^ 52)) with (mantissa_of x).
  destruct (mantissa_logarithm_near (mantissa_of x) v (conj fm vm) v_range) as [l [hl l_close]]. cbv zeta in hl.
  set (of_m := twice_atanh _) in *. destruct ln_2_double as [h2 [c_close ln2_range]]. set (c := 6243314768165359 * u64) in *.
  assert (ln_s : ln s = IZR k * ln 2 + ln v).
  { rewrite split_s, ln_mult, Rplus_comm; [|lra|apply bpow_gt_0]. f_equal. rewrite (bpow_exp radix2), ln_exp. reflexivity. }
  assert (ln_v : Rabs (ln v) <= 3466 / 10000) by (apply Rabs_le; split; enclose).
  assert (hk : is_double (dyadic_64 k 0) (IZR k)) by (apply integer_double; lia).
  assert (k_real : 0 <= IZR k <= 62) by (split; apply IZR_le; lia).
  assert (l_size : Rabs l <= 4 / 10) by (replace l with ((l - ln v) + ln v) by ring; triangle; lra).
  assert (c_range : 69 / 100 <= c <= 7 / 10) by (apply Rabs_le_inv in c_close; lra).
  assert (kc : 0 <= IZR k * c <= 44) by (split; [apply Rmult_le_pos|]; nra).
  exists (fl64 (IZR k * c + l)). split.
  { apply fused_double; [exact hk|exact h2|exact hl|]. apply far_from_overflow. triangle. rewrite (Rabs_right (IZR k * c)); lra. }
  destruct (Z.eq_dec k 0) as [none|some].
  - rewrite none in *. rewrite !Rmult_0_l, !Rplus_0_l in *. rewrite fl_number by (apply (double_number _ _ hl)).
    rewrite ln_s in *. assert (0 <= ln v) by (rewrite <- ln_s, <- ln_1; apply ln_le; lra). rewrite (Rabs_right (ln v)) in l_close by lra. lra.
  - assert (one : 1 <= IZR k) by (apply (IZR_le 1); lia). apply Rabs_le_inv in ln_v as ln_v'.
    assert (k2 : IZR k * (6931 / 10000) <= IZR k * ln 2) by (apply Rmult_le_compat_l; lra).
    assert (close : Rabs (IZR k * c - IZR k * ln 2) <= 62 * (22 / 100 * u64)).
    { rewrite <- Rmult_minus_distr_l, Rabs_mult, (Rabs_right (IZR k)) by lra. apply Rmult_le_compat; try lra. apply Rabs_pos. }
    pose proof (double_error (IZR k * c + l)) as last. assert (Rabs (IZR k * c + l) <= 45) by (triangle; rewrite (Rabs_right (IZR k * c)); lra).
    assert (u64 * Rabs (IZR k * c + l) <= u64 * 45) by (apply Rmult_le_compat_l; lra).
    replace (fl64 (IZR k * c + l) - ln s) with ((fl64 (IZR k * c + l) - (IZR k * c + l)) + ((IZR k * c - IZR k * ln 2) + (l - ln v)))
      by (rewrite ln_s; ring).
    triangle. pose proof (Rabs_triang (IZR k * c - IZR k * ln 2) (l - ln v)). lra.
Qed.

(** ln 2: the premises hold. *)
Example logarithm_of_two :
  is_value (dyadic 1 65) (2 * two_to 64) /\ 1 <= 2 <= two_to 27 /\ word_of_f64 (tree_logarithm (dyadic 1 65)) = 0x3fe62e42fefa39ef%Z.
Proof.
  split; [eapply value_at; [apply dyadic_value; [left; reflexivity|lia]|]; change 65%Z with (1 + 64)%Z; rewrite bpow_plus; change (two_to 1) with 2; ring|].
  split; [split; [lra|apply (bpow_le radix2 1); lia]|]. vm_compute. reflexivity.
Qed.
