#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "kernels/cpu/adaptive_beta.hpp"
#include "kernels/cpu/attention_passes.hpp"
#include "kernels/cpu/attention_views.hpp"

namespace softcheck::kernels {

/// Memory on a cache line's boundary, all 0 at first.
template <class T>
class AlignedArray {
 public:
  explicit AlignedArray(std::size_t size)
      : data_(static_cast<T*>(::operator new(std::max<std::size_t>(size, 1) * sizeof(T), alignment))) {
    std::fill(data_.get(), data_.get() + size, T(0));
  }
  T* get() const { return data_.get(); }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Delete {
    void operator()(T* data) const { ::operator delete(data, alignment); }
  };
  std::unique_ptr<T, Delete> data_;
};

/// A TileState and its memory.
template <class T>
class OwnedState {
 public:
  explicit OwnedState(std::size_t width) : rows_(4 * tile_rows), values_(tile_rows * width) {}
  TileState<T> state() const {
    T* rows = rows_.get();
    return {rows, rows + tile_rows, rows + 2 * tile_rows, rows + 3 * tile_rows, values_.get()};
  }

 private:
  AlignedArray<T> rows_, values_;
};

/// The states of blocks of keys merged pairwise in the order of a binary counter: the tree depends on the number of
/// blocks alone, and blocks in which a row sees nothing change none of its bits.
template <class T>
class MergedStates {
 public:
  MergedStates(std::size_t blocks, std::size_t width) {
    // Never more than a state for each bit of the count, and the next one.
    for (std::size_t left = blocks; left != 0; left >>= 1) {
      levels_.emplace_back(width);
    }
    levels_.emplace_back(width);
  }

  void clear() { used_ = count_ = 0; }

  /// Where the next block's state is to be written.
  TileState<T> next() { return levels_[used_].state(); }
  /// Takes what was written there. width: the columns that are wanted, 0 for the statistics alone.
  void push(std::size_t rows, std::size_t width) {
    ++used_;
    for (std::size_t carry = count_++; (carry & 1) != 0; carry >>= 1) {
      merge_last(rows, width);
    }
  }
  /// Of at least one block.
  TileState<T> total(std::size_t rows, std::size_t width) {
    while (used_ > 1) {
      merge_last(rows, width);
    }
    return levels_[0].state();
  }

 private:
  void merge_last(std::size_t rows, std::size_t width) {
    --used_;
    merge_states(levels_[used_ - 1].state(), levels_[used_].state(), rows, width);
  }

  std::vector<OwnedState<T>> levels_;
  std::size_t used_ = 0;
  std::size_t count_ = 0;
};

/// Attention for one tile after the other: up to tile_rows queries of the heads that share one key head, against its
/// keys block by block. Memory: O(dim (tile_rows + key_block) + dim log keys), whatever the call.
template <class T>
class AttentionTile {
 public:
  explicit AttentionTile(const AttentionViews& views)
      : views_(views),
        width_(rounded_up(views.value_dim(), column_group<T>)),
        queries_(tile_rows * views.dim()),
        keys_(key_stride<T> * views.dim()),
        staging_(transposed_rows<T> * views.dim()),
        values_(key_block * width_),
        scores_(tile_rows * key_block),
        weights_(tile_rows * key_block),
        mask_(tile_rows * key_block),
        row_numbers_(4 * tile_rows),
        states_(rounded_up(static_cast<std::size_t>(views.keys()), key_block) / key_block, width_) {}

  /// Rows of one key head, numbered query by query, the heads of the group one after the other.
  static std::int64_t rows_of(const AttentionViews& views) { return views.queries() * views.group(); }

  /// rows results from first on.
  void attend(std::int64_t batch, std::int64_t key_head, std::int64_t first, std::size_t rows, bool adaptive) {
    begin(batch, key_head, first, rows);
    T* maximum = row_numbers_.get() + tile_rows;
    T* beta = row_numbers_.get() + 2 * tile_rows;
    std::fill(beta, beta + rows, T(1));
    if (adaptive) {
      const TileState<T> state = pass(nullptr, beta, 0);
      std::copy(state.maximum, state.maximum + rows, maximum);
      for (std::size_t row = 0; row < rows; ++row) {
        beta[row] = static_cast<T>(adaptive_beta(entropy_of(state, row)));
      }
    }
    finish(pass(adaptive ? maximum : nullptr, beta, width_), beta);
  }

 private:
  std::int64_t head_of(std::size_t row) const {
    return key_head_ * views_.group() + (first_ + static_cast<std::int64_t>(row)) % views_.group();
  }
  std::int64_t query_of(std::size_t row) const { return (first_ + static_cast<std::int64_t>(row)) / views_.group(); }

  void begin(std::int64_t batch, std::int64_t key_head, std::int64_t first, std::size_t rows) {
    batch_ = batch;
    key_head_ = key_head;
    first_ = first;
    rows_ = rows;
    last_key_ = 0;
    const std::int64_t diagonal = views_.keys() - views_.queries();
    for (std::size_t row = 0; row < rows; ++row) {
      T* query = queries_.get() + row * views_.dim();
      const T* read = elements(views_.q, head_of(row), query_of(row), views_.dim(), query);
      if (read != query) {
        std::copy(read, read + views_.dim(), query);
      }
      sees_[row] =
          views_.causal ? std::clamp<std::int64_t>(query_of(row) + diagonal + 1, 0, views_.keys()) : views_.keys();
      last_key_ = std::max(last_key_, sees_[row]);
    }
    std::fill(undefined(), undefined() + tile_rows, T(0));
  }

  T* undefined() const { return row_numbers_.get(); }

  /// count elements of the last dimension: in place where they lie as T, else in buffer.
  const T* elements(const View4& view, std::int64_t head, std::int64_t place, std::size_t count, T* buffer) const {
    const std::byte* from = view.at(batch_, head, place);
    const auto stride = static_cast<std::size_t>(view.strides[3]);
    const bool aligned = reinterpret_cast<std::uintptr_t>(from) % alignof(T) == 0;
    if (view.storage == native_storage<T> && stride == sizeof(T) && aligned) {
      return reinterpret_cast<const T*>(from);
    }
    if (widen_elements(from, view.storage, view.strides[3], count, buffer)) {
      return buffer;
    }
    for (std::size_t i = 0; i < count; ++i) {
      buffer[i] = load_element<T>(from + i * stride, view.storage);
    }
    return buffer;
  }

  /// All blocks of keys that any row sees. maximum: where it is known already, else each block has its own.
  TileState<T> pass(const T* maximum, const T* beta, std::size_t width) {
    states_.clear();
    std::int64_t begin = 0;
    do {  // at least one, if of no keys
      const auto count = static_cast<std::size_t>(std::min<std::int64_t>(key_block, views_.keys() - begin));
      block(begin, count, maximum, beta, width);
      begin += static_cast<std::int64_t>(key_block);
    } while (begin < last_key_);
    return states_.total(rows_, width);
  }

  void block(std::int64_t begin, std::size_t count, const T* maximum, const T* beta, std::size_t width) {
    const TileState<T> state = states_.next();
    TileScores<T> tile{
        rows_, rounded_up(count, block_lanes<T>), scores_.get(), weights_.get(), limits_.data(), nullptr, undefined()};
    bool partial = views_.mask.has_value();
    for (std::size_t row = 0; row < rows_; ++row) {
      limits_[row] =
          static_cast<std::uint32_t>(std::clamp<std::int64_t>(sees_[row] - begin, 0, static_cast<std::int64_t>(count)));
      partial = partial || limits_[row] != count;
    }
    load_keys(begin, count, tile.width);
    tile_product(TileProduct<T>{queries_.get(), views_.dim(), keys_.get(), key_stride<T>, views_.dim(), scores_.get(),
                                key_block},
                 rows_, tile.width);
    if (views_.mask) {
      load_mask(begin, count, tile.width);
      tile.mask = mask_.get();
    }
    mask_scores(tile, static_cast<T>(views_.scale), state.maximum);
    if (maximum != nullptr) {
      for (std::size_t row = 0; row < rows_; ++row) {
        state.maximum[row] = state.maximum[row] == none ? none : maximum[row];
      }
    }
    weigh_scores(tile, state.maximum, beta, state);
    if (width != 0) {
      weigh_values(begin, count, partial, state);
    }
    states_.push(rows_, width);
  }

  /// A block of K, transposed: (dim, key_block) at key_stride, 0 beyond count.
  void load_keys(std::int64_t begin, std::size_t count, std::size_t width) {
    const T* rows[transposed_rows<T>];
    for (std::size_t j = 0; j < width; j += transposed_rows<T>) {
      for (std::size_t r = 0; r < transposed_rows<T>; ++r) {
        T* buffer = staging_.get() + r * views_.dim();
        if (j + r < count) {
          rows[r] = elements(views_.k, key_head_, begin + static_cast<std::int64_t>(j + r), views_.dim(), buffer);
        } else {
          std::fill(buffer, buffer + views_.dim(), T(0));
          rows[r] = buffer;
        }
      }
      transpose_rows(rows, views_.dim(), keys_.get() + j);
    }
  }

  void load_mask(std::int64_t begin, std::size_t count, std::size_t width) {
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::int64_t head = views_.mask->shape[1] == 1 ? 0 : head_of(row);
      const std::byte* from = views_.mask->at(batch_, head, query_of(row), begin);
      T* visible = mask_.get() + row * key_block;
      for (std::size_t j = 0; j < count; ++j) {
        visible[j] = from[static_cast<std::int64_t>(j) * views_.mask->strides[3]] == std::byte{0} ? T(0) : T(1);
      }
      std::fill(visible + count, visible + width, T(0));
    }
  }

  /// O of the block: the weights times V, of which what a row does not see may be infinite or NaN.
  void weigh_values(std::int64_t begin, std::size_t count, bool partial, const TileState<T>& state) {
    const std::size_t dim = views_.value_dim();
    const T* values = values_.get();
    auto stride = width_;
    const auto row_stride = static_cast<std::size_t>(views_.v.strides[2]);
    const T* first = elements(views_.v, key_head_, begin, count == 0 ? 0 : dim, values_.get());
    if (first != values && dim == width_ && row_stride % sizeof(T) == 0) {
      values = first;
      stride = row_stride / sizeof(T);
    } else {
      for (std::size_t j = 0; j < count; ++j) {
        T* to = values_.get() + j * width_;
        const T* from = elements(views_.v, key_head_, begin + static_cast<std::int64_t>(j), dim, to);
        if (from != to) {
          std::copy(from, from + dim, to);
        }
      }
    }
    if (partial && !all_finite(values, stride, count, width_)) {
      return weigh_seen_values(values, stride, count, state);
    }
    tile_product(TileProduct<T>{weights_.get(), key_block, values, stride, count, state.values, width_}, rows_, width_);
  }

  /// The same sums without what a row does not see, as 0 times NaN would be NaN.
  void weigh_seen_values(const T* values, std::size_t stride, std::size_t count, const TileState<T>& state) {
    for (std::size_t row = 0; row < rows_; ++row) {
      T* out = state.values + row * width_;
      std::fill(out, out + width_, T(0));
      for (std::size_t j = 0; j < count; ++j) {
        if (scores_.get()[row * key_block + j] == none) {
          continue;
        }
        const T weight = weights_.get()[row * key_block + j];
        for (std::size_t c = 0; c < width_; ++c) {
          out[c] = std::fma(weight, values[j * stride + c], out[c]);
        }
      }
    }
  }

  static double sum_minus_one(const TileState<T>& state, std::size_t row) {
    return (static_cast<double>(state.ones[row]) - 1) + static_cast<double>(state.rest[row]);
  }
  /// ln S + T / S: both terms are >= 0.
  static double entropy_of(const TileState<T>& state, std::size_t row) {
    const double less_one = sum_minus_one(state, row);
    return std::log1p(less_one) + static_cast<double>(state.deviations[row]) / (1 + less_one);
  }

  void finish(const TileState<T>& state, const T* beta) {
    for (std::size_t row = 0; row < rows_; ++row) {
      T* out = state.values + row * width_;
      double lse = -std::numeric_limits<double>::infinity();
      double entropy = 0;
      if (undefined()[row] != 0) {
        lse = entropy = std::numeric_limits<double>::quiet_NaN();
        std::fill(out, out + width_, std::numeric_limits<T>::quiet_NaN());
      } else if (state.maximum[row] == none) {
        std::fill(out, out + width_, T(0));  // contract masked=zero
      } else {
        const T sum = static_cast<T>(1 + sum_minus_one(state, row));
        for (std::size_t c = 0; c < width_; ++c) {
          out[c] /= sum;
        }
        lse = static_cast<double>(beta[row]) * static_cast<double>(state.maximum[row]) +
              std::log1p(sum_minus_one(state, row));
        entropy = entropy_of(state, row);
      }
      write(row, out, lse, entropy);
    }
  }

  void write(std::size_t row, const T* out, double lse, double entropy) const {
    const std::int64_t head = head_of(row), query = query_of(row);
    for (std::size_t c = 0; c < views_.value_dim(); ++c) {
      store_element(views_.out.at(batch_, head, query, static_cast<std::int64_t>(c)), views_.out.storage, out[c]);
    }
    if (views_.lse) {
      store_element(views_.lse->at(batch_, head, query), views_.lse->storage, lse);
    }
    if (views_.entropy) {
      store_element(views_.entropy->at(batch_, head, query), views_.entropy->storage, entropy);
    }
  }

  static constexpr T none = -std::numeric_limits<T>::infinity();

  const AttentionViews& views_;
  std::size_t width_;  // of V, with its padding
  AlignedArray<T> queries_, keys_, staging_, values_, scores_, weights_, mask_;
  AlignedArray<T> row_numbers_;  // undefined, maximum, beta
  MergedStates<T> states_;
  std::array<std::int64_t, tile_rows> sees_{};
  std::array<std::uint32_t, tile_rows> limits_{};
  std::int64_t batch_ = 0, key_head_ = 0, first_ = 0, last_key_ = 0;
  std::size_t rows_ = 0;
};

}  // namespace softcheck::kernels
