#pragma once

#include <algorithm>
#include <fstream>
#include <iterator>
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
  constexpr std::string ZooRow::*columns[] = {
      &ZooRow::library, &ZooRow::symbol,   &ZooRow::op,        &ZooRow::dtype,    &ZooRow::contract,
      &ZooRow::require, &ZooRow::expected, &ZooRow::bug_class, &ZooRow::property, &ZooRow::claim,
      &ZooRow::witness, &ZooRow::exempt,   &ZooRow::effort,    &ZooRow::domain};
  std::ifstream file(path);
  std::vector<ZooRow> rows;
  for (std::string line; std::getline(file, line);) {
    if (std::ranges::count(line, '\t') + 1 != std::ssize(columns)) {
      throw std::runtime_error(path + ": need 14 fields in '" + line + "'");
    }
    ZooRow& row = rows.emplace_back();
    std::size_t begin = 0;
    for (const auto column : columns) {
      const std::size_t end = std::min(line.find('\t', begin), line.size());
      (row.*column).assign(line, begin, end - begin);
      begin = end + 1;
    }
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
