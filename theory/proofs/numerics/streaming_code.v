(** * The code of theory/streaming_entropy.hpp in a format, operation by operation, and what is promised of it.

    Source: theory/streaming_entropy.hpp and .cpp; docs/tolerances.md, B6. *)

From Coq Require Import ZArith.
From Flocq Require Import Core.
From softcheck Require Import softmax merge_plan.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row tilted_row atoms reduction converted_row moments b1_sum b5_logsumexp b6_entropy.
Local Open Scope R_scope.

(** E = 2 and E_l = 4 units of roundoff, one rounding of the argument, gradual underflow. *)
Definition streaming_arithmetic (F : format) : arithmetic := kernel_arithmetic F false 2 1 4 0.

(** B6 for a row of n items and R rescalings, at height n - 1. *)
Definition entropy_bound (F : format) (m : R) (row : list R) (R : nat) : Rdefinitions.R :=
  entropy_rounding (streaming_arithmetic F) 0 m row (length row - 1) R 0 + entropy_floor (streaming_arithmetic F).
Definition promised (F : format) (m : R) (row : list R) (R : nat) : Prop :=
  lost_sum (streaming_arithmetic F) 0 m row (length row - 1) R < 1.

(** The library in a format: exp within an ulp and 0 far below the smallest number, logarithms within 4 u. *)
Record library (F : format) (exp_hat log1p_hat log_hat : R -> R) : Prop := {
  exp_is_number b : number F b -> 0 <= b -> number F (exp_hat b);
  exp_within_ulp b : number F b -> 0 <= b ->
    Rabs (exp_hat b - exp (- b)) <= ulp radix2 (FLT_exp (emin F) (prec F)) (exp (- b));
  exp_underflows b : number F b -> 2 * IZR (- emin F) * ln 2 <= b -> exp_hat b = 0;
  log1p_is_number a : number F a -> -1 < a -> number F (log1p_hat a);
  log1p_close a : number F a -> -1 < a ->
    Rabs (log1p_hat a - ln (1 + a)) <= 4 * unit_roundoff F * Rabs (ln (1 + a)) + / 2 * smallest_subnormal F;
  log_is_number a : number F a -> 0 < a -> number F (log_hat a);
  log_close a : number F a -> 0 < a ->
    Rabs (log_hat a - ln a) <= 4 * unit_roundoff F * Rabs (ln a) + / 2 * smallest_subnormal F
}.

(** ** The code *)

Record held := { top : R; rest : R; moment : R; rescalings : nat }.

Definition item := option R.
Definition visible (items : list item) : list R :=
  flat_map (fun i => match i with Some x => [x] | None => [] end) items.

Section Code.
  Context (rnd exp_hat log1p_hat log_hat : R -> R).

  Definition leaf (x : R) : held := {| top := x; rest := 0; moment := 0; rescalings := 0 |}.

  Definition absorb (high low : held) : held :=
    let d := rnd (top high - top low) in
    let scale := exp_hat d in
    let low_sum := rnd (rest low + 1) in
    {| top := top high;
       rest := rnd (rest high + rnd (scale * low_sum));
       moment := rnd (moment high + rnd (scale * rnd (moment low + rnd (d * low_sum))));
       rescalings := Nat.max (rescalings high) (S (rescalings low)) |}.

  Definition join (a b : held) : held :=
    if Req_EM_T (top a) (top b) then
      {| top := top a; rest := rnd (rnd (rest a + rest b) + 1); moment := rnd (moment a + moment b);
         rescalings := Nat.max (rescalings a) (rescalings b) |}
    else if Rlt_dec (top b) (top a) then absorb a b else absorb b a.

  Definition merge_held (a b : option held) : option held :=
    match a, b with
    | None, _ => b
    | _, None => a
    | Some a, Some b => Some (join a b)
    end.

  (** An item that is no new maximum meets its own exponential only, which is no rescaling. *)
  Definition push_held (s : option held) (i : item) : option held :=
    match s, i with
    | _, None => s
    | None, Some x => Some (leaf x)
    | Some a, Some x =>
        let b := join a (leaf x) in
        Some {| top := top b; rest := rest b; moment := moment b;
                rescalings := if Rle_dec x (top a) then rescalings a else rescalings b |}
    end.

  Definition stream_held (chunk : list item) : option held := fold_left push_held chunk None.

  (** streamed_state: chunks are streamed into the slots and merged as the plan says. *)
  Definition planned (chunks : list (list item)) (steps : list (nat * nat)) : option held :=
    run_plan merge_held (fun i => stream_held (nth i chunks [])) steps 0%nat.

  Definition entropy_held (a : held) : R := rnd (log1p_hat (rest a) + rnd (moment a / rnd (1 + rest a))).

  (** entropy_two_pass, the maximum m found. *)
  Definition add_item (m : R) (sums : R * R) (x : R) : R * R :=
    let d := rnd (m - x) in
    (rnd (fst sums + exp_hat d), rnd (snd sums + rnd (exp_hat d * d))).
  Definition entropy_two_pass (m : R) (row : list R) : R :=
    let sums := fold_left (add_item m) row (0, 0) in rnd (log_hat (fst sums) + rnd (snd sums / fst sums)).
End Code.
