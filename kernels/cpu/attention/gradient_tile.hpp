#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/cpu/attention/attention_passes.hpp"
#include "kernels/cpu/attention/score_tile.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/gradient_terms.hpp"

// The gradient of attention. With g_j = <dO, v_j> and dx the gradient with respect to a query's scores,
//
//   dq = scale sum_j dx_j k_j,   dk_j = scale sum over queries of dx_j q,   dv_j = sum over queries of p_j dO.
//
// dx is that of a row of (adaptive) softmax, adaptive_backward.hpp: it needs the row's scores, g and GradientTerms. A
// tile of queries goes through all keys for these terms, and again for dx and the products with it. In between it keeps
// its scores and g, or computes them again. If the call has the results of the forward pass, the terms follow from
// these, and one pass is enough. Nothing of size queries times keys is stored.
namespace softcheck::kernels::cpu {

/// A tile's scores and g against blocks of keys.
template <class T>
class GradientTile {
 public:
  /// capacity: rows of the largest tile, whole vectors.
  GradientTile(const AttentionViews& views, std::size_t capacity)
      : scores_(views, capacity, std::min(capacity, row_part)),
        incoming_width_(rounded_up(views.value_dim(), column_group<T>)),
        keys_(key_stride<T> * views.dim()),
        values_(key_stride<T> * views.value_dim()),
        incoming_(capacity * incoming_width_, T(0)),
        maximum_(capacity),
        of_block_(2 * capacity * key_block),
        own_(of_block_),
        at_(own_.get()) {}

  /// twice: whether blocks will be scored again: then their scores and g are kept, if they fit into
  /// gradient_cached_bytes.
  void begin(const AttentionViews& views, const TilePlace& place, bool twice = false) {
    scores_.begin(views, place);
    scores_.load_rows(views.out, incoming_width_, incoming_.get());
    const std::size_t size = 2 * cached_size(of_block_ / (2 * key_block), scores_.seen_keys());
    keeps_ = twice && size * sizeof(T) <= gradient_cached_bytes;
    if (keeps_ && cached_size_ < size) {
      // Allocates for all keys at once: each causal tile sees more keys than the one before.
      const std::size_t all = 2 * cached_size(of_block_ / (2 * key_block), views.keys());
      cached_size_ = std::min(all, gradient_cached_bytes / sizeof(T));
      cache_ = AlignedArray<T>(cached_size_);
    }
  }

  /// K and V of a block, for this tile and others of its key head.
  void load(const KeySpan& keys) {
    scores_.load_keys(scores_.views().k, keys, keys_.get());
    scores_.load_keys(scores_.views().v, keys, values_.get());
  }

  /// Computes scores and g against the loaded block, for the rows that see any of it, part by part. Calls each(part)
  /// after those of a part, while they are in the L1 cache.
  template <class Each>
  void score(const KeySpan& keys, Each each) {
    at_ = place_of(keys);
    width_ = rounded_up(keys.count, row_group<T>);
    const KeySpan next = scores_.next_block(keys);
    RowsAhead keys_ahead = scores_.rows_ahead(scores_.views().k, next);
    RowsAhead values_ahead = scores_.rows_ahead(scores_.views().v, next);
    scores_.score_all(keys_.get(), keys, at_, maximum_.get(), &keys_ahead, [&](const RowSpan& part) {
      tile_product(TileProduct<T>{incoming_.get() + part.first * incoming_width_, incoming_width_, 1, values_.get(),
                                  key_stride<T>, scores_.views().value_dim(),
                                  at_ + of_block_ / 2 + part.first * key_block, key_block, &values_ahead},
                   part.count(), width_);
      each(part);
    });
  }
  void score(const KeySpan& keys) {
    score(keys, [](const RowSpan&) {});
  }
  /// The same of a block that was scored before, since begin.
  void score_again(const KeySpan& keys) {
    if (keeps_) {
      at_ = place_of(keys);
      width_ = scores_.see(keys);
    } else {
      load(keys);
      score(keys);
    }
  }
  /// Scores and g of the next block, if they are kept: for the products to prefetch.
  RowsAhead scores_ahead(const KeySpan& keys) const {
    const KeySpan next = scores_.next_block(keys);
    if (!keeps_ || next.count == 0) {
      return {};
    }
    constexpr std::size_t bytes = key_block * sizeof(T);
    return {reinterpret_cast<const std::byte*>(place_of(next)), static_cast<std::int64_t>(bytes), bytes,
            of_block_ / key_block};
  }
  // Of a row against the block scored last: its largest score, its sums relative to m, and dx.
  T maximum(std::size_t row) const { return maximum_.get()[row]; }
  GradientSums<T> sums(std::size_t row, T m, T beta) const {
    return gradient_sums(scores() + row * key_block, gradients() + row * key_block, width_, m, beta);
  }
  /// slopes, probabilities: (key_block) each; without probabilities where these are nullptr.
  void differentiate(std::size_t row, const GradientTerms<T>& terms, T* slopes, T* probabilities) const {
    block_gradient(scores() + row * key_block, gradients() + row * key_block, width_, terms, slopes, probabilities);
  }

  ScoreTile<T>& tile() { return scores_; }
  /// dO, (rows, value dim) filled up with 0.
  RowMajor<T> incoming() const { return {incoming_.get(), incoming_width_}; }
  /// (rows, key_block), of the block scored last.
  const T* scores() const { return at_; }
  /// (rows, key_block): g of the rows that see any of the block.
  const T* gradients() const { return at_ + of_block_ / 2; }
  /// The same for a block before score() computes it: the caller may overwrite parts that it no longer needs.
  T* begin_gradients(const KeySpan& keys) { return place_of(keys) + of_block_ / 2; }

 private:
  T* place_of(const KeySpan& keys) const {
    return keeps_ ? cache_.get() + scores_.number_of(keys) * of_block_ : own_.get();
  }

  ScoreTile<T> scores_;
  std::size_t incoming_width_;
  AlignedArray<T> keys_, values_, incoming_, maximum_;
  std::size_t of_block_;  // numbers of a block: scores and g
  AlignedArray<T> own_, cache_{0};
  T* at_;  // of the block scored last
  std::size_t cached_size_ = 0;
  std::size_t width_ = 0;
  bool keeps_ = false;
};

/// from = scale from, and to the same; -0 becomes 0, so that blocks of keys which a row does not see change no bit.
template <class T>
void write_scaled(const View4& to, std::int64_t batch, std::int64_t head, std::int64_t row, T* from, T scale) {
  const auto count = static_cast<std::size_t>(to.shape[3]);
  for (std::size_t c = 0; c < count; ++c) {
    from[c] = scale * from[c] + T(0);
  }
  store_elements(from, count, to.at(batch, head, row), to.storage, to.strides[3]);
}

/// Stores a block of dk or dv, (count, stride), if the call has that output.
template <class T>
void write_keys(const std::optional<View4>& to, std::int64_t batch, std::int64_t key_head, const KeySpan& keys, T* from,
                std::size_t stride, T scale) {
  for (std::size_t j = 0; to && j < keys.count; ++j) {
    write_scaled(*to, batch, key_head, keys.begin + static_cast<std::int64_t>(j), from + j * stride, scale);
  }
}

}  // namespace softcheck::kernels::cpu
