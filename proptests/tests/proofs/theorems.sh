#!/bin/sh
# theorems.sh PROOFS [KINDS]: the full name of every Theorem and Corollary of the development, one a line; with KINDS, of
# what these words declare (separated by |).
set -eu
sources=$(sh "$(dirname "$0")/sources.sh" "$1")
cd "$1"
for file in $sources; do
  module=softcheck.$(echo "${file%.v}" | tr / .)
  sed -nE "s/^ *((Local|Global|Program) +)*(${2:-Theorem|Corollary}) +([A-Za-z0-9_']+).*/\4/p" "$file" | sed "s|^|$module.|"
done
