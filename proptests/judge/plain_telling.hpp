#pragma once

#include <vector>

#include "proptests/judge/kernel_judge.hpp"
#include "proptests/judge/kernel_properties.hpp"

namespace softcheck::proptests {

/// The property that asks the least of a kernel: one row alone and compact, or attention as it is.
inline constexpr const char* plainest_property = "EveryValueLiesWithinItsThreshold";

/// What the outcome of one property comes to: how a call ended outranks what a certificate says.
ReportVerdict verdict_of_outcome(const Outcome& outcome);

/// A case that fails another property, and is smaller than what the plainest one failed on, is tried under the plainest
/// one. Where it fails there in the same claim it becomes that property's case, and the judgement's: the reader then
/// looks for no layout and no neighbour that plays no part.
///
/// shrinks   evaluations at most that shrinking each of them may take
void tell_plainly(const std::vector<KernelProperty>& properties, int shrinks, KernelJudgement& judgement);

}  // namespace softcheck::proptests
