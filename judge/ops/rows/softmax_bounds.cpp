#include "judge/ops/rows/softmax_bounds.hpp"

#include <algorithm>
#include <cmath>

#include "judge/ops/rows/long_error.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

using namespace numerics;

UpperBound at_most(const LongApproximation& x) {
  return UpperBound(std::max(0.0, next_above(static_cast<double>(x.value)))) + UpperBound(long_error::above(x.error));
}

UpperBound size_of(const LongApproximation& x) { return at_most(LongApproximation{std::fabs(x.value), x.error}); }

RowStatistics<UpperBound> score_statistics(const LongSoftmax& row) {
  RowStatistics<UpperBound> result;
  result.visible = row.size();
  result.log_sum = at_most(row.log_sum());
  result.mean_deviation = at_most(row.mean_deviation());
  result.mean_square_deviation = at_most(row.mean_square_deviation());
  result.maximum_magnitude = size_of(row.maximum());
  result.logsumexp_magnitude = size_of(row.logsumexp());
  const LongApproximation maximum = row.maximum();
  long double largest = 0;
  for (std::size_t j = 0; j < row.size(); ++j) {
    const LongApproximation deviation = row.deviation(j);
    const long double score = maximum.value - deviation.value;
    largest = std::max(largest, std::fabs(score) + long_error::second_order * (maximum.error + deviation.error));
  }
  result.largest_magnitude = numerics::maximum(result.maximum_magnitude, UpperBound(long_error::above(largest)));
  return result;
}

ItemBounds::ItemBounds(const LongSoftmax& row) {
  coefficients.reserve(row.size());
  deviations.reserve(row.size());
  for (std::size_t j = 0; j < row.size(); ++j) {
    coefficients.push_back(at_most(row.coefficient(j)));
    deviations.push_back(at_most(row.deviation(j)));
  }
}

}  // namespace softcheck::proptests
