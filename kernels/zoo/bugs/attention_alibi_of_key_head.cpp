// A query head has the slope of its key head.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_alibi_of_key_head(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) { a.slope_head = a.plain.key_head; });
}
