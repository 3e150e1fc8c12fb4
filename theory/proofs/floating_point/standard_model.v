(** * The standard model of floating-point arithmetic, with underflow and with an exponential of given accuracy.

    Main results
    - [sum_of_standard_model], [product_of_standard_model]   fl(z) = z (1 + d) + e is covered
    - [exponential_of_contract]     relative error E u where normal, absolute omega_x below, 0 beyond D_0: covered
    - [weight_bounds]               e^-D as computed lies within e^(lambda_E + t D + c), t = e^(A' lambda) - 1     (1)
    - [plain_argument]    theta = 1: one rounding, A' = 1, absolute error omega_a
    - [scaled_argument]   a difference, times a reciprocal of theta that is off by r roundings: A' = r + 2, absolute error
                          (1 + t) omega_a / theta + omega_m

    [arithmetic] holds what a kernel's contract says of its accumulator; a [computed_...] relation says that a number may
    be what such a kernel computes. Errors are factors e^t (lambda = -ln(1 - u) covers 1 + d, |d| <= u) plus an absolute
    loss; unlike the usual model, a loss is allowed beside a rounding, so that more kernels are covered.

    Source: docs/tolerances.md, "The model". Flocq's formats satisfy it: floating_point/formats.v. *)

From Coq Require Import Reals Lra Psatz.
From softcheck.floating_point Require Import relative_error.
Local Open Scope R_scope.

Record arithmetic := {
  roundoff : R;        (** u *)
  exp_error : R;       (** E u *)
  log_error : R;       (** E_l u *)
  argument_unit : R;   (** A' lambda: the argument -D of an exponential is off by the factor e^(+-this) *)
  argument_step : R;   (** and by this absolutely, each time a difference is taken *)
  sum_floor : R;       (** omega_a: what an addition may lose *)
  product_floor : R;   (** omega_m: what a product or a quotient may lose *)
  exp_floor : R;       (** omega_x: what an exponential may lose *)
  exp_cutoff : R       (** D_0: exponentials of larger deviations are 0 *)
}.

Section Model.
  Context (M : arithmetic).

  Definition unit : R := log_unit (roundoff M).
  Definition exp_unit : R := log_unit (exp_error M).
  Definition slope : R := exp (argument_unit M) - 1.

  (** The floors' upper limit 1/16 and the slope's 1/4 hold in every format down to 8 bits of significand; an
      exponential that loses anything has an argument beyond 8, as e^-8 is normal in all of them. *)
  Definition sound : Prop :=
    0 <= roundoff M < 1 /\ 0 <= exp_error M < 1 /\ 0 <= log_error M /\
    0 <= argument_unit M /\ slope <= / 4 /\ 0 <= argument_step M <= / 2 /\
    0 <= sum_floor M /\ sum_floor M <= product_floor M /\ product_floor M <= / 16 /\
    0 <= exp_floor M <= / 16 /\ 8 <= exp_cutoff M.

  Definition computed_sum (z s : R) : Prop := exists t e, Rabs t <= unit /\ Rabs e <= sum_floor M /\ s = z * exp t + e.

  (** Also of a quotient. *)
  Definition computed_product (z p : R) : Prop :=
    exists t e, Rabs t <= unit /\ Rabs e <= product_floor M /\ p = z * exp t + e.

  (** b for the deviation d >= 0. *)
  Definition computed_argument (d b : R) : Prop :=
    exists t c, Rabs t <= argument_unit M /\ Rabs c <= argument_step M /\ b = d * exp t + c.

  (** f for e^-b. *)
  Definition computed_exp (b f : R) : Prop :=
    exists t e, Rabs t <= exp_unit /\ Rabs e <= exp_floor M /\ Rabs e * Rabs b <= exp_floor M * exp_cutoff M /\
      (e <> 0 -> 8 <= b) /\ f = exp (- b + t) + e.

  Hypothesis good : sound.

  Lemma unit_nonneg : 0 <= unit.
  Proof. apply log_unit_nonneg, good. Qed.

  Lemma exp_unit_nonneg : 0 <= exp_unit.
  Proof. apply log_unit_nonneg, good. Qed.

  Lemma slope_nonneg : 0 <= slope.
  Proof. unfold slope. pose proof (exp_at_least_one (argument_unit M)). unfold sound in good. lra. Qed.

  Lemma sound_ranges :
    slope <= / 4 /\ 0 <= argument_step M <= / 2 /\ 0 <= exp_floor M <= / 16 /\ 0 <= product_floor M <= / 16 /\
    0 <= sum_floor M.
  Proof. unfold sound in good. lra. Qed.

  (** ** The usual form of the model *)

  Theorem sum_of_standard_model z d e :
    Rabs d <= roundoff M -> Rabs e <= sum_floor M -> computed_sum z (z * (1 + d) + e).
  Proof. intros bd be. destruct (one_rounding (roundoff M) d (proj1 good) bd) as [t [bt ->]]. now exists t, e. Qed.

  Theorem product_of_standard_model z d e :
    Rabs d <= roundoff M -> Rabs e <= product_floor M -> computed_product z (z * (1 + d) + e).
  Proof. intros bd be. destruct (one_rounding (roundoff M) d (proj1 good) bd) as [t [bt ->]]. now exists t, e. Qed.

  Lemma computed_product_exact z : 0 <= product_floor M -> computed_product z z.
  Proof. intros. exists 0, 0. rewrite Rabs_R0, exp_0. pose proof unit_nonneg. repeat split; lra. Qed.

  (** What a contract says: relative error E u; or, where e^-b is so small that b >= 8, absolute error omega_x up to the
      argument D_0 and the value 0 beyond it, where e^-b <= omega_x has become negligible. *)
  Theorem exponential_of_contract b f :
    (exists d, Rabs d <= exp_error M /\ f = exp (- b) * (1 + d)) \/
    (8 <= b <= exp_cutoff M /\ Rabs (f - exp (- b)) <= exp_floor M) \/
    (exp_cutoff M <= b /\ f = 0 /\ exp (- exp_cutoff M) <= exp_floor M) ->
    computed_exp b f.
  Proof.
    unfold sound in good. intros [[d [bd ->]]|[[range close]|[far [-> small]]]].
    - destruct (one_rounding (exp_error M) d ltac:(lra) bd) as [t [bt ->]]. exists t, 0. rewrite Rabs_R0, exp_plus.
      repeat split; try easy; try nra.
    - exists 0, (f - exp (- b)). rewrite Rabs_R0, Rplus_0_r. pose proof exp_unit_nonneg. repeat split; try lra.
      rewrite (Rabs_right b) by lra. pose proof (Rabs_pos (f - exp (- b))). nra.
    - exists 0, (- exp (- b)). rewrite Rabs_R0, Rplus_0_r, Rabs_Ropp, (Rabs_right (exp (- b))) by (left; apply exp_pos).
      pose proof exp_unit_nonneg. pose proof (exp_le (- b) (- exp_cutoff M) ltac:(lra)). repeat split; try lra.
      rewrite (Rabs_right b) by lra. set (c := exp_cutoff M) in *.
      (* b e^-b falls from 1 on *)
      apply Rle_trans with (exp (- c) * c); [|monotone]. replace (- b) with (- c + - (b - c)) by ring.
      rewrite exp_plus, Rmult_assoc. apply Rmult_le_compat_l; [monotone|]. pose proof (exp_above_tangent (b - c)).
      rewrite exp_Ropp. pose proof (exp_pos (b - c)). apply Rmult_le_reg_l with (exp (b - c)); [easy|].
      rewrite <- Rmult_assoc, Rinv_r by lra. nra.
  Qed.

  (** ** The argument's relative error as an error of the exponential *)

  Lemma argument_factor t : Rabs t <= argument_unit M -> 1 - slope <= exp t <= 1 + slope.
  Proof.
    intros bound. pose proof (expm1_abs t _ bound) as small. fold slope in small. apply abs_between in small. lra.
  Qed.

  (** e^-D as computed, before it underflows: e^-D e^s, |s| <= t D + (lambda_E + c). *)
  Lemma weight_bounds d b t :
    0 <= d -> computed_argument d b -> Rabs t <= exp_unit ->
    exists s, Rabs s <= slope * d + (exp_unit + argument_step M) /\ exp (- b + t) = exp (- d) * exp s.
  Proof.
    intros hd [ta [c [bta [bc ->]]]] bt. exists (d * (1 - exp ta) - c + t). split.
    - pose proof (argument_factor ta bta). apply abs_between in bt. apply abs_between in bc. apply Rabs_le. nra.
    - rewrite <- exp_plus. f_equal. ring.
  Qed.

  (** Beyond 8 an exponent's deviation is so large that e^-(1-t)D/2 <= 1/8. *)
  Lemma far_deviation d b : 0 <= d -> computed_argument d b -> 8 <= b -> exp (- ((1 - slope) / 2 * d)) <= / 8.
  Proof.
    intros hd [ta [c [bta [bc ->]]]] far. unfold sound in good. pose proof slope_nonneg as hs.
    pose proof (argument_factor ta bta) as factor. assert (up : exp ta <= 1 + slope) by lra. apply abs_between in bc.
    assert (15 / 2 <= d * (1 + slope)) by nra. assert (6 <= d) by nra. assert (9 / 4 <= (1 - slope) / 2 * d) by nra.
    apply Rle_trans with (exp (- (9 / 4))); [monotone|]. rewrite exp_Ropp. apply Rinv_le_contravar; [lra|].
    (* e^(9/4) = (e^(9/32))^8 >= (41/32)^8... by squaring *)
    replace (9 / 4) with (9 / 16 + 9 / 16 + 9 / 16 + 9 / 16) by field. rewrite !exp_plus.
    replace (9 / 16) with (9 / 64 + 9 / 64 + 9 / 64 + 9 / 64) by field. rewrite !exp_plus.
    pose proof (exp_above_tangent (9 / 64)) as tangent. set (x := exp (9 / 64)) in *. assert (73 / 64 <= x) by lra.
    assert (x2 : 5329 / 4096 <= x * x) by nra. assert (x4 : 28398241 / 16777216 <= x * x * x * x) by nra.
    assert (x8 : 1683 / 1000 <= x * x * x * x) by lra. set (y := x * x * x * x) in *.
    assert (28324 / 10000 <= y * y) by nra. assert (8 <= (y * y) * (y * y)) by nra. lra.
  Qed.

  (** What an exponential that underflows may have lost, times the deviation. *)
  Lemma lost_deviation d b e :
    0 <= d -> computed_argument d b -> Rabs e <= exp_floor M ->
    Rabs e * Rabs b <= exp_floor M * exp_cutoff M ->
    Rabs e * d <= exp_floor M * (5 / 4 * exp_cutoff M + 1).
  Proof.
    intros hd [ta [c [bta [bc ->]]]] be bb. unfold sound in good. pose proof (argument_factor ta bta).
    pose proof (Rabs_pos e). pose proof slope_nonneg. set (w := exp_floor M) in *. set (D := exp_cutoff M) in *.
    assert (d * (3 / 4) <= Rabs (d * exp ta + c) + / 2).
    { pose proof (Rle_abs (d * exp ta + c)). apply abs_between in bc. nra. } assert (fac : 4 / 5 <= exp ta).
    { destruct (Rle_dec (4 / 5) (exp ta)) as [yes|no]; [easy|exfalso]. apply abs_between in bta.
      pose proof (exp_le (- argument_unit M) ta ltac:(lra)) as low. rewrite exp_Ropp in low.
      assert (exp (argument_unit M) <= 5 / 4) by (unfold slope in *; lra). pose proof (exp_pos (argument_unit M)).
      assert (/ (5 / 4) <= / exp (argument_unit M)) by monotone. lra. }
    assert (d * (4 / 5) <= Rabs (d * exp ta + c) + / 2).
    { pose proof (Rle_abs (d * exp ta + c)). apply abs_between in bc. nra. }
    assert (Rabs e * (d * (4 / 5)) <= w * D + w * / 2).
    { apply Rle_trans with (Rabs e * (Rabs (d * exp ta + c) + / 2)); [monotone|]. rewrite Rmult_plus_distr_l.
      monotone. }
    lra.
  Qed.
End Model.

(** What the bounds use of a sound arithmetic, by one set of names. *)
Ltac sound_facts good :=
  pose proof (slope_nonneg _ good) as ft; pose proof (unit_nonneg _ good) as fl; pose proof (exp_unit_nonneg _ good) as fe;
  destruct (sound_ranges _ good) as [ft4 [fc [fx [fm fa]]]].

(** ** The argument (m - x) / theta as kernels compute it.

    Source: docs/tolerances.md, "Argument"; RoundingModel::set_argument, where r = 1 for a representable theta, else 2. *)

Section Argument.
  Context (M : arithmetic) (good : sound M).

  Theorem plain_argument D b :
    argument_unit M = unit M -> argument_step M = sum_floor M -> computed_sum M D b -> computed_argument M D b.
  Proof. intros au st [t [e [bt [be ->]]]]. exists t, e. rewrite au, st. auto. Qed.

  (** The difference's own loss is multiplied by the reciprocal as computed. *)
  Theorem scaled_argument D theta (r : nat) difference inverse b :
    0 < theta ->
    argument_unit M = (INR r + 2) * unit M ->
    argument_step M = (1 + slope M) * sum_floor M / theta + product_floor M ->
    computed_sum M (D * theta) difference -> rel (INR r * unit M) inverse (/ theta) ->
    computed_product M (difference * inverse) b -> computed_argument M D b.
  Proof.
    intros pos au st [t1 [e1 [bt1 [be1 ->]]]] [ti [bti ->]] [t2 [e2 [bt2 [be2 ->]]]].
    pose proof (unit_nonneg M good) as hl. pose proof (pos_INR r) as hr.
    exists (t1 + ti + t2), (e1 * / theta * exp (ti + t2) + e2). apply abs_between in bt1. apply abs_between in bti.
    apply abs_between in bt2. repeat split.
    - rewrite au. apply Rabs_le. lra.
    - rewrite st. triangle. apply Rplus_le_compat; [|easy]. assert (inv : 0 < / theta) by monotone.
      rewrite !Rabs_mult, (Rabs_right (/ theta)), (Rabs_right (exp (ti + t2))) by (lra || (left; apply exp_pos)).
      unfold slope. rewrite au. assert (exp (ti + t2) <= exp ((INR r + 2) * unit M)) by monotone.
      replace ((1 + (exp ((INR r + 2) * unit M) - 1)) * sum_floor M / theta)
        with (sum_floor M * / theta * exp ((INR r + 2) * unit M)) by (field; lra).
      apply Rmult_le_compat; [|monotone| |easy].
      + monotone.
      + monotone.
    - rewrite !exp_plus. field. lra.
  Qed.
End Argument.
