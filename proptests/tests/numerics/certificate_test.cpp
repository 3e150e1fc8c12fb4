#include "numerics/enclosures/certificate.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/enclosures/upper_bound.hpp"

namespace softcheck::numerics {
namespace {

TEST(Decision, AnswersFollowTheEndpoints) {
  const Enclosure low = Enclosure::between(1, 2), touching = Enclosure::between(2, 3), high = Enclosure::between(4, 5);
  EXPECT_EQ(less_equal(low, high), Decision::proved);
  EXPECT_EQ(less_equal(high, low), Decision::violated);
  EXPECT_EQ(less_equal(low, touching), Decision::proved);
  EXPECT_EQ(less_equal(touching, low), Decision::undecided);
  EXPECT_EQ(less(low, high), Decision::proved);
  EXPECT_EQ(less(low, touching), Decision::undecided);
  EXPECT_EQ(less(touching, low), Decision::violated);
  EXPECT_EQ(equal(low, high), Decision::violated);
  EXPECT_EQ(equal(low, low), Decision::undecided);  // one interval need not be one number
  EXPECT_EQ(equal(Enclosure(2), Enclosure(2)), Decision::proved);
}

TEST(Decision, TiesOfPointsAreDecided) {
  EXPECT_EQ(less_equal(Enclosure(1), Enclosure(1)), Decision::proved);
  EXPECT_EQ(less(Enclosure(1), Enclosure(1)), Decision::violated);
  EXPECT_EQ(less_equal(Enclosure(0), Enclosure(-0.0)), Decision::proved);
}

TEST(Decision, WhatIsNotANumberDecidesNothing) {
  const Enclosure bad = log(Enclosure(-1));
  for (const Enclosure& other : {Enclosure(1), bad}) {
    for (const auto decide : {less_equal, less, equal}) {
      EXPECT_EQ(decide(bad, other), Decision::undecided);
      EXPECT_EQ(decide(other, bad), Decision::undecided);
    }
  }
  EXPECT_EQ(less_equal(Enclosure(1), Enclosure(1) / Enclosure::between(-1, 1)), Decision::undecided);
}

// Whatever a and b decide must hold for every pair of numbers in them.
TEST(Decision, NoAnswerIsContradictedByAMember) {
  const std::vector<double> ends{-2, -1, -0.5, 0, 0.5, 1, 2};
  for (const double a0 : ends) {
    for (const double a1 : ends) {
      for (const double b0 : ends) {
        for (const double b1 : ends) {
          if (a0 > a1 || b0 > b1) continue;
          const Enclosure a = Enclosure::between(a0, a1), b = Enclosure::between(b0, b1);
          const bool all_le = a1 <= b0, none_le = a0 > b1, all_lt = a1 < b0, none_lt = a0 >= b1;
          EXPECT_EQ(less_equal(a, b) == Decision::proved, all_le);
          EXPECT_EQ(less_equal(a, b) == Decision::violated, none_le);
          EXPECT_EQ(less(a, b) == Decision::proved, all_lt);
          EXPECT_EQ(less(a, b) == Decision::violated, none_lt);
          EXPECT_EQ(equal(a, b) == Decision::violated, a1 < b0 || b1 < a0);
        }
      }
    }
  }
}

TEST(Decision, EscalationStopsWhereItIsDecided) {
  std::vector<unsigned> tried;
  const Decision decision = escalate([&] {
    tried.push_back(working_precision());
    // e and its first 61 decimals: told apart by 256 bits, not by 113.
    const Enclosure cut = Enclosure::decimal("2.7182818284590452353602874713526624977572470936999595749669676");
    return less(cut, exp(Enclosure(1)));
  });
  EXPECT_EQ(decision, Decision::proved);
  EXPECT_EQ(tried, (std::vector<unsigned>{64, 113, 256}));
  tried.clear();
  EXPECT_EQ(escalate([&] {
              tried.push_back(working_precision());
              return less_equal(exp(Enclosure(1)), exp(Enclosure(1)));
            }),
            Decision::undecided);
  EXPECT_EQ(tried, std::vector<unsigned>(precision_ladder.begin(), precision_ladder.end()));
  EXPECT_EQ(working_precision(), 113u);
}

TEST(Decision, AllOfIsTheWorst) {
  using enum Decision;
  EXPECT_EQ(all_of({}), proved);
  EXPECT_EQ(all_of(std::vector{proved, proved}), proved);
  EXPECT_EQ(all_of(std::vector{proved, undecided}), undecided);
  EXPECT_EQ(all_of(std::vector{undecided, violated, proved}), violated);
}

TEST(Certificate, CarriesWhatWasDecided) {
  const Certificate certificate =
      certify_less_equal("a.claim", "a row", [] { return Sides{.left = Enclosure(1), .right = Enclosure(4)}; });
  EXPECT_EQ(certificate.claim, "a.claim");
  EXPECT_EQ(certificate.witness, "a row");
  EXPECT_EQ(certificate.verdict, Verdict::proved);
  EXPECT_EQ(certificate.relation, Relation::less_equal);
  EXPECT_EQ(certificate.precision, 64u);
  EXPECT_EQ(certificate.slack, 0.25);
}

TEST(Certificate, TheSlackIsNotRoundedBelowTheQuotient) {
  for (const int right : {3, 7, 10, 49}) {
    const Certificate certificate = certify_less_equal("", "", [&] { return Sides{Enclosure(1), Enclosure(right)}; });
    EXPECT_TRUE((Enclosure(certificate.slack) * Enclosure(right) - Enclosure(1)).certainly_positive()) << right;
    EXPECT_LE(certificate.slack, 1.0 / right * (1 + 0x1p-51)) << right;
  }
}

TEST(Certificate, FalseClaimsAreViolated) {
  EXPECT_EQ(certify_less_equal("", "", [] { return Sides{Enclosure(2), Enclosure(1)}; }).verdict, Verdict::violated);
  EXPECT_EQ(certify_less("", "", [] { return Sides{Enclosure(1), Enclosure(1)}; }).verdict, Verdict::violated);
  EXPECT_EQ(certify_agreement("", "",
                              [] {
                                return Sides{exp(Enclosure(1)), exp(Enclosure(1)) + Enclosure(0x1p-200)};
                              })
                .verdict,
            Verdict::violated);
}

TEST(Certificate, PrecisionGrowsUntilItIsDecided) {
  // exp(1) < exp(1) + 2^-k needs more than k bits.
  for (const auto& [k, bits] : {std::pair{40, 64u}, {90, 113u}, {200, 256u}, {400, 512u}}) {
    const Certificate certificate = certify_less("", "", [k = k] {
      return Sides{exp(Enclosure(1)), exp(Enclosure(1)) + Enclosure::power_of_two(-k)};
    });
    EXPECT_EQ(certificate.verdict, Verdict::proved);
    EXPECT_EQ(certificate.precision, bits);
  }
}

TEST(Certificate, TiesOfIrrationalsAreUndecidedUnlessTheirGapIsKnown) {
  const auto tie = [] { return Sides{exp(Enclosure(1)), exp(Enclosure(1))}; };
  EXPECT_EQ(certify_less_equal("", "", tie).verdict, Verdict::undecided);
  EXPECT_EQ(certify_less_equal("", "", tie).precision, 512u);
  const auto with_gap = [](Enclosure gap) {
    return [gap] { return Sides{exp(Enclosure(1)), exp(Enclosure(1)), gap}; };
  };
  EXPECT_EQ(certify_less_equal("", "", with_gap(Enclosure(0))).verdict, Verdict::proved);
  EXPECT_EQ(certify_less("", "", with_gap(Enclosure(0))).verdict, Verdict::violated);
  EXPECT_EQ(certify_less_equal("", "", with_gap(Enclosure(-1))).verdict, Verdict::violated);
  EXPECT_EQ(certify("", "", Relation::equal, with_gap(Enclosure(0))).verdict, Verdict::proved);
}

TEST(Certificate, AgreementNeedsHalfOfTheDigits) {
  // Two routes to 3 + 2 sqrt 2, and one that is off by 2^-250: closer than 256 of 512 bits can excuse.
  const auto squared = [] { return square(Enclosure(1) + sqrt(Enclosure(2))); };
  const auto direct = [] { return Enclosure(3) + 2 * sqrt(Enclosure(2)); };
  EXPECT_EQ(certify_agreement("", "", [&] { return Sides{squared(), direct()}; }).verdict, Verdict::proved);
  EXPECT_EQ(certify_agreement("", "",
                              [&] {
                                return Sides{squared(), direct() + Enclosure::power_of_two(-250)};
                              })
                .verdict,
            Verdict::violated);
  const auto wide = [&] { return Sides{squared(), hull(direct(), direct() + Enclosure::power_of_two(-250))}; };
  EXPECT_EQ(certify_agreement("", "", wide).verdict, Verdict::undecided);
}

TEST(Certificate, NotANumberIsUndecided) {
  const Certificate certificate = certify_less_equal("", "", [] { return Sides{log(Enclosure(-1)), Enclosure(1)}; });
  EXPECT_EQ(certificate.verdict, Verdict::undecided);
  EXPECT_TRUE(std::isnan(certificate.slack));
}

TEST(Certificate, WorstRanksViolatedFirst) {
  const auto of = [](std::vector<Verdict> verdicts) {
    std::vector<Certificate> certificates(verdicts.size());
    for (std::size_t i = 0; i < verdicts.size(); ++i) certificates[i].verdict = verdicts[i];
    return worst(certificates);
  };
  using enum Verdict;
  EXPECT_EQ(of({}), proved);
  EXPECT_EQ(of({proved, vacuous}), vacuous);
  EXPECT_EQ(of({undecided, vacuous, proved}), undecided);
  EXPECT_EQ(of({undecided, violated, vacuous}), violated);
}

TEST(Certificate, HexFloatsAreExact) {
  EXPECT_EQ(hex_float(3), "0x1.8p+1");
  EXPECT_EQ(hex_float(-HUGE_VAL), "-inf");
  EXPECT_EQ(std::strtod(hex_float(0.1).c_str(), nullptr), 0.1);
  EXPECT_EQ(std::strtod(hex_float(0x1p-1074).c_str(), nullptr), 0x1p-1074);
}

TEST(Certificate, HexFloatsAreThoseOfPrintf) {
  std::mt19937_64 bits(1);
  char printed[40];
  for (unsigned k = 0; k < 100'000; ++k) {
    const std::uint64_t drawn = bits() & (~std::uint64_t{0} << k % 53);  // of 1 to 53 digits
    for (const double value : {std::bit_cast<double>(drawn), std::bit_cast<double>(drawn >> 12)}) {
      std::snprintf(printed, sizeof printed, "%a", value);
      ASSERT_EQ(hex_float(value), printed);
    }
  }
}

// Every function of an upper bound is at least as large as the function's value, of the arguments' own.

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
