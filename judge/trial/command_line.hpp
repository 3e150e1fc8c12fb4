#pragma once

#include <string>
#include <string_view>

#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

/// The words by which a contract differs from default_contract of its formats; empty if it does not.
std::string words_beyond_default(const numerics::Contract& contract);

/// "acc=f32 grants the f64 results f32's unit roundoff, 2^-24; acc=f64 grants 2^-53; ulps are f32's": a note for
/// contracts whose accumulator has fewer digits than the output, since results of f32's precision then pass as f64.
/// Empty for other contracts.
std::string narrow_accumulator(const numerics::Contract& contract);

/// "softcheck kernel './libmine.so:f' --op softmax --dtype f32 --contract 'sum=tree'": the command that judges the
/// subject again. For a kernel that is not in a library, the call of softcheck::conforms.
///
/// replay   'PROPERTY CASE', to judge only that case
std::string command_line(const KernelSubject& subject, std::string_view replay = "");

/// The command or call that infers a contract for a subject whose own contract has no words. softcheck::conforms cannot
/// infer; libsoftcheck can, for the same function. Empty if there is none.
std::string command_of_inference(const KernelSubject& subject);

}  // namespace softcheck::proptests
