#pragma once

#include <set>
#include <string>
#include <vector>

#include "judge/trial/kernel_judgement.hpp"
#include "judge/trial/wrong_value.hpp"

namespace softcheck::proptests {

/// Failures of one claim by wrong values that are alike: one counterexample tells them.
struct FailureCause {
  WrongValue kind = WrongValue::other;
  const PropertyFinding* property = nullptr;      // the first that fails on few logits, else that of the smallest case
  const numerics::Certificate* failed = nullptr;  // of that one's case
};

/// Of one claim; the gravest cause first. Empty where no smallest case breaks the claim.
std::vector<FailureCause> causes_of(const KernelJudgement& judgement, const std::string& claim);
/// The gravest of all claims, among failures with the judgement's own verdict; without a property where there is none.
FailureCause gravest_cause(const KernelJudgement& judgement);

/// Why a claim failed: of each cause the smallest row, what was expected and got, why if the judge knows it, and one
/// command; the other properties by name. A case that an earlier claim told of is not told again.
///
/// slack   the largest of the claim, of any case
std::vector<std::string> story_of(const KernelSubject& subject, const KernelJudgement& judgement,
                                  const std::string& claim, double slack, std::set<std::string>& reported_case_texts);

/// "3 logits", "an empty call"
std::string logits_text(std::size_t count);

}  // namespace softcheck::proptests
