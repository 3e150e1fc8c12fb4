#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/zoo/loss_rows.hpp"

// Glue of the kernels for a linear layer's loss and its gradient: every dtype and strides, so that each file holds its
// one idea (or its one bug) and nothing else.
namespace softcheck::kernels::zoo {

/// A call in the format that it is computed in: double for f64, float for the rest.
template <class Real>
struct LinearLoss {
  static constexpr std::size_t tile = 32;  // classes, or rows, of a chunk

  std::size_t rows = 0, classes = 0, dim = 0;
  std::vector<Real> hidden, weight;  // (rows, d), (V, d)
  std::vector<std::int64_t> labels;  // (rows)
  std::int64_t ignore_index = 0;
  std::vector<Real> upstream;                // (rows), of a gradient
  std::vector<Real> loss, dhidden, dweight;  // (rows); (rows, d), (V, d)

  bool ignored(std::size_t r) const { return labels[r] == ignore_index; }
  bool hits(std::size_t r, std::size_t j) const { return labels[r] == static_cast<std::int64_t>(j); }
  /// The label's class; the first one if the label is no class.
  std::size_t label(std::size_t r) const {
    return labels[r] >= 0 && labels[r] < static_cast<std::int64_t>(classes) ? static_cast<std::size_t>(labels[r]) : 0;
  }
  Real logit(std::size_t r, std::size_t j) const {
    Real sum = 0;
    for (std::size_t t = 0; t < dim; ++t) sum += hidden[r * dim + t] * weight[j * dim + t];
    return sum;
  }
  std::vector<Real> logits(std::size_t r) const {
    std::vector<Real> x;
    for (std::size_t j = 0; j < classes; ++j) x.push_back(logit(r, j));
    return x;
  }
  /// ds W_j to the row's gradient, ds h to the class's.
  void add(std::size_t r, std::size_t j, Real ds) {
    for (std::size_t t = 0; t < dim; ++t) {
      dhidden[r * dim + t] += ds * weight[j * dim + t];
      dweight[j * dim + t] += ds * hidden[r * dim + t];
    }
  }
};

/// Maximum and sum of e^(x - m), over chunks of classes. With `merge`, a chunk's maximum rescales the sum so far.
template <class Real>
struct RunningSum {
  Real m = -infinity, s = 0;

  void add(Real x, bool merge = true) {
    if (x > m || std::isnan(x)) {
      if (merge) s *= std::exp(m - x);
      m = x;
    }
    s += std::exp(x - m);
  }
  Real lse() const { return m + std::log(s); }
};

template <class Real>
RunningSum<Real> sum_of(const std::vector<Real>& x) {
  RunningSum<Real> sum;
  sum.m = largest_of(x);
  for (const Real v : x) sum.s += std::exp(v - sum.m);
  return sum;
}

/// ln S + m - x_y of logits.
template <class Real>
Real loss_of(const std::vector<Real>& x, std::size_t label) {
  const RunningSum<Real> sum = sum_of(x);
  return std::log(sum.s) + (sum.m - x[label]);
}

/// Calls of(row) for the rows that are not ignored.
template <class Real, class Of>
void put_losses(LinearLoss<Real>& a, Of of) {
  for (std::size_t r = 0; r < a.rows; ++r) a.loss[r] = a.ignored(r) ? Real(0) : of(r);
}
template <class Real>
void put_losses(LinearLoss<Real>& a) {
  put_losses(a, [&](std::size_t r) { return loss_of(a.logits(r), a.label(r)); });
}

/// Adds of(row, class, p) W and h for all rows but the ignored ones.
template <class Real, class Of>
void put_gradients(LinearLoss<Real>& a, Of of) {
  for (std::size_t r = 0; r < a.rows; ++r) {
    if (a.ignored(r)) continue;
    const std::vector<Real> x = a.logits(r);
    const RunningSum<Real> sum = sum_of(x);
    for (std::size_t j = 0; j < a.classes; ++j) a.add(r, j, of(r, j, std::exp(x[j] - sum.m) / sum.s));
  }
}
/// upstream (p - [j = y])
template <class Real>
Real slope_of(const LinearLoss<Real>& a, std::size_t r, std::size_t j, Real p) {
  return a.upstream[r] * (a.hits(r, j) ? p - 1 : p);
}
template <class Real>
void put_gradients(LinearLoss<Real>& a) {
  put_gradients(a, [&](std::size_t r, std::size_t j, Real p) { return slope_of(a, r, j, p); });
}

template <class Real>
std::vector<Real> read_matrix(const DLTensor& tensor) {
  const View view(tensor);
  std::vector<Real> numbers;
  for (std::int64_t r = 0; r < view.rows; ++r) {
    const std::vector<Real> row = read_row<Real>(view, r);
    numbers.insert(numbers.end(), row.begin(), row.end());
  }
  return numbers;
}
template <class Real>
void write_matrix(const DLTensor& tensor, const std::vector<Real>& numbers) {
  const View view(tensor);
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const auto at = static_cast<std::int64_t>(k);
    view.put(at / view.columns, at % view.columns, numbers[k]);
  }
}

/// Calls compute(LinearLoss<Real>&) for a call of this op, and returns 1 for any other call.
template <class Compute>
int linear_call(const softcheck_call* call, std::uint32_t op, Compute compute) {
  const bool backward = op == SOFTCHECK_OP_LINEAR_CROSS_ENTROPY_BACKWARD;
  const softcheck_call_2* whole = call_of(call, op, backward ? 4 : 3, backward ? 2 : 1);
  if (whole == nullptr || whole->input_roles[0] != SOFTCHECK_ROLE_HIDDEN || call->inputs[2]->dtype.code != kDLInt)
    return 1;
  return in_format_of(call->inputs[0]->dtype, [&]<class Real>(Real) {
    LinearLoss<Real> a;
    a.rows = static_cast<std::size_t>(call->inputs[0]->shape[0]);
    a.dim = static_cast<std::size_t>(call->inputs[0]->shape[1]);
    a.classes = static_cast<std::size_t>(call->inputs[1]->shape[0]);
    a.hidden = read_matrix<Real>(*call->inputs[0]);
    a.weight = read_matrix<Real>(*call->inputs[1]);
    for (std::size_t r = 0; r < a.rows; ++r) {
      a.labels.push_back(label_at(*call->inputs[2], static_cast<std::int64_t>(r)));
    }
    a.ignore_index = whole->attributes->ignore_index;
    if (backward) a.upstream = read_matrix<Real>(*call->inputs[3]);
    a.loss.assign(a.rows, 0);
    a.dhidden.assign(a.hidden.size(), 0);
    a.dweight.assign(a.weight.size(), 0);
    compute(a);
    write_matrix(*call->outputs[0], backward ? a.dhidden : a.loss);
    if (backward) write_matrix(*call->outputs[1], a.dweight);
  });
}
template <class Compute>
int linear_loss(const softcheck_call* call, Compute compute) {
  return linear_call(call, SOFTCHECK_OP_LINEAR_CROSS_ENTROPY, compute);
}
template <class Compute>
int linear_gradient(const softcheck_call* call, Compute compute) {
  return linear_call(call, SOFTCHECK_OP_LINEAR_CROSS_ENTROPY_BACKWARD, compute);
}

}  // namespace softcheck::kernels::zoo

#define SOFTCHECK_BODY_linear_loss(name) SOFTCHECK_BODY(void, name, LinearLoss<Real>& a)
#define SOFTCHECK_BODY_linear_gradient(name) SOFTCHECK_BODY(void, name, LinearLoss<Real>& a)
