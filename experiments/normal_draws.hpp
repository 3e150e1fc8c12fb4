#pragma once

#include <cmath>
#include <numbers>

#include "experiments/max_retrieval_sets.hpp"

namespace softcheck::experiments {

/// Box and Muller's transform, one value of the two: a standard library's normal_distribution is its own affair, and
/// these draws are to be the same everywhere that log and cos are.
inline double normal_draw(RandomWords& words) {
  const double u = (static_cast<double>(words() >> 11) + 1) * 0x1p-53;  // (0, 1]
  const double v = static_cast<double>(words() >> 11) * 0x1p-53;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

}  // namespace softcheck::experiments
