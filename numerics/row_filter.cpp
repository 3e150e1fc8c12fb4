#include "numerics/row_filter.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/row_filter.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "numerics/fp_environment.hpp"
#include "numerics/row_lanes.inl"
#include "numerics/row_stages.hpp"

#ifndef SOFTCHECK_NUMERICS_ROW_FILTER_ONCE
#define SOFTCHECK_NUMERICS_ROW_FILTER_ONCE
namespace softcheck::numerics {

// Near-minimax for (exp(r) - 1 - r) / r^2 with its first coefficient fixed at 1/2, from Lawson's iteration.
inline constexpr std::array<double, 10> exponential_coefficients = {
    0x1.0000000000000p-1,  0x1.5555555555501p-3,  0x1.555555555320cp-5,  0x1.111111112897ep-7,  0x1.6c16c17cc13f6p-10,
    0x1.a01a011bc9864p-13, 0x1.a019ab342ffffp-16, 0x1.71df56123e609p-19, 0x1.289f831c7d797p-22, 0x1.ad1eb955690abp-26};

/// What the vector code leaves of a row: one sum with its compensation for each lane.
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
  bool valid;  // no NaN, no +inf
};

}  // namespace softcheck::numerics
#endif

HWY_BEFORE_NAMESPACE();
namespace softcheck::numerics::HWY_NAMESPACE {

// ln 2 - ln_2_first, rounded.
constexpr double ln_2_rest = 0x1.ef35793c76730p-45;

/// exp(-D) for 0 <= D <= 700, relative error (2 + |error of D|) 2^-53.
HWY_INLINE Real exponential(Lanes d, Real deviation) {
  const hn::RebindToSigned<Lanes> di;
  const Reduced reduced = reduce(d, deviation);
  const Real r = hn::NegMulAdd(reduced.count, hn::Set(d, ln_2_rest), reduced.rest);
  Real q = hn::Set(d, exponential_coefficients[9]);
  q = hn::MulAdd(q, r, hn::Set(d, exponential_coefficients[8]));
  q = hn::MulAdd(q, r, hn::Set(d, exponential_coefficients[7]));
  q = hn::MulAdd(q, r, hn::Set(d, exponential_coefficients[6]));
  q = hn::MulAdd(q, r, hn::Set(d, exponential_coefficients[5]));
  q = hn::MulAdd(q, r, hn::Set(d, exponential_coefficients[4]));
  q = hn::MulAdd(q, r, hn::Set(d, exponential_coefficients[3]));
  q = hn::MulAdd(q, r, hn::Set(d, exponential_coefficients[2]));
  q = hn::MulAdd(q, r, hn::Set(d, exponential_coefficients[1]));
  q = hn::MulAdd(q, r, hn::Set(d, exponential_coefficients[0]));
  const Real power = hn::Add(hn::Set(d, 1), hn::MulAdd(hn::Mul(r, r), q, r));
  // power is in [0.7, 1.42] and k >= -1010: adding k to the exponent field is exact.
  return hn::BitCast(d, hn::Add(hn::BitCast(di, power), hn::ShiftLeft<52>(reduced.bits)));
}

struct Weight {
  Real gap;        // m - x
  Real deviation;  // D, at most 700
  Real value;      // exp(-D), 0 where D > 700
};

template <bool kDivide>
HWY_INLINE Weight weigh(Lanes d, Real maximum, Real theta, Real logit) {
  const Real gap = hn::Sub(maximum, logit);
  const Real exact = kDivide ? hn::Div(gap, theta) : gap;
  const Real limit = hn::Set(d, stages::largest_deviation);
  const Real deviation = hn::Min(exact, limit);
  return {gap, deviation, hn::IfThenElseZero(hn::Le(exact, limit), exponential(d, deviation))};
}

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

/// One sum of each lane: at most block_vectors terms are added plainly, then the block joins a compensated total.
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

/// The question of judge() with one error for every purpose, answered only where the answer is yes.
template <bool kRelative>
HWY_INLINE hn::Mask<Lanes> proves(Lanes d, const stages::JudgeParameters& of, Real deviation, Real p, Real got) {
  const Real relative = hn::MulAdd(hn::Set(d, of.error_deviation), deviation, hn::Set(d, of.proof_constant));
  const Real error = hn::MulAdd(relative, p, hn::Set(d, stages::element_floor));
  const Real lower = hn::Sub(p, error);
  const Real binade = hn::And(hn::Max(lower, hn::Set(d, of.smallest_normal)), exponent_field(d));
  Real least = hn::Mul(binade, hn::Set(d, of.ulp_scale));
  if (kRelative) {
    const Real slope = hn::MulAdd(hn::Set(d, of.per_deviation), deviation, hn::Set(d, of.relative));
    least = hn::Add(least, hn::MulAdd(slope, hn::Max(lower, hn::Zero(d)), hn::Set(d, of.absolute)));
  }
  const Real most = hn::Add(hn::Abs(hn::Sub(got, p)), error);
  return hn::Le(hn::Mul(most, hn::Set(d, roundings)), least);
}

template <bool kDivide, bool kRelative, class T, class G>
void judge_all(const T* logits, const G* got, std::size_t n, const stages::JudgeParameters& of, StageOutcome& outcome) {
  const Lanes d;
  const std::size_t lanes = hn::Lanes(d);
  const Real top = hn::Set(d, of.maximum);
  const Real divisor = hn::Set(d, of.theta);
  const Real inverse = hn::Set(d, of.inverse_high);
  for (std::size_t i = 0; i < n; i += lanes) {
    const bool whole = i + lanes <= n;
    const Real x = whole ? load(d, logits + i) : load_tail(d, logits + i, n - i, -std::numeric_limits<T>::infinity());
    const Real value = whole ? load(d, got + i) : load_tail(d, got + i, n - i, G(0));
    const Weight weight = weigh<kDivide>(d, top, divisor, x);
    const Real p = hn::Mul(weight.value, inverse);
    if (hn::AllTrue(d, proves<kRelative>(d, of, weight.deviation, p, value))) continue;
    file(d, judge(d, of, x, weight.deviation, p, hn::Zero(d), value), i, whole ? lanes : n - i, outcome);
  }
}

template <class T, class G>
void judge_row(const T* logits, const G* got, std::size_t n, const stages::JudgeParameters& of, StageOutcome& outcome) {
  const bool relative = of.relative > 0 || of.per_deviation > 0 || of.absolute > 0;
  const auto judge_with = of.theta == 1 ? (relative ? judge_all<false, true, T, G> : judge_all<false, false, T, G>)
                                        : (relative ? judge_all<true, true, T, G> : judge_all<true, false, T, G>);
  judge_with(logits, got, n, of, outcome);
}

/// deviation and softmax value of every item.
void evaluate(const double* logits, std::size_t n, const stages::JudgeParameters& of, double* deviations,
              double* values) {
  const Lanes d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN double deviation[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN double value[HWY_MAX_BYTES / sizeof(double)];
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t count = n - i < lanes ? n - i : lanes;
    const Real x = load_tail(d, logits + i, count, -std::numeric_limits<double>::infinity());
    const Weight weight = weigh<true>(d, hn::Set(d, of.maximum), hn::Set(d, of.theta), x);
    hn::Store(weight.deviation, d, deviation);
    hn::Store(hn::Mul(weight.value, hn::Set(d, of.inverse_high)), d, value);
    for (std::size_t lane = 0; lane < count; ++lane) {
      deviations[i + lane] = deviation[lane];
      values[i + lane] = value[lane];
    }
  }
}

RowMaximum maximum_float(const float* x, std::size_t n) { return find_maximum(x, n); }
RowMaximum maximum_double(const double* x, std::size_t n) { return find_maximum(x, n); }
LaneSums sums_float(const float* x, std::size_t n, double m, double theta) { return row_sums(x, n, m, theta); }
LaneSums sums_double(const double* x, std::size_t n, double m, double theta) { return row_sums(x, n, m, theta); }
void judge_ff(const float* x, const float* g, std::size_t n, const stages::JudgeParameters& of, StageOutcome& out) {
  judge_row(x, g, n, of, out);
}
void judge_fd(const float* x, const double* g, std::size_t n, const stages::JudgeParameters& of, StageOutcome& out) {
  judge_row(x, g, n, of, out);
}
void judge_df(const double* x, const float* g, std::size_t n, const stages::JudgeParameters& of, StageOutcome& out) {
  judge_row(x, g, n, of, out);
}
void judge_dd(const double* x, const double* g, std::size_t n, const stages::JudgeParameters& of, StageOutcome& out) {
  judge_row(x, g, n, of, out);
}

}  // namespace softcheck::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::numerics {

HWY_EXPORT(maximum_float);
HWY_EXPORT(maximum_double);
HWY_EXPORT(sums_float);
HWY_EXPORT(sums_double);
HWY_EXPORT(judge_ff);
HWY_EXPORT(judge_fd);
HWY_EXPORT(judge_df);
HWY_EXPORT(judge_dd);
HWY_EXPORT(evaluate);

namespace {

RowMaximum find_maximum(std::span<const float> x) { return HWY_DYNAMIC_DISPATCH(maximum_float)(x.data(), x.size()); }
RowMaximum find_maximum(std::span<const double> x) { return HWY_DYNAMIC_DISPATCH(maximum_double)(x.data(), x.size()); }
LaneSums row_sums(std::span<const float> x, double maximum, double theta) {
  return HWY_DYNAMIC_DISPATCH(sums_float)(x.data(), x.size(), maximum, theta);
}
LaneSums row_sums(std::span<const double> x, double maximum, double theta) {
  return HWY_DYNAMIC_DISPATCH(sums_double)(x.data(), x.size(), maximum, theta);
}

/// The lanes of one moment: compensated, so that only the last addition rounds.
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
  const double each = 2 + (block_vectors + 2);    // of the exponential, and of the additions a term takes part in
  const double sum = of.sum_minus_one.value, first = of.weighted_deviation.value, second = of.second_moment.value;
  const double n = static_cast<double>(of.size);
  of.sum_minus_one.error = inflation * (unit * (each * sum + argument * first) + n * sum_floor);
  of.weighted_deviation.error =
      inflation * (unit * ((each + argument + 1) * first + argument * second) + n * deviation_floor);
  of.second_moment.error =
      inflation * (unit * ((each + 2 * argument + 2) * second + argument * third_moment) + n * moment_floor);
  // The weight's own error, the sum's, and the roundings of 1 + (S - 1), of the reciprocal and of the product.
  of.element_constant = inflation * (unit * (2 + 3 + 1) + of.sum_minus_one.error / (1 + sum));
  of.element_per_deviation = inflation * unit * argument;
}

/// All visible items equal: the sums are exact integers, and so are the values when the reciprocal is.
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

stages::JudgeParameters parameters_of(const FilterStatistics& statistics, const ElementTolerance& tolerance) {
  stages::JudgeParameters parameters = stages::judge_parameters(tolerance, statistics.maximum, statistics.theta);
  parameters.inverse_high = statistics.inverse_sum;
  parameters.error_constant = statistics.element_constant;
  parameters.error_deviation = statistics.element_per_deviation;
  // Two units for the rounding of the ends; values that are exact stay on their side of a power of two.
  parameters.margin_constant = statistics.element_constant == 0 ? 0 : 2 * stages::unit;
  parameters.proof_constant = parameters.error_constant + parameters.margin_constant;
  return parameters;
}

template <class T, class G, class Judge>
StageOutcome judge_with(Judge judge, std::span<const T> logits, const FilterStatistics& statistics,
                        std::span<const G> got, const ElementTolerance& tolerance) {
  stages::require_judgeable("filter_judge", statistics.size, statistics.visible, logits.size(), got.size());
  StageOutcome outcome;
  judge(logits.data(), got.data(), logits.size(), parameters_of(statistics, tolerance), outcome);
  return outcome;
}

}  // namespace

FilterStatistics filter_row(std::span<const float> logits, double theta) { return filter(logits, theta); }
FilterStatistics filter_row(std::span<const double> logits, double theta) { return filter(logits, theta); }

StageOutcome filter_judge(std::span<const float> logits, const FilterStatistics& statistics, std::span<const float> got,
                          const ElementTolerance& tolerance) {
  const FpEnvironmentGuard guard;
  return judge_with(HWY_DYNAMIC_DISPATCH(judge_ff), logits, statistics, got, tolerance);
}
StageOutcome filter_judge(std::span<const float> logits, const FilterStatistics& statistics,
                          std::span<const double> got, const ElementTolerance& tolerance) {
  const FpEnvironmentGuard guard;
  return judge_with(HWY_DYNAMIC_DISPATCH(judge_fd), logits, statistics, got, tolerance);
}
StageOutcome filter_judge(std::span<const double> logits, const FilterStatistics& statistics,
                          std::span<const float> got, const ElementTolerance& tolerance) {
  const FpEnvironmentGuard guard;
  return judge_with(HWY_DYNAMIC_DISPATCH(judge_df), logits, statistics, got, tolerance);
}
StageOutcome filter_judge(std::span<const double> logits, const FilterStatistics& statistics,
                          std::span<const double> got, const ElementTolerance& tolerance) {
  const FpEnvironmentGuard guard;
  return judge_with(HWY_DYNAMIC_DISPATCH(judge_dd), logits, statistics, got, tolerance);
}

std::vector<ProbabilityBounds> filter_softmax(std::span<const double> logits, const FilterStatistics& statistics) {
  const FpEnvironmentGuard guard;
  stages::require_judgeable("filter_softmax", statistics.size, statistics.visible, logits.size(), logits.size());
  std::vector<double> deviations(logits.size()), values(logits.size());
  const stages::JudgeParameters parameters = parameters_of(statistics, {});
  HWY_DYNAMIC_DISPATCH(evaluate)(logits.data(), logits.size(), parameters, deviations.data(), values.data());
  std::vector<ProbabilityBounds> bounds(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isinf(logits[i])) continue;
    const double relative = parameters.error_constant + parameters.margin_constant;
    const double margin = (relative + parameters.error_deviation * deviations[i]) * values[i] + stages::element_floor;
    bounds[i] = {std::fmax(values[i] - margin, 0), std::fmin(values[i] + margin, 1)};
  }
  return bounds;
}

const std::array<double, 10>& filter_exponential_coefficients() { return exponential_coefficients; }

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (std::int64_t target : hwy::SupportedAndGeneratedTargets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

SimdTargetScope::SimdTargetScope(const std::string& target) {
  for (std::int64_t candidate : hwy::SupportedAndGeneratedTargets()) {
    if (target != hwy::TargetName(candidate)) continue;
    hwy::SetSupportedTargetsForTest(candidate);
    hwy::GetChosenTarget().Update(candidate);
    return;
  }
  throw std::invalid_argument("SimdTargetScope: target must be one of simd_targets(), got " + target);
}

SimdTargetScope::~SimdTargetScope() {
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace softcheck::numerics
#endif
