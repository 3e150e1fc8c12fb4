(** * B13: the gradient of log-softmax, dx_j = g_j - e^(y_j) T with T = sum g, for any y and g.

    Main results
    - [upstream_sum]     |T_hat - T| <= (e^(r + h lambda) - 1) sum |g| + loss, for any tree of height h
    - [b13_product]      e^y T as computed errs by at most e^y (e^k (|T| + E_T) - |T|) and what underflows,
                         k = (e^q - 1) |y| + r_0 + lambda_E + lambda, q the argument's log error, r_0 what reading y loses
    - [b13_log_softmax_gradient]   the difference, in the accumulator and behind the output's rounding

    Source: docs/tolerances/softmax_gradient.md; LogSoftmaxGradientThreshold in numerics/rounding/rounding_gradient.cpp. *)

From softcheck.numerics Require Import score_error b5_logsumexp added_terms b12_softmax_gradient.
Local Open Scope R_scope.

Section LogSoftmaxGradient.
  Context (M : arithmetic) (P : storage) (q : R).
  Hypothesis good : sound M.
  Hypothesis good_storage : sound_storage P.
  Hypothesis hq : 0 <= q.
  Notation lambda := (unit M).
  Notation lambdaE := (exp_unit M).
  Notation u := (roundoff M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).
  Notation wx := (exp_floor M).
  Notation r := (reading_unit P).
  Notation lr := (reading_loss P).
  Context (upstream : list R) (t_hat : R) (h : nat).
  Hypothesis tree : added M r lr upstream t_hat h.
  Notation total := (sum upstream).

  Definition total_rounding : R := added_rounding M r h upstream.
  Definition total_loss : R := added_loss M lr h upstream.

  Theorem upstream_sum : Rabs (t_hat - total) <= total_rounding + total_loss.
  Proof using good good_storage tree. apply (added_error M good); try easy; apply good_storage. Qed.

  (** e^y, its argument -b off by the factor e^q and what its reading loses; and its product with the sum. *)
  Definition computed_power (y f : R) : Prop :=
    exists b, approximates q lr y (- b) /\ computed_exp M b f.

  Definition power_log (y : R) : R := (exp q - 1) * Rabs y + lr + lambdaE + lambda.
  Definition product_rounding (y : R) : R :=
    exp y * (exp (power_log y) * (Rabs total + total_rounding) - Rabs total).
  Definition product_lost (y : R) : R :=
    exp y * exp (power_log y) * total_loss + wx * exp lambda * (Rabs total + total_rounding + total_loss) + wm.

  Theorem b13_product y f p :
    computed_power y f -> computed_product M (f * t_hat) p ->
    Rabs (p - exp y * total) <= product_rounding y + product_lost y.
  Proof using good good_storage hq tree.
    intros [b [[s [c [bs [bc arg]]]] [t [e [bt [be [_ [_ ->]]]]]]]] [t1 [e1 [b1 [c1 ->]]]].
    pose proof (unit_nonneg M good) as fl. pose proof (exp_unit_nonneg M good) as fE.
    destruct good_storage as [fr [flr _]]. assert (fx : 0 <= wx) by (unfold sound in good; lra).
    pose proof upstream_sum as close. destruct (added_nonneg M good _ _ _ _ _ fr flr tree) as [ft fl'].
    fold total_rounding in ft. fold total_loss in fl'.
    rewrite arg. set (E := total_rounding + total_loss) in *.
    set (w := y * exp s + c - y + t + t1).
    assert (bw : Rabs w <= power_log y).
    { unfold w, power_log. replace (y * exp s + c - y + t + t1) with (y * (exp s - 1) + c + t + t1) by ring.
      do 3 (eapply Rle_trans; [apply Rabs_triang|]; apply Rplus_le_compat; [|easy]).
      rewrite Rabs_mult, Rmult_comm. apply Rmult_le_compat_r; [apply Rabs_pos|]. now apply expm1_abs. }
    replace ((exp (y * exp s + c + t) + e) * t_hat * exp t1 + e1 - exp y * total)
      with (exp y * ((t_hat - total) * exp w + total * (exp w - 1)) + (e * exp t1 * t_hat + e1)).
    2:{ unfold w. replace (y * exp s + c - y + t + t1) with ((y * exp s + c + t) + t1 + - y) by ring.
        rewrite (exp_plus _ (- y)), (exp_plus _ t1), exp_Ropp. field. apply Rgt_not_eq, exp_pos. }
    pose proof (expm1_abs w _ bw) as grows.
    assert (up : exp w <= exp (power_log y)) by (apply exp_le; apply abs_between in bw; lra).
    assert (up1 : exp t1 <= exp lambda) by (apply exp_le; apply abs_between in b1; lra).
    assert (size_hat : Rabs t_hat <= Rabs total + E).
    { replace t_hat with (total + (t_hat - total)) by ring. pose proof (Rabs_triang total (t_hat - total)). lra. }
    pose proof (exp_pos y) as py. pose proof (exp_pos w). pose proof (exp_pos t1). pose proof (Rabs_pos total).
    eapply Rle_trans; [apply Rabs_triang|].
    apply Rle_trans with (exp y * (E * exp (power_log y) + Rabs total * (exp (power_log y) - 1))
                          + (wx * exp lambda * (Rabs total + E) + wm)).
    - apply Rplus_le_compat.
      + rewrite Rabs_mult, (Rabs_right (exp y)) by lra. apply Rmult_le_compat_l; [lra|].
        eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult, (Rabs_right (exp w)) by lra.
        apply Rplus_le_compat; [apply Rmult_le_compat; try lra; apply Rabs_pos|].
        apply Rmult_le_compat_l; [apply Rabs_pos|easy].
      + eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [|easy].
        rewrite !Rabs_mult, (Rabs_right (exp t1)) by lra.
        apply Rmult_le_compat; [|apply Rabs_pos| |easy].
        * apply Rmult_le_pos; [apply Rabs_pos|lra].
        * apply Rmult_le_compat; try lra. apply Rabs_pos.
    - right. unfold product_rounding, product_lost, E. ring.
  Qed.

  Definition log_gradient_first (y g : R) : R := (exp r - 1) * Rabs g + product_rounding y.
  Definition log_gradient_second (y g : R) : R :=
    log_gradient_first y g + u * (Rabs (g - exp y * total) + log_gradient_first y g).
  Definition log_gradient_loss (y : R) : R := (lr + product_lost y) * (1 + u) + wa.

  Theorem b13_log_softmax_gradient y g g' f p z u_out floor_out dx :
    approximates r lr g g' -> computed_power y f -> computed_product M (f * t_hat) p -> rounded_sum M (g' - p) z ->
    rounded_output u_out floor_out z dx ->
    Rabs (dx - (g - exp y * total))
    <= log_gradient_second y g + u_out * (Rabs (g - exp y * total) + log_gradient_second y g)
       + (log_gradient_loss y * (1 + u_out) + floor_out).
  Proof using good good_storage hq tree.
    intros [s [c [bs [bc ->]]]] power prod [d1 [e1 [bd1 [be1 ->]]]] [d2 [e2 [bd2 [be2 ->]]]].
    pose proof (b13_product y f p power prod) as close.
    apply rounded_error; try easy. apply rounded_error; try easy.
    replace (g * exp s + c - p - (g - exp y * total)) with (g * (exp s - 1) + c + - (p - exp y * total)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
    rewrite Rabs_Ropp, Rabs_mult. unfold log_gradient_first. pose proof (expm1_abs s r bs) as grows.
    assert (Rabs g * Rabs (exp s - 1) <= (exp r - 1) * Rabs g)
      by (rewrite Rmult_comm; apply Rmult_le_compat_r; [apply Rabs_pos|easy]). lra.
  Qed.
End LogSoftmaxGradient.
