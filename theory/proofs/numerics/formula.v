(** * Formulas that have a value in Coq and a text in C++.

    The right-hand sides of the rounding theorems are written once in this language: [value] is what a theorem speaks of,
    [text] what numerics/ is compared with. Nothing is proved about the text; it is short, and a test evaluates it. *)

From Coq Require Import Reals ZArith String List DecimalString Decimal.
Import ListNotations.
Local Open Scope string_scope.

Inductive formula (quantity : Type) :=
| Of (q : quantity)
| Number (z : Z)
| Plus (a b : formula quantity)
| Minus (a b : formula quantity)
| Times (a b : formula quantity)
| Over (a b : formula quantity)
| Squared (a : formula quantity)
| Cubed (a : formula quantity)
| Exp (a : formula quantity)
| Log (a : formula quantity)
| WhenRescaled (a : formula quantity)
| Named (name : string) (a : formula quantity).

Arguments Of {quantity}. Arguments Number {quantity}. Arguments Plus {quantity}. Arguments Minus {quantity}.
Arguments Times {quantity}. Arguments Over {quantity}. Arguments Squared {quantity}. Arguments Cubed {quantity}.
Arguments Exp {quantity}. Arguments Log {quantity}. Arguments WhenRescaled {quantity}. Arguments Named {quantity}.

Declare Scope formula_scope.
Delimit Scope formula_scope with formula.
Infix "+" := Plus : formula_scope.
Infix "-" := Minus : formula_scope.
Infix "*" := Times : formula_scope.
Infix "/" := Over : formula_scope.

Section Value.
  Context {quantity : Type} (is : quantity -> R) (rescaled : bool).

  Fixpoint value (f : formula quantity) : R :=
    match f with
    | Of q => is q
    | Number z => IZR z
    | Plus a b => value a + value b
    | Minus a b => value a - value b
    | Times a b => value a * value b
    | Over a b => value a / value b
    | Squared a => value a ^ 2
    | Cubed a => value a ^ 3
    | Exp a => exp (value a)
    | Log a => ln (value a)
    | WhenRescaled a => if rescaled then value a else 0
    | Named _ a => value a
    end%R.
End Value.

Definition newline : string := String (Ascii.ascii_of_nat 10) "".
Definition decimal (z : Z) : string := NilZero.string_of_int (Z.to_int z).

Section Text.
  Context {quantity : Type} (name : quantity -> string).

  (** An expression; what has a name of its own is called by it. *)
  Fixpoint expression (f : formula quantity) : string :=
    match f with
    | Of q => "q." ++ name q
    | Number z => "T(" ++ decimal z ++ ")"
    | Plus a b => "(" ++ expression a ++ " + " ++ expression b ++ ")"
    | Minus a b => "(" ++ expression a ++ " - " ++ expression b ++ ")"
    | Times a b => expression a ++ " * " ++ expression b
    | Over a b => expression a ++ " / " ++ (match b with Of _ | Number _ => expression b | _ => "(" ++ expression b ++ ")" end)
    | Squared a => "square(" ++ expression a ++ ")"
    | Cubed a => "cube(" ++ expression a ++ ")"
    | Exp a => "exp(" ++ expression a ++ ")"
    | Log a => "log(" ++ expression a ++ ")"
    | WhenRescaled a => "(q.rescaled ? " ++ expression a ++ " : T(0))"
    | Named n _ => n ++ "(q)"
    end.

  (** The definition of a named formula. *)
  Definition definition (f : formula quantity) : string :=
    match f with
    | Named n a =>
        "template <class T>" ++ newline ++ "T " ++ n ++ "(const Quantities<T>& q) {" ++ newline ++
        "  return " ++ expression a ++ ";" ++ newline ++ "}" ++ newline
    | _ => ""
    end.
End Text.
