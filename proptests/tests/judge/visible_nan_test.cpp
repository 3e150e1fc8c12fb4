// The domain nan=visible: NaN is asked where nothing hides it, and stands behind no mask.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "judge/kernel_judge.hpp"
#include "judge/ops/attention/attention_poison.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "judge/trial/effort.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;

KernelJudgement judged_in(const char* kernel, const char* domain, const char* contract = "sum=sequential masked=nan") {
  KernelSubject subject;
  subject.source = {SOFTCHECK_KERNEL_DIR "/libsoftcheck_zoo.so", kernel};
  subject.op = Op::attention;
  subject.contract = numerics::parse_contract(contract, Format::f32, Format::f32);
  subject.domain = domain_of(domain, subject.op);
  JudgeOptions options = judge_options(Effort::quick);
  options.only = {"AMaskedItemIsADeletedOne", "ALaterKeyIsNotThere", "ANanReachesWhoeverMeetsIt"};
  return judge_kernel(subject, options);
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
