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

/// Limits that every result must keep, however wide its threshold is. docs/tolerances.md, "Rules beside the
/// thresholds".
struct ResultLimits {
  double least = -numerics::infinity;
  double most = numerics::infinity;
  std::string_view rule = {};  // a string literal: why the result lies between the two
  /// An intermediate number may leave the accumulator's range. Then the result may be NaN.
  bool may_overflow = false;
};

/// Is the result finite and between the limits? If so it breaks no rule, whatever the exact value is.
inline bool keeps(const ResultLimits& limits, double got) {
  return std::isfinite(got) && got >= limits.least && got <= limits.most;
}

/// The rule that a result breaks, if any: a NaN or an infinity although the exact value is representable in the
/// output's format, or a number beyond the limits.
///
/// contract   its output is the result's format
std::optional<ValueFinding> broken_limit(std::string_view claim, std::optional<std::size_t> item,
                                         const numerics::Contract& contract, double got,
                                         const numerics::Enclosure& exact, const ResultLimits& limits);

/// Can an intermediate number of a kernel of the contract leave the accumulator's range: a logit, a logit over theta, a
/// difference, or a product or sum of the other inputs?
bool may_overflow(const RowInputs& row);

/// Does twice the magnitude leave the format's range? A rounded sum of two terms that large may overflow.
bool may_overflow(numerics::Format accumulator, double magnitude);

/// For a kernel that takes an exact softmax of its own computed logits: the contract over these logits, and the largest
/// statistics that a row of this many visible items can have (Dbar <= ln n, sum p D^2 <= ln^2(n + e)).
///
/// magnitude   bound on a computed logit's magnitude; infinite if unknown
numerics::Contract over_computed_logits(const numerics::Contract& contract);
Statistics widest_statistics(std::uint64_t size, std::uint64_t visible, std::uint64_t rescalings, double magnitude);

/// Upper bounds on how far a coefficient may exceed 1, and a log-coefficient 0: the exponential of a difference <= 0
/// exceeds 1 by at most its own error, and every sum is at least the exponential of the maximum. The logits' magnitude
/// and the sum's size do not matter.
double coefficient_overshoot(const numerics::Contract& contract, const Statistics& statistics, double deviation);
double log_coefficient_overshoot(const numerics::Contract& contract, const Statistics& statistics);

}  // namespace softcheck::proptests
