#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// sparsemax(x) = max(x - tau, 0), with tau such that the values sum to 1 (Martins and Astudillo, arXiv 1602.02068, eq.
/// 2), as enclosures at the working precision at construction. With m the largest logit and D_i = m - x_i over the
/// items that are not masked (-inf), coefficient i is max(top - D_i, 0), where top = m - tau is the largest
/// coefficient:
///
///  top = min over k of (1 + D_(1) + ... + D_(k)) / k,    D in ascending order,
///
/// since the quotient decreases exactly as long as the next D is below it. A minimum of enclosures needs no decision
/// about the support.
///
/// logits   (n) finite or -inf, at least one finite
/// throws   std::invalid_argument otherwise
class SparsemaxOracle {
 public:
  explicit SparsemaxOracle(std::span<const double> logits);

  double maximum() const { return maximum_; }
  const Enclosure& top() const { return top_; }
  /// D_i of a visible item i.
  Enclosure deviation(std::size_t i) const;
  /// max(top - D_i, 0); the point 0 for a masked item.
  Enclosure value(std::size_t i) const;

 private:
  std::span<const double> logits_;
  double maximum_;
  Enclosure top_;
};

/// The same top by another method: the quotient of all items, then of those below it, until none is left out (Michelot
/// 1986). An item that cannot be separated from the quotient stays, which changes the result by at most its width.
Enclosure sparsemax_top_by_elimination(std::span<const double> logits);

/// Case alpha = 1.5 of Peters, Niculae and Martins (arXiv 1905.05702, eq. 10 and algorithm 2): max(x / 2 - tau,
/// 0)^2, with tau such that the values sum to 1, as enclosures at the working precision at construction. With m the
/// largest logit and d_i = (m - x_i) / 2 over the items that are not masked (-inf), coefficient i is max(top - d_i,
/// 0)^2, where top = m / 2 - tau, the root of the largest coefficient, depends on the items of the support: the k
/// smallest d for the largest k with (d_(k) - d_(1))^2 + ... + (d_(k) - d_(k))^2 <= 1:
///
///  top = mean d + sqrt(1 / k - variance d).
///
/// logits   (n) finite or -inf, at least one finite
/// throws   std::invalid_argument otherwise
class RootProjectionOracle {
 public:
  explicit RootProjectionOracle(std::span<const double> logits);

  double maximum() const { return maximum_; }
  const Enclosure& top() const { return top_; }
  /// d_i of a visible item i.
  Enclosure half_deviation(std::size_t i) const;
  /// max(top - d_i, 0)^2; the point 0 for a masked item.
  Enclosure value(std::size_t i) const;

 private:
  std::span<const double> logits_;
  double maximum_;
  Enclosure top_;
};

/// The same top by another method: bisection of [0, 1], where the sum of max(t - d_i, 0)^2 increases with t, until the
/// sum cannot be separated from 1.
Enclosure root_projection_top_by_bisection(std::span<const double> logits);

}  // namespace softcheck::numerics
