// The language model forward and backward, by the kernels in f64, against its definition with derivatives carried
// along.
#include "experiments/language/language_model.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <unsupported/Eigen/AutoDiff>
#include <vector>

#include "experiments/language/language_parts.hpp"
// clang-format off
#include "experiments/language/language_pass.inl"
// clang-format on

namespace softcheck::experiments {
namespace {

using LongReal = long double;
using Derivative = Eigen::AutoDiffScalar<Eigen::Matrix<LongReal, 1, 1>>;  // a value and its slope in one direction

const LanguageKernels& test_kernels() {
  static const LanguageKernels kernels(std::filesystem::path(SOFTCHECK_KERNEL_DIR) / "libsoftcheck_cpu_kernels.so");
  return kernels;
}

// Llama by its definition, a token at a time and without any matrix, and Fig. 4's temperature.
class DirectLanguage {
 public:
  using Vector = std::vector<Derivative>;

  DirectLanguage(const LanguageDesign& design, const Vector& parameters)
      : design_(design), places_{design.shape}, parameters_(parameters) {}

  Derivative loss(const TokenBatch& batch) const {
    Derivative total(0);
    for (int text = 0; text < batch.texts(); ++text) {
      const auto begin = static_cast<std::size_t>(batch.begins[static_cast<std::size_t>(text)]);
      const auto end = static_cast<std::size_t>(batch.begins[static_cast<std::size_t>(text) + 1]);
      const std::vector<Vector> behind = run(batch, begin, end);
      for (std::size_t i = 0; i < batch.places.size(); ++i) {
        const auto place = static_cast<std::size_t>(batch.places[i]);
        if (place < begin || place >= end) continue;
        total += minus_log_probability(normed(behind[place - begin], places_.last_norm()), batch.labels[i]);
      }
    }
    return total / LongReal(batch.targets());
  }

 private:
  Derivative dot(std::size_t row, const Vector& x) const {
    Derivative sum(0);
    for (std::size_t i = 0; i < x.size(); ++i) sum += parameters_[row + i] * x[i];
    return sum;
  }
  Vector product(std::size_t matrix, int rows, const Vector& x) const {
    Vector out;
    for (int row = 0; row < rows; ++row) out.push_back(dot(matrix + static_cast<std::size_t>(row) * x.size(), x));
    return out;
  }
  Vector normed(const Vector& x, std::size_t gain) const {
    Derivative squares(0);
    for (const Derivative& value : x) squares += value * value;
    const Derivative root = sqrt(squares / LongReal(x.size()) + LongReal(norm_epsilon));
    Vector out;
    for (std::size_t i = 0; i < x.size(); ++i) out.push_back(parameters_[gain + i] * x[i] / root);
    return out;
  }
  // (q_i, q_{i + half}) turned by position base^(-2 i / dim): the way of transformers' rotate_half.
  void turn_head(Vector& x, std::size_t first, int position) const {
    const auto dim = static_cast<std::size_t>(design_.shape.head_width());
    for (std::size_t i = 0; i < dim / 2; ++i) {
      const double angle = position * std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
      const LongReal c = std::cos(angle), s = std::sin(angle);
      const Derivative a = x[first + i], b = x[first + dim / 2 + i];
      x[first + i] = a * c - b * s;
      x[first + dim / 2 + i] = b * c + a * s;
    }
  }
  static Derivative entropy(const Vector& p) {
    Derivative h(0);
    for (const Derivative& value : p) {
      if (value.value() > 0) h -= value * log(value);
    }
    return h;
  }
  static Derivative temperature(const Vector& p) {
    const Derivative h = entropy(p);
    const Derivative polynomial = ((Derivative(-0.037L) * h + 0.481L) * h - 2.3L) * h * h + 4.917L * h - 1.791L;
    return h.value() > 0.5L && polynomial.value() > 1 ? polynomial : Derivative(1);
  }
  static Derivative line(const Vector& p) {
    const Derivative h = entropy(p);
    return h.value() > (1 - 0.346L) / 0.888L ? Derivative(0.346L + 0.888L * h) : Derivative(1);
  }
  static Vector softmax(const Vector& x, const Derivative& beta) {
    Vector p;
    Derivative sum(0);
    for (const Derivative& value : x) {
      p.push_back(exp(value * beta));
      sum += p.back();
    }
    for (Derivative& value : p) value /= sum;
    return p;
  }
  // What a head of token i sees of tokens 0 ... i.
  void see(const std::vector<Vector>& projected, std::size_t i, std::size_t head, Vector& out) const {
    const auto d = static_cast<std::size_t>(design_.shape.width),
               dim = static_cast<std::size_t>(design_.shape.head_width());
    Vector scores;
    for (std::size_t j = 0; j <= i; ++j) {
      Derivative score(0);
      for (std::size_t c = head * dim; c < (head + 1) * dim; ++c) score += projected[i][c] * projected[j][d + c];
      scores.push_back(score / std::sqrt(static_cast<LongReal>(dim)));
      if (design_.weights == HeadWeights::log_n) scores.back() *= std::log(LongReal(i + 1)) / std::log(LongReal(256));
    }
    // Behind the others, where the sum over their values ends before it.
    if (design_.weights == HeadWeights::sink) scores.emplace_back(0);
    Vector p = softmax(scores, Derivative(1));
    if (design_.weights == HeadWeights::line) p = softmax(scores, line(p));
    if (design_.adaptive) p = softmax(scores, temperature(p));
    for (std::size_t c = head * dim; c < (head + 1) * dim; ++c) {
      for (std::size_t j = 0; j <= i; ++j) out[c] += p[j] * projected[j][2 * d + c];
    }
  }
  std::vector<Vector> run(const TokenBatch& batch, std::size_t begin, std::size_t end) const {
    const int d = design_.shape.width, f = design_.shape.inner;
    std::vector<Vector> x;
    for (std::size_t t = begin; t < end; ++t) {
      const auto row = parameters_.begin() + static_cast<std::ptrdiff_t>(batch.ids[t]) * d;
      x.emplace_back(row, row + d);
    }
    for (int layer = 0; layer < design_.shape.layers; ++layer) {
      std::vector<Vector> projected;
      for (std::size_t t = 0; t < x.size(); ++t) {
        projected.push_back(product(places_.projections(layer), 3 * d, normed(x[t], places_.input_norm(layer))));
        for (int head = 0; head < 2 * design_.shape.heads && !batch.positions.empty(); ++head) {
          turn_head(projected[t], static_cast<std::size_t>(head * design_.shape.head_width()),
                    batch.positions[begin + t]);
        }
      }
      for (std::size_t t = 0; t < x.size(); ++t) {
        Vector seen(static_cast<std::size_t>(d), Derivative(0));
        for (int head = 0; head < design_.shape.heads; ++head) see(projected, t, static_cast<std::size_t>(head), seen);
        add(x[t], product(places_.output(layer), d, seen));
        const Vector both = product(places_.gate(layer), 2 * f, normed(x[t], places_.middle_norm(layer)));
        Vector inner;
        for (int i = 0; i < f; ++i) {
          const Derivative gate = both[static_cast<std::size_t>(i)];
          inner.push_back(gate / (LongReal(1) + exp(-gate)) * both[static_cast<std::size_t>(f + i)]);
        }
        add(x[t], product(places_.down(layer), d, inner));
      }
    }
    return x;
  }
  static void add(Vector& x, const Vector& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }
  Derivative minus_log_probability(const Vector& x, int label) const {
    const Vector logits = product(places_.embedding(), character_count, x);
    Derivative sum(0);
    for (const Derivative& logit : logits) sum += exp(logit);
    return log(sum) - logits[static_cast<std::size_t>(label)];
  }

  const LanguageDesign& design_;
  LanguagePlaces places_;
  const Vector& parameters_;
};

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

INSTANTIATE_TEST_SUITE_P(OfEach, LanguageGradient,
                         ::testing::Values(LanguageDesign{small, Positions::rotary, false},
                                           LanguageDesign{small, Positions::randomised, true},
                                           LanguageDesign{small, Positions::none, true},
                                           LanguageDesign{small, Positions::rotary, false, HeadWeights::log_n},
                                           LanguageDesign{small, Positions::rotary, false, HeadWeights::sink},
                                           LanguageDesign{small, Positions::randomised, true, HeadWeights::sink},
                                           LanguageDesign{small, Positions::rotary, false, HeadWeights::line}));

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
TEST(LanguageModel, ATextSeesNeitherItsNeighboursNorItsFuture) {
  const LanguageDesign design{small, Positions::rotary, true};
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
  TokenBatch alone, other_end, beside;
  add_text(alone, "onetwo three", 3);
  add_text(other_end, "onetwo, four", 3);
  add_text(beside, "beforeanything", 6);
  add_text(beside, "onetwo three", 3);
  const Floats a = logits_of(alone), b = logits_of(other_end), c = logits_of(beside);
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
  for (const HeadWeights weights : {HeadWeights::softmax, HeadWeights::log_n, HeadWeights::sink}) {
    EXPECT_EQ(parse_head_weights(to_string(weights)), weights);
  }
}

}  // namespace
}  // namespace softcheck::experiments
