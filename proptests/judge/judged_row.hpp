#pragma once

#include <optional>
#include <span>
#include <string>

#include "numerics/certificate.hpp"
#include "numerics/contract.hpp"
#include "numerics/rounding.hpp"
#include "numerics/row_cascade.hpp"
#include "numerics/upper_bound.hpp"
#include "proptests/judge/row_judge.hpp"

namespace softcheck::proptests {

/// What judge_row works on.
struct JudgedRow {
  const numerics::Contract& contract;
  std::span<const double> logits;
  double theta;
  std::span<const double> got;
  const std::string& witness;
};

using Statistics = numerics::RowStatistics<numerics::UpperBound>;

/// The row statistics that the bounds need, from the filter's values and their certified errors.
Statistics statistics_of(const numerics::RowCascade& cascade, const numerics::Contract& contract,
                         std::span<const double> logits, double theta);

/// S >= 1 is held only to within the error of its own sum: an entropy or a logarithm below it has no relative accuracy
/// in any kernel of the contract. Where nothing is known of the sum itself, that is no excuse.
double resolution_of_logarithms(const numerics::Contract& contract, const Statistics& statistics);

/// A masked item is what it must be exactly, whatever the threshold's floor: a certificate of the first that is not.
std::optional<numerics::Certificate> masked_item_that_is_not(double expected, const std::string& claim,
                                                             const JudgedRow& row);

/// The ops whose elements are enclosed one by one: every element decided, the worst one shown.
void judge_log_softmax(const JudgedRow& row, RowFindings& findings);
void judge_adaptive_softmax(const JudgedRow& row, RowFindings& findings);

}  // namespace softcheck::proptests
