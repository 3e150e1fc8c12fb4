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
#include "kernels/cpu/merge_passes.hpp"
#include "kernels/cpu/read_elements.hpp"

// Partial results (O_k, L_k) of an attention to one: O = sum w O_k with w = softmax(L), and the log-sum-exp of L.
namespace softcheck::kernels::cpu {

/// Parts of a block: the contract's blocks:128. Blocks are added pairwise.
inline constexpr std::size_t part_block = 128;

/// The terms of a sum of more than one block that are added to the rest: whole blocks, as many as keep the tree
/// balanced.
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

/// Merges rows of a call, one after the other. Weights and their sum are in double, sums of outputs in T.
template <class T>
class StateMerger {
 public:
  explicit StateMerger(const MergeViews& views)
      : views_(views),
        weights_(rounded_up(static_cast<std::size_t>(views.parts()), block_lanes<double>)),
        coefficients_(static_cast<std::size_t>(views.parts())),
        staging_(part_block * merged_columns<T>, T(0)) {
    seen_.reserve(static_cast<std::size_t>(views.parts()));
  }

  void merge(std::int64_t row) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const double maximum = read(row);
    if (!(maximum < std::numeric_limits<double>::infinity())) {
      return put_all(row, static_cast<T>(nan), nan);
    }
    if (seen_.empty()) {
      return put_all(row, T(0), maximum);  // contract masked=zero
    }
    const double sum_minus_one = weigh(maximum);
    for (std::int64_t first = 0; first < views_.merged.columns; first += columns) {
      alignas(64) std::array<T, merged_columns<T>> sums;
      const auto count = static_cast<std::size_t>(std::min(columns, views_.merged.columns - first));
      add(row, first, count, 0, seen_.size(), sums.data());
      store_elements(sums.data(), count, views_.merged.at(row, first), views_.merged.storage,
                     views_.merged.column_stride);
    }
    constexpr double log2_e = 0x1.71547652b82fep+0;
    const double log = std::log1p(sum_minus_one) * (views_.base_2 ? log2_e : 1);
    put_lse(row, maximum + log);
  }

 private:
  static constexpr auto columns = static_cast<std::int64_t>(merged_columns<T>);

  /// Finds the parts that are not empty and the largest log-sum-exp: NaN where one is NaN.
  double read(std::int64_t row) {
    seen_.clear();
    double maximum = -std::numeric_limits<double>::infinity();
    for (std::int64_t part = 0; part < views_.parts(); ++part) {
      const auto lse = load_element<double>(views_.lse.at(part, row), views_.lse.storage);
      if (lse == -std::numeric_limits<double>::infinity()) {
        continue;
      }
      maximum = std::isnan(lse) || lse > maximum ? lse : maximum;
      if (std::isnan(maximum)) {
        return maximum;
      }
      weights_.get()[seen_.size()] = lse;
      seen_.push_back(part);
    }
    return maximum;
  }

  /// The coefficients of the parts; S - 1.
  double weigh(double maximum) {
    double* weights = weights_.get();
    const std::size_t count = seen_.size(), padded = rounded_up(count, block_lanes<double>);
    for (std::size_t k = 0; k < count; ++k) {
      weights[k] -= maximum;
    }
    std::fill(weights + count, weights + padded, -std::numeric_limits<double>::infinity());
    exponentials(weights, padded, views_.base_2);
    const auto ones = static_cast<double>(std::count(weights, weights + count, 1.0));
    const double sum_minus_one = (ones - 1) + rest_of(weights, count);
    for (std::size_t k = 0; k < count; ++k) {
      coefficients_.get()[k] = static_cast<T>(weights[k] / (1 + sum_minus_one));
    }
    return sum_minus_one;
  }

  /// to = the sum over parts [begin, begin + parts) of those seen, of count columns.
  void add(std::int64_t row, std::int64_t first, std::size_t count, std::size_t begin, std::size_t parts, T* to) {
    const std::size_t width = rounded_up(count, column_group<T>);
    if (parts > part_block) {
      const std::size_t half = first_half(parts, part_block);
      alignas(64) std::array<T, merged_columns<T>> right;
      add(row, first, count, begin, half, to);
      add(row, first, count, begin + half, parts - half, right.data());
      return add_elements(right.data(), width, to);
    }
    for (std::size_t k = 0; k < parts; ++k) {
      at_[k] = outputs(seen_[begin + k], row, first, count, staging_.get() + k * merged_columns<T>);
    }
    weighted_sum(at_.data(), coefficients_.get() + begin, parts, width, to);
  }

  /// A part's columns where they lie, or in buffer; what fills a group of columns up is anything.
  const T* outputs(std::int64_t part, std::int64_t row, std::int64_t first, std::size_t count, T* buffer) const {
    const View4& view = views_.outputs;
    const std::byte* from = view.at(part, row, first);
    // In place only where nothing beyond the columns would be read.
    if (count % column_group<T> == 0) {
      return read_elements(from, view.storage, view.strides[2], count, buffer);
    }
    copy_elements(from, view.storage, view.strides[2], count, count, buffer);
    return buffer;
  }

  void put_all(std::int64_t row, T value, double lse) const {
    for (std::int64_t c = 0; c < views_.merged.columns; ++c) {
      store_element(views_.merged.at(row, c), views_.merged.storage, value);
    }
    put_lse(row, lse);
  }
  void put_lse(std::int64_t row, double lse) const {
    store_element(views_.merged_lse.at(row, 0), views_.merged_lse.storage, lse);
  }

  const MergeViews& views_;
  AlignedArray<double> weights_;  // first the log-sum-exps
  AlignedArray<T> coefficients_, staging_;
  std::vector<std::int64_t> seen_;  // parts that are not empty
  std::array<const T*, part_block> at_{};
};

/// Rows [begin, end) of a call.
template <class T>
void merge_states_rows(const MergeViews& views, std::int64_t begin, std::int64_t end) {
  StateMerger<T> merger(views);
  for (std::int64_t row = begin; row < end; ++row) {
    merger.merge(row);
  }
}

}  // namespace softcheck::kernels::cpu
