#include "judge/trial/attention_coverage.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {
namespace {

using Trait = AttentionTrait;
using Classes = std::vector<std::pair<Trait, std::size_t>>;

Classes classes_of(const AttentionCase& a, std::size_t outputs) {
  Classes classes;
  const auto add = [&](Trait trait, std::optional<std::size_t> index) {
    if (index) classes.emplace_back(trait, *index);
  };
  for (std::size_t d = 0; d <= static_cast<std::size_t>(Trait::lengths); ++d) {
    add(static_cast<Trait>(d), shape_class(static_cast<Trait>(d), a.shape));
  }
  add(Trait::causal, a.causal ? 1 : 0);
  add(Trait::scale, scale_class(a.scale, a.shape.dim));
  add(Trait::mask, a.mask.empty() ? 0 : a.mask_for_each_head ? 1 : 2);
  add(Trait::mask_bytes, mask_byte_class(a));
  add(Trait::outputs, outputs - 1);
  for (std::size_t t = 0; t < attention_tensors; ++t) {
    const bool is_there = t < 3 || (t == 3 ? !a.mask.empty() : t - 4 < outputs);
    if (is_there) add(static_cast<Trait>(static_cast<std::size_t>(Trait::layout) + t), layout_kind(a.layout, t));
  }
  return classes;
}

constexpr std::size_t layout_of_mask = static_cast<std::size_t>(Trait::layout) + 3;
constexpr std::size_t first_output = layout_of_mask + 1, first_of_nan = first_output + 3;

// Has the loss of a linear layer such a choice?
bool is_of_linear(Trait trait) {
  static constexpr std::array none{Trait::values, Trait::batch, Trait::kv_heads,   Trait::group,  Trait::causal,
                                   Trait::scale,  Trait::mask,  Trait::mask_bytes, Trait::outputs};
  const bool of_values = static_cast<std::size_t>(trait) == layout_of_mask - 1;
  return std::ranges::find(none, trait) == none.end() && !of_values &&
         static_cast<std::size_t>(trait) != layout_of_mask;
}

// The dimension as it applies to the op; nothing if the op has no such choice.
std::optional<CoverageDimension> dimension(Op op, Trait trait) {
  const auto index = static_cast<std::size_t>(trait);
  if (op->is_linear() && !is_of_linear(trait)) return std::nullopt;
  const AttentionDimension& one = attention_dimensions()[index];
  const bool of_one_output = op->outputs.size() == 1;
  if (index >= first_output + op->outputs.size() && index < first_of_nan) return std::nullopt;
  if (trait == Trait::outputs && (op->all_outputs || of_one_output)) return std::nullopt;
  if (!op->all_outputs) return CoverageDimension{one.name, one.classes};
  if (op->is_linear() && index == layout_of_mask - 3) return CoverageDimension{"layout of hidden", one.classes};
  if (op->is_linear() && index == layout_of_mask - 2) return CoverageDimension{"layout of weight", one.classes};
  const bool of_output = index >= first_output && index < std::min(first_output + op->outputs.size(), first_of_nan);
  return CoverageDimension{of_output ? "layout of " + std::string(op->outputs[index - first_output]) : one.name,
                           one.classes};
}

void meet(Coverage& coverage, Op op, Trait trait, std::size_t index) {
  if (const auto of = dimension(op, trait)) coverage.meet(of->name, of->classes[index]);
}

void excuse(Coverage& coverage, Op op, Trait trait, std::size_t index, const std::string& reason) {
  if (const auto of = dimension(op, trait)) coverage.excuse(of->name, of->classes[index], reason);
}

}  // namespace

Coverage attention_coverage(Op op) {
  std::vector<CoverageDimension> dimensions;
  for (std::size_t d = 0; d < attention_traits; ++d) {
    if (auto of = dimension(op, static_cast<Trait>(d))) dimensions.push_back(std::move(*of));
  }
  return Coverage(std::move(dimensions));
}

void meet_classes(Coverage& coverage, Op op, const AttentionCase& attention, std::size_t outputs) {
  if (attention.shape.scores() == 0) return;  // an empty call covers nothing
  for (const auto& [trait, index] : classes_of(attention, outputs)) meet(coverage, op, trait, index);
}

void meet_nan(Coverage& coverage, std::uint64_t nan) {
  const NanPlace place = NanPlace::of(nan);
  const auto met = [&](Trait trait, std::size_t index) {
    const AttentionDimension& one = attention_dimensions()[static_cast<std::size_t>(trait)];
    coverage.meet(one.name, one.classes[index]);
  };
  met(Trait::nan_tensor, static_cast<std::size_t>(place.tensor));
  met(Trait::nan_place, static_cast<std::size_t>(place.position));
  met(Trait::nan_bits, static_cast<std::size_t>(place.bits));
}

void excuse_refused(Coverage& coverage, Op op, const AttentionCase& attention) {
  if (attention.shape.scores() == 0) return;
  for (const auto& [trait, index] : classes_of(attention, static_cast<std::size_t>(attention.outputs))) {
    excuse(coverage, op, trait, index, "the kernel refused every call that had it");
  }
}

void excuse_outputs(Coverage& coverage, Op op, std::size_t outputs) {
  constexpr const char* reason = "the kernel refused every call for so many outputs";
  excuse(coverage, op, Trait::outputs, outputs - 1, reason);
  for (std::size_t kind = 0; kind < attention_layouts; ++kind) {
    excuse(coverage, op, static_cast<Trait>(first_output + outputs - 1), kind, reason);
  }
}

void excuse_impossible(Coverage& coverage, Op op, const AttentionOptions& options, const AttentionBudget& budget) {
  ClassChoice choice(attention_traits);
  const bool no_mask = options.domain.no_mask || !options.masks;
  for (std::size_t d = 0; d < attention_traits; ++d) {
    const AttentionDimension& one = attention_dimensions()[d];
    for (std::size_t c = 0; c < one.classes.size(); ++c) {
      choice[d] = c;
      const bool of_a_nan = d >= static_cast<std::size_t>(Trait::nan_tensor);
      // A choice without a mask still has a layout and bytes for it; no call has those classes.
      const bool of_a_mask = d == static_cast<std::size_t>(Trait::mask_bytes) || d == layout_of_mask;
      const bool of_no_value = op->is_linear() && of_a_nan && one.classes[c] == "value";
      const bool is_there = !(of_a_nan && options.domain.finite) && !(of_a_mask && no_mask) && !of_no_value;
      if (is_there && is_possible(choice, options, budget)) continue;
      excuse(coverage, op, static_cast<Trait>(d), c,
             options.domain.everything() ? "larger than this effort draws" : "outside the domain");
    }
    choice[d].reset();
  }
}

namespace {

struct LengthOfCall {
  const char* name;    // in the report
  const char* length;  // in domains; empty if they do not limit it
  double range;        // from known shapes; for keys the longest class
  std::size_t (*of)(const AttentionShape&);
};

constexpr std::array<LengthOfCall, 8> lengths_of_calls{
    {{"batch", "batch", 65537, [](const AttentionShape& s) { return s.batch; }},
     {"heads", "heads", 131, [](const AttentionShape& s) { return s.heads(); }},
     {"batch x heads", "", 65537, [](const AttentionShape& s) { return s.batch * s.heads(); }},
     {"group", "group", 128, [](const AttentionShape& s) { return s.group; }},
     {"queries", "queries", 8195, [](const AttentionShape& s) { return s.queries; }},
     {"keys", "keys", 65536, [](const AttentionShape& s) { return s.keys; }},
     {"dim", "dim", 576, [](const AttentionShape& s) { return s.dim; }},
     {"values' dim", "values", 512, [](const AttentionShape& s) { return s.value_dim; }}}};
constexpr const char* score_size = "|score|";

// The largest score of a visible pair in a small call; 0 for large calls, whose scores are no larger.
double largest_score_of(const AttentionCase& a) {
  constexpr std::size_t most_products = 4096;
  const AttentionShape& s = a.shape;
  if (s.scores() * s.dim > most_products) return 0;
  double largest = 0;
  for (std::size_t row = 0; row < s.batch * s.heads() * s.queries; ++row) {
    const std::size_t i = row % s.queries, h = row / s.queries % s.heads(), b = row / s.queries / s.heads();
    const std::size_t head = b * s.kv_heads + h / s.group;
    for (std::size_t j = 0; j < s.keys; ++j) {
      if (i >= a.queries_of(b) || j >= a.keys_of(b) || !a.sees(b, h, i, j)) continue;
      double dot = 0;
      for (std::size_t t = 0; t < s.dim; ++t) {
        dot += a.queries[row * s.dim + t] * a.keys[(head * s.keys + j) * s.dim + t];
      }
      if (std::isfinite(dot)) largest = std::max(largest, std::fabs(dot * a.scale));
    }
  }
  return largest;
}

}  // namespace

CallSizes attention_sizes(const Domain& domain, double largest_score) {
  std::vector<CallSizes::Size> result;
  const auto most = [&](const char* length) { return static_cast<double>(domain.length(length).most); };
  const double most_heads = most("batch") * most("heads");
  for (const LengthOfCall& size : lengths_of_calls) {
    result.push_back({size.name, std::min(size.range, *size.length == 0 ? most_heads : most(size.length))});
  }
  result.push_back({score_size, largest_score});
  return CallSizes(std::move(result));
}

void reach_sizes(CallSizes& sizes, const AttentionCase& attention) {
  if (attention.shape.scores() == 0) return;  // an empty call covers nothing
  for (const LengthOfCall& size : lengths_of_calls)
    sizes.reach(size.name, static_cast<double>(size.of(attention.shape)));
  sizes.reach(score_size, largest_score_of(attention));
}

}  // namespace softcheck::proptests
