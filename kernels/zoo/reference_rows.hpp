#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/zoo/rows.hpp"

// The plain loops in which most mutants change one step.
namespace softcheck::kernels::zoo {

/// The maximum; NaN if a logit is NaN.
template <class Real>
Real maximum(const std::vector<Real>& logits) {
  Real best = -infinity;
  for (const Real x : logits) {
    if (std::isnan(x)) return quiet_nan;
    best = x > best ? x : best;
  }
  return best;
}

template <class Real>
Real reciprocal_theta(const RowOf<Real>& row) {
  return static_cast<Real>(1 / row.theta);
}

/// Writes the weights exp((x - m) / theta) to out, and returns their sum (sequential).
template <class Real>
Real weights(const RowOf<Real>& row, Real m, std::vector<Real>& out) {
  const Real scale = reciprocal_theta(row);
  Real sum = 0;
  for (std::size_t i = 0; i < row.logits.size(); ++i) {
    out[i] = std::exp((row.logits[i] - m) * scale);
    sum += out[i];
  }
  return sum;
}

template <class Real>
void divide(std::vector<Real>& out, Real sum) {
  for (Real& p : out) p /= sum;
}

/// A correct softmax: exp=1ulp sum=sequential masked=nan. All masked: (-inf) - (-inf) is NaN, and so is the row.
template <class Real>
void softmax(RowOf<Real>& row) {
  divide(row.out, weights(row, maximum(row.logits), row.out));
}

/// The sum of pairs, of pairs of pairs and so on, each rounded to f16.
inline float f16_pairwise_sum(std::vector<float> parts) {
  while (parts.size() > 1) {
    std::vector<float> halved;
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) halved.push_back(rounded_to_f16(parts[i] + parts[i + 1]));
    if (parts.size() % 2 != 0) halved.push_back(parts.back());
    parts = halved;
  }
  return parts.empty() ? 0 : parts[0];
}

/// softmax, except that the sum of the weights in row.out is sum(row).
template <class Sum>
int softmax_by_sum(const softcheck_call* call, Sum sum) {
  return each_row(call, [&](auto& row) {
    weights(row, maximum(row.logits), row.out);
    divide(row.out, sum(row));
  });
}
template <class Sum>
int softmax_by_narrow_sum(const softcheck_call* call, Sum sum) {
  return each_narrow_row(call, [&](Row& row) {
    weights(row, maximum(row.logits), row.out);
    divide(row.out, sum(row));
  });
}

/// softmax, except that each weight is weight(row, i, the maximum).
template <class Real, class Weight>
void put_softmax_of(RowOf<Real>& row, Weight weight) {
  const Real m = maximum(row.logits);
  Real sum = 0;
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = weight(row, i, m);
    sum += row.out[i];
  }
  divide(row.out, sum);
}
template <class Weight>
int softmax_by_weights(const softcheck_call* call, Weight weight) {
  return each_row(call, [&](auto& row) { put_softmax_of(row, weight); });
}
template <class Weight>
int softmax_by_narrow_weights(const softcheck_call* call, Weight weight) {
  return each_narrow_row(call, [&](Row& row) { put_softmax_of(row, weight); });
}
#define SOFTCHECK_BODY_softmax_by_sum(name) SOFTCHECK_BODY(Real, name, RowOf<Real>& row)
#define SOFTCHECK_BODY_softmax_by_narrow_sum(name) SOFTCHECK_CALL_BODY(float, name, Row& row)
#define SOFTCHECK_BODY_softmax_by_weights(name) \
  SOFTCHECK_BODY(Real, name, const RowOf<Real>& row, std::size_t i, Real m)
#define SOFTCHECK_BODY_softmax_by_narrow_weights(name) \
  SOFTCHECK_CALL_BODY(float, name, const Row& row, std::size_t i, float m)

/// A correct log-softmax: x - max - ln S.
template <class Real>
void log_softmax(RowOf<Real>& row) {
  const Real m = maximum(row.logits);
  const Real log_sum = std::log(weights(row, m, row.out));
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = static_cast<Real>((row.logits[i] - m) / row.theta - log_sum);
  }
}

template <class Real>
struct Sums {
  Real maximum = 0;
  Real weights = 0;     // S
  Real deviations = 0;  // T = sum w D
};

/// m, S and T of a row with at least one visible, finite logit.
template <class Real>
Sums<Real> sums_of(const RowOf<Real>& row) {
  Sums<Real> sums{maximum(row.logits), 0, 0};
  const Real scale = reciprocal_theta(row);
  for (const Real x : row.logits) {
    const Real deviation = (sums.maximum - x) * scale;
    const Real w = std::exp(-deviation);
    sums.weights += w;
    sums.deviations += w > 0 ? w * deviation : 0;  // avoids 0 inf
  }
  return sums;
}

/// (m, S, T) of every 16 logits; parts with only masked items are left out.
template <class Real>
std::vector<Sums<Real>> parts_of(const RowOf<Real>& row) {
  constexpr std::size_t width = 16;
  std::vector<Sums<Real>> parts;
  for (std::size_t i = 0; i < row.logits.size(); i += width) {
    const auto from = row.logits.begin() + static_cast<std::ptrdiff_t>(i);
    const auto count = static_cast<std::ptrdiff_t>(std::min(width, row.logits.size() - i));
    const RowOf<Real> part{std::vector<Real>(from, from + count), row.theta, {}};
    if (maximum(part.logits) > -infinity) parts.push_back(sums_of(part));
  }
  return parts;
}

/// ln sum exp(x / theta) of a row whose maximum is finite, from its sums.
template <class Real>
Real logsumexp_of(const RowOf<Real>& row, const Sums<Real>& sums) {
  return static_cast<Real>(sums.maximum / row.theta) + std::log(sums.weights);
}

template <class Real>
Real entropy_of(const Sums<Real>& sums) {
  return std::log(sums.weights) + sums.deviations / sums.weights;
}

/// logsumexp or entropy by finite_row if the maximum is finite, else the contract's values (masked=nan).
template <class Real, class FiniteRow>
Real logsumexp_or(const RowOf<Real>& row, FiniteRow finite_row) {
  const Real m = maximum(row.logits);
  return std::isfinite(m) ? finite_row(row) : m;
}

template <class Real, class FiniteRow>
Real entropy_or(const RowOf<Real>& row, FiniteRow finite_row) {
  return std::isfinite(maximum(row.logits)) ? finite_row(row) : static_cast<Real>(quiet_nan);
}

/// The correct values of a row.
template <class Real>
void logsumexp(RowOf<Real>& row) {
  row.out[0] = logsumexp_or(row, [](const RowOf<Real>& finite) { return logsumexp_of(finite, sums_of(finite)); });
}
template <class Real>
void entropy(RowOf<Real>& row) {
  row.out[0] = entropy_or(row, [](const RowOf<Real>& finite) { return entropy_of(sums_of(finite)); });
}

/// The same as objects, for rows_of_changed_call.
inline constexpr auto softmax_row = [](auto& row) { softmax(row); };
inline constexpr auto logsumexp_row = [](auto& row) { logsumexp(row); };
inline constexpr auto log_softmax_row = [](auto& row) { log_softmax(row); };
inline constexpr auto entropy_row = [](auto& row) { entropy(row); };

/// The op of each row that change(row) has changed in float, and its results changed by it.
template <class Change, class Op>
int changed_narrow_rows(const softcheck_call* call, Change change, Op op) {
  return each_narrow_row(call, [&](Row& row) {
    change(row);
    op(row);
  });
}
template <class Change, class Op>
int changed_narrow_results(const softcheck_call* call, Change change, Op op) {
  return each_narrow_row(call, [&](Row& row) {
    op(row);
    change(row);
  });
}
#define SOFTCHECK_BODY_changed_narrow_rows(name) SOFTCHECK_CALL_BODY(void, name, Row& row)
#define SOFTCHECK_BODY_changed_narrow_results(name) SOFTCHECK_CALL_BODY(void, name, Row& row)

/// logsumexp_or and entropy_or by finite(row), a number. The narrow ones compute in float and refuse f64.
template <class Finite>
int each_logsumexp(const softcheck_call* call, Finite finite) {
  return each_row(call, [&](auto& row) { row.out[0] = logsumexp_or(row, finite); });
}
template <class Finite>
int each_narrow_logsumexp(const softcheck_call* call, Finite finite) {
  return each_narrow_row(call, [&](Row& row) { row.out[0] = logsumexp_or(row, finite); });
}
template <class Finite>
int each_entropy(const softcheck_call* call, Finite finite) {
  return each_row(call, [&](auto& row) { row.out[0] = entropy_or(row, finite); });
}
template <class Finite>
int each_narrow_entropy(const softcheck_call* call, Finite finite) {
  return each_narrow_row(call, [&](Row& row) { row.out[0] = entropy_or(row, finite); });
}
#define SOFTCHECK_BODY_each_logsumexp(name) SOFTCHECK_BODY(Real, name, const RowOf<Real>& row)
#define SOFTCHECK_BODY_each_narrow_logsumexp(name) SOFTCHECK_CALL_BODY(float, name, const Row& row)
#define SOFTCHECK_BODY_each_entropy(name) SOFTCHECK_BODY(Real, name, const RowOf<Real>& row)
#define SOFTCHECK_BODY_each_narrow_entropy(name) SOFTCHECK_CALL_BODY(float, name, const Row& row)

/// P(H) of adaptive temperature, "Softmax is not Enough (for Sharp Size Generalisation)", figure 4.
template <class Real>
Real beta_polynomial(Real entropy) {
  Real value = static_cast<Real>(-0.037);
  for (const double coefficient : {0.481, -2.3, 4.917, -1.791}) {
    value = value * entropy + static_cast<Real>(coefficient);
  }
  return value;
}

/// The inverse temperature at an entropy H: max(P(H), 1), where H > 0.5 as published (P < 1 below 0.8485).
template <class Real>
Real beta_of(Real entropy) {
  const Real value = entropy > static_cast<Real>(0.5) ? beta_polynomial(entropy) : 1;
  return value > 1 ? value : 1;
}

/// softmax(beta x), beta = beta_of_sums(m, S and T of the row at theta = 1). Refuse theta != 1: beta takes its place.
template <class Real, class BetaOfSums>
void softmax_sharpened(RowOf<Real>& row, BetaOfSums beta_of_sums) {
  if (std::isfinite(maximum(row.logits))) {
    row.theta = 1 / static_cast<double>(beta_of_sums(sums_of(row)));
  }
  softmax(row);
}

/// A correct adaptive softmax: entropy=exact.
template <class Real>
void adaptive_softmax(RowOf<Real>& row) {
  softmax_sharpened(row, [](const Sums<Real>& sums) { return beta_of(entropy_of(sums)); });
}

/// compute(RowOf<double>&) of the row at theta = 1, rounded once.
template <class Real, class Compute>
void in_double(RowOf<Real>& row, Compute compute) {
  RowOf<double> wide{{row.logits.begin(), row.logits.end()}, 1, std::vector<double>(row.out.size())};
  compute(wide);
  std::copy(wide.out.begin(), wide.out.end(), row.out.begin());
}

}  // namespace softcheck::kernels::zoo
