// Every bug of reported_bugs.cpp: a right kernel passes on the reported case, the one with the bug is rejected, by the
// claim that is named.
#include "proptests/tests/judge/reported_bugs.hpp"

#include <gtest/gtest.h>

#include "judge/kernel_judge.hpp"
#include "proptests/tests/judge/zoo_rows.hpp"

namespace softcheck::proptests {
namespace {

// The row of the zoo that says what such a kernel promises, the strictest where there are several.
ZooRow zoo_row(const std::string& symbol, const std::string& op, const std::string& dtype) {
  std::vector<ZooRow> zoo = read_zoo();
  std::stable_partition(zoo.begin(), zoo.end(), [](const ZooRow& row) { return row.require != "-"; });
  for (const ZooRow& row : zoo) {
    if (row.symbol == symbol && row.op == op && row.dtype == dtype) return row;
  }
  throw std::runtime_error("the zoo has no " + symbol + " " + op + " " + dtype);
}

KernelJudgement replayed(const KernelSubject& subject, const ReportedBug& bug) {
  JudgeOptions options = judge_options(Effort::quick);
  options.limits.seconds_per_call = 120;  // no bug hangs, and loaded machines and emulators are slow
  return replay_kernel(subject, std::string("Kernel.") + bug.property, bug.reported, options);
}

class ReportedBugTest : public ::testing::Test {
 public:
  explicit ReportedBugTest(const ReportedBug& bug) : bug_(bug) {}
  void TestBody() override {
    const std::string right = bug_.right != nullptr ? bug_.right : std::string("softcheck_") + bug_.op;
    const KernelSubject wrong = subject_of(zoo_row(bug_.mutant, bug_.op, bug_.dtype));
    KernelSubject subject = subject_of(zoo_row(right, bug_.op, bug_.dtype));
    subject.required = wrong.required;
    EXPECT_EQ(replayed(subject, bug_).verdict, ReportVerdict::pass) << right;

    const KernelJudgement judgement = replayed(wrong, bug_);
    ASSERT_TRUE(judgement.counterexample) << bug_.mutant << " is not rejected";
    std::string failed;
    bool named = false;
    for (const auto& certificate : judgement.counterexample->failed) {
      named |= certificate.claim == bug_.claim;
      failed += "\n  " + certificate.claim + ": " + certificate.witness;
    }
    EXPECT_TRUE(named) << bug_.mutant << " is rejected, but not by " << bug_.claim << ":" << failed;
  }

 private:
  const ReportedBug& bug_;
};

[[maybe_unused]] const bool registered = [] {
  for (const ReportedBug& bug : reported_bugs()) {
    ::testing::RegisterTest("ReportedBugs", bug.name, nullptr, nullptr, __FILE__, __LINE__,
                            [&bug]() -> ::testing::Test* { return new ReportedBugTest(bug); });
  }
  return true;
}();

}  // namespace
}  // namespace softcheck::proptests
