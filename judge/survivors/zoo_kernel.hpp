#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

/// What a kernel of the zoo is to a criterion.
enum class ZooKernelKind {
  bug,      // breaks its contract: to accept it is a miss
  correct,  // holds its contract, and no bug is planted: to reject it is a false alarm
  neither   // breaks only what it was not asked to promise, or a bug that its contract's thresholds cannot tell; or a
            // race, of which any test says now this and now that; or a correct kernel whose contract promises nothing
};

/// A row of the zoo (kernels/README.md).
struct ZooKernel {
  std::string library;
  std::string symbol;
  std::string op;
  std::string dtype;
  std::string contract;
  std::string require;         // "-": nothing
  std::string expected;        // verdicts, separated by |
  std::string bug_class;       // "-": none
  std::string exempt;          // a claim that it is known to break; "-": none
  std::string property = "-";  // what is to find the bug, by its name, alternatives by |; "-": nothing by name
  std::string effort = "-";    // the least effort whose calls show it; "-": quick
  std::string domain = "-";    // the calls that it is made for; "-": all

  ZooKernelKind kind() const;
  std::filesystem::path library_in(const std::filesystem::path& folder) const;
};

/// The rows of the build's ZOO.tsv; columns are found by the names in its first line, so that it may have more of them.
/// It may lack property, effort and domain. throws   std::runtime_error when it cannot be read or lacks a column
std::vector<ZooKernel> read_zoo_kernels(const std::filesystem::path& path);

/// How the judge looks at the row: at its effort, where that is more than least, and then at what it is for alone, as
/// the other properties look as long and find nothing.
JudgeOptions judge_options_of(const ZooKernel& row, Effort least);

/// The kernel of the row, in a library below folder, with its contract.
/// throws   std::invalid_argument when a word of the row is unknown
KernelSubject subject_of(const ZooKernel& row, const std::filesystem::path& folder);

}  // namespace softcheck::proptests
