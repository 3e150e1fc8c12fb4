#pragma once

#include <cstddef>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/attention/attention_thresholds.hpp"
#include "judge/ops/rows/result_limits.hpp"
#include "numerics/rounding/rounding_attention.hpp"

namespace softcheck::proptests {

/// Limits that one query's results keep, however large its scores' errors are. The computed scores have an exact
/// softmax, whose output lies in the range of the visible values and whose entropy in [0, ln n]; a kernel's results
/// differ from it only by the errors of its own sums. docs/tolerances.md, "Rules beside the thresholds".
class AttentionLimits {
 public:
  /// visible    at least one; both must outlive this object
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
