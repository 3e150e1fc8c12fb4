#include "judge/results/paired_sums.hpp"

#include <cmath>

#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

void PairedSums::add(double factor, const double* values) {
  ++products_;
  for (std::size_t k = 0; k < high_.size(); ++k) {
    const double product = factor * values[k], rest = std::fma(factor, values[k], -product);
    const double sum = high_[k] + product, part = sum - high_[k];
    low_[k] += ((high_[k] - (sum - part)) + (product - part)) + rest;
    high_[k] = sum;
    magnitude_[k] += std::fabs(product);
  }
}

numerics::Enclosure PairedSums::sum(std::size_t k) const {
  using numerics::Enclosure;
  const auto n = static_cast<double>(products_);
  const double error = 1.02 * (n + 1) * (n + 1) * 0x1p-106 * magnitude_[k] + n * 0x1p-1072;
  if (!std::isfinite(high_[k] + low_[k] + error)) {
    return Enclosure::between(-numerics::infinity, numerics::infinity);
  }
  return Enclosure(high_[k]) + Enclosure(low_[k]) + Enclosure::between(-error, error);
}

}  // namespace softcheck::proptests
