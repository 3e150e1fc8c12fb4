#pragma once

#include "kernels/block/logarithm.hpp"
#include "kernels/block/row_statistics.hpp"

namespace softcheck::kernels {

/// The sum in double: for sums in f32, without the rounding of total().
template <class T>
SOFTCHECK_BODY double in_double(const CompensatedSum<T>& sum) {
  return static_cast<double>(sum.value) + static_cast<double>(sum.rest);
}

/// ln S, in double; >= 0. A computed S - 1 that rounding has made negative counts as 0.
///
/// error    that of S - 1 (B1 of docs/tolerances.md) and of logarithm_of_one_plus
template <class T>
SOFTCHECK_BODY double logarithm_of_sum(const RowStatistics<T>& row) {
  const double weights = in_double(row.weights);
  return logarithm_of_one_plus(weights > 0 ? weights : 0);
}

/// The entropy ln S + T / S of softmax(x scale) in nats, in double. Both terms are >= 0, so nothing cancels.
///
/// row      defined and not empty, with deviations
/// error    B6 of docs/tolerances.md with the contract's height
template <class T>
SOFTCHECK_BODY double entropy_of(const RowStatistics<T>& row) {
  return logarithm_of_sum(row) + in_double(row.deviations) / (1 + in_double(row.weights));
}

/// The varentropy U / S - (T / S)^2 in nats squared, the variance of -ln p under p, in double; >= 0.
///
/// row      defined and not empty, with squares
/// error    relative to U / S, and not to the result, where the difference cancels
template <class T>
SOFTCHECK_BODY double varentropy_of(const RowStatistics<T>& row) {
  const double sum = 1 + in_double(row.weights), mean = in_double(row.deviations) / sum;
  const double variance = in_double(row.squares) / sum - mean * mean;
  return variance > 0 ? variance : 0;
}

/// The four numbers that row_statistics and attention_statistics write of a row: m, S - 1, T, U. They are -inf, -1, 0,
/// 0 if all items are hidden, and NaN if an item is NaN or +inf. An m of 0 is +0, whichever zero came first: m +
/// 0 clears the sign.
template <class T>
struct StatisticsResults {
  T entry[4];

  SOFTCHECK_BODY explicit StatisticsResults(const RowStatistics<T>& all)
      : entry{all.maximum + T(0), all.empty() ? T(-1) : all.weights.total(), all.deviations.total(),
              all.squares.total()} {
    if (!all.defined()) entry[1] = entry[2] = entry[3] = all.maximum;
  }
};

/// Thread 0 calls one(row, statistics) for each of the block's rows; all threads of the block call each_row_statistics.
///
/// scale           1 / theta
/// shared memory   merging_bytes<RowStatistics<T>>
template <Moments moments, BlockContext B, class Element, class One>
SOFTCHECK_BODY void each_row_statistics(B& block, const Logits<B, Element>& logits, Accumulator<Element> scale,
                                        One one) {
  using T = Accumulator<Element>;
  const auto partials = block.template shared<RowStatistics<T>>(block.size() / warp_size);
  for (std::int64_t row = block.index(); row < logits.rows; row += block.count()) {
    const RowStatistics<T> all = row_statistics<moments>(block, LogitsRow<B, Element>(logits, row), partials, scale);
    if (block.rank() == 0) one(row, all);
  }
}

/// Writes of(statistics), a double, as the result of each row. It writes NaN if all items are hidden, where the row
/// has no columns, and where an item is NaN or +inf. Shared memory as each_row_statistics.
template <Moments moments, BlockContext B, class Element, class Result, class Of>
SOFTCHECK_BODY void write_each_row(B& block, const RowArguments<B, Element, Result>& arguments, Of of) {
  using T = Accumulator<Element>;
  const auto write = [&](std::int64_t row, const RowStatistics<T>& all) {
    const double result = all.defined() && !all.empty() ? of(all) : not_a_number<double>();
    arguments.store(row, 0, static_cast<Accumulator<Result>>(result));
  };
  each_row_statistics<moments>(block, arguments.logits, arguments.scale, write);
}

/// The entropy of softmax(x scale) of each row in nats, by one read of the row.
///
/// results         (rows, 1); NaN as write_each_row says
/// error           absolute: B6 of docs/tolerances.md with sum=lanes:512. Proved in f32 for n <= 2^22, at the height
///                 of the contract (strict_entropy_theta_b6 of theory/proofs/strict_kernels/strict_entropy.v).
/// shared memory   merging_bytes<RowStatistics<T>>
template <BlockContext B, class Element, class Result>
SOFTCHECK_BODY void entropy_body(B& block, const RowArguments<B, Element, Result>& arguments) {
  write_each_row<Moments::deviations>(block, arguments, [](const auto& all) { return entropy_of(all); });
}

/// The varentropy of each row in nats squared, by one read of the row. Results and shared memory as entropy_body.
template <BlockContext B, class Element, class Result>
SOFTCHECK_BODY void varentropy_body(B& block, const RowArguments<B, Element, Result>& arguments) {
  write_each_row<Moments::squares>(block, arguments, [](const auto& all) { return varentropy_of(all); });
}

/// The arguments of row_statistics_body.
///
/// results   m, S - 1, T and U of each row, (rows, 1) each. A result that the call lacks is a view without elements,
///           which the kernel does not write.
/// scale     1 / theta, rounded
template <BlockContext B, class Element, class Result>
struct StatisticsArguments {
  Logits<B, Element> logits;
  WrittenMatrix<B, Result> results[4];
  Accumulator<Element> scale = 1;
};

/// m, S - 1, T and U of each row (StatisticsResults), by one read of the row. Shared memory as each_row_statistics.
template <BlockContext B, class Element, class Result>
SOFTCHECK_BODY void row_statistics_body(B& block, const StatisticsArguments<B, Element, Result>& arguments) {
  using T = Accumulator<Element>;
  const auto write = [&](std::int64_t row, const RowStatistics<T>& all) {
    const StatisticsResults<T> values(all);
    SOFTCHECK_UNROLL
    for (int i = 0; i < 4; ++i) {
      const WrittenMatrix<B, Result>& to = arguments.results[i];
      if (to.elements.size() > 0) to.elements.store(to.place(row, 0), narrowed<Result>(values.entry[i]));
    }
  };
  each_row_statistics<Moments::squares>(block, arguments.logits, arguments.scale, write);
}

}  // namespace softcheck::kernels
