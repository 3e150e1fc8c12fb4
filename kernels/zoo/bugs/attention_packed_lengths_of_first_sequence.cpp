// Every sequence has as many keys as the first one, as far as the tensor goes.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_lengths_of_first_sequence(const softcheck_call* call) {
  return attend_changed_sequences(call, [](const SequenceCall& c, Sequence& s) {
    s.keys = std::min(c.lengths[0], c.k.shape[0] - s.first_key);
    s.diagonal = s.keys - s.queries;
    return true;
  });
}
