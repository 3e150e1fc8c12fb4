// Every row of kernels/mutants/ZOO.tsv - planted bugs, correct kernels of all kinds, and ours - gets its verdict.
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "proptests/judge/kernel_judge.hpp"

namespace softcheck::proptests {
namespace {

struct ZooRow {
  std::string library, symbol, op, dtype, contract, require, expected, bug_class;
};

std::vector<ZooRow> read_zoo() {
  const std::string path = SOFTCHECK_SOURCE_DIR "/kernels/mutants/ZOO.tsv";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<ZooRow> rows;
  std::string line;
  std::getline(file, line);  // the header
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    ZooRow row;
    for (std::string* field :
         {&row.library, &row.symbol, &row.op, &row.dtype, &row.contract, &row.require, &row.expected, &row.bug_class}) {
      std::getline(fields, *field, '\t');
    }
    rows.push_back(row);
  }
  return rows;
}

KernelSubject subject_of(const ZooRow& row) {
  KernelSubject subject;
  subject.source = {std::string(SOFTCHECK_KERNEL_DIR) + "/lib" + row.library + ".so", row.symbol};
  subject.op = parse_op(row.op);
  const numerics::Format input = numerics::parse_format(row.dtype);
  subject.contract = numerics::parse_contract(row.contract, input, output_format(subject.op, input));
  if (row.require != "-") subject.required = parse_requirements(row.require);
  return subject;
}

JudgeOptions quick() {
  JudgeOptions options;
  options.run = options_from_environment();
  options.limits.seconds_per_call = 2;
  return options;
}

class ZooTest : public ::testing::Test {
 public:
  explicit ZooTest(ZooRow row) : row_(std::move(row)) {}
  void TestBody() override {
    const KernelJudgement judgement = judge_kernel(subject_of(row_), quick());
    const std::string verdict = to_string(judgement.verdict);
    std::istringstream accepted(row_.expected);
    std::string word;
    bool found = false;
    while (std::getline(accepted, word, '|')) found |= word == verdict;
    std::string story;
    if (judgement.counterexample) {
      story = judgement.failed_property + " on " + std::to_string(judgement.counterexample->size) +
              " logits: " + judgement.counterexample->case_text;
      for (const auto& failed : judgement.counterexample->failed) {
        story += "\n  " + failed.claim + ": " + failed.left.to_string() + " <= " + failed.right.to_string() + " " +
                 failed.witness;
      }
    }
    for (const std::string& note : judgement.notes) story += "\n  note: " + note;
    EXPECT_TRUE(found) << row_.symbol << ": expected " << row_.expected << ", got " << verdict << "\n" << story;
    // A hang is found in one time limit, not in one for each case.
    if (found) std::cout << verdict << ' ' << story << '\n';
  }

 private:
  ZooRow row_;
};

const bool registered = [] {
  for (const ZooRow& row : read_zoo()) {
    const std::string name = row.symbol + "_" + row.op + "_" + row.dtype +
                             (row.require == "-"               ? ""
                              : row.require == "deterministic" ? "_deterministic"
                                                               : "_required");
    ::testing::RegisterTest("Zoo", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [row]() -> ::testing::Test* { return new ZooTest(row); });
  }
  return true;
}();

}  // namespace
}  // namespace softcheck::proptests
