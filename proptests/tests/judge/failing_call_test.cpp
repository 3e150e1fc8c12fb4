// A counterexample's tensors are those that the kernel was called with, and its line says what a mask hides.
#include "judge/trial/failing_call.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "judge/kernel_judge.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "judge/trial/effort.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;

KernelJudgement judged_property(Op op, const char* kernel, const char* domain, const char* property) {
  KernelSubject subject;
  subject.source = {SOFTCHECK_KERNEL_DIR "/libsoftcheck_zoo.so", kernel};
  subject.op = op;
  subject.contract = numerics::parse_contract("sum=sequential masked=nan", Format::f32, Format::f32);
  subject.domain = domain_of(domain, op);
  JudgeOptions options = judge_options(Effort::quick);
  options.only = {property};
  return judge_kernel(subject, options);
}

TEST(FailingCall, HasTheNumbersBehindTheMask) {
  const double largest = numerics::properties(Format::f32).largest;
  for (const std::string domain : {"finite", "nan=visible"}) {
    const KernelJudgement judgement =
        judged_property(Op::softmax, "mutant_mask_value_minus_1e4", domain.c_str(), "AMaskedItemIsADeletedOne");
    ASSERT_EQ(judgement.verdict, ReportVerdict::fail);
    ASSERT_TRUE(judgement.passed);
    const std::vector<double>& logits = judgement.passed->inputs.at(0).values;
    const std::vector<double>& visible = judgement.passed->inputs.at(1).values;
    ASSERT_EQ(logits.size(), visible.size());
    std::string text;
    for (const numerics::Certificate& failed : judgement.counterexample->failed) text += failed.witness;
    EXPECT_THAT(text, ::testing::HasSubstr("behind the mask: item "));
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (visible[i] != 0) continue;
      EXPECT_EQ(std::fabs(logits[i]), largest);
      EXPECT_THAT(text, ::testing::HasSubstr("item " + std::to_string(i) + " " + numerics::hex_float(logits[i])));
    }
  }
}

TEST(FailingCall, HasTheNanThatAPropertyPutsIn) {
  const KernelJudgement judgement =
      judged_property(Op::attention, "mutant_attention_nan_swallowed", "", "ANanReachesWhoeverMeetsIt");
  ASSERT_EQ(judgement.verdict, ReportVerdict::fail);
  ASSERT_TRUE(judgement.passed);
  const auto nans = [](const InputTensor& input) {
    return std::ranges::count_if(decode(input.place, encode(input)), [](double x) { return std::isnan(x); });
  };
  std::ptrdiff_t all = 0;
  for (const InputTensor& input : judgement.passed->inputs) all += nans(input);
  EXPECT_EQ(all, 1);
}

}  // namespace
}  // namespace softcheck::proptests
