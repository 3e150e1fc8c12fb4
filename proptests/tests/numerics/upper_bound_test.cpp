// Every function of an upper bound is at least as large as the function's value, of the arguments' own.
#include "numerics/enclosures/upper_bound.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {
namespace {

struct RaisedFunction {
  std::string name;
  UpperBound (*raised)(UpperBound);
  std::function<Enclosure(const Enclosure&)> exact;
  double least, most;  // exponents of the arguments
};

const Enclosure exact_one(1);
const RaisedFunction raised_functions[] = {
    {"exp", [](UpperBound x) { return exp(x); }, [](const Enclosure& x) { return exp(x); }, -30, 9},
    {"expm1", [](UpperBound x) { return expm1(x); }, [](const Enclosure& x) { return exp(x) - exact_one; }, -30, 9},
    {"log", [](UpperBound x) { return log(x); }, [](const Enclosure& x) { return log(x); }, 0, 900},
    {"log1p", [](UpperBound x) { return log1p(x); }, [](const Enclosure& x) { return log(exact_one + x); }, -60, 900},
    {"minus_log1m", [](UpperBound x) { return minus_log1m(x); }, [](const Enclosure& x) { return -log(exact_one - x); },
     -60, 0},
    {"over_one_minus", [](UpperBound x) { return over_one_minus(x); },
     [](const Enclosure& x) { return exact_one / (exact_one - x); }, -60, 0},
    {"sqrt", [](UpperBound x) { return sqrt(x); }, [](const Enclosure& x) { return sqrt(x); }, -900, 900},
};

// Near half of the rounded values lie below the exact one: a function that is not raised fails at once.
TEST(UpperBounds, FunctionsLieAboveTheirValues) {
  const PrecisionScope precision(256);
  std::mt19937_64 random(45);
  for (const RaisedFunction& function : raised_functions) {
    std::uniform_real_distribution<double> exponent(function.least, function.most);
    double worst = 0;
    for (int k = 0; k < 400; ++k) {
      const double x = std::exp2(exponent(random));
      if (!(x < 1) && function.most == 0) continue;
      const double raised = function.raised(UpperBound(x)).value();
      const Enclosure exact = function.exact(Enclosure(x));
      EXPECT_TRUE((Enclosure(raised) - exact).certainly_nonnegative()) << function.name << " of " << x;
      worst = std::fmax(worst, ((Enclosure(raised) - exact) / exact).upper_double());
    }
    // Raised by 2^-48 of themselves, and at most that much off before.
    EXPECT_LE(worst, 0x1p-47) << function.name;
  }
}

TEST(UpperBounds, SumsAndProductsLieAboveTheirValues) {
  const PrecisionScope precision(2200);
  std::mt19937_64 random(46);
  std::uniform_real_distribution<double> exponent(-600, 400);
  for (int k = 0; k < 400; ++k) {
    const double a = std::exp2(exponent(random)), b = k % 2 == 0 ? std::exp2(exponent(random)) : a * 0x1.8p-20;
    const UpperBound x(a), y(b);
    EXPECT_TRUE((Enclosure((x + y).value()) - (Enclosure(a) + Enclosure(b))).certainly_nonnegative());
    EXPECT_TRUE((Enclosure((x * y).value()) - Enclosure(a) * Enclosure(b)).certainly_nonnegative());
  }
}

// Terms of all sizes, those whose products are subnormal among them, and sums of every length around four.
TEST(UpperBounds, DotProductsLieAboveTheirValues) {
  const PrecisionScope precision(2200);
  std::mt19937_64 random(48);
  for (const double least : {-540.0, -20.0}) {
    std::uniform_real_distribution<double> exponent(least, 20);
    for (const std::size_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 100, 1001}) {
      std::vector<UpperBound> a, b;
      Enclosure exact_sum(0), exact_dot(0);
      for (std::size_t k = 0; k < n; ++k) {
        a.emplace_back(std::exp2(exponent(random)));
        b.emplace_back(std::exp2(exponent(random)));
        exact_sum += Enclosure(a.back().value());
        exact_dot += Enclosure(a.back().value()) * Enclosure(b.back().value());
      }
      const Enclosure off(1 + static_cast<double>(2 * n + 8) * 0x1p-52);
      for (const auto& [got, exact] : {std::pair(sum(a), exact_sum), std::pair(dot(a, b), exact_dot)}) {
        EXPECT_TRUE((Enclosure(got.value()) - exact).certainly_nonnegative()) << n << " from 2^" << least;
        EXPECT_TRUE((exact * off + Enclosure(0x1p-1060) - Enclosure(got.value())).certainly_nonnegative()) << n;
      }
    }
  }
}

// Zeros stay zeros, and an infinite bound of something that is not there is none.
TEST(UpperBounds, DotProductsOfZerosAndInfinities) {
  const UpperBound none(0), one(1), all = UpperBound::infinity();
  EXPECT_EQ(dot(std::vector{none, none}, std::vector{one, all}).value(), 0);
  EXPECT_EQ(dot(std::vector{none, one, one, one, one}, std::vector{all, one, one, one, one}).value(),
            UpperBound(4).next().next().next().value());
  EXPECT_EQ(dot(std::vector{one}, std::vector{all}).value(), all.value());
  EXPECT_EQ(sum({}).value(), 0);
  EXPECT_EQ(bound_of_sum(0x1p-901, 1), std::nullopt);
  EXPECT_EQ(bound_of_sum(0, 1), std::nullopt);
  EXPECT_EQ(bound_of_sum(all.value(), 1), std::nullopt);
}

}  // namespace
}  // namespace softcheck::numerics
