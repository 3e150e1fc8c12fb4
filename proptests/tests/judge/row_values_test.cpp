// What judge_values and judge_limit find, apart from thresholds.
#include "numerics/enclosures/ulp.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

Contract contract_of(const char* words = "", Format format = Format::f32) {
  return parse_contract(words, format, format);
}

bool limit_holds(Op op, const Row& logits, const Row& got) {
  return all_hold(judge_limit(op, contract_of(), logits, 1, got));
}

TEST(JudgeLimit, EachValueIsNanOrTheLimit) {
  const Row one{0, infinity, 5}, two{infinity, 3, infinity};
  EXPECT_TRUE(limit_holds(Op::softmax, one, {0, 1, 0}));
  EXPECT_TRUE(limit_holds(Op::softmax, one, {nan, nan, nan}));
  EXPECT_TRUE(limit_holds(Op::softmax, one, {0, nan, 0}));
  EXPECT_TRUE(limit_holds(Op::softmax, two, {0.5, 0, 0.5}));
  EXPECT_FALSE(limit_holds(Op::softmax, one, {0, 0, 0}));
  EXPECT_FALSE(limit_holds(Op::softmax, one, {0, infinity, 0}));
  EXPECT_FALSE(limit_holds(Op::softmax, one, {0x1p-100, nan, 0}));
  EXPECT_FALSE(limit_holds(Op::softmax, two, {1, 0, 0}));
  EXPECT_TRUE(limit_holds(Op::log_softmax, one, {-infinity, 0, nan}));
  EXPECT_FALSE(limit_holds(Op::log_softmax, one, {-1000, 0, -infinity}));
  EXPECT_TRUE(limit_holds(Op::adaptive_softmax, two, {0.5, nan, 0.5}));
}

TEST(JudgeLimit, ScalarsHaveOneToo) {
  const Row two{infinity, 3, infinity};
  for (const double right : {infinity, nan}) EXPECT_TRUE(limit_holds(Op::logsumexp, two, {right}));
  for (const double wrong : {-infinity, 0.0, 88.0}) EXPECT_FALSE(limit_holds(Op::logsumexp, two, {wrong}));
  EXPECT_TRUE(limit_holds(Op::entropy, two, {round_to(Format::f32, std::log(2.0))}));
  EXPECT_TRUE(limit_holds(Op::entropy, two, {nan}));
  EXPECT_FALSE(limit_holds(Op::entropy, two, {0}));
}

// Under infinity=limit NaN is no answer.
TEST(JudgeLimit, IsAllThatItsWordGrants) {
  const Contract limit = contract_of("infinity=limit");
  const auto limit_alone = [&](Op op, const Row& logits, const Row& got) {
    return all_hold(judge_limit(op, limit, logits, 1, got));
  };
  const Row one{infinity, 0}, two{infinity, 3, infinity};
  EXPECT_TRUE(limit_alone(Op::logsumexp, one, {infinity}));
  EXPECT_FALSE(limit_alone(Op::logsumexp, one, {nan}));
  EXPECT_FALSE(limit_alone(Op::logsumexp, one, {-infinity}));
  EXPECT_TRUE(limit_alone(Op::softmax, one, {1, 0}));
  EXPECT_FALSE(limit_alone(Op::softmax, one, {nan, nan}));
  EXPECT_FALSE(limit_alone(Op::softmax, one, {1, nan}));
  EXPECT_TRUE(limit_alone(Op::softmax, two, {0.5, 0, 0.5}));
  EXPECT_TRUE(limit_alone(Op::log_softmax, one, {0, -infinity}));
  EXPECT_FALSE(limit_alone(Op::log_softmax, one, {0, nan}));
  EXPECT_TRUE(limit_alone(Op::entropy, one, {0}));
  EXPECT_FALSE(limit_alone(Op::entropy, one, {nan}));
}

// A pass says something of 99 values and rows of a hundred.
TEST(JudgeValues, OneInAHundredMaySayNothing) {
  const Contract contract = contract_of();
  VacuityCount few, many;
  for (int k = 0; k < 1000; ++k) {
    few.add(contract, 1, 0, k < 10);
    few.add_row(k < 10);
    many.add(contract, 1, 0, k < 11);
    many.add_row(k < 11);
  }
  EXPECT_FALSE(few.too_many());
  EXPECT_FALSE(few.too_many_unbounded());
  EXPECT_TRUE(many.too_many());
  EXPECT_TRUE(many.too_many_unbounded());
}

// 65,535 additions in order grant more than 0.0005 of 1; the roundings of the item's own exponential grant it no such
// excess over 1.
TEST(JudgeValues, NoCoefficientExceedsOneByTheSumsRoundings) {
  const Contract contract = contract_of("sum=sequential");
  Row logits(65536, -40.0), got(logits.size(), round_to(Format::f32, std::exp(-40.0)));
  logits[0] = 0;
  got[0] = 1;
  EXPECT_TRUE(all_hold(judge_values(Op::softmax, contract, logits, 1, got)));
  for (const double excess : {0x1p-20, 0x1p-12, 0x1p-10}) {
    got[0] = 1 + excess;
    EXPECT_FALSE(all_hold(judge_values(Op::softmax, contract, logits, 1, got))) << excess;
  }
}

TEST(JudgeValues, ErrorsAreCountedInSignedUlps) {
  for (const Format format : {Format::f64, Format::f32, Format::f16, Format::bf16}) {
    const Contract contract = contract_of("", format);
    const Row logits{0, 0, 0, 0};
    const double ulp_of_quarter = ulp(format, 0.25);
    const Row got{0.25 + 2 * ulp_of_quarter, 0.25 - ulp_of_quarter, 0.25, 0.25};
    const RowVerdicts verdicts = judge_values(Op::softmax, contract, logits, 1, got);
    ASSERT_EQ(verdicts.findings.front().claim, "kernel.softmax.element");
    const ErrorSums& errors = verdicts.findings.front().errors;
    EXPECT_EQ(errors.values, 4u);
    EXPECT_DOUBLE_EQ(errors.worst_ulps, 2);
    EXPECT_DOUBLE_EQ(errors.total_ulps, 1);
    EXPECT_EQ(errors.worst_element, 0u);
  }
}

// Equal items are asked for once, but each value is judged: wherever a wrong one stands among right ones, and a right
// one behind it.
TEST(JudgeValues, OneWrongValueAmongEqualItemsIsSeen) {
  const Row logits(7, 1.0);
  const double right = round_to(Format::f32, -std::log(7.0));
  const Contract contract = contract_of();
  EXPECT_TRUE(all_hold(judge_values(Op::log_softmax, contract, logits, 1, Row(7, right))));
  for (std::size_t place = 0; place < logits.size(); ++place) {
    for (const double wrong : {right * 1.5, nan, infinity}) {
      Row got(7, right);
      got[place] = wrong;
      const RowVerdicts verdicts = judge_values(Op::log_softmax, contract, logits, 1, got);
      EXPECT_FALSE(all_hold(verdicts)) << wrong << " at " << place;
      EXPECT_EQ(verdicts.findings.front().item, place) << wrong;
    }
  }
}

TEST(JudgeValues, NothingIsSaidOfMaskedItemsWhereTheLogSumExpOverflows) {
  const Contract contract = contract_of("lse=uncentred");
  const Row logits{-infinity, -0x1p+68};  // over 2^-60: beyond f32
  EXPECT_TRUE(all_hold(judge_values(Op::log_softmax, contract, logits, 0x1p-60, Row{nan, nan})));
  const Row near{-infinity, 1};
  EXPECT_FALSE(all_hold(judge_values(Op::log_softmax, contract, near, 1, Row{nan, 0})));
}

}  // namespace
}  // namespace softcheck::proptests
