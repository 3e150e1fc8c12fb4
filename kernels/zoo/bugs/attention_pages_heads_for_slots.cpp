// Values of a cache (pages, page, heads, dim) are read as (pages, heads, page, dim).
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_pages_heads_for_slots(const softcheck_call* call) {
  return attend_sequences(
      call,
      [](SequenceCall& c) {
        const std::int64_t dim = c.v.strides[1] / std::max<std::int64_t>(1, c.v.shape[2]);
        c.v.strides[1] = dim;                 // a slot
        c.v.strides[2] = dim * c.v.shape[1];  // a head
      },
      unchanged_sequence, two_pass);
}
