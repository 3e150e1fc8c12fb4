// What a step of training does to every parameter, against Adam in double.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "experiments/network_lane.hpp"
#include "experiments/training.hpp"

namespace softcheck::experiments {
namespace {

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
