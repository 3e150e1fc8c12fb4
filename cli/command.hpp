#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/verb.hpp"

namespace softcheck::cli {

/// Adds a verb to the command line.
using AddVerb = void (*)(Verb app);

/// The whole command: reads the verb and its flags, does the job, and returns the exit code (docs/design.md). An error
/// is reported as one line on standard error.
///
/// arguments   without the program's own name
/// verbs       the program's verbs, in the order of its help
int run_command(const std::vector<std::string>& arguments, std::span<const AddVerb> verbs);

}  // namespace softcheck::cli
