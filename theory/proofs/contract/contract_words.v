(** * A contract's words, and the numbers of the theorems that they stand for.

    The numbers are exact: dyadic ones (m, e) for m 2^e, and counts of roundings, each of which is -ln(1 - u) in the theorems.
    proptests/tests/proofs/formulas.sh prints them for a grid of words; a test compares them with numerics/rounding's.

    Main results
    - [embedded_numbers]     what [embeds] calls a format within another one has only numbers of that one
    - [held_is_a_number]     what [holds] calls a number of a format is one

    What the numbers mean as reals: contract_arithmetic.v.

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
| without_numbers (text : string).      (** masked=, entropy=, lse=, entropy_from=, scale=, ties=: they choose a theorem *)

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
  destruct x as [[|p|p] e]; try easy. unfold holds, real. cbn [fst snd].
  pose proof (odd_part_is p) as odd. destruct (odd_part p) as [m k]. destruct odd as [pos same].
  intros held. apply andb_prop in held as [held _]. apply andb_prop in held as [short place].
  apply Z.ltb_lt in short. apply Z.leb_le in place.
  assert (is : F2R (Float radix2 (Zpos p) e) = F2R (Float radix2 (Zpos m) (k + e))).
  { unfold F2R. cbn [Fnum Fexp]. rewrite same, mult_IZR, bpow_plus, (IZR_Zpower radix2) by easy. ring. }
  rewrite is. apply generic_format_FLT. exists (Float radix2 (Zpos m) (k + e)); cbn [Fnum Fexp]; [easy|easy|lia].
Qed.
