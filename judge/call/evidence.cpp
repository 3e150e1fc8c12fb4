// The JSON of a kernel's call in a report.
#include "judge/call/evidence.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "proptests/report/report.hpp"
#include "proptests/report/report_parts.hpp"

namespace softcheck::proptests {
namespace {

using numerics::hex_float;
using Json = nlohmann::ordered_json;

std::string ulps_text(double ulps, numerics::Format format) {
  char text[60];
  std::snprintf(text, sizeof text, "%.4gulp(%s)", ulps, std::string(numerics::properties(format).name).c_str());
  return text;
}

const char* end_word(CallEnd end) {
  static constexpr const char* words[] = {"done", "refused", "crashed", "timed out", "malformed", "not made"};
  return words[static_cast<std::size_t>(end)];
}

/// JSON has no NaN and no infinity: "got" is then null, and "got_text" has the value.
Json value_json(const ReportedValue& value) {
  Json result;
  if (value.item) result["item"] = *value.item;
  if (value.expected) result["expected"] = enclosure_json(*value.expected);
  if (!value.due.empty()) result["due"] = value.due;
  result["got"] = number_json(value.got);
  result["got_text"] = value.got_text();
  if (value.ulps) result["ulps"] = number_json(*value.ulps);
  result["format"] = numerics::properties(value.format).name;
  return result;
}

}  // namespace

std::string ReportedValue::expected_text() const {
  if (!expected) return due;
  if (!due.empty()) return due + " or " + ReportedValue{item, expected}.expected_text();
  const double lower = expected->lower_double(), upper = expected->upper_double();
  // Zero, or too small for any double but zero.
  constexpr double smallest = std::numeric_limits<double>::denorm_min();
  const bool is_tiny = lower >= -smallest && lower <= 0 && upper >= 0 && upper <= smallest;
  if (is_tiny && lower != upper) return hex_float(0);
  return lower == upper ? hex_float(lower) : "[" + hex_float(lower) + "," + hex_float(upper) + "]";
}

std::string ReportedValue::got_text() const {
  const bool is_number = std::fabs(got) < 0x1p53 && got == std::trunc(got);
  return is_index && is_number ? std::to_string(static_cast<std::int64_t>(got)) : hex_float(got);
}

std::string ReportedValue::error_text() const { return ulps ? ulps_text(*ulps, format) : ""; }

std::string ReportedValue::text() const {
  std::string result = item ? " item=" + std::to_string(*item) : "";
  const std::string wanted = expected_text();
  if (!wanted.empty()) result += " expected=" + wanted;
  result += " got=" + got_text();
  return result + (ulps ? " error=" + error_text() : "");
}

std::string KernelEvidence::text() const {
  std::string result = asked.text();
  if (value) result += value->text();
  if (ending) result += " ended by " + ending->death;
  return result;
}

numerics::Certificate with_evidence(numerics::Certificate certificate, KernelEvidence evidence) {
  certificate.witness = evidence.text();
  certificate.evidence = std::make_shared<const KernelEvidence>(std::move(evidence));
  return certificate;
}

numerics::Certificate of_call_alone(numerics::Certificate certificate, const std::string& case_text) {
  const KernelEvidence* evidence = evidence_of(certificate);
  if (evidence == nullptr) return certificate;
  KernelEvidence alone = *evidence;
  alone.asked.alone = true;
  if (alone.asked.row_text.empty()) alone.asked.row_text = case_text;
  return with_evidence(std::move(certificate), std::move(alone));
}

const KernelEvidence* evidence_of(const numerics::Certificate& certificate) {
  return dynamic_cast<const KernelEvidence*>(certificate.evidence.get());
}

Json KernelEvidence::to_json() const {
  Json result;
  result["case"] = printable_utf8(asked.case_text);
  result["remark"] = asked.remark;
  if (asked.row) result["row"] = *asked.row;
  if (!asked.row_text.empty()) result["row_text"] = asked.row_text;
  if (value) result["value"] = value_json(*value);
  if (certification) {
    static constexpr const char* outcomes[] = {"proved", "not covered", "disagreement"};
    result["certification"] = {{"outcome", outcomes[static_cast<std::size_t>(certification->outcome)]},
                               {"text", printable_utf8(certification->text)}};
  }
  if (ending) {
    result["end"] = end_word(ending->end);
    result["death"] = printable_utf8(ending->death);
    result["printed"] = lines_json(ending->printed);
  }
  return result;
}

}  // namespace softcheck::proptests
