#!/bin/sh
# judge.sh PROOFS BUILD: the extracted judge as a program, BUILD/softcheck-extracted-judge, which `softcheck kernel --certify`
# asks.
set -eu
proofs=$1 build=$2
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
ocamlfind query zarith >/dev/null 2>&1 || { echo "Skipped: no ocamlfind with zarith"; exit 77; }
cp "$proofs/judge/extracted_judge.ml" "$build/"
cd "$build"
# The extracted module is Coq's style, not ours: its warnings say nothing.
ocamlfind ocamlopt -w -a -package zarith -linkpkg judge_of_values.mli judge_of_values.ml extracted_judge.ml \
  -o softcheck-extracted-judge.new
numbers="accumulator_roundoff 0x1p-24 exponential_error 0x1p-23 logarithm_error 0x1p-23 argument_roundings 0x1p0
  argument_extra 0x0p0 difference_loss 0x0p0 sum_loss 0x0p0 product_loss 0x1p-150 exponential_loss 0x1p-149
  last_argument 0x1.9ep7 conversion_error 0x0p0 scaling_error 0x0p0 reciprocal_loss 0x0p0 result_roundoff 0x0p0
  result_loss 0x0p0 smallest_number 0x1p-149 most_additions 1 most_rescalings 1"
# The coefficients 1/2 and 1/2 + 2^-20 of two equal logits, and what cannot be read.
answers=$(printf 'contract %s\nrow 80 0x1p0 0x0p0 0x0p0\ncoefficient 0x0p0 0x1p-1 0x1.00002p-1\n' "$(echo $numbers)" |
  ./softcheck-extracted-judge.new)
echo "$answers"
[ "$answers" = "not_violated violated" ]
refuses() { # WHAT QUESTION
  if printf '%s\n' "$2" | ./softcheck-extracted-judge.new >/dev/null 2>&1; then echo "it reads $1"; exit 1; fi
}
refuses "a row without a contract" "row 80 0x1p0 0x0p0"
refuses "a decimal number" "contract $(echo $numbers | sed 's/0x1p-24/0.00000006/')"
refuses "a contract without one of its numbers" "contract $(echo $numbers | sed 's/ scaling_error 0x0p0//')"
refuses "a contract with one of its numbers twice" "contract $(echo $numbers | sed 's/scaling_error/sum_loss/')"
refuses "a count below 0" "contract $(echo $numbers | sed 's/most_additions 1/most_additions -1/')"
refuses "an infinity" "contract $(echo $numbers | sed 's/result_loss 0x0p0/result_loss inf/')"
mv softcheck-extracted-judge.new softcheck-extracted-judge
