(** * A contract's words, and the numbers of the theorems that they stand for.

    Main results
    - [embedded_numbers]     what [embeds] calls a format within another one has only numbers of that one
    - [held_is_a_number]     what [holds] calls a number of a format is one
    - [words_of_arithmetic]   at temperature 1 it is [kernel_arithmetic] of the accumulator's format, for a whole number A
    - [sound_words]           which the theorems ask for, where E u < 1 and A is 12 at most
    - [argument_of_words]     an argument (m - x) / theta that is computed with as many roundings as [argument_roundings]
                              counts is the theorems' [computed_argument]

    The numbers are exact: dyadic ones (m, e) for m 2^e, and counts of roundings, each of which is -ln(1 - u) in the theorems.
    proptests/tests/proofs/formulas.sh prints them for a grid of words; a test compares them with numerics/rounding's.

    What the numbers mean as reals: contract_words.v.

    Source: numerics/rounding/contract.hpp, rounding_operations.cpp, rounding_model.cpp (set_argument, set_scaled_logits). *)

From Coq Require Import Reals ZArith NArith String List Bool Lia Lra.
From Flocq Require Import Core.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.contract Require Import summation.
Import ListNotations.
Local Open Scope Z_scope.

Definition dyadic := (Z * Z)%type.
Definition real (x : dyadic) : R := F2R (Float radix2 (fst x) (snd x)).
Definition power (e : Z) : dyadic := (1, e).
Definition none : dyadic := (0, 0).
Definition doubled (x : dyadic) : dyadic := (fst x, snd x + 1).
Definition halved (x : dyadic) : dyadic := (fst x, snd x - 1).
Definition times_power (x : dyadic) (e : Z) : dyadic := (fst x, snd x + e).

(** Both brought to the smaller exponent. *)
Definition aligned (x y : dyadic) : Z * Z :=
  let e := Z.min (snd x) (snd y) in (fst x * 2 ^ (snd x - e), fst y * 2 ^ (snd y - e)).
Definition at_most (x y : dyadic) : bool := let (a, b) := aligned x y in a <=? b.
Definition larger (x y : dyadic) : dyadic := if at_most x y then y else x.
Definition plus (x y : dyadic) : dyadic := let (a, b) := aligned x y in (a + b, Z.min (snd x) (snd y)).

(** ** Formats *)

Inductive word_format := f64 | f32 | f16 | bf16 | e4m3 | e5m2.

Definition format_of (f : word_format) : format :=
  match f with
  | f64 => binary64 | f32 => binary32 | f16 => binary16 | bf16 => bfloat16
  | e4m3 => {| emin := -9; prec := 4 |} | e5m2 => {| emin := -16; prec := 3 |}
  end.

(** The exponent of the largest number's first bit. That number is all ones, but for e4m3: the last bit of 480 is NaN's. *)
Definition last_exponent (f : word_format) : Z :=
  match f with f64 => 1023 | f32 | bf16 => 127 | f16 => 15 | e4m3 => 8 | e5m2 => 15 end.
Definition largest (f : word_format) : dyadic :=
  match f with e4m3 => (7, 6) | _ => (2 ^ prec (format_of f) - 1, last_exponent f + 1 - prec (format_of f)) end.

Definition roundoff_of (f : word_format) : dyadic := power (- prec (format_of f)).
Definition subnormal_of (f : word_format) : dyadic := power (emin (format_of f)).
Definition normal_of (f : word_format) : dyadic := power (emin (format_of f) + prec (format_of f) - 1).

Definition embeds (inner outer : word_format) : bool :=
  (prec (format_of inner) <=? prec (format_of outer)) && at_most (largest inner) (largest outer)
  && (emin (format_of outer) <=? emin (format_of inner)).

(** Of a number without a factor 2: are its bits no more than the format's, and its place one of the format's? *)
Fixpoint odd_part (p : positive) : positive * Z :=
  match p with xO q => let (m, e) := odd_part q in (m, e + 1) | _ => (p, 0) end.
Definition holds (f : word_format) (x : dyadic) : bool :=
  match fst x with
  | Zpos p => let (m, e) := odd_part p in
              (Zpos m <? 2 ^ prec (format_of f)) && (emin (format_of f) <=? e + snd x) && at_most x (largest f)
  | _ => false
  end.

(** ** Words *)

Inductive subnormals := flushed | kept.
Inductive theta_use := fused | before.

Inductive word :=
| acc (f : word_format)
| exp_ulps (k : dyadic)                 (** exp=Kulp *)
| exp_errors (e a : dyadic)             (** exp=E:e,A:a *)
| sum (w : summation)
| subnormal (s : subnormals)
| theta (t : theta_use)
| tanh_ulps (k : dyadic)
| weights (f : word_format) | total (f : word_format) | scores (f : word_format) | values (f : word_format)
| products (f : word_format) | ds (f : word_format)
| without_numbers (text : string).      (** masked=, entropy=, lse=, scale=, ties= and the like: they choose a theorem *)

(** Words as they are declared, each once at most. *)
Record contract := { input : word_format; output : word_format; words : list word }.

Section Numbers.
  Context (c : contract).

  Definition declared {A : Type} (pick : word -> option A) (default : A) : A :=
    fold_right (fun w found => match pick w with Some a => a | None => found end) default (words c).
  Definition optional {A : Type} (pick : word -> option A) : option A :=
    declared (fun w => option_map Some (pick w)) None.

  Definition accumulator : word_format :=
    declared (fun w => match w with acc f => Some f | _ => None end) (match input c with f64 => f64 | _ => f32 end).
  Definition is_flushed : bool :=
    declared (fun w => match w with subnormal flushed => Some true | subnormal kept => Some false | _ => None end)
             (match input c with f32 => true | _ => false end).
  Definition is_before : bool :=
    declared (fun w => match w with theta before => Some true | theta fused => Some false | _ => None end) false.
  Definition additions : summation := declared (fun w => match w with sum s => Some s | _ => None end) sequential.

  (** In units of u; an ulp is two at most. The logarithm has the exponential's. *)
  Definition exponential_units : dyadic :=
    declared (fun w => match w with exp_ulps k => Some (doubled k) | exp_errors e _ => Some e | _ => None end) (2, 0).
  Definition argument_units : dyadic :=
    declared (fun w => match w with exp_ulps _ => Some (1, 0) | exp_errors _ a => Some a | _ => None end) (1, 0).
  Definition tanh_units : dyadic :=
    declared (fun w => match w with tanh_ulps k => Some (doubled k) | _ => None end) (4, 0).

  Let F : format := format_of accumulator.
  Definition roundoff : dyadic := roundoff_of accumulator.
  Definition exp_error : dyadic := times_power exponential_units (- prec F).
  Definition log_error : dyadic := exp_error.
  Definition sum_floor : dyadic := if is_flushed then normal_of accumulator else none.
  Definition product_floor : dyadic := if is_flushed then normal_of accumulator else halved (subnormal_of accumulator).
  Definition exp_quanta : dyadic := times_power (larger exponential_units (1, 0)) (emin F - 1).
  Definition exp_floor : dyadic := if is_flushed then larger (normal_of accumulator) exp_quanta else exp_quanta.
  (** D_0 is 2 ln 2 times this. *)
  Definition cutoff_bits : Z := - emin F.

  (** What is stored in a format on its way, and the output: unit roundoff, and what underflows. *)
  Definition storage (f : option word_format) : dyadic * dyadic :=
    match f with
    | None => (none, none)
    | Some f =>
        if embeds accumulator f then (none, none) else
        (if prec (format_of f) <? prec F then roundoff_of f else none,
         if is_flushed then normal_of f else halved (subnormal_of f))
    end.
  Definition stored_weights := storage (optional (fun w => match w with weights f => Some f | _ => None end)).
  Definition stored_total := storage (optional (fun w => match w with total f => Some f | _ => None end)).
  Definition stored_scores := storage (optional (fun w => match w with scores f => Some f | _ => None end)).
  Definition stored_values := storage (optional (fun w => match w with values f => Some f | _ => None end)).
  Definition stored_products := storage (optional (fun w => match w with products f => Some f | _ => None end)).
  Definition stored_gradients := storage (optional (fun w => match w with ds f => Some f | _ => None end)).
  Definition stored_output := storage (Some (output c)).

  (** A number of the input's format, as it is read. *)
  Definition is_converted : bool := negb (embeds (input c) accumulator).
  Definition reading_roundoff : dyadic := if is_converted then roundoff else none.
  Definition reading_floor : dyadic := if is_converted || is_flushed then product_floor else none.

  (** ** The argument, at a temperature *)

  Section AtTemperature.
    Context (t : dyadic).

    Definition is_scaled : bool := negb (at_most t (1, 0) && at_most (1, 0) t).
    Definition is_divided_first : bool := is_scaled && is_before.
    (** The reciprocal of theta; a kernel converts it where the accumulator does not have it. *)
    Definition reciprocal_roundings : Z := if holds accumulator t then 1 else 2.
    (** Beside A: the reciprocal and a product by it; the logit's conversion where it meets the temperature first. *)
    Definition more_roundings : Z :=
      if is_scaled then reciprocal_roundings + 1 + (if is_before && is_converted then 1 else 0) else 0.
    Definition argument_roundings : dyadic := plus argument_units (more_roundings, 0).
    (** The unit roundoff of one more: a reciprocal made in double, and narrowed. *)
    Definition extra_roundoff : dyadic :=
      if is_scaled then match accumulator with f64 => none | _ => roundoff_of f64 end else none.
    (** The maximum meets all but the subtraction; divided first, all but the exponential's own. *)
    Definition scaling_roundings : dyadic :=
      if is_divided_first then (more_roundings, 0) else larger (plus argument_roundings (-1, 0)) none.

    (** What an argument may be off absolutely each time: e^(A' lambda) [step_over_theta] / theta + [step]. *)
    Definition step_over_theta : dyadic := if is_scaled && negb is_before then sum_floor else none.
    Definition step : dyadic := if is_scaled && negb is_before then product_floor else sum_floor.

    (** kappa is [conversion_roundoff] max |x| / theta + [conversion_over_theta] / theta + [conversion_loss], and twice the
        scaling's error of |m| / theta where the logits are divided first. *)
    Definition conversion_roundoff : dyadic := if is_converted && negb is_divided_first then doubled roundoff else none.
    Definition conversion_over_theta : dyadic :=
      doubled (if is_converted then product_floor else if is_flushed then normal_of accumulator else none).
    Definition conversion_loss : dyadic := if is_divided_first then doubled product_floor else none.
  End AtTemperature.
End Numbers.

(** ** What embeds and what holds *)

Theorem embedded_numbers a b x : embeds a b = true -> number (format_of a) x -> number (format_of b) x.
Proof.
  intros inside. apply andb_prop in inside as [inside least]. apply andb_prop in inside as [bits _].
  apply Z.leb_le in bits, least. apply generic_inclusion_mag. intros _. unfold FLT_exp. lia.
Qed.

Lemma odd_part_is p : let (m, e) := odd_part p in (0 <= e)%Z /\ Zpos p = Zpos m * 2 ^ e.
Proof.
  induction p as [p _|p IH|]; cbn [odd_part]; [split; [lia|now rewrite Z.mul_1_r]| |split; easy].
  destruct (odd_part p) as [m e]. destruct IH as [pos same]. split; [lia|].
  rewrite Z.pow_add_r by lia. change (2 ^ 1) with 2. lia.
Qed.

Theorem held_is_a_number f x : holds f x = true -> number (format_of f) (real x).
Proof.
  destruct x as [[|p|p] e]; try easy. unfold holds, real. cbn [fst snd]. pose proof (odd_part_is p) as odd.
  destruct (odd_part p) as [m k]. destruct odd as [pos same]. intros held. apply andb_prop in held as [held _].
  apply andb_prop in held as [short place]. apply Z.ltb_lt in short. apply Z.leb_le in place.
  assert (is : F2R (Float radix2 (Zpos p) e) = F2R (Float radix2 (Zpos m) (k + e))).
  { unfold F2R. cbn [Fnum Fexp]. rewrite same, mult_IZR, bpow_plus, (IZR_Zpower radix2) by easy. ring. } rewrite is.
  apply generic_format_FLT. exists (Float radix2 (Zpos m) (k + e)); cbn [Fnum Fexp]; [easy|easy|lia].
Qed.

(** ** The arithmetic of the theorems that a contract's numbers stand for.

    Source: RoundingModel::set_argument, numerics/rounding/rounding_model.cpp. *)

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
    assert (step_is : argument_step M
      = (exp (argument_unit M) * standard_model.sum_floor M / real t + standard_model.product_floor M)%R).
    { unfold M, arithmetic_of. cbn. unfold step_over_theta, step. now rewrite scaled, together. }
    exists (t1 + ti + t2)%R, (e1 * / real t * exp (ti + t2) + e2)%R. apply abs_between in bt1. apply abs_between in bti.
    apply abs_between in bt2. split; [|split].
    - rewrite log. apply Rabs_le. lra.
    - rewrite step_is. triangle. apply Rplus_le_compat; [|easy]. assert (inv : (0 < / real t)%R) by now apply Rinv_0_lt_compat.
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
