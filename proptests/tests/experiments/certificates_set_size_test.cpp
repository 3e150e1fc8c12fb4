// Set sizes from which something is certain, and the estimate beside them.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "certificates_oracle.hpp"
#include "experiments/certificates/logit_bounds.hpp"
#include "experiments/certificates/set_size_bounds.hpp"
#include "numerics/formats/fp_environment.hpp"
#include "theory/adaptive_temperature.hpp"
#include "theory/entropy_bounds.hpp"

namespace softcheck::experiments {
namespace {

using numerics::Decision;
using numerics::Enclosure;
using numerics::PrecisionScope;
using numerics::Verdict;

// ln n less the least entropy of n items: what the deficit must not be below.
bool deficit_holds(const std::function<Enclosure(const Enclosure&)>& deficit) {
  const PrecisionScope scope(256);
  for (const double spread : {1e-3, 0.5, 1.0, 5.69, 20.0, 96.8, 171.2}) {
    for (const std::uint64_t n : {2ULL, 3ULL, 17ULL, 1024ULL, 1000003ULL, 1ULL << 40}) {
      const Enclosure gap = log(Enclosure::integer(n)) - theory::entropy_floor(n, {spread, 0, 1});
      if (!(deficit(Enclosure(spread)) - gap).certainly_nonnegative()) return false;
    }
  }
  return true;
}

TEST(CertifiedSetSizes, TheDeficitIsThatOfTheLeastEntropy) {
  EXPECT_TRUE(deficit_holds(theory::largest_entropy_deficit));
  EXPECT_FALSE(deficit_holds([](const Enclosure& d) { return d - Enclosure(1) - log(d); })) << "e^-delta dropped";
  EXPECT_FALSE(deficit_holds([](const Enclosure& d) {
    const Enclosure q = d / -expm1(-d);
    return q - Enclosure(1) - log(q) - Enclosure::decimal("1e-9");
  })) << "it is attained, up to whole items";
  const PrecisionScope scope(256);
  EXPECT_TRUE(theory::largest_entropy_deficit(Enclosure(0)).contains(0.0));
  // Of a million items and a spread of 3 it is attained but for what whole items cost.
  const Enclosure gap = log(Enclosure(1000003)) - theory::entropy_floor(1000003, {3, 0, 1});
  EXPECT_LT((theory::largest_entropy_deficit(Enclosure(3)) - gap).upper_double(), 1e-9);
}

TEST(CertifiedSetSizes, TheDispersionLengthIsSharp) {
  for (const double spread : {0.0, 1.5, 86.7, 171.3, 239.0, 400.0}) {
    const CertainSize size = certify_dispersion_length(spread, 0.1);
    EXPECT_EQ(size.certificate.verdict, Verdict::proved) << spread;
    const double expected = std::log10(1 + std::exp(spread) * 9);
    EXPECT_GE(size.log10_size, expected * (1 - 1e-12));
    // Where it is a power of two: less than twice the smallest.
    EXPECT_LE(size.log10_size, spread <= 240 ? std::log10(std::exp(expected * std::log(10)) + 2)
                                             : expected + std::log10(2) * (1 + 0x1p-40));
  }
}

TEST(CertifiedSetSizes, AdaptiveTemperatureIsTheIdentityFromThereAndNotMuchEarlier) {
  for (const double spread : {0.0, 0.7, 5.0, 20.0, 171.3}) {
    const CertainSize size = certify_adaptive_identity(spread);
    EXPECT_EQ(size.certificate.verdict, Verdict::proved) << spread;
  }
  // A row of spread 5 that reaches the floor: at a tenth less than the size its entropy is in the active interval.
  const double n = std::pow(10, certify_adaptive_identity(5).log10_size);
  const PrecisionScope scope(113);
  const auto floor_at = [](double items) {
    return theory::entropy_floor(static_cast<std::uint64_t>(items), {5, 0, 1});
  };
  const Enclosure from = Enclosure::decimal(theory::inactive_from);
  EXPECT_TRUE((floor_at(std::ceil(n)) - from).certainly_nonnegative());
  EXPECT_TRUE((floor_at(0.9 * n) - from).certainly_negative());
}

TEST(CertifiedSetSizes, TheEntropyFloorStandsBelowWhatIsDrawn) {
  const numerics::FpEnvironmentGuard environment;
  const Floats parameters = random_network(1, 1);
  const NetworkCells network(parameters);
  const double spread = bound_spread(network).upper;
  const numerics::Certificate floor = certify_entropy_floor(network, spread, 200, 3);
  EXPECT_EQ(floor.verdict, Verdict::proved);
  EXPECT_TRUE(floor.left.certainly_positive());
  EXPECT_TRUE((log(Enclosure(200)) - floor.right).certainly_nonnegative());
  // A spread a thousand times too small claims that all logits are equal.
  EXPECT_EQ(certify_entropy_floor(network, spread / 1000, 200, 3).verdict, Verdict::violated);
  EXPECT_EQ(certify_entropy_floor(network, spread, std::uint64_t{1} << 40, 3).verdict, Verdict::proved);
}

TEST(CertifiedSetSizes, TheRankOfTheMedianHasItsConfidence) {
  // Exact binomials, in long double: of 25 values the 8th is below the median but for 2.164 %, the 9th for 5.388 %.
  for (const int sets : {25, 101, 401}) {
    std::vector<long double> row{1};
    for (int i = 0; i < sets; ++i) {
      std::vector<long double> next(row.size() + 1, 0);
      for (std::size_t j = 0; j < row.size(); ++j) {
        next[j] += row[j] / 2;
        next[j + 1] += row[j] / 2;
      }
      row = next;
    }
    const int rank = median_rank(sets, 0.95);
    long double below = 0;
    for (int j = 0; j < rank; ++j) below += row[static_cast<std::size_t>(j)];
    EXPECT_LE(below, 0.025L);
    EXPECT_GT(below + row[static_cast<std::size_t>(rank)], 0.025L) << "no larger rank would do";
  }
  EXPECT_EQ(median_rank(25, 0.95), 8);
  EXPECT_EQ(median_rank(3, 0.95), 0);
}

TEST(CertifiedSetSizes, EqualLogitsDisperseAtOnce) {
  const numerics::FpEnvironmentGuard environment;
  Floats parameters = random_network(1, 1);
  std::fill_n(parameters.begin() + static_cast<std::ptrdiff_t>(place_of(Layer::attention_key).weights), width * width,
              0.0F);
  // 1/n < 0.1 from n = 11 on.
  const TypicalLength typical = estimate_typical_length(NetworkCells(parameters), 0.1, 1);
  EXPECT_EQ(typical.lower, 11U);
  EXPECT_EQ(typical.median, 11U);
  EXPECT_EQ(typical.upper, 11U);
}

TEST(CertifiedSetSizes, TheTypicalLengthIsThatOfSetsDrawnOneByOne) {
  const numerics::FpEnvironmentGuard environment;
  const Floats parameters = random_network(2, 2);
  const TypicalLength typical = estimate_typical_length(NetworkCells(parameters), 0.1, 1);
  const RealNetwork<long double> network(parameters);
  RandomWords words(9);
  std::vector<int> lengths;
  constexpr int sets = 41;
  for (int i = 0; i < sets; ++i) {
    const auto query = network.projected_query(uniform(words));
    std::vector<long double> logits;
    long double largest = -INFINITY, sum = 0;
    do {
      const double priority = uniform(words);
      logits.push_back(
          network.logit(query, network.key(priority, static_cast<int>(uniform_below(words, class_count)))));
      largest = std::max(largest, logits.back());
      sum = 0;
      for (const long double logit : logits) sum += std::exp(logit - largest);
    } while (1 / sum >= 0.1L);
    lengths.push_back(static_cast<int>(logits.size()));
  }
  std::ranges::sort(lengths);
  // Both hold the true median with 95 % each: two seeds for which they meet.
  const auto rank = static_cast<std::size_t>(median_rank(sets, 0.95));
  EXPECT_LE(lengths[rank - 1], static_cast<int>(typical.upper));
  EXPECT_GE(lengths[sets - rank], static_cast<int>(typical.lower));
}

// Against sums computed anew for each length, for logits that rise, fall, tie and wander.
TEST(CertifiedSetSizes, TheFirstPassageIsThatOfTheSumsThemselves) {
  RandomWords words(3);
  std::vector<double> rising, falling, wandering;
  for (int i = 0; i < 400; ++i) {
    rising.push_back(0.01 * i);
    falling.push_back(-0.01 * i);
    wandering.push_back(4 * static_cast<double>(uniform(words)));
  }
  for (const auto& logits : {rising, falling, wandering, std::vector<double>(400, 2.5)}) {
    for (const double eps : {0.3, 0.11, 0.017}) {
      std::uint64_t expected = 0;
      for (long double largest = 0; expected < logits.size() && !(expected > 0 && largest < eps);) {
        ++expected;
        long double sum = 0;
        const double m = *std::max_element(logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(expected));
        for (std::size_t j = 0; j < expected; ++j) sum += std::exp(static_cast<long double>(logits[j]) - m);
        largest = 1 / sum;
      }
      std::size_t next = 0;
      EXPECT_EQ(first_passage([&] { return logits.at(next++); }, eps, logits.size()), expected) << eps;
    }
  }
}

}  // namespace
}  // namespace softcheck::experiments
