#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "numerics/enclosures/certificate.hpp"

namespace softcheck::proptests {

/// Evidence that a JSON report shows with the two sides of a certificate.
struct ReportedEvidence : numerics::Evidence {
  virtual nlohmann::ordered_json to_json() const = 0;
};

/// The number; null if it is infinite or NaN.
nlohmann::ordered_json number_json(double value);

/// {"enclosure": ["lower", "upper"], "lower": double, "upper": double}; null if side is NaN. The strings have 40
/// digits, enough for 128 bits; the doubles are rounded outward.
nlohmann::ordered_json enclosure_json(const numerics::Enclosure& side);

/// The lines, as an array of printable UTF-8 strings.
nlohmann::ordered_json lines_json(const std::vector<std::string>& lines);

}  // namespace softcheck::proptests
