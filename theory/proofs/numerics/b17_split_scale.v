(** * B17: a scale whose root meets each of the two factors of a score gradient's sum.

    Main results, root^2 the scale, the root as a kernel holds it within e^(+-lambda_R): computed in double and narrowed,
    lambda_R = lambda_64 + lambda
    - [b17_root_term]     dS x', x' = x root in the inputs' format: root dS x within e^(+-(2 lambda + lambda_R + lambda_in + r)) and
                          e^(that) |dS| (|root| l_x + omega_m + floor_in) + omega_m
    - [b17_root_sum]      a sum of such terms, the root behind it: b17_split_gradient_sum with
                          (h + 5) lambda + 2 lambda_64 + lambda_in + r

    lambda_in and floor_in are 0 where the scaled factor is not stored (scale=split), those of the inputs' format where it is
    (scale=stored).

    Source: docs/tolerances/attention_backward.md, "Sums"; split_scale_error in numerics/rounding/rounding_attention_backward.cpp. *)

From softcheck.numerics Require Import b5_logsumexp added_terms b17_sums.
Local Open Scope R_scope.

Section Root.
  Context (M : arithmetic).
  Hypothesis good : sound M.
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
    intros hs [x0 t x1 x2 y' [t0 [e0 [b0 [c0 ->]]]] bt [t1 [e1 [b1 [c1 ->]]]] [t2 [e2 [b2 [c2 ->]]]] [t3 [e3 [b3 [c3 ->]]]]].
    pose proof (unit_nonneg M good) as fl. assert (fm : 0 <= wm) by (unfold sound in good; lra).
    destruct losses as [h64 [hin [hf [hr hx]]]]. unfold root_log in bt.
    apply abs_between in b0. apply abs_between in bt. apply abs_between in b1. apply abs_between in b2. apply abs_between in b3.
    exists (t0 + t + t1 + t2 + t3), (dS * (e0 * root * exp (t + t1 + t2 + t3) + e1 * exp (t2 + t3) + e2 * exp t3) + e3).
    repeat split; [unfold term_log, root_log; apply Rabs_le; lra| |rewrite !exp_plus; ring].
    assert (up : forall v V c, 0 <= V -> Rabs v <= V -> c <= term_log -> Rabs (v * exp c) <= exp term_log * V).
    { intros v V c hV hv hc. rewrite Rabs_mult, (Rabs_right (exp c)), Rmult_comm by (left; apply exp_pos).
      apply Rmult_le_compat; [left; apply exp_pos|apply Rabs_pos|now apply exp_le|easy]. }
    pose proof (Rabs_pos root) as pr. pose proof (Rabs_pos dS). unfold term_log, root_log in *.
    assert (u0 : Rabs (e0 * root * exp (t + t1 + t2 + t3)) <= exp term_log * (Rabs root * l_x)).
    { apply up; [now apply Rmult_le_pos| |lra]. rewrite Rabs_mult, Rmult_comm. now apply Rmult_le_compat_l. }
    pose proof (up e1 wm (t2 + t3) fm c1 ltac:(lra)) as u1. pose proof (up e2 floor_in t3 hf c2 ltac:(lra)) as u2.
    unfold term_loss. eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [|easy]. rewrite Rabs_mult.
    apply Rle_trans with (size * (exp term_log * (Rabs root * l_x + wm + floor_in))); [|right; ring].
    apply Rmult_le_compat; [easy|apply Rabs_pos|easy|].
    eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
    unfold term_log, root_log in *. lra.
  Qed.

  Context {A : Type} (pairs : list A) (dS dS_hat eps x term : A -> R) (size y0 t y : R) (h : nat).
  Hypothesis gradients : forall a, In a pairs -> Rabs (dS_hat a - dS a) <= eps a /\ Rabs (dS_hat a) <= size.
  Hypothesis size_nonneg : 0 <= size.
  Hypothesis terms : forall a, In a pairs -> rooted_term (dS_hat a) (x a) (term a).
  Hypothesis tree : added M 0 0 (map term pairs) y0 h.
  Hypothesis narrowed : Rabs t <= root_log.
  Hypothesis behind : computed_product M (y0 * (root * exp t)) y.

  Definition root_sum_rounding : R :=
    Rabs (root * root)
    * sum (map (fun a => Rabs (x a) * (exp ((INR h + 5) * lambda + 2 * lambda_64 + lambda_in + r) * (Rabs (dS a) + eps a)
                                       - Rabs (dS a))) pairs).
  Definition root_sum_loss : R := split_sum_loss M pairs (term_loss size) h x root root_log.

  Theorem b17_root_sum : Rabs (y - root * root * sum (map (fun a => dS a * x a) pairs)) <= root_sum_rounding + root_sum_loss.
  Proof using good losses gradients size_nonneg terms tree narrowed behind.
    pose proof (unit_nonneg M good) as fl. assert (fm : 0 <= wm) by (unfold sound in good; lra).
    destruct losses as [h64 [hin [hf [hr hx]]]].
    assert (lt : 0 <= term_loss size).
    { unfold term_loss. assert (0 <= Rabs root * l_x) by (apply Rmult_le_pos; [apply Rabs_pos|easy]).
      assert (0 <= exp term_log * (size * (Rabs root * l_x + wm + floor_in))); [|lra].
      apply Rmult_le_pos; [left; apply exp_pos|apply Rmult_le_pos; lra]. }
    assert (form : split_sum M pairs r (term_loss size) h dS_hat x root root term_log root_log y).
    { apply split_total with y0 t; [|easy|easy]. apply added_of_terms with (map term pairs); [easy|].
      clear tree. induction pairs as [|a l IH]; constructor.
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
