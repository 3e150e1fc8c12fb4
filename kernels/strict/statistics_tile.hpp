#pragma once

#include "kernels/strict/query_tile.hpp"

namespace softcheck::kernels::strict {

/// attention_statistics_body() of one tile of queries after the other. Memory: that of QueryTile.
template <class T>
class StatisticsTile {
 public:
  explicit StatisticsTile(const AttentionStatisticsViews& views) : views_(views), tile_(views.forward) {}

  void find(const TilePlace& place) {
    tile_.begin(place);
    const Moments moments = views_.statistics[3] ? Moments::squares : Moments::deviations;
    const auto all = tile_.statistics(0, tile_.columns(), moments);
    for (std::size_t i = 0; i < place.count; ++i) {
      const ToldStatistics<T> told(all[i]);
      for (std::size_t k = 0; k < views_.statistics.size(); ++k) {
        store_row(views_.statistics[k], place, i, static_cast<double>(told.entry[k]));
      }
    }
  }

 private:
  const AttentionStatisticsViews& views_;
  QueryTile<T> tile_;
};

}  // namespace softcheck::kernels::strict
