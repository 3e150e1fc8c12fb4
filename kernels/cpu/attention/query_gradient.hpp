#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/arithmetic/aligned_array.hpp"
#include "kernels/cpu/attention/attention_states.hpp"
#include "kernels/cpu/attention/attention_tile.hpp"
#include "kernels/cpu/attention/gradient_tile.hpp"
#include "kernels/cpu/attention/key_sums.hpp"
#include "kernels/cpu/attention/seen_product.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/gradient_terms.hpp"

namespace softcheck::kernels::cpu {

/// dk and dv of a key head, without the scale of dk, to which its tiles of rows are added.
template <class T>
struct KeyGradientSums {
  /// tiles: of rows, at most.
  KeyGradientSums(const AttentionViews& views, std::size_t tiles)
      : dk(blocks_of(views), width_of(views.dim()), tiles), dv(blocks_of(views), width_of(views.value_dim()), tiles) {}
  static std::size_t numbers(const AttentionViews& views, std::size_t tiles) {
    return KeySums<T>::numbers(blocks_of(views), width_of(views.dim()) + width_of(views.value_dim()), tiles);
  }
  void clear() {
    dk.clear();
    dv.clear();
  }

  KeySums<T> dk, dv;

 private:
  static std::size_t blocks_of(const AttentionViews& views) {
    return rounded_up(static_cast<std::size_t>(views.keys()), key_block) / key_block;
  }
  static std::size_t width_of(std::int64_t dim) { return rounded_up(static_cast<std::size_t>(dim), column_group<T>); }
};

/// What a tile of queries brings: their terms, dq, and their part of dk and dv. Tiles have 2^i gradient_rows rows, but
/// for a key head's last one, and begin at multiples of that.
template <class T>
class QueryGradient {
 public:
  /// views: of the call with the most keys. for_keys: whether add_to will be called.
  QueryGradient(const AttentionGradientViews& views, std::size_t capacity, bool for_keys)
      : tile_(views.forward, capacity),
        statistics_(views.forward.keys(), capacity, 0),
        width_(tile_.tile().queries().stride),
        keys_(key_block * width_, T(0)),
        beta_(capacity, T(1)),
        slopes_(capacity * key_block),
        probabilities_(for_keys && views.dv ? capacity * key_block : 0),
        for_values_(for_keys && views.dv),
        sums_(static_cast<std::size_t>(views.forward.keys()) / key_block + 1, capacity * width_) {}

  /// Calls each(keys) for the blocks that any of the rows sees, in order: add_to may be called then. terms: (rows)
  template <class Each>
  void run(const AttentionGradientViews& views, const TilePlace& place, bool adaptive, GradientTerms<T>* terms,
           Each each) {
    tile_.begin(views.forward, place, true);
    if (adaptive) {
      find_adaptive_terms(terms);
    } else {
      find_terms(views, place, terms);
    }
    ScoreTile<T>& scores = tile_.tile();
    sums_.clear();
    scores.each_block([&](const KeySpan& keys) {
      tile_.score_again(keys);
      differentiate(terms);
      ahead_ = tile_.scores_ahead(keys);
      add_query_gradients(views.forward.k, keys);
      each(keys);
    });
    T* dq = sums_.total();
    for (std::size_t row = 0; row < place.rows; ++row) {
      write_scaled(views.dq, place.batch, scores.head_of(row), scores.query_of(row), dq + row * width_,
                   static_cast<T>(views.forward.scale));
    }
  }

  /// Adds what the rows bring to dk, and to dv where that is asked for, of the block that run() is at. tile: the number
  /// of these rows' tile.
  void add_to(KeyGradientSums<T>& sums, const KeySpan& keys, std::size_t tile) {
    if (units_.count() == 0) {
      return;
    }
    add_contribution(slopes_.get(), tile_.tile().queries(), keys, tile, sums.dk);
    if (for_values_) {
      add_contribution(probabilities_.get(), tile_.incoming(), keys, tile, sums.dv);
    }
  }

 private:
  /// dx and p of the rows that see any of the block, and of those that gradient_rows are filled up with.
  void differentiate(const GradientTerms<T>* terms) {
    const RowSpan seen = tile_.tile().seen_rows();
    units_ = {seen.first / gradient_rows * gradient_rows,
              std::min(rounded_up(seen.last, gradient_rows), tile_.tile().rows())};
    for (std::size_t row = units_.first; row < units_.last; ++row) {
      T* p = for_values_ ? probabilities_.get() + row * key_block : nullptr;
      tile_.differentiate(row, terms[row], slopes_.get() + row * key_block, p);
    }
  }

  void add_query_gradients(const View4& k, const KeySpan& keys) {
    const ScoreTile<T>& scores = tile_.tile();
    const RowMajor<T> rows = scores.keys_in_rows(k, keys, width_, keys_.get());
    T* dq = sums_.next();
    std::fill(dq, dq + units_.first * width_, T(0));
    std::fill(dq + units_.last * width_, dq + scores.rows() * width_, T(0));
    const std::size_t first = units_.first * key_block;
    partial_product(TileProduct<T>{slopes_.get() + first, key_block, 1, rows.data, rows.stride, keys.count,
                                   dq + units_.first * width_, width_, &ahead_},
                    scores.partial(), tile_.scores() + first, units_.count(), width_);
    sums_.push();
  }

  void add_contribution(const T* a, const RowMajor<T>& b, const KeySpan& keys, std::size_t tile, KeySums<T>& sums) {
    const std::size_t first = units_.first * key_block;
    const TileProduct<T> product{
        a + first, 1,        key_block, b.data + units_.first * b.stride, b.stride, units_.count(),
        nullptr,   b.stride, &ahead_};
    cpu::add_contribution(product, units_.first, tile_.tile().partial(), tile_.scores() + first, keys.count,
                          static_cast<std::size_t>(keys.begin) / key_block, tile, sums);
  }

  void find_terms(const AttentionGradientViews& views, const TilePlace& place, GradientTerms<T>* terms) {
    const std::vector<GradientTotals> totals = gradient_totals(nullptr, beta_.get());
    const ScoreTile<T>& scores = tile_.tile();
    for (std::size_t row = 0; row < totals.size(); ++row) {
      const auto by_lse = [&] {
        const std::optional<View4>& all = views.by_lse;
        return all ? load_element<double>(all->at(place.batch, scores.head_of(row), scores.query_of(row)), all->storage)
                   : 0;
      };
      terms[row] =
          is_plain(row, totals[row]) ? gradient_terms<T>(totals[row], {1, 0}, 1, 0, by_lse()) : without_sum(row);
    }
  }

  void find_adaptive_terms(GradientTerms<T>* terms) {
    ScoreTile<T>& scores = tile_.tile();
    std::fill(beta_.get(), beta_.get() + scores.rows(), T(1));
    const TileState<T> state = statistics_.run(scores, nullptr, beta_.get());
    AdaptiveBeta betas[tile_rows];
    for (std::size_t row = 0; row < scores.rows(); ++row) {
      betas[row] = adaptive_beta_and_slope(entropy_of(state, row));
      beta_.get()[row] = static_cast<T>(betas[row].value);
    }
    const std::vector<GradientTotals> totals = gradient_totals(state.maximum, beta_.get());
    for (std::size_t row = 0; row < totals.size(); ++row) {
      terms[row] =
          is_plain(row, totals[row])
              ? gradient_terms<T>(totals[row], betas[row], 1 + sum_minus_one(state, row), mean_deviation(state, row))
              : without_sum(row);
    }
  }

  /// maximum: as of WeightPass.
  std::vector<GradientTotals> gradient_totals(const T* maximum, const T* beta) {
    std::vector<GradientTotals> totals(tile_.tile().rows());
    tile_.tile().each_block([&](const KeySpan& keys) {
      tile_.load(keys);
      tile_.score(keys, [&](const RowSpan& part) {
        for (std::size_t row = part.first; row < part.last; ++row) {
          if (tile_.maximum(row) != ScoreTile<T>::none) {
            const T m = maximum == nullptr ? tile_.maximum(row) : maximum[row];
            totals[row].add(m, tile_.sums(row, m, beta[row]));
          }
        }
      });
    });
    return totals;
  }

  bool is_plain(std::size_t row, const GradientTotals& totals) {
    return !tile_.tile().undefined(row) && totals.sums.weights > 0;
  }
  /// Of a row that sees nothing: all 0; of one whose softmax is NaN: NaN wherever it sees.
  GradientTerms<T> without_sum(std::size_t row) {
    const T value = tile_.tile().undefined(row) ? std::numeric_limits<T>::quiet_NaN() : T(0);
    return {T(0), T(1), value, value, value, T(0), T(0)};
  }

  GradientTile<T> tile_;
  WeightPass<T> statistics_;
  std::size_t width_;  // of a query, with its padding
  AlignedArray<T> keys_, beta_;
  AlignedArray<T> slopes_, probabilities_;  // (rows, key_block) of a block
  bool for_values_;
  RowSpan units_{0, 0};  // rows of the block that run() is at whose dx and p are there
  RowsAhead ahead_{};
  PairwiseSums<T> sums_;
};

}  // namespace softcheck::kernels::cpu
