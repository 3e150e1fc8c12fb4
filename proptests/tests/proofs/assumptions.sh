#!/bin/sh
# assumptions.sh PROOFS BUILD: every theorem rests on the axioms of Coq's classical reals and on nothing else. Asked of all
# at once, which costs one walk through the libraries; with SOFTCHECK_EFFORT=deep of each file, too.
set -eu
here=$(dirname "$0")
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
axioms=$(mktemp)
trap 'rm -f "$axioms"' EXIT
together=together
[ "${SOFTCHECK_EFFORT:-}" != deep ] || together=''
sh "$here/axioms.sh" "$1" "$2" $together >"$axioms"
awk '
  BEGIN {
    allowed["-"] = 1
    allowed["ClassicalDedekindReals.sig_forall_dec"] = allowed["ClassicalDedekindReals.sig_not_dec"] = 1
    allowed["FunctionalExtensionality.functional_extensionality_dep"] = allowed["Classical_Prop.classic"] = 1
    # Coquelicot takes limits by it.
    allowed["IndefiniteDescription.constructive_indefinite_description"] = 1
  }
  !($2 in allowed) { printf "%s rests on %s\n", $1, $2; failed = 1 }
  { files[$1] = 1; used[$2]++ }
  END {
    for (axiom in used) printf "%3d files: %s\n", used[axiom], axiom
    for (file in files) count++
    exit failed || count == 0
  }' "$axioms"
echo "$(sh "$here/theorems.sh" "$1" | wc -l) theorems"
