// The divergence of two rows of logits and its gradient: directions, infinities, what is drawn.
#include <cmath>

#include "judge/ops/rows/row_elements.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr Attributes forward{}, backward{.reverse = true};

std::vector<ValueFinding> findings(Op op, const Row& logits, const std::vector<Row>& auxiliary,
                                   const Attributes& attributes, const Row& got, double theta = 1) {
  const RowWords words{.contract = "acc=f32 exp=1ulp sum=sequential",
                       .theta = theta,
                       .auxiliary = auxiliary,
                       .attributes = attributes,
                       .counted = {}};
  return verdicts_of(op, logits, got, words).findings;
}

bool holds(Op op, const Row& logits, const std::vector<Row>& auxiliary, const Attributes& attributes, Row got,
           double theta = 1) {
  for (double& value : got) value = round_to(Format::f32, value);
  return findings(op, logits, auxiliary, attributes, got, theta).at(0).decision == Decision::proved;
}

// p = (2/3, 1/3) and q = (1/2, 1/2).
TEST(DivergenceJudge, EachDirectionHasItsWeights) {
  const Row logits{round_to(Format::f32, std::log(2.0)), 0};
  const std::vector<Row> teacher{{0, 0}};
  const double of_teacher = std::log(3.0) - 1.5 * std::log(2.0), of_logits = 5 / 3.0 * std::log(2.0) - std::log(3.0);
  for (const bool reverse : {false, true}) {
    const Attributes& attributes = reverse ? backward : forward;
    EXPECT_EQ(holds(Op::kl_divergence, logits, teacher, attributes, {of_teacher}), !reverse);
    EXPECT_EQ(holds(Op::kl_divergence, logits, teacher, attributes, {of_logits}), reverse);
    const std::vector<Row> doubled{{0, 0}, {2}};
    const double slope = reverse ? 4 / 3.0 * (std::log(4 / 3.0) - of_logits) : 1 / 3.0;
    EXPECT_TRUE(holds(Op::kl_divergence_backward, logits, doubled, attributes, {slope, -slope}));
    EXPECT_FALSE(holds(Op::kl_divergence_backward, logits, doubled, attributes, {slope / 2, -slope / 2}));
  }
  const Row twice{2 * logits[0], 0};
  EXPECT_TRUE(holds(Op::kl_divergence, twice, teacher, forward, {of_teacher}, 2));
  EXPECT_TRUE(holds(Op::kl_divergence_backward, twice, {{0, 0}, {2}}, forward, {1 / 6.0, -1 / 6.0}, 2));
  EXPECT_FALSE(holds(Op::kl_divergence_backward, twice, {{0, 0}, {2}}, forward, {1 / 3.0, -1 / 3.0}, 2));
}

TEST(DivergenceJudge, AWeightOfZeroAddsNothingAndAnotherZeroIsInfinite) {
  const Row logits{0, 0, -infinity};
  EXPECT_TRUE(holds(Op::kl_divergence, logits, {{0, 0, -infinity}}, forward, {0}));
  EXPECT_FALSE(holds(Op::kl_divergence, logits, {{0, 0, -infinity}}, forward, {nan}));
  EXPECT_TRUE(holds(Op::kl_divergence, logits, {{0, 0, 0}}, forward, {infinity}));
  EXPECT_FALSE(holds(Op::kl_divergence, logits, {{0, 0, 0}}, forward, {1e30}));
  EXPECT_FALSE(holds(Op::kl_divergence, logits, {{0, 0, 0}}, forward, {nan}));
  EXPECT_TRUE(holds(Op::kl_divergence, logits, {{0, 0, 0}}, backward, {std::log(1.5)}));
  EXPECT_TRUE(holds(Op::kl_divergence_backward, logits, {{0, 0, 0}, {1}}, backward, {0, 0, 0}));
  // e^-200 may be 0 in f32.
  EXPECT_TRUE(findings(Op::kl_divergence, logits, {{0, 0, -200}}, forward, {0}).empty());
  EXPECT_TRUE(findings(Op::kl_divergence_backward, logits, {{0, 0, 0}, {1}}, forward, {0, 0, 0}).empty());
}

// Over a theta of 1/2 they overflow, and their difference is NaN.
TEST(DivergenceJudge, AnInfinityIsNotDueWhereLogitsMayOverflow) {
  const auto of = [](double x) { return findings(Op::kl_divergence, {-infinity, x}, {{x, x}}, forward, {nan}, 0.5); };
  EXPECT_TRUE(of(0x1p127).empty());
  EXPECT_EQ(of(1).at(0).decision, Decision::violated);
}

// Both of the judge's routes, quick values and enclosures.
TEST(DivergenceJudge, QuickValuesAreThoseOfTheOracle) {
  const std::vector<Row> rows{{0, 0, 0}, {1, 2, 3, 4}, {50, -50, 0}, {-70, 70}, {5}, {-0.5, 0.25, -0.5, 8, 8}};
  const PrecisionScope precision(256);
  const Contract contract = parse_contract("acc=f32 exp=1ulp sum=sequential", Format::f32, Format::f32);
  std::size_t infinite = 0;
  for (const Op op : {Op::kl_divergence, Op::kl_divergence_backward}) {
    for (std::uint64_t auxiliary = 0; auxiliary < 4096; auxiliary += auxiliary % 2 == 0 ? 1 : 15) {
      for (const Row& logits : rows) {
        const std::vector<Row> inputs = op.rows().input_values(Format::f32, logits, auxiliary);
        const RowInputs row{contract, inputs[0], auxiliary / 64 % 3 == 0 ? 0.7 : 1, std::span(inputs).subspan(1),
                            op.rows().attributes(auxiliary, logits.size())};
        Row lower(op->one_value_per_row ? 1 : logits.size()), upper = lower;
        op.rows().enclose(row, lower, upper);
        if (!std::isfinite(lower[0])) {
          EXPECT_TRUE(op->one_value_per_row) << "only the divergence itself may be infinite";
          infinite += lower[0] == infinity ? 1 : 0;
          continue;
        }
        const auto elements = op.rows().elements(row);
        for (std::size_t i = 0; i < lower.size(); ++i) {
          const Quick quick = elements->quick(i);
          EXPECT_LE(quick.value - quick.error, upper[i]) << to_string(op) << ' ' << auxiliary;
          EXPECT_GE(quick.value + quick.error, lower[i]) << to_string(op) << ' ' << auxiliary;
          EXPECT_LE(static_cast<double>(quick.error), 0x1p-44 * elements->metric(i, 0) + 0x1p-1000);
        }
      }
    }
  }
  EXPECT_GT(infinite, 0u);
}

}  // namespace
}  // namespace softcheck::proptests
