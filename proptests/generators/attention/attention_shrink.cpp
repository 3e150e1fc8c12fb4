#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "proptests/generators/attention/attention.hpp"
#include "proptests/generators/drawing/lazy_shrinks.hpp"
#include "proptests/generators/text/case_text.hpp"

namespace softcheck::proptests {
namespace {

// The axes of the tensors; -1 is an unnamed axis of extent 1.
struct Axis {
  enum : int { batch, kv, group, query, key, dim, value_dim, count };
};

std::size_t& extent(AttentionShape& s, int axis) {
  std::size_t* const extents[] = {&s.batch, &s.kv_heads, &s.group, &s.queries, &s.keys, &s.dim, &s.value_dim};
  return *extents[axis];
}

/// One step to a simpler case. Each lowers (number of entries, layout and flags, complexity of the numbers)
/// lexicographically.
struct AttentionStep {
  enum class Way {
    drop,
    no_layout,
    no_mask,
    shared_mask,
    usual_byte,
    one_byte,
    not_causal,
    no_window,
    no_top_left,
    no_softcap,
    no_sinks,
    no_slopes,
    no_bias,
    no_dropout,
    no_lse_gradients,
    usual_terms,
    clear_unsent,
    shorten,
    pages_in_order,
    smaller_page,
    unit_scale,
    one_output,
    zero_all,
    round_all,
    simplify
  } way;
  int axis = 0;           // drop: the axis; zero_all, simplify: the tensor
  std::size_t first = 0;  // drop: index along the axis; simplify: entry; shorten: sequence
  // drop: how many; round_all: bits; one_byte: the byte; simplify: index of the simpler number; shorten: new length
  std::size_t size = 0;
};
using AttentionWay = AttentionStep::Way;

std::vector<double>& tensor(AttentionCase& a, int which) {
  return which == 0 ? a.queries : which == 1 ? a.keys : which == 2 ? a.values : a.gradients;
}

constexpr int tensors = 4;

void add_simpler_numbers(std::vector<AttentionStep>& steps) {
  for (int which = 0; which < tensors; ++which) steps.push_back({AttentionWay::zero_all, which});
  for (const std::size_t bits : {1, 2, 4, 8, 16}) steps.push_back({AttentionWay::round_all, 0, 0, bits});
}

// For an axis with listed lengths: drops the ends that leave each shorter length.
void add_listed_lengths(std::vector<AttentionStep>& steps, int axis, AttentionShape shape, const Domain& domain) {
  static constexpr std::array<const char*, Axis::count> names{"batch", "heads", "group", "queries",
                                                              "keys",  "dim",   "values"};
  const std::size_t count = extent(shape, axis);
  const auto add = [&](std::uint64_t length) {
    if (length == 0 || length >= count) return;
    steps.push_back({AttentionWay::drop, axis, 0, count - length});
    steps.push_back({AttentionWay::drop, axis, length, count - length});
  };
  for (const std::uint64_t length : domain.length(names.at(static_cast<std::size_t>(axis))).listed) {
    if (axis != Axis::kv) add(length);
    if (axis == Axis::kv && length % shape.group == 0) add(length / shape.group);
  }
  if (axis != Axis::group) return;
  for (const std::uint64_t heads : domain.length("heads").listed) {
    if (heads % shape.kv_heads == 0) add(heads / shape.kv_heads);
  }
}

// Adds steps that shorten single sequences.
void add_sequences(std::vector<AttentionStep>& steps, const AttentionCase& a) {
  if (!a.sequences.any()) return;
  steps.push_back({AttentionWay::clear_unsent});
  steps.push_back({AttentionWay::pages_in_order});
  for (const std::size_t size : {1, 2, 4, 16}) steps.push_back({AttentionWay::smaller_page, 0, 0, size});
  const auto add = [&](int axis, std::size_t b, std::size_t length) {
    for (const std::size_t shorter :
         {std::size_t{0}, std::size_t{1}, length / 2, length - std::min<std::size_t>(length, 1)}) {
      if (shorter < length) steps.push_back({AttentionWay::shorten, axis, b, shorter});
    }
  };
  for (std::size_t b = 0; b < a.shape.batch; ++b) {
    if (a.sequences.packed) add(Axis::query, b, a.sequences.queries[b]);
    add(Axis::key, b, a.sequences.keys[b]);
  }
}

std::vector<AttentionStep> steps_of(AttentionCase a, const Domain& domain) {
  std::vector<AttentionStep> steps{
      {AttentionWay::no_layout},  {AttentionWay::no_mask},          {AttentionWay::not_causal},
      {AttentionWay::no_window},  {AttentionWay::no_top_left},      {AttentionWay::no_softcap},
      {AttentionWay::no_sinks},   {AttentionWay::no_slopes},        {AttentionWay::no_bias},
      {AttentionWay::no_dropout}, {AttentionWay::no_lse_gradients}, {AttentionWay::unit_scale},
      {AttentionWay::one_output}, {AttentionWay::usual_byte},       {AttentionWay::usual_terms}};
  add_sequences(steps, a);
  for (const std::size_t byte : {2, 16, 128, 255}) steps.push_back({AttentionWay::one_byte, 0, 0, byte});
  // For long lengths drop only ends until few indices are left, for very long ones only large parts: each call of that
  // size costs as much as a thousand others.
  constexpr std::size_t few = 64, very_long = 16384, parts = 32;
  const bool expensive = a.shape.keys >= very_long;
  const std::array<int, 7> order =
      expensive
          ? std::array<int, 7>{Axis::batch, Axis::kv, Axis::group, Axis::query, Axis::value_dim, Axis::dim, Axis::key}
          : std::array<int, 7>{Axis::batch, Axis::kv, Axis::group, Axis::query, Axis::key, Axis::value_dim, Axis::dim};
  for (const int axis : order) {
    add_listed_lengths(steps, axis, a.shape, domain);
    const std::size_t count = extent(a.shape, axis), smallest = count >= very_long ? count / parts : 1;
    for (std::size_t size = count / 2; size >= smallest && size > 0; size /= 2) {
      const std::size_t last = count - size;
      for (std::size_t first = 0; first < count; first += count <= few ? size : last) {
        steps.push_back({AttentionWay::drop, axis, first, size});
      }
    }
    // Simplify numbers before dropping ends of a length that cannot get much shorter.
    if (axis == (expensive ? Axis::query : Axis::key)) add_simpler_numbers(steps);
  }
  steps.push_back({AttentionWay::shared_mask});
  for (int which = 0; which < tensors; ++which) {
    const std::vector<double>& entries = tensor(a, which);
    if (entries.size() > 64) continue;  // simplify entries one by one only in small cases
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::size_t count = simpler_numbers(entries[i]).size();
      for (std::size_t k = 0; k < count; ++k) steps.push_back({AttentionWay::simplify, which, i, k});
    }
  }
  return steps;
}

// Removes indices [first, first + size) along one axis of a row-major tensor.
template <class Entry>
void drop(std::vector<Entry>& entries, std::span<const int> along, const AttentionShape& shape,
          const AttentionStep& step) {
  const auto place = std::ranges::find(along, step.axis);
  if (place == along.end()) return;
  AttentionShape extents = shape;
  std::size_t inner = 1;
  for (auto axis = place + 1; axis != along.end(); ++axis) inner *= *axis < 0 ? 1 : extent(extents, *axis);
  const std::size_t count = extent(extents, step.axis);
  std::vector<Entry> kept;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t index = i / inner % count;
    if (index < step.first || index >= step.first + step.size) kept.push_back(entries[i]);
  }
  entries = std::move(kept);
}

bool drop_along(AttentionCase& a, const AttentionStep& step) {
  static constexpr std::array<int, 5> q{Axis::batch, Axis::kv, Axis::group, Axis::query, Axis::dim};
  static constexpr std::array<int, 4> k{Axis::batch, Axis::kv, Axis::key, Axis::dim};
  static constexpr std::array<int, 4> v{Axis::batch, Axis::kv, Axis::key, Axis::value_dim};
  static constexpr std::array<int, 5> mask{Axis::batch, Axis::kv, Axis::group, Axis::query, Axis::key};
  static constexpr std::array<int, 3> shared_mask{Axis::batch, Axis::query, Axis::key};
  std::size_t& length = extent(a.shape, step.axis);
  const std::size_t dropped = std::min(step.size, length - std::min(length, step.first));
  if (dropped == 0 || dropped >= length) return false;
  drop(a.queries, q, a.shape, step);
  drop(a.keys, k, a.shape, step);
  drop(a.values, v, a.shape, step);
  static constexpr std::array<int, 5> gradients{Axis::batch, Axis::kv, Axis::group, Axis::query, Axis::value_dim};
  drop(a.gradients, gradients, a.shape, step);
  if (!a.mask.empty()) {
    drop(a.mask, a.mask_for_each_head ? std::span<const int>(mask) : std::span<const int>(shared_mask), a.shape, step);
  }
  AttentionAttributes& of = a.attributes;
  static constexpr std::array<int, 2> heads{Axis::kv, Axis::group};
  if (!of.sinks.empty()) drop(of.sinks, heads, a.shape, step);
  if (!of.slopes.empty()) drop(of.slopes, heads, a.shape, step);
  if (!of.bias.empty()) {
    drop(of.bias, of.bias_for_each_head ? std::span<const int>(mask) : std::span<const int>(shared_mask), a.shape,
         step);
  }
  if (!of.kept.empty()) drop(of.kept, mask, a.shape, step);
  static constexpr std::array<int, 4> by_lse{Axis::batch, Axis::kv, Axis::group, Axis::query};
  drop(of.lse_gradients, by_lse, a.shape, step);
  AttentionSequences& sequences = a.sequences;
  if (sequences.any() && step.axis == Axis::batch) {
    for (std::vector<std::size_t>* lengths : {&sequences.queries, &sequences.keys}) {
      const auto first = lengths->begin() + static_cast<std::ptrdiff_t>(step.first);
      lengths->erase(first, first + static_cast<std::ptrdiff_t>(dropped));
    }
  }
  if (step.axis == Axis::query) drop_places(sequences.queries, step.first, dropped);
  if (step.axis == Axis::key) drop_places(sequences.keys, step.first, dropped);
  length -= dropped;
  return true;
}

// Shortens one sequence, and the shape if that was the longest.
bool shorten(AttentionCase& a, const AttentionStep& step) {
  std::vector<std::size_t>& lengths = step.axis == Axis::query ? a.sequences.queries : a.sequences.keys;
  if (step.first >= lengths.size() || lengths[step.first] <= step.size) return false;
  lengths[step.first] = step.size;
  const std::size_t most = std::max<std::size_t>(1, *std::ranges::max_element(lengths));
  const std::size_t whole = extent(a.shape, step.axis);
  if (most < whole) drop_along(a, {AttentionWay::drop, step.axis, most, whole - most});
  return true;
}

bool shrink_page(AttentionCase& a, std::size_t size) {
  if (size >= a.sequences.page_size) return false;
  a.sequences.page_size = size;
  return true;
}

long complexity_of(const std::vector<double>& entries) {
  return std::accumulate(entries.begin(), entries.end(), 0L, [](long sum, double x) { return sum + complexity(x); });
}

template <class Change>
bool change(std::vector<double>& entries, Change simpler) {
  const long before = complexity_of(entries);
  for (double& entry : entries) entry = simpler(entry);
  return complexity_of(entries) < before;
}

// Rounds sinks, slopes, biases and gradients by log-sum-exps to one bit.
bool round_terms(AttentionAttributes& of) {
  const auto one_bit = [](double x) { return round_to_bits(x, 1); };
  const bool sinks = change(of.sinks, one_bit), slopes = change(of.slopes, one_bit), bias = change(of.bias, one_bit);
  const bool lse_gradients = change(of.lse_gradients, one_bit);
  return sinks || slopes || bias || lse_gradients;
}

bool share_mask(AttentionCase& a) {
  if (a.mask.empty() || !a.mask_for_each_head || a.shape.heads() == 1) return false;
  const std::size_t one = a.shape.queries * a.shape.keys;
  std::vector<std::uint8_t> shared;
  for (std::size_t b = 0; b < a.shape.batch; ++b) {
    const auto first = a.mask.begin() + static_cast<std::ptrdiff_t>(b * a.shape.heads() * one);
    shared.insert(shared.end(), first, first + static_cast<std::ptrdiff_t>(one));
  }
  a.mask = std::move(shared);
  a.mask_for_each_head = false;
  return true;
}

bool take_step(AttentionCase& a, const AttentionStep& step) {
  const auto rounded = [&](double x) {
    return numerics::round_to(a.format, round_to_bits(x, static_cast<int>(step.size)));
  };
  switch (step.way) {
    case AttentionWay::drop:
      return drop_along(a, step);
    case AttentionWay::no_layout: {
      const bool was_expanded = std::exchange(a.attributes.expanded, false);
      return std::exchange(a.layout, 0) != 0 || was_expanded;
    }
    case AttentionWay::no_mask:
      return !std::exchange(a.mask, {}).empty();
    case AttentionWay::shared_mask:
      return share_mask(a);
    case AttentionWay::usual_byte:
      return std::exchange(a.mask_byte, 1) != 1 && !a.mask.empty();
    case AttentionWay::one_byte:
      return std::exchange(a.mask_byte, step.size) >= 256;
    case AttentionWay::not_causal:
      return std::exchange(a.causal, false);
    case AttentionWay::no_window: {
      const bool had = a.attributes.window();
      a.attributes.window_left = a.attributes.window_right = std::nullopt;
      return had;
    }
    case AttentionWay::no_top_left:
      return std::exchange(a.attributes.top_left, false);
    case AttentionWay::no_softcap:
      return std::exchange(a.attributes.softcap, 0) != 0;
    case AttentionWay::no_sinks:
      return !std::exchange(a.attributes.sinks, {}).empty();
    case AttentionWay::no_slopes:
      return !std::exchange(a.attributes.slopes, {}).empty();
    case AttentionWay::no_bias:
      return !std::exchange(a.attributes.bias, {}).empty();
    case AttentionWay::no_dropout:
      return !std::exchange(a.attributes.kept, {}).empty();
    case AttentionWay::no_lse_gradients:
      return !std::exchange(a.attributes.lse_gradients, {}).empty();
    case AttentionWay::clear_unsent:
      return clear_unsent(a);
    case AttentionWay::shorten:
      return shorten(a, step);
    case AttentionWay::pages_in_order:
      return std::exchange(a.sequences.order, 0) != 0;
    case AttentionWay::smaller_page:
      return shrink_page(a, step.size);
    case AttentionWay::usual_terms:
      return round_terms(a.attributes);
    case AttentionWay::unit_scale:
      return std::exchange(a.scale, 1) != 1;
    case AttentionWay::one_output:
      return a.outputs-- > 1;
    case AttentionWay::zero_all:
      return change(tensor(a, step.axis), [](double) { return 0.0; });
    case AttentionWay::round_all: {
      const bool q = change(a.queries, rounded), k = change(a.keys, rounded), v = change(a.values, rounded);
      const bool g = change(a.gradients, rounded);
      return q || k || v || g;
    }
    case AttentionWay::simplify: {
      double& entry = tensor(a, step.axis)[step.first];
      const int before = complexity(entry);
      entry = numerics::round_to(a.format, simpler_numbers(entry)[step.size]);
      return std::isfinite(entry) && complexity(entry) < before;
    }
  }
  return false;
}

// The axis that the domain holds as long as the one that the step shortens.
std::optional<int> tied_axis(const Domain& domain, const AttentionStep& step) {
  if (step.way != AttentionWay::drop && step.way != AttentionWay::shorten) return std::nullopt;
  if (domain.equal_lengths && step.axis == Axis::query) return Axis::key;
  if (domain.equal_lengths && step.axis == Axis::key) return Axis::query;
  if (domain.equal_dims && step.axis == Axis::dim) return Axis::value_dim;
  if (domain.equal_dims && step.axis == Axis::value_dim) return Axis::dim;
  return std::nullopt;
}

}  // namespace

rc::Seq<AttentionCase> shrink_attention_case(const AttentionCase& attention, const AttentionOptions& options) {
  const auto steps = std::make_shared<const std::vector<AttentionStep>>(steps_of(attention, options.domain));
  return lazy_shrinks(attention, steps->size(), [steps, options](const AttentionCase& from, std::size_t k) {
    std::optional<AttentionCase> result = from;
    AttentionStep step = (*steps)[k];
    bool is_simpler = take_step(*result, step);
    if (const auto tied = tied_axis(options.domain, step)) {
      step.axis = *tied;
      is_simpler |= take_step(*result, step);
    }
    if (is_simpler) take_conventions(*result, options.domain);
    if (!is_simpler || !admits(options, *result)) result.reset();
    return result;
  });
}

}  // namespace softcheck::proptests
