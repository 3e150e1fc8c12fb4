#pragma once

#include <vector>

#include "judge/trial/kernel_judgement.hpp"
#include "judge/trial/kernel_properties.hpp"

namespace softcheck::proptests {

/// The property with the fewest requirements: one row alone and compact, or attention unchanged.
inline constexpr const char* plainest_property = "EveryValueLiesWithinItsThreshold";

/// The verdict of one property: the end of a call outranks a certificate.
ReportVerdict verdict_of_outcome(const Outcome& outcome);

/// Did a call fail in which no earlier one can have a part? Only a property of earlier calls makes such a call.
bool fails_alone(const Counterexample& found);

/// Tries a case that fails another property, and is smaller than the failing case of the plainest one, under the
/// plainest one. If it fails there in the same claim, it becomes that property's case, and the judgement's: the failure
/// then does not depend on a layout or a neighbour.
///
/// A failure of a call in which no earlier call can have a part is the plainest property's alone, whatever its size:
/// the other one does not count as broken, unless no other case breaks the same claims.
///
/// run   its shrinks, at most, for each of them; ends early where it is interrupted
void tell_plainly(const std::vector<KernelProperty>& properties, const RunOptions& run, KernelJudgement& judgement);

}  // namespace softcheck::proptests
