#pragma once

#include <string>

#include "judge/trial/kernel_judgement.hpp"
#include "numerics/enclosures/certificate.hpp"

namespace softcheck::proptests {

/// The kind of a wrong result, gravest first. Failures of one claim by NaN and by infinity count as one cause, and so
/// do those by an error of any size.
///
/// ended         a crash, a time-out, or a malformed result
/// unwritten     the result is still the judge's filling
/// nan, infinite, zero   a number of another size is required
/// wrong         the error is 10 times its threshold or more
/// hidden_nan    NaN, in a call with a NaN that a mask, a length or causality hides from the row
/// inexact       a smaller error
/// other         no number is required: a row with a NaN or an infinity, a fully masked row, a claim on the whole call
enum class WrongValue { ended, unwritten, nan, infinite, zero, wrong, hidden_nan, inexact, other };

/// Of a call whose output of attention lies beyond the visible values.
inline constexpr const char* beyond_values_remark = " (got lies beyond the values)";

WrongValue kind_of(const numerics::Certificate& failed);

/// The cause of a wrong value and its remedy, if the judge can tell; else empty.
std::string cause_of(const KernelSubject& subject, const numerics::Certificate& failed);

/// Notes that a softmax's failing row has equal logits, if an exp(0) that is not 1 explains the error.
void note_exp_of_zero(const KernelSubject& subject, KernelJudgement& judgement);

/// Makes the gravest failure with the judgement's verdict its counterexample; keeps the current one if none is graver.
void choose_gravest(KernelJudgement& judgement);

}  // namespace softcheck::proptests
