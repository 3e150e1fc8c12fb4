(** * B17: the sums of attention's gradient, dq = scale sum dS k, dk = scale sum dS q, dv = sum p dO.

    Main results, over any tree of height h, each term with an error of its own
    - [product_approximates]    a product of two factors that err: their log errors and a rounding
    - [b17_weighted_sum]        sum p x, p within e^(+-omega_j) and l_j: |y - sum p x| <= sum |x| p (e^(omega_j + (h + 1) lambda + r) - 1)
                                + what is lost
    - [b17_value_gradient]      dv, that behind the output's rounding; omega_j holds the format in which p meets dO
    - [b17_split_gradient_sum]  dS within eps_j, s1 s2 the scale, s1 in the terms and s2 in the sum or in the terms, with log errors
                                c1 and c2: |y - s1 s2 sum dS x| <= |s1 s2| sum |x| (e^((h + 1) lambda + c1 + c2 + r) (|dS| + eps) - |dS|)
                                + what is lost
    - [b17_split_gradient_output]   that behind the output's rounding
    - [b17_gradient_sum]        a scale that is rounded once, dS within eps_j: |y - scale sum dS x| <= |scale| sum |x| (e^((h + 3) lambda + r) (|dS| + eps) - |dS|)
                                + what is lost, whether the scale meets dS, the factor or the sum
    - [b17_score_gradient_sum]  dq and dk, that behind the output's rounding
    - [b17_root_term]     dS x', x' = x root in the inputs' format: root dS x within e^(+-(2 lambda + lambda_R + lambda_in + r)) and
                          e^(that) |dS| (|root| l_x + omega_m + floor_in) + omega_m
    - [b17_root_sum]      a sum of such terms, the root behind it: b17_split_gradient_sum with
                          (h + 5) lambda + 2 lambda_64 + lambda_in + r

    Source: docs/tolerances/attention_backward.md, "Sums"; score_gradient_sum_error and value_gradient_error in
    numerics/rounding/rounding_attention_backward.cpp. r is the log error of a factor as it is read. *)

From softcheck.numerics Require Import score_error b5_logsumexp added_terms.
Local Open Scope R_scope.

Lemma perturbed_map {A : Type} (l : list A) (f' f d : A -> R) :
  (forall a, In a l -> Rabs (f' a - f a) <= d a) -> perturbed (map f' l) (map f l) (map d l).
Proof.
  induction l as [|a l IH]; intros close; constructor; [apply close; now left|].
  apply IH. intros b inb. apply close. now right.
Qed.

Lemma added_loss_of M {A : Type} lt h (l : list A) (f g : A -> R) : added_loss M lt h (map f l) = added_loss M lt h (map g l).
Proof. unfold added_loss, size. now rewrite !map_length. Qed.

Lemma magnitude_map {A : Type} (l : list A) (f : A -> R) : magnitude (map f l) = sum (map (fun a => Rabs (f a)) l).
Proof. unfold magnitude. now rewrite map_map. Qed.

Section Sums.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Notation wm := (product_floor M).

  Theorem product_approximates a1 l1 a2 l2 X Y x y x' y' z :
    0 <= a1 -> 0 <= a2 -> 0 <= l1 -> 0 <= l2 -> Rabs x <= X -> Rabs y <= Y ->
    approximates a1 l1 x x' -> approximates a2 l2 y y' -> computed_product M (x' * y') z ->
    approximates (a1 + a2 + lambda) (exp (a1 + a2 + lambda) * (l1 * (Y + l2) + l2 * X + wm)) (x * y) z.
  Proof using good.
    intros ha1 ha2 hl1 hl2 hx hy [t1 [e1 [b1 [c1 ->]]]] [t2 [e2 [b2 [c2 ->]]]] [t3 [e3 [b3 [c3 ->]]]].
    pose proof (unit_nonneg M good) as fl. assert (fm : 0 <= wm) by (unfold sound in good; lra).
    apply abs_between in b1. apply abs_between in b2. apply abs_between in b3. set (E := exp (a1 + a2 + lambda)).
    assert (E1 : 1 <= E) by (apply exp_at_least_one; lra).
    assert (up : forall v V c, 0 <= V -> Rabs v <= V -> c <= a1 + a2 + lambda -> Rabs (v * exp c) <= V * E).
    { intros v V c hV hv hc. rewrite Rabs_mult, (Rabs_right (exp c)) by (left; apply exp_pos).
      apply Rmult_le_compat; [apply Rabs_pos|left; apply exp_pos|easy|now apply exp_le]. }
    assert (many : forall v V w W, Rabs v <= V -> Rabs w <= W -> Rabs (v * w) <= V * W).
    { intros v V w W hv hw. monotone. } pose proof (Rabs_pos x). pose proof (Rabs_pos y).
    exists (t1 + t2 + t3), (e1 * y * exp (t2 + t3) + e1 * e2 * exp t3 + x * e2 * exp (t1 + t3) + e3).
    repeat split; [apply Rabs_le; lra| |rewrite !exp_plus; ring].
    pose proof (up (e1 * y) (l1 * Y) (t2 + t3) ltac:(apply Rmult_le_pos; lra) (many _ _ _ _ c1 hy) ltac:(lra)).
    pose proof (up (e1 * e2) (l1 * l2) t3 ltac:(apply Rmult_le_pos; lra) (many _ _ _ _ c1 c2) ltac:(lra)).
    pose proof (up (x * e2) (X * l2) (t1 + t3) ltac:(apply Rmult_le_pos; lra) (many _ _ _ _ hx c2) ltac:(lra)).
    assert (1 * wm <= E * wm) by monotone. triangle. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
    eapply Rle_trans; [apply Rplus_le_compat_r, Rplus_le_compat_r, Rabs_triang|]. lra.
  Qed.

  Context {A : Type} (pairs : list A) (r lt : R) (h : nat) (reading : 0 <= r) (lt_nonneg : 0 <= lt).
  Notation lost xs := (added_loss M lt h xs).

  Section Weighted.
    Context (p p_hat omega l x : A -> R) (y : R)
      (weights : forall a, In a pairs -> 0 <= p a /\ 0 <= omega a /\ 0 <= l a /\ approximates (omega a) (l a) (p a) (p_hat a))
      (tree : added M (r + lambda) lt (map (fun a => p_hat a * x a) pairs) y h).
    Notation exact := (sum (map (fun a => p a * x a) pairs)).
    Notation K := (r + (INR h + 1) * lambda).

    Definition weighted_rounding : R := sum (map (fun a => Rabs (x a) * (p a * (exp (omega a + K) - 1))) pairs).
    Definition weighted_loss : R := exp K * sum (map (fun a => Rabs (x a) * l a) pairs) + lost (map x pairs).

    Theorem b17_weighted_sum : Rabs (y - exact) <= weighted_rounding + weighted_loss.
    Proof using good reading lt_nonneg weights tree.
      pose proof (unit_nonneg M good) as fl. assert (hh : 0 <= INR h * lambda) by monotone.
      set (d := fun a => Rabs (x a) * (p a * (exp (omega a) - 1) + l a)).
      assert (near : perturbed (map (fun a => p_hat a * x a) pairs) (map (fun a => p a * x a) pairs) (map d pairs)).
      { apply perturbed_map. intros a ina. destruct (weights a ina) as [hp [hw [hl [t [e [bt [be ->]]]]]]]. unfold d.
        replace ((p a * exp t + e) * x a - p a * x a) with (x a * (p a * (exp t - 1) + e)) by ring. rewrite Rabs_mult.
        apply Rmult_le_compat_l; [monotone|]. triangle. apply Rplus_le_compat; [|easy].
        rewrite Rabs_mult, (Rabs_right (p a)) by lra. apply Rmult_le_compat_l; [easy|now apply expm1_abs]. }
      pose proof (perturbed_sum M good (r + lambda) lt _ _ _ y h ltac:(lra) lt_nonneg near tree) as bound.
      unfold perturbed_rounding in bound. rewrite magnitude_map, (added_loss_of M lt h pairs (fun a => p a * x a) x) in bound.
      replace (r + lambda + INR h * lambda) with K in bound by ring.
      assert (same : exp K * (sum (map (fun a => Rabs (p a * x a)) pairs) + sum (map d pairs))
        - sum (map (fun a => Rabs (p a * x a)) pairs)
        = weighted_rounding + exp K * sum (map (fun a => Rabs (x a) * l a) pairs)).
      { transitivity (sum (map (fun a => exp K * (Rabs (p a * x a) + d a) - Rabs (p a * x a)) pairs)).
        - rewrite sum_map_minus, sum_map_mult_l, sum_map_plus. ring.
        - unfold weighted_rounding. rewrite <- sum_map_mult_l, <- sum_map_plus. apply sum_map_ext. intros a ina.
          destruct (weights a ina) as [hp _]. unfold d. rewrite Rabs_mult, (Rabs_right (p a)) by lra.
          rewrite (exp_plus (omega a)). ring. }
      unfold weighted_loss. lra.
    Qed.

    Theorem b17_value_gradient u_out floor_out dv :
      rounded_output u_out floor_out y dv ->
      Rabs (dv - exact)
      <= weighted_rounding + u_out * (Rabs exact + weighted_rounding) + (weighted_loss * (1 + u_out) + floor_out).
    Proof using good reading lt_nonneg weights tree.
      intros [d [e [bd [be ->]]]]. apply rounded_error; try easy. apply b17_weighted_sum.
    Qed.
  End Weighted.

  (** The scale as two factors, s1 with each term and s2 behind the sum, or both with each term; c1 and c2 are the log errors
      that they bring, s1's with the products of a term. *)
  Section Split.
    Context (dS dS_hat eps x : A -> R) (s1 s2 c1 c2 y : R)
      (gradients : forall a, In a pairs -> Rabs (dS_hat a - dS a) <= eps a) (factors : 0 <= c1 /\ 0 <= c2).
    Notation K := (INR h * lambda + r + (c1 + c2 + lambda)).

    Inductive split_sum : R -> Prop :=
    | split_terms z :
        added M (r + (c1 + c2 + lambda)) lt (map (fun a => s1 * s2 * (dS_hat a * x a)) pairs) z h -> split_sum z
    | split_total y0 t z :
        added M (r + c1) lt (map (fun a => s1 * (dS_hat a * x a)) pairs) y0 h -> Rabs t <= c2 ->
        computed_product M (y0 * (s2 * exp t)) z -> split_sum z.
    Hypothesis form : split_sum y.

    Notation exact := (s1 * s2 * sum (map (fun a => dS a * x a) pairs)).
    Definition split_sum_rounding : R :=
      Rabs (s1 * s2) * sum (map (fun a => Rabs (x a) * (exp K * (Rabs (dS a) + eps a) - Rabs (dS a))) pairs).
    Definition split_sum_loss : R := (1 + Rabs s2) * (exp (c2 + lambda) * lost (map x pairs)) + wm.

    Let near s :
      perturbed (map (fun a => s * (dS_hat a * x a)) pairs) (map (fun a => s * (dS a * x a)) pairs)
        (map (fun a => Rabs s * (Rabs (x a) * eps a)) pairs).
    Proof using gradients.
      apply perturbed_map. intros a ina.
      replace (s * (dS_hat a * x a) - s * (dS a * x a)) with (s * (x a * (dS_hat a - dS a))) by ring.
      rewrite !Rabs_mult. apply Rmult_le_compat_l; [monotone|]. apply Rmult_le_compat_l; [monotone|now apply gradients].
    Qed.

    Let size_of s : magnitude (map (fun a => s * (dS a * x a)) pairs) = Rabs s * magnitude (map (fun a => dS a * x a) pairs).
    Proof using. rewrite !magnitude_map, <- sum_map_mult_l. apply sum_map_ext. intros. apply Rabs_mult. Qed.

    Let rounding_is :
      split_sum_rounding
      = Rabs (s1 * s2) * (exp K * (magnitude (map (fun a => dS a * x a) pairs) + sum (map (fun a => Rabs (x a) * eps a) pairs))
                          - magnitude (map (fun a => dS a * x a) pairs)).
    Proof using.
      unfold split_sum_rounding. f_equal. rewrite magnitude_map, <- sum_map_plus, <- sum_map_mult_l, <- sum_map_minus.
      apply sum_map_ext. intros a _. rewrite Rabs_mult. ring.
    Qed.

    Theorem b17_split_gradient_sum : Rabs (y - exact) <= split_sum_rounding + split_sum_loss.
    Proof using good reading lt_nonneg gradients factors form.
      pose proof (unit_nonneg M good) as fl. assert (hh : 0 <= INR h * lambda) by monotone.
      assert (fm : 0 <= wm) by (unfold sound in good; lra). rewrite rounding_is. unfold split_sum_loss.
      pose proof (Rabs_pos s2) as ps. pose proof (exp_at_least_one (c2 + lambda) ltac:(lra)) as two.
      set (Y := magnitude (map (fun a => dS a * x a) pairs)). set (G := sum (map (fun a => Rabs (x a) * eps a) pairs)).
      destruct form as [z tree|y0 t z tree bt [t1 [e1 [bt1 [be1 ->]]]]].
      - pose proof (perturbed_sum M good (r + (c1 + c2 + lambda)) lt _ _ _ z h ltac:(lra) lt_nonneg (near (s1 * s2)) tree) as
          bound.
        destruct (added_nonneg M good (r + (c1 + c2 + lambda)) lt _ z h ltac:(lra) lt_nonneg tree) as [_ l0].
        rewrite (added_loss_of M lt h pairs _ x) in l0. unfold perturbed_rounding in bound.
        rewrite (added_loss_of M lt h pairs _ x), !sum_map_mult_l, size_of in bound. fold Y G in bound.
        replace (r + (c1 + c2 + lambda) + INR h * lambda) with K in bound by ring.
        assert (1 * lost (map x pairs) <= exp (c2 + lambda) * lost (map x pairs)) by monotone.
        assert (0 <= Rabs s2 * (exp (c2 + lambda) * lost (map x pairs))) by monotone. lra.
      - pose proof (perturbed_sum M good (r + c1) lt _ _ _ y0 h ltac:(lra) lt_nonneg (near s1) tree) as bound.
        destruct (added_nonneg M good (r + c1) lt _ y0 h ltac:(lra) lt_nonneg tree) as [_ l0].
        rewrite (added_loss_of M lt h pairs _ x) in l0. unfold perturbed_rounding in bound.
        rewrite (added_loss_of M lt h pairs _ x), !sum_map_mult_l, size_of in bound. fold Y G in bound.
        set (S0 := sum (map (fun a => dS a * x a) pairs)) in *. set (k := r + c1 + INR h * lambda) in *.
        apply abs_between in bt. apply abs_between in bt1. pose proof (Rabs_pos s1) as p1.
        assert (YS : Rabs S0 <= Y) by apply sum_below_magnitude. assert (e2 : exp (t + t1) <= exp (c2 + lambda)) by monotone.
        pose proof (expm1_abs (t + t1) (c2 + lambda) ltac:(apply Rabs_le; lra)) as m2.
        assert (whole : exp K = exp k * exp (c2 + lambda)) by (rewrite <- exp_plus; f_equal; unfold k; ring).
        replace (y0 * (s2 * exp t) * exp t1 + e1 - s1 * s2 * S0)
          with (s2 * ((y0 - s1 * S0) * exp (t + t1) + s1 * S0 * (exp (t + t1) - 1)) + e1) by (rewrite exp_plus; ring).
        triangle. rewrite Rabs_mult, (Rabs_mult s1 s2).
        assert (inner : Rabs ((y0 - s1 * S0) * exp (t + t1) + s1 * S0 * (exp (t + t1) - 1))
                        <= Rabs s1 * (exp K * (Y + G) - Y) + exp (c2 + lambda) * lost (map x pairs)).
        { triangle. rewrite !Rabs_mult, (Rabs_right (exp (t + t1))) by (left; apply exp_pos).
          assert (Rabs (y0 - s1 * S0) * exp (t + t1)
            <= (Rabs s1 * (exp k * (Y + G) - Y) + lost (map x pairs)) * exp (c2 + lambda)) by monotone.
          assert (Rabs s1 * Rabs S0 * Rabs (exp (t + t1) - 1) <= Rabs s1 * Y * (exp (c2 + lambda) - 1)) by monotone.
          rewrite whole. lra. }
        apply Rmult_le_compat_l with (r := Rabs s2) in inner; [|easy].
        assert (0 <= exp (c2 + lambda) * lost (map x pairs)) by monotone. lra.
    Qed.

    Theorem b17_split_gradient_output u_out floor_out dq :
      rounded_output u_out floor_out y dq ->
      Rabs (dq - exact)
      <= split_sum_rounding + u_out * (Rabs exact + split_sum_rounding) + (split_sum_loss * (1 + u_out) + floor_out).
    Proof using good reading lt_nonneg gradients factors form.
      intros [d [e [bd [be ->]]]]. apply rounded_error; try easy. apply b17_split_gradient_sum.
    Qed.
  End Split.

  Section Gradient.
    Context (dS dS_hat eps x : A -> R) (scale y : R).
    Hypothesis gradients : forall a, In a pairs -> Rabs (dS_hat a - dS a) <= eps a.
    Notation K := ((INR h + 3) * lambda + r).

    (** The scale, rounded where it must be: with each term, or behind the sum. *)
    Inductive scaled_sum : R -> Prop :=
    | scaled_terms z : added M (r + 3 * lambda) lt (map (fun a => scale * (dS_hat a * x a)) pairs) z h -> scaled_sum z
    | scaled_total y0 t z :
        added M (r + lambda) lt (map (fun a => dS_hat a * x a) pairs) y0 h -> Rabs t <= lambda ->
        computed_product M (y0 * (scale * exp t)) z -> scaled_sum z.
    Hypothesis form : scaled_sum y.

    Notation exact := (scale * sum (map (fun a => dS a * x a) pairs)).
    Definition gradient_sum_rounding : R :=
      Rabs scale * sum (map (fun a => Rabs (x a) * (exp K * (Rabs (dS a) + eps a) - Rabs (dS a))) pairs).
    Definition gradient_sum_loss : R := (1 + Rabs scale) * (exp (2 * lambda) * lost (map x pairs)) + wm.

    Let whole_scale : split_sum dS_hat x 1 scale lambda lambda y.
    Proof using form.
      destruct form as [z tree|y0 t z tree bt product].
      - apply split_terms. rewrite Rmult_1_l. now replace (lambda + lambda + lambda) with (3 * lambda) by ring.
      - apply split_total with y0 t; [|easy|easy]. erewrite map_ext; [exact tree|]. intros a. cbv beta. ring.
    Qed.

    Theorem b17_gradient_sum : Rabs (y - exact) <= gradient_sum_rounding + gradient_sum_loss.
    Proof using good reading lt_nonneg gradients form.
      pose proof (unit_nonneg M good) as fl.
      pose proof (b17_split_gradient_sum dS dS_hat eps x 1 scale lambda lambda y gradients ltac:(lra) whole_scale) as bound.
      unfold split_sum_rounding, split_sum_loss in bound. rewrite Rmult_1_l in bound.
      replace (lambda + lambda) with (2 * lambda) in bound by ring.
      replace (INR h * lambda + r + (2 * lambda + lambda)) with K in bound by ring. exact bound.
    Qed.

    Theorem b17_score_gradient_sum u_out floor_out dq :
      rounded_output u_out floor_out y dq ->
      Rabs (dq - exact)
      <= gradient_sum_rounding + u_out * (Rabs exact + gradient_sum_rounding) + (gradient_sum_loss * (1 + u_out) + floor_out).
    Proof using good reading lt_nonneg gradients form.
      intros [d [e [bd [be ->]]]]. apply rounded_error; try easy. apply b17_gradient_sum.
    Qed.
  End Gradient.
End Sums.

(** ** B17: a scale whose root meets each of the two factors of a score gradient's sum.

    root^2 is the scale, and the root as a kernel holds it within e^(+-lambda_R): computed in double and narrowed,
    lambda_R = lambda_64 + lambda. lambda_in and floor_in are 0 where the scaled factor is not stored (scale=split), those of the inputs' format where it is
    (scale=stored).

    Source: docs/tolerances/attention_backward.md, "Sums"; split_scale_error in numerics/rounding/rounding_attention_backward.cpp. *)

Section Root.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Notation wm := (product_floor M).
  Context (root lambda_64 lambda_in floor_in r l_x : R).
  Hypothesis losses : 0 <= lambda_64 /\ 0 <= lambda_in /\ 0 <= floor_in /\ 0 <= r /\ 0 <= l_x.
  (** lambda_R *)
  Definition root_log : R := lambda_64 + lambda.
  Definition term_log : R := 2 * lambda + root_log + lambda_in.
  Definition term_loss (size : R) : R := exp term_log * (size * (Rabs root * l_x + wm + floor_in)) + wm.

  (** x as it is read, times the root, and stored, times dS. *)
  Inductive rooted_term (dS x : R) : R -> Prop :=
  | rooted_term_computed x0 t x1 x2 y :
      approximates r l_x x x0 -> Rabs t <= root_log -> computed_product M (x0 * (root * exp t)) x1 ->
      approximates lambda_in floor_in x1 x2 -> computed_product M (dS * x2) y -> rooted_term dS x y.

  Theorem b17_root_term dS size x y :
    Rabs dS <= size -> rooted_term dS x y -> approximates (r + term_log) (term_loss size) (root * (dS * x)) y.
  Proof using good losses.
    intros hs [x0 t x1 x2 y' [t0 [e0 [b0 [c0 ->]]]] bt [t1 [e1 [b1 [c1 ->]]]] [t2 [e2 [b2 [c2 ->]]]]
      [t3 [e3 [b3 [c3 ->]]]]].
    pose proof (unit_nonneg M good) as fl. assert (fm : 0 <= wm) by (unfold sound in good; lra).
    destruct losses as [h64 [hin [hf [hr hx]]]]. unfold root_log in bt. apply abs_between in b0.
    apply abs_between in bt. apply abs_between in b1. apply abs_between in b2. apply abs_between in b3.
    exists (t0 + t + t1 + t2 + t3), (dS * (e0 * root * exp (t + t1 + t2 + t3) + e1 * exp (t2 + t3) + e2 * exp t3) + e3).
    repeat split; [unfold term_log, root_log; apply Rabs_le; lra| |rewrite !exp_plus; ring].
    assert (up : forall v V c, 0 <= V -> Rabs v <= V -> c <= term_log -> Rabs (v * exp c) <= exp term_log * V).
    { intros v V c hV hv hc. rewrite Rabs_mult, (Rabs_right (exp c)), Rmult_comm by (left; apply exp_pos). monotone. }
    pose proof (Rabs_pos root) as pr. pose proof (Rabs_pos dS). unfold term_log, root_log in *.
    assert (u0 : Rabs (e0 * root * exp (t + t1 + t2 + t3)) <= exp term_log * (Rabs root * l_x)).
    { apply up; [monotone| |lra]. rewrite Rabs_mult, Rmult_comm. monotone. }
    pose proof (up e1 wm (t2 + t3) fm c1 ltac:(lra)) as u1. pose proof (up e2 floor_in t3 hf c2 ltac:(lra)) as u2.
    unfold term_loss. triangle. apply Rplus_le_compat; [|easy]. rewrite Rabs_mult.
    apply Rle_trans with (size * (exp term_log * (Rabs root * l_x + wm + floor_in))); [|right; ring].
    apply Rmult_le_compat; [easy|monotone|easy|]. triangle. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
    unfold term_log, root_log in *. lra.
  Qed.

  Context {A : Type} (pairs : list A) (dS dS_hat eps x term : A -> R) (size y0 t y : R) (h : nat)
    (gradients : forall a, In a pairs -> Rabs (dS_hat a - dS a) <= eps a /\ Rabs (dS_hat a) <= size)
    (size_nonneg : 0 <= size) (terms : forall a, In a pairs -> rooted_term (dS_hat a) (x a) (term a))
    (tree : added M 0 0 (map term pairs) y0 h) (narrowed : Rabs t <= root_log)
    (behind : computed_product M (y0 * (root * exp t)) y).

  Definition root_sum_rounding : R :=
    Rabs (root * root)
    * sum (map (fun a => Rabs (x a) * (exp ((INR h + 5) * lambda + 2 * lambda_64 + lambda_in + r) * (Rabs (dS a) + eps a)
                                       - Rabs (dS a))) pairs).
  Definition root_sum_loss : R := split_sum_loss M pairs (term_loss size) h x root root_log.

  Theorem b17_root_sum : Rabs (y - root * root * sum (map (fun a => dS a * x a) pairs)) <= root_sum_rounding + root_sum_loss.
  Proof using good losses gradients size_nonneg terms tree narrowed behind.
    pose proof (unit_nonneg M good) as fl. assert (fm : 0 <= wm) by (unfold sound in good; lra).
    destruct losses as [h64 [hin [hf [hr hx]]]]. assert (lt : 0 <= term_loss size).
    { unfold term_loss. assert (0 <= Rabs root * l_x) by monotone.
      assert (0 <= exp term_log * (size * (Rabs root * l_x + wm + floor_in))); [|lra]. monotone. }
    assert (form : split_sum M pairs r (term_loss size) h dS_hat x root root term_log root_log y).
    { apply split_total with y0 t; [|easy|easy]. apply added_of_terms with (map term pairs); [easy|]. clear tree.
      induction pairs as [|a l IH]; constructor.
      - apply b17_root_term; [apply gradients|apply terms]; now left.
      - apply IH; intros b inb; [apply gradients|apply terms]; now right. }
    pose proof (b17_split_gradient_sum M good pairs r (term_loss size) h hr lt dS dS_hat eps x root root term_log root_log y
                  ltac:(intros a ina; apply (gradients a ina)) ltac:(unfold term_log, root_log; lra) form) as bound.
    unfold split_sum_rounding in bound.
    replace (INR h * lambda + r + (term_log + root_log + lambda))
      with ((INR h + 5) * lambda + 2 * lambda_64 + lambda_in + r) in bound by (unfold term_log, root_log; ring).
    exact bound.
  Qed.
End Root.
