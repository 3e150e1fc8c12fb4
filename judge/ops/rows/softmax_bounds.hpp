#pragma once

#include <vector>

#include "judge/ops/rows/long_softmax.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {

/// Upper bounds: of a number >= 0, and of a number's magnitude.
numerics::UpperBound at_most(const LongApproximation& x);
numerics::UpperBound size_of(const LongApproximation& x);

/// The statistics that the bounds need from a softmax's scores, except n and R.
numerics::RowStatistics<numerics::UpperBound> score_statistics(const LongSoftmax& row);

/// Upper bounds of each item's coefficient and deviation.
struct ItemBounds {
  std::vector<numerics::UpperBound> coefficients, deviations;

  explicit ItemBounds(const LongSoftmax& row);
};

}  // namespace softcheck::proptests
