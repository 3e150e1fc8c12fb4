#pragma once

#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/generators/rows/merge_tree.hpp"
#include "proptests/properties/row_levels.hpp"
#include "theory/streaming_entropy.hpp"

namespace softcheck::proptests {

std::vector<Property> streaming_entropy_properties();

/// The properties with any check in place of theirs: what a planted wrong version is made of.
using MergeCheck = std::function<Certificates(const MergeTreeCase&)>;
PropertyOf<RowCase> recurrence_gives_the_entropy(RowCheck check);
PropertyOf<RowCase> states_form_a_monoid(RowCheck check);
PropertyOf<MergeTreeCase> every_tree_gives_the_entropy(MergeCheck check);
/// format   f32, f64 or bf16
PropertyOf<MergeTreeCase> rounding_stays_within_its_bound(numerics::Format format, MergeCheck check);

/// The cuts and merges of a drawn tree as the theory takes them.
theory::MergePlan plan_of(const MergeTreeCase& merge_case);

}  // namespace softcheck::proptests
