#!/bin/sh
# ask.sh PROOFS BUILD COMMAND [KINDS [IMPORTS]]: what Coq answers to COMMAND on every theorem, or on all that theorems.sh
# lists for KINDS, each answer under a line "== NAME". IMPORTS gives the answers their usual notation.
set -eu
here=$(dirname "$0")
proofs=$1 build=$2 command=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$here/theorems.sh" "$proofs" ${4:+"$4"} >"$work/names"
{
  sed 's/\.[^.]*$//' "$work/names" | LC_ALL=C sort -u | sed 's/.*/Require &./'
  echo "${5:-}"
  echo 'Set Printing Width 110.'
  # Beyond its depth Coq prints dots; what they hide could change unseen.
  echo 'Set Printing Depth 1000000.'
  while read -r name; do
    printf 'Goal True. idtac "== %s". Abort.\n%s %s.\n' "$name" "$command" "$name"
  done <"$work/names"
} >"$work/ask.v"
coqc -q -Q "$build" softcheck -w none "$work/ask.v"
