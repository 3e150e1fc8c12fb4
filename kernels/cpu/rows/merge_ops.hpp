#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/arithmetic/aligned_array.hpp"
#include "kernels/call/version_2_views.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/merge_passes.hpp"
#include "kernels/cpu/rows/read_elements.hpp"

// Partial results (O_k, L_k) of an attention to one: O = sum w O_k with w = softmax(L), and the log-sum-exp of L.
namespace softcheck::kernels::cpu {

/// Parts of a block: the contract's blocks:128. Blocks are added pairwise.
inline constexpr std::size_t part_block = 128;

/// The number of terms in the first half of a sum of more than one block: whole blocks, so that the tree is balanced.
constexpr std::size_t first_half(std::size_t count, std::size_t block) {
  std::size_t half = block;
  while (2 * half < count) {
    half *= 2;
  }
  return half;
}

/// The sum of those of some weights that are less than 1. Its blocks are shorter, for the others are added to it.
inline double rest_of(const double* weights, std::size_t count) {
  constexpr std::size_t block = part_block / 4;
  if (count > block) {
    const std::size_t half = first_half(count, block);
    return rest_of(weights, half) + rest_of(weights + half, count - half);
  }
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) {
    sum += weights[k] == 1 ? 0 : weights[k];
  }
  return sum;
}

/// ln(1 + x) of some numbers, in place. For results in f32 a library's logarithm of 3 ulp of double is exact enough.
inline void logarithms(float /*result*/, double* values, std::size_t count) { narrow_logarithms(values, count); }
inline void logarithms(double /*result*/, double* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = std::log1p(values[i]);
  }
}

/// Merges rows of a call, some at a time. Weights and their sums are in double, sums of outputs in T.
template <class T>
class StateMerger {
 public:
  explicit StateMerger(const MergeViews& views)
      : views_(views),
        parts_(static_cast<std::size_t>(views.parts())),
        most_(std::clamp<std::size_t>(batch_items / std::max<std::size_t>(parts_, 1), 1, merged_rows)),
        weights_(rounded_up(most_ * parts_, block_lanes<double>)),
        coefficients_(parts_),
        stride_(
            std::min(merged_columns<T>, rounded_up(static_cast<std::size_t>(views.merged.columns), column_group<T>))),
        staging_(std::min(part_block, parts_) * stride_),
        seen_(most_ * parts_),
        is_large_(views.parts() * views.merged.rows * views.merged.columns > cached_elements) {}

  void merge(std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += static_cast<std::int64_t>(most_)) {
      first_ = first;
      rows_ = std::min(most_, static_cast<std::size_t>(end - first));
      read();
      exponentials(weights_.get(), rounded_up(rows_ * parts_, block_lanes<double>), views_.base_2);
      for (std::size_t r = 0; r < rows_; ++r) {
        logs_[r] = counts_[r] == 0 ? 0 : sum_minus_one(r);
        scales_[r] = 1 / (1 + logs_[r]);
      }
      logarithms(T(), logs_.data(), rows_);
      for (std::size_t r = 0; r < rows_; ++r) {
        put(r);
      }
    }
  }

 private:
  /// Rows at a time, as long as they have no more parts than these together.
  static constexpr std::size_t merged_rows = 32, batch_items = 512;
  /// More than these are not expected in a second-level cache.
  static constexpr std::int64_t cached_elements = std::int64_t{1} << 20;
  static constexpr double none = -std::numeric_limits<double>::infinity();

  /// Finds the parts that are not empty, the largest log-sum-exp of each row, NaN if one is NaN, and how far the
  /// others are below it.
  void read() {
    std::fill(counts_.begin(), counts_.end(), 0);
    std::fill(maxima_.begin(), maxima_.end(), none);
    std::fill(weights_.get(), weights_.get() + rounded_up(rows_ * parts_, block_lanes<double>), none);
    for (std::size_t part = 0; part < parts_; ++part) {
      for (std::size_t r = 0; r < rows_; ++r) {
        const std::byte* from = views_.lse.at(static_cast<std::int64_t>(part), row(r));
        const auto lse = load_element<double>(from, views_.lse.storage);
        if (lse != none) {
          maxima_[r] = std::isnan(maxima_[r]) || maxima_[r] > lse ? maxima_[r] : lse;
          const std::size_t at = r * parts_ + counts_[r]++;
          weights_.get()[at] = lse;
          seen_[at] = static_cast<std::int64_t>(part);
        }
      }
    }
    for (std::size_t r = 0; r < rows_; ++r) {
      for (std::size_t k = 0; k < counts_[r]; ++k) {
        weights_.get()[r * parts_ + k] -= maxima_[r];
      }
    }
  }

  double sum_minus_one(std::size_t r) const {
    const double* weights = weights_.get() + r * parts_;
    const auto ones = static_cast<double>(std::count(weights, weights + counts_[r], 1.0));
    return (ones - 1) + rest_of(weights, counts_[r]);
  }

  void put(std::size_t r) {
    if (!(maxima_[r] < std::numeric_limits<double>::infinity())) {
      return put_all(r, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN());
    }
    if (counts_[r] == 0) {
      return put_all(r, 0, none);  // contract masked=zero
    }
    for (std::size_t k = 0; k < counts_[r]; ++k) {
      coefficients_.get()[k] = static_cast<T>(weights_.get()[r * parts_ + k] * scales_[r]);
    }
    fetch_beyond(r);
    for (std::int64_t column = 0; column < views_.merged.columns; column += columns) {
      alignas(64) std::array<T, merged_columns<T>> sums;
      const auto count = static_cast<std::size_t>(std::min(columns, views_.merged.columns - column));
      add({r, column, count}, 0, counts_[r], sums.data());
      store_elements(sums.data(), count, views_.merged.at(row(r), column), views_.merged.storage,
                     views_.merged.column_stride);
    }
    constexpr double log2_e = 0x1.71547652b82fep+0;
    put_lse(r, maxima_[r] + logs_[r] * (views_.base_2 ? log2_e : 1));
  }

  /// Prefetches the memory that a later row reads and writes: rows with few parts are bound by memory. Always inline,
  /// as fetch.
  [[gnu::always_inline]] void fetch_beyond(std::size_t r) const {
    constexpr std::int64_t ahead = 4, line = 64 / sizeof(T);
    const std::int64_t next = row(r) + ahead;
    if (!is_large_ || next >= views_.merged.rows) {
      return;
    }
    for (std::int64_t c = 0; c < views_.merged.columns; c += line) {
      __builtin_prefetch(views_.merged.at(next, c), 1, 2);
      for (std::size_t k = 0; k < parts_; ++k) {
        fetch(views_.outputs.at(static_cast<std::int64_t>(k), next, c));
      }
    }
  }

  /// Some columns of a row of the batch.
  struct Piece {
    std::size_t row;
    std::int64_t column;
    std::size_t count;
  };

  /// to = the sum over parts [begin, begin + parts) of those seen.
  void add(const Piece& piece, std::size_t begin, std::size_t parts, T* to) {
    const std::size_t width = rounded_up(piece.count, column_group<T>);
    if (parts > part_block) {
      const std::size_t half = first_half(parts, part_block);
      alignas(64) std::array<T, merged_columns<T>> right;
      add(piece, begin, half, to);
      add(piece, begin + half, parts - half, right.data());
      return add_elements(right.data(), width, to);
    }
    for (std::size_t k = 0; k < parts; ++k) {
      const std::int64_t part = seen_[piece.row * parts_ + begin + k];
      at_[k] = outputs(part, piece, staging_.get() + k * stride_);
    }
    weighted_sum(at_.data(), coefficients_.get() + begin, parts, width, to);
  }

  /// A part's columns where they lie, or in buffer, filled up with 0 to a group of columns.
  const T* outputs(std::int64_t part, const Piece& piece, T* buffer) const {
    const View4& view = views_.outputs;
    const std::byte* from = view.at(part, row(piece.row), piece.column);
    // In place only where nothing beyond the columns would be read.
    if (piece.count % column_group<T> == 0) {
      return read_elements(from, view.storage, view.strides[2], piece.count, buffer);
    }
    const std::size_t width = rounded_up(piece.count, column_group<T>);
    copy_elements(from, view.storage, view.strides[2], piece.count, width, buffer);
    return buffer;
  }

  void put_all(std::size_t r, double value, double lse) const {
    for (std::int64_t c = 0; c < views_.merged.columns; ++c) {
      store_element(views_.merged.at(row(r), c), views_.merged.storage, value);
    }
    put_lse(r, lse);
  }
  void put_lse(std::size_t r, double lse) const {
    store_element(views_.merged_lse.at(row(r), 0), views_.merged_lse.storage, lse);
  }

  std::int64_t row(std::size_t r) const { return first_ + static_cast<std::int64_t>(r); }

  static constexpr auto columns = static_cast<std::int64_t>(merged_columns<T>);

  const MergeViews& views_;
  std::size_t parts_, most_;
  AlignedArray<double> weights_;  // (rows, parts): first the log-sum-exps; those of a row's empty parts are left out
  AlignedArray<T> coefficients_;
  std::size_t stride_;  // between the parts of staging
  AlignedArray<T> staging_;
  std::vector<std::int64_t> seen_;  // (rows, parts): the parts of the weights
  std::array<std::size_t, merged_rows> counts_{};
  std::array<double, merged_rows> maxima_{}, logs_{}, scales_{};
  std::array<const T*, part_block> at_{};
  bool is_large_;
  std::int64_t first_ = 0;
  std::size_t rows_ = 0;
};

/// Rows [begin, end) of a call.
template <class T>
void merge_states_rows(const MergeViews& views, std::int64_t begin, std::int64_t end) {
  StateMerger<T>(views).merge(begin, end);
}

}  // namespace softcheck::kernels::cpu
