#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/formats/format.hpp"
#include "numerics/oracles/attention_oracle.hpp"
#include "numerics/rounding/contract.hpp"
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

// How far a row's sums of w D^k, D = m - x, w = exp(-D), may be from exact under a contract.

/// sum w D^k for k = 0 to 3, n items the largest of which is deviation below m.
struct Moments {
  double of[4] = {};
  double largest_deviation = 0;
  std::size_t items = 0;

  void add(double d) {
    double term = std::exp(-d);
    for (double& moment : of) {
      moment += term;
      term *= d;
    }
    largest_deviation = std::max(largest_deviation, d);
    ++items;
  }
  double sum() const { return of[0]; }
};

/// Rescalings on an item's way: blocks:K has its blocks' maxima before it adds, and its merges alone rescale; of the
/// other trees every addition may.
inline double rescalings_of(const numerics::Contract& contract, std::size_t items) {
  if (contract.summation.kind == numerics::Summation::Kind::blocks && items > 0) {
    return static_cast<double>(std::bit_width((items - 1) / contract.summation.width));
  }
  return static_cast<double>(numerics::summation_height(contract, items));
}

/// Of sum w D^k, on the logarithmic scale of docs/tolerances.md, where nothing of higher order is left out. A piece of
/// it is a product of 1 + R exponentials and meets N = h + R (2 + k) + k (A + 1) + 1 other roundings: additions, each
/// rescaling's product, added 1 and added pieces of the k lower moments, k powers of D and their products, the result.
/// (B6 derives k = 1.) So it is off by at most the factor e^C, C = N lambda + (1 + R) lambda_E, and by e^(t D), t =
/// e^(A lambda) - 1, for the arguments, which telescope; e^(t D) - 1 <= t D e^(t D_largest). What is lost below the
/// smallest number is beside it. moment: sum w D^k, or S - 1 for k = 0.
inline double moment_error(const numerics::Contract& contract, const Moments& about, int k, double moment) {
  const numerics::FormatProperties& format = numerics::properties(contract.accumulator);
  const double lambda = -std::log1p(-format.unit_roundoff);
  const double lambda_e = -std::log1p(-contract.exp_error * format.unit_roundoff);
  const double a = contract.exp_argument_error, r = rescalings_of(contract, about.items);
  const double height = static_cast<double>(numerics::summation_height(contract, about.items));
  const double c = (height + r * (2 + k) + k * (a + 1) + 1) * lambda + (1 + r) * lambda_e;
  const double t = std::expm1(a * lambda);
  const double lost = static_cast<double>(about.items + 1) * std::pow(1 + about.largest_deviation, k);
  const double widened = std::exp(c + t * about.largest_deviation);
  return std::expm1(c) * moment + widened * (t * about.of[k + 1] + lost * format.smallest_subnormal);
}

/// Of sum w D^k where every score may be off by e: D by 2 e, w by the factor exp(2 e), and of the weights one is 1 in
/// any case.
inline double moved_by_scores(const Moments& about, int k, double e) {
  const double stretch = std::exp(2 * e), d = 2 * e;
  const double grown[] = {0, d * about.of[0], 2 * d * about.of[1] + d * d * about.of[0]};
  return (stretch - 1) * about.of[k] + stretch * grown[k];
}

}  // namespace softcheck::kernel_tests
