#pragma once

#include "kernels/block/attention_statistics.hpp"
#include "kernels/block/mma_attention.hpp"

namespace softcheck::kernels {

/// Shared memory of a block of mma_statistics_body, in bytes: tiles of queries and of keys.
template <int width, class Element>
inline constexpr std::size_t mma_statistics_bytes = (queries_of_tile + keys_of_tile) * tile_stride<width> *
                                                    sizeof(Element);

/// attention_statistics_body by tensor cores, 64 queries at a time by a block. A lane adds up the statistics of its two
/// queries over the keys in its entries, four keys as a group of add_items; then the four lanes of a query merge.
///
/// Element         Half or BFloat; width 64 or 128, at least dim; block.size() = mma_threads
/// error           RowStatistics with sum=lanes:16 (docs/kernels/gpu_kernels.md), and that of the scores (score_tile)
/// shared memory   mma_statistics_bytes<width, Element>
template <int width, BlockContext B, class Element, class Result>
SOFTCHECK_BODY void mma_statistics_body(B& block, const AttentionStatisticsArguments<B, Element, Result>& arguments) {
  const AttentionArguments<B, Element, Result>& from = arguments.forward;
  const auto queries = block.template shared<Element>(queries_of_tile * tile_stride<width>);
  const auto keys = block.template shared<Element>(keys_of_tile * tile_stride<width>);
  const bool q_by_chunks = moves_by_chunks(from.q, from.dim), k_by_chunks = moves_by_chunks(from.k, from.dim);
  const std::int64_t items = from.batch * from.heads * tiles_of_head(from);
  for (std::int64_t item = block.index(); item < items; item += block.count()) {
    const QueryTile<B, Element, Result> tile(block, from, item);
    block.sync();  // the queries are free
    load_tile<width, queries_of_tile>(block, from.q, q_by_chunks, tile.batch, tile.head, tile.begin, tile.of.query_end,
                                      from.dim, queries);
    RowStatistics<float> own[2] = {no_items<float>(), no_items<float>()};
    each_score_tile<width>(block, tile, queries, keys, k_by_chunks, [&](const FragmentC(&x)[keys_of_tile / 8]) {
      SOFTCHECK_UNROLL
      for (int half = 0; half < 2; ++half) {
        SOFTCHECK_UNROLL
        for (int n = 0; n < keys_of_tile / 8; n += 2) {
          const float *low = x[n].entry + 2 * half, *high = x[n + 1].entry + 2 * half;
          const float group[items_at_once] = {low[0], low[1], high[0], high[1]};
          add_items<Moments::squares>(own[half], group, 1.0F);
        }
      }
    });
    SOFTCHECK_UNROLL
    for (int half = 0; half < 2; ++half) {
      const RowStatistics<float> all = merged_by_row(block, own[half], MergedStatistics<float, Moments::squares>{1.0F});
      const std::int64_t query = tile.row(half);
      if (tile.lane % 4 == 0 && query < tile.of.query_end) arguments.store(tile.batch, tile.head, query, all);
    }
  }
}

}  // namespace softcheck::kernels
