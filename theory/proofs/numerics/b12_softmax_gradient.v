(** * B12: the gradient of softmax, dx_j = y_j (g_j - M) with M = sum y g, for any y and g.

    Main results
    - [product_term]     a product y g as it enters the sum: its readings, its rounding, the format it is stored in
    - [gradient_mean]    |M_hat - M| <= (e^(a + h lambda) - 1) sum |y g| + loss, for any tree of height h
    - [b12_gradient]     |y_j (g_j - M)| as computed errs by at most
                         |y_j| ((e^(a + lambda) - 1) |g_j| + (e^b - 1) |M| + e^b E_M), a = 2 r + lambda + lambda_P,
                         b = 2 lambda + r, and what underflows; centred, y (g - M), and expanded, y g - y M
    - [b12_softmax_gradient]   the same behind the output's rounding
    - [upstream_sum]     |T_hat - T| <= (e^(r + h lambda) - 1) sum |g| + loss, for any tree of height h
    - [b13_product]      e^y T as computed errs by at most e^y (e^k (|T| + E_T) - |T|) and what underflows,
                         k = (e^q - 1) |y| + r_0 + lambda_E + lambda, q the argument's log error, r_0 what reading y loses
    - [b13_log_softmax_gradient]   the difference, in the accumulator and behind the output's rounding

    Nothing is assumed of sum y: y is what the caller saved. r is the log error of a number as it is read, lambda_P that
    of a product as it is stored.

    Source: docs/tolerances/softmax_gradient.md; SoftmaxGradientThreshold in numerics/rounding/rounding_gradient.cpp. *)

From softcheck.numerics Require Import score_error b5_logsumexp added_terms.
Local Open Scope R_scope.

(** How numbers are read and products are stored: log errors and what underflow takes. *)
Record storage := { reading_unit : R; reading_loss : R; product_unit : R; product_loss : R }.

Definition sound_storage (P : storage) : Prop :=
  0 <= reading_unit P /\ 0 <= reading_loss P /\ 0 <= product_unit P /\ 0 <= product_loss P.

Section SoftmaxGradient.
  Context (M : arithmetic) (P : storage) (good : sound M) (good_storage : sound_storage P).
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).
  Notation r := (reading_unit P).
  Notation lr := (reading_loss P).

  Definition as_read : R -> R -> Prop := approximates r lr.

  (** A product as it enters the sum, or the difference. *)
  Definition computed_term (y g p : R) : Prop :=
    exists y' g' q, as_read y y' /\ as_read g g' /\ computed_product M (y' * g') q /\
                    approximates (product_unit P) (product_loss P) q p.

  Definition term_log : R := 2 * r + lambda + product_unit P.
  (** Y and G bound |y| and |g|. *)
  Definition term_loss (Y G : R) : R := exp term_log * (lr * (Y + G + lr) + wm) + product_loss P.

  Local Ltac facts :=
    sound_facts good; destruct good_storage as [fr [flr [fp fpl]]].

  Lemma term_log_nonneg : 0 <= term_log.
  Proof using good good_storage. facts. unfold term_log. lra. Qed.

  Lemma term_loss_nonneg Y G : 0 <= Y -> 0 <= G -> 0 <= term_loss Y G.
  Proof using good good_storage.
    intros. facts. unfold term_loss. pose proof (exp_pos term_log). assert (0 <= lr * (Y + G + lr)) by monotone.
    assert (0 <= exp term_log * (lr * (Y + G + lr) + wm)) by monotone. lra.
  Qed.

  Theorem product_term Y G y g p :
    Rabs y <= Y -> Rabs g <= G -> computed_term y g p -> approximates term_log (term_loss Y G) (y * g) p.
  Proof using good good_storage.
    intros hy hg [y' [g'
      [q [[t1 [e1 [b1 [c1 ->]]]] [[t2 [e2 [b2 [c2 ->]]]] [[t3 [e3 [b3 [c3 ->]]]] [t4 [e4 [b4 [c4 ->]]]]]]]]]].
    facts. pose proof (Rabs_pos y) as py. pose proof (Rabs_pos g) as pg. apply abs_between in b1.
    apply abs_between in b2. apply abs_between in b3. apply abs_between in b4.
    exists (t1 + t2 + t3 + t4), (y * e2 * exp (t1 + t3 + t4) + g * e1 * exp (t2 + t3 + t4) + e1 * e2 * exp (t3 + t4)
                                 + e3 * exp t4 + e4).
    repeat split.
    - unfold term_log. apply Rabs_le. lra.
    - set (E := exp term_log).
      assert (up : forall x, x <= term_log -> 0 <= exp x <= E)
        by (intros x le; split; [left; apply exp_pos|now apply exp_le]).
      pose proof (up (t1 + t3 + t4) ltac:(unfold term_log; lra)) as u1.
      pose proof (up (t2 + t3 + t4) ltac:(unfold term_log; lra)) as u2.
      pose proof (up (t3 + t4) ltac:(unfold term_log; lra)) as u3. pose proof (up t4 ltac:(unfold term_log; lra)) as u4.
      assert (wide : forall x X c, 0 <= X -> Rabs x <= X -> 0 <= c <= E -> Rabs (x * c) <= X * E).
      { intros x X c hX hx hc. rewrite Rabs_mult, (Rabs_right c) by lra. monotone. }
      assert (p1 : Rabs (y * e2) <= Y * lr) by monotone. assert (p2 : Rabs (g * e1) <= G * lr) by monotone.
      assert (p3 : Rabs (e1 * e2) <= lr * lr) by monotone. assert (q1 : 0 <= Y * lr) by monotone.
      assert (q2 : 0 <= G * lr) by monotone. assert (q3 : 0 <= lr * lr) by monotone. pose proof (wide _ _ _ q1 p1 u1).
      pose proof (wide _ _ _ q2 p2 u2). pose proof (wide _ _ _ q3 p3 u3). pose proof (wide _ _ _ (proj1 fm) c3 u4).
      unfold term_loss. fold E. triangle. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
      eapply Rle_trans; [apply Rplus_le_compat_r, Rplus_le_compat_r, Rabs_triang|].
      eapply Rle_trans; [apply Rplus_le_compat_r, Rplus_le_compat_r, Rplus_le_compat_r, Rabs_triang|]. lra.
    - rewrite !exp_plus. ring.
  Qed.

  Definition products (row : list (R * R)) : list R := map (fun q => fst q * snd q) row.

  (** ** M, from any tree over the products *)

  Context (Y G : R) (row : list (R * R)) (m_hat : R) (h : nat) (hY : 0 <= Y) (hG : 0 <= G)
    (tree : added M term_log (term_loss Y G) (products row) m_hat h).
  Notation mean := (sum (products row)).

  Definition mean_rounding : R := added_rounding M term_log h (products row).
  Definition mean_loss : R := added_loss M (term_loss Y G) h (products row).

  Theorem gradient_mean : Rabs (m_hat - mean) <= mean_rounding + mean_loss.
  Proof using good good_storage hY hG tree.
    apply (added_error M good); [apply term_log_nonneg|now apply term_loss_nonneg|easy].
  Qed.

  (** ** One element, in either form *)

  Inductive computed_gradient (y g : R) : R -> Prop :=
  | gradient_centred y' g' d z :
      as_read y y' -> as_read g g' -> computed_sum M (g' - m_hat) d -> computed_product M (y' * d) z ->
      computed_gradient y g z
  | gradient_expanded y' p q z :
      as_read y y' -> computed_term y g p -> computed_product M (y' * m_hat) q -> computed_sum M (p - q) z ->
      computed_gradient y g z.

  Definition difference_log : R := 2 * lambda + r.
  Definition gradient_rounding (y g : R) : R :=
    Rabs y * ((exp (term_log + lambda) - 1) * Rabs g + (exp difference_log - 1) * Rabs mean
              + exp difference_log * mean_rounding).
  Definition gradient_loss (y g : R) : R :=
    Rabs y * (exp difference_log * mean_loss)
    + exp (difference_log + r) * ((Rabs y + lr) * (lr + wa) + lr * (Rabs g + Rabs mean + mean_rounding + mean_loss) + wm)
    + exp lambda * term_loss Y G + wa.

  Lemma gradient_main y g s1 s2 :
    Rabs s1 <= term_log + lambda -> Rabs s2 <= difference_log ->
    Rabs (y * (g * exp s1 - m_hat * exp s2) - y * (g - mean))
    <= gradient_rounding y g + Rabs y * (exp difference_log * mean_loss).
  Proof using good good_storage hY hG tree.
    intros b1 b2. pose proof gradient_mean as close. pose proof (expm1_abs s1 _ b1) as m1.
    pose proof (expm1_abs s2 _ b2) as m2.
    assert (up : exp s2 <= exp difference_log) by (apply exp_le; apply abs_between in b2; lra).
    replace (y * (g * exp s1 - m_hat * exp s2) - y * (g - mean))
      with (y * (g * (exp s1 - 1) - mean * (exp s2 - 1) - (m_hat - mean) * exp s2)) by ring.
    rewrite Rabs_mult. unfold gradient_rounding. rewrite <- Rmult_plus_distr_l. apply Rmult_le_compat_l; [monotone|].
    unfold Rminus at 1. unfold Rminus at 1. triangle. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
    rewrite !Rabs_Ropp, !Rabs_mult, (Rabs_right (exp s2)) by (left; apply exp_pos).
    assert (Rabs g * Rabs (exp s1 - 1) <= (exp (term_log + lambda) - 1) * Rabs g)
      by (rewrite Rmult_comm; apply Rmult_le_compat_r; [apply Rabs_pos|easy]).
    assert (Rabs mean * Rabs (exp s2 - 1) <= (exp difference_log - 1) * Rabs mean)
      by (rewrite Rmult_comm; apply Rmult_le_compat_r; [apply Rabs_pos|easy]).
    assert (Rabs (m_hat - mean) * exp s2 <= (mean_rounding + mean_loss) * exp difference_log) by monotone. lra.
  Qed.

  Theorem b12_gradient y g z :
    Rabs y <= Y -> Rabs g <= G -> computed_gradient y g z ->
    Rabs (z - y * (g - mean)) <= gradient_rounding y g + gradient_loss y g.
  Proof using good good_storage hY hG tree.
    intros hy hg form. facts. pose proof gradient_mean as close. pose proof (term_loss_nonneg Y G hY hG) as ftl.
    pose proof term_log_nonneg as ftg. pose proof (added_nonneg M good _ _ _ _ _ ftg ftl tree) as [fmr fml].
    fold mean_rounding in fmr. fold mean_loss in fml. set (B := Rabs mean + mean_rounding + mean_loss).
    assert (size_hat : Rabs m_hat <= B).
    { unfold B. replace m_hat with (mean + (m_hat - mean)) by ring. pose proof (Rabs_triang mean (m_hat - mean)). lra. }
    pose proof (Rabs_pos mean). assert (hB : 0 <= B) by (unfold B; lra). pose proof (Rabs_pos y) as py.
    pose proof (Rabs_pos g) as pg. set (C := exp (difference_log + r)).
    assert (C1 : 1 <= C) by (apply exp_at_least_one; unfold difference_log; lra).
    assert (up : forall x, x <= difference_log + r -> 0 <= exp x <= C)
      by (intros x le; split; [left; apply exp_pos|now apply exp_le]).
    assert (wide : forall x X c, 0 <= X -> Rabs x <= X -> 0 <= c <= C -> Rabs (x * c) <= X * C).
    { intros x X c hX hx hc. rewrite Rabs_mult, (Rabs_right c) by lra. monotone. }
    assert (many : forall x X e E, Rabs x <= X -> Rabs e <= E -> Rabs (x * e) <= X * E).
    { intros x X e E hx he. monotone. } assert (lrB : 0 <= lr * B) by monotone.
    assert (lrg : 0 <= lr * Rabs g) by monotone. assert (lrlr : 0 <= lr * lr) by monotone.
    assert (lra' : 0 <= lr * wa) by monotone. assert (ylr : 0 <= Rabs y * lr) by monotone.
    assert (ywa : 0 <= Rabs y * wa) by monotone. unfold gradient_loss. fold B. fold C.
    destruct form as [y' g' d z [t1 [e1 [b1 [c1 ->]]]] [t2 [e2 [b2 [c2 ->]]]] [t3 [e3 [b3 [c3 ->]]]] [t4 [e4 [b4 [c4 ->]]]]
                     |y' p q z [t1 [e1 [b1 [c1 ->]]]] term [t2 [e2 [b2 [c2 ->]]]] [t3 [e3 [b3 [c3 ->]]]]].
    - pose proof (gradient_main y g (t1 + t2 + t3 + t4) (t1 + t3 + t4)) as main. apply abs_between in b1.
      apply abs_between in b2. apply abs_between in b3. apply abs_between in b4.
      specialize (main ltac:(unfold term_log; apply Rabs_le; lra) ltac:(unfold difference_log; apply Rabs_le; lra)).
      assert (split_z : (y * exp t1 + e1) * ((g * exp t2 + e2 - m_hat) * exp t3 + e3) * exp t4 + e4 - y * (g - mean)
        = (y * (g * exp (t1 + t2 + t3 + t4) - m_hat * exp (t1 + t3 + t4)) - y * (g - mean))
          + (y * e2 * exp (t1 + t3 + t4) + y * e3 * exp (t1 + t4) + e1 * g * exp (t2 + t3 + t4) + e1 * e2 * exp (t3 + t4)
             + - (e1 * m_hat * exp (t3 + t4)) + e1 * e3 * exp t4 + e4)).
      { rewrite !exp_plus. ring. } rewrite split_z. triangle.
      pose proof (wide _ _ _ ylr (many y (Rabs y) e2 lr (Rle_refl _) c2)
        (up (t1 + t3 + t4) ltac:(unfold difference_log; lra))).
      pose proof (wide _ _ _ ywa (many y (Rabs y) e3 wa (Rle_refl _) c3)
        (up (t1 + t4) ltac:(unfold difference_log; lra))).
      pose proof (wide _ _ _ lrg (many e1 lr g (Rabs g) c1 (Rle_refl _))
        (up (t2 + t3 + t4) ltac:(unfold difference_log; lra))).
      pose proof (wide _ _ _ lrlr (many e1 lr e2 lr c1 c2) (up (t3 + t4) ltac:(unfold difference_log; lra))).
      pose proof (wide _ _ _ lrB (many e1 lr m_hat B c1 size_hat) (up (t3 + t4) ltac:(unfold difference_log; lra))).
      pose proof (wide _ _ _ lra' (many e1 lr e3 wa c1 c3) (up t4 ltac:(unfold difference_log; lra))).
      assert (wm <= C * wm) by (rewrite <- (Rmult_1_l wm) at 1; apply Rmult_le_compat_r; lra).
      assert (0 <= exp lambda * term_loss Y G) by monotone. eapply Rle_trans; [apply Rplus_le_compat; [apply main|]|].
      + triangle. apply Rplus_le_compat; [|apply c4].
        do 5 (eapply Rle_trans; [apply Rabs_triang|]; apply Rplus_le_compat;
          [|eassumption || (rewrite Rabs_Ropp; eassumption)]).
        eassumption.
      + fold C. unfold B in *. lra.
    - destruct (product_term Y G y g p hy hg term) as [t [e [bt [be ->]]]].
      pose proof (gradient_main y g (t + t3) (t1 + t2 + t3)) as main. apply abs_between in b1. apply abs_between in b2.
      apply abs_between in b3. apply abs_between in bt.
      specialize (main ltac:(apply Rabs_le; lra) ltac:(unfold difference_log; apply Rabs_le; lra)).
      assert (split_z : (y * g * exp t + e - ((y * exp t1 + e1) * m_hat * exp t2 + e2)) * exp t3 + e3 - y * (g - mean)
        = (y * (g * exp (t + t3) - m_hat * exp (t1 + t2 + t3)) - y * (g - mean))
          + (e * exp t3 + - (e1 * m_hat * exp (t2 + t3)) + - (e2 * exp t3) + e3)).
      { rewrite !exp_plus. ring. } rewrite split_z. triangle.
      pose proof (wide _ _ _ lrB (many e1 lr m_hat B c1 size_hat) (up (t2 + t3) ltac:(unfold difference_log; lra))).
      pose proof (wide e2 wm (exp t3) (proj1 fm) c2 (up t3 ltac:(unfold difference_log; lra))).
      assert (Rabs (e * exp t3) <= exp lambda * term_loss Y G).
      { rewrite Rabs_mult, (Rabs_right (exp t3)), Rmult_comm by (left; apply exp_pos). monotone. }
      assert (0 <= C * ((Rabs y + lr) * (lr + wa) + lr * Rabs g)) by monotone.
      eapply Rle_trans; [apply Rplus_le_compat; [apply main|]|].
      + triangle. apply Rplus_le_compat; [|apply c3]. triangle.
        apply Rplus_le_compat; [|rewrite Rabs_Ropp; eassumption]. triangle.
        apply Rplus_le_compat; [eassumption|rewrite Rabs_Ropp; eassumption].
      + fold C. unfold B in *. lra.
  Qed.

  Theorem b12_softmax_gradient y g z u_out floor_out dx :
    Rabs y <= Y -> Rabs g <= G -> computed_gradient y g z -> rounded_output u_out floor_out z dx ->
    Rabs (dx - y * (g - mean))
    <= gradient_rounding y g + u_out * (Rabs (y * (g - mean)) + gradient_rounding y g)
       + (gradient_loss y g * (1 + u_out) + floor_out).
  Proof using good good_storage hY hG tree.
    intros hy hg form [d [e [bd [be ->]]]]. apply rounded_error; try easy. now apply b12_gradient.
  Qed.
End SoftmaxGradient.

(** ** B13: the gradient of log-softmax, dx_j = g_j - e^(y_j) T with T = sum g, for any y and g.

    Source: docs/tolerances/softmax_gradient.md; LogSoftmaxGradientThreshold in numerics/rounding/rounding_gradient.cpp. *)

Section LogSoftmaxGradient.
  Context (M : arithmetic) (P : storage) (q : R) (good : sound M) (good_storage : sound_storage P) (hq : 0 <= q).
  Notation lambda := (unit M).
  Notation lambdaE := (exp_unit M).
  Notation u := (roundoff M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).
  Notation wx := (exp_floor M).
  Notation r := (reading_unit P).
  Notation lr := (reading_loss P).
  Context (upstream : list R) (t_hat : R) (h : nat) (tree : added M r lr upstream t_hat h).
  Notation total := (sum upstream).

  Definition total_rounding : R := added_rounding M r h upstream.
  Definition total_loss : R := added_loss M lr h upstream.

  Theorem upstream_sum : Rabs (t_hat - total) <= total_rounding + total_loss.
  Proof using good good_storage tree. apply (added_error M good); try easy; apply good_storage. Qed.

  (** e^y, its argument -b off by the factor e^q and what its reading loses; and its product with the sum. *)
  Definition computed_power (y f : R) : Prop := exists b, approximates q lr y (- b) /\ computed_exp M b f.

  Definition power_log (y : R) : R := (exp q - 1) * Rabs y + lr + lambdaE + lambda.
  Definition product_rounding (y : R) : R := exp y * (exp (power_log y) * (Rabs total + total_rounding) - Rabs total).
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
    fold total_rounding in ft. fold total_loss in fl'. rewrite arg. set (E := total_rounding + total_loss) in *.
    set (w := y * exp s + c - y + t + t1). assert (bw : Rabs w <= power_log y).
    { unfold w, power_log. replace (y * exp s + c - y + t + t1) with (y * (exp s - 1) + c + t + t1) by ring.
      do 3 (eapply Rle_trans; [apply Rabs_triang|]; apply Rplus_le_compat; [|easy]). rewrite Rabs_mult, Rmult_comm.
      apply Rmult_le_compat_r; [monotone|]. now apply expm1_abs. }
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
    triangle.
    apply Rle_trans with (exp y * (E * exp (power_log y) + Rabs total * (exp (power_log y) - 1))
                          + (wx * exp lambda * (Rabs total + E) + wm)).
    - apply Rplus_le_compat.
      + rewrite Rabs_mult, (Rabs_right (exp y)) by lra. apply Rmult_le_compat_l; [lra|]. triangle.
        rewrite !Rabs_mult, (Rabs_right (exp w)) by lra.
        apply Rplus_le_compat; [apply Rmult_le_compat; try lra; apply Rabs_pos|]. monotone.
      + triangle. apply Rplus_le_compat; [|easy]. rewrite !Rabs_mult, (Rabs_right (exp t1)) by lra.
        apply Rmult_le_compat; [|monotone| |easy].
        * monotone.
        * apply Rmult_le_compat; try lra. monotone.
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
    pose proof (b13_product y f p power prod) as close. apply rounded_error; try easy. apply rounded_error; try easy.
    replace (g * exp s + c - p - (g - exp y * total)) with (g * (exp s - 1) + c + - (p - exp y * total)) by ring.
    triangle. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|]. rewrite Rabs_Ropp, Rabs_mult.
    unfold log_gradient_first. pose proof (expm1_abs s r bs) as grows.
    assert (Rabs g * Rabs (exp s - 1) <= (exp r - 1) * Rabs g)
      by (rewrite Rmult_comm; apply Rmult_le_compat_r; [apply Rabs_pos|easy]).
    lra.
  Qed.
End LogSoftmaxGradient.
