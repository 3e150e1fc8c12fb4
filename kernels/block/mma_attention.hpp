#pragma once

#include "kernels/block/mma_tile.hpp"

namespace softcheck::kernels {

/// The registers of a lane for its two queries, without the output: those of GivenOutput (kernels/block/attention.hpp)
/// for each.
struct GivenRows {
  float maximum[2] = {minus_infinity<float>(), minus_infinity<float>()};  // the same in a query's four lanes
  float beta[2] = {1, 1};
  WeightSums<float> sums[2] = {};  // of the keys in this lane's entries

  /// Whether the query has a result: no score so far is NaN or +inf.
  SOFTCHECK_BODY bool defined(int half) const { return maximum[half] < std::numeric_limits<float>::infinity(); }

  /// Makes the sums of a query relative to a larger maximum. Returns the factor, by which the caller multiplies the
  /// query's outputs (scale_row).
  SOFTCHECK_BODY ExponentialParts<float> raise(int half, float larger) {
    const ExponentialParts<float> factor = exponential_parts(maximum[half] - larger);
    if (factor.value > 0) sums[half].deviations.add((larger - maximum[half]) * sums[half].weights.total());
    sums[half].weights.scale(factor);
    sums[half].deviations.scale(factor);
    maximum[half] = larger;
    return factor;
  }
};

/// Multiplies the outputs of a lane's query by value + rest of the factor: the product by rest and the fma round once
/// each.
template <int columns>
SOFTCHECK_BODY void scale_row(FragmentC (&out)[columns], int half, const ExponentialParts<float>& factor) {
  SOFTCHECK_UNROLL
  for (FragmentC& column : out) {
    SOFTCHECK_UNROLL
    for (int e = 2 * half; e < 2 * half + 2; ++e) {
      column.entry[e] = fused(column.entry[e], factor.value, column.entry[e] * factor.rest);
    }
  }
}

/// Raises the maxima of a lane's queries to the largest score of the tile, and rescales sums and out where they rise.
/// All lanes of the warp call it, x as of score_tile.
template <BlockContext B, int columns>
SOFTCHECK_BODY void raise_to_tile(B& block, const FragmentC (&x)[keys_of_tile / 8], GivenRows& held,
                                  FragmentC (&out)[columns]) {
  SOFTCHECK_UNROLL
  for (int half = 0; half < 2; ++half) {
    float largest = minus_infinity<float>();
    SOFTCHECK_UNROLL
    for (const FragmentC& scores : x) {
      largest = Larger<float>()(largest, scores.entry[2 * half]);
      largest = Larger<float>()(largest, scores.entry[2 * half + 1]);
    }
    largest = merged_by_row(block, largest, Larger<float>());
    if (!(largest <= held.maximum[half]) && held.defined(half)) scale_row(out, half, held.raise(half, largest));
  }
}

/// Replaces a tile's scores by their weights exp(beta (x - maximum)) and adds these and their deviations to the lane's
/// sums: four weights in halves, then one compensated addition. The weight is 0 of a hidden key, and in a query that
/// has no result: exponential() of -inf and of NaN is 0.
template <bool beta_is_one>
SOFTCHECK_BODY void weigh_tile(FragmentC (&x)[keys_of_tile / 8], GivenRows& held) {
  SOFTCHECK_UNROLL
  for (int half = 0; half < 2; ++half) {
    SOFTCHECK_UNROLL
    for (int n = 0; n < keys_of_tile / 8; n += 2) {
      float deviation[4], weight[4];
      SOFTCHECK_UNROLL
      for (int i = 0; i < 4; ++i) {
        float& score = x[n + i / 2].entry[2 * half + i % 2];
        float z = score - held.maximum[half];
        if constexpr (!beta_is_one) z *= held.beta[half];
        weight[i] = score = exponential(z);
        deviation[i] = weight[i] > 0 ? weight[i] * -z : 0;
      }
      held.sums[half].weights.add((weight[0] + weight[1]) + (weight[2] + weight[3]));
      held.sums[half].deviations.add((deviation[0] + deviation[1]) + (deviation[2] + deviation[3]));
    }
  }
}

/// Goes through the keys of a tile of queries: all threads load a tile of keys, then call one(x) with its scores (x as
/// of score_tile). All threads of the block call it.
///
/// queries     in shared memory, loaded before; the first barrier inside lets all threads read them
/// keys        shared memory for a tile of keys
/// by_chunks   moves_by_chunks(k, dim)
template <int width, BlockContext B, class Element, class Result, class Shared, class One>
SOFTCHECK_BODY void each_score_tile(B& block, const QueryTile<B, Element, Result>& tile, const Shared& queries,
                                    const Shared& keys, bool by_chunks, One one) {
  const AttentionArguments<B, Element, Result>& from = tile.arguments;
  for (std::int64_t begin = tile.of.first_key; begin < tile.columns; begin += keys_of_tile) {
    block.sync();  // the tile is free
    load_tile<width, keys_of_tile>(block, from.k, by_chunks, tile.batch, tile.key_head, begin, tile.of.key_end,
                                   from.dim, keys);
    block.sync();
    FragmentC x[keys_of_tile / 8];
    score_tile<width>(block, tile, queries, keys, begin, x);
    one(x);
  }
}

/// The first pass of adaptive attention: sets maximum and beta of a lane's queries, from the scores alone, and leaves
/// the sums empty. All threads of the block call it. It is the first pass of plain attention without values.
template <int width, BlockContext B, class Element, class Result, class Shared>
SOFTCHECK_BODY void find_beta(B& block, const QueryTile<B, Element, Result>& tile, const Shared& queries,
                              const Shared& keys, bool by_chunks, GivenRows& held) {
  each_score_tile<width>(block, tile, queries, keys, by_chunks, [&](FragmentC(&x)[keys_of_tile / 8]) {
    FragmentC none[1] = {};
    raise_to_tile(block, x, held, none);
    weigh_tile<true>(x, held);
  });
  SOFTCHECK_UNROLL
  for (int half = 0; half < 2; ++half) {
    const WeightSums<float> sums = merged_by_row(block, held.sums[half], MergedWeightSums<float>());
    if (held.defined(half) && held.maximum[half] > minus_infinity<float>()) {
      held.beta[half] =
          static_cast<float>(arithmetic::adaptive_beta(query_scalars(sums, held.maximum[half], 1.0F).entropy));
    }
    held.sums[half] = {{0, 0}, {0, 0}};
  }
}

/// Merges the sums of a query's four lanes and writes its results: out divided by L, each lane its entries; the numbers
/// of the query by one of the four lanes. A query that sees no key gets out 0, one without a result NaN. All lanes of
/// the warp call it.
template <int width, BlockContext B, class Element, class Result>
SOFTCHECK_BODY void write_rows(B& block, const QueryTile<B, Element, Result>& tile, const GivenRows& held,
                               const FragmentC (&out)[width / 8]) {
  const AttentionArguments<B, Element, Result>& to = tile.arguments;
  SOFTCHECK_UNROLL
  for (int half = 0; half < 2; ++half) {
    const WeightSums<float> sums = merged_by_row(block, held.sums[half], MergedWeightSums<float>());
    const std::int64_t query = tile.row(half);
    if (query >= tile.of.query_end) continue;
    const bool empty = held.maximum[half] == minus_infinity<float>();
    const float factor = 1.0F / sums.weights.total();
    SOFTCHECK_UNROLL
    for (int n = 0; n < width / 8; ++n) {
      SOFTCHECK_UNROLL
      for (int e = 2 * half; e < 2 * half + 2; ++e) {
        const int column = 8 * n + place_in_c(tile.lane, e).column;
        if (column >= to.value_dim) continue;
        float result = empty ? 0 : out[n].entry[e] * factor;
        if (!held.defined(half)) result = not_a_number<float>();
        to.out.store(tile.batch, tile.head, query, column, narrowed<Element>(result));
      }
    }
    if (tile.lane % 4 == 0) {
      write_scalars(to, tile.batch, tile.head, query, sums, held.maximum[half], held.beta[half]);
    }
  }
}

/// Whether any warp's flag is set. Every warp has stored its flag in shared memory before the last barrier.
template <class Flags>
SOFTCHECK_BODY bool any_of_block(const Flags& flags) {
  bool any = false;
  for (int warp = 0; warp < mma_threads / warp_size; ++warp) any = any || flags.load(warp) != 0;
  return any;
}

/// Attention by tensor cores, 64 queries at a time by a block: the results of attention_body, with weights rounded to
/// the values' format before the product. L and T add the weights before that rounding.
///
/// Element         Half or BFloat; width 64 or 128, at least dim and value_dim; block.size() = mma_threads
/// error           B9 of docs/tolerances.md with sum=lanes:16 and weights=f16 (or bf16) on the emulator. A tensor core
///                 truncates; its contract must be found on a GPU (docs/kernels/gpu_kernels.md).
/// shared memory   mma_bytes<width, Element>
template <bool adaptive, int width, BlockContext B, class Element, class Result>
SOFTCHECK_BODY void mma_attention_body(B& block, const AttentionArguments<B, Element, Result>& arguments) {
  const auto queries = block.template shared<Element>(queries_of_tile * tile_stride<width>);
  const auto keys = block.template shared<Element>(keys_of_tile * tile_stride<width>);
  const auto values = block.template shared<Element>(keys_of_tile * tile_stride<width>);
  const auto non_finite_of_warp = block.template shared<int>(mma_threads / warp_size);
  const bool q_by_chunks = moves_by_chunks(arguments.q, arguments.dim);
  const bool k_by_chunks = moves_by_chunks(arguments.k, arguments.dim);
  const bool v_by_chunks = moves_by_chunks(arguments.v, arguments.value_dim);
  const std::int64_t items = arguments.batch * arguments.heads * tiles_of_head(arguments);
  for (std::int64_t item = block.index(); item < items; item += block.count()) {
    const QueryTile<B, Element, Result> tile(block, arguments, item);
    block.sync();  // the queries are free
    load_tile<width, queries_of_tile>(block, arguments.q, q_by_chunks, tile.batch, tile.head, tile.begin,
                                      tile.of.query_end, arguments.dim, queries);
    GivenRows held;
    FragmentC out[width / 8] = {};
    if constexpr (adaptive) find_beta<width>(block, tile, queries, keys, k_by_chunks, held);
    for (std::int64_t begin = tile.of.first_key; begin < tile.columns; begin += keys_of_tile) {
      block.sync();  // the tiles are free
      load_tile<width, keys_of_tile>(block, arguments.k, k_by_chunks, tile.batch, tile.key_head, begin, tile.of.key_end,
                                     arguments.dim, keys);
      const bool finite = load_tile<width, keys_of_tile>(block, arguments.v, v_by_chunks, tile.batch, tile.key_head,
                                                         begin, tile.of.key_end, arguments.value_dim, values);
      const bool non_finite_here = block.any(whole_warp, !finite);
      if (block.lane() == 0) non_finite_of_warp.store(block.warp(), non_finite_here ? 1 : 0);
      block.sync();
      const bool non_finite = any_of_block(non_finite_of_warp);
      FragmentC x[keys_of_tile / 8];
      score_tile<width>(block, tile, queries, keys, begin, x);
      unsigned seen = 0;
      if (non_finite) {
        SOFTCHECK_UNROLL
        for (int i = 0; i < keys_of_tile / 2; ++i) {
          seen |= x[i / 4].entry[i % 4] > minus_infinity<float>() ? 1U << i : 0U;
        }
        block.sync();  // every warp has scored the keys: their tile may hold the marks
        split_non_finite<width>(block, values, keys);
        block.sync();
      }
      if constexpr (!adaptive) raise_to_tile(block, x, held, out);
      weigh_tile<!adaptive>(x, held);
      FragmentA<Element> weights[keys_of_tile / 16];
      as_operands(x, weights);
      add_values<width>(block, values, weights, out);
      if (non_finite) propagate_nan<width>(block, keys, seen, out);
    }
    write_rows<width>(block, tile, held, out);
  }
}

}  // namespace softcheck::kernels
