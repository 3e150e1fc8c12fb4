#pragma once

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/block/entropy.hpp"
#include "kernels/block/tree_rows.hpp"

// The forward ops of kernels/block/tree_rows.hpp in f64, in the order of sum=lanes:512. A block reads a row once for
// each step of its op; results may be the logits (in place).
namespace softcheck::kernels {

/// Whether Op, a type of namespace tree, has a kernel in f64.
template <class Op>
inline constexpr bool has_f64 = Op::number == 0;

/// Op in f64. F64Rows<Op>::run(block, arguments) is the body; every thread of every block calls it.
///
/// shared memory   merging_bytes<RowStatistics<double>>; of adaptive softmax merging_bytes<CompensatedSum<double>> more
template <class Op>
struct F64Rows;

/// ln sum exp(x / theta) = m / theta + ln S. It is -inf if all items are hidden, and NaN if an item is NaN or +inf. The
/// fma adds the remainder of m / theta, because ln S may cancel the quotient.
SOFTCHECK_BODY double log_sum_exp(const RowStatistics<double>& row, double theta) {
  if (!row.defined()) return not_a_number<double>();
  const double m = row.maximum, quotient = m / theta;
  if (!(quotient - quotient == 0)) return quotient;
  return quotient + (logarithm_of_sum(row) + fused(-quotient, theta, m) / theta);
}

/// ln sum exp(x / theta) of each row, by one read of the row.
///
/// results   (rows, 1); -inf and NaN as log_sum_exp says
/// error     absolute: B5 of docs/tolerances.md with sum=lanes:512
template <>
struct F64Rows<tree::LogsumexpKernel> {
  template <BlockContext B>
  static SOFTCHECK_BODY void run(B& block, const RowArguments<B, double>& arguments) {
    const auto write = [&](std::int64_t row, const RowStatistics<double>& all) {
      if (block.rank() == 0) arguments.store(row, 0, log_sum_exp(all, arguments.theta));
    };
    each_row_statistics<Moments::weights>(block, arguments.logits, arguments.scale, write);
  }
};

/// The entropy of softmax(x scale) of each row in nats, by one read of the row.
///
/// results   (rows, 1); NaN as or_nan says
/// error     absolute: B6 of docs/tolerances.md with sum=lanes:512
template <>
struct F64Rows<tree::EntropyKernel> {
  template <BlockContext B>
  static SOFTCHECK_BODY void run(B& block, const RowArguments<B, double>& arguments) {
    const auto write = [&](std::int64_t row, const RowStatistics<double>& all) {
      if (block.rank() == 0) arguments.store(row, 0, or_nan(all, [](const auto& one) { return entropy_of(one); }));
    };
    each_row_statistics<Moments::deviations>(block, arguments.logits, arguments.scale, write);
  }
};

/// ln softmax(x scale) = (x - m) scale - ln S of each row: the block reads a row once for the statistics and once for
/// the results.
///
/// results   (rows, columns), in place or not. A masked item gets -inf; a row without a softmax gets NaN.
/// error     absolute: B5 of docs/tolerances.md, lse=centred
template <>
struct F64Rows<tree::LogSoftmaxKernel> {
  template <BlockContext B>
  static SOFTCHECK_BODY void run(B& block, const RowArguments<B, double>& arguments) {
    const auto write = [&](std::int64_t row, const RowStatistics<double>& all) {
      const bool defined = all.maximum > minus_infinity<double>();
      const double shift = logarithm_of_sum(all);
      const bool by_vectors = arguments.results.moves_by_vectors(row);
      const LogitsRow<B, double> logits(arguments.logits, row);
      each_group(block, logits, [&](std::int64_t begin, double(&x)[items_at_once]) {
        SOFTCHECK_UNROLL
        for (double& item : x) {
          item = defined ? (item - all.maximum) * arguments.scale - shift : not_a_number<double>();
        }
        arguments.store_group(row, begin, by_vectors, x);
      });
    };
    each_row_statistics<Moments::weights>(block, arguments.logits, arguments.scale, write);
  }
};

/// Writes exp((x - maximum) scale) factor for each item of a row. It writes NaN to the whole row if maximum is -inf or
/// NaN: such a row has no softmax. A masked item gets 0. Each thread writes only the columns that it has read, so the
/// results may be the logits (in place).
///
/// maximum, scale, factor   the same in all threads; for softmax, factor = 1 / S
/// error                    relative, each coefficient: 1.75 u of the exponential, two products, the slope in D of the
///                          argument, and the errors of maximum, scale and factor. unscale rounds if the result is
///                          subnormal.
template <BlockContext B>
SOFTCHECK_BODY void write_probabilities(B& block, const RowArguments<B, double>& arguments, std::int64_t row,
                                        double maximum, double scale, double factor) {
  const bool defined = maximum > minus_infinity<double>();
  const bool by_vectors = arguments.results.moves_by_vectors(row);
  const LogitsRow<B, double> logits(arguments.logits, row);
  each_group(block, logits, [&](std::int64_t begin, double(&x)[items_at_once]) {
    SOFTCHECK_UNROLL
    for (double& item : x) {
      const double weight = scaled_exponential((item - maximum) * scale);
      item = defined ? weight * factor * arithmetic::ExpConstants<double>::unscale : not_a_number<double>();
    }
    arguments.store_group(row, begin, by_vectors, x);
  });
}

/// softmax(x scale) of each row, eq. (1) of the paper at theta = 1 / scale: the block reads a row once for the
/// statistics and once for the results.
///
/// results   (rows, columns), in place or not; NaN rows as write_probabilities says
/// error     relative, each coefficient: B2 of docs/tolerances.md with sum=lanes:512
template <>
struct F64Rows<tree::SoftmaxKernel> {
  template <BlockContext B>
  static SOFTCHECK_BODY void run(B& block, const RowArguments<B, double>& arguments) {
    const auto write = [&](std::int64_t row, const RowStatistics<double>& all) {
      write_probabilities(block, arguments, row, all.maximum, arguments.scale, 1 / (1 + all.weights.total()));
    };
    each_row_statistics<Moments::weights>(block, arguments.logits, arguments.scale, write);
  }
};

/// The sum of two sums, as the function that merged_by_block() takes.
struct MergedSums {
  SOFTCHECK_BODY CompensatedSum<double> operator()(CompensatedSum<double> left,
                                                   const CompensatedSum<double>& right) const {
    left.add(right);
    return left;
  }
};

/// sum exp((x - maximum) scale) over a row whose maximum is known and finite, returned to every thread of the block.
/// All threads call it.
///
/// partials   shared memory, one CompensatedSum a warp: merging_bytes<CompensatedSum<double>>
/// error      relative: B1 of docs/tolerances.md; no rescaling, a compensated sum
template <BlockContext B>
SOFTCHECK_BODY double sum_of_weights(B& block, const LogitsRow<B, double>& logits,
                                     const typename B::template Shared<CompensatedSum<double>>& partials,
                                     double maximum, double scale) {
  CompensatedSum<double> own{0, 0};
  each_group(block, logits, [&](std::int64_t begin, const double(&x)[items_at_once]) {
    SOFTCHECK_UNROLL
    for (int i = 0; i < items_at_once; ++i) {
      if (begin + i < logits.columns) own.add(exponential((x[i] - maximum) * scale));
    }
  });
  return merged_by_block(block, partials, own, CompensatedSum<double>{0, 0}, MergedSums()).total();
}

/// softmax(beta(H) x) of each row, H the entropy of softmax(x), exact (without the paper's 1e-9), beta the polynomial
/// of Fig. 4 (arithmetic::adaptive_beta). The block reads a row three times: for H, for the sum at beta, for the
/// results. It does not use arguments.scale and arguments.theta; the launcher refuses theta != 1.
///
/// results   (rows, columns), in place or not; NaN rows as write_probabilities says
/// error     relative, each coefficient: B10 of docs/tolerances.md with entropy=exact
template <>
struct F64Rows<tree::AdaptiveSoftmaxKernel> {
  template <BlockContext B>
  static SOFTCHECK_BODY void run(B& block, const RowArguments<B, double>& arguments) {
    const auto sums = block.template shared<CompensatedSum<double>>(block.size() / warp_size);
    const auto write = [&](std::int64_t row, const RowStatistics<double>& all) {
      double beta = 1, factor = 0;
      // All threads of the block take the same branch, so that the barriers inside are allowed.
      if (all.maximum > minus_infinity<double>()) {
        beta = arithmetic::adaptive_beta(entropy_of(all));
        const LogitsRow<B, double> logits(arguments.logits, row);
        factor = 1 / sum_of_weights(block, logits, sums, all.maximum, beta);
      }
      write_probabilities(block, arguments, row, all.maximum, beta, factor);
    };
    each_row_statistics<Moments::deviations>(block, arguments.logits, 1.0, write);
  }
};

}  // namespace softcheck::kernels
