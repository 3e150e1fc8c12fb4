// Each query goes over all tokens, and those of other sequences have a weight of 0, which makes a NaN of theirs NaN.
#include "kernels/zoo/attention_packed_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_backward_neighbour_times_zero(const softcheck_call* call) {
  return packed_gradients(call, unchanged_gradients, unchanged_gradient_sequence,
                          [](const PackedGradientCall& a, const Sequence& s, std::int64_t, auto& head) {
                            using Real = std::decay_t<decltype(head.gradients[0])>;
                            Real others = 0;
                            for (std::int64_t i = 0; i < a.of.q.shape[0]; ++i) {
                              const bool is_own = i >= s.first_query && i < s.first_query + s.queries;
                              if (!is_own)
                                others += Real(0) * load<Real>(a.out_gradient.type, a.out_gradient.at(i, 0, 0));
                            }
                            for (Real& x : head.gradients) x += others;
                          });
}
