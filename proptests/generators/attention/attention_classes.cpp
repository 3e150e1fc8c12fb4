#include "proptests/generators/attention/attention_classes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <cmath>
#include <span>
#include <unordered_map>

#include "proptests/generators/drawing/draw.hpp"

namespace softcheck::proptests {
namespace {

using Trait = AttentionTrait;

struct Range {
  std::size_t least, most;

  std::string name() const {
    return least == most ? std::to_string(least) : std::to_string(least) + "-" + std::to_string(most);
  }
};

constexpr std::array<Range, 15> dims{{{1, 1},
                                      {2, 7},
                                      {8, 31},
                                      {32, 63},
                                      {64, 64},
                                      {65, 79},
                                      {80, 80},
                                      {81, 95},
                                      {96, 96},
                                      {97, 127},
                                      {128, 128},
                                      {129, 191},
                                      {192, 192},
                                      {193, 255},
                                      {256, 256}}};
constexpr std::array<Range, 4> batches{{{1, 1}, {2, 2}, {3, 4}, {5, 16}}};
constexpr std::array<Range, 5> groups{{{1, 1}, {2, 2}, {3, 7}, {8, 16}, {17, 128}}};
constexpr std::array<Range, 6> queries{{{1, 1}, {2, 15}, {16, 63}, {64, 127}, {128, 1023}, {1024, 4096}}};
constexpr std::array<Range, 8> keys{
    {{1, 1}, {2, 15}, {16, 63}, {64, 127}, {128, 1023}, {1024, 4095}, {4096, 65535}, {65536, 131072}}};

std::optional<std::size_t> class_in(std::span<const Range> ranges, std::size_t value) {
  const auto found = std::ranges::find_if(ranges, [&](const Range& r) { return value >= r.least && value <= r.most; });
  return found == ranges.end() ? std::nullopt : std::optional<std::size_t>(found - ranges.begin());
}

std::vector<std::string> names_of(std::span<const Range> ranges) {
  std::vector<std::string> names;
  for (const Range& range : ranges) names.push_back(range.name());
  return names;
}

std::size_t width_class(std::size_t length) {
  if (length % 16 == 0) return 0;
  if (length % 16 == 1) return 1;
  if (length % 16 == 15) return 2;
  return length % 10 == 0 ? 3 : 4;
}

std::vector<AttentionDimension> all_dimensions() {
  std::vector<AttentionDimension> result{
      {"dim", names_of(dims)},
      {"values' dim", {"dim's", "smaller", "larger"}},
      {"batch", names_of(batches)},
      {"key heads", names_of(batches)},
      {"query heads a key head", names_of(groups)},
      {"queries", names_of(queries)},
      {"keys", names_of(keys)},
      {"keys' width", {"multiple of 16", "one more", "one less", "multiple of 10", "any other"}},
      {"queries against keys", {"fewer", "as many", "more"}},
      {"causal", {"no", "yes"}},
      {"scale", {"1", "1/sqrt(dim)", "power of two", "number of bf16", "number of f32", "53 bits", "negative"}},
      {"mask", {"none", "for each head", "shared"}},
      {"a visible key's byte", {"1", "another", "each from 1 to 255"}},
      {"outputs", {"out", "out and lse", "out, lse and entropy"}}};
  for (const char* tensor : {"q", "k", "v", "mask", "out", "lse", "entropy"}) {
    result.push_back({std::string("layout of ") + tensor,
                      {"compact", "heads inside lengths", "every second or third element", "transposed",
                       "gaps behind rows", "gaps behind heads", "compact by its strides"}});
  }
  result.push_back({"NaN in a", {"query", "key", "value"}});
  result.push_back({"NaN at its axes'", {"first", "middle", "last"}});
  result.push_back({"NaN of the kind",
                    {"quiet", "quiet, negative", "signalling", "signalling, negative", "with a payload",
                     "with a payload, negative"}});
  return result;
}

// The number of a layout has a digit per tensor above these bits, which are random.
constexpr unsigned rest_bits = 32;

}  // namespace

const std::vector<AttentionDimension>& attention_dimensions() {
  static const std::vector<AttentionDimension> dimensions = all_dimensions();
  return dimensions;
}

std::optional<std::size_t> shape_class(AttentionTrait trait, const AttentionShape& s) {
  switch (trait) {
    case Trait::dim:
      return class_in(dims, s.dim);
    case Trait::values:
      return s.value_dim == s.dim ? 0 : s.value_dim < s.dim ? 1 : 2;
    case Trait::batch:
      return class_in(batches, s.batch);
    case Trait::kv_heads:
      return class_in(batches, s.kv_heads);
    case Trait::group:
      return class_in(groups, s.group);
    case Trait::queries:
      return class_in(queries, s.queries);
    case Trait::keys:
      return class_in(keys, s.keys);
    case Trait::width:
      return width_class(s.keys);
    case Trait::lengths:
      return s.queries < s.keys ? 0 : s.queries == s.keys ? 1 : 2;
    default:
      return std::nullopt;
  }
}

std::size_t scale_class(double scale, std::size_t dim) {
  const auto is_representable_in = [&](numerics::Format format) { return numerics::round_to(format, scale) == scale; };
  if (scale < 0) return 6;
  if (scale == 1) return 0;
  if (scale == 1 / std::sqrt(static_cast<double>(dim))) return 1;
  int exponent = 0;
  if (std::frexp(scale, &exponent) == 0.5) return 2;
  return is_representable_in(numerics::Format::bf16) ? 3 : is_representable_in(numerics::Format::f32) ? 4 : 5;
}

std::optional<std::size_t> mask_byte_class(const AttentionCase& a) {
  if (a.mask.empty()) return std::nullopt;
  if (a.mask_byte < 256) return a.mask_byte == 1 ? 0 : 1;
  std::bitset<256> met;
  for (std::size_t k = 0; k < a.mask.size() && met.count() < 255; ++k) {
    if (a.mask[k] != 0) met.set(a.byte_of(k));
  }
  return met.count() == 255 ? 2 : 1;
}

std::uint64_t layout_number(const std::vector<std::size_t>& kinds, std::uint64_t rest) {
  std::uint64_t digits = 0;
  for (std::size_t t = kinds.size(); t-- > 0;) digits = digits * (attention_layouts + 1) + kinds[t] + 1;
  return (digits << rest_bits) + (rest & ((std::uint64_t{1} << rest_bits) - 1));
}

std::optional<std::size_t> layout_kind(std::uint64_t layout, std::size_t tensor) {
  if (layout == 0) return 0;
  std::uint64_t digits = layout >> rest_bits;
  for (; tensor > 0; --tensor) digits /= attention_layouts + 1;
  const std::uint64_t digit = digits % (attention_layouts + 1);
  return digit == 0 ? std::nullopt : std::optional<std::size_t>(digit - 1);
}

namespace {

/// A domain's ranges of lengths, looked up once: a design searches for thousands of shapes.
struct AllowedLengths {
  const Domain& domain;
  LengthRange batch = domain.length("batch"), heads = domain.length("heads"), group = domain.length("group");
  LengthRange dim = domain.length("dim"), values = domain.length("values");
  LengthRange queries = domain.length("queries"), keys = domain.length("keys");
};

/// Searches for the shortest lengths that satisfy a choice.
class ShapeSearch {
 public:
  ShapeSearch(const ClassChoice& choice, const AllowedLengths& lengths) : choice_(choice), lengths_(lengths) {}

  std::optional<AttentionShape> smallest() const {
    AttentionShape s;
    const bool found = set(s.batch, range(Trait::batch, batches), lengths_.batch) && set_heads(s) && set_dim(s) &&
                       set_value_dim(s) && set_lengths(s);
    return found ? std::optional<AttentionShape>(s) : std::nullopt;
  }

 private:
  std::optional<std::size_t> chosen(Trait trait) const { return choice_[static_cast<std::size_t>(trait)]; }
  Range range(Trait trait, std::span<const Range> ranges) const {
    const auto index = chosen(trait);
    return index ? ranges[*index] : Range{ranges.front().least, ranges.back().most};
  }
  // The smallest length of a range, from `from` on, that the domain allows.
  static std::optional<std::size_t> least_in(Range range, const LengthRange& allowed, std::size_t from = 0) {
    const auto least = allowed.at_least(std::max(range.least, from));
    return least && *least <= range.most ? least : std::nullopt;
  }
  static bool set(std::size_t& length, Range range, const LengthRange& allowed) {
    const auto least = least_in(range, allowed);
    length = least.value_or(length);
    return least.has_value();
  }
  bool set_heads(AttentionShape& s) const {
    const Range kv = range(Trait::kv_heads, batches), group = range(Trait::group, groups);
    for (s.group = group.least; s.group <= group.most; ++s.group) {
      if (!lengths_.group.contains(s.group)) continue;
      for (s.kv_heads = kv.least; s.kv_heads <= kv.most; ++s.kv_heads) {
        if (lengths_.heads.contains(s.heads())) return true;
      }
    }
    return false;
  }
  // A scale of 1 / sqrt(dim) other than 1 needs dim >= 2.
  bool set_dim(AttentionShape& s) const {
    Range allowed = range(Trait::dim, dims);
    if (chosen(Trait::scale) == 1) allowed.least = std::max<std::size_t>(allowed.least, 2);
    return set(s.dim, allowed, lengths_.dim);
  }
  bool set_value_dim(AttentionShape& s) const {
    constexpr std::size_t most = 320;
    const std::size_t kind = chosen(Trait::values).value_or(domain_.equal_dims ? 0 : 1);
    const Range allowed = kind == 0 ? Range{s.dim, s.dim} : kind == 1 ? Range{1, s.dim - 1} : Range{s.dim + 1, most};
    auto least = least_in(allowed, lengths_.values);
    if (!least && !chosen(Trait::values) && !domain_.equal_dims) {
      least = least_in({1, domain_.values_view ? std::min(most, s.dim) : most}, lengths_.values);
    }
    if (least) s.value_dim = *least;
    return least.has_value();
  }
  bool set_lengths(AttentionShape& s) const {
    const Range of_keys = range(Trait::keys, keys), of_queries = range(Trait::queries, queries);
    // Classes of widths repeat after 80 lengths.
    const std::size_t first = std::max(of_keys.least, std::min(of_queries.least, of_keys.most));
    const std::size_t enough = std::clamp(least_scores() / of_queries.most + 1, of_keys.least, of_keys.most);
    for (const std::size_t from : {of_keys.least, first, enough}) {
      std::size_t tried = 0;
      for (auto n = least_in(of_keys, lengths_.keys, from); n && tried < 160;
           n = least_in(of_keys, lengths_.keys, *n + 1), ++tried) {
        s.keys = *n;
        if (const auto width = chosen(Trait::width); width && width_class(*n) != *width) continue;
        if (set_queries(s, of_queries)) return true;
      }
    }
    return false;
  }
  // Each byte from 1 to 255 needs a visible entry.
  std::size_t least_scores() const { return chosen(Trait::mask_bytes) == 2 ? 1024 : 0; }
  bool set_queries(AttentionShape& s, const Range& range) const {
    const auto against = domain_.equal_lengths ? std::optional<std::size_t>(1) : chosen(Trait::lengths);
    const std::size_t from = !against || *against == 0 ? 1 : *against == 1 ? s.keys : s.keys + 1;
    const auto least = least_in(range, lengths_.queries, std::max(from, least_scores() / s.keys));
    if (!least || (against == 0 && *least >= s.keys) || (against == 1 && *least != s.keys)) return false;
    if (domain_.fewer_queries && *least > s.keys) return false;
    s.queries = *least;
    return true;
  }

  const ClassChoice& choice_;
  const AllowedLengths& lengths_;
  const Domain& domain_ = lengths_.domain;
};

bool has(const ClassChoice& choice, Trait trait, std::size_t index) {
  return choice[static_cast<std::size_t>(trait)] == index;
}
bool has_other(const ClassChoice& choice, Trait trait, std::size_t index) {
  const auto& chosen = choice[static_cast<std::size_t>(trait)];
  return chosen && *chosen != index;
}

// A choice of the mask's bytes needs a mask.
bool needs_mask(const ClassChoice& choice) {
  return has_other(choice, Trait::mask, 0) || has_other(choice, Trait::mask_bytes, 0);
}

// What the domain and the options say apart from lengths.
bool is_allowed(const ClassChoice& choice, const AttentionOptions& options) {
  const Domain& domain = options.domain;
  if ((domain.no_mask || !options.masks) && needs_mask(choice)) return false;
  if ((domain.no_causal || !options.causal) && has_other(choice, Trait::causal, 0)) return false;
  if (domain.all_causal && has(choice, Trait::causal, 0)) return false;
  if (domain.equal_lengths && has_other(choice, Trait::lengths, 1)) return false;
  if (domain.fewer_queries && has(choice, Trait::lengths, 2)) return false;
  if (domain.equal_dims && has_other(choice, Trait::values, 0)) return false;
  if (domain.values_view && has(choice, Trait::values, 2)) return false;
  if (domain.classes && has_other(choice, Trait::scale, 0)) return false;
  if (domain.usual_scale) {
    if (has_other(choice, Trait::scale, 1) && !has(choice, Trait::scale, 0)) return false;
    if (has(choice, Trait::scale, 0) && has_other(choice, Trait::dim, 0)) return false;
    if (has(choice, Trait::scale, 1) && has(choice, Trait::dim, 0)) return false;
  }
  for (std::size_t t = 0; t < attention_tensors; ++t) {
    const auto trait = static_cast<Trait>(static_cast<std::size_t>(Trait::layout) + t);
    if (domain.compact && has_other(choice, trait, 0)) return false;
  }
  // 1/sqrt(1) is 1, so a scale of 1/sqrt(dim) needs dim > 1; without a mask there are no bytes.
  return !(has(choice, Trait::scale, 1) && has(choice, Trait::dim, 0)) &&
         !(has(choice, Trait::mask, 0) && has_other(choice, Trait::mask_bytes, 0));
}

std::size_t work_of(const AttentionShape& s) { return s.scores() * (s.dim + s.value_dim); }

std::size_t numbers_in(const AttentionShape& s, bool masked) {
  return s.batch * (s.heads() * s.queries * (s.dim + s.value_dim) + s.kv_heads * s.keys * (s.dim + s.value_dim)) +
         (masked ? s.scores() : 0);
}

bool is_affordable(const AttentionShape& s, const ClassChoice& choice, const AttentionBudget& budget) {
  return work_of(s) <= budget.work && numbers_in(s, needs_mask(choice)) <= budget.numbers;
}

}  // namespace

std::optional<AttentionShape> smallest_shape(const ClassChoice& choice, const Domain& domain) {
  return ShapeSearch(choice, AllowedLengths{domain}).smallest();
}

bool keeps_to(const ClassChoice& choice, const AttentionShape& shape, const AttentionOptions& options,
              const AttentionBudget& budget) {
  for (std::size_t d = 0; d <= static_cast<std::size_t>(Trait::lengths); ++d) {
    if (choice[d] && shape_class(static_cast<Trait>(d), shape) != choice[d]) return false;
  }
  AttentionCase of_shape;
  of_shape.shape = shape;
  return options.domain.has_lengths(traits_of(of_shape)) && is_affordable(shape, choice, budget);
}

namespace {

/// Caches smallest_shape: most choices of a design have the same classes of lengths as an earlier one.
class SmallestShapes {
 public:
  explicit SmallestShapes(const Domain& domain) : allowed_{domain} {}

  const std::optional<AttentionShape>& of(const ClassChoice& choice) {
    std::uint64_t lengths = (has(choice, Trait::mask_bytes, 2) ? 1 : 0) + (has(choice, Trait::scale, 1) ? 2 : 0);
    for (std::size_t d = 0; d <= static_cast<std::size_t>(Trait::lengths); ++d) {
      lengths = lengths * (dims.size() + 1) + (choice[d] ? *choice[d] + 1 : 0);
    }
    const auto [known, is_new] = known_.try_emplace(lengths);
    if (is_new) known->second = ShapeSearch(choice, allowed_).smallest();
    return known->second;
  }

 private:
  AllowedLengths allowed_;
  std::unordered_map<std::uint64_t, std::optional<AttentionShape>> known_;  // key: the classes that ShapeSearch reads
};

}  // namespace

bool is_possible(const ClassChoice& choice, const AttentionOptions& options, const AttentionBudget& budget) {
  if (!is_allowed(choice, options)) return false;
  const auto smallest = smallest_shape(choice, options.domain);
  return smallest && is_affordable(*smallest, choice, budget);
}

namespace {

// The first choices that cover every class `each` times, if possible.
std::vector<ClassChoice> thinned(const std::vector<ClassChoice>& choices, std::size_t each) {
  std::vector<std::vector<std::size_t>> met;
  for (const AttentionDimension& dimension : attention_dimensions()) met.emplace_back(dimension.classes.size());
  std::vector<bool> taken(choices.size());
  std::vector<ClassChoice> result;
  while (true) {
    std::size_t best = choices.size(), most = 0;
    for (std::size_t c = 0; c < choices.size(); ++c) {
      std::size_t missing = 0;
      for (std::size_t d = 0; d < met.size(); ++d) missing += met[d][*choices[c][d]] < each ? 1 : 0;
      if (taken[c] || missing <= most) continue;
      best = c;
      most = missing;
    }
    if (best == choices.size()) return result;
    taken[best] = true;
    for (std::size_t d = 0; d < met.size(); ++d) ++met[d][*choices[best][d]];
    result.push_back(choices[best]);
  }
}

}  // namespace

std::vector<ClassChoice> attention_choices(const AttentionOptions& options, const AttentionBudget& budget,
                                           std::uint64_t seed, std::optional<std::size_t> each) {
  std::vector<std::size_t> counts;
  for (const AttentionDimension& dimension : attention_dimensions()) counts.push_back(dimension.classes.size());
  Draw draw(seed);
  SmallestShapes smallest(options.domain);
  const auto possible = [&](const ClassChoice& c) {
    return is_allowed(c, options) && smallest.of(c) && is_affordable(*smallest.of(c), c, budget);
  };
  std::vector<ClassChoice> choices;
  for (const std::vector<std::size_t>& classes : covering_choices(counts, possible, draw)) {
    choices.emplace_back(classes.begin(), classes.end());
  }
  if (each) choices = thinned(choices, *each);
  std::ranges::stable_sort(choices, {}, [&](const ClassChoice& choice) { return work_of(*smallest.of(choice)); });
  return choices;
}

}  // namespace softcheck::proptests
