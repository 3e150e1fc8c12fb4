#include <random>

#include "judge/ops/rows/long_softmax.hpp"
#include "judge/ops/rows/product_sums.hpp"
#include "judge/ops/rows/softmax_bounds.hpp"
#include "numerics/enclosures/decision.hpp"
#include "numerics/oracles/adaptive_oracle.hpp"
#include "numerics/rows/enclosed_row.hpp"
#include "proptests/tests/judge/row_samples.hpp"

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

}  // namespace
}  // namespace softcheck::proptests
