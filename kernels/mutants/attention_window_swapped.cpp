// Window left and right swapped.
#include "kernels/mutants/attention_attributed.hpp"

using namespace softcheck::kernels::mutants::attention;

SOFTCHECK_MUTANT mutant_attention_window_swapped(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) { std::swap(a.left, a.right); });
}
