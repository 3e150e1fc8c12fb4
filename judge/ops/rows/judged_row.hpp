#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "judge/ops/rows/row_op.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/filter/row_cascade.hpp"
#include "numerics/rounding/contract.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {

using Statistics = numerics::RowStatistics<numerics::UpperBound>;

/// The row statistics that the bounds need, from the filter's values and certified errors; each rounded upward to a
/// double.
Statistics statistics_of(const numerics::FilterStatistics& filter, const numerics::Contract& contract,
                         std::span<const double> logits, double theta);

/// An upper bound of (maximum - logit) / theta.
numerics::UpperBound deviation_at_most(double maximum, double logit, double theta);

/// S - 1 and T = sum w D of a row from double-double arithmetic, about 90 bits, as enclosures at the working precision.
struct ExactSums {
  explicit ExactSums(numerics::RowCascade& cascade);
  numerics::Enclosure sum_minus_one;
  numerics::Enclosure weighted_deviation;
};

/// The arithmetic of a row's sums. The filter's doubles are quick, with errors of about 40 * 2^-53; double-doubles cost
/// some 20 times as much.
enum class Sums { filter, double_double };

/// S - 1 of a row, at the working precision.
numerics::Enclosure sum_minus_one(numerics::RowCascade& cascade, Sums by);
/// The sums that results of a format need: the filter's errors matter only to f64.
Sums sums_for(numerics::Format output);

/// The smallest logarithm with a relative accuracy. A kernel computes S >= 1 only up to the error of its sum, so no
/// kernel of the contract has a relative accuracy below that error. An infinite bound of the sum excuses nothing.
double resolution_of_logarithms(const numerics::Contract& contract, const Statistics& statistics);

/// False if a form that is not shift-invariant leaves no accuracy: x / T rounded before the maximum (theta=before), or
/// m + ln S as an intermediate number (lse=uncentred, an entropy that is not centred) with a last place as large as the
/// differences in a softmax. The judge applies the thresholds to such rows and counts them apart.
///
/// cancels   the op's own form is of the second kind
bool is_resolved(const numerics::Contract& contract, const Statistics& statistics, bool cancels = false);

/// resolution_of_logarithms for an entropy, whose form may subtract larger terms.
double resolution_of_entropies(const numerics::Contract& contract, const Statistics& statistics);

/// Can the cascade use this threshold of softmax? It cannot use wider or infinite ones, which promise nothing.
bool is_promise(const numerics::ElementThreshold<numerics::UpperBound>& threshold);

/// B2 in the form of the cascade, for a threshold that is_promise.
numerics::ElementTolerance tolerance_of(const numerics::Contract& contract,
                                        const numerics::ElementThreshold<numerics::UpperBound>& threshold);

/// B4 of a row of softmax with these values; values of 0 count as possibly flushed.
double granted_sum(const numerics::Contract& contract, const Statistics& statistics, std::span<const double> logits,
                   std::span<const double> got);

/// The first masked item that is not exactly the expected value, including the sign of a zero. Thresholds do not apply.
std::optional<ValueFinding> masked_item_that_is_not(double expected, std::string_view claim, const JudgedRow& row);

/// The first coefficient below +0, or above 1 by more than coefficient_excess.
///
/// excess   coefficient_excess of the item; called only for values above 1
std::optional<ValueFinding> coefficient_out_of_range(std::string_view claim, const JudgedRow& row,
                                                     const std::function<double(std::size_t)>& excess);

/// The sign rule that an entropy breaks, if any. ln S + T / S has two nonnegative terms; the other forms may return -0,
/// or a negative value within their threshold.
///
/// undershoot   entropy_undershoot
std::optional<std::string_view> entropy_out_of_range(const numerics::Contract& contract, double got, double undershoot);

/// Is got the exact value, including the sign of a zero? For an infinite one the output's format may hold another
/// number.
bool is_held_as(numerics::Format output, double got, double exact);

/// A real as a long double: within 2 units in its last place if the enclosure is that narrow.
long double nearest(const numerics::Enclosure& value);

}  // namespace softcheck::proptests
