// The language model forward and backward, by the kernels in f64, against its definition with derivatives carried
// along.
#include "experiments/language/language_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ostream>
#include <vector>

#include "experiments/language/language_parts.hpp"
#include "proptests/tests/experiments/language_by_definition.hpp"
// clang-format off
#include "experiments/language/language_pass.inl"
// clang-format on

namespace softcheck::experiments {

// As part of a test's name: the bytes of a design have padding.
static void PrintTo(const LanguageDesign& design, std::ostream* stream) {
  *stream << to_string(design.positions) << (design.adaptive ? " adaptive " : " plain ") << to_string(design.weights);
}

namespace {

const LanguageKernels& test_kernels() {
  static const LanguageKernels kernels(std::filesystem::path(SOFTCHECK_KERNEL_DIR) / "libsoftcheck_cpu_kernels.so");
  return kernels;
}

constexpr LanguageShape small{.layers = 2, .width = 16, .heads = 2, .inner = 32};

// Gains that are not 1, and weights of twice the size: scores that are neither all alike nor all decided.
std::vector<double> some_language_parameters(RandomWords& words) {
  const Floats drawn = initial_language_parameters(small, words);
  std::vector<double> parameters;
  for (const float value : drawn) parameters.push_back(value == 1 ? 0.5 + uniform(words) : 2.0 * value);
  return parameters;
}

TokenBatch some_texts() {
  TokenBatch batch;
  add_text(batch, "abba[\n", 2);
  add_text(batch, "xyzx9 8", 1);
  add_text(batch, "q\n", 1);
  return batch;
}

struct Tensor1 {
  std::size_t begin, end;
};

std::vector<Tensor1> tensors_of_small() {
  const LanguagePlaces places{small};
  std::vector<std::size_t> begins{places.embedding()};
  for (int layer = 0; layer < small.layers; ++layer) {
    for (const std::size_t begin :
         {places.input_norm(layer), places.projections(layer), places.projections(layer) + places.square(),
          places.projections(layer) + 2 * places.square(), places.output(layer), places.middle_norm(layer),
          places.gate(layer), places.down(layer)}) {
      begins.push_back(begin);
    }
  }
  begins.push_back(places.last_norm());
  begins.push_back(places.count());
  std::vector<Tensor1> tensors;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) tensors.push_back({begins[i], begins[i + 1]});
  return tensors;
}

// The kernels and Eigen round to 2^-53, the definition to 2^-64. The longest path adds at most 96 terms in each of some
// 15 products there and back, each error multiplied by what follows; 2^20 u, a million roundings of the full size, is
// far from any wrong formula.
constexpr LongReal rounding = 0x1p-33L;

class LanguageGradient : public ::testing::TestWithParam<LanguageDesign> {};

TEST_P(LanguageGradient, IsTheDerivativeOfTheDefinition) {
  const LanguageDesign& design = GetParam();
  RandomWords words(3);
  const std::vector<double> parameters = some_language_parameters(words);
  TokenBatch batch = some_texts();
  place_for_training(batch, design.positions, words);
  const TurnTable<double> turns(small);
  LanguageParts<double> parts(test_kernels(), design, batch);
  LanguageRoom<double> room;
  const TokensView view{
      batch.tokens(),  batch.ids.data(),    batch.positions.empty() ? nullptr : batch.positions.data(),
      batch.targets(), batch.places.data(), batch.labels.data()};
  std::vector<double> gradient(parameters.size(), std::nan(""));
  const double loss = language_loss<double>(small, parameters.data(), view, {turns.cosines.data(), turns.sines.data()},
                                            parts, room, gradient.data());

  std::vector<Derivative> moving(parameters.begin(), parameters.end());
  const DirectLanguage direct(design, moving);
  for (const Tensor1& tensor : tensors_of_small()) {
    LongReal expected = 0, size = 1;
    for (std::size_t i = 0; i < moving.size(); ++i) {
      const LongReal sign = i < tensor.begin || i >= tensor.end ? 0 : words() % 2 == 0 ? 1 : -1;
      moving[i].derivatives()(0) = sign;
      if (sign == 0) continue;
      expected += sign * gradient[i];
      size += std::fabs(gradient[i]);
    }
    const Derivative truth = direct.loss(batch);
    EXPECT_LE(std::fabs(truth.value() - loss), rounding * loss);
    EXPECT_LE(std::fabs(truth.derivatives()(0) - expected), rounding * size) << "the tensor from " << tensor.begin;
  }
}

INSTANTIATE_TEST_SUITE_P(
    OfEach, LanguageGradient,
    ::testing::Values(LanguageDesign{small, Positions::rotary, false},
                      LanguageDesign{small, Positions::randomised, true}, LanguageDesign{small, Positions::none, true},
                      LanguageDesign{small, Positions::rotary, false, HeadWeights::log_n},
                      LanguageDesign{small, Positions::rotary, false, HeadWeights::sink},
                      LanguageDesign{small, Positions::randomised, true, HeadWeights::sink},
                      LanguageDesign{small, Positions::rotary, false, HeadWeights::line},
                      LanguageDesign{small, Positions::rotary, false, head_weights.back().weights}));

struct FloatRun {
  float loss = 0;
  Floats gradient;
};

FloatRun run_in_float(const softcheck_language_lane& lane, const LanguageDesign& design, const Floats& parameters,
                      const TokenBatch& batch) {
  const TurnTable<float> turns(design.shape);
  LanguageParts<float> parts(test_kernels(), design, batch);
  FloatRun run{0, Floats(parameters.size())};
  run.loss = lane.loss_and_gradient(design.shape, parameters.data(), lane_batch(batch, turns), parts.calls(),
                                    run.gradient.data());
  return run;
}

// Each lane in f32 against the pass in f64. To first order, without cancellation, some eight products a layer there and
// back, of at most 96 terms, err by 2 * 8 * layers * 96 u of their sizes. A wrong lane is wrong by as much as the
// gradient itself.
TEST(LanguageModel, TheLanesAgreeWithDouble) {
  const LanguageDesign design{small, Positions::rotary, true};
  RandomWords words(3);
  const std::vector<double> drawn = some_language_parameters(words);
  const Floats parameters(drawn.begin(), drawn.end());
  const std::vector<double> exact(parameters.begin(), parameters.end());
  const TokenBatch batch = some_texts();
  const TurnTable<double> turns(small);
  LanguageParts<double> parts(test_kernels(), design, batch);
  LanguageRoom<double> room;
  std::vector<double> gradient(exact.size());
  language_loss<double>(small, exact.data(),
                        {batch.tokens(), batch.ids.data(), batch.positions.data(), batch.targets(), batch.places.data(),
                         batch.labels.data()},
                        {turns.cosines.data(), turns.sines.data()}, parts, room, gradient.data());
  double norm = 0;
  for (const double value : gradient) norm += value * value;
  std::vector<const softcheck_language_lane*> lanes{&softcheck_language_baseline};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) lanes.push_back(&softcheck_language_avx2);
  if (&language_lane() == &softcheck_language_avx512) lanes.push_back(&softcheck_language_avx512);
#endif
  for (const softcheck_language_lane* lane : lanes) {
    const FloatRun run = run_in_float(*lane, design, parameters, batch);
    double difference = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      difference += std::pow(static_cast<double>(run.gradient[i]) - gradient[i], 2);
    }
    EXPECT_LE(std::sqrt(difference / norm), 2 * 8 * small.layers * 96 * 0x1p-24) << lane->name;
  }
}

// A text's own logits have the same bits whatever stands beside it, and no later character changes an earlier one.
class LanguageNeighbours : public ::testing::TestWithParam<LanguageDesign> {};

TEST_P(LanguageNeighbours, AreNotSeenAndNoFuture) {
  const LanguageDesign& design = GetParam();
  RandomWords words(4);
  const Floats parameters = initial_language_parameters(small, words);
  const TurnTable<float> turns(small);
  const auto logits_of = [&](const TokenBatch& batch) {
    LanguageParts<float> parts(test_kernels(), design, batch);
    Floats logits(static_cast<std::size_t>(batch.targets()) * character_count);
    softcheck_language_baseline.forward(small, parameters.data(), lane_batch(batch, turns), parts.calls(),
                                        logits.data());
    return logits;
  };
  const auto row = [](const Floats& logits, int target) {
    const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(target) * character_count;
    return std::vector<float>(begin, begin + character_count);
  };
  TokenBatch alone, other_end, auxiliary;
  add_text(alone, "onetwo three", 3);
  add_text(other_end, "onetwo, four", 3);
  add_text(auxiliary, "beforeanything", 6);
  add_text(auxiliary, "onetwo three", 3);
  const Floats a = logits_of(alone), b = logits_of(other_end), c = logits_of(auxiliary);
  const auto near = [](const std::vector<float>& x, const std::vector<float>& y) {
    double most = 0, size = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      most = std::max(most, std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i])));
      size = std::max(size, std::fabs(static_cast<double>(x[i])));
    }
    // Eigen may add a column's terms in another order where it has other neighbours.
    return most <= 8 * small.layers * 96 * 0x1p-24 * size;
  };
  // "two" is predicted behind "one", "ontw": the fourth character differs and is seen from the fifth target on.
  for (int target = 0; target < 4; ++target) EXPECT_TRUE(near(row(a, target), row(b, target))) << target;
  EXPECT_FALSE(near(row(a, 4), row(b, 4)));
  for (int target = 0; target < alone.targets(); ++target) {
    EXPECT_TRUE(near(row(a, target), row(c, target + 8))) << target;
  }
}

INSTANTIATE_TEST_SUITE_P(OfEach, LanguageNeighbours,
                         ::testing::Values(LanguageDesign{small, Positions::rotary, true},
                                           LanguageDesign{small, Positions::rotary, false, HeadWeights::sink},
                                           LanguageDesign{small, Positions::rotary, false, HeadWeights::line},
                                           LanguageDesign{small, Positions::rotary, false,
                                                          head_weights.back().weights}));

TEST(LanguageModel, TheResponseIsPredictedAndNothingElse) {
  TokenBatch batch;
  add_text(batch, "abcd", 2);
  EXPECT_EQ(batch.ids, ids_of("abc"));
  EXPECT_EQ(batch.places, (std::vector<int>{1, 2}));
  EXPECT_EQ(batch.labels, ids_of("cd"));
  add_text(batch, "ef", 1);
  EXPECT_EQ(batch.places, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(batch.begins, (std::vector<std::int64_t>{0, 3, 4}));
}

TEST(LanguageModel, RandomPositionsRiseAndReachEverywhere) {
  RandomWords words(5);
  int largest = 0;
  for (int i = 0; i < 50; ++i) {
    TokenBatch batch;
    add_text(batch, "questionanswer", 8);
    place_for_training(batch, Positions::randomised, words);
    ASSERT_EQ(batch.positions.size(), 13U);
    for (std::size_t t = 1; t < batch.positions.size(); ++t) EXPECT_LT(batch.positions[t - 1], batch.positions[t]);
    EXPECT_GE(batch.positions.front(), 0);
    EXPECT_LT(batch.positions.back(), most_positions);
    largest = std::max(largest, batch.positions.back());
  }
  // 650 draws: the largest is below seven eighths of all with probability (7/8)^650 < 1e-37.
  EXPECT_GT(largest, most_positions / 8 * 7);
}

TEST(LanguageModel, BadShapesAndPositionsAreNamed) {
  EXPECT_NO_THROW(check_shape(LanguageShape{}));
  EXPECT_THROW(check_shape({.layers = most_layers + 1}), std::invalid_argument);
  EXPECT_THROW(check_shape({.layers = 1, .width = 130}), std::invalid_argument);
  EXPECT_THROW(check_shape({.layers = 1, .width = 128, .heads = 3}), std::invalid_argument);
  EXPECT_THROW(check_shape({.layers = 1, .width = 128, .heads = 4, .inner = 0}), std::invalid_argument);
  EXPECT_THROW(parse_positions("learned"), std::invalid_argument);
  EXPECT_THROW(parse_head_weights("linear"), std::invalid_argument);
  for (const auto& [weights, word, meaning] : head_weights) {
    EXPECT_EQ(parse_head_weights(word), weights);
    EXPECT_EQ(to_string(weights), word);
    EXPECT_NO_THROW(check_design({.shape = small, .weights = weights}));
  }
  EXPECT_NO_THROW(check_design({.shape = small, .adaptive = true, .weights = HeadWeights::sink}));
  for (const HeadWeights weights : {HeadWeights::line, head_weights.back().weights}) {
    EXPECT_THROW(check_design({.shape = small, .adaptive = true, .weights = weights}), std::invalid_argument);
  }
}

}  // namespace
}  // namespace softcheck::experiments
