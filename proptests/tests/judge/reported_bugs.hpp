#pragma once

#include <span>

// Softmax bugs that were reported in public, each re-enacted by a kernel of the zoo on what was reported.
namespace softcheck::proptests {

struct ReportedBug {
  const char* name;    // of its test: the project, the number of the issue or pull request, what was seen
  const char* mutant;  // the kernel that has the bug
  const char* op;
  const char* dtype;
  const char* property;  // by which the judge rejects it
  const char* claim;     // that the reported case violates
  const char* reported;  // the case, as a replay line has it
  const char* right;     // a kernel that gets it right; nullptr: ours
};

std::span<const ReportedBug> reported_bugs();

}  // namespace softcheck::proptests
