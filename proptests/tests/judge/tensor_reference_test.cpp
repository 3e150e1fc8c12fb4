// Exact values and thresholds of every element: between them lies what oracles of more bits find.
#include "numerics/oracles/adaptive_oracle.hpp"
#include "numerics/oracles/attention_oracle.hpp"
#include "numerics/rows/row_oracle.hpp"
#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

struct ExactTensor : ElementBounds {
  using ElementBounds::ElementBounds;

  // The value of more bits lies between the doubles, which are next to each other or nearly so.
  void expect_around(std::size_t i, const Enclosure& exact) const {
    EXPECT_LE(lower[i], exact.upper_double()) << i;
    EXPECT_GE(upper[i], exact.lower_double()) << i;
    EXPECT_NE(less(Enclosure(upper[i]), exact), Decision::proved) << i;
    EXPECT_NE(less(exact, Enclosure(lower[i])), Decision::proved) << i;
    double end = lower[i];
    for (int k = 0; k < 4; ++k) end = std::nextafter(end, infinity);
    EXPECT_LE(upper[i], end) << i;
    EXPECT_LE(lower[i], upper[i]) << i;
  }
  void expect_point(std::size_t i, double value) const {
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(lower[i]) && std::isnan(upper[i])) << i;
    } else {
      EXPECT_EQ(lower[i], value) << i;
      EXPECT_EQ(upper[i], value) << i;
    }
  }
};

std::vector<double> reference_rows(double spread) {
  std::vector<double> numbers = sample_numbers(Format::f32, 60, spread, 21);
  numbers[7] = -infinity;
  numbers[20] = numbers[21];
  return numbers;
}

TEST(TensorReference, HoldsWhatTheOraclesFind) {
  const PrecisionScope precision(300);
  for (const Op op : logits_ops()) {
    for (const double spread : {0.001, 5.0, 1000.0}) {
      const std::vector<double> numbers = reference_rows(spread);
      const StoredTensor logits = stored(Format::f32, {5, 12}, numbers);
      TensorTask task{.op = op, .inputs = {logits.held()}};
      if (op != Op::adaptive_softmax) task.theta = 0.7;
      const ExactTensor exact(task, contract_for(task, ""));
      for (std::size_t r = 0; r < 5; ++r) {
        const std::span<const double> row(numbers.data() + 12 * r, 12);
        const RowOracle oracle(row, task.theta);
        if (op == Op::logsumexp) exact.expect_around(r, oracle.logsumexp());
        if (op == Op::entropy) exact.expect_around(r, oracle.entropy());
        if (op->one_value_per_row) continue;
        const AdaptiveRowOracle adaptive(row, EntropyDefinition::exact);
        for (std::size_t i = 0; i < 12; ++i) {
          if (std::isinf(row[i])) {
            exact.expect_point(12 * r + i, op == Op::log_softmax ? -infinity : 0);
            EXPECT_EQ(exact.allowed[12 * r + i], 0);
            continue;
          }
          const Enclosure value = op == Op::softmax       ? oracle.softmax(i)
                                  : op == Op::log_softmax ? oracle.log_softmax(i)
                                                          : adaptive.softmax(i);
          exact.expect_around(12 * r + i, value);
          EXPECT_GT(exact.allowed[12 * r + i], 0);
        }
      }
    }
  }
}

TEST(TensorReference, OfAttentionHoldsWhatTheOraclesFind) {
  const PrecisionScope precision(300);
  const std::vector<double> numbers = sample_numbers(Format::f16, 3 * 48, 3, 22);
  const auto of = [&](std::size_t k) { return std::span<const double>(numbers).subspan(48 * k, 48); };
  const StoredTensor q = stored(Format::f16, {4, 8}, {of(0).begin(), of(0).begin() + 32});
  const StoredTensor k = stored(Format::f16, {6, 8}, {of(1).begin(), of(1).end()});
  const StoredTensor v = stored(Format::f16, {6, 8}, {of(2).begin(), of(2).end()});
  for (const Op op : {Op::attention, Op::adaptive_attention}) {
    const TensorTask task{.op = op, .inputs = {q.held(), k.held(), v.held()}, .scale = 0.25, .causal = true};
    const Contract contract = contract_for(task, "");
    const ExactTensor out(task, contract, 0), lse(task, contract, 1), entropy(task, contract, 2);
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t seen = i + 3;  // the last query is aligned with the last key
      const AttentionOracle oracle({.query = of(0).subspan(8 * i, 8),
                                    .keys = of(1).first(8 * seen),
                                    .values = of(2).first(8 * seen),
                                    .value_size = 8,
                                    .scale = 0.25,
                                    .items = seen},
                                   op == Op::attention ? std::nullopt : std::optional(EntropyDefinition::exact));
      const std::vector<Enclosure> values = oracle.output();
      for (std::size_t c = 0; c < 8; ++c) out.expect_around(8 * i + c, values[c]);
      lse.expect_around(i, oracle.logsumexp());
      entropy.expect_around(i, oracle.entropy());
      EXPECT_GT(lse.allowed[i], 0);
      EXPECT_LT(lse.allowed[i], 1e-3);
    }
  }
}

// Two equal scores of 2^116: what sums of two doubles say of their difference leaves a weight any size.
TEST(TensorReference, OfAttentionHoldsBehindScoresThatDoublesCannotTellApart) {
  const StoredTensor q = stored(Format::f32, {1, 1}, {0x1p58}), k = stored(Format::f32, {2, 1}, {0x1p58, 0x1p58});
  const StoredTensor v = stored(Format::f32, {2, 1}, {1, 2});
  const TensorTask task{.op = Op::attention, .inputs = {q.held(), k.held(), v.held()}, .scale = 1};
  const PrecisionScope precision(200);
  ExactTensor(task, contract_for(task, "")).expect_around(0, Enclosure(1.5));
}

TEST(TensorReference, ANaNIsNaNAndHasNoThreshold) {
  std::vector<double> numbers = reference_rows(1);
  numbers[30] = nan;
  const StoredTensor logits = stored(Format::f32, {5, 12}, numbers);
  for (const Op op : logits_ops()) {
    const TensorTask task{.op = op, .inputs = {logits.held()}};
    const ExactTensor exact(task, contract_for(task, ""));
    const std::size_t width = op->one_value_per_row ? 1 : 12;
    for (std::size_t i = 0; i < 5 * width; ++i) {
      EXPECT_EQ(std::isnan(exact.lower[i]), i / width == 2) << to_string(op);
      EXPECT_EQ(std::isnan(exact.upper[i]), i / width == 2);
      EXPECT_EQ(std::isnan(exact.allowed[i]), i / width == 2);
    }
  }
}

TEST(TensorReference, ARowWithNothingVisibleIsWhatTheContractSays) {
  const StoredTensor logits = stored(Format::f32, {1, 4}, std::vector<double>(4, -infinity));
  const double n = nan, i = infinity;
  const struct {
    Op op;
    double zero, nan;
  } expected[] = {{Op::softmax, 0, n}, {Op::log_softmax, -i, n}, {Op::logsumexp, -i, -i}, {Op::entropy, 0, n}};
  for (const auto& [op, zero, nan] : expected) {
    const TensorTask task{.op = op, .inputs = {logits.held()}};
    ExactTensor(task, contract_for(task, "masked=zero")).expect_point(0, zero);
    ExactTensor(task, contract_for(task, "masked=nan")).expect_point(0, nan);
    EXPECT_TRUE(std::isnan(ExactTensor(task, contract_for(task, "masked=zero")).allowed[0]));
  }
  const PrecisionScope precision(200);
  TensorTask task{.op = Op::entropy, .inputs = {logits.held()}};
  ExactTensor(task, contract_for(task, "masked=uniform")).expect_around(0, log(Enclosure(4)));
  task.op = Op::softmax;
  ExactTensor(task, contract_for(task, "masked=uniform")).expect_point(3, 0.25);
}

TEST(TensorReference, AnInfinityGivesTheLimit) {
  const StoredTensor logits = stored(Format::f32, {1, 4}, {1, infinity, infinity, -infinity});
  const PrecisionScope precision(200);
  TensorTask task{.op = Op::softmax, .inputs = {logits.held()}};
  const ExactTensor softmax(task, contract_for(task, ""));
  softmax.expect_point(0, 0);
  softmax.expect_around(1, Enclosure(0.5));
  softmax.expect_point(3, 0);
  task.op = Op::logsumexp;
  ExactTensor(task, contract_for(task, "")).expect_point(0, infinity);
  task.op = Op::entropy;
  ExactTensor(task, contract_for(task, "")).expect_around(0, log(Enclosure(2)));
}

TEST(TensorReference, WhatIsNotPromisedIsInfinite) {
  const StoredTensor logits = stored(Format::f32, {1, 600}, sample_numbers(Format::f32, 600, 1, 23));
  const TensorTask task{.inputs = {logits.held()}};
  const ExactTensor exact(task, contract_for(task, "acc=bf16 sum=sequential weights=bf16 exp=E:300,A:1"));
  EXPECT_EQ(exact.allowed[0], infinity);
}

// Thresholds beyond what the cascade takes are finite numbers, and promise as little.
TEST(TensorReference, WhatTheCascadeDoesNotTakeIsNotPromised) {
  const StoredTensor logits = stored(Format::f64, {1, 2}, {-0x1p-1074, 0});
  for (const char* words : {"exp=E:1,A:1e15", "exp=E:1e300,A:1", "exp=E:1,A:1e300"}) {
    const TensorTask task{.inputs = {logits.held()}};
    const Contract contract = contract_for(task, words);
    EXPECT_EQ(ExactTensor(task, contract).allowed[0], infinity) << words;
    const StoredTensor output = stored(Format::f64, {1, 2}, {0.5, 0.5});
    const TensorJudgement judgement = judge_tensors(task, contract, std::vector{output.held()});
    EXPECT_EQ(judgement.verdict, ReportVerdict::vacuous) << words;
  }
}

// A value is violated just beyond what the threshold says, and proved just within.
TEST(TensorReference, TheThresholdIsWhereTheVerdictTurns) {
  for (const Op op : logits_ops()) {
    const StoredTensor logits = stored(Format::f64, {1, 40}, sample_numbers(Format::f64, 40, 3, 24));
    const TensorTask task{.op = op, .inputs = {logits.held()}};
    const Contract contract = contract_for(task, "acc=f32");
    const ExactTensor exact(task, contract);
    for (const double share : {0.999, 1.001}) {
      StoredTensor output = stored(Format::f64, output_shape(task), exact.lower);
      output.set(0, exact.lower[0] + share * exact.allowed[0]);
      const TensorJudgement judgement = judge_tensors(task, contract, std::vector{output.held()});
      EXPECT_EQ(judgement.failed, share > 1 ? 1u : 0u) << to_string(op) << details_text(judgement);
    }
  }
}

}  // namespace
}  // namespace softcheck::proptests
