(** * B14: the cross-entropy of one row, (1 - s) w_y (L - x_y) + (s / V) sum w (L - x) + z L^2, and means of rows.

    Main results
    - [b14_hard_label]   L - x_y as computed, m and ln S apart: B5 at the label
    - [b14_loss]         the three terms, each within an error of its own, added in any order: e^K (sum |term| + sum
                         error) - sum |term|, K the factors' roundings and the additions
    - [b14_smoothing_of_logarithms]   sum w (L - x) from log-probabilities that err: the same with the height of the sum
    - [b14_smoothing_of_logits]       W L - sum w x, each from its own sum
    - [b14_square]       z L^2 from an L that errs by e: z e (2 |L| + e)
    - [b14_mean]         a mean of losses that err, over a divisor that is a sum itself or exact

    Source: docs/tolerances/cross_entropy.md; cross_entropy_error in numerics/rounding/rounding_cross_entropy.cpp. What a softcap
    adds to each logit is a premise here. *)

From softcheck.numerics Require Import row tilted_row atoms reduction converted_row b1_sum score_error b5_logsumexp
  added_terms.
Local Open Scope R_scope.

Section HardLabel.
  Context (M : arithmetic).
  Hypothesis good : sound M.
  Context (kappa m : R) (logits : list R) (s : R) (h j : nat).
  Hypothesis hs : sum_of_row M kappa m logits s h j.
  Hypothesis some : lost_sum M kappa m logits h j < 1.

  (** The loss is -r for the log-probability r of the label. *)
  Theorem b14_hard_label x D b y z u_out floor_out r :
    In x logits -> Rabs (D - (m - x)) <= kappa -> 0 <= D -> computed_argument M D b -> computed_log M s y ->
    rounded_sum M (- b - y) z -> rounded_output u_out floor_out z r ->
    let first := log_softmax_constant M kappa m logits h j + slope M * (m - x) in
    let second := first + roundoff M * ((m - x) + ln (weight_sum m logits) + first) in
    Rabs (- r - (ln (partition_function logits) - x))
    <= second + u_out * ((m - x) + ln (weight_sum m logits) + second)
       + ((product_floor M * (1 + roundoff M) + sum_floor M) * (1 + u_out) + floor_out).
  Proof using good hs some.
    intros inx close hD arg log rounded out first second.
    pose proof (b5_log_softmax M good kappa m logits s h j hs some x D b y z u_out floor_out r inx close hD arg log
                  rounded out) as bound. cbv zeta in bound. fold first in bound. fold second in bound.
    rewrite ln_coefficient in bound by now apply in_not_nil with x.
    replace (- r - (ln (partition_function logits) - x)) with (- (r - (x - ln (partition_function logits)))) by ring.
    now rewrite Rabs_Ropp.
  Qed.
End HardLabel.

Section Loss.
  Context (M : arithmetic).
  Hypothesis good : sound M.
  Notation lambda := (unit M).

  (** One term c v of the loss, v known within e: the factor c >= 0 is exact, its roundings are the sum's a. *)
  Lemma scaled_term c v v' e : 0 <= c -> Rabs (v' - v) <= e -> Rabs (c * v' - c * v) <= c * e.
  Proof using.
    intros hc close. replace (c * v' - c * v) with (c * (v' - v)) by ring.
    rewrite Rabs_mult, (Rabs_right c) by lra. now apply Rmult_le_compat_l.
  Qed.

  Theorem b14_square L L' e : Rabs (L' - L) <= e -> Rabs (L' ^ 2 - L ^ 2) <= e * (2 * Rabs L + e).
  Proof using.
    intros close. replace (L' ^ 2 - L ^ 2) with ((L' - L) * (2 * L + (L' - L))) by ring.
    rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; [easy|].
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_right 2) by lra. lra.
  Qed.

  (** c1 = (1 - s) w_y of N = L - x_y, c2 = s of the smoothing's mean S, c3 = z of L^2. *)
  Theorem b14_loss a l c1 c2 c3 N N' eN S S' eS L L' eL y h :
    0 <= a -> 0 <= l -> 0 <= c1 -> 0 <= c2 -> 0 <= c3 ->
    Rabs (N' - N) <= eN -> Rabs (S' - S) <= eS -> Rabs (L' - L) <= eL ->
    added M a l [c1 * N'; c2 * S'; c3 * L' ^ 2] y h ->
    let magnitude := c1 * Rabs N + c2 * Rabs S + c3 * L ^ 2 in
    let error := c1 * eN + c2 * eS + c3 * (eL * (2 * Rabs L + eL)) in
    Rabs (y - (c1 * N + c2 * S + c3 * L ^ 2))
    <= exp (a + INR h * lambda) * (magnitude + error) - magnitude
       + exp (INR h * lambda) * (3 * l + 2 * sum_floor M).
  Proof using good.
    intros ha hl h1 h2 h3 hN hS hL tree mag error.
    assert (near : perturbed [c1 * N'; c2 * S'; c3 * L' ^ 2] [c1 * N; c2 * S; c3 * L ^ 2]
                     [c1 * eN; c2 * eS; c3 * (eL * (2 * Rabs L + eL))]).
    { apply perturbed_term; [now apply scaled_term|]. apply perturbed_term; [now apply scaled_term|].
      apply perturbed_term; [apply scaled_term; [easy|now apply b14_square]|constructor]. }
    pose proof (perturbed_sum M good a l _ _ _ y h ha hl near tree) as bound.
    unfold perturbed_rounding, added_loss, score_error.magnitude, size, sum in bound. simpl in bound.
    assert (m1 : Rabs (c1 * N) = c1 * Rabs N) by (rewrite Rabs_mult, (Rabs_right c1); lra).
    assert (m2 : Rabs (c2 * S) = c2 * Rabs S) by (rewrite Rabs_mult, (Rabs_right c2); lra).
    assert (m3 : Rabs (c3 * (L * (L * 1))) = c3 * L ^ 2).
    { rewrite Rabs_right; [simpl; ring|]. apply Rle_ge, Rmult_le_pos; [easy|]. pose proof (pow2_ge_0 L). simpl in *. lra. }
    rewrite m1, m2, m3 in bound. unfold mag, error. simpl in *.
    replace (c1 * N + c2 * S + c3 * (L * (L * 1))) with (c1 * N + (c2 * S + (c3 * (L * (L * 1)) + 0))) by ring.
    eapply Rle_trans; [apply bound|]. right. ring.
  Qed.

  (** Log-probabilities ell_c >= 0, each within its own error, times weights w_c >= 0: no term cancels another. *)
  Theorem b14_smoothing_of_logarithms a l (classes : list (R * (R * (R * R)))) y h :
    0 <= a -> 0 <= l ->
    (forall w ell ell' e, In (w, (ell, (ell', e))) classes -> 0 <= w /\ 0 <= ell /\ Rabs (ell' - ell) <= e) ->
    added M a l (map (fun c => fst c * fst (snd (snd c))) classes) y h ->
    let exact := sum (map (fun c => fst c * fst (snd c)) classes) in
    let error := sum (map (fun c => fst c * snd (snd (snd c))) classes) in
    Rabs (y - exact) <= exp (a + INR h * lambda) * (exact + error) - exact + added_loss M l h (map fst classes).
  Proof using good.
    intros ha hl each tree exact error.
    assert (near : forall cs, (forall w ell ell' e, In (w, (ell, (ell', e))) cs -> 0 <= w /\ 0 <= ell /\ Rabs (ell' - ell) <= e) ->
              perturbed (map (fun c => fst c * fst (snd (snd c))) cs) (map (fun c => fst c * fst (snd c)) cs)
                (map (fun c => fst c * snd (snd (snd c))) cs)
              /\ magnitude (map (fun c => fst c * fst (snd c)) cs) = sum (map (fun c => fst c * fst (snd c)) cs)).
    { induction cs as [|[w [ell [ell' e]]] cs IH]; intros all; [split; [constructor|easy]|].
      destruct (all w ell ell' e (or_introl eq_refl)) as [hw [hl' close]].
      destruct IH as [IH1 IH2]; [intros; apply (all w0 ell0 ell'0 e0); now right|]. split.
      - simpl. apply perturbed_term; [now apply scaled_term|easy].
      - unfold magnitude, sum in *. simpl. rewrite IH2, Rabs_right; [easy|]. apply Rle_ge, Rmult_le_pos; easy. }
    destruct (near classes each) as [close same].
    pose proof (perturbed_sum M good a l _ _ _ y h ha hl close tree) as bound.
    unfold perturbed_rounding in bound. rewrite same in bound. fold exact error in bound.
    unfold added_loss, size in *. rewrite !map_length in *. easy.
  Qed.

  (** W L less the sum X of the weighted logits, which a tree has added up; a of both terms, one subtraction. *)
  Theorem b14_smoothing_of_logits a l W L L' eL X X' eX y :
    0 <= a -> 0 <= l -> 0 <= W -> Rabs (L' - L) <= eL -> Rabs (X' - X) <= eX ->
    added M a l [W * L'; - X'] y 1 ->
    let magnitude := W * Rabs L + Rabs X in
    let error := W * eL + eX in
    Rabs (y - (W * L - X)) <= exp (a + lambda) * (magnitude + error) - magnitude + exp lambda * (2 * l + sum_floor M).
  Proof using good.
    intros ha hl hW hL hX tree mag error.
    assert (near : perturbed [W * L'; - X'] [W * L; - X] [W * eL; eX]).
    { apply perturbed_term; [now apply scaled_term|]. apply perturbed_term; [|constructor].
      replace (- X' - - X) with (- (X' - X)) by ring. now rewrite Rabs_Ropp. }
    pose proof (perturbed_sum M good a l _ _ _ y 1 ha hl near tree) as bound.
    unfold perturbed_rounding, added_loss, score_error.magnitude, size, sum in bound. simpl in bound.
    assert (m1 : Rabs (W * L) = W * Rabs L) by (rewrite Rabs_mult, (Rabs_right W); lra).
    rewrite m1, Rabs_Ropp, !Rmult_1_l in bound. unfold mag, error.
    replace (W * L - X) with (W * L + (- X + 0)) by ring. eapply Rle_trans; [apply bound|]. right. ring.
  Qed.

  (** Losses within d_i, added up and divided by what is within e^(+-q) of the divisor. *)
  Theorem b14_mean a l losses' losses ds y h divisor v q z :
    0 <= a -> 0 <= l -> 0 < divisor -> perturbed losses' losses ds -> added M a l losses' y h ->
    Rabs v <= q -> computed_product M (y / (divisor * exp v)) z ->
    Rabs (z - sum losses / divisor)
    <= (exp (a + INR h * lambda + q + lambda) * (magnitude losses + sum ds) - magnitude losses
        + exp (q + lambda) * added_loss M l h losses) / divisor + product_floor M.
  Proof using good.
    intros ha hl hd near tree hv [t [e [bt [be ->]]]].
    pose proof (perturbed_sum M good a l _ _ _ y h ha hl near tree) as close.
    assert (lam : 0 <= lambda) by now apply unit_nonneg. pose proof (Rabs_pos v) as hq.
    assert (0 <= INR h * lambda) by (apply Rmult_le_pos; [apply pos_INR|easy]).
    pose proof (sum_below_magnitude losses) as below.
    assert (tv : Rabs (t - v) <= q + lambda).
    { unfold Rminus. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
    set (E := exp (a + INR h * lambda)) in *. set (F := exp (q + lambda)).
    assert (E1 : 1 <= E) by (apply exp_at_least_one; lra). assert (F1 : 1 <= F) by (apply exp_at_least_one; lra).
    assert (m0 : 0 <= magnitude losses) by (apply sum_map_nonneg; intros; apply Rabs_pos).
    pose proof (expm1_abs (t - v) (q + lambda) tv) as grows. fold F in grows.
    assert (up : exp (t - v) <= F) by (apply exp_le; apply abs_between in tv; lra). pose proof (exp_pos (t - v)).
    replace (y / (divisor * exp v) * exp t + e - sum losses / divisor)
      with (((y - sum losses) * exp (t - v) + sum losses * (exp (t - v) - 1)) / divisor + e).
    2:{ assert (split_e : exp (t - v) = exp t * / exp v) by (unfold Rminus; now rewrite exp_plus, exp_Ropp).
        rewrite split_e. field. split; [lra|apply Rgt_not_eq, exp_pos]. }
    eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [|easy].
    unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ divisor)) by (left; now apply Rinv_0_lt_compat).
    apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
    eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult, (Rabs_right (exp (t - v))) by lra.
    assert (scaled : Rabs (y - sum losses) * exp (t - v) <= (perturbed_rounding M a h losses ds + added_loss M l h losses) * F)
      by (apply Rmult_le_compat; try lra; apply Rabs_pos).
    assert (Rabs (sum losses) * Rabs (exp (t - v) - 1) <= magnitude losses * (F - 1))
      by (apply Rmult_le_compat; try apply Rabs_pos; easy).
    replace (a + INR h * lambda + q + lambda) with ((a + INR h * lambda) + (q + lambda)) by ring.
    rewrite exp_plus. fold E F. unfold perturbed_rounding in scaled. fold E in scaled. lra.
  Qed.
End Loss.
