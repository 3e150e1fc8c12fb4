#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proptests/judge/kernel_judge.hpp"

namespace softcheck::proptests {

/// The words in which a contract differs from default_contract of its formats; empty if there are none.
std::string words_beyond_default(const numerics::Contract& contract);

/// "acc=f32 grants the f64 results f32's unit roundoff, 2^-24; acc=f64 grants 2^-53; ulps are f32's": of a contract
/// whose accumulator has fewer digits than its output, by which results of f32's precision pass as f64; empty of any
/// other.
std::string narrow_accumulator(const numerics::Contract& contract);

/// "softcheck kernel './libmine.so:f' --op softmax --dtype f32 --contract 'sum=tree'": judges the subject again. For a
/// kernel without a library, the corresponding call of softcheck::conforms.
///
/// replay   'PROPERTY CASE', for that case alone
std::string command_line(const KernelSubject& subject, std::string_view replay = "");

/// "another contract may fit: softcheck kernel ... --infer looks for one": the next thing to try where nothing but
/// values broke the contract, each by so much that another may allow it. For a function that softcheck::conforms
/// judges, the call of libsoftcheck. Empty for any other judgement, and for a kernel that has no such command.
std::string inference_hint(const KernelSubject& subject, const KernelJudgement& judgement);

/// One line with the result of a judgement: the broken claim, its error and the number of logits; or how it ended.
std::string summary_of(const KernelJudgement& judgement);

}  // namespace softcheck::proptests
