// Sigmoid attention: what a kernel may return for one query, and what its calls have.
#include "judge/ops/attention/query_oracles.hpp"
#include "judge/ops/attention/sigmoid_thresholds.hpp"
#include "judge/results/tensor_judge.hpp"
#include "proptests/tests/judge/attention_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

const std::vector<double> one_query{1}, two_keys{0, 2}, two_values{1, -3};

AttentionRow row_with(double bias, std::vector<std::uint8_t> visible = {1, 1}) {
  AttentionRow row;
  row.query = one_query;
  row.keys = two_keys;
  row.values = two_values;
  row.value_size = 1;
  row.visible = std::move(visible);
  row.sigmoid_bias = bias;
  return row;
}

bool holds(const AttentionRow& row, double got, const char* words = "") {
  const std::vector<double> out{got};
  const RowVerdicts verdicts = judge_attention(attention_task(Op::sigmoid_attention, Format::f32, words), row,
                                               {out, std::nullopt, std::nullopt});
  return verdicts.findings.size() == 1 && verdicts.findings[0].decision == Decision::proved;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(SigmoidAttentionJudge, TheSumIsRight) {
  for (const double bias : {0.0, -std::log(2.0), -5.0, 30.0}) {
    const double right = static_cast<float>(sigmoid(bias) - 3 * sigmoid(2 + bias));
    EXPECT_TRUE(holds(row_with(bias), right));
    EXPECT_FALSE(holds(row_with(bias), right * (1 + 0x1p-18)));
    EXPECT_FALSE(holds(row_with(bias), nan));
    EXPECT_FALSE(holds(row_with(bias + 0.001), right) && bias < 20);
  }
  EXPECT_TRUE(holds(row_with(1, {1, 0}), static_cast<float>(sigmoid(1))));
}

TEST(SigmoidAttentionJudge, AQueryWithoutKeysIsZeroUnderEveryContract) {
  AttentionRow row = row_with(1, {0, 0});
  for (const char* words : {"masked=nan", "masked=zero", "masked=uniform"}) {
    EXPECT_TRUE(holds(row, 0, words));
    EXPECT_FALSE(holds(row, -0.0, words));
    EXPECT_FALSE(holds(row, nan, words));
    EXPECT_FALSE(holds(row, -1, words));
  }
  row.sink = 3;  // has no value, and nothing is divided by a sum
  EXPECT_TRUE(holds(row, 0));
  EXPECT_FALSE(holds(row, 1));
}

TEST(SigmoidAttentionJudge, TanhHasAnAbsoluteError) {
  const AttentionRow row = row_with(-14, {1, 0});
  const double right = sigmoid(-14);
  EXPECT_TRUE(holds(row, static_cast<float>(right + 0x1p-25), "sigmoid=tanh"));
  EXPECT_FALSE(holds(row, static_cast<float>(right + 0x1p-25)));
  EXPECT_FALSE(holds(row, static_cast<float>(right + 0x1p-19), "sigmoid=tanh"));
}

TEST(SigmoidAttentionJudge, BothRoutesAgree) {
  for (const Format format : {Format::f64, Format::f32, Format::bf16}) {
    AttentionOptions options = small_attention(60, 4096, all_attributes);
    options.format = format;
    options.sigmoid = true;
    const AttentionTask task = attention_task(Op::sigmoid_attention, format);
    std::size_t close = 0;
    for (const AttentionCase& drawn : drawn_attention(options, 60, 7, 100)) {
      const AttentionCase a = Op::sigmoid_attention.attention_op().completed(drawn);
      EXPECT_EQ(a.outputs, 1);
      ASSERT_TRUE(a.attributes.sigmoid_bias);
      EXPECT_EQ(to_text(read_back(a)), to_text(a));
      if (a.shape.batch * a.shape.heads() * a.shape.queries == 0) continue;
      const AttentionRow row = row_of(a, 0, 0, 0);
      const VisibleKeys visible(task.contract, row);
      if (visible.keys() == 0) continue;
      const PrecisionScope precision(256);
      const SigmoidThresholds thresholds(task, row, visible);
      QueryOracles oracles(task, row, std::span(visible.items).first(visible.keys()));
      for (std::size_t c = 0; c < row.value_size; ++c) {
        const Judgeable value = thresholds.column(c);
        const Enclosure exact = oracles.value(AttentionClaim::output, c);
        EXPECT_TRUE(value.exact.enclosure().overlaps(exact)) << to_text(a);
        close += static_cast<double>(value.exact.error) < value.threshold / 4 ? 1 : 0;
      }
    }
    EXPECT_GT(close, 50u);
  }
}

TEST(SigmoidAttentionJudge, CallsHaveTheirBias) {
  AttentionCase a = drawn_attention(small_attention(20), 1, 3, 50).at(0);
  const AttentionTask task = attention_task(Op::sigmoid_attention);
  const auto bias_of = [&] { return task.op.attention_op().call(task, a).attributes.sigmoid_bias; };
  EXPECT_EQ(bias_of(), usual_sigmoid_bias(a.shape.keys));
  EXPECT_EQ(task.op.attention_op().call(task, a).op, std::uint32_t{SOFTCHECK_OP_SIGMOID_ATTENTION});
  a.attributes.sigmoid_bias = -3;
  EXPECT_EQ(bias_of(), -3);
  const Domain usual = parse_domain("sigmoid_bias=-ln(keys)", true);
  EXPECT_FALSE(lies_in(usual, a, traits_of(a)));
  a.attributes.sigmoid_bias = -std::log(static_cast<double>(a.shape.keys));
  EXPECT_TRUE(lies_in(usual, a, traits_of(a)));
}

}  // namespace
}  // namespace softcheck::proptests
