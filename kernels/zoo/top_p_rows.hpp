#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/zoo/rows.hpp"

// Glue of the kernels that keep the items of top-p and min-p: logits in every dtype and with any strides, so that each
// file holds its one idea (or its one bug) and nothing else.
namespace softcheck::kernels::zoo {

/// A row in the format that it is computed in: double for f64, float for the rest.
template <class Real>
struct TopPRow {
  std::vector<Real> logits;
  Real theta = 1;
  Real top_p = 0, min_p = 0;  // 0: off
  std::vector<Real> out;      // (n), 0 at first

  std::size_t size() const { return logits.size(); }
  Real maximum() const { return largest_of(logits); }
  /// e^((x - m) / theta).
  std::vector<Real> weights() const {
    const Real m = maximum();
    std::vector<Real> w;
    for (const Real x : logits) w.push_back(std::exp((x - m) / theta));
    return w;
  }
  static Real sum_of(const std::vector<Real>& values) {
    Real s = 0;
    for (const Real value : values) s += value;
    return s;
  }
  static std::vector<Real> over_sum(std::vector<Real> values) {
    const Real s = sum_of(values);
    for (Real& value : values) value /= s;
    return values;
  }
  /// softmax of all logits; NaN if no item is visible.
  std::vector<Real> softmax() const { return over_sum(weights()); }
  /// The items in descending order, the lowest index first among equal ones; in the order of the row if one is NaN.
  static std::vector<std::size_t> descending(const std::vector<Real>& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (std::any_of(values.begin(), values.end(), [](Real value) { return std::isnan(value); })) return order;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
    return order;
  }
  /// The items before which the sum of the larger coefficients is below top_p.
  std::vector<bool> prefix(const std::vector<Real>& p) const {
    std::vector<bool> kept(p.size(), top_p == 0);
    Real before = 0;
    for (const std::size_t i : descending(p)) {
      if (top_p == 0 || before >= top_p) break;
      kept[i] = true;
      before += p[i];
    }
    return kept;
  }
  /// Leaves out items below min_p times the largest.
  void above_min_p(const std::vector<Real>& p, std::vector<bool>& kept) const {
    const Real largest = p.empty() ? 0 : *std::max_element(p.begin(), p.end());
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (min_p != 0 && p[i] < min_p * largest) kept[i] = false;
    }
  }
  /// out: the values of the kept items, divided by their sum.
  void renormalise(std::vector<Real> values, const std::vector<bool>& kept) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!kept[i] && !std::isnan(values[i])) values[i] = 0;
    }
    out = over_sum(std::move(values));
  }
  /// The correct kernel.
  void run() {
    const std::vector<Real> p = softmax();
    std::vector<bool> kept = prefix(p);
    above_min_p(p, kept);
    renormalise(p, kept);
  }
};

/// Calls compute(TopPRow<Real>&) for every row of a call, 1 for a call of another op.
template <class Compute>
int each_top_p_row(const softcheck_call* call, Compute compute) {
  const softcheck_call_2* whole = call_of(call, SOFTCHECK_OP_TOP_P_SOFTMAX, 1, 1);
  if (whole == nullptr) return 1;
  const View logits(*call->inputs[0]), out(*call->outputs[0]);
  return in_format_of(logits.type, [&]<class Real>(Real) {
    for (std::int64_t r = 0; r < logits.rows; ++r) {
      TopPRow<Real> row;
      row.theta = static_cast<Real>(call->theta);
      row.top_p = static_cast<Real>(whole->attributes->top_p);
      row.min_p = static_cast<Real>(whole->attributes->min_p);
      row.logits = read_row<Real>(logits, r);
      row.out.assign(row.size(), 0);
      if (row.size() > 0) compute(row);
      write_row(out, r, row.out);
    }
  });
}

/// choose(row, p, kept) chooses the items of top-p; kept has the right ones at first. min-p follows.
template <class Choose>
int top_p_by_choice(const softcheck_call* call, Choose choose) {
  return each_top_p_row(call, [&](auto& row) {
    const auto p = row.softmax();
    std::vector<bool> kept = row.prefix(p);
    choose(row, p, kept);
    row.above_min_p(p, kept);
    row.renormalise(p, kept);
  });
}

}  // namespace softcheck::kernels::zoo

#define SOFTCHECK_BODY_each_top_p_row(name) SOFTCHECK_BODY(void, name, TopPRow<Real>& row)
#define SOFTCHECK_BODY_top_p_by_choice(name) \
  SOFTCHECK_BODY(void, name, [[maybe_unused]] TopPRow<Real>& row, const std::vector<Real>& p, std::vector<bool>& kept)
