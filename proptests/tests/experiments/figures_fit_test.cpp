// Appendix F's data and fits: the grid by brute force, the filter by the logits, least squares on known polynomials.
#include <gmock/gmock.h>

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "experiments/figures/cost_growth.hpp"
#include "experiments/figures/temperature_figure.hpp"
#include "experiments/trained_models.hpp"
#include "theory/adaptive_temperature.hpp"

namespace softcheck::experiments {
namespace {

using ::testing::HasSubstr;

const Floats& fitted() {
  static const Floats parameters =
      read_model(SOFTCHECK_SOURCE_DIR "/experiments/models/seeds/seed-01.safetensors").parameters;
  return parameters;
}

// The item's coefficient at every theta of the grid, one after the other.
std::vector<double> grid_of(std::span<const float> logits, std::size_t item) {
  std::vector<double> coefficients;
  for (int step = 1; step <= 100; ++step) coefficients.push_back(coefficients_of(logits, 10.0 / step)[item]);
  return coefficients;
}

TEST(TemperatureFit, TheBestThetaIsThatOfTheWholeGrid) {
  std::mt19937_64 words(11);
  std::normal_distribution<float> normal;
  for (int row = 0; row < 300; ++row) {
    std::vector<float> logits(2 + words() % 40);
    const float scale = std::exp2(static_cast<float>(words() % 8) - 3);
    for (float& logit : logits) logit = scale * normal(words);
    const std::size_t item = words() % logits.size();
    const std::vector<double> grid = grid_of(logits, item);
    const double best = *std::ranges::max_element(grid);
    const double theta = best_theta(logits, item);
    const auto step = static_cast<std::size_t>(std::lround(10 * theta));
    ASSERT_GE(step, 1U);
    ASSERT_LE(step, 100U);
    // Two temperatures may be equally good up to rounding: n exponentials, their sum and a quotient.
    EXPECT_GE(grid[step - 1], best * (1 - 4 * (static_cast<double>(logits.size()) + 100) * 0x1p-52))
        << "row " << row << " theta " << theta;
  }
}

TEST(TemperatureFit, TheEndsOfTheGrid) {
  const std::vector<float> logits{5, 1, 0};
  EXPECT_EQ(best_theta(logits, 0), 0.1);  // the largest logit: the colder the better, and no theta of 0
  EXPECT_EQ(best_theta(logits, 2), 10);   // the smallest: the hotter the better
}

TEST(TemperatureFit, SamplesAreTheSetsWhoseMaximalItemHasNotTheLargestLogit) {
  FitOptions options;
  options.sizes = {64, 256};
  options.sets = 100;
  const std::vector<FitSample> samples = fit_samples(fitted(), 7, options);
  std::vector<FitSample> expected;
  for (const int size : options.sizes) {
    for_each_row(fitted(), {options.seed, 7}, size, 100, [&](const AttentionRow& row) {
      const auto largest = static_cast<std::size_t>(std::ranges::max_element(row.logits) - row.logits.begin());
      const auto maximal = static_cast<std::size_t>(std::ranges::max_element(row.priorities) - row.priorities.begin());
      if (largest == maximal) return;
      const std::vector<double> grid = grid_of(row.logits, maximal);
      const auto step = std::ranges::max_element(grid) - grid.begin() + 1;
      expected.push_back({size, entropy_of(coefficients_of(row.logits)), static_cast<double>(step) / 10});
    });
  }
  ASSERT_EQ(samples.size(), expected.size());
  ASSERT_GT(samples.size(), 10U);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(samples[i].size, expected[i].size);
    EXPECT_EQ(samples[i].entropy, expected[i].entropy);
    EXPECT_EQ(samples[i].theta, expected[i].theta);
  }
}

// Householder's QR errs, in norm, by at most m n u times the condition of its m by n matrix, here of powers.
double fit_room(const std::vector<FitSample>& samples, int degree) {
  Eigen::MatrixXd powers(static_cast<Eigen::Index>(samples.size()), degree + 1);
  for (Eigen::Index i = 0; i < powers.rows(); ++i) {
    for (Eigen::Index p = 0; p <= degree; ++p) {
      powers(i, p) = std::pow(samples[static_cast<std::size_t>(i)].entropy, static_cast<double>(p));
    }
  }
  const Eigen::VectorXd sigma = Eigen::JacobiSVD<Eigen::MatrixXd>(powers).singularValues();
  return static_cast<double>(powers.size()) * 0x1p-53 * sigma.maxCoeff() / sigma.minCoeff();
}

TEST(TemperatureFit, LeastSquaresFindsAKnownQuartic) {
  std::vector<FitSample> samples;
  for (int i = 0; i < 40; ++i) {
    const double entropy = 0.5 + 5.5 * i / 39;
    samples.push_back({16, entropy, 1 / theory::quartic(entropy)});
  }
  const std::vector<double> found = fit_polynomial(samples, 4);
  ASSERT_EQ(found.size(), 5U);
  double norm = 0;
  for (const int thousandths : theory::published_quartic) norm = std::hypot(norm, thousandths / 1000.0);
  for (std::size_t power = 0; power < 5; ++power) {
    EXPECT_NEAR(found[power], theory::published_quartic[power] / 1000.0, norm * fit_room(samples, 4));
  }
  EXPECT_DOUBLE_EQ(polynomial(std::vector<double>{1, 2, 3}, 2), 17);
}

// What least squares means: the residual is orthogonal to every power, which no other coefficients have.
TEST(TemperatureFit, TheResidualIsOrthogonalToThePowers) {
  std::mt19937_64 words(5);
  std::uniform_real_distribution<double> entropy(0.5, 6), theta(0.1, 10);
  std::vector<FitSample> samples;
  for (int i = 0; i < 200; ++i) samples.push_back({16, entropy(words), theta(words)});
  for (const int degree : {1, 4}) {
    const std::vector<double> found = fit_polynomial(samples, degree);
    for (int power = 0; power <= degree; ++power) {
      double product = 0, size = 0;
      for (const FitSample& sample : samples) {
        const double term = (1 / sample.theta - polynomial(found, sample.entropy)) * std::pow(sample.entropy, power);
        product += term;
        size += std::fabs(term);
      }
      EXPECT_NEAR(product, 0, size * fit_room(samples, degree)) << "degree " << degree << " power " << power;
    }
  }
}

TEST(TemperatureFit, TooFewSamplesAreNamed) {
  std::vector<FitSample> samples(10, FitSample{16, 1.5, 0.5});
  EXPECT_THROW(fit_polynomial(samples, 4), std::invalid_argument);  // one entropy
  samples.resize(2);
  EXPECT_THAT([&] { fit_temperature("seed-07", samples); },
              ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr("seed-07: ")));
}

TEST(TemperatureFit, FittedHeadsAreNeverSofterThanSoftmax) {
  const TemperatureFit fit{"pooled", {}, {0, 0.1, 0, 0, 0}, {-1, 1}};
  const std::vector<Head> heads = fitted_heads(fit);
  ASSERT_EQ(heads.size(), 3U);
  const std::vector<float> logits{3, 1, 1, 0.5F};
  std::vector<float> soft(4), line(4), hard(4);
  heads[0].coefficients(logits, 0, soft);
  heads[1].coefficients(logits, 0, line);
  heads[2].coefficients(logits, 0, hard);
  const std::vector<double> plain = coefficients_of(logits);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(soft[i], static_cast<float>(plain[i]));  // 0.1 H < 1
    EXPECT_EQ(line[i], static_cast<float>(plain[i]));  // H - 1 < 1
  }
  EXPECT_THAT(hard, ::testing::ElementsAre(1, 0, 0, 0));
}

// On a crowd beyond the published polynomial's range its head is softmax, bit for bit; the line's is not.
TEST(TemperatureFit, ThePublishedPolynomialIsOffOnALargeCrowd) {
  const TemperatureFit fit{"pooled", {}, {1, 0, 0, 0, 0}, {0.5, 0.7}};
  const std::vector<CrowdedSize> sizes = measure_crowded_sizes(fitted(), 1, fit);
  const CrowdedSize& largest = sizes.back();
  EXPECT_EQ(largest.size, 16384);
  for (const CrowdedMeasure& set : largest.sets) {
    ASSERT_GT(set.entropy, std::stod(theory::inactive_from));
    EXPECT_EQ(set.heads[1].coefficient, set.heads[0].coefficient);
    EXPECT_GT(set.heads[3].coefficient, set.heads[0].coefficient);
  }
}

// What a call costs, told from what other calls cost; the time itself is never compared with anything.

std::vector<GrowthPoint> points_of(const std::string& kernel, double exponent) {
  std::vector<GrowthPoint> points;
  for (std::int64_t n = 1024; n <= 1 << 20; n *= 4) {
    points.push_back({kernel, n, {1e-9 * std::pow(static_cast<double>(n), exponent), 4096}});
  }
  return points;
}

TEST(CostGrowth, TheExponentIsThatOfThePower) {
  std::vector<GrowthPoint> points = points_of("line", 1);
  for (const GrowthPoint& point : points_of("square", 2)) points.push_back(point);
  // ln n is at most 14, ln seconds 21 in size: their roundings, and those of the mean of six, stay below 256 ulps of 1.
  // The points lie 1.6 from their mean on average, by which the sum of these errors is divided.
  constexpr double room = 256 * 0x1p-53 / 1.6;
  EXPECT_NEAR(growth_exponent(points, "line", 0), 1, room);
  EXPECT_NEAR(growth_exponent(points, "square", 0), 2, room);
  points.front().cost.seconds = 1;  // a short row that took long is left out by `from`
  EXPECT_LT(growth_exponent(points, "line", 0), 0);
  EXPECT_NEAR(growth_exponent(points, "line", 2048), 1, room);
  EXPECT_THROW(growth_exponent(points, "line", 1 << 20), std::invalid_argument);
  EXPECT_THROW(growth_exponent(points, "no such kernel", 0), std::invalid_argument);
}

TEST(CostGrowth, MemoryBesideTheTensorsIsSeen) {
  if (!std::ofstream("/proc/self/clear_refs"))
    GTEST_SKIP() << "no /proc/self/clear_refs: the peak memory of a call cannot be measured";
  const auto touches = [] {
    const std::vector<char> memory(std::size_t{64} << 20, 1);
    volatile char last = memory.back();
    static_cast<void>(last);
  };
  EXPECT_LT(cost_of([] {}, 1, 0).bytes, std::int64_t{16} << 20);
  EXPECT_GE(cost_of(touches, 1, 0).bytes, std::int64_t{60} << 20);
  // Again, although malloc may have kept what the first call freed.
  EXPECT_GE(cost_of(touches, 1, 0).bytes, std::int64_t{60} << 20);
}

TEST(CostGrowth, EveryKernelIsMeasuredAtEveryLength) {
  GrowthOptions options;
  options.largest = 4096;
  options.rounds = 1;
  options.round_seconds = 0;
  const std::vector<GrowthPoint> points =
      measure_growth(std::string(SOFTCHECK_KERNEL_DIR) + "/libsoftcheck_cpu_kernels.so", options);
  EXPECT_EQ(points.size(), 14U);
  for (const GrowthPoint& point : points) {
    EXPECT_GT(point.cost.seconds, 0) << point.kernel;
    EXPECT_TRUE(std::isfinite(point.cost.seconds)) << point.kernel;
  }
  const std::string table = growth_table(points);
  EXPECT_THAT(table, HasSubstr("adaptive attention: time grows as n^"));
  const Figure figure = growth_figure(points);
  EXPECT_THAT(figure.tables.at(0).csv, HasSubstr("\nread of keys and values,4096,"));
  EXPECT_THAT(figure.pictures.at(0).script, HasSubstr("logscale xy"));
}

TEST(CostGrowth, AMissingLibraryIsNamed) {
  EXPECT_THAT([] { measure_growth("/nowhere/libkernels.so", {}); },
              ::testing::ThrowsMessage<std::runtime_error>(HasSubstr("/nowhere/libkernels.so")));
}

}  // namespace
}  // namespace softcheck::experiments
