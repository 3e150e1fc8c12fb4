#pragma once

#include <string>
#include <vector>

namespace softcheck::cli {

/// The whole command: reads the verb and its flags, does the job, and returns the exit code (docs/design.md). What goes
/// wrong is one line on standard error.
///
/// arguments   without the program's own name
int run_command(const std::vector<std::string>& arguments);

}  // namespace softcheck::cli
