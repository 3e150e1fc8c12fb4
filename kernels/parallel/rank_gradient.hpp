#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/cpu/attention/gradient_tile.hpp"
#include "kernels/cpu/attention/key_gradient.hpp"
#include "kernels/cpu/attention/seen_product.hpp"
#include "kernels/cpu/rows/gradient_terms.hpp"
#include "kernels/parallel/machine.hpp"
#include "kernels/parallel/rank_attention.hpp"
#include "kernels/parallel/rank_keys.hpp"

namespace softcheck::kernels::parallel {

/// Of a tile's rows against a leaf's keys m, S, and as values sum w g, sum w D and sum w g D, the last two relative to
/// m and at beta = 1 of no use.
template <class T>
class GradientSumsLeaf {
 public:
  static constexpr std::size_t width = column_group<T>, columns = 3;

  GradientSumsLeaf(const AttentionGradientViews& views, const RowTemperatures<T>& temperatures)
      : tile_(views.forward, rank_rows), temperatures_(temperatures) {}

  void begin(const AttentionGradientViews& views, const TilePlace& place, std::size_t tile) {
    tile_.begin(views.forward, place);
    first_ = tile * rank_rows;
  }
  bool undefined(std::size_t row) { return tile_.tile().undefined(row); }

  void operator()(const KeySpan& keys, const TileState<T>& state) {
    const std::size_t rows = tile_.tile().rows();
    clear_state(state, rows, width);
    tile_.load(keys);
    tile_.score(keys);
    for (std::size_t row = 0; row < rows; ++row) {
      if (tile_.maximum(row) == ScoreTile<T>::none) continue;
      const T m = temperatures_.maximum_known ? temperatures_.maximum[first_ + row] : tile_.maximum(row);
      const GradientSums<T> sums = tile_.sums(row, m, temperatures_.beta[first_ + row]);
      state.maximum[row] = m;
      state.rest[row] = sums.weights;
      T* values = state.values + row * width;
      values[0] = sums.gradients;
      values[1] = sums.deviations;
      values[2] = sums.products;
    }
  }

 private:
  GradientTile<T> tile_;
  const RowTemperatures<T>& temperatures_;
  std::size_t first_ = 0;
};

/// dq without its scale, of a tile's rows from a leaf's keys: the values of a state whose maximum is 0, as sums of such
/// states are.
template <class T>
class QueryGradientLeaf {
 public:
  QueryGradientLeaf(const AttentionGradientViews& views, const std::vector<GradientTerms<T>>& terms)
      : tile_(views.forward, rank_rows),
        width_(rounded_up(views.forward.dim(), column_group<T>)),
        keys_(key_block * width_, T(0)),
        slopes_(rank_rows * key_block),
        terms_(terms) {}

  std::size_t width() const { return width_; }
  void begin(const AttentionGradientViews& views, const TilePlace& place, std::size_t tile) {
    tile_.begin(views.forward, place);
    first_ = tile * rank_rows;
  }
  bool undefined(std::size_t row) { return tile_.tile().undefined(row); }

  void operator()(const KeySpan& keys, const TileState<T>& state) {
    ScoreTile<T>& scores = tile_.tile();
    clear_state(state, scores.rows(), 0);
    tile_.load(keys);
    tile_.score(keys);
    for (std::size_t row = 0; row < scores.rows(); ++row) {
      if (tile_.maximum(row) != ScoreTile<T>::none) state.maximum[row] = T(0);
      tile_.differentiate(row, terms_[first_ + row], slopes_.get() + row * key_block, nullptr);
    }
    const RowMajor<T> k = scores.keys_in_rows(scores.views().k, keys, width_, keys_.get());
    partial_product(TileProduct<T>{slopes_.get(), key_block, 1, k.data, k.stride, keys.count, state.values, width_},
                    scores.partial(), tile_.scores(), scores.rows(), width_);
  }

 private:
  GradientTile<T> tile_;
  std::size_t width_;
  AlignedArray<T> keys_, slopes_;
  const std::vector<GradientTerms<T>>& terms_;
  std::size_t first_ = 0;
};

/// The gradient of attention of a call whose keys and values are shared by ranks. Every rank has all queries and their
/// dO, and writes dk and dv of its keys; rank 0 writes dq.
template <class T>
class RankGradient {
 public:
  explicit RankGradient(RankKeys<AttentionGradientViews> keys)
      : keys_(std::move(keys)),
        tiles_(call().forward),
        temperatures_(tiles_),
        betas_(tiles_.count() * rank_rows),
        terms_(tiles_.count() * rank_rows) {}

  void differentiate(bool adaptive) {
    StateForest<T> statistics(tiles_, 0, 0);
    if (adaptive) {
      statistics = find_betas();
    } else {
      std::fill(betas_.begin(), betas_.end(), AdaptiveBeta{1, 0});
    }
    find_terms(adaptive ? &statistics : nullptr);
    find_query_gradients();
    find_key_gradients();
  }

 private:
  const AttentionGradientViews& call() const { return keys_.call(); }

  template <class Leaf>
  StateForest<T> states_of(Leaf& leaf, std::size_t width, std::size_t columns, bool everywhere) {
    return keys_.template states_of<T>(tiles_, leaf, width, columns, everywhere);
  }

  template <class Each>
  void each_row_of_tiles(Each each) const {
    for (std::size_t tile = 0; tile < tiles_.count(); ++tile) {
      for (std::size_t row = 0; row < tiles_.rows_of_tile(tile); ++row) each(tile, row, tile * rank_rows + row);
    }
  }

  /// Returns the statistics of all keys at beta = 1.
  StateForest<T> find_betas() {
    StatisticsLeaf leaf(call().forward, temperatures_);
    StateForest<T> all = states_of(leaf, 0, 0, true);
    each_row_of_tiles([&](std::size_t tile, std::size_t row, std::size_t index) {
      const TileState<T> state = all.root().tile(tile);
      betas_[index] = adaptive_beta_and_slope(entropy_of(state, row));
      temperatures_.beta[index] = static_cast<T>(betas_[index].value);
      temperatures_.maximum[index] = state.maximum[row];
    });
    temperatures_.maximum_known = true;
    return all;
  }

  /// AttentionLeaf without values, of a gradient's views.
  struct StatisticsLeaf : AttentionLeaf<T> {
    StatisticsLeaf(const AttentionViews& views, const RowTemperatures<T>& temperatures)
        : AttentionLeaf<T>(views, 0, temperatures) {}
    void begin(const AttentionGradientViews& views, const TilePlace& place, std::size_t tile) {
      AttentionLeaf<T>::begin(views.forward, place, tile);
    }
  };

  /// statistics   nullptr for plain attention
  void find_terms(const StateForest<T>* statistics) {
    GradientSumsLeaf<T> leaf(call(), temperatures_);
    const StateForest<T> all = states_of(leaf, leaf.width, leaf.columns, true);
    each_row_of_tiles([&](std::size_t tile, std::size_t row, std::size_t index) {
      const TileState<T> state = all.root().tile(tile);
      const T* values = state.values + row * leaf.width;
      const auto wide = [](T x) { return static_cast<double>(x); };
      const GradientTotals totals{
          wide(state.maximum[row]),
          {wide(state.ones[row]) + wide(state.rest[row]), wide(values[0]), wide(values[1]), wide(values[2])}};
      if (all.undefined()[index] != 0 || !(totals.sums.weights > 0)) {
        terms_[index] = without_sum<T>(all.undefined()[index] != 0);
      } else if (statistics == nullptr) {
        terms_[index] = gradient_terms<T>(totals, betas_[index], 1, 0, by_lse(tile, row));
      } else {
        const TileState<T> plain = statistics->root().tile(tile);
        terms_[index] =
            gradient_terms<T>(totals, betas_[index], 1 + sum_minus_one(plain, row), mean_deviation(plain, row));
      }
    });
  }

  double by_lse(std::size_t tile, std::size_t row) const {
    const std::optional<View4>& all = call().by_lse;
    const RowPlace at = tiles_.row_place(tile, row, call().forward);
    return all ? load_element<double>(all->at(at.batch, at.head, at.query), all->storage) : 0;
  }

  void find_query_gradients() {
    QueryGradientLeaf<T> leaf(call(), terms_);
    const StateForest<T> all = states_of(leaf, leaf.width(), call().forward.dim(), false);
    if (keys_.ranks.rank() != 0) return;
    const T scale = static_cast<T>(call().forward.scale);
    each_row_of_tiles([&](std::size_t tile, std::size_t row, std::size_t index) {
      const TileState<T> state = all.root().tile(tile);
      T* dq = state.values + row * all.width();
      if (all.undefined()[index] != 0) {
        std::fill_n(dq, all.width(), std::numeric_limits<T>::quiet_NaN());
      } else if (state.maximum[row] == ScoreTile<T>::none) {
        std::fill_n(dq, all.width(), T(0));
      }
      const RowPlace at = tiles_.row_place(tile, row, call().forward);
      write_scaled(call().dq, at.batch, at.head, at.query, dq, scale);
    });
  }

  /// dk and dv are sums over all queries, and this rank has all queries: computes them leaf by leaf of its own keys.
  void find_key_gradients() {
    for (const KeyPart<AttentionGradientViews>& part : keys_.parts) {
      if (!part.views.dk) return;
      KeyGradient<T> gradient(part.views);
      const AttentionViews& views = part.views.forward;
      const std::int64_t step = keys_of_leaf(keys_.tree.keys());
      for (std::int64_t head = 0; head < tiles_.heads; ++head) {
        const GradientTerms<T>* terms = terms_.data() + static_cast<std::size_t>(head) * tiles_.of_head() * rank_rows;
        for (std::int64_t begin = 0; begin < views.keys(); begin += step) {
          const auto count = static_cast<std::size_t>(std::min(step, views.keys() - begin));
          gradient.run(part.views, head / views.key_heads(), head % views.key_heads(), {begin, count}, terms);
        }
      }
    }
  }

  RankKeys<AttentionGradientViews> keys_;
  QueryTiles tiles_;
  RowTemperatures<T> temperatures_;
  std::vector<AdaptiveBeta> betas_;
  std::vector<GradientTerms<T>> terms_;
};

}  // namespace softcheck::kernels::parallel
