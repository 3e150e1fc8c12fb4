#!/bin/sh
# axioms.sh PROOFS BUILD: the axioms that the theorems of each file rest on together, as lines "MODULE AXIOM", and
# "MODULE -" where there is none. Theorem by theorem the same walk through Coq's library would be made again each time.
set -eu
here=$(dirname "$0")
proofs=$1 build=$2
answer=$build/axioms.txt
if [ -f "$answer" ] && [ -z "$(find "$build" -name '*.vo' -newer "$answer")" ]; then
  cat "$answer"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$here/theorems.sh" "$proofs" | awk -v folder="$work" '
  { module = $0; sub(/\.[^.]*$/, "", module) }
  module != last { if (last != "") finish(); last = module; tuple = "tt"; files++ }
  { tuple = "(" tuple ", @" $0 ")" }
  function finish() {
    out = folder "/part" files % 2 ".v"
    printf "Require %s.\nDefinition theorems_%d := %s.\n", last, files, tuple >out
    printf "Goal True. idtac \"== %s\". Abort.\nPrint Assumptions theorems_%d.\n", last, files >out
  }
  END { if (last != "") finish() }'
for part in "$work"/part?.v; do
  coqc -q -Q "$build" softcheck -w none "$part" >"$part.out" 2>&1 || { cat "$part.out" >&2; touch "$work/failed"; } &
done
wait
[ ! -e "$work/failed" ]
awk '
  /^== / { if (name != "" && !found) print name, "-"; name = $2; found = 0; next }
  /^Axioms:/ || /^Closed under/ { next }
  /^[A-Za-z_][A-Za-z0-9_.\x27]*( :|$)/ { print name, $1; found = 1 }
  END { if (name != "" && !found) print name, "-" }' "$work"/part?.v.out | LC_ALL=C sort >"$work/axioms"
mv "$work/axioms" "$answer"
cat "$answer"
