#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/oracles/attention_oracle.hpp"
#include "numerics/rounding/rounding_attention.hpp"
#include "proptests/tests/kernels/attention_problems.hpp"

// The queries of a problem, and how near a contract's scores must come to theirs.
namespace softcheck::kernel_tests {

using numerics::Enclosure;
using numerics::Format;
using numerics::UpperBound;

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

}  // namespace softcheck::kernel_tests
