#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "library/include/softcheck/softcheck.h"
#include "proptests/report/report.hpp"

namespace softcheck::library {

/// What a function has found: members of its report.
struct Answer {
  softcheck_status status = SOFTCHECK_PASS;
  nlohmann::ordered_json members = nlohmann::ordered_json::object();
};

/// An argument that is a tensor, a replay or a file, and cannot be read: SOFTCHECK_MALFORMED.
class MalformedError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// "verdict", "summary", "text", "claims" and "junit".
Answer answer_of(const proptests::Report& report, const std::string& summary);

/// A number, or the words by which JSON names what is none: "NaN", "Infinity", "-Infinity".
nlohmann::ordered_json number(double value);

/// Runs the function, turns what it throws into an error's report, and writes *report: no exception passes.
int answer(char** report, const std::function<Answer()>& function) noexcept;

}  // namespace softcheck::library
