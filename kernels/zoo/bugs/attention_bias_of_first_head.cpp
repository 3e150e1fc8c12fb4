// Every head has the bias of head 0.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_bias_of_first_head(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) { std::ranges::fill(a.bias_head, 0); });
}
