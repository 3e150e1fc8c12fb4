#pragma once

#include <vector>

#include "judge/ops/rows/long_softmax.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {

/// No less than a number >= 0, and than a number's magnitude.
numerics::UpperBound at_most(const LongApproximation& x);
numerics::UpperBound size_of(const LongApproximation& x);

/// The statistics that the bounds need, but for n and R, of the scores that a softmax is of.
numerics::RowStatistics<numerics::UpperBound> score_statistics(const LongSoftmax& row);

/// Of each item no less than its coefficient and its deviation.
struct ItemBounds {
  std::vector<numerics::UpperBound> coefficients, deviations;

  explicit ItemBounds(const LongSoftmax& row);
};

}  // namespace softcheck::proptests
