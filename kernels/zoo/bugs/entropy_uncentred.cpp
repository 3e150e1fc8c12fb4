// C13, FlashAttention PR #2359: T = sum w x of the raw logits, H = m + ln S - T/S: not shift-invariant.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entropy_uncentred(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = entropy_or(row, [](const Row& finite) {
      const Sums sums = sums_of(finite);
      const float scale = static_cast<float>(1 / finite.theta);
      float raw = 0;
      for (const float x : finite.logits) {
        const float w = std::exp((x - sums.maximum) * scale);
        raw += w > 0 ? w * (x * scale) : 0;
      }
      return sums.maximum * scale + std::log(sums.weights) - raw / sums.weights;
    });
  });
}
