#include "judge/report/kernel_report.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "judge/call/evidence.hpp"
#include "judge/report/failure_story.hpp"
#include "judge/trial/command_line.hpp"
#include "judge/trial/kernel_claims.hpp"
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

// Lines about properties that failed without a broken claim: the judge itself could not continue.
std::vector<std::string> troubles_of(const KernelSubject& subject, const KernelJudgement& judgement) {
  std::vector<std::string> lines;
  for (const PropertyFinding& property : judgement.properties) {
    const auto& found = property.outcome.counterexample;
    if (!found || found->error.empty()) continue;
    lines.push_back(property.name + " on " + logits_text(found->size) + ": the judge could not go on: " + found->error);
    lines.push_back("replay: " + command_line(subject, property.name + " " + found->case_text));
  }
  return lines;
}

// Did the drawn case break this claim, while the shrunk case that the report shows breaks only other claims?
bool broken_before_shrinking(const PropertyFinding& property, const std::string& claim) {
  const Outcome& outcome = property.outcome;
  const auto summary = outcome.claims.find(claim);
  return outcome.counterexample &&
         std::ranges::count(outcome.counterexample->failed, claim, &Certificate::claim) == 0 &&
         summary != outcome.claims.end() && summary->second.tightest_slack > 1;
}

// The lines about a failed claim that no property's shrunk case breaks.
std::vector<std::string> story_of_larger_case(const KernelSubject& subject, const KernelJudgement& judgement,
                                              const std::string& claim) {
  constexpr std::size_t longest = 2000;  // characters; longer lines are hard to copy
  for (const PropertyFinding& property : judgement.properties) {
    if (!broken_before_shrinking(property, claim)) continue;
    const std::string& drawn = property.outcome.counterexample->first_text;
    std::vector<std::string> story{property.name + " fails on a larger case, which shrank to one of another claim"};
    if (drawn.size() <= longest) story.push_back("replay: " + command_line(subject, property.name + " " + drawn));
    return story;
  }
  return {};
}

// Does the claim's story show the call's output?
bool shows_printed(const ReportRow& row) {
  return std::ranges::any_of(row.details, [](const std::string& detail) { return detail.starts_with("    | "); });
}

// The verdict of one failed claim: a property's case may crash in one call, and return a wrong value in another.
ReportVerdict verdict_of_failure(const Certificate& failed, const PropertyFinding& property) {
  const KernelEvidence* evidence = evidence_of(failed);
  if (evidence == nullptr || !evidence->ending) return property.verdict;
  switch (evidence->ending->end) {
    case CallEnd::crashed:
      return ReportVerdict::crash;
    case CallEnd::timed_out:
      return ReportVerdict::timeout;
    default:
      return property.verdict;
  }
}

// The result per claim over all properties.
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
      row.verdict = std::min(row.verdict, verdict_of_failure(certificate, property));
      row.failed.push_back(certificate);
    }
  }
  for (const auto& [claim, errors] : judgement.errors) row_of(claim).errors = in_reported_ulps(errors, contract);
  return rows;
}

constexpr int first_passing = 100, last_place = 200;

// Sorts failures above passes: the gravest first, of equal ones those of values.
int place_of(const ReportRow& row, const KernelJudgement& judgement) {
  if (row.verdict == ReportVerdict::pass) return first_passing + (row.errors ? 0 : 1);
  const std::vector<FailureCause> causes = causes_of(judgement, row.claim);
  const WrongValue kind = causes.empty() ? WrongValue::other : causes.front().kind;
  return 2 * static_cast<int>(kind) + (row.errors ? 0 : 1);
}

bool is_cause(const std::string& note) { return note.starts_with("cause: "); }

// One case may break several claims: the claim that comes first in the table shows it, the others refer to it.
void tell_failures(const KernelSubject& subject, const KernelJudgement& judgement, std::vector<ReportRow>& rows) {
  std::vector<ReportRow*> ordered;
  for (ReportRow& row : rows) ordered.push_back(&row);
  std::ranges::stable_sort(ordered, {}, &ReportRow::place);
  std::set<std::string> reported_case_texts;
  for (ReportRow* row : ordered) {
    row->details = row->failed.empty() ? story_of_larger_case(subject, judgement, row->claim)
                                       : story_of(subject, judgement, row->claim, row->slack, reported_case_texts);
  }
  // The causes that were found by other calls stand above the first wrong values that have none of their own.
  const auto first =
      std::ranges::find_if(ordered, [](const ReportRow* row) { return row->errors && !row->failed.empty(); });
  if (first == ordered.end()) return;
  std::vector<std::string>& details = (*first)->details;
  auto place = details.begin();
  for (auto line = details.begin(); line != details.end(); ++line) {
    if (!line->starts_with("Kernel.") || (line != details.begin() && is_cause(*std::prev(line)))) continue;
    place = line;
    break;
  }
  std::ranges::copy_if(judgement.notes, std::inserter(details, place), is_cause);
}

}  // namespace

std::string inference_hint(const KernelSubject& subject, const KernelJudgement& judgement) {
  const std::vector<std::string> values = value_claims(subject.op);
  if (std::ranges::any_of(judgement.notes, is_cause)) {
    return "";
  }
  // No contract allows a NaN, an infinity or a 0 in place of a number, nor an error of so many thresholds: bf16 is the
  // narrowest accumulator, and exp=64ulp the widest exponential.
  const auto unit = [](numerics::Format format) { return numerics::properties(format).unit_roundoff; };
  const double most = std::fmax(256, 4 * unit(numerics::Format::bf16) / unit(subject.contract.accumulator));
  std::size_t failed = 0;
  for (const PropertyFinding& property : judgement.properties) {
    if (!property.outcome.counterexample) continue;
    const Counterexample& found = *property.outcome.counterexample;
    if (!found.error.empty()) return "";
    for (const Certificate& certificate : found.failed) {
      const bool is_value = std::ranges::find(values, certificate.claim) != values.end();
      const bool is_grave = !(certificate.slack < most) || kind_of(certificate) < WrongValue::wrong ||
                            (is_value && !cause_of(subject, certificate).empty());
      if (is_value ? is_grave : certificate.claim != "kernel.masked_row") return "";
      failed += is_value ? 1 : 0;
    }
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
  const FailureCause cause = gravest_cause(judgement);
  if (cause.property == nullptr)
    return judgement.ended_early.empty() ? verdict : verdict + ": " + judgement.ended_early;
  const std::string times = times_threshold(cause.failed->slack);
  std::string what = times.empty() ? "" : ", " + times;
  const KernelEvidence* evidence = evidence_of(*cause.failed);
  if (evidence != nullptr && evidence->value && (times.empty() || cause.kind < WrongValue::wrong)) {
    what = ", got " + number_text(evidence->value->got);
  }
  return verdict + ": " + cause.failed->claim + " does not hold on " +
         logits_text(cause.property->outcome.counterexample->size) + what;
}

std::vector<ReportRow> rows_of(const KernelSubject& subject, const KernelJudgement& judgement) {
  const std::string name = subject_name(subject);
  std::vector<ReportRow> rows;
  for (auto& [claim, row] : rows_by_claim(judgement, subject.contract)) {
    row.claim = claim;
    row.subject = name;
    row.place = place_of(row, judgement);
    rows.push_back(std::move(row));
  }
  tell_failures(subject, judgement, rows);
  ReportRow whole;
  whole.claim = "kernel.verdict";
  whole.place = last_place;
  whole.subject = name;
  whole.cases = judgement.calls - judgement.refused;
  whole.verdict = judgement.verdict;
  whole.seconds = judgement.seconds;
  whole.details = troubles_of(subject, judgement);
  const std::string narrow = narrow_accumulator(subject.contract);
  if (!narrow.empty()) whole.details.push_back(narrow);
  for (const std::string& claim : subject.exempt) whole.details.push_back("exempt, and so not judged: " + claim);
  const auto is_told = [&](const std::string& note) {
    return std::ranges::any_of(rows, [&](const ReportRow& row) { return std::ranges::count(row.details, note) > 0; });
  };
  // A failing function often prints the same for each call: show the output of the shown call only.
  const bool shows_output = std::ranges::any_of(rows, shows_printed);
  whole.verbose = judgement.refusals;
  for (const std::string& note : judgement.notes) {
    if (is_cause(note) && is_told(note)) continue;
    const bool is_of_a_pass = judgement.verdict == ReportVerdict::fail && note.starts_with("largest called: ");
    const bool is_shown = shows_output && note.starts_with("first printed something ");
    (is_of_a_pass || is_shown ? whole.verbose : whole.details).push_back(note);
  }
  whole.not_tried = judgement.not_tried;
  whole.coverage = judgement.coverage.entries();
  if (!judgement.ended_early.empty()) {
    whole.details.insert(whole.details.begin(), "a partial report: " + judgement.ended_early);
  }
  // Every report must say that a function of the judge's own process is not isolated.
  std::vector<std::string>& lines_of_isolation = subject.source.forwarded ? whole.details : whole.verbose;
  if (!judgement.isolation.empty()) lines_of_isolation.push_back("isolation: " + judgement.isolation);
  if (judgement.printed_bytes > 0) {
    const std::string bytes = "the kernel printed " + std::to_string(judgement.printed_bytes) + " bytes";
    const std::vector<std::string>& lines = judgement.printed_lines;
    (shows_output ? whole.verbose : whole.details).push_back(bytes + (lines.empty() ? "" : "; the last lines:"));
    for (const std::string& line : lines) (shows_output ? whole.verbose : whole.details).push_back("  | " + line);
  }
  rows.push_back(std::move(whole));
  return rows;
}

}  // namespace softcheck::proptests
