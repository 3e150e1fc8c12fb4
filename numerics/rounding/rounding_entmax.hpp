#pragma once

#include <cstdint>

#include "numerics/rounding/rounding_operations.hpp"
#include "numerics/rounding/theorem_projection_bounds.hpp"

/// B21: entmax of alpha = 1.5. Proofs: theory/proofs/numerics/b21_*.v, docs/tolerances/entmax.md.
namespace softcheck::numerics {

/// The k items with the smallest d = (m - x) / 2, each T an upper bound.
template <class T>
struct EntmaxPrefix {
  std::uint64_t count = 1;  // k
  T mean{};                 // of d
  T mean_square{};          // of d^2
  T width{};                // 1 / k + the variance of d
  T spread{};               // sqrt(1 / k - variance), 0 if that is negative
  T inverse_spread{};       // 1 / spread, infinite for 0
  T root{};                 // mean + spread
};

/// The error of a kernel's entmax. Allowed: halves of logits minus their maximum; the root of a prefix of the sorted
/// items from the sums of d and d^2, in an order of the contract, by any form of the quadratic formula or a two-pass
/// variance; a support that ends before the first item whose d exceeds the root of its own prefix; the square of a
/// difference.
///
/// contract   acc, sum, subnormal, input (of the logits), output
template <class T>
class EntmaxThreshold {
 public:
  /// size, visible       number of items, and of those that are not masked
  /// maximum_magnitude   |m|
  EntmaxThreshold(const Contract& contract, std::uint64_t size, std::uint64_t visible, const T& maximum_magnitude);

  /// |computed - exact| of d.
  T half_deviation(const T& exact) const;
  /// The same for a prefix's root; |computed - mean| if it has none.
  T root(const EntmaxPrefix<T>& prefix) const;
  /// An upper bound of root() for every prefix of a support.
  ///
  /// support   the row's whole support
  T root_within(const EntmaxPrefix<T>& support) const;
  /// The same for an item's top - d.
  ///
  /// half_deviation, difference   d and max(top - d, 0)
  /// top                          |computed - exact| of top
  T difference(const T& half_deviation, const T& difference, const T& top) const;
  /// |computed - exact| of the coefficient, from the error of its root, the difference.
  T coefficient(const T& difference, const T& error) const;

 private:
  T additions(std::uint64_t count) const;

  formulas::projection::roots::Quantities<T> quantities_;  // of the contract and the row
  formulas::projection::roots::HalfDeviationBounds<T> half_;
  double largest_;  // the accumulator's largest number
  std::uint64_t height_, visible_;
};

}  // namespace softcheck::numerics
