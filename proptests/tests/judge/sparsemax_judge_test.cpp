// Sparsemax: what a kernel may return, which of its zeros are exact, what rows are drawn for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "judge/inference/contract_inference.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "judge/ops/rows/row_judge.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

using Row = std::vector<double>;

bool holds(const Row& logits, const Row& got, const char* words = "acc=f32 masked=zero", Format format = Format::f32) {
  const RowVerdicts verdicts = judge_values(Op::sparsemax, parse_contract(words, format, format), logits, 1, got);
  return !verdicts.findings.empty() && std::ranges::all_of(verdicts.findings, [](const ValueFinding& finding) {
    return finding.decision == Decision::proved;
  });
}

TEST(SparsemaxJudge, TheProjectionIsRight) {
  EXPECT_TRUE(holds({0.25, 0}, {0.625, 0.375}));
  EXPECT_TRUE(holds({3, 0}, {1, 0}));
  EXPECT_TRUE(holds({5, 5, 5, 5}, {0.25, 0.25, 0.25, 0.25}));
  EXPECT_TRUE(holds({0.5, 0, -0.25, -4}, {0.75, 0.25, 0, 0}));
  EXPECT_TRUE(holds({0, -infinity}, {1, 0}));
  EXPECT_FALSE(holds({0.25, 0}, {0.5625, 0.4375}));
  EXPECT_FALSE(holds({0.25, 0}, {0.625, 0.375 + 0x1p-20}));
  EXPECT_FALSE(holds({0.25, 0}, {0.625, nan}));
  EXPECT_FALSE(holds({0.25, 0}, {0, 0}));
}

TEST(SparsemaxJudge, AZeroBeyondTheSupportIsExact) {
  EXPECT_FALSE(holds({3, 0}, {1, 1e-30}));
  EXPECT_FALSE(holds({3, 0}, {1, -0.0}));
  EXPECT_FALSE(holds({3, 0}, {1, -2}));
  EXPECT_FALSE(holds({0, -infinity}, {1, 1e-30}));
  EXPECT_FALSE(holds({0.25, 0}, {0.625, -0.0}));
  // At the edge of it a coefficient of 0 may come out as a rounding of the largest one.
  EXPECT_TRUE(holds({1, 0}, {1, 0}));
  EXPECT_TRUE(holds({1, 0}, {1 - 0x1p-24, 0x1p-24}));
  EXPECT_FALSE(holds({1, 0}, {1 - 0x1p-18, 0x1p-18}));
  EXPECT_TRUE(holds({1 + 0x1p-23, 0}, {1, 0x1p-24}));
  EXPECT_FALSE(holds({1 + 0x1p-18, 0}, {1, 0x1p-24}));
}

// Items that a kernel cannot tell from the edge move the others by what they may weigh.
TEST(SparsemaxJudge, ItemsAtTheEdgeMoveTheOthers) {
  // 0.25 is left of the condition of each of 4096 items. The two sides of item k err by 0.75 k^2 2^-24 in sequence: a
  // kernel may end from item 2364 on.
  Row logits(4097, -0.75);
  logits[0] = 0;
  const auto ended_behind = [&](std::size_t kept) {
    Row row(logits.size(), 0);
    const double each = 0.25 / static_cast<double>(kept);
    row[0] = 0.75 + each;
    std::fill_n(row.begin() + 1, kept - 1, each);
    return row;
  };
  EXPECT_TRUE(holds(logits, ended_behind(4097)));
  EXPECT_TRUE(holds(logits, ended_behind(2400)));
  EXPECT_FALSE(holds(logits, ended_behind(100)));
  EXPECT_FALSE(holds(logits, ended_behind(1)));
  EXPECT_FALSE(holds(logits, ended_behind(2400), "acc=f32 sum=tree"));
}

// Most of the weight lies close to the edge: the height of the whole row is not that of the prefix which an item is
// compared with.
TEST(SparsemaxJudge, ARowThatDispersesIsNotVacuous) {
  Row logits(0x1p17, -0x1p-5 + 0x1p-13);
  std::fill_n(logits.begin(), 16, 0.0);
  std::fill(logits.begin() + 4112, logits.end(), -1.0);
  const double top = (1 + 4096 * (0x1p-5 - 0x1p-13)) / 4112;
  Row exact(logits.size(), 0);
  std::fill_n(exact.begin(), 16, top);
  std::fill_n(exact.begin() + 16, 4096, top - 0x1p-5 + 0x1p-13);
  const Contract contract = parse_contract("acc=f32", Format::f32, Format::f32);
  const RowVerdicts verdicts = judge_values(Op::sparsemax, contract, logits, 1, exact);
  EXPECT_EQ(verdicts.findings.at(0).decision, Decision::proved);
  EXPECT_EQ(verdicts.vacuity.judged, 4112U);
  EXPECT_EQ(verdicts.vacuity.vacuous, 0U);
}

TEST(SparsemaxJudge, LogitsThatAreLargeCostNothing) {
  for (const double shift : {0.0, 4096.0, -0x1p20}) {
    EXPECT_TRUE(holds({shift + 0.25, shift}, {0.625, 0.375}));
    EXPECT_FALSE(holds({shift + 0.25, shift}, {0.625 + 0x1p-20, 0.375 - 0x1p-20}));
  }
  // Unless the accumulator cannot hold them.
  EXPECT_TRUE(holds({1000.25, 1000}, {0.5, 0.5}, "acc=bf16"));
  EXPECT_FALSE(holds({1000.25, 1000}, {0.5, 0.5}));
}

TEST(SparsemaxJudge, ARowWithNothingVisibleIsAsTheContractSays) {
  const Row nothing(4, -infinity);
  EXPECT_TRUE(holds(nothing, {0, 0, 0, 0}));
  EXPECT_FALSE(holds(nothing, {nan, nan, nan, nan}));
  EXPECT_TRUE(holds(nothing, {nan, nan, nan, nan}, "acc=f32 masked=nan"));
  EXPECT_TRUE(holds(nothing, {0.25, 0.25, 0.25, 0.25}, "acc=f32 masked=uniform"));
}

// Rows of any kind have supports of all sizes, and items at their edge.
TEST(SparsemaxJudge, RowsWithASupportAreDrawn) {
  const RowOp& op = Op::sparsemax.rows();
  const Row row{8, -infinity, -8, 0};
  const auto values = [&](std::uint64_t auxiliary) { return op.input_values(Format::f32, row, auxiliary)[0]; };
  EXPECT_EQ(values(0), row);
  EXPECT_EQ(values(1), row);
  EXPECT_EQ(values(2), (Row{0, -infinity, -0.5, -0.25}));
  EXPECT_EQ(values(4), (Row{0, -infinity, -4, -2}));
  const Row edge = values(6 + 8);  // two items share the largest logit
  EXPECT_EQ(edge[0], 0);
  EXPECT_EQ(edge[2], 0);
  EXPECT_EQ(edge[3], -0.5 + 0x1p-23);  // the third item: two units of f32 above where the support ends
  EXPECT_EQ(op.input_values(Format::f32, Row{}, 6)[0], Row{});
}

TEST(SparsemaxJudge, ItsValuesAreEnclosed) {
  const Contract contract = parse_contract("acc=f32", Format::f32, Format::f32);
  const Row logits{0.5, 0, -0.25, -4, -infinity};
  Row lower(5), upper(5), allowed(5);
  exact_row(Op::sparsemax, contract, logits, 1, lower, upper);
  EXPECT_EQ(lower, (Row{0.75, 0.25, 0, 0, 0}));
  EXPECT_EQ(upper, (Row{0.75, 0.25, 0, 0, 0}));
  granted_row(Op::sparsemax, contract, logits, 1, allowed);
  EXPECT_GT(allowed[0], 0);
  EXPECT_LT(allowed[0], 1e-6);
  EXPECT_EQ(allowed[3], 0);
  EXPECT_EQ(allowed[4], 0);
}

// Labelled full: SparsemaxJudge.AContractIsInferred
TEST(SparsemaxJudge, AContractIsInferred) {
  KernelSubject subject;
  subject.source = {SOFTCHECK_KERNEL_DIR "/libsoftcheck_zoo.so", "correct_sparsemax", {}};
  subject.op = Op::sparsemax;
  subject.contract = default_contract(Format::f32, output_format(subject.op, Format::f32));
  JudgeOptions options = judge_options(Effort::quick);
  options.run.cases = 40;
  const Inference inference = infer_contract(subject, options);
  ASSERT_TRUE(inference.contract) << inference.failure;
  EXPECT_EQ(inference.contract->accumulator, Format::f32);
  EXPECT_EQ(inference.contract->masked, MaskedRows::nan);
}

}  // namespace
}  // namespace softcheck::proptests
