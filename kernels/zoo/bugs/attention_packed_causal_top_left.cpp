// Causality aligns each sequence's first query with its first key.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_causal_top_left(const softcheck_call* call) {
  return attend_changed_sequences(call, [](const SequenceCall&, Sequence& s) {
    s.diagonal = 0;
    return true;
  });
}
