#pragma once

#include "kernels/block/logarithm.hpp"
#include "kernels/block/row_statistics.hpp"

namespace softcheck::kernels {

template <class T>
SOFTCHECK_BODY double in_double(const CompensatedSum<T>& sum) {
  return static_cast<double>(sum.value) + static_cast<double>(sum.rest);
}

/// ln S. What rounding leaves of S - 1 may be negative where it is 0.
template <class T>
SOFTCHECK_BODY double logarithm_of_sum(const RowStatistics<T>& row) {
  const double weights = in_double(row.weights);
  return logarithm_of_one_plus(weights > 0 ? weights : 0);
}

/// ln S + T / S: both terms are >= 0. In double, from sums in the accumulator's format.
template <class T>
SOFTCHECK_BODY double entropy_of(const RowStatistics<T>& row) {
  return logarithm_of_sum(row) + in_double(row.deviations) / (1 + in_double(row.weights));
}

/// The entropy of softmax(x scale) in nats, by one read of each row: NaN where nothing is visible or an item is NaN or
/// +inf; 0 for an empty row. results: rows x 1.
/// shared memory: merging_bytes<RowStatistics<T>>
template <BlockContext B, class Element, class Result>
SOFTCHECK_BODY void entropy_body(B& block, const RowArguments<B, Element, Result>& arguments) {
  using T = Accumulator<Element>;
  const auto partials = block.template shared<RowStatistics<T>>(block.size() / warp_size);
  for (std::int64_t row = block.index(); row < arguments.logits.rows; row += block.count()) {
    const LogitsRow<B, Element> logits(arguments.logits, row);
    const RowStatistics<T> all = row_statistics(block, logits, partials, arguments.scale);
    if (block.rank() != 0) continue;
    double entropy = logits.columns == 0 ? 0 : not_a_number<double>();
    if (all.defined() && !all.empty()) entropy = entropy_of(all);
    arguments.store(row, 0, static_cast<Accumulator<Result>>(entropy));
  }
}

/// m, S - 1, T, U of each row, by one read: results rows x 4. A row with nothing visible: -inf, 0, 0, 0; one with NaN
/// or +inf: NaN, 0, 0, 0. shared memory: merging_bytes<RowStatistics<T>>
template <BlockContext B, class Element>
SOFTCHECK_BODY void row_statistics_body(B& block, const RowArguments<B, Element, Accumulator<Element>>& arguments) {
  using T = Accumulator<Element>;
  const auto partials = block.template shared<RowStatistics<T>>(block.size() / warp_size);
  for (std::int64_t row = block.index(); row < arguments.logits.rows; row += block.count()) {
    const LogitsRow<B, Element> logits(arguments.logits, row);
    const RowStatistics<T> all = row_statistics(block, logits, partials, arguments.scale);
    if (block.rank() != 0) continue;
    arguments.store(row, 0, all.maximum);
    arguments.store(row, 1, all.weights.total());
    arguments.store(row, 2, all.deviations.total());
    arguments.store(row, 3, all.squares.total());
  }
}

}  // namespace softcheck::kernels
