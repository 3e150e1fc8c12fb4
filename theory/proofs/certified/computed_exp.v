(** * How the C++ code computes exp: e^z = 2^k p(r), r = z - k ln 2, p(r) = 1 + (r + r^2 q(r)).

    One algorithm, three times in the C++ code: the judge's double filter and the CPU kernels in f32 and f64. This file
    says what it computes, operation by operation, each multiply-add with one rounding (FMA) or two, and bounds its
    error; exponentials.v holds the constants, exponential_constants.v what is asked of them.

    Main results
    - [count_is_integer]    adding a number near 1.5 * 2^(p-1) and taking it away rounds z log2 e to an integer
    - [rest_is_exact]       z - k C1 is exact, with and without FMA
    - [reduced_error]       |r - (z - k ln 2)| <= 0.252 u
    - [significand_error]   |p - e^r| <= 1.4902 u e^r, the polynomial's own error included
    - [exponential_error]   |2^k p - e^z| <= 1.75 u e^z
    - [power_is_exact]      the product by a power of two is exact

    Not modelled: the bits by which 2^k is made (the integer k is shifted into an exponent field).

    Source: docs/tolerances/cascade.md, "The exponential of the filter"; kernels/README.md, "Why the contract holds". *)

From Coq Require Import Reals List ZArith Lra Lia.
From Flocq Require Import Core Mult_error.
From softcheck Require Import standard_interval.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.certified Require Import rounded_operations exponential_constants.
Import ListNotations.
Local Open Scope R_scope.

Section Error.
  Context (C : exponential) (rho : R) (M e K g h : Z) (steps : list step) (fits : suitable C rho M e K g h steps).
  Let F := arithmetic_format C.
  Let u := unit_roundoff F.
  Let slack := two_to (g - prec F - 1).

  Lemma positive_precision : (0 < prec F)%Z.
  Proof. pose proof (precise fits). unfold F. lia. Qed.
  Local Instance precision_is_positive : Prec_gt_0 (prec F) := positive_precision.

  Lemma slack_range : 0 < slack <= / 8.
  Proof.
    split; [apply bpow_gt_0|]. change (/ 8) with (two_to (-3)). apply bpow_le.
    pose proof (precise fits). pose proof (binades fits). unfold F. lia.
  Qed.

  Lemma unit_small : 0 < u <= / 16777216.
  Proof.
    split; [apply bpow_gt_0|]. change (/ 16777216) with (two_to (-24)). apply bpow_le.
    pose proof (precise fits). unfold F. lia.
  Qed.

  Lemma u_times n : two_to (n - prec F - 1) = two_to (n - 1) * u.
  Proof. unfold u, unit_roundoff. rewrite <- bpow_plus. f_equal. ring. Qed.

  Context (z : R) (z_number : number F z) (z_range : lowest C <= z <= 0).

  Lemma product_range : Rabs (z * log2_e C) <= - lowest C * log2_e C.
  Proof.
    pose proof (log2_range fits). rewrite Rabs_mult, (Rabs_left1 z), (Rabs_right (log2_e C)) by lra.
    apply Rmult_le_compat_r; lra.
  Qed.

  (** ** k: adding the rounder makes the sum an integer *)

  Theorem count_is_integer shifted :
    mul_add F z (log2_e C) (IZR (rounder C)) shifted ->
    exists k, fl F (shifted - IZR (rounder C)) = IZR k /\ Rabs (IZR k - z * log2_e C) <= 1 / 2 + slack.
  Proof.
    intros computed. destruct slack_range as [s0 s4]. pose proof (product_range) as size.
    pose proof (product_binade fits) as binade. pose proof (window fits) as [lower upper].
    pose proof (precise fits) as p24. pose proof (deep fits) as dp. pose proof (binades fits) as gh.
    fold F in lower, upper, p24, dp.
    assert (exists w, shifted = fl F (w + IZR (rounder C)) /\ Rabs (w - z * log2_e C) <= slack) as [w [eq close]].
    { destruct computed as [-> | ->].
      - exists (z * log2_e C). unfold Rminus. rewrite Rplus_opp_r, Rabs_R0. lra.
      - exists (fl F (z * log2_e C)). split; [easy|]. apply rounding_error; [apply positive_precision|lia|lra]. }
    assert (z * log2_e C <= 0) by (pose proof (log2_range fits); nra).
    assert (slack <= two_to g) by (apply bpow_le; lia). rewrite bpow_plus in lower. change (two_to 1) with 2 in lower.
    apply Rabs_le_inv in size. apply Rabs_le_inv in close. set (s := IZR (rounder C)) in *.
    set (B := two_to (prec F)) in *. assert (half : two_to (prec F - 1) = B / 2).
    { unfold Zminus. rewrite bpow_plus. easy. } assert (large : two_to (prec F - 1) <= Rabs shifted).
    { subst shifted. apply abs_round_ge_generic; try typeclasses eauto.
      - apply generic_format_bpow. unfold FLT_exp. lia.
      - rewrite Rabs_right; lra. }
    assert (err : Rabs (shifted - (w + s)) <= / 2).
    { subst shifted. change (/ 2) with (two_to (-1)). replace (-1)%Z with (prec F - prec F - 1)%Z by ring.
      apply rounding_error; [apply positive_precision|lia|]. fold B. rewrite Rabs_right; lra. }
    destruct (on_grid F shifted (prec F - 1)) as [m grid]; [subst shifted; apply number_fl, positive_precision|easy|].
    replace (prec F - 1 - prec F + 1)%Z with 0%Z in grid by ring. rewrite Rmult_1_r in grid. apply Rabs_le_inv in err.
    exists (m - rounder C)%Z. rewrite minus_IZR. fold s. rewrite <- grid. split; [|apply Rabs_le; lra]. apply fl_number.
    replace (shifted - s) with (IZR (m - rounder C) * two_to 0) by (rewrite minus_IZR, grid; cbn; unfold s; ring).
    apply number_of_integer; [|lia]. apply lt_IZR. rewrite abs_IZR, minus_IZR, <- grid, (IZR_Zpower radix2) by lia.
    fold s B. apply Rabs_def1; lra.
  Qed.

  Section Count.
    Context (k : Z) (rounded : Rabs (IZR k - z * log2_e C) <= 1 / 2 + slack).

    Lemma count_range : (- K <= k <= 0)%Z.
    Proof.
      pose proof product_range as size. pose proof (counts fits). destruct slack_range.
      pose proof (log2_range fits). assert (z * log2_e C <= 0) by nra.
      apply Rabs_le_inv in size. pose proof (Rabs_le_inv _ _ rounded) as close. split.
      - assert (- (K + 1) < k)%Z; [|lia]. apply lt_IZR. rewrite opp_IZR, plus_IZR. lra.
      - assert (k < 1)%Z; [|lia]. apply lt_IZR. lra.
    Qed.

    Lemma count_size : Rabs (IZR k) <= IZR K.
    Proof. rewrite <- abs_IZR. apply IZR_le. pose proof count_range. lia. Qed.

    (** ** The rest: z and k C1 are multiples of u / 2, their difference is below 1/2 *)

    Lemma rest_size : Rabs (z - IZR k * ln2_high C) <= 1 / 2 - two_to (h + 1).
    Proof.
      pose proof (near fits) as bound. fold F slack in bound.
      replace (z - IZR k * ln2_high C) with
        (z * (1 - log2_e C * ln2_high C) + - ln2_high C * (IZR k - z * log2_e C)) by ring.
      triangle. assert (Rabs (z * (1 - log2_e C * ln2_high C)) <= - lowest C * Rabs (1 - log2_e C * ln2_high C)).
      { apply product_within; [|apply Rle_refl]. rewrite Rabs_left1; lra. }
      assert (Rabs (- ln2_high C * (IZR k - z * log2_e C)) <= ln2_high C * (1 / 2 + slack)).
      { apply product_within; [|easy]. rewrite Rabs_Ropp. pose proof (high_sign fits). rewrite Rabs_right; lra. } lra.
    Qed.

    Theorem rest_is_exact rest : mul_add F (- IZR k) (ln2_high C) z rest -> rest = z - IZR k * ln2_high C.
    Proof.
      intros computed. pose proof (precise fits) as p24. pose proof (deep fits) as dp.
      pose proof (high_place fits) as place. pose proof (high_bits fits) as bits. fold F in p24, dp, place, bits.
      pose proof count_range as kK. pose proof (high_form fits) as form.
      assert (product : number F (- IZR k * ln2_high C)).
      { replace (- IZR k * ln2_high C) with (IZR (- k * M) * two_to (e)).
        - apply number_of_integer; [|lia]. nia.
        - rewrite form, mult_IZR, opp_IZR. ring. }
      assert (difference : number F (z - IZR k * ln2_high C)).
      { destruct (Z.eq_dec k 0) as [->|nonzero]; [now replace (z - 0 * ln2_high C) with z by ring|].
        assert (far : two_to (-2) <= Rabs z).
        { pose proof (log2_range fits). destruct slack_range. change (two_to (-2)) with (/ 4).
          rewrite Rabs_left1 by lra. assert (IZR k <= -1) by (apply IZR_le; lia).
          pose proof (Rabs_le_inv _ _ rounded). nra. }
        destruct (on_grid F z (-2) z_number far) as [m grid]. set (E := (-2 - prec F + 1)%Z) in *.
        set (n := (m - k * (M * 2 ^ (e - E)))%Z). assert (same : z - IZR k * ln2_high C = IZR n * two_to E).
        { unfold n. rewrite minus_IZR, !mult_IZR, (IZR_Zpower radix2) by lia. rewrite grid at 1. rewrite form.
          replace (two_to (e)) with (two_to (e - E) * two_to E).
          - ring.
          - rewrite <- bpow_plus. f_equal. ring. }
        rewrite same. apply number_of_integer; [|unfold E; lia]. apply lt_IZR.
        rewrite abs_IZR, (IZR_Zpower radix2) by lia. apply Rmult_lt_reg_r with (two_to E); [apply bpow_gt_0|].
        rewrite <- (Rabs_right (two_to E)) at 1 by (apply Rle_ge, bpow_ge_0). rewrite <- Rabs_mult, <- same.
        rewrite <- bpow_plus. unfold E. replace (prec F + (-2 - prec F + 1))%Z with (-1)%Z by ring.
        change (two_to (-1)) with (/ 2). pose proof rest_size. pose proof (bpow_gt_0 radix2 (h + 1)). lra. }
      assert (sum : - IZR k * ln2_high C + z = z - IZR k * ln2_high C) by ring.
      destruct computed as [-> | ->]; rewrite ?(fl_number F _ product), sum; now apply fl_number.
    Qed.

    (** ** The reduced argument *)

    Definition exact_rest : R := z - IZR k * ln 2.

    Theorem reduced_error r :
      mul_add F (- IZR k) (ln2_low C) (z - IZR k * ln2_high C) r ->
      Rabs (r - exact_rest) <= (1 / 4 + 2 / 1024) * u /\ Rabs r <= rho /\ Rabs exact_rest <= rho.
    Proof.
      intros computed. pose proof (precise fits) as p24. pose proof (deep fits) as dp. pose proof (binades fits) as gh.
      fold F in p24, dp. pose proof unit_small as [u0 u24]. pose proof (low_binade fits) as low.
      pose proof rest_size as rest. pose proof count_size as size.
      assert (small : Rabs (- IZR k * ln2_low C) <= two_to h).
      { eapply Rle_trans; [|apply low]. apply product_within; [now rewrite Rabs_Ropp|apply Rle_refl]. }
      assert (halves : two_to (h - prec F - 1) <= two_to h /\ two_to (h - prec F - 1) <= u / 1024).
      { split; [apply bpow_le; lia|]. rewrite u_times. rewrite Rmult_comm. apply Rmult_le_compat_l; [lra|].
        change (/ 1024) with (two_to (-10)). apply bpow_le. lia. }
      rewrite bpow_plus in rest. change (two_to 1) with 2 in rest.
      assert (sum : Rabs (- IZR k * ln2_low C + (z - IZR k * ln2_high C)) + two_to (h - prec F - 1) <= two_to (-1)).
      { change (two_to (-1)) with (/ 2). eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|]. lra. }
      pose proof (mul_add_error F positive_precision _ _ _ _ h (-1) ltac:(lia) ltac:(lia) computed small sum) as err.
      assert (quarter : two_to (-1 - prec F - 1) = / 4 * u). { rewrite u_times. easy. }
      pose proof (ln2_close fits) as close.
      assert (constants : Rabs (IZR k * (ln 2 - ln2_high C - ln2_low C)) <= u / 1024).
      { eapply Rle_trans; [|apply close]. apply product_within; [easy|apply Rle_refl]. }
      assert (distance : Rabs (r - exact_rest) <= (1 / 4 + 2 / 1024) * u).
      { unfold exact_rest.
        replace (r - (z - IZR k * ln 2)) with ((r - (- IZR k * ln2_low C + (z - IZR k * ln2_high C))) +
          IZR k * (ln 2 - ln2_high C - ln2_low C)) by ring.
        triangle. lra. }
      assert (inside : Rabs exact_rest + u <= rho).
      { pose proof (range fits) as bound. fold F u slack in bound. unfold exact_rest.
        replace (z - IZR k * ln 2) with (z * (1 - log2_e C * ln 2) + - ln 2 * (IZR k - z * log2_e C)) by ring.
        assert (Rabs (z * (1 - log2_e C * ln 2)) <= - lowest C * Rabs (1 - log2_e C * ln 2)).
        { apply product_within; [|apply Rle_refl]. rewrite Rabs_left1; lra. }
        assert (Rabs (- ln 2 * (IZR k - z * log2_e C)) <= ln 2 * (1 / 2 + slack)).
        { apply product_within; [|easy]. rewrite Rabs_Ropp. pose proof ln_2_lower. rewrite Rabs_right; lra. }
        eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|]. lra. }
      split; [easy|]. split; [|lra]. replace r with ((r - exact_rest) + exact_rest) by ring. triangle. lra.
    Qed.
  End Count.

  (** ** The polynomial at a reduced argument *)

  Section Significand.
    Context (r q tail : R).
    Let Q := horner (coefficients C) r.
    Context (r_number : number F r) (r_within : Rabs r <= rho) (q_computed : computed_horner F (coefficients C) r q)
      (tail_computed : mul_add F (fl F (r * r)) q r tail).

    Lemma r_small : Rabs r <= 3466 / 10000.
    Proof. eapply Rle_trans; [apply r_within|apply (rho_small fits)]. Qed.

    Lemma q_bounds : Rabs q <= 3 / 5 /\ Rabs (q - Q) <= 5 / 8 * u.
    Proof.
      pose proof (horner_error F positive_precision rho r steps q r_within (steps_hold fits)) as bounds.
      rewrite (coefficients_named fits) in bounds. destruct (bounds q_computed) as [size err].
      pose proof (largest_q fits). pose proof (error_q fits) as eq. fold F u in eq. fold Q in err.
      fold F in size, err, bounds. split; eapply Rle_trans; [apply size|easy|apply err|easy].
    Qed.

    Lemma square_bounds : Rabs (fl F (r * r) - r * r) <= u / 16 /\ 0 <= fl F (r * r) <= 1 / 8 /\
      r * r <= 3466 / 10000 * (3466 / 10000).
    Proof.
      pose proof (deep fits) as dp. pose proof (precise fits) as p24. fold F in dp, p24. pose proof unit_small.
      pose proof r_small as small. pose proof (product_within r r _ _ small small) as square.
      assert (0 <= r * r) by nra. rewrite Rabs_right in square by lra.
      assert (eighth : Rabs (r * r) <= two_to (-3)) by (change (two_to (-3)) with (/ 8); rewrite Rabs_right; lra).
      pose proof (rounding_error F positive_precision (r * r) (-3) ltac:(lia) eighth) as err. rewrite u_times in err.
      change (two_to (-3 - 1)) with (/ 16) in err. split; [lra|].
      pose proof (fl_monotone F positive_precision 0 (r * r) ltac:(easy)) as low. rewrite fl_0 in low.
      apply Rabs_le_inv in err. repeat split; lra.
    Qed.

    Lemma tail_bounds : Rabs (tail - (r + r * r * Q)) <= 4251 / 10000 * u /\ Rabs tail <= 1 /\ (r <= 0 -> tail <= 0).
    Proof.
      pose proof (deep fits) as dp. pose proof (precise fits) as p24. fold F in dp, p24.
      pose proof unit_small. destruct q_bounds as [q_size q_err]. destruct square_bounds as [s_err [s_range rr]].
      set (s := fl F (r * r)) in *. pose proof r_small as small.
      assert (product : Rabs (s * q) <= 3 / 40).
      { eapply Rle_trans; [apply (product_within s q (1 / 8) (3 / 5)); [rewrite Rabs_right; lra|easy]|lra]. }
      assert (sum : Rabs (s * q + r) <= 3 / 40 + 3466 / 10000) by (eapply Rle_trans; [apply Rabs_triang|lra]).
      assert (sixteenth : two_to (-3 - prec F - 1) = / 16 * u) by (rewrite u_times; easy).
      assert (quarter : two_to (-1 - prec F - 1) = / 4 * u) by (rewrite u_times; easy).
      pose proof (mul_add_error F positive_precision s q r tail (-3) (-1) ltac:(lia) ltac:(lia) tail_computed) as err.
      change (two_to (-3)) with (/ 8) in err. change (two_to (-1)) with (/ 2) in err. split; [|split].
      - replace (tail - (r + r * r * Q)) with ((tail - (s * q + r)) + ((s - r * r) * q + r * r * (q - Q))) by ring.
        pose proof (product_within (s - r * r) q (u / 16) (3 / 5) s_err q_size).
        assert (Rabs (r * r) <= 3466 / 10000 * (3466 / 10000)) by (rewrite Rabs_right by nra; easy).
        pose proof (product_within (r * r) (q - Q) _ _ H1 q_err).
        pose proof (Rabs_triang (tail - (s * q + r)) ((s - r * r) * q + r * r * (q - Q))).
        pose proof (Rabs_triang ((s - r * r) * q) (r * r * (q - Q))). lra.
      - replace tail with ((tail - (s * q + r)) + (s * q + r)) by ring. eapply Rle_trans; [apply Rabs_triang|lra].
      - (* r is negative: r^2 <= -r, so the rounded square and the rounded product stay below -r, a number *)
        intros negative. assert (opposite : number F (- r)) by now apply generic_format_opp.
        assert (s_below : s <= - r).
        { rewrite <- (fl_number F (- r) opposite). apply fl_monotone; [apply positive_precision|nra]. }
        assert (below : s * q <= - r).
        { apply Rabs_le_inv in q_size. nra. }
        rewrite <- (fl_0 F).
        destruct tail_computed as [-> | ->]; apply fl_monotone; try apply positive_precision; [lra|].
        pose proof (fl_monotone F positive_precision _ _ below) as rounded.
        rewrite (fl_number F (- r) opposite) in rounded. lra.
    Qed.

    Theorem significand_error : Rabs (fl F (1 + tail) - exp r) <= 14902 / 10000 * u * exp r.
    Proof.
      pose proof (deep fits) as dp. pose proof (precise fits) as p24. fold F in dp, p24.
      pose proof unit_small as [u0 _]. destruct tail_bounds as [t_err [t_size t_sign]].
      pose proof (truncation fits r r_within) as method. fold F u Q in method. pose proof (exp_pos r) as positive.
      set (P := 1 + r * (1 + r * Q)) in *. assert (method' : Rabs (P - exp r) <= 65 / 1000 * u * exp r).
      { replace (P - exp r) with ((P * exp (- r) - 1) * exp r).
        - rewrite Rabs_mult, (Rabs_right (exp r)) by lra. apply Rmult_le_compat_r; lra.
        - rewrite exp_Ropp. field. lra. }
      assert (ahead : Rabs (1 + tail - P) <= 4251 / 10000 * u).
      { replace (1 + tail - P) with (tail - (r + r * r * Q)) by (unfold P; ring). easy. } apply Rabs_le_inv in t_size.
      assert (rounded : Rabs (fl F (1 + tail) - P) <= 14252 / 10000 * u * exp r).
      { replace (fl F (1 + tail) - P) with ((fl F (1 + tail) - (1 + tail)) + (1 + tail - P)) by ring. triangle.
        destruct (Rle_dec r 0) as [negative|nonneg].
        - assert (Rabs (1 + tail) <= two_to 0) by (specialize (t_sign negative); cbn; rewrite Rabs_right; lra).
          pose proof (rounding_error F positive_precision (1 + tail) 0 ltac:(lia) ltac:(easy)) as last.
          rewrite u_times in last. change (two_to (0 - 1)) with (/ 2) in last.
          assert (7 / 10 <= exp r) by (pose proof (Rabs_le_inv _ _ r_small); enclose).
          assert (7 / 10 * u <= exp r * u) by (apply Rmult_le_compat_r; lra). lra.
        - assert (Rabs (1 + tail) <= two_to 1) by (cbn; rewrite Rabs_right; lra).
          pose proof (rounding_error F positive_precision (1 + tail) 1 ltac:(lia) ltac:(easy)) as last.
          rewrite u_times in last. change (two_to (1 - 1)) with 1 in last.
          assert (1 <= exp r) by (pose proof (exp_above_tangent r); lra).
          assert (1 * u <= exp r * u) by (apply Rmult_le_compat_r; lra). lra. }
      replace (fl F (1 + tail) - exp r) with ((fl F (1 + tail) - P) + (P - exp r)) by ring. triangle. lra.
    Qed.
  End Significand.

  Lemma near_exponents a b d : Rabs (a - b) <= d -> d <= / 1000 -> Rabs (exp a - exp b) <= 1002 / 1000 * d * exp b.
  Proof.
    intros close small. pose proof (exp_pos b) as positive. replace (exp a - exp b) with ((exp (a - b) - 1) * exp b).
    - rewrite Rabs_mult, (Rabs_right (exp b)) by lra. apply Rmult_le_compat_r; [lra|]. apply Rabs_le_inv in close.
      pose proof (exp_above_tangent (a - b)). pose proof (exp_above_tangent (- (a - b))) as over.
      rewrite exp_Ropp in over. set (x := exp (a - b)) in *. assert (x * (1 + - (a - b)) <= 1).
      { apply Rle_trans with (x * / x); [apply Rmult_le_compat_l; lra|]. rewrite Rinv_r; lra. } apply Rabs_le. nra.
    - unfold Rminus at 2. rewrite exp_plus, exp_Ropp. field. lra.
  Qed.

  (** ** All together *)

  Theorem exponential_error count p :
    computed_exponential C z count p ->
    exists k, count = IZR k /\ (- K <= k <= 0)%Z /\ number F p /\ 7 / 10 <= p <= 142 / 100 /\
      Rabs (p * two_to k - exp z) <= 175 / 100 * u * exp z.
  Proof.
    intros [shifted [rest [r [q [tail [c1 [c2 [c3 [c4 [c5 [c6 c7]]]]]]]]]]]. fold F in c1, c2, c3, c4, c5, c6, c7.
    apply neg_mul_add_opposite in c3. apply neg_mul_add_opposite in c4.
    destruct (count_is_integer shifted c1) as [k [eq rounded]]. rewrite eq in c2. subst count. exists k.
    rewrite (rest_is_exact k rounded rest c3) in c4.
    destruct (reduced_error k rounded r c4) as [close [r_near t_small]].
    assert (r_number : number F r) by (destruct c4 as [-> | ->]; apply number_fl, positive_precision).
    pose proof (significand_error r q tail r_number r_near c5 c6) as err. rewrite <- c7 in err.
    pose proof unit_small as [u0 u24]. set (t := exact_rest k) in *. set (X := exp t).
    pose proof (near_exponents r t _ close ltac:(lra)) as moved. fold X in moved.
    assert (positive : 707 / 1000 <= X <= 1415 / 1000).
    { pose proof (rho_small fits). assert (inside : Rabs t <= 3466 / 10000) by lra. split; enclose. }
    assert (uX : 0 <= u * X <= / 16777216 * X) by nra. assert (fine : exp r * u <= X * u + / 1000000 * (u * X)).
    { apply Rabs_le_inv in moved. assert (step : exp r - X <= / 1000000 * X) by lra.
      apply (Rmult_le_compat_r u) in step; lra. }
    assert (distance : Rabs (p - X) <= 175 / 100 * u * X).
    { replace (p - X) with ((p - exp r) + (exp r - X)) by ring. triangle. lra. } assert (scale : exp z = X * two_to k).
    { unfold X, t, exact_rest. rewrite (bpow_exp radix2). change (IZR radix2) with 2. rewrite <- exp_plus. f_equal.
      ring. }
    split; [easy|]. split; [now apply count_range|]. split; [rewrite c7; apply number_fl, positive_precision|]. split.
    - apply Rabs_le_inv in distance. lra.
    - rewrite scale. replace (p * two_to k - X * two_to k) with ((p - X) * two_to k) by ring.
      rewrite Rabs_mult, (Rabs_right (two_to k)) by (apply Rle_ge, bpow_ge_0). rewrite <- Rmult_assoc.
      apply Rmult_le_compat_r; [apply bpow_ge_0|easy].
  Qed.
End Error.

(** ** The last product, by a power of two *)

Lemma number_times_power F x n :
  (0 < prec F)%Z -> number F x -> 7 / 10 <= x -> (emin F + prec F <= n)%Z -> number F (x * two_to n).
Proof.
  intros positive x_number low normal. apply mult_bpow_exact_FLT; [easy|]. assert (0 <= mag radix2 x)%Z; [|lia].
  apply mag_ge_bpow. change (two_to (0 - 1)) with (/ 2). rewrite Rabs_right; lra.
Qed.

Theorem power_is_exact F x n :
  (0 < prec F)%Z -> number F x -> 7 / 10 <= x -> (emin F + prec F <= n)%Z -> fl F (x * two_to n) = x * two_to n.
Proof. intros. apply fl_number. now apply number_times_power. Qed.

Lemma scaled_error x y b s : Rabs (x - y) <= b * y -> 0 <= s -> Rabs (x * s - y * s) <= b * (y * s).
Proof.
  intros close positive. replace (x * s - y * s) with ((x - y) * s) by ring.
  rewrite Rabs_mult, (Rabs_right s), <- Rmult_assoc by lra. now apply Rmult_le_compat_r.
Qed.

(** Within the error E u that a contract states: what standard_model.v calls a computed exponential. *)
Lemma meets_contract F flushed E A E_l step z w :
  0 <= E * unit_roundoff F < 1 -> Rabs (w - exp z) <= E * unit_roundoff F * exp z ->
  sound (kernel_arithmetic F flushed E A E_l step) -> computed_exp (kernel_arithmetic F flushed E A E_l step) (- z) w.
Proof.
  intros range close good. apply exponential_of_contract; [easy|]. left. rewrite Ropp_involutive.
  pose proof (exp_pos z). exists ((w - exp z) / exp z). cbn. split; [|field; lra].
  unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ exp z)) by (left; now apply Rinv_0_lt_compat).
  apply Rmult_le_reg_r with (exp z); [easy|]. now rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
Qed.
