#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/block/log_softmax.hpp"
#include "kernels/cpu/adaptive_beta.hpp"
#include "kernels/cpu/call_views.hpp"
#include "kernels/strict/block_state.hpp"

namespace softcheck::kernels::strict {

/// count elements from (row, begin) on, filled up with -inf, as are those that are masked: in place where they lie as
/// T and need no filling, else in buffer.
template <class T>
const T* read_items(const View& from, const View* mask, std::int64_t row, std::int64_t begin, std::size_t count,
                    std::size_t padded, T* buffer) {
  const std::byte* first = from.at(row, begin);
  const bool in_place = from.storage == native_storage<T> && from.column_stride == sizeof(T);
  const bool aligned = reinterpret_cast<std::uintptr_t>(first) % alignof(T) == 0;
  if (in_place && aligned && mask == nullptr && count == padded) return reinterpret_cast<const T*>(first);
  if (in_place) {
    std::memcpy(buffer, first, count * sizeof(T));
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      buffer[i] = load_element<T>(first + static_cast<std::int64_t>(i) * from.column_stride, from.storage);
    }
  }
  if (mask != nullptr) {
    for (std::size_t i = 0; i < count; ++i) {
      if (*mask->at(row, begin + static_cast<std::int64_t>(i)) == std::byte{0}) buffer[i] = minus_infinity<T>();
    }
  }
  std::fill(buffer + count, buffer + padded, minus_infinity<T>());
  return buffer;
}

/// One row after the other through the passes, in pieces that stay in the first-level cache.
template <class T>
class StrictRows {
 public:
  explicit StrictRows(const CallViews& views) : views_(views), scale_(static_cast<T>(1 / views.theta)) {}

  void softmax(std::int64_t row) {
    const RowStatistics<T> all = statistics(row, scale_, false);
    write(row, all.maximum, write_weights, scale_, T(1) / (T(1) + all.weights.total()));
  }

  void log_softmax(std::int64_t row) {
    const RowStatistics<T> all = statistics(row, scale_, false);
    write(row, all.maximum, write_logs, scale_, static_cast<T>(logarithm_of_sum(all)));
  }

  void logsumexp(std::int64_t row) {
    const double all = log_sum_exp(statistics(row, scale_, false), views_.theta);
    store_element(views_.output().at(row, 0), views_.output().storage, all);
  }

  void entropy(std::int64_t row) {
    const RowStatistics<T> all = statistics(row, scale_, true);
    double entropy = columns() == 0 ? 0 : not_a_number<double>();
    if (all.defined() && !all.empty()) entropy = entropy_of(all);
    store_element(views_.output().at(row, 0), views_.output().storage, entropy);
  }

  void adaptive_softmax(std::int64_t row) {
    const RowStatistics<T> all = statistics(row, T(1), true);
    T beta = 1, factor = 0;
    if (all.maximum > minus_infinity<T>()) {
      beta = static_cast<T>(adaptive_beta(entropy_of(all)));
      clear(sums_, used());
      each_piece(row, [&](std::int64_t, const T* x, std::size_t, std::size_t padded) {
        add_weights(sums_, x, padded, all.maximum, beta);
      });
      factor = T(1) / merge_threads(sums_, used()).total();
    }
    write(row, all.maximum, write_weights, beta, factor);
  }

 private:
  static constexpr std::size_t piece = 8 * items_of_block;

  std::int64_t columns() const { return views_.logits.columns; }
  std::size_t used() const { return threads_with(static_cast<std::size_t>(columns())); }

  /// one(begin, items, count, count with their filling).
  template <class One>
  void each_piece(std::int64_t row, One one) {
    for (std::int64_t begin = 0; begin < columns(); begin += static_cast<std::int64_t>(piece)) {
      const auto count = static_cast<std::size_t>(std::min<std::int64_t>(piece, columns() - begin));
      const std::size_t padded = (count + filled<T> - 1) / filled<T> * filled<T>;
      one(begin, read_items<T>(views_.logits, views_.mask_or_null(), row, begin, count, padded, items_), count, padded);
    }
  }

  RowStatistics<T> statistics(std::int64_t row, T scale, bool deviations) {
    clear(state_, used());
    each_piece(row, [&](std::int64_t, const T* x, std::size_t, std::size_t padded) {
      add_items(state_, x, padded, scale, deviations);
    });
    return merge_threads(state_, used(), scale);
  }

  /// results = pass(x, maximum, scale, last).
  using Pass = void (*)(const T* x, std::size_t count, T maximum, T scale, T last, T* results);
  void write(std::int64_t row, T maximum, Pass pass, T scale, T last) {
    const bool defined = maximum > minus_infinity<T>();
    const View& out = views_.output();
    if (!defined) std::fill(results_, results_ + piece, not_a_number<T>());
    each_piece(row, [&](std::int64_t begin, const T* x, std::size_t count, std::size_t padded) {
      if (defined) pass(x, padded, maximum, scale, last, results_);
      write_row(out, row, begin, results_, count);
    });
  }

  const CallViews& views_;
  T scale_;
  BlockState<T> state_;
  BlockSums<T> sums_;
  alignas(64) T items_[piece];
  alignas(64) T results_[piece];
};

}  // namespace softcheck::kernels::strict
