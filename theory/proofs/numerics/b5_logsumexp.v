(** * B5: log-sum-exp and log-softmax.

    Main results
    - [log_of_sum]        ln S_hat as computed errs by sigma + E_l u (ln S + sigma), and what the logarithm may lose
    - [b5_logsumexp]      |L_hat - L| <= (1 + u) (sigma + E_l u (ln S + sigma) + g |m| + c) + u |L|, then the output
    - [b5_log_softmax]    x - m - ln S, centred: constant + slope D_j, then the two roundings at the result's size
    - [b5_log_softmax_uncentred]   x - L: what L errs by, g (|m| + D_j) + c, then the same two roundings
    - [b14_hard_label]   L - x_y as computed, m and ln S apart: B5 at the label
    - [b14_loss]         the three terms, each within an error of its own, added in any order: e^K (sum |term| + sum
                         error) - sum |term|, K the factors' roundings and the additions
    - [b14_smoothing_of_logarithms]   sum w (L - x) from log-probabilities that err: the same with the height of the sum
    - [b14_smoothing_of_logits]       W L - sum w x, each from its own sum
    - [b14_square]       z L^2 from an L that errs by e: z e (2 |L| + e)
    - [b14_mean]         a mean of losses that err, over a divisor that is a sum itself or exact

    Source: docs/tolerances.md, B5; accumulated_logsumexp, log_softmax_error in numerics/rounding/rounding_entropy.cpp. *)

From softcheck.numerics Require Import score_error added_terms row tilted_row reduction b1_sum.
Local Open Scope R_scope.

(** The usual model of one addition: sharper than [computed_sum] where the result may be small. *)
Definition rounded_sum (M : arithmetic) (z s : R) : Prop :=
  exists d e, Rabs d <= roundoff M /\ Rabs e <= sum_floor M /\ s = z * (1 + d) + e.

(** ln a as computed: relative error E_l u, and what underflow of the result takes. *)
Definition computed_log (M : arithmetic) (a y : R) : Prop :=
  Rabs (y - ln a) <= log_error M * Rabs (ln a) + product_floor M.

(** The output's rounding in the usual model. *)
Definition rounded_output (u_out floor_out q p : R) : Prop :=
  exists d e, Rabs d <= u_out /\ Rabs e <= floor_out /\ p = q * (1 + d) + e.

(** A rounding of something of size |exact| + error. *)
Lemma rounded_error u exact approx d e error loss floor :
  Rabs d <= u -> Rabs e <= floor -> Rabs (approx - exact) <= error + loss ->
  Rabs (approx * (1 + d) + e - exact) <= error + u * (Rabs exact + error) + (loss * (1 + u) + floor).
Proof.
  intros bd be close. replace (approx * (1 + d) + e - exact) with ((approx - exact) + approx * d + e) by ring. triangle.
  eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|]. rewrite Rabs_mult.
  assert (Rabs approx <= Rabs exact + (error + loss)).
  { replace approx with (exact + (approx - exact)) by ring. pose proof (Rabs_triang exact (approx - exact)). lra. }
  pose proof (Rabs_pos approx). pose proof (Rabs_pos d).
  assert (Rabs approx * Rabs d <= (Rabs exact + (error + loss)) * u) by monotone. lra.
Qed.

Section B5.
  Context (M : arithmetic) (good : sound M) (kappa m : R) (logits : list R) (s : R) (h j : nat)
    (hs : sum_of_row M kappa m logits s h j) (some : lost_sum M kappa m logits h j < 1).
  Notation t := (slope M).
  Notation u := (roundoff M).
  Notation S := (weight_sum m logits).
  Notation sig := (sigma M kappa m logits h j).
  Notation c := (argument_floor M kappa j).
  Notation L := (ln (partition_function logits)).

  Let max : is_maximum m logits := row_maximum _ _ _ _ _ _ _ hs.

  Definition log_sum_error : R := sig + log_error M * (ln S + sig).

  Lemma log_sum_nonneg : 0 <= ln S.
  Proof using hs. rewrite <- ln_1. apply ln_le; [lra|]. now apply S_at_least_one. Qed.

  (** |ln S_hat - ln S| <= sigma exactly: no second order. *)
  Theorem log_of_sum y : computed_log M s y -> Rabs (y - ln S) <= log_sum_error + product_floor M.
  Proof using good hs some.
    intros hy. pose proof (S_at_least_one m logits max). pose proof log_sum_nonneg as hl.
    pose proof (rel_log sig s S ltac:(lra) (b1_sum M good kappa m logits s h j hs some)) as close.
    assert (0 <= log_error M) by apply good. assert (Rabs (ln s) <= ln S + sig).
    { replace (ln s) with (ln S + (ln s - ln S)) by ring. pose proof (Rabs_triang (ln S) (ln s - ln S)).
      rewrite (Rabs_right (ln S)) in * by lra. lra. }
    replace (y - ln S) with ((y - ln s) + (ln s - ln S)) by ring. triangle. unfold computed_log in hy.
    unfold log_sum_error. assert (log_error M * Rabs (ln s) <= log_error M * (ln S + sig)) by monotone. lra.
  Qed.

  (** The maximum as it is added: the logit converted and scaled, g = e^((A' - 1) lambda) - 1 its roundings. *)
  Definition computed_maximum (g m_hat : R) : Prop := Rabs (m_hat - m) <= g * Rabs m + c + product_floor M.

  Definition logsumexp_parts (g : R) : R := log_sum_error + g * Rabs m + c.
  Definition logsumexp_rounding (g : R) : R := logsumexp_parts g + u * (Rabs L + logsumexp_parts g).
  Definition logsumexp_floor : R := 2 * product_floor M * (1 + u) + sum_floor M.

  Theorem logsumexp_accumulated g m_hat y z :
    computed_maximum g m_hat -> computed_log M s y -> rounded_sum M (m_hat + y) z ->
    Rabs (z - L) <= logsumexp_rounding g + logsumexp_floor.
  Proof using good hs some.
    intros hm hy [d [e [bd [be ->]]]]. pose proof (log_of_sum y hy) as close.
    unfold logsumexp_rounding, logsumexp_floor.
    apply (rounded_error u L (m_hat + y) d e (logsumexp_parts g) (2 * product_floor M) (sum_floor M) bd be).
    rewrite (logsumexp_from_statistics m logits max).
    replace (m_hat + y - (m + ln S)) with ((m_hat - m) + (y - ln S)) by ring. triangle. unfold computed_maximum in hm.
    unfold logsumexp_parts. lra.
  Qed.

  Theorem b5_logsumexp g m_hat y z u_out floor_out L_hat :
    computed_maximum g m_hat -> computed_log M s y -> rounded_sum M (m_hat + y) z ->
    rounded_output u_out floor_out z L_hat ->
    Rabs (L_hat - L) <= logsumexp_rounding g + u_out * (Rabs L + logsumexp_rounding g)
                        + (logsumexp_floor * (1 + u_out) + floor_out).
  Proof using good hs some.
    intros hm hy hz [d [e [bd [be ->]]]]. apply rounded_error; try easy. now apply (logsumexp_accumulated g m_hat y).
  Qed.

  (** ** log-softmax, centred: the difference as the exponential's argument, less ln S_hat *)

  Definition log_softmax_constant : R := log_sum_error + c.

  Theorem b5_log_softmax x D b y z u_out floor_out r :
    In x logits -> Rabs (D - (m - x)) <= kappa -> 0 <= D -> computed_argument M D b -> computed_log M s y ->
    rounded_sum M (- b - y) z -> rounded_output u_out floor_out z r ->
    let value := ln (coefficient logits x) in
    let first := log_softmax_constant + t * (m - x) in
    let second := first + u * ((m - x) + ln S + first) in
    Rabs (r - value) <= second + u_out * ((m - x) + ln S + second)
                        + ((product_floor M * (1 + u) + sum_floor M) * (1 + u_out) + floor_out).
  Proof using good hs some.
    intros inx close hD [ta [ca [bta [bca ->]]]] hy [d1 [e1 [bd1 [be1 ->]]]] [d2 [e2 [bd2 [be2 ->]]]] value first
      second.
    pose proof (log_of_sum y hy) as logged. pose proof log_sum_nonneg as hl. pose proof (proj2 max x inx) as hx.
    assert (same : value = - (m - x) - ln S).
    { unfold value. rewrite ln_coefficient, (logsumexp_from_statistics m logits max).
      - ring.
      - now apply in_not_nil with x. }
    assert (size : Rabs value = (m - x) + ln S) by (rewrite same, Rabs_left1; lra). rewrite <- size in *.
    apply rounded_error; try easy. unfold second. rewrite <- size. apply rounded_error; try easy. rewrite same.
    replace (- (D * exp ta + ca) - y - (- (m - x) - ln S)) with ((m - x) - D * exp ta + - ca + - (y - ln S)) by ring.
    triangle. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|]. rewrite !Rabs_Ropp.
    unfold first, log_softmax_constant. pose proof (slope_nonneg M good) as ht.
    pose proof (argument_factor M ta bta) as fac. apply abs_between in close.
    assert (hk : 0 <= kappa) by apply (proj1 (proj2 (sum_between M good kappa m logits s h j hs))).
    assert (Rabs ((m - x) - D * exp ta) <= t * (m - x) + (1 + t) * kappa) by (apply Rabs_le; nra).
    assert (argument_step M + (1 + t) * kappa <= c).
    { unfold argument_floor. pose proof (pos_INR j). assert (0 <= argument_step M) by apply good. nra. } lra.
  Qed.

  (** ** log-softmax, uncentred: the logit as it is added, less L as computed; |x| <= |m| + D *)

  Definition uncentred_first (g D : R) : R := logsumexp_rounding g + g * (Rabs m + D) + c.
  Definition uncentred_second (g D : R) : R := uncentred_first g D + u * (D + ln S + uncentred_first g D).
  Definition uncentred_floor : R := (logsumexp_floor + product_floor M) * (1 + u) + sum_floor M.

  Theorem b5_log_softmax_uncentred g x x_hat m_hat y z w u_out floor_out r :
    In x logits -> 0 <= g -> Rabs (x_hat - x) <= g * Rabs x + c + product_floor M ->
    computed_maximum g m_hat -> computed_log M s y -> rounded_sum M (m_hat + y) z ->
    rounded_sum M (x_hat - z) w -> rounded_output u_out floor_out w r ->
    let value := ln (coefficient logits x) in
    Rabs (r - value) <= uncentred_second g (m - x) + u_out * ((m - x) + ln S + uncentred_second g (m - x))
                        + (uncentred_floor * (1 + u_out) + floor_out).
  Proof using good hs some.
    intros inx hg hx hm hy hz [d1 [e1 [bd1 [be1 ->]]]] [d2 [e2 [bd2 [be2 ->]]]] value.
    pose proof (logsumexp_accumulated g m_hat y z hm hy hz) as accumulated. pose proof log_sum_nonneg as hl.
    pose proof (proj2 max x inx) as below.
    assert (same : value = x - L) by (unfold value; rewrite ln_coefficient; [easy|now apply in_not_nil with x]).
    assert (size : Rabs value = (m - x) + ln S).
    { rewrite same, (logsumexp_from_statistics m logits max), Rabs_left1; lra. } rewrite <- size in *.
    unfold uncentred_floor, uncentred_second. rewrite <- size. apply rounded_error; try easy.
    apply rounded_error; try easy. rewrite same. replace (x_hat - z - (x - L)) with ((x_hat - x) + - (z - L)) by ring.
    triangle. rewrite Rabs_Ropp. unfold uncentred_first. assert (Rabs x <= Rabs m + (m - x)).
    { replace x with (m + - (m - x)) at 1 by ring. triangle. rewrite Rabs_Ropp, (Rabs_right (m - x)) by lra. lra. }
    assert (g * Rabs x <= g * (Rabs m + (m - x))) by monotone. lra.
  Qed.
End B5.

(** ** B14: the cross-entropy of one row, (1 - s) w_y (L - x_y) + (s / V) sum w (L - x) + z L^2, and means of rows.

    Source: docs/tolerances/cross_entropy.md; cross_entropy_error in numerics/rounding/rounding_cross_entropy.cpp. What a softcap
    adds to each logit is a premise here. *)

Section HardLabel.
  Context (M : arithmetic) (good : sound M) (kappa m : R) (logits : list R) (s : R) (h j : nat)
    (hs : sum_of_row M kappa m logits s h j) (some : lost_sum M kappa m logits h j < 1).

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
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).

  (** One term c v of the loss, v known within e: the factor c >= 0 is exact, its roundings are the sum's a. *)
  Lemma scaled_term c v v' e : 0 <= c -> Rabs (v' - v) <= e -> Rabs (c * v' - c * v) <= c * e.
  Proof using.
    intros hc close. replace (c * v' - c * v) with (c * (v' - v)) by ring. rewrite Rabs_mult, (Rabs_right c) by lra.
    monotone.
  Qed.

  Theorem b14_square L L' e : Rabs (L' - L) <= e -> Rabs (L' ^ 2 - L ^ 2) <= e * (2 * Rabs L + e).
  Proof using.
    intros close. replace (L' ^ 2 - L ^ 2) with ((L' - L) * (2 * L + (L' - L))) by ring. rewrite Rabs_mult.
    apply Rmult_le_compat; try apply Rabs_pos; [easy|]. triangle. rewrite Rabs_mult, (Rabs_right 2) by lra. lra.
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
    intros ha hl hW hL hX tree mag error. assert (near : perturbed [W * L'; - X'] [W * L; - X] [W * eL; eX]).
    { apply perturbed_term; [now apply scaled_term|]. apply perturbed_term; [|constructor].
      replace (- X' - - X) with (- (X' - X)) by ring. now rewrite Rabs_Ropp. }
    pose proof (perturbed_sum M good a l _ _ _ y 1 ha hl near tree) as bound.
    unfold perturbed_rounding, added_loss, score_error.magnitude, size, sum in bound. simpl in bound.
    assert (m1 : Rabs (W * L) = W * Rabs L) by (rewrite Rabs_mult, (Rabs_right W); lra).
    rewrite m1, Rabs_Ropp, !Rmult_1_l in bound. unfold mag, error. replace (W * L - X) with (W * L + (- X + 0)) by ring.
    eapply Rle_trans; [apply bound|]. right. ring.
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
    assert (0 <= INR h * lambda) by monotone. pose proof (sum_below_magnitude losses) as below.
    assert (tv : Rabs (t - v) <= q + lambda). { unfold Rminus. triangle. rewrite Rabs_Ropp. lra. }
    set (E := exp (a + INR h * lambda)) in *. set (F := exp (q + lambda)).
    assert (E1 : 1 <= E) by (apply exp_at_least_one; lra). assert (F1 : 1 <= F) by (apply exp_at_least_one; lra).
    assert (m0 : 0 <= magnitude losses) by (apply sum_map_nonneg; intros; apply Rabs_pos).
    pose proof (expm1_abs (t - v) (q + lambda) tv) as grows. fold F in grows.
    assert (up : exp (t - v) <= F) by (apply exp_le; apply abs_between in tv; lra). pose proof (exp_pos (t - v)).
    replace (y / (divisor * exp v) * exp t + e - sum losses / divisor)
      with (((y - sum losses) * exp (t - v) + sum losses * (exp (t - v) - 1)) / divisor + e).
    2:{ assert (split_e : exp (t - v) = exp t * / exp v) by (unfold Rminus; now rewrite exp_plus, exp_Ropp).
        rewrite split_e. field. split; [lra|apply Rgt_not_eq, exp_pos]. }
    triangle. apply Rplus_le_compat; [|easy]. unfold Rdiv.
    rewrite Rabs_mult, (Rabs_right (/ divisor)) by (left; now apply Rinv_0_lt_compat).
    apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|]. triangle.
    rewrite !Rabs_mult, (Rabs_right (exp (t - v))) by lra.
    assert (scaled : Rabs (y - sum losses) * exp (t - v)
      <= (perturbed_rounding M a h losses ds + added_loss M l h losses) * F) by monotone.
    assert (Rabs (sum losses) * Rabs (exp (t - v) - 1) <= magnitude losses * (F - 1)) by monotone.
    replace (a + INR h * lambda + q + lambda) with ((a + INR h * lambda) + (q + lambda)) by ring. rewrite exp_plus.
    fold E F. unfold perturbed_rounding in scaled. fold E in scaled. lra.
  Qed.
End Loss.
