#include "numerics/oracles/attention_oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/oracles/attention_gradient_oracle.hpp"

namespace softcheck::numerics {
namespace {

struct Problem {
  std::vector<double> query, keys, values;
  std::vector<std::uint8_t> visible;
  std::size_t items, value_size;
  double scale;

  AttentionInputs inputs() const {
    return {.query = query,
            .keys = keys,
            .values = values,
            .value_size = value_size,
            .scale = scale,
            .visible = visible,
            .items = items};
  }
};

std::vector<Problem> problems() {
  std::vector<Problem> result;
  std::mt19937_64 engine(20241001);
  std::normal_distribution<double> normal;
  for (const std::size_t n : {1u, 2u, 7u, 50u}) {
    for (const double spread : {0.0, 0x1p-500, 1.0, 30.0}) {
      for (const bool masked : {false, true}) {
        const std::size_t d = 6, dv = 3;
        Problem problem{{}, {}, {}, {}, n, dv, 1 / std::sqrt(6.0)};
        for (std::size_t t = 0; t < d; ++t) problem.query.push_back(spread * normal(engine));
        for (std::size_t t = 0; t < n * d; ++t) problem.keys.push_back(normal(engine));
        for (std::size_t t = 0; t < n * dv; ++t) problem.values.push_back(normal(engine));
        if (masked) {
          for (std::size_t j = 0; j < n; ++j) problem.visible.push_back(j % 3 != 1);
        }
        result.push_back(problem);
      }
    }
  }
  return result;
}

struct Answers {
  Enclosure maximum, logsumexp, entropy;
  std::vector<Enclosure> output;
};

// The definition, unshifted, at 512 bits: exponentials of the scores themselves, entropy as -sum p ln p.
Answers query_by_definition(const Problem& problem, std::optional<EntropyDefinition> adaptive) {
  const PrecisionScope scope(512);
  std::vector<Enclosure> scores;
  std::vector<std::size_t> items;
  for (std::size_t j = 0; j < problem.items; ++j) {
    if (!problem.visible.empty() && !problem.visible[j]) continue;
    Enclosure dot;
    for (std::size_t t = problem.query.size(); t-- > 0;) {
      dot += Enclosure(problem.query[t]) * Enclosure(problem.keys[j * problem.query.size() + t]);
    }
    scores.push_back(dot * Enclosure(problem.scale));
    items.push_back(j);
  }
  const auto softmax = [&](const Enclosure& beta, Enclosure& sum) {
    std::vector<Enclosure> p;
    sum = Enclosure(0);
    for (const Enclosure& score : scores) p.push_back(exp(beta * score));
    for (const Enclosure& weight : p) sum += weight;
    for (Enclosure& weight : p) weight /= sum;
    return p;
  };
  const auto entropy = [](const std::vector<Enclosure>& p, const Enclosure& epsilon) {
    Enclosure result;
    for (const Enclosure& value : p) result -= value * log(value + epsilon);
    return result;
  };
  Enclosure beta(1), sum;
  if (adaptive) {
    const Enclosure epsilon = *adaptive == EntropyDefinition::paper ? Enclosure::decimal("1e-9") : Enclosure(0);
    beta = inverse_temperature(entropy(softmax(beta, sum), epsilon));
  }
  const std::vector<Enclosure> p = softmax(beta, sum);
  Answers answers{scores.at(0), log(sum), entropy(p, Enclosure(0)), std::vector<Enclosure>(problem.value_size)};
  for (std::size_t k = 0; k < p.size(); ++k) {
    answers.maximum = maximum(answers.maximum, scores[k]);
    for (std::size_t c = 0; c < problem.value_size; ++c) {
      answers.output[c] += p[k] * Enclosure(problem.values[items[k] * problem.value_size + c]);
    }
  }
  return answers;
}

TEST(AttentionOracle, EnclosesTheDefinition) {
  using Adaptive = std::optional<EntropyDefinition>;
  for (const Adaptive adaptive : {Adaptive(), Adaptive(EntropyDefinition::exact), Adaptive(EntropyDefinition::paper)}) {
    for (const Problem& problem : problems()) {
      const Answers truth = query_by_definition(problem, adaptive);
      for (const unsigned bits : {64u, 113u, 256u}) {
        const PrecisionScope scope(bits);
        const AttentionOracle oracle(problem.inputs(), adaptive);
        EXPECT_TRUE(oracle.maximum().overlaps(truth.maximum) && oracle.logsumexp().overlaps(truth.logsumexp) &&
                    oracle.entropy().overlaps(truth.entropy));
        for (std::size_t c = 0; c < truth.output.size(); ++c) EXPECT_TRUE(oracle.output()[c].overlaps(truth.output[c]));
      }
    }
  }
}

TEST(AttentionOracle, IsAsNarrowAsItsSteps) {
  for (const Problem& problem : problems()) {
    const AttentionOracle oracle(problem.inputs());
    // Weights carry at most 36 * 2^-precision (RowOracle's statement for softmax; the scores have 64 bits more), each
    // product and each addition one rounding of 2 * 2^-precision on either end.
    double largest = 0;
    for (const double value : problem.values) largest = std::max(largest, std::abs(value));
    const Enclosure roundings = Enclosure(36) + 8 + Enclosure(4) * problem.items;
    const Enclosure allowed = roundings * Enclosure(largest) * Enclosure::power_of_two(-113);
    for (const Enclosure& value : oracle.output()) {
      EXPECT_EQ(less_equal(Enclosure(value.width()), allowed), Decision::proved) << value.to_string(40);
    }
  }
}

TEST(AttentionOracle, WrongCallsSayWhatTheyNeed) {
  Problem problem = problems().back();
  const auto attempt = [](const Problem& wrong) { return AttentionOracle(wrong.inputs()).fully_masked(); };
  EXPECT_FALSE(attempt(problem));
  Problem wrong = problem;
  wrong.keys.pop_back();
  EXPECT_THROW(attempt(wrong), std::invalid_argument);
  wrong = problem;
  wrong.visible.push_back(1);
  EXPECT_THROW(attempt(wrong), std::invalid_argument);
  wrong = problem;
  wrong.values[0] = NAN;
  EXPECT_THROW(attempt(wrong), std::invalid_argument);
  wrong = problem;
  wrong.visible.assign(problem.items, 0);
  const AttentionOracle masked(wrong.inputs(), EntropyDefinition::exact);
  EXPECT_TRUE(masked.fully_masked());
  EXPECT_THROW(masked.output(), std::logic_error);
  EXPECT_THROW(masked.entropy(), std::logic_error);
  EXPECT_THROW(masked.logsumexp(), std::logic_error);
}

constexpr std::array<double, 2> query{1, -2};
constexpr std::array<double, 8> keys{0.5, 1, -1, 0.25, 2, 0, 9, 9};
constexpr std::array<double, 8> values{1, 0, 0, 2, -1, 1, 7, 7};
constexpr std::array<std::uint8_t, 4> visible{1, 1, 1, 0};
constexpr std::array<double, 2> out_gradient{3, -1};

AttentionInputs four_keys() {
  AttentionInputs inputs;
  inputs.query = query;
  inputs.keys = keys;
  inputs.values = values;
  inputs.value_size = 2;
  inputs.scale = 0.5;
  inputs.visible = visible;
  inputs.items = 4;
  return inputs;
}

void expect_equal(const Enclosure& got, const Enclosure& exact) {
  EXPECT_TRUE(got.overlaps(exact)) << got.to_string(20) << " " << exact.to_string(20);
  // Of 113 bits a few operations on numbers below 8 leave 2^-100: an overlap says something.
  EXPECT_LT(got.width(), 1e-28);
}

// Of four keys the scores are -3/4, -3/4, 1 and that of a masked one, and <dO, v> is 3, -2, -4.
TEST(QueryGradient, IsTheFormulaOfFourKeys) {
  const QueryGradient gradient = query_gradient(four_keys(), out_gradient);
  const Enclosure low = exp(Enclosure(-0.75)), high = exp(Enclosure(1)), sum = low * 2 + high;
  const Enclosure p[] = {low / sum, low / sum, high / sum};
  const Enclosure delta = p[0] * 3 - p[1] * 2 - p[2] * 4;
  const int products[] = {3, -2, -4};
  ASSERT_EQ(gradient.coefficients.size(), 4u);
  for (std::size_t j = 0; j < 3; ++j) {
    expect_equal(gradient.coefficients[j], p[j]);
    expect_equal(gradient.score_gradients[j], p[j] * (Enclosure(products[j]) - delta));
  }
  expect_equal(gradient.coefficients[3], Enclosure(0));
  expect_equal(gradient.score_gradients[3], Enclosure(0));
}

// L's own gradient by a score is p.
TEST(QueryGradient, AGradientByTheLogSumExpIsAddedToEachDifference) {
  const QueryGradient plain = query_gradient(four_keys(), out_gradient);
  const QueryGradient both = query_gradient(four_keys(), out_gradient, -1.5);
  for (std::size_t j = 0; j < 4; ++j) {
    const Enclosure added = plain.coefficients[j] * Enclosure(-1.5);
    expect_equal(both.score_gradients[j], plain.score_gradients[j] + added);
    expect_equal(both.bias_gradients[j], plain.bias_gradients[j] + added);
  }
  AttentionInputs beside_a_sink = four_keys();
  beside_a_sink.sink = 0.25;
  const QueryGradient with_sink = query_gradient(beside_a_sink, out_gradient, 2);
  Enclosure of_keys;
  for (const Enclosure& ds : with_sink.score_gradients) of_keys += ds;
  // The scores' and the sink's gradients add up to dL: all moved by 1 move L by 1.
  expect_equal(with_sink.sink_gradient + of_keys, Enclosure(2));
}

// x = c tanh(s / c): the scores' gradients are those of x, times 1 - tanh^2.
TEST(QueryGradient, HasTheSlopeOfASoftcap) {
  AttentionInputs inputs = four_keys();
  inputs.softcap = 2;
  const QueryGradient gradient = query_gradient(inputs, out_gradient);
  const double scores[] = {-0.75, -0.75, 1};
  const int products[] = {3, -2, -4};
  Enclosure sum(0), delta(0), slopes[3], weights[3];
  for (std::size_t j = 0; j < 3; ++j) {
    const Enclosure turned = tanh(Enclosure(scores[j]) / 2);
    slopes[j] = Enclosure(1) - square(turned);
    weights[j] = exp(turned * 2);
    sum += weights[j];
    delta += weights[j] * products[j];
  }
  for (std::size_t j = 0; j < 3; ++j) {
    expect_equal(gradient.score_gradients[j], weights[j] / sum * (Enclosure(products[j]) - delta / sum) * slopes[j]);
  }
}

TEST(QueryGradient, WrongCallsSayWhatTheyNeed) {
  EXPECT_THROW(query_gradient(four_keys(), std::span(out_gradient).first(1)), std::invalid_argument);
  AttentionInputs inputs = four_keys();
  constexpr std::array<std::uint8_t, 4> none{};
  inputs.visible = none;
  EXPECT_THROW(query_gradient(inputs, out_gradient), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::numerics
