#pragma once

#include <cstddef>

#include "judge/ops/attention/attention_thresholds.hpp"
#include "judge/ops/rows/result_limits.hpp"
#include "numerics/rounding/rounding_attention.hpp"

namespace softcheck::proptests {

/// What the results of one query keep, whatever its scores err by: the scores as computed have an exact softmax, too,
/// whose output lies among the visible values and whose entropy lies in [0, ln n]. A kernel's results lie off these by
/// its own sums' errors alone. docs/tolerances.md, "Rules beside the thresholds".
class AttentionLimits {
 public:
  /// visible    at least one; both outlive this
  AttentionLimits(const AttentionTask& task, const AttentionRow& row, const VisibleKeys& visible);

  ResultLimits column(std::size_t column) const;
  ResultLimits entropy() const;
  ResultLimits logsumexp() const;

 private:
  const AttentionTask& task_;
  const AttentionRow& row_;
  const VisibleKeys& visible_;
  numerics::AttentionThreshold<numerics::UpperBound> threshold_;
};

}  // namespace softcheck::proptests
