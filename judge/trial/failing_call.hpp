#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "judge/call/tensor_call.hpp"
#include "judge/sandbox/watched_kernel.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "judge/trial/kernel_properties.hpp"

namespace softcheck::proptests {

/// The call whose results failed, where the kernel kept its calls meanwhile; else null.
std::shared_ptr<const TensorCall> passed_call(const std::optional<Counterexample>& counterexample);

/// Runs the counterexample once more and keeps the call that fails in KernelJudgement::passed. A property may change
/// its case: it hides items, puts a NaN in, calls a row alone.
void keep_failing_call(const std::vector<KernelProperty>& properties, WatchedKernel& kernel,
                       KernelJudgement& judgement);

}  // namespace softcheck::proptests
