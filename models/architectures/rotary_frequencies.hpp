#pragma once

#include <cstdint>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::models {

/// Radians a position of each plane: base^(-2 p / width), p < width / 2.
std::vector<numerics::Enclosure> base_frequencies(const numerics::Enclosure& base, std::int64_t width);

/// Llama 3.1: planes that turn less than low times within the original context are slowed by the factor, those that
/// turn more than high times stay, those between are mixed.
struct Llama3Scaling {
  numerics::Enclosure factor, low, high, original_context;
};
std::vector<numerics::Enclosure> llama3_frequencies(std::vector<numerics::Enclosure> base,
                                                    const Llama3Scaling& scaling);

/// YaRN (arXiv 2309.00071): the ramp goes from plane to plane, between those that turn beta_fast and beta_slow times.
struct YarnScaling {
  numerics::Enclosure factor, beta_fast, beta_slow, original_context;
  bool truncate = true;  // the ramp begins and ends at a whole plane
};
/// base     theta, > 1
std::vector<numerics::Enclosure> yarn_frequencies(const numerics::Enclosure& base, std::int64_t width,
                                                  const YarnScaling& scaling);
/// 0.1 m ln factor + 1, and 1 where factor <= 1.
numerics::Enclosure yarn_magnitude(double factor, double m = 1);

}  // namespace softcheck::models
