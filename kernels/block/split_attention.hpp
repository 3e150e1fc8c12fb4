#pragma once

#include "kernels/block/attention.hpp"

// Attention for few queries and many keys. A block computes one part of a query's keys, so that a single query occupies
// many multiprocessors. The launcher runs, in this order:
//
//     part_statistics_body   (adaptive only) the statistics of each part
//     part_attention_body    L, T and o of each part, relative to the part's maximum m_i; adaptive: to that of all keys
//     merge_parts_body       m = max m_i, c_i = e^(m_i - m); L = sum c_i L_i, T = sum c_i (T_i + (m - m_i) L_i), o =
//     sum c_i
//                            o_i (Appendix G of the paper), and the results
namespace softcheck::kernels {

/// Keys of a part: a multiple of attention_threads, at least 256, and large enough that no query has more than
/// attention_threads parts. It depends only on the number of keys, and so do the bits.
constexpr std::int64_t keys_of_part(std::int64_t keys) {
  const std::int64_t widths =
      (keys + attention_threads * attention_threads - 1) / (attention_threads * attention_threads);
  return attention_threads * (widths > 2 ? widths : 2);
}
/// Parts of that many keys.
constexpr std::int64_t parts_of(std::int64_t keys) { return (keys + keys_of_part(keys) - 1) / keys_of_part(keys); }
/// The largest parts_of any number of keys up to that one.
constexpr std::int64_t most_parts(std::int64_t keys) {
  const std::int64_t widths = (keys + keys_of_part(0) - 1) / keys_of_part(0);
  return widths < attention_threads ? widths : attention_threads;
}

/// The sums over a part's keys that part_attention_body writes, relative to the part's maximum. The columns of the
/// output are stored separately (SplitArguments).
template <class T>
struct PartState {
  T maximum;
  WeightSums<T> sums;
};

/// Parts for which the launcher allocates memory, for each query: parts_of(keys), or most_parts(keys) where sequences
/// are packed, as any sequence may have up to all keys.
template <class Arguments>
constexpr std::int64_t allocated_parts(const Arguments& forward) {
  return forward.sequences == 0 ? parts_of(forward.keys) : most_parts(forward.keys);
}

/// Makes a part's sums relative to the largest score of all parts. Returns c_i, by which the caller multiplies the
/// part's columns; 0 if the part adds nothing, and its sums are then 0. The parts of adaptive attention share one
/// maximum, and the factor is 1.
template <class T>
SOFTCHECK_BODY T raise_part(PartState<T>& part, T largest) {
  const T rise = largest - part.maximum;
  const T factor = part.maximum > minus_infinity<T>() ? exponential(-rise) : T(0);
  if (factor > T(0)) {
    part.sums.deviations.add(rise * part.sums.weights.total());
    part.sums.weights.scale(factor);
    part.sums.deviations.scale(factor);
  } else {
    part.sums = {{0, 0}, {0, 0}};
  }
  return factor;
}

/// The arguments of the three bodies. The launcher allocates the last three in global memory; all queries of the call
/// are numbered from 0 to queries() - 1.
///
/// statistics   (queries, parts), for adaptive attention only
/// states       (queries, parts)
/// columns      (queries, parts, value_dim)
template <BlockContext B, class Element, class Result>
struct SplitArguments {
  using T = Accumulator<Element>;
  template <class U>
  using Global = typename B::template Global<U>;

  AttentionArguments<B, Element, Result> forward;
  Global<RowStatistics<T>> statistics;  // at beta = 1, for adaptive attention
  Global<PartState<T>> states;
  Global<CompensatedSum<T>> columns;

  /// batch * heads * queries.
  SOFTCHECK_BODY std::int64_t queries() const { return forward.batch * forward.heads * forward.queries; }
  /// allocated_parts, the stride of a query in states; the query itself may have fewer parts.
  SOFTCHECK_BODY std::int64_t parts() const { return allocated_parts(forward); }
};

/// The keys of one part that a query may see, with the members of QueryScores that row_statistics and attend use. Keys
/// are numbered from the part's first key on.
template <class Scores>
struct PartScores {
  const Scores& all;
  std::int64_t begin;
  std::int64_t columns;

  SOFTCHECK_BODY PartScores(const Scores& scores, std::int64_t part)
      : all(scores), begin(part * keys_of_part(scores.keys)) {
    const std::int64_t length = keys_of_part(scores.keys), left = scores.columns - begin;
    columns = left < 0 ? 0 : left < length ? left : length;
  }
  SOFTCHECK_BODY auto visible(std::int64_t key) const {
    return key < columns ? all.visible(begin + key) : minus_infinity<typename Scores::T>();
  }
  SOFTCHECK_BODY auto value(std::int64_t key, std::int64_t column) const { return all.value(begin + key, column); }
};

/// Writes the statistics of each part's scores at beta = 1 into arguments.statistics, one part of one query at a time
/// by a block. Shared memory of this body and of the next two: attention_bytes<T>(dim).
template <BlockContext B, class Element, class Result>
SOFTCHECK_BODY void part_statistics_body(B& block, const SplitArguments<B, Element, Result>& arguments) {
  using T = Accumulator<Element>;
  const AttentionMemory<B, T> memory(block, arguments.forward.dim);
  const std::int64_t parts = arguments.parts(), items = arguments.queries() * parts;
  for (std::int64_t item = block.index(); item < items; item += block.count()) {
    const QueryScores<B, Element, Result> scores(arguments.forward, memory.query, item / parts);
    if (!scores.inside || item % parts >= parts_of(scores.keys)) continue;
    load_query(block, scores, memory.query);
    // Every thread has read the query before the barriers of the merge. After them the next query may be loaded.
    const RowStatistics<T> all =
        row_statistics<Moments::deviations>(block, PartScores(scores, item % parts), memory.statistics, T(1));
    if (block.rank() == 0) arguments.statistics.store(item, all);
  }
}

/// The statistics of query item from those of its parts, returned to every thread of the block. Thread i brings part i,
/// and merged_by_block merges them. All threads call it.
template <BlockContext B, class Element, class Result, class T>
SOFTCHECK_BODY RowStatistics<T> merged_statistics(B& block, const SplitArguments<B, Element, Result>& arguments,
                                                  const QueryScores<B, Element, Result>& scores, std::int64_t item,
                                                  const AttentionMemory<B, T>& memory) {
  const RowStatistics<T> own = block.rank() < parts_of(scores.keys)
                                   ? arguments.statistics.load(item * arguments.parts() + block.rank())
                                   : no_items<T>();
  return merged_by_block(block, memory.statistics, own, no_items<T>(), MergedStatistics<T, Moments::deviations>{1});
}

/// Writes the state and the columns of each part, one part of one query at a time by a block. The columns are sums of w
/// v, not yet divided by L. Weights are exp(beta (x - m)): adaptive, with beta and m of all keys; otherwise beta is 1
/// and m is the part's own maximum.
template <bool adaptive, BlockContext B, class Element, class Result>
SOFTCHECK_BODY void part_attention_body(B& block, const SplitArguments<B, Element, Result>& arguments) {
  using T = Accumulator<Element>;
  const AttentionMemory<B, T> memory(block, arguments.forward.dim);
  const std::int64_t parts = arguments.parts(), items = arguments.queries() * parts;
  const std::int64_t value_dim = arguments.forward.value_dim;
  for (std::int64_t item = block.index(); item < items; item += block.count()) {
    const QueryScores<B, Element, Result> scores(arguments.forward, memory.query, item / parts);
    if (!scores.inside || item % parts >= parts_of(scores.keys)) continue;
    load_query(block, scores, memory.query);
    const PartScores part(scores, item % parts);
    GivenOutput<T> held;
    if constexpr (adaptive) {
      const RowStatistics<T> all = merged_statistics(block, arguments, scores, item / parts, memory);
      held.maximum = all.maximum;
      if (all.maximum > minus_infinity<T>()) {
        attend<true>(block, part, memory, static_cast<T>(arithmetic::adaptive_beta(entropy_of(all))), value_dim, held);
      }
    } else {
      attend<false>(block, part, memory, T(1), value_dim, held);
    }
    const WeightSums<T> sums =
        merged_by_block(block, memory.sums, held.sums, WeightSums<T>{{0, 0}, {0, 0}}, MergedWeightSums<T>());
    if (block.rank() == 0) arguments.states.store(item, {held.maximum, sums});
    for (int c = 0; c < given_columns; ++c) {
      const std::int64_t column = block.rank() + std::int64_t{c} * block.size();
      if (column < value_dim) arguments.columns.store(item * value_dim + column, held.out[c]);
    }
    block.sync();  // the query is free again
  }
}

/// Merges the parts of each query and writes its results, one query at a time by a block. L and T are added in the
/// block's tree, part i in thread i; each thread adds its columns of the output from the first part to the last.
/// Results and their errors are those of attention_body: an item is rescaled once more, and lanes:128 grants a part's
/// width more.
template <bool adaptive, BlockContext B, class Element, class Result>
SOFTCHECK_BODY void merge_parts_body(B& block, const SplitArguments<B, Element, Result>& arguments) {
  using T = Accumulator<Element>;
  const AttentionMemory<B, T> memory(block, arguments.forward.dim);
  const std::int64_t most = arguments.parts(), value_dim = arguments.forward.value_dim;
  for (std::int64_t query = block.index(); query < arguments.queries(); query += block.count()) {
    const QueryScores<B, Element, Result> scores(arguments.forward, memory.query, query);
    if (!scores.inside) continue;
    const std::int64_t parts = parts_of(scores.keys);
    T beta = 1;
    if constexpr (adaptive) {
      const RowStatistics<T> all = merged_statistics(block, arguments, scores, query, memory);
      if (all.maximum > minus_infinity<T>()) beta = static_cast<T>(arithmetic::adaptive_beta(entropy_of(all)));
    }
    GivenOutput<T> held;
    PartState<T> own = {minus_infinity<T>(), {{0, 0}, {0, 0}}};
    if (block.rank() < parts) own = arguments.states.load(query * most + block.rank());
    held.maximum = merged_by_block(block, memory.maxima, own.maximum, minus_infinity<T>(), Larger<T>());
    const T factor = raise_part(own, held.maximum);
    held.sums = own.sums;
    memory.weights.store(block.rank(), factor);
    block.sync();
    for (int c = 0; c < given_columns; ++c) {
      const std::int64_t column = block.rank() + std::int64_t{c} * block.size();
      if (column >= value_dim) continue;
      for (std::int64_t part = 0; part < parts; ++part) {
        const T of_part = memory.weights.load(part);
        if (!(of_part > T(0))) continue;
        CompensatedSum<T> sum = arguments.columns.load((query * most + part) * value_dim + column);
        sum.scale(of_part);
        held.out[c].add(sum);
      }
    }
    write_query(block, scores, memory, beta, held.maximum, held);
    block.sync();  // the next query may overwrite the factors
  }
}

}  // namespace softcheck::kernels
