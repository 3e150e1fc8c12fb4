(** * B9: the error of one score, scale times a dot product.

    Main results
    - [dot_product_error]   products within e^a and l, added by any tree of height h: |y - sum x| <= (e^(a + h lambda) - 1)
                            sum |x| + e^(h lambda) (d l + (d - 1) omega_a)
    - [score_error]         scaled behind the sum, h <= d - 1 and r roundings of a query and a key as they are read:
                            |score - scale sum x| <= |scale| ((e^((d + 2 + r) lambda) - 1) sum |x| + e^((d + 2 + r) lambda)
                            d (omega_m + omega_a)) + omega_m

    Source: docs/tolerances.md, B9, "Scores"; score_error in numerics/rounding/rounding_attention.cpp. The sum's order is free. A scale
    that enters with the query costs no more roundings; a query times the scale must then be a normal number. *)

From softcheck Require Export softmax.
From softcheck.floating_point Require Export relative_error standard_model.
Local Open Scope R_scope.

(** x_t = q_t k_t exactly; a product as computed errs by a factor within e^a and by at most l. *)
Inductive dotted (M : arithmetic) (a l : R) : list R -> R -> nat -> Prop :=
| dotted_product x t e y : Rabs t <= a -> Rabs e <= l -> y = x * exp t + e -> dotted M a l [x] y 0
| dotted_addition l1 l2 y1 y2 y h1 h2 :
    dotted M a l l1 y1 h1 -> dotted M a l l2 y2 h2 -> computed_sum M (y1 + y2) y ->
    dotted M a l (l1 ++ l2) y (S (max h1 h2)).

Definition magnitude (l : list R) : R := sum (map Rabs l).

Section Score.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).

  (** A rounding by e^t of what is within (E - 1) A + G of z, |z| <= A. *)
  Lemma rounded_once z y A E G t e b w :
    Rabs z <= A -> Rabs (y - z) <= (E - 1) * A + G -> Rabs t <= b -> Rabs e <= w -> 1 <= E -> 0 <= G ->
    Rabs (y * exp t + e - z) <= (E * exp b - 1) * A + (G * exp b + w).
  Proof.
    intros hz close bt be hE hG. replace (y * exp t + e - z) with ((y - z) * exp t + z * (exp t - 1) + e) by ring.
    triangle. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
    rewrite !Rabs_mult, (Rabs_right (exp t)) by (left; apply exp_pos). pose proof (expm1_abs t b bt) as grows.
    pose proof (Rabs_pos z). pose proof (Rabs_pos (exp t - 1)).
    assert (exp t <= exp b) by (apply exp_le; apply abs_between in bt; lra). pose proof (exp_pos t).
    assert (Rabs (y - z) * exp t <= ((E - 1) * A + G) * exp b) by monotone.
    assert (Rabs z * Rabs (exp t - 1) <= A * (exp b - 1)) by monotone. lra.
  Qed.

  Lemma magnitude_app l1 l2 : magnitude (l1 ++ l2) = magnitude l1 + magnitude l2.
  Proof. unfold magnitude. now rewrite map_app, sum_app. Qed.

  Lemma sum_below_magnitude l : Rabs (sum l) <= magnitude l.
  Proof.
    unfold magnitude. induction l as [|x l IH]; unfold sum in *; simpl; [rewrite Rabs_R0; lra|]. triangle. lra.
  Qed.

  Theorem dot_product_error a l xs y h :
    0 <= a -> 0 <= l -> dotted M a l xs y h ->
    Rabs (y - sum xs) <= (exp (a + INR h * lambda) - 1) * magnitude xs
                         + exp (INR h * lambda) * (size xs * l + (size xs - 1) * wa) /\ 1 <= size xs.
  Proof.
    intros ha hl. assert (lam : 0 <= lambda) by now apply unit_nonneg.
    assert (hwa : 0 <= wa) by (unfold sound in good; lra).
    induction 1 as [x t e y bt be ->|l1 l2 y1 y2 y h1 h2 _ [IH1 n1] _ [IH2 n2] [t [e [bt [be ->]]]]].
    - split; [|unfold size; simpl; lra]. unfold magnitude, size, sum. simpl.
      rewrite !Rplus_0_r, Rmult_0_l, exp_0, Rplus_0_r. pose proof (rounded_once x x (Rabs x) 1 0 t e a l) as once.
      rewrite Rminus_diag_eq, Rabs_R0 in once by easy.
      specialize (once (Rle_refl _) ltac:(lra) bt be (Rle_refl 1) (Rle_refl 0)). lra.
    - unfold size in *. rewrite app_length, plus_INR in *. split; [|lra]. rewrite magnitude_app, sum_app, S_INR.
      set (H := INR (max h1 h2)). assert (H1 : INR h1 <= H) by (apply le_INR; lia).
      assert (H2 : INR h2 <= H) by (apply le_INR; lia). set (E := exp (a + H * lambda)). set (X := exp (H * lambda)).
      assert (wide : forall h m g, INR h <= H -> 0 <= m -> 0 <= g ->
                (exp (a + INR h * lambda) - 1) * m + exp (INR h * lambda) * g <= (E - 1) * m + X * g).
      { intros h' m g le hm hg. assert (INR h' * lambda <= H * lambda) by monotone.
        apply Rplus_le_compat; apply Rmult_le_compat_r; try easy; [apply Rplus_le_compat_r|]; apply exp_le; lra. }
      assert (m1 : 0 <= magnitude l1) by (apply sum_map_nonneg; intros; apply Rabs_pos).
      assert (m2 : 0 <= magnitude l2) by (apply sum_map_nonneg; intros; apply Rabs_pos).
      assert (g1 : 0 <= INR (length l1) * l + (INR (length l1) - 1) * wa) by monotone.
      assert (g2 : 0 <= INR (length l2) * l + (INR (length l2) - 1) * wa) by monotone.
      pose proof (wide h1 _ _ H1 m1 g1). pose proof (wide h2 _ _ H2 m2 g2). assert (hH : 0 <= H) by monotone.
      assert (0 <= H * lambda) by monotone. assert (1 <= E) by (apply exp_at_least_one; lra).
      assert (1 <= X) by now apply exp_at_least_one. set (G1 := INR (length l1) * l + (INR (length l1) - 1) * wa) in *.
      set (G2 := INR (length l2) * l + (INR (length l2) - 1) * wa) in *.
      pose proof (rounded_once (sum l1 + sum l2) (y1 + y2) (magnitude l1 + magnitude l2) E (X * (G1 + G2)) t e lambda
        wa) as once.
      assert (grow : exp (a + (H + 1) * lambda) = E * exp lambda) by (unfold E; rewrite <- exp_plus; f_equal; ring).
      assert (growX : exp ((H + 1) * lambda) = X * exp lambda) by (unfold X; rewrite <- exp_plus; f_equal; ring).
      rewrite grow, growX. eapply Rle_trans; [apply once; try easy|].
      + triangle. pose proof (sum_below_magnitude l1). pose proof (sum_below_magnitude l2). lra.
      + replace (y1 + y2 - (sum l1 + sum l2)) with ((y1 - sum l1) + (y2 - sum l2)) by ring. triangle. lra.
      + monotone.
      + assert (1 <= X * exp lambda) by (apply one_le_product; [easy|now apply exp_at_least_one]).
        assert (1 * wa <= X * exp lambda * wa) by monotone. unfold G1, G2 in *. lra.
  Qed.

  Theorem score_error r scale t xs y h score :
    dotted M ((1 + INR r) * lambda) wm xs y h -> (h <= length xs - 1)%nat -> Rabs t <= lambda ->
    computed_product M (y * (scale * exp t)) score ->
    let k := (size xs + 2 + INR r) * lambda in
    Rabs (score - scale * sum xs)
    <= Rabs scale * ((exp k - 1) * magnitude xs + exp k * (size xs * (wm + wa))) + wm.
  Proof.
    intros dot low bt [t1 [e1 [bt1 [be1 ->]]]] k. assert (lam : 0 <= lambda) by now apply unit_nonneg.
    assert (hwa : 0 <= wa) by (unfold sound in good; lra). assert (hwm : 0 <= wm) by (unfold sound in good; lra).
    pose proof (pos_INR r). assert (ha : 0 <= (1 + INR r) * lambda) by monotone.
    destruct (dot_product_error _ _ _ _ _ ha hwm dot) as [close n1].
    assert (m0 : 0 <= magnitude xs) by (apply sum_map_nonneg; intros; apply Rabs_pos). set (N := INR h) in *.
    assert (hH : 0 <= N * lambda) by monotone. assert (higher : N <= size xs - 1).
    { unfold N, size in *. apply le_INR in low. rewrite minus_INR in low; [simpl in low; lra|]. apply INR_le. simpl.
      lra. }
    set (E := exp ((1 + INR r) * lambda + N * lambda)) in *. set (X := exp (N * lambda)) in *.
    set (G := size xs * wm + (size xs - 1) * wa) in *. assert (hG : 0 <= G).
    { unfold G. assert (0 <= size xs * wm) by monotone. assert (0 <= (size xs - 1) * wa) by monotone. lra. }
    assert (E1 : 1 <= E) by (apply exp_at_least_one; lra). assert (X1 : 1 <= X) by now apply exp_at_least_one.
    assert (twice : Rabs (t + t1) <= 2 * lambda). { pose proof (Rabs_triang t t1). lra. }
    pose proof (rounded_once (sum xs) y (magnitude xs) E (X * G) (t + t1) 0 (2 * lambda) 0
                  (sum_below_magnitude xs) close twice ltac:(rewrite Rabs_R0; lra) E1 ltac:(apply Rmult_le_pos; lra)) as once.
    replace (y * (scale * exp t) * exp t1 + e1 - scale * sum xs)
      with (scale * (y * exp (t + t1) + 0 - sum xs) + e1) by (rewrite exp_plus; ring).
    triangle. rewrite Rabs_mult. apply Rplus_le_compat; [|easy]. apply Rmult_le_compat_l; [monotone|].
    eapply Rle_trans; [apply once|]. assert (eE : E * exp (2 * lambda) <= exp k).
    { unfold E, k. rewrite <- exp_plus. apply exp_le. assert (N * lambda <= (size xs - 1) * lambda) by monotone. lra. }
    assert (eX : X * exp (2 * lambda) <= exp k).
    { unfold X, k. rewrite <- exp_plus. apply exp_le. assert (N * lambda <= (size xs - 1) * lambda) by monotone. lra. }
    assert ((E * exp (2 * lambda) - 1) * magnitude xs <= (exp k - 1) * magnitude xs) by monotone.
    assert (X * exp (2 * lambda) * G <= exp k * (size xs * (wm + wa))).
    { apply Rmult_le_compat; try easy; [|unfold G; lra]. monotone. } lra.
  Qed.
End Score.
