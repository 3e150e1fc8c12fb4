#pragma once

#include "kernels/strict/query_tile.hpp"

namespace softcheck::kernels::strict {

/// attention_statistics_body() of kernels/block/attention_statistics.hpp, one tile of queries at a time. Memory: that
/// of QueryTile.
template <class T>
class StatisticsTile {
 public:
  explicit StatisticsTile(const AttentionStatisticsViews& views) : views_(views), tile_(views.forward) {}

  /// Computes m, S - 1, T and U of the queries of the tile at place, and writes those that the call has. It computes U
  /// only if the call has it.
  void find(const TilePlace& place) {
    tile_.begin(place);
    const Moments moments = views_.statistics[3] ? Moments::squares : Moments::deviations;
    const auto all = tile_.statistics(0, tile_.columns(), moments);
    for (std::size_t i = 0; i < place.count; ++i) {
      const StatisticsResults<T> values(all[i]);
      for (std::size_t k = 0; k < views_.statistics.size(); ++k) {
        store_row(views_.statistics[k], place, i, static_cast<double>(values.entry[k]));
      }
    }
  }

 private:
  const AttentionStatisticsViews& views_;
  QueryTile<T> tile_;
};

}  // namespace softcheck::kernels::strict
