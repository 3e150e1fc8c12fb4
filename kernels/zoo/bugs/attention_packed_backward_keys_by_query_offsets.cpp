// Keys, values and their gradients are found by the offsets of the queries: right only where each sequence has as many
// of both.
#include "kernels/zoo/attention_packed_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_backward_keys_by_query_offsets(const softcheck_call* call) {
  return packed_gradients(
      call, unchanged_gradients,
      [](const PackedGradientCall& a, Sequence& s) {
        s.first_key = std::min(s.first_query, a.of.k.shape[0] - s.keys);
        return true;
      },
      unchanged_head);
}
