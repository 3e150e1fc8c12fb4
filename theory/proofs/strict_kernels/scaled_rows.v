(** * A row at a temperature: the scale by which the kernels multiply is 1 / theta, rounded to double and to binary32.

    The logits are x / theta, of the double theta itself. They are e^t times those by the scale, where t counts as two more
    roundings of every argument.

    Main results
    - [scale_computed]    for a double theta from 2^-126 to 2^119 the scale is within two roundings of 1 / theta
    - [scaled_sum]        a sum over a row is one over the row times e^t, where t counts as roundings of arguments
    - [scaled_moments]    so are both sums of an entropy, by [scaled_tree] one tree
    - [scaled_element]    so is a coefficient as computed

    Source: kernels/block/tree_rows.hpp. *)

From Coq Require Import Reals List ZArith Permutation Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row tree_heights reduction moments b1_sum b6_entropy b2_element.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers strict_operations strict_exponential strict_weights
  double_operations double_atanh.
Local Open Scope R_scope.

(** ** Roundings of what is 0 or far from underflow *)

Lemma near_double a : a = 0 \/ two_to (-300) <= Rabs a -> Rabs (fl64 a - a) <= 1001 / 1000 * u64 * Rabs a.
Proof.
  intros [->|large]; [rewrite fl_0, Rminus_0_r, Rabs_R0; lra|].
  destruct (lost_64_small _ large) as [_ tiny]. pose proof (double_error a) as err. pose proof (Rabs_pos a).
  assert (/ 1000000000000000000000000000000000000 * Rabs a <= / 1000 * u64 * Rabs a)
    by (apply Rmult_le_compat_r; [easy|change u64 with (/ 9007199254740992); lra]). lra.
Qed.

Lemma log_unit_doubled : log_unit (3 / 2 * u32) <= INR 2 * log_unit u32.
Proof.
  pose proof u32_range as u0. unfold log_unit. cbn [INR].
  assert (square : ln ((1 - u32) * (1 - u32)) <= ln (1 - 3 / 2 * u32)) by (apply ln_le; nra).
  rewrite ln_mult in square by lra. lra.
Qed.

Section Theta.
  Context (theta : f64) (T : R) (theta_value : is_double theta T) (theta_range : two_to (-126) <= T <= two_to 119).

  Lemma inverse_range : 0 < T /\ two_to (-119) <= / T <= two_to 126.
  Proof using theta_range.
    pose proof (bpow_gt_0 radix2 (-126)). split; [lra|]. split.
    - change (-119)%Z with (- (119))%Z. rewrite bpow_opp. monotone.
    - change 126%Z with (- (-126))%Z. rewrite bpow_opp. monotone.
  Qed.

  Theorem scale_computed :
    exists unit t, is_value (scale_of theta) unit /\ two_to (-119) <= unit /\ Rabs t <= INR 2 * log_unit u32 /\ exp t * unit = / T.
  Proof using theta_value theta_range.
    destruct inverse_range as [T_pos [low high]]. pose proof (bpow_gt_0 radix2 (-119)) as low_pos. pose proof u64_range as u0.
    pose proof u32_range as v0. set (x := / T) in *. assert (same : 1 / T = x) by (unfold x, Rdiv; ring).
    assert (numbers : forall e, (-126 <= e <= 126)%Z -> number binary32 (two_to e) /\ number binary64 (two_to e)).
    { intros e range.
      assert (single : number binary32 (two_to e))
        by (apply generic_format_bpow; unfold FLT_exp; cbn [prec emin binary32]; lia).
      split; [exact single|now apply binary32_in_binary64]. }
    destruct (numbers (-119)%Z ltac:(lia)) as [n1 n2]. destruct (numbers 126%Z ltac:(lia)) as [n3 n4].
    assert (hd : is_double (quotient_64 one_64 theta) (fl64 x)).
    { rewrite <- same. apply quotient_double; [apply one_double|easy|lra|]. rewrite same, Rabs_right by lra.
      eapply Rle_trans; [exact high|apply bpow_le; lia]. }
    assert (d_range : two_to (-119) <= fl64 x <= two_to 126).
    { split; [rewrite <- (fl_number binary64 _ n2)|rewrite <- (fl_number binary64 _ n4)]; now apply fl_monotone. }
    pose proof (near_double x) as d_close. rewrite (Rabs_right x) in d_close by lra.
    specialize (d_close ltac:(right; eapply Rle_trans; [|exact low]; apply bpow_le; lia)). set (d := fl64 x) in *.
    assert (hu : is_value (scale_of theta) (fl32 d)).
    { apply narrowed_value; [exact hd|]. rewrite Rabs_right by lra.
      apply Rle_trans with (two_to 126); [easy|apply bpow_le; lia]. }
    assert (u_range : two_to (-119) <= fl32 d) by (rewrite <- (fl_number binary32 _ n1); now apply fl_monotone).
    pose proof (fl_error d) as u_close. rewrite (Rabs_right d) in u_close by lra. set (unit := fl32 d) in *.
    assert (quantum : half_quantum <= / 100 * u32 * x).
    { apply Rle_trans with (two_to (-7) * u32 * two_to (-119)); [rewrite <- !bpow_plus; apply bpow_le; lia|].
      apply Rmult_le_compat; [apply Rmult_le_pos; apply bpow_ge_0|apply bpow_ge_0| |easy].
      apply Rmult_le_compat_r; [apply bpow_ge_0|cbn; lra]. }
    assert (ux : 0 <= u64 * x <= / 1000 * (u32 * x)).
    { split; [monotone|]. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|]. change u64 with (/ 9007199254740992).
      change u32 with (/ 16777216). lra. }
    assert (vx : 0 <= u32 * x <= / 16777216 * x) by monotone. assert (moved : Rabs (unit - x) <= 3 / 2 * u32 * x).
    { apply Rabs_le_inv in d_close. assert (u32 * d <= u32 * (x + / 1000 * x)) by monotone.
      replace (unit - x) with ((unit - d) + (d - x)) by ring. triangle.
      assert (Rabs (d - x) <= 1001 / 1000 * (u64 * x)) by (apply Rabs_le; lra). lra. }
    destruct (one_rounding (3 / 2 * u32) ((unit - x) / x) ltac:(lra)) as [t [bt factor]].
    { unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ x)) by (apply Rle_ge; left; apply Rinv_0_lt_compat; lra).
      apply Rmult_le_reg_r with x; [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. exact moved. }
    exists unit, (- t). split; [exact hu|]. split; [exact u_range|]. split.
    - rewrite Rabs_Ropp. eapply Rle_trans; [exact bt|apply log_unit_doubled].
    - rewrite exp_Ropp, <- factor. field. split; [lra|]. intros zero. lra.
  Qed.
End Theta.

(** ** Arguments that err by t more *)

Section Scaled.
  Context (A B : nat) (step t : R) (within : Rabs t <= INR B * log_unit u32).
  Notation M := (strict_arithmetic A step).
  Notation N := (strict_arithmetic (A + B) step).
  Notation times := (map (Rmult (exp t))).

  Lemma scaled_argument d b : computed_argument M d b -> computed_argument N (exp t * d) b.
  Proof using within.
    intros [ta [c [bta [bc ->]]]]. cbn [argument_unit argument_step strict_arithmetic] in bta, bc.
    exists (ta - t), c. split; [|split; [exact bc|]].
    - cbn [argument_unit strict_arithmetic]. rewrite plus_INR. apply abs_between in bta.
      pose proof (abs_between _ _ within). apply Rabs_le. lra.
    - unfold Rminus. rewrite exp_plus, exp_Ropp. field. apply Rgt_not_eq, exp_pos.
  Qed.

  Theorem scaled_tree l r s y h j K : streamed_at M l r s y h j K -> streamed_at N (times l) (exp t * r) s y h j K.
  Proof using within.
    pose proof (exp_pos t) as pos.
    induction 1 as [x r b s y le arg ex prod|l1 l2 r s1 s2 s y1 y2 y k h1 h2 j1 j2 K1 K2 _ IH1 _ IH2 part sums moments
                   |l r r' s y b f p q s' y' h j K _ IH le arg ex prod term sum product|l l' r s y h j K _ IH same].
    - cbn [map]. apply streamed_at_item with b; [apply Rmult_le_compat_l; lra| |exact ex|exact prod].
      rewrite <- Rmult_minus_distr_l. now apply scaled_argument.
    - rewrite map_app. now apply streamed_at_addition with s1 s2 y1 y2.
    - apply streamed_at_rescaled with (exp t * r) s y b f p q; try easy; [apply Rmult_le_compat_l; lra|].
      rewrite <- Rmult_minus_distr_l. now apply scaled_argument.
    - apply streamed_at_reordered with (times l); [exact IH|now apply Permutation_map].
  Qed.

  Lemma scaled_summed l r s h j K : summed_at M l r s h j K -> summed_at N (times l) (exp t * r) s h j K.
  Proof using within.
    pose proof (exp_pos t) as pos.
    induction 1 as [x r b s le arg ex|l1 l2 r s1 s2 s k h1 h2 j1 j2 K1 K2 _ IH1 _ IH2 part added
                   |l r r' s b f s' h j K _ IH le arg ex prod|l l' r s h j K _ IH same].
    - cbn [map]. apply summed_at_item with b; [apply Rmult_le_compat_l; lra| |exact ex].
      rewrite <- Rmult_minus_distr_l. now apply scaled_argument.
    - rewrite map_app. now apply summed_at_addition with s1 s2.
    - apply summed_at_rescaled with (exp t * r) s b f; [exact IH|apply Rmult_le_compat_l; lra| |exact ex|exact prod].
      rewrite <- Rmult_minus_distr_l. now apply scaled_argument.
    - apply summed_at_reordered with (times l); [exact IH|now apply Permutation_map].
  Qed.

  Lemma scaled_maximum_of m l : is_maximum m l -> is_maximum (exp t * m) (times l).
  Proof.
    pose proof (exp_pos t) as pos. intros [inm above]. split; [now apply in_map|].
    intros x inx. apply in_map_iff in inx as [x0 [<- inx]]. apply Rmult_le_compat_l; [lra|now apply above].
  Qed.

  Lemma scaled_conversion m m' l l' : converted 0 m l m' l' -> converted 0 (exp t * m) (times l) (exp t * m') (times l').
  Proof.
    intros conv. pose proof (exp_pos t) as pos. unfold converted in *. induction conv as [|x x' l l' close _ IH]; [constructor|].
    cbn [map]. constructor; [|exact IH].
    replace (exp t * m' - exp t * x' - (exp t * m - exp t * x)) with (exp t * (m' - x' - (m - x))) by ring.
    rewrite Rabs_mult, <- (Rmult_0_r (Rabs (exp t))). apply Rmult_le_compat_l; [apply Rabs_pos|exact close].
  Qed.

  Theorem scaled_sum m logits s h j : sum_of_row M 0 m logits s h j -> sum_of_row N 0 (exp t * m) (times logits) s h j.
  Proof using within.
    intros [max [m' [l' [g [K [max' [conv [tree [high [few none]]]]]]]]]]. constructor; [now apply scaled_maximum_of|].
    exists (exp t * m'), (times l'), g, K. split; [now apply scaled_maximum_of|].
    split; [now apply scaled_conversion|]. split; [now apply scaled_summed|]. split; [exact high|]. split; [|easy].
    unfold size in *. now rewrite map_length.
  Qed.

  Theorem scaled_moments m logits s y h j :
    moments_of_row M 0 m logits s y h j -> moments_of_row N 0 (exp t * m) (times logits) s y h j.
  Proof using within.
    intros [max [m' [l' [g [K [max' [conv [tree [high [few none]]]]]]]]]]. constructor; [now apply scaled_maximum_of|].
    exists (exp t * m'), (times l'), g, K. split; [now apply scaled_maximum_of|]. split; [now apply scaled_conversion|].
    split; [now apply scaled_tree|]. split; [exact high|]. split; [|easy]. unfold size in *. now rewrite map_length.
  Qed.

  Theorem scaled_element out m j s x p :
    computed_element M out 0 m j s x p -> computed_element N out 0 (exp t * m) j s (exp t * x) p.
  Proof using within.
    pose proof (exp_pos t) as pos. intros [D [v [q [close [num [rat rest]]]]]]. exists (exp t * D), v, q.
    split; [|split; [|split; [|exact rest]]].
    - replace (exp t * D - (exp t * m - exp t * x)) with (exp t * (D - (m - x))) by ring.
      rewrite Rabs_mult, <- (Rmult_0_r (Rabs (exp t))). apply Rmult_le_compat_l; [apply Rabs_pos|exact close].
    - destruct num as [b v hD arg ex|D0 D1 b0 v0 b1 f v late h0 h1 both arg0 ex0 arg1 ex1 product].
      + apply numerator_direct with b; [apply Rmult_le_pos; lra|now apply scaled_argument|exact ex].
      + apply numerator_late with (exp t * D0) (exp t * D1) b0 v0 b1 f; try easy;
          [apply Rmult_le_pos; lra|apply Rmult_le_pos; lra|rewrite <- both; ring|now apply scaled_argument|now apply scaled_argument].
    - destruct rat as [q product|i q inverse product]; [now apply ratio_division|now apply ratio_reciprocal with i].
  Qed.
End Scaled.
