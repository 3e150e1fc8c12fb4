// What follows from a head's bounds, and how the work on many heads is shared.
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <atomic>
#include <cfenv>
#include <cmath>
#include <limits>
#include <tuple>

#include "proptests/tests/models/bounds_heads.hpp"
#include "theory/attention_variants.hpp"
#include "theory/entropy_bounds.hpp"
#include "theory/lemma_2_1.hpp"

namespace softcheck::proptests {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using models::HeadCertificate;
using models::NormKind;
using numerics::Enclosure;

// What follows from an end in double is evaluated at 113 bits and rounded outward once; the tests' own formulas in
// double take at most 16 roundings or functions of libm (1 ulp each): 2^-48 of the value is above both.
constexpr double roundings = 0x1p-48;

DrawnHead small_head(double size, bool biases = false) {
  Drawing drawing(23);
  DrawnHead head = drawing.head(4, 6, NormKind::rms_norm, biases);
  head.query *= size;
  head.query_bias *= size;
  return head;
}

TEST(BoundsCertificate, WhatFollowsFromASpreadIsTheTheorys) {
  for (const double size : {0.001, 0.05, 0.3}) {
    const HeadInMemory memory(small_head(size));
    const HeadCertificate c = memory.certify({.eps = 0.05, .items = 37});
    EXPECT_EQ(c.items, 37U);
    const auto length = theory::dispersion_length({c.spread.upper, 0}, 0.05).log_items / log(Enclosure(10));
    EXPECT_GE(c.dispersion_length_log10.upper, length.lower_double());
    EXPECT_NEAR(c.dispersion_length_log10.upper, length.midpoint(), roundings * length.midpoint());
    const Enclosure floor = theory::entropy_floor(37, {c.spread.upper, 0});
    EXPECT_EQ(c.entropy_floor.lower, std::max(floor.lower_double(), 0.0));
    EXPECT_EQ(c.largest_coefficient.upper,
              theory::lemma_2_1_sharp_bounds(37, Enclosure(c.spread.upper)).upper.upper_double());
    EXPECT_EQ(c.largest_coefficient.lower,
              theory::lemma_2_1_sharp_bounds(37, Enclosure(c.spread.lower)).upper.lower_double());
    // Said of no n below N(eps), and of those above.
    const double items = std::pow(10, c.dispersion_length_log10.upper);
    if (items > 1e12) continue;
    const auto whole = static_cast<std::uint64_t>(items);
    EXPECT_FALSE(memory.certify({.eps = 0.05, .items = whole}).dispersed_within_items);
    EXPECT_TRUE(memory.certify({.eps = 0.05, .items = whole + 1}).dispersed_within_items);
  }
}

TEST(BoundsCertificate, TheScaleHasTheSquareOfTheRotaryFactor) {
  HeadInMemory memory(small_head(1, true));
  memory.head.rotary = models::Rotary{4, models::PlaneLayout::interleaved};
  memory.head.rotary->frequencies = {{Enclosure(1), Enclosure(0.5)}};
  const HeadCertificate one = memory.certify();
  memory.head.rotary->factor = Enclosure(4);
  const HeadCertificate four = memory.certify();
  EXPECT_EQ(four.scale.midpoint(), 16 * one.scale.midpoint());
  EXPECT_EQ(four.spread.upper, 16 * one.spread.upper) << "a power of two rounds nothing";
  EXPECT_EQ(four.spread.lower, 16 * one.spread.lower);
  EXPECT_NEAR(four.score.upper, four.logit.upper / memory.head.scale.midpoint(), roundings * four.score.upper);
}

TEST(BoundsCertificate, OfSeveralFrequencyListsTheOneOfLongInputsIsSearched) {
  HeadInMemory memory(small_head(1));
  memory.head.rotary = models::Rotary{4, models::PlaneLayout::half_split};
  memory.head.rotary->frequencies = {{Enclosure(0.25), Enclosure(0.125)}};
  const HeadCertificate slow = memory.certify();
  memory.head.rotary->frequencies = {{Enclosure(1), Enclosure(0.5)}, {Enclosure(0.25), Enclosure(0.125)}};
  const HeadCertificate both = memory.certify();
  EXPECT_EQ(both.spread.lower, slow.spread.lower);
  EXPECT_EQ(both.spread.upper, slow.spread.upper);
}

// A query's own key is its own input's: one other item reaches a logit, two reach a spread.
TEST(BoundsCertificate, LowerEndsNeedTheItemsThatReachThem) {
  for (const bool rotary : {false, true}) {
    HeadInMemory memory(small_head(1, true));
    if (rotary) {
      memory.head.rotary = models::Rotary{4, models::PlaneLayout::half_split};
      memory.head.rotary->frequencies = {{Enclosure(1), Enclosure(0.5)}};
    }
    for (const bool by_window : {false, true}) {
      for (const std::uint64_t items : {1, 2, 3, 4}) {
        memory.model.context = by_window ? 100 : static_cast<std::int64_t>(items);
        memory.head.window = by_window ? std::optional(items) : std::nullopt;
        const HeadCertificate c = memory.certify();
        EXPECT_EQ(c.spread.lower > 0, items >= 3) << items;
        EXPECT_EQ(c.logit.lower > 0, items >= 2) << items;
        EXPECT_EQ(c.items, items);
        if (by_window) {
          EXPECT_FALSE(c.dispersed_within_items);
        }
        if (items == 1) {
          EXPECT_EQ(c.entropy_floor.upper, 0);
        }
      }
    }
  }
}

// No lag 0: with turns of half a circle two items reach what one item at the query's own place would.
TEST(BoundsCertificate, LagsBeginAtOne) {
  DrawnHead drawn{NormKind::rms_norm, MatrixXd::Zero(2, 2), MatrixXd::Zero(2, 2), {}, {}, {}, {}, 1};
  drawn.query_bias = VectorXd::Unit(2, 0);
  drawn.key_bias = VectorXd::Unit(2, 0);
  HeadInMemory memory(drawn);
  memory.head.rotary = models::Rotary{2, models::PlaneLayout::half_split};
  memory.head.rotary->frequencies = {{Enclosure(0.75)}};
  memory.model.context = 3;
  const HeadCertificate c = memory.certify();
  // Logits are cos(0.75 lag) for lags 1 and 2; at lag 0 it would be 1.
  EXPECT_LE(c.logit.lower, std::cos(0.75) + roundings);
  EXPECT_GE(c.logit.lower, std::cos(0.75) - roundings);
  EXPECT_NEAR(c.spread.lower, std::cos(0.75) - std::cos(1.5), roundings);
  EXPECT_GE(c.logit.upper, 1);
}

TEST(BoundsCertificate, ASoftcapBoundsWhatItIsPutOn) {
  for (const bool biases : {false, true}) {
    HeadInMemory memory(small_head(0.3, biases));
    const HeadCertificate plain = memory.certify();
    for (const double cap : {0.5, 5.0, 1e4}) {
      memory.head.softcap = cap;
      const HeadCertificate c = memory.certify();
      EXPECT_GE(c.spread.upper, c.spread.lower);
      EXPECT_LE(c.spread.upper, 2 * cap);
      EXPECT_LE(c.logit.upper, cap);
      EXPECT_NEAR(c.spread.upper, 2 * cap * std::tanh(plain.spread.upper / (2 * cap)), roundings * c.spread.upper);
      EXPECT_NEAR(c.logit.upper, cap * std::tanh(plain.logit.upper / cap), roundings * c.logit.upper);
      EXPECT_EQ(c.score.upper, plain.score.upper) << "scores are before the cap";
      // What the reached query makes of the cap is below the worst of its spread.
      EXPECT_LE(c.spread.lower, 2 * cap * std::tanh(plain.spread.lower / (2 * cap)) * (1 + roundings));
      for (const auto& form : {c.joint, c.folded, c.product}) EXPECT_LE(c.spread.upper, form.upper_double());
    }
  }
}

TEST(BoundsCertificate, ASinkIsOneMoreItem) {
  HeadInMemory memory(small_head(0.05));
  const HeadCertificate plain = memory.certify({.items = 10});
  for (const double sink : {0.0, -3.0, 40.0}) {
    memory.checkpoint.put("sink", MatrixXd::Constant(1, 1, sink));
    memory.head.sink = {"sink", {0, 1}};
    const HeadCertificate c = memory.certify({.items = 10});
    ASSERT_EQ(c.sink, sink);
    EXPECT_EQ(c.spread.upper, plain.spread.upper);
    EXPECT_EQ(c.largest_coefficient.upper, plain.largest_coefficient.upper);
    EXPECT_EQ(c.largest_coefficient.lower, 0) << "a heavy sink leaves less than any row without it has";
    const Enclosure high(c.logit.upper);
    const double wide = std::max(c.spread.upper, theory::sink_spread(-high, high, Enclosure(sink)).upper_double());
    EXPECT_EQ(c.entropy_floor.lower, std::max(theory::entropy_floor(11, {wide, 0}).lower_double(), 0.0));
  }
}

// A number for each bucket of distances: no spread grows by more than the table's, and near keys reach theirs.
TEST(BoundsCertificate, ADistanceBiasIsAdded) {
  HeadInMemory memory(small_head(0.05));
  const HeadCertificate plain = memory.certify();
  MatrixXd table(8, 2);
  table.setConstant(50);  // of another head
  table.col(1) << 9, -1, 2, 0.5, 3, 0, -4, 1;
  memory.checkpoint.put("table", table);
  memory.head.distance_bias = models::DistanceBias{"table", 1};
  // A direction has 8 buckets, or 4: near ones are 1 to 3, or 1 and 5.
  for (const auto& [causal, low, high] : {std::tuple{true, -1.0, 2.0}, {false, -1.0, 0.0}}) {
    memory.head.causal = causal;
    const HeadCertificate c = memory.certify();
    EXPECT_NEAR(c.spread.upper, plain.spread.upper + 13, roundings * c.spread.upper);
    EXPECT_NEAR(c.joint.midpoint(), plain.joint.midpoint() + 13, roundings * c.spread.upper);
    EXPECT_NEAR(c.logit.upper, plain.logit.upper + 9, roundings * c.logit.upper);
    EXPECT_NEAR(c.spread.lower, plain.spread.lower + (high - low), roundings * c.spread.upper);
    EXPECT_NEAR(c.logit.lower, plain.logit.lower + std::min(high, -low), roundings * c.logit.upper);
    EXPECT_EQ(c.score.upper, plain.score.upper) << "a score is q . k alone";
  }
  // Too few items to stand at all near distances: nothing is said of where they stand.
  memory.model.context = 3;
  EXPECT_EQ(memory.certify().spread.lower, std::max(0.0, plain.spread.lower - 13));
}

// Both parts of a key may be the worst at once, each with an input of its own; nothing beyond both is allowed for.
TEST(BoundsCertificate, AKeyOfTwoPartsHasBoth) {
  Drawing drawing(37);
  for (const double size : {0.2, 1.0, 5.0}) {
    DrawnHead drawn{NormKind::rms_norm, drawing.matrix(4, 3), drawing.matrix(2, 5), {}, {}, {}, {}, 0.5};
    HeadInMemory memory(drawn);
    const MatrixXd turned = size * drawing.matrix(2, 3);
    memory.checkpoint.put("turned", turned);
    memory.checkpoint.put("ones", MatrixXd::Ones(1, 5));
    memory.head.key_norm = models::InputNorm{NormKind::rms_norm, {"ones", {0, 5}}};
    memory.head.turned_key.emplace().norm = *memory.head.input_norm;
    memory.head.turned_key->matrix = {"turned", {0, 2}};
    memory.head.rotary = models::Rotary{2, models::PlaneLayout::half_split};
    memory.head.rotary->frequencies = {{Enclosure(1)}};
    memory.model.head_dim = 4;
    const HeadCertificate c = memory.certify();
    EXPECT_EQ(c.spread.lower, 0);
    EXPECT_EQ(c.logit.lower, 0);
    double most = 0;
    for (int draw = 0; draw < 2000; ++draw) {
      const VectorXd q = drawn.query * (std::sqrt(3) * drawing.vector(3).normalized());
      const double own = std::sqrt(5) * (drawn.key.transpose() * q.head(2)).norm();
      for (int lag = 1; lag < 12; ++lag) {
        const Eigen::Vector2d back = Eigen::Rotation2Dd(lag) * Eigen::Vector2d(q.tail(2));
        most = std::max(most, 0.5 * (own + std::sqrt(3) * (turned.transpose() * back).norm()));
      }
    }
    EXPECT_LE(most, c.logit.upper);
    EXPECT_GE(most, 0.75 * c.logit.upper);
    EXPECT_LE(2 * most, c.spread.upper);
  }
}

// Several layers, two heads to a key, each with tensors of its own.
struct Layers {
  MemoryCheckpoint checkpoint;
  models::ModelDescription model;

  explicit Layers(int layers) {
    Drawing drawing(29);
    model = HeadInMemory(small_head(1)).model;
    for (int layer = 0; layer < layers; ++layer) {
      const std::string name = std::to_string(layer);
      checkpoint.put(name + ".q", drawing.matrix(16, 6));
      checkpoint.put(name + ".k", drawing.matrix(8, 6));
      checkpoint.put(name + ".gain", drawing.matrix(1, 6));
      for (int head = 0; head < 4; ++head) {
        models::HeadDescription description;
        description.layer = layer;
        description.head = head;
        description.key_head = head / 2;
        description.query = {name + ".q", {4 * head, 4}};
        description.key = {name + ".k", {4 * (head / 2), 4}};
        description.input_norm = models::InputNorm{NormKind::rms_norm, {name + ".gain", {0, 6}}};
        model.head_list.push_back(description);
      }
    }
  }
  models::CheckpointJob job(unsigned threads) const {
    models::CheckpointJob result;
    for (const models::HeadDescription& head : model.head_list) result.heads.push_back(&head);
    result.threads = threads;
    return result;
  }
};

bool same_bits(const HeadCertificate& a, const HeadCertificate& b) {
  const auto same = [](const models::Supremum& x, const models::Supremum& y) {
    return x.lower == y.lower && x.upper == y.upper;
  };
  return same(a.spread, b.spread) && same(a.logit, b.logit) && same(a.score, b.score) &&
         same(a.entropy_floor, b.entropy_floor) && same(a.largest_coefficient, b.largest_coefficient) &&
         same(a.dispersion_length_log10, b.dispersion_length_log10) &&
         a.product.upper_double() == b.product.upper_double() && a.folded.upper_double() == b.folded.upper_double() &&
         a.joint.upper_double() == b.joint.upper_double();
}

TEST(BoundsCertificate, ThreadsAndCachesChangeNoBit) {
  const Layers layers(5);
  const auto one = models::certify_heads(layers.checkpoint, layers.model, layers.job(1));
  const auto three = models::certify_heads(layers.checkpoint, layers.model, layers.job(3));
  for (std::size_t i = 0; i < one.size(); ++i) {
    const models::HeadDescription& head = layers.model.head_list[i];
    models::HeadReader fresh(layers.checkpoint);
    const HeadCertificate alone = models::certify_head(head, layers.model, fresh, {});
    ASSERT_TRUE(one[i] && three[i]);
    EXPECT_TRUE(same_bits(*one[i], *three[i])) << i;
    EXPECT_TRUE(same_bits(*one[i], alone)) << i;
    EXPECT_EQ(one[i]->head.layer, head.layer);
    EXPECT_EQ(one[i]->head.head, head.head);
    if (i > 0) {
      EXPECT_FALSE(same_bits(*one[i], *one[i - 1])) << i;
    }
  }
}

// Upper ends hold whatever rounding the caller has set.
TEST(BoundsCertificate, TheCallersRoundingIsOfNoMatter) {
  const HeadInMemory memory(small_head(1, true));
  const HeadCertificate nearest = memory.certify();
  std::fesetround(FE_DOWNWARD);
  const HeadCertificate down = memory.certify();
  std::fesetround(FE_TONEAREST);
  EXPECT_TRUE(same_bits(nearest, down));
}

TEST(BoundsCertificate, AStopKeepsWhatIsDone) {
  const Layers layers(4);
  std::atomic<int> asked = 0;
  int done = 0;
  models::CheckpointJob job = layers.job(1);
  job.stop = [&] { return ++asked > 6; };
  job.done = [&](std::size_t, const HeadCertificate&) { ++done; };
  const auto found = models::certify_heads(layers.checkpoint, layers.model, job);
  ASSERT_EQ(found.size(), 16U);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(found[i].has_value(), i < 6) << i;
  EXPECT_EQ(done, 6);
}

TEST(BoundsCertificate, AFailureOfAnyThreadIsTheCallers) {
  for (const unsigned threads : {1U, 3U}) {
    Layers layers(4);
    layers.checkpoint.broken = "2.k";
    EXPECT_THROW(models::certify_heads(layers.checkpoint, layers.model, layers.job(threads)), models::TensorFileError);
    layers.checkpoint.broken.clear();
    models::CheckpointJob job = layers.job(threads);
    job.done = [](std::size_t place, const HeadCertificate&) {
      if (place == 3) throw std::runtime_error("done");
    };
    EXPECT_THROW(models::certify_heads(layers.checkpoint, layers.model, job), std::runtime_error);
  }
}

TEST(BoundsCertificate, AReaderGoesOnBehindAFailure) {
  HeadInMemory memory(small_head(1, true));
  const HeadCertificate before = memory.certify();
  HeadInMemory other(small_head(1, true));
  models::HeadReader reader(memory.checkpoint);
  models::certify_head(memory.head, memory.model, reader, {});
  models::HeadDescription half = memory.head;
  memory.checkpoint.put("gain2", MatrixXd::Constant(1, 6, 50));
  half.input_norm->gain.tensor = "gain2";
  half.input_norm->offset.tensor = "not there";
  EXPECT_THROW(models::certify_head(half, memory.model, reader, {}), models::TensorFileError);
  EXPECT_TRUE(same_bits(models::certify_head(memory.head, memory.model, reader, {}), before));
  // The same key behind another norm is another key.
  half.input_norm->offset = memory.head.input_norm->offset;
  EXPECT_GT(models::certify_head(half, memory.model, reader, {}).spread.upper, 100 * before.spread.upper);
}

TEST(BoundsCertificate, WrongQuestionsAreRefused) {
  HeadInMemory memory(small_head(1));
  for (const double eps : {0.0, 1.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(memory.certify({.eps = eps}), std::invalid_argument);
  }
  memory.model.context = 0;
  EXPECT_THROW(memory.certify(), std::invalid_argument);
  memory.model.context = 5;
  memory.head.input_norm.reset();
  EXPECT_THROW(memory.certify(), std::invalid_argument);
}

// Stored numbers that are only known to a radius: every matrix within it is bounded.
TEST(BoundsCertificate, ARadiusOfStoredNumbersIsInTheBounds) {
  Drawing drawing(31);
  const DrawnHead drawn = drawing.head(3, 5, NormKind::layer_norm, true);
  HeadInMemory memory(drawn);
  const double radius = 0.01;
  memory.checkpoint.put("q", drawn.query, radius);
  memory.checkpoint.put("k", drawn.key, radius);
  const HeadCertificate wide = memory.certify();
  for (int round = 0; round < 200; ++round) {
    DrawnHead moved = drawn;
    moved.query += radius * drawing.matrix(3, 5).cwiseSign();
    moved.key += radius * drawing.matrix(3, 5).cwiseSign();
    const HeadCertificate exact = HeadInMemory(moved).certify();
    EXPECT_LE(exact.spread.lower, wide.spread.upper);
    EXPECT_LE(exact.logit.lower, wide.logit.upper);
    EXPECT_GE(exact.spread.upper, wide.spread.lower);
  }
  // The farthest key of the radius, which no draw comes near to.
  DrawnHead ones{NormKind::rms_norm, MatrixXd::Ones(1, 5), MatrixXd::Ones(1, 5), {}, {}, {}, {}, 1};
  HeadInMemory of_ones(ones);
  of_ones.checkpoint.put("k", ones.key, 0.1);
  ones.key *= 1.1;
  EXPECT_LE(HeadInMemory(ones).certify().spread.lower, of_ones.certify().spread.upper);
}

}  // namespace
}  // namespace softcheck::proptests
