#include "theory/small_transformer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "proptests/tests/theory/hard_rows.hpp"
#include "theory/attention_variants.hpp"

namespace softcheck::theory {
namespace {

using numerics::Enclosure;

SmallTransformerShape shape_with(AttentionMask mask, bool residual, Activation activation) {
  SmallTransformerShape shape = small_shape(11, mask, residual);
  shape.activation = activation;
  return shape;
}

// Paper eqs. (1)-(5) as they stand: every token on its own, softmax without a reference, nothing counted.
std::vector<std::vector<Enclosure>> token_by_token(const SmallTransformer& model, const std::vector<int>& symbols) {
  std::vector<std::vector<Enclosure>> tokens;
  for (int symbol : symbols) tokens.push_back(as_scalars<Enclosure>(model.embeddings.row(symbol).transpose()));
  for (const TransformerLayer& layer : model.layers) {
    std::vector<std::vector<Enclosure>> next;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::vector<Enclosure> z(tokens[i].size(), Enclosure(0));
      if (model.shape.residual) z = tokens[i];
      for (const AttentionHead& head : layer.heads) {
        const auto query = multiply(head.query, tokens[i]);
        const std::size_t visible = model.shape.mask == AttentionMask::bert ? tokens.size() : i + 1;
        Enclosure sum(0);
        for (std::size_t j = 0; j < visible; ++j) {
          sum += exp(dot(query, multiply(head.key, tokens[j])) / Enclosure(model.shape.theta));
        }
        for (std::size_t j = 0; j < visible; ++j) {
          const Enclosure alpha = exp(dot(query, multiply(head.key, tokens[j])) / Enclosure(model.shape.theta)) / sum;
          std::vector<Enclosure> value = multiply(head.value, tokens[j]);
          for (Enclosure& entry : value) entry *= alpha;
          z = add(std::move(z), value);
        }
      }
      next.push_back(apply_feedforward(model, layer, z));
    }
    tokens = std::move(next);
  }
  return tokens;
}

// Two enclosures of one number overlap at every precision; of two numbers they part at some: hence 512 bits.
void expect_same(const std::vector<Enclosure>& x, const std::vector<Enclosure>& y) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t c = 0; c < x.size(); ++c) EXPECT_TRUE(x[c].overlaps(y[c])) << x[c] << " and " << y[c];
}

TEST(SmallTransformer, CountedTokensHaveTheActivationsOfRepeatedOnes) {
  const numerics::PrecisionScope scope(512);
  for (bool residual : {false, true}) {
    for (Activation activation : {Activation::relu, Activation::tanh, Activation::gelu}) {
      const auto model = small_transformer(shape_with(AttentionMask::bert, residual, activation));
      const auto explicit_tokens = token_by_token(model, {2, 2, 2, 0, 1, 1, 2});
      const auto groups = token_groups(model, {{2, 3}, {0, 1}, {1, 2}, {2, 1}});
      ASSERT_EQ(groups.size(), 3U);
      const auto trace = forward<Enclosure>(model, groups);
      expect_same(trace.inputs.back()[0], explicit_tokens[0]);
      expect_same(trace.inputs.back()[0], explicit_tokens[6]);
      expect_same(trace.inputs.back()[1], explicit_tokens[3]);
      expect_same(trace.inputs.back()[2], explicit_tokens[5]);
    }
  }
}

TEST(SmallTransformer, TheFirstRunOfAGptSequenceIsOneGroup) {
  const numerics::PrecisionScope scope(512);
  const auto model = small_transformer(shape_with(AttentionMask::gpt, true, Activation::gelu));
  const auto explicit_tokens = token_by_token(model, {1, 1, 1, 1, 0, 1, 1});
  const auto groups = token_groups(model, {{1, 3}, {1, 1}, {0, 1}, {1, 2}});
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[0].count, 4);
  const auto trace = forward<Enclosure>(model, groups);
  expect_same(trace.inputs.back()[0], explicit_tokens[0]);
  for (std::size_t i = 0; i < 4; ++i) expect_same(trace.inputs.back()[i], explicit_tokens[i + 3]);
}

TEST(SmallTransformer, ALoneTokenOfShortNumbersIsExactInAnyScalar) {
  SmallTransformerShape shape = shape_with(AttentionMask::bert, true, Activation::relu);
  shape.heads = 1;
  shape.depth = 1;
  const auto model = small_transformer(shape);
  const auto in_double = forward<double>(model, {{1, 1}});
  const auto enclosed = forward<Enclosure>(model, {{1, 1048576}});
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_TRUE(enclosed.inputs.back()[0][c].is_point());
    EXPECT_TRUE(enclosed.inputs.back()[0][c].contains(in_double.inputs.back()[0][c]));
  }
}

TEST(SmallTransformer, GeluIsTheTanhForm) {
  const numerics::PrecisionScope scope(113);
  EXPECT_TRUE(gelu(Enclosure(0)).is_point());
  // x Phi(x) is odd up to x: gelu(x) - gelu(-x) = x for the tanh form too, tanh being odd.
  EXPECT_TRUE((gelu(Enclosure(3)) - gelu(Enclosure(-3))).contains(3.0));
  // 1/2 (1 + tanh(sqrt(2/pi) 1.044715)) = 0.84119199060827670478199577704518..., computed with mpmath at 50 digits.
  const Enclosure digits =
      hull(Enclosure::decimal("0.84119199060827670478199577"), Enclosure::decimal("0.84119199060827670478199578"));
  EXPECT_TRUE(digits.contains(gelu(Enclosure(1))));
}

TEST(SmallTransformer, RefusesWhatItCannotDescribe) {
  SmallTransformerShape shape;
  shape.vocabulary = 17;
  EXPECT_THROW(small_transformer(shape), std::invalid_argument);
  shape.vocabulary = 16;
  shape.width = 1;  // all sixteen short numbers are used, and the draw ends
  const auto model = small_transformer(shape);
  EXPECT_THROW(token_groups(model, {}), std::invalid_argument);
  EXPECT_THROW(token_groups(model, {{16, 1}}), std::invalid_argument);
  EXPECT_THROW(token_groups(model, {{0, 0.5}}), std::invalid_argument);
  EXPECT_THROW(token_groups(model, {{0, 0x1p900}, {0, 1}}), std::invalid_argument);
  shape.mask = AttentionMask::gpt;
  EXPECT_THROW(token_groups(small_transformer(shape), {{0, 1}, {1, 5000}}), std::invalid_argument);
  shape.theta = 0;
  EXPECT_THROW(small_transformer(shape), std::invalid_argument);
}

using numerics::Certificate;
using numerics::Verdict;

constexpr double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();

LevelRow row_of(std::vector<Level> levels) { return LevelRow(std::move(levels)); }

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
        expect_proved({certify_sink_coefficient(row, theta, sink)});
        expect_proved(certify_sink_entropy_floor(row, theta, sink));
        expect_proved(certify_sink_dispersion_length({row.largest(), row.smallest(), theta}, sink, 0.1));
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
