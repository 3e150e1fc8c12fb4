#include "judge/ops/rows/sharpened_row.hpp"

#include <cmath>

#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

Enclosure beta_of(RowCascade& plain, std::span<const double> logits, EntropyDefinition definition, Sums by) {
  if (definition == EntropyDefinition::paper) {
    return inverse_temperature(entropy_with_epsilon(RowOracle(logits)));
  }
  if (by == Sums::filter) {
    const Approximation entropy = plain.entropy();
    return inverse_temperature(
        maximum(Enclosure(0), Enclosure(entropy.value) + Enclosure::between(-entropy.error, entropy.error)));
  }
  const ExactSums sums(plain);
  return inverse_temperature(log1p(sums.sum_minus_one) + sums.weighted_deviation / (sums.sum_minus_one + 1));
}

// S(beta) = sum w e^(-delta D) with beta = (1 + delta) / theta, w and D at theta. It lies between S - delta T and S -
// delta T + delta^2 (U + n 2^-980): for D <= 700 the remainder (delta D)^2 / 2 e^(|delta| D) is below (delta D)^2, and
// for larger D all of w D^2 e^(|delta| D) is below 2^-980.
Enclosure sum_at(RowCascade& cascade, const Enclosure& delta) {
  const ExactSums sums(cascade);
  const DoubleDoubleApproximation& moment = cascade.double_double_statistics().second_moment;
  const Enclosure most = Enclosure(moment.value.high) + Enclosure(moment.value.low) + Enclosure(moment.error) +
                         Enclosure(static_cast<double>(cascade.size()) * 0x1p-980);
  const Enclosure rest = square(delta) * most;
  const Enclosure first = sums.sum_minus_one + 1 - delta * sums.weighted_deviation;
  return hull(first, first + maximum(Enclosure(0), rest));
}

}  // namespace

SharpenedRow::SharpenedRow(RowCascade& plain, std::span<const double> logits, EntropyDefinition definition, Sums by)
    : logits_(logits),
      maximum_(plain.statistics().maximum),
      beta_(beta_of(plain, logits, definition, by)),
      theta_((Enclosure(1) / beta_).midpoint()),
      cascade_(logits, theta_) {
  distance_ = abs(delta()).upper_double();
  const Approximation mean = cascade_.mean_deviation();
  mean_deviation_ = next_above(mean.value + mean.error);
  bounds_ = filter_softmax(logits, cascade_.statistics());
}

Statistics SharpenedRow::statistics(const Contract& contract, std::uint64_t rescalings) const {
  Statistics result = statistics_of(cascade_.statistics(), contract, logits_, theta_);
  result.rescalings = rescalings;
  result.theta = 1;
  // Between two temperatures this close each sum moves by at most d (1 + ln(n + e^2))^3: its derivative in ln beta
  // consists of moments of D, which docs/tolerances.md, (2), bounds at every temperature. Magnitudes move by a factor
  // of 1 + d.
  const UpperBound logarithm = UpperBound(1) + log(UpperBound(static_cast<double>(result.size)) + UpperBound(8));
  const UpperBound shift = UpperBound(2 * distance_) * logarithm * logarithm * logarithm;
  const UpperBound slightly = UpperBound(1 + 0x1p-40);
  for (UpperBound* moment : {&result.log_sum, &result.mean_deviation, &result.mean_square_deviation}) {
    *moment = *moment * slightly + shift;
  }
  for (UpperBound* size : {&result.maximum_magnitude, &result.largest_magnitude}) *size = *size * slightly;
  result.logsumexp_magnitude =
      result.logsumexp_magnitude * slightly + result.maximum_magnitude * UpperBound(0x1p-40) + shift;
  return result;
}

double SharpenedRow::deviation_bound(std::size_t i) const {
  // Covers two roundings and d.
  return next_above((maximum_ - logits_[i]) / theta_ * (1 + 0x1p-50));
}

UpperBound SharpenedRow::deviation_ceiling(std::size_t i) const {
  constexpr double far = 1e6;
  return UpperBound(std::fmin(deviation_bound(i), far));
}

UpperBound SharpenedRow::coefficient_ceiling(std::size_t i) {
  const Near value = near(i);
  const double filtered = std::fmin(1, next_above(value.value + value.error));
  return UpperBound(value.value > 0 ? filtered : softmax(i).upper_double());
}

Enclosure SharpenedRow::delta() const { return beta_ * Enclosure(theta_) - 1; }

const Enclosure& SharpenedRow::sum() {
  if (!sum_) sum_ = sum_at(cascade_, delta());
  return *sum_;
}

Enclosure SharpenedRow::softmax(std::size_t i) {
  return exp(-(beta_ * (Enclosure(maximum_) - Enclosure(logits_[i])))) / sum();
}

SharpenedRow::Near SharpenedRow::near(std::size_t i) const {
  const ProbabilityBounds& bounds = bounds_[i];
  const double value = 0.5 * (bounds.lower + bounds.upper);
  const double deviation = deviation_bound(i);
  // At beta the coefficient is p e^(-delta D) S / S(beta), and |ln(S(beta) / S)| is at most d times the mean deviation,
  // which itself moves by a factor near 1. Beyond D = 700 the filter's floor covers both.
  if (!(deviation < 700)) return {0, std::fmax(bounds.upper, 0x1p-990)};
  const double moved = 2 * distance_ * (deviation + mean_deviation_ + 1);
  return {value, (0.5 * (bounds.upper - bounds.lower) + moved * bounds.upper) * (1 + 0x1p-50) + 0x1p-1000};
}

long double SharpenedRow::finer(std::size_t i) {
  if (near_sum_ == 0) {
    near_beta_ = nearest(beta_);
    near_sum_ = nearest(sum());
  }
  return std::exp(-near_beta_ * (static_cast<long double>(maximum_) - logits_[i])) / near_sum_;
}

}  // namespace softcheck::proptests
