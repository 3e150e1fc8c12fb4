// What judge_values and judge_limit find, apart from thresholds.
#include "judge/ops/rows/row_elements.hpp"
#include "judge/verdict/certificate_text.hpp"
#include "judge/verdict/value_certificate.hpp"
#include "numerics/enclosures/decision.hpp"
#include "numerics/enclosures/ulp.hpp"
#include "numerics/rounding/rounding.hpp"
#include "numerics/rows/row_oracle.hpp"
#include "proptests/report/report.hpp"
#include "proptests/tests/judge/row_samples.hpp"
#include "proptests/tests/judge/tensor_samples.hpp"

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

// A published threshold is what the judge grants, and a share of it lies on the verdict's side of 1.

// The number of doubles that lies next to exact + distance on the side of exact, where no double is closer.
double last_within(const Enclosure& exact, double distance, int side) {
  const auto is_within = [&](double x) {
    return less_equal(abs(Enclosure(x) - exact), Enclosure(distance)) == Decision::proved;
  };
  double x = exact.midpoint() + side * distance;
  while (is_within(x)) x = std::nextafter(x, side * infinity);
  while (!is_within(x)) x = std::nextafter(x, -side * infinity);
  return x;
}

TensorJudgement judged(const TensorTask& task, const Contract& contract, const std::vector<double>& values) {
  const StoredTensor output = stored(Format::f64, output_shape(task), values);
  TensorOptions options;
  options.exempt = {"kernel.softmax.row_sum"};
  return judge_tensors(task, contract, std::vector{output.held()}, options);
}

void expect_share(const TensorJudgement& judgement, const std::string& what) {
  ASSERT_EQ(judgement.worst.size(), 1u) << what;
  const JudgedTensorRow& row = judgement.worst.front();
  const double share = row.share;
  const bool fails = judgement.failed > 0;
  if (fails) {
    EXPECT_GT(share, 1) << what;
  } else {
    EXPECT_LE(share, 1) << what;
  }
  EXPECT_EQ(row.finding.decision == Decision::violated, fails) << what;
  for (std::size_t bin = 0; bin < judgement.histogram.size(); ++bin) {
    if (judgement.histogram[bin] == 0) continue;
    EXPECT_EQ(static_cast<double>(bin) * slack_bin_width >= 1, fails) << what << ", share " << share;
  }
  const ReportRow& claim = row_of_claim(judgement, std::string(row.finding.claim));
  EXPECT_EQ(claim.slack, share) << what;
  for (const Certificate& certificate : claim.failed) EXPECT_GT(certificate.slack, 1) << what;
}

// To the last double: a wide threshold spans so many of them that 2^-50 of it is one.
TEST(GrantedValues, OfSoftmaxAreNeverMoreThanTheJudgeGrants) {
  const PrecisionScope precision(300);
  for (const double theta : {1.0, 0.7}) {
    for (const char* words : {"acc=bf16", "acc=bf16 exp=E:50,A:3", "acc=f32 exp=E:1e6,A:1"}) {
      const std::vector<double> numbers = sample_numbers(Format::f64, 24, 3, 77);
      const StoredTensor logits = stored(Format::f64, {1, 24}, numbers);
      const TensorTask task{.inputs = {logits.held()}, .theta = theta};
      const Contract contract = contract_for(task, words);
      const ElementBounds published(task, contract);
      const RowOracle oracle(numbers, theta);
      std::size_t inside = 0, beyond = 0;
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        for (const int side : {-1, 1}) {
          std::vector<double> values = published.lower;
          values[i] = last_within(oracle.softmax(i), published.allowed[i], side);
          if (values[i] <= 0 || values[i] > 1) continue;  // rules of their own
          const std::string what = std::string(words) + " item " + std::to_string(i) + (side < 0 ? " below" : " above");
          ++inside;
          TensorJudgement judgement = judged(task, contract, values);
          EXPECT_EQ(judgement.failed, 0u) << what << details_text(judgement);
          expect_share(judgement, what);
          // Behind a few units of 2^-50, which the published threshold may be less, it fails.
          values[i] += side * (0x1p-47 * published.allowed[i] + 4 * 0x1p-53 * values[i]);
          if (values[i] <= 0 || values[i] > 1) continue;
          ++beyond;
          judgement = judged(task, contract, values);
          EXPECT_EQ(judgement.failed, 1u) << what << details_text(judgement);
          expect_share(judgement, what);
        }
      }
      // Wide thresholds reach below 0, and those of the largest items above 1.
      EXPECT_GE(2 * inside, numbers.size()) << words;
      EXPECT_GE(2 * beyond, numbers.size()) << words;
    }
  }
}

TEST(GrantedValues, ShareOfAThresholdIsOnTheSideOfTheVerdict) {
  ValueFinding finding{"kernel.softmax.element", 0, Enclosure::between(0.9, 1.1), 2, 1, Decision::proved, {}, false};
  const auto slack = [&] { return certificate_of(finding, {}, Format::f64).slack; };
  EXPECT_EQ(slack(), 1);
  EXPECT_LE(finding.share(), 1);
  finding.expected = Enclosure(1.25);
  finding.decision = Decision::violated;
  EXPECT_GT(finding.share(), 1);
  EXPECT_LT(finding.share(), 1.001);
  EXPECT_GT(slack(), 1);
  // A rule that no threshold excuses.
  finding.reason = "no coefficient is negative or -0";
  EXPECT_EQ(finding.share(), infinity);
  EXPECT_EQ(slack(), infinity);
}

TEST(GrantedValues, AShareIsToldOnTheSideOfTheVerdict) {
  EXPECT_EQ(slack_text(1), "1");
  EXPECT_EQ(slack_text(1 + 0x1p-52), ">1");
  EXPECT_EQ(slack_text(1 - 0x1p-53), "<1");
  EXPECT_EQ(slack_text(1.001), "1.001");
  EXPECT_EQ(times_threshold(1 + 0x1p-52), "just beyond the threshold");
  EXPECT_EQ(times_threshold(1), "1 times the threshold");
  EXPECT_EQ(times_threshold(1.01), "1.01 times the threshold");
}

// An infinite result is granted where the exact value and the kernel's error before the last rounding reach the middle
// beyond the largest number, and that error counts once.
TEST(GrantedValues, AnInfiniteResultIsGrantedTheErrorOnce) {
  const PrecisionScope precision(113);
  for (const Format output : {Format::f16, Format::bf16, Format::f32}) {
    const Contract contract = parse_contract("acc=f32", Format::f32, output);
    const double limit = infinity_from(output), u = properties(output).unit_roundoff;
    const double threshold = 4 * u * limit, error = error_before_output(contract, threshold, limit);
    ASSERT_GT(error, u * limit);
    for (const double sign : {1.0, -1.0}) {
      const auto granted = [&](double errors) {
        return overflows_rightly(contract, sign * infinity, Enclosure(sign * (limit - errors * error)), threshold);
      };
      EXPECT_TRUE(granted(0.75)) << static_cast<int>(output);
      EXPECT_FALSE(granted(1.5)) << static_cast<int>(output);
    }
  }
}

// What is known of a value may be nothing at all.
TEST(GrantedValues, AValueOfWhichNothingIsKnownIsNoException) {
  const PrecisionScope precision(113);
  const Enclosure line = Enclosure::between(-infinity, infinity);
  for (const Format output : {Format::bf16, Format::f32}) {
    const Contract contract = parse_contract("", Format::f32, output);
    EXPECT_TRUE(overflows_rightly(contract, infinity, line, 1));
    EXPECT_TRUE(overflows_rightly(contract, -infinity, line, infinity));
    EXPECT_FALSE(overflows_rightly(contract, infinity, Enclosure(-1), 1));
  }
  EXPECT_EQ(upper(size_of(quick_of(line))), infinity);
  EXPECT_EQ(quick_of(line).within(1, 0), Decision::undecided);
}

// What subnormal=flushed may take is granted those alone that may have been flushed.
TEST(GrantedValues, OfEachOpAreLessThanWhatIsFlushedWhereNothingIs) {
  constexpr double smallest_normal = 0x1p-14;  // of f16
  const auto of = [](const Shape& shape, const std::vector<double>& numbers) {
    return stored(Format::f16, shape, numbers);
  };
  const StoredTensor logits = of({1, 2}, {-4, 0}), query = of({1, 2}, {0.5, 0.5}), key = of({2, 2}, {2, 0, -2, 1}),
                     value = of({2, 1}, {0.0625, 0}), parts = of({2, 1, 1}, {0.0625, 0}), gradient = of({1, 1}, {1}),
                     lse = stored(Format::f32, {2, 1}, {0, 1});
  TensorTask topk{.op = Op::topk_softmax, .inputs = {logits.held()}};
  topk.attributes.k = 2;
  TensorTask top_p{.op = Op::top_p_softmax, .inputs = {logits.held()}};
  top_p.attributes.top_p = 1;
  // How often N stands in what is granted a result that is not 0: a gradient's forward pass stores its output, and what
  // a weight of top-p may lose is divided by a sum.
  const struct {
    TensorTask task;
    double times;
  } cases[] = {
      {{.op = Op::softmax, .inputs = {logits.held()}}, 0},
      {topk, 0},
      {top_p, 1},
      {{.op = Op::merge_states, .inputs = {parts.held(), lse.held()}}, 0},
      {{.op = Op::attention, .inputs = {query.held(), key.held(), value.held()}}, 0},
      {{.op = Op::attention_backward,
        .inputs = {query.held(), key.held(), value.held(), gradient.held()},
        .roles = {Role::query, Role::key, Role::value, Role::out_gradient}},
       4},
  };
  for (const auto& [task, times] : cases) {
    const ElementBounds kept(task, contract_for(task, "acc=f32 subnormal=kept", Format::f16)),
        flushed(task, contract_for(task, "acc=f32 subnormal=flushed", Format::f16));
    std::size_t met = 0;
    for (std::size_t i = 0; i < kept.allowed.size(); ++i) {
      if (!(std::fabs(kept.lower[i]) > 8 * smallest_normal && std::fabs(kept.lower[i]) <= 0.25)) continue;
      ++met;
      EXPECT_LT(flushed.allowed[i], kept.allowed[i] + (times + 0.5) * smallest_normal)
          << to_string(task.op) << " " << i;
    }
    EXPECT_GT(met, 0u) << to_string(task.op);
  }
}

}  // namespace
}  // namespace softcheck::proptests
