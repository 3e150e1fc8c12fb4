// The gradient's window counts the query's own key apart.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_backward_window_one_key_more(const softcheck_call* call) {
  return gradients_by<Gradients>(call, [](GradientCall& a) {
    if (a.of.left >= 0) ++a.of.left;
  });
}
