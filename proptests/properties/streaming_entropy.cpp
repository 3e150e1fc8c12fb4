#include <rapidcheck.h>

#include <algorithm>
#include <string>

#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

// Enclosures at four precisions by several methods: rows of 64 distinct items show as much as longer ones.
RowOptions exact_rows() {
  RowOptions options;
  options.max_literal = 64;
  return options;
}

MergeTreeOptions exact_trees() {
  MergeTreeOptions options;
  options.row = exact_rows();
  return options;
}

// theta is not used. Rows have a sixteenth of the usual maximal length, since items are computed one by one.
MergeTreeOptions rows_of(numerics::Format format) {
  MergeTreeOptions options;
  options.row.formats = {format};
  options.row.max_length = std::uint64_t{1} << 16;
  options.row.theta_exponent = 0;
  return options;
}

std::string sentence_for(numerics::Format format) {
  std::string name(numerics::properties(format).name);
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return "StreamedAndTwoPassEntropyStayWithinTheirBoundIn" + name;
}

}  // namespace

theory::MergePlan plan_of(const MergeTreeCase& merge_case) {
  theory::MergePlan plan;
  plan.cuts.push_back(0);
  for (const std::uint64_t chunk : merge_case.chunks) plan.cuts.push_back(plan.cuts.back() + chunk);
  // The slot that holds each node's state. A merge keeps the smaller slot, so the last one is slot 0.
  std::vector<std::size_t> slots(merge_case.tree.leaves());
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = i;
  for (const MergeTree::Merge& merge : merge_case.tree.merges()) {
    const auto [into, from] = std::minmax({slots[merge.left], slots[merge.right]});
    plan.steps.push_back({into, from});
    slots.push_back(into);
  }
  return plan;
}

PropertyOf<RowCase> recurrence_gives_the_entropy(RowCheck check) {
  return {"StreamingEntropy",
          "TheRecurrenceGivesTheEntropyAboutAnyReferencePoint",
          {"streaming_entropy.recurrence", "streaming_entropy.reference_point"},
          row_cases(exact_rows()),
          std::move(check)};
}

PropertyOf<RowCase> states_form_a_monoid(RowCheck check) {
  return {"StreamingEntropy",
          "StatesFormACommutativeMonoid",
          {"streaming_entropy.merge_associative", "streaming_entropy.merge_commutative", "streaming_entropy.identity"},
          row_cases(exact_rows()),
          std::move(check)};
}

PropertyOf<MergeTreeCase> every_tree_gives_the_entropy(MergeCheck check) {
  return {"StreamingEntropy",
          "EveryTreeGivesTheSameEntropy",
          {"streaming_entropy.every_tree"},
          merge_tree_cases(exact_trees()),
          std::move(check)};
}

PropertyOf<MergeTreeCase> rounding_stays_within_its_bound(numerics::Format format, MergeCheck check) {
  return {"StreamingEntropy",
          sentence_for(format),
          {"streaming_entropy.rounding_" + std::string(numerics::properties(format).name)},
          merge_tree_cases(rows_of(format)),
          std::move(check)};
}

std::vector<Property> streaming_entropy_properties() {
  const auto recurrence = [](const RowCase& row_case) { return theory::certify_recurrence(row_case.row.expand()); };
  const auto monoid = [](const RowCase& row_case) { return theory::certify_monoid(row_case.row.expand()); };
  const auto tree = [](const MergeTreeCase& merge_case) {
    return theory::certify_every_tree(merge_case.row.row.expand(), plan_of(merge_case));
  };
  std::vector<Property> all{recurrence_gives_the_entropy(recurrence), states_form_a_monoid(monoid),
                            every_tree_gives_the_entropy(tree)};
  for (const numerics::Format format : {numerics::Format::f32, numerics::Format::f64, numerics::Format::bf16}) {
    all.push_back(rounding_stays_within_its_bound(format, [format](const MergeTreeCase& merge_case) {
      return theory::certify_streaming_rounding(merge_case.row.row.expand(), plan_of(merge_case), format);
    }));
  }
  return all;
}

}  // namespace softcheck::proptests
