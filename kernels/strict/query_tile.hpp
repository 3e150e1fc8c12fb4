#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/arithmetic/aligned_array.hpp"
#include "kernels/block/attention.hpp"
#include "kernels/block/entropy.hpp"
#include "kernels/call/attention_views.hpp"
#include "kernels/call/parallel_tasks.hpp"
#include "kernels/strict/attention_passes.hpp"
#include "kernels/strict/elements.hpp"
#include "kernels/strict/machine.hpp"

namespace softcheck::kernels::strict {

/// Queries, or keys, that a thread of the operating system takes together: the rows of a tile.
inline constexpr std::size_t tile_rows = 16;

/// A tile: rows first to first + count - 1 of a head, count from 1 to tile_rows.
struct TilePlace {
  std::int64_t batch, head, first;
  std::size_t count;

  /// The number, within its head, of row i of the tile.
  std::int64_t row(std::size_t i) const { return first + static_cast<std::int64_t>(i); }
};

/// Calls one(tile, place) for each tile of a tensor's rows, on SOFTCHECK_THREADS threads.
///
/// make_tile   returns a std::unique_ptr to an object that computes tiles. each_tile calls it once for each thread; an
///             object computes the tiles that its thread takes, one after the other.
template <class MakeTile, class One>
void each_tile(const View4& tensor, MakeTile make_tile, One one) {
  const auto most = static_cast<std::int64_t>(tile_rows);
  const auto [batch, heads, rows, columns] = tensor.shape;
  const std::int64_t all_heads = heads, all_rows = rows, tiles = (rows + most - 1) / most;
  parallel_tasks(batch * heads * tiles, thread_count(), [&] {
    return [=, tile = std::shared_ptr(make_tile())](std::int64_t task) {
      const std::int64_t first = task % tiles * most, head = task / tiles;
      const auto count = static_cast<std::size_t>(std::min(most, all_rows - first));
      one(*tile, TilePlace{head / all_heads, head % all_heads, first, count});
    };
  });
}

/// Whether the mask lets a query see a key. Causality is the caller's to check.
inline bool visible(const AttentionViews& views, std::int64_t batch, std::int64_t head, std::int64_t query,
                    std::int64_t key) {
  if (!views.mask) return true;
  return *views.mask->at(batch, views.mask->shape[1] == 1 ? 0 : head, query, key) != std::byte{0};
}

/// Writes a number of row i of a tile, rounded to the tensor's format, if the call has that tensor.
inline void store_row(const std::optional<View4>& to, const TilePlace& at, std::size_t i, double value) {
  if (to) store_element(to->at(at.batch, at.head, at.row(i)), to->storage, value);
}

/// A copy of at most `most` rows of a head as T, (count, columns): columns is dim rounded up to a multiple of step, and
/// those from dim on are 0.
template <class T>
class Rows {
 public:
  Rows(std::size_t most, std::size_t dim, std::size_t step)
      : most_(most), dim_(dim), columns_(rounded_up(dim, step)), rows_(most * columns_, T(0)) {}

  /// Copies the rows from first on, as many as there are up to `most`; they are then count().
  void load(const View4& from, std::int64_t batch, std::int64_t head, std::int64_t first) {
    count_ = static_cast<std::size_t>(std::min(static_cast<std::int64_t>(most_), from.shape[2] - first));
    for (std::size_t i = 0; i < count_; ++i) {
      T* to = rows_.get() + i * columns_;
      const std::byte* at = from.at(batch, head, first + static_cast<std::int64_t>(i));
      const T* row = elements(at, from.storage, from.strides[3], dim_, to);
      if (row != to) std::copy(row, row + dim_, to);
    }
  }

  std::size_t count() const { return count_; }
  std::size_t dim() const { return dim_; }
  /// (count, columns)
  const T* data() const { return rows_.get(); }
  const T* row(std::size_t i) const { return data() + i * columns_; }

 private:
  std::size_t most_, dim_, columns_;
  AlignedArray<T> rows_;
  std::size_t count_ = 0;
};

/// A copy of at most block_keys rows of a head, and its transpose: turned() is (dim, block_keys), its rows key_stride
/// apart. Its columns from rows().count() on are 0 or left from an earlier load: the caller hides or skips them.
template <class T>
class TurnedRows {
 public:
  explicit TurnedRows(std::size_t dim) : rows_(block_keys, dim, most_lanes<T>), turned_(key_stride<T> * dim, T(0)) {}

  void load(const View4& from, std::int64_t batch, std::int64_t head, std::int64_t first) {
    rows_.load(from, batch, head, first);
    const T* rows[block_keys];
    for (std::size_t i = 0; i < block_keys; ++i) rows[i] = rows_.row(i);
    transpose_rows(rows, rounded_up(rows_.count(), column_group<T>), rows_.dim(), turned_.get());
  }

  const Rows<T>& rows() const { return rows_; }
  const T* turned() const { return turned_.get(); }

 private:
  Rows<T> rows_;
  AlignedArray<T> turned_;
};

/// Compensated sums of (rows, dim) columns.
template <class T>
class ColumnSums {
 public:
  ColumnSums(std::size_t rows, std::size_t dim)
      : columns_(rounded_up(dim, most_lanes<T>)), rows_(rows), sums_(2 * rows * columns_) {}

  /// Sets all sums to 0.
  void clear() { std::fill_n(sums_.get(), 2 * rows_ * columns_, T(0)); }
  Columns<T> row(std::size_t i) const {
    T* value = sums_.get() + 2 * i * columns_;
    return {value, value + columns_, columns_};
  }

 private:
  std::size_t columns_, rows_;
  AlignedArray<T> sums_;
};

/// Writes factor times the totals of the columns as a row of a tensor, as write_query() and RegisterColumns::write()
/// do. It overwrites the columns.
template <class T>
void write_columns(const Columns<T>& columns, T factor, const View4& to, std::int64_t batch, std::int64_t head,
                   std::int64_t row) {
  const auto count = static_cast<std::size_t>(to.shape[3]);
  for (std::size_t c = 0; c < count; ++c) columns.value[c] = (columns.value[c] + columns.rest[c]) * factor;
  store_elements(columns.value, count, to.at(batch, head, row), to.storage, to.strides[3]);
}

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
