#include "proptests/generators/attention/attention_known.hpp"

#include <algorithm>
#include <cmath>

#include "proptests/generators/attention/attention_gradients.hpp"
#include "proptests/generators/domains/known_shapes.hpp"
#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/rows/row_families.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::size_t distinct_queries = 7, distinct_heads = 3;

/// count vectors of so many normal numbers; from the distinct-th on they begin anew.
std::vector<double> repeated(Draw& draw, numerics::Format format, std::size_t count, std::size_t size,
                             std::size_t distinct) {
  const std::size_t drawn = std::min(count, distinct) * size;
  std::vector<double> numbers;
  numbers.reserve(count * size);
  for (std::size_t k = 0; k < drawn; ++k) numbers.push_back(into_format(format, draw.normal()));
  for (std::size_t k = drawn; k < count * size; ++k) numbers.push_back(numbers[k - drawn]);
  return numbers;
}

AttentionCase case_of(const AttentionShape& shape, const AttentionOptions& options) {
  const AttentionShape& s = shape;
  Draw draw(s.scores() + s.dim);
  AttentionCase a;
  a.format = options.format;
  a.family = "known";
  a.shape = shape;
  a.scale = 1 / std::sqrt(static_cast<double>(s.dim));
  a.attributes.top_left = options.domain.causal == CausalAlignment::top_left;
  a.outputs = options.gradients ? 1 : 3;
  draw_sequences(draw, a, options);
  a.queries = repeated(draw, a.format, s.batch * s.heads() * s.queries, s.dim, distinct_queries);
  a.keys = repeated(draw, a.format, s.batch * s.kv_heads, s.keys * s.dim, distinct_heads);
  a.values = repeated(draw, a.format, s.batch * s.kv_heads, s.keys * s.value_dim, distinct_heads);
  if (options.gradients) draw_gradients(draw, a, distinct_queries);
  return a;
}

// Slopes so small that the farthest keys together still weigh something.
std::vector<double> small_slopes(const AttentionShape& s) {
  std::vector<double> slopes;
  for (std::size_t h = 0; h < s.heads(); ++h) slopes.push_back(std::ldexp(1.0, -13 + static_cast<int>(h % 2)));
  return slopes;
}

bool is_offered(const KnownAttributes& known, const Domain& domain) {
  const bool of_sequences = known.window == 0 && !known.alibi;
  return of_sequences ? domain.has_sequences() : (known.window == 0 || domain.window) && (!known.alibi || domain.alibi);
}

}  // namespace

std::vector<AttentionCase> known_cases(const AttentionOptions& options, std::size_t most_heads) {
  std::vector<AttentionCase> cases;
  const auto add = [&](AttentionCase a) {
    const AttentionShape& s = a.shape;
    constexpr std::size_t queries_of_a_head = 8;
    if (s.batch * s.heads() > most_heads || s.queries / queries_of_a_head > most_heads) return;
    if (lies_in(options.domain, a, traits_of(a))) cases.push_back(std::move(a));
  };
  for (const KnownAttention& k : known_attention()) {
    add(case_of({k.batch, k.kv_heads, k.group, k.queries, k.keys, k.dim, k.values}, options));
  }
  for (const KnownAttributes& k : known_attributes()) {
    if (!is_offered(k, options.domain)) continue;
    AttentionCase a = case_of({k.batch, k.heads, 1, k.queries, k.keys, k.dim, k.dim}, options);
    if (k.window > 0) a.attributes.window_left = k.window;
    if (k.alibi) a.attributes.slopes = small_slopes(a.shape);
    add(std::move(a));
  }
  std::ranges::stable_sort(cases, {}, [](const AttentionCase& a) { return size_of(a); });
  return cases;
}

}  // namespace softcheck::proptests
