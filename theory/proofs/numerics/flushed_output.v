(** * Results that a kernel stores in a format whose subnormal numbers it may flush.

    A number is rounded to nearest and, where that is below N, the smallest normal number, may be replaced by 0. A bound
    of such results counts N as the output's loss. A result that is not 0 was not replaced, and lost half of the smallest
    subnormal number at most.

    Main results
    - [stored_flushing]      any result is one of an output that loses at most N
    - [stored_result]        a result that is not 0 is one of an output that loses at most half of the smallest number
    - [flushed_coefficient]  B2 for each: the bound with N, less the excess where the coefficient is not 0
    - [flushed_scalar]       the same of any number that errs by error + loss before it is stored: B5 to B7, B9, B12 to B15,
                             B17, B20, B21
    - [flushed_sum]          a bound of the sum of the numbers as they are rounded, and N for each result of 0 behind it
    - [flushed_most]         a value beyond the bound with N is no result's that was flushed; else a result of 0 lies off by
                             the value itself

    Source: docs/tolerances.md, "The model"; flushing_excess, threshold_of_result, threshold_of_sum and most_granted in
    numerics/rounding/flushed_output.cpp. *)

From Coq Require Import ZArith.
From Flocq Require Import Core.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row reduction b1_sum b2_element element_threshold b5_logsumexp.
Local Open Scope R_scope.

Section Flushed.
  Context (F : format) (tie : Z -> bool) (two : (1 < prec F)%Z).
  Notation u := (unit_roundoff F).
  Notation N := (smallest_normal F).
  Notation half_quantum := (/ 2 * smallest_subnormal F).

  Definition keeping : output_format := {| output_unit := log_unit u; output_floor := half_quantum |}.
  Definition flushing : output_format := {| output_unit := log_unit u; output_floor := N |}.

  (** What a result that is not 0 has too much in a bound with N. *)
  Definition excess (p : R) : R := if Req_EM_T p 0 then 0 else N - half_quantum.

  (** p is what a kernel that may flush makes of y. *)
  Definition stores (y p : R) : Prop := flushes F (nearest F tie y) p.

  Lemma positive : (0 < prec F)%Z.
  Proof using two. lia. Qed.

  Lemma unit_below_one : 0 <= u < 1.
  Proof using two. split; [apply bpow_ge_0|]. change 1 with (bpow radix2 0). apply bpow_lt. lia. Qed.

  Lemma quantum_below_normal : 0 <= half_quantum <= N.
  Proof using two.
    unfold smallest_subnormal, smallest_normal.
    pose proof (bpow_le radix2 (emin F) (emin F + prec F - 1) ltac:(lia)). pose proof (bpow_ge_0 radix2 (emin F)). lra.
  Qed.

  Lemma keeping_sound : sound_output keeping.
  Proof using two. split; [apply log_unit_nonneg, unit_below_one|apply quantum_below_normal]. Qed.

  Lemma flushing_sound : sound_output flushing.
  Proof using two. split; [apply log_unit_nonneg, unit_below_one|apply bpow_ge_0]. Qed.

  Lemma as_logarithm floor y d e :
    Rabs d <= u -> Rabs e <= floor ->
    computed_output {| output_unit := log_unit u; output_floor := floor |} y (y * (1 + d) + e).
  Proof using two. intros bd be. destruct (one_rounding u d unit_below_one bd) as [t [bt ->]]. now exists t, e. Qed.

  (** The number as it is rounded, before anything is flushed. *)
  Lemma rounded_is_kept y :
    computed_output keeping y (nearest F tie y) /\ rounded_output u half_quantum y (nearest F tie y).
  Proof using two.
    destruct (nearest_any F positive tie y) as [d [e [bd [be [_ ->]]]]].
    split; [now apply as_logarithm|now exists d, e].
  Qed.

  Theorem stored_flushing y p : stores y p -> computed_output flushing y p /\ rounded_output u N y p.
  Proof using two.
    intros fl. destruct (flushed_any F positive tie y p two fl) as [d [e [bd [be ->]]]].
    split; [now apply as_logarithm|now exists d, e].
  Qed.

  Theorem stored_result y p : stores y p -> p <> 0 -> computed_output keeping y p /\ rounded_output u half_quantum y p.
  Proof using two. intros [-> |[_ zero]] other; [apply rounded_is_kept|contradiction]. Qed.

  (** ** Bounds *)

  Theorem flushed_scalar exact y p error loss :
    Rabs (y - exact) <= error + loss -> stores y p ->
    Rabs (p - exact) <= error + u * (Rabs exact + error) + (loss * (1 + u) + N) - excess p.
  Proof using two.
    intros close st. unfold excess. destruct (Req_EM_T p 0) as [zero|other].
    - destruct (stored_flushing y p st) as [_ [d [e [bd [be ->]]]]].
      pose proof (rounded_error u exact y d e error loss N bd be close). lra.
    - destruct (stored_result y p st other) as [_ [d [e [bd [be ->]]]]].
      pose proof (rounded_error u exact y d e error loss half_quantum bd be close). lra.
  Qed.

  Theorem flushed_coefficient (M : arithmetic) (kappa m : R) (logits : list R) (s : R) (h j : nat) quantum x D v q p :
    sound M -> sum_of_row M kappa m logits s h j -> lost_sum M kappa m logits h j < 1 ->
    0 < quantum <= 1 -> In x logits ->
    Rabs (D - (m - x)) <= kappa -> numerator M j D v -> ratio M v s q -> stores q p ->
    let C := element_log M flushing kappa m logits h j in
    Rabs (p - coefficient logits x)
    <= (threshold_constant C + threshold_slope quantum C (slope M) * (m - x)) * coefficient logits x
       + (element_floor M flushing kappa m logits h j + threshold_floor quantum) - excess p.
  Proof using two.
    intros good hs some hq inx close num quotient st C. unfold excess. destruct (Req_EM_T p 0) as [zero|other].
    - rewrite Rminus_0_r. apply (b2_element M flushing good flushing_sound kappa m logits s h j hs some quantum x p hq inx).
      exists D, v, q. repeat split; try easy. now apply stored_flushing.
    - pose proof (b2_element M keeping good keeping_sound kappa m logits s h j hs some quantum x p hq inx) as bound.
      assert (kept : computed_element M keeping kappa m j s x p).
      { exists D, v, q. repeat split; try easy. now apply stored_result. }
      specialize (bound kept).
      assert (same : element_log M keeping kappa m logits h j = C) by reflexivity.
      assert (floors : element_floor M keeping kappa m logits h j
                       = element_floor M flushing kappa m logits h j - (N - half_quantum)).
      { unfold element_floor. rewrite same. unfold C. cbn [output_floor keeping flushing]. ring. }
      rewrite same, floors in bound. lra.
  Qed.

  (** How many results of 0 there are. *)
  Definition zeros (ps : list R) : nat := length (filter (fun p => if Req_EM_T p 0 then true else false) ps).

  Theorem flushed_sum exact bound ks ps :
    Forall2 (flushes F) ks ps -> Rabs (sum ks - exact) <= bound ->
    Rabs (sum ps - exact) <= bound + INR (zeros ps) * N.
  Proof using two.
    intros stored close. assert (apart : Rabs (sum ps - sum ks) <= INR (zeros ps) * N).
    { clear close. induction stored as [|k p ks ps fl _ IH].
      { change (INR (zeros [])) with 0. rewrite Rminus_eq_0, Rabs_R0. lra. }
      pose proof (bpow_ge_0 radix2 (emin F + prec F - 1)) as pos. change (0 <= N) in pos.
      assert (each : Rabs (p - k) <= (if Req_EM_T p 0 then 1 else 0) * N).
      { destruct fl as [-> |[small ->]].
        - rewrite Rminus_eq_0, Rabs_R0. destruct (Req_EM_T k 0); lra.
        - destruct (Req_EM_T 0 0) as [_|no]; [|contradiction]. rewrite Rminus_0_l, Rabs_Ropp. lra. }
      assert (count : INR (zeros (p :: ps)) = (if Req_EM_T p 0 then 1 else 0) + INR (zeros ps)).
      { unfold zeros. cbn [filter]. destruct (Req_EM_T p 0); cbn [length]; [rewrite S_INR|]; ring. }
      change (sum (p :: ps) - sum (k :: ks)) with (p + sum ps - (k + sum ks)). rewrite count, Rmult_plus_distr_r.
      replace (p + sum ps - (k + sum ks)) with ((p - k) + (sum ps - sum ks)) by ring. triangle.
      now apply Rplus_le_compat. }
    replace (sum ps - exact) with ((sum ps - sum ks) + (sum ks - exact)) by ring. triangle. lra.
  Qed.

  Theorem flushed_most exact bound p :
    Rabs (p - exact) <= bound - excess p ->
    (bound < Rabs exact -> Rabs (p - exact) <= bound - (N - half_quantum)) /\
    Rabs (p - exact) <= Rmax (bound - (N - half_quantum)) (Rmin bound (Rabs exact)).
  Proof using two.
    unfold excess. destruct (Req_EM_T p 0) as [->|other]; intros close.
    - rewrite Rminus_0_r, Rminus_0_l, Rabs_Ropp in *. split; [lra|].
      eapply Rle_trans; [|apply Rmax_r]. now apply Rmin_glb; [|right].
    - split; [easy|]. eapply Rle_trans; [apply close|apply Rmax_l].
  Qed.
End Flushed.

(** 2^-15 is a number of binary16, below the smallest normal one: a kernel may store it as it is, or as 0. *)
Example half_of_binary16_is_flushed tie :
  let y := two_to (-15) in
  stores binary16 tie y y /\ stores binary16 tie y 0 /\ y <> 0 /\
  Rabs (0 - y) = smallest_normal binary16 - y /\ excess binary16 y = smallest_normal binary16 - / 2 * smallest_subnormal binary16.
Proof.
  intros y. assert (pos : 0 < y) by apply bpow_gt_0. assert (same : nearest binary16 tie y = y).
  { apply round_generic; [typeclasses eauto|]. apply generic_format_bpow. unfold FLT_exp. cbn. lia. }
  assert (normal : smallest_normal binary16 = 2 * y).
  { unfold smallest_normal, y. cbn [emin prec binary16]. change 2 with (two_to 1). rewrite <- bpow_plus. reflexivity. }
  unfold stores, flushes. rewrite same, normal. repeat split.
  - now left.
  - right. rewrite (Rabs_right y) by lra. lra.
  - lra.
  - rewrite Rminus_0_l, Rabs_Ropp, Rabs_right by lra. lra.
  - unfold excess. destruct (Req_EM_T y 0); [lra|]. now rewrite normal.
Qed.
