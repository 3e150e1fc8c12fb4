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
  result_loss 0x0p0 smallest_number 0x1p-149 sum sequential"
# The coefficients 1/2 and 1/2 + 2^-20 of two equal logits and a masked item, and what cannot be read.
answers=$(printf 'contract %s\nrow 80 0x1p0 0x0p0 masked 0x0p0\ncoefficient 0x0p0 0x1p-1 0x1.00002p-1\n' "$(echo $numbers)" |
  ./softcheck-extracted-judge.new)
echo "$answers"
[ "$answers" = "not_violated violated" ]
# Height and rescalings follow from the word and the row: one item after the other, 16 items rescale 15 times where they
# ascend and once where the largest is the first; in a tree of pairs 4 times, in lanes:1 15 times, in any order.
says() { # ANSWER WORD LOGITS...: of 60 x 2^-24 above their log-sum-exp
  answer=$1 word=$2
  shift 2
  got=$(printf 'contract %s\nrow 80 0x1p0 %s\nlogsumexp 0x1.eead7ec332e68p+3\n' "$(echo $numbers | sed "s/sequential/$word/")" "$*" |
    ./softcheck-extracted-judge.new)
  echo "sum=$word: $got"
  [ "$got" = "$answer" ]
}
between="0x1p0 0x2p0 0x3p0 0x4p0 0x5p0 0x6p0 0x7p0 0x8p0 0x9p0 0xap0 0xbp0 0xcp0 0xdp0 0xep0"
says not_violated sequential 0x0p0 $between 0xfp0
says violated sequential 0xfp0 $between 0x0p0
says violated tree 0x0p0 $between 0xfp0
says violated lanes:4 0x0p0 $between 0xfp0
says violated blocks:4 0x0p0 $between 0xfp0
says not_violated lanes:1 0xfp0 $between masked 0x0p0
says not_violated blocks:16 0xfp0 $between masked 0x0p0
refuses() { # WHAT QUESTION
  if printf '%s\n' "$2" | ./softcheck-extracted-judge.new >/dev/null 2>&1; then echo "it reads $1"; exit 1; fi
}
refuses "a row without a contract" "row 80 0x1p0 0x0p0"
refuses "a decimal number" "contract $(echo $numbers | sed 's/0x1p-24/0.00000006/')"
refuses "a contract without one of its numbers" "contract $(echo $numbers | sed 's/ scaling_error 0x0p0//')"
refuses "a contract with one of its numbers twice" "contract $(echo $numbers | sed 's/scaling_error/sum_loss/')"
refuses "a sum of no word" "contract $(echo $numbers | sed 's/sequential/pairs/')"
refuses "lanes without their count" "contract $(echo $numbers | sed 's/sequential/lanes/')"
refuses "no lanes" "contract $(echo $numbers | sed 's/sequential/lanes:0/')"
refuses "an infinity" "contract $(echo $numbers | sed 's/result_loss 0x0p0/result_loss inf/')"
mv softcheck-extracted-judge.new softcheck-extracted-judge
