#!/bin/sh
# strict_rows.sh PROOFS BUILD: the models of the strict kernels as a program, BUILD/strict_rows.
set -eu
proofs=$1 build=$2
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
ocamlfind query zarith >/dev/null 2>&1 || { echo "Skipped: no ocamlfind with zarith"; exit 77; }
cp "$proofs/strict_kernels/strict_rows.ml" "$build/"
cd "$build"
# The extracted module is Coq's style, not ours: its warnings say nothing.
ocamlfind ocamlopt -w -a -package zarith -linkpkg strict_kernels.mli strict_kernels.ml strict_rows.ml -o strict_rows.new
# Of one item: its coefficient is 1, its log-sum-exp the item, its entropy 0. Of a masked row there is nothing. ln 1 is 0, 1 + e^0 is 2.
answers=$(printf '%s\n' 'softmax 3ff0000000000000 c0490fdb' 'logsumexp 3ff0000000000000 c0490fdb' \
  'entropy 3ff0000000000000 c0490fdb' 'softmax 3ff0000000000000 ff800000' 'logarithm 0000000000000000' \
  'compensated 00000000 3f800000' | ./strict_rows.new | tr '\n' ' ')
echo "$answers"
[ "$answers" = "3f800000 c0490fdb 00000000 7fc00000 0000000000000000 40000000 00000000 " ]
refuses() { # WHAT QUESTION
  if printf '%s\n' "$2" | ./strict_rows.new >/dev/null 2>&1; then echo "it reads $1"; exit 1; fi
}
refuses "another question" "varentropy 3ff0000000000000 c0490fdb"
refuses "a word that is too short" "softmax 3ff0000000000000 c0490fd"
refuses "a decimal number" "softmax 3ff0000000000000 0.500000"
refuses "a temperature of 32 bits" "softmax 3f800000 c0490fdb"
mv strict_rows.new strict_rows
