#pragma once

#include <string>
#include <string_view>

#include "judge/trial/kernel_judgement.hpp"

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

/// The command, or the call, that infers a contract of the subject, where its own has no words. softcheck::conforms has
/// no such call: libsoftcheck infers the contract of the same function. Empty where there is none.
std::string command_of_inference(const KernelSubject& subject);

}  // namespace softcheck::proptests
