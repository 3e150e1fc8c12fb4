// The gradient of adaptive softmax, on the CPU and of the body for GPUs on the emulator, in every format, against
// finite differences in 50 digits. The body's sums are compensated: it is held to the CPU's bound.
#include <gtest/gtest.h>

#include <cmath>

#include "proptests/tests/kernels/attention_gradient_expected.hpp"
#include "proptests/tests/kernels/version_2_call.hpp"

namespace softcheck::kernel_tests {
namespace {

/// softmax(beta x) at some x, and what a bound of its gradient's errors needs.
struct Adaptive {
  explicit Adaptive(const std::vector<Real>& x)
      : q(softmax_of(x, 1)), entropy(entropy_of(q)), beta(entropy), p(softmax_of(x, beta.value)) {}

  std::vector<Real> q;  // at 1
  Real entropy;
  ExactBeta beta;
  std::vector<Real> p;  // at beta
};

Real loss(const std::vector<Real>& x, const std::vector<double>& g) {
  const Adaptive at(x);
  Real sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += Real(g[i]) * at.p[i];
  return sum;
}

/// dL/dx_j to h^2, h = 1e-12.
Real difference(std::vector<Real> x, const std::vector<double>& g, std::size_t j) {
  const Real h("1e-12");
  x[j] += h;
  const Real above = loss(x, g);
  x[j] -= 2 * h;
  return (above - loss(x, g)) / (2 * h);
}

/// What an accumulator with the unit roundoff u may err by in dL/dx_j, to first order: every p and q by eps relatively,
/// in up to four factors of a term, the entropy by eps (1 + H), and beta and its slope with it: |P'| <= 2.526 (B10),
/// and P'' = -0.444 H^2 + 2.886 H - 4.6 lies within [-4.6, 0.1] for H in [0, 5.95].
struct GradientError {
  GradientError(const std::vector<Real>& x, const std::vector<double>& g, const RowKernels& kernels)
      : at(x), gradient(g) {
    const auto n = x.size();
    numerics::Contract contract = kernels.contract();
    contract.summation = {numerics::Summation::Kind::blocks, 32};
    const double height = static_cast<double>(numerics::summation_height(contract, n));
    const Real top = *std::max_element(x.begin(), x.end());
    for (const Real& value : x) {
      deviations.push_back(top - value);
      spread = std::max(spread, static_cast<double>(top - value));
    }
    const double b = to_double(at.beta.value);
    eps = kernels.unit_roundoff() * (height + 2 * contract.exp_error + 6 + 2 * 3 * b * spread);
    for (std::size_t i = 0; i < n; ++i) {
      mean_gradient += at.p[i] * Real(std::fabs(g[i]));
      mean_deviation += at.p[i] * deviations[i];
      mean_product += at.p[i] * Real(std::fabs(g[i])) * deviations[i];
      plain_deviation += at.q[i] * deviations[i];
    }
  }

  double of(std::size_t j) const {
    const double h_error = eps * (1 + static_cast<double>(at.entropy));
    const double moved = at.beta.slope == 0 ? 0 : 2.526 * h_error * 2 * spread;  // p's relative change with beta
    const Real incoming = at.beta.value * at.p[j] * (Real(std::fabs(gradient[j])) + mean_gradient);
    const Real by_beta = mean_product + mean_gradient * mean_deviation;
    const Real entropic = at.q[j] * (deviations[j] + plain_deviation) * by_beta;
    return static_cast<double>(incoming) * 4 * (eps + moved) +
           static_cast<double>(entropic) * (magnitude(at.beta.slope) * 6 * (eps + moved) + 4.6 * h_error);
  }

  Adaptive at;
  std::vector<double> gradient;
  std::vector<Real> deviations;
  Real mean_gradient = 0, mean_deviation = 0, mean_product = 0, plain_deviation = 0;
  double spread = 0, eps = 0;
};

class AdaptiveBackward : public testing::TestWithParam<RowKernels> {
 protected:
  static std::vector<double> gradient_of(const std::vector<double>& row, const std::vector<double>& g,
                                         const std::vector<std::uint8_t>& visible = {}) {
    const Shape shape = {1, static_cast<std::int64_t>(row.size())};
    const auto got = GetParam().run("adaptive_softmax_backward", {row, visible, g}, shape, {GetParam().format});
    if (!got) ADD_FAILURE() << "a call was refused";
    return got ? (*got)[0] : std::vector<double>(row.size());
  }
  /// In [-1, 1], values of the format.
  static std::vector<double> incoming(std::size_t n) {
    std::vector<double> g = uneven_row<double>(n, 9);
    for (double& x : g) x = x / 16 + 1;
    return GetParam().rounded(g);
  }
  static std::vector<Real> real(const std::vector<double>& row) { return {row.begin(), row.end()}; }
};

struct Case {
  const char* name;
  std::vector<double> row;
  bool adapts;
};

std::vector<double> scaled(std::size_t n, double width) {
  std::vector<double> row = uneven_row<double>(n, 5);
  for (double& x : row) x *= width / 32;
  return row;
}

std::vector<Case> cases(const RowKernels& kernels) {
  std::vector<double> sharp(9, -12);
  sharp[3] = 0;
  std::vector<Case> all = {{"three", scaled(3, 2), true},  {"nine", scaled(9, 6), true},
                           {"forty", scaled(40, 4), true}, {"ties", {1, 1, 1, 0, 0, 1}, true},
                           {"sharp", sharp, false},        {"dispersed", scaled(600, 0.5), false},
                           {"one", {3.5}, false},          {"two blocks", scaled(1200, 16), true}};
  for (Case& c : all) c.row = kernels.rounded(c.row);
  return all;
}

TEST_P(AdaptiveBackward, IsTheLimitOfDifferences) {
  for (const Case& c : cases(GetParam())) {
    const std::vector<double> g = incoming(c.row.size());
    const std::vector<Real> x = real(c.row);
    const GradientError error(x, g, GetParam());
    ASSERT_EQ(error.at.beta.slope != 0, c.adapts) << c.name;
    const std::vector<double> got = gradient_of(c.row, g);
    // Each difference costs two losses of n exponentials in 50 digits: all of short rows, some of long ones.
    for (std::size_t j = 0; j < c.row.size(); j += 1 + c.row.size() / 12) {
      const Real exact = difference(x, g, j);
      EXPECT_LE(std::fabs(static_cast<double>(Real(got[j]) - exact)),
                error.of(j) + rounding_of(GetParam().format, got[j]))
          << c.name << " " << j << ": " << exact;
    }
  }
}

// A shift of all logits changes nothing, so that a row's gradient adds up to 0, up to its own errors.
TEST_P(AdaptiveBackward, AddsUpToZero) {
  for (const Case& c : cases(GetParam())) {
    const std::vector<double> g = GetParam().rounded(uneven_row<double>(c.row.size(), 9));
    const GradientError error(real(c.row), g, GetParam());
    Real sum = 0;
    double bound = 0;
    const std::vector<double> got = gradient_of(c.row, g);
    for (std::size_t j = 0; j < got.size(); ++j) {
      sum += got[j];
      bound += error.of(j) + rounding_of(GetParam().format, got[j]);
    }
    EXPECT_LE(std::fabs(static_cast<double>(sum)), bound) << c.name;
  }
}

TEST_P(AdaptiveBackward, AMaskedItemIsADeletedOne) {
  std::vector<double> row = GetParam().rounded(scaled(40, 4)), g = GetParam().rounded(uneven_row<double>(40, 9));
  const std::vector<double> without = gradient_of(row, g);
  row.resize(50, numerics::properties(GetParam().format).largest);
  g.resize(50, std::numeric_limits<double>::quiet_NaN());
  std::vector<std::uint8_t> visible(50, 0);
  std::fill_n(visible.begin(), 40, std::uint8_t{1});
  std::vector<double> got = gradient_of(row, g, visible);
  for (std::size_t j = 40; j < 50; ++j) EXPECT_EQ(got[j], 0);
  got.resize(40);
  EXPECT_TRUE(same_bits(got, without));
}

// As forward: a row without a visible item, or with NaN or +inf among the visible.
TEST_P(AdaptiveBackward, ARowWithoutSoftmaxIsNan) {
  const std::vector<double> g = GetParam().rounded(uneven_row<double>(950, 9));
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    std::vector<double> row = GetParam().rounded(scaled(950, 4));
    row[930] = bad;
    for (const double x : gradient_of(row, g)) ASSERT_TRUE(std::isnan(x)) << bad;
  }
  const std::vector<std::uint8_t> none(950, 0);
  for (const double x : gradient_of(GetParam().rounded(scaled(950, 4)), g, none)) ASSERT_TRUE(std::isnan(x));
}

// Beta is the temperature; and the gradient is one of this row.
TEST_P(AdaptiveBackward, WhatItDoesNotKnowIsRefused) {
  const numerics::Format own = GetParam().format,
                         other = own == numerics::Format::f32 ? numerics::Format::f64 : numerics::Format::f32;
  const std::vector<double> row = GetParam().rounded(scaled(9, 6)), g = incoming(9);
  const auto taken = [&](const char* op, const RowCall& call, numerics::Format result) {
    return GetParam().run(op, call, {1, 9}, {result}).has_value();
  };
  EXPECT_TRUE(taken("adaptive_softmax_backward", {row, {}, g}, own));
  EXPECT_FALSE(taken("adaptive_softmax_backward", {row, {}, g}, other));
  EXPECT_FALSE(taken("adaptive_softmax_backward", {row}, own));
  EXPECT_FALSE(taken("adaptive_softmax_backward", {row, {}, g, 2}, own));
  EXPECT_TRUE(taken("adaptive_softmax", {row}, own));
  EXPECT_FALSE(taken("adaptive_softmax", {row, {}, {}, 2}, own));
}

INSTANTIATE_TEST_SUITE_P(Kernels, AdaptiveBackward, all_row_kernels(), name_of_kernels);

}  // namespace
}  // namespace softcheck::kernel_tests
