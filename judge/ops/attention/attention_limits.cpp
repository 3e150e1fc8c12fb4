#include "judge/ops/attention/attention_limits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

using Bound = UpperBound;

// B9 for any row of exact scores. A key's error is linear in its deviation: over all keys it is at most that of one key
// with all weight and the mean deviation.
AttentionThreshold<Bound> widest_threshold(const AttentionTask& task, const AttentionRow& row,
                                           const VisibleKeys& visible) {
  const std::uint64_t n = items_of(task.contract, row, visible), items = visible.items.size();
  // Computed scores may have any order: a path may meet a new maximum at every item that it adds.
  const std::uint64_t rescalings = std::min(summation_height(task.contract, n), items - 1);
  const Statistics statistics = widest_statistics(n, items, rescalings, visible.largest_computed());
  const std::vector<Bound> exact(items), deviations(items, statistics.mean_deviation);
  std::vector<Bound> coefficients(items);
  coefficients.front() = Bound(1);
  const ScoreRow<Bound> scores{statistics, coefficients, deviations};
  return {task.contract, arithmetic_of(task.contract, row, visible, n), scores, exact};
}

}  // namespace

AttentionLimits::AttentionLimits(const AttentionTask& task, const AttentionRow& row, const VisibleKeys& visible)
    : task_(task), row_(row), visible_(visible), threshold_(widest_threshold(task, row, visible)) {}

ResultLimits AttentionLimits::column(std::size_t column) const {
  double least = visible_.sink ? 0 : infinity, most = -least;
  for (const std::size_t j : visible_.items) {
    if (j >= row_.visible.size()) continue;  // the sink
    const double value = row_.factor(j) * row_.values[j * row_.value_size + column];
    least = std::fmin(least, value);
    most = std::fmax(most, value);
  }
  const Bound largest(std::fmax(std::fabs(least), std::fabs(most)));
  const std::vector<Bound> sizes(visible_.items.size(), largest);
  // A dropout rounds each kept weight once more.
  const Bound rounding(row_.kept.empty()
                           ? 0
                           : 4 * properties(task_.contract.weights.value_or(task_.contract.accumulator)).unit_roundoff);
  const double error = upper(threshold_.column(sizes, largest).total() * (1 + rounding) + rounding * largest);
  return {next_below(least - error), next_above(most + error),
          "beyond the visible values by more than the errors of the sums", visible_.may_overflow};
}

ResultLimits AttentionLimits::entropy() const {
  const double error = upper(threshold_.entropy(task_.scalars).total());
  const auto items = static_cast<double>(visible_.items.size());
  // The paper's form, -sum p ln(p + 1e-9), is smaller by at most 1e-9 n (B11).
  const double below =
      task_.contract.entropy == EntropyForm::exact ? 0 : upper(epsilon_entropy_gap<Bound>(visible_.items.size()));
  return {next_below(-error - below), next_above(next_above(next_above(std::log(items))) + error),
          "no entropy is negative or beyond ln n by more than the errors of the sums", visible_.may_overflow};
}

ResultLimits AttentionLimits::logsumexp() const { return {.may_overflow = visible_.may_overflow}; }

}  // namespace softcheck::proptests
