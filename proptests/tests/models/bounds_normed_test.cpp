// Heads with QK-norm against the singular values of their planes' blocks at every lag, in long double.
#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "proptests/tests/models/bounds_heads.hpp"

namespace softcheck::proptests {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using models::HeadCertificate;
using numerics::Enclosure;
using Wide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

struct NormedHead {
  HeadInMemory memory;
  VectorXd query, key;

  NormedHead(Drawing& drawing, Index dh, Index rotated, double fastest)
      : memory(drawing.head(dh, dh, models::NormKind::rms_norm, false)),
        query(drawing.vector(dh)),
        key(drawing.vector(dh)) {
    memory.checkpoint.put("q.gain", query.transpose());
    memory.checkpoint.put("k.gain", key.transpose());
    memory.head.head_norm = models::HeadNorm{
        .query_gain = {"q.gain", {0, dh}}, .key_gain = {"k.gain", {0, dh}}, .query_width = dh, .key_width = dh};
    models::Rotary rotary{rotated, models::PlaneLayout::half_split};
    rotary.frequencies.emplace_back();
    for (Index p = 0; p < rotated / 2; ++p) {
      rotary.frequencies[0].emplace_back(fastest * std::pow(0.3, static_cast<double>(p)));
    }
    memory.head.rotary = rotary;
  }

  // The largest q . R k / dh at one lag: a matrix of the whole head, no plane of it taken out.
  long double at(std::int64_t lag, const std::vector<Enclosure>& frequencies) const {
    const Index dh = query.size(), half = static_cast<Index>(frequencies.size());
    Wide turned = key.cast<long double>().asDiagonal();
    for (Index p = 0; p < half; ++p) {
      const long double angle = static_cast<long double>(lag) * frequencies[static_cast<std::size_t>(p)].midpoint();
      const Wide first = turned.row(p), second = turned.row(p + half);
      turned.row(p) = std::cos(angle) * first - std::sin(angle) * second;
      turned.row(p + half) = std::sin(angle) * first + std::cos(angle) * second;
    }
    const Wide block = query.cast<long double>().asDiagonal() * turned;
    return Eigen::JacobiSVD<Wide>(block).singularValues()(0) * static_cast<long double>(dh) *
           memory.head.scale.midpoint();
  }
  long double largest(std::int64_t first, std::int64_t lags) const {
    long double value = 0;
    for (const std::vector<Enclosure>& frequencies : memory.head.rotary->frequencies) {
      for (std::int64_t lag = first; lag < lags; ++lag) value = std::max(value, at(lag, frequencies));
    }
    return value;
  }
};

// sin^2 is bounded to 2^-45 at these lags; the root of a difference of squares that may vanish turns that into 2^-22.
constexpr long double off = 0x1p-20L;

TEST(BoundsNormed, AWindowIsBoundedByItsWorstLagAtEveryLength) {
  Drawing drawing(91);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const Index dh = 2 * (1 + drawing.below(4));
    NormedHead head(drawing, dh, round % 3 == 0 && dh > 2 ? dh - 2 : dh, round % 2 == 0 ? 1 : 0.1);
    const std::int64_t window = 1 + drawing.below(20);
    head.memory.head.window = static_cast<std::uint64_t>(window);
    if (round % 5 == 0) {
      auto& lists = head.memory.head.rotary->frequencies;
      lists.push_back(lists[0]);
      for (Enclosure& frequency : lists[1]) frequency = frequency / Enclosure(3);
    }
    const HeadCertificate c = head.memory.certify();
    const long double truth = head.largest(0, window);
    EXPECT_GE(c.logit.upper, truth * (1 - 0x1p-45L));
    EXPECT_LE(c.logit.upper, truth * (1 + off));
    EXPECT_GE(c.spread.upper, 2 * c.logit.upper * (1 - 0x1p-45));
    EXPECT_LE(c.spread.upper, 2 * truth * (1 + off));
    // Every lag but the query's own is reached.
    if (round % 5 != 0 && window > 1) {
      EXPECT_GE(c.logit.lower, head.largest(1, window) * (1 - off));
      EXPECT_LE(c.logit.lower, head.largest(1, window) * (1 + 0x1p-45L));
    }
    EXPECT_LE(c.spread.lower, c.spread.upper);
    // Without the window the closed form holds, and an input of as many items has what the window had.
    head.memory.head.window.reset();
    const HeadCertificate wide = head.memory.certify({.items = static_cast<std::uint64_t>(window), .context = true});
    EXPECT_GE(wide.spread.upper, c.spread.upper);
    ASSERT_TRUE(wide.context_spread);
    EXPECT_EQ(wide.context_spread->upper, c.spread.upper);
    EXPECT_LE(wide.context_spread->lower, wide.context_spread->upper);
  }
}

// What a query reaches at two lags: no pair of keys of the same query is further apart, and it comes near to the bound
// where the context turns some plane by every angle.
TEST(BoundsNormed, TheLowerEndIsReachedByOneQueryAtTwoLags) {
  Drawing drawing(92);
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    const NormedHead head(drawing, 8, 8, 1);
    const HeadCertificate c = head.memory.certify();
    EXPECT_LE(c.spread.lower, 2 * head.largest(1, 512) * (1 + 0x1p-45L));
    EXPECT_GE(c.spread.lower, 0.99 * c.spread.upper);
    EXPECT_LE(c.spread.upper, c.joint.upper_double());
    EXPECT_LE(c.joint.lower_double(), c.folded.upper_double());
  }
}

// Rope type dynamic has other frequencies beyond the context, so that lags of a window say nothing about long inputs.
TEST(BoundsNormed, FrequenciesThatChangeWithTheLengthKeepTheClosedForm) {
  Drawing drawing(93);
  NormedHead head(drawing, 2, 2, 0.01);
  head.query << 1, 2;
  head.key << 2, 1;
  head.memory.checkpoint.put("q.gain", head.query.transpose());
  head.memory.checkpoint.put("k.gain", head.key.transpose());
  head.memory.head.window = 4;
  const double within = head.memory.certify().spread.upper;
  head.memory.head.rotary->same_at_every_length = false;
  EXPECT_LT(within, 0.6 * head.memory.certify().spread.upper);
}

}  // namespace
}  // namespace softcheck::proptests
