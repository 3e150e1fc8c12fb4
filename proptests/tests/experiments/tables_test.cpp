// Table 1's statistics on measures whose means, intervals and p-values are known.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "experiments/figures/entropy_of_heads.hpp"
#include "experiments/language/language_accuracy.hpp"
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

// The picture of figure 3: where its parts stand, and that its axes have room for every point.

// Two heads a layer at 16 and at so many items.
std::vector<HeadEntropy> picture_points(std::int64_t layers, std::int64_t items) {
  std::vector<HeadEntropy> points;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    for (std::int64_t head = 0; head < 2; ++head) {
      for (const std::int64_t n : {std::int64_t{16}, items}) {
        points.push_back({.layer = layer, .head = head, .items = n, .rows = 1, .sum = 1});
      }
    }
  }
  return points;
}

// The numbers behind a text, in the order of the script.
std::vector<double> numbers_behind(const std::string& script, const std::string& text) {
  const std::regex pattern(text + R"((-?[0-9.]+))");
  std::vector<double> numbers;
  for (std::sregex_iterator at(script.begin(), script.end(), pattern), end; at != end; ++at) {
    numbers.push_back(std::stod((*at)[1]));
  }
  return numbers;
}

TEST(EntropyPicture, AxesReachBeyondTheLargestNumberOfItems) {
  for (const std::int64_t items : {32, 512, 4096}) {
    const std::string script = entropy_of_heads("model", picture_points(1, items)).pictures.at(0).script;
    ASSERT_EQ(numbers_behind(script, "set xrange \\[14:").size(), 1U);
    EXPECT_GT(numbers_behind(script, "set xrange \\[14:")[0], static_cast<double>(items));
    ASSERT_EQ(numbers_behind(script, "set yrange \\[-0.25:").size(), 1U);
    EXPECT_GT(numbers_behind(script, "set yrange \\[-0.25:")[0], std::log(static_cast<double>(items)));
  }
}

// Left, right, bottom and top of a panel, in shares of the picture; y grows upwards.
using Panel = std::array<double, 4>;

bool panels_overlap(const Panel& a, const Panel& b) { return a[0] < b[1] && b[0] < a[1] && a[2] < b[3] && b[2] < a[3]; }

TEST(EntropyPicture, PanelsStandBesideOneAnotherBelowTheTitle) {
  for (const std::int64_t layers : {1, 2, 3, 4, 7, 12}) {
    const std::string script = entropy_of_heads("model", picture_points(layers, 64)).pictures.at(0).script;
    std::array<std::vector<double>, 4> margins;
    constexpr std::array<const char*, 4> sides{"lmargin", "rmargin", "bmargin", "tmargin"};
    for (std::size_t side = 0; side < 4; ++side) {
      margins[side] = numbers_behind(script, std::string("set ") + sides[side] + " at screen ");
      ASSERT_EQ(margins[side].size(), static_cast<std::size_t>(layers) + 1) << "a panel each, and the legend";
    }
    const std::vector<double> title = numbers_behind(script, "at screen 0.5, screen ");
    ASSERT_EQ(title.size(), 1U);
    EXPECT_LT(title[0], 1);
    std::vector<Panel> panels;
    for (std::size_t k = 0; k < margins[0].size(); ++k) {
      const Panel panel{margins[0][k], margins[1][k], margins[2][k], margins[3][k]};
      EXPECT_TRUE(0 <= panel[0] && panel[0] < panel[1] && panel[1] <= 1) << layers << ", panel " << k;
      EXPECT_TRUE(0 <= panel[2] && panel[2] < panel[3] && panel[3] < title[0]) << layers << ", panel " << k;
      for (const Panel& other : panels) EXPECT_FALSE(panels_overlap(panel, other)) << layers << ", panel " << k;
      panels.push_back(panel);
    }
  }
}

using ::testing::HasSubstr;

// Figure 8's numbers from the scores of problems.

// A problem of ten characters for each letter: w is whole, a has the answer and nine right characters, - has eight.
std::vector<ProblemScore> scores_from(const std::string& letters) {
  std::vector<ProblemScore> scores;
  for (const char letter : letters) {
    const int right = letter == 'w' ? 10 : letter == 'a' ? 9 : 8;
    scores.push_back({letter == 'w', letter != '-', right, 10});
  }
  return scores;
}

std::vector<LanguageCell> one_cell(const std::string& letters) { return {{"minimum", 4, scores_from(letters)}}; }

TEST(LanguageFigure, MeansAndTestsAreOverTheSetsOfAllSeeds) {
  LanguageCells cells;
  cells[0] = {one_cell("ww--"), one_cell("wa--")};
  cells[1] = {one_cell("www-"), one_cell("ww--")};
  const std::vector<LanguageRow> rows = language_rows(cells, 2);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].problems, 8U);
  // Sets of two problems: 100, 0, 50, 0 and 100, 50, 100, 0. All of these numbers are dyadic.
  EXPECT_EQ(rows[0].uses[0]->whole.value, 37.5);
  EXPECT_EQ(rows[0].uses[1]->whole.value, 62.5);
  EXPECT_EQ(rows[0].uses[0]->answer.value, 50);
  EXPECT_FALSE(rows[0].uses[2]);
  // Differences 0, 50, 50, 0: t = sqrt 3 with three degrees of freedom, p = 1/2 - 1/pi. Boost derives no bound of its
  // distribution's error: compared are the digits that the table has.
  EXPECT_EQ(fmt::format("{:.6g}", *rows[0].p_whole[1]), fmt::format("{:.6g}", 0.5 - 1 / std::numbers::pi));
  EXPECT_FALSE(rows[0].p_whole[2]);
  EXPECT_FALSE(rows[0].p_whole[0]);
  // A sum of four quotients and its quotient: eight roundings of numbers below 512, each by at most 2^-45.
  EXPECT_NEAR(rows[0].uses[0]->characters.value, (100 + 80 + 95 + 80) / 4.0, 8 * 0x1p-45);
  const std::vector<LanguageRow> totals = language_totals(cells, 2);
  ASSERT_EQ(totals.size(), 1U);
  EXPECT_EQ(totals[0].uses[1]->whole.value, 62.5);
  EXPECT_THAT(to_text(rows), HasSubstr("37.5 +- "));
  const Figure figure = language_accuracy(rows, totals, 4, 12);
  EXPECT_THAT(figure.tables.at(0).csv, HasSubstr("\nminimum,4,8,37.5,"));
  EXPECT_THAT(figure.pictures.at(0).script, HasSubstr("'all algorithms'"));
}

TEST(LanguageFigure, CellsWithoutProblemsAreLeftOutAndOthersMustMatch) {
  LanguageCells cells;
  EXPECT_THROW(language_rows(cells, 2), std::invalid_argument);
  cells[0] = {{{"minimum", 4, scores_from("w-")}, {"minimum", 48, {}}}};
  cells[1] = cells[0];
  EXPECT_EQ(language_rows(cells, 2).size(), 1U);
  EXPECT_THROW(language_rows(cells, 0), std::invalid_argument);
  cells[1] = {one_cell("w-")};
  EXPECT_THROW(language_rows(cells, 2), std::invalid_argument);
  cells[1] = {cells[0][0], cells[0][0]};
  EXPECT_THROW(language_rows(cells, 2), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::experiments
