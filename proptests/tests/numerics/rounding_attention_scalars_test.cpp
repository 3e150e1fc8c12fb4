// B9's log-sum-exp, entropy and adaptive weights against simulated attention kernels; when a score is exact.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "numerics/rounding/rounding_attention.hpp"
#include "numerics/rounding/rounding_score_terms.hpp"
#include "proptests/tests/numerics/attention_bounds.hpp"
#include "proptests/tests/numerics/bound_shares.hpp"

namespace softcheck::numerics::attention_scalars_test {
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

// The error of a score behind softcap, ALiBi and bias, against simulated kernels in several orders of operation.

// In which order a kernel adds, and how it divides by the softcap.
struct Order {
  bool by_reciprocal = false;
  bool key_times_slope = false;  // slope j, which shifts the row by slope p
  bool bias_first = false;
};

constexpr double place = 700;  // p

double simulated_score(const Arithmetic& a, const Contract& contract, const ScoreTerms& terms, const Order& order,
                       double score, double tanh_sign) {
  double x = a.stored(contract.scores, score);
  if (terms.softcap != 0) {
    const double cap = a.round(terms.softcap);
    const double quotient = order.by_reciprocal ? a.multiply(x, a.divide(1, cap)) : a.divide(x, cap);
    const double argument = a.stored(contract.softcap, quotient);
    const double unit = properties(contract.accumulator).unit_roundoff;
    // Half an ulp of tanh_error is its rounding.
    const long double exact = std::tanh(static_cast<long double>(argument));
    const double off = 0.98 * std::max(contract.tanh_error - 1, 0.0) * unit * tanh_sign;
    const double tanh = a.stored(contract.softcap, a.round(static_cast<double>(exact * (1 + off))));
    x = a.stored(contract.scores, a.stored(contract.softcap, a.multiply(cap, tanh)));
  }
  const double bias = a.round(terms.bias);
  if (order.bias_first && terms.has_bias) x = a.add(x, bias);
  if (terms.slope != 0) {
    const double factor = a.round(order.key_times_slope ? terms.key : -terms.distance);
    x = a.add(x, a.multiply(a.round(terms.slope), factor));
  }
  if (!order.bias_first && terms.has_bias) x = a.add(x, bias);
  return terms.none() ? x : a.stored(contract.scores, x);
}

struct Exact {
  Enclosure capped, sum;
};

Exact exact_of(const ScoreTerms& terms, double score, const Order& order) {
  Exact exact{Enclosure(score), Enclosure(0)};
  if (terms.softcap != 0) exact.capped = Enclosure(terms.softcap) * tanh(exact.capped / Enclosure(terms.softcap));
  const double steps = order.key_times_slope ? terms.key : -terms.distance;
  exact.sum = exact.capped + Enclosure(terms.slope) * Enclosure(steps) + Enclosure(terms.bias);
  return exact;
}

UpperBound size_of(const Enclosure& x) { return UpperBound(abs(x).upper_double()); }

UpperBound bound_of(const Contract& contract, const ScoreTerms& terms, double error, double score) {
  const Exact exact = exact_of(terms, score, {});
  return attributed_score_error(contract, terms, UpperBound(error), size_of(exact.capped), size_of(exact.sum));
}

// Random scores of many sizes, moved by the whole of an error of their own, in each order.
void expect_scores_within(const char* words, const ScoreTerms& model, double at_least) {
  const PrecisionScope scope(113);
  const Contract contract = simulated::f32_contract(words);
  const Arithmetic a(contract, Errors::nearest);
  std::mt19937_64 engine(11);
  std::normal_distribution<double> normal;
  simulated::BoundShares shares, beside_errors;  // where the score itself is exact, and where it is not
  for (int row = 0; row < 1500; ++row) {
    ScoreTerms terms = model;
    terms.key = static_cast<double>(engine() % 1400);
    terms.distance = std::fabs(place - terms.key);
    if (model.has_bias) terms.bias = round_to(Format::f32, 3 * normal(engine));
    const double size = std::ldexp(1.0, static_cast<int>(engine() % 9) - 3);
    const double moved = a.round(size * normal(engine)), error = row % 2 == 0 ? 0 : 0x1p-20 * size;
    const double score = moved - (row % 4 == 1 ? error : -error);  // exact; the kernel's is `moved`
    for (int k = 0; k < 8; ++k) {
      const Order order{k % 2 == 1, k / 2 % 2 == 1 && model.slope != 0, k / 4 == 1};
      const double got = simulated_score(a, contract, terms, order, moved, row % 3 == 0 ? 1 : -1);
      const double bound = upper(bound_of(contract, terms, error, score));
      const Enclosure exact = exact_of(terms, score, order).sum;
      (error == 0 ? shares : beside_errors).judge("score", got, exact, bound);
      shares.judge_wrong(got, exact, 2 * error);  // a bound that knows the score's own error alone
    }
  }
  shares.expect(words, at_least);
  EXPECT_GT(shares.exceeded(), 0u);
}

ScoreTerms terms_of(double softcap, double slope, bool bias) {
  ScoreTerms terms;
  terms.softcap = softcap;
  terms.slope = slope;
  terms.has_bias = bias;
  return terms;
}

TEST(RoundingScoreTerms, NoSimulatedKernelIsBeyondItsBound) {
  for (const char* words : {"tanh=2ulp", "tanh=4096ulp", "acc=bf16", "acc=bf16 tanh=0.5ulp", "acc=f16 subnormal=kept",
                            "scores=bf16", "softcap=bf16", "subnormal=kept tanh=1ulp"}) {
    SCOPED_TRACE(words);
    expect_scores_within(words, terms_of(30, 0, false), 0.3);
    expect_scores_within(words, terms_of(0.7, 0, false), 0.3);
    expect_scores_within(words, terms_of(0, 0.125, false), 0.1);
    expect_scores_within(words, terms_of(0, 0.3, false), 0.1);
    expect_scores_within(words, terms_of(0, 0, true), 0.3);
    expect_scores_within(words, terms_of(30, 0.3, true), 0.1);
  }
}

TEST(RoundingScoreTerms, AStoredSinkIsWithinItsBound) {
  const Contract contract = simulated::f32_contract("sinks=bf16 scores=f16");
  const Arithmetic a(contract, Errors::nearest);
  EXPECT_EQ(upper(sink_error<UpperBound>(contract, 1.5)), 0);  // a number of both formats
  simulated::BoundShares shares;
  for (double sink = -9; sink < 9; sink += 0x1p-7 + 0x1p-20) {
    const double stored = a.stored(contract.scores, a.stored(contract.sinks, sink));
    shares.judge("sink", stored, Enclosure(sink), upper(sink_error<UpperBound>(contract, sink)));
  }
  shares.expect("sinks=bf16", 0.8);
}

TEST(RoundingScoreTerms, WithoutTermsNothingIsAdded) {
  const Contract contract = simulated::f32_contract("scores=bf16");
  EXPECT_EQ(upper(attributed_score_error(contract, {}, UpperBound(0.25), UpperBound(3), UpperBound(3))), 0.25);
}

TEST(RoundingScoreTerms, ASinkIsExactWhereTheAccumulatorHoldsItAndNoBaseChanges) {
  const auto error = [](const char* words, double sink) {
    return upper(sink_error<UpperBound>(simulated::f32_contract(words), sink));
  };
  EXPECT_EQ(error("acc=f32", 100), 0);
  EXPECT_GT(error("acc=bf16", 1.001), 0x1p-10);
  EXPECT_EQ(error("acc=bf16", -100), 0);
  EXPECT_GT(error("exp=E:4,A:3", 100), 100 * 0x1p-24);
  EXPECT_GT(error("scores=bf16", 1.001), 0x1p-10);
}

TEST(RoundingScoreTerms, ASinkIsOneAdditionMore) {
  for (const char* words : {"sum=sequential", "sum=tree", "sum=lanes:8", "sum=blocks:128"}) {
    const Contract contract = simulated::f32_contract(words);
    for (const std::uint64_t n : {0u, 1u, 2u, 7u, 8u, 64u, 127u, 128u, 129u, 4096u}) {
      const std::uint64_t size = size_with_sink(contract, n);
      EXPECT_GT(size, n) << words;
      EXPECT_TRUE(n == 0 || summation_height(contract, size) > summation_height(contract, n)) << words << ' ' << n;
    }
  }
}

// The same formula by intervals is below the quick one, and not by much.
TEST(RoundingScoreTerms, UpperBoundsAreThoseOfEnclosures) {
  const PrecisionScope scope(113);
  const Contract contract = simulated::f32_contract("tanh=16ulp exp=E:4,A:3");
  ScoreTerms terms = terms_of(30, 0.3, true);
  terms.distance = 100;
  terms.key = 600;
  terms.bias = 1.5;
  const double quick = upper(attributed_score_error(contract, terms, UpperBound(1e-5), UpperBound(7), UpperBound(21)));
  const Enclosure slow = attributed_score_error(contract, terms, Enclosure(1e-5), Enclosure(7), Enclosure(21));
  EXPECT_GE(quick, slow.lower_double());
  EXPECT_LE(quick, slow.upper_double() * (1 + 0x1p-40));
}

}  // namespace
}  // namespace softcheck::numerics::attention_scalars_test
