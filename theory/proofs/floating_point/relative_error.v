(** * Errors on a logarithmic scale: an algebra in which they add.

    Main results
    - [rel k a b]              a = b e^t with |t| <= k: Olver's relative error; factors and quotients add their k
    - [one_rounding]           |d| <= u < 1 gives 1 + d = e^t, |t| <= lambda(u) = - ln (1 - u)
    - [rel_absolute]           rel k a b gives |a - b| <= |b| (e^k - 1)
    - [expm1_lambda_gamma]     e^(k lambda) - 1 <= gamma_k = k u / (1 - k u) where k u < 1: sharper than gamma_k
    - [near k Y G L a b]       the same for sums of either sign, each term with its own error, and an absolute loss

    Source: docs/tolerances.md, "Errors on a logarithmic scale". *)

From Coq Require Import Reals Lra Psatz.
From softcheck Require Export monotone.
Local Open Scope R_scope.

(** ** Facts about exp that everything uses *)

Lemma exp_above_tangent x : 1 + x <= exp x.
Proof. destruct (Req_dec x 0) as [->|nz]; [rewrite exp_0; lra | left; now apply exp_ineq1]. Qed.

Lemma exp_at_least_one x : 0 <= x -> 1 <= exp x.
Proof. intros. rewrite <- exp_0. now apply exp_le. Qed.

Lemma exp_at_most_one x : x <= 0 -> exp x <= 1.
Proof. intros. rewrite <- exp_0. now apply exp_le. Qed.

(** e^x + e^-x >= 2: an error downwards is smaller than the same error upwards. *)
Lemma exp_down_up x : 1 - exp (- x) <= exp x - 1.
Proof.
  assert (exp x * exp (- x) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  assert (0 <= (exp x - 1) ^ 2) by apply pow2_ge_0. assert (0 < exp (- x)) by apply exp_pos. nra.
Qed.

Lemma abs_between x k : Rabs x <= k -> - k <= x <= k.
Proof. intros bound. pose proof (Rle_abs x). pose proof (Rle_abs (- x)). rewrite Rabs_Ropp in *. lra. Qed.

Lemma expm1_abs t k : Rabs t <= k -> Rabs (exp t - 1) <= exp k - 1.
Proof.
  intros bound. apply abs_between in bound. pose proof (exp_le t k (proj2 bound)).
  pose proof (exp_le (- k) t (proj1 bound)). pose proof (exp_down_up k). apply Rabs_le. lra.
Qed.

Lemma ln_le x y : 0 < x -> x <= y -> ln x <= ln y.
Proof. intros pos [lt| ->]; [left; now apply ln_increasing | lra]. Qed.

Lemma ln_below_tangent x : 0 < x -> ln x <= x - 1.
Proof. intros pos. pose proof (exp_above_tangent (ln x)) as bound. rewrite exp_ln in bound; lra. Qed.

Lemma one_le_product x y : 1 <= x -> 1 <= y -> 1 <= x * y.
Proof. intros. nra. Qed.

Lemma grown x y : 0 <= x -> 1 <= y -> x <= x * y.
Proof. intros. nra. Qed.

(** ** One rounding *)

(** lambda = - ln (1 - u): what one relative error of at most u costs. *)
Definition log_unit (u : R) : R := - ln (1 - u).

Lemma log_unit_nonneg u : 0 <= u < 1 -> 0 <= log_unit u.
Proof. intros. unfold log_unit. pose proof (ln_below_tangent (1 - u)). lra. Qed.

Lemma log_unit_0 : log_unit 0 = 0.
Proof. unfold log_unit. rewrite Rminus_0_r, ln_1. ring. Qed.

(** ln (1 + u) <= - ln (1 - u), as (1 + u) (1 - u) <= 1. *)
Lemma one_rounding u d : 0 <= u < 1 -> Rabs d <= u -> exists t, Rabs t <= log_unit u /\ 1 + d = exp t.
Proof.
  intros range bound. apply abs_between in bound. exists (ln (1 + d)). split; [|symmetry; apply exp_ln; lra].
  apply Rabs_le. unfold log_unit. split.
  - pose proof (ln_le (1 - u) (1 + d)). lra.
  - apply Rle_trans with (ln (1 + u)); [apply ln_le; lra|].
    pose proof (ln_below_tangent ((1 + u) * (1 - u)) ltac:(nra)) as product. rewrite ln_mult in product by lra. nra.
Qed.

(** ** Relative errors *)

Definition rel (k computed exact : R) : Prop := exists t, Rabs t <= k /\ computed = exact * exp t.

Lemma rel_refl x : rel 0 x x.
Proof. exists 0. rewrite Rabs_R0, exp_0. lra. Qed.

Lemma rel_weaken k k' a b : k <= k' -> rel k a b -> rel k' a b.
Proof. intros le [t [bound eq]]. exists t. split; [lra|easy]. Qed.

Lemma rel_mult k k' a b c d : rel k a b -> rel k' c d -> rel (k + k') (a * c) (b * d).
Proof.
  intros [t [bt ->]] [t' [bt' ->]]. exists (t + t'). split.
  - pose proof (Rabs_triang t t'). lra.
  - rewrite exp_plus. ring.
Qed.

Lemma rel_inv k a b : rel k a b -> rel k (/ a) (/ b).
Proof. intros [t [bound ->]]. exists (- t). rewrite Rabs_Ropp. split; [easy|]. rewrite exp_Ropp. apply Rinv_mult. Qed.

Lemma rel_div k k' a b c d : rel k a b -> rel k' c d -> rel (k + k') (a / c) (b / d).
Proof. intros. apply rel_mult; [|apply rel_inv]; easy. Qed.

Lemma rel_absolute k a b : rel k a b -> Rabs (a - b) <= Rabs b * (exp k - 1).
Proof.
  intros [t [bound ->]]. replace (b * exp t - b) with (b * (exp t - 1)) by ring.
  rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos | now apply expm1_abs].
Qed.

Lemma rel_pos k a b : 0 < b -> rel k a b -> 0 < a.
Proof. intros pos [t [_ ->]]. apply Rmult_lt_0_compat; [easy|apply exp_pos]. Qed.

(** |ln (a / b)| <= k, said without a quotient. *)
Lemma rel_log k a b : 0 < b -> rel k a b -> Rabs (ln a - ln b) <= k.
Proof.
  intros pos [t [bound ->]]. rewrite ln_mult, ln_exp; [|easy|apply exp_pos].
  now replace (ln b + t - ln b) with t by ring.
Qed.

Lemma rel_of_bounds k a b : 0 < b -> b * exp (- k) <= a <= b * exp k -> rel k a b.
Proof.
  intros pos [low high]. pose proof (exp_pos (- k)). pose proof (exp_pos k). assert (0 < a) by nra. exists (ln (a / b)).
  assert (0 < a / b) by (apply Rdiv_lt_0_compat; lra). assert (exp (- k) <= a / b <= exp k).
  { split; apply Rmult_le_reg_r with b; try easy; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. } split.
  - apply Rabs_le. split.
    + rewrite <- (ln_exp (- k)). apply ln_le; lra.
    + rewrite <- (ln_exp k). apply ln_le; lra.
  - rewrite exp_ln by easy. field. lra.
Qed.

Lemma rel_bounds k a b : 0 <= b -> rel k a b -> b * exp (- k) <= a <= b * exp k.
Proof.
  intros pos [t [bound ->]]. apply abs_between in bound. split; apply Rmult_le_compat_l; try easy; apply exp_le; lra.
Qed.

(** ** Against gamma_k *)

Definition gamma (u : R) (k : nat) : R := INR k * u / (1 - INR k * u).

(** (1 - u)^k >= 1 - k u. *)
Lemma bernoulli u k : 0 <= u <= 1 -> 1 - INR k * u <= (1 - u) ^ k.
Proof.
  intros range. induction k as [|k IH]; [simpl; lra|]. assert (0 <= (1 - u) ^ k <= 1).
  { split; [apply pow_le; lra|]. pose proof (pow_incr (1 - u) 1 k ltac:(lra)) as up. now rewrite pow1 in up. }
  rewrite S_INR. simpl. nra.
Qed.

Theorem expm1_lambda_gamma u k : 0 <= u < 1 -> INR k * u < 1 -> exp (INR k * log_unit u) - 1 <= gamma u k.
Proof.
  intros range short. assert (power : exp (INR k * log_unit u) = / (1 - u) ^ k).
  { unfold log_unit. replace (INR k * - ln (1 - u)) with (- (INR k * ln (1 - u))) by ring. rewrite exp_Ropp. f_equal.
    rewrite <- (exp_ln (1 - u)) at 2 by lra. induction k as [|k IH]; [simpl; rewrite Rmult_0_l; apply exp_0|].
    rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus. simpl. rewrite IH; [ring|]. rewrite S_INR in short. nra. }
  rewrite power. pose proof (bernoulli u k ltac:(lra)). unfold gamma.
  replace (INR k * u / (1 - INR k * u)) with (/ (1 - INR k * u) - 1) by (field; lra).
  apply Rplus_le_compat_r, Rinv_le_contravar; lra.
Qed.

(** ** Quantities with a sign, and what underflow takes from them

    [near k Y G L a b]: b is a sum of terms of total magnitude at most Y, a the sum of those terms each times its own
    e^t; G is the total magnitude after the largest known t of each term, e^k what all terms share on top of that, and
    L what was lost absolutely. *)

Definition near (k Y G L computed exact : R) : Prop :=
  Rabs exact <= Y /\ Y <= G /\ Rabs (computed - exact) <= exp k * G - Y + L.

Lemma near_weaken k k' Y G L L' a b : k <= k' -> L <= L' -> near k Y G L a b -> near k' Y G L' a b.
Proof.
  intros lek leL [mag [wide err]]. repeat split; try easy. pose proof (exp_le k k' lek). pose proof (Rabs_pos b). nra.
Qed.

Lemma near_magnitude k Y G L a b : near k Y G L a b -> Rabs a <= exp k * G + L.
Proof. intros [mag [wide err]]. replace a with (b + (a - b)) by ring. pose proof (Rabs_triang b (a - b)). lra. Qed.

Lemma near_plus k Y G Y' G' L L' a b c d :
  near k Y G L a b -> near k Y' G' L' c d -> near k (Y + Y') (G + G') (L + L') (a + c) (b + d).
Proof.
  intros [m1 [w1 e1]] [m2 [w2 e2]]. repeat split; [|lra|].
  - triangle. lra.
  - replace (a + c - (b + d)) with ((a - b) + (c - d)) by ring. triangle. lra.
Qed.

Lemma near_add_loss k Y G L a b e om : Rabs e <= om -> near k Y G L a b -> near k Y G (L + om) (a + e) b.
Proof.
  intros be [mag [wide err]]. repeat split; try easy. replace (a + e - b) with ((a - b) + e) by ring. triangle. lra.
Qed.

(** A factor f e^t, f >= 0 exact, |t| <= w + h: w belongs to these terms alone, h is shared. *)
Lemma near_factor k w h Y G L a b f t :
  Rabs t <= w + h -> 0 <= w -> 0 <= f -> near k Y G L a b ->
  near (k + h) (f * Y) (f * exp w * G) (f * exp (w + h) * L) (a * (f * exp t)) (f * b).
Proof.
  intros bt hw hf [mag [wide err]]. assert (grow : 1 <= exp w) by now apply exp_at_least_one.
  assert (up : exp t <= exp (w + h)) by (apply exp_le; apply abs_between in bt; lra).
  pose proof (expm1_abs t (w + h) bt) as bm. pose proof (exp_pos t). pose proof (Rabs_pos b).
  pose proof (Rabs_pos (a - b)). pose proof (Rabs_pos (exp t - 1)). repeat split.
  - rewrite Rabs_mult, (Rabs_right f) by lra. now apply Rmult_le_compat_l.
  - rewrite Rmult_assoc. apply Rmult_le_compat_l; [easy|]. nra.
  - replace (a * (f * exp t) - f * b) with (f * ((a - b) * exp t + b * (exp t - 1))) by ring.
    rewrite Rabs_mult, (Rabs_right f) by lra.
    replace (exp (k + h) * (f * exp w * G) - f * Y + f * exp (w + h) * L)
      with (f * (exp (w + h) * (exp k * G - Y + L) + (exp (w + h) - 1) * Y))
      by (rewrite !exp_plus; ring).
    apply Rmult_le_compat_l; [easy|]. triangle. rewrite !Rabs_mult, (Rabs_right (exp t)) by lra. apply Rplus_le_compat.
    + rewrite (Rmult_comm (exp (w + h))). apply Rmult_le_compat; lra.
    + rewrite Rmult_comm. apply Rmult_le_compat; lra.
Qed.

(** One more rounding, and what it loses. *)
Lemma near_rounding k h Y G L om a b t e :
  Rabs t <= h -> Rabs e <= om -> near k Y G L a b ->
  near (k + h) Y G (exp h * L + om) (a * exp t + e) b.
Proof.
  intros bt be n. apply near_add_loss; [easy|].
  pose proof (near_factor k 0 h Y G L a b 1 t ltac:(lra) ltac:(lra) ltac:(lra) n) as scaled.
  now rewrite exp_0, Rplus_0_l, !Rmult_1_l in scaled.
Qed.
