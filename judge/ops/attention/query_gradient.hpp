#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/attention/attention_thresholds.hpp"
#include "numerics/rounding/rounding_attention_backward.hpp"

namespace softcheck::proptests {

/// A sum of approximations and of products of two, with its error.
class ProductSum {
 public:
  void add(const LongApproximation& x);
  void add(const LongApproximation& x, const LongApproximation& y);
  LongApproximation total() const;

 private:
  long double value_ = 0, size_ = 0, error_ = 0;
  std::size_t terms_ = 0;
};

/// The results of the forward pass that the kernel read for one query.
struct SavedForward {
  enum class Kind {
    exact,  // the exact output and log-sum-exp, each rounded once
    own,    // those of a forward pass by the same contract
    given   // `out` and `lse` below
  };
  Kind kind = Kind::exact;
  std::span<const double> out = {};  // (dv), for `given`
  double lse = 0;
};

/// The pairs of one query: p_j and dS_j = p_j (g_j - delta + dL), times a softcap's slope, for the keys that it sees,
/// and the errors that a kernel's may have (B17). dL is the gradient by the log-sum-exp, 0 if the call has none. With a
/// label (AttentionRow::label), which needs dL, that key has dS = (p - 1) dL.
class QueryPairs {
 public:
  /// row           finite visible keys and values
  /// out_gradient  (dv)
  /// lse_gradient  dL, if the call has it
  QueryPairs(const AttentionTask& task, const AttentionRow& row, std::span<const double> out_gradient,
             const numerics::AttentionBackwardArithmetic& arithmetic, const SavedForward& saved = {},
             std::optional<double> lse_gradient = {});

  std::span<const std::size_t> keys() const { return std::span(visible_.items).first(visible_.keys()); }
  /// Index of key j in keys(), if the query sees it.
  std::optional<std::size_t> pair_of(std::size_t j) const;
  /// False if the scores' errors are too large for any threshold; then do not call the functions below.
  bool usable() const { return usable_; }
  /// Is a threshold infinite?
  bool unbounded() const { return unbounded_; }
  /// May a score, or an intermediate number of its gradient, leave the accumulator's range?
  bool may_overflow() const { return may_overflow_; }
  /// False if e^(score - lse) keeps no digit: 6 ulps of lse are 1 or more (is_resolved).
  bool resolved() const { return resolved_; }
  /// An upper bound of |g_j - delta + dL| for any weights: 2 max sum |dO v_j| + |dL|.
  double largest_difference() const { return largest_difference_; }
  const LongApproximation& coefficient(std::size_t pair) const { return coefficients_[pair]; }
  const LongApproximation& score_gradient(std::size_t pair) const { return score_gradients_[pair]; }
  /// p_j (|g_j - delta + dL| + sum |dO O| + |dL|): the magnitude to compare dS_j's error with, since dS_j may cancel to
  /// 0.
  double size(std::size_t pair) const { return sizes_[pair]; }
  /// The same for the row's sink: p_sink (dL - delta). The row must have one.
  const LongApproximation& sink_gradient() const { return score_gradients_[visible_.keys()]; }
  double sink_size() const { return sizes_[visible_.keys()]; }
  const numerics::BackwardPairError& sink_error() const { return errors_[visible_.keys()]; }
  /// For keys().
  std::span<const numerics::BackwardPairError> errors() const { return std::span(errors_).first(visible_.keys()); }
  /// The gradient by the bias: p_j (g_j - delta + dL), without a softcap's slope. The row must have a bias.
  const LongApproximation& bias_gradient(std::size_t pair) const { return bias_gradients_[pair]; }
  const numerics::BackwardPairError& bias_error(std::size_t pair) const {
    return bias_errors_.empty() ? errors_[pair] : bias_errors_[pair];
  }

 private:
  void add_pairs(const LongSoftmax& softmax, std::span<const LongApproximation> products);
  void add_errors(const AttentionTask& task, const AttentionRow& row, const LongSoftmax& softmax,
                  const numerics::AttentionBackwardArithmetic& arithmetic, std::span<const double> out_gradient,
                  const SavedForward& saved);
  void subtract_label(const numerics::Contract& contract, const AttentionRow& row);
  std::optional<numerics::SavedErrors> saved_errors(const AttentionTask& task, const AttentionRow& row,
                                                    const LongSoftmax& softmax, const ProductSums& outputs,
                                                    std::span<const double> out_gradient,
                                                    const SavedForward& saved) const;

  VisibleKeys visible_;
  std::optional<double> lse_gradient_;
  bool usable_ = false, unbounded_ = false, may_overflow_ = false, resolved_ = true;
  double largest_difference_ = 0;
  std::vector<std::size_t> pair_of_;  // (n) 1 + the pair, or 0
  std::vector<LongApproximation> coefficients_, differences_, score_gradients_, bias_gradients_;
  std::vector<double> magnitudes_;  // upper bounds of sum |dO v_j|
  std::vector<double> sizes_;
  std::vector<numerics::BackwardPairError> errors_, bias_errors_;  // bias_errors_: empty if equal to errors_
};

}  // namespace softcheck::proptests
