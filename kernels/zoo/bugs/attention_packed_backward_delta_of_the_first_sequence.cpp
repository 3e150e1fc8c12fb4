// delta is read at the place in the sequence, not at that among all tokens: every sequence takes the first one's saved
// output.
#include "kernels/zoo/attention_packed_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_backward_delta_of_the_first_sequence(const softcheck_call* call) {
  return packed_gradients(call, unchanged_gradients, unchanged_gradient_sequence,
                          [](const PackedGradientCall& a, const Sequence& s, std::int64_t kv, auto& head) {
                            const std::int64_t group = a.of.heads() / a.of.key_heads(), dv = a.of.v.shape[2];
                            using Real = std::decay_t<decltype(head.saved_out[0])>;
                            for (std::size_t k = 0; k < head.saved_out.size(); ++k) {
                              const std::int64_t row = static_cast<std::int64_t>(k) / dv,
                                                 t = static_cast<std::int64_t>(k) % dv;
                              const char* const from = a.of.out.at(row % s.queries, kv * group + row / s.queries, t);
                              head.saved_out[k] = load<Real>(a.of.out.type, from);
                            }
                          });
}
