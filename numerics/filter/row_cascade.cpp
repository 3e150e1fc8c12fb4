#include "numerics/filter/row_cascade.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "numerics/enclosures/enclosure.hpp"
#include "numerics/filter/certified_sum.hpp"
#include "numerics/filter/element_decision.hpp"
#include "numerics/filter/row_stages.hpp"
#include "numerics/formats/fp_environment.hpp"
#include "numerics/formats/next_double.hpp"

namespace softcheck::numerics {
namespace {

// Below 113 bits an enclosure is no more accurate than double-double arithmetic.
constexpr std::array<unsigned, 3> rungs{113, 256, 512};

/// An enclosure of the real that a nonnegative approximation stands for.
Enclosure enclose(const Approximation& value) {
  return maximum(Enclosure(0), Enclosure(value.value) + Enclosure::between(-value.error, value.error));
}

constexpr double largest = std::numeric_limits<double>::max();

/// An infinite error means that the value exceeds the doubles.
Approximation approximate(const Enclosure& value) {
  const double centre = value.midpoint();
  if (!std::isfinite(centre)) return {centre < 0 ? -largest : largest, std::numeric_limits<double>::infinity()};
  const double radius = std::fmax(value.upper_double() - centre, centre - value.lower_double());
  return {centre, next_above(radius)};
}

template <class T>
Decision judge_sum(std::span<const T> got, double tolerance) {
  const FpEnvironmentGuard guard;
  if (!(tolerance >= 0)) {
    throw std::invalid_argument("judge_row_sum: tolerance must be >= 0, got " + std::to_string(tolerance));
  }
  for (T value : got) {
    if (!std::isfinite(value)) return Decision::violated;
  }
  if (std::isinf(tolerance)) return Decision::proved;
  const Approximation sum = certified_sum(got);
  if (std::isfinite(sum.value) && std::isfinite(sum.error)) {  // the sum of values near the largest double may overflow
    const PrecisionScope scope(64);
    const Enclosure near = Enclosure(sum.value) + Enclosure::between(-sum.error, sum.error) - Enclosure(1);
    const Decision first = less_equal(abs(near), Enclosure(tolerance));
    if (first != Decision::undecided) return first;
  }
  // From 2^-1074 to 2^1024, times at most 2^30 values: exact with this many bits.
  const PrecisionScope exactly(2200);
  Enclosure exact(-1);
  for (T value : got) exact += Enclosure(static_cast<double>(value));
  return less_equal(abs(exact), Enclosure(tolerance));
}

}  // namespace

StageCounts& StageCounts::operator+=(const StageCounts& other) {
  filter += other.filter;
  double_double += other.double_double;
  enclosure += other.enclosure;
  undecided += other.undecided;
  return *this;
}

Decision RowJudgement::element(std::size_t i) const {
  if (std::binary_search(violated.begin(), violated.end(), i)) return Decision::violated;
  return std::binary_search(undecided.begin(), undecided.end(), i) ? Decision::undecided : Decision::proved;
}

Decision RowJudgement::row() const {
  if (!violated.empty()) return Decision::violated;
  return undecided.empty() ? Decision::proved : Decision::undecided;
}

RowCascade::RowCascade(std::span<const float> logits, double theta)
    : narrow_(logits), filter_(filter_row(logits, theta)) {}

RowCascade::RowCascade(std::span<const double> logits, double theta)
    : wide_(logits), filter_(filter_row(logits, theta)) {}

std::span<const double> RowCascade::wide_logits() {
  if (narrow_.empty()) return wide_;
  if (widened_.empty()) widened_.assign(narrow_.begin(), narrow_.end());
  return widened_;
}

const DoubleDoubleStatistics& RowCascade::double_double_statistics() {
  const FpEnvironmentGuard guard;
  if (!double_double_) double_double_ = double_double_row(wide_logits(), filter_);
  return *double_double_;
}

const RowOracle& RowCascade::oracle(std::size_t rung) {
  const PrecisionScope scope(rungs[rung]);
  if (!oracles_[rung]) oracles_[rung].emplace(wide_logits(), filter_.theta);
  return *oracles_[rung];
}

template <class Got>
RowJudgement RowCascade::judge(std::span<const Got> got, const ElementTolerance& tolerance) {
  const FpEnvironmentGuard guard;
  const StageOutcome filtered =
      narrow_.empty() ? filter_judge(wide_, filter_, got, tolerance) : filter_judge(narrow_, filter_, got, tolerance);
  std::vector<double> open;
  open.reserve(filtered.undecided.size());
  for (std::size_t i : filtered.undecided) open.push_back(got[i]);
  return finish(filtered, open, tolerance);
}

RowJudgement RowCascade::judge_softmax(std::span<const float> got, const ElementTolerance& tolerance) {
  return judge(got, tolerance);
}

RowJudgement RowCascade::judge_softmax(std::span<const double> got, const ElementTolerance& tolerance) {
  return judge(got, tolerance);
}

RowJudgement RowCascade::finish(const StageOutcome& filtered, std::span<const double> got,
                                const ElementTolerance& tolerance) {
  RowJudgement judgement;
  judgement.size = filter_.size;
  judgement.violated = filtered.violated;
  judgement.counts.filter = filter_.size - filtered.undecided.size();
  if (filtered.undecided.empty()) return judgement;

  const std::span<const double> logits = wide_logits();
  std::vector<double> open_logits;
  open_logits.reserve(got.size());
  for (std::size_t i : filtered.undecided) open_logits.push_back(logits[i]);
  const StageOutcome second = double_double_judge(open_logits, double_double_statistics(), got, tolerance);
  for (std::size_t k : second.violated) judgement.violated.push_back(filtered.undecided[k]);
  judgement.counts.double_double = got.size() - second.undecided.size();

  std::vector<std::size_t> open;
  std::vector<double> open_got;
  for (std::size_t k : second.undecided) {
    open.push_back(filtered.undecided[k]);
    open_got.push_back(got[k]);
  }
  escalate_elements(std::move(open), open_got, tolerance, judgement);
  std::sort(judgement.violated.begin(), judgement.violated.end());
  return judgement;
}

void RowCascade::escalate_elements(std::vector<std::size_t> open, std::span<const double> got,
                                   const ElementTolerance& tolerance, RowJudgement& judgement) {
  const std::span<const double> logits = wide_logits();
  std::vector<double> values(got.begin(), got.end());
  const auto keep_undecided = [&](auto&& decide) {
    std::size_t left = 0;
    for (std::size_t k = 0; k < open.size(); ++k) {
      const Decision decision = decide(open[k], values[k]);
      if (decision == Decision::violated) judgement.violated.push_back(open[k]);
      if (decision != Decision::undecided) continue;
      open[left] = open[k];
      values[left++] = values[k];
    }
    judgement.counts.enclosure += open.size() - left;
    open.resize(left);
  };
  for (std::size_t rung = 0; rung < rungs.size() && !open.empty(); ++rung) {
    const RowOracle& exact = oracle(rung);
    const PrecisionScope scope(rungs[rung]);
    keep_undecided([&](std::size_t i, double value) { return decide_element(exact, logits, i, value, tolerance); });
  }
  const PrecisionScope scope(rungs.back());
  keep_undecided([&](std::size_t i, double value) {
    return decide_element_by_reciprocal(logits, filter_.theta, i, value, tolerance);
  });
  judgement.counts.undecided = open.size();
  judgement.undecided = std::move(open);
}

Approximation RowCascade::logsumexp() const {
  stages::require_judgeable("RowCascade::logsumexp", size(), filter_.visible, size(), size());
  const PrecisionScope scope(64);
  return approximate(Enclosure(filter_.maximum) / Enclosure(filter_.theta) + log1p(enclose(filter_.sum_minus_one)));
}

Approximation RowCascade::entropy() const {
  stages::require_judgeable("RowCascade::entropy", size(), filter_.visible, size(), size());
  const PrecisionScope scope(64);
  const Enclosure rest = enclose(filter_.sum_minus_one);
  return approximate(log1p(rest) + enclose(filter_.weighted_deviation) / (rest + 1));
}

Approximation RowCascade::mean_deviation() const {
  stages::require_judgeable("RowCascade::mean_deviation", size(), filter_.visible, size(), size());
  const PrecisionScope scope(64);
  return approximate(enclose(filter_.weighted_deviation) / (enclose(filter_.sum_minus_one) + 1));
}

Approximation RowCascade::mean_square_deviation() const {
  stages::require_judgeable("RowCascade::mean_square_deviation", size(), filter_.visible, size(), size());
  const PrecisionScope scope(64);
  return approximate(enclose(filter_.second_moment) / (enclose(filter_.sum_minus_one) + 1));
}

template <class Value>
Decision RowCascade::judge_scalar(double got, double tolerance, const Approximation& first, Value&& value) {
  if (!(tolerance >= 0)) {
    throw std::invalid_argument("RowCascade: tolerance must be >= 0, got " + std::to_string(tolerance));
  }
  if (!std::isfinite(got)) return Decision::violated;
  if (std::isinf(tolerance)) return Decision::proved;
  const auto compare = [&](const Enclosure& exact) {
    return less_equal(abs(Enclosure(got) - exact), Enclosure(tolerance));
  };
  Decision decision = Decision::undecided;
  if (std::isfinite(first.error)) {
    const PrecisionScope scope(64);
    decision = compare(Enclosure(first.value) + Enclosure::between(-first.error, first.error));
  }
  for (std::size_t rung = 0; rung < rungs.size() && decision == Decision::undecided; ++rung) {
    const RowOracle& exact = oracle(rung);
    const PrecisionScope scope(rungs[rung]);
    decision = compare(value(exact));
  }
  return decision;
}

Decision RowCascade::judge_logsumexp(double got, double tolerance) {
  return judge_scalar(got, tolerance, logsumexp(), [](const RowOracle& exact) { return exact.logsumexp(); });
}

Decision RowCascade::judge_entropy(double got, double tolerance) {
  return judge_scalar(got, tolerance, entropy(), [](const RowOracle& exact) { return exact.entropy(); });
}

Decision judge_row_sum(std::span<const float> got, double tolerance) { return judge_sum(got, tolerance); }
Decision judge_row_sum(std::span<const double> got, double tolerance) { return judge_sum(got, tolerance); }

}  // namespace softcheck::numerics
