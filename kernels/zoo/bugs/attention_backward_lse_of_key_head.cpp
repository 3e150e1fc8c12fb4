// The log-sum-exp of the first heads serves all of a group.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_backward_lse_of_key_head(const softcheck_call* call) {
  return gradients_by<Gradients>(call, [](GradientCall& a) {
    a.saved_lse.shape[1] = a.of.plain.k.shape[1];
    a.saved_lse.strides[1] = a.of.plain.k.shape[1] == a.of.plain.q.shape[1] ? a.saved_lse.strides[1] : 0;
  });
}
