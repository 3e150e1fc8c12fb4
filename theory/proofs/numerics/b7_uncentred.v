(** * B7: the entropy, uncentred, m + ln S - T / S with T = sum w x: its upper bound.

    Main results, |x| <= |m| + D, so that E|x| <= |m| + Dbar
    - [tilted_mass_order]   sum p e^(tD) <= 1 + t Dbar + t^2/2 e^mu v
    - [b7_moment]           T over any tree with any rescalings: |T_hat - T| <= sum w |x| (e^(B + tD) - 1) + f e^B sum w^(1 - t)
                            + e^B (f a + lost), B = b + (1 + t) kappa + g; a logit as a factor within e^(+-g) and f
    - [b7_mean]             |T_hat / S_hat - E[x]| <= (e^Q - 1)(|m| + Dbar) + e^Q (t (|m| Dbar + V2)
                            + t^2/2 e^mu (|m| v + l) + f (e^mu + a) + lost), Q = B + sigma + the quotient
    - [b7_entropy]          with the logarithm, the maximum and two additions in any order, the first of a size of at most
                            |m| + ln S + |m| + Dbar, then the output

    lost = n (omega_x F + omega_m + omega_a [+ 2 omega_x F + 2 omega_m]), F = |m| + kappa + (1 + t)(D_0 + c) + 1, however far below the
    maximum an item lies (b7_far_items.v), and a = n (omega_x + omega_a [+ 2 omega_x + 2 omega_m]).

    That its error must be so large says b7_uncentred_failure.v.

    Source: docs/tolerances.md, B7; entropy_uncentred_error in numerics/rounding/rounding_entropy.cpp. *)

From softcheck.numerics Require Import row added_terms tilted_row reduction b1_sum b5_logsumexp b6_entropy b9_attention
  b7_far_items.
Local Open Scope R_scope.

Theorem tilted_mass_order m logits t :
  is_maximum m logits -> 0 <= t < 1 ->
  tilted m logits t (fun _ => 1)
  <= weight_sum m logits * (1 + t * mean_deviation m logits + t ^ 2 / 2 * exp (shift m logits t) * second logits t).
Proof.
  intros max ht.
  apply Rle_trans with (weight_sum m logits + t * deviation_sum m logits + t ^ 2 / 2 * tilted m logits t (fun d => d ^ 2)).
  - unfold tilted, deviation_sum. rewrite weight_sum_sum.
    replace (sum (map (fun x => exp (x - m)) logits)) with (weighted_sum m logits (fun _ => 1))
      by (unfold weighted_sum; apply sum_map_ext; intros; ring).
    rewrite <- !weighted_sum_mult, <- !weighted_sum_plus. apply weighted_sum_le. intros x inx.
    pose proof (deviation_nonneg m logits max x inx) as hd. set (d := m - x) in *. rewrite Rmult_1_r.
    pose proof (exp_second_order (t * d) ltac:(apply Rmult_le_pos; lra)). rewrite Rpow_mult_distr in *. lra.
  - rewrite (deviation_sum_mean m logits max). pose proof (tilted_square m logits max t ht). pose proof (tilted_mass m logits max t ht).
    pose proof (second_nonneg logits t). pose proof (pow2_ge_0 t).
    assert (tilted m logits t (fun d => d ^ 2) <= second logits t * (exp (shift m logits t) * weight_sum m logits)) by nra. nra.
Qed.

(** A log error under another one, both from 1 on. *)
Lemma joined_growth delta c k : 0 <= c -> Rabs delta <= k -> exp delta * (exp c - 1) + Rabs (exp delta - 1) <= exp (k + c) - 1.
Proof.
  intros hc bound. pose proof (expm1_abs delta k bound) as grows. apply abs_between in bound.
  pose proof (exp_at_least_one c hc). pose proof (exp_le delta k ltac:(lra)) as le.
  assert (exp delta * (exp c - 1) <= exp k * (exp c - 1)) by monotone. rewrite exp_plus. lra.
Qed.

(** A logit, as the kernel reduces it, and as it multiplies its weight. *)
Record logit_item := { logit : R; reduced : R; factor : R }.

Section B7.
  Context (M : arithmetic) (good : sound M) (kappa m m' g f : R) (row : list logit_item).
  Notation logits := (map logit row).
  Notation pairs := (map (fun a => (reduced a, factor a)) row).
  Context (max : is_maximum m logits) (max' : is_maximum m' (map reduced row))
    (losses : 0 <= kappa /\ 0 <= g /\ 0 <= f)
    (near : forall a, In a row -> Rabs ((m' - reduced a) - (m - logit a)) <= kappa /\ approximates g f (logit a) (factor a))
    (y s : R) (h j K h' j' : nat) (r : R) (hy : accumulated M no_format pairs m' y h j K)
    (few : INR K <= 2 * size logits) (none : (j = 0 -> K = 0)%nat) (hs : sum_of_row M kappa m logits s h' j')
    (some : lost_sum M kappa m logits h' j' < 1) (loses : 0 <= r) (leaves : roundoff M + r < 1).
  Notation t := (slope M).
  Notation u := (roundoff M).
  Notation S := (weight_sum m logits).
  Notation Dbar := (mean_deviation m logits).
  Notation V2 := (mean_square_deviation m logits).
  Notation mu := (shift m logits t).
  Notation b := (term_log M no_format h j).
  Notation n := (size logits).

  Definition factor_log : R := b + (1 + t) * kappa + g.
  (** sum w x, and sum w |x| (e^(B + tD) - 1) *)
  Definition exact_moment : R := weighted_sum m logits (fun d => m - d).
  Definition moment_growth : R := weighted_sum m logits (fun d => Rabs (m - d) * (exp (factor_log + t * d) - 1)).
  (** Of an item's factor what counts, and what underflow takes from n of them. *)
  Definition lost_logit : R := Rabs m + kappa + (far_cutoff M + 1).
  Definition lost_logits : R :=
    n * (exp_floor M * lost_logit + product_floor M + sum_floor M
         + match j with 0%nat => 0 | Datatypes.S _ => 2 * exp_floor M * lost_logit + 2 * product_floor M end).
  Definition moment_lost : R := f * (n * lost M j) + lost_logits.
  Definition moment_absolute : R := f * exp factor_log * tilted m logits t (fun _ => 1) + exp factor_log * moment_lost.

  Let plain : 0 <= weight_unit no_format /\ 0 <= weight_floor no_format.
  Proof using. cbn. lra. Qed.

  Local Ltac facts :=
    pose proof (slope_nonneg M good) as ht; assert (ht4 : t <= / 4) by apply good;
    pose proof (term_log_nonneg M no_format good plain h j) as hb; destruct losses as [hk [hg hf]];
    assert (hkt : 0 <= t * kappa) by (apply Rmult_le_pos; lra).

  (** |x| e^g + f with |x| <= |m| + D, D <= D' + kappa. *)
  Lemma factor_reaches : reaches m' (exp g * (Rabs m + kappa) + f) (exp g) pairs.
  Proof using near losses max.
    intros p inp. apply in_map_iff in inp as [a [<- ina]]. cbn [fst snd]. destruct losses as [hk [hg hf]].
    destruct (near a ina) as [moved [w [e [bw [be ->]]]]]. apply abs_between in moved. apply abs_between in bw.
    pose proof (proj2 max (logit a) (in_map logit row a ina)) as above. pose proof (Rabs_pos (logit a)).
    assert (size : Rabs (logit a) <= Rabs m + kappa + (m' - reduced a)).
    { replace (logit a) with (m - (m - logit a)) by ring. unfold Rminus at 1. triangle.
      rewrite Rabs_Ropp, (Rabs_right (m - logit a)) by lra. lra. }
    triangle. rewrite Rabs_mult, (Rabs_right (exp w)) by (left; apply exp_pos).
    assert (Rabs (logit a) * exp w <= (Rabs m + kappa + (m' - reduced a)) * exp g) by monotone. lra.
  Qed.

  Lemma moment_lost_nonneg : 0 <= moment_lost.
  Proof using good losses max.
    assert (wx : 0 <= exp_floor M) by (unfold sound in good; lra).
    assert (wm : 0 <= product_floor M) by (unfold sound in good; lra). assert (wa : 0 <= sum_floor M) by (unfold sound in good; lra).
    assert (n1 : 1 <= n) by (apply size_at_least_one, in_not_nil with m, max).
    assert (0 <= far_cutoff M) by (pose proof (far_cutoff_large M good 0 0 ltac:(lra)); lra). pose proof (Rabs_pos m).
    assert (F0 : 0 <= exp_floor M * lost_logit) by (apply Rmult_le_pos; unfold lost_logit; lra). pose proof (lost_nonneg M good j).
    apply Rplus_le_le_0_compat; [repeat apply Rmult_le_pos; lra|]. apply Rmult_le_pos; [lra|]. case j; intros; lra.
  Qed.

  Lemma reached_loss :
    exp b * lost_factors M (exp g * (Rabs m + kappa) + f) (exp g) n j <= exp factor_log * moment_lost.
  Proof using good losses max.
    facts. assert (wx : 0 <= exp_floor M) by (unfold sound in good; lra).
    assert (wm : 0 <= product_floor M) by (unfold sound in good; lra).
    assert (wa : 0 <= sum_floor M) by (unfold sound in good; lra).
    assert (n1 : 1 <= n) by (apply size_at_least_one, in_not_nil with m, max). pose proof (exp_at_least_one g hg) as g1.
    set (G := exp g) in *. set (F := lost_logit).
    assert (whole : far_factor M (G * (Rabs m + kappa) + f) G = G * F + f) by (unfold far_factor, F, lost_logit; ring).
    assert (inner : lost_factors M (G * (Rabs m + kappa) + f) G n j <= G * moment_lost).
    { unfold lost_factors. rewrite whole. unfold moment_lost, lost_logits, reduction.lost. fold F.
      assert (up : forall z, 0 <= z -> z <= G * z) by (intros; rewrite <- (Rmult_1_l z) at 1; apply Rmult_le_compat_r; lra).
      assert (fx : 0 <= f * exp_floor M) by monotone. assert (fm : 0 <= f * product_floor M) by monotone.
      assert (fa : 0 <= f * sum_floor M) by monotone. pose proof (up _ fx). pose proof (up _ wm). pose proof (up _ wa).
      pose proof (up _ fm). pose proof (up _ fa).
      apply Rle_trans with
        (n * (G * (f * (exp_floor M + sum_floor M + match j with 0%nat => 0
        | Datatypes.S _ => 2 * exp_floor M + 2 * product_floor M end)
        + (exp_floor M * F + product_floor M + sum_floor M + match j with 0%nat => 0
        | Datatypes.S _ => 2 * exp_floor M * F + 2 * product_floor M end)))); [|right; ring].
      apply Rmult_le_compat_l; [lra|]. case j; intros; lra. }
    apply Rle_trans with (exp b * (G * moment_lost)); [apply Rmult_le_compat_l; [monotone|easy]|]. rewrite <- Rmult_assoc.
    unfold G. rewrite <- exp_plus. apply Rmult_le_compat_r; [apply moment_lost_nonneg|]. apply exp_le. unfold factor_log.
    assert (0 <= (1 + t) * kappa) by monotone. lra.
  Qed.

  Theorem b7_moment : Rabs (y - exact_moment) <= moment_growth + moment_absolute.
  Proof using good max max' losses near hy few none.
    facts. assert (same : size pairs = n) by (unfold size; now rewrite !map_length).
    assert (factors : 0 <= exp g * (Rabs m + kappa) + f /\ 0 <= exp g) by monotone.
    destruct (far_near M good m' _ _ factors pairs y h j K hy factor_reaches ltac:(rewrite same; exact few) none) as
      [_ [_ err]].
    rewrite same in err. pose proof reached_loss as loss.
    assert (exact : exact_moment = sum (map (fun a => exp (logit a - m) * logit a) row)).
    { unfold exact_moment, weighted_sum. rewrite map_map. apply sum_map_ext. intros. ring. }
    assert (growth : moment_growth + moment_absolute
      = sum (map (fun a => exp (logit a - m) * (Rabs (logit a) * (exp (factor_log + t * (m - logit a)) - 1))
      + f * exp factor_log * (exp (logit a - m) * exp (t * (m - logit a)))) row) + exp factor_log * moment_lost).
    { unfold moment_growth, moment_absolute, tilted, weighted_sum. rewrite !map_map, sum_map_plus, sum_map_mult_l.
      rewrite <- Rplus_assoc. f_equal. f_equal.
      - apply sum_map_ext. intros a _. replace (m - (m - logit a)) with (logit a) by ring. ring.
      - f_equal. apply sum_map_ext. intros. ring. }
    rewrite growth, exact.
    replace (y - sum (map (fun a => exp (logit a - m) * logit a) row))
      with ((y - values_sum m' pairs) + (values_sum m' pairs - sum (map (fun a => exp (logit a - m) * logit a) row))) by ring.
    triangle.
    assert (apart : Rabs (values_sum m' pairs - sum (map (fun a => exp (logit a - m) * logit a) row))
                    <= sum (map (fun a => Rabs (factor a * exp (- (m' - reduced a)) - exp (logit a - m) * logit a)) row)).
    { unfold values_sum. rewrite map_map, <- sum_map_minus. cbn [fst snd]. apply sum_map_abs. }
    eapply Rle_trans; [apply Rplus_le_compat; [apply err|apply apart]|]. unfold values_pull. rewrite !map_map. cbn [fst snd].
    assert (each : exp b * sum (map (fun a => Rabs (factor a) * exp (- (fade M * (m' - reduced a)))) row)
                   - sum (map (fun a => Rabs (factor a) * exp (- (1 * (m' - reduced a)))) row)
                   + sum (map (fun a => Rabs (factor a * exp (- (m' - reduced a)) - exp (logit a - m) * logit a)) row)
                   <= sum (map (fun a => exp (logit a - m) * (Rabs (logit a) * (exp (factor_log + t * (m - logit a)) - 1))
                                         + f * exp factor_log * (exp (logit a - m) * exp (t * (m - logit a)))) row)).
    { rewrite <- sum_map_mult_l, <- sum_map_minus, <- sum_map_plus. apply sum_map_le. intros a ina.
      destruct (near a ina) as [moved [w [e [bw [be eqv]]]]]. pose proof (proj2 max' (reduced a) (in_map _ _ _ ina)) as ab.
      set (D := m - logit a) in *. set (D' := m' - reduced a) in *. set (x := logit a) in *. pose proof (Rabs_pos x) as hx.
      replace (x - m) with (- D) by (unfold D, x; ring). apply abs_between in moved.
      assert (D0 : 0 <= D') by (unfold D'; lra). assert (tD : 0 <= t * D') by monotone.
      assert (tDD : t * D' <= t * D + t * kappa) by (rewrite <- Rmult_plus_distr_l; apply Rmult_le_compat_l; lra).
      set (c := b + t * D'). set (delta := (D - D') + w). apply abs_between in bw.
      assert (bd : Rabs delta <= kappa + g) by (unfold delta; apply Rabs_le; lra).
      assert (e1 : exp b * exp (- (fade M * D')) = exp (- D') * exp c).
      { unfold c, fade. rewrite <- !exp_plus. f_equal. ring. }
      assert (e2 : exp (- D') * exp w = exp (- D) * exp delta) by (unfold delta; rewrite <- !exp_plus; f_equal; ring).
      pose proof (exp_at_least_one c ltac:(unfold c; lra)) as C1. pose proof (exp_pos (- D')) as pD'.
      pose proof (exp_pos (- D)) as pD. assert (sizev : Rabs (factor a) <= Rabs x * exp w + f).
      { rewrite eqv. triangle. rewrite Rabs_mult, (Rabs_right (exp w)) by (left; apply exp_pos). lra. }
      replace (- (1 * D')) with (- D') by ring.
      assert (part1 : exp b * (Rabs (factor a) * exp (- (fade M * D'))) - Rabs (factor a) * exp (- D')
                      <= (Rabs x * exp w + f) * (exp (- D') * (exp c - 1))).
      { replace (exp b * (Rabs (factor a) * exp (- (fade M * D'))) - Rabs (factor a) * exp (- D'))
          with (Rabs (factor a) * (exp b * exp (- (fade M * D')) - exp (- D'))) by ring.
        rewrite e1. replace (exp (- D') * exp c - exp (- D')) with (exp (- D') * (exp c - 1)) by ring. monotone. }
      assert (part2 : Rabs (factor a * exp (- D') - exp (- D) * x)
        <= exp (- D) * (Rabs x * Rabs (exp delta - 1)) + f * exp (- D')).
      { rewrite eqv.
        replace ((x * exp w + e) * exp (- D') - exp (- D) * x)
        with (x * (exp (- D') * exp w - exp (- D)) + e * exp (- D')) by ring.
        rewrite e2. replace (x * (exp (- D) * exp delta - exp (- D))) with (exp (- D) * (x * (exp delta - 1))) by ring.
        triangle. rewrite !Rabs_mult, (Rabs_right (exp (- D))), (Rabs_right (exp (- D'))) by lra. monotone. }
      assert (grown' : exp delta * (exp c - 1) + Rabs (exp delta - 1) <= exp (factor_log + t * D) - 1).
      { eapply Rle_trans; [apply (joined_growth delta c (kappa + g)); [unfold c; lra|easy]|].
        apply Rplus_le_compat_r, exp_le. unfold c, factor_log. lra. }
      assert (main : exp (- D) * (Rabs x * (exp delta * (exp c - 1) + Rabs (exp delta - 1)))
        <= exp (- D) * (Rabs x * (exp (factor_log + t * D) - 1))) by monotone.
      assert (rest : f * (exp (- D') * exp c) <= f * exp factor_log * (exp (- D) * exp (t * D))).
      { rewrite Rmult_assoc. apply Rmult_le_compat_l; [easy|]. rewrite <- !exp_plus. apply exp_le. unfold c, factor_log.
        lra. }
      replace ((Rabs x * exp w + f) * (exp (- D') * (exp c - 1)))
        with (Rabs x * (exp (- D') * exp w) * (exp c - 1) + f * (exp (- D') * exp c) - f * exp (- D')) in part1 by ring.
      rewrite e2 in part1. lra. }
    lra.
  Qed.

  (** ** The mean E[x] *)

  Definition mean_size : R := Rabs m + Dbar.
  Definition mean_log : R := factor_log + (sigma M kappa m logits h' j' + quotient_unit M r).
  Definition mean_excess : R :=
    t * (Rabs m * Dbar + V2) + t ^ 2 / 2 * exp mu * (Rabs m * second logits t + third logits t).
  Definition uncentred_mean_error : R :=
    (exp mean_log - 1) * mean_size + exp mean_log * (mean_excess + f * (exp mu + n * lost M j) + lost_logits).

  Let scaled : 1 <= S.
  Proof using max. now apply S_at_least_one. Qed.

  Lemma size_of_item x : In x logits -> Rabs (m - (m - x)) <= Rabs m + (m - x).
  Proof using max.
    intros inx. pose proof (proj2 max x inx). unfold Rminus at 1. triangle.
    rewrite Rabs_Ropp, (Rabs_right (m - x)) by lra. lra.
  Qed.

  (** sum p |x|, and its growth under e^(tD). *)
  Lemma mean_parts :
    let X := weighted_sum m logits (fun d => Rabs (m - d)) / S in
    X <= mean_size /\ Rabs (exact_moment / S) <= X /\ moment_growth / S <= exp factor_log * (X + mean_excess) - X.
  Proof using good max losses.
    intros X. facts. assert (inv : 0 < / S) by monotone.
    assert (X_is : X * S = weighted_sum m logits (fun d => Rabs (m - d))) by (unfold X; field; lra). split; [|split].
    - apply Rmult_le_reg_r with S; [lra|]. rewrite X_is. unfold mean_size.
      apply Rle_trans with (weighted_sum m logits (fun d => Rabs m * 1 + d)).
      + apply weighted_sum_le. intros x inx. rewrite Rmult_1_r. now apply size_of_item.
      + rewrite weighted_sum_plus, weighted_sum_mult. fold (weight_sum m logits). fold (deviation_sum m logits).
        rewrite (deviation_sum_mean m logits max). lra.
    - unfold X, Rdiv. rewrite Rabs_mult, (Rabs_right (/ S)) by lra. apply Rmult_le_compat_r; [lra|].
      unfold exact_moment, weighted_sum. eapply Rle_trans; [apply sum_map_abs|]. right. apply sum_map_ext. intros x _.
      rewrite Rabs_mult, (Rabs_right (exp (x - m))) by (left; apply exp_pos). easy.
    - apply Rmult_le_reg_r with S; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      replace ((exp factor_log * (X + mean_excess) - X) * S) with (exp factor_log * (X * S + mean_excess * S) - X * S) by ring.
      rewrite X_is.
      assert (order : weighted_sum m logits (fun d => Rabs (m - d) * exp (t * d))
                      <= weighted_sum m logits (fun d => Rabs (m - d)) + mean_excess * S).
      { apply Rle_trans with
          (weighted_sum m logits
          (fun d => Rabs (m - d) + (Rabs m * (exp (t * d) * 1 + -1 * 1) + (exp (t * d) * d + -1 * d)))).
        - apply weighted_sum_le. intros x inx. pose proof (size_of_item x inx). pose proof (proj2 max x inx).
          assert (1 <= exp (t * (m - x))) by monotone.
          assert (Rabs (m - (m - x)) * (exp (t * (m - x)) - 1) <= (Rabs m + (m - x)) * (exp (t * (m - x)) - 1)) by monotone.
          lra.
        - rewrite !weighted_sum_plus, weighted_sum_mult, !weighted_sum_plus, !weighted_sum_mult.
          fold (weight_sum m logits) (deviation_sum m logits).
          fold (tilted m logits t (fun _ => 1)) (tilted m logits t (fun d => d)).
          pose proof (tilted_mass_order m logits t max ltac:(lra)) as mass.
          pose proof (tilted_mean m logits max t ltac:(lra)) as mean. rewrite (deviation_sum_mean m logits max).
          unfold first_excess in mean. unfold mean_excess.
          assert (Rabs m * (tilted m logits t (fun _ => 1) + -1 * S)
                  <= Rabs m * (S * (t * Dbar + t ^ 2 / 2 * exp mu * second logits t))).
          { monotone. } lra. }
      apply Rle_trans with (exp factor_log * weighted_sum m logits (fun d => Rabs (m - d) * exp (t * d))
                            - weighted_sum m logits (fun d => Rabs (m - d))).
      + right. unfold moment_growth.
        transitivity (weighted_sum m logits (fun d => exp factor_log * (Rabs (m - d) * exp (t * d)) + -1 * Rabs (m - d))).
        * apply weighted_sum_ext. intros. rewrite exp_plus. ring.
        * rewrite weighted_sum_plus, !weighted_sum_mult. ring.
      + apply Rplus_le_compat_r. monotone.
  Qed.

  Theorem b7_mean q :
    quotient_by_sum M r y s q -> Rabs (q - exact_moment / S) <= uncentred_mean_error + product_floor M.
  Proof using good max max' losses near hy few none hs some loses leaves.
    intros hq. facts. destruct mean_parts as [X1 [X2 X3]].
    set (X := weighted_sum m logits (fun d => Rabs (m - d)) / S) in *.
    pose proof (b1_sum M good kappa m logits s h' j' hs some) as close.
    destruct (rel_inv _ _ _ close) as [theta [btheta inverse]].
    destruct (quotient_factor M r y s q good loses leaves hq) as [t1 [e1 [bt1 [be1 ->]]]].
    set (k := sigma M kappa m logits h' j' + quotient_unit M r). set (T := theta + t1).
    assert (bT : Rabs T <= k) by (unfold T, k; eapply Rle_trans; [apply Rabs_triang|]; lra).
    assert (inv : 0 < / S <= 1). { split; [monotone|]. rewrite <- Rinv_1. monotone. } set (N := y / S).
    set (Ex := exact_moment / S) in *. assert (quotient : y / s * exp t1 = N * exp T).
    { unfold N, T, Rdiv. rewrite inverse, exp_plus. ring. } rewrite quotient.
    replace (N * exp T + e1 - Ex) with ((N - Ex) * exp T + Ex * (exp T - 1) + e1) by ring.
    pose proof b7_moment as moment. pose proof (tilted_mass m logits max t ltac:(lra)) as heavy.
    pose proof moment_lost_nonneg as hl. set (taken := f * (exp mu + n * lost M j) + lost_logits).
    assert (absolute : moment_absolute / S <= exp factor_log * taken).
    { unfold moment_absolute, Rdiv, taken.
      replace (f * (exp mu + n * lost M j) + lost_logits) with (f * exp mu + moment_lost)
      by (unfold moment_lost; ring).
      rewrite Rmult_plus_distr_r, Rmult_plus_distr_l. apply Rplus_le_compat.
      - apply Rle_trans with (f * exp factor_log * (exp mu * S) * / S); [|right; field; lra].
        apply Rmult_le_compat_r; [lra|]. apply Rmult_le_compat_l; [|easy]. monotone.
      - apply Rle_trans with (exp factor_log * moment_lost * 1); [|lra]. monotone. }
    assert (numer : Rabs (N - Ex) <= exp factor_log * (X + (mean_excess + taken)) - X).
    { unfold N, Ex, Rdiv. rewrite <- Rmult_minus_distr_r, Rabs_mult, (Rabs_right (/ S)) by lra.
      apply Rle_trans with ((moment_growth + moment_absolute) * / S); [monotone|]. unfold Rdiv in *.
      rewrite Rmult_plus_distr_r. lra. }
    triangle. apply Rplus_le_compat; [|easy]. triangle.
    rewrite !Rabs_mult, (Rabs_right (exp T)) by (left; apply exp_pos). pose proof (expm1_abs T k bT) as grows.
    apply abs_between in bT. assert (eT : exp T <= exp k) by monotone. pose proof (Rabs_pos (N - Ex)).
    pose proof (Rabs_pos Ex).
    assert (a1 : Rabs (N - Ex) * exp T <= (exp factor_log * (X + (mean_excess + taken)) - X) * exp k) by monotone.
    assert (a2 : Rabs Ex * Rabs (exp T - 1) <= X * (exp k - 1)) by monotone.
    assert (whole : exp mean_log = exp factor_log * exp k) by (unfold mean_log; fold k; apply exp_plus).
    assert (M1 : 1 <= exp mean_log).
    { apply exp_at_least_one. unfold mean_log, factor_log. pose proof (Rabs_pos theta). pose proof (Rabs_pos t1).
      assert (0 <= (1 + t) * kappa) by monotone. lra. }
    assert ((exp mean_log - 1) * X <= (exp mean_log - 1) * mean_size) by monotone. unfold uncentred_mean_error.
    rewrite whole in *. unfold taken in *. lra.
  Qed.

  (** ** The entropy: three numbers, added in any order *)

  Definition uncentred_parts (gm : R) : R :=
    log_sum_error M kappa m logits h' j' + gm * Rabs m + argument_floor M kappa j' + uncentred_mean_error.
  Definition uncentred_first_sum (gm : R) : R := uncentred_parts gm + u * (Rabs m + ln S + mean_size + uncentred_parts gm).
  Definition uncentred_rounding (gm : R) : R := uncentred_first_sum gm + u * (entropy logits + uncentred_first_sum gm).
  Definition uncentred_loss : R := (3 * product_floor M * (1 + u) + sum_floor M) * (1 + u) + sum_floor M.

  Theorem b7_entropy gm m_hat x q v1 v2 v3 z1 z u_out floor_out H_hat :
    computed_maximum M kappa m j' gm m_hat -> computed_log M s x -> quotient_by_sum M r y s q ->
    Permutation [m_hat; x; - q] [v1; v2; v3] -> rounded_sum M (v1 + v2) z1 -> rounded_sum M (z1 + v3) z ->
    rounded_output u_out floor_out z H_hat ->
    Rabs (H_hat - entropy logits)
    <= uncentred_rounding gm + u_out * (entropy logits + uncentred_rounding gm) + (uncentred_loss * (1 + u_out) + floor_out).
  Proof using good max max' losses near hy few none hs some loses leaves.
    intros hm hx hq order [d1 [e1 [bd1 [be1 ->]]]] [d2 [e2 [bd2 [be2 ->]]]] [d3 [e3 [bd3 [be3 ->]]]].
    pose proof (log_of_sum M good kappa m logits s h' j' hs some x hx) as logged. unfold computed_maximum in hm.
    pose proof (b7_mean q hq) as mean. destruct mean_parts as [X1 [X2 _]]. assert (S1 : 1 <= S) by exact scaled.
    assert (lnS : 0 <= ln S) by (rewrite <- ln_1; apply ln_le; lra). set (Ex := exact_moment / S) in *.
    assert (Ex_is : Ex = m - Dbar).
    { unfold Ex, exact_moment, mean_deviation. unfold Rdiv.
      replace (weighted_sum m logits (fun d => m - d))
      with (weighted_sum m logits (fun d => m * 1 + -1 * d)) by (apply weighted_sum_ext; intros; ring).
      rewrite weighted_sum_plus, !weighted_sum_mult. fold (weight_sum m logits) (deviation_sum m logits). field. lra. }
    pose proof (entropy_of_statistics m logits max) as H_is. pose proof (mean_deviation_nonneg m logits max) as hD.
    assert (size : Rabs (entropy logits) = entropy logits) by (apply Rabs_right; lra).
    pose proof (rounded_error u (entropy logits) ((v1 + v2) * (1 + d1) + e1 + v3) d2 e2 (uncentred_first_sum gm)
                  (3 * product_floor M * (1 + u) + sum_floor M) (sum_floor M) bd2 be2) as inner.
    pose proof (rounded_error u_out (entropy logits) (((v1 + v2) * (1 + d1) + e1 + v3) * (1 + d2) + e2) d3 e3
                  (uncentred_rounding gm) uncentred_loss floor_out bd3 be3) as outer.
    rewrite size in inner, outer. apply outer, inner. clear inner outer. assert (total : v1 + v2 + v3 = m_hat + x + - q).
    { pose proof (sum_permutation _ _ order) as same. unfold sum in same. cbn in same. lra. }
    assert (sizes : Rabs v1 + Rabs v2 <= Rabs m_hat + Rabs x + Rabs q).
    { pose proof (sum_permutation _ _ (Permutation_map Rabs order)) as same. unfold sum in same. cbn in same.
      rewrite Rabs_Ropp in same. pose proof (Rabs_pos v3). lra. }
    set (parts := uncentred_parts gm). set (wm := product_floor M).
    assert (sm : Rabs m_hat <= Rabs m + (gm * Rabs m + argument_floor M kappa j' + wm)).
    { replace m_hat with (m + (m_hat - m)) by ring. triangle. unfold wm. lra. }
    assert (sx : Rabs x <= ln S + (log_sum_error M kappa m logits h' j' + wm)).
    { replace x with (ln S + (x - ln S)) by ring. triangle. rewrite (Rabs_right (ln S)) by lra. unfold wm. lra. }
    assert (sq : Rabs q <= mean_size + (uncentred_mean_error + wm)).
    { replace q with (Ex + (q - Ex)) by ring. triangle. unfold wm. lra. }
    replace ((v1 + v2) * (1 + d1) + e1 + v3 - entropy logits)
      with ((m_hat - m) + (x - ln S) + - (q - Ex) + (v1 + v2) * d1 + e1) by (rewrite H_is, Ex_is; lra).
    assert (rounded : Rabs ((v1 + v2) * d1) <= u * (Rabs m + ln S + mean_size + parts + 3 * wm)).
    { rewrite Rabs_mult, Rmult_comm. apply Rmult_le_compat; try apply Rabs_pos; [easy|]. pose proof (Rabs_triang v1 v2).
      unfold parts, uncentred_parts. lra. }
    pose proof (Rabs_triang ((m_hat - m) + (x - ln S) + - (q - Ex) + (v1 + v2) * d1) e1) as a1.
    pose proof (Rabs_triang ((m_hat - m) + (x - ln S) + - (q - Ex)) ((v1 + v2) * d1)) as a2.
    pose proof (Rabs_triang ((m_hat - m) + (x - ln S)) (- (q - Ex))) as a3. rewrite Rabs_Ropp in a3.
    pose proof (Rabs_triang (m_hat - m) (x - ln S)) as a4. unfold uncentred_first_sum. fold parts.
    unfold parts, uncentred_parts, wm in *. lra.
  Qed.
End B7.
