#pragma once

#include <cstdint>

#include "numerics/rounding/rounding_operations.hpp"
#include "numerics/rounding/theorem_projection_bounds.hpp"

/// B20: sparsemax. Proofs: theory/proofs/numerics/b20_sparsemax.v, docs/tolerances/sparsemax.md.
namespace softcheck::numerics {

/// What the bound needs of a row, each T an upper bound.
template <class T>
struct SparsemaxRow {
  std::uint64_t size = 0;     // masked items counted
  std::uint64_t visible = 1;  // items that are not masked
  T top{};                    // the largest coefficient
  T maximum_magnitude{};      // |m|
};

/// The supports that a kernel may come to, each T an upper bound.
template <class T>
struct SparsemaxSupport {
  std::uint64_t most = 1;  // items of the largest
  T mean_deviation{};      // of any of them: the sum of its D by its number
  T moved{};               // the largest coefficient of any of them less the exact one
};

/// How far a sparsemax may be from the exact one. Granted are: logits less their maximum; a support that ends at the
/// first item that fails the condition on sorted ones, in any of its forms; sums of deviations in an order of the
/// contract; a quotient, and a difference.
///
/// contract   acc, sum, subnormal, input (of the logits), output
template <class T>
class SparsemaxThreshold {
 public:
  SparsemaxThreshold(const Contract& contract, const SparsemaxRow<T>& row);

  /// An item whose D is below the largest coefficient by more is in every kernel's support.
  T inside() const;
  /// By how much the two sides of 1 + D_(1) + ... + D_(k) > k D_(k) may be off together, by the roundings of a sum of k
  /// items. It grows with each argument.
  ///
  /// count, deviation, sum   k, D_(k) and D_(1) + ... + D_(k)
  T condition(std::uint64_t count, const T& deviation, const T& sum) const;
  /// |computed - exact| of a coefficient.
  ///
  /// deviation, value   D_j and p_j
  T element(const T& deviation, const T& value, const SparsemaxSupport<T>& support) const;

 private:
  T additions(std::uint64_t count) const;

  formulas::projection::Quantities<T> quantities_;  // those of the contract and of the row
  formulas::projection::DeviationBounds<T> deviation_;
  std::uint64_t height_, visible_;
};

}  // namespace softcheck::numerics
