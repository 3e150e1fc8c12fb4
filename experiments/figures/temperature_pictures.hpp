#pragma once

#include <array>
#include <string>

#include "experiments/figures/gnuplot.hpp"
#include "experiments/figures/temperature_figure.hpp"

namespace softcheck::experiments {

/// In tables and legends, in the order of the heads.
inline constexpr std::array compared_heads{"softmax", "published", "our quartic", "our line", "hard maximum"};

/// Figure 6: 1/theta against entropy.
///
/// counts   entropy, inverse theta, count of samples
Picture scatter_picture(const std::string& counts, const TemperatureFit& pooled, std::size_t models);

/// Accuracy, largest coefficient and entropy of the heads against the size of random sets, and accuracy on crowded
/// ones.
Picture sizes_picture(const std::string& sizes, const std::string& crowded);

}  // namespace softcheck::experiments
