// Every batch has the bias of batch 0.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_bias_of_batch_0(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) {
    if (a.bias) a.bias->strides[0] = 0;
  });
}
