// C5, ParlAI #1649, the class of JAX #27224: a row is filled up to a multiple of 8 with logits of 0 instead of -inf,
// and they are counted.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_pad_scored_zero(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float m = maximum(row.logits);
    float sum = weights(row, m, row.out);
    for (std::size_t i = row.logits.size(); i % 8 != 0; ++i) {
      sum += std::exp(static_cast<float>(-m / row.theta));
    }
    for (float& p : row.out) {
      p /= sum;
    }
  });
}
