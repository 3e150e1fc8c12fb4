(** * B21: entmax of alpha = 1.5, p_j = max(x_j / 2 - tau, 0)^2 with tau such that sum p = 1, as a kernel computes it.

    d = (m - x) / 2, off by e^(+-rho) and a; a prefix of k items with the mean M of d and Q of d^2; sums by any tree of
    height at most H. In the notation of [mean_error], [square_error], [radicand_error], [root_error]:

    Main results
    - [b21_half_deviation]  d: rho as of D, a = e^lambda (half of D's reading + 2 omega_m) + omega_a
    - [b21_mean], [b21_square]   |M_hat - M| <= [mean_error], |Q_hat - Q| <= [square_error]
    - [b21_radicand]        1/k - V in three forms errs by at most [radicand_error]
    - [b21_root]            |t_hat - t_k| <= [prefix_root_error], t_k = M + sqrt(max(1/k - V, 0))
    - [b21_within]          the bound [root_within] of the whole support is no less than the root's error of each of its parts
    - [b21_inside]          a kernel leaves out no item below top - [root_within] - d's own error
    - [b21_supports]        so it keeps at least the items below that, and comes to no prefix behind one whose next item is
                            beyond both roots and their errors; the prefix that it ends with is one that may end
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

(** ** The root of a prefix *)

Section PrefixRoot.
  Context (M : arithmetic) (rho a : R) (H : nat).
  Hypothesis good : sound M.
  Hypothesis hrho : 0 <= rho.
  Hypothesis ha : 0 <= a.
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).

  (** M + sqrt: where the radicand is negative, of 0; two roundings of a square root. *)
  Definition computed_root (ks : list R) (t : R) : Prop :=
    exists m m2 q r b e, computed_mean M rho a H ks m /\ computed_mean M rho a H ks m2 /\ computed_square M rho a H ks q /\
      computed_radicand M (size ks) q m2 r /\ Rabs b <= 2 * lambda /\ Rabs e <= wm /\
      computed_sum M (m + (sqrt (Rmax r 0) * exp b + e)) t.

  Definition prefix_radicand_error (ks : list R) : R :=
    radicand_error M rho a H (prefix_mean ks) (prefix_square ks) (/ size ks + variance_of ks).
  Definition prefix_root_error (ks : list R) : R :=
    root_error M rho a H (prefix_mean ks) (spread ks) (sqrt_error (spread ks) (prefix_radicand_error ks)) (root ks).

  Lemma clamped x y : Rabs (Rmax x 0 - Rmax y 0) <= Rabs (x - y).
  Proof using.
    pose proof (Rle_abs (x - y)). pose proof (Rle_abs (- (x - y))) as other. rewrite Rabs_Ropp in other.
    unfold Rmax. destruct (Rle_dec x 0), (Rle_dec y 0); apply Rabs_le; lra.
  Qed.

  Theorem b21_root ks t :
    ks <> [] -> Forall (fun x => 0 <= x) ks -> computed_root ks t -> Rabs (t - root ks) <= prefix_root_error ks.
  Proof using good hrho ha.
    intros some nonneg [m [m2 [q [r [b [e [cm [cm2 [cq [cr [bb [be [t1 [e1 [bt [be1 ->]]]]]]]]]]]]]]]].
    pose proof (unit_nonneg M good) as fl. pose proof (b21_mean M rho a H good hrho ha ks some nonneg m cm) as hm.
    pose proof (b21_mean M rho a H good hrho ha ks some nonneg m2 cm2) as hm2.
    pose proof (b21_square M rho a H good hrho ha ks some nonneg q cq) as hq.
    pose proof (variance_nonneg ks some) as var. pose proof (size_at_least_one ks some) as k1.
    pose proof (mean_nonneg ks some nonneg) as mean0. unfold variance_of in var.
    assert (order : prefix_mean ks ^ 2 <= prefix_square ks) by lra.
    pose proof (b21_radicand M good (size ks) q m2 r k1 cr _ _ _ _ mean0 order hm2 hq) as hr.
    set (Em := mean_error M rho a H (prefix_mean ks)) in *. set (R := prefix_radicand_error ks).
    assert (close : Rabs (r - radicand ks) <= R) by exact hr.
    pose proof (sqrt_close (Rmax r 0) (Rmax (radicand ks) 0) R (Rmax_r _ _) (Rmax_r _ _)
                  (Rle_trans _ _ _ (clamped r (radicand ks)) close)) as hs.
    fold (spread ks) in hs. unfold prefix_root_error, root_error. fold Em R. set (S := sqrt_error (spread ks) R) in *.
    pose proof (spread_nonneg ks) as s0. set (s := sqrt (Rmax r 0)) in *.
    assert (inner : Rabs (s * exp b + e - spread ks) <= (exp (2 * lambda) - 1) * spread ks + exp (2 * lambda) * S + wm).
    { replace (s * exp b + e - spread ks) with ((exp b - 1) * spread ks + (s - spread ks) * exp b + e) by ring.
      assert (Rabs ((exp b - 1) * spread ks) <= (exp (2 * lambda) - 1) * spread ks).
      { rewrite Rabs_mult, (Rabs_right (spread ks)) by lra. apply Rmult_le_compat_r; [lra|now apply expm1_abs]. }
      assert (Rabs ((s - spread ks) * exp b) <= S * exp (2 * lambda)).
      { rewrite Rabs_mult, (Rabs_right (exp b)) by (left; apply exp_pos).
        apply Rmult_le_compat; [apply Rabs_pos|left; apply exp_pos|easy|]. apply exp_le. apply abs_between in bb. lra. }
      pose proof (Rabs_triang ((exp b - 1) * spread ks + (s - spread ks) * exp b) e).
      pose proof (Rabs_triang ((exp b - 1) * spread ks) ((s - spread ks) * exp b)). lra. }
    set (z := s * exp b + e) in *.
    replace ((m + z) * exp t1 + e1 - root ks)
      with ((exp t1 - 1) * root ks + ((m - prefix_mean ks) + (z - spread ks)) * exp t1 + e1) by (unfold root; ring).
    assert (t0 : 0 <= root ks) by (unfold root; lra).
    assert (p1 : Rabs ((exp t1 - 1) * root ks) <= (exp lambda - 1) * root ks).
    { rewrite Rabs_mult, (Rabs_right (root ks)) by lra. apply Rmult_le_compat_r; [lra|now apply expm1_abs]. }
    assert (p2 : Rabs (((m - prefix_mean ks) + (z - spread ks)) * exp t1)
                 <= (Em + ((exp (2 * lambda) - 1) * spread ks + exp (2 * lambda) * S + wm)) * exp lambda).
    { rewrite Rabs_mult, (Rabs_right (exp t1)) by (left; apply exp_pos).
      apply Rmult_le_compat; [apply Rabs_pos|left; apply exp_pos| |apply exp_le; apply abs_between in bt; lra].
      eapply Rle_trans; [apply Rabs_triang|]. lra. }
    pose proof (Rabs_triang ((exp t1 - 1) * root ks + ((m - prefix_mean ks) + (z - spread ks)) * exp t1) e1).
    pose proof (Rabs_triang ((exp t1 - 1) * root ks) (((m - prefix_mean ks) + (z - spread ks)) * exp t1)). lra.
  Qed.

  (** ** A bound of all parts of a support *)

  Definition root_within (support : list R) : R :=
    root_error M rho a H (prefix_mean support) 1
      (sqrt_error (spread support) (radicand_error M rho a H (prefix_mean support) (prefix_square support) 2)) 1.

  Lemma errors_grow m m' q q' w w' :
    0 <= m <= m' -> 0 <= q <= q' -> 0 <= w <= w' ->
    0 <= mean_error M rho a H m <= mean_error M rho a H m' /\
    0 <= radicand_error M rho a H m q w <= radicand_error M rho a H m' q' w'.
  Proof using good hrho ha.
    intros hm hq hw. pose proof (unit_nonneg M good) as fl. assert (fa : 0 <= wa) by (unfold sound in good; lra).
    assert (fm : 0 <= wm) by (unfold sound in good; lra). pose proof (pos_INR H) as fH.
    assert (H0 : 0 <= INR H * lambda) by now apply Rmult_le_pos.
    pose proof (exp_at_least_one (rho + (INR H + 3) * lambda) ltac:(lra)) as x1. set (E1 := exp (rho + (INR H + 3) * lambda)) in *.
    pose proof (exp_at_least_one ((INR H + 3) * lambda) ltac:(lra)) as x2. set (E2 := exp ((INR H + 3) * lambda)) in *.
    pose proof (exp_at_least_one (2 * rho + (INR H + 4) * lambda) ltac:(lra)) as x3. set (E3 := exp (2 * rho + (INR H + 4) * lambda)) in *.
    pose proof (exp_at_least_one ((INR H + 4) * lambda) ltac:(lra)) as x4. set (E4 := exp ((INR H + 4) * lambda)) in *.
    pose proof (exp_at_least_one (6 * lambda) ltac:(lra)) as x5. set (E5 := exp (6 * lambda)) in *.
    pose proof (exp_at_least_one rho hrho) as x6. set (E6 := exp rho) in *.
    assert (am : 0 <= a * m <= a * m') by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]).
    assert (em : 0 <= E6 * (a * m) <= E6 * (a * m')) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]).
    pose proof (pow2_ge_0 a) as a2.
    assert (mean : 0 <= mean_error M rho a H m <= mean_error M rho a H m').
    { unfold mean_error. fold E1 E2. assert (0 <= E2 * (a + wa)) by (apply Rmult_le_pos; lra).
      assert (0 <= (E1 - 1) * m <= (E1 - 1) * m') by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]). lra. }
    split; [easy|]. unfold radicand_error, square_error. fold E5 E3 E4 E6.
    set (e := mean_error M rho a H m) in *. set (e' := mean_error M rho a H m') in *.
    assert (p1 : 0 <= (E5 - 1) * (w + q) <= (E5 - 1) * (w' + q')) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]).
    assert (p2 : 0 <= (E3 - 1) * q <= (E3 - 1) * q') by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]).
    assert (p3 : 0 <= E4 * (2 * (E6 * (a * m)) + a ^ 2 + wa + wm) <= E4 * (2 * (E6 * (a * m')) + a ^ 2 + wa + wm))
      by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]).
    assert (p4 : 0 <= e * (2 * m + e) <= e' * (2 * m' + e')) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat; lra]).
    assert (p5 : forall x y, 0 <= x <= y -> 0 <= E5 * x <= E5 * y)
      by (intros x y hxy; split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]).
    match goal with |- 0 <= _ + E5 * ?x <= _ + E5 * ?y => pose proof (p5 x y ltac:(lra)) end. lra.
  Qed.

  Lemma sqrt_error_grows s s' e e' : 0 <= s' <= s -> 0 <= e <= e' -> 0 <= sqrt_error s e <= sqrt_error s' e'.
  Proof using.
    intros hs he. pose proof (sqrt_pos e). pose proof (sqrt_le_1_alt e e' ltac:(lra)). unfold sqrt_error.
    assert (quot : forall x y, 0 < x -> 0 <= y -> 0 <= y / x) by (intros; apply Rmult_le_pos; [easy|left; now apply Rinv_0_lt_compat]).
    destruct (Rlt_dec 0 s) as [pos|zero]; destruct (Rlt_dec 0 s') as [pos'|zero']; try lra.
    - pose proof (quot s e pos ltac:(lra)). split; [apply Rmin_glb; lra|].
      apply Rle_trans with (Rmin (e' / s') (sqrt e)); [|apply Rle_min_compat_l; lra]. apply Rle_min_compat_r.
      unfold Rdiv. apply Rmult_le_compat; [lra|left; now apply Rinv_0_lt_compat|lra|now apply Rinv_le_contravar].
    - pose proof (quot s e pos ltac:(lra)). split; [apply Rmin_glb; lra|]. eapply Rle_trans; [apply Rmin_r|lra].
  Qed.

  Lemma root_error_grows m m' s s' x x' t t' :
    0 <= mean_error M rho a H m <= mean_error M rho a H m' -> 0 <= s <= s' -> 0 <= x <= x' -> 0 <= t <= t' ->
    0 <= root_error M rho a H m s x t <= root_error M rho a H m' s' x' t'.
  Proof using good.
    intros hm hs hx ht. pose proof (unit_nonneg M good) as fl. assert (fa : 0 <= wa) by (unfold sound in good; lra).
    assert (fm : 0 <= wm) by (unfold sound in good; lra). unfold root_error.
    pose proof (exp_at_least_one lambda fl) as x1. pose proof (exp_at_least_one (2 * lambda) ltac:(lra)) as x2.
    set (E1 := exp lambda) in *. set (E2 := exp (2 * lambda)) in *.
    assert (p1 : 0 <= (E1 - 1) * t <= (E1 - 1) * t') by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]).
    assert (p2 : 0 <= (E2 - 1) * s <= (E2 - 1) * s') by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]).
    assert (p3 : 0 <= E2 * x <= E2 * x') by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]).
    assert (p4 : forall y z, 0 <= y <= z -> 0 <= E1 * y <= E1 * z)
      by (intros y z hyz; split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]).
    match goal with |- 0 <= _ + E1 * ?y + _ <= _ + E1 * ?z + _ => pose proof (p4 y z ltac:(lra)) end. lra.
  Qed.

  (** A part of a support that begins with the largest item, all of whose items lie below top. *)
  Theorem b21_within top part more outside :
    In 0 part -> Forall (fun x => 0 <= x) (part ++ more) -> ascending (part ++ more) ->
    (forall d, In d (part ++ more) -> d <= top) -> is_entmax_top top ((part ++ more) ++ outside) ->
    top <= root part /\ 0 <= prefix_root_error part <= root_within (part ++ more).
  Proof using good hrho ha.
    intros in0 nonneg sorted below is. pose proof (in_not_nil 0 part in0) as some.
    assert (someS : part ++ more <> []) by now destruct part.
    destruct (support_root top _ outside someS below is) as [real above].
    destruct (part_of_support part more some (proj1 (Forall_forall _ _) nonneg) sorted real
                ltac:(intros d ind; pose proof (below d ind); lra)) as [realP [m [q s]]].
    assert (nonnegP : Forall (fun x => 0 <= x) part) by now apply Forall_app in nonneg.
    split.
    - apply (support_root top part (more ++ outside) some); [intros d ind; apply below, in_or_app; now left|now rewrite app_assoc].
    - pose proof (mean_nonneg part some nonnegP) as m0. pose proof (square_nonneg part some) as q0.
      pose proof (width_at_most_two part some realP) as w2. pose proof (variance_nonneg part some) as v0.
      pose proof (size_pos part some) as k0. assert (0 < / size part) by now apply Rinv_0_lt_compat.
      assert (w0 : 0 <= / size part + variance_of part) by lra.
      destruct (errors_grow _ _ _ _ _ 2 (conj m0 m) (conj q0 q) (conj w0 w2)) as [hm hr].
      apply root_error_grows; try easy.
      + split; [apply spread_nonneg|now apply spread_at_most_one].
      + apply sqrt_error_grows; [split; [apply spread_nonneg|easy]|easy].
      + pose proof (spread_nonneg part). split; [unfold root; lra|now apply root_at_most_one].
  Qed.
End PrefixRoot.

(** ** Supports *)

Section EntmaxSupports.
  Context (M : arithmetic) (rho a : R).
  Hypothesis good : sound M.
  Hypothesis hrho : 0 <= rho.
  Hypothesis ha : 0 <= a.
  (** The height of a sum of so many items. *)
  Context (height : nat -> nat) (n : nat).
  Hypothesis highest : forall i, (height i <= height n)%nat.

  Definition own_error (d : R) : R := (exp rho - 1) * d + a.
  Definition root_error_of (ks : list R) : R := prefix_root_error M rho a (height (length ks)) ks.

  (** Against the root of the items with d, or of those before it. *)
  Inductive root_tested (before : list R) (d : R) : R -> R -> Prop :=
  | root_tested_with d' t :
      approximates rho a d d' -> computed_root M rho a (height (length (before ++ [d]))) (before ++ [d]) t ->
      root_tested before d d' t
  | root_tested_without d' t :
      approximates rho a d d' -> computed_root M rho a (height (length before)) before t -> root_tested before d d' t.

  Definition rooted_support (kept rest : list R) : Prop :=
    kept <> [] /\
    (forall before d others, kept = before ++ d :: others -> before <> [] -> exists d' t, root_tested before d d' t /\ d' <= t) /\
    match rest with [] => True | d :: _ => exists d' t, root_tested kept d d' t /\ t <= d' end.

  (** The largest and the smallest that a kernel may compare d with. *)
  Definition above_roots (before : list R) (d : R) : R :=
    Rmax (root (before ++ [d]) + root_error_of (before ++ [d])) (root before + root_error_of before).
  Definition below_roots (before : list R) (d : R) : R :=
    Rmin (root (before ++ [d]) - root_error_of (before ++ [d])) (root before - root_error_of before).

  Lemma own_close d d' : 0 <= d -> approximates rho a d d' -> Rabs (d' - d) <= own_error d.
  Proof using.
    intros hd [t [e [bt [be ->]]]]. replace (d * exp t + e - d) with (d * (exp t - 1) + e) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. unfold own_error. apply Rplus_le_compat; [|easy].
    rewrite Rabs_mult, (Rabs_right d), Rmult_comm by lra. apply Rmult_le_compat_r; [easy|now apply expm1_abs].
  Qed.

  Lemma tested_between before d d' t :
    before <> [] -> Forall (fun x => 0 <= x) (before ++ [d]) -> root_tested before d d' t ->
    (d' <= t -> d - own_error d <= above_roots before d) /\ (t <= d' -> below_roots before d <= d + own_error d).
  Proof using good hrho ha.
    intros some nonneg test. assert (parts := nonneg). apply Forall_app in parts as [n1 n2]. apply Forall_inv in n2. cbn in n2.
    unfold above_roots, below_roots. set (t1 := root (before ++ [d])). set (t2 := root before).
    destruct test as [d' t own comp|d' t own comp]; pose proof (own_close d d' n2 own) as close; apply abs_between in close.
    - assert (some1 : before ++ [d] <> []) by now destruct before.
      pose proof (b21_root M rho a _ good hrho ha _ t some1 nonneg comp) as near. fold (root_error_of (before ++ [d])) in near.
      fold t1 in near. apply abs_between in near.
      pose proof (Rmax_l (t1 + root_error_of (before ++ [d])) (t2 + root_error_of before)).
      pose proof (Rmin_l (t1 - root_error_of (before ++ [d])) (t2 - root_error_of before)). split; intros; lra.
    - pose proof (b21_root M rho a _ good hrho ha _ t some n1 comp) as near. fold (root_error_of before) in near.
      fold t2 in near. apply abs_between in near.
      pose proof (Rmax_r (t1 + root_error_of (before ++ [d])) (t2 + root_error_of before)).
      pose proof (Rmin_r (t1 - root_error_of (before ++ [d])) (t2 - root_error_of before)). split; intros; lra.
  Qed.

  Definition within_of (support : list R) (top : R) : R := root_within M rho a (height n) support + own_error top.

  (** More additions, a larger error. *)
  Lemma higher ks :
    ks <> [] -> Forall (fun x => 0 <= x) ks -> root_error_of ks <= prefix_root_error M rho a (height n) ks.
  Proof using good hrho ha highest.
    intros some nonneg. unfold root_error_of. set (H1 := height (length ks)). set (H2 := height n).
    assert (le : INR H1 <= INR H2) by (apply le_INR, highest). pose proof (unit_nonneg M good) as fl.
    assert (fa : 0 <= sum_floor M) by (unfold sound in good; lra). assert (fm : 0 <= product_floor M) by (unfold sound in good; lra).
    pose proof (mean_nonneg ks some nonneg) as m0. pose proof (square_nonneg ks some) as q0. pose proof (variance_nonneg ks some) as v0.
    pose proof (spread_nonneg ks) as s0. pose proof (size_pos ks some). assert (k0 : 0 < / size ks) by now apply Rinv_0_lt_compat.
    assert (hl : INR H1 * unit M <= INR H2 * unit M) by now apply Rmult_le_compat_r.
    assert (g : forall x, exp (x + (INR H1 + 3) * unit M) <= exp (x + (INR H2 + 3) * unit M)) by (intros; apply exp_le; lra).
    assert (g4 : exp (2 * rho + (INR H1 + 4) * unit M) <= exp (2 * rho + (INR H2 + 4) * unit M)) by (apply exp_le; lra).
    assert (g3' : exp ((INR H1 + 3) * unit M) <= exp ((INR H2 + 3) * unit M)) by (apply exp_le; lra).
    assert (g4' : exp ((INR H1 + 4) * unit M) <= exp ((INR H2 + 4) * unit M)) by (apply exp_le; lra).
    destruct (errors_grow M rho a H1 good hrho ha (prefix_mean ks) (prefix_mean ks) (prefix_square ks) (prefix_square ks)
                (/ size ks + variance_of ks) (/ size ks + variance_of ks) ltac:(lra) ltac:(lra) ltac:(lra)) as [e1 r1].
    set (m := prefix_mean ks) in *. set (q := prefix_square ks) in *. set (w := / size ks + variance_of ks) in *.
    assert (e2 : mean_error M rho a H1 m <= mean_error M rho a H2 m).
    { unfold mean_error. specialize (g rho).
      assert ((exp (rho + (INR H1 + 3) * unit M) - 1) * m <= (exp (rho + (INR H2 + 3) * unit M) - 1) * m) by (apply Rmult_le_compat_r; lra).
      assert (exp ((INR H1 + 3) * unit M) * (a + sum_floor M) <= exp ((INR H2 + 3) * unit M) * (a + sum_floor M))
        by (apply Rmult_le_compat_r; lra). lra. }
    assert (s2 : square_error M rho a H1 m q <= square_error M rho a H2 m q).
    { unfold square_error.
      assert ((exp (2 * rho + (INR H1 + 4) * unit M) - 1) * q <= (exp (2 * rho + (INR H2 + 4) * unit M) - 1) * q) by (apply Rmult_le_compat_r; lra).
      assert (0 <= exp rho * (a * m)) by (apply Rmult_le_pos; [left; apply exp_pos|now apply Rmult_le_pos]). pose proof (pow2_ge_0 a).
      assert (exp ((INR H1 + 4) * unit M) * (2 * (exp rho * (a * m)) + a ^ 2 + sum_floor M + product_floor M)
              <= exp ((INR H2 + 4) * unit M) * (2 * (exp rho * (a * m)) + a ^ 2 + sum_floor M + product_floor M)) by (apply Rmult_le_compat_r; lra). lra. }
    assert (r2 : radicand_error M rho a H1 m q w <= radicand_error M rho a H2 m q w).
    { unfold radicand_error.
      assert (mean_error M rho a H1 m * (2 * m + mean_error M rho a H1 m) <= mean_error M rho a H2 m * (2 * m + mean_error M rho a H2 m))
        by (apply Rmult_le_compat; lra). pose proof (exp_pos (6 * unit M)). apply Rplus_le_compat_l, Rmult_le_compat_l; lra. }
    unfold prefix_root_error, root_error, prefix_radicand_error. fold m q w.
    pose proof (sqrt_error_grows (spread ks) (spread ks) (radicand_error M rho a H1 m q w) (radicand_error M rho a H2 m q w)
                  (conj s0 (Rle_refl _)) (conj (proj1 r1) r2)) as [_ sq].
    pose proof (exp_pos (unit M)). pose proof (exp_pos (2 * unit M)).
    apply Rplus_le_compat_r, Rplus_le_compat_l, Rmult_le_compat_l; [lra|]. apply Rplus_le_compat_r.
    apply Rplus_le_compat; [lra|]. apply Rmult_le_compat_l; lra.
  Qed.

  (** A prefix that begins with the largest item, 0, and items below top: none is left out below top less its bound. *)
  Theorem b21_inside top kept d more outside d' t :
    In 0 kept -> Forall (fun x => 0 <= x) (kept ++ d :: more) -> ascending (kept ++ d :: more) ->
    (forall x, In x (kept ++ d :: more) -> x <= top) -> is_entmax_top top ((kept ++ d :: more) ++ outside) ->
    root_tested kept d d' t -> t <= d' -> top - within_of (kept ++ d :: more) top <= d.
  Proof using good hrho ha highest.
    intros in0 nonneg sorted below is test fails. pose proof (in_not_nil 0 kept in0) as some.
    pose proof (sorted_prefix_nonneg kept d more nonneg) as nonneg1.
    assert (nonneg2 : Forall (fun x => 0 <= x) kept) by now apply Forall_app in nonneg1.
    destruct (tested_between kept d d' t some nonneg1 test) as [_ low]. specialize (low fails).
    destruct (b21_within M rho a (height n) good hrho ha top kept (d :: more) outside in0 nonneg sorted below is) as [t2 [_ w2]].
    assert (split : kept ++ d :: more = (kept ++ [d]) ++ more) by now rewrite <- app_assoc.
    assert (w1 : top <= root (kept ++ [d]) /\ prefix_root_error M rho a (height n) (kept ++ [d]) <= root_within M rho a (height n) (kept ++ d :: more)).
    { rewrite split in nonneg, sorted, below, is |- *.
      destruct (b21_within M rho a (height n) good hrho ha top (kept ++ [d]) more outside
                  ltac:(apply in_or_app; now left) nonneg sorted below is) as [x [_ y]]. easy. }
    pose proof (higher kept some nonneg2). assert (some1 : kept ++ [d] <> []) by now destruct kept.
    pose proof (higher (kept ++ [d]) some1 nonneg1).
    assert (d <= top) by (apply below, in_or_app; right; now left).
    assert (own_error d <= own_error top).
    { unfold own_error. pose proof (exp_at_least_one rho hrho). apply Rplus_le_compat_r, Rmult_le_compat_l; lra. }
    unfold below_roots, within_of in *. destruct w1 as [t1 w1].
    unfold Rmin in low. destruct (Rle_dec _ _); lra.
  Qed.

  Definition surely_rooted (W : R) (least : list R) : Prop :=
    forall before d others, least = before ++ d :: others -> before <> [] -> d < W.
  Definition surely_beyond (most rest : list R) : Prop :=
    match rest with [] => True | d :: _ => most <> [] /\ above_roots most d < d - own_error d end.

  Theorem b21_supports top ds kept rest least beyond most ended support outside :
    Forall (fun x => 0 <= x) ds -> ascending ds -> is_entmax_top top ds ->
    ds = kept ++ rest -> In 0 kept -> rooted_support kept rest ->
    ds = support ++ outside -> (forall x, In x support -> x <= top) ->
    (forall x, In x outside -> top - within_of support top <= x) ->
    ds = least ++ beyond -> surely_rooted (top - within_of support top) least ->
    ds = most ++ ended -> surely_beyond most ended ->
    (length least <= length kept <= length most)%nat /\
    match rest with [] => True | d :: _ => below_roots kept d <= d + own_error d end.
  Proof using good hrho ha highest.
    intros nonneg sorted is eq in0 [some [passed failed]] eqS belowS outS eq1 sure eq2 over. split; [split|].
    - rewrite eq in eq1. apply app_eq_app in eq1 as [l [[e1 e2]|[e1 e2]]]; [rewrite e1, app_length; lia|].
      destruct l as [|d l]; [rewrite e1, app_nil_r; lia|exfalso].
      rewrite e2 in failed. destruct failed as [d' [t [test le]]]. pose proof (sure kept d l e1 some) as inner.
      (* d lies in the support, as all beyond it are larger *)
      rewrite eq, e2 in eqS. cbn [app] in eqS. pose proof eqS as eqS'. apply app_eq_app in eqS as [s [[s1 s2]|[s1 s2]]].
      + assert (In d outside) by (rewrite s2; apply in_or_app; right; now left). pose proof (outS d H). lra.
      + destruct s as [|d0 s]; [cbn in s2; assert (In d outside) by (rewrite <- s2; now left); pose proof (outS d H); lra|].
        cbn in s2. injection s2 as -> s2. rewrite eq, e2 in nonneg, sorted, is. cbn [app] in *.
        rewrite s2 in nonneg, sorted, is. rewrite s1 in belowS.
        assert (assoc : kept ++ d0 :: s ++ outside = (kept ++ d0 :: s) ++ outside) by now rewrite <- app_assoc.
        rewrite assoc in nonneg, sorted, is. rewrite s1 in inner.
        pose proof (b21_inside top kept d0 s outside d' t in0 ltac:(now apply Forall_app in nonneg) (ascending_prefix _ _ sorted)
                      belowS is test le). lra.
    - rewrite eq in eq2. apply app_eq_app in eq2 as [l [[e1 e2]|[e1 e2]]]; [|rewrite e1, app_length; lia].
      destruct l as [|d l]; [rewrite e1, app_nil_r; lia|exfalso].
      rewrite e2 in over. destruct over as [some2 over]. destruct (passed most d l e1 some2) as [d' [t [test le]]].
      rewrite eq, e1, <- app_assoc in nonneg. cbn [app] in nonneg.
      destruct (tested_between most d d' t some2 (sorted_prefix_nonneg _ _ _ nonneg) test) as [up _]. specialize (up le). lra.
    - destruct rest as [|d rest]; [easy|]. destruct failed as [d' [t [test le]]]. rewrite eq in nonneg.
      destruct (tested_between kept d d' t some (sorted_prefix_nonneg _ _ _ nonneg) test) as [_ low]. auto.
  Qed.
End EntmaxSupports.

(** ** The row's coefficient *)

Section Entmax.
  Context (M : arithmetic) (P : logit_reading) (H : nat).
  Hypothesis good : sound M.
  Hypothesis good_reading : sound_reading P.
  Context (m tau top_error u_out floor_out : R) (logits kept rest : list R).
  Hypothesis largest : forall x, In x logits -> x <= m.
  Notation lambda := (unit M).
  Notation top := (m / 2 - tau).
  Notation rho := (deviation_log M P).
  Notation a := (half_loss M P m).
  Notation ds := (map (fun x => (m - x) / 2) logits).
  Hypothesis support : Permutation ds (kept ++ rest).
  Hypothesis some : kept <> [].
  Hypothesis near_top : Rabs (root kept - top) + prefix_root_error M rho a H kept <= top_error.

  Definition difference_error (d r : R) : R :=
    (exp lambda - 1) * r + exp lambda * (own_error rho a d + top_error) + sum_floor M.
  Definition square_coefficient_error (r e : R) : R :=
    (exp lambda - 1) * (r * r) + exp lambda * (e * (2 * r + e)) + product_floor M.
  Definition stored_coefficient_error (r e : R) : R :=
    square_coefficient_error r e + u_out * (r * r + square_coefficient_error r e) + floor_out.

  Theorem b21_difference t x d q :
    computed_root M rho a H kept t -> In x logits -> computed_half_deviation M P m x d -> computed_item M t d q ->
    (x / 2 < tau /\ q = 0) \/
    Rabs (q - Rmax (x / 2 - tau) 0) <= difference_error ((m - x) / 2) (Rmax (x / 2 - tau) 0) - Rmax (tau - x / 2) 0.
  Proof using good good_reading largest support some near_top.
    intros ct inx dev item.
    assert (nonneg : Forall (fun x => 0 <= x) kept).
    { assert (all : Forall (fun x => 0 <= x) ds).
      { apply Forall_forall. intros y iny. apply in_map_iff in iny as [w [<- inw]]. pose proof (largest w inw). lra. }
      pose proof (Permutation_Forall support all) as split. now apply Forall_app in split. }
    pose proof (b21_root M rho a H good (deviation_log_nonneg M P good good_reading) (half_loss_nonneg M P good good_reading m)
                  kept t some nonneg ct) as close.
    pose proof (b21_half_deviation M P good good_reading m x d (largest x inx) dev) as own.
    pose proof (own_close rho a ((m - x) / 2) d ltac:(pose proof (largest x inx); lra) own) as near.
    assert (inner : Rabs (t - d - (top - (m - x) / 2)) <= own_error rho a ((m - x) / 2) + top_error).
    { replace (t - d - (top - (m - x) / 2)) with ((t - root kept) + (root kept - top) + - (d - (m - x) / 2)) by ring.
      pose proof (Rabs_triang (t - root kept + (root kept - top)) (- (d - (m - x) / 2))). rewrite Rabs_Ropp in *.
      pose proof (Rabs_triang (t - root kept) (root kept - top)). lra. }
    pose proof (clipped_difference M good top ((m - x) / 2) t d _ q inner item) as bound.
    replace (top - (m - x) / 2) with (x / 2 - tau) in bound by field.
    replace ((m - x) / 2 - top) with (tau - x / 2) in bound by field.
    destruct bound as [[outside ->]|bound]; [left; split; [lra|easy]|right; exact bound].
  Qed.

  (** The square, of which a zero is a zero. *)
  Theorem b21_entmax t x d q w p :
    computed_root M rho a H kept t -> In x logits -> computed_half_deviation M P m x d -> computed_item M t d q ->
    computed_product M (q * q) w -> (q = 0 -> w = 0) -> stored u_out floor_out w p ->
    let r := Rmax (x / 2 - tau) 0 in
    (x / 2 < tau /\ p = 0) \/
    Rabs (p - r ^ 2) <= stored_coefficient_error r (difference_error ((m - x) / 2) r - Rmax (tau - x / 2) 0).
  Proof using good good_reading largest support some near_top.
    intros ct inx dev item [t1 [e1 [bt [be eqw]]]] zero [[d2 [e2 [bd2 [be2 eqp]]]] zero2] r.
    destruct (b21_difference t x d q ct inx dev item) as [[outside nothing]|bound]; [left; split; [easy|auto]|right].
    fold r in bound. set (e := difference_error ((m - x) / 2) r - Rmax (tau - x / 2) 0) in *.
    assert (r0 : 0 <= r) by apply Rmax_r. assert (e0 : 0 <= e) by (pose proof (Rabs_pos (q - r)); lra).
    pose proof (unit_nonneg M good) as fl. pose proof (exp_at_least_one lambda fl).
    assert (sq : Rabs (q * q - r * r) <= e * (2 * r + e)).
    { replace (q * q - r * r) with ((q - r) * ((q - r) + 2 * r)) by ring. rewrite Rabs_mult.
      apply Rmult_le_compat; try apply Rabs_pos; [easy|]. eapply Rle_trans; [apply Rabs_triang|].
      rewrite (Rabs_right (2 * r)) by lra. lra. }
    assert (rr : 0 <= r * r) by now apply Rmult_le_pos.
    assert (inner : Rabs (w - r * r) <= square_coefficient_error r e + 0).
    { rewrite eqw. replace (q * q * exp t1 + e1 - r * r) with ((exp t1 - 1) * (r * r) + (q * q - r * r) * exp t1 + e1) by ring.
      assert (Rabs ((exp t1 - 1) * (r * r)) <= (exp lambda - 1) * (r * r)).
      { rewrite Rabs_mult, (Rabs_right (r * r)) by lra. apply Rmult_le_compat_r; [lra|now apply expm1_abs]. }
      assert (Rabs ((q * q - r * r) * exp t1) <= e * (2 * r + e) * exp lambda).
      { rewrite Rabs_mult, (Rabs_right (exp t1)) by (left; apply exp_pos).
        apply Rmult_le_compat; [apply Rabs_pos|left; apply exp_pos|easy|]. apply exp_le. apply abs_between in bt. lra. }
      pose proof (Rabs_triang ((exp t1 - 1) * (r * r) + (q * q - r * r) * exp t1) e1).
      pose proof (Rabs_triang ((exp t1 - 1) * (r * r)) ((q * q - r * r) * exp t1)). unfold square_coefficient_error. lra. }
    pose proof (rounded_error u_out (r * r) w d2 e2 (square_coefficient_error r e) 0 floor_out bd2 be2 inner) as out.
    rewrite <- eqp, (Rabs_right (r * r)) in out by lra. unfold stored_coefficient_error.
    replace (r ^ 2) with (r * r) by ring. lra.
  Qed.
End Entmax.
