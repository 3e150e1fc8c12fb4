#pragma once

#include <string>
#include <vector>

#include "judge/call/evidence.hpp"
#include "numerics/enclosures/certificate.hpp"

namespace softcheck::proptests {

/// "12 times the threshold"; empty where the slack has no size.
std::string times_threshold(double slack);

/// "0.49975", "NaN", "inf": nine digits, which tell any two numbers of f32 apart.
std::string number_text(double value);

/// May a value whose error is so many ulps have a right digit? If not, the error exceeds the value, and reports give
/// its share of the threshold alone: near 0 an ulp is too small to measure anything by.
bool leaves_a_digit(double ulps, numerics::Format format);

/// A name and its text.
struct ReportLine {
  std::string name, text;
};

/// The expected and the returned value, and their distance.
std::vector<ReportLine> value_lines(const ReportedValue& value, const numerics::Certificate& certificate);

/// The case, and a line for each part of its result.
std::vector<std::string> failure_lines(const numerics::Certificate& certificate);

}  // namespace softcheck::proptests
