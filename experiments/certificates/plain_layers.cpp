#include "experiments/certificates/plain_layers.hpp"

#include <cmath>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::experiments {
using numerics::Enclosure;
using numerics::Sides;

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

std::vector<numerics::Certificate> certify_no_overflow(const SizeBound& size, numerics::Format format) {
  const numerics::FormatProperties& properties = numerics::properties(format);
  const std::string claim = "model.overflow." + std::string(properties.name);
  const std::string witness = "query " + numerics::hex_float(size.query) + ", item (" +
                              numerics::hex_float(size.item.priority) + ", class " +
                              std::to_string(size.item.class_index) + ")";
  const auto below_largest = [&](const std::string& id, const Enclosure& factor_square) {
    return numerics::certify_less_equal(id, witness, [&] {
      return Sides{Enclosure::between(size.lower, size.upper) * sqrt(factor_square), Enclosure(properties.largest)};
    });
  };
  return {below_largest(claim, Enclosure(width)), below_largest(claim + ".scaled", Enclosure(1))};
}

}  // namespace softcheck::experiments
