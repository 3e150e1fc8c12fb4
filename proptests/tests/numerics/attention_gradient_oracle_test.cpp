#include "numerics/oracles/attention_gradient_oracle.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <stdexcept>

namespace softcheck::numerics {
namespace {

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
