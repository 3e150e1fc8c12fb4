// Correct: f64 by way of long double.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_long_double(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const long double m = maximum(row.logits);
    long double sum = 0;
    for (const Real x : row.logits) {
      sum += std::exp((x - m) / static_cast<long double>(row.theta));
    }
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = static_cast<Real>(std::exp((row.logits[i] - m) / static_cast<long double>(row.theta)) / sum);
    }
  });
}
