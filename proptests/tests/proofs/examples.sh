#!/bin/sh
# examples.sh PROOFS BUILD: PROOFS/examples.tsv says of every theorem with premises which Examples meet these, or why there
# is none, each theorem by its name. Reads BUILD/statements.txt, which statements.sh writes; of modules that wait for
# SOFTCHECK_EFFORT=deep (sources.sh), the source.
set -eu
here=$(dirname "$0")
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$here/theorems.sh" "$1" Example | LC_ALL=C sort >"$work/built"
SOFTCHECK_EFFORT=deep sh "$here/theorems.sh" "$1" Example | LC_ALL=C sort | LC_ALL=C comm -23 - "$work/built" >"$work/waiting"
awk -F '\t' '
  FILENAME ~ /waiting$/ { sub(/^softcheck\./, ""); example[$0] = 1; next }
  FILENAME ~ /statements.txt$/ {
    if (/^=== /) { part = substr($0, 5); next }
    if (/^== /) { name = $0; sub(/^== softcheck\./, "", name); if (part == "examples") example[name] = 1; next }
    if (part == "theorems") { text = $0; gsub(/<->/, "", text); if (text ~ /->/) premises[name] = 1 }
    next
  }
  /^#/ { next }
  NF < 2 || NF > 3 { printf "%s:%d: need THEOREMS, EXAMPLES, REMARK\n", FILENAME, FNR; failed = 1; next }
  {
    count_of_line = split($1, theorems, " ")
    for (i = 1; i <= count_of_line; i++) {
      if (theorems[i] in line) { printf "%s:%d: a second line of %s\n", FILENAME, FNR, theorems[i]; failed = 1 }
      line[theorems[i]] = $2
    }
  }
  $2 == "-" && $3 == "" { printf "%s:%d: no Example and no reason\n", FILENAME, FNR; failed = 1 }
  $2 != "-" {
    n = split($2, named, " ")
    if (n == 0) { printf "%s:%d: no Example and no -\n", FILENAME, FNR; failed = 1 }
    for (i = 1; i <= n; i++) {
      used[named[i]] = 1
      if (!(named[i] in example)) { printf "%s: its Example %s is gone\n", $1, named[i]; failed = 1 }
    }
  }
  END {
    for (name in premises) {
      if (!(name in line)) { printf "%s has premises and no line\n", name; failed = 1; continue }
      if (line[name] == "-") without++; else with++
    }
    for (key in line) if (!(key in premises)) { printf "%s: no theorem with premises\n", key; failed = 1 }
    for (name in example) {
      count++
      if (!(name in used)) { printf "%s: no theorem names this Example\n", name; failed = 1 }
    }
    printf "%d theorems with premises have an Example, %d have none; %d Examples\n", with, without, count
    exit failed || with == 0
  }' "$work/waiting" "$2/statements.txt" "$1/examples.tsv"
