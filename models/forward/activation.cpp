#include "models/forward/activation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace softcheck::models {

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu:
      // Phi by erfc: 1 + erf would cancel where x is far below 0.
      return x / 2 * std::erfc(-x / std::numbers::sqrt2);
    case Activation::gelu_tanh:
      // (1 + tanh y) / 2 = 1 / (1 + e^(-2 y)), which does not cancel.
      return x / (1 + std::exp(-2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::relu:
      return std::max(x, 0.0);
  }
  throw std::logic_error("activate: an Activation without a formula");
}

}  // namespace softcheck::models
