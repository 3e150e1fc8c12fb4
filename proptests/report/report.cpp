#include "proptests/report/report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace softcheck::proptests {
namespace {

using numerics::Certificate;
using numerics::Verdict;

std::string format(const char* pattern, double value) {
  std::array<char, 64> buffer;
  std::snprintf(buffer.data(), buffer.size(), pattern, value);
  return buffer.data();
}

const char* colour_of(ReportVerdict verdict) {
  switch (verdict) {
    case ReportVerdict::pass:
      return "\033[32m";
    case ReportVerdict::refused:
    case ReportVerdict::undecided:
    case ReportVerdict::vacuous:
      return "\033[33m";
    default:
      return "\033[31m";
  }
}

std::string left(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string right(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

/// The cells of one line; its verdict may be coloured.
struct TableLine {
  std::string claim, cases, slack, worst, allowed, bias, verdict, seconds;

  std::string text(std::size_t width, bool with_errors) const {
    const std::string errors = with_errors ? right(worst, 11) + right(allowed, 11) + right(bias, 11) : "";
    return "  " + left(claim, width) + right(cases, 10) + right(slack, 12) + errors + "  " + verdict +
           right(seconds, 9) + "\n";
  }
};

std::string certificate_line(const Certificate& certificate) {
  return certificate.claim + ": " + certificate.left.to_string() + " " + numerics::to_string(certificate.relation) +
         " " + certificate.right.to_string() + " is " + numerics::to_string(certificate.verdict) + " at " +
         std::to_string(certificate.precision) + " bits";
}

std::vector<std::string> details_of(const Property& property, const Outcome& outcome) {
  std::vector<std::string> details;
  if (!outcome.note.empty()) details.push_back(outcome.note);
  if (!outcome.counterexample) return details;
  const Counterexample& found = *outcome.counterexample;
  if (!found.error.empty()) details.push_back("the check threw: " + found.error);
  constexpr std::size_t max_listed = 3;
  for (std::size_t i = 0; i < std::min(found.failed.size(), max_listed); ++i) {
    details.push_back(certificate_line(found.failed[i]));
  }
  details.push_back("case " + std::to_string(outcome.cases) + ", shrunk to size " + std::to_string(found.size) +
                    " by " + std::to_string(found.evaluations) + " evaluations");
  details.push_back("replay: softcheck test --filter " + property.name() + " --replay '" + found.case_text + "'");
  return details;
}

// 2^53 ulps exceed every format's value: no digit is correct, and the number means nothing.
std::string worst_ulps_text(double ulps) { return ulps > 0x1p53 ? "no digit" : format("%.4g", ulps); }

// Both zeros print as +0.
std::string bias_text(double ulps) { return std::fabs(ulps) > 0x1p53 ? "-" : format("%+.2g", ulps + 0.0); }

/// One line per dimension: its classes with the number of judged calls that had them, or the reason why none had.
std::string coverage_text(const std::vector<Coverage::Entry>& coverage) {
  std::string text;
  const std::string* dimension = nullptr;
  for (const Coverage::Entry& entry : coverage) {
    const bool first = dimension == nullptr || *dimension != entry.dimension;
    text += first ? std::string(dimension == nullptr ? "" : "\n") + "      covered: " + left(entry.dimension, 14) : ",";
    dimension = &entry.dimension;
    text += " " + entry.name + " (" + (entry.calls > 0 ? std::to_string(entry.calls) : "none") +
            (entry.reason.empty() ? "" : ": " + escaped_text(entry.reason)) + ")";
  }
  return text.empty() ? text : text + "\n";
}

// An attained bound has a slack of 1; an enclosure's upper end may make it slightly larger.
double attained(double slack) { return slack > 1 && slack_text(slack) == ">1" ? 1 : slack; }

bool says_no_more_than_pass(const ReportRow& row) {
  return row.place > 0 && row.verdict == ReportVerdict::pass && !row.errors && row.details.empty();
}

bool fails(const std::vector<ReportRow>& rows, const std::string& subject) {
  return std::any_of(rows.begin(), rows.end(), [&](const ReportRow& row) {
    return row.subject == subject && row.verdict != ReportVerdict::pass;
  });
}

// Sorts each subject's rows by place.
std::vector<const ReportRow*> in_places(const std::vector<ReportRow>& rows) {
  std::vector<const ReportRow*> ordered;
  for (const ReportRow& row : rows) ordered.push_back(&row);
  for (auto first = ordered.begin(); first != ordered.end();) {
    const auto end =
        std::find_if(first, ordered.end(), [&](const auto* row) { return row->subject != (*first)->subject; });
    std::stable_sort(first, end, [](const auto* a, const auto* b) { return a->place < b->place; });
    first = end;
  }
  return ordered;
}

}  // namespace

std::string slack_text(double slack) {
  if (std::isnan(slack)) return "-";
  if (slack == 0) return "0";                    // either zero
  if (slack > 1 && slack < 1.0005) return ">1";  // four digits would print 1
  if (!(std::fabs(slack) < 1 && slack > 0)) return format("%.4g", slack);
  const double unit = std::pow(10.0, std::floor(std::log10(slack)) - 3);
  const double upward = std::ceil(slack / unit) * unit;
  return upward >= 1 ? "<1" : format("%.4g", upward);
}

const char* to_string(ReportVerdict verdict) {
  static constexpr const char* names[] = {"fail", "crash", "timeout", "refused", "undecided", "vacuous", "pass"};
  return names[static_cast<std::size_t>(verdict)];
}

ReportVerdict report_verdict(Verdict verdict) {
  switch (verdict) {
    case Verdict::proved:
      return ReportVerdict::pass;
    case Verdict::violated:
      return ReportVerdict::fail;
    case Verdict::vacuous:
      return ReportVerdict::vacuous;
    case Verdict::undecided:
      break;
  }
  return ReportVerdict::undecided;
}

ReportVerdict Report::verdict() const {
  if (rows.empty()) return ReportVerdict::vacuous;
  return std::min_element(rows.begin(), rows.end(),
                          [](const ReportRow& a, const ReportRow& b) { return a.verdict < b.verdict; })
      ->verdict;
}

int exit_code(ReportVerdict verdict) {
  switch (verdict) {
    case ReportVerdict::pass:
      return 0;
    case ReportVerdict::fail:
      return 1;
    case ReportVerdict::refused:
      return 4;
    case ReportVerdict::undecided:
    case ReportVerdict::vacuous:
      return 5;
    case ReportVerdict::crash:
      return 6;
    case ReportVerdict::timeout:
      return 7;
  }
  return 1;
}

std::vector<ReportRow> rows_of(const std::vector<Certificate>& certificates, const std::string& subject,
                               double seconds) {
  std::vector<ReportRow> rows;
  std::vector<std::vector<Certificate>> by_row;
  for (const Certificate& certificate : certificates) {
    const auto found = std::ranges::find(rows, certificate.claim, &ReportRow::claim);
    const auto place = static_cast<std::size_t>(found - rows.begin());
    if (found == rows.end()) {
      ReportRow row;
      row.claim = certificate.claim;
      row.subject = subject;
      row.seconds = seconds;
      rows.push_back(std::move(row));
      by_row.emplace_back();
    }
    by_row[place].push_back(certificate);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ReportRow& row = rows[i];
    row.cases = by_row[i].size();
    row.verdict = report_verdict(numerics::worst(by_row[i]));
    for (Certificate& certificate : by_row[i]) {
      if (!std::isnan(certificate.slack) && !(row.slack >= certificate.slack)) row.slack = certificate.slack;
      if (certificate.verdict == Verdict::proved) continue;
      row.details.push_back(std::string(to_string(certificate.verdict)) + ": " + certificate.left.to_string() + " " +
                            to_string(certificate.relation) + " " + certificate.right.to_string() + "; " +
                            certificate.witness);
      row.failed.push_back(std::move(certificate));
    }
  }
  return rows;
}

std::vector<ReportRow> rows_of(const Property& property, const Outcome& outcome) {
  std::vector<ReportRow> rows;
  bool blamed = false;
  for (const auto& [claim, summary] : outcome.claims) {
    ReportRow row;
    row.claim = claim;
    row.subject = property.name();
    row.cases = summary.decided;
    row.slack = summary.tightest_slack;
    row.seconds = outcome.seconds / static_cast<double>(outcome.claims.size());
    row.verdict = summary.decided > 0 ? ReportVerdict::pass : ReportVerdict::vacuous;
    if (outcome.counterexample) {
      std::copy_if(outcome.counterexample->failed.begin(), outcome.counterexample->failed.end(),
                   std::back_inserter(row.failed), [&](const Certificate& c) { return c.claim == row.claim; });
    }
    if (!row.failed.empty()) {
      row.verdict = report_verdict(numerics::worst(row.failed));
      row.details = details_of(property, outcome);
      blamed = true;
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty())
    rows.push_back({"(no claim)", property.name(), 0, std::nan(""), ReportVerdict::vacuous, 0, {}, {}, {}});
  // An exception, or a claim that no case decided, has no certificate: the property as a whole does not hold.
  if (!blamed && outcome.verdict != Verdict::proved) {
    const auto worst =
        std::find_if(rows.begin(), rows.end(), [](const ReportRow& row) { return row.verdict != ReportVerdict::pass; });
    ReportRow& row = outcome.verdict == Verdict::violated || worst == rows.end() ? rows.front() : *worst;
    row.verdict = report_verdict(outcome.verdict);
    row.details = details_of(property, outcome);
  }
  return rows;
}

std::string to_table(const Report& report, const TableOptions& options) {
  std::size_t width = std::string_view("claim").size();
  for (const ReportRow& row : report.rows) width = std::max(width, row.claim.size());
  constexpr std::size_t verdict_width = 9;
  const bool with_errors =
      std::any_of(report.rows.begin(), report.rows.end(), [](const ReportRow& row) { return row.errors.has_value(); });
  std::string text =
      TableLine{"claim",  "cases", "slack", "worst ulp", "allowed", "bias ulp", left("verdict", verdict_width),
                "seconds"}
          .text(width, with_errors);
  const std::string* subject = nullptr;
  std::string passed;
  for (const ReportRow* shown : in_places(report.rows)) {
    const ReportRow& row = *shown;
    if (!options.verbose && says_no_more_than_pass(row)) {
      // Below failures, list passing claims by name only.
      if (!passed.empty() || fails(report.rows, row.subject)) {
        passed += (passed.empty() ? "  pass: " : ", ") + escaped_text(row.claim);
        continue;
      }
    }
    if (!passed.empty()) text += std::exchange(passed, "") + "\n";
    if (subject == nullptr || *subject != row.subject) {
      text += escaped_text(row.subject) + "\n";
      subject = &row.subject;
    }
    std::string verdict = left(to_string(row.verdict), verdict_width);
    if (options.colour) verdict = colour_of(row.verdict) + verdict + "\033[0m";
    const bool has_ulps = row.errors && row.errors->values > 0;
    const std::string worst = has_ulps ? worst_ulps_text(row.errors->worst_ulps) : "-";
    const std::string allowed = has_ulps ? format("%.4g", row.errors->worst_allowed_ulps) : "-";
    const std::string bias = has_ulps ? bias_text(row.errors->bias_ulps) : "-";
    text += TableLine{escaped_text(row.claim),
                      std::to_string(row.cases),
                      slack_text(row.verdict == ReportVerdict::pass ? attained(row.slack) : row.slack),
                      worst,
                      allowed,
                      bias,
                      verdict,
                      std::isnan(row.seconds) ? "-" : format("%.2f", row.seconds)}
                .text(width, with_errors);
    for (const std::string& line : row.details) text += "      " + escaped_text(line) + "\n";
    if (options.verbose) {
      for (const std::string& line : row.verbose) text += "      " + escaped_text(line) + "\n";
    }
    // What was not tried is the reason of a verdict about no call.
    if (options.verbose || (row.cases == 0 && row.verdict == ReportVerdict::vacuous)) {
      for (const std::string& line : row.not_tried) text += "      not tried: " + escaped_text(line) + "\n";
    }
    if (options.verbose) text += coverage_text(row.coverage);
  }
  if (!passed.empty()) text += passed + "\n";
  return text;
}

}  // namespace softcheck::proptests
