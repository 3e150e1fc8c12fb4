(** * Interval arithmetic on integers, without the axioms of primitive floats.

    The stock tactics of coq-interval compute with the processor's floats and integers, whose specification is some
    forty axioms. Here the same tactics run on mantissas and exponents in Z: slower, and nothing is assumed beyond the
    classical reals.

    Trap: without a precision, or with one of at most 53 bits, the tactics fall back to primitive floats whatever they
    were instantiated with. Use [enclose], or name a precision. *)

From Coq Require Import PArith.
From Interval Require Specific_ops Specific_stdz Tactic.

Module StandardFloat := Specific_ops.SpecificFloat Specific_stdz.StdZRadix2.
Module StandardInterval := Tactic.IntervalTactic StandardFloat.
Export StandardInterval.

(** Decides an inequality between real expressions from the bounds of their variables in the context; the second form
    cuts the range of a variable where that is needed, the third by Taylor models. *)
Ltac enclose := interval with (Tactic.i_prec 64%positive).
Tactic Notation "enclose" "bisecting" constr(x) := interval with (Tactic.i_bisect x, Tactic.i_prec 64%positive).
Tactic Notation "enclose" "expanding" constr(x) := interval with (Tactic.i_taylor x, Tactic.i_prec 64%positive).
