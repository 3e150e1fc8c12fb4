#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/attention/query_gradient.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// The queries of some heads that look at one key head, all of them where its keys are judged, and its keys and values.
struct GradientGroup {
  std::size_t keys = 0;                   // n
  std::vector<AttentionRow> rows;         // (m) they share keys (n, d) and values (n, dv)
  std::span<const double> out_gradients;  // (m, dv)
  std::span<const double> lse_gradients;  // (m) by the log-sum-exps, or none
  std::vector<bool> chosen;               // (m) the queries that are judged; none: all
  std::size_t own_keys = 0;               // the first ones: a sequence of a call may have fewer
  std::vector<bool> absent;               // (m) the queries behind the end of their sequence; none: all are there
  // What the kernel read of the forward pass.
  SavedForward::Kind saved = SavedForward::Kind::exact;
  std::span<const double> saved_out;  // (m, dv), of `given`
  std::span<const double> saved_lse;  // (m)
};

/// The queries of the case's batch b that look at its key head kv. It points into the case.
///
/// chosen   of head h, query i; empty: all
GradientGroup gradient_group(const AttentionCase& attention, std::size_t b, std::size_t kv,
                             const std::function<bool(std::size_t h, std::size_t i)>& chosen = {});

/// The queries of head h in batch b alone.
GradientGroup head_queries(const AttentionCase& attention, std::size_t b, std::size_t h,
                           const std::function<bool(std::size_t h, std::size_t i)>& chosen = {});

/// dq, dk and dv, in the order of the op's outputs and claims.
enum class GradientPart : std::size_t { queries, keys, values };

/// A kernel's results for them.
struct GradientValues {
  std::span<const double> queries;  // (m, d)
  std::span<const double> keys;     // (n, d)
  std::span<const double> values;   // (n, dv)
};

/// Judges dq of the chosen queries, and dk and dv of the keys that only chosen queries see, by B17
/// (docs/tolerances/attention_backward.md). The output that the kernel read has the input's format, and the log-sum-exp
/// that of task.scalars; group.saved says which they were. Long double with certified errors decides nearly all values;
/// enclosures decide the others.
///
/// Claims: the op's three, of dq, dk and dv; kernel.masked_row for a query that sees no key, and a key that no query
/// sees: their gradients are 0.
void judge_attention_gradient(const AttentionTask& task, const GradientGroup& group, const GradientValues& got,
                              const std::function<void(std::size_t query, RowVerdicts verdicts)>& of_query,
                              const std::function<void(std::size_t key, RowVerdicts verdicts)>& of_key);

/// The exact values of a part, row-major: at most four doubles apart, but where terms cancel beyond 512 bits. NaN where
/// a query that is not chosen has a share in them.
void exact_attention_gradient(const AttentionTask& task, const GradientGroup& group, GradientPart part,
                              std::span<double> lower, std::span<double> upper);

/// What the contract grants each of them: 0 where a value must be 0, infinite where nothing is promised, NaN as above.
void granted_attention_gradient(const AttentionTask& task, const GradientGroup& group, GradientPart part,
                                std::span<double> allowed);

}  // namespace softcheck::proptests
