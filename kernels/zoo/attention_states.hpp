#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <vector>

#include "kernels/zoo/attention_rows.hpp"
#include "kernels/zoo/reference_rows.hpp"

// The plain loops in which most mutants of attention change one step.
namespace softcheck::kernels::zoo::attention {

using zoo::beta_of;
using zoo::beta_polynomial;

template <class Real>
constexpr Real lowest = -std::numeric_limits<Real>::infinity();
template <class Real>
constexpr Real not_a_number = std::numeric_limits<Real>::quiet_NaN();

/// scale <q, k_j>; -inf if masked, so that a masked key or value is never read.
template <class Real>
Real score(const Row<Real>& row, std::size_t j) {
  if (row.visible[j] == 0) return lowest<Real>;
  Real dot = 0;
  for (std::size_t t = 0; t < row.query.size(); ++t) dot += row.query[t] * row.keys[j * row.query.size() + t];
  return row.scale * dot;
}

template <class Real>
std::vector<Real> scores(const Row<Real>& row) {
  std::vector<Real> x;
  for (std::size_t j = 0; j < row.items(); ++j) x.push_back(score(row, j));
  return x;
}

/// The largest of the scores [begin, end); NaN if one is NaN, -inf if the range is empty.
template <class Real>
Real largest(const std::vector<Real>& x, std::size_t begin, std::size_t end) {
  Real best = lowest<Real>;
  for (std::size_t j = begin; j < end; ++j) {
    if (std::isnan(x[j])) return x[j];
    best = std::max(best, x[j]);
  }
  return best;
}

template <class Real>
Real largest(const std::vector<Real>& x) {
  return largest(x, 0, x.size());
}

/// The sums over the keys so far; at first over none.
template <class Real>
struct State {
  Real maximum = lowest<Real>;  // m, of the scores
  Real weights = 0;             // S = sum w, w = exp(-D), D = beta (m - x)
  Real deviations = 0;          // T = sum w D
  std::vector<Real> values;     // O = sum w v

  explicit State(std::size_t value_size) : values(value_size) {}
};

/// Key j, D below the maximum.
template <class Real>
void add(State<Real>& s, const Row<Real>& row, std::size_t j, Real deviation) {
  const Real w = std::exp(-deviation);
  s.weights += w;
  s.deviations += w == 0 ? 0 : w * deviation;  // avoids 0 inf
  const std::size_t size = s.values.size();
  for (std::size_t c = 0; c < size; ++c) s.values[c] += w * row.values[j * size + c];
}

/// The state of all keys, relative to a given maximum. Calls after(State&) after each key.
template <class Real, class After>
State<Real> accumulate(const Row<Real>& row, const std::vector<Real>& x, Real maximum, Real beta, After after) {
  State<Real> s(row.out.size());
  s.maximum = maximum;
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (x[j] == lowest<Real>) continue;
    add(s, row, j, beta * (maximum - x[j]));
    after(s);
  }
  return s;
}

template <class Real>
State<Real> accumulate(const Row<Real>& row, const std::vector<Real>& x, Real maximum, Real beta = 1) {
  return accumulate(row, x, maximum, beta, [](State<Real>&) {});
}

/// The same keys relative to another maximum: S and O by a = exp(-d), T by a (T + d S), d = beta (new m - m).
template <class Real>
void rescale(State<Real>& s, Real maximum, Real beta = 1) {
  const Real d = beta * (maximum - s.maximum);
  s.maximum = maximum;
  if (s.weights == 0 || d == 0) return;  // no keys, or the same maximum
  const Real a = std::exp(-d);
  s.deviations = a == 0 ? 0 : a * (s.deviations + d * s.weights);
  s.weights *= a;
  for (Real& value : s.values) value *= a;
}

/// Online softmax: one more key.
template <class Real>
void absorb(State<Real>& s, const Row<Real>& row, std::size_t j, Real x, Real beta = 1) {
  if (x == lowest<Real>) return;
  if (x > s.maximum) rescale(s, x, beta);
  add(s, row, j, beta * (s.maximum - x));
}

/// The keys of two states.
template <class Real>
State<Real> merged(State<Real> left, State<Real> right) {
  if (right.weights == 0) return left;
  if (left.weights == 0) return right;
  const Real maximum = std::max(left.maximum, right.maximum);
  rescale(left, maximum);
  rescale(right, maximum);
  left.weights += right.weights;
  left.deviations += right.deviations;
  for (std::size_t c = 0; c < left.values.size(); ++c) left.values[c] += right.values[c];
  return left;
}

/// The results of a state. Without keys: if_masked, lse -inf, entropy if_masked.
template <class Real>
void finish(Row<Real>& row, const State<Real>& s, Real beta = 1, Real if_masked = not_a_number<Real>) {
  if (s.weights == 0) {
    std::fill(row.out.begin(), row.out.end(), if_masked);
    row.lse = lowest<Real>;
    row.entropy = if_masked;
    return;
  }
  for (std::size_t c = 0; c < row.out.size(); ++c) row.out[c] = s.values[c] / s.weights;
  row.lse = beta * s.maximum + std::log(s.weights);
  row.entropy = std::log(s.weights) + s.deviations / s.weights;
}

/// Correct attention: exp=1ulp sum=sequential masked=nan entropy=exact.
template <class Real>
void attend_two_pass(Row<Real>& row) {
  const std::vector<Real> x = scores(row);
  finish(row, accumulate(row, x, largest(x)));
}

/// Attention whose sum of weighted values takes stored(w) of each weight, as for tensor cores; S and T take w.
template <class Real, class Stored>
void attend_stored_weights(Row<Real>& row, Stored stored) {
  const std::vector<Real> x = scores(row);
  const Real m = largest(x);
  State<Real> s = accumulate(row, x, m);
  s.values.assign(row.out.size(), 0);
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (x[j] == lowest<Real>) continue;
    const Real w = stored(static_cast<float>(std::exp(x[j] - m)));
    for (std::size_t c = 0; c < s.values.size(); ++c) s.values[c] += w * row.values[j * s.values.size() + c];
  }
  finish(row, s);
}

inline constexpr auto two_pass = []<class Real>(Row<Real>& row) { attend_two_pass(row); };

/// Correct attention of a call that change(Attention&) has changed.
template <class Change>
int attend_changed_call(const softcheck_call* call, Change change) {
  return attend(call, two_pass, change);
}

/// Correct attention whose results change(row) changes.
template <class Change>
int attend_changed_results(const softcheck_call* call, Change change) {
  return attend(call, [&]<class Real>(Row<Real>& row) {
    attend_two_pass(row);
    change(row);
  });
}

/// Correct attention from scores that change(row, x) has changed.
template <class Change>
int attend_changed_scores(const softcheck_call* call, Change change) {
  return attend(call, [&]<class Real>(Row<Real>& row) {
    std::vector<Real> x = scores(row);
    change(row, x);
    finish(row, accumulate(row, x, largest(x)));
  });
}

/// Attention that is correct except that it subtracts maximum_of(row, x, the right maximum).
template <class MaximumOf>
int attend_by_maximum(const softcheck_call* call, MaximumOf maximum_of) {
  return attend(call, [&]<class Real>(Row<Real>& row) {
    const std::vector<Real> x = scores(row);
    finish(row, accumulate(row, x, maximum_of(row, x, largest(x))));
  });
}

/// Keys [begin, end), online.
template <class Real>
State<Real> online(const Row<Real>& row, std::size_t begin, std::size_t end, Real beta = 1) {
  State<Real> s(row.out.size());
  for (std::size_t j = begin; j < end; ++j) absorb(s, row, j, score(row, j), beta);
  return s;
}

template <class Real>
Real entropy_of(const State<Real>& s) {
  return std::log(s.weights) + s.deviations / s.weights;
}

/// sum of coefficients[k] H^(4 - k).
template <class Real>
Real polynomial(Real entropy, std::initializer_list<double> coefficients) {
  Real value = 0;
  for (const double c : coefficients) value = value * entropy + static_cast<Real>(c);
  return value;
}

/// Correct adaptive attention: entropy=exact.
template <class Real, class Beta>
void attend_adaptive(Row<Real>& row, Beta beta_of_entropy) {
  const std::vector<Real> x = scores(row);
  const Real m = largest(x);
  const Real beta = beta_of_entropy(entropy_of(accumulate(row, x, m)));
  finish(row, accumulate(row, x, m, beta), beta);
}

/// The same by beta(entropy).
template <class Beta>
int attend_by_beta(const softcheck_call* call, Beta beta) {
  return attend(call, [&]<class Real>(Row<Real>& row) { attend_adaptive(row, beta); });
}

}  // namespace softcheck::kernels::zoo::attention

#define SOFTCHECK_BODY_attend_changed_results(name) SOFTCHECK_BODY(void, name, Row<Real>& row)
#define SOFTCHECK_BODY_attend_changed_call(name) SOFTCHECK_CALL_BODY(void, name, Attention& a)
#define SOFTCHECK_BODY_attend_changed_scores(name) \
  SOFTCHECK_BODY(void, name, [[maybe_unused]] const Row<Real>& row, std::vector<Real>& x)
#define SOFTCHECK_BODY_attend_by_maximum(name) \
  SOFTCHECK_BODY(Real, name, [[maybe_unused]] const Row<Real>& row, [[maybe_unused]] const std::vector<Real>& x, Real m)
#define SOFTCHECK_BODY_attend_by_beta(name) SOFTCHECK_BODY(Real, name, Real entropy)
