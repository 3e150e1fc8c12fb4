// Correct under contract weights=bf16: the exponentials stand in the output, in bf16, until they are divided; their sum
// is f32's.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_weights_stored(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float sum = weights(row, maximum(row.logits), row.out);
    for (float& w : row.out) w = rounded_to_bf16(w);
    divide(row.out, sum);
  });
}

// C11: and so does the argument of the exponential.
SOFTCHECK_MUTANT mutant_weights_and_arguments_stored(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float m = maximum(row.logits), scale = reciprocal_theta(row);
    float sum = 0;
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = rounded_to_bf16(std::exp(rounded_to_bf16((row.logits[i] - m) * scale)));
      sum += row.out[i];
    }
    divide(row.out, sum);
  });
}
