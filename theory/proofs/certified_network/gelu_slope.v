(** * GELU (the form with tanh): its slope is at most 1.15, and on [-4, 4] it is off a chord by little.

    Main results
    - [gelu_logistic]    gelu x = x / (1 + e^(-v)), v = 2 sqrt(2/pi) (x + 0.044715 x^3)
    - [gelu_lipschitz]   |gelu x - gelu y| <= 1.15 |x - y|
    - [gelu_chord]       between two points h apart gelu is within 2 h^2 of its chord, on [-4, 4]

    Source: this project. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From softcheck Require Import small_transformer coordinate_box lipschitz_layers standard_interval.
Local Open Scope R_scope.

Definition steepness : R := 2 * sqrt (2 / PI).
Definition gelu_exponent (x : R) : R := steepness * (x + 44715 / 1000000 * x ^ 3).
Definition logistic (v : R) : R := / (1 + exp (- v)).

Lemma one_plus_exp v : 0 < 1 + exp v.
Proof. pose proof (exp_pos v). lra. Qed.

(** 1 + tanh u = 2 / (1 + e^(-2u)). *)
Theorem gelu_logistic x : gelu x = x * logistic (gelu_exponent x).
Proof.
  unfold gelu, gelu_exponent, steepness, logistic, tanh, sinh, cosh.
  set (u := sqrt (2 / PI) * (x + 44715 / 1000000 * x ^ 3)).
  replace (2 * sqrt (2 / PI) * (x + 44715 / 1000000 * x ^ 3)) with (u + u) by (unfold u; ring).
  replace (exp (- (u + u))) with (exp (- u) * / exp u) by (rewrite <- exp_Ropp, <- exp_plus; f_equal; ring).
  pose proof (exp_pos u). pose proof (exp_pos (- u)). field. repeat split; lra.
Qed.

Definition exponent_slope (x : R) : R := steepness * (1 + 3 * (44715 / 1000000) * x ^ 2).
Definition gelu_slope (x : R) : R :=
  let s := logistic (gelu_exponent x) in s + x * (exponent_slope x * (s * (1 - s))).
Definition gelu_bend (x : R) : R :=
  let s := logistic (gelu_exponent x) in
  s * (1 - s) * (2 * exponent_slope x
                 + x * (exponent_slope x ^ 2 * (1 - 2 * s) + steepness * (6 * (44715 / 1000000) * x))).

Lemma logistic_derivative v : is_derive logistic v (logistic v * (1 - logistic v)).
Proof. unfold logistic. pose proof (one_plus_exp (- v)). auto_derive; [lra|]. field. lra. Qed.

Lemma exponent_derivative x : is_derive gelu_exponent x (exponent_slope x).
Proof. unfold gelu_exponent, exponent_slope. auto_derive; [easy|]. field. Qed.

Lemma inner_derivative x :
  is_derive (fun t => logistic (gelu_exponent t)) x
    (exponent_slope x * (logistic (gelu_exponent x) * (1 - logistic (gelu_exponent x)))).
Proof. apply (is_derive_comp logistic gelu_exponent); [apply logistic_derivative | apply exponent_derivative]. Qed.

Lemma gelu_derivative x : is_derive gelu x (gelu_slope x).
Proof.
  apply is_derive_ext with (fun t => t * logistic (gelu_exponent t)); [intros; symmetry; apply gelu_logistic|].
  pose proof (is_derive_mult (fun t : R => t) _ x 1 _ (is_derive_id x) (inner_derivative x) Rmult_comm) as product.
  eapply is_derive_ext_loc; [|evar_last; [exact product|]].
  - exists (mkposreal 1 Rlt_0_1). intros. reflexivity.
  - unfold gelu_slope. cbn. unfold plus, mult. cbn. ring.
Qed.

Lemma slope_derivative x : is_derive gelu_slope x (gelu_bend x).
Proof.
  set (s := fun t => logistic (gelu_exponent t)).
  assert (inner : is_derive s x (exponent_slope x * (s x * (1 - s x)))) by apply inner_derivative.
  assert (there : ex_derive s x) by (eexists; exact inner).
  change gelu_slope with (fun t => s t + t * (exponent_slope t * (s t * (1 - s t)))).
  unfold gelu_bend. change (logistic (gelu_exponent x)) with (s x). clearbody s.
  assert (unique : Derive s x = exponent_slope x * (s x * (1 - s x))) by now apply is_derive_unique.
  unfold exponent_slope at 1. auto_derive; [repeat split; exact there|].
  change (Derive (fun t => s t) x) with (Derive s x). rewrite unique. unfold exponent_slope. ring.
Qed.

(** ** Bounds of the slope *)

Lemma middle_slope x : -4 <= x <= 4 -> Rabs (gelu_slope x) <= 23 / 20.
Proof.
  intros inside. apply Rabs_le. unfold gelu_slope, exponent_slope, logistic, gelu_exponent, steepness.
  enclose bisecting x.
Qed.

Lemma middle_bend x : -4 <= x <= 4 -> Rabs (gelu_bend x) <= 2.
Proof.
  intros inside. apply Rabs_le. unfold gelu_bend, exponent_slope, logistic, gelu_exponent, steepness.
  enclose bisecting x.
Qed.

Lemma logistic_between v : 0 < logistic v < 1.
Proof.
  unfold logistic. pose proof (exp_pos (- v)). split; [apply Rinv_0_lt_compat; lra|].
  rewrite <- Rinv_1. apply Rinv_lt_contravar; lra.
Qed.

Lemma logistic_opp v : logistic (- v) = 1 - logistic v.
Proof. unfold logistic. rewrite Ropp_involutive, exp_Ropp. pose proof (exp_pos v). field. lra. Qed.

(** v s (1 - s) <= v e^(-v) <= v / (e^(v/2) v/2) for v > 0. *)
Lemma far_share v : 10 <= v -> 3 * v * (logistic v * (1 - logistic v)) <= 3 / 20.
Proof.
  intros far. pose proof (logistic_between v) as between. assert (tail : 1 - logistic v <= exp (- v)).
  { unfold logistic. pose proof (exp_pos (- v)). apply Rmult_le_reg_r with (1 + exp (- v)); [lra|].
    rewrite Rmult_minus_distr_r, Rinv_l by lra. nra. }
  assert (root : exp (- v) <= / 148 * / (v / 2)).
  { replace (- v) with (- (v / 2) + - (v / 2)) by field. rewrite exp_plus, !exp_Ropp.
    apply Rmult_le_compat; try (apply Rlt_le, Rinv_0_lt_compat, exp_pos); apply Rinv_le_contravar; try lra.
    - apply Rle_trans with (exp 5); [enclose | apply monotone.exp_le; lra].
    - pose proof (exp_ineq1_le (v / 2)). lra. }
  apply Rle_trans with (3 * v * (1 * (/ 148 * / (v / 2)))).
  - apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat; lra.
  - replace (3 * v * (1 * (/ 148 * / (v / 2)))) with (6 / 148) by (field; lra). lra.
Qed.

Lemma exponent_far x : 4 <= x -> 10 <= gelu_exponent x.
Proof.
  intros far. unfold gelu_exponent, steepness. assert (15 / 10 <= 2 * sqrt (2 / PI)) by enclose.
  assert (64 <= x ^ 3) by (replace 64 with (4 ^ 3) by ring; apply pow_incr; lra). nra.
Qed.

Lemma exponent_grows x : 0 <= x -> 0 <= x * exponent_slope x <= 3 * gelu_exponent x.
Proof.
  intros nonneg. unfold exponent_slope, gelu_exponent, steepness. assert (15 / 10 <= 2 * sqrt (2 / PI)) by enclose.
  set (c := 2 * sqrt (2 / PI)) in *. assert (0 <= x ^ 3) by now apply pow_le.
  replace (x * (c * (1 + 3 * (44715 / 1000000) * x ^ 2))) with (c * (x + 3 * (44715 / 1000000) * x ^ 3)) by ring.
  split; [apply Rmult_le_pos; lra|]. nra.
Qed.

Lemma far_slope x : 4 <= x -> Rabs (gelu_slope x) <= 23 / 20.
Proof.
  intros far. pose proof (exponent_far x far). pose proof (exponent_grows x ltac:(lra)) as [low high].
  pose proof (far_share (gelu_exponent x) ltac:(easy)) as share. unfold gelu_slope. cbv zeta.
  set (s := logistic (gelu_exponent x)) in *. pose proof (logistic_between (gelu_exponent x)) as between.
  fold s in between. assert (0 <= s * (1 - s)) by nra. assert (0 <= x * exponent_slope x * (s * (1 - s)) <= 3 / 20).
  { split; [now apply Rmult_le_pos|]. eapply Rle_trans; [|exact share]. now apply Rmult_le_compat_r. } apply Rabs_le.
  lra.
Qed.

(** gelu x - gelu (-x) = x. *)
Lemma slope_mirrored x : gelu_slope (- x) = 1 - gelu_slope x.
Proof.
  unfold gelu_slope. cbv zeta. replace (gelu_exponent (- x)) with (- gelu_exponent x) by (unfold gelu_exponent; ring).
  rewrite logistic_opp. replace (exponent_slope (- x)) with (exponent_slope x) by (unfold exponent_slope; ring). ring.
Qed.

Lemma far_slope_positive x : 4 <= x -> 0 <= gelu_slope x.
Proof.
  intros far. pose proof (exponent_grows x ltac:(lra)) as [low _]. unfold gelu_slope. cbv zeta.
  pose proof (logistic_between (gelu_exponent x)). set (s := logistic (gelu_exponent x)) in *.
  assert (0 <= s * (1 - s)) by nra. rewrite <- Rmult_assoc.
  assert (0 <= x * exponent_slope x * (s * (1 - s))) by now apply Rmult_le_pos. lra.
Qed.

Lemma slope_bounded x : Rabs (gelu_slope x) <= 23 / 20.
Proof.
  destruct (Rle_dec x (-4)) as [below | above].
  - replace x with (- (- x)) by ring. rewrite slope_mirrored. pose proof (far_slope (- x) ltac:(lra)) as small.
    pose proof (far_slope_positive (- x) ltac:(lra)). apply Rabs_le_between in small. apply Rabs_le. lra.
  - destruct (Rle_dec 4 x); [now apply far_slope | apply middle_slope; lra].
Qed.

Theorem gelu_lipschitz x y : Rabs (gelu x - gelu y) <= 23 / 20 * Rabs (x - y).
Proof.
  apply (slope_from_derivative gelu gelu_slope (Rmin x y) (Rmax x y)).
  - intros. apply gelu_derivative.
  - intros. apply slope_bounded.
  - split; [apply Rmin_l | apply Rmax_l].
  - split; [apply Rmin_r | apply Rmax_r].
Qed.

(** The chord has the slope of a point between; the slopes of two points differ by 2 h at most. *)
Theorem gelu_chord a h x :
  0 < h -> -4 <= a -> a + h <= 4 -> a <= x <= a + h ->
  Rabs (gelu x - (gelu a + (gelu (a + h) - gelu a) * ((x - a) / h))) <= 2 * h ^ 2.
Proof.
  intros pos low high inside.
  assert (mean : forall u v, u <= v -> exists t, u <= t <= v /\ gelu v - gelu u = gelu_slope t * (v - u)).
  { intros u v order. destruct (MVT_gen gelu u v gelu_slope) as [t [between difference]].
    - intros. apply gelu_derivative.
    - intros t _. apply derivable_continuous_pt. exists (gelu_slope t). apply is_derive_Reals, gelu_derivative.
    - rewrite Rmin_left, Rmax_right in between by easy. now exists t. }
  destruct (mean a x ltac:(lra)) as [t [int part]]. destruct (mean a (a + h) ltac:(lra)) as [t' [int' whole]].
  assert (near : Rabs (gelu_slope t - gelu_slope t') <= 2 * Rabs (t - t')).
  { apply (slope_from_derivative gelu_slope gelu_bend (-4) 4); try lra.
    - intros. apply slope_derivative.
    - intros. now apply middle_bend. }
  replace (gelu x - (gelu a + (gelu (a + h) - gelu a) * ((x - a) / h))) with ((gelu_slope t - gelu_slope t') * (x - a)).
  2:{ replace (gelu x) with (gelu a + gelu_slope t * (x - a)) by lra. rewrite whole. field. lra. }
  rewrite Rabs_mult, (Rabs_pos_eq (x - a)) by lra. assert (Rabs (t - t') <= h) by (apply Rabs_le; lra).
  pose proof (Rabs_pos (t - t')). pose proof (Rabs_pos (gelu_slope t - gelu_slope t')). nra.
Qed.
