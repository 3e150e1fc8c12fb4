#!/bin/sh
# The layer test must turn red on each kind of forbidden include, and stay green on an allowed one.
set -eu
cmake=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
broken() { # what the layer test says, and how many includes or folders it refuses
  status=0
  "$cmake" -DROOT="$tree" -P cmake/check_layers.cmake >"$tree/said" 2>&1 || status=$?
  tr -s ' \n' '  ' <"$tree/said" >"$tree/log"
  [ $((status != 0)) = $(($1 != 0)) ] && grep -q "includes between our files, $1 break the table" "$tree/log" ||
    { cat "$tree/said"; echo "need $1 refused"; exit 1; }
}

mkdir "$tree/theory"
printf '#include "numerics/%s.hpp"\n' formats/format enclosures/enclosure >"$tree/theory/allowed.hpp"
broken 0
planted=0
while read -r folder header; do
  planted=$((planted + 1))
  mkdir -p "$tree/$folder"
  echo "  #  include \"$header\"" >"$tree/$folder/planted_$planted.hpp"
  echo "$folder/planted_$planted.hpp" >>"$tree/forbidden"
done <<'LIST'
numerics theory/lemma_2_1.hpp
theory proptests/engine/property.hpp
theory kernels/abi/softcheck_kernel.h
kernels numerics/formats/format.hpp
numerics/formats numerics/enclosures/enclosure.hpp
numerics/rows numerics/rounding/rounding.hpp
numerics/rounding numerics/filter/row_filter.hpp
numerics/matrices numerics/rows/row_oracle.hpp
proptests/generators/drawing proptests/generators/rows/row.hpp
proptests/generators/rows proptests/generators/row_matrices/row_matrix.hpp
proptests/generators/attention proptests/generators/row_matrices/row_matrix.hpp
proptests/engine proptests/report/report.hpp
proptests/report judge/call/evidence.hpp
judge/op judge/call/tensor_call.hpp
judge/call judge/sandbox/watched_kernel.hpp
judge/verdict judge/ops/rows/row_op.hpp
judge/ops/rows judge/ops/attention/attention_rows.hpp
judge/ops/softmax judge/ops/attention/attention_rows.hpp
judge/trial judge/report/kernel_report.hpp
judge/trial judge/kernel_judge.hpp
judge/exhaustive judge/kernel_judge.hpp
judge judge/inference/contract_search.hpp
judge/ops/rows kernels/arithmetic/conversions.hpp
judge/no_such_room judge/op/op.hpp
experiments/tables experiments/figures/gnuplot.hpp
kernels/cpu kernels/cpu/rows/row_access.hpp
kernels/strict kernels/cpu/rows/row_access.hpp
kernels/parallel kernels/strict/rows.hpp
kernels/cpu kernels/parallel/key_tree.hpp
kernels/call kernels/cpu/rows/row_access.hpp
kernels/arithmetic kernels/call/elements.hpp
kernels/block kernels/emulator/block.hpp
proptests kernels/cpu/softmax.hpp
proptests/tests/judge kernels/emulator/block.hpp
proptests cli/main.hpp
experiments proptests/engine/property.hpp
LIST
broken $planted
while read -r file; do
  grep -q "layers: $file\( includes\|: [a-z_/]* has no line\)" "$tree/log" || { echo "not refused: $file"; exit 1; }
done <"$tree/forbidden"
echo "$planted forbidden includes are refused, as they should be"
