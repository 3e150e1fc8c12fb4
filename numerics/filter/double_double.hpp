#pragma once

#include <cstddef>
#include <span>

#include "numerics/filter/row_filter.hpp"

namespace softcheck::numerics {

/// The unevaluated sum high + low, |low| <= 2^-53 |high|. About 106 bits.
struct DoubleDouble {
  double high = 0;
  double low = 0;
};

/// |value - exact| <= error.
struct DoubleDoubleApproximation {
  DoubleDouble value;
  double error = 0;
};

/// The second stage of the cascade: FilterStatistics in double-double arithmetic, with bounds proved in
/// docs/tolerances/cascade.md: for S relative (230 + 3 T / S) 2^-106, below 2^-97, for any n.
struct DoubleDoubleStatistics {
  std::size_t size = 0;
  std::size_t visible = 0;
  double theta = 1;
  double maximum = 0;
  DoubleDoubleApproximation sum_minus_one;
  DoubleDoubleApproximation weighted_deviation;
  DoubleDoubleApproximation second_moment;
  DoubleDouble inverse_sum;
  // Relative error of a computed softmax value, above 2^-960: element_constant + element_per_deviation * D_i.
  double element_constant = 0;
  double element_per_deviation = 0;
};

/// Statistics of a row; takes the maximum and the number of visible items from the filter's.
/// throws   std::invalid_argument if the sizes differ
DoubleDoubleStatistics double_double_row(std::span<const double> logits, const FilterStatistics& filter);

/// Judges some positions of the row as filter_judge does; logits and got hold only those positions, in the same order,
/// and the outcome's positions index them.
StageOutcome double_double_judge(std::span<const double> logits, const DoubleDoubleStatistics& statistics,
                                 std::span<const double> got, const ElementTolerance& tolerance);

}  // namespace softcheck::numerics
