// Compiled alone: what it simulates bears the names that other tests of bounds have.
// B9's log-sum-exp, entropy and adaptive weights against simulated attention kernels; when a score is exact.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "proptests/tests/numerics/attention_bounds.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::Errors;
using simulated::Query;

constexpr std::size_t dimension = 16;
constexpr double scale = 0.3;  // no power of two: scaling rounds

// Two keys, one far below: beta times the distance errs by as much as beta does.
Query far_keys(double distance) {
  Query in = simulated::random_query(12, dimension, scale, 0, Format::f32, 1);
  in.query[0] = 1;
  for (std::size_t j = 0; j < in.keys; ++j) {
    in.key[j * dimension] = j == 0 ? 4 : static_cast<float>(4 - distance / (1 + static_cast<double>(j % 3)));
    in.value[j] = j == 5 ? 1 : 0;
  }
  return in;
}

struct Simulated {
  double output, logsumexp, entropy;
};

// Scores kept, beta from ln S + T / S where it is adaptive, then two passes with (x - m) beta.
Simulated simulate(Arithmetic& a, const Query& in, bool adaptive) {
  std::vector<double> scores;
  for (std::size_t j = 0; j < in.keys; ++j) scores.push_back(in.score(a, j));
  const double maximum = *std::ranges::max_element(scores);
  double beta = 1, log_sum = 0, entropy = 0, output = 0;
  for (int pass = adaptive ? 0 : 1; pass < 2; ++pass) {
    double sum = 0, deviations = 0;
    output = 0;
    for (std::size_t j = 0; j < in.keys; ++j) {
      const double below = a.multiply(a.subtract(scores[j], maximum), beta);
      const double weight = a.exponential(below);
      sum = a.add(sum, weight);
      deviations = a.add(deviations, a.multiply(weight, -below));
      output = a.add(output, a.multiply(weight, in.value[j]));
    }
    log_sum = a.logarithm(sum);
    entropy = a.add(log_sum, a.divide(deviations, sum));
    output = a.divide(output, sum);
    if (pass == 1) break;
    double polynomial = 0;
    for (const double c : {-0.037, 0.481, -2.3, 4.917, -1.791}) {
      polynomial = a.add(a.multiply(polynomial, entropy), a.round(c));
    }
    beta = std::max(1.0, polynomial);
  }
  return {a.output(output), a.output(a.add(a.multiply(maximum, beta), log_sum)), a.output(entropy)};
}

struct Bounds {
  Simulated total;
  Simulated without_scores;  // with e_j = 0
  Simulated at_exact_beta;   // adaptive: as if beta did not err
};

Bounds bounds_of(const Contract& contract, const Query& in, const AttentionOracle& oracle, bool adaptive) {
  const simulated::ScoreStatistics plain(oracle.scores()), weights(oracle.weights());
  const ScoreRow<UpperBound> scores = plain.scores(), sharpened = weights.scores();
  const AttentionArithmetic arithmetic{dimension, scale, contract.accumulator, in.keys - 1};
  const simulated::KeyErrors of(contract, arithmetic, in);
  const UpperBound output = simulated::above(abs(oracle.output().front()));
  const auto bounds = [&](const AttentionThreshold<UpperBound>& threshold) {
    return Simulated{upper(threshold.column(of.values, output).total()),
                     upper(threshold.logsumexp(contract.output).total()),
                     upper(threshold.entropy(contract.output).total())};
  };
  const auto with = [&](const std::vector<UpperBound>& e) {
    return adaptive ? bounds({contract, arithmetic, scores, sharpened, simulated::above(oracle.beta()), e})
                    : bounds({contract, arithmetic, scores, e});
  };
  return {with(of.errors), with(std::vector<UpperBound>(in.keys)),
          bounds({contract, arithmetic, sharpened, of.errors})};
}

struct Shares : simulated::BoundShares {
  std::size_t scores_needed = 0, beta_needed = 0;
};

void check(const std::string& words, const Query& in, bool adaptive, Shares& shares) {
  SCOPED_TRACE(words + " keys " + std::to_string(in.keys));
  const Contract contract = simulated::f32_contract(words);
  const AttentionOracle oracle(in.inputs(), adaptive ? std::optional(EntropyDefinition::exact) : std::nullopt);
  const Bounds bounds = bounds_of(contract, in, oracle, adaptive);
  for (const Errors errors : {Errors::nearest, Errors::up, Errors::down, Errors::up_below_one}) {
    Arithmetic arithmetic(contract, errors);
    const Simulated got = simulate(arithmetic, in, adaptive);
    const auto judge = [&](const char* name, double Simulated::*which, const Enclosure& exact) {
      const double value = got.*which;
      shares.judge(name, value, exact, bounds.total.*which);
      const auto broken = [&](const Simulated& wrong) {
        return std::isfinite(wrong.*which) && simulated::exceeds(value, exact, wrong.*which) ? 1u : 0u;
      };
      shares.scores_needed += broken(bounds.without_scores);
      shares.beta_needed += broken(bounds.at_exact_beta);
    };
    judge("output", &Simulated::output, oracle.output().front());
    judge("log-sum-exp", &Simulated::logsumexp, oracle.logsumexp());
    judge("entropy", &Simulated::entropy, oracle.entropy());
  }
}

Shares checked(bool adaptive) {
  const PrecisionScope scope(113);
  Shares shares;
  for (const char* words : {"exp=1ulp entropy=exact", "exp=E:50,A:3 entropy=exact", "acc=bf16 entropy=exact"}) {
    const bool narrow = std::string(words).starts_with("acc=bf16");
    const Format format = narrow ? Format::bf16 : Format::f32;
    for (const std::size_t keys : {1, 2, 7, 40}) {
      for (const double spread : {0.1, 0.5, 2.0, 8.0}) {
        check(words, simulated::random_query(keys, dimension, scale, spread, format, keys), adaptive, shares);
      }
    }
    if (narrow) continue;
    for (const double distance : {1, 10, 40, 100}) check(words, far_keys(distance), adaptive, shares);
  }
  shares.print("B9");
  std::cout << "scores needed " << shares.scores_needed << " times, beta " << shares.beta_needed << '\n';
  return shares;
}

TEST(RoundingAttention, LogSumExpAndEntropyKeepTheirBoundsAndNeedTheScoresErrors) {
  EXPECT_GT(checked(false).scores_needed, 0u);
}

TEST(RoundingAttention, AdaptiveAttentionKeepsItsBoundsAndNeedsBetasError) { EXPECT_GT(checked(true).beta_needed, 0u); }

// In every order, and with the scale on the query, the key or the sum.
std::vector<double> scores_of(Arithmetic& a, double factor, std::vector<double> query, const std::vector<double>& key) {
  std::vector<double> results;
  std::vector<double> products;
  for (std::size_t t = 0; t < query.size(); ++t) products.push_back(a.multiply(query[t], key[t]));
  std::ranges::sort(products);
  do {
    double sum = 0;
    for (const double product : products) sum = a.add(sum, product);
    results.push_back(a.multiply(factor, sum));
  } while (std::ranges::next_permutation(products).found);
  double sum = 0;
  for (std::size_t t = 0; t < query.size(); ++t) sum = a.add(sum, a.multiply(a.multiply(query[t], factor), key[t]));
  results.push_back(sum);
  return results;
}

TEST(RoundingAttention, AScoreCalledExactIsExactInEveryOrder) {
  std::mt19937_64 engine(3);
  std::size_t exact = 0, inexact = 0;
  for (const char* words : {"acc=f32", "acc=f16 subnormal=flushed", "acc=bf16"}) {
    const Contract contract = parse_contract(words, Format::bf16, Format::f32);
    for (int draw = 0; draw < 400; ++draw) {
      const int bits = 1 + draw % 8, down = draw % 29 - 24;
      const auto number = [&] {
        return round_to(Format::bf16, std::ldexp(static_cast<double>(engine() % (1u << bits)), down));
      };
      std::vector<double> query, key;
      for (int t = 0; t < 4; ++t) {
        query.push_back(number());
        key.push_back(number());
      }
      const double factor = draw % 3 == 0 ? 0.125 : draw % 3 == 1 ? 1 : -4;
      const PrecisionScope precision(113);
      double truth = 0;  // of few bits: exact in double
      for (std::size_t t = 0; t < query.size(); ++t) truth += factor * query[t] * key[t];
      Arithmetic arithmetic(contract, Errors::nearest);
      bool all = true;
      for (const double score : scores_of(arithmetic, factor, query, key)) all &= score == truth;
      const bool called = score_is_exact(contract, factor, query, key);
      EXPECT_TRUE(!called || all) << words << " draw " << draw;
      (called ? exact : inexact) += 1;
      EXPECT_FALSE(score_is_exact(contract, 0.3, query, key));
    }
  }
  EXPECT_GT(exact, 100u);
  EXPECT_GT(inexact, 100u);
  const Contract base_two = simulated::f32_contract("exp=E:2,A:3");
  EXPECT_FALSE(score_is_exact(base_two, 1, std::vector<double>{1}, std::vector<double>{1}));
}

}  // namespace
}  // namespace softcheck::numerics
