#include "models/read/strict_json.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "models/read/file_errors.hpp"

namespace softcheck::models {

nlohmann::json parse_strict_object(const std::string& text, const std::string& what, int deepest) {
  using Json = nlohmann::json;
  std::vector<std::set<std::string>> keys;
  std::string repeated;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    const bool opens = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && depth >= deepest) {
      throw TensorFileError(what + " nests deeper than " + std::to_string(deepest) + " objects and arrays");
    }
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      repeated = value.get<std::string>();
    }
    return true;
  };
  Json result;
  try {
    result = Json::parse(text, watch);
  } catch (const Json::exception& error) {
    throw TensorFileError(what + " is no JSON: " + error.what());
  }
  if (!repeated.empty()) throw TensorFileError(what + " has the key '" + repeated + "' twice");
  if (!result.is_object()) throw TensorFileError(what + " is no JSON object");
  return result;
}

}  // namespace softcheck::models
