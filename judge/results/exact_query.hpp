#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "judge/ops/attention/query_oracles.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/rows/enclosed_row.hpp"

namespace softcheck::proptests {

/// Several sums of products of doubles, each as a pair high + low of some 100 bits: Ogita, Rump and Oishi's Dot2 (SIAM
/// J. Sci. Comput. 26, 2005) whose two parts are not added.
///
/// With u = 2^-53, n products h_t + e_t exactly, and sums s_t + q_t exactly: |e_t| <= u |h_t| and |q_t| <= u |s_t|, so
/// that all of them together are at most (n + 1) u M (1 + n u), M = sum |h_t|. low adds them up with n + 1 roundings on
/// any one's way: |high + low - exact| <= (n + 1)^2 u^2 M, 2 % for terms of higher order and the roundings of M and of
/// the bound, and 2^-1072 a product for an e_t that is subnormal.
///
/// Needs round to nearest without flush-to-zero.
class PairedSums {
 public:
  explicit PairedSums(std::size_t sums) : high_(sums, 0), low_(sums, 0), magnitude_(sums, 0) {}

  /// Adds factor * values[k] to sum k.
  void add(double factor, const double* values);
  /// At the working precision; unbounded where a product or a sum overflowed.
  numerics::Enclosure sum(std::size_t k) const;

 private:
  std::vector<double> high_, low_, magnitude_;
  std::uint64_t products_ = 0;
};

/// Two doubles with an exact value between them.
struct DoubleBounds {
  double lower = 0;
  double upper = 0;
};

inline DoubleBounds bounds_of(const numerics::Enclosure& value) { return {value.lower_double(), value.upper_double()}; }

/// The exact values of one query that sees a key. Scores and outputs are sums in pairs of doubles with proved errors;
/// the softmax between them is enclosed. Where terms cancel so far that this is not enough, oracles of more bits
/// answer.
class ExactQuery {
 public:
  /// row     finite where it is visible; outlives this, as does the task
  /// items   the keys that it sees, at least one; outlive this
  ExactQuery(const AttentionTask& task, const AttentionRow& row, std::span<const std::size_t> items);

  DoubleBounds logsumexp();
  DoubleBounds entropy();
  /// Of each column.
  void output(std::span<DoubleBounds> columns);

 private:
  DoubleBounds refined(const std::optional<numerics::Enclosure>& near, AttentionClaim claim, std::size_t column);

  const AttentionTask& task_;
  const AttentionRow& row_;
  std::span<const std::size_t> items_;
  std::optional<numerics::EnclosedRow> weights_;  // nothing where a score has terms or is beyond the doubles
  std::optional<QueryOracles> oracles_;
};

}  // namespace softcheck::proptests
