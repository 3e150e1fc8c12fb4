// C9, KarhouTam/cuda-kernels #1: every lane sums under its own running maximum, and the sums are added as they are.
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_lanes_summed_under_different_maxima(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    constexpr std::size_t lanes = 8;
    std::array<Real, lanes> m;
    m.fill(-infinity);
    std::array<Real, lanes> sum{};
    for (std::size_t i = 0; i < row.logits.size(); ++i) {
      const Real x = row.logits[i];
      const std::size_t lane = i % lanes;
      if (x > m[lane]) {
        sum[lane] *= std::exp((m[lane] - x) * reciprocal_theta(row));
        m[lane] = x;
      }
      sum[lane] += x > -infinity || std::isnan(x) ? std::exp((x - m[lane]) * reciprocal_theta(row)) : 0;
    }
    weights(row, maximum(row.logits), row.out);
    divide(row.out, std::accumulate(sum.begin(), sum.end(), Real(0)));
  });
}
