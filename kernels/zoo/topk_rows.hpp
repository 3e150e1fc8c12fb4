#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/zoo/rows.hpp"

// Glue of the kernels that choose the k largest items of a softmax: logits in every dtype and with any strides, so that
// each file holds its one idea (or its one bug) and nothing else.
namespace softcheck::kernels::zoo {

/// A row in the format that it is computed in: double for f64, float for the rest.
template <class Real>
struct TopkRow {
  std::vector<Real> logits;
  bool renormalize = false;
  std::int64_t number = 0;        // of the row
  std::vector<Real> weights;      // (k), 0 at first
  std::vector<std::int32_t> ids;  // (k), 0 at first

  std::size_t k() const { return ids.size(); }
  std::size_t items() const { return logits.size(); }
  Real maximum() const { return largest_of(logits); }
  /// softmax of all logits; NaN if no item is visible.
  std::vector<Real> softmax() const {
    const Real m = maximum();
    std::vector<Real> p;
    Real s = 0;
    for (const Real x : logits) {
      p.push_back(std::exp(x - m));
      s += p.back();
    }
    for (Real& value : p) value /= s;
    return p;
  }
  /// The k largest scores, descending, the lowest index first among equal ones: one pass for each.
  void choose(std::vector<Real> scores) {
    std::vector<bool> taken(scores.size());
    for (std::size_t a = 0; a < k(); ++a) {
      std::size_t best = scores.size();
      for (std::size_t i = 0; i < scores.size(); ++i) {
        if (!taken[i] && (best == scores.size() || scores[i] > scores[best])) best = i;
      }
      taken[best] = true;
      ids[a] = static_cast<std::int32_t>(best);
    }
  }
  /// The weights of the items in ids.
  void weigh(const std::vector<Real>& p) {
    for (std::size_t a = 0; a < k(); ++a) weights[a] = p[static_cast<std::size_t>(ids[a])];
  }
  void divide_by_sum(Real epsilon = 0) {
    Real s = epsilon;
    for (const Real w : weights) s += w;
    for (Real& w : weights) w /= s;
  }
  /// The correct kernel.
  void run() {
    const std::vector<Real> p = softmax();
    choose(p);
    weigh(p);
    if (renormalize) divide_by_sum();
  }
};

inline void put_id(const DLTensor& ids, std::int64_t row, std::int64_t place, std::int32_t id) {
  const std::int64_t k = ids.shape[1];
  const std::int64_t at = ids.strides != nullptr ? row * ids.strides[0] + place * ids.strides[1] : row * k + place;
  std::memcpy(static_cast<char*>(ids.data) + ids.byte_offset + at * 4, &id, sizeof id);
}

/// Calls compute(TopkRow<Real>&) for every row of a call, 1 for a call of another op.
template <class Compute>
int each_topk_row(const softcheck_call* call, Compute compute) {
  const softcheck_call_2* whole = call_of(call, SOFTCHECK_OP_TOPK_SOFTMAX, 1, 2);
  if (whole == nullptr || call->outputs[1]->dtype.code != kDLInt || call->outputs[1]->dtype.bits != 32) return 1;
  const View logits(*call->inputs[0]), weights(*call->outputs[0]);
  const auto k = static_cast<std::size_t>(whole->attributes->k);
  return in_format_of(logits.type, [&]<class Real>(Real) {
    for (std::int64_t r = 0; r < logits.rows; ++r) {
      TopkRow<Real> row;
      row.number = r;
      row.renormalize = whole->attributes->renormalize != 0;
      row.logits = read_row<Real>(logits, r);
      row.weights.assign(k, 0);
      row.ids.assign(k, 0);
      if (k > 0) compute(row);
      row.weights.resize(k);
      write_row(weights, r, row.weights);
      for (std::size_t a = 0; a < k; ++a) put_id(*call->outputs[1], r, static_cast<std::int64_t>(a), row.ids[a]);
    }
  });
}

/// Each row's choice, changed by change(row).
template <class Change>
int changed_topk_results(const softcheck_call* call, Change change) {
  return each_topk_row(call, [&](auto& row) {
    row.run();
    change(row);
  });
}

}  // namespace softcheck::kernels::zoo

#define SOFTCHECK_BODY_each_topk_row(name) SOFTCHECK_BODY(void, name, TopkRow<Real>& row)
#define SOFTCHECK_BODY_changed_topk_results(name) SOFTCHECK_BODY(void, name, TopkRow<Real>& row)
