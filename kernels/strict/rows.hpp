#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/block/f64_rows.hpp"
#include "kernels/call/call_views.hpp"
#include "kernels/strict/block_state.hpp"
#include "kernels/strict/elements.hpp"
#include "kernels/strict/gradient_passes.hpp"
#include "kernels/strict/machine.hpp"

namespace softcheck::kernels::strict {

/// Items begin to begin + count - 1 of a row as T, with -inf for masked items and after the last one.
///
/// mask      (rows, columns) of bytes, or nullptr; an item of byte 0 is masked
/// buffer    (padded), padded >= count
/// returns   (padded): the tensor's own memory if the items are stored as T, none is masked and padded is count; else
///           buffer
template <class T>
const T* read_items(const View& from, const View* mask, std::int64_t row, std::int64_t begin, std::size_t count,
                    std::size_t padded, T* buffer) {
  const T* items = elements(from.at(row, begin), from.storage, from.column_stride, count, buffer);
  if (mask == nullptr && count == padded) return items;
  if (items != buffer) std::copy(items, items + count, buffer);
  if (mask != nullptr) {
    for (std::size_t i = 0; i < count; ++i) {
      if (*mask->at(row, begin + static_cast<std::int64_t>(i)) == std::byte{0}) buffer[i] = minus_infinity<T>();
    }
  }
  std::fill(buffer + count, buffer + padded, minus_infinity<T>());
  return buffer;
}

/// The kernels of statistics of kernels/block/entropy.hpp, one row of a call at a time. T is the accumulator, float or
/// double. It takes a row through the passes in pieces of 4096 items, which stay in the first-level cache. The memory
/// does not depend on the call. Each thread of the operating system has its own object; the views outlive it.
template <class T>
class StrictStatistics {
 public:
  explicit StrictStatistics(const CallViews& views) : views_(views), scale_(static_cast<T>(1 / views.theta)) {}

  /// VarentropyKernel.
  void varentropy(std::int64_t row) {
    store(0, row, or_nan(statistics(row, scale_, Moments::squares), varentropy_of<T>));
  }

  /// RowStatisticsKernel, of the first n_outputs of m, S - 1, T and U: the others are not computed.
  void row_statistics(std::int64_t row) {
    constexpr Moments moments[] = {Moments::weights, Moments::weights, Moments::deviations, Moments::squares};
    const StatisticsResults<T> values(statistics(row, scale_, moments[views_.n_outputs - 1]));
    for (std::uint32_t i = 0; i < views_.n_outputs; ++i) store(i, row, static_cast<double>(values.entry[i]));
  }

  /// row_statistics(): the statistics of a row, by one read of it. scale: 1 / theta, or 1.
  RowStatistics<T> statistics(std::int64_t row, T scale, Moments moments) {
    clear(state_, used(), moments);
    each_piece(row, [&](std::int64_t, const T* x, std::size_t, std::size_t padded) {
      passes_.add_items(state_, x, padded, scale, moments);
    });
    return passes_.merge_states(state_, used(), scale, moments);
  }

 protected:
  static constexpr std::size_t piece = 8 * items_of_block;

  std::int64_t columns() const { return views_.logits.columns; }
  std::size_t used() const { return threads_with(static_cast<std::size_t>(columns())); }

  /// Calls one(begin, x, count, padded) for each piece of a row: its count items from begin on, filled up to padded
  /// items with -inf.
  template <class One>
  void each_piece(std::int64_t row, One one) {
    for (std::int64_t begin = 0; begin < columns(); begin += static_cast<std::int64_t>(piece)) {
      const auto count = static_cast<std::size_t>(std::min<std::int64_t>(piece, columns() - begin));
      const std::size_t padded = (count + filled<T> - 1) / filled<T> * filled<T>;
      one(begin, read_items<T>(views_.logits, views_.mask_or_null(), row, begin, count, padded, items_), count, padded);
    }
  }

  void store(std::uint32_t output, std::int64_t row, double value) const {
    const View& to = views_.outputs[output];
    store_element(to.at(row, 0), to.storage, value);
  }

  const RowPasses<T>& passes_ = row_passes<T>();
  const CallViews& views_;
  T scale_;

 private:
  BlockState<T> state_;
  alignas(64) T items_[piece];
};

/// F64Rows, one row of a call at a time.
class StrictF64Rows : StrictStatistics<double> {
 public:
  using StrictStatistics::StrictStatistics;

  void softmax(std::int64_t row) {
    const RowStatistics<double> all = statistics(row, scale_, Moments::weights);
    write(row, all.maximum, f64_.write_weights, scale_, 1 / (1 + all.weights.total()));
  }
  void log_softmax(std::int64_t row) {
    const RowStatistics<double> all = statistics(row, scale_, Moments::weights);
    write(row, all.maximum, f64_.write_logs, scale_, logarithm_of_sum(all));
  }
  void logsumexp(std::int64_t row) {
    store(0, row, log_sum_exp(statistics(row, scale_, Moments::weights), views_.theta));
  }
  void entropy(std::int64_t row) {
    store(0, row, or_nan(statistics(row, scale_, Moments::deviations), entropy_of<double>));
  }
  void adaptive_softmax(std::int64_t row) {
    const RowStatistics<double> all = statistics(row, 1, Moments::deviations);
    double beta = 1, factor = 0;
    if (all.maximum > minus_infinity<double>()) {
      beta = adaptive_beta(entropy_of(all));
      clear(sums_, used());
      each_piece(row, [&](std::int64_t, const double* x, std::size_t, std::size_t padded) {
        f64_.add_weights(sums_, x, padded, all.maximum, beta);
      });
      factor = 1 / passes_.merge_sums(sums_, used()).total();
    }
    write(row, all.maximum, f64_.write_weights, beta, factor);
  }

 private:
  /// Writes pass(x, maximum, scale, last) as the row's results, or NaN if the row has no softmax.
  void write(std::int64_t row, double maximum, decltype(F64Passes::write_logs) pass, double scale, double last) {
    const bool defined = maximum > minus_infinity<double>();
    const View& out = views_.output();
    if (!defined) std::fill(results_, results_ + piece, not_a_number<double>());
    each_piece(row, [&](std::int64_t begin, const double* x, std::size_t count, std::size_t padded) {
      if (defined) pass(x, padded, maximum, scale, last, results_);
      store_elements(results_, count, out.at(row, begin), out.storage, out.column_stride);
    });
  }

  const F64Passes& f64_ = f64_passes();
  BlockSums<double> sums_;
  alignas(64) double results_[piece];
};

/// AdaptiveSoftmaxBackwardKernel of kernels/block/adaptive_backward.hpp, one row of a call at a time, 512 items at a
/// time. The memory does not depend on the call. Each thread of the operating system needs its own object;
/// the views must outlive it.
template <class T>
class StrictRowGradients {
 public:
  explicit StrictRowGradients(const CallViews& views) : views_(views), rows_(views) {}

  /// Writes dL/d(logits) of a row from its logits and views.gradient.
  void adaptive_softmax(std::int64_t row) {
    const RowStatistics<T> all = rows_.statistics(row, T(1), Moments::deviations);
    const bool defined = all.maximum > minus_infinity<T>();
    if (defined) of_.fill(0, threads, of_row(row, all));
    std::fill_n(slopes_, items_of_block, not_a_number<T>());
    each_block(row, [&](std::int64_t begin, std::size_t count, const T* x, const T* a) {
      for (std::size_t i = 0; defined && i < count; i += threads) {
        passes_.differentiate(x + i, a + i, of_, true, weights_, slopes_ + i);
      }
      const View& out = views_.output();
      store_elements(slopes_, count, out.at(row, begin), out.storage, out.column_stride);
    });
  }

 private:
  /// Calls one(begin, count, x, a) for each 512 items of a row: count logits x and gradients a from begin on, both
  /// filled up with -inf. The passes give an item of x = -inf the weight -1 and the slope 0, so its a does not matter.
  template <class One>
  void each_block(std::int64_t row, One one) {
    constexpr auto most = static_cast<std::int64_t>(items_of_block);
    for (std::int64_t begin = 0; begin < views_.logits.columns; begin += most) {
      const auto count = static_cast<std::size_t>(std::min(most, views_.logits.columns - begin));
      const T* x = read_items<T>(views_.logits, views_.mask_or_null(), row, begin, count, items_of_block, items_);
      one(begin, count, x, read_items<T>(*views_.gradient, nullptr, row, begin, count, items_of_block, gradients_));
    }
  }

  QueryGradient<T> of_row(std::int64_t row, const RowStatistics<T>& all) {
    const AdaptiveBeta beta = adaptive_beta_and_slope(entropy_of(all));
    QueryGradient<T> of = {all.maximum, static_cast<T>(beta.value), 0, 0, 0, 0, 0};
    const std::size_t used = threads_with(static_cast<std::size_t>(views_.logits.columns));
    for (BlockSums<T>* sums : {&sums_.weights, &sums_.gradients, &sums_.deviations, &sums_.products})
      clear(*sums, used);
    const std::size_t whole = (used + most_lanes<T> - 1) / most_lanes<T> * most_lanes<T>;
    each_block(row, [&](std::int64_t, std::size_t, const T* x, const T* a) {
      // A thread's four items lie side by side in the row; add_gradients takes one item of each thread.
      for (std::size_t i = 0; i < items_at_once; ++i) {
        T own_x[threads], own_a[threads];
        for (std::size_t thread = 0; thread < whole; ++thread) {
          own_x[thread] = x[thread * items_at_once + i];
          own_a[thread] = a[thread * items_at_once + i];
        }
        passes_.add_gradients(own_x, own_a, used, of.maximum, of.beta, true, sums_);
      }
    });
    const auto merged = [&](BlockSums<T>& sums) { return row_passes<T>().merge_sums(sums, used); };
    const GradientSums<T> sums = {merged(sums_.weights), merged(sums_.gradients), merged(sums_.deviations),
                                  merged(sums_.products)};
    complete<true>(of, all, sums, beta.slope);
    return of;
  }

  const GradientPasses<T>& passes_ = gradient_passes<T>();
  const CallViews& views_;
  StrictStatistics<T> rows_;
  ThreadGradients<T> sums_;
  QueryGradients<T> of_;
  alignas(64) T items_[items_of_block];
  alignas(64) T gradients_[items_of_block];
  T weights_[threads], slopes_[items_of_block];
};

}  // namespace softcheck::kernels::strict
