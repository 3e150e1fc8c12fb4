#pragma once

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "proptests/judge/kernel_judge.hpp"

// kernels/zoo/ZOO.tsv, the list of planted bugs and of correct kernels of all kinds; kernels/README.md has its
// format.
namespace softcheck::proptests {

struct ZooRow {
  std::string library, symbol, op, dtype, contract, require, expected, bug_class, property, claim, witness, exempt,
      effort, domain;

  /// How its tests are called: mutant_returns_zeros_softmax_f16.
  std::string name() const {
    std::string text = symbol + "_" + op + "_" + dtype;
    if (require != "-") text += "_" + require;
    if (domain != "-") text += "_" + domain;
    // A correct kernel under a contract that it does not keep, beside the one that it does.
    if (is_planted() && symbol.find("correct_") != std::string::npos) text += "_beyond_its_contract";
    std::ranges::replace_if(
        text, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return text;
  }
  bool is_planted() const { return bug_class != "-"; }
  /// Its bug is of a register that only x86-64 has: elsewhere the kernel is right.
  bool needs_another_processor() const {
#if defined(__x86_64__)
    return false;
#else
    return symbol == "mutant_leaves_mmx_state";
#endif
  }
  /// Calls that only a longer look makes: the bug shows in no small one.
  bool needs_effort() const { return effort != "-"; }
  std::string library_path() const { return std::string(SOFTCHECK_KERNEL_DIR) + "/lib" + library + ".so"; }
};

inline std::vector<std::string> split(const std::string& text, char separator) {
  std::istringstream stream(text);
  std::vector<std::string> parts;
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

inline std::vector<ZooRow> read_zoo() {
  const std::string path = SOFTCHECK_SOURCE_DIR "/kernels/zoo/ZOO.tsv";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<ZooRow> rows;
  std::string line;
  std::getline(file, line);  // the header
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = split(line, '\t');
    if (fields.size() != 14) throw std::runtime_error(path + ": need 14 fields in '" + line + "'");
    rows.push_back({fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], fields[6], fields[7], fields[8],
                    fields[9], fields[10], fields[11], fields[12], fields[13]});
  }
  return rows;
}

inline KernelSubject subject_of(const ZooRow& row) {
  KernelSubject subject;
  subject.source = {row.library_path(), row.symbol};
  subject.op = parse_op(row.op);
  const numerics::Format input = numerics::parse_format(row.dtype);
  subject.contract = numerics::parse_contract(row.contract, input, output_format(subject.op, input));
  if (row.require != "-") subject.required = parse_requirements(row.require);
  if (row.exempt != "-") subject.exempt = {row.exempt};
  if (row.domain != "-") subject.domain = parse_domain(row.domain, subject.op->attention);
  return subject;
}

}  // namespace softcheck::proptests
