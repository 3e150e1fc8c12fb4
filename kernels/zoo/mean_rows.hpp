#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/zoo/loss_rows.hpp"

// Glue of the kernels for the mean (or sum) of the losses of a call's rows, and its gradient.
namespace softcheck::kernels::zoo {

/// A call, in the format that it is computed in.
template <class Real>
struct MeanCall {
  std::vector<LossRow<Real>> rows;
  bool mean = true;
  Real upstream = 1;

  /// The loss of a row that counts.
  static Real loss(const LossRow<Real>& row) {
    const Real m = row.maximum();
    return row.loss(m, std::log(row.sum(m)));
  }
  /// A row's share of the divisor.
  static Real share(const LossRow<Real>& row) { return row.ignored() ? Real(0) : row.target_weight(); }
  /// The number of rows, or the sum of their weights; 1 for a sum.
  Real divisor() const {
    if (!mean) return 1;
    Real sum = 0;
    for (const LossRow<Real>& row : rows) sum += share(row);
    return sum;
  }
  Real sum_of_losses() const {
    Real sum = 0;
    for (const LossRow<Real>& row : rows) {
      if (!row.ignored()) sum += loss(row);
    }
    return sum;
  }
  bool counts_none() const {
    for (const LossRow<Real>& row : rows) {
      if (!row.ignored()) return false;
    }
    return true;
  }
};

/// The gradient of the loss of a row that counts, times a factor; 0 if the row is ignored.
template <class Real>
void put_scaled_gradient(LossRow<Real>& row, Real factor) {
  row.upstream = factor;
  put_gradient(row);
}

/// Calls compute(MeanCall<Real>&) with a call of this op, and writes the results: compute's value for the mean, the
/// rows' out for the gradient. Returns 1 for any other call.
template <class Compute>
int each_mean_call(const softcheck_call* call, std::uint32_t op, Compute compute) {
  const bool backward = op == SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD;
  const softcheck_call_2* whole = loss_call_of(call, op, backward);
  if (whole == nullptr) return 1;
  const View logits(*call->inputs[0]), out(*call->outputs[0]);
  return in_format_of(logits.type, [&]<class Real>(Real) {
    MeanCall<Real> all;
    all.mean = whole->attributes->mean != 0;
    if (backward) all.upstream = View(*call->inputs[2]).get<Real>(0, 0);
    // Rows without classes can only have the ignored label.
    for (std::int64_t r = 0; r < logits.rows && logits.columns > 0; ++r) {
      all.rows.push_back(read_loss_row<Real>(*whole, r, backward ? 3 : 2));
      if (backward) all.rows.back().out.assign(all.rows.back().logits.size(), 0);
    }
    const Real value = compute(all);
    if (!backward) out.put(0, 0, value);
    for (const LossRow<Real>& row : all.rows) write_row(out, row.number, row.out);
  });
}

template <class Compute>
int each_mean(const softcheck_call* call, Compute compute) {
  return each_mean_call(call, SOFTCHECK_OP_CROSS_ENTROPY_MEAN, compute);
}
template <class Compute>
int each_mean_gradient(const softcheck_call* call, Compute compute) {
  return each_mean_call(call, SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD, [&](auto& all) {
    compute(all);
    return all.upstream;
  });
}

/// The gradients of the rows that count, times factor(the call).
template <class Factor>
int mean_gradient_by_factor(const softcheck_call* call, Factor factor) {
  return each_mean_gradient(call, [&](auto& all) {
    const auto own = factor(all);
    for (auto& row : all.rows) put_scaled_gradient(row, own);
  });
}

}  // namespace softcheck::kernels::zoo

#define SOFTCHECK_BODY_each_mean(name) SOFTCHECK_BODY(Real, name, MeanCall<Real>& call)
#define SOFTCHECK_BODY_each_mean_gradient(name) SOFTCHECK_BODY(void, name, MeanCall<Real>& call)
#define SOFTCHECK_BODY_mean_gradient_by_factor(name) SOFTCHECK_BODY(Real, name, MeanCall<Real>& call)
