// The last sequence ends with its last whole block of eight keys.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_tail_of_last_sequence(const softcheck_call* call) {
  return attend_changed_sequences(call, [](const SequenceCall& c, Sequence& s) {
    const bool last = s.index + 1 == static_cast<std::int64_t>(c.lengths.size());
    if (last && s.keys > 8) s.keys -= s.keys % 8;
    return true;
  });
}
