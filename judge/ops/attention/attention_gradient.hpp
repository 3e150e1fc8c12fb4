#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/attention/query_gradient.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// The queries that use one key head (all of them if its keys are judged), with its keys and values.
struct GradientGroup {
  std::size_t keys = 0;                   // n
  std::vector<AttentionRow> rows;         // (m) share keys (n, d) and values (n, dv)
  std::span<const double> out_gradients;  // (m, dv)
  std::span<const double> lse_gradients;  // (m) by the log-sum-exps, or empty
  std::vector<bool> chosen;               // (m) the judged queries; empty: all
  std::size_t own_keys = 0;               // number of leading keys that exist: a call's sequence may have fewer
  std::vector<bool> absent;               // (m) queries beyond their sequence's end; empty: none
  // What the kernel read of the forward pass.
  SavedForward::Kind saved = SavedForward::Kind::exact;
  std::span<const double> saved_out;  // (m, dv), for `given`
  std::span<const double> saved_lse;  // (m)
};

/// The queries of batch b that use key head kv. The result points into the case.
///
/// chosen   for head h, query i; empty: all
GradientGroup gradient_group(const AttentionCase& attention, std::size_t b, std::size_t kv,
                             const std::function<bool(std::size_t h, std::size_t i)>& chosen = {});

/// The same for the queries of head h alone.
GradientGroup head_queries(const AttentionCase& attention, std::size_t b, std::size_t h,
                           const std::function<bool(std::size_t h, std::size_t i)>& chosen = {});

/// dq, dk and dv, in the order of the op's outputs and claims.
enum class GradientPart : std::size_t { queries, keys, values };

/// A kernel's results for the parts.
struct GradientValues {
  std::span<const double> queries;  // (m, d)
  std::span<const double> keys;     // (n, d)
  std::span<const double> values;   // (n, dv), or empty: not judged
};

/// Judges dq of the chosen queries, and dk and dv of the keys that only chosen queries see, by B17
/// (docs/tolerances/attention_backward.md). The output that the kernel read has the input's format, and the log-sum-exp
/// the format task.scalars; group.saved says where they came from. Long double with certified errors decides nearly all
/// values, enclosures the rest.
///
/// Claims: the op's three, for dq, dk and dv; kernel.masked_row for a query that sees no key, and for a key that no
/// query sees: their gradients are 0.
void judge_attention_gradient(const AttentionTask& task, const GradientGroup& group, const GradientValues& got,
                              const std::function<void(std::size_t query, RowVerdicts verdicts)>& of_query,
                              const std::function<void(std::size_t key, RowVerdicts verdicts)>& of_key);

/// The exact values of a part, row-major, each between two doubles at most four doubles apart, except if terms cancel
/// beyond 512 bits. NaN if a query that was not chosen contributes.
void exact_attention_gradient(const AttentionTask& task, const GradientGroup& group, GradientPart part,
                              std::span<double> lower, std::span<double> upper);

/// The thresholds of these values: 0 if a value must be 0, infinite if nothing is promised, NaN as above.
void granted_attention_gradient(const AttentionTask& task, const GradientGroup& group, GradientPart part,
                                std::span<double> allowed);

}  // namespace softcheck::proptests
