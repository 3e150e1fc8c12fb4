#pragma once

// Attention of a query by a block of threads, without a matrix of scores: the online softmax, which also streams the
// entropy, as in Appendix G of the paper.
//
// Keys pass in tiles, one key a thread. Each thread holds (GivenOutput)
//
//     m   the largest score so far, the same in all threads      maximum
//     L   sum e^(x - m) over its own keys                         sums.weights
//     T   sum (m - x) e^(x - m) over them, Appendix G's -K        sums.deviations
//     o   sum e^(x - m) v over all keys, in its own columns       out
//
// A tile with a larger maximum m' rescales them by c = e^(m - m') (GivenOutput::raise):
//
//     T <- c (T + (m' - m) L)      L <- c L      o <- c o
//
// Then a score x of weight w = e^(x - m) adds to them (attend):
//
//     L <- L + w      T <- T + (m - x) w      o <- o + w v
//
// After the last tile the block adds its threads' L and T (write_query), and
//
//     out = o / L      lse = m + ln L      H = ln L + T / L   (nats)
//
// All terms of L and T are at least 0 and L is at least 1: nothing cancels, not in H either. A masked key has no weight
// and is skipped, and a query whose keys are all masked keeps m = -inf: no -inf is subtracted from another.
//
// Adaptive temperature needs H before the first weight. A first pass over the keys finds m and H (row_statistics), and
// beta = beta(H). The second pass weighs by w = e^(beta (x - m)); m is final, so that nothing is rescaled.
//
// L, T and o are compensated sums. B9 of docs/tolerances.md bounds the errors of out, lse and H, plain and adaptive,
// with sum=lanes:128; docs/kernels/gpu_kernels.md explains why the kernel keeps that contract.

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/block/attention_arguments.hpp"
#include "kernels/block/entropy.hpp"

namespace softcheck::kernels {

/// Threads of a block of the attention kernels. The bits of a query depend on it, so every machine has the same number.
inline constexpr int attention_threads = 128;
/// Columns of the output that a thread holds: column rank and column rank + attention_threads. value_dim is therefore
/// at most 256.
inline constexpr int given_columns = 2;

/// L and T of a thread, a block or a part of the keys, relative to a maximum that is stored separately. Unlike
/// RowStatistics, weights has the maximum's own weight too.
template <class T>
struct WeightSums {
  CompensatedSum<T> weights;
  CompensatedSum<T> deviations;
};

/// The sums of two sets of keys with one maximum, as the function that merged_by_block() takes.
template <class T>
struct MergedWeightSums {
  SOFTCHECK_BODY WeightSums<T> operator()(WeightSums<T> left, const WeightSums<T>& right) const {
    left.weights.add(right.weights);
    left.deviations.add(right.deviations);
    return left;
  }
};

/// The larger of two numbers, as a function for merged_by_block(). It is NaN if either is NaN, as only then neither
/// comparison holds.
template <class T>
struct Larger {
  SOFTCHECK_BODY T operator()(T left, T right) const {
    return left >= right ? left : left < right ? right : left + right;
  }
};

/// Shared memory of a block of the attention kernels, attention_bytes<T>(dim) in all. Every thread of the block
/// constructs it.
template <BlockContext B, class T>
struct AttentionMemory {
  template <class U>
  using Shared = typename B::template Shared<U>;

  Shared<RowStatistics<T>> statistics;  // one a warp, for merged_by_block; so are the next two
  Shared<WeightSums<T>> sums;
  Shared<T> maxima;
  Shared<T> weights;  // one a thread: the weights of a tile's keys, or the factors of the parts
  Shared<T> query;    // (dim)

  SOFTCHECK_BODY AttentionMemory(B& block, std::int64_t dim)
      : statistics(block.template shared<RowStatistics<T>>(block.size() / warp_size)),
        sums(block.template shared<WeightSums<T>>(block.size() / warp_size)),
        maxima(block.template shared<T>(block.size() / warp_size)),
        weights(block.template shared<T>(block.size())),
        query(block.template shared<T>(dim)) {}
};

/// Bytes of AttentionMemory: the launcher gives a block this much shared memory.
template <class T>
constexpr std::size_t attention_bytes(std::int64_t dim) {
  return merging_bytes<RowStatistics<T>>(attention_threads) + merging_bytes<WeightSums<T>>(attention_threads) +
         merging_bytes<T>(attention_threads) + (attention_threads + static_cast<std::size_t>(dim)) * sizeof(T);
}

/// Stores the query, widened, in shared memory. All threads of the block call it; the barrier at its end lets all read
/// the query.
///
/// to   (dim); no thread may still read the query before
template <BlockContext B, class Scores, class Shared>
SOFTCHECK_BODY void load_query(B& block, const Scores& scores, const Shared& to) {
  for (std::int64_t i = block.rank(); i < scores.arguments.dim; i += block.size()) {
    to.store(i, widened(scores.arguments.q.load(scores.batch, scores.head, scores.query, i)));
  }
  block.sync();
}

/// The registers of one thread while its block goes through a query's keys: m, L, T and o of the head of this file.
template <class T>
struct GivenOutput {
  T maximum = minus_infinity<T>();            // the same in every thread
  WeightSums<T> sums = {{0, 0}, {0, 0}};      // of the keys that this thread weighed
  CompensatedSum<T> out[given_columns] = {};  // of all keys, in the thread's columns

  /// Makes the sums relative to a larger maximum, by the rescaling of the head of this file. NaN as the new maximum is
  /// allowed: the sums are then not used any more.
  SOFTCHECK_BODY void raise(T larger) {
    const ExponentialParts<T> factor = exponential_parts(maximum - larger);
    if (factor.value > T(0)) sums.deviations.add((larger - maximum) * sums.weights.total());
    sums.weights.scale(factor);
    sums.deviations.scale(factor);
    for (CompensatedSum<T>& column : out) column.scale(factor);
    maximum = larger;
  }
};

/// Takes the keys of a query in tiles of block.size(). In each tile, every thread scores one key and weighs it by w =
/// exp(beta (x - maximum)); after a barrier every thread adds w v of all the tile's keys, in order, to its columns. All
/// threads of the block call it.
///
/// maximum_known   the caller has set held.maximum, finite, to the largest score. Otherwise it rises tile by tile and
///                 beta is 1; if a score is NaN or +inf, all threads return with a maximum that is not below +inf.
/// scores          QueryScores or PartScores
template <bool maximum_known, BlockContext B, class Scores, class T>
SOFTCHECK_BODY void attend(B& block, const Scores& scores, const AttentionMemory<B, T>& memory, T beta,
                           std::int64_t value_dim, GivenOutput<T>& held) {
  for (std::int64_t begin = 0; begin < scores.columns; begin += block.size()) {
    const T x = scores.visible(begin + block.rank());
    if constexpr (!maximum_known) {
      const T largest = merged_by_block(block, memory.maxima, x, minus_infinity<T>(), Larger<T>());
      if (!(largest <= held.maximum)) held.raise(largest);
      // The maximum is the same in every thread, so all threads return here or none does.
      if (!(held.maximum < std::numeric_limits<T>::infinity())) return;
    }
    T weight = -1;  // marks a hidden key: no thread reads its value
    if (x > minus_infinity<T>()) {
      const T z = (x - held.maximum) * beta;
      weight = exponential(z);
      held.sums.weights.add(weight);
      if (weight > T(0)) held.sums.deviations.add(weight * -z);
    }
    memory.weights.store(block.rank(), weight);
    block.sync();
    const std::int64_t left = scores.columns - begin;
    const int keys = static_cast<int>(left < block.size() ? left : block.size());
    for (int c = 0; c < given_columns; ++c) {
      const std::int64_t column = block.rank() + std::int64_t{c} * block.size();
      if (column >= value_dim) continue;
      for (int key = 0; key < keys; ++key) {
        const T w = memory.weights.load(key);
        if (w >= T(0)) held.out[c].add(w * scores.value(begin + key, column));
      }
    }
    block.sync();  // the weights are free again
  }
}

/// The numbers of a query: log-sum-exp (of beta times the scores) and entropy in nats, and the largest score.
struct QueryScalars {
  double lse, entropy, maximum;
};

/// lse = beta m + ln L, H = ln L + T / L and m, in double. They are -inf, 0 and -inf if the query sees no key, and NaN
/// if a score is NaN or +inf.
///
/// sums      L and T over all of the query's keys at beta, D = beta (m - x), relative to largest
/// largest   m
/// error     B5 and B6 of docs/tolerances.md, and the scores' errors (B9)
template <class T>
SOFTCHECK_BODY QueryScalars query_scalars(const WeightSums<T>& sums, T largest, T beta) {
  constexpr double nan = not_a_number<double>(), none = minus_infinity<double>();
  if (!(largest < std::numeric_limits<T>::infinity())) return {nan, nan, nan};
  if (largest == minus_infinity<T>()) return {none, 0, none};
  RowStatistics<T> row = no_items<T>();
  row.weights = sums.weights;
  row.weights.add(T(-1));
  row.deviations = sums.deviations;
  const double maximum = static_cast<double>(largest) + 0.0;  // 0 without a sign, as of StatisticsResults
  return {static_cast<double>(beta) * maximum + logarithm_of_sum(row), entropy_of(row), maximum};
}

/// Writes lse, entropy and largest score of a query (query_scalars), as far as the call has them. One thread calls it.
template <class Arguments, class T>
SOFTCHECK_BODY void write_scalars(const Arguments& to, std::int64_t batch, std::int64_t head, std::int64_t query,
                                  const WeightSums<T>& sums, T largest, T beta) {
  const QueryScalars scalars = query_scalars(sums, largest, beta);
  to.lse.store_wide(batch, head, query, scalars.lse);
  to.entropy.store_wide(batch, head, query, scalars.entropy);
  to.maximum.store_wide(batch, head, query, scalars.maximum);
}

/// Adds the threads' sums and writes the query's results: out = o / L by each thread in its columns, the numbers of the
/// query by thread 0. All threads of the block call it. A query that sees no key gets out 0, lse -inf and entropy 0; a
/// query with a score of NaN or +inf gets NaN everywhere.
template <BlockContext B, class Element, class Result, class T>
SOFTCHECK_BODY void write_query(B& block, const QueryScores<B, Element, Result>& scores,
                                const AttentionMemory<B, T>& memory, T beta, T largest, GivenOutput<T>& held) {
  const AttentionArguments<B, Element, Result>& to = scores.arguments;
  held.sums = merged_by_block(block, memory.sums, held.sums, WeightSums<T>{{0, 0}, {0, 0}}, MergedWeightSums<T>());
  const bool empty = largest == minus_infinity<T>();
  const bool defined = empty || largest < std::numeric_limits<T>::infinity();
  const T factor = T(1) / held.sums.weights.total();
  for (int c = 0; c < given_columns; ++c) {
    const std::int64_t column = block.rank() + std::int64_t{c} * block.size();
    if (column >= to.value_dim) continue;
    T result = empty ? T(0) : held.out[c].total() * factor;
    if (!defined) result = not_a_number<T>();
    to.out.store(scores.batch, scores.head, scores.query, column, narrowed<Element>(result));
  }
  if (block.rank() == 0) {
    write_scalars(to, scores.batch, scores.head, scores.query, held.sums, largest, beta);
  }
}

/// Attention, one query at a time by a block, in O(dim) memory: out = softmax(scale q k^T) v, and lse, entropy and
/// largest score as far as the call has them. adaptive: out = softmax(beta(H) scale q k^T) v, with H the
/// entropy at beta = 1 by a first pass over the keys; lse and entropy are those at beta, the largest score is without
/// beta.
///
/// arguments       value_dim <= given_columns * block.size(); the launcher refuses more
/// error           B9 of docs/tolerances.md with sum=lanes:128, for all results, plain and adaptive
/// shared memory   attention_bytes<T>(dim)
template <bool adaptive, BlockContext B, class Element, class Result>
SOFTCHECK_BODY void attention_body(B& block, const AttentionArguments<B, Element, Result>& arguments) {
  using T = Accumulator<Element>;
  const AttentionMemory<B, T> memory(block, arguments.dim);
  const std::int64_t items = arguments.batch * arguments.heads * arguments.queries;
  for (std::int64_t item = block.index(); item < items; item += block.count()) {
    const QueryScores<B, Element, Result> scores(arguments, memory.query, item);
    if (!scores.inside) continue;
    load_query(block, scores, memory.query);
    GivenOutput<T> held;
    T beta = 1;
    if constexpr (adaptive) {
      const RowStatistics<T> all = row_statistics<Moments::deviations>(block, scores, memory.statistics, T(1));
      held.maximum = all.maximum;
      if (all.maximum > minus_infinity<T>()) {
        beta = static_cast<T>(arithmetic::adaptive_beta(entropy_of(all)));
        attend<true>(block, scores, memory, beta, arguments.value_dim, held);
      }
    } else {
      attend<false>(block, scores, memory, beta, arguments.value_dim, held);
    }
    write_query(block, scores, memory, beta, held.maximum, held);
    block.sync();  // the query is free again
  }
}

}  // namespace softcheck::kernels
