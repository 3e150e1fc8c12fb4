#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "numerics/oracles/attention_oracle.hpp"
#include "numerics/rounding/rounding_attention.hpp"
#include "proptests/tests/kernels/attention_problems.hpp"

// What the queries of a problem must give, and how near a contract's results must come to it.
namespace softcheck::kernel_tests {

using numerics::Enclosure;
using numerics::Format;
using numerics::UpperBound;

inline UpperBound above(const Enclosure& x) { return UpperBound(std::max(x.upper_double(), 0.0)); }

/// The statistics of an enclosed row, upper bounds each.
struct RowBounds {
  numerics::RowStatistics<UpperBound> statistics;
  std::vector<UpperBound> coefficients, deviations;

  explicit RowBounds(const numerics::EnclosedRow& row) {
    const Enclosure log_sum = row.logsumexp() - row.maximum();
    Enclosure mean(0), mean_square(0), largest(0);
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (!row.is_visible(j)) {
        coefficients.emplace_back();
        deviations.emplace_back();
        continue;
      }
      const Enclosure p = row.softmax(j), deviation = row.maximum() - row.logit(j);
      mean += p * deviation;
      mean_square += p * deviation * deviation;
      largest = maximum(largest, abs(row.logit(j)));
      coefficients.push_back(above(p));
      deviations.push_back(above(deviation));
      ++statistics.visible;
    }
    statistics.size = row.size();
    statistics.rescalings = statistics.visible - 1;  // any order of the keys
    statistics.log_sum = above(log_sum);
    statistics.mean_deviation = above(mean);
    statistics.mean_square_deviation = above(mean_square);
    statistics.maximum_magnitude = above(abs(row.maximum()));
    statistics.largest_magnitude = above(largest);
    statistics.logsumexp_magnitude = above(abs(row.logsumexp()));
  }
  numerics::ScoreRow<UpperBound> row() const { return {statistics, coefficients, deviations}; }
};

/// One query and the keys of its head; masked keys and values are 0.
struct Query {
  std::vector<double> query, keys, values;
  std::vector<std::uint8_t> visible;
  bool holds_nan = false;

  Query(const AttentionProblem& p, std::int64_t b, std::int64_t h, std::int64_t i) : visible(p.visible(b, h, i)) {
    const std::int64_t head = b * p.key_heads + p.key_head(h);
    const auto copy = [&](std::vector<double>& to, const std::vector<double>& from, std::int64_t row,
                          std::int64_t width, bool seen) {
      for (std::int64_t c = 0; c < width; ++c) {
        const double value = seen ? from[static_cast<std::size_t>(row * width + c)] : 0;
        holds_nan = holds_nan || std::isnan(value);
        to.push_back(value);
      }
    };
    copy(query, p.q, (b * p.heads + h) * p.queries + i, p.dim, true);
    for (std::int64_t j = 0; j < p.keys; ++j) {
      const bool seen = visible[static_cast<std::size_t>(j)] != 0;
      copy(keys, p.k, head * p.keys + j, p.dim, seen);
      copy(values, p.v, head * p.keys + j, p.value_dim, seen);
    }
  }
};

/// All of a problem, row-major.
inline std::vector<Query> queries_of(const AttentionProblem& p) {
  std::vector<Query> all;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads; ++h) {
      for (std::int64_t i = 0; i < p.queries; ++i) all.emplace_back(p, b, h, i);
    }
  }
  return all;
}

/// e_j; 0 where the score is exact. A contract with A > 1 may fold log2 e into the scale, which is then no power of 2.
inline std::vector<UpperBound> score_errors(const numerics::Contract& contract,
                                            const numerics::AttentionArithmetic& arithmetic, const Query& query) {
  std::vector<UpperBound> errors;
  const std::size_t d = query.query.size();
  for (std::size_t j = 0; j < query.visible.size(); ++j) {
    const std::span<const double> key(query.keys.data() + j * d, d);
    UpperBound magnitude;
    for (std::size_t t = 0; t < d; ++t) {
      magnitude = magnitude + UpperBound(std::fabs(query.query[t])) * UpperBound(std::fabs(key[t]));
    }
    const bool exact = score_is_exact(contract, arithmetic.scale, query.query, key);
    errors.push_back(exact ? UpperBound() : score_error(contract, arithmetic, magnitude));
  }
  return errors;
}

/// One query's exact results, whatever the contract.
struct ExactQuery {
  enum class Kind { nan, masked, finite } kind = Kind::finite;
  Query inputs;
  // Of finite ones alone.
  std::optional<RowBounds> scores, weights;  // weights: beta times the scores
  UpperBound beta;
  std::vector<Enclosure> out;
  Enclosure lse, entropy;

  /// adaptive    the entropy that beta looks at; nothing where attention is not adaptive
  ExactQuery(const AttentionProblem& p, Query query, std::optional<numerics::EntropyDefinition> adaptive)
      : inputs(std::move(query)) {
    const bool none = std::ranges::find(inputs.visible, 1) == inputs.visible.end();
    if (none || inputs.holds_nan) {
      kind = none ? Kind::masked : Kind::nan;
      return;
    }
    const auto n = static_cast<std::size_t>(p.keys), dv = static_cast<std::size_t>(p.value_dim);
    const numerics::AttentionOracle oracle({inputs.query, inputs.keys, inputs.values, dv, p.scale, inputs.visible, n},
                                           adaptive);
    scores.emplace(oracle.scores());
    weights.emplace(oracle.weights());
    beta = above(oracle.beta());
    out = oracle.output();
    lse = oracle.logsumexp();
    entropy = oracle.entropy();
  }
};

struct Thresholds {
  std::vector<double> out;
  double lse = 0, entropy = 0;
};

/// Of a finite query.
inline Thresholds thresholds_of(const numerics::Contract& contract, bool adaptive, const AttentionProblem& p,
                                const ExactQuery& exact) {
  const auto n = static_cast<std::size_t>(p.keys);
  const numerics::AttentionArithmetic arithmetic{exact.inputs.query.size(), p.scale,
                                                 contract.weights.value_or(contract.accumulator),
                                                 numerics::summation_height(contract, n)};
  const std::vector<UpperBound> errors = score_errors(contract, arithmetic, exact.inputs);
  using Threshold = numerics::AttentionThreshold<UpperBound>;
  const Threshold threshold =
      adaptive ? Threshold(contract, arithmetic, exact.scores->row(), exact.weights->row(), exact.beta, errors)
               : Threshold(contract, arithmetic, exact.scores->row(), errors);
  Thresholds result;
  for (std::size_t c = 0; c < exact.out.size(); ++c) {
    std::vector<UpperBound> column;
    for (std::size_t j = 0; j < n; ++j) column.emplace_back(std::fabs(exact.inputs.values[j * exact.out.size() + c]));
    result.out.push_back(upper(threshold.column(column, above(abs(exact.out[c]))).total()));
  }
  const Format wide = contract.input == Format::f64 ? Format::f64 : Format::f32;
  result.lse = upper(threshold.logsumexp(wide).total());
  result.entropy = upper(threshold.entropy(wide).total());
  return result;
}

}  // namespace softcheck::kernel_tests
