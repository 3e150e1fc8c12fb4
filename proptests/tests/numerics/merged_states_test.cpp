// B16: merged states by two routes, and their bounds against simulated merges in base e and 2.

#include "numerics/oracles/merged_states.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "numerics/rows/arb_row_oracle.hpp"
#include "proptests/tests/numerics/bound_shares.hpp"
#include "proptests/tests/numerics/simulated_arithmetic.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::Errors;

struct States {
  std::vector<double> lse, outputs;  // one column
};

std::vector<States> merge_cases(Format format, std::size_t parts) {
  std::mt19937_64 engine(parts);
  std::normal_distribution<double> normal;
  std::vector<States> cases;
  for (const double shift : {0.0, 5.0, -700.0, 10000.0}) {
    for (const double spread : {0.0, 1.0, 20.0}) {
      for (int kind = 0; kind < 3; ++kind) {
        States s;
        for (std::size_t k = 0; k < parts; ++k) {
          const bool empty = kind == 2 && k % 2 == 1;
          s.lse.push_back(empty ? -INFINITY : static_cast<float>(shift + spread * normal(engine)));
          const double value = round_to(format, kind == 1 ? 1 + 0x1p-8 * normal(engine) : normal(engine));
          s.outputs.push_back(empty ? NAN : value);
        }
        cases.push_back(s);
      }
    }
  }
  return cases;
}

struct Merged {
  double output, logsumexp;
};

// All parts at once, or one after the other with a running maximum; weights divided at the end.
Merged merge(Arithmetic& a, const States& s, LseBase base, bool online) {
  const double unit = base == LseBase::two ? std::log(2.0) : 1;
  const double maximum = *std::max_element(s.lse.begin(), s.lse.end());
  std::vector<double> weights, products;
  double running = -INFINITY, sum = 0, output = 0;
  for (std::size_t k = 0; k < s.lse.size(); ++k) {
    if (std::isinf(s.lse[k])) continue;
    if (online && s.lse[k] > running) {
      const double factor = std::isinf(running) ? 0 : a.exponential(unit * a.subtract(running, s.lse[k]));
      sum = a.multiply(sum, factor);
      output = a.multiply(output, factor);
      running = s.lse[k];
    }
    const double weight = a.exponential(unit * a.subtract(s.lse[k], online ? running : maximum));
    weights.push_back(weight);
    products.push_back(a.multiply(weight, s.outputs[k]));
    if (online) sum = a.add(sum, weight), output = a.add(output, products.back());
  }
  if (!online) sum = sum_in_order(a, weights), output = sum_in_order(a, products);
  const double logarithm = a.logarithm(sum);
  const double in_base = base == LseBase::two ? a.multiply(logarithm, a.round(1 / unit)) : logarithm;
  return {a.output(a.divide(output, sum)), a.add(maximum, in_base)};
}

MergedStatesThreshold<UpperBound> threshold_of(const Contract& contract, Format lse, const MergedStatesOracle& oracle) {
  return {contract, lse, oracle.base(), oracle.row<UpperBound>(contract)};
}

// Of the one column.
double column_bound(const MergedStatesThreshold<UpperBound>& threshold, const MergedStatesOracle& oracle) {
  std::vector<UpperBound> outputs;
  for (std::size_t k = 0; k < oracle.parts(); ++k) outputs.emplace_back(oracle.magnitude(k, 0));
  return upper(threshold.column(outputs, bound_of<UpperBound>(abs(oracle.output(0)))).total());
}

TEST(MergedStates, TheWeightsAreArbsSoftmax) {
  if (!arb_available()) GTEST_SKIP() << "built without Arb";
  const PrecisionScope scope(113);
  for (const States& s : merge_cases(Format::f32, 7)) {
    const MergedStatesOracle oracle(s.lse, s.outputs, 1);
    const ArbRowOracle arb(s.lse);
    Enclosure output(0);
    for (std::size_t k = 0; k < s.lse.size(); ++k) {
      EXPECT_TRUE(arb.softmax(k).overlaps(oracle.weight(k)));
      if (!std::isinf(s.lse[k])) output = output + arb.softmax(k) * Enclosure(s.outputs[k]);
    }
    EXPECT_TRUE(output.overlaps(oracle.output(0)));
    EXPECT_TRUE(arb.logsumexp().overlaps(oracle.logsumexp()));
    // Base 2: the theta of 1 / ln 2, within a double of it.
    const MergedStatesOracle two(s.lse, s.outputs, 1, LseBase::two);
    const ArbRowOracle tempered(s.lse, 1 / std::log(2.0));
    const Enclosure gap = abs(two.logsumexp() * log(Enclosure(2)) - tempered.logsumexp());
    EXPECT_LT(gap.upper_double(), 0x1p-50 * (1 + abs(tempered.logsumexp()).upper_double()));
  }
}

TEST(MergedStates, MergesKeepTheirBoundsInBothBases) {
  const PrecisionScope scope(113);
  for (const char* words : {"acc=f32 exp=1ulp", "acc=f32 exp=E:50,A:3 sum=tree", "acc=f64 exp=1ulp",
                            "acc=bf16 exp=1ulp sum=tree subnormal=kept"}) {
    simulated::BoundShares shares;
    const Format format = words[4] == 'b' ? Format::bf16 : Format::f32;
    const Contract contract = parse_contract(words, format, Format::f32);
    const Format lse = contract.accumulator == Format::bf16 ? Format::bf16 : Format::f32;
    for (const LseBase base : {LseBase::e, LseBase::two}) {
      for (const std::size_t parts : {1, 2, 3, 8, 33}) {
        for (States held : merge_cases(format, parts)) {
          if (lse == Format::bf16 && std::fabs(held.lse.front()) > 100) continue;
          SCOPED_TRACE(words + (" " + std::to_string(parts)) + " base " + std::to_string(static_cast<int>(base)));
          for (double& x : held.lse) x = std::isinf(x) ? x : round_to(lse, x);
          const MergedStatesOracle oracle(held.lse, held.outputs, 1, base);
          const MergedStatesThreshold<UpperBound> threshold = threshold_of(contract, lse, oracle);
          const double bound = column_bound(threshold, oracle);
          const double lse_bound = upper(threshold.logsumexp(contract.accumulator).total());
          for (const bool online : {false, true}) {
            // Online is one part after the other: the contract's order where that is sequential.
            if (online && contract.summation.kind != Summation::Kind::sequential) continue;
            for (const Errors errors : {Errors::nearest, Errors::up, Errors::down, Errors::up_below_one}) {
              Arithmetic arithmetic(contract, errors);
              const Merged got = merge(arithmetic, held, base, online);
              shares.judge("B16 output", got.output, oracle.output(0), bound);
              shares.judge("B16 L", got.logsumexp, oracle.logsumexp(), lse_bound);
            }
          }
        }
      }
    }
    shares.expect(words, 0.3);
  }
}

TEST(MergedStates, SumsThatRoundApartReachTheBound) {
  // Each of 4096 weights is a little above half of the last place of 1, so that S rounds up; each of their products
  // with 0.9 a little below, so that the sum of the products rounds down.
  const PrecisionScope scope(113);
  const Contract contract = simulated::f32_contract("exp=0.5ulp subnormal=kept");
  States s{simulated::half_ulp_row(4096, 24, 0x1p-7), std::vector<double>(4097, 0.9F)};
  s.outputs.front() = 1;
  const MergedStatesOracle oracle(s.lse, s.outputs, 1);
  const MergedStatesThreshold<UpperBound> threshold = threshold_of(contract, Format::f32, oracle);
  Arithmetic arithmetic(contract, Errors::nearest);
  const double got = merge(arithmetic, s, LseBase::e, false).output;
  Contract planted = contract;
  planted.summation.kind = Summation::Kind::tree;
  const MergedStatesThreshold<UpperBound> wrong = threshold_of(planted, Format::f32, oracle);
  simulated::expect_needed("B16", got, oracle.output(0), column_bound(threshold, oracle), column_bound(wrong, oracle),
                           0.5);
}

TEST(MergedStates, BoundsWithoutTheExponentialOrTheBaseAreRejected) {
  const PrecisionScope scope(113);
  const auto planted = [](const char* words, const char* wrong_words, const States& s, LseBase base) {
    const Contract contract = simulated::f32_contract(words);
    const MergedStatesOracle oracle(s.lse, s.outputs, 1, base);
    Arithmetic arithmetic(contract, Errors::up_below_one);
    const double got = merge(arithmetic, s, base, false).output;
    const auto bound = [&](const char* of) {
      return column_bound(threshold_of(simulated::f32_contract(of), Format::f32, oracle), oracle);
    };
    simulated::expect_needed("B16", got, oracle.output(0), bound(words), bound(wrong_words));
  };
  planted("exp=E:50,A:1", "exp=E:1,A:1", {{-5, 0}, {1, 0}}, LseBase::e);
  planted("exp=E:1,A:50", "exp=E:1,A:1", {{-60, 0}, {1, 0}}, LseBase::two);
}

TEST(MergedStates, EmptyPartsAreNotRead) {
  const std::vector<double> lse{-INFINITY, 2}, outputs{NAN, INFINITY, 0.5, -1};
  const MergedStatesOracle oracle(lse, outputs, 2);
  EXPECT_TRUE(oracle.output(0).is_point() && oracle.output(0).contains(0.5));
  EXPECT_TRUE(oracle.logsumexp().contains(2.0));
  const std::vector<double> empty{-INFINITY, -INFINITY}, plus{INFINITY, 2};
  EXPECT_TRUE(MergedStatesOracle(empty, outputs, 2).all_empty());
  EXPECT_THROW(MergedStatesOracle(empty, outputs, 2).output(0), std::logic_error);
  EXPECT_THROW(MergedStatesOracle(plus, outputs, 2), std::invalid_argument);
  EXPECT_THROW(MergedStatesOracle(lse, outputs, 3), std::invalid_argument);
  const std::vector<double> filled{1, 2};
  EXPECT_THROW(MergedStatesOracle(filled, outputs, 2), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::numerics
