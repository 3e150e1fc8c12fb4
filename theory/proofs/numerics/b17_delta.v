(** * B17: the products g_j = <dO, v_j> of attention's gradient, and delta = sum p g = <dO, O>.

    Main results, d a number that no dot product over d_v components exceeds in additions
    - [b17_value_product]      |g_hat - g| <= (e^((d + 1) lambda + 2 r) - 1) mu + lost, mu = sum_c |dO_c v_jc|
    - [b17_delta_saved]        delta from an O that was saved: (e^((d + 1) lambda + 2 r + lambda_O) - 1) sum |dO_c O_c| + lost
    - [b17_delta_of_products]  recomputed as sum p g: sum p mu (e^(omega_j + (h + d + 3) lambda + 2 r) - 1) + lost
    - [b17_delta_of_output]    recomputed as <dO, O>, O = sum p v recomputed: the same rounding, and lambda_O where the kernel's
                               own O is stored before delta is taken from it

    omega_j is the log error of p_j as it meets g_j or v_j (b17_coefficient and the format of the weights), r that of a number as
    it is read; E_delta is the larger of the errors by a saved O and by a recomputed delta.

    Source: docs/tolerances/attention_backward.md, "g and delta"; delta_error in numerics/rounding/rounding_attention_backward.cpp. *)

From softcheck.numerics Require Import score_error added_terms b17_sums.
Local Open Scope R_scope.

Lemma sum_swapped {A B : Type} (la : list A) (lb : list B) (f : A -> B -> R) :
  sum (map (fun a => sum (map (f a) lb)) la) = sum (map (fun b => sum (map (fun a => f a b) la)) lb).
Proof.
  induction la as [|a la IH].
  - unfold sum at 1. simpl. symmetry. induction lb as [|b lb IH']; [easy|]. unfold sum in *. simpl in *. rewrite IH'. ring.
  - change (sum (map (fun a => sum (map (f a) lb)) (a :: la))) with (sum (map (f a) lb) + sum (map (fun a => sum (map (f a) lb)) la)).
    rewrite IH, <- sum_map_plus. now apply sum_map_ext.
Qed.

Section Delta.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Context {A B : Type} (keys : list A) (components : list B) (dO : B -> R) (v : A -> B -> R) (p omega l : A -> R)
    (r : R) (d : nat) (reading : 0 <= r).

  Definition value_product (a : A) : R := sum (map (fun c => dO c * v a c) components).
  Definition value_size (a : A) : R := sum (map (fun c => Rabs (dO c * v a c)) components).
  Definition output (c : B) : R := sum (map (fun a => p a * v a c) keys).
  Definition delta : R := sum (map (fun a => p a * value_product a) keys).
  Definition products_log : R := (INR d + 1) * lambda + 2 * r.

  Lemma delta_as_output : delta = sum (map (fun c => dO c * output c) components).
  Proof using.
    unfold delta, value_product, output.
    transitivity (sum (map (fun a => sum (map (fun c => p a * (dO c * v a c)) components)) keys)).
    - apply sum_map_ext. intros a _. now rewrite sum_map_mult_l.
    - rewrite sum_swapped. apply sum_map_ext. intros c _. rewrite <- sum_map_mult_l. apply sum_map_ext. intros. ring.
  Qed.

  Lemma product_below_size a : Rabs (value_product a) <= value_size a.
  Proof using. apply sum_map_abs. Qed.

  Local Ltac facts :=
    pose proof (unit_nonneg M good) as fl; pose proof (pos_INR d) as fd;
    assert (fdl : 0 <= INR d * lambda) by (apply Rmult_le_pos; lra).

  (** A dot product whose terms err by e^(+-a), a = b + lambda. *)
  Let dot b lt (f : B -> R) z h :
    0 <= b -> 0 <= lt -> (h <= d)%nat -> added M (b + lambda) lt (map f components) z h ->
    Rabs (z - sum (map f components))
    <= (exp ((INR d + 1) * lambda + b) - 1) * sum (map (fun c => Rabs (f c)) components) + added_loss M lt h (map f components).
  Proof using good.
    intros hb hl low tree. facts. pose proof (added_error M good (b + lambda) lt _ z h ltac:(lra) hl tree) as bound.
    eapply Rle_trans; [apply bound|]. apply Rplus_le_compat_r. unfold added_rounding. rewrite magnitude_map.
    apply Rmult_le_compat_r; [apply sum_map_nonneg; intros; apply Rabs_pos|]. apply Rplus_le_compat_r, exp_le.
    assert (INR h * lambda <= INR d * lambda) by (apply Rmult_le_compat_r; [easy|now apply le_INR]). lra.
  Qed.

  Theorem b17_value_product a lt z h :
    0 <= lt -> (h <= d)%nat -> added M (2 * r + lambda) lt (map (fun c => dO c * v a c) components) z h ->
    Rabs (z - value_product a) <= (exp products_log - 1) * value_size a + added_loss M lt h (map dO components).
  Proof using good reading.
    intros hl low tree. rewrite (added_loss_of M lt h components dO (fun c => dO c * v a c)). now apply dot; try lra.
  Qed.

  Theorem b17_delta_saved lambda_O lt z h :
    0 <= lambda_O -> 0 <= lt -> (h <= d)%nat ->
    added M (2 * r + lambda_O + lambda) lt (map (fun c => dO c * output c) components) z h ->
    Rabs (z - delta) <= (exp (products_log + lambda_O) - 1) * sum (map (fun c => Rabs (dO c * output c)) components)
                        + added_loss M lt h (map dO components).
  Proof using good reading.
    intros hO hl low tree. rewrite delta_as_output, (added_loss_of M lt h components dO (fun c => dO c * output c)).
    unfold products_log. rewrite Rplus_assoc. now apply dot; try lra.
  Qed.

  (** ** Recomputed *)

  Context (height : nat) (weights : forall a, In a keys -> 0 <= p a /\ 0 <= omega a /\ 0 <= l a).
  Notation whole := ((INR height + INR d + 3) * lambda + 2 * r).
  (** stored: the log error of an O that is stored before it is read. *)
  Definition recomputed_delta_rounding (stored : R) : R :=
    sum (map (fun a => p a * value_size a * (exp (omega a + (whole + stored)) - 1)) keys).

  (** gl is what a product loses; in the sum over keys the terms are exact products of what was computed. *)
  Definition products_delta_loss (gl : R) : R :=
    exp ((INR height + 1) * lambda)
    * sum (map (fun a => p a * exp (omega a) * gl + l a * (exp products_log * value_size a + gl)) keys).

  Theorem b17_delta_of_products (p_hat g_hat : A -> R) gl lt z :
    0 <= gl -> 0 <= lt ->
    (forall a, In a keys -> approximates (omega a) (l a) (p a) (p_hat a) /\
       Rabs (g_hat a - value_product a) <= (exp products_log - 1) * value_size a + gl) ->
    added M lambda lt (map (fun a => p_hat a * g_hat a) keys) z height ->
    Rabs (z - delta) <= recomputed_delta_rounding 0 + (products_delta_loss gl + added_loss M lt height (map p keys)).
  Proof using good reading weights.
    intros hgl hlt computed tree. facts. pose proof (pos_INR height) as fh. assert (fhl : 0 <= INR height * lambda) by monotone.
    set (b := products_log). assert (b0 : 0 <= b) by (unfold b, products_log; lra).
    set (e := fun a => p a * value_size a * (exp (omega a + b) - 1)
      + (p a * exp (omega a) * gl + l a * (exp b * value_size a + gl))).
    assert (near : perturbed (map (fun a => p_hat a * g_hat a) keys) (map (fun a => p a * value_product a) keys) (map e keys)).
    { apply perturbed_map. intros a ina. destruct (weights a ina) as [hp [hw hl]].
      destruct (computed a ina) as [[t [e1 [bt [be ->]]]] close]. fold b in close. pose proof (product_below_size a) as size.
      set (g := value_product a) in *. set (mu := value_size a) in *.
      replace ((p a * exp t + e1) * g_hat a - p a * g)
        with (p a * (g * (exp t - 1) + (g_hat a - g) * exp t) + e1 * g_hat a) by ring.
      pose proof (exp_at_least_one b b0) as B1. pose proof (Rabs_pos g).
      assert (et : exp t <= exp (omega a)) by (apply exp_le; apply abs_between in bt; lra). triangle. unfold e. fold mu.
      assert (main : Rabs (p a * (g * (exp t - 1) + (g_hat a - g) * exp t))
        <= p a * (mu * (exp (omega a + b) - 1) + exp (omega a) * gl)).
      { rewrite Rabs_mult, (Rabs_right (p a)) by lra. apply Rmult_le_compat_l; [easy|]. triangle.
        rewrite !Rabs_mult, (Rabs_right (exp t)) by (left; apply exp_pos).
        assert (Rabs g * Rabs (exp t - 1) <= mu * (exp (omega a) - 1)).
        { apply Rmult_le_compat; [easy|monotone|easy|now apply expm1_abs]. }
        assert (Rabs (g_hat a - g) * exp t <= ((exp b - 1) * mu + gl) * exp (omega a)) by monotone. rewrite exp_plus. lra. }
      assert (Rabs (e1 * g_hat a) <= l a * (exp b * mu + gl)).
      { rewrite Rabs_mult. apply Rmult_le_compat; [monotone|monotone|easy|].
        replace (g_hat a) with (g + (g_hat a - g)) by ring. triangle. lra. }
      lra. }
    pose proof (perturbed_sum M good lambda lt _ _ _ z height fl hlt near tree) as bound. unfold perturbed_rounding in bound.
    rewrite magnitude_map, (added_loss_of M lt height keys _ p) in bound. fold delta in bound.
    replace (lambda + INR height * lambda) with ((INR height + 1) * lambda) in bound by ring.
    set (K := (INR height + 1) * lambda) in *. assert (K0 : 0 <= K) by (apply Rmult_le_pos; lra).
    pose proof (exp_at_least_one K K0) as K1.
    assert (same : exp K * (sum (map (fun a => Rabs (p a * value_product a)) keys) + sum (map e keys))
                   - sum (map (fun a => Rabs (p a * value_product a)) keys)
                   <= recomputed_delta_rounding 0 + products_delta_loss gl).
    { apply Rle_trans with
        (sum (map (fun a => exp K * (Rabs (p a * value_product a) + e a) - Rabs (p a * value_product a)) keys)).
      - right. rewrite sum_map_minus, sum_map_mult_l, sum_map_plus. ring.
      - unfold recomputed_delta_rounding, products_delta_loss. fold b. fold K. rewrite <- sum_map_mult_l, <- sum_map_plus.
        apply sum_map_le. intros a ina. destruct (weights a ina) as [hp [hw hl]]. unfold e.
        pose proof (product_below_size a) as size. rewrite Rabs_mult, (Rabs_right (p a)) by lra.
        set (mu := value_size a) in *. set (g := Rabs (value_product a)) in *.
        assert (p a * ((exp K - 1) * g) <= p a * ((exp K - 1) * mu)) by monotone.
        assert (p a * (mu * exp (omega a + b + K)) <= p a * (mu * exp (omega a + (whole + 0)))).
        { apply Rmult_le_compat_l; [easy|]. apply Rmult_le_compat_l; [assert (0 <= g) by apply Rabs_pos; lra|].
          apply exp_le. unfold b, products_log, K. lra. }
        rewrite (exp_plus (omega a + b)) in *. lra. }
    lra.
  Qed.

  (** O_hat as [b17_weighted_sum] has it. *)
  Definition output_rounding (c : B) : R :=
    sum (map (fun a => Rabs (v a c) * (p a * (exp (omega a + (r + (INR height + 1) * lambda)) - 1))) keys).

  (** As in [b17_delta_saved], the format in which O is stored is a part of its terms' log error. *)
  Theorem b17_delta_of_output lambda_O (O_hat ol : B -> R) lt z h :
    0 <= lambda_O -> (forall c, In c components -> 0 <= ol c) -> 0 <= lt -> (h <= d)%nat ->
    (forall c, In c components -> Rabs (O_hat c - output c) <= output_rounding c + ol c) ->
    added M (r + lambda_O + lambda) lt (map (fun c => dO c * O_hat c) components) z h ->
    Rabs (z - delta)
    <= recomputed_delta_rounding lambda_O
       + (exp ((INR d + 1) * lambda + r + lambda_O) * sum (map (fun c => Rabs (dO c) * ol c) components) + added_loss M lt h (map dO components)).
  Proof using good reading weights.
    intros hO hol hlt low computed tree. facts. pose proof (pos_INR height) as fh.
    assert (fhl : 0 <= INR height * lambda) by monotone.
    assert (near : perturbed (map (fun c => dO c * O_hat c) components) (map (fun c => dO c * output c) components)
                     (map (fun c => Rabs (dO c) * (output_rounding c + ol c)) components)).
    { apply perturbed_map. intros c inc.
      replace (dO c * O_hat c - dO c * output c) with (dO c * (O_hat c - output c)) by ring. rewrite Rabs_mult.
      apply Rmult_le_compat_l; [monotone|now apply computed]. }
    pose proof (perturbed_sum M good (r + lambda_O + lambda) lt _ _ _ z h ltac:(lra) hlt near tree) as bound.
    rewrite <- delta_as_output in bound. unfold perturbed_rounding in bound.
    rewrite magnitude_map, (added_loss_of M lt h components _ dO) in bound.
    set (k := r + lambda_O + lambda + INR h * lambda) in *. set (K := (INR d + 1) * lambda + r + lambda_O).
    assert (kK : k <= K).
    { unfold k, K. assert (INR h * lambda <= INR d * lambda) by (apply Rmult_le_compat_r; [easy|now apply le_INR]). lra. }
    assert (k0 : 0 <= k) by (unfold k; assert (0 <= INR h * lambda) by (apply Rmult_le_pos; [monotone|easy]); lra).
    pose proof (exp_at_least_one k k0) as E1. pose proof (exp_le _ _ kK) as EK.
    assert (split_sum : sum (map (fun c => Rabs (dO c) * (output_rounding c + ol c)) components)
      = sum (map (fun c => Rabs (dO c) * output_rounding c) components) + sum (map (fun c => Rabs (dO c) * ol c) components)).
    { rewrite <- sum_map_plus. apply sum_map_ext. intros. ring. }
    (* |O_c| <= sum p |v_c|: both parts as sums over the keys *)
    assert (sizes : sum (map (fun c => Rabs (dO c * output c)) components) <= sum (map (fun a => p a * value_size a) keys)).
    { apply Rle_trans with (sum (map (fun c => sum (map (fun a => p a * Rabs (dO c * v a c)) keys)) components)).
      - apply sum_map_le. intros c _. unfold output. rewrite <- sum_map_mult_l. eapply Rle_trans; [apply sum_map_abs|].
        apply sum_map_le. intros a ina. destruct (weights a ina) as [hp _]. rewrite !Rabs_mult, (Rabs_right (p a)) by lra.
        lra.
      - right. rewrite sum_swapped. apply sum_map_ext. intros a _. unfold value_size. now rewrite sum_map_mult_l. }
    assert (rounds : sum (map (fun c => Rabs (dO c) * output_rounding c) components)
                     = sum (map (fun a => p a * value_size a * (exp (omega a + (r + (INR height + 1) * lambda)) - 1)) keys)).
    { unfold output_rounding.
      transitivity (sum (map (fun c => sum (map (fun a =>
        Rabs (dO c * v a c) * (p a * (exp (omega a + (r + (INR height + 1) * lambda)) - 1))) keys)) components)).
      - apply sum_map_ext. intros c _. rewrite <- sum_map_mult_l. apply sum_map_ext. intros. rewrite Rabs_mult. ring.
      - rewrite sum_swapped. apply sum_map_ext. intros a _. rewrite sum_map_mult_r. unfold value_size. ring. }
    set (Y := sum (map (fun c => Rabs (dO c * output c)) components)) in *.
    set (N := sum (map (fun c => Rabs (dO c) * ol c) components)) in *.
    assert (N0 : 0 <= N) by (apply sum_map_nonneg; intros c inc; apply Rmult_le_pos; [monotone|now apply hol]).
    rewrite split_sum, rounds in bound.
    set (Q := sum (map (fun a => p a * value_size a * (exp (omega a + (r + (INR height + 1) * lambda)) - 1)) keys)) in *.
    assert (both : (exp k - 1) * sum (map (fun a => p a * value_size a) keys) + exp k * Q
      <= recomputed_delta_rounding lambda_O).
    { unfold Q, recomputed_delta_rounding. rewrite <- !sum_map_mult_l, <- sum_map_plus. apply sum_map_le. intros a ina.
      destruct (weights a ina) as [hp [hw _]]. assert (s0 : 0 <= p a * value_size a).
      { apply Rmult_le_pos; [easy|]. eapply Rle_trans; [apply Rabs_pos|apply product_below_size]. }
      replace ((exp k - 1) * (p a * value_size a)
        + exp k * (p a * value_size a * (exp (omega a + (r + (INR height + 1) * lambda)) - 1)))
        with (p a * value_size a * (exp (omega a + (r + (INR height + 1) * lambda)) * exp k - 1)) by ring.
      apply Rmult_le_compat_l; [easy|]. rewrite <- exp_plus. apply Rplus_le_compat_r, exp_le. unfold K in kK. lra. }
    assert (exp k * N <= exp K * N) by monotone.
    assert ((exp k - 1) * Y <= (exp k - 1) * sum (map (fun a => p a * value_size a) keys)) by monotone. lra.
  Qed.
End Delta.
