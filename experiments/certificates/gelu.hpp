#pragma once

#include "numerics/enclosures/enclosure.hpp"
#include "numerics/matrices/ball_matrix.hpp"

namespace softcheck::experiments {

using numerics::BallMatrix;

// gelu(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) = x / (1 + e^(-v)), v = 2 sqrt(2/pi) (x + 0.044715 x^3), and
// its derivative, as enclosures. The exponential is this file's own, proven (docs/certificates.md, "gelu").

/// A real within radius of middle.
struct Ball {
  double middle = 0;
  double radius = 0;
};

/// e^-t within 2^-46 of itself.
///
/// t        in [0, 700]
double exp_minus(double t);

/// x      finite
Ball gelu(double x);
Ball gelu_slope(double x);

/// Where gelu' turns: it grows on [-turn_begin, turn_begin] and falls beyond turn_end on both sides (gelu'(-x) = 1 -
/// gelu'(x)); between the two it lies in [turn_lowest, turn_highest].
inline constexpr double turn_begin = 1.40625, turn_end = 1.421875;
inline constexpr double turn_lowest = 1.1289, turn_highest = 1.129;

/// gelu of every entry, and gelu' over all values of every entry.
BallMatrix gelu(const BallMatrix& x);
BallMatrix gelu_slope(const BallMatrix& x);

/// At the working precision.
numerics::Enclosure gelu(const numerics::Enclosure& x);

}  // namespace softcheck::experiments
