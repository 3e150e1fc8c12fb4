#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "judge/verdict/value_certificate.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// What every result keeps, however wide its threshold is. docs/tolerances.md, "Rules beside the thresholds".
struct ResultLimits {
  double least = -numerics::infinity;
  double most = numerics::infinity;
  std::string_view rule = {};  // a literal: why a result lies between the two
  /// On its way to the result a number may leave the accumulator's range. Then the result may be NaN.
  bool may_overflow = false;
};

/// Does a finite result lie between the limits? Then it breaks no rule, whatever the exact value is.
inline bool keeps(const ResultLimits& limits, double got) {
  return std::isfinite(got) && got >= limits.least && got <= limits.most;
}

/// The rule that a result breaks, if any: NaN or an infinity where the exact value is a number of the output's format,
/// or a number beyond the limits.
///
/// contract   its output is that of the result
std::optional<ValueFinding> broken_limit(std::string_view claim, std::optional<std::size_t> item,
                                         const numerics::Contract& contract, double got,
                                         const numerics::Enclosure& exact, const ResultLimits& limits);

/// Can a kernel of the contract leave the accumulator's range on its way to a value of the row: by a logit, one over
/// theta, a difference, or a product or a sum of the other inputs?
bool may_overflow(const RowInputs& row);

/// Twice the larger of two exact terms, or more, is beyond the format: a rounded sum of them may be, too.
bool may_overflow(numerics::Format accumulator, double magnitude);

/// Whatever a kernel computes in place of its logits, it takes an exact softmax of these: the contract over them, and
/// the statistics that no row of so many visible items exceeds (Dbar <= ln n, sum p D^2 <= ln^2(n + e)).
///
/// magnitude   no less than that of a logit as computed; infinite where nothing is known
numerics::Contract over_computed_logits(const numerics::Contract& contract);
Statistics widest_statistics(std::uint64_t size, std::uint64_t visible, std::uint64_t rescalings, double magnitude);

/// By how much a coefficient may exceed 1, and a log-coefficient 0: no exponential of a difference <= 0 exceeds 1 by
/// more than its own error, and no sum is less than the exponential of the maximum. Neither the logits' size nor the
/// height of the sum matters.
double coefficient_overshoot(const numerics::Contract& contract, const Statistics& statistics, double deviation);
double log_coefficient_overshoot(const numerics::Contract& contract, const Statistics& statistics);

}  // namespace softcheck::proptests
