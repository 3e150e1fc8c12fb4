// Transformers 41228, mlx-lm 390: one key more to the left.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_window_left_one_more(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) {
    if (a.left >= 0) ++a.left;
  });
}
