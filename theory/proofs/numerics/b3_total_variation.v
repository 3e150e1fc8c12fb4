(** * B3: total variation, and B4: the row sum, of a computed softmax.

    Main results
    - [b3_total_variation]   sum |p_hat_j - p_j| <= k_0 + k_1 Dbar + n f
    - [b4_row_sum]           |sum p_hat_j - 1| <= e^(nu + mu + sigma + 2 lambda + lambda_out) - 1 + n f, nu the log error of
                             a numerator: exponentials recomputed, or shared, or both
    - [b4_shared]       p_hat_i = w_i / s as computed, s any tree over the w_i >= 0: |sum p_hat - 1| <=
                        e^(h lambda - ln (1 - n omega_a e^(2 h lambda) / W) + 2 lambda + lambda_out) - 1 + n f, W <= sum w
    - [shared_weights]  the exponentials of a row, added exactly, are at least e^-(sigma - h lambda)
    - [b4_shared_row]   both: the loss is n omega_a e^(h lambda + sigma), and f that of a recomputed element

    Source: docs/tolerances.md, B3 and B4; total_variation_error, row_sum_error in numerics/rounding/rounding.cpp. *)

From softcheck.numerics Require Import added_terms constants row tilted_row reduction b1_sum element_threshold
  b2_element.
Local Open Scope R_scope.

(** What is true of every computed element adds up. *)
Lemma sum_of_differences (l ps : list R) (P : R -> R -> Prop) (c g : R -> R) :
  Forall2 P l ps -> (forall x p, In x l -> P x p -> Rabs (p - c x) <= g x) ->
  sum (map (fun xp => Rabs (snd xp - c (fst xp))) (combine l ps)) <= sum (map g l).
Proof.
  intros all each. revert each. induction all as [|x p l ps hp _ IH]; intros each; [unfold sum; simpl; lra|].
  unfold sum in *. simpl. assert (Rabs (p - c x) <= g x) by (apply each; [now left|easy]).
  assert (fold_right Rplus 0 (map (fun xp => Rabs (snd xp - c (fst xp))) (combine l ps))
    <= fold_right Rplus 0 (map g l)).
  { apply IH. intros x' p' inx. apply each. now right. } lra.
Qed.

Lemma difference_of_sums (l ps : list R) (P : R -> R -> Prop) (c g : R -> R) :
  Forall2 P l ps -> (forall x p, In x l -> P x p -> Rabs (p - c x) <= g x) ->
  Rabs (sum ps - sum (map c l)) <= sum (map g l).
Proof.
  intros all each. revert each. induction all as [|x p l ps hp _ IH]; intros each.
  - unfold sum. simpl. rewrite Rminus_diag_eq, Rabs_R0 by easy. lra.
  - unfold sum in *. simpl. assert (Rabs (p - c x) <= g x) by (apply each; [now left|easy]).
    assert (Rabs (fold_right Rplus 0 ps - fold_right Rplus 0 (map c l)) <= fold_right Rplus 0 (map g l)).
    { apply IH. intros x' p' inx. apply each. now right. }
    match goal with |- Rabs (p + ?a - (c x + ?b)) <= _ => replace (p + a - (c x + b)) with ((p - c x) + (a - b))
      by ring end.
    triangle. lra.
Qed.

Section B3.
  Context (M : arithmetic) (out : output_format) (good : sound M) (good_out : sound_output out) (kappa m : R)
    (logits outputs : list R) (s : R) (h j : nat) (hs : sum_of_row M kappa m logits s h j)
    (some : lost_sum M kappa m logits h j < 1) (computed : Forall2 (computed_element M out kappa m j s) logits outputs).
  Notation t := (slope M).
  Notation n := (size logits).
  Notation C := (element_log M out kappa m logits h j).
  Notation floor := (element_floor M out kappa m logits h j).

  Let max : is_maximum m logits := row_maximum _ _ _ _ _ _ _ hs.
  Let visible : logits <> [] := in_not_nil m logits (proj1 max).

  Theorem b3_total_variation quantum :
    0 < quantum <= 1 ->
    sum (map (fun xp => Rabs (snd xp - coefficient logits (fst xp))) (combine logits outputs))
    <= threshold_constant C + threshold_slope quantum C t * mean_deviation m logits
       + n * (floor + threshold_floor quantum).
  Proof using good good_out hs some computed.
    intros hq. eapply Rle_trans.
    - eapply sum_of_differences; [apply computed|]. intros x p inx elem.
      eapply (b2_element M out good good_out kappa m logits s h j hs some quantum x p hq inx elem).
    - rewrite sum_map_plus, sum_map_const. apply Rplus_le_compat_r. right.
      pose proof (expectation_from_weights m logits max
        (fun d => threshold_constant C + threshold_slope quantum C t * d)) as mean.
      unfold expectation in mean.
      rewrite (sum_map_ext _ (fun x => coefficient logits x *
                 (threshold_constant C + threshold_slope quantum C t * (m - x)))) by (intros; ring).
      rewrite mean, weighted_sum_plus, (weighted_sum_mult _ _ _ (fun d => d)). fold (deviation_sum m logits).
      rewrite (deviation_sum_mean m logits max). pose proof (S_at_least_one m logits max).
      replace (weighted_sum m logits (fun _ => threshold_constant C)) with (threshold_constant C * weight_sum m logits)
        by (unfold weight_sum; rewrite <- weighted_sum_mult; apply weighted_sum_ext; intros; ring).
      field. lra.
  Qed.

  (** sum p (e^(C + t D) - 1) = e^C M(t) - 1. *)
  Theorem b4_row_sum :
    Rabs (sum outputs - 1) <= exp (numerator_log M kappa j + shift m logits t + sigma M kappa m logits h j
                                   + ratio_log M out) - 1 + n * floor.
  Proof using good good_out hs some computed.
    rewrite <- (sum_coefficients logits visible). eapply Rle_trans.
    - eapply difference_of_sums; [apply computed|]. intros x p inx elem.
      apply (element_absolute M out good good_out kappa m logits s h j hs some x p inx elem).
    - rewrite sum_map_plus, sum_map_const, (sum_coefficients logits visible). apply Rplus_le_compat_r.
      pose proof (expectation_from_weights m logits max (fun d => exp (C + t * d) - 1)) as mean.
      unfold expectation in mean. rewrite mean. pose proof (slope_nonneg M good). assert (t <= / 4) by apply good.
      pose proof (tilted_mass m logits max t ltac:(lra)) as heavy. pose proof (S_at_least_one m logits max).
      unfold tilted in heavy.
      rewrite (weighted_sum_ext _ _ (fun d => exp (C + t * d) - 1) (fun d => exp C * (exp (t * d) * 1) + -1 * 1))
        by (intros; rewrite exp_plus; ring).
      rewrite weighted_sum_plus, !weighted_sum_mult. fold (weight_sum m logits).
      replace (numerator_log M kappa j + shift m logits t + sigma M kappa m logits h j + ratio_log M out)
        with (C + shift m logits t) by (unfold element_log; ring).
      rewrite exp_plus. apply Rmult_le_reg_r with (weight_sum m logits); [lra|]. unfold Rdiv.
      rewrite Rmult_assoc, Rinv_l by lra. pose proof (exp_pos C).
      apply Rle_trans with (exp C * (exp (shift m logits t) * weight_sum m logits) + -1 * weight_sum m logits); [|lra].
      rewrite Rmult_1_r. monotone.
  Qed.
End B3.

(** ** B4 of shared exponentials: the row sum of quotients of the very numbers that were added.

    What the exponentials err by cancels. Source: docs/tolerances.md, B4; row_sum_error in numerics/rounding/rounding.cpp. *)

Section Shared.
  Context (M : arithmetic) (out : output_format) (good : sound M) (good_out : sound_output out).
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).

  Definition shared_element (s w p : R) : Prop := exists q, ratio M w s q /\ computed_output out q p.

  Context (ws : list R) (s least top : R) (h : nat) (weights : Forall (fun w => 0 <= w <= top) ws)
    (total : 0 < least <= sum ws) (tree : added M 0 0 ws s h).
  Notation n := (size ws).

  Definition shared_lost : R := n * wa * exp (2 * (INR h * lambda)) / least.
  Hypothesis some : shared_lost < 1.
  Definition shared_floor : R := (top + 1) * wm * exp (ratio_log M out) + output_floor out.

  Lemma shared_sum_close : rel (INR h * lambda - ln (1 - shared_lost)) s (sum ws).
  Proof using good weights total tree some.
    pose proof (unit_nonneg M good) as fl. assert (fa : 0 <= wa) by (unfold sound in good; lra).
    assert (fh : 0 <= INR h * lambda) by monotone.
    assert (ws <> []) as visible by (intros ->; unfold sum in total; simpl in total; lra).
    pose proof (size_at_least_one ws visible) as n1.
    assert (nonneg : Forall (fun w => 0 <= w) ws) by (eapply Forall_impl; [|apply weights]; intros; simpl in *; lra).
    pose proof (added_positive M good 0 0 ws s h ltac:(lra) ltac:(lra) nonneg tree) as [low high].
    unfold added_loss in low, high. rewrite Rplus_0_l in low, high. set (y := (n - 1) * wa / sum ws).
    assert (y0 : 0 <= y). { unfold y. monotone. } assert (below : y * exp (2 * (INR h * lambda)) <= shared_lost).
    { unfold shared_lost, y.
      replace (n * wa * exp (2 * (INR h * lambda)) / least)
      with (n * wa * / least * exp (2 * (INR h * lambda))) by (unfold Rdiv; ring).
      apply Rmult_le_compat_r; [monotone|]. unfold Rdiv. monotone. }
    apply rel_weaken with (INR h * lambda - ln (1 - y * exp (2 * (INR h * lambda)))).
    - pose proof (ln_le (1 - shared_lost) (1 - y * exp (2 * (INR h * lambda))) ltac:(lra) ltac:(lra)). lra.
    - apply rel_of_lossy; [lra|easy|easy|lra|]. assert (back : sum ws * y = (n - 1) * wa) by (unfold y; field; lra).
      replace (sum ws * (exp (- (INR h * lambda)) - exp (INR h * lambda) * y))
        with (exp (- (INR h * lambda)) * sum ws - exp (INR h * lambda) * (sum ws * y)) by ring.
      replace (sum ws * (exp (INR h * lambda) * (1 + y)))
        with (exp (INR h * lambda) * sum ws + exp (INR h * lambda) * (sum ws * y)) by ring.
      rewrite back. lra.
  Qed.

  Lemma shared_element_error w p :
    0 <= w <= top -> shared_element s w p ->
    exists T e, Rabs T <= ratio_log M out /\ Rabs e <= shared_floor /\ p = w / s * exp T + e.
  Proof using good good_out.
    intros hw [q [quotient [t0 [e0 [b0 [c0 ->]]]]]]. pose proof (unit_nonneg M good) as fl.
    assert (fm : 0 <= wm) by (unfold sound in good; lra). destruct good_out as [fo ff]. apply abs_between in b0.
    unfold shared_floor, ratio_log, division_roundings.
    assert (up : forall v V x, Rabs v <= V -> x <= 2 * lambda + output_unit out ->
              Rabs (v * exp x) <= V * exp (2 * lambda + output_unit out)).
    { intros v V x hv hx. rewrite Rabs_mult, (Rabs_right (exp x)) by (left; apply exp_pos). monotone. }
    set (X := exp (2 * lambda + output_unit out)) in *. pose proof (exp_pos (2 * lambda + output_unit out)) as X0.
    fold X in X0. assert (0 <= top * wm * X) by monotone.
    destruct quotient as [q [t1 [e1 [b1 [c1 ->]]]]|i q [t1 [e1 [b1 [c1 ->]]]] [t2 [e2 [b2 [c2 ->]]]]];
      apply abs_between in b1 as r1.
    - exists (t1 + t0), (e1 * exp t0 + e0). repeat split; [apply Rabs_le; lra| |rewrite exp_plus; ring].
      pose proof (up e1 wm t0 c1 ltac:(lra)). pose proof (Rabs_triang (e1 * exp t0) e0). lra.
    - apply abs_between in b2 as r2. exists (t1 + t2 + t0), (w * e1 * exp (t2 + t0) + e2 * exp t0 + e0).
      repeat split; [apply Rabs_le; lra| |rewrite !exp_plus; unfold Rdiv; ring]. assert (Rabs (w * e1) <= top * wm).
      { rewrite Rabs_mult, (Rabs_right w) by lra. monotone. }
      pose proof (up (w * e1) (top * wm) (t2 + t0) ltac:(easy) ltac:(lra)). pose proof (up e2 wm t0 c2 ltac:(lra)).
      pose proof (Rabs_triang (w * e1 * exp (t2 + t0)) (e2 * exp t0)).
      pose proof (Rabs_triang (w * e1 * exp (t2 + t0) + e2 * exp t0) e0). lra.
  Qed.

  Context (outputs : list R) (elements : Forall2 (shared_element s) ws outputs).

  Theorem b4_shared :
    Rabs (sum outputs - 1)
    <= exp (INR h * lambda - ln (1 - shared_lost) + ratio_log M out) - 1 + n * shared_floor.
  Proof using All.
    pose proof shared_sum_close as close. set (d := INR h * lambda - ln (1 - shared_lost)) in *.
    destruct (rel_inv _ _ _ close) as [t [bt inverse]]. set (W := sum ws) in *.
    assert (one : sum (map (fun w => w * / W) ws) = 1). { rewrite sum_map_mult_r, map_id. fold W. apply Rinv_r. lra. }
    rewrite <- one. eapply Rle_trans.
    - apply (difference_of_sums ws outputs (shared_element s) (fun w => w * / W)
               (fun w => w * / W * (exp (d + ratio_log M out) - 1) + shared_floor)); [easy|].
      intros w p inw form. pose proof (proj1 (Forall_forall _ _) weights w inw) as hw.
      destruct (shared_element_error w p hw form) as [T [e [bT [be ->]]]]. unfold Rdiv. rewrite inverse.
      replace (w * (/ W * exp t) * exp T + e - w * / W) with (w * / W * (exp (t + T) - 1) + e)
        by (rewrite exp_plus; ring).
      triangle. apply Rplus_le_compat; [|easy]. assert (0 <= w * / W) by monotone.
      rewrite Rabs_mult, (Rabs_right (w * / W)) by lra. apply Rmult_le_compat_l; [easy|]. apply expm1_abs. triangle.
      lra.
    - rewrite sum_map_plus, sum_map_mult_r, one, sum_map_const. lra.
  Qed.
End Shared.

(** ** The exponentials of a row *)

Section Row.
  Context (M : arithmetic) (out : output_format) (good : sound M) (good_out : sound_output out).
  Notation lambda := (unit M).
  Context (kappa m m' : R) (logits logits' ws : list R) (max : is_maximum m logits) (max' : is_maximum m' logits')
    (moved : converted kappa m logits m' logits')
    (exponentials : Forall2 (fun x w => 0 <= w /\ exists b, computed_argument M (m' - x) b /\ computed_exp M b w) logits' ws)
    (h : nat) (few : lost_sum M kappa m logits h 0 < 1).
  Notation n := (size logits).
  Notation sig := (sigma M kappa m logits h 0).

  (** The same exponentials, where additions are exact. *)
  Let exact_sums : arithmetic := {|
    roundoff := 0; exp_error := exp_error M; log_error := log_error M; argument_unit := argument_unit M;
    argument_step := argument_step M; sum_floor := 0; product_floor := product_floor M; exp_floor := exp_floor M;
    exp_cutoff := exp_cutoff M |}.

  Let exact_tree l vs :
    l <> [] -> above_all m' l ->
    Forall2 (fun x w => 0 <= w /\ exists b, computed_argument M (m' - x) b /\ computed_exp M b w) l vs ->
    exists k, summed exact_sums l m' (sum vs) k 0 0.
  Proof using.
    intros some below all. revert some below. induction all as [|x w l vs [_ [b [arg ex]]] rest IH]; [easy|]. intros _ below.
    assert (first : summed exact_sums [x] m' w 0 0 0) by (apply summed_item with b; [apply below; now left|easy|easy]).
    destruct l as [|x' l].
    - inversion rest; subst. exists 0%nat. replace (sum [w]) with w by (unfold sum; simpl; ring). easy.
    - destruct IH as [k tail]; [easy|intros y iny; apply below; now right|].
      exists (S (Nat.max 0 k)). change (x :: x' :: l) with ([x] ++ x' :: l). change (sum (w :: vs)) with (w + sum vs).
      apply (summed_addition exact_sums [x] (x' :: l) m' w (sum vs) (w + sum vs) 0 k 0 0 0 0); [easy|easy|].
      exists 0, 0. rewrite Rabs_R0, exp_0. unfold unit. cbn. rewrite log_unit_0. repeat split; lra.
  Qed.

  Theorem shared_weights : exp (- (sig - INR h * lambda)) <= sum ws.
  Proof using good max max' moved exponentials few.
    assert (sound0 : sound exact_sums) by (unfold sound in *; cbn; unfold slope in *; cbn in *; lra).
    destruct (exact_tree logits' ws) as [k tree]; [now apply (in_not_nil m'), max'|apply max'|easy|].
    pose proof (unit_nonneg M good) as fl. assert (fh : 0 <= INR h * lambda) by monotone. pose proof (size_nonneg logits) as n0.
    pose proof (S_at_least_one m logits max) as S1. assert (row : sum_of_row exact_sums kappa m logits (sum ws) k 0).
    { apply (sum_of_tree _ kappa m logits m' logits' _ k 0 0); try easy. simpl INR. lra. }
    assert (unit0 : unit exact_sums = 0) by apply log_unit_0.
    assert (direct : sigma_0 exact_sums kappa m logits k 0 = sigma_0 M kappa m logits h 0 - INR h * lambda).
    { unfold sigma_0, direct_log, rescale_unit, argument_floor. rewrite unit0. unfold slope, exp_unit. cbn -[INR].
      simpl (INR 0). ring. }
    assert (wa0 : 0 <= sum_floor M) by (unfold sound in good; lra).
    assert (fewer : lost_sum exact_sums kappa m logits k 0 <= lost_sum M kappa m logits h 0).
    { unfold lost_sum. rewrite direct. change (lost exact_sums 0) with (exp_floor M + 0 + 0).
      change (lost M 0) with (exp_floor M + sum_floor M + 0). assert (0 <= exp_floor M) by (unfold sound in good; lra).
      monotone. }
    destruct (b1_sum exact_sums sound0 kappa m logits (sum ws) k 0 row ltac:(lra)) as [t [bt ->]]. apply abs_between in bt.
    apply Rle_trans with (1 * exp t); [|apply Rmult_le_compat_r; [monotone|lra]]. rewrite Rmult_1_l. apply exp_le.
    unfold sigma in *. rewrite direct in bt.
    pose proof (ln_le (1 - lost_sum M kappa m logits h 0) (1 - lost_sum exact_sums kappa m logits k 0) ltac:(lra) ltac:(lra)).
    lra.
  Qed.

  Context (outputs : list R) (s : R) (tree : added M 0 0 ws s h)
    (elements : Forall2 (shared_element M out s) ws outputs).
  Definition shared_row_lost : R := n * sum_floor M * exp (INR h * lambda + sig).
  Hypothesis some : shared_row_lost < 1.

  Theorem b4_shared_row :
    Rabs (sum outputs - 1)
    <= exp (INR h * lambda - ln (1 - shared_row_lost) + ratio_log M out) - 1 + n * element_floor M out kappa m logits h 0.
  Proof using All.
    pose proof shared_weights as least. set (y := exp (- (sig - INR h * lambda))) in *.
    assert (y0 : 0 < y) by apply exp_pos. assert (same : size ws = n).
    { rewrite <- (converted_size kappa m m' logits logits' moved). unfold size. f_equal. symmetry.
      clear - exponentials. induction exponentials; simpl; auto. }
    pose proof (unit_nonneg M good) as fl. pose proof (exp_unit_nonneg M good) as fE.
    pose proof (slope_nonneg M good) as ft.
    pose proof (kappa_nonneg kappa m m' logits logits' moved (in_not_nil m logits (proj1 max))) as hk.
    assert (fh : 0 <= INR h * lambda) by monotone.
    assert (step : 0 <= argument_step M <= / 2) by (unfold sound in good; lra).
    assert (wx : 0 <= exp_floor M <= / 16) by (unfold sound in good; lra).
    assert (wm : 0 <= product_floor M <= / 16) by (unfold sound in good; lra). set (nl := numerator_log M kappa 0).
    assert (hnl : exp_unit M + argument_step M <= nl).
    { unfold nl, numerator_log, argument_floor, when_rescaled. simpl (INR 0).
      assert (0 <= (1 + slope M) * kappa) by monotone. lra. }
    assert (ranges : Forall (fun w => 0 <= w <= exp nl + exp_floor M) ws).
    { assert (below : forall x, In x logits' -> x <= m') by apply (proj2 max'). clear - exponentials below hnl step.
      revert below. induction exponentials as [|x w l vs [w0 [b [arg ex]]] rest IH]; intros below; constructor.
      - destruct ex as [t [e [bt [be [_ [_ ->]]]]]]. destruct arg as [ta [c [_ [bc ->]]]]. split; [easy|].
        pose proof (below x ltac:(now left)). apply abs_between in bt. apply abs_between in bc.
        apply abs_between in be. assert (0 <= (m' - x) * exp ta) by monotone.
        assert (exp (- ((m' - x) * exp ta + c) + t) <= exp nl) by monotone. lra.
      - apply IH; [easy|]. intros z inz. apply below. now right. }
    assert (lost_is : shared_lost M ws y h = shared_row_lost).
    { unfold shared_lost, shared_row_lost, y. rewrite same. unfold Rdiv.
      rewrite <- exp_Ropp, Rmult_assoc, <- exp_plus. f_equal. f_equal. ring. }
    pose proof (b4_shared M out good good_out ws s y (exp nl + exp_floor M) h ranges (conj y0 least) tree
                  ltac:(rewrite lost_is; exact some) outputs elements) as bound.
    rewrite lost_is, same in bound. eapply Rle_trans; [apply bound|]. apply Rplus_le_compat_l.
    apply Rmult_le_compat_l; [apply size_nonneg|]. unfold shared_floor, element_floor. apply Rplus_le_compat_r.
    assert (sig0 : 0 <= sig).
    { assert (0 <= lost_sum M kappa m logits h 0).
      { unfold lost_sum. apply Rmult_le_pos; [|monotone].
        apply Rmult_le_pos; [apply size_nonneg|now apply lost_nonneg]. }
      pose proof (ln_le (1 - lost_sum M kappa m logits h 0) 1 ltac:(lra) ltac:(lra)) as l1. rewrite ln_1 in l1.
      pose proof (shift_above M m logits max ft). pose proof (mean_deviation_nonneg m logits max).
      assert (0 <= slope M * mean_deviation m logits) by monotone.
      unfold sigma, sigma_0, direct_log, rescale_unit, argument_floor. simpl (INR 0).
      assert (0 <= (1 + slope M) * kappa) by monotone. lra. }
    unfold element_log. fold nl. rewrite (Rplus_assoc nl), !exp_plus.
    unfold numerator_loss, when_rescaled, division_losses. set (N := exp nl). set (G := exp (sig)).
    set (X := exp (ratio_log M out)). assert (N1 : 1 <= N) by (apply exp_at_least_one; lra).
    assert (G1 : 1 <= G) by now apply exp_at_least_one. assert (X0 : 0 < X) by apply exp_pos.
    replace ((exp_floor M + 0 + 2 * product_floor M) * (N * (G * X)))
      with ((exp_floor M + 2 * product_floor M) * N * G * X) by ring.
    apply Rmult_le_compat_r; [lra|].
    assert ((exp_floor M + 2 * product_floor M) * N <= (exp_floor M + 2 * product_floor M) * N * G).
    { apply grown; [|easy]. monotone. } assert (exp_floor M * product_floor M <= exp_floor M * 1) by monotone.
    assert (1 * exp_floor M <= N * exp_floor M) by monotone.
    assert (1 * product_floor M <= N * product_floor M) by monotone. lra.
  Qed.
End Row.
