#include "judge/results/quick_softmax.hpp"

#include <cmath>

#include "judge/ops/rows/judged_row.hpp"
#include "numerics/filter/certified_sum.hpp"
#include "numerics/filter/filter_errors.hpp"
#include "numerics/rounding/flushed_output.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {

using namespace numerics;

std::optional<QuickRow> quick_softmax(const Contract& contract, std::span<const double> logits, double theta,
                                      std::span<const double> got) {
  if (properties(contract.output).precision > 24) return std::nullopt;
  const FilterStatistics filter = filter_row(logits, theta);
  const Statistics statistics = statistics_of(filter, contract, logits, theta);
  const auto threshold = softmax_error(contract, statistics);
  const auto plain = softmax_error(contract, statistics, Grants::none);
  if (!is_promise(threshold) || !is_promise(plain) || !is_resolved(contract, statistics)) {
    return std::nullopt;
  }
  const ErrorQuestion question{tolerance_of(contract, threshold), contract.output, upper(plain.constant),
                               upper(plain.slope)};
  const ProvedErrors errors = filter_errors(logits, filter, got, question);
  if (!errors.proved) return std::nullopt;
  QuickRow row;
  row.element_share = errors.largest_share;
  row.errors = {errors.values, errors.worst_ulps, errors.total_ulps, errors.worst_allowed, errors.worst_item};
  row.vacuity.judged = errors.normal;
  row.vacuity.vacuous = errors.vacuous;
  row.vacuity.add_row(false);
  const double allowed = granted_sum(contract, statistics, logits, got);
  if (!std::isfinite(allowed)) return row;
  const Approximation sum = certified_sum(got);
  const double distance = std::fabs(sum.value - 1);
  // Three roundings of 2^-53 each.
  if (!((distance + sum.error) * (1 + 0x1p-50) <= allowed)) return std::nullopt;
  row.sum_share = allowed > 0 ? distance / allowed : 0;
  return row;
}

}  // namespace softcheck::proptests
