#include "numerics/double_double.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/double_double.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "numerics/fp_environment.hpp"
#include "numerics/row_lanes.inl"
#include "numerics/row_stages.hpp"

#ifndef SOFTCHECK_NUMERICS_DOUBLE_DOUBLE_ONCE
#define SOFTCHECK_NUMERICS_DOUBLE_DOUBLE_ONCE
namespace softcheck::numerics {

// 1 / k! for k = 0 ... 13, high and low parts.
inline constexpr DoubleDouble inverse_factorials[14] = {{1, 0},
                                                        {1, 0},
                                                        {0.5, 0},
                                                        {0x1.5555555555555p-3, 0x1.5555555555555p-57},
                                                        {0x1.5555555555555p-5, 0x1.5555555555555p-59},
                                                        {0x1.1111111111111p-7, 0x1.1111111111111p-63},
                                                        {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
                                                        {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},
                                                        {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
                                                        {0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73},
                                                        {0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76},
                                                        {0x1.ae64567f544e4p-26, -0x1.c062e06d1f209p-80},
                                                        {0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83},
                                                        {0x1.6124613a86d09p-33, 0x1.f28e0cc748ebep-87}};
// 1 / k! for k = 14 ... 23: there a plain double carries 2^-110 of exp(r).
inline constexpr double inverse_factorials_tail[10] = {
    0x1.93974a8c07c9dp-37, 0x1.ae7f3e733b81fp-41, 0x1.ae7f3e733b81fp-45, 0x1.952c77030ad4ap-49, 0x1.6827863b97d97p-53,
    0x1.2f49b46814157p-57, 0x1.e542ba4020225p-62, 0x1.71b8ef6dcf572p-66, 0x1.0ce396db7f853p-70, 0x1.761b41316381ap-75};

/// theta = mantissa / inverse_power, mantissa in [1, 2), inverse_power a power of two.
struct Temperature {
  double mantissa;
  double inverse_power;
};

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

struct Pair {
  Real high, low;
};

/// Exact: Knuth's two-sum.
HWY_INLINE Pair two_sum(Real a, Real b) {
  const Real sum = hn::Add(a, b);
  const Real part = hn::Sub(sum, a);
  return {sum, hn::Add(hn::Sub(a, hn::Sub(sum, part)), hn::Sub(b, part))};
}

/// Exact where |a| >= |b| or a = 0 = b: Dekker's.
HWY_INLINE Pair fast_two_sum(Real a, Real b) {
  const Real sum = hn::Add(a, b);
  return {sum, hn::Sub(b, hn::Sub(sum, a))};
}

#if !HWY_NATIVE_FMA
/// Veltkamp's splitting into 26 and 27 bits.
HWY_INLINE Pair split(Lanes d, Real a) {
  const Real scaled = hn::Mul(a, hn::Set(d, 134217729.0));  // 2^27 + 1
  const Real high = hn::Sub(scaled, hn::Sub(scaled, a));
  return {high, hn::Sub(a, high)};
}
#endif

/// Exact unless it underflows.
HWY_INLINE Pair two_product(Lanes d, Real a, Real b) {
  const Real product = hn::Mul(a, b);
#if HWY_NATIVE_FMA
  (void)d;
  return {product, hn::MulSub(a, b, product)};
#else
  const Pair x = split(d, a);
  const Pair y = split(d, b);
  const Real first = hn::Sub(hn::Mul(x.high, y.high), product);
  const Real second = hn::Add(hn::Add(first, hn::Mul(x.high, y.low)), hn::Mul(x.low, y.high));
  return {product, hn::Add(second, hn::Mul(x.low, y.low))};
#endif
}

/// |error| <= 3.01 * 2^-106 (|a| + |b|) where |a + b| >= (|a| + |b|) / 4.
HWY_INLINE Pair add(Pair a, Pair b) {
  const Pair sum = two_sum(a.high, b.high);
  return fast_two_sum(sum.high, hn::Add(sum.low, hn::Add(a.low, b.low)));
}

/// |error| <= 8.01 * 2^-106 |a b|, with and without fused multiply-add.
HWY_INLINE Pair multiply(Lanes d, Pair a, Pair b) {
  const Pair product = two_product(d, a.high, b.high);
  const Real cross = hn::MulAdd(a.low, b.high, hn::Mul(a.high, b.low));
  return fast_two_sum(product.high, hn::Add(product.low, cross));
}

/// exp(-D) for 0 <= D.high <= 700: relative error 2^-106 (16 + 2 D).
HWY_INLINE Pair exponential(Lanes d, Pair deviation) {
  const hn::RebindToSigned<Lanes> di;
  const Reduced reduced = reduce(d, deviation.high);
  // ln 2 - ln_2_first in two parts; the first again has so few bits that its product with k is exact.
  const Pair near = two_sum(reduced.rest, hn::Neg(hn::Mul(reduced.count, hn::Set(d, 0x1.ef35793c76000p-45))));
  const Real far = hn::NegMulAdd(reduced.count, hn::Set(d, 0x1.cc01f97b57a08p-87), hn::Neg(deviation.low));
  const Pair r = two_sum(near.high, hn::Add(near.low, far));

  Real tail = hn::Set(d, inverse_factorials_tail[9]);
  for (int k = 8; k >= 0; --k) tail = hn::MulAdd(tail, r.high, hn::Set(d, inverse_factorials_tail[k]));
  Pair power = {tail, hn::Zero(d)};
  for (int k = 13; k >= 0; --k) {
    const Pair coefficient = {hn::Set(d, inverse_factorials[k].high), hn::Set(d, inverse_factorials[k].low)};
    power = add(coefficient, multiply(d, power, r));
  }
  // 2^k is a normal number: k >= -1010.
  const Whole bias = hn::Set(di, 1023);
  const Real scale = hn::BitCast(d, hn::ShiftLeft<52>(hn::Add(reduced.bits, bias)));
  return {hn::Mul(power.high, scale), hn::Mul(power.low, scale)};
}

struct PairWeight {
  Real gap;        // the high part of m - x
  Pair deviation;  // D, at most 700
  Pair value;      // exp(-D), 0 where D > 700
};

HWY_INLINE PairWeight weigh(Lanes d, Real maximum, const Temperature& theta, Real logit) {
  const Pair gap = two_sum(maximum, hn::Neg(logit));
  const Real inverse_power = hn::Set(d, theta.inverse_power);
  const Real mantissa = hn::Set(d, theta.mantissa);
  const Real high = hn::Mul(gap.high, inverse_power);
  const Real low = hn::Mul(gap.low, inverse_power);
  const Real quotient = hn::Div(high, mantissa);
  const Pair back = two_product(d, quotient, mantissa);
  const Real remainder = hn::Add(hn::Sub(hn::Sub(high, back.high), back.low), low);
  const Pair exact = fast_two_sum(quotient, hn::Div(remainder, mantissa));
  // False as well where an infinite gap has made a NaN of the quotient's low part.
  const Real limit = hn::Set(d, stages::largest_deviation);
  const hn::Mask<Lanes> counts = hn::Le(exact.high, limit);
  const Pair deviation = {hn::IfThenElse(counts, exact.high, limit), hn::IfThenElseZero(counts, exact.low)};
  const Pair value = exponential(d, deviation);
  return {gap.high, deviation, {hn::IfThenElseZero(counts, value.high), hn::IfThenElseZero(counts, value.low)}};
}

struct PairMoments {
  Pair sum, first, second;
  Real ties;
};

HWY_INLINE PairMoments add(const PairMoments& a, const PairMoments& b) {
  return {add(a.sum, b.sum), add(a.first, b.first), add(a.second, b.second), hn::Add(a.ties, b.ties)};
}

/// Pairwise above 2 * block_vectors vectors, so that no term takes part in more than 2 block_vectors + log2(n) sums.
PairMoments add_up(const double* logits, std::size_t n, double maximum, const Temperature& theta) {
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

PairSums pair_sums(const double* logits, std::size_t n, double maximum, const Temperature& theta) {
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
                const Temperature& theta, StageOutcome& outcome) {
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

Temperature temperature(double theta) {
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
  // 2 block_vectors in a block, at most 29 halvings of 2^32 items, at most 8 lanes, and the ties.
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
  // The weight's own error, the sum's, and 1 + (S - 1), the reciprocal, the product.
  of.element_constant =
      inflation * (unit_squared * (exponential + 3.01 + 12 + product) + of.sum_minus_one.error / (1 + sum));
  of.element_per_deviation = inflation * unit_squared * argument;
}

template <class T>
Approximation sum_up(std::span<const T> values) {
  const FpEnvironmentGuard guard;
  stages::require_size("certified_sum", values.size());
  DoubleDouble sum;
  double magnitude = 0;
  for (T value : values) {
    if (!std::isfinite(value)) throw std::invalid_argument("certified_sum: values must be finite, got NaN or infinity");
    const DoubleDouble next = two_sum(sum.high, static_cast<double>(value));
    sum = {next.high, sum.low + next.low};
    magnitude += std::fabs(static_cast<double>(value));
  }
  const double result = sum.high + sum.low;
  const double n = static_cast<double>(values.size());
  // Ogita, Rump, Oishi, SIAM J. Sci. Comput. 26 (2005), Prop. 4.5: u |s| + gamma_(n-1)^2 sum |value|.
  const double error = (1 + 0x1p-20) * (stages::unit * std::fabs(result) + n * n * unit_squared * magnitude);
  return {result, error};
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

Approximation certified_sum(std::span<const float> values) { return sum_up(values); }
Approximation certified_sum(std::span<const double> values) { return sum_up(values); }

}  // namespace softcheck::numerics
#endif
