// Correct: windows, alignments, softcap, sinks, ALiBi and bias, all scores first.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_attributes(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall&) {});
}
