(** The text of a generated C++ header, from the formulas of numerics/formula.v. formulas.sh compiles this file and prints
    the [header] of each other. *)

From Coq Require Export String List ZArith.
From softcheck.numerics Require Export formula.
Export ListNotations.
Open Scope string_scope.

Definition joined (texts : list string) : string := fold_right append "" texts.
Definition line (text : string) : string := text ++ newline.
Definition lines (texts : list string) : string := joined (map line texts).

(** WHAT the header holds, in two parts: the second goes before "prints them". *)
Definition preamble (what rest : string) : string := lines [
  "// Generated from theory/proofs by proptests/tests/proofs/formulas.sh: " ++ what;
  "// " ++ rest ++ "prints them. Not to be edited."; "// clang-format off"; "#pragma once"; ""].

Definition opened (space : string) : string := lines ["namespace " ++ space ++ " {"; ""].
Definition closed (space : string) : string := "}  // namespace " ++ space.
Definition room (space : string) (texts : list string) : string :=
  opened space ++ joined texts ++ lines [closed space; ""].

Definition square : string := lines ["template <class T>"; "T square(const T& x) {"; "  return x * x;"; "}"; ""].
Definition cube : string := lines ["template <class T>"; "T cube(const T& x) {"; "  return x * x * x;"; "}"; ""].

Section Quantities.
  Context {quantity : Type} (name : quantity -> string).

  Definition commented (comment : string) : string := if String.eqb comment "" then "" else line ("/// " ++ comment).

  (** The numbers that formulas speak of. *)
  Definition numbers (comment : string) (quantities : list quantity) (more : list string) : string :=
    commented comment ++
    lines (["template <class T>"; "struct Quantities {"] ++ map (fun q => "  T " ++ name q ++ "{};") quantities ++ more ++ ["};"; ""]).

  (** A class of formulas; those of another, [before], are computed by it. *)
  Definition class_after (before : string) (earlier : list (formula quantity)) (comment title : string)
      (formulas : list (formula quantity)) : string :=
    commented comment ++ line (structure name title before earlier formulas).
  Definition class : string -> string -> list (formula quantity) -> string := class_after "" [].
End Quantities.
