// C4, tt-metal #12661, Compute Library #148: exp is held in f16, where exp(12) is infinite; nothing is subtracted.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_weights_in_f16(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float m = maximum(row.logits);
    weights(row, std::isfinite(m) ? 0.0f : m, row.out);
    float sum = 0;
    for (float& w : row.out) {
      w = rounded_to_f16(w);
      sum += w;
    }
    divide(row.out, sum);
  });
}

// C11, torch's softmax along axis 0 (docs/field.md): behind the maximum none is infinite, but each has 11 bits, which
// contract weights=f16 says.
SOFTCHECK_MUTANT mutant_weights_rounded_to_f16(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    weights(row, maximum(row.logits), row.out);
    float sum = 0;
    for (float& w : row.out) {
      w = rounded_to_f16(w);
      sum += w;
    }
    divide(row.out, sum);
  });
}
