(** * B20: sparsemax, p_j = max(x_j - tau, 0) with tau such that sum p = 1, as a kernel computes it from deviations.

    Main results, in the notation of b20_supports.v
    - [b20_top]         |top_hat - (1 + sum D) / k| <= quotient_error
    - [b20_item]        max(top_hat - D_hat, 0) errs by at most element; for D > top by no more than element - (D - top), or is 0
    - [b20_sparsemax]   the same of a row's coefficient behind the output's rounding

    Source: docs/tolerances/projections.md; SparsemaxThreshold in numerics/rounding/rounding_projections.cpp. Not covered: what 1/k loses
    where it underflows. *)

From Coq Require Import Sorted.
From softcheck.numerics Require Import score_error b5_logsumexp added_terms projected_row b20_supports.
Local Open Scope R_scope.

(** ** Coefficients *)

Section Coefficients.
  Context (M : arithmetic) (rho a : R) (H : nat) (good : sound M) (hrho : 0 <= rho) (ha : 0 <= a).
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).

  (** (1 + sum D) / k: the division by a k that is rounded, or the product with a rounded 1/k. *)
  Definition computed_top (kept : list R) (t : R) : Prop :=
    exists s h z b, added M rho a kept s h /\ (h <= H)%nat /\ computed_sum M (1 + s) z /\ Rabs b <= lambda /\
      computed_product M (z / size kept * exp b) t.

  Definition quotient_error (g mean : R) : R :=
    (exp (3 * lambda) - 1) * g + exp (3 * lambda) * ((exp (rho + INR H * lambda) - 1) * mean)
    + exp ((INR H + 3) * lambda) * (a + wa) + wm.

  Theorem b20_top kept t :
    kept <> [] -> Forall (fun x => 0 <= x) kept -> computed_top kept t ->
    Rabs (t - prefix_quotient kept) <= quotient_error (prefix_quotient kept) (prefix_mean kept).
  Proof using good hrho ha.
    intros some nonneg [s [h [z [b [tree [low [[t1 [e1 [bt1 [be1 ->]]]] [bb [t2 [e2 [bt2 [be2 ->]]]]]]]]]]]].
    pose proof (unit_nonneg M good) as fl. assert (fa : 0 <= wa) by (unfold sound in good; lra).
    pose proof (size_at_least_one kept some) as k1. set (k := size kept) in *.
    pose proof (added_error M good rho a kept s h hrho ha tree) as close. unfold added_rounding, added_loss in close.
    fold k in close. assert (mag : magnitude kept = sum kept).
    { unfold magnitude. rewrite <- (map_id kept) at 2. apply sum_map_ext. intros x inx. apply Rabs_right, Rle_ge.
      now apply (proj1 (Forall_forall _ _) nonneg). }
    rewrite mag in close. pose proof (sum_nonneg kept nonneg) as s0. apply le_INR in low.
    assert (hl : INR h * lambda <= INR H * lambda) by monotone. assert (h0 : 0 <= INR h * lambda) by monotone.
    apply abs_between in bt1. apply abs_between in bt2. apply abs_between in bb. set (T := t1 + b + t2).
    assert (bT : Rabs T <= 3 * lambda) by (apply Rabs_le; unfold T; lra). unfold prefix_quotient, prefix_mean, quotient_error.
    fold k.
    replace (((1 + s) * exp t1 + e1) / k * exp b * exp t2 + e2 - (1 + sum kept) / k)
      with ((exp T - 1) * ((1 + sum kept) / k) + exp T * ((s - sum kept) / k) + e1 / k * exp (b + t2) + e2)
      by (unfold T; rewrite !exp_plus; field; lra).
    assert (over : forall x, 0 <= x -> 0 <= x / k <= x).
    { intros x hx. split; [apply Rmult_le_pos; [easy|monotone]|]. rewrite <- (Rmult_1_r x) at 2.
      apply Rmult_le_compat_l; [easy|]. rewrite <- Rinv_1. monotone. }
    assert (part1 : Rabs ((exp T - 1) * ((1 + sum kept) / k)) <= (exp (3 * lambda) - 1) * ((1 + sum kept) / k)).
    { rewrite Rabs_mult, (Rabs_right ((1 + sum kept) / k)) by (pose proof (over (1 + sum kept)); lra).
      apply Rmult_le_compat_r; [pose proof (over (1 + sum kept)); lra|]. now apply expm1_abs. }
    assert (eT : exp T <= exp (3 * lambda)) by (apply exp_le; apply abs_between in bT; lra). set (E := exp (3 * lambda)) in *.
    set (G := exp (rho + INR H * lambda)). set (L := exp (INR H * lambda)).
    assert (rounding : (exp (rho + INR h * lambda) - 1) * sum kept + exp (INR h * lambda) * (k * a + (k - 1) * wa)
                       <= (G - 1) * sum kept + L * (k * a + (k - 1) * wa)).
    { assert (exp (rho + INR h * lambda) <= G) by (apply exp_le; lra).
      assert (exp (INR h * lambda) <= L) by (apply exp_le; lra). assert (0 <= k * a) by monotone.
      assert (0 <= (k - 1) * wa) by monotone. monotone. }
    assert (part2 : Rabs (exp T * ((s - sum kept) / k)) <= E * (((G - 1) * sum kept + L * (k * a + (k - 1) * wa)) / k)).
    { unfold Rdiv.
      rewrite !Rabs_mult, (Rabs_right (exp T)), (Rabs_right (/ k))
        by (apply Rle_ge; left; (apply exp_pos || apply Rinv_0_lt_compat; lra)).
      apply Rmult_le_compat; [monotone| |easy|].
      - monotone.
      - monotone. }
    assert (part3 : Rabs (e1 / k * exp (b + t2)) <= E * (wa / k)).
    { unfold Rdiv.
      rewrite !Rabs_mult, (Rabs_right (exp _)), (Rabs_right (/ k))
        by (apply Rle_ge; left; (apply exp_pos || apply Rinv_0_lt_compat; lra)).
      rewrite Rmult_comm. apply Rmult_le_compat; [left; apply exp_pos| |apply exp_le; lra|].
      - monotone.
      - monotone. }
    assert (L1 : 1 <= L) by (apply exp_at_least_one; lra).
    assert (all : E * (((G - 1) * sum kept + L * (k * a + (k - 1) * wa)) / k) + E * (wa / k)
                  <= E * ((G - 1) * (sum kept / k)) + E * L * (a + wa)).
    { replace (E * (((G - 1) * sum kept + L * (k * a + (k - 1) * wa)) / k) + E * (wa / k))
        with (E * ((G - 1) * (sum kept / k)) + E * L * (a + wa) - E * ((L - 1) * (wa / k))) by (field; lra).
      assert (0 <= E * ((L - 1) * (wa / k))).
      { apply Rmult_le_pos; [left; apply exp_pos|]. apply Rmult_le_pos; [lra|]. now apply over. } lra. }
    replace (exp ((INR H + 3) * lambda)) with (E * L) by (unfold E, L; rewrite <- exp_plus; f_equal; ring).
    set (p1 := (exp T - 1) * _) in *. set (p2 := exp T * _) in *. set (p3 := e1 / k * _) in *.
    pose proof (Rabs_triang (p1 + p2 + p3) e2). pose proof (Rabs_triang (p1 + p2) p3). pose proof (Rabs_triang p1 p2). lra.
  Qed.

  (** moved bounds how far the support's quotient is above top, mean the mean D of its items. *)
  Definition element (top moved mean D p : R) : R :=
    (exp lambda - 1) * p + exp lambda * ((exp rho - 1) * D + a + quotient_error (top + moved) mean + moved) + wa.

  Theorem b20_item top moved mean kept t D d q :
    kept <> [] -> Forall (fun x => 0 <= x) kept -> computed_top kept t ->
    top <= prefix_quotient kept <= top + moved -> prefix_mean kept <= mean ->
    0 <= D -> approximates rho a D d -> computed_item M t d q ->
    (top < D /\ q = 0) \/ Rabs (q - Rmax (top - D) 0) <= element top moved mean D (Rmax (top - D) 0) - Rmax (D - top) 0.
  Proof using good hrho ha.
    intros some nonneg ct [g1 g2] means hD [td [ed [btd [bed ->]]]] item. pose proof (unit_nonneg M good) as fl.
    assert (fa : 0 <= wa) by (unfold sound in good; lra). pose proof (b20_top kept t some nonneg ct) as close.
    set (g := prefix_quotient kept) in *. assert (H0 : 0 <= INR H * lambda) by monotone.
    assert (grow : quotient_error g (prefix_mean kept) <= quotient_error (top + moved) mean).
    { unfold quotient_error. pose proof (exp_at_least_one (3 * lambda) ltac:(lra)).
      pose proof (exp_at_least_one (rho + INR H * lambda) ltac:(lra)).
      assert ((exp (3 * lambda) - 1) * g <= (exp (3 * lambda) - 1) * (top + moved)) by monotone.
      assert (exp (3 * lambda) * ((exp (rho + INR H * lambda) - 1) * prefix_mean kept)
        <= exp (3 * lambda) * ((exp (rho + INR H * lambda) - 1) * mean)) by monotone.
      lra. }
    set (Q := quotient_error (top + moved) mean) in *.
    assert (inner : Rabs (t - (D * exp td + ed) - (top - D)) <= (exp rho - 1) * D + a + Q + moved).
    { replace (t - (D * exp td + ed) - (top - D)) with ((t - g) + (g - top) + (D * (1 - exp td)) + - ed) by ring.
      pose proof (expm1_abs td rho btd) as ge. assert (Rabs (D * (1 - exp td)) <= (exp rho - 1) * D).
      { rewrite Rabs_mult, (Rabs_right D) by lra. rewrite Rabs_minus_sym, Rmult_comm. monotone. }
      assert (Rabs (g - top) <= moved) by (rewrite Rabs_right; lra).
      pose proof (Rabs_triang (t - g + (g - top) + D * (1 - exp td)) (- ed)). rewrite Rabs_Ropp in *.
      pose proof (Rabs_triang (t - g + (g - top)) (D * (1 - exp td))). pose proof (Rabs_triang (t - g) (g - top)).
      lra. }
    exact (clipped_difference M good top D t (D * exp td + ed) _ _ inner item).
  Qed.
End Coefficients.

(** ** The row's coefficient *)

Section Sparsemax.
  Context (M : arithmetic) (P : logit_reading) (H : nat) (good : sound M) (good_reading : sound_reading P)
    (m tau moved mean u_out floor_out : R) (logits kept rest : list R) (largest : forall x, In x logits -> x <= m)
    (threshold : is_sparsemax_threshold tau logits).
  Notation top := (m - tau).
  Notation rho := (deviation_log M P).
  Notation a := (deviation_loss M P m).
  Notation ds := (map (fun x => m - x) logits).
  Context (support : Permutation ds (kept ++ rest)) (some : kept <> [])
    (quotient : prefix_quotient kept <= top + moved) (mean_above : prefix_mean kept <= mean).

  Definition stored_element (D p : R) : R :=
    let e := element M rho a H top moved mean D p in e + u_out * (p + e) + floor_out.

  Theorem b20_sparsemax t x d q p :
    computed_top M rho a H kept t -> In x logits -> computed_deviation M P m x d -> computed_item M t d q -> stored u_out floor_out q p ->
    (x < tau /\ p = 0) \/ Rabs (p - Rmax (x - tau) 0) <= stored_element (m - x) (Rmax (x - tau) 0) - Rmax (tau - x) 0.
  Proof using good good_reading largest threshold support some quotient mean_above.
    intros ct inx dev item [[d1 [e1 [bd1 [be1 ->]]]] zero]. assert (nonneg : Forall (fun x => 0 <= x) kept).
    { assert (all : Forall (fun x => 0 <= x) ds).
      { apply Forall_forall. intros y iny. apply in_map_iff in iny as [w [<- inw]]. pose proof (largest w inw). lra. }
      pose proof (Permutation_Forall support all) as split. now apply Forall_app in split. }
    assert (is : is_sparsemax_top top (kept ++ rest)).
    { unfold is_sparsemax_top. rewrite <- (sum_map_permutation _ _ _ support). now apply top_of_threshold. }
    pose proof (threshold_below_quotient top kept rest some is) as above.
    pose proof (read_deviation M P good good_reading m x d (largest x inx) dev) as close.
    pose proof (b20_item M rho a H good (deviation_log_nonneg M P good good_reading)
      (deviation_loss_nonneg M P good good_reading m) top moved mean kept t (m - x) d q some nonneg ct
      (conj above quotient) mean_above ltac:(pose proof (largest x inx); lra) close item) as bound.
    replace (top - (m - x)) with (x - tau) in bound by ring. replace (m - x - top) with (tau - x) in bound by ring.
    destruct bound as [[outside nothing]|bound]; [left; split; [lra|auto]|right]. unfold stored_element.
    set (e := element M rho a H top moved mean (m - x) (Rmax (x - tau) 0)) in *. set (v := Rmax (x - tau) 0) in *.
    assert (v0 : 0 <= v) by apply Rmax_r. assert (u0 : 0 <= u_out) by (pose proof (Rabs_pos d1); lra).
    pose proof (rounded_error u_out v q d1 e1 (e - Rmax (tau - x) 0) 0 floor_out bd1 be1 ltac:(lra)) as out.
    rewrite (Rabs_right v) in out by lra.
    assert (0 <= u_out * Rmax (tau - x) 0) by (apply Rmult_le_pos; [easy|apply Rmax_r]). lra.
  Qed.
End Sparsemax.
