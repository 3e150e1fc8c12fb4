#pragma once

#include "kernels/block/attention.hpp"
#include "kernels/block/score_gradient.hpp"

namespace softcheck::kernels {

/// The arguments of the backward bodies. The launcher runs query_backward_body first, then, where of_keys is true,
/// key_backward_body.
///
/// forward      q, k, v, mask and numbers of the forward call; its out, lse, entropy and maximum are not used
/// d_out        dL/d(out), (batch, heads, queries, value_dim)
/// dq, dk, dv   like q, k and v; dk and dv without elements if the call lacks them
/// queries      (batch, heads, queries) in global memory, which the launcher allocates: the first body writes them, the
///              second one reads them
template <BlockContext B, class Element>
struct GradientArguments {
  template <class T>
  using Global = typename B::template Global<T>;

  AttentionArguments<B, Element, Element> forward;
  Tensor4<Global<const Element>> d_out;
  Tensor4<Global<Element>> dq, dk, dv;
  Global<QueryGradient<Accumulator<Element>>> queries;
  bool of_keys = true;  // whether the call has dk
};

/// Shared memory of a block of the backward bodies, gradient_bytes<T>(dim, value_dim) in all. Every thread of the block
/// constructs it.
template <BlockContext B, class T>
struct GradientMemory {
  template <class U>
  using Shared = typename B::template Shared<U>;

  Shared<RowStatistics<T>> statistics;  // one a warp, for merged_by_block; so is the next
  Shared<GradientSums<T>> sums;
  Shared<ScoreGradient<T>> scores;  // one a thread: of the key, or the query, that the thread has computed
  Shared<T> first, second;          // (dim), (value_dim): a query and its d_out, or a key and its value

  SOFTCHECK_BODY GradientMemory(B& block, std::int64_t dim, std::int64_t value_dim)
      : statistics(block.template shared<RowStatistics<T>>(block.size() / warp_size)),
        sums(block.template shared<GradientSums<T>>(block.size() / warp_size)),
        scores(block.template shared<ScoreGradient<T>>(block.size())),
        first(block.template shared<T>(dim)),
        second(block.template shared<T>(value_dim)) {}
};

/// Bytes of GradientMemory: the launcher gives a block this much shared memory.
template <class T>
constexpr std::size_t gradient_bytes(std::int64_t dim, std::int64_t value_dim) {
  return merging_bytes<RowStatistics<T>>(attention_threads) + merging_bytes<GradientSums<T>>(attention_threads) +
         attention_threads * sizeof(ScoreGradient<T>) + static_cast<std::size_t>(dim + value_dim) * sizeof(T);
}

/// Stores row (i, j, k) of a tensor, count elements, widened, in shared memory. All threads of the block call it, and
/// the caller calls sync() before any thread reads the row.
template <BlockContext B, class Tensor, class Shared>
SOFTCHECK_BODY void load_widened(B& block, const Tensor& from, std::int64_t i, std::int64_t j, std::int64_t k,
                                 std::int64_t count, const Shared& to) {
  for (std::int64_t c = block.rank(); c < count; c += block.size()) to.store(c, widened(from.load(i, j, k, c)));
}

/// The product of a row in shared memory with row (i, j, k) of a tensor, over count elements, by one fma for each
/// element, in order. One thread computes it.
template <class Tensor, class Shared>
SOFTCHECK_BODY auto dot_with(const Shared& first, const Tensor& from, std::int64_t i, std::int64_t j, std::int64_t k,
                             std::int64_t count) {
  decltype(first.load(0)) dot = 0;
  for (std::int64_t c = 0; c < count; ++c) dot = fused(first.load(c), widened(from.load(i, j, k, c)), dot);
  return dot;
}

/// The columns rank and rank + block.size() of a gradient's row, which one thread adds up.
template <class T>
struct RegisterColumns {
  CompensatedSum<T> sums[given_columns] = {};

  /// Adds weight times row (i, j, k) of a tensor, in this thread's columns.
  template <BlockContext B, class Tensor>
  SOFTCHECK_BODY void add(B& block, T weight, const Tensor& from, std::int64_t i, std::int64_t j, std::int64_t k,
                          std::int64_t columns) {
    for (int c = 0; c < given_columns; ++c) {
      const std::int64_t column = block.rank() + std::int64_t{c} * block.size();
      if (column < columns) sums[c].add(weight * widened(from.load(i, j, k, column)));
    }
  }
  /// Writes the sums times factor as row (i, j, k) of a tensor, in this thread's columns.
  template <class Element, BlockContext B, class Tensor>
  SOFTCHECK_BODY void write(B& block, T factor, const Tensor& to, std::int64_t i, std::int64_t j, std::int64_t k,
                            std::int64_t columns) const {
    for (int c = 0; c < given_columns; ++c) {
      const std::int64_t column = block.rank() + std::int64_t{c} * block.size();
      if (column < columns) to.store(i, j, k, column, narrowed<Element>(sums[c].total() * factor));
    }
  }
};

/// The QueryGradient of a query, by two reads of the keys and one of the values, returned to every thread. All threads
/// of the block call it, when memory.first holds the query and memory.second its d_out.
template <bool adaptive, BlockContext B, class Element>
SOFTCHECK_BODY QueryGradient<Accumulator<Element>> query_gradient(
    B& block, const GradientArguments<B, Element>& arguments, const QueryScores<B, Element, Element>& scores,
    const GradientMemory<B, Accumulator<Element>>& memory) {
  using T = Accumulator<Element>;
  const RowStatistics<T> all = row_statistics<Moments::deviations>(block, scores, memory.statistics, T(1));
  QueryGradient<T> of = {all.maximum, 1, 0, 0, 0, 0, 0};
  // All threads of the block take the same branch, so that barriers may follow.
  if (!(all.maximum > minus_infinity<T>())) return of;
  arithmetic::AdaptiveBeta beta = {1, 0};
  if constexpr (adaptive) beta = arithmetic::adaptive_beta_and_slope(entropy_of(all));
  of.beta = static_cast<T>(beta.value);
  GradientSums<T> own = {};
  for (std::int64_t key = block.rank(); key < scores.columns; key += block.size()) {
    const T x = scores.visible(key);
    if (!(x > minus_infinity<T>())) continue;
    add_gradient<adaptive>(own, of, x,
                           dot_with(memory.second, arguments.forward.v, scores.batch, scores.key_head,
                                    scores.first_key + key, arguments.forward.value_dim));
  }
  own = merged_by_block(block, memory.sums, own, GradientSums<T>{}, MergedGradientSums<T>());
  complete<adaptive>(of, all, own, beta.slope);
  return of;
}

/// Writes dq = scale sum dL/dx_j k_j, and the QueryGradient of each query into arguments.queries, one query at a time
/// by a block. It reads the keys three times and uses no atomics, so that the bits depend only on the call.
///
/// arguments       dim <= given_columns * block.size(); the launcher refuses more
/// results         dq 0 if the query sees no key, NaN if a score is NaN or +inf
/// error           every sum is compensated; docs/tolerances/attention_gradient.md has the formula's bound
/// shared memory   gradient_bytes<T>(dim, value_dim)
template <bool adaptive, BlockContext B, class Element>
SOFTCHECK_BODY void query_backward_body(B& block, const GradientArguments<B, Element>& arguments) {
  using T = Accumulator<Element>;
  const AttentionArguments<B, Element, Element>& from = arguments.forward;
  const GradientMemory<B, T> memory(block, from.dim, from.value_dim);
  const std::int64_t items = from.batch * from.heads * from.queries;
  for (std::int64_t item = block.index(); item < items; item += block.count()) {
    const QueryScores<B, Element, Element> scores(from, memory.first, item);
    if (!scores.inside) continue;
    load_widened(block, from.q, scores.batch, scores.head, scores.query, from.dim, memory.first);
    load_widened(block, arguments.d_out, scores.batch, scores.head, scores.query, from.value_dim, memory.second);
    block.sync();
    const QueryGradient<T> of = query_gradient<adaptive>(block, arguments, scores, memory);
    if (block.rank() == 0) arguments.queries.store(item, of);
    RegisterColumns<T> held;
    for (std::int64_t begin = 0; begin < scores.columns; begin += block.size()) {
      const std::int64_t own = begin + block.rank();
      const T x = scores.visible(own);
      ScoreGradient<T> gradient = {-1, 0};
      // A score of NaN belongs to a visible key: its gradient is NaN.
      if (!(x == minus_infinity<T>())) {
        gradient = score_gradient<adaptive>(
            of, x,
            dot_with(memory.second, from.v, scores.batch, scores.key_head, scores.first_key + own, from.value_dim));
      }
      memory.scores.store(block.rank(), gradient);
      block.sync();
      const std::int64_t left = scores.columns - begin;
      for (int key = 0; key < (left < block.size() ? left : block.size()); ++key) {
        const ScoreGradient<T> other = memory.scores.load(key);
        if (other.weight < T(0)) continue;
        held.add(block, other.slope, from.k, scores.batch, scores.key_head, scores.first_key + begin + key, from.dim);
      }
      block.sync();  // the scores are free again
    }
    held.template write<Element>(block, from.scale, arguments.dq, scores.batch, scores.head, scores.query, from.dim);
    block.sync();  // the query is free again
  }
}

/// Writes dk = scale sum dL/dx q and dv = sum p d_out, one key at a time by a block, after query_backward_body has
/// written arguments.queries. The sums go over the queries that see the key, 128 at a time, head by head of the key's
/// group. It uses no atomics. Errors and shared memory are those of query_backward_body; dim and value_dim <=
/// given_columns * block.size().
template <bool adaptive, BlockContext B, class Element>
SOFTCHECK_BODY void key_backward_body(B& block, const GradientArguments<B, Element>& arguments) {
  using T = Accumulator<Element>;
  const AttentionArguments<B, Element, Element>& from = arguments.forward;
  const GradientMemory<B, T> memory(block, from.dim, from.value_dim);
  const std::int64_t items = from.batch * from.key_heads * from.keys, group = from.heads / from.key_heads;
  for (std::int64_t item = block.index(); item < items; item += block.count()) {
    const std::int64_t key = item % from.keys, key_head = item / from.keys % from.key_heads;
    const std::int64_t batch = item / from.keys / from.key_heads;
    const SequencePlaces of = from.sequence_of_key(key);
    if (key < of.first_key || key >= of.key_end) continue;
    load_widened(block, from.k, batch, key_head, key, from.dim, memory.first);
    load_widened(block, from.v, batch, key_head, key, from.value_dim, memory.second);
    block.sync();
    RegisterColumns<T> of_key, of_value;
    const std::int64_t seen_from = key - of.key_end + of.query_end;
    const std::int64_t first = from.causal && seen_from > of.first_query ? seen_from : of.first_query;
    for (std::int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
      for (std::int64_t begin = first; begin < of.query_end; begin += block.size()) {
        const std::int64_t query = begin + block.rank();
        ScoreGradient<T> gradient = {-1, 0};
        if (query < of.query_end && (!from.masked || from.mask.load(batch, head, query, key) != 0)) {
          const T x = dot_with(memory.first, from.q, batch, head, query, from.dim) * from.scale;
          if (!(x == minus_infinity<T>())) {
            gradient =
                score_gradient<adaptive>(arguments.queries.load((batch * from.heads + head) * from.queries + query), x,
                                         dot_with(memory.second, arguments.d_out, batch, head, query, from.value_dim));
          }
        }
        memory.scores.store(block.rank(), gradient);
        block.sync();
        const std::int64_t left = of.query_end - begin;
        for (int other = 0; other < (left < block.size() ? left : block.size()); ++other) {
          const ScoreGradient<T> gradient_of = memory.scores.load(other);
          if (gradient_of.weight < T(0)) continue;
          of_key.add(block, gradient_of.slope, from.q, batch, head, begin + other, from.dim);
          of_value.add(block, gradient_of.weight, arguments.d_out, batch, head, begin + other, from.value_dim);
        }
        block.sync();  // the scores are free again
      }
    }
    of_key.template write<Element>(block, from.scale, arguments.dk, batch, key_head, key, from.dim);
    of_value.template write<Element>(block, T(1), arguments.dv, batch, key_head, key, from.value_dim);
    block.sync();  // the key is free again
  }
}

}  // namespace softcheck::kernels
