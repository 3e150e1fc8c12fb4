#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "proptests/generators/drawing/covering.hpp"
#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/row_matrices/row_matrix_classes.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using Pairs = std::set<std::array<std::size_t, 4>>;

Pairs pairs_of(const std::vector<std::size_t>& choice) {
  Pairs pairs;
  for (std::size_t d = 0; d < choice.size(); ++d) {
    for (std::size_t e = 0; e < d; ++e) pairs.insert({d, choice[d], e, choice[e]});
  }
  return pairs;
}

TEST(Covering, EveryPairStandsInAChoice) {
  const std::vector<std::size_t> counts{5, 3, 4, 2, 7};
  Draw draw(1);
  Pairs met;
  const auto choices = covering_choices(
      counts, [](const ClassChoice&) { return true; }, draw);
  for (const auto& choice : choices) met.merge(pairs_of(choice));
  std::size_t expected = 0;
  for (std::size_t d = 0; d < counts.size(); ++d) {
    for (std::size_t e = 0; e < d; ++e) expected += counts[d] * counts[e];
  }
  EXPECT_EQ(met.size(), expected);
  EXPECT_LE(choices.size(), 60u) << "all 840 would cover them, too";
}

TEST(Covering, EveryClassThatIsPossibleIsTouched) {
  const std::vector<std::size_t> counts{5, 3, 9};
  const auto possible = [](const ClassChoice& choice) { return choice[0] != 4 && !(choice[1] == 2 && choice[2] > 3u); };
  Draw draw(3);
  std::set<std::pair<std::size_t, std::size_t>> met;
  const auto choices = touching_choices(counts, possible, draw);
  for (const auto& choice : choices) {
    ASSERT_TRUE(possible(ClassChoice(choice.begin(), choice.end())));
    for (std::size_t d = 0; d < choice.size(); ++d) met.insert({d, choice[d]});
  }
  EXPECT_EQ(met.size(), 4u + 3u + 9u);
  EXPECT_LE(choices.size(), 12u);
}

TEST(Covering, WhatIsNotPossibleIsLeftOutAndNothingElse) {
  const std::vector<std::size_t> counts{6, 6, 3};
  // The first two may not add up to more than 5, and a third of 2 needs a first of 0: a choice of the last two alone
  // may leave no first, which only trying shows.
  const auto possible = [](const ClassChoice& choice) {
    if (choice[0] && choice[1] && *choice[0] + *choice[1] > 5) return false;
    return !(choice[2] == 2 && choice[0] && *choice[0] != 0);
  };
  Draw draw(2);
  Pairs met, expected;
  for (const auto& choice : covering_choices(counts, possible, draw)) met.merge(pairs_of(choice));
  for (std::size_t x = 0; x < 6; ++x) {
    for (std::size_t y = 0; y < 6; ++y) {
      for (std::size_t z = 0; z < 3; ++z) {
        if (possible({x, y, z})) expected.merge(pairs_of({x, y, z}));
      }
    }
  }
  EXPECT_EQ(met, expected);
}

RowMatrixOptions options_of(Format format) {
  RowMatrixOptions options;
  options.rows.formats = {format};
  options.rows.max_length = std::uint64_t{1} << 17;
  options.most_rows = std::uint64_t{1} << 17;
  options.max_elements = std::uint64_t{1} << 18;
  options.nans = options.infinities = true;
  return options;
}

TEST(MatrixCover, EveryMatrixKeepsToItsOptionsAndReadsBack) {
  for (const Format format : {Format::f64, Format::f32, Format::f16, Format::bf16}) {
    const RowMatrixOptions options = options_of(format);
    for (const RowMatrixCase& matrix : covering_matrices(options, false, 5).matrices) {
      ASSERT_TRUE(admits(options, matrix)) << to_text(matrix).substr(0, 300);
      RowMatrixCase again;
      from_text(to_text(matrix), again);
      ASSERT_EQ(again, matrix) << to_text(matrix).substr(0, 300);
    }
  }
}

TEST(MatrixCover, EveryPairThatIsPossibleIsMet) {
  const RowMatrixOptions options = options_of(Format::f32);
  const MatrixCover cover = covering_matrices(options, true, 7);
  Pairs met;
  for (const RowMatrixCase& matrix : cover.matrices) met.merge(pairs_of(classes_of(matrix)));
  std::set<std::pair<std::size_t, std::size_t>> classes;
  for (const auto& [d, x, e, y] : met) classes.insert({{d, x}, {e, y}});
  const auto& dimensions = matrix_dimensions();
  std::size_t wanted = 0, pairs = 0;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    for (std::size_t c = 0; c < dimensions[d].classes.size(); ++c) {
      if (!cover.possible[d][c]) continue;
      ++wanted;
      EXPECT_TRUE(classes.contains({d, c})) << dimensions[d].name << " " << dimensions[d].classes[c];
    }
    for (std::size_t e = 0; e < d; ++e) pairs += dimensions[d].classes.size() * dimensions[e].classes.size();
  }
  EXPECT_GT(wanted, 80u);
  // What is impossible is little: 65,536 rows of 65,536 columns, a mask's layout without a mask, a NaN beyond the row.
  EXPECT_GT(met.size() * 10, pairs * 8) << met.size() << " of " << pairs;
}

TEST(MatrixCover, EveryListedLengthIsInItAndNoOther) {
  RowMatrixOptions options = options_of(Format::f32);
  options.rows.domain = parse_domain("n=1|3|17|600|1000|4097 rows=1|3|510|600 compact", false);
  std::set<std::uint64_t> columns, rows;
  for (const RowMatrixCase& matrix : covering_matrices(options, true, 9).matrices) {
    EXPECT_EQ(options.rows.domain.broken_by(traits_of(matrix)), "") << to_text(matrix).substr(0, 300);
    columns.insert(matrix.columns);
    rows.insert(matrix.rows.size());
  }
  EXPECT_EQ(columns, (std::set<std::uint64_t>{1, 3, 17, 600, 1000, 4097}));
  EXPECT_EQ(rows, (std::set<std::uint64_t>{1, 3, 510, 600}));
}

TEST(MatrixCover, DrawnRowsAndMatricesHaveEveryListedLength) {
  RowMatrixOptions options = options_of(Format::f32);
  options.rows.domain = parse_domain("n=1|3|17|600|601|70000 rows=1|3|7|8", false);
  options.least_rows = 1;
  options.most_rows = 8;
  options.rows.max_length = 100000;
  std::set<std::uint64_t> columns, rows, alone;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const RowMatrixCase matrix = row_matrices(options)(rc::Random(seed), 50).value();
    EXPECT_EQ(options.rows.domain.broken_by(traits_of(matrix)), "");
    columns.insert(matrix.columns);
    rows.insert(matrix.rows.size());
    const RowCase row = row_cases(options.rows)(rc::Random(seed), 50).value();
    alone.insert(row.row.size());
  }
  EXPECT_EQ(columns, (std::set<std::uint64_t>{1, 3, 17, 600, 601, 70000}));
  EXPECT_EQ(alone, columns);
  EXPECT_EQ(rows, (std::set<std::uint64_t>{1, 3, 7, 8}));
}

TEST(MatrixCover, ADomainLeavesOutWhatIsBeyondIt) {
  RowMatrixOptions options = options_of(Format::f32);
  options.rows.domain = parse_domain("n=16k n<=8192 rows<=4096 theta=1 compact finite nomask", false);
  const MatrixCover cover = covering_matrices(options, true, 9);
  ASSERT_GT(cover.matrices.size(), 20u);
  for (const RowMatrixCase& matrix : cover.matrices) {
    EXPECT_EQ(options.rows.domain.broken_by(traits_of(matrix)), "") << to_text(matrix).substr(0, 300);
  }
}

}  // namespace
}  // namespace softcheck::proptests
