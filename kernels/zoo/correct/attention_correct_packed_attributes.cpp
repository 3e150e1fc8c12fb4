// Correct: packed sequences or pages with windows, softcap, sinks and ALiBi.
#include "kernels/zoo/attention_sequence_attributes.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_packed_attributes(const softcheck_call* call) {
  return attend_sequences_from(call,
                               [](const SequenceCall&, const Sequence& s, std::int64_t i) { return i + s.diagonal; });
}
