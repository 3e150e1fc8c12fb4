#include <array>
#include <random>
#include <utility>

#include "judge/ops/attention/query_oracles.hpp"
#include "judge/ops/attention/sigmoid_thresholds.hpp"
#include "judge/ops/rows/long_softmax.hpp"
#include "judge/ops/rows/product_sums.hpp"
#include "judge/ops/rows/sharpened_row.hpp"
#include "judge/ops/rows/softmax_bounds.hpp"
#include "judge/results/tensor_judge.hpp"
#include "numerics/enclosures/decision.hpp"
#include "numerics/oracles/adaptive_oracle.hpp"
#include "numerics/rows/enclosed_row.hpp"
#include "proptests/tests/judge/attention_samples.hpp"
#include "proptests/tests/judge/row_samples.hpp"

// Sigmoid attention: what a kernel may return for one query, and what its calls have.

namespace softcheck::proptests {
namespace {

using namespace numerics;

Enclosure exactly(long double x) { return LongApproximation{x, 0}.enclosure(); }

struct LongRow {
  std::vector<LongApproximation> logits;
  std::vector<double> values;
};

LongRow random_row(std::size_t n, double spread, double error, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  LongRow row;
  for (std::size_t j = 0; j < n; ++j) {
    row.logits.push_back({spread * normal(engine), error});
    row.values.push_back(normal(engine));
  }
  return row;
}

// The row with each logit moved by as much as its error allows, this way or that.
EnclosedRow moved(const LongRow& row, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<std::optional<Enclosure>> logits;
  for (const LongApproximation& logit : row.logits) {
    const Enclosure value = exactly(logit.value), error = exactly(logit.error);
    logits.emplace_back(engine() % 2 == 0 ? value + error : value - error);
  }
  return EnclosedRow(std::move(logits));
}

void expect_close(const LongApproximation& got, const Enclosure& exact, const std::string& what) {
  const Enclosure difference = abs(exactly(got.value) - exact);
  EXPECT_EQ(less_equal(difference, exactly(got.error)), Decision::proved)
      << what << ": " << difference << " beyond " << got.error;
}

ProductSums outputs_of(const LongSoftmax& softmax, const LongRow& row) {
  ProductSums outputs(1, Digits::of_long_double);
  for (std::size_t j = 0; j < softmax.size(); ++j) {
    const LongApproximation coefficient = softmax.coefficient(j);
    outputs.add({coefficient, at_most(coefficient).value(), {}, {}}, std::span(row.values).subspan(j, 1));
  }
  return outputs;
}

void expect_all(const LongSoftmax& got, const EnclosedRow& exact, const LongRow& row, const std::string& what) {
  expect_close(got.maximum(), exact.maximum(), what + " maximum");
  expect_close(got.logsumexp(), exact.logsumexp(), what + " logsumexp");
  expect_close(got.entropy(), exact.entropy(), what + " entropy");
  expect_close(got.entropy_with_epsilon(), entropy_with_epsilon(exact), what + " entropy with epsilon");
  Enclosure mean(0), square_mean(0), output(0), sizes(0);
  for (std::size_t j = 0; j < exact.size(); ++j) {
    const Enclosure p = exact.softmax(j), deviation = exact.maximum() - exact.logit(j);
    expect_close(got.coefficient(j), p, what + " coefficient");
    expect_close(got.deviation(j), deviation, what + " deviation");
    mean += p * deviation;
    square_mean += p * square(deviation);
    output += p * Enclosure(row.values[j]);
    sizes += p * Enclosure(std::fabs(row.values[j]));
  }
  expect_close(got.mean_deviation(), mean, what + " mean deviation");
  expect_close(got.mean_square_deviation(), square_mean, what + " mean square deviation");
  const ProductSums outputs = outputs_of(got, row);
  expect_close(outputs.total(0), output, what + " output");
  EXPECT_EQ(less_equal(sizes, Enclosure(outputs.size(0))), Decision::proved) << what;
}

TEST(LongSoftmax, NothingIsFurtherFromTheTruthThanItSays) {
  const PrecisionScope precision(256);
  for (const std::size_t n : {1, 2, 17, 80}) {
    for (const double spread : {0.0, 1e-3, 1.0, 30.0, 1e4}) {
      for (const double error : {0.0, 1e-15, 1e-6, 3e-4}) {
        const LongRow row = random_row(n, spread, error, n);
        const LongSoftmax softmax(row.logits);
        ASSERT_TRUE(softmax.usable());
        for (const std::uint64_t seed : {1, 2}) {
          const EnclosedRow exact = moved(row, seed);
          const std::string what =
              std::to_string(n) + " logits, spread " + std::to_string(spread) + ", error " + std::to_string(error);
          expect_all(softmax, exact, row, what);
          const LongApproximation beta{1.75L, error / 8};
          if (const LongSoftmax sharpened = softmax.sharpened(beta); sharpened.usable()) {
            expect_all(sharpened, exact.scaled(Enclosure(1.75) + exactly(beta.error)), row, what + ", sharpened");
          }
        }
      }
    }
  }
}

// Weights on both sides of the exponent from which they are taken for 0, beside the largest values: an error that is
// no double counts, too.
TEST(LongSoftmax, AWeightThatIsLeftOutCounts) {
  const PrecisionScope precision(256);
  for (const double deviation : {700.0, 760.0, 5000.0, 11299.0, 11301.0, 11340.0}) {
    const LongRow row{{{0, 0}, {-deviation, 0}, {-deviation, 0x1p-30}}, {0, 0x1p1023, -0x1p1022}};
    expect_all(LongSoftmax(row.logits), moved(row, 1), row, "deviation " + std::to_string(deviation));
    EXPECT_LT(LongSoftmax(row.logits).coefficient(1).error, deviation < 740 ? 0x1p-1060L : 0x1p-1110L);
  }
}

// The largest logit in magnitude need not be the maximum, and may be off by its error.
TEST(LongSoftmax, StatisticsHoldTheErrors) {
  const std::vector<LongApproximation> logits{{-7, 0x1p-11L}, {1, 0x1p-12L}, {-7, 0x1p-12L}};
  EXPECT_GE(score_statistics(LongSoftmax(logits)).largest_magnitude.value(), 7 + 0x1p-11);
}

TEST(LongSoftmax, ItsErrorsAreThoseOfSixtyFourBits) {
  const LongRow row = random_row(300, 1, 0, 5);
  const LongSoftmax softmax(row.logits);
  EXPECT_LT(softmax.logsumexp().error, 0x1p-53);
  EXPECT_LT(softmax.entropy().error, 0x1p-50);
  EXPECT_LT(outputs_of(softmax, row).total(0).error, 0x1p-53);
}

TEST(LongSoftmax, LogitsThatMayBeAnythingAreOfNoUse) {
  EXPECT_FALSE(LongSoftmax(random_row(3, 1, 0.01, 1).logits).usable());
  // Where the weight is nothing, so is its error.
  const std::vector<LongApproximation> far{{0, 0}, {-20000, 1}};
  EXPECT_TRUE(LongSoftmax(far).usable());
}

// What follows a score, from scores that are exact and from some that err.
TEST(LongSoftmax, CapsAndShiftsErrByNoMoreThanTheySay) {
  const PrecisionScope precision(256);
  std::mt19937_64 engine(5);
  std::normal_distribution<double> normal;
  for (int k = 0; k < 400; ++k) {
    const double error = k % 2 == 0 ? 0 : 0x1p-40, cap = std::ldexp(1.1, k % 12 - 6);
    const LongApproximation score{4 * normal(engine), error};
    const Enclosure moved = exactly(score.value) + Enclosure(error);
    const Enclosure capped = Enclosure(cap) * tanh(moved / Enclosure(cap));
    expect_close(capped_score(score, cap), capped, "capped");
    const double slope = normal(engine), distance = static_cast<double>(engine() % 5000), bias = normal(engine);
    const Enclosure shifted = moved - Enclosure(slope) * Enclosure(distance) + Enclosure(bias);
    expect_close(shifted_score(score, slope, distance, bias), shifted, "shifted");
  }
}

// Products beyond the doubles make a score's error infinite. Where the cap saturates 0 times that was NaN, which ended
// the judgement of the gradient.
TEST(LongSoftmax, ACapBoundsWhateverAScoreErrsBy) {
  const LongApproximation score{-1e320L, INFINITY};
  EXPECT_LE(capped_score(score, 2).error, 4.1L);
  EXPECT_LE(capped_slope(score, 2).error, 1.1L);
  EXPECT_LE(capped_slope({0, INFINITY}, 2).error, 1.1L);
}

TEST(LongSoftmax, WhatIsNotKnownIsTheWholeLine) {
  const PrecisionScope precision(113);
  const long double infinite = std::numeric_limits<long double>::infinity(), none = infinite - infinite;
  for (const LongApproximation& unknown : {LongApproximation{1, infinite}, LongApproximation{1, none},
                                           LongApproximation{infinite, 0}, LongApproximation{none, 0}}) {
    const Enclosure line = unknown.enclosure();
    EXPECT_FALSE(line.is_nan());
    EXPECT_TRUE(line.contains(Enclosure::between(-infinity, infinity)));
  }
}

std::vector<RowCase> rows(Format format, int count) {
  RowOptions options;
  options.formats = {format};
  options.max_length = 90;
  options.theta_exponent = 0;
  return drawn(row_cases(options), count, 5, 100);
}

// What a row at beta is made of, and how wide it may be: relative to p.
struct SumsCase {
  Sums by;
  double width, error;
};
constexpr std::array sums_cases{SumsCase{Sums::double_double, 0x1p-80, 0x1p-40},
                                SumsCase{Sums::filter, 0x1p-35, 0x1p-35}};

TEST(SharpenedRow, AgreesWithTheOracle) {
  const PrecisionScope precision(113);
  for (const EntropyDefinition definition : {EntropyDefinition::exact, EntropyDefinition::paper}) {
    for (const RowCase& row_case : rows(Format::f32, 120)) {
      const std::vector<double> logits = row_case.row.expand();
      const AdaptiveRowOracle oracle(logits, definition);
      for (const auto& [by, width, error] : sums_cases) {
        RowCascade plain(logits);
        SharpenedRow sharp(plain, logits, definition, by);
        for (std::size_t i = 0; i < logits.size(); ++i) {
          if (!std::isfinite(logits[i])) continue;
          const Enclosure exact = oracle.softmax(i);
          EXPECT_TRUE(sharp.softmax(i).overlaps(exact)) << to_text(row_case) << " item " << i;
          EXPECT_LE(sharp.softmax(i).width(), exact.lower_double() * width + 0x1p-1000);
          const SharpenedRow::Near near = sharp.near(i);
          const Enclosure about = Enclosure(near.value) + Enclosure::between(-near.error, near.error);
          EXPECT_TRUE(about.overlaps(exact)) << to_text(row_case) << " item " << i;
          EXPECT_LE(near.error, near.value * error + 0x1p-980);
          EXPECT_GE(sharp.deviation_bound(i), oracle.sharpened().deviation(i).lower_double() * (1 - width));
          const auto finer = static_cast<double>(sharp.finer(i));
          EXPECT_LE(std::fabs(finer - exact.midpoint()), exact.upper_double() * std::fmax(0x1p-52, width));
        }
      }
    }
  }
}

TEST(SharpenedRow, ItsStatisticsBoundThoseOfTheOracle) {
  const PrecisionScope precision(113);
  const Contract contract = default_contract(Format::f32, Format::f32);
  for (const RowCase& row_case : rows(Format::f32, 200)) {
    const std::vector<double> logits = row_case.row.expand();
    RowCascade plain(logits), again(logits);
    const SharpenedRow sharp(plain, logits, EntropyDefinition::exact, Sums::double_double);
    const SharpenedRow quick(again, logits, EntropyDefinition::exact, Sums::filter);
    const PrecisionScope finer(256);  // the oracle's own bounds are then as good as exact
    const AdaptiveRowOracle oracle(logits, EntropyDefinition::exact);
    const auto exact = numerics::row_statistics<UpperBound>(oracle.sharpened(), 3);
    // By the filter's sums every moment moves by up to d (1 + ln(n + e^2))^3, d some 2^-46.
    for (const auto& [bound, moved] :
         {std::pair{sharp.statistics(contract, 3), 0x1p-40}, std::pair{quick.statistics(contract, 3), 0x1p-36}}) {
      EXPECT_EQ(bound.visible, exact.visible);
      EXPECT_EQ(bound.rescalings, exact.rescalings);
      for (const auto member :
           {&Statistics::log_sum, &Statistics::mean_deviation, &Statistics::mean_square_deviation,
            &Statistics::maximum_magnitude, &Statistics::largest_magnitude, &Statistics::logsumexp_magnitude}) {
        const double ours = (bound.*member).value(), theirs = (exact.*member).value();
        EXPECT_GE(ours, theirs * (1 - 0x1p-50) - 0x1p-200) << to_text(row_case);
        // A mean is a sum rounded up to 32 bits over a sum rounded down to 32 (numerics/enclosures/coarse.hpp). S - 1
        // of so many bits moves ln S by 2^-31 at most, which may cancel against the maximum.
        const double cancelled = member == &Statistics::logsumexp_magnitude ? 0x1p-31 : 0;
        EXPECT_LE(ours, theirs * (1 + 0x1p-31) / (1 - 0x1p-31) * (1 + moved * 32) + moved + cancelled)
            << to_text(row_case);
      }
    }
  }
}

// The filter leaves the entropy open, and so beta: an item away from the maximum has that error, too.
TEST(SharpenedRow, AnEntropyThatIsLessKnownWidensItsItems) {
  const PrecisionScope precision(113);
  const std::vector<double> logits{0, -0.3, -0.7, -1.1, -40};
  RowCascade plain(logits), again(logits);
  const SharpenedRow sharp(plain, logits, EntropyDefinition::exact, Sums::double_double);
  const SharpenedRow quick(again, logits, EntropyDefinition::exact, Sums::filter);
  EXPECT_GT(quick.near(4).error / quick.near(4).value, 2 * sharp.near(4).error / sharp.near(4).value);
}

// Without the filter's errors its sums would be a double each, which is hardly ever the sum.
TEST(SharpenedRow, TheFilterHoldsTheSumsOfDoubleDoubles) {
  const PrecisionScope precision(113);
  for (const RowCase& row_case : rows(Format::f32, 200)) {
    const std::vector<double> logits = row_case.row.expand();
    RowCascade cascade(logits);
    const Enclosure near = sum_minus_one(cascade, Sums::filter), exact = sum_minus_one(cascade, Sums::double_double);
    EXPECT_TRUE(near.overlaps(exact)) << to_text(row_case);
    EXPECT_LE(near.width(), exact.upper_double() * 0x1p-40 + 0x1p-900) << to_text(row_case);
  }
}

const std::vector<double> one_query{1}, two_keys{0, 2}, two_values{1, -3};

AttentionRow row_with(double bias, std::vector<std::uint8_t> visible = {1, 1}) {
  AttentionRow row;
  row.query = one_query;
  row.keys = two_keys;
  row.values = two_values;
  row.value_size = 1;
  row.visible = std::move(visible);
  row.sigmoid_bias = bias;
  return row;
}

bool holds(const AttentionRow& row, double got, const char* words = "") {
  const std::vector<double> out{got};
  const RowVerdicts verdicts = judge_attention(attention_task(Op::sigmoid_attention, Format::f32, words), row,
                                               {out, std::nullopt, std::nullopt});
  return verdicts.findings.size() == 1 && verdicts.findings[0].decision == Decision::proved;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(SigmoidAttentionJudge, TheSumIsRight) {
  for (const double bias : {0.0, -std::log(2.0), -5.0, 30.0}) {
    const double right = static_cast<float>(sigmoid(bias) - 3 * sigmoid(2 + bias));
    EXPECT_TRUE(holds(row_with(bias), right));
    EXPECT_FALSE(holds(row_with(bias), right * (1 + 0x1p-18)));
    EXPECT_FALSE(holds(row_with(bias), nan));
    EXPECT_FALSE(holds(row_with(bias + 0.001), right) && bias < 20);
  }
  EXPECT_TRUE(holds(row_with(1, {1, 0}), static_cast<float>(sigmoid(1))));
}

TEST(SigmoidAttentionJudge, AQueryWithoutKeysIsZeroUnderEveryContract) {
  AttentionRow row = row_with(1, {0, 0});
  for (const char* words : {"masked=nan", "masked=zero", "masked=uniform"}) {
    EXPECT_TRUE(holds(row, 0, words));
    EXPECT_FALSE(holds(row, -0.0, words));
    EXPECT_FALSE(holds(row, nan, words));
    EXPECT_FALSE(holds(row, -1, words));
  }
  row.sink = 3;  // has no value, and nothing is divided by a sum
  EXPECT_TRUE(holds(row, 0));
  EXPECT_FALSE(holds(row, 1));
}

TEST(SigmoidAttentionJudge, TanhHasAnAbsoluteError) {
  const AttentionRow row = row_with(-14, {1, 0});
  const double right = sigmoid(-14);
  EXPECT_TRUE(holds(row, static_cast<float>(right + 0x1p-25), "sigmoid=tanh"));
  EXPECT_FALSE(holds(row, static_cast<float>(right + 0x1p-25)));
  EXPECT_FALSE(holds(row, static_cast<float>(right + 0x1p-19), "sigmoid=tanh"));
}

TEST(SigmoidAttentionJudge, BothRoutesAgree) {
  for (const Format format : {Format::f64, Format::f32, Format::bf16}) {
    AttentionOptions options = small_attention(60, 4096, all_attributes);
    options.format = format;
    options.sigmoid = true;
    const AttentionTask task = attention_task(Op::sigmoid_attention, format);
    std::size_t close = 0;
    for (const AttentionCase& drawn : drawn_attention(options, 60, 7, 100)) {
      const AttentionCase a = Op::sigmoid_attention.attention_op().completed(drawn);
      EXPECT_EQ(a.outputs, 1);
      ASSERT_TRUE(a.attributes.sigmoid_bias);
      EXPECT_EQ(to_text(read_back(a)), to_text(a));
      if (a.shape.batch * a.shape.heads() * a.shape.queries == 0) continue;
      const AttentionRow row = row_of(a, 0, 0, 0);
      const VisibleKeys visible(task.contract, row);
      if (visible.keys() == 0) continue;
      const PrecisionScope precision(256);
      const SigmoidThresholds thresholds(task, row, visible);
      QueryOracles oracles(task, row, std::span(visible.items).first(visible.keys()));
      for (std::size_t c = 0; c < row.value_size; ++c) {
        const Judgeable value = thresholds.column(c);
        const Enclosure exact = oracles.value(AttentionClaim::output, c);
        EXPECT_TRUE(value.exact.enclosure().overlaps(exact)) << to_text(a);
        close += static_cast<double>(value.exact.error) < value.threshold / 4 ? 1 : 0;
      }
    }
    EXPECT_GT(close, 50u);
  }
}

TEST(SigmoidAttentionJudge, CallsHaveTheirBias) {
  AttentionCase a = drawn_attention(small_attention(20), 1, 3, 50).at(0);
  const AttentionTask task = attention_task(Op::sigmoid_attention);
  const auto bias_of = [&] { return task.op.attention_op().call(task, a).attributes.sigmoid_bias; };
  EXPECT_EQ(bias_of(), usual_sigmoid_bias(a.shape.keys));
  EXPECT_EQ(task.op.attention_op().call(task, a).op, std::uint32_t{SOFTCHECK_OP_SIGMOID_ATTENTION});
  a.attributes.sigmoid_bias = -3;
  EXPECT_EQ(bias_of(), -3);
  const Domain usual = parse_domain("sigmoid_bias=-ln(keys)", true);
  EXPECT_FALSE(lies_in(usual, a, traits_of(a)));
  a.attributes.sigmoid_bias = -std::log(static_cast<double>(a.shape.keys));
  EXPECT_TRUE(lies_in(usual, a, traits_of(a)));
}

}  // namespace

}  // namespace softcheck::proptests
