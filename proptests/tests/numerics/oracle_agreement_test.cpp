// Two routes to one value must agree: MPFI by RowOracle, and Arb with other formulas; a third, the definitions at 512
// bits, stands beside them. Wrong oracles are planted to show that agreement is a test.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

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

// On how many of the rows and temperatures do two oracles part at this precision?
std::size_t disagreements(const Oracle& first, const Oracle& second, unsigned bits) {
  std::size_t found = 0;
  for (const std::size_t n : {1u, 2u, 5u, 33u, 150u}) {
    for (const auto& [name, logits] : tests::row_families(n, 20241001)) {
      for (const double theta : {1.0, 0.3, 7.0}) {
        const PrecisionScope scope(bits);
        if (agree(first(logits, theta), second(logits, theta))) continue;
        ++found;
      }
    }
  }
  return found;
}

class OracleAgreement : public testing::Test {
 protected:
  void SetUp() override {
    if (!arb_available()) GTEST_SKIP() << "built without Arb";
  }
};

TEST_F(OracleAgreement, MpfiAndArbShareAPointAtEveryPrecision) {
  for (const unsigned bits : {53u, 64u, 113u, 256u}) EXPECT_EQ(disagreements(by_mpfi, by_arb, bits), 0u) << bits;
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

// Planted wrong oracles, each with one slip of the kind people make.
RowAnswers entropy_without_its_second_term(const std::vector<double>& logits, double theta) {
  RowAnswers answers = by_mpfi(logits, theta);
  answers.entropy = log1p(answers.sum_minus_one);
  return answers;
}

RowAnswers logsumexp_in_bits(const std::vector<double>& logits, double theta) {
  RowAnswers answers = by_mpfi(logits, theta);
  const Enclosure log_sum = log1p(answers.sum_minus_one);
  answers.logsumexp = answers.logsumexp - log_sum + log_sum / log(Enclosure(2));
  return answers;
}

RowAnswers sum_without_its_last_item(const std::vector<double>& logits, double theta) {
  RowAnswers answers = by_mpfi(logits, theta);
  const RowOracle row(logits, theta);
  if (row.is_visible(logits.size() - 1) && row.argmax() + 1 != logits.size()) {
    answers.sum_minus_one -= exp(-row.deviation(logits.size() - 1));
  }
  return answers;
}

RowAnswers entropy_with_the_papers_epsilon(const std::vector<double>& logits, double theta) {
  RowAnswers answers = by_mpfi(logits, theta);
  answers.entropy = answers.entropy_eps;
  return answers;
}

RowAnswers temperature_ignored(const std::vector<double>& logits, double) { return by_mpfi(logits, 1); }

RowAnswers logsumexp_without_its_maximum(const std::vector<double>& logits, double theta) {
  RowAnswers answers = by_mpfi(logits, theta);
  answers.logsumexp = log1p(answers.sum_minus_one);
  return answers;
}

RowAnswers masked_items_read_as_zero(std::vector<double> logits, double theta) {
  for (double& logit : logits) logit = std::isinf(logit) ? 0.0 : logit;
  return by_mpfi(logits, theta);
}

// Weights rounded to double: an oracle that is merely accurate.
RowAnswers weights_in_double(const std::vector<double>& logits, double theta) {
  RowAnswers answers = by_mpfi(logits, theta);
  for (Enclosure& value : answers.softmax) value = Enclosure(value.midpoint());
  return answers;
}

TEST_F(OracleAgreement, WrongOraclesAreRejected) {
  const Oracle wrong[] = {entropy_without_its_second_term, logsumexp_in_bits,   sum_without_its_last_item,
                          entropy_with_the_papers_epsilon, temperature_ignored, logsumexp_without_its_maximum,
                          masked_items_read_as_zero,       weights_in_double};
  for (const Oracle& oracle : wrong) EXPECT_GT(disagreements(oracle, by_arb, 113), 0u) << &oracle - wrong;
}

}  // namespace
}  // namespace softcheck::numerics
