// C1, TensorRT-LLM #17477: masked scores are -FLT_MAX, and so is the first maximum: a fully masked row is the mean of
// V.
#include <limits>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_masked_row_uniform(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    auto x = scores(row);
    for (Real& value : x) value = std::max(value, -std::numeric_limits<Real>::max());
    finish(row, accumulate(row, x, largest(x)));
  });
}
