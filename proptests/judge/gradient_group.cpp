// The queries of a case that look at one key head.
#include "proptests/judge/attention_gradient.hpp"
#include "proptests/judge/attention_rows.hpp"

namespace softcheck::proptests {

GradientGroup gradient_group(const AttentionCase& a, std::size_t b, std::size_t kv,
                             const std::function<bool(std::size_t, std::size_t)>& chosen) {
  const AttentionShape& s = a.shape;
  // The queries of a key head's group lie one behind the other.
  const std::size_t first = row_number(s, b, kv * s.group, 0), m = s.group * s.queries;
  GradientGroup group;
  group.keys = s.keys;
  for (std::size_t q = 0; q < m; ++q) {
    const std::size_t h = kv * s.group + q / s.queries, i = q % s.queries;
    group.rows.push_back(row_of(a, b, h, i));
    if (chosen) group.chosen.push_back(chosen(h, i));
  }
  group.out_gradients = std::span(a.gradients).subspan(first * s.value_dim, m * s.value_dim);
  return group;
}

}  // namespace softcheck::proptests
