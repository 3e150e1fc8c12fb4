#!/bin/sh
# ask.sh PROOFS BUILD COMMAND: what Coq answers to COMMAND on every theorem, each answer under a line "== NAME".
set -eu
here=$(dirname "$0")
proofs=$1 build=$2 command=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$here/theorems.sh" "$proofs" >"$work/names"
{
  sed 's/\.[^.]*$//' "$work/names" | LC_ALL=C sort -u | sed 's/.*/Require &./'
  echo 'Set Printing Width 110.'
  while read -r name; do
    printf 'Goal True. idtac "== %s". Abort.\n%s %s.\n' "$name" "$command" "$name"
  done <"$work/names"
} >"$work/ask.v"
coqc -q -Q "$build" softcheck -w none "$work/ask.v"
