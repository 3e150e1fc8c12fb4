// Two routes to one value must agree: MPFI by RowOracle, and Arb with other formulas; a third, the definitions at 512
// bits, stands beside them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/oracles/adaptive_oracle.hpp"
#include "numerics/rows/arb_row_oracle.hpp"
#include "numerics/rows/row_oracle.hpp"
#include "proptests/tests/numerics/row_families.hpp"

namespace softcheck::numerics {
namespace {

struct RowAnswers {
  Enclosure sum_minus_one, weighted_deviation, second_moment, logsumexp, entropy, entropy_eps;
  std::vector<Enclosure> softmax, log_softmax;
};

using Oracle = std::function<RowAnswers(const std::vector<double>&, double)>;

template <class Row>
RowAnswers answers_of(const Row& row, const Enclosure& entropy_eps, const std::vector<double>& logits) {
  RowAnswers answers{row.sum_minus_one(),
                     row.weighted_deviation(),
                     row.second_moment(),
                     row.logsumexp(),
                     row.entropy(),
                     entropy_eps,
                     {},
                     {}};
  for (std::size_t i = 0; i < logits.size(); ++i) {
    answers.softmax.push_back(row.softmax(i));
    answers.log_softmax.push_back(std::isinf(logits[i]) ? Enclosure(0) : row.log_softmax(i));
  }
  return answers;
}

RowAnswers by_mpfi(const std::vector<double>& logits, double theta) {
  const RowOracle row(logits, theta);
  return answers_of(row, entropy_with_epsilon(row), logits);
}

RowAnswers by_arb(const std::vector<double>& logits, double theta) {
  const ArbRowOracle row(logits, theta);
  return answers_of(row, row.entropy_eps(), logits);
}

bool agree(const RowAnswers& a, const RowAnswers& b) {
  bool same = a.sum_minus_one.overlaps(b.sum_minus_one) && a.weighted_deviation.overlaps(b.weighted_deviation) &&
              a.second_moment.overlaps(b.second_moment) && a.logsumexp.overlaps(b.logsumexp) &&
              a.entropy.overlaps(b.entropy) && a.entropy_eps.overlaps(b.entropy_eps);
  for (std::size_t i = 0; i < a.softmax.size(); ++i) {
    // Arb's logarithm of a weight beyond its exponents, e^-1e18, is not a number: no claim to compare.
    const bool claimed = !a.log_softmax[i].is_nan() && !b.log_softmax[i].is_nan();
    same = same && a.softmax[i].overlaps(b.softmax[i]) && (!claimed || a.log_softmax[i].overlaps(b.log_softmax[i]));
  }
  return same;
}

class OracleAgreement : public testing::Test {
 protected:
  void SetUp() override {
    if (!arb_available()) GTEST_SKIP() << "built without Arb";
  }
};

TEST_F(OracleAgreement, MpfiAndArbShareAPointAtEveryPrecision) {
  for (const std::size_t n : {1u, 2u, 5u, 33u, 150u}) {
    for (const auto& [name, logits] : tests::row_families(n, 20241001)) {
      for (const double theta : {1.0, 0.3, 7.0}) {
        for (const unsigned bits : {53u, 64u, 113u, 256u}) {
          const PrecisionScope scope(bits);
          EXPECT_TRUE(agree(by_mpfi(logits, theta), by_arb(logits, theta))) << name << " " << theta << " " << bits;
        }
      }
    }
  }
}

TEST_F(OracleAgreement, LowPrecisionMeetsTheOtherRouteAt512Bits) {
  for (const std::size_t n : {2u, 33u}) {
    for (const auto& [name, logits] : tests::row_families(n, 20241001)) {
      const auto at = [&logits = logits](const Oracle& oracle, unsigned bits) {
        const PrecisionScope scope(bits);
        return oracle(logits, 0.7);
      };
      const RowAnswers mpfi = at(by_mpfi, 512), arb = at(by_arb, 512);
      EXPECT_TRUE(agree(mpfi, arb)) << name;
      for (const unsigned bits : {64u, 113u}) {
        EXPECT_TRUE(agree(at(by_mpfi, bits), arb)) << name;
        EXPECT_TRUE(agree(at(by_arb, bits), mpfi)) << name;
      }
    }
  }
}

// Arb has no exp(3 * 2^900), and needs none.
TEST_F(OracleAgreement, ASmallTemperatureMakesALargeExponent) {
  const std::vector<double> logits{3, 1};
  const ArbRowOracle row(logits, 0x1p-900);
  EXPECT_TRUE(row.softmax(0).contains(1));
  EXPECT_LT(row.softmax(0).width(), 0x1p-60);
}

TEST_F(OracleAgreement, ArbSaysSoWhereItCannotAnswer) {
  EXPECT_THROW(ArbRowOracle(std::vector<double>{NAN}), std::invalid_argument);
  EXPECT_THROW(ArbRowOracle(std::vector<double>{1}, 0), std::invalid_argument);
  EXPECT_THROW(ArbRowOracle(std::vector<double>{}).entropy(), std::logic_error);
  EXPECT_THROW(ArbRowOracle(std::vector<double>(3, -HUGE_VAL)).softmax(0), std::logic_error);
  EXPECT_THROW(ArbRowOracle(std::vector<double>{-HUGE_VAL, 1}).log_softmax(0), std::invalid_argument);
}

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

TEST(AdaptiveOracle, EnclosesThePapersFunction) {
  for (const std::size_t n : {1u, 2u, 9u, 40u, 400u}) {
    for (const auto& [name, logits] : tests::row_families(n, 20241001)) {
      // Weights below every exponent: the definition above leaves them out.
      if (name.starts_with("full range") || name.starts_with("wide spread")) continue;
      for (const auto form : {EntropyDefinition::exact, EntropyDefinition::paper}) {
        for (const std::size_t i : {std::size_t{0}, n / 2}) {
          EXPECT_TRUE(AdaptiveRowOracle(logits, form).softmax(i).overlaps(by_definition(logits, form, i))) << name;
        }
      }
    }
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
