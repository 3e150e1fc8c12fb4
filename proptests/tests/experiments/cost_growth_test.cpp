// What a call costs, told from what other calls cost; the time itself is never compared with anything.
#include "experiments/figures/cost_growth.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace softcheck::experiments {
namespace {

using ::testing::HasSubstr;

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
  if (!std::ofstream("/proc/self/clear_refs")) GTEST_SKIP() << "this system does not tell the most memory of a call";
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
  try {
    measure_growth("/nowhere/libkernels.so", {});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/libkernels.so"));
  }
}

}  // namespace
}  // namespace softcheck::experiments
