// sglang 26147: one key more to the right.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_window_right_one_more(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) {
    if (a.right >= 0) ++a.right;
  });
}
