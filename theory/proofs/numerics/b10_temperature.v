(** * B10: adaptive temperature, softmax(beta x) with beta from a computed entropy.

    Main results
    - [horner_error]       Horner's rule at degree 4 with stored coefficients: nine roundings,
                           |p_hat - P(h)| <= (e^(9 lambda) - 1) sum |a_i| h^i + underflow
    - [b10_beta]           |beta_hat - beta| <= tau = L |H_hat - H| + that, L = 2.52543 the Lipschitz constant of beta
    - [b10_coefficient]    |ln (p_j(s beta) / p_j(beta))| <= tau (D_j + Dbar'), Dbar' = Dbar + tau ln^2(n + e) / (1 - tau)^2,
                           for |s - 1| <= tau
    - [b10_moved_mean]     the mean deviation at s beta is at most (1 + tau) Dbar'
    - [b10_temperature]    |p_hat_j - p_j| <= (k_0 + k_1 D_j) p_j + f: B2 for the row at beta_hat, with tau (D_j + Dbar')
                           and the slope t (1 + tau) + tau

    Source: docs/tolerances.md, B10; temperature_error, adaptive_temperature_error in numerics/rounding/rounding_temperature.cpp. *)

From Coq Require Import ZArith.
From softcheck Require Import softmax adaptive_temperature quartic.
From softcheck.numerics Require Import row tilted_row reduction b1_sum element_threshold b2_element constants.
Local Open Scope R_scope.

(** ** The polynomial *)

Section Horner.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).

  (** A coefficient as the accumulator stores it. *)
  Definition stored (a c : R) : Prop := rel lambda c a.

  Definition magnitude (h : R) : R :=
    1791 / 1000 + h * (4917 / 1000 + h * (2300 / 1000 + h * (481 / 1000 + h * (37 / 1000)))).
  Definition powers (h : R) : R := 1 + h * (1 + h * (1 + h * (1 + h))).
  Definition polynomial_floor (h : R) : R := 2 * (wa + wm) * powers h.

  (** s <- fl (fl (s h) + c) *)
  Lemma horner_step k Y L h s exact p c a z :
    0 <= h -> near k Y Y L s exact -> lambda <= k -> stored a c ->
    computed_product M (s * h) p -> computed_sum M (p + c) z ->
    near (k + 2 * lambda) (h * Y + Rabs a) (h * Y + Rabs a) (exp (2 * lambda) * (h * L) + exp lambda * wm + wa) z (exact * h + a).
  Proof using good.
    intros hh hs hk [tc [bc ->]] [t1 [e1 [b1 [be1 ->]]]] [t2 [e2 [b2 [be2 ->]]]]. pose proof (unit_nonneg M good) as hl.
    assert (prod : near (k + lambda) (h * Y) (h * Y) (exp lambda * (h * L) + wm) (s * h * exp t1 + e1) (exact * h)).
    { apply near_add_loss; [easy|].
      pose proof (near_factor k 0 lambda Y Y L s exact h t1 ltac:(lra) ltac:(lra) hh hs) as scaled.
      rewrite exp_0, Rmult_1_r, Rplus_0_l in scaled. replace (s * h * exp t1) with (s * (h * exp t1)) by ring.
      replace (exact * h) with (h * exact) by ring. replace (exp lambda * (h * L)) with (h * exp lambda * L) by ring.
      easy. }
    assert (coef : near (k + lambda) (Rabs a) (Rabs a) 0 (a * exp tc) a).
    { repeat split; try lra. replace (a * exp tc - a) with (a * (exp tc - 1)) by ring. rewrite Rabs_mult.
      pose proof (expm1_abs tc lambda bc). pose proof (Rabs_pos a).
      pose proof (exp_le lambda (k + lambda) ltac:(lra)). nra. }
    pose proof (near_plus _ _ _ _ _ _ _ _ _ _ _ prod coef) as total.
    pose proof (near_rounding _ lambda _ _ _ wa _ _ t2 e2 b2 be2 total) as done.
    replace (k + lambda + lambda) with (k + 2 * lambda) in done by ring. eapply near_weaken; [| |apply done]; [lra|].
    rewrite Rplus_0_r. replace (2 * lambda) with (lambda + lambda) by ring. rewrite exp_plus. right. ring.
  Qed.

  Theorem horner_error h c4 c3 c2 c1 c0 p3 s3 p2 s2 p1 s1 p0 s0 :
    0 <= h ->
    stored (-37 / 1000) c4 -> stored (481 / 1000) c3 -> stored (-2300 / 1000) c2 -> stored (4917 / 1000) c1 ->
    stored (-1791 / 1000) c0 ->
    computed_product M (c4 * h) p3 -> computed_sum M (p3 + c3) s3 ->
    computed_product M (s3 * h) p2 -> computed_sum M (p2 + c2) s2 ->
    computed_product M (s2 * h) p1 -> computed_sum M (p1 + c1) s1 ->
    computed_product M (s1 * h) p0 -> computed_sum M (p0 + c0) s0 ->
    Rabs (s0 - quartic h)
    <= (exp (IZR horner_roundings * lambda) - 1) * magnitude h + exp (IZR horner_roundings * lambda) * polynomial_floor h.
  Proof using good.
    intros hh k4 k3 k2 k1 k0 hp3 hs3 hp2 hs2 hp1 hs1 hp0 hs0. pose proof (unit_nonneg M good) as hl.
    assert (first : near lambda (37 / 1000) (37 / 1000) 0 c4 (-37 / 1000)).
    { destruct k4 as [t4 [b4 ->]]. repeat split; try lra.
      - rewrite Rabs_left; lra.
      - replace (-37 / 1000 * exp t4 - -37 / 1000) with (-37 / 1000 * (exp t4 - 1)) by ring.
        rewrite Rabs_mult, (Rabs_left (-37 / 1000)) by lra. pose proof (expm1_abs t4 lambda b4). lra. }
    pose proof (horner_step _ _ _ _ _ _ _ _ _ _ hh first (Rle_refl _) k3 hp3 hs3) as n3.
    pose proof (horner_step _ _ _ _ _ _ _ _ _ _ hh n3 ltac:(lra) k2 hp2 hs2) as n2.
    pose proof (horner_step _ _ _ _ _ _ _ _ _ _ hh n2 ltac:(lra) k1 hp1 hs1) as n1.
    pose proof (horner_step _ _ _ _ _ _ _ _ _ _ hh n1 ltac:(lra) k0 hp0 hs0) as [_ [_ err]].
    rewrite (Rabs_right (481 / 1000)), (Rabs_left (-2300 / 1000)), (Rabs_right (4917 / 1000)), (Rabs_left (-1791 / 1000))
      in err by lra.
    replace (quartic h) with ((((-37 / 1000 * h + 481 / 1000) * h + -2300 / 1000) * h + 4917 / 1000) * h + -1791 / 1000)
      by (unfold quartic; field).
    eapply Rle_trans; [apply err|]. unfold horner_roundings.
    replace (lambda + 2 * lambda + 2 * lambda + 2 * lambda + 2 * lambda) with (9 * lambda) by ring.
    assert (mag : h * (h * (h * (h * (37 / 1000) + 481 / 1000) + - (-2300 / 1000)) + 4917 / 1000) + - (-1791 / 1000)
      = magnitude h) by (unfold magnitude; field).
    rewrite mag. set (E := exp lambda) in *. assert (E1 : 1 <= E) by now apply exp_at_least_one.
    replace (exp (2 * lambda)) with (E * E) by (unfold E; rewrite <- exp_plus; f_equal; ring).
    assert (E9 : exp (9 * lambda) = E * E * E * E * E * E * E * E * E)
      by (unfold E; rewrite <- !exp_plus; f_equal; ring).
    unfold sound in good. assert (ha : 0 <= wa) by lra. assert (hm : 0 <= wm) by lra.
    assert (loss : forall i, 0 <= i -> E * E * (h * i) + E * wm + wa <= E * E * (h * i + (wa + wm))).
    { intros i hi. assert (E * wm <= E * E * wm) by (apply Rmult_le_compat_r; [easy|]; apply grown; lra).
      assert (1 * wa <= E * E * wa) by (apply Rmult_le_compat_r; [easy|]; now apply one_le_product). lra. }
    set (w := wa + wm) in *. assert (hw : 0 <= w) by (unfold w; lra).
    assert (EE : 1 <= E * E) by now apply one_le_product.
    assert (l0 : E * E * (h * 0) + E * wm + wa <= E * E * w) by (pose proof (loss 0 ltac:(lra)); lra).
    assert (up : forall q i, q <= E * E * i -> 0 <= q -> 0 <= i -> E * E * (h * q) + E * wm + wa
      <= E * E * (E * E * (h * i + w))).
    { intros q i hq hq0 hi. eapply Rle_trans; [now apply loss|]. apply Rmult_le_compat_l; [lra|].
      assert (h * q <= h * (E * E * i)) by monotone. assert (w <= w * (E * E)) by now apply grown. lra. }
    assert (nonneg : forall q, 0 <= q -> 0 <= E * E * (h * q) + E * wm + wa).
    { intros q hq. assert (0 <= E * E * (h * q)) by monotone. assert (0 <= E * wm) by monotone. lra. }
    set (q0 := E * E * (h * 0) + E * wm + wa) in *. pose proof (nonneg 0 (Rle_refl 0)) as p_0. fold q0 in p_0.
    pose proof (up q0 w l0 p_0 hw) as l1. set (q1 := E * E * (h * q0) + E * wm + wa) in *.
    pose proof (nonneg q0 p_0) as p_1. fold q1 in p_1.
    assert (i1 : 0 <= E * E * (h * w + w)) by (apply Rmult_le_pos; [lra|]; assert (0 <= h * w) by monotone; lra).
    pose proof (up q1 _ l1 p_1 i1) as l2. set (q2 := E * E * (h * q1) + E * wm + wa) in *.
    pose proof (nonneg q1 p_1) as p_2. fold q2 in p_2.
    assert (i2 : 0 <= E * E * (h * (E * E * (h * w + w)) + w)) by monotone. pose proof (up q2 _ l2 p_2 i2) as l3.
    assert (total : E * E * (E * E * (h * (E * E * (h * (E * E * (h * w + w)) + w)) + w))
      <= exp (9 * lambda) * polynomial_floor h).
    { rewrite E9. unfold polynomial_floor, powers. fold w.
      assert (grow1 : E * E * (h * w + w) <= E * E * (h * w + w) * 1) by lra.
      set (E8 := E * E * E * E * E * E * E * E).
      assert (hE8 : 1 <= E8) by (unfold E8; repeat apply one_le_product; easy). assert (hw1 : 0 <= h * w) by monotone.
      assert (hw2 : 0 <= h * (h * w)) by monotone. assert (hw3 : 0 <= h * (h * (h * w))) by monotone.
      assert (hw4 : 0 <= h * (h * (h * (h * w)))) by monotone.
      assert (c4' : 1 <= E * E * (E * E)) by (apply one_le_product; easy).
      assert (c6' : 1 <= E * E * (E * E * (E * E))) by (repeat apply one_le_product; easy).
      assert (c48 : E * E * (E * E) <= E8).
      { replace E8 with (E * E * (E * E) * (E * E * (E * E))) by (unfold E8; ring). apply grown; lra. }
      assert (c68 : E * E * (E * E * (E * E)) <= E8).
      { replace E8 with (E * E * (E * E * (E * E)) * (E * E)) by (unfold E8; ring). apply grown; lra. }
      apply Rle_trans with (E8 * (h * (h * (h * w)) + h * (h * w) + h * w + w)).
      - replace (E * E * (E * E * (h * (E * E * (h * (E * E * (h * w + w)) + w)) + w)))
          with (E8 * (h * (h * (h * w))) + E8 * (h * (h * w)) + E * E * (E * E * (E * E)) * (h * w) + E * E * (E * E) * w)
          by (unfold E8; ring).
        assert (E * E * (E * E * (E * E)) * (h * w) <= E8 * (h * w)) by monotone.
        assert (E * E * (E * E) * w <= E8 * w) by monotone. lra.
      - replace (E * E * E * E * E * E * E * E * E) with (E8 * E) by (unfold E8; ring).
        replace (E8 * E * (2 * w * (1 + h * (1 + h * (1 + h * (1 + h))))))
          with (E8 * (E * (2 * (w + h * w + h * (h * w) + h * (h * (h * w)) + h * (h * (h * (h * w))))))) by ring.
        apply Rmult_le_compat_l; [lra|].
        set (sum4 := w + h * w + h * (h * w) + h * (h * (h * w)) + h * (h * (h * (h * w)))).
        assert (0 <= sum4) by (unfold sum4; lra). assert (2 * sum4 <= 2 * sum4 * E) by (apply grown; lra).
        unfold sum4 in *. lra. }
    lra.
  Qed.

  (** beta_hat = max (p_hat, 1), exactly. *)
  Theorem b10_beta H h p_hat error :
    0 <= h -> Rabs (h - H) <= error ->
    Rabs (p_hat - quartic h)
      <= (exp (IZR horner_roundings * lambda) - 1) * magnitude h + exp (IZR horner_roundings * lambda) * polynomial_floor h ->
    Rabs (Rmax p_hat 1 - inverse_temperature H)
    <= lipschitz_constant * error
       + (exp (IZR horner_roundings * lambda) - 1) * magnitude (H + error)
       + exp (IZR horner_roundings * lambda) * polynomial_floor (H + error).
  Proof using good.
    intros hh close poly. pose proof (unit_nonneg M good) as hl. pose proof (lipschitz h H) as lip.
    rewrite !dead_guard in *. assert (max1 : Rabs (Rmax p_hat 1 - Rmax (quartic h) 1) <= Rabs (p_hat - quartic h)).
    { unfold Rmax.
      destruct (Rle_dec p_hat 1), (Rle_dec (quartic h) 1); unfold Rabs; repeat destruct (Rcase_abs _); lra. }
    replace (Rmax p_hat 1 - Rmax (quartic H) 1)
      with ((Rmax p_hat 1 - Rmax (quartic h) 1) + (Rmax (quartic h) 1 - Rmax (quartic H) 1)) by ring.
    triangle. assert (lipschitz_constant * Rabs (h - H) <= lipschitz_constant * error).
    { apply Rmult_le_compat_l; [unfold lipschitz_constant; lra|easy]. }
    assert (hH : h <= H + error) by (apply abs_between in close; lra).
    assert (mono : magnitude h <= magnitude (H + error) /\ powers h <= powers (H + error)).
    { unfold magnitude, powers.
      split; repeat (apply Rplus_le_compat_l || (apply Rmult_le_compat; [lra| |lra|])); try lra;
      repeat (apply Rplus_le_le_0_compat || apply Rmult_le_pos); lra. }
    assert (grow : 1 <= exp (IZR horner_roundings * lambda)). { apply exp_at_least_one. unfold horner_roundings. lra. }
    assert ((exp (IZR horner_roundings * lambda) - 1) * magnitude h
      <= (exp (IZR horner_roundings * lambda) - 1) * magnitude (H + error)) by monotone.
    assert (exp (IZR horner_roundings * lambda) * polynomial_floor h
            <= exp (IZR horner_roundings * lambda) * polynomial_floor (H + error)).
    { apply Rmult_le_compat_l; [lra|]. unfold polynomial_floor. unfold sound in good. monotone. } lra.
  Qed.
End Horner.

(** ** Another inverse temperature *)

Section Tempered.
  Context (m : R) (logits : list R).   (* the row at the exact beta *)
  Hypothesis max : is_maximum m logits.
  Context (tau s : R).                 (* s = beta_hat / beta *)
  Context (tau_range : 0 <= tau < 1) (near_one : Rabs (s - 1) <= tau) (positive : 0 < s).

  Definition wider_mean : R := mean_deviation m logits + tau * second logits tau.

  Lemma scaled_maximum : is_maximum (s * m) (scaled s logits).
  Proof using max positive.
    split.
    - apply in_map, max.
    - intros y iny. apply in_map_iff in iny as [x [<- inx]]. apply Rmult_le_compat_l; [lra|]. now apply max.
  Qed.

  Lemma scaled_weights : weight_sum (s * m) (scaled s logits) = tilted m logits (1 - s) (fun _ => 1).
  Proof using.
    rewrite weight_sum_sum. unfold scaled, tilted, weighted_sum. rewrite map_map. apply sum_map_ext. intros x _.
    rewrite Rmult_1_r, <- exp_plus. f_equal. ring.
  Qed.

  Lemma wider_mean_above : mean_deviation m logits <= wider_mean.
  Proof using tau_range. unfold wider_mean. pose proof (second_nonneg logits tau). nra. Qed.

  (** ln (S_s / S) between 0 and (1 - s) Dbar', or -(s - 1) Dbar and 0. *)
  Lemma scaled_sum_between :
    exp (- (tau * wider_mean)) * weight_sum m logits <= weight_sum (s * m) (scaled s logits)
    <= exp (tau * wider_mean) * weight_sum m logits.
  Proof using max tau_range near_one positive.
    rewrite scaled_weights. apply abs_between in near_one. pose proof (S_at_least_one m logits max) as S1.
    pose proof (mean_deviation_nonneg m logits max) as hD. pose proof wider_mean_above as wide.
    assert (hw : 0 <= tau * wider_mean) by monotone. destruct (Rle_dec s 1) as [below|above].
    - pose proof (tilted_mass m logits max (1 - s) ltac:(lra)) as heavy.
      pose proof (mass_growing m logits max (1 - s) ltac:(lra)) as grows. split.
      + apply Rle_trans with (1 * weight_sum m logits); [|lra]. apply Rmult_le_compat_r; [lra|]. apply exp_at_most_one.
        lra.
      + eapply Rle_trans; [apply heavy|]. apply Rmult_le_compat_r; [lra|]. apply exp_le. unfold shift, wider_mean.
        pose proof (second_growing logits (1 - s) tau ltac:(lra) ltac:(lra) ltac:(lra)) as sec.
        pose proof (second_nonneg logits (1 - s)).
        assert ((1 - s) * mean_deviation m logits <= tau * mean_deviation m logits) by monotone.
        assert ((1 - s) ^ 2 <= tau ^ 2) by (apply pow_incr; lra).
        assert ((1 - s) ^ 2 * second logits (1 - s) <= tau ^ 2 * second logits tau).
        { apply Rmult_le_compat; try easy. apply pow2_ge_0. } pose proof (pow2_ge_0 (1 - s)).
        assert (0 <= (1 - s) ^ 2 * second logits (1 - s)) by monotone. lra.
    - split.
      + eapply Rle_trans; [|replace (1 - s) with (- (s - 1)) by ring; apply (tilted_mass_below m logits max (s - 1))].
        apply Rmult_le_compat_r; [lra|]. apply exp_le.
        assert ((s - 1) * mean_deviation m logits <= tau * wider_mean) by monotone. lra.
      + apply Rle_trans with (1 * weight_sum m logits); [|apply Rmult_le_compat_r; [lra|]; now apply exp_at_least_one].
        rewrite Rmult_1_l. apply weighted_sum_le. intros x inx. pose proof (proj2 max x inx). rewrite Rmult_1_r.
        apply exp_at_most_one. assert (0 <= (s - 1) * (m - x)) by monotone. lra.
  Qed.

  Theorem b10_coefficient x :
    In x logits -> rel (tau * (m - x) + tau * wider_mean) (coefficient (scaled s logits) (s * x)) (coefficient logits x).
  Proof using max tau_range near_one positive.
    intros inx. pose proof (proj2 max x inx) as hx.
    rewrite (coefficient_from_weight m logits max), (coefficient_from_weight (s * m) (scaled s logits) scaled_maximum).
    pose proof (S_at_least_one m logits max) as S1. pose proof scaled_sum_between as [low high]. apply rel_div.
    - exists ((1 - s) * (m - x)). split.
      + rewrite Rabs_mult, (Rabs_right (m - x)) by lra. apply Rmult_le_compat_r; [lra|]. rewrite <- Rabs_Ropp.
        replace (- (1 - s)) with (s - 1) by ring. easy.
      + rewrite <- exp_plus. f_equal. ring.
    - apply rel_of_bounds; [lra|]. lra.
  Qed.

  (** E_s[s D] <= (1 + tau) Dbar'. *)
  Theorem b10_moved_mean : mean_deviation (s * m) (scaled s logits) <= (1 + tau) * wider_mean.
  Proof using max tau_range near_one positive.
    pose proof (S_at_least_one m logits max) as S1. pose proof (mean_deviation_nonneg m logits max) as hD.
    pose proof wider_mean_above as wide. apply abs_between in near_one.
    assert (dev : deviation_sum (s * m) (scaled s logits) = s * tilted m logits (1 - s) (fun d => d)).
    { unfold deviation_sum, scaled, tilted. unfold weighted_sum at 1. rewrite map_map. rewrite <- weighted_sum_mult.
      apply sum_map_ext. intros x _. replace (s * x - s * m) with (x - m + (1 - s) * (m - x)) by ring.
      rewrite exp_plus. ring. }
    unfold mean_deviation at 1. rewrite dev, scaled_weights. set (W := tilted m logits (1 - s) (fun _ => 1)).
    assert (bound : tilted m logits (1 - s) (fun d => d) <= wider_mean * W /\ 0 < W).
    { destruct (Rle_dec s 1) as [below|above].
      - pose proof (hotter_mean_sum m logits max (1 - s) ltac:(lra)) as hot. fold W in hot.
        pose proof (mass_growing m logits max (1 - s) ltac:(lra)) as grows. fold W in grows. split; [|lra].
        eapply Rle_trans; [apply hot|]. apply Rmult_le_compat_r; [lra|]. unfold wider_mean.
        pose proof (second_growing logits (1 - s) tau ltac:(lra) ltac:(lra) ltac:(lra)).
        pose proof (second_nonneg logits (1 - s)).
        assert ((1 - s) * second logits (1 - s) <= tau * second logits tau) by monotone. lra.
      - (* colder: Chebyshev, by (D - Dbar) (e^(-tD) - e^(-t Dbar)) <= 0 *)
        assert (posW : 0 < W).
        { pose proof (tilted_mass_below m logits max (s - 1)) as light.
          replace (- (s - 1)) with (1 - s) in light by ring. fold W in light.
          pose proof (exp_pos (- ((s - 1) * mean_deviation m logits))). nra. }
        split; [|easy]. set (c := exp ((1 - s) * mean_deviation m logits)).
        assert (cheb : tilted m logits (1 - s) (fun d => d) - mean_deviation m logits * W
                       <= c * (deviation_sum m logits - mean_deviation m logits * weight_sum m logits)).
        { unfold W, tilted, deviation_sum, weight_sum. rewrite <- !weighted_sum_mult.
          replace (weighted_sum m logits (fun d => exp ((1 - s) * d) * d)
            - weighted_sum m logits (fun d => mean_deviation m logits * (exp ((1 - s) * d) * 1)))
            with (weighted_sum m logits
            (fun d => exp ((1 - s) * d) * d + -1 * (mean_deviation m logits * (exp ((1 - s) * d) * 1))))
            by (rewrite weighted_sum_plus, weighted_sum_mult; ring).
          replace (c * (weighted_sum m logits (fun d => d) - weighted_sum m logits (fun d => mean_deviation m logits * 1)))
            with (weighted_sum m logits (fun d => c * (d + -1 * (mean_deviation m logits * 1))))
            by (rewrite weighted_sum_mult, weighted_sum_plus, weighted_sum_mult; ring).
          apply weighted_sum_le. intros x _. set (d := m - x). unfold c. set (D := mean_deviation m logits).
          destruct (Rle_dec d D) as [le|gt].
          - pose proof (exp_le ((1 - s) * D) ((1 - s) * d) ltac:(nra)). nra.
          - pose proof (exp_le ((1 - s) * d) ((1 - s) * D) ltac:(nra)). nra. }
        rewrite (deviation_sum_mean m logits max) in cheb.
        assert (mean_deviation m logits * W <= wider_mean * W) by monotone. lra. }
    destruct bound as [bound posW]. apply Rmult_le_reg_r with W; [easy|]. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. assert (tnonneg : 0 <= tilted m logits (1 - s) (fun d => d)).
    { apply weighted_sum_nonneg. intros x inx. pose proof (proj2 max x inx). monotone. } rewrite Rmult_assoc. monotone.
  Qed.
End Tempered.

(** ** The coefficients *)

Section B10.
  Context (M : arithmetic) (out : output_format) (good : sound M) (good_out : sound_output out) (kappa m : R)
    (logits : list R) (tau s : R) (max : is_maximum m logits) (tau_range : 0 <= tau < 1)
    (near_one : Rabs (s - 1) <= tau) (positive : 0 < s) (S_hat : R) (h j : nat).
  (* the kernel's sum of the row at beta_hat *)
  Hypothesis hs : sum_of_row M kappa (s * m) (scaled s logits) S_hat h j.
  Hypothesis some : lost_sum M kappa (s * m) (scaled s logits) h j < 1.
  Notation t := (slope M).
  Notation C := (element_log M out kappa (s * m) (scaled s logits) h j + tau * wider_mean m logits tau).
  Notation rate := (t * (1 + tau) + tau).

  Theorem b10_temperature quantum x p :
    0 < quantum <= 1 -> rate < 1 -> In x logits -> computed_element M out kappa (s * m) j S_hat (s * x) p ->
    Rabs (p - coefficient logits x)
    <= (threshold_constant C + threshold_slope quantum C rate * (m - x)) * coefficient logits x
       + (element_floor M out kappa (s * m) (scaled s logits) h j + threshold_floor quantum).
  Proof using good good_out max tau_range near_one positive hs some.
    intros hq hrate inx elem. assert (ins : In (s * x) (scaled s logits)) by now apply in_map.
    destruct (element_error M out good good_out kappa (s * m) (scaled s logits) S_hat h j hs some (s * x) p ins elem)
      as [w [e [bw [be ->]]]].
    pose proof (scaled_maximum m logits max s positive) as maxs.
    replace (exp (- (s * m - s * x)) / weight_sum (s * m) (scaled s logits))
      with (coefficient (scaled s logits) (s * x)).
    2:{ rewrite (coefficient_from_weight (s * m) (scaled s logits) maxs). f_equal. f_equal. ring. }
    destruct (b10_coefficient m logits max tau s tau_range near_one positive x inx) as [v [bv ->]].
    pose proof (proj2 max x inx) as hx. pose proof (slope_nonneg M good) as ht.
    pose proof (mean_deviation_nonneg m logits max) as hD. pose proof (wider_mean_above m logits tau tau_range) as wide.
    pose proof (element_log_nonneg M out good good_out kappa (s * m) (scaled s logits) S_hat h j hs some) as hC.
    assert (hw : 0 <= tau * wider_mean m logits tau) by monotone. set (c := coefficient logits x).
    assert (cpos : 0 < c) by (apply coefficient_pos, in_not_nil with x; easy).
    assert (small : Rabs (v + w) <= C + rate * (m - x)).
    { triangle. assert (sx : s * m - s * x <= (1 + tau) * (m - x)).
      { replace (s * m - s * x) with (s * (m - x)) by ring. apply Rmult_le_compat_r; [lra|].
        apply abs_between in near_one. lra. }
      assert (t * (s * m - s * x) <= t * ((1 + tau) * (m - x))) by monotone. lra. }
    replace (c * exp v * exp w + e - c) with (c * (exp (v + w) - 1) + e) by (rewrite exp_plus; ring). triangle.
    rewrite Rabs_mult, (Rabs_right c) by lra. pose proof (expm1_abs (v + w) _ small) as grows.
    assert (0 <= t * (1 + tau)) by monotone.
    pose proof (element_threshold quantum C rate hq ltac:(lra) ltac:(lra) (m - x) c ltac:(lra)) as chord.
    assert (below : 0 <= c <= exp (- (m - x))).
    { split; [lra|]. unfold c. rewrite (coefficient_from_weight m logits max).
      pose proof (S_at_least_one m logits max). replace (x - m) with (- (m - x)) by ring.
      pose proof (exp_pos (- (m - x))). assert (0 < / weight_sum m logits <= 1).
      { split; [monotone|]. rewrite <- Rinv_1. monotone. } unfold Rdiv. rewrite <- (Rmult_1_r (exp (- (m - x)))) at 2.
      monotone. }
    specialize (chord below). assert (c * Rabs (exp (v + w) - 1) <= c * (exp (C + rate * (m - x)) - 1)) by monotone.
    lra.
  Qed.
End B10.
