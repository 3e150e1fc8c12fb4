#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/zoo/topk_rows.hpp"

// Glue of the routers of mixture-of-experts models: top-k of biased scores, within the best groups.
namespace softcheck::kernels::zoo {

template <class Real>
struct RouterRow : TopkRow<Real> {
  std::vector<Real> bias;  // (n), 0 if the call has none
  bool sigmoid = false;
  std::size_t groups = 1, kept = 1;
  bool pairs = false;  // a group's score is the sum of its two largest
  Real scale = 1;

  std::size_t size() const { return this->items() / groups; }
  static Real sigmoid_of(Real x) { return 1 / (1 + std::exp(-x)); }
  std::vector<Real> coefficients() const {
    if (!sigmoid) return this->softmax();
    std::vector<Real> p;
    for (const Real x : this->logits) p.push_back(sigmoid_of(x));
    return p;
  }
  std::vector<Real> biased(std::vector<Real> p) const {
    for (std::size_t i = 0; i < p.size(); ++i) p[i] += bias[i];
    return p;
  }
  Real score_of_group(const std::vector<Real>& scores, std::size_t group) const {
    const auto first = scores.begin() + static_cast<std::ptrdiff_t>(group * size());
    std::vector<Real> own(first, first + static_cast<std::ptrdiff_t>(size()));
    std::sort(own.rbegin(), own.rend());
    return pairs && own.size() > 1 ? own[0] + own[1] : own[0];
  }
  /// The best groups; of equal ones the first.
  std::vector<bool> best(const std::vector<Real>& scores) const {
    std::vector<std::size_t> order(groups);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<Real> of_group;
    for (const std::size_t g : order) of_group.push_back(score_of_group(scores, g));
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return of_group[a] > of_group[b]; });
    std::vector<bool> result(groups);
    for (std::size_t g = 0; g < kept; ++g) result[order[g]] = true;
    return result;
  }
  /// The scores, with this number in all other groups.
  std::vector<Real> masked(std::vector<Real> scores, const std::vector<bool>& in, Real instead) const {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (!in[i / size()]) scores[i] = instead;
    }
    return scores;
  }
  /// Chooses by the scores, within their best groups.
  void choose_within(const std::vector<Real>& scores) {
    this->choose(masked(scores, best(scores), -std::numeric_limits<Real>::infinity()));
  }
  void finish(const std::vector<Real>& p) {
    this->weigh(p);
    if (this->renormalize) this->divide_by_sum();
    for (Real& w : this->weights) w *= scale;
  }
  /// The correct kernel.
  void route() {
    const std::vector<Real> p = coefficients();
    choose_within(biased(p));
    finish(p);
  }
};

/// Calls compute(RouterRow<Real>&) for every row of a call, 1 for a call of another op.
template <class Compute>
int each_router_row(const softcheck_call* call, Compute compute) {
  const bool has_bias = call->n_inputs == 2;
  const softcheck_call_2* whole = call_of(call, SOFTCHECK_OP_TOPK_SOFTMAX, has_bias ? 2 : 1, 2);
  if (whole == nullptr || (has_bias && whole->input_roles[1] != SOFTCHECK_ROLE_BIAS)) return 1;
  const softcheck_attributes& a = *whole->attributes;
  const View logits(*call->inputs[0]), weights(*call->outputs[0]);
  const auto k = static_cast<std::size_t>(a.k);
  return in_format_of(logits.type, [&]<class Real>(Real) {
    std::vector<Real> bias(static_cast<std::size_t>(logits.columns), 0);
    for (std::size_t i = 0; has_bias && i < bias.size(); ++i) {
      bias[i] = View(*call->inputs[1]).get<Real>(static_cast<std::int64_t>(i), 0);
    }
    for (std::int64_t r = 0; r < logits.rows; ++r) {
      RouterRow<Real> row;
      row.number = r;
      row.renormalize = a.renormalize != 0;
      row.sigmoid = a.sigmoid != 0;
      if (a.groups != 0) {
        row.groups = static_cast<std::size_t>(a.groups);
        row.kept = static_cast<std::size_t>(a.groups_kept);
        row.pairs = a.group_items == 2;
      }
      if (a.routed_scale != 0) row.scale = static_cast<Real>(a.routed_scale);
      row.logits = read_row<Real>(logits, r);
      row.bias = bias;
      row.weights.assign(k, 0);
      row.ids.assign(k, 0);
      if (k > 0) compute(row);
      write_row(weights, r, row.weights);
      for (std::size_t p = 0; p < k; ++p) put_id(*call->outputs[1], r, static_cast<std::int64_t>(p), row.ids[p]);
    }
  });
}

}  // namespace softcheck::kernels::zoo

#define SOFTCHECK_BODY_each_router_row(name) SOFTCHECK_BODY(void, name, RouterRow<Real>& row)
