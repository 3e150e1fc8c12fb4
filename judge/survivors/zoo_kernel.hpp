#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

/// The kind of a zoo kernel.
enum class ZooKernelKind {
  bug,      // breaks its contract: accepting it is a miss
  correct,  // keeps its contract and has no planted bug: rejecting it is a false alarm
  // breaks only promises that were not asked for, or has a bug within its contract's thresholds; or has a race, so that
  // any test's verdict varies; or is correct with a contract that promises nothing
  neither
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
  std::string property = "-";  // names of properties that must find the bug, alternatives by |; "-": any
  std::string effort = "-";    // smallest effort whose calls show it; "-": quick
  std::string domain = "-";    // the calls that it supports; "-": all

  ZooKernelKind kind() const;
  std::filesystem::path library_in(const std::filesystem::path& folder) const;
};

/// The rows of the build's ZOO.tsv. Columns are found by the names in the first line, so the file may have more of
/// them; property, effort and domain may be missing.
/// throws   std::runtime_error if the file cannot be read or lacks a column
std::vector<ZooKernel> read_zoo_kernels(const std::filesystem::path& path);

/// The judge's options for the row: the row's effort if it is more than `least`, and then only the property that the
/// row names, since the others take as long and find nothing.
JudgeOptions judge_options_of(const ZooKernel& row, Effort least);

/// The row's kernel with its contract, in a library below folder.
/// throws   std::invalid_argument if a word of the row is unknown
KernelSubject subject_of(const ZooKernel& row, const std::filesystem::path& folder);

}  // namespace softcheck::proptests
