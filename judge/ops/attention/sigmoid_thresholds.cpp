#include "judge/ops/attention/sigmoid_thresholds.hpp"

#include <cmath>

#include "judge/ops/rows/long_error.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

long double sigmoid_of(long double x) {
  const long double t = std::exp(-std::fabs(x));
  return (x < 0 ? t : 1) / (1 + t);
}

// 1 / (1 + e^-x). Its logarithm has a slope of at most 1; the exponential, the sum and the quotient round. If x errs by
// 1 or more, the value and the exact one lie between 0 and the sigmoid of the largest x.
LongApproximation sigmoid(const LongApproximation& x) {
  const long double value = sigmoid_of(x.value);
  const long double error =
      x.error < 1 ? value * (std::expm1(x.error) + 8 * long_error::unit) : sigmoid_of(x.value + x.error);
  return {value, error * long_error::second_order + long_error::lost};
}

UpperBound bound_of_size(const LongApproximation& x) {
  return UpperBound(next_above(static_cast<double>(std::fabs(x.value) + x.error)));
}

}  // namespace

SigmoidThresholds::SigmoidThresholds(const AttentionTask& task, const AttentionRow& row, const VisibleKeys& visible)
    : row_(row),
      visible_(visible),
      threshold_(task.contract, arithmetic_of(task.contract, row, visible, row.visible.size()).value_sum_height),
      outputs_(row.value_size, digits_for(task.contract)) {
  const double bias = std::fabs(row.sigmoid_bias);
  for (std::size_t k = 0; k < visible.keys(); ++k) {
    const LongApproximation& score = visible.scores[k];
    const long double sum = score.value + row.sigmoid_bias;
    const LongApproximation x{sum, score.error + long_error::unit * std::fabs(sum)};
    const LongApproximation coefficient = sigmoid(x);
    const SigmoidKey key{static_cast<double>(x.value), bound_of_size(x), UpperBound(bias), visible.score_errors[k],
                         bound_of_size(coefficient)};
    ProductSums::Factor factor{coefficient, 0, threshold_.key_error(key), UpperBound(1)};
    if (!row.kept.empty()) {
      if (row.factor(visible.items[k]) == 0) continue;
      factor = kept_weight(task.contract, row.dropout_scale, factor);
    }
    outputs_.add(factor, row.values.subspan(visible.items[k] * row.value_size, row.value_size));
  }
}

Judgeable SigmoidThresholds::column(std::size_t column) const {
  Judgeable result;
  result.exact = outputs_.total(column);
  result.magnitude = outputs_.size(column);
  const ScalarThreshold<UpperBound> threshold =
      threshold_.column(outputs_.error(column), outputs_.floor(column), visible_.keys(), bound_of_size(result.exact));
  result.threshold = visible_.may_overflow ? infinity : upper(threshold.total());
  result.resolution = upper(threshold_.resolution(outputs_.floor(column)));
  result.vacuous = is_vacuous(upper(threshold.rounding), result.magnitude);
  double least = 0, most = 0;
  for (std::size_t k = 0; k < visible_.keys(); ++k) {
    const std::size_t j = visible_.items[k];
    const double value = row_.factor(j) * row_.values[j * row_.value_size + column];
    (value < 0 ? least : most) += value;
  }
  // These sums round, too.
  const double excess = upper(threshold_.excess(outputs_.floor(column), visible_.keys())) +
                        (most - least) * static_cast<double>(visible_.keys()) * 0x1p-52;
  result.limits = {next_below(least - excess), next_above(most + excess), "beyond what coefficients in [0, 1] give",
                   visible_.may_overflow};
  return result;
}

}  // namespace softcheck::proptests
