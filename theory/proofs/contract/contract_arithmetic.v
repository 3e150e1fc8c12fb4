(** * The arithmetic of the theorems that a contract's numbers stand for.

    Main results
    - [words_of_arithmetic]   at temperature 1 it is [kernel_arithmetic] of the accumulator's format, for a whole number A
    - [sound_words]           which the theorems ask for, where E u < 1 and A is 12 at most
    - [argument_of_words]     an argument (m - x) / theta that is computed with as many roundings as [argument_roundings]
                              counts is the theorems' [computed_argument]

    Source: contract_words.v; RoundingModel::set_argument, numerics/rounding/rounding_model.cpp. *)

From Coq Require Import Reals ZArith List Bool Lia Lra.
From Flocq Require Import Core.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.contract Require Import summation contract_words.
Import ListNotations.
Local Open Scope Z_scope.

(** ** Real numbers of dyadic ones *)

Lemma real_power e : real (power e) = two_to e.
Proof. unfold real, power, F2R. cbn [fst snd Fnum Fexp]. ring. Qed.

Lemma real_none : real none = 0%R.
Proof. unfold real, none, F2R. cbn [fst snd Fnum Fexp]. ring. Qed.

Lemma real_times x e : real (times_power x e) = (real x * two_to e)%R.
Proof. unfold real, times_power, F2R. cbn [fst snd Fnum Fexp]. rewrite bpow_plus. ring. Qed.

Lemma real_integer z : real (z, 0) = IZR z.
Proof. unfold real, F2R. cbn [fst snd Fnum Fexp]. change (two_to 0) with 1%R. ring. Qed.

Lemma aligned_is x y :
  let (a, b) := aligned x y in
  let e := Z.min (snd x) (snd y) in real x = (IZR a * two_to e)%R /\ real y = (IZR b * two_to e)%R.
Proof.
  unfold aligned, real, F2R. cbn [Fnum Fexp]. set (e := Z.min (snd x) (snd y)).
  assert (shifted : forall z k, (e <= k)%Z -> (IZR z * two_to k = IZR (z * 2 ^ (k - e)) * two_to e)%R).
  { intros z k above. rewrite mult_IZR, (IZR_Zpower radix2), Rmult_assoc, <- bpow_plus by lia. do 2 f_equal. lia. }
  split; apply shifted; lia.
Qed.

Lemma real_plus x y : real (plus x y) = (real x + real y)%R.
Proof.
  pose proof (aligned_is x y) as same. unfold plus. destruct (aligned x y) as [a b]. destruct same as [-> ->].
  unfold real, F2R. cbn [fst snd Fnum Fexp]. rewrite plus_IZR. ring.
Qed.

Lemma at_most_is x y : at_most x y = true <-> (real x <= real y)%R.
Proof.
  pose proof (aligned_is x y) as same. unfold at_most. destruct (aligned x y) as [a b]. destruct same as [-> ->].
  pose proof (bpow_gt_0 radix2 (Z.min (snd x) (snd y))) as pos. rewrite Z.leb_le. split; intros below.
  - apply Rmult_le_compat_r; [lra|now apply IZR_le].
  - apply le_IZR. now apply Rmult_le_reg_r in below.
Qed.

Lemma real_larger x y : real (larger x y) = Rmax (real x) (real y).
Proof.
  unfold larger. destruct (at_most x y) eqn:below.
  - rewrite Rmax_right; [easy|now apply at_most_is].
  - rewrite Rmax_left; [easy|]. destruct (Rle_dec (real x) (real y)) as [yes|no]; [|lra].
    apply at_most_is in yes. congruence.
Qed.

(** ** The theorems' arithmetic *)

Definition argument_log (c : contract) (t : dyadic) : R :=
  (real (argument_roundings c t) * log_unit (real (roundoff c)) + log_unit (real (extra_roundoff c t)))%R.

Definition arithmetic_of (c : contract) (t : dyadic) : arithmetic := {|
  standard_model.roundoff := real (roundoff c);
  standard_model.exp_error := real (exp_error c);
  standard_model.log_error := real (log_error c);
  standard_model.argument_unit := argument_log c t;
  standard_model.argument_step := exp (argument_log c t) * real (step_over_theta c t) / real t + real (step c t);
  standard_model.sum_floor := real (sum_floor c);
  standard_model.product_floor := real (product_floor c);
  standard_model.exp_floor := real (exp_floor c);
  standard_model.exp_cutoff := 2 * IZR (cutoff_bits c) * ln 2
|}.

Section Arithmetic.
  Context (c : contract).
  Let F : format := format_of (accumulator c).
  Let E : R := real (exponential_units c).

  Lemma half_quantum : real (halved (subnormal_of (accumulator c))) = (/ 2 * smallest_subnormal F)%R.
  Proof.
    unfold real, halved, subnormal_of, power, F2R, smallest_subnormal. cbn [fst snd Fnum Fexp]. fold F. unfold Z.sub.
    rewrite bpow_plus. change (two_to (- (1))) with (/ 2)%R. ring.
  Qed.

  Lemma quanta : real (exp_quanta c) = quantum_of_exp F E.
  Proof.
    unfold exp_quanta, quantum_of_exp, E. rewrite real_times, real_larger, real_integer. fold F. unfold Z.sub.
    rewrite bpow_plus. change (two_to (- (1))) with (/ 2)%R. unfold smallest_subnormal. ring.
  Qed.

  Theorem words_of_arithmetic (A : nat) :
    real (argument_units c) = INR A ->
    arithmetic_of c (1, 0) = kernel_arithmetic F (is_flushed c) E A E (real (sum_floor c)).
  Proof.
    intros roundings. assert (plain : is_scaled (1, 0) = false) by reflexivity.
    unfold arithmetic_of, kernel_arithmetic. f_equal.
    - apply real_power.
    - unfold exp_error. now rewrite real_times.
    - unfold log_error, exp_error. now rewrite real_times.
    - unfold argument_log, argument_roundings, more_roundings, extra_roundoff. rewrite plain.
      rewrite real_plus, real_integer, Rplus_0_r, roundings, real_none, log_unit_0, Rplus_0_r.
      unfold roundoff, roundoff_of. now rewrite real_power.
    - unfold step_over_theta, step. rewrite plain. cbn [andb]. rewrite real_none, real_integer. field.
    - unfold sum_floor. destruct (is_flushed c); [apply real_power|apply real_none].
    - unfold product_floor. destruct (is_flushed c); [apply real_power|apply half_quantum].
    - unfold exp_floor. destruct (is_flushed c); [|apply quanta]. rewrite real_larger, quanta. f_equal. apply real_power.
  Qed.

  Theorem sound_words (A : nat) :
    real (argument_units c) = INR A -> (A <= 12)%nat -> (0 <= E)%R -> (E * unit_roundoff F < 1)%R -> usable F ->
    sound (arithmetic_of c (1, 0)).
  Proof.
    intros roundings few low below good. rewrite (words_of_arithmetic A roundings). apply format_sound; try easy.
    unfold sum_floor. destruct (is_flushed c); [|rewrite real_none; lra].
    change (real (normal_of (accumulator c))) with (real (power (emin F + prec F - 1))). rewrite real_power.
    split; [apply bpow_ge_0|]. destruct good as [_ [_ low_place]].
    apply Rle_trans with (two_to (-14)); [now apply bpow_le|]. change (two_to (-14)) with (/ 16384)%R. lra.
  Qed.

  (** The difference with as many roundings as A, the reciprocal with those of theta and its own, one product. *)
  Theorem argument_of_words t D difference inverse b :
    (0 < real t)%R -> is_scaled t = true -> is_before c = false ->
    let M := arithmetic_of c t in
    (exists t1 e1, Rabs t1 <= real (argument_units c) * unit M /\ Rabs e1 <= standard_model.sum_floor M /\
       difference = D * real t * exp t1 + e1)%R ->
    rel (IZR (reciprocal_roundings c t) * unit M + log_unit (real (extra_roundoff c t))) inverse (/ real t) ->
    computed_product M (difference * inverse) b -> computed_argument M D b.
  Proof.
    intros pos scaled together M [t1 [e1 [bt1 [be1 ->]]]] [ti [bti ->]] [t2 [e2 [bt2 [be2 ->]]]].
    assert (log : argument_unit M = (real (argument_units c) * unit M + IZR (reciprocal_roundings c t) * unit M
                                     + log_unit (real (extra_roundoff c t)) + unit M)%R).
    { unfold M at 1, arithmetic_of. cbn [argument_unit]. unfold argument_log, argument_roundings, more_roundings.
      rewrite scaled, together. cbn [andb]. rewrite real_plus, real_integer, Z.add_0_r, plus_IZR.
      change (unit M) with (log_unit (real (roundoff c))). ring. }
    assert (step_is : argument_step M = (exp (argument_unit M) * standard_model.sum_floor M / real t + standard_model.product_floor M)%R).
    { unfold M, arithmetic_of. cbn. unfold step_over_theta, step. now rewrite scaled, together. }
    exists (t1 + ti + t2)%R, (e1 * / real t * exp (ti + t2) + e2)%R.
    apply abs_between in bt1. apply abs_between in bti. apply abs_between in bt2. split; [|split].
    - rewrite log. apply Rabs_le. lra.
    - rewrite step_is. eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [|easy].
      assert (inv : (0 < / real t)%R) by now apply Rinv_0_lt_compat.
      rewrite !Rabs_mult, (Rabs_right (/ real t)), (Rabs_right (exp (ti + t2))) by (lra || (left; apply exp_pos)).
      assert (exp (ti + t2) <= exp (argument_unit M))%R by (apply exp_le; rewrite log; lra).
      replace (exp (argument_unit M) * standard_model.sum_floor M / real t)%R
        with (standard_model.sum_floor M * / real t * exp (argument_unit M))%R by (field; lra).
      apply Rmult_le_compat; [|left; apply exp_pos| |easy].
      + apply Rmult_le_pos; [apply Rabs_pos|lra].
      + apply Rmult_le_compat_r; [lra|easy].
    - rewrite !exp_plus. field. lra.
  Qed.
End Arithmetic.

(** exp=E:2,A:3 in binary32 at theta = 3/4, without an error: 4 - 1 = 3/4 * 4. *)
Example words_are_met :
  let c := {| input := f32; output := f32; words := [exp_errors (2, 0) (3, 0); subnormal kept] |} in
  real (argument_units c) = INR 3 /\ usable (format_of (accumulator c)) /\ sound (arithmetic_of c (1, 0)) /\
  embeds bf16 f32 = true /\ holds f32 (3, -2) = true /\
  (0 < real (3, -2)%Z)%R /\ is_scaled (3, -2) = true /\ is_before c = false /\ argument_roundings c (3, -2) = (5, 0).
Proof.
  intros c. assert (three : real (argument_units c) = INR 3) by (change (argument_units c) with (3, 0); rewrite real_integer; simpl; lra).
  split; [exact three|]. split; [apply binary32_usable|]. split; [|repeat split].
  - apply (sound_words c 3 three); [lia| | |apply binary32_usable]; change (exponential_units c) with (2, 0); rewrite real_integer; [lra|].
    change (unit_roundoff _) with (/ 16777216)%R. lra.
  - unfold real, F2R. cbn. lra.
Qed.
