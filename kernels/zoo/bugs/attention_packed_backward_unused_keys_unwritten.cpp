// The gradients of keys are not zeroed first: tokens of a sequence that has no queries keep what their memory held
// (ROCm/flash-attention 179).
#include "kernels/zoo/attention_packed_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_backward_unused_keys_unwritten(const softcheck_call* call) {
  return packed_gradients(
      call, [](PackedGradientCall& a) { a.clears = false; },
      [](const PackedGradientCall&, Sequence& s) { return s.queries > 0; }, unchanged_head);
}
