(** * How far above 1 a coefficient may lie, and how far below 0 an entropy: a sum is no less than what went into it.

    Rounding to nearest is monotone, and keeps the numbers of its format: an addition to what is not negative takes nothing
    away ([addition_keeps]). However long a sum is, it therefore holds the exponential of each item but for the products by
    which that is rescaled. The height of the tree does not occur.

    Main results
    - [kept_at_least]       of a part v, rescaled j times over the deviation d, the sum is at least v e^-a,
                            a = (1 + t) d + j (lambda_E + lambda + c_0)
    - [coefficient_excess]  p_hat - 1 <= e^b - 1, b = what the numerator errs by + lambda_E + c + j (lambda_E + lambda)
                            + 2 t D + 2 lambda + lambda_out
    - [coefficient_overshoot]   the same with D = 0 and c = 0, whatever the arguments err by, as long as none is that of a number
                            above the maximum: S_hat holds the exponential of the maximum
    - [entropy_undershoot]  H_hat >= - lambda_E (1 + E_l u) (1 + u) (1 + u_out): T / S is not negative, and S holds the
                            exponential of the maximum, whose argument is exactly 0
    - [log_coefficient_overshoot]   so a log-softmax exceeds 0 by no more than that
    - [log_coefficient_overshoot_apart]   and by 2 d + u (1 + d) of |m| more, twice rounded, where x and the maximum m were
                            scaled apart, each with the relative error d, and m is added to ln S before x meets it

    Where nothing underflows. Source: docs/tolerances.md, B2, "Above 1"; coefficient_excess and entropy_undershoot in
    numerics/rounding/rounding.cpp; docs/tolerances.md, "Overshoot"; coefficient_overshoot and log_coefficient_overshoot in
    judge/ops/rows/result_limits.cpp, which grant 2 lambda more to a compensated sum, and the roundings of words that a contract
    stores. *)

From softcheck.numerics Require Import row tilted_row reduction b1_sum constants b2_element b3_total_variation
  b5_logsumexp reached_bounds.
Local Open Scope R_scope.

(** A rounding that is monotone and leaves s as it is. *)
Lemma addition_keeps (rnd : R -> R) s a :
  (forall x y, x <= y -> rnd x <= rnd y) -> rnd s = s -> 0 <= a -> s <= rnd (s + a).
Proof. intros monotone number nonneg. rewrite <- number at 1. apply monotone. lra. Qed.

(** [kept M v d j s]: the part v went into the sum s, and j factors for deviations that add up to d rescaled it. *)
Inductive kept (M : arithmetic) (v : R) : R -> nat -> R -> Prop :=
| kept_itself : kept M v 0 0 v
| kept_added d j s z : kept M v d j s -> s <= z -> kept M v d j z
| kept_rescaled d j s d1 b f z :
    kept M v d j s -> 0 <= d1 -> computed_argument M d1 b -> computed_exp M b f -> computed_product M (s * f) z ->
    kept M v (d + d1) (S j) z.

Section Kept.
  Context (M : arithmetic) (good : sound M) (no_underflow : exp_floor M = 0 /\ product_floor M = 0).
  Notation t := (slope M).
  Notation lambda := (unit M).
  Notation lambdaE := (exp_unit M).
  Notation c0 := (argument_step M).

  Lemma nothing e : Rabs e <= 0 -> e = 0.
  Proof. intros small. apply abs_between in small. lra. Qed.

  Lemma product_kept z p : computed_product M z p -> exists r, Rabs r <= lambda /\ p = z * exp r.
  Proof using no_underflow.
    intros [r [e [br [be ->]]]]. rewrite (proj2 no_underflow) in be. rewrite (nothing e be). exists r. split; [easy|ring].
  Qed.

  Lemma exponential_kept d b f :
    0 <= d -> computed_argument M d b -> computed_exp M b f ->
    exists w, Rabs w <= t * d + (lambdaE + c0) /\ f = exp (- d) * exp w.
  Proof using no_underflow.
    intros hd arg [r [e [br [be [_ [_ ->]]]]]]. rewrite (proj1 no_underflow) in be. rewrite (nothing e be), Rplus_0_r.
    exact (weight_bounds M d b r hd arg br).
  Qed.

  Theorem kept_at_least v d j s :
    0 <= v -> kept M v d j s -> 0 <= d /\ v * exp (- ((1 + t) * d + INR j * (lambdaE + lambda + c0))) <= s.
  Proof using no_underflow.
    intros hv part. induction part as [|d j s z part [hd IH] le|d j s d1 b f z part [hd IH] h1 arg ex prod].
    - split; [lra|]. replace (- _) with 0 by (cbn; ring). rewrite exp_0. lra.
    - split; [easy|lra].
    - split; [lra|]. destruct (exponential_kept d1 b f h1 arg ex) as [w [bw ->]].
      destruct (product_kept _ _ prod) as [r [br ->]].
      apply Rle_trans with (v * exp (- ((1 + t) * d + INR j * (lambdaE + lambda + c0)))
                            * exp (- ((1 + t) * d1 + (lambdaE + lambda + c0)))).
      + right. rewrite Rmult_assoc, <- exp_plus, S_INR. do 2 f_equal. ring.
      + replace (s * (exp (- d1) * exp w) * exp r) with (s * exp (- d1 + w + r)) by (rewrite !exp_plus; ring).
        apply Rmult_le_compat; [apply Rmult_le_pos; [easy|monotone]|monotone|exact IH|]. apply exp_le.
        apply abs_between in bw. apply abs_between in br. lra.
  Qed.

  (** ** A coefficient above 1 *)

  Section Excess.
    Context (out : output_format) (no_underflow_out : output_floor out = 0) (kappa m : R) (logits : list R) (s : R)
      (h j : nat) (hs : sum_of_row M kappa m logits s h j) (some : lost_sum M kappa m logits h j < 1).

    (** The item's own exponential went into the sum, at some reference not below it. *)
    Definition own_in_sum (x : R) : Prop :=
      exists D0 d i b v, Rabs (D0 + d - (m - x)) <= kappa /\ 0 <= D0 /\ (i <= j)%nat /\
        computed_argument M D0 b /\ computed_exp M b v /\ kept M v d i s.

    Definition own_log : R := lambdaE + argument_floor M kappa j + rescale_unit M j.
    Definition excess_log (D : R) : R := numerator_log M kappa j + own_log + 2 * t * D + ratio_log M out.

    Lemma own_below x : own_in_sum x -> exp (- (m - x)) * exp (- (own_log + t * (m - x))) <= s.
    Proof using good no_underflow.
      intros [D0 [d [i [b [v [close [h0 [less [arg [ex part]]]]]]]]]].
      destruct (exponential_kept D0 b v h0 arg ex) as [w [bw ->]].
      destruct (kept_at_least (exp (- D0) * exp w) d i s ltac:(rewrite <- exp_plus; left; apply exp_pos) part) as [hd below].
      eapply Rle_trans; [|exact below]. rewrite <- !exp_plus. apply exp_le. apply abs_between in bw. apply abs_between in close.
      pose proof (slope_nonneg M good). pose proof (unit_nonneg M good). pose proof (exp_unit_nonneg M good).
      assert (0 <= c0) by apply good. apply le_INR in less.
      assert (INR i * (lambdaE + lambda + c0) <= INR j * (lambdaE + lambda + c0)) by monotone.
      assert ((1 + t) * (D0 + d) <= (1 + t) * (m - x + kappa)) by monotone. unfold own_log, argument_floor, rescale_unit. lra.
    Qed.

    Theorem coefficient_excess x p :
      own_in_sum x -> computed_element M out kappa m j s x p -> p - 1 <= exp (excess_log (m - x)) - 1.
    Proof using good no_underflow no_underflow_out hs some.
      intros own [D [v [q [close [num [rat [r3 [e3 [b3 [be3 ->]]]]]]]]]].
      rewrite no_underflow_out in be3. rewrite (nothing e3 be3), Rplus_0_r.
      pose proof (own_below x own) as below.
      destruct (numerator_error M good kappa m logits s h j hs D x v close num) as [w [e [bw [be same]]]].
      assert (numerator_loss M j = 0) as lossless.
      { unfold numerator_loss, when_rescaled. destruct no_underflow as [-> ->]. destruct j; ring. }
      rewrite lossless, Rmult_0_r in be. rewrite (nothing e be), Rplus_0_r in same. rewrite same in *. clear same be.
      set (W := exp (- (m - x)) * exp w) in *.
      assert (positive : 0 < s) by (eapply Rlt_le_trans; [|exact below]; apply Rmult_lt_0_compat; apply exp_pos).
      assert (quotient : exists r, r <= 2 * lambda /\ q = W / s * exp r).
      { pose proof (unit_nonneg M good). destruct rat as [q prod|i q recip prod].
        - destruct (product_kept _ _ prod) as [r [br ->]]. apply abs_between in br. exists r. split; [lra|easy].
        - destruct (product_kept _ _ recip) as [r1 [br1 ->]]. destruct (product_kept _ _ prod) as [r2 [br2 ->]].
          apply abs_between in br1. apply abs_between in br2. exists (r1 + r2). split; [lra|]. rewrite exp_plus. unfold Rdiv. ring. }
      destruct quotient as [r [br ->]]. apply abs_between in b3. apply abs_between in bw.
      assert (over : W <= s * exp (numerator_log M kappa j + own_log + 2 * t * (m - x))).
      { apply Rle_trans with (exp (- (m - x)) * exp (- (own_log + t * (m - x)))
                              * exp (numerator_log M kappa j + own_log + 2 * t * (m - x))).
        - unfold W. rewrite <- !exp_plus. apply exp_le. lra.
        - apply Rmult_le_compat_r; [left; apply exp_pos|easy]. }
      assert (scaled : W / s <= exp (numerator_log M kappa j + own_log + 2 * t * (m - x))).
      { apply Rmult_le_reg_r with s; [easy|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. lra. }
      assert (ratio_log M out = 2 * lambda + output_unit out) as both by (unfold ratio_log; change (IZR division_roundings) with 2; ring).
      apply Rplus_le_compat_r. unfold excess_log. rewrite both, Rmult_assoc, <- exp_plus, (exp_plus _ (2 * lambda + _)).
      apply Rmult_le_compat; [|left; apply exp_pos|exact scaled|apply exp_le; lra].
      apply Rmult_le_pos; [left; apply Rmult_lt_0_compat; apply exp_pos|left; now apply Rinv_0_lt_compat].
    Qed.
  End Excess.

  (** ** A coefficient above 1, whatever its argument errs by *)

  (** No argument is below 0: a difference rounds to a number of its sign. *)
  Inductive powers : nat -> R -> Prop :=
  | one_power j b v : 0 <= b -> computed_exp M b v -> powers j v
  | rescaled_power j b v b' f z :
      0 <= b -> computed_exp M b v -> 0 <= b' -> computed_exp M b' f -> computed_product M (v * f) z -> powers (S j) z.

  Lemma power_below b f : 0 <= b -> computed_exp M b f -> 0 < f <= exp lambdaE.
  Proof using no_underflow.
    intros hb [r [e [br [be [_ [_ ->]]]]]]. rewrite (proj1 no_underflow) in be. rewrite (nothing e be), Rplus_0_r.
    apply abs_between in br. monotone.
  Qed.

  Theorem coefficient_overshoot out w s i j v q p :
    output_floor out = 0 -> computed_exp M 0 w -> kept M w 0 i s -> (i <= j)%nat -> powers j v ->
    ratio M v s q -> (exists r e, Rabs r <= output_unit out /\ Rabs e <= output_floor out /\ p = q * exp r + e) ->
    p - 1 <= exp (excess_log out 0 j 0) - 1.
  Proof using good no_underflow.
    intros no_loss [r0 [e0 [b0 [be0 [_ [_ ->]]]]]] part less num rat [r3 [e3 [b3 [be3 ->]]]]. rewrite no_loss in be3.
    rewrite (nothing e3 be3), Rplus_0_r. rewrite (proj1 no_underflow) in be0.
    rewrite (nothing e0 be0), Rplus_0_r in part. apply abs_between in b0. apply abs_between in b3.
    pose proof (unit_nonneg M good) as hl. pose proof (exp_unit_nonneg M good) as hE.
    assert (hc : 0 <= c0) by apply good. set (A := lambdaE + when_rescaled j (lambdaE + lambda)).
    set (B := lambdaE + INR j * (lambdaE + lambda + c0)). assert (below : exp (- B) <= s).
    { destruct (kept_at_least (exp (- 0 + r0)) 0 i s ltac:(left; apply exp_pos) part) as [_ at_least].
      eapply Rle_trans; [|exact at_least]. rewrite <- exp_plus. apply exp_le. apply le_INR in less.
      assert (INR i * (lambdaE + lambda + c0) <= INR j * (lambdaE + lambda + c0)) by monotone. unfold B. lra. }
    assert (positive : 0 < s) by (eapply Rlt_le_trans; [apply exp_pos|exact below]). assert (top : 0 < v <= exp A).
    { unfold A. destruct num as [k b v hb ex|k b v b' f z hb ex hb' ex' prod].
      - destruct (power_below b v hb ex) as [low high]. split; [exact low|]. eapply Rle_trans; [exact high|].
        apply exp_le. unfold when_rescaled. destruct k; lra.
      - destruct (power_below b v hb ex) as [low high]. destruct (power_below b' f hb' ex') as [low' high'].
        destruct (product_kept _ _ prod) as [r [br ->]]. apply abs_between in br. cbn [when_rescaled].
        split; [repeat apply Rmult_lt_0_compat; try easy; apply exp_pos|].
        replace (lambdaE + (lambdaE + lambda)) with (lambdaE + lambdaE + lambda) by ring.
        rewrite (exp_plus (lambdaE + lambdaE)).
        apply Rmult_le_compat; [left; now apply Rmult_lt_0_compat|monotone| |monotone]. rewrite exp_plus. monotone. }
    assert (quotient : exists r, r <= 2 * lambda /\ q = v / s * exp r).
    { destruct rat as [q prod|i' q recip prod].
      - destruct (product_kept _ _ prod) as [r [br ->]]. apply abs_between in br. exists r. split; [lra|easy].
      - destruct (product_kept _ _ recip) as [r1 [br1 ->]]. destruct (product_kept _ _ prod) as [r2 [br2 ->]].
        apply abs_between in br1. apply abs_between in br2. exists (r1 + r2). split; [lra|]. rewrite exp_plus.
        unfold Rdiv. ring. }
    destruct quotient as [r [br ->]]. assert (scaled : v / s <= exp (A + B)).
    { apply Rmult_le_reg_r with s; [easy|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      apply Rle_trans with (exp (A + B) * exp (- B)).
      - rewrite <- exp_plus. replace (A + B + - B) with A by ring. apply top.
      - monotone. }
    assert (ratio_log M out = 2 * lambda + output_unit out) as both
      by (unfold ratio_log; change (IZR division_roundings) with 2; ring).
    apply Rplus_le_compat_r. rewrite Rmult_assoc, <- exp_plus.
    apply Rle_trans with (exp (A + B) * exp (2 * lambda + output_unit out)).
    - apply Rmult_le_compat; [|monotone|exact scaled|monotone].
      apply Rmult_le_pos; [apply Rlt_le, top|left; now apply Rinv_0_lt_compat].
    - rewrite <- exp_plus. apply exp_le. unfold excess_log, numerator_log, own_log, argument_floor, rescale_unit.
      rewrite both. pose proof (slope_nonneg M good). unfold A, B. pose proof (pos_INR j). nra.
  Qed.

  (** ** An entropy below 0 *)

  Lemma logarithm_at_least w s y :
    log_error M <= 1 -> computed_exp M 0 w -> kept M w 0 0 s -> computed_log M s y -> - (lambdaE * (1 + log_error M)) <= y.
  Proof using good no_underflow.
    intros small [r [e [br [be [_ [_ ->]]]]]] part hy. rewrite (proj1 no_underflow) in be.
    rewrite (nothing e be), Rplus_0_r in part. apply abs_between in br. assert (0 <= log_error M) as hl by apply good.
    assert (exp (- lambdaE) <= s) as at_least.
    { destruct (kept_at_least (exp (- 0 + r)) 0 0 s ltac:(left; apply exp_pos) part) as [_ below].
      replace (- ((1 + t) * 0 + INR 0 * (lambdaE + lambda + c0))) with 0 in below by (cbn; ring).
      rewrite exp_0, Rmult_1_r in below. eapply Rle_trans; [|exact below]. monotone. }
    assert (- lambdaE <= ln s) as low by (rewrite <- (ln_exp (- lambdaE)); apply ln_le; [monotone|easy]).
    apply abs_between in hy. destruct (Rle_dec 0 (ln s)) as [above | below].
    - rewrite Rabs_right in hy by lra. assert (log_error M * ln s <= 1 * ln s) by monotone.
      assert (0 <= lambdaE * (1 + log_error M)) by monotone. lra.
    - rewrite Rabs_left in hy by lra. assert (log_error M * - ln s <= log_error M * lambdaE) by monotone. lra.
  Qed.

  Theorem entropy_undershoot u_out v s y mean z H :
    sum_floor M = 0 -> log_error M <= 1 -> 0 <= u_out < 1 ->
    computed_exp M 0 v -> kept M v 0 0 s -> computed_log M s y -> 0 <= mean ->
    rounded_sum M (y + mean) z -> rounded_output u_out 0 z H ->
    - (lambdaE * (1 + log_error M) * (1 + roundoff M) * (1 + u_out)) <= H.
  Proof using good no_underflow.
    intros no_loss small hout hv part hy nonneg [d [e1 [bd [be1 ->]]]] [d2 [e2 [bd2 [be2 ->]]]]. rewrite no_loss in be1.
    rewrite (nothing e1 be1), (nothing e2 be2), !Rplus_0_r.
    assert (0 <= log_error M /\ 0 <= roundoff M < 1) as [hl hu] by (unfold sound in good; lra).
    pose proof (exp_unit_nonneg M good) as hE. pose proof (logarithm_at_least v s y small hv part hy) as logarithm.
    apply abs_between in bd. apply abs_between in bd2.
    assert (factor : forall a x u f, 0 <= a -> 0 <= u -> - a <= x -> 0 <= 1 + f <= 1 + u -> - (a * (1 + u)) <= x * (1 + f)).
    { intros a x u f ha hu' hx hf. apply Rle_trans with (- (a * (1 + f))).
      - apply Ropp_le_contravar, Rmult_le_compat_l; lra.
      - assert (0 <= (x + a) * (1 + f)) by monotone. lra. }
    apply factor; [|lra| |lra].
    - apply Rmult_le_pos; [monotone|]; lra.
    - apply factor; [monotone| | |]; lra.
  Qed.

  (** ** A log-softmax above 0 *)

  (** d, a deviation as computed, is not negative. *)
  Theorem log_coefficient_overshoot u_out w s y d z p :
    sum_floor M = 0 -> log_error M <= 1 -> 0 <= u_out < 1 ->
    computed_exp M 0 w -> kept M w 0 0 s -> computed_log M s y -> 0 <= d ->
    rounded_sum M (- d - y) z -> rounded_output u_out 0 z p ->
    p <= lambdaE * (1 + log_error M) * (1 + roundoff M) * (1 + u_out).
  Proof using good no_underflow.
    intros no_loss small hout hw part hy nonneg [f [e [bf [be ->]]]] [f2 [e2 [bf2 [be2 ->]]]].
    enough (- (lambdaE * (1 + log_error M) * (1 + roundoff M) * (1 + u_out)) <= - ((( - d - y) * (1 + f) + e) * (1 + f2) + e2)) by lra.
    apply (entropy_undershoot u_out w s y d ((y + d) * (1 + f) + - e)); try easy.
    - exists f, (- e). rewrite Rabs_Ropp. repeat split; easy.
    - exists f2, (- e2). rewrite Rabs_Ropp. repeat split; try easy. ring.
  Qed.

  Lemma scaled_apart x m d x' m' :
    x <= m -> 0 <= d -> Rabs (x' - x) <= d * Rabs x -> Rabs (m' - m) <= d * Rabs m -> d <= 1 -> x' - m' <= 2 * d * Rabs m.
  Proof using.
    intros below hd hx hm small. apply abs_between in hx. apply abs_between in hm.
    destruct (Rle_dec (Rabs x) (Rabs m)) as [shorter|longer].
    - assert (d * Rabs x <= d * Rabs m) by monotone. lra.
    - assert (- Rabs m <= m <= Rabs m) by (apply abs_between, Rle_refl).
      assert (x < 0) as negative by (destruct (Rle_dec 0 x); [rewrite Rabs_right in longer by lra; lra|lra]).
      rewrite Rabs_left in * by lra. assert (d * (- x - Rabs m) <= 1 * (- x - Rabs m)) by monotone. lra.
  Qed.

  Theorem log_coefficient_overshoot_apart u_out w s y x m d x' m' L z p :
    sum_floor M = 0 -> log_error M <= 1 -> 0 <= u_out < 1 ->
    computed_exp M 0 w -> kept M w 0 0 s -> computed_log M s y ->
    x <= m -> 0 <= d <= 1 -> Rabs (x' - x) <= d * Rabs x -> Rabs (m' - m) <= d * Rabs m ->
    rounded_sum M (m' + y) L -> rounded_sum M (x' - L) z -> rounded_output u_out 0 z p ->
    let u := roundoff M in
    p <= (lambdaE * (1 + log_error M) * (1 + u) + (2 * d + u * (1 + d)) * Rabs m) * (1 + u) * (1 + u_out).
  Proof using good no_underflow.
    intros no_loss small hout hw part hy below hd hx hm [f [e [bf [be ->]]]] [f1 [e1 [bf1 [be1 ->]]]]
      [f2 [e2 [bf2 [be2 ->]]]] u.
    rewrite no_loss in be, be1. rewrite (nothing e be), (nothing e1 be1), (nothing e2 be2), !Rplus_0_r.
    pose proof (logarithm_at_least w s y small hw part hy) as low. set (a := lambdaE * (1 + log_error M)) in *.
    assert (hu : 0 <= u < 1) by apply good. assert (0 <= log_error M) by apply good.
    assert (ha : 0 <= a) by (apply Rmult_le_pos; [now apply exp_unit_nonneg|lra]).
    pose proof (scaled_apart x m d x' m' below (proj1 hd) hx hm (proj2 hd)) as apart. fold u in bf, bf1.
    apply abs_between in bf. apply abs_between in bf1. apply abs_between in bf2.
    assert (size : Rabs m' <= (1 + d) * Rabs m).
    { replace m' with (m + (m' - m)) by ring. pose proof (Rabs_triang m (m' - m)). lra. }
    assert (first : - (m' * f) <= u * ((1 + d) * Rabs m)).
    { eapply Rle_trans; [apply Rle_abs|]. rewrite Rabs_Ropp, Rabs_mult, Rmult_comm.
      apply Rmult_le_compat; try apply Rabs_pos; [apply Rabs_le; lra|easy]. }
    assert (second : - (y * (1 + f)) <= a * (1 + u)).
    { apply Rle_trans with (a * (1 + f)); [|monotone]. assert (0 <= (y + a) * (1 + f)) by monotone. lra. }
    set (c := a * (1 + u) + (2 * d + u * (1 + d)) * Rabs m).
    assert (inner : x' - (m' + y) * (1 + f) <= c) by (unfold c; lra). assert (0 <= c).
    { unfold c. pose proof (Rabs_pos m). apply Rplus_le_le_0_compat; [monotone|]. apply Rmult_le_pos; [|easy].
      assert (0 <= u * (1 + d)) by monotone. lra. }
    assert (grown : forall v b g k, v <= b -> 0 <= b -> 0 <= 1 + g <= 1 + k -> v * (1 + g) <= b * (1 + k)).
    { intros v b g k hv hb hg. apply Rle_trans with (b * (1 + g)); [monotone|monotone]. }
    apply grown; [apply grown; [exact inner|easy|lra]|monotone|lra].
  Qed.
End Kept.

(** ** Of something *)

(** The row 0, 0 of reached_bounds.v: each exponential is too small, as are the addition, the factor and its product. *)
Lemma own_of_level : own_in_sum single 0 0 (far_sum (-1)) 1 0.
Proof.
  exists 0, 0, 1%nat, 0, (exp (-1 * E)). split; [replace (0 + 0 - (0 - 0)) with 0 by ring; rewrite Rabs_R0; lra|].
  split; [lra|]. split; [easy|]. split; [apply argument_of_0|]. split; [apply exp_of_0; lra|].
  replace 0 with (0 + 0) at 1 by ring.
  apply (kept_rescaled _ _ 0 0 ((exp (-1 * E) + exp (-1 * E)) * exp (-1 * l)) 0 0 (exp (-1 * E))).
  - apply kept_added with (exp (-1 * E)); [apply kept_itself|]. assert (1 / 2 <= exp (-1 * l)).
    { pose proof (exp_above_tangent (-1 * l)). assert (l <= 1 / 2); [|lra]. unfold unit, log_unit; cbn.
      rewrite <- ln_Rinv by lra. pose proof (ln_below_tangent (/ (1 - / 16777216)) ltac:(apply Rinv_0_lt_compat; lra)). lra. }
    pose proof (exp_pos (-1 * E)) as positive. set (a := exp (-1 * E)) in *. apply Rle_trans with ((a + a) * (1 / 2)); [lra|].
    monotone.
  - lra.
  - apply argument_of_0.
  - apply exp_of_0. lra.
  - apply product_off. lra.
Qed.

Example coefficient_excess_holds_of_a_row :
  exists s p, sound single /\ exp_floor single = 0 /\ product_floor single = 0 /\ output_floor half = 0 /\
    sum_of_row single 0 0 level s 1 1 /\ lost_sum single 0 0 level 1 1 < 1 /\ own_in_sum single 0 0 s 1 0 /\
    computed_element single half 0 0 1 s 0 p.
Proof.
  exists (far_sum (-1)), far_element. do 4 (split; [first [apply single_sound|reflexivity]|]).
  split; [apply far_sum_of_row; lra|]. split; [rewrite nothing_lost; lra|]. split; [apply own_of_level|].
  apply far_element_of_row. now left.
Qed.

(** The row 0 of one item, whose exponential is too small by all that it may, as are the logarithm and both roundings up. *)
Example undershoot_is_reached :
  exists v s y z H, sound single /\ exp_floor single = 0 /\ product_floor single = 0 /\ sum_floor single = 0 /\
    log_error single <= 1 /\ computed_exp single 0 v /\ kept single v 0 0 s /\ computed_log single s y /\
    rounded_sum single (y + 0) z /\ rounded_output (/ 2048) 0 z H /\
    H = - (E * (1 + log_error single) * (1 + roundoff single) * (1 + / 2048)).
Proof.
  pose proof units as [hE hl]. set (y := - (E * (1 + log_error single))). set (z := (y + 0) * (1 + roundoff single)).
  exists (exp (-1 * E)), (exp (-1 * E)), y, z, (z * (1 + / 2048)). split; [apply single_sound|].
  do 3 (split; [reflexivity|]). split; [cbn; lra|]. split; [apply exp_of_0; lra|]. split; [apply kept_itself|].
  split; [|split; [|split]].
  - unfold computed_log, y. rewrite ln_exp. cbn -[exp_unit]. set (e := E) in *.
    replace (- (e * (1 + 4 * / 16777216)) - -1 * e) with (- (4 * / 16777216 * e)) by ring.
    replace (-1 * e) with (- e) by ring. rewrite !Rabs_Ropp, !Rabs_right by lra. lra.
  - exists (roundoff single), 0. rewrite Rabs_R0, Rabs_right by (cbn; lra). cbn -[exp_unit y]. repeat split; try lra.
    unfold z. cbn -[exp_unit y]. ring.
  - exists (/ 2048), 0. rewrite Rabs_R0, Rabs_right by lra. repeat split; lra.
  - unfold z, y. ring.
Qed.

(** A row of one item: its exponential is too small in the sum and too large in the numerator, the quotient and the output are
    rounded up; the logarithm of that sum as far below 0 as it may be. *)
Example overshoots_are_met :
  (exists w v q p, sound single /\ computed_exp single 0 w /\ kept single w 0 0 w /\ powers single 0 v /\ ratio single v w q /\
     (exists r e, Rabs r <= output_unit half /\ Rabs e <= output_floor half /\ p = q * exp r + e) /\
     p = exp (E + E + l + output_unit half)) /\
  exists w y z p, computed_exp single 0 w /\ kept single w 0 0 w /\ computed_log single w y /\
    rounded_sum single (0 + y) (y * (1 - roundoff single)) /\ rounded_sum single (- 0 - y) z /\ rounded_output (/ 2048) 0 z p /\
    p = E * (1 + log_error single) * (1 + roundoff single) * (1 + / 2048).
Proof.
  pose proof units as [hE hl]. assert (ho : 0 <= output_unit half) by (cbn; apply log_unit_nonneg; lra). split.
  - exists (exp (-1 * E)), (exp (1 * E)), (exp (1 * E) / exp (-1 * E) * exp (1 * l)),
      (exp (1 * E) / exp (-1 * E) * exp (1 * l) * exp (output_unit half)).
    split; [apply single_sound|]. split; [apply exp_of_0; lra|]. split; [apply kept_itself|].
    split; [apply one_power with 0; [lra|apply exp_of_0; lra]|]. split; [apply ratio_division, product_off; lra|]. split.
    + exists (output_unit half), 0. rewrite Rabs_R0, Rabs_right by lra. repeat split; [lra|cbn; lra|ring].
    + unfold Rdiv. rewrite <- exp_Ropp, <- !exp_plus. f_equal. ring.
  - set (y := - (E * (1 + log_error single))). set (z := (- 0 - y) * (1 + roundoff single)).
    exists (exp (-1 * E)), y, z, (z * (1 + / 2048)).
    split; [apply exp_of_0; lra|]. split; [apply kept_itself|]. split; [|split; [|split; [|split]]].
    + unfold computed_log, y. rewrite ln_exp. cbn -[exp_unit]. set (e := E) in *.
      replace (- (e * (1 + 4 * / 16777216)) - -1 * e) with (- (4 * / 16777216 * e)) by ring.
      replace (-1 * e) with (- e) by ring. rewrite !Rabs_Ropp, !Rabs_right by lra. lra.
    + exists (- roundoff single), 0. rewrite Rabs_R0, Rabs_Ropp, Rabs_right by (cbn; lra). cbn -[exp_unit y]. repeat split; try lra; ring.
    + exists (roundoff single), 0. rewrite Rabs_R0, Rabs_right by (cbn; lra). cbn -[exp_unit y]. repeat split; try lra.
      unfold z. cbn -[exp_unit y]. ring.
    + exists (/ 2048), 0. rewrite Rabs_R0, Rabs_right by lra. repeat split; lra.
    + unfold z, y. ring.
Qed.
