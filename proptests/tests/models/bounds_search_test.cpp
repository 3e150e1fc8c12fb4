// No input of a head's domain, searched for by another method on the matrices written out, exceeds what is certified;
// without rotary positions the search reaches it.
#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "proptests/tests/models/bounds_heads.hpp"

namespace softcheck::proptests {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using models::HeadCertificate;
using models::NormKind;

// The searches evaluate sums of products of at most 16 numbers 4 deep; 2^-40 of the value is far above their rounding.
constexpr double room = 1 + 0x1p-40;

// The head as two affine maps of balls.
struct Balls {
  MatrixXd a, b;  // (dh, d)
  VectorXd at, bt;
  double radius, scale;
  explicit Balls(const DrawnHead& head)
      : a(head.linear(head.query)),
        b(head.linear(head.key)),
        at(head.constant(head.query, head.query_bias)),
        bt(head.constant(head.key, head.key_bias)),
        radius(std::sqrt(static_cast<double>(head.width()))),
        scale(head.scale) {}
  VectorXd query(const VectorXd& z) const { return a * z + at; }
};

struct Value {
  double value;
  VectorXd gradient;  // in u = A z + a
};
using Objective = std::function<Value(const VectorXd& u)>;

// Projected gradient ascent over |z| <= radius from many starts; steps grow while they help.
double ascend(const Balls& balls, const Objective& objective, Drawing& drawing, int starts) {
  double best = 0;
  for (int start = 0; start < starts; ++start) {
    VectorXd z = drawing.vector(balls.a.cols());
    z *= balls.radius / z.norm();
    Value here = objective(balls.query(z));
    double step = 1;
    for (int i = 0; i < 300 && step > 1e-7 && step < 1e12; ++i) {
      const VectorXd slope = balls.a.transpose() * here.gradient;
      if (!(slope.norm() > 0)) break;
      VectorXd next = z + step * balls.radius / slope.norm() * slope;
      if (next.norm() > balls.radius) next *= balls.radius / next.norm();
      const Value there = objective(balls.query(next));
      if (there.value > here.value) {
        z = next;
        here = there;
        step *= 2;
      } else {
        step /= 4;
      }
    }
    best = std::max(best, here.value);
  }
  return best;
}

// A key's part of an objective: sign (u . R b) + radius |B^T R^T u| for a rotation R, of gradient in u.
Value reach(const Balls& balls, const MatrixXd& rotation, const VectorXd& u, double sign) {
  const VectorXd seen = balls.b.transpose() * (rotation.transpose() * u);
  const double size = seen.norm();
  const VectorXd constant = rotation * balls.bt;
  Value result{sign * u.dot(constant) + balls.radius * size, sign * constant};
  if (size > 0) result.gradient += balls.radius / size * (rotation * (balls.b * seen));
  return result;
}

Objective logit_of(const Balls& balls, const MatrixXd& rotation) {
  return [&balls, rotation](const VectorXd& u) {
    const Value high = reach(balls, rotation, u, 1), low = reach(balls, rotation, u, -1);
    return high.value > low.value ? high : low;
  };
}
Objective spread_of(const Balls& balls, const MatrixXd& first, const MatrixXd& second) {
  return [&balls, first, second](const VectorXd& u) {
    const Value high = reach(balls, first, u, 1), low = reach(balls, second, u, -1);
    return Value{high.value + low.value, high.gradient + low.gradient};
  };
}

void expect_reached(const DrawnHead& drawn, Drawing& drawing, const std::string& name) {
  SCOPED_TRACE(name);
  const HeadCertificate certificate = HeadInMemory(drawn).certify();
  const Balls balls(drawn);
  const MatrixXd none = MatrixXd::Identity(balls.a.rows(), balls.a.rows());
  const double spread = drawn.scale * ascend(balls, spread_of(balls, none, none), drawing, 200);
  const double logit = drawn.scale * ascend(balls, logit_of(balls, none), drawing, 200);
  EXPECT_LE(spread, certificate.spread.upper * room);
  EXPECT_LE(logit, certificate.logit.upper * room);
  EXPECT_GE(spread, 0.999 * certificate.spread.upper);
  EXPECT_GE(certificate.spread.lower, 0.999 * certificate.spread.upper);
  // A logit's bound is the least over t of the most over queries: with a key bias these two need not meet. At t = 1 the
  // form is 2 x^2 + 2 y^2 <= 2 (x + y)^2 with x = |u.b|, y = sqrt(rk) |B^T u|: the bound is at most sqrt(2) times the
  // logit.
  EXPECT_GE(logit, (balls.bt.isZero() ? 0.999 : 0.999 * std::sqrt(0.5)) * certificate.logit.upper);
  EXPECT_GE(certificate.logit.lower, 0.999 * logit);
  EXPECT_LE(certificate.spread.lower, spread * 1.0001);
  EXPECT_LE(certificate.logit.lower, logit * 1.0001);
  for (const auto& form : {certificate.joint, certificate.folded, certificate.product}) {
    EXPECT_LE(certificate.spread.upper, form.upper_double());
    EXPECT_LE(form.lower_double(), form.upper_double());
  }
}

TEST(BoundsSearch, PlainHeadsAreReachedAndNotExceeded) {
  Drawing drawing(20241001);
  for (Index round = 0; round < 16; ++round) {
    const NormKind kind = round % 2 == 0 ? NormKind::layer_norm : NormKind::rms_norm;
    const Index dh = 1 + drawing.below(8), d = 2 + drawing.below(7);
    expect_reached(drawing.head(dh, d, kind, round % 4 < 2), drawing, "round " + std::to_string(round));
  }
}

// Proposition 3.1's product of norms: 2 s (|W_q| n + |b_q|) |W_k| n, n = max |gain| sqrt(d) + |offset|.
TEST(BoundsSearch, TheProductOfAPlainHeadIsThatOfItsNorms) {
  Drawing drawing(3);
  for (Index round = 0; round < 8; ++round) {
    const DrawnHead drawn =
        drawing.head(1 + drawing.below(8), 2 + drawing.below(7), NormKind::rms_norm, round % 2 == 0);
    const auto norm_of = [](const MatrixXd& w) { return Eigen::JacobiSVD<MatrixXd>(w).singularValues()(0); };
    const double gain = drawn.gain.size() != 0 ? drawn.gain.cwiseAbs().maxCoeff() : 1;
    const double input = gain * std::sqrt(static_cast<double>(drawn.width())) + drawn.shift().norm();
    const double product =
        2 * drawn.scale * (norm_of(drawn.query) * input + drawn.query_bias.norm()) * norm_of(drawn.key) * input;
    const numerics::Enclosure found = HeadInMemory(drawn).certify().product;
    EXPECT_LE(found.lower_double(), product * room);
    EXPECT_GE(found.upper_double() * room, product);
    EXPECT_LE(found.upper_double(), product * room);
  }
}

// Gains of 1 + w, as Gemma has them: what is rounded of the sum and of its products lies in the radius.
TEST(BoundsSearch, MapsBehindRoundedGainsHoldTheExactOnes) {
  Drawing drawing(4);
  for (Index round = 0; round < 8; ++round) {
    const DrawnHead drawn = drawing.head(4, 8, NormKind::rms_norm, false);
    HeadInMemory memory(drawn);
    const VectorXd less_one = drawing.vector(8) / 3;
    memory.checkpoint.put("w", less_one.transpose());
    memory.head.input_norm->gain = {"w", {0, 8}};
    memory.head.input_norm->gain_plus_one = true;
    models::HeadReader reader(memory.checkpoint);
    const numerics::BallMatrix linear = reader.query_map(memory.head).linear;
    EXPECT_GE(linear.radius.minCoeff(), 0);
    for (Index i = 0; i < 8; ++i) {
      for (Index h = 0; h < 4; ++h) {
        // Twice the bits of both factors: MPFR's product of two sums of doubles below 2^2 is exact.
        const numerics::PrecisionScope scope(256);
        const numerics::Enclosure exact =
            (numerics::Enclosure(1) + numerics::Enclosure(less_one(i))) * numerics::Enclosure(drawn.query(h, i));
        EXPECT_TRUE(linear(i, h).contains(exact)) << i << " " << h;
      }
    }
  }
}

TEST(BoundsSearch, OddHeadsAreReachedAndNotExceeded) {
  Drawing drawing(7);
  DrawnHead head = drawing.head(4, 6, NormKind::layer_norm, true);
  head.gain << 0, -1.5, 2, 0, -0.25, 1;
  expect_reached(head, drawing, "gain with zeros and negatives");
  head.query.array() += 100;
  head.key.array() -= 100;
  head.offset.setZero();
  expect_reached(head, drawing, "rows with a mean that LayerNorm takes away");

  head = drawing.head(4, 6, NormKind::rms_norm, true);
  head.query_bias.setZero();
  head.key_bias.setZero();
  head.offset.resize(0);
  expect_reached(head, drawing, "zero biases");

  head = drawing.head(5, 6, NormKind::layer_norm, true);
  head.query = drawing.matrix(5, 1) * drawing.matrix(1, 6);
  head.key = drawing.matrix(5, 2) * drawing.matrix(2, 6);
  expect_reached(head, drawing, "matrices of rank 1 and 2");

  head = drawing.head(1, 6, NormKind::layer_norm, true);
  expect_reached(head, drawing, "dh = 1");
  head = drawing.head(8, 2, NormKind::rms_norm, true);
  expect_reached(head, drawing, "dh > d");
  head = drawing.head(4, 4, NormKind::rms_norm, true);
  head.key = head.query;
  head.key_bias = head.query_bias;
  expect_reached(head, drawing, "keys as queries");
  head.query *= 1e30;
  head.query_bias *= 1e30;
  head.key *= 1e-20;
  head.key_bias *= 1e-20;
  expect_reached(head, drawing, "scales far apart");
}

// The hard case of the trust region: the query bias is orthogonal to the direction that keys stretch most.
TEST(BoundsSearch, TheHardCaseIsReached) {
  Drawing drawing(3);
  DrawnHead head{NormKind::rms_norm, MatrixXd::Identity(3, 3), MatrixXd::Identity(3, 3), {}, {}, {}, {}, 1};
  head.key(0, 0) = 4;
  head.key(1, 1) = 3;
  head.query_bias = VectorXd::Zero(3);
  head.query_bias(2) = 0.5;
  expect_reached(head, drawing, "orthogonal offset");
  head.key(1, 1) = 4;
  expect_reached(head, drawing, "two top directions");
}

// Dimensions up to 3: every direction, to 1/400 of a turn.
TEST(BoundsSearch, ADenseGridIsNotAboveTheBounds) {
  Drawing drawing(11);
  for (Index d = 2; d <= 3; ++d) {
    for (Index dh = 1; dh <= 3; ++dh) {
      const DrawnHead drawn = drawing.head(dh, d, NormKind::rms_norm, true);
      const Balls balls(drawn);
      const HeadCertificate certificate = HeadInMemory(drawn).certify();
      const MatrixXd none = MatrixXd::Identity(dh, dh);
      const Objective spread = spread_of(balls, none, none), logit = logit_of(balls, none);
      double widest = 0, largest = 0;
      for (int i = 0; i < 400; ++i) {
        const double angle = 2 * std::numbers::pi * i / 400;
        for (int j = 0; j < (d == 3 ? 200 : 1); ++j) {
          const double height = d == 3 ? std::numbers::pi * (j + 0.5) / 200 : std::numbers::pi / 2;
          VectorXd z(d);
          z(0) = std::cos(angle) * std::sin(height);
          z(1) = std::sin(angle) * std::sin(height);
          if (d == 3) z(2) = std::cos(height);
          z *= balls.radius;
          widest = std::max(widest, drawn.scale * spread(balls.query(z)).value);
          largest = std::max(largest, drawn.scale * logit(balls.query(z)).value);
        }
      }
      EXPECT_LE(widest, certificate.spread.upper * room);
      EXPECT_LE(largest, certificate.logit.upper * room);
      EXPECT_GE(widest, 0.99 * certificate.spread.upper);
      EXPECT_GE(largest, 0.99 * certificate.logit.upper);
    }
  }
}

models::Rotary two_planes() {
  models::Rotary rotary{4, models::PlaneLayout::half_split};
  rotary.frequencies = {{numerics::Enclosure(1), numerics::Enclosure(0.1)}};
  return rotary;
}

TEST(BoundsSearch, HeadsOfZerosAreBoundedByNothing) {
  Drawing drawing(5);
  for (const bool rotary : {false, true}) {
    for (const bool of_key : {false, true}) {
      DrawnHead head = drawing.head(4, 6, NormKind::layer_norm, false);
      (of_key ? head.key : head.query).setZero();
      HeadInMemory memory(head);
      if (rotary) memory.head.rotary = two_planes();
      const HeadCertificate certificate = memory.certify();
      EXPECT_EQ(certificate.spread.lower, 0);
      EXPECT_GE(certificate.spread.upper, 0);
      EXPECT_LT(certificate.spread.upper, 1e-60);
      EXPECT_LT(certificate.logit.upper, 1e-60);
    }
  }
}

// Far ends of the exponent, whose squares are no doubles: a bound that holds, or std::range_error; never less than what
// is reached.
TEST(BoundsSearch, HugeAndTinyScalesAreBoundedOrRefused) {
  Drawing drawing(13);
  for (const bool rotary : {false, true}) {
    for (const double of_query : {1e-300, 1e-150, 1.0, 1e75, 1e150, 1e300}) {
      for (const double of_key : {1e-300, 1e-150, 1.0, 1e75, 1e150, 1e300}) {
        SCOPED_TRACE(testing::Message() << of_query << " " << of_key << " " << rotary);
        DrawnHead head = drawing.head(4, 6, NormKind::layer_norm, true);
        head.query *= of_query;
        head.query_bias *= of_query;
        head.key *= of_key;
        head.key_bias *= of_key;
        HeadInMemory memory(head);
        if (rotary) memory.head.rotary = two_planes();
        try {
          const HeadCertificate certificate = memory.certify();
          ASSERT_TRUE(std::isfinite(certificate.spread.upper) && std::isfinite(certificate.score.upper));
          EXPECT_LE(certificate.spread.lower, certificate.spread.upper);
          EXPECT_LE(certificate.logit.lower, certificate.logit.upper);
          // One query and two keys, by their logits in long double.
          const Balls balls(head);
          const VectorXd z = VectorXd::LinSpaced(6, -1, 1), u = balls.query(z);
          const VectorXd top = balls.b * z;
          long double apart = 0;
          for (Index i = 0; i < 4; ++i) apart += 2.0L * u(i) * top(i) * head.scale;
          EXPECT_LE(std::fabs(apart), certificate.spread.upper * (long double)(room));
        } catch (const std::range_error&) {
          EXPECT_TRUE(std::max(of_query, of_key) >= 1e75 || std::min(of_query, of_key) <= 1e-150);
        }
      }
    }
  }
}

MatrixXd rotation_of(const models::Rotary& rotary, Index dh, double lag) {
  MatrixXd rotation = MatrixXd::Identity(dh, dh);
  const Index half = rotary.width / 2;
  for (Index p = 0; p < half; ++p) {
    const bool split = rotary.layout == models::PlaneLayout::half_split;
    const Index first = split ? p : 2 * p, second = split ? p + half : 2 * p + 1;
    const double angle = lag * rotary.frequencies.back()[static_cast<std::size_t>(p)].midpoint();
    rotation(first, first) = rotation(second, second) = std::cos(angle);
    rotation(second, first) = std::sin(angle);
    rotation(first, second) = -std::sin(angle);
  }
  return rotation;
}

TEST(BoundsSearch, RotaryHeadsAreNotExceeded) {
  Drawing drawing(17);
  double tightest = 0;
  for (Index round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    const Index dh = 2 * (1 + round % 4), width = round % 3 == 2 && dh > 2 ? dh - 2 : dh;
    const DrawnHead drawn =
        drawing.head(dh, 6, round % 2 == 0 ? NormKind::rms_norm : NormKind::layer_norm, round % 4 > 1);
    models::Rotary rotary{width, round % 2 == 0 ? models::PlaneLayout::half_split : models::PlaneLayout::interleaved};
    rotary.frequencies.emplace_back();
    for (Index p = 0; p < width / 2; ++p) rotary.frequencies[0].emplace_back(std::pow(0.1, static_cast<double>(p)));
    rotary.factor = numerics::Enclosure(round % 3 == 0 ? 1.25 : 1.0);
    HeadInMemory memory(drawn);
    memory.head.rotary = rotary;
    const HeadCertificate certificate = memory.certify();
    const Balls balls(drawn);
    const double scale = drawn.scale * (round % 3 == 0 ? 1.5625 : 1.0);
    double spread = 0, logit = 0;
    for (int i = 0; i < 40; ++i) {
      const MatrixXd first = rotation_of(rotary, dh, -1.0 - static_cast<double>(drawing.below(500)));
      const MatrixXd second = rotation_of(rotary, dh, -1.0 - static_cast<double>(drawing.below(500)));
      spread = std::max(spread, scale * ascend(balls, spread_of(balls, first, second), drawing, 5));
      logit = std::max(logit, scale * ascend(balls, logit_of(balls, first), drawing, 5));
    }
    EXPECT_LE(spread, certificate.spread.upper * room);
    EXPECT_LE(logit, certificate.logit.upper * room);
    EXPECT_LE(logit / scale * (round % 3 == 0 ? 1.5625 : 1.0), certificate.score.upper * room);
    EXPECT_LE(certificate.spread.lower, certificate.spread.upper);
    EXPECT_LE(certificate.logit.lower, certificate.logit.upper);
    EXPECT_GE(certificate.spread.lower, 0.8 * spread) << "the head's own search finds much less than this one";
    tightest = std::max(tightest, spread / certificate.spread.upper);
  }
  EXPECT_GE(tightest, 0.9);
}

// Queries and keys of which the rotated plane holds nothing are those of a plain head on the other coordinates: the
// largest logit is s sqrt(rq rk) sigma(B^T A), and the balanced basis reaches it.
TEST(BoundsSearch, UnrotatedCoordinatesAreBoundedAsAPlainHeads) {
  Drawing drawing(19);
  for (Index round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    const Index dh = 4 + 2 * (round % 3), d = dh + 2;
    DrawnHead drawn = drawing.head(dh, d, NormKind::rms_norm, false);
    drawn.gain = VectorXd::Ones(d);
    // Half-split planes of a width of 2: the coordinates 0 and 1.
    drawn.query.topRows(2).setZero();
    drawn.key.topRows(2).setZero();
    HeadInMemory memory(drawn);
    models::Rotary rotary{2, models::PlaneLayout::half_split};
    rotary.frequencies = {{numerics::Enclosure(1)}};
    memory.head.rotary = rotary;
    const HeadCertificate certificate = memory.certify();
    const double sigma = Eigen::JacobiSVD<MatrixXd>(drawn.key.transpose() * drawn.query).singularValues()(0);
    const double logit = drawn.scale * static_cast<double>(d) * sigma;
    EXPECT_GE(certificate.logit.upper * room, logit);
    // Both blocks grow by 1e-6 of their mean eigenvalue, which moves the basis by no more than this share of the least.
    const auto grown = [&](const MatrixXd& m) {
      const auto values = Eigen::JacobiSVD<MatrixXd>(m.bottomRows(dh - 2)).singularValues();
      return 1e-6 * values.squaredNorm() / static_cast<double>(dh - 2) / std::pow(values.tail(1)(0), 2);
    };
    EXPECT_LE(certificate.logit.upper, logit * (1 + 2 * (grown(drawn.query) + grown(drawn.key)) + 0x1p-20));
  }
}

}  // namespace
}  // namespace softcheck::proptests
