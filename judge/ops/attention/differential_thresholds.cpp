#include "judge/ops/attention/differential_thresholds.hpp"

#include <algorithm>
#include <cmath>

#include "judge/ops/rows/long_error.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

AttentionTask one_map(AttentionTask task) {
  task.op = Op::attention;
  return task;
}

// Both parts are numbers of the accumulator.
AttentionTask before_the_output(AttentionTask task) {
  task.contract.output = task.contract.accumulator;
  return task;
}

LongApproximation less(const LongApproximation& a, const LongApproximation& b) {
  const long double value = a.value - b.value;
  return {value, long_error::second_order * (a.error + b.error + long_error::unit * std::fabs(value))};
}

}  // namespace

DifferentialThresholds::DifferentialThresholds(const AttentionTask& task, const AttentionRow& row,
                                               const VisibleKeys& visible)
    : row_(row),
      visible_(visible),
      part_(one_map(task)),
      of_accumulator_(before_the_output(part_)),
      second_row_(row.second()),
      second_visible_(task.contract, second_row_),
      first_(of_accumulator_, row, visible),
      second_(of_accumulator_, second_row_, second_visible_),
      difference_(task.contract, row.lambda,
                  arithmetic_of(task.contract, row, visible, items_of(task.contract, row, visible)).value_sum_height) {}

UpperBound DifferentialThresholds::values(std::size_t column) const {
  const auto size = [&](std::size_t k) { return std::fabs(row_.values[visible_.items[k] * row_.value_size + column]); };
  double computed = 0;
  for (std::size_t k = 0; k < visible_.keys(); ++k) computed += size(k);
  if (const std::optional<UpperBound> bound = bound_of_sum(computed, visible_.keys())) return *bound;
  UpperBound sum;
  for (std::size_t k = 0; k < visible_.keys(); ++k) sum = sum + UpperBound(size(k));
  return sum;
}

Judgeable DifferentialThresholds::column(std::size_t column) const {
  Judgeable result;
  result.threshold = infinity;
  result.vacuous = true;
  if (usable()) {
    const Judgeable first = first_.column(column), second = second_.column(column);
    result.exact = less(first.exact, times(second.exact, row_.lambda));
    const ScalarThreshold<UpperBound> threshold = difference_.column(
        {UpperBound(first.threshold), UpperBound(first.magnitude)},
        {UpperBound(second.threshold), UpperBound(second.magnitude)}, values(column), size_of(result.exact));
    // An infinite threshold stays one if lambda is 0.
    if (first.threshold < infinity && second.threshold < infinity) result.threshold = upper(threshold.total());
    result.magnitude = first.magnitude + std::fabs(row_.lambda) * second.magnitude;
    result.vacuous = is_vacuous(result.threshold, result.magnitude) && (first.vacuous || second.vacuous);
  }
  if (!result.vacuous && result.threshold < infinity) return result;
  result.limits = limits(column);
  if (usable()) return result;
  const long double least = result.limits.least, most = result.limits.most;
  result.exact = {(least + most) / 2, (most - least) / 2};
  return result;
}

ResultLimits DifferentialThresholds::limits(std::size_t column) const {
  if (!first_limits_) first_limits_.emplace(part_, row_, visible_);
  if (!second_limits_) second_limits_.emplace(part_, second_row_, second_visible_);
  const ResultLimits first = first_limits_->column(column), second = second_limits_->column(column);
  const auto [least, most] = std::minmax({row_.lambda * second.least, row_.lambda * second.most});
  const auto size = [](const ResultLimits& of) {
    return UpperBound(std::fmax(std::fabs(of.least), std::fabs(of.most)));
  };
  const UpperBound larger = size(first) + UpperBound(std::fabs(row_.lambda)) * size(second);
  const double error = upper(
      difference_.column({UpperBound(0), size(first)}, {UpperBound(0), size(second)}, values(column), larger).total());
  return {next_below(next_below(first.least - next_above(most)) - error),
          next_above(next_above(first.most - next_below(least)) + error),
          "beyond what two averages of the visible values give", first.may_overflow || second.may_overflow};
}

}  // namespace softcheck::proptests
