#include "judge/ops/rows/result_limits.hpp"

#include <cmath>

#include "numerics/formats/next_double.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

double largest_finite(std::span<const double> numbers) {
  double largest = 0;
  for (const double x : numbers) {
    const double size = std::fabs(x);
    largest = size > largest && size < infinity ? size : largest;
  }
  return largest;
}

// Does the exact value round to a finite number of the output's format?
bool is_representable(const Contract& contract, const Enclosure& exact) {
  return less(abs(exact), Enclosure(infinity_from(contract.output))) == Decision::proved;
}

ValueFinding broken(std::string_view claim, std::optional<std::size_t> item, const Enclosure& exact, double got,
                    std::string_view rule) {
  return {claim, item, exact, got, infinity, Decision::violated, {}, false, rule};
}

}  // namespace

std::optional<ValueFinding> broken_limit(std::string_view claim, std::optional<std::size_t> item,
                                         const Contract& contract, double got, const Enclosure& exact,
                                         const ResultLimits& limits) {
  if (overflows_rightly(contract, got, exact, infinity)) return std::nullopt;
  if (std::isinf(got)) return broken(claim, item, exact, got, "infinite where the exact value is finite");
  if (limits.may_overflow) return std::nullopt;
  if (std::isnan(got)) {
    if (!is_representable(contract, exact)) return std::nullopt;
    return broken(claim, item, exact, got, "NaN where the exact value is finite");
  }
  if (got >= limits.least && got <= limits.most) return std::nullopt;
  return broken(claim, item, exact, got, limits.rule);
}

bool may_overflow(Format accumulator, double magnitude) { return !(magnitude < properties(accumulator).largest / 4); }

bool may_overflow(const RowInputs& row) {
  const Format accumulator = row.contract.accumulator;
  const FormatProperties& p = properties(accumulator);
  const double inverse = 1 / row.theta;
  if (row.theta != 1 && !(inverse > 2 * p.smallest_normal && inverse < p.largest / 2)) return true;
  const double logit = largest_finite(row.logits);
  if (may_overflow(accumulator, logit * std::fmax(1, inverse))) return true;
  // Each input may be multiplied by another one, and the products added over the row.
  double product = std::fmax(1, static_cast<double>(row.logits.size()));
  for (const std::vector<double>& input : row.auxiliary) product *= std::fmax(1, largest_finite(input));
  return !row.auxiliary.empty() && may_overflow(accumulator, product * std::fmax(1, logit));
}

Contract over_computed_logits(const Contract& contract) {
  Contract result = contract;
  result.input = contract.accumulator;
  return result;
}

Statistics widest_statistics(std::uint64_t size, std::uint64_t visible, std::uint64_t rescalings, double magnitude) {
  Statistics result;
  result.size = size;
  result.visible = visible;
  result.rescalings = rescalings;
  // std::log errs by less than an ulp. e < 3.
  const auto log_of = [](double x) { return UpperBound(next_above(next_above(std::log(x)))); };
  const auto n = static_cast<double>(visible);
  const UpperBound wider = log_of(n + 3);
  result.log_sum = result.mean_deviation = visible == 1 ? UpperBound(0) : log_of(n);
  result.mean_square_deviation = wider * wider;
  result.maximum_magnitude = result.largest_magnitude =
      std::isfinite(magnitude) ? UpperBound(magnitude) : UpperBound::infinity();
  result.logsumexp_magnitude = result.maximum_magnitude + result.log_sum;
  return result;
}

double coefficient_overshoot(const Contract& contract, const Statistics& statistics, double deviation) {
  // x / theta, rounded on its own, may exceed a maximum that the kernel scaled in another way.
  if (contract.theta == ThetaUse::before && statistics.theta != 1) {
    return upper(coefficient_excess(contract, statistics, UpperBound(deviation)));
  }
  Statistics computed = statistics;
  computed.theta = 1;
  return upper(coefficient_excess(over_computed_logits(contract), computed, UpperBound(0)));
}

double log_coefficient_overshoot(const Contract& contract, const Statistics& statistics) {
  const double of_sum = upper(entropy_undershoot(over_computed_logits(contract), statistics));
  const bool scaled = contract.theta == ThetaUse::before && statistics.theta != 1;
  if (contract.has_centred_lse() && !scaled) return of_sum;
  // x and L are scaled separately, with at most four roundings each, and L is rounded: (1 + u)^4 - 1 < 4.1 u for u <=
  // 2^-8, so the result loses at most 2 * 4.1 u + u (1 + 5 u) < 10 u of the maximum. Doubled for the roundings of the
  // result.
  const double lost = 20 * properties(contract.accumulator).unit_roundoff * upper(statistics.maximum_magnitude);
  return next_above(of_sum * 2 + lost);
}

}  // namespace softcheck::proptests
