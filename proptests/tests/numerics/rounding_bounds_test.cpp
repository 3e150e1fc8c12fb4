// B1-B7 against simulated kernels: no error exceeds its bound, over formats, summations, rows and adversarial errors;
// and the bounds are not idle: rows and kernels that use most of them.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "proptests/tests/numerics/row_families.hpp"
#include "proptests/tests/numerics/softmax_bounds.hpp"

namespace softcheck::numerics::softmax_bounds_test {
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
    {Format::bf16, "acc=f32 exp=1ulp sum=lanes:8 differences=bf16"},
    {Format::f32, "acc=f32 exp=2ulp sum=tree differences=f16 theta=before"},
    {Format::f32, "acc=f32 exp=1ulp sum=blocks:8 exp_floor=2^-24 lse=running"},
    {Format::bf16, "acc=bf16 exp=1ulp sum=lanes:4 lse=running"},
    {Format::f16, "acc=f32 exp=1ulp sum=tree weights=f16 total=f16 subnormal=kept"},
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
// Labelled deep: Contracts/RoundingBounds.HoldForVeryLongRows/13:Contracts/RoundingBounds.HoldForVeryLongRows/15
// Labelled deep: Contracts/RoundingBounds.HoldForVeryLongRows/16:Contracts/RoundingBounds.HoldForVeryLongRows/17
// Labelled deep: Contracts/RoundingBounds.HoldForVeryLongRows/18
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

using simulated::b1;
using simulated::b2;
using simulated::half_ulp_row;
using simulated::peak_over;
using simulated::Row;

// Bounds with a term left out, each with a kernel that keeps its contract and breaks the wrong bound - while the right
// one holds.
struct PlantedCase {
  const char* words;
  std::vector<double> logits;
  Errors errors = Errors::nearest;
  simulated::Plan plan = {};
  Format format = Format::f32;
};

struct Judged {
  double got;
  Enclosure exact;
  double bound;
};

// A kernel's results on a row, by a contract and what is known of the row.
struct Computed {
  const Contract& contract;
  const Row& row;
  const RowOracle& oracle;
  const simulated::Results& got;
};

Judged sum(const Computed& of) { return {of.got.sum, of.oracle.sum(), b1(of.contract, of.row, of.oracle)}; }
Judged element(const Computed& of, std::size_t i) {
  return {of.got.coefficients[i], of.oracle.softmax(i), b2(of.contract, of.row, of.oracle, i)};
}
Judged first(const Computed& of) { return element(of, 0); }
Judged last(const Computed& of) { return element(of, of.oracle.size() - 1); }
Judged excess(const Computed& of) {
  return {of.got.coefficients[0], Enclosure(1), upper(coefficient_excess(of.contract, of.row, UpperBound()))};
}
Judged row_sum(const Computed& of) {
  double total = 0;  // exact: 33 equal numbers of 8 bits
  for (const double p : of.got.coefficients) total += p;
  return {total, Enclosure(1), upper(row_sum_error(of.contract, of.row).total())};
}
Judged logsumexp(const Computed& of) {
  return {of.got.logsumexp, of.oracle.logsumexp(), upper(logsumexp_error(of.contract, of.row).total())};
}
Judged entropy(const Computed& of) {
  return {of.got.entropy, of.oracle.entropy(), upper(entropy_error(of.contract, of.row).total())};
}
Judged undershoot(const Computed& of) {
  return {of.got.entropy, of.oracle.entropy(), upper(entropy_undershoot(of.contract, of.row))};
}
Judged entropy_of_log_softmax(const Computed& of) {
  return {of.got.entropy_of_coefficients, of.oracle.entropy(),
          upper(contracted_entropy_error(of.contract, of.row).total())};
}

using Plant = void (*)(Contract&, Row&);

// The right bound must hold and the wrong one must certainly be exceeded.
void rejected(const char* name, const PlantedCase& c, Judged (*of)(const Computed&), Plant plant) {
  simulated::add_test("PlantedBound", name, [=] {
    const PrecisionScope scope(113);
    Contract contract = parse_contract(c.words, c.format, c.format);
    const RowOracle oracle(c.logits, c.plan.theta);
    Row row = simulated::statistics_of(contract, oracle, c.logits, c.plan.theta);
    const simulated::Results results = simulated::Kernel(contract, c.errors, c.plan)(c.logits);
    const Judged right = of({contract, row, oracle, results});
    plant(contract, row);
    simulated::expect_needed(name, right.got, right.exact, right.bound, of({contract, row, oracle, results}).bound);
  });
}

// A ramp of many small steps: every item rescales all that came before, with an exponential that errs upwards.
std::vector<double> ramp() {
  std::vector<double> logits;
  for (int i = 0; i < 1000; ++i) logits.push_back(i * 0x1p-12);
  return logits;
}

[[maybe_unused]] const bool registered = [] {
  const PlantedCase half_ulps{"sum=sequential", half_ulp_row(65536, 24, 0x1p-13)};
  const Plant without_height = [](Contract&, Row& row) { row.size = 1; };
  const Plant without_exponentials = [](Contract& contract, Row&) { contract.exp_error = 1; };
  rejected("B1WithoutTheHeightIsRejected", half_ulps, sum, without_height);
  // The probabilistic lambda sqrt(h) is a warning level, no bound.
  rejected("B1WithTheRootOfTheHeightIsRejected", half_ulps, sum, [](Contract&, Row& row) { row.size = 257; });
  rejected("B1WithAPairwiseHeightForASequentialSumIsRejected", half_ulps, sum,
           [](Contract& contract, Row&) { contract.summation.kind = Summation::Kind::tree; });
  rejected("B1WithoutTheExponentialsErrorIsRejected",
           {"exp=E:50,A:1 sum=tree", std::vector<double>(8, 1.0), Errors::up}, sum, without_exponentials);
  rejected("B1WithoutTheRescalingsIsRejected", {"exp=E:16,A:1 sum=sequential", ramp(), Errors::up, {true}}, sum,
           [](Contract&, Row& row) { row.rescalings = 0; });
  rejected("B2WithoutTheMeanDeviationIsRejected",
           {"exp=E:1,A:50 sum=tree", peak_over(1024, std::log(1024.0)), Errors::up}, first,
           [](Contract&, Row& row) { row.mean_deviation = UpperBound(); });
  rejected("B2WithoutTheElementsOwnDeviationIsRejected", {"exp=E:1,A:50", {0, -60}, Errors::up}, last,
           [](Contract& contract, Row&) { contract.exp_argument_error = 1; });
  // Found by a search for rows whose reciprocal and product round the same way.
  rejected("B2WithoutTheTemperaturesRoundingsIsRejected",
           {"exp=E:1,A:1", {0, -17.25}, Errors::nearest, {.theta = 0x1.f82p-1}}, last,
           [](Contract&, Row& row) { row.theta = 1; });
  // x / theta is rounded at its own size, some 3000, and not at that of the difference.
  rejected("B2WithoutTheScaledLogitsIsRejected",
           {"theta=before exp=E:1,A:1", {1000.125F, 999.5F}, Errors::nearest, {.theta = 0.3}}, last,
           [](Contract& contract, Row&) { contract.theta = ThetaUse::fused; });
  rejected("B2WithoutTheStoredWeightsIsRejected", {"weights=bf16", {0, -0.3}}, last,
           [](Contract& contract, Row&) { contract.weights.reset(); });
  // 1 + e^-7 is 1 in bf16.
  rejected("B5WithoutTheStoredTotalIsRejected", {"total=bf16", {0, -7}}, logsumexp,
           [](Contract& contract, Row&) { contract.total.reset(); });
  // One item, its exponential too small in the sum and too large in the numerator.
  rejected("AnExcessOverOneWithoutTheExponentialsErrorIsRejected",
           {"exp=E:50,A:1", {0}, Errors::down, {false, true, Errors::up}}, excess, without_exponentials);
  rejected("AnUndershootWithoutTheExponentialsErrorIsRejected", {"exp=E:50,A:1", {0}, Errors::down}, undershoot,
           without_exponentials);
  rejected("AnEntropyOfLogSoftmaxWithoutTheSizeOfItsLogSumExpIsRejected",
           {"entropy_from=coefficients lse=uncentred", {3e6F, 3e6F - 1.25F}}, entropy_of_log_softmax,
           [](Contract& contract, Row&) { contract.lse = LseForm::centred; });
  // 33 coefficients, each rounded the same way to bf16.
  rejected("B4WithoutTheOutputsRoundingIsRejected",
           {"acc=f32", std::vector<double>(33, 0.0), Errors::nearest, {}, Format::bf16}, row_sum,
           [](Contract& contract, Row&) { contract.output = Format::f32; });
  rejected("B5WithoutTheResultsOwnSizeIsRejected", {"", {3e6, 3e6}}, logsumexp,
           [](Contract&, Row& row) { row.logsumexp_magnitude = UpperBound(); });
  // m / theta is a product with a rounded reciprocal; theta found by a search for errors of one sign.
  rejected("B5WithoutTheScaledMaximumIsRejected", {"", {3e6, 3e6}, Errors::nearest, {.theta = 0x1.6dep+1}}, logsumexp,
           [](Contract&, Row& row) { row.maximum_magnitude = UpperBound(); });
  // A sharp row: V2 = q D^2 outweighs Dbar = q D and its square.
  rejected("B6WithoutTheSecondMomentIsRejected",
           {"exp=E:1,A:200 sum=tree", peak_over(1024, std::log(1024.0 * 20)), Errors::up}, entropy,
           [](Contract&, Row& row) { row.mean_square_deviation = UpperBound(); });
  rejected("B6WithoutTheMeanDeviationIsRejected",
           {"exp=E:64,A:1 sum=tree", peak_over(4096, std::log(4096.0)), Errors::up_below_one}, entropy,
           [](Contract&, Row& row) { row.mean_deviation = UpperBound(); });
  rejected("B6WithoutTheHeightIsRejected", half_ulps, entropy, without_height);
  return true;
}();

}  // namespace
}  // namespace softcheck::numerics::softmax_bounds_test
