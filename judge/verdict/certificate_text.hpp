#pragma once

#include <string>
#include <vector>

#include "judge/call/evidence.hpp"
#include "numerics/enclosures/certificate.hpp"

namespace softcheck::proptests {

/// "12 times the threshold"; empty if the slack has no size.
std::string times_threshold(double slack);

/// "0.49975", "NaN", "inf"; nine digits, which tell any two f32 numbers apart.
std::string number_text(double value);

/// Can a value with an error of this many ulps have a correct digit? If not, the error exceeds the value, and reports
/// give only its share of the threshold: near 0 an ulp is too small to be a useful unit.
bool leaves_a_digit(double ulps, numerics::Format format);

/// A name and its text.
struct ReportLine {
  std::string name, text;
};

/// The expected value, the returned value, and their distance.
std::vector<ReportLine> value_lines(const ReportedValue& value, const numerics::Certificate& certificate);

/// The case, and one line for each part of the result.
std::vector<std::string> failure_lines(const numerics::Certificate& certificate);

}  // namespace softcheck::proptests
