(** * Variants of attention: a sliding window, an attention sink, capped logits.

    Main results
    - [window]                  at most W items of spread delta: every coefficient is at least e^(-delta/theta) / W,
                                however long the text: such a head does not disperse
    - [sink_coefficient]        with a sink among the scores no item's coefficient grows
    - [sink_dispersion_length]  so that Lemma 2.1's N(eps) still holds
    - [sink_entropy_floor]      items in [lo, hi], sink sigma: the n + 1 coefficients have at least the entropy floor of
                                n + 1 logits of spread max(hi, sigma) - min(lo, sigma)
    - [softcap_logit]           |c tanh(x / c)| <= c, and <= c tanh(X / c) where |x| <= X
    - [softcap_spread]          |c tanh(x / c) - c tanh(y / c)| <= 2 c tanh(|x - y| / (2 c))
    - [softcap_row]             so that logits of spread delta have, capped, the spread 2 c tanh(delta / (2 c)), which
                                two of them reach

    Source: Beltagy et al., arXiv 2004.05150 (window); Xiao et al., arXiv 2309.17453 (sink); Gemma 2, arXiv 2408.00118
    (cap); the bounds are this project's. *)

From softcheck Require Import softmax lemma_2_1 entropy_bounds.
Local Open Scope R_scope.

(** ** A window of W items *)

(** Lemma 2.1's lower bound, which falls with n, at its largest n. *)
Theorem window (W : nat) logits delta theta p :
  0 < theta -> (length logits <= W)%nat -> spread_at_most delta logits ->
  In p (softmax (tempered theta logits)) ->
  0 < exp (- (delta / theta)) / INR W <= p.
Proof.
  intros heated few within inp. assert (some : 1 <= size logits). { apply size_at_least_one. intros ->. easy. }
  assert (size logits <= INR W) by now apply le_INR. pose proof (exp_pos (- (delta / theta))) as pos.
  split; [monotone|]. eapply Rle_trans; [|exact (lower logits delta theta p heated within inp)].
  apply Rmult_le_compat_l; [lra|]. monotone.
Qed.

(** ** A sink: one more score in the denominator, whose item has no value *)

(** The sum in the denominator grows by e^sink. *)
Theorem sink_coefficient sink logits x : In x logits -> coefficient (sink :: logits) x <= coefficient logits x.
Proof.
  intros inx. assert (pos : 0 < partition_function logits) by now apply partition_pos, (in_not_nil x).
  apply Rmult_le_compat_l; [monotone|]. apply Rinv_le_contravar; [easy|]. unfold partition_function, sum.
  cbn [map fold_right]. pose proof (exp_pos sink). lra.
Qed.

(** The coefficient without the sink is below eps already. *)
Theorem sink_dispersion_length sink logits delta theta eps :
  0 < theta -> 0 < eps -> spread_at_most delta logits -> sharp_length delta theta eps < size logits ->
  forall x, In x (tempered theta logits) -> coefficient (sink :: tempered theta logits) x < eps.
Proof.
  intros heated pos within long x inx. eapply Rle_lt_trans; [now apply sink_coefficient|].
  eapply Rle_lt_trans; [apply (sharp_upper logits delta theta); [easy | easy | now apply in_map]|].
  apply sharp_upper_below_iff; [|easy|easy]. apply size_at_least_one. intros ->. easy.
Qed.

(** The row of items and sink lies in [min(lo, sigma), max(hi, sigma)]. *)
Theorem sink_entropy_floor sink lo hi logits :
  (forall x, In x logits -> lo <= x <= hi) ->
  entropy_floor (S (length logits)) (Rmax hi sink - Rmin lo sink) <= entropy (sink :: logits).
Proof.
  intros between. apply (entropy_at_least_floor _ (sink :: logits)); [easy|]. apply spread_within.
  pose proof (Rmax_l hi sink). pose proof (Rmax_r hi sink). pose proof (Rmin_l lo sink). pose proof (Rmin_r lo sink).
  intros x [<- | inx]; [lra|]. specialize (between x inx). lra.
Qed.

(** ** Capped logits *)

Definition softcap (c x : R) : R := c * tanh (x / c).

(** 1 - 2 / (e^(2x) + 1). *)
Lemma tanh_ratio x : tanh x = 1 - 2 / (exp (2 * x) + 1).
Proof.
  unfold tanh, sinh, cosh. pose proof (exp_pos x). rewrite exp_Ropp.
  replace (exp (2 * x)) with (exp x * exp x) by (rewrite <- exp_plus; f_equal; ring). field. repeat split; nra.
Qed.

Lemma tanh_le x y : x <= y -> tanh x <= tanh y.
Proof.
  intros less. rewrite !tanh_ratio. pose proof (exp_pos (2 * x)). pose proof (exp_pos (2 * y)).
  assert (exp (2 * x) <= exp (2 * y)) by monotone. assert (/ (exp (2 * y) + 1) <= / (exp (2 * x) + 1)) by monotone.
  unfold Rdiv. lra.
Qed.

Lemma tanh_opp x : tanh (- x) = - tanh x.
Proof.
  unfold tanh, sinh, cosh. rewrite Ropp_involutive. pose proof (exp_pos x). pose proof (exp_pos (- x)). field. lra.
Qed.

Lemma tanh_below_one x : tanh x < 1.
Proof. rewrite tanh_ratio. pose proof (exp_pos (2 * x)). assert (0 < 2 / (exp (2 * x) + 1)) by monotone. lra. Qed.

Lemma tanh_zero : tanh 0 = 0.
Proof. unfold tanh, sinh. rewrite Ropp_0. field. unfold cosh. rewrite Ropp_0, exp_0. lra. Qed.

(** tanh is odd and grows. *)
Lemma tanh_abs x : Rabs (tanh x) = tanh (Rabs x).
Proof.
  unfold Rabs at 2. destruct (Rcase_abs x) as [neg | nonneg].
  - rewrite tanh_opp. apply Rabs_left1. rewrite <- tanh_zero. apply tanh_le. lra.
  - apply Rabs_pos_eq. rewrite <- tanh_zero. apply tanh_le. lra.
Qed.

Lemma softcap_abs c x : 0 < c -> Rabs (softcap c x) = c * tanh (Rabs x / c).
Proof.
  intros pos. unfold softcap. rewrite Rabs_mult, (Rabs_pos_eq c), tanh_abs by lra. do 2 f_equal. unfold Rdiv.
  rewrite Rabs_mult, (Rabs_pos_eq (/ c)); [easy|]. monotone.
Qed.

Theorem softcap_logit c x :
  0 < c -> Rabs (softcap c x) < c /\ forall X, Rabs x <= X -> Rabs (softcap c x) <= softcap c X.
Proof.
  intros pos. rewrite softcap_abs by easy. split.
  - rewrite <- Rmult_1_r. apply Rmult_lt_compat_l; [easy | apply tanh_below_one].
  - intros X below. apply Rmult_le_compat_l; [lra|]. apply tanh_le.
    apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat | easy].
Qed.

(** With b = e^(2y) and r = e^(x-y) the difference of the two sides has the sign of (r - 1) (b r - 1)^2. *)
Lemma tanh_difference x y : y <= x -> tanh x - tanh y <= 2 * tanh ((x - y) / 2).
Proof.
  intros less. rewrite !tanh_ratio. set (b := exp (2 * y)). set (r := exp (x - y)). assert (0 < b) by apply exp_pos.
  assert (1 <= r) by (rewrite <- exp_0; apply exp_le; lra).
  replace (exp (2 * x)) with (b * (r * r)) by (unfold b, r; rewrite <- !exp_plus; f_equal; ring).
  replace (exp (2 * ((x - y) / 2))) with r by (unfold r; f_equal; field). assert (0 < b * (r * r)) by monotone.
  enough (0 <= 2 * (r - 1) * (b * r - 1) ^ 2 / ((r + 1) * (b + 1) * (b * (r * r) + 1))) as nonneg.
  { replace (2 * (r - 1) * (b * r - 1) ^ 2 / ((r + 1) * (b + 1) * (b * (r * r) + 1)))
      with (2 * (1 - 2 / (r + 1)) - (1 - 2 / (b * (r * r) + 1) - (1 - 2 / (b + 1)))) in nonneg by (field; lra).
    lra. }
  apply Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat; repeat apply Rmult_lt_0_compat; lra].
  apply Rmult_le_pos; [lra | apply pow2_ge_0].
Qed.

(** The larger of the two first. *)
Theorem softcap_spread c x y : 0 < c -> Rabs (softcap c x - softcap c y) <= 2 * softcap c (Rabs (x - y) / 2).
Proof.
  intros pos. assert (one_side : forall x y, y <= x -> softcap c x - softcap c y <= 2 * softcap c ((x - y) / 2)).
  { clear x y. intros x y less. unfold softcap. rewrite <- Rmult_minus_distr_l.
    replace (2 * (c * tanh ((x - y) / 2 / c))) with (c * (2 * tanh ((x / c - y / c) / 2)))
      by (replace ((x / c - y / c) / 2) with ((x - y) / 2 / c) by (field; lra); ring).
    apply Rmult_le_compat_l; [lra|]. apply tanh_difference.
    apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat | easy]. }
  assert (grows : forall x y, y <= x -> softcap c y <= softcap c x).
  { intros u v less. apply Rmult_le_compat_l; [lra|]. apply tanh_le.
    apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat | easy]. }
  destruct (Rle_dec y x) as [le | gt].
  - rewrite !Rabs_pos_eq; [now apply one_side | lra | specialize (grows x y le); lra].
  - assert (le : x <= y) by lra. rewrite (Rabs_minus_sym (softcap c x)), (Rabs_minus_sym x).
    rewrite !Rabs_pos_eq; [now apply one_side | lra | specialize (grows y x le); lra].
Qed.

(** Two logits at delta/2 and -delta/2 reach it. *)
Theorem softcap_row c delta :
  0 < c -> 0 <= delta ->
  (forall logits, spread_at_most delta logits -> spread_at_most (2 * softcap c (delta / 2)) (map (softcap c) logits)) /\
  (spread_at_most delta [delta / 2; - (delta / 2)] /\
   softcap c (delta / 2) - softcap c (- (delta / 2)) = 2 * softcap c (delta / 2)).
Proof.
  intros pos nonneg. split.
  - intros logits within e e' ine ine'. apply in_map_iff in ine as [x [<- inx]].
    apply in_map_iff in ine' as [y [<- iny]]. eapply Rle_trans; [apply Rle_abs|].
    eapply Rle_trans; [now apply softcap_spread|]. apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; [lra|].
    apply tanh_le. apply Rmult_le_compat_r; [monotone|]. pose proof (within x y inx iny).
    pose proof (within y x iny inx). assert (Rabs (x - y) <= delta) by (apply Rabs_le; lra). lra.
  - split.
    + intros x y [<- | [<- | []]] [<- | [<- | []]]; lra.
    + unfold softcap. replace (- (delta / 2) / c) with (- (delta / 2 / c)) by (field; lra). rewrite tanh_opp. ring.
Qed.

(** ** The premises can be met, and the bounds are not too wide *)

(** In a full window of equal logits every coefficient is 1 / W. *)
Example window_is_reached : spread_at_most 0 [0; 0] /\ In (exp (- (0 / 1)) / INR 2) (softmax (tempered 1 [0; 0])).
Proof.
  split; [intros x y [<- | [<- | []]] [<- | [<- | []]]; lra|]. left. cbn.
  unfold coefficient, partition_function, sum. cbn. unfold Rdiv. rewrite !Rmult_0_l, Ropp_0, exp_0. field.
Qed.

(** Three items of spread 0 and a sink beside them: N(1/2) = 2. *)
Example sink_dispersion_length_inhabited : spread_at_most 0 [0; 0; 0] /\ sharp_length 0 1 (1 / 2) < size [0; 0; 0].
Proof.
  split; [intros x y [<- | [<- | [<- | []]]] [<- | [<- | [<- | []]]]; lra|].
  unfold sharp_length, size, Rdiv. rewrite Rmult_0_l, exp_0. cbn. lra.
Qed.

(** A row of one item and a sink d below it has the least entropy at spread d. *)
Example sink_entropy_floor_is_reached d : 0 <= d -> entropy_floor 2 (Rmax d 0 - Rmin d 0) = entropy [0; d].
Proof.
  intros nonneg. rewrite Rmax_left, Rmin_right by easy. rewrite Rminus_0_r.
  rewrite (entropy_permutation [0; d] (two_level_row 2 1 d)) by apply Permutation.perm_swap.
  now rewrite entropy_two_level_row by lia.
Qed.

(** The bound without its 2, c tanh(|x - y| / (2 c)), is too small. *)
Example softcap_needs_its_two : softcap 1 1 - softcap 1 (- 1) > softcap 1 (Rabs (1 - - 1) / 2).
Proof.
  assert (half : Rabs (1 - - 1) / 2 = 2 / 2) by (rewrite Rabs_pos_eq; lra). rewrite half.
  destruct (softcap_row 1 2 ltac:(lra) ltac:(lra)) as [_ [_ attained]].
  replace (softcap 1 1) with (softcap 1 (2 / 2)) by (f_equal; field). replace (- 1) with (- (2 / 2)) by field.
  rewrite attained. enough (0 < softcap 1 (2 / 2)) by lra. unfold softcap. rewrite tanh_ratio.
  set (E := exp (2 * (2 / 2 / 1))). assert (1 < E) by (unfold E; rewrite <- exp_0 at 1; apply exp_increasing; lra).
  replace (1 * (1 - 2 / (E + 1))) with ((E - 1) / (E + 1)) by (field; lra). monotone.
Qed.
