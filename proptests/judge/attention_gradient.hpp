#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "proptests/judge/attention_judge.hpp"

namespace softcheck::proptests {

/// The queries of all heads that look at one key head, and its keys and values.
struct GradientGroup {
  std::size_t keys = 0;                   // n
  std::vector<AttentionRow> rows;         // (m) they share keys (n, d) and values (n, dv)
  std::span<const double> out_gradients;  // (m, dv)
  std::vector<bool> chosen;               // (m) the queries that are judged; none: all
};

/// A kernel's results for them.
struct GradientValues {
  std::span<const double> queries;  // (m, d)
  std::span<const double> keys;     // (n, d)
  std::span<const double> values;   // (n, dv)
};

/// Judges dq of the chosen queries, and dk and dv of the keys that only chosen queries see, by B17
/// (docs/tolerances/attention_backward.md). The kernel was given the exact output in the input's format and the exact
/// log-sum-exp in that of task.scalars, each rounded. Long double with certified errors decides nearly all values;
/// enclosures decide the others.
///
/// Claims: the op's three, of dq, dk and dv; kernel.masked_row for a query that sees no key, and a key that no query
/// sees: their gradients are 0.
void judge_attention_gradient(const AttentionTask& task, const GradientGroup& group, const GradientValues& got,
                              const std::function<void(std::size_t query, RowVerdicts verdicts)>& of_query,
                              const std::function<void(std::size_t key, RowVerdicts verdicts)>& of_key);

}  // namespace softcheck::proptests
