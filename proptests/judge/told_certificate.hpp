#pragma once

#include <string>
#include <vector>

#include "numerics/certificate.hpp"
#include "proptests/judge/evidence.hpp"

namespace softcheck::proptests {

/// "12 times the threshold"; empty where the slack has no size.
std::string times_threshold(double slack);

/// A name, and what stands behind it.
struct ToldLine {
  std::string name, text;
};

/// What was expected and got, and how far they are apart.
std::vector<ToldLine> value_lines(const ShownValue& value, const numerics::Certificate& certificate);

/// What was asked, and a line for each part of what came of it.
std::vector<std::string> told(const numerics::Certificate& certificate);

}  // namespace softcheck::proptests
