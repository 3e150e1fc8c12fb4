(** * B6d from a log-softmax: the entropy -sum p_hat y, y the logarithm of p as a log-softmax returns it.

    Main results, for coefficients within e^(+-(C + t D)) and f of theirs and logarithms within b + s D, a = C + (h + 1) lambda
    - [lost_by_zero]            a coefficient of 0 beyond K loses no more of a deviation than f K
    - [logarithm_term_near]     one term: within p (e^(C + lambda + t D) (l + b + s D) - l) of its own, l = -ln p, and [logarithm_loss]
    - [b6d_log_softmax]         |H_hat - H| <= (e^a - 1) H + e^a (t V2 + t^2/2 e^mu l3 + ln S (e^mu - 1) + b e^mu + s (Dbar + ...))
                                + e^(h lambda) n (loss + omega_a), for any tree of height h
    - [b6d_of_log_softmax]      the same with B2's coefficients: C = element_log, f = element_floor
    - [b6d_of_powers]           the same with p_hat = e^y: C = b + lambda_E, t = s
    - [softmax_of_logarithms]   a softmax of such logarithms: p e^(+-(2 b' + s D)), b' = b + ln sum p e^(s D)

    Source: docs/tolerances.md, B6d; entropy_of_log_softmax_error in numerics/rounding/rounding_entropy.cpp. *)

From softcheck.numerics Require Import constants row tilted_row score_error reduction b1_sum b2_element b5_logsumexp b6_entropy added_terms
  b6d_coefficients.
Local Open Scope R_scope.

(** d e^-kd falls from 1/k on. *)
Lemma power_outgrows k K d : 0 < k -> 1 <= k * K -> K <= d -> d * exp (- (k * d)) <= K * exp (- (k * K)).
Proof.
  intros hk hK le. assert (K0 : 0 < K) by (apply Rmult_lt_reg_l with k; lra).
  pose proof (once_falling (k * K) (k * d) hK ltac:(apply Rmult_le_compat_l; lra)) as falls.
  pose proof (exp_pos (- (k * d))) as pos.
  assert (same : exp (k * d - k * K) * exp (- (k * d)) = exp (- (k * K))) by (rewrite <- exp_plus; f_equal; ring).
  apply Rmult_le_reg_l with k; [easy|]. rewrite <- !Rmult_assoc.
  apply Rle_trans with (k * K * exp (k * d - k * K) * exp (- (k * d))); [monotone|]. rewrite Rmult_assoc, same. lra.
Qed.

Section LogSoftmax.
  Context (M : arithmetic) (good : sound M) (m : R) (logits : list R) (C t f K b s : R) (max : is_maximum m logits)
    (errs : 0 <= C) (tilts : 0 <= t < 1) (loses : 0 <= f) (reaches : 0 <= K) (logarithms : 0 <= b /\ 0 <= s).
  Notation lambda := (unit M).
  Notation wm := (product_floor M).
  Notation S := (weight_sum m logits).
  Notation Dbar := (mean_deviation m logits).
  Notation mu := (shift m logits t).
  Notation excess := (first_excess m logits t).
  Notation p x := (coefficient logits x).

  (** What a coefficient loses, and what that is times its deviation. *)
  Definition far_coefficient (x p_hat : R) : Prop :=
    exists w e, Rabs w <= C + t * (m - x) /\ Rabs e <= f /\ Rabs e * (m - x) <= f * K /\ p_hat = p x * exp w + e.
  Definition logarithm_term (x z : R) : Prop :=
    exists p_hat y, far_coefficient x p_hat /\ Rabs (y - ln (p x)) <= b + s * (m - x) /\ computed_product M (p_hat * y) z.

  Definition own_size (d : R) : R := d + ln S.
  Definition logarithm_bound (d : R) : R := exp (C + lambda + t * d) * (own_size d + b + s * d).
  Definition logarithm_loss : R := f * (K * (1 + s) + ln S + b) * exp lambda + wm.

  Local Ltac facts :=
    pose proof (unit_nonneg M good) as hl; assert (hm : 0 <= wm) by (unfold sound in good; lra);
    pose proof (S_at_least_one m logits max) as S1; assert (lnS : 0 <= ln S) by (rewrite <- ln_1; apply ln_le; lra);
    destruct logarithms as [hb hs].

  Lemma ln_of_coefficient x : ln (p x) = - own_size (m - x).
  Proof using max.
    pose proof (S_at_least_one m logits max). rewrite (coefficient_from_weight m logits max). unfold own_size, Rdiv.
    rewrite ln_mult, ln_exp, ln_Rinv by (try apply exp_pos; try apply Rinv_0_lt_compat; lra). ring.
  Qed.

  (** Where a coefficient beyond K is 0, what it loses is itself. *)
  Theorem lost_by_zero x w p_hat e :
    In x logits -> Rabs w <= C + t * (m - x) -> Rabs e <= f -> p_hat = p x * exp w + e -> (K < m - x -> p_hat = 0) ->
    1 <= (1 - t) * K -> exp (C - (1 - t) * K) <= f -> far_coefficient x p_hat.
  Proof using max tilts loses reaches.
    intros inx bw be eq zero far small. exists w, e. split; [exact bw|]. split; [exact be|]. split; [|exact eq].
    pose proof (deviation_nonneg m logits max x inx) as hd. pose proof (Rabs_pos e). set (d := m - x) in *.
    destruct (Rle_dec d K) as [near|beyond]; [monotone|]. apply Rnot_le_lt in beyond.
    pose proof (S_at_least_one m logits max) as S1.
    assert (own : e = - (p x * exp w)) by (pose proof (zero beyond); lra). assert (inv : 0 < / S <= 1).
    { split; [monotone|]. rewrite <- Rinv_1. monotone. } assert (below : Rabs e <= exp C * exp (- ((1 - t) * d))).
    { rewrite own, Rabs_Ropp, (coefficient_from_weight m logits max). replace (x - m) with (- d) by (unfold d; ring).
      apply abs_between in bw. unfold Rdiv.
      assert (exp (- d) * exp w <= exp C * exp (- ((1 - t) * d))) by (rewrite <- !exp_plus; apply exp_le; lra).
      pose proof (Rmult_lt_0_compat _ _ (exp_pos (- d)) (exp_pos w)).
      replace (exp (- d) * / S * exp w) with (exp (- d) * exp w * / S) by ring.
      rewrite Rabs_right by (apply Rle_ge, Rmult_le_pos; lra). rewrite <- (Rmult_1_r (exp C * _)). monotone. }
    pose proof (power_outgrows (1 - t) K d ltac:(lra) far ltac:(lra)) as outgrown. pose proof (exp_pos C).
    apply Rle_trans with (exp C * exp (- ((1 - t) * d)) * d); [monotone|].
    apply Rle_trans with (exp C * (K * exp (- ((1 - t) * K)))).
    - replace (exp C * exp (- ((1 - t) * d)) * d) with (exp C * (d * exp (- ((1 - t) * d)))) by ring. monotone.
    - replace (exp C * (K * exp (- ((1 - t) * K)))) with (exp (C - (1 - t) * K) * K)
        by (unfold Rminus at 1; rewrite exp_plus; ring).
      apply Rmult_le_compat_r; [exact reaches|exact small].
  Qed.

  Theorem logarithm_term_near x z :
    In x logits -> logarithm_term x z ->
    Rabs (z - p x * ln (p x)) <= p x * (logarithm_bound (m - x) - own_size (m - x)) + logarithm_loss.
  Proof using good max errs tilts loses logarithms.
    intros inx [p_hat [y [[w [e [bw [be [far ->]]]]] [hy [v [e2 [bv [be2 ->]]]]]]]]. facts.
    pose proof (deviation_nonneg m logits max x inx) as hd. pose proof (ln_of_coefficient x) as own.
    pose proof (coefficient_positive m logits max x) as pos. set (d := m - x) in *. set (l := own_size d) in *.
    assert (l0 : 0 <= l) by (unfold l, own_size; lra). assert (sd : 0 <= s * d) by monotone. rewrite own in hy |- *.
    assert (size : Rabs y <= l + b + s * d).
    { replace y with (- l + (y - - l)) by ring. triangle. rewrite Rabs_Ropp, (Rabs_right l); lra. }
    replace ((p x * exp w + e) * y * exp v + e2 - p x * - l)
      with (p x * (exp (w + v) * (y - - l) + (exp (w + v) - 1) * - l) + (e * y * exp v + e2)) by (rewrite exp_plus; ring).
    triangle. apply Rplus_le_compat.
    - rewrite Rabs_mult, (Rabs_right (p x)) by lra. apply Rmult_le_compat_l; [lra|].
      assert (wv : Rabs (w + v) <= C + lambda + t * d) by monotone. pose proof (expm1_abs _ _ wv) as grown_by.
      apply abs_between in wv. pose proof (exp_le (w + v) (C + lambda + t * d) ltac:(lra)) as le. triangle.
      rewrite !Rabs_mult, (Rabs_right (exp (w + v))), Rabs_Ropp, (Rabs_right l) by (try lra; left; apply exp_pos).
      pose proof (exp_pos (w + v)). pose proof (Rabs_pos (y - - l)).
      assert (exp (w + v) * Rabs (y - - l) <= exp (C + lambda + t * d) * (b + s * d)) by monotone.
      assert (Rabs (exp (w + v) - 1) * l <= (exp (C + lambda + t * d) - 1) * l) by monotone. unfold logarithm_bound. fold l.
      lra.
    - triangle. unfold logarithm_loss. apply Rplus_le_compat; [|exact be2]. apply abs_between in bv.
      rewrite !Rabs_mult, (Rabs_right (exp v)) by (left; apply exp_pos). apply Rmult_le_compat; [monotone|monotone| |monotone].
      pose proof (Rabs_pos e). apply Rle_trans with (Rabs e * (l + b + s * d)); [monotone|].
      replace (Rabs e * (l + b + s * d)) with (Rabs e * d * (1 + s) + Rabs e * (ln S + b)) by (unfold l, own_size; ring).
      assert (Rabs e * d * (1 + s) <= f * K * (1 + s)) by monotone. assert (Rabs e * (ln S + b) <= f * (ln S + b)) by monotone.
      lra.
  Qed.

  Definition logarithms_total (h : nat) : R := C + INR h * lambda + lambda.
  Definition logarithms_rounding (h : nat) : R :=
    (exp (logarithms_total h) - 1) * entropy logits
    + exp (logarithms_total h) * (excess + ln S * (exp mu - 1) + b * exp mu + s * (Dbar + excess)).
  Definition logarithms_lost (h : nat) : R := exp (INR h * lambda) * (size logits * (logarithm_loss + sum_floor M)).

  (** The terms' errors and the roundings of the additions behind them. *)
  Lemma logarithms_within h :
    exp (INR h * lambda) * sum (map (fun x => p x * logarithm_bound (m - x)) logits) - sum (map (fun x => p x * own_size (m - x)) logits)
    <= logarithms_rounding h.
  Proof using good max errs tilts logarithms.
    facts. rewrite (sum_of_coefficients m logits max logarithm_bound), (sum_of_coefficients m logits max own_size).
    set (A := exp (logarithms_total h)). pose proof (exp_pos (logarithms_total h)) as A0. fold A in A0.
    pose proof (tilted_mean m logits max t ltac:(lra)) as mean. pose proof (tilted_mass m logits max t ltac:(lra)) as mass.
    set (U := tilted m logits t (fun d => d)) in *. set (V := tilted m logits t (fun _ => 1)) in *.
    assert (left_side : exp (INR h * lambda) * weighted_sum m logits logarithm_bound = A * ((1 + s) * U + (ln S + b) * V)).
    { unfold U, V, tilted. rewrite <- !weighted_sum_mult, <- weighted_sum_plus, <- !weighted_sum_mult. apply weighted_sum_ext.
      intros x _. unfold logarithm_bound, own_size, A, logarithms_total. rewrite !exp_plus. ring. }
    assert (right_side : weighted_sum m logits own_size = entropy logits * S).
    { rewrite (entropy_of_statistics m logits max), Rmult_plus_distr_r, <- (deviation_sum_mean m logits max).
      unfold deviation_sum, own_size.
      replace (ln S * S) with (weighted_sum m logits (fun _ => ln S))
        by (unfold weight_sum; rewrite <- weighted_sum_mult; apply weighted_sum_ext; intros; ring).
      rewrite <- weighted_sum_plus. apply weighted_sum_ext. intros. ring. }
    assert (pair : (1 + s) * U + (ln S + b) * V <= ((1 + s) * (Dbar + excess) + (ln S + b) * exp mu) * S).
    { replace (((1 + s) * (Dbar + excess) + (ln S + b) * exp mu) * S)
        with ((1 + s) * ((Dbar + excess) * S) + (ln S + b) * (exp mu * S)) by ring.
      monotone. }
    apply Rmult_le_reg_r with S; [lra|].
    replace ((exp (INR h * lambda) * (weighted_sum m logits logarithm_bound / S) - weighted_sum m logits own_size / S) * S)
      with (exp (INR h * lambda) * weighted_sum m logits logarithm_bound - weighted_sum m logits own_size) by (field; lra).
    rewrite left_side, right_side.
    assert (A * ((1 + s) * U + (ln S + b) * V) <= A * (((1 + s) * (Dbar + excess) + (ln S + b) * exp mu) * S)) by monotone.
    apply Rle_trans with (A * (((1 + s) * (Dbar + excess) + (ln S + b) * exp mu) * S) - entropy logits * S); [lra|]. right.
    unfold logarithms_rounding. fold A. rewrite (entropy_of_statistics m logits max). ring.
  Qed.

  Theorem b6d_log_softmax zs y h :
    Forall2 logarithm_term logits zs -> added M 0 0 zs y h -> Rabs (- y - entropy logits) <= logarithms_rounding h + logarithms_lost h.
  Proof using good max errs tilts loses logarithms.
    intros terms tree. facts. assert (hwa : 0 <= sum_floor M) by (unfold sound in good; lra).
    set (own := fun x => p x * (logarithm_bound (m - x) - own_size (m - x))).
    assert (near : forall l ws, Forall (fun x => In x logits) l -> Forall2 logarithm_term l ws ->
      perturbed ws (map (fun x => p x * ln (p x)) l) (map (fun x => own x + logarithm_loss) l)).
    { intros l ws inside each. induction each as [|x z l ws term _ IH]; [constructor|]. inversion inside; subst. cbn [map].
      constructor; [now apply logarithm_term_near|now apply IH]. }
    pose proof (perturbed_sum M good 0 0 zs _ _ y h (Rle_refl 0) (Rle_refl 0)
                  (near logits zs (proj2 (Forall_forall _ _) (fun x inx => inx)) terms) tree) as bound.
    assert (same : - y - entropy logits = - (y - sum (map (fun x => p x * ln (p x)) logits))).
    { unfold entropy, softmax. rewrite map_map. ring. } rewrite same, Rabs_Ropp. eapply Rle_trans; [exact bound|].
    pose proof (logarithms_within h) as within. unfold perturbed_rounding, added_loss.
    rewrite Rplus_0_l, sum_map_plus, sum_map_const.
    assert (many : size (map (fun x => p x * ln (p x)) logits) = size logits) by (unfold size; now rewrite map_length).
    assert (sizes : magnitude (map (fun x => p x * ln (p x)) logits) = sum (map (fun x => p x * own_size (m - x)) logits)).
    { unfold magnitude. rewrite map_map. apply sum_map_ext. intros x inx. pose proof (coefficient_positive m logits max x).
      pose proof (deviation_nonneg m logits max x inx).
      rewrite Rabs_mult, ln_of_coefficient, Rabs_Ropp, !Rabs_right; unfold own_size; lra. }
    assert (together : sum (map (fun x => p x * own_size (m - x)) logits) + sum (map own logits)
      = sum (map (fun x => p x * logarithm_bound (m - x)) logits)).
    { rewrite <- sum_map_plus. apply sum_map_ext. intros. unfold own. ring. } rewrite many, sizes.
    rewrite <- together in within. unfold logarithms_lost. pose proof (exp_pos (INR h * lambda)).
    assert (0 <= exp (INR h * lambda) * sum_floor M) by monotone. lra.
  Qed.
End LogSoftmax.

(** ** With the coefficients of B2, of which those beyond K are 0 *)

Section OfElements.
  Context (M : arithmetic) (good : sound M) (kappa m : R) (logits : list R) (total : R) (h j : nat) (K b s : R)
    (hs : sum_of_row M kappa m logits total h j) (some : lost_sum M kappa m logits h j < 1)
    (logarithms : 0 <= b /\ 0 <= s) (far : 1 <= (1 - slope M) * K)
    (smallest : exp (- ((1 - slope M) * K)) <= exp_floor M + product_floor M).
  Notation C := (element_log M kept_format kappa m logits h j).
  Notation f := (element_floor M kept_format kappa m logits h j).

  Definition element_logarithm_term (x z : R) : Prop :=
    exists p_hat y, computed_element M kept_format kappa m j total x p_hat /\ (K < m - x -> p_hat = 0) /\
      Rabs (y - ln (coefficient logits x)) <= b + s * (m - x) /\ computed_product M (p_hat * y) z.

  Let tilts : 0 <= slope M < 1.
  Proof using good. pose proof (slope_nonneg M good). assert (slope M <= / 4) by apply good. lra. Qed.

  Let reaches : 0 <= K.
  Proof using good far. apply Rlt_le, Rmult_lt_reg_l with (1 - slope M); [|rewrite Rmult_0_r]; lra. Qed.

  Lemma element_floor_reaches : 0 <= f /\ exp (C - (1 - slope M) * K) <= f.
  Proof using good hs some smallest.
    assert (hm : 0 <= product_floor M) by (unfold sound in good; lra).
    assert (hx : 0 <= exp_floor M) by (unfold sound in good; lra).
    unfold element_floor, numerator_loss, when_rescaled, division_losses. cbn [output_floor kept_format].
    pose proof (exp_pos C).
    set (l := exp_floor M + match j with 0%nat => 0 | S _ => exp_floor M + product_floor M end + 2 * product_floor M).
    assert (low : exp_floor M + product_floor M <= l) by (unfold l; destruct j; lra). rewrite Rplus_0_r.
    split; [monotone|]. unfold Rminus at 1. rewrite exp_plus, Rmult_comm. monotone.
  Qed.

  Lemma element_is_logarithm_term x z :
    In x logits -> element_logarithm_term x z -> logarithm_term M m logits C (slope M) f K b s x z.
  Proof using good hs some logarithms far smallest tilts reaches.
    intros inx [p_hat [y [element [zero [hy hz]]]]]. pose proof (row_maximum _ _ _ _ _ _ _ hs) as max.
    destruct (element_error M kept_format good kept_format_sound kappa m logits total h j hs some x p_hat inx element) as [w [e [bw [be eq]]]].
    destruct element_floor_reaches as [loses enough]. exists p_hat, y. split; [|now split].
    apply (lost_by_zero m logits C (slope M) f K max tilts loses reaches x w p_hat e inx bw be); try easy.
    rewrite eq, (coefficient_from_weight m logits max). replace (- (m - x)) with (x - m) by ring. easy.
  Qed.

  Theorem b6d_of_log_softmax zs y height :
    Forall2 element_logarithm_term logits zs -> added M 0 0 zs y height ->
    Rabs (- y - entropy logits)
    <= logarithms_rounding M m logits C (slope M) b s height + logarithms_lost M m logits f K b s height.
  Proof using good hs some logarithms far smallest tilts reaches.
    intros terms tree. pose proof (row_maximum _ _ _ _ _ _ _ hs) as max. destruct element_floor_reaches as [loses _].
    apply (b6d_log_softmax M good m logits C (slope M) f K b s max
             (element_log_nonneg M kept_format good kept_format_sound kappa m logits total h j hs some) tilts loses logarithms zs); [|exact tree].
    assert (all : forall l, Forall (fun x => In x logits) l -> forall ws, Forall2 element_logarithm_term l ws ->
                    Forall2 (logarithm_term M m logits C (slope M) f K b s) l ws).
    { intros l inside ws each. induction each as [|x z l ws term _ IH]; [constructor|]. inversion inside; subst.
      constructor; [now apply element_is_logarithm_term|now apply IH]. }
    apply all; [apply Forall_forall; easy|exact terms].
  Qed.
End OfElements.

(** ** With p_hat = e^y, or the softmax of the logarithms *)

Section OfLogarithms.
  Context (m : R) (logits : list R) (b s : R) (max : is_maximum m logits) (logarithms : 0 <= b /\ 0 <= s < 1).
  Notation p x := (coefficient logits x).

  Theorem b6d_of_powers M x y v e :
    Rabs (y - ln (p x)) <= b + s * (m - x) -> Rabs v <= exp_unit M -> Rabs e <= exp_floor M ->
    forall K, Rabs e * (m - x) <= exp_floor M * K ->
    far_coefficient m logits (b + exp_unit M) s (exp_floor M) K x (exp (y + v) + e).
  Proof using max.
    intros hy bv be K far. exists (y + v - ln (p x)), e. split; [|split; [exact be|split; [exact far|]]].
    - replace (y + v - ln (p x)) with ((y - ln (p x)) + v) by ring. triangle. lra.
    - pose proof (coefficient_positive m logits max x) as pos. f_equal. rewrite <- (exp_ln (p x)) at 1 by exact pos.
      rewrite <- exp_plus. f_equal. ring.
  Qed.

  Theorem softmax_of_logarithms (g : R -> R) x :
    In x logits -> (forall x, In x logits -> Rabs (g x - ln (p x)) <= b + s * (m - x)) ->
    exists w, Rabs w <= 2 * b + shift m logits s + s * (m - x) /\ coefficient (map g logits) (g x) = p x * exp w.
  Proof using max logarithms.
    intros inx near. pose proof (S_at_least_one m logits max) as S1. set (Z := partition_function (map g logits)).
    assert (Z_is : Z = sum (map (fun x => p x * exp (g x - ln (p x))) logits)).
    { unfold Z, partition_function. rewrite map_map. apply sum_map_ext. intros z _.
      rewrite <- (exp_ln (p z)) at 1 by apply (coefficient_positive m logits max). rewrite <- exp_plus. f_equal. ring. }
    assert (mean : forall k, sum (map (fun x => p x * (exp (k * b) * exp (k * s * (m - x)))) logits)
                   = exp (k * b) * (tilted m logits (k * s) (fun _ => 1) / weight_sum m logits)).
    { intros k. rewrite (sum_of_coefficients m logits max (fun d => exp (k * b) * exp (k * s * d))). unfold tilted, Rdiv.
      rewrite <- Rmult_assoc. f_equal. rewrite <- weighted_sum_mult. apply weighted_sum_ext. intros. ring. }
    pose proof (tilted_mass m logits max s (proj2 logarithms)) as heavy. pose proof (tilted_mass_below m logits max s) as light.
    assert (small : s * mean_deviation m logits <= shift m logits s).
    { unfold shift. pose proof (second_nonneg logits s). pose proof (pow2_ge_0 s). nra. }
    assert (up : Z <= exp (b + shift m logits s)).
    { rewrite Z_is. apply Rle_trans with (sum (map (fun x => p x * (exp (1 * b) * exp (1 * s * (m - x)))) logits)).
      - apply sum_map_le. intros z inz. pose proof (near z inz) as close. apply abs_between in close.
        apply Rmult_le_compat_l; [left; apply (coefficient_positive m logits max)|]. rewrite <- exp_plus. apply exp_le. lra.
      - rewrite mean, !Rmult_1_l, exp_plus. apply Rmult_le_compat_l; [left; apply exp_pos|].
        apply Rmult_le_reg_r with (weight_sum m logits); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. exact heavy. }
    assert (low : exp (- (b + shift m logits s)) <= Z).
    { rewrite Z_is. apply Rle_trans with (sum (map (fun x => p x * (exp (-1 * b) * exp (-1 * s * (m - x)))) logits)).
      - rewrite mean. replace (-1 * s) with (- s) by ring. replace (- (b + shift m logits s)) with (-1 * b + - shift m logits s) by ring.
        rewrite exp_plus. apply Rmult_le_compat_l; [left; apply exp_pos|].
        apply Rmult_le_reg_r with (weight_sum m logits); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
        eapply Rle_trans; [|exact light]. apply Rmult_le_compat_r; [lra|]. apply exp_le. lra.
      - apply sum_map_le. intros z inz. pose proof (near z inz) as close. apply abs_between in close.
        apply Rmult_le_compat_l; [left; apply (coefficient_positive m logits max)|]. rewrite <- exp_plus. apply exp_le. lra. }
    pose proof (exp_pos (- (b + shift m logits s))) as Z0. pose proof (ln_le _ _ Z0 low) as l1. pose proof (ln_le Z _ ltac:(lra) up) as l2.
    rewrite ln_exp in l1, l2. pose proof (coefficient_positive m logits max x) as pos. pose proof (near x inx) as close.
    exists (g x - ln (p x) - ln Z). split; [apply abs_between in close; apply Rabs_le; lra|].
    unfold coefficient at 1. fold Z. unfold Rminus at 1. rewrite exp_plus, exp_Ropp, exp_ln by lra.
    rewrite <- (exp_ln (p x)) at 1 by exact pos. unfold Rdiv. rewrite <- Rmult_assoc, <- exp_plus. do 2 f_equal. ring.
  Qed.
End OfLogarithms.
