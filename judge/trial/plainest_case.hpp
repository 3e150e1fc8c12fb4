#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "judge/call/tensor_call.hpp"
#include "judge/sandbox/watched_kernel.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "judge/trial/kernel_properties.hpp"

namespace softcheck::proptests {

/// The property with the fewest conditions: one row alone and compact, or attention unchanged.
inline constexpr const char* plainest_property = "EveryValueLiesWithinItsThreshold";

/// The verdict of one property: a call without an answer outranks a certificate.
ReportVerdict verdict_of_outcome(const Outcome& outcome);

/// Did a call fail that no earlier call can have influenced? Only properties of earlier calls make such calls.
bool fails_alone(const Counterexample& found);

/// Runs each failing case that is smaller than the plainest property's own under the plainest property. If it breaks
/// the same claim there, it becomes the counterexample of that property and of the judgement: the failure does not
/// depend on a layout or a neighbour.
///
/// A call that fails although no earlier call can have influenced it belongs to the plainest property alone, whatever
/// its size; the other property then holds, unless only its cases break some claim.
///
/// run   limits the shrinks of each attempt; ends early if interrupted
void tell_plainly(const std::vector<KernelProperty>& properties, const RunOptions& run, KernelJudgement& judgement);

/// The call whose results failed, if the kernel kept its calls; else null.
std::shared_ptr<const TensorCall> passed_call(const std::optional<Counterexample>& counterexample);

/// Runs the counterexample again and keeps the failing call in KernelJudgement::passed. The call can differ from the
/// case: a property may hide items, add a NaN, or call a row alone.
void keep_failing_call(const std::vector<KernelProperty>& properties, WatchedKernel& kernel,
                       KernelJudgement& judgement);

}  // namespace softcheck::proptests
