#include "numerics/matrices/scaled_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace softcheck::numerics {

Enclosure ScaledMatrix::error() const {
  if (exact) return Enclosure(0);
  const auto count = Enclosure::integer(static_cast<std::uint64_t>(entries.size()));
  return sqrt(count) * Enclosure::power_of_two(-1075);
}

ScaledMatrix scale_to_unit(const Eigen::Ref<const Eigen::MatrixXd>& matrix, std::string_view caller) {
  if (!matrix.allFinite())
    throw std::invalid_argument(std::string(caller) + ": entries must be finite, got inf or NaN");
  ScaledMatrix scaled;
  const double largest = matrix.cwiseAbs().maxCoeff();
  if (largest > 0) std::frexp(largest, &scaled.exponent);
  // Below 2^-1000 the factor would overflow; such a matrix ends near 2^-74, which is good enough.
  scaled.exponent = std::max(scaled.exponent, -1000);
  const double factor = std::ldexp(1.0, -scaled.exponent);
  scaled.entries = matrix * factor;
  // Scaling up is exact. Scaling down loses bits below the subnormal numbers; then scaling back (in two steps, since
  // 2^1024 is no double) gives another matrix.
  if (scaled.exponent > 0) {
    const double half = std::ldexp(1.0, scaled.exponent - 1);
    scaled.exact = (scaled.entries * half * 2.0 - matrix).isZero(0);
  }
  if (scaled.entries.rows() > scaled.entries.cols()) scaled.entries = scaled.entries.transpose().eval();
  return scaled;
}

Enclosure rounding_gamma(Eigen::Index k) {
  const Enclosure ku = Enclosure::integer(static_cast<std::uint64_t>(k)) * Enclosure::power_of_two(-53);
  return ku / (Enclosure(1) - ku);
}

Enclosure underflow_loss(Eigen::Index k) {
  return Enclosure::integer(static_cast<std::uint64_t>(k)) * Enclosure::power_of_two(-1074);
}

}  // namespace softcheck::numerics
