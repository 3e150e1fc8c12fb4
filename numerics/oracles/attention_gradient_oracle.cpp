#include "numerics/oracles/attention_gradient_oracle.hpp"

#include <stdexcept>
#include <string>

namespace softcheck::numerics {

namespace {

// d(softcap tanh(s / softcap)) / ds of s = scale <q, k_j>.
Enclosure slope_of(const AttentionInputs& inputs, std::size_t j) {
  if (inputs.softcap == 0) return Enclosure(1);
  Enclosure dot;
  for (std::size_t t = 0; t < inputs.query.size(); ++t) {
    dot += Enclosure(inputs.query[t]) * Enclosure(inputs.keys[j * inputs.query.size() + t]);
  }
  return Enclosure(1) - square(tanh(Enclosure(inputs.scale) * dot / Enclosure(inputs.softcap)));
}

}  // namespace

QueryGradient query_gradient(const AttentionInputs& inputs, std::span<const double> out_gradient, double lse_gradient,
                             std::optional<std::size_t> label) {
  if (out_gradient.size() != inputs.value_size) {
    throw std::invalid_argument("query_gradient: need " + std::to_string(inputs.value_size) + " gradients, got " +
                                std::to_string(out_gradient.size()));
  }
  const AttentionOracle oracle(inputs);
  if (oracle.fully_masked()) throw std::invalid_argument("query_gradient: need a visible item, got none");
  QueryGradient result;
  std::vector<Enclosure> products;  // g
  Enclosure delta;
  for (std::size_t j = 0; j < inputs.items; ++j) {
    result.coefficients.push_back(oracle.weights().softmax(j));
    Enclosure& product = products.emplace_back();
    if (!oracle.weights().is_visible(j)) continue;
    for (std::size_t c = 0; c < inputs.value_size; ++c) {
      product += Enclosure(out_gradient[c]) * Enclosure(inputs.values[j * inputs.value_size + c]);
    }
    if (!inputs.factors.empty()) product = Enclosure(inputs.factors[j]) * product;
    delta += result.coefficients[j] * product;
  }
  delta -= Enclosure(lse_gradient);
  for (std::size_t j = 0; j < inputs.items; ++j) {
    result.bias_gradients.push_back(result.coefficients[j] * (products[j] - delta));
    if (label == j) result.bias_gradients[j] -= Enclosure(lse_gradient);
    result.score_gradients.push_back(result.bias_gradients[j] * slope_of(inputs, j));
  }
  if (inputs.sink) result.sink_gradient = -(oracle.weights().softmax(inputs.items) * delta);
  return result;
}

}  // namespace softcheck::numerics
