#!/bin/sh
# The layer test must turn red on each kind of forbidden include, and stay green on an allowed one.
set -eu
cmake=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
plant() { # folder, include line
  rm -rf "$tree"/*
  mkdir -p "$tree/$1" "$tree/theory"
  echo '#include "numerics/formats/format.hpp"' >"$tree/theory/allowed.hpp"
  echo "$2" >"$tree/$1/planted.hpp"
}
check() { "$cmake" -DROOT="$tree" -P cmake/check_layers.cmake >"$tree/log" 2>&1; }

plant theory '#include "numerics/enclosures/enclosure.hpp"'
check || { cat "$tree/log"; echo "an allowed include was refused"; exit 1; }
while read -r folder header; do
  plant "$folder" "  #  include \"$header\""
  if check; then echo "not refused: $folder includes $header"; exit 1; fi
  echo "refused, as it should be: $folder includes $header"
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
