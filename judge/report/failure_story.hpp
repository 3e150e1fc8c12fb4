#pragma once

#include <set>
#include <string>
#include <vector>

#include "judge/trial/kernel_judgement.hpp"
#include "judge/trial/wrong_value.hpp"

namespace softcheck::proptests {

/// Failures of one claim by wrong values of alike kinds: the report shows one counterexample for all.
struct FailureCause {
  WrongValue kind = WrongValue::other;
  const PropertyFinding* property = nullptr;  // the first that fails on few logits, or the one with the smallest case
  const numerics::Certificate* failed = nullptr;  // a certificate of that property's case
};

/// The causes for one claim, the gravest first. Empty if no shrunk case breaks the claim.
std::vector<FailureCause> causes_of(const KernelJudgement& judgement, const std::string& claim);
/// The gravest cause over all claims, among failures with the judgement's verdict; its property is null if there is
/// none.
FailureCause gravest_cause(const KernelJudgement& judgement);

/// The report's lines about a failed claim. For each cause: the smallest row, the expected and the returned value, the
/// reason if the judge knows it, and one command; then the names of the other failing properties. Refers to cases that
/// an earlier claim has shown.
///
/// slack   the claim's largest, over all cases
std::vector<std::string> story_of(const KernelSubject& subject, const KernelJudgement& judgement,
                                  const std::string& claim, double slack, std::set<std::string>& reported_case_texts);

/// "3 logits", "an empty call"
std::string logits_text(std::size_t count);

}  // namespace softcheck::proptests
