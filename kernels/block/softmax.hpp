#pragma once

#include "kernels/block/row_statistics.hpp"

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

}  // namespace softcheck::kernels
