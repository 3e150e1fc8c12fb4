// Bounds of rotary heads, on inputs of few items and with QK-norm, lag by lag, against singular values in long double.
#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "models/bounds/plane_weights.hpp"
#include "proptests/tests/models/bounds_heads.hpp"

namespace softcheck::proptests {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using models::HeadCertificate;
using models::NormKind;
using numerics::BallMatrix;
using numerics::Enclosure;
using Wide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

models::Rotary rotary_of(Index width, double fastest) {
  models::Rotary rotary{width, models::PlaneLayout::half_split};
  rotary.frequencies.emplace_back();
  for (Index p = 0; p < width / 2; ++p) {
    rotary.frequencies[0].emplace_back(fastest * std::pow(0.2, static_cast<double>(p)));
  }
  return rotary;
}

// sigma(B^T R^T A), key and query lag items apart, keys before their query where the lag is positive.
long double product_at(const Wide& a, const Wide& b, const models::Rotary& rotary, std::size_t list, Index lag) {
  Wide turned = b;
  const Index half = rotary.width / 2;
  for (Index p = 0; p < half; ++p) {
    const long double angle =
        -static_cast<long double>(lag) * rotary.frequencies[list][static_cast<std::size_t>(p)].midpoint();
    turned.row(p) = std::cos(angle) * b.row(p) - std::sin(angle) * b.row(p + half);
    turned.row(p + half) = std::sin(angle) * b.row(p) + std::cos(angle) * b.row(p + half);
  }
  return Eigen::JacobiSVD<Wide>(turned.transpose() * a).singularValues()(0);
}

models::AffineImage image_of(const MatrixXd& m, double r) {
  const MatrixXd none = MatrixXd::Zero(m.rows(), 1);
  const BallMatrix transposed = BallMatrix::exactly(m.transpose());
  return {models::symmetrised(inner_products(transposed, transposed)), BallMatrix::exactly(none), r};
}

TEST(BoundsContext, EveryLagOfAnInputIsBoundedAndTheWorstIsReached) {
  const numerics::PrecisionScope scope(113);
  Drawing drawing(81);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const Index dh = 2 * (1 + drawing.below(4)), d = dh + 2 + drawing.below(4), lags = 1 + drawing.below(12);
    const MatrixXd a = drawing.matrix(dh, d), b = drawing.matrix(dh, d);
    const bool both_ways = round % 4 == 3;
    models::Rotary rotary = rotary_of(round % 3 == 0 && dh > 2 ? dh - 2 : dh, 1);
    if (round % 5 == 0) {
      rotary.frequencies.push_back(rotary.frequencies[0]);
      for (Enclosure& frequency : rotary.frequencies[1]) frequency = frequency / Enclosure(3);
      if (round % 2 == 0) std::swap(rotary.frequencies[0], rotary.frequencies[1]);
    }
    long double truth = 0;
    for (std::size_t list = 0; list < rotary.frequencies.size(); ++list) {
      for (Index lag = both_ways ? 1 - lags : 0; lag < lags; ++lag) {
        truth = std::max(truth, product_at(a.cast<long double>(), b.cast<long double>(), rotary, list, lag));
      }
    }
    truth *= std::sqrt(2.0L * 3.0L);
    const double upper = models::largest_lagged_product(image_of(a, 2), image_of(b, 3), rotary, lags, both_ways);
    EXPECT_GE(upper, truth * (1 - 0x1p-50L));
    // The queries' Gram matrix grows by 1e-6 of its mean eigenvalue, which is at most this share of its least one; the
    // certified square lies 1e-9 above the worst lag's, and roundings of the factorisation below 2^-20 of it.
    const auto values = Eigen::JacobiSVD<MatrixXd>(a).singularValues();
    const double grown =
        1e-6 * values.squaredNorm() / static_cast<double>(dh) / (values.tail(1)(0) * values.tail(1)(0));
    EXPECT_LE(upper, truth * (1 + grown + 0x1p-20L));
  }
}

// Matrices and frequencies that are known to 1e-3 alone: every one of them is bounded.
TEST(BoundsContext, EveryMatrixAndFrequencyOfTheirBallsIsBounded) {
  const numerics::PrecisionScope scope(113);
  constexpr double radius = 1e-3;
  Drawing drawing(82);
  for (int round = 0; round < 10; ++round) {
    SCOPED_TRACE(round);
    const Index dh = 2 * (1 + drawing.below(4)), d = dh + 2, lags = 4 + drawing.below(8);
    const MatrixXd a = drawing.matrix(dh, d), b = drawing.matrix(dh, d);
    const models::Rotary exact = rotary_of(dh, 1);
    const auto truth_of = [&](const MatrixXd& query, const MatrixXd& key, const models::Rotary& rotary) {
      long double truth = 0;
      for (Index lag = 0; lag < lags; ++lag) {
        truth = std::max(truth, product_at(query.cast<long double>(), key.cast<long double>(), rotary, 0, lag));
      }
      return truth;
    };
    // Another column of one size adds radius to every entry of the Gram matrix, up to its sign.
    const auto widened = [&](const MatrixXd& m) {
      MatrixXd wide(m.rows(), m.cols() + 1);
      wide << m, std::sqrt(radius) * drawing.vector(m.rows()).cwiseSign();
      return wide;
    };
    const auto image = [&](const MatrixXd& m, bool wide) {
      models::AffineImage result = image_of(m, 1);
      if (wide) result.gram.radius += MatrixXd::Constant(dh, dh, radius);
      return result;
    };
    const double of_keys = models::largest_lagged_product(image(a, false), image(b, true), exact, lags, false);
    const double of_queries = models::largest_lagged_product(image(a, true), image(b, false), exact, lags, false);
    for (int draw = 0; draw < 16; ++draw) {
      EXPECT_GE(of_keys, truth_of(a, widened(b), exact) * (1 - 0x1p-50L));
      EXPECT_GE(of_queries, truth_of(widened(a), b, exact) * (1 - 0x1p-50L));
    }
    models::Rotary wide = exact;
    for (Enclosure& one : wide.frequencies[0]) one = one + Enclosure::between(-radius / 2, radius / 2);
    const double of_frequencies = models::largest_lagged_product(image(a, false), image(b, false), wide, lags, false);
    for (int draw = 0; draw < 16; ++draw) {
      models::Rotary drawn = exact;
      for (Enclosure& one : drawn.frequencies[0]) {
        one = Enclosure(one.midpoint() + (drawing.below(2) == 0 ? -radius / 2 : radius / 2));
      }
      EXPECT_GE(of_frequencies, truth_of(a, b, drawn) * (1 - 0x1p-50L));
    }
  }
}

// Offsets of queries and keys: nothing that a search over inputs finds is above.
TEST(BoundsContext, HeadsWithOffsetsAreNotExceeded) {
  Drawing drawing(83);
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    const DrawnHead drawn = drawing.head(4, 6, round % 2 == 0 ? NormKind::layer_norm : NormKind::rms_norm, true);
    HeadInMemory memory(drawn);
    memory.head.rotary = rotary_of(4, 1);
    const std::uint64_t items = 2 + static_cast<std::uint64_t>(drawing.below(8));
    const HeadCertificate c = memory.certify({.items = items, .context = true});
    ASSERT_TRUE(c.context_spread);
    EXPECT_LE(c.context_spread->upper, c.spread.upper);
    EXPECT_LE(c.context_spread->lower, c.context_spread->upper);
    const MatrixXd a = drawn.linear(drawn.query), b = drawn.linear(drawn.key);
    const double radius = std::sqrt(6.0);
    double widest = 0;
    for (int draw = 0; draw < 400; ++draw) {
      Eigen::VectorXd z = drawing.vector(6);
      const Eigen::VectorXd u = a * (radius / z.norm() * z) + drawn.constant(drawn.query, drawn.query_bias);
      double high = -1e300, low = 1e300;
      for (std::uint64_t lag = 0; lag < items; ++lag) {
        const BallMatrix turned = models::turned_back(BallMatrix::exactly(u), models::planes_of(*memory.head.rotary, 4),
                                                      memory.head.rotary->frequencies[0], -static_cast<double>(lag));
        const double middle = turned.middle.col(0).dot(drawn.constant(drawn.key, drawn.key_bias));
        const double half = radius * (b.transpose() * turned.middle).norm();
        high = std::max(high, middle + half);
        low = std::min(low, middle - half);
      }
      widest = std::max(widest, drawn.scale * (high - low));
    }
    EXPECT_LE(widest, c.context_spread->upper * (1 + 0x1p-40));
  }
}

// A lower end is one of the lags that the input has, and no context is said of more items than the model's.
TEST(BoundsContext, LowerEndsAreOfTheInputsLags) {
  DrawnHead drawn{NormKind::rms_norm, MatrixXd::Zero(2, 2), MatrixXd::Zero(2, 2), {}, {}, {}, {}, 1};
  drawn.query << 1, 0, 0, 0;
  drawn.key << 0, 0, 1, 0;  // as far from the query as can be: lag by lag they turn towards each other
  HeadInMemory memory(drawn);
  memory.head.rotary = rotary_of(2, 0.01);
  double last = 0;
  for (const std::uint64_t items : {3, 10, 50, 150}) {
    const HeadCertificate c = memory.certify({.items = items, .context = true});
    ASSERT_TRUE(c.context_spread);
    // One direction each: |e| = 2 |sin(0.01 lag)|, lags below items, of both signs.
    const double truth = 4 * std::sin(0.01 * static_cast<double>(items - 1));
    EXPECT_LE(c.context_spread->lower, truth * (1 + 0x1p-40));
    EXPECT_GE(c.context_spread->upper, truth * (1 - 0x1p-40));
    EXPECT_GT(c.context_spread->lower, last);
    last = c.context_spread->lower;
  }
  EXPECT_FALSE(memory.certify({.items = 513, .context = true}).context_spread) << "the model's context is 512";
  EXPECT_FALSE(memory.certify({.items = 3}).context_spread);
  EXPECT_EQ(memory.certify({.items = 2, .context = true}).context_spread->lower, 0);
  memory.head.rotary.reset();
  EXPECT_FALSE(memory.certify({.items = 3, .context = true}).context_spread);
}

using Eigen::VectorXd;
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
