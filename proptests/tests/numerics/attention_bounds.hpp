#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "numerics/oracles/attention_oracle.hpp"
#include "numerics/rounding/rounding_attention.hpp"
#include "proptests/tests/numerics/bound_shares.hpp"

namespace softcheck::numerics::simulated {

/// One query of a simulated attention.
struct Query {
  std::size_t keys, dimension;
  double scale;
  std::vector<double> query, key, value;  // one column of values

  AttentionInputs inputs() const {
    return {.query = query, .keys = key, .values = value, .value_size = 1, .scale = scale, .items = keys};
  }
  /// sum_t |q_t k_jt|. A sum of d doubles errs by less than d 2^-52 of itself.
  UpperBound dot_magnitude(std::size_t j) const {
    double dot = 0;
    for (std::size_t t = 0; t < dimension; ++t) dot += std::abs(query[t] * key[j * dimension + t]);
    return UpperBound(dot * (1 + static_cast<double>(dimension) * 0x1p-52));
  }
  double score(const Arithmetic& a, std::size_t j) const {
    double dot = 0;
    for (std::size_t t = 0; t < dimension; ++t) dot = a.add(dot, a.multiply(query[t], key[j * dimension + t]));
    return a.multiply(dot, a.round(scale));
  }
};

inline Query random_query(std::size_t keys, std::size_t dimension, double scale, double spread, Format format,
                          std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal(0, spread);
  const auto draw = [&](std::size_t n) {
    std::vector<double> numbers(n);
    for (double& x : numbers) x = round_to(format, normal(engine));
    return numbers;
  };
  return {keys, dimension, scale, draw(dimension), draw(keys * dimension), draw(keys)};
}

/// A row of scores as ScoreRow wants it, which points into it.
struct ScoreStatistics {
  RowStatistics<UpperBound> row;
  std::vector<UpperBound> coefficients, deviations;

  explicit ScoreStatistics(const EnclosedRow& scores, std::uint64_t rescalings = 0) {
    const std::size_t n = scores.size();
    row.size = row.visible = n;
    row.rescalings = rescalings;
    row.log_sum = above(scores.logsumexp() - scores.maximum());
    row.maximum_magnitude = above(abs(scores.maximum()));
    row.logsumexp_magnitude = above(abs(scores.logsumexp()));
    Enclosure mean(0), square_mean(0);
    for (std::size_t j = 0; j < n; ++j) {
      const Enclosure deviation = scores.maximum() - scores.logit(j);
      coefficients.push_back(above(scores.softmax(j)));
      deviations.push_back(above(deviation));
      mean += scores.softmax(j) * deviation;
      square_mean += scores.softmax(j) * square(deviation);
      row.largest_magnitude = maximum(row.largest_magnitude, above(abs(scores.logit(j))));
    }
    row.mean_deviation = above(mean);
    row.mean_square_deviation = above(square_mean);
  }
  ScoreRow<UpperBound> scores() const { return {row, coefficients, deviations}; }
};

/// e_j of each key, and |v_j|.
struct KeyErrors {
  std::vector<UpperBound> errors, values;

  KeyErrors(const Contract& contract, const AttentionArithmetic& arithmetic, const Query& in) {
    for (std::size_t j = 0; j < in.keys; ++j) {
      errors.push_back(score_error<UpperBound>(contract, arithmetic, in.dot_magnitude(j)));
      values.emplace_back(std::abs(in.value[j]));
    }
  }
};

}  // namespace softcheck::numerics::simulated
