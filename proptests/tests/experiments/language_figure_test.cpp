// Figure 8's numbers from the scores of problems.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <numbers>

#include "experiments/language/language_accuracy.hpp"

namespace softcheck::experiments {
namespace {

using ::testing::HasSubstr;

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
