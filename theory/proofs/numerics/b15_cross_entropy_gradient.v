(** * B15: the gradient of cross-entropy, upstream (alpha p_j - b_j) times a softcap's slope.

    Main results
    - [b15_hard_label]     p_hat - b in one rounding, b = 0 or 1: Dp + u (|p - b| + Dp), Dp the error of p (B2, without its
                           output); the target's error is relative to p_y, not to 1 - p_y
    - [b15_power]            p as the exponential of a log-probability that errs by c + s D: B2's chord for another log error
    - [b15_difference]     (alpha_hat p_hat) - b_hat in terms: e^K ((|alpha| + E_alpha)(p + Dp) + b) - (|alpha| p + b)
    - [b15_slope]          times 1 - tau^2 as computed
    - [b15_gradient]       times upstream, a quotient and a product, behind the output's rounding
    - [b15_slope_last]     the same where upstream comes before the slope
    - [b15_divisor_last]   the same where a mean's divisor d comes last, behind the product with upstream: the roundings are the
                           same, but that product has lost omega_m, which is divided: omega_m (e^lambda / |d| + 1)
    - [b15_slope_and_divisor_last]   upstream, the slope, the divisor: each product loses omega_m, two of which are divided
    - [b15_cross_entropy_gradient]   a hard label from the logits to the output, p by B2

    Source: docs/tolerances/cross_entropy.md; CrossEntropyGradientThreshold in numerics/rounding/rounding_cross_entropy.cpp. What a
    softcap adds to each logit is a premise here: the error of p. *)

From softcheck.numerics Require Import row b1_sum b2_element element_threshold score_error b5_logsumexp added_terms.
Local Open Scope R_scope.

Section Gradient.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Notation u := (roundoff M).
  Notation wm := (product_floor M).

  Theorem b15_hard_label p p' b z off lost :
    Rabs (p' - p) <= off + lost -> rounded_sum M (p' - b) z ->
    Rabs (z - (p - b)) <= off + u * (Rabs (p - b) + off) + (lost * (1 + u) + sum_floor M).
  Proof using.
    intros close [d [e [bd [be ->]]]]. apply rounded_error; try easy.
    now replace (p' - b - (p - b)) with (p' - p) by ring.
  Qed.

  (** The addends of alpha p - b: alpha_i p for the parts alpha_i of alpha, and the parts of b, in any order and grouping
      that multiplies each by at most a and adds each at most h times. *)
  Theorem b15_difference a l alphas errors alphas' p p' off bs y h :
    0 <= a -> 0 <= l -> 0 <= p -> Rabs (p' - p) <= off -> perturbed alphas' alphas errors ->
    added M a l (map (fun x => x * p') alphas' ++ map Ropp bs) y h ->
    let size_alpha := magnitude alphas in
    let error := (size_alpha + sum errors) * off + sum errors * p in
    Rabs (y - (sum alphas * p - sum bs))
    <= exp (a + INR h * lambda) * (size_alpha * p + magnitude bs + error) - (size_alpha * p + magnitude bs)
       + added_loss M l h (alphas ++ bs).
  Proof using good.
    intros ha hl hp close near tree. cbv zeta. assert (hoff : 0 <= off) by (pose proof (Rabs_pos (p' - p)); lra).
    assert (factors : forall xs' xs ds, perturbed xs' xs ds ->
              perturbed (map (fun x => x * p') xs') (map (fun x => x * p) xs)
                        (map (fun q => (Rabs (fst q) + snd q) * off + snd q * p) (combine xs ds))
              /\ magnitude (map (fun x => x * p) xs) = magnitude xs * p /\ sum (map (fun x => x * p) xs) = sum xs * p
              /\ sum (map (fun q => (Rabs (fst q) + snd q) * off + snd q * p) (combine xs ds))
                 = (magnitude xs + sum ds) * off + sum ds * p).
    { induction 1 as [|x' x d xs' xs ds hx _ [IH1 [IH2 [IH3 IH4]]]].
      - unfold magnitude, sum. simpl. repeat split; try ring. apply perturbed_none.
      - pose proof (Rabs_pos (x' - x)) as hd. repeat split.
        + simpl. apply perturbed_term; [|easy].
          replace (x' * p' - x * p) with ((x + (x' - x)) * (p' - p) + (x' - x) * p) by ring. triangle.
          rewrite !Rabs_mult, (Rabs_right p) by lra.
          assert (Rabs (x + (x' - x)) * Rabs (p' - p) <= (Rabs x + d) * off) by monotone.
          assert (Rabs (x' - x) * p <= d * p) by monotone. lra.
        + change (magnitude (map (fun x0 => x0 * p) (x :: xs))) with (Rabs (x * p) + magnitude (map (fun x0 => x0 * p) xs)).
          change (magnitude (x :: xs)) with (Rabs x + magnitude xs). rewrite IH2, Rabs_mult, (Rabs_right p) by lra. ring.
        + change (sum (map (fun x0 => x0 * p) (x :: xs))) with (x * p + sum (map (fun x0 => x0 * p) xs)).
          change (sum (x :: xs)) with (x + sum xs). rewrite IH3. ring.
        + unfold magnitude, sum in *. simpl. rewrite IH4. ring. }
    destruct (factors alphas' alphas errors near) as [terms [m1 [s1 e1]]]. clear factors.
    assert (exactly : forall xs, perturbed xs xs (map (fun _ => 0) xs) /\ sum (map (fun _ => 0) xs) = 0).
    { induction xs as [|x xs [IH1 IH2]]; [split; [apply perturbed_none|easy]|]. split.
      - simpl. apply perturbed_term; [|easy]. rewrite Rminus_diag_eq, Rabs_R0 by easy. lra.
      - unfold sum in *. simpl. rewrite IH2. ring. }
    assert (joined : forall xs' xs ds ys' ys es, perturbed xs' xs ds -> perturbed ys' ys es ->
              perturbed (xs' ++ ys') (xs ++ ys) (ds ++ es)).
    { intros xs' xs ds ys' ys es first second. induction first; simpl; [easy|]. now apply perturbed_term. }
    destruct (exactly (map Ropp bs)) as [rest zero].
    pose proof (perturbed_sum M good a l _ _ _ y h ha hl (joined _ _ _ _ _ _ terms rest) tree) as bound.
    unfold perturbed_rounding in bound. rewrite magnitude_app, !sum_app, zero, e1, m1, s1 in bound.
    assert (opp : magnitude (map Ropp bs) = magnitude bs /\ sum (map Ropp bs) = - sum bs).
    { induction bs as [|b bs' IH]; [unfold magnitude, sum; simpl; split; ring|]. unfold magnitude, sum in *. simpl.
      clear - bs'. split.
      - rewrite Rabs_Ropp. f_equal. induction bs' as [|c cs IH]; simpl; [easy|]. now rewrite Rabs_Ropp, IH.
      - induction bs' as [|c cs IH]; simpl in *; lra. }
    destruct opp as [o1 o2]. rewrite o1, o2 in bound. unfold added_loss, size in *. rewrite app_length, !map_length in bound.
    rewrite app_length. replace (sum alphas * p - sum bs) with (sum alphas * p + - sum bs) by ring.
    eapply Rle_trans; [apply bound|]. right. ring.
  Qed.

  (** A factor f >= 0 that errs by at most e, and a rounding. *)
  Theorem b15_slope v v' error f f' e z :
    0 <= f -> Rabs (v' - v) <= error -> Rabs (f' - f) <= e -> computed_product M (v' * f') z ->
    Rabs (z - v * f)
    <= error * (f + ((exp lambda - 1) * f + exp lambda * e)) + Rabs v * ((exp lambda - 1) * f + exp lambda * e) + wm.
  Proof using good.
    intros hf hv he [t [d [bt [bd ->]]]]. assert (lam : 0 <= lambda) by now apply unit_nonneg.
    pose proof (expm1_abs t lambda bt) as grows.
    assert (up : exp t <= exp lambda) by (apply exp_le; apply abs_between in bt; lra). pose proof (exp_pos t).
    set (g := (exp lambda - 1) * f + exp lambda * e). assert (hg : Rabs (f' * exp t - f) <= g).
    { unfold g. replace (f' * exp t - f) with (f * (exp t - 1) + (f' - f) * exp t) by ring. triangle.
      rewrite !Rabs_mult, (Rabs_right f), (Rabs_right (exp t)) by lra.
      assert (f * Rabs (exp t - 1) <= f * (exp lambda - 1)) by monotone.
      assert (Rabs (f' - f) * exp t <= e * exp lambda) by monotone. lra. }
    replace (v' * f' * exp t + d - v * f) with ((v' - v) * (f' * exp t) + v * (f' * exp t - f) + d) by ring. triangle.
    apply Rplus_le_compat; [|easy]. triangle. rewrite !(Rabs_mult _ (f' * exp t)), (Rabs_mult v). apply Rplus_le_compat.
    - apply Rmult_le_compat; try apply Rabs_pos; [easy|]. replace (f' * exp t) with (f + (f' * exp t - f)) by ring.
      triangle. rewrite (Rabs_right f); lra.
    - now apply Rmult_le_compat_l; [monotone|].
  Qed.

  (** upstream = n / d as computed, times v as computed. *)
  Theorem b15_gradient n d scale v v' error lost z u_out floor_out dx :
    Rabs (v' - v) <= error + lost -> computed_product M (n / d) scale -> computed_product M (scale * v') z ->
    rounded_output u_out floor_out z dx ->
    let up := Rabs (n / d) in
    let rounding := up * (exp (2 * lambda) * (Rabs v + error) - Rabs v) in
    let floor := exp (2 * lambda) * (up * lost + wm * (Rabs v + error + lost)) + wm in
    Rabs (dx - n / d * v) <= rounding + u_out * (Rabs (n / d * v) + rounding) + (floor * (1 + u_out) + floor_out).
  Proof using good.
    intros close [t1 [e1 [b1 [c1 ->]]]] [t2 [e2 [b2 [c2 ->]]]] [r [e3 [br [be ->]]]] up rounding floor.
    apply rounded_error; try easy. unfold rounding, floor, up. assert (lam : 0 <= lambda) by now apply unit_nonneg.
    assert (hwm : 0 <= wm) by (unfold sound in good; lra). set (q := n / d) in *. set (F := exp (2 * lambda)).
    assert (tt : Rabs (t1 + t2) <= 2 * lambda) by (pose proof (Rabs_triang t1 t2); lra).
    pose proof (expm1_abs _ _ tt) as grows. fold F in grows.
    assert (upF : exp (t1 + t2) <= F) by (apply exp_le; apply abs_between in tt; lra).
    assert (up2 : exp t2 <= F) by (apply exp_le; apply abs_between in b2; lra). pose proof (exp_pos (t1 + t2)).
    pose proof (exp_pos t2). pose proof (Rabs_pos q). pose proof (Rabs_pos v).
    assert (size_v : Rabs v' <= Rabs v + error + lost).
    { replace v' with (v + (v' - v)) by ring. pose proof (Rabs_triang v (v' - v)). lra. }
    replace ((q * exp t1 + e1) * v' * exp t2 + e2 - q * v)
      with (q * ((v' - v) * exp (t1 + t2) + v * (exp (t1 + t2) - 1)) + (e1 * v' * exp t2 + e2))
      by (rewrite exp_plus; ring).
    triangle.
    apply Rle_trans with (Rabs q * ((error + lost) * F + Rabs v * (F - 1)) + (wm * (Rabs v + error + lost) * F + wm)).
    - apply Rplus_le_compat.
      + rewrite Rabs_mult. apply Rmult_le_compat_l; [easy|]. triangle.
        rewrite !Rabs_mult, (Rabs_right (exp (t1 + t2))) by lra.
        apply Rplus_le_compat; [apply Rmult_le_compat; try lra; apply Rabs_pos|now apply Rmult_le_compat_l].
      + triangle. apply Rplus_le_compat; [|easy]. rewrite !Rabs_mult, (Rabs_right (exp t2)) by lra.
        apply Rmult_le_compat; try lra; [apply Rmult_le_pos; apply Rabs_pos|].
        apply Rmult_le_compat; try apply Rabs_pos; easy.
    - right. ring.
  Qed.

  (** upstream times v, and the factor f behind that: the roundings are those of the other order, but both products lose wm. *)
  Theorem b15_slope_last n d scale v v' error lost f f' e y z u_out floor_out dx :
    0 <= f -> Rabs (v' - v) <= error + lost -> Rabs (f' - f) <= e ->
    computed_product M (n / d) scale -> computed_product M (scale * v') y -> computed_product M (y * f') z ->
    rounded_output u_out floor_out z dx ->
    let up := Rabs (n / d) in
    let more := (exp lambda - 1) * f + exp lambda * e in
    let rounding := up * (exp (2 * lambda) * (Rabs v * f + (error * (f + more) + Rabs v * more)) - Rabs v * f) in
    let floor := (exp (2 * lambda) * (up * lost + wm * (Rabs v + error + lost)) + wm) * (exp lambda * (f + e)) + wm in
    Rabs (dx - n / d * (v * f))
    <= rounding + u_out * (Rabs (n / d * (v * f)) + rounding) + (floor * (1 + u_out) + floor_out).
  Proof using good.
    intros hf hv hf' up1 up2 slope [r [e3 [br [be ->]]]] up more rounding floor. apply rounded_error; try easy.
    assert (same : rounded_output 0 0 y y) by (exists 0, 0; rewrite Rabs_R0; repeat split; lra).
    pose proof (b15_gradient n d scale v v' error lost y 0 0 y hv up1 up2 same) as first. cbv zeta in first.
    fold up in first. set (R1 := up * (exp (2 * lambda) * (Rabs v + error) - Rabs v)) in first.
    set (F1 := exp (2 * lambda) * (up * lost + wm * (Rabs v + error + lost)) + wm) in first.
    assert (close : Rabs (y - n / d * v) <= R1 + F1) by monotone.
    pose proof (b15_slope (n / d * v) y (R1 + F1) f f' e z hf close hf' slope) as second. fold more in second.
    rewrite Rabs_mult in second. fold up in second. replace (n / d * (v * f)) with (n / d * v * f) by ring.
    eapply Rle_trans; [exact second|]. right. unfold rounding, floor, R1, F1, more. ring.
  Qed.

  (** A division behind all else. *)
  Lemma divided_last x y error lost d z :
    d <> 0 -> Rabs (y - x) <= error + lost -> computed_product M (y / d) z ->
    Rabs (z - x / d) <= (exp lambda * (Rabs x + error) - Rabs x) / Rabs d + (exp lambda * lost / Rabs d + wm).
  Proof using good.
    intros hd hy [t [e [bt [be ->]]]]. assert (lam : 0 <= lambda) by now apply unit_nonneg.
    assert (nonneg : 0 < / Rabs d) by (apply Rinv_0_lt_compat; now apply Rabs_pos_lt).
    pose proof (expm1_abs t lambda bt) as grows. pose proof (exp_pos t).
    assert (up : exp t <= exp lambda) by (apply exp_le; apply abs_between in bt; lra).
    replace (y / d * exp t + e - x / d) with (((y - x) * exp t + x * (exp t - 1)) / d + e) by (field; easy). triangle.
    replace ((exp lambda * (Rabs x + error) - Rabs x) / Rabs d + (exp lambda * lost / Rabs d + wm))
      with (((error + lost) * exp lambda + Rabs x * (exp lambda - 1)) / Rabs d + wm) by (field; now apply Rabs_no_R0).
    apply Rplus_le_compat; [|easy]. unfold Rdiv. rewrite Rabs_mult, Rabs_inv. apply Rmult_le_compat_r; [lra|]. triangle.
    rewrite !Rabs_mult, (Rabs_right (exp t)) by lra.
    apply Rplus_le_compat; [apply Rmult_le_compat; try lra; apply Rabs_pos|now apply Rmult_le_compat_l; [monotone|]].
  Qed.

  (** upstream g times v, as b15_gradient has it of a quotient g / 1 that loses nothing. *)
  Lemma upstream_first g v v' error lost y :
    Rabs (v' - v) <= error + lost -> computed_product M (g * v') y ->
    Rabs (y - g * v) <= Rabs g * (exp lambda * (Rabs v + error) - Rabs v) + (exp lambda * (Rabs g * lost) + wm).
  Proof using good.
    intros hv [t [e [bt [be ->]]]]. assert (lam : 0 <= lambda) by now apply unit_nonneg.
    pose proof (expm1_abs t lambda bt) as grows. pose proof (exp_pos t).
    assert (up : exp t <= exp lambda) by (apply exp_le; apply abs_between in bt; lra).
    replace (g * v' * exp t + e - g * v) with (g * ((v' - v) * exp t + v * (exp t - 1)) + e) by ring. triangle.
    replace (Rabs g * (exp lambda * (Rabs v + error) - Rabs v) + (exp lambda * (Rabs g * lost) + wm))
      with (Rabs g * ((error + lost) * exp lambda + Rabs v * (exp lambda - 1)) + wm) by ring.
    apply Rplus_le_compat; [|easy]. rewrite Rabs_mult. apply Rmult_le_compat_l; [monotone|]. triangle.
    rewrite !Rabs_mult, (Rabs_right (exp t)) by lra.
    apply Rplus_le_compat; [apply Rmult_le_compat; try lra; apply Rabs_pos|now apply Rmult_le_compat_l; [monotone|]].
  Qed.

  Theorem b15_divisor_last g d v v' error lost y z u_out floor_out dx :
    d <> 0 -> Rabs (v' - v) <= error + lost -> computed_product M (g * v') y -> computed_product M (y / d) z ->
    rounded_output u_out floor_out z dx ->
    let up := Rabs (g / d) in
    let rounding := up * (exp (2 * lambda) * (Rabs v + error) - Rabs v) in
    let floor := exp (2 * lambda) * (up * lost) + wm * (exp lambda / Rabs d + 1) in
    Rabs (dx - g / d * v) <= rounding + u_out * (Rabs (g / d * v) + rounding) + (floor * (1 + u_out) + floor_out).
  Proof using good.
    intros hd hv first last [r [e [br [be ->]]]] up rounding floor. apply rounded_error; try easy.
    pose proof (divided_last _ _ _ _ d z hd (upstream_first g v v' error lost y hv first) last) as close.
    replace (g / d * v) with (g * v / d) by (field; easy). eapply Rle_trans; [exact close|]. right.
    unfold rounding, floor, up, Rdiv. rewrite !Rabs_mult, Rabs_inv. replace (2 * lambda) with (lambda + lambda) by ring.
    rewrite exp_plus. field. now apply Rabs_no_R0.
  Qed.

  Theorem b15_slope_and_divisor_last g d v v' error lost f f' e y s z u_out floor_out dx :
    d <> 0 -> 0 <= f -> Rabs (v' - v) <= error + lost -> Rabs (f' - f) <= e ->
    computed_product M (g * v') y -> computed_product M (y * f') s -> computed_product M (s / d) z ->
    rounded_output u_out floor_out z dx ->
    let up := Rabs (g / d) in
    let more := (exp lambda - 1) * f + exp lambda * e in
    let rounding := up * (exp (2 * lambda) * (Rabs v * f + (error * (f + more) + Rabs v * more)) - Rabs v * f) in
    let floor := (exp (2 * lambda) * (up * lost) + wm * (exp lambda / Rabs d)) * (exp lambda * (f + e))
                 + wm * (exp lambda / Rabs d + 1) in
    Rabs (dx - g / d * (v * f))
    <= rounding + u_out * (Rabs (g / d * (v * f)) + rounding) + (floor * (1 + u_out) + floor_out).
  Proof using good.
    intros hd hf hv hf' first slope last [r [e3 [br [be ->]]]] up more rounding floor. apply rounded_error; try easy.
    pose proof (upstream_first g v v' error lost y hv first) as met.
    pose proof (b15_slope (g * v) y _ f f' e s hf met hf' slope) as bent. fold more in bent.
    set (R1 := Rabs g * (exp lambda * (Rabs v + error) - Rabs v)) in bent. set (F1 := exp lambda * (Rabs g * lost) + wm) in bent.
    assert (split : Rabs (s - g * v * f) <= (R1 * (f + more) + Rabs (g * v) * more) + (F1 * (f + more) + wm)) by lra.
    pose proof (divided_last _ _ _ _ d z hd split last) as close.
    replace (g / d * (v * f)) with (g * v * f / d) by (field; easy). eapply Rle_trans; [exact close|]. right.
    unfold rounding, floor, up, R1, F1, more, Rdiv. rewrite !Rabs_mult, Rabs_inv, (Rabs_right f) by lra.
    replace (2 * lambda) with (lambda + lambda) by ring. rewrite exp_plus. field. now apply Rabs_no_R0.
  Qed.
End Gradient.

(** p = e^(x - L) from a log-probability as computed or saved, in place of B2: y = - (D + ln S) errs by first + rate D, and its
    exponential's argument by the factor 1 + more of it (A - 1 roundings). *)
Section Power.
  Context (M : arithmetic) (first rate more log_sum : R) (good : sound M)
    (ranges : 0 <= first /\ 0 <= rate /\ 0 <= more /\ 0 <= log_sum).

  Definition power_constant : R := first + more * (log_sum + first) + exp_unit M.
  Definition power_rate : R := rate + more * (1 + rate).

  Theorem b15_power quantum d y b p :
    0 < quantum <= 1 -> power_rate < 1 -> 0 <= d ->
    Rabs (y + (d + log_sum)) <= first + rate * d -> Rabs (b + y) <= more * Rabs y -> computed_exp M b p ->
    let exact := exp (- (d + log_sum)) in
    Rabs (p - exact)
    <= (threshold_constant power_constant + threshold_slope quantum power_constant power_rate * d) * exact
       + (exp_floor M + threshold_floor quantum).
  Proof using good ranges.
    intros hq hr hd close arg [t [e [bt [be [_ [_ ->]]]]]] exact. destruct ranges as [h1 [h2 [h3 h4]]].
    pose proof (exp_unit_nonneg M good) as hE. assert (size : Rabs y <= d + log_sum + (first + rate * d)).
    { replace y with (- (d + log_sum) + (y + (d + log_sum))) by ring. triangle.
      rewrite Rabs_Ropp, (Rabs_right (d + log_sum)) by lra. lra. }
    set (w := - b + t + (d + log_sum)). assert (bw : Rabs w <= power_constant + power_rate * d).
    { unfold w, power_constant, power_rate.
      replace (- b + t + (d + log_sum)) with ((y + (d + log_sum)) + - (b + y) + t) by ring. triangle.
      eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|]. rewrite Rabs_Ropp.
      assert (more * Rabs y <= more * (d + log_sum + (first + rate * d))) by monotone. lra. }
    assert (hc : 0 <= power_constant).
    { unfold power_constant. assert (0 <= more * (log_sum + first)) by monotone. lra. } assert (hk : 0 <= power_rate).
    { unfold power_rate. assert (0 <= more * (1 + rate)) by monotone. lra. }
    assert (exact_range : 0 <= exact <= exp (- d)) by (unfold exact; split; [left; apply exp_pos|apply exp_le; lra]).
    pose proof (element_threshold quantum power_constant power_rate hq hc (conj hk hr) d exact hd exact_range) as chord.
    replace (exp (- b + t) + e - exact) with (exact * (exp w - 1) + e).
    2:{ unfold w, exact. rewrite exp_plus, exp_Ropp. field. apply Rgt_not_eq, exp_pos. }
    pose proof (expm1_abs w _ bw) as grows. triangle. rewrite Rabs_mult, (Rabs_right exact) by lra.
    assert (exact * Rabs (exp w - 1) <= exact * (exp (power_constant + power_rate * d) - 1)) by monotone. lra.
  Qed.
End Power.

(** From the logits to the output, for a hard label: p in the accumulator by B2. *)
Section HardLabel.
  Context (M : arithmetic) (good : sound M) (kappa m : R) (logits : list R) (s : R) (h j : nat)
    (hs : sum_of_row M kappa m logits s h j) (some : lost_sum M kappa m logits h j < 1).

  Definition exact_output : output_format := {| output_unit := 0; output_floor := 0 |}.

  Theorem b15_cross_entropy_gradient x b p z n d scale g u_out floor_out dx :
    In x logits -> computed_element M exact_output kappa m j s x p -> rounded_sum M (p - b) z ->
    computed_product M (n / d) scale -> computed_product M (scale * z) g -> rounded_output u_out floor_out g dx ->
    let value := coefficient logits x - b in
    let off := coefficient logits x * (exp (element_log M exact_output kappa m logits h j + slope M * (m - x)) - 1) in
    let lost := element_floor M exact_output kappa m logits h j * (1 + roundoff M) + sum_floor M in
    let error := off + roundoff M * (Rabs value + off) in
    let up := Rabs (n / d) in
    let rounding := up * (exp (2 * unit M) * (Rabs value + error) - Rabs value) in
    let floor := exp (2 * unit M) * (up * lost + product_floor M * (Rabs value + error + lost)) + product_floor M in
    Rabs (dx - n / d * value)
    <= rounding + u_out * (Rabs (n / d * value) + rounding) + (floor * (1 + u_out) + floor_out).
  Proof using good hs some.
    intros inx elem diff quotient prod out. cbv zeta. assert (so : sound_output exact_output) by (split; simpl; lra).
    pose proof (element_absolute M exact_output good so kappa m logits s h j hs some x p inx elem) as close.
    pose proof (b15_hard_label M (coefficient logits x) p b z _ _ close diff) as apart.
    exact (b15_gradient M good n d scale _ z _ _ g u_out floor_out dx apart quotient prod out).
  Qed.
End HardLabel.
