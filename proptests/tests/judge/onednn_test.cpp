// oneDNN 2.6, a kernel that nobody here wrote: what holds of it, and the two findings that do not.
#include <gtest/gtest.h>

#include <filesystem>

#include "judge/kernel_judge.hpp"

namespace softcheck::proptests {
namespace {

const std::string library = std::string(SOFTCHECK_KERNEL_DIR) + "/libsoftcheck_peer_onednn.so";

KernelSubject subject_of(const char* symbol, Op op) {
  KernelSubject subject;
  subject.source = {library, symbol};
  subject.op = op;
  subject.contract = numerics::default_contract(numerics::Format::f32, numerics::Format::f32);
  return subject;
}

KernelJudgement judged(const char* symbol, Op op, bool nan_rows) {
  KernelSubject subject = subject_of(symbol, op);
  if (!nan_rows) subject.exempt = {"kernel.nan_row"};
  return judge_kernel(subject, {});
}

class OneDnn : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(library)) GTEST_SKIP() << "oneDNN was not found when this was built";
  }
};

// Labelled full: OneDnn.SoftmaxPassesOnNumbers
TEST_F(OneDnn, SoftmaxPassesOnNumbers) {
  EXPECT_EQ(judged("softcheck_onednn_softmax", Op::softmax, false).verdict, ReportVerdict::pass);
}

// It refuses temperatures and masks: the rows that were drawn with one count as the logits that they are.
TEST_F(OneDnn, RefusedExtrasCostNoRows) {
  JudgeOptions options = judge_options(Effort::quick);
  KernelSubject subject = subject_of("softcheck_onednn_softmax", Op::softmax);
  subject.exempt = {"kernel.nan_row"};
  const KernelJudgement judgement = judge_kernel(subject, options);
  EXPECT_GT(judgement.refused, 0U);
  EXPECT_GE(judgement.rows, options.rows);
}

// Labelled full: OneDnn.SoftmaxAnswersANanWithNumbers
TEST_F(OneDnn, SoftmaxAnswersANanWithNumbers) {
  const KernelJudgement judgement = judged("softcheck_onednn_softmax", Op::softmax, true);
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  EXPECT_EQ(judgement.failed_property, "Kernel.ANanLogitMakesItsRowNan");
}

TEST_F(OneDnn, LogSoftmaxOfOneLogitIsNotZero) {
  const KernelJudgement judgement = judged("softcheck_onednn_log_softmax", Op::log_softmax, false);
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  ASSERT_TRUE(judgement.counterexample);
  EXPECT_EQ(judgement.counterexample->size, 1u) << judgement.counterexample->case_text;
}

}  // namespace
}  // namespace softcheck::proptests
