#pragma once

#include "kernels/block/split_attention.hpp"
#include "kernels/strict/machine.hpp"
#include "kernels/strict/query_tile.hpp"

namespace softcheck::kernels::strict {

/// Attention, one tile of queries at a time: the three bodies of kernels/block/split_attention.hpp for each query, part
/// by part of its keys. With one part of all keys the bits are those of attention_body of kernels/block/attention.hpp,
/// as merging a single part changes none. An object computes one tile after the other. Memory: O(dim block_keys), and
/// for each part of each query of a tile its output in compensated sums.
template <class T>
class AttentionTile {
 public:
  /// keys_of_part   a multiple of block_keys, or at least views.keys(); at most `threads` parts result
  AttentionTile(const AttentionViews& views, std::int64_t keys_of_part)
      : views_(views),
        keys_of_part_(std::max<std::int64_t>(keys_of_part, 1)),
        parts_(static_cast<std::size_t>((views.keys() + keys_of_part_ - 1) / keys_of_part_)),
        tile_(views),
        values_(block_keys, views.value_dim(), most_lanes<T>),
        scores_(tile_rows * block_keys, T(0)),
        columns_of_parts_(tile_rows * parts_, views.value_dim()),
        columns_(tile_rows, views.value_dim()),
        queries_(tile_rows) {}

  /// Computes the queries of the tile at place and writes their results into the views' out, lse, entropy and maximum.
  void attend(const TilePlace& place, bool adaptive) {
    tile_.begin(place);
    columns_of_parts_.clear();
    columns_.clear();
    for (std::size_t i = 0; i < place.count; ++i) {
      queries_[i].maximum = minus_infinity<T>();
      queries_[i].beta = 1;
      clear(queries_[i].parts, parts_);
    }
    if (adaptive) find_betas();
    for (std::size_t part = 0; part < parts_; ++part) attend_part(part, adaptive);
    for (std::size_t i = 0; i < place.count; ++i) write(i, merged(i));
  }

 private:
  /// A query of the tile.
  struct Query {
    QueryState<T> state;  // of the current part
    BlockState<T> parts;  // entry t: the RowStatistics of part t in find_betas(), then its PartState
    T maximum, beta;      // of all keys; -inf and 1 until they are known
    bool attends;         // false: the query sees no key, or has no result
  };

  std::int64_t begin_of(std::size_t part) const { return static_cast<std::int64_t>(part) * keys_of_part_; }
  std::int64_t end_of(std::size_t part) const { return std::min(begin_of(part) + keys_of_part_, tile_.columns()); }

  static void store(const CompensatedSum<T>& sum, BlockSums<T>& to, std::size_t part) {
    to.value[part] = sum.value;
    to.rest[part] = sum.rest;
  }

  /// part_statistics_body() and merged_statistics(): sets maximum and beta of each query.
  void find_betas() {
    for (std::size_t part = 0; part < parts_; ++part) {
      const auto all = tile_.statistics(begin_of(part), end_of(part));
      for (std::size_t i = 0; i < tile_.place().count; ++i) {
        queries_[i].parts.maximum[part] = all[i].maximum;
        store(all[i].weights, queries_[i].parts.weights, part);
        store(all[i].deviations, queries_[i].parts.deviations, part);
      }
    }
    for (std::size_t i = 0; i < tile_.place().count; ++i) {
      Query& held = queries_[i];
      const RowStatistics<T> all = row_passes<T>().merge_states(held.parts, parts_, T(1), Moments::deviations);
      held.maximum = all.maximum;
      if (all.maximum > minus_infinity<T>()) held.beta = static_cast<T>(adaptive_beta(entropy_of(all)));
      clear(held.parts, parts_);
    }
  }

  /// part_attention_body(): leaves the part's sums in held.parts, its columns in columns_of_parts_.
  void attend_part(std::size_t part, bool maximum_known) {
    for (std::size_t i = 0; i < tile_.place().count; ++i) {
      Query& held = queries_[i];
      held.state = {held.maximum, {}, {}, columns_of_parts_.row(i * parts_ + part)};
      held.attends = !maximum_known || held.maximum > minus_infinity<T>();
    }
    for (std::int64_t key = begin_of(part); key < end_of(part); key += std::int64_t{block_keys}) {
      tile_.score(key, scores_.get());
      values_.load(views_.v, tile_.place().batch, tile_.key_head(), key);
      for (std::size_t i = 0; i < tile_.place().count; ++i) {
        if (key < tile_.columns(i)) weigh(queries_[i], scores_.get() + i * block_keys, maximum_known);
      }
    }
    for (std::size_t i = 0; i < tile_.place().count; ++i) {
      Query& held = queries_[i];
      held.parts.maximum[part] = held.state.maximum;
      store(row_passes<T>().merge_sums(held.state.weights, threads), held.parts.weights, part);
      store(row_passes<T>().merge_sums(held.state.deviations, threads), held.parts.deviations, part);
    }
  }

  /// attend() for one block of keys: weighs the scores and adds the weighted values.
  void weigh(Query& held, const T* scores, bool maximum_known) {
    if (!held.attends) return;
    T weights[block_keys];
    held.attends = attention_passes<T>().weigh(scores, held.beta, maximum_known, held.state, weights);
    if (held.attends) {
      attention_passes<T>().add_rows(weights, weights, values_.data(), values_.count(), held.state.out);
    }
  }

  /// merge_parts_body() without write_query(): returns L and T of query i relative to its largest score, leaves that
  /// score in queries_[i].maximum and the sums of weighted values in columns_.row(i).
  WeightSums<T> merged(std::size_t i) {
    Query& held = queries_[i];
    held.maximum = minus_infinity<T>();
    for (std::size_t part = 0; part < parts_; ++part) {
      held.maximum = Larger<T>()(held.maximum, held.parts.maximum[part]);
    }
    for (std::size_t part = 0; part < parts_; ++part) {
      BlockSums<T>&w = held.parts.weights, &d = held.parts.deviations;
      PartState<T> own = {held.parts.maximum[part], {{w.value[part], w.rest[part]}, {d.value[part], d.rest[part]}}};
      const T factor = raise_part(own, held.maximum);
      store(own.sums.weights, w, part);
      store(own.sums.deviations, d, part);
      if (factor > T(0))
        attention_passes<T>().add_part(columns_of_parts_.row(i * parts_ + part), factor, columns_.row(i));
    }
    return {row_passes<T>().merge_sums(held.parts.weights, parts_),
            row_passes<T>().merge_sums(held.parts.deviations, parts_)};
  }

  /// write_query(): writes the results of query i.
  void write(std::size_t i, const WeightSums<T>& sums) {
    const TilePlace& at = tile_.place();
    const T largest = queries_[i].maximum;
    Columns<T> columns = columns_.row(i);
    T factor = T(1) / sums.weights.total();
    if (!(minus_infinity<T>() < largest && largest < std::numeric_limits<T>::infinity())) {
      std::fill_n(columns.value, columns.count, largest == minus_infinity<T>() ? T(0) : not_a_number<T>());
      std::fill_n(columns.rest, columns.count, T(0));
      factor = 1;
    }
    write_columns(columns, factor, views_.out, at.batch, at.head, at.row(i));
    const QueryScalars scalars = query_scalars(sums, largest, queries_[i].beta);
    store_row(views_.lse, at, i, scalars.lse);
    store_row(views_.entropy, at, i, scalars.entropy);
    store_row(views_.maximum, at, i, scalars.maximum);
  }

  const AttentionViews& views_;
  std::int64_t keys_of_part_;
  std::size_t parts_;
  QueryTile<T> tile_;
  Rows<T> values_;
  AlignedArray<T> scores_;
  ColumnSums<T> columns_of_parts_, columns_;
  std::vector<Query> queries_;
};

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
