#pragma once

#include <string_view>

#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

/// The properties of a kernel, each over rows of every family: "Kernel.EveryValueLiesWithinItsThreshold" and others.
/// The kernel runs in a child process (IsolatedKernel); thresholds follow from the contract.
///
/// throws   KernelLoadError; Interrupted if it was interrupted before the kernel was loaded
KernelJudgement judge_kernel(const KernelSubject& subject, const JudgeOptions& options);

/// One case of one property again, for a replay line.
/// throws   std::invalid_argument when the property or the case text is unknown
KernelJudgement replay_kernel(const KernelSubject& subject, std::string_view property, std::string_view case_text,
                              const JudgeOptions& options);

}  // namespace softcheck::proptests
