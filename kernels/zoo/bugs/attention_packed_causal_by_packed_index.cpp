// Causality compares places among all sequences' tokens, not within the sequence.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_causal_by_packed_index(const softcheck_call* call) {
  return attend_changed_sequences(call, [](const SequenceCall&, Sequence& s) {
    s.diagonal += s.first_query - s.first_key;
    return true;
  });
}
