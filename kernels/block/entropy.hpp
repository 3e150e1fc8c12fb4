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

/// U / S - (T / S)^2, the variance of -ln p under p: never negative, accurate relative to U / S. In double, likewise.
template <class T>
SOFTCHECK_BODY double varentropy_of(const RowStatistics<T>& row) {
  const double sum = 1 + in_double(row.weights), mean = in_double(row.deviations) / sum;
  const double variance = in_double(row.squares) / sum - mean * mean;
  return variance > 0 ? variance : 0;
}

/// What a call is told of a row: m, S - 1, T, U; -inf, -1, 0, 0 where nothing is visible, NaN where an item is NaN or
/// +inf. Which of two zeros is the larger one is nobody's concern: an m of 0 has no sign.
template <class T>
struct ToldStatistics {
  T entry[4];

  SOFTCHECK_BODY explicit ToldStatistics(const RowStatistics<T>& all)
      : entry{all.maximum + T(0), all.empty() ? T(-1) : all.weights.total(), all.deviations.total(),
              all.squares.total()} {
    if (!all.defined()) entry[1] = entry[2] = entry[3] = all.maximum;
  }
};

/// one(row, its statistics), by one thread, for the rows of a block.
/// shared memory: merging_bytes<RowStatistics<T>>
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

/// of(statistics) of each row: NaN where nothing is visible, as in an empty row, or an item is NaN or +inf.
template <Moments moments, BlockContext B, class Element, class Result, class Of>
SOFTCHECK_BODY void write_each_row(B& block, const RowArguments<B, Element, Result>& arguments, Of of) {
  using T = Accumulator<Element>;
  const auto write = [&](std::int64_t row, const RowStatistics<T>& all) {
    const double result = all.defined() && !all.empty() ? of(all) : not_a_number<double>();
    arguments.store(row, 0, static_cast<Accumulator<Result>>(result));
  };
  each_row_statistics<moments>(block, arguments.logits, arguments.scale, write);
}

/// The entropy of softmax(x scale) in nats, by one read of each row. results: rows x 1.
template <BlockContext B, class Element, class Result>
SOFTCHECK_BODY void entropy_body(B& block, const RowArguments<B, Element, Result>& arguments) {
  write_each_row<Moments::deviations>(block, arguments, [](const auto& all) { return entropy_of(all); });
}

/// Its varentropy, likewise.
template <BlockContext B, class Element, class Result>
SOFTCHECK_BODY void varentropy_body(B& block, const RowArguments<B, Element, Result>& arguments) {
  write_each_row<Moments::squares>(block, arguments, [](const auto& all) { return varentropy_of(all); });
}

/// results: ToldStatistics of each row, each rows x 1; one without elements is not wanted.
template <BlockContext B, class Element, class Result>
struct StatisticsArguments {
  Logits<B, Element> logits;
  WrittenMatrix<B, Result> results[4];
  Accumulator<Element> scale = 1;
};

/// m, S - 1, T, U of each row, by one read.
template <BlockContext B, class Element, class Result>
SOFTCHECK_BODY void row_statistics_body(B& block, const StatisticsArguments<B, Element, Result>& arguments) {
  using T = Accumulator<Element>;
  const auto write = [&](std::int64_t row, const RowStatistics<T>& all) {
    const ToldStatistics<T> told(all);
    SOFTCHECK_UNROLL
    for (int i = 0; i < 4; ++i) {
      const WrittenMatrix<B, Result>& to = arguments.results[i];
      if (to.elements.size() > 0) to.elements.store(to.place(row, 0), narrowed<Result>(told.entry[i]));
    }
  };
  each_row_statistics<Moments::squares>(block, arguments.logits, arguments.scale, write);
}

}  // namespace softcheck::kernels
