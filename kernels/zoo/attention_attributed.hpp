#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/zoo/attention_states.hpp"

// Attention with the attributes of version 2 of a call: windows, alignments, softcap, sinks, ALiBi and bias.
namespace softcheck::kernels::zoo::attention {

/// A call, unpacked. A mutant changes a field.
struct AttributedCall {
  Attention plain;
  std::optional<View> sinks, slopes, bias, kept;
  std::optional<View> second_q, second_k, lambdas;  // of differential attention
  double dropout_scale = 1;
  std::int64_t left = -1, right = -1;  // number of keys that a query sees on each side of its own position; -1: all
  bool top_left = false;
  double softcap = 0;
  double sigmoid_bias = 0;
  std::vector<std::int64_t> sink_head, slope_head, bias_head;  // of each query head

  std::int64_t place_of(std::int64_t i) const { return i + plain.diagonal; }
};

/// One query; its visible keys lie in its window.
template <class Real>
struct AttributedRow : Row<Real> {
  Real softcap = 0;
  Real slope = 0;
  Real sigmoid_bias = 0;
  std::int64_t place = 0;  // its position among the keys
  std::vector<Real> bias;  // (n) or none
  std::optional<Real> sink;
  std::vector<std::uint8_t> kept;  // (n): keys that the dropout keeps, or none
  Real dropout_scale = 1;
  std::vector<std::uint8_t> without_window;  // (n): visible keys without a window
  std::size_t window_begin = 0;              // the first key of its window
};

inline std::optional<AttributedCall> unpack_attributed(const softcheck_call& call,
                                                       std::uint32_t op = SOFTCHECK_OP_ATTENTION) {
  const softcheck_call_2* whole = softcheck_version_2(&call);
  softcheck_call first = call;
  first.abi_version = SOFTCHECK_KERNEL_ABI_VERSION;
  if (whole == nullptr) {
    if (op != SOFTCHECK_OP_ATTENTION || !accepts(call)) return std::nullopt;
    AttributedCall a;
    a.plain = unpack(call);
    return a;
  }
  if (whole->op != op || call.n_inputs < 3) return std::nullopt;
  AttributedCall a;
  const DLTensor* mask = nullptr;
  for (std::uint32_t i = 3; i < call.n_inputs; ++i) {
    const DLTensor& input = *call.inputs[i];
    const std::uint32_t role = whole->input_roles[i];
    if (role == SOFTCHECK_ROLE_MASK) {
      mask = &input;
    } else if (role == SOFTCHECK_ROLE_SINKS) {
      a.sinks.emplace(input);
    } else if (role == SOFTCHECK_ROLE_SLOPES) {
      a.slopes.emplace(input);
    } else if (role == SOFTCHECK_ROLE_BIAS) {
      a.bias.emplace(input);
    } else if (role == SOFTCHECK_ROLE_SECOND_QUERY) {
      a.second_q.emplace(input);
    } else if (role == SOFTCHECK_ROLE_SECOND_KEY) {
      a.second_k.emplace(input);
    } else if (role == SOFTCHECK_ROLE_LAMBDA) {
      a.lambdas.emplace(input);
    } else if (role == SOFTCHECK_ROLE_DROPOUT) {
      a.kept.emplace(input);
      a.dropout_scale = whole->attributes->dropout_scale;
    } else {
      return std::nullopt;
    }
  }
  const DLTensor* inputs[] = {call.inputs[0], call.inputs[1], call.inputs[2], mask};
  first.inputs = inputs;
  first.n_inputs = mask == nullptr ? 3 : 4;
  if (!accepts(first)) return std::nullopt;
  a.plain = unpack(first);
  a.left = whole->attributes->window_left_plus_1 - 1;
  a.right = whole->attributes->window_right_plus_1 - 1;
  a.softcap = whole->attributes->softcap;
  a.sigmoid_bias = whole->attributes->sigmoid_bias;
  a.top_left = whole->attributes->causal_top_left != 0;
  if (a.top_left) a.plain.diagonal = 0;
  for (std::int64_t h = 0; h < a.plain.q.shape[1]; ++h) {
    a.sink_head.push_back(h);
    a.slope_head.push_back(h);
    a.bias_head.push_back(a.bias && a.bias->shape[1] == 1 ? 0 : h);
  }
  return a;
}

template <class Real>
AttributedRow<Real> gather(const AttributedCall& a, std::int64_t b, std::int64_t h, std::int64_t i,
                           LastHead<Real>& last) {
  AttributedRow<Real> row;
  static_cast<Row<Real>&>(row) = gather(a.plain, b, h, i, last);
  const auto head = static_cast<std::size_t>(h);
  row.softcap = static_cast<Real>(a.softcap);
  row.sigmoid_bias = static_cast<Real>(a.sigmoid_bias);
  row.place = a.place_of(i);
  if (a.slopes) row.slope = load<Real>(a.slopes->type, a.slopes->at(a.slope_head[head], 0, 0));
  row.without_window = row.visible;
  if (a.left >= 0) row.window_begin = static_cast<std::size_t>(std::max<std::int64_t>(0, row.place - a.left));
  if (a.sinks) row.sink = load<Real>(a.sinks->type, a.sinks->at(a.sink_head[head], 0, 0));
  row.dropout_scale = static_cast<Real>(a.dropout_scale);
  for (std::int64_t j = 0; j < a.plain.keys; ++j) {
    if (a.kept) row.kept.push_back(*a.kept->at(b, h, i, j) != 0);
    if (a.bias) row.bias.push_back(load<Real>(a.bias->type, a.bias->at(b, a.bias_head[head], i, j)));
    if (a.left >= 0 && row.place - j > a.left) row.visible[static_cast<std::size_t>(j)] = 0;
    if (a.right >= 0 && j - row.place > a.right) row.visible[static_cast<std::size_t>(j)] = 0;
  }
  return row;
}

template <class Real>
Real capped(Real x, Real softcap) {
  return softcap == 0 ? x : softcap * std::tanh(x / softcap);
}

/// The term that is added to a capped score.
template <class Real>
Real shift(const AttributedRow<Real>& row, std::size_t j) {
  Real x = 0;
  if (row.slope != 0) x -= row.slope * static_cast<Real>(std::abs(row.place - static_cast<std::int64_t>(j)));
  return row.bias.empty() ? x : x + row.bias[j];
}

/// The score of a visible key; -inf if masked.
template <class Real>
Real attributed_score(const AttributedRow<Real>& row, std::size_t j) {
  const Real x = score<Real>(row, j);
  return row.visible[j] == 0 ? x : capped(x, row.softcap) + shift(row, j);
}

template <class Real, class Score>
std::vector<Real> scores_by(const AttributedRow<Real>& row, Score score_of) {
  std::vector<Real> x;
  for (std::size_t j = 0; j < row.items(); ++j) x.push_back(score_of(row, j));
  return x;
}

inline constexpr auto usual_score = []<class Real>(const AttributedRow<Real>& row, std::size_t j) {
  return attributed_score(row, j);
};

/// Correct from correct scores: the sink is part of the maximum and of the sum, and has no value.
template <class Real>
void finish_attributed(AttributedRow<Real>& row, const std::vector<Real>& x, Real if_masked = not_a_number<Real>) {
  Real m = largest(x);
  if (row.sink && !std::isnan(m)) m = std::max(m, *row.sink);
  State<Real> s = accumulate<Real>(row, x, m);
  if (row.sink) s.weights += std::exp(*row.sink - m);
  finish<Real>(row, s, 1, if_masked);
}

/// The factor of key j's weight.
template <class Real>
Real dropout_factor(const AttributedRow<Real>& row, std::size_t j) {
  return row.kept.empty() ? 1 : row.kept[j] != 0 ? row.dropout_scale : 0;
}

/// A correct dropout, as a factor of the values.
template <class Real>
void drop(AttributedRow<Real>& row) {
  for (std::size_t n = 0; n < row.values.size() && !row.kept.empty(); ++n) {
    row.values[n] *= dropout_factor(row, n / row.out.size());
  }
}

/// Calls compute(AttributedRow<Real>&) for every query. Before that, change(AttributedCall&) may change the call.
template <class Compute, class Change>
int attend_attributed(const softcheck_call* call, Compute compute, Change change,
                      std::uint32_t op = SOFTCHECK_OP_ATTENTION) {
  std::optional<AttributedCall> a = unpack_attributed(*call, op);
  if (!a) return 1;
  change(*a);
  return in_format_of(a->plain.q.type, [&]<class Real>(Real) {
    LastHead<Real> last;
    each_place(a->plain.q, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
      AttributedRow<Real> row = gather(*a, b, h, i, last);
      compute(row);
      scatter<Real>(a->plain, b, h, i, row);
    });
  });
}

template <class Compute>
int attend_attributed(const softcheck_call* call, Compute compute) {
  return attend_attributed(call, compute, [](AttributedCall&) {});
}

/// Correct attention of rows that change(AttributedRow<Real>&) has changed.
template <class Change>
int attend_changed_attributed_rows(const softcheck_call* call, Change change) {
  return attend_attributed(call, [&]<class Real>(AttributedRow<Real>& row) {
    change(row);
    drop(row);
    finish_attributed(row, scores_by(row, usual_score));
  });
}

/// Correct attention from weights p, the coefficients of the keys, that change(row, p) has changed.
template <class Change>
int attend_changed_weights(const softcheck_call* call, Change change) {
  return attend_attributed(call, [&]<class Real>(AttributedRow<Real>& row) {
    const std::vector<Real> x = scores_by(row, usual_score);
    finish_attributed(row, x);
    const Real m = row.sink ? std::max(largest(x), *row.sink) : largest(x);
    if (!std::isfinite(m)) return;
    Real sum = row.sink ? std::exp(*row.sink - m) : 0;
    std::vector<Real> p;
    for (const Real score : x) sum += p.emplace_back(score == lowest<Real> ? 0 : std::exp(score - m));
    for (Real& weight : p) weight /= sum;
    change(row, p);
    std::ranges::fill(row.out, Real(0));
    for (std::size_t n = 0; n < row.values.size(); ++n) {
      const std::size_t key = n / row.out.size();
      if (x[key] != lowest<Real>) row.out[n % row.out.size()] += p[key] * row.values[n];
    }
  });
}

/// Attention with the scores score_of(row, j).
template <class Score>
int attend_by_scores(const softcheck_call* call, Score score_of) {
  return attend_attributed(
      call, [&]<class Real>(AttributedRow<Real>& row) { finish_attributed(row, scores_by(row, score_of)); });
}

/// Attention whose visible scores are softcap(row, the score before it), if the call has a softcap.
template <class Softcap>
int attend_by_softcap(const softcheck_call* call, Softcap softcap) {
  return attend_by_scores(call, [&]<class Real>(const AttributedRow<Real>& row, std::size_t j) {
    const Real x = score<Real>(row, j);
    if (row.visible[j] == 0 || row.softcap == 0) return attributed_score(row, j);
    return softcap(row, x) + shift(row, j);
  });
}

/// Correct attention of a call that change has changed.
template <class Change>
int attend_changed(const softcheck_call* call, Change change) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        drop(row);
        finish_attributed(row, scores_by(row, usual_score));
      },
      change);
}

}  // namespace softcheck::kernels::zoo::attention

#define SOFTCHECK_BODY_attend_attributed(name) SOFTCHECK_BODY(void, name, AttributedRow<Real>& row)
#define SOFTCHECK_BODY_attend_changed_attributed_rows(name) SOFTCHECK_BODY(void, name, AttributedRow<Real>& row)
#define SOFTCHECK_BODY_attend_changed_weights(name) \
  SOFTCHECK_BODY(void, name, AttributedRow<Real>& row, std::vector<Real>& p)
#define SOFTCHECK_BODY_attend_by_scores(name) SOFTCHECK_BODY(Real, name, const AttributedRow<Real>& row, std::size_t j)
#define SOFTCHECK_BODY_attend_by_softcap(name) SOFTCHECK_BODY(Real, name, const AttributedRow<Real>& row, Real x)
#define SOFTCHECK_BODY_attend_changed(name) SOFTCHECK_CALL_BODY(void, name, [[maybe_unused]] AttributedCall& a)
