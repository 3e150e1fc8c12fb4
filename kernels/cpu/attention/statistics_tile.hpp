#pragma once

#include <array>

#include "kernels/cpu/attention/attention_tile.hpp"

namespace softcheck::kernels::cpu {

/// The statistics of attention's scores for one tile after the other: a pass over the keys, memory as of AttentionTile.
template <class T>
class StatisticsTile {
 public:
  /// views: of the call with the most keys. capacity: rows of the largest tile, whole vectors.
  StatisticsTile(const AttentionStatisticsViews& views, std::size_t capacity)
      : tile_(views.forward, capacity, std::min(capacity, row_part)),
        ones_(capacity, T(1)),
        pass_(views.forward.keys(), capacity, 0, true) {}

  void find(const AttentionStatisticsViews& views, const TilePlace& place) {
    tile_.begin(views.forward, place);
    const TileState<T> state = pass_.run(tile_, nullptr, ones_.get());
    for (std::size_t row = 0; row < place.rows; ++row) {
      // Without a key: -inf, -1, 0, 0.
      std::array values{maximum_of(state, row), sum_minus_one(state, row), static_cast<double>(state.deviations[row]),
                        static_cast<double>(state.squares[row])};
      if (tile_.undefined(row)) {
        values.fill(std::numeric_limits<double>::quiet_NaN());
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        tile_.store(views.statistics[i], row, values[i]);
      }
    }
  }

 private:
  ScoreTile<T> tile_;
  AlignedArray<T> ones_;  // beta of each row
  WeightPass<T> pass_;
};

}  // namespace softcheck::kernels::cpu
