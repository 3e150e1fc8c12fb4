#pragma once

#include "kernels/block/attention.hpp"

namespace softcheck::kernels {

/// The arguments of attention_statistics_body and mma_statistics_body.
///
/// forward   its q, k, mask and numbers; v and out are not used
/// results   m, S - 1, T and U of each query (StatisticsResults), (batch, heads, queries, 1) each; a result that the
/// call
///           lacks has no elements
template <BlockContext B, class Element, class Result>
struct AttentionStatisticsArguments {
  AttentionArguments<B, Element, Result> forward;
  Tensor4<typename B::template Global<Result>> results[4];

  /// Writes the statistics of a query. One thread calls it.
  SOFTCHECK_BODY void store(std::int64_t batch, std::int64_t head, std::int64_t query,
                            const RowStatistics<Accumulator<Element>>& all) const {
    const StatisticsResults<Accumulator<Element>> values(all);
    SOFTCHECK_UNROLL
    for (int i = 0; i < 4; ++i) results[i].store_wide(batch, head, query, static_cast<double>(values.entry[i]));
  }
};

/// Shared memory of a block of attention_statistics_body, in bytes: one RowStatistics a warp, and the query.
template <class T>
constexpr std::size_t attention_statistics_bytes(std::int64_t dim) {
  return merging_bytes<RowStatistics<T>>(attention_threads) + static_cast<std::size_t>(dim) * sizeof(T);
}

/// m, S - 1, T and U of each query's scores scale q k, one query at a time by a block, by one read of the keys. A
/// thread scores the items of row_statistics as it comes to them: the bits are those of RowStatisticsKernel of a row of
/// scores.
///
/// error           RowStatistics, and that of the scores (B9 of docs/tolerances.md)
/// shared memory   attention_statistics_bytes<T>(dim)
template <BlockContext B, class Element, class Result>
SOFTCHECK_BODY void attention_statistics_body(B& block,
                                              const AttentionStatisticsArguments<B, Element, Result>& arguments) {
  using T = Accumulator<Element>;
  const AttentionArguments<B, Element, Result>& from = arguments.forward;
  const auto partials = block.template shared<RowStatistics<T>>(block.size() / warp_size);
  const auto query = block.template shared<T>(from.dim);
  const std::int64_t items = from.batch * from.heads * from.queries;
  for (std::int64_t item = block.index(); item < items; item += block.count()) {
    const QueryScores<B, Element, Result> scores(from, query, item);
    if (!scores.inside) continue;
    load_query(block, scores, query);
    // Every thread has read the query before the barriers of the merge. After them the next query may be loaded.
    const RowStatistics<T> all = row_statistics<Moments::squares>(block, scores, partials, T(1));
    if (block.rank() == 0) arguments.store(scores.batch, scores.head, scores.query, all);
  }
}

}  // namespace softcheck::kernels
