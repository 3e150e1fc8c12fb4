#pragma once

#include <string>

#include "proptests/tests/planted/changed_build.hpp"

namespace softcheck::planted {

/// Builds the target with other contents of a file, and puts the plug-ins that did not change beside it. Throws as
/// ChangedBuild::build.
void plant(ChangedBuild& build, const Places& places, const std::filesystem::path& file, const std::string& contents);

/// Runs a test against the changed target: "PROGRAM FILTER", with a filter of GoogleTest, "judge SYMBOL DTYPE", the
/// judge on a kernel by its row of the zoo, or "shell SCRIPT", which is given the command and the
/// folder of the kernels. The exit status is 124 where it took longer than so many seconds, 152 where a process had so
/// many seconds of a processor (0: any number); timeout's own failures are 125 to 127.
Outcome run_test(const Places& places, const std::string& test, int seconds = 200, int processor_seconds = 0);

}  // namespace softcheck::planted
