// The gradient of adaptive softmax, on the CPU and of the body for GPUs on the emulator, against finite differences in
// 50 digits. The body's sums are compensated: it is held to the CPU's bound.
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>

#include "numerics/contract.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::kernel_tests {
namespace {

using Real = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<50>, boost::multiprecision::et_off>;

/// softmax(beta x) at some x, and what a bound of its gradient's errors needs.
struct Adaptive {
  std::vector<Real> p, q;  // at beta and at 1
  Real beta = 1, slope = 0, entropy;

  explicit Adaptive(const std::vector<Real>& x) {
    q = softmax(x, 1);
    entropy = 0;
    for (const Real& value : q) {
      if (value > 0) entropy -= value * log(value);
    }
    // Fig. 4: thousandths, from the highest power.
    const int quartic[] = {-37, 481, -2300, 4917, -1791};
    Real value = 0, derivative = 0;
    for (const int a : quartic) {
      derivative = derivative * entropy + value;
      value = value * entropy + Real(a) / 1000;
    }
    if (entropy > Real(1) / 2 && value > 1) {
      beta = value;
      slope = derivative;
    }
    p = softmax(x, beta);
  }

  static std::vector<Real> softmax(const std::vector<Real>& x, const Real& beta) {
    std::vector<Real> w;
    Real sum = 0;
    for (const Real& value : x) {
      w.push_back(exp(beta * (value - x.front())));
      sum += w.back();
    }
    for (Real& value : w) value /= sum;
    return w;
  }
};

Real loss(const std::vector<Real>& x, const std::vector<float>& g) {
  const Adaptive at(x);
  Real sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += Real(g[i]) * at.p[i];
  return sum;
}

/// dL/dx_j to h^2, h = 1e-12.
Real difference(std::vector<Real> x, const std::vector<float>& g, std::size_t j) {
  const Real h("1e-12");
  x[j] += h;
  const Real above = loss(x, g);
  x[j] -= 2 * h;
  return (above - loss(x, g)) / (2 * h);
}

/// What f32 may err by in dL/dx_j, to first order: every p and q by eps relatively, in up to four factors of a term,
/// the entropy by eps (1 + H), and beta and its slope with it: |P'| <= 2.526 (B10), and P'' = -0.444 H^2 + 2.886 H
/// - 4.6 lies within [-4.6, 0.1] for H in [0, 5.95].
struct GradientError {
  GradientError(const std::vector<Real>& x, const std::vector<float>& g) : at(x), gradient(g) {
    const auto n = x.size();
    numerics::Contract contract;
    contract.summation = {numerics::Summation::Kind::blocks, 32};
    const double height = static_cast<double>(numerics::summation_height(contract, n));
    const Real top = *std::max_element(x.begin(), x.end());
    for (const Real& value : x) {
      deviations.push_back(top - value);
      spread = std::max(spread, static_cast<double>(top - value));
    }
    const double b = static_cast<double>(at.beta);
    eps = 0x1p-24 * (height + 2 * contract.exp_error + 6 + 2 * 3 * b * spread);
    for (std::size_t i = 0; i < n; ++i) {
      mean_gradient += at.p[i] * Real(std::fabs(g[i]));
      mean_deviation += at.p[i] * deviations[i];
      mean_product += at.p[i] * Real(std::fabs(g[i])) * deviations[i];
      plain_deviation += at.q[i] * deviations[i];
    }
  }

  double of(std::size_t j) const {
    const double h_error = eps * (1 + static_cast<double>(at.entropy));
    const double moved = at.slope == 0 ? 0 : 2.526 * h_error * 2 * spread;  // p's relative change with beta
    const Real incoming = at.beta * at.p[j] * (Real(std::fabs(gradient[j])) + mean_gradient);
    const Real by_beta = mean_product + mean_gradient * mean_deviation;
    const Real entropic = at.q[j] * (deviations[j] + plain_deviation) * by_beta;
    return static_cast<double>(incoming) * 4 * (eps + moved) +
           static_cast<double>(entropic) *
               (std::fabs(static_cast<double>(at.slope)) * 6 * (eps + moved) + 4.6 * h_error);
  }

  Adaptive at;
  std::vector<float> gradient;
  std::vector<Real> deviations;
  Real mean_gradient = 0, mean_deviation = 0, mean_product = 0, plain_deviation = 0;
  double spread = 0, eps = 0;
};

/// A library's prefix.
class AdaptiveBackward : public testing::TestWithParam<std::string> {
 protected:
  static std::vector<float> gradient_of(const std::vector<float>& row, const std::vector<float>& g,
                                        const std::vector<std::uint8_t>* visible = nullptr) {
    const auto n = static_cast<std::int64_t>(row.size());
    Tensor<float> x(dtype_of<float>(), {1, n}), in(dtype_of<float>(), {1, n}), out(dtype_of<float>(), {1, n});
    Tensor<std::uint8_t> mask(mask_type, {1, n});
    x.set_row(0, row);
    in.set_row(0, g);
    std::vector<const DLTensor*> inputs{&x.view, &in.view};
    if (visible != nullptr) {
      mask.set_row(0, *visible);
      inputs.push_back(&mask.view);
    }
    const std::string prefix = GetParam();
    const softcheck_kernel kernel = load_kernel(
        "softcheck_" + prefix + "_kernels",
        prefix == "cpu" ? "softcheck_adaptive_softmax_backward" : "softcheck_emulated_adaptive_softmax_backward");
    EXPECT_TRUE(takes_call(kernel, inputs, {&out.view}, 1, false));
    return out.row(0);
  }
};

struct Case {
  const char* name;
  std::vector<float> row;
  bool adapts;
};

std::vector<float> scaled(std::size_t n, float width) {
  std::vector<float> row = uneven_row<float>(n, 5);
  for (float& x : row) x *= width / 32;
  return row;
}

std::vector<Case> cases() {
  std::vector<float> sharp(9, -12.0f);
  sharp[3] = 0;
  return {{"three", scaled(3, 2), true},  {"nine", scaled(9, 6), true},
          {"forty", scaled(40, 4), true}, {"ties", {1, 1, 1, 0, 0, 1}, true},
          {"sharp", sharp, false},        {"dispersed", scaled(600, 0.5f), false},
          {"one", {3.5f}, false},         {"two blocks", scaled(1200, 16), true}};
}

TEST_P(AdaptiveBackward, IsTheLimitOfDifferences) {
  for (const Case& c : cases()) {
    std::vector<float> g = uneven_row<float>(c.row.size(), 9);
    for (float& x : g) x = x / 16 + 1;
    const std::vector<Real> x(c.row.begin(), c.row.end());
    const GradientError error(x, g);
    ASSERT_EQ(error.at.slope != 0, c.adapts) << c.name;
    const std::vector<float> got = gradient_of(c.row, g);
    // Each difference costs two losses of n exponentials in 50 digits: all of short rows, some of long ones.
    for (std::size_t j = 0; j < c.row.size(); j += 1 + c.row.size() / 12) {
      const Real exact = difference(x, g, j);
      EXPECT_LE(std::fabs(static_cast<double>(Real(got[j]) - exact)), error.of(j))
          << c.name << " " << j << ": " << exact;
    }
  }
}

// A shift of all logits changes nothing, so that a row's gradient adds up to 0, up to its own errors.
TEST_P(AdaptiveBackward, AddsUpToZero) {
  for (const Case& c : cases()) {
    const std::vector<float> g = uneven_row<float>(c.row.size(), 9);
    const GradientError error(std::vector<Real>(c.row.begin(), c.row.end()), g);
    double sum = 0, bound = 0;
    const std::vector<float> got = gradient_of(c.row, g);
    for (std::size_t j = 0; j < got.size(); ++j) {
      sum += static_cast<double>(got[j]);
      bound += error.of(j);
    }
    EXPECT_LE(std::fabs(sum), bound) << c.name;
  }
}

TEST_P(AdaptiveBackward, AMaskedItemIsADeletedOne) {
  std::vector<float> row = scaled(40, 4), g = uneven_row<float>(40, 9);
  const std::vector<float> without = gradient_of(row, g);
  row.resize(50, 1e30f);
  g.resize(50, std::numeric_limits<float>::quiet_NaN());
  std::vector<std::uint8_t> visible(50, 0);
  std::fill_n(visible.begin(), 40, std::uint8_t{1});
  std::vector<float> got = gradient_of(row, g, &visible);
  for (std::size_t j = 40; j < 50; ++j) EXPECT_EQ(got[j], 0.0f);
  got.resize(40);
  EXPECT_TRUE(same_bits(got, without));
}

// As forward: a row without a visible item, or with NaN or +inf among the visible.
TEST_P(AdaptiveBackward, ARowWithoutSoftmaxIsNan) {
  const std::vector<float> g = uneven_row<float>(950, 9);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> row = scaled(950, 4);
    row[930] = bad;
    for (const float x : gradient_of(row, g)) ASSERT_TRUE(std::isnan(x)) << bad;
  }
  const std::vector<std::uint8_t> none(950, 0);
  for (const float x : gradient_of(scaled(950, 4), g, &none)) ASSERT_TRUE(std::isnan(x));
}

INSTANTIATE_TEST_SUITE_P(Kernels, AdaptiveBackward, testing::Values("cpu", "emulated"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace softcheck::kernel_tests
