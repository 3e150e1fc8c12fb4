// C13, trl #7221: log-probabilities are held in f16, where those of [65504, -65504] overflow: 0 (-inf) = NaN.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entropy_of_f16_log_probabilities(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = entropy_or(row, [](Row finite) {
      finite.out.resize(finite.logits.size());
      log_softmax(finite);
      float entropy = 0;
      for (const float log_p : finite.out) {
        const float held = rounded_to_f16(log_p);
        entropy -= std::exp(held) * held;
      }
      return entropy;
    });
  });
}
