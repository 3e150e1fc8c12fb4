(** * B21, the projection of alpha = 1.5: the root M + sqrt(1/k - V) of a prefix, as a kernel computes it.

    Main results, in the notation of b21_means.v
    - [b21_radicand]        1/k - V in three forms errs by at most radicand_error
    - [b21_root]            |t_hat - t_k| <= prefix_root_error, t_k = M + sqrt(max(1/k - V, 0))
    - [b21_within]          the bound root_within of a whole support is no less than the root's error of each of its parts

    Source: docs/tolerances/projections.md; RootProjectionThreshold in numerics/rounding/rounding_projections.cpp. Not covered: a variance of two
    passes; what 1/k loses where it underflows. *)

From Coq Require Import Sorted.
From softcheck.numerics Require Import score_error b5_logsumexp added_terms projected_row b20_supports b21_means.
Local Open Scope R_scope.

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
    assert (Rabs (sqrt a - sqrt b) <= sqrt a + sqrt b) by (apply Rabs_le; lra). pose proof (Rabs_pos (sqrt a - sqrt b)).
    assert (Rabs (sqrt a - sqrt b) * Rabs (sqrt a - sqrt b) <= Rabs (sqrt a - sqrt b) * (sqrt a + sqrt b)) by monotone. lra. }
  unfold sqrt_error. destruct (Rlt_dec 0 (sqrt b)) as [pos|zero]; [|easy]. apply Rmin_glb; [|easy].
  apply Rmult_le_reg_r with (sqrt b); [easy|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  rewrite eq, Rabs_mult, (Rabs_right (sqrt a + sqrt b)) in close by lra. pose proof (Rabs_pos (sqrt a - sqrt b)).
  assert (Rabs (sqrt a - sqrt b) * sqrt b <= Rabs (sqrt a - sqrt b) * (sqrt a + sqrt b)) by monotone. lra.
Qed.

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
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).
  Notation F := (exp (6 * lambda) * (2 * wa + 3 * wm)).

  Lemma raised e w t : Rabs e <= w -> t <= 6 * lambda -> Rabs (e * exp t) <= w * exp (6 * lambda).
  Proof using. intros be ht. rewrite Rabs_mult, (Rabs_right (exp t)) by (left; apply exp_pos). monotone. Qed.

  Lemma five_losses e1 e2 e3 e4 e5 t1 t2 t3 t4 t5 :
    Rabs e1 <= wm -> Rabs e2 <= wa -> Rabs e3 <= wm -> Rabs e4 <= wa -> Rabs e5 <= wm ->
    t1 <= 6 * lambda -> t2 <= 6 * lambda -> t3 <= 6 * lambda -> t4 <= 6 * lambda -> t5 <= 6 * lambda ->
    Rabs (e1 * exp t1 + e2 * exp t2 + e3 * exp t3 + e4 * exp t4 + e5 * exp t5) <= F.
  Proof using.
    intros b1 b2 b3 b4 b5 h1 h2 h3 h4 h5. set (x1 := e1 * exp t1). set (x2 := e2 * exp t2). set (x3 := e3 * exp t3).
    set (x4 := e4 * exp t4). set (x5 := e5 * exp t5). pose proof (raised e1 wm t1 b1 h1 : Rabs x1 <= _).
    pose proof (raised e2 wa t2 b2 h2 : Rabs x2 <= _). pose proof (raised e3 wm t3 b3 h3 : Rabs x3 <= _).
    pose proof (raised e4 wa t4 b4 h4 : Rabs x4 <= _). pose proof (raised e5 wm t5 b5 h5 : Rabs x5 <= _).
    pose proof (Rabs_triang (x1 + x2 + x3 + x4) x5). pose proof (Rabs_triang (x1 + x2 + x3) x4).
    pose proof (Rabs_triang (x1 + x2) x3). pose proof (Rabs_triang x1 x2). lra.
  Qed.

  Context (k q m r : R) (hk : 1 <= k) (form : computed_radicand M k q m r).

  Lemma per_k e w : Rabs e <= w -> Rabs (e / k) <= w.
  Proof using hk.
    intros be. unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ k)) by (apply Rle_ge; left; apply Rinv_0_lt_compat; lra).
    assert (0 <= / k <= 1) by (split; [left; apply Rinv_0_lt_compat; lra|rewrite <- Rinv_1; apply Rinv_le_contravar; lra]).
    rewrite <- (Rmult_1_r w). monotone.
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
      apply Rmult_le_compat; try apply Rabs_pos; [easy|]. triangle. rewrite (Rabs_right (2 * mean)) by lra. lra. }
    assert (e20 : 0 <= e2) by (pose proof (Rabs_pos (m ^ 2 - mean ^ 2)); lra).
    assert (eq0 : 0 <= eq) by (pose proof (Rabs_pos (q - Q)); lra). assert (ik : 0 < / k) by monotone.
    assert (mono : forall j, j <= 6 * lambda -> exp j <= E) by (intros; now apply exp_le).
    assert (first : forall x j, Rabs x <= j -> j <= 6 * lambda -> Rabs (exp x / k - / k) <= (E - 1) * / k).
    { intros x j hx hj. replace (exp x / k - / k) with ((exp x - 1) * / k) by (field; lra).
      rewrite Rabs_mult, (Rabs_right (/ k)) by lra. apply Rmult_le_compat_r; [lra|]. pose proof (expm1_abs x j hx).
      pose proof (mono j hj). lra. }
    destruct radicand_shape as [[x [b [t [e [bx [bb [bt [be ->]]]]]]]]|[x [b [c [e [bx [bb [bc [be ->]]]]]]]]].
    - fold E in be. pose proof (first x (5 * lambda) bx ltac:(lra)) as p1. set (D := q - m ^ 2 * exp t - V).
      assert (bD : Rabs D <= eq + e2 * exp lambda + (exp lambda - 1) * mean ^ 2).
      { unfold D, V.
        replace (q - m ^ 2 * exp t - (Q - mean ^ 2))
        with ((q - Q) + - ((m ^ 2 - mean ^ 2) * exp t) + - (mean ^ 2 * (exp t - 1))) by ring.
        assert (Rabs (- ((m ^ 2 - mean ^ 2) * exp t)) <= e2 * exp lambda).
        { rewrite Rabs_Ropp, Rabs_mult, (Rabs_right (exp t)) by (left; apply exp_pos).
          apply Rmult_le_compat; [monotone|monotone|easy|]. apply exp_le. apply abs_between in bt. lra. }
        assert (Rabs (- (mean ^ 2 * (exp t - 1))) <= (exp lambda - 1) * mean ^ 2).
        { rewrite Rabs_Ropp, Rabs_mult, (Rabs_right (mean ^ 2)), Rmult_comm by lra.
          apply Rmult_le_compat_r; [lra|now apply expm1_abs]. }
        pose proof (Rabs_triang (q - Q + - ((m ^ 2 - mean ^ 2) * exp t)) (- (mean ^ 2 * (exp t - 1)))).
        pose proof (Rabs_triang (q - Q) (- ((m ^ 2 - mean ^ 2) * exp t))). lra. }
      replace (exp x / k - (q - m ^ 2 * exp t) * exp b + e - (/ k - V))
        with ((exp x / k - / k) + - (D * exp b) + - (V * (exp b - 1)) + e) by (unfold D; ring).
      set (G := exp (5 * lambda)). assert (GE : G * exp lambda = E) by (unfold G, E; rewrite <- exp_plus; f_equal; ring).
      assert (G1 : 1 <= G) by (apply exp_at_least_one; lra). pose proof (exp_at_least_one lambda fl) as L1.
      assert (p2 : Rabs (- (D * exp b)) <= (eq + e2 * exp lambda + (exp lambda - 1) * mean ^ 2) * G).
      { rewrite Rabs_Ropp, Rabs_mult, (Rabs_right (exp b)) by (left; apply exp_pos).
        apply Rmult_le_compat; [monotone|monotone|easy|]. apply exp_le. apply abs_between in bb. lra. }
      assert (p3 : Rabs (- (V * (exp b - 1))) <= (E - 1) * V).
      { rewrite Rabs_Ropp, Rabs_mult, (Rabs_right V), Rmult_comm by (unfold V; lra).
        apply Rmult_le_compat_r; [unfold V; lra|]. pose proof (expm1_abs b _ bb). pose proof (mono (5 * lambda) ltac:(lra)).
        lra. }
      assert (GleE : G <= E) by (apply mono; lra). assert (p4 : eq * G <= eq * E) by monotone.
      assert (p5 : (exp lambda - 1) * mean ^ 2 * G <= (E - 1) * Q).
      { replace ((exp lambda - 1) * mean ^ 2 * G) with ((E - G) * mean ^ 2) by (rewrite <- GE; ring). monotone. }
      replace (e2 * exp lambda) with (exp lambda * e2) in p2 by ring.
      assert (p6 : exp lambda * e2 * G = E * e2) by (rewrite <- GE; ring).
      pose proof (Rabs_triang (exp x / k - / k + - (D * exp b) + - (V * (exp b - 1))) e).
      pose proof (Rabs_triang (exp x / k - / k + - (D * exp b)) (- (V * (exp b - 1)))).
      pose proof (Rabs_triang (exp x / k - / k) (- (D * exp b))). lra.
    - fold E in be. pose proof (first x (4 * lambda) bx ltac:(lra)) as p1.
      replace (exp x / k - q * exp b + m ^ 2 * exp c + e - (/ k - V))
        with ((exp x / k - / k) + - ((q - Q) * exp b) + - (Q * (exp b - 1)) + (m ^ 2 - mean ^ 2) * exp c
        + mean ^ 2 * (exp c - 1) + e) by (unfold V; ring).
      set (z := exp (2 * lambda)). assert (z1 : 1 <= z) by (apply exp_at_least_one; lra).
      assert (z3 : E = z * z * z) by (unfold E, z; rewrite <- !exp_plus; f_equal; ring).
      assert (zE : z <= E) by (apply mono; lra). assert (twice : 2 * (z - 1) <= E - 1) by (rewrite z3; nra).
      assert (p2 : Rabs (- ((q - Q) * exp b)) <= eq * E).
      { rewrite Rabs_Ropp, Rabs_mult, (Rabs_right (exp b)) by (left; apply exp_pos).
        apply Rmult_le_compat; [monotone|monotone|easy|]. apply mono. apply abs_between in bb. lra. }
      assert (p3 : Rabs (- (Q * (exp b - 1))) <= (z - 1) * Q).
      { rewrite Rabs_Ropp, Rabs_mult, (Rabs_right Q), Rmult_comm by lra. apply Rmult_le_compat_r; [lra|now apply expm1_abs]. }
      assert (p4 : Rabs ((m ^ 2 - mean ^ 2) * exp c) <= e2 * E).
      { rewrite Rabs_mult, (Rabs_right (exp c)) by (left; apply exp_pos). apply Rmult_le_compat; [monotone|monotone|easy|].
        apply mono. apply abs_between in bc. lra. }
      assert (p5 : Rabs (mean ^ 2 * (exp c - 1)) <= (z - 1) * Q).
      { rewrite Rabs_mult, (Rabs_right (mean ^ 2)), Rmult_comm by lra. pose proof (expm1_abs c _ bc) as g. fold z in g.
        monotone. }
      assert (p6 : 2 * (z - 1) * Q <= (E - 1) * Q) by monotone.
      assert (p7 : 0 <= (E - 1) * V) by (apply Rmult_le_pos; unfold V; lra). set (y1 := exp x / k - / k) in *.
      set (y2 := - ((q - Q) * exp b)) in *. set (y3 := - (Q * (exp b - 1))) in *. set (y4 := (m ^ 2 - mean ^ 2) * exp c) in *.
      set (y5 := mean ^ 2 * (exp c - 1)) in *. pose proof (Rabs_triang (y1 + y2 + y3 + y4 + y5) e).
      pose proof (Rabs_triang (y1 + y2 + y3 + y4) y5). pose proof (Rabs_triang (y1 + y2 + y3) y4).
      pose proof (Rabs_triang (y1 + y2) y3). pose proof (Rabs_triang y1 y2). lra.
  Qed.
End Radicand.

(** ** The root of a prefix *)

Section PrefixRoot.
  Context (M : arithmetic) (rho a : R) (H : nat) (good : sound M) (hrho : 0 <= rho) (ha : 0 <= a).
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
        apply Rmult_le_compat; [monotone|monotone|easy|]. apply exp_le. apply abs_between in bb. lra. }
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
      apply Rmult_le_compat; [monotone|monotone| |apply exp_le; apply abs_between in bt; lra]. triangle. lra. }
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
    assert (H0 : 0 <= INR H * lambda) by monotone.
    pose proof (exp_at_least_one (rho + (INR H + 3) * lambda) ltac:(lra)) as x1.
    set (E1 := exp (rho + (INR H + 3) * lambda)) in *.
    pose proof (exp_at_least_one ((INR H + 3) * lambda) ltac:(lra)) as x2. set (E2 := exp ((INR H + 3) * lambda)) in *.
    pose proof (exp_at_least_one (2 * rho + (INR H + 4) * lambda) ltac:(lra)) as x3.
    set (E3 := exp (2 * rho + (INR H + 4) * lambda)) in *.
    pose proof (exp_at_least_one ((INR H + 4) * lambda) ltac:(lra)) as x4. set (E4 := exp ((INR H + 4) * lambda)) in *.
    pose proof (exp_at_least_one (6 * lambda) ltac:(lra)) as x5. set (E5 := exp (6 * lambda)) in *.
    pose proof (exp_at_least_one rho hrho) as x6. set (E6 := exp rho) in *.
    assert (am : 0 <= a * m <= a * m') by monotone. assert (em : 0 <= E6 * (a * m) <= E6 * (a * m')) by monotone.
    pose proof (pow2_ge_0 a) as a2. assert (mean : 0 <= mean_error M rho a H m <= mean_error M rho a H m').
    { unfold mean_error. fold E1 E2. assert (0 <= E2 * (a + wa)) by monotone.
      assert (0 <= (E1 - 1) * m <= (E1 - 1) * m') by monotone. lra. }
    split; [easy|]. unfold radicand_error, square_error. fold E5 E3 E4 E6. set (e := mean_error M rho a H m) in *.
    set (e' := mean_error M rho a H m') in *. assert (p1 : 0 <= (E5 - 1) * (w + q) <= (E5 - 1) * (w' + q')) by monotone.
    assert (p2 : 0 <= (E3 - 1) * q <= (E3 - 1) * q') by monotone.
    assert (p3 : 0 <= E4 * (2 * (E6 * (a * m)) + a ^ 2 + wa + wm) <= E4 * (2 * (E6 * (a * m')) + a ^ 2 + wa + wm))
      by monotone.
    assert (p4 : 0 <= e * (2 * m + e) <= e' * (2 * m' + e')) by monotone.
    assert (p5 : forall x y, 0 <= x <= y -> 0 <= E5 * x <= E5 * y) by (intros x y hxy; split; [monotone|monotone]).
    match goal with |- 0 <= _ + E5 * ?x <= _ + E5 * ?y => pose proof (p5 x y ltac:(lra)) end. lra.
  Qed.

  Lemma sqrt_error_grows s s' e e' : 0 <= s' <= s -> 0 <= e <= e' -> 0 <= sqrt_error s e <= sqrt_error s' e'.
  Proof using.
    intros hs he. pose proof (sqrt_pos e). pose proof (sqrt_le_1_alt e e' ltac:(lra)). unfold sqrt_error.
    assert (quot : forall x y, 0 < x -> 0 <= y -> 0 <= y / x)
      by (intros; apply Rmult_le_pos; [easy|left; now apply Rinv_0_lt_compat]).
    destruct (Rlt_dec 0 s) as [pos|zero]; destruct (Rlt_dec 0 s') as [pos'|zero']; try lra.
    - pose proof (quot s e pos ltac:(lra)). split; [apply Rmin_glb; lra|].
      apply Rle_trans with (Rmin (e' / s') (sqrt e)); [|apply Rle_min_compat_l; lra]. apply Rle_min_compat_r.
      unfold Rdiv. monotone.
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
    assert (p1 : 0 <= (E1 - 1) * t <= (E1 - 1) * t') by monotone.
    assert (p2 : 0 <= (E2 - 1) * s <= (E2 - 1) * s') by monotone. assert (p3 : 0 <= E2 * x <= E2 * x') by monotone.
    assert (p4 : forall y z, 0 <= y <= z -> 0 <= E1 * y <= E1 * z) by (intros y z hyz; split; [monotone|monotone]).
    match goal with |- 0 <= _ + E1 * ?y + _ <= _ + E1 * ?z + _ => pose proof (p4 y z ltac:(lra)) end. lra.
  Qed.

  (** A part of a support that begins with the largest item, all of whose items lie below top. *)
  Theorem b21_within top part more outside :
    In 0 part -> Forall (fun x => 0 <= x) (part ++ more) -> ascending (part ++ more) ->
    (forall d, In d (part ++ more) -> d <= top) -> is_root_top top ((part ++ more) ++ outside) ->
    top <= root part /\ 0 <= prefix_root_error part <= root_within (part ++ more).
  Proof using good hrho ha.
    intros in0 nonneg sorted below is. pose proof (in_not_nil 0 part in0) as some.
    assert (someS : part ++ more <> []) by now destruct part.
    destruct (support_root top _ outside someS below is) as [real above].
    destruct (part_of_support part more some (proj1 (Forall_forall _ _) nonneg) sorted real
                ltac:(intros d ind; pose proof (below d ind); lra)) as [realP [m [q s]]].
    assert (nonnegP : Forall (fun x => 0 <= x) part) by now apply Forall_app in nonneg. split.
    - apply (support_root top part (more ++ outside) some);
        [intros d ind; apply below, in_or_app; now left|now rewrite app_assoc].
    - pose proof (mean_nonneg part some nonnegP) as m0. pose proof (square_nonneg part some) as q0.
      pose proof (width_at_most_two part some realP) as w2. pose proof (variance_nonneg part some) as v0.
      pose proof (size_pos part some) as k0. assert (0 < / size part) by monotone.
      assert (w0 : 0 <= / size part + variance_of part) by lra.
      destruct (errors_grow _ _ _ _ _ 2 (conj m0 m) (conj q0 q) (conj w0 w2)) as [hm hr]. apply root_error_grows; try easy.
      + split; [apply spread_nonneg|now apply spread_at_most_one].
      + apply sqrt_error_grows; [split; [apply spread_nonneg|easy]|easy].
      + pose proof (spread_nonneg part). split; [unfold root; lra|now apply root_at_most_one].
  Qed.
End PrefixRoot.
