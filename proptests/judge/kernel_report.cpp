#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "proptests/judge/kernel_judge.hpp"

namespace softcheck::proptests {
namespace {

using numerics::properties;

std::string subject_name(const KernelSubject& subject) {
  return std::filesystem::path(subject.source.library).filename().string() + ":" + subject.source.symbol + " " +
         std::string(to_string(subject.op)) + " " + std::string(properties(subject.contract.input).name) + " [" +
         numerics::to_string(subject.contract) + "]";
}

std::string replay_line(const KernelSubject& subject, const std::string& property, const std::string& case_text) {
  std::string required;
  if (subject.required.deterministic) required += "deterministic";
  if (subject.required.batch_invariant) required += required.empty() ? "batch-invariant" : ",batch-invariant";
  if (!required.empty()) required = " --require " + required;
  return "replay: softcheck kernel '" + subject.source.library + ":" + subject.source.symbol + "' --op " +
         std::string(to_string(subject.op)) + " --dtype " + std::string(properties(subject.contract.input).name) +
         " --contract '" + numerics::to_string(subject.contract) + "'" + required + " --replay '" + property + " " +
         case_text + "'";
}

std::string times_threshold(double slack) {
  if (!std::isfinite(slack)) return "";
  char text[40];
  std::snprintf(text, sizeof text, " (%.3g times the threshold)", slack);
  return text;
}

std::vector<std::string> story_of(const KernelSubject& subject, const PropertyFinding& property) {
  const Counterexample& found = *property.outcome.counterexample;
  std::vector<std::string> story;
  story.push_back(property.name + " fails on " + std::to_string(found.size) + (found.size == 1 ? " logit" : " logits"));
  if (!found.error.empty()) story.push_back("the judge could not go on: " + found.error);
  std::set<std::string> told;
  for (const numerics::Certificate& certificate : found.failed) {
    if (!told.insert(certificate.claim).second) continue;  // one witness of each claim is enough
    story.push_back(certificate.claim + ": " + certificate.left.to_string() + " " +
                    numerics::to_string(certificate.relation) + " " + certificate.right.to_string() + " is " +
                    numerics::to_string(certificate.verdict) + times_threshold(certificate.slack));
    story.push_back("  " + certificate.witness);
  }
  story.push_back(replay_line(subject, property.name, found.case_text));
  return story;
}

// What the property decided of each claim, and the story of its failure with the first claim that failed; false where
// no claim carries it.
bool add_property(const KernelSubject& subject, const PropertyFinding& property,
                  std::map<std::string, ReportRow>& by_claim) {
  const Outcome& outcome = property.outcome;
  for (const auto& [claim, summary] : outcome.claims) {
    if (summary.decided + summary.undecided == 0) continue;
    const bool known = by_claim.contains(claim);
    ReportRow& row = by_claim[claim];
    if (!known) row.verdict = ReportVerdict::pass;
    row.cases += summary.decided;
    row.slack = std::fmax(row.slack, summary.tightest_slack);
    row.seconds += outcome.seconds / static_cast<double>(outcome.claims.size());
  }
  if (!outcome.counterexample) return true;
  bool told = false;
  for (const numerics::Certificate& certificate : outcome.counterexample->failed) {
    ReportRow& row = by_claim[certificate.claim];
    row.verdict = std::min(row.verdict, property.verdict);
    row.failed.push_back(certificate);
    if (told) continue;
    told = true;
    const std::vector<std::string> story = story_of(subject, property);
    // What fails a second time is named, and told by its replay.
    if (row.details.empty()) {
      row.details = story;
    } else {
      row.details.insert(row.details.end(), {story.front() + ", too", story.back()});
    }
  }
  return told;
}

}  // namespace

std::vector<ReportRow> rows_of(const KernelSubject& subject, const KernelJudgement& judgement) {
  std::map<std::string, ReportRow> by_claim;
  ReportRow whole;
  for (const PropertyFinding& property : judgement.properties) {
    if (!add_property(subject, property, by_claim)) whole.details = story_of(subject, property);
  }
  const std::string name = subject_name(subject);
  std::vector<ReportRow> rows;
  for (auto& [claim, row] : by_claim) {
    row.claim = claim;
    row.subject = name;
    rows.push_back(std::move(row));
  }
  whole.claim = "kernel.verdict";
  whole.subject = name;
  whole.cases = judgement.calls - judgement.refused;
  whole.verdict = judgement.verdict;
  whole.seconds = judgement.seconds;
  whole.details.insert(whole.details.end(), judgement.notes.begin(), judgement.notes.end());
  if (judgement.printed_bytes > 0) {
    whole.details.push_back("the kernel printed " + std::to_string(judgement.printed_bytes) +
                            " bytes, which prove nothing");
  }
  rows.push_back(std::move(whole));
  return rows;
}

}  // namespace softcheck::proptests
