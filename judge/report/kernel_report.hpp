#pragma once

#include <string>
#include <vector>

#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

/// One row per claim. A failed claim has the smallest failing row, the expected and the returned value, and a replay
/// line. If no single claim has the verdict, a row "kernel.verdict" has it.
std::vector<ReportRow> rows_of(const KernelSubject& subject, const KernelJudgement& judgement);

/// "another contract may fit: softcheck kernel ... --infer looks for one": the suggestion if only values broke the
/// contract, by errors that another contract may allow. For a function judged by softcheck::conforms, the call of
/// libsoftcheck. Empty for other judgements, and for kernels without such a command.
std::string inference_hint(const KernelSubject& subject, const KernelJudgement& judgement);

/// A judgement in one line: the broken claim, its error and the number of logits, or how the call ended.
std::string summary_of(const KernelJudgement& judgement);

}  // namespace softcheck::proptests
