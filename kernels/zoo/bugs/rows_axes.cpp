// Bugs of rows: the wrong axis.
#include <utility>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

// C15, ONNX Runtime #4288, #17833: the axes are grouped: all rows share one maximum and one sum.
// @judged softmax f16: plain; fail C15; LayoutsAndNeighboursDoNotMatter
SOFTCHECK_MUTANT mutant_softmax_of_the_whole_matrix(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) return 1;
  const auto over_all = [&](auto real) {
    using Real = decltype(real);
    RowOf<Real> all;
    all.theta = matrices->theta;
    for (std::int64_t r = 0; r < matrices->logits.rows; ++r) {
      const std::vector<Real> logits = gather<Real>(*matrices, r).logits;
      all.logits.insert(all.logits.end(), logits.begin(), logits.end());
    }
    all.out.resize(all.logits.size());
    softmax(all);
    std::size_t next = 0;
    return each_row(*matrices, [&](auto& row) {
      for (auto& p : row.out) p = all.out[next++];
    });
  };
  return is_f64(matrices->logits.type) ? over_all(double{}) : over_all(float{});
}

// C15, ONNX Runtime #15949: the axis is wrong: columns are normalised, and a single row is all ones.
// @judged softmax f32: plain; fail C15
BUG(mutant_softmax_over_rows, rows_of_changed_call, softmax_row) {
  std::swap(matrices.logits.rows, matrices.logits.columns);
  std::swap(matrices.logits.row_stride, matrices.logits.column_stride);
  std::swap(matrices.out.row_stride, matrices.out.column_stride);
  if (matrices.mask) std::swap(matrices.mask->row_stride, matrices.mask->column_stride);
}

// C15, TVM #19420: a transposed matrix (row stride below the column stride) is read in the order of memory if a row has
// more than 1100 logits.
// @judged log_softmax f16: plain; fail|crash C15; EveryPairOfClassesIsComputed; witness >=2202; effort default
BUG(mutant_transposed_long_rows_read_as_stored, rows_of_changed_call, log_softmax_row) {
  if (matrices.logits.row_stride == 1 && matrices.logits.columns > 1100 && matrices.logits.rows > 1) {
    matrices.logits.row_stride = matrices.logits.columns;
    matrices.logits.column_stride = 1;
  }
}

// C15, burn #4815, FlagGems PR #5723: of a transposed view the matrix in memory is read, row by row.
// @judged softmax f32: plain; fail|crash C15; LayoutsAndNeighboursDoNotMatter
BUG(mutant_transposed_read_as_stored, rows_of_changed_call, softmax_row) {
  if (matrices.logits.column_stride > matrices.logits.row_stride) {
    matrices.logits.column_stride = 1;
    matrices.logits.row_stride = matrices.logits.columns;
  }
}
