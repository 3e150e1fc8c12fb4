(** * B21, the projection of alpha = 1.5: the halves of a row's deviations, and their mean and mean square over a prefix.

    Main results
    - [b21_half_deviation]  rho as of D, a = e^lambda (half of D's reading + 2 omega_m) + omega_a
    - [b21_mean]            |M_hat - M| <= the mean's error, mean_error
    - [b21_square]          |Q_hat - Q| <= the mean square's, square_error
    - [variance_nonneg]        M^2 <= Q
    - [root_above], [spread_above]   where the squares (c - d)^2 add up to at most 1, c is at most the root, c - M the spread
    - [root_solves]            at the root they add up to 1
    - [support_root]           a part of a row whose items lie below top has a root, at least top
    - [part_of_support]        of a part of a prefix that has a root: mean and mean square are no larger, the spread no smaller

    d = (m - x) / 2, off by e^(+-rho) and a; a prefix of k items with the mean M of d and Q of d^2; sums by any tree of
    height at most H.

    Source: docs/tolerances/projections.md; RootProjectionThreshold in numerics/rounding/rounding_projections.cpp. *)

From Coq Require Import Sorted.
From softcheck.numerics Require Import score_error b5_logsumexp added_terms projected_row b20_supports.
Local Open Scope R_scope.

(** ** Exact reals behind B21: the roots of the prefixes of a row in ascending order.

    d = (m - x) / 2. Over k items with mean M and mean square Q the sum of (t - d)^2 is 1 at t = M + sqrt(1/k - V), V = Q - M^2.

    Source: docs/tolerances/projections.md. *)

Definition squares (ds : list R) : list R := map (fun d => d ^ 2) ds.
Definition prefix_square (ds : list R) : R := sum (squares ds) / size ds.
Definition variance_of (ds : list R) : R := prefix_square ds - prefix_mean ds ^ 2.
(** 1/k - V, 0 where that is negative. *)
Definition radicand (ds : list R) : R := / size ds - variance_of ds.
Definition spread (ds : list R) : R := sqrt (Rmax (radicand ds) 0).
Definition root (ds : list R) : R := prefix_mean ds + spread ds.

(** tau: sum max(x / 2 - tau, 0)^2 = 1. *)
Definition is_root_threshold (tau : R) (logits : list R) : Prop :=
  sum (map (fun x => Rmax (x / 2 - tau) 0 ^ 2) logits) = 1.
Definition is_root_top (top : R) (ds : list R) : Prop := sum (map (fun d => Rmax (top - d) 0 ^ 2) ds) = 1.

Lemma means ds : ds <> [] -> size ds * prefix_mean ds = sum ds /\ size ds * prefix_square ds = sum (squares ds).
Proof. intros some. pose proof (size_pos ds some). unfold prefix_mean, prefix_square. split; field; lra. Qed.

Lemma sum_of_squares c ds : sum (map (fun d => (c - d) ^ 2) ds) = size ds * c ^ 2 - 2 * c * sum ds + sum (squares ds).
Proof.
  unfold squares. rewrite <- sum_map_const. rewrite <- (map_id ds) at 3. rewrite <- sum_map_mult_l, <- sum_map_minus, <- sum_map_plus.
  apply sum_map_ext. intros. ring.
Qed.

Lemma around_mean c ds :
  ds <> [] -> sum (map (fun d => (c - d) ^ 2) ds) = size ds * ((c - prefix_mean ds) ^ 2 + variance_of ds).
Proof. intros some. rewrite sum_of_squares. destruct (means ds some) as [<- <-]. unfold variance_of. ring. Qed.

Theorem variance_nonneg ds : ds <> [] -> 0 <= variance_of ds.
Proof.
  intros some. pose proof (size_pos ds some). pose proof (around_mean (prefix_mean ds) ds some) as eq.
  assert (0 <= sum (map (fun d => (prefix_mean ds - d) ^ 2) ds)) by (apply sum_map_nonneg; intros; apply pow2_ge_0).
  rewrite Rminus_diag_eq in eq at 1 by easy. replace (0 ^ 2) with 0 in eq by ring. 
  apply Rmult_le_reg_l with (size ds); [easy|]. lra.
Qed.

Lemma spread_squared ds : spread ds * spread ds = Rmax (radicand ds) 0.
Proof. unfold spread. apply sqrt_sqrt, Rmax_r. Qed.

Lemma spread_nonneg ds : 0 <= spread ds.
Proof. apply sqrt_pos. Qed.

Lemma radicand_above c ds :
  ds <> [] -> sum (map (fun d => (c - d) ^ 2) ds) <= 1 -> (c - prefix_mean ds) ^ 2 <= radicand ds.
Proof.
  intros some le. rewrite (around_mean c ds some) in le. pose proof (size_pos ds some).
  unfold radicand. apply Rmult_le_reg_l with (size ds); [easy|]. rewrite Rmult_minus_distr_l, Rinv_r by lra. lra.
Qed.

Theorem spread_above c ds : ds <> [] -> sum (map (fun d => (c - d) ^ 2) ds) <= 1 -> c - prefix_mean ds <= spread ds.
Proof.
  intros some le. pose proof (radicand_above c ds some le) as above. destruct (Rle_dec (c - prefix_mean ds) 0) as [low|high].
  - pose proof (spread_nonneg ds). lra.
  - unfold spread. rewrite <- (sqrt_pow2 (c - prefix_mean ds)) by lra. apply sqrt_le_1_alt.
    eapply Rle_trans; [apply above|apply Rmax_l].
Qed.

Theorem root_above c ds : ds <> [] -> sum (map (fun d => (c - d) ^ 2) ds) <= 1 -> c <= root ds.
Proof. intros some le. pose proof (spread_above c ds some le). unfold root. lra. Qed.

Theorem root_solves ds : ds <> [] -> 0 <= radicand ds -> sum (map (fun d => (root ds - d) ^ 2) ds) = 1.
Proof.
  intros some real. rewrite (around_mean _ ds some). pose proof (size_pos ds some).
  replace (root ds - prefix_mean ds) with (spread ds) by (unfold root; ring).
  replace (spread ds ^ 2) with (spread ds * spread ds) by ring. rewrite spread_squared, Rmax_left by easy.
  unfold radicand. field. lra.
Qed.

(** Items below top, of a row whose larger roots add up to 1. *)
Lemma squares_below top part others :
  (forall d, In d part -> d <= top) -> is_root_top top (part ++ others) -> sum (map (fun d => (top - d) ^ 2) part) <= 1.
Proof.
  intros below is. unfold is_root_top in is. rewrite map_app, sum_app in is.
  assert (0 <= sum (map (fun d => Rmax (top - d) 0 ^ 2) others)) by (apply sum_map_nonneg; intros; apply pow2_ge_0).
  assert (sum (map (fun d => (top - d) ^ 2) part) = sum (map (fun d => Rmax (top - d) 0 ^ 2) part)) as ->; [|lra].
  apply sum_map_ext. intros d ind. rewrite Rmax_left; [easy|]. pose proof (below d ind). lra.
Qed.

Theorem support_root top part others :
  part <> [] -> (forall d, In d part -> d <= top) -> is_root_top top (part ++ others) ->
  0 <= radicand part /\ top <= root part.
Proof.
  intros some below is. pose proof (squares_below top part others below is) as le. split.
  - pose proof (radicand_above top part some le). pose proof (pow2_ge_0 (top - prefix_mean part)). lra.
  - now apply root_above.
Qed.

Lemma mean_of_prefix part more :
  part <> [] -> (forall x y, In x part -> In y more -> x <= y) -> prefix_mean part <= prefix_mean (part ++ more).
Proof.
  intros some ordered. pose proof (size_pos part some) as pos. unfold prefix_mean. rewrite sum_app, size_app.
  assert (above : forall y, In y more -> sum part / size part <= y).
  { intros y iny. apply Rmult_le_reg_l with (size part); [easy|].
    replace (size part * (sum part / size part)) with (sum part) by (field; lra). apply sum_at_most. auto. }
  pose proof (sum_at_least more _ above) as rest. pose proof (size_nonneg more).
  apply Rmult_le_reg_r with (size part + size more); [lra|].
  replace ((sum part + sum more) / (size part + size more) * (size part + size more)) with (sum part + sum more) by (field; lra).
  replace (sum part / size part * (size part + size more)) with (sum part + size more * (sum part / size part)) by (field; lra). lra.
Qed.

(** A part of a prefix that has a root itself, the root beyond all its items. *)
Theorem part_of_support part more :
  part <> [] -> (forall x, In x (part ++ more) -> 0 <= x) -> ascending (part ++ more) ->
  0 <= radicand (part ++ more) -> (forall d, In d (part ++ more) -> d <= root (part ++ more)) ->
  0 <= radicand part /\ prefix_mean part <= prefix_mean (part ++ more) /\ prefix_square part <= prefix_square (part ++ more) /\
  spread (part ++ more) <= spread part.
Proof.
  intros some nonneg sorted real below. set (S := part ++ more) in *. assert (someS : S <> []) by (unfold S; now destruct part).
  assert (ordered : forall x y, In x part -> In y more -> x <= y).
  { intros x y inx iny. apply in_split in iny as [l1 [l2 eq]]. unfold S in sorted. rewrite eq, app_assoc in sorted.
    apply ascending_around in sorted as [before _]. apply before, in_or_app. now left. }
  assert (le : sum (map (fun d => (root S - d) ^ 2) part) <= 1).
  { rewrite <- (root_solves S someS real). set (c := root S). unfold S. rewrite map_app, sum_app.
    assert (0 <= sum (map (fun d => (c - d) ^ 2) more)) by (apply sum_map_nonneg; intros; apply pow2_ge_0). lra. }
  assert (m : prefix_mean part <= prefix_mean S) by now apply mean_of_prefix.
  split; [|split; [easy|split]].
  - pose proof (radicand_above _ part some le). pose proof (pow2_ge_0 (root S - prefix_mean part)). lra.
  - assert (eq : forall l, prefix_square l = prefix_mean (squares l)).
    { intros l. unfold prefix_square, prefix_mean, squares. now rewrite size_map. }
    rewrite !eq. unfold S, squares. rewrite map_app. apply mean_of_prefix; [now destruct part|].
    intros x y inx iny. apply in_map_iff in inx as [x' [<- inx]]. apply in_map_iff in iny as [y' [<- iny]].
    pose proof (ordered x' y' inx iny). pose proof (nonneg x' ltac:(apply in_or_app; now left)). nra.
  - pose proof (spread_above _ part some le). unfold root in *. lra.
Qed.

(** What a kernel compares stays small where there is a root: 0 is an item. *)
Lemma root_at_most_one ds : In 0 ds -> 0 <= radicand ds -> root ds <= 1.
Proof.
  intros in0 real. pose proof (root_solves ds (in_not_nil 0 ds in0) real) as one.
  pose proof (sum_map_at_least_one (fun d => (root ds - d) ^ 2) ds 0 ltac:(intros; apply pow2_ge_0) in0) as least.
  cbn beta in least. rewrite Rminus_0_r in least. destruct (Rle_dec (root ds) 1) as [yes|no]; [easy|nra].
Qed.

Lemma spread_at_most_one ds : ds <> [] -> 0 <= radicand ds -> spread ds <= 1.
Proof.
  intros some real. pose proof (spread_squared ds) as eq. rewrite Rmax_left in eq by easy. pose proof (spread_nonneg ds).
  pose proof (variance_nonneg ds some). pose proof (size_at_least_one ds some).
  assert (/ size ds <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra). unfold radicand in eq. nra.
Qed.

Lemma width_at_most_two ds : ds <> [] -> 0 <= radicand ds -> / size ds + variance_of ds <= 2.
Proof.
  intros some real. pose proof (size_at_least_one ds some).
  assert (/ size ds <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra). unfold radicand in real. lra.
Qed.

(** ** Half of a deviation *)

Section HalfDeviation.
  Context (M : arithmetic) (P : logit_reading) (good : sound M) (good_reading : sound_reading P).
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
    assert (0 <= exp (unit M) * (read_error P m / 2 + 2 * wm)) by monotone. lra.
  Qed.

  Theorem b21_half_deviation m x d :
    x <= m -> computed_half_deviation m x d -> approximates (deviation_log M P) (half_loss m) ((m - x) / 2) d.
  Proof using good good_reading.
    intros le form. pose proof (read_error_nonneg P good_reading m) as c0. pose proof (unit_nonneg M good) as fl.
    assert (fm : 0 <= wm) by (unfold sound in good; lra). assert (fa : 0 <= sum_floor M) by (unfold sound in good; lra).
    pose proof (exp_at_least_one (unit M) fl) as E1. unfold half_loss.
    destruct form as [D dev half|m' x' m2 x2 rm rx hm hx [t [e [bt [be ->]]]]].
    - destruct (read_deviation M P good good_reading m x D le dev) as [t [e [bt [be eq]]]].
      exists t, (e / 2 + (d - D / 2)). split; [easy|]. split; [|rewrite eq; field]. triangle. unfold Rdiv at 1.
      rewrite Rabs_mult, (Rabs_right (/ 2)) by lra. unfold deviation_loss in be.
      assert (1 * wm <= exp (unit M) * wm) by monotone. lra.
    - destruct good_reading as [[r0 r1] l0]. unfold read_logit in rm, rx. assert (size_x : Rabs x <= Rabs m + (m - x)).
      { replace x with (m + - (m - x)) at 1 by ring. triangle. rewrite Rabs_Ropp, (Rabs_right (m - x)); lra. }
      assert (near : Rabs (m2 - x2 - (m - x) / 2) <= read_roundoff P * ((m - x) / 2) + (read_error P m / 2 + 2 * wm)).
      { replace (m2 - x2 - (m - x) / 2) with ((m2 - m' / 2) - (x2 - x' / 2) + ((m' - m) - (x' - x)) * / 2) by field.
        apply abs_between in hm. apply abs_between in hx. apply abs_between in rm. apply abs_between in rx.
        unfold read_error in *. assert (read_roundoff P * Rabs x <= read_roundoff P * (Rabs m + (m - x))) by monotone.
        apply Rabs_le. lra. }
      destruct (split_error (read_roundoff P) (read_error P m / 2 + 2 * wm) ((m - x) / 2) _ r0 ltac:(lra) ltac:(lra)
        near) as [d0 [c [b0 [bc eq]]]].
      destruct (one_rounding _ d0 (conj r0 r1) b0) as [t0 [bt0 fac]]. rewrite fac in eq. rewrite eq.
      exists (t0 + t), (c * exp t + e). repeat split.
      + unfold deviation_log. triangle. lra.
      + triangle. apply Rplus_le_compat; [|easy].
        rewrite Rabs_mult, (Rabs_right (exp t)), Rmult_comm by (left; apply exp_pos).
        apply Rmult_le_compat; [monotone|monotone| |easy]. apply exp_le. apply abs_between in bt. lra.
      + rewrite exp_plus. ring.
  Qed.
End HalfDeviation.

Section Roots.
  Context (M : arithmetic) (rho a : R) (H : nat) (good : sound M) (hrho : 0 <= rho) (ha : 0 <= a).
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
    sound_facts good; pose proof (pos_INR H) as fH;
    assert (H0 : 0 <= INR H * lambda) by (now apply Rmult_le_pos).

  (** A sum over k: two roundings of k and 1/k, one of the quotient. *)
  Definition computed_quotient (k s q : R) : Prop := exists b, Rabs b <= 2 * lambda /\ computed_product M (s / k * exp b) q.

  Lemma quotient_close k s q S A L :
    1 <= k -> computed_quotient k s q -> 0 <= S -> 0 <= A -> Rabs (s - k * S) <= (exp A - 1) * (k * S) + k * L ->
    Rabs (q - S) <= (exp (A + 3 * lambda) - 1) * S + exp (3 * lambda) * L + wm.
  Proof using good.
    pose proof (unit_nonneg M good) as fl. intros hk [b [bb [t [e [bt [be ->]]]]]] hS hA close. apply abs_between in bb.
    apply abs_between in bt. set (T := b + t). assert (bT : Rabs T <= 3 * lambda) by (apply Rabs_le; unfold T; lra).
    replace (s / k * exp b * exp t + e - S) with ((s / k - S) * exp T + (exp T - 1) * S + e)
      by (unfold T; rewrite exp_plus; ring).
    assert (per : Rabs (s / k - S) <= (exp A - 1) * S + L).
    { apply Rmult_le_reg_l with k; [lra|]. rewrite <- (Rabs_right k) at 1 by lra. rewrite <- Rabs_mult.
      replace (k * (s / k - S)) with (s - k * S) by (field; lra). lra. }
    pose proof (expm1_abs T _ bT) as gT.
    assert (eT : exp T <= exp (3 * lambda)) by (apply exp_le; apply abs_between in bT; lra). pose proof (exp_pos T).
    pose proof (Rabs_pos (s / k - S)). assert (p1 : Rabs ((s / k - S) * exp T) <= ((exp A - 1) * S + L) * exp (3 * lambda)).
    { rewrite Rabs_mult, (Rabs_right (exp T)) by lra. monotone. }
    assert (p2 : Rabs ((exp T - 1) * S) <= (exp (3 * lambda) - 1) * S). { rewrite Rabs_mult, (Rabs_right S) by lra. monotone. }
    pose proof (Rabs_triang ((s / k - S) * exp T + (exp T - 1) * S) e).
    pose proof (Rabs_triang ((s / k - S) * exp T) ((exp T - 1) * S)). rewrite exp_plus. lra.
  Qed.

  (** ** Mean and mean square *)

  Context (ks : list R) (some : ks <> []) (nonneg : Forall (fun x => 0 <= x) ks).
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
    apply le_INR in low. assert (hl : INR h * lambda <= INR H * lambda) by monotone. pose proof (pos_INR h).
    assert (h0 : 0 <= INR h * lambda) by monotone. set (L := exp (INR H * lambda) * (a + wa)).
    assert (wide : Rabs (s - k * prefix_mean ks) <= (exp (rho + INR H * lambda) - 1) * (k * prefix_mean ks) + k * L).
    { eapply Rle_trans; [apply close|]. apply Rplus_le_compat.
      - apply Rmult_le_compat_r; [monotone|]. pose proof (exp_le (rho + INR h * lambda) (rho + INR H * lambda)). lra.
      - unfold L.
        replace (k * (exp (INR H * lambda) * (a + wa))) with (exp (INR H * lambda) * (k * a + k * wa)) by ring.
        assert (0 <= k * a) by monotone. assert (0 <= (k - 1) * wa) by monotone. monotone. }
    pose proof (quotient_close k s m (prefix_mean ks) (rho + INR H * lambda) L k1 quot m0 ltac:(lra) wide) as bound.
    unfold mean_error. replace ((INR H + 3) * lambda) with (INR H * lambda + 3 * lambda) by ring.
    replace (rho + (INR H * lambda + 3 * lambda)) with (rho + INR H * lambda + 3 * lambda) by ring. unfold L in bound.
    rewrite (exp_plus (INR H * lambda)). lra.
  Qed.

  (** How far a computed square is from the exact one. *)
  Definition square_off (d : R) : R := (exp (2 * rho) - 1) * d ^ 2 + 2 * (exp rho * (a * d)) + a ^ 2.

  Lemma squares_close l ds :
    Forall (fun x => 0 <= x) l -> Forall2 (approximates rho a) l ds -> perturbed (squares ds) (squares l) (map square_off l).
  Proof using ha.
    intros all near. revert all. induction near as [|d y l ds [t [e [bt [be ->]]]] rest IH]; intros all; [constructor|].
    pose proof (Forall_inv all) as d0. cbn in d0. unfold squares. cbn [map].
    constructor; [|apply IH; now apply Forall_inv_tail in all].
    replace ((d * exp t + e) ^ 2 - d ^ 2) with (d ^ 2 * (exp (2 * t) - 1) + 2 * (d * exp t * e) + e ^ 2)
      by (replace (2 * t) with (t + t) by ring; rewrite exp_plus; ring).
    apply abs_between in bt. pose proof (expm1_abs (2 * t) (2 * rho) ltac:(apply Rabs_le; lra)) as g.
    assert (p1 : Rabs (d ^ 2 * (exp (2 * t) - 1)) <= (exp (2 * rho) - 1) * d ^ 2).
    { rewrite Rabs_mult, (Rabs_right (d ^ 2)), Rmult_comm by (apply Rle_ge, pow2_ge_0).
      apply Rmult_le_compat_r; [apply pow2_ge_0|easy]. }
    assert (p2 : Rabs (2 * (d * exp t * e)) <= 2 * (exp rho * (a * d))).
    { rewrite !Rabs_mult, (Rabs_right 2), (Rabs_right d), (Rabs_right (exp t)) by (try lra; left; apply exp_pos).
      apply Rmult_le_compat_l; [lra|]. replace (exp rho * (a * d)) with (d * exp rho * a) by ring.
      assert (exp t <= exp rho) by monotone. pose proof (exp_pos t). monotone. }
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
    pose proof (perturbed_sum M good lambda wm _ _ _ s h fl (proj1 fm) (squares_close ks ds nonneg near) tree) as close.
    unfold perturbed_rounding, added_loss in close. rewrite (magnitude_nonneg _ (squares_nonneg ks)) in close.
    destruct (means ks some) as [sum_is square_is]. rewrite <- square_is in close.
    assert (offs : sum (map square_off ks)
      = (exp (2 * rho) - 1) * (k * prefix_square ks) + 2 * (exp rho * (a * (k * prefix_mean ks))) + k * a ^ 2).
    { unfold square_off. rewrite !sum_map_plus, sum_map_const, !sum_map_mult_l, map_id, square_is, sum_is. easy. }
    rewrite offs in close. assert (many : size (squares ks) = k) by apply size_map. rewrite many in close.
    apply le_INR in low. assert (hl : INR h * lambda <= INR H * lambda) by monotone. pose proof (pos_INR h).
    assert (h0 : 0 <= INR h * lambda) by monotone. set (Q := prefix_square ks) in *. set (m := prefix_mean ks) in *.
    set (X := 2 * (exp rho * (a * m)) + a ^ 2). assert (X0 : 0 <= X).
    { unfold X. assert (0 <= exp rho * (a * m)) by monotone. pose proof (pow2_ge_0 a). lra. }
    set (G := exp ((INR H + 1) * lambda)). set (L := G * (X + wa + wm)).
    assert (up : exp (lambda + INR h * lambda) <= G) by (apply exp_le; lra).
    assert (up2 : exp (INR h * lambda) <= G) by (apply exp_le; lra).
    assert (G1 : 1 <= G) by (apply exp_at_least_one; lra). assert (kQ : 0 <= k * Q) by monotone.
    assert (kX : 0 <= k * X) by monotone. assert (E2 : 1 <= exp (2 * rho)) by monotone.
    assert (wide : Rabs (s - k * Q) <= (exp (2 * rho + (INR H + 1) * lambda) - 1) * (k * Q) + k * L).
    { eapply Rle_trans; [apply close|]. rewrite (exp_plus (2 * rho)). fold G. unfold L.
      replace (k * Q + ((exp (2 * rho) - 1) * (k * Q) + 2 * (exp rho * (a * (k * m))) + k * a ^ 2))
        with (exp (2 * rho) * (k * Q) + k * X) by (unfold X; ring).
      assert (exp (lambda + INR h * lambda) * (exp (2 * rho) * (k * Q) + k * X)
        <= G * (exp (2 * rho) * (k * Q) + k * X)) by monotone.
      assert (0 <= (k - 1) * wa) by monotone. assert (0 <= k * wm) by monotone.
      assert (exp (INR h * lambda) * (k * wm + (k - 1) * wa) <= G * (k * wm + k * wa)) by monotone. lra. }
    pose proof (quotient_close k s q Q (2 * rho + (INR H + 1) * lambda) L k1 quot q0 ltac:(lra) wide) as bound.
    unfold square_error. fold X.
    replace (2 * rho + (INR H + 4) * lambda) with (2 * rho + (INR H + 1) * lambda + 3 * lambda) by ring.
    replace ((INR H + 4) * lambda) with ((INR H + 1) * lambda + 3 * lambda) by ring. unfold L in bound.
    rewrite (exp_plus ((INR H + 1) * lambda)). fold G. lra.
  Qed.
End Roots.
