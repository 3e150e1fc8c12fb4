// The gradient's strides are not looked at: the framework hands over a transposed one.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_backward_dout_taken_as_compact(const softcheck_call* call) {
  return gradients_by<Gradients>(call, [](GradientCall& a) {
    std::int64_t compact = 1;
    for (std::size_t d = 4; d-- > 0;) {
      a.out_gradient.strides[d] = compact;
      compact *= a.out_gradient.shape[d];
    }
  });
}
