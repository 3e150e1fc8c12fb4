// The queries of a case that use one key head: of all heads, or of one.
#include "judge/ops/attention/attention_gradient.hpp"
#include "judge/ops/attention/attention_rows.hpp"

namespace softcheck::proptests {

namespace {

// The queries of `count` heads from first_head on, which use the same key head.
GradientGroup queries_of_heads(const AttentionCase& a, std::size_t b, std::size_t first_head, std::size_t count,
                               const std::function<bool(std::size_t, std::size_t)>& chosen) {
  const AttentionShape& s = a.shape;
  // Queries of successive heads have consecutive numbers.
  const std::size_t first = row_number(s, b, first_head, 0), m = count * s.queries;
  GradientGroup group;
  group.keys = s.keys;
  group.own_keys = a.keys_of(b);
  for (std::size_t q = 0; q < m; ++q) {
    const std::size_t h = first_head + q / s.queries, i = q % s.queries;
    group.rows.push_back(row_of(a, b, h, i));
    if (a.sequences.any()) group.absent.push_back(i >= a.queries_of(b));
    if (chosen) group.chosen.push_back(chosen(h, i));
  }
  group.out_gradients = std::span(a.gradients).subspan(first * s.value_dim, m * s.value_dim);
  const std::span<const double> by_lse = a.attributes.lse_gradients;
  if (!by_lse.empty()) group.lse_gradients = by_lse.subspan(first, m);
  return group;
}

}  // namespace

GradientGroup gradient_group(const AttentionCase& a, std::size_t b, std::size_t kv,
                             const std::function<bool(std::size_t, std::size_t)>& chosen) {
  return queries_of_heads(a, b, kv * a.shape.group, a.shape.group, chosen);
}

GradientGroup head_queries(const AttentionCase& a, std::size_t b, std::size_t h,
                           const std::function<bool(std::size_t, std::size_t)>& chosen) {
  return queries_of_heads(a, b, h, 1, chosen);
}

}  // namespace softcheck::proptests
