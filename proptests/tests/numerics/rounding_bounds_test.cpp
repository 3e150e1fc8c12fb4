// B1-B6 against simulated kernels: no error exceeds its bound, over formats, summations, rows and adversarial errors.

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <span>
#include <vector>

#include "proptests/tests/numerics/bound_ratio.hpp"
#include "proptests/tests/numerics/row_families.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Errors;

// The rows of the oracle's tests as a format holds them; what overflows is the largest number.
std::vector<tests::NamedRow> rows_in(Format format, std::size_t n) {
  std::vector<tests::NamedRow> rows = tests::row_families(n, 20241001);
  const double largest = properties(format).largest;
  for (tests::NamedRow& row : rows) {
    for (double& x : row.logits) {
      if (std::isfinite(x)) x = std::clamp(round_to(format, x), -largest, largest);
    }
  }
  return rows;
}

struct Setting {
  Format input;
  const char* words;
};

// Every accumulator, every summation, coarse and fine exponentials, flushed and kept subnormals.
const std::vector<Setting> settings{
    {Format::f32, "acc=f32 exp=1ulp sum=sequential"},
    {Format::f32, "acc=f32 exp=0.5ulp sum=lanes:8 subnormal=kept"},
    {Format::f32, "acc=f32 exp=E:50,A:3 sum=blocks:64 lse=uncentred"},
    {Format::f64, "acc=f64 exp=1ulp sum=lanes:4"},
    {Format::f16, "acc=f32 exp=2ulp sum=tree"},
    {Format::bf16, "acc=f32 exp=1ulp sum=lanes:16 subnormal=flushed"},
    {Format::f16, "acc=f16 exp=1ulp sum=lanes:32"},
    {Format::bf16, "acc=bf16 exp=1ulp sum=tree"},
    {Format::f32, "acc=f16 exp=1ulp sum=tree subnormal=kept"},
    {Format::f32, "acc=bf16 exp=1ulp sum=blocks:8 lse=uncentred"},
    {Format::f32, "acc=f32 exp=1ulp sum=lanes:8 theta=before"},
    {Format::bf16, "acc=bf16 exp=1ulp sum=tree theta=before lse=uncentred"},
    {Format::bf16, "acc=f32 exp=1ulp sum=tree weights=bf16 total=bf16"},
    {Format::f16, "acc=f32 exp=2ulp sum=blocks:64 weights=f16 total=f16 subnormal=flushed"},
    {Format::f16, "acc=f32 exp=1ulp sum=lanes:8 subnormal=flushed"},
};

constexpr std::array<Errors, 5> all_errors{Errors::nearest, Errors::up, Errors::down, Errors::random,
                                           Errors::up_below_one};

std::vector<simulated::Plan> plans_for(double theta) {
  return {{false, false, Errors::nearest, false, theta},
          {true, false, Errors::nearest, true, theta},
          {false, true, Errors::down, true, theta},
          {true, true, Errors::up, false, theta}};
}

void expect_bounds_hold(const Setting& setting, std::size_t n, double theta, simulated::Ratios& ratios,
                        std::span<const Errors> errors_tried = all_errors) {
  const Contract contract = parse_contract(setting.words, setting.input, setting.input);
  const PrecisionScope scope(setting.input == Format::f64 ? 113 : 64);
  const std::size_t stride = n <= 64 ? 1 : n / 32 + 1;
  for (const tests::NamedRow& row : rows_in(setting.input, n)) {
    const RowOracle oracle(row.logits, theta);
    if (oracle.fully_masked()) continue;
    const auto statistics = row_statistics<UpperBound>(oracle, rescaling_count(contract, row.logits), theta);
    for (const simulated::Plan& plan : plans_for(theta)) {
      for (const Errors errors : errors_tried) {
        simulated::Kernel kernel(contract, errors, plan, n);
        const simulated::Results got = kernel(row.logits);
        EXPECT_EQ(simulated::broken_bound(contract, oracle, statistics, got, ratios, stride), "")
            << setting.words << " of " << properties(setting.input).name << ", " << row.name << ", theta " << theta
            << ", online " << plan.online << ", recompute " << plan.recompute << ", errors "
            << static_cast<int>(errors);
      }
    }
  }
}

void print(const char* what, const simulated::Ratios& r) {
  std::cout << what << ": largest error/bound B1 " << r.sum << " B2 " << r.element << " B3 " << r.variation << " B4 "
            << r.row_sum << " B5 " << r.logsumexp << " log_softmax " << r.log_softmax << " B6 " << r.entropy << " B7 "
            << r.from_logits << " B6d " << r.from_coefficients << '\n';
}

class RoundingBounds : public testing::TestWithParam<std::size_t> {};

TEST_P(RoundingBounds, HoldForShortRows) {
  simulated::Ratios ratios;
  const Setting& setting = settings[GetParam()];
  for (const std::size_t n : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64}) expect_bounds_hold(setting, n, 1, ratios);
  print(setting.words, ratios);
}

TEST_P(RoundingBounds, HoldForLongRows) {
  simulated::Ratios ratios;
  const Setting& setting = settings[GetParam()];
  expect_bounds_hold(setting, 1000, 1, ratios);
  print(setting.words, ratios);
}

// A plain run takes one accumulator of each width, every way to add, stored weights and totals; the shorter rows all.
//
// Labelled deep: Contracts/RoundingBounds.HoldForVeryLongRows/2:Contracts/RoundingBounds.HoldForVeryLongRows/4
// Labelled deep: Contracts/RoundingBounds.HoldForVeryLongRows/5:Contracts/RoundingBounds.HoldForVeryLongRows/7
// Labelled deep: Contracts/RoundingBounds.HoldForVeryLongRows/8:Contracts/RoundingBounds.HoldForVeryLongRows/10
// Labelled deep: Contracts/RoundingBounds.HoldForVeryLongRows/11:Contracts/RoundingBounds.HoldForVeryLongRows/1
// Labelled deep: Contracts/RoundingBounds.HoldForVeryLongRows/13
TEST_P(RoundingBounds, HoldForVeryLongRows) {
  simulated::Ratios ratios;
  const Setting& setting = settings[GetParam()];
  constexpr std::array<Errors, 1> one_sided{Errors::up_below_one};
  expect_bounds_hold(setting, 32768, 1, ratios, one_sided);
  print(setting.words, ratios);
}

TEST_P(RoundingBounds, HoldAtOtherTemperatures) {
  simulated::Ratios ratios;
  const Setting& setting = settings[GetParam()];
  for (const double theta : {0.25, 0.3, 1.7, 0x1p-10, 1e3}) expect_bounds_hold(setting, 33, theta, ratios);
  print(setting.words, ratios);
}

INSTANTIATE_TEST_SUITE_P(Contracts, RoundingBounds, testing::Range<std::size_t>(0, settings.size()));

}  // namespace
}  // namespace softcheck::numerics
