// Table 1's statistics on measures whose means, intervals and p-values are known.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "experiments/tables/accuracy_table.hpp"
#include "experiments/tables/paper_table.hpp"
#include "experiments/tables/sensitivity.hpp"

namespace softcheck::experiments {
namespace {

// A size at which baseline and adaptive are right in so many of 100 sets.
SizeMeasure measure(int size, int baseline, int adaptive, float entropy = 1) {
  SizeMeasure result{size, std::vector<float>(100, 7), std::vector(2, std::vector<HeadMeasure>(100))};
  for (std::size_t s = 0; s < 100; ++s) {
    result.heads[0][s] = {static_cast<int>(s) < baseline, entropy, 0.5F};
    result.heads[1][s] = {static_cast<int>(s) < adaptive, entropy / 2, 0.75F};
  }
  return result;
}

// Each number here takes at most some twenty operations in double, Student's distribution a few more: 64 roundings,
// relative to the largest number on the way.
constexpr double roundings = 64 * 0x1p-53;

// Student's t with two degrees of freedom has a closed form: P(|T| > t) = 1 - t / sqrt(t^2 + 2), hence the quantile of
// 0.975 is 0.95 sqrt(2 / (1 - 0.95^2)).
TEST(AccuracyTable, MeansIntervalsAndPValuesAreThoseOfStudent) {
  const std::vector<double> a{1, 2, 3}, b{2, 4, 4.5};
  const double t = (4.5 / 3) / (0.5 / std::sqrt(3.0));  // differences 1, 2, 1.5
  EXPECT_NEAR(*paired_p_value(a, b), 1 - t / std::sqrt(t * t + 2), roundings);
  EXPECT_EQ(*paired_p_value(b, a), *paired_p_value(a, b));        // the differences change sign, exactly
  EXPECT_FALSE(paired_p_value(a, std::vector<double>{2, 3, 4}));  // all differ by 1
  EXPECT_FALSE(paired_p_value(std::vector<double>{1}, std::vector<double>{2}));
  EXPECT_THROW(paired_p_value(a, std::vector<double>{1}), std::invalid_argument);
  const Mean mean = mean_of(a);
  EXPECT_EQ(mean.value, 2);
  const double half_width = 0.95 * std::sqrt(2 / (1 - 0.95 * 0.95)) / std::sqrt(3.0);
  // 1 - 0.95^2 loses a factor of ten to cancellation.
  EXPECT_NEAR(mean.half_width, half_width, 10 * roundings * half_width);
  EXPECT_TRUE(std::isnan(mean_of(std::vector<double>{1}).half_width));
}

TEST(AccuracyTable, RowsAreMeansOverSeeds) {
  const std::vector<AccuracyRow> table = accuracy_table({{measure(64, 90, 92)}, {measure(64, 80, 83)}});
  ASSERT_EQ(table.size(), 1U);
  EXPECT_EQ(table[0].baseline.accuracy.value, 85);
  EXPECT_EQ(table[0].adaptive.accuracy.value, 87.5);
  EXPECT_EQ(table[0].difference.value, 2.5);
  EXPECT_EQ(table[0].adaptive.entropy.value, 0.5);
  EXPECT_EQ(table[0].baseline.largest.value, 0.5);
  EXPECT_EQ(table[0].spread, 7);
  EXPECT_NEAR(distance_to_paper(table), std::sqrt((std::pow(85 - 94.3, 2) + std::pow(87.5 - 94.5, 2)) / 2),
              100 * roundings);
  EXPECT_THROW(accuracy_table({}), std::invalid_argument);
  EXPECT_THROW(accuracy_table({{measure(64, 1, 1)}, {measure(32, 1, 1)}}), std::invalid_argument);
}

// Each claim fails where the paper's sentence is made false, and holds else.
TEST(AccuracyTable, ClaimsCanFail) {
  const auto claims = [](int baseline_64, int adaptive_64, int baseline_128, float entropy_128) {
    std::vector<std::vector<SizeMeasure>> seeds;
    for (const int seed : {0, 1, 2}) {
      seeds.push_back({measure(64, baseline_64 - seed, adaptive_64 + seed),
                       measure(128, baseline_128 - seed, baseline_128 + 5 + seed, entropy_128)});
    }
    std::vector<bool> held;
    for (const TableClaim& claim : claims_of(accuracy_table(seeds))) held.push_back(claim.holds);
    return held;
  };
  EXPECT_EQ(claims(80, 90, 60, 2), (std::vector{true, true, true}));
  EXPECT_EQ(claims(80, 90, 81, 2), (std::vector{false, true, true}));
  EXPECT_EQ(claims(80, 90, 80, 2), (std::vector{false, true, true}));  // what stays does not fall
  EXPECT_EQ(claims(80, 78, 60, 2), (std::vector{true, false, true}));  // -2, 0, 2: no difference
  EXPECT_EQ(claims(80, 60, 50, 2), (std::vector{true, false, true}));  // a difference, but a worse one
  EXPECT_EQ(claims(80, 90, 60, 1), (std::vector{true, true, false}));
}

// A worse adaptive head breaks the second claim at its sizes alone.
TEST(AccuracyTable, NoBetterHeadIsClaimedOutsideOfTheSizesThatAreNamed) {
  for (const int size : {16, 63, 64, 4096, 4097}) {
    const std::vector<AccuracyRow> table = accuracy_table({{measure(size, 90, 80)}, {measure(size, 91, 82)}});
    EXPECT_EQ(claims_of(table)[1].holds, size < 64 || size > 4096) << size;
  }
}

TEST(AccuracyTable, ThePapersColumnsAreKnownBySize) {
  EXPECT_EQ(paper_column(1024)->adaptive, 57.7);
  EXPECT_EQ(paper_column(32), nullptr);
  EXPECT_TRUE(std::isnan(distance_to_paper(accuracy_table({{measure(32, 90, 90)}}))));
}

TEST(AccuracyTable, TextAndCsvSayTheSame) {
  const std::vector<AccuracyRow> table = accuracy_table({{measure(64, 90, 92)}, {measure(64, 80, 83)}});
  EXPECT_NE(to_text(table).find("94.3 -> 94.5"), std::string::npos);
  EXPECT_NE(to_csv(table).find("\n64,100,7,85,"), std::string::npos);
  EXPECT_NE(to_csv(table).find(",94.3,94.5,0.002\n"), std::string::npos);
}

TEST(Sensitivity, NamesTheClosestReading) {
  const std::string options = "seed=1 steps=5 rate=0.001 schedule=cosine decay=none lambda=0.001 biases=kept sets=1";
  EXPECT_EQ(reading_name(options), "schedule=cosine decay=none biases=kept");
  const Reading near{"near", accuracy_table({{measure(64, 94, 95)}})},
      far{"far", accuracy_table({{measure(64, 40, 95)}})};
  EXPECT_NE(to_text(std::vector{far, near}).find("closest: near, 0.41 percent"), std::string::npos);
  EXPECT_NE(to_text(std::vector{near, far}).find("closest: near"), std::string::npos);
  EXPECT_NE(to_csv(std::vector{near}).find("near,64,94,95,94.3,94.5"), std::string::npos);
}

TEST(Variants, TakeTheHeadThatTheyName) {
  const VariantLine line = variant_line("adaptive", false, {{measure(64, 90, 92), measure(128, 50, 70)}}, 1);
  EXPECT_EQ(line.sizes, (std::vector{64, 128}));
  EXPECT_EQ(line.summaries[1].accuracy.value, 70);
  EXPECT_EQ(line.summaries[0].largest.value, 0.75);
  EXPECT_NE(to_csv({line}).find("adaptive,no,1,128,70,"), std::string::npos);
  EXPECT_THROW(variant_line("x", true, {}, 0), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::experiments
