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

/// An error in the input: one line for the user, and the exit code of its kind.
class InputError : public std::runtime_error {
 public:
  InputError(ExitCode code, const std::string& text) : std::runtime_error(text), code(code) {}
  ExitCode code;
};

/// Returns the result of job. If job throws an Error, throws an InputError with the code, the prefix and the Error's
/// text.
template <class Error, class Job>
auto as_input_error(ExitCode code, const std::string& prefix, Job job) {
  try {
    return job();
  } catch (const Error& error) {
    throw InputError(code, prefix + error.what());
  }
}

}  // namespace softcheck::cli
