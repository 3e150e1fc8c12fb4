#pragma once

#include "kernels/call/call_views.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/gradient_terms.hpp"
#include "kernels/cpu/rows/row_state.hpp"
#include "kernels/cpu/rows/row_target.hpp"

namespace softcheck::kernels::cpu {

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
