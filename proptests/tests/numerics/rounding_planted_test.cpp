// Compiled alone: what it simulates bears the names that other tests of bounds have.
// Bounds with a term left out, each with a kernel that keeps its contract and breaks the wrong bound - while the right
// one holds.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <vector>

#include "proptests/tests/numerics/bound_ratio.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Errors;
using simulated::Kernel;
using simulated::Plan;
using simulated::Results;
using Row = RowStatistics<UpperBound>;

struct PlantedCase {
  const char* words;
  std::vector<double> logits;
  Errors errors = Errors::nearest;
  Plan plan = {};
  Format format = Format::f32;
};

struct Judged {
  double got;
  Enclosure exact;
};

// The right bound must hold and the wrong one must certainly be exceeded.
void expect_rejected(const PlantedCase& c, const std::function<Judged(const Results&, const RowOracle&)>& judged,
                     const std::function<double(const Contract&, const Row&, const RowOracle&)>& bound,
                     const std::function<void(Contract&, Row&)>& plant) {
  const PrecisionScope scope(113);
  Contract contract = parse_contract(c.words, c.format, c.format);
  const RowOracle oracle(c.logits, c.plan.theta);
  Row row = row_statistics<UpperBound>(oracle, rescaling_count(contract, c.logits), c.plan.theta);
  const Results results = Kernel(contract, c.errors, c.plan)(c.logits);
  const Judged value = judged(results, oracle);
  const double right = bound(contract, row, oracle);
  EXPECT_TRUE(std::isfinite(right));
  EXPECT_TRUE(simulated::holds(value.got, value.exact, right));
  plant(contract, row);
  const double wrong = bound(contract, row, oracle);
  EXPECT_LT(wrong, right);
  EXPECT_FALSE(simulated::holds(value.got, value.exact, wrong));
  EXPECT_TRUE(simulated::exceeds(value.got, value.exact, wrong));
  std::cout << "error/bound: right " << simulated::used(value.got, value.exact, right) << ", planted "
            << simulated::used(value.got, value.exact, wrong) << '\n';
}

Judged sum(const Results& got, const RowOracle& oracle) { return {got.sum, oracle.sum()}; }
Judged first(const Results& got, const RowOracle& oracle) { return {got.coefficients[0], oracle.softmax(0)}; }
Judged last(const Results& got, const RowOracle& oracle) {
  return {got.coefficients.back(), oracle.softmax(oracle.size() - 1)};
}
Judged logsumexp(const Results& got, const RowOracle& oracle) { return {got.logsumexp, oracle.logsumexp()}; }
Judged entropy(const Results& got, const RowOracle& oracle) { return {got.entropy, oracle.entropy()}; }

double b1(const Contract& contract, const Row& row, const RowOracle& oracle) {
  return upper(sum_error(contract, row) * UpperBound(oracle.sum().upper_double()));
}
double b2(const Contract& contract, const Row& row, const RowOracle& oracle, std::size_t item) {
  return upper(softmax_error(contract, row)
                   .at(UpperBound(std::max(oracle.deviation(item).upper_double(), 0.0)),
                       UpperBound(oracle.softmax(item).upper_double())));
}
double b2_first(const Contract& contract, const Row& row, const RowOracle& oracle) {
  return b2(contract, row, oracle, 0);
}
double b2_last(const Contract& contract, const Row& row, const RowOracle& oracle) {
  return b2(contract, row, oracle, oracle.size() - 1);
}
double b5(const Contract& contract, const Row& row, const RowOracle&) {
  return upper(logsumexp_error(contract, row).total());
}
double b6(const Contract& contract, const Row& row, const RowOracle&) {
  return upper(entropy_error(contract, row).total());
}

std::vector<double> peak_over(std::size_t others, double deviation) {
  std::vector<double> logits(others + 1, static_cast<float>(-deviation));
  logits.front() = 0;
  return logits;
}

// Every addition rounds up by nearly half a unit in the last place of 1.
std::vector<double> half_ulps() { return peak_over(65536, 24 * std::log(2.0) - 0x1p-13); }

TEST(PlantedBound, B1WithoutTheHeightIsRejected) {
  expect_rejected({"sum=sequential", half_ulps()}, sum, b1, [](Contract&, Row& row) { row.size = 1; });
}

TEST(PlantedBound, B1WithTheRootOfTheHeightIsRejected) {
  // The probabilistic lambda sqrt(h) is a warning level, no bound.
  expect_rejected({"sum=sequential", half_ulps()}, sum, b1, [](Contract&, Row& row) { row.size = 257; });
}

TEST(PlantedBound, B1WithAPairwiseHeightForASequentialSumIsRejected) {
  expect_rejected({"sum=sequential", half_ulps()}, sum, b1,
                  [](Contract& contract, Row&) { contract.summation.kind = Summation::Kind::tree; });
}

TEST(PlantedBound, B1WithoutTheExponentialsErrorIsRejected) {
  expect_rejected({"exp=E:50,A:1 sum=tree", std::vector<double>(8, 1.0), Errors::up}, sum, b1,
                  [](Contract& contract, Row&) { contract.exp_error = 1; });
}

TEST(PlantedBound, B1WithoutTheRescalingsIsRejected) {
  // A ramp of many small steps: every item rescales all that came before, with an exponential that errs upwards.
  std::vector<double> ramp;
  for (int i = 0; i < 1000; ++i) ramp.push_back(i * 0x1p-12);
  expect_rejected({"exp=E:16,A:1 sum=sequential", ramp, Errors::up, {true}}, sum, b1,
                  [](Contract&, Row& row) { row.rescalings = 0; });
}

TEST(PlantedBound, B2WithoutTheMeanDeviationIsRejected) {
  expect_rejected({"exp=E:1,A:50 sum=tree", peak_over(1024, std::log(1024.0)), Errors::up}, first, b2_first,
                  [](Contract&, Row& row) { row.mean_deviation = UpperBound(); });
}

TEST(PlantedBound, B2WithoutTheElementsOwnDeviationIsRejected) {
  expect_rejected(
      {"exp=E:1,A:50", {0, -60}, Errors::up}, last,
      [](const Contract& contract, const Row& row, const RowOracle& oracle) { return b2_last(contract, row, oracle); },
      [](Contract& contract, Row&) { contract.exp_argument_error = 1; });
}

TEST(PlantedBound, B2WithoutTheTemperaturesRoundingsIsRejected) {
  // Found by a search for rows whose reciprocal and product round the same way.
  const double theta = 0x1.f82p-1;
  expect_rejected({"exp=E:1,A:1", {0, -17.25}, Errors::nearest, {false, false, Errors::nearest, false, theta}}, last,
                  b2_last, [](Contract&, Row& row) { row.theta = 1; });
}

TEST(PlantedBound, B2WithoutTheScaledLogitsIsRejected) {
  // x / theta is rounded at its own size, some 3000, and not at that of the difference.
  expect_rejected(
      {"theta=before exp=E:1,A:1", {1000.125F, 999.5F}, Errors::nearest, {false, false, Errors::nearest, false, 0.3}},
      last, b2_last, [](Contract& contract, Row&) { contract.theta = ThetaUse::fused; });
}

TEST(PlantedBound, B2WithoutTheStoredWeightsIsRejected) {
  expect_rejected({"weights=bf16", {0, -0.3}}, last, b2_last,
                  [](Contract& contract, Row&) { contract.weights.reset(); });
}

TEST(PlantedBound, B5WithoutTheStoredTotalIsRejected) {
  // 1 + e^-7 is 1 in bf16.
  expect_rejected({"total=bf16", {0, -7}}, logsumexp, b5, [](Contract& contract, Row&) { contract.total.reset(); });
}

TEST(PlantedBound, AnExcessOverOneWithoutTheExponentialsErrorIsRejected) {
  // One item, its exponential too small in the sum and too large in the numerator.
  expect_rejected(
      {"exp=E:50,A:1", {0}, Errors::down, {false, true, Errors::up}},
      [](const Results& got, const RowOracle&) {
        return Judged{got.coefficients[0], Enclosure(1)};
      },
      [](const Contract& contract, const Row& row, const RowOracle&) {
        return upper(coefficient_excess(contract, row, UpperBound()));
      },
      [](Contract& contract, Row&) { contract.exp_error = 1; });
}

TEST(PlantedBound, AnUndershootWithoutTheExponentialsErrorIsRejected) {
  expect_rejected(
      {"exp=E:50,A:1", {0}, Errors::down}, entropy,
      [](const Contract& contract, const Row& row, const RowOracle&) {
        return upper(entropy_undershoot(contract, row));
      },
      [](Contract& contract, Row&) { contract.exp_error = 1; });
}

TEST(PlantedBound, AnEntropyOfLogSoftmaxWithoutTheSizeOfItsLogSumExpIsRejected) {
  expect_rejected(
      {"entropy_from=coefficients lse=uncentred", {3e6F, 3e6F - 1.25F}},
      [](const Results& got, const RowOracle& oracle) {
        return Judged{got.entropy_from_coefficients, oracle.entropy()};
      },
      [](const Contract& contract, const Row& row, const RowOracle&) {
        return upper(contracted_entropy_error(contract, row).total());
      },
      [](Contract& contract, Row&) { contract.lse = LseForm::centred; });
}

TEST(PlantedBound, B4WithoutTheOutputsRoundingIsRejected) {
  // 33 coefficients, each rounded the same way to bf16.
  expect_rejected(
      {"acc=f32", std::vector<double>(33, 0.0), Errors::nearest, {}, Format::bf16},
      [](const Results& got, const RowOracle&) {
        double total = 0;  // exact: 33 equal numbers of 8 bits
        for (const double p : got.coefficients) total += p;
        return Judged{total, Enclosure(1)};
      },
      [](const Contract& contract, const Row& row, const RowOracle&) {
        return upper(row_sum_error(contract, row).total());
      },
      [](Contract& contract, Row&) { contract.output = Format::f32; });
}

TEST(PlantedBound, B5WithoutTheResultsOwnSizeIsRejected) {
  expect_rejected({"", {3e6, 3e6}}, logsumexp, b5, [](Contract&, Row& row) { row.logsumexp_magnitude = UpperBound(); });
}

TEST(PlantedBound, B5WithoutTheScaledMaximumIsRejected) {
  // m / theta is a product with a rounded reciprocal; theta found by a search for errors of one sign.
  expect_rejected(
      {"", {3e6, 3e6}, Errors::nearest, {false, false, Errors::nearest, false, 0x1.6dep+1}}, logsumexp,
      [](const Contract& contract, const Row& row, const RowOracle& oracle) { return b5(contract, row, oracle); },
      [](Contract&, Row& row) { row.maximum_magnitude = UpperBound(); });
}

TEST(PlantedBound, B6WithoutTheSecondMomentIsRejected) {
  // A sharp row: V2 = q D^2 outweighs Dbar = q D and its square.
  expect_rejected({"exp=E:1,A:200 sum=tree", peak_over(1024, std::log(1024.0 * 20)), Errors::up}, entropy, b6,
                  [](Contract&, Row& row) { row.mean_square_deviation = UpperBound(); });
}

TEST(PlantedBound, B6WithoutTheMeanDeviationIsRejected) {
  expect_rejected({"exp=E:64,A:1 sum=tree", peak_over(4096, std::log(4096.0)), Errors::up_below_one}, entropy, b6,
                  [](Contract&, Row& row) { row.mean_deviation = UpperBound(); });
}

TEST(PlantedBound, B6WithoutTheHeightIsRejected) {
  expect_rejected({"sum=sequential", half_ulps()}, entropy, b6, [](Contract&, Row& row) { row.size = 1; });
}

}  // namespace
}  // namespace softcheck::numerics
