#pragma once

#include <cstdint>

#include "numerics/rounding/rounding_operations.hpp"
#include "numerics/rounding/theorem_projection_bounds.hpp"

/// B21: entmax of alpha = 1.5. Proofs: theory/proofs/numerics/b21_*.v, docs/tolerances/entmax.md.
namespace softcheck::numerics {

/// The k items of the smallest d = (m - x) / 2, each T an upper bound.
template <class T>
struct EntmaxPrefix {
  std::uint64_t count = 1;  // k
  T mean{};                 // of d
  T mean_square{};          // of d^2
  T width{};                // 1 / k + the variance of d
  T spread{};               // sqrt(1 / k - variance), 0 where there is none
  T inverse_spread{};       // 1 / spread, infinite where that is 0
  T root{};                 // mean + spread
};

/// How far an entmax may be from the exact one. Granted are: halves of logits less their maximum; the root of a prefix
/// of the sorted items from the sums of d and d^2, in an order of the contract, in any form of the quadratic formula or
/// through a variance of two passes; a support that ends before the first item whose d is beyond the root of its own
/// prefix; the square of a difference.
///
/// contract   acc, sum, subnormal, input (of the logits), output
template <class T>
class EntmaxThreshold {
 public:
  /// size, visible       items of the row, and those that are not masked
  /// maximum_magnitude   |m|
  EntmaxThreshold(const Contract& contract, std::uint64_t size, std::uint64_t visible, const T& maximum_magnitude);

  /// |computed - exact| of d.
  T half_deviation(const T& exact) const;
  /// The same of a prefix's root; where the prefix has none, |computed - mean|.
  T root(const EntmaxPrefix<T>& prefix) const;
  /// No less than root() of every part of a support.
  ///
  /// support   the whole one
  T root_within(const EntmaxPrefix<T>& support) const;
  /// The same of top - d of an item.
  ///
  /// half_deviation, difference   d and max(top - d, 0)
  /// top                          |computed - exact| of top
  T difference(const T& half_deviation, const T& difference, const T& top) const;
  /// |computed - exact| of the coefficient, from that of its root, the difference.
  T coefficient(const T& difference, const T& error) const;

 private:
  T additions(std::uint64_t count) const;

  formulas::projection::roots::Quantities<T> quantities_;  // those of the contract and of the row
  formulas::projection::roots::HalfDeviationBounds<T> half_;
  double largest_;  // number of the accumulator
  std::uint64_t height_, visible_;
};

}  // namespace softcheck::numerics
