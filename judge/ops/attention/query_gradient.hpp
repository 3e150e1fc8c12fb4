#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/attention/attention_thresholds.hpp"
#include "numerics/rounding/rounding_attention_backward.hpp"

namespace softcheck::proptests {

/// A sum of approximations and of their products, with its error.
class ProductSum {
 public:
  void add(const LongApproximation& x);
  void add(const LongApproximation& x, const LongApproximation& y);
  LongApproximation total() const;

 private:
  long double value_ = 0, size_ = 0, error_ = 0;
  std::size_t terms_ = 0;
};

/// What a kernel read of the forward pass for one query.
struct SavedForward {
  enum class Kind {
    exact,  // the exact output and log-sum-exp, each rounded once
    own,    // those of a forward pass of the same contract
    given   // these
  };
  Kind kind = Kind::exact;
  std::span<const double> out = {};  // (dv), of `given`
  double lse = 0;
};

/// One query's pairs: p_j and dS_j = p_j (g_j - delta + dL), times a softcap's slope, of the keys that it sees, and by
/// how much a kernel's may differ (B17). dL is the gradient by the log-sum-exp, 0 where the call has none.
class QueryPairs {
 public:
  /// row           its visible keys and values are finite
  /// out_gradient  (dv)
  /// lse_gradient  dL, where the call has it
  QueryPairs(const AttentionTask& task, const AttentionRow& row, std::span<const double> out_gradient,
             const numerics::AttentionBackwardArithmetic& arithmetic, const SavedForward& saved = {},
             std::optional<double> lse_gradient = {});

  std::span<const std::size_t> keys() const { return std::span(visible_.items).first(visible_.keys()); }
  /// Which of keys() is key j, if any.
  std::optional<std::size_t> pair_of(std::size_t j) const;
  /// False where the scores' errors are too large for any threshold; do not call the functions below then.
  bool usable() const { return usable_; }
  /// Is a threshold infinite?
  bool unbounded() const { return unbounded_; }
  /// May a score, or what its gradient is made of, leave the accumulator's range?
  bool may_overflow() const { return may_overflow_; }
  /// False where e^(score - lse) keeps no digit: the last place of lse, times 6, is 1 or more (is_resolved).
  bool resolved() const { return resolved_; }
  /// No less than |g_j - delta + dL| of any weights: 2 max sum |dO v_j| + |dL|.
  double largest_difference() const { return largest_difference_; }
  const LongApproximation& coefficient(std::size_t pair) const { return coefficients_[pair]; }
  const LongApproximation& score_gradient(std::size_t pair) const { return score_gradients_[pair]; }
  /// p_j (|g_j - delta + dL| + sum |dO O| + |dL|): what dS_j's error is held against, as dS_j may cancel to nothing.
  double size(std::size_t pair) const { return sizes_[pair]; }
  /// The same of a sink behind the keys, which the row has: p_sink (dL - delta).
  const LongApproximation& sink_gradient() const { return score_gradients_[visible_.keys()]; }
  double sink_size() const { return sizes_[visible_.keys()]; }
  const numerics::BackwardPairError& sink_error() const { return errors_[visible_.keys()]; }
  /// Of keys().
  std::span<const numerics::BackwardPairError> errors() const { return std::span(errors_).first(visible_.keys()); }
  /// p_j (g_j - delta + dL), without a softcap's slope: by the bias, which the row has.
  const LongApproximation& bias_gradient(std::size_t pair) const { return bias_gradients_[pair]; }
  const numerics::BackwardPairError& bias_error(std::size_t pair) const {
    return bias_errors_.empty() ? errors_[pair] : bias_errors_[pair];
  }

 private:
  void add_pairs(const LongSoftmax& softmax, std::span<const LongApproximation> products);
  void add_errors(const AttentionTask& task, const AttentionRow& row, const LongSoftmax& softmax,
                  const numerics::AttentionBackwardArithmetic& arithmetic, std::span<const double> out_gradient,
                  const SavedForward& saved);
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
  std::vector<double> magnitudes_;  // sum |dO v_j|, at least
  std::vector<double> sizes_;
  std::vector<numerics::BackwardPairError> errors_, bias_errors_;  // the latter where they are others
};

}  // namespace softcheck::proptests
