#pragma once

#include <string>
#include <vector>

#include "judge/trial/kernel_judgement.hpp"
#include "numerics/enclosures/certificate.hpp"

namespace softcheck::proptests {

/// How a call went wrong, the gravest first. Failures of one claim by NaN or an infinity count as one cause, and those
/// by an error of any size.
///
/// ended         a crash, a time limit, a result that is no tensor
/// unwritten     the result is what the judge filled the output with before the call
/// nan, infinite, zero   where a number of another size is due
/// wrong         10 times its threshold off, or more
/// hidden_nan    NaN, in a call with a NaN that a mask, a length or causality hides from the row
/// inexact       off by less
/// other         no number is due: the row of a NaN or of an infinity, a fully masked row, a claim on the whole call
enum class WrongValue { ended, unwritten, nan, infinite, zero, wrong, hidden_nan, inexact, other };

WrongValue kind_of(const numerics::Certificate& failed);

/// Why the value came out as it did, and the cure, as far as the judge can know; empty where it cannot.
std::string cause_of(const KernelSubject& subject, const numerics::Certificate& failed);

/// Of the failures with the judgement's own verdict the gravest becomes its counterexample; it stays where none is
/// graver.
void choose_gravest(KernelJudgement& judgement);

}  // namespace softcheck::proptests
