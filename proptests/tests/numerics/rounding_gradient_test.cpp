// B12 and B13 against simulated kernels: no error exceeds its bound.

#include "numerics/rounding/rounding_gradient.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <vector>

#include "numerics/oracles/softmax_gradient.hpp"
#include "proptests/tests/numerics/bound_ratio.hpp"
#include "proptests/tests/numerics/gradient_bounds.hpp"
#include "proptests/tests/numerics/gradient_rows.hpp"
#include "proptests/tests/numerics/simulated_gradient.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::b12;
using simulated::b13;
using simulated::Errors;
using simulated::GradientForm;
using simulated::half_ulp_products;
using tests::GradientRow;

struct GradientSetting {
  Format input;
  const char* words;
};

const std::vector<GradientSetting> gradient_settings{
    {Format::f32, "acc=f32 exp=1ulp sum=sequential"},
    {Format::f32, "acc=f32 exp=1ulp sum=lanes:8 subnormal=kept"},
    {Format::f32, "acc=f32 exp=E:50,A:3 sum=blocks:64"},
    {Format::f64, "acc=f64 exp=1ulp sum=lanes:4"},
    {Format::f16, "acc=f32 exp=1ulp sum=tree products=f16"},
    {Format::bf16, "acc=f32 exp=1ulp sum=tree products=bf16 subnormal=flushed"},
    {Format::bf16, "acc=bf16 exp=1ulp sum=tree"},
    {Format::f16, "acc=f16 exp=1ulp sum=lanes:8"},
    {Format::f32, "acc=bf16 exp=1ulp sum=blocks:8"},
};

// Does the kernel overflow on its way? No overflow is granted.
bool fits(const Contract& contract, double magnitude) {
  const double largest = std::min(properties(contract.accumulator).largest, properties(contract.output).largest);
  const double stored = contract.products ? properties(*contract.products).largest : largest;
  return 4 * magnitude < std::min(largest, stored);
}

class GradientBounds : public testing::TestWithParam<std::size_t> {};

TEST_P(GradientBounds, HoldOfSoftmax) {
  const PrecisionScope scope(113);
  const GradientSetting& setting = gradient_settings[GetParam()];
  const Contract contract = parse_contract(setting.words, setting.input, setting.input);
  double share = 0;
  for (const std::size_t n : {1, 2, 3, 4, 5, 8, 9, 33, 300}) {
    for (std::uint64_t seed = 0; seed < (n < 10 ? 40u : 2u); ++seed) {
      for (const GradientRow& row : tests::gradient_rows(setting.input, n, seed)) {
        const SoftmaxGradientOracle oracle(row.y, row.g);
        const double most = *std::max_element(row.g.begin(), row.g.end(),
                                              [](double a, double b) { return std::fabs(a) < std::fabs(b); });
        if (!fits(contract, oracle.product_magnitude().upper_double() + 3 * std::fabs(most))) continue;
        for (const GradientForm form : {GradientForm::centred, GradientForm::expanded}) {
          const auto got = simulated::softmax_gradient(Arithmetic(contract, Errors::nearest), row.y, row.g, form);
          for (std::size_t j = 0; j < n; j += 1 + n / 8) {
            const double bound = b12(contract, oracle, row, j);
            share = std::max(share, simulated::used(got[j], oracle.gradient(j), bound));
            ASSERT_TRUE(simulated::holds(got[j], oracle.gradient(j), bound))
                << setting.words << ", " << row.name << ", item " << j << ", form " << static_cast<int>(form);
          }
        }
      }
    }
  }
  std::cout << setting.words << " of " << properties(setting.input).name << ": largest error/bound B12 " << share
            << '\n';
  EXPECT_GT(share, 0.4);
}

TEST_P(GradientBounds, HoldOfLogSoftmax) {
  const PrecisionScope scope(113);
  const GradientSetting& setting = gradient_settings[GetParam()];
  const Contract contract = parse_contract(setting.words, setting.input, setting.input);
  double share = 0;
  for (const std::size_t n : {1, 2, 3, 4, 5, 8, 9, 33, 300}) {
    for (std::uint64_t seed = 0; seed < (n < 10 ? 20u : 2u); ++seed) {
      for (const GradientRow& row : tests::log_gradient_rows(setting.input, n, seed)) {
        const LogSoftmaxGradientOracle oracle(row.y, row.g);
        if (!fits(contract, 21 * oracle.upstream_magnitude().upper_double())) continue;
        for (const Errors errors : {Errors::nearest, Errors::up, Errors::down}) {
          Arithmetic arithmetic(contract, errors);
          const auto got = simulated::log_softmax_gradient(arithmetic, row.y, row.g);
          for (std::size_t j = 0; j < n; j += 1 + n / 8) {
            const double bound = b13(contract, oracle, row, j);
            share = std::max(share, simulated::used(got[j], oracle.gradient(j), bound));
            ASSERT_TRUE(simulated::holds(got[j], oracle.gradient(j), bound))
                << setting.words << ", " << row.name << ", item " << j << ", errors " << static_cast<int>(errors);
          }
        }
      }
    }
  }
  std::cout << setting.words << " of " << properties(setting.input).name << ": largest error/bound B13 " << share
            << '\n';
  EXPECT_GT(share, 0.4);
}

INSTANTIATE_TEST_SUITE_P(Contracts, GradientBounds, testing::Range<std::size_t>(0, gradient_settings.size()));

TEST(GradientWitness, HalfUlpsReachTheBounds) {
  const PrecisionScope scope(113);
  struct Witness {
    Format format;
    const char* words;
    std::size_t others;
  };
  for (const Witness& w : {Witness{Format::f32, "acc=f32 subnormal=kept", 65536}, Witness{Format::bf16, "acc=bf16", 60},
                           Witness{Format::f16, "acc=f16", 500}}) {
    const Contract contract = parse_contract(w.words, w.format, w.format);
    GradientRow row = half_ulp_products(w.others, properties(contract.accumulator).precision);
    const std::size_t last = row.y.size() - 1;
    const SoftmaxGradientOracle oracle(row.y, row.g);
    const double got =
        simulated::softmax_gradient(Arithmetic(contract, Errors::nearest), row.y, row.g, GradientForm::centred)[last];
    const double share = simulated::used(got, oracle.gradient(last), b12(contract, oracle, row, last));
    EXPECT_TRUE(simulated::holds(got, oracle.gradient(last), b12(contract, oracle, row, last)));
    for (double& y : row.y) y = 0;  // e^y = 1
    const LogSoftmaxGradientOracle log_oracle(row.y, row.g);
    Arithmetic arithmetic(contract, Errors::up);
    const double log_got = simulated::log_softmax_gradient(arithmetic, row.y, row.g)[last];
    const double log_bound = b13(contract, log_oracle, row, last);
    const double log_share = simulated::used(log_got, log_oracle.gradient(last), log_bound);
    EXPECT_TRUE(simulated::holds(log_got, log_oracle.gradient(last), log_bound));
    std::cout << w.words << ": largest error/bound B12 " << share << ", B13 " << log_share << '\n';
    EXPECT_GT(share, 0.5) << w.words;
    EXPECT_GT(log_share, 0.5) << w.words;
  }
}

TEST(GradientWitness, ALogarithmFarBelowAllNumbersHasAFiniteBound) {
  // -1e30 is what some callers mask with; its argument errs by more than a double's exponent.
  const PrecisionScope scope(113);
  const Contract contract = parse_contract("exp=E:2,A:3", Format::f32, Format::f32);
  const GradientRow row{"masked by a number", {-1e30f, 0}, {1, 2}};
  const LogSoftmaxGradientOracle oracle(row.y, row.g);
  EXPECT_LT(b13(contract, oracle, row, 0), 1e-6);
}

}  // namespace
}  // namespace softcheck::numerics
