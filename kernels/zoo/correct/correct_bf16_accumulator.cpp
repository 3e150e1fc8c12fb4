// Correct under contract acc=bf16: every sum is rounded to 8 bits. Long rows leave such a promise without content:
// vacuous.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_bf16_accumulator(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float m = maximum(row.logits);
    const float scale = rounded_to_bf16(reciprocal_theta(row));
    float sum = 0;
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = rounded_to_bf16(std::exp(rounded_to_bf16(rounded_to_bf16(row.logits[i] - m) * scale)));
      sum = rounded_to_bf16(sum + row.out[i]);
    }
    divide(row.out, sum);
  });
}
