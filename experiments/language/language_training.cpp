#include "experiments/language/language_training.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>
#include <stdexcept>

#include "experiments/language/algorithms/problem.hpp"
#include "experiments/language/language_curriculum.hpp"

namespace softcheck::experiments {
namespace {

constexpr double beta2 = 0.98;

void check(const LanguageTrainingOptions& options, const TrainingState& state) {
  check_design(options.design);
  if (options.steps < 0 || options.warm_up < 0 || options.tokens_per_step < 1 || options.smallest < 2 ||
      options.largest < options.smallest || options.largest > 61 || !(options.learning_rate > 0) ||
      !(options.weight_decay >= 0) || !(options.clip > 0) || !(options.gate >= 0) || options.cool_down < 0 ||
      options.cool_down > options.steps) {
    throw std::invalid_argument(
        "train: need steps and warm-up >= 0, a cool-down from 0 to the steps, tokens >= 1, sizes from 2 to 61, a rate "
        "and a clip > 0, a "
        "decay and a gate >= 0, got " +
        to_text(options));
  }
  const std::size_t count = LanguagePlaces{options.design.shape}.count();
  if (state.parameters.size() != count) {
    throw std::invalid_argument(fmt::format("train: need {} parameters, got {}", count, state.parameters.size()));
  }
}

// The factor that clips a gradient.
float shortened(const Floats& gradient, double clip) {
  double squares = 0;
  for (const float slope : gradient) squares += static_cast<double>(slope) * static_cast<double>(slope);
  const double norm = std::sqrt(squares);
  return static_cast<float>(norm > clip ? clip / norm : 1);
}

void adam_step(TrainingState& state, Floats& gradient, const LanguageTrainingOptions& options) {
  const float share = shortened(gradient, options.clip);
  for (float& slope : gradient) slope *= share;
  const double rate = learning_rate_at(options, state.step);
  const AdamStep step(rate, beta2, state.step);
  const auto decay = static_cast<float>(rate * options.weight_decay);
  const LanguagePlaces places{options.design.shape};
  const auto move = [&](std::size_t begin, std::size_t end, float decoupled) {
    adam(step, state, gradient, begin, end, 0, decoupled);
  };
  move(places.embedding(), places.layer(0), decay);
  for (int layer = 0; layer < options.design.shape.layers; ++layer) {
    move(places.input_norm(layer), places.projections(layer), 0);
    move(places.projections(layer), places.middle_norm(layer), decay);
    move(places.middle_norm(layer), places.gate(layer), 0);
    move(places.gate(layer), places.layer(layer + 1), decay);
  }
  move(places.last_norm(), places.count(), 0);
}

}  // namespace

std::string to_text(const LanguageTrainingOptions& options) {
  const LanguageShape& shape = options.design.shape;
  // Defaults have no word, as in files from before there were other values.
  const HeadWeights weights = options.design.weights;
  std::string more = weights == HeadWeights::softmax ? "" : " attention=" + to_string(weights);
  if (!options.algorithms.empty()) more += fmt::format(" algorithms={}", fmt::join(options.algorithms, ","));
  if (options.gate > 0) more += fmt::format(" gate={}", options.gate);
  if (options.cool_down > 0) more += fmt::format(" cool-down={}", options.cool_down);
  if (options.response_only) more += " loss=response";
  if (!options.from.empty()) more += " from=" + options.from;
  return fmt::format(
      "model=language seed={} steps={} rate={} warm-up={} decay={} clip={} tokens={} sizes={}-{} layers={} width={} "
      "heads={} inner={} positions={} temperature={}{}",
      options.seed, options.steps, options.learning_rate, options.warm_up, options.weight_decay, options.clip,
      options.tokens_per_step, options.smallest, options.largest, shape.layers, shape.width, shape.heads, shape.inner,
      to_string(options.design.positions), options.design.adaptive ? "adaptive" : "plain", more);
}

double learning_rate_at(const LanguageTrainingOptions& options, std::int64_t step) {
  if (step < options.warm_up) {
    return options.learning_rate * static_cast<double>(step + 1) / static_cast<double>(options.warm_up);
  }
  if (options.cool_down > 0) {
    const double left = static_cast<double>(options.steps - step) / static_cast<double>(options.cool_down);
    return options.learning_rate * std::min(1.0, left);
  }
  const double done = static_cast<double>(step - options.warm_up) /
                      static_cast<double>(std::max<std::int64_t>(1, options.steps - options.warm_up));
  return options.learning_rate * (1 + std::cos(std::numbers::pi * done)) / 2;
}

TrainingState start_training(const LanguageTrainingOptions& options, const Floats& begin) {
  TrainingState state;
  state.words.seed(options.seed);
  state.parameters = begin.empty() ? initial_language_parameters(options.design.shape, state.words) : begin;
  state.first_moment.assign(state.parameters.size(), 0);
  state.second_moment.assign(state.parameters.size(), 0);
  if (options.gate > 0) state.nats = Curriculum(options).begin();
  return state;
}

std::vector<std::string> parse_algorithms(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream text(list);
  for (std::string name; std::getline(text, name, ',');) {
    algorithm_named(name);
    if (std::ranges::find(names, name) != names.end()) {
      throw std::invalid_argument("algorithms: need each name once, got '" + name + "' twice");
    }
    names.push_back(name);
  }
  return names;
}

TokenBatch draw_batch(const LanguageTrainingOptions& options, TrainingState& state) {
  TokenBatch batch;
  const Curriculum curriculum(options);
  while (batch.tokens() < options.tokens_per_step) {
    const std::size_t cell = options.gate > 0 ? curriculum.draw(state.nats, state.words) : curriculum.draw(state.words);
    const Problem problem = draw_problem(curriculum.algorithm_of(cell), curriculum.size_of(cell), state.words);
    add_text(batch, problem.question + problem.response,
             options.response_only ? problem.question.size() : problem.trace_begin);
    if (options.gate > 0) batch.cells.push_back(cell);
  }
  place_for_training(batch, options.design.positions, state.words);
  return batch;
}

void train(TrainingState& state, const LanguageTrainingOptions& options, const LanguageKernels& kernels,
           const std::function<bool(const TrainingState&, float loss)>& watch, const BatchSource& draw) {
  check(options, state);
  const TurnTable<float> turns(options.design.shape);
  Floats gradient(state.parameters.size());
  while (state.step < options.steps) {
    const TokenBatch batch = draw(options, state);
    LanguageParts<float> parts(kernels, options.design, batch);
    float loss = 0;
    {
      const FlushSubnormals scope;
      loss = language_lane().loss_and_gradient(options.design.shape, state.parameters.data(), lane_batch(batch, turns),
                                               parts.calls(), gradient.data());
      adam_step(state, gradient, options);
    }
    if (!batch.cells.empty()) Curriculum(options).learn(batch, parts.losses(), state.nats);
    ++state.step;
    if (!watch(state, loss)) return;
  }
}

}  // namespace softcheck::experiments
