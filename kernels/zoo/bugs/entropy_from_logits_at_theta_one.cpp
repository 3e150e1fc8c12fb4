// C10, C13: H = ln S + m / T - sum p x / T, but the last sum is of the logits themselves.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entropy_from_logits_at_theta_one(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = entropy_or(row, [](const Row& finite) {
      const Sums sums = sums_of(finite);
      const float scale = reciprocal_theta(finite);
      float raw = 0;
      for (const float x : finite.logits) {
        const float w = std::exp((x - sums.maximum) * scale);
        raw += w > 0 ? w * x : 0;
      }
      return sums.maximum * scale + std::log(sums.weights) - raw / sums.weights;
    });
  });
}
