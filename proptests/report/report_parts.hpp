#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::proptests {

/// Rows of a report that any one process can make alone.
struct ReportPart {
  std::function<std::vector<ReportRow>()> rows;
  int weight = 0;  // heavier parts begin first, so that the processes end at about the same time
};

/// The rows of all parts, in the parts' order for any number of processes. This process makes some parts; its forks
/// make the others.
///
/// A fork cannot pass certificates to this process. So this process makes a part again if the part did not pass in a
/// fork, threw there or killed it. If the part passes the second time, its rows are still the fork's: they say what
/// failed, but without certificates.
///
/// processes  >= 1; no other thread may run if it is more than one
/// throws     std::invalid_argument when processes == 0, std::system_error if a fork fails, and the first exception
///            that a part throws in this process
std::vector<ReportRow> rows_of_parts(const std::vector<ReportPart>& parts, unsigned processes);

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
