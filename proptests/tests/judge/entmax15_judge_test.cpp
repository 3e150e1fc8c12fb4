// Entmax of alpha = 1.5: what a kernel may return, which of its zeros are exact, what rows are drawn for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "judge/ops/rows/row_judge.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

using EntmaxRow = std::vector<double>;

bool is_entmax(const EntmaxRow& logits, const EntmaxRow& got, const char* words = "acc=f32 masked=zero",
               Format format = Format::f32) {
  const RowVerdicts verdicts = judge_values(Op::entmax15, parse_contract(words, format, format), logits, 1, got);
  return !verdicts.findings.empty() && std::ranges::all_of(verdicts.findings, [](const ValueFinding& finding) {
    return finding.decision == Decision::proved;
  });
}

TEST(Entmax15Judge, TheProjectionIsRight) {
  // Roots of 4/5 and 3/5.
  const double high = round_to(Format::f32, 0.64), low = round_to(Format::f32, 0.36), gap = round_to(Format::f32, 0.4);
  EXPECT_TRUE(is_entmax({gap, 0}, {high, low}));
  EXPECT_TRUE(is_entmax({5, 5, 5, 5}, {0.25, 0.25, 0.25, 0.25}));
  EXPECT_TRUE(is_entmax({6, 0}, {1, 0}));
  EXPECT_TRUE(is_entmax({0, -infinity}, {1, 0}));
  EXPECT_FALSE(is_entmax({gap, 0}, {0.7, 0.3}));  // sparsemax's
  EXPECT_FALSE(is_entmax({gap, 0}, {high, low + 0x1p-19}));
  EXPECT_FALSE(is_entmax({gap, 0}, {high, nan}));
  EXPECT_FALSE(is_entmax({gap, 0}, {0, 0}));
}

TEST(Entmax15Judge, AZeroBeyondTheSupportIsExact) {
  EXPECT_FALSE(is_entmax({6, 0}, {1, 1e-30}));
  EXPECT_FALSE(is_entmax({6, 0}, {1, -0.0}));
  EXPECT_FALSE(is_entmax({0, -infinity}, {1, 1e-30}));
  EXPECT_FALSE(is_entmax({0.25, 0}, {0.5, -0.0}));
  // At the edge a root of 0 may come out as a rounding of the largest one; its square is far less.
  EXPECT_TRUE(is_entmax({2, 0}, {1, 0}));
  EXPECT_TRUE(is_entmax({2, 0}, {1, 0x1p-46}));
  EXPECT_FALSE(is_entmax({2, 0}, {1, 0x1p-36}));
  EXPECT_FALSE(is_entmax({2 + 0x1p-16, 0}, {1, 0x1p-46}));
}

// A kernel that cannot tell items from the edge takes in all of them, and its root has the errors of their sums.
TEST(Entmax15Judge, ItemsThatMayBeTakenInWidenTheError) {
  const double beyond = -2 - 0x1p-21;
  EntmaxRow logits(1001, beyond), less(logits.size(), 0);
  logits[0] = 0;
  less[0] = 1 - 0x1p-17;
  EXPECT_TRUE(is_entmax(logits, less));
  EXPECT_FALSE(is_entmax({0, beyond}, {less[0], 0}));
  // In f64 they are far smaller, and items farther away have no part in it.
  EXPECT_FALSE(is_entmax(logits, less, "acc=f64"));
  std::fill(logits.begin() + 1, logits.end(), -2.5);
  EXPECT_FALSE(is_entmax(logits, less));
}

TEST(Entmax15Judge, LogitsThatAreLargeCostNothing) {
  for (const double shift : {0.0, 4096.0, -0x1p20}) {
    EXPECT_TRUE(is_entmax({shift + 6, shift}, {1, 0}));
    EXPECT_TRUE(is_entmax({shift, shift, shift, shift}, {0.25, 0.25, 0.25, 0.25}));
    EXPECT_FALSE(is_entmax({shift, shift, shift, shift}, {0.25, 0.25, 0.25, 0.25 + 0x1p-20}));
  }
  // Unless the accumulator cannot hold them.
  EXPECT_TRUE(is_entmax({1000.25, 1000}, {0.5, 0.5}, "acc=bf16"));
  EXPECT_FALSE(is_entmax({1000.25, 1000}, {0.5, 0.5}));
}

TEST(Entmax15Judge, ARowWithNothingVisibleIsAsTheContractSays) {
  const EntmaxRow nothing(4, -infinity);
  EXPECT_TRUE(is_entmax(nothing, {0, 0, 0, 0}));
  EXPECT_FALSE(is_entmax(nothing, {nan, nan, nan, nan}));
  EXPECT_TRUE(is_entmax(nothing, {0.25, 0.25, 0.25, 0.25}, "acc=f32 masked=uniform"));
}

TEST(Entmax15Judge, RowsWithASupportAreDrawn) {
  const EntmaxRow row{8, -infinity, -8, 0};
  const auto values = [&](std::uint64_t auxiliary) {
    return Op::entmax15.rows().input_values(Format::f32, row, auxiliary)[0];
  };
  EXPECT_EQ(values(0), row);
  EXPECT_EQ(values(2), (EntmaxRow{0, -infinity, -1, -0.5}));
  EXPECT_EQ(values(4), (EntmaxRow{0, -infinity, -8, -4}));
  const EntmaxRow edge = values(6 + 24);  // four items share the largest logit
  EXPECT_EQ(edge[0], 0);
  EXPECT_EQ(edge[3], 0);
  const EntmaxRow beyond = Op::entmax15.rows().input_values(Format::f32, {EntmaxRow{8, 0, 1}}, 6)[0];
  EXPECT_EQ(beyond[1], -2 + 0x1p-22);  // three units of f32 inside the support, to even
}

TEST(Entmax15Judge, ItsValuesAreEnclosed) {
  const Contract contract = parse_contract("acc=f32", Format::f32, Format::f32);
  const EntmaxRow logits{0, 0, 0, 0, -8, -infinity};
  EntmaxRow lower(6), upper(6), allowed(6);
  exact_row(Op::entmax15, contract, logits, 1, lower, upper);
  EXPECT_EQ(lower, (EntmaxRow{0.25, 0.25, 0.25, 0.25, 0, 0}));
  EXPECT_EQ(upper, lower);
  granted_row(Op::entmax15, contract, logits, 1, allowed);
  EXPECT_GT(allowed[0], 0);
  EXPECT_LT(allowed[0], 1e-6);
  EXPECT_EQ(allowed[4], 0);
  EXPECT_EQ(allowed[5], 0);
}

}  // namespace
}  // namespace softcheck::proptests
