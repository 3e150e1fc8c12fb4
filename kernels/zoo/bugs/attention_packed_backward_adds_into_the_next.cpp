// Keys come in tiles of four, and the last tile of a sequence is not masked: its dk and dv are added to the first
// tokens of the next one.
#include "kernels/zoo/attention_packed_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_backward_adds_into_the_next(const softcheck_call* call) {
  return packed_gradients(
      call, unchanged_gradients,
      [](const PackedGradientCall& a, Sequence& s) {
        const std::int64_t own = s.keys, there = a.of.k.shape[0] - s.first_key;
        s.keys = std::min((own + 3) / 4 * 4, there);
        return true;
      },
      unchanged_head);
}
