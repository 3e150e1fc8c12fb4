#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "numerics/rounding/contract.hpp"
#include "theory/level_row.hpp"
#include "theory/scalar.hpp"

namespace softcheck::theory {

/// The state of the items so far, from which their softmax entropy follows (paper, Appendix G). States are a
/// commutative monoid under merge, with the empty state as its identity. There are two scalars because an enclosure has
/// no order: logits are compared, accumulators are computed with.
///
/// With m the maximum and D_i = m - x_i: others = S - 1 = sum e^(-D_i) without one item at the maximum, so that sharp
/// rows keep the relative accuracy of their entropy; moment = T = sum D_i e^(-D_i). The paper's L is S and its K is -T.
template <OrderedScalar Logit, Scalar Accumulator>
struct EntropyState {
  std::optional<Logit> maximum = std::nullopt;  // none: nothing seen, or masked items only
  Accumulator others{0};
  Accumulator moment{0};
};

namespace streaming {

template <OrderedScalar Logit>
bool is_masked(const Logit& logit) {
  return static_cast<double>(logit) == -std::numeric_limits<double>::infinity();
}

/// larger - smaller; exact or rounded once in the accumulator.
template <Scalar Accumulator, OrderedScalar Logit>
Accumulator distance(const Logit& larger, const Logit& smaller) {
  return Accumulator(static_cast<double>(larger)) - Accumulator(static_cast<double>(smaller));
}

/// weight * value, 0 if the weight is 0: a distance that overflows to infinity has weight 0, and 0 * infinity is not
/// a number.
template <Scalar Accumulator>
Accumulator weighted(const Accumulator& weight, const Accumulator& value) {
  if constexpr (OrderedScalar<Accumulator>) {
    if (weight == Accumulator(0)) return Accumulator(0);
  }
  return weight * value;
}

}  // namespace streaming

/// count items of one logit, -inf for masked ones: the state of a leaf.
template <Scalar Accumulator, OrderedScalar Logit>
EntropyState<Logit, Accumulator> entropy_state(const Logit& logit, std::uint64_t count = 1) {
  if (count == 0 || streaming::is_masked(logit)) return {};
  return {logit, count_as<Accumulator>(count - 1), Accumulator(0)};
}

/// The state of both: with d = m_high - m_low and a = e^(-d),
///   S - 1 = others_high + a S_low,   T = T_high + a (T_low + d S_low)      (paper: K = sum c_i (K_i + (m_i - m) L_i)).
/// An empty side changes nothing. Commutative in every scalar, bit for bit.
template <OrderedScalar Logit, Scalar Accumulator>
EntropyState<Logit, Accumulator> merge(const EntropyState<Logit, Accumulator>& a,
                                       const EntropyState<Logit, Accumulator>& b) {
  // -inf - (-inf) is not a number: a fully masked first block must never reach the arithmetic.
  if (!a.maximum) return b;
  if (!b.maximum) return a;
  if (*a.maximum == *b.maximum) {
    return {a.maximum, (a.others + b.others) + Accumulator(1), a.moment + b.moment};
  }
  const bool a_is_high = *b.maximum < *a.maximum;
  const auto& high = a_is_high ? a : b;
  const auto& low = a_is_high ? b : a;
  const auto d = streaming::distance<Accumulator>(*high.maximum, *low.maximum);
  const Accumulator scale = exp(-d), low_sum = low.others + Accumulator(1);
  return {high.maximum, high.others + scale * low_sum,
          high.moment + streaming::weighted<Accumulator>(scale, low.moment + d * low_sum)};
}

/// One item more: the paper's recurrence, m' = max(m, x), L <- c L + e^(x - m'), K <- c (K + (m - m') L) + ...
template <OrderedScalar Logit, Scalar Accumulator>
EntropyState<Logit, Accumulator> push(const EntropyState<Logit, Accumulator>& state, const Logit& logit) {
  return merge(state, entropy_state<Accumulator>(logit));
}

/// H = ln S + T / S, nats: two terms >= 0, no cancellation.
/// throws   std::invalid_argument when the state is empty: nothing has no entropy
template <OrderedScalar Logit, Scalar Accumulator>
Accumulator entropy(const EntropyState<Logit, Accumulator>& state) {
  if (!state.maximum) throw std::invalid_argument("entropy: need a state of at least one visible item, got none");
  return log1p(state.others) + state.moment / (Accumulator(1) + state.others);
}

/// Entropy by two passes, the maximum first; the reference for streaming. At least one logit is visible.
template <Scalar Accumulator, OrderedScalar Logit>
Accumulator entropy_two_pass(std::span<const Logit> logits) {
  std::optional<Logit> maximum;
  for (const Logit& x : logits) {
    if (!maximum || *maximum < x) maximum = x;
  }
  if (!maximum || streaming::is_masked(*maximum)) {
    throw std::invalid_argument("entropy_two_pass: need a visible item, got none");
  }
  Accumulator sum(0), moment(0);
  for (const Logit& x : logits) {
    if (streaming::is_masked(x)) continue;
    const Accumulator d = streaming::distance<Accumulator>(*maximum, x);
    const Accumulator weight = exp(-d);
    sum = sum + weight;
    moment = moment + streaming::weighted(weight, d);
  }
  return log(sum) + moment / sum;
}

/// H = ln S - K / S about any reference point r in place of the maximum, as paper Appendix G has it about m:
/// S = sum e^(x - r), K = sum (x - r) e^(x - r). A stale or lazily updated maximum is such a point.
template <Scalar T>
T entropy_about(std::span<const Level> levels, const T& reference) {
  T sum(0), moment(0);
  for (const Level& level : levels) {
    const T distance = T(level.logit) - reference;
    const T weight = count_as<T>(level.count) * exp(distance);
    sum = sum + weight;
    moment = moment + weight * distance;
  }
  return log(sum) - moment / sum;
}

/// One merge of a tree: slots[into] = merge(slots[into], slots[from]); from is not used again.
struct MergeStep {
  std::size_t into;
  std::size_t from;
};

/// How a row is cut and its pieces merged: chunk c is [cuts[c], cuts[c + 1]), and after all steps slot 0 holds the row.
/// Every binary tree over the chunks, in every order, can be written so.
struct MergePlan {
  std::vector<std::size_t> cuts;  // 0 = first <= ... <= last = n: empty chunks are allowed
  std::vector<MergeStep> steps;   // one less than chunks

  /// Chunks of equal length (the last may be shorter), merged from left to right.
  static MergePlan chunks_of(std::size_t length, std::size_t n);
  /// throws   std::invalid_argument unless the plan is one for n items
  void require_valid(std::size_t n) const;
};

/// Streams each chunk item by item, and merges the states by the plan.
template <Scalar Accumulator>
EntropyState<double, Accumulator> streamed_state(std::span<const double> logits, const MergePlan& plan) {
  plan.require_valid(logits.size());
  std::vector<EntropyState<double, Accumulator>> slots(plan.cuts.size() - 1);
  for (std::size_t c = 0; c < slots.size(); ++c) {
    for (std::size_t i = plan.cuts[c]; i < plan.cuts[c + 1]; ++i) slots[c] = push(slots[c], logits[i]);
  }
  for (const MergeStep& step : plan.steps) slots[step.into] = merge(slots[step.into], slots[step.from]);
  return slots[0];
}

/// Rescalings on the longest path of an item through a plan: R of the rounding bounds.
std::uint64_t plan_rescalings(std::span<const double> logits, const MergePlan& plan);

/// The exact claims, by enclosures at 512 bits. A run of equal logits is one leaf, so that a long row costs only as
/// much as its runs.
///   streaming_entropy.recurrence         item by item gives the entropy of the whole row
///   streaming_entropy.reference_point    so does any other reference point in place of the running maximum
///
/// logits   (n) finite or -inf
std::vector<numerics::Certificate> certify_recurrence(std::span<const double> logits);

/// streaming_entropy.merge_associative, .merge_commutative, .identity: equality of the states of three pieces of a row.
std::vector<numerics::Certificate> certify_monoid(std::span<const double> logits);

/// streaming_entropy.every_tree: the plan's tree gives the entropy of the whole row.
std::vector<numerics::Certificate> certify_every_tree(std::span<const double> logits, const MergePlan& plan);

/// streaming_entropy.rounding_f32, .rounding_f64, .rounding_bf16: logits of that format, accumulated in float (f32,
/// bf16) or double: streamed by the plan and computed in two passes, both lie within B6 of the exact entropy
/// (numerics/rounding/rounding.hpp). Nothing is returned where B6 promises nothing.
///
/// throws   std::invalid_argument when a logit is not a number of the format, or for other formats
std::vector<numerics::Certificate> certify_streaming_rounding(std::span<const double> logits, const MergePlan& plan,
                                                              numerics::Format format);

/// B6 for entropies of a row in a format, streamed by the plan or in two passes; infinite if nothing is promised.
double streaming_error_bound(std::span<const double> logits, const MergePlan& plan, numerics::Format format);

/// |computed - H| <= bound, under the id .rounding_f32, .rounding_f64 or .rounding_bf16; violated where computed is not
/// finite.
numerics::Certificate certify_entropy_within(std::span<const double> logits, double computed, double bound,
                                             numerics::Format format);

/// The contract that streamed_state and entropy_two_pass keep for logits of a format.
numerics::Contract streaming_contract(numerics::Format format);

}  // namespace softcheck::theory
