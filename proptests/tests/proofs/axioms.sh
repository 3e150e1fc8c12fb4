#!/bin/sh
# axioms.sh PROOFS BUILD [each|together]: the axioms that the theorems of each file rest on together, as lines "MODULE AXIOM", and
# "MODULE -" where there is none. Each question makes Coq walk through the whole library again: files that axioms.tsv
# records alike are asked together, and any axiom one of them has beyond its record is said of all.
# each: file by file; together: all at once.
set -eu
here=$(dirname "$0")
proofs=$1 build=$2 each=${3:-}
answer=$build/axioms.txt
if [ -z "$each" ] && [ -f "$answer" ] && [ -z "$(find "$build" "$proofs/axioms.tsv" \( -name '*.vo' -o -name axioms.tsv \) \
    -newer "$answer" 2>/dev/null)" ]; then
  cat "$answer"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
recorded=$proofs/axioms.tsv
[ -f "$recorded" ] || recorded=/dev/null
sed -n '/^#/! s/^/softcheck./p' "$recorded" >"$work/recorded"
sh "$here/theorems.sh" "$proofs" | awk -v folder="$work" -v each="$each" '
  FILENAME != "-" { mark[$1] = $2; next }
  {
    module = $0; sub(/\.[^.]*$/, "", module)
    group = each == "together" ? "all" : each == "" && module in mark ? "as " mark[module] : module
    if (!(group in number)) number[group] = ++groups
    if (!(module in seen)) { seen[module] = 1; print group "\t" module >(folder "/members"); needs[group] = needs[group] "Require " module ".\n" }
    lets[group] = lets[group] "let _ := @" $0 " in\n" # the type of a tuple is written again at each place of it
  }
  END {
    for (group in number) {
      k = number[group]
      printf "%sDefinition theorems_%d :=\n%stt.\n", needs[group], k, lets[group] >(folder "/part" k % 2 ".v")
      printf "Goal True. idtac \"== %s\". Abort.\nPrint Assumptions theorems_%d.\n", group, k >(folder "/part" k % 2 ".v")
    }
  }' "$work/recorded" -
for part in "$work"/part?.v; do
  coqc -q -Q "$build" softcheck -w none "$part" >"$part.out" 2>&1 || { cat "$part.out" >&2; touch "$work/failed"; } &
done
wait
[ ! -e "$work/failed" ]
awk -F '\t' '
  FILENAME ~ /members$/ { members[$1] = members[$1] " " $2; next }
  function say(axiom,   i, n, module) {
    n = split(members[group], module, " ")
    for (i = 1; i <= n; i++) print module[i], axiom
    found = 1
  }
  /^== / { if (group != "" && !found) say("-"); group = substr($0, 4); found = 0; next }
  /^Axioms:/ || /^Closed under/ { next }
  /^[A-Za-z_][A-Za-z0-9_.\x27]*( :|$)/ { sub(/ .*/, ""); say($0) }
  END { if (group != "" && !found) say("-") }' "$work/members" "$work"/part?.v.out | LC_ALL=C sort >"$work/axioms"
if [ -z "$each" ]; then mv "$work/axioms" "$answer" && cat "$answer"; else cat "$work/axioms"; fi
