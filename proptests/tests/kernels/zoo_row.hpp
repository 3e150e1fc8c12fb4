#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace softcheck::kernel_tests {

/// A row of the zoo: planted bugs and correct kernels of all kinds; kernels/README.md has the columns.
struct ZooRow {
  std::string library, symbol, op, dtype, contract, require, expected, bug_class, property, claim, witness, exempt,
      effort, domain;
};

/// throws   std::runtime_error when the list cannot be read or a line has not as many fields as a row
inline std::vector<ZooRow> read_zoo(const std::string& path = SOFTCHECK_KERNEL_DIR "/ZOO.tsv") {
  std::ifstream file(path);
  std::vector<ZooRow> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream stream(line);
    std::vector<std::string> f;
    for (std::string field; std::getline(stream, field, '\t');) f.push_back(field);
    if (f.size() != 14) throw std::runtime_error(path + ": need 14 fields in '" + line + "'");
    rows.push_back({f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10], f[11], f[12], f[13]});
  }
  if (rows.empty()) throw std::runtime_error("cannot read " + path);
  rows.erase(rows.begin());  // the names of the columns
  return rows;
}

/// The words that a kernel of ours promises on every call, from kernels/entry/contracts.tsv.
inline const std::string& promised_words(const std::string& symbol, const std::string& dtype) {
  static const std::vector<ZooRow> rows = read_zoo(SOFTCHECK_KERNEL_DIR "/CONTRACTS.tsv");
  for (const ZooRow& row : rows) {
    if (row.symbol == symbol && row.dtype == dtype && row.domain == "-") return row.contract;
  }
  throw std::runtime_error("promised_words: kernels/entry/contracts.tsv has no " + symbol + " in " + dtype);
}

}  // namespace softcheck::kernel_tests
