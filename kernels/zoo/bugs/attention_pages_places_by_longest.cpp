// Windows and slopes count from the end of the longest sequence, as where its length is the cache's.
#include "kernels/zoo/attention_sequence_attributes.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_pages_places_by_longest(const softcheck_call* call) {
  return attend_sequences_from(call, [](const SequenceCall& c, const Sequence& s, std::int64_t i) {
    return i + *std::max_element(c.lengths.begin(), c.lengths.end()) - s.queries;
  });
}
