#include "numerics/filter/filter_errors.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/filter/filter_errors.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "numerics/filter/filter_lanes.inl"
#include "numerics/filter/row_stages.hpp"
#include "numerics/formats/fp_environment.hpp"

#ifndef SOFTCHECK_NUMERICS_FILTER_ERRORS_ONCE
#define SOFTCHECK_NUMERICS_FILTER_ERRORS_ONCE
namespace softcheck::numerics {

/// The question in the form of the vector code.
struct ErrorParameters {
  stages::JudgeParameters judge;
  double smallest_normal, unit;  // of the output: 2^(1 - precision)
  double plain_relative, plain_per_deviation;
};

}  // namespace softcheck::numerics
#endif

HWY_BEFORE_NAMESPACE();
namespace softcheck::numerics::HWY_NAMESPACE {

/// One value per lane.
struct ErrorLanes {
  Real share, normal, vacuous, values, total, worst, allowed, item;
};

/// p as in filter_softmax: its ends, and the midpoint.
HWY_INLINE void add_errors(Lanes d, const ErrorParameters& of, const Weight& weight, Real got, Real index,
                           ErrorLanes& lanes) {
  const Real zero = hn::Zero(d), one = hn::Set(d, 1);
  const Real p = hn::Mul(weight.value, hn::Set(d, of.judge.inverse_high));
  const Real relative =
      hn::Add(hn::Set(d, of.judge.proof_constant), hn::Mul(hn::Set(d, of.judge.error_deviation), weight.deviation));
  const Real margin = hn::Add(hn::Mul(relative, p), hn::Set(d, stages::element_floor));
  const Real lower = hn::Max(hn::Sub(p, margin), zero), upper = hn::Min(hn::Add(p, margin), one);
  const Real exact = hn::Mul(hn::Set(d, 0.5), hn::Add(lower, upper));
  const Real slope =
      hn::Add(hn::Set(d, of.judge.relative), hn::Mul(hn::Set(d, of.judge.per_deviation), weight.deviation));
  const Real allowed = hn::Add(hn::Mul(slope, upper), absolute_part(d, of.judge, got));
  const Real error = hn::Sub(got, exact);
  const hn::Mask<Lanes> visible = hn::Lt(weight.gap, hn::Set(d, std::numeric_limits<double>::infinity()));
  const Real used = hn::IfThenElseZero(visible, hn::Div(hn::Abs(error), allowed));
  lanes.share = hn::Max(lanes.share, used);

  const Real least = hn::Set(d, of.smallest_normal);
  const hn::Mask<Lanes> normal = hn::Ge(lower, least);
  const Real plain =
      hn::Add(hn::Set(d, of.plain_relative), hn::Mul(hn::Set(d, of.plain_per_deviation), weight.deviation));
  lanes.normal = hn::Add(lanes.normal, hn::IfThenElseZero(normal, one));
  lanes.vacuous = hn::Add(lanes.vacuous, hn::IfThenElseZero(hn::And(normal, hn::Ge(plain, one)), one));

  const hn::Mask<Lanes> has_ulps = hn::And(normal, hn::Lt(allowed, exact));
  const Real unit = hn::Mul(hn::And(hn::Max(exact, least), exponent_field(d)), hn::Set(d, of.unit));
  const Real ulps = hn::IfThenElseZero(has_ulps, hn::Div(error, unit));
  lanes.values = hn::Add(lanes.values, hn::IfThenElseZero(has_ulps, one));
  lanes.total = hn::Add(lanes.total, ulps);
  const hn::Mask<Lanes> worse = hn::Gt(hn::Abs(ulps), lanes.worst);
  lanes.worst = hn::IfThenElse(worse, hn::Abs(ulps), lanes.worst);
  lanes.allowed = hn::IfThenElse(worse, hn::Div(allowed, unit), lanes.allowed);
  lanes.item = hn::IfThenElse(worse, index, lanes.item);
}

/// True if no value is negative, -0 or above 1, and masked items are +0.
HWY_INLINE hn::Mask<Lanes> in_range(Lanes d, const Weight& weight, Real got) {
  const hn::RebindToSigned<Lanes> di;
  const Real infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const Real most = hn::IfThenElse(hn::Lt(weight.gap, infinity), hn::Set(d, 1), hn::Zero(d));
  const auto positive = hn::RebindMask(d, hn::Gt(hn::BitCast(di, got), hn::Set(di, -1)));
  return hn::And(positive, hn::Le(got, most));
}

ProvedErrors collapse(Lanes d, const ErrorLanes& lanes) {
  ProvedErrors result;
  result.proved = true;
  const auto count = [&](Real of) HWY_ATTR { return static_cast<std::size_t>(hn::GetLane(hn::SumOfLanes(d, of))); };
  result.largest_share = hn::GetLane(hn::MaxOfLanes(d, lanes.share));
  result.normal = count(lanes.normal);
  result.vacuous = count(lanes.vacuous);
  result.values = count(lanes.values);
  result.total_ulps = hn::GetLane(hn::SumOfLanes(d, lanes.total));
  HWY_ALIGN double worst[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN double allowed[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN double item[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(lanes.worst, d, worst);
  hn::Store(lanes.allowed, d, allowed);
  hn::Store(lanes.item, d, item);
  for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) {
    if (!(worst[lane] > result.worst_ulps)) continue;
    result.worst_ulps = worst[lane];
    result.worst_allowed = allowed[lane];
    result.worst_item = static_cast<std::size_t>(item[lane]);
  }
  return result;
}

template <bool kDivide>
ProvedErrors errors_of(const double* logits, const double* got, std::size_t n, const ErrorParameters& of) {
  const Lanes d;
  const std::size_t count = hn::Lanes(d);
  const Real zero = hn::Zero(d), top = hn::Set(d, of.judge.maximum), divisor = hn::Set(d, of.judge.theta);
  const Real inverse = hn::Set(d, of.judge.inverse_high), step = hn::Set(d, static_cast<double>(count));
  ErrorLanes lanes{zero, zero, zero, zero, zero, zero, zero, zero};
  Real index = hn::Iota(d, 0);
  for (std::size_t i = 0; i < n; i += count) {
    const bool whole = i + count <= n;
    const Real x =
        whole ? load(d, logits + i) : load_tail(d, logits + i, n - i, -std::numeric_limits<double>::infinity());
    const Real value = whole ? load(d, got + i) : load_tail(d, got + i, n - i, 0.0);
    const Weight weight = weigh<kDivide>(d, top, divisor, x);
    const Real p = hn::Mul(weight.value, inverse);
    const hn::Mask<Lanes> holds = proves<true>(d, of.judge, weight.deviation, p, value);
    if (!hn::AllTrue(d, hn::And(holds, in_range(d, weight, value)))) return {};
    add_errors(d, of, weight, value, index, lanes);
    index = hn::Add(index, step);
  }
  return collapse(d, lanes);
}

ProvedErrors row_errors(const double* logits, const double* got, std::size_t n, const ErrorParameters& of) {
  return of.judge.theta == 1 ? errors_of<false>(logits, got, n, of) : errors_of<true>(logits, got, n, of);
}

}  // namespace softcheck::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::numerics {

HWY_EXPORT(row_errors);

ProvedErrors filter_errors(std::span<const double> logits, const FilterStatistics& statistics,
                           std::span<const double> got, const ErrorQuestion& question) {
  const FpEnvironmentGuard guard;
  stages::require_judgeable("filter_errors", statistics.size, statistics.visible, logits.size(), got.size());
  const FormatProperties& output = properties(question.output);
  if (output.precision > 24) {
    throw std::invalid_argument("filter_errors: need an output of at most 24 bits, got " + std::string(output.name));
  }
  const ErrorParameters parameters{stages::filter_parameters(statistics, question.tolerance), output.smallest_normal,
                                   std::ldexp(2.0, -output.precision), question.plain_relative,
                                   question.plain_per_deviation};
  return HWY_DYNAMIC_DISPATCH(row_errors)(logits.data(), got.data(), logits.size(), parameters);
}

}  // namespace softcheck::numerics
#endif
