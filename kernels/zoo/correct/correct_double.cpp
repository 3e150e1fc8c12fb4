// Correct: everything in double, one rounding at the end.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_double(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const double m = maximum(row.logits);
    double sum = 0;
    for (const float x : row.logits) {
      sum += std::exp((x - m) / row.theta);
    }
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = static_cast<float>(std::exp((row.logits[i] - m) / row.theta) / sum);
    }
  });
}
