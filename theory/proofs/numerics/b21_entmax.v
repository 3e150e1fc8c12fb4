(** * B21: entmax of alpha = 1.5, p_j = max(x_j / 2 - tau, 0)^2 with tau such that sum p = 1, as a kernel computes it.

    d = (m - x) / 2, off by e^(+-rho) and a; a prefix of k items with the mean M of d and Q of d^2; sums by any tree of
    height at most H. In the notation of [mean_error], [square_error], [radicand_error], [root_error]:

    Main results
    - [b21_half_deviation]  d: rho as of D, a = e^lambda (half of D's reading + 2 omega_m) + omega_a
    - [b21_mean], [b21_square]   |M_hat - M| <= [mean_error], |Q_hat - Q| <= [square_error]
    - [b21_radicand]        1/k - V in three forms errs by at most [radicand_error]
    - [b21_root]            |t_hat - t_k| <= [prefix_root_error], t_k = M + sqrt(max(1/k - V, 0))
    - [b21_within]          [root_within], of the whole support, is no less than that of its parts
    - [b21_inside]          a kernel leaves out no item below top - [root_within] - d's own error
    - [b21_supports]        nor does it come to a prefix behind one whose next item is beyond both roots and their errors
    - [b21_difference]      max(t_hat - d_hat, 0) errs by at most [difference_error], or is 0 where d > top
    - [b21_entmax]          its square behind the output's rounding

    Source: docs/tolerances/entmax.md; EntmaxThreshold in numerics/rounding_entmax.cpp. Not covered: a variance of two
    passes; a support by counting the items that meet the condition; what 1/k loses where it underflows. *)

From Coq Require Import Reals List Permutation Sorted Lra Lia Psatz.
From softcheck Require Import softmax.
From softcheck.floating_point Require Import relative_error standard_model.
From softcheck.numerics Require Import score_error b5_logsumexp added_terms added_positive projected_row b20_sparsemax entmax_roots.
Import ListNotations.
Local Open Scope R_scope.

(** ** Half of a deviation *)

Section HalfDeviation.
  Context (M : arithmetic) (P : logit_reading).
  Hypothesis good : sound M.
  Hypothesis good_reading : sound_reading P.
  Notation wm := (product_floor M).

  (** Halving is exact but for underflow; before the subtraction or after it. *)
  Inductive computed_half_deviation (m x d : R) : Prop :=
  | halved_deviation D : computed_deviation M P m x D -> Rabs (d - D / 2) <= wm -> computed_half_deviation m x d
  | deviation_of_halves m' x' m2 x2 :
      read_logit P m m' -> read_logit P x x' -> Rabs (m2 - m' / 2) <= wm -> Rabs (x2 - x' / 2) <= wm ->
      computed_sum M (m2 - x2) d -> computed_half_deviation m x d.

  Definition half_loss (m : R) : R := exp (unit M) * (read_error P m / 2 + 2 * wm) + sum_floor M.

  Lemma half_loss_nonneg m : 0 <= half_loss m.
  Proof using good good_reading.
    unfold half_loss. pose proof (read_error_nonneg P good_reading m). unfold sound in good.
    assert (0 <= exp (unit M) * (read_error P m / 2 + 2 * wm)) by (apply Rmult_le_pos; [left; apply exp_pos|lra]). lra.
  Qed.

  Theorem b21_half_deviation m x d :
    x <= m -> computed_half_deviation m x d -> approximates (deviation_log M P) (half_loss m) ((m - x) / 2) d.
  Proof using good good_reading.
    intros le form. pose proof (read_error_nonneg P good_reading m) as c0. pose proof (unit_nonneg M good) as fl.
    assert (fm : 0 <= wm) by (unfold sound in good; lra). assert (fa : 0 <= sum_floor M) by (unfold sound in good; lra).
    pose proof (exp_at_least_one (unit M) fl) as E1. unfold half_loss.
    destruct form as [D dev half|m' x' m2 x2 rm rx hm hx [t [e [bt [be ->]]]]].
    - destruct (read_deviation M P good good_reading m x D le dev) as [t [e [bt [be eq]]]].
      exists t, (e / 2 + (d - D / 2)). split; [easy|]. split; [|rewrite eq; field].
      eapply Rle_trans; [apply Rabs_triang|]. unfold Rdiv at 1. rewrite Rabs_mult, (Rabs_right (/ 2)) by lra.
      unfold deviation_loss in be. assert (1 * wm <= exp (unit M) * wm) by (apply Rmult_le_compat_r; lra). lra.
    - destruct good_reading as [[r0 r1] l0]. unfold read_logit in rm, rx.
      assert (size_x : Rabs x <= Rabs m + (m - x)).
      { replace x with (m + - (m - x)) at 1 by ring. eapply Rle_trans; [apply Rabs_triang|].
        rewrite Rabs_Ropp, (Rabs_right (m - x)); lra. }
      assert (near : Rabs (m2 - x2 - (m - x) / 2) <= read_roundoff P * ((m - x) / 2) + (read_error P m / 2 + 2 * wm)).
      { replace (m2 - x2 - (m - x) / 2) with ((m2 - m' / 2) - (x2 - x' / 2) + ((m' - m) - (x' - x)) * / 2) by field.
        apply abs_between in hm. apply abs_between in hx. apply abs_between in rm. apply abs_between in rx.
        unfold read_error in *.
        assert (read_roundoff P * Rabs x <= read_roundoff P * (Rabs m + (m - x))) by now apply Rmult_le_compat_l.
        apply Rabs_le. lra. }
      destruct (split_error (read_roundoff P) (read_error P m / 2 + 2 * wm) ((m - x) / 2) _ r0 ltac:(lra) ltac:(lra) near) as [d0 [c [b0 [bc eq]]]].
      destruct (one_rounding _ d0 (conj r0 r1) b0) as [t0 [bt0 fac]]. rewrite fac in eq. rewrite eq.
      exists (t0 + t), (c * exp t + e). repeat split.
      + unfold deviation_log. eapply Rle_trans; [apply Rabs_triang|]. lra.
      + eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [|easy].
        rewrite Rabs_mult, (Rabs_right (exp t)), Rmult_comm by (left; apply exp_pos).
        apply Rmult_le_compat; [left; apply exp_pos|apply Rabs_pos| |easy]. apply exp_le. apply abs_between in bt. lra.
      + rewrite exp_plus. ring.
  Qed.
End HalfDeviation.

(** Square roots of what errs by e. *)
Definition sqrt_error (s e : R) : R := if Rlt_dec 0 s then Rmin (e / s) (sqrt e) else sqrt e.

Lemma sqrt_close a b e : 0 <= a -> 0 <= b -> Rabs (a - b) <= e -> Rabs (sqrt a - sqrt b) <= sqrt_error (sqrt b) e.
Proof.
  intros ha hb close. pose proof (sqrt_pos a) as pa. pose proof (sqrt_pos b) as pb. pose proof (Rabs_pos (a - b)).
  assert (eq : a - b = (sqrt a - sqrt b) * (sqrt a + sqrt b)).
  { rewrite <- (sqrt_sqrt a ha) at 1. rewrite <- (sqrt_sqrt b hb) at 1. ring. }
  assert (root : Rabs (sqrt a - sqrt b) <= sqrt e).
  { apply Rsqr_incr_0_var; [|apply sqrt_pos]. rewrite Rsqr_sqrt by lra. unfold Rsqr.
    rewrite eq, Rabs_mult, (Rabs_right (sqrt a + sqrt b)) in close by lra.
    assert (Rabs (sqrt a - sqrt b) <= sqrt a + sqrt b) by (apply Rabs_le; lra).
    pose proof (Rabs_pos (sqrt a - sqrt b)).
    assert (Rabs (sqrt a - sqrt b) * Rabs (sqrt a - sqrt b) <= Rabs (sqrt a - sqrt b) * (sqrt a + sqrt b))
      by (apply Rmult_le_compat_l; lra). lra. }
  unfold sqrt_error. destruct (Rlt_dec 0 (sqrt b)) as [pos|zero]; [|easy]. apply Rmin_glb; [|easy].
  apply Rmult_le_reg_r with (sqrt b); [easy|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  rewrite eq, Rabs_mult, (Rabs_right (sqrt a + sqrt b)) in close by lra.
  pose proof (Rabs_pos (sqrt a - sqrt b)).
  assert (Rabs (sqrt a - sqrt b) * sqrt b <= Rabs (sqrt a - sqrt b) * (sqrt a + sqrt b)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Section Roots.
  Context (M : arithmetic) (rho a : R) (H : nat).
  Hypothesis good : sound M.
  Hypothesis hrho : 0 <= rho.
  Hypothesis ha : 0 <= a.
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).

  Definition mean_error (mean : R) : R :=
    (exp (rho + (INR H + 3) * lambda) - 1) * mean + exp ((INR H + 3) * lambda) * (a + wa) + wm.
  Definition square_error (mean square : R) : R :=
    (exp (2 * rho + (INR H + 4) * lambda) - 1) * square
    + exp ((INR H + 4) * lambda) * (2 * (exp rho * (a * mean)) + a ^ 2 + wa + wm) + wm.
  (** width is 1/k + V. *)
  Definition radicand_error (mean square width : R) : R :=
    (exp (6 * lambda) - 1) * (width + square)
    + exp (6 * lambda) * (square_error mean square + mean_error mean * (2 * mean + mean_error mean) + 2 * wa + 3 * wm).
  (** shift is what the square root makes of the radicand's error. *)
  Definition root_error (mean deviation shift t : R) : R :=
    (exp lambda - 1) * t
    + exp lambda * (mean_error mean + (exp (2 * lambda) - 1) * deviation + exp (2 * lambda) * shift + wm) + wa.

  Local Ltac facts :=
    pose proof (unit_nonneg M good) as fl; assert (fa : 0 <= wa) by (unfold sound in good; lra);
    assert (fm : 0 <= wm) by (unfold sound in good; lra); pose proof (pos_INR H) as fH;
    assert (H0 : 0 <= INR H * lambda) by (now apply Rmult_le_pos).

  (** A sum over k: two roundings of k and 1/k, one of the quotient. *)
  Definition computed_quotient (k s q : R) : Prop := exists b, Rabs b <= 2 * lambda /\ computed_product M (s / k * exp b) q.

  Lemma quotient_close k s q S A L :
    1 <= k -> computed_quotient k s q -> 0 <= S -> 0 <= A -> Rabs (s - k * S) <= (exp A - 1) * (k * S) + k * L ->
    Rabs (q - S) <= (exp (A + 3 * lambda) - 1) * S + exp (3 * lambda) * L + wm.
  Proof using good.
    pose proof (unit_nonneg M good) as fl. intros hk [b [bb [t [e [bt [be ->]]]]]] hS hA close. apply abs_between in bb. apply abs_between in bt.
    set (T := b + t). assert (bT : Rabs T <= 3 * lambda) by (apply Rabs_le; unfold T; lra).
    replace (s / k * exp b * exp t + e - S) with ((s / k - S) * exp T + (exp T - 1) * S + e)
      by (unfold T; rewrite exp_plus; ring).
    assert (per : Rabs (s / k - S) <= (exp A - 1) * S + L).
    { apply Rmult_le_reg_l with k; [lra|]. rewrite <- (Rabs_right k) at 1 by lra. rewrite <- Rabs_mult.
      replace (k * (s / k - S)) with (s - k * S) by (field; lra). lra. }
    pose proof (expm1_abs T _ bT) as gT. assert (eT : exp T <= exp (3 * lambda)) by (apply exp_le; apply abs_between in bT; lra).
    pose proof (exp_pos T). pose proof (Rabs_pos (s / k - S)).
    assert (p1 : Rabs ((s / k - S) * exp T) <= ((exp A - 1) * S + L) * exp (3 * lambda)).
    { rewrite Rabs_mult, (Rabs_right (exp T)) by lra. apply Rmult_le_compat; lra. }
    assert (p2 : Rabs ((exp T - 1) * S) <= (exp (3 * lambda) - 1) * S).
    { rewrite Rabs_mult, (Rabs_right S) by lra. now apply Rmult_le_compat_r. }
    pose proof (Rabs_triang ((s / k - S) * exp T + (exp T - 1) * S) e).
    pose proof (Rabs_triang ((s / k - S) * exp T) ((exp T - 1) * S)). rewrite exp_plus. lra.
  Qed.

  (** ** Mean and mean square *)

  Context (ks : list R).
  Hypothesis some : ks <> [].
  Hypothesis nonneg : Forall (fun x => 0 <= x) ks.
  Notation k := (size ks).

  Definition computed_mean (m : R) : Prop :=
    exists s h, added M rho a ks s h /\ (h <= H)%nat /\ computed_quotient k s m.

  (** Each square is of a d as it is computed; of a product and its sum a multiply-add makes fewer roundings. *)
  Definition computed_square (q : R) : Prop :=
    exists ds s h, Forall2 (approximates rho a) ks ds /\ added M lambda wm (squares ds) s h /\ (h <= H)%nat /\ computed_quotient k s q.

  Lemma magnitude_nonneg l : Forall (fun x => 0 <= x) l -> magnitude l = sum l.
  Proof using.
    intros all. unfold magnitude. rewrite <- (map_id l) at 2. apply sum_map_ext. intros x inx.
    apply Rabs_right, Rle_ge. now apply (proj1 (Forall_forall _ _) all).
  Qed.

  Lemma mean_nonneg : 0 <= prefix_mean ks.
  Proof using some nonneg.
    apply Rmult_le_pos; [now apply sum_nonneg|left; apply Rinv_0_lt_compat; now apply size_pos].
  Qed.

  Lemma squares_nonneg l : Forall (fun x => 0 <= x) (squares l).
  Proof using. apply Forall_forall. intros x inx. apply in_map_iff in inx as [y [<- _]]. apply pow2_ge_0. Qed.

  Lemma square_nonneg : 0 <= prefix_square ks.
  Proof using some.
    apply Rmult_le_pos; [apply sum_nonneg, squares_nonneg|left; apply Rinv_0_lt_compat; now apply size_pos].
  Qed.

  Theorem b21_mean m : computed_mean m -> Rabs (m - prefix_mean ks) <= mean_error (prefix_mean ks).
  Proof using good hrho ha some nonneg.
    facts. intros [s [h [tree [low quot]]]]. pose proof (size_at_least_one ks some) as k1. pose proof mean_nonneg as m0.
    pose proof (added_error M good rho a ks s h hrho ha tree) as close. unfold added_rounding, added_loss in close.
    rewrite (magnitude_nonneg ks nonneg) in close. destruct (means ks some) as [sum_is _]. rewrite <- sum_is in close.
    apply le_INR in low. assert (hl : INR h * lambda <= INR H * lambda) by now apply Rmult_le_compat_r.
    pose proof (pos_INR h). assert (h0 : 0 <= INR h * lambda) by now apply Rmult_le_pos.
    set (L := exp (INR H * lambda) * (a + wa)).
    assert (wide : Rabs (s - k * prefix_mean ks) <= (exp (rho + INR H * lambda) - 1) * (k * prefix_mean ks) + k * L).
    { eapply Rle_trans; [apply close|]. apply Rplus_le_compat.
      - apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|]. pose proof (exp_le (rho + INR h * lambda) (rho + INR H * lambda)). lra.
      - unfold L. replace (k * (exp (INR H * lambda) * (a + wa))) with (exp (INR H * lambda) * (k * a + k * wa)) by ring.
        assert (0 <= k * a) by (apply Rmult_le_pos; lra). assert (0 <= (k - 1) * wa) by (apply Rmult_le_pos; lra).
        apply Rmult_le_compat; [left; apply exp_pos|lra|now apply exp_le|lra]. }
    pose proof (quotient_close k s m (prefix_mean ks) (rho + INR H * lambda) L k1 quot m0 ltac:(lra) wide) as bound.
    unfold mean_error. replace ((INR H + 3) * lambda) with (INR H * lambda + 3 * lambda) by ring.
    replace (rho + (INR H * lambda + 3 * lambda)) with (rho + INR H * lambda + 3 * lambda) by ring.
    unfold L in bound. rewrite (exp_plus (INR H * lambda)). lra.
  Qed.

  (** How far a computed square is from the exact one. *)
  Definition square_off (d : R) : R := (exp (2 * rho) - 1) * d ^ 2 + 2 * (exp rho * (a * d)) + a ^ 2.

  Lemma squares_close l ds :
    Forall (fun x => 0 <= x) l -> Forall2 (approximates rho a) l ds -> perturbed (squares ds) (squares l) (map square_off l).
  Proof using ha.
    intros all near. revert all. induction near as [|d y l ds [t [e [bt [be ->]]]] rest IH]; intros all; [constructor|].
    pose proof (Forall_inv all) as d0. cbn in d0. unfold squares. cbn [map]. constructor; [|apply IH; now apply Forall_inv_tail in all].
    replace ((d * exp t + e) ^ 2 - d ^ 2) with (d ^ 2 * (exp (2 * t) - 1) + 2 * (d * exp t * e) + e ^ 2)
      by (replace (2 * t) with (t + t) by ring; rewrite exp_plus; ring).
    apply abs_between in bt. pose proof (expm1_abs (2 * t) (2 * rho) ltac:(apply Rabs_le; lra)) as g.
    assert (p1 : Rabs (d ^ 2 * (exp (2 * t) - 1)) <= (exp (2 * rho) - 1) * d ^ 2).
    { rewrite Rabs_mult, (Rabs_right (d ^ 2)), Rmult_comm by (apply Rle_ge, pow2_ge_0).
      apply Rmult_le_compat_r; [apply pow2_ge_0|easy]. }
    assert (p2 : Rabs (2 * (d * exp t * e)) <= 2 * (exp rho * (a * d))).
    { rewrite !Rabs_mult, (Rabs_right 2), (Rabs_right d), (Rabs_right (exp t)) by (try lra; left; apply exp_pos).
      apply Rmult_le_compat_l; [lra|]. replace (exp rho * (a * d)) with (d * exp rho * a) by ring.
      assert (exp t <= exp rho) by (apply exp_le; lra). pose proof (exp_pos t).
      apply Rmult_le_compat; [apply Rmult_le_pos; lra|apply Rabs_pos|apply Rmult_le_compat_l; lra|easy]. }
    assert (p3 : Rabs (e ^ 2) <= a ^ 2).
    { rewrite Rabs_right by (apply Rle_ge, pow2_ge_0). apply abs_between in be. apply pow_maj_Rabs. apply Rabs_le. lra. }
    unfold square_off. pose proof (Rabs_triang (d ^ 2 * (exp (2 * t) - 1) + 2 * (d * exp t * e)) (e ^ 2)).
    pose proof (Rabs_triang (d ^ 2 * (exp (2 * t) - 1)) (2 * (d * exp t * e))). lra.
  Qed.

  Theorem b21_square q :
    computed_square q -> Rabs (q - prefix_square ks) <= square_error (prefix_mean ks) (prefix_square ks).
  Proof using good hrho ha some nonneg.
    facts. intros [ds [s [h [near [tree [low quot]]]]]]. pose proof (size_at_least_one ks some) as k1.
    pose proof mean_nonneg as m0. pose proof square_nonneg as q0.
    pose proof (perturbed_sum M good lambda wm _ _ _ s h fl fm (squares_close ks ds nonneg near) tree) as close.
    unfold perturbed_rounding, added_loss in close. rewrite (magnitude_nonneg _ (squares_nonneg ks)) in close.
    destruct (means ks some) as [sum_is square_is]. rewrite <- square_is in close.
    assert (offs : sum (map square_off ks) = (exp (2 * rho) - 1) * (k * prefix_square ks) + 2 * (exp rho * (a * (k * prefix_mean ks))) + k * a ^ 2).
    { unfold square_off. rewrite !sum_map_plus, sum_map_const, !sum_map_mult_l, map_id, square_is, sum_is. easy. }
    rewrite offs in close. assert (many : size (squares ks) = k) by apply size_map. rewrite many in close.
    apply le_INR in low. assert (hl : INR h * lambda <= INR H * lambda) by now apply Rmult_le_compat_r.
    pose proof (pos_INR h). assert (h0 : 0 <= INR h * lambda) by now apply Rmult_le_pos.
    set (Q := prefix_square ks) in *. set (m := prefix_mean ks) in *.
    set (X := 2 * (exp rho * (a * m)) + a ^ 2).
    assert (X0 : 0 <= X).
    { unfold X. assert (0 <= exp rho * (a * m)) by (apply Rmult_le_pos; [left; apply exp_pos|now apply Rmult_le_pos]).
      pose proof (pow2_ge_0 a). lra. }
    set (G := exp ((INR H + 1) * lambda)). set (L := G * (X + wa + wm)).
    assert (up : exp (lambda + INR h * lambda) <= G) by (apply exp_le; lra).
    assert (up2 : exp (INR h * lambda) <= G) by (apply exp_le; lra).
    assert (G1 : 1 <= G) by (apply exp_at_least_one; lra).
    assert (kQ : 0 <= k * Q) by (apply Rmult_le_pos; lra). assert (kX : 0 <= k * X) by (apply Rmult_le_pos; lra).
    assert (E2 : 1 <= exp (2 * rho)) by (apply exp_at_least_one; lra).
    assert (wide : Rabs (s - k * Q) <= (exp (2 * rho + (INR H + 1) * lambda) - 1) * (k * Q) + k * L).
    { eapply Rle_trans; [apply close|]. rewrite (exp_plus (2 * rho)). fold G. unfold L.
      replace (k * Q + ((exp (2 * rho) - 1) * (k * Q) + 2 * (exp rho * (a * (k * m))) + k * a ^ 2))
        with (exp (2 * rho) * (k * Q) + k * X) by (unfold X; ring).
      assert (exp (lambda + INR h * lambda) * (exp (2 * rho) * (k * Q) + k * X) <= G * (exp (2 * rho) * (k * Q) + k * X)).
      { apply Rmult_le_compat_r; [|easy]. assert (0 <= exp (2 * rho) * (k * Q)) by (apply Rmult_le_pos; lra). lra. }
      assert (0 <= (k - 1) * wa) by (apply Rmult_le_pos; lra). assert (0 <= k * wm) by (apply Rmult_le_pos; lra).
      assert (exp (INR h * lambda) * (k * wm + (k - 1) * wa) <= G * (k * wm + k * wa)).
      { apply Rmult_le_compat; [left; apply exp_pos|lra|easy|lra]. }
      lra. }
    pose proof (quotient_close k s q Q (2 * rho + (INR H + 1) * lambda) L k1 quot q0 ltac:(lra) wide) as bound.
    unfold square_error. fold X. 
    replace (2 * rho + (INR H + 4) * lambda) with (2 * rho + (INR H + 1) * lambda + 3 * lambda) by ring.
    replace ((INR H + 4) * lambda) with ((INR H + 1) * lambda + 3 * lambda) by ring.
    unfold L in bound. rewrite (exp_plus ((INR H + 1) * lambda)). fold G. lra.
  Qed.
End Roots.

(** ** 1/k - V *)

(** From Q_hat and M_hat; b what k is off by, i the rounding of its reciprocal. *)
Inductive computed_radicand (M : arithmetic) (k q m : R) : R -> Prop :=
| radicand_of_product b i p v w z r :
    Rabs b <= unit M -> Rabs i <= unit M -> computed_product M (m ^ 2) p -> computed_sum M (q - p) v ->
    computed_product M (k * exp b * v) w -> computed_sum M (1 - w) z -> computed_product M (z / (k * exp b) * exp i) r ->
    computed_radicand M k q m r
| radicand_of_variance b p v y r :
    Rabs b <= unit M -> computed_product M (m ^ 2) p -> computed_sum M (q - p) v ->
    computed_product M (1 / (k * exp b)) y -> computed_sum M (y - v) r -> computed_radicand M k q m r
| radicand_of_difference b p y z r :
    Rabs b <= unit M -> computed_product M (m ^ 2) p -> computed_product M (1 / (k * exp b)) y ->
    computed_sum M (q - y) z -> computed_sum M (p - z) r -> computed_radicand M k q m r.

Section Radicand.
  Context (M : arithmetic).
  Hypothesis good : sound M.
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).
  Notation F := (exp (6 * lambda) * (2 * wa + 3 * wm)).

  Lemma raised e w t : Rabs e <= w -> t <= 6 * lambda -> Rabs (e * exp t) <= w * exp (6 * lambda).
  Proof using.
    intros be ht. rewrite Rabs_mult, (Rabs_right (exp t)) by (left; apply exp_pos).
    apply Rmult_le_compat; [apply Rabs_pos|left; apply exp_pos|easy|now apply exp_le].
  Qed.

  Lemma five_losses e1 e2 e3 e4 e5 t1 t2 t3 t4 t5 :
    Rabs e1 <= wm -> Rabs e2 <= wa -> Rabs e3 <= wm -> Rabs e4 <= wa -> Rabs e5 <= wm ->
    t1 <= 6 * lambda -> t2 <= 6 * lambda -> t3 <= 6 * lambda -> t4 <= 6 * lambda -> t5 <= 6 * lambda ->
    Rabs (e1 * exp t1 + e2 * exp t2 + e3 * exp t3 + e4 * exp t4 + e5 * exp t5) <= F.
  Proof using.
    intros b1 b2 b3 b4 b5 h1 h2 h3 h4 h5. set (x1 := e1 * exp t1). set (x2 := e2 * exp t2). set (x3 := e3 * exp t3).
    set (x4 := e4 * exp t4). set (x5 := e5 * exp t5).
    pose proof (raised e1 wm t1 b1 h1 : Rabs x1 <= _). pose proof (raised e2 wa t2 b2 h2 : Rabs x2 <= _).
    pose proof (raised e3 wm t3 b3 h3 : Rabs x3 <= _). pose proof (raised e4 wa t4 b4 h4 : Rabs x4 <= _).
    pose proof (raised e5 wm t5 b5 h5 : Rabs x5 <= _).
    pose proof (Rabs_triang (x1 + x2 + x3 + x4) x5). pose proof (Rabs_triang (x1 + x2 + x3) x4).
    pose proof (Rabs_triang (x1 + x2) x3). pose proof (Rabs_triang x1 x2). lra.
  Qed.

  Context (k q m r : R).
  Hypothesis hk : 1 <= k.
  Hypothesis form : computed_radicand M k q m r.

  Lemma per_k e w : Rabs e <= w -> Rabs (e / k) <= w.
  Proof using hk.
    intros be. unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ k)) by (apply Rle_ge; left; apply Rinv_0_lt_compat; lra).
    assert (0 <= / k <= 1) by (split; [left; apply Rinv_0_lt_compat; lra|rewrite <- Rinv_1; apply Rinv_le_contravar; lra]).
    rewrite <- (Rmult_1_r w). apply Rmult_le_compat; try lra. apply Rabs_pos.
  Qed.

  (** Of two shapes: the variance, or its two parts one after the other. *)
  Lemma radicand_shape :
    (exists x b t e, Rabs x <= 5 * lambda /\ Rabs b <= 5 * lambda /\ Rabs t <= lambda /\ Rabs e <= F /\
       r = exp x / k - (q - m ^ 2 * exp t) * exp b + e) \/
    (exists x b c e, Rabs x <= 4 * lambda /\ Rabs b <= 2 * lambda /\ Rabs c <= 2 * lambda /\ Rabs e <= F /\
       r = exp x / k - q * exp b + m ^ 2 * exp c + e).
  Proof using good hk form.
    pose proof (unit_nonneg M good) as fl. assert (fa : 0 <= wa) by (unfold sound in good; lra).
    assert (fm : 0 <= wm) by (unfold sound in good; lra). assert (nothing : Rabs 0 <= wm) by (rewrite Rabs_R0; lra).
    destruct form as [b i p v w z r' bb bi [t1 [e1 [b1 [c1 ->]]]] [t2 [e2 [b2 [c2 ->]]]] [t3 [e3 [b3 [c3 ->]]]]
                        [t4 [e4 [b4 [c4 ->]]]] [t5 [e5 [b5 [c5 ->]]]]
                     |b p v y r' bb [t1 [e1 [b1 [c1 ->]]]] [t2 [e2 [b2 [c2 ->]]]] [t3 [e3 [b3 [c3 ->]]]] [t4 [e4 [b4 [c4 ->]]]]
                     |b p y z r' bb [t1 [e1 [b1 [c1 ->]]]] [t3 [e3 [b3 [c3 ->]]]] [t2 [e2 [b2 [c2 ->]]]] [t4 [e4 [b4 [c4 ->]]]]].
    - apply abs_between in bb. apply abs_between in bi. apply abs_between in b2. apply abs_between in b3.
      apply abs_between in b4. apply abs_between in b5. pose proof (per_k e3 wm c3) as k3. pose proof (per_k e4 wa c4) as k4. left.
      exists (t4 - b + i + t5), (t2 + t3 + t4 + i + t5), t1,
        (e1 * exp (t2 + t3 + t4 + i + t5) + - e2 * exp (t3 + t4 + i + t5) + - (e3 / k) * exp (t4 - b + i + t5)
         + e4 / k * exp (- b + i + t5) + e5 * exp 0).
      repeat split; try easy; try (apply Rabs_le; lra).
      + apply five_losses; rewrite ?Rabs_Ropp; try easy; lra.
      + unfold Rminus. rewrite !exp_plus, exp_0, !exp_Ropp. field. split; [apply Rgt_not_eq, exp_pos|lra].
    - apply abs_between in bb. apply abs_between in b2. apply abs_between in b3. apply abs_between in b4. left.
      exists (- b + t3 + t4), (t2 + t4), t1,
        (e1 * exp (t2 + t4) + - e2 * exp t4 + e3 * exp t4 + e4 * exp 0 + 0 * exp 0).
      repeat split; try easy; try (apply Rabs_le; lra).
      + apply five_losses; rewrite ?Rabs_Ropp; try easy; lra.
      + rewrite !exp_plus, exp_0, exp_Ropp. field. split; [apply Rgt_not_eq, exp_pos|lra].
    - apply abs_between in bb. apply abs_between in b1. apply abs_between in b2. apply abs_between in b3. apply abs_between in b4. right.
      exists (- b + t3 + t2 + t4), (t2 + t4), (t1 + t4),
        (e1 * exp t4 + - e2 * exp t4 + e3 * exp (t2 + t4) + e4 * exp 0 + 0 * exp 0).
      repeat split; try easy; try (apply Rabs_le; lra).
      + apply five_losses; rewrite ?Rabs_Ropp; try easy; lra.
      + rewrite !exp_plus, exp_0, exp_Ropp. field. split; [apply Rgt_not_eq, exp_pos|lra].
  Qed.

  Theorem b21_radicand mean square em eq :
    0 <= mean -> mean ^ 2 <= square -> Rabs (m - mean) <= em -> Rabs (q - square) <= eq ->
    Rabs (r - (/ k - (square - mean ^ 2)))
    <= (exp (6 * lambda) - 1) * (/ k + (square - mean ^ 2) + square)
       + exp (6 * lambda) * (eq + em * (2 * mean + em) + 2 * wa + 3 * wm).
  Proof using good hk form.
    intros m0 var hm hq. pose proof (unit_nonneg M good) as fl. set (V := square - mean ^ 2) in *. set (Q := square) in *.
    set (E := exp (6 * lambda)) in *. set (e2 := em * (2 * mean + em)). pose proof (pow2_ge_0 mean) as mm.
    assert (sq : Rabs (m ^ 2 - mean ^ 2) <= e2).
    { replace (m ^ 2 - mean ^ 2) with ((m - mean) * ((m - mean) + 2 * mean)) by ring. rewrite Rabs_mult. unfold e2.
      apply Rmult_le_compat; try apply Rabs_pos; [easy|]. eapply Rle_trans; [apply Rabs_triang|].
      rewrite (Rabs_right (2 * mean)) by lra. lra. }
    assert (e20 : 0 <= e2) by (pose proof (Rabs_pos (m ^ 2 - mean ^ 2)); lra).
    assert (eq0 : 0 <= eq) by (pose proof (Rabs_pos (q - Q)); lra).
    assert (ik : 0 < / k) by (apply Rinv_0_lt_compat; lra).
    assert (mono : forall j, j <= 6 * lambda -> exp j <= E) by (intros; now apply exp_le).
    assert (first : forall x j, Rabs x <= j -> j <= 6 * lambda -> Rabs (exp x / k - / k) <= (E - 1) * / k).
    { intros x j hx hj. replace (exp x / k - / k) with ((exp x - 1) * / k) by (field; lra).
      rewrite Rabs_mult, (Rabs_right (/ k)) by lra. apply Rmult_le_compat_r; [lra|].
      pose proof (expm1_abs x j hx). pose proof (mono j hj). lra. }
    destruct radicand_shape as [[x [b [t [e [bx [bb [bt [be ->]]]]]]]]|[x [b [c [e [bx [bb [bc [be ->]]]]]]]]].
    - fold E in be. pose proof (first x (5 * lambda) bx ltac:(lra)) as p1.
      set (D := q - m ^ 2 * exp t - V).
      assert (bD : Rabs D <= eq + e2 * exp lambda + (exp lambda - 1) * mean ^ 2).
      { unfold D, V. replace (q - m ^ 2 * exp t - (Q - mean ^ 2))
          with ((q - Q) + - ((m ^ 2 - mean ^ 2) * exp t) + - (mean ^ 2 * (exp t - 1))) by ring.
        assert (Rabs (- ((m ^ 2 - mean ^ 2) * exp t)) <= e2 * exp lambda).
        { rewrite Rabs_Ropp, Rabs_mult, (Rabs_right (exp t)) by (left; apply exp_pos).
          apply Rmult_le_compat; [apply Rabs_pos|left; apply exp_pos|easy|]. apply exp_le. apply abs_between in bt. lra. }
        assert (Rabs (- (mean ^ 2 * (exp t - 1))) <= (exp lambda - 1) * mean ^ 2).
        { rewrite Rabs_Ropp, Rabs_mult, (Rabs_right (mean ^ 2)), Rmult_comm by lra. apply Rmult_le_compat_r; [lra|now apply expm1_abs]. }
        pose proof (Rabs_triang (q - Q + - ((m ^ 2 - mean ^ 2) * exp t)) (- (mean ^ 2 * (exp t - 1)))).
        pose proof (Rabs_triang (q - Q) (- ((m ^ 2 - mean ^ 2) * exp t))). lra. }
      replace (exp x / k - (q - m ^ 2 * exp t) * exp b + e - (/ k - V))
        with ((exp x / k - / k) + - (D * exp b) + - (V * (exp b - 1)) + e) by (unfold D; ring).
      set (G := exp (5 * lambda)). assert (GE : G * exp lambda = E) by (unfold G, E; rewrite <- exp_plus; f_equal; ring).
      assert (G1 : 1 <= G) by (apply exp_at_least_one; lra). pose proof (exp_at_least_one lambda fl) as L1.
      assert (p2 : Rabs (- (D * exp b)) <= (eq + e2 * exp lambda + (exp lambda - 1) * mean ^ 2) * G).
      { rewrite Rabs_Ropp, Rabs_mult, (Rabs_right (exp b)) by (left; apply exp_pos).
        apply Rmult_le_compat; [apply Rabs_pos|left; apply exp_pos|easy|]. apply exp_le. apply abs_between in bb. lra. }
      assert (p3 : Rabs (- (V * (exp b - 1))) <= (E - 1) * V).
      { rewrite Rabs_Ropp, Rabs_mult, (Rabs_right V), Rmult_comm by (unfold V; lra). apply Rmult_le_compat_r; [unfold V; lra|].
        pose proof (expm1_abs b _ bb). pose proof (mono (5 * lambda) ltac:(lra)). lra. }
      assert (GleE : G <= E) by (apply mono; lra).
      assert (p4 : eq * G <= eq * E) by now apply Rmult_le_compat_l.
      assert (p5 : (exp lambda - 1) * mean ^ 2 * G <= (E - 1) * Q).
      { replace ((exp lambda - 1) * mean ^ 2 * G) with ((E - G) * mean ^ 2) by (rewrite <- GE; ring).
        apply Rmult_le_compat; lra. }
      replace (e2 * exp lambda) with (exp lambda * e2) in p2 by ring.
      assert (p6 : exp lambda * e2 * G = E * e2) by (rewrite <- GE; ring).
      pose proof (Rabs_triang (exp x / k - / k + - (D * exp b) + - (V * (exp b - 1))) e).
      pose proof (Rabs_triang (exp x / k - / k + - (D * exp b)) (- (V * (exp b - 1)))).
      pose proof (Rabs_triang (exp x / k - / k) (- (D * exp b))). lra.
    - fold E in be. pose proof (first x (4 * lambda) bx ltac:(lra)) as p1.
      replace (exp x / k - q * exp b + m ^ 2 * exp c + e - (/ k - V))
        with ((exp x / k - / k) + - ((q - Q) * exp b) + - (Q * (exp b - 1)) + (m ^ 2 - mean ^ 2) * exp c + mean ^ 2 * (exp c - 1) + e)
        by (unfold V; ring).
      set (z := exp (2 * lambda)). assert (z1 : 1 <= z) by (apply exp_at_least_one; lra).
      assert (z3 : E = z * z * z) by (unfold E, z; rewrite <- !exp_plus; f_equal; ring).
      assert (zE : z <= E) by (apply mono; lra).
      assert (twice : 2 * (z - 1) <= E - 1) by (rewrite z3; nra).
      assert (p2 : Rabs (- ((q - Q) * exp b)) <= eq * E).
      { rewrite Rabs_Ropp, Rabs_mult, (Rabs_right (exp b)) by (left; apply exp_pos).
        apply Rmult_le_compat; [apply Rabs_pos|left; apply exp_pos|easy|]. apply mono. apply abs_between in bb. lra. }
      assert (p3 : Rabs (- (Q * (exp b - 1))) <= (z - 1) * Q).
      { rewrite Rabs_Ropp, Rabs_mult, (Rabs_right Q), Rmult_comm by lra. apply Rmult_le_compat_r; [lra|now apply expm1_abs]. }
      assert (p4 : Rabs ((m ^ 2 - mean ^ 2) * exp c) <= e2 * E).
      { rewrite Rabs_mult, (Rabs_right (exp c)) by (left; apply exp_pos).
        apply Rmult_le_compat; [apply Rabs_pos|left; apply exp_pos|easy|]. apply mono. apply abs_between in bc. lra. }
      assert (p5 : Rabs (mean ^ 2 * (exp c - 1)) <= (z - 1) * Q).
      { rewrite Rabs_mult, (Rabs_right (mean ^ 2)), Rmult_comm by lra. pose proof (expm1_abs c _ bc) as g. fold z in g.
        apply Rmult_le_compat; [apply Rabs_pos|lra|easy|lra]. }
      assert (p6 : 2 * (z - 1) * Q <= (E - 1) * Q) by (apply Rmult_le_compat_r; lra).
      assert (p7 : 0 <= (E - 1) * V) by (apply Rmult_le_pos; unfold V; lra).
      set (y1 := exp x / k - / k) in *. set (y2 := - ((q - Q) * exp b)) in *. set (y3 := - (Q * (exp b - 1))) in *.
      set (y4 := (m ^ 2 - mean ^ 2) * exp c) in *. set (y5 := mean ^ 2 * (exp c - 1)) in *.
      pose proof (Rabs_triang (y1 + y2 + y3 + y4 + y5) e). pose proof (Rabs_triang (y1 + y2 + y3 + y4) y5).
      pose proof (Rabs_triang (y1 + y2 + y3) y4). pose proof (Rabs_triang (y1 + y2) y3). pose proof (Rabs_triang y1 y2). lra.
  Qed.
End Radicand.
