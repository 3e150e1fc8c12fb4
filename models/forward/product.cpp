#include "models/forward/product.hpp"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace softcheck::models {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

#if defined(__x86_64__)
constexpr Index panel_rows = 16, panel_columns = 8, lanes = 8;

// panel     (inputs, panel_rows), compact
// x, result stride and panel_rows numbers a column
template <Index columns>
[[gnu::target("avx512f")]] void panel_product(const double* panel, Index inputs, const double* x, Index stride,
                                              double* result) {
  __m512d low[columns], high[columns];
  for (Index j = 0; j < columns; ++j) low[j] = high[j] = _mm512_setzero_pd();
  for (Index k = 0; k < inputs; ++k) {
    const __m512d w0 = _mm512_loadu_pd(panel + k * panel_rows), w1 = _mm512_loadu_pd(panel + k * panel_rows + lanes);
    for (Index j = 0; j < columns; ++j) {
      const __m512d number = _mm512_set1_pd(x[j * stride + k]);
      low[j] = _mm512_fmadd_pd(w0, number, low[j]);
      high[j] = _mm512_fmadd_pd(w1, number, high[j]);
    }
  }
  for (Index j = 0; j < columns; ++j) {
    _mm512_storeu_pd(result + j * panel_rows, low[j]);
    _mm512_storeu_pd(result + j * panel_rows + lanes, high[j]);
  }
}

void multiply_panels(const MatrixXd& weights, bool transposed, const Eigen::Ref<const MatrixXd>& x,
                     Eigen::Ref<MatrixXd> result) {
  MatrixXd panel(panel_rows, x.rows());
  double sums[panel_rows * panel_columns];
  for (Index first = 0; first < result.rows(); first += panel_rows) {
    const Index count = std::min(panel_rows, result.rows() - first);
    if (transposed) {
      panel.topRows(count) = weights.middleCols(first, count).transpose();
    } else {
      panel.topRows(count) = weights.middleRows(first, count);
    }
    for (Index column = 0, columns = 0; column < x.cols(); column += columns) {
      const bool many = column + panel_columns <= x.cols();
      columns = many ? panel_columns : 1;
      (many ? panel_product<panel_columns> : panel_product<1>)(panel.data(), x.rows(), &x.coeffRef(0, column),
                                                               x.outerStride(), sums);
      result.block(first, column, count, columns) =
          Eigen::Map<const MatrixXd>(sums, panel_rows, columns).topRows(count);
    }
  }
}
#endif

}  // namespace

void multiply(const MatrixXd& weights, bool transposed, const Eigen::Ref<const MatrixXd>& x,
              Eigen::Ref<MatrixXd> result) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return multiply_panels(weights, transposed, x, result);
#endif
  if (transposed) {
    result.noalias() = weights.transpose() * x;
  } else {
    result.noalias() = weights * x;
  }
}

}  // namespace softcheck::models
