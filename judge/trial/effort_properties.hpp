#pragma once

#include <vector>

#include "judge/trial/attention_trial.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "judge/trial/kernel_properties.hpp"
#include "judge/trial/kernel_trial.hpp"

// What an effort asks a kernel.
namespace softcheck::proptests {

/// At quick effort rows of some ops are no longer than OpTraits::quick_items.
void limit_quick_rows(Op op, JudgeOptions& options);

/// All properties of these options, in the order in which they are run. Default effort first asks all that quick effort
/// asks at the same seed, and draws as many cases less of its own: what a quick run finds, it finds, too. What both
/// list is listed once.
std::vector<KernelProperty> effort_properties(const KernelSubject& subject, const JudgeOptions& options,
                                              KernelTrial& trial);
std::vector<KernelProperty> effort_properties(const KernelSubject& subject, const JudgeOptions& options,
                                              AttentionTrial& trial);

}  // namespace softcheck::proptests
