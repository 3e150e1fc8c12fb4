// Causality aligns the last query and key of the longest sequence, not those of the own one.
#include "kernels/zoo/attention_packed_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_backward_causal_by_longest(const softcheck_call* call) {
  return packed_gradients(
      call, unchanged_gradients,
      [](const PackedGradientCall& a, Sequence& s) {
        std::int64_t queries = 0, keys = 0;
        for (std::size_t b = 0; b < a.of.lengths.size(); ++b) {
          queries = std::max(queries, a.of.cu_q[b + 1] - a.of.cu_q[b]);
          keys = std::max(keys, a.of.lengths[b]);
        }
        if (!a.attributes->top_left) s.diagonal = keys - queries;
        return true;
      },
      unchanged_head);
}
