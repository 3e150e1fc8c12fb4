#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/arithmetic/aligned_array.hpp"
#include "kernels/cpu/attention/gradient_tile.hpp"
#include "kernels/cpu/attention/key_sums.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/gradient_terms.hpp"

namespace softcheck::kernels::cpu {

/// dk and dv of a block of keys: sums over all rows of their key head, tile by tile, in an order that depends only on
/// the shapes.
template <class T>
class KeyGradient {
 public:
  /// views: of the call with the most queries.
  explicit KeyGradient(const AttentionGradientViews& views)
      : tile_(views.forward, gradient_rows),
        probabilities_(gradient_rows * key_block),
        slopes_(gradient_rows * key_block),
        dk_(1, tile_.tile().queries().stride, tiles_of(views.forward)),
        dv_(1, tile_.incoming().stride, tiles_of(views.forward)) {}

  /// terms: of the key head's rows.
  void run(const AttentionGradientViews& views, std::int64_t batch, std::int64_t key_head, const KeySpan& keys,
           const GradientTerms<T>* terms) {
    const AttentionViews& forward = views.forward;
    dk_.clear();
    dv_.clear();
    const std::int64_t rows = rows_of(forward);
    const std::int64_t begin = first_row(forward, keys);
    for (std::int64_t first = begin; first < rows; first += most) {
      tile_.begin(forward, {batch, key_head, first, static_cast<std::size_t>(std::min(most, rows - first))});
      if (first == begin) {
        tile_.load(keys);
      }
      add_tile(keys, terms + first, static_cast<std::size_t>(first / most), views.dv.has_value());
    }
    write_keys(views.dk, batch, key_head, keys, dk_.total(0), tile_.tile().queries().stride,
               static_cast<T>(forward.scale));
    write_keys(views.dv, batch, key_head, keys, dv_.total(0), tile_.incoming().stride, T(1));
  }

 private:
  static constexpr auto most = static_cast<std::int64_t>(gradient_rows);

  static std::size_t tiles_of(const AttentionViews& views) {
    return static_cast<std::size_t>((rows_of(views) + most - 1) / most);
  }

  /// The first row of the first tile that sees any of the keys.
  static std::int64_t first_row(const AttentionViews& forward, const KeySpan& keys) {
    const std::int64_t diagonal = forward.keys() - forward.queries();
    const std::int64_t right = forward.causal ? 0 : forward.attributes.right;
    const std::int64_t first_query = std::max<std::int64_t>(keys.begin - diagonal - right, 0);
    return first_query * forward.group() / most * most;
  }

  void add_tile(const KeySpan& keys, const GradientTerms<T>* terms, std::size_t number, bool of_values) {
    tile_.score(keys);
    for (std::size_t row = 0; row < tile_.tile().rows(); ++row) {
      tile_.differentiate(row, terms[row], slopes_.get() + row * key_block, probabilities_.get() + row * key_block);
    }
    add_product(keys, slopes_.get(), tile_.tile().queries(), number, dk_);
    if (of_values) {
      add_product(keys, probabilities_.get(), tile_.incoming(), number, dv_);
    }
  }

  /// a^T b of a tile's rows to sums, a (rows, key_block).
  void add_product(const KeySpan& keys, const T* a, const RowMajor<T>& b, std::size_t number, KeySums<T>& sums) {
    ScoreTile<T>& scores = tile_.tile();
    add_contribution(TileProduct<T>{a, 1, key_block, b.data, b.stride, scores.rows(), nullptr, b.stride}, 0,
                     scores.partial(), tile_.scores(), keys.count, 0, number, sums);
  }

  GradientTile<T> tile_;
  AlignedArray<T> probabilities_, slopes_;  // (rows, key_block)
  KeySums<T> dk_, dv_;
};

}  // namespace softcheck::kernels::cpu
