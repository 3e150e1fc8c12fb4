#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "judge/call/tensor_call.hpp"
#include "judge/sandbox/watched_kernel.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "judge/trial/kernel_properties.hpp"

namespace softcheck::proptests {

/// The call whose results failed, if the kernel kept its calls; else null.
std::shared_ptr<const TensorCall> passed_call(const std::optional<Counterexample>& counterexample);

/// Runs the counterexample again and keeps the failing call in KernelJudgement::passed. The call can differ from the
/// case: a property may hide items, add a NaN, or call a row alone.
void keep_failing_call(const std::vector<KernelProperty>& properties, WatchedKernel& kernel,
                       KernelJudgement& judgement);

}  // namespace softcheck::proptests
