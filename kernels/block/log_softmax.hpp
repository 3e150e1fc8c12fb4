#pragma once

#include "kernels/block/entropy.hpp"

namespace softcheck::kernels {

/// ln sum exp(x / theta) = m / theta + ln S in double. It is -inf if all items are hidden, and NaN if an item is
/// NaN or +inf. The fma adds the remainder of m / theta, because ln S may cancel the quotient.
template <class T>
SOFTCHECK_BODY double log_sum_exp(const RowStatistics<T>& row, double theta) {
  if (!row.defined()) return not_a_number<double>();
  const double m = static_cast<double>(row.maximum), quotient = m / theta;
  if (!(quotient - quotient == 0)) return quotient;
  return quotient + (logarithm_of_sum(row) + fused(-quotient, theta, m) / theta);
}

/// ln sum exp(x / theta) of each row, by one read of the row.
///
/// results         (rows, 1); -inf and NaN as log_sum_exp says
/// error           absolute: B5 of docs/tolerances.md with sum=lanes:512. Proved in f32 for n <= 2^22, at the height
///                 of the contract (strict_logsumexp_b5 of theory/proofs/strict_kernels/strict_logsumexp.v).
/// shared memory   merging_bytes<RowStatistics<T>>
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

/// ln softmax(x scale) = (x - m) scale - ln S of each row: the block reads a row once for the statistics and once for
/// the results.
///
/// results         (rows, columns), in place or not. A masked item gets -inf; a row without a softmax gets NaN.
/// error           absolute: B5 of docs/tolerances.md, lse=centred
/// shared memory   merging_bytes<RowStatistics<T>>
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
