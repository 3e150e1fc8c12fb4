#pragma once

#include <string>
#include <vector>

#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

/// A row for each claim. A failed claim has the smallest row found, the expected and the returned value, and a replay
/// line. If no single claim carries the verdict, a row "kernel.verdict" has it.
std::vector<ReportRow> rows_of(const KernelSubject& subject, const KernelJudgement& judgement);

/// "another contract may fit: softcheck kernel ... --infer looks for one": the next thing to try where nothing but
/// values broke the contract, each by so much that another may allow it. For a function that softcheck::conforms
/// judges, the call of libsoftcheck. Empty for any other judgement, and for a kernel that has no such command.
std::string inference_hint(const KernelSubject& subject, const KernelJudgement& judgement);

/// One line with the result of a judgement: the broken claim, its error and the number of logits; or how it ended.
std::string summary_of(const KernelJudgement& judgement);

}  // namespace softcheck::proptests
