#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/zoo/attention_attributed.hpp"

namespace softcheck::kernels::zoo::attention {

/// 1 / (1 + e^-x) by the branch whose exponential does not overflow.
template <class Real>
Real sigmoid(Real x) {
  const Real t = std::exp(-std::fabs(x));
  return (x < 0 ? t : 1) / (1 + t);
}

/// The score of a visible key with the bias of all.
template <class Real>
Real sigmoid_score(const AttributedRow<Real>& row, std::size_t j) {
  return attributed_score(row, j) + row.sigmoid_bias;
}

/// Adds the weights weight_of(row, j) times the values of visible keys.
template <class Real, class Weight>
void add_weighted(AttributedRow<Real>& row, Weight weight_of) {
  const std::size_t size = row.out.size();
  for (Real& out : row.out) out = 0;
  for (std::size_t j = 0; j < row.items(); ++j) {
    if (row.visible[j] == 0) continue;
    const Real weight = weight_of(row, j);
    for (std::size_t c = 0; c < size; ++c) row.out[c] += weight * row.values[j * size + c];
  }
}

template <class Real>
void attend_sigmoid_row(AttributedRow<Real>& row) {
  add_weighted(row, [](const AttributedRow<Real>& of, std::size_t j) { return sigmoid(sigmoid_score(of, j)); });
}

/// Calls compute(AttributedRow<Real>&) for every query of a call of sigmoid attention.
template <class Compute>
int attend_sigmoid(const softcheck_call* call, Compute compute) {
  return attend_attributed(
      call, compute, [](AttributedCall&) {}, SOFTCHECK_OP_SIGMOID_ATTENTION);
}

/// Correct sigmoid attention of rows that change(AttributedRow<Real>&) has changed.
template <class Change>
int attend_changed_sigmoid_rows(const softcheck_call* call, Change change) {
  return attend_sigmoid(call, [&]<class Real>(AttributedRow<Real>& row) {
    change(row);
    attend_sigmoid_row(row);
  });
}

/// Sigmoid attention whose coefficients are weight_of(x) of the scores x with the bias.
template <class Weight>
int attend_by_sigmoid(const softcheck_call* call, Weight weight_of) {
  return attend_sigmoid(call, [&]<class Real>(AttributedRow<Real>& row) {
    add_weighted(row, [&](const AttributedRow<Real>& of, std::size_t j) { return weight_of(sigmoid_score(of, j)); });
  });
}

}  // namespace softcheck::kernels::zoo::attention

#define SOFTCHECK_BODY_attend_sigmoid(name) SOFTCHECK_BODY(void, name, AttributedRow<Real>& row)
#define SOFTCHECK_BODY_attend_changed_sigmoid_rows(name) SOFTCHECK_BODY(void, name, AttributedRow<Real>& row)
#define SOFTCHECK_BODY_attend_by_sigmoid(name) SOFTCHECK_BODY(Real, name, Real x)
