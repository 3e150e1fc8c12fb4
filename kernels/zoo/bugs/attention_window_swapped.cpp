// Window left and right swapped.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_window_swapped(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) { std::swap(a.left, a.right); });
}
