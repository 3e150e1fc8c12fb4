// A grid of one block of 128 queries a sequence: those behind are never written.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_queries_from_128(const softcheck_call* call) {
  return attend_changed_sequences(call, [](const SequenceCall&, Sequence& s) {
    s.queries = std::min<std::int64_t>(s.queries, 128);
    return true;
  });
}
