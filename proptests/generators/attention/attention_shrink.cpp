#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
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

// The axes of the tensors.
struct Axis {
  static constexpr int batch = 0, kv = 1, group = 2, query = 3, key = 4, dim = 5, value_dim = 6, count = 7;
};

std::size_t& extent(AttentionShape& s, int axis) {
  std::size_t* const extents[] = {&s.batch, &s.kv_heads, &s.group, &s.queries, &s.keys, &s.dim, &s.value_dim};
  return *extents[axis];
}

// Indices [first, first + size) of an axis.
struct Cut {
  int axis;
  std::size_t first, size;
};

/// One step to a simpler case; false if it is none. Each lowers (number of entries, layout and flags, complexity of the
/// numbers) lexicographically. A step along an axis is taken along the one that the domain ties to it, too.
struct AttentionStep {
  std::function<bool(AttentionCase&, int axis)> take;
  int axis = -1;
};

// Leaves out what a call need not have; false if it had none of it.
template <class... Value>
bool clear(Value&... values) {
  bool had = false;
  ((had |= std::exchange(values, Value{}) != Value{}), ...);
  return had;
}

std::vector<double>& tensor(AttentionCase& a, int which) {
  return which == 0 ? a.queries : which == 1 ? a.keys : which == 2 ? a.values : a.gradients;
}

constexpr int tensors = 4;

// Removes a cut's indices from a row-major tensor.
template <class Entry>
void drop(std::vector<Entry>& entries, std::span<const int> along, AttentionShape shape, const Cut& cut) {
  const auto place = std::ranges::find(along, cut.axis);
  if (place == along.end()) return;
  std::size_t inner = 1;
  for (auto axis = place + 1; axis != along.end(); ++axis) inner *= extent(shape, *axis);
  const std::size_t count = extent(shape, cut.axis);
  std::vector<Entry> kept;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t index = i / inner % count;
    if (index < cut.first || index >= cut.first + cut.size) kept.push_back(entries[i]);
  }
  entries = std::move(kept);
}

bool drop_along(AttentionCase& a, const Cut& cut) {
  static constexpr std::array q{Axis::batch, Axis::kv, Axis::group, Axis::query, Axis::dim},
      gradients{Axis::batch, Axis::kv, Axis::group, Axis::query, Axis::value_dim},
      by_head{Axis::batch, Axis::kv, Axis::group, Axis::query, Axis::key};
  static constexpr std::array k{Axis::batch, Axis::kv, Axis::key, Axis::dim},
      v{Axis::batch, Axis::kv, Axis::key, Axis::value_dim}, by_lse{Axis::batch, Axis::kv, Axis::group, Axis::query};
  static constexpr std::array shared{Axis::batch, Axis::query, Axis::key};
  static constexpr std::array heads{Axis::kv, Axis::group};
  const auto scores = [](bool for_each_head) {
    return for_each_head ? std::span<const int>(by_head) : std::span<const int>(shared);
  };
  std::size_t& length = extent(a.shape, cut.axis);
  const std::size_t dropped = std::min(cut.size, length - std::min(length, cut.first));
  if (dropped == 0 || dropped >= length) return false;
  AttentionAttributes& of = a.attributes;
  drop(a.queries, q, a.shape, cut);
  drop(a.keys, k, a.shape, cut);
  drop(a.values, v, a.shape, cut);
  drop(a.gradients, gradients, a.shape, cut);
  drop(a.mask, scores(a.mask_for_each_head), a.shape, cut);
  drop(of.sinks, heads, a.shape, cut);
  drop(of.slopes, heads, a.shape, cut);
  drop(of.lambdas, heads, a.shape, cut);
  drop(of.bias, scores(of.bias_for_each_head), a.shape, cut);
  drop(of.kept, scores(true), a.shape, cut);
  drop(of.lse_gradients, by_lse, a.shape, cut);
  AttentionSequences& sequences = a.sequences;
  if (sequences.any() && cut.axis == Axis::batch) {
    for (std::vector<std::size_t>* lengths : {&sequences.queries, &sequences.keys}) {
      const auto first = lengths->begin() + static_cast<std::ptrdiff_t>(cut.first);
      lengths->erase(first, first + static_cast<std::ptrdiff_t>(dropped));
    }
  }
  if (cut.axis == Axis::query) drop_places(sequences.queries, cut.first, dropped);
  if (cut.axis == Axis::key) drop_places(sequences.keys, cut.first, dropped);
  length -= dropped;
  return true;
}

// Shortens one sequence, and the shape if that was the longest.
bool shorten(AttentionCase& a, int axis, std::size_t sequence, std::size_t size) {
  std::vector<std::size_t>& lengths = axis == Axis::query ? a.sequences.queries : a.sequences.keys;
  if (sequence >= lengths.size() || lengths[sequence] <= size) return false;
  lengths[sequence] = size;
  const std::size_t most = std::max<std::size_t>(1, *std::ranges::max_element(lengths));
  const std::size_t whole = extent(a.shape, axis);
  if (most < whole) drop_along(a, {axis, most, whole - most});
  return true;
}

bool empty_sequences(AttentionCase& a, std::size_t first, std::size_t last) {
  bool simpler = false;
  for (std::size_t b = first; b < std::min(last, a.shape.batch); ++b) {
    for (const int axis : {Axis::query, Axis::key}) simpler |= shorten(a, axis, b, 0);
  }
  return simpler;
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
  bool simpler = false;
  for (std::vector<double>* entries : {&of.sinks, &of.slopes, &of.bias, &of.lse_gradients, &of.lambdas}) {
    simpler |= change(*entries, [](double x) { return round_to_bits(x, 1); });
  }
  return simpler;
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

bool simplify(numerics::Format format, double& entry, std::size_t which) {
  const int before = complexity(entry);
  entry = numerics::round_to(format, simpler_numbers(entry)[which]);
  return std::isfinite(entry) && complexity(entry) < before;
}

AttentionStep drop_step(int axis, std::size_t first, std::size_t size) {
  return {[=](AttentionCase& a, int along) { return drop_along(a, {along, first, size}); }, axis};
}

void add_simpler_numbers(std::vector<AttentionStep>& steps) {
  for (int which = 0; which < tensors; ++which) {
    steps.push_back({[=](AttentionCase& a, int) { return change(tensor(a, which), [](double) { return 0.0; }); }});
  }
  for (const int bits : {1, 2, 4, 8, 16}) {
    steps.push_back({[=](AttentionCase& a, int) {
      bool simpler = false;
      const auto rounded = [&](double x) { return numerics::round_to(a.format, round_to_bits(x, bits)); };
      for (int which = 0; which < tensors; ++which) simpler |= change(tensor(a, which), rounded);
      return simpler;
    }});
  }
}

// For an axis with listed lengths: drops the ends that leave each shorter length.
void add_listed_lengths(std::vector<AttentionStep>& steps, int axis, AttentionShape shape, const Domain& domain) {
  static constexpr std::array<const char*, Axis::count> names{"batch", "heads", "group", "queries",
                                                              "keys",  "dim",   "values"};
  const std::size_t count = extent(shape, axis);
  const auto add = [&](std::uint64_t length) {
    if (length == 0 || length >= count) return;
    steps.push_back(drop_step(axis, 0, count - length));
    steps.push_back(drop_step(axis, length, count - length));
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
  steps.push_back({[](AttentionCase& to, int) { return clear_unsent(to); }});
  steps.push_back({[](AttentionCase& to, int) { return clear(to.sequences.order); }});
  for (const std::size_t size : {1, 2, 4, 16}) {
    steps.push_back({[=](AttentionCase& to, int) {
      const std::size_t before = to.sequences.page_size;
      return std::exchange(to.sequences.page_size, std::min(size, before)) > size;
    }});
  }
  const auto add = [&](int axis, std::size_t b, std::size_t length) {
    for (const std::size_t shorter :
         {std::size_t{0}, std::size_t{1}, length / 2, length - std::min<std::size_t>(length, 1)}) {
      if (shorter >= length) continue;
      steps.push_back({[=](AttentionCase& to, int along) { return shorten(to, along, b, shorter); }, axis});
    }
  };
  // Empty whole parts first: among many sequences each step of one of them costs a call of all.
  constexpr std::size_t few = 64, parts = 32;
  const std::size_t count = a.shape.batch;
  for (std::size_t size = count / 2; count > few && size >= count / parts; size /= 2) {
    for (std::size_t first = 0; first < count; first += size) {
      steps.push_back({[=](AttentionCase& to, int) { return empty_sequences(to, first, first + size); }});
    }
  }
  if (std::ranges::count_if(a.sequences.keys, [](std::size_t length) { return length > 0; }) >
      static_cast<std::ptrdiff_t>(few))
    return;
  for (std::size_t b = 0; b < count; ++b) {
    if (a.sequences.packed) add(Axis::query, b, a.sequences.queries[b]);
    add(Axis::key, b, a.sequences.keys[b]);
  }
}

std::vector<AttentionStep> steps_of(AttentionCase a, const Domain& domain) {
  std::vector<AttentionStep> steps{
      {[](AttentionCase& to, int) { return clear(to.layout, to.attributes.expanded); }},
      {[](AttentionCase& to, int) { return clear(to.mask); }},
      {[](AttentionCase& to, int) { return clear(to.causal); }},
      {[](AttentionCase& to, int) { return clear(to.attributes.window_left, to.attributes.window_right); }},
      {[](AttentionCase& to, int) { return clear(to.attributes.top_left); }},
      {[](AttentionCase& to, int) { return clear(to.attributes.softcap); }},
      {[](AttentionCase& to, int) { return clear(to.attributes.sinks); }},
      {[](AttentionCase& to, int) { return clear(to.attributes.slopes); }},
      {[](AttentionCase& to, int) { return clear(to.attributes.bias); }},
      {[](AttentionCase& to, int) { return clear(to.attributes.kept); }},
      {[](AttentionCase& to, int) { return clear(to.attributes.lse_gradients); }},
      {[](AttentionCase& to, int) { return std::exchange(to.scale, 1) != 1; }},
      {[](AttentionCase& to, int) { return to.outputs-- > 1; }},
      {[](AttentionCase& to, int) { return std::exchange(to.mask_byte, 1) != 1 && !to.mask.empty(); }},
      {[](AttentionCase& to, int) { return round_terms(to.attributes); }}};
  add_sequences(steps, a);
  for (const std::uint64_t byte : {2, 16, 128, 255}) {
    steps.push_back({[=](AttentionCase& to, int) { return std::exchange(to.mask_byte, byte) >= 256; }});
  }
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
        steps.push_back(drop_step(axis, first, size));
      }
    }
    // Simplify numbers before dropping ends of a length that cannot get much shorter.
    if (axis == (expensive ? Axis::query : Axis::key)) add_simpler_numbers(steps);
  }
  steps.push_back({[](AttentionCase& to, int) { return share_mask(to); }});
  for (int which = 0; which < tensors; ++which) {
    const std::vector<double>& entries = tensor(a, which);
    if (entries.size() > 64) continue;  // simplify entries one by one only in small cases
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::size_t count = simpler_numbers(entries[i]).size();
      for (std::size_t k = 0; k < count; ++k) {
        steps.push_back({[=](AttentionCase& to, int) { return simplify(to.format, tensor(to, which)[i], k); }});
      }
    }
  }
  return steps;
}

// The axis that the domain holds as long as this one.
std::optional<int> tied_axis(const Domain& domain, int axis) {
  if (domain.equal_lengths && axis == Axis::query) return Axis::key;
  if (domain.equal_lengths && axis == Axis::key) return Axis::query;
  if (domain.equal_dims && axis == Axis::dim) return Axis::value_dim;
  if (domain.equal_dims && axis == Axis::value_dim) return Axis::dim;
  return std::nullopt;
}

}  // namespace

rc::Seq<AttentionCase> shrink_attention_case(const AttentionCase& attention, const AttentionOptions& options) {
  const auto steps = std::make_shared<const std::vector<AttentionStep>>(steps_of(attention, options.domain));
  return lazy_shrinks(attention, steps->size(), [steps, options](const AttentionCase& from, std::size_t k) {
    std::optional<AttentionCase> result = from;
    const AttentionStep& step = (*steps)[k];
    bool is_simpler = step.take(*result, step.axis);
    if (const auto tied = tied_axis(options.domain, step.axis)) is_simpler |= step.take(*result, *tied);
    if (is_simpler) take_conventions(*result, options.domain);
    if (!is_simpler || !admits(options, *result)) result.reset();
    return result;
  });
}

}  // namespace softcheck::proptests
