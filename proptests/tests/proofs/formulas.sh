#!/bin/sh
# formulas.sh PROOFS BUILD [--write|HEADER]: the C++ headers of the theorems' formulas and constants, and the table of what
# contracts' words stand for, are what Coq prints by printed/; HEADER alone is compared, in the place of theorem_constants.hpp.
set -eu
proofs=$1 build=$2
here=$(cd "$(dirname "$0")" && pwd)
headers=$here/../numerics
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
build=$(cd "$build" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/printed/*.v "$work/"
cd "$work"
coq() { coqc -q -Q "$build" softcheck -Q . printed -w none "$1.v"; }
coq printing
printed() { # NAME: the string that its last command evaluates to, as lines
  coq "$1" >printed
  sed -e '1s/^ *= "//' -e '/^ *: string$/d' -e 's/"%string$//' -e '$s/"$//' printed | sed -e 's/" *$//' >"$1.hpp"
}
place() { # NAME: where the header stands
  case $1 in
    *_bounds) echo "$headers/../../../numerics/rounding/$1.hpp" ;;
    *) echo "$headers/$1.hpp" ;;
  esac
}
update() { # FILE PRINTED: the file is what was printed
  if [ "$mode" = --write ]; then
    cp "$2" "$1.new" && mv "$1.new" "$1"
  else
    diff "$1" "$2" || { echo "$1 is not what Coq prints: formulas.sh $proofs $build --write"; exit 1; }
    echo "$(basename "$1"): $(wc -l <"$1") lines agree"
  fi
}
mode=${3:-}
printed theorem_constants
case $mode in
  '' | --write) ;;
  *) update "$mode" theorem_constants.hpp && exit ;;
esac
for name in theorem_bounds theorem_gradient_formulas theorem_projection_bounds theorem_attention_bounds; do printed $name; done
# A list of lines, each a string.
coq contract_words | grep -oE '"[^"]*"' | tr -d '"' >contract_words.tsv
update "$headers/contract_words.tsv" contract_words.tsv
coq tree_orders | grep -oE '"[^"]*"' | tr -d '"' >tree_orders.tsv
update "$headers/../emulator/tree_orders.tsv" tree_orders.tsv
for file in theorem_*.hpp; do update "$(place "${file%.hpp}")" "$file"; done
