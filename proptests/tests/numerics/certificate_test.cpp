#include "numerics/enclosures/certificate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace softcheck::numerics {
namespace {

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
