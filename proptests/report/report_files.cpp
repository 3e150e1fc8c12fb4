#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "proptests/report/report.hpp"
#include "proptests/report/report_parts.hpp"

// The machine-readable views of a report, and writing files.

namespace softcheck::proptests {
namespace {

using Json = nlohmann::ordered_json;

Json certificate_json(const numerics::Certificate& certificate) {
  Json result;
  result["claim"] = certificate.claim;
  result["verdict"] = numerics::to_string(certificate.verdict);
  result["left"] = enclosure_json(certificate.left);
  result["relation"] = numerics::to_string(certificate.relation);
  result["right"] = enclosure_json(certificate.right);
  result["slack"] = number_json(certificate.slack);
  result["precision"] = certificate.precision;
  result["witness"] = printable_utf8(certificate.witness);
  if (const auto* evidence = dynamic_cast<const ReportedEvidence*>(certificate.evidence.get())) {
    result["evidence"] = evidence->to_json();
  }
  return result;
}

Json errors_json(const ErrorStatistics& errors) {
  Json result;
  result["values"] = errors.values;
  result["largest_share"] = number_json(errors.largest_share);
  result["worst_ulps"] = number_json(errors.worst_ulps);
  result["worst_allowed_ulps"] = number_json(errors.worst_allowed_ulps);
  result["bias_ulps"] = number_json(errors.bias_ulps);
  result["worst_witness"] = printable_utf8(errors.worst_witness);
  return result;
}

Json coverage_json(const std::vector<Coverage::Entry>& coverage) {
  Json result = Json::array();
  for (const Coverage::Entry& entry : coverage) {
    Json one;
    one["dimension"] = entry.dimension;
    one["class"] = entry.name;
    one["calls"] = entry.calls;
    one["refused"] = entry.refused;
    if (!entry.reason.empty()) one["why_not"] = printable_utf8(entry.reason);
    result.push_back(std::move(one));
  }
  return result;
}

/// Length of the UTF-8 sequence at the beginning of the text, if XML allows it; else 0.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 || first == '\t' || first == '\n' || first == '\r' ? 1 : 0;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  unsigned code = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
    code = (code << 6) | (byte(i) & 0x3FU);
  }
  static constexpr std::array<unsigned, 5> smallest{0, 0, 0x80, 0x800, 0x10000};  // by length, to reject overlong forms
  const bool forbidden = (code >= 0xD800 && code <= 0xDFFF) || code == 0xFFFE || code == 0xFFFF;
  return code < smallest[length] || code > 0x10FFFF || forbidden ? 0 : length;
}

std::string seconds_text(double seconds) {
  std::array<char, 64> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.6f", seconds);
  return buffer.data();
}

const char* junit_element(ReportVerdict verdict) {
  switch (verdict) {
    case ReportVerdict::pass:
      return nullptr;
    case ReportVerdict::refused:
      return "skipped";
    case ReportVerdict::crash:
    case ReportVerdict::timeout:
      return "error";
    default:
      return "failure";
  }
}

/// Numbers that a CI can plot over runs.
std::string properties_xml(const ReportRow& row) {
  std::string text;
  const auto add = [&text](const char* name, double value) {
    if (!std::isfinite(value)) return;
    text += std::string("        <property name=\"") + name + "\" value=\"" + Json(value).dump() + "\"/>\n";
  };
  add("slack", row.slack + 0.0);  // + 0.0 turns -0 into +0
  if (row.errors && row.errors->values > 0) {
    add("worst_ulps", row.errors->worst_ulps);
    add("worst_allowed_ulps", row.errors->worst_allowed_ulps);
    add("bias_ulps", row.errors->bias_ulps + 0.0);
  }
  return text.empty() ? "" : "      <properties>\n" + text + "      </properties>\n";
}

/// How close a pass was, and what it does not cover.
std::string system_out(const ReportRow& row) {
  std::string text;
  std::array<char, 160> buffer;
  if (row.errors && row.errors->values > 0) {
    std::snprintf(buffer.data(), buffer.size(),
                  "error/threshold at most %.4g, worst %.4g ulp of %.4g allowed there, bias %+.2g ulp\n",
                  row.errors->largest_share, row.errors->worst_ulps, row.errors->worst_allowed_ulps,
                  row.errors->bias_ulps);
    text += buffer.data();
  } else if (row.errors) {
    std::snprintf(buffer.data(), buffer.size(), "error/threshold at most %.4g\n", row.errors->largest_share);
    text += buffer.data();
  }
  for (const std::string& line : row.not_tried) text += "not tried: " + line + "\n";
  return text.empty() ? "" : "      <system-out>" + xml_text(text) + "</system-out>\n";
}

std::string testcase(const ReportRow& row) {
  std::string text = "    <testcase classname=\"" + xml_text(row.subject) + "\" name=\"" + xml_text(row.claim) + "\"";
  if (!std::isnan(row.seconds)) text += " time=\"" + seconds_text(row.seconds) + "\"";
  const char* element = junit_element(row.verdict);
  const std::string numbers = properties_xml(row), out = system_out(row);
  if (element == nullptr && numbers.empty() && out.empty()) return text + "/>\n";
  text += ">\n" + numbers;
  if (element != nullptr) {
    std::string details;
    for (const auto* lines : {&row.details, &row.verbose}) {
      for (const std::string& line : *lines) details += line + "\n";
    }
    text += std::string("      <") + element + " message=\"" + to_string(row.verdict) + "\">" + xml_text(details) +
            "</" + element + ">\n";
  }
  return text + out + "    </testcase>\n";
}

std::string counts(const std::vector<const ReportRow*>& rows) {
  std::map<std::string, int> count;
  // A judgement has one time, on its verdict; divide it among its claims.
  std::map<std::string, double> of_claims, of_verdicts;
  const bool timed =
      rows.empty() || std::ranges::any_of(rows, [](const auto* row) { return !std::isnan(row->seconds); });
  for (const ReportRow* row : rows) {
    const char* element = junit_element(row->verdict);
    if (element != nullptr) ++count[element];
    if (std::isnan(row->seconds)) continue;
    (row->claim == "kernel.verdict" ? of_verdicts : of_claims)[row->subject] += row->seconds;
  }
  for (const auto& [subject, whole] : of_verdicts) of_claims[subject] = std::max(of_claims[subject], whole);
  double seconds = 0;
  for (const auto& [subject, shared] : of_claims) seconds += shared;
  return " tests=\"" + std::to_string(rows.size()) + "\" failures=\"" + std::to_string(count["failure"]) +
         "\" errors=\"" + std::to_string(count["error"]) + "\" skipped=\"" + std::to_string(count["skipped"]) + "\"" +
         (timed ? " time=\"" + seconds_text(seconds) + "\"" : "");
}

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& why) {
  throw std::runtime_error("cannot write " + path.string() + ": " + why);
}

void write_file(const std::filesystem::path& path, std::string_view text, const std::filesystem::path& named) {
  errno = 0;
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) fail(named, std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int write_error = errno;
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) fail(named, std::strerror(written ? errno : write_error));
}

constexpr const char* before_policy = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline')";

constexpr const char* before_title = R"(">
<meta name="viewport" content="width=device-width">
<title>)";

// Translucent backgrounds work on light and dark pages. Maps of heads are grids of buttons.
constexpr const char* after_title = R"(</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 1.5rem auto; padding: 0 1rem; overflow-wrap: break-word; }
h1 { font-size: clamp(1.3rem, 5vw, 2rem); }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #8886; }
a { color: light-dark(#0550ae, #79b8ff); }
pre, .wide { overflow-x: auto; }
pre { background: #8881; padding: 0.6rem; font-size: 13px; line-height: 1.35; }
summary { cursor: pointer; margin: 0.4rem 0; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
td, th { padding: 0.1rem 0.6rem; border-bottom: 1px solid #8886; text-align: right; }
th button { font: inherit; border: 0; background: none; cursor: pointer; }
.left { text-align: left; }
.asked { white-space: nowrap; }
.pass, .fail, .crash, .timeout, .refused, .undecided, .vacuous { padding: 0.1rem 0.4rem; }
strong.pass { background: #30a46c40; }
.fail, .crash, .timeout { background: #e5484d50; }
.refused, .undecided, .vacuous { background: #f5b50050; }
figure { margin: 1rem 0; }
img { max-width: 100%; background: #fff; }
figcaption, .note { font-size: 14px; opacity: 0.8; }
.maps { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr)); gap: 1.5rem; }
.map { display: grid; gap: 1px; }
.map span { font-size: 10px; line-height: 14px; text-align: center; white-space: nowrap; padding: 0 2px; }
.map button { border: 0; padding: 0; height: 14px; min-width: 0; cursor: pointer; }
.map .failing { outline: 2px dashed #e5484d; z-index: 1; }
.map button:focus, .map .chosen { outline: 3px solid #d55e00; z-index: 2; }
.bar { height: 10px; background: linear-gradient(90deg, #00224e, #575d6d, #a59c74, #fee838); }
.ends { display: flex; justify-content: space-between; }
.long { max-height: 32rem; overflow: auto; }
@media print { .long { max-height: none; } * { print-color-adjust: exact; } }
</style>
</head>
<body>
)";

std::string head(std::string_view title, const char* scripts) {
  return std::string(before_policy) + scripts + before_title + xml_text(title) + after_title;
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string result;
  for (char character : printable_utf8(text)) {
    switch (character) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\n':
        result += "&#10;";
        break;
      default:
        result += character;
    }
  }
  return result;
}

std::string printable_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    result += length > 0 ? text.substr(0, length) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::string escaped_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    // C0 and DEL are one byte, C1 is U+0080 to U+009F.
    const bool control = first < 0x20 || first == 0x7F || (first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0);
    const std::size_t taken = std::max<std::size_t>(length, 1);
    for (const char byte : text.substr(0, taken)) {
      std::array<char, 8> code;
      std::snprintf(code.data(), code.size(), "\\x%02x", static_cast<unsigned char>(byte));
      result += length == 0 || control ? std::string(code.data()) : std::string(1, byte);
    }
    text.remove_prefix(taken);
  }
  return result;
}

std::string to_json(const Report& report) {
  Json claims = Json::array();
  for (const ReportRow& row : report.rows) {
    Json entry;
    entry["claim"] = printable_utf8(row.claim);
    entry["subject"] = printable_utf8(row.subject);
    entry["cases"] = row.cases;
    entry["slack"] = number_json(row.slack);
    entry["verdict"] = to_string(row.verdict);
    entry["seconds"] = number_json(row.seconds);
    std::vector<std::string> details = row.details;
    details.insert(details.end(), row.verbose.begin(), row.verbose.end());
    entry["details"] = lines_json(details);
    if (row.errors) entry["errors"] = errors_json(*row.errors);
    if (!row.not_tried.empty()) entry["not_tried"] = lines_json(row.not_tried);
    if (!row.coverage.empty()) entry["coverage"] = coverage_json(row.coverage);
    entry["failed"] = Json::array();
    for (const numerics::Certificate& certificate : row.failed)
      entry["failed"].push_back(certificate_json(certificate));
    claims.push_back(std::move(entry));
  }
  Json result;
  result["verdict"] = to_string(report.verdict());
  result["claims"] = std::move(claims);
  return result.dump(2) + "\n";
}

std::string to_junit(const Report& report) {
  std::vector<std::pair<std::string, std::vector<const ReportRow*>>> suites;
  std::vector<const ReportRow*> all;
  for (const ReportRow& row : report.rows) {
    all.push_back(&row);
    auto suite = std::find_if(suites.begin(), suites.end(), [&](const auto& s) { return s.first == row.subject; });
    if (suite == suites.end()) suite = suites.insert(suites.end(), {row.subject, {}});
    suite->second.push_back(&row);
  }
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"softcheck\"" + counts(all) + ">\n";
  for (const auto& [subject, rows] : suites) {
    text += "  <testsuite name=\"" + xml_text(subject) + "\"" + counts(rows) + ">\n";
    for (const ReportRow* row : rows) text += testcase(*row);
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) fail(path, "it is a directory");
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    write_file(path, text, path);
    return;
  }
  std::filesystem::path auxiliary = path;
  auxiliary += ".partial-" + std::to_string(::getpid());
  try {
    write_file(auxiliary, text, path);
  } catch (...) {
    std::filesystem::remove(auxiliary, error);
    throw;
  }
  std::filesystem::rename(auxiliary, path, error);
  if (error) {
    std::error_code ignored;
    std::filesystem::remove(auxiliary, ignored);
    fail(path, error.message());
  }
}

std::string page_head(std::string_view title) { return head(title, ""); }
std::string scripted_page_head(std::string_view title) { return head(title, "; script-src 'unsafe-inline'"); }

}  // namespace softcheck::proptests
