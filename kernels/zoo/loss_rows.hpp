#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/zoo/rows.hpp"

// Glue of the kernels for cross-entropy and its gradient: logits, labels and upstream gradients in every dtype and with
// any strides, so that each file holds its one idea (or its one bug) and nothing else.
namespace softcheck::kernels::zoo {

/// A row in the format that it is computed in: double for f64, float for the rest.
template <class Real>
struct LossRow {
  std::vector<Real> raw;      // the logits
  std::vector<Real> logits;   // after the softcap
  std::vector<Real> weights;  // of the classes, or none
  std::vector<Real> targets;  // a probability of each class, or none
  std::int64_t number = 0;    // of the row
  std::int64_t label = 0;
  std::int64_t ignore_index = 0;
  Real smoothing = 0, z = 0, cap = 0, theta = 1;
  Real upstream = 1;
  std::vector<Real> out;  // one for the loss, one for each class of the gradient

  bool ignored() const { return label == ignore_index; }
  /// The label's class; the first class if the label is no class. A bug that does not ignore the row is then wrong.
  std::size_t class_of_label() const {
    return label >= 0 && label < static_cast<std::int64_t>(logits.size()) ? static_cast<std::size_t>(label) : 0;
  }
  Real target() const { return logits.empty() ? Real(0) : logits[class_of_label()]; }
  Real maximum() const { return *std::max_element(logits.begin(), logits.end()); }
  Real classes() const { return static_cast<Real>(logits.size()); }
  Real weight(std::size_t j) const { return weights.empty() ? Real(1) : weights[j]; }
  Real target_weight() const { return weight(class_of_label()); }
  /// The correct logits over theta, or after the softcap.
  void put_cap() {
    logits = raw;
    if (theta != 1) {
      for (Real& x : logits) x /= theta;
    }
    if (cap == 0) return;
    for (Real& x : logits) x = cap * std::tanh(x / cap);
  }
  /// 1 - tanh^2 of logit j, from the capped one.
  Real cap_slope(std::size_t j) const {
    const Real t = cap == 0 ? Real(0) : logits[j] / cap;
    return 1 - t * t;
  }
  Real mean_weight() const {
    if (weights.empty()) return 1;
    Real s = 0;
    for (const Real w : weights) s += w;
    return s / classes();
  }
  /// sum e^(x - m), one after the other.
  Real sum(Real m) const {
    Real s = 0;
    for (const Real x : logits) s += std::exp(x - m);
    return s;
  }
  /// mean(w (L - x)), where m + log is L: the log-probabilities one after the other.
  Real mean_negative_log(Real m, Real log) const {
    Real s = 0;
    for (std::size_t j = 0; j < logits.size(); ++j) {
      const Real each = log - (logits[j] - m);
      s += weights.empty() ? each : weights[j] * each;
    }
    return s / classes();
  }
  /// The loss from m and ln S.
  Real loss(Real m, Real log) const {
    const Real lse = m + log;
    Real result = log - (target() - m);
    if (!weights.empty()) result *= target_weight();
    if (smoothing != 0) result = (1 - smoothing) * result + smoothing * mean_negative_log(m, log);
    return z == 0 ? result : result + z * lse * lse;
  }
  /// The gradient of the loss by logit j, before upstream, from its coefficient p and L.
  Real slope(std::size_t j, Real p, Real lse) const {
    const Real behind = theta == 1 ? capped_slope(j, p, lse) : capped_slope(j, p, lse) / theta;
    return cap == 0 ? behind : behind * cap_slope(j);
  }
  /// The gradient by the logit after the softcap.
  Real capped_slope(std::size_t j, Real p, Real lse) const {
    const bool hit = static_cast<std::int64_t>(j) == label;
    if (!weights.empty()) return weighted_slope(hit, p, lse, weights[j]);
    if (smoothing == 0 && z == 0) return hit ? p - 1 : p;
    return (1 + 2 * z * lse) * p - ((hit ? 1 - smoothing : 0) + smoothing / classes());
  }
  Real weighted_slope(bool hit, Real p, Real lse, Real w) const {
    if (mean_of_weights < 0) mean_of_weights = mean_weight();
    const Real alpha = (1 - smoothing) * target_weight() + smoothing * mean_of_weights + 2 * z * lse;
    return alpha * p - ((hit ? (1 - smoothing) * w : 0) + smoothing / classes() * w);
  }
  mutable Real mean_of_weights = -1;  // once it is known
};

inline std::int64_t label_at(const DLTensor& labels, std::int64_t row) {
  const std::int64_t place = labels.strides != nullptr ? row * labels.strides[0] : row;
  const char* data = static_cast<const char*>(labels.data) + labels.byte_offset + place * (labels.dtype.bits / 8);
  return labels.dtype.bits == 64 ? bits_at<std::int64_t>(data) : bits_at<std::int32_t>(data);
}

/// The call, if it is one of this loss: logits, labels, for a gradient upstream, and possibly class weights. Else null.
inline const softcheck_call_2* loss_call_of(const softcheck_call* call, std::uint32_t op, bool backward) {
  const std::uint32_t others = backward ? 3 : 2;
  const softcheck_call_2* whole = call_of(call, op, call->n_inputs, 1);
  if (whole == nullptr || call->n_inputs < others || call->inputs[1]->dtype.code != kDLInt) return nullptr;
  const bool weighted = call->n_inputs == others + 1 && whole->input_roles[others] == SOFTCHECK_ROLE_CLASS_WEIGHTS;
  return call->n_inputs == others || weighted ? whole : nullptr;
}

/// Row r of a call of a loss. Class weights follow the other inputs.
template <class Real>
LossRow<Real> read_loss_row(const softcheck_call_2& whole, std::int64_t r, std::uint32_t others) {
  LossRow<Real> row;
  row.number = r;
  row.raw = read_row<Real>(View(*whole.call.inputs[0]), r);
  row.cap = static_cast<Real>(whole.attributes->softcap);
  row.theta = static_cast<Real>(whole.call.theta);
  row.put_cap();
  if (whole.call.n_inputs > others) {
    const View weights(*whole.call.inputs[others]);
    for (std::int64_t j = 0; j < weights.rows; ++j) row.weights.push_back(weights.get<Real>(j, 0));
  }
  row.label = label_at(*whole.call.inputs[1], r);
  row.ignore_index = whole.attributes->ignore_index;
  row.smoothing = static_cast<Real>(whole.attributes->label_smoothing);
  row.z = static_cast<Real>(whole.attributes->z_loss);
  return row;
}

/// Calls compute(LossRow<Real>&) for every row of a call of the loss of targets, or its gradient.
template <class Compute>
int each_soft_row(const softcheck_call* call, std::uint32_t op, Compute compute) {
  const bool backward = op == SOFTCHECK_OP_SOFT_CROSS_ENTROPY_BACKWARD;
  const softcheck_call_2* whole = call_of(call, op, backward ? 3 : 2, 1);
  if (whole == nullptr || whole->input_roles[1] != SOFTCHECK_ROLE_TARGETS) return 1;
  return in_format_of(call->inputs[0]->dtype, [&]<class Real>(Real) {
    for (std::int64_t r = 0; r < call->inputs[0]->shape[0]; ++r) {
      LossRow<Real> row;
      row.raw = read_row<Real>(View(*call->inputs[0]), r);
      row.cap = static_cast<Real>(whole->attributes->softcap);
      row.theta = static_cast<Real>(call->theta);
      row.put_cap();
      row.z = static_cast<Real>(whole->attributes->z_loss);
      row.targets = read_row<Real>(View(*call->inputs[1]), r);
      if (backward) row.upstream = View(*call->inputs[2]).get<Real>(r, 0);
      row.out.assign(backward ? row.logits.size() : 1, 0);
      if (!row.logits.empty()) compute(row);
      write_row(View(*call->outputs[0]), r, row.out);
    }
  });
}
template <class Compute>
int each_soft_loss(const softcheck_call* call, Compute compute) {
  return each_soft_row(call, SOFTCHECK_OP_SOFT_CROSS_ENTROPY, compute);
}
template <class Compute>
int each_soft_gradient(const softcheck_call* call, Compute compute) {
  return each_soft_row(call, SOFTCHECK_OP_SOFT_CROSS_ENTROPY_BACKWARD, compute);
}

/// The sum of the targets.
template <class Real>
Real mass_of(const LossRow<Real>& row) {
  Real mass = 0;
  for (const Real q : row.targets) mass += q;
  return mass;
}

/// The loss of a row's targets, from its log-probabilities. A target of 0 adds nothing where its logit is -inf.
template <class Real>
void put_soft_loss(LossRow<Real>& row) {
  const Real m = row.maximum(), log = std::log(row.sum(m)), lse = m + log;
  Real loss = 0;
  for (std::size_t j = 0; j < row.logits.size(); ++j) {
    if (row.targets[j] == 0 && std::isinf(row.logits[j])) continue;
    loss += row.targets[j] * (log - (row.logits[j] - m));
  }
  row.out[0] = row.z == 0 ? loss : loss + row.z * lse * lse;
}

/// Its gradient, with the factor alpha(row) instead of the sum of the targets.
template <class Real, class Alpha>
void put_soft_gradient(LossRow<Real>& row, Alpha alpha) {
  const Real m = row.maximum(), s = row.sum(m), factor = alpha(row) + 2 * row.z * (m + std::log(s));
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    row.out[j] =
        row.upstream * ((factor * (std::exp(row.logits[j] - m) / s) - row.targets[j]) * row.cap_slope(j)) / row.theta;
  }
}
inline constexpr auto usual_alpha = []<class Real>(const LossRow<Real>& row) { return mass_of(row); };

/// Calls compute(LossRow<Real>&) for every row of a call of this op, 1 for any other call.
template <class Compute>
int each_loss_row(const softcheck_call* call, std::uint32_t op, Compute compute) {
  const bool backward = op == SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD;
  const softcheck_call_2* whole = loss_call_of(call, op, backward);
  if (whole == nullptr || whole->attributes->mean != 0 || whole->input_roles[0] != SOFTCHECK_ROLE_LOGITS ||
      whole->input_roles[1] != SOFTCHECK_ROLE_LABELS) {
    return 1;
  }
  const View out(*call->outputs[0]);
  return in_format_of(call->inputs[0]->dtype, [&]<class Real>(Real) {
    for (std::int64_t r = 0; r < call->inputs[0]->shape[0]; ++r) {
      auto row = read_loss_row<Real>(*whole, r, backward ? 3 : 2);
      if (backward) row.upstream = View(*call->inputs[2]).get<Real>(r, 0);
      row.out.assign(backward ? row.logits.size() : 1, 0);
      compute(row);
      write_row(out, r, row.out);
    }
  });
}

template <class Compute>
int each_loss(const softcheck_call* call, Compute compute) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, compute);
}
template <class Compute>
int each_loss_gradient(const softcheck_call* call, Compute compute) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, compute);
}

/// The same for rows that are not ignored; ignored rows get 0.
template <class Compute>
int each_counted_loss(const softcheck_call* call, Compute compute) {
  return each_loss(call, [&](auto& row) {
    if (!row.ignored()) compute(row);
  });
}
template <class Compute>
int each_counted_loss_gradient(const softcheck_call* call, Compute compute) {
  return each_loss_gradient(call, [&](auto& row) {
    if (!row.ignored()) compute(row);
  });
}

/// Each slope(row, j, p of class j, L), times upstream.
template <class Slope>
int loss_gradient_by_slopes(const softcheck_call* call, Slope slope) {
  return each_counted_loss_gradient(call, [&](auto& row) {
    const auto m = row.maximum(), s = row.sum(m);
    for (std::size_t j = 0; j < row.out.size(); ++j) {
      row.out[j] = row.upstream * slope(row, j, std::exp(row.logits[j] - m) / s, m + std::log(s));
    }
  });
}

/// m and S of blocks of classes, each with its own maximum: NaN where all of a block before any other are -inf.
template <class Real>
void add_blocks(const LossRow<Real>& row, std::size_t block, Real& m, Real& s) {
  m = -std::numeric_limits<Real>::infinity();
  s = 0;
  for (std::size_t j = 0; j < row.logits.size(); j += block) {
    const auto begin = row.logits.begin() + static_cast<std::ptrdiff_t>(j);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(block, row.logits.size() - j));
    const Real higher = std::max(m, *std::max_element(begin, end));
    s *= std::exp(m - higher);
    for (auto x = begin; x != end; ++x) s += std::exp(*x - higher);
    m = higher;
  }
}

/// The correct loss of a row.
template <class Real>
void put_loss(LossRow<Real>& row) {
  if (row.ignored()) return;
  const Real m = row.maximum();
  row.out[0] = row.loss(m, std::log(row.sum(m)));
}

/// The correct gradient of a row.
template <class Real>
void put_gradient(LossRow<Real>& row) {
  if (row.ignored()) return;
  const Real m = row.maximum(), s = row.sum(m), lse = m + std::log(s);
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    row.out[j] = row.upstream * row.slope(j, std::exp(row.logits[j] - m) / s, lse);
  }
}

/// The loss, or its gradient, of each row that change(row) has changed.
template <class Change>
int changed_losses(const softcheck_call* call, Change change) {
  return each_loss(call, [&](auto& row) {
    change(row);
    put_loss(row);
  });
}
template <class Change>
int changed_loss_gradients(const softcheck_call* call, Change change) {
  return each_loss_gradient(call, [&](auto& row) {
    change(row);
    put_gradient(row);
  });
}

}  // namespace softcheck::kernels::zoo

#define SOFTCHECK_BODY_each_soft_loss(name) SOFTCHECK_BODY(void, name, LossRow<Real>& row)
#define SOFTCHECK_BODY_each_soft_gradient(name) SOFTCHECK_BODY(void, name, LossRow<Real>& row)
#define SOFTCHECK_BODY_each_loss(name) SOFTCHECK_BODY(void, name, LossRow<Real>& row)
#define SOFTCHECK_BODY_each_loss_gradient(name) SOFTCHECK_BODY(void, name, LossRow<Real>& row)
#define SOFTCHECK_BODY_each_counted_loss(name) SOFTCHECK_BODY(void, name, LossRow<Real>& row)
#define SOFTCHECK_BODY_each_counted_loss_gradient(name) SOFTCHECK_BODY(void, name, LossRow<Real>& row)
#define SOFTCHECK_BODY_changed_losses(name) SOFTCHECK_BODY(void, name, LossRow<Real>& row)
#define SOFTCHECK_BODY_changed_loss_gradients(name) SOFTCHECK_BODY(void, name, LossRow<Real>& row)
#define SOFTCHECK_BODY_loss_gradient_by_slopes(name) \
  SOFTCHECK_BODY(Real, name, LossRow<Real>& row, std::size_t j, Real p, [[maybe_unused]] Real lse)
