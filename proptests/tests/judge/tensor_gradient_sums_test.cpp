// The gradients of attention by its sinks and by its bias, at hand: sums over the heads and batches that share a
// number.
#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr const char* sinks_claim = "kernel.attention_backward.dsinks";
constexpr const char* bias_claim = "kernel.attention_backward.dbias";
constexpr std::size_t batches = 2, heads = 4, queries = 3, keys = 5, dim = 4, value_dim = 3;

// Every shape that is broadcast to (2, 4, 3, 5).
const std::vector<Shape>& bias_shapes() {
  static const std::vector<Shape> shapes{{2, 4, 3, 5}, {2, 1, 3, 5}, {1, 4, 3, 5}, {4, 3, 5}, {3, 5},
                                         {2, 1, 1, 5}, {5},          {1, 4, 1, 1}, {3, 1},    {}};
  return shapes;
}

// p (g - delta) of all pairs, in long double, and -p_sink delta of all queries, from the stored numbers.
struct PlainGradient {
  std::vector<long double> scores;  // (batches, heads, queries, keys)
  std::vector<long double> sinks;   // (batches, heads, queries)
};

long double product(double a, double b) { return static_cast<long double>(a) * static_cast<long double>(b); }

PlainGradient plain_gradient(const GivenGradient& s) {
  PlainGradient result;
  Shape full = s.bias.shape;
  full.insert(full.begin(), 4 - full.size(), 1);
  for (std::size_t row = 0; row < batches * heads * queries; ++row) {
    const std::size_t b = row / (heads * queries), h = row / queries % heads, i = row % queries;
    const std::size_t key_head = b * 2 + h / 2;
    const auto at = [](std::int64_t size, std::size_t index) { return size == 1 ? 0 : index; };
    std::array<long double, keys + 1> weight{}, g{};
    long double sum = 0, delta = 0;
    for (std::size_t j = 0; j <= keys; ++j) {
      long double score = static_cast<long double>(s.sinks.at(h));
      if (j < keys) {
        score = 0;
        for (std::size_t t = 0; t < dim; ++t)
          score += product(s.q.at(row * dim + t), s.k.at((key_head * keys + j) * dim + t));
        const std::size_t place =
            ((at(full[0], b) * static_cast<std::size_t>(full[1]) + at(full[1], h)) * static_cast<std::size_t>(full[2]) +
             at(full[2], i)) *
                static_cast<std::size_t>(full[3]) +
            at(full[3], j);
        score = score * static_cast<long double>(s.task.scale) + static_cast<long double>(s.bias.at(place));
        for (std::size_t c = 0; c < value_dim; ++c)
          g[j] += product(s.dout.at(row * value_dim + c), s.v.at((key_head * keys + j) * value_dim + c));
      }
      weight[j] = std::exp(score);
      sum += weight[j];
    }
    for (std::size_t j = 0; j <= keys; ++j) delta += weight[j] / sum * g[j];
    for (std::size_t j = 0; j < keys; ++j) result.scores.push_back(weight[j] / sum * (g[j] - delta));
    result.sinks.push_back(-weight[keys] / sum * delta);
  }
  return result;
}

TEST(TensorGradientSums, AreThoseOfAllPairsThatHaveTheNumber) {
  for (const Shape& shape : bias_shapes()) {
    GivenGradient sample(Format::f64);
    sample.add_terms(shape);
    const PlainGradient plain = plain_gradient(sample);
    Shape full = shape;
    full.insert(full.begin(), 4 - full.size(), 1);
    std::vector<long double> by_bias(elements_of(shape)), by_sinks(heads);
    for (std::size_t pair = 0; pair < plain.scores.size(); ++pair) {
      const std::array<std::size_t, 4> of{pair / 60, pair / 15 % 4, pair / 5 % 3, pair % 5};
      std::size_t place = 0;
      for (std::size_t k = 0; k < 4; ++k) {
        const auto size = static_cast<std::size_t>(full[k]);
        place = place * size + (size == 1 ? 0 : of[k]);
      }
      by_bias[place] += plain.scores[pair];
    }
    for (std::size_t row = 0; row < plain.sinks.size(); ++row) by_sinks[row / queries % heads] += plain.sinks[row];
    for (const std::size_t which : {std::size_t{3}, std::size_t{4}}) {
      const std::vector<long double>& expected = which == 3 ? by_sinks : by_bias;
      const auto [lower, upper, allowed] = ElementBounds(sample.task, sample.contract, which);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        // Long double keeps 11 bits more than the f64 contract, which adds at most 120 numbers.
        EXPECT_LE(std::fabs(lower[i] - static_cast<double>(expected[i])), allowed[i]) << which << ' ' << i;
        EXPECT_LE(lower[i], upper[i]);
        EXPECT_GT(allowed[i], 0);
        EXPECT_LT(allowed[i], 0x1p-40);
      }
    }
  }
}

TEST(TensorGradientSums, WhatIsRoundedCorrectlyPassesInEveryDtypeAndLayout) {
  for (const Format format : wide_formats) {
    for (const SampleLayout layout : {SampleLayout::compact, SampleLayout::reversed, SampleLayout::gaps}) {
      GivenGradient sample(format, layout);
      sample.add_terms({2, 1, 3, 5});
      sample.save();
      sample.rewrite(layout);
      const TensorJudgement judgement = sample.judged();
      EXPECT_TRUE(passes(judgement));
      EXPECT_EQ(judgement.judged, 24u + 20u + 4u + 6u);
      EXPECT_EQ(row_of_claim(judgement, sinks_claim).cases, 4u);
      EXPECT_EQ(row_of_claim(judgement, bias_claim).cases, 6u);
    }
  }
}

TEST(TensorGradientSums, WrongSumsFailAsWhatTheyAre) {
  for (const Shape& shape : bias_shapes()) {
    GivenGradient sample;
    sample.add_terms(shape);
    sample.rewrite();
    const std::vector<StoredTensor> right = sample.outputs;
    EXPECT_TRUE(passes(sample.judged()));
    for (const std::size_t which : {std::size_t{3}, std::size_t{4}}) {
      sample.outputs = right;
      sample.outputs[which].set(0, sample.outputs[which].at(0) + 0.25);
      const TensorJudgement judgement = sample.judged();
      EXPECT_EQ(judgement.failed, 1u);
      EXPECT_EQ(judgement.worst.at(0).finding.claim, which == 3 ? sinks_claim : bias_claim);
      EXPECT_EQ(row_of_claim(judgement, which == 3 ? bias_claim : sinks_claim).verdict, ReportVerdict::pass);
    }
  }
}

TEST(TensorGradientSums, ABatchOrAHeadThatIsLeftOutIsFound) {
  const auto failing = [](std::size_t first_row, std::size_t last_row, std::size_t which) {
    GivenGradient sample, part;
    sample.add_terms({3, 5});
    part.add_terms({3, 5});
    for (std::size_t i = first_row * 9; i < last_row * 9; ++i) part.dout.set(i, 0);
    part.task.inputs[3] = part.dout.held();
    part.rewrite();
    sample.rewrite();
    sample.outputs[which] = part.outputs[which];
    return sample.judged().failed;
  };
  EXPECT_EQ(failing(4, 8, 3), 4u);  // the second batch
  EXPECT_EQ(failing(4, 8, 4), 3u);
  EXPECT_EQ(failing(3, 4, 3), 1u);  // head 3 of the first
  EXPECT_EQ(failing(3, 4, 4), 3u);
}

TEST(TensorGradientSums, AWrongNumberIsShownAtItsPlace) {
  GivenGradient sample;
  sample.add_terms({2, 1, 3, 5});
  sample.rewrite();
  sample.outputs[4].set((1 * 3 + 2) * 5 + 3, 7);
  JudgedTensorRow worst = sample.judged().worst.at(0);
  EXPECT_EQ(worst.index, (Shape{1, 0, 2}));
  EXPECT_EQ(worst.finding.item, 3u);
  EXPECT_EQ(worst.row, 24u + 20u + 4u + 5u);
  sample.rewrite();
  sample.outputs[3].set(2, 7);
  worst = sample.judged().worst.at(0);
  EXPECT_EQ(worst.index, (Shape{2}));
  EXPECT_EQ(worst.row, 24u + 20u + 2u);
  EXPECT_FALSE(worst.finding.item);
}

TEST(TensorGradientSums, AnyOfTheTwoMayBeAtHand) {
  for (const std::vector<std::size_t>& asked : {std::vector<std::size_t>{3}, {4}, {}}) {
    GivenGradient sample;
    sample.add_terms({4, 3, 5});
    sample.task.asked = asked;
    sample.rewrite();
    EXPECT_TRUE(passes(sample.judged()));
    if (asked.empty()) continue;
    sample.outputs.back().set(0, 9);
    EXPECT_EQ(sample.judged().worst.at(0).finding.claim, asked[0] == 3 ? sinks_claim : bias_claim);
  }
}

TEST(TensorGradientSums, ASoftcapHasASlopeForDqAloneAndItsErrorsAreGranted) {
  GivenGradient sample;
  sample.add_terms({3, 5});
  sample.task.attributes.softcap = 0.5;
  sample.rewrite();
  EXPECT_TRUE(passes(sample.judged()));
  GivenGradient plain;
  plain.add_terms({3, 5});
  plain.rewrite();
  EXPECT_NE(plain.outputs[4].memory, sample.outputs[4].memory);
}

TEST(TensorGradientSums, WhatTakesNoPartIsZero) {
  GivenGradient sample;
  // Query 0 sees nothing, key 2 is seen by none.
  sample.mask = stored_mask({3, 5}, {0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1});
  sample.add(Role::mask, sample.mask);
  sample.add_terms({3, 5});
  sample.rewrite();
  EXPECT_TRUE(passes(sample.judged()));
  const std::vector<double> allowed = ElementBounds(sample.task, sample.contract, 4).allowed;
  EXPECT_EQ(allowed[0], 0);
  EXPECT_EQ(allowed[5 + 2], 0);
  EXPECT_GT(allowed[5], 0);
  for (const std::size_t number : {std::size_t{1}, std::size_t{5 + 2}}) {
    sample.rewrite();
    sample.outputs[4].set(number, 0x1p-140);
    const TensorJudgement judgement = sample.judged();
    EXPECT_EQ(judgement.worst.at(0).finding.claim, "kernel.masked_row");
    EXPECT_EQ(judgement.worst.at(0).index, (Shape{static_cast<std::int64_t>(number / 5)}));
  }
  // A head that sees nothing at all.
  GivenGradient blind;
  blind.mask = stored_mask({4, 1, 1}, {1, 0, 1, 1});
  blind.add(Role::mask, blind.mask);
  blind.add_terms({3, 5});
  blind.rewrite();
  EXPECT_TRUE(passes(blind.judged()));
  blind.outputs[3].set(1, 0x1p-140);
  EXPECT_EQ(blind.judged().worst.at(0).row, 24u + 20u + 1u);
}

TEST(TensorGradientSums, ANanReachesTheSumsItHasAPartInAndNoOthers) {
  GivenGradient sample;
  sample.task.causal = true;  // query i sees keys 0 to i + 2
  sample.add_terms({3, 5});
  sample.rewrite();
  const GivenGradient right = sample;
  sample.dout.set(((1 * 4 + 1) * 3 + 1) * 3, nan);  // batch 1, head 1, query 1
  sample.task.inputs[3] = sample.dout.held();
  EXPECT_EQ(row_of_claim(sample.judged(), "kernel.nan_row").verdict, ReportVerdict::fail);
  for (std::size_t t = 0; t < dim; ++t) sample.outputs[0].set(((1 * 4 + 1) * 3 + 1) * 4 + t, nan);
  for (std::size_t j = 0; j < 4; ++j) {
    for (std::size_t t = 0; t < dim; ++t) sample.outputs[1].set((2 * 5 + j) * 4 + t, nan);
    sample.outputs[2].set((2 * 5 + j) * 3, nan);
  }
  sample.outputs[3].set(1, nan);
  for (std::size_t j = 0; j < 4; ++j) sample.outputs[4].set(5 + j, nan);
  TensorJudgement judgement = sample.judged();
  EXPECT_TRUE(passes(judgement));
  // Key 4 of query 1 is seen by no query: still 0. Row 0 is judged as before.
  sample.outputs[4].set(5 + 4, 1);
  sample.outputs[4].set(0, 9);
  judgement = sample.judged();
  EXPECT_EQ(judgement.failed, 2u);
  sample.outputs[4] = right.outputs[4];
  EXPECT_EQ(sample.judged().failed, 1u);
  const auto [lower, upper, allowed] = ElementBounds(sample.task, sample.contract, 4);
  EXPECT_TRUE(std::isnan(lower[5 + 3]) && std::isnan(allowed[5 + 3]));
  EXPECT_FALSE(std::isnan(lower[0]) || std::isnan(allowed[0]) || std::isnan(lower[5 + 4]));
}

TEST(TensorGradientSums, WhatDoesNotFitIsRefused) {
  GivenGradient sample;
  sample.add_terms({3, 5});
  sample.rewrite();
  sample.outputs[4] = stored(Format::f32, {1, 3, 5}, std::vector<double>(15));
  EXPECT_EQ(sample.refusal(), "dbias: need shape (3, 5), got (1, 3, 5)");
  sample.rewrite();
  sample.outputs[3] = stored(Format::f16, {4}, std::vector<double>(4));
  EXPECT_EQ(sample.refusal(), "dsinks: need dtype f32, as the inputs are f32, got f16");
  sample.outputs.pop_back();
  EXPECT_EQ(sample.refusal(), "outputs: need dq, dk, dv, dsinks, dbias, got 4 tensors");
  GivenGradient without;
  without.rewrite();
  without.task.asked = {4};
  EXPECT_EQ(without.refusal(), "dbias: need bias among the inputs, got none");
  EXPECT_THROW(output_shape(without.task, 3), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::proptests
