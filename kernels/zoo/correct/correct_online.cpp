// Correct: running maximum and sum in one pass, rescaled where the maximum rises.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_online(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real scale = reciprocal_theta(row);
    Real m = -infinity;
    Real sum = 0;
    for (const Real x : row.logits) {
      if (x > m) {
        sum = sum * std::exp((m - x) * scale) + (x < infinity ? 1 : quiet_nan);
        m = x;
      } else if (x > -infinity || std::isnan(x)) {
        sum += std::exp((x - m) * scale);
      }
    }
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = std::exp((row.logits[i] - m) * scale) / sum;
    }
  });
}
