#include "judge/campaigns/seed_spread.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace softcheck::proptests {

SeedSpread spread_of(const std::vector<double>& values) {
  if (values.empty()) throw std::invalid_argument("spread_of: need at least one value, got none");
  const auto count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / count;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto [least, largest] = std::ranges::minmax(values);
  const double deviation =
      values.size() < 2 ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(squares / (count - 1));
  return {mean, deviation, least, largest};
}

}  // namespace softcheck::proptests
