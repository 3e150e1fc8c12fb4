// Compiled alone: what it simulates bears the names that other tests of bounds have.
// Bounds with a term left out, each with a kernel that keeps its contract and breaks the wrong bound - while the right
// one holds.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "proptests/tests/numerics/softmax_bounds.hpp"

namespace softcheck::numerics {
namespace {

using simulated::b1;
using simulated::b2;
using simulated::Errors;
using simulated::half_ulp_row;
using simulated::peak_over;
using simulated::Row;

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
  return {of.got.entropy_from_coefficients, of.oracle.entropy(),
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
}  // namespace softcheck::numerics
