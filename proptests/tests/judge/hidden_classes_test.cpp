// Losses of rows with logits of -inf: which values are due, and what is drawn.
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr const char* words_of_f32 = "acc=f32 exp=1ulp sum=sequential";

// The finding of a row of these logits, in f32.
Decision decided_in_f32(Op op, const Row& logits, const std::vector<Row>& auxiliary, const Attributes& attributes,
                        const Row& got) {
  const RowWords of{.contract = words_of_f32, .auxiliary = auxiliary, .attributes = attributes, .counted = {}};
  return verdicts_of(op, logits, got, of).findings.at(0).decision;
}

// Logits of -inf: a class that no term has adds nothing, and a label's is an infinite loss.
TEST(HiddenClasses, AHiddenClassAddsNothingAndAHiddenLabelIsInfinite) {
  const Row logits{0, 0, -infinity}, half{round_to(Format::f32, std::log(2.0))};
  const Attributes hard{.ignore_index = -100}, smoothed{.label_smoothing = 0.25, .ignore_index = -100};
  EXPECT_EQ(decided_in_f32(Op::cross_entropy, logits, {{0}}, hard, half), Decision::proved);
  EXPECT_EQ(decided_in_f32(Op::cross_entropy, logits, {{0}}, hard, {nan}), Decision::violated);
  EXPECT_EQ(decided_in_f32(Op::soft_cross_entropy, logits, {{0.5, 0.5, 0}}, {}, half), Decision::proved);
  EXPECT_EQ(decided_in_f32(Op::soft_cross_entropy, {-infinity, 0, 0}, {{0, 0.5, 0.5}}, {}, half), Decision::proved);
  EXPECT_EQ(decided_in_f32(Op::soft_cross_entropy, logits, {{0.5, 0.5, 0}}, {}, {nan}), Decision::violated);
  EXPECT_EQ(decided_in_f32(Op::cross_entropy_backward, logits, {{0}, {1}}, hard, {-0.5, 0.5, 0}), Decision::proved);
  EXPECT_EQ(decided_in_f32(Op::cross_entropy_backward, logits, {{0}, {1}}, hard, {-0.5, 0.5, nan}), Decision::violated);
  EXPECT_EQ(decided_in_f32(Op::cross_entropy_backward, logits, {{0}, {1}}, hard, {-0.5, 0.5, 0x1p-20}),
            Decision::violated);
  // The weights of 0 hide the class from the smoothing, too.
  const Row weights{1, 1, 0};
  EXPECT_EQ(decided_in_f32(Op::cross_entropy, logits, {{0}, weights}, smoothed,
                           {round_to(Format::f32, (0.75 + 0.25 * 2 / 3) * std::log(2.0))}),
            Decision::proved);
  for (const double got : {infinity, 1e30, nan}) {
    const Decision due = got == infinity ? Decision::proved : Decision::violated;
    EXPECT_EQ(decided_in_f32(Op::cross_entropy, logits, {{2}}, hard, {got}), due);
    EXPECT_EQ(decided_in_f32(Op::cross_entropy, logits, {{0}}, smoothed, {got}), due);
    EXPECT_EQ(decided_in_f32(Op::soft_cross_entropy, logits, {{0.5, 0, 0.5}}, {}, {got}), due);
  }
}

TEST(HiddenClasses, WhatKernelsDifferOnIsNotDue) {
  const auto findings = [](Op op, const Row& logits, const std::vector<Row>& auxiliary, const Attributes& attributes) {
    const Row got(op->one_value_per_row ? 1 : logits.size(), nan);
    return verdicts_of(op, logits, got, {.contract = words_of_f32, .auxiliary = auxiliary, .attributes = attributes})
        .findings.size();
  };
  const Attributes hard{.ignore_index = -100}, capped{.ignore_index = -100, .softcap = 2};
  EXPECT_EQ(findings(Op::cross_entropy, {0, -infinity}, {{0}}, hard), 1u);
  EXPECT_EQ(findings(Op::cross_entropy, {0, -infinity}, {{0}}, capped), 0u);
  EXPECT_EQ(findings(Op::cross_entropy, {-infinity, -infinity}, {{0}}, hard), 0u);
  EXPECT_EQ(findings(Op::cross_entropy_backward, {0, -infinity}, {{1}, {1}}, hard), 0u);
  EXPECT_EQ(findings(Op::cross_entropy, {0, infinity}, {{0}}, hard), 0u);
}

// A padded vocabulary is hidden in all rows; no label is hidden but where only its loss is asked for.
TEST(HiddenClasses, HiddenClassesAreDrawnWhereTheDomainHasThem) {
  const Contract contract = parse_contract(words_of_f32, Format::f32, Format::f32);
  const std::uint64_t finite = Op::cross_entropy.rows().set_auxiliaries(parse_domain("finite", false));
  std::size_t padded = 0, hidden = 0, labels = 0;
  const auto classes = [&](Op op, const Row& logits, std::uint64_t auxiliary) {
    const std::vector<Row> inputs = op.rows().input_values(Format::f32, logits, auxiliary);
    const RowInputs row{contract, inputs[0], 1, std::span(inputs).subspan(1),
                        op.rows().attributes(auxiliary, logits.size())};
    const RowOp::Due due = op.rows().due(row);
    const bool only_a_loss = op == Op::cross_entropy || op == Op::soft_cross_entropy;
    EXPECT_TRUE(due == RowOp::Due::values || (only_a_loss && due == RowOp::Due::infinity)) << to_string(op);
    labels += due == RowOp::Due::infinity ? 1 : 0;
    EXPECT_EQ(op.rows().input_values(Format::f32, logits, auxiliary | finite)[0], logits);
    return inputs[0];
  };
  for (std::size_t n = 40; n < 52; ++n) {
    const Row logits(n, 0.0);
    for (const std::uint64_t kind : {0, 1, 8}) {
      std::size_t last = 0, rows = 0;
      for (std::uint64_t seed = 1; seed < 1000; seed += 7) {
        for (const Op op : {Op::cross_entropy, Op::cross_entropy_backward, Op::cross_entropy_mean,
                            Op::soft_cross_entropy, Op::soft_cross_entropy_backward}) {
          const Row row = classes(op, logits, 64 * seed + kind);
          hidden += std::ranges::count(row, -infinity) > 0 ? 1 : 0;
          last += row.back() == -infinity && row.front() == 0 ? 1 : 0;
          ++rows;
        }
      }
      padded += last == rows ? 1 : 0;
    }
  }
  EXPECT_GT(padded, 0u);
  EXPECT_GT(hidden, 500u);
  EXPECT_GT(labels, 10u);
}

}  // namespace
}  // namespace softcheck::proptests
