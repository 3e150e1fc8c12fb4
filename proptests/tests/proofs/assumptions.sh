#!/bin/sh
# assumptions.sh PROOFS BUILD: every theorem rests on the axioms of Coq's classical reals and on nothing else.
set -eu
here=$(dirname "$0")
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
answers=$(mktemp)
trap 'rm -f "$answers"' EXIT
sh "$here/ask.sh" "$1" "$2" 'Print Assumptions' >"$answers"
awk '
  BEGIN {
    allowed["ClassicalDedekindReals.sig_forall_dec"] = allowed["ClassicalDedekindReals.sig_not_dec"] = 1
    allowed["FunctionalExtensionality.functional_extensionality_dep"] = allowed["Classical_Prop.classic"] = 1
    # Coquelicot takes limits by it.
    allowed["IndefiniteDescription.constructive_indefinite_description"] = 1
  }
  /^== / { name = $2; theorems++; next }
  /^[A-Za-z_][A-Za-z0-9_.\x27]* *:/ || /^[A-Za-z_][A-Za-z0-9_.\x27]*$/ {
    if ($1 == "Axioms:" || $1 == "Closed") next
    axiom = $1; sub(/:$/, "", axiom)
    used[axiom]++
    if (!(axiom in allowed)) { printf "%s rests on %s\n", name, axiom; failed = 1 }
  }
  END {
    for (axiom in used) printf "%d theorems rest on %s\n", used[axiom], axiom
    printf "%d theorems\n", theorems
    exit failed || theorems == 0
  }' "$answers"
