#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/ops/attention/attention_gradient.hpp"
#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/attention/claim_verdict.hpp"
#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::proptests {

/// The numbers of a linear layer's loss and its gradient.
struct LinearCall {
  std::size_t classes = 0, dim = 0;
  std::span<const double> hidden;                  // (rows, dim)
  std::span<const double> weight;                  // (classes, dim)
  std::vector<std::optional<std::size_t>> labels;  // (rows); nothing: the row is ignored
  std::span<const double> upstream = {};           // (rows), of a gradient

  std::size_t rows() const { return labels.size(); }
  /// The row as a query. It sees all classes, or none if it is ignored.
  AttentionRow row(std::size_t i) const;
};

/// The losses L - x_y of a linear layer, x_j = <h, W_j>: B14 of logits that err as scores do
/// (docs/tolerances/cross_entropy.md). Rows with the same numbers share their thresholds.
class LinearLosses {
 public:
  /// Both must outlive this object.
  LinearLosses(const AttentionTask& task, const LinearCall& call);

  /// Judges row i's loss. An ignored row's is 0 (kernel.masked_row).
  RowVerdicts judge(std::size_t i, double got);
  /// The threshold of any result.
  double threshold(std::size_t i);
  /// The exact value at the working precision.
  numerics::Enclosure exact(std::size_t i) const;

 private:
  const Judgeable& value(std::size_t i);
  Judgeable computed(const AttentionRow& row) const;

  const AttentionTask& task_;
  const LinearCall& call_;
  numerics::Contract contract_;  // the task's, with the format of the loss
  std::map<std::string, Judgeable> known_;
};

/// The gradient as attention's (B17): without values, by a loss that depends on the log-sum-exps and the labels'
/// scores. dq is that by the hidden states, dk that by the weights.
class LinearGradient {
 public:
  /// call     with upstream; must outlive this object
  /// chosen   (rows) the rows to judge; empty: all. Ignored rows always are
  explicit LinearGradient(const LinearCall& call, const std::vector<bool>& chosen = {});
  LinearGradient(const LinearGradient&) = delete;
  LinearGradient& operator=(const LinearGradient&) = delete;

  const GradientGroup& group() const { return group_; }
  /// The task of judge_attention_gradient.
  static AttentionTask task(AttentionTask task);

 private:
  std::vector<double> no_values_, no_gradients_, no_hidden_;
  GradientGroup group_;
};

}  // namespace softcheck::proptests
