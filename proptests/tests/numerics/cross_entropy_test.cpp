// The exact cross-entropy and its gradient by two routes: MPFI's, and Arb's softmax with the definition written out.

#include "numerics/oracles/cross_entropy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/rows/arb_row_oracle.hpp"

namespace softcheck::numerics {
namespace {

struct Example {
  std::vector<double> logits, weights;
  std::size_t label;
  CrossEntropyOptions options;
};

std::vector<Example> examples() {
  std::mt19937_64 engine(11);
  std::normal_distribution<double> normal(0, 4);
  std::vector<Example> result;
  for (const std::size_t n : {1, 2, 9, 60}) {
    for (const double s : {0.0, 0.1, 1.0}) {
      for (const double z : {0.0, 0.25}) {
        for (const double cap : {0.0, 5.0}) {
          for (const bool weighted : {false, true}) {
            Example e{{}, {}, n / 2, {.label_smoothing = s, .z_loss = z, .softcap = cap}};
            for (std::size_t j = 0; j < n; ++j) e.logits.push_back(normal(engine));
            if (weighted) {
              for (std::size_t j = 0; j < n; ++j) e.weights.push_back(std::fabs(normal(engine)));
            }
            result.push_back(e);
          }
        }
      }
    }
  }
  return result;
}

// Central differences of the loss at 256 bits: (l(x + h) - l(x - h)) / 2h = dl/dx + O(h^2), h = 2^-40.
Enclosure difference_quotient(const Example& e, std::size_t j) {
  Example up = e, down = e;
  up.logits[j] = std::ldexp(std::round(std::ldexp(e.logits[j], 40)) + 1, -40);
  down.logits[j] = up.logits[j] - 0x1p-39;
  const CrossEntropyOracle above(up.logits, e.label, e.options, e.weights);
  const CrossEntropyOracle below(down.logits, e.label, e.options, e.weights);
  return (above.loss() - below.loss()) * Enclosure::power_of_two(39);
}

TEST(CrossEntropy, TheLossIsArbsAndTheGradientIsItsDerivative) {
  if (!arb_available()) GTEST_SKIP() << "built without Arb";
  const PrecisionScope scope(256);
  for (const Example& e : examples()) {
    const CrossEntropyOracle oracle(e.logits, e.label, e.options, e.weights);
    const auto weight = [&](std::size_t j) { return Enclosure(e.weights.empty() ? 1.0 : e.weights[j]); };
    const std::size_t n = e.logits.size();
    if (e.options.softcap == 0) {
      const ArbRowOracle arb(e.logits);
      const Enclosure s(e.options.label_smoothing);
      Enclosure loss = (1 - s) * weight(e.label) * (arb.logsumexp() - Enclosure(e.logits[e.label]));
      for (std::size_t j = 0; j < n; ++j) {
        loss = loss + s / Enclosure::integer(n) * weight(j) * (arb.logsumexp() - Enclosure(e.logits[j]));
      }
      loss = loss + Enclosure(e.options.z_loss) * square(arb.logsumexp());
      EXPECT_TRUE(loss.overlaps(oracle.loss()));
      EXPECT_LE(oracle.loss().width(), 0x1p-240 * (1 + oracle.loss().upper_double()));
    }
    for (std::size_t j = 0; j < n; j += 1 + n / 4) {
      // The step also moves the point by 2^-41, which a second derivative below 100 turns into 2^-34.
      const Enclosure gap = abs(difference_quotient(e, j) - oracle.gradient(j, Enclosure(1)));
      EXPECT_EQ(less_equal(gap, Enclosure(0x1p-33)), Decision::proved) << gap.to_string();
    }
  }
}

TEST(CrossEntropy, TheGradientOfAHardLabelAddsUpToNothing) {
  const PrecisionScope scope(113);
  const std::vector<double> logits{3, -1, 0.25, 100};
  const CrossEntropyOracle oracle(logits, 2);
  Enclosure sum(0);
  for (std::size_t j = 0; j < logits.size(); ++j) sum = sum + oracle.gradient(j, Enclosure(1) / Enclosure(7));
  EXPECT_TRUE(sum.contains(0.0));
  EXPECT_LT(sum.width(), 0x1p-100);
}

TEST(CrossEntropy, RowsThatAreNoneAreRefused) {
  const std::vector<double> row{1, 2}, none, with_nan{1, NAN}, masked{1, -INFINITY}, three{1, 1, 1}, negative{1, -1};
  EXPECT_THROW(CrossEntropyOracle(row, 2), std::invalid_argument);
  EXPECT_THROW(CrossEntropyOracle(none, 0), std::invalid_argument);
  EXPECT_THROW(CrossEntropyOracle(with_nan, 0), std::invalid_argument);
  EXPECT_THROW(CrossEntropyOracle(masked, 1), std::invalid_argument);
  EXPECT_NO_THROW(CrossEntropyOracle(masked, 0));
  EXPECT_THROW(CrossEntropyOracle(masked, 0, {.label_smoothing = 0.1}), std::invalid_argument);
  EXPECT_THROW(CrossEntropyOracle(row, 0, {}, three), std::invalid_argument);
  EXPECT_THROW(CrossEntropyOracle(row, 0, {}, negative), std::invalid_argument);
  EXPECT_THROW(CrossEntropyOracle(row, 0, {.label_smoothing = 1.5}), std::invalid_argument);
  EXPECT_THROW(CrossEntropyOracle(row, 0, {.z_loss = -1}), std::invalid_argument);
  EXPECT_THROW(CrossEntropyOracle(row, 0, {.softcap = INFINITY}), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::numerics
