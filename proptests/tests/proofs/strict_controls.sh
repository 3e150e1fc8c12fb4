#!/bin/sh
# strict_controls.sh PROOFS BUILD TEST: one operation, constant or order of the strict kernels' models changed, and TEST
# (test_strict_model) must see another bit. Bugs of the kernels' own side are in planted/kernels_strict.tsv.
set -eu
proofs=$1 build=$2 test=$3
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
[ -x "$build/strict_rows" ] || { echo "Skipped: no extracted models (Coq, OCaml and Zarith make them)"; exit 77; }
[ -x "$test" ] || { echo "Skipped: no $test"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
models="machine_numbers block_row tree_row extract_strict"
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
other_bits block_row.v softmax '(add (add w0 w1) (add w2 w3))' '(add (add (add w0 w1) w2) w3)'
[ "${SOFTCHECK_EFFORT:-}" = deep ] || { echo "14 more with SOFTCHECK_EFFORT=deep"; exit 0; }
other_bits machine_numbers.v softmax 'fused (mul r r) (fused_horner exp_coefficients r) r' \
  'add (mul (mul r r) (fused_horner exp_coefficients r)) r'
other_bits machine_numbers.v softmax '0x1fffffc' '0x1fffffa'
other_bits block_row.v softmax 'add (sub (sum_value s) (sub sum taken)) (sub x taken)' 'sub x taken'
other_bits block_row.v entropy '(add (add d0 d1) (add d2 d3))' '(add (add d0 d2) (add d1 d3))'
other_bits block_row.v logsumexp 'add_64 (widened (sum_value s)) (widened (sum_rest s))' 'widened (add (sum_value s) (sum_rest s))'
other_bits tree_row.v tree_softmax 'bits_from vector 5 ++ bits_from (vector + 5) 2' 'bits_from (vector + 5) 2 ++ bits_from vector 5'
other_bits machine_numbers.v tree_softmax '(-8676966) (-16)' '(-70) 0'
other_bits tree_row.v tree_entropy 'fused (weight (i + 1)%N) (argument (i + 1)%N) (mul' 'add (mul (weight (i + 1)%N) (argument (i + 1)%N)) (mul'
other_bits tree_row.v tree_entropy 'tree_mean (tree_products vector scale m row) sum' \
  'widened (narrowed (tree_mean (tree_products vector scale m row) sum))'
# What drawn rows seldom show: the test's rows at the edge of a rounding do.
other_bits block_row.v logsumexp 'quotient_64 (fused_64 (neg_64 q) theta m) theta' 'quotient_64 (add_64 (mul_64 (neg_64 q) theta) m) theta'
other_bits block_row.v logsumexp 'fused_64 (dyadic_64 k 0) (dyadic_64 0x162e42fefa39ef (-53)) (add_64' \
  'add_64 (mul_64 (dyadic_64 k 0) (dyadic_64 0x162e42fefa39ef (-53))) (add_64'
other_bits machine_numbers.v softmax 'fused minus_k exp_ln2_low (fused' 'add (mul minus_k exp_ln2_low) (fused'
other_bits machine_numbers.v softmax '0x17f7d1c' '0x17f7d1a'
other_bits machine_numbers.v softmax '0x16a2432' '0x16a2430'
