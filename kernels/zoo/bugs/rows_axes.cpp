// Bugs of rows: the wrong axis.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/zoo/numbered_rows.hpp"
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// C15, ONNX Runtime #4288, #17833: the axes are grouped: all rows share one maximum and one sum.
// @judged softmax f16: exp=1ulp sum=sequential masked=nan; fail C15; LayoutsAndNeighboursDoNotMatter;
// kernel.softmax.element
SOFTCHECK_MUTANT mutant_softmax_of_the_whole_matrix(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
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
      for (auto& p : row.out) {
        p = all.out[next++];
      }
    });
  };
  return is_f64(matrices->logits.type) ? over_all(double{}) : over_all(float{});
}

// C15, ONNX Runtime #15949: the axis is wrong: columns are normalised, and a single row is all ones.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C15; EveryValueLiesWithinItsThreshold;
// kernel.softmax.element
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

// C15, TVM #19420: a matrix whose columns lie closer together than its rows is read as it lies where a row has more
// than 1100 logits.
// @judged log_softmax f16: exp=1ulp sum=sequential masked=nan; fail|crash C15; EveryPairOfClassesIsComputed;
// kernel.log_softmax.element|kernel.returns; witness >=2202; effort default
SOFTCHECK_MUTANT mutant_transposed_long_rows_read_as_stored(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  if (matrices->logits.row_stride == 1 && matrices->logits.columns > 1100 && matrices->logits.rows > 1) {
    matrices->logits.row_stride = matrices->logits.columns;
    matrices->logits.column_stride = 1;
  }
  return each_row(*matrices, [](auto& row) { log_softmax(row); });
}

// C15, burn #4815, FlagGems PR #5723: of a transposed view the matrix in memory is read, row by row.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail|crash C15; LayoutsAndNeighboursDoNotMatter;
// kernel.softmax.element|kernel.returns
SOFTCHECK_MUTANT mutant_transposed_read_as_stored(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  if (matrices->logits.column_stride > matrices->logits.row_stride) {
    matrices->logits.column_stride = 1;
    matrices->logits.row_stride = matrices->logits.columns;
  }
  return each_row(*matrices, [](auto& row) { softmax(row); });
}
