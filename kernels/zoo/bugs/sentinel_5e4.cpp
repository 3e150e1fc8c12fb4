// C3, FlashInfer #4267: the running maximum starts at -5e4 instead of -inf.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sentinel_5e4(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float m = maximum(row.logits);
    const float sum = weights(row, m < -5e4f && m > -infinity ? -5e4f : m, row.out);
    for (float& p : row.out) {
      p /= sum;
    }
  });
}
