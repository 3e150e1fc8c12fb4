#!/bin/sh
# negative_controls.sh PROOFS BUILD: each check of the proofs turns red on what it is for. A development of two files, one
# of them the project's own, is spoilt in one way after the other: in one or two for each check, in all of them with
# SOFTCHECK_EFFORT=deep. Statements of the project made false: false_statements.sh.
set -eu
deep() { [ "${SOFTCHECK_EFFORT:-}" = deep ]; }
here=$(dirname "$0")
proofs=$1
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/proofs"
cp "$proofs/_CoqProject" "$proofs/softmax.v" "$proofs/monotone.v" "$work/proofs/"

plant() { # the text of a further file, compiled with the rest
  printf 'From Coq Require Import Reals Lra.\nLocal Open Scope R_scope.\n%s\n' "$1" >"$work/proofs/planted.v"
  sh "$here/build.sh" "$work/proofs" "$work/build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}
must() { # must hold|fail SCRIPT WHAT
  verdict=hold
  sh "$here/$2" "$work/proofs" "$work/build" >"$work/log" 2>&1 || verdict=fail
  [ "$verdict" = "$1" ] || { cat "$work/log"; echo "$2 did not $1: $3"; exit 1; }
  echo "$2 must $1: $3"
}

defined='Definition shift : R := 1152921504606846977.
Definition good (x : R) : Prop := 0 < x + shift.
Definition reached : Prop := forall x, exists y, x < y.
Example inhabited : exists x, x = 1. Proof. exists 1. easy. Qed.
Theorem planted : forall x, (good x -> good x) /\ (reached -> reached). Proof. easy. Qed.'
sound='Theorem planted : forall x, 0 < x -> 0 < 2 * x. Proof. intros. lra. Qed.'
plant "$sound"
sh "$here/statements.sh" "$work/proofs" "$work/build" --write
for check in nothing_admitted.sh assumptions.sh statements.sh coqchk.sh; do must hold $check "a sound proof"; done
# One letter of a compiled file, as no compiler left it.
sed 's/planted/plantet/' "$work/build/planted.vo" >"$work/altered" && mv "$work/altered" "$work/build/planted.vo"
must fail coqchk.sh "an altered compiled file"

plant 'Theorem planted : forall x, 0 < x -> 0 < 2 * x. Proof. intros. Admitted.'
must fail nothing_admitted.sh "an admitted proof"
must fail assumptions.sh "an admitted proof"

plant 'Theorem planted : forall x, 0 < x -> 0 <= 2 * x. Proof. intros. lra. Qed.'
must fail statements.sh "a weakened statement"

if deep; then
  plant "Axiom free : forall x, 0 < x.
$sound"
  must fail nothing_admitted.sh "an axiom"

  plant 'Axiom free : forall x, 0 < x.
Theorem planted : forall x, 0 < x -> 0 < 2 * x. Proof. intros. pose proof (free x). lra. Qed.'
  must fail assumptions.sh "a theorem that rests on an axiom"

  plant "Hypothesis free : forall x, 0 < x.
$sound"
  must fail nothing_admitted.sh "a hypothesis outside a section"

  plant 'Theorem planted : forall x, 1 < x -> 0 < 2 * x. Proof. intros. lra. Qed.'
  must fail statements.sh "a statement with a stronger premise"
fi

plant "$defined"
sh "$here/statements.sh" "$work/proofs" "$work/build" --write
must hold statements.sh "a definition, an example and a theorem"
changed() { # FROM TO WHAT: the development with one text of it replaced
  printf '%s\n' "$defined" >"$work/defined"
  text=$(sh "$here/altered.sh" "$work/defined" "$1" "$2")
  plant "$text"
  must fail statements.sh "$3"
}
changed '0 < x + shift.' '0 < x + shift /\ False.' "a definition made False"
if deep; then
  changed '1152921504606846977' '1' "a constant changed in bit 60"
  changed 'forall x, exists y' 'exists y, forall x' "quantifiers swapped"
  changed 'Example inhabited' 'Lemma inhabited' "an example removed"
fi

mkdir "$work/real"
if deep; then
  # The project's own files, each altered in one place, proofs left out: what each alteration says is in the difference.
  built=$(cd "$2" && pwd)
  cp -rs "$built" "$work/overlay"
  altered() { # FILE FROM TO: FROM stands once in the file
    mkdir -p "$work/real/$(dirname "$1")"
    sh "$here/altered.sh" "$proofs/$1" "$2" "$3" >"$work/whole"
    awk '
      /^ *Proof/ { skipped = 1 }
      !skipped { print }
      skipped && /(Qed|Defined)\./ { print "Admitted."; skipped = 0 }' "$work/whole" >"$work/real/$1"
    rm -f "$work/overlay/${1%.v}".*
    cp "$work/real/$1" "$work/overlay/$1"
    (cd "$work/overlay" && coqc -q -Q . softcheck -w none "$1")
  }
  altered numerics/streaming_code.v '(length row - 1) R < 1.' '(length row - 1) R < 1 /\ False.'
  altered adaptive_temperature.v ':= 5944520827905142861.' ':= 4791599323298295885.' # less 2^60
  altered numerics/b9_attention.v '(loses : 0 <= r)' '(loses : 1 <= r)'
  altered theorem_2_2.v 'exists boxes : nat -> box, forall tokens, over vocabulary tokens ->' \
    'forall tokens, over vocabulary tokens -> exists boxes : nat -> box,'
  altered numerics/reached_losses.v 'Example b12_is_reached :' 'Lemma b12_is_reached :'
  cp "$proofs/statements.txt" "$proofs/examples.tsv" "$proofs/TRUST.md" "$work/real/"
  cp "$proofs/../README.md" "$work/"
  if sh "$here/statements.sh" "$work/real" "$work/overlay" >"$work/log" 2>&1; then
    echo "statements.sh did not fail: the project's own files"
    exit 1
  fi
  shows() { # PATTERN WHAT
    grep -qE "$1" "$work/log" || { echo "statements.sh does not show $2"; exit 1; }
    echo "statements.sh must show: $2"
  }
  shows '^> .*< 1 /\\ False' "a promise made False"
  shows '^> .*4791599323298295885' "a root of adaptive temperature changed in bit 60"
  shows '^> *1 <= r ->' "a stronger premise of b9_attention"
  shows '^> {8}forall tokens : list vectors.vector,$' "quantifiers of theorem_2_2.boxed swapped"
  shows '^< == softcheck.numerics.reached_losses.b12_is_reached' "an example of B12 removed"
fi

mkdir -p "$work/real/numerics" "$work/texts"
cp "$proofs"/numerics/reached_*.v "$work/real/numerics/"
cp "$proofs/examples.tsv" "$work/real/"
sed 's/^== softcheck.numerics.reached_bounds.b1_is_reached$/== softcheck.gone/' "$2/statements.txt" >"$work/texts/statements.txt"
says() { # WHAT COMMAND...: it must fail on this
  what=$1
  shift
  if "$@" >"$work/log" 2>&1; then echo "$2 did not fail: $what"; exit 1; fi
  echo "$(basename "$2") must fail: $what"
}
says "a theorem that lost its example" sh "$here/examples.sh" "$work/real" "$work/texts"
sed '/^numerics.b12_softmax_gradient/d' "$proofs/examples.tsv" >"$work/real/examples.tsv"
says "a theorem with premises that is in no line" sh "$here/examples.sh" "$work/real" "$2"
sed '/^numerics.b12_softmax_gradient/s/^[^\t]*/numerics.b12_softmax_gradient.*/' "$proofs/examples.tsv" >"$work/real/examples.tsv"
says "a file's name in the place of its theorems'" sh "$here/examples.sh" "$work/real" "$2"
cp "$proofs/examples.tsv" "$work/real/"
sh "$here/examples.sh" "$work/real" "$2"
awk '/^== softcheck.theorem_2_2[.]/ && !planted++ {
  print "== softcheck.theorem_2_2.planted\ntheorem_2_2.planted\n     : forall x : R, x < x -> False" } { print }' \
  "$2/statements.txt" >"$work/texts/statements.txt"
grep -q planted "$work/texts/statements.txt"
says "a theorem of premises that nothing meets" sh "$here/examples.sh" "$work/real" "$work/texts"
sed 's/`Contract.HeightsAreThoseOfTheGrammar`/`Contract.HeightsAreGuessed`/' "$proofs/TRUST.md" >"$work/real/TRUST.md"
says "a test that is not there" sh "$here/trust.sh" "$work/real"

sed 's/= 252543;/= 252542;/' "$here/../numerics/theorem_constants.hpp" >"$work/changed.hpp"
if sh "$here/formulas.sh" "$proofs" "$2" "$work/changed.hpp" >"$work/log" 2>&1; then
  echo "formulas.sh did not fail: a changed constant"
  exit 1
fi
grep -q 252542 "$work/log" || { cat "$work/log"; exit 1; }
echo "formulas.sh must fail: a changed constant"

printf 'Lemma broken : True. Proof. Qed.\n' >"$work/proofs/planted.v"
must fail build.sh "a proof that does not go through"

build=$(cd "$2" && pwd)
# Its reader in OCaml: every number twice as large, the first value for all, a word for the other, decimal
# numbers, lanes as blocks, masked items as zeros.
if ocamlfind query zarith >/dev/null 2>&1; then
  mkdir -p "$work/judged/judge" "$work/program"
  cp "$build"/judge_of_values.ml* "$work/program/"
  misread() { # FROM TO
    sed "s/$1/$2/" "$proofs/judge/extracted_judge.ml" >"$work/judged/judge/extracted_judge.ml"
    if cmp -s "$work/judged/judge/extracted_judge.ml" "$proofs/judge/extracted_judge.ml"; then echo "nothing changed: $1"; exit 1; fi
    says "a judge that reads $2" sh "$here/judge.sh" "$work/judged" "$work/program"
  }
  misread 'exponent - 53 + zeros' 'exponent - 52 + zeros'
  if deep; then
    misread 'verdict (dyadic_of output)' 'verdict (dyadic_of (List.hd outputs))'
    misread 'Judge.Violated -> "violated"' 'Judge.Violated -> "not_violated"'
    misread "String.contains text 'x'" "String.contains text '0'"
    misread 'Judge.Lanes (size lanes)' 'Judge.Blocks (size lanes)'
    misread '"masked" -> None' '"masked" -> Some (Z.zero, Z.zero)'
  fi
fi
deep || echo "17 more with SOFTCHECK_EFFORT=deep"
