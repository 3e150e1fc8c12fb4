#include "numerics/enclosures/certificate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "numerics/enclosures/decision.hpp"

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

}  // namespace
}  // namespace softcheck::numerics
