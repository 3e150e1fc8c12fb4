#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "numerics/contract.hpp"
#include "numerics/rounding.hpp"
#include "numerics/row_cascade.hpp"
#include "numerics/upper_bound.hpp"
#include "proptests/judge/row_judge.hpp"

namespace softcheck::proptests {

/// What judge_values works on.
struct JudgedRow {
  const numerics::Contract& contract;
  std::span<const double> logits;
  double theta;
  std::span<const double> got;
};

using Statistics = numerics::RowStatistics<numerics::UpperBound>;

/// The row statistics that the bounds need, from the filter's values and their certified errors.
Statistics statistics_of(const numerics::RowCascade& cascade, const numerics::Contract& contract,
                         std::span<const double> logits, double theta);

/// S - 1 and T = sum w D of a row, from double-double arithmetic: some 90 bits, at the working precision.
struct ExactSums {
  explicit ExactSums(numerics::RowCascade& cascade);
  numerics::Enclosure sum_minus_one;
  numerics::Enclosure weighted_deviation;
};

/// S >= 1 is held only to within the error of its own sum: an entropy or a logarithm below it has no relative accuracy
/// in any kernel of the contract. Where nothing is known of the sum itself, that is no excuse.
double resolution_of_logarithms(const numerics::Contract& contract, const Statistics& statistics);

/// A masked item is what it must be exactly, whatever the threshold's floor: the first that is not.
std::optional<ValueFinding> masked_item_that_is_not(double expected, std::string_view claim, const JudgedRow& row);

/// A real as a long double: within 2 units of its last place where the enclosure is that narrow.
long double nearest(const numerics::Enclosure& value);

/// kernel.softmax.element by a threshold; plain is the threshold without grants.
void judge_coefficients(const JudgedRow& row, numerics::RowCascade& cascade,
                        const numerics::ElementThreshold<numerics::UpperBound>& threshold,
                        const numerics::ElementThreshold<numerics::UpperBound>& plain, RowVerdicts& verdicts);

/// The ops whose elements are no coefficients of the row itself: every element decided, the worst one shown.
void judge_log_softmax(const JudgedRow& row, RowVerdicts& verdicts);
void judge_adaptive_softmax(const JudgedRow& row, RowVerdicts& verdicts);

}  // namespace softcheck::proptests
