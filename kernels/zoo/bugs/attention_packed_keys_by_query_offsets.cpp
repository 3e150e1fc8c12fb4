// cu_q where cu_k is meant: right wherever a sequence has as many queries as keys.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_keys_by_query_offsets(const softcheck_call* call) {
  return attend_changed_sequences(call, [](const SequenceCall& c, Sequence& s) {
    s.first_key = std::min(s.first_query, c.k.shape[0] - s.keys);
    return true;
  });
}
