#include "models/bounds/turned.hpp"

#include <array>
#include <utility>

namespace softcheck::models {

using Eigen::Index;
using numerics::BallMatrix;
using numerics::Enclosure;

std::vector<theory::Plane> planes_of(const Rotary& rotary, Index head_dim) {
  const auto width = static_cast<std::size_t>(head_dim), rotated = static_cast<std::size_t>(rotary.width);
  return rotary.layout == PlaneLayout::half_split ? theory::half_split_planes(width, rotated)
                                                  : theory::interleaved_planes(width, rotated);
}

BallMatrix turned_back(const BallMatrix& u, const std::vector<theory::Plane>& planes,
                       const std::vector<Enclosure>& frequencies, double factor) {
  BallMatrix result = u;
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const auto first = static_cast<Index>(planes[p].first), second = static_cast<Index>(planes[p].second);
    if (first == second) continue;
    const Enclosure angle = Enclosure(factor) * frequencies[p];
    const Enclosure c = cos(angle), s = sin(angle), x = u(first, 0), y = u(second, 0);
    const std::array<std::pair<Index, Enclosure>, 2> turned{{{first, c * x + s * y}, {second, c * y - s * x}}};
    for (const auto& [row, value] : turned) {
      const double middle = value.midpoint();
      result.middle(row, 0) = middle;
      result.radius(row, 0) = maximum(value - Enclosure(middle), Enclosure(middle) - value).upper_double();
    }
  }
  return result;
}

}  // namespace softcheck::models
