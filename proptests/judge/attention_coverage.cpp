#include "proptests/judge/attention_coverage.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "proptests/generators/attention_nan.hpp"

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

const AttentionDimension& dimension(Trait trait) { return attention_dimensions()[static_cast<std::size_t>(trait)]; }

void meet(Coverage& coverage, Trait trait, std::size_t index) {
  coverage.meet(dimension(trait).name, dimension(trait).classes[index]);
}

}  // namespace

Coverage attention_coverage() {
  std::vector<CoverageDimension> dimensions;
  for (const AttentionDimension& one : attention_dimensions()) dimensions.push_back({one.name, one.classes});
  return Coverage(std::move(dimensions));
}

void meet_classes(Coverage& coverage, const AttentionCase& attention, std::size_t outputs) {
  if (attention.shape.scores() == 0) return;  // of nothing
  for (const auto& [trait, index] : classes_of(attention, outputs)) meet(coverage, trait, index);
}

void meet_nan(Coverage& coverage, std::uint64_t nan) {
  const NanPlace place = NanPlace::of(nan);
  meet(coverage, Trait::nan_tensor, static_cast<std::size_t>(place.tensor));
  meet(coverage, Trait::nan_place, static_cast<std::size_t>(place.position));
  meet(coverage, Trait::nan_bits, static_cast<std::size_t>(place.bits));
}

void excuse_refused(Coverage& coverage, const AttentionCase& attention) {
  if (attention.shape.scores() == 0) return;
  for (const auto& [trait, index] : classes_of(attention, static_cast<std::size_t>(attention.outputs))) {
    coverage.excuse(dimension(trait).name, dimension(trait).classes[index],
                    "the kernel refused every call that had it");
  }
}

void excuse_outputs(Coverage& coverage, std::size_t outputs) {
  constexpr const char* reason = "the kernel refused every call for so many outputs";
  const AttentionDimension& counts = dimension(Trait::outputs);
  coverage.excuse(counts.name, counts.classes[outputs - 1], reason);
  const AttentionDimension& layouts =
      dimension(static_cast<Trait>(static_cast<std::size_t>(Trait::layout) + 3 + outputs));
  for (const std::string& kind : layouts.classes) coverage.excuse(layouts.name, kind, reason);
}

void excuse_impossible(Coverage& coverage, const AttentionOptions& options, const AttentionBudget& budget) {
  ClassChoice choice(attention_traits);
  for (std::size_t d = 0; d < attention_traits; ++d) {
    const AttentionDimension& one = attention_dimensions()[d];
    for (std::size_t c = 0; c < one.classes.size(); ++c) {
      choice[d] = c;
      const bool of_a_nan = d >= static_cast<std::size_t>(Trait::nan_tensor);
      if (is_possible(choice, options, budget) && !(of_a_nan && options.domain.finite)) continue;
      coverage.excuse(one.name, one.classes[c],
                      options.domain.everything() ? "larger than this effort draws" : "outside the domain");
    }
    choice[d].reset();
  }
}

}  // namespace softcheck::proptests
