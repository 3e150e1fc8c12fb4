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

/// The row statistics that the bounds need, from the filter's values and their certified errors: doubles, each rounded
/// upward.
Statistics statistics_of(const numerics::FilterStatistics& filter, const numerics::Contract& contract,
                         std::span<const double> logits, double theta);

/// No less than (maximum - logit) / theta.
numerics::UpperBound deviation_at_most(double maximum, double logit, double theta);

/// S - 1 and T = sum w D of a row, from double-double arithmetic: some 90 bits, at the working precision.
struct ExactSums {
  explicit ExactSums(numerics::RowCascade& cascade);
  numerics::Enclosure sum_minus_one;
  numerics::Enclosure weighted_deviation;
};

/// What a row's sums are made of: the filter's values are quick, and carry errors of some 40 * 2^-53;
/// double-doubles cost some 20 times as much.
enum class Sums { filter, double_double };

/// S - 1 of a row, at the working precision.
numerics::Enclosure sum_minus_one(numerics::RowCascade& cascade, Sums by);
/// Which sums results of a format need: the filter's errors matter to doubles alone.
Sums sums_for(numerics::Format output);

/// A kernel has S >= 1 only to within the error of its own sum: an entropy or a logarithm below that error has no
/// relative accuracy in any kernel of the contract. If the bound of the sum is itself infinite, that is no excuse.
double resolution_of_logarithms(const numerics::Contract& contract, const Statistics& statistics);

/// False where a form that is not shift-invariant has nothing left: x / T rounded before the maximum is taken
/// (theta=before), or m + ln S as a number of its own (lse=uncentred, an entropy that is not centred), whose last place
/// is as large as the differences that a softmax is made of. Such rows are judged by their thresholds and counted
/// apart.
///
/// cancels   the op's own form is the second kind
bool is_resolved(const numerics::Contract& contract, const Statistics& statistics, bool cancels = false);

/// The same of an entropy, whose form may cancel larger terms.
double resolution_of_entropies(const numerics::Contract& contract, const Statistics& statistics);

/// Is a threshold of softmax one that the cascade takes? A wider one, as an infinite one, promises nothing.
bool is_promise(const numerics::ElementThreshold<numerics::UpperBound>& threshold);

/// B2 as the cascade takes it, of a threshold that is_promise.
numerics::ElementTolerance tolerance_of(const numerics::Contract& contract,
                                        const numerics::ElementThreshold<numerics::UpperBound>& threshold);

/// B4 of a row of softmax with these values: what may have been flushed are those of 0.
double granted_sum(const numerics::Contract& contract, const Statistics& statistics, std::span<const double> logits,
                   std::span<const double> got);

/// A masked item is what it must be exactly, whatever the threshold's floor, the sign of a zero included: the first
/// that is not.
std::optional<ValueFinding> masked_item_that_is_not(double expected, std::string_view claim, const JudgedRow& row);

/// A coefficient is no less than +0, and exceeds 1 by no more than coefficient_excess: the first that is not so.
///
/// excess   coefficient_excess of the item, asked for only where a value is above 1
std::optional<ValueFinding> coefficient_out_of_range(std::string_view claim, const JudgedRow& row,
                                                     const std::function<double(std::size_t)>& excess);

/// What an entropy's sign breaks, if anything. ln S + T / S has two terms that are not negative; the other forms may
/// come out as -0, and below 0 by as much as their threshold allows.
///
/// undershoot   entropy_undershoot
std::optional<std::string_view> entropy_out_of_range(const numerics::Contract& contract, double got, double undershoot);

/// Is got the value, its zero's sign included, or what the output's format may hold in place of an infinite one?
bool is_held_as(numerics::Format output, double got, double exact);

/// A real as a long double: within 2 units of its last place where the enclosure is that narrow.
long double nearest(const numerics::Enclosure& value);

}  // namespace softcheck::proptests
