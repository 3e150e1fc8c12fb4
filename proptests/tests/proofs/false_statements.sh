#!/bin/sh
# false_statements.sh PROOFS BUILD: the statements of false_statements.tsv, each made false in one place, have proofs that no
# longer go through: they say no more than is true. The unaltered file must compile, and no altered one may fail by its syntax.
set -eu
here=$(dirname "$0")
proofs=$1
[ "${SOFTCHECK_EFFORT:-}" = deep ] || { echo "Skipped: two minutes; run with SOFTCHECK_EFFORT=deep"; exit 77; }
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build=$(cd "$2" && pwd)
compiles() { (cd "$work" && coqc -q -Q "$build" softcheck -w none "$1") >"$work/log" 2>&1; }
grep -v '^#' "$here/false_statements.tsv" >"$work/statements"
cut -f 1 "$work/statements" | LC_ALL=C sort -u >"$work/files"
while read -r file; do
  mkdir -p "$work/$(dirname "$file")"
  cp "$proofs/$file" "$work/$file"
  compiles "$file" || { cat "$work/log"; exit 1; }
done <"$work/files"
tab=$(printf '\t')
while IFS=$tab read -r file from to; do
  sh "$here/altered.sh" "$proofs/$file" "$from" "$to" >"$work/$file"
  if compiles "$file"; then echo "$file still compiles with: $to"; exit 1; fi
  if grep -q 'Syntax error' "$work/log"; then cat "$work/log"; exit 1; fi
  echo "$file must not compile: $to"
done <"$work/statements"
