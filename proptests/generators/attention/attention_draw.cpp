#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "numerics/enclosures/interruption.hpp"
#include "proptests/generators/attention/attention.hpp"
#include "proptests/generators/attention/attention_attributes.hpp"
#include "proptests/generators/attention/attention_heights.hpp"
#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/drawing/lazy_shrinks.hpp"
#include "proptests/generators/rows/row_families.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;

// Sizes that kernels are written for, and their neighbours.
std::size_t draw_dim(Draw& draw, int size) {
  static constexpr std::size_t usual[] = {1, 2, 4, 8, 16, 32, 40, 64, 80, 96, 128};
  const std::size_t reach = 3 + static_cast<std::size_t>(std::min(size, 100)) * (std::size(usual) - 3) / 100;
  const std::size_t dim = usual[draw.below(reach)];
  return draw.one_in(4) ? std::max<std::size_t>(1, dim + draw.below(3) - 1) : dim;
}

std::size_t draw_length(Draw& draw, int size, std::size_t highest) {
  const double share = std::min(size, rc::kNominalSize) / static_cast<double>(rc::kNominalSize);
  const auto cap = static_cast<std::uint64_t>(std::exp2(1 + share * std::log2(static_cast<double>(highest) / 2)));
  const std::uint64_t length = draw.log_uniform(1, std::clamp<std::uint64_t>(cap, 1, highest));
  if (!draw.one_in(3)) return length;
  // Near a multiple of the widths that kernels process at once.
  static constexpr std::uint64_t widths[] = {4, 8, 16, 32, 64, 128};
  const std::uint64_t width = widths[draw.below(std::size(widths))];
  const std::uint64_t near = (length + width - 1) / width * width + draw.below(3) - 1;
  return std::clamp<std::uint64_t>(near, 1, highest);
}

// Shortens lengths until the domain's relations between them hold.
void relate(AttentionShape& s, const Domain& domain) {
  if (domain.equal_lengths) s.queries = s.keys = std::min(s.queries, s.keys);
  if (domain.equal_dims) s.dim = s.value_dim = std::min(s.dim, s.value_dim);
  const auto order = [&](std::size_t& less, const char* of_less, std::size_t& more, const char* of_more) {
    if (less <= more) return;
    const std::uint64_t shorter = domain.length(of_less).at_most(more).value_or(0);
    if (shorter > 0) {
      less = static_cast<std::size_t>(shorter);
    } else {
      more = static_cast<std::size_t>(domain.length(of_more).at_least(less).value_or(more));
    }
  };
  if (domain.fewer_queries) order(s.queries, "queries", s.keys, "keys");
  if (domain.values_view) order(s.value_dim, "values", s.dim, "dim");
}

AttentionShape draw_shape(Draw& draw, int size, const AttentionOptions& options) {
  AttentionShape shape;
  shape.batch = 1 + (draw.one_in(3) ? draw.below(3) : 0);
  shape.kv_heads = 1 + (draw.one_in(2) ? draw.below(3) : 0);
  shape.group = 1 + (draw.one_in(2) ? draw.below(4) : 0);
  shape.queries = draw_length(draw, size, 40);
  const bool long_row = options.long_keys > options.max_keys && draw.one_in(8);
  shape.keys = long_row ? static_cast<std::size_t>(draw.log_uniform(options.max_keys, options.long_keys))
                        : draw_length(draw, size, options.max_keys);
  shape.dim = draw_dim(draw, size);
  shape.value_dim = draw.one_in(2) ? shape.dim : draw_dim(draw, size);
  if (options.domain.equal_lengths) (draw.one_in(2) ? shape.queries = shape.keys : shape.keys = shape.queries);
  if (options.domain.equal_dims) shape.value_dim = shape.dim;
  // If the work is too much, reduce lengths that only repeat first.
  std::size_t* const order[] = {&shape.queries, &shape.batch, &shape.value_dim,
                                &shape.dim,     &shape.group, &shape.kv_heads};
  for (std::size_t k = 0; shape.scores() * (shape.dim + shape.value_dim) > options.max_work; ++k) {
    std::size_t& length = *order[k % std::size(order)];
    length = (length + 1) / 2;
    if (k > 100) shape.keys = (shape.keys + 1) / 2;
    relate(shape, options.domain);
  }
  return shape;
}

// A power of two: keeps products short.
double short_number(Draw& draw) {
  const double value = std::ldexp(1.0, draw.between(-2, 1));
  return draw.one_in(4) ? -value : value;
}

void draw_independent(Draw& draw, AttentionCase& a) {
  const double width = std::exp2(draw.between(-2, 2));
  const Format format = a.format;
  for (double& x : a.queries) x = into_format(format, width * draw.normal());
  for (double& x : a.keys) {
    numerics::throw_if_interrupted();
    x = into_format(format, draw.normal());
  }
}

// Keys and queries along one direction with few nonzero dimensions: each row of scores is a multiple of the heights, in
// some cases with noise.
void draw_along(Draw& draw, Scores scores, AttentionCase& a) {
  const AttentionShape& s = a.shape;
  std::vector<double> direction(s.dim);
  for (double& x : direction) x = draw.one_in(4) ? short_number(draw) : 0;
  direction[draw.below(s.dim)] = 1;
  for (std::size_t head = 0; head < s.batch * s.kv_heads; ++head) {
    const std::vector<double> heights = heights_of(draw, scores, a.format, s.keys);
    for (std::size_t j = 0; j < s.keys; ++j) {
      numerics::throw_if_interrupted();
      for (std::size_t t = 0; t < s.dim; ++t) {
        a.keys[(head * s.keys + j) * s.dim + t] = into_format(a.format, heights[j] * direction[t]);
      }
    }
  }
  const bool noisy = draw.one_in(3);
  for (std::size_t i = 0; i < a.queries.size(); i += s.dim) {
    numerics::throw_if_interrupted();
    const std::size_t place = draw.below(s.dim);
    const double factor = short_number(draw);
    for (std::size_t t = 0; t < s.dim; ++t) {
      double x = direction[t] != 0 && (t == place || draw.one_in(3)) ? factor : 0;
      if (noisy) x += 0x1p-6 * draw.normal();
      a.queries[i + t] = into_format(a.format, x);
    }
    // Always a component along the direction, so that heights show.
    const auto along = std::ranges::find_if(direction, [](double x) { return x != 0; }) - direction.begin();
    a.queries[i + static_cast<std::size_t>(along)] = factor;
  }
}

// Sets the values of the key that each head's first query scores highest to 0, so that the small weights show.
void hide_highest_key(AttentionCase& a) {
  const AttentionShape& s = a.shape;
  for (std::size_t head = 0; head < s.batch * s.kv_heads; ++head) {
    const double* query = a.queries.data() + head * s.group * s.queries * s.dim;
    std::size_t highest = 0;
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < s.keys; ++j) {
      numerics::throw_if_interrupted();
      const double* key = a.keys.data() + (head * s.keys + j) * s.dim;
      const double score = a.scale * std::inner_product(query, query + s.dim, key, 0.0);
      if (score > most) highest = j;
      most = std::max(most, score);
    }
    const auto first = a.values.begin() + static_cast<std::ptrdiff_t>((head * s.keys + highest) * s.value_dim);
    std::fill_n(first, s.value_dim, 0.0);
  }
}

void draw_values_of(Draw& draw, AttentionCase& a) {
  const AttentionShape& s = a.shape;
  const std::uint64_t kind = draw.below(7);
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    numerics::throw_if_interrupted();
    const std::size_t j = i / s.value_dim % s.keys, c = i % s.value_dim;
    double value = draw.normal();
    if (kind == 0) value = j % s.value_dim == c ? 1 : 0;              // one-hot: outputs are the coefficients
    if (kind == 1) value = 1;                                         // outputs are their sum
    if (kind == 2) value = j + 1 + c % 4 >= s.keys ? 64 * value : 0;  // the last ones
    if (kind == 3) value = 100 + value;
    if (kind == 4) value = static_cast<double>(j % 7) - 3 + static_cast<double>(c);
    a.values[i] = into_format(a.format, value);
  }
  if (kind == 6) hide_highest_key(a);
}

// max |scale| sum |q k|.
double largest_dot(const AttentionCase& a) {
  const AttentionShape& s = a.shape;
  double largest = 0;
  for (std::size_t i = 0; i < a.queries.size() / s.dim; ++i) {
    const std::size_t head = i / s.queries / s.group;
    for (std::size_t j = 0; j < s.keys; ++j) {
      numerics::throw_if_interrupted();
      double dot = 0;
      for (std::size_t t = 0; t < s.dim; ++t) {
        dot += std::fabs(a.queries[i * s.dim + t] * a.keys[(head * s.keys + j) * s.dim + t]);
      }
      largest = std::max(largest, dot);
    }
  }
  return std::fabs(a.scale) * largest;
}

// What the accumulator can resolve, and the domain allows.
double score_limit(const AttentionOptions& options, std::size_t dim) {
  const double told = 1 / (16 * options.score_unit * static_cast<double>(dim + 4));
  return std::min(std::clamp(told, 4.0, 0x1p16), score_limit(options.domain));
}

double draw_scale(Draw& draw, std::size_t dim) {
  switch (draw.below(6)) {
    case 0:
      return 1 / std::sqrt(static_cast<double>(dim));
    case 1:
      return std::ldexp(1.0, draw.between(-3, 1));
    case 2:
      return 0.1 + draw.unit();
    case 3:
      return draw.one_in(4) ? -1 : 0.5;
    default:
      return 1;
  }
}

void draw_mask(Draw& draw, AttentionCase& a, const AttentionOptions& options) {
  const AttentionShape& s = a.shape;
  a.mask_for_each_head = draw.one_in(2);
  a.mask.assign(s.batch * a.mask_heads() * s.queries * s.keys, 1);
  const std::uint64_t kind = draw.below(4);
  const std::size_t edge = draw.below(s.keys + 1);
  for (std::size_t i = 0; i < a.mask.size(); ++i) {
    const std::size_t j = i % s.keys;
    if (kind == 0) a.mask[i] = j < edge;   // padding
    if (kind == 1) a.mask[i] = j >= edge;  // the first blocks of keys are hidden
    if (kind > 1) a.mask[i] = draw.one_in(kind);
  }
  if (options.blind_queries) return;
  // Every query keeps one key; with causality one of its first.
  for (std::size_t row = 0; row < a.mask.size() / s.keys; ++row) {
    const std::size_t i = row % s.queries;
    const std::size_t reach = a.reported_keys(0, i);
    const auto begin = a.mask.begin() + static_cast<std::ptrdiff_t>(row * s.keys);
    if (std::all_of(begin, begin + static_cast<std::ptrdiff_t>(reach), [](std::uint8_t x) { return x == 0; })) {
      *(begin + static_cast<std::ptrdiff_t>(draw.below(reach))) = 1;
    }
  }
}

// Repeats the keys and values of the first head or batch in all others, and a mask's.
void draw_expanded(Draw& draw, AttentionCase& a) {
  const AttentionShape& s = a.shape;
  const bool heads = draw.one_in(2), batches = !heads || draw.one_in(2);
  const auto repeat = [&](auto& numbers, std::size_t of_heads) {
    const std::size_t size = numbers.size() / std::max<std::size_t>(1, s.batch * of_heads);
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      const std::size_t h = heads ? 0 : n / size % of_heads, b = batches ? 0 : n / size / of_heads;
      numbers[n] = numbers[(b * of_heads + h) * size + n % size];
    }
  };
  repeat(a.keys, s.kv_heads);
  repeat(a.values, s.kv_heads);
  if (draw.one_in(2)) repeat(a.mask, a.mask_heads());
  a.attributes.expanded = true;
}

void fit(std::size_t& length, const LengthRange& range) {
  if (range.everything()) return;
  // A multiple of 16 may be 0, but empty calls belong to another property.
  const std::uint64_t nearest = range.nearest(length);
  length = static_cast<std::size_t>(std::max<std::uint64_t>(1, nearest > 0 ? nearest : range.at_least(1).value_or(1)));
}

}  // namespace

double score_limit(const Domain& domain) { return std::min(domain.most_logit, domain.most_spread / 2); }

void limit_scores(AttentionCase& a, double limit) {
  if (std::isinf(limit)) return;
  for (double largest = largest_dot(a); largest > limit; largest = largest_dot(a)) {
    const double factor = std::ldexp(1.0, -std::max(1, static_cast<int>(std::ceil(std::log2(largest / limit)))));
    for (double& x : a.queries) x = into_format(a.format, x * factor);
  }
}

void fit_shape(AttentionShape& s, const Domain& domain) {
  fit(s.batch, domain.length("batch"));
  fit(s.group, domain.length("group"));
  std::size_t heads = s.heads();
  fit(heads, domain.length("heads"));
  for (std::size_t tried = 0; tried < heads; ++tried, s.group = s.group % heads + 1) {
    if (heads % s.group == 0 && domain.length("group").contains(s.group)) break;
  }
  s.kv_heads = std::max<std::size_t>(1, heads / s.group);
  fit(s.queries, domain.length("queries"));
  fit(s.keys, domain.length("keys"));
  fit(s.dim, domain.length("dim"));
  fit(s.value_dim, domain.length("values"));
  relate(s, domain);
}

std::size_t numbers_of(const AttentionShape& s) {
  const std::size_t queries = s.batch * s.heads() * s.queries, keys = s.batch * s.kv_heads * s.keys;
  return queries * s.dim + keys * (s.dim + s.value_dim) + s.batch * s.queries * s.keys;
}

namespace {

// If the domain requires long calls, reduces the lengths that it leaves free: at most 256 MB.
void limit_numbers(AttentionShape& s, const Domain& domain) {
  constexpr std::size_t most_numbers = std::size_t{1} << 25;
  std::size_t* const order[] = {&s.batch, &s.kv_heads, &s.group, &s.queries, &s.value_dim, &s.dim, &s.keys};
  for (std::size_t k = 0; numbers_of(s) > most_numbers && k < 16 * std::size(order); ++k) {
    std::size_t& length = *order[k % std::size(order)];
    length = (length + 1) / 2;
    fit_shape(s, domain);
  }
}

// Half of the time takes any listed length if the work allows: the nearest to a drawn length would leave out most of
// them.
void choose_listed(Draw& draw, const AttentionOptions& options, AttentionShape& s) {
  const std::pair<const char*, std::size_t AttentionShape::*> lengths[] = {{"queries", &AttentionShape::queries},
                                                                           {"keys", &AttentionShape::keys},
                                                                           {"dim", &AttentionShape::dim},
                                                                           {"values", &AttentionShape::value_dim},
                                                                           {"batch", &AttentionShape::batch}};
  for (const auto& [name, length] : lengths) {
    const std::size_t most = length == &AttentionShape::keys ? options.long_keys : options.max_work;
    const std::vector<std::uint64_t> listed = options.domain.length(name).listed_within(1, most);
    if (listed.empty() || !draw.one_in(2)) continue;
    AttentionShape chosen = s;
    chosen.*length = static_cast<std::size_t>(listed[draw.below(listed.size())]);
    if (options.domain.equal_lengths && length == &AttentionShape::queries) chosen.keys = chosen.queries;
    if (options.domain.equal_dims && length == &AttentionShape::dim) chosen.value_dim = chosen.dim;
    relate(chosen, options.domain);
    if (chosen.scores() * (chosen.dim + chosen.value_dim) <= options.max_work) s = chosen;
  }
}

// Draws more sequences with fewer queries and keys each.
void choose_sequences(Draw& draw, const AttentionOptions& options, AttentionShape& s) {
  AttentionShape chosen = s;
  chosen.batch = draw_batch_of_sequences(draw);
  fit(chosen.batch, options.domain.length("batch"));
  for (int k = 0; k < 8 && chosen.scores() * (chosen.dim + chosen.value_dim) > options.max_work; ++k) {
    std::size_t& length = k % 2 == 0 ? chosen.queries : chosen.keys;
    length = (length + 1) / 2;
  }
  fit_shape(chosen, options.domain);
  if (chosen.scores() * (chosen.dim + chosen.value_dim) <= options.max_work) s = chosen;
}

AttentionCase draw_case(const rc::Random& random, int size, const AttentionOptions& options) {
  Draw draw(random);
  AttentionCase a;
  a.format = options.format;
  const auto scores = static_cast<Scores>(draw.below(score_kinds));
  a.family = name_of(scores);
  AttentionShape& s = a.shape = draw_shape(draw, size, options);
  fit_shape(s, options.domain);
  limit_numbers(s, options.domain);
  choose_listed(draw, options, s);
  if (options.domain.has_sequences()) choose_sequences(draw, options, s);
  const bool always_causal = options.always_causal || options.domain.all_causal;
  a.causal = !options.domain.no_causal && (always_causal || (options.causal && draw.one_in(3)));
  a.attributes.top_left = options.domain.causal == CausalAlignment::top_left;
  if (a.causal && !options.blind_queries) s.keys = std::max(s.keys, s.queries);
  if (!options.domain.length("keys").contains(s.keys)) {
    fit(s.keys, options.domain.length("keys"));
    if (options.domain.all_causal) {
      Domain seeing = options.domain;
      seeing.fewer_queries = true;
      relate(s, seeing);
    } else {
      a.causal = a.causal && s.keys >= s.queries;
    }
  }
  draw_sequences(draw, a, options);
  a.outputs = options.gradients ? 1 : static_cast<int>(1 + draw.below(3));
  if (options.layouts && !options.domain.compact) a.layout = 1 + draw.below(1000);
  a.scale = options.domain.usual_scale ? 1 / std::sqrt(static_cast<double>(s.dim))
            : options.domain.classes   ? 1
                                       : draw_scale(draw, s.dim);
  a.queries.resize(s.batch * s.heads() * s.queries * s.dim);
  a.keys.resize(s.batch * s.kv_heads * s.keys * s.dim);
  a.values.resize(s.batch * s.kv_heads * s.keys * s.value_dim);
  if (scores >= Scores::independent) {
    draw_independent(draw, a);
  } else {
    draw_along(draw, scores, a);
  }
  limit_scores(a, score_limit(options, s.dim));
  draw_values_of(draw, a);
  if (options.masks && !options.domain.no_mask && draw.one_in(2)) draw_mask(draw, a, options);
  if (options.attributes) draw_attributes(draw, a, options);
  if (options.domain.expanded && !options.domain.compact && draw.one_in(2)) draw_expanded(draw, a);
  take_conventions(a, options.domain);
  if (options.gradients) draw_gradients(draw, a, s.batch * s.heads() * s.queries);
  // Without one the call has the usual bias (AttentionOp::completed).
  if (options.sigmoid && !options.domain.usual_sigmoid_bias && draw.one_in(2)) {
    a.attributes.sigmoid_bias = draw.one_in(3) ? 0 : 3 * draw.normal() - 2;
  }
  return a;
}

}  // namespace

rc::Gen<AttentionCase> attention_cases(const AttentionOptions& options) {
  return shrinking_cases([=](const rc::Random& random, int size) { return draw_case(random, size, options); },
                         [=](const AttentionCase& from) { return shrink_attention_case(from, options); });
}

}  // namespace softcheck::proptests
