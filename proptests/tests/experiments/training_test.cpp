// Training repeats bit for bit, goes on where it was stopped, learns, and leaves the floating-point environment alone.
#include "experiments/training.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "experiments/network_lane.hpp"
#include "experiments/network_tensors.hpp"
#include "numerics/formats/fp_environment.hpp"

namespace softcheck::experiments {
namespace {

using ::testing::HasSubstr;

TrainingOptions short_training(std::int64_t steps) {
  TrainingOptions options;
  options.steps = steps;
  options.sets_per_step = 16;
  return options;
}

bool keep_on(const TrainingState&, float) { return true; }

std::vector<std::uint32_t> bits_of(const Floats& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

std::filesystem::path scratch(const char* name) {
  return std::filesystem::path(::testing::TempDir()) / (std::string(name) + "." + std::to_string(getpid()));
}

TEST(Training, TheSameSeedGivesTheSameBits) {
  const TrainingOptions options = short_training(20);
  TrainingState a = start_training(options);
  train(a, options, keep_on);
  // Elsewhere on the heap, too.
  std::vector<std::vector<char>> between;
  for (std::size_t size = 8; size <= 64; size += 8) {
    between.emplace_back(size);
    TrainingState b = start_training(options);
    between.emplace_back(3 * size);
    train(b, options, keep_on);
    ASSERT_EQ(bits_of(a.parameters), bits_of(b.parameters));
  }
  TrainingOptions other = options;
  other.seed = 2;
  TrainingState c = start_training(other);
  train(c, other, keep_on);
  EXPECT_NE(bits_of(a.parameters), bits_of(c.parameters));
}

TEST(Training, ACheckpointGoesOnAsIfNothingHadHappened) {
  const TrainingOptions options = short_training(20);
  TrainingState whole = start_training(options);
  train(whole, options, keep_on);

  TrainingState stopped = start_training(options);
  train(stopped, options, [](const TrainingState& state, float) { return state.step < 7; });
  EXPECT_EQ(stopped.step, 7);
  const std::filesystem::path path = scratch("checkpoint");
  write_checkpoint(path, stopped, options);
  TrainingState resumed = read_checkpoint(path, options);
  EXPECT_EQ(resumed.step, 7);
  train(resumed, options, keep_on);
  EXPECT_EQ(bits_of(whole.parameters), bits_of(resumed.parameters));
  EXPECT_EQ(bits_of(whole.second_moment), bits_of(resumed.second_moment));

  TrainingOptions other = options;
  other.lambda = 0.5;
  EXPECT_THAT([&] { read_checkpoint(path, other); },
              ::testing::ThrowsMessage<models::TensorFileError>(HasSubstr("lambda=0.5")));
  std::filesystem::remove(path);
}

TEST(Training, ItLearns) {
  TrainingOptions options = short_training(300);
  options.decay = Decay::none;
  TrainingState state = start_training(options);
  double first = 0, last = 0;
  train(state, options, [&](const TrainingState& now, float loss) {
    (now.step <= 20 ? first : last) += now.step <= 20 || now.step > 280 ? loss / 20 : 0;
    return true;
  });
  // Who guesses among k classes has a cross-entropy of ln k: at first among nearly ten, then among fewer than five.
  EXPECT_GT(first, std::log(5));
  EXPECT_LT(last, std::log(5));
}

TEST(Training, EveryReadingOfTheDecayDoesSomethingElse) {
  std::vector<std::vector<std::uint32_t>> results;
  for (const Decay decay : {Decay::loss, Decay::half_loss, Decay::decoupled, Decay::none}) {
    TrainingOptions options = short_training(2);
    options.decay = decay;
    TrainingState state = start_training(options);
    train(state, options, keep_on);
    results.push_back(bits_of(state.parameters));
    for (std::size_t i = 0; i + 1 < results.size(); ++i) EXPECT_NE(results[i], results.back());
  }
}

TEST(Training, TheFloatingPointEnvironmentIsLeftAsFound) {
  const TrainingOptions options = short_training(2);
  TrainingState state = start_training(options);
  volatile float subnormal = 0x1p-130F;
  train(state, options, [&](const TrainingState&, float) {
    EXPECT_GT(subnormal * 0.5F, 0) << "subnormals are flushed outside of the loop";
    return true;
  });
  EXPECT_GT(subnormal * 0.5F, 0);
}

// The lanes add in other orders. To first order, without cancellation, ten layers there and back of sums of at most 128
// terms err by 20 * 128 u of their sizes. A wrong lane is wrong by as much as the gradient itself.
TEST(Training, TheLanesAgree) {
  std::vector<const softcheck_network_lane*> others;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) others.push_back(&softcheck_network_avx2);
  if (training_instructions() == "avx512") others.push_back(&softcheck_network_avx512);
#endif
  if (others.empty()) GTEST_SKIP() << "one lane only on this machine";
  RandomWords words(5);
  const Floats parameters = initial_parameters(words);
  const RetrievalSets sets = draw_sets(9, 8, words);
  const auto gradient_by = [&](const softcheck_network_lane& lane) {
    Floats gradient(parameter_count);
    lane.loss_and_gradient(parameters.data(), sets.size, sets.count, sets.items.data(), sets.queries.data(),
                           sets.targets.data(), static_cast<int>(HeadKind::softmax), gradient.data());
    return gradient;
  };
  const Floats expected = gradient_by(softcheck_network_baseline);
  double norm = 0;
  for (const float value : expected) norm += static_cast<double>(value) * value;
  for (const softcheck_network_lane* lane : others) {
    const Floats got = gradient_by(*lane);
    double difference = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      difference += std::pow(static_cast<double>(got[i]) - expected[i], 2);
    }
    EXPECT_LE(std::sqrt(difference / norm), 2 * layer_count * width * 0x1p-24);
  }
}

TEST(Training, BadOptionsAreNamed) {
  TrainingOptions options = short_training(1);
  TrainingState state = start_training(options);
  options.smallest_set = 0;
  EXPECT_THROW(train(state, options, keep_on), std::invalid_argument);
  EXPECT_THROW(parse_decay("weights"), std::invalid_argument);
  state.parameters.pop_back();
  EXPECT_THROW(train(state, short_training(1), keep_on), std::invalid_argument);
}

TEST(Training, AForeignFileIsNoNetwork) {
  TensorFile file = tensors_of(start_training(short_training(1)).parameters);
  EXPECT_NO_THROW(parameters_of(file, "x"));
  const auto refusal = [&](const TensorFile& changed) -> std::string {
    try {
      parameters_of(changed, "x");
    } catch (const models::TensorFileError& error) {
      return error.what();
    }
    return "accepted";
  };
  TensorFile nan = file, shape = file, more = file, less = file;
  nan.tensors.at("head_1.bias").values[3] = std::nanf("");
  shape.tensors.at("item_1.weight").shape = {item_features, width};
  more.tensors["other"] = {{1}, {1}};
  less.tensors.erase("query_2.weight");
  EXPECT_THAT(refusal(nan), HasSubstr("'head_1.bias': need finite values"));
  EXPECT_THAT(refusal(shape), HasSubstr("need shape (128, 11), got (11, 128)"));
  EXPECT_THAT(refusal(more), HasSubstr("need the 20 tensors"));
  EXPECT_THAT(refusal(less), HasSubstr("need a tensor 'query_2.weight'"));
}

// What a step of training does to every parameter, against Adam in double.

constexpr double roundoff = 0x1p-24;

struct Stepped {
  double weight;
  double error;  // what floats may be off by: their roundings, and subnormals flushed
};

/// Adam (Kingma & Ba 2015, algorithm 1) on one weight w with moments m and v and the gradient g; decays: whether the
/// weight is one of those that the decay is for.
Stepped adam(const TrainingOptions& options, std::int64_t step, bool decays, double w, double m, double v, double g) {
  const auto t = static_cast<double>(step + 1);
  const double done = static_cast<double>(step) / static_cast<double>(options.steps);
  const double rate =
      options.learning_rate * (options.cosine_schedule ? (1 + std::cos(std::numbers::pi * done)) / 2 : 1);
  const double factor = options.decay == Decay::loss ? 2 : options.decay == Decay::half_loss ? 1 : 0;
  const double in_loss = decays ? factor * options.lambda * w : 0;
  const double auxiliary = decays && options.decay == Decay::decoupled ? rate * options.lambda * w : 0;
  const double slope = g + in_loss, mean = 0.9 * m + 0.1 * slope, square = 0.999 * v + 0.001 * slope * slope;
  const double mean_share = 1 - std::pow(0.9, t), square_share = std::sqrt(1 - std::pow(0.999, t));
  const double root = std::sqrt(square) / square_share, taken = rate * std::fabs(mean) / mean_share / (root + 1e-8);

  // No more than four roundings each, constants included; a sum's are relative to its terms.
  const double slope_error = 4 * roundoff * (std::fabs(g) + std::fabs(in_loss)) + 0x1p-110;
  const double mean_error = 4 * roundoff * (std::fabs(0.9 * m) + std::fabs(0.1 * slope)) + 0.1 * slope_error + 0x1p-126;
  const double square_error =
      4 * roundoff * square + 0.001 * slope_error * (2 * std::fabs(slope) + slope_error) + 0x1p-126;
  const double least_root = std::sqrt(std::max(square - square_error, 0.0)) / square_share;
  const double most = rate * (std::fabs(mean) + mean_error) / mean_share / (least_root + 1e-8) * (1 + 8 * roundoff);
  return {w - std::copysign(taken, mean) - auxiliary,
          most - taken + 2 * roundoff * (std::fabs(w) + taken + 2 * std::fabs(auxiliary))};
}

/// Makes some steps; each parameter before and after the step.
void expect_adam(const TrainingOptions& options) {
  TrainingState before = start_training(options);
  TrainingState state = before;
  Floats gradient(parameter_count);
  train(state, options, [&](const TrainingState& after, float) {
    const int sizes = options.largest_set - options.smallest_set + 1;
    const int size = options.smallest_set + static_cast<int>(uniform_below(before.words, static_cast<unsigned>(sizes)));
    const RetrievalSets sets = draw_sets(size, options.sets_per_step, before.words);
    network_lane().loss_and_gradient(before.parameters.data(), sets.size, sets.count, sets.items.data(),
                                     sets.queries.data(), sets.targets.data(), static_cast<int>(options.head),
                                     gradient.data());
    int wrong = 0, vague = 0;
    for (const LayerPlace& layer : layers) {
      for (std::size_t i = layer.weights; i < layer.end(); ++i) {
        const Stepped wanted = adam(options, before.step, i < layer.biases() || options.decay_biases,
                                    before.parameters[i], before.first_moment[i], before.second_moment[i], gradient[i]);
        wrong += std::fabs(after.parameters[i] - wanted.weight) <= wanted.error ? 0 : 1;
        vague += wanted.error > options.learning_rate / 100 ? 1 : 0;
      }
    }
    EXPECT_EQ(wrong, 0) << to_text(options) << " step " << before.step;
    EXPECT_LT(vague, static_cast<int>(parameter_count) / 100) << "an error that says nothing";
    before = after;
    return true;
  });
  EXPECT_EQ(before.step, options.steps);
}

TEST(Training, EveryStepIsAdams) {
  for (const Decay decay : {Decay::loss, Decay::half_loss, Decay::decoupled, Decay::none}) {
    for (const bool other : {false, true}) {
      TrainingOptions options;
      options.steps = 3;
      options.sets_per_step = 8;
      options.lambda = 0.1;
      options.decay = decay;
      options.decay_biases = options.cosine_schedule = other;
      expect_adam(options);
    }
  }
}

}  // namespace
}  // namespace softcheck::experiments
