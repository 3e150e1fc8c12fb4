// C1, TensorRT-LLM #17477: masked logits are -FLT_MAX, so that exp(-FLT_MAX + FLT_MAX) = 1 in a row of nothing else.
#include <limits>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_adaptive_masked_row_uniform(const softcheck_call* call) {
  return call->theta != 1 ? 1 : each_row(call, [](Row& row) {
    for (float& x : row.logits) {
      x = x == -infinity ? -std::numeric_limits<float>::max() : x;
    }
    adaptive_softmax(row);
  });
}
