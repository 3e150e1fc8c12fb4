#pragma once

#include "kernels/block/row_statistics.hpp"

namespace softcheck::kernels {

/// results = exp((x - m) scale) factor, or NaN where maximum is that of a row without a softmax. The columns are those
/// that this thread has read: results may be the logits.
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

/// softmax(x scale) of each row: one read for the statistics, one for the results.
/// shared memory: merging_bytes<RowStatistics<T>>
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
