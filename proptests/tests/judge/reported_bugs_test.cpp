// Softmax bugs that were reported in public, each re-enacted by a kernel of the zoo on what was reported
// (reported_bugs.tsv): a right kernel passes on the reported case, the one with the bug is rejected, by the claim that
// is named.
#include "proptests/tests/judge/zoo_rows.hpp"

namespace softcheck::proptests {
namespace {

struct ReportedBug {
  std::string name;    // of its test: the project, the number of the issue or pull request, what was seen
  std::string mutant;  // the kernel that has the bug
  std::string op, dtype;
  std::string property;  // by which the judge rejects it
  std::string claim;     // that the reported case violates
  std::string reported;  // the case, as a replay line has it
  std::string right;     // a kernel that gets it right; "-": ours
};

std::vector<ReportedBug> reported_bugs() {
  std::ifstream file(SOFTCHECK_SOURCE_DIR "/proptests/tests/judge/reported_bugs.tsv");
  std::vector<ReportedBug> bugs;
  std::string line;
  for (std::getline(file, line); std::getline(file, line);) {  // the first line has the columns' names
    const std::vector<std::string> f = split(line, '\t');
    if (f.size() != 8) throw std::runtime_error("reported_bugs.tsv: need 8 fields in '" + line + "'");
    bugs.push_back({f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]});
  }
  if (bugs.empty()) throw std::runtime_error("reported_bugs.tsv: need a bug");
  return bugs;
}

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
  JudgeOptions options = quick_options();
  options.limits.seconds_per_call = 120;  // no bug hangs, and loaded machines and emulators are slow
  return replay_kernel(subject, "Kernel." + bug.property, bug.reported, options);
}

class ReportedBugTest : public ::testing::Test {
 public:
  explicit ReportedBugTest(ReportedBug bug) : bug_(std::move(bug)) {}
  void TestBody() override {
    const std::string right = bug_.right != "-" ? bug_.right : "softcheck_" + bug_.op;
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
  const ReportedBug bug_;
};

[[maybe_unused]] const bool registered = [] {
  for (const ReportedBug& bug : reported_bugs()) {
    ::testing::RegisterTest("ReportedBugs", bug.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [bug]() -> ::testing::Test* { return new ReportedBugTest(bug); });
  }
  return true;
}();

}  // namespace
}  // namespace softcheck::proptests
