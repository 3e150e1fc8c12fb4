#include "judge/call/evidence.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <utility>

namespace softcheck::proptests {
namespace {

using numerics::hex_float;

std::string ulps_text(double ulps, numerics::Format format) {
  char text[60];
  std::snprintf(text, sizeof text, "%.4gulp(%s)", ulps, std::string(numerics::properties(format).name).c_str());
  return text;
}

}  // namespace

std::string ReportedValue::expected_text() const {
  if (!expected) return due;
  const double lower = expected->lower_double(), upper = expected->upper_double();
  // 0, or smaller than every double but 0.
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

}  // namespace softcheck::proptests
