#pragma once

#include <cstdint>

#include "numerics/rounding/rounding_operations.hpp"
#include "numerics/rounding/theorem_projection_bounds.hpp"

/// B20: sparsemax. Proofs: theory/proofs/numerics/b20_sparsemax.v, docs/tolerances/sparsemax.md.
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

}  // namespace softcheck::numerics
