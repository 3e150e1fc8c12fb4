// C15, ONNX Runtime #15949: the axis is wrong: columns are normalised, and a single row is all ones.
#include <optional>
#include <utility>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_softmax_over_rows(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::swap(matrices->logits.rows, matrices->logits.columns);
  std::swap(matrices->logits.row_stride, matrices->logits.column_stride);
  std::swap(matrices->out.row_stride, matrices->out.column_stride);
  if (matrices->mask) {
    std::swap(matrices->mask->row_stride, matrices->mask->column_stride);
  }
  return each_row(*matrices, [](auto& row) { softmax(row); });
}
