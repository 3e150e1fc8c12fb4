#pragma once

#include "kernels/block/entropy.hpp"

namespace softcheck::kernels {

/// ln sum exp(x / theta) in double: -inf where nothing is visible, NaN where an item is NaN or +inf. The quotient's
/// remainder counts: ln S may cancel the quotient.
template <class T>
SOFTCHECK_BODY double log_sum_exp(const RowStatistics<T>& row, double theta) {
  if (!row.defined()) return not_a_number<double>();
  const double m = static_cast<double>(row.maximum), quotient = m / theta;
  if (!(quotient - quotient == 0)) return quotient;
  return quotient + (logarithm_of_sum(row) + fused(-quotient, theta, m) / theta);
}

/// ln sum exp(x / theta) of each row, by one read. results: rows x 1. shared memory: merging_bytes<RowStatistics<T>>
template <BlockContext B, class Element, class Result>
SOFTCHECK_BODY void logsumexp_body(B& block, const RowArguments<B, Element, Result>& arguments) {
  using T = Accumulator<Element>;
  const auto partials = block.template shared<RowStatistics<T>>(block.size() / warp_size);
  for (std::int64_t row = block.index(); row < arguments.logits.rows; row += block.count()) {
    const LogitsRow<B, Element> logits(arguments.logits, row);
    const RowStatistics<T> all = row_statistics<Moments::weights>(block, logits, partials, arguments.scale);
    if (block.rank() != 0) continue;
    arguments.store(row, 0, static_cast<Accumulator<Result>>(log_sum_exp(all, arguments.theta)));
  }
}

/// (x - m) scale - ln S of each row: one read for the statistics, one for the results, which may be the logits. NaN
/// where the row has no softmax.
/// shared memory: merging_bytes<RowStatistics<T>>
template <BlockContext B, class Element>
SOFTCHECK_BODY void log_softmax_body(B& block, const RowArguments<B, Element, Element>& arguments) {
  using T = Accumulator<Element>;
  const auto partials = block.template shared<RowStatistics<T>>(block.size() / warp_size);
  for (std::int64_t row = block.index(); row < arguments.logits.rows; row += block.count()) {
    const LogitsRow<B, Element> logits(arguments.logits, row);
    const RowStatistics<T> all = row_statistics<Moments::weights>(block, logits, partials, arguments.scale);
    const bool defined = all.maximum > minus_infinity<T>();
    const T shift = static_cast<T>(logarithm_of_sum(all));
    const bool by_vectors = arguments.results.moves_by_vectors(row);
    each_group(block, logits, [&](std::int64_t begin, T(&x)[items_at_once]) {
      SOFTCHECK_UNROLL
      for (T& item : x) item = defined ? (item - all.maximum) * arguments.scale - shift : not_a_number<T>();
      arguments.store_group(row, begin, by_vectors, x);
    });
  }
}

}  // namespace softcheck::kernels
