#pragma once

#include <string_view>

#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

/// Judges a kernel by its properties, such as "Kernel.EveryValueLiesWithinItsThreshold", over rows of every family. The
/// kernel runs in a child process (IsolatedKernel); thresholds follow from the contract.
///
/// throws   KernelLoadError; Interrupted if it was interrupted before the kernel was loaded
KernelJudgement judge_kernel(const KernelSubject& subject, const JudgeOptions& options);

/// Judges one case of one property again, for a replay line.
/// throws   std::invalid_argument if the property or the case text is unknown
KernelJudgement replay_kernel(const KernelSubject& subject, std::string_view property, std::string_view case_text,
                              const JudgeOptions& options);

}  // namespace softcheck::proptests
