// C10, Transformers PR #44397: the caller's scale is not passed on, 1 / sqrt(d) is used.
#include <cmath>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_scale_forgotten(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) { a.scale = 1 / std::sqrt(static_cast<double>(a.q.shape[3])); });
}
