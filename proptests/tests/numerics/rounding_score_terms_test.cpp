// The error of a score behind softcap, ALiBi and bias, against simulated kernels in several orders of operation.
#include "numerics/rounding/rounding_score_terms.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "numerics/rounding/rounding_attention.hpp"
#include "proptests/tests/numerics/bound_shares.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::Errors;

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
    const double argument = order.by_reciprocal ? a.multiply(x, a.divide(1, cap)) : a.divide(x, cap);
    const double unit = properties(contract.accumulator).unit_roundoff;
    // Half an ulp of tanh_error is its rounding.
    const long double exact = std::tanh(static_cast<long double>(argument));
    const double off = 0.98 * std::max(contract.tanh_error - 1, 0.0) * unit * tanh_sign;
    x = a.stored(contract.scores, a.multiply(cap, a.round(static_cast<double>(exact * (1 + off)))));
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
                            "scores=bf16", "subnormal=kept tanh=1ulp"}) {
    SCOPED_TRACE(words);
    expect_scores_within(words, terms_of(30, 0, false), 0.3);
    expect_scores_within(words, terms_of(0.7, 0, false), 0.3);
    expect_scores_within(words, terms_of(0, 0.125, false), 0.1);
    expect_scores_within(words, terms_of(0, 0.3, false), 0.1);
    expect_scores_within(words, terms_of(0, 0, true), 0.3);
    expect_scores_within(words, terms_of(30, 0.3, true), 0.1);
  }
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
}  // namespace softcheck::numerics
