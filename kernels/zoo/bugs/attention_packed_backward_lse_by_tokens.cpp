// The saved log-sum-exps are read as (tokens, heads), not as (heads, tokens).
#include "kernels/zoo/attention_packed_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_backward_lse_by_tokens(const softcheck_call* call) {
  return packed_gradients(
      call, unchanged_gradients, unchanged_gradient_sequence,
      [](const PackedGradientCall& a, const Sequence& s, std::int64_t kv, auto& head) {
        const std::int64_t heads = a.of.heads(), group = heads / a.of.key_heads(), total = a.of.q.shape[0];
        using Real = std::decay_t<decltype(head.saved_lse[0])>;
        for (std::size_t row = 0; row < head.rows.size(); ++row) {
          const std::int64_t h = kv * group + static_cast<std::int64_t>(row) / s.queries;
          const std::int64_t i = s.first_query + static_cast<std::int64_t>(row) % s.queries, at = i * heads + h;
          head.saved_lse[row] = load<Real>(a.saved_lse.type, a.saved_lse.at(at / total, at % total, 0));
        }
      });
}
