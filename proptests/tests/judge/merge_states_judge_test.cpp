// Merges of partial states: how a call lies in memory, what is granted, what empty parts become.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "judge/kernel_judge.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "judge/ops/rows/row_description.hpp"
#include "judge/ops/rows/row_judge.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "judge/trial/effort.hpp"
#include "numerics/formats/special_values.hpp"
#include "proptests/tests/judge/our_kernels.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// The decisions of a row of these log-sum-exps, whose outputs are of one column: of out, then of lse.
std::vector<Decision> decided(std::vector<double> lse, const std::vector<double>& outputs, double out, double merged,
                              bool base_2 = false) {
  const Contract contract = parse_contract("acc=f32 exp=1ulp masked=zero", Format::f32, Format::f32);
  const std::vector<double> got{out, merged};
  const std::vector<std::vector<double>> auxiliary{outputs};
  const RowVerdicts verdicts =
      judge_values(Op::merge_states, contract, lse, 1, got, auxiliary, Attributes{.lse_base2 = base_2});
  std::vector<Decision> decisions;
  for (const ValueFinding& finding : verdicts.findings) decisions.push_back(finding.decision);
  return decisions;
}

constexpr Decision right_merge = Decision::proved, wrong = Decision::violated;
using Decisions = std::vector<Decision>;

TEST(MergeStatesJudge, EqualPartsGiveTheirMeanAndTheLogarithmOfTheirNumber) {
  const double two = std::log(2.0);
  EXPECT_EQ(decided({3, 3}, {1, 2}, 1.5, round_to(Format::f32, 3 + two)), (Decisions{right_merge, right_merge}));
  EXPECT_EQ(decided({3, 3}, {1, 2}, 1.5, 4, true), (Decisions{right_merge, right_merge}));
  EXPECT_EQ(decided({3, 3}, {1, 2}, 1.5, 4), (Decisions{right_merge, wrong}));
  EXPECT_EQ(decided({3, 3}, {1, 2}, 1.5 + 0x1p-18, round_to(Format::f32, 3 + two)), (Decisions{wrong, right_merge}));
  // In base 2 a part that is 1 below has half the weight.
  EXPECT_EQ(decided({1, 0}, {3, 0}, 2, round_to(Format::f32, std::log2(3.0)), true),
            (Decisions{right_merge, right_merge}));
}

TEST(MergeStatesJudge, AnEmptyPartIsNotThere) {
  EXPECT_EQ(decided({-infinity, 2}, {nan, 5}, 5, 2), (Decisions{right_merge, right_merge}));
  EXPECT_EQ(decided({-infinity, 2}, {nan, 5}, nan, 2), (Decisions{wrong, right_merge}));
  EXPECT_EQ(decided({-infinity, -infinity}, {nan, nan}, 0, -infinity), (Decisions{right_merge}));
  EXPECT_EQ(decided({-infinity, -infinity}, {nan, nan}, 0, 0), (Decisions{wrong}));
  EXPECT_EQ(decided({-infinity, -infinity}, {nan, nan}, nan, -infinity), (Decisions{wrong}));
}

// Terms that cancel leave what they were rounded by, and no more.
TEST(MergeStatesJudge, WhatCancelsIsComparedWithItsTerms) {
  EXPECT_EQ(decided({0, 0}, {1, -1}, 0x1p-25, round_to(Format::f32, std::log(2.0))),
            (Decisions{right_merge, right_merge}));
  EXPECT_EQ(decided({0, 0}, {1, -1}, 0x1p-18, round_to(Format::f32, std::log(2.0))), (Decisions{wrong, right_merge}));
}

TEST(MergeStatesJudge, TheTensorsOfACallAreInTheOrderOfTheirRoles) {
  RowMatrixCase matrix;
  matrix.format = Format::f32;
  matrix.columns = 2;
  matrix.rows = RowCycle({RunLengthRow::of(std::vector<double>{1, 2}), RunLengthRow::of(std::vector<double>{3, 4}),
                          RunLengthRow::of(std::vector<double>{5, 6})});
  matrix.auxiliary = 1 + 4 * 7;  // three columns, outputs that all differ
  const TensorCall call = call_of(matrix, Op::merge_states, {Format::bf16, Format::bf16});
  ASSERT_EQ(call.roles, (std::vector<Role>{Role::out, Role::lse}));
  const InputTensor &outputs = call.inputs[0], &lse = call.inputs[1];
  EXPECT_EQ(outputs.place.shape, (std::vector<std::int64_t>{2, 3, 3}));
  EXPECT_EQ(outputs.place.format, Format::bf16);
  EXPECT_EQ(lse.place.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(lse.place.format, Format::f32);
  EXPECT_EQ(lse.values, (std::vector<double>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(call.outputs[0].place.shape, (std::vector<std::int64_t>{3, 3}));
  EXPECT_EQ(call.outputs[0].place.format, Format::bf16);
  EXPECT_EQ(call.outputs[1].place.shape, (std::vector<std::int64_t>{3}));
  EXPECT_EQ(call.outputs[1].place.format, Format::f32);
  // Row 1's outputs of both parts are what the judge takes for it.
  const std::vector<double> of_row = inputs_of(matrix, Op::merge_states, Format::bf16, 1)[1];
  const std::vector<double> passed{outputs.values[3],  outputs.values[4],  outputs.values[5],
                                   outputs.values[12], outputs.values[13], outputs.values[14]};
  EXPECT_EQ(of_row, passed);
  EXPECT_EQ(std::set<double>(of_row.begin(), of_row.end()).size(), of_row.size());
}

TEST(MergeStatesJudge, ALogSumExpKeepsItsBitsWhereItIsHandedOverByParts) {
  RowMatrixCase matrix;
  matrix.format = Format::f32;
  matrix.columns = 3;
  matrix.rows =
      RowCycle({RunLengthRow::of(std::vector<double>{1, 2, 3}), RunLengthRow::of(std::vector<double>{4, 5, 6})});
  matrix.specials = {{1, 2, 0x7fc00001}};
  matrix.in = {7, 2, 1, true};
  const TensorCall call = call_of(matrix, Op::merge_states, {Format::f32, Format::f32});
  EXPECT_EQ(call.inputs[1].patterns, (std::map<std::size_t, std::uint64_t>{{5, 0x7fc00001}}));
  EXPECT_EQ(call.inputs[1].place.strides, (std::vector<std::int64_t>{2, 7}));
}

TEST(MergeStatesJudge, ADomainHasOneBaseOrBoth) {
  const RowOp& op = Op::merge_states.rows();
  const std::uint64_t base = op.set_auxiliaries(parse_domain("base=2", false));
  EXPECT_TRUE(op.attributes(base, 2).lse_base2);
  EXPECT_EQ(op.closed_auxiliaries(parse_domain("base=e", false)), base);
  EXPECT_EQ(op.closed_auxiliaries({}), 0u);
  EXPECT_EQ(op.set_auxiliaries({}), 0u);
  EXPECT_THROW(parse_domain("base=e base=2", false), std::invalid_argument);
}

TEST(MergeStatesJudge, AValueStandsInItsOutput) {
  const auto place = [](Op op, std::size_t i) {
    const ValuePlace of = place_of_value(*op.operator->(), i, 7, 3);
    return std::pair(of.output, of.item);
  };
  using Item = std::optional<std::size_t>;
  EXPECT_EQ(place(Op::merge_states, 2), std::pair(std::size_t{0}, Item(2)));
  EXPECT_EQ(place(Op::merge_states, 3), std::pair(std::size_t{1}, Item()));
  EXPECT_EQ(place(Op::topk_softmax, 4), std::pair(std::size_t{1}, Item(1)));
  EXPECT_EQ(place(Op::softmax, 6), std::pair(std::size_t{0}, Item(6)));
}

// out is NaN whatever comes in, lse is 0: of a row that holds a NaN the second is wrong.
int nan_and_zero(const softcheck_call* call) {
  for (const std::size_t k : {0, 1}) {
    const DLTensor& out = *call->outputs[k];
    for (std::int64_t row = 0; row < out.shape[0]; ++row) {
      for (std::int64_t column = 0; column < (k == 0 ? out.shape[1] : 1); ++column) {
        const std::int64_t columns = k == 0 ? out.shape[1] : 1;
        const std::int64_t at = out.strides == nullptr ? row * columns + column
                                                       : row * out.strides[0] + (k == 0 ? column * out.strides[1] : 0);
        reinterpret_cast<float*>(static_cast<char*>(out.data) + out.byte_offset)[at] = k == 0 ? NAN : 0.0F;
      }
    }
  }
  return 0;
}

TEST(MergeStatesJudge, ALogSumExpThatIsNotNanIsNamed) {
  KernelSubject subject;
  subject.op = Op::merge_states;
  subject.contract = parse_contract("acc=f32 exp=1ulp masked=zero", Format::f32, Format::f32);
  subject.source.symbol = "nan_and_zero";
  subject.source.callable = nan_and_zero;
  // What out and lse have to be is not the question.
  subject.exempt = {"kernel.merge_states.out", "kernel.merge_states.lse", "kernel.masked_row"};
  JudgeOptions options = judge_options(Effort::quick);
  options.only = {"ANanLogitMakesItsRowNan"};
  const KernelJudgement judgement = judge_kernel(subject, options);
  ASSERT_TRUE(judgement.counterexample);
  const Certificate& failed = judgement.counterexample->failed.front();
  EXPECT_EQ(failed.claim, "kernel.nan_row");
  EXPECT_TRUE(failed.witness.ends_with(" expected=NaN as lse got=0x0p+0")) << failed.witness;
  EXPECT_EQ(failed.witness.find("item="), std::string::npos) << failed.witness;
}

TEST(MergeStatesJudge, NoCallOfManyRowsIsWide) {
  constexpr std::int64_t most = 1 << 15;
  const Shared seen;  // a call of more elements, one of a head's dimension
  KernelSubject subject;
  subject.op = Op::merge_states;
  subject.contract = parse_contract("acc=f32 exp=1ulp masked=zero", Format::f32, Format::f32);
  JudgeOptions options = judge_options(Effort::quick);
  options.only = {"EveryPairOfClassesIsComputed", "ManyRowsAreEachAsRight"};
  options.rows = 2048;
  options.covers = 1;
  options.cover_elements = most;
  subject.source = source_of([&](const softcheck_call* call) {
    const DLTensor& outputs = *call->inputs[0];  // of the parts
    const std::int64_t all = outputs.shape[0] * outputs.shape[1] * outputs.shape[2];
    if (all > std::max(most, outputs.shape[0] * outputs.shape[1])) seen[0] = 1;
    if (outputs.shape[2] >= 64) seen[1] = 1;
    return 1;  // refused
  });
  judge_kernel(subject, options);
  EXPECT_EQ(seen[0], 0);
  EXPECT_EQ(seen[1], 1) << "no head's dimension is tried";
}

TEST(MergeStatesJudge, AReportNamesTheOutputsAndTheBase) {
  const RowMatrixCase matrix = matrix_of(RowCase{RunLengthRow::of(std::vector<double>{1, 0}), 1, Format::f32, "", 32});
  EXPECT_EQ(asked_of(matrix, Op::merge_states, Format::f32, "", 0).remark,
            " (lse 0x1p+0 0x0p+0, out 0x1p+0 0x1p+0, lse_base2)");
}

}  // namespace
}  // namespace softcheck::proptests
