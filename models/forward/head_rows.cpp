#include "models/forward/head_rows.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

namespace softcheck::models {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

void normalise_rows(MatrixXd& rows, NormKind kind, double epsilon, Index width, const VectorXd& gain,
                    const VectorXd& offset) {
  for (Index token = 0; token < rows.cols(); ++token) {
    for (Index first = 0; first < rows.rows(); first += width) {
      auto part = rows.col(token).segment(first, width);
      if (kind == NormKind::layer_norm) part.array() -= part.mean();
      part /= std::sqrt(part.squaredNorm() / static_cast<double>(width) + epsilon);
      part = part.cwiseProduct(gain.size() == width ? gain : gain.segment(first, width));
      if (offset.size() != 0) part += offset;
    }
  }
}

void rotate_rows(MatrixXd& rows, Index head_dim, const Rotary& rotary, std::span<const TokenRange> inputs) {
  const double factor = rotary.factor.midpoint();
  const bool interleaved = rotary.layout == PlaneLayout::interleaved;
  const Index planes = static_cast<Index>(rotary.width) / 2;
  for (const TokenRange& input : inputs) {
    const bool is_short = rotary.frequencies.size() > 1 && input.count <= rotary.short_items;
    const std::vector<numerics::Enclosure>& frequencies =
        is_short ? rotary.frequencies.front() : rotary.frequencies.back();
    for (Index plane = 0; plane < planes; ++plane) {
      const double frequency = frequencies[static_cast<std::size_t>(plane)].midpoint();
      const Index first = interleaved ? 2 * plane : plane, second = interleaved ? first + 1 : plane + planes;
      for (Index position = 0; position < input.count; ++position) {
        const double angle = static_cast<double>(position) * frequency;
        const double c = factor * std::cos(angle), s = factor * std::sin(angle);
        auto column = rows.col(input.first + position);
        for (Index head = 0; head < rows.rows(); head += head_dim) {
          const double x = column(head + first), y = column(head + second);
          column(head + first) = c * x - s * y;
          column(head + second) = s * x + c * y;
        }
      }
    }
  }
}

}  // namespace softcheck::models
