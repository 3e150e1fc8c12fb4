// Compiled alone: what it simulates bears the names that other tests of bounds have.
// B9's log-sum-exp, entropy and adaptive weights against simulated attention kernels; when a score is exact.

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>
#include <vector>

#include "numerics/oracles/attention_oracle.hpp"
#include "numerics/rounding/rounding_attention.hpp"
#include "proptests/tests/numerics/bound_ratio.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::Errors;

constexpr std::size_t dimension = 16;
constexpr double scale = 0.3;  // no power of two: scaling rounds

struct Query {
  std::size_t keys;
  std::vector<double> query, key, value;  // one column of values
};

Query random_query(std::size_t keys, double spread, Format format, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal(0, spread);
  const auto draw = [&](std::size_t n) {
    std::vector<double> numbers(n);
    for (double& x : numbers) x = round_to(format, normal(engine));
    return numbers;
  };
  return {keys, draw(dimension), draw(keys * dimension), draw(keys)};
}

// Two keys, one far below: beta times the distance errs by as much as beta does.
Query far_keys(double distance) {
  Query in = random_query(12, 0, Format::f32, 1);
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
  for (std::size_t j = 0; j < in.keys; ++j) {
    double dot = 0;
    for (std::size_t t = 0; t < dimension; ++t) dot = a.add(dot, a.multiply(in.query[t], in.key[j * dimension + t]));
    scores.push_back(a.multiply(dot, a.round(scale)));
  }
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

UpperBound above(const Enclosure& x) { return UpperBound(std::max(x.upper_double(), 0.0)); }

// A row of scores as ScoreRow wants it, which points into it.
struct Statistics {
  RowStatistics<UpperBound> row;
  std::vector<UpperBound> coefficients, deviations;

  explicit Statistics(const EnclosedRow& scores) {
    const std::size_t n = scores.size();
    row.size = row.visible = n;
    const Enclosure log_sum = scores.logsumexp() - scores.maximum();
    row.log_sum = above(log_sum);
    row.maximum_magnitude = above(abs(scores.maximum()));
    row.logsumexp_magnitude = above(abs(scores.logsumexp()));
    Enclosure mean(0), square_mean(0);
    for (std::size_t j = 0; j < n; ++j) {
      const Enclosure deviation = scores.maximum() - scores.logit(j);
      coefficients.push_back(above(scores.softmax(j)));
      deviations.push_back(above(deviation));
      mean += scores.softmax(j) * deviation;
      square_mean += scores.softmax(j) * square(deviation);
      row.largest_magnitude = maximum(row.largest_magnitude, above(abs(scores.logit(j))));
    }
    row.mean_deviation = above(mean);
    row.mean_square_deviation = above(square_mean);
  }
};

struct Bounds {
  Simulated total;
  Simulated without_scores;  // with e_j = 0
  Simulated at_exact_beta;   // adaptive: as if beta did not err
};

Bounds bounds_of(const Contract& contract, const Query& in, const AttentionOracle& oracle, bool adaptive) {
  const Statistics plain(oracle.scores()), weights(oracle.weights());
  const ScoreRow<UpperBound> scores{plain.row, plain.coefficients, plain.deviations};
  const ScoreRow<UpperBound> sharpened{weights.row, weights.coefficients, weights.deviations};
  const AttentionArithmetic arithmetic{dimension, scale, contract.accumulator, in.keys - 1};
  std::vector<UpperBound> errors, none(in.keys), sizes;
  for (std::size_t j = 0; j < in.keys; ++j) {
    double dot = 0;
    for (std::size_t t = 0; t < dimension; ++t) dot += std::abs(in.query[t] * in.key[j * dimension + t]);
    errors.push_back(score_error<UpperBound>(contract, arithmetic, UpperBound(dot * (1 + dimension * 0x1p-52))));
    sizes.emplace_back(std::abs(in.value[j]));
  }
  const UpperBound output = above(abs(oracle.output().front()));
  const auto told = [&](const AttentionThreshold<UpperBound>& threshold) {
    return Simulated{upper(threshold.column(sizes, output).total()),
                     upper(threshold.logsumexp(contract.output).total()),
                     upper(threshold.entropy(contract.output).total())};
  };
  const auto with = [&](const std::vector<UpperBound>& e) {
    return adaptive ? told({contract, arithmetic, scores, sharpened, above(oracle.beta()), e})
                    : told({contract, arithmetic, scores, e});
  };
  return {with(errors), with(none), told({contract, arithmetic, sharpened, errors})};
}

struct Shares {
  double output = 0, logsumexp = 0, entropy = 0;
  std::size_t scores_needed = 0, beta_needed = 0;
};

void check(const std::string& words, const Query& in, bool adaptive, Shares& shares) {
  const Contract contract = parse_contract(words, Format::f32, Format::f32);
  const AttentionOracle oracle(
      {.query = in.query, .keys = in.key, .values = in.value, .value_size = 1, .scale = scale, .items = in.keys},
      adaptive ? std::optional(EntropyDefinition::exact) : std::nullopt);
  const Bounds bounds = bounds_of(contract, in, oracle, adaptive);
  for (const Errors errors : {Errors::nearest, Errors::up, Errors::down, Errors::up_below_one}) {
    Arithmetic arithmetic(contract, errors);
    const Simulated got = simulate(arithmetic, in, adaptive);
    const auto judge = [&](double value, const Enclosure& exact, double Simulated::*which, double& share) {
      EXPECT_TRUE(simulated::holds(value, exact, bounds.total.*which)) << words << " keys " << in.keys;
      share = std::max(share, simulated::used(value, exact, bounds.total.*which));
      const auto broken = [&](const Simulated& wrong) {
        return std::isfinite(wrong.*which) && simulated::exceeds(value, exact, wrong.*which) ? 1u : 0u;
      };
      shares.scores_needed += broken(bounds.without_scores);
      shares.beta_needed += broken(bounds.at_exact_beta);
    };
    judge(got.output, oracle.output().front(), &Simulated::output, shares.output);
    judge(got.logsumexp, oracle.logsumexp(), &Simulated::logsumexp, shares.logsumexp);
    judge(got.entropy, oracle.entropy(), &Simulated::entropy, shares.entropy);
  }
}

void check_all(bool adaptive, Shares& shares) {
  for (const char* words : {"exp=1ulp entropy=exact", "exp=E:50,A:3 entropy=exact", "acc=bf16 entropy=exact"}) {
    const bool narrow = std::string(words).starts_with("acc=bf16");
    for (const std::size_t keys : {1, 2, 7, 40}) {
      for (const double spread : {0.1, 0.5, 2.0, 8.0}) {
        check(words, random_query(keys, spread, narrow ? Format::bf16 : Format::f32, keys), adaptive, shares);
      }
    }
    if (!narrow) {
      for (const double distance : {1, 10, 40, 100}) check(words, far_keys(distance), adaptive, shares);
    }
  }
  std::cout << "largest error/bound: output " << shares.output << " log-sum-exp " << shares.logsumexp << " entropy "
            << shares.entropy << ", scores needed " << shares.scores_needed << " times, beta " << shares.beta_needed
            << '\n';
}

TEST(RoundingAttention, LogSumExpAndEntropyKeepTheirBoundsAndNeedTheScoresErrors) {
  const PrecisionScope scope(113);
  Shares shares;
  check_all(false, shares);
  EXPECT_GT(shares.scores_needed, 0u);
}

TEST(RoundingAttention, AdaptiveAttentionKeepsItsBoundsAndNeedsBetasError) {
  const PrecisionScope scope(113);
  Shares shares;
  check_all(true, shares);
  EXPECT_GT(shares.beta_needed, 0u);
}

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
  const Contract base_two = parse_contract("exp=E:2,A:3", Format::f32, Format::f32);
  EXPECT_FALSE(score_is_exact(base_two, 1, std::vector<double>{1}, std::vector<double>{1}));
}

}  // namespace
}  // namespace softcheck::numerics
