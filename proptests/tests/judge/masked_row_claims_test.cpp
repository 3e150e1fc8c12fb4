// kernel.masked_row is asked where the domain of attention has a row that sees nothing, and of a gradient as masked=
// says.
#include "judge/trial/kernel_claims.hpp"
#include "proptests/tests/judge/attention_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

TEST(MaskedRowClaims, ADomainSaysWhetherAQueryMaySeeNothing) {
  const auto may = [](const std::string& words, bool gradient = false) {
    return may_see_nothing(parse_domain(words, true), gradient);
  };
  for (const char* words :
       {"keys>=1 nomask queries=1", "keys>=1 nomask nocausal", "keys=8 queries=8 nomask", "keys>=8 queries<=8 nomask",
        "keys>=1 nomask causal=top-left", "keys=8 queries=8 nomask window", "keys>=1 packed nocausal",
        "nomask queries=keys", "nomask causal queries<=keys"}) {
    EXPECT_FALSE(may(words)) << words;
  }
  for (const char* words : {"", "nomask", "keys>=1", "keys>=1 nomask", "keys=8 queries=9 nomask",
                            "keys=8|16 queries=8|17 nomask", "keys>=1 nomask nocausal window", "keys>=1 packed"}) {
    EXPECT_TRUE(may(words)) << words;
  }
  EXPECT_FALSE(may("keys>=1 queries>=1 nomask nocausal", true));
  EXPECT_TRUE(may("keys>=1 queries>=1 nomask causal=top-left", true));
  EXPECT_TRUE(may("keys>=1 nomask nocausal", true));
  EXPECT_FALSE(may("nomask queries=keys", true));
  EXPECT_TRUE(may("nomask queries<=keys", true));
}

// Labelled full: MaskedRowClaims.RightKernelsOfDomainsWithoutMaskedRowsPass
TEST(MaskedRowClaims, RightKernelsOfDomainsWithoutMaskedRowsPass) {
  const std::string small = " finite nomask batch>=1 batch<=2 heads>=1 heads<=4 dim>=1 dim<=8 values>=1 values<=8";
  std::vector<std::pair<Op, std::string>> asked{
      {Op::attention, "queries=1 keys>=1 keys<=32"},
      {Op::attention, "queries=8 keys=8"},
      {Op::attention_backward, "nocausal queries>=1 queries<=8 keys>=1 keys<=16"}};
  for (const auto& [op, domain] : asked) {
    const char* symbol = op == Op::attention ? "attention_correct_two_pass" : "attention_backward_correct_saved";
    const KernelJudgement judgement =
        judge_kernel(zoo_subject(symbol, {.op = op, .domain = domain + small}), quick_options({}, 8));
    EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << domain;
    for (const std::string& note : judgement.notes) EXPECT_THAT(note, Not(HasSubstr("decided in no call")));
  }
}

// Calls that are made smaller so that they lie in the domain may have more queries than keys.
// Labelled full: MaskedRowClaims.RightKernelsOfFewKeysPass
TEST(MaskedRowClaims, RightKernelsOfFewKeysPass) {
  for (const char* domain : {"keys<=4", "keys=1 queries<=3", "nomask keys<=3 window"}) {
    const KernelJudgement judgement =
        judged(zoo_subject("attention_correct_attributes", {.op = Op::attention, .domain = domain}),
               {"ScoresReachTheirRange", "AFullyMaskedRowIsAsDeclared"});
    EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << domain << ": " << judgement.failed_property;
  }
}

// Two causal queries of one key: the first one sees none. Under masked=uniform it weighs that key with 1, so that dv
// has its dO; its hidden score has no gradient.
TEST(MaskedRowClaims, AUniformQueryIsInTheGradientOfItsValues) {
  AttentionCase call;
  call.shape = {.queries = 2, .keys = 1};
  call.causal = true;
  call.queries = {0.5, -0.25};
  call.keys = {2};
  call.values = {3};
  call.gradients = {1, 0.75};
  const auto holds = [&](const std::string& masked, double dv, double dk = 0) {
    return broken_claims(gradient_task(Format::f32, "masked=" + masked), call, {{0, 0}, {dk}, {dv}}).empty();
  };
  EXPECT_TRUE(holds("uniform", 1.75));
  EXPECT_FALSE(holds("uniform", 0.75));
  EXPECT_FALSE(holds("uniform", 1.75, 1));
  for (const char* masked : {"nan", "zero"}) {
    EXPECT_TRUE(holds(masked, 0.75)) << masked;
    EXPECT_FALSE(holds(masked, 1.75)) << masked;
  }
  // No query sees a key: dv is the mean of dO over the keys.
  call.causal = false;
  call.mask = {0, 0};
  EXPECT_TRUE(holds("uniform", 1.75));
  EXPECT_FALSE(holds("uniform", 0));
  EXPECT_TRUE(holds("zero", 0));
}

// The same two queries and their key, packed behind a longer sequence: their weights are of their own key alone.
TEST(MaskedRowClaims, AUniformQueryOfAPackedSequenceWeighsItsOwnKeys) {
  AttentionCase call;
  call.shape = {.batch = 2, .queries = 3, .keys = 3};
  call.causal = true;
  call.sequences = {.packed = true, .queries = {0, 2}, .keys = {3, 1}};
  call.queries = {0, 0, 0, 0.5, -0.25, 0};
  call.keys = {1, 1, 1, 2, 0, 0};
  call.values = {1, 1, 1, 3, 0, 0};
  call.gradients = {0, 0, 0, 1, 0.75, 0};
  const auto holds = [&](const std::string& masked, double dv) {
    const std::vector<double> none(6);
    const AttentionTask task = gradient_task(Format::f32, "masked=" + masked);
    return broken_claims(task, call, {none, none, {0, 0, 0, dv, 0, 0}}).empty();
  };
  EXPECT_TRUE(holds("uniform", 1.75));
  EXPECT_FALSE(holds("uniform", 0.75));
  EXPECT_TRUE(holds("zero", 0.75));
  EXPECT_FALSE(holds("zero", 1.75));
}

}  // namespace
}  // namespace softcheck::proptests
