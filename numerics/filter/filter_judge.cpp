#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/filter/filter_judge.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include "numerics/filter/filter_lanes.inl"
#include "numerics/filter/row_filter.hpp"
#include "numerics/filter/row_stages.hpp"
#include "numerics/formats/fp_environment.hpp"

HWY_BEFORE_NAMESPACE();
namespace softcheck::numerics::HWY_NAMESPACE {

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
  const bool relative = of.relative > 0 || of.per_deviation > 0 || of.absolute > 0 || of.flushed > 0;
  const auto judge_with = of.theta == 1 ? (relative ? judge_all<false, true, T, G> : judge_all<false, false, T, G>)
                                        : (relative ? judge_all<true, true, T, G> : judge_all<true, false, T, G>);
  judge_with(logits, got, n, of, outcome);
}

/// Deviation and softmax value of every item.
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

HWY_EXPORT(judge_ff);
HWY_EXPORT(judge_fd);
HWY_EXPORT(judge_df);
HWY_EXPORT(judge_dd);
HWY_EXPORT(evaluate);

namespace {

template <class T, class G, class Judge>
StageOutcome judge_with(Judge judge, std::span<const T> logits, const FilterStatistics& statistics,
                        std::span<const G> got, const ElementTolerance& tolerance) {
  stages::require_judgeable("filter_judge", statistics.size, statistics.visible, logits.size(), got.size());
  StageOutcome outcome;
  judge(logits.data(), got.data(), logits.size(), stages::filter_parameters(statistics, tolerance), outcome);
  return outcome;
}

}  // namespace

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
  const stages::JudgeParameters parameters = stages::filter_parameters(statistics, {});
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

}  // namespace softcheck::numerics
#endif
