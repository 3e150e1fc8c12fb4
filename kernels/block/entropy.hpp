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

/// All threads of the block call one(row, statistics) for each of the block's rows, and each_row_statistics.
///
/// scale           1 / theta
/// shared memory   merging_bytes<RowStatistics<T>>
template <Moments moments, BlockContext B, class Element, class One>
SOFTCHECK_BODY void each_row_statistics(B& block, const Logits<B, Element>& logits, Accumulator<Element> scale,
                                        One one) {
  using T = Accumulator<Element>;
  const auto partials = block.template shared<RowStatistics<T>>(block.size() / warp_size);
  for (std::int64_t row = block.index(); row < logits.rows; row += block.count()) {
    one(row, row_statistics<moments>(block, LogitsRow<B, Element>(logits, row), partials, scale));
  }
}

/// of(row), a double; NaN if all items are hidden, where the row has no columns, and where an item is NaN or +inf.
template <class T, class Of>
SOFTCHECK_BODY double or_nan(const RowStatistics<T>& row, Of of) {
  return row.defined() && !row.empty() ? of(row) : not_a_number<double>();
}

/// The arguments of the kernels of statistics.
///
/// results   of row_statistics m, S - 1, T and U of each row, of varentropy the first one alone, (rows, 1) each. A
///           result that the call lacks is a view without elements, which the kernel does not write.
/// scale     1 / theta, rounded
template <BlockContext B, class Element, class Result>
struct StatisticsArguments {
  Logits<B, Element> logits;
  WrittenMatrix<B, Result> results[4];
  Accumulator<Element> scale = 1;

  SOFTCHECK_BODY void store(int result, std::int64_t row, Accumulator<Result> value) const {
    const WrittenMatrix<B, Result>& to = results[result];
    if (to.elements.size() > 0) to.elements.store(to.place(row, 0), narrowed<Result>(value));
  }
};

/// The varentropy of each row in nats squared, by one read of the row. Shared memory as each_row_statistics.
struct VarentropyKernel {
  template <BlockContext B, class Element, class Result>
  static SOFTCHECK_BODY void run(B& block, const StatisticsArguments<B, Element, Result>& arguments) {
    const auto write = [&](std::int64_t row, const RowStatistics<Accumulator<Element>>& all) {
      if (block.rank() != 0) return;
      const double result = or_nan(all, [](const auto& one) { return varentropy_of(one); });
      arguments.store(0, row, static_cast<Accumulator<Result>>(result));
    };
    each_row_statistics<Moments::squares>(block, arguments.logits, arguments.scale, write);
  }
};

/// m, S - 1, T and U of each row (StatisticsResults), by one read of the row. Shared memory as each_row_statistics.
struct RowStatisticsKernel {
  template <BlockContext B, class Element, class Result>
  static SOFTCHECK_BODY void run(B& block, const StatisticsArguments<B, Element, Result>& arguments) {
    using T = Accumulator<Element>;
    const auto write = [&](std::int64_t row, const RowStatistics<T>& all) {
      if (block.rank() != 0) return;
      const StatisticsResults<T> values(all);
      SOFTCHECK_UNROLL
      for (int i = 0; i < 4; ++i) arguments.store(i, row, values.entry[i]);
    };
    each_row_statistics<Moments::squares>(block, arguments.logits, arguments.scale, write);
  }
};

}  // namespace softcheck::kernels
