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

/// Several sums of products of doubles, each as a pair high + low of about 100 bits: Ogita, Rump and Oishi's Dot2 (SIAM
/// J. Sci. Comput. 26, 2005), without its last addition.
///
/// With u = 2^-53, n products are exactly h_t + e_t and their sums exactly s_t + q_t, with |e_t| <= u |h_t| and |q_t|
/// <= u |s_t|; all errors together are at most (n + 1) u M (1 + n u), M = sum |h_t|. low adds them with at most n + 1
/// roundings per term: |high + low - exact| <= (n + 1)^2 u^2 M, plus 2 % for higher-order terms and the roundings of M
/// and of the bound, plus 2^-1072 per product for a subnormal e_t.
///
/// Requires round to nearest without flush-to-zero.
class PairedSums {
 public:
  explicit PairedSums(std::size_t sums) : high_(sums, 0), low_(sums, 0), magnitude_(sums, 0) {}

  /// Adds factor * values[k] to sum k.
  void add(double factor, const double* values);
  /// At the working precision; the whole line if a product or a sum overflowed.
  numerics::Enclosure sum(std::size_t k) const;

 private:
  std::vector<double> high_, low_, magnitude_;
  std::uint64_t products_ = 0;
};

/// Two doubles that enclose an exact value.
struct DoubleBounds {
  double lower = 0;
  double upper = 0;
};

inline DoubleBounds bounds_of(const numerics::Enclosure& value) { return {value.lower_double(), value.upper_double()}; }

/// The exact values of one query that sees a key. Scores and outputs are sums of double pairs with proved errors; the
/// softmax in between is enclosed. If cancellation makes this too inaccurate, oracles with more bits take over.
class ExactQuery {
 public:
  /// row     finite where visible; must outlive this object, like the task
  /// items   the keys that it sees, at least one; must outlive this object
  ExactQuery(const AttentionTask& task, const AttentionRow& row, std::span<const std::size_t> items);

  DoubleBounds logsumexp();
  DoubleBounds entropy();
  /// One result per column.
  void output(std::span<DoubleBounds> columns);

 private:
  DoubleBounds refined(const std::optional<numerics::Enclosure>& near, AttentionClaim claim, std::size_t column);

  const AttentionTask& task_;
  const AttentionRow& row_;
  std::span<const std::size_t> items_;
  std::optional<numerics::EnclosedRow> weights_;  // nothing if a score has added terms or exceeds the doubles
  std::optional<QueryOracles> oracles_;
};

}  // namespace softcheck::proptests
