#!/bin/sh
# theorems.sh PROOFS: the full name of every Theorem and Corollary of the development, one a line.
set -eu
cd "$1"
find . -name '*.v' | sed 's|^\./||' | LC_ALL=C sort | while read -r file; do
  module=softcheck.$(echo "${file%.v}" | tr / .)
  sed -n 's/^ *\(Theorem\|Corollary\) \([A-Za-z0-9_]*\).*/\2/p' "$file" | sed "s|^|$module.|"
done
