(** * B5: log-sum-exp and log-softmax.

    Main results
    - [log_of_sum]        ln S_hat as computed errs by sigma + E_l u (ln S + sigma), and what the logarithm may lose
    - [b5_logsumexp]      |L_hat - L| <= (1 + u) (sigma + E_l u (ln S + sigma) + g |m| + c) + u |L|, then the output
    - [b5_log_softmax]    x - m - ln S, centred: constant + slope D_j, then the two roundings at the result's size
    - [b5_log_softmax_uncentred]   x - L: what L errs by, g (|m| + D_j) + c, then the same two roundings

    Source: docs/tolerances.md, B5; accumulated_logsumexp, log_softmax_error in numerics/rounding/rounding_entropy.cpp. *)

From softcheck.numerics Require Import row tilted_row atoms reduction converted_row b1_sum.
Local Open Scope R_scope.

(** The usual model of one addition: sharper than [computed_sum] where the result may be small. *)
Definition rounded_sum (M : arithmetic) (z s : R) : Prop :=
  exists d e, Rabs d <= roundoff M /\ Rabs e <= sum_floor M /\ s = z * (1 + d) + e.

(** ln a as computed: relative error E_l u, and what underflow of the result takes. *)
Definition computed_log (M : arithmetic) (a y : R) : Prop :=
  Rabs (y - ln a) <= log_error M * Rabs (ln a) + product_floor M.

(** The output's rounding in the usual model. *)
Definition rounded_output (u_out floor_out q p : R) : Prop :=
  exists d e, Rabs d <= u_out /\ Rabs e <= floor_out /\ p = q * (1 + d) + e.

(** A rounding of something of size |exact| + error. *)
Lemma rounded_error u exact approx d e error loss floor :
  Rabs d <= u -> Rabs e <= floor -> Rabs (approx - exact) <= error + loss ->
  Rabs (approx * (1 + d) + e - exact) <= error + u * (Rabs exact + error) + (loss * (1 + u) + floor).
Proof.
  intros bd be close.
  replace (approx * (1 + d) + e - exact) with ((approx - exact) + approx * d + e) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
  rewrite Rabs_mult.
  assert (Rabs approx <= Rabs exact + (error + loss)).
  { replace approx with (exact + (approx - exact)) by ring. pose proof (Rabs_triang exact (approx - exact)). lra. }
  pose proof (Rabs_pos approx). pose proof (Rabs_pos d).
  assert (Rabs approx * Rabs d <= (Rabs exact + (error + loss)) * u) by (apply Rmult_le_compat; lra). lra.
Qed.

Section B5.
  Context (M : arithmetic).
  Hypothesis good : sound M.
  Context (kappa m : R) (logits : list R) (s : R) (h j : nat).
  Hypothesis hs : sum_of_row M kappa m logits s h j.
  Hypothesis some : lost_sum M kappa m logits h j < 1.
  Notation t := (slope M).
  Notation u := (roundoff M).
  Notation S := (weight_sum m logits).
  Notation sig := (sigma M kappa m logits h j).
  Notation c := (argument_floor M kappa j).
  Notation L := (ln (partition_function logits)).

  Let max : is_maximum m logits := row_maximum _ _ _ _ _ _ _ hs.

  Definition log_sum_error : R := sig + log_error M * (ln S + sig).

  Lemma log_sum_nonneg : 0 <= ln S.
  Proof using hs. rewrite <- ln_1. apply ln_le; [lra|]. now apply S_at_least_one. Qed.

  (** |ln S_hat - ln S| <= sigma exactly: no second order. *)
  Theorem log_of_sum y : computed_log M s y -> Rabs (y - ln S) <= log_sum_error + product_floor M.
  Proof using good hs some.
    intros hy. pose proof (S_at_least_one m logits max). pose proof log_sum_nonneg as hl.
    pose proof (rel_log sig s S ltac:(lra) (b1_sum M good kappa m logits s h j hs some)) as close.
    assert (0 <= log_error M) by apply good.
    assert (Rabs (ln s) <= ln S + sig).
    { replace (ln s) with (ln S + (ln s - ln S)) by ring. pose proof (Rabs_triang (ln S) (ln s - ln S)).
      rewrite (Rabs_right (ln S)) in * by lra. lra. }
    replace (y - ln S) with ((y - ln s) + (ln s - ln S)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. unfold computed_log in hy. unfold log_sum_error.
    assert (log_error M * Rabs (ln s) <= log_error M * (ln S + sig)) by now apply Rmult_le_compat_l. lra.
  Qed.

  (** The maximum as it is added: the logit converted and scaled, g = e^((A' - 1) lambda) - 1 its roundings. *)
  Definition computed_maximum (g m_hat : R) : Prop := Rabs (m_hat - m) <= g * Rabs m + c + product_floor M.

  Definition logsumexp_parts (g : R) : R := log_sum_error + g * Rabs m + c.
  Definition logsumexp_rounding (g : R) : R := logsumexp_parts g + u * (Rabs L + logsumexp_parts g).
  Definition logsumexp_floor : R := 2 * product_floor M * (1 + u) + sum_floor M.

  Theorem logsumexp_accumulated g m_hat y z :
    computed_maximum g m_hat -> computed_log M s y -> rounded_sum M (m_hat + y) z ->
    Rabs (z - L) <= logsumexp_rounding g + logsumexp_floor.
  Proof using good hs some.
    intros hm hy [d [e [bd [be ->]]]]. pose proof (log_of_sum y hy) as close.
    unfold logsumexp_rounding, logsumexp_floor.
    apply (rounded_error u L (m_hat + y) d e (logsumexp_parts g) (2 * product_floor M) (sum_floor M) bd be).
    rewrite (logsumexp_from_statistics m logits max).
    replace (m_hat + y - (m + ln S)) with ((m_hat - m) + (y - ln S)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. unfold computed_maximum in hm. unfold logsumexp_parts. lra.
  Qed.

  Theorem b5_logsumexp g m_hat y z u_out floor_out L_hat :
    computed_maximum g m_hat -> computed_log M s y -> rounded_sum M (m_hat + y) z ->
    rounded_output u_out floor_out z L_hat ->
    Rabs (L_hat - L) <= logsumexp_rounding g + u_out * (Rabs L + logsumexp_rounding g)
                        + (logsumexp_floor * (1 + u_out) + floor_out).
  Proof using good hs some.
    intros hm hy hz [d [e [bd [be ->]]]]. apply rounded_error; try easy. now apply (logsumexp_accumulated g m_hat y).
  Qed.

  (** ** log-softmax, centred: the difference as the exponential's argument, less ln S_hat *)

  Definition log_softmax_constant : R := log_sum_error + c.

  Theorem b5_log_softmax x D b y z u_out floor_out r :
    In x logits -> Rabs (D - (m - x)) <= kappa -> 0 <= D -> computed_argument M D b -> computed_log M s y ->
    rounded_sum M (- b - y) z -> rounded_output u_out floor_out z r ->
    let value := ln (coefficient logits x) in
    let first := log_softmax_constant + t * (m - x) in
    let second := first + u * ((m - x) + ln S + first) in
    Rabs (r - value) <= second + u_out * ((m - x) + ln S + second)
                        + ((product_floor M * (1 + u) + sum_floor M) * (1 + u_out) + floor_out).
  Proof using good hs some.
    intros inx close hD [ta [ca [bta [bca ->]]]] hy [d1 [e1 [bd1 [be1 ->]]]] [d2 [e2 [bd2 [be2 ->]]]] value first second.
    pose proof (log_of_sum y hy) as logged. pose proof log_sum_nonneg as hl.
    pose proof (proj2 max x inx) as hx.
    assert (same : value = - (m - x) - ln S).
    { unfold value. rewrite ln_coefficient, (logsumexp_from_statistics m logits max).
      - ring.
      - now apply in_not_nil with x. }
    assert (size : Rabs value = (m - x) + ln S) by (rewrite same, Rabs_left1; lra).
    rewrite <- size in *.
    apply rounded_error; try easy. unfold second. rewrite <- size.
    apply rounded_error; try easy. rewrite same.
    replace (- (D * exp ta + ca) - y - (- (m - x) - ln S))
      with ((m - x) - D * exp ta + - ca + - (y - ln S)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
    rewrite !Rabs_Ropp. unfold first, log_softmax_constant.
    pose proof (slope_nonneg M good) as ht. pose proof (argument_factor M ta bta) as fac.
    apply abs_between in close.
    assert (hk : 0 <= kappa) by apply (proj1 (proj2 (sum_between M good kappa m logits s h j hs))).
    assert (Rabs ((m - x) - D * exp ta) <= t * (m - x) + (1 + t) * kappa) by (apply Rabs_le; nra).
    assert (argument_step M + (1 + t) * kappa <= c).
    { unfold argument_floor. pose proof (pos_INR j). assert (0 <= argument_step M) by apply good. nra. }
    lra.
  Qed.

  (** ** log-softmax, uncentred: the logit as it is added, less L as computed; |x| <= |m| + D *)

  Definition uncentred_first (g D : R) : R := logsumexp_rounding g + g * (Rabs m + D) + c.
  Definition uncentred_second (g D : R) : R := uncentred_first g D + u * (D + ln S + uncentred_first g D).
  Definition uncentred_floor : R := (logsumexp_floor + product_floor M) * (1 + u) + sum_floor M.

  Theorem b5_log_softmax_uncentred g x x_hat m_hat y z w u_out floor_out r :
    In x logits -> 0 <= g -> Rabs (x_hat - x) <= g * Rabs x + c + product_floor M ->
    computed_maximum g m_hat -> computed_log M s y -> rounded_sum M (m_hat + y) z ->
    rounded_sum M (x_hat - z) w -> rounded_output u_out floor_out w r ->
    let value := ln (coefficient logits x) in
    Rabs (r - value) <= uncentred_second g (m - x) + u_out * ((m - x) + ln S + uncentred_second g (m - x))
                        + (uncentred_floor * (1 + u_out) + floor_out).
  Proof using good hs some.
    intros inx hg hx hm hy hz [d1 [e1 [bd1 [be1 ->]]]] [d2 [e2 [bd2 [be2 ->]]]] value.
    pose proof (logsumexp_accumulated g m_hat y z hm hy hz) as accumulated. pose proof log_sum_nonneg as hl.
    pose proof (proj2 max x inx) as below.
    assert (same : value = x - L) by (unfold value; rewrite ln_coefficient; [easy|now apply in_not_nil with x]).
    assert (size : Rabs value = (m - x) + ln S).
    { rewrite same, (logsumexp_from_statistics m logits max), Rabs_left1; lra. }
    rewrite <- size in *. unfold uncentred_floor, uncentred_second. rewrite <- size.
    apply rounded_error; try easy. apply rounded_error; try easy. rewrite same.
    replace (x_hat - z - (x - L)) with ((x_hat - x) + - (z - L)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. unfold uncentred_first.
    assert (Rabs x <= Rabs m + (m - x)).
    { replace x with (m + - (m - x)) at 1 by ring. eapply Rle_trans; [apply Rabs_triang|].
      rewrite Rabs_Ropp, (Rabs_right (m - x)) by lra. lra. }
    assert (g * Rabs x <= g * (Rabs m + (m - x))) by now apply Rmult_le_compat_l. lra.
  Qed.
End B5.
