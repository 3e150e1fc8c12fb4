#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <iostream>
#include <map>
#include <set>

#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/rows/row.hpp"
#include "proptests/generators/text/case_text.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Calls visit with a thousand cases of sizes 0 to 100.
template <class Visit>
void for_each_row(const RowOptions& options, Visit visit) {
  const rc::Gen<RowCase> rows = row_cases(options);
  rc::Random random(20241001);
  for (int i = 0; i < 1000; ++i) visit(rows(random.split(), i % 101));
}

TEST(RowGenerator, EveryFamilyFormatAndTemperatureOccurs) {
  std::map<std::string, int> families, formats;
  std::set<double> thetas;
  std::map<std::string, int> kinds;
  std::uint64_t logits = 0;
  for_each_row({}, [&](const rc::Shrinkable<RowCase>& drawn) {
    const RowCase row_case = drawn.value();
    const RunLengthRow& row = row_case.row;
    ++families[row_case.family];
    ++formats[std::string(numerics::properties(row_case.format).name)];
    thetas.insert(row_case.theta);
    logits += row.size();
    kinds["single item"] += row.size() == 1;
    kinds["long enough to disperse"] += row.size() >= 65536;
    kinds["over 1024 items"] += row.size() > 1024;
    kinds["literal, over 500 items"] += row.runs().size() > 500;
    kinds["masked"] += row.visible() < row.size();
    kinds["first item masked"] += row.runs().front().value == -infinity;
    kinds["sharp as max"] += row.size() > 1 && row.spread() / row_case.theta > 100;
    kinds["tied maximum"] +=
        row.spread() > 0 && row.runs().front().value == row.maximum() && row.runs().back().value == row.maximum();
    kinds["all equal"] += row.size() > 1 && row.runs().size() == 1;
    kinds["shifted by 2^16"] += std::fabs(row.maximum()) > 60000 && row.spread() < 1000;
    kinds["subnormal"] +=
        row.maximum() != 0 && std::fabs(row.maximum()) < numerics::properties(row_case.format).smallest_normal;
    kinds["largest number"] += row.maximum() == numerics::properties(row_case.format).largest;
    kinds["theta below 2^-30"] += row_case.theta < 0x1p-30;
    kinds["theta above 2^30"] += row_case.theta > 0x1p+30;
    kinds["theta no power of two"] += std::exp2(std::round(std::log2(row_case.theta))) != row_case.theta;
  });
  for (RowFamily family : all_row_families()) {
    std::cout << to_string(family) << " " << families[to_string(family)] << "\n";
    EXPECT_GE(families[to_string(family)], 20) << to_string(family) << " has nearly vanished";
  }
  EXPECT_EQ(families.size(), all_row_families().size());
  for (Format format : numerics::all_formats()) {
    EXPECT_GE(formats[std::string(numerics::properties(format).name)], 50) << numerics::properties(format).name;
  }
  for (const auto& [kind, count] : kinds) {
    std::cout << kind << " " << count << "\n";
    EXPECT_GE(count, 5) << kind;
  }
  EXPECT_GE(thetas.size(), 50U);
  std::cout << "mean length " << logits / 1000 << "\n";
}

TEST(RowGenerator, EveryDrawnAndShrunkRowKeepsToTheOptions) {
  RowOptions narrow;
  narrow.formats = {Format::f32, Format::bf16};
  narrow.min_length = 2;
  narrow.max_length = 5000;
  narrow.masks = false;
  narrow.max_spread = 30;
  narrow.max_deviation = 40;
  narrow.theta_exponent = 3;
  RowOptions unit;
  unit.theta_exponent = 0;
  unit.max_literal = 16;
  RowOptions blind;
  blind.fully_masked = true;
  for (const RowOptions& options : {RowOptions{}, narrow, unit, blind}) {
    int fully_masked = 0;
    for_each_row(options, [&](const rc::Shrinkable<RowCase>& drawn) {
      const RowCase row_case = drawn.value();
      EXPECT_TRUE(admits(options, row_case)) << to_text(row_case).substr(0, 200);
      fully_masked += row_case.row.visible() == 0;
      rc::Seq<rc::Shrinkable<RowCase>> shrinks = drawn.shrinks();
      for (int i = 0; i < 20; ++i) {
        const auto shrink = shrinks.next();
        if (!shrink) break;
        EXPECT_TRUE(admits(options, shrink->value())) << to_text(shrink->value()).substr(0, 200);
      }
    });
    EXPECT_EQ(fully_masked > 0, options.fully_masked);
  }
}

TEST(RowGenerator, WhatTheOptionsForbidIsNotAdmitted) {
  const auto row = [](const char* text) {
    RowCase row_case;
    from_text(text, row_case);
    return row_case;
  };
  RowOptions options;
  options.masks = false;
  options.max_spread = 4;
  options.theta_exponent = 1;
  EXPECT_TRUE(admits(options, row("row f32 theta=0x1p+0 0x1p+2 0x0p+0")));
  EXPECT_FALSE(admits(options, row("row f32 theta=0x1p+0 0x1p+2 -0x1p+0")));
  EXPECT_FALSE(admits(options, row("row f32 theta=0x1p+2 0x1p+2 0x0p+0")));
  EXPECT_FALSE(admits(options, row("row f32 theta=0x1p+0 -inf 0x0p+0")));
  EXPECT_FALSE(admits({}, row("row f32 theta=0x1p+0 -inf*3")));
  RowCase off_format = row("row f64 theta=0x1p+0 0x1.00000001p+0");
  EXPECT_TRUE(admits({}, off_format));
  off_format.format = Format::f32;
  EXPECT_FALSE(admits({}, off_format));
}

TEST(RowGenerator, ImpossibleOptionsThrow) {
  RowOptions options;
  options.formats.clear();
  EXPECT_THROW(row_cases(options), std::invalid_argument);
  options = {};
  options.min_length = 3;
  options.max_length = 2;
  EXPECT_THROW(row_cases(options), std::invalid_argument);
  options = {};
  options.masks = false;
  options.families = {RowFamily::masked};
  EXPECT_THROW(row_cases(options), std::invalid_argument);
}

// A row that fails by what none of its parts has, and two other logits have; with each kind of label.
TEST(RowGenerator, ALongerRowShrinksToTwoOtherLogits) {
  RowCase longer{RunLengthRow::of(std::vector<double>{1, 1, 0}), 1, Format::f32, "", 5 + 64 * 7};
  RowOptions options;
  options.auxiliaries = most_auxiliary;
  std::set<std::uint64_t> auxiliaries;
  auto shrinks = shrink_row_case(longer, options);
  while (const auto simpler = shrinks.next()) {
    if (simpler->row == RunLengthRow::of(std::vector<double>{0.5, 0})) auxiliaries.insert(simpler->auxiliary / 64);
  }
  EXPECT_EQ(auxiliaries, (std::set<std::uint64_t>{0, 1, 3, 4, 7}));
}

TEST(RowText, EveryRowParsesBack) {
  for_each_row({}, [](const rc::Shrinkable<RowCase>& drawn) {
    const RowCase row_case = drawn.value();
    RowCase parsed;
    from_text(to_text(row_case), parsed);
    EXPECT_EQ(parsed, row_case) << to_text(row_case).substr(0, 200);
  });
}

TEST(RowText, WhatIsNoRowIsRefused) {
  RowCase row_case;
  for (const char* text :
       {"", "row", "row f32", "row f33 theta=0x1p+0 0x1p+0", "row f32 theta=0 0x1p+0", "row f32 theta=inf 0x1p+0",
        "row f32 0x1p+0", "row f32 theta=0x1p+0 0x1p+0*0", "row f32 theta=0x1p+0 0x1p+0*", "row f32 theta=0x1p+0 inf",
        "row f32 theta=0x1p+0 nan", "row f32 theta=0x1p+0 0x1.000000001p+0", "row f32 theta=0x1p+0 --0x1p+0",
        "row f32 theta=0x1p+0 0x1p+0*-1", "row f32 theta=0x1p+0 0x1p+0,0x1p+0", "column f32 theta=0x1p+0 0x1p+0"}) {
    EXPECT_THROW(from_text(text, row_case), std::invalid_argument) << text;
  }
}

TEST(RowText, RunsOfOneValueAreOneRunAndExpandInOrder) {
  const RunLengthRow row({{1, 2}, {1, 1}, {-infinity, 2}, {0.0, 1}, {-0.0, 1}});
  EXPECT_EQ(row.runs().size(), 4U);
  EXPECT_EQ(row.size(), 7U);
  EXPECT_EQ(row.visible(), 5U);
  const std::vector<double> logits = row.expand();
  EXPECT_EQ(logits, (std::vector<double>{1, 1, 1, -infinity, -infinity, 0, -0.0}));
  EXPECT_EQ(RunLengthRow::of(logits), row);
  EXPECT_THROW(RunLengthRow({{1, 0}}), std::invalid_argument);
  EXPECT_THROW(RunLengthRow({{infinity, 1}}), std::invalid_argument);
  EXPECT_THROW(RunLengthRow({{std::nan(""), 1}}), std::invalid_argument);
}

TEST(CaseText, SimplerNumbersCostLessSoThatShrinkingEnds) {
  Draw draw(std::uint64_t{1});
  for (int i = 0; i < 10000; ++i) {
    const double value = std::bit_cast<double>(draw.bits());
    if (!std::isfinite(value)) continue;
    for (double simpler : simpler_numbers(value)) EXPECT_LT(complexity(simpler), complexity(value)) << value;
  }
  EXPECT_EQ(complexity(0.0), 0);
  EXPECT_EQ(simpler_numbers(0.0).size(), 0U);
  EXPECT_EQ(simpler_numbers(-infinity).front(), 0.0);
}

TEST(Draw, DistributionsReachBothEndsAndStayBetween) {
  Draw draw(std::uint64_t{1});
  std::set<int> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(draw.between(-2, 3));
    const std::uint64_t length = draw.log_uniform(3, 1 << 20);
    EXPECT_GE(length, 3U);
    EXPECT_LE(length, 1U << 20);
    const double unit = draw.unit();
    EXPECT_TRUE(unit >= 0 && unit < 1);
    EXPECT_TRUE(std::isfinite(draw.normal()));
  }
  EXPECT_EQ(seen, (std::set<int>{-2, -1, 0, 1, 2, 3}));
  EXPECT_EQ(draw.log_uniform(5, 5), 5U);
}

TEST(Draw, ASeedGivesTheSameNumbersOnEveryMachine) {
  // Computed once; the engine is fixed by the standard, the distributions by draw.cpp.
  Draw draw(std::uint64_t{5489});
  EXPECT_EQ(draw.bits(), 14514284786278117030U);  // first output of mt19937_64 with its default seed
}

}  // namespace
}  // namespace softcheck::proptests
