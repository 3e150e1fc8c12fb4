// The bounds are not idle: rows and kernels that use most of B1, B2, B5 and B6.

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <vector>

#include "proptests/tests/numerics/bound_ratio.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Errors;
using simulated::Plan;

constexpr double required_share = 0.5;  // the share of its bound that a witness must reach

// 1 followed by terms a little above half of its last place: every addition rounds up by nearly as much as it can.
// D = 24 ln 2 - 2^-13 gives w = 2^-24 (1 + 2^-13).
std::vector<double> half_ulp_row(std::size_t n) {
  std::vector<double> logits(n, static_cast<float>(-24 * std::log(2.0) + 0x1p-13));
  logits.front() = 0;
  return logits;
}

struct Witness {
  Contract contract;
  std::vector<double> logits;
  Errors errors;
  Plan plan;
};

struct WitnessShares {
  double sum = 0, element = 0, logsumexp = 0, entropy = 0;
};

WitnessShares shares_of(const Witness& witness, std::size_t judged) {
  const PrecisionScope scope(113);
  const RowOracle oracle(witness.logits);
  const auto row = row_statistics<UpperBound>(oracle, rescaling_count(witness.contract, witness.logits));
  simulated::Kernel kernel(witness.contract, witness.errors, witness.plan);
  const simulated::Results got = kernel(witness.logits);
  simulated::Ratios ratios;
  const std::size_t stride = std::max<std::size_t>(witness.logits.size() / judged, 1);
  EXPECT_EQ(simulated::broken_bound(witness.contract, oracle, row, got, ratios, stride), "");
  return {ratios.sum, ratios.element, ratios.logsumexp, ratios.entropy};
}

void expect_tight(const char* name, const WitnessShares& shares) {
  std::cout << "witness " << name << ": error/bound B1 " << shares.sum << ", B2 " << shares.element << ", B5 "
            << shares.logsumexp << ", B6 " << shares.entropy << '\n';
  EXPECT_GE(shares.sum, required_share);
  EXPECT_GE(shares.element, required_share);
  EXPECT_GE(shares.logsumexp, required_share);
  EXPECT_GE(shares.entropy, required_share);
}

TEST(RoundingWitness, ASequentialSumOfHalfUlpsUsesItsHeight) {
  const Contract contract = parse_contract("acc=f32 exp=1ulp sum=sequential", Format::f32, Format::f32);
  expect_tight("half ulps, n = 2^16 + 1, sequential f32",
               shares_of({contract, half_ulp_row(65537), Errors::nearest, {}}, 16));
}

TEST(RoundingWitness, AMillionHalfUlpsStillDo) {
  // S itself doubles its error term's share to 6 %: B1, B2 and B5 alone; for B6 the errors of ln S and T / S cancel.
  const Contract contract = parse_contract("acc=f32 exp=1ulp sum=sequential", Format::f32, Format::f32);
  const WitnessShares shares = shares_of({contract, half_ulp_row(std::size_t{1} << 20), Errors::nearest, {}}, 4);
  std::cout << "witness half ulps, n = 2^20: error/bound B1 " << shares.sum << ", B2 " << shares.element << ", B5 "
            << shares.logsumexp << ", B6 " << shares.entropy << '\n';
  EXPECT_GE(shares.sum, required_share);
  EXPECT_GE(shares.element, required_share);
  EXPECT_GE(shares.logsumexp, required_share);
}

TEST(RoundingWitness, ExponentialsThatErrOneWayUseTheirAllowance) {
  // Numerators err upwards, the exponentials of the sum downwards, by all that E = 50 allows.
  const Contract contract = parse_contract("acc=f32 exp=E:50,A:1 sum=tree", Format::f32, Format::f32);
  const std::vector<double> logits(8, 0.75);
  expect_tight("exponentials of one sign, n = 8, E = 50",
               shares_of({contract, logits, Errors::down, {false, true, Errors::up, true, 1}}, 8));
}

TEST(RoundingWitness, ArgumentsThatErrOneWayUseTheirAllowance) {
  // x_0 = 0 and n - 1 items at D = ln(n - 1): Dbar = ln(n - 1) / 2 carries the argument's error into every coefficient.
  const Contract contract = parse_contract("acc=f32 exp=E:1,A:200 sum=tree", Format::f32, Format::f32);
  std::vector<double> logits(1025, static_cast<float>(-std::log(1024.0)));
  logits.front() = 0;
  const WitnessShares shares = shares_of({contract, logits, Errors::up, {false, true, Errors::down, false, 1}}, 64);
  std::cout << "witness arguments of one sign, n = 1025, A = 200: error/bound B1 " << shares.sum << ", B2 "
            << shares.element << ", B5 " << shares.logsumexp << '\n';
  EXPECT_GE(shares.sum, required_share);
  EXPECT_GE(shares.element, required_share);
  EXPECT_GE(shares.logsumexp, required_share);
}

TEST(RoundingWitness, UnderflowReachesItsFloor) {
  // An element below the smallest normal number is lost whole by a flushing kernel; the floor allows no more than
  // three.
  const Contract contract = parse_contract("subnormal=flushed", Format::f32, Format::f32);
  const std::vector<double> logits{0, static_cast<float>(-126 * std::log(2.0) - 0x1p-10)};
  const PrecisionScope scope(113);
  const RowOracle oracle(logits);
  const auto threshold = softmax_error(contract, row_statistics<UpperBound>(oracle));
  const simulated::Results got = simulated::Kernel(contract, Errors::nearest, {})(logits);
  EXPECT_EQ(got.coefficients[1], 0);
  EXPECT_TRUE(simulated::holds(0, oracle.softmax(1), upper(threshold.floor)));
  std::cout << "witness of B2's floor: " << simulated::used(0, oracle.softmax(1), upper(threshold.floor)) << '\n';
  // Without the floor the honest kernel would be condemned.
  const UpperBound deviation(oracle.deviation(1).upper_double());
  const double without = threshold.relative(deviation).value() * oracle.softmax(1).upper_double();
  EXPECT_TRUE(simulated::exceeds(0, oracle.softmax(1), without));
}

}  // namespace
}  // namespace softcheck::numerics
