#include "proptests/judge/calls/evidence.hpp"

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

std::string ShownValue::expected_text() const {
  if (!expected) return due;
  const double lower = expected->lower_double(), upper = expected->upper_double();
  // 0, or smaller than every double but 0.
  constexpr double smallest = std::numeric_limits<double>::denorm_min();
  const bool is_tiny = lower >= -smallest && lower <= 0 && upper >= 0 && upper <= smallest;
  if (is_tiny && lower != upper) return hex_float(0);
  return lower == upper ? hex_float(lower) : "[" + hex_float(lower) + "," + hex_float(upper) + "]";
}

std::string ShownValue::error_text() const { return ulps ? ulps_text(*ulps, format) : ""; }

std::string ShownValue::text() const {
  std::string result = item ? " item=" + std::to_string(*item) : "";
  const std::string wanted = expected_text();
  if (!wanted.empty()) result += " expected=" + wanted;
  result += " got=" + hex_float(got);
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

const KernelEvidence* evidence_of(const numerics::Certificate& certificate) {
  return dynamic_cast<const KernelEvidence*>(certificate.evidence.get());
}

}  // namespace softcheck::proptests
