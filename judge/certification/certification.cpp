#include "judge/certification/certification.hpp"

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "judge/certification/judge_question.hpp"
#include "judge/op/op.hpp"
#include "judge/ops/rows/row_judge.hpp"
#include "numerics/rounding/flushed_output.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Certificate;

// Bits of the intervals. The second precision decides values near their threshold that the first one leaves open.
constexpr std::array<unsigned, 2> precisions{100, 300};

Certification not_covered(const std::string& why) {
  return {Certification::Outcome::not_covered, "not covered by the extracted judge: " + why};
}

// A failed value that the judge's theorems may cover, and its row.
struct Accusation {
  const JudgedNumbers& row;
  const ReportedValue& value;
};

// Nothing if no theorem covers the failure, with the reason in `why`.
std::optional<Accusation> accusation_of(const KernelSubject& subject, const Certificate& certificate,
                                        std::string& why) {
  const KernelEvidence* evidence = evidence_of(certificate);
  why = outside_the_theorems(subject.op, subject.contract, 1);
  if (!why.empty()) return std::nullopt;
  if (certificate.claim != subject.op->claims[0]) {
    why = "it has no theorem about " + certificate.claim;
  } else if (evidence == nullptr || !evidence->value || !evidence->asked.numbers) {
    why = "there is no value of a row to judge";
  } else if (!std::isfinite(evidence->value->got)) {
    why = "its kernels return real numbers, and neither a NaN nor an infinity";
  } else if (const std::string outside =
                 outside_the_theorems(subject.op, subject.contract, evidence->asked.numbers->theta);
             !outside.empty()) {
    why = outside;
  } else {
    return Accusation{*evidence->asked.numbers, *evidence->value};
  }
  return std::nullopt;
}

// Is the value's threshold finite? After a possible overflow nothing is promised, and the theorems do not cover it.
bool is_promised(const KernelSubject& subject, const JudgedNumbers& row, std::size_t values, std::size_t item) {
  std::vector<double> allowed(values);
  granted_row(subject.op, subject.contract, row.logits, row.theta, allowed);
  return std::isfinite(allowed[item]);
}

}  // namespace

Certification certified(const KernelSubject& subject, const ExtractedJudge& judge, const Certificate& certificate) {
  std::string why;
  const std::optional<Accusation> accusation = accusation_of(subject, certificate, why);
  if (!accusation) return not_covered(why);
  const auto& [row, value] = *accusation;
  std::optional<double> logit;
  if (value.item) logit = row.logits.at(*value.item);
  if (logit && !std::isfinite(*logit)) return not_covered("a masked item is no item of its rows");
  if (!is_promised(subject, row, logit ? row.logits.size() : 1, value.item.value_or(0))) {
    return not_covered("something may overflow, of which its theorems know nothing");
  }
  try {
    JudgeNumbers numbers = judge_numbers(subject.contract, row.logits, row.theta);
    if (value.got != 0) numbers.result_loss -= numerics::flushing_excess(subject.contract);  // exact: no rounding
    const std::string contract = judge_contract_line(numbers);
    for (const unsigned bits : precisions) {
      const std::string question = contract + "\n" + judge_row_line(row.logits, row.theta, bits) + "\n" +
                                   judge_value_line(subject.op, logit, value.got) + "\n";
      const std::vector<bool> answers = judge.ask(question);
      if (answers.size() != 1)
        return not_covered("it gave " + std::to_string(answers.size()) + " answers to one question");
      if (answers[0]) return {Certification::Outcome::proved, "proved by the extracted judge"};
    }
  } catch (const JudgeUnavailable& error) {
    return not_covered(error.what());
  }
  // The theorems do not cover rules without a threshold, such as the sign of a zero.
  if (value.by_rule) return not_covered("the value lies within its threshold, and breaks a rule of another kind");
  return {Certification::Outcome::disagrees,
          "DISAGREEMENT: this judge says fail, the extracted judge does not say violated"};
}

CertificationSummary certify_failures(const KernelSubject& subject, const ExtractedJudge& judge,
                                      KernelJudgement& judgement) {
  CertificationSummary summary;
  std::map<std::string, Certification> known;
  const auto certify = [&](Certificate& certificate) {
    if (certificate.verdict != numerics::Verdict::violated) return;
    const KernelEvidence* evidence = evidence_of(certificate);
    const std::string key = certificate.claim + "\n" + certificate.witness;
    auto place = known.find(key);
    if (place == known.end()) {
      place = known.emplace(key, certified(subject, judge, certificate)).first;
      ++(place->second.outcome == Certification::Outcome::proved        ? summary.proved
         : place->second.outcome == Certification::Outcome::not_covered ? summary.not_covered
                                                                        : summary.disagreements);
    }
    if (evidence == nullptr) return;
    KernelEvidence noted = *evidence;
    noted.certification = place->second;
    certificate.evidence = std::make_shared<const KernelEvidence>(std::move(noted));
  };
  for (PropertyFinding& property : judgement.properties) {
    if (!property.outcome.counterexample) continue;
    for (Certificate& failed : property.outcome.counterexample->failed) certify(failed);
  }
  return summary;
}

std::string CertificationSummary::text() const {
  const auto of = [](std::size_t count, const char* what) { return std::to_string(count) + what; };
  std::string text = disagreements == 0 ? "" : of(disagreements, " in DISAGREEMENT with the extracted judge, ");
  if (proved + not_covered + disagreements == 0) return "nothing to certify: no claim failed";
  return text + of(proved, " proved by the extracted judge, ") + of(not_covered, " not covered by it");
}

}  // namespace softcheck::proptests
