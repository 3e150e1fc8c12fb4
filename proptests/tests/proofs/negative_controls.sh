#!/bin/sh
# negative_controls.sh PROOFS BUILD: each check of the proofs turns red on what it is for. A development of two files, one
# of them the project's own, is spoilt in one way after the other; then statements of the project are made false.
set -eu
here=$(dirname "$0")
proofs=$1
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/proofs"
cp "$proofs/_CoqProject" "$proofs/softmax.v" "$work/proofs/"

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

plant "Axiom free : forall x, 0 < x.
$sound"
must fail nothing_admitted.sh "an axiom"

plant 'Axiom free : forall x, 0 < x.
Theorem planted : forall x, 0 < x -> 0 < 2 * x. Proof. intros. pose proof (free x). lra. Qed.'
must fail assumptions.sh "a theorem that rests on an axiom"

plant "Hypothesis free : forall x, 0 < x.
$sound"
must fail nothing_admitted.sh "a hypothesis outside a section"

plant 'Theorem planted : forall x, 0 < x -> 0 <= 2 * x. Proof. intros. lra. Qed.'
must fail statements.sh "a weakened statement"

plant 'Theorem planted : forall x, 1 < x -> 0 < 2 * x. Proof. intros. lra. Qed.'
must fail statements.sh "a statement with a stronger premise"

plant "$defined"
sh "$here/statements.sh" "$work/proofs" "$work/build" --write
must hold statements.sh "a definition, an example and a theorem"
changed() { # FROM TO WHAT: the development with one text of it replaced
  plant "$(printf '%s\n' "$defined" | awk -v from="$1" -v to="$2" '
    { at = index($0, from) }
    at { $0 = substr($0, 1, at - 1) to substr($0, at + length(from)) }
    { print }')"
  must fail statements.sh "$3"
}
changed '0 < x + shift.' '0 < x + shift /\\ False.' "a definition made False"
changed '1152921504606846977' '1' "a constant changed in bit 60"
changed 'forall x, exists y' 'exists y, forall x' "quantifiers swapped"
changed 'Example inhabited' 'Lemma inhabited' "an example removed"

sed 's/= 252543;/= 252542;/' "$here/../numerics/theorem_formulas.hpp" >"$work/changed.hpp"
if sh "$here/formulas.sh" "$proofs" "$2" "$work/changed.hpp" >"$work/log" 2>&1; then
  echo "formulas.sh did not fail: a changed constant"
  exit 1
fi
grep -q 252542 "$work/log" || { cat "$work/log"; exit 1; }
echo "formulas.sh must fail: a changed constant"

printf 'Lemma broken : True. Proof. Qed.\n' >"$work/proofs/planted.v"
must fail build.sh "a proof that does not go through"

# Statements of the project, each made false in one place: its proof no longer goes through. The unaltered file must, and
# no altered one may fail by its syntax.
mkdir "$work/altered"
build=$(cd "$2" && pwd)
compiles() { (cd "$work/altered" && coqc -q -Q "$build" softcheck -w none "$1") >"$work/log" 2>&1; }
false_statement() { # FILE FROM TO: FROM stands once in the file
  awk -v from="$2" -v to="$3" '
    { at = index($0, from) }
    at { $0 = substr($0, 1, at - 1) to substr($0, at + length(from)); found++ }
    { print }
    END { exit found != 1 }' "$proofs/$1" >"$work/altered/$1" || { echo "$1 does not have this once: $2"; exit 1; }
  if compiles "$1"; then echo "$1 still compiles with: $3"; exit 1; fi
  if grep -q 'Syntax error' "$work/log"; then cat "$work/log"; exit 1; fi
  echo "$1 must not compile: $3"
}
for file in normalised_vectors norm_ellipsoid rotary_positions attention_variants theorem_2_2; do
  cp "$proofs/$file.v" "$work/altered/"
  compiles "$file.v" || { cat "$work/log"; exit 1; }
done
false_statement normalised_vectors.v 'c v ^ 2 <= lambda * dot rows v v.' 'c v ^ 2 <= 2 * lambda * dot rows v v.'
false_statement norm_ellipsoid.v '2 * s * sqrt (r_k * lambda)' '1 * s * sqrt (r_k * lambda)'
false_statement norm_ellipsoid.v '(1 + / t) * r_k * norm d_k' '(/ t) * r_k * norm d_k'
false_statement norm_ellipsoid.v '* (sigma_A * sqrt r_q + norm width a) * sigma_B * sqrt r_k.' '* (sigma_A * sqrt r_q) * sigma_B * sqrt r_k.'
false_statement rotary_positions.v '-> w (fst p) = w (snd p).' '-> w (fst p) <= w (snd p).'
false_statement rotary_positions.v '(forall u, form u <= norm n' '(forall u, form u <= 2 * norm n'
false_statement rotary_positions.v '(2 * (s * sqrt lambda)) (map' '(1 * (s * sqrt lambda)) (map'
false_statement rotary_positions.v '(p : nat * nat) : R := Rmax' '(p : nat * nat) : R := Rmin'
false_statement attention_variants.v 'softcap c y) <= 2 * softcap' 'softcap c y) <= softcap'
false_statement attention_variants.v '(Rmax hi sink - Rmin lo sink) <=' '(hi - lo) <='
false_statement attention_variants.v '(length logits <= W)%nat' '(length logits <= S W)%nat'
false_statement theorem_2_2.v '-> in_ball d (INR d) (f x).' '-> in_ball d (INR d / 2) (f x).'
