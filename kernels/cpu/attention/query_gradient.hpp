#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
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

/// The sum of the products of two rows, in double: eight chains, so that the sum does not wait for each addition.
template <class T>
double sum_of_products(const T* a, const T* b, std::size_t count) {
  std::array<double, 8> sums{};
  for (std::size_t i = 0; i < count; i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) {
      sums[lane] += static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
    }
  }
  double sum = 0;
  for (const double lane : sums) {
    sum += lane;
  }
  return sum;
}

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

/// Computes a tile of queries: their terms, dq, and their part of dk and dv. Tiles have 2^i gradient_rows rows, except
/// the last of a key head, and begin at multiples of that.
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
        outputs_(views.saved_out ? capacity * tile_.incoming().stride : 0, T(0)),
        slopes_(capacity * key_block),
        probabilities_(for_keys && views.dv ? capacity * key_block : 0),
        for_values_(for_keys && views.dv),
        sums_(static_cast<std::size_t>(views.forward.keys()) / key_block + 1, capacity * width_) {}

  /// Calls each(keys) for the blocks that any of the rows sees, in order; each may call add_to. terms: (rows)
  template <class Each>
  void run(const AttentionGradientViews& views, const TilePlace& place, bool adaptive, GradientTerms<T>* terms,
           Each each) {
    const bool saved = views.saved_lse && !adaptive;
    tile_.begin(views.forward, place, !saved);
    if (saved) {
      find_saved_terms(views, terms);
    } else if (adaptive) {
      find_adaptive_terms(terms);
    } else {
      find_terms(views, terms);
    }
    ScoreTile<T>& scores = tile_.tile();
    sums_.clear();
    scores.each_block([&](const KeySpan& keys) {
      if (saved) {
        score_and_differentiate(keys, terms);
      } else {
        tile_.score_again(keys);
        find_units();
        dx_ = slopes_.get();
        differentiate(units_, terms);
        ahead_ = tile_.scores_ahead(keys);
      }
      add_query_gradients(views.forward.k, keys);
      each(keys);
    });
    T* dq = sums_.total();
    for (std::size_t row = 0; row < place.rows; ++row) {
      write_scaled(views.dq, place.batch, scores.head_of(row), scores.query_of(row), dq + row * width_,
                   static_cast<T>(views.forward.scale));
    }
  }

  /// Adds the rows' part of dk, and of dv if the call has it, for the block that run() is at. tile: the number of the
  /// rows' tile.
  void add_to(KeyGradientSums<T>& sums, const KeySpan& keys, std::size_t tile) {
    if (units_.count() == 0) {
      return;
    }
    add_contribution(dx_, tile_.tile().queries(), keys, tile, sums.dk);
    if (for_values_) {
      add_contribution(probabilities_.get(), tile_.incoming(), keys, tile, sums.dv);
    }
  }

 private:
  /// The rows that see any of the block, rounded outward to whole units of gradient_rows.
  void find_units() {
    const RowSpan seen = tile_.tile().seen_rows();
    units_ = {seen.first / gradient_rows * gradient_rows,
              std::min(rounded_up(seen.last, gradient_rows), tile_.tile().rows())};
  }

  /// dx and p of some rows of the block.
  void differentiate(const RowSpan& rows, const GradientTerms<T>* terms) {
    for (std::size_t row = rows.first; row < rows.last; ++row) {
      T* p = for_values_ ? probabilities_.get() + row * key_block : nullptr;
      tile_.differentiate(row, terms[row], dx_ + row * key_block, p);
    }
  }

  /// For terms that are known before any score: differentiates each part of the rows while its scores are in the L1
  /// cache; dx overwrites g.
  void score_and_differentiate(const KeySpan& keys, const GradientTerms<T>* terms) {
    tile_.load(keys);
    dx_ = tile_.begin_gradients(keys);
    tile_.score(keys, [&](const RowSpan& part) { differentiate(part, terms); });
    find_units();
    const RowSpan seen = tile_.tile().seen_rows();
    differentiate({units_.first, std::max(seen.first, units_.first)}, terms);
    differentiate({std::min(seen.last, units_.last), units_.last}, terms);
  }

  void add_query_gradients(const View4& k, const KeySpan& keys) {
    const ScoreTile<T>& scores = tile_.tile();
    const RowMajor<T> rows = scores.keys_in_rows(k, keys, width_, keys_.get());
    const auto [dq, add] = sums_.next();
    if (!add) {
      std::fill(dq, dq + units_.first * width_, T(0));
      std::fill(dq + units_.last * width_, dq + scores.rows() * width_, T(0));
    }
    const std::size_t first = units_.first * key_block;
    const TileProduct<T> product{
        dx_ + first, key_block, 1, rows.data, rows.stride, keys.count, dq + units_.first * width_, width_, &ahead_};
    partial_chained_product({product, key_block, 0, add}, scores.partial(), tile_.scores() + first, units_.count(),
                            width_);
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

  /// The row's number of those of a view, 0 of none.
  double number_of(const std::optional<View4>& all, std::size_t row) {
    const ScoreTile<T>& scores = tile_.tile();
    const std::int64_t batch = scores.place().batch;
    return all ? load_element<double>(all->at(batch, scores.head_of(row), scores.query_of(row)), all->storage) : 0;
  }

  void find_terms(const AttentionGradientViews& views, GradientTerms<T>* terms) {
    const std::vector<GradientTotals> totals = gradient_totals(nullptr, beta_.get());
    for (std::size_t row = 0; row < totals.size(); ++row) {
      terms[row] = is_plain(row, totals[row])
                       ? gradient_terms<T>(totals[row], {1, 0}, 1, 0, number_of(views.by_lse, row))
                       : without_sum<T>(tile_.tile().undefined(row));
    }
  }

  /// The terms from the results of the forward pass: p = exp(x - L), and sum p g = <dO, out>.
  void find_saved_terms(const AttentionGradientViews& views, GradientTerms<T>* terms) {
    const RowMajor<T> incoming = tile_.incoming();
    tile_.tile().load_rows(*views.saved_out, incoming.stride, outputs_.get());
    for (std::size_t row = 0; row < tile_.tile().rows(); ++row) {
      const std::size_t first = row * incoming.stride;
      const double mean = sum_of_products(incoming.data + first, outputs_.get() + first, incoming.stride);
      terms[row] = saved_terms<T>(number_of(views.saved_lse, row), mean - number_of(views.by_lse, row));
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
              : without_sum<T>(tile_.tile().undefined(row));
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
  GradientTile<T> tile_;
  WeightPass<T> statistics_;
  std::size_t width_;  // of a query, with its padding
  AlignedArray<T> keys_, beta_;
  AlignedArray<T> outputs_;                 // of the forward pass, (rows, value dim) like dO
  AlignedArray<T> slopes_, probabilities_;  // (rows, key_block) of a block; slopes_ where g is kept
  bool for_values_;
  T* dx_ = nullptr;      // (rows, key_block) of the block that run() is at
  RowSpan units_{0, 0};  // rows of the block that run() is at whose dx and p are there
  RowsAhead ahead_{};
  PairwiseSums<T> sums_;
};

}  // namespace softcheck::kernels::cpu
