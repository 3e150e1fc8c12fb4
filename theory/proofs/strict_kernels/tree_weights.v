(** * The weights of the tree kernels are computed exponentials of the model of arithmetic.

    Main results
    - [tree_weight_is_computed]  tree_weight is 2^64 times a computed exponential of the model, at any argument <= 0
    - [weight_at_zero]           at 0 it is 2^64

    Source: kernels/block/tree_order.hpp. *)

From Coq Require Import Reals ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck Require Import standard_interval.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers strict_operations strict_exponential strict_weights tree_order.
Local Open Scope R_scope.

Section Weights.
  Context (A : nat) (step : R) (few : (A <= 12)%nat) (small_step : 0 <= step <= / 2).
  Notation M := (strict_arithmetic A step).

  Lemma vanished z : less exp_vanishing z = false -> tree_weight (with_weight z) = zero.
  Proof. intros far. unfold with_weight. rewrite far. apply B2SF_inj. vm_compute. reflexivity. Qed.

  (** Between -132.4 and -110 it is tiny. *)
  Lemma tiny_weight z a :
    is_value z a -> -1324 / 10 <= a <= -110 -> exists v, is_value (tree_weight z) (v * two_to 64) /\ 0 <= v <= two_to (-157).
  Proof.
    intros hz range. pose proof u32_range as u0.
    destruct (operations_are_certified_far z a hz ltac:(lra)) as [k [tail [kK [_ [hr [ht [_ [t_size [_ err]]]]]]]]].
    assert (one_number : number binary32 1) by (apply (value_number one), one_value). apply Rabs_le_inv in t_size.
    pose proof (fl_sum_error 1 tail one_number (value_number _ _ ht)) as s_err. rewrite (Rabs_right (1 + tail)) in s_err by lra.
    assert (hs : is_value (add one (tail_of (reduced z (rounded_count z)))) (fl32 (1 + tail))).
    { apply add_value; [apply one_value|easy|]. apply Rle_trans with (two_to 1); [apply Rabs_le; cbn; lra|apply bpow_le; lia]. }
    pose proof (fl_nonneg (1 + tail) ltac:(lra)) as p0. set (p := fl32 (1 + tail)) in *. unfold tree_weight.
    destruct (Z.eq_dec k (-191)) as [->|counts].
    { exists 0. rewrite (no_power _ hr), Rmult_0_l. split; [|pose proof (bpow_gt_0 radix2 (-157)); lra].
      eapply value_at; [apply (mul_value _ _ _ _ hs zero_value)|]; rewrite Rmult_0_r; [rewrite Rabs_R0; apply bpow_ge_0|apply fl_0]. }
    pose proof (power_is_made_of_bits _ k ltac:(lia) hr) as power. pose proof (bpow_gt_0 radix2 k) as power_pos.
    assert (down : exp a <= two_to (-158)).
    { rewrite (bpow_exp radix2). apply exp_le. change (IZR radix2) with 2. assert (ln 2 <= 695 / 1000) by enclose. lra. }
    pose proof (exp_pos a) as positive. apply Rabs_le_inv in s_err, err. assert (0 <= 1 + tail <= 2) by lra. set (whole := 1 + tail) in *.
    assert (u32 * whole <= / 16777216 * whole) by (apply Rmult_le_compat_r; lra).
    assert (part : p * two_to k <= 11 / 10 * (whole * two_to k)) by (rewrite <- Rmult_assoc; apply Rmult_le_compat_r; lra).
    assert (u32 * exp a <= / 16777216 * exp a) by (apply Rmult_le_compat_r; lra).
    assert (small : 0 <= p * two_to k <= two_to (-157)).
    { split; [apply Rmult_le_pos; lra|]. change (-157)%Z with (1 + -158)%Z. rewrite (bpow_plus _ 1). change (two_to 1) with 2. lra. }
    assert (size : 0 <= p * two_to (k + 64) <= two_to (-93)).
    { rewrite bpow_plus, <- Rmult_assoc. change (-93)%Z with (-157 + 64)%Z. rewrite (bpow_plus _ (-157)).
      split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; try apply bpow_ge_0; lra. }
    exists (fl32 (p * two_to (k + 64)) * two_to (-64)).
    assert (back : two_to (-64) * two_to 64 = 1) by (rewrite <- bpow_plus; reflexivity). split.
    - eapply value_at; [apply (mul_value _ _ _ _ hs power)|rewrite Rmult_assoc, back; ring].
      rewrite Rabs_right by lra. apply Rle_trans with (two_to (-93)); [easy|apply bpow_le; lia].
    - pose proof (fl_nonneg _ (proj1 size)). pose proof (fl_within (p * two_to (k + 64)) (-93) ltac:(lia) ltac:(rewrite Rabs_right by lra; apply size)) as most.
      rewrite Rabs_right in most by lra. change (-157)%Z with (-93 + -64)%Z. rewrite (bpow_plus _ (-93)).
      split; [apply Rmult_le_pos; [easy|apply bpow_ge_0]|apply Rmult_le_compat_r; [apply bpow_ge_0|easy]].
  Qed.

  Theorem tree_weight_is_computed z a :
    is_value z a -> a <= 0 ->
    exists v b, is_value (tree_weight (with_weight z)) (v * two_to 64) /\ 0 <= v <= 2 /\ computed_exp M (- a) v /\
      is_value (with_weight z) (- b) /\ 0 <= b <= 256 /\ v * b = v * - a.
  Proof using few small_step.
    intros hz le. destruct (less exp_vanishing z) eqn:above.
    - assert (same : with_weight z = z) by (unfold with_weight; now rewrite above). rewrite same.
      apply (less_value _ _ _ _ vanishing_value hz) in above. destruct (Rlt_dec (-110) a) as [near|low].
      + destruct (numerator_is_computed A step few small_step z a hz le) as [v [hv [exps range]]]. exists v, (- a).
        rewrite Ropp_involutive. split; [|split; [|split; [easy|split; [easy|lra]]]].
        * replace (tree_weight z) with (scaled_exponential z); [easy|]. unfold scaled_exponential, scaled_exponential_parts, tree_weight.
          rewrite (proj2 (less_value _ _ _ _ lowest_value hz) near). cbn [value]. reflexivity.
        * pose proof (bpow_gt_0 radix2 (-161)). lra.
      + destruct (tiny_weight z a hz ltac:(lra)) as [v [hv range]]. exists v, (- a). rewrite Ropp_involutive.
        split; [easy|]. split; [assert (two_to (-157) <= two_to 0) by (apply bpow_le; lia); cbn in *; lra|].
        split; [|split; [easy|lra]]. apply (little_is_computed A step few small_step).
        * lra.
        * pose proof (bpow_le radix2 (-157) (-150) ltac:(lia)). pose proof half_quantum_positive. fold half_quantum in *. lra.
        * assert (69 / 100 <= ln 2) by enclose. lra.
    - exists 0, (8676966 / 65536). rewrite (vanished z above). unfold with_weight. rewrite above, !Rmult_0_l.
      assert (-110 <= a -> False); [intros near|].
      { rewrite (proj2 (less_value _ _ _ _ vanishing_value hz)) in above by lra. discriminate. }
      split; [apply zero_value|]. split; [lra|]. split; [apply (nothing_is_computed A step few small_step); lra|].
      split; [|lra]. eapply value_at; [apply vanishing_value|lra].
  Qed.

  Lemma gone_item z x m :
    less exp_vanishing z = false ->
    match x with Some l => l <= m /\ exists b, 110 <= b /\ computed_argument M (m - l) b | None => True end ->
    is_item A step m x (tree_weight (with_weight z)) (with_weight z).
  Proof using few small_step.
    intros far reason. exists 0, (8676966 / 65536). rewrite (vanished z far), Rmult_0_l. unfold with_weight. rewrite far.
    split; [lra|]. split; [lra|]. split; [apply zero_value|]. split; [eapply value_at; [apply vanishing_value|lra]|].
    destruct x as [l|]; [|easy]. destruct reason as [le [b [beyond arg]]]. split; [easy|]. exists b. split; [easy|].
    split; [now apply (nothing_is_computed A step few small_step)|ring].
  Qed.
End Weights.

Lemma weight_at_zero z : is_value z 0 -> tree_weight (with_weight z) = dyadic 1 64.
Proof.
  intros [finite value]. destruct z as [b| | |b m e bounded]; try discriminate; [destruct b; apply B2SF_inj; vm_compute; reflexivity|].
  exfalso. destruct b.
  - assert (val (B754_finite true m e bounded) < 0) by (apply F2R_lt_0; reflexivity). lra.
  - assert (0 < val (B754_finite false m e bounded)) by (apply F2R_gt_0; reflexivity). lra.
Qed.
