// Sigmoid attention: its exact values by two routes, and its bound against simulated kernels.

#include "numerics/rounding/rounding_sigmoid.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "numerics/formats/special_values.hpp"
#include "numerics/oracles/attention_oracle.hpp"
#include "numerics/rounding/rounding.hpp"
#include "proptests/tests/numerics/simulated_arithmetic.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::Errors;

Enclosure exact_sigmoid(const Enclosure& x) { return (1 + tanh(x / 2)) / 2; }

TEST(RoundingSigmoid, BothRoutesEncloseTheOutput) {
  const std::vector<double> query{1}, keys{0, 3, -700, 40, -1e-20}, values{1, -2, 0x1p100, 0.5, 3};
  for (const double bias : {0.0, -std::log(5.0), 7.0}) {
    const PrecisionScope precision(2200);  // 1 + tanh(-350) cancels a thousand bits
    const AttentionOracle oracle({.query = query, .keys = keys, .values = values, .value_size = 1, .items = 5});
    Enclosure sum(0);
    for (std::size_t j = 0; j < 5; ++j) {
      sum += exact_sigmoid(Enclosure(keys[j]) + Enclosure(bias)) * Enclosure(values[j]);
    }
    const Enclosure output = oracle.sigmoid_output(bias).at(0);
    EXPECT_TRUE(output.overlaps(sum)) << output.to_string() << " and " << sum.to_string();
    EXPECT_LT(output.width(), 0x1p-100);
  }
}

// The coefficient of a kernel, from its exponential or its tanh.
double coefficient(Arithmetic& a, double x) {
  if (a.contract().sigmoid == SigmoidForm::tanh) {
    const double tanh = std::tanh(x / 2), u = properties(a.contract().accumulator).unit_roundoff;
    const double off = a.errors() == Errors::up ? 1 : a.errors() == Errors::down ? -1 : 0;
    const double computed = a.round(tanh * (1 + off * (a.contract().tanh_error - 1) * u));
    return a.multiply(a.add(1, std::fmax(-1, std::fmin(computed, 1))), 0.5);
  }
  const double t = a.exponential(-std::fabs(x)), inverse = a.divide(1, a.add(1, t));
  return x < 0 ? a.multiply(t, inverse) : inverse;
}

struct Query {
  std::vector<double> scores, values;
  double bias;
};

double largest_share(const Contract& contract, const Query& query) {
  const PrecisionScope precision(113);
  const std::size_t n = query.scores.size();
  double largest = 0;
  for (const Errors errors : {Errors::nearest, Errors::up, Errors::down, Errors::random}) {
    Arithmetic a(contract, errors);
    const SigmoidThreshold threshold(contract, summation_height(contract, n));
    std::vector<double> terms;
    UpperBound error, magnitude;
    Enclosure exact(0);
    for (std::size_t j = 0; j < n; ++j) {
      const double score = a.round(query.scores[j]), value = round_to(contract.input, query.values[j]);
      const double x = a.add(score, a.round(query.bias));
      terms.push_back(a.multiply(a.stored(contract.weights, coefficient(a, x)), a.round(value)));
      const Enclosure real = Enclosure(score) + Enclosure(query.bias), p = 1 / (1 + exp(-real));
      exact += p * Enclosure(value);
      const UpperBound size(std::fabs(value));
      error = error + size * threshold.key_error({real.midpoint(), UpperBound(abs(real).upper_double()),
                                                  UpperBound(std::fabs(query.bias)), UpperBound(0),
                                                  UpperBound(p.upper_double())});
      magnitude = magnitude + size;
    }
    const double got = a.output(simulated::sum_in_order(a, terms));
    const double off = abs(Enclosure(got) - exact).upper_double();
    largest = std::fmax(
        largest, off / upper(threshold.column(error, magnitude, n, UpperBound(abs(exact).upper_double())).total()));
  }
  return largest;
}

std::vector<Query> queries() {
  std::vector<Query> all;
  std::mt19937_64 engine(1);
  std::normal_distribution<double> normal;
  for (const std::size_t n : {1, 2, 17, 300}) {
    for (const double centre : {0.0, 12.0, -14.0, -95.0, 100.0}) {
      // A score and a bias that cancel leave the bias's own rounding.
      Query query{{}, {}, centre == 100 ? -100.1 : n == 17 ? 0.7 : -std::log(static_cast<double>(n))};
      for (std::size_t j = 0; j < n; ++j) {
        query.scores.push_back(centre + 1.5 * normal(engine));
        query.values.push_back(normal(engine));
      }
      all.push_back(query);
    }
  }
  // Each addition to 1 rounds by 0.4 of f32's last place.
  Query half_ulps{std::vector<double>(300, std::log(0.6 * 0x1p-23)), std::vector<double>(300, 1), 0};
  half_ulps.scores[0] = 30;
  all.push_back(half_ulps);
  return all;
}

TEST(RoundingSigmoid, SimulatedKernelsStayWithinTheBound) {
  double largest = 0;
  for (const Format format : {Format::f32, Format::bf16, Format::f16}) {
    for (const char* words : {"", "sum=tree", "exp=8ulp sum=blocks:16", "exp=E:4,A:4", "weights=bf16", "weights=f16",
                              "subnormal=flushed acc=f32", "acc=bf16 sum=tree", "acc=f16 sum=tree",
                              "acc=f16 exp=8ulp subnormal=kept", "sigmoid=tanh", "sigmoid=tanh tanh=64ulp sum=tree"}) {
      const Contract contract = parse_contract(words, format, format);
      for (const Query& query : queries()) {
        const double share = largest_share(contract, query);
        EXPECT_LE(share, 1) << words << " n=" << query.scores.size() << " " << query.scores[0];
        largest = std::fmax(largest, share);
      }
    }
  }
  EXPECT_GT(largest, 0.9);
}

// In f64, whose roundings are far smaller.
TEST(RoundingSigmoid, AnErrorOfTheScoreIsCoveredAndLittleMore) {
  const SigmoidThreshold threshold(parse_contract("", Format::f64, Format::f64), 0);
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  for (double x = -60; x <= 60; x += 0.5) {
    for (double e = 0x1p-20; e < 200; e *= 3) {
      const double error = upper(
          threshold.key_error({x, UpperBound(std::fabs(x)), UpperBound(0), UpperBound(e), UpperBound(sigmoid(x))}));
      const double moved = std::fmax(sigmoid(x + e) - sigmoid(x), sigmoid(x) - sigmoid(x - e));
      EXPECT_GE(error, moved) << x << " " << e;
      EXPECT_LE(error, (4 + 2 * e) * moved + 0x1p-45) << x << " " << e;
    }
  }
}

// Scores whose error is large, and scores far from 0, have thresholds that still say something.
TEST(RoundingSigmoid, FarScoresAreDecided) {
  const SigmoidThreshold threshold(parse_contract("", Format::f32, Format::f32), 0);
  const auto error = [&](double x, double e, double p) {
    return upper(threshold.key_error({x, UpperBound(std::fabs(x)), UpperBound(0), UpperBound(e), UpperBound(p)}));
  };
  EXPECT_LT(error(1e30, 0, 1), 0x1p-20);
  EXPECT_LT(error(1e30, 1e29, 1), 0x1p-20);
  EXPECT_LT(error(-1e30, 1e29, std::numeric_limits<double>::denorm_min()), 1e-300);
  EXPECT_LT(error(50, 1, 1), 0x1p-20);
  EXPECT_LT(error(0, infinity, 0.5), 1.001);  // a coefficient is at most 1, whatever its score
  EXPECT_GT(error(0, 0x1p-10, 0.5), 0x1p-12);
}

}  // namespace
}  // namespace softcheck::numerics
