// Transformers 39408, tokenspeed 578: sliding_window counts the query's own key, so that one key less is seen.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_window_counts_its_own(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) { a.left = a.left > 0 ? a.left - 1 : a.left; });
}
