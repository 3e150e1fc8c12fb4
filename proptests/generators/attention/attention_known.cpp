#include "proptests/generators/attention/attention_known.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include "proptests/generators/attention/attention.hpp"
#include "proptests/generators/attention/attention_attributes.hpp"
#include "proptests/generators/domains/known_shapes.hpp"
#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/rows/row_families.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::size_t distinct_queries = 7, distinct_heads = 3;

/// `count` vectors of `size` normal numbers; repeats after `distinct` vectors.
std::vector<double> repeated(Draw& draw, numerics::Format format, std::size_t count, std::size_t size,
                             std::size_t distinct) {
  const std::size_t drawn = std::min(count, distinct) * size;
  std::vector<double> numbers;
  numbers.reserve(count * size);
  for (std::size_t k = 0; k < drawn; ++k) numbers.push_back(into_format(format, draw.normal()));
  for (std::size_t k = drawn; k < count * size; ++k) numbers.push_back(numbers[k - drawn]);
  return numbers;
}

// Long rows are too many queries where each key needs one.
AttentionCase case_of(AttentionShape s, const AttentionOptions& options) {
  constexpr std::size_t most_square = 4096;
  if (options.domain.equal_lengths) s.keys = s.queries = s.keys <= most_square ? s.keys : s.queries;
  if (options.domain.equal_dims) s.value_dim = s.dim;
  Draw draw(s.scores() + s.dim);
  AttentionCase a;
  a.format = options.format;
  a.family = "known";
  a.shape = s;
  a.causal = options.domain.all_causal;
  a.scale = options.domain.classes ? 1 : 1 / std::sqrt(static_cast<double>(s.dim));
  take_conventions(a, options.domain);
  a.outputs = options.gradients ? 1 : 3;
  const auto alike = [](const std::vector<std::size_t>& lengths) {
    return std::ranges::adjacent_find(lengths, std::not_equal_to()) == lengths.end();
  };
  constexpr int tries = 8;  // a domain may leave no other lengths
  for (int i = 0; i < tries && alike(a.sequences.queries) && alike(a.sequences.keys); ++i) {
    a.sequences = {};
    draw_sequences(draw, a, options);
  }
  a.queries = repeated(draw, a.format, s.batch * s.heads() * s.queries, s.dim, distinct_queries);
  a.keys = repeated(draw, a.format, s.batch * s.kv_heads, s.keys * s.dim, distinct_heads);
  a.values = repeated(draw, a.format, s.batch * s.kv_heads, s.keys * s.value_dim, distinct_heads);
  limit_scores(a, score_limit(options.domain));
  take_conventions(a, options.domain);
  if (options.gradients) draw_gradients(draw, a, distinct_queries);
  return a;
}

// Slopes so small that the farthest keys together still have weight.
std::vector<double> small_slopes(const AttentionShape& s) {
  std::vector<double> slopes;
  for (std::size_t h = 0; h < s.heads(); ++h) slopes.push_back(std::ldexp(1.0, -13 + static_cast<int>(h % 2)));
  return slopes;
}

// Sinks whose weights are like those of all keys.
std::vector<double> large_sinks(const AttentionShape& s) {
  std::vector<double> sinks;
  for (std::size_t h = 0; h < s.heads(); ++h) sinks.push_back(h % 2 == 0 ? 4 : 0.5);
  return sinks;
}

// The domain with only one of the attributes that it names; the next one in each turn.
std::vector<Domain> with_each_attribute(const Domain& domain) {
  static constexpr std::array named{&Domain::window, &Domain::softcap,       &Domain::sinks,  &Domain::alibi,
                                    &Domain::bias,   &Domain::lse_gradients, &Domain::dropout};
  std::vector<Domain> each;
  for (const auto one : named) {
    if (!(domain.*one)) continue;
    each.push_back(domain);
    for (const auto other : named) each.back().*other = other == one;
  }
  return each;
}

// A call with that attribute whose value every key shows.
AttentionCase with_attribute(const AttentionShape& s, const AttentionOptions& options, std::size_t window) {
  AttentionCase a = case_of(s, options);
  Draw draw(s.keys);
  draw_attributes(draw, a, options);
  AttentionAttributes& to = a.attributes;
  if (options.domain.window) {
    to.window_left = window;
    to.window_right = a.causal ? std::nullopt : std::optional(window - 1);
  }
  constexpr double cap = 2;
  if (options.domain.softcap && 16 * options.cap_unit * cap <= 1) to.softcap = cap;
  if (options.domain.sinks) to.sinks = large_sinks(s);
  if (options.domain.alibi) to.slopes = small_slopes(s);
  return a;
}

bool is_offered(const KnownAttributes& known, const Domain& domain) {
  const bool of_sequences = known.window == 0 && !known.alibi;
  return of_sequences ? domain.has_sequences() : (known.window == 0 || domain.window) && (!known.alibi || domain.alibi);
}

enum class Hiding { nothing, mask, causality, window };

// Beyond 1e5, 1e9 and 1e30, which kernels use as minus infinity, and near the ends of f32 and f64. 2^13 is for 16-bit
// accumulators, 2^16 for 8-bit inputs.
constexpr std::array<int, 7> exponents{13, 16, 17, 30, 100, 125, 1021};

// Two factors with product 2^exponent.
struct Factors {
  double query, key;
};

// None if the format cannot represent them, or the smallest multiples of them in a case.
std::optional<Factors> factors_of(numerics::Format format, int exponent) {
  const numerics::FormatProperties& facts = numerics::properties(format);
  const Factors factors{std::ldexp(1.0, exponent / 2), std::ldexp(1.0, exponent - exponent / 2)};
  const bool fit = factors.key <= facts.largest && factors.query / 2 >= facts.smallest_normal &&
                   factors.key / 256 >= facts.smallest_normal;
  return fit ? std::optional(factors) : std::nullopt;
}

// The height of key j relative to the largest: a multiple of 2^-8.
double height_of(Hiding hiding, std::size_t j, std::size_t keys) {
  constexpr int most_halvings = 8;
  switch (hiding) {
    case Hiding::mask:  // every second key, at 0 and masked, is above the others
      return j % 2 == 0 ? -1 : 0;
    case Hiding::nothing:  // all far below 0
      return -1;
    case Hiding::window:
    case Hiding::causality:  // each key above the earlier ones, and the last one above 0
      return j > 0 && j + 1 == keys ? 1 : -std::ldexp(1.0, -std::min(static_cast<int>(j), most_halvings));
  }
  return 0;
}

class ReachDraw {
 public:
  /// scale    if the domain leaves it free
  ReachDraw(const AttentionOptions& options, Hiding hiding, AttentionShape shape, double scale)
      : options_(options), hiding_(hiding) {
    fit_shape(shape, options.domain);
    a_.format = options.format;
    a_.family = "reach";
    a_.shape = shape;
    a_.causal = hiding == Hiding::causality || options.domain.all_causal;
    if (hiding == Hiding::window) {
      a_.attributes.window_left = 0;
      a_.attributes.window_right = 0;
    }
    a_.outputs = options.gradients ? 1 : 3;
    hold_alike_sequences(a_, options.domain);
    a_.scale = options.domain.usual_scale ? 1 / std::sqrt(static_cast<double>(shape.dim))
               : options.domain.classes   ? 1
                                          : scale;
  }

  bool is_exact(const ScoreReach& reach) const {
    int exponent = 0;
    return a_.scale == 1 || (reach.halves_exactly && std::frexp(a_.scale, &exponent) == 0.5);
  }

  /// Approximate number of times that the scale halves a product.
  int halvings_of_scale() const { return static_cast<int>(std::lround(-std::log2(a_.scale))); }

  std::size_t numbers() const { return numbers_of(a_.shape); }

  AttentionCase with(const Factors& factors) {
    const AttentionShape& s = a_.shape;
    constexpr double hidden = 64;
    a_.queries.assign(s.batch * s.heads() * s.queries * s.dim, 0);
    a_.keys.assign(s.batch * s.kv_heads * s.keys * s.dim, 0);
    a_.values.clear();
    // Along the last dimension, to find kernels that drop it. Queries point along it, against it, and half as far.
    static constexpr std::array<double, 3> looks{1, -1, 0.5};
    for (std::size_t row = 0; row < s.batch * s.heads() * s.queries; ++row) {
      a_.queries[(row + 1) * s.dim - 1] = factors.query * looks[row % looks.size()];
    }
    for (std::size_t row = 0; row < s.batch * s.kv_heads * s.keys; ++row) {
      const std::size_t j = row % s.keys;
      a_.keys[(row + 1) * s.dim - 1] = factors.key * height_of(hiding_, j, s.keys);
      for (std::size_t c = 0; c < s.value_dim; ++c) {
        const bool masked = hiding_ == Hiding::mask && j % 2 == 1;
        a_.values.push_back(masked ? hidden : 1 + static_cast<double>(j % 3 * (c % 2)));
      }
    }
    if (hiding_ == Hiding::mask) {
      a_.mask.resize(s.batch * a_.mask_heads() * s.queries * s.keys);
      for (std::size_t k = 0; k < a_.mask.size(); ++k) a_.mask[k] = k % s.keys % 2 == 0 ? 1 : 0;
    }
    take_conventions(a_, options_.domain);
    if (options_.gradients) {
      Draw draw(s.keys);
      draw_gradients(draw, a_, s.batch * s.heads() * s.queries);
    }
    return a_;
  }

 private:
  const AttentionOptions& options_;
  Hiding hiding_;
  AttentionCase a_;
};

std::vector<Hiding> hidings_of(const Domain& domain, const AttentionOptions& options) {
  std::vector<Hiding> hidings{Hiding::nothing};
  const bool no_mask = domain.no_mask || !options.masks || domain.has_sequences();
  if (!no_mask) hidings.push_back(Hiding::mask);
  if (!domain.no_causal && options.causal) hidings.push_back(Hiding::causality);
  if (domain.window) hidings.push_back(Hiding::window);
  return hidings;
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

std::vector<AttentionCase> long_cases(const AttentionOptions& options, bool few) {
  // More keys than a block has, and more queries than one where each sees others. Then more than two such blocks.
  struct Lengths {
    std::size_t queries, of_window, keys, window;
  };
  constexpr std::array<Lengths, 2> lengths{{{3, 131, 301, 130}, {3, 259, 1101, 517}}};
  constexpr std::size_t most_numbers = std::size_t{1} << 18;
  std::vector<AttentionCase> cases;
  const auto add = [&](AttentionShape s, const AttentionOptions& of, std::size_t window) {
    fit_shape(s, of.domain);
    if (numbers_of(s) > most_numbers) return;
    AttentionCase a = window == 0 ? case_of(s, of) : with_attribute(s, of, window);
    if (admits(options, a) && lies_in(options.domain, a, traits_of(a))) cases.push_back(std::move(a));
  };
  for (const Domain& domain : with_each_attribute(options.domain)) {
    AttentionOptions one = options;
    one.domain = domain;
    for (const Lengths& of : std::span(lengths).first(few ? 1 : 2)) {
      const AttentionShape shape{1, 1, 2, domain.window ? of.of_window : of.queries, of.keys, 2, 2};
      add(shape, one, of.window);
      if (!domain.window || domain.no_causal || domain.all_causal) continue;
      AttentionOptions causal = one;
      causal.domain.all_causal = true;
      add(shape, causal, of.window);
    }
  }
  // A table of 256 sequences, or an index of 8 or 10 bits.
  constexpr std::size_t sequences = 1031;
  if (options.domain.has_sequences()) add({sequences, 1, 1, 2, 3, 1, 1}, options, 0);
  std::ranges::stable_sort(cases, {}, [](const AttentionCase& a) { return size_of(a); });
  return cases;
}

std::vector<AttentionCase> reaching_cases(const AttentionOptions& options, const ScoreReach& reach) {
  const Domain& domain = options.domain;
  // All cases are in memory at once, so a domain of long calls has none.
  constexpr std::size_t most_numbers = std::size_t{1} << 20;
  std::vector<AttentionCase> cases;
  for (const Hiding hiding : hidings_of(domain, options)) {
    const bool by_place = hiding == Hiding::causality || hiding == Hiding::window;
    for (const std::size_t keys : {std::size_t{2}, std::size_t{5}, std::size_t{40}}) {
      if (by_place && keys > 5) continue;  // each query shows a different key
      const std::size_t queries = by_place ? keys : 3, values = keys == 2 ? 1 : 2;
      // With a small scale the products are beyond the scores' range, too: such a scale, or the usual one of long keys.
      for (const auto& [dim, scale] : {std::pair{keys == 5 ? 4 : 1, 1.0}, std::pair{64, 0x1p-11}}) {
        ReachDraw draw(options, hiding, {1, 1, 1, queries, keys, std::size_t(dim), values}, scale);
        if (draw.numbers() > most_numbers) continue;
        const double most = draw.is_exact(reach) ? reach.exact : reach.rounded;
        for (const int exponent : exponents) {
          const int product = exponent + draw.halvings_of_scale();
          const std::optional<Factors> factors = factors_of(options.format, product);
          const bool fits = std::ldexp(1.0, exponent) <= most && std::ldexp(1.0, product) <= reach.product;
          if (factors && fits) cases.push_back(draw.with(*factors));
        }
      }
    }
  }
  std::erase_if(cases, [&](const AttentionCase& a) { return !admits(options, a); });
  std::ranges::stable_sort(cases, {}, [](const AttentionCase& a) { return size_of(a); });
  return cases;
}

}  // namespace softcheck::proptests
