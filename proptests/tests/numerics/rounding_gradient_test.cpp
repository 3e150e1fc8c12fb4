// B12 and B13 against simulated kernels: no error exceeds its bound.

#include "numerics/rounding/rounding_gradient.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "proptests/tests/numerics/gradient_bounds.hpp"

namespace softcheck::numerics {
namespace {

using simulated::LogSoftmaxGradient;
using simulated::SoftmaxGradient;
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

// Rows of several seeds: as many of short ones as is said.
template <class Gradient>
void expect_gradients_within(const GradientSetting& setting, std::uint64_t short_seeds) {
  const std::vector<simulated::BoundSetting> settings{{setting.input, setting.input, setting.words, 0.4}};
  const auto rows_of = [&](Format format, std::size_t n) {
    std::vector<GradientRow> rows;
    for (std::uint64_t seed = 0; seed < (n < 10 ? short_seeds : 2); ++seed) {
      for (GradientRow& row : Gradient::rows(format, n, seed)) rows.push_back(std::move(row));
    }
    return rows;
  };
  const auto check = [](const Contract& contract, const GradientRow& row, simulated::BoundShares& shares) {
    SCOPED_TRACE(row.name);
    const typename Gradient::Oracle oracle(row.y, row.g);
    if (!fits(contract, Gradient::magnitude(oracle, row))) return;
    const std::size_t n = row.y.size();
    for (const std::vector<double>& got : Gradient::kernels(contract, row)) {
      for (std::size_t j = 0; j < n; j += 1 + n / 8) {
        const double bound = simulated::gradient_bound<Gradient>(contract, oracle, row, j);
        shares.judge(Gradient::bound, got[j], oracle.gradient(j), bound);
      }
    }
  };
  simulated::expect_bounds(settings, {1, 2, 3, 4, 5, 8, 9, 33, 300}, rows_of, check);
}

class GradientBounds : public testing::TestWithParam<std::size_t> {};

TEST_P(GradientBounds, HoldOfSoftmax) { expect_gradients_within<SoftmaxGradient>(gradient_settings[GetParam()], 40); }

TEST_P(GradientBounds, HoldOfLogSoftmax) {
  expect_gradients_within<LogSoftmaxGradient>(gradient_settings[GetParam()], 20);
}

INSTANTIATE_TEST_SUITE_P(Contracts, GradientBounds, testing::Range<std::size_t>(0, gradient_settings.size()));

template <class Gradient>
void expect_last_reached(const Contract& contract, const GradientRow& row, std::size_t kernel) {
  const std::size_t last = row.y.size() - 1;
  const typename Gradient::Oracle oracle(row.y, row.g);
  simulated::expect_reached(Gradient::bound, Gradient::kernels(contract, row)[kernel][last], oracle.gradient(last),
                            simulated::gradient_bound<Gradient>(contract, oracle, row, last), 0.5);
}

TEST(GradientWitness, HalfUlpsReachTheBounds) {
  const PrecisionScope scope(113);
  struct Witness {
    Format format;
    const char* words;
    std::size_t others;
  };
  for (const Witness& w : {Witness{Format::f32, "acc=f32 subnormal=kept", 65536}, Witness{Format::bf16, "acc=bf16", 60},
                           Witness{Format::f16, "acc=f16", 500}}) {
    SCOPED_TRACE(w.words);
    const Contract contract = parse_contract(w.words, w.format, w.format);
    const int precision = properties(contract.accumulator).precision;
    expect_last_reached<SoftmaxGradient>(contract, simulated::half_ulp_products(w.others, precision), 0);
    // e^0 = 1, whose exponential errs upwards.
    expect_last_reached<LogSoftmaxGradient>(contract, simulated::half_ulp_products(w.others, precision, 0), 1);
  }
}

TEST(GradientWitness, ALogarithmFarBelowAllNumbersHasAFiniteBound) {
  // -1e30 is what some callers mask with; its argument errs by more than a double's exponent.
  const PrecisionScope scope(113);
  const Contract contract = simulated::f32_contract("exp=E:2,A:3");
  const GradientRow row{"masked by a number", {-1e30f, 0}, {1, 2}};
  const LogSoftmaxGradientOracle oracle(row.y, row.g);
  EXPECT_LT(simulated::gradient_bound<LogSoftmaxGradient>(contract, oracle, row, 0), 1e-6);
}

}  // namespace
}  // namespace softcheck::numerics
