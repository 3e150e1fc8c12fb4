// A counterexample's tensors are those that the kernel was called with, and its line says what a mask hides. In the
// domain nan=visible NaN is asked where nothing hides it, and stands behind no mask.
#include "judge/trial/failing_call.hpp"

#include "judge/ops/attention/attention_poison.hpp"
#include "proptests/tests/judge/attention_samples.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

KernelJudgement judged_property(Op op, const char* kernel, const char* domain, const char* property) {
  return judged(zoo_subject(kernel, {.op = op, .contract = "sum=sequential masked=nan", .domain = domain}), {property});
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
    EXPECT_THAT(text, HasSubstr("behind the mask: item "));
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (visible[i] != 0) continue;
      EXPECT_EQ(std::fabs(logits[i]), largest);
      EXPECT_THAT(text, HasSubstr("item " + std::to_string(i) + " " + numerics::hex_float(logits[i])));
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

KernelJudgement judged_in(const char* kernel, const char* domain) {
  return judged(zoo_subject(kernel, {.op = Op::attention, .contract = "sum=sequential masked=nan", .domain = domain}),
                {"AMaskedItemIsADeletedOne", "ALaterKeyIsNotThere", "ANanReachesWhoeverMeetsIt"});
}

std::set<std::string> broken_claims(const KernelJudgement& judgement) {
  std::set<std::string> claims;
  for (const PropertyFinding& property : judgement.properties) {
    if (!property.outcome.counterexample) continue;
    for (const numerics::Certificate& failed : property.outcome.counterexample->failed) claims.insert(failed.claim);
  }
  return claims;
}

// torch's attention, which finite cannot accuse.
TEST(VisibleNan, ThatBecomesANumberIsAFailure) {
  EXPECT_EQ(broken_claims(judged_in("mutant_attention_nan_of_few_keys", "nan=visible")),
            std::set<std::string>{"kernel.nan_row"});
  EXPECT_TRUE(broken_claims(judged_in("mutant_attention_nan_of_few_keys", "finite")).empty());
}

// A mask that is added: a NaN behind it is no less NaN.
TEST(VisibleNan, StandsBehindNoMask) {
  EXPECT_TRUE(broken_claims(judged_in("attention_correct_mask_added", "nan=visible")).empty());
  EXPECT_FALSE(broken_claims(judged_in("attention_correct_mask_added", "")).empty());
}

TEST(VisibleNan, IsInAKeyThatEveryQuerySees) {
  AttentionCase a;
  from_text(
      "attention f32 batch=1 kv=1 group=1 queries=2 keys=3 dim=1 values=1 scale=0x1p+0 causal=0 outputs=1 layout=0 "
      "mask=heads:101110 q 0x1p+0*2 k 0x0p+0*3 v 0x1p+0*3",
      a);
  for (const auto position : {NanPlace::Position::first, NanPlace::Position::middle, NanPlace::Position::last}) {
    a.nan = NanPlace{NanPlace::Tensor::key, position, NanPlace::Bits::quiet}.number();
    const PoisonedCase poisoned(a, true);
    EXPECT_TRUE(std::isnan(poisoned.attention.keys[0]));
    EXPECT_FALSE(std::isnan(poisoned.attention.keys[1]) || std::isnan(poisoned.attention.keys[2]));
  }
  a.mask = {1, 0, 0, 0, 1, 1};  // no key is seen by both
  EXPECT_EQ(PoisonedCase(a, true).place.tensor, NanPlace::Tensor::query);
  EXPECT_EQ(PoisonedCase(a).place.tensor, NanPlace::Tensor::key);
}

}  // namespace
}  // namespace softcheck::proptests
