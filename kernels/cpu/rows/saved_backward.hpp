#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/call/call_views.hpp"
#include "kernels/call/version_2_views.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/block_sum.hpp"
#include "kernels/cpu/rows/gradient_terms.hpp"
#include "kernels/cpu/rows/loss_passes.hpp"
#include "kernels/cpu/rows/row_access.hpp"
#include "kernels/cpu/rows/row_state.hpp"
#include "kernels/cpu/rows/row_target.hpp"
#include "kernels/cpu/rows/short_rows.hpp"

// The gradients of softmax, y (g - sum y g), and of log-softmax, g - exp(y) sum g, from the forward pass's output y.
namespace softcheck::kernels::cpu {

/// One row of such a call. The output may be either input.
template <class T>
class SavedRow {
 public:
  SavedRow(const SavedViews& views, std::int64_t row)
      : out_(views.output), row_(row), saved_(views.saved, nullptr, row), gradient_(views.gradient, nullptr, row) {}

  void put_softmax_gradient() const {
    const T mean = sum([](const T* y, const T* g, std::size_t count) { return block_product(y, g, count); });
    put([mean](const T* y, const T* g, std::size_t count, T* to) { block_softmax_gradient(y, g, count, mean, to); });
  }

  void put_log_gradient() const {
    const T total = sum([](const T*, const T* g, std::size_t count) { return block_total(g, count); });
    put([total](const T* y, const T* g, std::size_t count, T* to) {
      if (block_maximum(y, count) <= largest_logarithm<T>) {
        return block_log_gradient(y, g, count, total, to);
      }
      for (std::size_t i = 0; i < count; ++i) {  // no logarithms of coefficients
        to[i] = g[i] - std::exp(y[i]) * total;
      }
    });
  }

 private:
  template <class Of>
  T sum(Of of) const {
    return sum_of_blocks<T>(saved_.blocks(), [&](std::int64_t index) {
      alignas(64) T y[block_size<T>];
      alignas(64) T g[block_size<T>];
      return of(read_filled(saved_, index, y, T(0)), read_filled(gradient_, index, g, T(0)),
                saved_.padded(saved_.length(index)));
    });
  }

  template <class Put>
  void put(Put put_block) const {
    alignas(64) T y[block_size<T>];
    alignas(64) T g[block_size<T>];
    T* direct = contiguous_row<T>(out_, row_);
    for (std::int64_t index = 0; index < saved_.blocks(); ++index) {
      const std::int64_t first = index * static_cast<std::int64_t>(block_size<T>);
      const std::size_t count = saved_.length(index), padded = saved_.padded(count);
      const bool whole = direct != nullptr && count == padded;
      put_block(read_filled(saved_, index, y, T(0)), read_filled(gradient_, index, g, T(0)), padded,
                whole ? direct + first : y);
      if (!whole) {
        write_row(out_, row_, first, y, count);
      }
    }
  }

  const View& out_;
  std::int64_t row_;
  RowReader<T> saved_;
  RowReader<T> gradient_;
};

/// Rows [begin, end) of a call.
template <class T, void (SavedRow<T>::*put)() const>
void saved_rows(const SavedViews& views, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    (SavedRow<T>(views, row).*put)();
  }
}

/// The gradient of a loss with respect to the logits of adaptive softmax, p = softmax(beta(H) x), H the entropy of
/// q = softmax(x), from its gradient g with respect to p. With d = m - x and means over p and q,
///
///   dL/dx_j = beta p_j (g_j - mean_p g) + beta'(H) dL/dbeta q_j (d_j - mean_q d),
///   dL/dbeta = -(mean_p(g d) - mean_p(g) mean_p(d)),
///
/// as dH/dx_j = q_j (d_j - T/S): of q nothing but (m, S, T) is needed.
template <class T>
class AdaptiveBackward {
 public:
  AdaptiveBackward(const RowReader<T>& logits, const RowReader<T>& gradient) : logits_(logits), gradient_(gradient) {}

  void put(const RowTarget& target) const {
    const RowMaximum<T> best = row_maximum(logits_);
    if (best.undefined() || best.none_visible()) {
      return write_nan<T>(target.out, target.row);
    }
    const BlockSums<T> sums = row_sums(logits_, best.maximum, T(1));
    if (std::isnan(sums.deviations)) {
      return write_nan<T>(target.out, target.row);
    }
    const GradientTerms<T> terms = terms_of(best.maximum, sums);
    constexpr auto block = static_cast<std::int64_t>(block_size<T>);
    alignas(64) T x[block_size<T>];
    alignas(64) T g[block_size<T>];
    alignas(64) T out[block_size<T>];
    for (std::int64_t index = 0; index < logits_.blocks(); ++index) {
      const std::size_t count = logits_.length(index);
      block_gradient(logits_.read(index, x), gradient_.read(index, g), logits_.padded(count), terms, out);
      write_row(target.out, target.row, index * block, out, count);
    }
  }

 private:
  GradientTerms<T> terms_of(T m, const BlockSums<T>& sums) const {
    const AdaptiveBeta beta = adaptive_beta_and_slope(entropy_of(sums));
    return gradient_terms<T>(gradient_totals(m, static_cast<T>(beta.value)), beta, 1 + sum_minus_one(sums),
                             mean_deviation(sums));
  }

  GradientTotals gradient_totals(T m, T beta) const {
    alignas(64) T x[block_size<T>];
    alignas(64) T g[block_size<T>];
    GradientTotals total;
    for (std::int64_t index = 0; index < logits_.blocks(); ++index) {
      total.add(m, gradient_sums(logits_.read(index, x), gradient_.read(index, g),
                                 logits_.padded(logits_.length(index)), m, beta));
    }
    return total;
  }

  const RowReader<T>& logits_;
  const RowReader<T>& gradient_;
};

template <class T>
void adaptive_backward_rows(const CallViews& views, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const RowReader<T> logits(views.logits, views.mask_or_null(), row);
    const RowReader<T> gradient(*views.gradient, nullptr, row);
    AdaptiveBackward<T>(logits, gradient).put({views.output(), nullptr, row});
  }
}

}  // namespace softcheck::kernels::cpu
