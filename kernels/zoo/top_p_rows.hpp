#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "kernels/zoo/rows.hpp"

// Glue of the kernels that keep the items of top-k, top-p and min-p: logits in every dtype and with any strides, so
// that each file holds its one idea (or its one bug) and nothing else.
namespace softcheck::kernels::zoo {

/// A row in the format that it is computed in: double for f64, float for the rest.
template <class Real>
struct TopPRow {
  std::vector<Real> logits;
  Real theta = 1;
  Real top_p = 0, min_p = 0;  // 0: off
  std::size_t k = 0;          // 0: off
  bool top_k_first = false;   // top_p is a share of the k largest
  std::int64_t number = 0;    // of the row
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
  bool has_k() const { return k != 0 && k < size(); }
  /// The k largest, the lowest indices first among equal ones; all items if k is off.
  std::vector<bool> k_largest(const std::vector<Real>& p) const {
    std::vector<bool> kept(p.size(), !has_k());
    const std::vector<std::size_t> order = descending(p);
    for (std::size_t a = 0; has_k() && a < k; ++a) kept[order[a]] = true;
    return kept;
  }
  /// top_p, or its share of the k largest coefficients.
  Real due(const std::vector<Real>& p) const {
    if (!has_k() || !top_k_first) return top_p;
    const std::vector<bool> largest = k_largest(p);
    Real mass = 0;
    for (std::size_t i = 0; i < p.size(); ++i) mass += largest[i] ? p[i] : 0;
    return top_p * mass;
  }
  /// The items before which the sum of the larger coefficients is below top_p.
  std::vector<bool> prefix(const std::vector<Real>& p) const {
    std::vector<bool> kept(p.size(), top_p == 0);
    const Real enough = due(p);
    Real before = 0;
    for (const std::size_t i : descending(p)) {
      if (top_p == 0 || before >= enough) break;
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
  /// min_p, k and the division behind a choice of top_p.
  void finish(const std::vector<Real>& p, std::vector<bool> kept) {
    above_min_p(p, kept);
    const std::vector<bool> largest = k_largest(p);
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = kept[i] && largest[i];
    renormalise(p, kept);
  }
  /// The correct kernel.
  void run() {
    const std::vector<Real> p = softmax();
    finish(p, prefix(p));
  }
};

/// The numbers of each row that a call has in place of an attribute.
struct FiltersOfRows {
  explicit FiltersOfRows(const softcheck_call_2& whole) {
    for (std::uint32_t i = 1; i < whole.call.n_inputs; ++i) inputs[whole.input_roles[i]] = View(*whole.call.inputs[i]);
  }
  double of(std::uint32_t role, std::int64_t row, double attribute) const {
    const auto found = inputs.find(role);
    if (found == inputs.end()) return attribute;
    const View& view = found->second;
    if (view.type.code != kDLInt) return view.get<double>(row, 0);
    const char* const place = view.at(row, 0);
    if (view.type.bits == 64) return static_cast<double>(*reinterpret_cast<const std::int64_t*>(place));
    return *reinterpret_cast<const std::int32_t*>(place);
  }
  std::map<std::uint32_t, View> inputs;
};

/// Calls compute(TopPRow<Real>&) for every row of a call, 1 for a call of another op.
template <class Compute>
int each_top_p_row(const softcheck_call* call, Compute compute) {
  const softcheck_call_2* whole = call_of(call, SOFTCHECK_OP_TOP_P_SOFTMAX, call->n_inputs, 1);
  if (whole == nullptr) return 1;
  const View logits(*call->inputs[0]), out(*call->outputs[0]);
  const FiltersOfRows own(*whole);
  return in_format_of(logits.type, [&]<class Real>(Real) {
    for (std::int64_t r = 0; r < logits.rows; ++r) {
      TopPRow<Real> row;
      row.number = r;
      row.theta = static_cast<Real>(own.of(SOFTCHECK_ROLE_TEMPERATURE, r, call->theta));
      row.top_p = static_cast<Real>(own.of(SOFTCHECK_ROLE_TOP_P, r, whole->attributes->top_p));
      row.min_p = static_cast<Real>(own.of(SOFTCHECK_ROLE_MIN_P, r, whole->attributes->min_p));
      row.k = static_cast<std::size_t>(own.of(SOFTCHECK_ROLE_K, r, whole->attributes->k));
      row.top_k_first = whole->attributes->renormalize != 0;
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
