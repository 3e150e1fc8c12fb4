#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// sparsemax(x) = max(x - tau, 0), tau such that it sums to 1 (Martins and Astudillo, arXiv 1602.02068, eq. 2), as
/// enclosures at the working precision of the moment of construction. With m the largest logit and D_i = m - x_i,
/// masked items (-inf) left out, coefficient i is max(top - D_i, 0), where top = m - tau is the largest coefficient:
///
///   top = min over k of (1 + D_(1) + ... + D_(k)) / k,    D in ascending order,
///
/// since the quotient falls exactly as long as the next D is below it. A minimum of enclosures needs no decision about
/// the support.
///
/// logits   (n) finite or -inf, at least one finite
/// throws   std::invalid_argument otherwise
class SparsemaxOracle {
 public:
  explicit SparsemaxOracle(std::span<const double> logits);

  double maximum() const { return maximum_; }
  const Enclosure& top() const { return top_; }
  /// D_i; i visible.
  Enclosure deviation(std::size_t i) const;
  /// max(top - D_i, 0); the point 0 for a masked item.
  Enclosure value(std::size_t i) const;

 private:
  std::span<const double> logits_;
  double maximum_;
  Enclosure top_;
};

/// The same top by another route: the quotient of all items, then of those that are below it, until none is left out
/// (Michelot 1986). An item that cannot be told from the quotient stays, which moves the result by no more than its
/// width.
Enclosure sparsemax_top_by_elimination(std::span<const double> logits);

}  // namespace softcheck::numerics
