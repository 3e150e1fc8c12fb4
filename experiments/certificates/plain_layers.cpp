#include "experiments/certificates/plain_layers.hpp"

#include <cmath>

namespace softcheck::experiments {

PlainLayer plain_layer(const Floats& parameters, Layer layer) {
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const LayerPlace& place = place_of(layer);
  const Eigen::Map<const RowMajor> weights(parameters.data() + place.weights, place.outputs, place.inputs);
  const Eigen::Map<const Eigen::VectorXf> biases(parameters.data() + place.biases(), place.outputs);
  return {weights.cast<double>(), biases.cast<double>()};
}

double tanh_gelu(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / 3.141592653589793) * (x + 0.044715 * x * x * x)));
}

}  // namespace softcheck::experiments
