// What no threshold excuses, however wide it is: NaN, infinities, and numbers beyond what any weights give.
#include "judge/ops/rows/result_limits.hpp"

#include "judge/ops/attention/attention_gradient.hpp"
#include "proptests/tests/judge/attention_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

bool any_fails(const RowVerdicts& verdicts) { return !all_hold(verdicts); }

Contract contract_in_f32(const char* words) { return parse_contract(words, Format::f32, Format::f32); }

bool row_fails(Op op, const char* words, const std::vector<double>& logits, const std::vector<double>& got) {
  return any_fails(verdicts_of(op, logits, got, {.contract = words}));
}

// One query of dim 1 over keys and values of dim 1.
struct SmallQuery {
  double query;
  std::vector<double> keys, values;
  double scale = 1;

  AttentionRow row() const {
    return {.query = std::span(&query, 1),
            .keys = keys,
            .values = values,
            .value_size = 1,
            .scale = scale,
            .visible = std::vector<std::uint8_t>(keys.size(), 1)};
  }
};

bool attention_fails(Op op, const char* words, const SmallQuery& of, double out,
                     std::optional<double> entropy = std::nullopt) {
  const AttentionTask task{op, contract_in_f32(words), Format::f32};
  return any_fails(judge_attention(task, of.row(), {std::span(&out, 1), std::nullopt, entropy}));
}

TEST(ResultLimits, NoCoefficientIsNanOrAboveOneWhereNothingElseIsPromised) {
  const std::vector<double> logits{1e4, -1e4, 9990};
  ASSERT_FALSE(row_fails(Op::softmax, "acc=bf16", logits, {1, 0, 0}));
  for (const double wrong : {nan, 1e30, -7.0, 1.5}) {
    EXPECT_TRUE(row_fails(Op::softmax, "acc=bf16", logits, {wrong, 0, 0})) << wrong;
    EXPECT_TRUE(row_fails(Op::softmax, "acc=bf16", logits, {1, wrong, 0})) << wrong;
    EXPECT_TRUE(row_fails(Op::adaptive_softmax, "acc=bf16", logits, {1, wrong, 0})) << wrong;
  }
}

TEST(ResultLimits, NoLogarithmOfACoefficientIsPositive) {
  const std::vector<double> logits{1e4, -1e4, 9990};
  for (const char* words : {"acc=bf16", "acc=bf16 lse=uncentred"}) {
    ASSERT_FALSE(row_fails(Op::log_softmax, words, logits, {0, -2e4, -10})) << words;
    for (const double wrong : {nan, 1e30, 3000.0}) {
      EXPECT_TRUE(row_fails(Op::log_softmax, words, logits, {wrong, -2e4, -10})) << words << wrong;
    }
  }
  EXPECT_TRUE(row_fails(Op::log_softmax, "acc=bf16", logits, {0.5, -2e4, -10}));
}

TEST(ResultLimits, AnEntropyLiesBetweenZeroAndLnN) {
  const std::vector<double> logits{1e4, -1e4, 9990};
  ASSERT_FALSE(row_fails(Op::entropy, "acc=bf16", logits, {0.5}));
  for (const double wrong : {nan, 1e30, -7.0, 2.0}) {
    EXPECT_TRUE(row_fails(Op::entropy, "acc=bf16", logits, {wrong})) << wrong;
  }
  EXPECT_TRUE(row_fails(Op::logsumexp, "acc=bf16", logits, {nan}));
}

// A sum of 16-bit numbers stands still: kernels of these contracts return so much.
TEST(ResultLimits, SumsThatStandStillAreNoFailure) {
  std::vector<double> spread(400, -3.0);
  std::fill_n(spread.begin(), 16, 0.0);
  EXPECT_FALSE(row_fails(Op::entropy, "acc=bf16 sum=sequential", spread, {6.75}));
  const SmallQuery alike{0, std::vector<double>(320, 0.0), std::vector<double>(320, 1.5)};
  EXPECT_FALSE(attention_fails(Op::attention, "acc=bf16 sum=sequential", alike, 2));
  EXPECT_TRUE(attention_fails(Op::attention, "acc=bf16 sum=sequential", alike, 1e30));
}

TEST(ResultLimits, AnOutputLiesAmongTheVisibleValues) {
  const SmallQuery peaked{300, {1, -1}, {-1, 1}};
  for (const Op op : {Op::attention, Op::adaptive_attention}) {
    ASSERT_FALSE(attention_fails(op, "acc=bf16", peaked, -1)) << to_string(op);
    for (const double wrong : {nan, 1e30, -7.0, 1.5}) {
      EXPECT_TRUE(attention_fails(op, "acc=bf16", peaked, wrong)) << to_string(op) << wrong;
    }
  }
  // Scores of 1e7 and more under the default contract.
  const SmallQuery large{3e7, {1.1, -0.7, 1.3}, {-3.5, 2, 3.5}};
  ASSERT_FALSE(attention_fails(Op::attention, "", large, 3.5));
  for (const double wrong : {nan, 50.0, 1e30, -7.0}) {
    EXPECT_TRUE(attention_fails(Op::attention, "", large, wrong)) << wrong;
  }
  for (const double wrong : {nan, 1e30, -7.0})
    EXPECT_TRUE(attention_fails(Op::attention, "", large, 3.5, wrong)) << wrong;
}

// 3e24 is known to no 64 bits of its last place: even the exact output is not, but for its range.
TEST(ResultLimits, ScoresThatNoLongDoubleHoldsExcuseNothing) {
  const SmallQuery large{0x1.234566p40, {0x1.98765p41, -0x1.76543p41, 0x1.987652p41}, {-3.5, 2, 3.5}, 0.1};
  ASSERT_FALSE(attention_fails(Op::attention, "", large, 3.5));
  for (const double wrong : {nan, 50.0, 1e30, -7.0}) {
    EXPECT_TRUE(attention_fails(Op::attention, "", large, wrong)) << wrong;
  }
}

// inf - inf, in every kernel that computes in f32.
TEST(ResultLimits, NanIsGrantedWhereScoresLeaveTheAccumulatorsRange) {
  const SmallQuery overflowing{3e38, {10, 11}, {1, 2}};
  EXPECT_FALSE(attention_fails(Op::attention, "", overflowing, nan));
  EXPECT_FALSE(row_fails(Op::entropy, "", {3e38, -3e38}, {0}));
}

TEST(ResultLimits, AMergeLiesAmongItsParts) {
  const std::vector<double> lse{1e4, -1e4, 9990};
  const std::vector<std::vector<double>> outputs{{-1, 0.5, 1}};
  const auto merge_fails = [&](double out) {
    return any_fails(verdicts_of(Op::merge_states, lse, {out, 1e4}, {.contract = "acc=bf16", .auxiliary = outputs}));
  };
  ASSERT_FALSE(merge_fails(-1));
  for (const double wrong : {nan, 1e30, -7.0, 1.5}) EXPECT_TRUE(merge_fails(wrong)) << wrong;
}

// Every op of rows, at logits of which 16 bits keep no digit of the differences.
TEST(ResultLimits, NoOpOfRowsGrantsNan) {
  const std::vector<double> logits{1e4, -1e4, 9990, 0};
  for (const Op op : row_ops()) {
    if (op->of_whole_calls) continue;  // judge_call has them
    const RowOp& rows = op.rows();
    const Contract contract = contract_in_f32("acc=bf16");
    const std::vector<std::vector<double>> inputs = rows.input_values(Format::f32, logits, 0);
    const std::span<const std::vector<double>> auxiliary = std::span(inputs).subspan(1);
    const Attributes attributes = rows.attributes(0, logits.size());
    const RowInputs row{contract, inputs[0], 1, auxiliary, attributes};
    std::vector<double> lower(values_of_row(*op.operator->(), logits.size(), rows.width_of(row))), upper = lower;
    exact_row(op, contract, inputs[0], 1, lower, upper, auxiliary, attributes);
    for (std::size_t i = 0; i < lower.size(); ++i) {
      if (is_index_value(*op.operator->(), i, logits.size(), rows.width_of(row))) continue;
      std::vector<double> got = lower;
      for (double& value : got) value = round_to(contract.output, value);
      ASSERT_FALSE(any_fails(judge_values(op, contract, inputs[0], 1, got, auxiliary, attributes))) << to_string(op);
      got[i] = nan;
      EXPECT_TRUE(any_fails(judge_values(op, contract, inputs[0], 1, got, auxiliary, attributes)))
          << to_string(op) << i;
    }
  }
}

// m - x_j has no finite value in f32, its product with the class's weight has one: a kernel may weight it last.
TEST(ResultLimits, ATermOfASmoothedLossMayOverflowBeforeItIsWeighted) {
  const KernelSubject subject = zoo_subject(
      "correct_cross_entropy", {.op = Op::cross_entropy, .contract = "acc=f32 exp=1ulp sum=sequential masked=nan"});
  for (const int auxiliary : {8, 9, 40, 41, 42, 105}) {
    const std::string row =
        "row f32 theta=0x1p+0 beside=" + std::to_string(auxiliary) + " 0x1p+103 -0x1.fffffep+127 0x0p+0*2";
    const KernelJudgement judgement =
        replay_kernel(subject, "Kernel.EveryValueLiesWithinItsThreshold", row, judge_options(Effort::quick));
    EXPECT_NE(judgement.verdict, ReportVerdict::fail) << row;
  }
}

}  // namespace
}  // namespace softcheck::proptests
