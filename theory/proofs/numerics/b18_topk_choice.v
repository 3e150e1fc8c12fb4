(** * B18: which items a kernel may exchange that returns the k largest coefficients of a softmax.

    Main results
    - [exchanged]        a kernel takes j for at least as large as i by its logits, its exponentials or its coefficients as
                         they are stored: x_i - x_j <= own_i + own_j - ln(1 - 2 f e^s S e^(D_i + own_i)),
                         own_i = C + t D_i, f and s of B2; where the logarithm has an argument
    - [exchange_above]   the exchange of the largest logit left out with the smallest one chosen allows that of all pairs

    C is B2's log error without what all coefficients of a row share, 1 / S_hat; it grants R rescalings besides.

    Source: docs/tolerances/topk.md; TopkThreshold::exchange in numerics/rounding/rounding_topk.cpp. *)

From softcheck.numerics Require Import row tilted_row reduction b1_sum b2_element constants.
Local Open Scope R_scope.

(** a e^-D_i - b <= c e^-D_j + b, solved for D_j - D_i. *)
Lemma compared_powers Di Dj wi wj g b L :
  0 < g -> 0 <= b -> 2 * (b / g) * exp (Di + wi) <= L -> L < 1 ->
  g * exp (- (Di + wi)) - b <= g * exp (wj - Dj) + b -> Dj - Di <= wi + wj - ln (1 - L).
Proof.
  intros hg hb small below compared. assert (scaled : exp (- (Di + wi)) - b / g <= exp (wj - Dj) + b / g).
  { apply Rmult_le_reg_l with g; [easy|]. unfold Rdiv.
    replace (g * (exp (- (Di + wi)) - b * / g)) with (g * exp (- (Di + wi)) - b) by (field; lra).
    replace (g * (exp (wj - Dj) + b * / g)) with (g * exp (wj - Dj) + b) by (field; lra). easy. }
  assert (inverse : exp (- (Di + wi)) * exp (Di + wi) = 1) by (rewrite <- exp_plus, Rplus_opp_l; apply exp_0).
  assert (main : exp (- (Di + wi)) * (1 - L) <= exp (wj - Dj)).
  { pose proof (exp_pos (- (Di + wi))).
    assert (exp (- (Di + wi)) * (2 * (b / g) * exp (Di + wi)) <= exp (- (Di + wi)) * L) by monotone.
    replace (exp (- (Di + wi)) * (2 * (b / g) * exp (Di + wi)))
      with (2 * (b / g) * (exp (- (Di + wi)) * exp (Di + wi))) in * by ring.
    rewrite inverse in *. lra. }
  apply ln_le in main; [|apply Rmult_lt_0_compat; [monotone|lra]].
  rewrite ln_mult, !ln_exp in main by (try apply exp_pos; lra). lra.
Qed.

Section Exchange.
  Context (M : arithmetic) (out : output_format) (good : sound M) (good_out : sound_output out) (kappa m : R)
    (logits : list R) (s : R) (h j : nat) (hs : sum_of_row M kappa m logits s h j)
    (some : lost_sum M kappa m logits h j < 1).
  Notation t := (slope M).
  Notation S := (weight_sum m logits).
  Notation f := (element_floor M out kappa m logits h j).
  Notation whole := (element_log M out kappa m logits h j).

  (** C, and what may be lost beside an item at deviation D. *)
  Definition own_constant : R := numerator_log M kappa j + rescale_unit M j + ratio_log M out.
  Definition own (D : R) : R := own_constant + t * D.
  Definition lost_beside (D : R) : R := 2 * f * exp whole * exp (ln S + D + own D).
  Definition exchange (Di Dj : R) : R := own Di + (own_constant + t * Dj) - ln (1 - lost_beside Di).

  (** The item at xj is taken for at least as large as that at xi. *)
  Inductive preferred (xi xj : R) : Prop :=
  | preferred_coefficient p_i p_j :
      computed_element M out kappa m j s xi p_i -> computed_element M out kappa m j s xj p_j -> p_i <= p_j -> preferred xi xj
  | preferred_exponential Di Dj vi vj :
      Rabs (Di - (m - xi)) <= kappa -> Rabs (Dj - (m - xj)) <= kappa -> numerator M j Di vi -> numerator M j Dj vj ->
      vi <= vj -> preferred xi xj
  | preferred_logit Di Dj :
      Rabs (Di - (m - xi)) <= kappa -> Rabs (Dj - (m - xj)) <= kappa -> Dj <= Di -> preferred xi xj.

  Let max : is_maximum m logits := row_maximum _ _ _ _ _ _ _ hs.

  Local Ltac facts :=
    sound_facts good;
    pose proof (proj1 (proj2 (sum_between M good kappa m logits s h j hs))) as fk;
    assert (fr : 0 <= rescale_unit M j) by (apply Rmult_le_pos; [apply pos_INR|lra]);
    pose proof (argument_floor_above M good kappa m logits s h j hs) as ff;
    assert (fkt : 0 <= t * kappa) by (apply Rmult_le_pos; lra);
    assert (fn : (1 + t) * kappa <= numerator_log M kappa j) by (unfold numerator_log, when_rescaled; destruct j; lra);
    assert (fo : 0 <= ratio_log M out) by (destruct good_out; unfold ratio_log, division_roundings; lra);
    assert (fz : 0 <= numerator_loss M j) by (unfold numerator_loss, when_rescaled; destruct j; lra).

  Lemma own_nonneg D : 0 <= D -> 0 <= own_constant <= own D.
  Proof using good good_out hs some.
    intros hD. facts. assert (0 <= t * D) by monotone. unfold own, own_constant. lra.
  Qed.

  (** f is more than an exponential loses, by all that is between it and the coefficient. *)
  Lemma floor_above :
    exp (numerator_log M kappa j) * numerator_loss M j <= f /\ 0 <= f /\ numerator_log M kappa j <= whole.
  Proof using good good_out hs some.
    facts. pose proof (sigma_above M good kappa m logits s h j hs some) as [sr _]. destruct good_out as [_ go].
    assert (le : numerator_log M kappa j <= whole) by (unfold element_log; lra). pose proof (exp_le _ _ le).
    pose proof (exp_pos (numerator_log M kappa j)). unfold element_floor, division_losses.
    assert (0 <= product_floor M * exp whole) by monotone.
    assert (0 <= numerator_loss M j * (exp whole - exp (numerator_log M kappa j))) by monotone.
    assert (0 <= numerator_loss M j * exp (numerator_log M kappa j)) by monotone. repeat split; try easy; lra.
  Qed.

  Let S1 : 1 <= S := S_at_least_one m logits max.

  (** What two coefficients share, g = S / s, is at least e^-s. *)
  Lemma shared_above : 0 < / s /\ s <= S * exp whole.
  Proof using good good_out hs some S1.
    pose proof (b1_sum M good kappa m logits s h j hs some) as close.
    assert (pos : 0 < s) by (eapply rel_pos; [|apply close]; lra). split; [monotone|].
    apply rel_bounds in close; [|lra]. facts. assert (sigma M kappa m logits h j <= whole) by (unfold element_log; lra).
    apply Rle_trans with (S * exp (sigma M kappa m logits h j)); [easy|]. monotone.
  Qed.

  Let powers Di Dj wi wj g b vi vj ei ej :
    0 < g -> / g <= S * exp whole -> 0 <= b -> b <= f -> 0 <= Di -> 0 <= Dj ->
    Rabs wi <= own Di -> Rabs wj <= own Dj -> Rabs ei <= b -> Rabs ej <= b ->
    vi = exp (- Di) * g * exp wi + ei -> vj = exp (- Dj) * g * exp wj + ej -> vi <= vj -> lost_beside Di < 1 ->
    Dj - Di <= exchange Di Dj.
  Proof using good good_out hs some S1.
    intros hg inverse hb bf hDi hDj bwi bwj bei bej -> -> compared below. unfold exchange.
    change (own_constant + t * Dj) with (own Dj).
    apply (compared_powers Di Dj (own Di) (own Dj) g b (lost_beside Di) hg hb); [|easy|].
    - unfold lost_beside. rewrite (Rplus_assoc (ln S)), (exp_plus (ln S)), exp_ln by lra.
      replace (2 * f * exp whole * (S * exp (Di + own Di))) with (2 * (f * (S * exp whole)) * exp (Di + own Di))
        by ring.
      apply Rmult_le_compat_r; [monotone|]. apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat; try easy. left.
      monotone.
    - apply abs_between in bwi. apply abs_between in bwj. apply abs_between in bei. apply abs_between in bej.
      assert (exp (- Di) * exp (- own Di) <= exp (- Di) * exp wi) by monotone.
      assert (exp (- Dj) * exp wj <= exp (- Dj) * exp (own Dj)) by monotone.
      replace (- (Di + own Di)) with (- Di + - own Di) by ring. replace (own Dj - Dj) with (- Dj + own Dj) by ring.
      rewrite !exp_plus. assert (g * (exp (- Di) * exp (- own Di)) <= g * (exp (- Di) * exp wi)) by monotone.
      assert (g * (exp (- Dj) * exp wj) <= g * (exp (- Dj) * exp (own Dj))) by monotone. lra.
  Qed.

  Theorem exchanged xi xj :
    In xi logits -> In xj logits -> preferred xi xj -> lost_beside (m - xi) < 1 ->
    xi - xj <= exchange (m - xi) (m - xj).
  Proof using good good_out hs some.
    intros ini inj chosen below. facts. pose proof floor_above as [above [f0 smaller]]. pose proof shared_above as [gs sS].
    pose proof (proj2 max xi ini) as hi. pose proof (proj2 max xj inj) as hj.
    replace (xi - xj) with ((m - xj) - (m - xi)) by ring.
    destruct chosen as [p_i p_j el_i el_j le|Di Dj vi vj ci cj num_i num_j le|Di Dj ci cj le].
    - destruct (shared_error M out good good_out kappa m logits s h j hs some xi p_i ini el_i) as [wi [ei [bwi [bei eqi]]]].
      destruct (shared_error M out good good_out kappa m logits s h j hs some xj p_j inj el_j) as [wj [ej [bwj [bej eqj]]]].
      unfold Rdiv in eqi, eqj. apply (powers (m - xi) (m - xj) wi wj (/ s) f p_i p_j ei ej); try easy; try lra.
      + now rewrite Rinv_inv.
      + unfold own, own_constant. lra.
      + unfold own, own_constant. lra.
    - destruct (numerator_error M good kappa m logits s h j hs Di xi vi ci num_i) as [wi [ei [bwi [bei eqi]]]].
      destruct (numerator_error M good kappa m logits s h j hs Dj xj vj cj num_j) as [wj [ej [bwj [bej eqj]]]].
      apply (powers (m - xi) (m - xj) wi wj 1 (exp (numerator_log M kappa j) * numerator_loss M j) vi vj ei ej); try easy;
        try lra.
      + rewrite Rinv_1. pose proof (exp_at_least_one whole ltac:(lra)). nra.
      + monotone.
      + unfold own, own_constant. lra.
      + unfold own, own_constant. lra.
    - apply abs_between in ci. apply abs_between in cj. unfold exchange. assert (0 <= lost_beside (m - xi)).
      { unfold lost_beside. repeat apply Rmult_le_pos; try lra; left; apply exp_pos. }
      pose proof (ln_below_tangent (1 - lost_beside (m - xi)) ltac:(lra)). assert (0 <= t * (m - xi)) by monotone.
      assert (0 <= t * (m - xj)) by monotone. unfold own, own_constant. lra.
  Qed.

  (** The left side less the right one grows with x_i, and falls with x_j. *)
  Theorem exchange_above Di Dj Di' Dj' :
    0 <= Di -> Di <= Di' -> Dj' <= Dj -> lost_beside Di' < 1 -> Dj - Di <= exchange Di Dj -> Dj' - Di' <= exchange Di' Dj'.
  Proof using good good_out hs some.
    intros hDi lei lej below allowed. facts. pose proof floor_above as [_ [f0 _]].
    assert (ti : t * Di <= t * Di') by monotone. assert (tj : t * (Dj - Dj') <= / 4 * (Dj - Dj')) by monotone.
    assert (grows : lost_beside Di <= lost_beside Di').
    { unfold lost_beside. apply Rmult_le_compat_l.
      - repeat apply Rmult_le_pos; try lra. left. monotone.
      - apply exp_le. unfold own. lra. }
    pose proof (ln_le (1 - lost_beside Di') (1 - lost_beside Di) ltac:(lra) ltac:(lra)). unfold exchange, own in *. lra.
  Qed.
End Exchange.
