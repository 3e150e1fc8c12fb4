#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "proptests/generators/attention/attention.hpp"
#include "proptests/generators/attention/attention_attributes.hpp"
#include "proptests/generators/attention/attention_classes.hpp"
#include "proptests/generators/attention/attention_heights.hpp"
#include "proptests/generators/drawing/lazy_shrinks.hpp"
#include "proptests/generators/rows/row_families.hpp"
#include "proptests/generators/text/case_text.hpp"

namespace softcheck::proptests {
namespace {

using Trait = AttentionTrait;

// How much of a case is drawn; the rest repeats it. The numbers are odd, so that an index that wraps at a power of two
// meets other numbers.
struct Distinct {
  std::size_t rows, heads;   // queries (and mask rows), and key heads
  std::size_t keys, values;  // per head, without those that stand out
};

std::size_t cycle(std::span<const std::size_t> cycles, std::size_t size, std::size_t length) {
  constexpr std::size_t most_numbers = 1024;
  for (const std::size_t c : cycles) {
    if (c * size <= most_numbers) return std::min(c, length);
  }
  return std::min(cycles.back(), length);
}

Distinct distinct_of(const AttentionShape& s, bool masked, const AttentionBudget& budget) {
  static constexpr std::array<std::size_t, 5> key_cycles{61, 31, 13, 7, 3};
  static constexpr std::array<std::size_t, 5> value_cycles{59, 29, 17, 11, 5};
  constexpr std::size_t few = std::size_t{1} << 13;
  const std::size_t rows = s.batch * s.heads() * s.queries, heads = s.batch * s.kv_heads;
  Distinct result{rows, heads, s.keys, s.keys};
  if (s.keys * (s.dim + s.value_dim) > few) {
    result.keys = cycle(key_cycles, s.dim, s.keys);
    result.values = cycle(value_cycles, s.value_dim, s.keys);
  }
  const std::size_t weight = s.keys * (1 + (s.dim + s.value_dim) / 16);
  if (rows * weight <= few) return result;
  static constexpr std::array<std::pair<std::size_t, std::size_t>, 5> kept{{{7, 5}, {7, 3}, {5, 3}, {3, 3}, {3, 2}}};
  for (const auto& [of_rows, of_heads] : kept) {
    result.rows = std::min(rows, of_rows);
    result.heads = std::min(heads, of_heads);
    if (result.rows * (masked ? result.rows : 1) * result.heads * weight <= budget.judged) break;
  }
  return result;
}

class ClassDraw {
 public:
  ClassDraw(Draw& draw, const ClassChoice& choice, const AttentionOptions& options, const AttentionBudget& budget)
      : draw_(draw), choice_(choice), options_(options), budget_(budget) {}

  AttentionCase make() {
    a_.format = options_.format;
    a_.shape = shape();
    distinct_ = distinct_of(a_.shape, of(Trait::mask) > 0, budget_);
    a_.causal = of(Trait::causal) == 1;
    draw_sequences(draw_, a_, options_);
    a_.scale = scale();
    a_.outputs = options_.gradients ? 1 : static_cast<int>(of(Trait::outputs)) + 1;
    a_.layout = layout();
    if (!options_.domain.finite) {
      a_.nan = NanPlace{static_cast<NanPlace::Tensor>(of(Trait::nan_tensor)),
                        static_cast<NanPlace::Position>(of(Trait::nan_place)),
                        static_cast<NanPlace::Bits>(of(Trait::nan_bits))}
                   .number();
    }
    short_ = draw_.one_in(2);
    draw_scores();
    limit_scores();
    a_.queries = repeated(queries_, a_.shape.dim, a_.shape.batch * a_.shape.heads() * a_.shape.queries);
    draw_values();
    if (of(Trait::mask) > 0) draw_mask();
    // Rows with attributes are judged one by one, even where they repeat.
    if (options_.attributes && a_.shape.scores() <= budget_.judged && draw_.one_in(2)) add_attributes();
    take_conventions(a_, options_.domain);
    if (options_.gradients) draw_gradients(draw_, a_, distinct_.rows);
    return std::move(a_);
  }

 private:
  std::size_t of(Trait trait) const { return *choice_[static_cast<std::size_t>(trait)]; }
  double rounded(double x) const {
    constexpr int few_bits = 6;
    return into_format(a_.format, short_ ? round_to_bits(x, few_bits) : x);
  }

  // Grows the lengths of the smallest shape at random as long as the classes and the budget hold.
  AttentionShape shape() {
    AttentionShape s = *smallest_shape(choice_, options_.domain);
    std::size_t AttentionShape::*const lengths[] = {
        &AttentionShape::queries,  &AttentionShape::keys,  &AttentionShape::dim,  &AttentionShape::value_dim,
        &AttentionShape::kv_heads, &AttentionShape::group, &AttentionShape::batch};
    const bool all_bytes = of(Trait::mask_bytes) == 2;
    constexpr int rounds = 40;
    for (int round = 0; round < rounds; ++round) {
      AttentionShape larger = s;
      std::size_t& length = larger.*lengths[draw_.below(all_bytes ? 2 : std::size(lengths))];
      length = static_cast<std::size_t>(std::ceil(static_cast<double>(length) * std::exp2(3 * draw_.unit())));
      fit_listed(larger);
      if (of(Trait::lengths) == 1) larger.queries = larger.keys;
      if (of(Trait::values) == 0) larger.value_dim = larger.dim;
      // Long cases are expensive, so half of the time allow less growth.
      AttentionBudget less = budget_;
      if (draw_.one_in(2)) less.work /= 16;
      if (keeps_to(choice_, larger, options_, less)) s = larger;
    }
    return s;
  }

  // Random lengths are rarely listed ones: take the nearest.
  void fit_listed(AttentionShape& s) const {
    const auto fit = [&](const char* name, std::size_t& length) {
      const LengthRange range = options_.domain.length(name);
      if (!range.listed.empty()) length = static_cast<std::size_t>(range.nearest(length));
    };
    fit("queries", s.queries);
    fit("keys", s.keys);
    fit("dim", s.dim);
    fit("values", s.value_dim);
    fit("batch", s.batch);
    fit("group", s.group);
  }

  double scale() {
    if (options_.domain.usual_scale) return 1 / std::sqrt(static_cast<double>(a_.shape.dim));
    const std::size_t wanted = options_.domain.classes ? 0 : of(Trait::scale);
    while (true) {
      const double any = 0.1 + draw_.unit();
      const double candidates[] = {1,
                                   1 / std::sqrt(static_cast<double>(a_.shape.dim)),
                                   std::ldexp(1.0, draw_.between(-5, 2)),
                                   numerics::round_to(numerics::Format::bf16, any),
                                   numerics::round_to(numerics::Format::f32, any),
                                   draw_.one_in(3)   ? any
                                   : draw_.one_in(2) ? 0.7
                                                     : 1e-3 * (1 + draw_.unit()),
                                   draw_.one_in(2) ? -any : -0.5};
      if (scale_class(candidates[wanted], a_.shape.dim) == wanted) return candidates[wanted];
    }
  }

  std::uint64_t layout() {
    std::vector<std::size_t> kinds;
    for (std::size_t t = 0; t < attention_tensors; ++t) {
      kinds.push_back(*choice_[static_cast<std::size_t>(Trait::layout) + t]);
    }
    const bool compact = std::ranges::all_of(kinds, [](std::size_t kind) { return kind == 0; });
    return compact ? 0 : layout_number(kinds, draw_.bits());
  }

  // Scales queries such that a key of height 1 scores about 1.
  double unit_of_queries(double norm) const {
    return std::exp2(std::round(-std::log2(std::max(0x1p-20, std::fabs(a_.scale) * norm))));
  }

  // Prefers independent keys. With many keys also kinds that only many keys show: sums as large as their number, or as
  // small as each key's part.
  Scores draw_kind() {
    constexpr std::size_t many = 4096;
    if (a_.shape.keys >= many && draw_.one_in(2)) {
      static constexpr Scores of_many[] = {Scores::plateau, Scores::at_resolution, Scores::far_mass};
      return of_many[draw_.below(std::size(of_many))];
    }
    return static_cast<Scores>(draw_.below(score_kinds + 4));
  }

  void draw_scores() {
    const Scores scores = draw_kind();
    const bool independent = scores >= Scores::independent;
    a_.family = name_of(independent ? Scores::independent : scores);
    const std::size_t d = a_.shape.dim;
    std::vector<double> direction(d);
    for (double& x : direction) x = independent || draw_.one_in(4) ? 1 : 0;
    direction[draw_.below(d)] = 1;
    const double norm = std::accumulate(direction.begin(), direction.end(), 0.0);
    const double unit = unit_of_queries(independent ? std::sqrt(norm) : norm);
    for (std::size_t row = 0; row < distinct_.rows; ++row) {
      const double sign = draw_.one_in(4) ? -1 : 1, size = std::ldexp(sign * unit, draw_.between(-1, 1));
      for (std::size_t t = 0; t < d; ++t) {
        queries_.push_back(rounded(size * (independent ? draw_.normal() : direction[t])));
      }
    }
    for (std::size_t head = 0; head < a_.shape.batch * a_.shape.kv_heads; ++head) {
      if (head < distinct_.heads) {
        add_keys(scores, independent, direction);
      } else {
        copy_head(a_.keys, head, a_.shape.keys * d);
      }
    }
  }

  void copy_head(std::vector<double>& numbers, std::size_t head, std::size_t size) const {
    const std::size_t from = head % distinct_.heads * size;
    for (std::size_t k = 0; k < size; ++k) numbers.push_back(numbers[from + k]);
  }

  // Adds the keys of one head.
  void add_keys(Scores scores, bool independent, const std::vector<double>& direction) {
    const std::size_t d = a_.shape.dim, n = a_.shape.keys, first = a_.keys.size();
    std::vector<double> core, heights(distinct_.keys, 1);
    if (!independent) heights = heights_for(scores);
    for (const double height : heights) {
      for (std::size_t t = 0; t < d; ++t) {
        core.push_back(independent ? rounded(draw_.normal()) : into_format(a_.format, height * direction[t]));
      }
    }
    const std::vector<double> keys = repeated(core, d, n);
    a_.keys.insert(a_.keys.end(), keys.begin(), keys.end());
    std::vector<std::size_t>& special = special_.emplace_back();
    if (n < 8) return;
    for (const double height : heights_that_stand_out(scores, heights)) {
      special.push_back(n - 1 - draw_.below(std::min<std::size_t>(n / 8, 64)));
      for (std::size_t t = 0; t < d; ++t) {
        const double along = independent ? queries_[t] / norm_of_first_query() : direction[t];
        a_.keys[first + special.back() * d + t] = rounded(height * along);
      }
    }
  }

  // Without the peak of kinds that have one, since the repeated keys must not contain it.
  std::vector<double> heights_for(Scores scores) {
    std::vector<double> heights = heights_of(draw_, scores, a_.format, distinct_.keys);
    if (scores != Scores::at_resolution && scores != Scores::far_mass) return heights;
    const double lowest = *std::ranges::min_element(heights);
    const double times = std::log(static_cast<double>(a_.shape.keys) / static_cast<double>(distinct_.keys));
    for (double& height : heights) {
      if (height == 0) height = lowest;
      if (scores == Scores::far_mass) height = into_format(a_.format, height - times);
    }
    return heights;
  }

  // Heights of keys near the end, to find kernels that drop the last keys: the peak, or one key per sign of a score.
  std::vector<double> heights_that_stand_out(Scores scores, const std::vector<double>& heights) {
    switch (scores) {
      case Scores::at_resolution:
      case Scores::far_mass:
        return {0};
      case Scores::plateau:
      case Scores::near_equal:
      case Scores::rising:
      case Scores::two_levels:
        return {};
      default: {
        const double n = static_cast<double>(a_.shape.keys);
        const double height = *std::ranges::max_element(heights) + std::log(n) + draw_.unit();
        return {height, -height};
      }
    }
  }

  double norm_of_first_query() const {
    const auto end = queries_.begin() + static_cast<std::ptrdiff_t>(a_.shape.dim);
    const double square = std::inner_product(queries_.begin(), end, queries_.begin(), 0.0);
    return std::max(0x1p-20, square * std::fabs(a_.scale));
  }

  // Keeps scores within what the accumulator can resolve.
  void limit_scores() {
    const std::size_t d = a_.shape.dim;
    const double told = 1 / (16 * options_.score_unit * static_cast<double>(d + 4));
    const double limit = std::min(std::clamp(told, 4.0, 0x1p16), score_limit(options_.domain));
    std::vector<double> largest_key(d);
    for (std::size_t k = 0; k < a_.keys.size(); ++k) {
      largest_key[k % d] = std::max(largest_key[k % d], std::fabs(a_.keys[k]));
    }
    double largest = 0;
    for (std::size_t row = 0; row < distinct_.rows; ++row) {
      double dot = 0;
      for (std::size_t t = 0; t < d; ++t) dot += std::fabs(queries_[row * d + t]) * largest_key[t];
      largest = std::max(largest, std::fabs(a_.scale) * dot);
    }
    if (!(largest > limit)) return;
    const double factor = std::ldexp(1.0, -static_cast<int>(std::ceil(std::log2(largest / limit))));
    for (double& x : queries_) x = into_format(a_.format, x * factor);
  }

  void draw_values() {
    const std::size_t size = a_.shape.value_dim, n = a_.shape.keys;
    const std::uint64_t kind = draw_.below(4);
    for (std::size_t head = 0; head < a_.shape.batch * a_.shape.kv_heads; ++head) {
      if (head >= distinct_.heads) {
        copy_head(a_.values, head, n * size);
        continue;
      }
      std::vector<double> core;
      for (std::size_t k = 0; k < distinct_.values * size; ++k) {
        core.push_back(rounded(kind == 0 ? 100 + draw_.normal() : draw_.normal()));
      }
      const std::vector<double> values = repeated(core, size, n);
      const std::size_t first = a_.values.size();
      a_.values.insert(a_.values.end(), values.begin(), values.end());
      // Values of keys that stand out: far from the others, or 0, so that the small weights show.
      for (const std::size_t j : special_[head]) {
        for (std::size_t c = 0; c < size; ++c) {
          a_.values[first + j * size + c] = kind == 1 ? 0 : rounded(8 * draw_.normal());
        }
      }
    }
  }

  // Row i of the result is row i % distinct.
  static std::vector<double> repeated(const std::vector<double>& rows, std::size_t size, std::size_t count) {
    std::vector<double> result;
    result.reserve(count * size);
    const std::size_t distinct = rows.size() / size;
    for (std::size_t i = 0; i < count; ++i) {
      const auto first = rows.begin() + static_cast<std::ptrdiff_t>(i % distinct * size);
      result.insert(result.end(), first, first + static_cast<std::ptrdiff_t>(size));
    }
    return result;
  }

  void draw_mask() {
    const AttentionShape& s = a_.shape;
    a_.mask_for_each_head = of(Trait::mask) == 1;
    const std::size_t rows = s.batch * a_.mask_heads() * s.queries, distinct = std::min(rows, distinct_.rows);
    std::vector<std::vector<std::uint8_t>> drawn;
    for (std::size_t row = 0; row < distinct; ++row) drawn.push_back(mask_row());
    for (std::size_t row = 0; row < rows; ++row) std::ranges::copy(drawn[row % distinct], std::back_inserter(a_.mask));
    const std::size_t bytes = of(Trait::mask_bytes);
    a_.mask_byte = bytes == 0 ? 1 : bytes == 1 ? 2 + draw_.below(254) : 256 + draw_.below(1000);
    if (bytes == 2) show_every_byte();
  }

  // Shows the first key of each byte that the mask's visible keys lack. Any 255 consecutive entries have all bytes.
  void show_every_byte() {
    std::bitset<256> met;
    for (std::size_t k = 0; k < a_.mask.size(); ++k) met.set(a_.byte_of(k));
    for (std::size_t k = 0; k < std::min<std::size_t>(255, a_.mask.size()); ++k) {
      const bool shown = std::exchange(a_.mask[k], 1) != 0;
      a_.mask[k] = shown || !met.test(a_.byte_of(k)) ? 1 : 0;
    }
  }

  // Shows some of every 13 keys, or those before or after an edge; almost always at least one.
  std::vector<std::uint8_t> mask_row() {
    constexpr std::size_t period = 13;
    const std::size_t n = a_.shape.keys, edge = draw_.below(n + 1);
    const std::uint64_t kind = draw_.below(4);
    std::array<std::uint8_t, period> visible{};
    for (std::uint8_t& x : visible) x = draw_.one_in(2) ? 1 : 0;
    std::vector<std::uint8_t> row(n);
    for (std::size_t j = 0; j < n; ++j) {
      row[j] = kind == 0 ? j < edge : kind == 1 ? j >= edge : visible[j % period];
    }
    const bool blind = std::ranges::all_of(row, [](std::uint8_t x) { return x == 0; });
    if (blind && !draw_.one_in(8)) row[draw_.below(n)] = 1;
    return row;
  }

  // Without sinks if the class asks for an entropy, which they exclude.
  void add_attributes() {
    const int outputs = a_.outputs;
    draw_attributes(draw_, a_, options_);
    if (options_.gradients || a_.outputs == outputs) return;
    a_.attributes.sinks.clear();
    a_.outputs = outputs;
  }

  Draw& draw_;
  const ClassChoice& choice_;
  const AttentionOptions& options_;
  const AttentionBudget& budget_;
  AttentionCase a_;
  Distinct distinct_{};
  bool short_ = false;
  std::vector<double> queries_;                    // the distinct queries
  std::vector<std::vector<std::size_t>> special_;  // per distinct head, the keys that stand out
};

}  // namespace

rc::Gen<AttentionCase> attention_cases_of(std::vector<ClassChoice> choices, const AttentionOptions& options,
                                          const AttentionBudget& budget) {
  const auto next = std::make_shared<std::size_t>(0);  // index of the next choice
  const auto all = std::make_shared<const std::vector<ClassChoice>>(std::move(choices));
  const auto draw_next = [=](const rc::Random& random, int) {
    Draw draw(random);
    return ClassDraw(draw, (*all)[(*next)++ % all->size()], options, budget).make();
  };
  return shrinking_cases(draw_next, [=](const AttentionCase& from) { return shrink_attention_case(from, options); });
}

}  // namespace softcheck::proptests
