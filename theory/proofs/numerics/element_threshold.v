(** * A log error C + t D of an element, as a threshold linear in D.

    Main results
    - [sinh_bound]          sinh z <= z e^(z^2/6), hence (e^y - 1) / y <= e^(y/2 + y^2/24)
    - [element_threshold]   p (e^(C + t D) - 1) <= (k_0 + k_1 D) p + q / 2^11 for p <= e^-D, with
                            k_0 = e^C - 1, k_1 = t e^(C + y/2 + y^2/24), y = t D_1, D_1 = (C + ln (2^11 / q)) / (1 - t):
                            below the chord up to D_1, below q / 2^11 from there on

    Source: docs/tolerances.md, B2; RoundingModel::element in numerics/rounding/rounding_model.cpp. *)

From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From softcheck.floating_point Require Import relative_error.
Local Open Scope R_scope.

(** A function with a nonnegative derivative does not fall. *)
Lemma growing (f df : R -> R) a b :
  a <= b -> (forall x, a <= x <= b -> is_derive f x (df x)) -> (forall x, a <= x <= b -> 0 <= df x) -> f a <= f b.
Proof.
  intros le der pos. destruct (MVT_gen f a b df) as [c [range eq]].
  - intros x hx. rewrite Rmin_left, Rmax_right in hx by lra. apply der. lra.
  - intros x hx. rewrite Rmin_left, Rmax_right in hx by lra. apply derivable_continuous_pt, ex_derive_Reals_0. eexists.
    apply der. lra.
  - rewrite Rmin_left, Rmax_right in range by lra. pose proof (pos c range).
    assert (0 <= df c * (b - a)) by (apply Rmult_le_pos; lra). lra.
Qed.

(** g = z e^(z^2/6) - sinh z satisfies g'' - g = z^3/9 e^(z^2/6) >= 0, g(0) = g'(0) = 0. *)
Lemma sinh_bound z : 0 <= z -> (exp z - exp (- z)) / 2 <= z * exp (z ^ 2 / 6).
Proof.
  intros hz. set (g := fun x => x * exp (x ^ 2 / 6) - (exp x - exp (- x)) / 2).
  set (g' := fun x => (1 + x ^ 2 / 3) * exp (x ^ 2 / 6) - (exp x + exp (- x)) / 2).
  assert (first : forall x, 0 <= x -> 0 <= (g' x + g x) * exp (- x)).
  { intros x hx. replace 0 with ((g' 0 + g 0) * exp (- 0)).
    - apply (growing (fun y => (g' y + g y) * exp (- y)) (fun y => y ^ 3 / 9 * exp (y ^ 2 / 6) * exp (- y)));
        [easy| |].
      + intros y _. unfold g, g'. auto_derive; [easy|]. simpl. unfold Rdiv. field.
      + intros y hy. pose proof (exp_pos (y ^ 2 / 6)). pose proof (exp_pos (- y)).
        assert (0 <= y ^ 3) by (apply pow_le; lra). repeat apply Rmult_le_pos; lra.
    - unfold g, g'. replace (0 ^ 2 / 6) with 0 by field. replace (- 0) with 0 by ring. rewrite exp_0. field. }
  assert (second : 0 <= g z * exp z).
  { replace 0 with (g 0 * exp 0).
    - apply (growing (fun y => g y * exp y) (fun y => (g' y + g y) * exp y)); [easy| |].
      + intros y _. unfold g, g'. auto_derive; [easy|]. simpl. unfold Rdiv. field.
      + intros y hy. pose proof (first y ltac:(lra)). pose proof (exp_pos (- y)). pose proof (exp_pos y).
        apply Rmult_le_pos; [|lra]. apply Rmult_le_reg_r with (exp (- y)); lra.
    - unfold g. replace (0 ^ 2 / 6) with 0 by field. replace (- 0) with 0 by ring. rewrite exp_0. field. }
  pose proof (exp_pos z). assert (0 <= g z) by (apply Rmult_le_reg_r with (exp z); lra). unfold g in *. lra.
Qed.

Lemma expm1_chord y : 0 <= y -> exp y - 1 <= y * exp (y / 2 + y ^ 2 / 24).
Proof.
  intros hy. pose proof (sinh_bound (y / 2) ltac:(lra)) as bound.
  replace ((y / 2) ^ 2 / 6) with (y ^ 2 / 24) in bound by field. rewrite exp_plus. pose proof (exp_pos (y / 2)).
  assert (exp (y / 2) * ((exp (y / 2) - exp (- (y / 2))) / 2) <= exp (y / 2) * (y / 2 * exp (y ^ 2 / 24)))
    by (apply Rmult_le_compat_l; lra).
  assert (exp (y / 2) * exp (y / 2) = exp y) by (rewrite <- exp_plus; f_equal; field).
  assert (exp (y / 2) * exp (- (y / 2)) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0). lra.
Qed.

(** ** The threshold *)

Section Threshold.
  Context (quantum C rate : R).   (* the accumulator's smallest number; the log error's two coefficients *)
  Context (quantum_range : 0 < quantum <= 1) (C_range : 0 <= C) (rate_range : 0 <= rate < 1).

  Definition last_deviation : R := (C + ln (2048 / quantum)) / (1 - rate).
  Definition threshold_constant : R := exp C - 1.
  Definition threshold_slope : R := rate * exp (C + rate * last_deviation / 2 + (rate * last_deviation) ^ 2 / 24).
  Definition threshold_floor : R := quantum / 2048.

  Theorem element_threshold d p :
    0 <= d -> 0 <= p <= exp (- d) ->
    p * (exp (C + rate * d) - 1) <= (threshold_constant + threshold_slope * d) * p + threshold_floor.
  Proof.
    intros hd hp. unfold threshold_constant, threshold_slope, threshold_floor.
    set (D := last_deviation). set (y := rate * D).
    assert (bits : 0 <= ln (2048 / quantum)).
    { rewrite <- ln_1. apply ln_le; [lra|]. apply Rmult_le_reg_r with quantum; [lra|].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    assert (hD : (1 - rate) * D = C + ln (2048 / quantum)) by (unfold D, last_deviation; field; lra).
    destruct (Rle_dec d D) as [within|beyond].
    - (* below the chord: e^(rate d) - 1 <= rate d (e^y - 1) / y *)
      assert (chord : exp (rate * d) - 1 <= rate * d * exp (y / 2 + y ^ 2 / 24)).
      { eapply Rle_trans; [apply expm1_chord; nra|]. apply Rmult_le_compat_l; [nra|]. apply exp_le.
        assert (0 <= rate * d) by nra. assert (rate * d <= y) by (unfold y; apply Rmult_le_compat_l; lra).
        assert ((rate * d) ^ 2 <= y ^ 2) by (apply pow_incr; lra). lra. }
      replace (C + y / 2 + y ^ 2 / 24) with (C + (y / 2 + y ^ 2 / 24)) by ring.
      rewrite !exp_plus. rewrite exp_plus in chord.
      pose proof (exp_at_least_one C C_range). set (E := exp (y / 2) * exp (y ^ 2 / 24)) in *.
      assert (p * (exp C * (exp (rate * d) - 1)) <= p * (exp C * (rate * d * E))).
      { apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; lra. }
      lra.
    - (* p e^(C + rate d) <= e^(C - (1 - rate) D) = quantum / 2048 *)
      assert (small : p * exp (C + rate * d) <= quantum / 2048).
      { apply Rle_trans with (exp (- d) * exp (C + rate * d)).
        - apply Rmult_le_compat_r; [left; apply exp_pos | easy].
        - rewrite <- exp_plus. replace (quantum / 2048) with (exp (- ln (2048 / quantum))).
          + apply exp_le. nra.
          + rewrite exp_Ropp, exp_ln by (apply Rdiv_lt_0_compat; lra). field. lra. }
      pose proof (exp_at_least_one C C_range). pose proof (exp_pos (C + y / 2 + y ^ 2 / 24)).
      assert (0 <= rate * exp (C + y / 2 + y ^ 2 / 24) * d) by (apply Rmult_le_pos; [|lra]; apply Rmult_le_pos; lra).
      assert (0 <= (exp C - 1 + rate * exp (C + y / 2 + y ^ 2 / 24) * d) * p) by (apply Rmult_le_pos; lra).
      nra.
  Qed.
End Threshold.
