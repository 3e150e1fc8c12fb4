#pragma once

#include <vector>

#include "judge/trial/attention_trial.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "judge/trial/kernel_properties.hpp"
#include "judge/trial/kernel_trial.hpp"

// The properties of each effort.
namespace softcheck::proptests {

/// Limits rows at quick effort to OpTraits::quick_items for ops that set it.
void limit_quick_rows(Op op, JudgeOptions& options);

/// All properties for these options, in the order in which they run. Default effort first runs what quick effort runs
/// with the same seed, so that it finds what a quick run finds, and draws fewer cases of its own. A case that both list
/// appears once.
std::vector<KernelProperty> effort_properties(const KernelSubject& subject, const JudgeOptions& options,
                                              KernelTrial& trial);
std::vector<KernelProperty> effort_properties(const KernelSubject& subject, const JudgeOptions& options,
                                              AttentionTrial& trial);

inline constexpr const char* loading_sentence = "LoadingLeavesTheEnvironment";
inline constexpr const char* loading_remark = "while the library loads: rounding, flush-to-zero or exceptions";

/// A property with one case: loading the library keeps the floating-point environment. A library linked with
/// -ffast-math sets flush-to-zero for the whole process that loads it.
KernelProperty loading_property(WatchedKernel& watched);

}  // namespace softcheck::proptests
