#include "judge/trial/plainest_case.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "judge/call/evidence.hpp"

namespace softcheck::proptests {
namespace {

// The texts of a failing case that the plainest property may accept: the failing row alone, or the whole case.
std::vector<std::string> plainer_texts(const Counterexample& found) {
  std::vector<std::string> texts;
  for (const numerics::Certificate& certificate : found.failed) {
    const KernelEvidence* evidence = evidence_of(certificate);
    if (evidence == nullptr || evidence->asked.row_text.empty()) continue;
    if (std::ranges::count(texts, evidence->asked.row_text) == 0) texts.push_back(evidence->asked.row_text);
  }
  texts.push_back(found.case_text);
  return texts;
}

bool shares_a_claim(const Counterexample& a, const Counterexample& b) {
  return std::ranges::any_of(a.failed, [&](const numerics::Certificate& certificate) {
    return std::ranges::count(b.failed, certificate.claim, &numerics::Certificate::claim) > 0;
  });
}

// The outcome of the plainest property on another property's failing case; nothing if it holds there.
std::optional<Outcome> fails_plainly(const Property& plainest, const Counterexample& found, const RunOptions& run) {
  for (const std::string& text : plainer_texts(found)) {
    try {
      Outcome outcome = plainest.replay(text, run);
      const std::optional<Counterexample>& fails = outcome.counterexample;
      if (fails && fails->error.empty() && shares_a_claim(*fails, found)) return outcome;
    } catch (const std::invalid_argument&) {
      // The text is no case of the plainest property, or lies outside its domain.
    }
  }
  return std::nullopt;
}

// Is this simpler than the failing case of the plainest property itself, if it has one?
bool is_plainer(const Outcome& plain, const PropertyFinding& told) {
  const std::optional<Counterexample>& own = told.outcome.counterexample;
  return !own || (own->size > plain.counterexample->size && verdict_of_outcome(plain) == told.verdict);
}

bool breaks(const PropertyFinding& finding, const std::string& claim) {
  const std::optional<Counterexample>& found = finding.outcome.counterexample;
  return found && std::ranges::count(found->failed, claim, &numerics::Certificate::claim) > 0;
}

// Do other properties' cases break each claim that this property's cases broke?
bool is_told_elsewhere(const PropertyFinding& finding, const std::vector<PropertyFinding>& all) {
  return std::ranges::all_of(finding.outcome.claims, [&](const auto& of_claim) {
    if (!breaks(finding, of_claim.first) && !(of_claim.second.tightest_slack > 1)) return true;
    return std::ranges::any_of(
        all, [&](const PropertyFinding& other) { return &other != &finding && breaks(other, of_claim.first); });
  });
}

// The plainest property shows the same failure, so it does not depend on earlier calls.
void withdraw(PropertyFinding& finding) {
  finding.verdict = ReportVerdict::pass;
  finding.outcome.verdict = numerics::Verdict::undecided;
  finding.outcome.note = "a call of its case fails alone, too";
  finding.outcome.counterexample.reset();
}

bool may_be_plainer(const PropertyFinding& other, const PropertyFinding& told) {
  const std::optional<Counterexample>&found = other.outcome.counterexample, &own = told.outcome.counterexample;
  if (&other == &told || !found || !found->error.empty()) return false;
  return !own || (own->error.empty() && own->size > found->size);
}

}  // namespace

bool fails_alone(const Counterexample& found) {
  return std::ranges::any_of(found.failed, [](const numerics::Certificate& certificate) {
    const KernelEvidence* evidence = evidence_of(certificate);
    return evidence != nullptr && evidence->asked.alone;
  });
}

ReportVerdict verdict_of_outcome(const Outcome& outcome) {
  const auto died = [&](CallEnd end) {
    return std::ranges::any_of(outcome.counterexample->failed, [&](const numerics::Certificate& certificate) {
      const KernelEvidence* evidence = evidence_of(certificate);
      return evidence != nullptr && evidence->ending && evidence->ending->end == end;
    });
  };
  if (outcome.verdict != numerics::Verdict::violated) return report_verdict(outcome.verdict);
  // The generator or the judge itself threw: nothing was found against the kernel.
  if (!outcome.counterexample || !outcome.counterexample->error.empty()) return ReportVerdict::undecided;
  if (died(CallEnd::timed_out)) return ReportVerdict::timeout;
  return died(CallEnd::crashed) ? ReportVerdict::crash : ReportVerdict::fail;
}

void tell_plainly(const std::vector<KernelProperty>& properties, const RunOptions& run, KernelJudgement& judgement) {
  const std::string name = std::string(kernel_suite) + "." + plainest_property;
  const auto plainest =
      std::ranges::find_if(properties, [&](const KernelProperty& one) { return one.property.name() == name; });
  const auto told = std::ranges::find(judgement.properties, name, &PropertyFinding::name);
  if (plainest == properties.end() || told == judgement.properties.end()) return;
  for (PropertyFinding& other : judgement.properties) {
    if (run.interrupted && run.interrupted()) return;
    const bool is_alone =
        &other != &*told && other.outcome.counterexample && fails_alone(*other.outcome.counterexample);
    if (!is_alone && !may_be_plainer(other, *told)) continue;
    std::optional<Outcome> plain = fails_plainly(plainest->property, *other.outcome.counterexample, run);
    if (!plain) continue;
    if (is_plainer(*plain, *told)) {
      told->found_by_another |= !told->outcome.counterexample;
      told->verdict = verdict_of_outcome(*plain);
      told->outcome.verdict = plain->verdict;
      told->outcome.counterexample = std::move(plain->counterexample);
    } else if (!is_alone) {
      continue;
    }
    if (is_alone && is_told_elsewhere(other, judgement.properties)) withdraw(other);
    if (told->verdict > judgement.verdict) continue;
    judgement.failed_property = told->name;
    judgement.counterexample = told->outcome.counterexample;
  }
}

std::shared_ptr<const TensorCall> passed_call(const std::optional<Counterexample>& counterexample) {
  if (!counterexample) return nullptr;
  for (const numerics::Certificate& certificate : counterexample->failed) {
    const KernelEvidence* evidence = evidence_of(certificate);
    if (evidence != nullptr && evidence->asked.passed != nullptr) return evidence->asked.passed;
  }
  return nullptr;
}

void keep_failing_call(const std::vector<KernelProperty>& properties, WatchedKernel& kernel,
                       KernelJudgement& judgement) {
  if (!judgement.counterexample || kernel.timed_out()) return;
  const auto failed = std::ranges::find_if(
      properties, [&](const KernelProperty& one) { return one.property.name() == judgement.failed_property; });
  if (failed == properties.end()) return;
  kernel.keep_calls(true);
  try {
    judgement.passed = passed_call(failed->property.replay(judgement.counterexample->case_text).counterexample);
  } catch (const std::invalid_argument&) {
    // The property may not replay its own case: then only the text shows what was passed.
  }
  kernel.keep_calls(false);
}

}  // namespace softcheck::proptests
