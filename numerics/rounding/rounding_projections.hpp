#pragma once

#include <cstdint>

#include "numerics/rounding/rounding_operations.hpp"
#include "numerics/rounding/theorem_projection_bounds.hpp"

/// B20: sparsemax; B21: squares of max(x / 2 - tau, 0). Proofs: theory/proofs/numerics/b20_*.v and b21_*.v,
/// docs/tolerances/projections.md.
namespace softcheck::numerics {

/// The quantities of a row that the bound needs, each T an upper bound.
template <class T>
struct SparsemaxRow {
  std::uint64_t size = 0;     // including masked items
  std::uint64_t visible = 1;  // items that are not masked
  T top{};                    // the largest coefficient
  T maximum_magnitude{};      // |m|
};

/// The supports that a kernel may find, each T an upper bound.
template <class T>
struct SparsemaxSupport {
  std::uint64_t most = 1;  // the number of items of the largest
  T mean_deviation{};      // of any support: the sum of its D over its number of items
  T moved{};               // the largest coefficient of any support minus the exact one
};

/// The error of a kernel's sparsemax. Allowed: logits minus their maximum; a support that ends at the first sorted item
/// that fails the condition, in any of its forms; sums of deviations in an order of the contract; a quotient, and a
/// difference.
///
/// contract   acc, sum, subnormal, input (of the logits), output
template <class T>
class SparsemaxThreshold {
 public:
  SparsemaxThreshold(const Contract& contract, const SparsemaxRow<T>& row);

  /// An item whose D is smaller than the largest coefficient by more than this is in every kernel's support.
  T inside() const;
  /// The joint error of both sides of 1 + D_(1) + ... + D_(k) > k D_(k), from the roundings of a sum of k items.
  /// Increases with each argument.
  ///
  /// count, deviation, sum   k, D_(k) and D_(1) + ... + D_(k)
  T condition(std::uint64_t count, const T& deviation, const T& sum) const;
  /// |computed - exact| of a coefficient.
  ///
  /// deviation, value   D_j and p_j
  T element(const T& deviation, const T& value, const SparsemaxSupport<T>& support) const;

 private:
  T additions(std::uint64_t count) const;

  formulas::projection::Quantities<T> quantities_;  // of the contract and the row
  formulas::projection::DeviationBounds<T> deviation_;
  std::uint64_t height_, visible_;
};

/// The k items with the smallest d = (m - x) / 2, each T an upper bound.
template <class T>
struct RootPrefix {
  std::uint64_t count = 1;  // k
  T mean{};                 // of d
  T mean_square{};          // of d^2
  T width{};                // 1 / k + the variance of d
  T spread{};               // sqrt(1 / k - variance), 0 if that is negative
  T inverse_spread{};       // 1 / spread, infinite for 0
  T root{};                 // mean + spread
};

/// The error of a kernel's coefficients of B21. Allowed: halves of logits minus their maximum; the root of a prefix of
/// the sorted items from the sums of d and d^2, in an order of the contract, by any form of the quadratic formula or a
/// two-pass variance; a support that ends before the first item whose d exceeds the root of its own prefix; the square
/// of a difference.
///
/// contract   acc, sum, subnormal, input (of the logits), output
template <class T>
class RootProjectionThreshold {
 public:
  /// size, visible       number of items, and of those that are not masked
  /// maximum_magnitude   |m|
  RootProjectionThreshold(const Contract& contract, std::uint64_t size, std::uint64_t visible,
                          const T& maximum_magnitude);

  /// |computed - exact| of d.
  T half_deviation(const T& exact) const;
  /// The same for a prefix's root; |computed - mean| if it has none.
  T root(const RootPrefix<T>& prefix) const;
  /// An upper bound of root() for every prefix of a support.
  ///
  /// support   the row's whole support
  T root_within(const RootPrefix<T>& support) const;
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
