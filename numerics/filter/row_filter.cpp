#include "numerics/filter/row_filter.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/filter/row_filter.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "numerics/filter/filter_lanes.inl"
#include "numerics/filter/row_stages.hpp"
#include "numerics/formats/fp_environment.hpp"

#ifndef SOFTCHECK_NUMERICS_ROW_FILTER_ONCE
#define SOFTCHECK_NUMERICS_ROW_FILTER_ONCE
namespace softcheck::numerics {

/// The vector code's result for a row: per lane a sum and its compensation.
struct LaneSums {
  static constexpr std::size_t most_lanes = 8;
  static constexpr std::size_t moments = 4;  // of w, w D, w D^2, w D^3
  std::size_t lanes = 0;
  double high[moments][most_lanes];
  double low[moments][most_lanes];
  double ties = 0;  // items equal to the maximum
};

struct RowMaximum {
  double maximum;
  double visible;
  bool valid;  // no NaN and no +inf
};

}  // namespace softcheck::numerics
#endif

HWY_BEFORE_NAMESPACE();
namespace softcheck::numerics::HWY_NAMESPACE {

template <class T>
RowMaximum find_maximum(const T* logits, std::size_t n) {
  const Lanes d;
  const std::size_t lanes = hn::Lanes(d);
  const Real infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const Real lowest = hn::Neg(infinity);
  const Real one = hn::Set(d, 1);
  Real maximum = lowest;
  Real visible = hn::Zero(d);
  hn::Mask<Lanes> valid = hn::Lt(lowest, infinity);
  for (std::size_t i = 0; i < n; i += lanes) {
    const Real x =
        i + lanes <= n ? load(d, logits + i) : load_tail(d, logits + i, n - i, -std::numeric_limits<T>::infinity());
    maximum = hn::Max(maximum, x);
    visible = hn::Add(visible, hn::IfThenElseZero(hn::Gt(x, lowest), one));
    valid = hn::And(valid, hn::Lt(x, infinity));
  }
  return {hn::GetLane(hn::MaxOfLanes(d, maximum)), hn::GetLane(hn::SumOfLanes(d, visible)), hn::AllTrue(d, valid)};
}

/// A sum per lane: adds at most block_vectors terms plainly, then adds the block to a compensated total.
struct Moment {
  Real block, high, low;
};

HWY_INLINE void close_block(Lanes d, Moment& of) {
  const Real sum = hn::Add(of.high, of.block);
  const Real part = hn::Sub(sum, of.high);
  of.low = hn::Add(of.low, hn::Add(hn::Sub(of.high, hn::Sub(sum, part)), hn::Sub(of.block, part)));
  of.high = sum;
  of.block = hn::Zero(d);
}

template <bool kDivide, class T>
LaneSums add_up(const T* logits, std::size_t n, double maximum, double theta) {
  const Lanes d;
  const std::size_t lanes = hn::Lanes(d);
  const Real zero = hn::Zero(d);
  const Real one = hn::Set(d, 1);
  const Real top = hn::Set(d, maximum);
  const Real divisor = hn::Set(d, theta);
  Moment sum{zero, zero, zero}, first = sum, second = sum, third = sum;
  Real ties = zero;
  const auto add = [&](Real logit) HWY_ATTR {
    const Weight weight = weigh<kDivide>(d, top, divisor, logit);
    const Real w1 = hn::Mul(weight.value, weight.deviation);
    const Real w2 = hn::Mul(w1, weight.deviation);
    const hn::Mask<Lanes> below = hn::Gt(weight.gap, zero);
    sum.block = hn::Add(sum.block, hn::IfThenElseZero(below, weight.value));
    first.block = hn::Add(first.block, w1);
    second.block = hn::Add(second.block, w2);
    third.block = hn::MulAdd(w2, weight.deviation, third.block);
    ties = hn::Add(ties, hn::IfThenZeroElse(below, one));
  };
  const auto close = [&]() HWY_ATTR {
    close_block(d, sum);
    close_block(d, first);
    close_block(d, second);
    close_block(d, third);
  };
  const std::size_t block = stages::block_vectors * lanes;
  std::size_t i = 0;
  for (; i + block <= n; i += block) {
    for (std::size_t j = i; j < i + block; j += lanes) add(load(d, logits + j));
    close();
  }
  for (; i + lanes <= n; i += lanes) add(load(d, logits + i));
  if (i < n) add(load_tail(d, logits + i, n - i, -std::numeric_limits<T>::infinity()));
  close();

  LaneSums sums;
  sums.lanes = lanes;
  const Moment* const moments[] = {&sum, &first, &second, &third};
  for (std::size_t k = 0; k < LaneSums::moments; ++k) {
    hn::StoreU(moments[k]->high, d, sums.high[k]);
    hn::StoreU(moments[k]->low, d, sums.low[k]);
  }
  sums.ties = hn::GetLane(hn::SumOfLanes(d, ties));
  return sums;
}

template <class T>
LaneSums row_sums(const T* logits, std::size_t n, double maximum, double theta) {
  return theta == 1 ? add_up<false>(logits, n, maximum, theta) : add_up<true>(logits, n, maximum, theta);
}

RowMaximum maximum_float(const float* x, std::size_t n) { return find_maximum(x, n); }
RowMaximum maximum_double(const double* x, std::size_t n) { return find_maximum(x, n); }
LaneSums sums_float(const float* x, std::size_t n, double m, double theta) { return row_sums(x, n, m, theta); }
LaneSums sums_double(const double* x, std::size_t n, double m, double theta) { return row_sums(x, n, m, theta); }
}  // namespace softcheck::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::numerics {

HWY_EXPORT(maximum_float);
HWY_EXPORT(maximum_double);
HWY_EXPORT(sums_float);
HWY_EXPORT(sums_double);

namespace {

RowMaximum find_maximum(std::span<const float> x) { return HWY_DYNAMIC_DISPATCH(maximum_float)(x.data(), x.size()); }
RowMaximum find_maximum(std::span<const double> x) { return HWY_DYNAMIC_DISPATCH(maximum_double)(x.data(), x.size()); }
LaneSums row_sums(std::span<const float> x, double maximum, double theta) {
  return HWY_DYNAMIC_DISPATCH(sums_float)(x.data(), x.size(), maximum, theta);
}
LaneSums row_sums(std::span<const double> x, double maximum, double theta) {
  return HWY_DYNAMIC_DISPATCH(sums_double)(x.data(), x.size(), maximum, theta);
}

/// Adds the lanes of one moment with compensation, so that only the last addition rounds.
double collapse(const double* high, const double* low, std::size_t lanes) {
  double sum = 0;
  double rest = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const double next = sum + high[lane];
    const double part = next - sum;
    rest += ((sum - (next - part)) + (high[lane] - part)) + low[lane];
    sum = next;
  }
  return sum + rest;
}

/// docs/tolerances/cascade.md, "The sums" and "The elements".
void bound_errors(FilterStatistics& of, double third_moment) {
  using namespace stages;
  const double argument = of.theta == 1 ? 1 : 2;  // roundings of m - x, and of its quotient by theta
  const double each = 2 + (block_vectors + 2);    // of the exponential, and of the additions on a term's path
  const double sum = of.sum_minus_one.value, first = of.weighted_deviation.value, second = of.second_moment.value;
  const double n = static_cast<double>(of.size);
  of.sum_minus_one.error = inflation * (unit * (each * sum + argument * first) + n * sum_floor);
  of.weighted_deviation.error =
      inflation * (unit * ((each + argument + 1) * first + argument * second) + n * deviation_floor);
  of.second_moment.error =
      inflation * (unit * ((each + 2 * argument + 2) * second + argument * third_moment) + n * moment_floor);
  // The weight's own error, the sum's, and the roundings of 1 + (S - 1), the reciprocal and the product.
  of.element_constant = inflation * (unit * (2 + 3 + 1) + of.sum_minus_one.error / (1 + sum));
  of.element_per_deviation = inflation * unit * argument;
}

/// All visible items are equal: the sums are exact integers, and the values are exact if the reciprocal is.
void make_uniform(FilterStatistics& of) {
  of.sum_minus_one.error = of.weighted_deviation.error = of.second_moment.error = 0;
  of.element_constant = std::has_single_bit(of.visible) ? 0 : 2 * stages::unit;
  of.element_per_deviation = 0;
}

template <class T>
FilterStatistics filter(std::span<const T> logits, double theta) {
  const FpEnvironmentGuard guard;
  stages::require_theta("filter_row", theta);
  stages::require_size("filter_row", logits.size());
  const RowMaximum top = find_maximum(logits);
  if (!top.valid) throw std::invalid_argument("filter_row: logits must be finite or -inf, got NaN or +inf");
  FilterStatistics statistics;
  statistics.size = logits.size();
  statistics.visible = static_cast<std::size_t>(top.visible);
  statistics.theta = theta;
  statistics.maximum = top.maximum;
  if (statistics.visible == 0) return statistics;
  const LaneSums sums = row_sums(logits, top.maximum, theta);
  statistics.sum_minus_one.value = collapse(sums.high[0], sums.low[0], sums.lanes) + (sums.ties - 1);
  statistics.weighted_deviation.value = collapse(sums.high[1], sums.low[1], sums.lanes);
  statistics.second_moment.value = collapse(sums.high[2], sums.low[2], sums.lanes);
  statistics.inverse_sum = 1 / (1 + statistics.sum_minus_one.value);
  if (sums.ties == top.visible) {
    make_uniform(statistics);
  } else {
    bound_errors(statistics, collapse(sums.high[3], sums.low[3], sums.lanes));
  }
  return statistics;
}

}  // namespace

FilterStatistics filter_row(std::span<const float> logits, double theta) { return filter(logits, theta); }
FilterStatistics filter_row(std::span<const double> logits, double theta) { return filter(logits, theta); }

const std::array<double, 10>& filter_exponential_coefficients() { return stages::exponential_coefficients; }

}  // namespace softcheck::numerics
#endif
