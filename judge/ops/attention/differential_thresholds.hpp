#pragma once

#include <cstddef>
#include <optional>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/attention/attention_limits.hpp"
#include "judge/ops/attention/attention_thresholds.hpp"
#include "judge/ops/attention/claim_verdict.hpp"
#include "numerics/rounding/rounding_differential.hpp"

namespace softcheck::proptests {

/// Exact values and thresholds of one query of differential attention: docs/ops/differential_attention.md.
class DifferentialThresholds {
 public:
  /// visible    of the first map, at least one key; task, row and visible must outlive this object
  DifferentialThresholds(const AttentionTask& task, const AttentionRow& row, const VisibleKeys& visible);
  DifferentialThresholds(const DifferentialThresholds&) = delete;
  DifferentialThresholds& operator=(const DifferentialThresholds&) = delete;

  /// A column of the output. Its magnitude is sum (p + |lambda| p') |v|: where the maps cancel, no kernel keeps a
  /// relative accuracy of the result.
  Judgeable column(std::size_t column) const;
  /// Are the thresholds of both weights' sums finite?
  bool promises() const { return usable() && first_.promises() && second_.promises(); }

 private:
  bool usable() const { return first_.usable() && second_.usable(); }
  /// sum |v|
  numerics::UpperBound values(std::size_t column) const;
  /// What the limits of both parts leave for their difference.
  ResultLimits limits(std::size_t column) const;

  const AttentionRow& row_;
  const VisibleKeys& visible_;
  AttentionTask part_, of_accumulator_;
  AttentionRow second_row_;
  VisibleKeys second_visible_;
  AttentionThresholds first_, second_;
  numerics::DifferentialThreshold difference_;
  mutable std::optional<AttentionLimits> first_limits_, second_limits_;
};

}  // namespace softcheck::proptests
