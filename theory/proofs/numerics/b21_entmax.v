(** * B21: entmax of alpha = 1.5, p_j = max(x_j / 2 - tau, 0)^2 with tau such that sum p = 1, as a kernel computes it.

    Main results, in the notation of b21_means.v and b21_root.v
    - [b21_inside]          a kernel leaves out no item below top - root_within - d's own error
    - [b21_supports]        so it keeps at least the items below that, and comes to no prefix behind one whose next item is
                            beyond both roots and their errors; the prefix that it ends with is one that may end
    - [b21_difference]      max(t_hat - d_hat, 0) errs by at most difference_error, or is 0 where d > top
    - [b21_entmax]          its square behind the output's rounding

    Source: docs/tolerances/projections.md; RootProjectionThreshold in numerics/rounding/rounding_projections.cpp. Not covered: a support by counting
    the items that meet the condition. *)

From Coq Require Import Sorted.
From softcheck.numerics Require Import score_error b5_logsumexp added_terms projected_row b20_supports b21_means
  b21_root.
Local Open Scope R_scope.

(** ** Supports *)

Section EntmaxSupports.
  Context (M : arithmetic) (rho a : R) (good : sound M) (hrho : 0 <= rho) (ha : 0 <= a).
  (** The height of a sum of so many items. *)
  Context (height : nat -> nat) (n : nat) (highest : forall i, (height i <= height n)%nat).

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
    intros hd [t [e [bt [be ->]]]]. replace (d * exp t + e - d) with (d * (exp t - 1) + e) by ring. triangle.
    unfold own_error. apply Rplus_le_compat; [|easy]. rewrite Rabs_mult, (Rabs_right d), Rmult_comm by lra.
    apply Rmult_le_compat_r; [easy|now apply expm1_abs].
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
    assert (fa : 0 <= sum_floor M) by (unfold sound in good; lra).
    assert (fm : 0 <= product_floor M) by (unfold sound in good; lra). pose proof (mean_nonneg ks some nonneg) as m0.
    pose proof (square_nonneg ks some) as q0. pose proof (variance_nonneg ks some) as v0. pose proof (spread_nonneg ks) as s0.
    pose proof (size_pos ks some). assert (k0 : 0 < / size ks) by monotone.
    assert (hl : INR H1 * unit M <= INR H2 * unit M) by monotone.
    assert (g : forall x, exp (x + (INR H1 + 3) * unit M) <= exp (x + (INR H2 + 3) * unit M)) by (intros; apply exp_le; lra).
    assert (g4 : exp (2 * rho + (INR H1 + 4) * unit M) <= exp (2 * rho + (INR H2 + 4) * unit M)) by monotone.
    assert (g3' : exp ((INR H1 + 3) * unit M) <= exp ((INR H2 + 3) * unit M)) by monotone.
    assert (g4' : exp ((INR H1 + 4) * unit M) <= exp ((INR H2 + 4) * unit M)) by monotone.
    destruct (errors_grow M rho a H1 good hrho ha (prefix_mean ks) (prefix_mean ks) (prefix_square ks) (prefix_square ks)
                (/ size ks + variance_of ks) (/ size ks + variance_of ks) ltac:(lra) ltac:(lra) ltac:(lra)) as [e1 r1].
    set (m := prefix_mean ks) in *. set (q := prefix_square ks) in *. set (w := / size ks + variance_of ks) in *.
    assert (e2 : mean_error M rho a H1 m <= mean_error M rho a H2 m).
    { unfold mean_error. specialize (g rho).
      assert ((exp (rho + (INR H1 + 3) * unit M) - 1) * m <= (exp (rho + (INR H2 + 3) * unit M) - 1) * m) by monotone.
      assert (exp ((INR H1 + 3) * unit M) * (a + sum_floor M) <= exp ((INR H2 + 3) * unit M) * (a + sum_floor M)) by monotone.
      lra. }
    assert (s2 : square_error M rho a H1 m q <= square_error M rho a H2 m q).
    { unfold square_error.
      assert ((exp (2 * rho + (INR H1 + 4) * unit M) - 1) * q <= (exp (2 * rho + (INR H2 + 4) * unit M) - 1) * q) by monotone.
      assert (0 <= exp rho * (a * m)) by monotone. pose proof (pow2_ge_0 a).
      assert (exp ((INR H1 + 4) * unit M) * (2 * (exp rho * (a * m)) + a ^ 2 + sum_floor M + product_floor M)
        <= exp ((INR H2 + 4) * unit M) * (2 * (exp rho * (a * m)) + a ^ 2 + sum_floor M + product_floor M)) by monotone.
      lra. }
    assert (r2 : radicand_error M rho a H1 m q w <= radicand_error M rho a H2 m q w).
    { unfold radicand_error.
      assert (mean_error M rho a H1 m * (2 * m + mean_error M rho a H1 m)
        <= mean_error M rho a H2 m * (2 * m + mean_error M rho a H2 m)) by monotone.
      pose proof (exp_pos (6 * unit M)). monotone. }
    unfold prefix_root_error, root_error, prefix_radicand_error. fold m q w.
    pose proof (sqrt_error_grows (spread ks) (spread ks) (radicand_error M rho a H1 m q w) (radicand_error M rho a H2 m q w)
                  (conj s0 (Rle_refl _)) (conj (proj1 r1) r2)) as [_ sq].
    pose proof (exp_pos (unit M)). pose proof (exp_pos (2 * unit M)). monotone.
  Qed.

  (** A prefix that begins with the largest item, 0, and items below top: none is left out below top less its bound. *)
  Theorem b21_inside top kept d more outside d' t :
    In 0 kept -> Forall (fun x => 0 <= x) (kept ++ d :: more) -> ascending (kept ++ d :: more) ->
    (forall x, In x (kept ++ d :: more) -> x <= top) -> is_root_top top ((kept ++ d :: more) ++ outside) ->
    root_tested kept d d' t -> t <= d' -> top - within_of (kept ++ d :: more) top <= d.
  Proof using good hrho ha highest.
    intros in0 nonneg sorted below is test fails. pose proof (in_not_nil 0 kept in0) as some.
    pose proof (sorted_prefix_nonneg kept d more nonneg) as nonneg1.
    assert (nonneg2 : Forall (fun x => 0 <= x) kept) by now apply Forall_app in nonneg1.
    destruct (tested_between kept d d' t some nonneg1 test) as [_ low]. specialize (low fails).
    destruct (b21_within M rho a (height n) good hrho ha top kept (d :: more) outside in0 nonneg sorted below is) as
      [t2 [_ w2]].
    assert (split : kept ++ d :: more = (kept ++ [d]) ++ more) by now rewrite <- app_assoc.
    assert (w1 : top <= root (kept ++ [d]) /\ prefix_root_error M rho a (height n) (kept ++ [d])
      <= root_within M rho a (height n) (kept ++ d :: more)).
    { rewrite split in nonneg, sorted, below, is |- *.
      destruct (b21_within M rho a (height n) good hrho ha top (kept ++ [d]) more outside
                  ltac:(apply in_or_app; now left) nonneg sorted below is) as [x [_ y]].
      easy. }
    pose proof (higher kept some nonneg2). assert (some1 : kept ++ [d] <> []) by now destruct kept.
    pose proof (higher (kept ++ [d]) some1 nonneg1). assert (d <= top) by (apply below, in_or_app; right; now left).
    assert (own_error d <= own_error top). { unfold own_error. pose proof (exp_at_least_one rho hrho). monotone. }
    unfold below_roots, within_of in *. destruct w1 as [t1 w1]. unfold Rmin in low. destruct (Rle_dec _ _); lra.
  Qed.

  Definition surely_rooted (W : R) (least : list R) : Prop :=
    forall before d others, least = before ++ d :: others -> before <> [] -> d < W.
  Definition surely_beyond (most rest : list R) : Prop :=
    match rest with [] => True | d :: _ => most <> [] /\ above_roots most d < d - own_error d end.

  Theorem b21_supports top ds kept rest least beyond most ended support outside :
    Forall (fun x => 0 <= x) ds -> ascending ds -> is_root_top top ds ->
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
  Context (M : arithmetic) (P : logit_reading) (H : nat) (good : sound M) (good_reading : sound_reading P)
    (m tau top_error u_out floor_out : R) (logits kept rest : list R) (largest : forall x, In x logits -> x <= m).
  Notation lambda := (unit M).
  Notation top := (m / 2 - tau).
  Notation rho := (deviation_log M P).
  Notation a := (half_loss M P m).
  Notation ds := (map (fun x => (m - x) / 2) logits).
  Context (support : Permutation ds (kept ++ rest)) (some : kept <> [])
    (near_top : Rabs (root kept - top) + prefix_root_error M rho a H kept <= top_error).

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
    intros ct inx dev item. assert (nonneg : Forall (fun x => 0 <= x) kept).
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
      apply Rmult_le_compat; try apply Rabs_pos; [easy|]. triangle. rewrite (Rabs_right (2 * r)) by lra. lra. }
    assert (rr : 0 <= r * r) by monotone. assert (inner : Rabs (w - r * r) <= square_coefficient_error r e + 0).
    { rewrite eqw.
      replace (q * q * exp t1 + e1 - r * r) with ((exp t1 - 1) * (r * r) + (q * q - r * r) * exp t1 + e1) by ring.
      assert (Rabs ((exp t1 - 1) * (r * r)) <= (exp lambda - 1) * (r * r)).
      { rewrite Rabs_mult, (Rabs_right (r * r)) by lra. apply Rmult_le_compat_r; [lra|now apply expm1_abs]. }
      assert (Rabs ((q * q - r * r) * exp t1) <= e * (2 * r + e) * exp lambda).
      { rewrite Rabs_mult, (Rabs_right (exp t1)) by (left; apply exp_pos). apply Rmult_le_compat; [monotone|monotone|easy|].
        apply exp_le. apply abs_between in bt. lra. }
      pose proof (Rabs_triang ((exp t1 - 1) * (r * r) + (q * q - r * r) * exp t1) e1).
      pose proof (Rabs_triang ((exp t1 - 1) * (r * r)) ((q * q - r * r) * exp t1)). unfold square_coefficient_error. lra. }
    pose proof (rounded_error u_out (r * r) w d2 e2 (square_coefficient_error r e) 0 floor_out bd2 be2 inner) as out.
    rewrite <- eqp, (Rabs_right (r * r)) in out by lra. unfold stored_coefficient_error. replace (r ^ 2) with (r * r) by ring.
    lra.
  Qed.
End Entmax.
