// Every function of an upper bound is at least as large as the function's value, of the arguments' own.
#include "numerics/enclosures/upper_bound.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>

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

}  // namespace
}  // namespace softcheck::numerics
