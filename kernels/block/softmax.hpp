#pragma once

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/block/entropy.hpp"
#include "kernels/block/row_statistics.hpp"
#include "kernels/block/score_gradient.hpp"

namespace softcheck::kernels {

/// Writes exp((x - maximum) scale) factor for each item of a row. It writes NaN to the whole row if maximum is -inf or
/// NaN: such a row has no softmax. A masked item gets 0. Each thread writes only the columns that it has read, so the
/// results may be the logits (in place).
///
/// maximum, scale, factor   the same in all threads; for softmax, factor = 1 / S
/// error                    relative, each coefficient: 1.75 u of the exponential, two products, the slope in D of the
///                          argument, and the errors of maximum, scale and factor. unscale rounds if the result is
///                          subnormal.
template <BlockContext B, class Element>
SOFTCHECK_BODY void write_probabilities(B& block, const RowArguments<B, Element, Element>& arguments, std::int64_t row,
                                        Accumulator<Element> maximum, Accumulator<Element> scale,
                                        Accumulator<Element> factor) {
  using T = Accumulator<Element>;
  const LogitsRow<B, Element> logits(arguments.logits, row);
  const bool defined = maximum > minus_infinity<T>();
  const bool by_vectors = arguments.results.moves_by_vectors(row);
  each_group(block, logits, [&](std::int64_t begin, T(&x)[items_at_once]) {
    SOFTCHECK_UNROLL
    for (T& item : x) {
      const T weight = scaled_exponential((item - maximum) * scale);
      item = defined ? weight * factor * arithmetic::ExpConstants<T>::unscale : not_a_number<T>();
    }
    arguments.store_group(row, begin, by_vectors, x);
  });
}

/// softmax(x scale) of each row, eq. (1) of the paper at theta = 1 / scale: the block reads a row once for the
/// statistics and once for the results.
///
/// results         (rows, columns), in place or not; NaN rows as write_probabilities says
/// error           relative, each coefficient: B2 of docs/tolerances.md with sum=lanes:512. Proved in f32 for n <=
///                 2^22, at the contract's height (strict_softmax_theta_b2 of
///                 theory/proofs/strict_kernels/strict_softmax_theta.v).
/// shared memory   merging_bytes<RowStatistics<T>>
template <BlockContext B, class Element>
SOFTCHECK_BODY void softmax_body(B& block, const RowArguments<B, Element, Element>& arguments) {
  using T = Accumulator<Element>;
  const auto partials = block.template shared<RowStatistics<T>>(block.size() / warp_size);
  for (std::int64_t row = block.index(); row < arguments.logits.rows; row += block.count()) {
    const LogitsRow<B, Element> logits(arguments.logits, row);
    const RowStatistics<T> all = row_statistics<Moments::weights>(block, logits, partials, arguments.scale);
    const T factor = T(1) / (T(1) + all.weights.total());
    write_probabilities(block, arguments, row, all.maximum, arguments.scale, factor);
  }
}

/// The sum of two sums, as the function that merged_by_block() takes.
template <class T>
struct MergedSums {
  SOFTCHECK_BODY CompensatedSum<T> operator()(CompensatedSum<T> left, const CompensatedSum<T>& right) const {
    left.add(right);
    return left;
  }
};

/// sum exp((x - maximum) scale) over a row whose maximum is known and finite, returned to every thread of the block.
/// All threads call it.
///
/// partials   shared memory, one CompensatedSum a warp: merging_bytes<CompensatedSum<T>>
/// error      relative: B1 of docs/tolerances.md; no rescaling, a compensated sum
template <BlockContext B, class Element, class T>
SOFTCHECK_BODY T sum_of_weights(B& block, const LogitsRow<B, Element>& logits,
                                const typename B::template Shared<CompensatedSum<T>>& partials, T maximum, T scale) {
  CompensatedSum<T> own{0, 0};
  each_group(block, logits, [&](std::int64_t begin, const T(&x)[items_at_once]) {
    SOFTCHECK_UNROLL
    for (int i = 0; i < items_at_once; ++i) {
      if (begin + i < logits.columns) own.add(exponential((x[i] - maximum) * scale));
    }
  });
  return merged_by_block(block, partials, own, CompensatedSum<T>{0, 0}, MergedSums<T>{}).total();
}

/// softmax(beta(H) x) of each row, H the entropy of softmax(x), exact (without the paper's 1e-9), beta the polynomial
/// of Fig. 4 (arithmetic::adaptive_beta). The block reads a row three times: for H, for the sum at beta, for the
/// results. It does not use arguments.scale and arguments.theta; the launcher refuses theta != 1.
///
/// results         (rows, columns), in place or not; NaN rows as write_probabilities says
/// error           relative, each coefficient: B10 of docs/tolerances.md with entropy=exact
/// shared memory   merging_bytes<RowStatistics<T>> + merging_bytes<CompensatedSum<T>>
template <BlockContext B, class Element>
SOFTCHECK_BODY void adaptive_softmax_body(B& block, const RowArguments<B, Element, Element>& arguments) {
  using T = Accumulator<Element>;
  const auto partials = block.template shared<RowStatistics<T>>(block.size() / warp_size);
  const auto sums = block.template shared<CompensatedSum<T>>(block.size() / warp_size);
  for (std::int64_t row = block.index(); row < arguments.logits.rows; row += block.count()) {
    const LogitsRow<B, Element> logits(arguments.logits, row);
    const RowStatistics<T> all = row_statistics<Moments::deviations>(block, logits, partials, T(1));
    T beta = 1, factor = 0;
    // All threads of the block take the same branch, so that the barriers inside are allowed.
    if (all.maximum > minus_infinity<T>()) {
      beta = static_cast<T>(arithmetic::adaptive_beta(entropy_of(all)));
      factor = T(1) / sum_of_weights(block, logits, sums, all.maximum, beta);
    }
    write_probabilities(block, arguments, row, all.maximum, beta, factor);
  }
}

/// The arguments of adaptive_softmax_backward_body.
///
/// forward    the logits of the forward call; its results, (rows, columns), take dL/d(logits)
/// gradient   dL/d(probabilities), (rows, columns); of a hidden item, any number or NaN: it has no effect
template <BlockContext B, class Element>
struct RowGradientArguments {
  RowArguments<B, Element, Element> forward;
  ReadMatrix<B, Element> gradient;

  /// a = the gradient of items_at_once columns from column on, a multiple of items_at_once, widened; 0 beyond the last
  /// column. The caller passes by_vectors = gradient.moves_by_vectors(row).
  SOFTCHECK_BODY void load_incoming(std::int64_t row, std::int64_t column, bool by_vectors,
                                    Accumulator<Element> (&a)[items_at_once]) const {
    const std::int64_t left = forward.logits.columns - column;
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
template <BlockContext B, class Element>
SOFTCHECK_BODY void adaptive_softmax_backward_body(B& block, const RowGradientArguments<B, Element>& arguments) {
  using T = Accumulator<Element>;
  const auto partials = block.template shared<RowStatistics<T>>(block.size() / warp_size);
  const auto sums = block.template shared<GradientSums<T>>(block.size() / warp_size);
  for (std::int64_t row = block.index(); row < arguments.forward.logits.rows; row += block.count()) {
    const LogitsRow<B, Element> logits(arguments.forward.logits, row);
    const RowStatistics<T> all = row_statistics<Moments::deviations>(block, logits, partials, T(1));
    QueryGradient<T> of = {all.maximum, 1, 0, 0, 0, 0, 0};
    const bool defined = all.maximum > minus_infinity<T>();
    const bool incoming_by_vectors = arguments.gradient.moves_by_vectors(row);
    const bool results_by_vectors = arguments.forward.results.moves_by_vectors(row);
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
      arguments.forward.store_group(row, begin, results_by_vectors, x);
    });
  }
}

}  // namespace softcheck::kernels
