// Correct under sum=sequential: each sequence is a call of its own, from what was saved.
#include "kernels/zoo/attention_packed_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_packed_backward_correct(const softcheck_call* call) {
  return packed_gradients(call, unchanged_gradients, unchanged_gradient_sequence, unchanged_head);
}
