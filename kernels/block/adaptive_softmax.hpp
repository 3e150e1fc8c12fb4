#pragma once

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/block/entropy.hpp"
#include "kernels/block/softmax.hpp"

namespace softcheck::kernels {

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

}  // namespace softcheck::kernels
