#include "proptests/judge/judged_row.hpp"

#include <algorithm>
#include <cmath>

namespace softcheck::proptests {

using namespace numerics;

namespace {

UpperBound at_most(const Approximation& value) {
  return UpperBound(std::max(0.0, value.value)) + UpperBound(value.error);
}

}  // namespace

Statistics statistics_of(const RowCascade& row, const Contract& contract, std::span<const double> logits,
                         double theta) {
  const FilterStatistics& filter = row.statistics();
  Statistics result;
  result.size = filter.size;
  result.visible = filter.visible;
  result.rescalings = rescaling_count(contract, logits);
  result.theta = theta;
  result.log_sum = log1p(at_most(filter.sum_minus_one));
  result.mean_deviation = at_most(row.mean_deviation());
  result.mean_square_deviation = at_most(row.mean_square_deviation());
  const auto magnitude = [&](double logit) { return (abs(Enclosure(logit)) / Enclosure(theta)).upper_double(); };
  result.maximum_magnitude = UpperBound(magnitude(filter.maximum));
  double largest = 0;
  for (double logit : logits) {
    if (std::isfinite(logit)) largest = std::max(largest, std::fabs(logit));
  }
  result.largest_magnitude = UpperBound(magnitude(largest));
  const Approximation logsumexp = row.logsumexp();
  result.logsumexp_magnitude = UpperBound(std::fabs(logsumexp.value)) + UpperBound(logsumexp.error);
  return result;
}

double resolution_of_logarithms(const Contract& contract, const Statistics& statistics) {
  const double sum = upper(sum_error(contract, statistics, Grants::none));
  return sum < 1 ? sum : 0;
}

ExactSums::ExactSums(RowCascade& cascade) {
  const DoubleDoubleStatistics& pair = cascade.double_double_statistics();
  const auto enclose = [](const DoubleDoubleApproximation& sum) {
    const Enclosure error = Enclosure::between(-sum.error, sum.error);
    return maximum(Enclosure(0), Enclosure(sum.value.high) + Enclosure(sum.value.low) + error);
  };
  sum_minus_one = enclose(pair.sum_minus_one);
  weighted_deviation = enclose(pair.weighted_deviation);
}

std::optional<ValueFinding> masked_item_that_is_not(double expected, std::string_view claim, const JudgedRow& row) {
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    if (!std::isinf(row.logits[i]) || row.got[i] == expected) continue;
    return ValueFinding{claim, i, Enclosure(0), row.got[i], 0, Decision::violated, {}, false};
  }
  return std::nullopt;
}

long double nearest(const Enclosure& value) {
  const double high = value.midpoint();
  if (!std::isfinite(high)) return high;
  return static_cast<long double>(high) + static_cast<long double>((value - Enclosure(high)).midpoint());
}

}  // namespace softcheck::proptests
