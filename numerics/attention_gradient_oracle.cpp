#include "numerics/attention_gradient_oracle.hpp"

#include <stdexcept>
#include <string>

namespace softcheck::numerics {

QueryGradient query_gradient(const AttentionInputs& inputs, std::span<const double> out_gradient) {
  if (out_gradient.size() != inputs.value_size || inputs.sink || inputs.softcap != 0) {
    throw std::invalid_argument("query_gradient: need " + std::to_string(inputs.value_size) +
                                " gradients, no sink and no softcap, got " + std::to_string(out_gradient.size()) +
                                " gradients");
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
    delta += result.coefficients[j] * product;
  }
  for (std::size_t j = 0; j < inputs.items; ++j) {
    result.score_gradients.push_back(result.coefficients[j] * (products[j] - delta));
  }
  return result;
}

}  // namespace softcheck::numerics
