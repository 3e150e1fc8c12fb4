// B1-B7 against simulated kernels: no error exceeds its bound, over formats, summations, rows and adversarial errors;
// and the bounds are not idle: rows and kernels that use most of them.

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

#include "proptests/tests/numerics/row_families.hpp"
#include "proptests/tests/numerics/softmax_bounds.hpp"

namespace softcheck::numerics {
namespace {

using simulated::BoundShares;
using simulated::Errors;
using simulated::Plan;

// Every accumulator, every summation, coarse and fine exponentials, flushed and kept subnormals.
const std::vector<std::pair<Format, const char*>> settings{
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

class RoundingBounds : public testing::TestWithParam<std::size_t> {
 protected:
  // The rows of the oracle's tests as a format holds them; what overflows is the largest number.
  void expect_bounds_hold(std::initializer_list<std::size_t> lengths, std::initializer_list<double> thetas,
                          std::span<const Errors> errors_tried = all_errors) const {
    const auto& [input, words] = settings[GetParam()];
    const Contract contract = parse_contract(words, input, input);
    const PrecisionScope scope(input == Format::f64 ? 113 : 64);
    BoundShares shares;
    for (const std::size_t n : lengths) {
      for (const tests::NamedRow& row : tests::rows_in(input, n, 20241001)) {
        for (const double theta : thetas) {
          SCOPED_TRACE(words + (" of " + row.name) + ", theta " + std::to_string(theta));
          judge_kernels(contract, row.logits, theta, errors_tried, shares);
        }
      }
    }
    shares.print(words);
  }

 private:
  static void judge_kernels(const Contract& contract, const std::vector<double>& logits, double theta,
                            std::span<const Errors> errors_tried, BoundShares& shares) {
    const RowOracle oracle(logits, theta);
    if (oracle.fully_masked()) return;
    const std::size_t n = logits.size(), stride = n <= 64 ? 1 : n / 32 + 1;
    const simulated::RowBounds bounds(contract, oracle, simulated::statistics_of(contract, oracle, logits, theta),
                                      stride);
    for (const Plan& plan :
         {Plan{false, false, Errors::nearest, false, theta}, Plan{true, false, Errors::nearest, true, theta},
          Plan{false, true, Errors::down, true, theta}, Plan{true, true, Errors::up, false, theta}}) {
      for (const Errors errors : errors_tried) {
        simulated::Kernel kernel(contract, errors, plan, n);
        bounds.judge(kernel(logits), shares);
        ASSERT_FALSE(HasFailure()) << "online " << plan.online << ", recompute " << plan.recompute << ", errors "
                                   << static_cast<int>(errors);
      }
    }
  }
};

TEST_P(RoundingBounds, HoldForShortRows) { expect_bounds_hold({1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64}, {1}); }

TEST_P(RoundingBounds, HoldForLongRows) { expect_bounds_hold({1000}, {1}); }

// A plain run takes one accumulator of each width, every way to add, stored weights and totals; the shorter rows all.
//
// Labelled full: Contracts/RoundingBounds.HoldForVeryLongRows/*
// Labelled deep: Contracts/RoundingBounds.HoldForVeryLongRows/2:Contracts/RoundingBounds.HoldForVeryLongRows/4
// Labelled deep: Contracts/RoundingBounds.HoldForVeryLongRows/5:Contracts/RoundingBounds.HoldForVeryLongRows/7
// Labelled deep: Contracts/RoundingBounds.HoldForVeryLongRows/8:Contracts/RoundingBounds.HoldForVeryLongRows/10
// Labelled deep: Contracts/RoundingBounds.HoldForVeryLongRows/11:Contracts/RoundingBounds.HoldForVeryLongRows/1
// Labelled deep: Contracts/RoundingBounds.HoldForVeryLongRows/13
TEST_P(RoundingBounds, HoldForVeryLongRows) {
  constexpr std::array<Errors, 1> one_sided{Errors::up_below_one};
  expect_bounds_hold({32768}, {1}, one_sided);
}

TEST_P(RoundingBounds, HoldAtOtherTemperatures) { expect_bounds_hold({33}, {0.25, 0.3, 1.7, 0x1p-10, 1e3}); }

INSTANTIATE_TEST_SUITE_P(Contracts, RoundingBounds, testing::Range<std::size_t>(0, settings.size()));

// A kernel of f32 on a row uses at least half of each of these bounds.
void expect_tight(const char* words, const std::vector<double>& logits, Errors errors, const Plan& plan,
                  std::size_t judged, std::initializer_list<std::string_view> bounds) {
  const PrecisionScope scope(113);
  const Contract contract = simulated::f32_contract(words);
  const RowOracle oracle(logits);
  simulated::Kernel kernel(contract, errors, plan);
  BoundShares shares;
  simulated::RowBounds(contract, oracle, simulated::statistics_of(contract, oracle, logits),
                       std::max<std::size_t>(logits.size() / judged, 1))
      .judge(kernel(logits), shares);
  shares.print("witness");
  for (const std::string_view bound : bounds) EXPECT_GE(shares.of(bound), 0.5) << bound;
}

TEST(RoundingWitness, ASequentialSumOfHalfUlpsUsesItsHeight) {
  expect_tight("acc=f32 exp=1ulp sum=sequential", simulated::half_ulp_row(65536, 24, 0x1p-13), Errors::nearest, {}, 16,
               {"B1", "B2", "B5", "B6"});
}

TEST(RoundingWitness, AMillionHalfUlpsStillDo) {
  // S itself doubles its error term's share to 6 %: B1, B2 and B5 alone; for B6 the errors of ln S and T / S cancel.
  expect_tight("acc=f32 exp=1ulp sum=sequential", simulated::half_ulp_row((1 << 20) - 1, 24, 0x1p-13), Errors::nearest,
               {}, 4, {"B1", "B2", "B5"});
}

TEST(RoundingWitness, ExponentialsThatErrOneWayUseTheirAllowance) {
  // Numerators err upwards, the exponentials of the sum downwards, by all that E = 50 allows.
  expect_tight("acc=f32 exp=E:50,A:1 sum=tree", std::vector<double>(8, 0.75), Errors::down,
               {false, true, Errors::up, true, 1}, 8, {"B1", "B2", "B5", "B6"});
}

TEST(RoundingWitness, ArgumentsThatErrOneWayUseTheirAllowance) {
  // x_0 = 0 and n - 1 items at D = ln(n - 1): Dbar = ln(n - 1) / 2 carries the argument's error into every coefficient.
  expect_tight("acc=f32 exp=E:1,A:200 sum=tree", simulated::peak_over(1024, std::log(1024.0)), Errors::up,
               {false, true, Errors::down, false, 1}, 64, {"B1", "B2", "B5"});
}

TEST(RoundingWitness, UnderflowReachesItsFloor) {
  // An element below the smallest normal number is lost whole by a flushing kernel; the floor allows no more than
  // three.
  const Contract contract = simulated::f32_contract("subnormal=flushed");
  const std::vector<double> logits{0, static_cast<float>(-126 * std::log(2.0) - 0x1p-10)};
  const PrecisionScope scope(113);
  const RowOracle oracle(logits);
  const auto threshold = softmax_error(contract, row_statistics<UpperBound>(oracle));
  EXPECT_EQ(simulated::Kernel(contract, Errors::nearest, {})(logits).coefficients[1], 0);
  // Without the floor the honest kernel would be condemned.
  const UpperBound deviation(oracle.deviation(1).upper_double());
  const double without = threshold.relative(deviation).value() * oracle.softmax(1).upper_double();
  simulated::expect_needed("B2's floor", 0, oracle.softmax(1), upper(threshold.floor), without);
}

}  // namespace
}  // namespace softcheck::numerics
