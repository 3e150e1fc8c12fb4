#pragma once

#include <cmath>
#include <filesystem>
#include <vector>

#include "experiments/certificates/logit_bounds.hpp"
#include "experiments/max_retrieval_sets.hpp"
#include "experiments/trained_models.hpp"
#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::experiments {

// The network as the paper writes it, nothing folded, one point at a time: what the certificates are judged by. Scalars
// are Enclosure (rigorous) and long double (many points).

inline long double real_tanh(long double x) { return std::tanh(x); }
inline long double real_sqrt(long double x) { return std::sqrt(x); }
inline numerics::Enclosure real_tanh(const numerics::Enclosure& x) { return tanh(x); }
inline numerics::Enclosure real_sqrt(const numerics::Enclosure& x) { return sqrt(x); }

template <class T>
T two_over_pi();
template <>
inline long double two_over_pi<long double>() {
  return 2 / 3.141592653589793238462643383279502884L;
}
template <>
inline numerics::Enclosure two_over_pi<numerics::Enclosure>() {
  return numerics::Enclosure(2) / numerics::Enclosure::pi();
}

template <class T>
T real_gelu(const T& x) {
  const T cubic = T(44715) / T(1000000);
  return x * (T(1) + real_tanh(real_sqrt(two_over_pi<T>()) * (x + cubic * x * x * x))) / T(2);
}

template <class T>
class RealNetwork {
 public:
  using Vector = std::vector<T>;

  explicit RealNetwork(Floats parameters) : parameters_(std::move(parameters)) {}

  Vector item(double priority, int class_index) const {
    Vector x(item_features, T(0));
    x[0] = T(priority);
    x[static_cast<std::size_t>(1 + class_index)] = T(1);
    return activated(dense(Layer::item_2, activated(dense(Layer::item_1, x))));
  }
  Vector encoded_query(double query) const {
    return dense(Layer::query_2, activated(dense(Layer::query_1, Vector{T(query)})));
  }
  Vector projected_query(double query) const { return dense(Layer::attention_query, encoded_query(query)); }
  Vector key(double priority, int class_index) const {
    return dense(Layer::attention_key, item(priority, class_index));
  }
  Vector value(double priority, int class_index) const {
    return dense(Layer::attention_value, item(priority, class_index));
  }

  Vector key_bias() const { return dense(Layer::attention_key, Vector(width, T(0))); }

  T logit(const Vector& projected_query, const Vector& key) const {
    T sum(0);
    for (std::size_t i = 0; i < key.size(); ++i) sum += projected_query[i] * key[i];
    return sum / real_sqrt(T(width));
  }
  /// Scores of the classes from the attention's value.
  Vector scores(const Vector& value) const {
    return dense(Layer::head_2, activated(dense(Layer::head_1, dense(Layer::attention_output, value))));
  }

 private:
  Vector dense(Layer layer, const Vector& x) const {
    const LayerPlace& place = place_of(layer);
    Vector out;
    for (int i = 0; i < place.outputs; ++i) {
      T sum(static_cast<double>(parameters_[place.biases() + static_cast<std::size_t>(i)]));
      for (std::size_t j = 0; j < x.size(); ++j) {
        sum += T(static_cast<double>(parameters_[place.weights + static_cast<std::size_t>(i) * x.size() + j])) * x[j];
      }
      out.push_back(sum);
    }
    return out;
  }
  static Vector activated(Vector x) {
    for (T& value : x) value = real_gelu(value);
    return x;
  }

  Floats parameters_;
};

/// Random weights, times factor, and random biases: a network as no training would leave it.
inline Floats random_network(std::uint64_t seed, float factor) {
  RandomWords words(seed);
  Floats parameters = initial_parameters(words);
  for (const LayerPlace& layer : layers) {
    for (std::size_t i = layer.weights; i < layer.biases(); ++i) parameters[i] *= factor;
    for (std::size_t i = layer.biases(); i < layer.end(); ++i) parameters[i] = uniform(words) - 0.5F;
  }
  return parameters;
}

/// The first of the networks that ship with the project.
inline Floats trained_network() {
  const std::filesystem::path folder = std::filesystem::path(SOFTCHECK_SOURCE_DIR) / "experiments/models/seeds";
  return read_model(folder / "seed-01.safetensors").parameters;
}

inline std::vector<Floats> networks() { return {trained_network(), random_network(1, 1), random_network(2, 3)}; }

}  // namespace softcheck::experiments
