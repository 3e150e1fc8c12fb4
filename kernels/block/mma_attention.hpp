#pragma once

#include "kernels/block/mma_tile.hpp"

namespace softcheck::kernels {

/// What a lane holds of its two rows.
template <int width>
struct HeldRows {
  float maximum[2] = {minus_infinity<float>(), minus_infinity<float>()};  // the same in a row's four lanes
  float beta[2] = {1, 1};
  WeightSums<float> sums[2] = {};  // of this lane's keys
  FragmentC out[width / 8] = {};

  SOFTCHECK_BODY bool defined(int half) const { return maximum[half] < std::numeric_limits<float>::infinity(); }

  SOFTCHECK_BODY void raise(int half, float larger) {
    const float factor = exponential(maximum[half] - larger);
    if (factor > 0) sums[half].deviations.add((larger - maximum[half]) * sums[half].weights.total());
    sums[half].weights.scale(factor);
    sums[half].deviations.scale(factor);
    SOFTCHECK_UNROLL
    for (FragmentC& columns : out) {
      columns.entry[2 * half] *= factor;
      columns.entry[2 * half + 1] *= factor;
    }
    maximum[half] = larger;
  }
};

/// Weighs the scores of a tile: x becomes the weights, seen tells which keys a row sees.
template <bool maximum_known, int width, BlockContext B>
SOFTCHECK_BODY void weigh_tile(B& block, FragmentC (&x)[keys_of_tile / 8], HeldRows<width>& held) {
  SOFTCHECK_UNROLL
  for (int half = 0; half < 2; ++half) {
    if constexpr (!maximum_known) {
      float largest = minus_infinity<float>();
      SOFTCHECK_UNROLL
      for (const FragmentC& scores : x) {
        largest = Larger<float>()(largest, scores.entry[2 * half]);
        largest = Larger<float>()(largest, scores.entry[2 * half + 1]);
      }
      largest = merged_by_row(block, largest, Larger<float>());
      if (!(largest <= held.maximum[half]) && held.defined(half)) held.raise(half, largest);
    }
    SOFTCHECK_UNROLL
    for (FragmentC& scores : x) {
      SOFTCHECK_UNROLL
      for (int e = 2 * half; e < 2 * half + 2; ++e) {
        const float z = (scores.entry[e] - held.maximum[half]) * held.beta[half];
        // Hidden, or of a row that is NaN by now.
        const bool counts = scores.entry[e] > minus_infinity<float>() && held.defined(half);
        const float weight = counts ? exponential(z) : 0;
        held.sums[half].weights.add(weight);
        if (weight > 0) held.sums[half].deviations.add(weight * -z);
        scores.entry[e] = weight;
      }
    }
  }
}

/// Two fragments of a product as one operand of the next: 16 keys of each row, of the format of the values.
template <class Element>
SOFTCHECK_BODY void as_operands(const FragmentC (&from)[keys_of_tile / 8],
                                FragmentA<Element> (&to)[keys_of_tile / 16]) {
  SOFTCHECK_UNROLL
  for (int step = 0; step < keys_of_tile / 16; ++step) {
    SOFTCHECK_UNROLL
    for (int e = 0; e < 8; ++e) to[step].entry[e] = narrowed<Element>(from[2 * step + e / 4].entry[e % 4]);
  }
}

/// The first pass of adaptive attention: maximum and beta of each row, from the scores alone.
template <int width, BlockContext B, class Element, class Result, class Shared>
SOFTCHECK_BODY void find_beta(B& block, const QueryTile<B, Element, Result>& tile, const Shared& keys,
                              const FragmentA<Element> (&q)[width / 16], HeldRows<width>& held) {
  const AttentionArguments<B, Element, Result>& from = tile.arguments;
  RowStatistics<float> rows[2] = {no_items<float>(), no_items<float>()};
  for (std::int64_t begin = tile.of.first_key; begin < tile.columns; begin += keys_of_tile) {
    block.sync();  // the tile is free
    load_tile<width>(block, from.k, tile.batch, tile.key_head, begin, tile.of.key_end, from.dim, keys);
    block.sync();
    FragmentC x[keys_of_tile / 8];
    score_tile<width>(block, tile, keys, q, begin, x);
    SOFTCHECK_UNROLL
    for (int half = 0; half < 2; ++half) {
      SOFTCHECK_UNROLL
      for (int n = 0; n < keys_of_tile / 8; n += 2) {
        const float items[items_at_once] = {x[n].entry[2 * half], x[n].entry[2 * half + 1], x[n + 1].entry[2 * half],
                                            x[n + 1].entry[2 * half + 1]};
        add_items(rows[half], items, 1.0F);
      }
    }
  }
  SOFTCHECK_UNROLL
  for (int half = 0; half < 2; ++half) {
    const RowStatistics<float> all = merged_by_row(block, rows[half], MergedStatistics<float>{1});
    held.maximum[half] = all.maximum;
    if (all.defined() && !all.empty()) held.beta[half] = static_cast<float>(adaptive_beta(entropy_of(all)));
  }
}

template <int width, BlockContext B, class Element, class Result>
SOFTCHECK_BODY void write_rows(B& block, const QueryTile<B, Element, Result>& tile, HeldRows<width>& held) {
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
        float result = empty ? 0 : held.out[n].entry[e] * factor;
        if (!held.defined(half)) result = not_a_number<float>();
        to.out.store(tile.batch, tile.head, query, column, narrowed<Element>(result));
      }
    }
    if (tile.lane % 4 == 0) {
      write_scalars(to, tile.batch, tile.head, query, sums, held.maximum[half], held.beta[half]);
    }
  }
}

/// Attention by tensor cores, for f16 and bf16: as attention_body, 64 queries a block, heads of up to width columns.
/// Weights meet the values in the values' format.
/// shared memory: mma_bytes<width, Element>
template <bool adaptive, int width, BlockContext B, class Element, class Result>
SOFTCHECK_BODY void mma_attention_body(B& block, const AttentionArguments<B, Element, Result>& arguments) {
  const auto keys = block.template shared<Element>(keys_of_tile * tile_stride<width>);
  const auto values = block.template shared<Element>(keys_of_tile * tile_stride<width>);
  const std::int64_t items = arguments.batch * arguments.heads * tiles_of_head(arguments);
  for (std::int64_t item = block.index(); item < items; item += block.count()) {
    const QueryTile<B, Element, Result> tile(block, arguments, item);
    FragmentA<Element> q[width / 16];
    SOFTCHECK_UNROLL
    for (int step = 0; step < width / 16; ++step) {
      SOFTCHECK_UNROLL
      for (int e = 0; e < 8; ++e) {
        const MatrixPlace place = place_in_a(tile.lane, e);
        const std::int64_t query = tile.first + place.row, column = place.column + 16 * step;
        const bool inside = query < tile.of.query_end && column < arguments.dim;
        q[step].entry[e] = inside ? arguments.q.load(tile.batch, tile.head, query, column) : Element{};
      }
    }
    HeldRows<width> held;
    if constexpr (adaptive) find_beta<width>(block, tile, keys, q, held);
    for (std::int64_t begin = tile.of.first_key; begin < tile.columns; begin += keys_of_tile) {
      block.sync();  // the tiles are free
      load_tile<width>(block, arguments.k, tile.batch, tile.key_head, begin, tile.of.key_end, arguments.dim, keys);
      load_tile<width>(block, arguments.v, tile.batch, tile.key_head, begin, tile.of.key_end, arguments.value_dim,
                       values);
      block.sync();
      FragmentC x[keys_of_tile / 8], visible[keys_of_tile / 8];
      score_tile<width>(block, tile, keys, q, begin, x);
      SOFTCHECK_UNROLL
      for (int n = 0; n < keys_of_tile / 8; ++n) {
        SOFTCHECK_UNROLL
        for (int e = 0; e < 4; ++e) visible[n].entry[e] = x[n].entry[e] > minus_infinity<float>() ? 1 : 0;
      }
      weigh_tile<adaptive>(block, x, held);
      FragmentA<Element> weights[keys_of_tile / 16], seen[keys_of_tile / 16];
      as_operands(x, weights);
      as_operands(visible, seen);
      add_values<width>(block, values, weights, seen, held.out);
    }
    write_rows(block, tile, held);
  }
}

}  // namespace softcheck::kernels
