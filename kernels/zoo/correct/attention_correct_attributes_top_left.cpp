// Correct: causality and windows count from the first query and the first key, whatever the call says.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_attributes_top_left(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) { a.plain.diagonal = 0; });
}
