#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/cpu/attention/attention_states.hpp"
#include "kernels/cpu/attention/score_tile.hpp"
#include "kernels/cpu/attention/seen_product.hpp"
#include "kernels/parallel/machine.hpp"
#include "kernels/parallel/rank_keys.hpp"

namespace softcheck::kernels::parallel {

/// For every row, rank_rows to a tile: the inverse of its temperature, and its largest score if that is known.
template <class T>
struct RowTemperatures {
  explicit RowTemperatures(const QueryTiles& tiles)
      : beta(tiles.count() * rank_rows, T(1)), maximum(tiles.count() * rank_rows, T(0)) {}

  std::vector<T> beta, maximum;
  bool maximum_known = false;
};

/// The state (m, S, T, O) of a tile's rows against a leaf's keys, as in the CPU's kernels.
template <class T>
class AttentionLeaf {
 public:
  /// width: 0 if no values are wanted.
  AttentionLeaf(const AttentionViews& views, std::size_t width, const RowTemperatures<T>& temperatures)
      : tile_(views, rank_rows, rank_rows),
        width_(width),
        weights_(rank_rows * key_block),
        values_(key_block * width, T(0)),
        temperatures_(temperatures) {}

  void begin(const AttentionViews& views, const TilePlace& place, std::size_t tile) {
    tile_.begin(views, place);
    first_ = tile * rank_rows;
  }
  bool undefined(std::size_t row) const { return tile_.undefined(row); }

  void operator()(const KeySpan& keys, const TileState<T>& state) {
    clear_state(state, tile_.rows(), width_);  // for rows that see none of the keys
    const RowSpan seen = tile_.take(keys);
    if (seen.first == seen.last) return;
    TileScores<T> scores = tile_.score(seen, state.maximum);
    scores.weights = weights_.get();
    for (std::size_t row = seen.first; temperatures_.maximum_known && row < seen.last; ++row) {
      if (state.maximum[row] != tile_.none) state.maximum[row] = temperatures_.maximum[first_ + row];
    }
    weigh_scores(scores, state.maximum, temperatures_.beta.data() + first_, state);
    if (width_ == 0) return;
    const RowMajor<T> values = tile_.keys_in_rows(tile_.views().v, keys, width_, values_.get());
    partial_product(TileProduct<T>{weights_.get(), key_block, 1, values.data, values.stride, keys.count,
                                   state.values + seen.first * width_, width_},
                    tile_.partial(), scores.scores, seen.count(), width_);
  }

 private:
  ScoreTile<T> tile_;
  std::size_t width_;  // of V, with its padding
  AlignedArray<T> weights_, values_;
  const RowTemperatures<T>& temperatures_;
  std::size_t first_ = 0;  // row of the tile
};

/// Attention of a call whose keys and values are shared by ranks. Every rank has all queries; rank 0 writes the
/// results.
template <class T>
class RankAttention {
 public:
  explicit RankAttention(RankKeys<AttentionViews> keys)
      : keys_(std::move(keys)), tiles_(call()), temperatures_(tiles_) {}

  void attend(bool adaptive) {
    if (adaptive) find_betas();
    const std::size_t columns = call().value_dim();
    const StateForest<T> all = states_of(rounded_up(columns, column_group<T>), columns, false);
    if (keys_.ranks.rank() != 0) return;
    for (std::size_t tile = 0; tile < tiles_.count(); ++tile) finish(all, tile);
  }

 private:
  const AttentionViews& call() const { return keys_.call(); }

  StateForest<T> states_of(std::size_t width, std::size_t columns, bool everywhere) {
    AttentionLeaf<T> leaf(call(), width, temperatures_);
    return keys_.template states_of<T>(tiles_, leaf, width, columns, everywhere);
  }

  /// beta and the largest score of each row, from the statistics of all keys.
  void find_betas() {
    const StateForest<T> all = states_of(0, 0, true);
    for (std::size_t tile = 0; tile < tiles_.count(); ++tile) {
      const TileState<T> state = all.root().tile(tile);
      for (std::size_t row = 0; row < tiles_.rows_of_tile(tile); ++row) {
        temperatures_.maximum[tile * rank_rows + row] = state.maximum[row];
        temperatures_.beta[tile * rank_rows + row] = static_cast<T>(adaptive_beta(entropy_of(state, row)));
      }
    }
    temperatures_.maximum_known = true;
  }

  void finish(const StateForest<T>& all, std::size_t tile) const {
    const TileState<T> state = all.root().tile(tile);
    for (std::size_t row = 0; row < tiles_.rows_of_tile(tile); ++row) {
      T* out = state.values + row * all.width();
      const double beta = static_cast<double>(temperatures_.beta[tile * rank_rows + row]);
      double lse = -std::numeric_limits<double>::infinity(), entropy = 0, maximum = maximum_of(state, row);
      if (all.undefined()[tile * rank_rows + row] != 0) {
        lse = entropy = maximum = std::numeric_limits<double>::quiet_NaN();
        std::fill_n(out, all.width(), std::numeric_limits<T>::quiet_NaN());
      } else if (state.maximum[row] == ScoreTile<T>::none) {
        std::fill_n(out, all.width(), T(0));  // contract masked=zero
      } else {
        const T sum = static_cast<T>(1 + sum_minus_one(state, row));
        for (std::size_t c = 0; c < all.width(); ++c) out[c] /= sum;
        lse = beta * static_cast<double>(state.maximum[row]) + std::log1p(sum_minus_one(state, row));
        entropy = entropy_of(state, row);
      }
      write(tile, row, out, {lse, entropy, maximum});
    }
  }

  struct RowResults {
    double lse, entropy, maximum;
  };

  void write(std::size_t tile, std::size_t row, const T* out, const RowResults& results) const {
    const AttentionViews& to = call();
    const RowPlace at = tiles_.row_place(tile, row, to);
    store_elements(out, to.value_dim(), to.out.at(at.batch, at.head, at.query), to.out.storage, to.out.strides[3]);
    const auto store = [&](const std::optional<View4>& rows, double value) {
      if (rows) store_element(rows->at(at.batch, at.head, at.query), rows->storage, value);
    };
    store(to.lse, results.lse);
    store(to.entropy, results.entropy);
    store(to.maximum, results.maximum);
  }

  RankKeys<AttentionViews> keys_;
  QueryTiles tiles_;
  RowTemperatures<T> temperatures_;
};

}  // namespace softcheck::kernels::parallel
