// The forward pass has the window, its gradient does not.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_backward_window_ignored(const softcheck_call* call) {
  return gradients_by<Gradients>(call, [](GradientCall& a) { a.of.left = a.of.right = -1; });
}
