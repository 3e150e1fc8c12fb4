#include "judge/report/kernel_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "judge/call/evidence.hpp"
#include "judge/trial/command_line.hpp"
#include "judge/trial/kernel_claims.hpp"
#include "judge/trial/plainest_case.hpp"
#include "judge/verdict/certificate_text.hpp"
#include "judge/verdict/value_tally.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Certificate;
using numerics::properties;

std::string subject_name(const KernelSubject& subject) {
  const std::string library = subject.source.callable || subject.source.forwarded
                                  ? ""
                                  : std::filesystem::path(subject.source.library).filename().string() + ":";
  const numerics::Format input = subject.contract.input, output = subject.contract.output;
  return library + subject.source.symbol + " " + std::string(to_string(subject.op)) + " " +
         std::string(properties(input).name) +
         (output == output_format(subject.op, input) ? "" : " -> " + std::string(properties(output).name)) + " [" +
         numerics::to_string(subject.contract) + "]" +
         (subject.domain.everything() ? "" : " on " + to_string(subject.domain));
}

std::string logits(std::size_t count) { return std::to_string(count) + (count == 1 ? " logit" : " logits"); }

// What came of it, on one line.
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

const Certificate* first_of(const Counterexample& found, const std::string& claim) {
  const auto place = std::ranges::find(found.failed, claim, &Certificate::claim);
  return place == found.failed.end() ? nullptr : &*place;
}

// What is small enough to be told by the first property, which asks the least: a smaller case of a later one is no
// simpler.
constexpr std::size_t few_logits = 8;

// The property by which a failure is told: the first one that fails on few logits, else the one of the smallest case.
template <class Fails>
const PropertyFinding* simplest(const KernelJudgement& judgement, Fails&& fails) {
  const PropertyFinding *smallest = nullptr, *alone = nullptr;
  for (const PropertyFinding& property : judgement.properties) {
    const auto& found = property.outcome.counterexample;
    if (!found || !fails(property)) continue;
    // A call that fails alone says nothing against the property that made it.
    if (fails_alone(*found)) {
      if (alone == nullptr) alone = &property;
      continue;
    }
    if (found->size <= few_logits) return &property;
    if (smallest == nullptr || found->size < smallest->outcome.counterexample->size) smallest = &property;
  }
  return smallest != nullptr ? smallest : alone;
}

// The row that failed; the whole case where it is no row.
std::string asked_row(const Certificate& certificate) {
  const KernelEvidence* evidence = evidence_of(certificate);
  if (evidence == nullptr) return certificate.witness;
  return evidence->asked.row_text.empty() ? evidence->asked.case_text : evidence->asked.row_text;
}

// "also fails: NAME on 3 logits, NAME on 1 logit, and 2 properties more"; empty where no other row fails. A property is
// left out whose smallest row was named before: it found the same row, and its mask or neighbour has no part in that.
std::string other_failures(const KernelJudgement& judgement, const std::string& claim, const PropertyFinding& told) {
  constexpr std::size_t most_named = 3;
  std::set<std::string> rows{asked_row(*first_of(*told.outcome.counterexample, claim))};
  std::string names;
  std::size_t count = 0;
  for (const PropertyFinding& other : judgement.properties) {
    const auto& failed = other.outcome.counterexample;
    const Certificate* broken = &other == &told || !failed ? nullptr : first_of(*failed, claim);
    if (broken == nullptr || fails_alone(*failed) || !rows.insert(asked_row(*broken)).second || ++count > most_named)
      continue;
    names += (names.empty() ? "" : ", ") + other.name + " on " + logits(failed->size);
  }
  if (names.empty()) return names;
  const std::size_t left = count - std::min(count, most_named);
  return "also fails: " + names +
         (left == 0 ? "" : ", and " + std::to_string(left) + (left == 1 ? " property more" : " properties more"));
}

// Why a claim failed: its smallest row, what was expected and got, and one command; the other properties by name. A
// case that an earlier claim told of is not told again.
//
// slack   the largest of the claim, of any case
std::vector<std::string> story_of(const KernelSubject& subject, const KernelJudgement& judgement,
                                  const std::string& claim, double slack, std::set<std::string>& reported_case_texts) {
  const PropertyFinding* property = simplest(judgement, [&](const PropertyFinding& candidate) {
    return first_of(*candidate.outcome.counterexample, claim) != nullptr;
  });
  if (property == nullptr) return {};
  const Counterexample& found = *property->outcome.counterexample;
  const std::string one_case = property->name + " " + found.case_text;
  if (!reported_case_texts.insert(one_case).second) {
    return {"in the same case: " + one_line(*first_of(found, claim)), "replay: as above"};
  }
  std::vector<std::string> story{
      property->name + (fails_alone(found) ? " made a call that fails alone, too" : " fails on " + logits(found.size))};
  for (const std::string& line : proptests::told(*first_of(found, claim))) story.push_back("  " + line);
  if (std::isinf(slack) && std::isfinite(first_of(found, claim)->slack)) {
    story.push_back("slack inf is of another case: one with a NaN, an infinity or a value that has to be exact");
  }
  const std::string others = other_failures(judgement, claim, *property);
  if (!others.empty()) story.push_back(others);
  story.push_back("replay: " + command_line(subject, one_case));
  return story;
}

// A property that failed by no claim: the judge itself could not go on.
std::vector<std::string> troubles_of(const KernelSubject& subject, const KernelJudgement& judgement) {
  std::vector<std::string> lines;
  for (const PropertyFinding& property : judgement.properties) {
    const auto& found = property.outcome.counterexample;
    if (!found || found->error.empty()) continue;
    lines.push_back(property.name + " on " + logits(found->size) + ": the judge could not go on: " + found->error);
    lines.push_back("replay: " + command_line(subject, property.name + " " + found->case_text));
  }
  return lines;
}

// The drawn case breaks this claim, but the smaller case that the report shows breaks only other claims.
bool broken_before_shrinking(const PropertyFinding& property, const std::string& claim) {
  const Outcome& outcome = property.outcome;
  const auto summary = outcome.claims.find(claim);
  return outcome.counterexample && first_of(*outcome.counterexample, claim) == nullptr &&
         summary != outcome.claims.end() && summary->second.tightest_slack > 1;
}

// Why a claim failed that no property's smallest case breaks.
std::vector<std::string> story_of_larger_case(const KernelSubject& subject, const KernelJudgement& judgement,
                                              const std::string& claim) {
  constexpr std::size_t longest = 2000;  // characters of a line that a reader may want to copy
  for (const PropertyFinding& property : judgement.properties) {
    if (!broken_before_shrinking(property, claim)) continue;
    const std::string& drawn = property.outcome.counterexample->first_text;
    std::vector<std::string> story{property.name + " fails on a larger case, which shrank to one of another claim"};
    if (drawn.size() <= longest) story.push_back("replay: " + command_line(subject, property.name + " " + drawn));
    return story;
  }
  return {};
}

// Does a claim's story show what its call printed?
bool shows_printed(const ReportRow& row) {
  return std::ranges::any_of(row.details, [](const std::string& detail) { return detail.starts_with("    | "); });
}

// What all properties together decided of each claim.
std::map<std::string, ReportRow> rows_by_claim(const KernelJudgement& judgement, const numerics::Contract& contract) {
  std::map<std::string, ReportRow> rows;
  const auto row_of = [&](const std::string& claim) -> ReportRow& {
    const auto [place, added] = rows.try_emplace(claim);
    if (added) place->second.verdict = ReportVerdict::pass;
    return place->second;
  };
  for (const PropertyFinding& property : judgement.properties) {
    const Outcome& outcome = property.outcome;
    for (const auto& [claim, summary] : outcome.claims) {
      if (summary.decided + summary.undecided == 0) continue;
      ReportRow& row = row_of(claim);
      row.cases += summary.decided;
      row.slack = std::fmax(row.slack, summary.tightest_slack);
      row.seconds += outcome.seconds / static_cast<double>(outcome.claims.size());
      if (broken_before_shrinking(property, claim)) row.verdict = std::min(row.verdict, property.verdict);
    }
    if (!outcome.counterexample) continue;
    for (const Certificate& certificate : outcome.counterexample->failed) {
      ReportRow& row = row_of(certificate.claim);
      row.verdict = std::min(row.verdict, property.verdict);
      row.failed.push_back(certificate);
    }
  }
  for (const auto& [claim, errors] : judgement.errors) row_of(claim).errors = in_reported_ulps(errors, contract);
  return rows;
}

}  // namespace

std::string inference_hint(const KernelSubject& subject, const KernelJudgement& judgement) {
  const std::vector<std::string> values = value_claims(subject.op);
  const auto may_be_allowed = [&](const Certificate& certificate) {
    const bool is_value = std::ranges::find(values, certificate.claim) != values.end();
    return (is_value && std::isfinite(certificate.slack)) || certificate.claim == "kernel.masked_row";
  };
  std::size_t failed = 0;
  for (const PropertyFinding& property : judgement.properties) {
    if (!property.outcome.counterexample) continue;
    const Counterexample& found = *property.outcome.counterexample;
    if (!found.error.empty() || !std::ranges::all_of(found.failed, may_be_allowed)) return "";
    failed += found.failed.size();
  }
  if (failed == 0 || judgement.verdict != ReportVerdict::fail) return "";
  KernelSubject plain = subject;
  plain.contract = numerics::default_contract(subject.contract.input, subject.contract.output);
  const std::string command = command_of_inference(plain);
  if (command.empty()) return "";
  return "another contract may fit: " + command + " looks for one";
}

std::string summary_of(const KernelJudgement& judgement) {
  const std::string verdict = to_string(judgement.verdict);
  const PropertyFinding* property = simplest(judgement, [&](const PropertyFinding& candidate) {
    return candidate.verdict == judgement.verdict && !candidate.outcome.counterexample->failed.empty();
  });
  if (property == nullptr) return judgement.ended_early.empty() ? verdict : verdict + ": " + judgement.ended_early;
  const Counterexample& found = *property->outcome.counterexample;
  const Certificate& failed = found.failed.front();
  const std::string times = times_threshold(failed.slack);
  return verdict + ": " + failed.claim + " does not hold on " + logits(found.size) +
         (times.empty() ? "" : ", " + times);
}

std::vector<ReportRow> rows_of(const KernelSubject& subject, const KernelJudgement& judgement) {
  const std::string name = subject_name(subject);
  std::vector<ReportRow> rows;
  std::set<std::string> reported_case_texts;
  for (auto& [claim, row] : rows_by_claim(judgement, subject.contract)) {
    row.claim = claim;
    row.subject = name;
    row.details = row.failed.empty() ? story_of_larger_case(subject, judgement, claim)
                                     : story_of(subject, judgement, claim, row.slack, reported_case_texts);
    rows.push_back(std::move(row));
  }
  ReportRow whole;
  whole.claim = "kernel.verdict";
  whole.subject = name;
  whole.cases = judgement.calls - judgement.refused;
  whole.verdict = judgement.verdict;
  whole.seconds = judgement.seconds;
  whole.details = troubles_of(subject, judgement);
  const std::string narrow = narrow_accumulator(subject.contract);
  if (!narrow.empty()) whole.details.push_back(narrow);
  for (const std::string& claim : subject.exempt) whole.details.push_back("exempt, and so not judged: " + claim);
  whole.details.insert(whole.details.end(), judgement.notes.begin(), judgement.notes.end());
  whole.not_tried = judgement.not_tried;
  whole.coverage = judgement.coverage.entries();
  if (!judgement.ended_early.empty()) {
    whole.details.insert(whole.details.begin(), "a partial report: " + judgement.ended_early);
  }
  if (!judgement.isolation.empty()) whole.details.push_back("isolation: " + judgement.isolation);
  if (judgement.printed_bytes > 0) {
    // A function that fails often prints the same each time: what the shown call printed is enough.
    const bool shown = std::ranges::any_of(rows, shows_printed);
    const std::vector<std::string> lines = shown ? std::vector<std::string>{} : judgement.printed_lines;
    whole.details.push_back("the kernel printed " + std::to_string(judgement.printed_bytes) +
                            " bytes, which prove nothing" +
                            (shown           ? "; those of a call that failed stand above"
                             : lines.empty() ? ""
                                             : "; the last lines:"));
    for (const std::string& line : lines) whole.details.push_back("  | " + line);
  }
  rows.push_back(std::move(whole));
  return rows;
}

}  // namespace softcheck::proptests
