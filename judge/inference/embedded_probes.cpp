#include "judge/inference/embedded_probes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "judge/op/op.hpp"

namespace softcheck::proptests {

using numerics::Format;

namespace {

// Tries shapes in order of size, up to this many of each dimension.
constexpr int most_tried = 4096;

// A depth at which e^-depth is below half of the format's smallest number, and rounds to 0.
double depth_of_nothing(Format results) {
  const Format narrow = numerics::properties(results).precision > 24 ? Format::f64 : Format::f32;
  const numerics::FormatProperties& facts = numerics::properties(narrow);
  return (facts.precision - facts.min_exponent + 1) * std::log(2.0);
}

std::optional<std::size_t> length_in(const Domain& domain, std::string_view name, std::size_t least) {
  const std::optional<std::uint64_t> length = domain.length(name).at_least(least);
  return length ? std::optional(static_cast<std::size_t>(*length)) : std::nullopt;
}

// The number of key heads, and of query heads for each.
std::optional<AttentionShape> with_heads(const Domain& domain, AttentionShape shape) {
  std::optional<std::size_t> group = length_in(domain, "group", shape.group);
  for (int g = 0; group && g < most_tried; ++g, group = length_in(domain, "group", *group + 1)) {
    std::optional<std::size_t> heads = length_in(domain, "heads", std::max(*group, shape.heads()));
    for (int h = 0; heads && h < most_tried; ++h, heads = length_in(domain, "heads", *heads + 1)) {
      if (*heads % *group != 0) continue;
      shape.group = *group;
      shape.kv_heads = *heads / *group;
      return shape;
    }
  }
  return std::nullopt;
}

double scale_in(const Domain& domain, std::size_t dim) {
  return domain.usual_scale ? 1 / std::sqrt(static_cast<double>(dim)) : 1;
}

}  // namespace

double within_format(Format format, double value) {
  const double largest = numerics::properties(format).largest;
  return numerics::round_to(format, std::clamp(value, -largest, largest));
}

double weightless_logit(Op op, Format input, Format results, const Domain& domain, const std::vector<double>& row,
                        double theta) {
  const Format format = row_format(op, input);
  const bool may_be_infinite = !op->is_attention() && op->takes_infinities && domain.hides_by_infinity();
  if (may_be_infinite && numerics::properties(format).has_infinity) return -std::numeric_limits<double>::infinity();
  return within_format(format, *std::ranges::max_element(row) - depth_of_nothing(results) * theta);
}

std::optional<AttentionShape> shape_in(const Domain& domain, const AttentionShape& least) {
  std::optional<AttentionShape> shape = with_heads(domain, least);
  if (!shape) return std::nullopt;
  for (const auto& [name, length] : {std::pair{"batch", &AttentionShape::batch},
                                     {"queries", &AttentionShape::queries},
                                     {"keys", &AttentionShape::keys},
                                     {"dim", &AttentionShape::dim}}) {
    const std::optional<std::size_t> found = length_in(domain, name, least.*length);
    if (!found) return std::nullopt;
    (*shape).*length = *found;
  }
  // With one column fewer the call still shows something.
  shape->value_dim = std::max<std::size_t>(1, domain.length("values").nearest(least.value_dim));
  if (domain.equal_lengths) shape->queries = shape->keys = std::max(shape->queries, shape->keys);
  if (domain.equal_dims) shape->dim = shape->value_dim = std::max(shape->dim, shape->value_dim);
  return shape;
}

std::optional<AttentionCase> attention_of(const std::vector<std::vector<double>>& rows, Format input, bool gradient,
                                          const Domain& domain) {
  const std::size_t items = rows.at(0).size();
  AttentionShape least;
  least.batch = rows.size();
  least.keys = items;
  least.value_dim = 2;
  const std::optional<AttentionShape> shape = shape_in(domain, least);
  if (!shape || shape->batch != rows.size()) return std::nullopt;
  AttentionCase attention;
  attention.format = input;
  attention.outputs = gradient ? 1 : 3;
  attention.causal = domain.all_causal;
  attention.shape = *shape;
  take_conventions(attention, domain);
  attention.scale = scale_in(domain, shape->dim);
  const AttentionShape& s = attention.shape;
  std::vector<double> query(s.dim, 0.0);
  query[0] = within_format(input, 1 / attention.scale);
  for (std::size_t i = 0; i < s.batch * s.heads() * s.queries; ++i) {
    attention.queries.insert(attention.queries.end(), query.begin(), query.end());
    if (!gradient) continue;
    attention.gradients.push_back(1);
    attention.gradients.resize(attention.gradients.size() + s.value_dim - 1);
  }
  for (std::size_t head = 0; head < s.batch * s.kv_heads; ++head) {
    const std::vector<double>& row = rows[head / s.kv_heads];
    const double weightless = weightless_logit(Op::attention, input, input, domain, row, 1);
    for (std::size_t j = 0; j < s.keys; ++j) {
      attention.keys.push_back(j < items ? row[j] : weightless);
      attention.keys.resize(attention.keys.size() + s.dim - 1);
      for (std::size_t c = 0; c < s.value_dim; ++c) {
        const bool is_chosen_value = (c == 0 && j == 0) || (c == 1 && j + 1 == items);
        attention.values.push_back(is_chosen_value ? 1 : 0);
      }
    }
  }
  return attention;
}

std::optional<AttentionCase> causal_without_keys(Format input, const Domain& domain) {
  if (domain.no_causal || domain.causal == CausalAlignment::top_left) return std::nullopt;
  const std::optional<std::uint64_t> keys = domain.length("keys").at_least(1);
  if (!keys) return std::nullopt;
  AttentionShape least;
  least.keys = *keys;
  least.queries = least.keys + 1;
  least.value_dim = 2;
  const std::optional<AttentionShape> shape = shape_in(domain, least);
  if (!shape || shape->keys >= shape->queries) return std::nullopt;
  AttentionCase attention;
  attention.format = input;
  attention.outputs = 3;
  attention.causal = true;
  attention.shape = *shape;
  take_conventions(attention, domain);
  attention.scale = scale_in(domain, shape->dim);
  const AttentionShape& s = attention.shape;
  attention.queries.assign(s.batch * s.heads() * s.queries * s.dim, 0.0);
  attention.keys.assign(s.batch * s.kv_heads * s.keys * s.dim, 0.0);
  // Powers of two, whose mean distinguishes a row of equal weights from one of zeros.
  for (std::size_t k = 0; k < s.batch * s.kv_heads * s.keys * s.value_dim; ++k) {
    attention.values.push_back(k % 2 == 0 ? 1 : 2);
  }
  return attention;
}

}  // namespace softcheck::proptests
