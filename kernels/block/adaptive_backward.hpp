#pragma once

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/block/entropy.hpp"
#include "kernels/block/row_statistics.hpp"
#include "kernels/block/score_gradient.hpp"

namespace softcheck::kernels {

/// The arguments of AdaptiveSoftmaxBackwardKernel.
///
/// logits     those of the forward call
/// results    (rows, columns): take dL/d(logits)
/// gradient   dL/d(probabilities), (rows, columns); of a hidden item, any number or NaN: it has no effect
template <BlockContext B, class Element>
struct RowGradientArguments : RowArguments<B, Element> {
  ReadMatrix<B, Element> gradient;

  /// a = the gradient of items_at_once columns from column on, a multiple of items_at_once, widened; 0 beyond the last
  /// column. The caller passes by_vectors = gradient.moves_by_vectors(row).
  SOFTCHECK_BODY void load_incoming(std::int64_t row, std::int64_t column, bool by_vectors,
                                    Accumulator<Element> (&a)[items_at_once]) const {
    const std::int64_t left = this->logits.columns - column;
    if (by_vectors && left >= items_at_once) {
      gradient.load_vectors(row, column, a);
    } else {
      SOFTCHECK_UNROLL
      for (int i = 0; i < items_at_once; ++i) {
        a[i] = i < left ? widened(gradient.elements.load(gradient.place(row, column + i))) : Accumulator<Element>(0);
      }
    }
  }
};

/// The gradient of adaptive softmax of each row, by the formula of score_gradient with a_j = dL/dp_j. The block reads a
/// row three times: for the statistics; with the gradient, for the sums at beta; with the gradient, for the results.
///
/// results         dL/d(logits), (rows, columns): NaN in a row without a softmax, else 0 if an item is hidden
/// error           as derived in proptests/tests/kernels/adaptive_backward_test.cpp, first order in u
/// shared memory   merging_bytes<RowStatistics<T>> + merging_bytes<GradientSums<T>>
struct AdaptiveSoftmaxBackwardKernel {
  template <BlockContext B, class Element>
  static SOFTCHECK_BODY void run(B& block, const RowGradientArguments<B, Element>& arguments) {
    using T = Accumulator<Element>;
    const auto partials = block.template shared<RowStatistics<T>>(block.size() / warp_size);
    const auto sums = block.template shared<GradientSums<T>>(block.size() / warp_size);
    for (std::int64_t row = block.index(); row < arguments.logits.rows; row += block.count()) {
      const LogitsRow<B, Element> logits(arguments.logits, row);
      const RowStatistics<T> all = row_statistics<Moments::deviations>(block, logits, partials, T(1));
      QueryGradient<T> of = {all.maximum, 1, 0, 0, 0, 0, 0};
      const bool defined = all.maximum > minus_infinity<T>();
      const bool incoming_by_vectors = arguments.gradient.moves_by_vectors(row);
      const bool results_by_vectors = arguments.results.moves_by_vectors(row);
      // All threads of the block take the same branch, so that the barriers inside are allowed.
      if (defined) {
        const arithmetic::AdaptiveBeta beta = arithmetic::adaptive_beta_and_slope(entropy_of(all));
        of.beta = static_cast<T>(beta.value);
        GradientSums<T> own = {};
        each_group(block, logits, [&](std::int64_t begin, const T(&x)[items_at_once]) {
          T a[items_at_once];
          arguments.load_incoming(row, begin, incoming_by_vectors, a);
          SOFTCHECK_UNROLL
          for (int i = 0; i < items_at_once; ++i) {
            if (x[i] > minus_infinity<T>()) add_gradient<true>(own, of, x[i], a[i]);
          }
        });
        own = merged_by_block(block, sums, own, GradientSums<T>{}, MergedGradientSums<T>());
        complete<true>(of, all, own, beta.slope);
      }
      each_group(block, logits, [&](std::int64_t begin, T(&x)[items_at_once]) {
        T a[items_at_once] = {};
        if (defined) arguments.load_incoming(row, begin, incoming_by_vectors, a);
        SOFTCHECK_UNROLL
        for (int i = 0; i < items_at_once; ++i) {
          T slope = defined ? T(0) : not_a_number<T>();
          if (defined && x[i] > minus_infinity<T>()) {
            slope = score_gradient<true>(of, x[i], a[i]).slope;
          }
          x[i] = slope;
        }
        arguments.store_group(row, begin, results_by_vectors, x);
      });
    }
  }
};

}  // namespace softcheck::kernels
