// Sums of products, of doubles and of long doubles: no further from the truth than they say.
#include "judge/ops/rows/product_sums.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr std::array both{Digits::of_double, Digits::of_long_double};

// Numbers of f32 with either sign, over so many binades.
std::vector<double> numbers(std::mt19937_64& random, std::size_t count, int binades) {
  std::uniform_real_distribution<float> significand(-1, 1);
  std::vector<double> result;
  for (std::size_t i = 0; i < count; ++i) {
    const int exponent = static_cast<int>(random() % static_cast<unsigned>(binades + 1)) - binades / 2;
    result.push_back(std::ldexp(significand(random), exponent));
  }
  return result;
}

Enclosure exactly(long double x) { return LongApproximation{x, 0}.enclosure(); }
bool is_less(const Enclosure& a, const Enclosure& b) { return less_equal(a, b) == Decision::proved; }

TEST(ProductSums, DotProductsLieWithinTheirErrors) {
  const PrecisionScope precision(512);
  std::mt19937_64 random(45);
  for (const Digits digits : both) {
    for (const std::size_t n : {0, 1, 2, 3, 4, 5, 7, 64, 129, 1000}) {
      const std::vector<double> a = numbers(random, n, 40), b = numbers(random, n, 40);
      Enclosure sum(0), magnitude(0);
      for (std::size_t t = 0; t < n; ++t) {
        sum += Enclosure(a[t]) * Enclosure(b[t]);
        magnitude += abs(Enclosure(a[t]) * Enclosure(b[t]));
      }
      const DotProduct dot = dot_product(a, b, digits);
      EXPECT_TRUE(is_less(abs(exactly(dot.value) - sum), exactly(dot.error))) << n;
      EXPECT_TRUE(is_less(magnitude, exactly(dot.magnitude))) << n;
      EXPECT_LE(dot.error,
                dot.magnitude * static_cast<long double>(n + 3) * (digits == Digits::of_double ? 0x1p-52L : 0x1p-63L))
          << n;
    }
  }
}

// What the x may really be, at either end of what is known of them.
TEST(ProductSums, TotalsLieWithinTheirErrors) {
  const PrecisionScope precision(512);
  std::mt19937_64 random(46);
  constexpr std::size_t columns = 5;
  for (const Digits digits : both) {
    for (const std::size_t terms : {0, 1, 2, 17, 300}) {
      for (const long double off : {0.0L, 0x1p-60L, 0x1p-20L}) {
        const std::vector<double> rows = numbers(random, terms * columns, 30), xs = numbers(random, terms, 30);
        ProductSums sums(columns, digits);
        for (std::size_t k = 0; k < terms; ++k) {
          const long double x = static_cast<long double>(xs[k]) / 3, error = off * std::fabs(x);
          const double size = std::fabs(xs[k]);
          sums.add({{x, error}, size, UpperBound(size * 0x1p-20), UpperBound(0x1p-149)},
                   std::span(rows).subspan(k * columns, columns));
        }
        for (std::size_t t = 0; t < columns; ++t) {
          Enclosure exact(0), size(0), floor(0);
          for (std::size_t k = 0; k < terms; ++k) {
            const long double x = static_cast<long double>(xs[k]) / 3;
            const Enclosure v(rows[k * columns + t]);
            const int sign = random() % 2 == 0 ? 1 : -1;
            exact += (exactly(x) + Enclosure(sign) * exactly(off * std::fabs(x))) * v;
            size += abs(Enclosure(xs[k]) * v);
            floor += abs(v) * Enclosure(0x1p-149);
          }
          const LongApproximation total = sums.total(t);
          EXPECT_TRUE(is_less(abs(exactly(total.value) - exact), exactly(total.error))) << terms << " " << t;
          EXPECT_TRUE(is_less(size, Enclosure(sums.size(t))));
          EXPECT_TRUE(is_less(size * Enclosure(0x1p-20), Enclosure(sums.error(t).value())));
          EXPECT_TRUE(is_less(floor, Enclosure(sums.floor(t).value())));
          EXPECT_LE(sums.size(t), size.upper_double() * 1.011 + 0x1p-1074);
          EXPECT_LE(sums.error(t).value(), size.upper_double() * 0x1p-20 * 1.0001);
        }
      }
    }
  }
}

// A number of 0 adds nothing, whatever its factor is known to be; a sum of them is 0, as nearly as can be.
TEST(ProductSums, ZerosAddNothing) {
  const std::vector<double> row{0, 2};
  for (const Digits digits : both) {
    ProductSums sums(2, digits);
    sums.add({{1e200L, std::numeric_limits<long double>::infinity()}, std::numeric_limits<double>::infinity(), {}, {}},
             row);
    sums.add({{1, 0x1p-60L}, 1, {}, {}}, row);
    EXPECT_EQ(sums.total(0).value, 0);
    EXPECT_EQ(sums.total(0).error, 0);
    EXPECT_FALSE(std::isfinite(sums.total(1).error));
    EXPECT_FALSE(std::isfinite(sums.size(1)));
  }
}

// Factors that no double holds, numbers whose products none does, and sizes that callers leave out.
TEST(ProductSums, WhatUnderflowsLiesWithinTheErrors) {
  const PrecisionScope precision(512);
  const long double third = 1 / 3.0L;
  for (const auto& [digits, x, v] : {std::tuple(Digits::of_double, third * 0x1p-1080L, 0x1p10),
                                     std::tuple(Digits::of_double, third * 0x1p-1000L, 0x1p-140),
                                     std::tuple(Digits::of_long_double, third * 0x1p-600L, 0x1p-600)}) {
    const std::vector<double> row{v};
    ProductSums sums(1, digits);
    Enclosure exact(0);
    for (const long double factor : {x, x * 0x1p-3L, x * 0x1p-60L}) {
      sums.add({{factor, 0}, 0, {}, {}}, row);
      exact += exactly(factor) * Enclosure(v);
    }
    const LongApproximation total = sums.total(0);
    EXPECT_TRUE(is_less(abs(exactly(total.value) - exact), exactly(total.error)));
    EXPECT_TRUE(is_less(exact, Enclosure(sums.size(0))));
  }
}

// Each of a hundred products rounds to 0.
TEST(ProductSums, SizesThatUnderflowAreNotLost) {
  const std::vector<double> least{0x1p-1074};
  ProductSums sums(1, Digits::of_long_double);
  for (int k = 0; k < 100; ++k) sums.add({{0.4L, 0}, 0, {}, {}}, least);
  EXPECT_GE(sums.size(0), 40 * 0x1p-1074);
}

// Each of these is added up term by term: an infinite bound of a term that is 0 adds nothing.
TEST(ProductSums, BoundsOfZerosAndInfinities) {
  const std::vector<double> zero{0, 1}, one{0, 0};
  ProductSums sums(2, Digits::of_double);
  sums.add({{1, 0}, 1, UpperBound::infinity(), UpperBound(0x1p-1070)}, zero);
  sums.add({{1, 0}, 1, UpperBound(1), UpperBound(0)}, one);
  EXPECT_EQ(sums.error(0).value(), 0);
  EXPECT_EQ(sums.error(1).value(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sums.floor(0).value(), 0);
  EXPECT_GE(sums.floor(1).value(), 0x1p-1070);
  EXPECT_LE(sums.floor(1).value(), 0x1p-1069);
}

TEST(ProductSums, ASumOfMagnitudesIsABound) {
  const PrecisionScope precision(512);
  std::mt19937_64 random(47);
  EXPECT_EQ(sum_of_magnitudes({}).value(), 0);
  EXPECT_EQ(sum_of_magnitudes(std::vector<double>{0, -0.0}).value(), 0);
  for (const std::size_t n : {1, 2, 3, 100, 1000}) {
    const std::vector<double> row = numbers(random, n, 60);
    Enclosure sum(0);
    for (const double x : row) sum += abs(Enclosure(x));
    EXPECT_TRUE(is_less(sum, Enclosure(sum_of_magnitudes(row).value()))) << n;
  }
}

// A contract that reads, computes with or writes f64 is judged in long doubles.
TEST(ProductSums, ResultsOfDoublesNeedLongDoubles) {
  const Contract narrow = parse_contract("exp=1ulp", Format::f32, Format::f32);
  EXPECT_EQ(digits_for(narrow), Digits::of_double);
  for (Format Contract::*const of : {&Contract::accumulator, &Contract::input, &Contract::output}) {
    Contract wide = narrow;
    wide.*of = Format::f64;
    EXPECT_EQ(digits_for(wide), Digits::of_long_double);
  }
}

}  // namespace
}  // namespace softcheck::proptests
