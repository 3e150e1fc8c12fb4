(** * Corollary B.1: attention over [a, b, ..., b] loses a, in exact terms and in a floating-point format.

    Main results (alpha_1 = 1/(1 + (n-1) e^(-delta/theta)), the coefficient of the item with the larger logit)
    - [concrete_row]           it is the first coefficient of [delta, 0, ..., 0]
    - [coefficient_vanishes]   alpha_1 < u once n > e^(delta/theta) / u, and already beyond the sharp length
    - [smallest_length]        up to the sharp length it is not
    - [output_collapses]       alpha_1 |f(a) - f(b)| < ulp(f(b)) / 4: rounding to nearest returns f(b) exactly
    - [collapsing_length]      which holds once n > 1 + e^(delta/theta) (4 |f(a) - f(b)| / ulp(f(b)) - 1)
    - [vanished_is_not_collapsed]   alpha_1 < u alone is not enough, as a number of binary32 shows

    Source: paper, Corollary B.1, which takes the two steps in one; they need two lengths. *)

From Coq Require Import ZArith.
From Flocq Require Import Core.
From softcheck Require Import softmax lemma_2_1 theorem_2_2.
Local Open Scope R_scope.

(** n may be any real number >= 1. *)
Definition leading_coefficient (n delta theta : R) : R := 1 / (1 + (n - 1) * exp (- (delta / theta))).

Theorem concrete_row n delta theta :
  (1 <= n)%nat ->
  coefficient (tempered theta (two_valued_row delta 0 n)) (delta / theta) = leading_coefficient (INR n) delta theta.
Proof.
  intros many. rewrite coefficient_two_valued_row by easy. unfold leading_coefficient. do 4 f_equal. unfold Rdiv. ring.
Qed.

(** ** The coefficient vanishes *)

(** alpha_1 is Lemma 2.1's sharp upper bound; the sharp length is not longer than the paper's. *)
Theorem coefficient_vanishes n delta theta u :
  1 <= n -> 0 <= delta -> 0 < theta -> 0 < u ->
  (lemma_2_1.sharp_length delta theta u < n -> leading_coefficient n delta theta < u) /\
  (paper_length theta delta u < n -> leading_coefficient n delta theta < u).
Proof.
  intros many nonneg heated pos.
  assert (sharp : lemma_2_1.sharp_length delta theta u < n -> leading_coefficient n delta theta < u).
  { now apply sharp_upper_below_iff. } split; [exact sharp|]. intros long. apply sharp.
  eapply Rle_lt_trans; [now apply theorem_2_2.sharp_length | exact long].
Qed.

Theorem smallest_length n delta theta u :
  1 <= n -> 0 < u -> n <= lemma_2_1.sharp_length delta theta u -> u <= leading_coefficient n delta theta.
Proof.
  intros many pos short. apply Rnot_lt_le. unfold leading_coefficient. rewrite sharp_upper_below_iff by easy. lra.
Qed.

(** ** The output collapses *)

Section Format.
  (** Numbers of prec bits, gradual underflow below 2^(emin + prec): binary16, bfloat16, binary32, binary64, with any
      rule for ties. *)
  Context (emin prec : Z) (choice : Z -> bool) (some_bits : Prec_gt_0 prec).

  Definition is_number (x : R) : Prop := generic_format radix2 (FLT_exp emin prec) x.
  Definition spacing (x : R) : R := ulp radix2 (FLT_exp emin prec) x.
  Definition nearest (x : R) : R := round radix2 (FLT_exp emin prec) (Znearest choice) x.

  Lemma spacing_pos x : 0 < spacing x.
  Proof.
    unfold spacing. destruct (Req_dec x 0) as [-> | nonzero].
    - rewrite ulp_FLT_0 by exact some_bits. apply bpow_gt_0.
    - rewrite ulp_neq_0 by easy. apply bpow_gt_0.
  Qed.

  (** Towards zero the spacing may be half as wide: just below a power of two. *)
  Lemma previous_at_least_half x : 0 < x -> is_number x -> pred radix2 (FLT_exp emin prec) x <= x - spacing x / 2.
  Proof.
    intros pos number. unfold spacing. rewrite pred_eq_pos by lra. unfold pred_pos.
    pose proof (ulp_ge_0 radix2 (FLT_exp emin prec) x).
    destruct (Req_bool_spec x (bpow radix2 (mag radix2 x - 1))); [|lra].
    rewrite ulp_neq_0 by lra. unfold cexp. set (e := mag radix2 x : Z).
    enough (bpow radix2 (FLT_exp emin prec e - 1) <= bpow radix2 (FLT_exp emin prec (e - 1))) as enough.
    { unfold Zminus in enough at 1. rewrite bpow_plus in enough. cbn in enough. lra. }
    apply bpow_le. unfold FLT_exp. lia.
  Qed.

  (** Away from zero a neighbour is one spacing away, towards zero at least half of one. *)
  Lemma neighbours_at_least_half x :
    is_number x ->
    pred radix2 (FLT_exp emin prec) x <= x - spacing x / 2 /\ x + spacing x / 2 <= succ radix2 (FLT_exp emin prec) x.
  Proof.
    intros number. pose proof (ulp_ge_0 radix2 (FLT_exp emin prec) x) as nonneg. fold (spacing x) in nonneg.
    assert (opposite : spacing (- x) = spacing x) by apply ulp_opp.
    destruct (Rtotal_order x 0) as [negative | [-> | positive]].
    - split.
      + rewrite <- (Ropp_involutive x) at 1. rewrite pred_opp, succ_eq_pos by lra. fold (spacing (- x)). lra.
      + rewrite <- (Ropp_involutive x) at 3. rewrite succ_opp.
        pose proof (previous_at_least_half (- x) ltac:(lra) (generic_format_opp _ _ _ number)). lra.
    - split.
      + rewrite <- Ropp_0 at 1. rewrite pred_opp, succ_eq_pos by lra. fold (spacing 0). lra.
      + rewrite succ_eq_pos by lra. fold (spacing 0). lra.
    - split; [now apply previous_at_least_half|]. rewrite succ_eq_pos by lra. fold (spacing x). lra.
  Qed.

  (** A number moved by less than a quarter of its spacing rounds back. *)
  Lemma nearest_absorbs x w : is_number x -> Rabs w < spacing x / 4 -> nearest (x + w) = x.
  Proof.
    intros number small. destruct (neighbours_at_least_half x number) as [below above].
    apply Rabs_lt_inv in small. apply Rle_antisym.
    - apply round_N_le_midp; [exact _ | exact number | lra].
    - apply round_N_ge_midp; [exact _ | exact number | lra].
  Qed.

  (** The exact output lies within a quarter of the spacing around f(b). *)
  Theorem output_collapses alpha first other :
    is_number other -> Rabs (alpha * (first - other)) < spacing other / 4 ->
    nearest (alpha * first + (1 - alpha) * other) = other.
  Proof.
    intros number small. replace (alpha * first + (1 - alpha) * other) with (other + alpha * (first - other)) by ring.
    now apply nearest_absorbs.
  Qed.

  (** alpha_1 < eps = ulp / (4 |f(a) - f(b)|) beyond the sharp length of eps. *)
  Theorem collapsing_length n delta theta first other :
    1 <= n -> first <> other -> is_number other ->
    1 + exp (delta / theta) * (4 * Rabs (first - other) / spacing other - 1) < n ->
    nearest (leading_coefficient n delta theta * first + (1 - leading_coefficient n delta theta) * other) = other.
  Proof.
    intros many different number long. apply output_collapses; [easy|]. pose proof (spacing_pos other) as pos.
    assert (0 < Rabs (first - other)) by (apply Rabs_pos_lt; lra).
    set (eps := spacing other / (4 * Rabs (first - other))). assert (0 < eps) by (apply Rdiv_lt_0_compat; lra).
    assert (small : leading_coefficient n delta theta < eps).
    { apply sharp_upper_below_iff; [easy | easy|]. eapply Rle_lt_trans; [|exact long]. apply Req_le.
      unfold lemma_2_1.sharp_length, eps. field. lra. }
    assert (0 < leading_coefficient n delta theta).
    { apply Rdiv_lt_0_compat; [lra|]. apply one_plus_others_pos; [easy | apply exp_pos]. }
    rewrite Rabs_mult, Rabs_right by lra. apply (Rmult_lt_compat_r (Rabs (first - other))) in small; [|easy].
    replace (spacing other / 4) with (eps * Rabs (first - other)) by (unfold eps; field; lra). exact small.
  Qed.
End Format.

(** ** The two lengths differ *)

(** Equal logits, n = 2^25: alpha_1 = 2^(-25) is below binary32's u = 2^(-24), but f(a) = 2^26 still moves f(b) = 1
    beyond 2. *)
Theorem vanished_is_not_collapsed choice :
  let alpha := leading_coefficient (bpow radix2 25) 0 1 in
  alpha < bpow radix2 (-24) /\
  nearest (-149) 24 choice (alpha * bpow radix2 26 + (1 - alpha) * 1) <> 1.
Proof.
  assert (value : leading_coefficient (bpow radix2 25) 0 1 = bpow radix2 (-25)).
  { unfold leading_coefficient. replace (- (0 / 1)) with 0 by field. rewrite exp_0. cbn. field. } cbv zeta.
  rewrite value. split; [apply bpow_lt; lia|]. apply Rgt_not_eq. apply Rlt_le_trans with (bpow radix2 1); [cbn; lra|].
  apply round_ge_generic; [apply FLT_exp_valid; easy | apply valid_rnd_N | |].
  - apply generic_format_bpow. cbn. lia.
  - cbn. lra.
Qed.
