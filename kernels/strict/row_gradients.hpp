#pragma once

#include "kernels/strict/gradient_passes.hpp"
#include "kernels/strict/rows.hpp"

namespace softcheck::kernels::strict {

/// adaptive_softmax_backward_body() of kernels/block/adaptive_softmax_backward.hpp, one row of a call at a time, 512
/// items at a time. The memory does not depend on the call. Each thread of the operating system needs its own object;
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
  StrictRows<T> rows_;
  ThreadGradients<T> sums_;
  QueryGradients<T> of_;
  alignas(64) T items_[items_of_block];
  alignas(64) T gradients_[items_of_block];
  T weights_[threads], slopes_[items_of_block];
};

}  // namespace softcheck::kernels::strict
