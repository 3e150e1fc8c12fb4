#include "proptests/report/report_values.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "proptests/report/report.hpp"

namespace softcheck::proptests {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json enclosure_json(const numerics::Enclosure& side) {
  Json result;
  if (side.is_nan()) return result;
  const std::string text = side.to_string(40);
  const std::size_t comma = text.find(", ");
  if (comma != std::string::npos && text.size() > 2) {
    result["enclosure"] = {text.substr(1, comma - 1), text.substr(comma + 2, text.size() - comma - 3)};
  } else {
    result["enclosure"] = {text, text};
  }
  result["lower"] = number_json(side.lower_double());
  result["upper"] = number_json(side.upper_double());
  return result;
}

Json lines_json(const std::vector<std::string>& lines) {
  Json result = Json::array();
  for (const std::string& line : lines) result.push_back(printable_utf8(line));
  return result;
}

}  // namespace softcheck::proptests
