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

// What killed a mutant: its properties that did not hold, in the order they are run.
std::string matrix_line(const ZooRow& row, const KernelJudgement& judgement) {
  std::string line = row.symbol + " [" + row.bug_class + "]";
  for (const PropertyFinding& property : judgement.properties) {
    if (property.verdict != ReportVerdict::pass) line += " " + property.name + "=" + to_string(property.verdict);
  }
  return line;
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
    std::cout << matrix_line(row_, judgement) << '\n';
    if (found) std::cout << verdict << ' ' << story << '\n';
  }

 private:
  ZooRow row_;
};

TEST(ZooMatrix, NineInTenWitnessesHoldAtMostEightLogits) {
  int witnesses = 0, small = 0;
  for (const ZooRow& row : read_zoo()) {
    if (row.expected != "fail" || row.require != "-") continue;
    const KernelJudgement judgement = judge_kernel(subject_of(row), quick());
    ASSERT_TRUE(judgement.counterexample) << row.symbol;
    const std::size_t size = judgement.counterexample->size;
    std::cout << matrix_line(row, judgement) << ": " << size << " logits\n";
    ++witnesses;
    small += size <= 8;
  }
  EXPECT_GE(small * 10, witnesses * 9) << small << " of " << witnesses;
}

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
