(** * B2: a computed coefficient of softmax.

    Main results
    - [element_error]   p_hat_j = p_j e^tau + loss, |tau| <= C + t D_j,
                        C = lambda_E + c [+ lambda_E + lambda] + sigma + 2 lambda + lambda_out,
                        |loss| <= e^C (omega_x + 2 omega_m [+ omega_x + omega_m]) + the output's own underflow
    - [b2_element]      |p_hat_j - p_j| <= (k_0 + k_1 D_j) p_j + f, as softmax_error returns it

    The brackets are for numerators stored at a stale maximum and rescaled once, late. Shared or recomputed exponentials,
    a division or a reciprocal and its product: all are covered.

    Source: docs/tolerances.md, B2; softmax_error in numerics/rounding/rounding.cpp. *)

From softcheck.numerics Require Import row tilted_row reduction b1_sum element_threshold constants.
Local Open Scope R_scope.

(** The format results are rounded to: nothing where it holds all of the accumulator's values. *)
Record output_format := {
  output_unit : R;    (** lambda_out *)
  output_floor : R    (** what underflow in the output takes *)
}.

Definition sound_output (out : output_format) : Prop := 0 <= output_unit out /\ 0 <= output_floor out.

Definition computed_output (out : output_format) (q p : R) : Prop :=
  exists t e, Rabs t <= output_unit out /\ Rabs e <= output_floor out /\ p = q * exp t + e.

(** The numerator: the exponential of the item, or one of an earlier maximum times a late factor. *)
Inductive numerator (M : arithmetic) (j : nat) (D : R) : R -> Prop :=
| numerator_direct b v : 0 <= D -> computed_argument M D b -> computed_exp M b v -> numerator M j D v
| numerator_late D0 D1 b0 v0 b1 f v :
    j <> 0%nat -> 0 <= D0 -> 0 <= D1 -> D0 + D1 = D ->
    computed_argument M D0 b0 -> computed_exp M b0 v0 ->
    computed_argument M D1 b1 -> computed_exp M b1 f -> computed_product M (v0 * f) v -> numerator M j D v.

Inductive ratio (M : arithmetic) (v s : R) : R -> Prop :=
| ratio_division q : computed_product M (v / s) q -> ratio M v s q
| ratio_reciprocal i q : computed_product M (1 / s) i -> computed_product M (v * i) q -> ratio M v s q.

(** One coefficient, of the item at x: its numerator at some converted deviation, over the sum s. *)
Definition computed_element (M : arithmetic) (out : output_format) (kappa m : R) (j : nat) (s x p : R) : Prop :=
  exists D v q, Rabs (D - (m - x)) <= kappa /\ numerator M j D v /\ ratio M v s q /\ computed_output out q p.

(** The chord of a log error C + t D, of the softmax of any row. *)
Lemma coefficient_threshold quantum C t m logits x :
  0 < quantum <= 1 -> 0 <= C -> 0 <= t < 1 -> is_maximum m logits -> In x logits ->
  coefficient logits x * (exp (C + t * (m - x)) - 1)
  <= (threshold_constant C + threshold_slope quantum C t * (m - x)) * coefficient logits x + threshold_floor quantum.
Proof.
  intros hq hC ht max inx. pose proof (S_at_least_one m logits max).
  apply (element_threshold quantum C t hq hC ht (m - x) (coefficient logits x)); [pose proof (proj2 max x inx); lra|].
  rewrite (coefficient_from_weight m logits max). replace (x - m) with (- (m - x)) by ring.
  pose proof (exp_pos (- (m - x))). unfold Rdiv. assert (0 < / weight_sum m logits <= 1).
  { split; [monotone|]. rewrite <- Rinv_1. monotone. } split; [monotone|].
  rewrite <- (Rmult_1_r (exp (- (m - x)))) at 2. monotone.
Qed.

(** v / s as computed: W / s e^t + loss, where v = W + e and 1 / s is at most e^sigma. *)
Lemma ratio_within M (good : sound M) nl sig nloss W e v s q :
  0 <= nl -> 0 <= nloss -> 1 + nloss <= exp sig -> 0 < / s <= exp sig ->
  0 <= W <= exp nl -> Rabs e <= exp nl * nloss -> v = W + e -> ratio M v s q ->
  exists w e', Rabs w <= IZR division_roundings * unit M /\
    Rabs e' <= exp (nl + sig + IZR division_roundings * unit M) * (nloss + IZR division_losses * product_floor M) /\
    q = W / s * exp w + e'.
Proof.
  intros hnl hnloss sigma_big s_inv hW he -> quotient. pose proof (unit_nonneg M good) as hl.
  assert (0 <= product_floor M <= / 16) by (unfold sound in good; lra). set (N := exp nl) in *.
  assert (N1 : 1 <= N) by now apply exp_at_least_one. set (G := exp sig) in *. set (L := exp (unit M)).
  assert (L1 : 1 <= L) by (apply exp_at_least_one; lra). unfold division_roundings, division_losses in *.
  assert (total : exp (nl + sig + 2 * unit M) = N * G * L * L). { unfold N, G, L. rewrite <- !exp_plus. f_equal. ring. }
  rewrite total. assert (G1 : 1 <= G) by lra. assert (spread : N <= N * G) by (apply grown; lra).
  destruct quotient as [q [t1 [e1 [bt1 [be1 ->]]]]|i q [t1 [e1 [bt1 [be1 ->]]]] [t2 [e2 [bt2 [be2 ->]]]]].
  - apply abs_between in bt1. assert (exp t1 <= L) by (apply exp_le; lra). pose proof (exp_pos t1).
    exists t1, (e * / s * exp t1 + e1). repeat split.
    + apply Rabs_le. lra.
    + triangle. rewrite !Rabs_mult, (Rabs_right (/ s)), (Rabs_right (exp t1)) by lra.
      assert (Rabs e * / s * exp t1 <= N * nloss * G * L) by monotone. assert (0 <= N * nloss * G * L) by monotone.
      assert (1 <= N * G * L * L) by (repeat apply one_le_product; easy).
      assert (N * nloss * G * L <= N * nloss * G * L * L) by now apply grown.
      assert (1 * product_floor M <= N * G * L * L * product_floor M) by monotone. lra.
    + unfold Rdiv. ring.
  - apply abs_between in bt1. assert (exp t1 <= L) by (apply exp_le; lra). pose proof (exp_pos t1).
    apply abs_between in bt2. assert (exp t2 <= L) by (apply exp_le; lra). pose proof (exp_pos t2).
    exists (t1 + t2), (e * / s * exp t1 * exp t2 + (W + e) * e1 * exp t2 + e2). repeat split.
    + apply Rabs_le. lra.
    + triangle. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
      rewrite !Rabs_mult, (Rabs_right (/ s)), (Rabs_right (exp t1)), (Rabs_right (exp t2)) by lra.
      assert (Rabs e * / s * exp t1 * exp t2 <= N * nloss * G * L * L) by monotone.
      assert (Rabs (W + e) * Rabs e1 * exp t2 <= N * G * product_floor M * L).
      { assert (Rabs (W + e) <= N * G).
        { triangle. rewrite (Rabs_right W) by lra. apply Rle_trans with (N * (1 + nloss)); [lra|]. monotone. }
        pose proof (Rabs_pos (W + e)). pose proof (Rabs_pos e1). monotone. }
      assert (NG : 1 <= N * G) by monotone. assert (NGL : 1 <= N * G * L) by now apply one_le_product.
      assert (NGLL : N * G * L <= N * G * L * L) by (apply grown; lra).
      assert (N * G * L * product_floor M <= N * G * L * L * product_floor M) by monotone.
      assert (1 * product_floor M <= N * G * L * L * product_floor M) by monotone. lra.
    + unfold Rdiv. rewrite Rmult_1_l, !exp_plus. ring.
Qed.

Section B2.
  Context (M : arithmetic) (out : output_format) (good : sound M) (good_out : sound_output out) (kappa m : R)
    (logits : list R) (s : R) (h j : nat) (hs : sum_of_row M kappa m logits s h j)
    (some : lost_sum M kappa m logits h j < 1).
  Notation t := (slope M).
  Notation lambda := (unit M).
  Notation lambdaE := (exp_unit M).
  Notation S := (weight_sum m logits).
  Notation n := (size logits).
  Notation sig := (sigma M kappa m logits h j).

  Definition when_rescaled (x : R) : R := match j with 0%nat => 0 | Datatypes.S _ => x end.

  Definition numerator_log : R := lambdaE + argument_floor M kappa j + when_rescaled (lambdaE + lambda).
  Definition numerator_loss : R := exp_floor M + when_rescaled (exp_floor M + product_floor M).
  Definition ratio_log : R := IZR division_roundings * lambda + output_unit out.
  Definition element_log : R := numerator_log + sig + ratio_log.
  Definition element_floor : R :=
    (numerator_loss + IZR division_losses * product_floor M) * exp element_log + output_floor out.

  Local Ltac facts :=
    sound_facts good;
    pose proof (proj1 (proj2 (sum_between M good kappa m logits s h j hs)));
    assert (tkappa : 0 <= t * kappa) by (apply Rmult_le_pos; lra).

  Lemma argument_floor_above : argument_step M + (1 + t) * kappa <= argument_floor M kappa j.
  Proof using good hs. facts. unfold argument_floor. pose proof (pos_INR j). nra. Qed.

  Lemma argument_floor_late : j <> 0%nat -> 2 * argument_step M + (1 + t) * kappa <= argument_floor M kappa j.
  Proof using good hs.
    intros late. facts. unfold argument_floor. assert (1 <= INR j) by (apply (le_INR 1); lia). nra.
  Qed.

  Lemma numerator_log_nonneg : 0 <= numerator_log.
  Proof using good hs. clear some. facts. pose proof argument_floor_above. unfold numerator_log, when_rescaled. destruct j; lra. Qed.

  Lemma numerator_loss_nonneg : 0 <= numerator_loss.
  Proof using good hs. clear some. facts. unfold numerator_loss, when_rescaled. destruct j; lra. Qed.

  (** w_hat = w e^s + loss. *)
  Lemma numerator_error D x v :
    Rabs (D - (m - x)) <= kappa -> numerator M j D v ->
    exists w e, Rabs w <= t * (m - x) + numerator_log /\ Rabs e <= exp numerator_log * numerator_loss /\
      v = exp (- (m - x)) * exp w + e.
  Proof using good hs.
    clear some. intros close num. facts. pose proof argument_floor_above as floor1. apply abs_between in close.
    assert (hkt : 0 <= (1 + t) * kappa) by lra. assert (tD : t * D <= t * (m - x + kappa)) by monotone.
    destruct num as [b v hD arg ex|D0 D1 b0 v0 b1 f v late h0 h1 sum arg0 ex0 arg1 ex1 prod].
    - destruct ex as [tx [e [btx [be [_ [_ ->]]]]]]. destruct (weight_bounds M D b tx hD arg btx) as [w [bw ->]].
      assert (nl : lambdaE + argument_step M + (1 + t) * kappa <= numerator_log).
      { unfold numerator_log, when_rescaled. destruct j; lra. } exists (w - (D - (m - x))), e. repeat split.
      + apply abs_between in bw. apply Rabs_le. lra.
      + apply Rle_trans with (exp_floor M); [easy|].
        assert (exp_floor M <= numerator_loss) by (unfold numerator_loss, when_rescaled; destruct j; lra).
        assert (0 <= (1 + t) * kappa) by lra. pose proof (exp_at_least_one numerator_log ltac:(lra)) as big.
        apply Rle_trans with (1 * numerator_loss); [lra|]. monotone.
      + f_equal. rewrite <- !exp_plus. f_equal. ring.
    - pose proof (argument_floor_late late) as floor2. destruct ex0 as [t0 [e0 [bt0 [be0 [_ [_ ->]]]]]].
      destruct ex1 as [t1 [e1 [bt1 [be1 [_ [far1 ->]]]]]]. destruct prod as [t2 [e2 [bt2 [be2 ->]]]].
      destruct (weight_bounds M D0 b0 t0 h0 arg0 bt0) as [w0 [bw0 ->]].
      assert (factor : exp (- b1 + t1) + Rabs e1 <= exp (lambdaE + argument_step M)).
      { destruct (Req_dec e1 0) as [->|lossy].
        - rewrite Rabs_R0, Rplus_0_r. destruct arg1 as [ta [c [bta [bc ->]]]]. apply exp_le.
          pose proof (argument_factor M ta bta) as fac. apply abs_between in bc. apply abs_between in bt1.
          assert (0 <= D1 * exp ta) by monotone. lra.
        - pose proof (far1 lossy). apply abs_between in bt1.
          assert (exp (- b1 + t1) <= exp lambdaE * exp (- (8))) by (rewrite <- exp_plus; apply exp_le; lra).
          assert (exp (- (8)) <= / 9). { rewrite exp_Ropp. pose proof (exp_above_tangent 8). monotone. }
          pose proof (exp_at_least_one lambdaE ltac:(lra)).
          pose proof (exp_le lambdaE (lambdaE + argument_step M) ltac:(lra)).
          assert (exp lambdaE * exp (- (8)) <= exp lambdaE * / 9) by monotone. lra. }
      destruct (weight_bounds M D1 b1 t1 h1 arg1 bt1) as [w1 [bw1 main]].
      assert (nl : 2 * lambdaE + lambda + 2 * argument_step M + (1 + t) * kappa <= numerator_log).
      { unfold numerator_log, when_rescaled. destruct j; [easy|lra]. }
      exists (w0 + w1 + t2 - (D - (m - x))),
        (exp (- D0) * exp w0 * e1 * exp t2 + e0 * (exp (- b1 + t1) + e1) * exp t2 + e2).
      repeat split.
      + apply abs_between in bw0. apply abs_between in bw1. apply abs_between in bt2.
        assert (split_t : t * D0 + t * D1 = t * D) by (rewrite <- sum; ring). apply Rabs_le. lra.
      + assert (numerator_loss = 2 * exp_floor M + product_floor M) as ->.
        { unfold numerator_loss, when_rescaled. destruct j; [easy|lra]. } apply abs_between in bt2.
        assert (E2 : exp t2 <= exp lambda) by monotone. pose proof (exp_pos t2).
        assert (W0 : exp (- D0) * exp w0 <= exp (lambdaE + argument_step M)).
        { rewrite <- exp_plus. apply exp_le. apply abs_between in bw0. assert (t * D0 <= / 4 * D0) by monotone. lra. }
        assert (0 <= exp (- D0) * exp w0) by monotone. set (F := exp (lambdaE + argument_step M)) in *.
        set (L := exp lambda) in *.
        assert (FL : F * L <= exp numerator_log) by (unfold F, L; rewrite <- exp_plus; apply exp_le; lra).
        assert (0 <= F) by monotone. assert (0 <= L) by monotone. triangle.
        eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
        rewrite !Rabs_mult, (Rabs_right (exp t2)), (Rabs_right (exp (- D0))), (Rabs_right (exp w0))
          by (left; apply exp_pos).
        assert (exp (- D0) * exp w0 * Rabs e1 * exp t2 <= F * exp_floor M * L) by monotone.
        assert (Rabs e0 * Rabs (exp (- b1 + t1) + e1) * exp t2 <= exp_floor M * F * L).
        { pose proof (Rabs_pos e0). pose proof (Rabs_pos (exp (- b1 + t1) + e1)).
          assert (Rabs (exp (- b1 + t1) + e1) <= F).
          { triangle. rewrite (Rabs_right (exp _)) by (left; apply exp_pos). easy. } monotone. }
        assert (0 <= (1 + t) * kappa) by lra. pose proof (exp_at_least_one numerator_log ltac:(lra)).
        assert (F * L * exp_floor M <= exp numerator_log * exp_floor M) by monotone.
        assert (1 * product_floor M <= exp numerator_log * product_floor M) by monotone. lra.
      + replace (exp (- (m - x)) * exp (w0 + w1 + t2 - (D - (m - x))))
          with (exp (- D0) * exp w0 * (exp (- D1) * exp w1) * exp t2).
        * rewrite <- main. ring.
        * rewrite <- !exp_plus. f_equal. rewrite <- sum. ring.
  Qed.

  Lemma n_at_least_one : 1 <= n.
  Proof using hs. apply size_at_least_one, in_not_nil with m, (row_maximum _ _ _ _ _ _ _ hs). Qed.

  Lemma sigma_above : 0 <= sigma_0 M kappa m logits h j <= sig /\ 1 + lost M j <= exp sig.
  Proof using good hs some.
    facts. pose proof (proj2 (proj2 (sum_between M good kappa m logits s h j hs))) as hd.
    pose proof (row_maximum _ _ _ _ _ _ _ hs) as max. pose proof (shift_above M m logits max ltac:(lra)).
    pose proof (mean_deviation_nonneg m logits max). pose proof n_at_least_one.
    assert (s0 : 0 <= sigma_0 M kappa m logits h j) by (unfold sigma_0; nra). pose proof (lost_nonneg M good j) as hl.
    set (s0' := sigma_0 M kappa m logits h j) in *. pose proof (exp_at_least_one (2 * s0') ltac:(lra)).
    assert (big : lost M j <= lost_sum M kappa m logits h j).
    { unfold lost_sum. fold s0'. assert (lost M j <= n * lost M j) by nra. assert (0 <= n * lost M j) by nra. nra. }
    assert (ln (1 - lost_sum M kappa m logits h j) <= - lost_sum M kappa m logits h j).
    { pose proof (ln_below_tangent (1 - lost_sum M kappa m logits h j) ltac:(lra)). lra. } unfold sigma. fold s0'.
    split; [lra|]. pose proof (exp_above_tangent (s0' - ln (1 - lost_sum M kappa m logits h j))). lra.
  Qed.

  (** v / s as computed: W / s e^t + loss, where v = W + e. *)
  Lemma ratio_error W e v q :
    0 <= W <= exp numerator_log -> Rabs e <= exp numerator_log * numerator_loss -> v = W + e -> ratio M v s q ->
    exists w e', Rabs w <= IZR division_roundings * lambda /\
      Rabs e' <= exp (numerator_log + sig + IZR division_roundings * lambda)
                 * (numerator_loss + IZR division_losses * product_floor M) /\
      q = W / s * exp w + e'.
  Proof using good hs some.
    intros hW he eq quotient. facts. pose proof sigma_above as [sigma_range sigma_big].
    pose proof (S_at_least_one m logits (row_maximum _ _ _ _ _ _ _ hs)) as S1.
    destruct (rel_inv _ _ _ (b1_sum M good kappa m logits s h j hs some)) as [ts [bts inverse]].
    pose proof numerator_log_nonneg as nl. pose proof numerator_loss_nonneg as nloss.
    assert (nsmall : numerator_loss <= lost M j). { unfold numerator_loss, when_rescaled, lost. destruct j; lra. }
    assert (inv1 : 0 < / S <= 1). { split; [monotone|]. rewrite <- Rinv_1. monotone. } apply abs_between in bts.
    assert (Es : exp ts <= exp sig) by monotone. pose proof (exp_pos ts).
    apply (ratio_within M good numerator_log sig numerator_loss W e v s q); try lra; try easy. rewrite inverse.
    split; [monotone|]. rewrite <- (Rmult_1_l (exp sig)). monotone.
  Qed.

  (** All coefficients of a row share 1 / s; this is what each errs by on its own. *)
  Lemma shared_error x p :
    In x logits -> computed_element M out kappa m j s x p ->
    exists w e, Rabs w <= numerator_log + ratio_log + t * (m - x) /\ Rabs e <= element_floor /\
      p = exp (- (m - x)) / s * exp w + e.
  Proof using good good_out hs some.
    intros inx [D [v [q [close [num [quotient [t3 [e3 [bt3 [be3 ->]]]]]]]]]]. facts. destruct good_out as [uo fo].
    destruct (numerator_error D x v close num) as [w [e [bw [be ev]]]].
    pose proof (row_maximum _ _ _ _ _ _ _ hs) as max. pose proof (proj2 max x inx) as hx.
    destruct (ratio_error (exp (- (m - x)) * exp w) e v q) as [w' [e' [bw' [be' ->]]]]; try easy.
    { split; [monotone|]. rewrite <- exp_plus. apply exp_le. apply abs_between in bw. nra. }
    exists (w + w' + t3), (e' * exp t3 + e3). apply abs_between in bt3. repeat split.
    - unfold ratio_log. apply abs_between in bw. apply abs_between in bw'. apply Rabs_le. lra.
    - triangle. rewrite Rabs_mult, (Rabs_right (exp t3)) by (left; apply exp_pos).
      assert (exp t3 <= exp (output_unit out)) by monotone. unfold element_floor. apply Rplus_le_compat; [|easy].
      eapply Rle_trans; [apply Rmult_le_compat; [monotone|monotone|apply be'|eassumption]|]. right.
      unfold element_log, ratio_log. rewrite !exp_plus. ring.
    - rewrite !exp_plus. unfold Rdiv. ring.
  Qed.

  Theorem element_error x p :
    In x logits -> computed_element M out kappa m j s x p ->
    exists w e, Rabs w <= element_log + t * (m - x) /\ Rabs e <= element_floor /\
      p = exp (- (m - x)) / S * exp w + e.
  Proof using good good_out hs some.
    intros inx elem. destruct (shared_error x p inx elem) as [w [e [bw [be ->]]]].
    destruct (rel_inv _ _ _ (b1_sum M good kappa m logits s h j hs some)) as [ts [bts inverse]].
    exists (ts + w), e. apply abs_between in bw. apply abs_between in bts. repeat split; [|easy|].
    - unfold element_log. apply Rabs_le. lra.
    - unfold Rdiv. rewrite inverse, exp_plus. ring.
  Qed.

  Lemma element_log_nonneg : 0 <= element_log.
  Proof using good good_out hs some.
    facts. destruct good_out as [uo fo]. pose proof sigma_above as [sr _]. pose proof argument_floor_above.
    unfold element_log, numerator_log, ratio_log, when_rescaled, division_roundings.
    assert (0 <= (1 + t) * kappa) by lra. destruct j; lra.
  Qed.

  Lemma element_absolute x p :
    In x logits -> computed_element M out kappa m j s x p ->
    Rabs (p - coefficient logits x)
    <= coefficient logits x * (exp (element_log + t * (m - x)) - 1) + element_floor.
  Proof using good good_out hs some.
    intros inx elem. destruct (element_error x p inx elem) as [w [e [bw [be ->]]]].
    pose proof (row_maximum _ _ _ _ _ _ _ hs) as max. rewrite (coefficient_from_weight m logits max).
    replace (x - m) with (- (m - x)) by ring. pose proof (S_at_least_one m logits max).
    pose proof (exp_pos (- (m - x))). assert (pos : 0 < exp (- (m - x)) / S) by monotone.
    set (c := exp (- (m - x)) / S) in *. replace (c * exp w + e - c) with (c * (exp w - 1) + e) by ring. triangle.
    apply Rplus_le_compat; [|easy]. rewrite Rabs_mult, (Rabs_right c) by lra. apply Rmult_le_compat_l; [lra|].
    now apply expm1_abs.
  Qed.

  Theorem b2_element quantum x p :
    0 < quantum <= 1 -> In x logits -> computed_element M out kappa m j s x p ->
    Rabs (p - coefficient logits x)
    <= (threshold_constant element_log + threshold_slope quantum element_log t * (m - x)) * coefficient logits x
       + (element_floor + threshold_floor quantum).
  Proof using good good_out hs some.
    intros hq inx elem. eapply Rle_trans; [now apply element_absolute|].
    pose proof (slope_nonneg M good). facts.
    pose proof (coefficient_threshold quantum element_log t m logits x hq element_log_nonneg ltac:(lra)
                  (row_maximum _ _ _ _ _ _ _ hs) inx). lra.
  Qed.
End B2.
