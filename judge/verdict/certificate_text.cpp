#include "judge/verdict/certificate_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace softcheck::proptests {

using numerics::Certificate;

namespace {

// "640ulp(f32), 12 times the threshold of [5e-07, 6e-07]"; empty if the error has no size.
std::string error_line(const ReportedValue& value, const Certificate& certificate) {
  const std::string times = times_threshold(certificate.slack);
  const bool in_ulps = times.empty() || (value.ulps && leaves_a_digit(*value.ulps, value.format));
  std::string size = in_ulps ? value.error_text() : "";
  if (!times.empty()) size += (size.empty() ? "" : ", ") + times;
  return size.empty() ? "" : size + " of " + certificate.right.to_string();
}

// " (0.49975)", with just enough digits to tell any two f32 numbers apart.
std::string in_decimals(double value, bool is_index = false) {
  return is_index || !std::isfinite(value) ? "" : " (" + number_text(value) + ")";
}

std::string in_decimals(const std::optional<numerics::Enclosure>& value) {
  if (!value) return "";
  const double lower = value->lower_double(), upper = value->upper_double();
  const std::string first = number_text(lower), last = number_text(upper);
  if (!std::isfinite(lower) || !std::isfinite(upper)) return "";
  // Print a side that is 0 or subnormal as 0.
  if (std::fabs(lower) < std::numeric_limits<double>::min() && std::fabs(upper) < std::numeric_limits<double>::min()) {
    return " (0)";
  }
  return first == last ? in_decimals(lower) : " (" + first + " to " + last + ")";
}

// For a longer case the report shows only the failing row; the replay line has the whole case.
constexpr std::size_t most_case_text = 400;

// Drops the number that selects the other inputs: only the replay line needs it, and the remark describes those inputs
// in words.
std::string without_number_of_inputs(std::string line) {
  constexpr std::string_view number = " beside=";
  const std::size_t first = line.find(number);
  if (first == std::string::npos) return line;
  return line.erase(first, std::min(line.find(' ', first + number.size()), line.size()) - first);
}

// The case; of a case longer than that, the failing row and its number.
std::string call_line(const CallDescription& asked) {
  if (asked.case_text.size() <= most_case_text) return asked.text();
  if (!asked.row_text.empty()) return asked.row_text + asked.remark + "," + asked.place;
  return asked.case_text.substr(0, most_case_text) + "..." + asked.remark + asked.place;
}

// "decimals 128 0.5; theta 2": the numbers of a short row that has no other inputs; empty without one.
std::string decimals_line(const CallDescription& asked) {
  constexpr std::size_t few = 8;
  if (!asked.numbers || asked.numbers->logits.size() > few || !asked.remark.empty()) return "";
  std::string text = "decimals";
  for (const double logit : asked.numbers->logits) text += " " + number_text(logit);
  return text + (asked.numbers->theta == 1 ? "" : "; theta " + number_text(asked.numbers->theta));
}

}  // namespace

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string times_threshold(double slack) {
  if (!std::isfinite(slack)) return "";
  if (slack > 1 && slack < 1.005) return "just beyond the threshold";  // three digits would read 1
  char text[40];
  std::snprintf(text, sizeof text, "%.3g times the threshold", slack);
  return text;
}

bool leaves_a_digit(double ulps, numerics::Format format) {
  return ulps <= std::ldexp(1.0, numerics::properties(format).precision);
}

std::vector<ReportLine> value_lines(const ReportedValue& value, const Certificate& certificate) {
  std::vector<ReportLine> lines;
  const std::string expected = value.expected_text(), error = error_line(value, certificate);
  if (!expected.empty()) lines.push_back({"expected", expected + in_decimals(value.expected)});
  lines.push_back({"got", std::isnan(value.got) ? "NaN" : value.got_text() + in_decimals(value.got, value.is_index)});
  if (!error.empty()) lines.push_back({"error", error});
  return lines;
}

std::vector<std::string> failure_lines(const Certificate& certificate) {
  const KernelEvidence* evidence = evidence_of(certificate);
  if (evidence == nullptr) return {certificate.witness};
  std::vector<std::string> lines{without_number_of_inputs(call_line(evidence->asked))};
  if (evidence->ending) {
    lines.push_back("ended by " + evidence->ending->death);
    for (const std::string& line : evidence->ending->printed) lines.push_back("  | " + line);
  }
  const auto certification = [&] {
    if (evidence->certification) lines.push_back("certified: " + evidence->certification->text);
  };
  if (!evidence->value) {
    certification();
    return lines;
  }
  const ReportedValue& value = *evidence->value;
  if (value.item) lines.front() += " item=" + std::to_string(*value.item);
  if (std::string decimals = decimals_line(evidence->asked); !decimals.empty()) {
    lines.push_back(std::move(decimals));
  }
  for (const auto& [name, text] : value_lines(value, certificate)) {
    lines.push_back(name + std::string(9 - name.size(), ' ') + text);
  }
  certification();
  return lines;
}

}  // namespace softcheck::proptests
