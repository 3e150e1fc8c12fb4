(** * Rounded operations: half an ulp in absolute terms, exact multiples, Horner's rule with and without FMA.

    Main results, for round to nearest even
    - [rounding_error]       |fl(x) - x| <= 2^e u / 2 where |x| <= 2^e
    - [on_grid]              a number of size 2^e or more is a multiple of 2^(e - p + 1)
    - [neg_mul_add_opposite] c - a b is computed as (-a) b + c
    - [horner_error]         the error of Horner's rule, from the binades of its products and sums

    Source: docs/tolerances/cascade.md, "The exponential of the filter", which rounds by half ulps in the same way. *)

From Coq Require Import Reals List ZArith Lra Lia.
From Flocq Require Import Core.
From softcheck.floating_point Require Import formats.
Import ListNotations.
Local Open Scope R_scope.

Fixpoint horner (cs : list R) (r : R) : R :=
  match cs with [] => 0 | c :: rest => c + r * horner rest r end.

Section Operations.
  Context (F : format).

  Definition fl (x : R) : R := nearest F (fun n => negb (Z.even n)) x.

  Definition mul_add (a b c x : R) : Prop := x = fl (a * b + c) \/ x = fl (fl (a * b) + c).

  Definition neg_mul_add (a b c x : R) : Prop := x = fl (c - a * b) \/ x = fl (c - fl (a * b)).

  Fixpoint computed_horner (cs : list R) (r x : R) : Prop :=
    match cs with
    | [] => False
    | [c] => x = c
    | c :: rest => exists y, computed_horner rest r y /\ mul_add y r c x
    end.

  Hypothesis positive : (0 < prec F)%Z.
  Local Instance precision_positive : Prec_gt_0 (prec F) := positive.

  Lemma number_fl x : number F (fl x).
  Proof. apply generic_format_round; typeclasses eauto. Qed.

  Lemma fl_number x : number F x -> fl x = x.
  Proof. apply round_generic; typeclasses eauto. Qed.

  Lemma fl_monotone x y : x <= y -> fl x <= fl y.
  Proof. apply round_le; typeclasses eauto. Qed.

  (** Rounding is symmetric, so that the filter may compute with D where the kernels have z = -D. *)
  Lemma neg_mul_add_opposite a b c x : neg_mul_add a b c x <-> mul_add (- a) b c x.
  Proof.
    assert (flip : - a * b = - (a * b)) by ring. unfold mul_add, neg_mul_add. rewrite flip.
    replace (fl (- (a * b))) with (- fl (a * b)) by (symmetry; apply round_NE_opp).
    now rewrite (Rplus_comm (- (a * b))), (Rplus_comm (- fl (a * b))).
  Qed.

  Lemma fl_0 : fl 0 = 0.
  Proof. apply round_0; typeclasses eauto. Qed.

  Theorem rounding_error x e :
    (emin F <= e - prec F)%Z -> Rabs x <= two_to e -> Rabs (fl x - x) <= two_to (e - prec F - 1).
  Proof.
    intros normal bound. pose proof (bpow_gt_0 radix2 (e - prec F - 1)) as room.
    destruct (Req_dec x 0) as [->|nonzero]; [rewrite fl_0, Rminus_0_r, Rabs_R0; lra|]. destruct bound as [less|same].
    - eapply Rle_trans; [apply error_le_half_ulp; typeclasses eauto|]. rewrite ulp_neq_0 by easy.
      replace (two_to (e - prec F - 1)) with (/ 2 * two_to (e - prec F)).
      + apply Rmult_le_compat_l; [lra|]. apply bpow_le. unfold cexp, FLT_exp.
        pose proof (mag_le_bpow radix2 x e nonzero less). lia.
      + replace (e - prec F - 1)%Z with (e - prec F + -1)%Z by ring. rewrite bpow_plus. change (two_to (-1)) with (/ 2).
        ring.
    - assert (number F x).
      { apply generic_format_abs_inv. rewrite same. apply generic_format_bpow. unfold FLT_exp. pose proof positive.
        lia. }
      rewrite fl_number by easy. unfold Rminus. rewrite Rplus_opp_r, Rabs_R0. lra.
  Qed.

  Lemma rounding_within x e : (emin F <= e)%Z -> Rabs x <= two_to e -> Rabs (fl x) <= two_to e.
  Proof.
    intros low bound. apply abs_round_le_generic; try typeclasses eauto; [|easy].
    apply generic_format_bpow. unfold FLT_exp. pose proof positive. lia.
  Qed.

  Lemma error_of_sum x y : number F x -> number F y -> Rabs (fl (x + y) - (x + y)) <= unit_roundoff F * Rabs (x + y).
  Proof.
    intros hx hy. destruct (nearest_sum F positive (fun n => negb (Z.even n)) x y hx hy) as [d [bd eq]].
    unfold fl. rewrite eq. replace ((x + y) * (1 + d) - (x + y)) with (d * (x + y)) by ring. rewrite Rabs_mult.
    apply Rmult_le_compat_r; [apply Rabs_pos|easy].
  Qed.

  Lemma rounded_any x : exists d e,
    Rabs d <= unit_roundoff F /\ Rabs e <= two_to (emin F - 1) /\ d * e = 0 /\ fl x = x * (1 + d) + e.
  Proof.
    destruct (nearest_any F positive (fun n => negb (Z.even n)) x) as [d [e [bd [be one]]]].
    exists d, e. split; [easy|]. split; [|exact one]. eapply Rle_trans; [exact be|]. unfold smallest_subnormal, Z.sub.
    rewrite bpow_plus. change (two_to (-(1))) with (/ 2). lra.
  Qed.

  Lemma error_of_rounding x : Rabs (fl x - x) <= unit_roundoff F * Rabs x + two_to (emin F - 1).
  Proof.
    destruct (rounded_any x) as [d [e [bd [be [_ ->]]]]]. replace (x * (1 + d) + e - x) with (d * x + e) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
    apply Rplus_le_compat; [apply Rmult_le_compat_r; [apply Rabs_pos|]|]; easy.
  Qed.

  Lemma number_of_integer m e : (Z.abs m < 2 ^ prec F)%Z -> (emin F <= e)%Z -> number F (IZR m * two_to e).
  Proof. intros few low. apply generic_format_FLT. now exists (Float radix2 m e). Qed.

  (** Numbers of size 2^e and more are multiples of 2^(e - p + 1). *)
  Lemma on_grid x e : number F x -> two_to e <= Rabs x -> exists m, x = IZR m * two_to (e - prec F + 1).
  Proof.
    intros is_number large. assert (exponent : (e - prec F + 1 <= cexp radix2 (FLT_exp (emin F) (prec F)) x)%Z).
    { unfold cexp, FLT_exp. pose proof (mag_ge_bpow radix2 x (e + 1)) as mag_bound.
      replace (e + 1 - 1)%Z with e in mag_bound by ring. specialize (mag_bound large). lia. }
    unfold number, generic_format, F2R in is_number. cbn in is_number. set (m := Ztrunc _) in is_number.
    set (c := cexp _ _ x) in *. exists (m * 2 ^ (c - (e - prec F + 1)))%Z. rewrite mult_IZR, (IZR_Zpower radix2) by lia.
    rewrite Rmult_assoc, <- bpow_plus. rewrite is_number at 1. do 2 f_equal. ring.
  Qed.

  Lemma mul_add_error a b c x e1 e2 :
    (emin F <= e1 - prec F)%Z -> (emin F <= e2 - prec F)%Z -> mul_add a b c x ->
    Rabs (a * b) <= two_to e1 -> Rabs (a * b + c) + two_to (e1 - prec F - 1) <= two_to e2 ->
    Rabs (x - (a * b + c)) <= two_to (e1 - prec F - 1) + two_to (e2 - prec F - 1).
  Proof.
    intros n1 n2 [->| ->] product sum; pose proof (bpow_gt_0 radix2 (e1 - prec F - 1)).
    - pose proof (rounding_error (a * b + c) e2 n2 ltac:(lra)). lra.
    - pose proof (rounding_error (a * b) e1 n1 product) as first. assert (Rabs (fl (a * b) + c) <= two_to e2).
      { replace (fl (a * b) + c) with ((fl (a * b) - a * b) + (a * b + c)) by ring.
        eapply Rle_trans; [apply Rabs_triang|]. lra. }
      pose proof (rounding_error (fl (a * b) + c) e2 n2 ltac:(easy)) as second.
      replace (fl (fl (a * b) + c) - (a * b + c)) with
        ((fl (fl (a * b) + c) - (fl (a * b) + c)) + (fl (a * b) - a * b)) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. lra.
  Qed.

  (** ** Horner's rule on |r| <= rho, coefficients positive and falling fast enough *)

  (** With each coefficient the binades of the product and of the sum that meet there. *)
  Definition step : Type := R * Z * Z.
  Definition term (c : R) (product sum : Z) : step := (c, product, sum).

  Definition half_ulps (s : step) : R :=
    let '(_, e1, e2) := s in two_to (e1 - prec F - 1) + two_to (e2 - prec F - 1).

  Fixpoint largest (rho : R) (steps : list step) : R :=
    match steps with
    | [] => 0
    | [s] => fst (fst s)
    | s :: rest => fst (fst s) + rho * largest rho rest + half_ulps s
    end.

  Fixpoint error (rho : R) (steps : list step) : R :=
    match steps with
    | [] => 0
    | [s] => 0
    | s :: rest => rho * error rho rest + half_ulps s
    end.

  Fixpoint binades_hold (rho : R) (steps : list step) : Prop :=
    match steps with
    | [] => False
    | [s] => 0 <= fst (fst s)
    | (c, e1, e2) :: rest =>
        binades_hold rho rest /\ 0 <= c /\ rho * largest rho rest <= two_to e1 /\
        c + rho * largest rho rest + two_to (e1 - prec F - 1) <= two_to e2 /\
        (emin F <= e1 - prec F)%Z /\ (emin F <= e2 - prec F)%Z
    end.

  Lemma product_within a b A B : Rabs a <= A -> Rabs b <= B -> Rabs (a * b) <= A * B.
  Proof. intros. rewrite Rabs_mult. apply Rmult_le_compat; auto using Rabs_pos. Qed.

  Theorem horner_error rho r steps x :
    Rabs r <= rho -> binades_hold rho steps -> computed_horner (map (fun s => fst (fst s)) steps) r x ->
    Rabs x <= largest rho steps /\ Rabs (x - horner (map (fun s => fst (fst s)) steps) r) <= error rho steps.
  Proof.
    intros small. revert x. induction steps as [|[[c e1] e2] rest IH]; [easy|]. intros x holds computed.
    destruct rest as [|next rest].
    - cbn in *. subst x. rewrite Rabs_right by lra. split; [lra|]. replace (c - (c + r * 0)) with 0 by ring.
      rewrite Rabs_R0. lra.
    - destruct holds as [holds [c0 [b1 [b2 [n1 n2]]]]]. destruct computed as [y [computed last]].
      destruct (IH y holds computed) as [size err]. clear IH computed holds. set (tl := next :: rest) in *.
      set (L := largest rho tl) in *. set (Er := error rho tl) in *.
      set (Q := horner (map (fun s => fst (fst s)) tl) r) in *.
      assert (product : Rabs (y * r) <= rho * L) by (rewrite Rmult_comm; now apply product_within).
      assert (Rabs (y * r + c) <= c + rho * L).
      { eapply Rle_trans; [apply Rabs_triang|]. rewrite (Rabs_right c) by lra. lra. }
      pose proof (mul_add_error y r c x e1 e2 n1 n2 last ltac:(lra) ltac:(lra)) as rounded.
      change (largest rho ((c, e1, e2) :: tl)) with (c + rho * L + half_ulps (c, e1, e2)).
      change (error rho ((c, e1, e2) :: tl)) with (rho * Er + half_ulps (c, e1, e2)).
      change (horner (map (fun s => fst (fst s)) ((c, e1, e2) :: tl)) r) with (c + r * Q). cbn [half_ulps]. split.
      + replace x with ((x - (y * r + c)) + (y * r + c)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra.
      + replace (x - (c + r * Q)) with ((x - (y * r + c)) + r * (y - Q)) by ring.
        eapply Rle_trans; [apply Rabs_triang|]. pose proof (product_within r (y - Q) rho Er small err). lra.
  Qed.
End Operations.
