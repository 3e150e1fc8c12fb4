// Windows and slopes count from the place among all sequences' tokens.
#include "kernels/zoo/attention_sequence_attributes.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_places_among_all(const softcheck_call* call) {
  return attend_sequences_from(call, [](const SequenceCall&, const Sequence& s, std::int64_t i) {
    return s.first_query + i - s.first_key + s.diagonal;
  });
}
