(** * Formulas that have a value in Coq and a text in C++.

    The right-hand sides of the rounding theorems are written once in this language: [value] is what a theorem speaks of,
    [text] what numerics/ evaluates or is compared with. Nothing is proved about the text; it is short, and a test evaluates it.

    [MinusLog1m], [Expm1], [OverOneMinus] and [Halved] grow with their argument, as sums and products of nonnegative numbers
    do: a formula made of these alone may be evaluated on upper bounds, each operation rounded upward.

    Main result
    - [upper_bounds_give_an_upper_bound]   a formula of growing functions, at upper bounds of its quantities

    Source: UpperBound, numerics/enclosures/upper_bound.hpp. *)

From Coq Require Import Reals ZArith String List DecimalString Decimal Lra.
From softcheck.floating_point Require Import relative_error.
From Coquelicot Require Import Rcomplements.
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
| Expm1 (a : formula quantity)
| MinusLog1m (a : formula quantity)
| OverOneMinus (a : formula quantity)
| Halved (a : formula quantity)
| WhenRescaled (a : formula quantity)
| Named (name : string) (a : formula quantity).

Arguments Of {quantity}. Arguments Number {quantity}. Arguments Plus {quantity}. Arguments Minus {quantity}.
Arguments Times {quantity}. Arguments Over {quantity}. Arguments Squared {quantity}. Arguments Cubed {quantity}.
Arguments Exp {quantity}. Arguments Log {quantity}. Arguments Expm1 {quantity}. Arguments MinusLog1m {quantity}.
Arguments OverOneMinus {quantity}. Arguments Halved {quantity}. Arguments WhenRescaled {quantity}. Arguments Named {quantity}.

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
    | Expm1 a => exp (value a) - 1
    | MinusLog1m a => - ln (1 - value a)
    | OverOneMinus a => / (1 - value a)
    | Halved a => value a / 2
    | WhenRescaled a => if rescaled then value a else 0
    | Named _ a => value a
    end%R.
End Value.

(** ** Formulas that grow: upper bounds of the quantities give an upper bound of the value *)

Fixpoint grows {quantity : Type} (f : formula quantity) : bool :=
  match f with
  | Of _ => true
  | Number z => Z.leb 0 z
  | Plus a b | Times a b => grows a && grows b
  | Minus _ _ | Over _ _ => false
  | Squared a | Cubed a | Exp a | Log a | Expm1 a | MinusLog1m a | OverOneMinus a | Halved a | WhenRescaled a
  | Named _ a => grows a
  end.

Section Growing.
  Context {quantity : Type} (is is' : quantity -> R) (rescaled : bool).

  (** Logarithms of numbers from 1 on; what is taken from 1 is less. *)
  Fixpoint within (f : formula quantity) : Prop :=
    match f with
    | Of _ | Number _ => True
    | Plus a b | Times a b | Minus a b | Over a b => within a /\ within b
    | Log a => within a /\ (1 <= value is rescaled a)%R
    | MinusLog1m a | OverOneMinus a => within a /\ (value is' rescaled a < 1)%R
    | Squared a | Cubed a | Exp a | Expm1 a | Halved a | WhenRescaled a | Named _ a => within a
    end.

  Theorem upper_bounds_give_an_upper_bound f :
    grows f = true -> (forall q, 0 <= is q <= is' q)%R -> within f ->
    (0 <= value is rescaled f <= value is' rescaled f)%R.
  Proof.
    intros growing ordered. revert growing.
    induction f as [q|z|a IHa b IHb|a IHa b IHb|a IHa b IHb|a IHa b IHb|a IHa|a IHa|a IHa|a IHa|a IHa|a IHa|a IHa|a IHa|a IHa
                   |n a IHa]; cbn [grows value within]; intros growing inside; try discriminate;
      try (apply Bool.andb_true_iff in growing as [ga gb]; destruct inside as [ia ib];
           specialize (IHa ga ia); specialize (IHb gb ib));
      try specialize (IHa growing inside); try (destruct inside as [ia bound]; specialize (IHa growing ia)).
    - apply ordered.
    - apply Z.leb_le, IZR_le in growing. lra.
    - lra.
    - split; [apply Rmult_le_pos; lra|apply Rmult_le_compat; lra].
    - split; [apply pow_le; lra|apply pow_incr; lra].
    - split; [apply pow_le; lra|apply pow_incr; lra].
    - split; [left; apply exp_pos|apply exp_le; lra].
    - rewrite <- ln_1 at 1. split; apply ln_le; lra.
    - pose proof (exp_at_least_one (value is rescaled a) ltac:(lra)).
      pose proof (exp_le (value is rescaled a) (value is' rescaled a) ltac:(lra)). lra.
    - pose proof (ln_le (1 - value is' rescaled a) (1 - value is rescaled a) ltac:(lra) ltac:(lra)).
      pose proof (ln_le (1 - value is rescaled a) 1 ltac:(lra) ltac:(lra)) as least. rewrite ln_1 in least. lra.
    - split; [left; apply Rinv_0_lt_compat; lra|apply Rinv_le_contravar; lra].
    - lra.
    - destruct rescaled; lra.
    - easy.
  Qed.
End Growing.

(** -ln(1 - x) at 1/2 is above its value at 1/4. *)
Example growing_is_inhabited :
  let f := MinusLog1m (Of tt) in
  grows f = true /\ (0 <= / 4 <= / 2)%R /\ within (fun _ => / 4)%R (fun _ => / 2)%R false f.
Proof. cbn. repeat split; lra. Qed.

Definition newline : string := String (Ascii.ascii_of_nat 10) "".
Definition decimal (z : Z) : string := NilZero.string_of_int (Z.to_int z).

Section Text.
  Context {quantity : Type} (name : quantity -> string).

  (** An expression; what has a name of its own is called by it. *)
  Fixpoint expression_with (call : string -> string) (f : formula quantity) : string :=
    let expression := expression_with call in
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
    | Expm1 a => "expm1(" ++ expression a ++ ")"
    | MinusLog1m a => "minus_log1m(" ++ expression a ++ ")"
    | OverOneMinus a => "over_one_minus(" ++ expression a ++ ")"
    | Halved a => expression a ++ " * T(0.5)"
    | WhenRescaled a => "(q.rescaled ? " ++ expression a ++ " : T(0))"
    | Named n _ => call n
    end.
  Definition expression : formula quantity -> string := expression_with (fun n => n ++ "(q)").

  (** The definition of a named formula. *)
  Definition definition (f : formula quantity) : string :=
    match f with
    | Named n a =>
        "template <class T>" ++ newline ++ "T " ++ n ++ "(const Quantities<T>& q) {" ++ newline ++
        "  return " ++ expression a ++ ";" ++ newline ++ "}" ++ newline
    | _ => ""
    end.

  (** Formulas as the members of a class, each computed once; [earlier] are members of another, [before]. *)
  Definition own_name (f : formula quantity) : string := match f with Named n _ => n | _ => "" end.
  Definition member (earlier : list (formula quantity)) (f : formula quantity) : string :=
    let call n := if existsb (fun g => String.eqb (own_name g) n) earlier then "before." ++ n else n in
    match f with Named n a => n ++ "(" ++ expression_with call a ++ ")" | _ => "" end.
  Definition structure (title before : string) (earlier formulas : list (formula quantity)) : string :=
    "template <class T>" ++ newline ++ "struct " ++ title ++ " {" ++ newline ++ "  " ++ title ++ "() = default;" ++ newline ++
    (if String.eqb before "" then "  explicit " ++ title ++ "(const Quantities<T>& q)"
     else "  " ++ title ++ "(const Quantities<T>& q, const " ++ before ++ "<T>& before)") ++ newline ++
    "      : " ++ String.concat ("," ++ newline ++ "        ") (map (member earlier) formulas) ++ " {}" ++ newline ++
    "  T " ++ String.concat ", " (map own_name formulas) ++ ";" ++ newline ++ "};" ++ newline.
End Text.
