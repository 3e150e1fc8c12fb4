#pragma once

#include <cctype>
#include <sstream>

#include "judge/survivors/zoo_kernel.hpp"
#include "proptests/tests/judge/kernel_samples.hpp"
#include "proptests/tests/kernels/zoo_row.hpp"

// The zoo as the judge is asked of its lines.
namespace softcheck::proptests {

struct ZooRow : kernel_tests::ZooRow {
  /// How its tests are called: mutant_returns_zeros_softmax_f16.
  std::string name() const {
    std::string text = symbol + "_" + op + "_" + dtype;
    if (require != "-") text += "_" + require;
    if (domain != "-") text += "_" + domain;
    if (contract.find("infinity=limit") != std::string::npos) text += "_limit";
    // A correct kernel under a contract that it does not keep, beside the one that it does; and the reverse of a bug.
    if (is_planted() && symbol.find("correct_") != std::string::npos) text += "_beyond_its_contract";
    if (is_planted() && expected == "pass") text += "_within_its_contract";
    std::ranges::replace_if(
        text, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return text;
  }
  bool is_planted() const { return bug_class != "-"; }
  /// Its bug is of a register that only x86-64 has, so that the kernel is right elsewhere; or oneDNN's bf16, which
  /// needs AVX-512: without it the library refuses each call.
  bool needs_another_processor() const {
#if defined(__x86_64__)
    return symbol == "softcheck_onednn_softmax" && dtype == "bf16" && !__builtin_cpu_supports("avx512bw");
#else
    return symbol == "mutant_leaves_mmx_state";
#endif
  }
  /// Calls that only a longer look makes: the bug shows in no small one.
  bool needs_effort() const { return effort != "-"; }
  std::string path() const { return library_path(library); }
};

inline std::vector<std::string> split(const std::string& text, char separator) {
  std::istringstream stream(text);
  std::vector<std::string> parts;
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

/// Read once: every process of test_judge names its tests by these rows.
inline const std::vector<ZooRow>& read_zoo() {
  static const std::vector<ZooRow> rows = [] {
    std::vector<ZooRow> read;
    for (kernel_tests::ZooRow& row : kernel_tests::read_zoo()) read.push_back({std::move(row)});
    return read;
  }();
  return rows;
}

inline KernelSubject subject_of(const ZooRow& row) {
  return subject_of(ZooKernel{row.library, row.symbol, row.op, row.dtype, row.contract, row.require, row.expected,
                              row.bug_class, row.exempt, row.property, row.effort, row.domain},
                    SOFTCHECK_KERNEL_DIR);
}

}  // namespace softcheck::proptests
