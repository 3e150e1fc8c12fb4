#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/row_matrices/known_matrices.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"
#include "proptests/generators/row_matrices/row_matrix_classes.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;

std::vector<RowMatrixOptions> all_options() {
  RowMatrixOptions plain;
  plain.rows.max_length = 80;
  std::vector<RowMatrixOptions> options(5, plain);
  options[1].alike = options[1].layouts = false;
  options[1].most_rows = 40;
  options[2].rows.fully_masked = true;
  options[2].rows.formats = {Format::f16};
  options[3].mask_patterns = options[3].rows.masks = false;
  options[3].shifts = false;
  options[4].nans = options[4].infinities = true;
  return options;
}

std::vector<RowMatrixCase> drawn(const RowMatrixOptions& options, int count) {
  const auto generator = row_matrices(options);
  rc::Random random(11);
  std::vector<RowMatrixCase> matrices;
  for (int i = 0; i < count; ++i) matrices.push_back(generator(random.split(), i % 100).value());
  return matrices;
}

TEST(RowMatrix, EveryDrawnMatrixKeepsToItsOptionsAndReadsBack) {
  for (const RowMatrixOptions& options : all_options()) {
    for (const RowMatrixCase& matrix : drawn(options, 300)) {
      EXPECT_TRUE(admits(options, matrix)) << to_text(matrix);
      RowMatrixCase again;
      from_text(to_text(matrix), again);
      EXPECT_EQ(again, matrix) << to_text(matrix);
    }
  }
}

// What cannot keep to the options becomes equal rows, which hide an index that wraps around.
TEST(RowMatrix, RowsThatAreNotAlikeDiffer) {
  RowMatrixOptions options = all_options()[1];
  options.rows.families.assign(kernel_row_families().begin(), kernel_row_families().end());
  options.rows.max_edge_length = 200;
  options.least_rows = options.most_rows = 64;
  int equal = 0;
  for (const RowMatrixCase& matrix : drawn(options, 60)) {
    const std::vector<RunLengthRow>& rows = matrix.rows.cycle();
    equal += std::ranges::all_of(rows, [&](const RunLengthRow& row) { return row == rows[0]; });
  }
  EXPECT_LE(equal, 3);
}

TEST(RowMatrix, ShrinksKeepToTheOptionsAndEnd) {
  for (const RowMatrixOptions& options : all_options()) {
    for (RowMatrixCase matrix : drawn(options, 12)) {
      int steps = 0;
      for (;; ++steps) {
        auto shrinks = shrink_row_matrix(matrix, options);
        const auto simpler = shrinks.next();
        if (!simpler) break;
        ASSERT_TRUE(admits(options, *simpler)) << to_text(*simpler);
        ASSERT_NE(*simpler, matrix);
        ASSERT_LT(steps, 20000);
        matrix = *simpler;
      }
      EXPECT_LE(size_of(matrix), 2u) << to_text(matrix);
    }
  }
}

// Rows that fail by what none of their parts has, and two other logits have.
TEST(RowMatrix, AMatrixShrinksToTwoColumnsOfOtherNumbers) {
  RowMatrixCase matrix;
  matrix.format = numerics::Format::f32;
  matrix.columns = 3;
  matrix.theta = 0x1.1eca097198d6cp+12;
  matrix.rows =
      RowCycle({RunLengthRow::of(std::vector<double>{1, 1, 0}), RunLengthRow::of(std::vector<double>{2, 2, 1})});
  std::vector<RowMatrixCase> shrinks;
  auto left = shrink_row_matrix(matrix, {});
  while (const auto simpler = left.next()) shrinks.push_back(*simpler);
  const RunLengthRow half = RunLengthRow::of(std::vector<double>{0.5, 0});
  EXPECT_TRUE(std::ranges::any_of(shrinks, [&](const RowMatrixCase& one) {
    return one.columns == 2 && one.rows.size() == 2 && one.rows[0] == half && one.rows[1] == half;
  }));
  EXPECT_TRUE(std::ranges::any_of(shrinks, [](const RowMatrixCase& one) { return one.theta == 0x1p+12; }));
}

TEST(RowMatrix, DrawnLayoutsAreOfEveryKind) {
  Draw draw(3);
  std::set<std::string> kinds;
  for (int i = 0; i < 300; ++i) {
    const MatrixLayout layout = draw_layout(draw, 3, 5);
    if (layout.compact()) kinds.insert(layout.offset > 0 ? "offset" : layout.against_the_end ? "end" : "front");
    if (layout.row_stride == 5 && layout.column_stride == 1) kinds.insert("compact, and said so");
    if (layout.row_stride > 5 && layout.column_stride == 1) kinds.insert("row gap");
    if (layout.row_stride == 1) kinds.insert("transposed");
    if (layout.row_stride > 1 && layout.column_stride > 1) kinds.insert("column stride");
  }
  EXPECT_EQ(kinds.size(), 7u);
}

TEST(RowMatrix, EveryWidthIsSweptWithOneTwoAndThreeRows) {
  const std::vector<std::uint64_t> widths = swept_widths(129, 4097);
  EXPECT_TRUE(std::ranges::is_sorted(widths));
  EXPECT_EQ(std::ranges::adjacent_find(widths), widths.end());
  for (std::uint64_t n = 1; n <= 129; ++n) EXPECT_EQ(widths[n - 1], n);
  for (const std::uint64_t n : {191, 192, 193, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097}) {
    EXPECT_TRUE(std::ranges::binary_search(widths, n)) << n;
  }
  EXPECT_EQ(widths.back(), 4097u);
  const std::vector<std::uint64_t> all = swept_widths(1025, 65537);
  for (std::uint64_t n = 1; n <= 1025; ++n) EXPECT_EQ(all[n - 1], n);
  EXPECT_EQ(swept_widths(129, 7).size(), 7u);
  for (const Format format : {Format::f64, Format::f32, Format::f16, Format::bf16}) {
    const std::vector<RowMatrixCase> sweep = width_sweep(format, {1, 2, 7, 512}, true);
    ASSERT_EQ(sweep.size(), 12u);
    for (std::size_t i = 0; i < sweep.size(); ++i) {
      EXPECT_EQ(sweep[i].rows.size(), 1 + i % 3);
      EXPECT_TRUE(admits({}, sweep[i])) << to_text(sweep[i]);
      const std::vector<double> last = sweep[i].rows.back().expand();
      EXPECT_EQ(last.back(), *std::ranges::max_element(last)) << "a dropped last item must show";
    }
    // Wider rows come in turn, unless all are asked for.
    std::vector<std::size_t> counts;
    for (const RowMatrixCase& matrix : width_sweep(format, {129, 130, 131, 132, 513, 514})) {
      counts.push_back(matrix.rows.size());
    }
    EXPECT_EQ(counts, (std::vector<std::size_t>{1, 2, 3, 2, 3, 1, 1, 2}));
  }
}

TEST(RowMatrix, QuickKnownShapesHaveManyRowsOrTheLongest) {
  const std::vector<KnownRows> shapes = chosen_rows(std::uint64_t{1} << 19, 0, 1);
  const auto has = [&](std::uint64_t rows, std::uint64_t n) {
    return std::ranges::any_of(shapes, [&](const KnownRows& shape) { return shape.rows == rows && shape.n == n; });
  };
  EXPECT_TRUE(has(65537, 2)) << "of one column a loss is 0";
  EXPECT_TRUE(has(131, 257) && has(67, 1031) && has(1, 262208));
  EXPECT_FALSE(has(65537, 33)) << "takes seconds";
}

TEST(RowMatrix, TailsHaveEveryRemainderWithHiddenItemsAndWithout) {
  const TailWidths widths = tail_widths(4096);
  for (std::uint64_t remainder = 0; remainder < 64; ++remainder) {
    for (const auto* list : {&widths.plain, &widths.masked}) {
      const auto ends_in = [&](std::uint64_t n) { return n % 64 == remainder && n > 256; };
      EXPECT_EQ(std::ranges::count_if(*list, ends_in), 1) << remainder;
    }
  }
  EXPECT_TRUE(tail_widths(256).plain.empty() && tail_widths(256).masked.empty());
  for (const Format format : {Format::f64, Format::f32, Format::f16, Format::bf16}) {
    const std::vector<RowMatrixCase> sweep = masked_sweep(format, {5, 6, 7, 289}, MaskUse::mixed);
    ASSERT_EQ(sweep.size(), 3u) << "of five items too few would be visible";
    for (const RowMatrixCase& matrix : sweep) {
      EXPECT_TRUE(admits({}, matrix)) << to_text(matrix);
      for (const RunLengthRow& row : matrix.rows.cycle()) {
        EXPECT_LT(row.visible(), row.size());
        std::vector<double> logits = row.expand();
        while (std::isinf(logits.back())) logits.pop_back();
        EXPECT_EQ(logits.back(), *std::ranges::max_element(logits)) << "a dropped last item must show";
      }
    }
  }
}

TEST(RowMatrix, DistantRowsLieBeyondEveryInteger) {
  const std::vector<RowMatrixCase> matrices = distant_matrices(Format::f32);
  std::int64_t largest = 0;
  RowMatrixOptions options;
  for (const RowMatrixCase& matrix : matrices) {
    EXPECT_TRUE(admits(options, matrix)) << to_text(matrix);
    largest = std::max({largest, matrix.in.row_stride, matrix.in.column_stride});
  }
  EXPECT_GT(largest, std::int64_t{1} << 32);
}

// A sum that leaves out weights below some number loses c of what one that rounds them away may lose: c must come near.
TEST(RowMatrix, FarItemsWeighAboutEveryHalfUnit) {
  for (const Format format : {Format::f64, Format::f32, Format::f16, Format::bf16}) {
    const std::vector<RowMatrixCase> matrices = far_mass_matrices(format, 1000);
    std::vector<double> weights;
    for (const RowMatrixCase& matrix : matrices) {
      EXPECT_TRUE(admits({}, matrix)) << to_text(matrix);
      EXPECT_EQ(matrix.rows[0].maximum(), 0);
      weights.push_back(std::exp(matrix.rows[0].minimum()));
    }
    EXPECT_EQ(std::ranges::adjacent_find(weights), weights.end());
    // A logit of bf16 near -37 is a quarter beside the next.
    const double near = format == Format::bf16 ? 1.29 : 1.16;
    for (const double unit : {0x1p-8, 0x1p-11, 0x1p-24, 0x1p-53}) {
      const auto just_above = [&](double w) { return w > unit && w < near * unit; };
      EXPECT_TRUE(std::ranges::any_of(weights, just_above)) << numerics::properties(format).name << " " << unit;
    }
  }
  EXPECT_TRUE(far_mass_matrices(Format::f32, 1).empty());
}

RowMatrixOptions nans_allowed() {
  RowMatrixOptions options;
  options.nans = true;
  return options;
}

RowMatrixCase with_nans(std::vector<std::pair<std::uint64_t, std::uint64_t>> places) {
  RowMatrixCase matrix;
  matrix.format = Format::f32;
  matrix.columns = 3;
  matrix.rows = RowCycle(std::vector<RunLengthRow>(3, RunLengthRow::of(std::vector<double>{0, 1, 2})));
  for (const auto& [row, item] : places) matrix.specials.push_back({row, item, 0x7fc00001});
  return matrix;
}

TEST(RowMatrix, NansStandInTheOrderOfRowsThenItems) {
  EXPECT_TRUE(admits(nans_allowed(), with_nans({{0, 2}, {1, 0}, {1, 2}})));
  EXPECT_FALSE(admits(nans_allowed(), with_nans({{0, 2}, {0, 1}})));
  EXPECT_FALSE(admits(nans_allowed(), with_nans({{0, 1}, {0, 1}})));
  EXPECT_FALSE(admits(nans_allowed(), with_nans({{1, 0}, {0, 2}})));
}

// Which kinds of shrinks lead to a simpler matrix. Of 0, 1 and 2 no other way than one number changes the rows.
std::set<std::string> ways_taken(const RowMatrixCase& matrix) {
  std::set<std::string> ways;
  auto shrinks = shrink_row_matrix(matrix, nans_allowed());
  while (const auto simpler = shrinks.next()) {
    if (simpler->columns < matrix.columns) ways.insert("columns");
    if (simpler->columns != matrix.columns) continue;
    const std::size_t cycle = simpler->rows.cycle().size();
    if (simpler->rows.size() < matrix.rows.size()) ways.insert("rows");
    if (simpler->rows.size() == matrix.rows.size() && cycle < matrix.rows.cycle().size()) ways.insert("cycle");
    if (simpler->rows.size() != matrix.rows.size() || cycle != matrix.rows.cycle().size()) continue;
    if (simpler->rows != matrix.rows) ways.insert("number");
    const std::vector<SpecialLogit>&left = simpler->specials, &all = matrix.specials;
    if (left.size() == 1 && all.size() == 2) ways.insert("NaN " + std::to_string(left[0].row));
    if (left.size() == 2 && left[1].row < all[1].row) ways.insert("earlier NaN");
  }
  return ways;
}

TEST(RowMatrix, EveryWayOfShrinkingLeadsSomewhere) {
  RowMatrixCase matrix = with_nans({{0, 2}, {2, 0}});
  EXPECT_EQ(ways_taken(matrix), (std::set<std::string>{"columns", "rows", "number", "NaN 0", "NaN 2", "earlier NaN"}));
  matrix.specials.clear();
  matrix.rows = RowCycle(matrix.rows.cycle(), 8);
  EXPECT_EQ(ways_taken(matrix), (std::set<std::string>{"columns", "rows", "cycle", "number"}));
}

// The name of a matrix's class in a dimension.
std::string class_of(const RowMatrixCase& matrix, const std::string& dimension) {
  const std::vector<MatrixDimension>& dimensions = matrix_dimensions();
  const auto found = std::ranges::find(dimensions, dimension, &MatrixDimension::name);
  const auto place = static_cast<std::size_t>(found - dimensions.begin());
  return found->classes.at(classes_of(matrix).at(place));
}

TEST(RowMatrix, NansAreClassedByTheirBits) {
  const auto class_of_bits = [](std::uint64_t bits) {
    RowMatrixCase matrix = with_nans({{0, 2}});
    matrix.specials[0].bits = bits;
    return class_of(matrix, "NaN or +inf");
  };
  EXPECT_EQ(class_of(with_nans({}), "NaN or +inf"), "neither");
  EXPECT_EQ(class_of(with_nans({{0, 1}, {1, 1}}), "NaN or +inf"), "several");
  EXPECT_EQ(class_of_bits(0x7fc00000), "quiet");
  EXPECT_EQ(class_of_bits(0xffc00000), "quiet, negative");
  EXPECT_EQ(class_of_bits(0x7f800001), "signalling");
  EXPECT_EQ(class_of_bits(0xff800001), "signalling, negative");
  EXPECT_EQ(class_of_bits(0x7fc00001), "with a payload");
  EXPECT_EQ(class_of_bits(0x7f800000), "+inf");
}

TEST(RowMatrix, LengthsAreClassedByThePowersBesideThem) {
  const auto is = [](std::uint64_t n) {
    RowMatrixCase matrix;
    matrix.columns = n;
    matrix.rows = RowCycle(std::vector<RunLengthRow>(1, RunLengthRow::of(std::vector<double>(n, 0))));
    return class_of(matrix, "n is");
  };
  for (const std::uint64_t n : {64, 1024}) EXPECT_EQ(is(n), "a power of 2") << n;
  for (const std::uint64_t n : {63, 65, 1023, 1025}) EXPECT_EQ(is(n), "beside a power of 2") << n;
  for (const std::uint64_t n : {10, 11, 99, 100, 101, 999, 1000, 1001}) {
    EXPECT_EQ(is(n), "a power of 10 or beside it") << n;
  }
  for (const std::uint64_t n : {48, 112}) EXPECT_EQ(is(n), "a multiple of 16") << n;
  for (const std::uint64_t n : {47, 49}) EXPECT_EQ(is(n), "beside a multiple of 16") << n;
  for (const std::uint64_t n : {12, 98, 102}) EXPECT_EQ(is(n), "another number") << n;
}

TEST(RowMatrix, WhatIsNoMatrixIsAWrongText) {
  RowMatrixCase matrix;
  for (const char* text : {"", "matrix f32", "matrix f32 columns=1 theta=0x1p+0 mask=none ; 0x0p+0 0x0p+0",
                           "matrix f32 columns=1 theta=0x1p+0 mask=none in=1,2,3 ; 0x0p+0",
                           "matrix f32 columns=1 theta=0x1p+0 mask=none in=1,2,3,middle ; 0x0p+0",
                           "matrix f32 columns=1 theta=0x1p+0 mask=none inf=0 ; 0x0p+0",
                           "matrix f32 columns=1 theta=0x1p+0 mask=none inf=0,1 ; 0x0p+0",
                           "matrix f99 columns=1 theta=0x1p+0 mask=none ; 0x0p+0"}) {
    EXPECT_THROW(from_text(text, matrix), std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace softcheck::proptests
