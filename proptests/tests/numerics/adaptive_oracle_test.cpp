#include "numerics/oracles/adaptive_oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "proptests/tests/numerics/row_families.hpp"

namespace softcheck::numerics {
namespace {

// The paper's code (Fig. 4), with its guard, for a point of an entropy.
Enclosure beta_as_written(const Enclosure& entropy) {
  if (less_equal(entropy, Enclosure(0.5)) == Decision::proved) return Enclosure(1);
  EXPECT_EQ(less(Enclosure(0.5), entropy), Decision::proved);
  const Enclosure h = entropy;
  const Enclosure polynomial = Enclosure::decimal("-0.037") * pow(h, 4) + Enclosure::decimal("0.481") * pow(h, 3) -
                               Enclosure::decimal("2.3") * pow(h, 2) + Enclosure::decimal("4.917") * h -
                               Enclosure::decimal("1.791");
  return maximum(polynomial, Enclosure(1));
}

TEST(AdaptiveOracle, TheGuardIsDeadCode) {
  // P(1/2) < 1, and P' > 0 on [-1, 1/2]: decided on 64 pieces.
  EXPECT_EQ(less(inverse_temperature_polynomial(Enclosure(0.5)), Enclosure(1)), Decision::proved);
  for (int piece = -128; piece < 64; ++piece) {
    const Enclosure h = Enclosure::between(piece / 128.0, (piece + 1) / 128.0);
    const Enclosure slope = Enclosure::decimal("-0.148") * pow(h, 3) + Enclosure::decimal("1.443") * square(h) -
                            Enclosure::decimal("4.6") * h + Enclosure::decimal("4.917");
    ASSERT_TRUE(slope.certainly_positive());
  }
}

TEST(AdaptiveOracle, BetaIsThePapersAtEveryEntropy) {
  for (int step = 0; step <= 1600; ++step) {
    const Enclosure entropy(step / 128.0);
    const Enclosure got = inverse_temperature(entropy);
    ASSERT_TRUE(got.overlaps(beta_as_written(entropy))) << entropy;
    ASSERT_EQ(less_equal(Enclosure(1), got), Decision::proved);
    ASSERT_EQ(less_equal(got, Enclosure::decimal("2.42138770663153")), Decision::proved);  // its maximum, paper.md
  }
}

TEST(AdaptiveOracle, EntropiesThatStraddleTheGuardOrTheKinksGiveTheHull) {
  const Enclosure guard = inverse_temperature(Enclosure::between(0.49, 0.51));
  EXPECT_TRUE(guard.is_point() && guard.contains(1.0));
  // P reaches 1 at 0.848581999960099869 and again at 5.944520827905142861.
  for (const double kink : {0.848581999960099869, 5.944520827905142861}) {
    const Enclosure beta = inverse_temperature(Enclosure::between(kink - 0x1p-20, kink + 0x1p-20));
    EXPECT_TRUE(beta.contains(1.0));
    EXPECT_EQ(beta.lower_double(), 1);
    EXPECT_GT(beta.upper_double(), 1);
  }
}

using Softmax = std::function<Enclosure(const std::vector<double>&, EntropyDefinition, std::size_t)>;

Enclosure by_oracle(const std::vector<double>& logits, EntropyDefinition form, std::size_t i) {
  return AdaptiveRowOracle(logits, form).softmax(i);
}

// The definition at 512 bits, all of it written out: nothing of the oracle is used.
Enclosure by_definition(const std::vector<double>& logits, EntropyDefinition form, std::size_t item) {
  const PrecisionScope scope(512);
  double maximum = -HUGE_VAL;
  for (const double logit : logits) maximum = std::max(maximum, logit);
  const auto softmax = [&](const Enclosure& beta) {
    std::vector<Enclosure> weights(logits.size());
    Enclosure sum;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (!std::isinf(logits[i])) weights[i] = exp(beta * (Enclosure(logits[i]) - Enclosure(maximum)));
      sum += weights[i];
    }
    for (Enclosure& weight : weights) weight /= sum;
    return weights;
  };
  const std::vector<Enclosure> plain = softmax(Enclosure(1));
  const Enclosure epsilon = form == EntropyDefinition::paper ? Enclosure::decimal("1e-9") : Enclosure(0);
  Enclosure entropy;
  for (const Enclosure& p : plain) {
    if (p.certainly_positive()) entropy -= p * log(p + epsilon);
  }
  return softmax(beta_as_written(entropy))[item];
}

std::size_t disagreements(const Softmax& softmax, EntropyDefinition form) {
  std::size_t found = 0;
  for (const std::size_t n : {1u, 2u, 9u, 40u, 400u}) {
    for (const auto& [name, logits] : tests::row_families(n, 20241001)) {
      // Weights below every exponent: the definition above leaves them out.
      if (name.starts_with("full range") || name.starts_with("wide spread")) continue;
      for (const std::size_t i : {std::size_t{0}, n / 2}) {
        if (!softmax(logits, form, i).overlaps(by_definition(logits, form, i))) ++found;
      }
    }
  }
  return found;
}

TEST(AdaptiveOracle, EnclosesThePapersFunction) {
  for (const auto form : {EntropyDefinition::exact, EntropyDefinition::paper}) {
    EXPECT_EQ(disagreements(by_oracle, form), 0u);
  }
}

// Planted: the coefficients in ascending order, as a public port feeds them.
Enclosure ascending_coefficients(const std::vector<double>& logits, EntropyDefinition, std::size_t i) {
  const RowOracle plain(logits);
  Enclosure value = Enclosure::decimal("-1.791");
  for (const char* coefficient : {"4.917", "-2.3", "0.481", "-0.037"}) {
    value = value * plain.entropy() + Enclosure::decimal(coefficient);
  }
  return RowOracle::at_inverse_temperature(logits, maximum(value, Enclosure(1))).softmax(i);
}

Enclosure beta_divides(const std::vector<double>& logits, EntropyDefinition form, std::size_t i) {
  const AdaptiveRowOracle right(logits, form);
  return RowOracle::at_inverse_temperature(logits, Enclosure(1) / right.beta()).softmax(i);
}

Enclosure other_entropy(const std::vector<double>& logits, EntropyDefinition form, std::size_t i) {
  return by_oracle(logits, form == EntropyDefinition::exact ? EntropyDefinition::paper : EntropyDefinition::exact, i);
}

Enclosure never_adapts(const std::vector<double>& logits, EntropyDefinition, std::size_t i) {
  return RowOracle(logits).softmax(i);
}

TEST(AdaptiveOracle, WrongVersionsAreRejected) {
  for (const auto form : {EntropyDefinition::exact, EntropyDefinition::paper}) {
    EXPECT_GT(disagreements(ascending_coefficients, form), 0u);
    EXPECT_GT(disagreements(beta_divides, form), 0u);
    EXPECT_GT(disagreements(other_entropy, form), 0u);
    EXPECT_GT(disagreements(never_adapts, form), 0u);
  }
}

TEST(AdaptiveOracle, TheTwoEntropiesDifferByLessThanEpsilonN) {
  for (const std::size_t n : {1u, 2u, 100u, 3000u}) {
    for (const auto& [name, logits] : tests::row_families(n, 20241001)) {
      const AdaptiveRowOracle row(logits);
      const Enclosure difference = row.entropy() - row.entropy_eps();
      EXPECT_EQ(less_equal(Enclosure(0), difference), Decision::proved) << name;
      EXPECT_EQ(less_equal(difference, Enclosure(n) * Enclosure::decimal("1e-9")), Decision::proved) << name;
    }
  }
}

TEST(AdaptiveOracle, WideExactTiesStayExact) {
  const AdaptiveRowOracle row(std::vector<double>(16, 3.0));
  EXPECT_TRUE(row.softmax(3).overlaps(Enclosure(1) / 16));
  EXPECT_TRUE(row.sharpened().sum_minus_one().is_point());
  EXPECT_EQ(less(Enclosure(1), row.beta()), Decision::proved);
}

TEST(AdaptiveOracle, RowsWithoutAVisibleItemSaySo) {
  for (const auto& logits : {std::vector<double>{}, std::vector<double>(3, -HUGE_VAL)}) {
    const AdaptiveRowOracle row(logits, EntropyDefinition::paper);
    EXPECT_TRUE(row.fully_masked());
    EXPECT_THROW(row.beta(), std::logic_error);
    EXPECT_THROW(row.entropy(), std::logic_error);
    EXPECT_THROW(row.entropy_eps(), std::logic_error);
    EXPECT_THROW(row.softmax(0), std::logic_error);
  }
}

}  // namespace
}  // namespace softcheck::numerics
