// B22: the divergence's oracle against its definition, and its bounds against simulated kernels.
#include "numerics/rounding/rounding_divergence.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "numerics/formats/special_values.hpp"
#include "numerics/oracles/divergence.hpp"
#include "proptests/tests/numerics/bound_shares.hpp"
#include "proptests/tests/numerics/row_families.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::BoundShares;
using simulated::Errors;
using Row = std::vector<double>;

// Coefficients without a maximum or logarithms of sums.
std::vector<Enclosure> coefficients(const Row& logits, double theta) {
  std::vector<Enclosure> p;
  Enclosure sum(0);
  for (const double x : logits) {
    p.push_back(std::isinf(x) ? Enclosure(0) : exp(Enclosure(x) / Enclosure(theta)));
    sum = sum + p.back();
  }
  for (Enclosure& each : p) each = each / sum;
  return p;
}

TEST(Divergence, TheOracleIsTheDefinition) {
  const PrecisionScope precision(256);
  const std::vector<std::pair<Row, Row>> rows{{{0, 0, 0}, {1, 2, 3}},
                                              {{1, 2, 3, 4}, {4, 3, 2, 1}},
                                              {{50, -50, 0.25}, {50, -50, 0.5}},
                                              {{5}, {-3}},
                                              {{1, -infinity, 3}, {3, -infinity, -2}}};
  for (const auto& [logits, teacher] : rows) {
    for (const bool reverse : {false, true}) {
      for (const double theta : {1.0, 0.7}) {
        const DivergenceOracle oracle(logits, teacher, theta, reverse);
        const auto p = coefficients(logits, theta), q = coefficients(teacher, theta);
        Enclosure k(0);
        const auto ratio = [&](std::size_t j) { return reverse ? log(p[j]) - log(q[j]) : log(q[j]) - log(p[j]); };
        for (std::size_t j = 0; j < p.size(); ++j) {
          if (!std::isinf(logits[j])) k = k + (reverse ? p[j] : q[j]) * ratio(j);
        }
        const auto agree = [](const Enclosure& a, const Enclosure& b) {
          EXPECT_EQ(less_equal(abs(a - b), Enclosure(0x1p-200)), Decision::proved) << a.to_string() << b.to_string();
        };
        agree(oracle.divergence(), k);
        for (std::size_t j = 0; j < p.size(); ++j) {
          const Enclosure slope = std::isinf(logits[j]) ? Enclosure(0) : reverse ? p[j] * (ratio(j) - k) : p[j] - q[j];
          agree(oracle.gradient(j, Enclosure(3)), 3 * slope / Enclosure(theta));
        }
      }
    }
  }
  EXPECT_THROW(DivergenceOracle(Row{-infinity, 0}, Row{0, 0}, 1, false), std::invalid_argument);
  EXPECT_NO_THROW(DivergenceOracle(Row{-infinity, 0}, Row{0, 0}, 1, true));
}

// A distribution in a simulated arithmetic: its coefficients and log-probabilities.
struct SimulatedRow {
  SimulatedRow(Arithmetic& a, Row logits, double theta, bool by_logarithm) {
    const bool scaled_now = theta == 1 || a.contract().theta == ThetaUse::before;
    for (double& x : logits) x = theta == 1 || !scaled_now ? a.round(x) : a.divide(a.round(x), theta);
    const double maximum = *std::ranges::max_element(logits);
    const auto deviation = [&](double x) {
      return scaled_now ? a.subtract(x, maximum) : a.divide(a.subtract(x, maximum), theta);
    };
    Row powers;
    for (const double x : logits) powers.push_back(a.exponential(deviation(x)));
    const double sum = sum_in_order(a, powers), log_sum = a.logarithm(sum), whole = a.add(maximum, log_sum);
    for (std::size_t j = 0; j < logits.size(); ++j) {
      logarithms.push_back(a.contract().lse == LseForm::centred ? a.subtract(deviation(logits[j]), log_sum)
                                                                : a.subtract(logits[j], whole));
      coefficients.push_back(by_logarithm ? a.exponential(std::min(logarithms[j], 0.0)) : a.divide(powers[j], sum));
    }
  }
  Row coefficients, logarithms;
};

struct SimulatedDivergence {
  // moved: with 1 added to the logarithms, as automatic differentiation has it.
  SimulatedDivergence(Arithmetic& a, const Row& weighing, const Row& other, double theta, bool by_logarithm,
                      bool moved) {
    const SimulatedRow w(a, weighing, theta, by_logarithm), v(a, other, theta, by_logarithm);
    const auto outward = [&](double slope) {
      const double product = a.multiply(upstream, slope);
      return a.output(theta == 1 ? product : a.divide(product, theta));
    };
    Row terms, ratios;
    for (std::size_t j = 0; j < weighing.size(); ++j) {
      const double ratio = a.subtract(w.logarithms[j], v.logarithms[j]);
      terms.push_back(w.coefficients[j] == 0 ? 0 : a.multiply(w.coefficients[j], ratio));
      ratios.push_back(moved ? a.add(ratio, 1) : ratio);
    }
    divergence = a.output(sum_in_order(a, terms));
    for (std::size_t j = 0; j < weighing.size(); ++j) terms[j] = a.multiply(w.coefficients[j], ratios[j]);
    const double mean = sum_in_order(a, terms);
    for (std::size_t j = 0; j < weighing.size(); ++j) {
      const double slope = moved ? a.subtract(terms[j], a.multiply(w.coefficients[j], mean))
                                 : a.multiply(w.coefficients[j], a.subtract(ratios[j], mean));
      reverse.push_back(outward(slope));
      forward.push_back(outward(a.subtract(v.coefficients[j], w.coefficients[j])));
    }
  }
  static constexpr double upstream = 3;
  double divergence;
  Row forward, reverse;
};

UpperBound at_most(const Enclosure& x) { return UpperBound(abs(x).upper_double()); }

struct DivergenceBounds {
  DivergenceBounds(const Contract& contract, const Row& weighing, const Row& other, double theta)
      : w(weighing, theta),
        v(other, theta),
        oracle(weighing, other, theta, true),
        threshold(contract, row_statistics<UpperBound>(w, rescaling_count(contract, weighing), theta),
                  row_statistics<UpperBound>(v, rescaling_count(contract, other), theta)) {
    for (std::size_t j = 0; j < weighing.size(); ++j) threshold.add(item(j), 1);
  }
  DivergenceItem<UpperBound> item(std::size_t j) const {
    return {at_most(w.softmax(j)), at_most(w.deviation(j)), at_most(v.softmax(j)), at_most(v.deviation(j)),
            at_most(w.log_softmax(j) - v.log_softmax(j))};
  }
  RowOracle w, v;
  DivergenceOracle oracle;
  DivergenceThreshold<UpperBound> threshold;
};

void judge_divergence(const Contract& contract, const Row& weighing, const Row& other, double theta,
                      BoundShares& shares) {
  const DivergenceBounds of(contract, weighing, other, theta);
  const Enclosure given(SimulatedDivergence::upstream), factor = given / Enclosure(theta);
  const UpperBound upstream = at_most(factor), size = at_most(of.oracle.divergence());
  for (const Errors errors : {Errors::nearest, Errors::up, Errors::down, Errors::up_below_one}) {
    for (const int plan : {0, 1, 2}) {
      Arithmetic arithmetic(contract, errors);
      const SimulatedDivergence got(arithmetic, weighing, other, theta, plan == 1, plan == 2);
      shares.judge("divergence", got.divergence, of.oracle.divergence(), upper(of.threshold.divergence(size).total()));
      for (std::size_t j = 0; j < weighing.size(); j += 1 + weighing.size() / 8) {
        const Enclosure difference = of.v.softmax(j) - of.w.softmax(j), exact = of.oracle.gradient(j, given);
        shares.judge("forward", got.forward[j], factor * difference,
                     upper(of.threshold.difference(of.item(j), upstream, at_most(difference)).total()));
        shares.judge("reverse", got.reverse[j], exact,
                     upper(of.threshold.element(of.item(j), upstream, size, at_most(exact)).total()));
      }
      ASSERT_FALSE(testing::Test::HasFailure()) << "errors " << static_cast<int>(errors) << ", plan " << plan;
    }
  }
}

struct DivergenceSetting {
  Format input;
  const char* words;
  double theta = 1;
};

// Labelled full: Divergence.BoundsHoldOfSimulatedKernels
TEST(Divergence, BoundsHoldOfSimulatedKernels) {
  const PrecisionScope scope(113);
  const std::vector<DivergenceSetting> settings{{Format::f32, "acc=f32 exp=1ulp sum=sequential"},
                                                {Format::f32, "acc=f32 exp=0.5ulp sum=lanes:8 lse=uncentred"},
                                                {Format::f32, "acc=f32 exp=E:50,A:3 sum=blocks:64"},
                                                {Format::f64, "acc=f64 exp=1ulp sum=tree"},
                                                {Format::bf16, "acc=f32 exp=1ulp sum=tree subnormal=flushed"},
                                                {Format::bf16, "acc=bf16 exp=1ulp sum=tree"},
                                                {Format::f32, "acc=f32 exp=1ulp sum=tree theta=before", 0.75},
                                                {Format::f32, "acc=f32 exp=1ulp sum=tree", 8}};
  for (const DivergenceSetting& setting : settings) {
    const Contract contract = parse_contract(setting.words, setting.input, setting.input);
    BoundShares shares;
    for (const std::size_t n : {1, 2, 8, 33}) {
      const auto rows = tests::rows_in(setting.input, n, 7, 1e4), others = tests::rows_in(setting.input, n, 8, 1e4);
      for (std::size_t k = 0; k < rows.size(); ++k) {
        if (rows[k].name.find("masked") != std::string::npos) continue;
        SCOPED_TRACE(setting.words + (", " + rows[k].name) + ", n " + std::to_string(n));
        Row near = rows[k].logits;
        for (std::size_t j = 0; j < n; j += 2) near[j] = round_to(setting.input, near[j] * (1 - 0x1p-6) - 0.25);
        const Row flat(n, 0.0);
        for (const Row& other : {others[k].logits, near, rows[k].logits, flat}) {
          judge_divergence(contract, rows[k].logits, other, setting.theta, shares);
          if (HasFatalFailure()) return;
        }
      }
    }
    shares.print(setting.words);
    const double least = setting.theta == 1 ? 0.15 : 0.05;
    for (const char* bound : {"divergence", "forward", "reverse"}) EXPECT_GT(shares.of(bound), least) << bound;
  }
}

}  // namespace
}  // namespace softcheck::numerics
