#pragma once

#include <optional>

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/cpu/attention/attention_states.hpp"
#include "kernels/cpu/attention/score_tile.hpp"
#include "kernels/cpu/attention/seen_product.hpp"
#include "kernels/cpu/machine.hpp"

namespace softcheck::kernels::cpu {

/// Computes the weights of a tile and their sums, over all blocks of keys.
template <class T>
class WeightPass {
 public:
  /// keys: the most of any tile. capacity: rows, whole vectors. width: the most columns. squared: with U.
  WeightPass(std::int64_t keys, std::size_t capacity, std::size_t width, bool squared = false)
      : weights_(std::min(capacity, row_part) * key_block),
        states_(static_cast<std::size_t>(keys) / key_block + 1, capacity, width, squared) {}

  /// maximum: of each row, if it is known; nullptr: each block has its own. deviations: whether to compute T.
  /// Calls values.take(keys) before a block's rows, and values.add(scores, state), which writes width columns, for rows
  /// that see any of the keys.
  template <class Values>
  TileState<T> run(ScoreTile<T>& tile, const T* maximum, const T* beta, bool deviations, std::size_t width,
                   Values& values) {
    states_.clear(tile.skipped_blocks(), deviations);
    tile.each_block([&](const KeySpan& keys) {
      const TileState<T> state = states_.next();
      const RowSpan seen = tile.take(keys, maximum != nullptr);
      clear_rows(state, {0, seen.first});
      clear_rows(state, {seen.last, tile.rows()});
      values.take(keys);
      for (std::size_t first = seen.first; first < seen.last; first += row_part) {
        const RowSpan rows{first, std::min(first + row_part, seen.last)};
        TileScores<T> scores = tile.score(rows, state.maximum, values.ahead());
        scores.weights = width == 0 ? nullptr : weights_of(tile, scores);
        for (std::size_t row = rows.first; maximum != nullptr && row < rows.last; ++row) {
          state.maximum[row] = state.maximum[row] == tile.none ? tile.none : maximum[row];
        }
        weigh_scores(scores, state.maximum, beta, state);
        values.add(scores, state);
      }
      states_.push(tile.rows(), width);
    });
    return states_.total(tile.rows(), width);
  }
  /// The statistics, without values.
  TileState<T> run(ScoreTile<T>& tile, const T* maximum, const T* beta) {
    struct {
      void take(const KeySpan&) {}
      RowsAhead* ahead() { return nullptr; }
      void add(const TileScores<T>&, const TileState<T>&) {}
    } no_values;
    return run(tile, maximum, beta, true, 0, no_values);
  }

 private:
  /// Weights overwrite the scores, which then take half of the L1 cache, unless the scores are read again.
  T* weights_of(const ScoreTile<T>& tile, const TileScores<T>& scores) {
    return tile.keeps() || tile.partial() ? weights_.get() : scores.scores;
  }
  /// For rows that see no key.
  static void clear_rows(const TileState<T>& state, const RowSpan& rows) {
    std::fill(state.maximum + rows.first, state.maximum + rows.last, ScoreTile<T>::none);
    for (T* sums : {state.ones, state.rest, state.deviations, state.squares}) {
      if (sums != nullptr) {
        std::fill(sums + rows.first, sums + rows.last, T(0));
      }
    }
  }

  AlignedArray<T> weights_;
  MergedStates<T> states_;
};

/// O of a block: the weights times V. Values that a row does not see may be infinite or NaN.
template <class T>
class WeighedValues {
 public:
  WeighedValues(ScoreTile<T>& tile, std::size_t width) : tile_(tile), width_(width), buffer_(key_block * width, T(0)) {}

  void take(const KeySpan& keys) {
    const View4& v = tile_.views().v;
    count_ = keys.count;
    values_ = tile_.keys_in_rows(v, keys, width_, buffer_.get());
    ahead_ = tile_.rows_ahead(v, keys);
    keys_ahead_ = tile_.rows_ahead(tile_.views().k, tile_.next_block(keys));
  }
  /// V of the block, for the products of its scores to fetch.
  RowsAhead* ahead() { return &ahead_; }
  void add(const TileScores<T>& scores, const TileState<T>& state) {
    const TileProduct<T> product{
        scores.weights, key_block,   1, values_.data, values_.stride, count_, state.values + scores.first * width_,
        width_,         &keys_ahead_};
    partial_product(product, tile_.partial(), scores.scores, scores.rows - scores.first, width_);
  }

 private:
  ScoreTile<T>& tile_;
  std::size_t width_;
  AlignedArray<T> buffer_;
  std::size_t count_ = 0;
  RowMajor<T> values_{};
  RowsAhead ahead_{}, keys_ahead_{};
};

/// Attention for one tile after the other, block of keys by block. Memory: O(dim (capacity + key_block) + capacity dim
/// log keys), for any call.
template <class T>
class AttentionTile {
 public:
  /// views: of the call with the most keys. capacity: rows of the largest tile, whole vectors.
  AttentionTile(const AttentionViews& views, std::size_t capacity)
      : capacity_(capacity),
        tile_(views, capacity, std::min(capacity, row_part)),
        width_(rounded_up(views.value_dim(), column_group<T>)),
        values_(tile_, width_),
        row_numbers_(2 * capacity),
        pass_(views.keys(), capacity, width_) {}

  void attend(const AttentionViews& views, const TilePlace& place, bool adaptive) {
    tile_.begin(views, place, adaptive);
    T* maximum = row_numbers_.get();
    T* beta = maximum + capacity_;
    std::fill(beta, beta + place.rows, T(1));
    if (adaptive) {
      const TileState<T> state = pass_.run(tile_, nullptr, beta);
      std::copy(state.maximum, state.maximum + place.rows, maximum);
      for (std::size_t row = 0; row < place.rows; ++row) {
        beta[row] = static_cast<T>(adaptive_beta(entropy_of(state, row)));
      }
    }
    const TileState<T> state =
        pass_.run(tile_, adaptive ? maximum : nullptr, beta, views.entropy.has_value(), width_, values_);
    if (views.attributes.sinks) {
      add_sinks(*views.attributes.sinks, state);
    }
    finish(state, beta);
  }

 private:
  /// A head's sink is one item more, of value 0.
  void add_sinks(const View& sinks, const TileState<T>& state) {
    if (!sink_) {
      sink_.emplace(capacity_, width_, false);
      std::fill(sink_->state().values, sink_->state().values + capacity_ * width_, T(0));
    }
    const TileState<T> sink = sink_->state();
    for (std::size_t row = 0; row < tile_.rows(); ++row) {
      sink.maximum[row] = load_element<T>(sinks.at(tile_.head_of(row), 0), sinks.storage);
      sink.ones[row] = T(1);
    }
    merge_states(state, sink, tile_.rows(), width_);
  }

  void finish(const TileState<T>& state, const T* beta) {
    for (std::size_t row = 0; row < tile_.rows(); ++row) {
      T* out = state.values + row * width_;
      double lse = -std::numeric_limits<double>::infinity();
      double entropy = 0;
      double maximum = maximum_of(state, row);
      if (tile_.undefined(row)) {
        lse = entropy = maximum = std::numeric_limits<double>::quiet_NaN();
        std::fill(out, out + width_, std::numeric_limits<T>::quiet_NaN());
      } else if (state.maximum[row] == tile_.none) {
        std::fill(out, out + width_, T(0));  // contract masked=zero
      } else {
        const T sum = static_cast<T>(1 + sum_minus_one(state, row));
        for (std::size_t c = 0; c < width_; ++c) {
          out[c] /= sum;
        }
        lse = static_cast<double>(beta[row]) * static_cast<double>(state.maximum[row]) +
              std::log1p(sum_minus_one(state, row));
        entropy = state.deviations == nullptr ? 0 : entropy_of(state, row);
      }
      write(row, out, lse, entropy, maximum);
    }
  }

  void write(std::size_t row, const T* out, double lse, double entropy, double maximum) const {
    const AttentionViews& views = tile_.views();
    store_elements(out, views.value_dim(), views.out.at(tile_.place().batch, tile_.head_of(row), tile_.query_of(row)),
                   views.out.storage, views.out.strides[3]);
    tile_.store(views.lse, row, lse);
    tile_.store(views.entropy, row, entropy);
    tile_.store(views.maximum, row, maximum);
  }

  std::size_t capacity_;
  ScoreTile<T> tile_;
  std::size_t width_;  // of V, with its padding
  WeighedValues<T> values_;
  AlignedArray<T> row_numbers_;
  WeightPass<T> pass_;
  std::optional<OwnedState<T>> sink_;
};

}  // namespace softcheck::kernels::cpu
