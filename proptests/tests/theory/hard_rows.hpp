#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "theory/small_transformer.hpp"

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

inline void expect_proved(const std::vector<numerics::Certificate>& certificates) {
  for (const numerics::Certificate& certificate : certificates) {
    EXPECT_EQ(certificate.verdict, numerics::Verdict::proved) << certificate.claim << " " << certificate.witness;
  }
}

/// A network of three symbols, two heads and three layers.
inline SmallTransformerShape small_shape(std::uint64_t seed, AttentionMask mask, bool residual) {
  SmallTransformerShape shape;
  shape.seed = seed;
  shape.vocabulary = 3;
  shape.width = 2;
  shape.heads = 2;
  shape.depth = 3;
  shape.mask = mask;
  shape.residual = residual;
  return shape;
}

}  // namespace softcheck::theory
