// The bias is read as if it were compact.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_bias_taken_as_compact(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) {
    if (!a.bias) return;
    std::int64_t step = 1;
    for (std::size_t d = 4; d-- > 0; step *= a.bias->shape[d]) a.bias->strides[d] = step;
  });
}
