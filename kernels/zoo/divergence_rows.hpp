#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/zoo/rows.hpp"

// Glue of the kernels for the divergence of two rows of logits and its gradient.
namespace softcheck::kernels::zoo {

/// A row in the format that it is computed in: double for f64, float for the rest.
template <class Real>
struct DivergenceRow {
  std::vector<Real> x, t;  // the logits and the teacher's, over theta
  bool reverse = false;
  Real theta = 1, upstream = 1;
  std::vector<Real> out;  // one for the divergence, one for each class of the gradient

  const std::vector<Real>& weighing() const { return reverse ? x : t; }
  const std::vector<Real>& other() const { return reverse ? t : x; }
};

/// Log-probabilities; those of a logit of -inf are -inf.
template <class Real>
std::vector<Real> logarithms_of(const std::vector<Real>& x) {
  const Real m = *std::max_element(x.begin(), x.end());
  Real s = 0;
  for (const Real v : x) s += std::exp(v - m);
  const Real log = std::log(s);
  std::vector<Real> result;
  for (const Real v : x) result.push_back(v - m - log);
  return result;
}

/// Sum of term(ln w_j, ln v_j) over the items with w_j > 0.
template <class Real, class Term>
Real divergence_by(const DivergenceRow<Real>& row, Term term) {
  const std::vector<Real> w = logarithms_of(row.weighing()), v = logarithms_of(row.other());
  Real sum = 0;
  for (std::size_t j = 0; j < w.size(); ++j) {
    if (std::exp(w[j]) != 0) sum += term(w[j], v[j]);
  }
  return sum;
}
/// The correct term.
inline constexpr auto divergence_term = []<class Real>(Real w, Real v) { return std::exp(w) * (w - v); };

template <class Real>
void put_divergence(DivergenceRow<Real>& row) {
  row.out[0] = divergence_by(row, divergence_term);
}

/// upstream slope(ln p_j, ln q_j, K) / theta for each class.
template <class Real, class Slope>
void put_divergence_gradient(DivergenceRow<Real>& row, Slope slope) {
  const std::vector<Real> p = logarithms_of(row.x), q = logarithms_of(row.t);
  const Real k = row.reverse ? divergence_by(row, divergence_term) : Real(0);
  for (std::size_t j = 0; j < p.size(); ++j) row.out[j] = row.upstream * slope(p[j], q[j], k) / row.theta;
}
/// The correct slope in each direction.
inline constexpr auto forward_slope = []<class Real>(Real p, Real q) { return std::exp(p) - std::exp(q); };
inline constexpr auto reverse_slope = []<class Real>(Real p, Real q, Real k) {
  const Real e = std::exp(p);
  return e * (std::isinf(p) ? k : p - q - k);
};
template <class Real>
void put_divergence_gradient(DivergenceRow<Real>& row) {
  put_divergence_gradient(
      row, [&](Real p, Real q, Real k) { return row.reverse ? reverse_slope(p, q, k) : forward_slope(p, q); });
}

/// Calls compute(DivergenceRow<Real>&) for every row of a call of this op, 1 for any other call.
template <class Compute>
int each_divergence_row(const softcheck_call* call, std::uint32_t op, Compute compute) {
  const bool backward = op == SOFTCHECK_OP_KL_DIVERGENCE_BACKWARD;
  const softcheck_call_2* whole = call_of(call, op, backward ? 3 : 2, 1);
  if (whole == nullptr || whole->input_roles[1] != SOFTCHECK_ROLE_TEACHER) return 1;
  return in_format_of(call->inputs[0]->dtype, [&]<class Real>(Real) {
    for (std::int64_t r = 0; r < call->inputs[0]->shape[0]; ++r) {
      DivergenceRow<Real> row;
      row.theta = static_cast<Real>(call->theta);
      row.x = read_row<Real>(View(*call->inputs[0]), r);
      row.t = read_row<Real>(View(*call->inputs[1]), r);
      for (std::vector<Real>* of : {&row.x, &row.t}) {
        for (Real& v : *of) v = row.theta == 1 ? v : v / row.theta;
      }
      row.reverse = whole->attributes->reverse != 0;
      if (backward) row.upstream = View(*call->inputs[2]).get<Real>(r, 0);
      row.out.assign(backward ? row.x.size() : 1, 0);
      if (!row.x.empty()) compute(row);
      write_row(View(*call->outputs[0]), r, row.out);
    }
  });
}
template <class Compute>
int each_divergence(const softcheck_call* call, Compute compute) {
  return each_divergence_row(call, SOFTCHECK_OP_KL_DIVERGENCE, compute);
}
template <class Compute>
int each_divergence_gradient(const softcheck_call* call, Compute compute) {
  return each_divergence_row(call, SOFTCHECK_OP_KL_DIVERGENCE_BACKWARD, compute);
}

}  // namespace softcheck::kernels::zoo

#define SOFTCHECK_BODY_each_divergence(name) SOFTCHECK_BODY(void, name, DivergenceRow<Real>& row)
#define SOFTCHECK_BODY_each_divergence_gradient(name) SOFTCHECK_BODY(void, name, DivergenceRow<Real>& row)
