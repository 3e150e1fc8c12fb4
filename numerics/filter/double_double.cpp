#include "numerics/filter/double_double.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/filter/double_double.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "numerics/filter/double_double_lanes.inl"
#include "numerics/filter/row_stages.hpp"
#include "numerics/formats/fp_environment.hpp"

#ifndef SOFTCHECK_NUMERICS_DOUBLE_DOUBLE_ONCE
#define SOFTCHECK_NUMERICS_DOUBLE_DOUBLE_ONCE
namespace softcheck::numerics {

struct PairSums {
  static constexpr std::size_t most_lanes = 8;
  static constexpr std::size_t moments = 3;  // of w, w D, w D^2
  std::size_t lanes = 0;
  DoubleDouble lane[moments][most_lanes];
  double ties = 0;
};

}  // namespace softcheck::numerics
#endif

HWY_BEFORE_NAMESPACE();
namespace softcheck::numerics::HWY_NAMESPACE {

struct PairMoments {
  Pair sum, first, second;
  Real ties;
};

HWY_INLINE PairMoments add(const PairMoments& a, const PairMoments& b) {
  return {add(a.sum, b.sum), add(a.first, b.first), add(a.second, b.second), hn::Add(a.ties, b.ties)};
}

/// Pairwise above 2 * block_vectors vectors, so that no term is in more than 2 block_vectors + log2(n) sums.
PairMoments add_up(const double* logits, std::size_t n, double maximum, const stages::Temperature& theta) {
  const Lanes d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t block = 2 * stages::block_vectors * lanes;
  if (n > block) {
    const std::size_t half = (n / 2 + block - 1) / block * block;
    return add(add_up(logits, half, maximum, theta), add_up(logits + half, n - half, maximum, theta));
  }
  const Real zero = hn::Zero(d);
  PairMoments moments = {{zero, zero}, {zero, zero}, {zero, zero}, zero};
  for (std::size_t i = 0; i < n; i += lanes) {
    const Real x = load_tail(d, logits + i, n - i < lanes ? n - i : lanes, -std::numeric_limits<double>::infinity());
    const PairWeight weight = weigh(d, hn::Set(d, maximum), theta, x);
    const hn::Mask<Lanes> below = hn::Gt(weight.gap, zero);
    const Pair w1 = multiply(d, weight.value, weight.deviation);
    const Pair w2 = multiply(d, w1, weight.deviation);
    const Pair w0 = {hn::IfThenElseZero(below, weight.value.high), hn::IfThenElseZero(below, weight.value.low)};
    moments = add(moments, {w0, w1, w2, hn::IfThenZeroElse(below, hn::Set(d, 1))});
  }
  return moments;
}

PairSums pair_sums(const double* logits, std::size_t n, double maximum, const stages::Temperature& theta) {
  const Lanes d;
  const PairMoments moments = add_up(logits, n, maximum, theta);
  PairSums sums;
  sums.lanes = hn::Lanes(d);
  const Pair* const parts[] = {&moments.sum, &moments.first, &moments.second};
  for (std::size_t k = 0; k < PairSums::moments; ++k) {
    double high[PairSums::most_lanes];
    double low[PairSums::most_lanes];
    hn::StoreU(parts[k]->high, d, high);
    hn::StoreU(parts[k]->low, d, low);
    for (std::size_t lane = 0; lane < sums.lanes; ++lane) sums.lane[k][lane] = {high[lane], low[lane]};
  }
  sums.ties = hn::GetLane(hn::SumOfLanes(d, moments.ties));
  return sums;
}

void pair_judge(const double* logits, const double* got, std::size_t n, const stages::JudgeParameters& of,
                const stages::Temperature& theta, StageOutcome& outcome) {
  const Lanes d;
  const std::size_t lanes = hn::Lanes(d);
  const Pair inverse = {hn::Set(d, of.inverse_high), hn::Set(d, of.inverse_low)};
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t count = n - i < lanes ? n - i : lanes;
    const Real x = load_tail(d, logits + i, count, -std::numeric_limits<double>::infinity());
    const PairWeight weight = weigh(d, hn::Set(d, of.maximum), theta, x);
    const Pair p = multiply(d, weight.value, inverse);
    const Answer answer = judge(d, of, x, weight.deviation.high, p.high, p.low, load_tail(d, got + i, count, 0.0));
    if (!hn::AllTrue(d, answer.proved)) file(d, answer, i, count, outcome);
  }
}

}  // namespace softcheck::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::numerics {

HWY_EXPORT(pair_sums);
HWY_EXPORT(pair_judge);

namespace {

constexpr double unit_squared = stages::unit * stages::unit;

stages::Temperature temperature(double theta) {
  int exponent = 0;
  const double mantissa = std::frexp(theta, &exponent);
  return {2 * mantissa, std::ldexp(1.0, 1 - exponent)};
}

DoubleDouble two_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

DoubleDouble add(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble sum = two_sum(a.high, b.high);
  return two_sum(sum.high, sum.low + (a.low + b.low));
}

DoubleDouble collapse(const DoubleDouble* lane, std::size_t lanes) {
  DoubleDouble sum;
  for (std::size_t i = 0; i < lanes; ++i) sum = add(sum, lane[i]);
  return sum;
}

/// 1 / a by one Newton step: relative error 12 * 2^-106.
DoubleDouble reciprocal(DoubleDouble a) {
  const double first = 1 / a.high;
  const double rest = std::fma(-a.high, first, 1.0) - a.low * first;
  return two_sum(first, rest * first);
}

/// docs/tolerances/cascade.md, "The second stage".
void bound_errors(DoubleDoubleStatistics& of) {
  using namespace stages;
  const double argument = of.theta == 1 ? 3 : 8;
  const double exponential = 16;
  const double product = 8.01;
  // 2 block_vectors in a block, at most 29 halvings of 2^30 items, at most 8 lanes, and the ties.
  const double additions = 3.01 * (2 * block_vectors + 29 + 8 + 1);
  const double each = exponential + additions;
  const double sum = of.sum_minus_one.value.high;
  const double first = of.weighted_deviation.value.high;
  const double second = of.second_moment.value.high;
  const double n = static_cast<double>(of.size);
  const double third = largest_deviation * second;
  of.sum_minus_one.error = inflation * (unit_squared * (each * sum + argument * first) + n * sum_floor);
  of.weighted_deviation.error =
      inflation * (unit_squared * ((each + product + argument) * first + argument * second) + n * deviation_floor);
  of.second_moment.error =
      inflation * (unit_squared * ((each + 2 * product + 2 * argument) * second + argument * third) + n * moment_floor);
  // The weight's own error, the sum's, and 1 + (S - 1), the reciprocal and the product.
  of.element_constant =
      inflation * (unit_squared * (exponential + 3.01 + 12 + product) + of.sum_minus_one.error / (1 + sum));
  of.element_per_deviation = inflation * unit_squared * argument;
}

}  // namespace

DoubleDoubleStatistics double_double_row(std::span<const double> logits, const FilterStatistics& filter) {
  const FpEnvironmentGuard guard;
  stages::require_judgeable("double_double_row", filter.size, filter.visible, logits.size(), logits.size());
  const PairSums sums =
      HWY_DYNAMIC_DISPATCH(pair_sums)(logits.data(), logits.size(), filter.maximum, temperature(filter.theta));
  DoubleDoubleStatistics statistics;
  statistics.size = filter.size;
  statistics.visible = filter.visible;
  statistics.theta = filter.theta;
  statistics.maximum = filter.maximum;
  statistics.sum_minus_one.value = add(collapse(sums.lane[0], sums.lanes), {sums.ties - 1, 0});
  statistics.weighted_deviation.value = collapse(sums.lane[1], sums.lanes);
  statistics.second_moment.value = collapse(sums.lane[2], sums.lanes);
  statistics.inverse_sum = reciprocal(add({1, 0}, statistics.sum_minus_one.value));
  bound_errors(statistics);
  return statistics;
}

StageOutcome double_double_judge(std::span<const double> logits, const DoubleDoubleStatistics& statistics,
                                 std::span<const double> got, const ElementTolerance& tolerance) {
  const FpEnvironmentGuard guard;
  stages::require_judgeable("double_double_judge", logits.size(), statistics.visible, logits.size(), got.size());
  stages::JudgeParameters parameters = stages::judge_parameters(tolerance, statistics.maximum, statistics.theta);
  parameters.inverse_high = statistics.inverse_sum.high;
  parameters.inverse_low = statistics.inverse_sum.low;
  parameters.error_constant = statistics.element_constant;
  parameters.error_deviation = statistics.element_per_deviation;
  parameters.margin_constant = 4 * stages::unit;
  StageOutcome outcome;
  HWY_DYNAMIC_DISPATCH(pair_judge)
  (logits.data(), got.data(), logits.size(), parameters, temperature(statistics.theta), outcome);
  return outcome;
}

}  // namespace softcheck::numerics
#endif
