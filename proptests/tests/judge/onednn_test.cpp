// oneDNN 2.6, a kernel that nobody here wrote: what holds of it, and the two findings that do not.
#include <filesystem>

#include "proptests/tests/judge/kernel_samples.hpp"

namespace softcheck::proptests {
namespace {

const std::string library = library_path("softcheck_peer_onednn");

KernelJudgement judged_onednn(const char* symbol, Op op, bool nan_rows, const JudgeOptions& options = {}) {
  KernelSubject subject = subject_by({library, symbol}, {.op = op});
  if (!nan_rows) subject.exempt = {"kernel.nan_row"};
  return judge_kernel(subject, options);
}

class OneDnn : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(library)) GTEST_SKIP() << "oneDNN was not found when this was built";
  }
};

// Labelled full: OneDnn.SoftmaxPassesOnNumbers
TEST_F(OneDnn, SoftmaxPassesOnNumbers) {
  EXPECT_EQ(judged_onednn("softcheck_onednn_softmax", Op::softmax, false).verdict, ReportVerdict::pass);
}

// It refuses temperatures and masks: the rows that were drawn with one count as the logits that they are.
TEST_F(OneDnn, RefusedExtrasCostNoRows) {
  const JudgeOptions options = quick_options();
  const KernelJudgement judgement = judged_onednn("softcheck_onednn_softmax", Op::softmax, false, options);
  EXPECT_GT(judgement.refused, 0U);
  EXPECT_GE(judgement.rows, options.rows);
}

// Labelled full: OneDnn.SoftmaxAnswersANanWithNumbers
TEST_F(OneDnn, SoftmaxAnswersANanWithNumbers) {
  const KernelJudgement judgement = judged_onednn("softcheck_onednn_softmax", Op::softmax, true);
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  EXPECT_EQ(judgement.failed_property, "Kernel.ANanLogitMakesItsRowNan");
}

TEST_F(OneDnn, LogSoftmaxOfOneLogitIsNotZero) {
  const KernelJudgement judgement = judged_onednn("softcheck_onednn_log_softmax", Op::log_softmax, false);
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  ASSERT_TRUE(judgement.counterexample);
  EXPECT_EQ(judgement.counterexample->size, 1u) << judgement.counterexample->case_text;
}

}  // namespace
}  // namespace softcheck::proptests
