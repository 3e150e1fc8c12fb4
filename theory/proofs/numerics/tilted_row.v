(** * The tilted row: what a relative error t of every exponent does to a row's moments.

    Main results, at a row with maximum m, n items, deviations D, coefficients p, for 0 <= t < 1:
    - [second_moment_bound], [third_moment_bound]
          s^2 E_s[D^2] <= ln^2(n + e), s^3 E_s[D^3] <= ln^3(n + e^2) at inverse temperature s        (2)
    - [tilted_mass]         sum p e^(tD) <= e^mu, mu = t Dbar + t^2/2 ln^2(n + e) / (1 - t)^2           (3)
    - [tilted_mass_below]   sum p e^(-tD) >= e^(-t Dbar)
    - [tilted_mean]         sum p D e^(tD) <= Dbar + t V2 + t^2/2 e^mu ln^3(n + e^2) / (1 - t)^3        (4)
    - [hotter_mean]         E_(1-t)[D] <= Dbar + t ln^2(n + e) / (1 - t)^2

    Source: docs/tolerances.md, "The tilted row"; RoundingModel::set_row in numerics/rounding/rounding_model.cpp. *)

From Coquelicot Require Import Coquelicot.
From softcheck.numerics Require Import row.
Local Open Scope R_scope.

(** ** Concavity of ln^2 and ln^3, as tangents *)

(** y <= x e^(y - x): y e^(-y) falls from 1 on. *)
Lemma once_falling x y : 1 <= x -> x <= y -> y <= x * exp (y - x).
Proof. intros. pose proof (exp_above_tangent (y - x)). nra. Qed.

Lemma once_rising x y : 1 <= y -> y <= x -> x * exp (y - x) <= y.
Proof.
  intros. pose proof (once_falling y x ltac:(lra) ltac:(lra)) as falls. replace (y - x) with (- (x - y)) by ring.
  rewrite exp_Ropp. pose proof (exp_pos (x - y)). apply Rmult_le_reg_r with (exp (x - y)); [easy|].
  rewrite Rmult_assoc, Rinv_l; lra.
Qed.

Lemma twice_falling x y : 2 <= x -> x <= y -> y ^ 2 <= x ^ 2 * exp (y - x).
Proof.
  intros. pose proof (exp_above_tangent ((y - x) / 2)).
  replace (exp (y - x)) with (exp ((y - x) / 2) ^ 2) by (simpl; rewrite Rmult_1_r, <- exp_plus; f_equal; field).
  assert (y <= x * exp ((y - x) / 2)) by nra. rewrite <- Rpow_mult_distr. apply pow_incr. lra.
Qed.

Lemma twice_rising x y : 2 <= y -> y <= x -> x ^ 2 * exp (y - x) <= y ^ 2.
Proof.
  intros. pose proof (twice_falling y x ltac:(lra) ltac:(lra)) as falls. replace (y - x) with (- (x - y)) by ring.
  rewrite exp_Ropp. pose proof (exp_pos (x - y)). apply Rmult_le_reg_r with (exp (x - y)); [easy|].
  rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(** The mean value theorem for b^k (e^(a - b) - 1) k' - (a^k' - b^k'): its derivative has the sign of a - b. *)
Lemma tangent_square a b : 1 <= a -> 1 <= b -> a ^ 2 <= b ^ 2 + 2 * b * (exp (a - b) - 1).
Proof.
  intros ha hb.
  destruct (MVT_gen (fun x => 2 * b * (exp (x - b) - 1) - (x ^ 2 - b ^ 2)) b a
              (fun x => 2 * b * exp (x - b) - 2 * x)) as [c [range eq]].
  - intros x _. auto_derive; [easy|]. unfold Rminus. ring.
  - intros x _. apply derivable_continuous_pt, ex_derive_Reals_0. auto_derive. easy.
  - rewrite (Rminus_diag_eq b b), exp_0 in eq by easy. assert (0 <= (2 * b * exp (c - b) - 2 * c) * (a - b)).
    { destruct (Rle_dec b a) as [le|gt].
      - rewrite Rmin_left, Rmax_right in range by lra. pose proof (once_falling b c ltac:(lra) ltac:(lra)). nra.
      - rewrite Rmin_right, Rmax_left in range by lra. pose proof (once_rising b c ltac:(lra) ltac:(lra)). nra. }
    nra.
Qed.

Lemma tangent_cube a b : 2 <= a -> 2 <= b -> a ^ 3 <= b ^ 3 + 3 * b ^ 2 * (exp (a - b) - 1).
Proof.
  intros ha hb.
  destruct (MVT_gen (fun x => 3 * b ^ 2 * (exp (x - b) - 1) - (x ^ 3 - b ^ 3)) b a
              (fun x => 3 * b ^ 2 * exp (x - b) - 3 * x ^ 2)) as [c [range eq]].
  - intros x _. auto_derive; [easy|]. unfold Rminus. ring.
  - intros x _. apply derivable_continuous_pt, ex_derive_Reals_0. auto_derive. easy.
  - rewrite (Rminus_diag_eq b b), exp_0 in eq by easy. assert (0 <= (3 * b ^ 2 * exp (c - b) - 3 * c ^ 2) * (a - b)).
    { destruct (Rle_dec b a) as [le|gt].
      - rewrite Rmin_left, Rmax_right in range by lra. pose proof (twice_falling b c ltac:(lra) ltac:(lra)). monotone.
      - rewrite Rmin_right, Rmax_left in range by lra. pose proof (twice_rising b c ltac:(lra) ltac:(lra)).
        replace ((3 * b ^ 2 * exp (c - b) - 3 * c ^ 2) * (a - b))
          with ((3 * c ^ 2 - 3 * b ^ 2 * exp (c - b)) * (b - a)) by ring.
        monotone. }
    lra.
Qed.

(** In y = e^(sD): (sD)^2 <= ln^2(y + e), below the tangent of ln^2 at n + e. *)
Lemma square_below_tangent d n :
  0 <= d -> 0 <= n ->
  d ^ 2 <= ln (n + exp 1) ^ 2 + 2 * ln (n + exp 1) / (n + exp 1) * (exp d - n).
Proof.
  intros hd hn. pose proof (exp_pos 1). pose proof (exp_pos d). set (a := ln (exp d + exp 1)).
  set (b := ln (n + exp 1)). assert (da : d <= a) by (rewrite <- (ln_exp d) at 1; apply ln_le; [easy|lra]).
  assert (ha : 1 <= a) by (rewrite <- (ln_exp 1); apply ln_le; [easy|lra]).
  assert (hb : 1 <= b) by (rewrite <- (ln_exp 1); apply ln_le; [easy|lra]).
  pose proof (tangent_square a b ha hb) as tangent. unfold Rminus in tangent. rewrite exp_plus, exp_Ropp in tangent.
  assert (ea : exp a = exp d + exp 1) by (unfold a; apply exp_ln; lra).
  assert (eb : exp b = n + exp 1) by (unfold b; apply exp_ln; lra). rewrite ea, eb in tangent.
  apply Rle_trans with (a ^ 2); [apply pow_incr; lra|]. eapply Rle_trans; [apply tangent|]. right. field. lra.
Qed.

Lemma cube_below_tangent d n :
  0 <= d -> 0 <= n ->
  d ^ 3 <= ln (n + exp 2) ^ 3 + 3 * ln (n + exp 2) ^ 2 / (n + exp 2) * (exp d - n).
Proof.
  intros hd hn. pose proof (exp_pos 2). pose proof (exp_pos d). set (a := ln (exp d + exp 2)).
  set (b := ln (n + exp 2)). assert (da : d <= a) by (rewrite <- (ln_exp d) at 1; apply ln_le; [easy|lra]).
  assert (ha : 2 <= a) by (rewrite <- (ln_exp 2); apply ln_le; [easy|lra]).
  assert (hb : 2 <= b) by (rewrite <- (ln_exp 2); apply ln_le; [easy|lra]).
  pose proof (tangent_cube a b ha hb) as tangent. unfold Rminus in tangent. rewrite exp_plus, exp_Ropp in tangent.
  assert (ea : exp a = exp d + exp 2) by (unfold a; apply exp_ln; lra).
  assert (eb : exp b = n + exp 2) by (unfold b; apply exp_ln; lra). rewrite ea, eb in tangent.
  apply Rle_trans with (a ^ 3); [apply pow_incr; lra|]. eapply Rle_trans; [apply tangent|]. right. field. lra.
Qed.

(** ** Moments at another inverse temperature *)

Section Tilted.
  Context (m : R) (logits : list R) (max : is_maximum m logits).
  Notation n := (size logits).
  Notation S := (weight_sum m logits).
  Notation Dbar := (mean_deviation m logits).
  Notation V2 := (mean_square_deviation m logits).

  Lemma deviation_nonneg x : In x logits -> 0 <= m - x.
  Proof. intros inx. pose proof (proj2 max x inx). lra. Qed.

  Lemma S_at_least_one : 1 <= S.
  Proof. now apply weight_sum_at_least_one. Qed.

  (** S E_(1-t)[f(D)] M(t) = tilted t f. *)
  Definition tilted (t : R) (f : R -> R) : R := weighted_sum m logits (fun d => exp (t * d) * f d).
  Notation mass t := (tilted t (fun _ => 1)).

  Lemma mass_at_0 : mass 0 = S.
  Proof. apply weighted_sum_ext. intros. rewrite Rmult_0_l, exp_0. ring. Qed.

  Lemma mass_growing t : 0 <= t -> S <= mass t.
  Proof.
    intros ht. apply weighted_sum_le. intros x inx. rewrite Rmult_1_r.
    apply exp_at_least_one, Rmult_le_pos; [easy|now apply deviation_nonneg].
  Qed.

  (** Weighted tangents: sum e^(-sD) (e^(sD) - n) = n - n S_s <= 0. *)
  Lemma tangents_add_up t (c k : R) :
    0 <= t -> 0 <= k -> tilted t (fun d => c + k * (exp ((1 - t) * d) - n)) <= c * mass t.
  Proof.
    intros ht hk. unfold tilted.
    apply Rle_trans with
      (weighted_sum m logits (fun d => c * (exp (t * d) * 1) + (k * exp d + - (k * n) * (exp (t * d) * 1)))).
    - apply weighted_sum_le. intros x inx. right.
      replace (exp (t * (m - x)) * (c + k * (exp ((1 - t) * (m - x)) - n)))
        with (c * exp (t * (m - x)) + (k * (exp (t * (m - x)) * exp ((1 - t) * (m - x))) - k * n * exp (t * (m - x)))) by ring.
      rewrite <- exp_plus. replace (t * (m - x) + (1 - t) * (m - x)) with (m - x) by ring. ring.
    - rewrite !weighted_sum_plus, !weighted_sum_mult. assert (each : weighted_sum m logits exp = n).
      { unfold weighted_sum. rewrite <- (Rmult_1_r n), <- sum_map_const. apply sum_map_ext. intros.
        rewrite <- exp_plus. replace (x - m + (m - x)) with 0 by ring. apply exp_0. }
      rewrite each. fold (tilted t (fun _ => 1)). pose proof (mass_growing t ht). pose proof S_at_least_one.
      pose proof (size_nonneg logits). assert (0 <= k * n) by monotone. nra.
  Qed.

  (** Jensen, by the tangent of ln^2 at n + e. *)
  Theorem second_moment_bound t : 0 <= t < 1 -> (1 - t) ^ 2 * tilted t (fun d => d ^ 2) <= ln (n + exp 1) ^ 2 * mass t.
  Proof.
    intros ht. pose proof (size_nonneg logits). pose proof (exp_pos 1).
    eapply Rle_trans; [|apply tangents_add_up with (k := 2 * ln (n + exp 1) / (n + exp 1)); [lra|]].
    - unfold tilted. rewrite <- weighted_sum_mult. apply weighted_sum_le. intros x inx.
      pose proof (deviation_nonneg x inx).
      pose proof (square_below_tangent ((1 - t) * (m - x)) n ltac:(apply Rmult_le_pos; lra) ltac:(lra)) as tangent.
      pose proof (exp_pos (t * (m - x))).
      replace ((1 - t) ^ 2 * (exp (t * (m - x)) * (m - x) ^ 2))
      with (exp (t * (m - x)) * ((1 - t) ^ 2 * (m - x) ^ 2)) by ring.
      monotone.
    - assert (0 <= ln (n + exp 1)). { rewrite <- ln_1. apply ln_le; [lra|]. pose proof (exp_at_least_one 1). lra. }
      monotone.
  Qed.

  Theorem third_moment_bound t : 0 <= t < 1 -> (1 - t) ^ 3 * tilted t (fun d => d ^ 3) <= ln (n + exp 2) ^ 3 * mass t.
  Proof.
    intros ht. pose proof (size_nonneg logits). pose proof (exp_pos 2).
    eapply Rle_trans; [|apply tangents_add_up with (k := 3 * ln (n + exp 2) ^ 2 / (n + exp 2)); [lra|]].
    - unfold tilted. rewrite <- weighted_sum_mult. apply weighted_sum_le. intros x inx.
      pose proof (deviation_nonneg x inx).
      pose proof (cube_below_tangent ((1 - t) * (m - x)) n ltac:(apply Rmult_le_pos; lra) ltac:(lra)) as tangent.
      pose proof (exp_pos (t * (m - x))).
      replace ((1 - t) ^ 3 * (exp (t * (m - x)) * (m - x) ^ 3))
      with (exp (t * (m - x)) * ((1 - t) ^ 3 * (m - x) ^ 3)) by ring.
      monotone.
    - pose proof (pow2_ge_0 (ln (n + exp 2))). monotone.
  Qed.

  (** ** The constants of the C++ model *)

  Definition second (t : R) : R := (ln (n + exp 1) / (1 - t)) ^ 2.
  Definition third (t : R) : R := (ln (n + exp 2) / (1 - t)) ^ 3.
  Definition shift (t : R) : R := t * Dbar + t ^ 2 / 2 * second t.
  Definition first_excess (t : R) : R := t * V2 + t ^ 2 / 2 * exp (shift t) * third t.

  Lemma second_nonneg t : 0 <= second t.
  Proof. apply pow2_ge_0. Qed.

  Lemma second_growing s t : 0 <= s -> s <= t -> t < 1 -> second s <= second t.
  Proof.
    intros. apply pow_incr. assert (0 <= ln (n + exp 1)).
    { pose proof (exp_at_least_one 1). pose proof (size_nonneg logits). rewrite <- ln_1. apply ln_le; lra. } split.
    - apply Rmult_le_pos; [easy|]. left. apply Rinv_0_lt_compat. lra.
    - apply Rmult_le_compat_l; [easy|]. apply Rinv_le_contravar; lra.
  Qed.

  Lemma tilted_square t : 0 <= t < 1 -> tilted t (fun d => d ^ 2) <= second t * mass t.
  Proof.
    intros ht. pose proof (second_moment_bound t ht) as bound. unfold second.
    assert (0 < (1 - t) ^ 2) by (apply pow_lt; lra). apply Rmult_le_reg_l with ((1 - t) ^ 2); [easy|].
    eapply Rle_trans; [apply bound|]. right. field. lra.
  Qed.

  Lemma tilted_cube t : 0 <= t < 1 -> tilted t (fun d => d ^ 3) <= third t * mass t.
  Proof.
    intros ht. pose proof (third_moment_bound t ht) as bound. unfold third.
    assert (0 < (1 - t) ^ 3) by (apply pow_lt; lra). apply Rmult_le_reg_l with ((1 - t) ^ 3); [easy|].
    eapply Rle_trans; [apply bound|]. right. field. lra.
  Qed.

  Lemma deviation_sum_mean : deviation_sum m logits = Dbar * S.
  Proof. unfold mean_deviation. pose proof S_at_least_one. field. lra. Qed.

  Lemma square_sum_mean : weighted_sum m logits (fun d => d ^ 2) = V2 * S.
  Proof. unfold mean_square_deviation. pose proof S_at_least_one. field. lra. Qed.

  (** D e^(tD) <= D + t D^2 e^(tD), and M(t) >= 1. *)
  Lemma hotter_mean_sum t : 0 <= t < 1 -> tilted t (fun d => d) <= (Dbar + t * second t) * mass t.
  Proof.
    intros ht. apply Rle_trans with (deviation_sum m logits + t * tilted t (fun d => d ^ 2)).
    - unfold tilted, deviation_sum. rewrite <- weighted_sum_mult, <- weighted_sum_plus. apply weighted_sum_le.
      intros x inx. pose proof (deviation_nonneg x inx) as hd. set (d := m - x) in *.
      pose proof (exp_above_tangent (- (t * d))) as tangent. rewrite exp_Ropp in tangent. pose proof (exp_pos (t * d)).
      assert (exp (t * d) * (1 - t * d) <= 1).
      { apply Rle_trans with (exp (t * d) * / exp (t * d)); [|rewrite Rinv_r; lra]. monotone. } nra.
    - rewrite deviation_sum_mean. pose proof (tilted_square t ht). pose proof (mass_growing t ltac:(lra)).
      pose proof (mean_deviation_nonneg m logits max). nra.
  Qed.

  Lemma mass_derivative s : is_derive (fun t => mass t) s (tilted s (fun d => d)).
  Proof.
    unfold tilted, weighted_sum. clear max. induction logits as [|x l IH].
    - unfold sum. simpl. auto_derive; easy.
    - unfold sum in *. cbn [map fold_right]. apply (is_derive_plus (V := R_NormedModule) (fun t => exp (x - m) * (exp (t * (m - x)) * 1))); [|apply IH].
      auto_derive; [easy|]. ring.
  Qed.

  (** M(s) e^(-s Dbar - s^2 v / 2) does not grow on [0, t]. *)
  Theorem tilted_mass t : 0 <= t < 1 -> mass t <= exp (shift t) * S.
  Proof.
    intros ht. unfold shift. set (v := second t). set (g := fun s => s * Dbar + s ^ 2 / 2 * v).
    destruct (MVT_gen (fun s => mass s * exp (- g s)) 0 t
                (fun s => (tilted s (fun d => d) - (Dbar + s * v) * mass s) * exp (- g s)))
      as [c [range eq]].
    - intros s _. unfold g.
      assert (is_derive (fun s => exp (- (s * Dbar + s ^ 2 / 2 * v))) s
                (- (Dbar + s * v) * exp (- (s * Dbar + s ^ 2 / 2 * v)))) as outer.
      { auto_derive; [easy|]. simpl. unfold Rdiv. field. }
      pose proof (is_derive_mult (fun t => mass t) _ s _ _ (mass_derivative s) outer Rmult_comm) as both.
      match type of both with is_derive _ _ ?d =>
        match goal with |- is_derive _ _ ?d' =>
          replace d' with d; [exact both|] end end.
      cbn -[tilted pow]. ring.
    - intros s _. apply derivable_continuous_pt, ex_derive_Reals_0. apply (ex_derive_mult (fun t => mass t)).
      + eexists. apply mass_derivative.
      + unfold g. auto_derive. easy.
    - rewrite Rmin_left, Rmax_right in range by lra.
      assert (falls : tilted c (fun d => d) - (Dbar + c * v) * mass c <= 0).
      { pose proof (hotter_mean_sum c ltac:(lra)). pose proof (second_growing c t ltac:(lra) ltac:(lra) ltac:(lra)).
        pose proof (mass_growing c ltac:(lra)). pose proof S_at_least_one.
        assert (c * second c * mass c <= c * v * mass c) by monotone. lra. }
      pose proof (exp_pos (- g c)). assert (mass t * exp (- g t) <= S).
      { assert (g0 : g 0 = 0) by (unfold g; field). rewrite mass_at_0, g0, Ropp_0, exp_0 in eq.
        set (slope := (tilted c (fun d => d) - (Dbar + c * v) * mass c) * exp (- g c)) in eq.
        assert (slope <= 0) by (unfold slope; nra). nra. }
      apply Rmult_le_reg_r with (exp (- g t)); [monotone|]. fold (g t).
      replace (exp (g t) * S * exp (- g t)) with (S * (exp (g t) * exp (- g t))) by ring.
      rewrite <- exp_plus, Rplus_opp_r, exp_0. lra.
  Qed.

  (** e^(-tD) is above its tangent at Dbar. *)
  Theorem tilted_mass_below t : exp (- (t * Dbar)) * S <= mass (- t).
  Proof.
    apply Rle_trans with (weighted_sum m logits (fun d => exp (- (t * Dbar)) * (1 + t * Dbar) + exp (- (t * Dbar)) * - t * d)).
    - rewrite weighted_sum_plus, (weighted_sum_mult _ _ (exp (- (t * Dbar)) * - t) (fun d => d)).
      replace (weighted_sum m logits (fun _ => exp (- (t * Dbar)) * (1 + t * Dbar)))
        with (exp (- (t * Dbar)) * (1 + t * Dbar) * S)
        by (unfold weight_sum; rewrite <- weighted_sum_mult; apply weighted_sum_ext; intros; ring).
      fold (deviation_sum m logits). rewrite deviation_sum_mean. right. ring.
    - apply weighted_sum_le. intros x inx. pose proof (exp_above_tangent (t * Dbar - t * (m - x))) as tangent.
      pose proof (exp_pos (- (t * Dbar))).
      replace (exp (- t * (m - x)) * 1) with (exp (- (t * Dbar)) * exp (t * Dbar - t * (m - x)))
        by (rewrite <- exp_plus; ring_simplify; f_equal; ring).
      replace (exp (- (t * Dbar)) * (1 + t * Dbar) + exp (- (t * Dbar)) * - t * (m - x))
        with (exp (- (t * Dbar)) * (1 + (t * Dbar - t * (m - x)))) by ring.
      monotone.
  Qed.

  (** e^y <= 1 + y + y^2/2 e^y for y >= 0. *)
  Lemma exp_second_order y : 0 <= y -> exp y <= 1 + y + y ^ 2 / 2 * exp y.
  Proof.
    intros hy.
    destruct (MVT_gen (fun z => 1 + z + z ^ 2 / 2 * exp z - exp z) 0 y
                (fun z => 1 + z * exp z + z ^ 2 / 2 * exp z - exp z)) as [c [range eq]].
    - intros z _. auto_derive; [easy|]. field.
    - intros z _. apply derivable_continuous_pt, ex_derive_Reals_0. auto_derive. easy.
    - rewrite exp_0 in eq. assert (0 <= 1 + c * exp c + c ^ 2 / 2 * exp c - exp c).
      { pose proof (exp_above_tangent (- c)) as tangent. rewrite exp_Ropp in tangent. pose proof (exp_pos c).
        assert (exp c * (1 - c) <= 1). { apply Rle_trans with (exp c * / exp c); [|rewrite Rinv_r; lra]. monotone. }
        nra. }
      assert (0 <= (1 + c * exp c + c ^ 2 / 2 * exp c - exp c) * (y - 0)) by monotone. lra.
  Qed.

  Theorem tilted_mean t : 0 <= t < 1 -> tilted t (fun d => d) <= (Dbar + first_excess t) * S.
  Proof.
    intros ht.
    apply Rle_trans with (deviation_sum m logits + t * weighted_sum m logits (fun d => d ^ 2)
                          + t ^ 2 / 2 * tilted t (fun d => d ^ 3)).
    - unfold tilted, deviation_sum. rewrite <- !weighted_sum_mult, <- !weighted_sum_plus. apply weighted_sum_le.
      intros x inx. pose proof (deviation_nonneg x inx) as hd. set (d := m - x) in *.
      pose proof (exp_second_order (t * d) ltac:(apply Rmult_le_pos; lra)) as order.
      apply Rle_trans with ((1 + t * d + (t * d) ^ 2 / 2 * exp (t * d)) * d).
      + monotone.
      + right. field.
    - rewrite deviation_sum_mean, square_sum_mean. unfold first_excess. pose proof (tilted_cube t ht).
      pose proof (tilted_mass t ht). assert (0 <= third t).
      { apply pow_le. apply Rmult_le_pos; [|monotone]. pose proof (exp_at_least_one 2).
        pose proof (size_nonneg logits). rewrite <- ln_1. apply ln_le; lra. }
      assert (tilted t (fun d => d ^ 3) <= third t * (exp (shift t) * S)) by nra. nra.
  Qed.

  (** E_(1-t)[D] <= Dbar + t v. *)
  Theorem hotter_mean t : 0 <= t < 1 -> tilted t (fun d => d) / mass t <= Dbar + t * second t.
  Proof.
    intros ht. pose proof (hotter_mean_sum t ht). pose proof (mass_growing t ltac:(lra)). pose proof S_at_least_one.
    apply Rmult_le_reg_r with (mass t); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
  Qed.
End Tilted.
