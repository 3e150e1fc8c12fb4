#include "numerics/rows/row_oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "proptests/tests/numerics/row_families.hpp"

namespace softcheck::numerics {
namespace {

// The definitions, item by item: what the oracle must enclose.
struct Definition {
  Enclosure sum_minus_one, weighted_deviation, second_moment;
  std::vector<Enclosure> weights;
};

Definition definition_of(const std::vector<double>& logits, double theta) {
  const PrecisionScope scope(768);
  Definition result;
  const auto argmax = static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    result.weights.emplace_back(0);
    if (std::isinf(logits[i])) continue;
    const Enclosure deviation = (Enclosure(logits[argmax]) - Enclosure(logits[i])) / Enclosure(theta);
    result.weights.back() = exp(-deviation);
    if (i != argmax) result.sum_minus_one += result.weights.back();
    result.weighted_deviation += result.weights.back() * deviation;
    result.second_moment += result.weights.back() * square(deviation);
  }
  return result;
}

void expect_encloses(const RowOracle& row, const std::vector<double>& logits, double theta) {
  const Definition truth = definition_of(logits, theta);
  EXPECT_TRUE(row.sum_minus_one().contains(truth.sum_minus_one));
  EXPECT_TRUE(row.weighted_deviation().contains(truth.weighted_deviation));
  EXPECT_TRUE(row.second_moment().contains(truth.second_moment));
  const PrecisionScope scope(768);
  const Enclosure sum = truth.sum_minus_one + 1;
  const Enclosure maximum = Enclosure(row.maximum()) / Enclosure(theta);
  const Enclosure entropy = log1p(truth.sum_minus_one) + truth.weighted_deviation / sum;
  const Enclosure logsumexp = log1p(truth.sum_minus_one) + maximum;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const Enclosure softmax = truth.weights[i] / sum;
    EXPECT_TRUE(row.softmax(i).overlaps(softmax)) << i;
    if (row.is_visible(i)) {
      EXPECT_TRUE(row.log_softmax(i).overlaps(Enclosure(logits[i]) / Enclosure(theta) - logsumexp)) << i;
      EXPECT_TRUE(row.deviation(i).overlaps(maximum - Enclosure(logits[i]) / Enclosure(theta))) << i;
    }
  }
  EXPECT_TRUE(row.entropy().overlaps(entropy));
  EXPECT_TRUE(row.logsumexp().overlaps(logsumexp));
  EXPECT_TRUE(row.mean_deviation().overlaps(truth.weighted_deviation / sum));
  const Enclosure squares = truth.second_moment / sum;
  EXPECT_TRUE(row.mean_square_deviation().overlaps(squares));
  EXPECT_TRUE(row.varentropy().overlaps(squares - square(truth.weighted_deviation / sum)));
}

TEST(RowOracle, EnclosesTheDefinitions) {
  for (const std::size_t n : {1u, 2u, 3u, 17u, 60u}) {
    for (const auto& [name, logits] : tests::row_families(n, 20241001)) {
      for (const double theta : {1.0, 0.3, 7.0, 0x1p-20}) {
        for (const unsigned bits : {64u, 113u, 256u}) {
          SCOPED_TRACE(name + " n=" + std::to_string(n) + " theta=" + std::to_string(theta) +
                       " bits=" + std::to_string(bits));
          const PrecisionScope scope(bits);
          expect_encloses(RowOracle(logits, theta), logits, theta);
        }
      }
    }
  }
}

// The error that the header states, with D up to 2^29.
void expect_stated_width(const Enclosure& value, double largest_deviation, int times) {
  if (value.is_point()) return;
  const Enclosure allowed = (Enclosure(12) + Enclosure(largest_deviation) * Enclosure::power_of_two(-27)) *
                            Enclosure::power_of_two(-static_cast<long>(value.precision())) * times;
  EXPECT_EQ(less_equal(Enclosure(value.width()), allowed * Enclosure(value.lower_double())), Decision::proved)
      << value.to_string(40);
}

TEST(RowOracle, WidthsAreWhatTheHeaderStates) {
  for (const std::size_t n : {2u, 100u, 5000u}) {
    for (const auto& [name, logits] : tests::row_families(n, 20241001)) {
      for (const double theta : {1.0, 0.3}) {
        for (const unsigned bits : {64u, 113u}) {
          const PrecisionScope scope(bits);
          const RowOracle row(logits, theta);
          const double spread = (row.maximum() - row.minimum()) / theta;
          if (!(spread < 600)) continue;  // the sums stay within the doubles that measure their widths
          SCOPED_TRACE(name + " n=" + std::to_string(n));
          for (const Enclosure& sum : {row.sum_minus_one(), row.weighted_deviation(), row.second_moment()}) {
            if (sum.lower_double() > 0x1p-900) expect_stated_width(sum, spread, 1);
          }
          expect_stated_width(row.softmax(n / 2), spread, 3);
          if (row.entropy().lower_double() > 0x1p-900) expect_stated_width(row.entropy(), spread, 3);
        }
      }
    }
  }
}

TEST(RowOracle, EqualLogitsAreExact) {
  for (const std::size_t n : {1u, 2u, 1000u, 100000u}) {
    for (const double value : {0.0, -3.5, 0x1p-1074, 0x1p1000}) {
      const RowOracle row(std::vector<double>(n, value), 0.7);
      EXPECT_TRUE(row.sum_minus_one().is_point());
      EXPECT_TRUE(row.sum_minus_one().contains(static_cast<double>(n - 1)));
      EXPECT_TRUE(row.weighted_deviation().is_point());
      EXPECT_TRUE(row.second_moment().is_point());
      EXPECT_TRUE(row.softmax(n - 1).overlaps(Enclosure(1) / n));
      EXPECT_TRUE(row.entropy().overlaps(log(Enclosure(n))));
      EXPECT_TRUE(row.varentropy().contains(0.0));
    }
  }
  EXPECT_TRUE(RowOracle(std::vector<double>{5}).softmax(0).is_point());
  EXPECT_TRUE(RowOracle(std::vector<double>{5}).entropy().is_point());
}

TEST(RowOracle, SharpRowsKeepTheRelativeAccuracyOfTheirEntropy) {
  for (const double gap : {40.0, 700.0, 1e6}) {
    const RowOracle row(std::vector<double>{-gap, 0, -gap});
    // H = 2 (1 + D) e^-D (1 - O(e^-D)), and D is 40 at least.
    const Enclosure leading = 2 * (Enclosure(1) + Enclosure(gap)) * exp(Enclosure(-gap));
    const Enclosure quotient = row.entropy() / leading;
    EXPECT_EQ(less_equal(abs(quotient - 1), Enclosure::power_of_two(-50)), Decision::proved) << quotient;
    EXPECT_TRUE(row.entropy().certainly_positive());
  }
}

TEST(RowOracle, LongRowsAgreeWithShortOnes) {
  // Beyond the length up to which weights are kept, and in runs: the same multiset in another order.
  const std::size_t n = 70000;
  std::vector<double> mixed(n);
  for (std::size_t i = 0; i < n; ++i) mixed[i] = static_cast<double>(i * 7919 % 13) * 0.7;
  std::vector<double> sorted = mixed;
  std::ranges::sort(sorted);
  const RowOracle a(mixed), b(sorted);
  EXPECT_TRUE(a.sum_minus_one().overlaps(b.sum_minus_one()));
  EXPECT_TRUE(a.entropy().overlaps(b.entropy()));
  EXPECT_TRUE(a.second_moment().overlaps(b.second_moment()));
  for (const std::size_t i : {std::size_t{0}, n / 2, n - 1}) {
    const auto same = static_cast<std::size_t>(std::ranges::find(mixed, sorted[i]) - mixed.begin());
    EXPECT_TRUE(a.softmax(same).overlaps(b.softmax(i)));
    EXPECT_TRUE((b.softmax(i) * b.sum()).overlaps(exp(-b.deviation(i))));
  }
}

TEST(RowOracle, MaskedItemsAreAsIfAbsent) {
  const std::vector<double> masked{-HUGE_VAL, 1, -HUGE_VAL, 3, -HUGE_VAL}, plain{1, 3};
  const RowOracle a(masked), b(plain);
  EXPECT_EQ(a.visible(), 2u);
  EXPECT_EQ(a.argmax(), 3u);
  EXPECT_EQ(a.minimum(), 1);
  EXPECT_TRUE(a.entropy().contains(b.entropy()) && b.entropy().contains(a.entropy()));
  EXPECT_TRUE(a.softmax(0).is_point() && a.softmax(0).contains(0.0));
  EXPECT_TRUE(a.softmax(3).overlaps(b.softmax(1)));
  EXPECT_THROW(a.log_softmax(0), std::invalid_argument);
  EXPECT_THROW(a.deviation(2), std::invalid_argument);
}

TEST(RowOracle, RowsWithoutAVisibleItemSaySo) {
  for (const auto& logits : {std::vector<double>{}, std::vector<double>(4, -HUGE_VAL)}) {
    const RowOracle row(logits);
    EXPECT_TRUE(row.fully_masked());
    EXPECT_THROW(row.maximum(), std::logic_error);
    EXPECT_THROW(row.argmax(), std::logic_error);
    EXPECT_THROW(row.entropy(), std::logic_error);
    EXPECT_THROW(row.sum(), std::logic_error);
    EXPECT_THROW(row.softmax(0), std::logic_error);
    EXPECT_THROW(row.logsumexp(), std::logic_error);
  }
}

TEST(RowOracle, WrongCallsSayWhatTheyNeed) {
  const std::vector<double> row{1, 2};
  for (const double theta : {0.0, -1.0, HUGE_VAL, static_cast<double>(NAN)}) {
    EXPECT_THROW(RowOracle(row, theta), std::invalid_argument);
  }
  EXPECT_THROW(RowOracle(std::vector<double>{NAN}), std::invalid_argument);
  EXPECT_THROW(RowOracle(std::vector<double>{HUGE_VAL, 0}), std::invalid_argument);
  EXPECT_THROW(RowOracle(row).softmax(2), std::invalid_argument);
  EXPECT_THROW(RowOracle::at_inverse_temperature(row, Enclosure(0)), std::invalid_argument);
  EXPECT_THROW(RowOracle::at_inverse_temperature(row, Enclosure::between(-1, 1)), std::invalid_argument);
}

TEST(RowOracle, AnEnclosedInverseTemperatureCoversEachOfItsMembers) {
  for (const auto& [name, logits] : tests::row_families(20, 20241001)) {
    const RowOracle wide = RowOracle::at_inverse_temperature(logits, Enclosure::between(0.5, 2));
    for (const double theta : {0.5, 0.75, 1.0, 2.0}) {
      const RowOracle member(logits, theta);
      EXPECT_TRUE(wide.sum_minus_one().contains(member.sum_minus_one())) << name;
      EXPECT_TRUE(wide.logsumexp().overlaps(member.logsumexp())) << name;
      for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_TRUE(wide.softmax(i).contains(member.softmax(i))) << name;
    }
    const RowOracle doubled = RowOracle::at_inverse_temperature(logits, Enclosure(2)), halved(logits, 0.5);
    EXPECT_TRUE(doubled.entropy().overlaps(halved.entropy()));
  }
}

}  // namespace
}  // namespace softcheck::numerics
