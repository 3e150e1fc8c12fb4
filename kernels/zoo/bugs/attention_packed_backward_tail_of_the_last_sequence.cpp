// The last queries of the last sequence, beyond a multiple of four, add nothing to dk and dv, and have no dq: the grid
// is rounded down.
#include "kernels/zoo/attention_packed_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_backward_tail_of_the_last_sequence(const softcheck_call* call) {
  return packed_gradients(
      call, unchanged_gradients,
      [](const PackedGradientCall& a, Sequence& s) {
        const bool is_last = s.index + 1 == static_cast<std::int64_t>(a.of.lengths.size());
        const std::int64_t kept = s.queries / 4 * 4;
        if (is_last) s.queries = kept;
        return true;
      },
      unchanged_head);
}
