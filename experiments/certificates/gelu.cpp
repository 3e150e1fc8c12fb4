#include "experiments/certificates/gelu.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace softcheck::experiments {
namespace {

using numerics::Enclosure;

constexpr double twice_scale = 0x1.9884533d43651p+0;  // 2 sqrt(2/pi), to nearest
constexpr double cubic = 0.044715;
constexpr double saturated = 32;        // |x| from which gelu' is 0 or 1 up to 2^-900
constexpr double gelu_error = 0x1p-44;  // times |x|
constexpr double slope_error = 0x1p-42;
constexpr double steepest = turn_highest;  // |gelu'|

// e^-|v| at x, and |v| itself.
struct Tail {
  double exponent;
  double value;
};
Tail tail_at(double size) {
  const double v = twice_scale * size * (1 + cubic * size * size);
  const double exponent = std::min(v, 700.0);
  return {exponent, exp_minus(exponent)};
}

double slope_value(double x) {
  const double size = std::fabs(x);
  if (size >= saturated) return x > 0 ? 1 : 0;
  const double e = tail_at(size).value;
  const double bend = size * twice_scale * (1 + 3 * cubic * size * size) * (e / ((1 + e) * (1 + e)));
  return x > 0 ? 1 / (1 + e) + bend : e / (1 + e) - bend;
}

// gelu' over [middle - radius, middle + radius]: from its values at the ends, and its extremes if they lie inside.
Ball slope_over(double middle, double radius) {
  const double reach = radius + 0x1p-51 * (std::fabs(middle) + radius);
  const double first = middle - reach, last = middle + reach;
  const double at_first = slope_value(first), at_last = slope_value(last);
  double low = std::min(at_first, at_last), high = std::max(at_first, at_last);
  if (last >= turn_begin && first <= turn_end) {
    low = std::min(low, turn_lowest);
    high = std::max(high, turn_highest);
  }
  if (last >= -turn_end && first <= -turn_begin) {
    low = std::min(low, 1 - turn_highest);
    high = std::max(high, 1 - turn_lowest);
  }
  // Both lie within [-1.13, 1.13]: halving them costs less than slope_error.
  return {(low + high) / 2, (high - low) / 2 + 2 * slope_error};
}

}  // namespace

double exp_minus(double t) {
  constexpr double log2_e = 0x1.71547652b82fep+0;
  constexpr double ln2_high = 0x1.62e42feep-1;  // 33 bits: its products with integers below 2^20 are exact
  constexpr double ln2_low = 0x1.a39ef35793c76p-33;
  constexpr double to_integer = 0x1.8p52;
  constexpr double taylor[] = {
      1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
      1.0 / 720,        1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1,           1};
  const double k = (t * log2_e + to_integer) - to_integer;
  const double r = (k * ln2_high - t) + k * ln2_low;  // e^-t = 2^-k e^r, |r| < 0.35
  double sum = taylor[0];
  for (std::size_t i = 1; i < std::size(taylor); ++i) sum = sum * r + taylor[i];
  // 2^-k is a normal number: k <= 1010.
  return sum * std::bit_cast<double>(static_cast<std::uint64_t>(1023 - static_cast<std::int64_t>(k)) << 52);
}

Ball gelu(double x) {
  const double e = tail_at(std::fabs(x)).value;
  const double value = x > 0 ? x / (1 + e) : x * (e / (1 + e));
  return {value, gelu_error * std::fabs(x) + numerics::underflow_share};
}

Ball gelu_slope(double x) { return {slope_value(x), slope_error}; }

BallMatrix gelu(const BallMatrix& x) {
  BallMatrix result{x.middle, x.radius};
  for (Eigen::Index i = 0; i < x.middle.size(); ++i) {
    const Ball at_middle = gelu(x.middle.data()[i]);
    result.middle.data()[i] = at_middle.middle;
    // Three roundings, and underflow.
    result.radius.data()[i] =
        (at_middle.radius + steepest * x.radius.data()[i]) * (1 + 2 * numerics::rounding_share(4)) +
        numerics::underflow_share;
  }
  return result;
}

BallMatrix gelu_slope(const BallMatrix& x) {
  BallMatrix result{x.middle, x.radius};
  for (Eigen::Index i = 0; i < x.middle.size(); ++i) {
    const Ball over = slope_over(x.middle.data()[i], x.radius.data()[i]);
    result.middle.data()[i] = over.middle;
    result.radius.data()[i] = over.radius;
  }
  return result;
}

Enclosure gelu(const Enclosure& x) {
  const Enclosure scale = sqrt(Enclosure(2) / Enclosure::pi());
  const Enclosure cube = Enclosure::decimal("0.044715") * pow(x, 3);
  return x / Enclosure(2) * (Enclosure(1) + tanh(scale * (x + cube)));
}

}  // namespace softcheck::experiments
