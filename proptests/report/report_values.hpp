#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "numerics/enclosures/certificate.hpp"

namespace softcheck::proptests {

/// Evidence beside the sides of a certificate that a report in JSON shows.
struct ReportedEvidence : numerics::Evidence {
  virtual nlohmann::ordered_json to_json() const = 0;
};

/// null where value is infinite or NaN.
nlohmann::ordered_json number_json(double value);

/// {"enclosure": ["lower", "upper"], "lower": double, "upper": double}: digits enough for 128 bits, the doubles rounded
/// outward; null where side is NaN.
nlohmann::ordered_json enclosure_json(const numerics::Enclosure& side);

/// The lines as printable UTF-8.
nlohmann::ordered_json lines_json(const std::vector<std::string>& lines);

}  // namespace softcheck::proptests
