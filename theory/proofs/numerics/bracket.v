(** * The bracket: Lemma 2.1 of what a kernel returns.

    Main results (n items, spread of the logits at most delta, C, t and f the constant, the slope and the floor of B2)
    - [bracket_lower]    e^(-(C + t delta)) e^(-delta) / n - f <= p_hat
    - [bracket_upper]    p_hat <= e^(C + t delta) e^delta / n + f

    Every program of the contract disperses as the exact softmax does, up to its rounding: bounded logits give every
    item Theta(1/n) until the floor is reached. Source: paper, Lemma 2.1, and docs/tolerances.md, B2. *)

From softcheck Require Import softmax lemma_2_1.
From softcheck.numerics Require Import row tilted_row reduction b1_sum b2_element.
Local Open Scope R_scope.

Section Bracket.
  Context (M : arithmetic) (out : output_format) (good : sound M) (good_out : sound_output out) (kappa m : R)
    (logits : list R) (s : R) (h j : nat) (delta : R) (hs : sum_of_row M kappa m logits s h j)
    (some : lost_sum M kappa m logits h j < 1) (within : spread_at_most delta logits).
  Notation t := (slope M).
  Notation n := (size logits).
  Notation C := (element_log M out kappa m logits h j).
  Notation f := (element_floor M out kappa m logits h j).

  Let max : is_maximum m logits := row_maximum _ _ _ _ _ _ _ hs.

  (** What B2's proof says of an element, with the deviation at its largest. *)
  Let moved x p :
    In x logits -> computed_element M out kappa m j s x p ->
    exists w e, - (C + t * delta) <= w <= C + t * delta /\ - f <= e <= f /\ p = coefficient logits x * exp w + e.
  Proof using good good_out hs some within.
    intros inx elem.
    destruct (element_error M out good good_out kappa m logits s h j hs some x p inx elem) as [w [e [bw [be ->]]]].
    exists w, e. apply abs_between in bw. apply abs_between in be. assert (t * (m - x) <= t * delta).
    { apply Rmult_le_compat_l; [now apply slope_nonneg|]. now apply within; [apply max|]. } repeat split; try lra.
    rewrite (coefficient_from_weight m logits max). now replace (x - m) with (- (m - x)) by ring.
  Qed.

  Let sizes x : In x logits -> 1 <= n /\ 0 <= delta.
  Proof using within.
    intros inx. split; [apply size_at_least_one; intros ->; easy|]. pose proof (within x x inx inx). lra.
  Qed.

  Theorem bracket_lower x p :
    In x logits -> computed_element M out kappa m j s x p ->
    exp (- (C + t * delta)) * (exp (- delta) / n) - f <= p.
  Proof using good good_out hs some within.
    intros inx elem. destruct (moved x p inx elem) as [w [e [bw [be ->]]]]. destruct (sizes x inx) as [many nonneg].
    assert (exp (- delta) / n <= coefficient logits x).
    { eapply Rle_trans; [now apply lower_below_sharp_lower | now apply coefficient_at_least]. }
    assert (0 < exp (- delta) / n) by (apply Rdiv_lt_0_compat; [apply exp_pos | lra]).
    assert (exp (- delta) / n * exp (- (C + t * delta)) <= coefficient logits x * exp w).
    { apply Rmult_le_compat; [lra | left; apply exp_pos | easy | apply exp_le; lra]. } lra.
  Qed.

  Theorem bracket_upper x p :
    In x logits -> computed_element M out kappa m j s x p ->
    p <= exp (C + t * delta) * (exp delta / n) + f.
  Proof using good good_out hs some within.
    intros inx elem. destruct (moved x p inx elem) as [w [e [bw [be ->]]]]. destruct (sizes x inx) as [many nonneg].
    assert (coefficient logits x <= exp delta / n).
    { eapply Rle_trans; [now apply coefficient_at_most with (d := delta) | now apply sharp_upper_below_upper]. }
    assert (0 <= coefficient logits x). { left. apply coefficient_pos. now apply (in_not_nil x). }
    assert (coefficient logits x * exp w <= exp delta / n * exp (C + t * delta)).
    { apply Rmult_le_compat; [easy | left; apply exp_pos | easy | apply exp_le; lra]. } lra.
  Qed.
End Bracket.
