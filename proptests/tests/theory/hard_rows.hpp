#pragma once

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace softcheck::theory {

/// Rows and temperatures that defeat plain enclosures: ties, spreads of one subnormal, spreads beyond the exponent
/// range of MPFR, and both in one row.
inline std::vector<std::pair<std::vector<double>, double>> hard_rows() {
  const double tiny = std::numeric_limits<double>::denorm_min(), huge = std::numeric_limits<double>::max();
  const double masked = -std::numeric_limits<double>::infinity(), below = std::nextafter(huge, 0);
  const std::vector<std::vector<double>> rows{{0},
                                              {huge},
                                              {tiny, tiny, tiny},
                                              {0, tiny},
                                              {0, 0, tiny},
                                              {0, 0, tiny, tiny, tiny},
                                              {0, tiny, 2 * tiny, 3 * tiny, 100 * tiny},
                                              {1, 1, 1, 1, 1 + 0x1p-52},
                                              {0, -1, -1 - 0x1p-52},
                                              {huge, -huge},
                                              {huge, huge, -huge, 0},
                                              {huge, below, below},
                                              {0, -1e300, -1.1e300},
                                              {0, -tiny, -1e300},
                                              {0x1p62, 0, 1},
                                              {0, 0, 0, 0, -1e5},
                                              {0, -800, -801, -801.0000001},
                                              {masked, 0, masked, 1}};
  std::vector<std::pair<std::vector<double>, double>> result;
  for (const auto& row : rows) {
    for (const double theta : {1.0, 0.3, 1e-30, 1e30}) result.emplace_back(row, theta);
  }
  return result;
}

}  // namespace softcheck::theory
