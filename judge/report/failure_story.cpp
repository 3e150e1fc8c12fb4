#include "judge/report/failure_story.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "judge/call/evidence.hpp"
#include "judge/trial/command_line.hpp"
#include "judge/trial/plainest_case.hpp"
#include "judge/verdict/certificate_text.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Certificate;

// Below this size prefer the earlier property, which has the fewest conditions, even if a later one has a smaller case.
constexpr std::size_t few_logits = 8;

// Stands among the reported cases once a claim has shown a value that was never written.
constexpr const char* unwritten = "unwritten";

const Certificate* first_of(const Counterexample& found, const std::string& claim) {
  const auto place = std::ranges::find(found.failed, claim, &Certificate::claim);
  return place == found.failed.end() ? nullptr : &*place;
}

bool is_simpler(const FailureCause& a, const FailureCause& b) {
  const Counterexample &of_a = *a.property->outcome.counterexample, &of_b = *b.property->outcome.counterexample;
  // The failure of a call that also fails alone does not depend on what its property changes.
  if (fails_alone(of_a) != fails_alone(of_b)) return fails_alone(of_b);
  return of_b.size > few_logits && of_a.size < of_b.size;
}

// Kinds of failures that usually have one cause: an overflow gives NaN in one row and an infinity in another, and
// errors grow with the row's length.
WrongValue gravest_alike(WrongValue kind) {
  if (kind == WrongValue::infinite) return WrongValue::nan;
  return kind == WrongValue::inexact ? WrongValue::wrong : kind;
}

// Adds a failure, or merges it with an alike cause: keeps the graver kind, and the simpler case.
void add(const FailureCause& failure, std::vector<FailureCause>& causes) {
  const auto found = std::ranges::find(causes, gravest_alike(failure.kind),
                                       [](const FailureCause& cause) { return gravest_alike(cause.kind); });
  if (found == causes.end()) {
    causes.push_back(failure);
  } else if (failure.kind < found->kind || (failure.kind == found->kind && is_simpler(failure, *found))) {
    *found = failure;
  }
}

// If calls without a hidden NaN return NaN, too, a hidden NaN is no separate cause.
void merge_nans(std::vector<FailureCause>& causes) {
  if (std::ranges::find(causes, WrongValue::nan, &FailureCause::kind) == causes.end()) return;
  std::erase_if(causes, [](const FailureCause& cause) { return cause.kind == WrongValue::hidden_nan; });
}

bool is_of_cause(WrongValue kind, const FailureCause& cause) {
  return gravest_alike(kind) == gravest_alike(cause.kind) ||
         (kind == WrongValue::hidden_nan && cause.kind == WrongValue::nan);
}

// The failure in one line.
std::string one_line(const Certificate& certificate) {
  const KernelEvidence* evidence = evidence_of(certificate);
  if (evidence == nullptr) return certificate.witness;
  if (evidence->ending) return "ended by " + evidence->ending->death;
  if (!evidence->value) return "does not hold either" + evidence->asked.remark;
  std::string result;
  for (const auto& [name, text] : value_lines(*evidence->value, certificate)) {
    result += (result.empty() ? "" : ", ") + name + " " + text;
  }
  return result;
}

// The failing row; the whole case if the evidence names no row.
std::string failing_row(const Certificate& certificate) {
  const KernelEvidence* evidence = evidence_of(certificate);
  if (evidence == nullptr) return certificate.witness;
  return evidence->asked.row_text.empty() ? evidence->asked.case_text : evidence->asked.row_text;
}

// "also fails: NAME on 3 logits, NAME on 1 logit, and 2 properties more": other properties that fail by the same cause
// on another row; empty if there are none. A property whose smallest failing row was already named is skipped: its mask
// or neighbours do not matter.
std::string other_failures(const KernelJudgement& judgement, const std::string& claim, const FailureCause& cause) {
  constexpr std::size_t most_named = 3;
  std::set<std::string> rows{failing_row(*cause.failed)};  // failing rows and property names already used
  std::string names;
  std::size_t count = 0;
  for (const PropertyFinding& other : judgement.properties) {
    const auto& failed = other.outcome.counterexample;
    const Certificate* broken = &other == cause.property || !failed ? nullptr : first_of(*failed, claim);
    if (broken == nullptr || fails_alone(*failed) || !is_of_cause(kind_of(*broken), cause)) continue;
    if (other.name == cause.property->name || !rows.insert(failing_row(*broken)).second) continue;
    // Default effort lists a property twice: as quick effort draws it, and with its own cases.
    if (!rows.insert(other.name).second || ++count > most_named) continue;
    names += (names.empty() ? "" : ", ") + other.name + " on " + logits_text(failed->size);
  }
  if (names.empty()) return names;
  const std::size_t left = count - std::min(count, most_named);
  return "also fails: " + names +
         (left == 0 ? "" : ", and " + std::to_string(left) + (left == 1 ? " property more" : " properties more"));
}

}  // namespace

std::string logits_text(std::size_t count) {
  if (count == 0) return "an empty call";
  return std::to_string(count) + (count == 1 ? " logit" : " logits");
}

std::vector<FailureCause> causes_of(const KernelJudgement& judgement, const std::string& claim) {
  std::vector<FailureCause> causes;
  for (const PropertyFinding& property : judgement.properties) {
    const auto& found = property.outcome.counterexample;
    const Certificate* const failed = found ? first_of(*found, claim) : nullptr;
    if (failed != nullptr) add({kind_of(*failed), &property, failed}, causes);
  }
  merge_nans(causes);
  std::ranges::sort(causes, {}, &FailureCause::kind);
  return causes;
}

FailureCause gravest_cause(const KernelJudgement& judgement) {
  std::vector<FailureCause> causes;
  for (const PropertyFinding& property : judgement.properties) {
    const auto& found = property.outcome.counterexample;
    if (!found || property.verdict != judgement.verdict) continue;
    for (const Certificate& failed : found->failed) add({kind_of(failed), &property, &failed}, causes);
  }
  return causes.empty() ? FailureCause{} : *std::ranges::min_element(causes, {}, &FailureCause::kind);
}

std::vector<std::string> story_of(const KernelSubject& subject, const KernelJudgement& judgement,
                                  const std::string& claim, double slack, std::set<std::string>& reported_case_texts) {
  std::vector<std::string> story;
  const std::vector<FailureCause> causes = causes_of(judgement, claim);
  for (const FailureCause& cause : causes) {
    const Counterexample& found = *cause.property->outcome.counterexample;
    const std::string one_case = cause.property->name + " " + found.case_text;
    if (!reported_case_texts.insert(one_case).second) {
      story.push_back("in the same case: " + one_line(*cause.failed));
      if (&cause == &causes.back()) story.emplace_back("replay: as above");
      continue;
    }
    const bool is_unwritten = cause.kind == WrongValue::unwritten;
    if (is_unwritten && !reported_case_texts.insert(unwritten).second) {
      story.push_back("the same cause: " + cause.property->name + " on " + logits_text(found.size) + ", got " +
                      number_text(evidence_of(*cause.failed)->value->got));
      story.push_back("replay: " + command_line(subject, one_case));
      continue;
    }
    if (std::string why = cause_of(subject, *cause.failed); !why.empty()) story.push_back(std::move(why));
    story.push_back(cause.property->name + (fails_alone(found) ? " made a call that fails alone, too"
                                                               : " fails on " + logits_text(found.size)));
    for (const std::string& line : proptests::failure_lines(*cause.failed)) story.push_back("  " + line);
    if (causes.size() == 1 && std::isinf(slack) && std::isfinite(cause.failed->slack)) {
      story.emplace_back("slack inf is of another case: one with a NaN, an infinity or a value that has to be exact");
    }
    const std::string others = other_failures(judgement, claim, cause);
    if (!others.empty()) story.push_back(others);
    story.push_back("replay: " + command_line(subject, one_case));
  }
  return story;
}

}  // namespace softcheck::proptests
