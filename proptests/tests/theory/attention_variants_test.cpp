#include "theory/attention_variants.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace softcheck::theory {
namespace {

using numerics::Certificate;
using numerics::Verdict;

constexpr double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();

LevelRow row_of(std::vector<Level> levels) { return LevelRow(std::move(levels)); }

void expect_all_hold(const std::vector<Certificate>& certificates) {
  for (const Certificate& certificate : certificates) {
    EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.claim << " " << certificate.witness;
  }
}

TEST(AttentionVariants, FormulasInDouble) {
  EXPECT_DOUBLE_EQ(window_coefficient(4, std::log(2.0)), 0.125);
  EXPECT_EQ(sink_spread(1.0, 2.0, 1.5), 1);
  EXPECT_EQ(sink_spread(1.0, 2.0, 5.0), 4);
  EXPECT_EQ(sink_spread(1.0, 2.0, -5.0), 7);
  EXPECT_DOUBLE_EQ(softcapped_logit(50.0, 50.0), 50 * std::tanh(1.0));
  EXPECT_DOUBLE_EQ(softcapped_spread(50.0, 100.0), 100 * std::tanh(1.0));
  EXPECT_EQ(softcapped_spread(50.0, 1e9), 100);
}

TEST(AttentionVariants, AWindowOfEqualItemsAttainsItsFloor) {
  const LevelRow row = row_of({{3, 8}});
  const Certificate full = certify_window(row, 1, 8);
  EXPECT_EQ(full.verdict, Verdict::proved);
  EXPECT_EQ(full.slack, 1);
  EXPECT_EQ(certify_window(row, 1, 9).verdict, Verdict::proved);
  EXPECT_THROW(certify_window(row, 1, 7), std::invalid_argument);
  EXPECT_THROW(certify_window(row, 0, 8), std::invalid_argument);
}

TEST(AttentionVariants, SinksOfEveryHeightAreDecided) {
  for (const LevelRow& row : {row_of({{0, 1}}), row_of({{1, 1}, {0, 1000000}}), row_of({{most, 1}, {-most, 2}}),
                              row_of({{least, 1}, {0, 1}})}) {
    for (const double sink : {0.0, 1.0, -800.0, 800.0, most, -most, least}) {
      for (const double theta : {1.0, 0x1p-60}) {
        expect_all_hold({certify_sink_coefficient(row, theta, sink)});
        expect_all_hold(certify_sink_entropy_floor(row, theta, sink));
        expect_all_hold(certify_sink_dispersion_length({row.largest(), row.smallest(), theta}, sink, 0.1));
      }
    }
  }
  EXPECT_TRUE(certify_sink_dispersion_length({100, 0, 1}, 0, 0.1).empty());
  EXPECT_THROW(certify_sink_coefficient(row_of({{0, 1}}), 1, -std::numeric_limits<double>::infinity()),
               std::invalid_argument);
}

TEST(AttentionVariants, CapsAreDecidedWhereTheySaturateAndWhereTheyAreTies) {
  for (const double cap : {50.0, 1e-300, least, most}) {
    for (const double x : {0.0, 1.0, -3.0, 50.0, 1e300, most, least}) {
      for (const double y : {0.0, 1.0, 3.0, 1 + 0x1p-52, -x, -most}) {
        EXPECT_EQ(certify_softcap_spread(x, y, cap).verdict, Verdict::proved) << x << " " << y << " " << cap;
      }
      EXPECT_EQ(certify_softcap_logit(x, std::abs(x), cap).verdict, Verdict::proved) << x << " " << cap;
      EXPECT_EQ(certify_softcap_logit(x, most, cap).verdict, Verdict::proved) << x << " " << cap;
    }
  }
  EXPECT_THROW(certify_softcap_logit(2, 1, 50), std::invalid_argument);
  EXPECT_THROW(certify_softcap_spread(2, 1, 0), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::theory
