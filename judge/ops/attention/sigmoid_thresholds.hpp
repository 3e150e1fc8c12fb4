#pragma once

#include <cstddef>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/attention/attention_thresholds.hpp"
#include "judge/ops/attention/claim_verdict.hpp"
#include "judge/ops/rows/product_sums.hpp"
#include "numerics/rounding/rounding_sigmoid.hpp"

namespace softcheck::proptests {

/// Exact values and thresholds of one query of sigmoid attention: docs/ops/sigmoid_attention.md.
class SigmoidThresholds {
 public:
  /// visible    at least one key; row and visible must outlive this object
  SigmoidThresholds(const AttentionTask& task, const AttentionRow& row, const VisibleKeys& visible);

  /// A column of the output. Its magnitude is sum sigmoid |v|; its limits are what any coefficients in [0, 1] give.
  Judgeable column(std::size_t column) const;

 private:
  const AttentionRow& row_;
  const VisibleKeys& visible_;
  numerics::SigmoidThreshold threshold_;
  ProductSums outputs_;
};

}  // namespace softcheck::proptests
