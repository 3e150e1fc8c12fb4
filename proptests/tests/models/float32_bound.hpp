#pragma once

#include <cmath>
#include <span>
#include <vector>

namespace softcheck::models {

/// A number and how far from it the float32 computation of it can lie: running error analysis. Every operation is
/// granted u = 2^-24 of its result, however the peer orders or fuses it; that the analysis itself is done in doubles
/// changes the bound by parts in 2^29, which the factor 1.001 of each grant covers.
struct Float32Bound {
  double value = 0;
  double error = 0;

  double largest() const { return std::abs(value) + error; }
};

inline constexpr double float32_unit = 0x1p-24 * 1.001;

/// With so many more relative roundings.
inline Float32Bound rounded(const Float32Bound& x, double roundings = 1) {
  return {x.value, x.error + roundings * float32_unit * x.largest() * (1 + roundings * float32_unit)};
}

inline Float32Bound operator+(const Float32Bound& a, const Float32Bound& b) {
  return rounded({a.value + b.value, a.error + b.error});
}

inline Float32Bound operator-(const Float32Bound& a, const Float32Bound& b) {
  return rounded({a.value - b.value, a.error + b.error});
}

inline Float32Bound operator*(const Float32Bound& a, const Float32Bound& b) {
  return rounded({a.value * b.value, std::abs(a.value) * b.error + a.error * std::abs(b.value) + a.error * b.error});
}

/// A sum of n terms in any order: at most n - 1 additions meet a term, each with gamma_n of the sum of magnitudes.
inline Float32Bound sum(std::span<const Float32Bound> terms) {
  Float32Bound total;
  double magnitude = 0;
  for (const Float32Bound& term : terms) {
    total.value += term.value;
    total.error += term.error;
    magnitude += term.largest();
  }
  const double depth = static_cast<double>(terms.size()) * float32_unit;
  total.error += depth / (1 - depth) * magnitude;
  return total;
}

/// 1 / sqrt(x), x - x.error > 0: on that interval the derivative is largest at its lower end; three roundings.
inline Float32Bound inverse_root(const Float32Bound& x) {
  const double value = 1 / std::sqrt(x.value);
  return rounded({value, 1 / std::sqrt(x.value - x.error) - value}, 3);
}

}  // namespace softcheck::models
