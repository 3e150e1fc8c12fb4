#include "judge/ops/rows/judged_row.hpp"

#include <algorithm>
#include <cmath>

#include "numerics/enclosures/coarse.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/flushed_output.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

double unit_roundoff(const Contract& contract) { return properties(contract.accumulator).unit_roundoff; }

UpperBound at_most(const Approximation& value) {
  return coarse(UpperBound(std::max(0.0, value.value)) + UpperBound(value.error));
}

double below(double value) { return next_below(value); }
double above(double value) { return next_above(value); }

// a / divisor, rounded upward; exact if a is 0 or the divisor is 1.
UpperBound over(UpperBound a, double divisor) {
  return a.value() == 0 || divisor == 1 ? a : UpperBound(above(a.value() / divisor));
}

// Bounds |m / theta + ln S| from above.
//
// rest      a lower bound of S - 1
// log_sum   an upper bound of ln S
UpperBound logsumexp_at_most(double maximum, double theta, double rest, UpperBound log_sum) {
  const double quotient = maximum / theta;
  const double high = theta == 1 ? quotient : above(quotient), low = theta == 1 ? quotient : below(quotient);
  // UpperBound's log1p is within 2^-47 of ln(1 + rest) (numerics/enclosures/upper_bound.cpp).
  const double least = log1p(UpperBound(rest)).value() * (1 - 0x1p-46);
  return UpperBound(std::fmax(std::fabs(above(high + log_sum.value())), std::fabs(below(low + least))));
}

}  // namespace

Statistics statistics_of(const FilterStatistics& filter, const Contract& contract, std::span<const double> logits,
                         double theta) {
  Statistics result;
  result.size = filter.size;
  result.visible = filter.visible;
  result.rescalings = rescaling_count(contract, logits);
  result.theta = theta;
  const double rest = coarse_below(std::fmax(0, below(filter.sum_minus_one.value - filter.sum_minus_one.error)));
  const double sum = std::fmax(1, below(1 + rest));  // a lower bound of S
  result.log_sum = log1p(at_most(filter.sum_minus_one));
  result.mean_deviation = over(at_most(filter.weighted_deviation), sum);
  result.mean_square_deviation = over(at_most(filter.second_moment), sum);
  result.maximum_magnitude = over(UpperBound(std::fabs(filter.maximum)), theta);
  double largest = 0;
  for (double logit : logits) {
    const double magnitude = std::fabs(logit);
    largest = magnitude < infinity && magnitude > largest ? magnitude : largest;
  }
  result.largest_magnitude = over(UpperBound(largest), theta);
  result.logsumexp_magnitude = logsumexp_at_most(filter.maximum, theta, rest, result.log_sum);
  return result;
}

UpperBound deviation_at_most(double maximum, double logit, double theta) {
  // The difference and the quotient round once each.
  return UpperBound(next_above((maximum - logit) / theta * (1 + 0x1p-51)));
}

bool is_promise(const ElementThreshold<UpperBound>& threshold) {
  constexpr double most = ElementTolerance::largest_part;
  return upper(threshold.constant) <= most && upper(threshold.slope) <= most && upper(threshold.floor) <= most;
}

ElementTolerance tolerance_of(const Contract& contract, const ElementThreshold<UpperBound>& threshold) {
  const double floor = threshold_of_result(contract, upper(threshold.floor), 1);
  return ElementTolerance::within_relative(upper(threshold.constant), upper(threshold.slope), floor,
                                           flushing_excess(contract));
}

double granted_sum(const Contract& contract, const Statistics& statistics, std::span<const double> logits,
                   std::span<const double> got) {
  const double threshold = upper(row_sum_error(contract, statistics).total());
  if (flushing_excess(contract) == 0) return threshold;
  std::uint64_t zeros = 0;
  for (std::size_t i = 0; i < got.size(); ++i) zeros += got[i] == 0 && std::isfinite(logits[i]) ? 1 : 0;
  return threshold_of_sum(contract, threshold, statistics.visible, zeros);
}

double resolution_of_logarithms(const Contract& contract, const Statistics& statistics) {
  const double sum = upper(sum_error(contract, statistics, Grants::none));
  // A rounded x / theta is only as accurate as its last places. The maximum rounds three times in effect: once in m,
  // and once each in S and in the deviation through the differences from m.
  const bool scaled = contract.theta == ThetaUse::before && statistics.theta != 1;
  const double digits = scaled ? 16 * unit_roundoff(contract) * upper(statistics.maximum_magnitude) : 0;
  if (scaled && !is_resolved(contract, statistics)) return infinity;
  return (sum < 1 ? sum : 0) + digits;
}

bool is_resolved(const Contract& contract, const Statistics& statistics, bool cancels) {
  const bool scaled = contract.theta == ThetaUse::before && statistics.theta != 1;
  // The maximum, and the number it is subtracted from, round three times together.
  return !(scaled || cancels) || 6 * unit_roundoff(contract) * upper(statistics.maximum_magnitude) < 1;
}

double resolution_of_entropies(const Contract& contract, const Statistics& statistics) {
  // m and sum p x, or L and sum p x, cancel: the result keeps only their absolute accuracy, including that of T / S.
  const bool cancels = !contract.has_centred_entropy();
  const double sum = upper(sum_error(contract, statistics, Grants::none));
  const double relative = 8 * unit_roundoff(contract) + (sum < 1 ? 2 * sum : 0);
  const double terms = cancels ? relative * upper(statistics.maximum_magnitude) : 0;
  return resolution_of_logarithms(contract, statistics) + terms;
}

ExactSums::ExactSums(RowCascade& cascade) {
  const DoubleDoubleStatistics& pair = cascade.double_double_statistics();
  const auto enclose = [](const DoubleDoubleApproximation& sum) {
    const Enclosure error = Enclosure::between(-sum.error, sum.error);
    return maximum(Enclosure(0), Enclosure(sum.value.high) + Enclosure(sum.value.low) + error);
  };
  sum_minus_one = enclose(pair.sum_minus_one);
  weighted_deviation = enclose(pair.weighted_deviation);
}

Enclosure sum_minus_one(RowCascade& cascade, Sums by) {
  if (by == Sums::double_double) return ExactSums(cascade).sum_minus_one;
  const Approximation& rest = cascade.statistics().sum_minus_one;
  const Enclosure error = Enclosure::between(-rest.error, rest.error);
  return maximum(Enclosure(0), Enclosure(rest.value) + error);
}

Sums sums_for(Format output) { return output == Format::f64 ? Sums::double_double : Sums::filter; }

std::optional<ValueFinding> masked_item_that_is_not(double expected, std::string_view claim, const JudgedRow& row) {
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    if (!std::isinf(row.logits[i]) || is_held_as(row.contract.output, row.got[i], expected)) continue;
    return ValueFinding{claim, i, Enclosure(0), row.got[i], 0, Decision::violated, {}, false, "a masked item"};
  }
  return std::nullopt;
}

bool is_held_as(Format format, double got, double exact) {
  if (got == exact && std::signbit(got) == std::signbit(exact)) return true;
  return std::isinf(exact) && is_overflow(format, got, exact < 0);
}

std::optional<ValueFinding> coefficient_out_of_range(std::string_view claim, const JudgedRow& row,
                                                     const std::function<double(std::size_t)>& excess) {
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    const double got = row.got[i];
    if (std::isnan(got) || std::isinf(row.logits[i])) continue;
    if (std::signbit(got)) {
      return ValueFinding{
          claim, i, Enclosure(0), got, 0, Decision::violated, {}, false, "no coefficient is negative or -0"};
    }
    if (got <= 1) continue;
    const double allowed = excess(i);
    if (got - 1 <= allowed) continue;
    return ValueFinding{claim, i,       Enclosure(1),
                        got,   allowed, Decision::violated,
                        {},    false,   "no coefficient exceeds 1 by more than its own roundings"};
  }
  return std::nullopt;
}

std::optional<std::string_view> entropy_out_of_range(const Contract& contract, double got, double undershoot) {
  if (!contract.has_centred_entropy()) return std::nullopt;
  if (got == 0 && std::signbit(got)) return "no entropy of deviations is -0";
  if (got < -undershoot) return "no entropy of deviations is negative beyond one exponential's error";
  return std::nullopt;
}

long double nearest(const Enclosure& value) {
  const double high = value.midpoint();
  if (!std::isfinite(high)) return high;
  return static_cast<long double>(high) + static_cast<long double>((value - Enclosure(high)).midpoint());
}

}  // namespace softcheck::proptests
