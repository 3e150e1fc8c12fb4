// LightLLM 1311: right = W - 1.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_window_right_is_exclusive(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) {
    if (a.right > 0) --a.right;
  });
}
