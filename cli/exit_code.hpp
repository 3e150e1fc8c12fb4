#pragma once

#include <stdexcept>
#include <string>

namespace softcheck::cli {

/// Exit codes of every verb (docs/design.md).
enum ExitCode : int {
  holds = 0,
  violated = 1,
  usage = 2,
  malformed = 3,
  unsupported = 4,
  undecided = 5,
  crashed = 6,
  timed_out = 7
};

/// Input that cannot be worked with: one clear line and the exit code that says what kind of trouble it is.
class InputError : public std::runtime_error {
 public:
  InputError(ExitCode code, const std::string& text) : std::runtime_error(text), code(code) {}
  ExitCode code;
};

/// What job returns; an Error that it throws becomes an InputError of the code, its text behind the prefix.
template <class Error, class Job>
auto as_input_error(ExitCode code, const std::string& prefix, Job job) {
  try {
    return job();
  } catch (const Error& error) {
    throw InputError(code, prefix + error.what());
  }
}

}  // namespace softcheck::cli
