// Causality is aligned by the longest sequences (max_seqlen), not by each one's lengths.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_causal_by_longest(const softcheck_call* call) {
  return attend_changed_sequences(call, [](const SequenceCall& c, Sequence& s) {
    std::int64_t queries = 0;
    for (std::int64_t b = 0; b < static_cast<std::int64_t>(c.lengths.size()); ++b) {
      queries = std::max(queries, sequence_of(c, b).queries);
    }
    s.diagonal = *std::max_element(c.lengths.begin(), c.lengths.end()) - queries;
    return true;
  });
}
