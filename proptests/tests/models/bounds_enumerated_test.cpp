// What a first layer makes of every text: each pair of inputs, written out in long double, lies within what is
// certified, and lower ends are reached by inputs that one text can have.
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "models/bounds/certify_checkpoint.hpp"
#include "models/bounds/input_forms.hpp"
#include "proptests/tests/models/bounds_heads.hpp"
#include "proptests/tests/models/observed_heads.hpp"

namespace softcheck::proptests {
namespace {

// First layers whose tables a test chooses, and every pair of their inputs written out in long double.

using WideMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

/// A head and the tables before it.
struct Text {
  DrawnHead drawn;
  Eigen::MatrixXd tokens, positions, types;  // a row each; no rows: not added
  double epsilon = 1e-5;
  std::optional<models::Rotary> rotary;
  bool causal = false;

  HeadInMemory memory() const {
    HeadInMemory result(drawn);
    models::TokenInputs inputs{.tokens = "tokens", .epsilon = epsilon};
    result.checkpoint.put("tokens", tokens);
    if (positions.rows() > 0) {
      result.checkpoint.put("positions", positions);
      inputs.positions = "positions";
      inputs.position_rows = {1, positions.rows() - 1};  // the first is no item's
    }
    if (types.rows() > 0) {
      result.checkpoint.put("types", types);
      inputs.types = "types";
    }
    result.model.inputs = inputs;
    result.head.rotary = rotary;
    result.head.causal = causal;
    return result;
  }
  // Columns: z of every input, position by position, then type by type, then token by token.
  WideMatrix normed() const {
    const Eigen::Index places = std::max<Eigen::Index>(positions.rows() - 1, 1),
                       kinds = std::max<Eigen::Index>(types.rows(), 1);
    WideMatrix result(tokens.cols(), places * kinds * tokens.rows());
    Eigen::Index column = 0;
    for (Eigen::Index p = 0; p < places; ++p) {
      for (Eigen::Index t = 0; t < kinds; ++t) {
        for (Eigen::Index i = 0; i < tokens.rows(); ++i) {
          WideMatrix x = tokens.row(i).transpose().cast<long double>();
          if (positions.rows() > 0) x += positions.row(p + 1).transpose().cast<long double>();
          if (types.rows() > 0) x += types.row(t).transpose().cast<long double>();
          if (drawn.kind == models::NormKind::layer_norm) x.array() -= x.mean();
          result.col(column++) = x / std::sqrt(x.squaredNorm() / static_cast<long double>(x.size()) + epsilon);
        }
      }
    }
    return result;
  }
  Eigen::Index inputs_of_a_place() const { return tokens.rows() * std::max<Eigen::Index>(types.rows(), 1); }
  WideMatrix image(const Eigen::MatrixXd& weights, const Eigen::VectorXd& bias) const {
    const WideMatrix z = normed();
    const Eigen::VectorXd ones = Eigen::VectorXd::Ones(drawn.width());
    const Eigen::VectorXd gain = drawn.gain.size() != 0 ? drawn.gain : ones;
    WideMatrix inputs = gain.cast<long double>().asDiagonal() * z;
    if (drawn.offset.size() != 0) inputs.colwise() += drawn.offset.cast<long double>().col(0);
    WideMatrix result = weights.cast<long double>() * inputs;
    if (bias.size() != 0) result.colwise() += bias.cast<long double>().col(0);
    return result;
  }
};

models::HeadCertificate certified(const HeadInMemory& memory) {
  models::HeadCertificate certificate = memory.certify();
  models::enumerate_first_layer(memory.checkpoint, memory.model, {&certificate}, 2, {});
  return certificate;
}

struct Largest {
  long double spread = 0, logit = 0;       // over all inputs
  long double texts = 0, texts_logit = 0;  // of keys that one text can have
};

Largest written_out(const Text& text) {
  const WideMatrix queries = text.image(text.drawn.query, text.drawn.query_bias);
  const WideMatrix keys = text.image(text.drawn.key, text.drawn.key_bias);
  const WideMatrix logits = text.drawn.scale * (queries.transpose() * keys);
  const Eigen::Index place = text.inputs_of_a_place();
  Largest largest;
  for (Eigen::Index i = 0; i < logits.rows(); ++i) {
    largest.spread = std::max(largest.spread, logits.row(i).maxCoeff() - logits.row(i).minCoeff());
    largest.logit = std::max(largest.logit, logits.row(i).cwiseAbs().maxCoeff());
    for (Eigen::Index p = 0; p < logits.cols() / place; ++p) {
      const bool seen = text.causal ? p < i / place : p != i / place;
      if (!seen) continue;
      const auto of_place = logits.row(i).segment(p * place, place);
      largest.texts_logit = std::max(largest.texts_logit, of_place.cwiseAbs().maxCoeff());
      for (Eigen::Index other = 0; other < logits.cols() / place; ++other) {
        if (other == p || other == i / place || (text.causal && other > i / place)) continue;
        largest.texts =
            std::max(largest.texts, of_place.maxCoeff() - logits.row(i).segment(other * place, place).minCoeff());
      }
    }
  }
  return largest;
}

Text drawn_text(Drawing& drawing, models::NormKind kind, Eigen::Index tokens) {
  Text text{.drawn = drawing.head(4, 6, kind, true),
            .tokens = drawing.matrix(tokens, 6),
            .positions = {},
            .types = {},
            .rotary = {}};
  text.positions = 0.5 * drawing.matrix(5, 6);
  text.types = 0.5 * drawing.matrix(2, 6);
  return text;
}

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using models::HeadCertificate;
using models::NormKind;
using numerics::Enclosure;
using EnumeratedWide = WideMatrix;

// Sums of at most 32 products, three deep, in long double: 2^-50 of the sizes here is far above their rounding.
constexpr long double enumerated_room = 1 + 0x1p-50L;

TEST(BoundsEnumerated, EveryInputLiesWithinWhatIsCertified) {
  Drawing drawing(41);
  for (int round = 0; round < 24; ++round) {
    SCOPED_TRACE(round);
    Text text = drawn_text(drawing, round % 2 == 0 ? NormKind::layer_norm : NormKind::rms_norm, 2 + drawing.below(40));
    if (round % 3 == 1) text.types.resize(0, 6);
    text.causal = round % 4 == 3;
    // Small inputs, of which epsilon takes its share.
    if (round % 5 == 4) {
      for (MatrixXd* table : {&text.tokens, &text.positions, &text.types}) *table *= 0.003;
    }
    const HeadCertificate c = certified(text.memory());
    const Largest largest = written_out(text);
    ASSERT_TRUE(c.enumerated_spread && c.enumerated_logit);
    EXPECT_GE(c.enumerated_spread->upper * enumerated_room, largest.spread);
    EXPECT_GE(c.enumerated_logit->upper * enumerated_room, largest.logit);
    EXPECT_LE(c.enumerated_spread->lower, largest.texts * enumerated_room);
    EXPECT_LE(c.enumerated_logit->lower, largest.texts_logit * enumerated_room);
    EXPECT_LE(c.enumerated_spread->upper, c.spread.upper);
    EXPECT_LE(c.enumerated_logit->upper, c.logit.upper);
    EXPECT_GT(c.enumerated_spread->lower, 0);
    EXPECT_GT(c.enumerated_logit->lower, 0);
  }
}

// Keys as queries: the query's own place would reach most, and the two ends of a row often stand at one place.
TEST(BoundsEnumerated, LowerEndsAreReachedByTwoOtherItems) {
  Drawing drawing(71);
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(round);
    Text text = drawn_text(drawing, NormKind::rms_norm, 4);
    text.drawn.key = text.drawn.query;
    text.drawn.key_bias = text.drawn.query_bias;
    text.types.resize(0, 6);
    (round % 2 == 0 ? text.positions : text.tokens) *= 3;
    text.causal = round % 3 == 0;
    const HeadCertificate c = certified(text.memory());
    const Largest largest = written_out(text);
    EXPECT_LE(c.enumerated_spread->lower, largest.texts * enumerated_room);
    EXPECT_LE(c.enumerated_logit->lower, largest.texts_logit * enumerated_room);
    // Every one of the 16 inputs is in the sample, and tried as the query.
    EXPECT_GE(c.enumerated_spread->lower * (1 + 0x1p-40), largest.texts);
    EXPECT_GE(c.enumerated_logit->lower * (1 + 0x1p-40), largest.texts_logit);
  }
}

// Queries and keys of one number: the largest logit is the product of both maxima, and no more than roundings lie
// between it and the bound, 2^-53 times a few hundred operations, the square of |M| W / |g| (below 30 here) and W^2.
TEST(BoundsEnumerated, HeadsOfOneNumberAreExact) {
  Drawing drawing(73);
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    Text text = drawn_text(drawing, round % 2 == 0 ? NormKind::layer_norm : NormKind::rms_norm, 20);
    text.drawn.query = drawing.matrix(1, 6);
    text.drawn.key = drawing.matrix(1, 6);
    text.drawn.query_bias = drawing.vector(1);
    text.drawn.key_bias = drawing.vector(1);
    const HeadCertificate c = certified(text.memory());
    const Largest largest = written_out(text);
    EXPECT_GE(c.enumerated_logit->upper * enumerated_room, largest.logit);
    EXPECT_LE(c.enumerated_logit->upper, largest.logit * (1 + 0x1p-28L));
  }
}

// The widest token stands in the last block, which is shorter than the others.
TEST(BoundsEnumerated, EveryTokenCounts) {
  Drawing drawing(43);
  for (const Index last : {Index{0}, Index{255}, Index{256}, Index{599}}) {
    Text text = drawn_text(drawing, NormKind::rms_norm, 600);
    text.tokens *= 0.001;
    text.positions *= 0.001;
    text.types *= 0.001;
    text.epsilon = 1;
    text.drawn.offset.setZero();
    text.drawn.query_bias.setZero();
    text.drawn.key_bias.setZero();
    text.tokens.row(last) *= 20000;
    const HeadCertificate c = certified(text.memory());
    Text alone = text;
    alone.tokens = text.tokens.row(last).replicate(2, 1);
    EXPECT_GE(c.enumerated_logit->upper * enumerated_room, written_out(alone).logit) << last;
    EXPECT_GE(c.enumerated_spread->upper * enumerated_room, written_out(alone).spread) << last;
    EXPECT_LE(c.enumerated_logit->upper, c.logit.upper);
  }
}

// Rotated heads: the keys of every token at lags of -300 ... -1, and no two keys at one place.
TEST(BoundsEnumerated, TurnedKeysLieWithinWhatIsCertified) {
  Drawing drawing(47);
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    Text text = drawn_text(drawing, round % 2 == 0 ? NormKind::rms_norm : NormKind::layer_norm, 12);
    text.positions.resize(0, 6);
    text.types.resize(0, 6);
    text.causal = true;
    text.rotary = models::Rotary{round % 3 == 2 ? 2 : 4, models::PlaneLayout::half_split};
    text.rotary->frequencies = {{Enclosure(1), Enclosure(0.1)}};
    text.rotary->frequencies[0].resize(static_cast<std::size_t>(text.rotary->width / 2), Enclosure(1));
    const HeadCertificate c = certified(text.memory());
    const EnumeratedWide queries = text.image(text.drawn.query, text.drawn.query_bias);
    const EnumeratedWide keys = text.image(text.drawn.key, text.drawn.key_bias);
    const Index half = text.rotary->width / 2;
    EnumeratedWide high(queries.cols(), 300), low(queries.cols(), 300);
    for (Index lag = 1; lag <= 300; ++lag) {
      EnumeratedWide turned = keys;
      for (Index p = 0; p < half; ++p) {
        const double frequency = text.rotary->frequencies[0][static_cast<std::size_t>(p)].midpoint();
        const long double angle = -static_cast<long double>(lag) * frequency;
        turned.row(p) = std::cos(angle) * keys.row(p) - std::sin(angle) * keys.row(p + half);
        turned.row(p + half) = std::sin(angle) * keys.row(p) + std::cos(angle) * keys.row(p + half);
      }
      const EnumeratedWide logits = text.drawn.scale * (queries.transpose() * turned);
      high.col(lag - 1) = logits.rowwise().maxCoeff();
      low.col(lag - 1) = logits.rowwise().minCoeff();
    }
    long double spread = 0, near = 0;  // near: of lags that are searched, all of them with every token
    for (Index i = 0; i < high.rows(); ++i) {
      for (Index lag = 0; lag < 300; ++lag) {
        for (Index other = 0; other < 300; ++other) {
          if (lag == other) continue;
          spread = std::max(spread, high(i, lag) - low(i, other));
          if (lag < 64 && other < 64) near = std::max(near, high(i, lag) - low(i, other));
        }
      }
    }
    const long double logit = std::max(high.maxCoeff(), -low.minCoeff());
    EXPECT_GE(c.enumerated_spread->upper * enumerated_room, spread);
    EXPECT_GE(c.enumerated_logit->upper * enumerated_room, logit);
    EXPECT_LE(c.enumerated_spread->lower, spread * enumerated_room);
    EXPECT_GE(c.enumerated_spread->lower * (1 + 0x1p-40), near);
    EXPECT_LE(c.enumerated_logit->lower, logit * enumerated_room);
    EXPECT_LE(c.enumerated_spread->upper, c.spread.upper);
  }
}

// Stored weights that are known to a radius.
TEST(BoundsEnumerated, ARadiusOfStoredNumbersIsInTheBounds) {
  Text ones;
  ones.drawn = {NormKind::rms_norm, MatrixXd::Ones(1, 5), MatrixXd::Ones(1, 5), {}, {}, {}, {}, 1};
  ones.tokens = MatrixXd::Ones(3, 5);
  ones.tokens.row(1) *= -1;
  ones.positions = MatrixXd::Zero(4, 5);
  HeadInMemory memory = ones.memory();
  memory.checkpoint.put("k", ones.drawn.key, 0.1);
  const HeadCertificate wide = certified(memory);
  ones.drawn.key *= 1.1;
  const Largest largest = written_out(ones);
  EXPECT_GE(wide.enumerated_logit->upper * enumerated_room, largest.logit);
  EXPECT_GE(wide.enumerated_spread->upper * enumerated_room, largest.spread);
}

TEST(BoundsEnumerated, TooFewItemsReachNothing) {
  Drawing drawing(53);
  const Text text = drawn_text(drawing, NormKind::layer_norm, 20);
  for (const std::int64_t context : {1, 2, 3}) {
    HeadInMemory memory = text.memory();
    memory.model.context = context;
    const HeadCertificate c = certified(memory);
    EXPECT_EQ(c.enumerated_logit->lower > 0, context >= 2);
    EXPECT_EQ(c.enumerated_spread->lower > 0, context >= 3);
  }
}

TEST(BoundsEnumerated, FormsAreDualForCertain) {
  Drawing drawing(59);
  for (int round = 0; round < 50; ++round) {
    const Index n = 1 + drawing.below(12);
    const MatrixXd l = drawing.matrix(n, n);
    const models::DualPair pair = models::dual_pair(l);
    const EnumeratedWide exact = l.cast<long double>().transpose().inverse();
    EXPECT_LE((exact - pair.key.cast<long double>()).norm(), pair.key_radius);
    EXPECT_LE(pair.key_radius, 1e-6 * pair.key.norm());
  }
  EXPECT_THROW(models::dual_pair(MatrixXd::Zero(3, 3)), std::range_error);
}

TEST(BoundsEnumerated, ModelsWithoutATableOfInputsAreRefused) {
  Drawing drawing(61);
  HeadInMemory memory = drawn_text(drawing, NormKind::layer_norm, 20).memory();
  HeadCertificate certificate = memory.certify();
  memory.model.inputs.reset();
  EXPECT_THROW(models::enumerate_first_layer(memory.checkpoint, memory.model, {&certificate}, 1, {}),
               models::UnsupportedTensorFile);
  certificate.head.layer = 1;  // no head of layer 0: nothing to enumerate
  models::enumerate_first_layer(memory.checkpoint, memory.model, {&certificate}, 1, {});
  EXPECT_FALSE(certificate.enumerated_spread);
}

// Parts that cancel but for a few roundings: no bound of such an input is certain.
TEST(BoundsEnumerated, PartsThatCancelAreRefused) {
  Drawing drawing(67);
  Text text = drawn_text(drawing, NormKind::rms_norm, 20);
  text.epsilon = 1e-30;
  text.types.resize(0, 6);
  text.tokens.row(7) = -text.positions.row(2);
  HeadInMemory memory = text.memory();
  HeadCertificate certificate = memory.certify();
  EXPECT_THROW(models::enumerate_first_layer(memory.checkpoint, memory.model, {&certificate}, 1, {}), std::range_error);
}

// Numbers whose squares overflow have no computed norm, and must not pass for the smallest ones.
TEST(BoundsEnumerated, WhatOverflowsIsRefused) {
  Drawing drawing(68);
  Text text = drawn_text(drawing, NormKind::rms_norm, 20);
  text.tokens.row(7) *= 1e160;
  HeadInMemory memory = text.memory();
  HeadCertificate certificate = memory.certify();
  EXPECT_THROW(models::enumerate_first_layer(memory.checkpoint, memory.model, {&certificate}, 1, {}), std::range_error);
}

// Forward passes of transformers: what layer 0 observed lies within the enumeration, which is narrower than the ball.
TEST(BoundsEnumerated, ForwardPassesLieWithinTheEnumeration) {
  int enumerated = 0;
  for (const std::filesystem::path& folder : models::observed_folders()) {
    if (std::filesystem::exists(folder / "model.gguf")) continue;
    SCOPED_TRACE(folder.filename().string());
    const auto checkpoint = models::open_checkpoint(folder);
    const models::ModelDescription model = models::describe(*checkpoint);
    if (!model.inputs) continue;
    ++enumerated;
    const auto observed = models::read_observed(folder);
    models::HeadReader reader(*checkpoint);
    for (const models::HeadDescription& head : model.head_list) {
      if (head.layer != 0) continue;
      HeadCertificate c = models::certify_head(head, model, reader, {});
      models::enumerate_first_layer(*checkpoint, model, {&c}, 1, {});
      // What f32 can add to q . k, as observe_test.cpp derives it.
      const auto size = [](const models::ProjectionValues& values) {
        return (values.sigma * values.input_norm + values.bias_norm).upper_double();
      };
      const double gamma = (4 * static_cast<double>(model.hidden) + 64) * 0x1p-24;
      const double f32_room = c.scale.upper_double() * 2 * gamma * std::sqrt(static_cast<double>(model.head_dim)) *
                              size(reader.query(head)) * size(reader.key(head));
      const models::ObservedTensor &q = observed.at("input.0.layers.0.query"), &k = observed.at("input.0.layers.0.key");
      for (std::int64_t i = 0; i < q.shape[0]; ++i) {
        double high = -1e300, low = 1e300;
        for (std::int64_t j = 0; j < (head.causal ? i + 1 : k.shape[0]); ++j) {
          if (head.window && i - j >= static_cast<std::int64_t>(*head.window)) continue;
          double dot = 0;
          for (std::int64_t x = 0; x < q.shape[2]; ++x) dot += q.at(i, head.head, x) * k.at(j, head.key_head, x);
          const double logit = head.scale.midpoint() * dot;
          high = std::max(high, logit);
          low = std::min(low, logit);
          EXPECT_LE(std::fabs(logit), c.enumerated_logit->upper + f32_room);
        }
        EXPECT_LE(high - low, c.enumerated_spread->upper + 2 * f32_room);
      }
      EXPECT_LT(c.enumerated_spread->upper, c.spread.upper);
    }
  }
  EXPECT_GE(enumerated, 10);
}

}  // namespace
}  // namespace softcheck::proptests
