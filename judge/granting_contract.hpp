#pragma once

#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

/// Judges the smallest calls that failed by errors of values again, by other contracts of the op, and notes as a cause
/// the first one that grants these values: each step rounded to the results' 16-bit format, or, where other failures
/// keep the report from suggesting --infer, the words that the contract may lack.
void note_granting_contract(const KernelSubject& subject, const JudgeOptions& options, KernelJudgement& judgement);

}  // namespace softcheck::proptests
