// C11, the class of PyTorch #158310: T = sum w D is kept in f16.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_deviations_in_f16(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = entropy_or(row, [](const Row& finite) {
      Sums<float> sums = sums_of(finite);
      sums.deviations = 0;
      for (const float x : finite.logits) {
        const float deviation = (sums.maximum - x) * reciprocal_theta(finite);
        const float w = std::exp(-deviation);
        sums.deviations = rounded_to_f16(sums.deviations + (w > 0 ? w * deviation : 0));
      }
      return entropy_of(sums);
    });
  });
}
