#pragma once

#include <array>
#include <vector>

#include "kernels/block/attention.hpp"
#include "kernels/block/entropy.hpp"
#include "kernels/strict/machine.hpp"
#include "kernels/strict/row_block.hpp"

namespace softcheck::kernels::strict {

static_assert(attention_threads == row_threads);

/// A tile of queries and their scores against the keys, a block of 128 keys at a time: the QueryScores of each query,
/// with keys counted from the call's first key. An object computes one tile after the other. Memory: O(dim block_keys),
/// whatever the numbers of queries and keys.
template <class T>
class QueryTile {
 public:
  explicit QueryTile(const AttentionViews& views)
      : views_(views),
        queries_(tile_rows, views.dim(), 1),
        keys_(views.dim()),
        items_(tile_rows * items_of_block, T(0)),
        states_(tile_rows) {}

  /// Goes to the tile at place: loads its queries.
  void begin(const TilePlace& place) {
    place_ = place;
    queries_.load(views_.q, place.batch, place.head, place.first);
  }

  const TilePlace& place() const { return place_; }
  /// The key head of the tile's head.
  std::int64_t key_head() const { return place_.head / views_.group(); }
  /// Keys up to the last one that causality lets query i of the tile see, QueryScores::columns; >= 0. It never
  /// decreases from one query to the next, so columns() of the last query is that of the tile.
  std::int64_t columns(std::size_t i) const {
    const std::int64_t last = place_.row(i) + views_.keys() - views_.queries() + 1;
    return views_.causal && last < views_.keys() ? std::max<std::int64_t>(last, 0) : views_.keys();
  }
  std::int64_t columns() const { return columns(place_.count - 1); }

  /// Computes the scores of every query against keys key to key + block_keys - 1, -inf if a key is hidden or does
  /// not exist.
  ///
  /// scores   (place().count, block_keys), those of query i at i stride
  void score(std::int64_t key, T* scores, std::size_t stride = block_keys) {
    keys_.load(views_.k, place_.batch, key_head(), key);
    attention_passes<T>().score(queries_.data(), place_.count, views_.dim(), keys_.turned(),
                                static_cast<T>(views_.scale), scores, stride);
    for (std::size_t i = 0; i < place_.count; ++i) hide(i, key, scores + i * stride);
  }
  /// The block of keys that score() loaded last.
  const Rows<T>& keys() const { return keys_.rows(); }

  /// row_statistics() of each query's scores against the keys [begin, end): of the first place().count entries. The
  /// caller passes a multiple of block_keys as begin.
  std::array<RowStatistics<T>, tile_rows> statistics(std::int64_t begin, std::int64_t end,
                                                     Moments moments = Moments::deviations) {
    for (BlockState<T>& state : states_) clear(state, threads, moments);
    for (std::int64_t key = begin; key < end; key += std::int64_t{items_of_block}) {
      std::size_t items = 0;
      for (; items < items_of_block && key + static_cast<std::int64_t>(items) < end; items += block_keys) {
        score(key + static_cast<std::int64_t>(items), items_.get() + items, items_of_block);
      }
      for (std::size_t i = 0; i < place_.count; ++i) {
        row_passes<T>().add_items(states_[i], items_.get() + i * items_of_block, items, T(1), moments);
      }
    }
    std::array<RowStatistics<T>, tile_rows> all;
    for (std::size_t i = 0; i < place_.count; ++i) {
      all[i] = row_passes<T>().merge_states(states_[i], threads, T(1), moments);
    }
    return all;
  }

 private:
  void hide(std::size_t i, std::int64_t key, T* scores) const {
    const std::int64_t seen = std::clamp<std::int64_t>(columns(i) - key, 0, block_keys);
    std::fill(scores + seen, scores + block_keys, minus_infinity<T>());
    for (std::int64_t j = 0; views_.mask && j < seen; ++j) {
      if (!visible(views_, place_.batch, place_.head, place_.row(i), key + j)) scores[j] = minus_infinity<T>();
    }
  }

  const AttentionViews& views_;
  TilePlace place_{};
  Rows<T> queries_;
  TurnedRows<T> keys_;
  AlignedArray<T> items_;
  std::vector<BlockState<T>> states_;
};

}  // namespace softcheck::kernels::strict
