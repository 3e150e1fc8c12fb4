#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "library/include/softcheck/softcheck.h"
#include "proptests/report/report.hpp"

namespace softcheck::library {

/// The status of a function and the members of its report.
struct Answer {
  softcheck_status status = SOFTCHECK_PASS;
  nlohmann::ordered_json members = nlohmann::ordered_json::object();
};

/// A tensor, a replay or a file that cannot be read: SOFTCHECK_MALFORMED.
class MalformedError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// "verdict", "summary", "text", "claims" and "junit".
Answer answer_of(const proptests::Report& report, const std::string& summary);

/// A JSON number, or the text "NaN", "Infinity" or "-Infinity", which JSON numbers cannot express.
nlohmann::ordered_json number(double value);

/// Runs the function, turns any exception into the report of an error, and writes *report.
int answer(char** report, const std::function<Answer()>& function) noexcept;

}  // namespace softcheck::library
