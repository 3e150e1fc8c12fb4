#include "experiments/training.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "experiments/adam.hpp"
#include "experiments/network_lane.hpp"

namespace softcheck::experiments {
namespace {

constexpr double beta2 = 0.999;

double learning_rate_at(const TrainingOptions& options, std::int64_t step) {
  if (!options.cosine_schedule) return options.learning_rate;
  const double done = static_cast<double>(step) / static_cast<double>(options.steps);
  return options.learning_rate * (1 + std::cos(std::numbers::pi * done)) / 2;
}

void check(const TrainingOptions& options, const TrainingState& state) {
  if (options.steps < 0 || options.sets_per_step < 1 || options.smallest_set < 1 ||
      options.largest_set < options.smallest_set || !(options.learning_rate > 0) || !(options.lambda >= 0)) {
    throw std::invalid_argument(
        "train: need steps >= 0, sets and sizes >= 1, a learning rate > 0 and lambda >= 0, got " + to_text(options));
  }
  if (state.parameters.size() != parameter_count) {
    throw std::invalid_argument("train: need " + std::to_string(parameter_count) + " parameters, got " +
                                std::to_string(state.parameters.size()));
  }
}

void adam_step(TrainingState& state, const Floats& gradient, const TrainingOptions& options) {
  const double rate = learning_rate_at(options, state.step);
  const AdamStep step(rate, beta2, state.step);
  const double factor = options.decay == Decay::loss ? 2 : options.decay == Decay::half_loss ? 1 : 0;
  const auto coupled = static_cast<float>(factor * options.lambda);
  const auto decoupled = static_cast<float>(options.decay == Decay::decoupled ? rate * options.lambda : 0);
  for (const LayerPlace& layer : layers) {
    adam(step, state, gradient, layer.weights, layer.biases(), coupled, decoupled);
    const bool biases = options.decay_biases;
    adam(step, state, gradient, layer.biases(), layer.end(), biases ? coupled : 0, biases ? decoupled : 0);
  }
}

}  // namespace

std::string training_instructions() { return network_lane().name; }

TrainingState start_training(const TrainingOptions& options) {
  TrainingState state;
  state.words.seed(options.seed);
  state.parameters = initial_parameters(state.words);
  state.first_moment.assign(parameter_count, 0);
  state.second_moment.assign(parameter_count, 0);
  return state;
}

void train(TrainingState& state, const TrainingOptions& options,
           const std::function<bool(const TrainingState&, float loss)>& watch) {
  check(options, state);
  const softcheck_network_lane& lane = network_lane();
  Floats gradient(parameter_count);
  while (state.step < options.steps) {
    const auto sizes = static_cast<std::uint64_t>(options.largest_set - options.smallest_set + 1);
    const int size = options.smallest_set + static_cast<int>(uniform_below(state.words, sizes));
    const RetrievalSets sets = draw_sets(size, options.sets_per_step, state.words);
    float loss = 0;
    {
      const FlushSubnormals scope;
      loss =
          lane.loss_and_gradient(state.parameters.data(), sets.size, sets.count, sets.items.data(), sets.queries.data(),
                                 sets.targets.data(), static_cast<int>(options.head), gradient.data());
      adam_step(state, gradient, options);
    }
    ++state.step;
    if (!watch(state, loss)) return;
  }
}

}  // namespace softcheck::experiments
