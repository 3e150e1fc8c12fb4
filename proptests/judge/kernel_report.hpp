#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proptests/judge/kernel_judge.hpp"

namespace softcheck::proptests {

/// The words in which a contract differs from default_contract of its formats; empty where it does not.
std::string words_beyond_default(const numerics::Contract& contract);

/// "softcheck kernel './libmine.so:f' --op softmax --dtype f32 --contract 'sum=tree'": judges the subject again. Of a
/// kernel without a library the call of softcheck::conforms that does.
///
/// replay   'PROPERTY CASE', for that case alone
std::string command_line(const KernelSubject& subject, std::string_view replay = "");

/// One line on what a judgement came to: what is broken, by how much, on how many logits; or how it went.
std::string summary_of(const KernelJudgement& judgement);

}  // namespace softcheck::proptests
