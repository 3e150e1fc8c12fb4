#!/bin/sh
# strict_controls.sh PROOFS BUILD TEST: one operation, constant or order of the models of strict_kernels/ changed, and TEST
# (test_strict_model) must see another bit. Bugs of the kernels' own side are in planted/kernels_strict.tsv.
set -eu
proofs=$1 build=$2 test=$3
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
[ -x "$build/strict_rows" ] || { echo "Skipped: no extracted models (Coq, OCaml and Zarith make them)"; exit 77; }
[ -x "$test" ] || { echo "Skipped: no $test"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
models="machine_numbers tree_row extract_strict"
# The changed files alone, under the same names: what they need beside each other is Coq's and Flocq's.
program_of() {
  cd "$work"
  for model in $models; do
    coqc -q -w none -Q . softcheck "strict_kernels/$model.v" || { echo "$model.v does not compile"; exit 1; }
  done
  ocamlfind ocamlopt -w -a -package zarith -linkpkg strict_kernels.mli strict_kernels.ml strict_rows.ml \
    -o strict_rows 2>"$work/log" || { cat "$work/log"; exit 1; }
}
other_bits() { # FILE OP FROM TO
  rm -rf "$work/strict_kernels"
  mkdir "$work/strict_kernels"
  for model in $models; do cp "$proofs/strict_kernels/$model.v" "$work/strict_kernels/"; done
  count=$(grep -cF -- "$3" "$work/strict_kernels/$1")
  [ "$count" = 1 ] || { echo "$1: '$3' occurs on $count lines"; exit 1; }
  awk -v from="$3" -v to="$4" '{ i = index($0, from); if (i) $0 = substr($0, 1, i - 1) to substr($0, i + length(from)); print }' \
    "$proofs/strict_kernels/$1" >"$work/strict_kernels/$1"
  cp "$proofs/strict_kernels/strict_rows.ml" "$work/"
  (program_of)
  if SOFTCHECK_STRICT_MODEL="$work/strict_rows" "$test" --gtest_filter="*HasTheBitsOfTheKernel/$2" >"$work/log" 2>&1; then
    echo "$1 has the kernel's bits with: $4"; exit 1
  fi
  grep -q "the model's answer comes first" "$work/log" || { cat "$work/log"; exit 1; }
  echo "$1 has other bits with: $4"
}
other_bits tree_row.v softmax 'bits_from vector 5 ++ bits_from (vector + 5) 2' 'bits_from (vector + 5) 2 ++ bits_from vector 5'
[ "${SOFTCHECK_EFFORT:-}" = deep ] || { echo "14 more with SOFTCHECK_EFFORT=deep"; exit 0; }
other_bits machine_numbers.v softmax 'fused (mul r r) (fused_horner exp_coefficients r) r' \
  'add (mul (mul r r) (fused_horner exp_coefficients r)) r'
other_bits machine_numbers.v softmax '0x1fffffc' '0x1fffffa'
other_bits machine_numbers.v softmax '(-8676966) (-16)' '(-70) 0'
other_bits tree_row.v entropy 'fused (weight (i + 1)%N) (argument (i + 1)%N) (mul' 'add (mul (weight (i + 1)%N) (argument (i + 1)%N)) (mul'
other_bits tree_row.v entropy 'tree_mean (tree_products vector scale m row) sum' \
  'widened (narrowed (tree_mean (tree_products vector scale m row) sum))'
other_bits machine_numbers.v compensated 'add (sub (sum_value s) (sub sum taken)) (sub x taken)' 'sub x taken'
other_bits machine_numbers.v compensated '(fused (sum_value s) (rest factor) rounded)' 'rounded'
other_bits machine_numbers.v logarithm 'fused_64 (dyadic_64 k 0) (dyadic_64 0x162e42fefa39ef (-53))' \
  'add_64 (mul_64 (dyadic_64 k 0) (dyadic_64 0x162e42fefa39ef (-53)))'
other_bits machine_numbers.v logarithm '(add_64 of_m (quotient_64 rest x))' 'of_m'
# What drawn rows seldom show: the test's rows at the edge of a rounding do.
other_bits tree_row.v logsumexp '(fused_64 (neg_64 q) theta (widened m)) inverse' '(add_64 (mul_64 (neg_64 q) theta) (widened m)) inverse'
other_bits tree_row.v logsumexp 'fused_64 (dyadic_64 k 0) (dyadic_64 0x162e42fefa39ef (-53)) (twice_atanh' \
  'add_64 (mul_64 (dyadic_64 k 0) (dyadic_64 0x162e42fefa39ef (-53))) (twice_atanh'
other_bits machine_numbers.v softmax 'fused minus_k exp_ln2_low (fused' 'add (mul minus_k exp_ln2_low) (fused'
other_bits machine_numbers.v softmax '0x17f7d1c' '0x17f7d1a'
other_bits machine_numbers.v softmax '0x16a2432' '0x16a2430'
