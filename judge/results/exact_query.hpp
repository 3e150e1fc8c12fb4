#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "judge/ops/attention/query_oracles.hpp"
#include "judge/results/double_bounds.hpp"
#include "numerics/rows/enclosed_row.hpp"

namespace softcheck::proptests {

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
