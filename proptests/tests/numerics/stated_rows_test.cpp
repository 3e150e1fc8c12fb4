// What the bounds read of a row and of a contract, on rows whose answer is counted by hand.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/rounding_attention.hpp"
#include "numerics/rounding/rounding_cross_entropy.hpp"
#include "proptests/tests/numerics/stated_arithmetic.hpp"

namespace softcheck::numerics {
namespace {

using stated::expect_same;
using stated::Real;

Contract words(const char* text, Format format = Format::f32) { return parse_contract(text, format, format); }

TEST(StatedRows, RescalingsAreTheRecordsOfALineAndTheDistinctLogitsOfATree) {
  const Contract line = words("sum=sequential"), tree = words("sum=tree"), lanes = words("sum=lanes:2");
  const auto both = [&](std::vector<double> row) {
    return std::array<std::uint64_t, 2>{rescaling_count(line, row), rescaling_count(tree, row)};
  };
  using Counts = std::array<std::uint64_t, 2>;
  EXPECT_EQ(both({-infinity, -infinity}), (Counts{0, 0}));
  EXPECT_EQ(both({5}), (Counts{0, 0}));
  EXPECT_EQ(both({2, 2, 2, 2}), (Counts{0, 0}));
  EXPECT_EQ(both({0.0, -0.0, 0.0}), (Counts{0, 0}));
  EXPECT_EQ(both({1, 2, 3, 4}), (Counts{3, 2}));  // a tree of height 2
  EXPECT_EQ(both({4, 3, 2, 1}), (Counts{3, 2}));  // from the back
  EXPECT_EQ(both({1, 3, 2}), (Counts{1, 2}));
  EXPECT_EQ(both({1, 2}), (Counts{1, 1}));
  EXPECT_EQ(both({1, 2, 3, 3, -infinity, 4}), (Counts{3, 3}));
  EXPECT_EQ(both({4, -infinity, 3, 3, 2, 1}), (Counts{3, 3}));
  EXPECT_EQ(rescaling_count(line, std::vector<double>{}), 0U);
  EXPECT_EQ(both({-infinity, 1, -infinity, 2, 1, 2, -infinity, 1}), (Counts{1, 1}));
  EXPECT_EQ(both({7, 7, 7, 8, 7, 7, 7, 7}), (Counts{1, 1}));
  std::vector<double> rising(64), turns(64);
  for (std::size_t i = 0; i < rising.size(); ++i) {
    rising[i] = static_cast<double>(i);
    turns[i] = static_cast<double>(i % 5);
  }
  EXPECT_EQ(both(rising), (Counts{63, 6}));
  EXPECT_EQ(both(turns), (Counts{4, 4}));
  EXPECT_EQ(rescaling_count(lanes, rising), 32U);  // 64 / 2 - 1 + 1
  // lanes:1 is any tree: a block (1, 2, 3) that is added to 4 rescales its first item three times.
  EXPECT_EQ(both({4, 1, 2, 3})[0], 1U);
  EXPECT_EQ(rescaling_count(words("sum=lanes:1"), std::vector<double>{4, 1, 2, 3}), 3U);
}

TEST(StatedRows, StatisticsAreThoseOfTheRow) {
  const PrecisionScope precision(256);
  const RowOracle oracle(std::vector<double>{-6, 0.5, -infinity, -2}, 2);
  const RowStatistics<Real> row = row_statistics<Real>(oracle, 3, 2);
  EXPECT_EQ(row.size, 4U);
  EXPECT_EQ(row.visible, 3U);
  EXPECT_EQ(row.rescalings, 3U);
  EXPECT_EQ(row.theta, 2);
  const Real far = exp(Real(-3.25)), near = exp(Real(-1.25)), sum = 1 + far + near;
  expect_same(row.log_sum, log(sum), "ln S");
  expect_same(row.mean_deviation, (Real(3.25) * far + Real(1.25) * near) / sum, "Dbar");
  expect_same(row.mean_square_deviation, (square(Real(3.25)) * far + square(Real(1.25)) * near) / sum, "V2");
  expect_same(row.maximum_magnitude, Real(0.25), "|m| / theta");
  expect_same(row.largest_magnitude, Real(3), "max |x| / theta");
  expect_same(row.logsumexp_magnitude, Real(0.25) + log(sum), "|L|");
  expect_same(row_statistics<Real>(RowOracle(std::vector<double>{9, -1}, 1)).largest_magnitude, Real(9), "the maximum");
}

TEST(StatedRows, UpperBoundsOfTheStatisticsAreTheNextDoubles) {
  const RowOracle oracle(std::vector<double>{-6, 0.5, -infinity, -2}, 2);
  const auto exact = row_statistics<Real>(oracle, 3, 2);
  const auto bound = row_statistics<UpperBound>(oracle, 3, 2);
  for (const auto& of : {std::pair{&exact.log_sum, &bound.log_sum},
                         {&exact.mean_deviation, &bound.mean_deviation},
                         {&exact.mean_square_deviation, &bound.mean_square_deviation},
                         {&exact.maximum_magnitude, &bound.maximum_magnitude},
                         {&exact.largest_magnitude, &bound.largest_magnitude},
                         {&exact.logsumexp_magnitude, &bound.logsumexp_magnitude}}) {
    EXPECT_EQ(of.second->value(), of.first->upper_double());
  }
}

// Each difference may lose N / theta = 1/4, and a little more; B6 is proved for 2 on a path.
TEST(StatedRows, NoEntropyIsPromisedWhereArgumentsLoseMoreThanTwoOnAPath) {
  const Contract flushed = words("acc=f32 subnormal=flushed"), kept = words("acc=f32 subnormal=kept");
  RowStatistics<UpperBound> row;
  row.size = row.visible = 16;
  row.theta = 0x1p-124;
  row.log_sum = row.logsumexp_magnitude = UpperBound(1);
  row.rescalings = 7;
  EXPECT_LT(upper(entropy_error(flushed, row).rounding), 4e3);
  row.rescalings = 8;
  EXPECT_EQ(upper(entropy_error(flushed, row).rounding), infinity);
  EXPECT_LT(upper(entropy_error(flushed, row, Grants::none).rounding), 4e3);
  EXPECT_LT(upper(entropy_error(kept, row).rounding), 1e-3);
  EXPECT_LT(upper(logsumexp_error(flushed, row).rounding), 4e3);
}

TEST(StatedRows, LimitsAreThoseOfTheFormats) {
  EXPECT_EQ(overflow_limit(words("acc=f32", Format::f16)), 32752);
  EXPECT_EQ(overflow_limit(parse_contract("acc=f16", Format::f32, Format::f32)), 32752);
  EXPECT_EQ(overflow_limit(words("acc=f16", Format::e4m3)), 32752);  // 8 bits hold no difference x - max
  EXPECT_EQ(infinity_from(Format::f16), 65520);
  EXPECT_EQ(infinity_from(Format::e4m3), 464);
  EXPECT_EQ(infinity_from(Format::f32), 0x1.ffffffp127);
  EXPECT_EQ(infinity_from(Format::f64), std::numeric_limits<double>::max());
  EXPECT_TRUE(is_vacuous(1, 1));
  EXPECT_FALSE(is_vacuous(1, 2));
  EXPECT_TRUE(is_vacuous(std::numeric_limits<double>::quiet_NaN(), 2));
}

// A kernel within e of the exact value before it rounds errs by e + u (magnitude + e) behind it.
TEST(StatedRows, TheErrorBeforeTheOutputIsFoundAgain) {
  const Contract narrow = words("acc=f32", Format::e4m3), same = parse_contract("acc=f32", Format::f32, Format::f32);
  for (const double magnitude : {0.0, 1.0, 100.0, 440.0}) {
    for (const double e : {0.0, 0x1p-20, 0.75, 30.0}) {
      const double allowed = e + 0x1p-4 * (magnitude + e), found = error_before_output(narrow, allowed, magnitude);
      EXPECT_GE(found, e);
      EXPECT_LE(found, e + 0x1p-49 * allowed);
      EXPECT_EQ(error_before_output(same, allowed, magnitude), allowed);
    }
  }
  EXPECT_EQ(error_before_output(narrow, 1, 448), 0x1p-50);
}

bool exact(const Contract& contract, double scale, std::vector<double> query, std::vector<double> key) {
  return score_is_exact(contract, scale, query, key);
}

TEST(StatedRows, AScoreIsExactWhereNothingCanRound) {
  const Contract c = words("acc=f32"), f16 = words("acc=f16", Format::f16);
  EXPECT_TRUE(exact(c, 0.125, {1, 2}, {3, 4}));
  EXPECT_TRUE(exact(c, -0.125, {1, 2}, {3, 4}));
  EXPECT_FALSE(exact(c, 0.3, {1, 2}, {3, 4}));
  EXPECT_FALSE(exact(words("acc=f32 exp=E:2,A:2"), 0.125, {1, 2}, {3, 4}));
  EXPECT_FALSE(exact(words("acc=f32 scale=split"), 0.125, {1, 2}, {3, 4}));
  EXPECT_TRUE(exact(words("acc=f32 scale=split"), 1, {1, 2}, {3, 4}));
  EXPECT_FALSE(exact(parse_contract("acc=f32", Format::f64, Format::f64), 1, {1}, {1}));
  EXPECT_TRUE(exact(c, 0.5, {0, 5}, {7, 0}));
  // sum |q k| <= 2^(g + 24), g the lowest bit.
  EXPECT_TRUE(exact(c, 1, {0x1p24 - 2, 1}, {1, 1}));
  EXPECT_FALSE(exact(c, 1, {0x1p24, 1}, {1, 1}));
  EXPECT_FALSE(exact(c, 1, {-0x1p24, 1}, {1, 1}));
  EXPECT_TRUE(exact(c, 1, {0x1p24, 2}, {1, 1}));
  EXPECT_TRUE(exact(c, 1, {0x1p12, 1}, {0x1p11, 0x1p23}));
  EXPECT_FALSE(exact(c, 1, {0x1p12, 3}, {0x1p11, 0x1p-3}));
  // Nothing may overflow: 65504 is the largest number of f16.
  EXPECT_TRUE(exact(f16, 1, {0x1p8}, {0x1p7}));
  EXPECT_FALSE(exact(f16, 1, {0x1p8}, {0x1p8}));
  EXPECT_TRUE(exact(f16, 1, {0x1p15, 1}, {1, 0}));
  EXPECT_FALSE(exact(f16, 2, {0x1p15, 1}, {0x1p-2, 0}));
  EXPECT_TRUE(exact(f16, 0.5, {0x1p15, 1}, {0x1p-2, 0}));
  // Nor underflow: the smallest normal number is 2^-14.
  EXPECT_TRUE(exact(f16, 1, {0x1p-7}, {0x1p-7}));
  EXPECT_FALSE(exact(f16, 1, {0x1p-7}, {0x1p-8}));
  EXPECT_FALSE(exact(f16, 0.5, {0x1p-7}, {0x1p-7}));
  EXPECT_TRUE(exact(f16, 2, {0x1p-7}, {0x1p-7}));
  EXPECT_FALSE(exact(f16, 0.5, {0x1p-14}, {0x1p3}));
}

TEST(StatedRows, RescalingsBehindASoftcapCountNearTies) {
  CrossEntropyOptions options;
  EXPECT_EQ(cross_entropy_rescalings(words("sum=sequential"), options, std::vector<double>{1, 2, 3}), 2U);
  options.softcap = 8;
  const auto count = [&](const char* text, std::vector<double> row) {
    return cross_entropy_rescalings(words(text), options, row);
  };
  EXPECT_EQ(count("sum=sequential", {-infinity}), 0U);
  EXPECT_EQ(count("sum=sequential", {1}), 0U);
  EXPECT_EQ(count("sum=sequential", {1, 2, 3, -infinity}), 2U);
  EXPECT_EQ(count("sum=sequential", {3, 2, 1}), 2U);
  EXPECT_EQ(count("sum=sequential", {1, 1, 1}), 2U);  // ties may fall on either side
  EXPECT_EQ(count("sum=sequential", {2, 1, 2, 0}), 2U);
  EXPECT_EQ(count("sum=tree", {1, 1, 1, 1, 1, 1, 1, 1}), 3U);
  EXPECT_EQ(count("sum=tree", {1, -infinity, 2, -infinity}), 1U);
  // Two logits that differ by less than twice the cap's error tie, by four times that they do not.
  const double e = softcap_error(words("sum=sequential"), options);
  EXPECT_EQ(count("sum=sequential", {0, 2, 2 - 1.5 * e, 0}), 2U);
  EXPECT_EQ(count("sum=sequential", {0, 2, 2 - 4 * e, 0}), 2U);
  EXPECT_EQ(count("sum=sequential", {2, 2 - 1.5 * e, 0}), 2U);
  // In f64 the double tanh errs as much as a kernel's: 2^-49 of the cap more.
  const Contract wide = words("acc=f64 sum=sequential", Format::f64);
  const double both = softcap_error(wide, options) + 0x1p-49 * 8;
  const auto around = [&](double gap) {
    return cross_entropy_rescalings(wide, options, std::vector<double>{-gap, 0, -gap});
  };
  EXPECT_EQ(around(1.8 * both), 2U);
  EXPECT_EQ(around(2.2 * both), 1U);
}

}  // namespace
}  // namespace softcheck::numerics
