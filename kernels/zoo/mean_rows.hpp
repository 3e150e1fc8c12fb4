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
  /// What a row adds to the divisor.
  static Real share(const LossRow<Real>& row) { return row.ignored() ? Real(0) : row.target_weight(); }
  /// The rows' number, or the sum of their weights; 1 for a sum.
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

/// The gradient of the loss of a row that counts, times a factor; 0 where the row is ignored.
template <class Real>
void put_scaled_gradient(LossRow<Real>& row, Real factor) {
  row.upstream = factor;
  put_gradient(row);
}

/// Calls compute(MeanCall<Real>&) with a call of this op, and writes what it leaves: of the mean its result, of the
/// gradient the rows' out. 1 for any other call.
template <class Compute>
int each_mean_call(const softcheck_call* call, std::uint32_t op, Compute compute) {
  const softcheck_call_2* whole = softcheck_version_2(call);
  const bool backward = op == SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD;
  const std::uint32_t others = backward ? 3 : 2;
  if (whole == nullptr || whole->op != op || call->n_outputs != 1 ||
      (call->n_inputs != others && !has_weights(*whole, others)) || call->inputs[0]->ndim != 2 ||
      !is_float(*call->inputs[0]) || call->inputs[1]->dtype.code != kDLInt) {
    return 1;
  }
  const View logits(*call->inputs[0]), out(*call->outputs[0]);
  const auto run = [&](auto real) {
    using Real = decltype(real);
    MeanCall<Real> all;
    all.mean = whole->attributes->mean != 0;
    if (backward) all.upstream = View(*call->inputs[2]).get<Real>(0, 0);
    std::vector<Real> weights;
    if (call->n_inputs > others) {
      const View of(*call->inputs[others]);
      for (std::int64_t j = 0; j < of.rows; ++j) weights.push_back(of.get<Real>(j, 0));
    }
    // Rows without classes have no label but the one to ignore.
    for (std::int64_t r = 0; r < logits.rows && logits.columns > 0; ++r) {
      LossRow<Real>& row = all.rows.emplace_back();
      for (std::int64_t i = 0; i < logits.columns; ++i) row.raw.push_back(logits.get<Real>(r, i));
      row.cap = static_cast<Real>(whole->attributes->softcap);
      row.put_cap();
      row.weights = weights;
      row.label = label_at(*call->inputs[1], r);
      row.ignore_index = whole->attributes->ignore_index;
      row.smoothing = static_cast<Real>(whole->attributes->label_smoothing);
      row.z = static_cast<Real>(whole->attributes->z_loss);
      if (backward) row.out.assign(row.logits.size(), 0);
    }
    const Real value = compute(all);
    if (!backward) out.put(0, 0, value);
    for (std::size_t r = 0; backward && r < all.rows.size(); ++r) {
      const std::vector<Real>& of_row = all.rows[r].out;
      for (std::size_t i = 0; i < of_row.size(); ++i)
        out.put(static_cast<std::int64_t>(r), static_cast<std::int64_t>(i), of_row[i]);
    }
    return 0;
  };
  return is_f64(logits.type) ? run(double{}) : run(float{});
}

}  // namespace softcheck::kernels::zoo
