#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include "proptests/judge/kernel_judge.hpp"

namespace softcheck::proptests {
namespace {

using numerics::properties;

std::string subject_name(const KernelSubject& subject) {
  return std::filesystem::path(subject.source.library).filename().string() + ":" + subject.source.symbol + " " +
         std::string(to_string(subject.op)) + " " + std::string(properties(subject.contract.input).name) + " [" +
         numerics::to_string(subject.contract) + "]";
}

std::string replay_line(const KernelSubject& subject, const KernelJudgement& judgement) {
  std::string required;
  if (subject.required.deterministic) required += "deterministic";
  if (subject.required.batch_invariant) required += required.empty() ? "batch-invariant" : ",batch-invariant";
  if (!required.empty()) required = " --require " + required;
  return "replay: softcheck kernel '" + subject.source.library + ":" + subject.source.symbol + "' --op " +
         std::string(to_string(subject.op)) + " --dtype " + std::string(properties(subject.contract.input).name) +
         " --contract '" + numerics::to_string(subject.contract) + "'" + required + " --replay '" +
         judgement.failed_property + " " + judgement.counterexample->case_text + "'";
}

std::string times_threshold(double slack) {
  if (!std::isfinite(slack)) return "";
  char text[40];
  std::snprintf(text, sizeof text, " (%.3g times the threshold)", slack);
  return text;
}

std::vector<std::string> story_of(const KernelSubject& subject, const KernelJudgement& judgement) {
  const Counterexample& found = *judgement.counterexample;
  std::vector<std::string> story;
  story.push_back(judgement.failed_property + " fails on " + std::to_string(found.size) +
                  (found.size == 1 ? " logit" : " logits"));
  if (!found.error.empty()) story.push_back("the judge could not go on: " + found.error);
  for (const numerics::Certificate& certificate : found.failed) {
    story.push_back(certificate.claim + ": " + certificate.left.to_string() + " " +
                    numerics::to_string(certificate.relation) + " " + certificate.right.to_string() + " is " +
                    numerics::to_string(certificate.verdict) + times_threshold(certificate.slack));
    story.push_back("  " + certificate.witness);
  }
  story.push_back(replay_line(subject, judgement));
  return story;
}

}  // namespace

std::vector<ReportRow> rows_of(const KernelSubject& subject, const KernelJudgement& judgement) {
  std::map<std::string, ReportRow> by_claim;
  const std::string name = subject_name(subject);
  for (const auto& [property, outcome] : judgement.properties) {
    for (const auto& [claim, summary] : outcome.claims) {
      if (summary.decided + summary.undecided == 0) continue;
      ReportRow& row = by_claim[claim];
      row.claim = claim;
      row.subject = name;
      row.cases += summary.decided;
      row.slack = std::fmax(row.slack, summary.tightest_slack);
      row.seconds += outcome.seconds / static_cast<double>(outcome.claims.size());
      row.verdict = ReportVerdict::pass;
    }
  }
  bool blamed = false;
  if (judgement.counterexample) {
    for (const numerics::Certificate& certificate : judgement.counterexample->failed) {
      ReportRow& row = by_claim[certificate.claim];
      row.claim = certificate.claim;
      row.subject = name;
      row.verdict = judgement.verdict;
      row.failed.push_back(certificate);
      if (!blamed) row.details = story_of(subject, judgement);
      blamed = true;
    }
  }
  std::vector<ReportRow> rows;
  for (auto& [claim, row] : by_claim) rows.push_back(std::move(row));
  ReportRow whole;
  whole.claim = "kernel.verdict";
  whole.subject = name;
  whole.cases = judgement.calls - judgement.refused;
  whole.verdict = judgement.verdict;
  whole.seconds = judgement.seconds;
  whole.details = judgement.notes;
  if (!blamed && judgement.counterexample) whole.details = story_of(subject, judgement);
  if (judgement.printed_bytes > 0) {
    whole.details.push_back("the kernel printed " + std::to_string(judgement.printed_bytes) +
                            " bytes, which prove nothing");
  }
  rows.push_back(std::move(whole));
  return rows;
}

}  // namespace softcheck::proptests
