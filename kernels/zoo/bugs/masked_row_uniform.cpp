// C1, TensorRT-LLM #17477: m starts at -FLT_MAX and masked logits are clamped to it: a fully masked row is uniform,
// though nan is declared.
#include <limits>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_masked_row_uniform(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    for (float& x : row.logits) {
      x = x == -infinity ? -std::numeric_limits<float>::max() : x;
    }
    softmax(row);
  });
}
