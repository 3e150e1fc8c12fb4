#include "numerics/formats/next_double.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace softcheck::numerics {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

void expect_the_librarys(double x) {
  const auto bits = [](double y) { return std::bit_cast<std::uint64_t>(y); };
  EXPECT_EQ(bits(next_above(x)), bits(std::nextafter(x, infinite))) << x;
  EXPECT_EQ(bits(next_below(x)), bits(std::nextafter(x, -infinite))) << x;
}

TEST(NextDouble, IsTheLibrarys) {
  for (const double x : {0.0, 1.0, std::numeric_limits<double>::min(), std::numeric_limits<double>::denorm_min(),
                         std::numeric_limits<double>::max(), infinite}) {
    expect_the_librarys(x);
    expect_the_librarys(-x);
  }
  std::mt19937_64 random(20261125);
  for (int i = 0; i < 100'000; ++i) {
    const auto x = std::bit_cast<double>(random());
    if (!std::isnan(x)) expect_the_librarys(x);
  }
  EXPECT_TRUE(std::isnan(next_above(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(next_below(std::numeric_limits<double>::quiet_NaN())));
}

}  // namespace
}  // namespace softcheck::numerics
