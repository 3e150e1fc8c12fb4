#include "experiments/max_retrieval_sets.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace softcheck::experiments {
namespace {

double truncated_normal(RandomWords& words) {
  double value = normal_draw(words);
  while (std::fabs(value) > 2) value = normal_draw(words);
  return value;
}

// The standard deviation of a standard normal variable truncated at +-2: the draw is divided by it.
constexpr double truncated_deviation = 0.87962566103423978;

}  // namespace

std::uint64_t uniform_below(RandomWords& words, std::uint64_t bound) {
  if (bound == 0) throw std::invalid_argument("uniform_below: need a bound >= 1, got 0");
  const std::uint64_t whole = ~std::uint64_t{0} / bound * bound;
  std::uint64_t word = words();
  while (word >= whole) word = words();
  return word % bound;
}

RetrievalSets draw_sets(int size, int count, RandomWords& words) {
  if (size < 1 || count < 1) {
    throw std::invalid_argument("draw_sets: need size >= 1 and count >= 1, got " + std::to_string(size) + " and " +
                                std::to_string(count));
  }
  const auto items = static_cast<std::size_t>(size) * static_cast<std::size_t>(count);
  RetrievalSets sets{size, count, Floats(items * item_features), {}, {}};
  for (int s = 0; s < count; ++s) {
    sets.queries.push_back(uniform(words));
    float largest = -1;
    int target = 0;
    for (int i = 0; i < size; ++i) {
      float* item =
          &sets.items[(static_cast<std::size_t>(s) * static_cast<std::size_t>(size) + static_cast<std::size_t>(i)) *
                      item_features];
      const int label = static_cast<int>(uniform_below(words, class_count));
      item[0] = uniform(words);
      item[1 + label] = 1;
      if (item[0] > largest) {
        largest = item[0];
        target = label;
      }
    }
    sets.targets.push_back(target);
  }
  return sets;
}

Floats initial_parameters(RandomWords& words) {
  Floats parameters(parameter_count);
  for (const LayerPlace& layer : layers) {
    const double deviation = 1 / std::sqrt(static_cast<double>(layer.inputs)) / truncated_deviation;
    for (std::size_t i = layer.weights; i < layer.biases(); ++i) {
      parameters[i] = static_cast<float>(deviation * truncated_normal(words));
    }
  }
  return parameters;
}

}  // namespace softcheck::experiments
